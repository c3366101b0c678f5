"""Adadelta (Zeiler, 2012)."""

from torch.optim._per_tensor import new_count, number, step_each, zeros_like
from torch.optim.optimizer import (Optimizer, _check_at_least, _check_lr,
                                   _use_grad_for_differentiable)

__all__ = ["Adadelta"]


def _init(p, group):
    return {"step": new_count(group, p), "square_avg": zeros_like(p), "acc_delta": zeros_like(p)}


def _update(p, g, state, group):
    rho, eps = group["rho"], group["eps"]
    square_avg, acc_delta = state["square_avg"], state["acc_delta"]
    state["step"] += 1
    square_avg.mul_(rho).addcmul_(g, g, value=1 - rho)
    std = square_avg.add(eps).sqrt_()
    delta = acc_delta.add(eps).sqrt_()
    if group["differentiable"]:
        delta = delta.clone()
    delta.div_(std).mul_(g)
    acc_delta.mul_(rho).addcmul_(delta, delta, value=1 - rho)
    p.add_(delta, alpha=-number(group["lr"], group))


class Adadelta(Optimizer):
    """Steps of the size of past steps: delta = g * sqrt(mean(delta^2) + e) / sqrt(mean(g^2) + e)."""

    def __init__(self, params, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0, foreach=None, *,
                 capturable=False, maximize=False, differentiable=False):
        _check_lr(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"rho must be in [0, 1], got {rho}")
        _check_at_least("eps", eps)
        _check_at_least("weight_decay", weight_decay)
        super().__init__(params, {
            "lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
            "capturable": capturable, "foreach": foreach, "differentiable": differentiable})

    @_use_grad_for_differentiable
    def step(self, closure=None):
        """Updates all parameters; returns the loss of `closure` if there is one."""
        return step_each(self, closure, _init, _update)
