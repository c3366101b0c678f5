"""How `linear_cross_entropy` computes in pieces."""

from __future__ import annotations

import torch

__all__ = ["LinearCrossEntropyOptions"]

_DTYPES = (None, torch.float16, torch.bfloat16, torch.float32, torch.float64)


class LinearCrossEntropyOptions:
    """Options of `torch.nn.functional.linear_cross_entropy`; an immutable value.

    Args:
        allow_retain_graph (bool): whether backward may be called more than once.
        batch_chunk_size (int, optional): how many samples are computed at once.
        chunking_method (str or None): ``"auto"``, or None for one piece unless a size is given.
        acc_policy (str): ``"accurate"`` sums gradients of 16-bit weights in float32,
            ``"compact"`` in their own dtype; ``"auto"`` chooses.
        acc_dtype (torch.dtype, optional): the dtype of these sums.
    """

    __slots__ = (
        "allow_retain_graph",
        "batch_chunk_size",
        "chunking_method",
        "acc_policy",
        "acc_dtype",
    )
    __match_args__ = __slots__

    def __init__(
        self,
        allow_retain_graph: bool = False,
        batch_chunk_size: int | None = None,
        chunking_method: str | None = "auto",
        acc_policy: str = "auto",
        acc_dtype=None,
    ) -> None:
        if batch_chunk_size is not None and (
            not isinstance(batch_chunk_size, int) or batch_chunk_size <= 0
        ):
            raise ValueError(
                f"batch_chunk_size must be a positive int or None, but got {batch_chunk_size!r}"
            )
        if chunking_method not in ("auto", None):
            raise ValueError(f"chunking_method must be 'auto' or None, but got {chunking_method!r}")
        if acc_policy not in ("auto", "accurate", "compact"):
            raise ValueError(
                f"acc_policy must be 'auto', 'accurate' or 'compact', but got {acc_policy!r}"
            )
        if acc_dtype not in _DTYPES:
            raise ValueError(f"acc_dtype must be one of {_DTYPES}, but got {acc_dtype!r}")
        for name, value in zip(
            self.__slots__,
            (allow_retain_graph, batch_chunk_size, chunking_method, acc_policy, acc_dtype),
        ):
            object.__setattr__(self, name, value)

    def _values(self):
        return tuple(getattr(self, name) for name in self.__slots__)

    def __setattr__(self, name, value):
        raise AttributeError(f"LinearCrossEntropyOptions cannot be changed: {name} is read-only")

    def __delattr__(self, name):
        raise AttributeError(f"LinearCrossEntropyOptions cannot be changed: {name} is read-only")

    def __eq__(self, other):
        return self._values() == other._values() if type(other) is type(self) else NotImplemented

    def __hash__(self):
        return hash(self._values())

    def __repr__(self):
        pairs = ", ".join(
            f"{name}={value!r}" for name, value in zip(self.__slots__, self._values())
        )
        return f"LinearCrossEntropyOptions({pairs})"

    def __reduce__(self):
        return type(self), self._values()
