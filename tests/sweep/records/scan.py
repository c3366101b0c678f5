"""Scans and differences."""

import numpy as np
import torch

from sweep.cases import along, call, calls
from sweep.record import T, bad, op
from sweep.records.reduce import wide


def scan(f):
    return lambda x, dim: f(x.reshape(1), axis=0).reshape(()) if x.ndim == 0 else f(x, axis=dim)


op(
    "cumsum",
    along() + [call(T(2, 3), 1, dtype=torch.float64).but(types="fi")],
    scan(np.cumsum),
    types="fcib",
    result=wide,
    tol=2,
)
op(
    "cumprod",
    along(0.5, 1.5, ints=(1, 2))
    + [call(T(3, values=[2.0, 0.0, 3.0]), 0).but(types="f"), call(T(4, values=[2.0, 0.0, 0.0, 3.0]), 0).but(types="f")],
    scan(np.cumprod),
    types="fcib",
    result=wide,
    tol=4,
)


def extremes(better):
    def one(v):
        values, at = [], []
        for i, x in enumerate(v):
            new = i == 0 or x != x or (values[-1] == values[-1] and better(x, values[-1]))
            values.append(x if new else values[-1])
            at.append(i if new else at[-1])
        return np.array(values, v.dtype), np.array(at, np.int64)

    def g(x, dim):
        if x.ndim == 0:
            return x, np.int64(0)
        if x.size == 0:
            return x, np.zeros(x.shape, np.int64)
        return tuple(np.apply_along_axis(lambda v, i=i: one(v)[i], dim, x) for i in (0, 1))

    return g


op("cummax", along(), extremes(lambda a, b: a >= b), result=["same", torch.int64])
op("cummin", along(), extremes(lambda a, b: a <= b), result=["same", torch.int64])


def log_cum_sum_exp(x, dim):
    if x.ndim == 0 or x.size == 0:
        return x
    if x.dtype.kind == "c":
        return np.log(np.cumsum(np.exp(x), axis=dim))
    with np.errstate(all="ignore"):
        top = np.maximum.accumulate(x, axis=dim)
        out = np.empty_like(x)
        for k in range(x.shape[dim]):
            part = np.take(x, range(k + 1), axis=dim)
            m = np.max(part, axis=dim, keepdims=True)
            safe = np.where(np.isfinite(m), m, 0)
            s = np.log(np.sum(np.exp(part - safe), axis=dim, keepdims=True)) + safe
            index = [slice(None)] * x.ndim
            index[dim] = slice(k, k + 1)
            out[tuple(index)] = np.where(np.isposinf(m), np.where(np.isnan(top[tuple(index)]), np.nan, np.inf), s)
    return out


small = [call(T(2, 3, 4, lo=-0.6, hi=0.6), 1).but(types="c"), call(T(3, 4, lo=-0.6, hi=0.6), -1).but(types="c")]
some = along(big=False)
op(
    "logcumsumexp",
    calls(*[c.but(types="f") for c in some], *small, call(T(5, 1031), 1).but(big=True), errors=some.errors),
    log_cum_sum_exp,
    types="fc",
    tol=2,
)
op(
    "diff",
    calls(
        call(T(2, 5)),
        call(T(2, 5), 2),
        call(T(4, 3), 1, 0),
        call(T(2, 3), 1, -1, T(2, 1), T(2, 2)),
        call(T(2, 3), 0),
        call(T(2, 2), 3),
        errors=[bad(RuntimeError, T(), says="dimension"), bad(IndexError, T(2, 3), 1, 5, says=["5", "2"])],
    ),
    lambda x, n=1, dim=-1, before=None, after=None: (
        (x[..., :-1] ^ x[..., 1:] if n == 1 else np.diff(x, n))
        if x.dtype == bool and dim == -1 and before is None
        else np.diff(x, n, dim, **{k: v for k, v in (("prepend", before), ("append", after)) if v is not None})
    ),
    types="fcib",
)
for name in ("trapezoid", "trapz"):
    op(
        name,
        calls(
            call(T(2, 5)),
            call(T(2, 5), dx=0.5),
            call(T(4, 3), dim=0),
            call(T(2, 3), T(3)).but(types="fc"),
            call(T(2, 3), T(2, 3), dim=0).but(types="fc"),
            errors=[bad(IndexError, T(2, 3), dim=5, says=["5", "2"])],
        ),
        lambda y, x=None, dx=1.0, dim=-1: np.trapezoid(y, x, dx, dim),
        types="fci",
    )


def running(y, x=None, dx=1.0, dim=-1):
    y = np.moveaxis(y, dim, -1)
    step = dx if x is None else np.diff(np.moveaxis(np.broadcast_to(x, np.moveaxis(y, -1, dim).shape), dim, -1))
    return np.moveaxis(np.cumsum(step * (y[..., 1:] + y[..., :-1]) / 2, -1), -1, dim)


op(
    "cumulative_trapezoid",
    calls(
        call(T(2, 5)),
        call(T(2, 5), dx=0.5),
        call(T(4, 3), dim=0),
        call(T(2, 3), T(3)).but(types="fc"),
        call(T(2, 3), T(2, 3), dim=0).but(types="fc"),
    ),
    running,
    types="fci",
)
