"""Normalisations over batch, instance, layer, group and neighbouring channels."""

from __future__ import annotations

import torch
from torch.overrides import (
    handle_torch_function,
    has_torch_function_unary,
    has_torch_function_variadic,
)

_nn = torch._C._nn


def _verify_batch_size(size):
    """ValueError where a channel has a single value, whose variance means nothing."""
    count = size[0]
    for n in size[2:]:
        count *= n
    if count == 1:
        raise ValueError(
            "training needs more than one value per channel to normalise, but the input has size "
            f"{tuple(size)}"
        )


def _verify_spatial_size(size):
    count = 1
    for n in size[2:]:
        count *= n
    if count == 1:
        raise ValueError(
            "instance_norm needs more than one spatial element when it normalises by the input's "
            f"own statistics, but the input has size {tuple(size)}"
        )


def batch_norm(
    input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5
):
    """Normalises each channel over the batch (Ioffe and Szegedy, 2015).

    Args:
        input (Tensor): (N, C, ...).
        running_mean, running_var (Tensor or None): (C,); used when not training, updated by
            `momentum` in place when training.
        weight, bias (Tensor, optional): (C,); the affine map that follows.
        training (bool): whether the batch's own statistics are used.
        eps (float): added to the variance.
    """
    if has_torch_function_variadic(input, running_mean, running_var, weight, bias):
        return handle_torch_function(
            batch_norm,
            (input, running_mean, running_var, weight, bias),
            input,
            running_mean,
            running_var,
            weight=weight,
            bias=bias,
            training=training,
            momentum=momentum,
            eps=eps,
        )
    if training:
        _verify_batch_size(input.size())
    return torch.batch_norm(
        input, weight, bias, running_mean, running_var, training, momentum, eps, True
    )


def instance_norm(
    input,
    running_mean=None,
    running_var=None,
    weight=None,
    bias=None,
    use_input_stats=True,
    momentum=0.1,
    eps=1e-5,
):
    """Normalises each channel of each sample over its spatial elements (Ulyanov et al., 2016).

    Args and shapes as in `batch_norm`; with `use_input_stats` the input's own statistics are used.
    """
    if has_torch_function_variadic(input, running_mean, running_var, weight, bias):
        return handle_torch_function(
            instance_norm,
            (input, running_mean, running_var, weight, bias),
            input,
            running_mean=running_mean,
            running_var=running_var,
            weight=weight,
            bias=bias,
            use_input_stats=use_input_stats,
            momentum=momentum,
            eps=eps,
        )
    if use_input_stats:
        _verify_spatial_size(input.size())
    return torch.instance_norm(
        input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, True
    )


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    """Normalises over the last dimensions (Ba et al., 2016).

    Args:
        input (Tensor): (..., *normalized_shape).
        normalized_shape (list of int): the sizes of the dimensions normalised over.
        weight, bias (Tensor, optional): of shape `normalized_shape`.
        eps (float): added to the variance.
    """
    if has_torch_function_variadic(input, weight, bias):
        return handle_torch_function(
            layer_norm,
            (input, weight, bias),
            input,
            normalized_shape,
            weight=weight,
            bias=bias,
            eps=eps,
        )
    return torch.layer_norm(input, normalized_shape, weight, bias, eps, True)


def rms_norm(input, normalized_shape, weight=None, eps=None):
    """``x / sqrt(mean(x^2) + eps) * weight`` over the last dimensions (Zhang and Sennrich, 2019).

    Shapes as in `layer_norm`; ``eps=None`` means the smallest step of the input's dtype.
    """
    if has_torch_function_variadic(input, weight):
        return handle_torch_function(
            rms_norm, (input, weight), input, normalized_shape, weight=weight, eps=eps
        )
    return torch.rms_norm(input, normalized_shape, weight, eps)


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5):
    """Normalises each of `num_groups` groups of channels of each sample (Wu and He, 2018).

    Shapes: input (N, C, ...), weight and bias (C,).
    """
    if has_torch_function_variadic(input, weight, bias):
        return handle_torch_function(
            group_norm, (input, weight, bias), input, num_groups, weight=weight, bias=bias, eps=eps
        )
    size = input.size()
    if len(size) < 2:
        raise RuntimeError(
            f"group_norm needs an input of at least 2 dimensions, but got {tuple(size)}"
        )
    _verify_batch_size([size[0] * size[1] // num_groups, num_groups, *size[2:]])
    return torch.group_norm(input, num_groups, weight, bias, eps, True)


def local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0):
    """Divides by ``(k + alpha * mean of squares over `size` neighbouring channels)^beta``.

    Shape: (N, C, ...), of at least 3 dimensions.
    """
    if has_torch_function_unary(input):
        return handle_torch_function(
            local_response_norm, (input,), input, size, alpha=alpha, beta=beta, k=k
        )
    dim = input.dim()
    if dim < 3:
        raise ValueError(
            f"local_response_norm needs an input of at least 3 dimensions, but got {dim}"
        )
    if input.numel() == 0:
        return input
    before, after = size // 2, (size - 1) // 2
    div = input.mul(input)
    if dim == 3:
        div = _nn.pad(div.unsqueeze(1), (0, 0, before, after))
        div = _nn.avg_pool2d(div, (size, 1), stride=1).squeeze(1)
    else:
        sizes = input.size()
        div = _nn.pad(div.view(sizes[0], 1, sizes[1], sizes[2], -1), (0, 0, 0, 0, before, after))
        div = _nn.avg_pool3d(div, (size, 1, 1), stride=1).squeeze(1).view(sizes)
    return input / div.mul(alpha).add(k).pow(beta)


def normalize(input, p=2.0, dim=1, eps=1e-12, out=None):
    """``input / max(norm, eps)`` with the `p`-norm along `dim`."""
    if has_torch_function_variadic(input, out):
        return handle_torch_function(normalize, (input, out), input, p=p, dim=dim, eps=eps, out=out)
    denom = input.norm(p, dim, keepdim=True).clamp_min(eps)
    if out is None:
        return input / denom.expand_as(input)
    return torch.div(input, denom.clamp_min_(eps).expand_as(input), out=out)
