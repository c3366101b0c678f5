"""Causal masks for scaled_dot_product_attention whose queries and keys differ in number."""

from __future__ import annotations

from enum import IntEnum, auto

import torch
from torch.nn.functional import scaled_dot_product_attention

__all__ = ["causal_upper_left", "causal_lower_right", "CausalVariant", "CausalBias"]


class CausalVariant(IntEnum):
    """Which corners of the matrix of scores the causal diagonal joins."""

    UPPER_LEFT = auto()
    LOWER_RIGHT = auto()


class CausalBias(torch.Tensor):
    """A causal mask (seq_len_q, seq_len_kv), True where a query may look, as an attention mask.

    Args:
        variant (CausalVariant): whether the diagonal starts at the upper left or ends at the
            lower right.
        seq_len_q, seq_len_kv (int): numbers of queries and keys.
    """

    def __new__(cls, variant, seq_len_q: int, seq_len_kv: int):
        diagonal = 0 if variant == CausalVariant.UPPER_LEFT else seq_len_kv - seq_len_q
        mask = torch.tril(torch.ones(seq_len_q, seq_len_kv, dtype=torch.bool), diagonal=diagonal)
        return torch.Tensor._make_subclass(cls, mask)

    def __init__(self, variant, seq_len_q: int, seq_len_kv: int) -> None:
        if not isinstance(variant, CausalVariant):
            raise AssertionError(f"variant must be a CausalVariant, but got {variant!r}")
        self.variant = variant
        self.seq_len_q = seq_len_q
        self.seq_len_kv = seq_len_kv

    def _materialize(self, device=None):
        """The mask as a plain tensor."""
        return (
            self.as_subclass(torch.Tensor).to(device)
            if device is not None
            else self.as_subclass(torch.Tensor)
        )

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        with torch._C.DisableTorchFunctionSubclass():
            if func is scaled_dot_product_attention:
                args = [
                    a._materialize(args[0].device) if isinstance(a, CausalBias) else a for a in args
                ]
                if isinstance(kwargs.get("attn_mask"), CausalBias):
                    kwargs = {
                        **kwargs,
                        "attn_mask": kwargs["attn_mask"]._materialize(args[0].device),
                    }
            return func(*args, **kwargs)

    def __repr__(self, *, tensor_contents=None):
        return repr(self._materialize())


def causal_upper_left(*size):
    """The mask (L, S) in which query i sees keys 0 to i."""
    if len(size) != 2:
        raise AssertionError(
            f"causal_upper_left takes the numbers of queries and keys, but got {size}"
        )
    return CausalBias(CausalVariant.UPPER_LEFT, *size)


def causal_lower_right(*size):
    """The mask (L, S) in which the last query sees all keys, and each one before one key less."""
    if len(size) != 2:
        raise AssertionError(
            f"causal_lower_right takes the numbers of queries and keys, but got {size}"
        )
    return CausalBias(CausalVariant.LOWER_RIGHT, *size)
