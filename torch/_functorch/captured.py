"""Tensors of an open transform that a traced function reads without having them as arguments."""
import torch
from torch._C import _functorch as _levels
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree

__all__ = ["CapturedTensors"]


class CapturedTensors(TorchFunctionMode):
    """Within a trace that runs outside of all transforms, makes their tensors attributes of the graph.

    The trace sees a fake tensor in their place; the graph, run where the transforms are, the tensor itself.
    """

    def __init__(self, fake_mode):
        super().__init__()
        self.fake_mode = fake_mode
        self._found = {}  # id of the tensor -> (the tensor, its fake)

    def __enter__(self):
        self._tracer = self._current()
        return super().__enter__()

    @staticmethod
    def _current():
        from torch.fx.experimental.proxy_tensor import get_proxy_mode
        return getattr(get_proxy_mode(), "tracer", None)

    def stand_in(self, x):
        """The fake tensor for one of an open transform; anything else as it is."""
        if not isinstance(x, torch.Tensor) or not _levels._is_of_outer_call(x) or self._current() is not self._tracer:
            return x
        if id(x) not in self._found:
            from torch.fx.experimental.proxy_tensor import track_tensor_tree
            fake, tracer = self.fake_mode.from_tensor(x), self._tracer
            name = tracer.get_fresh_qualname("_captured_tensor")
            setattr(tracer.root, name, x)
            track_tensor_tree(fake, tracer.create_proxy("get_attr", name, (), {}), constant=None, tracer=tracer)
            self._found[id(x)] = (x, fake)
        return self._found[id(x)][1]

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*pytree.tree_map(self.stand_in, args), **pytree.tree_map(self.stand_in, kwargs or {}))
