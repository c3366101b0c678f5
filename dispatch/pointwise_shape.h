// Strides of a fresh result of a pointwise operator, for plain and symbolic tensors.
#pragma once
#include "core/shape_rules.h"
#include "dispatch/pointwise.h"

namespace fb {

// Those of the operands where all agree, else dimensions ordered by the operands' strides. t[i] is null for a bare number,
// which counts as an operand of another shape. Bit i of `converted` says that operand i comes in another type than the
// operator computes in: its strides are those of the converted copy.
template <class T>
typename T::Sizes pointwise_strides(const T* const* t, int n, Span<typename T::Int> shape, ResultLayout layout, uint32_t converted) {
  using I = typename T::Int;
  if (layout == ResultLayout::row_major) return rules_of_shape::contiguous_strides(shape);
  const int64_t nd = shape.n;
  if (layout == ResultLayout::as_first && t[0]) {  // expanded to the shape of the result
    typename T::Sizes expanded(nd, I(0));
    const int64_t lead = nd - t[0]->ndim();
    for (int64_t d = nd - 1; d >= 0; --d)
      if (d >= lead) expanded[d] = t[0]->sizes()[d - lead] == shape[d] ? t[0]->strides()[d - lead] : I(0);
      else if (shape[d] == 1 && lead < nd) expanded[d] = shape[d + 1] * expanded[d + 1];
    return rules_of_shape::preserved_strides(shape, expanded.span());
  }
  typename T::Sizes copied[kMaxOperands + 2];
  auto strides = [&](int i) { return converted >> i & 1 ? copied[i].span() : t[i]->strides(); };
  bool same_shape = true, all_contiguous = true, all_channels_last = nd == 4, same_strides = true, dense = true;
  int first = -1;
  for (int i = 0; i < n; ++i) {
    if (!t[i]) {
      same_shape = same_shape && (nd == 0 || layout == ResultLayout::of_tensors);
      continue;
    }
    const T& x = *t[i];
    if (x.ndim() == 0 && nd > 0 && layout == ResultLayout::of_tensors) continue;  // a number kept as a tensor
    if (x.ndim() == 0 || x.is_contiguous()) converted &= ~(1u << i);  // the copy has its strides
    if (converted >> i & 1) copied[i] = rules_of_shape::preserved_strides(x.sizes(), x.strides());
    if (!(x.sizes() == shape)) same_shape = false;
    else if (same_shape) {
      const bool copy = converted >> i & 1;
      all_contiguous = all_contiguous && (copy ? rules_of_shape::is_contiguous(x.sizes(), strides(i)) : x.is_contiguous());
      all_channels_last = all_channels_last && rules_of_shape::is_channels_last(x.sizes(), strides(i));
      dense = dense && (copy || x.is_non_overlapping_and_dense());
    }
    if (first < 0) first = i;
    else same_strides = same_strides && strides(i) == strides(first);
  }
  if (same_shape && first >= 0) {
    if (all_contiguous) return rules_of_shape::contiguous_strides(shape);
    if (all_channels_last) return rules_of_shape::channels_last_strides(shape);
    if (same_strides && dense) return typename T::Sizes(strides(first));
  }
  auto stride_of = [&](int i, int64_t d) -> I {
    const int64_t at = d - (nd - t[i]->ndim());
    return at < 0 || (t[i]->sizes()[at] == 1 && !(shape[d] == 1)) ? I(0) : strides(i)[at];
  };
  return ordered_strides_of<I>(shape, [&](int64_t a, int64_t b) {
    for (int k = 0; k < n; ++k) {
      const int i = layout == ResultLayout::second_first && k < 2 ? 1 - k : k;
      if (!t[i]) continue;
      const I sa = stride_of(i, a), sb = stride_of(i, b);
      if (sa == 0 || sb == 0) continue;
      if (sa < sb) return -1;
      if (sb < sa) return 1;
      if (shape[a] > shape[b]) return 1;
    }
    return 0;
  });
}

}  // namespace fb
