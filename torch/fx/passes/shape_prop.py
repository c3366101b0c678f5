"""Shapes and types of a graph's values, found by running it."""
from typing import Any, NamedTuple

import torch
from torch.fx.interpreter import Interpreter
from torch.fx.node import map_aggregate

__all__ = ["TensorMetadata", "ShapeProp"]


class TensorMetadata(NamedTuple):
    """What is known of a tensor without its values."""

    shape: torch.Size
    dtype: torch.dtype
    requires_grad: bool
    stride: tuple
    memory_format: Any
    is_quantized: bool
    qparams: dict


def _extract_tensor_metadata(result, include_contiguity=True):
    """The TensorMetadata of a tensor."""
    memory_format = None
    if include_contiguity:
        for form in (torch.contiguous_format, torch.channels_last, torch.channels_last_3d):
            if form is torch.channels_last and result.dim() != 4 or form is torch.channels_last_3d and result.dim() != 5:
                continue
            if result.is_contiguous(memory_format=form):
                memory_format = form
                break
    return TensorMetadata(result.shape, result.dtype, result.requires_grad, tuple(result.stride()), memory_format,
                          bool(getattr(result, "is_quantized", False)), {})


class ShapeProp(Interpreter):
    """Runs a graph and writes into the meta of each node: 'tensor_meta' (a TensorMetadata, or containers of it) and 'type'.

    With `fake_mode`, tensors are fake: no values are computed.
    """

    def __init__(self, gm, fake_mode=None):
        super().__init__(gm)
        self.fake_mode = fake_mode
        self.fake_module = None
        self.real_module = self.module

    def run_node(self, n):
        """The value of a node, whose meta says its shape from now on."""
        try:
            if self.fake_mode is not None:
                with self.fake_mode:
                    result = super().run_node(n)
            else:
                result = super().run_node(n)
        except Exception as error:
            raise RuntimeError(f"ShapeProp failed at {n.format_node()}: {error}") from error
        found = False

        def see(obj):
            nonlocal found
            if isinstance(obj, torch.Tensor):
                found = True
                return _extract_tensor_metadata(obj)
            return obj
        meta = map_aggregate(result, see)
        if found:
            n.meta["tensor_meta"] = meta
        if self.fake_mode is not None:
            n.meta["val"] = result
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args):
        """Runs the graph on `args`; gives its results."""
        if self.fake_mode is not None:
            args = tuple(self.fake_mode.from_tensor(a) if isinstance(a, torch.Tensor) else a for a in args)
        return super().run(*args)
