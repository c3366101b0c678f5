// Losses with a margin: soft_margin, margin_ranking, hinge_embedding, cosine_embedding, triplet_margin, multi_margin and
// multilabel_margin.
#pragma once
#include "dispatch/card.h"
#include "ops/loss/reduction.h"

namespace fb::cards {

struct soft_margin_loss_backward : lowered<soft_margin_loss_backward> {
  static constexpr auto schema = "soft_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  static constexpr auto grad_name = "SoftMarginLossBackwardBackward0";
  static Tensor slope(const Tensor& x, const Tensor& t) { return op<"neg">(op<"mul">(t, op<"sigmoid">(op<"neg">(op<"mul">(t, x))))); }
  static Tensor lowering(const Tensor& g, const Tensor& x, const Tensor& t, int64_t reduction) {
    if (x.is_complex() || t.is_complex()) return op<"mul">(g, op<"mul">(op<"conj_physical">(slope(x, t)), loss::share(x, t, reduction)));
    return op<"_soft_margin_slopes">(g, x, t, loss::share(x, t, reduction));
  }
  static Tensor d_grad(grad<0> gg, in<1> x, in<2> t, arg<3, int64_t> r) { return op<"soft_margin_loss_backward">(*gg, *x, *t, *r); }
  static Tensor d_self(grad<0> gg, in<0> g, in<1> x, in<2> t, arg<3, int64_t> r) {
    const Tensor s = op<"sigmoid">(op<"mul">(*t, *x));
    return op<"mul">(op<"mul">(*gg, *g), op<"mul">(op<"mul">(op<"mul">(*t, *t), op<"mul">(s, op<"rsub">(s, 1.0))), loss::share(*x, *t, *r)));
  }
  using vjp = rules<wrt<0, d_grad>, wrt<1, d_self>>;
};
FB_CARD(soft_margin_loss_backward)
struct soft_margin_loss : lowered<soft_margin_loss> {
  static constexpr auto schema = "soft_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor";
  static constexpr uint32_t forms = form::nn | form::out;
  static Tensor lowering(const Tensor& x, const Tensor& t, int64_t reduction) {
    Tensor l = op<"log1p">(op<"exp">(op<"mul">(op<"neg">(t), x)));
    FB_CHECK(l.sizes() == x.sizes(), "soft_margin_loss: a target of shape ", t.sizes(), " does not fit an input of shape ", x.sizes());
    loss::check_kept("soft_margin_loss", l.dtype(), x.dtype());
    if (l.dtype() != x.dtype()) l = op<"to">(l, x.dtype());
    return loss::reduce(l, reduction);
  }
  static Tensor d_self(grad<0> g, in<0> x, in<1> t, arg<2, int64_t> r) { return op<"soft_margin_loss_backward">(*g, *x, *t, *r); }
  using vjp = rules<wrt<0, d_self>, wrt<1, loss::no_rule<"soft_margin_loss in target">>>;
  static constexpr auto doc = R"(soft_margin_loss(input, target, reduction=1) -> Tensor

log(1 + exp(-target * input)), target of 1 and -1, broadcast to input's shape. There is no gradient for target.)";
};
FB_CARD(soft_margin_loss)

struct margin_ranking_loss : composite<margin_ranking_loss> {
  static constexpr auto schema = "margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) -> Tensor";
  static constexpr uint32_t forms = form::fn;
  static Tensor body(const Tensor& a, const Tensor& b, const Tensor& t, double margin, int64_t reduction) {
    FB_CHECK(a.ndim() == b.ndim() && a.ndim() == t.ndim(), "margin_ranking_loss: input1, input2 and target must have equally many dimensions, their shapes are ",
             a.sizes(), ", ", b.sizes(), " and ", t.sizes());
    return loss::reduce(op<"clamp_min">(op<"add">(op<"mul">(op<"neg">(t), op<"sub">(a, b)), margin), int64_t(0)), reduction);
  }
  static constexpr auto doc = R"(margin_ranking_loss(input1, input2, target, margin=0.0, reduction=1) -> Tensor

max(0, -target * (input1 - input2) + margin), target of 1 and -1.)";
};
FB_CARD(margin_ranking_loss)

struct hinge_embedding_loss : composite<hinge_embedding_loss> {
  static constexpr auto schema = "hinge_embedding_loss(Tensor self, Tensor target, float margin=1., int reduction=1) -> Tensor";
  static constexpr uint32_t forms = form::fn;
  static Tensor body(const Tensor& x, const Tensor& t, double margin, int64_t reduction) {
    const Tensor zero = op<"zeros_like">(x);
    const Tensor far = op<"clamp_min">(op<"sub">(op<"full_like">(x, margin), x), int64_t(0));
    const Tensor apart = op<"where">(op<"ne">(t, int64_t(1)), far, zero), together = op<"where">(op<"ne">(t, int64_t(-1)), x, zero);
    return loss::reduce(op<"add">(apart, together), reduction);
  }
  static constexpr auto doc = R"(hinge_embedding_loss(input, target, margin=1.0, reduction=1) -> Tensor

input where target is 1, max(0, margin - input) where it is -1.)";
};
FB_CARD(hinge_embedding_loss)

struct cosine_embedding_loss : composite<cosine_embedding_loss> {
  static constexpr auto schema = "cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) -> Tensor";
  static constexpr uint32_t forms = form::fn;
  static Tensor body(const Tensor& a, const Tensor& b, const Tensor& t, double margin, int64_t reduction) {
    FB_CHECK(t.ndim() <= 1 && a.ndim() == t.ndim() + 1 && b.ndim() == a.ndim(),
             "cosine_embedding_loss: takes inputs of 2 dimensions and a target of 1, or of 1 and a target of 0; the shapes are ", a.sizes(), ", ", b.sizes(), " and ", t.sizes());
    constexpr double eps = 1e-12;
    const Dims along{t.ndim()};
    auto square = [&](const Tensor& x) { return op<"add">(op<"sum">(op<"mul">(x, x), along), eps); };
    const Tensor cos = op<"div">(op<"sum">(op<"mul">(a, b), along), op<"sqrt">(op<"mul">(square(a), square(b))));
    const Tensor zero = op<"zeros_like">(cos);
    const Tensor near = op<"sub">(op<"ones_like">(cos), cos), far = op<"clamp_min">(op<"sub">(cos, margin), int64_t(0));
    return loss::reduce(op<"add">(op<"where">(op<"eq">(t, int64_t(1)), near, zero), op<"where">(op<"eq">(t, int64_t(-1)), far, zero)), reduction);
  }
  static constexpr auto doc = R"(cosine_embedding_loss(input1, input2, target, margin=0.0, reduction=1) -> Tensor

1 - cos(input1, input2) where target is 1, max(0, cos - margin) where it is -1: (N, D), (N, D), (N) or (D), (D), ().)";
};
FB_CARD(cosine_embedding_loss)

struct triplet_margin_loss : composite<triplet_margin_loss> {
  static constexpr auto schema =
      "triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1., float p=2., float eps=9.9999999999999995e-07, "
      "bool swap=False, int reduction=1) -> Tensor";
  static constexpr uint32_t forms = form::fn;
  static Tensor body(const Tensor& a, const Tensor& pos, const Tensor& neg, double margin, double p, double eps, bool swap, int64_t reduction) {
    FB_CHECK(a.ndim() == pos.ndim() && pos.ndim() == neg.ndim(), "triplet_margin_loss: anchor, positive and negative must have equally many dimensions, their shapes are ",
             a.sizes(), ", ", pos.sizes(), " and ", neg.sizes());
    const Tensor near = op<"pairwise_distance">(a, pos, p, eps);
    Tensor far = op<"pairwise_distance">(a, neg, p, eps);
    if (swap) far = op<"minimum">(far, op<"pairwise_distance">(pos, neg, p, eps));
    return loss::reduce(op<"clamp_min">(op<"sub">(op<"add">(near, margin), far), int64_t(0)), reduction);
  }
  static constexpr auto doc = R"(triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False, reduction=1) -> Tensor

max(0, d(anchor, positive) - d(anchor, negative) + margin), d the pairwise_distance of order p; swap takes
d(positive, negative) where that is less (Balntas et al. 2016).)";
};
FB_CARD(triplet_margin_loss)

namespace loss {
// (samples, classes) of an input (N, C), (C) or (), whose target has one number a sample.
inline std::array<int64_t, 2> rows_of(const char* name, Ints x) {
  FB_CHECK(x.size() <= 2, name, ": the input has at most 2 dimensions, its shape is ", x);
  const std::array<int64_t, 2> r = x.size() == 2 ? std::array<int64_t, 2>{x[0], x[1]} : std::array<int64_t, 2>{1, x.size() == 1 ? x[0] : 1};
  FB_CHECK(r[1] > 0, name, ": the input of shape ", x, " has no classes");
  return r;
}
template <class T> void check_margin_types(const char* name, const T& x, const T& target) {
  if (x.dtype() != DType::f32 && x.dtype() != DType::f64) raise_not_implemented(name, " is not implemented for type ", x.dtype());
  FB_CHECK(target.dtype() == DType::i64, name, ": the target holds class numbers of type int64, ", target.dtype(), " was given");
}
template <class T> void check_multi_margin(const T& x, const T& target, Scalar p, const T& weight) {
  const auto [n, c] = rows_of("multi_margin_loss", x.sizes());
  FB_CHECK(p.to_double() == 1 || p.to_double() == 2, "multi_margin_loss: p must be 1 or 2, ", p, " was given");
  FB_CHECK(target.ndim() <= 1 && target.numel() == n, "multi_margin_loss: an input of shape ", x.sizes(), " needs a target of shape (", n, ",), its shape is ", target.sizes());
  check_margin_types("multi_margin_loss", x, target);
  if (weight.defined()) {
    FB_CHECK(weight.ndim() <= 1 && weight.numel() == c, "multi_margin_loss: the weight must have shape (", c, ",), its shape is ", weight.sizes());
    FB_CHECK(weight.dtype() == x.dtype(), "multi_margin_loss: the weight is ", weight.dtype(), ", the input ", x.dtype());
  }
}
template <class T> void check_multilabel(const T& x, const T& target) {
  rows_of("multilabel_margin_loss", x.sizes());
  FB_CHECK(x.sizes() == target.sizes() || (x.ndim() <= 1 && target.ndim() <= 1 && x.numel() == target.numel()),
           "multilabel_margin_loss: input and target must have one shape, theirs are ", x.sizes(), " and ", target.sizes());
  check_margin_types("multilabel_margin_loss", x, target);
}
}  // namespace loss

struct multi_margin_loss_backward : structured<multi_margin_loss_backward> {
  static constexpr auto schema =
      "multi_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, Scalar p, Scalar margin, Tensor? weight=None, int reduction=1) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  template <class T> static T meta(const T&, const T& x, const T& target, Scalar p, Scalar, const T& weight, int64_t) {
    loss::check_multi_margin(x, target, p, weight);
    return T::empty(x.sizes(), x.options());
  }
  using vjp = rules<wrt<0, loss::no_rule<"multi_margin_loss_backward">>, wrt<1, loss::no_rule<"multi_margin_loss_backward">>>;
};
FB_CARD(multi_margin_loss_backward)
struct multi_margin_loss : structured<multi_margin_loss> {
  static constexpr auto schema = "multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? weight=None, int reduction=1) -> Tensor";
  static constexpr uint32_t forms = form::nn | form::out;
  template <class T> static T meta(const T& x, const T& target, Scalar p, Scalar, const T& weight, int64_t reduction) {
    loss::check_multi_margin(x, target, p, weight);
    return reduction == loss::kNone && target.ndim() > 0 ? T::empty(target.sizes(), x.options()) : T::empty({}, x.options());
  }
  static Tensor d_self(grad<0> g, in<0> x, in<1> t, arg<2, Scalar> p, arg<3, Scalar> margin, in<4> w, arg<5, int64_t> r) {
    return op<"multi_margin_loss_backward">(*g, *x, *t, *p, *margin, *w, *r);
  }
  using vjp = rules<wrt<0, d_self>, wrt<4, loss::no_rule<"multi_margin_loss in weight">>>;
  static constexpr auto doc = R"(multi_margin_loss(input, target, p=1, margin=1.0, weight=None, reduction=1) -> Tensor

The sum over i != target of weight[target] * max(0, margin - input[target] + input[i])^p, divided by the number of classes:
input (N, C) or (C) of float32 or float64, target (N) or () of int64, weight (C); p is 1 or 2.)";
};
FB_CARD(multi_margin_loss)

struct multilabel_margin_loss_backward : structured<multilabel_margin_loss_backward> {
  static constexpr auto schema = "multilabel_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, Tensor is_target) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  template <class T> static T meta(const T&, const T& x, const T& target, int64_t, const T&) {
    loss::check_multilabel(x, target);
    return T::empty(x.sizes(), x.options());
  }
  using vjp = rules<wrt<0, loss::no_rule<"multilabel_margin_loss_backward">>, wrt<1, loss::no_rule<"multilabel_margin_loss_backward">>>;
};
FB_CARD(multilabel_margin_loss_backward)
struct multilabel_margin_loss_forward : structured<multilabel_margin_loss_forward> {
  static constexpr auto schema = "multilabel_margin_loss_forward(Tensor self, Tensor target, int reduction) -> (Tensor output, Tensor is_target)";
  static constexpr uint32_t forms = form::hidden;
  static constexpr auto grad_name = "MultilabelMarginLossBackward0";
  template <class T> static std::array<T, 2> meta(const T& x, const T& target, int64_t reduction) {
    loss::check_multilabel(x, target);
    const bool each = reduction == loss::kNone && x.ndim() == 2;
    return {each ? T::empty(x.sizes().slice(0, 1), x.options()) : T::empty({}, x.options()), T::empty(target.sizes(), x.options())};
  }
  static Tensor d_self(grad<0> g, in<0> x, in<1> t, arg<2, int64_t> r, result<1> is_target) {
    return op<"multilabel_margin_loss_backward">(*g, *x, *t, *r, op<"detach">(*is_target));
  }
  using vjp = rules<wrt<0, d_self>>;
};
FB_CARD(multilabel_margin_loss_forward)
struct multilabel_margin_loss : composite<multilabel_margin_loss> {
  static constexpr auto schema = "multilabel_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor";
  static constexpr uint32_t forms = form::nn | form::out;
  static Tensor body(const Tensor& x, const Tensor& t, int64_t reduction) { return ops<"multilabel_margin_loss_forward", 2>(x, t, reduction)[0]; }
  static constexpr auto doc = R"(multilabel_margin_loss(input, target, reduction=1) -> Tensor

The sum over targets j and classes i that are no target of max(0, 1 - input[j] + input[i]), divided by the number of
classes: input of float32 or float64 and target of int64 both (N, C) or (C); a row's targets end at its first -1.)";
};
FB_CARD(multilabel_margin_loss)

}  // namespace fb::cards
