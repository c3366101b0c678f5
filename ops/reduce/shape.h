// Shapes of reductions, and the way back from a reduced gradient.
#pragma once
#include "dispatch/card.h"

namespace fb {

// Bit d set: dimension d is reduced. An empty list means all of them, unless told otherwise.
inline uint64_t reduce_mask(Ints dims, int64_t ndim, bool empty_is_all = true) {
  if (dims.empty()) return empty_is_all ? ~uint64_t(0) : 0;
  FB_CHECK(ndim <= 64, "reductions take tensors of at most 64 dimensions, this one has ", ndim);
  uint64_t m = 0;
  for (int64_t d : dims) {
    const int64_t w = wrap_dim(d, ndim);
    FB_CHECK(!(m >> w & 1), "dimension ", d, " appears twice in the list of dimensions ", dims);
    m |= uint64_t(1) << w;
  }
  return m;
}
template <class I> SmallVec<I, 6> reduced_sizes(Span<I> sizes, uint64_t mask, bool keepdim) {
  SmallVec<I, 6> r;
  for (int64_t d = 0; d < sizes.n; ++d) {
    if (!(mask >> d & 1)) r.push_back(sizes[d]);
    else if (keepdim) r.push_back(1);
  }
  return r;
}
template <class T> T reduced(const T& self, Ints dims, bool keepdim, DType type) {
  return T::empty(reduced_sizes(self.sizes(), reduce_mask(dims, self.ndim()), keepdim), {type, self.device()});
}
// Raises where a reduction without identity meets nothing to reduce.
template <class I> void check_reduces_something(const char* name, Span<I> sizes, uint64_t mask, bool all_given) {
  for (int64_t d = 0; d < sizes.n; ++d)
    if ((mask >> d & 1) && sizes[d] == 0) {
      if (all_given)
        FB_CHECK_INDEX(false, name, ": dimension ", d, " of shape ", sizes, " is empty, and ", name, " of nothing has no value");
      raise_runtime(name, ": the input of shape ", sizes, " is empty; name a dimension that is not, ", name, " of nothing has no value");
    }
}

// A result's value with size-1 dimensions where `dims` were reduced, so that it broadcasts against the input.
Tensor with_kept_dims(const Tensor& t, int64_t ndim, Ints dims, bool keepdim);
// A gradient expanded to the input's sizes.
Tensor spread_over(const Tensor& g, Ints sizes, Ints dims, bool keepdim);
// Each of several equal extremes takes its share.
Tensor shared_by_ties(const Tensor& g, const Tensor& self, const Tensor& result, Ints dims, bool keepdim);
Tensor prod_gradient(const Tensor& g, const Tensor& self, const Tensor& result, int64_t dim);
Tensor vector_norm_gradient(const Tensor& g, const Tensor& self, double p, const Tensor& norm, Ints dims, bool keepdim);
// Zeros of `sizes` with g at `indices` along dim.
Tensor selected_gradient(const Tensor& g, int64_t dim, const Tensor& indices, Ints sizes, bool keepdim);

// The type a sum or product has: as asked, int64 for integers, else the input's.
inline DType sum_type(DType self, DType asked) {
  return asked != DType::none ? asked : is_integral(self, true) ? DType::i64 : self;
}
inline DType mean_type(DType self, DType asked, const char* name) {
  const DType d = asked != DType::none ? asked : self;
  FB_CHECK(is_floating(d) || is_complex(d), name, " takes floating and complex types; ", asked != DType::none ? "dtype" : "the input", " is ", d);
  return d;
}
// std::nullopt stands for 1.
inline double correction_of(const std::optional<Scalar>& c) { return c ? c->to_double() : 1.0; }

}  // namespace fb
