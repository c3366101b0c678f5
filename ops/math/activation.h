// log_sigmoid softplus silu gelu gelu_tanh mish logaddexp logaddexp2 xlogy xlog1py entr.
#pragma once
#include "ops/math/erf.h"
#include "ops/math/exp.h"
#include "ops/math/log.h"

namespace fb::math {

// log(1 / (1 + e^-x)). f32, f64: 2 ULP.
template <class V> FB_INLINE V log_sigmoid(V x) {
  const V t = detail::log1p_unit(exp(-abs(x)));
  return select(isnan(x), x, min(x, k<V>(0)) - t);
}

// log(1 + e^(beta x)) / beta, and x itself where beta x > threshold. f32, f64: 3 ULP for beta = 1.
template <class V> FB_INLINE V softplus(V x, V beta, V threshold) {
  const V z = x * beta;
  const V t = max(z, k<V>(0)) + detail::log1p_unit(exp(-abs(z)));
  return select(z > threshold, x, select(isnan(z), z, t / beta));
}

// x sigmoid(x). f32, f64: 3.2 ULP, and |x| denormal steps where e^x is denormal.
template <class V> FB_INLINE V silu(V x) {
  const V e = exp(-abs(x));
  const V num = select(x < k<V>(0), x * e, x);
  return num / (k<V>(1) + e);
}

// x Phi(x). f32: within 2^-23 |x|; f64: within 2^-52 |x|. Negative arguments of any size end in -0.
// In f32 Phi(-y) = 2^-w / 2 with w = y P(y), P fitted on 0 .. 13 to an error of Phi below 2^-26; past that Phi(-y) is 0.
template <class V> FB_INLINE V gelu(V x) {
  if constexpr (is_f32<V>) {
    constexpr float f[] = {0x1.26aeccp+0f,  0x1.d63ce8p-2f,   0x1.adb55p-5f,   -0x1.c8aea8p-8f,  0x1.4f77c4p-16f, 0x1.199306p-12f,
                           -0x1.31e866p-14f, 0x1.5f1c48p-17f, -0x1.d2391cp-21f, 0x1.4de81ap-25f, -0x1.8d6216p-31f};
    const V y = min(k<V>(13), abs(x)), w = y * horner_split(y, f);
    const V shift = k<V>(0x1.8p23f + 126), t = shift - w;
    const V tail = detail::pow2_fraction((shift - t) - w) * detail::pow2_of_bits<V>(bits(t));
    return x * select(x < k<V>(0), tail, k<V>(1) - tail);
  } else {
    return k<V>(0.5) * x * erfc(x * k<V>(-0x1.6a09e667f3bcdp-1));
  }
}

// x / 2 (1 + tanh u) = x sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x^3).
// Relative error: f32 within 8 (1 + |u|) 2^-24, f64 within 8 (1 + |u|) 2^-53.
template <class V> FB_INLINE V gelu_tanh(V x) {
  const V y = min(k<V>(30), max(k<V>(-30), x));
  const V u = y * fma(y * y, k<V>(2 * 0.79788456080286535588 * 0.044715), k<V>(2 * 0.79788456080286535588));
  const V e = exp(-abs(u));
  return select(x < k<V>(0), x * e, x) / (k<V>(1) + e);
}

// x tanh(log(1 + e^x)) = x n / (n + 2), n = e^x (e^x + 2). f32: 4 ULP; f64: 5 ULP; and |x| denormal
// steps where e^x is denormal.
template <class V> FB_INLINE V mish(V x) {
  const V e = exp(min(c<V>(30.0f, 50.0), x)), n = e * (e + k<V>(2));
  return x * (n / (n + k<V>(2)));
}

// log(e^x + e^y). Within 2 ULP of max(|x|, |y|, result).
template <class V> FB_INLINE V logaddexp(V x, V y) {
  const V r = select(x > y, x, y) + detail::log1p_unit(exp(-abs(x - y)));
  return select((x == y) & (abs(x) == inf<V>()), x, select(isnan(x) | isnan(y), x + y, r));
}
// log2(2^x + 2^y). Within 2 ULP of max(|x|, |y|, result).
template <class V> FB_INLINE V logaddexp2(V x, V y) {
  const V r = fma(detail::log1p_unit(exp2(-abs(x - y))), k<V>(0x1.71547652b82fep+0), select(x > y, x, y));
  return select((x == y) & (abs(x) == inf<V>()), x, select(isnan(x) | isnan(y), x + y, r));
}

// x log(y), 0 where x is 0 and y no NaN. f32, f64: 1.5 ULP.
template <class V> FB_INLINE V xlogy(V x, V y) {
  return select(isnan(y), y, select(x == k<V>(0), k<V>(0), x * log(y)));
}
template <class V> FB_INLINE V xlog1py(V x, V y) {
  return select(isnan(y), y, select(x == k<V>(0), k<V>(0), x * log1p(y)));
}
// -x log(x); 0 at 0, -inf below. f32, f64: 1.6 ULP.
template <class V> FB_INLINE V entr(V x) {
  const V r = select(x > k<V>(0), -x * log(x), select(x == k<V>(0), k<V>(0), -inf<V>()));
  return select(isnan(x), x, r);
}

}  // namespace fb::math
