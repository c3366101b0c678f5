// A tensor plus a scaled product or quotient of two others.
#pragma once
#include <limits>
#include "dispatch/call.h"
#include "dispatch/card.h"
#include "ops/math/fits.h"
#include "ops/math/integer.h"
#include "ops/math/math.h"
#include "ops/pointwise/gradient.h"

namespace fb::cards {

struct Addcmul : pointwise<Addcmul> {
  static constexpr auto schema = "addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor";
  static constexpr uint32_t types = types::floating | types::complex | types::integral;
  static void check(const Value* args, DType compute) {
    if (is_integral(compute)) check_fits("addcmul", args[3].scalar(), compute);
  }
  template <class V> static constexpr V fn(V x, V a, V b, V v) {
    if constexpr (is_number_v<V>) return wrapped_sum(x, wrapped_product(wrapped_product(v, a), b));
    else return V(x + V(V(v * a) * b));
  }
  template <class V> static V vjp0(upstream<V> g) { return g; }
  template <class V> static V d1(operand<2, V> b, attr<0, V> v) { return v.v * b.v; }
  template <class V> static V d2(operand<1, V> a, attr<0, V> v) { return v.v * a.v; }
  static constexpr auto doc = R"(addcmul(input, tensor1, tensor2, *, value=1, out=None) -> Tensor

input + value * tensor1 * tensor2.)";
};
FB_CARD(Addcmul)

struct Addcdiv : pointwise<Addcdiv> {
  static constexpr auto schema = "addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor";
  static constexpr uint32_t types = types::floating | types::complex;
  static void check(const Value* args, DType compute) {
    FB_CHECK(!is_integral(compute, true), "addcdiv: the operands are of type ", compute, ", which has no quotients; use a floating type");
  }
  template <class V> static constexpr V fn(V x, V a, V b, V v) { return x + v * (a / b); }
  template <class V> static V vjp0(upstream<V> g) { return g; }
  template <class V> static V vjp1(upstream<V> g, operand<2, V> b, attr<0, V> v) { return g.v * conj(v.v / b.v); }
  template <class V> static V vjp2(upstream<V> g, operand<1, V> a, operand<2, V> b, attr<0, V> v) {
    return -(g.v * conj(v.v * ((a.v / b.v) / b.v)));
  }
  static constexpr auto doc = R"(addcdiv(input, tensor1, tensor2, *, value=1, out=None) -> Tensor

input + value * tensor1 / tensor2, for floating and complex tensors.)";
};
FB_CARD(Addcdiv)

}  // namespace fb::cards
