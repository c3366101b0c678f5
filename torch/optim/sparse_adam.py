"""Adam for sparse gradients: only the rows that the gradient names are touched."""

import torch
from torch.optim.optimizer import Optimizer, _check_betas, _check_lr
from torch.optim._per_tensor import evaluate, number, zeros_like

__all__ = ["SparseAdam"]


class SparseAdam(Optimizer):
    """Adam whose means of untouched elements stay as they are; takes sparse COO gradients only."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, maximize=False):
        _check_lr(lr)
        if not 0.0 < eps:
            raise ValueError(f"eps must be above 0, got {eps}")
        _check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        sparse = [(i, j) for i, group in enumerate(self.param_groups)
                  for j, p in enumerate(group["params"]) if p.is_sparse]
        if sparse:
            raise ValueError("SparseAdam takes dense parameters with sparse gradients; these "
                             f"(group, number) are sparse: {sparse}")

    @torch.no_grad()
    def step(self, closure=None):
        """Updates the elements named by the gradients; returns the loss of `closure`."""
        loss = evaluate(closure)
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            lr = number(group["lr"], group)
            for p in group["params"]:
                if p.grad is None:
                    continue
                if not p.grad.is_sparse:
                    raise RuntimeError("SparseAdam takes sparse gradients, got a dense one for a "
                                       f"parameter of shape {tuple(p.shape)}; see Adam")
                state = self.state[p]
                if not state:
                    state["step"] = 0
                    state["exp_avg"] = zeros_like(p)
                    state["exp_avg_sq"] = zeros_like(p)
                state["step"] += 1
                grad = (-p.grad if group["maximize"] else p.grad).coalesce()
                where, values = grad._indices(), grad._values()
                if values.numel() == 0:
                    continue

                def sparse(v, where=where, shape=grad.shape):
                    return torch.sparse_coo_tensor(where, v, shape)

                m, v = state["exp_avg"], state["exp_avg_sq"]
                old_m = m.sparse_mask(grad)._values()
                step_m = values.sub(old_m).mul_(1 - beta1)
                m.add_(sparse(step_m))
                old_v = v.sparse_mask(grad)._values()
                step_v = values.pow(2).sub_(old_v).mul_(1 - beta2)
                v.add_(sparse(step_v))
                new_m = step_m.add_(old_m)
                denom = step_v.add_(old_v).sqrt_().add_(group["eps"])
                t = state["step"]
                size = lr * (1 - beta2 ** t) ** 0.5 / (1 - beta1 ** t)
                p.add_(sparse(new_m.div_(denom)), alpha=-size)
        return loss
