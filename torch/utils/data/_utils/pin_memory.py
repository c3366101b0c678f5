"""Batches in memory that a device can read directly."""

import collections

import torch


def pin_memory(data, device=None):
    """The tensors of a batch in pinned memory; objects with a method pin_memory give it."""
    if isinstance(data, torch.Tensor):
        return data.pin_memory()
    if hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, (str, bytes)):
        return data
    if isinstance(data, collections.abc.Mapping):
        pinned = {k: pin_memory(v, device) for k, v in data.items()}
        return pinned if type(data) is dict else type(data)(pinned)
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(pin_memory(v, device) for v in data))
    if isinstance(data, tuple):
        return [pin_memory(v, device) for v in data]
    if isinstance(data, collections.abc.Sequence):
        return type(data)([pin_memory(v, device) for v in data])
    return data
