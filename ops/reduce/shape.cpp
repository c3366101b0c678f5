#include "ops/reduce/shape.h"

#include <cmath>

#include "dispatch/call.h"
#include "dispatch/levels.h"

namespace fb {

Tensor with_kept_dims(const Tensor& t, int64_t ndim, Ints dims, bool keepdim) {
  if (keepdim || ndim == 0) return t;
  const uint64_t mask = reduce_mask(dims, ndim);
  Tensor r = t;
  for (int64_t d = 0; d < ndim; ++d)
    if (mask >> d & 1) r = op<"unsqueeze">(r, d);
  return r;
}

Tensor spread_over(const Tensor& g, Ints sizes, Ints dims, bool keepdim) {
  return op<"expand">(with_kept_dims(g, sizes.n, dims, keepdim), sizes);
}

Tensor shared_by_ties(const Tensor& g, const Tensor& self, const Tensor& result, Ints dims, bool keepdim) {
  const int64_t nd = self.ndim();
  const Tensor value = with_kept_dims(result, nd, dims, keepdim);
  Tensor mask = op<"eq">(self, value);
  if (self.is_floating()) mask = op<"logical_or">(mask, op<"logical_and">(op<"ne">(self, self), op<"ne">(value, value)));
  Dims all;
  const uint64_t m = reduce_mask(dims, nd);
  for (int64_t d = 0; d < nd; ++d)
    if (m >> d & 1) all.push_back(d);
  const Tensor count = nd ? op<"sum">(mask, all, true, self.dtype()) : op<"ones_like">(value);
  const Tensor share = op<"div">(with_kept_dims(g, nd, dims, keepdim), count);
  return op<"where">(mask, share, op<"zeros_like">(share));
}

// Products of all elements before (after) each along dim.
static Tensor exclusive_product(const Tensor& x, int64_t dim, bool after) {
  const Tensor y = after ? op<"flip">(x, Dims{dim}) : x;
  const Tensor one = op<"ones_like">(op<"narrow">(y, dim, int64_t(0), int64_t(1)));
  const std::vector<Tensor> parts{one, op<"narrow">(y, dim, int64_t(0), y.size(dim) - 1)};
  const Tensor r = op<"cumprod">(op<"cat">(parts, dim), dim);
  return after ? op<"flip">(r, Dims{dim}) : r;
}

Tensor prod_gradient(const Tensor& g, const Tensor& self, const Tensor& result, int64_t dim) {
  if (self.numel() == 0) return op<"zeros_like">(self);
  const Tensor zeros = op<"eq">(self, Scalar(0));
  const bool some = !self.is_meta() && holds(op<"any">(zeros));
  if (!some) return op<"mul">(g, conj(op<"div">(result, self)));
  return op<"mul">(g, conj(op<"mul">(exclusive_product(self, dim, false), exclusive_product(self, dim, true))));
}

Tensor vector_norm_gradient(const Tensor& grad, const Tensor& self, double p, const Tensor& norm_in, Ints dims, bool keepdim) {
  const int64_t nd = self.ndim();
  const Tensor g = with_kept_dims(grad, nd, dims, keepdim), norm = with_kept_dims(norm_in, nd, dims, keepdim);
  auto zero_where = [](const Tensor& t, const Tensor& mask) { return op<"where">(mask, op<"zeros_like">(t), t); };
  if (p == 0.0) return op<"zeros_like">(self);
  if (p == 1.0) return op<"mul">(op<"sgn">(self), g);
  if (p == 2.0) return op<"mul">(g, zero_where(op<"div">(self, norm), op<"eq">(norm, Scalar(0))));
  if (std::isinf(p)) {
    const Tensor size = op<"abs">(self);
    Tensor mask = op<"logical_or">(op<"eq">(size, norm), op<"ne">(size, size));
    Dims all;
    const uint64_t m = reduce_mask(dims, nd);
    for (int64_t d = 0; d < nd; ++d)
      if (m >> d & 1) all.push_back(d);
    const Tensor count = nd ? op<"sum">(mask, all, true, norm.dtype()) : op<"ones_like">(norm);
    return op<"mul">(op<"mul">(op<"sgn">(self), mask), op<"div">(g, count));
  }
  const Tensor size = op<"abs">(self);
  if (p < 1.0) {
    const Tensor scaled = zero_where(op<"mul">(op<"sgn">(self), op<"pow">(size, Scalar(p - 1))), op<"eq">(self, Scalar(0)));
    return op<"mul">(scaled, op<"mul">(g, op<"pow">(norm, Scalar(1 - p))));
  }
  const Tensor scaled = p < 2.0 ? op<"mul">(op<"sgn">(self), op<"pow">(size, Scalar(p - 1)))
                                : op<"mul">(self, op<"pow">(size, Scalar(p - 2)));
  const Tensor scale = zero_where(op<"div">(g, op<"pow">(norm, Scalar(p - 1))), op<"eq">(norm, Scalar(0)));
  return op<"mul">(scaled, scale);
}

Tensor selected_gradient(const Tensor& g, int64_t dim, const Tensor& indices, Ints sizes, bool keepdim) {
  Tensor grad = g, index = indices;
  if (sizes.n && !keepdim) {
    grad = op<"unsqueeze">(grad, dim);
    index = op<"unsqueeze">(index, dim);
  }
  return op<"scatter">(op<"new_zeros">(grad, sizes), dim, index, grad);
}

}  // namespace fb
