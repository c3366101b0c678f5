"""Muon (Jordan et al., 2024): momentum made orthogonal by a Newton-Schulz iteration."""

import math

import torch
from torch.optim._per_tensor import evaluate
from torch.optim.optimizer import Optimizer

__all__ = ["Muon"]


def _orthogonal(g, coefficients, steps, eps):
    """The nearest orthogonal matrix of g (m, n), roughly: singular values go towards 1."""
    if steps >= 100:
        raise ValueError(f"ns_steps must be below 100, got {steps}")
    if g.dim() != 2:
        raise ValueError(f"the gradient must have 2 dimensions, got shape {tuple(g.shape)}")
    if len(coefficients) != 3:
        raise ValueError(f"ns_coefficients must be three numbers, got {coefficients}")
    a, b, c = coefficients
    x = g.bfloat16()
    tall = g.size(0) > g.size(1)
    if tall:
        x = x.T
    x = x.div(x.norm().clamp(min=eps))
    for _ in range(steps):
        gram = x @ x.T
        x = torch.addmm(x, torch.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if tall else x


def _adjusted(lr, how, shape):
    """The rate for a matrix of that shape: by aspect ratio, or to the update size of AdamW."""
    rows, cols = shape[:2]
    if how is None or how == "original":
        return lr * math.sqrt(max(1, rows / cols))
    return lr * 0.2 * math.sqrt(max(rows, cols))


class Muon(Optimizer):
    """For hidden layers' weight matrices; other parameters belong to another optimizer.

    `adjust_lr_fn`: "original" (default) or "match_rms_adamw". Raises ValueError for a parameter
    that has not two dimensions.
    """

    def __init__(self, params, lr=1e-3, weight_decay=0.1, momentum=0.95, nesterov=True,
                 ns_coefficients=(3.4445, -4.7750, 2.0315), eps=1e-7, ns_steps=5,
                 adjust_lr_fn=None):
        if isinstance(lr, torch.Tensor) and lr.numel() != 1:
            raise ValueError(f"a tensor lr must hold 1 element, got shape {tuple(lr.shape)}")
        for name, value in (("lr", lr), ("momentum", momentum), ("weight_decay", weight_decay)):
            if not 0.0 <= value:
                raise ValueError(f"{name} must be 0 or more, got {value}")
        if adjust_lr_fn is not None and adjust_lr_fn not in ("original", "match_rms_adamw"):
            raise ValueError("adjust_lr_fn must be 'original' or 'match_rms_adamw', got "
                             f"{adjust_lr_fn!r}")
        super().__init__(params, {
            "lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov,
            "ns_coefficients": ns_coefficients, "eps": eps, "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn})
        for group in self.param_groups:
            for p in group["params"]:
                if p.ndim != 2:
                    raise ValueError("Muon takes parameters of 2 dimensions, got one of shape "
                                     f"{tuple(p.shape)}")

    @torch.no_grad()
    def step(self, closure=None):
        """Updates all parameters; returns the loss of `closure` if there is one."""
        loss = evaluate(closure)
        for group in self.param_groups:
            lr, momentum = group["lr"], group["momentum"]
            for p in group["params"]:
                g = p.grad
                if g is None:
                    continue
                if p.is_complex():
                    raise RuntimeError(f"Muon takes real parameters, got {p.dtype}")
                if g.is_sparse:
                    raise RuntimeError("Muon takes dense gradients, got a sparse one for a "
                                       f"parameter of shape {tuple(p.shape)}")
                state = self.state[p]
                if "momentum_buffer" not in state:
                    state["momentum_buffer"] = torch.zeros_like(
                        g, memory_format=torch.preserve_format)
                buf = state["momentum_buffer"]
                buf.lerp_(g, 1 - momentum)
                step = g.lerp(buf, momentum) if group["nesterov"] else buf
                step = _orthogonal(step, group["ns_coefficients"], group["ns_steps"],
                                   group["eps"])
                p.mul_(1 - lr * group["weight_decay"])
                p.add_(step, alpha=-_adjusted(lr, group["adjust_lr_fn"], p.shape))
        return loss
