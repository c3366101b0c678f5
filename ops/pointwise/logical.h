// Logic on truth values: bool tensors, without a derivative.
#pragma once
#include "dispatch/card.h"

namespace fb::cards {

template <class C> struct logical : pointwise<C> {
  static constexpr uint32_t types = types::all;
  static constexpr Promotion promotion{.result = ResultType::boolean};
};
template <class V> mask_t<V> truth(V x) { return x != k<V>(0); }

struct LogicalAnd : logical<LogicalAnd> {
  static constexpr auto schema = "logical_and(Tensor self, Tensor other) -> Tensor";
  template <class V> static constexpr mask_t<V> fn(V a, V b) { return truth(a) & truth(b); }
  static constexpr auto doc = R"(logical_and(input, other, *, out=None) -> Tensor

Whether both elements are nonzero.)";
};
FB_CARD(LogicalAnd)

struct LogicalOr : logical<LogicalOr> {
  static constexpr auto schema = "logical_or(Tensor self, Tensor other) -> Tensor";
  template <class V> static constexpr mask_t<V> fn(V a, V b) { return truth(a) | truth(b); }
  static constexpr auto doc = R"(logical_or(input, other, *, out=None) -> Tensor

Whether either element is nonzero.)";
};
FB_CARD(LogicalOr)

struct LogicalXor : logical<LogicalXor> {
  static constexpr auto schema = "logical_xor(Tensor self, Tensor other) -> Tensor";
  template <class V> static constexpr mask_t<V> fn(V a, V b) { return truth(a) ^ truth(b); }
  static constexpr auto doc = R"(logical_xor(input, other, *, out=None) -> Tensor

Whether just one of both elements is nonzero.)";
};
FB_CARD(LogicalXor)

struct LogicalNot : logical<LogicalNot> {
  static constexpr auto schema = "logical_not(Tensor self) -> Tensor";
  template <class V> static constexpr mask_t<V> fn(V x) { return x == k<V>(0); }
  static constexpr auto doc = R"(logical_not(input, *, out=None) -> Tensor

Whether the element is zero.)";
};
FB_CARD(LogicalNot)

}  // namespace fb::cards
