"""Floats to integers at the limits of what fits; what fits is exact, of every type and in every lane."""
import numpy as np
import pytest
import torch
import triton
import triton.language as tl


@triton.jit
def cast_kernel(x, out, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, tl.load(x + i).to(out.dtype.element_ty))


@triton.jit
def scalar_cast_kernel(x, out):
    i = tl.program_id(0)
    tl.store(out + i, tl.load(x + i).to(out.dtype.element_ty))


INTEGERS = [torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.uint16, torch.uint32, torch.uint64]


def fitting(source, dtype):
    """Numbers of `source` that truncate to integers of `dtype`: the limits, their neighbours and some between."""
    info = torch.iinfo(dtype)
    around = [float(info.min), float(info.max) + 1, float(info.max), 0.0, 0.75, info.max / 2, info.max / 2 + 1, info.max * 0.75, info.min * 0.75, info.min - 0.5]
    found = set()
    for v in around:
        x = source(v)
        found |= {float(x), float(np.nextafter(x, source(np.inf))), float(np.nextafter(x, source(-np.inf)))}
    # Below an unsigned zero the fraction alone is lost.
    return sorted(v for v in found if info.min <= int(v) <= info.max)


@pytest.mark.parametrize("interpreted", [False, True])
@pytest.mark.parametrize("source", [np.float32, np.float64])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_what_fits_is_exact(dtype, source, interpreted, monkeypatch):
    values = fitting(source, dtype)
    B = 32
    x = torch.from_numpy(np.array((values * B)[:B], source))
    expected = [int(v) for v in x.tolist()]
    if interpreted:
        monkeypatch.setenv("TRITON_INTERPRET", "1")
    cast_kernel.device_caches_clear()
    scalar_cast_kernel.device_caches_clear()
    for kernel, grid, args in ((cast_kernel, (1,), (B,)), (scalar_cast_kernel, (B,), ())):
        out = torch.zeros(B, dtype=dtype)
        kernel[grid](x, out, *args)
        assert out.tolist() == expected
    cast_kernel.device_caches_clear()
    scalar_cast_kernel.device_caches_clear()
