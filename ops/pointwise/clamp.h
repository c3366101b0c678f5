// Clamping between bounds, numbers or tensors.
#pragma once
#include "dispatch/call.h"
#include "dispatch/card.h"
#include "dispatch/out_rule.h"
#include "ops/math/fits.h"
#include "ops/math/math.h"
#include "ops/pointwise/gradient.h"

namespace fb::cards {

template <class C> struct clamping : pointwise<C> {
  static constexpr uint32_t types = types::floating | types::integral | types::boolean;
  static constexpr uint32_t forms = pointwise<C>::forms | form::fn_inplace;
};
// Both bounds, the lower only, the upper only. The upper wins where they cross.
inline int bounds_given(const Value* args) { return args[2].is_none() ? 1 : args[1].is_none() ? 2 : 0; }
inline void check_bounds(const Value* args) {
  FB_CHECK(!args[1].is_none() || !args[2].is_none(), "clamp: one of min and max must be given, both are None");
}
template <class V, int M> V clamp_to(V x, V lo, V hi) {
  if constexpr (M != 2) x = math::maximum(x, lo);
  if constexpr (M != 1) x = math::minimum(x, hi);
  return x;
}

struct Clamp : clamping<Clamp> {
  static constexpr auto schema = "clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor";
  static constexpr ResultLayout layout = ResultLayout::of_tensors, grad_layout = ResultLayout::second_first;
  static constexpr auto aliases = "clip";
  static constexpr auto grad_name = "ClampBackward1";
  static constexpr uint32_t forms = clamping<Clamp>::forms | form::out_exact;
  static constexpr uint64_t scalar_operands = 0b110;
  static constexpr int modes = 3;
  static int mode(const Value* args) { return bounds_given(args); }
  static void check(const Value* args, DType compute) {
    check_bounds(args);
    for (int i = 1; i < 3; ++i)
      if (!args[i].is_none()) check_fits("clamp", args[i].scalar(), compute);
  }
  template <class V, int M> static constexpr V fn(V x, V lo, V hi) { return clamp_to<V, M>(x, lo, hi); }
  template <class V, int M> static V vjp0(upstream<V> g, operand<0, V> x, operand<1, V> lo, operand<2, V> hi) {
    if constexpr (M == 0) return masked((x.v > lo.v) & (x.v < hi.v), g.v);
    else if constexpr (M == 1) return masked(x.v > lo.v, g.v);
    else return masked(x.v < hi.v, g.v);
  }
  static constexpr auto doc = R"(clamp(input, min=None, max=None, *, out=None) -> Tensor

input with what is below min set to min and what is above max set to max; the bounds are numbers or tensors (which
broadcast), one of them may be None. NaN stays. RuntimeError where both are None.)";
};
FB_CARD(Clamp)

struct ClampTensor : clamping<ClampTensor> {
  static constexpr auto schema = "clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor";
  static constexpr auto aliases = "clip";
  static constexpr auto grad_name = "ClampBackward0";
  static constexpr int modes = 3;
  static int mode(const Value* args) { return bounds_given(args); }
  static void check(const Value* args, DType) { check_bounds(args); }
  template <class V, int M> static constexpr V fn(V x, V lo, V hi) { return clamp_to<V, M>(x, lo, hi); }
  template <class V, int M> static V vjp0(upstream<V> g, operand<0, V> x, operand<1, V> lo, operand<2, V> hi) {
    if constexpr (M == 0) {
      const auto edge = ((x.v == lo.v) | (x.v == hi.v)) & (lo.v != hi.v);
      return select((x.v < lo.v) | (x.v > hi.v), k<V>(0), select(edge, g.v * k<V>(0.5), g.v));
    } else if constexpr (M == 1) return chosen<V>(g, x, lo);
    else return chosen<V>(g, -x.v, -hi.v);
  }
  template <class V, int M> static V vjp1(upstream<V> g, operand<0, V> x, operand<1, V> lo, operand<2, V> hi) {
    if constexpr (M == 0)
      return select((x.v < lo.v) & (lo.v <= hi.v), g.v, select((x.v == lo.v) & (lo.v < hi.v), g.v * k<V>(0.5), k<V>(0)));
    else if constexpr (M == 1) return chosen<V>(g, lo, x);
    else return no_gradient(g.v);
  }
  template <class V, int M> static V vjp2(upstream<V> g, operand<0, V> x, operand<1, V> lo, operand<2, V> hi) {
    if constexpr (M == 0) {
      return select((x.v > hi.v) | (hi.v < lo.v), g.v, select((x.v == hi.v) & (lo.v < hi.v), g.v * k<V>(0.5), k<V>(0)));
    } else if constexpr (M == 1) return no_gradient(g.v);
    else return chosen<V>(g, -hi.v, -x.v);
  }
};
FB_CARD(ClampTensor)

}  // namespace fb::cards
