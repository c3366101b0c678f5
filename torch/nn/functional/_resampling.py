"""Changing the spatial size or geometry of images: interpolation, grids, padding, patches."""

from __future__ import annotations

import math
import warnings

import torch
from torch.nn.modules.utils import _pair
from torch.overrides import (
    handle_torch_function,
    has_torch_function_unary,
    has_torch_function_variadic,
)

_nn = torch._C._nn

pixel_shuffle = torch.pixel_shuffle
pixel_unshuffle = torch.pixel_unshuffle
channel_shuffle = torch.channel_shuffle
native_channel_shuffle = torch.native_channel_shuffle

_WITH_CORNERS = ("linear", "bilinear", "bicubic", "trilinear", "lanczos")
_DIMS = {"linear": 3, "bilinear": 4, "bicubic": 4, "trilinear": 5, "lanczos": 4}


def _output_size(input, size, scale_factor, spatial):
    """The wanted sizes and the scales as lists, one of them None."""
    if size is not None and scale_factor is not None:
        raise ValueError("interpolate takes size or scale_factor, but got both")
    if size is not None:
        if not isinstance(size, (list, tuple)):
            return [size] * spatial, None
        if len(size) != spatial:
            raise ValueError(
                f"size must have one entry for each of the {spatial} spatial dimensions of an "
                "input of "
                f"size {tuple(input.size())}, but got {tuple(size)}"
            )
        return list(size), None
    if scale_factor is None:
        raise ValueError("interpolate needs size or scale_factor")
    if not isinstance(scale_factor, (list, tuple)):
        return None, [scale_factor] * spatial
    if len(scale_factor) != spatial:
        raise ValueError(
            f"scale_factor must have one entry for each of the {spatial} spatial dimensions of an "
            "input "
            f"of size {tuple(input.size())}, but got {tuple(scale_factor)}"
        )
    return None, list(scale_factor)


def interpolate(
    input,
    size=None,
    scale_factor=None,
    mode="nearest",
    align_corners=None,
    recompute_scale_factor=None,
    antialias=False,
):
    """Resizes the spatial dimensions of `input` to `size`, or by `scale_factor`.

    Args:
        input (Tensor): (N, C, L), (N, C, H, W) or (N, C, D, H, W).
        size (int or sequence, optional): the output's spatial size.
        scale_factor (float or sequence, optional): what the spatial size is multiplied by.
        mode (str): ``nearest``, ``nearest-exact``, ``area``, ``linear`` (3-d input), ``bilinear``,
            ``bicubic``, ``lanczos`` (4-d), ``trilinear`` (5-d).
        align_corners (bool, optional): whether the corner elements' centres coincide.
        recompute_scale_factor (bool, optional): whether the scale is taken from the rounded size.
        antialias (bool): whether ``bilinear`` and ``bicubic`` average when they shrink.
    """
    if has_torch_function_unary(input):
        return handle_torch_function(
            interpolate,
            (input,),
            input,
            size=size,
            scale_factor=scale_factor,
            mode=mode,
            align_corners=align_corners,
            recompute_scale_factor=recompute_scale_factor,
            antialias=antialias,
        )
    if mode in ("nearest", "area", "nearest-exact"):
        if align_corners is not None:
            raise ValueError(
                "align_corners has a meaning for linear, bilinear, bicubic and trilinear only, "
                "but the "
                f"mode is {mode!r}"
            )
    elif align_corners is None:
        align_corners = False
    dim = input.dim()
    spatial = dim - 2
    output_size, scales = _output_size(input, size, scale_factor, spatial)
    if recompute_scale_factor is not None and recompute_scale_factor and size is not None:
        raise ValueError("recompute_scale_factor has no meaning together with size")
    if mode == "area" and output_size is None:
        recompute_scale_factor = True
    if recompute_scale_factor is not None and recompute_scale_factor:
        output_size = [math.floor(float(input.size(i + 2)) * scales[i]) for i in range(spatial)]
        scales = None
    if antialias and not (mode in ("bilinear", "bicubic", "lanczos") and dim == 4):
        raise ValueError(
            "antialias needs mode bilinear, bicubic or lanczos and an input of 4 dimensions, but "
            "got mode "
            f"{mode!r} and size {tuple(input.size())}"
        )
    if mode == "lanczos" and not antialias:
        raise ValueError("mode 'lanczos' needs antialias=True")

    if dim in (3, 4, 5):
        n = spatial
        if mode == "nearest":
            return (_nn.upsample_nearest1d, _nn.upsample_nearest2d, _nn.upsample_nearest3d)[n - 1](
                input, output_size, scales
            )
        if mode == "nearest-exact":
            return (
                _nn._upsample_nearest_exact1d,
                _nn._upsample_nearest_exact2d,
                _nn._upsample_nearest_exact3d,
            )[n - 1](input, output_size, scales)
        if mode == "area":
            return (torch.adaptive_avg_pool1d, _nn.adaptive_avg_pool2d, _nn.adaptive_avg_pool3d)[
                n - 1
            ](input, output_size)
        wanted = _DIMS.get(mode)
        if wanted == dim:
            if mode == "bilinear":
                op = _nn._upsample_bilinear2d_aa if antialias else _nn.upsample_bilinear2d
            elif mode == "bicubic":
                op = _nn._upsample_bicubic2d_aa if antialias else _nn.upsample_bicubic2d
            elif mode == "lanczos":
                op = _nn._upsample_lanczos2d_aa
            elif mode == "linear":
                op = _nn.upsample_linear1d
            else:
                op = _nn.upsample_trilinear3d
            return op(input, output_size, align_corners, scales)
        if wanted is not None:
            raise NotImplementedError(
                f"mode {mode!r} needs an input of {wanted} dimensions, but got "
                f"{tuple(input.size())}"
            )
    raise NotImplementedError(
        f"interpolate takes an input of 3, 4 or 5 dimensions and one of its modes, but got size "
        f"{tuple(input.size())} and mode {mode!r}"
    )


def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """Deprecated: the same as `interpolate`."""
    warnings.warn(
        "nn.functional.upsample is deprecated: use nn.functional.interpolate", stacklevel=2
    )
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input, size=None, scale_factor=None):
    """Deprecated: `interpolate` with ``mode="nearest"``."""
    warnings.warn(
        "nn.functional.upsample_nearest is deprecated: use nn.functional.interpolate", stacklevel=2
    )
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input, size=None, scale_factor=None):
    """Deprecated: `interpolate` with ``mode="bilinear"`` and aligned corners."""
    warnings.warn(
        "nn.functional.upsample_bilinear is deprecated: use nn.functional.interpolate", stacklevel=2
    )
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


GRID_SAMPLE_INTERPOLATION_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
GRID_SAMPLE_PADDING_MODES = {"zeros": 0, "border": 1, "reflection": 2}


def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    """Samples `input` at the positions of `grid`, given in [-1, 1] as (x, y) or (x, y, z).

    Shapes: input (N, C, H, W) and grid (N, Ho, Wo, 2) to (N, C, Ho, Wo); likewise for volumes.
    """
    if has_torch_function_variadic(input, grid):
        return handle_torch_function(
            grid_sample,
            (input, grid),
            input,
            grid,
            mode=mode,
            padding_mode=padding_mode,
            align_corners=align_corners,
        )
    if mode not in GRID_SAMPLE_INTERPOLATION_MODES:
        raise ValueError(
            f"grid_sample needs mode 'bilinear', 'nearest' or 'bicubic', but got {mode!r}"
        )
    if padding_mode not in GRID_SAMPLE_PADDING_MODES:
        raise ValueError(
            f"grid_sample needs padding_mode 'zeros', 'border' or 'reflection', but got "
            f"{padding_mode!r}"
        )
    if align_corners is None:
        warnings.warn(
            "grid_sample and affine_grid take align_corners=False by default since 1.3.0; pass "
            "align_corners to say which is meant",
            stacklevel=2,
        )
        align_corners = False
    return torch.grid_sampler(
        input,
        grid,
        GRID_SAMPLE_INTERPOLATION_MODES[mode],
        GRID_SAMPLE_PADDING_MODES[padding_mode],
        align_corners,
    )


def affine_grid(theta, size, align_corners=None):
    """The grid for `grid_sample` that applies the affine maps `theta`.

    Shapes: theta (N, 2, 3) with size (N, C, H, W) to (N, H, W, 2); theta (N, 3, 4) with size
    (N, C, D, H, W) to (N, D, H, W, 3).
    """
    if has_torch_function_unary(theta):
        return handle_torch_function(
            affine_grid, (theta,), theta, size, align_corners=align_corners
        )
    if align_corners is None:
        warnings.warn(
            "grid_sample and affine_grid take align_corners=False by default since 1.3.0; pass "
            "align_corners to say which is meant",
            stacklevel=2,
        )
        align_corners = False
    if not theta.is_floating_point():
        raise ValueError(f"theta must be of a floating-point dtype, but is {theta.dtype}")
    if len(size) not in (4, 5):
        raise NotImplementedError(
            f"affine_grid takes sizes of 4 or 5 entries, but got {tuple(size)}"
        )
    n = len(size) - 2
    if theta.dim() != 3 or theta.size(-2) != n or theta.size(-1) != n + 1:
        raise ValueError(
            f"theta must have shape (N, {n}, {n + 1}) for size {tuple(size)}, but has "
            f"{tuple(theta.shape)}"
        )
    if min(size) <= 0:
        raise ValueError(f"size must have positive entries, but got {tuple(size)}")
    return torch.affine_grid_generator(theta, size, align_corners)


def pad(input, pad, mode="constant", value=None):
    """Pads the last ``len(pad) // 2`` dimensions of `input`.

    Args:
        input (Tensor): of any shape.
        pad (sequence of int): (before, after) of the last dimension, then of the one before it,
            and so on; negative numbers cut.
        mode (str): ``constant``, ``reflect``, ``replicate`` or ``circular``; the last three pad up
            to 3 dimensions of an input with one or two more.
        value (float, optional): what ``constant`` fills in; 0 by default.
    """
    if has_torch_function_unary(input):
        return handle_torch_function(_pad, (input,), input, pad, mode=mode, value=value)
    return _nn.pad(input, pad, mode, value)


_pad = pad


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """The sliding patches of a batch of images, as columns (im2col).

    Shape: (N, C, H, W) to (N, C * kh * kw, L), L being the number of patches.
    """
    if has_torch_function_unary(input):
        return handle_torch_function(
            unfold, (input,), input, kernel_size, dilation=dilation, padding=padding, stride=stride
        )
    return _nn.im2col(input, _pair(kernel_size), _pair(dilation), _pair(padding), _pair(stride))


def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """Sums patches given as columns into images of `output_size` (col2im): `unfold`'s adjoint.

    Shape: (N, C * kh * kw, L) to (N, C, *output_size).
    """
    if has_torch_function_unary(input):
        return handle_torch_function(
            fold,
            (input,),
            input,
            output_size,
            kernel_size,
            dilation=dilation,
            padding=padding,
            stride=stride,
        )
    return _nn.col2im(
        input,
        _pair(output_size),
        _pair(kernel_size),
        _pair(dilation),
        _pair(padding),
        _pair(stride),
    )
