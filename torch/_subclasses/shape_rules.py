"""Shapes of results for primitives whose kernels make them themselves: {overload: function on fake tensors}."""
import torch

__all__ = ["RULES", "MASKED"]

aten = torch.ops.aten


def _masked(mask, *results):
    """Results that were not asked for are undefined."""
    return tuple(make() if wanted else None for wanted, make in zip(mask, results))


def _convolution_backward(grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups,
                          output_mask):
    channels = grad_output.shape[1 if grad_output.dim() == input.dim() and input.dim() == weight.dim() else 0]
    return _masked(output_mask, lambda: torch.empty_like(input), lambda: torch.empty_like(weight),
                   lambda: grad_output.new_empty(list(bias_sizes) if bias_sizes is not None else [channels]))


def _per_channel(input, like):
    return (like if like is not None else input).new_empty([input.shape[1]])


def _batch_norm_backward(grad_out, input, weight, running_mean, running_var, save_mean, save_invstd, train, eps, output_mask):
    return _masked(output_mask, lambda: torch.empty_like(input), lambda: _per_channel(input, weight),
                   lambda: _per_channel(input, weight))


def _group_norm_backward(grad_out, input, mean, rstd, weight, N, C, HxW, group, output_mask):
    return _masked(output_mask, lambda: torch.empty_like(input), lambda: _per_channel(input, weight),
                   lambda: _per_channel(input, weight))


def _layer_norm_backward(grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask):
    def affine(like):
        return (like if like is not None else input).new_empty(list(normalized_shape))
    return _masked(output_mask, lambda: torch.empty_like(input), lambda: affine(weight), lambda: affine(bias))


def _ctc_loss_backward(grad, log_probs, *rest):
    return torch.empty_like(log_probs)


RULES = {
    aten.convolution_backward.default: _convolution_backward, aten.native_batch_norm_backward.default: _batch_norm_backward,
    aten.native_group_norm_backward.default: _group_norm_backward, aten.native_layer_norm_backward.default: _layer_norm_backward,
    aten._ctc_loss_backward.default: _ctc_loss_backward}


def _has_mask(indices):
    return any(i is not None and i.dtype in (torch.bool, torch.uint8) for i in indices)


def _index(self, indices):
    if not _has_mask(indices):
        return NotImplemented
    from torch._subclasses.fake_tensor import DynamicOutputShapeException
    raise DynamicOutputShapeException(aten.index.Tensor)


# Operators on indices: with masks among them, elements decide how many there are. NotImplemented without masks.
MASKED = {
    aten.index.Tensor: _index,
    aten.index_put.default: lambda self, indices, *rest: torch.empty_like(self) if _has_mask(indices) else NotImplemented,
    aten.index_put_.default: lambda self, indices, *rest: self if _has_mask(indices) else NotImplemented}
