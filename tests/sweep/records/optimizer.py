"""Fused steps of optimisers and of gradient scaling: what is written, against the formulas. None runs on the meta device."""

import numpy as np
import torch

from sweep.cases import call, calls
from sweep.record import T, bad, op


def number(v):
    return v.item() if isinstance(v, torch.Tensor) else v


def steps(name, formula):
    """Runs the operator on the arguments and compares what it wrote into its lists with the formula's lists."""

    def holds(results, *args, **kwargs):
        before = [[t.double().numpy().copy() for t in a] if isinstance(a, list) else a for a in args]
        getattr(torch.ops.aten, name)(*args, **kwargs)
        want = formula(*before, **{k: number(v) for k, v in kwargs.items()})
        for at, (got, expected) in enumerate(zip(args, want)):
            for i, (g, w) in enumerate(zip(got if isinstance(got, list) else [got], expected)):
                tol = 2e-2 if g.dtype.itemsize == 2 else 2e-5 if g.dtype == torch.float32 else 1e-10
                if not np.allclose(g.double().numpy(), w, tol, tol):
                    return f"list {at}, tensor {i}: {g}, expected {w}"
        return None

    return holds


def adam(decoupled):
    def f(params, grads, means, squares, largest, counts, lr, beta1, beta2, weight_decay, eps, amsgrad, maximize, grad_scale=None, found_inf=None):
        out = [[], [], [], [], []]
        for i, (p, g, m, v, n) in enumerate(zip(params, grads, means, squares, counts)):
            top = largest[i] if amsgrad else None
            g = g / grad_scale if grad_scale else g
            out[1].append(g)
            if not found_inf:
                d = -g if maximize else g
                if decoupled:
                    p = p * (1 - lr * weight_decay)
                else:
                    d = d + weight_decay * p
                m, v = beta1 * m + (1 - beta1) * d, beta2 * v + (1 - beta2) * d * d
                top = np.maximum(top, v) if amsgrad else None
                root = np.sqrt(top if amsgrad else v) / np.sqrt(1 - beta2**n)
                p = p - lr / (1 - beta1**n) * m / (root + eps)
            for to, x in zip((out[0], out[2], out[3], out[4]), (p, m, v, top)):
                if x is not None:
                    to.append(x)
        return out

    return f


def pair(**k):
    return [T(2, 3, **k), T(4, **k)]


ONE, NONE = T(values=1.0, dtype=torch.float32), T(values=0.0, dtype=torch.float32)
COUNTS = [T(values=3.0, dtype=torch.float32), T(values=3.0, dtype=torch.float32)]
POSITIVE = dict(lo=0.1, hi=2.0)
BETAS = dict(beta1=0.9, beta2=0.99, eps=1e-3)
unscaled = dict(grad_scale=T(values=4.0, dtype=torch.float32), found_inf=NONE)


def adam_call(top=False, lr=0.1, **more):
    said = dict(weight_decay=0.0, amsgrad=top, maximize=False, **BETAS)
    args = (pair(), pair(), pair(), pair(**POSITIVE), pair(**POSITIVE) if top else [], COUNTS)
    return call(*args, lr=lr, **{**said, **more}).but(meta=False)


for name, decoupled in (("_fused_adam_", False), ("_fused_adamw_", True)):
    op(
        name,
        calls(
            adam_call(),
            adam_call(weight_decay=0.1, maximize=True),
            adam_call(True, weight_decay=0.1),
            adam_call(lr=T(values=0.1, dtype=torch.float32)),
            adam_call(**unscaled).but(types="w"),
            adam_call(found_inf=ONE, grad_scale=ONE).but(types="w"),
        ),
        holds=steps(name, adam(decoupled)),
        types="w",
        open="fc",
        grad=None,
        mixed=False,
    )


def descent(params, grads, buffers, weight_decay, momentum, lr, dampening, nesterov, maximize, is_first_step, grad_scale=None, found_inf=None):
    out = [[], [], []]
    for i, (p, g) in enumerate(zip(params, grads)):
        b = buffers[i] if momentum else None
        g = g / grad_scale if grad_scale else g
        out[1].append(g)
        if not found_inf:
            d = (-g if maximize else g) + weight_decay * p
            if momentum:
                b = d if is_first_step else momentum * b + (1 - dampening) * d
                d = d + momentum * b if nesterov else b
            p = p - lr * d
        out[0].append(p)
        if momentum:
            out[2].append(b)
    return out


def descent_call(momentum=0.0, **more):
    said = dict(weight_decay=0.0, momentum=momentum, lr=0.1, dampening=0.0, nesterov=False, maximize=False, is_first_step=False)
    return call(pair(), pair(), pair() if momentum else [], **{**said, **more}).but(meta=False)


op(
    "_fused_sgd_",
    calls(
        descent_call(),
        descent_call(weight_decay=0.1, maximize=True),
        descent_call(0.9, dampening=0.5),
        descent_call(0.9, is_first_step=True),
        descent_call(0.9, nesterov=True),
        descent_call(lr=T(values=0.1, dtype=torch.float32)),
        descent_call(**unscaled).but(types="w"),
        descent_call(found_inf=ONE, grad_scale=ONE).but(types="w"),
    ),
    holds=steps("_fused_sgd_", descent),
    types="w",
    open="fc",
    grad=None,
    mixed=False,
)


def unscale(grads, found, inverse):
    with np.errstate(invalid="ignore"):
        bad = any(not np.isfinite(g).all() for g in grads)
        return [g * inverse.item() for g in grads], [1.0 if bad else found.item()]


op(
    "_amp_foreach_non_finite_check_and_unscale_",
    calls(
        call(pair(), NONE, T(values=0.25, dtype=torch.float32)).but(meta=False, batch=False),
        call(pair(), ONE, T(values=0.25, dtype=torch.float32)).but(meta=False, batch=False),
        call([T(2), T(2, values=[1.0, float("inf")])], NONE, T(values=0.5, dtype=torch.float32)).but(meta=False, batch=False),
        call([T(2, values=[float("nan"), 2.0])], NONE, T(values=0.5, dtype=torch.float32)).but(values=False, meta=False, batch=False),
        errors=[
            bad(RuntimeError, pair(), T(2, dtype=torch.float32), ONE, says="[2]"),
            bad(RuntimeError, pair(), NONE, T(3, dtype=torch.float32), says="[3]"),
        ],
    ),
    holds=steps("_amp_foreach_non_finite_check_and_unscale_", unscale),
    types="w",
    open="f",
    grad=None,
    mixed=False,
)
