// Sine, cosine, tangent and their inverses.
#pragma once
#include "dispatch/card.h"
#include "ops/math/math.h"

namespace fb::cards {

struct Sin : pointwise<Sin> {
  static constexpr auto schema = "sin(Tensor self) -> Tensor";
  static constexpr uint32_t types = types::floating | types::complex, forms = pointwise<Sin>::forms | form::fn_inplace;
  static constexpr Promotion promotion{.int_to_float = true};
  template <class V> static constexpr V fn(V x) { return math::sin(x); }
  template <class V> static V d0(operand<0, V> x) { return math::cos(x.v); }
  static constexpr auto doc = R"(sin(input, *, out=None) -> Tensor

Sine of radians. Integers give floating results.)";
};
FB_CARD(Sin)

struct Cos : pointwise<Cos> {
  static constexpr auto schema = "cos(Tensor self) -> Tensor";
  static constexpr uint32_t types = types::floating | types::complex, forms = pointwise<Cos>::forms | form::fn_inplace;
  static constexpr Promotion promotion{.int_to_float = true};
  template <class V> static constexpr V fn(V x) { return math::cos(x); }
  template <class V> static V d0(operand<0, V> x) { return -math::sin(x.v); }
  static constexpr auto doc = R"(cos(input, *, out=None) -> Tensor

Cosine of radians. Integers give floating results.)";
};
FB_CARD(Cos)

struct Tan : pointwise<Tan> {
  static constexpr auto schema = "tan(Tensor self) -> Tensor";
  static constexpr uint32_t types = types::floating | types::complex, forms = pointwise<Tan>::forms | form::fn_inplace;
  static constexpr Promotion promotion{.int_to_float = true};
  template <class V> static constexpr V fn(V x) { return math::tan(x); }
  template <class V> static V d0(value<V> y) { return k<V>(1) + y.v * y.v; }
  static constexpr auto doc = R"(tan(input, *, out=None) -> Tensor

Tangent of radians. Integers give floating results.)";
};
FB_CARD(Tan)

}  // namespace fb::cards
