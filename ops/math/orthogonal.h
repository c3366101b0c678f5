// Orthogonal polynomials of degree n at x: Chebyshev (t u v w, and shifted to [0, 1]), Hermite (h he),
// Laguerre, Legendre. n is a number cut to an integer; a negative or absurd one gives 0.
// Scalar, in the type of x, by the three-term recurrence; Chebyshev's between -1 and 1 by angles when n > 6.
#pragma once
#include "ops/math/trig.h"

namespace fb::math {

namespace detail {

template <class T> constexpr int64_t degree(T n) { return n >= T(0) && n < T(0x1p62) ? int64_t(n) : -1; }
template <class T> constexpr bool is_nan(T x) { return x != x; }

// p_{i+1} = step(i, p_i, p_{i-1}) from p_0 = 1 and p_1; ends early once the values have overflowed to NaN.
template <class T, class F> constexpr T recurrence(int64_t n, T p1, F step) {
  if (n < 0) return T(0);
  if (n == 0) return T(1);
  T a = T(1), b = p1;
  for (int64_t i = 1; i < n; ++i) {
    const T next = step(T(i), b, a);
    a = b;
    b = next;
    if (is_nan(b)) break;
  }
  return b;
}
enum class Chebyshev { t, u, v, w };
template <class T> constexpr T chebyshev(Chebyshev kind, T x, int64_t n) {
  if (n < 0) return T(0);
  const T sign = n % 2 ? T(-1) : T(1);
  const T many = T(n + n + 1);
  if (x == T(1)) return kind == Chebyshev::t || kind == Chebyshev::v ? T(1) : kind == Chebyshev::u ? T(n + 1) : many;
  if (x == T(-1)) return sign * (kind == Chebyshev::t || kind == Chebyshev::w ? T(1) : kind == Chebyshev::u ? T(n + 1) : many);
  if (n > 6 && x > T(-1) && x < T(1)) {
    const T a = acos(x), half = a * T(0.5);
    if (kind == Chebyshev::t) return cos(T(n) * a);
    if (kind == Chebyshev::u) return sin(T(n + 1) * a) / sin(a);
    if (kind == Chebyshev::v) return cos((T(n) + T(0.5)) * a) / cos(half);
    return sin((T(n) + T(0.5)) * a) / sin(half);
  }
  const T two = x + x;
  const T p1 = kind == Chebyshev::t ? x : kind == Chebyshev::u ? two : kind == Chebyshev::v ? two - T(1) : two + T(1);
  return recurrence(n, p1, [two](T, T b, T a) { return two * b - a; });
}

}  // namespace detail

#define FB_CHEBYSHEV(kind)                                                      \
  template <class T> constexpr T chebyshev_polynomial_##kind(T x, T n) {        \
    return detail::chebyshev(detail::Chebyshev::kind, x, detail::degree(n));    \
  }                                                                             \
  template <class T> constexpr T shifted_chebyshev_polynomial_##kind(T x, T n) { \
    return detail::chebyshev(detail::Chebyshev::kind, x + x - T(1), detail::degree(n)); \
  }
FB_CHEBYSHEV(t)
FB_CHEBYSHEV(u)
FB_CHEBYSHEV(v)
FB_CHEBYSHEV(w)
#undef FB_CHEBYSHEV

template <class T> constexpr T hermite_polynomial_h(T x, T n) {
  return detail::recurrence(detail::degree(n), x + x, [x](T i, T b, T a) { return T(2) * (x * b - i * a); });
}
template <class T> constexpr T hermite_polynomial_he(T x, T n) {
  return detail::recurrence(detail::degree(n), x, [x](T i, T b, T a) { return x * b - i * a; });
}
template <class T> constexpr T laguerre_polynomial_l(T x, T n) {
  if (x == T(0) && n >= T(0)) return T(1);
  return detail::recurrence(detail::degree(n), T(1) - x, [x](T i, T b, T a) { return ((i + i + T(1) - x) * b - i * a) / (i + T(1)); });
}
template <class T> constexpr T legendre_polynomial_p(T x, T n) {
  const int64_t m = detail::degree(n);
  if (m >= 0 && (x == T(1) || x == T(-1))) return x > T(0) || m % 2 == 0 ? T(1) : T(-1);
  return detail::recurrence(m, x, [x](T i, T b, T a) { return ((i + i + T(1)) * x * b - i * a) / (i + T(1)); });
}

}  // namespace fb::math
