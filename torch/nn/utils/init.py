"""Making modules without initialising their parameters."""

from __future__ import annotations

import inspect

import torch

__all__ = ["skip_init"]


def skip_init(module_cls, *args, **kwargs):
    """A `module_cls` made with these arguments, its parameters and buffers uninitialised.

    Args:
        module_cls (type): a Module whose constructor takes ``device`` and uses it for every
            parameter and buffer.
        device (optional): where the module will be; the CPU by default.

    Raises RuntimeError where `module_cls` is no Module or takes no device.
    """
    if not issubclass(module_cls, torch.nn.Module):
        raise RuntimeError(f"skip_init needs a class of modules, but got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError(
            f"skip_init needs a constructor that takes device, but {module_cls.__name__} does not"
        )
    final_device = kwargs.pop("device", "cpu")
    kwargs["device"] = "meta"
    return module_cls(*args, **kwargs).to_empty(device=final_device)
