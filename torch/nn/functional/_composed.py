"""Operators composed of simpler ones, for those that this build has no kernel of.

Each has the operator's own signature; reductions are numbers: 0 none, 1 mean, 2 sum.
"""

from __future__ import annotations

import math

import torch

_linear = getattr(torch._C._nn, "linear", None)


def scaled_dot_product_attention(
    query,
    key,
    value,
    attn_mask=None,
    dropout_p=0.0,
    is_causal=False,
    *,
    scale=None,
    enable_gqa=False,
):
    """``softmax(query @ key^T * scale + mask) @ value``.

    Shapes: query (..., L, E), key (..., S, E), value (..., S, Ev); attn_mask broadcasts to
    (..., L, S), boolean (True counts) or added. With `enable_gqa` key heads are shared.
    """
    if is_causal and attn_mask is not None:
        raise RuntimeError(
            "scaled_dot_product_attention takes attn_mask or is_causal, but got both"
        )
    if enable_gqa and query.size(-3) != key.size(-3):
        times = query.size(-3) // key.size(-3)
        key, value = key.repeat_interleave(times, -3), value.repeat_interleave(times, -3)
    root = math.sqrt(1.0 / math.sqrt(query.size(-1)) if scale is None else abs(scale))
    sign = -1.0 if scale is not None and scale < 0 else 1.0
    scores = (query * (root * sign)) @ (key * root).transpose(-2, -1)
    if is_causal:
        rows = torch.arange(query.size(-2), device=query.device).unsqueeze(-1)
        attn_mask = rows >= torch.arange(key.size(-2), device=query.device)
    if attn_mask is not None:
        if attn_mask.dtype == torch.bool:
            scores = scores.masked_fill(~attn_mask, -math.inf)
        else:
            scores = scores + attn_mask
    # A query that may look at nothing gets zeros.
    nothing = None
    if attn_mask is not None:
        nothing = (scores == -math.inf).all(-1, keepdim=True)
        scores = scores.masked_fill(nothing, 0.0)
    weights = scores.softmax(-1)
    if nothing is not None:
        weights = weights.masked_fill(nothing, 0.0)
    if dropout_p > 0.0:
        weights = torch.dropout(weights, dropout_p, True)
    return weights @ value


def rnn_tanh_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    return (_linear(input, w_ih, b_ih) + _linear(hx, w_hh, b_hh)).tanh()


def rnn_relu_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    return (_linear(input, w_ih, b_ih) + _linear(hx, w_hh, b_hh)).relu()


def gru_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    ir, iz, inew = _linear(input, w_ih, b_ih).chunk(3, 1)
    hr, hz, hnew = _linear(hx, w_hh, b_hh).chunk(3, 1)
    r, z = (ir + hr).sigmoid(), (iz + hz).sigmoid()
    n = (inew + r * hnew).tanh()
    return (hx - n) * z + n


def lstm_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None, w_hr=None):
    i, f, g, o = (_linear(input, w_ih, b_ih) + _linear(hx[0], w_hh, b_hh)).chunk(4, 1)
    c = f.sigmoid() * hx[1] + i.sigmoid() * g.tanh()
    h = o.sigmoid() * c.tanh()
    return (h if w_hr is None else _linear(h, w_hr)), c


def _run(cell, steps, state, reverse):
    """One direction of one layer over steps (batch, features), whose batches never grow.

    Returns the results of all steps, in order, and the last state of each sequence.
    """
    outputs, ended, full = [], [], state
    order = range(len(steps) - 1, -1, -1) if reverse else range(len(steps))
    if reverse:
        state = tuple(s[: steps[-1].size(0)] for s in full)
    for t in order:
        n = steps[t].size(0)
        have = state[0].size(0)
        if n < have:  # sequences end here
            ended.insert(0, tuple(s[n:] for s in state))
            state = tuple(s[:n] for s in state)
        elif n > have:  # sequences start here, seen from their end
            state = tuple(torch.cat([s, f[have:n]]) for s, f in zip(state, full))
        state = cell(steps[t], state)
        outputs.append(state[0])
    if reverse:
        outputs.reverse()
    parts = [state, *ended]
    return outputs, tuple(torch.cat(p) if len(p) > 1 else p[0] for p in zip(*parts))


def _network(kind, steps, hx, params, has_biases, num_layers, dropout, train, bidirectional):
    """The results of the last layer by step, and the last states (layers * directions, N, *)."""
    directions = 2 if bidirectional else 1
    per = len(params) // (num_layers * directions)
    finals = []
    for layer in range(num_layers):
        sides = []
        for direction in range(directions):
            k = layer * directions + direction
            own = params[k * per : (k + 1) * per]
            w_ih, w_hh = own[0], own[1]
            b_ih, b_hh = (own[2], own[3]) if has_biases else (None, None)
            w_hr = own[-1] if len(own) == (5 if has_biases else 3) else None

            def cell(x, state):
                if kind is lstm_cell:
                    return lstm_cell(x, state, w_ih, w_hh, b_ih, b_hh, w_hr)
                return (kind(x, state[0], w_ih, w_hh, b_ih, b_hh),)

            outputs, final = _run(cell, steps, tuple(h[k] for h in hx), direction == 1)
            sides.append(outputs)
            finals.append(final)
        steps = [torch.cat(s, -1) for s in zip(*sides)] if directions == 2 else sides[0]
        if dropout > 0 and train and layer + 1 < num_layers:
            whole = torch.dropout(torch.cat(steps), dropout, True)
            steps = list(whole.split([s.size(0) for s in steps]))
    return steps, tuple(torch.stack(f) for f in zip(*finals))


def _recurrent(kind, args):
    """An operator called as (input, hx, params, ...) or (data, batch_sizes, hx, params, ...)."""
    if isinstance(args[2], torch.Tensor) or isinstance(args[3], (list, tuple)):
        data, batch_sizes, hx, params, *rest = args
        steps = list(data.split(batch_sizes.tolist()))
    else:
        input, hx, params, *rest, batch_first = args
        batch_sizes = None
        steps = list(input.unbind(1 if batch_first else 0))
    hx = hx if isinstance(hx, (list, tuple)) else (hx,)
    steps, finals = _network(kind, steps, hx, params, *rest)
    if batch_sizes is not None:
        out = torch.cat(steps)
    else:
        out = torch.stack(steps, 1 if batch_first else 0)
    return (out, *finals)


def rnn_tanh(*args):
    return _recurrent(rnn_tanh_cell, args)


def rnn_relu(*args):
    return _recurrent(rnn_relu_cell, args)


def gru(*args):
    return _recurrent(gru_cell, args)


def lstm(*args):
    return _recurrent(lstm_cell, args)
