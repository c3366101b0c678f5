// The elements of the binary cross entropy of probabilities, as those of distances (loss_distances.h).
#pragma once
#include <limits>

#include "dispatch/card.h"
#include "ops/math/math.h"

namespace fb::cards {

// Logarithms are held above -100, so that a certain and wrong prediction has a finite loss. Anything outside [0, 1],
// input or target, gives NaN.
struct bce_terms : pointwise<bce_terms> {
  static constexpr auto schema = "_bce_terms(Tensor self, Tensor target) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  template <class V> static constexpr V fn(V x, V t) {
    const V low = math::maximum(math::log(x), k<V>(-100)), high = math::maximum(math::log1p(-x), k<V>(-100));
    const V l = (t - k<V>(1)) * high - t * low;
    return select((t >= k<V>(0)) & (t <= k<V>(1)), l, k<V>(std::numeric_limits<double>::quiet_NaN()));
  }
  template <class V> static V d0(operand<0, V> x, operand<1, V> t) { return (x.v - t.v) / math::maximum((k<V>(1) - x.v) * x.v, k<V>(1e-12)); }
  template <class V> static V d1(operand<0, V> x) { return math::maximum(math::log1p(-x.v), k<V>(-100)) - math::maximum(math::log(x.v), k<V>(-100)); }
};
FB_CARD(bce_terms)
struct bce_slopes : pointwise<bce_slopes> {
  static constexpr auto schema = "_bce_slopes(Tensor grad_output, Tensor self, Tensor target, float scale) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  template <class V> static constexpr V fn(V g, V x, V t, V scale) {
    return scale * g * (x - t) / math::maximum((k<V>(1) - x) * x, k<V>(1e-12));
  }
  template <class V> static V d0(operand<1, V> x, operand<2, V> t, attr<0, V> scale) {
    return scale.v * (x.v - t.v) / math::maximum((k<V>(1) - x.v) * x.v, k<V>(1e-12));
  }
  template <class V> static V d1(operand<0, V> g, operand<1, V> x, operand<2, V> t, attr<0, V> scale) {  // of (x - t) / (x - x^2): (x^2 - 2 x t + t) / (x - x^2)^2
    const V q = math::maximum((k<V>(1) - x.v) * x.v, k<V>(1e-12));
    return scale.v * g.v * ((x.v * (x.v - k<V>(2) * t.v) + t.v) / q / q);
  }
  template <class V> static V d2(operand<0, V> g, operand<1, V> x, attr<0, V> scale) {
    return -(scale.v * g.v / math::maximum((k<V>(1) - x.v) * x.v, k<V>(1e-12)));
  }
};
FB_CARD(bce_slopes)

}  // namespace fb::cards
