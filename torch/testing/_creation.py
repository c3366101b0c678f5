"""make_tensor: random tensors of any dtype for tests."""

import collections.abc
import math

import torch

__all__ = ["make_tensor"]

_INTS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64,
         *(getattr(torch, n) for n in ("uint16", "uint32", "uint64") if hasattr(torch, n)))
_FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
_FLOAT8 = tuple(getattr(torch, n) for n in (
    "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz") if hasattr(torch, n))
_COMPLEX = (torch.complex32, torch.complex64, torch.complex128)


def _uniform(t, low, high):
    if low >= high:
        return t.fill_(low)
    if high - low > torch.finfo(t.dtype).max:
        return t.uniform_(low / 2, high / 2).mul_(2)
    return t.uniform_(low, high)


def make_tensor(*shape, dtype, device, low=None, high=None, requires_grad=False,
                noncontiguous=False, exclude_zero=False, memory_format=None):
    """A tensor of uniform values in [low, high).

    The defaults are [-9, 9), [0, 10) for uint8, [-9, 10) for other integers. `exclude_zero` gives
    the smallest positive value in place of 0; `noncontiguous` every second element of a larger
    tensor. Raises ValueError for bounds that hold no value of the dtype.
    """
    if len(shape) == 1 and isinstance(shape[0], collections.abc.Sequence):
        shape = tuple(shape[0])
    if noncontiguous and memory_format is not None:
        raise ValueError(f"noncontiguous and memory_format={memory_format} exclude each other")
    if requires_grad and not (dtype.is_floating_point or dtype.is_complex):
        raise ValueError(f"requires_grad=True needs a floating or complex dtype, got {dtype}")

    def bounds(default_low, default_high, least, most, integral):
        lo, hi = (default_low if low is None else low), (default_high if high is None else high)
        if any(isinstance(v, float) and math.isnan(v) for v in (lo, hi)):
            raise ValueError(f"low and high must not be NaN, got {lo} and {hi}")
        if lo == hi and dtype in (*_FLOATS, *_COMPLEX):
            return max(lo, least), min(hi, most)
        if lo >= hi:
            raise ValueError(f"low must be below high, got {lo} and {hi}")
        if hi < least or lo > most:
            raise ValueError(f"no value of {dtype} lies between {lo} and {hi}")
        lo, hi = max(lo, least), min(hi, most)
        return (math.ceil(lo), math.ceil(hi)) if integral else (lo, hi)

    final_shape = tuple(shape)
    if noncontiguous and len(shape) > 0 and math.prod(shape) > 1:
        shape = (*shape[:-1], 2 * shape[-1])
    if dtype == torch.bool:
        lo, hi = bounds(0, 2, 0, 2, True)
        result = torch.randint(lo, hi, shape, device=device, dtype=dtype)
    elif dtype in _INTS:
        info = torch.iinfo(dtype)
        lo, hi = bounds(0 if dtype == torch.uint8 else -9, 10, info.min,
                        # randint leaves out its upper bound
                        info.max + 1 if dtype != torch.int64 else info.max, True)
        result = torch.randint(lo, hi, shape, device=device, dtype=dtype)
    elif dtype in _COMPLEX:
        part = {torch.complex32: torch.float16, torch.complex64: torch.float32,
                torch.complex128: torch.float64}[dtype]
        info = torch.finfo(part)
        lo, hi = bounds(-9, 9, info.min, info.max, False)
        result = torch.empty(shape, device=device, dtype=dtype)
        _uniform(torch.view_as_real(result), lo, hi)
    elif dtype in _FLOATS:
        info = torch.finfo(dtype)
        lo, hi = bounds(-9, 9, info.min, info.max, False)
        result = _uniform(torch.empty(shape, device=device, dtype=dtype), lo, hi)
    elif dtype in _FLOAT8:
        info = torch.finfo(dtype)
        lo, hi = bounds(-9, 9, info.min, info.max, False)
        result = _uniform(torch.empty(shape, device=device, dtype=torch.float32), lo, hi).to(dtype)
    else:
        raise TypeError(f"random tensors of {dtype} are not made; give a floating, complex, "
                        "integer or bool dtype")
    if tuple(shape) != final_shape:
        result = result[..., 1::2]
    elif memory_format is not None:
        result = result.clone(memory_format=memory_format)
    if exclude_zero:
        least = torch.finfo(dtype).tiny if dtype.is_floating_point or dtype.is_complex else 1
        result[result == 0] = least
    if dtype.is_floating_point or dtype.is_complex:
        result.requires_grad = requires_grad
    return result
