// exp exp2 expm1 sigmoid log_sigmoid softplus silu.
#pragma once
#include "ops/math/constants.h"

namespace fb::math {

namespace detail {

// x = n ln2 + r + lo with |r| <= ln2/2, lo the rounding of r; n sits in the low bits of t, on top of twice
// the exponent bias, so that 2^n can be made in two halves: each half is a normal number, and the second
// product rounds once, to a denormal or to infinity where it must.
template <class V> struct ExpReduced { V r, lo, t, n; };

template <class V> FB_INLINE V exp_shift() { return c<V>(0x1.8p23f + 254, 0x1.8p52 + 2046); }

template <class V> FB_INLINE ExpReduced<V> reduce_exp(V x) {
  const V shift = exp_shift<V>();
  const V t = fma(x, c<V>(0x1.715476p+0f, 0x1.71547652b82fep+0), shift);
  const V n = t - shift;
  const V h = fma(n, c<V>(-0x1.62e43p-1f, -0x1.62e42fefa4p-1), x);  // exact
  const V low = c<V>(0x1.05c61p-29f, 0x1.8432a1b0e2634p-43);
  const V r = fma(n, low, h);
  return {r, fma(n, low, h - r), t, n};
}

// (e^r - 1 - r) / r^2 on |r| <= ln2/2
template <class V> FB_INLINE V exp_quotient(V r) {
  constexpr float f[] = {0x1p-1f, 0x1.55548ap-3f, 0x1.555528p-5f, 0x1.123ed8p-7f, 0x1.6cf4e2p-10f};
  constexpr double d[] = {0x1.000000000000cp-1,  0x1.5555555555768p-3,  0x1.555555554facfp-5,  0x1.11111110862b8p-7,
                          0x1.6c16c186c00c5p-10, 0x1.a01a04a2e31e7p-13, 0x1.a019944c2dfe5p-16, 0x1.71d75f88c1413p-19,
                          0x1.28b1a833a5d1bp-22, 0x1.b9bd2e29a2646p-26};
  return horner(r, f, d);
}
// e^r - 1, of r and of r + lo
template <class V> FB_INLINE V exp_less_one(V r) { return fma(r * r, exp_quotient(r), r); }
template <class V> FB_INLINE V exp_less_one(V r, V lo) { return r + fma(r * r, exp_quotient(r), lo); }

template <class V> FB_INLINE V pow2_of_bits(int_t<V> e) {
  return from_bits(e << (is_f32<V> ? 23 : 52));
}
// p 2^n, n from the bits of t
template <class V> FB_INLINE V scale_by(V p, V t) {
  const int_t<V> i = bits(t), h = shift_right_logical(i, 1);
  return p * pow2_of_bits<V>(h) * pow2_of_bits<V>(wrapping_sub(i, h));
}
// 2^r on |r| <= 1/2
template <class V> FB_INLINE V pow2_fraction(V r) {
  constexpr float f[] = {0x1.62e43p-1f,  0x1.ebfbd2p-3f,  0x1.c6afbcp-5f,
                         0x1.3b3276p-7f, 0x1.5ee4a8p-10f, 0x1.3f7b3cp-13f};
  constexpr double d[] = {0x1.62e42fefa39efp-1,  0x1.ebfbdff82c52dp-3,  0x1.c6b08d704a1f0p-5,  0x1.3b2ab6fbba9b6p-7,
                          0x1.5d87fe786e8c6p-10, 0x1.43091294191d7p-13, 0x1.ffcbfd6243eb7p-17, 0x1.62c1b65f454dfp-20,
                          0x1.b5230639ef62dp-24, 0x1.df0aaa45616d4p-28, 0x1.eca63bfe4686fp-32, 0x1.333e0183d2357p-33};
  return fma(horner(r, f, d), r, k<V>(1));
}

// Past these the result is 0 or inf; NaN passes.
template <class V> FB_INLINE V clamp_exp(V x) {
  return min(c<V>(89.0f, 710.0), max(c<V>(-104.0f, -746.0), x));
}

// e^(x + lo) 2^m: lo is small, m an integer in -2 .. 1 that does not pass through a rounding.
template <class V> FB_INLINE V exp_sum(V x, V lo, int m) {
  const auto a = reduce_exp(clamp_exp(x));
  const V r = a.r + (a.lo + lo);
  return scale_by(k<V>(1) + exp_less_one(r), a.t + k<V>(m));
}

// e^x in double to 2^-34, for results of float; x within the range of floats' exponents.
template <class V> FB_INLINE V exp_for_float(V x) {
  const V shift = k<V>(0x1.8p52 + 1023), t = x * k<V>(0x1.71547652b82fep+0), n = t + shift, r = t - (n - shift);
  constexpr double g[] = {0x1.62e42fef7b8e8p-1,  0x1.ebfbe07abdad5p-3,  0x1.c6b08df3b0837p-5, 0x1.3b29f0f83ec50p-7,
                          0x1.5d872499bd909p-10, 0x1.445e6f951770bp-13, 0x1.00f087162dd32p-16};
  return fma(horner(r, g), r, k<V>(1)) * pow2_of_bits<V>(bits(n));
}

}  // namespace detail

// f32: 0.91 ULP; f64: 1 ULP. Only the last step rounds at the size of the result: e^r - 1 is left as a product with r.
template <class V> FB_INLINE V exp(V x) {
  const auto a = detail::reduce_exp(detail::clamp_exp(x));
  const V g = fma(detail::exp_quotient(a.r), a.r, k<V>(1));
  return detail::scale_by(fma(g, a.r, k<V>(1)), a.t);
}

// f32: 0.9 ULP; f64: 0.95 ULP.
template <class V> FB_INLINE V exp2(V x) {
  x = min(c<V>(129.0f, 1025.0), max(c<V>(-151.0f, -1076.0), x));
  const V shift = detail::exp_shift<V>();
  const V t = x + shift, r = x - (t - shift);
  return detail::scale_by(detail::pow2_fraction(r), t);
}

// f32: 1.51 ULP; f64: 1.7 ULP. 2^n (e^r - 1) + (2^n - 1), at half scale so that n = 128 does not overflow early.
template <class V> FB_INLINE V expm1(V x) {
  const V y = min(c<V>(89.0f, 710.0), max(c<V>(-26.0f, -56.0), x));
  const auto a = detail::reduce_exp(y);
  const V q = detail::exp_less_one(a.r, a.lo);
  const int bias = is_f32<V> ? 127 : 1023;
  const V s = detail::pow2_of_bits<V>(bits(a.t) - k<int_t<V>>(bias + 1));  // 2^(n-1)
  const V r = fma(s, q, s - k<V>(0.5)) * k<V>(2);
  return select(abs(x) < c<V>(0x1p-60f, 0x1p-500), x, r);  // keeps -0 and denormals
}

// 1 / (1 + e^-x). f32: 0.99 ULP; f64: 0.9 ULP.
// In f32 1 / (1 + e^|x|) at a scale of 2^-32, where nothing overflows: with e^|x| = s (1 + q) the denominator is made with one
// rounding, d_lo is what it lost, and one step against the residual takes that and the division's. The rest of 1 for x >= 0.
// In f64 numerator and denominator of 1 / (1 + e^-x), or for negative x of e^x / (1 + e^x), carry their roundings, and one
// step against the residual takes the division's.
template <class V> FB_INLINE V sigmoid(V x) {
  if constexpr (is_f32<V>) {
    const V y = min(k<V>(104), abs(x));
    const V shift = k<V>(0x1.8p23f + 127 - 32), t = fma(y, k<V>(0x1.715476p+0f), shift), n = t - shift;
    const V h = fma(n, k<V>(-0x1.62e43p-1f), y), q = detail::exp_less_one(fma(n, k<V>(0x1.05c61p-29f), h));
    const V one = k<V>(0x1p-32f), s = detail::pow2_of_bits<V>(bits(t));
    const V d = fma(q, s, s + one), d_lo = fma(q, s, (s - d) + one);
    const V w = k<V>(1) / d, rest = fma(-w, d_lo, fma(-w, d, k<V>(1)));
    const V small = fma(w, rest, w) * one;
    return select(x < k<V>(0), small, k<V>(1) - small);
  } else {
    const auto a = detail::reduce_exp(detail::clamp_exp(-abs(x)));
    const V q = detail::exp_less_one(a.r);
    const V p = k<V>(1) + q, p_lo = (q - (p - k<V>(1))) + a.lo;
    const int_t<V> i = bits(a.t), h = shift_right_logical(i, 1);
    const V s1 = detail::pow2_of_bits<V>(h), s2 = detail::pow2_of_bits<V>(wrapping_sub(i, h));
    const V e = p * s1 * s2, d = k<V>(1) + e;
    const V d_lo = fma(p_lo * s1, s2, e - (d - k<V>(1)));
    const auto neg = x < k<V>(0);
    const V num = select(neg, p, k<V>(1)), num_lo = select(neg, p_lo, k<V>(0));
    const V inv = k<V>(1) / d, y = num * inv;
    const V rest = fma(-y, d_lo, fma(-y, d, num)) + num_lo;
    const V z = fma(rest, inv, y);
    return select(neg, z * s1 * s2, z);
  }
}

}  // namespace fb::math
