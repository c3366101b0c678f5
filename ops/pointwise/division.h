// Quotients and remainders.
#pragma once
#include "dispatch/call.h"
#include "dispatch/card.h"
#include "ops/math/integer.h"
#include "ops/math/math.h"
#include "ops/pointwise/gradient.h"

namespace fb::cards {

struct Div : pointwise<Div> {
  static constexpr auto schema = "div.Tensor(Tensor self, Tensor other) -> Tensor";
  static constexpr auto aliases = "divide true_divide";
  static constexpr uint32_t types = types::floating | types::complex, numbers = 0b11;
  static constexpr Promotion promotion{.int_to_float = true};
  template <class V> static constexpr V fn(V a, V b) { return a / b; }
  template <class V> static V vjp0(upstream<V> g, operand<1, V> b) { return g.v / conj(b.v); }
  template <class V> static V d1(operand<0, V> a, operand<1, V> b) { return -((a.v / b.v) / b.v); }
  static constexpr auto doc = R"(div(input, other, *, rounding_mode=None, out=None) -> Tensor

Quotient, with broadcasting and type promotion. Without rounding_mode integers give floating results; "trunc" rounds
towards zero, "floor" down, in the operands' type. Raises RuntimeError where an integer is divided by 0 with rounding.)";
};
FB_CARD(Div)

struct DivMode : pointwise<DivMode> {
  static constexpr auto schema = "div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor";
  static constexpr auto aliases = "divide .out_mode";
  static constexpr auto grad_name = "DivBackward2";
  static constexpr uint32_t types = types::floating | types::complex | types::integral, numbers = 0b11;
  static constexpr int modes = 3;  // true quotient, truncated, floor
  static int mode(const Value* args) {
    const std::string_view m = args[2].is_none() ? std::string_view() : args[2].string();
    return m == "trunc" ? 1 : m == "floor" ? 2 : 0;
  }
  static Promotion promotion_of(const Value* args) { return {.int_to_float = mode(args) == 0}; }
  static void check(const Value* args, DType compute) {
    FB_CHECK(args[2].is_none() || mode(args) != 0, "div: rounding_mode must be None, 'trunc' or 'floor', '", args[2].string(), "' was given");
    if (mode(args) != 0 && is_complex(compute))
      raise_not_implemented("div: rounding_mode='", args[2].string(), "' is not defined for ", compute);
  }
  template <class V, int M> static constexpr V fn(V a, V b) {
    if constexpr (is_number_v<V>) {
      if constexpr (M == 1) return math::int_div_trunc(a, b);
      else if constexpr (M == 2) return math::int_div_floor(a, b);
      else return a;  // integers come here as floats
    } else if constexpr (is_complex_v<V> || M == 0) return a / b;
    else if constexpr (M == 1) return trunc(a / b);
    else return math::floor_divide(a, b);
  }
  template <class V, int M> static V vjp0(upstream<V> g, operand<1, V> b) {
    if constexpr (M == 0) return g.v / conj(b.v);
    else return no_gradient(g.v);
  }
  template <class V, int M> static V vjp1(upstream<V> g, operand<0, V> a, operand<1, V> b) {
    if constexpr (M == 0) return g.v * conj(-((a.v / b.v) / b.v));
    else return no_gradient(g.v);
  }
};
FB_CARD(DivMode)

struct FloorDivide : pointwise<FloorDivide> {
  static constexpr auto schema = "floor_divide(Tensor self, Tensor other) -> Tensor";
  static constexpr auto aliases = "_.Tensor";
  static constexpr uint32_t types = types::floating | types::integral, numbers = 0b11;
  template <class V> static constexpr V fn(V a, V b) {
    if constexpr (is_number_v<V>) return math::int_div_floor(a, b);
    else return math::floor_divide(a, b);
  }
  static Tensor none(grad<0>) { raise_runtime("floor_divide has no derivative"); }
  using vjp = rules<wrt<0, none>, wrt<1, none>>;
  static constexpr auto doc = R"(floor_divide(input, other, *, out=None) -> Tensor

floor(input / other), as Python's //. Raises RuntimeError where an integer is divided by 0.)";
};
FB_CARD(FloorDivide)

struct Remainder : pointwise<Remainder> {
  static constexpr auto schema = "remainder.Tensor(Tensor self, Tensor other) -> Tensor";
  static constexpr auto aliases = ".Tensor_out";
  static constexpr auto grad_name = "RemainderBackward1";
  static constexpr uint32_t types = types::floating | types::integral;
  template <class V> static constexpr V fn(V a, V b) {
    if constexpr (is_number_v<V>) return math::int_remainder(a, b);
    else return math::remainder(a, b);
  }
  template <class V> static V vjp0(upstream<V> g) { return g; }
  template <class V> static V d1(operand<0, V> a, operand<1, V> b) {
    if constexpr (std::is_same_v<V, Tensor>) return -op<"div.Tensor_mode">(a.v, b.v, std::string_view("floor"));
    else return -math::floor_divide(a.v, b.v);
  }
  static constexpr auto doc = R"(remainder(input, other, *, out=None) -> Tensor

input - floor(input / other) * other: the sign of other, as Python's %. Raises RuntimeError where an integer is divided by 0.)";
};
FB_CARD(Remainder)
struct RemainderScalar : pointwise<RemainderScalar> {
  static constexpr auto schema = "remainder.Scalar(Tensor self, Scalar other) -> Tensor";
  static constexpr auto grad_name = "RemainderBackward0";
  static constexpr uint32_t types = Remainder::types;
  static constexpr uint64_t scalar_operands = 0b10;
  using loops = Remainder;
  template <class V> static V vjp0(upstream<V> g) { return g; }
};
FB_CARD(RemainderScalar)
struct RemainderNumber : pointwise<RemainderNumber> {
  static constexpr auto schema = "remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor";
  static constexpr uint32_t types = Remainder::types, forms = form::fn | form::method | form::out;
  static constexpr uint64_t scalar_operands = 0b01;
  using loops = Remainder;
  static Tensor none(grad<0>) { raise_runtime("remainder of a number by a tensor has no derivative"); }
  using vjp = rules<wrt<1, none>>;
};
FB_CARD(RemainderNumber)

struct Fmod : pointwise<Fmod> {
  static constexpr auto schema = "fmod.Tensor(Tensor self, Tensor other) -> Tensor";
  static constexpr auto aliases = ".Tensor_out";
  static constexpr auto grad_name = "FmodBackward1";
  static constexpr uint32_t types = types::floating | types::integral;
  template <class V> static constexpr V fn(V a, V b) {
    if constexpr (is_number_v<V>) return math::int_fmod(a, b);
    else return math::fmod(a, b);
  }
  template <class V> static V vjp0(upstream<V> g) { return g; }
  template <class V> static V d1(operand<0, V> a, operand<1, V> b) {
    // A quotient that is rounded has a derivative of 0 even where it is infinite.
    if constexpr (std::is_same_v<V, Tensor>) return -op<"div.Tensor_mode">(a.v, b.v, std::string_view("trunc"));
    else return -math::trunc(a.v / b.v);
  }
  static constexpr auto doc = R"(fmod(input, other, *, out=None) -> Tensor

input - trunc(input / other) * other: the sign of input, as C's fmod. Raises RuntimeError where an integer is divided by 0.)";
};
FB_CARD(Fmod)
struct FmodScalar : pointwise<FmodScalar> {
  static constexpr auto schema = "fmod.Scalar(Tensor self, Scalar other) -> Tensor";
  static constexpr auto grad_name = "FmodBackward0";
  static constexpr uint32_t types = Fmod::types;
  static constexpr uint64_t scalar_operands = 0b10;
  using loops = Fmod;
  template <class V> static V vjp0(upstream<V> g) { return g; }
};
FB_CARD(FmodScalar)

}  // namespace fb::cards
