"""Resizing, sampling, shuffles and patches."""
import math

import numpy as np

from sweep.cases import call, calls
from sweep.record import T, bad, op


def keys(x, a):
    x = abs(x)
    return (a + 2) * x**3 - (a + 3) * x**2 + 1 if x < 1 else a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a if x < 2 else 0.0


def lanczos(x):
    return 0.0 if abs(x) >= 3 else 1.0 if x == 0 else 3 * math.sin(math.pi * x) * math.sin(math.pi * x / 3) / (math.pi * x) ** 2


WIDENED = {"linear": (lambda x: max(0.0, 1 - abs(x)), 1), "cubic": (lambda x: keys(x, -0.5), 2), "lanczos": (lanczos, 3)}


def matrix(size, out, kind, corners, factor, widened):
    """The (out, size) matrix that resizing along one axis multiplies by."""
    m = np.zeros((out, size))
    scale = (size - 1) / (out - 1) if corners and out > 1 else 0.0 if corners else 1 / factor if factor else size / out
    for o in range(out):
        if kind == "nearest":
            m[o, min(int(o * scale), size - 1)] = 1
        elif kind == "exact":
            m[o, min(int((o + 0.5) * scale), size - 1)] = 1
        elif widened:
            f, reach = WIDENED[kind]
            wide = max(scale, 1.0)
            centre = scale * (o + 0.5)
            lo, hi = max(int(centre - reach * wide + 0.5), 0), min(int(centre + reach * wide + 0.5), size)
            w = [f((k - centre + 0.5) / wide) for k in range(lo, hi)]
            m[o, lo:hi] = np.array(w) / sum(w)
        else:
            at = scale * o if corners else scale * (o + 0.5) - 0.5
            at = max(at, 0.0) if kind == "linear" else at
            low = min(math.floor(at), size - 1)
            taps = range(2) if kind == "linear" else range(-1, 3)
            for k in taps:
                m[o, min(max(low + k, 0), size - 1)] += (1 - (at - low) if k == 0 else at - low) if kind == "linear" else keys(at - low - k, -0.75)
    return m


def along(x, matrices, transposed=False):
    for d, m in enumerate(matrices):
        x = np.moveaxis(np.tensordot(m.T if transposed else m, x, (1, d + 2)), 0, d + 2)
    return x


SIZES = {1: ((2, 3, 5), [7], [3]), 2: ((2, 3, 4, 5), [6, 3], [4, 7]), 3: ((1, 2, 3, 4, 2), [4, 2, 3], [2, 5, 2])}


def resize(name, n, kind, cornered, widened=False):
    shape, more, less = SIZES[n]

    def forward(x, size, *rest):
        rest = list(rest)
        corners = rest.pop(0) if cornered else False
        factors = rest[0] if rest and isinstance(rest[0], (list, tuple)) else list(rest)
        factors = [None] * n if None in factors or not factors else factors
        size = size or [int(s * f) for s, f in zip(x.shape[2:], factors)]
        return along(x, [matrix(a, b, kind, corners, f, widened) for a, b, f in zip(x.shape[2:], size, factors)])

    def backward(g, out, size, *rest):
        rest = list(rest)
        corners = rest.pop(0) if cornered else False
        return along(g, [matrix(a, b, kind, corners, None, widened) for a, b in zip(size[2:], out)], True)
    flags = ([False], [True]) if cornered else ([],)
    x = T(*shape)
    made = [call(x, size, *f) for f in flags for size in (more, less, list(shape[2:]))]
    made += [call(x, None, *flags[0], [1.7] * n), call(x, more, *flags[0], None)]
    op(name, calls(*made, errors=[bad(RuntimeError, x, [0] * n, *flags[0], says="0"), bad(RuntimeError, T(3), more, *flags[0], says="[3]")]), forward,
       types="w" if widened else "f", open="i", tol=4)
    g = T(*shape[:2], *more)
    op(name + "_backward", calls(*[call(g, more, list(shape), *f) for f in flags], errors=[bad(RuntimeError, T(3), more, list(shape), *flags[0], says="[3]")]), backward,
       types="w" if widened else "f", open="i", tol=4)


for n in (1, 2, 3):
    resize(f"upsample_nearest{n}d", n, "nearest", False)
    resize(f"_upsample_nearest_exact{n}d", n, "exact", False)
resize("upsample_linear1d", 1, "linear", True)
resize("upsample_bilinear2d", 2, "linear", True)
resize("upsample_trilinear3d", 3, "linear", True)
resize("upsample_bicubic2d", 2, "cubic", True)
resize("_upsample_bilinear2d_aa", 2, "linear", True, True)
resize("_upsample_bicubic2d_aa", 2, "cubic", True, True)
resize("_upsample_lanczos2d_aa", 2, "lanczos", True, True)


def places(v, n, corners):
    return (v + 1) / 2 * (n - 1) if corners else ((v + 1) * n - 1) / 2


def sampled(x, grid, mode, padding, corners):
    """Linear and nearest sampling without padding or at the border."""
    nd, y = x.ndim - 2, np.zeros(x.shape[:2] + grid.shape[1:-1])
    for at in np.ndindex(*grid.shape[:-1]):
        p = [places(v, n, corners) for v, n in zip(grid[at][::-1], x.shape[2:])]
        p = [min(max(v, 0), n - 1) for v, n in zip(p, x.shape[2:])] if padding == 1 else p
        for taps in np.ndindex(*[2] * nd) if mode == 0 else [(0,) * nd]:
            i = [math.floor(v) + t for v, t in zip(p, taps)] if mode == 0 else [round(v) for v in p]
            w = math.prod(1 - abs(v - k) for v, k in zip(p, i)) if mode == 0 else 1.0
            if all(0 <= k < n for k, n in zip(i, x.shape[2:])):
                y[(at[0], slice(None)) + at[1:]] += w * x[(at[0], slice(None), *i)]
    return y


for name, n in (("grid_sampler_2d", 2), ("grid_sampler_3d", 3), ("grid_sampler", 2)):
    x, grid = T(2, 2, *(4, 5, 3)[:n]), T(2, *(3, 2, 2)[:n], n, lo=-1.3, hi=1.3)
    made = [call(x, grid, mode, padding, corners) for mode in (0, 1) for padding in (0, 1) for corners in (False, True)]
    op(name, calls(*made, errors=[bad(RuntimeError, x, T(1, *(3, 2, 2)[:n], n), 0, 0, False, says=["[1,"]), bad(RuntimeError, x, T(2, *(3, 2, 2)[:n], 1), 0, 0, False, says="1]")]),
       sampled, types="w", open="f", tol=8)


def affine(theta, size, corners):
    nd = len(size) - 2
    grids = [np.array([(2 * i + 1) / n - 1 if not corners else 2 * i / (n - 1) - 1 if n > 1 else 0.0 for i in range(n)]) for n in size[2:]]
    mesh = np.stack([*np.meshgrid(*grids, indexing="ij")][::-1] + [np.ones(size[2:])], -1)
    return np.einsum("...k,njk->n...j", mesh, theta).reshape(size[0], *size[2:], nd)


op("affine_grid_generator", calls(*[call(T(2, 2, 3), [2, 1, 3, 4], c) for c in (False, True)], call(T(1, 3, 4), [1, 1, 2, 3, 4], True),
                                  errors=[bad(RuntimeError, T(2, 2, 3), [2, 1, 3], False, says="[2, 1, 3]"), bad(RuntimeError, T(3, 2, 3), [2, 1, 3, 4], False, says="[3, 2, 3]")]),
   affine, types="w", open="fcib", tol=4)


def shuffled(x, r):
    *lead, c, h, w = x.shape
    n = len(lead)
    return x.reshape(*lead, c // (r * r), r, r, h, w).transpose(*range(n), n, n + 3, n + 1, n + 4, n + 2).reshape(*lead, c // (r * r), h * r, w * r)


def unshuffled(x, r):
    *lead, c, h, w = x.shape
    n = len(lead)
    return x.reshape(*lead, c, h // r, r, w // r, r).transpose(*range(n), n, n + 2, n + 4, n + 1, n + 3).reshape(*lead, c * r * r, h // r, w // r)


op("pixel_shuffle", calls(call(T(2, 8, 3, 2), 2), call(T(9, 2, 1), 3), call(T(2, 0, 3, 2), 2).but(grad=False), errors=[bad(RuntimeError, T(2, 3, 4, 4), 2, says="[2, 3, 4, 4]"), bad(RuntimeError, T(4, 4), 2, says="[4, 4]"),
                          bad(RuntimeError, T(4, 2, 2), 0, says="0")]), shuffled, types="fcib")
op("pixel_unshuffle", calls(call(T(2, 2, 6, 4), 2), call(T(1, 3, 6), 3), errors=[bad(RuntimeError, T(2, 3, 5, 4), 2, says="[2, 3, 5, 4]"), bad(RuntimeError, T(4, 4), 2, says="[4, 4]"),
                            bad(RuntimeError, T(4, 2, 2), 0, says="0")]), unshuffled, types="fcib")
for name in ("channel_shuffle", "native_channel_shuffle"):
    op(name, calls(call(T(2, 6, 3, 2), 3), call(T(2, 6, 3, 2), 2), errors=[bad(RuntimeError, T(2, 5, 3), 3, says="[2, 5, 3]"), bad(RuntimeError, T(4, 4), 2, says="[4, 4]"), bad(RuntimeError, T(2, 4, 2, 2), 0, says="0")]),
       lambda x, g: x.reshape(x.shape[0], g, x.shape[1] // g, *x.shape[2:]).swapaxes(1, 2).reshape(x.shape), types="fcib", grad=name == "channel_shuffle" or None)


def columns(x, k, d, p, s):
    wide = np.pad(x, [(0, 0)] * (x.ndim - 2) + [(p[0], p[0]), (p[1], p[1])])
    o = [(n + 2 * p[i] - d[i] * (k[i] - 1) - 1) // s[i] + 1 for i, n in enumerate(x.shape[-2:])]
    rows = [wide[..., i * d[0] : i * d[0] + s[0] * (o[0] - 1) + 1 : s[0], j * d[1] : j * d[1] + s[1] * (o[1] - 1) + 1 : s[1]] for i in range(k[0]) for j in range(k[1])]
    return np.stack(rows, -3).reshape(*x.shape[:-3], x.shape[-3] * k[0] * k[1], o[0] * o[1])


def planes(x, size, k, d, p, s):
    channels = x.shape[-2] // (k[0] * k[1])
    y = np.zeros((*x.shape[:-2], channels, *size), x.dtype)
    basis = np.arange(channels * size[0] * size[1], dtype=np.float64).reshape(1, channels, *size) + 1
    where = columns(basis, k, d, p, s)[0].astype(int)
    for lead in np.ndindex(*x.shape[:-2]):
        flat = y[lead].reshape(-1)
        for i, v in zip(where.reshape(-1), x[lead].reshape(-1)):
            if i:
                flat[i - 1] = (flat[i - 1] | v) if x.dtype == bool else flat[i - 1] + v
    return y


WINDOWS = [([2, 3], [1, 1], [0, 0], [1, 1]), ([3, 2], [1, 2], [1, 0], [2, 1])]
op("im2col", calls(*[call(T(2, 3, 5, 6), *w) for w in WINDOWS], call(T(3, 5, 6), *WINDOWS[0]), errors=[bad(RuntimeError, T(2, 3), *WINDOWS[0], says="[2, 3]"),
                   bad(RuntimeError, T(2, 3, 5, 6), [9, 2], *WINDOWS[0][1:], says="9"), bad(RuntimeError, T(2, 3, 5, 6), [0, 2], *WINDOWS[0][1:], says="0")]), columns, types="fcb")
op("col2im", calls(call(T(2, 12, 16), [5, 6], *WINDOWS[0]), call(T(12, 9), [5, 5], [3, 2], [1, 2], [1, 0], [2, 1]), errors=[bad(RuntimeError, T(2, 13, 16), [5, 6], *WINDOWS[0], says="13"),
                   bad(RuntimeError, T(2, 12, 15), [5, 6], *WINDOWS[0], says="15")]), planes, types="fcb", tol=4)
