"""Operators composed of simpler ones, for those that this build has no kernel of.

Each has the operator's own signature; reductions are numbers: 0 none, 1 mean, 2 sum.
"""

from __future__ import annotations

import math

import torch

_linear = getattr(torch._C._nn, "linear", None)


def _reduced(loss, reduction):
    return loss if reduction == 0 else loss.mean() if reduction == 1 else loss.sum()


def l1_loss(self, target, reduction=1):
    return _reduced((self - target).abs(), reduction)


def mse_loss(self, target, reduction=1):
    d = self - target
    return _reduced(d * d, reduction)


def smooth_l1_loss(self, target, reduction=1, beta=1.0):
    if beta < 0:
        raise RuntimeError(f"smooth_l1_loss needs a beta of at least 0, but got {beta}")
    d = (self - target).abs()
    return _reduced(torch.where(d < beta, 0.5 * d * d / beta, d - 0.5 * beta), reduction)


def huber_loss(self, target, reduction=1, delta=1.0):
    if delta <= 0:
        raise RuntimeError(f"huber_loss needs a positive delta, but got {delta}")
    d = (self - target).abs()
    return _reduced(torch.where(d <= delta, 0.5 * d * d, delta * (d - 0.5 * delta)), reduction)


def binary_cross_entropy(self, target, weight=None, reduction=1):
    if bool((self.detach() < 0).any()) or bool((self.detach() > 1).any()):
        raise RuntimeError("binary_cross_entropy needs an input between 0 and 1")
    low, high = self.log().clamp(min=-100), (-self).log1p().clamp(min=-100)
    loss = (target - 1) * high - target * low
    return _reduced(loss if weight is None else loss * weight, reduction)


def binary_cross_entropy_with_logits(self, target, weight=None, pos_weight=None, reduction=1):
    log_sigmoid = torch._C._nn.log_sigmoid(self)
    if pos_weight is not None:
        loss = (1 - target) * self - ((pos_weight - 1) * target + 1) * log_sigmoid
    else:
        loss = (1 - target) * self - log_sigmoid
    return _reduced(loss if weight is None else loss * weight, reduction)


def kl_div(self, target, reduction=1, *, log_target=False):
    if log_target:
        loss = target.exp() * (target - self)
    else:
        loss = torch.xlogy(target, target) - target * self
    return _reduced(loss, reduction)


def poisson_nll_loss(input, target, log_input, full, eps, reduction):
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        safe = torch.where(target > 1, target, torch.ones_like(target))
        stirling = target * safe.log() - target + 0.5 * (2 * math.pi * safe).log()
        loss = loss + torch.where(target > 1, stirling, torch.zeros_like(stirling))
    return _reduced(loss, reduction)


def soft_margin_loss(self, target, reduction=1):
    return _reduced((-target * self).exp().log1p(), reduction)


def margin_ranking_loss(input1, input2, target, margin=0.0, reduction=1):
    return _reduced((-target * (input1 - input2) + margin).clamp(min=0), reduction)


def hinge_embedding_loss(self, target, margin=1.0, reduction=1):
    zero = torch.zeros_like(self)
    far = torch.where(target == 1, zero, (margin - self).clamp(min=0))
    near = torch.where(target == -1, zero, self)
    return _reduced(far + near, reduction)


def cosine_embedding_loss(input1, input2, target, margin=0.0, reduction=1):
    if (
        target.dim() not in (0, 1)
        or input1.dim() != target.dim() + 1
        or input2.dim() != input1.dim()
    ):
        raise RuntimeError(
            "cosine_embedding_loss needs inputs of 2 dimensions with a target of 1, or of 1 with a "
            f"target of 0, but got {tuple(input1.shape)}, {tuple(input2.shape)} and "
            f"{tuple(target.shape)}"
        )
    eps = 1e-12
    product = (input1 * input2).sum(-1)
    cos = product / (((input1 * input1).sum(-1) + eps) * ((input2 * input2).sum(-1) + eps)).sqrt()
    zero = torch.zeros_like(cos)
    loss = torch.where(target == 1, 1 - cos, zero)
    return _reduced(loss + torch.where(target == -1, (cos - margin).clamp(min=0), zero), reduction)


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


def multi_margin_loss(self, target, p=1, margin=1.0, weight=None, reduction=1):
    single = self.dim() == 1
    x, y = (self.unsqueeze(0), target.reshape(1)) if single else (self, target)
    if x.dim() != 2 or y.dim() != 1 or y.size(0) != x.size(0):
        raise RuntimeError(
            "multi_margin_loss needs an input (N, C) and a target (N), but got "
            f"{tuple(self.shape)} "
            f"and {tuple(target.shape)}"
        )
    other = torch.arange(x.size(1), device=x.device) != y.unsqueeze(-1)
    own = x[torch.arange(x.size(0), device=x.device), y].unsqueeze(-1)
    loss = (margin - own + x).clamp(min=0)
    loss = loss * loss if p == 2 else loss
    if weight is not None:
        loss = loss * weight[y].unsqueeze(-1)
    loss = torch.where(other, loss, torch.zeros_like(loss)).sum(-1) / x.size(1)
    return _reduced(loss.squeeze(0) if single and reduction == 0 else loss, reduction)


def multilabel_margin_loss(self, target, reduction=1):
    single = self.dim() < 2
    x, y = (self.reshape(1, -1), target.reshape(1, -1)) if single else (self, target)
    if x.dim() != 2 or x.shape != y.shape:
        raise RuntimeError(
            f"multilabel_margin_loss needs input and target of one shape (N, C) or (C), but got "
            f"{tuple(self.shape)} and {tuple(target.shape)}"
        )
    # The targets of a row end at its first negative entry.
    counted = (y < 0).long().cumsum(-1) == 0
    classes = torch.arange(x.size(1), device=x.device)
    is_target = ((y.unsqueeze(-1) == classes) & counted.unsqueeze(-1)).any(1)
    at = torch.where(counted, y, torch.zeros_like(y))
    rows = torch.arange(x.size(0), device=x.device).unsqueeze(-1)
    hinge = (1 - x[rows, at].unsqueeze(-1) + x.unsqueeze(1)).clamp(min=0)
    used = counted.unsqueeze(-1) & ~is_target.unsqueeze(1)
    loss = torch.where(used, hinge, torch.zeros_like(hinge)).sum((1, 2)) / x.size(1)
    return _reduced(loss.squeeze(0) if single and reduction == 0 else loss, reduction)


def triplet_margin_loss(
    anchor, positive, negative, margin=1.0, p=2.0, eps=1e-6, swap=False, reduction=1
):
    def distance(a, b):
        d = (a - b + eps).abs()
        if p == 2:
            return (d * d).sum(-1).sqrt()
        return d.sum(-1) if p == 1 else d.amax(-1) if p == math.inf else d.pow(p).sum(-1).pow(1 / p)

    far = distance(anchor, negative)
    if swap:
        far = torch.minimum(far, distance(positive, negative))
    return _reduced((margin + distance(anchor, positive) - far).clamp(min=0), reduction)
