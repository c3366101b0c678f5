// pow sqrt rsqrt hypot.
#pragma once
#include "ops/math/exp.h"
#include "ops/math/log.h"

namespace fb::math {

// Correctly rounded.
template <class V> FB_INLINE V sqrt(V x) { return own::sqrt_of(x); }
// f32: 1.5 ULP; f64: 1.5 ULP.
template <class V> FB_INLINE V rsqrt(V x) { return k<V>(1) / own::sqrt_of(x); }

namespace detail {

// The sum of two numbers as a rounded one and what it lost; |a| >= |b|.
template <class V> struct Two { V hi, lo; };
template <class V> FB_INLINE Two<V> two_sum_ordered(V a, V b) {
  const V s = a + b;
  return {s, b - (s - a)};
}
template <class V> FB_INLINE Two<V> two_prod(V a, V b) {
  const V p = a * b;
  return {p, fma(a, b, -p)};
}
template <class V> FB_INLINE Two<V> two_mul(Two<V> a, Two<V> b) {
  const V p = a.hi * b.hi;
  return two_sum_ordered(p, fma(a.hi, b.hi, -p) + fma(a.hi, b.lo, a.lo * b.hi));
}

// log x for positive finite x in twice the digits (relative error below 2^-66).
template <class V> FB_INLINE Two<V> log_two(V x) {
  static_assert(is_f64<V>);
  const auto a = reduce_log_denormal(x);
  // s = f / (2 + f)
  const V d = k<V>(2) + a.f, d_lo = a.f - (d - k<V>(2)), inv = k<V>(1) / d;
  const V sh = a.f * inv, rest = fma(-sh, d, a.f) - sh * d_lo;
  const Two<V> s = two_sum_ordered(sh, rest * inv), z = two_mul(s, s);
  constexpr double q[] = {0x1.999999999999ap-2, 0x1.2492492492358p-2, 0x1.c71c71c747f96p-3,
                          0x1.745d172d4c5dap-3, 0x1.3b13b940c7719p-3, 0x1.110f738bee59dp-3,
                          0x1.e249c0a4864b6p-4, 0x1.a7418f0ff4040p-4, 0x1.da68e31819cacp-4};
  // 2 s + s z (2/3 + z q(z))
  const V w = z.hi * horner(z.hi, q);
  const Two<V> third = two_sum_ordered(k<V>(0x1.5555555555555p-1), w + k<V>(0x1.5555555555555p-55));
  const Two<V> cube = two_mul(two_mul(s, z), third);
  const Two<V> m = two_sum_ordered(k<V>(2) * s.hi, cube.hi);
  const V m_lo = m.lo + (cube.lo + k<V>(2) * s.lo);
  const Two<V> t = two_sum_ordered(a.e * k<V>(0x1.62e42fefa4p-1), m.hi);
  return two_sum_ordered(t.hi, t.lo + fma(a.e, k<V>(-0x1.8432a1b0e2634p-43), m_lo));
}

// x^y for positive finite x, float arguments in double: log2 to 2^-40, exp2 to 2^-34.
template <class V> FB_INLINE V pow_for_float(V x, V y) {
  const auto a = reduce_log(x);
  constexpr double q[] = {0x1.5555555919ec4p-1, 0x1.99998f3ea59dbp-2, 0x1.2496e61a8783fp-2, 0x1.c5531829982ccp-3,
                          0x1.9c2327d7661b8p-3};
  const V s = a.f / (k<V>(2) + a.f), z = s * s;
  const V m = s * fma(z, horner(z, q), k<V>(2));
  V t = y * fma(m, k<V>(0x1.71547652b82fep+0), a.e);
  t = min(k<V>(400), max(k<V>(-400), t));
  const V shift = k<V>(0x1.8p52 + 1023), n = t + shift, r = t - (n - shift);
  constexpr double g[] = {0x1.62e42fef7b8e8p-1,  0x1.ebfbe07abdad5p-3,  0x1.c6b08df3b0837p-5, 0x1.3b29f0f83ec50p-7,
                          0x1.5d872499bd909p-10, 0x1.445e6f951770bp-13, 0x1.00f087162dd32p-16};
  return fma(horner(r, g), r, k<V>(1)) * pow2_of_bits<V>(bits(n));
}

// Around the magnitude r = |x|^y: signs, zeros, infinities, NaN.
template <class V> FB_INLINE V pow_specials(V x, V y, V r) {
  const V ax = abs(x), ay = abs(y), one = k<V>(1), zero = k<V>(0);
  const mask_t<V> whole = own::trunc_of(y) == y, odd = whole & (own::trunc_of(y * k<V>(0.5)) != y * k<V>(0.5));
  // |x| of 0 or inf: 0 or inf by the sign of y;  y infinite: by |x| against 1
  r = select(ax == zero, select(y < zero, inf<V>(), zero), r);
  r = select(ax == inf<V>(), select(y < zero, zero, inf<V>()), r);
  const V grow = select(y > zero, inf<V>(), zero), shrink = select(y > zero, zero, inf<V>());
  r = select(ay == inf<V>(), select(ax > one, grow, shrink), r);
  r = select((x < zero) & !whole & (ax < inf<V>()), nan<V>(), r);
  r = from_bits(bits(r) ^ select(odd, bits(x) & bits(k<V>(-0.0)), k<int_t<V>>(0)));
  r = select(isnan(x) | isnan(y), x + y, r);
  return select((y == zero) | (x == one) | ((ax == one) & (ay == inf<V>())), one, r);
}

}  // namespace detail

// f32: 0.6 ULP; f64: 1 ULP.
template <class V> constexpr V pow(V x, V y) {
  const V ax = abs(x);
  if constexpr (is_f32<V>) {
    const V r = in_double([](auto a, auto b) { return detail::pow_for_float(a, b); }, ax, y);
    return detail::pow_specials(x, y, r);
  } else {
    const auto l = detail::log_two(ax);
    // beyond 2^20 the result is 0, 1 or inf whatever the low digits
    const V yy = min(k<V>(0x1p100), max(k<V>(-0x1p100), y));
    const V p = yy * l.hi, p_lo = fma(yy, l.hi, -p) + yy * l.lo;
    const auto wild = abs(p) > k<V>(760);
    return detail::pow_specials(x, y, detail::exp_sum(p, select(wild, k<V>(0), p_lo), 0));
  }
}

// f32: 1 ULP; f64: 1.5 ULP. Scaled so that squares neither overflow nor vanish.
template <class V> constexpr V hypot(V x, V y) {
  const V ax = abs(x), ay = abs(y);
  V r;
  if constexpr (is_f32<V>) {
    r = in_double([](auto a, auto b) { return own::sqrt_of(a * a + b * b); }, ax, ay);
  } else {
    const V big = select(ax > ay, ax, ay), small = select(ax > ay, ay, ax);
    const V up = select(big > k<V>(0x1p500), k<V>(0x1p-600), select(big < k<V>(0x1p-500), k<V>(0x1p600), k<V>(1)));
    const V down = select(big > k<V>(0x1p500), k<V>(0x1p600), select(big < k<V>(0x1p-500), k<V>(0x1p-600), k<V>(1)));
    const V a = big * up, b = small * up;
    r = own::sqrt_of(fma(a, a, b * b)) * down;
  }
  r = select(isnan(x) | isnan(y), x + y, r);
  return select((ax == inf<V>()) | (ay == inf<V>()), inf<V>(), r);
}

}  // namespace fb::math
