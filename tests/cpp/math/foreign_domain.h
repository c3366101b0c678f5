// Scalar math in a domain of somebody else's: a boxed number with nothing but the names that domain.h lists, all
// found by ADL. What compiles here compiles for a compiler's value; the bits are the scalar's.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "ops/math/domain.h"

namespace foreign {

struct Truth { bool v; };
template <class I> struct Whole { I v; };
template <class T> struct Boxed {
  T v;
  using I = decltype(fb::bits(T()));
};

inline Truth operator&(Truth a, Truth b) { return {a.v && b.v}; }
inline Truth operator|(Truth a, Truth b) { return {a.v || b.v}; }
inline Truth operator^(Truth a, Truth b) { return {a.v != b.v}; }
inline Truth operator!(Truth a) { return {!a.v}; }
inline bool any(Truth a) { return a.v; }

#define FOREIGN_OP(op) \
  template <class T> Boxed<T> operator op(Boxed<T> a, Boxed<T> b) { return {a.v op b.v}; }
FOREIGN_OP(+) FOREIGN_OP(-) FOREIGN_OP(*) FOREIGN_OP(/)
#define FOREIGN_COMPARE(op)                                                      \
  template <class T> Truth operator op(Boxed<T> a, Boxed<T> b) { return {a.v op b.v}; } \
  template <class I> Truth operator op(Whole<I> a, Whole<I> b) { return {a.v op b.v}; }
FOREIGN_COMPARE(<) FOREIGN_COMPARE(<=) FOREIGN_COMPARE(>) FOREIGN_COMPARE(>=) FOREIGN_COMPARE(==) FOREIGN_COMPARE(!=)
#define FOREIGN_WHOLE(op) \
  template <class I> Whole<I> operator op(Whole<I> a, Whole<I> b) { return {I(a.v op b.v)}; }
FOREIGN_WHOLE(&) FOREIGN_WHOLE(|) FOREIGN_WHOLE(^)
template <class I> Whole<I> operator+(Whole<I> a, Whole<I> b) { return {fb::wrapping_add(a.v, b.v)}; }
template <class I> Whole<I> operator-(Whole<I> a, Whole<I> b) { return {fb::wrapping_sub(a.v, b.v)}; }
template <class I> Whole<I> operator<<(Whole<I> a, int n) { return {I(a.v << n)}; }
template <class I> Whole<I> operator>>(Whole<I> a, int n) { return {I(a.v >> n)}; }
template <class I> Whole<I> shift_right_logical(Whole<I> a, int n) { return {fb::shift_right_logical(a.v, n)}; }
template <class T> Boxed<T> operator-(Boxed<T> a) { return {-a.v}; }
#define FOREIGN_FN(f) \
  template <class T> Boxed<T> f(Boxed<T> a) { return {fb::f(a.v)}; }
FOREIGN_FN(sqrt) FOREIGN_FN(abs) FOREIGN_FN(floor) FOREIGN_FN(ceil) FOREIGN_FN(trunc) FOREIGN_FN(rint)
template <class T> Boxed<T> fma(Boxed<T> a, Boxed<T> b, Boxed<T> c) { return {fb::fma(a.v, b.v, c.v)}; }
template <class T> Boxed<T> copysign(Boxed<T> a, Boxed<T> b) { return {fb::copysign(a.v, b.v)}; }
template <class T> Boxed<T> min(Boxed<T> a, Boxed<T> b) { return {fb::min(a.v, b.v)}; }
template <class T> Boxed<T> max(Boxed<T> a, Boxed<T> b) { return {fb::max(a.v, b.v)}; }
template <class T> Truth isnan(Boxed<T> a) { return {fb::isnan(a.v)}; }
template <class T> Boxed<T> select(Truth m, Boxed<T> a, Boxed<T> b) { return m.v ? a : b; }
template <class I> Whole<I> select(Truth m, Whole<I> a, Whole<I> b) { return m.v ? a : b; }
template <class T> Whole<typename Boxed<T>::I> bits(Boxed<T> a) { return {fb::bits(a.v)}; }
inline Boxed<float> from_bits(Whole<int32_t> a) { return {fb::from_bits(a.v)}; }
inline Boxed<double> from_bits(Whole<int64_t> a) { return {fb::from_bits(a.v)}; }
inline Boxed<float> to_float(Whole<int32_t> a) { return {fb::to_float(a.v)}; }
inline Boxed<double> to_float(Whole<int64_t> a) { return {fb::to_float(a.v)}; }
template <class T> Whole<typename Boxed<T>::I> to_int(Boxed<T> a) { return {fb::to_int(a.v)}; }
inline Boxed<float> lookup(const float (&t)[8], Whole<int32_t> i) { return {t[i.v]}; }
template <class F, class... X> Boxed<float> in_double(F f, Boxed<float> x, X... y) {
  return {float(f(Boxed<double>{x.v}, Boxed<double>{y.v}...).v)};
}
template <class T, class F, class... X> Boxed<T> patch(Truth m, Boxed<T> r, F f, X... x) { return m.v ? Boxed<T>{f(x.v...)} : r; }
template <class F, class T, class... X> Boxed<T> lane_by_lane(F f, Boxed<T> x, X... y) {
  return {T(f(double(x.v), double(y.v)...))};
}

}  // namespace foreign

namespace fb {

template <class T> struct domain<foreign::Boxed<T>> {
  using lane = T;
  using integer = foreign::Whole<typename foreign::Boxed<T>::I>;
  using mask = foreign::Truth;
  static constexpr int lanes = 1;
  static constexpr foreign::Boxed<T> constant(T c) { return {c}; }
};
template <class I> struct domain<foreign::Whole<I>> {
  using lane = I;
  using mask = foreign::Truth;
  static constexpr int lanes = 1;
  static constexpr foreign::Whole<I> constant(I c) { return {c}; }
};

}  // namespace fb

namespace foreign {

template <class T> bool same(T a, T b) { return (std::isnan(a) && std::isnan(b)) || std::memcmp(&a, &b, sizeof a) == 0; }

template <class F> void same_bits(const char* name, F f) {
  for (double x : {0.0, -0.0, 0.3, -0.7, 0.99, 1.0, 1.7, -2.5, 9.0, -40.0, 1e6, -3e9, 1e30, 1e-30, double(INFINITY), double(NAN)}) {
    EXPECT_TRUE(same(f(x), f(foreign::Boxed<double>{x}).v)) << name << " of " << x;
    EXPECT_TRUE(same(f(float(x)), f(foreign::Boxed<float>{float(x)}).v)) << name << " of float " << x;
  }
}

}  // namespace foreign

#define FB_SAME(name) foreign::same_bits(#name, [](auto x) { return fb::math::name(x); });
