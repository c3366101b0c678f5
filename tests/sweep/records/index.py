"""Indexing: gathers, scatters, masks, places of what is not zero."""

import numpy as np
import torch

from sweep.cases import call, calls
from sweep.record import T, bad, op

ANY = "fcib"


def at(*values, shape=None):
    """An index tensor."""
    return T(*(shape or (len(values),)), values=list(values), dtype=torch.int64)


def mask(*shape):
    return T(*shape, dtype=torch.bool)


def along(x, dim, index):
    full = [slice(None)] * x.ndim
    full[dim] = index
    return tuple(full)


outside = [bad(IndexError, T(3, 2), 0, at(0, 3), says=["3"]), bad(IndexError, T(2, 3), 5, at(0), says=["5", "2"])]
op(
    "index_select",
    calls(
        call(T(4, 3), 0, at(2, 0, 2)),
        call(T(2, 3), -1, at(0, 2)),
        call(T(3), 0, at(1)),
        call(T(2, 3), 1, T(0, dtype=torch.int64)),
        call(T(129, 513), 1, at(*range(0, 512, 2))).but(big=True),
        errors=outside,
    ),
    lambda x, d, i: np.take(x, i, d),
    types=ANY,
)
op(
    "gather",
    calls(
        call(T(2, 3), 1, at(0, 2, 1, 1, shape=(2, 2))),
        call(T(3, 2), 0, at(2, 0, shape=(1, 2))),
        call(T(3), 0, at(1, 1)),
        call(T(), 0, at(0)),
        errors=[
            bad(RuntimeError, T(2, 3), 1, at(0, 3, shape=(2, 1)), says=["3"]),
            bad(RuntimeError, T(2, 3), 1, at(0), says=["[2, 3]", "[1]"]),
        ],
    ),
    lambda x, d, i: (
        np.take_along_axis(x, i, d) if x.ndim and x.shape != (3, 2) else x[i, [[0, 1]]] if x.ndim else np.full(1, x)
    ),
    types=ANY,
)
op(
    "take",
    calls(
        call(T(2, 3), at(0, 5, 2)),
        call(T(2, 3), at(1, 1, 0, 4, shape=(2, 2))),
        errors=[bad(IndexError, T(2, 3), at(6), says=["6"])],
    ),
    lambda x, i: np.take(x, i),
    types=ANY,
)
op(
    "take_along_dim",
    calls(call(T(2, 3), at(0, 2, 1, 1, shape=(2, 2)), 1), call(T(2, 3), at(0, 5))),
    lambda x, i, d=None: np.take_along_axis(x, i, d),
    types=ANY,
)


def scattered(x, dim, index, src, reduce=None):
    x = x.copy()
    for where in np.ndindex(*index.shape):
        to = list(where)
        to[dim] = index[where]
        v = src[where] if isinstance(src, np.ndarray) else src
        to = tuple(to)
        x[to] = v if reduce is None else x[to] + v if reduce == "add" else x[to] * v
    return x


places = at(0, 2, 1, 1, 0, 2, shape=(2, 3))
op(
    "scatter",
    calls(
        call(T(2, 4), 1, at(0, 2, 1, 3, shape=(2, 2)), T(2, 2)),
        call(T(2, 4), 1, at(0, 2, 1, 3, shape=(2, 2)), T(2, 3)).but(grad=False),
        call(T(3, 3), 0, places, T(2, 3)),
        call(T(2, 4), 1, at(0, 2, shape=(1, 2)), 2),
        call(T(2, 4), 1, at(0, 2, shape=(1, 2)), T(2, 2), reduce="add").but(grad=False),
        call(T(2, 4), 1, at(0, 2, shape=(1, 2)), 2, reduce="multiply").but(grad=False),
        errors=[bad(RuntimeError, T(2, 3), 1, at(3, shape=(1, 1)), 1, says=["3"])],
    ),
    scattered,
    types=ANY,
)
op(
    "scatter_add",
    calls(call(T(2, 4), 1, at(0, 0, 1, 3, shape=(2, 2)), T(2, 2)), call(T(3, 3), 0, places, T(2, 3))),
    lambda *a: scattered(*a, "add"),
    types=ANY,
)


def index_add(x, dim, index, src, alpha=1):
    x = x.copy()
    np.add.at(x, along(x, dim, index), src * alpha if x.dtype != bool else src)
    return x


def index_set(x, dim, index, src):
    x = x.copy()
    x[along(x, dim, index)] = src
    return x


op(
    "index_add",
    calls(
        call(T(4, 3), 0, at(2, 0, 2), T(3, 3)),
        call(T(2, 3), 1, at(0), T(2, 1)),
        call(T(4), 0, at(1, 3), T(2), alpha=2).but(types="fci"),
        errors=[bad(RuntimeError, T(2, 3), 1, at(3), T(2, 1), says=["3"])],
    ),
    index_add,
    types=ANY,
)
op(
    "index_copy",
    calls(
        call(T(4, 3), 0, at(2, 0), T(2, 3)),
        call(T(2, 3), 1, at(0), T(2, 1)),
        errors=[bad(IndexError, T(2, 3), 1, at(3), T(2, 1), says=["3"])],
    ),
    index_set,
    types=ANY,
)
op(
    "index_fill",
    calls(
        call(T(4, 3), 0, at(2, 0), 1),
        call(T(2, 3), 1, at(0), T()),
        errors=[bad(IndexError, T(2, 3), 1, at(3), 1, says=["3"])],
    ),
    index_set,
    types=ANY,
)


def put(x, index, src, accumulate=False):
    flat = x.reshape(-1).copy()
    if accumulate:
        np.add.at(flat, index.reshape(-1), src.reshape(-1))
    else:
        flat[index.reshape(-1)] = src.reshape(-1)
    return flat.reshape(x.shape)


op(
    "put",
    calls(
        call(T(2, 3), at(0, 5), T(2)),
        call(T(2, 3), at(0, 0), T(2), True).but(types="fci"),
        errors=[bad(IndexError, T(2, 3), at(6), T(1), says=["6"])],
    ),
    put,
    types=ANY,
)


def indexed(x, indices):
    return x[tuple(slice(None) if i is None else i for i in indices)]


several = [
    call(T(4, 3), [at(2, 0)]),
    call(T(4, 3), [None, at(2, 0)]),
    call(T(4, 3), [at(2, 0), at(1, 1)]),
    call(T(2, 3, 4), [at(0, 1), None, at(3, 0)]),
]
op(
    "index",
    calls(
        *several,
        call(T(2, 3), [mask(2, 3)]).but(meta=False),
        errors=[bad(IndexError, T(2, 3), [at(2)], says=["2"]), bad(IndexError, T(2), [at(0), at(0)], says=["2"])],
    ),
    indexed,
    types=ANY,
)
op("_unsafe_index", several, indexed, types=ANY)


def put_at(x, indices, values, accumulate=False):
    x = x.copy()
    where = tuple(slice(None) if i is None else i for i in indices)
    if accumulate:
        np.add.at(x, where, values)
    else:
        x[where] = values
    return x


writes = [
    call(T(4, 3), [at(2, 0)], T(2, 3)),
    call(T(4, 3), [None, at(2, 0)], T()),
    call(T(4, 3), [at(2, 2), at(1, 1)], T(2), True).but(types="fci"),
    call(T(2, 3), [mask(2, 3)], T()).but(grad=False, meta=False),
]
op("index_put", calls(*writes, errors=[bad(IndexError, T(2, 3), [at(2)], T(), says=["2"])]), put_at, types=ANY)
op("_index_put_impl_", writes[:3], put_at, types=ANY)
op(
    "masked_fill",
    calls(
        call(T(2, 3), mask(2, 3), 1),
        call(T(2, 3), mask(3), T()),
        call(T(129, 513), mask(513), 1).but(big=True),
        errors=[bad(RuntimeError, T(2, 3), mask(4), 1, says=["[4]", "[2, 3]"])],
    ),
    lambda x, m, v: np.where(m, v, x).astype(x.dtype),
    types=ANY,
    result="same",
)
op(
    "masked_select",
    calls(
        call(T(2, 3), mask(2, 3)), call(T(2, 3), mask(3)), errors=[bad(RuntimeError, T(2, 3), mask(4), says=["4", "3"])]
    ),
    lambda x, m: x[np.broadcast_to(m, x.shape)],
    types=ANY,
    meta=False,
)


def masked_scatter(x, m, src):
    x = x.copy()
    m = np.broadcast_to(m, x.shape)
    x[m] = src.reshape(-1)[: m.sum()]
    return x


op(
    "masked_scatter",
    calls(
        call(T(2, 3), mask(2, 3), T(6)),
        call(T(2, 3), mask(3), T(2, 3)),
        errors=[bad(RuntimeError, T(3), T(values=[True, True, True], dtype=torch.bool), T(2), says=["2", "3"])],
    ),
    masked_scatter,
    types=ANY,
)


def gathered_back(g, m, sizes):
    out = np.zeros(int(np.prod(sizes)), g.dtype)
    taken = g[np.broadcast_to(m, g.shape)]
    out[: len(taken)] = taken
    return out.reshape(sizes)


op(
    "masked_scatter_backward",
    calls(call(T(2, 3), mask(2, 3), [6]), call(T(2, 3), mask(2, 3), [3, 2])),
    gathered_back,
    types=ANY,
    meta=False,
)
op(
    "gather_backward",
    calls(call(T(2, 2), T(2, 3, grad=False), 1, at(0, 2, 1, 1, shape=(2, 2)), False)),
    lambda g, x, d, i, s: scattered(np.zeros_like(x, g.dtype), d, i, g, "add"),
    types="fc",
    open="ib",
)
some = [call(T(2, 3, values=[0.0, 1.0, 2.0, 0.0, 0.0, 3.0])), call(T(values=[0.0, 1.0])), call(T(2, 0))]
op(
    "nonzero",
    some + [call(T(values=1.0))],
    lambda x: np.argwhere(x).astype(np.int64),
    types=ANY,
    result=torch.int64,
    grad=False,
    meta=False,
)
op("argwhere", some, lambda x: np.argwhere(x).astype(np.int64), types=ANY, result=torch.int64, grad=False, meta=False)
op(
    "nonzero_numpy",
    some,
    lambda x: [a.astype(np.int64) for a in np.nonzero(x)],
    types=ANY,
    result=[torch.int64] * 2,
    grad=False,
    meta=False,
)


def padded_places(x, size, fill_value=-1):
    found = np.argwhere(x).astype(np.int64)[:size]
    return np.concatenate([found, np.full((size - len(found), x.ndim), fill_value, np.int64)])


op(
    "nonzero_static",
    [call(some[0].args[0], size=2), call(some[0].args[0], size=5, fill_value=-7)],
    padded_places,
    types=ANY,
    result=torch.int64,
    grad=False,
    meta=False,
)
op(
    "one_hot",
    calls(
        call(at(0, 2, 1)),
        call(at(0, 2, 1, 1, shape=(2, 2)), 4),
        errors=[bad(RuntimeError, at(3), 2, says=["3", "2"]), bad(RuntimeError, at(-1), says="-1")],
    ),
    lambda i, n=-1: np.eye(n if n > 0 else i.max() + 1, dtype=np.int64)[i],
    types="",
    result=torch.int64,
    grad=False,
    meta=False,
)
op(
    "embedding",
    calls(
        call(T(4, 3), at(2, 0, 2)),
        call(T(4, 3), at(2, 0, 1, 1, shape=(2, 2)), 1).but(grad=False),
        errors=[bad(IndexError, T(4, 3), at(4), says=["4"])],
    ),
    lambda w, i, *a: w[i],
    types="fc",
    open="ib",
)


def rows_summed(g, i, rows, padding, scale):
    out = np.zeros((rows, g.shape[-1]), g.dtype)
    keep = i.reshape(-1) != padding
    np.add.at(out, i.reshape(-1)[keep], g.reshape(-1, g.shape[-1])[keep])
    return out


op(
    "embedding_dense_backward",
    calls(call(T(3, 2), at(2, 0, 2), 4, -1, False), call(T(3, 2), at(2, 0, 1), 4, 0, False)),
    rows_summed,
    types="f",
    open="cib",
)
