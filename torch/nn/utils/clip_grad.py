"""Limiting gradients by norm or by value."""

from __future__ import annotations

import warnings

import torch
from torch import Tensor

__all__ = [
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "get_total_norm",
]


def _grads(parameters):
    if isinstance(parameters, Tensor):
        parameters = [parameters]
    else:
        once = not hasattr(parameters, "__len__")
        parameters = list(parameters)
        if once and not parameters:
            warnings.warn(
                "the iterator of parameters is empty: was it used up before?", stacklevel=3
            )
    return [p.grad for p in parameters if p.grad is not None]


@torch.no_grad()
def get_total_norm(
    tensors, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
):
    """The `norm_type`-norm of all tensors taken as one vector: a scalar tensor.

    Raises RuntimeError where it is not finite and `error_if_nonfinite`. `foreach` is taken for
    compatibility.
    """
    tensors = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    norm_type = float(norm_type)
    if not tensors:
        return torch.tensor(0.0)
    first = tensors[0].device
    norms = [torch.linalg.vector_norm(t, norm_type).to(first) for t in tensors]
    total = torch.linalg.vector_norm(torch.stack(norms), norm_type)
    if error_if_nonfinite and not bool(total.isfinite()):
        raise RuntimeError(
            f"the norm of order {norm_type} is {total.item()}; with error_if_nonfinite=False it "
            "is used "
            "as it is"
        )
    return total


@torch.no_grad()
def clip_grads_with_norm_(
    parameters, max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scales the gradients by ``min(1, max_norm / (total_norm + 1e-6))``, in place."""
    # Multiplying by 1 instead of asking keeps the CPU from waiting for the norm.
    scale = torch.clamp(float(max_norm) / (total_norm + 1e-6), max=1.0)
    for g in _grads(parameters):
        g.mul_(scale.to(g.device))


@torch.no_grad()
def clip_grad_norm_(
    parameters,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
):
    """Scales the gradients so that their norm, all taken as one vector, is at most `max_norm`.

    Returns the norm before, a scalar tensor. Raises RuntimeError as `get_total_norm`.
    """
    parameters = [parameters] if isinstance(parameters, Tensor) else parameters
    once = not hasattr(parameters, "__len__")
    parameters = list(parameters)
    if once and not parameters:
        warnings.warn("the iterator of parameters is empty: was it used up before?", stacklevel=2)
    grads = [p.grad for p in parameters if p.grad is not None]
    total = get_total_norm(grads, norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(parameters, max_norm, total, foreach)
    return total


def clip_grad_norm(
    parameters,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
):
    """Deprecated: the same as `clip_grad_norm_`."""
    warnings.warn("clip_grad_norm is deprecated: use clip_grad_norm_", FutureWarning, stacklevel=2)
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


@torch.no_grad()
def clip_grad_value_(parameters, clip_value: float, foreach: bool | None = None) -> None:
    """Clamps each element of the gradients to +-`clip_value`, in place."""
    clip_value = float(clip_value)
    for g in _grads(parameters):
        g.clamp_(-clip_value, clip_value)
