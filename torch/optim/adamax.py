"""Adamax: Adam with the infinity norm (Kingma and Ba, 2014, section 7)."""

import torch
from torch.optim._per_tensor import new_count, number, step_each, zeros_like
from torch.optim.optimizer import (Optimizer, _check_at_least, _check_betas, _check_lr, _get_value,
                                   _use_grad_for_differentiable)

__all__ = ["Adamax"]


def _init(p, group):
    return {"step": new_count(group, p), "exp_avg": zeros_like(p), "exp_inf": zeros_like(p)}


def _update(p, g, state, group):
    beta1, beta2 = group["betas"]
    exp_avg, exp_inf = state["exp_avg"], state["exp_inf"]
    state["step"] += 1
    exp_avg.lerp_(g, 1 - beta1)
    exp_inf.copy_(torch.maximum(exp_inf.mul(beta2), g.abs().add_(group["eps"])))
    correction = 1 - beta1 ** _get_value(state["step"])
    p.addcdiv_(exp_avg, exp_inf, value=-number(group["lr"], group) / correction)


class Adamax(Optimizer):
    """p = p - lr / (1 - b1^t) * m / u, where u = max(b2 * u, |g| + eps)."""

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0,
                 foreach=None, *, maximize=False, differentiable=False, capturable=False):
        _check_lr(lr, foreach, capturable)
        _check_at_least("eps", eps)
        _check_betas(betas)
        _check_at_least("weight_decay", weight_decay)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
            "foreach": foreach, "maximize": maximize, "differentiable": differentiable,
            "capturable": capturable})

    @_use_grad_for_differentiable
    def step(self, closure=None):
        """Updates all parameters; returns the loss of `closure` if there is one."""
        return step_each(self, closure, _init, _update)
