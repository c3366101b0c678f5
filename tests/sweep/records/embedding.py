"""Bags of rows of a table, and rows scaled to a norm."""

import numpy as np
import torch

from sweep.cases import call, calls
from sweep.record import T, bad, op


def ints(*values, shape=None):
    return T(*(shape or (len(values),)), values=list(values), dtype=torch.int64)


AT = ints(1, 2, 4, 5, 1, 0)
BAGS = ints(0, 2, 2, 4)
def borders(i, offsets, last):
    return list(offsets) if last else [*offsets, len(i)]


def bag(w, i, offsets, by_count=False, mode=0, sparse=False, weights=None, last=False, padding=-1):
    padding = -1 if padding is None else padding % len(w) if padding != -1 else -1
    b = borders(i, offsets, last)
    n, width = len(b) - 1, w.shape[1]
    out, places = np.zeros((n, width)), np.zeros((n, width) if mode == 2 else n, np.int64)
    counts = np.zeros(n, np.int64)
    for k in range(n):
        at = [j for j in range(b[k], b[k + 1]) if i[j] != padding]
        rows = np.array([w[i[j]] * (1 if weights is None else weights[j]) for j in at]).reshape(-1, width)
        counts[k] = len(at) if mode else 0
        if at:
            out[k] = (rows.sum(0), rows.mean(0), rows.max(0))[mode]
            if mode == 2:
                places[k] = [i[at[j]] for j in rows.argmax(0)]
    bag_of = np.repeat(np.arange(n), np.diff(b)).astype(np.int64)
    return out, bag_of, counts, places if mode == 2 else counts


def only_output(f):
    """The map of sums depends on the type; it is checked where there is one."""

    def holds(results, *args, **kwargs):
        plain = [a.double().numpy() if isinstance(a, torch.Tensor) and a.is_floating_point() else a.numpy() if isinstance(a, torch.Tensor) else a for a in args]
        want = f(*plain, **kwargs)
        if not torch.allclose(results[0].double(), torch.tensor(want[0]), rtol=0.05 if results[0].dtype.itemsize == 2 else 1e-5, atol=1e-2 if results[0].dtype.itemsize == 2 else 1e-5):
            return f"output {results[0]}, expected {want[0]}"
        for name, got, w in zip(("offset2bag", "bag_size", "max_indices"), results[1:], want[1:]):
            if got.numel() and got.tolist() != w.tolist():
                return f"{name} {got}, expected {w}"
        return results[1].numel() in (0, len(args[1])) or "offset2bag has another length"

    return holds


no = dict(grad=False)
bags = [
    call(T(6, 2), AT, BAGS),
    call(T(6, 2), AT, BAGS, False, 1),
    call(T(6, 2), AT, BAGS, False, 2),
    call(T(6, 2), AT, BAGS, False, 0, False, T(6)),
    call(T(6, 2), AT, ints(0, 2, 2, 6), False, 1, False, None, True),
]
wrong = [
    bad(RuntimeError, T(6, 2), AT, ints(1, 2), says="1"),
    bad(RuntimeError, T(6, 2), AT, ints(0, 7), says="7"),
    bad(RuntimeError, T(6, 2), AT, ints(0, 4, 2), says=["4", "2"]),
    bad(RuntimeError, T(3, 2), ints(3), ints(0), says="3"),
    bad(RuntimeError, T(3, 2), ints(1), ints(0), False, 3, says="3"),
    bad(RuntimeError, T(3), ints(1), ints(0), says="[3]"),
    bad(RuntimeError, T(3, 2), ints(1), ints(0), False, 1, False, T(1), says="1"),
    bad(RuntimeError, T(3, 2), ints(1), ints(0), says="int64", swept=torch.int64),
]
for name in ("embedding_bag", "_embedding_bag", "_embedding_bag_forward_only"):
    more = [call(T(6, 2), AT, BAGS, False, m, False, None, False, 1) for m in (0, 1, 2)]
    op(
        name,
        calls(*bags, *more, errors=wrong),
        holds=only_output(bag),
        types="f",
        grad=True if name == "embedding_bag" else None,
        mixed=False,
    )
MAP = ints(0, 0, 2, 2, 3, 3)
SIZES = ints(2, 0, 2, 2)


def bag_gradient(g, i, bag_of, sizes, places, rows, by_count, mode, weights=None, padding=-1):
    out = np.zeros((rows, g.shape[1]))
    if mode == 2:
        for b in range(len(g)):
            for k in range(g.shape[1]):
                if sizes[b]:
                    out[places[b, k], k] += g[b, k]
        return out
    many = np.bincount(i, minlength=rows)
    for j, row in enumerate(i):
        if row != padding:
            f = (1 if weights is None else weights[j]) / (many[row] if by_count else 1) / (sizes[bag_of[j]] if mode else 1)
            out[row] += g[bag_of[j]] * f
    return out


op(
    "_embedding_bag_dense_backward",
    calls(
        call(T(4, 2), AT, MAP, SIZES, SIZES, 6, False, 0, None),
        call(T(4, 2), AT, MAP, SIZES, SIZES, 6, True, 1, None, 1),
        call(T(4, 2), AT, MAP, SIZES, ints(2, 1, 0, 0, 4, 5, 1, 0, shape=(4, 2)), 6, False, 2, None),
        call(T(4, 2), AT, MAP, SIZES, SIZES, 6, False, 0, T(6)),
        errors=[bad(RuntimeError, T(4, 2), AT, ints(0), SIZES, SIZES, 6, False, 0, None, says=["[1]", "[6]"])],
    ),
    bag_gradient,
    types="f",
    mixed=False,
)
op(
    "_embedding_bag_backward",
    calls(
        call(T(4, 2), AT, BAGS, T(0, dtype=torch.int64), SIZES, SIZES, 6, False, 0, False, None),
        call(T(4, 2), AT, BAGS, MAP, SIZES, SIZES, 6, False, 1, False, None, 1),
    ),
    lambda g, i, offsets, m, sizes, places, rows, by_count, mode, sparse, weights=None, padding=-1: bag_gradient(
        g, i, np.repeat(np.arange(len(g)), np.diff([*offsets, len(i)])), sizes, places, rows, by_count, mode, weights, padding
    ),
    types="f",
    mixed=False,
)
op(
    "_embedding_bag_per_sample_weights_backward",
    calls(call(T(4, 2), T(6, 2), AT, BAGS, MAP, 0), call(T(4, 2), T(6, 2), AT, BAGS, MAP, 0, 1)),
    lambda g, w, i, offsets, m, mode, padding=-1: np.array([0.0 if r == padding else g[b] @ w[r] for r, b in zip(i, m)]),
    types="f",
    mixed=False,
    tol=4,
)


def renormed(w, i, limit, p):
    out = w.copy()
    for r in set(i.tolist()):
        norm = (np.abs(w[r]) ** p).sum() ** (1 / p)
        if norm > limit:
            out[r] = w[r] * (limit / (norm + 1e-7))
    return out


op(
    "embedding_renorm_",
    calls(
        call(T(6, 2), AT, 1.0, 2.0),
        call(T(6, 2), ints(3, 3), 1.5, 1.0),
        call(T(6, 2), T(0, dtype=torch.int64), 1.0, 2.0),
        errors=[bad(IndexError, T(3, 2), ints(3), 1.0, 2.0, says="3"), bad(RuntimeError, T(3), ints(0), 1.0, 2.0, says="[3]")],
    ),
    renormed,
    types="f",
    open="c",
    grad=None,
    tol=4,
)
