// Activations with an exponential on the negative side.
#pragma once
#include "dispatch/call.h"
#include "dispatch/card.h"
#include "ops/math/math.h"
#include "ops/pointwise/gradient.h"

namespace fb::cards {

struct Elu : pointwise<Elu> {
  static constexpr auto schema = "elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor";
  static constexpr uint32_t forms = form::nn | form::inplace | form::out;
  template <class V> static constexpr V fn(V x, V alpha, V scale, V input_scale) {
    // Above 0 the exponential is not taken; clamped there, it cannot overflow.
    const V low = math::expm1(min(x, k<V>(0)) * input_scale) * (alpha * scale);
    return select(x < k<V>(0), low, x * scale);
  }
  template <class V> static V vjp0(upstream<V> g, operand<0, V> x, attr<0, V> alpha, attr<1, V> scale, attr<2, V> input_scale) {
    const auto low = x.v <= k<V>(0);
    const V e = math::exp(select(low, x.v, k<V>(0)) * input_scale.v);
    return g.v * select(low, e * (input_scale.v * alpha.v * scale.v), scale.v);
  }
  static constexpr auto doc = R"(elu(input, alpha=1.0) -> Tensor

input where positive, else alpha * (exp(input) - 1).)";
};
FB_CARD(Elu)

struct Selu : composite<Selu> {
  static constexpr auto schema = "selu(Tensor self) -> Tensor";
  static constexpr uint32_t forms = form::fn;
  static constexpr double alpha = 1.6732632423543772848170429916717, scale = 1.0507009873554804934193349852946;
  static Tensor body(const Tensor& self) { return op<"elu">(self, alpha, scale); }
  static constexpr auto doc = R"(selu(input) -> Tensor

Scaled elu whose outputs keep mean 0 and variance 1 (Klambauer et al., "Self-Normalizing Neural Networks", 2017).)";
};
FB_CARD(Selu)
struct SeluInPlace : composite<SeluInPlace> {
  static constexpr auto schema = "selu_(Tensor(a!) self) -> Tensor(a!)";
  static constexpr uint32_t forms = form::fn;
  static Tensor body(const Tensor& self) { return op<"elu_">(self, Selu::alpha, Selu::scale); }
};
FB_CARD(SeluInPlace)

struct Celu : pointwise<Celu> {
  static constexpr auto schema = "celu(Tensor self, Scalar alpha=1.0) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::inplace | form::fn_inplace | form::out;
  static void check(const Value* args, DType) { FB_CHECK(args[1].floating() != 0, "celu: alpha must not be 0"); }
  template <class V> static constexpr V fn(V x, V alpha) {
    return select(x < k<V>(0), math::expm1(min(x, k<V>(0)) / alpha) * alpha, x);
  }
  template <class V> static V vjp0(upstream<V> g, operand<0, V> x, attr<0, V> alpha) {
    const auto low = x.v <= k<V>(0);
    return g.v * select(low, math::exp(select(low, x.v, k<V>(0)) / alpha.v), k<V>(1));
  }
  static constexpr auto doc = R"(celu(input, alpha=1.0) -> Tensor

max(0, input) + min(0, alpha * (exp(input / alpha) - 1)).)";
};
FB_CARD(Celu)

}  // namespace fb::cards
