"""Which modules run: `ModuleTracker`."""
import torch
from torch.autograd.graph import register_multi_grad_hook
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.utils import _pytree
from torch.utils.weak import WeakIdKeyDictionary

__all__ = ["ModuleTracker"]

_GLOBAL = "Global"


def _tracked(x):
    """The tensors within x whose gradients will pass."""
    return [t for t in _pytree.tree_leaves(x) if isinstance(t, torch.Tensor) and t.requires_grad] if torch.is_grad_enabled() else []


class ModuleTracker:
    """Within a with block of it, `parents` holds the names of the modules that run, or whose backward runs, and "Global".

    A module that was called by none is named by its class, those below it by their path from there. `is_bw` says whether
    backward runs; it stays true after it until a module is called. A module whose inputs need no gradient counts as running
    until then, too.
    """

    def __init__(self):
        self.parents, self.is_bw = {_GLOBAL}, False
        self._names, self._hooks = WeakIdKeyDictionary(), []

    def __enter__(self):
        self._hooks = [register_module_forward_pre_hook(self._before), register_module_forward_hook(self._after, always_call=True)]
        return self

    def __exit__(self, *exc):
        for hook in self._hooks:
            hook.remove()
        self._hooks = []
        self.parents.clear()
        self.parents.add(_GLOBAL)

    def _name(self, module):
        if module not in self._names:
            def give(m, name):
                self._names[m] = name
                for child, below in m.named_children():
                    give(below, f"{name}.{child}")
            give(module, type(module).__name__)
        return self._names[module]

    def _before(self, module, inputs):
        name = self._name(module)
        if self.is_bw:
            self.is_bw = False
            self.parents.intersection_update({_GLOBAL})
        self.parents.add(name)
        tensors = _tracked(inputs)
        if tensors:
            register_multi_grad_hook(tensors, lambda grads: self.parents.discard(name))

    def _after(self, module, inputs, output):
        name = self._name(module)
        self.parents.discard(name)

        def enter(grad):
            if not self.is_bw:
                self.is_bw = True
                self.parents.intersection_update({_GLOBAL})
            self.parents.add(name)
        for tensor in _tracked(output):
            tensor.register_hook(enter)
