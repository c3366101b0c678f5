// Index tensors made ready: masks become positions, all broadcast, and the place of their dimensions in the result.
#pragma once
#include <vector>

#include "dispatch/call.h"
#include "ops/view/geometry.h"

namespace fb {

// The shape of what indices select.
template <class I> struct IndexedShapeOf {
  SmallVec<I, 6> index;   // what all indices broadcast to
  SmallVec<I, 6> sizes;   // of the result
  int64_t at = 0;         // where the index dimensions stand in the result
  Dims rest;              // dimensions of self that are not indexed, in order
};
using IndexedShape = IndexedShapeOf<int64_t>;

// One index for each leading dimension of self (undefined where there is none), int64; masks are replaced by the
// positions where they hold. IndexError for wrong types, mask shapes, or too many indices.
template <class T> std::vector<T> indices_of(const T& self, Span<T> indices) {
  std::vector<T> out;
  const int64_t nd = self.ndim();
  for (int64_t k = 0; k < indices.size(); ++k) {
    const T& t = indices[k];
    if (!t.defined()) {
      out.emplace_back();
      continue;
    }
    const DType d = t.dtype();
    if (d != DType::i64 && d != DType::i32 && d != DType::boolean && d != DType::u8)
      raise_index("index ", k, " is of type ", d, "; an index is int64, int32, or a mask of type bool or uint8");
    if (d == DType::boolean || d == DType::u8) {
      if (d == DType::u8) warn("indexing with a uint8 mask is deprecated; use a bool mask");
      const int64_t first = int64_t(out.size());
      for (int64_t i = 0; i < t.ndim(); ++i)
        if (first + i >= nd || !(t.sizes()[i] == self.sizes()[first + i]))
          raise_index("mask ", k, " of shape ", t.sizes(), " does not match the tensor of shape ", self.sizes(), " at dimension ", first + i);
      const T at = op<"nonzero">(t);
      for (int64_t i = 0; i < t.ndim(); ++i)
        out.push_back(at.alias(at.sizes().slice(0, 1), at.strides().slice(0, 1), at.offset() + i * at.strides()[1]));
    } else {
      out.push_back(d == DType::i64 ? t : op<"to.dtype">(t, DType::i64));
    }
  }
  if (int64_t(out.size()) > nd) raise_index("too many indices: ", out.size(), " for a tensor of shape ", self.sizes(), " with ", nd, " dimensions");
  return out;
}

// Whether self[mask] is a plain walk over two row-major tensors of one shape.
template <class T> bool takes_whole_mask(const T& self, const T& mask) {
  return !self.is_meta() && !mask.is_meta() && mask.dtype() == DType::boolean && self.ndim() > 0 && mask.sizes() == self.sizes() &&
         self.is_contiguous() && mask.is_contiguous();
}

template <class T> IndexedShapeOf<typename T::Int> indexed_shape(const T& self, const std::vector<T>& indices) {
  using I = typename T::Int;
  IndexedShapeOf<I> r;
  int64_t first = -1, last = -1, count = 0;
  for (int64_t d = 0; d < int64_t(indices.size()); ++d) {
    const T& t = indices[size_t(d)];
    if (!t.defined()) continue;
    if (first < 0) first = d;
    last = d;
    if (++count == 1) r.index = typename T::Sizes(t.sizes());
    else {
      const int64_t n = std::max(r.index.size(), t.ndim());
      typename T::Sizes both(n, I(1));
      for (int64_t i = 0; i < n; ++i) {
        const int64_t p = r.index.size() - n + i, q = t.ndim() - n + i;
        const I a = p < 0 ? I(1) : r.index[p], b = q < 0 ? I(1) : t.sizes()[q];
        if (!(a == 1) && !(b == 1) && !(a == b)) {
          std::string shapes;
          for (const T& x : indices)
            if (x.defined()) shapes += (shapes.empty() ? "" : ", ") + text(x.sizes());
          raise_index("indices of shapes ", shapes, " do not broadcast to one shape");
        }
        both[i] = a == 1 ? b : a;
      }
      r.index = both;
    }
  }
  if (!count) raise_index("an index of a tensor of shape ", self.sizes(), " holds no tensor");
  const bool adjacent = last - first + 1 == count;
  for (int64_t d = 0; d < self.ndim(); ++d)
    if (d >= int64_t(indices.size()) || !indices[size_t(d)].defined()) r.rest.push_back(d);
  r.at = adjacent ? first : 0;
  for (int64_t i = 0; i < r.rest.size() + 1; ++i) {
    if (i == r.at)
      for (const I& s : r.index) r.sizes.push_back(s);
    if (i < r.rest.size()) r.sizes.push_back(self.sizes()[r.rest[i]]);
  }
  const I selected = numel_of(r.sizes.span());
  for (int64_t d = 0; d < int64_t(indices.size()); ++d)
    if (indices[size_t(d)].defined() && self.sizes()[d] == 0 && !(selected == 0))
      raise_index("dimension ", d, " of a tensor of shape ", self.sizes(), " has size 0: no index is within its bounds");
  return r;
}

// Strides of self read by these indices: dimensions ordered as those of self and of the indices.
template <class T> typename T::Sizes indexed_strides(const T& self, const std::vector<T>& indices, const IndexedShapeOf<typename T::Int>& s) {
  using I = typename T::Int;
  const int64_t nd = s.sizes.size(), ni = s.index.size();
  std::vector<typename T::Sizes> operands;
  typename T::Sizes base(nd, I(0));
  for (int64_t i = 0; i < s.rest.size(); ++i) base[i < s.at ? i : i + ni] = self.strides()[s.rest[i]];
  operands.push_back(base);
  for (const T& t : indices) {
    if (!t.defined()) continue;
    // The index as it broadcasts over the result; strides of sizes of 1 count where the result's size is 1, too.
    typename T::Sizes to(nd, I(1)), st(nd, I(0));
    for (int64_t i = 0; i < ni; ++i) to[s.at + i] = s.index[i];
    const auto over = expand_geometry(t, s.index.span());
    if (const auto strides = view_strides<I>(over.sizes, over.strides, to))
      for (int64_t i = 0; i < nd; ++i)
        if (to[i] == s.sizes[i]) st[i] = (*strides)[i];
    operands.push_back(st);
  }
  return ordered_strides_of<I>(s.sizes.span(), [&](int64_t a, int64_t b) {
    for (const auto& o : operands) {
      if (o[a] == 0 || o[b] == 0) continue;
      if (!(o[a] == o[b])) return o[a] < o[b] ? -1 : 1;
      if (s.sizes[a] > s.sizes[b]) return 1;
    }
    return 0;
  });
}

// RuntimeError unless values broadcast to what the indices select.
template <class T> void check_index_values(const char* name, const T& self, const IndexedShapeOf<typename T::Int>& s, const T& values) {
  FB_CHECK(self.dtype() == values.dtype(), name, ": self is ", self.dtype(), " and values are ", values.dtype(), "; both must have one type");
  // Leading dimensions of size 1 that the selection lacks are of no account.
  auto v = values.sizes();
  while (v.n > s.sizes.size() && v[0] == 1) v = v.slice(1, v.n - 1);
  FB_CHECK(is_expandable_to(v, s.sizes.span()), name, ": values of shape ", values.sizes(), " do not broadcast to the selected shape ", s.sizes.span());
}

}  // namespace fb
