// Absolute values and signs.
#pragma once
#include "dispatch/call.h"
#include "dispatch/card.h"
#include "dispatch/out_rule.h"
#include "ops/math/integer.h"
#include "ops/math/math.h"
#include "ops/pointwise/gradient.h"

namespace fb::cards {

// x / |x|, 0 at 0.
template <class V> V unit_of(const V& x) {
  if constexpr (std::is_same_v<V, Tensor>) return op<"sgn">(x);
  else if constexpr (is_complex_v<V>) {
    const auto m = math::abs(x);
    return m == 0 ? V(0) : V(x.re / m, x.im / m);
  } else return math::sign(x);
}

struct Abs : pointwise<Abs> {
  static constexpr auto schema = "abs(Tensor self) -> Tensor";
  static constexpr uint32_t types = types::floating | types::complex | types::integral, forms = pointwise<Abs>::forms | form::fn_inplace;
  static constexpr Promotion promotion{.result = ResultType::real};
  template <class V> static constexpr auto fn(V x) {
    if constexpr (is_complex_v<V>) return math::abs(x);
    else if constexpr (is_number_v<V>) return select(x < k<V>(0), wrapped_minus(x), x);
    else return abs(x);
  }
  template <class V> static V vjp0(upstream<V> g, operand<0, V> x) { return g.v * unit_of(x.v); }
  static constexpr auto doc = R"(abs(input, *, out=None) -> Tensor

Absolute value; the modulus, a real tensor, for complex input. The derivative at 0 is 0.)";
};
FB_CARD(Abs)

struct Absolute : composite<Absolute> {
  static constexpr auto schema = "absolute(Tensor self) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::method | form::out;
  static Tensor body(const Tensor& self) { return op<"abs">(self); }
  static constexpr auto doc = "absolute(input, *, out=None) -> Tensor\n\nAnother name of abs.";
};
FB_CARD(Absolute)
struct AbsoluteInPlace : composite<AbsoluteInPlace> {
  static constexpr auto schema = "absolute_(Tensor(a!) self) -> Tensor(a!)";
  static constexpr uint32_t forms = form::method;
  static Tensor body(const Tensor& self) { return op<"abs_">(self); }
};
FB_CARD(AbsoluteInPlace)

struct Sign : pointwise<Sign> {
  static constexpr auto schema = "sign(Tensor self) -> Tensor";
  static constexpr uint32_t types = types::floating | types::integral | types::boolean;
  template <class V> static constexpr V fn(V x) {
    if constexpr (is_bool_v<V>) return x;
    else return math::sign(x);
  }
  template <class V> static V vjp0(upstream<V> g) { return no_gradient(g.v); }
  static constexpr auto doc = R"(sign(input, *, out=None) -> Tensor

-1, 0 or 1; 0 for NaN. The derivative is 0.)";
};
FB_CARD(Sign)

struct Sgn : pointwise<Sgn> {
  static constexpr auto schema = "sgn(Tensor self) -> Tensor";
  static constexpr uint32_t types = Sign::types | types::complex;
  template <class V> static constexpr V fn(V x) {
    if constexpr (is_bool_v<V>) return x;
    else return unit_of(x);
  }
  template <class V> static V vjp0(upstream<V> g, operand<0, V> x, value<V> y) {
    if constexpr (std::is_same_v<V, Tensor>) {
      if (!x.v.is_complex()) return no_gradient(g.v);
      return (g.v - y.v * op<"real">(conj(g.v) * y.v)) / op<"abs">(x.v);
    } else if constexpr (is_complex_v<V>) {
      // Only the part of g across y survives, scaled by 1/|x|.
      const auto along = g.v.re * y.v.re + g.v.im * y.v.im, m = math::abs(x.v);
      if (m == 0) return V(0);
      return V((g.v.re - y.v.re * along) / m, (g.v.im - y.v.im * along) / m);
    } else return no_gradient(g.v);
  }
  static constexpr auto doc = R"(sgn(input, *, out=None) -> Tensor

sign for real input; input / abs(input), 0 at 0, for complex input.)";
};
FB_CARD(Sgn)

struct Signbit : pointwise<Signbit> {
  static constexpr auto schema = "signbit(Tensor self) -> Tensor";
  static constexpr uint32_t types = types::floating | types::integral | types::boolean | types::wide_unsigned;
  static constexpr uint32_t forms = form::fn | form::method | form::out | form::out_exact;
  static constexpr Promotion promotion{.result = ResultType::boolean};
  template <class V> static constexpr mask_t<V> fn(V x) {
    if constexpr (is_number_v<V>) return x < k<V>(0);
    else return copysign(k<V>(1), x) < k<V>(0);
  }
  static constexpr auto doc = R"(signbit(input, *, out=None) -> Tensor

Whether the sign bit is set (-0.0 included), as a bool tensor.)";
};
FB_CARD(Signbit)

struct Copysign : pointwise<Copysign> {
  static constexpr auto schema = "copysign.Tensor(Tensor self, Tensor other) -> Tensor";
  static constexpr auto grad_name = "CopysignBackward0";
  static constexpr Promotion promotion{.int_to_float = true};
  template <class V> static constexpr V fn(V a, V b) { return copysign(a, b); }
  template <class V> static V vjp0(upstream<V> g, operand<0, V> a, value<V> y) {
    return masked(a.v != k<V>(0), g.v * (y.v / a.v));
  }
  template <class V> static V vjp1(upstream<V> g) { return no_gradient(g.v); }
  static constexpr auto doc = R"(copysign(input, other, *, out=None) -> Tensor

abs(input) with the sign of other.)";
};
FB_CARD(Copysign)
struct CopysignScalar : pointwise<CopysignScalar> {
  static constexpr auto schema = "copysign.Scalar(Tensor self, Scalar other) -> Tensor";
  static constexpr auto grad_name = "CopysignBackward1";
  static constexpr Promotion promotion{.int_to_float = true};
  static constexpr uint64_t scalar_operands = 0b10;
  using loops = Copysign;
  template <class V> static V vjp0(upstream<V> g, operand<0, V> a, value<V> y) { return Copysign::vjp0<V>(g, a, y); }
};
FB_CARD(CopysignScalar)

struct Heaviside : pointwise<Heaviside> {
  static constexpr auto schema = "heaviside(Tensor self, Tensor values) -> Tensor";
  static constexpr uint32_t forms = pointwise<Heaviside>::forms | form::out_exact;
  static constexpr uint32_t types = types::floating | types::integral | types::boolean;
  template <class V> static constexpr V fn(V x, V at_zero) {
    return math::heaviside(x, at_zero);
  }
  static void check(const Value* args, DType compute) {
    const DType a = args[0].t->dtype, b = args[1].t->dtype;
    FB_CHECK(a == b, "heaviside: input is ", a, " and values is ", b, "; both must have one type");
    FB_CHECK(!is_complex(a), "heaviside: not defined for ", a);
  }
  static Tensor none(grad<0>) { raise_runtime("heaviside has no derivative"); }
  using vjp = rules<wrt<0, none>, wrt<1, none>>;
  static constexpr auto doc = R"(heaviside(input, values, *, out=None) -> Tensor

0 where input < 0, 1 where input > 0, values where input is 0. Both tensors must have one type.)";
};
FB_CARD(Heaviside)

}  // namespace fb::cards
