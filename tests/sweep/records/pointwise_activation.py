"""Activations."""

import numpy as np
import scipy.special as sp

from sweep.cases import calls, unary
from sweep.record import T, call, op


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softplus(x, beta=1, threshold=20):
    return np.where(x * beta > threshold, x, np.log1p(np.exp(np.minimum(x * beta, threshold))) / beta)


def elu(x, alpha=1.0, scale=1.0, input_scale=1.0):
    return scale * np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0) * input_scale))


def gelu(x, approximate="none"):
    if approximate == "tanh":
        return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    return x * sp.ndtr(x)


plain = dict(special=False)
op("relu", unary(), lambda x: np.maximum(x, 0), types="fi", edges=[((0,), (0,)), ((np.inf,), (1,))])
op("relu6", unary(-3, 8), lambda x: np.clip(x, 0, 6), types="fi", edges=[((0,), (0,)), ((6,), (0,))])
op(
    "hardtanh",
    unary(-3, 3, 0, 2) + [call(T(2, 3)).but(types="f"), call(T(2, 3), -2, 1).but(types="f")],
    lambda x, lo=-1, hi=1: np.clip(x, lo, hi),
    types="fi",
    edges=[((1,), (0,)), ((-1,), (0,))],
)
op(
    "leaky_relu",
    unary() + [call(T(2, 3), 0.2)],
    lambda x, a=0.01: np.where(x > 0, x, a * x),
    types="f",
    edges=[((0,), (0.01,))],
)
op("threshold", unary(-3, 3, 0.5, 2), lambda x, t, v: np.where(np.isnan(x) | (x > t), x, v).astype(x.dtype), types="fi")
op("elu", unary(**plain) + [call(T(2, 3), 0.5, 2.0, 1.5)], elu, types="f", edges=[((0,), (1,))])
op("selu", unary(**plain), lambda x: elu(x, 1.6732632423543772, 1.0507009873554805), types="f")
op(
    "celu",
    unary(**plain) + [call(T(2, 3), 0.5)],
    lambda x, alpha=1.0: np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0) / alpha)),
    types="f",
)
op("gelu", unary(**plain) + [call(T(2, 3), approximate="tanh")], gelu, types="f", tol=2)
op("silu", unary(**plain), lambda x: x * sigmoid(x), types="fc", tol=2)
op("mish", unary(**plain), lambda x: x * np.tanh(softplus(x)), types="f", tol=2)
op("softplus", unary(-3, 3, **plain) + [call(T(2, 3), 2.0, 1.0)], softplus, types="f", tol=2)
op("log_sigmoid", unary(**plain), lambda x: -softplus(-x), types="f", tol=2)
op(
    "hardsigmoid",
    unary(-4, 4, **plain),
    lambda x: np.clip(x / 6 + 0.5, 0, 1),
    types="f",
    edges=[((3,), (0,)), ((-3,), (0,))],
)
op("hardswish", unary(-4, 4, **plain), lambda x: x * np.clip(x / 6 + 0.5, 0, 1), types="f")
op("hardshrink", unary(**plain) + [call(T(2, 3), 1.0)], lambda x, a=0.5: np.where(np.abs(x) > a, x, 0), types="f")
op(
    "softshrink",
    unary(**plain) + [call(T(2, 3), 1.0)],
    lambda x, a=0.5: np.sign(x) * np.maximum(np.abs(x) - a, 0),
    types="f",
)
op(
    "glu",
    calls(call(T(2, 4)), call(T(4, 3), 0), call(T(3, 2, 2), -1), call(T(129, 514)).but(big=True)),
    lambda x, dim=-1: (lambda a, b: a * sigmoid(b))(*np.split(x, 2, axis=dim)),
    types="f",
    tol=2,
)
op(
    "prelu",
    calls(call(T(2, 3, 2), T(3)), call(T(2, 3), T(1)), call(T(3), T(1)), call(T(), T(1))),
    lambda x, w: np.where(
        x > 0, x, x * (w.reshape(1, -1, *[1] * (x.ndim - 2)) if x.ndim > 1 else w.reshape(w.shape if x.ndim else ()))
    ),
    types="f",
)
op("_prelu_slope", calls(call(T(2, 3), T(2, 3)), call(T(2, 3), T(1, 3))), lambda x, w: np.where(x > 0, 1, w), types="f")
both = calls(call(T(2, 3), T(2, 3)), call(T(2, 3), T(1, 3)))
op("threshold_backward", calls(call(T(2, 3), T(2, 3), 0.5), call(T(2, 3), T(1, 3), 0)), lambda g, x, t: np.where(x <= t, 0, g).astype(g.dtype), types="fi")
op(
    "hardtanh_backward",
    calls(call(T(2, 3), T(2, 3), -1, 2), call(T(2, 3), T(1, 3), -0.5, 0.5)),
    lambda g, x, lo, hi: np.where((x > lo) & (x < hi), g, 0),
    types="f",
)
op(
    "leaky_relu_backward",
    calls(call(T(2, 3), T(2, 3), 0.25, False), call(T(2, 3), T(1, 3), 0.25, True)),
    lambda g, x, slope, is_result: np.where(x > 0, g, g * slope),
    types="f",
)
shrinking = calls(call(T(2, 3), T(2, 3), 1.0), call(T(2, 3), T(1, 3), 0.5))
op("hardshrink_backward", shrinking, lambda g, x, a: np.where(np.abs(x) <= a, 0, g), types="f")
op("softshrink_backward", shrinking, lambda g, x, a: np.where(np.abs(x) <= a, 0, g), types="f")
op("hardsigmoid_backward", both, lambda g, x: np.where(np.abs(x) < 3, g / 6, 0), types="f")
op("sigmoid_backward", both, lambda g, y: g * (y * (1 - y)), types="f", tol=2)
op("tanh_backward", both, lambda g, y: g * (1 - y * y), types="f", tol=2)
op("silu_backward", both, lambda g, x: g * (sigmoid(x) * (1 + x * (1 - sigmoid(x)))), types="f", tol=4)


def gelu_slope(x, approximate):
    if approximate == "tanh":
        u, du = np.sqrt(2 / np.pi) * (x + 0.044715 * x**3), np.sqrt(2 / np.pi) * (1 + 3 * 0.044715 * x**2)
        return 0.5 * (1 + np.tanh(u)) + 0.5 * x * (1 - np.tanh(u) ** 2) * du
    return sp.ndtr(x) + x * np.exp(-x * x / 2) / np.sqrt(2 * np.pi)


op(
    "gelu_backward",
    both + [call(T(2, 3), T(2, 3), approximate="tanh")],
    lambda g, x, approximate="none": g * gelu_slope(x, approximate),
    types="f",
    tol=4,
)
op(
    "_prelu_kernel",
    calls(call(T(2, 3), T(1, 3)), call(T(2, 3), T(1, 1))),
    lambda x, w: np.where(x > 0, x, x * w),
    types="f",
)
