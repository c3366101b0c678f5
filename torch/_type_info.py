"""torch.finfo and torch.iinfo: limits of element types (IEEE 754, bfloat16, float8)."""
import torch
from torch import _C


def _layout(dtype):
    """Exponent bits, mantissa bits, and whether the top exponent is kept for inf and NaN."""
    d = dtype.to_real() if dtype.is_complex else dtype
    return {_C.float16: (5, 10, True), _C.bfloat16: (8, 7, True), _C.float32: (8, 23, True), _C.float64: (11, 52, True),
            _C.float8_e5m2: (5, 2, True), _C.float8_e4m3fn: (4, 3, False)}.get(d)


class finfo:
    """finfo(dtype=default): bits, eps, max, min, tiny, smallest_normal, resolution of a floating or complex type."""

    def __init__(self, dtype=None):
        dtype = torch.get_default_dtype() if dtype is None else dtype
        if not isinstance(dtype, torch.dtype):
            raise TypeError(f"finfo() takes a torch.dtype, not {type(dtype).__name__}")
        layout = _layout(dtype)
        if layout is None:
            raise TypeError(f"torch.finfo() takes a floating point type, not {dtype}; use torch.iinfo")
        e, m, full = layout
        bias = 2 ** (e - 1) - 1
        real = dtype.to_real() if dtype.is_complex else dtype
        self.dtype = str(real).removeprefix("torch.")
        self.bits = real.itemsize * 8
        self.eps = 2.0 ** -m
        self.max = (2.0 - 2.0 ** -m) * 2.0 ** bias if full else (2.0 - 2.0 ** (1 - m)) * 2.0 ** (bias + 1)
        self.min = -self.max
        self.tiny = self.smallest_normal = 2.0 ** (1 - bias)
        digits = {52: 15, 23: 6, 10: 3, 7: 2}.get(m)
        self.resolution = 10.0 ** -digits if digits else 1.0

    def __repr__(self):
        return (f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
                f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})")

    def __eq__(self, other):
        return isinstance(other, finfo) and self.dtype == other.dtype

    def __hash__(self):
        return hash(("finfo", self.dtype))


class iinfo:
    """iinfo(dtype): bits, max, min of an integer type."""

    def __init__(self, dtype):
        if not isinstance(dtype, torch.dtype) or dtype.is_floating_point or dtype.is_complex or dtype is _C.bool:
            raise TypeError(f"torch.iinfo() takes an integer type, not {dtype}; use torch.finfo")
        self.dtype = str(dtype).removeprefix("torch.")
        self.bits = dtype.itemsize * 8
        self.max = 2 ** (self.bits - 1) - 1 if dtype.is_signed else 2 ** self.bits - 1
        self.min = -2 ** (self.bits - 1) if dtype.is_signed else 0

    def __repr__(self):
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"

    def __eq__(self, other):
        return isinstance(other, iinfo) and self.dtype == other.dtype

    def __hash__(self):
        return hash(("iinfo", self.dtype))
