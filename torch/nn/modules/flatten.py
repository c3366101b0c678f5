"""Merging and splitting dimensions."""

from __future__ import annotations

from torch.nn.modules.module import Module

__all__ = ["Flatten", "Unflatten"]


class Flatten(Module):
    """Merges the dimensions `start_dim` to `end_dim` into one: by default all but the batch."""

    __constants__ = ["start_dim", "end_dim"]
    start_dim: int
    end_dim: int

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input):
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Splits the dimension `dim`, a number or a name, into `unflattened_size`: sizes of which
    one may be -1, or for a name pairs (name, size)."""

    __constants__ = ["dim", "unflattened_size"]

    def __init__(self, dim, unflattened_size) -> None:
        super().__init__()
        if isinstance(dim, int):
            self._require_tuple_int(unflattened_size)
        elif isinstance(dim, str):
            self._require_tuple_tuple(unflattened_size)
        else:
            raise TypeError(f"dim must be an int or a name, but got {type(dim).__name__}")
        self.dim = dim
        self.unflattened_size = unflattened_size

    def _require_tuple_tuple(self, given):
        if not isinstance(given, tuple):
            raise TypeError(
                f"unflattened_size must be a tuple of pairs, but got {type(given).__name__}"
            )
        for i, element in enumerate(given):
            if not isinstance(element, tuple):
                raise TypeError(
                    f"unflattened_size must be a tuple of pairs, but entry {i} is "
                    f"{type(element).__name__}"
                )

    def _require_tuple_int(self, given):
        if not isinstance(given, (tuple, list)):
            raise TypeError(
                f"unflattened_size must be a tuple of ints, but got {type(given).__name__}"
            )
        for i, element in enumerate(given):
            if not isinstance(element, int):
                raise TypeError(
                    f"unflattened_size must be a tuple of ints, but entry {i} is "
                    f"{type(element).__name__}"
                )

    def forward(self, input):
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
