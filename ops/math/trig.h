// sin cos tan asin acos atan atan2.
#pragma once
#include "ops/math/constants.h"

namespace fb::math {

namespace detail {

// |x| = q pi/2 + r + lo, |r| <= pi/4; only the low bits of q count.
template <class V> struct TrigReduced { V r, lo; int_t<V> q; };

// Beyond this the product n * pi/2 is no longer exact in its parts.
template <class V> FB_INLINE V trig_limit() { return c<V>(0x1p17f, 0x1p26); }

template <class V> FB_INLINE TrigReduced<V> reduce_trig(V x) {
  const V shift = c<V>(0x1.8p23f, 0x1.8p52);
  const V t = fma(x, c<V>(0x1.45f306p-1f, 0x1.45f306dc9c883p-1), shift), n = t - shift;
  const V p2 = c<V>(-0x1.777a5cp-25f, 0x1.1a62633145c07p-54);
  const V r1 = fma(n, c<V>(-0x1.921fb6p+0f, -0x1.921fb54442d18p+0), x);  // exact
  const V h = n * p2, h_lo = fma(n, p2, -h);
  const V r = r1 - h;
  const V lo = fma(n, c<V>(0x1.ee59dap-50f, 0x1.f1976b7ed8fbcp-110), ((r1 - r) - h) - h_lo);
  return {r, lo, bits(t)};
}

// 2/pi in binary, after 64 zeros.
inline constexpr uint64_t two_over_pi[] = {
    0,
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0,
    0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4,
    0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab, 0xf0cfbc209af4361d};

// Payne and Hanek's reduction, for finite x >= 2^26: of x * 2/pi only the bits below weight 4 are formed,
// 190 of them after the point, from the 192 bits of 2/pi that meet the 53 of x there.
constexpr TrigReduced<double> reduce_trig_large(double x) {
  const uint64_t u = std::bit_cast<uint64_t>(x);
  const int e = int(u >> 52) - 1075;  // x = m 2^e
  const uint64_t m = (u & 0xfffffffffffff) | (uint64_t(1) << 52);
  const int s = e - 2 + 64, word = s >> 6, shift = s & 63;  // first bit wanted, counted from 0 in the table
  uint64_t w[3] = {};
  for (int i = 0; i < 3; ++i) {
    const uint64_t a = two_over_pi[word + i], b = two_over_pi[word + i + 1];
    w[i] = shift ? (a << shift) | (b >> (64 - shift)) : a;
  }
  // product mod 2^192; w[0] is the highest word
  using u128 = unsigned __int128;
  const u128 p2 = u128(m) * w[2], p1 = u128(m) * w[1] + uint64_t(p2 >> 64);
  uint64_t low = uint64_t(p2), mid = uint64_t(p1), high = m * w[0] + uint64_t(p1 >> 64);
  int64_t q = int64_t(high >> 62);
  high = (high << 2) | (mid >> 62);
  mid = (mid << 2) | (low >> 62);
  low <<= 2;
  const bool neg = high >> 63;  // fraction of a half or more: count from the next multiple, downwards
  if (neg) {
    ++q;
    low = ~low + 1;
    mid = ~mid + (low == 0);
    high = ~high + (low == 0 && mid == 0);
  }
  int exponent = 0;
  while (high == 0 && exponent < 128) { high = mid; mid = low; low = 0; exponent += 64; }
  const int lz = high ? __builtin_clzll(high) : 0;
  if (lz) {
    high = (high << lz) | (mid >> (64 - lz));
    mid = (mid << lz) | (low >> (64 - lz));
    exponent += lz;
  }
  // fraction = (high 2^-64 + mid 2^-128) 2^-exponent, as a sum of two doubles, times pi/2
  const double scale = std::bit_cast<double>(uint64_t(1023 - exponent) << 52);
  const double a = double(high >> 11) * 0x1p-53 * scale;
  const double b = (double(high & 0x7ff) * 0x1p-64 + double(mid >> 11) * 0x1p-117) * scale;
  const double p = 0x1.921fb54442d18p+0, p_lo = 0x1.1a62633145c07p-54;
  const double r = a * p, r_lo = fma(a, p, -r) + (a * p_lo + b * p);
  const double hi = r + r_lo, lo = (r - hi) + r_lo;
  return neg ? TrigReduced<double>{-hi, -lo, q} : TrigReduced<double>{hi, lo, q};
}

template <class V> FB_INLINE V sin_reduced(V r, V lo) {
  constexpr float f[] = {-0x1.555546p-3f, 0x1.11077cp-7f, -0x1.9955aep-13f};
  constexpr double d[] = {-0x1.5555555555549p-3, 0x1.111111110f89cp-7,  -0x1.a01a019c141bfp-13,
                          0x1.71de3578ee5b3p-19, -0x1.ae5e66a52d5b9p-26, 0x1.5d930177d7338p-33};
  const V z = r * r;
  return r + fma(r * z, horner(z, f, d), fma(k<V>(-0.5) * z, lo, lo));
}
template <class V> FB_INLINE V cos_reduced(V r, V lo) {
  constexpr float f[] = {0x1.55554ap-5f, -0x1.6c0c1ap-10f, 0x1.99e0eep-16f};
  constexpr double d[] = {0x1.555555555554cp-5,   -0x1.6c16c16c15217p-10, 0x1.a01a019cbe157p-16,
                          -0x1.27e4f81176ff7p-22, 0x1.1ee9f04d83bacp-29,  -0x1.8fb0967b42f5ap-37};
  const V z = r * r, h = k<V>(0.5) * z, w = k<V>(1) - h;
  const V z_lo = fma(r, r, -z);
  const V tail = fma(z * z, horner(z, f, d), fma(-r, lo, k<V>(-0.5) * z_lo));
  return w + (((k<V>(1) - w) - h) + tail);
}
// sin of r + q pi/2
template <class V> FB_INLINE V sin_of_quadrant(const TrigReduced<V>& a, int_t<V> q) {
  const V s = sin_reduced(a.r, a.lo), co = cos_reduced(a.r, a.lo);
  const V v = select((q & k<int_t<V>>(1)) != k<int_t<V>>(0), co, s);
  return from_bits(bits(v) ^ ((q & k<int_t<V>>(2)) << (8 * int(sizeof(lane_t<V>)) - 2)));
}

constexpr double sin_large(double x) {
  if (!(x - x == 0)) return x - x;
  const auto a = reduce_trig_large(fb::abs(x));
  const double s = sin_of_quadrant(a, a.q);
  return x < 0 ? -s : s;
}
constexpr double cos_large(double x) {
  if (!(x - x == 0)) return x - x;
  const auto a = reduce_trig_large(fb::abs(x));
  return sin_of_quadrant(a, a.q + 1);
}
constexpr double tan_large(double x) {
  if (!(x - x == 0)) return x - x;
  const auto a = reduce_trig_large(fb::abs(x));
  const double t = sin_of_quadrant(a, a.q) / sin_of_quadrant(a, a.q + 1);
  return x < 0 ? -t : t;
}

}  // namespace detail

template <class V> FB_INLINE V cos(V x);
template <class V> FB_INLINE V tan(V x);

// f32: 0.8 ULP; f64: 0.8 ULP, for every x.
template <class V> FB_INLINE V sin(V x) {
  const V ax = abs(x);
  const auto a = detail::reduce_trig(ax);
  const V v = detail::sin_of_quadrant(a, a.q);
  const V r = from_bits(bits(v) ^ (bits(x) & bits(k<V>(-0.0))));
  return patch(ax > detail::trig_limit<V>(), r, [](lane_t<V> y) -> lane_t<V> {
    if constexpr (is_f32<V>) return float(fb::math::sin(double(y)));
    else return detail::sin_large(y);
  }, x);
}
// f32: 0.8 ULP; f64: 0.8 ULP, for every x.
template <class V> FB_INLINE V cos(V x) {
  const V ax = abs(x);
  const auto a = detail::reduce_trig(ax);
  const V r = detail::sin_of_quadrant(a, a.q + k<int_t<V>>(1));
  return patch(ax > detail::trig_limit<V>(), r, [](lane_t<V> y) -> lane_t<V> {
    if constexpr (is_f32<V>) return float(fb::math::cos(double(y)));
    else return detail::cos_large(y);
  }, x);
}
// f32: 2 ULP; f64: 2 ULP, for every x.
template <class V> FB_INLINE V tan(V x) {
  const V ax = abs(x);
  const auto a = detail::reduce_trig(ax);
  const V s = detail::sin_reduced(a.r, a.lo), co = detail::cos_reduced(a.r, a.lo);
  const auto odd = (a.q & k<int_t<V>>(1)) != k<int_t<V>>(0);
  const V t = select(odd, -co, s) / select(odd, s, co);
  const V r = from_bits(bits(t) ^ (bits(x) & bits(k<V>(-0.0))));
  return patch(ax > detail::trig_limit<V>(), r, [](lane_t<V> y) -> lane_t<V> {
    if constexpr (is_f32<V>) return float(fb::math::tan(double(y)));
    else return detail::tan_large(y);
  }, x);
}

namespace detail {
// (asin(s) - s) / s^3 in z = s^2 <= 1/4
template <class V> FB_INLINE V asin_tail(V z) {
  constexpr float f[] = {0x1.5555cap-3f, 0x1.33016ap-4f, 0x1.748a2cp-5f, 0x1.8bb536p-6f, 0x1.59cc94p-5f};
  constexpr double d[] = {0x1.5555555555578p-3, 0x1.333333332df22p-4, 0x1.6db6db722a89ep-5, 0x1.f1c71a8c03786p-6,
                          0x1.6e8bdfd988787p-6, 0x1.1c49df05a25e7p-6, 0x1.ca2129e8c90f5p-7, 0x1.7578738df2537p-7,
                          0x1.618565dc6e618p-7, 0x1.e1afc2dd55f1dp-9, 0x1.64e73009c74afp-6, -0x1.59cf1429a999fp-6,
                          0x1.0bd7a155a4660p-5};
  return horner(z, f, d);
}
template <class V> FB_INLINE V half_pi() { return c<V>(0x1.921fb6p+0f, 0x1.921fb54442d18p+0); }
template <class V> FB_INLINE V half_pi_lo() { return c<V>(-0x1.777a5cp-25f, 0x1.1a62633145c07p-54); }
}  // namespace detail

// f32: 1 ULP; f64: 1 ULP.
template <class V> FB_INLINE V asin(V x) {
  const V ax = abs(x);
  const auto big = ax > k<V>(0.5);
  const V z = select(big, fma(k<V>(-0.5), ax, k<V>(0.5)), ax * ax);
  const V s = select(big, own::sqrt_of(z), ax);
  const V t = s * z * detail::asin_tail(z);
  // pi/2 - 2 asin(s), with what the root and the difference lost
  const V s_lo = fma(-s, s, z) * k<V>(0.5) / max(s, k<V>(0x1p-60)), s2 = s + s, d = detail::half_pi<V>() - s2;
  const V far = d + (((detail::half_pi<V>() - d) - s2) + (detail::half_pi_lo<V>() - k<V>(2) * (t + s_lo)));
  return copysign(select(big, far, s + t), x);
}
// f32: 1.5 ULP; f64: 1.5 ULP.
template <class V> FB_INLINE V acos(V x) {
  const V ax = abs(x);
  const auto big = ax > k<V>(0.5), neg = x < k<V>(0);
  const V z = select(big, fma(k<V>(-0.5), ax, k<V>(0.5)), ax * ax);
  const V s = select(big, own::sqrt_of(z), ax);
  const V t = s * z * detail::asin_tail(z);
  const V two = k<V>(2) * (s + t);
  const V far = select(neg, k<V>(2) * detail::half_pi<V>() - fma(k<V>(-2), detail::half_pi_lo<V>(), two), two);
  const V sx = select(neg, -s, s), tx = select(neg, -t, t);
  const V near = detail::half_pi<V>() - (sx - (detail::half_pi_lo<V>() - tx));
  return select(big, far, near);
}

namespace detail {
// atan(x) - x on [0, 1]
template <class V> FB_INLINE V atan_tail(V x) {
  constexpr float f[] = {-0x1.55554p-2f,  0x1.999266p-3f,  -0x1.24262ap-3f, 0x1.c0c8e2p-4f, -0x1.58bcfcp-4f,
                         0x1.dc983ap-5f, -0x1.012eeap-5f, 0x1.696592p-7f,  -0x1.dcc3a2p-10f};
  constexpr double d[] = {-0x1.555555555552ap-2, 0x1.9999999995aebp-3,  -0x1.24924923923fep-3, 0x1.c71c718428525p-4,
                          -0x1.745d11fb3411ep-4, 0x1.3b136a1766d2cp-4,  -0x1.110e6d91f78f9p-4, 0x1.e1bcf79739e9cp-5,
                          -0x1.ae644c6b30e27p-5, 0x1.82eeab96fcb9fp-5,  -0x1.59d7e725a04f3p-5, 0x1.2c9802365aff9p-5,
                          -0x1.eb48dbe13539dp-6, 0x1.69d8155d82e45p-6,  -0x1.ca96d2ccda93ap-7, 0x1.dc03586792f6bp-8,
                          -0x1.7ea53e6d565c7p-9, 0x1.ba3b185778019p-11, -0x1.44a277f95d9f8p-13, 0x1.c4a0bd0cd075cp-17};
  const V z = x * x;
  if constexpr (is_f32<V>) return x * z * horner(z, f);
  else return x * z * horner(z, d);
}
}  // namespace detail

// f32: 1.5 ULP; f64: 1.5 ULP.
template <class V> FB_INLINE V atan(V x) {
  const V ax = abs(x);
  const auto big = ax > k<V>(1);
  const V t = select(big, k<V>(1) / ax, ax), tail = detail::atan_tail(t);
  const V far = detail::half_pi<V>() - (t - (detail::half_pi_lo<V>() - tail));
  return copysign(select(big, far, t + tail), x);
}
// f32: 2.5 ULP; f64: 2.5 ULP.
template <class V> FB_INLINE V atan2(V y, V x) {
  const V ax = abs(x), ay = abs(y);
  const auto steep = ay > ax;
  const V lo = select(steep, ax, ay), hi = select(steep, ay, ax);
  V t = lo / hi;
  t = select(lo == hi, select(hi == k<V>(0), k<V>(0), k<V>(1)), t);  // 0/0 and inf/inf; NaN stays
  const V tail = detail::atan_tail(t);
  // angle from the nearer axis, then from the positive x axis
  const V a = select(steep, detail::half_pi<V>() - (t - (detail::half_pi_lo<V>() - tail)), t + tail);
  const auto left = bits(x) < k<int_t<V>>(0);
  const V b = select(steep, detail::half_pi<V>() + (t + (detail::half_pi_lo<V>() + tail)),
                     k<V>(2) * detail::half_pi<V>() - (t - (k<V>(2) * detail::half_pi_lo<V>() - tail)));
  const V r = copysign(select(left, b, a), y);
  return select(isnan(x) | isnan(y), x + y, r);
}

}  // namespace fb::math
