// The elements of the binary cross entropy of logits, as those of distances (loss_distances.h).
#pragma once
#include "dispatch/card.h"
#include "ops/math/math.h"
#include "ops/pointwise/loss_slopes.h"

namespace fb::cards {

// log(sigmoid(x)) of functions that are named in every domain.
template <class V> V loss_log_sigmoid(V x) { return math::minimum(x, k<V>(0)) - math::log1p(math::exp(-abs(x))); }

struct bce_logits_terms : pointwise<bce_logits_terms> {
  static constexpr auto schema = "_bce_logits_terms(Tensor target, Tensor self) -> Tensor";
  static constexpr ResultLayout layout = ResultLayout::as_first;
  static constexpr uint32_t forms = form::hidden;
  template <class V> static constexpr V fn(V t, V x) { return (k<V>(1) - t) * x - math::log_sigmoid(x); }
  template <class V> static V d0(operand<1, V> x) { return -x.v; }
  template <class V> static V d1(operand<0, V> t, operand<1, V> x) { return loss::bce_logits_slope(k<V>(1), x.v, t.v, k<V>(1)); }
};
FB_CARD(bce_logits_terms)
struct bce_logits_weighted_terms : pointwise<bce_logits_weighted_terms> {
  static constexpr auto schema = "_bce_logits_weighted_terms(Tensor target, Tensor self, Tensor pos_weight) -> Tensor";
  static constexpr ResultLayout layout = ResultLayout::as_first;
  static constexpr uint32_t forms = form::hidden;
  template <class V> static constexpr V fn(V t, V x, V p) { return (k<V>(1) - t) * x - ((p - k<V>(1)) * t + k<V>(1)) * math::log_sigmoid(x); }
  template <class V> static V d0(operand<1, V> x, operand<2, V> p) { return -x.v - (p.v - k<V>(1)) * loss_log_sigmoid(x.v); }
  template <class V> static V d1(operand<0, V> t, operand<1, V> x, operand<2, V> p) {
    return k<V>(1) - t.v - ((p.v - k<V>(1)) * t.v + k<V>(1)) * math::sigmoid(-x.v);
  }
  template <class V> static V d2(operand<0, V> t, operand<1, V> x) { return -(t.v * loss_log_sigmoid(x.v)); }
};
FB_CARD(bce_logits_weighted_terms)

}  // namespace fb::cards
