// Derivatives of powers.
#pragma once
#include "dispatch/call.h"
#include "dispatch/card.h"
#include "ops/math/math.h"
#include "ops/pointwise/gradient.h"

namespace fb::cards {

// d/dx x^e; 0 for e = 0, where x^-1 may be infinite.
template <class V> V power_slope(const V& g, const V& x, const V& e) {
  return masked(e != k<V>(0), g * conj(e * math::pow(x, e - k<V>(1))));
}
// d/de x^e = x^e log x, 0 where x is 0 and the power is not infinite.
template <class V> V exponent_slope(const V& g, const V& x, const V& e, const V& y) {
  if constexpr (is_complex_v<V>) return x == V(0) && e.re >= 0 ? V(0) : g * conj(y * math::log(x));
  else if constexpr (std::is_same_v<V, Tensor>) {
    const Tensor d = g * conj(y * math::log(x));
    if (d.is_complex()) return select(x == k<V>(0), k<V>(0), d);
    return select((x == k<V>(0)) & (e >= k<V>(0)), k<V>(0), d);
  } else return select((x == k<V>(0)) & (e >= k<V>(0)), k<V>(0), g * (y * math::log(x)));
}

}  // namespace fb::cards
