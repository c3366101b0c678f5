// Activations made of straight lines.
#pragma once
#include "dispatch/call.h"
#include "dispatch/card.h"
#include "dispatch/out_rule.h"
#include "dispatch/repeated.h"
#include "ops/math/fits.h"
#include "ops/math/math.h"
#include "ops/pointwise/own_backward.h"

namespace fb::cards {

struct ThresholdBackward : choosing<ThresholdBackward, "threshold_backward", 1> {
  static constexpr auto schema = "threshold_backward(Tensor grad_output, Tensor self, Scalar threshold) -> Tensor";
  static constexpr uint32_t types = types::floating | types::integral;
  template <class V> static constexpr V fn(V g, V x, V t) { return select(x <= t, k<V>(0), g); }
};
FB_CARD(ThresholdBackward)

struct Relu : pointwise<Relu> {
  static constexpr auto schema = "relu(Tensor self) -> Tensor";
  static constexpr ResultLayout grad_layout = ResultLayout::second_first;
  static constexpr uint32_t types = types::floating | types::integral, forms = pointwise<Relu>::forms | form::fn_inplace;
  template <class V> static constexpr V fn(V x) { return math::maximum(x, k<V>(0)); }
  template <class V> static V vjp0(upstream<V> g, value<V> y) { return by_operator<"threshold_backward", ThresholdBackward>(g.v, y.v, k<V>(0)); }
  static constexpr auto doc = R"(relu(input) -> Tensor

max(input, 0). The derivative at 0 is 0.)";
};
FB_CARD(Relu)

struct HardtanhBackward : choosing<HardtanhBackward, "hardtanh_backward", 2> {
  static constexpr auto schema = "hardtanh_backward(Tensor grad_output, Tensor self, Scalar min_val, Scalar max_val) -> Tensor";
  template <class V> static constexpr V fn(V g, V x, V lo, V hi) { return masked((x > lo) & (x < hi), g); }
};
FB_CARD(HardtanhBackward)
struct Hardtanh : pointwise<Hardtanh> {
  static constexpr auto schema = "hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor";
  static constexpr ResultLayout layout = ResultLayout::as_first;
  static constexpr uint32_t types = types::floating | types::integral, forms = form::nn | form::inplace | form::out;
  static void check(const Value* args, DType compute) {
    FB_CHECK(is_signed(compute) || (args[1].floating() >= 0 && args[2].floating() >= 0), "hardtanh: the bounds ", args[1].scalar(), " and ",
             args[2].scalar(), " do not fit into ", compute);
    for (int i = 1; i < 3; ++i)
      check_fits("hardtanh", args[i].scalar(), compute);
  }
  template <class V> static constexpr V fn(V x, V lo, V hi) { return math::minimum(math::maximum(x, lo), hi); }
  template <class V> static V vjp0(upstream<V> g, operand<0, V> x, attr<0, V> lo, attr<1, V> hi) {
    return by_operator<"hardtanh_backward", HardtanhBackward>(g.v, x.v, lo.v, hi.v);
  }
  static constexpr auto doc = R"(hardtanh(input, min_val=-1, max_val=1) -> Tensor

input clamped to [min_val, max_val].)";
};
FB_CARD(Hardtanh)

struct Relu6 : composite<Relu6> {
  static constexpr auto schema = "relu6(Tensor self) -> Tensor";
  static constexpr uint32_t forms = form::nn;
  static Tensor body(const Tensor& self) { return op<"hardtanh">(self, int64_t(0), int64_t(6)); }
  static constexpr auto doc = R"(relu6(input) -> Tensor

input clamped to [0, 6].)";
};
FB_CARD(Relu6)
struct Relu6InPlace : composite<Relu6InPlace> {
  static constexpr auto schema = "relu6_(Tensor(a!) self) -> Tensor(a!)";
  static constexpr uint32_t forms = form::nn;
  static Tensor body(const Tensor& self) { return op<"hardtanh_">(self, int64_t(0), int64_t(6)); }
};
FB_CARD(Relu6InPlace)

struct LeakyReluBackward : pointwise<LeakyReluBackward> {
  static constexpr auto schema = "leaky_relu_backward(Tensor grad_output, Tensor self, Scalar negative_slope, bool self_is_result) -> Tensor";
  static constexpr ResultLayout layout = ResultLayout::second_first;
  static constexpr uint32_t forms = form::hidden;
  template <class V> static constexpr V fn(V g, V x, V slope, V) { return select(x > k<V>(0), g, g * slope); }
  // Argument and result have one sign: it makes no difference which x is.
  template <class V> static V of(const V& g, const V& x, const V& slope) {
    if constexpr (std::is_same_v<V, Tensor>) return op<"leaky_relu_backward">(g, x, *slope.template ptr<double>(), false);
    else return fn<V>(g, x, slope, k<V>(0));
  }
  template <class V> static V vjp0(upstream<V> g, operand<1, V> x, attr<0, V> slope) { return of<V>(g, x, slope); }
  template <class V> static V vjp1(upstream<V> g) { return no_gradient(g.v); }
};
FB_CARD(LeakyReluBackward)
struct LeakyRelu : pointwise<LeakyRelu> {
  static constexpr auto schema = "leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor";
  static constexpr ResultLayout grad_layout = ResultLayout::second_first;
  static constexpr uint32_t forms = form::nn | form::inplace | form::out;
  template <class V> static constexpr V fn(V x, V slope) { return select(x > k<V>(0), x, x * slope); }
  template <class V> static V vjp0(upstream<V> g, operand<0, V> x, attr<0, V> slope) {
    return LeakyReluBackward::of<V>(g, x, slope);
  }
  static constexpr auto doc = R"(leaky_relu(input, negative_slope=0.01) -> Tensor

input where positive, else input * negative_slope.)";
};
FB_CARD(LeakyRelu)

struct PreluSlope : pointwise<PreluSlope> {
  static constexpr auto schema = "_prelu_slope(Tensor self, Tensor weight) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  template <class V> static constexpr V fn(V x, V w) { return select(x > k<V>(0), k<V>(1), w); }
  template <class V> static V vjp0(upstream<V> g) { return no_gradient(g.v); }
  template <class V> static V vjp1(upstream<V> g, operand<0, V> x) { return select(x.v > k<V>(0), k<V>(0), g.v); }
};
FB_CARD(PreluSlope)
struct PreluKernel : pointwise<PreluKernel> {
  static constexpr auto schema = "_prelu_kernel(Tensor self, Tensor weight) -> Tensor";
  static constexpr ResultLayout layout = ResultLayout::as_first;
  static constexpr uint32_t forms = form::fn;
  template <class V> static constexpr V fn(V x, V w) { return select(x > k<V>(0), x, w * x); }
  template <class V> static V vjp0(upstream<V> g, operand<0, V> x, operand<1, V> w) {
    if constexpr (std::is_same_v<V, Tensor>) return op<"_prelu_slope">(x.v, w.v) * g.v;  // with a link to x
    else return select(x.v > k<V>(0), g.v, w.v * g.v);
  }
  template <class V> static V vjp1(upstream<V> g, operand<0, V> x) { return select(x.v > k<V>(0), k<V>(0), x.v * g.v); }
};
FB_CARD(PreluKernel)

struct Prelu : composite<Prelu> {
  static constexpr auto schema = "prelu(Tensor self, Tensor weight) -> Tensor";
  static Tensor body(const Tensor& self, const Tensor& weight) {
    FB_CHECK(weight.ndim() <= 1, "prelu: weight must have at most one dimension, its shape is ", weight.sizes());
    FB_CHECK(self.dtype() == weight.dtype(), "prelu: input is ", self.dtype(), " and weight is ", weight.dtype(), "; both must have one type");
    Tensor w = weight;
    if (weight.numel() != 1) {
      FB_CHECK(self.ndim() > 0, "prelu: weight has ", weight.numel(), " elements, but input has no dimensions");
      const int64_t channels = self.ndim() > 1 ? self.sizes()[1] : 1;
      FB_CHECK(channels == weight.numel(), "prelu: weight has ", weight.numel(), " elements, but input of shape ", self.sizes(),
               " has ", channels, " channels (dimension 1)");
      Dims shape(self.ndim(), 1);
      if (self.ndim() > 1) shape[1] = weight.numel();
      w = op<"view">(weight, shape);
    } else if (self.ndim() != weight.ndim()) {
      w = op<"view">(weight, Dims(self.ndim(), 1));
    }
    return op<"_prelu_kernel">(self, w);
  }
  static constexpr auto doc = R"(prelu(input, weight) -> Tensor

input where positive, else weight * input; weight has one element, or one for each channel (dimension 1).)";
};
FB_CARD(Prelu)

struct Threshold : pointwise<Threshold> {
  static constexpr auto schema = "threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor";
  static constexpr ResultLayout grad_layout = ResultLayout::second_first;
  static constexpr uint32_t types = types::floating | types::integral;
  static constexpr uint32_t forms = form::fn | form::inplace | form::fn_inplace | form::out | form::out_converts | form::out_repeated;
  static void check(const Value* args, DType compute) {
    for (int i = 1; i < 3; ++i)
      check_fits("threshold", args[i].scalar(), compute);
  }
  template <class V> static constexpr V fn(V x, V t, V v) { return select(x <= t, v, x); }
  template <class V> static V vjp0(upstream<V> g, operand<0, V> x, attr<0, V> t) { return by_operator<"threshold_backward", ThresholdBackward>(g.v, x.v, t.v); }
  static constexpr auto doc = R"(threshold(input, threshold, value) -> Tensor

input where above threshold, else value.)";
};
FB_CARD(Threshold)

}  // namespace fb::cards
