// Piecewise activations: shrinkage and the hard forms of sigmoid and swish.
#pragma once
#include "dispatch/card.h"
#include "ops/math/math.h"
#include "ops/pointwise/own_backward.h"

namespace fb::cards {

struct HardshrinkBackward : choosing<HardshrinkBackward, "hardshrink_backward", 1> {
  static constexpr auto schema = "hardshrink_backward(Tensor grad_out, Tensor self, Scalar lambd) -> Tensor";
  template <class V> static constexpr V fn(V g, V x, V l) { return select((x >= -l) & (x <= l), k<V>(0), g); }
};
FB_CARD(HardshrinkBackward)
struct Hardshrink : pointwise<Hardshrink> {
  static constexpr auto schema = "hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::method | form::out;
  template <class V> static constexpr V fn(V x, V l) { return select((x >= -l) & (x <= l), k<V>(0), x); }
  template <class V> static V vjp0(upstream<V> g, operand<0, V> x, attr<0, V> l) {
    return by_operator<"hardshrink_backward", HardshrinkBackward>(g.v, x.v, l.v);
  }
  static constexpr auto doc = R"(hardshrink(input, lambd=0.5, *, out=None) -> Tensor

0 where abs(input) <= lambd, else input.)";
};
FB_CARD(Hardshrink)

struct SoftshrinkBackward : choosing<SoftshrinkBackward, "softshrink_backward", 1> {
  static constexpr auto schema = "softshrink_backward(Tensor grad_output, Tensor self, Scalar lambd) -> Tensor";
  template <class V> static constexpr V fn(V g, V x, V l) { return select((x >= -l) & (x <= l), k<V>(0), g); }
};
FB_CARD(SoftshrinkBackward)
struct Softshrink : pointwise<Softshrink> {
  static constexpr auto schema = "softshrink(Tensor self, Scalar lambd=0.5) -> Tensor";
  static constexpr uint32_t forms = form::nn | form::out;
  static void check(const Value* args, DType) {
    FB_CHECK(args[1].floating() >= 0, "softshrink: lambd must be at least 0, ", args[1].floating(), " was given");
  }
  template <class V> static constexpr V fn(V x, V l) { return select(x > l, x - l, select(x < -l, x + l, x * k<V>(0))); }
  template <class V> static V vjp0(upstream<V> g, operand<0, V> x, attr<0, V> l) {
    return by_operator<"softshrink_backward", SoftshrinkBackward>(g.v, x.v, l.v);
  }
  static constexpr auto doc = R"(softshrink(input, lambd=0.5, *, out=None) -> Tensor

input moved towards 0 by lambd, 0 where abs(input) <= lambd.)";
};
FB_CARD(Softshrink)

struct HardsigmoidBackward : choosing<HardsigmoidBackward, "hardsigmoid_backward"> {
  static constexpr auto schema = "hardsigmoid_backward(Tensor grad_output, Tensor self) -> Tensor";
  template <class V> static constexpr V fn(V g, V x) { return masked((x > k<V>(-3)) & (x < k<V>(3)), g / k<V>(6)); }
};
FB_CARD(HardsigmoidBackward)
struct Hardsigmoid : pointwise<Hardsigmoid> {
  static constexpr auto schema = "hardsigmoid(Tensor self) -> Tensor";
  static constexpr uint32_t forms = form::nn | form::inplace | form::out;
  template <class V> static constexpr V fn(V x) { return math::minimum(math::maximum(x + k<V>(3), k<V>(0)), k<V>(6)) / k<V>(6); }
  template <class V> static V vjp0(upstream<V> g, operand<0, V> x) {
    return by_operator<"hardsigmoid_backward", HardsigmoidBackward>(g.v, x.v);
  }
  static constexpr auto doc = R"(hardsigmoid(input) -> Tensor

(input + 3) / 6 clamped to [0, 1].)";
};
FB_CARD(Hardsigmoid)

struct Hardswish : pointwise<Hardswish> {
  static constexpr auto schema = "hardswish(Tensor self) -> Tensor";
  static constexpr uint32_t forms = form::nn | form::inplace | form::out;
  template <class V> static constexpr V fn(V x) { return x * math::minimum(math::maximum(x + k<V>(3), k<V>(0)), k<V>(6)) / k<V>(6); }
  template <class V> static V vjp0(upstream<V> g, operand<0, V> x) {
    return select(x.v <= k<V>(-3), k<V>(0), select(x.v < k<V>(3), g.v * (x.v / k<V>(3) + k<V>(0.5)), g.v));
  }
  static constexpr auto doc = R"(hardswish(input) -> Tensor

input * hardsigmoid(input).)";
};
FB_CARD(Hardswish)

}  // namespace fb::cards
