"""Multi-head attention."""

from __future__ import annotations

import math
import warnings

import torch
from torch.overrides import handle_torch_function, has_torch_function

_nn = torch._C._nn
linear = torch._C._nn.linear

scaled_dot_product_attention = torch._C._nn.scaled_dot_product_attention


def _in_projection_packed(q, k, v, w, b=None):
    """Query, key and value projections by one weight (3E, E) and bias (3E); (..., E) each."""
    E = q.size(-1)
    if k is v:
        if q is k:
            proj = linear(q, w, b)
            proj = proj.unflatten(-1, (3, E)).unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()
            return proj[0], proj[1], proj[2]
        w_q, w_kv = w.split([E, E * 2])
        b_q, b_kv = (None, None) if b is None else b.split([E, E * 2])
        q_proj = linear(q, w_q, b_q)
        kv = linear(k, w_kv, b_kv)
        kv = kv.unflatten(-1, (2, E)).unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()
        return q_proj, kv[0], kv[1]
    w_q, w_k, w_v = w.chunk(3)
    b_q, b_k, b_v = (None, None, None) if b is None else b.chunk(3)
    return linear(q, w_q, b_q), linear(k, w_k, b_k), linear(v, w_v, b_v)


def _in_projection(q, k, v, w_q, w_k, w_v, b_q=None, b_k=None, b_v=None):
    """Query, key and value projections by three weights (E, Eq), (E, Ek), (E, Ev)."""
    Eq, Ek, Ev = q.size(-1), k.size(-1), v.size(-1)
    for name, t, shape in (
        ("query", w_q, (Eq, Eq)),
        ("key", w_k, (Eq, Ek)),
        ("value", w_v, (Eq, Ev)),
        ("query", b_q, (Eq,)),
        ("key", b_k, (Eq,)),
        ("value", b_v, (Eq,)),
    ):
        if t is not None and tuple(t.shape) != shape:
            raise AssertionError(
                f"the {name} projection needs shape {shape}, but got {tuple(t.shape)}"
            )
    return linear(q, w_q, b_q), linear(k, w_k, b_k), linear(v, w_v, b_v)


def _mha_shape_check(query, key, value, key_padding_mask, attn_mask, num_heads):
    """Whether the inputs are batched; AssertionError where shapes contradict each other."""

    def must(ok, what, got):
        if not ok:
            raise AssertionError(f"multi-head attention: {what}, but got {got}")

    if query.dim() not in (2, 3):
        raise AssertionError(
            "multi-head attention needs a query of 2 (one sequence) or 3 (a batch) dimensions, "
            "but got "
            f"{query.dim()}: {tuple(query.shape)}"
        )
    batched = query.dim() == 3
    n = query.dim()
    must(
        key.dim() == n and value.dim() == n,
        f"key and value must have {n} dimensions as the query",
        f"{key.dim()} and {value.dim()}",
    )
    if key_padding_mask is not None:
        must(
            key_padding_mask.dim() == n - 1,
            f"key_padding_mask must have {n - 1} dimensions",
            key_padding_mask.dim(),
        )
    if attn_mask is not None:
        must(attn_mask.dim() in (2, 3), "attn_mask must have 2 or 3 dimensions", attn_mask.dim())
        if not batched and attn_mask.dim() == 3:
            expected = (num_heads, query.shape[0], key.shape[0])
            must(
                tuple(attn_mask.shape) == expected,
                f"attn_mask must have shape {expected}",
                tuple(attn_mask.shape),
            )
    return batched


def _none_or_dtype(input):
    return None if input is None else input.dtype


def _canonical_mask(mask, mask_name, other_type, other_name, target_type, check_other=True):
    """The mask as a float mask to be added: a boolean one has -inf where it is True."""
    if mask is None:
        return None
    is_float = mask.is_floating_point()
    if mask.dtype != torch.bool and not is_float:
        raise AssertionError(f"{mask_name} must be boolean or floating-point, but is {mask.dtype}")
    if check_other and other_type is not None and mask.dtype != other_type:
        warnings.warn(
            f"{mask_name} is {mask.dtype} and {other_name} is {other_type}: masks of different "
            "dtypes "
            "are deprecated",
            stacklevel=2,
        )
    if not is_float:
        mask = torch.zeros_like(mask, dtype=target_type).masked_fill_(mask, float("-inf"))
    return mask


def _check_key_padding_mask(key_padding_mask, src_len, bsz):
    if tuple(key_padding_mask.shape) != (bsz, src_len):
        raise AssertionError(
            f"key_padding_mask must have shape {(bsz, src_len)}, but has "
            f"{tuple(key_padding_mask.shape)}"
        )


def _expand_attn_mask(attn_mask, tgt_len, src_len, bsz, num_heads):
    """The attention mask with 3 dimensions; RuntimeError where its shape does not fit."""
    expected = {2: (tgt_len, src_len), 3: (bsz * num_heads, tgt_len, src_len)}.get(attn_mask.dim())
    if expected is None:
        raise RuntimeError(f"attn_mask must have 2 or 3 dimensions, but has {attn_mask.dim()}")
    if tuple(attn_mask.shape) != expected:
        raise RuntimeError(
            f"attn_mask must have shape {expected}, but has {tuple(attn_mask.shape)}"
        )
    return attn_mask.unsqueeze(0) if attn_mask.dim() == 2 else attn_mask


def _static(given, name, bsz, num_heads, head_dim):
    if given.size(0) != bsz * num_heads or given.size(2) != head_dim:
        raise AssertionError(
            f"{name} must have shape ({bsz * num_heads}, S, {head_dim}), but has "
            f"{tuple(given.shape)}"
        )
    return given


def multi_head_attention_forward(
    query,
    key,
    value,
    embed_dim_to_check,
    num_heads,
    in_proj_weight,
    in_proj_bias,
    bias_k,
    bias_v,
    add_zero_attn,
    dropout_p,
    out_proj_weight,
    out_proj_bias,
    training=True,
    key_padding_mask=None,
    need_weights=True,
    attn_mask=None,
    use_separate_proj_weight=False,
    q_proj_weight=None,
    k_proj_weight=None,
    v_proj_weight=None,
    static_k=None,
    static_v=None,
    average_attn_weights=True,
    is_causal=False,
):
    """What `MultiheadAttention` computes (Vaswani et al., 2017).

    Shapes: query (L, N, E) or (L, E); key (S, N, E) or (S, E), value alike; key_padding_mask
    (N, S) or (S); attn_mask (L, S) or (N * num_heads, L, S). Returns the result, of the query's
    shape, and the weights (N, L, S), per head (N, num_heads, L, S) without averaging, or None.
    """
    tensors = (
        query,
        key,
        value,
        in_proj_weight,
        in_proj_bias,
        bias_k,
        bias_v,
        out_proj_weight,
        out_proj_bias,
    )
    if has_torch_function(tensors):
        return handle_torch_function(
            multi_head_attention_forward,
            tensors,
            query,
            key,
            value,
            embed_dim_to_check,
            num_heads,
            in_proj_weight,
            in_proj_bias,
            bias_k,
            bias_v,
            add_zero_attn,
            dropout_p,
            out_proj_weight,
            out_proj_bias,
            training=training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            is_causal=is_causal,
            use_separate_proj_weight=use_separate_proj_weight,
            q_proj_weight=q_proj_weight,
            k_proj_weight=k_proj_weight,
            v_proj_weight=v_proj_weight,
            static_k=static_k,
            static_v=static_v,
            average_attn_weights=average_attn_weights,
        )
    batched = _mha_shape_check(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    tgt_len, bsz, embed_dim = query.shape
    src_len = key.shape[0]

    key_padding_mask = _canonical_mask(
        key_padding_mask, "key_padding_mask", _none_or_dtype(attn_mask), "attn_mask", query.dtype
    )
    if is_causal and attn_mask is None:
        raise RuntimeError("is_causal=True is a hint about attn_mask, which must be given too")
    if is_causal and key_padding_mask is None and not need_weights:
        attn_mask = None  # the kernel masks by itself
    else:
        attn_mask = _canonical_mask(
            attn_mask, "attn_mask", None, "", query.dtype, check_other=False
        )
        if key_padding_mask is not None:
            is_causal = False  # the two masks are merged into one below

    if embed_dim != embed_dim_to_check:
        raise AssertionError(
            f"the query's last dimension must be {embed_dim_to_check}, but is {embed_dim}"
        )
    head_dim = embed_dim // num_heads
    if head_dim * num_heads != embed_dim:
        raise AssertionError(f"embed_dim {embed_dim} must be a multiple of num_heads {num_heads}")
    if use_separate_proj_weight:
        if key.shape[:2] != value.shape[:2]:
            raise AssertionError(
                "key and value must agree in length and batch, but have shapes "
                f"{tuple(key.shape)} and "
                f"{tuple(value.shape)}"
            )
        for name, w in (("q", q_proj_weight), ("k", k_proj_weight), ("v", v_proj_weight)):
            if w is None:
                raise AssertionError(
                    f"use_separate_proj_weight needs {name}_proj_weight, but it is None"
                )
        b_q, b_k, b_v = (None, None, None) if in_proj_bias is None else in_proj_bias.chunk(3)
        q, k, v = _in_projection(
            query, key, value, q_proj_weight, k_proj_weight, v_proj_weight, b_q, b_k, b_v
        )
    else:
        if key.shape != value.shape:
            raise AssertionError(
                f"key and value must have one shape, but have {tuple(key.shape)} and "
                f"{tuple(value.shape)}"
            )
        if in_proj_weight is None:
            raise AssertionError("in_proj_weight is None, and use_separate_proj_weight is not set")
        q, k, v = _in_projection_packed(query, key, value, in_proj_weight, in_proj_bias)

    if attn_mask is not None:
        attn_mask = _expand_attn_mask(attn_mask, tgt_len, src_len, bsz, num_heads)

    if (bias_k is None) != (bias_v is None):
        raise AssertionError("bias_k and bias_v must be given together")
    if bias_k is not None:
        if static_k is not None or static_v is not None:
            raise AssertionError("bias_k and bias_v cannot be added to static_k and static_v")
        k = torch.cat([k, bias_k.repeat(1, bsz, 1)])
        v = torch.cat([v, bias_v.repeat(1, bsz, 1)])
        attn_mask, key_padding_mask = _one_more(attn_mask), _one_more(key_padding_mask)

    # Heads become part of the batch: (N * num_heads, L or S, head_dim).
    q = q.view(tgt_len, bsz * num_heads, head_dim).transpose(0, 1)
    k = (
        k.view(k.shape[0], bsz * num_heads, head_dim).transpose(0, 1)
        if static_k is None
        else _static(static_k, "static_k", bsz, num_heads, head_dim)
    )
    v = (
        v.view(v.shape[0], bsz * num_heads, head_dim).transpose(0, 1)
        if static_v is None
        else _static(static_v, "static_v", bsz, num_heads, head_dim)
    )
    if add_zero_attn:
        shape = (bsz * num_heads, 1, head_dim)
        k = torch.cat([k, torch.zeros(shape, dtype=k.dtype, device=k.device)], dim=1)
        v = torch.cat([v, torch.zeros(shape, dtype=v.dtype, device=v.device)], dim=1)
        attn_mask, key_padding_mask = _one_more(attn_mask), _one_more(key_padding_mask)
    src_len = k.size(1)

    if key_padding_mask is not None:
        _check_key_padding_mask(key_padding_mask, src_len, bsz)
        key_padding_mask = (
            key_padding_mask.view(bsz, 1, 1, src_len)
            .expand(-1, num_heads, -1, -1)
            .reshape(bsz * num_heads, 1, src_len)
        )
        attn_mask = key_padding_mask if attn_mask is None else attn_mask + key_padding_mask
    if not training:
        dropout_p = 0.0

    if need_weights:
        if is_causal and attn_mask is None:
            raise AssertionError("is_causal with need_weights needs attn_mask")
        q_scaled = q * math.sqrt(1.0 / float(head_dim))
        if attn_mask is not None:
            weights = torch.baddbmm(attn_mask, q_scaled, k.transpose(-2, -1))
        else:
            weights = torch.bmm(q_scaled, k.transpose(-2, -1))
        weights = weights.softmax(dim=-1)
        if dropout_p > 0.0:
            weights = torch.dropout(weights, dropout_p, True)
        out = torch.bmm(weights, v).transpose(0, 1).contiguous().view(tgt_len * bsz, embed_dim)
        out = linear(out, out_proj_weight, out_proj_bias)
        out = out.view(tgt_len, bsz, out.size(1))
        weights = weights.view(bsz, num_heads, tgt_len, src_len)
        if average_attn_weights:
            weights = weights.mean(dim=1)
        if not batched:
            out, weights = out.squeeze(1), weights.squeeze(0)
        return out, weights

    if attn_mask is not None:
        if attn_mask.size(0) == 1 and attn_mask.dim() == 3:
            attn_mask = attn_mask.unsqueeze(0)
        else:
            attn_mask = attn_mask.view(bsz, num_heads, -1, src_len)
    q = q.view(bsz, num_heads, tgt_len, head_dim)
    k = k.view(bsz, num_heads, src_len, head_dim)
    v = v.view(bsz, num_heads, src_len, head_dim)
    out = scaled_dot_product_attention(q, k, v, attn_mask, dropout_p, is_causal)
    out = out.permute(2, 0, 1, 3).contiguous().view(bsz * tgt_len, embed_dim)
    out = linear(out, out_proj_weight, out_proj_bias)
    out = out.view(tgt_len, bsz, out.size(1))
    return (out if batched else out.squeeze(1)), None


def _one_more(mask):
    """The mask with one more, unmasked, key."""
    return None if mask is None else _nn.pad(mask, (0, 1))
