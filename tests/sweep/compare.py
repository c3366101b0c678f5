"""Equality of results: within units in the last place, within a tolerance, or of every bit."""

import numpy as np
import torch

from sweep.tensors import to_numpy

DIGITS = {torch.float64: (53, -1022), torch.float32: (24, -126), torch.float16: (11, -14), torch.bfloat16: (8, -126)}
RTOL = {torch.float64: 1e-10, torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}
REAL = {torch.complex64: torch.float32, torch.complex128: torch.float64}


def last_place(x, dtype):
    """The distance of neighbouring numbers of the type at x."""
    digits, least = DIGITS[dtype]
    with np.errstate(all="ignore"):
        e = np.where(x == 0, least, np.floor(np.log2(np.abs(np.where(x == 0, 1, x)))))
    e = np.where(np.isfinite(x), np.maximum(e, least), least)
    return np.exp2(e - digits + 1)


def differs(got, want, ulp=None, tol=1.0):
    """None, or in words how the tensor `got` is not `want`, an array of the same kind."""
    want = np.asarray(want)
    if tuple(got.shape) != want.shape:
        return f"shape {list(got.shape)}, expected {list(want.shape)}"
    if not (got.dtype.is_floating_point or got.dtype.is_complex):
        have = to_numpy(got)
        if want.dtype.kind == "f":
            want = want.astype(np.int64)
        if got.dtype == torch.bool:
            want = want.astype(bool)
        if want.dtype.kind in "iu" and got.dtype not in (torch.bool, torch.uint64):
            want = to_numpy(torch.from_numpy(np.ascontiguousarray(want.astype(np.int64))).to(got.dtype)).reshape(
                want.shape
            )
        bad = have != want
        return None if not bad.any() else _first(have, want, bad)
    have = to_numpy(got)
    if got.dtype.is_complex:
        want = want.astype(np.complex128)
        dtype = REAL[got.dtype]
        scale = np.abs(want)
        return _parts(have.real, want.real, dtype, ulp, tol, scale) or _parts(
            have.imag, want.imag, dtype, ulp, tol, scale
        )
    return _parts(have, want.astype(np.float64), got.dtype, ulp, tol, np.abs(want.astype(np.float64)))


def _parts(have, want, dtype, ulp, tol, scale):
    with np.errstate(all="ignore"):
        rounded = to_numpy(torch.from_numpy(np.array(want, copy=True)).to(dtype)).reshape(want.shape)
        same = (have == rounded) | (np.isnan(have) & np.isnan(want))
        if ulp is not None:
            bound = ulp * last_place(want, dtype)
        else:
            finite = scale[np.isfinite(scale)]
            level = min(1.0, float(finite.max())) if finite.size else 0.0
            bound = tol * RTOL[dtype] * (np.where(np.isfinite(scale), scale, 0) + level)
        near = np.abs(have - want) <= bound
        largest = torch.finfo(dtype).max
        near |= np.isinf(have) & (np.abs(want) >= largest * (1 - 1e-3)) & (np.sign(have) == np.sign(want))
    bad = ~(same | near)
    return _first(have, want, bad) if bad.any() else None


def _first(have, want, bad):
    at = tuple(int(i[0]) for i in np.nonzero(bad)) if bad.ndim else ()
    return f"{int(bad.sum())} of {bad.size} elements differ; at {list(at)}: {have[at]!r}, expected {want[at]!r}"


def bits(t):
    """The bytes of the elements in logical order."""
    t = t.detach().resolve_conj().resolve_neg()
    if t.dtype == torch.bfloat16:
        t = t.contiguous().view(torch.int16)
    return t.contiguous().numpy().tobytes()


def same_bits(a, b):
    """Whether two results (tensors, numbers, lists of them) hold the same elements, types and shapes."""
    if isinstance(a, torch.Tensor) or isinstance(b, torch.Tensor):
        return (
            isinstance(a, torch.Tensor)
            and isinstance(b, torch.Tensor)
            and a.dtype == b.dtype
            and a.shape == b.shape
            and bits(a) == bits(b)
        )
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(same_bits(x, y) for x, y in zip(a, b))
    return a == b or (a != a and b != b)


def flat(result):
    """The tensors and numbers of a result, in order."""
    if isinstance(result, (list, tuple)):
        return [x for r in result for x in flat(r)]
    return [result]
