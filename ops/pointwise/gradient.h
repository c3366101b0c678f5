// What derivatives of pointwise cards share.
#pragma once
#include "dispatch/call.h"
#include "dispatch/card.h"

namespace fb::cards {

// Zeros in the shape of g, whatever g holds (0 * g would be NaN where g is infinite).
template <class V> V no_gradient(const V& g) {
  if constexpr (std::is_same_v<V, Tensor>) return op<"zeros_like">(g);
  else return k<V>(0);
}
// g where m holds, else 0.
template <class V, class M> V masked(const M& m, const V& g) {
  return select(m, g, k<V>(0));
}

// The gradient goes to the operand that was chosen, by halves where both are equal, to both where one is NaN.
template <class V> V chosen(const V& g, const V& mine, const V& yours) {
  return select(mine == yours, g * k<V>(0.5), select(mine < yours, k<V>(0), g));
}

// 2^x, complex numbers included.
template <class V> V exp2_of(const V& x) {
  if constexpr (is_complex_v<V>) return math::exp(x * k<V>(0.69314718055994530942));
  else return math::exp2(x);
}

}  // namespace fb::cards
