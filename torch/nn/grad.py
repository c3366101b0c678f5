"""The gradients of convolutions, by name."""

from __future__ import annotations

import torch
from torch.nn.modules.utils import _pair, _single, _triple


def _gradient(out, leaf, other, grad_output):
    again = torch.is_grad_enabled() and (other.requires_grad or grad_output.requires_grad)
    return torch.autograd.grad(out, leaf, grad_output, create_graph=again)[0]


def _of_input(op, expand, input_size, weight, grad_output, stride, padding, dilation, groups):
    # A convolution is linear in its input: the gradient does not depend on the input's values.
    with torch.enable_grad():
        input = grad_output.new_zeros(tuple(input_size)).requires_grad_()
        out = op(input, weight, None, expand(stride), expand(padding), expand(dilation), groups)
    return _gradient(out, input, weight, grad_output)


def _of_weight(op, expand, input, weight_size, grad_output, stride, padding, dilation, groups):
    with torch.enable_grad():
        weight = grad_output.new_zeros(tuple(weight_size)).requires_grad_()
        out = op(input, weight, None, expand(stride), expand(padding), expand(dilation), groups)
    return _gradient(out, weight, input, grad_output)


def conv1d_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """The gradient of `conv1d` with respect to its input of `input_size` (N, C_in, L)."""
    return _of_input(
        torch.conv1d, _single, input_size, weight, grad_output, stride, padding, dilation, groups
    )


def conv1d_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """The gradient of `conv1d` with respect to its weight of `weight_size`."""
    return _of_weight(
        torch.conv1d, _single, input, weight_size, grad_output, stride, padding, dilation, groups
    )


def conv2d_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """The gradient of `conv2d` with respect to its input of `input_size` (N, C_in, H, W)."""
    return _of_input(
        torch.conv2d, _pair, input_size, weight, grad_output, stride, padding, dilation, groups
    )


def conv2d_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """The gradient of `conv2d` with respect to its weight of `weight_size`."""
    return _of_weight(
        torch.conv2d, _pair, input, weight_size, grad_output, stride, padding, dilation, groups
    )


def conv3d_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """The gradient of `conv3d` with respect to its input of `input_size` (N, C_in, D, H, W)."""
    return _of_input(
        torch.conv3d, _triple, input_size, weight, grad_output, stride, padding, dilation, groups
    )


def conv3d_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """The gradient of `conv3d` with respect to its weight of `weight_size`."""
    return _of_weight(
        torch.conv3d, _triple, input, weight_size, grad_output, stride, padding, dilation, groups
    )
