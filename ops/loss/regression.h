// Losses of a distance between input and target: l1, mse, smooth_l1, huber; and of counts: poisson_nll.
#pragma once
#include <cmath>

#include "dispatch/card.h"
#include "dispatch/out_rule.h"
#include "ops/loss/reduction.h"

namespace fb::cards {

struct l1_loss : composite<l1_loss> {
  static constexpr auto schema = "l1_loss(Tensor self, Tensor target, int reduction=1) -> Tensor";
  static constexpr uint32_t forms = form::nn;
  static Tensor body(const Tensor& x, const Tensor& t, int64_t reduction) { return loss::reduce(op<"abs">(op<"sub">(x, t)), reduction); }
  static constexpr auto doc = R"(l1_loss(input, target, reduction=1) -> Tensor

|input - target|, both broadcast to one shape; reduction is 0 (none), 1 (mean) or 2 (sum).)";
};
FB_CARD(l1_loss)

struct mse_loss_backward : lowered<mse_loss_backward> {
  static constexpr auto schema = "mse_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  static constexpr auto grad_name = "MseLossBackwardBackward0";
  static Tensor lowering(const Tensor& g, const Tensor& x, const Tensor& t, int64_t reduction) {
    return op<"_mse_slopes">(g, x, t, loss::share(x, t, reduction));
  }
  static Tensor curvature(const Tensor& gg, const Tensor& g, const Tensor& x, const Tensor& t, int64_t reduction) {
    return op<"mul">(op<"mul">(gg, g), 2 * loss::share(x, t, reduction));
  }
  static Tensor d_grad(grad<0> gg, in<1> x, in<2> t, arg<3, int64_t> r) { return op<"mul">(*gg, op<"mul">(op<"sub">(*x, *t), 2 * loss::share(*x, *t, *r))); }
  static Tensor d_self(grad<0> gg, in<0> g, in<1> x, in<2> t, arg<3, int64_t> r) { return curvature(*gg, *g, *x, *t, *r); }
  static Tensor d_target(grad<0> gg, in<0> g, in<1> x, in<2> t, arg<3, int64_t> r) { return op<"neg">(curvature(*gg, *g, *x, *t, *r)); }
  using vjp = rules<wrt<0, d_grad>, wrt<1, d_self>, wrt<2, d_target>>;
};
FB_CARD(mse_loss_backward)
struct mse_loss : lowered<mse_loss> {
  static constexpr auto schema = "mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor";
  static constexpr uint32_t forms = form::nn | form::out | form::out_converts;
  static Tensor lowering(const Tensor& x, const Tensor& t, int64_t reduction) {
    loss::check_reduction("mse_loss", reduction);
    return loss::reduce(op<"_mse_terms">(x, t), reduction);
  }
  static Tensor d_self(grad<0> g, in<0> x, in<1> t, arg<2, int64_t> r) { return op<"mse_loss_backward">(*g, *x, *t, *r); }
  static Tensor d_target(grad<0> g, in<0> x, in<1> t, arg<2, int64_t> r) { return op<"mse_loss_backward">(*g, *t, *x, *r); }
  using vjp = rules<wrt<0, d_self>, wrt<1, d_target>>;
  static constexpr auto doc = R"(mse_loss(input, target, reduction=1) -> Tensor

(input - target)^2, both floating and broadcast to one shape; reduction is 0 (none), 1 (mean) or 2 (sum).)";
};
FB_CARD(mse_loss)

struct smooth_l1_loss_backward : lowered<smooth_l1_loss_backward> {
  static constexpr auto schema = "smooth_l1_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, float beta) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  static constexpr auto grad_name = "SmoothL1LossBackwardBackward0";
  static Tensor lowering(const Tensor& g, const Tensor& x, const Tensor& t, int64_t reduction, double beta) {
    return op<"_smooth_l1_slopes">(g, x, t, beta, loss::share(x, t, reduction));
  }
  static Tensor curvature(const Tensor& gg, const Tensor& g, const Tensor& x, const Tensor& t, int64_t reduction, double beta) {
    const Tensor c = op<"mul">(op<"mul">(gg, g), loss::share(x, t, reduction) / beta);
    return op<"where">(op<"lt">(op<"abs">(op<"sub">(x, t)), beta), c, op<"zeros_like">(c));
  }
  static Tensor d_grad(grad<0> gg, in<1> x, in<2> t, arg<3, int64_t> r, arg<4, double> beta) {
    return op<"smooth_l1_loss_backward">(*gg, *x, *t, *r, *beta);
  }
  static Tensor d_self(grad<0> gg, in<0> g, in<1> x, in<2> t, arg<3, int64_t> r, arg<4, double> beta) { return curvature(*gg, *g, *x, *t, *r, *beta); }
  static Tensor d_target(grad<0> gg, in<0> g, in<1> x, in<2> t, arg<3, int64_t> r, arg<4, double> beta) {
    return op<"neg">(curvature(*gg, *g, *x, *t, *r, *beta));
  }
  using vjp = rules<wrt<0, d_grad>, wrt<1, d_self>, wrt<2, d_target>>;
};
FB_CARD(smooth_l1_loss_backward)
struct smooth_l1_loss : lowered<smooth_l1_loss> {
  static constexpr auto schema = "smooth_l1_loss(Tensor self, Tensor target, int reduction=1, float beta=1.) -> Tensor";
  static constexpr uint32_t forms = form::nn | form::out | form::out_converts;
  static constexpr auto grad_name = "SmoothL1LossBackward0";
  static Tensor lowering(const Tensor& x, const Tensor& t, int64_t reduction, double beta) {
    loss::check_reduction("smooth_l1_loss", reduction);
    FB_CHECK(beta >= 0, "smooth_l1_loss: beta must not be negative, ", beta, " was given");
    return loss::reduce(op<"_smooth_l1_terms">(x, t, beta), reduction);
  }
  static Tensor d_self(grad<0> g, in<0> x, in<1> t, arg<2, int64_t> r, arg<3, double> beta) { return op<"smooth_l1_loss_backward">(*g, *x, *t, *r, *beta); }
  static Tensor d_target(grad<0> g, in<0> x, in<1> t, arg<2, int64_t> r, arg<3, double> beta) { return op<"smooth_l1_loss_backward">(*g, *t, *x, *r, *beta); }
  using vjp = rules<wrt<0, d_self>, wrt<1, d_target>>;
  static constexpr auto doc = R"(smooth_l1_loss(input, target, reduction=1, beta=1.0) -> Tensor

0.5 d^2 / beta where d = |input - target| is below beta, d - 0.5 beta elsewhere (Girshick 2015); both floating and broadcast
to one shape. beta must be at least 0; 0 gives |input - target|.)";
};
FB_CARD(smooth_l1_loss)

struct huber_loss_backward : lowered<huber_loss_backward> {
  static constexpr auto schema = "huber_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, float delta) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  static constexpr auto grad_name = "HuberLossBackwardBackward0";
  static Tensor lowering(const Tensor& g, const Tensor& x, const Tensor& t, int64_t reduction, double delta) {
    return op<"_huber_slopes">(g, x, t, delta, loss::share(x, t, reduction));
  }
  static Tensor curvature(const Tensor& gg, const Tensor& g, const Tensor& x, const Tensor& t, int64_t reduction, double delta) {
    const Tensor c = op<"mul">(op<"mul">(gg, g), loss::share(x, t, reduction));
    return op<"where">(op<"lt">(op<"abs">(op<"sub">(x, t)), delta), c, op<"zeros_like">(c));
  }
  static Tensor d_grad(grad<0> gg, in<1> x, in<2> t, arg<3, int64_t> r, arg<4, double> delta) {
    return op<"huber_loss_backward">(*gg, *x, *t, *r, *delta);
  }
  static Tensor d_self(grad<0> gg, in<0> g, in<1> x, in<2> t, arg<3, int64_t> r, arg<4, double> delta) { return curvature(*gg, *g, *x, *t, *r, *delta); }
  static Tensor d_target(grad<0> gg, in<0> g, in<1> x, in<2> t, arg<3, int64_t> r, arg<4, double> delta) {
    return op<"neg">(curvature(*gg, *g, *x, *t, *r, *delta));
  }
  using vjp = rules<wrt<0, d_grad>, wrt<1, d_self>, wrt<2, d_target>>;
};
FB_CARD(huber_loss_backward)
struct huber_loss : lowered<huber_loss> {
  static constexpr auto schema = "huber_loss(Tensor self, Tensor target, int reduction=1, float delta=1.) -> Tensor";
  static constexpr uint32_t forms = form::nn | form::out | form::out_converts;
  static Tensor lowering(const Tensor& x, const Tensor& t, int64_t reduction, double delta) {
    FB_CHECK(delta > 0, "huber_loss: delta must be positive, ", delta, " was given");
    Tensor terms = op<"_huber_terms">(x, t, delta);
    loss::check_kept("huber_loss", terms.dtype(), x.dtype());
    if (terms.dtype() != x.dtype()) terms = op<"to">(terms, x.dtype());
    return loss::reduce(terms, reduction);
  }
  static Tensor d_self(grad<0> g, in<0> x, in<1> t, arg<2, int64_t> r, arg<3, double> delta) { return op<"huber_loss_backward">(*g, *x, *t, *r, *delta); }
  static Tensor d_target(grad<0> g, in<0> x, in<1> t, arg<2, int64_t> r, arg<3, double> delta) { return op<"huber_loss_backward">(*g, *t, *x, *r, *delta); }
  using vjp = rules<wrt<0, d_self>, wrt<1, d_target>>;
  static constexpr auto doc = R"(huber_loss(input, target, reduction=1, delta=1.0) -> Tensor

0.5 d^2 where d = |input - target| is at most delta, delta (d - 0.5 delta) elsewhere (Huber 1964), in input's type; both
floating and broadcast to one shape. delta must be positive.)";
};
FB_CARD(huber_loss)

struct poisson_nll_loss : composite<poisson_nll_loss> {
  static constexpr auto schema = "poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction) -> Tensor";
  static constexpr uint32_t forms = form::fn;
  static Tensor body(const Tensor& x, const Tensor& t, bool log_input, bool full, double eps, int64_t reduction) {
    Tensor l = log_input ? op<"sub">(op<"exp">(x), op<"mul">(t, x)) : op<"sub">(x, op<"mul">(t, op<"log">(op<"add">(x, eps))));
    if (full) {
      // Stirling's approximation, for counts above 1; others are kept away from the logarithms.
      const Tensor large = op<"gt">(t, 1.0), safe = op<"where">(large, t, op<"ones_like">(t));
      const Tensor s = op<"add">(op<"sub">(op<"mul">(safe, op<"log">(safe)), safe), op<"mul">(op<"log">(op<"mul">(safe, 2 * M_PI)), 0.5));
      const Tensor sum = op<"add">(l, op<"where">(large, s, op<"zeros_like">(s)));
      l = sum.dtype() == l.dtype() ? sum : op<"to">(sum, l.dtype());  // counts of integers leave a half type as it is
    }
    return loss::reduce(l, reduction);
  }
  static constexpr auto doc = R"(poisson_nll_loss(input, target, log_input, full, eps, reduction) -> Tensor

exp(input) - target * input where log_input, else input - target * log(input + eps); full adds
target * log(target) - target + 0.5 log(2 pi target) where target > 1.)";
};
FB_CARD(poisson_nll_loss)

}  // namespace fb::cards
