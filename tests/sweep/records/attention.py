"""Attention: softmax of scaled products, with masks; and its gradient."""

import numpy as np
import scipy.special as sp
import torch

from sweep.cases import along, call, calls
from sweep.record import T, bad, inf, op


def safe(x, dim, *more):
    """Softmax; nought where a whole line is -inf."""
    if x.ndim == 0 or x.size == 0:
        return np.where(np.isneginf(x), 0.0, x / x) if x.ndim == 0 else x
    return np.where(np.isneginf(x).all(dim, keepdims=True), 0.0, sp.softmax(x, dim))


op(
    "_safe_softmax",
    along()
    + [
        call(T(2, 3, values=[-inf, -inf, -inf, -inf, 1.0, 2.0]), 1).but(grad=False),
        call(T(2, 3), 1, dtype=torch.float64).but(types="f"),
    ],
    safe,
    types="f",
    open="ib",
    tol=2,
)


def scores(q, k, mask=None, causal=False, scale=None):
    s = q @ k.swapaxes(-1, -2) * (1 / np.sqrt(q.shape[-1]) if scale is None else scale)
    if causal:
        s = np.where(np.tri(*s.shape[-2:], dtype=bool), s, -np.inf)
    if mask is not None:
        s = np.where(mask, s, -np.inf) if mask.dtype == bool else s + mask
    return s


def alike(q, x):
    """Heads of x repeated until there are as many as in q."""
    return np.repeat(x, q.shape[-3] // x.shape[-3], -3) if q.ndim > 3 and q.shape[-3] != x.shape[-3] else x


def attention(q, k, v, mask=None, p=0.0, causal=False, dropped=None, scale=None, enable_gqa=False):
    weights = safe(scores(q, alike(q, k), mask, causal, scale), -1)
    return weights @ alike(q, v), weights


Q, K, V = T(2, 2, 3, 4), T(2, 2, 5, 4), T(2, 2, 5, 3)
MASK = T(3, 5, values=[True, False, True, True, False] + [True] * 5 + [False, True, True, False, True], dtype=torch.bool)
NOTHING = T(3, 5, values=[False] * 5 + [True] * 10, dtype=torch.bool)
CASES = [
    call(Q, K, V),
    call(Q, K, V, MASK),
    call(Q, K, V, NOTHING).but(grad=False),
    call(Q, K, V, T(3, 5)),
    call(Q, K, V, None, 0.0, True, scale=0.3),
    call(T(1, 4, 3, 4), T(1, 2, 5, 4), T(1, 2, 5, 4), enable_gqa=True),
    call(T(3, 4), T(5, 4), T(5, 2)),
]
WRONG = [
    bad(RuntimeError, Q, T(2, 2, 5, 3), V, says=["4", "3"]),
    bad(RuntimeError, Q, K, V, MASK, 0.0, True, says="causal"),
]
op(
    "scaled_dot_product_attention",
    calls(*CASES, errors=WRONG),
    lambda *a, **k: attention(*a, **k)[0],
    types="f",
    open="ci",
    tol=10,
    mixed=False,
)
op("_scaled_dot_product_attention_math", calls(*CASES), attention, types="f", open="ci", tol=10, mixed=False)


def flash(q, k, v, p=0.0, causal=False, attn_mask=None, scale=None):
    return attention(q, k, v, attn_mask, p, causal, scale=scale)[0], sp.logsumexp(scores(q, k, attn_mask, causal, scale), -1)


SQUARE = T(2, 2, 5, 4)
op(
    "_scaled_dot_product_flash_attention_for_cpu",
    calls(
        call(T(2, 2, 3, 4), SQUARE, SQUARE),
        call(SQUARE, SQUARE, SQUARE, 0.0, True),
        call(T(2, 2, 3, 4), SQUARE, SQUARE, attn_mask=T(3, 5, grad=False), scale=0.3),
    ),
    flash,
    types="w",
    open="f",
    tol=10,
    grad=None,
    mixed=False,
)

rng = np.random.default_rng(5)
q, k, v = (rng.normal(size=(1, 2, n, 4)) for n in (3, 5, 5))


def back(g, q, k, v, out, lse, p, causal, attn_mask=None, scale=None):
    w = attention(q, k, v, attn_mask, p, causal, scale=scale)[1]
    gw = g @ v.swapaxes(-1, -2)
    gs = w * (gw - (gw * w).sum(-1, keepdims=True)) * (1 / np.sqrt(q.shape[-1]) if scale is None else scale)
    return gs @ k, gs.swapaxes(-1, -2) @ q, w.swapaxes(-1, -2) @ g


def at(causal, scale):
    made = [T(*x.shape, values=x) for x in (q, k, v, *flash(q, k, v, 0.0, causal, None, scale))]
    return call(T(1, 2, 3, 4), *made, 0.0, causal, scale=scale).but(layouts=False)  # a repeated slice is no forward pass


op(
    "_scaled_dot_product_flash_attention_for_cpu_backward",
    calls(at(False, None), at(True, 0.3)),
    back,
    types="w",
    open="f",
    tol=10,
    grad=None,  # out and logsumexp follow from the others; the attention's own second derivatives are checked
    mixed=False,
)
op(
    "_fused_sdp_choice",
    calls(call(Q, K, T(2, 2, 5, 4)), call(Q, K, T(2, 2, 5, 4), None, 0.0, True)),
    holds=lambda r, *a, **k: None if r[0] in (0, 1) else f"{r[0]} is neither the plain nor the fused way",
    types="f",
    open="cib",
    grad=None,
    mixed=False,
)
