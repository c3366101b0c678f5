#include "core/dims.h"

#include "core/error.h"
#include "core/shape_rules.h"

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

Dims contiguous_strides(Ints sizes) { return rules_of_shape::contiguous_strides(sizes); }

int64_t wrap_dim(int64_t dim, int64_t ndim, bool wrap_scalar) {
  if (ndim == 0) {
    FB_CHECK_INDEX(wrap_scalar, "dimension ", dim, " was given, but the tensor has no dimensions");
    ndim = 1;
  }
  FB_CHECK_INDEX(dim >= -ndim && dim < ndim, "Dimension out of range: dim is ", dim, ", a tensor of ", ndim,
                 " dimensions takes ", -ndim, " to ", ndim - 1);
  return dim < 0 ? dim + ndim : dim;
}

Dims broadcast_sizes(Ints a, Ints b) { return rules_of_shape::broadcast_sizes(a, b); }
bool is_expandable_to(Ints from, Ints to) { return rules_of_shape::is_expandable_to(from, to); }

}  // namespace fb
