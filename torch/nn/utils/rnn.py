"""Batches of sequences of different lengths."""

from __future__ import annotations

from collections import namedtuple

import torch
from torch import Tensor

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpad_sequence",
    "pack_sequence",
    "unpack_sequence",
]

PackedSequence_ = namedtuple(
    "PackedSequence_",
    ["data", "batch_sizes", "sorted_indices", "unsorted_indices"],
    defaults=(None, None, None),
)
PackedSequence_.__qualname__ = PackedSequence_.__name__ = "PackedSequence"


def _checked_parts(data, batch_sizes, sorted_indices, unsorted_indices):
    if unsorted_indices is None:
        unsorted_indices = invert_permutation(sorted_indices)
    if batch_sizes is not None:
        if batch_sizes.device.type != "cpu":
            raise ValueError(f"batch_sizes must be on the CPU, but are on {batch_sizes.device}")
        return data, batch_sizes, sorted_indices, unsorted_indices
    # Called with one pair, as old programs do.
    if not isinstance(data, (list, tuple)) or len(data) != 2:
        raise AssertionError("PackedSequence needs data and batch_sizes")
    return data[0], data[1], sorted_indices, unsorted_indices


class PackedSequence(PackedSequence_):
    """Sequences of different lengths, stored step after step without padding.

    Attributes:
        data (Tensor): (sum of lengths, *): all first elements, then all second ones, ...
        batch_sizes (Tensor): (longest length), int64 on the CPU: how many sequences reach a step.
        sorted_indices (Tensor, optional): (N), how the batch was sorted by falling length.
        unsorted_indices (Tensor, optional): (N), how to undo that.

    Made by `pack_padded_sequence` and `pack_sequence`.
    """

    def __new__(cls, data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
        return super().__new__(
            cls, *_checked_parts(data, batch_sizes, sorted_indices, unsorted_indices)
        )

    def pin_memory(self):
        """The same sequences in page-locked memory."""
        return type(self)(
            self.data.pin_memory(),
            self.batch_sizes,
            *(
                None if i is None else i.pin_memory()
                for i in (self.sorted_indices, self.unsorted_indices)
            ),
        )

    def to(self, *args, **kwargs):
        """The same sequences with ``data.to(...)``; indices move with it, batch_sizes stay."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        kwargs = {k: v for k, v in kwargs.items() if k not in ("device", "dtype")}
        move = [
            None if i is None else i.to(data.device, **kwargs)
            for i in (self.sorted_indices, self.unsorted_indices)
        ]
        return type(self)(data, self.batch_sizes, *move)

    def cuda(self, *args, **kwargs):
        """The same sequences on a CUDA device."""
        example = torch.tensor((), dtype=self.data.dtype, device=self.data.device).to(
            *args, **kwargs
        )
        if example.is_cuda:
            return self.to(*args, **kwargs)
        kwargs["device"] = "cuda"
        return self.to(*args, **kwargs)

    def cpu(self, *args, **kwargs):
        """The same sequences on the CPU."""
        example = torch.tensor((), dtype=self.data.dtype, device=self.data.device).to(
            *args, **kwargs
        )
        if example.device.type == "cpu":
            return self.to(*args, **kwargs)
        kwargs["device"] = "cpu"
        return self.to(*args, **kwargs)

    def double(self):
        """The same sequences as float64."""
        return self.to(dtype=torch.double)

    def float(self):
        """The same sequences as float32."""
        return self.to(dtype=torch.float)

    def half(self):
        """The same sequences as float16."""
        return self.to(dtype=torch.half)

    def long(self):
        """The same sequences as int64."""
        return self.to(dtype=torch.long)

    def int(self):
        """The same sequences as int32."""
        return self.to(dtype=torch.int)

    def short(self):
        """The same sequences as int16."""
        return self.to(dtype=torch.short)

    def char(self):
        """The same sequences as int8."""
        return self.to(dtype=torch.int8)

    def byte(self):
        """The same sequences as uint8."""
        return self.to(dtype=torch.uint8)

    @property
    def is_cuda(self):
        """Whether the data are on a CUDA device."""
        return self.data.is_cuda

    def is_pinned(self):
        """Whether the data are in page-locked memory."""
        return self.data.is_pinned()


def invert_permutation(permutation):
    """The permutation (N) that undoes `permutation` (N); None for None."""
    if permutation is None:
        return None
    output = torch.empty_like(permutation, memory_format=torch.contiguous_format)
    output.scatter_(0, permutation, torch.arange(0, permutation.numel(), device=permutation.device))
    return output


def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
    """Packs a padded batch.

    Args:
        input (Tensor): (T, N, *), or (N, T, *) with `batch_first`.
        lengths (Tensor or list of int): (N), on the CPU.
        enforce_sorted (bool): whether the lengths must fall already; otherwise they are sorted.
    """
    if not isinstance(lengths, Tensor):
        lengths = torch.as_tensor(lengths, dtype=torch.int64, device="cpu")
    elif lengths.device.type != "cpu":
        lengths = lengths.to("cpu")
    if enforce_sorted:
        sorted_indices = None
    else:
        lengths, sorted_indices = torch.sort(lengths, descending=True)
        sorted_indices = sorted_indices.to(input.device)
        input = input.index_select(0 if batch_first else 1, sorted_indices)
    data, batch_sizes = torch._pack_padded_sequence(input, lengths, batch_first)
    return PackedSequence(data, batch_sizes, sorted_indices, None)


def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None):
    """Undoes `pack_padded_sequence`: the padded batch and the lengths (N), in the first order.

    `total_length` pads further than the longest sequence; ValueError if that is longer.
    """
    longest = sequence.batch_sizes.size(0)
    if total_length is not None:
        if total_length < longest:
            raise ValueError(
                f"total_length must be at least the longest sequence's length {longest}, but got "
                f"{total_length}"
            )
        longest = total_length
    output, lengths = torch._pad_packed_sequence(
        sequence.data, sequence.batch_sizes, batch_first, padding_value, longest
    )
    if sequence.unsorted_indices is not None:
        output = output.index_select(0 if batch_first else 1, sequence.unsorted_indices)
        lengths = lengths[sequence.unsorted_indices.cpu()]
    return output, lengths


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    """Stacks sequences (L_i, *) to (longest, N, *), or (N, longest, *) with `batch_first`,
    padded with `padding_value` on one side."""
    if isinstance(sequences, Tensor):
        sequences = sequences.unbind(0)
    elif not hasattr(sequences, "__iter__"):
        raise RuntimeError(
            f"pad_sequence needs an iterable of tensors, but got {type(sequences).__name__}"
        )
    else:
        sequences = tuple(sequences)
    return torch._C._nn.pad_sequence(sequences, batch_first, padding_value, padding_side)


def unpad_sequence(padded_sequences, lengths, batch_first=False):
    """Undoes `pad_sequence`: the list of sequences of the given lengths."""
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    steps = torch.arange(padded_sequences.shape[1], device=lengths.device)
    return [seq[steps < length] for seq, length in zip(padded_sequences, lengths)]


def pack_sequence(sequences, enforce_sorted=True):
    """Packs sequences (L_i, *); arguments as in `pack_padded_sequence`."""
    lengths = torch.as_tensor([v.size(0) for v in sequences], device="cpu")
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences):
    """Undoes `pack_sequence`: the list of sequences."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
