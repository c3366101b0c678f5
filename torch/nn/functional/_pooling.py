"""Pooling over windows of 1, 2 or 3 dimensions.

Shapes: (N, C, *spatial) or (C, *spatial). A window argument is one number for all spatial
dimensions or a sequence with one for each; ``stride=None`` means the kernel's size.
"""

from __future__ import annotations

import torch
from torch.nn.modules.utils import _list_with_default, _pair, _single, _triple
from torch.overrides import (
    handle_torch_function,
    has_torch_function_unary,
    has_torch_function_variadic,
)

_nn = torch._C._nn

avg_pool1d = torch.avg_pool1d
avg_pool2d = torch._C._nn.avg_pool2d
avg_pool3d = torch._C._nn.avg_pool3d
adaptive_avg_pool1d = torch.adaptive_avg_pool1d


def max_pool1d_with_indices(
    input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False
):
    """`max_pool1d` and the flat position of each maximum in its plane."""
    if has_torch_function_unary(input):
        return handle_torch_function(
            max_pool1d_with_indices,
            (input,),
            input,
            kernel_size,
            stride=stride,
            padding=padding,
            dilation=dilation,
            ceil_mode=ceil_mode,
            return_indices=return_indices,
        )
    return torch.max_pool1d_with_indices(
        input, kernel_size, [] if stride is None else stride, padding, dilation, ceil_mode
    )


def max_pool1d(
    input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False
):
    """The maximum of each window; with `return_indices`, also where it is."""
    if return_indices:
        return max_pool1d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    if has_torch_function_unary(input):
        return handle_torch_function(
            max_pool1d,
            (input,),
            input,
            kernel_size,
            stride=stride,
            padding=padding,
            dilation=dilation,
            ceil_mode=ceil_mode,
            return_indices=return_indices,
        )
    return torch.max_pool1d(
        input, kernel_size, [] if stride is None else stride, padding, dilation, ceil_mode
    )


def max_pool2d_with_indices(
    input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False
):
    """`max_pool2d` and the flat position of each maximum in its plane."""
    if has_torch_function_unary(input):
        return handle_torch_function(
            max_pool2d_with_indices,
            (input,),
            input,
            kernel_size,
            stride=stride,
            padding=padding,
            dilation=dilation,
            ceil_mode=ceil_mode,
            return_indices=return_indices,
        )
    return _nn.max_pool2d_with_indices(
        input, kernel_size, [] if stride is None else stride, padding, dilation, ceil_mode
    )


def max_pool2d(
    input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False
):
    """The maximum of each window; with `return_indices`, also where it is."""
    if return_indices:
        return max_pool2d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    if has_torch_function_unary(input):
        return handle_torch_function(
            max_pool2d,
            (input,),
            input,
            kernel_size,
            stride=stride,
            padding=padding,
            dilation=dilation,
            ceil_mode=ceil_mode,
            return_indices=return_indices,
        )
    return torch.max_pool2d(
        input, kernel_size, [] if stride is None else stride, padding, dilation, ceil_mode
    )


def max_pool3d_with_indices(
    input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False
):
    """`max_pool3d` and the flat position of each maximum in its volume."""
    if has_torch_function_unary(input):
        return handle_torch_function(
            max_pool3d_with_indices,
            (input,),
            input,
            kernel_size,
            stride=stride,
            padding=padding,
            dilation=dilation,
            ceil_mode=ceil_mode,
            return_indices=return_indices,
        )
    return _nn.max_pool3d_with_indices(
        input, kernel_size, [] if stride is None else stride, padding, dilation, ceil_mode
    )


def max_pool3d(
    input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False
):
    """The maximum of each window; with `return_indices`, also where it is."""
    if return_indices:
        return max_pool3d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    if has_torch_function_unary(input):
        return handle_torch_function(
            max_pool3d,
            (input,),
            input,
            kernel_size,
            stride=stride,
            padding=padding,
            dilation=dilation,
            ceil_mode=ceil_mode,
            return_indices=return_indices,
        )
    return torch.max_pool3d(
        input, kernel_size, [] if stride is None else stride, padding, dilation, ceil_mode
    )


def _fractional_arguments(input, n, output_size, output_ratio, samples):
    """The output size as a list of `n`, and the random samples (N, C, n) that place windows."""
    if output_size is None:
        if output_ratio is None:
            raise ValueError(f"fractional_max_pool{n}d needs output_size or output_ratio")
        ratio = (output_ratio,) * n if isinstance(output_ratio, (int, float)) else output_ratio
        if len(ratio) != n:
            raise ValueError(
                f"fractional_max_pool{n}d needs an output_ratio of {n} numbers, but got "
                f"{tuple(ratio)}"
            )
        output_size = [int(input.size(i - n) * ratio[i]) for i in range(n)]
    elif isinstance(output_size, int):
        output_size = [output_size] * n
    if samples is None:
        batch = 1 if input.dim() == n + 1 else input.size(0)
        samples = torch.rand(batch, input.size(-n - 1), n, dtype=input.dtype, device=input.device)
    return output_size, samples


def fractional_max_pool2d_with_indices(
    input,
    kernel_size,
    output_size=None,
    output_ratio=None,
    return_indices=False,
    _random_samples=None,
):
    """`fractional_max_pool2d` and the flat position of each maximum."""
    if has_torch_function_variadic(input, _random_samples):
        return handle_torch_function(
            fractional_max_pool2d_with_indices,
            (input, _random_samples),
            input,
            kernel_size,
            output_size=output_size,
            output_ratio=output_ratio,
            return_indices=return_indices,
            _random_samples=_random_samples,
        )
    output_size, samples = _fractional_arguments(
        input, 2, output_size, output_ratio, _random_samples
    )
    return _nn.fractional_max_pool2d(input, kernel_size, output_size, samples)


def fractional_max_pool2d(
    input,
    kernel_size,
    output_size=None,
    output_ratio=None,
    return_indices=False,
    _random_samples=None,
):
    """The maximum of windows placed at random so that `output_size` of them, or that share
    `output_ratio` of the input's size, cover the input (Graham, 2014)."""
    out, indices = fractional_max_pool2d_with_indices(
        input, kernel_size, output_size, output_ratio, return_indices, _random_samples
    )
    return (out, indices) if return_indices else out


def fractional_max_pool3d_with_indices(
    input,
    kernel_size,
    output_size=None,
    output_ratio=None,
    return_indices=False,
    _random_samples=None,
):
    """`fractional_max_pool3d` and the flat position of each maximum."""
    if has_torch_function_variadic(input, _random_samples):
        return handle_torch_function(
            fractional_max_pool3d_with_indices,
            (input, _random_samples),
            input,
            kernel_size,
            output_size=output_size,
            output_ratio=output_ratio,
            return_indices=return_indices,
            _random_samples=_random_samples,
        )
    output_size, samples = _fractional_arguments(
        input, 3, output_size, output_ratio, _random_samples
    )
    return _nn.fractional_max_pool3d(input, kernel_size, output_size, samples)


def fractional_max_pool3d(
    input,
    kernel_size,
    output_size=None,
    output_ratio=None,
    return_indices=False,
    _random_samples=None,
):
    """`fractional_max_pool2d` in three dimensions."""
    out, indices = fractional_max_pool3d_with_indices(
        input, kernel_size, output_size, output_ratio, return_indices, _random_samples
    )
    return (out, indices) if return_indices else out


def _unpool_output_size(input, kernel_size, stride, padding, output_size):
    """The spatial size that max_unpool makes: the given one, which must lie within a stride
    of the one computed from the windows, or that."""
    n = len(kernel_size)
    sizes = input.size()[-n:]
    default = [(sizes[d] - 1) * stride[d] + kernel_size[d] - 2 * padding[d] for d in range(n)]
    if output_size is None:
        return default
    output_size = list(output_size)
    if len(output_size) == n + 2:
        output_size = output_size[2:]
    if len(output_size) != n:
        raise ValueError(f"output_size must have {n} or {n + 2} entries, but got {output_size}")
    for d in range(n):
        low, high = default[d] - stride[d], default[d] + stride[d]
        if not low < output_size[d] < high:
            raise ValueError(
                f"output_size {output_size} is invalid: entry {d} must lie strictly between {low} "
                f"and {high}"
            )
    return output_size


def max_unpool1d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """Puts each value back where `max_pool1d` found it, zeros elsewhere."""
    if has_torch_function_unary(input):
        return handle_torch_function(
            max_unpool1d,
            (input,),
            input,
            indices,
            kernel_size,
            stride=stride,
            padding=padding,
            output_size=output_size,
        )
    kernel_size = _single(kernel_size)
    stride = kernel_size if stride is None else _single(stride)
    size = _unpool_output_size(input, kernel_size, stride, _single(padding), output_size)
    return _nn.max_unpool2d(input.unsqueeze(-1), indices.unsqueeze(-1), [*size, 1]).squeeze(-1)


def max_unpool2d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """Puts each value back where `max_pool2d` found it, zeros elsewhere."""
    if has_torch_function_unary(input):
        return handle_torch_function(
            max_unpool2d,
            (input,),
            input,
            indices,
            kernel_size,
            stride=stride,
            padding=padding,
            output_size=output_size,
        )
    kernel_size = _pair(kernel_size)
    stride = kernel_size if stride is None else _pair(stride)
    size = _unpool_output_size(input, kernel_size, stride, _pair(padding), output_size)
    return _nn.max_unpool2d(input, indices, size)


def max_unpool3d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """Puts each value back where `max_pool3d` found it, zeros elsewhere."""
    if has_torch_function_unary(input):
        return handle_torch_function(
            max_unpool3d,
            (input,),
            input,
            indices,
            kernel_size,
            stride=stride,
            padding=padding,
            output_size=output_size,
        )
    kernel_size = _triple(kernel_size)
    stride = kernel_size if stride is None else _triple(stride)
    padding = _triple(padding)
    size = _unpool_output_size(input, kernel_size, stride, padding, output_size)
    return _nn.max_unpool3d(input, indices, size, stride, padding)


def _root(mean_of_powers, count, norm_type):
    """(count * mean)^(1 / norm_type), with negative sums kept at zero but for their sign."""
    return (
        (torch.sign(mean_of_powers) * torch.relu(torch.abs(mean_of_powers)))
        .mul(count)
        .pow(1.0 / norm_type)
    )


def lp_pool1d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """The `norm_type`-norm of each window: ``(sum x^p)^(1/p)``."""
    if has_torch_function_unary(input):
        return handle_torch_function(
            lp_pool1d, (input,), input, norm_type, kernel_size, stride=stride, ceil_mode=ceil_mode
        )
    out = torch.avg_pool1d(
        input.pow(norm_type), kernel_size, [] if stride is None else stride, 0, ceil_mode
    )
    return _root(out, _single(kernel_size)[0], norm_type)


def lp_pool2d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """The `norm_type`-norm of each window: ``(sum x^p)^(1/p)``."""
    if has_torch_function_unary(input):
        return handle_torch_function(
            lp_pool2d, (input,), input, norm_type, kernel_size, stride=stride, ceil_mode=ceil_mode
        )
    kh, kw = _pair(kernel_size)
    out = _nn.avg_pool2d(
        input.pow(norm_type), kernel_size, [] if stride is None else stride, 0, ceil_mode
    )
    return _root(out, kh * kw, norm_type)


def lp_pool3d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """The `norm_type`-norm of each window: ``(sum x^p)^(1/p)``."""
    if has_torch_function_unary(input):
        return handle_torch_function(
            lp_pool3d, (input,), input, norm_type, kernel_size, stride=stride, ceil_mode=ceil_mode
        )
    kd, kh, kw = _triple(kernel_size)
    out = _nn.avg_pool3d(
        input.pow(norm_type), kernel_size, [] if stride is None else stride, 0, ceil_mode
    )
    return _root(out, kd * kh * kw, norm_type)


def adaptive_max_pool1d_with_indices(input, output_size, return_indices=False):
    """`adaptive_max_pool1d` and the position of each maximum."""
    if has_torch_function_unary(input):
        return handle_torch_function(
            adaptive_max_pool1d_with_indices,
            (input,),
            input,
            output_size,
            return_indices=return_indices,
        )
    return torch.adaptive_max_pool1d(input, output_size)


def adaptive_max_pool1d(input, output_size, return_indices=False):
    """The maxima of `output_size` windows that cover the input."""
    if return_indices:
        return adaptive_max_pool1d_with_indices(input, output_size)
    if has_torch_function_unary(input):
        return handle_torch_function(
            adaptive_max_pool1d, (input,), input, output_size, return_indices=return_indices
        )
    return torch.adaptive_max_pool1d(input, output_size)[0]


def adaptive_max_pool2d_with_indices(input, output_size, return_indices=False):
    """`adaptive_max_pool2d` and the flat position of each maximum."""
    if has_torch_function_unary(input):
        return handle_torch_function(
            adaptive_max_pool2d_with_indices,
            (input,),
            input,
            output_size,
            return_indices=return_indices,
        )
    return _nn.adaptive_max_pool2d(input, _list_with_default(output_size, input.size()))


def adaptive_max_pool2d(input, output_size, return_indices=False):
    """The maxima of `output_size` windows that cover the input; None keeps a dimension."""
    if return_indices:
        return adaptive_max_pool2d_with_indices(input, output_size)
    if has_torch_function_unary(input):
        return handle_torch_function(
            adaptive_max_pool2d, (input,), input, output_size, return_indices=return_indices
        )
    return _nn.adaptive_max_pool2d(input, _list_with_default(output_size, input.size()))[0]


def adaptive_max_pool3d_with_indices(input, output_size, return_indices=False):
    """`adaptive_max_pool3d` and the flat position of each maximum."""
    if has_torch_function_unary(input):
        return handle_torch_function(
            adaptive_max_pool3d_with_indices,
            (input,),
            input,
            output_size,
            return_indices=return_indices,
        )
    return _nn.adaptive_max_pool3d(input, _list_with_default(output_size, input.size()))


def adaptive_max_pool3d(input, output_size, return_indices=False):
    """The maxima of `output_size` windows that cover the input; None keeps a dimension."""
    if return_indices:
        return adaptive_max_pool3d_with_indices(input, output_size)
    if has_torch_function_unary(input):
        return handle_torch_function(
            adaptive_max_pool3d, (input,), input, output_size, return_indices=return_indices
        )
    return _nn.adaptive_max_pool3d(input, _list_with_default(output_size, input.size()))[0]


def adaptive_avg_pool2d(input, output_size):
    """The means of `output_size` windows that cover the input; None keeps a dimension."""
    if has_torch_function_unary(input):
        return handle_torch_function(adaptive_avg_pool2d, (input,), input, output_size)
    return _nn.adaptive_avg_pool2d(input, _list_with_default(output_size, input.size()))


def adaptive_avg_pool3d(input, output_size):
    """The means of `output_size` windows that cover the input; None keeps a dimension."""
    if has_torch_function_unary(input):
        return handle_torch_function(adaptive_avg_pool3d, (input,), input, output_size)
    return _nn.adaptive_avg_pool3d(input, _list_with_default(output_size, input.size()))
