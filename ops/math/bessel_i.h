// The modified Bessel functions of the first kind i0 i1, and i0e i1e scaled by e^-|x|.
#pragma once
#include "ops/math/exp.h"

namespace fb::math {

namespace detail {

// I0(x) and I1(x) / x in x^2 up to 64
inline constexpr double i0_near[] = {
    0x1.0000000000000p+0, 0x1.0000000000000p-2, 0x1.0000000000000p-6, 0x1.c71c71c71c717p-12,
    0x1.c71c71c71c7adp-18, 0x1.23456789ab3c5p-24, 0x1.02e85c08a4668p-31, 0x1.522a43f510b5dp-39,
    0x1.522a440eedfa1p-47, 0x1.0b31313149862p-55, 0x1.5601a3e984344p-64, 0x1.69c8fe61e0a18p-73,
    0x1.41a98469524e2p-82, 0x1.e608d90af673cp-92, 0x1.4454cc9a42889p-101, 0x1.3c771bff11e50p-111,
    0x1.15b892c24bfdbp-120};
inline constexpr double i1_near[] = {
    0x1.0000000000000p-1, 0x1.0000000000000p-4, 0x1.5555555555555p-9, 0x1.c71c71c71c71ap-15,
    0x1.6c16c16c16c4bp-21, 0x1.845c8a0ce4affp-28, 0x1.27e4fb7791628p-35, 0x1.522a43f591ea1p-43,
    0x1.2c9758e90a000p-51, 0x1.ab81e8fc624aep-60, 0x1.f176b4dd48f52p-69, 0x1.e261d5626fbfep-78,
    0x1.8bdfff7c7b65ap-87, 0x1.15d5bf8fdb360p-96, 0x1.592742ca157a0p-106, 0x1.403f56123c729p-116,
    0x1.0159d109ea725p-125};
// sqrt(x) e^-x I(x) in 16 / x - 1, x >= 8
inline constexpr double i0_far[] = {
    0x1.9bd428ad249a5p-2, 0x1.b87969bb93b86p-9, 0x1.1daa72b5cffa0p-13, 0x1.75e5ee7193c9bp-17,
    0x1.8e513c2fbb4d7p-20, 0x1.3f49a7d62b2a7p-22, 0x1.7d0d0cb6d579dp-24, 0x1.51ce71adfb8dbp-25,
    0x1.7281608082b9ep-26, 0x1.0393c5c549082p-27, -0x1.d6aed4e999b12p-28, -0x1.ccba1604bc1dcp-27,
    -0x1.5a374e80676d1p-28, 0x1.03813921d37c5p-27, 0x1.c2cf2e6a86f76p-28, -0x1.e1db3b1fc4a33p-29,
    -0x1.3a6dfcb2a04c6p-28, 0x1.a1d63d6d83f28p-30, 0x1.2df0453a23202p-29, -0x1.3a3b59d66beeep-31,
    -0x1.6cab377ea2a1bp-31, 0x1.4ffe43b34f636p-33, 0x1.9be1812d9a5d6p-34, -0x1.646da6611f5bbp-36};
inline constexpr double i1_far[] = {
    0x1.8ebe783a84030p-2, -0x1.3f796198ee62dp-7, -0x1.cbc54df1d5adep-13, -0x1.f89c230615615p-17,
    -0x1.ec8e123ea3305p-20, -0x1.76137f7ae6917p-22, -0x1.ad8b35adc406ep-24, -0x1.727a1058f659ep-25,
    -0x1.91e151ca6bf4cp-26, -0x1.21936a1ea1c44p-27, 0x1.d60cff70f4b68p-28, 0x1.e23678465104fp-27,
    0x1.805f9b819497dp-28, -0x1.069735b0184d3p-27, -0x1.dfed018845132p-28, 0x1.d6e5e5ac6c0f4p-29,
    0x1.4a94ecae56207p-28, -0x1.8b794674b103dp-30, -0x1.3bb2a62cd23b4p-29, 0x1.23214d692d837p-31,
    0x1.7c45609d41599p-31, -0x1.341e6ffafa828p-33, -0x1.acea3b25344d8p-34, 0x1.45b8aea882a07p-36};

template <bool first_order, bool scaled, class V> FB_INLINE V bessel_i(V x) {
  const V ax = abs(x), y = min(k<V>(8), ax), z = y * y;
  V near, far;
  const V big = max(k<V>(8), ax), u = fma(k<V>(16), k<V>(1) / big, k<V>(-1));
  if constexpr (first_order) {
    near = y * horner(z, i1_near);
    far = horner_split(u, i1_far);
  } else {
    near = horner(z, i0_near);
    far = horner_split(u, i0_far);
  }
  far = far / own::sqrt_of(big);
  const auto small = ax <= k<V>(8);
  V r;
  if constexpr (scaled) {
    r = select(small, near * exp(-y), far);
  } else {
    // e^x may overflow before the product does
    const V half = exp(k<V>(0.5) * min(k<V>(1500), big));
    r = select(small, near, far * half * half);
  }
  r = select(isnan(x), x, r);
  if constexpr (first_order) r = own::copysign_of(r, x);
  return r;
}

template <bool first_order, bool scaled, class V> constexpr V bessel_i_any(V x) {
  if constexpr (is_f32<V>) return in_double([](auto d) { return bessel_i<first_order, scaled>(d); }, x);
  else return bessel_i<first_order, scaled>(x);
}

}  // namespace detail

// f32: 1 ULP; f64: 4 ULP, i0 and i1 beyond |x| = 8 also |x| ULP / 300.
template <class V> constexpr V i0(V x) { return detail::bessel_i_any<false, false>(x); }
template <class V> constexpr V i0e(V x) { return detail::bessel_i_any<false, true>(x); }
template <class V> constexpr V i1(V x) { return detail::bessel_i_any<true, false>(x); }
template <class V> constexpr V i1e(V x) { return detail::bessel_i_any<true, true>(x); }

}  // namespace fb::math
