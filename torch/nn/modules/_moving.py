"""How a `Module` moves and casts its parameters and buffers: `to` and the methods like it."""

from __future__ import annotations

import warnings

import torch
from torch import Tensor
from torch.nn.parameter import Parameter


_class_of = type  # a method below has the builtin's name


def _same_place(a, b):
    """Whether the values of `b` can be put under the tensor object `a`."""
    return a.is_meta == b.is_meta and _class_of(a.data) is _class_of(b.data)


def _parse_to(*args, **kwargs):
    """Reads the arguments of `Module.to`: (device, dtype, non_blocking, memory_format). Also torch._C._nn._parse_to."""
    memory_format = kwargs.pop("memory_format", None)
    non_blocking = kwargs.pop("non_blocking", None)
    kwargs.pop("copy", None)
    device, dtype = kwargs.pop("device", None), kwargs.pop("dtype", None)
    other = kwargs.pop("tensor", kwargs.pop("other", None))
    if kwargs:
        raise TypeError(f"to() got an unexpected keyword argument {next(iter(kwargs))!r}")
    args = list(args)
    if args and isinstance(args[0], Tensor):
        other = args.pop(0)
    elif args and isinstance(args[0], torch.dtype):
        dtype = args.pop(0)
    elif args:
        first = args.pop(0)
        if first is not None:
            if not isinstance(first, (str, int, torch.device)) or isinstance(first, bool):
                raise TypeError(
                    f"to() expects a device, a dtype or a tensor first, but got "
                    f"{_class_of(first).__name__}"
                )
            device = first
        if args and (args[0] is None or isinstance(args[0], torch.dtype)):
            dtype = args.pop(0)
    if args:
        non_blocking = args.pop(0)
        if not isinstance(non_blocking, bool):
            raise TypeError(
                f"to() expects a bool as non_blocking, but got {_class_of(non_blocking).__name__}"
            )
    if len(args) > 1:
        raise TypeError("to() got too many positional arguments")
    if other is not None:
        device, dtype = other.device, other.dtype
    if device is not None:
        device = torch.device(device)
    if dtype is not None and not isinstance(dtype, torch.dtype):
        raise TypeError(f"to() expects a torch.dtype as dtype, but got {_class_of(dtype).__name__}")
    return device, dtype, bool(non_blocking), memory_format


def _apply(self, fn, recurse=True):
    if recurse:
        for module in self.children():
            module._apply(fn)
    for key, param in self._parameters.items():
        if param is None:
            continue
        with torch.no_grad():
            param_applied = fn(param)
        grad = param.grad
        if _same_place(param, param_applied):
            param.data = param_applied
            out_param = param
        else:
            out_param = Parameter(param_applied, param.requires_grad)
            self._parameters[key] = out_param
        if grad is not None:
            with torch.no_grad():
                grad_applied = fn(grad)
            if out_param is param and _same_place(grad, grad_applied):
                # Set anew, since the gradient's dtype may only change with its parameter's.
                param.grad = None
                param.grad = grad_applied.requires_grad_(grad.requires_grad)
            else:
                out_param.grad = grad_applied.requires_grad_(grad.requires_grad)
    for key, buf in self._buffers.items():
        if buf is not None:
            self._buffers[key] = fn(buf)
    return self


def cuda(self, device=None):
    """Moves parameters and buffers to a CUDA device, in place."""
    return self._apply(lambda t: t.cuda(device))


def ipu(self, device=None):
    """Moves parameters and buffers to an IPU, in place."""
    return self._apply(lambda t: t.ipu(device))


def xpu(self, device=None):
    """Moves parameters and buffers to an XPU, in place."""
    return self._apply(lambda t: t.xpu(device))


def mtia(self, device=None):
    """Moves parameters and buffers to an MTIA device, in place."""
    return self._apply(lambda t: t.mtia(device))


def cpu(self):
    """Moves parameters and buffers to the CPU, in place."""
    return self._apply(lambda t: t.cpu())


def type(self, dst_type):
    """Casts all parameters and buffers to `dst_type`, in place."""
    return self._apply(lambda t: t.type(dst_type))


def float(self):
    """Casts floating-point parameters and buffers to float32, in place."""
    return self._apply(lambda t: t.float() if t.is_floating_point() else t)


def double(self):
    """Casts floating-point parameters and buffers to float64, in place."""
    return self._apply(lambda t: t.double() if t.is_floating_point() else t)


def half(self):
    """Casts floating-point parameters and buffers to float16, in place."""
    return self._apply(lambda t: t.half() if t.is_floating_point() else t)


def bfloat16(self):
    """Casts floating-point parameters and buffers to bfloat16, in place."""
    return self._apply(lambda t: t.bfloat16() if t.is_floating_point() else t)


def to_empty(self, *, device, recurse: bool = True):
    """Gives parameters and buffers new, uninitialised memory on `device`."""
    return self._apply(lambda t: torch.empty_like(t, device=device), recurse=recurse)


def to(self, *args, **kwargs):
    """Moves and casts parameters and buffers, in place; returns self.

    Called as ``to(device, dtype, non_blocking)``, ``to(dtype, non_blocking)``,
    ``to(tensor, non_blocking)`` or ``to(memory_format=...)``. Only floating-point and
    complex tensors are cast; a memory format acts on tensors of 4 or 5 dimensions.
    """
    device, dtype, non_blocking, memory_format = _parse_to(*args, **kwargs)
    if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
        raise TypeError(
            f"Module.to casts to floating-point or complex dtypes only, but got {dtype}"
        )
    if dtype is not None and dtype.is_complex:
        warnings.warn(
            "modules of complex dtype are new, and some may not work as expected", stacklevel=2
        )

    def convert(t):
        cast = dtype if t.is_floating_point() or t.is_complex() else None
        if memory_format is not None and t.dim() in (4, 5):
            return t.to(device, cast, non_blocking, memory_format=memory_format)
        return t.to(device, cast, non_blocking)

    return self._apply(convert)
