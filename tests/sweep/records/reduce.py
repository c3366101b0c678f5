"""Reductions."""

import numpy as np
import scipy.special as sp
import torch

from sweep.cases import along, binary, call, calls, reduction
from sweep.record import T, bad, inf, nan, op


def axes(dim):
    """A dim argument as numpy's axis: None and [] are all of them."""
    if isinstance(dim, (list, tuple)):
        return tuple(dim) or None
    return dim


def over(f):
    """A numpy reduction with the arguments of ours; a number has one element along dimension 0 and -1."""

    def g(x, dim=None, keepdim=False):
        if x.ndim == 0:
            return f(x.reshape(1), axis=0).reshape(())
        return f(x, axis=axes(dim), keepdims=keepdim)

    return g


def wide(x, *args, **kwargs):
    """Sums of integers and bools are int64."""
    return kwargs.get("dtype") or (x.dtype if x.dtype.is_floating_point or x.dtype.is_complex else torch.int64)


op("sum", reduction() + [call(T(2, 3), dtype=torch.float64).but(types="fi")], over(np.sum), types="fcib", result=wide)
op(
    "nansum",
    reduction() + [call(T(4, values=[nan, 1.0, nan, 2.0])).but(types="f", grad=False)],
    over(np.nansum),
    result=wide,
)
op("mean", reduction() + [call(T(2, 3), dtype=torch.float64).but(types="f")], over(np.mean), types="fc")
op(
    "nanmean",
    reduction() + [call(T(4, values=[nan, 1.0, nan, 2.0])).but(types="f", grad=False)],
    over(np.nanmean),
    types="f",
)
op(
    "prod",
    reduction(several=False, lo=0.5, hi=1.5, ints=(1, 2))
    + [
        call(T(4, values=[0.0, 2.0, 3.0, 4.0])).but(types="f"),
        call(T(4, values=[0.0, 2.0, 0.0, 4.0])).but(types="f"),
        call(T(2, 2, values=[0.0, 2.0, 0.0, 4.0]), 0).but(types="f"),
    ],
    over(np.prod),
    types="fcib",
    result=wide,
    tol=4,
)
empties = [bad(RuntimeError, T(0, 3), says="[0, 3]", swept=None)]
op("amax", reduction(empty=False), over(np.max), errors=[bad(IndexError, T(0, 3), 0, says=["0"])])
op("amin", reduction(empty=False), over(np.min), errors=[bad(IndexError, T(0, 3), 0, says=["0"])])
op(
    "aminmax",
    calls(
        call(T(2, 3, 4)),
        call(T(2, 3, 4), dim=1),
        call(T(2, 3), dim=-1, keepdim=True),
        call(T()),
        call(T(67, 1031)).but(big=True),
        call(T(67, 1031), dim=1).but(big=True),
        call(T(values=[1.0, nan, 2.0])).but(types="f", grad=False),
    ),
    lambda x, dim=None, keepdim=False: (over(np.min)(x, dim, keepdim), over(np.max)(x, dim, keepdim)),
)


def extreme(f, argf):
    def g(x, dim=None, keepdim=False):
        if isinstance(dim, np.ndarray):
            return (np.maximum if f is np.max else np.minimum)(x, dim)
        if dim is None:
            return f(x)
        return over(f)(x, dim, keepdim), over(argf)(x, dim, keepdim)

    return g


# Which of equal elements is named is not laid down: integers and bools are for the whole alone.
for name, f, argf in (("max", np.max, np.argmax), ("min", np.min, np.argmin)):
    whole = reduction(one=False, several=False, empty=False)
    some = [c.but(types="f") for c in reduction(whole=False, several=False, empty=False)]
    op(
        name,
        whole + calls(*some, call(T(2, 3), T(3)), errors=reduction(whole=False, several=False).errors),
        extreme(f, argf),
        result=["same", torch.int64],
        errors=[bad(RuntimeError, T(0, 3), says=["0"]), bad(IndexError, T(0, 3), 0, says=["0"])],
    )
for name, f in (("argmax", np.argmax), ("argmin", np.argmin)):
    op(
        name,
        calls(
            *[c.but(types="f") for c in reduction(several=False, empty=False)],
            call(T(values=[3, 1, 2])).but(types="i"),
            errors=reduction(whole=False, several=False).errors,
        ),
        over(f),
        types="fi",
        result=torch.int64,
        grad=False,
        errors=[bad(IndexError, T(0, 3), says=["0"])],
    )
for name, f in (("all", np.all), ("any", np.any)):
    op(
        name,
        reduction(ints=(0, 1)),
        over(f),
        types="fcib",
        grad=False,
        result=lambda x, *a, **k: torch.uint8 if x.dtype == torch.uint8 else torch.bool,
    )
op(
    "count_nonzero",
    calls(
        call(T(2, 3, 4, ints=(0, 1))),
        call(T(2, 3, 4, ints=(0, 1)), 1),
        call(T(2, 3, 4, ints=(0, 1)), [0, 2]),
        call(T()),
        call(T(0, 3)),
        call(T(67, 1031)).but(big=True),
        errors=[bad(IndexError, T(2, 3), 5, says=["5", "2"])],
    ),
    lambda x, dim=None: np.count_nonzero(x, axis=axes(dim)),
    types="fcib",
    grad=False,
    result=torch.int64,
)


def spread(root, both):
    def g(x, dim=None, unbiased=True, keepdim=False, correction=1):
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        ddof = correction if unbiased else 0
        shape = dict(axis=axes(dim), keepdims=keepdim)
        s = np.var(x, ddof=ddof, **shape)
        s = np.sqrt(s) if root else s
        return (s, np.mean(x, **shape)) if both else s

    return g


def real_first(mean_as_well):
    """The spread of complex numbers is real, their mean is not."""
    real = lambda x, *a, **k: torch.empty(0, dtype=x.dtype).abs().dtype  # noqa: E731
    return [real, "same"] if mean_as_well else real


for name in ("var", "std", "var_mean", "std_mean"):
    op(
        name,
        calls(
            call(T(2, 3, 4)),
            call(T(2, 3, 4), False),
            call(T(2, 3, 4), [0, 2]),
            call(T(2, 3), [1], True, True),
            call(T(2, 3), [1], unbiased=False),
            call(T(2, 3), correction=0),
            call(T(2, 3, 4), 1, correction=2, keepdim=True),
            call(T(67, 1031)).but(big=True),
            call(T(67, 1031), [0]).but(big=True),
            call(T(67, 1031), [1]).but(big=True),
            errors=[bad(IndexError, T(2, 3), [5], says=["5", "2"]), bad(RuntimeError, T(2, 3), [1, 1], says="1")],
        ),
        spread("std" in name, "mean" in name),
        types="fc",
        tol=4,
        result=real_first("mean" in name),
    )


def middle(x, dim=None, keepdim=False, ignore=False):
    def one(v):
        if not ignore and np.isnan(v).any():
            return np.nan, int(np.isnan(v).argmax())
        order = np.argsort(v, kind="stable")
        at = order[(np.count_nonzero(~np.isnan(v)) - 1) // 2]
        return v[at], at

    x = x.astype(float) if x.dtype.kind == "f" else x
    if dim is None:
        return np.asarray(one(x.reshape(-1))[0], x.dtype)
    if x.ndim == 0:
        return x, np.int64(0)
    v, i = (
        np.apply_along_axis(lambda v: np.array(one(v)[0]), dim, x),
        np.apply_along_axis(lambda v: np.array(one(v)[1]), dim, x),
    )
    return (np.expand_dims(v, dim), np.expand_dims(i, dim)) if keepdim else (v, i)


for name in ("median", "nanmedian"):
    some = reduction(several=False, empty=False, big=False)
    op(
        name,
        calls(
            *[c if len(c.args) == 1 else c.but(types="f") for c in some if c.args[0].shape != (2, 3, 0)],
            errors=some.errors,
        ),
        lambda *a, f=name == "nanmedian": middle(*a, ignore=f),
        types="fi",
        result=["same", torch.int64],
    )
op(
    "kthvalue",
    calls(
        call(T(2, 5), 2),
        call(T(5, 3), 1, 0),
        call(T(2, 3), 3, 1, True),
        call(T(), 1),
        errors=[
            bad(RuntimeError, T(2, 3), 4, says=["4", "3"]),
            bad(RuntimeError, T(2, 3), 0, says=["0"]),
            bad(IndexError, T(2, 3), 1, 5, says=["5", "2"]),
        ],
    ),
    lambda x, k, dim=-1, keepdim=False: (
        (x, np.int64(0))
        if x.ndim == 0
        else tuple(np.take(f(x, axis=dim), [k - 1] if keepdim else k - 1, axis=dim) for f in (np.sort, np.argsort))
    ),
    types="f",
    open="i",
    result=["same", torch.int64],
)


def most(x, dim=-1, keepdim=False):
    def one(v):
        values, counts = np.unique(v, return_counts=True)
        return values[counts.argmax()]

    if x.ndim == 0:
        return x
    v = np.apply_along_axis(one, dim, x)
    return np.expand_dims(v, dim) if keepdim else v


def is_mode(got, x, dim=-1, keepdim=False):
    values, at = got
    want = torch.from_numpy(np.asarray(most(x.double().numpy(), dim, keepdim)))
    if not torch.equal(values.double(), want):
        return f"{values}, expected {want}"
    full = at if keepdim or x.dim() == 0 else at.unsqueeze(dim)
    return (
        torch.equal(x.gather(dim, full).reshape(values.shape), values) or f"the index {at} does not point at {values}"
    )


op(
    "mode",
    calls(
        call(
            T(3, 6, ints=(0, 3)),
        ),
        call(T(4, 3, ints=(0, 2)), 0),
        call(T(2, 5, values=[1.0, 2.0, 2.0, 3.0, 1.0, 0.0, 0.0, 0.0, 5.0, 4.0]), 1, True).but(grad=False),
        call(T()),
        errors=[bad(IndexError, T(2, 3), 5, says=["5", "2"])],
    ),
    holds=is_mode,
    types="fib",
)
for name, f in (("quantile", np.quantile), ("nanquantile", np.nanquantile)):
    levels = T(3, dtype=None, values=[0.0, 0.4, 1.0], grad=False)
    op(
        name,
        calls(
            call(T(2, 3, 4), 0.3),
            call(T(2, 5), 0.5, 1),
            call(T(2, 5), levels, 1),
            call(T(4, 2), levels, 0, True),
            call(T(7), levels),
            *[call(T(7), 0.35, interpolation=i) for i in ("lower", "higher", "nearest", "midpoint", "linear")],
            errors=[bad(RuntimeError, T(3), 1.5, says=["1.5"]), bad(IndexError, T(2, 3), 0.5, 5, says=["5", "2"])],
        ),
        lambda x, q, dim=None, keepdim=False, interpolation="linear", f=f: f(
            x, q, axis=dim, keepdims=keepdim, method=interpolation
        ),
        types="w",
    )


def p_norm(x, p=2, dim=None, keepdim=False):
    p = 2.0 if p is None else p
    size = np.abs(x.reshape(1) if x.ndim == 0 else x)
    shape = dict(axis=0 if x.ndim == 0 else axes(dim), keepdims=keepdim and x.ndim > 0)
    if p == inf:
        return np.max(size, **shape)
    if p == -inf:
        return np.min(size, **shape)
    if p == 0:
        return np.sum(size != 0, **shape).astype(float)
    return np.sum(size**p, **shape) ** (1 / p)


op(
    "norm",
    calls(
        call(T(2, 3, 4)),
        call(T(2, 3), 1),
        call(T(2, 3), 3),
        call(T(2, 3), inf),
        call(T(2, 3), 2, [1]),
        call(T(2, 3, 2), None, [0, 2], True),
        call(T(0, 3)),
        call(T(2, 3), 2, dtype=torch.float64).but(types="f"),
        call(T(2, 3), 2, [0], False, dtype=torch.float64).but(types="f"),
        call(T(67, 1031)).but(big=True),
    ),
    p_norm,
    types="fc",
    tol=4,
    result=lambda x, *a, **k: k.get("dtype") or torch.empty(0, dtype=x.dtype).abs().dtype,
)
op(
    "linalg_vector_norm",
    calls(
        *[call(T(2, 3), p) for p in (2, 1, 3, 0.5, inf, -inf)],
        call(T(2, 3), 0).but(grad=False),
        call(T(2, 3, 4), 2, [0, 2]),
        call(T(2, 3), 2, 1, True),
        call(T()),
        call(T(2, 3), dtype=torch.float64).but(types="f"),
        call(T(67, 1031), 2, 1).but(big=True),
        call(T(67, 1031), 2, 0).but(big=True),
        errors=[bad(IndexError, T(2, 3), 2, 5, says=["5", "2"])],
    ),
    p_norm,
    types="fc",
    tol=4,
    result=lambda x, *a, **k: k.get("dtype") or torch.empty(0, dtype=x.dtype).abs().dtype,
)


def log_sum_exp(x, dim, keepdim=False):
    x = x if x.dtype.kind == "c" else x.astype(float)
    if x.ndim == 0:
        return x
    if x.dtype.kind == "c":
        return np.log(np.sum(np.exp(x), axis=axes(dim), keepdims=keepdim))
    if x.size == 0:
        return np.log(np.sum(np.exp(x), axis=axes(dim), keepdims=keepdim))
    return sp.logsumexp(x, axis=axes(dim), keepdims=keepdim)


op("logsumexp", reduction(whole=False), log_sum_exp, types="fcib", tol=2)
op("special_logsumexp", reduction(whole=False, big=False), log_sum_exp, types="fcib", tol=2)
op(
    "dist",
    calls(
        *[call(T(2, 3), T(2, 3), p) for p in (2, 1, 3, inf)],
        call(T(2, 3), T(3)),
        call(T(2, 3), T(2, 3), 0).but(grad=False),
    ),
    lambda x, y, p=2: p_norm(x - y, p),
    types="fc",
    result=lambda x, *a: torch.empty(0, dtype=x.dtype).abs().dtype,
    tol=4,
)
op(
    "equal",
    calls(
        call(T(2, 3), T(2, 3)),
        call(T(2, 2, values=[1, 0, 1, 1]), T(2, 2, values=[1, 0, 1, 1])),
        call(T(2, 3), T(3, 2)),
        call(T(0, 2), T(0, 2)),
    ),
    lambda x, y: bool(np.array_equal(x, y)),
    types="fcib",
    grad=False,
    meta=False,
)
op(
    "allclose",
    calls(
        call(T(2, 3), T(2, 3)),
        call(T(2, 2, values=[1, 0, 1, 1]), T(2, 2, values=[1, 0, 1, 1])),
        call(T(values=[1.0, 2.0]), T(values=[1.1, 2.0]), 0.2).but(types="f"),
    ),
    lambda x, y, *a: bool(np.allclose(x, y, *a)),
    types="fcib",
    grad=False,
    meta=False,
)
op(
    "trace",
    calls(call(T(3, 3)), call(T(2, 4)), call(T(0, 3)), errors=[bad(RuntimeError, T(2, 3, 4), says=["[2, 3, 4]"])]),
    lambda x: np.trace(x),
    types="fci",
    open="b",
    result=wide,
)
op(
    "cov",
    calls(
        call(T(3, 5)),
        call(T(5)),
        call(T(2, 4), correction=0),
        call(T(2, 4), fweights=T(4, dtype=torch.int64, values=[1, 2, 1, 3])).but(meta=False),
        call(T(2, 4), aweights=T(4, lo=0.1, grad=False)).but(types="f", meta=False, batch=False),
    ),
    lambda x, correction=1, **k: np.cov(x, ddof=correction, **k),
    types="fci",
    tol=4,
)
op("corrcoef", calls(call(T(3, 5)), call(T(5))), np.corrcoef, types="fci", tol=4)
op(
    "histc",
    calls(
        call(T(20), 4),
        call(T(20), 5, -2, 2),
        call(T(4, 5)),
        call(T(5), 3, 1, 1),
        errors=[bad(RuntimeError, T(3), 0, says="0"), bad(RuntimeError, T(3), 3, 2, 1, says=["2", "1"])],
    ),
    lambda x, bins=100, lo=0, hi=0: np.histogram(x, bins, (x.min(), x.max()) if lo == hi else (lo, hi))[0].astype(
        float
    ),
    types="f",
    grad=False,
    meta=False,
)
op(
    "histogram",
    calls(
        call(T(20), 4),
        call(T(20), 5, range=[-2.0, 2.0]),
        call(T(20), T(5, values=[-3.0, -1.0, 0.0, 1.0, 3.0])),
        call(T(20), 4, weight=T(20, lo=0.1)),
        call(T(4, 5), 4, density=True),
    ),
    lambda x, bins, range=None, weight=None, density=False: (
        np.histogram(x, bins, range=range, weights=weight, density=density)
        if not (weight is None and not density)
        else tuple(np.asarray(a, float) for a in np.histogram(x, bins, range=range))
    ),
    types="w",
    grad=False,
    meta=False,
)
op(
    "bincount",
    calls(
        call(T(8, dtype=torch.int64, lo=0, hi=4)),
        call(T(8, dtype=torch.int64, lo=0, hi=4), minlength=9),
        call(T(8, dtype=torch.int64, lo=0, hi=4), T(8, dtype=torch.float64)),
        call(T(0, dtype=torch.int64)),
        errors=[
            bad(RuntimeError, T(values=[-1, 2], dtype=torch.int64), says="-1"),
            bad(RuntimeError, T(2, 3, dtype=torch.int64), says="[2, 3]"),
        ],
    ),
    lambda x, weights=None, minlength=0: np.bincount(x, weights, minlength),
    types="",
    result=lambda x, w=None, **k: torch.int64 if w is None else w.dtype,
    grad=False,
    meta=False,
)


def xor_of_bits(x, dim=(), keepdim=False, mode=0):
    return np.bitwise_xor.reduce(x.view(np.uint64), axis=axes(dim), keepdims=keepdim)


op(
    "hash_tensor",
    calls(
        call(T(2, 3, dtype=torch.float64)),
        call(T(2, 3, dtype=torch.float64), [1]),
        call(T(2, 3, dtype=torch.float64), 0, keepdim=True),
    ),
    xor_of_bits,
    types="",
    result=torch.uint64,
    grad=False,
)


def placed(g, dim, at, sizes, keepdim):
    x = np.zeros(sizes, g.dtype)
    if not keepdim:
        g, at = np.expand_dims(g, dim), np.expand_dims(at, dim)
    np.put_along_axis(x, at, g, dim)
    return x


op(
    "value_selecting_reduction_backward",
    calls(
        call(T(2), 1, T(values=[2, 0], dtype=torch.int64), [2, 3], False),
        call(T(2, 1), 1, T(2, 1, values=[2, 0], dtype=torch.int64), [2, 3], True),
    ),
    placed,
    types="fcib",
    result="same",
)


def grid(x, bins, range=None, weight=None, density=False):
    pairs = None if range is None else list(zip(range[::2], range[1::2]))
    return np.histogramdd(x, bins, range=pairs, weights=weight, density=density)


points = [
    call(T(20, 2), [3, 2]),
    call(T(20, 2), [3, 2], range=[-2.0, 2.0, -1.0, 1.0]),
    call(T(20, 2), [3, 2], weight=T(20, lo=0.1)),
]
op("_histogramdd_bin_edges", points, lambda *a, **k: list(grid(*a, **k)[1]), types="w", grad=False, meta=False)
op("_histogramdd_from_bin_cts", points, lambda *a, **k: grid(*a, **k)[0], types="w", grad=False, meta=False)
edges = [T(values=[-3.0, -1.0, 0.5, 3.0]), T(values=[-3.0, 0.0, 3.0])]
op(
    "_histogramdd_from_bin_tensors",
    calls(call(T(20, 2), edges), call(T(20, 2), edges, density=True)),
    lambda *a, **k: grid(*a, **k)[0],
    types="w",
    grad=False,
    meta=False,
)
