// Operations on the bits of integers and bools.
#pragma once
#include "dispatch/call.h"
#include "dispatch/card.h"
#include "ops/math/integer.h"

namespace fb::cards {

struct BitwiseAnd : pointwise<BitwiseAnd> {
  static constexpr auto schema = "bitwise_and.Tensor(Tensor self, Tensor other) -> Tensor";
  static constexpr auto aliases = ".Tensor_out";
  static constexpr uint32_t types = types::integral | types::boolean | types::wide_unsigned, numbers = 0b11;
  template <class V> static constexpr V fn(V a, V b) { return V(a & b); }
  static constexpr auto doc = R"(bitwise_and(input, other, *, out=None) -> Tensor

input & other, for integers and bools.)";
};
FB_CARD(BitwiseAnd)

struct BitwiseOr : pointwise<BitwiseOr> {
  static constexpr auto schema = "bitwise_or.Tensor(Tensor self, Tensor other) -> Tensor";
  static constexpr auto aliases = ".Tensor_out";
  static constexpr uint32_t types = BitwiseAnd::types, numbers = 0b11;
  template <class V> static constexpr V fn(V a, V b) { return V(a | b); }
  static constexpr auto doc = R"(bitwise_or(input, other, *, out=None) -> Tensor

input | other, for integers and bools.)";
};
FB_CARD(BitwiseOr)

struct BitwiseXor : pointwise<BitwiseXor> {
  static constexpr auto schema = "bitwise_xor.Tensor(Tensor self, Tensor other) -> Tensor";
  static constexpr auto aliases = ".Tensor_out";
  static constexpr uint32_t types = BitwiseAnd::types, numbers = 0b11;
  template <class V> static constexpr V fn(V a, V b) { return V(a ^ b); }
  static constexpr auto doc = R"(bitwise_xor(input, other, *, out=None) -> Tensor

input ^ other, for integers and bools.)";
};
FB_CARD(BitwiseXor)

struct BitwiseNot : pointwise<BitwiseNot> {
  static constexpr auto schema = "bitwise_not(Tensor self) -> Tensor";
  static constexpr uint32_t types = types::integral | types::boolean;
  template <class V> static constexpr V fn(V x) {
    if constexpr (is_bool_v<V>) return !x;
    else return V(~x);
  }
  static constexpr auto doc = R"(bitwise_not(input, *, out=None) -> Tensor

~input, for integers and bools.)";
};
FB_CARD(BitwiseNot)

struct BitwiseLeftShift : pointwise<BitwiseLeftShift> {
  static constexpr auto schema = "bitwise_left_shift.Tensor(Tensor self, Tensor other) -> Tensor";
  static constexpr auto aliases = ".Tensor_out";
  static constexpr uint32_t types = types::integral, numbers = 0b11;
  template <class V> static constexpr V fn(V a, V b) { return math::shift_left(a, b); }
  static constexpr auto doc = R"(bitwise_left_shift(input, other, *, out=None) -> Tensor

input << other; 0 where other is negative or at least the number of bits.)";
};
FB_CARD(BitwiseLeftShift)

struct BitwiseRightShift : pointwise<BitwiseRightShift> {
  static constexpr auto schema = "bitwise_right_shift.Tensor(Tensor self, Tensor other) -> Tensor";
  static constexpr auto aliases = ".Tensor_out";
  static constexpr uint32_t types = types::integral, numbers = 0b11;
  template <class V> static constexpr V fn(V a, V b) { return math::shift_right(a, b); }
  static constexpr auto doc = R"(bitwise_right_shift(input, other, *, out=None) -> Tensor

input >> other, keeping the sign; all sign bits where other is negative or at least the number of bits.)";
};
FB_CARD(BitwiseRightShift)

struct Gcd : pointwise<Gcd> {
  static constexpr auto schema = "gcd(Tensor self, Tensor other) -> Tensor";
  static constexpr uint32_t types = types::integral, forms = pointwise<Gcd>::forms | form::fn_inplace;
  template <class V> static constexpr V fn(V a, V b) { return math::gcd(a, b); }
  static constexpr auto doc = R"(gcd(input, other, *, out=None) -> Tensor

Greatest common divisor, not negative; gcd(0, 0) is 0.)";
};
FB_CARD(Gcd)

struct Lcm : pointwise<Lcm> {
  static constexpr auto schema = "lcm(Tensor self, Tensor other) -> Tensor";
  static constexpr uint32_t types = types::integral, forms = pointwise<Lcm>::forms | form::fn_inplace;
  template <class V> static constexpr V fn(V a, V b) { return math::lcm(a, b); }
  static constexpr auto doc = R"(lcm(input, other, *, out=None) -> Tensor

Least common multiple, not negative; lcm(0, x) is 0.)";
};
FB_CARD(Lcm)

}  // namespace fb::cards
