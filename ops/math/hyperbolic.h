// sinh cosh tanh asinh acosh atanh.
#pragma once
#include "ops/math/exp.h"
#include "ops/math/log.h"

namespace fb::math {

// f32: 0.95 ULP; f64: 3 ULP.
template <class V> FB_INLINE V tanh(V x) {
  if constexpr (is_f32<V>) {
    constexpr float f[] = {-0x1.55553ep-2f, 0x1.110c32p-3f,  -0x1.b96a38p-5f, 0x1.6039d6p-6f,
                           -0x1.04f29p-7f,  0x1.2f561ep-9f, -0x1.7bcaf8p-12f};
    const V ax = abs(x), y = min(k<V>(10), ax), z = y * y;
    const V near = fma(y * z, horner(z, f), y);
    // 1 - 2 / (e^2y + 1)
    const auto a = detail::reduce_exp(y + y);
    const V p = k<V>(1) + detail::exp_less_one(a.r);
    const V e = p * detail::pow2_of_bits<V>(bits(a.t) - k<int_t<V>>(127));
    const V far = k<V>(1) - k<V>(2) / (e + k<V>(1));
    return copysign(select(y < k<V>(1), near, far), x);
  } else {
    const V ax = abs(x), t = expm1(min(k<V>(44), ax + ax));
    return copysign(t / (t + k<V>(2)), x);
  }
}

namespace detail {
// e^|x| / 2 without early overflow
template <class V> FB_INLINE V half_exp(V ax) {
  const auto a = reduce_exp(min(c<V>(90.0f, 711.0), ax));
  return scale_by(k<V>(1) + exp_less_one(a.r, a.lo), a.t - k<V>(1));
}
}  // namespace detail

// f32: 1.5 ULP; f64: 1.5 ULP.
template <class V> FB_INLINE V cosh(V x) {
  const V h = detail::half_exp(abs(x));
  return h + k<V>(0.25) / h;
}
// f32: 1.6 ULP; f64: 1.6 ULP.
template <class V> FB_INLINE V sinh(V x) {
  constexpr float f[] = {0x1.555556p-3f, 0x1.1110e2p-7f, 0x1.a02156p-13f, 0x1.75a6f6p-19f};
  constexpr double d[] = {0x1.5555555555555p-3,  0x1.1111111111199p-7,  0x1.a01a01a007a25p-13, 0x1.71de3a683a9d1p-19,
                          0x1.ae6441e7d8abbp-26, 0x1.6130c680c84cap-33, 0x1.a6c17dccbcc97p-41, 0x1.c6273298bbb10p-48};
  const V ax = abs(x), y = min(k<V>(1), ax), z = y * y;
  const V near = fma(y * z, horner(z, f, d), y), h = detail::half_exp(ax);
  return copysign(select(ax < k<V>(1), near, h - k<V>(0.25) / h), x);
}

// f32: 1 ULP; f64: 3 ULP. log(1 + (x + x^2 / (1 + sqrt(1 + x^2)))).
template <class V> constexpr V asinh(V x) {
  if constexpr (is_f32<V>) {
    return in_double([](auto d) { return fb::math::asinh(d); }, x);
  } else {
    const V ax = abs(x), y = min(k<V>(0x1p28), ax), z = y * y;
    const V near = log1p(y + z / (k<V>(1) + own::sqrt_of(k<V>(1) + z)));
    const V far = log(ax) + k<V>(0x1.62e42fefa39efp-1);
    return copysign(select(ax < k<V>(0x1p28), near, far), x);
  }
}
// f32: 1 ULP; f64: 3 ULP.
template <class V> constexpr V acosh(V x) {
  if constexpr (is_f32<V>) {
    return in_double([](auto d) { return fb::math::acosh(d); }, x);
  } else {
    const V t = min(k<V>(0x1p28), x - k<V>(1));
    const V near = log1p(t + own::sqrt_of(fma(t, t, t + t))), far = log(x) + k<V>(0x1.62e42fefa39efp-1);
    return select(x < k<V>(1), nan<V>(), select(x < k<V>(0x1p28), near, far));
  }
}
// f32: 1 ULP; f64: 3 ULP.
template <class V> constexpr V atanh(V x) {
  if constexpr (is_f32<V>) {
    return in_double([](auto d) { return fb::math::atanh(d); }, x);
  } else {
    const V ax = abs(x);
    const V r = k<V>(0.5) * log1p((ax + ax) / (k<V>(1) - ax));
    return copysign(select(ax < k<V>(0x1p-40), ax, r), x);
  }
}

}  // namespace fb::math
