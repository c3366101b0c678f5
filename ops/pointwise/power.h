// Powers whose exponent is a tensor.
#pragma once
#include "dispatch/call.h"
#include "dispatch/card.h"
#include "ops/math/integer.h"
#include "ops/math/math.h"
#include "ops/pointwise/power_slopes.h"

namespace fb::cards {

template <class V> V power_of(V x, V e) {
  if constexpr (is_number_v<V>) return math::int_pow(x, e);
  else return math::pow(x, e);
}
// Before power_number.h, as the name sorts, so that a tensor without dimensions is a tensor.
struct PowTensorTensor : pointwise<PowTensorTensor> {
  static constexpr auto schema = "pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor";
  static constexpr auto aliases = "_.Tensor";
  static constexpr auto grad_name = "PowBackward1";
  static constexpr uint32_t types = types::floating | types::complex | types::integral;
  template <class V> static constexpr V fn(V x, V e) { return power_of(x, e); }
  template <class V> static V vjp0(upstream<V> g, operand<0, V> x, operand<1, V> e) { return power_slope<V>(g, x, e); }
  template <class V> static V vjp1(upstream<V> g, operand<0, V> x, operand<1, V> e, value<V> y) {
    return exponent_slope<V>(g, x, e, y);
  }
};
FB_CARD(PowTensorTensor)

struct PowScalar : pointwise<PowScalar> {
  static constexpr auto schema = "pow.Scalar(Scalar self, Tensor exponent) -> Tensor";
  static constexpr ResultLayout layout = ResultLayout::row_major;
  static constexpr auto grad_name = "PowBackward2";
  static constexpr uint32_t types = PowTensorTensor::types, forms = form::fn | form::out;
  static constexpr uint64_t scalar_operands = 0b01;
  using loops = PowTensorTensor;
  template <class V> static V vjp1(upstream<V> g, operand<0, V> x, operand<1, V> e, value<V> y) {
    return exponent_slope<V>(g, x, e, y);
  }
};
FB_CARD(PowScalar)

}  // namespace fb::cards
