// Steps of optimizers over whole lists of parameters. The lists are written and nothing is returned; nothing is
// recorded for backward. grads are written only where grad_scale is given (they are divided by it).
#pragma once
#include "dispatch/card.h"
#include "dispatch/visible.h"

namespace fb::cards {

#define FB_FUSED(NAME, ID, LISTS, NUMBERS)                                                                     \
  struct ID : direct<ID> {                                                                                     \
    static constexpr auto schema = NAME "(Tensor(a!)[] self, Tensor(b!)[] grads, " LISTS ", *, " NUMBERS        \
                                        ", Tensor? grad_scale=None, Tensor? found_inf=None) -> ()";            \
    static constexpr uint32_t forms = form::fn;                                                                \
    static constexpr bool lazy_bits = true;                                                                    \
  };                                                                                                           \
  FB_CARD(ID)
#define FB_SGD_LISTS "Tensor(c!)[] momentum_buffer_list"
#define FB_SGD_NUMBERS(LR) "float weight_decay, float momentum, " LR " lr, float dampening, bool nesterov, bool maximize, bool is_first_step"
#define FB_ADAM_LISTS "Tensor(c!)[] exp_avgs, Tensor(d!)[] exp_avg_sqs, Tensor(e!)[] max_exp_avg_sqs, Tensor[] state_steps"
#define FB_ADAM_NUMBERS(LR) LR " lr, float beta1, float beta2, float weight_decay, float eps, bool amsgrad, bool maximize"
FB_FUSED("_fused_sgd_.tensor_lr", FusedSgdTensorLr, FB_SGD_LISTS, FB_SGD_NUMBERS("Tensor"))
FB_FUSED("_fused_sgd_", FusedSgd, FB_SGD_LISTS, FB_SGD_NUMBERS("float"))
FB_FUSED("_fused_adam_.tensor_lr", FusedAdamTensorLr, FB_ADAM_LISTS, FB_ADAM_NUMBERS("Tensor"))
FB_FUSED("_fused_adam_", FusedAdam, FB_ADAM_LISTS, FB_ADAM_NUMBERS("float"))
FB_FUSED("_fused_adamw_.tensor_lr", FusedAdamwTensorLr, FB_ADAM_LISTS, FB_ADAM_NUMBERS("Tensor"))
FB_FUSED("_fused_adamw_", FusedAdamw, FB_ADAM_LISTS, FB_ADAM_NUMBERS("float"))
#undef FB_FUSED
#undef FB_SGD_LISTS
#undef FB_SGD_NUMBERS
#undef FB_ADAM_LISTS
#undef FB_ADAM_NUMBERS

}  // namespace fb::cards
