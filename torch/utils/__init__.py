"""What programs use around tensors: data loading, checkpointing, hooks, trees, exchange."""

import importlib
import weakref

import torch

__all__ = ["set_module", "swap_tensors"]

# Loaded when they are first named, so that `import torch` stays light.
_SUBMODULES = {"backcompat", "benchmark", "checkpoint", "collect_env", "cpp_extension", "data",
               "deterministic", "dlpack", "flop_counter", "hooks", "mobile_optimizer", "model_zoo",
               "tensorboard", "weak", "_content_store", "_device", "_foreach_utils",
               "_mode_utils", "_ordered_set", "_python_dispatch", "_pytree", "_contextlib",
               "_traceback"}


def __getattr__(name):
    if name in _SUBMODULES:
        try:
            return importlib.import_module(f"torch.utils.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"torch.utils.{name}":
                raise
    from torch import _absent
    raise _absent.error(__name__, name)


def set_module(obj, mod):
    """Makes `obj` name `mod` as the module it belongs to."""
    if not isinstance(mod, str):
        raise TypeError(f"mod must be a str, got {type(mod).__name__}")
    obj.__module__ = mod


def swap_tensors(t1, t2):
    """Exchanges everything of two tensors but their identity: data, class, slots, attributes.

    Raises RuntimeError where a weak reference to one of them, or different slots, forbid it.
    """
    for t in (t1, t2):
        if weakref.getweakrefs(t):
            raise RuntimeError("a tensor with weak references to it cannot be swapped")
    slots1 = set(getattr(type(t1), "__slots__", ()))
    slots2 = set(getattr(type(t2), "__slots__", ()))
    if slots1 != slots2:
        raise RuntimeError(f"tensors with different slots cannot be swapped: {slots1} and {slots2}")
    t1.__class__, t2.__class__ = t2.__class__, t1.__class__
    t1.__dict__, t2.__dict__ = t2.__dict__, t1.__dict__
    for slot in slots1:
        a, b = getattr(t1, slot, None), getattr(t2, slot, None)
        setattr(t1, slot, b)
        setattr(t2, slot, a)
    torch._C._swap_tensor_impl(t1, t2)
