"""Splitting batches over devices and joining results."""

from __future__ import annotations

import torch

__all__ = ["scatter", "scatter_kwargs", "gather"]


def scatter(inputs, target_gpus, dim=0):
    """The batch split over devices: not implemented."""
    raise NotImplementedError(f"scatter to the devices {list(target_gpus)} is not implemented")


def scatter_kwargs(inputs, kwargs, target_gpus, dim=0):
    """Arguments split over devices: not implemented."""
    raise NotImplementedError(f"scatter to the devices {list(target_gpus)} is not implemented")


def gather(outputs, target_device, dim=0):
    """Joins results along `dim` on `target_device`.

    Args:
        outputs (list): one result per device: tensors, or tuples, lists and dicts of them.
        target_device: where the joined result is.
    """
    first = outputs[0]
    if isinstance(first, torch.Tensor):
        if all(t.dim() == 0 for t in outputs) and dim == 0:
            return torch.stack([t.to(target_device) for t in outputs])
        return torch.cat([t.to(target_device) for t in outputs], dim)
    if first is None:
        return None
    if isinstance(first, dict):
        if not all(len(first) == len(d) for d in outputs):
            raise ValueError("all dicts to be gathered must have the same number of keys")
        return type(first)((k, gather([d[k] for d in outputs], target_device, dim)) for k in first)
    if hasattr(first, "_fields"):
        return type(first)._make(gather(parts, target_device, dim) for parts in zip(*outputs))
    return type(first)(gather(parts, target_device, dim) for parts in zip(*outputs))
