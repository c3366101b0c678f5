// Arguments and conjugates of complex numbers, and frexp.
#pragma once
#include "dispatch/call.h"
#include "dispatch/card.h"
#include "dispatch/out_rule.h"
#include "ops/math/math.h"
#include "ops/pointwise/gradient.h"

namespace fb::cards {

struct Angle : pointwise<Angle> {
  static constexpr auto schema = "angle(Tensor self) -> Tensor";
  static constexpr uint32_t types = types::floating | types::complex, forms = form::fn | form::method | form::out;
  static constexpr Promotion promotion{.int_to_float = true, .result = ResultType::real};
  template <class V> static constexpr auto fn(V x) {
    if constexpr (is_complex_v<V>) return math::angle(x);
    else return select(x < k<V>(0), k<V>(math::pi), select(isnan(x), x, k<V>(0)));
  }
  template <class V> static V vjp0(upstream<V> g, operand<0, V> z) {
    if constexpr (std::is_same_v<V, Tensor>) {
      if (!z.v.is_complex()) return no_gradient(g.v);
      const Tensor r = op<"abs">(z.v);
      return select(r == k<V>(0), k<V>(0), g.v * op<"mul">(z.v, cdouble(0, 1)) / (r * r));
    } else if constexpr (is_complex_v<V>) {
      const auto r = math::abs(z.v);
      return r == 0 ? V(0) : V(-(g.v.re * (z.v.im / r)) / r, g.v.re * (z.v.re / r) / r);
    } else return no_gradient(g.v);
  }
  static constexpr auto doc = R"(angle(input, *, out=None) -> Tensor

Argument of a complex number, in (-pi, pi]; for real input 0 or, where negative, pi.)";
};
FB_CARD(Angle)

struct ConjPhysical : pointwise<ConjPhysical> {
  static constexpr auto schema = "conj_physical(Tensor self) -> Tensor";
  static constexpr auto aliases = "_conj_physical";
  static constexpr uint32_t types = types::all | types::wide_unsigned, forms = pointwise<ConjPhysical>::forms | form::fn_inplace;
  template <class V> static constexpr V fn(V x) { return conj(x); }
  template <class V> static V vjp0(upstream<V> g) { return conj(g.v); }
  static constexpr auto doc = R"(conj_physical(input, *, out=None) -> Tensor

Complex conjugate, as a new tensor.)";
};
FB_CARD(ConjPhysical)

struct Frexp : structured<Frexp> {
  static constexpr auto schema = "frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)";
  static constexpr auto aliases = ".Tensor_out";
  static constexpr uint32_t forms = structured<Frexp>::forms | form::out_same_or_apart;
  static constexpr auto grad_name = "FrexpBackward0";
  template <class T> static std::array<T, 2> meta(const T& self) {
    FB_CHECK(self.is_floating(), "frexp: input must be of a floating type, ", self.dtype(), " was given");
    const Dims strides = preserved_strides(self.sizes(), self.strides());
    return {T::empty_strided(self.sizes(), strides, self.options()), T::empty_strided(self.sizes(), strides, {DType::i32, self.device()})};
  }
  static Tensor d_self(grad<0> g, result<1> exponent) { return *g / op<"exp2">(op<"to">(*exponent, g->dtype())); }
  using vjp = rules<wrt<0, d_self>>;
  static constexpr auto doc = R"(frexp(input, *, out=None) -> (Tensor mantissa, Tensor exponent)

input = mantissa * 2 ** exponent with abs(mantissa) in [0.5, 1), for floating tensors.)";
};
FB_CARD(Frexp)

}  // namespace fb::cards
