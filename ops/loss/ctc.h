// Connectionist temporal classification (Graves, Fernandez, Gomez, Schmidhuber 2006).
#pragma once
#include "dispatch/call.h"
#include "dispatch/card.h"
#include "ops/loss/reduction.h"

namespace fb::cards {

namespace ctc {
// Lengths given as a tensor of integers.
Dims lengths_of(const char* what, const Tensor& lengths);
inline void check_sizes(const Tensor& log_probs, Ints inputs, Ints targets) {
  if (log_probs.dtype() != DType::f32 && log_probs.dtype() != DType::f64) raise_not_implemented("ctc_loss is not implemented for type ", log_probs.dtype());
  FB_CHECK(log_probs.ndim() == 3, "ctc_loss: log_probs have dimensions (steps, batch, classes), their shape is ", log_probs.sizes());
  const int64_t n = log_probs.sizes()[1];
  FB_CHECK(n > 0, "ctc_loss: the batch is empty, the shape of log_probs is ", log_probs.sizes());
  FB_CHECK(inputs.size() == n && targets.size() == n, "ctc_loss: input_lengths and target_lengths must have ", n, " entries, they have ", inputs.size(), " and ", targets.size());
}
Tensor loss(const Tensor& log_probs, const Tensor& targets, Ints input_lengths, Ints target_lengths, int64_t blank, int64_t reduction, bool zero_infinity);
}  // namespace ctc

struct ctc_loss_primitive : direct<ctc_loss_primitive> {
  static constexpr auto schema =
      "_ctc_loss(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank=0, bool zero_infinity=False) -> (Tensor, Tensor)";
  static constexpr uint32_t forms = form::fn;
  static constexpr auto grad_name = "CtcLossBackward0";
  static std::array<Tensor, 2> check(const Tensor& log_probs, const Tensor&, Ints input_lengths, Ints target_lengths, int64_t, bool) {
    if (!log_probs.is_meta()) return {};
    ctc::check_sizes(log_probs, input_lengths, target_lengths);
    int64_t longest = 0;
    for (int64_t n : target_lengths) longest = std::max(longest, n);
    const int64_t steps = log_probs.sizes()[0], n = log_probs.sizes()[1];
    return {Tensor::empty({n}, log_probs.options()), Tensor::empty({n, steps, 2 * longest + 1}, log_probs.options())};
  }
  static Tensor d_log_probs(grad<0> g, in<0> log_probs, in<1> targets, arg<2, Ints> input_lengths, arg<3, Ints> target_lengths, arg<4, int64_t> blank, arg<5, bool> zero_infinity,
                            result<0> nll, result<1> log_alpha) {
    return op<"_ctc_loss_backward">(*g, *log_probs, *targets, *input_lengths, *target_lengths, op<"detach">(*nll), op<"detach">(*log_alpha), *blank, *zero_infinity);
  }
  using vjp = rules<wrt<0, d_log_probs>>;
};
FB_CARD(ctc_loss_primitive)
struct ctc_loss_primitive_tensor : composite<ctc_loss_primitive_tensor> {
  static constexpr auto schema =
      "_ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank=0, bool zero_infinity=False) -> (Tensor, Tensor)";
  static constexpr uint32_t forms = form::fn;
  static std::array<Tensor, 2> body(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths, const Tensor& target_lengths, int64_t blank, bool zero_infinity) {
    return ops<"_ctc_loss", 2>(log_probs, targets, ctc::lengths_of("input_lengths", input_lengths), ctc::lengths_of("target_lengths", target_lengths), blank, zero_infinity);
  }
};
FB_CARD(ctc_loss_primitive_tensor)

struct ctc_loss_backward : direct<ctc_loss_backward> {
  static constexpr auto schema =
      "_ctc_loss_backward(Tensor grad, Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, Tensor neg_log_likelihood, Tensor log_alpha, int blank, "
      "bool zero_infinity=False) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  static Tensor check(const Tensor&, const Tensor& log_probs, const Tensor&, Ints input_lengths, Ints target_lengths, const Tensor&, const Tensor&, int64_t, bool) {
    if (!log_probs.is_meta()) return {};
    ctc::check_sizes(log_probs, input_lengths, target_lengths);
    return Tensor::empty(log_probs.sizes(), log_probs.options());
  }
  using vjp = rules<wrt<0, loss::no_rule<"_ctc_loss_backward">>, wrt<1, loss::no_rule<"_ctc_loss_backward">>>;
};
FB_CARD(ctc_loss_backward)

struct ctc_loss_lists : composite<ctc_loss_lists> {
  static constexpr auto schema =
      "ctc_loss.IntList(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank=0, int reduction=1, bool zero_infinity=False) -> Tensor";
  static constexpr uint32_t forms = form::fn;
  static Tensor body(const Tensor& log_probs, const Tensor& targets, Ints input_lengths, Ints target_lengths, int64_t blank, int64_t reduction, bool zero_infinity) {
    return ctc::loss(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity);
  }
  static constexpr auto doc = R"(ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction=1, zero_infinity=False) -> Tensor

The negative logarithm of the probability that log_probs, (T, N, C) or (T, C), logarithms of probabilities over classes, say
targets, (N, S) or all one after another, whatever repetitions and blanks lie between. The mean divides each loss by its
target's length first. zero_infinity turns losses of targets that do not fit, and their gradients, to zero. The gradient
takes log_probs for the result of log_softmax.)";
};
FB_CARD(ctc_loss_lists)
struct ctc_loss_tensors : composite<ctc_loss_tensors> {
  static constexpr auto schema =
      "ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank=0, int reduction=1, bool zero_infinity=False) -> Tensor";
  static constexpr uint32_t forms = form::fn;
  static Tensor body(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths, const Tensor& target_lengths, int64_t blank, int64_t reduction, bool zero_infinity) {
    return ctc::loss(log_probs, targets, ctc::lengths_of("input_lengths", input_lengths), ctc::lengths_of("target_lengths", target_lengths), blank, reduction, zero_infinity);
  }
};
FB_CARD(ctc_loss_tensors)

}  // namespace fb::cards
