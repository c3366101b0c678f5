// The elements of the Huber loss, as those of distances (loss_distances.h).
#pragma once
#include "dispatch/card.h"
#include "ops/math/math.h"
#include "ops/pointwise/loss_slopes.h"

namespace fb::cards {

struct huber_slopes : pointwise<huber_slopes> {
  static constexpr auto schema = "_huber_slopes(Tensor grad_output, Tensor self, Tensor target, float delta, float scale) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  template <class V> static constexpr V fn(V g, V x, V t, V delta, V scale) { return loss::huber_slope(g, x, t, delta, scale); }
  template <class V> static V d0(operand<1, V> x, operand<2, V> t, attr<0, V> delta, attr<1, V> scale) {
    return loss::huber_slope(k<V>(1), x.v, t.v, delta.v, scale.v);
  }
  template <class V> static V d1(operand<0, V> g, operand<1, V> x, operand<2, V> t, attr<0, V> delta, attr<1, V> scale) {
    return loss::huber_curvature(g.v, x.v, t.v, delta.v, scale.v);
  }
  template <class V> static V d2(operand<0, V> g, operand<1, V> x, operand<2, V> t, attr<0, V> delta, attr<1, V> scale) {
    return -loss::huber_curvature(g.v, x.v, t.v, delta.v, scale.v);
  }
};
FB_CARD(huber_slopes)
struct huber_terms : pointwise<huber_terms> {
  static constexpr auto schema = "_huber_terms(Tensor self, Tensor target, float delta) -> Tensor";
  static constexpr ResultLayout layout = ResultLayout::as_first;
  static constexpr uint32_t forms = form::hidden;
  template <class V> static constexpr V fn(V x, V t, V delta) {
    const V d = abs(x - t);
    return select(d <= delta, k<V>(0.5) * d * d, delta * (d - k<V>(0.5) * delta));
  }
  template <class V> static V d0(operand<0, V> x, operand<1, V> t, attr<0, V> delta) { return loss::huber_slope(k<V>(1), x.v, t.v, delta.v, k<V>(1)); }
  template <class V> static V d1(operand<0, V> x, operand<1, V> t, attr<0, V> delta) { return loss::huber_slope(k<V>(1), t.v, x.v, delta.v, k<V>(1)); }
};
FB_CARD(huber_terms)

}  // namespace fb::cards
