// Negative log likelihood and cross entropy.
#pragma once
#include "dispatch/call.h"
#include "dispatch/card.h"
#include "dispatch/zero_slope.h"
#include "ops/loss/reduction.h"

namespace fb::cards {

namespace loss {

template <class T>
std::array<T, 2> nll_meta(const char* name, const T& x, const T& target, const T& weight, int64_t reduction, bool spatial) {
  if (!spatial) {
    FB_CHECK(x.ndim() == 1 || x.ndim() == 2, name, ": expected an input of 1 or 2 dimensions, got shape ", x.sizes());
    FB_CHECK(target.ndim() <= 1, name, ": expected a target of at most 1 dimension, got shape ", target.sizes());
    FB_CHECK((x.ndim() == 1 && target.ndim() == 0) || (x.ndim() == 2 && target.ndim() == 1 && x.sizes()[0] == target.sizes()[0]) || (x.ndim() == 1 && target.numel() == 1), name,
             ": batch sizes of input ", x.sizes(), " and target ", target.sizes(), " do not match");
  } else {
    FB_CHECK(x.ndim() == 4 && target.ndim() == 3, name, ": expected an input of 4 and a target of 3 dimensions, got shapes ", x.sizes(), " and ", target.sizes());
    FB_CHECK(x.sizes()[0] == target.sizes()[0] && x.sizes()[2] == target.sizes()[1] && x.sizes()[3] == target.sizes()[2], name, ": shapes of input ", x.sizes(), " and target ",
             target.sizes(), " do not match");
  }
  FB_CHECK(target.dtype() == DType::i64 || target.dtype() == DType::u8, name, ": expected a target of type int64 or uint8, got ", target.dtype());
  const auto classes = x.ndim() == 1 ? x.sizes()[0] : x.sizes()[1];
  FB_CHECK(!weight.defined() || (weight.ndim() == 1 && weight.numel() == classes), name, ": expected a weight of ", classes, " elements or none, got shape ",
           weight.defined() ? weight.sizes() : Span<typename T::Int>());
  FB_CHECK(!weight.defined() || weight.dtype() == x.dtype(), name, ": expected a weight of type ", x.dtype(), ", got ", weight.defined() ? weight.dtype() : x.dtype());
  const bool each = reduction == kNone && x.ndim() > 1;
  return {each ? T::empty(target.sizes(), x.options()) : T::empty({}, x.options()), T::empty({}, x.options())};
}

template <class T> void check_nll_backward(const char* name, const T& g, const T& x, const T& total, const T& result) {
  FB_CHECK(g.numel() == result.numel() && (g.ndim() == result.ndim() || result.ndim() == 0), name, ": grad_output has shape ", g.sizes(), ", the loss ", result.sizes());
  FB_CHECK(total.numel() == 1, name, ": total_weight holds one element, its shape is ", total.sizes());
  FB_CHECK(g.dtype() == x.dtype() && total.dtype() == x.dtype(), name, ": grad_output and total_weight have the input's type ", x.dtype(), ", they have ", g.dtype(), " and ",
           total.dtype());
}

}  // namespace loss

#define FB_NLL(NAME, BACK, SPATIAL, GRAD)                                                                                                          \
  struct BACK : structured<BACK, symbolic> {                                                                                                                \
    static constexpr auto schema =                                                                                                                \
        #BACK "(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int reduction, int ignore_index, Tensor total_weight) -> Tensor";  \
    static constexpr uint32_t forms = form::hidden;                                                                                               \
    template <class T>                                                                                                                            \
    static T meta(const T& g, const T& x, const T& target, const T& weight, int64_t reduction, int64_t, const T& total) {                         \
      loss::check_nll_backward(#BACK, g, x, total, loss::nll_meta(#BACK, x, target, weight, reduction, SPATIAL)[0]);                               \
      return T::empty(x.sizes(), x.options());                                                                                                    \
    }                                                                                                                                             \
    static Tensor d(grad<0> gg, in<2> target, in<3> weight, arg<4, int64_t> reduction, arg<5, int64_t> ignore, in<6> total) {                     \
      const Tensor r = ops<#NAME, 2>(*gg, *target, *weight, loss::kNone, *ignore)[0];                                                              \
      if (*reduction == loss::kNone) return r;                                                                                                    \
      const Tensor s = op<"sum">(r);                                                                                                              \
      return *reduction == loss::kMean ? op<"div.Tensor">(s, *total) : s;                                                                          \
    }                                                                                                                                             \
    using vjp = rules<wrt<0, d>, wrt_zero<1, zero_slope>>;                                                                                             \
  };                                                                                                                                              \
  FB_CARD(BACK)                                                                                                                                   \
  struct NAME : structured<NAME, symbolic> {                                                                                                                \
    static constexpr auto schema = #NAME "(Tensor self, Tensor target, Tensor? weight, int reduction, int ignore_index) -> (Tensor output, Tensor total_weight)"; \
    static constexpr uint32_t forms = form::hidden;                                                                                               \
    static constexpr auto grad_name = GRAD;                                                                                                       \
    template <class T> static std::array<T, 2> meta(const T& x, const T& target, const T& weight, int64_t reduction, int64_t) {                   \
      return loss::nll_meta(#NAME, x, target, weight, reduction, SPATIAL);                                                                        \
    }                                                                                                                                             \
    static Tensor d(grad<0> g, in<0> x, in<1> target, in<2> weight, arg<3, int64_t> reduction, arg<4, int64_t> ignore, result<1> total) {         \
      return op<#BACK>(*g, *x, *target, *weight, *reduction, *ignore, op<"detach">(*total));                                                       \
    }                                                                                                                                             \
    using vjp = rules<wrt<0, d>>;                                                                                                                 \
  };                                                                                                                                              \
  FB_CARD(NAME)
FB_NLL(nll_loss_forward, nll_loss_backward, false, "NllLossBackward0")
FB_NLL(nll_loss2d_forward, nll_loss2d_backward, true, "NllLoss2DBackward0")
#undef FB_NLL

struct nll_loss : composite<nll_loss> {
  static constexpr auto schema = "nll_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, int ignore_index=-100) -> Tensor";
  static constexpr uint32_t forms = form::nn;
  static Tensor body(const Tensor& x, const Tensor& t, const Tensor& w, int64_t reduction, int64_t ignore) { return ops<"nll_loss_forward", 2>(x, t, w, reduction, ignore)[0]; }
};
FB_CARD(nll_loss)
struct nll_loss2d : composite<nll_loss2d> {
  static constexpr auto schema = "nll_loss2d(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, int ignore_index=-100) -> Tensor";
  static constexpr uint32_t forms = form::nn;
  static Tensor body(const Tensor& x, const Tensor& t, const Tensor& w, int64_t reduction, int64_t ignore) { return ops<"nll_loss2d_forward", 2>(x, t, w, reduction, ignore)[0]; }
};
FB_CARD(nll_loss2d)
struct nll_loss_nd : composite<nll_loss_nd> {
  static constexpr auto schema = "nll_loss_nd(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, int ignore_index=-100) -> Tensor";
  static constexpr uint32_t forms = form::nn;
  static Tensor body(const Tensor& x, const Tensor& t, const Tensor& w, int64_t reduction, int64_t ignore);
};
FB_CARD(nll_loss_nd)
struct cross_entropy_loss : composite<cross_entropy_loss> {
  static constexpr auto schema =
      "cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, int ignore_index=-100, float label_smoothing=0.) -> Tensor";
  static constexpr uint32_t forms = form::nn;
  static Tensor body(const Tensor& x, const Tensor& t, const Tensor& w, int64_t reduction, int64_t ignore, double smoothing);
};
FB_CARD(cross_entropy_loss)

}  // namespace fb::cards
