// The larger or smaller of two elements.
#pragma once
#include "dispatch/call.h"
#include "dispatch/card.h"
#include "dispatch/out_rule.h"
#include "ops/math/fits.h"
#include "ops/math/math.h"
#include "ops/pointwise/gradient.h"

namespace fb::cards {

template <class C> struct extreme : pointwise<C> {
  static constexpr uint32_t types = types::floating | types::integral | types::boolean;
  static constexpr uint32_t forms = form::fn | form::method | form::out;
  static void check(const Value*, DType compute) { FB_CHECK(!is_complex(compute), "complex numbers have no order: no maximum or minimum of ", compute); }
};

struct Maximum : extreme<Maximum> {
  static constexpr auto schema = "maximum(Tensor self, Tensor other) -> Tensor";
  template <class V> static constexpr V fn(V a, V b) { return math::maximum(a, b); }
  template <class V> static V vjp0(upstream<V> g, operand<0, V> a, operand<1, V> b) { return chosen<V>(g, a, b); }
  template <class V> static V vjp1(upstream<V> g, operand<0, V> a, operand<1, V> b) { return chosen<V>(g, b, a); }
  static constexpr auto doc = R"(maximum(input, other, *, out=None) -> Tensor

The larger element; NaN where either is NaN.)";
};
FB_CARD(Maximum)

struct Minimum : extreme<Minimum> {
  static constexpr auto schema = "minimum(Tensor self, Tensor other) -> Tensor";
  template <class V> static constexpr V fn(V a, V b) { return math::minimum(a, b); }
  template <class V> static V vjp0(upstream<V> g, operand<0, V> a, operand<1, V> b) { return chosen<V>(g, -a.v, -b.v); }
  template <class V> static V vjp1(upstream<V> g, operand<0, V> a, operand<1, V> b) { return chosen<V>(g, -b.v, -a.v); }
  static constexpr auto doc = R"(minimum(input, other, *, out=None) -> Tensor

The smaller element; NaN where either is NaN.)";
};
FB_CARD(Minimum)

struct Fmax : extreme<Fmax> {
  static constexpr auto schema = "fmax(Tensor self, Tensor other) -> Tensor";
  template <class V> static constexpr V fn(V a, V b) { return math::fmax(a, b); }
  template <class V> static V vjp0(upstream<V> g, operand<0, V> a, operand<1, V> b) { return chosen<V>(g, a, b); }
  template <class V> static V vjp1(upstream<V> g, operand<0, V> a, operand<1, V> b) { return chosen<V>(g, b, a); }
  static constexpr auto doc = R"(fmax(input, other, *, out=None) -> Tensor

The larger element; the other one where one is NaN.)";
};
FB_CARD(Fmax)

struct Fmin : extreme<Fmin> {
  static constexpr auto schema = "fmin(Tensor self, Tensor other) -> Tensor";
  template <class V> static constexpr V fn(V a, V b) { return math::fmin(a, b); }
  template <class V> static V vjp0(upstream<V> g, operand<0, V> a, operand<1, V> b) { return chosen<V>(g, -a.v, -b.v); }
  template <class V> static V vjp1(upstream<V> g, operand<0, V> a, operand<1, V> b) { return chosen<V>(g, -b.v, -a.v); }
  static constexpr auto doc = R"(fmin(input, other, *, out=None) -> Tensor

The smaller element; the other one where one is NaN.)";
};
FB_CARD(Fmin)

template <class C> struct bounding : pointwise<C> {
  static constexpr uint32_t types = types::floating | types::integral | types::boolean;
  static constexpr uint32_t forms = pointwise<C>::forms | form::fn_inplace;
};
struct ClampMin : bounding<ClampMin> {
  static constexpr auto schema = "clamp_min(Tensor self, Scalar min) -> Tensor";
  static constexpr ResultLayout layout = ResultLayout::of_tensors, grad_layout = ResultLayout::second_first;
  static constexpr auto grad_name = "ClampMinBackward0";
  static constexpr uint32_t forms = bounding<ClampMin>::forms | form::out_exact;
  static constexpr uint64_t scalar_operands = 0b10;
  static void check(const Value* args, DType compute) { check_fits("clamp_min", args[1].scalar(), compute); }
  template <class V> static constexpr V fn(V x, V lo) { return math::maximum(x, lo); }
  template <class V> static V vjp0(upstream<V> g, operand<0, V> x, operand<1, V> lo) { return masked(x.v > lo.v, g.v); }
  static constexpr auto doc = "clamp_min(input, min, *, out=None) -> Tensor\n\nclamp with a lower bound only.";
};
FB_CARD(ClampMin)
struct ClampMinTensor : bounding<ClampMinTensor> {
  static constexpr auto schema = "clamp_min.Tensor(Tensor self, Tensor min) -> Tensor";
  static constexpr auto grad_name = "ClampMinBackward1";
  using loops = Maximum;
  template <class V> static V vjp0(upstream<V> g, operand<0, V> x, operand<1, V> lo) { return chosen<V>(g, x, lo); }
  template <class V> static V vjp1(upstream<V> g, operand<0, V> x, operand<1, V> lo) { return chosen<V>(g, lo, x); }
};
FB_CARD(ClampMinTensor)

struct ClampMax : bounding<ClampMax> {
  static constexpr auto schema = "clamp_max(Tensor self, Scalar max) -> Tensor";
  static constexpr ResultLayout layout = ResultLayout::of_tensors, grad_layout = ResultLayout::second_first;
  static constexpr auto grad_name = "ClampMaxBackward0";
  static constexpr uint32_t forms = bounding<ClampMax>::forms | form::out_exact;
  static constexpr uint64_t scalar_operands = 0b10;
  static void check(const Value* args, DType compute) { check_fits("clamp_max", args[1].scalar(), compute); }
  template <class V> static constexpr V fn(V x, V hi) { return math::minimum(x, hi); }
  template <class V> static V vjp0(upstream<V> g, operand<0, V> x, operand<1, V> hi) { return masked(x.v < hi.v, g.v); }
  static constexpr auto doc = "clamp_max(input, max, *, out=None) -> Tensor\n\nclamp with an upper bound only.";
};
FB_CARD(ClampMax)
struct ClampMaxTensor : bounding<ClampMaxTensor> {
  static constexpr auto schema = "clamp_max.Tensor(Tensor self, Tensor max) -> Tensor";
  static constexpr auto grad_name = "ClampMaxBackward1";
  using loops = Minimum;
  template <class V> static V vjp0(upstream<V> g, operand<0, V> x, operand<1, V> hi) { return chosen<V>(g, -x.v, -hi.v); }
  template <class V> static V vjp1(upstream<V> g, operand<0, V> x, operand<1, V> hi) { return chosen<V>(g, -hi.v, -x.v); }
};
FB_CARD(ClampMaxTensor)

}  // namespace fb::cards
