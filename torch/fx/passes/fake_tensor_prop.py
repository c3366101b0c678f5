"""Shapes of a graph's values on fake tensors: nothing is computed."""
import torch
from torch.fx.interpreter import Interpreter
from torch.fx.node import map_aggregate

__all__ = ["FakeTensorProp"]


class FakeTensorProp(Interpreter):
    """Runs a graph on fake tensors and writes them into the meta of each node as 'val'."""

    def __init__(self, module, mode=None):
        super().__init__(module)
        if mode is None:
            from torch._subclasses.fake_tensor import FakeTensorMode
            mode = FakeTensorMode()
        self._mode = mode

    def run_node(self, n):
        """The value of a node, which its meta has from now on."""
        result = super().run_node(n)
        n.meta["val"] = map_aggregate(result, lambda x: x)
        return result

    def propagate(self, *args):
        """Runs the graph on fake tensors with the shapes of `args`."""
        return self.propagate_dont_convert_inputs(*[self._mode.from_tensor(a) if isinstance(a, torch.Tensor) else a
                                                    for a in args])

    def propagate_dont_convert_inputs(self, *args):
        """Runs the graph on `args`, which are fake already."""
        with self._mode:
            return super().run(*args)
