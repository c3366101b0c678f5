// erf erfc erfcx.
#pragma once
#include "ops/math/exp.h"
#include "ops/math/pow.h"

namespace fb::math {

namespace detail {

// erf on [j / 2, (j + 1) / 2], j = 0 .. 7: row 0 the value at the middle, rows 1 .. 8 the coefficients of the
// powers 0 .. 7 of the distance from it. At j = 0 they are those of erf(t) - t about 0.
inline constexpr float erf_table[9][8] = {
    {0, 0x1.6c1c98p-1f, 0x1.d8865ep-1f, 0x1.f92d08p-1f,
     0x1.ff4048p-1f, 0x1.fff2dp-1f, 0x1.ffff7p-1f, 0x1.fffffcp-1f},
    {0, -0x1.50f3fp-26f, -0x1.867db6p-27f, -0x1.023806p-26f,
     -0x1.41a688p-26f, -0x1.3e97bp-27f, -0x1.820a9ap-27f, 0x1.78d106p-28f},
    {0x1.06ebaap-3f, 0x1.492e42p-1f, 0x1.e4653p-3f, 0x1.b0553p-5f,
     0x1.d4143cp-8f, 0x1.3360dp-11f, 0x1.e9b5cep-16f, 0x1.d9364cp-21f},
    {-0x1.4d096p-19f, -0x1.edc55ep-2f, -0x1.2ebf54p-2f, -0x1.7a4a8p-4f,
     -0x1.074b2p-6f, -0x1.a6a56ap-10f, -0x1.8de92ap-14f, -0x1.bbbbb8p-19f},
    {-0x1.811468p-2f, 0x1.b6f138p-6f, 0x1.571cd6p-3f, 0x1.7148d6p-4f,
     0x1.63ef22p-6f, 0x1.69ced6p-9f, 0x1.9aa6d4p-13f, 0x1.0b738p-17f},
    {-0x1.971826p-11f, 0x1.3496dap-3f, -0x1.91efa6p-8f, -0x1.8a142cp-5f,
     -0x1.38bdc6p-6f, -0x1.aaff3p-9f, -0x1.2c1228p-12f, -0x1.ce8fe6p-17f},
    {0x1.de351ep-4f, -0x1.b475f6p-5f, -0x1.826f1ap-5f, 0x1.b1ca74p-8f,
     0x1.5d55fp-7f, 0x1.694ac4p-9f, 0x1.48d23ep-12f, 0x1.335846p-16f},
    {-0x1.3c193ep-7f, -0x1.b40b1cp-6f, 0x1.51a7e2p-6f, 0x1.28743cp-7f,
     -0x1.6c4ed6p-9f, -0x1.b52c52p-10f, -0x1.1f0cp-12f, -0x1.5b28acp-16f},
    {-0x1.13b1b8p-6f, 0x1.2c1b0ep-6f, 0x1.d7eacap-9f, -0x1.84e4dp-8f,
     -0x1.7de878p-11f, 0x1.4c8e64p-11f, 0x1.6cd058p-13f, 0x1.21516ap-16f},
};

// (1 + 2x) e^(x^2) erfc(x) in t = (x - 2.5) / (x + 2.5), 0 <= x <= 28
inline constexpr double erfcx_table[] = {
    0x1.43cc6f6c9672cp+0, -0x1.f52c5d7e222d7p-4, -0x1.959ac16f854d4p-4, 0x1.42d379989ab57p-3,
    -0x1.a5c0c8a40cbc9p-4, 0x1.0c6092a601b31p-5, 0x1.e89489ca3a466p-11, -0x1.1f2f1356c986ep-8,
    0x1.01e117894dd53p-11, 0x1.4b6a5782e2976p-11, -0x1.731aa2b2e349bp-14, -0x1.dc27bb80c26e9p-14,
    0x1.a420dfe8e0de4p-18, 0x1.7cef86f34fbedp-16, 0x1.60a8112cf2a22p-19, -0x1.1bc944a534138p-18,
    -0x1.b4b0ffc0a17e5p-20, 0x1.201cea4f2b557p-21, 0x1.3fc1c4571a803p-21, 0x1.30fe17443de63p-25,
    -0x1.8d62a2a80b1f9p-23, -0x1.d8b1444e7f746p-25, 0x1.bf31273cbbaa8p-25, 0x1.91f18a1f38849p-26,
    -0x1.403b2f9bbbdaep-27, -0x1.5cb933a31c8ccp-28,
};
// the same to 2^-30 in t = (x - 4) / (x + 4), 0 <= x <= 10.2
inline constexpr double erfcx_table_for_float[] = {
    0x1.3ba5916f2d119p+0, -0x1.1df1aef85c575p-3, 0x1.f7f5a629f6b59p-7, 0x1.16edc1b0fd4b2p-4,
    -0x1.9dd9b0322c9bfp-4, 0x1.7fe212b8647edp-4, -0x1.0fcb0f48b600bp-4, 0x1.30e6e570e4d2cp-5,
    -0x1.0684ba90bf3dbp-6, 0x1.4b15024410785p-8, -0x1.27bb5f361593dp-10, -0x1.4f248224f0bb4p-11,
};

// e^(x^2) erfc(x) for 0 <= x <= 28
template <class V> FB_INLINE V erfcx_core(V x) {
  return horner_split((x - k<V>(2.5)) / (x + k<V>(2.5)), erfcx_table) / fma(k<V>(2), x, k<V>(1));
}

// erf on [0, 1]
template <class V> FB_INLINE V erf_near(V y) {
  constexpr double d[] = {0x1.06eba8214db68p-3, -0x1.812746b03799cp-2, 0x1.ce2f21a03f728p-4, -0x1.b82ce311a0743p-6,
                          0x1.565bcced5e009p-8, -0x1.c02dae7288a38p-11, 0x1.f9a28f4f80365p-14, -0x1.f4c7af3446ef9p-17,
                          0x1.b965e7bb415c4p-20, -0x1.5b683511cbc81p-23, 0x1.d2d0248e74104p-27, -0x1.9ee42636d3f6ap-31};
  return fma(y, horner(y * y, d), y);
}
// erfc for x >= 0; the rounding of x^2 goes into the exponential.
template <class V> FB_INLINE V erfc_far(V x) {
  const V y = min(k<V>(28), x), s = y * y, s_lo = fma(y, y, -s);
  return exp_sum(-s, -s_lo, 0) * erfcx_core(y);
}

}  // namespace detail

// f32: 0.6 ULP; f64: 5 ULP (1 below x = 0.5).
template <class V> constexpr V erfc(V x) {
  if constexpr (is_f32<V>) {
    return in_double([](auto d) {
      using D = decltype(d);
      const D y = min(k<D>(10.2), abs(d));
      const D p = horner_split((y - k<D>(4)) / (y + k<D>(4)), detail::erfcx_table_for_float) / fma(k<D>(2), y, k<D>(1));
      const D r = p * detail::exp_for_float(-(y * y));
      return select(d < k<D>(0), k<D>(2) - r, r);
    }, x);
  } else {
    const V y = abs(x), near = detail::erf_near(min(k<V>(0.5), y)), far = detail::erfc_far(y);
    const auto neg = x < k<V>(0);
    return select(y < k<V>(0.5), k<V>(1) - select(neg, -near, near), select(neg, k<V>(2) - far, far));
  }
}

// f32: 0.96 ULP; f64: 1.1 ULP.
template <class V> FB_INLINE V erf(V x) {
  if constexpr (is_f32<V>) {
    const V shift = k<V>(0x1.8p23f), y = min(k<V>(3.93), abs(x));
    const V m = fma(y, k<V>(2), k<V>(-0.5)) + shift;
    const auto first = y <= k<V>(0.5);
    const V t = select(first, y, y - fma(m - shift, k<V>(0.5), k<V>(0.25)));
    const int_t<V> j = bits(m) & k<int_t<V>>(7);
    V r = lookup(detail::erf_table[8], j);
    FB_UNROLL for (int i = 7; i >= 1; --i) r = fma(r, t, lookup(detail::erf_table[i], j));
    return copysign(select(first, y, lookup(detail::erf_table[0], j)) + r, x);
  } else {
    const V y = abs(x), near = detail::erf_near(min(k<V>(1), y)), far = k<V>(1) - detail::erfc_far(y);
    return copysign(select(y < k<V>(1), near, far), x);
  }
}

}  // namespace fb::math
