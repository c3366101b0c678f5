"""Modules taken apart into a function and tuples of tensors, as functorch had it before torch.func.functional_call."""
import copy

import torch
from torch import nn
from torch.nn.utils.stateless import functional_call

__all__ = ["FunctionalModule", "FunctionalModuleWithBuffers", "make_functional", "make_functional_with_buffers", "combine_state_for_ensemble"]


def _without_tensors(model):
    """A copy of the model whose tensors are on the meta device, and keep their names."""
    return copy.deepcopy(model).to("meta")


class FunctionalModuleWithBuffers(nn.Module):
    """A module called as f(params, buffers, *inputs): tuples in the order of `param_names` and `buffer_names`."""

    def __init__(self, stateless_model, param_names, buffer_names, param_names_map=None, buffer_names_map=None):
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names, self.buffer_names = param_names, buffer_names

    @staticmethod
    def _create_from(model, disable_autograd_tracking=False):
        names, params = zip(*model.named_parameters()) if list(model.parameters()) else ((), ())
        buffer_names, buffers = zip(*model.named_buffers()) if list(model.buffers()) else ((), ())
        params = tuple(nn.Parameter(p.detach().clone(), p.requires_grad and not disable_autograd_tracking) for p in params)
        return (FunctionalModuleWithBuffers(_without_tensors(model), names, buffer_names), params, tuple(b.detach().clone() for b in buffers))

    def forward(self, params, buffers, *args, **kwargs):
        given = {**dict(zip(self.param_names, params)), **dict(zip(self.buffer_names, buffers))}
        return functional_call(self.stateless_model, given, args, kwargs)


class FunctionalModule(nn.Module):
    """A module called as f(params, *inputs)."""

    def __init__(self, stateless_model, param_names, names_map=None):
        super().__init__()
        self.stateless_model, self.param_names = stateless_model, param_names

    @staticmethod
    def _create_from(model, disable_autograd_tracking=False):
        whole, params, _ = FunctionalModuleWithBuffers._create_from(model, disable_autograd_tracking)
        return FunctionalModule(whole.stateless_model, whole.param_names), params

    def forward(self, params, *args, **kwargs):
        return functional_call(self.stateless_model, dict(zip(self.param_names, params)), args, kwargs)


def make_functional(model, disable_autograd_tracking=False):
    """(f, params) with f(params, *inputs) == model(*inputs). RuntimeError where the model has buffers."""
    if list(model.buffers()):
        raise RuntimeError("make_functional: the model has buffers; use make_functional_with_buffers")
    return FunctionalModule._create_from(model, disable_autograd_tracking)


def make_functional_with_buffers(model, disable_autograd_tracking=False):
    """(f, params, buffers) with f(params, buffers, *inputs) == model(*inputs)."""
    return FunctionalModuleWithBuffers._create_from(model, disable_autograd_tracking)


def combine_state_for_ensemble(models):
    """(f, params, buffers) of several models of one class: tuples of stacked tensors, for vmap over f."""
    models = list(models)
    if not models:
        raise RuntimeError("combine_state_for_ensemble: at least one model is needed, got 0")
    if len({m.training for m in models}) > 1:
        raise RuntimeError("combine_state_for_ensemble: all models must be in training mode, or none")
    if len({type(m) for m in models}) > 1:
        raise RuntimeError("combine_state_for_ensemble: all models must be of one class")
    made = [make_functional_with_buffers(m) for m in models]
    params = tuple(torch.stack(ps).detach() for ps in zip(*(p for _, p, _ in made)))
    return made[0][0], params, tuple(torch.stack(bs).detach() for bs in zip(*(b for _, _, b in made)))
