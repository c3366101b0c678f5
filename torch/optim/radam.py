"""RAdam: Adam with the variance of early steps rectified (Liu et al., 2020)."""

from torch.optim._per_tensor import new_count, number, step_each, zeros_like
from torch.optim.optimizer import (Optimizer, _check_at_least, _check_betas, _check_lr, _get_value,
                                   _use_grad_for_differentiable)

__all__ = ["RAdam"]


def _init(p, group):
    return {"step": new_count(group, p), "exp_avg": zeros_like(p), "exp_avg_sq": zeros_like(p)}


def _update(p, g, state, group):
    beta1, beta2 = group["betas"]
    lr = number(group["lr"], group)
    exp_avg, exp_avg_sq = state["exp_avg"], state["exp_avg_sq"]
    state["step"] += 1
    t = _get_value(state["step"])
    if group["decoupled_weight_decay"] and group["weight_decay"] != 0:
        p.mul_(1 - lr * group["weight_decay"])
    exp_avg.lerp_(g, 1 - beta1)
    exp_avg_sq.mul_(beta2).addcmul_(g, g, value=1 - beta2)
    correction2 = 1 - beta2 ** t
    step = exp_avg / (1 - beta1 ** t) * lr
    rho_inf = 2 / (1 - beta2) - 1
    rho = rho_inf - 2 * t * beta2 ** t / correction2
    if rho > 5.0:
        rectify = ((rho - 4) * (rho - 2) * rho_inf
                   / ((rho_inf - 4) * (rho_inf - 2) * rho)) ** 0.5
        adapt = correction2 ** 0.5 / exp_avg_sq.sqrt().add_(group["eps"])
        step = step * adapt * rectify
    p.sub_(step)


class RAdam(Optimizer):
    """Adam that leaves out the second moment while too few steps estimate it (rho <= 5)."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0,
                 decoupled_weight_decay=False, *, foreach=None, maximize=False, capturable=False,
                 differentiable=False):
        _check_lr(lr, foreach, capturable)
        _check_at_least("eps", eps)
        _check_betas(betas)
        _check_at_least("weight_decay", weight_decay)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
            "maximize": maximize, "foreach": foreach, "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay, "differentiable": differentiable})

    @_use_grad_for_differentiable
    def step(self, closure=None):
        """Updates all parameters; returns the loss of `closure` if there is one."""
        return step_each(self, closure, _init, _update)
