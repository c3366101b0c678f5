"""Parameters as one vector, and back."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def _check_param_device(param, old):
    """The common device of the parameters so far; TypeError where `param` is elsewhere."""
    if old is not None and param.device != old:
        raise TypeError(f"all parameters must be on one device, but found {old} and {param.device}")
    return param.device


def parameters_to_vector(parameters):
    """All parameters, flattened and joined: a tensor of one dimension."""
    device, flat = None, []
    for param in parameters:
        device = _check_param_device(param, device)
        flat.append(param.view(-1))
    return torch.cat(flat)


def vector_to_parameters(vec, parameters) -> None:
    """Lets the parameters share the memory of the pieces of `vec`, in order.

    Raises TypeError where `vec` is no tensor.
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"vec must be a torch.Tensor, but got {torch.typename(vec)}")
    device, at = None, 0
    for param in parameters:
        device = _check_param_device(param, device)
        n = param.numel()
        param.data = vec[at : at + n].view_as(param).data
        at += n
