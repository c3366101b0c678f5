// The domain of scalar math: the few operations that every f(V) in ops/math is written with, here for
// plain float and double. cpu/simd/vec.h gives the same names for vectors, with the same bits; another
// domain (a compiler's value) does likewise. Names are found by ADL, or here for built-in types.
//
//   lane_t<V> int_t<V> mask_t<V>   the element, integer of the same width, truth value of V
//   k<V>(c)                        constant c in every lane
//   + - * / unary- < <= > >= == != ;  & | ! on masks;  + - & | ^ << >>(arithmetic) on integers
//   select(m, a, b)  fma  sqrt  abs  floor ceil trunc rint  copysign  isnan  min  max
//   bits(x) from_bits(i)  to_int(x) to_float(i)  shift_right_logical(i, n)
//   any(m) all(m)    in_double(f, x...)    patch(m, r, f, x...)    lane_by_lane(f, x...)    lookup(table, i)
//
// min(a, b) is a < b ? a : b and max(a, b) is a > b ? a : b: a NaN on either side gives b.
#pragma once
#include <bit>
#include <cstdint>
#include <type_traits>

#define FB_INLINE [[gnu::always_inline]] inline constexpr

namespace fb {

template <class V> struct domain;
template <> struct domain<float> {
  using lane = float;
  using integer = int32_t;
  using mask = bool;
  static constexpr int lanes = 1;
  static constexpr float constant(float c) { return c; }
};
template <> struct domain<double> {
  using lane = double;
  using integer = int64_t;
  using mask = bool;
  static constexpr int lanes = 1;
  static constexpr double constant(double c) { return c; }
};
template <> struct domain<int32_t> {
  using lane = int32_t;
  using mask = bool;
  static constexpr int lanes = 1;
  static constexpr int32_t constant(int32_t c) { return c; }
};
template <> struct domain<int64_t> {
  using lane = int64_t;
  using mask = bool;
  static constexpr int lanes = 1;
  static constexpr int64_t constant(int64_t c) { return c; }
};

template <class V> using lane_t = typename domain<V>::lane;
template <class V> using int_t = typename domain<V>::integer;
template <class V> using mask_t = typename domain<V>::mask;
template <class V> inline constexpr bool is_f32 = std::is_same_v<lane_t<V>, float>;
template <class V> inline constexpr bool is_f64 = std::is_same_v<lane_t<V>, double>;

template <class V, class C> FB_INLINE V k(C c) { return domain<V>::constant(static_cast<lane_t<V>>(c)); }
template <class V> FB_INLINE V inf() { return k<V>(__builtin_inf()); }
template <class V> FB_INLINE V nan() { return k<V>(__builtin_nan("")); }

// The scalar domain.
#define FB_SCALAR_DOMAIN(T, I, s)                                                          \
  FB_INLINE T select(bool m, T a, T b) { return m ? a : b; }                               \
  FB_INLINE I select(bool m, I a, I b) { return m ? a : b; }                               \
  FB_INLINE T fma(T a, T b, T c) { return __builtin_fma##s(a, b, c); }                     \
  FB_INLINE T sqrt(T a) { return __builtin_sqrt##s(a); }                                   \
  FB_INLINE T abs(T a) { return __builtin_fabs##s(a); }                                    \
  FB_INLINE T floor(T a) { return __builtin_floor##s(a); }                                 \
  FB_INLINE T ceil(T a) { return __builtin_ceil##s(a); }                                   \
  FB_INLINE T trunc(T a) { return __builtin_trunc##s(a); }                                 \
  FB_INLINE T rint(T a) {                                                                  \
    if (!std::is_constant_evaluated()) return __builtin_rint##s(a);                        \
    constexpr T big = sizeof(T) == 4 ? T(0x1p23) : T(0x1p52); /* folding knows no mode */  \
    const T m = __builtin_fabs##s(a);                                                      \
    return m < big ? __builtin_copysign##s((m + big) - big, a) : a;                        \
  }                                                                                        \
  FB_INLINE T copysign(T a, T b) { return __builtin_copysign##s(a, b); }                   \
  FB_INLINE T min(T a, T b) { return a < b ? a : b; }                                      \
  FB_INLINE T max(T a, T b) { return a > b ? a : b; }                                      \
  FB_INLINE bool isnan(T a) { return a != a; }                                             \
  FB_INLINE I bits(T a) { return std::bit_cast<I>(a); }                                    \
  FB_INLINE T from_bits(I a) { return std::bit_cast<T>(a); }                               \
  /* to nearest; the argument must fit (|a| < 2^31, 2^51): clamp before */                 \
  FB_INLINE I to_int(T a) { return static_cast<I>(rint(a)); }                 \
  FB_INLINE T to_float(I a) { return static_cast<T>(a); }                                  \
  FB_INLINE I shift_right_logical(I a, int n) { return I(std::make_unsigned_t<I>(a) >> n); }
FB_SCALAR_DOMAIN(float, int32_t, f)
FB_SCALAR_DOMAIN(double, int64_t, )
#undef FB_SCALAR_DOMAIN

// Sums and differences of bit patterns wrap in every domain; built-in integers must be told to.
template <class I> FB_INLINE I wrapping_add(I a, I b) {
  if constexpr (std::is_integral_v<I>) return I(std::make_unsigned_t<I>(a) + std::make_unsigned_t<I>(b));
  else return a + b;
}
template <class I> FB_INLINE I wrapping_sub(I a, I b) {
  if constexpr (std::is_integral_v<I>) return I(std::make_unsigned_t<I>(a) - std::make_unsigned_t<I>(b));
  else return a - b;
}

FB_INLINE bool any(bool m) { return m; }
FB_INLINE bool all(bool m) { return m; }

// table[i] with i in 0..7
FB_INLINE float lookup(const float (&table)[8], int32_t i) { return table[i]; }

// f applied to float arguments widened to double, its result rounded once to float.
template <class F>
FB_INLINE float in_double(F f, float x) { return float(f(double(x))); }
template <class F>
FB_INLINE float in_double(F f, float x, float y) { return float(f(double(x), double(y))); }

// r, but f(x) (a scalar function) in the lanes where m holds. For rare arguments: costly there, free elsewhere.
template <class F>
FB_INLINE float patch(bool m, float r, F f, float x) { return m ? f(x) : r; }
template <class F>
FB_INLINE double patch(bool m, double r, F f, double x) { return m ? f(x) : r; }
template <class F>
FB_INLINE float patch(bool m, float r, F f, float x, float y) { return m ? f(x, y) : r; }
template <class F>
FB_INLINE double patch(bool m, double r, F f, double x, double y) { return m ? f(x, y) : r; }

// f, a scalar function of doubles, lane by lane: for functions that iterate.
template <class F, class... X>
FB_INLINE float lane_by_lane(F f, float x, X... y) { return float(f(double(x), double(y)...)); }
template <class F, class... X>
FB_INLINE double lane_by_lane(F f, double x, X... y) { return f(x, y...); }

}  // namespace fb
