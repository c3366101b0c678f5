"""Averaged stochastic gradient descent (Polyak and Juditsky, 1992)."""

import torch
from torch.optim._per_tensor import number, step_each, zeros_like
from torch.optim.optimizer import (Optimizer, _check_at_least, _check_lr, _get_scalar_dtype,
                                   _get_value, _use_grad_for_differentiable)

__all__ = ["ASGD"]


def _init(p, group):
    where = p.device
    return {
        "step": torch.zeros((), dtype=_get_scalar_dtype(), device=where),
        "eta": torch.as_tensor(number(group["lr"], group), dtype=_get_scalar_dtype(),
                               device=where).clone().detach(),
        "mu": torch.ones((), dtype=_get_scalar_dtype(), device=where),
        "ax": zeros_like(p)}


def _update(p, g, state, group):
    lr, lambd = number(group["lr"], group), group["lambd"]
    eta, mu, ax = state["eta"], state["mu"], state["ax"]
    state["step"] += 1
    t = _get_value(state["step"])
    size = _get_value(eta)
    p.mul_(1 - lambd * size)
    p.add_(g, alpha=-size)
    if _get_value(mu) == 1:
        ax.copy_(p)
    else:
        ax.add_(p.sub(ax).mul_(mu))
    eta.copy_(torch.as_tensor(lr / (1 + lambd * lr * t) ** group["alpha"]))
    mu.copy_(torch.as_tensor(1 / max(1, t - group["t0"])))


class ASGD(Optimizer):
    """SGD with a falling rate; state "ax" holds the mean of the parameters from step t0 on."""

    def __init__(self, params, lr=1e-2, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0,
                 foreach=None, maximize=False, differentiable=False, capturable=False):
        _check_lr(lr, foreach, capturable)
        _check_at_least("weight_decay", weight_decay)
        super().__init__(params, {
            "lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay,
            "foreach": foreach, "maximize": maximize, "differentiable": differentiable,
            "capturable": capturable})

    @_use_grad_for_differentiable
    def step(self, closure=None):
        """Updates all parameters; returns the loss of `closure` if there is one."""
        return step_each(self, closure, _init, _update)
