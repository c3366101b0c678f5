"""Adafactor (Shazeer and Stern, 2018): second moments of matrices kept as row and column means."""

import torch
from torch.optim._per_tensor import evaluate, number
from torch.optim.optimizer import Optimizer, _get_scalar_dtype

__all__ = ["Adafactor"]


def _check(name, ok, what, value):
    if not ok:
        raise ValueError(f"{name} must be {what}, got {value}")


class Adafactor(Optimizer):
    """Steps of size max(eps2, rms(p)) * min(lr, 1/sqrt(t)) along g / sqrt(v), clipped at rms d.

    For parameters of two or more dimensions v is the product of state "row_var" (..., m, 1) and
    "col_var" (..., 1, n); else state "variance" has the shape of the parameter.
    """

    def __init__(self, params, lr=1e-2, beta2_decay=-0.8, eps=(None, 1e-3), d=1.0,
                 weight_decay=0.0, *, foreach=None, maximize=False):
        if isinstance(lr, torch.Tensor) and lr.numel() != 1:
            raise ValueError(f"a tensor lr must hold 1 element, got shape {tuple(lr.shape)}")
        _check("lr", 0.0 <= lr, "0 or more", lr)
        _check("beta2_decay", beta2_decay <= 0, "0 or less", beta2_decay)
        _check("eps[0]", eps[0] is None or 0.0 <= eps[0], "0 or more", eps[0])
        _check("eps[1]", 0.0 <= eps[1], "0 or more", eps[1])
        _check("d", 1.0 <= d, "1 or more", d)
        _check("weight_decay", 0.0 <= weight_decay, "0 or more", weight_decay)
        super().__init__(params, {
            "lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d,
            "weight_decay": weight_decay, "foreach": foreach, "maximize": maximize})

    @torch.no_grad()
    def step(self, closure=None):
        """Updates all parameters; returns the loss of `closure` if there is one."""
        loss = evaluate(closure)
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    self._update(p, p.grad, self.state[p], group)
        return loss

    @staticmethod
    def _update(p, g, state, group):
        if g.is_sparse:
            raise RuntimeError("Adafactor takes dense gradients, got a sparse one for a parameter "
                               f"of shape {tuple(p.shape)}")
        if p.is_complex():
            raise RuntimeError(f"Adafactor takes real parameters, got {p.dtype}")
        if not state:
            state["step"] = torch.tensor(0.0, dtype=_get_scalar_dtype())
            if p.dim() > 1:
                rows, cols = list(p.shape), list(p.shape)
                rows[-1], cols[-2] = 1, 1
                state["row_var"] = g.new_zeros(rows)
                state["col_var"] = g.new_zeros(cols)
            else:
                state["variance"] = torch.zeros_like(g, memory_format=torch.preserve_format)
        lr, d = number(group["lr"], group), group["d"]
        eps1, eps2 = group["eps"]
        if eps1 is None:
            eps1 = torch.finfo(p.dtype).eps
        if group["maximize"]:
            g = -g
        state["step"] += 1
        t = state["step"].item()
        weight = t ** group["beta2_decay"]
        rate = min(lr, 1 / t ** 0.5)
        size = max(eps2, p.norm(2).item() / p.numel() ** 0.5) * rate
        if group["weight_decay"] != 0:
            p.mul_(1 - lr * group["weight_decay"])
        if g.dim() > 1:
            rows, cols = state["row_var"], state["col_var"]
            rows.lerp_(g.norm(dim=-1, keepdim=True).square_().div_(g.size(-1)), weight)
            cols.lerp_(g.norm(dim=-2, keepdim=True).square_().div_(g.size(-2)), weight)
            estimate = rows @ cols
            estimate.div_(rows.mean(dim=-2, keepdim=True).clamp_(min=eps1))
        else:
            state["variance"].lerp_(g.square(), weight)
            estimate = state["variance"].clone()
        step = estimate.clamp_(min=eps1 * eps1).rsqrt_().mul_(g)
        clip = max(1.0, step.norm(2).item() / (step.numel() ** 0.5 * d))
        p.add_(step, alpha=-size / clip)
