// The elements of the binary cross entropy of probabilities, as those of distances (loss_distances.h).
#pragma once
#include <limits>

#include "dispatch/card.h"
#include "ops/math/math.h"
#include "ops/pointwise/loss_slopes.h"

namespace fb::cards {

// Logarithms are held above -100, so that a certain and wrong prediction has a finite loss. Anything outside [0, 1],
// input or target, gives NaN.
struct bce_terms : pointwise<bce_terms> {
  static constexpr auto schema = "_bce_terms(Tensor self, Tensor target) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  template <class V> static V low(V x) { return math::maximum(math::log(x), k<V>(-100)); }
  template <class V> static V high(V x) { return math::maximum(math::log1p(-x), k<V>(-100)); }
  template <class V> static constexpr V fn(V x, V t) {
    const V l = (t - k<V>(1)) * high(x) - t * low(x);
    return select((t >= k<V>(0)) & (t <= k<V>(1)), l, k<V>(std::numeric_limits<double>::quiet_NaN()));
  }
  template <class V> static V d0(operand<0, V> x, operand<1, V> t) { return loss::bce_slope(k<V>(1), x.v, t.v, k<V>(1)); }
  template <class V> static V d1(operand<0, V> x) { return high(x.v) - low(x.v); }
};
FB_CARD(bce_terms)
struct bce_slopes : pointwise<bce_slopes> {
  static constexpr auto schema = "_bce_slopes(Tensor grad_output, Tensor self, Tensor target, float scale) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  template <class V> static constexpr V fn(V g, V x, V t, V scale) { return loss::bce_slope(g, x, t, scale); }
  template <class V> static V d0(operand<1, V> x, operand<2, V> t, attr<0, V> scale) { return loss::bce_slope(k<V>(1), x.v, t.v, scale.v); }
  template <class V> static V d1(operand<0, V> g, operand<1, V> x, operand<2, V> t, attr<0, V> scale) {
    return loss::bce_curvature(g.v, x.v, t.v, scale.v);
  }
  template <class V> static V d2(operand<0, V> g, operand<1, V> x, attr<0, V> scale) { return -(scale.v * g.v / loss::bce_width(x.v)); }
};
FB_CARD(bce_slopes)

}  // namespace fb::cards
