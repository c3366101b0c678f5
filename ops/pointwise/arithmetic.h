// Sums, products and quotients.
#pragma once
#include "dispatch/card.h"

namespace fb::cards {

struct add : pointwise<add> {
  static constexpr auto schema = "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor";
  static constexpr uint32_t types = types::all | types::wide_unsigned, numbers = 0b11;
  template <class V> static V fn(V a, V b, V alpha) {
    if constexpr (std::is_same_v<V, bool>) return a || (b && alpha);
    else if constexpr (is_real_v<V>) return fma(b, alpha, a);
    else return V(a + V(alpha * b));
  }
  template <class V> static V vjp0(upstream<V> g) { return g; }
  template <class V> static V d1(attr<0, V> alpha) { return alpha; }
  static constexpr auto doc = R"(add(input, other, *, alpha=1, out=None) -> Tensor

input + alpha * other, with broadcasting and type promotion.)";
};
FB_CARD(add)

struct mul : pointwise<mul> {
  static constexpr auto schema = "mul.Tensor(Tensor self, Tensor other) -> Tensor";
  static constexpr auto aliases = "multiply";
  static constexpr uint32_t types = types::all | types::wide_unsigned, numbers = 0b11;
  template <class V> static V fn(V a, V b) {
    if constexpr (std::is_same_v<V, bool>) return a && b;
    else return V(a * b);
  }
  template <class V> static V d0(operand<1, V> b) { return b; }
  template <class V> static V d1(operand<0, V> a) { return a; }
  static constexpr auto doc = R"(mul(input, other, *, out=None) -> Tensor

Elementwise product, with broadcasting and type promotion.)";
};
FB_CARD(mul)

}  // namespace fb::cards
