"""The decompositions themselves: each gives the operator's result for every shape and floating type.

Half types are computed in float where the operator does so.
"""
import functools
import math

import torch
from torch import Tensor
from torch._decomp import register_decomposition

aten = torch.ops.aten
_HALF = (torch.float16, torch.bfloat16)


def _register(*names):
    """Registers for the overloads of aten that are there."""
    found = []
    for name in names:
        packet, _, overload = name.partition(".")
        packet = getattr(aten, packet, None)
        if packet is None:
            continue
        if not overload:
            found += [getattr(packet, o) for o in packet.overloads() if "out" not in o]
        elif overload in packet.overloads():
            found.append(getattr(packet, overload))
    return register_decomposition(found)


def _in_float(f):
    """Runs in float for half types, and rounds the result once."""
    @functools.wraps(f)
    def wrapped(x, *args, **kwargs):
        if x.dtype not in _HALF:
            return f(x, *args, **kwargs)
        up = [a.to(torch.float32) if isinstance(a, Tensor) and a.dtype in _HALF else a for a in args]
        return f(x.to(torch.float32), *up, **kwargs).to(x.dtype)
    return wrapped


# ---- activations ------------------------------------------------------------------------------

@_register("silu.default")
@_in_float
def silu(self):
    return self * torch.sigmoid(self)


@_register("silu_backward.default")
@_in_float
def silu_backward(grad_output, self):
    s = torch.sigmoid(self)
    return grad_output * s * (1 + self * (1 - s))


@_register("gelu.default")
@_in_float
def gelu(self, approximate="none"):
    if approximate == "tanh":
        inner = math.sqrt(2 / math.pi) * (self + 0.044715 * (self * self * self))
        return 0.5 * self * (1 + torch.tanh(inner))
    return self * 0.5 * (1 + torch.erf(self * math.sqrt(0.5)))


@_register("hardtanh.default")
def hardtanh(self, min_val=-1, max_val=1):
    return torch.clamp(self, min_val, max_val)


@_register("relu6.default")
def relu6(self):
    return torch.clamp(self, 0, 6)


@_register("hardsigmoid.default")
@_in_float
def hardsigmoid(self):
    return torch.clamp(torch.clamp(self + 3, min=0), max=6) / 6


@_register("hardswish.default")
@_in_float
def hardswish(self):
    return self * torch.clamp(torch.clamp(self + 3, min=0), max=6) / 6


@_register("leaky_relu.default")
def leaky_relu(self, negative_slope=0.01):
    return torch.where(self > 0, self, self * negative_slope)


@_register("elu.default")
@_in_float
def elu(self, alpha=1, scale=1, input_scale=1):
    return torch.where(self > 0, self * scale, torch.expm1(self * input_scale) * (alpha * scale))


@_register("celu.default")
@_in_float
def celu(self, alpha=1.0):
    return torch.where(self > 0, self, torch.expm1(self / alpha) * alpha)


@_register("selu.default")
@_in_float
def selu(self):
    alpha, scale = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
    return torch.where(self > 0, self * scale, torch.expm1(self) * (alpha * scale))


@_register("softplus.default")
@_in_float
def softplus(self, beta=1, threshold=20):
    scaled = self * beta
    return torch.where(scaled > threshold, self, torch.log1p(torch.exp(torch.clamp(scaled, max=threshold))) / beta)


@_register("softshrink.default")
def softshrink(self, lambd=0.5):
    return torch.where(self > lambd, self - lambd, torch.where(self < -lambd, self + lambd, self * 0))


@_register("hardshrink.default")
def hardshrink(self, lambd=0.5):
    return torch.where(torch.abs(self) <= lambd, torch.zeros_like(self), self)


@_register("mish.default")
@_in_float
def mish(self):
    return self * torch.tanh(softplus(self))


@_register("log_sigmoid_forward.default", "log_sigmoid.default")
@_in_float
def log_sigmoid(self):
    low = torch.clamp(self, max=0)
    return low - torch.log1p(torch.exp(-torch.abs(self)))


@_register("threshold.default")
def threshold(self, threshold, value):
    return torch.where(self <= threshold, torch.full_like(self, value), self)


@_register("threshold_backward.default")
def threshold_backward(grad_output, self, threshold):
    return torch.where(self <= threshold, torch.zeros_like(grad_output), grad_output)


@_register("sigmoid_backward.default")
def sigmoid_backward(grad_output, output):
    return grad_output * (output * (1 - output))


@_register("tanh_backward.default")
def tanh_backward(grad_output, output):
    return grad_output * (1 - output * output)


@_register("glu.default")
@_in_float
def glu(self, dim=-1):
    dim = dim % self.dim()
    half = self.shape[dim] // 2
    return torch.narrow(self, dim, 0, half) * torch.sigmoid(torch.narrow(self, dim, half, half))


# ---- softmax and normalisation ----------------------------------------------------------------

@_register("_softmax.default")
@_in_float
def _softmax(x, dim, half_to_float):
    if x.numel() == 0:
        shifted = torch.exp(x)
    else:
        shifted = torch.exp(x - torch.amax(x, [dim], True))
    return shifted / torch.sum(shifted, [dim], True)


@_register("_log_softmax.default")
@_in_float
def _log_softmax(x, dim, half_to_float):
    shifted = x if x.numel() == 0 else x - torch.amax(x, [dim], True)
    return shifted - torch.log(torch.sum(torch.exp(shifted), [dim], True))


@_register("_softmax_backward_data.default")
def _softmax_backward_data(grad_output, output, dim, input_dtype):
    product = grad_output * output
    return (product - output * torch.sum(product, [dim], True)).to(input_dtype)


@_register("_log_softmax_backward_data.default")
def _log_softmax_backward_data(grad_output, output, dim, input_dtype):
    return (grad_output - torch.exp(output) * torch.sum(grad_output, [dim], True)).to(input_dtype)


def _scaled(out, weight, bias):
    if weight is not None:
        out = out * weight
    return out if bias is None else out + bias


@_register("native_layer_norm.default")
def native_layer_norm(input, normalized_shape, weight, bias, eps):
    x = input.to(torch.float32) if input.dtype in _HALF else input
    dims = list(range(input.dim() - len(normalized_shape), input.dim()))
    if dims:
        var, mean = torch.var_mean(x, dims, correction=0, keepdim=True)
    else:
        var, mean = torch.zeros_like(x), x
    rstd = torch.rsqrt(var + eps)
    out = _scaled((x - mean) * rstd, weight, bias).to(input.dtype)
    return out, _on_cpu(mean, input), _on_cpu(rstd, input)


def _on_cpu(statistic, input):
    """There, statistics have the type of the input."""
    return statistic.to(input.dtype) if input.device.type == "cpu" else statistic


@_register("native_group_norm.default")
def native_group_norm(input, weight, bias, N, C, HxW, group, eps):
    x = (input.to(torch.float32) if input.dtype in _HALF else input).reshape([N, group, C // group * HxW])
    var, mean = torch.var_mean(x, [2], correction=0, keepdim=True)
    rstd = torch.rsqrt(var + eps)
    out = ((x - mean) * rstd).reshape(input.shape)
    shape = [1, C] + [1] * (input.dim() - 2)
    out = _scaled(out, None if weight is None else weight.reshape(shape), None if bias is None else bias.reshape(shape))
    return out.to(input.dtype), _on_cpu(mean, input).reshape([N, group]), _on_cpu(rstd, input).reshape([N, group])


# ---- losses -----------------------------------------------------------------------------------

def _reduced(loss, reduction):
    return torch.mean(loss) if reduction == 1 else torch.sum(loss) if reduction == 2 else loss


@_register("mse_loss.default")
def mse_loss(self, target, reduction=1):
    difference = self - target
    return _reduced(difference * difference, reduction)


@_register("mse_loss_backward.default")
def mse_loss_backward(grad_output, input, target, reduction):
    return 2.0 / (input.numel() if reduction == 1 else 1) * (input - target) * grad_output


@_register("l1_loss.default")
def l1_loss(self, target, reduction=1):
    return _reduced(torch.abs(self - target), reduction)


@_register("smooth_l1_loss.default")
def smooth_l1_loss(self, target, reduction=1, beta=1.0):
    d = torch.abs(self - target)
    return _reduced(torch.where(d < beta, 0.5 * d * d / beta, d - 0.5 * beta) if beta else d, reduction)


@_register("huber_loss.default")
def huber_loss(self, target, reduction=1, delta=1.0):
    d = torch.abs(self - target)
    return _reduced(torch.where(d <= delta, 0.5 * d * d, delta * (d - 0.5 * delta)), reduction)


@_register("soft_margin_loss.default")
def soft_margin_loss(self, target, reduction=1):
    return _reduced(torch.log1p(torch.exp(-self * target)), reduction)


@_register("binary_cross_entropy.default")
def binary_cross_entropy(self, target, weight=None, reduction=1):
    loss = (target - 1) * torch.clamp(torch.log1p(-self), min=-100) - target * torch.clamp(torch.log(self), min=-100)
    return _reduced(loss if weight is None else loss * weight, reduction)


@_register("binary_cross_entropy_with_logits.default")
def binary_cross_entropy_with_logits(self, target, weight=None, pos_weight=None, reduction=1):
    if pos_weight is None:
        loss = (1 - target) * self - log_sigmoid(self)
    else:
        loss = (1 - target) * self - ((pos_weight - 1) * target + 1) * log_sigmoid(self)
    return _reduced(loss if weight is None else loss * weight, reduction)


# ---- arithmetic -------------------------------------------------------------------------------

@_register("addcmul.default")
def addcmul(self, tensor1, tensor2, *, value=1):
    return self + (tensor1 * tensor2 if value == 1 else value * tensor1 * tensor2)


@_register("addcdiv.default")
def addcdiv(self, tensor1, tensor2, *, value=1):
    return self + (tensor1 / tensor2 if value == 1 else value * (tensor1 / tensor2))


@_register("rsub.Tensor", "rsub.Scalar")
def rsub(self, other, alpha=1):
    scaled = self if alpha == 1 else self * alpha
    return torch.sub(other, scaled) if isinstance(other, Tensor) else torch.neg(scaled) + other


@_register("lerp.Scalar", "lerp.Tensor")
def lerp(self, end, weight):
    if isinstance(weight, Tensor):
        near = torch.abs(weight) < 0.5
        return torch.where(near, self + weight * (end - self), end - (end - self) * (1 - weight))
    return self + weight * (end - self) if abs(weight) < 0.5 else end - (end - self) * (1 - weight)


@_register("sinc.default")
def sinc(self):
    x = self * math.pi
    zero = self == 0
    safe = torch.where(zero, torch.ones_like(x), x)
    return torch.where(zero, torch.ones_like(x), torch.sin(safe) / safe)


@_register("logit.default")
def logit(self, eps=None):
    if eps is not None:
        self = torch.clamp(self, eps, 1 - eps)
    return torch.log(self / (1 - self))


@_register("xlogy.Tensor", "xlogy.Scalar_Other", "xlogy.Scalar_Self")
def xlogy(self, other):
    self, other = _tensors(self, other)
    return torch.where(torch.isnan(other), other, torch.where(self == 0, torch.zeros_like(other), self * torch.log(other)))


def _tensors(a, b):
    if not isinstance(a, Tensor):
        a = torch.full_like(b, a)
    if not isinstance(b, Tensor):
        b = torch.full_like(a, b)
    return a, b


@_register("logaddexp.default")
def logaddexp(self, other):
    larger = torch.maximum(self, other)
    same = (self == other) & torch.isinf(self)
    tail = torch.log1p(torch.exp(-torch.abs(torch.where(same, torch.zeros_like(larger), self - other))))
    return torch.where(same, self, larger + tail)


@_register("frac.default")
def frac(self):
    return self - torch.trunc(self)


@_register("deg2rad.default")
def deg2rad(self):
    return self * (math.pi / 180)


@_register("rad2deg.default")
def rad2deg(self):
    return self * (180 / math.pi)


@_register("heaviside.default")
def heaviside(self, values):
    zeros = torch.zeros_like(self)
    result = torch.where(self < 0, zeros, torch.where(self > 0, zeros + 1, values))
    return torch.where(torch.isnan(self), zeros, result) if self.is_floating_point() else result


@_register("nan_to_num.default")
def nan_to_num(self, nan=None, posinf=None, neginf=None):
    if not self.is_floating_point():
        return self.clone()
    limits = torch.finfo(self.dtype)
    result = torch.where(torch.isnan(self), 0.0 if nan is None else nan, self)
    result = torch.where(self == math.inf, limits.max if posinf is None else posinf, result)
    return torch.where(self == -math.inf, limits.min if neginf is None else neginf, result)


@_register("clamp_min.default", "clamp_min.Tensor")
def clamp_min(self, min):
    return torch.clamp(self, min=min)


@_register("clamp_max.default", "clamp_max.Tensor")
def clamp_max(self, max):
    return torch.clamp(self, max=max)


@_register("square.default")
def square(self):
    return self * self


@_register("masked_fill.Scalar", "masked_fill.Tensor")
def masked_fill(self, mask, value):
    if isinstance(value, Tensor):
        return torch.where(mask, value.to(self.dtype), self)
    return torch.where(mask, torch.full((), value, dtype=self.dtype, device=self.device), self)


# ---- sums and products ------------------------------------------------------------------------

@_register("std.correction")
def std(self, dim=None, *, correction=None, keepdim=False):
    return torch.sqrt(torch.var(self, dim, correction=1 if correction is None else correction, keepdim=keepdim))


@_register("std_mean.correction")
def std_mean(self, dim=None, *, correction=None, keepdim=False):
    var, mean = torch.var_mean(self, dim, correction=1 if correction is None else correction, keepdim=keepdim)
    return torch.sqrt(var), mean


@_register("dot.default")
def dot(self, tensor):
    return torch.sum(self * tensor)


@_register("mv.default")
def mv(self, vec):
    return torch.sum(self * vec, [1])


@_register("addmv.default")
def addmv(self, mat, vec, *, beta=1, alpha=1):
    product = mat @ vec
    if alpha != 1:
        product = alpha * product
    return product if beta == 0 else product + (self if beta == 1 else beta * self)


@_register("addr.default")
def addr(self, vec1, vec2, *, beta=1, alpha=1):
    product = torch.unsqueeze(vec1, 1) * torch.unsqueeze(vec2, 0)
    if alpha != 1:
        product = alpha * product
    return product if beta == 0 else product + (self if beta == 1 else beta * self)


@_register("baddbmm.default")
def baddbmm(self, batch1, batch2, *, beta=1, alpha=1):
    product = torch.bmm(batch1, batch2)
    if alpha != 1:
        product = alpha * product
    return product if beta == 0 else product + (self if beta == 1 else beta * self)


@_register("trace.default")
def trace(self):
    return torch.sum(torch.diagonal(self))


@_register("aminmax.default")
def aminmax(self, *, dim=None, keepdim=False):
    dims = [] if dim is None else [dim]
    return torch.amin(self, dims, keepdim), torch.amax(self, dims, keepdim)


@_register("count_nonzero.default", "count_nonzero.dim_IntList")
def count_nonzero(self, dim=None):
    dims = [] if dim is None else dim
    return torch.sum(self != 0, dims) if dims else torch.sum(self != 0)


# ---- geometry ---------------------------------------------------------------------------------

@_register("t.default")
def t(self):
    return self.permute(list(range(self.dim()))[::-1])


@_register("transpose.int")
def transpose(self, dim0, dim1):
    n = self.dim()
    if n == 0:
        return self.permute([])
    order = list(range(n))
    order[dim0], order[dim1] = order[dim1], order[dim0]
    return self.permute(order)


@_register("unbind.int")
def unbind(self, dim=0):
    return [torch.select(self, dim, i) for i in range(self.shape[dim])]


@_register("stack.default")
def stack(tensors, dim=0):
    n = tensors[0].dim() + 1
    return torch.cat([torch.unsqueeze(x, dim % n) for x in tensors], dim % n)


@_register("split.Tensor", "unsafe_split.Tensor")
def split(self, split_size, dim=0):
    n = self.shape[dim]
    if n == 0:
        return [torch.narrow(self, dim, 0, 0)]
    return [torch.narrow(self, dim, i, min(split_size, n - i)) for i in range(0, n, split_size)]


@_register("split_with_sizes.default", "split.sizes")
def split_with_sizes(self, split_sizes, dim=0):
    at, parts = 0, []
    for size in split_sizes:
        parts.append(torch.narrow(self, dim, at, size))
        at += size
    return parts


@_register("embedding.default")
def embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    return torch.index_select(weight, 0, indices.reshape([-1])).reshape([*indices.shape, *weight.shape[1:]])


@_register("_unsafe_view.default")
def _unsafe_view(self, size):
    return self.view(size)


@_register("tril.default")
def tril(self, diagonal=0):
    rows = torch.arange(self.shape[-2], device=self.device).unsqueeze(-1)
    columns = torch.arange(self.shape[-1], device=self.device).unsqueeze(0)
    return torch.where(columns - rows <= diagonal, self, torch.zeros((), dtype=self.dtype, device=self.device))


@_register("triu.default")
def triu(self, diagonal=0):
    rows = torch.arange(self.shape[-2], device=self.device).unsqueeze(-1)
    columns = torch.arange(self.shape[-1], device=self.device).unsqueeze(0)
    return torch.where(columns - rows >= diagonal, self, torch.zeros((), dtype=self.dtype, device=self.device))


@_register("zeros_like.default")
def zeros_like(self, *, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None):
    return torch.full_like(self, 0, dtype=dtype, device=device)


@_register("ones_like.default")
def ones_like(self, *, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None):
    return torch.full_like(self, 1, dtype=dtype, device=device)


def _new(value):
    def make(self, size, *, dtype=None, layout=None, device=None, pin_memory=None):
        return torch.full(size, value, dtype=dtype or self.dtype, device=device or self.device)
    return make


_register("new_zeros.default")(_new(0))
_register("new_ones.default")(_new(1))
