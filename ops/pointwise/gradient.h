// What derivatives of pointwise cards share.
#pragma once
#include <utility>

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

// A derivative that has an operator of its own: over numbers C's formula. Over tensors it is a call, so that the gradient
// keeps its link to x even where that only chooses; what passes through that link a second time is zeros.
template <FixedString Name, class C, class V, class... N> V by_operator(const V& g, const V& x, const N&... numbers) {
  if constexpr (std::is_same_v<V, Tensor>) return op<Name>(g, x, *numbers.template ptr<double>()...);
  else return C::template fn<V>(g, x, numbers...);
}

// Such an operator whose x only chooses: its formula is linear in g, with N numbers after x.
template <class C, FixedString Name, class Numbers> struct choosing_numbers;
template <class C, FixedString Name, size_t... I> struct choosing_numbers<C, Name, std::index_sequence<I...>> : pointwise<C> {
  static constexpr uint32_t forms = form::hidden;
  template <class V> static V vjp0(upstream<V> g, operand<1, V> x, attr<int(I), V>... n) { return by_operator<Name, C>(g.v, x.v, n.v...); }
  template <class V> static V vjp1(upstream<V> g) { return no_gradient(g.v); }
};
template <class C, FixedString Name, size_t N = 0> using choosing = choosing_numbers<C, Name, std::make_index_sequence<N>>;

// 2^x, complex numbers included.
template <class V> V exp2_of(const V& x) {
  if constexpr (is_complex_v<V>) return math::exp(x * k<V>(0.69314718055994530942));
  else return math::exp2(x);
}

}  // namespace fb::cards
