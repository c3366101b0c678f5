"""Resilient backpropagation (Riedmiller and Braun, 1993)."""

import torch
from torch.optim._per_tensor import new_count, number, step_each, zeros_like
from torch.optim.optimizer import Optimizer, _check_lr, _use_grad_for_differentiable

__all__ = ["Rprop"]


def _init(p, group):
    lr = number(group["lr"], group)
    if p.is_complex():
        lr = complex(lr, lr)
    return {"step": new_count(group, p), "prev": zeros_like(p),
            "step_size": torch.full_like(p.grad, lr)}


def _update(p, g, state, group):
    low, high = group["etas"]
    smallest, largest = group["step_sizes"]
    prev, size = state["prev"], state["step_size"]
    state["step"] += 1
    agree = g.mul(prev.clone() if group["differentiable"] else prev).sign_()
    turned = agree.lt(0)
    factor = torch.where(turned, low, torch.where(agree.gt(0), high, 1.0).to(g.dtype)).to(g.dtype)
    size.mul_(factor).clamp_(smallest, largest)
    # After a change of sign the step is left out, and so is the comparison with the next one.
    g = torch.where(turned, torch.zeros_like(g), g)
    p.addcmul_(g.sign(), size, value=-1)
    prev.copy_(g)


class Rprop(Optimizer):
    """Steps by the sign of g; their size grows by etas[1] while signs agree, else by etas[0]."""

    def __init__(self, params, lr=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50), *,
                 capturable=False, foreach=None, maximize=False, differentiable=False):
        _check_lr(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"etas must be (below 1, above 1), got {etas}")
        super().__init__(params, {
            "lr": lr, "etas": etas, "step_sizes": step_sizes, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable})

    @_use_grad_for_differentiable
    def step(self, closure=None):
        """Updates all parameters; returns the loss of `closure` if there is one."""
        return step_each(self, closure, _init, _update, weight_decay=None)
