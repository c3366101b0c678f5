"""Adagrad (Duchi, Hazan and Singer, 2011), for dense and sparse gradients."""

import torch
from torch.optim._per_tensor import new_count, number, step_each
from torch.optim.optimizer import (Optimizer, _check_at_least, _check_fused, _check_lr, _get_value,
                                   _use_grad_for_differentiable)

__all__ = ["Adagrad"]


def _init(p, group):
    start = group["initial_accumulator_value"]
    if p.is_complex():
        start = complex(start, start)
    return {"step": new_count(group, p),
            "sum": torch.full_like(p, start, memory_format=torch.preserve_format)}


def _update(p, g, state, group):
    total, eps = state["sum"], group["eps"]
    state["step"] += 1
    t = _get_value(state["step"])
    rate = number(group["lr"], group) / (1 + (t - 1) * group["lr_decay"])
    if g.is_sparse:
        g = g.coalesce()
        where, values = g._indices(), g._values()
        if values.numel() == 0:
            return
        total.add_(torch.sparse_coo_tensor(where, values.pow(2), g.shape))
        std = total.sparse_mask(g)._values().sqrt_().add_(eps)
        p.add_(torch.sparse_coo_tensor(where, values / std, g.shape), alpha=-rate)
        return
    total.addcmul_(g, g, value=1)
    std = total.sqrt().add(eps) if group["differentiable"] else total.sqrt().add_(eps)
    p.addcdiv_(g, std, value=-rate)


class Adagrad(Optimizer):
    """p = p - lr / (1 + (t - 1) * lr_decay) * g / (sqrt(sum of g^2) + eps)."""

    def __init__(self, params, lr=1e-2, lr_decay=0, weight_decay=0, initial_accumulator_value=0,
                 eps=1e-10, foreach=None, *, maximize=False, differentiable=False, fused=None):
        _check_lr(lr)
        _check_at_least("lr_decay", lr_decay)
        _check_at_least("weight_decay", weight_decay)
        _check_at_least("initial_accumulator_value", initial_accumulator_value)
        _check_at_least("eps", eps)
        super().__init__(params, {
            "lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "fused": fused})
        _check_fused(self, fused, foreach, differentiable)
        self._need_device_dtype_check_for_fused = True
        with torch.no_grad():
            for group in self.param_groups:
                for p in group["params"]:
                    self.state[p].update(_init(p, group))

    def share_memory(self):
        """Moves the sums into memory that other processes can share."""
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["sum"].share_memory_()

    @_use_grad_for_differentiable
    def step(self, closure=None):
        """Updates all parameters; returns the loss of `closure` if there is one."""
        return step_each(self, closure, _init, _update, sparse=True)
