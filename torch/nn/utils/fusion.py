"""Folding a batch normalisation into the layer before it, for evaluation."""

from __future__ import annotations

import copy

import torch

__all__ = [
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
]


def fuse_conv_bn_eval(conv, bn, transpose: bool = False):
    """A copy of `conv` that computes ``bn(conv(x))``; both must be in evaluation mode."""
    if conv.training or bn.training:
        raise AssertionError("fusing needs both modules in evaluation mode: call eval() first")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("fusing needs a batch normalisation with running statistics")
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight,
        fused.bias,
        bn.running_mean,
        bn.running_var,
        bn.eps,
        bn.weight,
        bn.bias,
        transpose,
    )
    return fused


def fuse_conv_bn_weights(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, transpose: bool = False):
    """Weight and bias, as Parameters, of the fused convolution.

    Shapes: conv_w (out, in, ...), or (in, out, ...) with `transpose`; the others (out) or None.
    """
    dtype = conv_w.dtype
    bias_dtype = conv_b.dtype if conv_b is not None else dtype
    conv_b = torch.zeros_like(bn_rm) if conv_b is None else conv_b
    bn_w = torch.ones_like(bn_rm) if bn_w is None else bn_w
    bn_b = torch.zeros_like(bn_rm) if bn_b is None else bn_b
    inverse = torch.rsqrt(bn_rv + bn_eps)
    shape = [1] * conv_w.dim()
    shape[1 if transpose else 0] = -1
    weight = (conv_w * (bn_w * inverse).reshape(shape)).to(dtype=dtype)
    bias = ((conv_b - bn_rm) * inverse * bn_w + bn_b).to(dtype=bias_dtype)
    return (
        torch.nn.Parameter(weight, conv_w.requires_grad),
        torch.nn.Parameter(bias, conv_b.requires_grad),
    )


def fuse_linear_bn_eval(linear, bn):
    """A copy of `linear` that computes ``bn(linear(x))``; both must be in evaluation mode."""
    if linear.training or bn.training:
        raise AssertionError("fusing needs both modules in evaluation mode: call eval() first")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("fusing needs a batch normalisation with running statistics")
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError(
            f"the normalisation's features must be {linear.out_features} or 1, but are "
            f"{bn.num_features}"
        )
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused


def fuse_linear_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b):
    """Weight (out, in) and bias (out), as Parameters, of the fused linear map."""
    dtype = linear_w.dtype
    bias_dtype = linear_b.dtype if linear_b is not None else dtype
    linear_b = torch.zeros_like(bn_rm) if linear_b is None else linear_b
    scale = bn_w * torch.rsqrt(bn_rv + bn_eps)
    weight = linear_w * scale.unsqueeze(-1).to(dtype=dtype)
    bias = ((linear_b - bn_rm) * scale + bn_b).to(dtype=bias_dtype)
    return (
        torch.nn.Parameter(weight, linear_w.requires_grad),
        torch.nn.Parameter(bias, linear_b.requires_grad),
    )
