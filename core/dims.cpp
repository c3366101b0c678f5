#include "core/dims.h"

#include "core/error.h"

namespace fb {
namespace detail {
void append(std::string& s, Span<int64_t> v) {
  s += '[';
  for (int64_t i = 0; i < v.n; ++i) {
    if (i) s += ", ";
    append(s, v[i]);
  }
  s += ']';
}
}  // namespace detail

int64_t numel_of(Ints sizes) {
  int64_t n = 1;
  bool over = false;
  for (int64_t s : sizes) {
    if (s == 0) return 0;
    over |= __builtin_mul_overflow(n, s, &n);
  }
  FB_CHECK(!over, "a tensor of shape ", sizes, " would have more than 2^63 - 1 elements");
  return n;
}

Dims contiguous_strides(Ints sizes) {
  Dims st(sizes.n, 1);
  for (int64_t i = sizes.n - 2; i >= 0; --i) {
    // Overflow can only happen beside a size of 0; the strides then never address anything.
    st[i] = int64_t(uint64_t(st[i + 1]) * uint64_t(sizes[i + 1] > 1 ? sizes[i + 1] : 1));
  }
  return st;
}

int64_t wrap_dim(int64_t dim, int64_t ndim, bool wrap_scalar) {
  if (ndim == 0) {
    FB_CHECK_INDEX(wrap_scalar, "dimension ", dim, " was given, but the tensor has no dimensions");
    ndim = 1;
  }
  FB_CHECK_INDEX(dim >= -ndim && dim < ndim, "Dimension out of range: dim is ", dim, ", a tensor of ", ndim,
                 " dimensions takes ", -ndim, " to ", ndim - 1);
  return dim < 0 ? dim + ndim : dim;
}

Dims broadcast_sizes(Ints a, Ints b) {
  const int64_t n = a.n > b.n ? a.n : b.n;
  Dims out(n, 1);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t x = i < n - a.n ? 1 : a[i - (n - a.n)], y = i < n - b.n ? 1 : b[i - (n - b.n)];
    FB_CHECK(x == y || x == 1 || y == 1, "shapes ", a, " and ", b, " do not broadcast: sizes ", x, " and ", y,
             " meet at dimension ", i);
    out[i] = x == 1 ? y : x;
  }
  return out;
}

bool is_expandable_to(Ints from, Ints to) {
  if (from.n > to.n) return false;
  for (int64_t i = 0; i < from.n; ++i) {
    const int64_t f = from[from.n - 1 - i], t = to[to.n - 1 - i];
    if (f != t && f != 1) return false;
  }
  return true;
}

}  // namespace fb
