"""RMSprop (Tieleman and Hinton, 2012), centered as in Graves (2013)."""

from torch.optim._per_tensor import new_count, number, step_each, zeros_like
from torch.optim.optimizer import (Optimizer, _check_at_least, _check_lr,
                                   _use_grad_for_differentiable)

__all__ = ["RMSprop"]


def _init(p, group):
    state = {"step": new_count(group, p), "square_avg": zeros_like(p)}
    if group["momentum"] > 0:
        state["momentum_buffer"] = zeros_like(p)
    if group["centered"]:
        state["grad_avg"] = zeros_like(p)
    return state


def _update(p, g, state, group):
    alpha, lr = group["alpha"], number(group["lr"], group)
    square_avg = state["square_avg"]
    state["step"] += 1
    square_avg.mul_(alpha).addcmul_(g, g, value=1 - alpha)
    if group["centered"]:
        grad_avg = state["grad_avg"]
        grad_avg.lerp_(g, 1 - alpha)
        avg = square_avg.addcmul(grad_avg, grad_avg, value=-1).sqrt_()
    else:
        avg = square_avg.sqrt()
    avg = avg.add(group["eps"]) if group["differentiable"] else avg.add_(group["eps"])
    if group["momentum"] > 0:
        buf = state["momentum_buffer"]
        buf.mul_(group["momentum"]).addcdiv_(g, avg)
        p.add_(buf, alpha=-lr)
    else:
        p.addcdiv_(g, avg, value=-lr)


class RMSprop(Optimizer):
    """p = p - lr * g / (sqrt(v) + eps), v a running mean of g^2 (its variance with `centered`)."""

    def __init__(self, params, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0,
                 centered=False, capturable=False, foreach=None, maximize=False,
                 differentiable=False):
        _check_lr(lr, foreach, capturable)
        _check_at_least("eps", eps)
        _check_at_least("momentum", momentum)
        _check_at_least("weight_decay", weight_decay)
        _check_at_least("alpha", alpha)
        super().__init__(params, {
            "lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered,
            "weight_decay": weight_decay, "capturable": capturable, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable})

    @_use_grad_for_differentiable
    def step(self, closure=None):
        """Updates all parameters; returns the loss of `closure` if there is one."""
        return step_each(self, closure, _init, _update)
