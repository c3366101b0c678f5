"""Modules as functions of their parameters."""
import torch
from torch import nn

__all__ = ["functional_call", "stack_module_state", "replace_all_batch_norm_modules_"]


def functional_call(module, parameter_and_buffer_dicts, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """module(*args, **kwargs) with parameters and buffers taken from a dict of names, or from several of them.

    ValueError where several dicts name one tensor, or a name is given that cannot be told apart.
    """
    from torch.nn.utils.stateless import functional_call as call
    given = parameter_and_buffer_dicts
    if not isinstance(given, dict):
        if not isinstance(given, (list, tuple)) or not all(isinstance(d, dict) for d in given):
            raise ValueError(f"functional_call: parameters must be given as a dict or a sequence of dicts, not {type(given)}")
        names = [k for d in given for k in d]
        twice = sorted({k for k in names if names.count(k) > 1})
        if twice:
            raise ValueError(f"functional_call: {twice} stand in more than one of the dicts")
        given = {k: v for d in given for k, v in d.items()}
    return call(module, given, args, kwargs, tie_weights=tie_weights, strict=strict)


def _stack(kind, tensors):
    if kind is nn.Parameter or isinstance(tensors[0], nn.Parameter):
        wants = {t.requires_grad for t in tensors}
        if len(wants) > 1:
            raise RuntimeError("stack_module_state: a parameter requires grad in some of the models and not in others")
        return torch.stack([t.detach() for t in tensors]).requires_grad_(wants.pop())
    return torch.stack([t.detach() for t in tensors])


def stack_module_state(models):
    """(parameters, buffers) of several modules of one class, each a dict of names to stacked tensors (len(models), ...),
    for vmap over functional_call.

    Parameters of the result are leaves that require grad as those of the models do. RuntimeError for no model, for
    models of several classes, or of which some train and others do not.
    """
    models = list(models)
    if not models:
        raise RuntimeError("stack_module_state: at least one model is needed, got 0")
    if len({m.training for m in models}) > 1:
        raise RuntimeError("stack_module_state: all models must be in training mode, or none")
    if len({type(m) for m in models}) > 1:
        raise RuntimeError("stack_module_state: all models must be of one class")
    params = [dict(m.named_parameters()) for m in models]
    buffers = [dict(m.named_buffers()) for m in models]
    return ({k: _stack(nn.Parameter, [p[k] for p in params]) for k in params[0]},
            {k: _stack(None, [b[k] for b in buffers]) for k in buffers[0]})


def replace_all_batch_norm_modules_(root):
    """Makes every batch norm within root keep no running statistics, in place, as vmap over the batch needs; returns root."""
    for m in root.modules():
        if isinstance(m, nn.modules.batchnorm._BatchNorm):
            m.running_mean = m.running_var = m.num_batches_tracked = None
            m.track_running_stats = False
    return root
