// Hyperbolic functions and their inverses.
#pragma once
#include "dispatch/card.h"
#include "ops/math/math.h"

namespace fb::cards {

struct Sinh : pointwise<Sinh> {
  static constexpr auto schema = "sinh(Tensor self) -> Tensor";
  static constexpr uint32_t types = types::floating | types::complex, forms = pointwise<Sinh>::forms | form::fn_inplace;
  static constexpr Promotion promotion{.int_to_float = true};
  template <class V> static constexpr V fn(V x) { return math::sinh(x); }
  template <class V> static V d0(operand<0, V> x) { return math::cosh(x.v); }
  static constexpr auto doc = R"(sinh(input, *, out=None) -> Tensor

Hyperbolic sine. Integers give floating results.)";
};
FB_CARD(Sinh)

struct Cosh : pointwise<Cosh> {
  static constexpr auto schema = "cosh(Tensor self) -> Tensor";
  static constexpr uint32_t types = types::floating | types::complex, forms = pointwise<Cosh>::forms | form::fn_inplace;
  static constexpr Promotion promotion{.int_to_float = true};
  template <class V> static constexpr V fn(V x) { return math::cosh(x); }
  template <class V> static V d0(operand<0, V> x) { return math::sinh(x.v); }
  static constexpr auto doc = R"(cosh(input, *, out=None) -> Tensor

Hyperbolic cosine. Integers give floating results.)";
};
FB_CARD(Cosh)

struct Tanh : pointwise<Tanh> {
  static constexpr auto schema = "tanh(Tensor self) -> Tensor";
  static constexpr uint32_t types = types::floating | types::complex, forms = pointwise<Tanh>::forms | form::fn_inplace;
  static constexpr Promotion promotion{.int_to_float = true};
  template <class V> static constexpr V fn(V x) { return math::tanh(x); }
  template <class V> static V d0(value<V> y) { return k<V>(1) - y.v * y.v; }
  static constexpr auto doc = R"(tanh(input, *, out=None) -> Tensor

Hyperbolic tangent. Integers give floating results.)";
};
FB_CARD(Tanh)

}  // namespace fb::cards
