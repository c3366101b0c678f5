// The operators of Python that are methods of their own in the vocabulary: & | ^ << >>, and in place.
#pragma once
#include "dispatch/call.h"
#include "dispatch/card.h"

namespace fb::cards {

#define FB_DUNDER(Struct, symbol, target)                                                       \
  struct Struct : composite<Struct> {                                                           \
    static constexpr auto schema = "__" symbol "__.Tensor(Tensor self, Tensor other) -> Tensor"; \
    static constexpr uint32_t forms = form::method, numbers = 0b10;                             \
    static Tensor body(const Tensor& self, Value other) { return op<target>(self, other); }     \
  };                                                                                            \
  FB_CARD(Struct)                                                                               \
  struct Struct##InPlace : composite<Struct##InPlace> {                                         \
    static constexpr auto schema = "__i" symbol "__.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)"; \
    static constexpr uint32_t forms = form::method, numbers = 0b10;                             \
    static Tensor body(const Tensor& self, Value other) { return op<target "_">(self, other); } \
  };                                                                                            \
  FB_CARD(Struct##InPlace)

FB_DUNDER(OperatorAnd, "and", "bitwise_and")
FB_DUNDER(OperatorOr, "or", "bitwise_or")
FB_DUNDER(OperatorXor, "xor", "bitwise_xor")
FB_DUNDER(OperatorLeftShift, "lshift", "bitwise_left_shift")
FB_DUNDER(OperatorRightShift, "rshift", "bitwise_right_shift")
#undef FB_DUNDER

}  // namespace fb::cards
