// The elements of losses (ops/loss) in one pass over the operands each: the terms, and their derivative ("slopes") times the
// incoming gradient and `scale`, the share of an element in the reduction.
#pragma once
#include <limits>

#include "dispatch/card.h"
#include "ops/math/math.h"

namespace fb::cards {

struct mse_terms : pointwise<mse_terms> {
  static constexpr auto schema = "_mse_terms(Tensor self, Tensor target) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  template <class V> static constexpr V fn(V x, V t) { return (x - t) * (x - t); }
};
FB_CARD(mse_terms)
struct mse_slopes : pointwise<mse_slopes> {
  static constexpr auto schema = "_mse_slopes(Tensor grad_output, Tensor self, Tensor target, float scale) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  template <class V> static constexpr V fn(V g, V x, V t, V scale) { return k<V>(2) * scale * (x - t) * g; }
};
FB_CARD(mse_slopes)
struct smooth_l1_terms : pointwise<smooth_l1_terms> {
  static constexpr auto schema = "_smooth_l1_terms(Tensor self, Tensor target, float beta) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  template <class V> static constexpr V fn(V x, V t, V beta) {
    const V d = abs(x - t);
    return select(d < beta, k<V>(0.5) * d * d / beta, d - k<V>(0.5) * beta);
  }
};
FB_CARD(smooth_l1_terms)
struct smooth_l1_slopes : pointwise<smooth_l1_slopes> {
  static constexpr auto schema = "_smooth_l1_slopes(Tensor grad_output, Tensor self, Tensor target, float beta, float scale) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  template <class V> static constexpr V fn(V g, V x, V t, V beta, V scale) {
    const V d = x - t, far = select(d <= -beta, -(scale * g), scale * g);
    return select(abs(d) < beta, scale * d * g / beta, select(d == k<V>(0), k<V>(0), far));
  }
};
FB_CARD(smooth_l1_slopes)
struct huber_terms : pointwise<huber_terms> {
  static constexpr auto schema = "_huber_terms(Tensor self, Tensor target, float delta) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  template <class V> static constexpr V fn(V x, V t, V delta) {
    const V d = abs(x - t);
    return select(d <= delta, k<V>(0.5) * d * d, delta * (d - k<V>(0.5) * delta));
  }
};
FB_CARD(huber_terms)
struct huber_slopes : pointwise<huber_slopes> {
  static constexpr auto schema = "_huber_slopes(Tensor grad_output, Tensor self, Tensor target, float delta, float scale) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  template <class V> static constexpr V fn(V g, V x, V t, V delta, V scale) {
    const V d = x - t;
    return select(d <= -delta, -(scale * g * delta), select(d >= delta, scale * g * delta, scale * d * g));
  }
};
FB_CARD(huber_slopes)
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
};
FB_CARD(bce_terms)
struct bce_slopes : pointwise<bce_slopes> {
  static constexpr auto schema = "_bce_slopes(Tensor grad_output, Tensor self, Tensor target, float scale) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  template <class V> static constexpr V fn(V g, V x, V t, V scale) {
    return scale * g * (x - t) / math::maximum((k<V>(1) - x) * x, k<V>(1e-12));
  }
};
FB_CARD(bce_slopes)
struct bce_logits_terms : pointwise<bce_logits_terms> {
  static constexpr auto schema = "_bce_logits_terms(Tensor target, Tensor self) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  template <class V> static constexpr V fn(V t, V x) { return (k<V>(1) - t) * x - math::log_sigmoid(x); }
};
FB_CARD(bce_logits_terms)
struct bce_logits_weighted_terms : pointwise<bce_logits_weighted_terms> {
  static constexpr auto schema = "_bce_logits_weighted_terms(Tensor target, Tensor self, Tensor pos_weight) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  template <class V> static constexpr V fn(V t, V x, V p) { return (k<V>(1) - t) * x - ((p - k<V>(1)) * t + k<V>(1)) * math::log_sigmoid(x); }
};
FB_CARD(bce_logits_weighted_terms)
struct bce_logits_slopes : pointwise<bce_logits_slopes> {
  static constexpr auto schema = "_bce_logits_slopes(Tensor grad_output, Tensor self, Tensor target, float scale) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  template <class V> static constexpr V fn(V g, V x, V t, V scale) { return (math::sigmoid(x) - t) * g * scale; }
};
FB_CARD(bce_logits_slopes)
struct soft_margin_slopes : pointwise<soft_margin_slopes> {
  static constexpr auto schema = "_soft_margin_slopes(Tensor grad_output, Tensor self, Tensor target, float scale) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  template <class V> static constexpr V fn(V g, V x, V t, V scale) { return -(scale * t * math::sigmoid(-(t * x)) * g); }
};
FB_CARD(soft_margin_slopes)

}  // namespace fb::cards
