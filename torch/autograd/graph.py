"""The graph itself: nodes, and hooks on what is saved for backward."""
import collections
import contextlib

import torch
from torch import _C

Node = _C._Node
GradientEdge = collections.namedtuple("GradientEdge", ["node", "output_nr", "ownership_token"], defaults=[None])


def get_gradient_edge(tensor):
    """The place in the graph that the gradient of tensor flows to."""
    if not tensor.requires_grad:
        raise RuntimeError("get_gradient_edge() needs a tensor that requires grad")
    return GradientEdge(*_C._gradient_edge(tensor))


def increment_version(tensor):
    """Counts a write to a tensor, or to each of several, that was made where torch does not see it (through data_ptr): backward
    then refuses values that were saved before it. Inference tensors have no version."""
    for t in (tensor,) if isinstance(tensor, torch.Tensor) else tensor:
        _C._increment_version(t)


class saved_tensors_hooks:
    """Within it pack(tensor) is called for each tensor saved for backward, and unpack(what pack gave) when it is needed."""

    def __init__(self, pack_hook, unpack_hook):
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self):
        _C._push_saved_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(self, *exc):
        _C._pop_saved_hooks()


class save_on_cpu(saved_tensors_hooks):
    """Keeps saved tensors on the CPU and brings them back to their device."""

    def __init__(self, pin_memory=False, device_type="cuda"):
        super().__init__(lambda t: (t.device, t.cpu()), lambda packed: packed[1].to(packed[0]))


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message):
    """Within it saving through a hook raises RuntimeError with this message."""
    _C._push_saved_hooks(None, error_message)
    try:
        yield
    finally:
        _C._pop_saved_hooks()


@contextlib.contextmanager
def allow_mutation_on_saved_tensors():
    raise NotImplementedError("allow_mutation_on_saved_tensors is not there yet")
    yield


def register_multi_grad_hook(tensors, fn, *, mode="all"):
    """fn is called when all (with the gradients) or any (with the first) of the tensors have theirs."""
    from torch.utils.hooks import RemovableHandle  # noqa: F401
    if mode not in ("all", "any"):
        raise ValueError(f"mode must be 'all' or 'any', got {mode!r}")
    wanted = [t for t in tensors if t.requires_grad]
    seen, grads = [0], [None] * len(wanted)

    def make(i):
        def hook(g):
            seen[0] += 1
            if mode == "any":
                if seen[0] == 1:
                    fn(g)
                return
            grads[i] = g
            if seen[0] == len(wanted):
                fn(list(grads))
                seen[0] = 0
                grads[:] = [None] * len(wanted)
        return hook
    handles = [t.register_hook(make(i)) for i, t in enumerate(wanted)]

    class Handles:
        def remove(self):
            for h in handles:
                h.remove()

        def __enter__(self):
            return self

        def __exit__(self, *exc):
            self.remove()
    return Handles()
