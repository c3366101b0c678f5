// Derivatives that are operators of their own (relu's is threshold_backward).
#pragma once
#include <utility>

#include "ops/pointwise/gradient.h"

namespace fb::cards {

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

}  // namespace fb::cards
