// lgamma digamma.
#pragma once
#include "ops/math/log.h"
#include "ops/math/trig.h"

namespace fb::math {

namespace detail {

// lgamma(2 + t) / t in u = 2t, |t| <= 1/2
inline constexpr double lgamma_near_two[] = {
    0x1.b0ee6072093cep-2, 0x1.4a34cc4a60fa6p-3, -0x1.13e001a55760ap-6, 0x1.51322ac7d849bp-9,
    -0x1.e404fc218db6cp-12, 0x1.7add6eadb2b7bp-14, -0x1.38ac5c2d4aca0p-16, 0x1.0b36af88b739dp-18,
    -0x1.d3fd4b65e5384p-21, 0x1.a127af421f229p-23, -0x1.78de9b06ae47ap-25, 0x1.580e2668f7c60p-27,
    -0x1.3cb3b5c95906ep-29, 0x1.258c8c52f8d76p-31, -0x1.12777153bc37ap-33, 0x1.0146bdb78075ep-35,
    -0x1.ce0e6a1fe0060p-38, 0x1.b19fa0cab769cp-40, -0x1.20199b12eaae9p-41, 0x1.160e17423b068p-43};
// (lgamma(x) - ((x - 1/2) log x - x + log(2 pi) / 2)) x in 1 / x^2, x >= 8
inline constexpr double lgamma_far[] = {
    0x1.5555555555555p-4, -0x1.6c16c16c09cf9p-9, 0x1.a01a00fc51c09p-11, -0x1.3812c0611056cp-11,
    0x1.b8e72abcbe93cp-11, -0x1.e7c86a3326e07p-10, 0x1.221ed017673d3p-8};
// (log x - 1 / (2x) - digamma(x)) x^2 in 1 / x^2, x >= 8
inline constexpr double digamma_far[] = {
    0x1.5555555555555p-4, -0x1.111111110ce28p-7, 0x1.041040e1be6cdp-8, -0x1.1110dbfd0ee09p-8,
    0x1.f0549c1a6b631p-8, -0x1.55b9164afbbc3p-6, 0x1.22ab552460b20p-4, -0x1.10f2f41cd2b9bp-3};

// sin(pi x) up to sign, and cos(pi x) / sin(pi x), from the distance to the nearest integer.
template <class V> struct PiFraction { V sine, cotangent; };
template <class V> FB_INLINE PiFraction<V> pi_fraction(V x) {
  const V d = x - own::rint_of(x), ad = own::abs_of(d);
  const auto far = ad > k<V>(0.25);
  const V y = select(far, k<V>(0.5) - ad, ad);
  const V r = y * k<V>(pi), lo = fma(y, k<V>(pi), -r) + y * k<V>(0x1.1a62633145c07p-53);
  const V s = sin_reduced(r, lo), c = cos_reduced(r, lo);
  const V sine = select(far, c, s), cosine = select(far, s, c);
  return {sine, own::copysign_of(cosine / sine, d)};
}

// lgamma for x > 0: from [1.5, 2.5), where lgamma(x) = (x - 2) p(x), the recurrence reaches [0, 8) with one
// logarithm of a product; beyond that, Stirling's series.
template <class V> FB_INLINE V lgamma_positive(V x) {
  const V one = k<V>(1), half = k<V>(0.5);
  const auto tiny = x < half, low = x < k<V>(1.5), far = x >= k<V>(8);
  V y = x, product = one;
  for (int i = 0; i < 6; ++i) {  // x in [2.5, 8): down to [1.5, 2.5)
    const auto more = y >= k<V>(2.5);
    const V z = y - one;
    product = select(more, product * z, product);
    y = select(more, z, y);
  }
  const V t = select(tiny, x, select(low, x - one, y - k<V>(2)));
  const V up = select(tiny, x * (x + one), x);  // x < 1.5: lgamma(x) = lgamma(2 + t) - log(up)
  const V l = log(select(far, x, select(low, up, product)));
  const V near = t * horner_split(k<V>(2) * t, lgamma_near_two) + select(low, -l, l);
  const V inv = one / x;
  const V series = inv * horner(inv * inv, lgamma_far);
  const V big = fma(x - half, l - one, k<V>(0x1.acfe390c97d69p-2) + series);
  return select(far, select(x > k<V>(0x1p1000), x * (l - one), big), near);
}

template <class V> FB_INLINE V lgamma_f64(V x) {
  const V ax = own::abs_of(x);
  const auto neg = x < k<V>(0);
  const V p = lgamma_positive(ax);
  const auto a = pi_fraction(ax);
  // lgamma(-x) = log(pi / (x sin(pi x))) - lgamma(x)
  // near 0 x sin(pi x) is pi x^2, which may vanish
  const V reflected = select(ax < k<V>(0x1p-100), -log(ax), k<V>(0x1.250d048e7a1bdp+0) - log(ax * a.sine) - p);
  const V r = select(neg, reflected, p);
  const auto pole = (x == k<V>(0)) | (neg & (own::trunc_of(x) == x)) | (ax == inf<V>());
  return select(isnan(x), x, select(pole, inf<V>(), r));
}

template <class V> FB_INLINE V digamma_f64(V x) {
  const V one = k<V>(1), zero = k<V>(0);
  const auto neg = x < zero;
  const V ax = own::abs_of(x);
  V y = select(neg, one + ax, ax);  // digamma(-x) = digamma(1 + x) + pi cot(pi x)
  V num = zero, den = one;          // sum of 1 / (y + i) while y + i < 8
  for (int i = 0; i < 8; ++i) {
    const auto more = y < k<V>(8);
    num = select(more, fma(num, y, den), num);
    den = select(more, den * y, den);
    y = select(more, y + one, y);
  }
  const V inv = one / y, z = inv * inv;
  const V big = log(y) - fma(z, horner(z, digamma_far), k<V>(0.5) * inv);
  const V p = big - num / den;
  const V r = select(neg, p + k<V>(pi) * pi_fraction(ax).cotangent, p);
  const V s = select(neg & (own::trunc_of(x) == x), nan<V>(), r);
  return select(x == zero, own::copysign_of(inf<V>(), -x), select(x == inf<V>(), x, s));
}

}  // namespace detail

// log |gamma(x)|. f32: 1 ULP; f64: 7 ULP for x > 0; for x < 0 f64 within 2^-50 (1 + |x| + |result|), near the
// zeros between the poles too.
template <class V> constexpr V lgamma(V x) {
  if constexpr (is_f32<V>) return in_double([](auto d) { return detail::lgamma_f64(d); }, x);
  else return detail::lgamma_f64(x);
}
// f32: 1 ULP; f64: within 2^-47, or 8 ULP.
template <class V> constexpr V digamma(V x) {
  if constexpr (is_f32<V>) return in_double([](auto d) { return detail::digamma_f64(d); }, x);
  else return detail::digamma_f64(x);
}

}  // namespace fb::math
