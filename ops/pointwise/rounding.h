// Rounding to integers.
#pragma once
#include "dispatch/call.h"
#include "dispatch/card.h"
#include "ops/math/math.h"
#include "ops/pointwise/gradient.h"

namespace fb::cards {

// Integers are rounded already.
template <class C> struct rounding : pointwise<C> {
  static constexpr uint32_t types = types::floating | types::integral | types::wide_unsigned;
  static constexpr uint32_t forms = pointwise<C>::forms | form::fn_inplace;
  template <class V> static V vjp0(upstream<V> g) { return no_gradient(g.v); }
};

struct Floor : rounding<Floor> {
  static constexpr auto schema = "floor(Tensor self) -> Tensor";
  template <class V> static constexpr V fn(V x) {
    if constexpr (is_number_v<V>) return x;
    else return floor(x);
  }
  static constexpr auto doc = R"(floor(input, *, out=None) -> Tensor

The largest integer that is not above input. The derivative is 0.)";
};
FB_CARD(Floor)

struct Ceil : rounding<Ceil> {
  static constexpr auto schema = "ceil(Tensor self) -> Tensor";
  template <class V> static constexpr V fn(V x) {
    if constexpr (is_number_v<V>) return x;
    else return ceil(x);
  }
  static constexpr auto doc = R"(ceil(input, *, out=None) -> Tensor

The smallest integer that is not below input. The derivative is 0.)";
};
FB_CARD(Ceil)

struct Trunc : rounding<Trunc> {
  static constexpr auto schema = "trunc(Tensor self) -> Tensor";
  static constexpr auto aliases = "fix";
  template <class V> static constexpr V fn(V x) {
    if constexpr (is_number_v<V>) return x;
    else return trunc(x);
  }
  static constexpr auto doc = R"(trunc(input, *, out=None) -> Tensor

input without its fraction. The derivative is 0.)";
};
FB_CARD(Trunc)

struct Round : rounding<Round> {
  static constexpr auto schema = "round(Tensor self) -> Tensor";
  template <class V> static constexpr V fn(V x) {
    if constexpr (is_number_v<V>) return x;
    else return rint(x);
  }
  static constexpr auto doc = R"(round(input, *, decimals=0, out=None) -> Tensor

To the nearest integer, halves to even; with decimals, to so many places after the point (before it where negative).)";
};
FB_CARD(Round)

struct RoundDecimals : pointwise<RoundDecimals> {
  static constexpr auto schema = "round.decimals(Tensor self, *, int decimals) -> Tensor";
  static constexpr uint32_t forms = rounding<Round>::forms;
  static constexpr int modes = 2;  // places after the point, or before it
  static int mode(const Value* args) { return args[1].integer() < 0; }
  static void attributes(const Value* args, DType, Scalar* to) {
    double p = 1;
    int64_t d = args[1].integer();
    for (d = d < 0 ? -d : d; d > 0 && p < 1e308; --d) p *= 10;
    to[0] = Scalar(p);
  }
  template <class V, int M> static constexpr V fn(V x, V scale) {
    if constexpr (M == 0) return rint(x * scale) / scale;
    else return rint(x / scale) * scale;
  }
  template <class V, int M> static V vjp0(upstream<V> g) { return no_gradient(g.v); }
};
FB_CARD(RoundDecimals)

struct SpecialRound : composite<SpecialRound> {
  static constexpr auto schema = "special_round(Tensor self, *, int decimals=0) -> Tensor";
  static constexpr uint32_t forms = form::special | form::out;
  static Tensor body(const Tensor& self, int64_t decimals) {
    return decimals == 0 ? op<"round">(self) : op<"round.decimals">(self, decimals);
  }
};
FB_CARD(SpecialRound)

struct Frac : pointwise<Frac> {
  static constexpr auto schema = "frac(Tensor self) -> Tensor";
  static constexpr uint32_t forms = pointwise<Frac>::forms | form::fn_inplace;
  template <class V> static constexpr V fn(V x) { return math::frac(x); }
  template <class V> static V vjp0(upstream<V> g) { return g; }
  static constexpr auto doc = R"(frac(input, *, out=None) -> Tensor

input - trunc(input).)";
};
FB_CARD(Frac)

}  // namespace fb::cards
