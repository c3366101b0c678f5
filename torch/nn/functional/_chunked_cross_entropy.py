"""`linear_cross_entropy` in pieces of the batch: the logits of all samples never exist at once.

The gradients are computed with the loss, piece by piece, and only scaled in the backward pass.
"""

from __future__ import annotations

import torch

_nn = torch._C._nn


def why_not(input, linear_weight, target, reduction, smoothing):
    """Why these arguments cannot be computed in pieces, or None where they can."""
    if reduction == "none":
        return "reduction is 'none'"
    if smoothing > 0:
        return "label_smoothing is not 0"
    if linear_weight.dim() != 2:
        return "linear_weight has more than 2 dimensions"
    if input.dim() != 2:
        return "the input is no batch"
    if target.is_floating_point():
        if target.requires_grad:
            return "the target requires a gradient"
        if target.dtype != input.dtype:
            return f"the target is {target.dtype} and the input {input.dtype}"
    return None


def _rows_at_once(options, rows, features, classes):
    """So many rows that a piece's logits are about as large as the input."""
    if options.batch_chunk_size is not None:
        return options.batch_chunk_size
    if options.chunking_method is None:
        return max(1, rows)
    pieces = -(-classes // max(1, features))
    return max(1, -(-rows // max(1, pieces)))


class _Chunked(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx,
        input,
        linear_weight,
        linear_bias,
        target,
        weight,
        reduction,
        ignore,
        options,
    ):
        rows, features = input.shape
        classes = linear_weight.size(0)
        size = _rows_at_once(options, rows, features, classes)
        needs = ctx.needs_input_grad[:3]
        wanted = [t for t, need in zip((input, linear_weight, linear_bias), needs) if need]
        low = input.dtype in (torch.float16, torch.bfloat16)
        acc = options.acc_dtype or (
            torch.float32 if low and options.acc_policy != "compact" else input.dtype
        )
        total = torch.zeros((), dtype=acc, device=input.device)
        grad_input = torch.zeros_like(input) if needs[0] else None
        sums = [torch.zeros(t.shape, dtype=acc, device=t.device) for t in wanted[needs[0] :]]
        for start in range(0, rows, size):
            with torch.enable_grad():
                x = input[start : start + size].detach().requires_grad_(needs[0])
                w = linear_weight.detach().requires_grad_(needs[1])
                b = None if linear_bias is None else linear_bias.detach().requires_grad_(needs[2])
                loss = _nn.cross_entropy_loss(
                    _nn.linear(x, w, b), target[start : start + size], weight, 2, ignore
                )
            total += loss.detach()
            if not wanted:
                continue
            grads = list(
                torch.autograd.grad(loss, [t for t, need in zip((x, w, b), needs) if need])
            )
            if needs[0]:
                grad_input[start : start + size] = grads.pop(0)
            for s, g in zip(sums, grads):
                s += g
        if reduction == "mean":
            scale = 1.0 / _divisor(target, weight, ignore, acc, rows)
            total = total * scale
            for g in ([grad_input] if needs[0] else []) + sums:
                g *= scale
        ctx.grads = [grad_input] if needs[0] else []
        ctx.grads += [s.to(input.dtype) for s in sums]
        ctx.needs, ctx.keep = needs, options.allow_retain_graph
        return total.to(input.dtype)

    @staticmethod
    def backward(ctx, grad_output):
        if ctx.grads is None:
            raise RuntimeError(
                "linear_cross_entropy in chunks uses its gradients up in the first backward pass: "
                "pass "
                "LinearCrossEntropyOptions(allow_retain_graph=True) to call backward again"
            )
        if ctx.keep:
            grads = [g * grad_output for g in ctx.grads]
        else:
            grads, ctx.grads = [g.mul_(grad_output) for g in ctx.grads], None
        out = [grads.pop(0) if need else None for need in ctx.needs]
        return (*out, None, None, None, None, None)


def _divisor(target, weight, ignore, dtype, rows):
    """What the mean divides by: the targets' weights, or the rows for probabilities."""
    if target.is_floating_point():
        return torch.tensor(float(rows), dtype=dtype, device=target.device)
    counted = target != ignore
    if weight is None:
        return counted.sum().to(dtype)
    return (weight[torch.where(counted, target, 0)] * counted).sum().to(dtype)


def chunked(input, linear_weight, target, linear_bias, weight, reduction, ignore, options):
    """The loss, a scalar. Arguments as in `linear_cross_entropy`, for which `why_not` gave None."""
    return _Chunked.apply(
        input, linear_weight, linear_bias, target, weight, reduction, ignore, options
    )
