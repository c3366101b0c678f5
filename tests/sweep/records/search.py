"""Distinct elements, places in sorted sequences, membership, repetition."""

import numpy as np
import torch

from sweep.cases import call, calls
from sweep.record import T, bad, inf, nan, op

TIES = [2.0, 1.0, 2.0, 3.0, 1.0, 2.0]
TWICE = [[1, 0, 1, 1], [2, 3, 2, 2], [1, 0, 1, 1]]
STEPS = [0.0, 1.0, 1.0, 2.0, 5.0]
NONE = np.zeros(0, np.int64)


def distinct(x, inverse=False, counts=False):
    values, places, many = np.unique(x, return_inverse=True, return_counts=True, equal_nan=False)
    return values, places.reshape(x.shape) if inverse else NONE, many if counts else NONE


def slices(x, dim, *_):
    if x.shape[dim] == 0:
        return x, NONE, NONE
    values, inverse, counts = np.unique(x, return_inverse=True, return_counts=True, axis=dim)
    return values, inverse.reshape(-1), counts


def runs(x, inverse=False, counts=False, dim=None):
    rows = x.reshape(-1) if dim is None else np.moveaxis(x, dim, 0)
    new = [k for k in range(len(rows)) if k == 0 or not np.array_equal(rows[k], rows[k - 1])]
    group = np.cumsum([k in new for k in range(len(rows))]).astype(np.int64) - 1
    many = np.diff([*new, len(rows)]).astype(np.int64) if new else NONE
    if dim is None:
        return rows[new] if new else rows, group.reshape(x.shape) if inverse else NONE, many if counts else NONE
    return np.moveaxis(rows[new], 0, dim) if new else x, group, many


from_data = dict(types="fib", open="u", grad=False, meta=False)
three = dict(result=["same", torch.int64, torch.int64], **from_data)
op(
    "_unique2",
    calls(
        call(T(3, 4, ints=(0, 3)), True, True, True),
        call(T(6, values=TIES), True, False, True),
        call(T(2, 3), True, True, False),
        call(T(6, values=TIES)),
        call(T(), True, True, True),
        call(T(0, 3), True, True, True),
        call(T(40, 60, ints=(0, 20)), True, True, True).but(big=True),
        errors=[bad(NotImplementedError, T(3), says="complex64", swept=torch.complex64)],
    ),
    lambda x, sorted=True, inverse=False, counts=False: distinct(x, inverse, counts),
    **three,
)
op(
    "_unique",
    calls(call(T(3, 4, ints=(0, 3)), True, True), call(T(6, values=TIES)), call(T(0))),
    lambda x, sorted=True, inverse=False: distinct(x, inverse)[:2],
    result=["same", torch.int64],
    **from_data,
)
empty = [bad(RuntimeError, T(0, 3), 1, says="[0, 3]"), bad(IndexError, T(2, 3), 4, says=["4", "2"]), bad(IndexError, T(), 0)]
op(
    "unique_dim",
    calls(
        call(T(3, 4, values=TWICE), 0, True, True, True),
        call(T(3, 4, values=TWICE), 1, True, True, True),
        call(T(2, 2, 3, ints=(0, 1)), -1, True, True, True),
        call(T(0, 3), 0, True, True, True),
        errors=empty,
    ),
    slices,
    **three,
)
op(
    "unique_dim_consecutive",
    calls(
        call(T(3, 4, values=TWICE), 1, True, True),
        call(T(3, 4, values=TWICE), 0, True, True),
        call(T(0, 3), 0, True, True),
        errors=empty,
    ),
    lambda x, dim, inverse, counts: runs(x, inverse, counts, dim),
    **three,
)
op(
    "unique_consecutive",
    calls(
        call(T(3, 4, values=TWICE), True, True),
        call(T(3, 4, values=TWICE), False, True),
        call(T(6, values=TIES)),
        call(T(3, 4, values=TWICE), True, True, 1),
        call(T(0), True, True),
    ),
    runs,
    **three,
)


def index_type(*args, **kwargs):
    return torch.int32 if kwargs.get("out_int32") else torch.int64


def found(sequence, values, out_int32=False, right=False, side=None, sorter=None):
    sequence, values = np.asarray(sequence), np.asarray(values)
    if sorter is not None:
        sequence = np.take_along_axis(sequence, sorter, -1)
    side = side or ("right" if right else "left")
    if sequence.ndim == 1:
        return np.asarray(np.searchsorted(sequence, values, side)).astype(np.int64)
    n = sequence.shape[-1]
    lines = zip(sequence.reshape(-1, n), values.reshape(-1, values.shape[-1]))
    return np.array([np.searchsorted(s, v, side) for s, v in lines], np.int64).reshape(values.shape)


op(
    "searchsorted",
    calls(
        call(T(5, values=STEPS), T(3, 4, ints=(0, 6))),
        call(T(5, values=STEPS), T(5, values=STEPS), right=True),
        call(T(5, values=STEPS), T(5, values=STEPS), side="right", out_int32=True),
        call(T(2, 5, values=[STEPS, STEPS]), T(2, 3)),
        call(T(5, values=STEPS), T(values=1.0)),
        call(T(5, values=STEPS), 1),
        call(T(5, values=[5.0, 1.0, 0.0, 2.0, 1.0]), T(3), sorter=T(5, values=[2, 1, 4, 3, 0], dtype=torch.int64)).but(layouts=False),
        call(T(0), T(2)),
        call(T(5, values=STEPS), T(0, 2)),
        call(T(3, values=[0.0, 1.0, 5.0]), T(2, values=[nan, 2.0])).but(types="f"),
        errors=[
            bad(RuntimeError, T(2, 3), T(3, 2), says=["[2, 3]", "[3, 2]"]),
            bad(RuntimeError, T(), T(2), says="dimension"),
            bad(RuntimeError, T(3), T(2), side="top", says="top"),
            bad(RuntimeError, T(3), T(2), side="left", right=True, says="left"),
            bad(RuntimeError, T(2, 3), 1.0, says="[2, 3]"),
        ],
    ),
    found,
    types="fi",
    result=index_type,
    open="u",
    grad=False,
)
op(
    "bucketize",
    calls(
        call(T(3, 4, ints=(0, 6)), T(5, values=STEPS)),
        call(T(5, values=STEPS), T(5, values=STEPS), right=True, out_int32=True),
        call(1, T(5, values=STEPS)),
        errors=[bad(RuntimeError, T(2), T(2, 3), says="[2, 3]")],
    ),
    lambda values, sequence, **kwargs: found(sequence, values, **kwargs),
    types="fi",
    result=index_type,
    open="u",
    grad=False,
)
op(
    "isin",
    calls(
        call(T(6, values=TIES), T(2, values=[1.0, 3.0])),
        call(T(2, 3, ints=(0, 5)), T(4, ints=(0, 5)), invert=True),
        call(T(6, values=TIES), 2),
        call(2, T(6, values=TIES)),
        call(T(2, 3), T(0)),
        call(T(3, values=[nan, 1.0, inf]), T(2, values=[nan, inf])).but(types="f"),
        call(T(40, 50, ints=(0, 99)), T(30, ints=(0, 99)), assume_unique=False).but(big=True),
        errors=[bad(RuntimeError, T(2), T(2), says="complex64", swept=torch.complex64)],
    ),
    lambda x, test, assume_unique=False, invert=False: np.isin(x, test, invert=invert),
    types="fi",
    result=torch.bool,
    open="u",
    grad=False,
)


def repeated(x, *args, dim=None, output_size=None):
    if not args:
        return np.repeat(np.arange(len(x)), x).astype(np.int64)
    return np.repeat(x, args[0], args[1] if len(args) > 1 else None)


op(
    "repeat_interleave",
    calls(
        call(T(2, 3), 2),
        call(T(2, 3), 2, 1),
        call(T(2, 3), 0, 0).but(grad=False),
        call(T(2, 3), T(2, values=[3, 1], dtype=torch.int64), 0).but(meta=False),
        call(T(2, 3), T(1, values=[2], dtype=torch.int64), -1, output_size=6).but(meta=False),
        call(T(4, values=[1, 0, 2, 1])).but(types="i", values=False, meta=False),
        errors=[
            bad(RuntimeError, T(2, 3), -1, says="-1"),
            bad(RuntimeError, T(2, 3), T(3, values=[1, 2, 3], dtype=torch.int64), 0, says=["[3]", "[2, 3]"]),
            bad(RuntimeError, T(2, 3), 2, 0, output_size=5, says=["5", "4"]),
            bad(RuntimeError, T(2, 3), T(2, values=[1, -4], dtype=torch.int64), 0, says="-4"),
            bad(IndexError, T(2, 3), 2, 5, says="5"),
        ],
    ),
    repeated,
    types="fcib",
    open="u",
)


REDUCE = {"sum": np.sum, "prod": np.prod, "mean": np.mean, "amax": np.max, "amin": np.min}


def reduced(x, dim, index, src, kind, include_self=True):
    out = np.moveaxis(x.copy(), dim, 0)
    i, s = np.moveaxis(index, dim, 0), np.moveaxis(src, dim, 0)
    start = out.copy()
    for rest in np.ndindex(*i.shape[1:]):
        for j in range(out.shape[0]):
            met = s[(slice(0, i.shape[0]), *rest)][i[(slice(None), *rest)] == j]
            if met.size:
                all_of = np.append(met, start[(j, *rest)]) if include_self else met
                v = REDUCE[kind](all_of)
                out[(j, *rest)] = np.floor(v) if kind == "mean" and out.dtype.kind == "i" else v
    return np.moveaxis(out, 0, dim)


AT = T(3, 3, values=[0, 1, 1, 3, 1, 0, 0, 1, 2], dtype=torch.int64)
kinds = [
    call(T(4, 3, lo=1, hi=3), 0, AT, T(3, 3, lo=1, hi=3), k, include_self=s)
    for k in REDUCE
    for s in (True, False)
]
op(
    "scatter_reduce",
    calls(
        *kinds,
        call(T(3, 4, lo=1, hi=3), 1, T(2, 3, values=[0, 3, 3, 1, 1, 0], dtype=torch.int64), T(3, 4, lo=1, hi=3), "prod"),
        errors=[
            bad(RuntimeError, T(4, 3), 0, AT, T(3, 3), "median", says="median"),
            bad(RuntimeError, T(4, 3), 0, AT, T(2, 3), "sum", says=["[3, 3]", "[2, 3]"]),
            bad(RuntimeError, T(3, 3), 0, AT, T(3, 3), "sum", says=["3", "size 3"]),
            bad(IndexError, T(4, 3), 2, AT, T(3, 3), "sum", says="2"),
        ],
    ),
    reduced,
    types="fi",
    open="cb",
    tol=4,
    mixed=False,
)
ALONG = T(3, values=[2, 0, 2], dtype=torch.int64)
op(
    "index_reduce",
    calls(
        *[call(T(4, 2, lo=1, hi=3), 0, ALONG, T(3, 2, lo=1, hi=3), k, include_self=s) for k in ("prod", "mean", "amax", "amin") for s in (True, False)],
        errors=[
            bad(RuntimeError, T(4, 2), 0, ALONG, T(3, 2), "sum", says="sum"),
            bad(RuntimeError, T(4, 2), 0, ALONG, T(2, 2), "amax", says=["[2, 2]", "[4, 2]"]),
        ],
    ),
    lambda x, dim, index, src, kind, include_self=True: reduced(
        x, dim, np.broadcast_to(index.reshape([-1 if d == dim else 1 for d in range(src.ndim)]), src.shape), src, kind, include_self
    ),
    types="fi",
    open="cb",
    tol=4,
    mixed=False,
)
op(
    "_masked_take",
    calls(
        call(T(2, 3), T(2, 3, dtype=torch.bool)).but(grad=False),
        call(T(40, 50), T(40, 50, dtype=torch.bool)).but(grad=False, big=True),
    ),
    lambda x, mask: x[mask],
    types="fcib",
    open="u",
    grad=None,
    meta=False,
)
