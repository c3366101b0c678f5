"""Weight normalisation by a hook before forward (Salimans and Kingma, 2016)."""

from __future__ import annotations

import warnings

import torch
from torch.nn.parameter import Parameter, UninitializedParameter

__all__ = ["WeightNorm", "weight_norm", "remove_weight_norm"]


class WeightNorm:
    """The hook: computes ``weight = g * v / |v|`` from the parameters g and v."""

    def __init__(self, name: str, dim: int) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module):
        g = getattr(module, self.name + "_g")
        v = getattr(module, self.name + "_v")
        return torch._weight_norm(v, g, self.dim)

    @staticmethod
    def apply(module, name: str, dim: int):
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, WeightNorm) and hook.name == name:
                raise RuntimeError(f"weight norm is already applied to the parameter {name!r}")
        fn = WeightNorm(name, dim)
        weight = getattr(module, name)
        if isinstance(weight, UninitializedParameter):
            raise ValueError(
                "weight norm needs an initialised parameter: run the lazy module once before"
            )
        del module._parameters[name]
        module.register_parameter(
            name + "_g", Parameter(torch.norm_except_dim(weight, 2, fn.dim).data)
        )
        module.register_parameter(name + "_v", Parameter(weight.data))
        setattr(module, name, fn.compute_weight(module))
        module.register_forward_pre_hook(fn)
        return fn

    def remove(self, module) -> None:
        weight = self.compute_weight(module)
        delattr(module, self.name)
        del module._parameters[self.name + "_g"]
        del module._parameters[self.name + "_v"]
        setattr(module, self.name, Parameter(weight.data))

    def __call__(self, module, inputs) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module, name: str = "weight", dim: int = 0):
    """Deprecated, for `torch.nn.utils.parametrizations.weight_norm`: splits the parameter `name`
    into a magnitude ``name_g`` and a direction ``name_v``; returns `module`.

    The norm is over all dimensions but `dim`, or over all for None.
    """
    warnings.warn(
        "torch.nn.utils.weight_norm is deprecated: use torch.nn.utils.parametrizations.weight_norm",
        FutureWarning,
        stacklevel=2,
    )
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module, name: str = "weight"):
    """Makes the parameter `name` one tensor again; ValueError without `weight_norm`."""
    for k, hook in module._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[k]
            return module
    raise ValueError(f"weight_norm of {name!r} was not found in {module}")
