"""Orders."""

import numpy as np
import torch

from sweep.cases import call, calls
from sweep.record import T, bad, nan, op

PAIR = ["same", torch.int64]


def ordered(x, dim=-1, descending=False, stable=True):
    if x.ndim == 0:
        return x, np.int64(0)
    order = np.argsort(np.flip(x, dim) if descending else x, axis=dim, kind="stable")
    if descending:  # equal elements keep their order
        order = np.flip(x.shape[dim] - 1 - order, dim)
    return np.take_along_axis(x, order, dim), order


def bad_dims(*more):
    return [bad(IndexError, T(2, 3), *more, 5, says=["5", "2"])]


op(
    "sort",
    calls(
        call(T(2, 5)),
        call(T(4, 3), 0),
        call(T(2, 5), -1, True),
        call(T(6, ints=(0, 2)), stable=True),
        call(T(6, ints=(0, 2)), stable=True, descending=True),
        call(T()),
        call(T(0, 2), 0),
        call(T(values=[2.0, nan, 1.0])).but(types="f", grad=False),
        call(T(33, 1031)).but(big=True),
        call(T(1031, 33), 0).but(big=True),
        errors=bad_dims(),
    ),
    ordered,
    result=PAIR,
)
op(
    "argsort",
    calls(
        call(T(2, 5)).but(types="f"),
        call(T(4, 3), 0).but(types="f"),
        call(T(6, ints=(0, 2)), stable=True),
        call(T()),
        errors=bad_dims(),
    ),
    lambda *a, **k: ordered(*a, **k)[1],
    result=torch.int64,
    grad=False,
)
op("msort", calls(call(T(4, 3)), call(T(5))), lambda x: np.sort(x, 0))


def top(x, k, dim=-1, largest=True, sorted=True):
    if x.ndim == 0:
        return x, np.int64(0)
    values, order = ordered(x, dim, largest)
    return np.take(values, range(k), dim), np.take(order, range(k), dim)


op(
    "topk",
    calls(
        call(T(2, 5), 2).but(types="f"),
        call(T(5, 3), 3, 0).but(types="f"),
        call(T(2, 5), 2, -1, False).but(types="f"),
        call(T(), 1),
        call(T(4), 0).but(types="f"),
        call(T(33, 1031), 7).but(big=True, types="f"),
        errors=[bad(RuntimeError, T(3), 4, says=["4", "3"]), *bad_dims(1)],
    ),
    top,
    types="fi",
    result=PAIR,
)
