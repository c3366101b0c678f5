"""Views, their copies, their inverse writes, and padding."""

import itertools

import numpy as np
import torch

from sweep.cases import call, calls
from sweep.record import T, bad, op

ANY = "fcib"
OUT_OF_RANGE = ["5", "2"]


def conj(x):
    return np.conj(x) if x.dtype.kind == "c" else x


def view(name, cases, value, copy=True, **said):
    """A view, and with the same cases its copy where there is one."""
    op(name, cases, value, types=ANY, **said)
    if copy:
        op(name + "_copy", cases, value, types=ANY, **said)


# ---- orders of dimensions ----
view(
    "permute",
    calls(
        call(T(2, 3, 4), [2, 0, 1]),
        call(T(2, 3), [-1, 0]),
        call(T(), []),
        call(T(0, 2), [1, 0]),
        errors=[
            bad(RuntimeError, T(2, 3), [0], says=["1", "2"]),
            bad(RuntimeError, T(2, 3), [0, 0], says="0"),
            bad(IndexError, T(2, 3), [0, 5], says=OUT_OF_RANGE),
        ],
    ),
    lambda x, d: np.transpose(x, d),
)
swap = calls(
    call(T(2, 3, 4), 0, 2),
    call(T(2, 3), -1, 0),
    call(T(), 0, -1),
    errors=[bad(IndexError, T(2, 3), 0, 5, says=OUT_OF_RANGE)],
)
view("transpose", swap, lambda x, a, b: x if x.ndim == 0 else np.swapaxes(x, a, b))
for name in ("swapaxes", "swapdims"):
    view(name, swap, lambda x, a, b: x if x.ndim == 0 else np.swapaxes(x, a, b), copy=False)
view("t", calls(call(T(2, 3)), call(T(3)), call(T()), errors=[bad(RuntimeError, T(2, 3, 4), says="3")]), np.transpose)
view("numpy_T", calls(call(T(2, 3)), call(T(3))), np.transpose, copy=False)
matrix = calls(call(T(2, 3)), call(T(2, 3, 4)), errors=[bad(RuntimeError, T(2), says=["[2]"])])
view("mT", matrix, lambda x: np.swapaxes(x, -1, -2), copy=False)
for name in ("mH", "adjoint"):
    view(name, matrix, lambda x: conj(np.swapaxes(x, -1, -2)), copy=False)
view(
    "matrix_H",
    calls(call(T(2, 3)), errors=[bad(RuntimeError, T(2), says="[2]"), bad(RuntimeError, T(2, 3, 4), says="[2, 3, 4]")]),
    lambda x: conj(np.swapaxes(x, -1, -2)),
    copy=False,
)
view(
    "movedim",
    calls(
        call(T(2, 3, 4), 0, 2),
        call(T(2, 3, 4), [0, 1], [-1, 0]),
        errors=[
            bad(IndexError, T(2, 3), 5, 0, says=OUT_OF_RANGE),
            bad(RuntimeError, T(2, 3), [0, 0], [0, 1], says="0"),
        ],
    ),
    lambda x, a, b: np.moveaxis(x, a, b),
    copy=False,
)

# ---- shapes ----
reshaped = calls(
    call(T(2, 6), [3, 4]),
    call(T(2, 6), [-1]),
    call(T(2, 3), [2, -1, 1]),
    call(T(), [1]),
    call(T(0, 2), [2, 0]),
    errors=[
        bad(RuntimeError, T(2, 3), [4], says=["[4]"]),
        bad(RuntimeError, T(2, 3), [-1, -1], says="-1"),
        bad(RuntimeError, T(2, 3), [4, -1], says=["4"]),
    ],
)
strided = [c.but(layouts=False) for c in reshaped]
op(
    "view",
    calls(
        *strided,
        call(T(2, 4), torch.uint8).but(grad=False, values=False, layouts=False),
        errors=reshaped.errors + [bad(RuntimeError, T(3, 3), torch.float64, says=["float32", "float64"])],
    ),
    lambda x, s: x.reshape(s),
    types=ANY,
)
op(
    "view_copy",
    calls(*strided, call(T(2, 4), torch.uint8).but(grad=False, values=False, layouts=False), errors=reshaped.errors),
    lambda x, s: x.reshape(s),
    types=ANY,
)
op("_unsafe_view", calls(*strided), lambda x, s: x.reshape(s), types=ANY, shares=True)
op("reshape", reshaped, lambda x, s: x.reshape(s), types=ANY)
op("reshape_as", calls(call(T(2, 6), T(3, 4))), lambda x, y: x.reshape(y.shape), types=ANY)
op("view_as", calls(call(T(2, 6), T(3, 4)).but(layouts=False)), lambda x, y: x.reshape(y.shape), types=ANY)
op(
    "flatten",
    calls(
        call(T(2, 3, 4)),
        call(T(2, 3, 4), 1),
        call(T(2, 3, 4), 0, 1),
        call(T()),
        errors=[bad(RuntimeError, T(2, 3), 1, 0, says=["1", "0"]), bad(IndexError, T(2, 3), 5, says=OUT_OF_RANGE)],
    ),
    lambda x, a=0, b=-1: x.reshape(*x.shape[:a], -1, *x.shape[b:][1:]) if x.ndim else x.reshape(1),
    types=ANY,
)
op(
    "unflatten",
    calls(
        call(T(2, 6), 1, [2, 3]),
        call(T(6), 0, [-1, 2]),
        errors=[bad(RuntimeError, T(2, 6), 1, [4, 2], says=["[4, 2]", "6"])],
    ),
    lambda x, d, s: x.reshape(*x.shape[:d], *s, *x.shape[d + 1 :]),
    types=ANY,
)
op("ravel", calls(call(T(2, 3)), call(T())), np.ravel, types=ANY)
op(
    "squeeze",
    calls(
        call(T(2, 1, 3, 1)),
        call(T(2, 1, 3), 1),
        call(T(2, 1, 3), 0),
        call(T(2, 1, 3, 1), [1, 3]),
        call(T(), 0),
        errors=[bad(IndexError, T(2, 3), 5, says=OUT_OF_RANGE)],
    ),
    lambda x, d=None: x.reshape(
        [s for i, s in enumerate(x.shape) if s != 1 or not (d is None or i in np.atleast_1d(d))]
    ),
    types=ANY,
)
op(
    "squeeze_copy",
    calls(call(T(2, 1, 3, 1)), call(T(2, 1, 3), 1), call(T(2, 1, 3, 1), [1, 3])),
    lambda x, d=None: x.reshape(
        [s for i, s in enumerate(x.shape) if s != 1 or not (d is None or i in np.atleast_1d(d))]
    ),
    types=ANY,
)
view(
    "unsqueeze",
    calls(call(T(2, 3), 1), call(T(2, 3), -1), call(T(), 0), errors=[bad(IndexError, T(2, 3), 5, says=OUT_OF_RANGE)]),
    np.expand_dims,
)
view(
    "expand",
    calls(
        call(T(2, 1), [2, 3]),
        call(T(3), [2, -1]),
        call(T(), [2]),
        call(T(1), [0]),
        errors=[
            bad(RuntimeError, T(2, 3), [2, 4], says=["4", "3"]),
            bad(RuntimeError, T(2, 3), [3], says=["[3]", "[2, 3]"]),
        ],
    ),
    lambda x, s: np.broadcast_to(x, [x.shape[i - len(s) + x.ndim] if n == -1 else n for i, n in enumerate(s)]),
)
op("expand_as", calls(call(T(2, 1), T(2, 3))), lambda x, y: np.broadcast_to(x, y.shape), types=ANY)
op("broadcast_to", calls(call(T(2, 1), [2, 3]), call(T(3), [2, 3])), np.broadcast_to, types=ANY)
op(
    "broadcast_tensors",
    calls(call([T(2, 1), T(3)]), call([T(), T(2)]), errors=[bad(RuntimeError, [T(2), T(3)], says=["2", "3"])]),
    lambda ts: np.broadcast_arrays(*ts),
    types=ANY,
)
op(
    "sum_to_size",
    calls(
        call(T(2, 3), [1, 3]),
        call(T(2, 3), [3]),
        call(T(2, 3), [2, 3]),
        errors=[bad(RuntimeError, T(2, 3), [4], says=["[4]", "[2, 3]"])],
    ),
    lambda x, s: x if list(x.shape) == s else x.sum(0, keepdims=len(s) == 2),
    types=ANY,
    result=lambda x, s: (
        x.dtype if list(x.shape) == s or x.dtype.is_floating_point or x.dtype.is_complex else torch.int64
    ),
)
for n in (1, 2, 3):
    f = getattr(np, f"atleast_{n}d")
    op(
        f"atleast_{n}d",
        calls(call(T()), call(T(2)), call(T(2, 3)), call([T(), T(2)])),
        lambda x, f=f: f(*x) if isinstance(x, list) else f(x),
        types=ANY,
    )

# ---- parts ----
view(
    "select",
    calls(
        call(T(2, 3, 4), 1, 2),
        call(T(3), 0, -1),
        errors=[
            bad(IndexError, T(2, 3), 1, 3, says=["3"]),
            bad(IndexError, T(2, 3), 5, 0, says=OUT_OF_RANGE),
            bad(IndexError, T(), 0, 0, says="0"),
        ],
    ),
    lambda x, d, i: np.take(x, i, d),
)


def sliced(x, dim=0, start=None, end=None, step=1):
    index = [slice(None)] * x.ndim
    index[dim] = slice(start, end, step)
    return x[tuple(index)]


view(
    "slice",
    calls(
        call(T(4, 3), 0, 1, 3),
        call(T(4, 3), 1, 0, 9, 2),
        call(T(5), 0, -3, None),
        call(T(4), 0, 3, 1),
        call(T(3)),
        errors=[bad(RuntimeError, T(3), 0, 0, 3, 0, says="0"), bad(IndexError, T(2, 3), 5, says=OUT_OF_RANGE)],
    ),
    sliced,
)
narrow = calls(
    call(T(4, 3), 0, 1, 2),
    call(T(4, 3), -1, 0, 3),
    call(T(4), 0, -2, 2),
    errors=[bad(RuntimeError, T(3), 0, 2, 2, says=["2", "3"]), bad(IndexError, T(3), 0, 5, 1, says=["5", "3"])],
)
op(
    "narrow",
    narrow + [call(T(4), 0, T(values=1, dtype=torch.int64), 2).but(meta=False)],
    lambda x, d, a, n: np.take(x, range(int(a), int(a) + n), d),
    types=ANY,
)
op(
    "narrow_copy",
    calls(*narrow[:2], errors=narrow.errors),
    lambda x, d, a, n: np.take(x, range(a, a + n), d),
    types=ANY,
)
view(
    "diagonal",
    calls(
        call(T(3, 3)),
        call(T(3, 4), 1),
        call(T(2, 3, 4), -1, 0, 2),
        errors=[bad(RuntimeError, T(2, 3), 0, 0, 0, says="0"), bad(IndexError, T(2, 3), 0, 0, 5, says=OUT_OF_RANGE)],
    ),
    np.diagonal,
)


def windows(x, dim, size, step):
    return (
        np.moveaxis(np.lib.stride_tricks.sliding_window_view(x, size, dim), dim, 0)[::step]
        .swapaxes(0, 0)
        .transpose(np.argsort([dim] + [i for i in range(x.ndim) if i != dim]).tolist() + [x.ndim])
        if x.ndim
        else x.reshape(1)[:size]
    )


view(
    "unfold",
    calls(
        call(T(7), 0, 3, 2),
        call(T(2, 6), 1, 2, 2),
        call(T(5, 2), 0, 2, 1),
        errors=[bad(RuntimeError, T(3), 0, 4, 1, says=["4", "3"]), bad(RuntimeError, T(3), 0, 2, 0, says="0")],
    ),
    windows,
)


def placed(shape, dim, at):
    index = [slice(None)] * len(shape)
    index[dim] = at
    return tuple(index)


def spread(g, shape, index):
    x = np.zeros(shape, g.dtype)
    x[index] += g
    return x


op(
    "select_backward",
    calls(call(T(2, 4), [2, 3, 4], 1, 2), call(T(), [3], 0, -1)),
    lambda g, s, d, i: spread(g, s, placed(s, d, i)),
    types=ANY,
)
op(
    "slice_backward",
    calls(call(T(2, 3), [4, 3], 0, 1, 3, 1), call(T(2, 2), [2, 4], 1, 0, 4, 2)),
    lambda g, s, d, a, b, n: spread(g, s, placed(s, d, slice(a, b, n))),
    types=ANY,
)


def on_diagonal(g, s, offset, a, b):
    x = np.zeros(s, g.dtype)
    d = np.moveaxis(x, (a, b), (-2, -1))
    i = np.arange(g.shape[-1])
    d[..., i + max(-offset, 0), i + max(offset, 0)] = g
    return x


op("diagonal_backward", calls(call(T(3), [3, 4], 0, 0, 1), call(T(3, 1), [2, 3, 4], -1, 0, 2)), on_diagonal, types=ANY)


def folded(g, s, dim, size, step):
    x = np.zeros(s, g.dtype)
    for k in range(g.shape[dim]):
        x[placed(s, dim, slice(k * step, k * step + size))] += np.moveaxis(np.take(g, k, dim), -1, dim)
    return x


op(
    "unfold_backward",
    calls(call(T(3, 3), [7], 0, 3, 2), call(T(2, 3, 2), [2, 6], 1, 2, 2), call(T(4, 2, 2), [5, 2], 0, 2, 1)),
    folded,
    types="fc",
)


def written(x, src, index):
    x = x.copy()
    x[index] = src
    return x


op(
    "select_scatter",
    calls(call(T(2, 3), T(2), 1, 2), errors=[bad(RuntimeError, T(2, 3), T(3), 1, 2, says=["[3]"])]),
    lambda x, y, d, i: written(x, y, placed(x.shape, d, i)),
    types=ANY,
)
op(
    "slice_scatter",
    calls(
        call(T(4, 3), T(2, 3), 0, 1, 3),
        call(T(2, 4), T(2, 2), 1, 0, 4, 2),
        errors=[bad(RuntimeError, T(4, 3), T(3, 3), 0, 1, 3, says=["[3, 3]"])],
    ),
    lambda x, y, d=0, a=None, b=None, n=1: written(x, y, placed(x.shape, d, slice(a, b, n))),
    types=ANY,
)
op(
    "diagonal_scatter",
    calls(call(T(3, 3), T(3)), call(T(3, 4), T(3), 1), errors=[bad(RuntimeError, T(3, 3), T(2), says=["[2]"])]),
    lambda x, y, o=0: np.where(np.eye(*x.shape, o, dtype=bool), on_diagonal(y, x.shape, o, 0, 1), x),
    types=ANY,
)


def by_strides(x, size, stride, offset=0):
    return np.array(
        [x.reshape(-1)[offset + sum(i * s for i, s in zip(at, stride))] for at in itertools.product(*map(range, size))],
        x.dtype,
    ).reshape(size)


strides = calls(
    call(T(2, 3), [3, 2], [2, 1]),
    call(T(6), [2, 2], [1, 2], 1),
    call(T(5), [3, 2], [1, 1]),
    errors=[bad(RuntimeError, T(3), [4], [1], says="4"), bad(RuntimeError, T(3), [2], [1, 1], says=["[2]", "[1, 1]"])],
)
view(
    "as_strided",
    calls(*[c.but(layouts=False) for c in strides], errors=strides.errors),
    lambda x, s, t, o=0: by_strides(x, s, t, o),
)


def add_by_strides(g, sizes, _, size, stride, offset):
    x = np.zeros(int(np.prod(sizes)), g.dtype)
    for at in itertools.product(*map(range, size)):
        x[offset + sum(i * s for i, s in zip(at, stride))] += g[at]
    return x.reshape(sizes)


op(
    "as_strided_backward",
    calls(call(T(3, 2), [2, 3], [3, 1], [3, 2], [2, 1], 0), call(T(3, 2), [5], [1], [3, 2], [1, 1], 0)),
    add_by_strides,
    types="fc",
    open="ib",
)
op(
    "as_strided_scatter",
    calls(
        call(T(2, 3), T(3, 2), [3, 2], [2, 1], 0).but(layouts=False),
        call(T(6), T(2, 2), [2, 2], [1, 2], 1).but(layouts=False),
    ),
    lambda x, y, s, t, o: np.array([*_scattered(x, y, s, t, o)], x.dtype).reshape(x.shape),
    types=ANY,
)


def _scattered(x, y, size, stride, offset):
    flat = x.reshape(-1).copy()
    for at in itertools.product(*map(range, size)):
        flat[offset + sum(i * s for i, s in zip(at, stride))] = y[at]
    return flat


# ---- pieces ----
def cut(x, ends, dim=0):
    return np.split(x, ends, dim)


def by_size(x, n, dim=0):
    return cut(x, list(range(n, x.shape[dim], n)), dim)


def by_sizes(x, sizes, dim=0):
    return cut(x, np.cumsum(sizes)[:-1], dim)


even = calls(
    call(T(5, 2), 2),
    call(T(2, 6), 3, 1),
    call(T(2, 6), 9, -1),
    errors=[bad(RuntimeError, T(3), -1, says="-1"), bad(IndexError, T(2, 3), 1, 5, says=OUT_OF_RANGE)],
)
given = calls(
    call(T(5, 2), [2, 3]), call(T(2, 6), [1, 0, 5], 1), errors=[bad(RuntimeError, T(5), [2, 2], says=["[2, 2]", "5"])]
)
op(
    "split",
    even + given,
    lambda x, n, dim=0: by_size(x, n, dim) if isinstance(n, int) else by_sizes(x, n, dim),
    types=ANY,
    second=False,
)
op("split_copy", even, by_size, types=ANY, second=False)
op("unsafe_split", even, by_size, types=ANY, second=False, shares=True)
for name in ("split_with_sizes", "split_with_sizes_copy", "unsafe_split_with_sizes"):
    op(name, given, by_sizes, types=ANY, second=False, shares=name[0] == "u")
for name in ("chunk", "unsafe_chunk"):
    op(
        name,
        calls(call(T(5, 2), 2), call(T(2, 6), 4, 1), call(T(3), 9), errors=[bad(RuntimeError, T(3), 0, says="0")]),
        lambda x, n, dim=0: by_size(x, -(-x.shape[dim] // n), dim),
        types=ANY,
        second=False,
    )
op(
    "tensor_split",
    calls(
        call(T(5, 2), 2),
        call(T(2, 7), 3, 1),
        call(T(5), [1, 3]),
        call(T(5), T(values=2, dtype=torch.int64)).but(meta=False),
        call(T(5), T(values=[1, 3], dtype=torch.int64)).but(meta=False),
        errors=[bad(RuntimeError, T(3), 0, says="0")],
    ),
    lambda x, n, dim=0: np.array_split(x, n.tolist() if isinstance(n, np.ndarray) else n, dim),
    types=ANY,
    second=False,
)
for name, dim, shape in (("hsplit", 1, (2, 4)), ("vsplit", 0, (4, 2)), ("dsplit", 2, (2, 1, 4))):
    op(
        name,
        calls(
            call(T(*shape), 2),
            call(T(*shape), [1, 3]),
            errors=[bad(RuntimeError, T(*shape), 3, says=["3", "4"]), bad(RuntimeError, T(), 2, says="[]")],
        ),
        lambda x, n, d=dim: np.split(x, n, d),
        types=ANY,
        second=False,
    )
for name in ("unbind", "unbind_copy"):
    op(
        name,
        calls(
            call(T(2, 3)),
            call(T(2, 3), 1),
            call(T(2, 0, 3), -1),
            errors=[bad(IndexError, T(2, 3), 5, says=OUT_OF_RANGE)],
        ),
        lambda x, dim=0: list(np.moveaxis(x, dim, 0)),
        types=ANY,
        second=False,
    )

# ---- complex and lazy bits ----
for name in ("view_as_real", "view_as_real_copy"):
    op(name, calls(call(T(2, 3)), call(T())), lambda x: np.stack([x.real, x.imag], -1), types="c")
for name in ("view_as_complex", "view_as_complex_copy"):
    op(
        name,
        calls(
            call(T(3, 2)).but(layouts=False),
            call(T(2)).but(layouts=False),
            errors=[bad(RuntimeError, T(3, 3), says=["[3, 3]"]), bad(RuntimeError, T(), says="dimension")],
        ),
        lambda x: x[..., 0] + 1j * x[..., 1],
        types="w",
    )
op("real", calls(call(T(2, 3)), call(T())), np.real, types=ANY)
op("imag", calls(call(T(2, 3)), call(T())), np.imag, types="c")
for name in ("conj", "_conj", "_conj_copy"):
    op(name, calls(call(T(2, 3)), call(T())), conj, types=ANY if name == "conj" else "c")
for name in ("_neg_view", "_neg_view_copy"):
    op(name, calls(call(T(2, 3)), call(T())), np.negative, types="fci", open="b")
for name in ("resolve_conj", "resolve_neg"):
    op(name, calls(call(T(2, 3)), call(T())), lambda x: x, types=ANY)
for name in ("alias", "alias_copy"):
    op(name, calls(call(T(2, 3)), call(T())), lambda x: x, types=ANY)
for name in ("detach", "detach_copy"):
    op(name, calls(call(T(2, 3)), call(T())), lambda x: x, types=ANY, grad=False)
op("is_complex", calls(call(T(2))), lambda x: x.dtype.kind == "c", types=ANY, grad=False)
op("is_floating_point", calls(call(T(2))), lambda x: x.dtype.kind == "f", types=ANY, grad=False)
op(
    "is_signed",
    calls(
        call(T(2)).but(types="fc"),
        call(T(2, dtype=torch.uint8)),
        call(T(2, dtype=torch.int8)),
        call(T(2, dtype=torch.bool)),
    ),
    holds=lambda got, x: got[0] is (x.dtype not in (torch.uint8, torch.bool)),
    types=ANY,
    grad=False,
)
for name in ("is_conj", "is_neg"):
    op(name, calls(call(T(2))), lambda x: False, types=ANY, grad=False)


# ---- padding ----
def padded(mode):
    def f(x, pad, value=0):
        pairs = [(0, 0)] * x.ndim
        for i in range(len(pad) // 2):
            pairs[x.ndim - 1 - i] = (pad[2 * i], pad[2 * i + 1])
        more = [(max(a, 0), max(b, 0)) for a, b in pairs]
        y = np.pad(x, more, mode, **(dict(constant_values=value or 0) if mode == "constant" else {}))
        return y[tuple(slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(pairs, y.shape))]

    return f


def summed_back(mode):
    """The gradient: each element of the padded tensor goes back to the one it was taken from."""

    def f(g, x, pad):
        source = padded(mode)(np.arange(x.size).reshape(x.shape), pad)
        out = np.zeros(x.size, g.dtype)
        np.add.at(out, source.reshape(-1), g.reshape(-1))
        return out.reshape(x.shape)

    return f


op(
    "constant_pad_nd",
    calls(
        call(T(2, 3), [1, 2]),
        call(T(2, 3), [1, 0, 0, 2], 1),
        call(T(4, 4), [-1, 1]),
        call(T(2), []),
        errors=[bad(RuntimeError, T(2), [1], says="1"), bad(RuntimeError, T(2), [-2, -1], says="-2")],
    ),
    padded("constant"),
    types=ANY,
)
op("_pad_circular", calls(call(T(1, 2, 4), [1, 2]), call(T(1, 1, 3, 4), [1, 2, 0, 1])), padded("wrap"), types=ANY)
modes = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}
op(
    "pad",
    calls(
        *[call(T(1, 2, 4), [1, 2], m) for m in modes],
        call(T(2, 3), [1, 1], "constant", 2.0),
        errors=[bad(NotImplementedError, T(2), [1, 1], "mirror", says="mirror")],
    ),
    lambda x, pad, mode="constant", value=None: padded(modes[mode])(x, pad, *([value] if mode == "constant" else [])),
    types=ANY,
)
SHAPES = {1: ((2, 1, 4), [1, 2]), 2: ((1, 1, 3, 4), [1, 2, 2, 0]), 3: ((1, 1, 2, 3, 3), [1, 1, 0, 2, 1, 0])}
for kind, mode in (("reflection", "reflect"), ("replication", "edge")):
    for n, (shape, pad) in SHAPES.items():
        name = f"{kind}_pad{n}d"
        large = (
            [bad(RuntimeError, T(*shape), [9] * len(pad), says="9")]
            if kind == "reflection"
            else [bad(RuntimeError, T(*shape), [-9] * len(pad), says="-9")]
        )
        op(name, calls(call(T(*shape), pad), call(T(*shape[1:]), pad), errors=large), padded(mode), types=ANY)
        size = [
            s + (sum(pad[2 * (len(shape) - 1 - i) :][:2]) if 2 * (len(shape) - 1 - i) < len(pad) else 0)
            for i, s in enumerate(shape)
        ]
        op(name + "_backward", calls(call(T(*size), T(*shape, grad=False), pad)), summed_back(mode), types="fc")
