// Square roots and scaling by powers of two.
#pragma once
#include "dispatch/card.h"
#include "ops/math/math.h"
#include "ops/pointwise/gradient.h"

namespace fb::cards {

struct Sqrt : pointwise<Sqrt> {
  static constexpr auto schema = "sqrt(Tensor self) -> Tensor";
  static constexpr uint32_t types = types::floating | types::complex, forms = pointwise<Sqrt>::forms | form::fn_inplace;
  static constexpr Promotion promotion{.int_to_float = true};
  template <class V> static constexpr V fn(V x) { return math::sqrt(x); }
  template <class V> static V vjp0(upstream<V> g, value<V> y) { return g.v / conj(y.v + y.v); }
  static constexpr auto doc = R"(sqrt(input, *, out=None) -> Tensor

Square root; NaN for negative real input.)";
};
FB_CARD(Sqrt)

struct Rsqrt : pointwise<Rsqrt> {
  static constexpr auto schema = "rsqrt(Tensor self) -> Tensor";
  static constexpr uint32_t types = types::floating | types::complex, forms = pointwise<Rsqrt>::forms | form::fn_inplace;
  static constexpr Promotion promotion{.int_to_float = true};
  template <class V> static constexpr V fn(V x) { return k<V>(1) / math::sqrt(x); }
  template <class V> static V d0(value<V> y) { return k<V>(-0.5) * (y.v * y.v * y.v); }
  static constexpr auto doc = R"(rsqrt(input, *, out=None) -> Tensor

1 / sqrt(input).)";
};
FB_CARD(Rsqrt)

struct Ldexp : pointwise<Ldexp> {
  static constexpr auto schema = "ldexp.Tensor(Tensor self, Tensor other) -> Tensor";
  static constexpr auto aliases = "_.";
  static constexpr uint32_t types = types::floating | types::complex, forms = pointwise<Ldexp>::forms | form::fn_inplace;
  static constexpr Promotion promotion{.int_to_float = true};
  template <class V> static constexpr V fn(V x, V e) { return x * exp2_of(e); }
  template <class V> static V d0(operand<1, V> e) { return exp2_of(e.v); }
  template <class V> static V d1(value<V> y) { return y.v * k<V>(0.69314718055994530942); }
  static constexpr auto doc = R"(ldexp(input, other, *, out=None) -> Tensor

input * 2 ** other.)";
};
FB_CARD(Ldexp)

}  // namespace fb::cards
