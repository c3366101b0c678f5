"""Modules that learn the shape of their parameters from the first input they see."""

from __future__ import annotations

import warnings

import torch
from torch.nn.parameter import is_lazy

__all__ = ["LazyModuleMixin"]


class LazyModuleMixin:
    """Put before a `Module` in a class's bases: its uninitialized parameters and buffers are
    given their shapes by `initialize_parameters`, called with the first input.

    A class may name `cls_to_become`, the ordinary class it turns into then.
    """

    cls_to_become = None

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(
            self._infer_parameters, with_kwargs=True
        )
        warnings.warn("lazy modules are new, and their interface may still change", stacklevel=2)

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        # Uninitialized tensors are saved as they are: they have nothing to detach.
        for name, param in self._parameters.items():
            if param is not None:
                destination[prefix + name] = (
                    param if is_lazy(param) or keep_vars else param.detach()
                )
        for name, buf in self._buffers.items():
            if buf is not None and name not in self._non_persistent_buffers_set:
                destination[prefix + name] = buf if is_lazy(buf) or keep_vars else buf.detach()

    def _lazy_load_hook(
        self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ):
        for name, param in [*self._parameters.items(), *self._buffers.items()]:
            saved = state_dict.get(prefix + name)
            if saved is not None and param is not None and is_lazy(param) and not is_lazy(saved):
                with torch.no_grad():
                    param.materialize(saved.shape)

    def initialize_parameters(self, *args, **kwargs):
        """Gives every uninitialized tensor its shape; called with the arguments of `forward`."""
        raise NotImplementedError(f"{type(self).__name__} does not define initialize_parameters")

    def has_uninitialized_params(self):
        """Whether any parameter or buffer of this module itself is uninitialized."""
        return any(is_lazy(t) for t in [*self._parameters.values(), *self._buffers.values()])

    def _infer_parameters(self, module, args, kwargs=None):
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(
                f"{type(self).__name__} still has uninitialized parameters after "
                "initialize_parameters: it must materialize all of them"
            )
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook
        del module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

    def _replicate_for_data_parallel(self):
        raise RuntimeError(
            "a module with uninitialized parameters cannot be replicated: run it once before "
            "DataParallel"
        )
