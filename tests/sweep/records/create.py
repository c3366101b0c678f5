"""Tensors from nothing and from others: fills, ranges, joins, repeats, casts."""

import itertools

import numpy as np
import scipy.linalg
import torch

from sweep.cases import along, binary, call, calls, unary
from sweep.record import SWEPT, T, bad, inf, op

ANY = "fcib"


def of_type(*args, **kwargs):
    return call(*args, dtype=SWEPT, **kwargs)


# ---- from nothing ----
def typed(*args, **kwargs):
    return kwargs.get("dtype", torch.float32)


for name, number in (("zeros", 0), ("ones", 1)):
    op(
        name,
        calls(of_type([2, 3]), of_type([]), of_type([0, 2]), call([2]), errors=[bad(RuntimeError, [2, -1], says="-1")]),
        lambda size, n=number: np.full(size, n),
        types=ANY,
        result=typed,
    )
op(
    "full",
    calls(
        of_type([2, 3], 1),
        of_type([], 2),
        call([2], 1.5),
        call([2], 3),
        call([2], True),
        errors=[bad(RuntimeError, [-1], 1, says="-1")],
    ),
    lambda size, x: np.full(size, x),
    types=ANY,
    result=lambda size, x, dtype=None: dtype or {int: torch.int64, bool: torch.bool, float: torch.float32}[type(x)],
)
op("scalar_tensor", calls(of_type(2), call(1.5)), lambda x: np.asarray(x), types=ANY, result=typed)
op(
    "eye",
    calls(
        of_type(3),
        of_type(2, 3),
        of_type(0),
        errors=[bad(RuntimeError, -1, says="-1"), bad(RuntimeError, 2, -3, says="-3")],
    ),
    np.eye,
    types=ANY,
    result=typed,
)
op(
    "arange",
    calls(
        of_type(5).but(types="fi"),
        of_type(1, 6).but(types="fi"),
        of_type(1, 8, 3).but(types="fi"),
        call(0, 1, 0.25),
        call(5, 0, -2),
        call(3),
        call(0),
        errors=[
            bad(RuntimeError, 0, 5, -1, says=["0", "5", "-1"]),
            bad(RuntimeError, 0, 5, 0, says="0"),
            bad(RuntimeError, 0.0, inf, says="inf"),
        ],
    ),
    np.arange,
    types="fi",
    result=lambda *a, **k: k.get("dtype") or (torch.int64 if all(isinstance(x, int) for x in a) else torch.float32),
)
op(
    "range",
    calls(
        of_type(1, 4),
        of_type(0, 2, 0.5).but(types="f"),
        call(1, 3),
        errors=[bad(RuntimeError, 0, 5, -1, says=["0", "5", "-1"])],
    ),
    lambda a, b, s=1: np.arange(a, b + s / 2, s),
    types="fi",
    result=typed,
)
ends = [
    c.but(meta=False, batch=False)
    for c in (
        call(T(lo=0, hi=2, dtype=torch.float32), 5.0, 4),
        call(0.0, T(lo=3, hi=5, dtype=torch.float32), 4),
        call(T(dtype=torch.float32), T(dtype=torch.float32), 3),
    )
]
op(
    "linspace",
    calls(
        of_type(0.0, 4.0, 5),
        of_type(0, 4, 5).but(types="i"),
        call(1.0, 2.0, 1),
        call(1.0, 2.0, 0),
        call(0.0, 1.0, 7),
        *ends,
        errors=[bad(RuntimeError, 0.0, 1.0, -1, says="-1")],
    ),
    np.linspace,
    types="fi",
    open="c",
    result=typed,
    grad=False,
)
op(
    "logspace",
    calls(
        of_type(0.0, 2.0, 3).but(types="f"),
        call(0.0, 3.0, 4, 2.0),
        *ends,
        errors=[bad(RuntimeError, 0.0, 1.0, -1, says="-1")],
    ),
    lambda a, b, n, base=10.0: np.logspace(a, b, n, base=base),
    types="f",
    result=typed,
    grad=False,
    tol=10,
)
for name, f in (("tril_indices", np.tril_indices), ("triu_indices", np.triu_indices)):
    op(
        name,
        calls(call(3, 4), call(4, 2, 1), call(2, 3, -1), call(0, 3), errors=[bad(RuntimeError, -1, 2, says="-1")]),
        lambda r, c, k=0, f=f: np.stack(f(r, k, c)),
        types="",
        result=torch.int64,
    )


def has_shape(*shape):
    return lambda got, *args, **kwargs: tuple(got[0].shape) == shape or f"shape {list(got[0].shape)}"


op("empty", calls(of_type([2, 3])), holds=has_shape(2, 3), types=ANY)
op(
    "empty_strided",
    calls(of_type([2, 3], [1, 2]), errors=[bad(RuntimeError, [2], [1, 2], says=["[2]", "[1, 2]"])]),
    holds=lambda got, *a, **k: got[0].stride() == (1, 2) or f"strides {got[0].stride()}",
    types=ANY,
)
op(
    "empty_permuted",
    calls(of_type([2, 3], [1, 0]), errors=[bad(RuntimeError, [2, 3], [1, 1], says="1")]),
    holds=lambda got, *a, **k: got[0].stride() == (1, 2) or f"strides {got[0].stride()}",
    types=ANY,
)
op("empty_like", calls(call(T(2, 3))), holds=has_shape(2, 3), types=ANY, grad=False)
op("new_empty", calls(call(T(2), [2, 3])), holds=has_shape(2, 3), types=ANY, grad=False)
op("new_empty_strided", calls(call(T(2), [2, 3], [1, 2])), holds=has_shape(2, 3), types=ANY, grad=False)
for name, number in (("zeros_like", 0), ("ones_like", 1)):
    op(
        name,
        calls(call(T(2, 3)), call(T()), call(T(2, 3), dtype=torch.int32)),
        lambda x, n=number: np.full(x.shape, n),
        types=ANY,
        grad=False,
        result=lambda x, **k: k.get("dtype", x.dtype),
    )
op("full_like", calls(call(T(2, 3), 1), call(T(), 1)), np.full_like, types=ANY, grad=False, result="same")
for name, number in (("new_zeros", 0), ("new_ones", 1)):
    op(
        name,
        calls(call(T(2), [2, 3]), call(T(2), [])),
        lambda x, size, n=number: np.full(size, n),
        types=ANY,
        grad=False,
        result="same",
    )
op(
    "new_full",
    calls(call(T(2), [2, 3], 1), call(T(2), [], 1)),
    lambda x, size, n: np.full(size, n),
    types=ANY,
    grad=False,
    result="same",
)

# ---- fills and shapes in place ----
op(
    "fill",
    calls(call(T(2, 3), 1), call(T(2, 3), T()), errors=[bad(RuntimeError, T(2), T(2), says="[2]")]),
    lambda x, v: np.full(x.shape, v),
    types=ANY,
    result="same",
)
op("zero_", calls(call(T(2, 3)), call(T()), call(T(0, 2))), np.zeros_like, types=ANY)
op(
    "copy",
    calls(
        call(T(2, 3), T(2, 3)),
        call(T(2, 3), T(3)),
        call(T(2, 3), T(dtype=torch.float32)).but(types="f", grad=False),
        errors=[bad(RuntimeError, T(2, 3), T(2, 2), says=["[2, 3]", "[2, 2]"])],
    ),
    lambda x, y: np.broadcast_to(y, x.shape),
    types=ANY,
    result="same",
)


def with_diagonal(x, v, wrap=False):
    x = x.copy()
    np.fill_diagonal(x, v, wrap)
    return x


op(
    "fill_diagonal_",
    calls(call(T(3, 3), 1), call(T(4, 2), 2), call(T(5, 2), 1, True), errors=[bad(RuntimeError, T(3), 1, says="[3]")]),
    with_diagonal,
    types=ANY,
)
op(
    "resize_",
    calls(
        call(T(2, 3), [3, 2]).but(layouts=False, batch=False),
        call(T(2, 3), [2]).but(layouts=False, batch=False),
        errors=[bad(RuntimeError, T(2), [-1], says="-1")],
    ),
    lambda x, size: np.resize(x, size),
    types=ANY,
    grad=None,
)
op(
    "resize_as_",
    calls(call(T(2, 3), T(3, 2)).but(layouts=False, batch=False), call(T(2, 3), T(2)).but(layouts=False, batch=False)),
    lambda x, y: np.resize(x, y.shape),
    types=ANY,
    grad=None,
)
op(
    "set_",
    calls(call(T(2), T(2, 3)).but(batch=False)),
    lambda x, y: y,
    types=ANY,
    grad=None,
    skip={"schema": "the storage that it takes over has the version, so the source counts up as well"},
)
op("is_set_to", calls(call(T(2), T(2))), lambda x, y: False, types=ANY, grad=False)
op(
    "is_same_size",
    calls(call(T(2, 3), T(2, 3)), call(T(2), T(3))),
    lambda x, y: x.shape == y.shape,
    types=ANY,
    grad=False,
)

# ---- copies and casts ----
op("clone", unary(special=False), lambda x: x, types=ANY)
for name in ("lift", "lift_fresh", "lift_fresh_copy"):
    op(name, unary(special=False), lambda x: x, types=ANY)
op("contiguous", calls(call(T(2, 3)), call(T())), lambda x: x, types=ANY)


def target(x, *args, dtype=None, **kwargs):
    found = [a for a in (dtype, *args) if isinstance(a, torch.dtype)] + [
        a.dtype for a in args if isinstance(a, torch.Tensor)
    ]
    return found[0] if found else x.dtype


reals = [
    call(T(2, 3, lo=0, hi=5, ints=(0, 5)), dtype=d).but(types="fib", grad=d == torch.float64)
    for d in (torch.float32, torch.float64)
] + [call(T(2, 3), dtype=d).but(grad=d == torch.complex128) for d in (torch.complex64, torch.complex128)]
op(
    "_to_copy",
    calls(
        *reals,
        call(T(2, 3, values=[1.0, -2.0, 3.0]), dtype=torch.int32).but(types="fi"),
        call(T(2, 3)),
        call(T(129, 513), dtype=torch.float64).but(big=True, types="f"),
    ),
    lambda x, **k: x,
    types=ANY,
    result=target,
)
op(
    "to",
    calls(
        *reals,
        *[call(T(2, 3), d).but(grad=d == torch.complex128) for d in (torch.complex64, torch.complex128)],
        call(T(2, 3), T(1)),
        call(T(2, 3), "cpu", torch.complex128).but(meta=False),
    ),
    lambda x, *a, **k: x,
    types=ANY,
    result=target,
)
op(
    "type_as",
    calls(call(T(2, 3), T(1)), call(T(2, 3), T(1, dtype=torch.complex128))),
    lambda x, y: x,
    types=ANY,
    result=lambda x, y: y.dtype,
)
op(
    "item",
    calls(
        call(T()),
        call(T(1)),
        call(T(1, 1)),
        errors=[bad(RuntimeError, T(2), says=["[2]"]), bad(RuntimeError, T(0), says=["[0]"])],
    ),
    lambda x: x,
    types=ANY,
    grad=False,
    meta=False,
)
op("_local_scalar_dense", calls(call(T())), lambda x: x, types=ANY, grad=False, meta=False)
op(
    "_has_nan",
    calls(call(T(2, 3)), call(T(values=[1.0, np.nan])).but(types="f")),
    lambda x: bool(np.isnan(x).any()),
    types=ANY,
    grad=False,
    meta=False,
)
op(
    "complex",
    calls(
        call(T(2, 3), T(2, 3)),
        call(T(2, 1), T(3)),
        errors=[
            bad(RuntimeError, T(2), T(2, dtype=torch.float64), says=["float32", "float64"]),
            bad(RuntimeError, T(2), T(3), says=["[2]", "[3]"]),
        ],
    ),
    lambda a, b: a + 1j * b,
    types="w",
)
op("polar", calls(call(T(2, 3, lo=0), T(2, 3)), call(T(2, 1, lo=0), T(3))), lambda r, t: r * np.exp(1j * t), types="w")

# ---- joins ----
joined = [bad(IndexError, [T(2, 3)], 5, says=["5", "2"])]
op(
    "cat",
    calls(
        call([T(2, 3), T(1, 3)]),
        call([T(2, 3), T(2, 1), T(2, 2)], 1),
        call([T(2, 3), T(2, 0)], -1),
        call([T(2)]),
        call([T(129, 100), T(129, 413)], 1).but(big=True),
        errors=joined + [bad(RuntimeError, [T(2, 3), T(2, 4)], says=["3", "4"])],
    ),
    lambda ts, dim=0: np.concatenate(ts, dim),
    types=ANY,
)
op(
    "stack",
    calls(
        call([T(2, 3), T(2, 3)]),
        call([T(2, 3)] * 3, 1),
        call([T(2), T(2)], -1),
        call([T(), T()]),
        errors=[bad(IndexError, [T(2)], 5, says="5"), bad(RuntimeError, [T(2), T(3)], says=["[2]", "[3]"])],
    ),
    lambda ts, dim=0: np.stack(ts, dim),
    types=ANY,
)
for name, f in (("hstack", np.hstack), ("vstack", np.vstack), ("dstack", np.dstack), ("column_stack", np.column_stack)):
    op(name, calls(call([T(2, 3), T(2, 3)]), call([T(3), T(3)]), call([T(), T()])), f, types=ANY)
op(
    "block_diag",
    calls(call([T(2, 3), T(1, 2)]), call([T(2), T()]), call([T(2, 2)])),
    lambda ts: scipy.linalg.block_diag(*ts),
    types=ANY,
)
op(
    "meshgrid",
    calls(call([T(2), T(3)]), call([T(2), T(3)], indexing="xy"), call([T(2), T(), T(3)], indexing="ij")),
    lambda ts, indexing="ij": np.meshgrid(*ts, indexing=indexing),
    types=ANY,
)
op(
    "cartesian_prod",
    calls(call([T(2), T(3)]), call([T(2)]), errors=[bad(RuntimeError, [T(2, 2), T(2)], says="[2, 2]")]),
    lambda ts: np.stack([a.reshape(-1) for a in np.meshgrid(*ts, indexing="ij")], -1) if len(ts) > 1 else ts[0],
    types=ANY,
)


def combined(x, r=2, with_replacement=False):
    pick = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    return np.array(list(pick(x.tolist(), r)), x.dtype).reshape(-1, r)


op(
    "combinations",
    calls(call(T(4)), call(T(4), 3), call(T(3), 2, True), errors=[bad(RuntimeError, T(2, 2), says="[2, 2]")]),
    combined,
    types=ANY,
)

# ---- repeats, turns, diagonals ----
op(
    "repeat",
    calls(
        call(T(2, 3), [2, 1]),
        call(T(3), [2, 2]),
        call(T(2), [0]),
        call(T(), [2]),
        errors=[bad(RuntimeError, T(2, 3), [2], says=["2"]), bad(RuntimeError, T(2), [-1], says="-1")],
    ),
    lambda x, n: np.tile(x, n),
    types=ANY,
)
op("tile", calls(call(T(2, 3), [2]), call(T(3), [2, 2]), call(T(2), [0])), np.tile, types=ANY)
op(
    "roll",
    calls(
        call(T(2, 3), [1]),
        call(T(2, 3), [1], [1]),
        call(T(3, 4), [1, -2], [0, 1]),
        call(T(0, 2), [1], [0]),
        errors=[bad(RuntimeError, T(2, 3), [1, 2], [0], says=["2", "1"])],
    ),
    lambda x, n, dims=None: np.roll(x, tuple(n), tuple(dims)) if dims else np.roll(x, n[0]),
    types=ANY,
)
op(
    "flip",
    calls(
        call(T(2, 3), [0]),
        call(T(2, 3, 2), [0, -1]),
        call(T(2), []),
        call(T(129, 513), [0, 1]).but(big=True),
        errors=[bad(IndexError, T(2, 3), [5], says=["5", "2"]), bad(RuntimeError, T(2, 3), [0, 0], says="0")],
    ),
    lambda x, dims: np.flip(x, tuple(dims)),
    types=ANY,
)
op("fliplr", calls(call(T(2, 3)), errors=[bad(RuntimeError, T(2), says="[2]")]), np.fliplr, types=ANY)
op("flipud", calls(call(T(2, 3)), call(T(2)), errors=[bad(RuntimeError, T(), says="[]")]), np.flipud, types=ANY)
op(
    "rot90",
    calls(
        *[call(T(2, 3), k) for k in (0, 1, 2, 3, -1)],
        call(T(2, 3, 4), 1, [1, 2]),
        errors=[bad(RuntimeError, T(2), says="[2]"), bad(RuntimeError, T(2, 3), 1, [0, 0], says="0")],
    ),
    lambda x, k=1, dims=(0, 1): np.rot90(x, k, tuple(dims)),
    types=ANY,
)


def diagonals(x, offset=0, dim1=-2, dim2=-1):
    n = x.shape[-1] + abs(offset)
    out = np.zeros((*x.shape[:-1], n, n), x.dtype)
    i = np.arange(x.shape[-1])
    out[..., i + max(-offset, 0), i + max(offset, 0)] = x
    return np.moveaxis(out, (-2, -1), (dim1, dim2))


op(
    "diag_embed",
    calls(
        call(T(3)),
        call(T(2, 3)),
        call(T(2, 3), 1),
        call(T(2, 3), -1, 0, 2),
        errors=[bad(RuntimeError, T(3), 0, 0, 0, says="0")],
    ),
    diagonals,
    types=ANY,
)
op(
    "diag",
    calls(
        call(T(3)),
        call(T(3), 1),
        call(T(3, 4)),
        call(T(3, 4), -1),
        errors=[bad(RuntimeError, T(2, 2, 2), says="[2, 2, 2]")],
    ),
    np.diag,
    types=ANY,
)
op("diagflat", calls(call(T(3)), call(T(2, 2), -1), call(T())), np.diagflat, types=ANY)
for name, f in (("tril", np.tril), ("triu", np.triu)):
    op(
        name,
        calls(
            call(T(3, 4)),
            call(T(4, 3), 1),
            call(T(2, 3, 3), -1),
            call(T(0, 2)),
            call(T(129, 513)).but(big=True),
            errors=[bad(RuntimeError, T(3), says="[3]")],
        ),
        f,
        types=ANY,
    )
