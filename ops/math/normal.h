// The normal distribution: ndtr log_ndtr ndtri, and erfcx erfinv.
#pragma once
#include "ops/math/erf.h"
#include "ops/math/log.h"

namespace fb::math {

namespace detail {

// With q(p) the point that a normal variable exceeds with probability p:
// q(1/2 - u) / u in u^2 = (1 + v) 0.375^2 / 2, -1 <= v <= 1
inline constexpr double normal_centre[] = {
    0x1.5d035b66e70fep+1, 0x1.0eb631c37ef89p-2, 0x1.c840e1acde8e9p-5, 0x1.df71d8a6d3555p-7,
    0x1.17d914a574a14p-8, 0x1.5b687ca02c247p-10, 0x1.c103465f29f63p-12, 0x1.2a88d0069a66dp-13,
    0x1.95722ca1f833bp-15, 0x1.17d920bc408f8p-16, 0x1.875b5f8028e82p-18, 0x1.148d184b022ffp-19,
    0x1.8a3f1c91499b8p-21, 0x1.1b1bf5f02d590p-22, 0x1.99e4de95cbebap-24, 0x1.2a07aa4efcaabp-25,
    0x1.aa4ddea96e669p-27, 0x1.36d681c4af5cbp-28, 0x1.09d8662f5fc07p-29, 0x1.92223ab1fa980p-31,
    0x1.93ad95920f315p-34, 0x1.dcdb79248430ap-36, 0x1.585aad0fa9d20p-34, 0x1.0b8b86c947b82p-35};
// the same in u^2 to 2^-31, for floats
inline constexpr double normal_centre_for_float[] = {
    0x1.40d931fe17387p+1, 0x1.4ffde87916ae6p+1, 0x1.716b09c1bc4bap+2, 0x1.f6ded92514b61p+3,
    0x1.5ffc795121f2ep+5, 0x1.0892a5e77caadp+8, -0x1.15a2e3702e5c2p+11, 0x1.529d644395044p+15,
    -0x1.8f3d114f437bdp+18, 0x1.40931af22b9f0p+21, -0x1.1f674a55ef937p+23, 0x1.e7fbc233219d0p+23};
// q(p) / r in (r - 2.5) / (r + 2.5), r = sqrt(-log p), p <= 1/8: to 2^-30
inline constexpr double normal_tail[] = {
    0x1.27dd79137556bp+0, 0x1.aa648c24efe53p-1, -0x1.493724b98c01fp+0, 0x1.86f87e278706cp+0,
    -0x1.b272e7fa26795p+0, 0x1.d19bf3c6a7f75p+0, -0x1.ea625b071d6d7p+0, 0x1.fdc52094d4b1ap+0,
    -0x1.083d0b98770aap+1, 0x1.16902207ca03bp+1, -0x1.25f8cfb4aac6ap+1, 0x1.15559be8efa84p+1,
    -0x1.8a77ce87e56abp+0, 0x1.5e4c2bf496b40p-1, -0x1.1b06ed765e96dp-3};

// q for p <= 1/8
template <bool for_float, class V> FB_INLINE V upper_point(V p) {
  const V r = own::sqrt_of(-log(p));
  const V y = r * horner_split((r - k<V>(2.5)) / (r + k<V>(2.5)), normal_tail);
  if constexpr (for_float) {
    return y;
  } else {
    // One step of Halley's method: (Phi(-y) - p) / phi(y). Denormal p are too coarse to correct by.
    const V s = y * y, s_lo = fma(y, y, -s), half = k<V>(0.5);
    const V z = y * k<V>(0x1.6a09e667f3bcdp-1), e = exp_sum(-half * s, -half * s_lo, 0);
    const V u = (half * erfcx_core(z) - p / e) * k<V>(0x1.40d931ff62706p+1);
    const V better = y + u / fma(k<V>(-0.5) * y, u, k<V>(1));
    return select(p > k<V>(1e-300), better, y);
  }
}
// q(1/2 - u) for |u| <= 3/8
template <bool for_float, class V> FB_INLINE V centre_point(V u) {
  if constexpr (for_float) return u * horner_split(u * u, normal_centre_for_float);
  else return u * horner_split(fma(u * u, k<V>(2 / (0.375 * 0.375)), k<V>(-1)), normal_centre);
}

template <bool for_float, class V> FB_INLINE V ndtri_f64(V p) {
  const V one = k<V>(1), u = p - k<V>(0.5);
  const V least = select(u < k<V>(0), p, one - p);
  const V tail = upper_point<for_float>(min(k<V>(0.125), least));
  const V r = select(own::abs_of(u) <= k<V>(0.375), centre_point<for_float>(u), own::copysign_of(tail, u));
  const V edge = select(least == k<V>(0), own::copysign_of(inf<V>(), u), r);
  return select((p >= k<V>(0)) & (p <= one), edge, nan<V>());
}
template <bool for_float, class V> FB_INLINE V erfinv_f64(V x) {
  const V ax = own::abs_of(x), one = k<V>(1), least = k<V>(0.5) * (one - ax);
  const V tail = upper_point<for_float>(min(k<V>(0.125), max(k<V>(1e-200), least)));
  const V q = select(ax <= k<V>(0.75), centre_point<for_float>(k<V>(0.5) * ax), tail);
  const V r = own::copysign_of(q * k<V>(0x1.6a09e667f3bcdp-1), x);
  const V edge = select(ax == one, own::copysign_of(inf<V>(), x), r);
  return select(ax <= one, edge, nan<V>());
}

template <class V> FB_INLINE V erfcx_f64(V x) {
  const V ax = own::abs_of(x), y = min(k<V>(28), ax), near = erfcx_core(y);
  const V i = k<V>(1) / max(k<V>(28), ax), z = i * i;
  constexpr double series[] = {1, -0.5, 0.75, -1.875, 6.5625, -29.53125, 162.421875, -1055.7421875};
  const V far = i * k<V>(0x1.20dd750429b6dp-1) * horner(z, series);
  const V p = select(ax < k<V>(28), near, far);
  const V w = min(k<V>(40), ax), s = w * w, s_lo = fma(w, w, -s);
  const V r = select(x < k<V>(0), k<V>(2) * exp_sum(s, s_lo, 0) - p, p);
  return select(isnan(x), x, r);
}

// Phi(x): e^(-x^2/2) with the rounding of x^2, times a slow function.
template <class V> FB_INLINE V ndtr_f64(V x) {
  const V ax = own::abs_of(x), half = k<V>(0.5), y = min(k<V>(39), ax);
  const V s = y * y, s_lo = fma(y, y, -s);
  const V e = exp_sum(-half * s, -half * s_lo, 0);
  const V upper = half * erfcx_core(y * k<V>(0x1.6a09e667f3bcdp-1)) * e;
  const V near = half * erf_near(min(k<V>(0.7), ax * k<V>(0x1.6a09e667f3bcdp-1)));
  const auto neg = x < k<V>(0);
  const V centre = half + select(neg, -near, near), r = select(ax < half, centre, select(neg, upper, k<V>(1) - upper));
  return select(isnan(x), x, r);
}
template <class V> FB_INLINE V log_ndtr_f64(V x) {
  const V half = k<V>(0.5), z = x * k<V>(-0x1.6a09e667f3bcdp-1);
  const V low = log(half * erfcx_f64(max(k<V>(0.5), z))) - half * x * x;
  const V high = log1p(-ndtr_f64(-max(k<V>(-1), x)));
  return select(isnan(x), x, select(x < k<V>(-1), low, high));
}

}  // namespace detail

// e^(x^2) erfc(x). f32: 1 ULP; f64: 4 ULP.
template <class V> constexpr V erfcx(V x) {
  if constexpr (is_f32<V>) return in_double([](auto d) { return detail::erfcx_f64(d); }, x);
  else return detail::erfcx_f64(x);
}
// f32: 1 ULP; f64: 4 ULP.
template <class V> constexpr V erfinv(V x) {
  if constexpr (is_f32<V>) return in_double([](auto d) { return detail::erfinv_f64<true>(d); }, x);
  else return detail::erfinv_f64<false>(x);
}
// f32: 1 ULP; f64: 5 ULP.
template <class V> constexpr V ndtr(V x) {
  if constexpr (is_f32<V>) return in_double([](auto d) { return detail::ndtr_f64(d); }, x);
  else return detail::ndtr_f64(x);
}
// f32: 1 ULP; f64: 6 ULP.
template <class V> constexpr V log_ndtr(V x) {
  if constexpr (is_f32<V>) return in_double([](auto d) { return detail::log_ndtr_f64(d); }, x);
  else return detail::log_ndtr_f64(x);
}
// f32: 1 ULP; f64: 6 ULP, but 2^-30 below p = 1e-300.
template <class V> constexpr V ndtri(V p) {
  if constexpr (is_f32<V>) return in_double([](auto d) { return detail::ndtri_f64<true>(d); }, p);
  else return detail::ndtri_f64<false>(p);
}

}  // namespace fb::math
