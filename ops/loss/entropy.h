// Losses of probabilities: binary_cross_entropy, from probabilities or logits, and kl_div.
#pragma once
#include "dispatch/card.h"
#include "dispatch/levels.h"
#include "dispatch/thread_state.h"
#include "dispatch/trace.h"
#include "ops/loss/reduction.h"

namespace fb::cards {


namespace loss {
inline Tensor weighted(const Tensor& t, const Tensor& weight) { return weight.defined() ? op<"mul">(t, weight) : t; }
// Multiplies and keeps shape and type of the first.
inline Tensor weighted_as_is(const char* name, const Tensor& t, const Tensor& weight) {
  if (!weight.defined()) return t;
  FB_CHECK(broadcast_sizes(t.sizes(), weight.sizes()) == t.sizes(), name, ": a weight of shape ", weight.sizes(), " does not fit a loss of shape ", t.sizes());
  const Tensor r = op<"mul">(t, weight);
  check_kept(name, r.dtype(), t.dtype());
  return r.dtype() == t.dtype() ? r : op<"to">(r, t.dtype());
}
// g for each element of the mean over n, g itself otherwise.
inline Tensor shared(const Tensor& t, int64_t reduction, int64_t n) { return reduction == kMean ? op<"div">(t, double(n)) : t; }
}  // namespace loss

struct binary_cross_entropy_backward : lowered<binary_cross_entropy_backward> {
  static constexpr auto schema = "binary_cross_entropy_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight=None, int reduction=1) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  static constexpr auto grad_name = "BinaryCrossEntropyBackwardBackward0";
  static Tensor lowering(const Tensor& g, const Tensor& x, const Tensor& t, const Tensor& w, int64_t reduction) {
    return loss::weighted_as_is("binary_cross_entropy_backward", op<"_bce_slopes">(g, x, t, loss::share(x, t, reduction)), w);
  }
  static Tensor slope(const Tensor& x, const Tensor& t) {
    return op<"div">(op<"sub">(x, t), op<"clamp_min">(op<"mul">(op<"rsub">(x, 1.0), x), 1e-12));
  }
  static Tensor d_grad(grad<0> gg, in<1> x, in<2> t, in<3> w, arg<4, int64_t> r) {
    return loss::weighted(op<"mul">(*gg, op<"mul">(slope(*x, *t), loss::share(*x, *t, *r))), *w);
  }
  static Tensor d_self(grad<0> gg, in<0> g, in<1> x, in<2> t, in<3> w, arg<4, int64_t> r) {
    // of (x - t) / (x - x^2): (x^2 - 2 x t + t) / (x - x^2)^2
    const Tensor q = op<"clamp_min">(op<"mul">(op<"rsub">(*x, 1.0), *x), 1e-12);
    const Tensor top = op<"add">(op<"mul">(*x, op<"sub">(*x, op<"mul">(*t, 2.0))), *t);
    return loss::weighted(op<"mul">(op<"mul">(*gg, *g), op<"mul">(op<"div">(op<"div">(top, q), q), loss::share(*x, *t, *r))), *w);
  }
  static Tensor d_target(grad<0> gg, in<0> g, in<1> x, in<2> t, in<3> w, arg<4, int64_t> r) {
    const Tensor q = op<"clamp_min">(op<"mul">(op<"rsub">(*x, 1.0), *x), 1e-12);
    return loss::weighted(op<"mul">(op<"div">(op<"mul">(*gg, *g), q), -loss::share(*x, *t, *r)), *w);
  }
  using vjp = rules<wrt<0, d_grad>, wrt<1, d_self>, wrt<2, d_target>>;
};
FB_CARD(binary_cross_entropy_backward)
struct binary_cross_entropy : lowered<binary_cross_entropy> {
  static constexpr auto schema = "binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=1) -> Tensor";
  static constexpr uint32_t forms = form::nn | form::out;
  static Tensor lowering(const Tensor& x, const Tensor& t, const Tensor& w, int64_t reduction) {
    if (x.dtype() == t.dtype() && !x.is_floating()) raise_not_implemented("binary_cross_entropy is not implemented for type ", x.dtype());
    FB_CHECK(x.dtype() == t.dtype(), "binary_cross_entropy: input is ", x.dtype(), " and target ", t.dtype(), "; both must have one type");
    const Tensor terms = op<"_bce_terms">(x, t);
    FB_CHECK(terms.sizes() == x.sizes(), "binary_cross_entropy: a target of shape ", t.sizes(), " does not fit an input of shape ", x.sizes());
    check_range(x, t, terms);
    return loss::reduce(loss::weighted_as_is("binary_cross_entropy", terms, w), reduction);
  }
  // An element outside [0, 1], and only such a one, makes the sum of the terms NaN.
  static void check_range(const Tensor& x, const Tensor& t, const Tensor& terms) {
    if (x->flags & kTraced) raise_not_implemented("binary_cross_entropy: whether elements lie between 0 and 1 cannot be followed without them");
    if (x.is_meta() || x.numel() == 0) return;
    const Tensor sum = op<"sum">(terms);
    if (!holds(op<"isnan">(sum))) return;
    auto in_range = [](const Tensor& v) { return !holds(op<"any">(op<"logical_not">(op<"logical_and">(op<"ge">(v, 0.0), op<"le">(v, 1.0))))); };
    FB_CHECK(in_range(x), "binary_cross_entropy: the input must lie between 0 and 1, and does not everywhere; its shape is ", x.sizes());
    FB_CHECK(in_range(t), "binary_cross_entropy: the target must lie between 0 and 1, and does not everywhere; its shape is ", t.sizes());
  }
  static Tensor d_self(grad<0> g, in<0> x, in<1> t, in<2> w, arg<3, int64_t> r) { return op<"binary_cross_entropy_backward">(*g, *x, *t, *w, *r); }
  static Tensor d_target(grad<0> g, in<0> x, in<1> t, in<2> w, arg<3, int64_t> r) {
    const Tensor odds = op<"sub">(op<"clamp_min">(op<"log1p">(op<"neg">(*x)), -100.0), op<"clamp_min">(op<"log">(*x), -100.0));
    return loss::shared(loss::weighted(op<"mul">(*g, odds), *w), *r, numel_of(broadcast_sizes(x->sizes(), t->sizes())));
  }
  using vjp = rules<wrt<0, d_self>, wrt<1, d_target>, wrt<2, loss::no_rule<"binary_cross_entropy in weight">>>;
  static constexpr auto doc = R"(binary_cross_entropy(input, target, weight=None, reduction=1) -> Tensor

-(target * log(input) + (1 - target) * log(1 - input)), logarithms held above -100, times weight where given. input, of
probabilities between 0 and 1, and target have one floating type; target and weight broadcast to input's shape.)";
};
FB_CARD(binary_cross_entropy)

struct binary_cross_entropy_with_logits : lowered<binary_cross_entropy_with_logits> {
  static constexpr auto schema =
      "binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, int reduction=1) -> Tensor";
  static constexpr uint32_t forms = form::fn;
  static Tensor lowering(const Tensor& x, const Tensor& t, const Tensor& w, const Tensor& pos, int64_t reduction) {
    constexpr auto name = "binary_cross_entropy_with_logits";
    if (!x.is_floating()) raise_not_implemented(name, " is not implemented for type ", x.dtype());
    Tensor l = pos.defined() ? op<"_bce_logits_weighted_terms">(t, x, pos) : op<"_bce_logits_terms">(t, x);
    FB_CHECK(l.sizes() == t.sizes(), name, ": an input of shape ", x.sizes(), " does not fit a target of shape ", t.sizes());
    loss::check_kept(name, l.dtype(), t.dtype());
    if (l.dtype() != t.dtype()) l = op<"to">(l, t.dtype());
    return loss::reduce(loss::weighted_as_is(name, l, w), reduction);
  }
  static Tensor d_self(grad<0> g, in<0> x, in<1> t, in<2> w, in<3> pos, arg<4, int64_t> r) {
    if (!tls.grad_enabled && !w->defined() && !pos->defined()) return op<"_bce_logits_slopes">(*g, *x, *t, loss::share(*x, *t, *r));
    Tensor s = op<"sigmoid">(*x);
    if (pos->defined()) {
      const Tensor p = op<"mul">(*pos, *t);
      s = op<"sub">(op<"mul">(op<"sub">(op<"add">(p, 1.0), *t), s), p);
    } else {
      s = op<"sub">(s, *t);
    }
    return loss::shared(loss::weighted(op<"mul">(s, *g), *w), *r, numel_of(broadcast_sizes(x->sizes(), t->sizes())));
  }
  static Tensor d_target(grad<0> g, in<0> x, in<1> t, in<2> w, in<3> pos, arg<4, int64_t> r) {
    Tensor s = op<"neg">(*x);
    if (pos->defined()) s = op<"sub">(s, op<"mul">(op<"sub">(*pos, 1.0), op<"log_sigmoid">(*x)));
    return loss::shared(loss::weighted(op<"mul">(s, *g), *w), *r, numel_of(broadcast_sizes(x->sizes(), t->sizes())));
  }
  using vjp = rules<wrt<0, d_self>, wrt<1, d_target>, wrt<2, loss::no_rule<"binary_cross_entropy_with_logits in weight">>,
                    wrt<3, loss::no_rule<"binary_cross_entropy_with_logits in pos_weight">>>;
  static constexpr auto doc = R"(binary_cross_entropy_with_logits(input, target, weight=None, pos_weight=None, reduction=1) -> Tensor

binary_cross_entropy of sigmoid(input), computed from log(sigmoid(input)) so that no logit is too large. pos_weight
multiplies the terms of target 1, weight whole terms. The loss has target's type and shape.)";
};
FB_CARD(binary_cross_entropy_with_logits)

struct kl_div : composite<kl_div> {
  static constexpr auto schema = "kl_div(Tensor self, Tensor target, int reduction=1, *, bool log_target=False) -> Tensor";
  static constexpr uint32_t forms = form::fn;
  static Tensor body(const Tensor& x, const Tensor& t, int64_t reduction, bool log_target) {
    FB_CHECK(x.is_floating() && t.is_floating(), "kl_div: input and target must be floating, their types are ", x.dtype(), " and ", t.dtype());
    const Tensor l = log_target ? op<"mul">(op<"exp">(t), op<"sub">(t, x)) : op<"sub">(op<"xlogy">(t, t), op<"mul">(t, x));
    return loss::reduce(l, reduction);
  }
  static constexpr auto doc = R"(kl_div(input, target, reduction=1, *, log_target=False) -> Tensor

target * (log(target) - input), 0 where target is 0; exp(target) * (target - input) where log_target. Both floating and
broadcast to one shape.)";
};
FB_CARD(kl_div)

}  // namespace fb::cards
