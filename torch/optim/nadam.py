"""NAdam: Adam with Nesterov's momentum (Dozat, 2016)."""

import torch
from torch.optim._per_tensor import new_count, number, step_each, zeros_like
from torch.optim.optimizer import (Optimizer, _check_at_least, _check_betas, _check_lr, _get_value,
                                   _get_scalar_dtype, _use_grad_for_differentiable)

__all__ = ["NAdam"]


def _init(p, group):
    if group["capturable"]:
        product = torch.ones((), dtype=_get_scalar_dtype(), device=p.device)
    else:
        product = torch.tensor(1.0, dtype=_get_scalar_dtype())
    return {"step": new_count(group, p), "mu_product": product, "exp_avg": zeros_like(p),
            "exp_avg_sq": zeros_like(p)}


def _update(p, g, state, group):
    beta1, beta2 = group["betas"]
    lr, decay = number(group["lr"], group), group["momentum_decay"]
    exp_avg, exp_avg_sq = state["exp_avg"], state["exp_avg_sq"]
    state["step"] += 1
    t = _get_value(state["step"])
    if group["decoupled_weight_decay"] and group["weight_decay"] != 0:
        p.mul_(1 - lr * group["weight_decay"])
    mu = beta1 * (1.0 - 0.5 * 0.96 ** (t * decay))
    mu_next = beta1 * (1.0 - 0.5 * 0.96 ** ((t + 1) * decay))
    state["mu_product"] *= mu
    product = _get_value(state["mu_product"])
    exp_avg.lerp_(g, 1 - beta1)
    exp_avg_sq.mul_(beta2).addcmul_(g, g, value=1 - beta2)
    denom = exp_avg_sq.div(1 - beta2 ** t).sqrt_().add_(group["eps"])
    p.addcdiv_(g, denom, value=-lr * (1.0 - mu) / (1.0 - product))
    p.addcdiv_(exp_avg, denom, value=-lr * mu_next / (1.0 - product * mu_next))


class NAdam(Optimizer):
    """Adam whose step takes the momentum of the next step and the gradient of this one."""

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0,
                 momentum_decay=4e-3, decoupled_weight_decay=False, *, foreach=None,
                 maximize=False, capturable=False, differentiable=False):
        _check_lr(lr, foreach, capturable)
        _check_at_least("eps", eps)
        _check_betas(betas)
        _check_at_least("weight_decay", weight_decay)
        _check_at_least("momentum_decay", momentum_decay)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
            "momentum_decay": momentum_decay, "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize, "foreach": foreach, "capturable": capturable,
            "differentiable": differentiable})

    @_use_grad_for_differentiable
    def step(self, closure=None):
        """Updates all parameters; returns the loss of `closure` if there is one."""
        return step_each(self, closure, _init, _update)
