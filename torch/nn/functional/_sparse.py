"""Look-ups in embedding tables."""

from __future__ import annotations

import warnings

import torch
from torch.overrides import handle_torch_function, has_torch_function_variadic

one_hot = torch._C._nn.one_hot
_lookup = torch.embedding


def _no_grad_embedding_renorm_(weight, input, max_norm, norm_type):
    torch.embedding_renorm_(weight.detach(), input, max_norm, norm_type)


def embedding(
    input,
    weight,
    padding_idx=None,
    max_norm=None,
    norm_type=2.0,
    scale_grad_by_freq=False,
    sparse=False,
):
    """The rows of `weight` at the indices `input`.

    Args:
        input (Tensor): indices of any shape.
        weight (Tensor): (V, D).
        padding_idx (int, optional): a row that gets no gradient.
        max_norm (float, optional): rows looked up are first scaled down to this `norm_type`-norm,
            in place.
        scale_grad_by_freq (bool): whether gradients are divided by how often a row occurs.
        sparse (bool): whether the gradient of `weight` is sparse.

    Returns a tensor of the input's shape and D. Raises AssertionError for a `padding_idx`
    outside the table.
    """
    if has_torch_function_variadic(input, weight):
        return handle_torch_function(
            embedding,
            (input, weight),
            input,
            weight,
            padding_idx=padding_idx,
            max_norm=max_norm,
            norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq,
            sparse=sparse,
        )
    if padding_idx is None:
        padding_idx = -1
    else:
        rows = weight.size(0)
        if not -rows <= padding_idx < rows:
            raise AssertionError(
                f"padding_idx must be within the {rows} embeddings, but got {padding_idx}"
            )
        if padding_idx < 0:
            padding_idx += rows
    if max_norm is not None:
        input = input.contiguous()
        _no_grad_embedding_renorm_(weight, input, max_norm, norm_type)
    return _lookup(weight, input, padding_idx, scale_grad_by_freq, sparse)


_MODES = {"sum": 0, "mean": 1, "max": 2}


def embedding_bag(
    input,
    weight,
    offsets=None,
    max_norm=None,
    norm_type=2,
    scale_grad_by_freq=False,
    mode="mean",
    sparse=False,
    per_sample_weights=None,
    include_last_offset=False,
    padding_idx=None,
):
    """Sums, means or maxima of bags of rows of `weight`, without making the rows.

    Args:
        input (Tensor): indices: (B, N), a bag of N for each row, or (N) with `offsets`.
        weight (Tensor): (V, D).
        offsets (Tensor): (B), where each bag starts; with `include_last_offset` (B + 1).
        per_sample_weights (Tensor, optional): of the input's shape; only for ``mode="sum"``.
        padding_idx (int, optional): an index that counts for nothing.

    Returns (B, D).
    """
    if has_torch_function_variadic(input, weight, offsets, per_sample_weights):
        return handle_torch_function(
            embedding_bag,
            (input, weight, offsets, per_sample_weights),
            input,
            weight,
            offsets=offsets,
            max_norm=max_norm,
            norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq,
            mode=mode,
            sparse=sparse,
            per_sample_weights=per_sample_weights,
            include_last_offset=include_last_offset,
            padding_idx=padding_idx,
        )
    if weight.dtype == torch.long and input.is_floating_point():
        warnings.warn(
            "embedding_bag takes (input, weight, ...): the first two arguments are the other way "
            "round",
            stacklevel=2,
        )
        weight, input = input, weight
    if per_sample_weights is not None and input.size() != per_sample_weights.size():
        raise ValueError(
            f"per_sample_weights must have the input's size {tuple(input.size())}, but has "
            f"{tuple(per_sample_weights.size())}"
        )
    if weight.dim() != 2:
        raise ValueError(f"weight must have 2 dimensions, but has size {tuple(weight.size())}")
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError(
                "an input of 2 dimensions has one bag per row, so offsets must be None, but got "
                f"{type(offsets).__name__}"
            )
        offsets = torch.arange(
            0, input.numel(), input.size(1), dtype=input.dtype, device=input.device
        )
        input = input.reshape(-1)
        if per_sample_weights is not None:
            per_sample_weights = per_sample_weights.reshape(-1)
    elif input.dim() == 1:
        if offsets is None:
            raise ValueError("an input of 1 dimension needs offsets, but they are None")
        if offsets.dim() != 1:
            raise ValueError(
                f"offsets must have 1 dimension, but have size {tuple(offsets.size())}"
            )
    else:
        raise ValueError(f"input must have 1 or 2 dimensions, but has size {tuple(input.size())}")
    if mode not in _MODES:
        raise ValueError(f"mode must be 'sum', 'mean' or 'max', but got {mode!r}")
    if mode == "max":
        if scale_grad_by_freq:
            raise ValueError("mode 'max' does not scale gradients by frequency")
        if sparse:
            raise ValueError("mode 'max' has no sparse gradient")
    if max_norm is not None:
        _no_grad_embedding_renorm_(weight, input, max_norm, norm_type)
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            f"per_sample_weights work with mode 'sum' only, but got mode {mode!r}"
        )
    return torch.embedding_bag(
        weight,
        input,
        offsets,
        scale_grad_by_freq,
        _MODES[mode],
        sparse,
        per_sample_weights,
        include_last_offset,
        padding_idx,
    )[0]
