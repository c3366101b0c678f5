"""Filling tensors in place with initial values; each function returns its tensor."""

from __future__ import annotations

import math
import warnings

import torch
from torch.overrides import handle_torch_function, has_torch_function_variadic

__all__ = [
    "calculate_gain",
    "uniform_",
    "normal_",
    "trunc_normal_",
    "constant_",
    "ones_",
    "zeros_",
    "eye_",
    "dirac_",
    "xavier_uniform_",
    "xavier_normal_",
    "kaiming_uniform_",
    "kaiming_normal_",
    "orthogonal_",
    "sparse_",
    "uniform",
    "normal",
    "constant",
    "eye",
    "dirac",
    "xavier_uniform",
    "xavier_normal",
    "kaiming_uniform",
    "kaiming_normal",
    "orthogonal",
    "sparse",
]


def _no_grad_uniform_(tensor, a, b, generator=None):
    if tensor.is_meta:
        return tensor  # there are no values to set
    with torch.no_grad():
        return tensor.uniform_(a, b, generator=generator)


def _no_grad_normal_(tensor, mean, std, generator=None):
    if tensor.is_meta:
        return tensor  # there are no values to set
    with torch.no_grad():
        return tensor.normal_(mean, std, generator=generator)


def _normal_mass(a, b):
    """The probability that a standard normal number lies between a and b."""
    return (math.erf(b / math.sqrt(2.0)) - math.erf(a / math.sqrt(2.0))) / 2.0


def _no_grad_trunc_normal_(tensor, mean, std, a, b, generator=None):
    """Rejection sampling: all elements are drawn anew until every one was accepted once.

    Proposals are normal numbers where a good share of them lies in [a, b]; elsewhere they are
    uniform in [a, b], accepted with the density's ratio to its largest value there.
    """
    if tensor.is_meta:
        return tensor
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            f"trunc_normal_ with mean {mean} more than 2 standard deviations ({std}) outside "
            f"[{a}, {b}] may "
            "draw from a distorted distribution",
            stacklevel=2,
        )
    low, high = (a - mean) / std, (b - mean) / std
    with torch.no_grad():
        if _normal_mass(low, high) > 0.3:
            tensor.normal_(mean, std, generator=generator)
            while True:
                outside = (tensor < a) | (tensor > b)
                if not outside.any():
                    return tensor
                again = torch.empty_like(tensor).normal_(mean, std, generator=generator)
                tensor.copy_(torch.where(outside, again, tensor))
        nearest = 0.0 if low <= 0.0 <= high else (low if low > 0.0 else high)
        missing = torch.ones_like(tensor, dtype=torch.bool)
        while missing.any():
            x = torch.empty_like(tensor).uniform_(a, b, generator=generator)
            u = torch.empty_like(tensor).uniform_(generator=generator)
            z = (x - mean) / std
            taken = missing & (torch.log(u) <= (nearest * nearest - z * z) / 2)
            tensor.copy_(torch.where(taken, x, tensor))
            missing &= ~taken
        return tensor


def _no_grad_fill_(tensor, val):
    if tensor.is_meta:
        return tensor  # there are no values to set
    with torch.no_grad():
        return tensor.fill_(val)


def _no_grad_zero_(tensor):
    if tensor.is_meta:
        return tensor  # there are no values to set
    with torch.no_grad():
        return tensor.zero_()


_LINEAR = (
    "linear",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
)


def calculate_gain(nonlinearity, param=None):
    """The factor on the standard deviation that keeps a signal's size through `nonlinearity`.

    1 for linear maps, convolutions and sigmoid, 5/3 for tanh, sqrt(2) for relu,
    sqrt(2 / (1 + param^2)) for leaky_relu of slope `param` (0.01 by default), 3/4 for selu.
    """
    if nonlinearity in _LINEAR or nonlinearity == "sigmoid":
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        if param is None:
            slope = 0.01
        elif isinstance(param, (int, float)) and not isinstance(param, bool):
            slope = param
        else:
            raise ValueError(f"the negative slope must be a number, but got {param!r}")
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity == "selu":
        return 3.0 / 4
    raise ValueError(f"no gain is known for the nonlinearity {nonlinearity!r}")


def uniform_(tensor, a=0.0, b=1.0, generator=None):
    """Draws from the uniform distribution on [a, b)."""
    if has_torch_function_variadic(tensor):
        return handle_torch_function(
            uniform_, (tensor,), tensor=tensor, a=a, b=b, generator=generator
        )
    return _no_grad_uniform_(tensor, a, b, generator)


def normal_(tensor, mean=0.0, std=1.0, generator=None):
    """Draws from the normal distribution of `mean` and `std`."""
    if has_torch_function_variadic(tensor):
        return handle_torch_function(
            normal_, (tensor,), tensor=tensor, mean=mean, std=std, generator=generator
        )
    return _no_grad_normal_(tensor, mean, std, generator)


def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None):
    """Draws from the normal distribution of `mean` and `std`, conditioned on lying in [a, b]."""
    return _no_grad_trunc_normal_(tensor, mean, std, a, b, generator=generator)


def constant_(tensor, val):
    """Fills with `val`."""
    if has_torch_function_variadic(tensor):
        return handle_torch_function(constant_, (tensor,), tensor=tensor, val=val)
    return _no_grad_fill_(tensor, val)


def ones_(tensor):
    """Fills with 1."""
    return _no_grad_fill_(tensor, 1.0)


def zeros_(tensor):
    """Fills with 0."""
    return _no_grad_zero_(tensor)


def eye_(tensor):
    """Fills a matrix with the identity; ValueError for other than 2 dimensions."""
    if tensor.dim() != 2:
        raise ValueError(f"eye_ needs a tensor of 2 dimensions, but got {tuple(tensor.shape)}")
    with torch.no_grad():
        torch.eye(*tensor.shape, out=tensor, requires_grad=tensor.requires_grad)
    return tensor


def dirac_(tensor, groups=1):
    """Fills a convolution's weight (C_out, C_in, ...) so that it copies its input's channels, as
    many as there are, within each of `groups`."""
    if tensor.dim() not in (3, 4, 5):
        raise ValueError(
            f"dirac_ needs a tensor of 3, 4 or 5 dimensions, but got {tuple(tensor.shape)}"
        )
    if tensor.size(0) % groups != 0:
        raise ValueError(
            f"the first dimension must be a multiple of groups {groups}, but is {tensor.size(0)}"
        )
    out_per_group = tensor.size(0) // groups
    middle = tuple(n // 2 for n in tensor.shape[2:])
    with torch.no_grad():
        tensor.zero_()
        for g in range(groups):
            for d in range(min(out_per_group, tensor.size(1))):
                tensor[(g * out_per_group + d, d, *middle)] = 1
    return tensor


def _calculate_fan_in_and_fan_out(tensor):
    """How many inputs each output has, and outputs each input, for a weight (out, in, ...)."""
    if tensor.dim() < 2:
        raise ValueError(
            "fan-in and fan-out need a tensor of at least 2 dimensions, but got "
            f"{tuple(tensor.shape)}"
        )
    window = 1
    for n in tensor.shape[2:]:
        window *= n
    return tensor.size(1) * window, tensor.size(0) * window


def xavier_uniform_(tensor, gain=1.0, generator=None):
    """Uniform in +-gain * sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio, 2010)."""
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    std = gain * math.sqrt(2.0 / float(fan_in + fan_out))
    a = math.sqrt(3.0) * std
    return _no_grad_uniform_(tensor, -a, a, generator)


def xavier_normal_(tensor, gain=1.0, generator=None):
    """Normal with std gain * sqrt(2 / (fan_in + fan_out)) (Glorot and Bengio, 2010)."""
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    std = gain * math.sqrt(2.0 / float(fan_in + fan_out))
    return _no_grad_normal_(tensor, 0.0, std, generator)


def _calculate_correct_fan(tensor, mode):
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"mode must be 'fan_in' or 'fan_out', but got {mode!r}")
    return _calculate_fan_in_and_fan_out(tensor)[mode == "fan_out"]


def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Uniform in +-gain * sqrt(3 / fan) (He et al., 2015).

    Args:
        a (float): the slope, for leaky_relu.
        mode (str): the fan: ``fan_in`` keeps the forward signal's size, ``fan_out`` the gradient's.
        nonlinearity (str): what follows, as in `calculate_gain`.
    """
    if has_torch_function_variadic(tensor):
        return handle_torch_function(
            kaiming_uniform_,
            (tensor,),
            tensor=tensor,
            a=a,
            mode=mode,
            nonlinearity=nonlinearity,
            generator=generator,
        )
    if 0 in tensor.shape:
        warnings.warn("initialising a tensor without elements does nothing", stacklevel=2)
        return tensor
    std = calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))
    bound = math.sqrt(3.0) * std
    return _no_grad_uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Normal with std gain / sqrt(fan) (He et al., 2015); arguments as in `kaiming_uniform_`."""
    if 0 in tensor.shape:
        warnings.warn("initialising a tensor without elements does nothing", stacklevel=2)
        return tensor
    std = calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))
    return _no_grad_normal_(tensor, 0, std, generator)


def orthogonal_(tensor, gain=1, generator=None):
    """A random (semi-)orthogonal matrix times `gain`, the trailing dimensions taken as one
    (Saxe et al., 2013). ValueError for fewer than 2 dimensions."""
    if tensor.dim() < 2:
        raise ValueError(
            f"orthogonal_ needs a tensor of at least 2 dimensions, but got {tuple(tensor.shape)}"
        )
    if tensor.numel() == 0:
        return tensor
    rows = tensor.size(0)
    flat = tensor.new_empty((rows, tensor.numel() // rows)).normal_(0, 1, generator=generator)
    wide = rows < flat.size(1)
    if wide:
        flat.t_()
    q, r = torch.linalg.qr(flat)
    q *= torch.diag(r, 0).sign()  # makes the distribution uniform over orthogonal matrices
    if wide:
        q.t_()
    with torch.no_grad():
        tensor.view_as(q).copy_(q)
        tensor.mul_(gain)
    return tensor


def sparse_(tensor, sparsity, std=0.01, generator=None):
    """Normal numbers of `std`, with the share `sparsity` of each column zero (Martens, 2010)."""
    if tensor.dim() != 2:
        raise ValueError(f"sparse_ needs a tensor of 2 dimensions, but got {tuple(tensor.shape)}")
    rows, cols = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with torch.no_grad():
        tensor.normal_(0, std, generator=generator)
        for col in range(cols):
            tensor[torch.randperm(rows)[:zeros], col] = 0
    return tensor


def _make_deprecate(meth):
    new_name = meth.__name__
    old_name = new_name[:-1]

    def deprecated_init(*args, **kwargs):
        warnings.warn(
            f"nn.init.{old_name} is deprecated: use nn.init.{new_name}", FutureWarning, stacklevel=2
        )
        return meth(*args, **kwargs)

    deprecated_init.__name__ = old_name
    deprecated_init.__doc__ = f"Deprecated: the same as `{new_name}`."
    return deprecated_init


uniform = _make_deprecate(uniform_)
normal = _make_deprecate(normal_)
constant = _make_deprecate(constant_)
eye = _make_deprecate(eye_)
dirac = _make_deprecate(dirac_)
xavier_uniform = _make_deprecate(xavier_uniform_)
xavier_normal = _make_deprecate(xavier_normal_)
kaiming_uniform = _make_deprecate(kaiming_uniform_)
kaiming_normal = _make_deprecate(kaiming_normal_)
orthogonal = _make_deprecate(orthogonal_)
sparse = _make_deprecate(sparse_)
