// Exponentials.
#pragma once
#include "dispatch/card.h"
#include "ops/math/math.h"
#include "ops/pointwise/gradient.h"

namespace fb::cards {

struct Exp : pointwise<Exp> {
  static constexpr auto schema = "exp(Tensor self) -> Tensor";
  static constexpr uint32_t types = types::floating | types::complex, forms = pointwise<Exp>::forms | form::fn_inplace;
  static constexpr Promotion promotion{.int_to_float = true};
  template <class V> static constexpr V fn(V x) { return math::exp(x); }
  template <class V> static V d0(value<V> y) { return y; }
  static constexpr auto doc = R"(exp(input, *, out=None) -> Tensor

e ** input. Integers give floating results.)";
};
FB_CARD(Exp)

struct Exp2 : pointwise<Exp2> {
  static constexpr auto schema = "exp2(Tensor self) -> Tensor";
  static constexpr auto aliases = "special_exp2";
  static constexpr uint32_t types = types::floating | types::complex, forms = pointwise<Exp2>::forms | form::fn_inplace;
  static constexpr Promotion promotion{.int_to_float = true};
  template <class V> static constexpr V fn(V x) { return exp2_of(x); }
  template <class V> static V d0(value<V> y) { return y.v * k<V>(0.69314718055994530942); }
  static constexpr auto doc = R"(exp2(input, *, out=None) -> Tensor

2 ** input. Integers give floating results.)";
};
FB_CARD(Exp2)

struct Expm1 : pointwise<Expm1> {
  static constexpr auto schema = "expm1(Tensor self) -> Tensor";
  static constexpr auto aliases = "special_expm1";
  static constexpr uint32_t types = types::floating | types::complex, forms = pointwise<Expm1>::forms | form::fn_inplace;
  static constexpr Promotion promotion{.int_to_float = true};
  template <class V> static constexpr V fn(V x) { return math::expm1(x); }
  template <class V> static V d0(value<V> y) { return y.v + k<V>(1); }
  static constexpr auto doc = R"(expm1(input, *, out=None) -> Tensor

exp(input) - 1, accurate near 0. Integers give floating results.)";
};
FB_CARD(Expm1)

struct Sigmoid : pointwise<Sigmoid> {
  static constexpr auto schema = "sigmoid(Tensor self) -> Tensor";
  static constexpr auto aliases = "special_expit";
  static constexpr uint32_t types = types::floating | types::complex, forms = pointwise<Sigmoid>::forms | form::fn_inplace;
  static constexpr Promotion promotion{.int_to_float = true};
  template <class V> static constexpr V fn(V x) { return math::sigmoid(x); }
  template <class V> static V d0(value<V> y) { return y.v * (k<V>(1) - y.v); }
  static constexpr auto doc = R"(sigmoid(input, *, out=None) -> Tensor

1 / (1 + exp(-input)). Integers give floating results.)";
};
FB_CARD(Sigmoid)

}  // namespace fb::cards
