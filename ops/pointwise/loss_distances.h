// The elements of losses (ops/loss), here of distances, in one pass over the operands each: the terms, and their derivative
// ("slopes", loss_slopes.h). They have derivatives of their own for torch.vmap, which sees the losses as what they are made of.
#pragma once
#include "dispatch/card.h"
#include "ops/math/math.h"
#include "ops/pointwise/loss_slopes.h"

namespace fb::cards {

struct mse_terms : pointwise<mse_terms> {
  static constexpr auto schema = "_mse_terms(Tensor self, Tensor target) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  template <class V> static constexpr V fn(V x, V t) { return (x - t) * (x - t); }
  template <class V> static V d0(operand<0, V> x, operand<1, V> t) { return loss::mse_slope(k<V>(1), x.v, t.v, k<V>(1)); }
  template <class V> static V d1(operand<0, V> x, operand<1, V> t) { return loss::mse_slope(k<V>(1), t.v, x.v, k<V>(1)); }
};
FB_CARD(mse_terms)
struct mse_slopes : pointwise<mse_slopes> {
  static constexpr auto schema = "_mse_slopes(Tensor grad_output, Tensor self, Tensor target, float scale) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  template <class V> static constexpr V fn(V g, V x, V t, V scale) { return loss::mse_slope(g, x, t, scale); }
  template <class V> static V d0(operand<1, V> x, operand<2, V> t, attr<0, V> scale) { return loss::mse_slope(k<V>(1), x.v, t.v, scale.v); }
  template <class V> static V d1(operand<0, V> g, attr<0, V> scale) { return loss::mse_curvature(g.v, scale.v); }
  template <class V> static V d2(operand<0, V> g, attr<0, V> scale) { return -loss::mse_curvature(g.v, scale.v); }
};
FB_CARD(mse_slopes)
struct smooth_l1_terms : pointwise<smooth_l1_terms> {
  static constexpr auto schema = "_smooth_l1_terms(Tensor self, Tensor target, float beta) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  template <class V> static constexpr V fn(V x, V t, V beta) {
    const V d = abs(x - t);
    return select(d < beta, k<V>(0.5) * d * d / beta, d - k<V>(0.5) * beta);
  }
  template <class V> static V d0(operand<0, V> x, operand<1, V> t, attr<0, V> beta) { return loss::smooth_l1_slope(k<V>(1), x.v, t.v, beta.v, k<V>(1)); }
  template <class V> static V d1(operand<0, V> x, operand<1, V> t, attr<0, V> beta) { return loss::smooth_l1_slope(k<V>(1), t.v, x.v, beta.v, k<V>(1)); }
};
FB_CARD(smooth_l1_terms)
struct smooth_l1_slopes : pointwise<smooth_l1_slopes> {
  static constexpr auto schema = "_smooth_l1_slopes(Tensor grad_output, Tensor self, Tensor target, float beta, float scale) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  template <class V> static constexpr V fn(V g, V x, V t, V beta, V scale) { return loss::smooth_l1_slope(g, x, t, beta, scale); }
  template <class V> static V d0(operand<1, V> x, operand<2, V> t, attr<0, V> beta, attr<1, V> scale) {
    return loss::smooth_l1_slope(k<V>(1), x.v, t.v, beta.v, scale.v);
  }
  template <class V> static V d1(operand<0, V> g, operand<1, V> x, operand<2, V> t, attr<0, V> beta, attr<1, V> scale) {
    return loss::smooth_l1_curvature(g.v, x.v, t.v, beta.v, scale.v);
  }
  template <class V> static V d2(operand<0, V> g, operand<1, V> x, operand<2, V> t, attr<0, V> beta, attr<1, V> scale) {
    return -loss::smooth_l1_curvature(g.v, x.v, t.v, beta.v, scale.v);
  }
};
FB_CARD(smooth_l1_slopes)

}  // namespace fb::cards
