"""Attention with any modification of the scores and any mask, given as functions of indices."""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Callable

import torch
from torch import Tensor

__all__ = [
    "BlockMask",
    "flex_attention",
    "AuxOutput",
    "AuxRequest",
    "FlexKernelOptions",
    "create_block_mask",
    "create_mask",
    "or_masks",
    "and_masks",
    "noop_mask",
]

_DEFAULT_SPARSE_BLOCK_SIZE = 128

_score_mod_signature = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]
_mask_mod_signature = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]

AuxRequest = namedtuple("AuxRequest", ["lse", "max_scores"], defaults=(False, False))
AuxRequest.__doc__ = "What `flex_attention` returns besides its result."
AuxOutput = namedtuple("AuxOutput", ["lse", "max_scores"], defaults=(None, None))
AuxOutput.__doc__ = "What `AuxRequest` asked for, (B, H, L) each, or None."


class FlexKernelOptions(dict):
    """Options of GPU kernels; the kernels here have none."""


def noop_mask(batch, head, token_q, token_kv):
    """A mask that lets everything through."""
    return batch.new_ones((), dtype=torch.bool, device=batch.device)


def _combined(mask_mods, combine, start):
    if not all(callable(m) for m in mask_mods):
        raise RuntimeError(f"masks must be functions, but got {mask_mods}")

    def mask(b, h, q_idx, kv_idx):
        result = b.new_full((), start, dtype=torch.bool)
        for m in mask_mods:
            result = combine(result, m(b, h, q_idx, kv_idx))
        return result

    return mask


def or_masks(*mask_mods):
    """The mask that lets through what any of the masks does."""
    return _combined(mask_mods, lambda a, b: a | b, False)


def and_masks(*mask_mods):
    """The mask that lets through what all of the masks do."""
    return _combined(mask_mods, lambda a, b: a & b, True)


def _indices(B, H, Q, KV, device):
    """Batch, head, query and key indices, each along its own one of 4 dimensions."""

    def along(n, dim):
        shape = [1] * 4
        shape[dim] = n
        return torch.arange(n, device=device, dtype=torch.int32).view(shape)

    return along(B, 0), along(H, 1), along(Q, 2), along(KV, 3)


def _positional_arguments(fn):
    code = getattr(fn, "__code__", None)
    if code is None:
        code = getattr(getattr(fn, "__call__", None), "__code__", None)
        return code.co_argcount - 1 if code is not None else 4
    bound = 1 if getattr(fn, "__self__", None) is not None else 0
    return code.co_argcount - bound - len(fn.__defaults__ or ())


def create_mask(mod_fn, B, H, Q_LEN: int, KV_LEN: int, device=None):
    """The boolean mask (B, H, Q_LEN, KV_LEN) of a mask function or of a score function (where it
    does not make the score -inf). None as B or H means 1."""
    B, H = 1 if B is None else B, 1 if H is None else H
    indices = _indices(B, H, Q_LEN, KV_LEN, device)
    shape = (B, H, Q_LEN, KV_LEN)
    if _positional_arguments(mod_fn) == 5:
        out = mod_fn(torch.zeros(shape, device=device), *indices)
        return torch.where(torch.isneginf(out), False, True).expand(shape)
    return mod_fn(*indices).to(torch.bool).expand(shape)


def _block_size(size):
    return (size, size) if isinstance(size, int) else tuple(size)


def _ordered(dense):
    """Of a boolean block matrix (..., rows, cols): how many blocks each row has, and their columns
    first among all columns, both int32."""
    dense = dense.to(torch.int32)
    return (
        dense.sum(-1).to(torch.int32),
        torch.argsort(dense, dim=-1, descending=True, stable=True).to(torch.int32),
    )


def _dense(num_blocks, indices, cols):
    """The 0/1 block matrix (..., rows, cols), int32, of `_ordered`'s form."""
    used = torch.arange(indices.size(-1), device=indices.device) < num_blocks.unsqueeze(-1)
    out = torch.zeros((*indices.shape[:-1], cols + 1), dtype=torch.int32, device=indices.device)
    # Unused entries go to an extra column, which is cut off.
    where = torch.where(used, indices.long(), cols)
    out.scatter_(-1, where, 1)
    return out[..., :cols]


def _transposed(num_blocks, indices, cols):
    if num_blocks is None:
        return None, None
    return _ordered(_dense(num_blocks, indices, cols).transpose(-2, -1))


class BlockMask:
    """Which blocks of the matrix of scores are computed, and the mask within them.

    Attributes:
        kv_num_blocks (Tensor): (B, H, rows) int32: how many key blocks each query block has.
        kv_indices (Tensor): (B, H, rows, columns) int32: their positions, first in each row.
        full_kv_num_blocks, full_kv_indices (Tensor or None): blocks in which nothing is masked.
        q_num_blocks, q_indices, full_q_num_blocks, full_q_indices: the same by key block.
        BLOCK_SIZE (tuple of int): sizes of a block in queries and keys.
        mask_mod: the mask within partial blocks.
        seq_lengths (tuple of int): numbers of queries and keys.
    """

    _TENSOR_ATTRS = [
        "kv_num_blocks",
        "kv_indices",
        "full_kv_num_blocks",
        "full_kv_indices",
        "q_num_blocks",
        "q_indices",
        "full_q_num_blocks",
        "full_q_indices",
    ]
    _CONTEXT_ATTRS = ["seq_lengths", "BLOCK_SIZE", "mask_mod"]

    def __init__(
        self,
        seq_lengths,
        kv_num_blocks,
        kv_indices,
        full_kv_num_blocks,
        full_kv_indices,
        q_num_blocks,
        q_indices,
        full_q_num_blocks,
        full_q_indices,
        BLOCK_SIZE=(128, 128),
        mask_mod=noop_mask,
    ) -> None:
        if kv_indices.dim() < 2:
            raise RuntimeError(
                "kv_indices must have at least 2 dimensions, but have shape "
                f"{tuple(kv_indices.shape)}"
            )
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise AssertionError("full_kv_num_blocks and full_kv_indices must be given together")
        self.seq_lengths = seq_lengths
        self.kv_num_blocks = kv_num_blocks
        self.kv_indices = kv_indices
        self.full_kv_num_blocks = full_kv_num_blocks
        self.full_kv_indices = full_kv_indices
        self.q_num_blocks = q_num_blocks
        self.q_indices = q_indices
        self.full_q_num_blocks = full_q_num_blocks
        self.full_q_indices = full_q_indices
        self.BLOCK_SIZE = BLOCK_SIZE
        self.mask_mod = mask_mod

    @classmethod
    def from_kv_blocks(
        cls,
        kv_num_blocks,
        kv_indices,
        full_kv_num_blocks=None,
        full_kv_indices=None,
        BLOCK_SIZE=_DEFAULT_SPARSE_BLOCK_SIZE,
        mask_mod=None,
        seq_lengths=None,
        compute_q_blocks: bool = True,
    ):
        """A BlockMask from its blocks by query row; the others are computed."""
        if kv_indices.dim() < 2:
            raise RuntimeError(
                "kv_indices must have at least 2 dimensions, but have shape "
                f"{tuple(kv_indices.shape)}"
            )
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise AssertionError("full_kv_num_blocks and full_kv_indices must be given together")
        BLOCK_SIZE = _block_size(BLOCK_SIZE)
        rows, cols = kv_indices.shape[-2:]
        if seq_lengths is None:
            seq_lengths = (rows * BLOCK_SIZE[0], cols * BLOCK_SIZE[1])
        by_q = (None,) * 4
        if compute_q_blocks:
            by_q = (
                *_transposed(kv_num_blocks, kv_indices, cols),
                *_transposed(full_kv_num_blocks, full_kv_indices, cols),
            )
        return cls(
            seq_lengths,
            kv_num_blocks,
            kv_indices,
            full_kv_num_blocks,
            full_kv_indices,
            *by_q,
            BLOCK_SIZE=BLOCK_SIZE,
            mask_mod=mask_mod or noop_mask,
        )

    def as_tuple(self, flatten: bool = True):
        """All attributes in order; with `flatten` sizes one by one."""
        sizes = (*self.seq_lengths,) if flatten else (self.seq_lengths,)
        block = (*self.BLOCK_SIZE,) if flatten else (self.BLOCK_SIZE,)
        return (*sizes, *(getattr(self, a) for a in self._TENSOR_ATTRS), *block, self.mask_mod)

    @property
    def shape(self):
        """(B, H, queries, keys)."""
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def __getitem__(self, index):
        """The BlockMask of a batch, head and block row of queries; ints keep their dimension."""
        index = index if isinstance(index, tuple) else (index,)
        if len(index) > 3:
            raise IndexError(
                f"a BlockMask has batch, head and query blocks to index, but got {len(index)} "
                "indices"
            )
        full = tuple(
            slice(i, i + 1 if i != -1 else None) if isinstance(i, int) else i for i in index
        )
        by_q = [
            (self.kv_num_blocks, self.kv_indices),
            (self.full_kv_num_blocks, self.full_kv_indices),
        ]
        kv, full_kv = [(None, None) if n is None else (n[full], i[full]) for n, i in by_q]
        queries = self.seq_lengths[0]
        if len(index) == 3:
            size = self.BLOCK_SIZE[0]
            rows = self.kv_num_blocks.size(-1)
            if isinstance(full[2], slice):
                picked = range(rows)[full[2]]
                queries = sum(min(size, queries - r * size) for r in picked)
            else:
                queries = kv[0].size(-1) * size
        return BlockMask.from_kv_blocks(
            *kv,
            *full_kv,
            BLOCK_SIZE=self.BLOCK_SIZE,
            mask_mod=self.mask_mod,
            seq_lengths=(queries, self.seq_lengths[1]),
            compute_q_blocks=self.q_indices is not None,
        )

    def _adjust(self, new_q_len: int, new_kv_len: int):
        """The mask cut to fewer queries and keys."""
        rows = -(-new_q_len // self.BLOCK_SIZE[0])
        cols = -(-new_kv_len // self.BLOCK_SIZE[1])

        def cut(num, ind):
            if num is None:
                return None, None
            return _ordered(_dense(num, ind, ind.size(-1))[..., :rows, :cols])

        return BlockMask.from_kv_blocks(
            *cut(self.kv_num_blocks, self.kv_indices),
            *cut(self.full_kv_num_blocks, self.full_kv_indices),
            BLOCK_SIZE=self.BLOCK_SIZE,
            mask_mod=self.mask_mod,
            seq_lengths=(new_q_len, new_kv_len),
        )

    def numel(self) -> int:
        """The number of scores, masked ones included."""
        return math.prod(self.shape)

    def sparsity(self) -> float:
        """The share of scores in blocks that are not computed, in percent."""
        total = self.kv_num_blocks.numel() * self.kv_indices.size(-1)
        computed = int(self.kv_num_blocks.sum())
        if self.full_kv_num_blocks is not None:
            computed += int(self.full_kv_num_blocks.sum())
        return 100 * (1 - computed / total)

    def to_dense(self):
        """1 for each block that is computed, else 0: (B, H, rows, columns), int32."""
        cols = self.kv_indices.size(-1)
        dense = _dense(self.kv_num_blocks, self.kv_indices, cols)
        if self.full_kv_num_blocks is not None:
            dense = dense | _dense(self.full_kv_num_blocks, self.full_kv_indices, cols)
        return dense

    def to_string(self, grid_size=(20, 20), limit: int = 4) -> str:
        """A drawing of the blocks of the first `limit` heads, at most `grid_size` large."""
        dense = self.to_dense()
        rows, cols = dense.shape[-2:]
        if grid_size == -1:
            grid = (rows, cols)
        else:
            grid = (grid_size, grid_size) if isinstance(grid_size, int) else grid_size
        step_r, step_c = max(1, -(-rows // grid[0])), max(1, -(-cols // grid[1]))
        drawings, batches = [], dense.reshape(-1, rows, cols)
        for n, picture in enumerate(batches[:limit]):
            at, left = [], n
            for size in reversed(dense.shape[:-2]):
                at.insert(0, left % size)
                left //= size
            lines = [f"({', '.join(map(str, at))}{',' if len(at) == 1 else ''})"]
            for r in range(0, rows, step_r):
                line = ""
                for c in range(0, cols, step_c):
                    part = picture[r : r + step_r, c : c + step_c]
                    count = int(part.sum())
                    line += "  " if count == 0 else "██" if count == part.numel() else "░░"
                lines.append(line)
            drawings.append("\n".join(lines) + "\n")
        if len(batches) > limit:
            drawings.append(
                "...\nTo print more, pass BlockMask.to_string(limit=N), or index the BlockMask by "
                "batch "
                "and head"
            )
        return "\n".join(drawings)

    def __str__(self) -> str:
        text = self.to_string()
        return (
            f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, \n{text}"
            f"{'' if text.endswith(chr(10)) else chr(10)})"
        )

    def __repr__(self) -> str:
        lines = []
        for name in self._TENSOR_ATTRS:
            t = getattr(self, name)
            lines.append(f"    {name}={t.shape if isinstance(t, Tensor) else t}")
        lines += [
            f"    BLOCK_SIZE={self.BLOCK_SIZE}",
            f"    shape={self.shape}",
            f"    sparsity={self.sparsity():.2f}%",
            f"    mask_mod={getattr(self.mask_mod, '__name__', self.mask_mod)}",
        ]
        return "BlockMask(\n" + ",\n".join(lines) + "\n)"

    def to(self, device):
        """The same mask with its tensors on `device`."""
        moved = [
            t if t is None else t.to(device) for t in (getattr(self, a) for a in self._TENSOR_ATTRS)
        ]
        return BlockMask(
            self.seq_lengths, *moved, BLOCK_SIZE=self.BLOCK_SIZE, mask_mod=self.mask_mod
        )

    def _mask(self, B, H, device):
        """The boolean mask of all scores: (B, H, queries, keys), or with 1 for B and H."""
        Q, KV = self.seq_lengths
        size_q, size_kv = self.BLOCK_SIZE

        def spread(num, ind):
            blocks = _dense(num, ind, ind.size(-1)).bool()
            return blocks.repeat_interleave(size_q, -2).repeat_interleave(size_kv, -1)[..., :Q, :KV]

        inside = self.mask_mod(*_indices(B, H, Q, KV, device)).to(torch.bool)
        mask = spread(self.kv_num_blocks, self.kv_indices) & inside
        if self.full_kv_num_blocks is not None:
            mask = mask | spread(self.full_kv_num_blocks, self.full_kv_indices)
        return mask


def create_block_mask(
    mask_mod,
    B,
    H,
    Q_LEN: int,
    KV_LEN: int,
    device=None,
    BLOCK_SIZE=_DEFAULT_SPARSE_BLOCK_SIZE,
    _compile=False,
    separate_full_blocks: bool = True,
    compute_dq_write_order: bool = False,
    dq_kv_order: bool = True,
) -> BlockMask:
    """The BlockMask of a mask function.

    Args:
        mask_mod: a function of batch, head, query and key indices that says what is let through.
        B, H (int or None): batch size and heads; None where the mask does not depend on them.
        Q_LEN, KV_LEN (int): numbers of queries and keys.
        BLOCK_SIZE (int or tuple): sizes of a block in queries and keys.
        separate_full_blocks (bool): whether blocks without masked scores are kept apart.
    """
    if compute_dq_write_order:
        raise NotImplementedError("compute_dq_write_order is not implemented")
    size_q, size_kv = _block_size(BLOCK_SIZE)
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    rows, cols = -(-Q_LEN // size_q), -(-KV_LEN // size_kv)
    mask = torch.nn.functional.pad(mask, (0, cols * size_kv - KV_LEN, 0, rows * size_q - Q_LEN))
    counts = mask.reshape(*mask.shape[:2], rows, size_q, cols, size_kv).sum((-3, -1))
    full = counts == size_q * size_kv
    if not separate_full_blocks:
        full = torch.zeros_like(full)
    partial = (counts > 0) & ~full
    full_blocks = _ordered(full) if separate_full_blocks else (None, None)
    return BlockMask.from_kv_blocks(
        *_ordered(partial),
        *full_blocks,
        BLOCK_SIZE=(size_q, size_kv),
        mask_mod=mask_mod,
        seq_lengths=(Q_LEN, KV_LEN),
    )


def _check(query, key, value, block_mask, enable_gqa):
    if query.dim() != 4 or key.dim() != 4 or value.dim() != 4:
        raise NotImplementedError(
            "flex_attention takes query, key and value of 4 dimensions, but got shapes "
            f"{tuple(query.shape)}, {tuple(key.shape)} and {tuple(value.shape)}"
        )
    if query.size(-1) != key.size(-1):
        raise ValueError(
            f"query and key must have the same last dimension, but have {query.size(-1)} and "
            f"{key.size(-1)}"
        )
    heads, kv_heads = query.size(1), key.size(1)
    if heads != kv_heads and not enable_gqa:
        raise ValueError(
            f"query and key must have the same number of heads, but have {heads} and {kv_heads}; "
            "enable_gqa=True shares key heads"
        )
    if heads % kv_heads != 0:
        raise ValueError(
            f"the query's heads must be a multiple of the key's, but are {heads} and {kv_heads}"
        )
    if query.size(0) != key.size(0) and key.size(0) != 1:
        raise ValueError(
            f"query and key must have the same batch size, but have {query.size(0)} and "
            f"{key.size(0)}"
        )
    if block_mask is None:
        return
    q_len, kv_len = block_mask.seq_lengths
    if q_len > query.size(2) or kv_len > key.size(2):
        raise RuntimeError(
            f"block_mask is for {q_len} queries and {kv_len} keys, but there are {query.size(2)} "
            "and "
            f"{key.size(2)}: make one for these, or cut it with _adjust"
        )
    if q_len < query.size(2) or kv_len < key.size(2):
        raise ValueError(
            f"block_mask is for {q_len} queries and {kv_len} keys, but there are {query.size(2)} "
            "and "
            f"{key.size(2)}: make one for these"
        )
    for dim, what in ((0, "batch"), (1, "heads")):
        n = block_mask.kv_num_blocks.size(dim)
        if n not in (1, query.size(dim)):
            raise RuntimeError(
                f"block_mask has {n} in its {what} dimension, but the query {query.size(dim)}"
            )


def flex_attention(
    query,
    key,
    value,
    score_mod=None,
    block_mask=None,
    scale=None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options=None,
    *,
    return_aux=None,
):
    """Scaled dot product attention whose scores are modified by a function (Dong et al., 2024).

    Args:
        query (Tensor): (B, Hq, L, E).
        key (Tensor): (B, Hkv, S, E).
        value (Tensor): (B, Hkv, S, Ev).
        score_mod (optional): a function of the scores and of batch, head, query and key indices
            that returns the scores to use. It is called once, with tensors that broadcast.
        block_mask (BlockMask, optional): which scores count.
        scale (float, optional): the factor on the products; 1 / sqrt(E) by default.
        enable_gqa (bool): whether each key head serves Hq / Hkv query heads.
        return_lse (bool): whether the scores' log-sum-exp (B, Hq, L) is returned too.
        return_aux (AuxRequest, optional): what else is returned, as an AuxOutput.

    Returns (B, Hq, L, Ev); queries that attend to nothing give zeros.
    """
    _check(query, key, value, block_mask, enable_gqa)
    B, H, L, E = query.shape
    if key.size(1) != H:
        key = key.repeat_interleave(H // key.size(1), 1)
        value = value.repeat_interleave(H // value.size(1), 1)
    scale = 1.0 / math.sqrt(E) if scale is None else scale
    precise = torch.float64 if query.dtype == torch.float64 else torch.float32
    scores = (query.to(precise) @ key.to(precise).transpose(-2, -1)) * scale
    if score_mod is not None:
        scores = score_mod(scores, *_indices(B, H, L, key.size(2), query.device)).to(precise)
    if block_mask is not None:
        scores = scores.masked_fill(~block_mask._mask(B, H, query.device), float("-inf"))
    nothing = (scores == float("-inf")).all(-1, keepdim=True)
    weights = scores.masked_fill(nothing, 0.0).softmax(-1).masked_fill(nothing, 0.0)
    out = (weights @ value.to(precise)).to(query.dtype)
    if not return_lse and return_aux is None:
        return out
    lse = torch.logsumexp(scores, -1)
    if return_aux is None:
        return out, lse
    return out, AuxOutput(
        lse if return_aux.lse else None, scores.amax(-1) if return_aux.max_scores else None
    )
