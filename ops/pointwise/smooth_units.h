// Smooth activations: gelu, silu, mish, softplus, log_sigmoid.
#pragma once
#include "dispatch/card.h"
#include "ops/math/math.h"
#include "ops/pointwise/gradient.h"

namespace fb::cards {

struct Gelu : pointwise<Gelu> {
  static constexpr auto schema = "gelu(Tensor self, *, str approximate='none') -> Tensor";
  static constexpr uint32_t forms = form::nn | form::inplace | form::out;
  static constexpr int modes = 2;  // exact, or with tanh
  static int mode(const Value* args) { return args[1].string() == "tanh"; }
  static void check(const Value* args, DType) {
    FB_CHECK(args[1].string() == "none" || args[1].string() == "tanh", "gelu: approximate must be 'none' or 'tanh', '", args[1].string(), "' was given");
  }
  template <class V, int M> static constexpr V fn(V x) {
    if constexpr (M == 0) return math::gelu(x);
    else return math::gelu_tanh(x);
  }
  template <class V, int M> static V d0(operand<0, V> in) {
    const V x = in.v;
    if constexpr (M == 0) {
      const V cdf = k<V>(0.5) * (k<V>(1) + math::erf(x * k<V>(0.70710678118654752440)));
      return cdf + x * (k<V>(0.39894228040143267794) * math::exp(k<V>(-0.5) * (x * x)));
    } else {
      const V u = k<V>(0.79788456080286535588) * (x + k<V>(0.044715) * (x * x * x)), t = math::tanh(u);
      const V du = k<V>(0.79788456080286535588) * (k<V>(1) + k<V>(3 * 0.044715) * (x * x));
      return k<V>(0.5) * (k<V>(1) + t) + k<V>(0.5) * x * ((k<V>(1) - t * t) * du);
    }
  }
  static constexpr auto doc = R"(gelu(input, *, approximate='none') -> Tensor

input * Phi(input), Phi the normal distribution; approximate='tanh' is the formula with tanh of
Hendrycks and Gimpel, "Gaussian Error Linear Units" (2016).)";
};
FB_CARD(Gelu)

struct Silu : pointwise<Silu> {
  static constexpr auto schema = "silu(Tensor self) -> Tensor";
  static constexpr uint32_t types = types::floating | types::complex, forms = form::nn | form::inplace | form::out;
  template <class V> static constexpr V fn(V x) {
    if constexpr (is_complex_v<V>) return x / (V(1) + math::exp(-x));
    else return math::silu(x);
  }
  template <class V> static V d0(operand<0, V> x) {
    const V s = math::sigmoid(x.v);
    return s * (k<V>(1) + x.v * (k<V>(1) - s));
  }
  static constexpr auto doc = R"(silu(input) -> Tensor

input * sigmoid(input).)";
};
FB_CARD(Silu)

struct Mish : pointwise<Mish> {
  static constexpr auto schema = "mish(Tensor self) -> Tensor";
  static constexpr uint32_t forms = form::nn | form::inplace | form::out;
  template <class V> static constexpr V fn(V x) { return math::mish(x); }
  template <class V> static V d0(operand<0, V> x) {
    // tanh of softplus, from e^x where that cannot overflow
    const V s = math::sigmoid(x.v), e = math::exp(select(x.v > k<V>(20), k<V>(20), x.v));
    const V n = e * (e + k<V>(2)), t = n / (n + k<V>(2));
    return t + x.v * (s * (k<V>(1) - t * t));
  }
  static constexpr auto doc = R"(mish(input) -> Tensor

input * tanh(softplus(input)).)";
};
FB_CARD(Mish)

struct Softplus : pointwise<Softplus> {
  static constexpr auto schema = "softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor";
  static constexpr uint32_t forms = form::nn | form::out;
  template <class V> static constexpr V fn(V x, V beta, V threshold) { return math::softplus(x, beta, threshold); }
  template <class V> static V vjp0(upstream<V> g, operand<0, V> x, attr<0, V> beta, attr<1, V> threshold) {
    const V z = x.v * beta.v;
    return select(z > threshold.v, g.v, g.v * math::sigmoid(z));
  }
  static constexpr auto doc = R"(softplus(input, beta=1, threshold=20) -> Tensor

log(1 + exp(beta * input)) / beta; input itself where beta * input > threshold.)";
};
FB_CARD(Softplus)

struct LogSigmoid : pointwise<LogSigmoid> {
  static constexpr auto schema = "log_sigmoid(Tensor self) -> Tensor";
  static constexpr ResultLayout layout = ResultLayout::row_major;
  static constexpr uint32_t forms = form::nn | form::out;
  template <class V> static constexpr V fn(V x) { return math::log_sigmoid(x); }
  template <class V> static V d0(operand<0, V> x) { return math::sigmoid(-x.v); }
  static constexpr auto doc = R"(logsigmoid(input) -> Tensor

log(sigmoid(input)), without overflow.)";
};
FB_CARD(LogSigmoid)

}  // namespace fb::cards
