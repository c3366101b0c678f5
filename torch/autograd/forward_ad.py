"""Forward-mode differentiation: tensors that carry a tangent through what is computed from them."""
from typing import NamedTuple, Optional

import torch
from torch import _C
from torch.autograd.grad_mode import _Context

__all__ = ["UnpackedDualTensor", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual", "dual_level"]

_current_level = -1


class UnpackedDualTensor(NamedTuple):
    """What unpack_dual gives: the value, and its tangent or None."""
    primal: torch.Tensor
    tangent: Optional[torch.Tensor]


def enter_dual_level():
    """Opens a level, in which make_dual may be called, and gives its number. RuntimeError where one is open."""
    global _current_level
    level = _C._enter_dual_level()
    _current_level = level
    return level


def exit_dual_level(*, level=None):
    """Ends the level: every tangent made in it is dropped. RuntimeError where it is not the one that is open."""
    global _current_level
    if level is None:
        level = _current_level
    if level != _current_level:
        raise RuntimeError(f"level {level} is not the last one opened ({_current_level}), so it cannot be ended")
    if level < 0:
        raise RuntimeError("no dual level is open, so none can be ended")
    _C._exit_dual_level(level=level)
    _current_level = level - 1


def make_dual(tensor, tangent, *, level=None):
    """A view of `tensor` that carries `tangent`, of the same shape, into everything computed from it.

    ValueError where the type of `tensor` is neither floating nor complex; RuntimeError where shapes differ, either has
    a tangent already, or no level is open.
    """
    if level is None:
        level = _current_level
    if level < 0:
        raise RuntimeError("make_dual needs an open dual level: call it within forward_ad.dual_level()")
    if not (tensor.is_floating_point() or tensor.is_complex()):
        raise ValueError(f"make_dual: the primal is {tensor.dtype}; only floating and complex types have tangents")
    if not (tangent.is_floating_point() or tangent.is_complex()):
        raise ValueError(f"make_dual: the tangent is {tangent.dtype}; only floating and complex types can be one")
    return _C._make_dual(tensor, tangent, level=level)


def unpack_dual(tensor, *, level=None):
    """(primal, tangent) of a dual tensor; the tangent is None where it has none."""
    if level is None:
        level = _current_level
    if level < 0:
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(*_C._unpack_dual(tensor, level=level))


class dual_level(_Context):
    """A context in which a level is open; tangents made within end with it."""

    def __enter__(self):
        return enter_dual_level()

    def __exit__(self, *exc):
        exit_dual_level()


_is_fwd_grad_enabled = _C._is_fwd_grad_enabled


class _set_fwd_grad_enabled(_Context):
    """Switches forward mode to `mode`, at once; as a context, until its end."""

    def __init__(self, mode):
        self.prev = _is_fwd_grad_enabled()
        self.mode = mode
        _C._set_fwd_grad_enabled(mode)

    def __enter__(self):
        pass

    def __exit__(self, *exc):
        _C._set_fwd_grad_enabled(self.prev)

    def clone(self):
        return type(self)(self.mode)
