// Integers, bool and complex numbers as domains, so that cards may say k<V>(1) or select(m, a, b) for every type.
#pragma once
#include "core/complex.h"
#include "core/half.h"
#include "ops/math/domain.h"

namespace fb {

template <class T> requires(std::is_integral_v<T> && !std::is_same_v<T, int32_t> && !std::is_same_v<T, int64_t>)
struct domain<T> {
  using lane = T;
  using mask = bool;
  static constexpr int lanes = 1;
  static constexpr T constant(T c) { return c; }
};
template <> struct domain<half> { using mask = bool; };      // for math on the stored format itself
template <> struct domain<bfloat16> { using mask = bool; };
template <class T> struct domain<Complex<T>> {
  using lane = T;
  using mask = bool;
  static constexpr int lanes = 1;
  static constexpr Complex<T> constant(T c) { return Complex<T>(c); }
};

template <class T> requires(std::is_integral_v<T> && !std::is_same_v<T, int32_t> && !std::is_same_v<T, int64_t>)
FB_INLINE T select(bool m, T a, T b) { return m ? a : b; }
template <class T> FB_INLINE Complex<T> select(bool m, Complex<T> a, Complex<T> b) { return m ? a : b; }
template <class T> requires std::is_integral_v<T> FB_INLINE T min(T a, T b) { return a < b ? a : b; }
template <class T> requires std::is_integral_v<T> FB_INLINE T max(T a, T b) { return a > b ? a : b; }
template <class T> requires std::is_integral_v<T> FB_INLINE bool isnan(T) { return false; }
template <class T> FB_INLINE bool isnan(Complex<T> a) { return a.re != a.re || a.im != a.im; }
template <class T> requires std::is_integral_v<T> FB_INLINE T abs(T a) { return a < 0 ? T(-a) : a; }
// The conjugate: of anything real, the number itself.
template <class V> FB_INLINE V conj(V a) { return a; }
template <class T> FB_INLINE Complex<T> conj(Complex<T> a) { return {a.re, -a.im}; }

template <class V> inline constexpr bool is_number_v = std::is_integral_v<V>;          // integer or bool
template <class V> inline constexpr bool is_bool_v = std::is_same_v<V, bool>;
template <class V> inline constexpr bool is_real_v = is_f32<V> || is_f64<V>;
template <class T> inline constexpr bool is_real_v<Complex<T>> = false;

}  // namespace fb
