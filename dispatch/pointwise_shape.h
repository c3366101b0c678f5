// Strides of a fresh result of a pointwise operator, for plain and symbolic tensors.
#pragma once
#include "core/shape_rules.h"

namespace fb {

// Those of the operands where all agree, else dimensions ordered by the operands' strides. t[i] is null for a bare number.
template <class T> typename T::Sizes pointwise_strides(const T* const* t, int n, Span<typename T::Int> shape) {
  using I = typename T::Int;
  const int64_t nd = shape.n;
  bool same_shape = true, number = false, all_contiguous = true, all_channels_last = nd == 4 || nd == 5, same_strides = true;
  const T* first = nullptr;
  for (int i = 0; i < n; ++i) {
    if (!t[i]) {
      number = nd > 0;
      continue;
    }
    if ((*t[i])->wrapped_number && t[i]->ndim() == 0 && nd > 0) {
      same_shape = false;
      continue;
    }
    if (!(t[i]->sizes() == shape)) same_shape = false;
    all_contiguous = all_contiguous && t[i]->is_contiguous();
    all_channels_last = all_channels_last && t[i]->ndim() == nd &&
        t[i]->is_contiguous(nd == 4 ? MemoryFormat::channels_last : MemoryFormat::channels_last_3d);
    if (!first) first = t[i];
    else same_strides = same_strides && t[i]->strides() == first->strides();
  }
  if (same_shape && first) {
    if (all_contiguous) return rules_of_shape::contiguous_strides(shape);
    if (!number && all_channels_last) return rules_of_shape::channels_last_strides(shape);
    if (!number && same_strides && first->is_non_overlapping_and_dense()) return typename T::Sizes(first->strides());
  }
  auto stride_of = [&](const T& x, int64_t d) -> I {
    const int64_t at = d - (nd - x.ndim());
    return at < 0 || (x.sizes()[at] == 1 && !(shape[d] == 1)) ? I(0) : x.strides()[at] * item_size(x.dtype());
  };
  return ordered_strides_of<I>(shape, [&](int64_t a, int64_t b) {
    for (int i = 0; i < n; ++i) {
      if (!t[i]) continue;
      const I sa = stride_of(*t[i], a), sb = stride_of(*t[i], b);
      if (sa == 0 || sb == 0) continue;
      if (sa < sb) return -1;
      if (sb < sa) return 1;
      if (shape[a] > shape[b]) return 1;
    }
    return 0;
  });
}

}  // namespace fb
