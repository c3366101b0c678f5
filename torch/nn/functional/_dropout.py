"""Dropout in its variants: elements or whole channels are zeroed with probability `p`."""

from __future__ import annotations

import warnings

import torch
from torch.overrides import handle_torch_function, has_torch_function_unary


def _check_p(p):
    if p < 0.0 or p > 1.0:
        raise ValueError(f"the dropout probability must be between 0 and 1, but got {p}")


def dropout(input, p=0.5, training=True, inplace=False):
    """Zeroes elements with probability `p` and scales the rest by 1 / (1 - p), in training."""
    if has_torch_function_unary(input):
        return handle_torch_function(
            dropout, (input,), input, p=p, training=training, inplace=inplace
        )
    if p < 0.0 or p > 1.0:
        _check_p(p)
    return torch.dropout_(input, p, training) if inplace else torch.dropout(input, p, training)


def alpha_dropout(input, p=0.5, training=False, inplace=False):
    """Dropout that keeps mean and variance of a SELU network (Klambauer et al., 2017)."""
    if has_torch_function_unary(input):
        return handle_torch_function(
            alpha_dropout, (input,), input, p=p, training=training, inplace=inplace
        )
    _check_p(p)
    return (
        torch.alpha_dropout_(input, p, training)
        if inplace
        else torch.alpha_dropout(input, p, training)
    )


def dropout1d(input, p=0.5, training=True, inplace=False):
    """Zeroes whole channels. Shape: (N, C, L) or (C, L); RuntimeError for others."""
    if has_torch_function_unary(input):
        return handle_torch_function(
            dropout1d, (input,), input, p=p, training=training, inplace=inplace
        )
    _check_p(p)
    if input.dim() not in (2, 3):
        raise RuntimeError(
            f"dropout1d needs an input of 2 or 3 dimensions, but got {input.dim()}: "
            f"{tuple(input.shape)}"
        )
    return _channels(input, p, training, inplace, batched=input.dim() == 3)


def dropout2d(input, p=0.5, training=True, inplace=False):
    """Zeroes whole channels. Shape: (N, C, H, W); the first dimension is always the batch."""
    if has_torch_function_unary(input):
        return handle_torch_function(
            dropout2d, (input,), input, p=p, training=training, inplace=inplace
        )
    _check_p(p)
    if input.dim() not in (3, 4):
        warnings.warn(
            f"dropout2d got an input of {input.dim()} dimensions, whose meaning is not defined: "
            "use "
            "dropout instead",
            stacklevel=2,
        )
    elif input.dim() == 3:
        warnings.warn(
            "dropout2d takes an input of 3 dimensions as (N, C, L) and drops its channels: use "
            "dropout1d instead",
            stacklevel=2,
        )
    return _channels(input, p, training, inplace, batched=True)


def dropout3d(input, p=0.5, training=True, inplace=False):
    """Zeroes whole channels. Shape: (N, C, D, H, W) or (C, D, H, W)."""
    if has_torch_function_unary(input):
        return handle_torch_function(
            dropout3d, (input,), input, p=p, training=training, inplace=inplace
        )
    _check_p(p)
    if input.dim() not in (4, 5):
        warnings.warn(
            f"dropout3d got an input of {input.dim()} dimensions, whose meaning is not defined: "
            "use "
            "dropout instead",
            stacklevel=2,
        )
    return _channels(input, p, training, inplace, batched=input.dim() == 5)


def _channels(input, p, training, inplace, batched):
    if not batched:
        input = input.unsqueeze_(0) if inplace else input.unsqueeze(0)
    result = (
        torch.feature_dropout_(input, p, training)
        if inplace
        else torch.feature_dropout(input, p, training)
    )
    if not batched:
        result = result.squeeze_(0) if inplace else result.squeeze(0)
    return result


def feature_alpha_dropout(input, p=0.5, training=False, inplace=False):
    """`alpha_dropout` of whole channels. Shape: (N, C, ...)."""
    if has_torch_function_unary(input):
        return handle_torch_function(
            feature_alpha_dropout, (input,), input, p=p, training=training, inplace=inplace
        )
    _check_p(p)
    return (
        torch.feature_alpha_dropout_(input, p, training)
        if inplace
        else torch.feature_alpha_dropout(input, p, training)
    )
