"""The column of forward mode: the derivative along a direction agrees with the backward one."""
import torch
from torch.autograd import forward_ad

from sweep.columns import column, where
from sweep.gradients import prepared


@column
def forward(record):
    """<w, J v> is the same whether J v comes from forward mode or J' w from backward."""
    if not record.grad:
        return
    for dtype in (torch.float64, torch.complex128):
        if dtype not in record.dtypes():
            continue
        for case in record.cases:
            if case.big or not case.grad or not case.takes(dtype):
                continue
            function, inputs = prepared(record, case, dtype)
            if not any(x.numel() for x in inputs):
                continue
            directions = [like(x, i) for i, x in enumerate(inputs)]
            with forward_ad.dual_level():
                duals = [forward_ad.make_dual(x.detach(), v) for x, v in zip(inputs, directions)]
                tangents = [forward_ad.unpack_dual(r).tangent for r in function(*duals)]
            results = function(*inputs)
            weights = [like(r, i + 7) for i, r in enumerate(results)]
            pairs = [(r, w) for r, w in zip(results, weights) if r.requires_grad]
            grads = torch.autograd.grad([r for r, _ in pairs], inputs, [w for _, w in pairs], allow_unused=True)
            ahead = sum(inner(w, t) for w, t in zip(weights, tangents) if t is not None)
            back = sum(inner(g, v) for g, v in zip(grads, directions) if g is not None)
            size = 1 + sum(float(t.abs().sum()) for t in tangents if t is not None)
            at = where(record, case, dtype)
            assert abs(ahead - back) <= 1e-9 * size, at + f"forward gives {ahead}, backward {back}"


def like(t, seed):
    """A direction in the space of t."""
    n = torch.arange(1, t.numel() + 1, dtype=torch.float64)
    a = torch.sin(n * (seed + 1.3)).to(t.dtype)
    return (a + 1j * torch.cos(n) if t.is_complex() else a).reshape(t.shape)


def inner(a, b):
    """The real inner product."""
    return float((a.conj() * b).sum().real) if a.is_complex() or b.is_complex() else float((a * b).sum())
