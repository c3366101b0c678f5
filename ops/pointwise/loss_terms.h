// The elements of losses (ops/loss) in one pass over the operands each: the terms, and their derivative ("slopes") times the
// incoming gradient and `scale`, the share of an element in the reduction. They have derivatives of their own for torch.vmap,
// which sees the losses as what they are made of.
#pragma once
#include <limits>

#include "dispatch/card.h"
#include "ops/math/math.h"

namespace fb::cards {

// Of the smooth distance that is quadratic within beta of 0.
template <class V> V loss_slope_near(V d, V beta, V scale) {
  const V far = select(d < k<V>(0), -scale, select(d > k<V>(0), scale, k<V>(0)));
  return select(abs(d) < beta, scale * d / beta, far);
}

// log(sigmoid(x)) of functions that are named in every domain.
template <class V> V loss_log_sigmoid(V x) { return math::minimum(x, k<V>(0)) - math::log1p(math::exp(-abs(x))); }

struct mse_terms : pointwise<mse_terms> {
  static constexpr auto schema = "_mse_terms(Tensor self, Tensor target) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  template <class V> static constexpr V fn(V x, V t) { return (x - t) * (x - t); }
  template <class V> static V d0(operand<0, V> x, operand<1, V> t) { return k<V>(2) * (x.v - t.v); }
  template <class V> static V d1(operand<0, V> x, operand<1, V> t) { return k<V>(2) * (t.v - x.v); }
};
FB_CARD(mse_terms)
struct mse_slopes : pointwise<mse_slopes> {
  static constexpr auto schema = "_mse_slopes(Tensor grad_output, Tensor self, Tensor target, float scale) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  template <class V> static constexpr V fn(V g, V x, V t, V scale) { return k<V>(2) * scale * (x - t) * g; }
  template <class V> static V d0(operand<1, V> x, operand<2, V> t, attr<0, V> scale) { return k<V>(2) * scale.v * (x.v - t.v); }
  template <class V> static V d1(operand<0, V> g, attr<0, V> scale) { return k<V>(2) * scale.v * g.v; }
  template <class V> static V d2(operand<0, V> g, attr<0, V> scale) { return k<V>(-2) * scale.v * g.v; }
};
FB_CARD(mse_slopes)
struct smooth_l1_terms : pointwise<smooth_l1_terms> {
  static constexpr auto schema = "_smooth_l1_terms(Tensor self, Tensor target, float beta) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  template <class V> static constexpr V fn(V x, V t, V beta) {
    const V d = abs(x - t);
    return select(d < beta, k<V>(0.5) * d * d / beta, d - k<V>(0.5) * beta);
  }
  template <class V> static V d0(operand<0, V> x, operand<1, V> t, attr<0, V> beta) { return loss_slope_near(x.v - t.v, beta.v, k<V>(1)); }
  template <class V> static V d1(operand<0, V> x, operand<1, V> t, attr<0, V> beta) { return loss_slope_near(t.v - x.v, beta.v, k<V>(1)); }
};
FB_CARD(smooth_l1_terms)
struct smooth_l1_slopes : pointwise<smooth_l1_slopes> {
  static constexpr auto schema = "_smooth_l1_slopes(Tensor grad_output, Tensor self, Tensor target, float beta, float scale) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  template <class V> static constexpr V fn(V g, V x, V t, V beta, V scale) {
    const V d = x - t, far = select(d <= -beta, -(scale * g), scale * g);
    return select(abs(d) < beta, scale * d * g / beta, select(d == k<V>(0), k<V>(0), far));
  }
  template <class V> static V d0(operand<1, V> x, operand<2, V> t, attr<0, V> beta, attr<1, V> scale) { return loss_slope_near(x.v - t.v, beta.v, scale.v); }
  template <class V> static V d1(operand<0, V> g, operand<1, V> x, operand<2, V> t, attr<0, V> beta, attr<1, V> scale) {
    return select(abs(x.v - t.v) < beta.v, scale.v * g.v / beta.v, k<V>(0));
  }
  template <class V> static V d2(operand<0, V> g, operand<1, V> x, operand<2, V> t, attr<0, V> beta, attr<1, V> scale) {
    return select(abs(x.v - t.v) < beta.v, -(scale.v * g.v / beta.v), k<V>(0));
  }
};
FB_CARD(smooth_l1_slopes)
struct huber_slopes : pointwise<huber_slopes> {
  static constexpr auto schema = "_huber_slopes(Tensor grad_output, Tensor self, Tensor target, float delta, float scale) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  template <class V> static constexpr V fn(V g, V x, V t, V delta, V scale) {
    const V d = x - t;
    return select(d <= -delta, -(scale * g * delta), select(d >= delta, scale * g * delta, scale * d * g));
  }
  template <class V> static V d0(operand<1, V> x, operand<2, V> t, attr<0, V> delta, attr<1, V> scale) { return fn<V>(k<V>(1), x.v, t.v, delta.v, scale.v); }
  template <class V> static V d1(operand<0, V> g, operand<1, V> x, operand<2, V> t, attr<0, V> delta, attr<1, V> scale) {
    return select(abs(x.v - t.v) < delta.v, scale.v * g.v, k<V>(0));
  }
  template <class V> static V d2(operand<0, V> g, operand<1, V> x, operand<2, V> t, attr<0, V> delta, attr<1, V> scale) {
    return select(abs(x.v - t.v) < delta.v, -(scale.v * g.v), k<V>(0));
  }
};
FB_CARD(huber_slopes)
struct huber_terms : pointwise<huber_terms> {
  static constexpr auto schema = "_huber_terms(Tensor self, Tensor target, float delta) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  template <class V> static constexpr V fn(V x, V t, V delta) {
    const V d = abs(x - t);
    return select(d <= delta, k<V>(0.5) * d * d, delta * (d - k<V>(0.5) * delta));
  }
  template <class V> static V d0(operand<0, V> x, operand<1, V> t, attr<0, V> delta) { return huber_slopes::fn<V>(k<V>(1), x.v, t.v, delta.v, k<V>(1)); }
  template <class V> static V d1(operand<0, V> x, operand<1, V> t, attr<0, V> delta) { return huber_slopes::fn<V>(k<V>(1), t.v, x.v, delta.v, k<V>(1)); }
};
FB_CARD(huber_terms)
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
struct bce_logits_terms : pointwise<bce_logits_terms> {
  static constexpr auto schema = "_bce_logits_terms(Tensor target, Tensor self) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  template <class V> static constexpr V fn(V t, V x) { return (k<V>(1) - t) * x - math::log_sigmoid(x); }
  template <class V> static V d0(operand<1, V> x) { return -x.v; }
  template <class V> static V d1(operand<0, V> t, operand<1, V> x) { return math::sigmoid(x.v) - t.v; }
};
FB_CARD(bce_logits_terms)
struct bce_logits_weighted_terms : pointwise<bce_logits_weighted_terms> {
  static constexpr auto schema = "_bce_logits_weighted_terms(Tensor target, Tensor self, Tensor pos_weight) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  template <class V> static constexpr V fn(V t, V x, V p) { return (k<V>(1) - t) * x - ((p - k<V>(1)) * t + k<V>(1)) * math::log_sigmoid(x); }
  template <class V> static V d0(operand<1, V> x, operand<2, V> p) { return -x.v - (p.v - k<V>(1)) * loss_log_sigmoid(x.v); }
  template <class V> static V d1(operand<0, V> t, operand<1, V> x, operand<2, V> p) {
    return k<V>(1) - t.v - ((p.v - k<V>(1)) * t.v + k<V>(1)) * math::sigmoid(-x.v);
  }
  template <class V> static V d2(operand<0, V> t, operand<1, V> x) { return -(t.v * loss_log_sigmoid(x.v)); }
};
FB_CARD(bce_logits_weighted_terms)
struct bce_logits_slopes : pointwise<bce_logits_slopes> {
  static constexpr auto schema = "_bce_logits_slopes(Tensor grad_output, Tensor self, Tensor target, float scale) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  template <class V> static constexpr V fn(V g, V x, V t, V scale) { return (math::sigmoid(x) - t) * g * scale; }
  template <class V> static V d0(operand<1, V> x, operand<2, V> t, attr<0, V> scale) { return (math::sigmoid(x.v) - t.v) * scale.v; }
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
  template <class V> static constexpr V fn(V g, V x, V t, V scale) { return -(scale * t * math::sigmoid(-(t * x)) * g); }
  template <class V> static V d0(operand<1, V> x, operand<2, V> t, attr<0, V> scale) { return -(scale.v * t.v * math::sigmoid(-(t.v * x.v))); }
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
