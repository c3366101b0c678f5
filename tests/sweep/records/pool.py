"""Pooling."""
import itertools
import math

import numpy as np
import torch

from sweep.cases import call, calls
from sweep.record import T, bad, op


def spread(v, n):
    v = list(v) if isinstance(v, (list, tuple)) else [v]
    return v * n if len(v) == 1 else v


def axis(size, kernel, stride, padding, dilation, ceil_mode):
    """The windows of one axis: positions within the input, and how many elements count with padding."""
    reach = dilation * (kernel - 1) + 1
    span = (size + 2 * padding - reach) / stride
    count = (math.ceil(span) if ceil_mode else math.floor(span)) + 1
    if ceil_mode and (count - 1) * stride >= size + padding:
        count -= 1
    starts = [o * stride - padding for o in range(count)]
    return [([s + dilation * k for k in range(kernel) if 0 <= s + dilation * k < size], min(s + reach, size + padding) - s) for s in starts]


def axes(x, nd, kernel, stride=(), padding=0, dilation=1, ceil_mode=False):
    kernel = spread(kernel, nd)
    stride = kernel if stride in ((), []) else spread(stride, nd)
    return [axis(n, k, s, p, d, ceil_mode) for n, k, s, p, d in zip(x.shape[-nd:], kernel, stride, spread(padding, nd), spread(dilation, nd))]


def adaptive(x, nd, size):
    return [[(list(range(o * n // out, -(-(o + 1) * n // out))),) * 1 + (-(-(o + 1) * n // out) - o * n // out,) for o in range(out)]
            for n, out in zip(x.shape[-nd:], spread(size, nd))]


def over(x, nd, windows):
    """For each output: its index (lead..., places...), the flat places of its window, how many elements count."""
    spatial = x.shape[-nd:]
    for lead in np.ndindex(*x.shape[:-nd]):
        for at in itertools.product(*[range(len(w)) for w in windows]):
            boxes = [w[i] for w, i in zip(windows, at)]
            flat = [int(np.ravel_multi_index(p, spatial)) for p in itertools.product(*[b[0] for b in boxes])]
            yield lead, at, flat, math.prod(b[1] for b in boxes)


def largest(x, nd, windows):
    shape = x.shape[:-nd] + tuple(len(w) for w in windows)
    y, where = np.zeros(shape, x.dtype), np.zeros(shape, np.int64)
    for lead, at, flat, _ in over(x, nd, windows):
        v = x[lead].reshape(-1)
        best = max(flat, key=lambda p: (v[p], -p))
        y[lead + at], where[lead + at] = v[best], best
    return y, where


def mean(x, nd, windows, include=True, divisor=None):
    y = np.zeros(x.shape[:-nd] + tuple(len(w) for w in windows), x.dtype)
    for lead, at, flat, full in over(x, nd, windows):
        total, n = x[lead].reshape(-1)[flat].sum(), divisor or (full if include else len(flat))
        y[lead + at] = int(total / n) if x.dtype.kind == "i" else total / n
    return y


def mean_back(g, x, nd, windows, include=True, divisor=None):
    gx = np.zeros_like(x)
    for lead, at, flat, full in over(x, nd, windows):
        gx[lead].reshape(-1)[flat] += g[lead + at] / (divisor or (full if include else len(flat)))
    return gx


def put(g, x, nd, where):
    gx = np.zeros_like(x)
    for lead in np.ndindex(*x.shape[:-nd]):
        np.add.at(gx[lead].reshape(-1), where[lead].reshape(-1), g[lead].reshape(-1))
    return gx


def distinct(*shape):
    return T(*shape, ints=(-40, 40))


SIZES = {1: (2, 3, 9), 2: (2, 3, 5, 6), 3: (1, 2, 4, 4, 5)}
SMALL = [bad(RuntimeError, T(3), 2, says="[3]")]

for n in (1, 2, 3):
    x, places = distinct(*SIZES[n]), [2] * n
    cases = [call(x, 2), call(distinct(*SIZES[n][1:]), 3, 2, 1), call(x, 3, 2, 1, 1, True), call(x, 2, 1, 1, 2).but(grad=False), call(T(*SIZES[n]), [2] * n if n > 1 else [2])]
    errors = SMALL + [bad(RuntimeError, x, 0, says="0"), bad(RuntimeError, x, 2, 0, says="0"), bad(RuntimeError, x, 2, 2, 2, says="2"), bad(RuntimeError, x, 2, 2, -1, says="-1"),
                      bad(RuntimeError, x, 20, says="20")]
    # Which of equal integers is named is laid down (the first), so they are compared as well.
    op(f"max_pool{n}d_with_indices", calls(*cases, errors=errors), lambda x, k, *a, n=n: largest(x, n, axes(x, n, k, *a)), types="f", open="i", result=["same", torch.int64])
    op(f"max_pool{n}d", calls(*cases, errors=errors), lambda x, k, *a, n=n: largest(x, n, axes(x, n, k, *a))[0], types="f", open="i")
    means = [call(x, 2), call(distinct(*SIZES[n][1:]), 3, 2, 1), call(x, 3, 2, 1, True), call(x, 3, 2, 1, True, False)]
    if n > 1:
        means.append(call(x, 3, 2, 1, False, True, 5))
        errors = errors + [bad(RuntimeError, x, 2, 2, 0, False, True, 0, says="0")]
    op(f"avg_pool{n}d", calls(*means, errors=errors), lambda x, k, s=(), p=0, c=False, i=True, d=None, n=n: mean(x, n, axes(x, n, k, s, p, 1, c), i, d), types="f", open="i", tol=2)
    sizes = [call(x, [2] * n), call(distinct(*SIZES[n][1:]), [3] * n), call(x, [1] * n), call(x, [7] * n).but(grad=False)]
    wrong = [bad(RuntimeError, T(3), [2] * n, says="[3]"), bad(RuntimeError, x, [-1] * n, says="-1")]
    op(f"adaptive_avg_pool{n}d", calls(*sizes, errors=wrong), lambda x, o, n=n: mean(x, n, adaptive(x, n, o)), types="f", open="c", tol=2)
    op(f"adaptive_max_pool{n}d", calls(*sizes, errors=wrong), lambda x, o, n=n: largest(x, n, adaptive(x, n, o)), types="f", result=["same", torch.int64])
    if n == 1:
        continue
    op(f"_adaptive_avg_pool{n}d", calls(*sizes, errors=wrong), lambda x, o, n=n: mean(x, n, adaptive(x, n, o)), types="f", tol=2)
    g = T(*SIZES[n][:2], *places)
    op(f"_adaptive_avg_pool{n}d_backward", calls(call(g, x), errors=[bad(RuntimeError, T(3), x, says="[3]")]),
       lambda g, x, n=n: mean_back(g, x, n, adaptive(x, n, g.shape[-n:])), types="f", tol=2)
    out = tuple((s - 2) // 2 + 1 for s in SIZES[n][2:])
    g = T(*SIZES[n][:2], *out)
    args = [[2] * n, [], [0] * n]
    op(f"avg_pool{n}d_backward", calls(call(g, x, *args, False, True, None), call(g, x, *args, False, False, 3), errors=[bad(RuntimeError, T(2, 2), x, *args, False, True, None, says="[2, 2]")]),
       lambda g, x, k, s, p, c, i, d, n=n: mean_back(g, x, n, axes(x, n, k, s, p, 1, c), i, d), types="f", open="i", tol=2)
    first = T(*SIZES[n][:2], *out, values=[0, math.prod(SIZES[n][2:]) - 1, 1], dtype=torch.int64)
    op(f"max_pool{n}d_with_indices_backward", calls(call(g, x, *args, [1] * n, False, first), errors=[bad(RuntimeError, T(2, 2), x, *args, [1] * n, False, first, says="[2, 2]")]),
       lambda g, x, k, s, p, d, c, w, n=n: put(g, x, n, w), types="f", open="i", tol=2)
    op(f"adaptive_max_pool{n}d_backward", calls(call(g, x, first), errors=[bad(RuntimeError, T(2, 2), x, first, says="[2, 2]")]), lambda g, x, w, n=n: put(g, x, n, w), types="f", tol=2)
    op(f"fractional_max_pool{n}d_backward", calls(call(g, x, [2] * n, list(out), first), errors=[bad(RuntimeError, T(2, 2), x, [2] * n, list(out), first, says="[2, 2]")]),
       lambda g, x, k, o, w, n=n: put(g, x, n, w), types="f", tol=2)

    def fractional(x, k, out, samples, n=n):
        k, out = spread(k, n), spread(out, n)
        results = []
        for i in range(x.shape[0]):
            for c in range(x.shape[1]):
                windows = []
                for d in range(n):
                    u = samples[i, c, 1 - d if n == 2 else d]
                    a = (x.shape[2 + d] - k[d]) / (out[d] - 1)
                    starts = [int((j + u) * a) - int(u * a) for j in range(out[d] - 1)] + [x.shape[2 + d] - k[d]]
                    windows.append([(list(range(s, s + k[d])), k[d]) for s in starts])
                results.append(largest(x[i : i + 1, c : c + 1], n, windows))
        shape = x.shape[:2] + tuple(out)
        return tuple(np.concatenate([r[j].reshape(-1) for r in results]).reshape(shape) for j in (0, 1))
    u = T(*SIZES[n][:2], n, values=[0.1, 0.6, 0.35, 0.8], grad=False)
    op(f"fractional_max_pool{n}d", calls(call(x, 2, 3, u), errors=[bad(RuntimeError, x, 2, 9, u, says="9"), bad(RuntimeError, x, 2, 3, T(1, 1, 1), says="[1, 1, 1]")]), fractional, types="w",
       open="f", result=["same", torch.int64])

    def unpool(x, where, size, *_, n=n):
        y = np.zeros(x.shape[:-n] + tuple(size), x.dtype)
        for lead in np.ndindex(*x.shape[:-n]):
            y[lead].reshape(-1)[where[lead].reshape(-1)] = x[lead].reshape(-1)
        return y
    small = T(2, 2, *[2] * n)
    index = T(2, 2, *[2] * n, values=[1, 3, 0, 2] if n == 2 else [1, 3, 0, 2, 9, 8, 7, 6], dtype=torch.int64)
    rest = () if n == 2 else ([2] * 3, [0] * 3)
    op(f"max_unpool{n}d", calls(call(small, index, [3] * n, *rest), errors=[bad(RuntimeError, small, index, [1] * n, *rest, says="outside"),
                                bad(RuntimeError, small, T(2, 2, dtype=torch.int64), [3] * n, *rest, says="[2, 2]")]), unpool, types="f")
