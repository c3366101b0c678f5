// Logarithms of two operands.
#pragma once
#include "dispatch/card.h"
#include "ops/math/math.h"

namespace fb::cards {

struct Logaddexp : pointwise<Logaddexp> {
  static constexpr auto schema = "logaddexp(Tensor self, Tensor other) -> Tensor";
  static constexpr uint32_t types = types::floating | types::complex, forms = form::fn | form::method | form::out;
  template <class V> static constexpr V fn(V a, V b) { 
    if constexpr (is_complex_v<V>) {  // scaled by the term of the larger real part
      const V m = a.re > b.re ? a : b, l = a.re > b.re ? b : a;
      return m.re == -__builtin_inf() ? m : m + math::log(V(1) + math::exp(l - m));
    } else return math::logaddexp(a, b);
  }
  template <class V> static V vjp0(upstream<V> g, operand<0, V> a, operand<1, V> b) { return g.v / conj(k<V>(1) + math::exp(b.v - a.v)); }
  template <class V> static V vjp1(upstream<V> g, operand<0, V> a, operand<1, V> b) { return g.v / conj(k<V>(1) + math::exp(a.v - b.v)); }
  static constexpr auto doc = R"(logaddexp(input, other, *, out=None) -> Tensor

log(exp(input) + exp(other)), without overflow.)";
};
FB_CARD(Logaddexp)

struct Logaddexp2 : pointwise<Logaddexp2> {
  static constexpr auto schema = "logaddexp2(Tensor self, Tensor other) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::method | form::out;
  template <class V> static constexpr V fn(V a, V b) { return math::logaddexp2(a, b); }
  template <class V> static V vjp0(upstream<V> g, operand<0, V> a, operand<1, V> b) { return g.v / (k<V>(1) + math::exp2(b.v - a.v)); }
  template <class V> static V vjp1(upstream<V> g, operand<0, V> a, operand<1, V> b) { return g.v / (k<V>(1) + math::exp2(a.v - b.v)); }
  static constexpr auto doc = R"(logaddexp2(input, other, *, out=None) -> Tensor

log2(2^input + 2^other), without overflow.)";
};
FB_CARD(Logaddexp2)

struct Xlogy : pointwise<Xlogy> {
  static constexpr auto schema = "xlogy.Tensor(Tensor self, Tensor other) -> Tensor";
  static constexpr auto aliases = "special_xlogy. .OutTensor";
  static constexpr auto grad_name = "XlogyBackward0";
  static constexpr uint32_t forms = pointwise<Xlogy>::forms | form::fn_inplace;
  static constexpr Promotion promotion{.int_to_float = true};
  template <class V> static constexpr V fn(V a, V b) { return math::xlogy(a, b); }
  template <class V> static V vjp0(upstream<V> g, operand<0, V> a, operand<1, V> b) {
    return select((a.v == k<V>(0)) & (b.v <= k<V>(0)), k<V>(0), g.v * math::log(b.v));
  }
  template <class V> static V d1(operand<0, V> a, operand<1, V> b) { return a.v / b.v; }
  static constexpr auto doc = R"(xlogy(input, other, *, out=None) -> Tensor

input * log(other), 0 where input is 0 and other is no NaN; either may be a number.)";
};
FB_CARD(Xlogy)
struct XlogySelf : pointwise<XlogySelf> {
  static constexpr auto schema = "xlogy.Scalar_Self(Scalar self, Tensor other) -> Tensor";
  static constexpr auto aliases = "special_xlogy.self_scalar .OutScalar_Self";
  static constexpr auto grad_name = "XlogyBackward1";
  static constexpr uint32_t forms = form::fn | form::out;
  static constexpr uint64_t scalar_operands = 0b01;
  static constexpr Promotion promotion{.int_to_float = true};
  using loops = Xlogy;
  template <class V> static V d1(operand<0, V> a, operand<1, V> b) { return a.v / b.v; }
};
FB_CARD(XlogySelf)
struct XlogyOther : pointwise<XlogyOther> {
  static constexpr auto schema = "xlogy.Scalar_Other(Tensor self, Scalar other) -> Tensor";
  static constexpr auto aliases = "special_xlogy.other_scalar .OutScalar_Other";
  static constexpr auto grad_name = "XlogyBackward2";
  static constexpr uint32_t forms = pointwise<XlogyOther>::forms | form::fn_inplace;
  static constexpr uint64_t scalar_operands = 0b10;
  static constexpr Promotion promotion{.int_to_float = true};
  using loops = Xlogy;
  template <class V> static V vjp0(upstream<V> g, operand<0, V> a, operand<1, V> b) { return Xlogy::vjp0<V>(g, a, b); }
};
FB_CARD(XlogyOther)

struct Xlog1py : pointwise<Xlog1py> {
  static constexpr auto schema = "special_xlog1py(Tensor self, Tensor other) -> Tensor";
  static constexpr auto grad_name = "SpecialXlog1PyBackward0";
  static constexpr uint32_t forms = form::special | form::out;
  static constexpr Promotion promotion{.int_to_float = true};
  template <class V> static constexpr V fn(V a, V b) { return math::xlog1py(a, b); }
  template <class V> static V vjp0(upstream<V> g, operand<0, V> a, operand<1, V> b) {
    return select((a.v == k<V>(0)) & (b.v <= k<V>(-1)), k<V>(0), g.v * math::log1p(b.v));
  }
  template <class V> static V d1(operand<0, V> a, operand<1, V> b) { return a.v / (b.v + k<V>(1)); }
  static constexpr auto doc = R"(xlog1py(input, other, *, out=None) -> Tensor

input * log(1 + other), 0 where input is 0 and other is no NaN; either may be a number.)";
};
FB_CARD(Xlog1py)
struct Xlog1pySelf : pointwise<Xlog1pySelf> {
  static constexpr auto schema = "special_xlog1py.self_scalar(Scalar self, Tensor other) -> Tensor";
  static constexpr auto grad_name = "SpecialXlog1PyBackward1";
  static constexpr uint32_t forms = form::special | form::out;
  static constexpr uint64_t scalar_operands = 0b01;
  static constexpr Promotion promotion{.int_to_float = true};
  using loops = Xlog1py;
  template <class V> static V d1(operand<0, V> a, operand<1, V> b) { return a.v / (b.v + k<V>(1)); }
};
FB_CARD(Xlog1pySelf)
struct Xlog1pyOther : pointwise<Xlog1pyOther> {
  static constexpr auto schema = "special_xlog1py.other_scalar(Tensor self, Scalar other) -> Tensor";
  static constexpr auto grad_name = "SpecialXlog1PyBackward2";
  static constexpr uint32_t forms = form::special | form::out;
  static constexpr uint64_t scalar_operands = 0b10;
  static constexpr Promotion promotion{.int_to_float = true};
  using loops = Xlog1py;
  template <class V> static V vjp0(upstream<V> g, operand<0, V> a, operand<1, V> b) { return Xlog1py::vjp0<V>(g, a, b); }
};
FB_CARD(Xlog1pyOther)

}  // namespace fb::cards
