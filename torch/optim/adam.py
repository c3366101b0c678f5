"""Adam (Kingma and Ba, 2014), with AMSGrad (Reddi et al., 2018) and decoupled weight decay."""

import torch
from torch.optim._per_tensor import check_capturable, evaluate, new_count, number, zeros_like
from torch.optim.optimizer import (Optimizer, _check_at_least, _check_betas, _check_fused,
                                   _check_lr, _get_value, _real,
                                   _use_grad_for_differentiable)

__all__ = ["Adam", "adam"]

_fused_adam_ = getattr(torch, "_fused_adam_", None)
_fused_adamw_ = getattr(torch, "_fused_adamw_", None)
_foreach_add_ = getattr(torch, "_foreach_add_", None)
_collect_for_step = torch._C._collect_for_step
_STATE = ("exp_avg", "exp_avg_sq", "step")
_STATE_AMSGRAD = (*_STATE, "max_exp_avg_sq")


def adam(params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, foreach=None,
         capturable=False, differentiable=False, fused=None, grad_scale=None, found_inf=None,
         has_complex=False, decoupled_weight_decay=False, *, amsgrad, beta1, beta2, lr,
         weight_decay, eps, maximize):
    """One step on lists; `state_steps` are 0-d tensors that count the steps."""
    if found_inf is not None and found_inf.item():
        return
    if grad_scale is not None:
        for g in grads:
            g.div_(grad_scale)
    for i, (p, g, m, v, count) in enumerate(
            zip(params, grads, exp_avgs, exp_avg_sqs, state_steps)):
        top = max_exp_avg_sqs[i] if amsgrad else None
        count += 1
        if maximize:
            g = -g
        if weight_decay != 0:
            if decoupled_weight_decay:
                p.mul_(1 - lr * weight_decay)
            elif differentiable and isinstance(weight_decay, torch.Tensor):
                g = g.addcmul(p.clone(), weight_decay)
            else:
                g = g.add(p, alpha=weight_decay)
        p, g, m, v, top = _real(p, g, m, v, top)
        m.lerp_(g, 1 - beta1)
        if differentiable:
            v.mul_(beta2).add_(g * g * (1 - beta2))
        else:
            v.mul_(beta2).addcmul_(g, g, value=1 - beta2)
        # Written so that the rounding is that of a step size of Python floats, times a tensor.
        t = count if differentiable or capturable else _get_value(count)
        correction1 = 1 - beta1 ** t
        correction2 = 1 - beta2 ** t
        root = correction2 ** 0.5
        if amsgrad:
            known = top.clone() if differentiable else top
            top.copy_(torch.maximum(known, v))
            denom = (top.sqrt() / root).add_(eps)
        else:
            denom = (v.sqrt() / root).add_(eps)
        size = lr / correction1
        if isinstance(size, torch.Tensor):
            p.addcdiv_(m, denom / -size)
        else:
            p.addcdiv_(m, denom, value=-size)


class Adam(Optimizer):
    """p = p - lr * (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps), m and v means of g and g^2.

    `amsgrad` takes the largest v so far. Weight decay is added to g, or with
    `decoupled_weight_decay` shrinks p by lr * weight_decay first (AdamW).
    """

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0,
                 amsgrad=False, *, foreach=None, maximize=False, capturable=False,
                 differentiable=False, fused=None, decoupled_weight_decay=False):
        _check_lr(lr, foreach, capturable)
        _check_at_least("eps", eps)
        _check_betas(betas)
        _check_at_least("weight_decay", weight_decay)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
            "amsgrad": amsgrad, "maximize": maximize, "foreach": foreach,
            "capturable": capturable, "differentiable": differentiable, "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay})
        _check_fused(self, fused, foreach, differentiable)

    def __setstate__(self, state):
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in (("amsgrad", False), ("maximize", False), ("foreach", None),
                                ("capturable", False), ("differentiable", False),
                                ("decoupled_weight_decay", False), ("fused", None)):
                group.setdefault(name, value)
            for p in group["params"]:
                s = self.state.get(p, [])
                if s and not torch.is_tensor(s["step"]):
                    s["step"] = torch.tensor(float(s["step"]), dtype=torch.float32)

    def _new_state(self, p, group):
        state = self.state[p]
        state["step"] = new_count(group, p)
        state["exp_avg"] = zeros_like(p)
        state["exp_avg_sq"] = zeros_like(p)
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = zeros_like(p)
        return state

    @_use_grad_for_differentiable
    def step(self, closure=None):
        """Updates all parameters; returns the loss of `closure` if there is one."""
        loss = evaluate(closure)
        scaled = "grad_scale" in self.__dict__ or "found_inf" in self.__dict__
        for group in self.param_groups:
            amsgrad = group["amsgrad"]
            if _fused_adam_ is not None and not scaled and not group["differentiable"] \
                    and not group["capturable"]:
                simple, params, grads, means, squares, counts, *tops = _collect_for_step(
                    group["params"], self.state, _STATE_AMSGRAD if amsgrad else _STATE)
                if simple:
                    if params:
                        beta1, beta2 = group["betas"]
                        _foreach_add_(counts, 1)
                        step = _fused_adamw_ if group["decoupled_weight_decay"] else _fused_adam_
                        step(params, grads, means, squares, tops[0] if tops else [], counts,
                             lr=number(group["lr"], group), beta1=number(beta1, group),
                             beta2=number(beta2, group), weight_decay=group["weight_decay"],
                             eps=group["eps"], amsgrad=amsgrad, maximize=group["maximize"])
                    continue
            self._step_one_by_one(group)
        return loss

    def _step_one_by_one(self, group):
        """The first step (which makes the state), and tensors that are not alike."""
        params = [p for p in group["params"] if p.grad is not None]
        for p in params:
            check_capturable(group, p)
            if p.grad.is_sparse:
                raise RuntimeError(f"{type(self).__name__} takes dense gradients, got a sparse one "
                                   f"for a parameter of shape {tuple(p.shape)}; see SparseAdam")
        states = [self.state[p] or self._new_state(p, group) for p in params]
        amsgrad = group["amsgrad"]
        beta1, beta2 = group["betas"]
        adam(params, [p.grad for p in params], [s["exp_avg"] for s in states],
             [s["exp_avg_sq"] for s in states],
             [s["max_exp_avg_sq"] for s in states] if amsgrad else [],
             [s["step"] for s in states], capturable=group["capturable"],
             differentiable=group["differentiable"], grad_scale=getattr(self, "grad_scale", None),
             found_inf=getattr(self, "found_inf", None),
             decoupled_weight_decay=group["decoupled_weight_decay"], amsgrad=amsgrad,
             beta1=number(beta1, group), beta2=number(beta2, group),
             lr=number(group["lr"], group), weight_decay=group["weight_decay"], eps=group["eps"],
             maximize=group["maximize"])
