// Comparisons: bool tensors, without a derivative.
#pragma once
#include "dispatch/card.h"

namespace fb::cards {

template <class C> struct comparison : pointwise<C> {
  static constexpr uint32_t types = types::floating | types::integral | types::boolean, numbers = 0b10;
  static constexpr Promotion promotion{.result = ResultType::boolean};
};

struct Eq : comparison<Eq> {
  static constexpr auto schema = "eq.Tensor(Tensor self, Tensor other) -> Tensor";
  static constexpr auto aliases = ".Tensor_out";
  static constexpr uint32_t types = types::all | types::wide_unsigned;
  template <class V> static constexpr mask_t<V> fn(V a, V b) { return a == b; }
  static constexpr auto doc = R"(eq(input, other, *, out=None) -> Tensor

input == other, elementwise, as a bool tensor.)";
};
FB_CARD(Eq)

struct Ne : comparison<Ne> {
  static constexpr auto schema = "ne.Tensor(Tensor self, Tensor other) -> Tensor";
  static constexpr auto aliases = "not_equal .Tensor_out";
  static constexpr uint32_t types = types::all | types::wide_unsigned;
  template <class V> static constexpr mask_t<V> fn(V a, V b) { return a != b; }
  static constexpr auto doc = R"(ne(input, other, *, out=None) -> Tensor

input != other, elementwise, as a bool tensor.)";
};
FB_CARD(Ne)

struct Lt : comparison<Lt> {
  static constexpr auto schema = "lt.Tensor(Tensor self, Tensor other) -> Tensor";
  static constexpr auto aliases = "less .Tensor_out";
  template <class V> static constexpr mask_t<V> fn(V a, V b) { return a < b; }
  static constexpr auto doc = R"(lt(input, other, *, out=None) -> Tensor

input < other, elementwise, as a bool tensor.)";
};
FB_CARD(Lt)

struct Le : comparison<Le> {
  static constexpr auto schema = "le.Tensor(Tensor self, Tensor other) -> Tensor";
  static constexpr auto aliases = "less_equal .Tensor_out";
  template <class V> static constexpr mask_t<V> fn(V a, V b) { return a <= b; }
  static constexpr auto doc = R"(le(input, other, *, out=None) -> Tensor

input <= other, elementwise, as a bool tensor.)";
};
FB_CARD(Le)

struct Gt : comparison<Gt> {
  static constexpr auto schema = "gt.Tensor(Tensor self, Tensor other) -> Tensor";
  static constexpr auto aliases = "greater .Tensor_out";
  template <class V> static constexpr mask_t<V> fn(V a, V b) { return a > b; }
  static constexpr auto doc = R"(gt(input, other, *, out=None) -> Tensor

input > other, elementwise, as a bool tensor.)";
};
FB_CARD(Gt)

struct Ge : comparison<Ge> {
  static constexpr auto schema = "ge.Tensor(Tensor self, Tensor other) -> Tensor";
  static constexpr auto aliases = "greater_equal .Tensor_out";
  template <class V> static constexpr mask_t<V> fn(V a, V b) { return a >= b; }
  static constexpr auto doc = R"(ge(input, other, *, out=None) -> Tensor

input >= other, elementwise, as a bool tensor.)";
};
FB_CARD(Ge)

}  // namespace fb::cards
