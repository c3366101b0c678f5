// Gradients of activations as operators of their own: what layers and graphs see of a backward pass.
#pragma once
#include "dispatch/call.h"
#include "dispatch/card.h"
#include "ops/math/math.h"
#include "ops/pointwise/gradient.h"

namespace fb::cards {

struct SigmoidBackward : pointwise<SigmoidBackward> {
  static constexpr auto schema = "sigmoid_backward(Tensor grad_output, Tensor output) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  template <class V> static constexpr V fn(V g, V y) { return g * (y * (k<V>(1) - y)); }
  template <class V> static V d0(operand<1, V> y) { return y.v * (k<V>(1) - y.v); }
  template <class V> static V d1(operand<0, V> g, operand<1, V> y) { return g.v * (k<V>(1) - k<V>(2) * y.v); }
};
FB_CARD(SigmoidBackward)

struct TanhBackward : pointwise<TanhBackward> {
  static constexpr auto schema = "tanh_backward(Tensor grad_output, Tensor output) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  template <class V> static constexpr V fn(V g, V y) { return g * (k<V>(1) - y * y); }
  template <class V> static V d0(operand<1, V> y) { return k<V>(1) - y.v * y.v; }
  template <class V> static V d1(operand<0, V> g, operand<1, V> y) { return k<V>(-2) * (g.v * y.v); }
};
FB_CARD(TanhBackward)

struct SiluBackward : pointwise<SiluBackward> {
  static constexpr auto schema = "silu_backward(Tensor grad_output, Tensor self) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  template <class V> static V fn(V g, V x) {
    const V s = math::sigmoid(x);
    return g * (s * (k<V>(1) + x * (k<V>(1) - s)));
  }
  template <class V> static V d0(operand<1, V> x) {
    const V s = math::sigmoid(x.v);
    return s * (k<V>(1) + x.v * (k<V>(1) - s));
  }
  template <class V> static V d1(operand<0, V> g, operand<1, V> x) {
    const V s = math::sigmoid(x.v);
    return g.v * (s * (k<V>(1) - s) * (k<V>(2) + x.v * (k<V>(1) - k<V>(2) * s)));
  }
};
FB_CARD(SiluBackward)

struct GeluBackward : pointwise<GeluBackward> {
  static constexpr auto schema = "gelu_backward(Tensor grad_output, Tensor self, *, str approximate='none') -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  static constexpr int modes = 2;  // exact, or with tanh
  static int mode(const Value* args) { return args[2].string() == "tanh"; }
  static void check(const Value* args, DType) {
    FB_CHECK(args[2].string() == "none" || args[2].string() == "tanh", "gelu_backward: approximate must be 'none' or 'tanh', '", args[2].string(), "' was given");
  }
  // u = c (x + 0.044715 x^3) is what the approximation takes tanh of.
  template <class V> static V inner(const V& x) { return k<V>(0.79788456080286535588) * (x + k<V>(0.044715) * (x * x * x)); }
  template <class V> static V inner_slope(const V& x) { return k<V>(0.79788456080286535588) * (k<V>(1) + k<V>(3 * 0.044715) * (x * x)); }
  template <class V> static V density(const V& x) { return k<V>(0.39894228040143267794) * math::exp(k<V>(-0.5) * (x * x)); }
  template <class V, int M> static V slope(const V& x) {
    if constexpr (M == 0) {
      const V cdf = k<V>(0.5) * (k<V>(1) + math::erf(x * k<V>(0.70710678118654752440)));
      return cdf + x * density(x);
    } else {
      const V t = math::tanh(inner(x));
      return k<V>(0.5) * (k<V>(1) + t) + k<V>(0.5) * x * ((k<V>(1) - t * t) * inner_slope(x));
    }
  }
  template <class V, int M> static V fn(V g, V x) { return g * slope<V, M>(x); }
  template <class V, int M> static V d0(operand<1, V> x) { return slope<V, M>(x.v); }
  template <class V, int M> static V d1(operand<0, V> g, operand<1, V> in) {
    const V x = in.v;
    if constexpr (M == 0) return g.v * (density(x) * (k<V>(2) - x * x));
    else {
      const V t = math::tanh(inner(x)), du = inner_slope(x), ddu = k<V>(0.79788456080286535588 * 6 * 0.044715) * x;
      return g.v * ((k<V>(1) - t * t) * (du + k<V>(0.5) * x * (ddu - k<V>(2) * (t * (du * du)))));
    }
  }
};
FB_CARD(GeluBackward)

}  // namespace fb::cards
