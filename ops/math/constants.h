// What the routines of ops/math share: constants by lane type and polynomials.
#pragma once
#include "ops/math/domain.h"

// A polynomial's loop must not stay one: its coefficients would be fetched through the stack.
#ifdef __CUDACC__
#define FB_UNROLL _Pragma("unroll")
#define FB_TABLE const  // that compiler folds no built-in functions
#else
#define FB_UNROLL _Pragma("GCC unroll 32")
#define FB_TABLE constexpr
#endif

namespace fb::math {

// A constant of its own for f32 and f64 routines.
template <class V> FB_INLINE V c(float f, double d) {
  if constexpr (is_f32<V>) return k<V>(f);
  else return k<V>(d);
}

// c0 + x (c1 + x (c2 + ...)), one fma a coefficient.
template <class V, class T, int n>
FB_INLINE V horner(V x, const T (&coef)[n]) {
  V r = k<V>(coef[n - 1]);
  FB_UNROLL for (int i = n - 2; i >= 0; --i) r = fma(r, x, k<V>(coef[i]));
  return r;
}
// The same for long ones: above the two lowest coefficients even and odd powers run as two chains, since one
// alone would keep the units waiting. For |x| well below 1, where the chains' rounding does not count.
template <class V, class T, int n>
FB_INLINE V horner_split(V x, const T (&coef)[n]) {
  static_assert(n >= 6);
  const V z = x * x;
  V a = k<V>(coef[n - 1]), b = k<V>(coef[n - 2]);
  FB_UNROLL for (int i = n - 3; i >= 2; i -= 2) {
    a = fma(a, z, k<V>(coef[i]));
    if (i > 2) b = fma(b, z, k<V>(coef[i - 1]));
  }
  const V r = n % 2 ? fma(b, x, a) : fma(a, x, b);
  return fma(fma(r, x, k<V>(coef[1])), x, k<V>(coef[0]));
}
// The same with the float coefficients for f32 and the double ones for f64.
template <class V, int n, int m>
FB_INLINE V horner(V x, const float (&f)[n], const double (&d)[m]) {
  if constexpr (is_f32<V>) return horner(x, f);
  else if constexpr (m > 9) return horner_split(x, d);
  else return horner(x, d);
}

// The value as the domain has it; math names that the domain has too go through these.
namespace own {
template <class V> FB_INLINE V sqrt_of(V x) { return sqrt(x); }
template <class V> FB_INLINE V abs_of(V x) { return abs(x); }
template <class V> FB_INLINE V floor_of(V x) { return floor(x); }
template <class V> FB_INLINE V ceil_of(V x) { return ceil(x); }
template <class V> FB_INLINE V trunc_of(V x) { return trunc(x); }
template <class V> FB_INLINE V rint_of(V x) { return rint(x); }
template <class V> FB_INLINE V copysign_of(V x, V y) { return copysign(x, y); }
}  // namespace own

inline constexpr double pi = 0x1.921fb54442d18p+1;

}  // namespace fb::math
