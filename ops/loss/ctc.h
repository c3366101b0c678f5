// Connectionist temporal classification (Graves, Fernandez, Gomez, Schmidhuber 2006).
#pragma once
#include "dispatch/call.h"
#include "dispatch/card.h"
#include "ops/loss/reduction.h"

namespace fb::cards {

namespace ctc {
// Lengths given as a tensor of integers.
Dims lengths_of(const char* what, const Tensor& lengths);
Tensor loss(const Tensor& log_probs, const Tensor& targets, Ints input_lengths, Ints target_lengths, int64_t blank, int64_t reduction, bool zero_infinity);
}  // namespace ctc

struct ctc_loss_primitive : direct<ctc_loss_primitive> {
  static constexpr auto schema =
      "_ctc_loss(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank=0, bool zero_infinity=False) -> (Tensor, Tensor)";
  static constexpr uint32_t forms = form::fn;
  static constexpr auto grad_name = "CtcLossBackward0";
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
