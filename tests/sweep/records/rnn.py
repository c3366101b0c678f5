"""Recurrent layers and cells, and sequences packed by time."""

import numpy as np
import scipy.special as sp
import torch

from sweep.cases import call, calls
from sweep.record import T, bad, op

IN, HIDDEN = 3, 2
GATES = {"rnn_tanh": 1, "rnn_relu": 1, "gru": 3, "lstm": 4}


def step(kind, x, h, wi, wh, bi=0.0, bh=0.0):
    """The next state (h, or (h, c)) of rows x."""
    a, b = x @ wi.T + bi, (h[0] if kind == "lstm" else h) @ wh.T + bh
    if kind == "gru":
        (ar, az, an), (br, bz, bn) = np.split(a, 3, -1), np.split(b, 3, -1)
        z = sp.expit(az + bz)
        return (1 - z) * np.tanh(an + sp.expit(ar + br) * bn) + z * h
    if kind == "lstm":
        i, f, g, o = np.split(a + b, 4, -1)
        c = sp.expit(f) * h[1] + sp.expit(i) * np.tanh(g)
        return sp.expit(o) * np.tanh(c), c
    return np.tanh(a + b) if kind == "rnn_tanh" else np.maximum(a + b, 0)


def run(kind, lines, h, p):
    """One direction over lines[t] of (rows, width), whose rows may become fewer; outputs by step, and the last state."""
    h = tuple(s.copy() for s in h) if kind == "lstm" else h.copy()
    out = []
    for x in lines:
        n = len(x)
        if kind == "lstm":
            new = step(kind, x, (h[0][:n], h[1][:n]), *p)
            h[0][:n], h[1][:n] = new
            out.append(new[0])
        else:
            h[:n] = step(kind, x, h[:n], *p)
            out.append(h[:n].copy())
    return out, h


def run_back(kind, lines, h, p):
    """The other direction: each row starts at its own last step."""
    h = tuple(s.copy() for s in h) if kind == "lstm" else h.copy()
    return [o for o in run(kind, lines[::-1], h, p)[0]][::-1], run(kind, lines[::-1], h, p)[1]


def stack(kind, lines, hx, params, has_biases, layers, both):
    """All layers: outputs by step, last states of (layers * directions, rows, hidden)."""
    each, directions, last = 4 if has_biases else 2, 2 if both else 1, []
    for layer in range(layers):
        outs = []
        for d in range(directions):
            k = layer * directions + d
            p = params[k * each : (k + 1) * each]
            h = tuple(s[k] for s in hx) if kind == "lstm" else hx[k]
            out, h = (run_back if d else run)(kind, lines, h, p)
            outs.append(out)
            last.append(h)
        lines = [np.concatenate(o, -1) for o in zip(*outs)]
    return lines, [np.stack(s) for s in zip(*last)] if kind == "lstm" else [np.stack(last)]


def layers(kind):
    def f(x, *rest):
        if x.ndim == 3:  # (time, rows, width)
            hx, params, biases, n, _, _, both, first = rest
            x = x.swapaxes(0, 1) if first else x
            out, last = stack(kind, list(x), hx, params, biases, n, both)
            out = np.stack(out)
            return (out.swapaxes(0, 1) if first else out, *last)
        sizes, hx, params, biases, n, _, _, both = rest
        out, last = stack(kind, np.split(x, np.cumsum(sizes)[:-1]), hx, params, biases, n, both)
        return (np.concatenate(out), *last)

    return f


def weights(kind, n=1, both=False, biases=True):
    g, made = GATES[kind] * HIDDEN, []
    for layer in range(n):
        for _ in range(2 if both else 1):
            width = IN if layer == 0 else HIDDEN * (2 if both else 1)
            made += [T(g, width, lo=-1, hi=1), T(g, HIDDEN, lo=-1, hi=1)] + [T(g, lo=-1, hi=1)] * (2 * biases)
    return made


def state(kind, n, rows):
    return [T(n, rows, HIDDEN), T(n, rows, HIDDEN)] if kind == "lstm" else T(n, rows, HIDDEN)


# of rows by step; a repeated number is another sequence, so the strides of packed cases stay
STEPS = T(3, values=[3, 2, 1], dtype=torch.int64)
for kind in GATES:
    op(
        kind,
        calls(
            call(T(4, 2, IN), state(kind, 1, 2), weights(kind), True, 1, 0.0, False, False, False),
            call(T(2, 4, IN), state(kind, 4, 2), weights(kind, 2, True), True, 2, 0.0, False, True, True),
            call(T(3, 1, IN), state(kind, 1, 1), weights(kind, biases=False), False, 1, 0.0, False, False, False),
            call(T(6, IN), STEPS, state(kind, 1, 3), weights(kind), True, 1, 0.0, False, False).but(meta=False, layouts=False),
            call(T(6, IN), STEPS, state(kind, 4, 3), weights(kind, 2, True), True, 2, 0.0, False, True).but(meta=False, layouts=False),
            errors=[
                bad(RuntimeError, T(4, 2, 5), state(kind, 1, 2), weights(kind), True, 1, 0.0, False, False, False, says="5"),
            ],
        ),
        layers(kind),
        types="w",
        open="fcib",
        tol=10,
        mixed=False,
    )
    rows = [T(2, HIDDEN), T(2, HIDDEN)] if kind == "lstm" else T(2, HIDDEN)
    op(
        kind + "_cell",
        calls(
            call(T(2, IN), rows, *weights(kind)),
            call(T(2, IN), rows, *weights(kind, biases=False)),
            errors=[bad(RuntimeError, T(2, 5), rows, *weights(kind), says="5")],
        ),
        lambda x, h, *p, kind=kind: step(kind, x, h, *p),
        types="w",
        open="fcib",
        tol=10,
        mixed=False,
    )


def packed(x, lengths, first):
    x = x.swapaxes(0, 1) if first else x
    sizes = [int((lengths > t).sum()) for t in range(lengths.max())]
    return np.concatenate([x[t, :n] for t, n in enumerate(sizes)]), np.array(sizes, np.int64)


def padded(data, sizes, first, value, total, size=None):
    out = np.full((max(total, len(sizes)), sizes[0], *data.shape[1:]), value, data.dtype)
    for t, rows in enumerate(np.split(data, np.cumsum(sizes)[:-1])):
        out[t, : len(rows)] = rows
    return (out.swapaxes(0, 1) if first else out), np.array([(sizes > r).sum() for r in range(sizes[0])], np.int64)


LENGTHS = T(3, values=[3, 2, 1], dtype=torch.int64)
op(
    "_pack_padded_sequence",
    calls(
        call(T(3, 3, 2), LENGTHS, False),
        call(T(3, 4, 2), LENGTHS, True),
        errors=[
            bad(RuntimeError, T(3, 3, 2), T(3, values=[1, 2, 1], dtype=torch.int64), False, says=["1", "2"]),
            bad(RuntimeError, T(3, 3, 2), T(3, values=[2, 1, 0], dtype=torch.int64), False, says="0"),
            bad(RuntimeError, T(3, 3, 2), T(2, values=[2, 1], dtype=torch.int64), False, says=["2", "3"]),
        ],
    ),
    packed,
    types="f",
    open="cib",
    result=["same", torch.int64],
    meta=False,
)
op(
    "_pad_packed_sequence",
    calls(
        call(T(6, 2), STEPS, False, 0.0, -1).but(layouts=False),
        call(T(6, 2), STEPS, True, 1.5, 5).but(layouts=False),
        errors=[bad(RuntimeError, T(6, 2), STEPS, False, 0.0, 2, says=["2", "3"])],
    ),
    padded,
    types="f",
    open="cib",
    result=["same", torch.int64],
    meta=False,
)
op(
    "_pad_packed_sequence_to",
    calls(call(T(6, 2), STEPS, [4, 3, 2], 1.5).but(layouts=False)),
    lambda data, sizes, size, value: padded(data, sizes, False, value, size[0])[0],
    types="f",
    open="cib",
    grad=None,
    meta=False,
)
op(
    "_pack_padded_sequence_backward",
    calls(call(T(6, 2), [4, 3, 2], STEPS, False).but(layouts=False), call(T(6, 2), [3, 4, 2], STEPS, True).but(layouts=False)),
    lambda g, size, sizes, first: padded(g, sizes, first, 0.0, size[1 if first else 0])[0],
    types="f",
    open="cib",
    meta=False,
)


def side_by_side(x, first=False, value=0.0, side="right"):
    longest = max(len(s) for s in x)
    rows = []
    for s in x:
        fill = np.full((longest - len(s), *s.shape[1:]), value)
        rows.append(np.concatenate([fill, s] if side == "left" else [s, fill]))
    return np.stack(rows, 0 if first else 1).astype(x[0].dtype)


op(
    "pad_sequence",
    calls(
        call([T(3, 2), T(1, 2), T(2, 2)]),
        call([T(3), T(1)], True, 1.0),
        call([T(1, 2), T(3, 2)], False, 2.0, "left"),
        errors=[
            bad(RuntimeError, [], says="sequences"),
            bad(RuntimeError, [T(2), T(3)], False, 0.0, "up", says="up"),
            bad(RuntimeError, [T(2, 2), T(3, 3)], says=["[2, 2]", "[3, 3]"]),
        ],
    ),
    side_by_side,
    types="fci",
    open="b",
    mixed=False,
)


# One layer of an LSTM in float32, with what it keeps for the way back


def whole(x, wi, wh, bi, bh, h, c, reverse=False, inputs=0.0):
    """(outputs, last h, last c); `inputs` is added to the gates of each step before their activations."""
    out, add = np.zeros((len(x), *h.shape)), np.broadcast_to(inputs, (len(x), len(h), len(wi)))
    for t in range(len(x))[:: -1 if reverse else 1]:
        h, c = step("lstm", x[t], (h, c), wi, wh, bi + add[t], bh)
        out[t] = h
    return out, h, c


def slope(f, a):
    """The gradient of the number f(a), by central differences."""
    out, d = np.zeros(a.shape), 1e-5
    for at in np.ndindex(*a.shape):
        e = np.zeros(a.shape)
        e[at] = d
        out[at] = (f(a + e) - f(a - e)) / (2 * d)
    return out


def kept(arrays, reverse):
    """What the layer keeps of a forward pass."""
    said = [torch.from_numpy(a).float() for a in arrays]
    return torch.ops.aten.mkldnn_rnn_layer(*said, reverse, [], 2, HIDDEN, 1, True, False, False, True)


def compare(got, want):
    for i, (g, w) in enumerate(zip(got, want)):
        if not np.allclose(g.double().numpy(), w, 1e-4, 1e-4):
            return f"result {i}: {g}, expected {w}"
    return None


def single(*shape, **k):
    return T(*shape, dtype=torch.float32, **k)


G = 4 * HIDDEN
LAYER = [single(3, 2, IN), single(G, IN), single(G, HIDDEN), single(G), single(G), single(2, HIDDEN), single(2, HIDDEN)]
op(
    "mkldnn_rnn_layer",
    calls(
        *[call(*LAYER, r, [], 2, HIDDEN, 1, True, False, False, True) for r in (False, True)],
        errors=[
            bad(RuntimeError, *LAYER, False, [], 3, HIDDEN, 1, True, False, False, True, says="3"),
            bad(RuntimeError, T(3, 2, 5), *LAYER[1:], False, [], 2, HIDDEN, 1, True, False, False, True, says="[3, 2, 5]"),
        ],
    ),
    holds=lambda got, *a: compare(got[:3], whole(*[t.double().numpy() for t in a[:7]], a[7])),
    types="",
    grad=None,
    mixed=False,
)
KEPT = T(4 * 3 * 2 * HIDDEN * 6, lo=0, hi=255, dtype=torch.uint8)
BACK = [single(3, 2, HIDDEN), single(2, HIDDEN), single(2, HIDDEN)]


def weighted(gy, gh, gc, results):
    return sum((g * r).sum() for g, r in zip((gy, gh, gc), results))


def steps_back(_, gy, gh, gc, wh, cx, workspace, steps, reverse):
    """For gates, first h and first c, at a forward pass made here."""
    rng = np.random.default_rng(7)
    x, wi, bi, bh, h = (rng.normal(size=s) for s in ((steps, len(cx), IN), (len(wh), IN), len(wh), len(wh), tuple(cx.shape)))
    got = torch.ops.aten._lstm_steps_backward(gy, gh, gc, wh, cx, kept((x, wi, wh.double().numpy(), bi, bh, h, cx.double().numpy()), reverse)[3], steps, reverse)
    gy, gh, gc, wh, c = (t.double().numpy() for t in (gy, gh, gc, wh, cx))
    return compare(
        got,
        [
            slope(lambda v: weighted(gy, gh, gc, whole(x, wi, wh, bi, bh, h, c, reverse, v)), np.zeros((steps, len(h), len(wh)))),
            slope(lambda v: weighted(gy, gh, gc, whole(x, wi, wh, bi, bh, v, c, reverse)), h),
            slope(lambda v: weighted(gy, gh, gc, whole(x, wi, wh, bi, bh, h, v, reverse)), c),
        ],
    )


op(
    "_lstm_steps_backward",
    calls(*[call(*BACK, single(G, HIDDEN), single(2, HIDDEN), KEPT, 3, r).but(layouts=False) for r in (False, True)]),
    holds=steps_back,
    types="",
    grad=None,
    mixed=False,
)


def layer_back(_, *a):
    arrays, (gy, gh, gc), reverse = [t.double().numpy() for t in a[:7]], [t.double().numpy() for t in a[10:13]], a[13]
    y, hy, cy, workspace = kept(arrays, reverse)
    got = torch.ops.aten.mkldnn_rnn_layer_backward(*a[:7], y, hy, cy, *a[10:22], workspace)

    def at(i):
        return slope(lambda v: weighted(gy, gh, gc, whole(*arrays[:i], v, *arrays[i + 1 :], reverse)), arrays[i])

    return compare(got, [at(i) for i in range(7)])


op(
    "mkldnn_rnn_layer_backward",
    calls(
        *[
            call(*LAYER, *BACK, *BACK, r, 2, HIDDEN, 1, True, True, False, [], False, KEPT).but(layouts=False)
            for r in (False, True)
        ]
    ),
    holds=layer_back,
    types="",
    grad=None,
    mixed=False,
)
