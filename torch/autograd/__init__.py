"""Automatic differentiation."""
import torch
from torch import _C
from torch.autograd.function import Function  # noqa: F401
from torch.autograd.grad_mode import (  # noqa: F401
    enable_grad, inference_mode, no_grad, set_grad_enabled, set_multithreading_enabled)

__all__ = ["Function", "Variable", "backward", "grad", "grad_mode", "no_grad", "enable_grad", "set_grad_enabled", "inference_mode"]


def _tuple(x):
    return (x,) if isinstance(x, torch.Tensor) else tuple(x)


def _roots(outputs):
    from torch.autograd.graph import GradientEdge
    if isinstance(outputs, GradientEdge) or any(isinstance(o, GradientEdge) for o in (outputs if isinstance(outputs, (tuple, list)) else ())):
        raise NotImplementedError("GradientEdge as an output of backward or grad is not there yet")
    return _tuple(outputs)


def _grads_for(outputs, grads):
    if grads is None:
        return (None,) * len(outputs)
    grads = (grads,) if isinstance(grads, torch.Tensor) else tuple(grads)
    if len(grads) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(grads)} gradients")
    return grads


def _batched_grad(outputs, grads, retain_graph, create_graph, inputs, unused):
    """One backward pass for every entry of the first dimension of the gradients, by vmap."""
    from torch._functorch.vmap import vmap
    for g, o in zip(grads, outputs):
        if g is not None and g.shape[1:] != o.shape:
            raise RuntimeError(f"with is_grads_batched=True a gradient has one more dimension in front than its output: it has shape "
                               f"{tuple(g.shape)}, the output {tuple(o.shape)}")
    used = []

    def once(*gs):
        used[:] = _C._run_backward(outputs, gs, retain_graph, create_graph, inputs, unused, False)
        return tuple(g for g in used if g is not None)
    result = iter(vmap(once, in_dims=tuple(None if g is None else 0 for g in grads))(*grads))
    return tuple(None if g is None else next(result) for g in used)


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, grad_variables=None, inputs=None):
    """Sums the gradients of `tensors` with respect to graph leaves into their .grad.

    `grad_tensors`: for each tensor a gradient of its shape, or None where it has one element. `inputs`: only these are
    filled. RuntimeError where a tensor does not require grad, shapes differ, or the graph was freed.
    """
    if _C._functorch.maybe_current_level() is not None:
        raise RuntimeError("backward() cannot be called inside a transform of torch.func; take derivatives there with torch.func.grad or vjp")
    outputs = _roots(tensors)
    if inputs is not None:
        inputs = _tuple(inputs)
        if not inputs:
            raise RuntimeError("'inputs' argument to backward() cannot be empty")
    grads = _grads_for(outputs, grad_variables if grad_tensors is None else grad_tensors)
    if retain_graph is None:
        retain_graph = create_graph
    _C._run_backward(outputs, grads, bool(retain_graph), bool(create_graph), inputs, True, True)


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, only_inputs=True, allow_unused=None,
         is_grads_batched=False, materialize_grads=False):
    """The sum of gradients of `outputs` with respect to each of `inputs`, as a tuple.

    `allow_unused`: None instead of an error for an input that the outputs do not depend on; `materialize_grads`: zeros
    for those. `is_grads_batched`: each of grad_outputs has one more dimension in front, and so have the results: one
    backward pass for each of its entries, all at once. The errors are those of backward().
    """
    if materialize_grads and allow_unused is False:
        raise ValueError("materialize_grads=True needs allow_unused to be True or left out, got False")
    outputs = _roots(outputs)
    inputs = _tuple(inputs)
    if _C._has_torch_function((*outputs, *inputs)):
        return torch._torch_function.dispatch(grad, (outputs, inputs), {"grad_outputs": grad_outputs, "retain_graph": retain_graph,
                                              "create_graph": create_graph, "only_inputs": only_inputs, "allow_unused": allow_unused})
    grads = _grads_for(outputs, grad_outputs)
    if retain_graph is None:
        retain_graph = create_graph
    unused = bool(allow_unused) if allow_unused is not None else materialize_grads
    if is_grads_batched:
        result = _batched_grad(outputs, grads, bool(retain_graph), bool(create_graph), inputs, unused)
    else:
        result = _C._run_backward(outputs, grads, bool(retain_graph), bool(create_graph), inputs, unused, False)
    if materialize_grads:
        result = tuple(torch.zeros_like(x, requires_grad=create_graph) if g is None else g for g, x in zip(result, inputs))
    return result


class _VariableMeta(type):
    def __instancecheck__(cls, other):
        return isinstance(other, torch.Tensor)


class Variable(metaclass=_VariableMeta):
    """Deprecated: tensors are variables. Variable(t, requires_grad) returns t."""

    def __new__(cls, data, requires_grad=False, volatile=None):
        return data.detach().requires_grad_(requires_grad) if requires_grad else data.detach()


def __getattr__(name):
    from importlib import import_module
    if name in ("gradcheck", "gradgradcheck", "GradcheckError"):
        m = import_module("torch.autograd.gradcheck")
        globals().update(gradcheck=m.gradcheck, gradgradcheck=m.gradgradcheck, GradcheckError=m.GradcheckError)
        return globals()[name]
    if name in ("detect_anomaly", "set_detect_anomaly"):
        return getattr(import_module("torch.autograd.anomaly_mode"), name)
    if name in ("function", "functional", "graph", "anomaly_mode", "forward_ad", "grad_mode", "variable"):
        return import_module("torch.autograd." + name)
    from torch import _absent
    raise _absent.error(__name__, name)


def _is_checkpoint_valid():
    return True
