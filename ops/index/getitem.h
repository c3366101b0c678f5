// x[indices] and x[indices] = values.
#pragma once
#include "dispatch/card.h"
#include "dispatch/repeated.h"
#include "ops/index/indices.h"

namespace fb::cards {

struct unsafe_index : structured<unsafe_index, symbolic> {
  static constexpr auto schema = "_unsafe_index.Tensor(Tensor self, Tensor?[] indices) -> Tensor";
  static constexpr uint32_t forms = form::fn;
  template <class T> static T meta(const T& self, Span<T> indices) {
    const std::vector<T> at = indices_of(self, indices);
    const auto s = indexed_shape(self, at);
    return T::empty_strided(s.sizes, indexed_strides(self, at, s), self.options());
  }
  static Tensor d_self(grad<0> g, shape_of<0> self, ins<1> indices) {
    const Tensor to = op<"new_zeros">(*g, self.sizes());
    return op<"_index_put_impl_">(to, *indices, *g, true, true);
  }
  using vjp = rules<wrt<0, d_self>>;
};
FB_CARD(unsafe_index)

struct index_tensor : lowered<index_tensor> {
  static constexpr auto schema = "index.Tensor(Tensor self, Tensor?[] indices) -> Tensor";
  static constexpr auto aliases = ".Tensor_out";
  static constexpr uint64_t linear_in = arguments(0);
  static constexpr uint32_t forms = form::hidden | form::out;
  static constexpr auto grad_name = "IndexBackward0";
  template <class T> static T lowering(const T& self, Span<T> indices) {
    if (indices.size() == 1 && indices[0].defined() && takes_whole_mask(self, indices[0])) return op<"_masked_take">(self, indices[0]);
    return op<"_unsafe_index">(self, indices_of(self, indices));
  }
  using vjp = unsafe_index::vjp;
  static constexpr auto doc = R"(index(self, indices) -> Tensor

self[indices]: index tensors (int64, int32) and masks broadcast to one shape, whose dimensions replace the indexed ones,
or come first where those are not neighbours. IndexError for an index outside its dimension.)";
};
FB_CARD(index_tensor)

struct index_put_impl_ : direct<index_put_impl_> {
  static constexpr auto schema =
      "_index_put_impl_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False, bool unsafe=False) -> Tensor(a!)";
  static constexpr uint32_t forms = form::fn;
  static constexpr auto grad_name = "IndexPutImplBackward0";
  template <class T> static void check(const T& self, Span<T> indices, const T& values, bool, bool) {
    FB_CHECK(!has_internal_overlap(self), "index_put_: several indices of self, of shape ", self.sizes(), " and strides ", self.strides(),
             ", share an element; clone it first");
    const std::vector<T> at = indices_of(self, indices);
    check_index_values("index_put_", self, indexed_shape(self, at), values);
  }
  static Tensor d_self(grad<0> g, ins<1> indices, shape_of<2> values, arg<3, bool> accumulate) {
    if (*accumulate) return g;
    return op<"index_put">(*g, *indices, op<"new_zeros">(*g, values.sizes()), false);
  }
  static Tensor d_values(grad<0> g, ins<1> indices) { return op<"index.Tensor">(*g, *indices); }
  using vjp = rules<wrt<0, d_self>, wrt<2, d_values>>;
};
FB_CARD(index_put_impl_)

// self holds an element in several places: what is written to each, in order, or added to it.
inline void put_repeated(const Tensor& self, const std::vector<Tensor>& at, const Tensor& values, bool accumulate) {
  const Tensor apart = accumulate ? op<"zeros_like">(self, DType::none, std::nullopt, std::nullopt, std::nullopt, MemoryFormat::contiguous)
                                  : op<"clone">(self, MemoryFormat::contiguous);
  op_list<"_index_put_impl_">(apart, at, values, accumulate, false);
  if (accumulate) {
    const Dims again = repeated_dims(self);
    const Tensor place = one_of_each(self);
    op_list<"copy_">(place, op<"add">(place, op<"sum">(apart, again, true, self.dtype())));
    return;
  }
  const Tensor written = op<"zeros">(self.sizes(), DType::boolean, std::nullopt, self.device());
  op_list<"_index_put_impl_">(written, at, op<"ones">(Ints{}, DType::boolean, std::nullopt, self.device()), false, false);
  write_repeated(self, apart, written);
}

// Whether a mask is all there is of indices.
inline bool one_mask(TensorSpan indices) {
  const Tensor* found = nullptr;
  for (const Tensor& t : indices) {
    if (!t.defined()) continue;
    if (found || t.dtype() != DType::boolean) return false;
    found = &t;
  }
  return found;
}

// Masks turn into indices once, before the kernel.
template <class T> T put_indices(const T& self, Span<T> indices, const T& values, bool accumulate) {
  if constexpr (std::is_same_v<T, Tensor>) {
    if (!accumulate && values.dtype() != self.dtype() && values.numel() == 1 && one_mask(indices)) {  // as masked_fill does
      FB_CHECK(!values.is_complex() || self.is_complex(), "index_put_: a complex value does not fit into self of type ", self.dtype());
      return put_indices<T>(self, indices, op<"to.dtype">(values, self.dtype()), accumulate);
    }
  }
  const std::vector<T> at = indices_of(self, indices);
  if constexpr (std::is_same_v<T, Tensor>) {
    if (has_internal_overlap(self)) {
      warn_repeated("index_put_", self);
      put_repeated(self, at, values, accumulate);
      return self;
    }
  }
  op_list<"_index_put_impl_">(self, at, values, accumulate, false);
  return self;
}

struct index_put : lowered<index_put> {
  static constexpr auto schema = "index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor";
  static constexpr auto grad_name = "IndexPutBackward0";
  template <class T> static T lowering(const T& self, Span<T> indices, const T& values, bool accumulate) {
    return put_indices<T>(op<"clone">(self, MemoryFormat::preserve), indices, values, accumulate);
  }
  using vjp = index_put_impl_::vjp;
  static constexpr auto doc = R"(index_put(input, indices, values, accumulate=False) -> Tensor

A copy of input with values, broadcast to input[indices], written at indices, or added there. Values added to one element
are added in the order of the indices. RuntimeError where types differ or values do not broadcast.)";
};
FB_CARD(index_put)

struct index_put_ : lowered<index_put_> {
  static constexpr auto schema = "index_put_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor(a!)";
  static constexpr uint32_t forms = form::fn | form::method;
  static constexpr auto grad_name = "IndexPutBackward0";
  template <class T> static T lowering(const T& self, Span<T> indices, const T& values, bool accumulate) {
    return put_indices<T>(self, indices, values, accumulate);
  }
  using vjp = index_put_impl_::vjp;
};
FB_CARD(index_put_)

}  // namespace fb::cards
