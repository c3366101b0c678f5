"""Stochastic gradient descent with momentum (Polyak; Nesterov as in Sutskever et al., 2013)."""

import torch
from torch.optim._per_tensor import evaluate, number
from torch.optim.optimizer import (Optimizer, _check_at_least, _check_fused, _check_lr,
                                   _use_grad_for_differentiable)

__all__ = ["SGD", "sgd"]

_fused_sgd_ = getattr(torch, "_fused_sgd_", None)
_collect_for_step = torch._C._collect_for_step
_BUFFER = ("momentum_buffer",)


def sgd(params, d_p_list, momentum_buffer_list, has_sparse_grad=False, foreach=None, fused=None,
        grad_scale=None, found_inf=None, *, weight_decay, momentum, lr, dampening, nesterov,
        maximize):
    """One step on lists; `momentum_buffer_list` (None for new ones) is filled in."""
    if found_inf is not None and found_inf.item():
        return
    if grad_scale is not None:
        for g in d_p_list:
            g.div_(grad_scale)
    for i, (p, g) in enumerate(zip(params, d_p_list)):
        if maximize:
            g = -g
        if isinstance(weight_decay, torch.Tensor) or weight_decay != 0:
            if isinstance(weight_decay, torch.Tensor) and weight_decay.requires_grad:
                g = g.addcmul(p, weight_decay)
            else:
                g = g.add(p, alpha=weight_decay)
        if momentum != 0:
            buf = momentum_buffer_list[i]
            if buf is None:
                buf = momentum_buffer_list[i] = g.detach().clone()
            else:
                buf.mul_(momentum).add_(g, alpha=1 - dampening)
            g = g.add(buf, alpha=momentum) if nesterov else buf
        if isinstance(lr, torch.Tensor) and lr.requires_grad:
            p.addcmul_(g, lr, value=-1)
        else:
            p.add_(g, alpha=-lr)


class SGD(Optimizer):
    """v = momentum * v + (1 - dampening) * g;  p = p - lr * v, where g includes weight_decay * p.

    The first v is g; with `nesterov`, g + momentum * v takes the place of v.
    """

    def __init__(self, params, lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False, *,
                 maximize=False, foreach=None, differentiable=False, fused=None):
        _check_lr(lr)
        _check_at_least("momentum", momentum)
        _check_at_least("weight_decay", weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("nesterov=True needs momentum > 0 and dampening = 0, got "
                             f"momentum={momentum} and dampening={dampening}")
        super().__init__(params, {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay,
            "nesterov": nesterov, "maximize": maximize, "foreach": foreach,
            "differentiable": differentiable, "fused": fused})
        _check_fused(self, fused, foreach, differentiable)

    def __setstate__(self, state):
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in (("nesterov", False), ("maximize", False), ("foreach", None),
                                ("differentiable", False), ("fused", False)):
                group.setdefault(name, value)

    @_use_grad_for_differentiable
    def step(self, closure=None):
        """Updates all parameters; returns the loss of `closure` if there is one."""
        loss = evaluate(closure)
        scaled = "grad_scale" in self.__dict__ or "found_inf" in self.__dict__
        for group in self.param_groups:
            momentum, decay = group["momentum"], group["weight_decay"]
            if _fused_sgd_ is not None and not scaled and not group["differentiable"] \
                    and not isinstance(decay, torch.Tensor):
                simple, params, grads, *bufs = _collect_for_step(
                    group["params"], self.state, _BUFFER if momentum != 0 else ())
                if simple:
                    if params:
                        _fused_sgd_(params, grads, bufs[0] if bufs else [], weight_decay=decay,
                                    momentum=momentum, lr=number(group["lr"], group),
                                    dampening=group["dampening"], nesterov=group["nesterov"],
                                    maximize=group["maximize"], is_first_step=False)
                    continue
            self._step_one_by_one(group)
        return loss

    def _step_one_by_one(self, group):
        """The first step (whose momentum is the gradient), and tensors that are not alike."""
        params = [p for p in group["params"] if p.grad is not None]
        momentum = group["momentum"]
        bufs = [self.state[p].get("momentum_buffer") if momentum != 0 else None for p in params]
        sgd(params, [p.grad for p in params], bufs, grad_scale=getattr(self, "grad_scale", None),
            found_inf=getattr(self, "found_inf", None), weight_decay=group["weight_decay"],
            momentum=momentum, lr=number(group["lr"], group), dampening=group["dampening"],
            nesterov=group["nesterov"], maximize=group["maximize"])
        if momentum != 0:
            for p, b in zip(params, bufs):
                self.state[p]["momentum_buffer"] = b
