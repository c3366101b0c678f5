// log log2 log10 log1p.
#pragma once
#include "ops/math/constants.h"

namespace fb::math {

namespace detail {

// log(1 + f) - f for f in [-1/3, 1/3]
template <class V> FB_INLINE V log_tail(V f) {
  if constexpr (is_f32<V>) {
    constexpr float q[] = {0x1.55550cp-2f,  -0x1.fffe5cp-3f, 0x1.99ce3p-3f,  -0x1.55b856p-3f,
                           0x1.1ef2d4p-3f, -0x1.f02f9p-4f,  0x1.1deb68p-3f, -0x1.0e417ap-3f};
    return f * f * fma(f, horner(f, q), k<V>(-0.5));
  } else {
    // log(1+f) = 2 atanh(s), s = f / (2 + f); 2s = f - s f
    constexpr double q[] = {0x1.555555555577ap-1, 0x1.99999998efa66p-2, 0x1.249249b2e8cd8p-2, 0x1.c71c00e619b1ap-3,
                            0x1.7474f6dfc4d58p-3, 0x1.385144fc46b66p-3, 0x1.3aca57a8f1fefp-3};
    const V s = f / (k<V>(2) + f), z = s * s, half = k<V>(0.5) * f * f;
    return fma(s, fma(z, horner(z, q), half), -half);
  }
}

// x = 2^e (1 + f), f in [-1/3, 1/3], for normal positive x; e as a float.
template <class V> struct LogReduced { V e, f; };
template <class V> FB_INLINE LogReduced<V> reduce_log(V x) {
  using I = int_t<V>;
  if constexpr (is_f32<V>) {
    const I off = k<I>(0x3f2aaaab), i = wrapping_sub(bits(x), off);
    return {to_float(i >> 23), from_bits((i & k<I>(0x7fffff)) + off) - k<V>(1)};
  } else {
    const I off = k<I>(0x3fe5555555555555), i = wrapping_add(bits(x), k<I>(0x3ff0000000000000 - 0x3fe5555555555555));
    const V e = from_bits(shift_right_logical(i, 52) | k<I>(0x4330000000000000)) - k<V>(0x1p52 + 1023);
    return {e, from_bits((i & k<I>(0xfffffffffffff)) + off) - k<V>(1)};
  }
}
template <class V> FB_INLINE LogReduced<V> reduce_log_denormal(V x) {
  const auto tiny = x < c<V>(0x1p-126f, 0x1p-1022);
  auto a = reduce_log(select(tiny, x * c<V>(0x1p24f, 0x1p54), x));
  a.e = a.e + select(tiny, c<V>(-24, -54), k<V>(0));
  return a;
}

// log of 0, of negative numbers, of inf and NaN, around r.
template <class V> FB_INLINE V log_specials(V x, V r) {
  r = select(x < inf<V>(), r, x);
  return select(x > k<V>(0), r, select(x == k<V>(0), -inf<V>(), nan<V>()));
}

// e ln2 + f + y: the large terms are added without error, the small ones then once.
template <class V> FB_INLINE V log_join(V e, V f, V y) {
  const V a = e * c<V>(0x1.62e4p-1f, 0x1.62e42fefa4p-1);
  const V s = a + f, d = (a - s) + f;
  return s + fma(e, c<V>(0x1.7f7d1cp-20f, -0x1.8432a1b0e2634p-43), d + y);
}
// (f + y) m + e x, with m and x given as two numbers each, e * x_hi exact.
template <class V> FB_INLINE V log_join_base(V e, V f, V y, V m, V m_lo, V x, V x_lo) {
  const V p = f * m, p_lo = fma(f, m, -p) + fma(f, m_lo, y * m);
  const V a = e * x, s = a + p, d = (a - s) + p;
  return s + fma(e, x_lo, d + p_lo);
}

// log(1 + x) for 0 <= x <= 1 (NaN passes), to 1 ULP: no scaling, no special cases.
template <class V> FB_INLINE V log1p_unit(V x) {
  const V one = k<V>(1), u = one + x, lost = x - (u - one);
  const auto big = u > k<V>(4.0 / 3);
  const V half = select(big, k<V>(0.5), one);
  const V f = fma(u, half, -one), e = select(big, one, k<V>(0));
  const V back = lost * half * fma(f, f - one, one);
  return log_join(e, f, log_tail(f) + back);
}

}  // namespace detail

// f32: 0.94 ULP; f64: 0.95 ULP.
template <class V> FB_INLINE V log(V x) {
  const auto a = detail::reduce_log_denormal(x);
  return detail::log_specials(x, detail::log_join(a.e, a.f, detail::log_tail(a.f)));
}
// f32: 1.3 ULP; f64: 1.3 ULP.
template <class V> FB_INLINE V log2(V x) {
  const auto a = detail::reduce_log_denormal(x);
  const V r = detail::log_join_base(a.e, a.f, detail::log_tail(a.f), c<V>(0x1.715476p+0f, 0x1.71547652b82fep+0),
                                    c<V>(0x1.4ae0cp-26f, 0x1.777d0ffda0d24p-56), k<V>(1), k<V>(0));
  return detail::log_specials(x, r);
}
// f32: 1.06 ULP; f64: 1.1 ULP.
template <class V> FB_INLINE V log10(V x) {
  const auto a = detail::reduce_log_denormal(x);
  const V r = detail::log_join_base(a.e, a.f, detail::log_tail(a.f), c<V>(0x1.bcb7b2p-2f, 0x1.bcb7b1526e50ep-2),
                                    c<V>(-0x1.5b235ep-27f, 0x1.95355baaafad3p-57), c<V>(0x1.344p-2f, 0x1.34413509f8p-2),
                                    c<V>(0x1.3509f8p-18f, -0x1.80433b83b532ap-44));
  return detail::log_specials(x, r);
}
// f32: 1 ULP; f64: 1 ULP. The rounding c of 1 + x comes back as c / (1 + x), to first order.
template <class V> FB_INLINE V log1p(V x) {
  const V u = k<V>(1) + x;
  const V lost = select(x > k<V>(1), k<V>(1) - (u - x), x - (u - k<V>(1)));
  const auto a = detail::reduce_log(u);
  // 2^-e exactly: where e is large the rounding no longer matters
  const V e = min(a.e, c<V>(100.0f, 1000.0));
  const V shift = c<V>(0x1.8p23f, 0x1.8p52);
  const V scale = from_bits((bits(shift + (c<V>(127.0f, 1023.0) - e))) << (is_f32<V> ? 23 : 52));
  const V m = fma(a.f, a.f - k<V>(1), k<V>(1));  // 1 / (1 + f) to second order
  const V small = select(abs(x) < c<V>(0x1p30f, 0x1p60), lost * scale * m, k<V>(0));
  const V r = detail::log_join(a.e, a.f, detail::log_tail(a.f) + small);
  const V s = select(u > k<V>(0), r, select(u == k<V>(0), -inf<V>(), nan<V>()));
  return select((x == k<V>(0)) | (x == inf<V>()), x, s);
}

}  // namespace fb::math
