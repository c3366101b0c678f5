"""Convolutions."""
import itertools

import numpy as np

from sweep.cases import call, calls
from sweep.record import T, bad, op


def spread(v, n):
    v = list(v) if isinstance(v, (list, tuple)) else [v]
    return v * n if len(v) == 1 else v


def conv(x, w, b=None, stride=1, padding=0, dilation=1, groups=1):
    n = w.ndim - 2
    single = x.ndim == n + 1
    x = x[None] if single else x
    stride, dilation, k = spread(stride, n), spread(dilation, n), w.shape[2:]
    if padding == "valid":
        padding = 0
    if padding == "same":
        before = [(d * (s - 1)) // 2 for d, s in zip(dilation, k)]
        pads = [(p, d * (s - 1) - p) for p, d, s in zip(before, dilation, k)]
    else:
        pads = [(p, p) for p in spread(padding, n)]
    x = np.pad(x, [(0, 0), (0, 0), *pads])
    out = [(s - d * (f - 1) - 1) // t + 1 for s, d, f, t in zip(x.shape[2:], dilation, k, stride)]
    y = np.zeros((x.shape[0], w.shape[0], *out), x.dtype)
    ci, co = w.shape[1], w.shape[0] // groups
    for tap in itertools.product(*[range(f) for f in k]):
        part = x[(slice(None), slice(None), *[slice(t * d, t * d + s * (o - 1) + 1, s) for t, d, s, o in zip(tap, dilation, stride, out)])]
        for g in range(groups):
            y[:, g * co : (g + 1) * co] += np.einsum("nc...,oc->no...", part[:, g * ci : (g + 1) * ci], w[(slice(g * co, (g + 1) * co), slice(None), *tap)])
    y = y if b is None else y + b.reshape(-1, *[1] * n)
    return y[0] if single else y


def transposed(x, w, b=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    n = w.ndim - 2
    single = x.ndim == n + 1
    x = x[None] if single else x
    stride, dilation, padding, extra, k = spread(stride, n), spread(dilation, n), spread(padding, n), spread(output_padding, n), w.shape[2:]
    full = [(s - 1) * t + d * (f - 1) + 1 + e for s, t, d, f, e in zip(x.shape[2:], stride, dilation, k, extra)]
    ci, co = x.shape[1] // groups, w.shape[1]
    y = np.zeros((x.shape[0], co * groups, *full), x.dtype)
    for tap in itertools.product(*[range(f) for f in k]):
        at = tuple(slice(t * d, t * d + s * (m - 1) + 1, s) for t, d, s, m in zip(tap, dilation, stride, x.shape[2:]))
        for g in range(groups):
            y[(slice(None), slice(g * co, (g + 1) * co), *at)] += np.einsum("nc...,co->no...", x[:, g * ci : (g + 1) * ci], w[(slice(g * ci, (g + 1) * ci), slice(None), *tap)])
    y = y[(slice(None), slice(None), *[slice(p, f - p) for p, f in zip(padding, full)])]
    y = y if b is None else y + b.reshape(-1, *[1] * n)
    return y[0] if single else y


SIZE = {1: (7,), 2: (5, 6), 3: (3, 4, 3)}
KERNEL = {1: (3,), 2: (3, 2), 3: (2, 2, 2)}
for n in (1, 2, 3):
    x, w, b = T(2, 4, *SIZE[n]), T(6, 4, *KERNEL[n]), T(6)
    wrong = [bad(RuntimeError, x, T(6, 3, *KERNEL[n]), says=["4", "3"]), bad(RuntimeError, x, T(6, 4, *[9] * n), says="9"), bad(RuntimeError, T(3), w, says="[3]"), bad(RuntimeError, x, w, b, 0, says="0")]
    op(f"conv{n}d", calls(call(x, w), call(x, w, b, [2] * n, 1), call(x, T(6, 2, *KERNEL[n]), b, 1, 0, 1, 2), call(T(4, *SIZE[n]), w, None, 1, 1, 2), call(x, w, b, 1, "same"), call(x, w, None, 2, "valid"),
                          errors=wrong), conv, types="f", open="ci", tol=16)
    op(f"conv_transpose{n}d", calls(call(x, T(4, 3, *KERNEL[n])), call(x, T(4, 3, *KERNEL[n]), T(3), [2] * n, 1, 1), call(x, T(4, 3, *KERNEL[n]), T(6), 1, 0, 0, 2), call(T(4, *SIZE[n]), T(4, 3, *KERNEL[n]), None, 2, 0, 0, 1, 2),
                                    errors=[bad(RuntimeError, x, T(3, 3, *KERNEL[n]), says=["4", "3"]), bad(RuntimeError, T(3), w, says="[3]")]), transposed, types="f", open="ci", tol=16)
op("conv_tbc", calls(call(T(5, 2, 3), T(3, 3, 4), T(4)), call(T(5, 2, 3), T(3, 3, 4), T(4), 1)),
   lambda x, w, b, pad=0: conv(x.transpose(1, 2, 0), w.transpose(2, 1, 0), b, 1, pad).transpose(2, 0, 1), types="f", open="ci", tol=16)


def both(x, w, b, stride, padding, dilation, is_transposed, output_padding, groups):
    return transposed(x, w, b, stride, padding, output_padding, groups, dilation) if is_transposed else conv(x, w, b, stride, padding, dilation, groups)


x, w = T(2, 4, 5, 6), T(6, 4, 3, 2)
op("convolution", calls(call(x, w, T(6), [1, 1], [0, 0], [1, 1], False, [0, 0], 1), call(x, T(4, 3, 3, 2), None, [2, 1], [1, 0], [1, 1], True, [1, 0], 1),
                        errors=[bad(RuntimeError, x, T(6, 3, 3, 2), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1, says=["4", "3"])]), both, types="f", open="ci", tol=16)
