// The rules on sizes and strides, once for plain and for symbolic integers. I is int64_t or SymInt.
#pragma once
#include <algorithm>

#include "core/device.h"
#include "core/dims.h"
#include "core/error.h"

namespace fb::rules_of_shape {

template <class I> using List = SmallVec<I, 6>;

// Overflow can only happen beside a size of 0; the strides then never address anything.
template <class I> I stride_times(const I& stride, const I& size) { return stride * size; }
inline int64_t stride_times(int64_t stride, int64_t size) { return int64_t(uint64_t(stride) * uint64_t(size)); }
template <class I> I at_least_one(const I& s) { return s > 1 ? s : I(1); }

// Row-major strides; a dimension of size 0 counts as 1.
template <class I> List<I> contiguous_strides(Span<I> sizes) {
  List<I> st(sizes.n, I(1));
  for (int64_t i = sizes.n - 2; i >= 0; --i) st[i] = stride_times(st[i + 1], at_least_one(sizes[i + 1]));
  return st;
}

// Plain products: behind a size of 0 the strides are 0.
template <class I> List<I> channels_last_strides(Span<I> sizes) {
  List<I> st(sizes.n, I(1));
  const int64_t n = sizes.n;
  st[n - 1] = sizes[1];
  for (int64_t i = n - 2; i >= 2; --i) st[i] = stride_times(st[i + 1], sizes[i + 1]);
  st[0] = stride_times(st[2], sizes[2]);
  return st;
}

// The shape both broadcast to; raises RuntimeError naming both.
template <class I> List<I> broadcast_sizes(Span<I> a, Span<I> b) {
  const int64_t n = a.n > b.n ? a.n : b.n;
  List<I> out(n, I(1));
  for (int64_t i = 0; i < n; ++i) {
    const I x = i < n - a.n ? I(1) : a[i - (n - a.n)], y = i < n - b.n ? I(1) : b[i - (n - b.n)];
    // Where one is 1 the other is the size; asked first, so that symbols that cannot be 1 leave one guard: that both are one.
    if (x == 1) out[i] = y;
    else if (y == 1) out[i] = x;
    else {
      FB_CHECK(x == y, "shapes ", a, " and ", b, " do not broadcast: sizes ", x, " and ", y, " meet at dimension ", i);
      out[i] = x;
    }
  }
  return out;
}

template <class I> bool is_expandable_to(Span<I> from, Span<I> to) {
  if (from.n > to.n) return false;
  for (int64_t i = 0; i < from.n; ++i) {
    const I f = from[from.n - 1 - i], t = to[to.n - 1 - i];
    if (!(f == 1) && !(f == t)) return false;
  }
  return true;
}

// Symbols are asked whether they are below 2 first: that is known of most.
template <class I> bool has_no_elements(Span<I> sizes) {
  for (const I& s : sizes)
    if (s < 2 && s == 0) return true;
  return false;
}

template <class I> bool is_contiguous(Span<I> sizes, Span<I> strides) {
  I expect = 1;
  for (int64_t i = sizes.n - 1; i >= 0; --i) {
    if (sizes[i] == 1) continue;
    if (!(strides[i] == expect)) return false;
    expect = expect * sizes[i];
  }
  return true;
}

// channels_last of four dimensions, channels_last_3d of five.
template <class I> bool is_channels_last(Span<I> sizes, Span<I> strides) {
  I expect = 1;
  auto ok = [&](int64_t d) {
    if (sizes[d] == 1) return true;
    if (!(strides[d] == expect)) return false;
    expect = expect * sizes[d];
    return true;
  };
  if (!ok(1)) return false;
  for (int64_t d = sizes.n - 1; d >= 2; --d)
    if (!ok(d)) return false;
  return ok(0);
}

template <class I> MemoryFormat suggested_format(Span<I> sz, Span<I> st) {
  const int64_t n = sz.n;
  if (n != 4 && n != 5) return MemoryFormat::contiguous;
  // C fastest, then the spatial dimensions from the last, then N; a tie of ambiguous sizes counts as row-major.
  I least = 0;
  if (st[1] == 0) return MemoryFormat::contiguous;
  const int64_t order4[] = {1, 3, 2, 0}, order5[] = {1, 4, 3, 2, 0};
  const int64_t* order = n == 4 ? order4 : order5;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t d = order[i];
    if (sz[d] == 0 || st[d] < least) return MemoryFormat::contiguous;
    if (d == 0 && least == st[1]) return MemoryFormat::contiguous;
    least = st[d];
    if (sz[d] > 1) least = least * sz[d];
  }
  return n == 4 ? MemoryFormat::channels_last : MemoryFormat::channels_last_3d;
}

// No gaps and no element twice, in some order of the dimensions.
template <class I> bool is_dense(Span<I> sizes, Span<I> strides) {
  const int64_t n = sizes.n;
  SmallVec<int64_t, 8> perm(n);
  for (int64_t i = 0; i < n; ++i) perm[i] = i;
  std::sort(perm.begin(), perm.end(), [&](int64_t a, int64_t b) {
    if (sizes[a] < 2) return false;
    if (sizes[b] < 2) return true;
    return strides[a] < strides[b];
  });
  I expect = 1;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t d = perm[i];
    if (sizes[d] < 2) return true;
    if (!(strides[d] == expect)) return has_no_elements(sizes);
    expect = expect * sizes[d];
  }
  return true;
}

// Strides of a dense result that keeps the order of dimensions (preserve_format): those of a dense tensor to the number,
// where a size of 1 or 0 leaves them open, too.
template <class I> List<I> preserved_strides(Span<I> sizes, Span<I> strides) {
  if (is_dense(sizes, strides)) return List<I>(strides);
  // Broadcast dimensions stay where they are; of equal strides the larger size is outside.
  return ordered_strides_of<I>(sizes, [&](int64_t a, int64_t b) {
    if (strides[a] == 0 || strides[b] == 0) return 0;
    if (!(strides[a] == strides[b])) return strides[a] < strides[b] ? -1 : 1;
    return sizes[a] > sizes[b] ? 1 : 0;
  });
}

}  // namespace fb::rules_of_shape
