// abs floor ceil trunc round frac sign minimum maximum fmin fmax fmod remainder floor_divide heaviside.
#pragma once
#include "ops/math/constants.h"

namespace fb::math {

template <class V> FB_INLINE V abs(V x) { return own::abs_of(x); }
template <class V> FB_INLINE V floor(V x) { return own::floor_of(x); }
template <class V> FB_INLINE V ceil(V x) { return own::ceil_of(x); }
template <class V> FB_INLINE V trunc(V x) { return own::trunc_of(x); }
// To the nearest integer, halves to even.
template <class V> FB_INLINE V round(V x) { return own::rint_of(x); }
template <class V> FB_INLINE V copysign(V x, V y) { return own::copysign_of(x, y); }
template <class V> FB_INLINE V frac(V x) { return x - own::trunc_of(x); }
// -1, 0 or 1; 0 for NaN.
template <class V> FB_INLINE V sign(V x) {
  return select(x > k<V>(0), k<V>(1), select(x < k<V>(0), k<V>(-1), k<V>(0)));
}
// 0 for NaN.
template <class V> FB_INLINE V heaviside(V x, V at_zero) {
  return select(x == k<V>(0), at_zero, select(x > k<V>(0), k<V>(1), k<V>(0)));
}

// A NaN on either side is the result.
template <class V> FB_INLINE V minimum(V a, V b) { return select((a < b) | isnan(a), a, b); }
template <class V> FB_INLINE V maximum(V a, V b) { return select((a > b) | isnan(a), a, b); }
// A NaN gives way to the other operand.
template <class V> FB_INLINE V fmin(V a, V b) { return select((b < a) | isnan(a), b, a); }
template <class V> FB_INLINE V fmax(V a, V b) { return select((b > a) | isnan(a), b, a); }

// Exact, with the sign of x. While the quotient has few bits its integer part is off by at most one and
// x - q y is exact; longer quotients are rare and go through the scalar long division.
template <class V> constexpr V fmod(V x, V y) {
  const V ax = own::abs_of(x), ay = own::abs_of(y), ratio = ax / ay;
  const V q = own::trunc_of(ratio);
  V r = fma(-q, ay, ax);
  r = select(r < k<V>(0), r + ay, r);
  r = select(r >= ay, r - ay, r);
  r = select(ay == inf<V>(), ax, r);
  r = select((ax == inf<V>()) | (ay == k<V>(0)) | isnan(x) | isnan(y), nan<V>(), r);
  r = own::copysign_of(r, x);
  const auto hard = (ratio >= c<V>(0x1p22f, 0x1p51)) & (ax < inf<V>()) & (ay > k<V>(0));
  return patch(hard, r, [](lane_t<V> a, lane_t<V> b) { return lane_t<V>(__builtin_fmod(double(a), double(b))); }, x, y);
}

// Exact up to the last addition; the sign of y, as Python's %.
template <class V> constexpr V remainder(V x, V y) {
  const V r = fb::math::fmod(x, y);
  return select((r != k<V>(0)) & ((r < k<V>(0)) ^ (y < k<V>(0))), r + y, r);
}

// floor of the exact quotient, as Python's // for floats; x / 0 is x / 0.
template <class V> constexpr V floor_divide(V x, V y) {
  const V r = fb::math::fmod(x, y), q = (x - r) / y;
  const V d = select((r != k<V>(0)) & ((r < k<V>(0)) ^ (y < k<V>(0))), q - k<V>(1), q);
  const V f = own::floor_of(d), g = select(d - f > k<V>(0.5), f + k<V>(1), f);
  const V z = select(d == k<V>(0), own::copysign_of(k<V>(0), x / y), g);
  return select(y == k<V>(0), x / y, z);
}

}  // namespace fb::math
