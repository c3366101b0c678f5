// Inverse hyperbolic functions.
#pragma once
#include "dispatch/card.h"
#include "ops/math/math.h"

namespace fb::cards {

struct Asinh : pointwise<Asinh> {
  static constexpr auto schema = "asinh(Tensor self) -> Tensor";
  static constexpr auto aliases = "arcsinh";
  static constexpr uint32_t types = types::floating | types::complex, forms = pointwise<Asinh>::forms | form::fn_inplace;
  static constexpr Promotion promotion{.int_to_float = true};
  template <class V> static constexpr V fn(V x) { return math::asinh(x); }
  template <class V> static V d0(operand<0, V> x) { return k<V>(1) / math::sqrt(x.v * x.v + k<V>(1)); }
  static constexpr auto doc = R"(asinh(input, *, out=None) -> Tensor

Inverse hyperbolic sine. Integers give floating results.)";
};
FB_CARD(Asinh)

struct Acosh : pointwise<Acosh> {
  static constexpr auto schema = "acosh(Tensor self) -> Tensor";
  static constexpr auto aliases = "arccosh";
  static constexpr uint32_t types = types::floating | types::complex, forms = pointwise<Acosh>::forms | form::fn_inplace;
  static constexpr Promotion promotion{.int_to_float = true};
  template <class V> static constexpr V fn(V x) { return math::acosh(x); }
  template <class V> static V d0(operand<0, V> x) {
    if constexpr (is_complex_v<V>) return k<V>(1) / (math::sqrt(x.v - k<V>(1)) * math::sqrt(x.v + k<V>(1)));
    else return k<V>(1) / math::sqrt(x.v * x.v - k<V>(1));
  }
  static constexpr auto doc = R"(acosh(input, *, out=None) -> Tensor

Inverse hyperbolic cosine; NaN below 1. Integers give floating results.)";
};
FB_CARD(Acosh)

struct Atanh : pointwise<Atanh> {
  static constexpr auto schema = "atanh(Tensor self) -> Tensor";
  static constexpr auto aliases = "arctanh";
  static constexpr uint32_t types = types::floating | types::complex, forms = pointwise<Atanh>::forms | form::fn_inplace;
  static constexpr Promotion promotion{.int_to_float = true};
  template <class V> static constexpr V fn(V x) { return math::atanh(x); }
  template <class V> static V d0(operand<0, V> x) { return k<V>(1) / (k<V>(1) - x.v * x.v); }
  static constexpr auto doc = R"(atanh(input, *, out=None) -> Tensor

Inverse hyperbolic tangent; NaN outside [-1, 1]. Integers give floating results.)";
};
FB_CARD(Atanh)

}  // namespace fb::cards
