"""Activations and softmaxes, elementwise over inputs of any shape unless said otherwise."""

from __future__ import annotations

import warnings

import torch
from torch.overrides import handle_torch_function, has_torch_function_unary

_nn = torch._C._nn

prelu = torch.prelu
gelu = torch._C._nn.gelu
logsigmoid = torch._C._nn.log_sigmoid
hardshrink = torch.hardshrink
softplus = torch._C._nn.softplus
softshrink = torch._C._nn.softshrink
relu_ = torch.relu_
threshold_ = torch.threshold_
hardtanh_ = torch._C._nn.hardtanh_
elu_ = torch._C._nn.elu_
selu_ = torch.selu_
celu_ = torch.celu_
leaky_relu_ = torch._C._nn.leaky_relu_
rrelu_ = torch.rrelu_


def threshold(input, threshold, value, inplace=False):
    """``input`` where it exceeds `threshold`, `value` elsewhere."""
    if has_torch_function_unary(input):
        return handle_torch_function(_threshold, (input,), input, threshold, value, inplace=inplace)
    if inplace:
        return torch.threshold_(input, threshold, value)
    return torch.threshold(input, threshold, value)


_threshold = threshold


def relu(input, inplace=False):
    """``max(input, 0)``; NaN stays NaN."""
    if has_torch_function_unary(input):
        return handle_torch_function(relu, (input,), input, inplace=inplace)
    if inplace:
        return torch.relu_(input)
    return torch.relu(input)


def relu6(input, inplace=False):
    """``min(max(input, 0), 6)``."""
    if has_torch_function_unary(input):
        return handle_torch_function(relu6, (input,), input, inplace=inplace)
    if inplace:
        return _nn.relu6_(input)
    return _nn.relu6(input)


def glu(input, dim=-1):
    """``a * sigmoid(b)``, where a and b are the halves of `input` along `dim`.

    Shape: (..., 2n, ...) to (..., n, ...). Raises RuntimeError for an odd or scalar size.
    """
    if has_torch_function_unary(input):
        return handle_torch_function(glu, (input,), input, dim=dim)
    if input.dim() == 0:
        raise RuntimeError(
            "glu needs an input of at least one dimension, but got a scalar: it has no halves"
        )
    return _nn.glu(input, dim)


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    """`input` clamped to [`min_val`, `max_val`]."""
    if has_torch_function_unary(input):
        return handle_torch_function(
            hardtanh, (input,), input, min_val=min_val, max_val=max_val, inplace=inplace
        )
    if min_val > max_val:
        raise ValueError(f"min_val must not exceed max_val, but got {min_val} and {max_val}")
    if inplace:
        return _nn.hardtanh_(input, min_val, max_val)
    return _nn.hardtanh(input, min_val, max_val)


def elu(input, alpha=1.0, inplace=False):
    """``x`` for x > 0, ``alpha * (exp(x) - 1)`` elsewhere (Clevert et al., 2015)."""
    if has_torch_function_unary(input):
        return handle_torch_function(elu, (input,), input, alpha=alpha, inplace=inplace)
    if inplace:
        return _nn.elu_(input, alpha)
    return _nn.elu(input, alpha)


def selu(input, inplace=False):
    """The self-normalising scaled ELU (Klambauer et al., 2017)."""
    if has_torch_function_unary(input):
        return handle_torch_function(selu, (input,), input, inplace=inplace)
    if inplace:
        return torch.selu_(input)
    return torch.selu(input)


def celu(input, alpha=1.0, inplace=False):
    """``max(0, x) + min(0, alpha * (exp(x / alpha) - 1))`` (Barron, 2017)."""
    if has_torch_function_unary(input):
        return handle_torch_function(celu, (input,), input, alpha=alpha, inplace=inplace)
    if inplace:
        return torch.celu_(input, alpha)
    return torch.celu(input, alpha)


def leaky_relu(input, negative_slope=0.01, inplace=False):
    """``x`` for x > 0, ``negative_slope * x`` elsewhere."""
    if has_torch_function_unary(input):
        return handle_torch_function(
            leaky_relu, (input,), input, negative_slope=negative_slope, inplace=inplace
        )
    if inplace:
        return _nn.leaky_relu_(input, negative_slope)
    return _nn.leaky_relu(input, negative_slope)


def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):
    """Leaky ReLU whose slope is drawn from [lower, upper] for each element in training, and
    is their mean otherwise."""
    if has_torch_function_unary(input):
        return handle_torch_function(
            rrelu, (input,), input, lower=lower, upper=upper, training=training, inplace=inplace
        )
    if inplace:
        return torch.rrelu_(input, lower, upper, training)
    return torch.rrelu(input, lower, upper, training)


def tanhshrink(input):
    """``input - tanh(input)``."""
    if has_torch_function_unary(input):
        return handle_torch_function(tanhshrink, (input,), input)
    return input - input.tanh()


def softsign(input):
    """``input / (1 + |input|)``."""
    if has_torch_function_unary(input):
        return handle_torch_function(softsign, (input,), input)
    return input / (input.abs() + 1)


def tanh(input):
    """The hyperbolic tangent."""
    return input.tanh()


def sigmoid(input):
    """``1 / (1 + exp(-input))``."""
    return input.sigmoid()


def hardsigmoid(input, inplace=False):
    """``relu6(input + 3) / 6``."""
    if has_torch_function_unary(input):
        return handle_torch_function(hardsigmoid, (input,), input, inplace=inplace)
    if inplace:
        return _nn.hardsigmoid_(input)
    return _nn.hardsigmoid(input)


def hardswish(input, inplace=False):
    """``input * relu6(input + 3) / 6`` (Howard et al., 2019)."""
    if has_torch_function_unary(input):
        return handle_torch_function(hardswish, (input,), input, inplace=inplace)
    if inplace:
        return _nn.hardswish_(input)
    return _nn.hardswish(input)


def silu(input, inplace=False):
    """``input * sigmoid(input)``, also known as swish."""
    if has_torch_function_unary(input):
        return handle_torch_function(silu, (input,), input, inplace=inplace)
    if inplace:
        return _nn.silu_(input)
    return _nn.silu(input)


def mish(input, inplace=False):
    """``input * tanh(softplus(input))`` (Misra, 2019)."""
    if has_torch_function_unary(input):
        return handle_torch_function(mish, (input,), input, inplace=inplace)
    if inplace:
        return _nn.mish_(input)
    return _nn.mish(input)


def _get_softmax_dim(name, ndim, stacklevel):
    warnings.warn(
        f"{name} without dim is deprecated: the dimension is guessed from the number of "
        "dimensions; "
        "pass dim",
        stacklevel=stacklevel,
    )
    return 0 if ndim in (0, 1, 3) else 1


def softmin(input, dim=None, _stacklevel=3, dtype=None):
    """``softmax(-input)`` along `dim`, optionally computed in `dtype`."""
    if has_torch_function_unary(input):
        return handle_torch_function(
            softmin, (input,), input, dim=dim, _stacklevel=_stacklevel, dtype=dtype
        )
    if dim is None:
        dim = _get_softmax_dim("softmin", input.dim(), _stacklevel)
    return (-input).softmax(dim) if dtype is None else (-input).softmax(dim, dtype=dtype)


def softmax(input, dim=None, _stacklevel=3, dtype=None):
    """``exp(x_i) / sum_j exp(x_j)`` along `dim`, optionally computed in `dtype`."""
    if has_torch_function_unary(input):
        return handle_torch_function(
            softmax, (input,), input, dim=dim, _stacklevel=_stacklevel, dtype=dtype
        )
    if dim is None:
        dim = _get_softmax_dim("softmax", input.dim(), _stacklevel)
    return input.softmax(dim) if dtype is None else input.softmax(dim, dtype=dtype)


def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    """The logarithm of `softmax`, computed stably."""
    if has_torch_function_unary(input):
        return handle_torch_function(
            log_softmax, (input,), input, dim=dim, _stacklevel=_stacklevel, dtype=dtype
        )
    if dim is None:
        dim = _get_softmax_dim("log_softmax", input.dim(), _stacklevel)
    return input.log_softmax(dim) if dtype is None else input.log_softmax(dim, dtype=dtype)


def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    """A sample of the Gumbel-softmax distribution along `dim` (Jang et al., 2016).

    Args:
        logits (Tensor): unnormalised log-probabilities, of any shape.
        tau (float): the temperature.
        hard (bool): whether the sample is one-hot, with the gradient of the soft one.
        eps (float): unused.
        dim (int): the dimension of the classes.
    """
    if has_torch_function_unary(logits):
        return handle_torch_function(
            gumbel_softmax, (logits,), logits, tau=tau, hard=hard, eps=eps, dim=dim
        )
    if eps != 1e-10:
        warnings.warn("the eps of gumbel_softmax is unused", stacklevel=2)
    gumbels = -torch.empty_like(logits, memory_format=torch.contiguous_format).exponential_().log()
    soft = ((logits + gumbels) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    one_hot = torch.zeros_like(logits, memory_format=torch.contiguous_format).scatter_(
        dim, index, 1.0
    )
    return one_hot - soft.detach() + soft
