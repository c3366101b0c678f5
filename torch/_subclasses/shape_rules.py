"""Shapes of results that masks among the arguments decide: {overload: function on fake tensors}."""
import torch

__all__ = ["MASKED"]

aten = torch.ops.aten


def _has_mask(indices):
    return any(i is not None and i.dtype in (torch.bool, torch.uint8) for i in indices)


def _index(self, indices):
    if not _has_mask(indices):
        return NotImplemented
    from torch._subclasses.fake_tensor import DynamicOutputShapeException
    raise DynamicOutputShapeException(aten.index.Tensor)


# Operators on indices: with masks among them, elements decide how many there are. NotImplemented without masks.
MASKED = {
    aten.index.Tensor: _index,
    aten.index_put.default: lambda self, indices, *rest: torch.empty_like(self) if _has_mask(indices) else NotImplemented,
    aten.index_put_.default: lambda self, indices, *rest: self if _has_mask(indices) else NotImplemented}
