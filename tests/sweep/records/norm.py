"""Softmax and normalisations."""

import numpy as np
import scipy.special as sp
import torch

from sweep.cases import along, call, calls
from sweep.record import SWEPT, T, bad, op


def soft(x, dim, *more):
    return x / x if x.ndim == 0 else x if x.size == 0 else sp.softmax(x, dim)


def log_soft(x, dim, *more):
    return 0 * x if x.ndim == 0 else x if x.size == 0 else sp.log_softmax(x, dim)


typed = [call(T(2, 3), 1, dtype=torch.float64).but(types="fi")]
for name, f in (("softmax", soft), ("log_softmax", log_soft)):
    op(f"_{name}", along(-3, 3, False), f, types="f", tol=2)
    op(name, along() + typed, f, types="f", tol=2)
    op(
        f"special_{name}",
        along(big=False) + [call(T(2, 3), 1, dtype=torch.float64).but(types="fi")],
        f,
        types="f",
        tol=2,
    )
slopes = [
    call(T(2, 3), T(2, 3, lo=0.1, hi=0.5, ints=(1, 2)), 1, SWEPT),
    call(T(3, 2), T(3, 2, lo=0.1, hi=0.5, ints=(1, 2)), 0, SWEPT),
]
op(
    "_softmax_backward_data",
    slopes,
    lambda g, y, d, t: y * (g - (g * y).sum(d, keepdims=True)),
    types="w",
    open="fcib",
    second=False,
)
op(
    "_log_softmax_backward_data",
    slopes,
    lambda g, y, d, t: g - np.exp(y) * g.sum(d, keepdims=True),
    types="w",
    open="fcib",
    second=False,
)


def standardised(x, axes, eps):
    mean, var = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    return (x - mean) / np.sqrt(var + eps), mean, 1 / np.sqrt(var + eps)


def scaled(y, w, b):
    y = y if w is None else y * w
    return y if b is None else y + b


def last(x, shape):
    return tuple(range(x.ndim - len(shape), x.ndim))


def layer(x, shape, w=None, b=None, eps=1e-5):
    return scaled(standardised(x, last(x, shape), eps)[0], w, b)


wrong = [bad(RuntimeError, T(2, 3), [4], says=["[4]", "[2, 3]"])]
op(
    "layer_norm",
    calls(
        call(T(2, 5), [5]),
        call(T(2, 3, 4), [3, 4], T(3, 4), T(3, 4)),
        call(T(2, 5), [5], T(5), None, 0.1),
        errors=wrong,
    ),
    layer,
    types="f",
    tol=4,
)
op(
    "native_layer_norm",
    calls(
        call(T(2, 5), [5], None, None, 1e-5),
        call(T(2, 5), [5], T(5), T(5), 0.1),
        call(T(70, 1031), [1031], None, None, 1e-5).but(big=True),
        errors=[],
    ),
    lambda x, s, w, b, e: (layer(x, s, w, b, e), *standardised(x, last(x, s), e)[1:]),
    types="w",
    open="f",
    tol=4,
)


def root_mean(x, shape, w=None, eps=None):
    eps = np.finfo(np.float32).eps if eps is None else eps
    return scaled(x / np.sqrt((x * x).mean(last(x, shape), keepdims=True) + eps), w, None)


op(
    "rms_norm",
    calls(call(T(2, 5), [5], None, 1e-5), call(T(2, 3, 4), [3, 4], T(3, 4), 0.1), errors=wrong),
    root_mean,
    types="f",
    open="c",
    tol=4,
)


def groups(x, n, w=None, b=None, eps=1e-5):
    y, mean, rstd = standardised(x.reshape(x.shape[0], n, -1), (2,), eps)
    each = (1, -1) + (1,) * (x.ndim - 2)
    return (
        scaled(y.reshape(x.shape), None if w is None else w.reshape(each), None if b is None else b.reshape(each)),
        mean[..., 0],
        rstd[..., 0],
    )


op(
    "group_norm",
    calls(
        call(T(2, 4, 3), 2),
        call(T(2, 4, 3), 2, T(4), T(4)),
        call(T(3, 4), 1, None, None, 0.1),
        errors=[bad(RuntimeError, T(2, 4, 3), 3, says=["4", "3"])],
    ),
    lambda *a: groups(*a)[0],
    types="f",
    tol=4,
)
op(
    "native_group_norm",
    calls(call(T(2, 4, 3), None, None, 2, 4, 3, 2, 1e-5), call(T(2, 4, 3), T(4), T(4), 2, 4, 3, 2, 0.1)),
    lambda x, w, b, n, c, hw, g, e: groups(x, g, w, b, e),
    types="w",
    open="f",
    tol=4,
)


def channels(x, w, b, mean, var, training, eps):
    each = (1, -1) + (1,) * (x.ndim - 2)
    if training:
        y = standardised(x, (0, *range(2, x.ndim)), eps)[0]
    else:
        y = (x - mean.reshape(each)) / np.sqrt(var.reshape(each) + eps)
    return scaled(y, None if w is None else w.reshape(each), None if b is None else b.reshape(each))


def still(n, **k):
    return T(n, grad=False, **k)


evaluated = [T(4, 3, 2), T(3), T(3), still(3), still(3, lo=0.5, hi=2)]
op(
    "batch_norm",
    calls(
        call(T(4, 3), None, None, None, None, True, 0.1, 1e-5, False),
        call(T(4, 3, 2), T(3), T(3), None, None, True, 0.1, 0.1, False),
        call(*evaluated, False, 0.1, 1e-5, False),
        errors=[bad(RuntimeError, T(4, 3), T(2), None, None, None, True, 0.1, 1e-5, False, says=["2", "3"])],
    ),
    lambda x, w, b, m, v, t, p, e, c: channels(x, w, b, m, v, t, e),
    types="w",
    open="f",
    tol=10,
)
op(
    "native_batch_norm",
    calls(
        call(T(4, 3), None, None, None, None, True, 0.1, 1e-5), call(T(4, 3, 2), T(3), T(3), None, None, True, 0.1, 0.1)
    ),
    lambda x, w, b, m, v, t, p, e: (
        channels(x, w, b, m, v, t, e),
        x.mean((0, *range(2, x.ndim))),
        1 / np.sqrt(x.var((0, *range(2, x.ndim))) + e),
    ),
    types="w",
    open="f",
    tol=10,
)
op(
    "instance_norm",
    calls(
        call(T(2, 3, 5), None, None, None, None, True, 0.1, 1e-5, False),
        call(T(2, 3, 5), T(3), T(3), None, None, True, 0.1, 0.1, False),
    ),
    lambda x, w, b, m, v, t, p, e, c: groups(x, x.shape[1], w, b, e)[0],
    types="w",
    open="f",
    tol=10,
)


def shrunk(x, p, dim, most):
    axes = tuple(i for i in range(x.ndim) if i != dim % x.ndim)
    size = (np.abs(x) ** p).sum(axes, keepdims=True) ** (1 / p)
    return x * np.where(size > most, most / (size + 1e-7), 1)


op(
    "renorm",
    calls(
        call(T(3, 4), 2, 0, 1.0),
        call(T(3, 4), 1, 1, 2.0),
        call(T(2, 3, 2), 2, -1, 0.5),
        errors=[bad(RuntimeError, T(3), 2, 0, 1.0, says=["[3]"])],
    ),
    shrunk,
    types="fc",
    tol=4,
)


def except_dim(v, p=2, dim=0):
    if dim == -1:
        return (np.abs(v) ** p).sum() ** (1 / p)
    axes = tuple(d for d in range(v.ndim) if d != dim)
    return (np.abs(v) ** p).sum(axes, keepdims=True) ** (1 / p)


op(
    "norm_except_dim",
    calls(*[call(T(2, 3, 4), 2, d) for d in (0, 1, 2, -1)], call(T(3, 4), 3, 1), call(T(3)), errors=[bad(IndexError, T(2, 3), 2, 2, says="2")]),
    except_dim,
    types="f",
    open="c",
    tol=4,
)
split = [call(T(2, 3, 4), T(2, 1, 1), 0), call(T(2, 3, 4), T(1, 1, 4), 2), call(T(3, 4), T(1, 4), 1)]
op(
    "_weight_norm",
    calls(*split, call(T(2, 3, 4), T(1, 3, 1), 1), call(T(3, 4), T(1), -1)),
    lambda v, g, dim=0: v * (g / except_dim(v, 2, dim)),
    types="f",
    open="c",
    tol=6,
)
op(
    "_weight_norm_interface",
    calls(*split),
    lambda v, g, dim=0: (v * (g / except_dim(v, 2, dim)), except_dim(v, 2, dim)),
    types="f",
    open="c",
    tol=6,
    grad=None,
)


def weight_back(grad, v, g, n, dim):
    axes = tuple(d for d in range(v.ndim) if d != dim)
    along = (grad * v).sum(axes, keepdims=True) / n
    return g / n * (grad - v * along / n), along


V = np.random.default_rng(3).normal(size=(2, 3))
for name in ("_weight_norm_interface_backward", "_weight_norm_differentiable_backward"):
    op(
        name,
        calls(*[call(T(2, 3), T(2, 3, values=V), T(*s), T(*s, values=except_dim(V, 2, d)), d).but(layouts=False) for d, s in ((0, (2, 1)), (1, (1, 3)))]),
        weight_back,
        types="w",
        open="fcib",
        tol=20,
        grad=None,
        mixed=False,
    )
