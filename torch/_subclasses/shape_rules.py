"""Shapes of results that masks or counts among the arguments decide: {overload: function on fake tensors}."""
import torch

__all__ = ["BY_ELEMENTS"]

aten = torch.ops.aten


def _has_mask(indices):
    return any(i is not None and i.dtype in (torch.bool, torch.uint8) for i in indices)


def _index(self, indices):
    if not _has_mask(indices):
        return NotImplemented
    from torch._subclasses.fake_tensor import DynamicOutputShapeException
    env = self.fake_mode.shape_env
    if env is not None and env.allow_dynamic_output_shape_ops:  # a mask stands for the places where it is true
        places = []
        for i in indices:
            places += [i] if i is None or i.dtype not in (torch.bool, torch.uint8) else i.nonzero().unbind(1)
        return aten.index.Tensor(self, places)
    raise DynamicOutputShapeException(aten.index.Tensor)


# Operators on indices: with masks among them, elements decide how many there are. NotImplemented without masks.
# The sum of the numbers of repeats may be told.
BY_ELEMENTS = {
    aten.repeat_interleave.Tensor: lambda repeats, *, output_size=None: (
        NotImplemented if output_size is None else repeats.new_empty([output_size])),
    aten.index.Tensor: _index,
    aten.index_put.default: lambda self, indices, *rest: torch.empty_like(self) if _has_mask(indices) else NotImplemented,
    aten.index_put_.default: lambda self, indices, *rest: self if _has_mask(indices) else NotImplemented}
