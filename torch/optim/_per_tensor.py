"""The step that the optimizers without a fused kernel share: one parameter after the other."""

import torch
from torch.optim.optimizer import _get_capturable_supported_devices, _get_scalar_dtype


def evaluate(closure):
    """The loss of the closure, with gradients recorded; None without a closure."""
    if closure is None:
        return None
    with torch.enable_grad():
        return closure()


def check_capturable(group, param):
    """Raises AssertionError where capturable=True meets a device that cannot record a step."""
    if group.get("capturable") and param.device.type not in _get_capturable_supported_devices():
        raise AssertionError(
            f"capturable=True needs parameters on one of {_get_capturable_supported_devices()}, "
            f"got {param.device.type}")


def new_count(group, param):
    """A step count of 0: a 0-d tensor, on the parameter's device where the step is recorded."""
    if group.get("capturable") or group.get("fused"):
        return torch.zeros((), dtype=_get_scalar_dtype(bool(group.get("fused"))),
                           device=param.device)
    return torch.tensor(0.0, dtype=_get_scalar_dtype())


def zeros_like(param):
    return torch.zeros_like(param, memory_format=torch.preserve_format)


def number(value, group):
    """A Python number of an option given as a tensor, unless it must stay differentiable."""
    if isinstance(value, torch.Tensor) and not (
            group.get("differentiable") or group.get("capturable")):
        return value.item()
    return value


def real_state(state):
    return {k: torch.view_as_real(v) if isinstance(v, torch.Tensor) and v.is_complex() else v
            for k, v in state.items()}


def step_each(optimizer, closure, init, update, sparse=False, weight_decay="weight_decay"):
    """Runs `update(param, grad, state, group)` for every parameter that has a gradient.

    `init(param, group)` gives the state of a parameter's first step. The gradient is negated for
    maximize=True and has the weight decay added (name of that option, None for none); complex
    parameters are handed over as their real views, so `update` writes state tensors in place.
    """
    loss = evaluate(closure)
    for group in optimizer.param_groups:
        maximize = group.get("maximize", False)
        decay = group[weight_decay] if weight_decay else 0
        if group.get("decoupled_weight_decay"):
            decay = 0
        for p in group["params"]:
            grad = p.grad
            if grad is None:
                continue
            if grad.is_sparse and not sparse:
                raise RuntimeError(
                    f"{type(optimizer).__name__} takes dense gradients, got a sparse one for a "
                    f"parameter of shape {tuple(p.shape)}")
            check_capturable(group, p)
            state = optimizer.state[p]
            if not state:
                state.update(init(p, group))
            if maximize:
                grad = -grad
            if decay != 0:
                if grad.is_sparse:
                    raise RuntimeError("weight_decay needs dense gradients, got a sparse one")
                grad = grad.add(p, alpha=decay)
            if p.is_complex():
                p, grad, state = torch.view_as_real(p), torch.view_as_real(grad), real_state(state)
            update(p, grad, state, group)
    return loss
