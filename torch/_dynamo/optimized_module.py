"""Compiled modules."""
import torch

from .unseen import unseen

Module = torch.nn.Module


class OptimizedModule(Module):
    """A module whose call is compiled. Attributes, parameters and the rest are those of the module within."""

    def __init__(self, mod, wrap):
        super().__init__()
        self._orig_mod = mod
        self.__dict__["_wrap"] = wrap
        self.__dict__["_compiled"] = wrap(mod)
        self.__dict__["training"] = mod.training

    @unseen
    def __call__(self, *args, **kwargs):
        mod, own = self._modules["_orig_mod"], self.__dict__
        if own["_forward_hooks"] or own["_forward_pre_hooks"] or own["_backward_hooks"] or own["_backward_pre_hooks"]:
            return super().__call__(*args, **kwargs)
        if mod._forward_hooks or mod._forward_pre_hooks or mod._backward_hooks or mod._backward_pre_hooks:
            return mod(*args, **kwargs)
        return self._compiled(*args, **kwargs)

    @unseen
    def forward(self, *args, **kwargs):
        return self._compiled(*args, **kwargs)

    def __getattr__(self, name):
        if name == "_orig_mod":
            return self._modules["_orig_mod"]
        return getattr(self._orig_mod, name)

    def __setattr__(self, name, value):
        if name == "_orig_mod":
            return super().__setattr__(name, value)
        if name in type(self).__dict__:
            return object.__setattr__(self, name, value)
        setattr(self._orig_mod, name, value)

    def __delattr__(self, name):
        delattr(self._orig_mod, name)

    @property
    def training(self):
        return self._orig_mod.training

    @training.setter
    def training(self, value):
        mod = self._modules.get("_orig_mod")
        if mod is not None:
            mod.training = value

    def __getstate__(self):
        state = dict(self.__dict__)
        state.pop("_compiled", None)
        state.pop("_compiled_call_impl", None)
        return state

    def __setstate__(self, state):
        self.__dict__.update(state)
        self.__dict__["_compiled"] = self._wrap(self._modules["_orig_mod"])

    def __dir__(self):
        return sorted({*super().__dir__(), *dir(self._orig_mod)})

    def __len__(self):
        return len(self._orig_mod)

    def __getitem__(self, key):
        return self._orig_mod[key]
