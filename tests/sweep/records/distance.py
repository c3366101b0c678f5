"""Distances between rows."""

import numpy as np

from sweep.cases import call, calls
from sweep.record import T, bad, inf, op


def size(d, p):
    """The p-norms of the last dimension."""
    d = np.abs(d)
    if p == inf:
        return d.max(-1, initial=0.0)
    return (d != 0).sum(-1).astype(float) if p == 0 else (d**p).sum(-1) ** (1 / p)


def across(x, y, p=2.0, mode=None):
    return size(x[..., :, None, :] - y[..., None, :, :], p)


def among(x, p=2.0):
    i, j = np.triu_indices(len(x), 1)
    return size(x[i] - x[j], p)


def slopes(d, r, p):
    """What the p-norms r of d have as gradient."""
    d, r = np.asarray(d), r[..., None]
    with np.errstate(all="ignore"):
        if p == 0:
            return np.zeros_like(d)
        if p == inf:
            return np.sign(d) * (np.abs(d) == r)
        return np.where(r == 0, 0.0, np.sign(d) * np.abs(d) ** (p - 1) / r ** (p - 1))


ORDERS = (2.0, 1.0, 3.0, inf)
SHAPES = [((3, 4), (5, 4)), ((2, 3, 2), (2, 4, 2)), ((2, 1, 3, 2), (3, 2, 2))]
wrong = [
    bad(RuntimeError, T(3, 4), T(5, 3), 2.0, None, says=["4", "3"]),
    bad(RuntimeError, T(3, 4), T(5, 4), -1.0, None, says="-1"),
    bad(RuntimeError, T(3), T(5, 3), 2.0, None, says="[3]"),
]
many = [call(T(*a), T(*b), p, None).but(grad=p != inf or a == (3, 4)) for p in ORDERS for a, b in SHAPES]
op(
    "cdist",
    calls(call(T(3, 4), T(5, 4)), *many, call(T(3, 4), T(5, 4), 0.0).but(grad=False), call(T(0, 4), T(5, 4)).but(grad=False), errors=wrong),
    across,
    types="w",
    tol=10,
)
op("_cdist_forward", calls(*many, errors=wrong), across, types="w", tol=10, grad=None)
op(
    "_euclidean_dist",
    calls(call(T(3, 4), T(5, 4)), call(T(2, 3, 2), T(2, 4, 2))),
    across,
    types="w",
    open="f",
    tol=100,  # by products: the squares cancel
)
op(
    "pdist",
    calls(call(T(4, 3)), *[call(T(4, 3), p) for p in ORDERS], errors=[bad(RuntimeError, T(3), says="[3]"), bad(RuntimeError, T(3, 2), -1.0, says="-1")]),
    among,
    types="w",
    tol=10,
)
op("_pdist_forward", calls(call(T(4, 3)), *[call(T(4, 3), p) for p in ORDERS]), among, types="w", tol=10, grad=None)

# Multiples of 1/64, so that the largest difference is the distance in every type.
X, Y = (np.round(64 * np.random.default_rng(n).normal(size=(n, 4))) / 64 for n in (3, 5))


def given(a):
    return T(*a.shape, values=a)


op(
    "_cdist_backward",
    calls(*[call(T(3, 5), given(X), given(Y), p, given(across(X, Y, p))).but(layouts=False, grad=p != inf) for p in ORDERS]),
    lambda g, x, y, p, r: (g[..., None] * slopes(x[:, None] - y[None], r, p)).sum(1),
    types="w",
    tol=20,
    mixed=False,
)


def among_back(g, x, p, r):
    out = np.zeros_like(x)
    i, j = np.triu_indices(len(x), 1)
    d = g[:, None] * slopes(x[i] - x[j], r, p)
    np.add.at(out, i, d)
    np.add.at(out, j, -d)
    return out


op(
    "_pdist_backward",
    calls(*[call(T(10), given(Y), p, given(among(Y, p))).but(layouts=False, grad=p != inf) for p in ORDERS]),
    among_back,
    types="w",
    tol=20,
    mixed=False,
)
