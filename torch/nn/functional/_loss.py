"""Losses. `reduction` is ``"none"`` (one value per element or sample), ``"mean"`` or ``"sum"``;
the older flags `size_average` and `reduce` override it where they are given."""

from __future__ import annotations

import math
import warnings

import torch
from torch.nn import _reduction as _Reduction
from torch.nn._reduction import legacy_get_enum, legacy_get_string
from torch.overrides import has_torch_function_variadic, handle_torch_function

_nn = torch._C._nn
_op_l1_loss = torch._C._nn.l1_loss
_op_mse_loss = torch._C._nn.mse_loss
_op_smooth_l1_loss = torch._C._nn.smooth_l1_loss
_op_huber_loss = torch._C._nn.huber_loss
_op_binary_cross_entropy = torch._C._nn.binary_cross_entropy
_op_soft_margin_loss = torch._C._nn.soft_margin_loss
_op_multilabel_margin_loss = torch._C._nn.multilabel_margin_loss
_op_multi_margin_loss = torch._C._nn.multi_margin_loss
_op_nll_loss_nd = torch._C._nn.nll_loss_nd
_op_cross_entropy_loss = torch._C._nn.cross_entropy_loss
_op_binary_cross_entropy_with_logits = torch.binary_cross_entropy_with_logits
_op_kl_div = torch.kl_div
_op_poisson_nll_loss = torch.poisson_nll_loss
_op_margin_ranking_loss = torch.margin_ranking_loss
_op_hinge_embedding_loss = torch.hinge_embedding_loss
_op_cosine_embedding_loss = torch.cosine_embedding_loss
_op_triplet_margin_loss = torch.triplet_margin_loss
_op_ctc_loss = torch.ctc_loss


class _Numbers(dict):
    def __missing__(self, reduction):
        return _Reduction.get_enum(reduction)


# A dict that computes only what is missing: looking up a usual name is one C call.
_number = _Numbers(none=0, mean=1, sum=2)


def _reduce(loss, reduction):
    if reduction == "none":
        return loss
    if reduction == "mean":
        return loss.mean()
    if reduction == "sum":
        return loss.sum()
    raise ValueError(f"reduction must be 'none', 'mean' or 'sum', but got {reduction!r}")


def _weighted(losses, weight, size, reduction, weight_in_mean):
    """Losses times weights, reduced; the mean is over the weights' sum or the elements."""
    if weight.size() != size:
        raise ValueError(
            f"weight must have the input's size {tuple(size)}, but has {tuple(weight.size())}"
        )
    weighted = losses * weight
    if reduction == "mean" and weight_in_mean:
        return weighted.sum() / weight.sum()
    return _reduce(weighted, reduction)


def _warn_broadcast(name, input, target):
    warnings.warn(
        f"{name} broadcasts a target of size {tuple(target.size())} and an input of size "
        f"{tuple(input.size())}, which is likely not what was meant: give them the same size",
        stacklevel=3,
    )


def ctc_loss(
    log_probs,
    targets,
    input_lengths,
    target_lengths,
    blank=0,
    reduction="mean",
    zero_infinity=False,
):
    """Connectionist temporal classification (Graves et al., 2006).

    Args:
        log_probs (Tensor): (T, N, C) or (T, C), log-probabilities.
        targets (Tensor): (N, S) or concatenated (sum of target_lengths), without blanks.
        input_lengths, target_lengths (Tensor or tuple of int): (N).
        blank (int): the blank class.
        zero_infinity (bool): whether infinite losses and their gradients become zero.
    """
    if has_torch_function_variadic(log_probs, targets, input_lengths, target_lengths):
        return handle_torch_function(
            ctc_loss,
            (log_probs, targets, input_lengths, target_lengths),
            log_probs,
            targets,
            input_lengths,
            target_lengths,
            blank=blank,
            reduction=reduction,
            zero_infinity=zero_infinity,
        )
    return _op_ctc_loss(
        log_probs, targets, input_lengths, target_lengths, blank, _number[reduction], zero_infinity
    )


def nll_loss(
    input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"
):
    """The negative log-likelihood ``-weight[target] * input[target]``.

    Shapes: input (N, C, d1, ...) or (C), log-probabilities; target (N, d1, ...) or (), class
    indices; weight (C).
    """
    if has_torch_function_variadic(input, target, weight):
        return handle_torch_function(
            nll_loss,
            (input, target, weight),
            input,
            target,
            weight=weight,
            size_average=size_average,
            ignore_index=ignore_index,
            reduce=reduce,
            reduction=reduction,
        )
    if size_average is not None or reduce is not None:
        reduction = legacy_get_string(size_average, reduce)
    return _op_nll_loss_nd(input, target, weight, _number[reduction], ignore_index)


def poisson_nll_loss(
    input,
    target,
    log_input=True,
    full=False,
    size_average=None,
    eps=1e-8,
    reduce=None,
    reduction="mean",
):
    """The negative log-likelihood of counts `target` under Poisson rates ``exp(input)``, or
    `input` where `log_input` is false; `full` adds Stirling's approximation of ``log(target!)``."""
    if has_torch_function_variadic(input, target):
        return handle_torch_function(
            poisson_nll_loss,
            (input, target),
            input,
            target,
            log_input=log_input,
            full=full,
            size_average=size_average,
            eps=eps,
            reduce=reduce,
            reduction=reduction,
        )
    if size_average is not None or reduce is not None:
        reduction = legacy_get_string(size_average, reduce)
    return _op_poisson_nll_loss(input, target, log_input, full, eps, _number[reduction])


def gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):
    """``0.5 * (log(var) + (input - target)^2 / var)``, with var at least `eps`; `full` adds the
    constant ``0.5 * log(2 pi)``.

    Shapes: input and target of one shape; var a number, or of the input's shape with any
    dimensions of size 1 instead, or without the last dimension.
    """
    if has_torch_function_variadic(input, target, var):
        return handle_torch_function(
            gaussian_nll_loss,
            (input, target, var),
            input,
            target,
            var,
            full=full,
            eps=eps,
            reduction=reduction,
        )
    if isinstance(var, (int, float)):
        if var < 0:
            raise ValueError(f"var must not be negative, but got {var}")
        var = var * torch.ones_like(input)
    elif (var < 0).any():
        raise ValueError("var must not have negative entries")
    if var.size() != input.size():
        if input.size()[:-1] == var.size():
            var = var.unsqueeze(-1)
        elif input.dim() != var.dim() or any(
            v not in (1, n) for v, n in zip(var.size(), input.size())
        ):
            raise ValueError(
                f"var of size {tuple(var.size())} does not fit an input of size "
                f"{tuple(input.size())}"
            )
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"reduction must be 'none', 'mean' or 'sum', but got {reduction!r}")
    var = var.clone()
    with torch.no_grad():
        var.clamp_(min=eps)  # the gradient passes as if var were not clamped
    loss = 0.5 * (torch.log(var) + (input - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return _reduce(loss, reduction)


def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    """The Kullback-Leibler divergence ``target * (log(target) - input)``, input being
    log-probabilities, and target too where `log_target`.

    ``reduction="batchmean"`` divides the sum by the batch's size, as the definition has it.
    """
    if has_torch_function_variadic(input, target):
        return handle_torch_function(
            kl_div,
            (input, target),
            input,
            target,
            size_average=size_average,
            reduce=reduce,
            reduction=reduction,
            log_target=log_target,
        )
    if size_average is not None or reduce is not None:
        number = legacy_get_enum(size_average, reduce)
    elif reduction == "batchmean":
        number = 2
    else:
        if reduction == "mean":
            warnings.warn(
                "reduction='mean' divides by the number of elements; the divergence by its "
                "definition "
                "is reduction='batchmean'",
                stacklevel=2,
            )
        number = _number[reduction]
    reduced = _op_kl_div(input, target, number, log_target=log_target)
    if reduction == "batchmean" and input.dim() != 0:
        reduced = reduced / input.size(0)
    return reduced


def cross_entropy(
    input,
    target,
    weight=None,
    size_average=None,
    ignore_index=-100,
    reduce=None,
    reduction="mean",
    label_smoothing=0.0,
):
    """``log_softmax`` over the classes followed by `nll_loss`, or by the product with given
    class probabilities.

    Args:
        input (Tensor): (N, C, d1, ...) or (C), logits.
        target (Tensor): class indices (N, d1, ...) or (), or probabilities of the input's shape.
        weight (Tensor, optional): (C).
        ignore_index (int): the class index that counts for nothing.
        label_smoothing (float): the share of the uniform distribution mixed into the target.
    """
    if has_torch_function_variadic(input, target, weight):
        return handle_torch_function(
            cross_entropy,
            (input, target, weight),
            input,
            target,
            weight=weight,
            size_average=size_average,
            ignore_index=ignore_index,
            reduce=reduce,
            reduction=reduction,
            label_smoothing=label_smoothing,
        )
    if size_average is not None or reduce is not None:
        reduction = legacy_get_string(size_average, reduce)
    return _op_cross_entropy_loss(
        input, target, weight, _number[reduction], ignore_index, label_smoothing
    )


def _check_linear_cross_entropy(input, linear_weight, target, linear_bias, ignore_index):
    if input.dim() not in (1, 2):
        raise RuntimeError(
            "linear_cross_entropy needs an input of 1 or 2 dimensions, but got "
            f"{tuple(input.shape)}"
        )
    if linear_weight.dim() < 2:
        raise RuntimeError(
            "linear_cross_entropy needs a linear_weight of at least 2 dimensions, but got "
            f"{tuple(linear_weight.shape)}"
        )
    if input.size(-1) != linear_weight.size(-1):
        raise RuntimeError(
            "input and linear_weight must agree in their last dimension, but have shapes "
            f"{tuple(input.shape)} and {tuple(linear_weight.shape)}"
        )
    if linear_weight.dim() > 2 and input.dim() != 2:
        raise RuntimeError(
            f"a linear_weight of shape {tuple(linear_weight.shape)} needs a batch (N, "
            "in_features) as "
            f"input, but got {tuple(input.shape)}"
        )
    if linear_bias is not None and linear_bias.shape != linear_weight.shape[:-1]:
        raise RuntimeError(
            f"linear_bias must have shape {tuple(linear_weight.shape[:-1])}, but has "
            f"{tuple(linear_bias.shape)}"
        )
    if ignore_index is not None and target.is_floating_point():
        raise RuntimeError("ignore_index cannot be given when the target holds class probabilities")


def linear_cross_entropy(
    input,
    linear_weight,
    target,
    *,
    linear_bias=None,
    weight=None,
    reduction="mean",
    ignore_index=None,
    label_smoothing=0.0,
    options=None,
):
    """`cross_entropy` of ``linear(input, linear_weight, linear_bias)``.

    Args:
        input (Tensor): (N, in_features) or (in_features).
        linear_weight (Tensor): (C, in_features), or (C, d1, ..., in_features) for a loss over
            further dimensions, which needs a batch.
        target (Tensor): class indices (N, d1, ...) or probabilities (N, C, d1, ...).
        linear_bias (Tensor, optional): the shape of `linear_weight` without its last dimension.
        weight (Tensor, optional): (C).
        ignore_index (int, optional): the class index that counts for nothing; -100 by default.
        options (LinearCrossEntropyOptions, optional): compute in pieces of the batch, so that
            the logits of the whole batch never exist at once.

    Raises RuntimeError for shapes that do not fit.
    """
    if has_torch_function_variadic(input, linear_weight, target, linear_bias, weight):
        return handle_torch_function(
            linear_cross_entropy,
            (input, linear_weight, target, linear_bias, weight),
            input,
            linear_weight,
            target,
            linear_bias=linear_bias,
            weight=weight,
            reduction=reduction,
            ignore_index=ignore_index,
            label_smoothing=label_smoothing,
            options=options,
        )
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"reduction must be 'none', 'mean' or 'sum', but got {reduction!r}")
    _check_linear_cross_entropy(input, linear_weight, target, linear_bias, ignore_index)
    number = _number[reduction]
    ignore = -100 if ignore_index is None else ignore_index
    if options is not None:
        from torch.nn.functional._chunked_cross_entropy import chunked, why_not

        reason = why_not(input, linear_weight, target, reduction, label_smoothing)
        if reason is None:
            return chunked(
                input, linear_weight, target, linear_bias, weight, reduction, ignore, options
            )
        warnings.warn(f"linear_cross_entropy computes without chunks: {reason}", stacklevel=2)
    if linear_weight.dim() == 2:
        logits = _nn.linear(input, linear_weight, linear_bias)
    else:
        flat_bias = None if linear_bias is None else linear_bias.reshape(-1)
        logits = _nn.linear(input, linear_weight.reshape(-1, linear_weight.size(-1)), flat_bias)
        logits = logits.unflatten(-1, linear_weight.shape[:-1])
    return _op_cross_entropy_loss(logits, target, weight, number, ignore, label_smoothing)


def binary_cross_entropy(
    input, target, weight=None, size_average=None, reduce=None, reduction="mean"
):
    """``-(target * log(input) + (1 - target) * log(1 - input))``, the logarithms at least -100.

    Shapes: input and target of one shape; weight broadcasts to it.
    """
    if has_torch_function_variadic(input, target, weight):
        return handle_torch_function(
            binary_cross_entropy,
            (input, target, weight),
            input,
            target,
            weight=weight,
            size_average=size_average,
            reduce=reduce,
            reduction=reduction,
        )
    if size_average is not None or reduce is not None:
        reduction = legacy_get_string(size_average, reduce)
    if target.size() != input.size():
        raise ValueError(
            f"binary_cross_entropy needs a target of the input's size {tuple(input.size())}, but "
            "got "
            f"{tuple(target.size())}"
        )
    if weight is not None:
        weight = weight.expand(torch.broadcast_shapes(target.size(), weight.size()))
    return _op_binary_cross_entropy(input, target, weight, _number[reduction])


def binary_cross_entropy_with_logits(
    input, target, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None
):
    """`binary_cross_entropy` of ``sigmoid(input)``, computed stably; `pos_weight` multiplies
    the term of positive targets. Input and target have one shape, the weights broadcast to it."""
    if has_torch_function_variadic(input, target, weight, pos_weight):
        return handle_torch_function(
            binary_cross_entropy_with_logits,
            (input, target, weight, pos_weight),
            input,
            target,
            weight=weight,
            size_average=size_average,
            reduce=reduce,
            reduction=reduction,
            pos_weight=pos_weight,
        )
    if size_average is not None or reduce is not None:
        reduction = legacy_get_string(size_average, reduce)
    if target.size() != input.size():
        raise ValueError(
            "binary_cross_entropy_with_logits needs a target of the input's size "
            f"{tuple(input.size())}, but got {tuple(target.size())}"
        )
    return _op_binary_cross_entropy_with_logits(
        input, target, weight, pos_weight, _number[reduction]
    )


def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    """``0.5 d^2 / beta`` where d = |input - target| is below `beta`, ``d - 0.5 beta`` elsewhere."""
    if has_torch_function_variadic(input, target):
        return handle_torch_function(
            smooth_l1_loss,
            (input, target),
            input,
            target,
            size_average=size_average,
            reduce=reduce,
            reduction=reduction,
            beta=beta,
        )
    if target.size() != input.size():
        _warn_broadcast("smooth_l1_loss", input, target)
        input, target = torch.broadcast_tensors(input, target)
    if size_average is not None or reduce is not None:
        reduction = legacy_get_string(size_average, reduce)
    if beta == 0.0:
        return _op_l1_loss(input, target, _number[reduction])
    return _op_smooth_l1_loss(input, target, _number[reduction], beta)


def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    """``0.5 d^2`` where d = |input - target| is below `delta`, ``delta (d - 0.5 delta)`` elsewhere.

    `weight`, of the input's size, multiplies the terms; the mean is over their number.
    """
    if has_torch_function_variadic(input, target, weight):
        return handle_torch_function(
            huber_loss,
            (input, target, weight),
            input,
            target,
            reduction=reduction,
            delta=delta,
            weight=weight,
        )
    if target.size() != input.size():
        _warn_broadcast("huber_loss", input, target)
        input, target = torch.broadcast_tensors(input, target)
    if weight is None:
        return _op_huber_loss(input, target, _number[reduction], delta)
    return _weighted(
        _op_huber_loss(input, target, 0, delta), weight, input.size(), reduction, False
    )


def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """``|input - target|``. `weight`, of the input's size, multiplies the terms; the mean is
    then over the sum of the weights."""
    if has_torch_function_variadic(input, target, weight):
        return handle_torch_function(
            l1_loss,
            (input, target, weight),
            input,
            target,
            size_average=size_average,
            reduce=reduce,
            reduction=reduction,
            weight=weight,
        )
    if size_average is not None or reduce is not None:
        reduction = legacy_get_string(size_average, reduce)
    if target.size() != input.size():
        _warn_broadcast("l1_loss", input, target)
        input, target = torch.broadcast_tensors(input, target)
    if weight is None:
        return _op_l1_loss(input, target, _number[reduction])
    return _weighted((input - target).abs(), weight, input.size(), reduction, True)


def mse_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """``(input - target)^2``. `weight`, of the input's size, multiplies the terms; the mean is
    then over the sum of the weights."""
    if has_torch_function_variadic(input, target, weight):
        return handle_torch_function(
            mse_loss,
            (input, target, weight),
            input,
            target,
            size_average=size_average,
            reduce=reduce,
            reduction=reduction,
            weight=weight,
        )
    if size_average is not None or reduce is not None:
        reduction = legacy_get_string(size_average, reduce)
    if target.size() != input.size():
        _warn_broadcast("mse_loss", input, target)
        input, target = torch.broadcast_tensors(input, target)
    if weight is None:
        return _op_mse_loss(input, target, _number[reduction])
    return _weighted((input - target) ** 2, weight, input.size(), reduction, True)


def margin_ranking_loss(
    input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"
):
    """``max(0, -target * (input1 - input2) + margin)``, target being 1 or -1."""
    if has_torch_function_variadic(input1, input2, target):
        return handle_torch_function(
            margin_ranking_loss,
            (input1, input2, target),
            input1,
            input2,
            target,
            margin=margin,
            size_average=size_average,
            reduce=reduce,
            reduction=reduction,
        )
    if size_average is not None or reduce is not None:
        reduction = legacy_get_string(size_average, reduce)
    if not input1.dim() == input2.dim() == target.dim():
        raise RuntimeError(
            "margin_ranking_loss needs tensors of the same number of dimensions, but got sizes "
            f"{tuple(input1.size())}, {tuple(input2.size())} and target {tuple(target.size())}"
        )
    return _op_margin_ranking_loss(input1, input2, target, margin, _number[reduction])


def hinge_embedding_loss(
    input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"
):
    """``input`` where target is 1, ``max(0, margin - input)`` where it is -1."""
    if has_torch_function_variadic(input, target):
        return handle_torch_function(
            hinge_embedding_loss,
            (input, target),
            input,
            target,
            margin=margin,
            size_average=size_average,
            reduce=reduce,
            reduction=reduction,
        )
    if size_average is not None or reduce is not None:
        reduction = legacy_get_string(size_average, reduce)
    return _op_hinge_embedding_loss(input, target, margin, _number[reduction])


def multilabel_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """The hinge between each target class and each other class. Shapes: (N, C) or (C); a target
    row lists classes and ends at the first negative entry."""
    if has_torch_function_variadic(input, target):
        return handle_torch_function(
            multilabel_margin_loss,
            (input, target),
            input,
            target,
            size_average=size_average,
            reduce=reduce,
            reduction=reduction,
        )
    if size_average is not None or reduce is not None:
        reduction = legacy_get_string(size_average, reduce)
    return _op_multilabel_margin_loss(input, target, _number[reduction])


def soft_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """``log(1 + exp(-target * input))``, target being 1 or -1."""
    if has_torch_function_variadic(input, target):
        return handle_torch_function(
            soft_margin_loss,
            (input, target),
            input,
            target,
            size_average=size_average,
            reduce=reduce,
            reduction=reduction,
        )
    if size_average is not None or reduce is not None:
        reduction = legacy_get_string(size_average, reduce)
    return _op_soft_margin_loss(input, target, _number[reduction])


def multilabel_soft_margin_loss(
    input, target, weight=None, size_average=None, reduce=None, reduction="mean"
):
    """The mean over the classes (the last dimension) of the logistic loss of 0/1 targets.

    Shapes: input and target (N, C) or (C); weight broadcasts.
    """
    if has_torch_function_variadic(input, target, weight):
        return handle_torch_function(
            multilabel_soft_margin_loss,
            (input, target, weight),
            input,
            target,
            weight=weight,
            size_average=size_average,
            reduce=reduce,
            reduction=reduction,
        )
    if size_average is not None or reduce is not None:
        reduction = legacy_get_string(size_average, reduce)
    loss = -(target * _nn.log_sigmoid(input) + (1 - target) * _nn.log_sigmoid(-input))
    if weight is not None:
        loss = loss * weight
    return _reduce(loss.sum(dim=-1) / input.size(-1), reduction)


def cosine_embedding_loss(
    input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"
):
    """``1 - cos(input1, input2)`` where target is 1, ``max(0, cos - margin)`` where it is -1.

    Shapes: inputs (N, D) and target (N), or (D) and ().
    """
    if has_torch_function_variadic(input1, input2, target):
        return handle_torch_function(
            cosine_embedding_loss,
            (input1, input2, target),
            input1,
            input2,
            target,
            margin=margin,
            size_average=size_average,
            reduce=reduce,
            reduction=reduction,
        )
    if size_average is not None or reduce is not None:
        reduction = legacy_get_string(size_average, reduce)
    return _op_cosine_embedding_loss(input1, input2, target, margin, _number[reduction])


def multi_margin_loss(
    input, target, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean"
):
    """``sum_i max(0, weight[y] * (margin - input[y] + input[i]))^p / C`` over the classes i != y.

    Shapes: input (N, C) or (C); target (N) or (); weight (C).
    """
    if has_torch_function_variadic(input, target, weight):
        return handle_torch_function(
            multi_margin_loss,
            (input, target, weight),
            input,
            target,
            p=p,
            margin=margin,
            weight=weight,
            size_average=size_average,
            reduce=reduce,
            reduction=reduction,
        )
    if size_average is not None or reduce is not None:
        reduction = legacy_get_string(size_average, reduce)
    if p not in (1, 2):
        raise ValueError(f"multi_margin_loss needs p of 1 or 2, but got {p}")
    if weight is not None and weight.dim() != 1:
        raise ValueError(
            f"multi_margin_loss needs a weight of one dimension, but got {tuple(weight.size())}"
        )
    return _op_multi_margin_loss(input, target, p, margin, weight, _number[reduction])


def triplet_margin_loss(
    anchor,
    positive,
    negative,
    margin=1.0,
    p=2,
    eps=1e-6,
    swap=False,
    size_average=None,
    reduce=None,
    reduction="mean",
):
    """``max(0, d(anchor, positive) - d(anchor, negative) + margin)`` with the `p`-norm as d.

    With `swap` the nearer of anchor and positive is held against the negative (Balntas et al.,
    2016). Shapes: (N, D) or (D).
    """
    if has_torch_function_variadic(anchor, positive, negative):
        return handle_torch_function(
            triplet_margin_loss,
            (anchor, positive, negative),
            anchor,
            positive,
            negative,
            margin=margin,
            p=p,
            eps=eps,
            swap=swap,
            size_average=size_average,
            reduce=reduce,
            reduction=reduction,
        )
    if size_average is not None or reduce is not None:
        reduction = legacy_get_string(size_average, reduce)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, but got {margin}")
    return _op_triplet_margin_loss(
        anchor, positive, negative, margin, p, eps, swap, _number[reduction]
    )


def triplet_margin_with_distance_loss(
    anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False, reduction="mean"
):
    """`triplet_margin_loss` with any `distance_function` of two tensors."""
    if has_torch_function_variadic(anchor, positive, negative):
        return handle_torch_function(
            triplet_margin_with_distance_loss,
            (anchor, positive, negative),
            anchor,
            positive,
            negative,
            distance_function=distance_function,
            margin=margin,
            swap=swap,
            reduction=reduction,
        )
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"reduction must be 'none', 'mean' or 'sum', but got {reduction!r}")
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, but got {margin}")
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError(
            "anchor, positive and negative must have the same number of dimensions, but have sizes "
            f"{tuple(anchor.size())}, {tuple(positive.size())} and {tuple(negative.size())}"
        )
    distance = torch.pairwise_distance if distance_function is None else distance_function
    dist_pos, dist_neg = distance(anchor, positive), distance(anchor, negative)
    if swap:
        dist_neg = torch.minimum(dist_neg, distance(positive, negative))
    return _reduce(torch.clamp_min(margin + dist_pos - dist_neg, 0), reduction)
