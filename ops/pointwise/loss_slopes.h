// The derivatives of the elements of losses in the input x, times the incoming gradient g and `scale`, the share of an
// element in the reduction: each formula once, for the cards that compute it (`_mse_slopes` ...) and for the derivatives of
// terms and of slopes. A curvature is the derivative of a slope in x.
#pragma once
#include "ops/math/math.h"

namespace fb::cards::loss {

template <class V> V mse_slope(V g, V x, V t, V scale) { return k<V>(2) * scale * (x - t) * g; }
template <class V> V mse_curvature(V g, V scale) { return k<V>(2) * scale * g; }

// Quadratic within beta of 0. A beta of 0 leaves |x - t|, whose slope at 0 is taken for -1. NaN stays.
template <class V> V smooth_l1_slope(V g, V x, V t, V beta, V scale) {
  const V d = x - t;
  return select(d <= -beta, -(scale * g), select(d >= beta, scale * g, scale * d * g / beta));
}
template <class V> V smooth_l1_curvature(V g, V x, V t, V beta, V scale) {
  return select(abs(x - t) < beta, scale * g / beta, k<V>(0));
}

template <class V> V huber_slope(V g, V x, V t, V delta, V scale) {
  const V d = x - t;
  return select(d <= -delta, -(scale * g * delta), select(d >= delta, scale * g * delta, scale * d * g));
}
template <class V> V huber_curvature(V g, V x, V t, V delta, V scale) { return select(abs(x - t) < delta, scale * g, k<V>(0)); }

// Of the binary cross entropy of probabilities: x (1 - x), held away from 0, is what the slope is over.
template <class V> V bce_width(V x) { return math::maximum((k<V>(1) - x) * x, k<V>(1e-12)); }
template <class V> V bce_slope(V g, V x, V t, V scale) { return scale * g * (x - t) / bce_width(x); }
template <class V> V bce_curvature(V g, V x, V t, V scale) {  // of (x - t) / (x - x^2): (x^2 - 2 x t + t) / (x - x^2)^2
  const V q = bce_width(x);
  return scale * g * ((x * (x - k<V>(2) * t) + t) / q / q);
}

// Of logits.
template <class V> V bce_logits_slope(V g, V x, V t, V scale) { return (math::sigmoid(x) - t) * g * scale; }

template <class V> V soft_margin_slope(V g, V x, V t, V scale) { return -(scale * t * math::sigmoid(-(t * x)) * g); }

}  // namespace fb::cards::loss
