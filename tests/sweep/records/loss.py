"""Losses: terms by formula, then none, mean or sum of them."""

import numpy as np
import scipy.special as sp
import torch

from sweep.cases import call, calls
from sweep.record import T, bad, op

NONE, MEAN, SUM = 0, 1, 2


def reduced(terms, how):
    return terms if how == NONE else terms.mean() if how == MEAN else terms.sum()


def over(f):
    """A loss of terms f(x, target, *numbers), reduced as the third argument says."""
    return lambda x, y, how=MEAN, *numbers: reduced(f(x, y, *numbers), how)


def pairs(*more, lo=-3.0, hi=3.0, tlo=-3.0, thi=3.0, shape=(2, 3)):
    """Each way to reduce, with further numbers at the end."""
    return [call(T(*shape, lo=lo, hi=hi), T(*shape, lo=tlo, hi=thi), how, *more) for how in (NONE, MEAN, SUM)]


def smooth(x, y, beta=1.0):
    d = np.abs(x - y)
    return np.where(d < beta, d * d / (2 * beta), d - beta / 2)


def huber(x, y, delta=1.0):
    d = np.abs(x - y)
    return np.where(d <= delta, d * d / 2, delta * (d - delta / 2))


def square(x, y):
    return (x - y) ** 2


shapes = [bad(RuntimeError, T(2, 3), T(2, 4), says=["[2, 3]", "[2, 4]"])]
plain = [call(T(2, 3), T(2, 3))]
op("mse_loss", calls(*plain, *pairs(), errors=shapes), over(square), types="f", open="ci", tol=4)
op("l1_loss", calls(*plain, *pairs(), errors=shapes), over(lambda x, y: np.abs(x - y)), types="f", open="ci", tol=4)
op("smooth_l1_loss", calls(*plain, *pairs(0.5), errors=shapes), over(smooth), types="f", tol=4)
op("huber_loss", calls(*plain, *pairs(0.5), errors=shapes), over(huber), types="f", tol=4)
op(
    "soft_margin_loss",
    [call(T(2, 3), T(2, 3, grad=False), how) for how in (NONE, MEAN, SUM)] + [call(T(2, 3), T(2, 3, grad=False))],
    over(lambda x, y: np.log1p(np.exp(-x * y))),
    types="f",
    open="c",
    tol=4,
)
op("_mse_terms", plain, square, types="f", open="ci", tol=2)
op("_smooth_l1_terms", [call(T(2, 3), T(2, 3), 0.5)], smooth, types="f", tol=2)
op("_huber_terms", [call(T(2, 3), T(2, 3), 0.5)], huber, types="f", tol=2)


def slope(f):
    """grad * scale * f(x, y, ...)."""
    return lambda g, x, y, *numbers: g * numbers[-1] * f(x, y, *numbers[:-1])


def triple(*numbers, lo=-3.0, hi=3.0, tlo=-3.0, thi=3.0):
    return [call(T(2, 3), T(2, 3, lo=lo, hi=hi), T(2, 3, lo=tlo, hi=thi), *numbers)]


SLOPES = dict(
    mse=(lambda x, y: 2 * (x - y), ()),
    smooth_l1=(lambda x, y, b: np.clip((x - y) / b, -1, 1), (0.5,)),
    huber=(lambda x, y, d: np.clip(x - y, -d, d), (0.5,)),
    soft_margin=(lambda x, y: -y / (1 + np.exp(x * y)), ()),
)
for name, (f, numbers) in SLOPES.items():
    op(f"_{name}_slopes", triple(*numbers, 2.0), slope(f), types="f", open="ci", tol=4)
    target = T(2, 3, grad=name != "soft_margin")
    op(
        f"{name}_loss_backward",
        [
            call(T(2, 3), T(2, 3), target, NONE, *numbers),
            *[call(T(), T(2, 3), target, how, *numbers) for how in (MEAN, SUM)],
        ],
        lambda g, x, y, how, *numbers, f=f: g * f(x, y, *numbers) / (x.size if how == MEAN else 1),
        types="f",
        open="ci",
        tol=4,
    )


def entropy(x, y):
    return -(y * np.log(x) + (1 - y) * np.log1p(-x))


def entropy_of_logits(x, y, w=1.0):
    return np.log1p(np.exp(-np.abs(x))) * (1 + (w - 1) * y) + (1 + (w - 1) * y) * np.maximum(-x, 0) + (1 - y) * x


chances, truths = T(2, 3, lo=0.05, hi=0.95, ints=(0, 1)), T(2, 3, lo=0.0, hi=1.0)
op(
    "binary_cross_entropy",
    calls(
        call(chances, truths),
        *[call(chances, truths, None, how) for how in (NONE, SUM)],
        call(chances, truths, T(3, lo=0.5, hi=2, grad=False)),
        errors=[bad(RuntimeError, T(values=[1.5]), T(values=[1.0]), says="1")],
    ),
    lambda x, y, w=None, how=MEAN: reduced(entropy(x, y) * (1 if w is None else w), how),
    types="f",
    tol=10,
)
op("_bce_terms", [call(chances, truths)], entropy, types="f", tol=10)
op(
    "_bce_slopes",
    [call(T(2, 3), chances, truths, 2.0)],
    slope(lambda x, y: (x - y) / (x * (1 - x))),
    types="f",
    tol=10,
)
op(
    "binary_cross_entropy_backward",
    [call(T(2, 3), chances, truths, None, NONE), call(T(), chances, truths, None, MEAN)],
    lambda g, x, y, w=None, how=MEAN: g * (x - y) / (x * (1 - x)) / (x.size if how == MEAN else 1),
    types="f",
    tol=10,
)
op(
    "binary_cross_entropy_with_logits",
    [
        call(T(2, 3), truths),
        *[call(T(2, 3), truths, None, None, how) for how in (NONE, SUM)],
        call(T(2, 3), truths, T(3, lo=0.5, hi=2, grad=False), T(3, lo=0.5, hi=2, grad=False)),
    ],
    lambda x, y, w=None, p=None, how=MEAN: reduced(
        entropy_of_logits(x, y, 1 if p is None else p) * (1 if w is None else w), how
    ),
    types="f",
    tol=10,
)
op("_bce_logits_terms", [call(truths, T(2, 3))], lambda y, x: entropy_of_logits(x, y), types="f", tol=10)
op(
    "_bce_logits_weighted_terms",
    [call(truths, T(2, 3), T(3, lo=0.5, hi=2))],
    lambda y, x, w: entropy_of_logits(x, y, w),
    types="f",
    tol=10,
)
op(
    "_bce_logits_slopes",
    [call(T(2, 3), T(2, 3), truths, 2.0)],
    slope(lambda x, y: sp.expit(x) - y),
    types="f",
    tol=10,
)
op(
    "kl_div",
    calls(
        call(T(2, 3), truths),
        *[call(T(2, 3), truths, how) for how in (NONE, SUM)],
        call(T(2, 3), T(2, 3), log_target=True),
    ),
    lambda x, y, how=MEAN, log_target=False: reduced(
        np.exp(y) * (y - x) if log_target else sp.xlogy(y, y) - y * x, how
    ),
    types="f",
    tol=10,
)


def signs(*shape):
    return T(*shape, values=[1.0, -1.0, 1.0], grad=False)


op(
    "hinge_embedding_loss",
    [call(T(2, 3), signs(2, 3)), call(T(2, 3), signs(2, 3), 0.5, SUM)],
    lambda x, y, m=1.0, how=MEAN: reduced(np.where(y == 1, x, np.maximum(0, m - x)), how),
    types="f",
    tol=4,
)
op(
    "margin_ranking_loss",
    [call(T(3), T(3), signs(3)), call(T(2, 3), T(2, 3), signs(2, 3), 0.5, NONE)],
    lambda a, b, y, m=0.0, how=MEAN: reduced(np.maximum(0, -y * (a - b) + m), how),
    types="f",
    open="i",
    tol=4,
)
op(
    "poisson_nll_loss",
    [
        call(T(2, 3, lo=0.1), T(2, 3, lo=0.1), True, False, 1e-8, MEAN),
        call(T(2, 3, lo=0.1), T(2, 3, lo=0.1), False, False, 1e-8, SUM),
    ],
    lambda x, y, log, full, eps, how: reduced(np.exp(x) - y * x if log else x - y * np.log(x + eps), how),
    types="f",
    open="ci",
    tol=10,
)
op(
    "cosine_similarity",
    calls(
        call(T(2, 3), T(2, 3)),
        call(T(2, 3), T(2, 3), 0),
        errors=[bad(IndexError, T(2, 3), T(2, 3), 5, says=["5", "2"])],
    ),
    lambda x, y, dim=1, eps=1e-8: (x * y).sum(dim) / (np.linalg.norm(x, axis=dim) * np.linalg.norm(y, axis=dim)),
    types="f",
    tol=10,
)
op(
    "pairwise_distance",
    [call(T(2, 3), T(2, 3)), call(T(2, 3), T(2, 3), 1.0, 1e-6, True)],
    lambda x, y, p=2.0, eps=1e-6, keepdim=False: np.linalg.norm(x - y + eps, p, -1, keepdim),
    types="f",
    open="ci",
    tol=10,
)


def picked(x, t, w, how, ignore):
    """Negative of the entries at the targets, weighted: x (N, C, ...)."""
    w = np.ones(x.shape[1]) if w is None else w
    keep = t != ignore
    safe = np.where(keep, t, 0)
    each = np.where(keep, w[safe], 0.0)
    terms = -np.take_along_axis(x, safe[:, None], 1)[:, 0] * each
    return (terms if how == NONE else terms.sum() / each.sum() if how == MEAN else terms.sum()), each.sum()


def places(*shape):
    return T(*shape, lo=0, hi=2, dtype=torch.int64)


def nll(x, t, w=None, how=MEAN, ignore=-100):
    return picked(x, t, w, how, ignore)[0]


weights = T(3, lo=0.5, hi=2, grad=False)
flat = [
    call(T(4, 3), places(4)),
    call(T(4, 3), places(4), weights, SUM),
    call(T(4, 3), places(4), None, NONE),
    call(T(4, 3), places(4), weights, MEAN, 1),
]
deep = [call(T(2, 3, 2, 2), places(2, 2, 2)), call(T(2, 3, 2, 2), places(2, 2, 2), weights, SUM)]
outside = [bad(IndexError, T(2, 3), T(values=[0, 3], dtype=torch.int64), says=["3"])]
op("nll_loss", calls(*flat, errors=outside), nll, types="f", tol=4)
op("nll_loss_nd", flat + deep, nll, types="f", tol=4)
op("nll_loss2d", deep, nll, types="f", tol=4)
op(
    "nll_loss_forward",
    [call(T(4, 3), places(4), weights, SUM, -100), call(T(4, 3), places(4), None, MEAN, -100)],
    picked,
    types="f",
    tol=4,
)
op("nll_loss2d_forward", [call(T(2, 3, 2, 2), places(2, 2, 2), weights, SUM, -100)], picked, types="f", tol=4)


def entropy_of_classes(x, t, w=None, how=MEAN, ignore=-100, smoothing=0.0):
    return nll(sp.log_softmax(x, 1), t, w, how, ignore)


op("cross_entropy_loss", calls(*flat, *deep, errors=outside), entropy_of_classes, types="f", tol=10)


def class_margins(x, t, p=1, margin=1, w=None, how=MEAN):
    own = np.take_along_axis(x, t[:, None], 1)
    terms = np.maximum(0, margin - own + x) ** p * (1 if w is None else w[t][:, None])
    np.put_along_axis(terms, t[:, None], 0, 1)
    return reduced(terms.sum(1) / x.shape[1], how)


op(
    "multi_margin_loss",
    calls(
        call(T(4, 3), places(4)),
        call(T(4, 3), places(4), 2, 0.5, weights, SUM),
        call(T(4, 3), places(4), 1, 1, None, NONE),
    ),
    class_margins,
    types="w",
    open="f",
    tol=4,
    second=False,
    skip={"forward": "derived from the second derivative, which neither the reference has"},
)


def apart(x, y, p, eps):
    return np.linalg.norm(x - y + eps, p, -1)


op(
    "triplet_margin_loss",
    [call(T(2, 3), T(2, 3), T(2, 3)), call(T(2, 3), T(2, 3), T(2, 3), 0.5, 2.0, 1e-6, True, SUM)],
    lambda a, b, c, margin=1.0, p=2.0, eps=1e-6, swap=False, how=MEAN: reduced(
        np.maximum(
            0,
            margin
            + apart(a, b, p, eps)
            - (np.minimum(apart(a, c, p, eps), apart(b, c, p, eps)) if swap else apart(a, c, p, eps)),
        ),
        how,
    ),
    types="f",
    open="ci",
    tol=10,
)


def turned(x, y, t, margin=0.0, how=MEAN):
    cos = (x * y).sum(-1) / np.sqrt(((x * x).sum(-1) + 1e-12) * ((y * y).sum(-1) + 1e-12))
    return reduced(np.where(t == 1, 1 - cos, np.maximum(0, cos - margin)), how)


op(
    "cosine_embedding_loss",
    [call(T(3, 4), T(3, 4), signs(3)), call(T(3, 4), T(3, 4), signs(3), 0.2, NONE)],
    turned,
    types="f",
    open="cib",
    tol=10,
)
