"""Gradients of losses, normalisations, convolutions and samplings: adjoints of the linear maps, and formulas."""

import itertools
import math

import numpy as np
import scipy.special as sp
import torch

from sweep.cases import call, calls
from sweep.record import T, bad, op
from sweep.records.conv import both
from sweep.records.loss import MEAN, NONE, SUM, places, reduced, weights
from sweep.records.vision import affine, sampled


def adjoint(f, shape, g):
    """What the transposed matrix of the linear f of arrays of the shape gives for g."""
    out = np.zeros(shape)
    for at in np.ndindex(*shape):
        e = np.zeros(shape)
        e[at] = 1
        out[at] = (f(e) * g).sum()
    return out


# Losses


def back_to_classes(g, x, t, w, how, ignore, total):
    out = np.zeros(x.shape)
    w = np.ones(x.shape[1]) if w is None else w
    for at in np.ndindex(*t.shape):
        if t[at] != ignore:
            v = g[at] if how == NONE else g / total if how == MEAN else g
            out[(at[0], t[at], *at[1:])] = -w[t[at]] * v
    return out


total = T(values=3.0, grad=False)
for name, x, t in (
    ("nll_loss_backward", T(4, 3, grad=False), places(4)),
    ("nll_loss2d_backward", T(2, 3, 2, 2, grad=False), places(2, 2, 2)),
):
    op(
        name,
        calls(
            call(T(), x, t, None, MEAN, -100, total),
            call(T(), x, t, weights, SUM, 1, total),
            call(T(*t.shape), x, t, weights, NONE, -100, total),
            errors=[bad(RuntimeError, T(3, 3), x, t, None, NONE, -100, total, says="[3, 3]")],
        ),
        back_to_classes,
        types="f",
        tol=4,
    )


def back_to_margins(g, x, t, p, margin, w=None, how=MEAN):
    out = np.zeros(x.shape)
    for n, y in enumerate(t):
        for j in range(x.shape[1]):
            z = margin - x[n, y] + x[n, j]
            if j != y and z > 0:
                v = (g[n] if how == NONE else g / len(t) if how == MEAN else g) * (1 if w is None else w[y])
                v = v * p * z ** (p - 1) / x.shape[1]
                out[n, j] += v
                out[n, y] -= v
    return out


op(
    "multi_margin_loss_backward",
    calls(
        call(T(), T(4, 3), places(4), 1, 1, None, MEAN),
        call(T(), T(4, 3), places(4), 2, 0.5, weights, SUM),
        call(T(4), T(4, 3), places(4), 1, 1, None, NONE),
    ),
    back_to_margins,
    types="w",
    open="f",
    grad=None,
    tol=4,
)

LABELS = T(2, 4, values=[3, 0, -1, 1, 1, -1, 0, 2], dtype=torch.int64)


def labels(t):
    return [list(itertools.takewhile(lambda k: k >= 0, row)) for row in t.tolist()]


def pairs_of(x, t):
    """(row, label, other class, margin) where the margin is positive."""
    for n, own in enumerate(labels(t)):
        for j, i in itertools.product(own, range(x.shape[1])):
            if i not in own and 1 - x[n, j] + x[n, i] > 0:
                yield n, j, i, 1 - x[n, j] + x[n, i]


def label_margins(x, t, how=MEAN):
    terms = np.zeros(len(x))
    for n, _, _, z in pairs_of(x, t):
        terms[n] += z / x.shape[1]
    return reduced(terms, how)


def belongs(x, t):
    return np.array([[float(k in own) for k in range(x.shape[1])] for own in labels(t)])


def back_to_labels(g, x, t, how, own):
    out = np.zeros(x.shape)
    for n, j, i, _ in pairs_of(x, t):
        v = (g[n] if how == NONE else g / len(x) if how == MEAN else g) / x.shape[1]
        out[n, i] += v
        out[n, j] -= v
    return out


wrong = [bad(RuntimeError, T(2, 4), T(2, 3, values=[0], dtype=torch.int64), MEAN, says=["[2, 4]", "[2, 3]"])]
derived = dict(second=False, skip={"forward": "derived from the second derivative, which neither the reference has"})
op(
    "multilabel_margin_loss",
    calls(call(T(2, 4), LABELS), *[call(T(2, 4), LABELS, how) for how in (NONE, SUM)], errors=wrong),
    label_margins,
    types="w",
    open="f",
    tol=4,
    **derived,
)
op(
    "multilabel_margin_loss_forward",
    calls(*[call(T(2, 4), LABELS, how) for how in (NONE, MEAN, SUM)], errors=wrong),
    lambda x, t, how: (label_margins(x, t, how), belongs(x, t)),
    types="w",
    open="f",
    tol=4,
    grad=None,
)
OWN = T(2, 4, values=[1.0, 0, 0, 1, 0, 1, 0, 0], grad=False)
op(
    "multilabel_margin_loss_backward",
    calls(
        call(T(), T(2, 4), LABELS, MEAN, OWN), call(T(), T(2, 4), LABELS, SUM, OWN), call(T(2), T(2, 4), LABELS, NONE, OWN)
    ),
    back_to_labels,
    types="w",
    open="f",
    grad=None,
    tol=4,
)

# Connectionist temporal classification: sums over all alignments, and the forward recursion


def collapsed(path, blank):
    return [k for k, _ in itertools.groupby(path) if k != blank]


def alignments(lp, n, steps, target, blank):
    """(path, probability) of each path of the row n that spells its target."""
    for path in itertools.product(range(lp.shape[2]), repeat=steps):
        if collapsed(path, blank) == list(target):
            yield path, math.exp(sum(lp[t, n, k] for t, k in enumerate(path)))


def targets_of(t, lengths):
    if t.ndim == 2:
        return [row[:k] for row, k in zip(t.tolist(), lengths)]
    return [p.tolist() for p in np.split(t, np.cumsum(lengths)[:-1])]


def likelihoods(lp, t, steps, lengths, blank=0, zero=False):
    sums = [sum(p for _, p in alignments(lp, n, s, y, blank)) for n, (s, y) in enumerate(zip(steps, targets_of(t, lengths)))]
    return np.array([-math.log(s) if s else 0.0 if zero else math.inf for s in sums])


def alphas(lp, t, steps, lengths, blank=0):
    out = np.full((lp.shape[1], lp.shape[0], 2 * max(lengths) + 1), -np.inf)
    for n, (s, y) in enumerate(zip(steps, targets_of(t, lengths))):
        z = [blank] + [k for c in y for k in (c, blank)]
        for step in range(s):
            for k, c in enumerate(z):
                if step == 0:
                    out[n, 0, k] = lp[0, n, c] if k < 2 else -np.inf
                    continue
                back = [k, k - 1] + ([k - 2] if k > 1 and c != blank and c != z[k - 2] else [])
                out[n, step, k] = lp[step, n, c] + sp.logsumexp([out[n, step - 1, b] for b in back if b >= 0])
    return out


rng = np.random.default_rng(3)
LOGS = sp.log_softmax(rng.normal(size=(4, 2, 3)), 2)
LP = T(4, 2, 3, values=LOGS)
SPELT = dict(dtype=torch.int64)
TARGET = T(2, 2, values=[1, 2, 2, 0], **SPELT)
JOINED = T(3, values=[1, 2, 2], **SPELT)
STEPS, LENGTHS = [4, 3], [2, 1]


def spelled(lp, t, steps, lengths, blank=0, how=MEAN, zero=False):
    terms = likelihoods(lp, t, steps, lengths, blank, zero)
    return (terms / np.maximum(lengths, 1)).mean() if how == MEAN else reduced(terms, how)


step_t, length_t = T(2, values=STEPS, **SPELT), T(2, values=LENGTHS, **SPELT)
op(
    "ctc_loss",
    calls(
        call(LP, TARGET, STEPS, LENGTHS),
        *[call(LP, JOINED, STEPS, LENGTHS, 0, how) for how in (NONE, SUM)],
        call(LP, T(2, 2, values=[0, 1, 1, 0], **SPELT), STEPS, LENGTHS, 2, SUM),
        call(LP, TARGET, [1, 3], LENGTHS, 0, NONE, True),
        call(LP, TARGET, step_t, length_t).but(meta=False),  # lengths are read
        errors=[
            bad(RuntimeError, LP, TARGET, [5, 3], LENGTHS, says=["5", "4"]),
            bad(RuntimeError, LP, TARGET, STEPS, LENGTHS, 3, says="3"),
            bad(RuntimeError, LP, TARGET, [4], LENGTHS, says=["1", "2"]),
        ],
    ),
    spelled,
    types="w",
    grad=None,  # that of the normalised probabilities: see _ctc_loss_backward
    tol=10,
    mixed=False,
)


def spelling(results, lp, t, steps, lengths, blank=0, zero=False):
    lp, t, steps, lengths = lp.double().numpy(), t.numpy(), list(map(int, steps)), list(map(int, lengths))
    want = likelihoods(lp, t, steps, lengths, blank, False)
    if not np.allclose(results[0].double().numpy(), want, 1e-5):
        return f"{results[0]}, expected {want}"
    for n, (got, a) in enumerate(zip(results[1].double().numpy(), alphas(lp, t, steps, lengths, blank))):
        s, k = steps[n], 2 * lengths[n] + 1
        reached = np.isfinite(a[:s, :k]) & (np.arange(k) >= k - 2 * (s - np.arange(s))[:, None])
        if not np.allclose(got[:s, :k][reached], a[:s, :k][reached], 1e-5, 1e-5):
            return f"log_alpha of row {n}: {got}, expected {a}"
    return None


op(
    "_ctc_loss",
    calls(
        call(LP, TARGET, STEPS, LENGTHS), call(LP, JOINED, STEPS, LENGTHS, 0, True),
        call(LP, TARGET, step_t, length_t).but(meta=False)
    ),
    holds=spelling,
    types="w",
    grad=None,
    mixed=False,
)


def back_to_logits(g, lp, t, steps, lengths, nll, alpha, blank, zero=False):
    """The gradient for logits whose logarithms of softmax lp are: exp(lp) - the share of paths through each class."""
    out = np.zeros(lp.shape)
    for n, (s, y) in enumerate(zip(steps, targets_of(t, lengths))):
        paths = list(alignments(lp, n, s, y, blank))
        whole = sum(p for _, p in paths)
        out[:s, n] = np.exp(lp[:s, n])
        for path, p in paths:
            for step, k in enumerate(path):
                out[step, n, k] -= p / whole
        out[:, n] *= g[n]
    return out


_host = np.array(TARGET.values).reshape(2, 2)
op(
    "_ctc_loss_backward",
    calls(
        call(
            T(2),
            LP,
            TARGET,
            STEPS,
            LENGTHS,
            T(2, values=likelihoods(LOGS, _host, STEPS, LENGTHS), grad=False),
            T(2, 4, 5, values=alphas(LOGS, _host, STEPS, LENGTHS), grad=False),
            0,
        ).but(layouts=False)  # a repeated slice is no forward pass
    ),
    back_to_logits,
    types="w",
    grad=None,
    tol=20,
    mixed=False,
)

# Normalisations, at statistics of the inputs


def normed(g, x, mean, rstd, w, axes):
    """(gradient of x, x normalised) for statistics over the axes that broadcast against x."""
    y = (x - mean) * rstd
    gw = g if w is None else g * w
    return rstd * (gw - gw.mean(axes, keepdims=True) - y * (gw * y).mean(axes, keepdims=True)), y


X = rng.normal(size=(4, 6, 5))


def given(a, **k):
    return T(*a.shape, values=a, **k)


def stats(x, axes, eps=1e-5):
    return [given(x.mean(axes, keepdims=True), grad=False), given(1 / np.sqrt(x.var(axes, keepdims=True) + eps), grad=False)]


def layer_back(g, x, shape, mean, rstd, w, b, mask):
    dx, y = normed(g, x, mean, rstd, w, (-1,))
    return dx, (g * y).sum((0, 1)), g.sum((0, 1))


ALL = [True, True, True]
op(
    "native_layer_norm_backward",
    calls(call(T(4, 6, 5), given(X), [5], *stats(X, -1), T(5), T(5), ALL).but(layouts=False)),
    layer_back,
    types="w",
    open="fcib",
    grad=None,
    tol=10,
)


def flat_stats(x, axes):
    return [T(*[n for n in s.shape if n > 1], values=np.asarray(s.values), grad=False) for s in stats(x, axes)]


def batch_back(g, x, w, running_mean, running_var, mean, invstd, train, eps, mask):
    each = (1, -1, 1)
    if train:
        dx, y = normed(g, x, mean.reshape(each), invstd.reshape(each), w.reshape(each), (0, 2))
    else:
        inv = 1 / np.sqrt(running_var + eps)
        y = (x - running_mean.reshape(each)) * inv.reshape(each)
        dx = g * (w * inv).reshape(each)
    return dx, (g * y).sum((0, 2)), g.sum((0, 2))


op(
    "native_batch_norm_backward",
    calls(
        call(T(4, 6, 5), given(X), T(6), None, None, *flat_stats(X, (0, 2)), True, 1e-5, ALL).but(layouts=False),
        call(T(4, 6, 5), T(4, 6, 5), T(6), T(6), T(6, lo=0.5, hi=2), None, None, False, 1e-5, ALL),
    ),
    batch_back,
    types="w",
    open="fcib",
    grad=None,
    tol=10,
)


def group_back(g, x, mean, rstd, w, n, c, hw, groups, mask):
    parts = (n, groups, c // groups, hw)
    dx, y = normed(
        g.reshape(parts), x.reshape(parts), mean[..., None, None], rstd[..., None, None], w.reshape(1, groups, -1, 1), (2, 3)
    )
    return dx.reshape(x.shape), (g * y.reshape(x.shape)).sum((0, 2)), g.sum((0, 2))


op(
    "native_group_norm_backward",
    calls(
        call(T(4, 6, 5), given(X), *flat_stats(X.reshape(4, 2, 15), 2), T(6), 4, 6, 5, 2, ALL).but(layouts=False),
        call(T(4, 6, 5), given(X), *flat_stats(X.reshape(4, 3, 10), 2), T(6), 4, 6, 5, 3, ALL).but(layouts=False),
    ),
    group_back,
    types="w",
    open="fcib",
    grad=None,
    tol=10,
)

# Convolutions and samplings


def conv_back(g, x, w, bias, stride, padding, dilation, turned, extra, groups, mask):
    how = (None, stride, padding, dilation, turned, extra, groups)
    sides = (0, *range(2, g.ndim))
    return adjoint(lambda v: both(v, w, *how), x.shape, g), adjoint(lambda v: both(x, v, *how), w.shape, g), g.sum(sides)


flat = ([2, 1], [1, 0], [1, 1], False, [0, 0])
op(
    "convolution_backward",
    calls(
        call(T(2, 4, 3, 4), T(2, 4, 5, 5), T(4, 4, 3, 2), [4], [2, 1], [1, 0], [1, 1], False, [0, 0], 1, ALL),
        call(T(2, 4, 3, 3), T(2, 4, 3, 5), T(4, 2, 1, 2), [4], [1, 1], [0, 0], [1, 2], False, [0, 0], 2, ALL),
        call(T(2, 3, 7), T(2, 4, 4), T(4, 3, 3), [3], [2], [1], [1], True, [0], 1, ALL),
        errors=[
            bad(RuntimeError, T(2, 4, 9, 9), T(2, 4, 5, 5), T(4, 4, 3, 2), [4], *flat, 1, ALL, says="[2, 4, 9, 9]"),
        ],
    ),
    conv_back,
    types="w",
    open="fci",
    tol=16,
)
op(
    "affine_grid_generator_backward",
    calls(*[call(T(2, 3, 4, 2), [2, 1, 3, 4], c) for c in (False, True)], call(T(1, 2, 3, 4, 3), [1, 1, 2, 3, 4], True)),
    lambda g, size, corners: adjoint(lambda v: affine(v, size, corners), (size[0], g.shape[-1], g.shape[-1] + 1), g),
    types="w",
    open="fcib",
    tol=8,
)


def sampled_back(g, x, grid, mode, padding, corners, mask):
    """The transposed map of x; by differences for the grid, along whose coordinates the samples are linear."""
    slopes, h = np.zeros(grid.shape), 2.0**-12
    for at in np.ndindex(*grid.shape) if mode == 0 else ():
        e = np.zeros(grid.shape)
        e[at] = h
        slopes[at] = ((sampled(x, grid + e, mode, padding, corners) - sampled(x, grid - e, mode, padding, corners)) * g).sum() / (2 * h)
    return adjoint(lambda v: sampled(v, grid, mode, padding, corners), x.shape, g), slopes


for n in (2, 3):
    x, grid = T(1, 2, *(3, 4, 2)[:n]), T(1, *(3, 2, 1)[:n], n, lo=-1.3, hi=1.3)
    op(
        f"grid_sampler_{n}d_backward",
        calls(
            *[
                call(T(1, 2, *(3, 2, 1)[:n]), x, grid, mode, padding, corners, [True, True])
                for mode, padding, corners in ((0, 0, False), (0, 1, True), (1, 0, False), (1, 1, True))
            ]
        ),
        sampled_back,
        types="w",
        open="f",
        grad=None,
        tol=10,
    )
