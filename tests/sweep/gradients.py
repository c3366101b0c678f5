"""The columns of derivatives: first and second against differences, and single points where the record names them."""

import torch
from torch.autograd.gradcheck import gradcheck, gradgradcheck

from sweep import columns
from sweep.columns import column, packet, where
from sweep.compare import differs, flat
from sweep.tensors import Arguments


def differentiable(t):
    return isinstance(t, torch.Tensor) and (t.dtype.is_floating_point or t.dtype.is_complex)


def prepared(record, case, dtype):
    """(function of the differentiable inputs, those inputs); results that carry no gradient are left out."""
    filled = Arguments(case, dtype)
    chosen = [
        i
        for i, (t, s) in enumerate(zip(filled.tensors, filled.specs))
        if s.grad and s.dtype is None and differentiable(t)
    ]
    run = packet(record)

    def function(*inputs):
        by = dict(zip(chosen, inputs))
        args, kwargs = filled.replaced(lambda i, t, s: by[i].clone() if i in by else t.clone())
        return tuple(r for r in flat(run(*args, **kwargs)) if differentiable(r))

    # Without elements, strides may be 0, which a clone keeps and gradcheck refuses.
    copies = (filled.tensors[i].clone(memory_format=torch.preserve_format if filled.tensors[i].numel() else torch.contiguous_format) for i in chosen)
    return function, [t.requires_grad_() for t in copies]


@column
def gradients(record):
    if record.grad is None:
        return
    for dtype in (torch.float64, torch.complex128):
        if dtype not in record.dtypes():
            continue
        for case in record.cases:
            if case.big or not case.takes(dtype) or (record.grad and not case.grad):
                continue
            function, inputs = prepared(record, case, dtype)
            if not inputs:
                continue
            at = where(record, case, dtype)
            results = function(*inputs)
            if not record.grad:
                for r in results:
                    if r.requires_grad:
                        try:
                            torch.autograd.grad(r.real.sum(), inputs, allow_unused=True)
                        except RuntimeError:
                            continue
                        raise AssertionError(at + "a gradient is given, which the record denies")
                continue
            if not results:
                continue
            assert any(r.requires_grad for r in results), at + "no result requires a gradient"
            if not any(x.numel() for x in inputs) or not any(r.numel() for r in results):
                loss = sum(r.real.sum() for r in results if r.requires_grad)
                torch.autograd.grad(loss, inputs, allow_unused=True)
                continue
            fast = not columns.FULL
            try:
                gradcheck(function, inputs, fast_mode=fast)
                if record.second:
                    gradgradcheck(function, inputs, fast_mode=fast)
            except Exception as e:
                raise AssertionError(at + f"{type(e).__name__}: {e}") from e


@column
def edges(record):
    """Gradients at the points that the record names."""
    for args, expected in record.edges:
        leaves = [torch.tensor(float(a), dtype=torch.float64, requires_grad=True) for a in args]
        result = packet(record)(*leaves)
        got = torch.autograd.grad(flat(result)[0], leaves)
        for i, (g, e) in enumerate(zip(got, expected)):
            said = differs(g, e)
            assert said is None, f"{record.name}{args}: gradient {i}: {said}"
