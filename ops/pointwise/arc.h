// Inverse trigonometric functions.
#pragma once
#include "dispatch/card.h"
#include "ops/math/math.h"

namespace fb::cards {

struct Asin : pointwise<Asin> {
  static constexpr auto schema = "asin(Tensor self) -> Tensor";
  static constexpr auto aliases = "arcsin";
  static constexpr uint32_t types = types::floating | types::complex, forms = pointwise<Asin>::forms | form::fn_inplace;
  static constexpr Promotion promotion{.int_to_float = true};
  template <class V> static constexpr V fn(V x) { return math::asin(x); }
  template <class V> static V d0(operand<0, V> x) { return k<V>(1) / math::sqrt(k<V>(1) - x.v * x.v); }
  static constexpr auto doc = R"(asin(input, *, out=None) -> Tensor

Inverse sine; NaN outside [-1, 1]. Integers give floating results.)";
};
FB_CARD(Asin)

struct Acos : pointwise<Acos> {
  static constexpr auto schema = "acos(Tensor self) -> Tensor";
  static constexpr auto aliases = "arccos";
  static constexpr uint32_t types = types::floating | types::complex, forms = pointwise<Acos>::forms | form::fn_inplace;
  static constexpr Promotion promotion{.int_to_float = true};
  template <class V> static constexpr V fn(V x) { return math::acos(x); }
  template <class V> static V d0(operand<0, V> x) { return k<V>(-1) / math::sqrt(k<V>(1) - x.v * x.v); }
  static constexpr auto doc = R"(acos(input, *, out=None) -> Tensor

Inverse cosine; NaN outside [-1, 1]. Integers give floating results.)";
};
FB_CARD(Acos)

struct Atan : pointwise<Atan> {
  static constexpr auto schema = "atan(Tensor self) -> Tensor";
  static constexpr auto aliases = "arctan";
  static constexpr uint32_t types = types::floating | types::complex, forms = pointwise<Atan>::forms | form::fn_inplace;
  static constexpr Promotion promotion{.int_to_float = true};
  template <class V> static constexpr V fn(V x) { return math::atan(x); }
  template <class V> static V d0(operand<0, V> x) { return k<V>(1) / (k<V>(1) + x.v * x.v); }
  static constexpr auto doc = R"(atan(input, *, out=None) -> Tensor

Inverse tangent. Integers give floating results.)";
};
FB_CARD(Atan)

}  // namespace fb::cards
