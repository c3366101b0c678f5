"""Matrix products of groups of rows, and of narrow floats with scales."""

from __future__ import annotations

from enum import Enum

import torch
from torch.overrides import handle_torch_function, has_torch_function


class ScalingType(Enum):
    """What one scale of a scaled product covers."""

    TensorWise = 0
    RowWise = 1
    BlockWise1x16 = 2
    BlockWise1x32 = 3
    BlockWise1x128 = 4
    BlockWise128x128 = 5


class SwizzleType(Enum):
    """How scales are laid out in memory."""

    NO_SWIZZLE = 0
    SWIZZLE_32_4_4 = 1


def _as_list(v):
    if v is None:
        return []
    return list(v) if isinstance(v, (list, tuple)) else [v]


def _numbers(v):
    return [e.value if hasattr(e, "value") else int(e) for e in _as_list(v)]


def grouped_mm(mat_a, mat_b, *, offs=None, bias=None, out_dtype=None):
    """Products of groups of matrices.

    Args:
        mat_a (Tensor): (M, K), rows of all groups together, or (G, M, K).
        mat_b (Tensor): (G, K, N), or (K, N).
        offs (Tensor, optional): (G), int32: where each group ends in a dimension that holds all.
        bias, out_dtype: an addend and the result's dtype.
    """
    if has_torch_function((mat_a, mat_b)):
        return handle_torch_function(
            grouped_mm, (mat_a, mat_b), mat_a, mat_b, offs=offs, bias=bias, out_dtype=out_dtype
        )
    return torch._grouped_mm(mat_a, mat_b, offs=offs, bias=bias, out_dtype=out_dtype)


def scaled_mm(
    mat_a,
    mat_b,
    scale_a,
    scale_recipe_a,
    scale_b,
    scale_recipe_b,
    swizzle_a=None,
    swizzle_b=None,
    bias=None,
    output_dtype=torch.bfloat16,
    contraction_dim=(),
    use_fast_accum=False,
):
    """``(mat_a * scale_a) @ (mat_b * scale_b) + bias`` of narrow floating-point matrices.

    Shapes: mat_a (M, K), mat_b (K, N); the recipes (`ScalingType`) say what the scales cover.
    """
    tensors = (mat_a, mat_b)
    if has_torch_function(tensors):
        return handle_torch_function(
            scaled_mm,
            tensors,
            mat_a,
            mat_b,
            scale_a,
            scale_recipe_a,
            scale_b,
            scale_recipe_b,
            swizzle_a=swizzle_a,
            swizzle_b=swizzle_b,
            bias=bias,
            output_dtype=output_dtype,
            contraction_dim=contraction_dim,
            use_fast_accum=use_fast_accum,
        )
    return torch._scaled_mm_v2(
        mat_a,
        mat_b,
        _as_list(scale_a),
        _numbers(scale_recipe_a),
        _numbers(swizzle_a),
        _as_list(scale_b),
        _numbers(scale_recipe_b),
        _numbers(swizzle_b),
        bias,
        output_dtype,
        contraction_dim,
        use_fast_accum,
    )


def scaled_grouped_mm(
    mat_a,
    mat_b,
    scale_a,
    scale_recipe_a,
    scale_b,
    scale_recipe_b,
    swizzle_a=None,
    swizzle_b=None,
    bias=None,
    offs=None,
    output_dtype=torch.bfloat16,
    contraction_dim=(),
    use_fast_accum=False,
):
    """`scaled_mm` of groups of matrices, which `offs` separates as in `grouped_mm`."""
    tensors = (mat_a, mat_b)
    if has_torch_function(tensors):
        return handle_torch_function(
            scaled_grouped_mm,
            tensors,
            mat_a,
            mat_b,
            scale_a,
            scale_recipe_a,
            scale_b,
            scale_recipe_b,
            swizzle_a=swizzle_a,
            swizzle_b=swizzle_b,
            bias=bias,
            offs=offs,
            output_dtype=output_dtype,
            contraction_dim=contraction_dim,
            use_fast_accum=use_fast_accum,
        )
    return torch._scaled_grouped_mm_v2(
        mat_a,
        mat_b,
        _as_list(scale_a),
        _numbers(scale_recipe_a),
        _numbers(swizzle_a),
        _as_list(scale_b),
        _numbers(scale_recipe_b),
        _numbers(swizzle_b),
        offs,
        bias,
        output_dtype,
        contraction_dim,
        use_fast_accum,
    )
