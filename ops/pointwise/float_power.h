// Powers in double precision.
#pragma once
#include "dispatch/call.h"
#include "dispatch/card.h"

namespace fb::cards {

// In double precision whatever the operands are.
inline DType float_power_type(const Value& a, const Value& b) {
  const Value v[] = {a, b};
  return is_complex(result_type(v, 2)) ? DType::c128 : DType::f64;
}
struct FloatPowerTensorScalar : composite<FloatPowerTensorScalar> {
  static constexpr auto schema = "float_power.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::method | form::out;
  static Tensor body(const Tensor& self, Scalar exponent) {
    const DType d = float_power_type(self, exponent);
    return op<"pow">(op<"to">(self, d), is_complex(d) ? Scalar(exponent.to_complex()) : Scalar(exponent.to_double()));
  }
  static constexpr auto doc = R"(float_power(input, exponent, *, out=None) -> Tensor

input ** exponent in double precision (complex128 for complex operands).)";
};
FB_CARD(FloatPowerTensorScalar)
struct FloatPowerTensorTensor : composite<FloatPowerTensorTensor> {
  static constexpr auto schema = "float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor";
  static constexpr uint32_t forms = FloatPowerTensorScalar::forms;
  static Tensor body(const Tensor& self, const Tensor& exponent) {
    const DType d = float_power_type(self, exponent);
    return op<"pow">(op<"to">(self, d), op<"to">(exponent, d));
  }
};
FB_CARD(FloatPowerTensorTensor)
struct FloatPowerScalar : composite<FloatPowerScalar> {
  static constexpr auto schema = "float_power.Scalar(Scalar self, Tensor exponent) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::out;
  static Tensor body(Scalar self, const Tensor& exponent) {
    const DType d = float_power_type(self, exponent);
    return op<"pow">(is_complex(d) ? Scalar(self.to_complex()) : Scalar(self.to_double()), op<"to">(exponent, d));
  }
};
FB_CARD(FloatPowerScalar)
inline void check_float_power(const Tensor& self, DType result) {
  FB_CHECK(self.dtype() == result, "float_power_: the result is ", result, ", self is ", self.dtype(), "; it must have the result's type");
}
struct FloatPowerInPlace : composite<FloatPowerInPlace> {
  static constexpr auto schema = "float_power_.Tensor(Tensor(a!) self, Tensor exponent) -> Tensor(a!)";
  static constexpr uint32_t forms = form::method;
  static Tensor body(const Tensor& self, const Tensor& exponent) {
    const DType d = float_power_type(self, exponent);
    check_float_power(self, d);
    return op<"pow_">(self, op<"to">(exponent, d));
  }
};
FB_CARD(FloatPowerInPlace)
struct FloatPowerScalarInPlace : composite<FloatPowerScalarInPlace> {
  static constexpr auto schema = "float_power_.Scalar(Tensor(a!) self, Scalar exponent) -> Tensor(a!)";
  static constexpr uint32_t forms = form::method;
  static Tensor body(const Tensor& self, Scalar exponent) {
    check_float_power(self, float_power_type(self, exponent));
    return op<"pow_">(self, exponent);
  }
};
FB_CARD(FloatPowerScalarInPlace)

}  // namespace fb::cards
