// The slopes of losses of logits, as those of distances (loss_distances.h).
#pragma once
#include "dispatch/card.h"
#include "ops/math/math.h"
#include "ops/pointwise/loss_slopes.h"

namespace fb::cards {

struct bce_logits_slopes : pointwise<bce_logits_slopes> {
  static constexpr auto schema = "_bce_logits_slopes(Tensor grad_output, Tensor self, Tensor target, float scale) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  template <class V> static constexpr V fn(V g, V x, V t, V scale) { return loss::bce_logits_slope(g, x, t, scale); }
  template <class V> static V d0(operand<1, V> x, operand<2, V> t, attr<0, V> scale) { return loss::bce_logits_slope(k<V>(1), x.v, t.v, scale.v); }
  template <class V> static V d1(operand<0, V> g, operand<1, V> x, attr<0, V> scale) {
    const V y = math::sigmoid(x.v);
    return y * (k<V>(1) - y) * g.v * scale.v;
  }
  template <class V> static V d2(operand<0, V> g, attr<0, V> scale) { return -(g.v * scale.v); }
};
FB_CARD(bce_logits_slopes)
struct soft_margin_slopes : pointwise<soft_margin_slopes> {
  static constexpr auto schema = "_soft_margin_slopes(Tensor grad_output, Tensor self, Tensor target, float scale) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  template <class V> static constexpr V fn(V g, V x, V t, V scale) { return loss::soft_margin_slope(g, x, t, scale); }
  template <class V> static V d0(operand<1, V> x, operand<2, V> t, attr<0, V> scale) { return loss::soft_margin_slope(k<V>(1), x.v, t.v, scale.v); }
  template <class V> static V d1(operand<0, V> g, operand<1, V> x, operand<2, V> t, attr<0, V> scale) {
    const V y = math::sigmoid(-(t.v * x.v));
    return scale.v * t.v * t.v * y * (k<V>(1) - y) * g.v;
  }
  template <class V> static V d2(operand<0, V> g, operand<1, V> x, operand<2, V> t, attr<0, V> scale) {
    const V y = math::sigmoid(-(t.v * x.v));
    return -(scale.v * g.v * (y - t.v * x.v * y * (k<V>(1) - y)));
  }
};
FB_CARD(soft_margin_slopes)

}  // namespace fb::cards
