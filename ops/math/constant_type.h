// The type that numbers have among themselves while a formula is run over tensors.
#pragma once
#include "core/dtype.h"

namespace fb {

// A gradient's formula has constants and attributes of the call. What they give together (1 - weight) has the type that the
// loops of the gradient compute in, float32 or float64; without this, it would have the default type whatever the tensors have.
class ConstantType {
 public:
  explicit ConstantType(DType computed);
  ~ConstantType();
  ConstantType(const ConstantType&) = delete;
  ConstantType& operator=(const ConstantType&) = delete;

 private:
  DType before_;
};

}  // namespace fb
