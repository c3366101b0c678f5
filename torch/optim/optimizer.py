"""The base class of all optimizers: parameter groups, state, hooks and the saved form."""

import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any, TypeAlias

import torch
from torch.utils.hooks import RemovableHandle

__all__ = ["Optimizer", "register_optimizer_step_pre_hook", "register_optimizer_step_post_hook"]

StateDict: TypeAlias = dict[str, Any]
ParamsT: TypeAlias = (
    Iterable[torch.Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, torch.Tensor]])
params_t = ParamsT
_params_t = ParamsT
Args: TypeAlias = tuple[Any, ...]
Kwargs: TypeAlias = dict[str, Any]
GlobalOptimizerPreHook: TypeAlias = Callable[["Optimizer", Args, Kwargs], Any]
GlobalOptimizerPostHook: TypeAlias = Callable[["Optimizer", Args, Kwargs], None]

_drop_grads = torch._C._drop_grads
_global_optimizer_pre_hooks: dict[int, GlobalOptimizerPreHook] = OrderedDict()
_global_optimizer_post_hooks: dict[int, GlobalOptimizerPostHook] = OrderedDict()


class _RequiredParameter:
    """Marks an option that every parameter group must give itself."""

    def __repr__(self):
        return "<required parameter>"


required = _RequiredParameter()


def register_optimizer_step_pre_hook(hook):
    """Calls `hook(optimizer, args, kwargs)` before each step of every optimizer."""
    handle = RemovableHandle(_global_optimizer_pre_hooks)
    _global_optimizer_pre_hooks[handle.id] = hook
    return handle


def register_optimizer_step_post_hook(hook):
    """Calls `hook(optimizer, args, kwargs)` after each step of every optimizer."""
    handle = RemovableHandle(_global_optimizer_post_hooks)
    _global_optimizer_post_hooks[handle.id] = hook
    return handle


def _use_grad_for_differentiable(func):
    """Runs a step with gradients recorded only where the optimizer is differentiable."""

    @functools.wraps(func)
    def with_grad_mode(self, *args, **kwargs):
        before = torch.is_grad_enabled()
        wanted = bool(self.defaults["differentiable"])
        if before == wanted:
            return func(self, *args, **kwargs)
        torch.set_grad_enabled(wanted)
        try:
            return func(self, *args, **kwargs)
        finally:
            torch.set_grad_enabled(before)

    return with_grad_mode


def _get_value(x):
    return x.item() if isinstance(x, torch.Tensor) else x


def _to_scalar(x):
    """A 1-element tensor as a 0-d tensor; anything else as it is."""
    return x.squeeze() if isinstance(x, torch.Tensor) and x.dim() != 0 else x


def _stack_if_compiling(x):
    return x


def _get_scalar_dtype(is_fused=None):
    if is_fused:
        return torch.float32
    return torch.float64 if torch.get_default_dtype() == torch.float64 else torch.float32


def _get_capturable_supported_devices(supports_xla=True):
    devices = ["cuda", "xpu", "hpu"]
    if supports_xla:
        devices.append("xla")
    return devices


def _get_foreach_kernels_supported_devices():
    return ["cuda", "xpu", "mtia", torch._C._get_privateuse1_backend_name()] if hasattr(
        torch._C, "_get_privateuse1_backend_name") else ["cuda", "xpu", "mtia"]


def _get_fused_kernels_supported_devices():
    return ["mps", "cuda", "xpu", "hpu", "cpu", "mtia"]


def _default_to_fused_or_foreach(params, differentiable, use_fused=False):
    """(fused, foreach) when the caller asked for neither: lists pay on accelerators only."""
    if differentiable:
        return False, False
    fused = use_fused and all(
        p is None or (type(p) in (torch.Tensor, torch.nn.Parameter) and p.is_floating_point()
                      and p.device.type in _get_fused_kernels_supported_devices())
        for p in params)
    foreach = not fused and all(
        p is None or (type(p) in (torch.Tensor, torch.nn.Parameter)
                      and p.device.type in _get_foreach_kernels_supported_devices())
        for p in params)
    return fused, foreach


def _device_dtype_check_for_fused(p, cuda_unsupported=False):
    devices = _get_fused_kernels_supported_devices()
    if cuda_unsupported:
        devices.remove("cuda")
    if not (p.device.type in devices and torch.is_floating_point(p)):
        raise RuntimeError(
            "fused=True takes floating point parameters on one of the devices "
            f"{devices}, got {p.dtype} on {p.device.type}")


def _disable_dynamo_if_unsupported(single_tensor_fn=None):
    return lambda func: func


def _view_as_real(params, *state_and_grads):
    """Replaces complex entries of the lists by their real views, in place."""
    for i, p in enumerate(params):
        if torch.is_complex(p):
            params[i] = torch.view_as_real(p)
            for entries in state_and_grads:
                entries[i] = torch.view_as_real(entries[i])


def _real(*tensors):
    """Real views of complex tensors, others (and None) as they are."""
    return tuple(torch.view_as_real(t) if t is not None and torch.is_complex(t) else t
                 for t in tensors)


def _check_lr(lr, foreach=False, capturable=False):
    """Raises for a negative rate, or a tensor rate where it cannot be used."""
    if isinstance(lr, torch.Tensor):
        if foreach and not capturable:
            raise ValueError("a tensor lr together with foreach=True needs capturable=True")
        if lr.numel() != 1:
            raise ValueError(f"a tensor lr must hold 1 element, got shape {tuple(lr.shape)}")
    if not 0.0 <= lr:
        raise ValueError(f"lr must be 0 or more, got {lr}")


def _check_at_least(name, value, limit=0.0):
    if not limit <= value:
        raise ValueError(f"{name} must be {limit:g} or more, got {value}")


def _check_betas(betas):
    for i, beta in enumerate(betas):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"betas[{i}] must be in [0, 1), got {beta}")


def _check_fused(optimizer, fused, foreach, differentiable):
    """The rules for fused=True that Adam, Adagrad and SGD share."""
    if not fused:
        return
    if differentiable:
        raise RuntimeError("fused=True cannot be differentiated; pass differentiable=False")
    if foreach:
        raise RuntimeError("fused=True and foreach=True exclude each other")
    optimizer._step_supports_amp_scaling = True
    for group in optimizer.param_groups:
        for p in group["params"]:
            _device_dtype_check_for_fused(p)


class Optimizer:
    """Base class: holds the parameter groups and the state of each parameter.

    `params`: tensors, (name, tensor) pairs or dicts with key "params" and options of that group;
    `defaults`: the options of groups that do not give their own. A subclass defines `step`.
    Raises TypeError for things that are no tensors, ValueError for an empty list, a tensor that is
    no leaf, and a parameter in two groups.
    """

    OptimizerPreHook: TypeAlias = Callable[["Optimizer", Args, Kwargs], Any]
    OptimizerPostHook: TypeAlias = Callable[["Optimizer", Args, Kwargs], None]

    def __init__(self, params, defaults):
        self.defaults = defaults
        self._fresh_hooks()
        self._patch_step_function()
        if isinstance(params, torch.Tensor):
            raise TypeError(
                f"params must be a list of tensors or of dicts, got one tensor ({params.type()}); "
                "write [tensor]")
        self.state = defaultdict(dict)
        self.param_groups = []
        groups = list(params)
        if not groups:
            raise ValueError("params is empty: there is nothing to optimize")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)
        self._warned_capturable_if_run_uncaptured = True

    def _fresh_hooks(self):
        self._optimizer_step_pre_hooks = OrderedDict()
        self._optimizer_step_post_hooks = OrderedDict()
        self._optimizer_state_dict_pre_hooks = OrderedDict()
        self._optimizer_state_dict_post_hooks = OrderedDict()
        self._optimizer_load_state_dict_pre_hooks = OrderedDict()
        self._optimizer_load_state_dict_post_hooks = OrderedDict()

    def __getstate__(self):
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state):
        self.__dict__.update(state)
        for name in ("step_pre", "step_post", "state_dict_pre", "state_dict_post",
                     "load_state_dict_pre", "load_state_dict_post"):
            self.__dict__.setdefault(f"_optimizer_{name}_hooks", OrderedDict())
        self._patch_step_function()
        self.defaults.setdefault("differentiable", False)

    def __repr__(self):
        lines = [self.__class__.__name__ + " ("]
        for i, group in enumerate(self.param_groups):
            lines.append(("\n" if i else "") + f"Parameter Group {i}")
            lines.extend(f"    {key}: {group[key]}" for key in sorted(group) if key != "params")
        return "\n".join(lines) + "\n)"

    def _cuda_graph_capture_health_check(self):
        pass

    def _accelerator_graph_capture_health_check(self):
        pass

    def _optimizer_step_code(self):
        """A mark in the call stack by which a profiler can find steps."""

    @staticmethod
    def profile_hook_step(func):
        """Wraps `step` so that the hooks run around it."""

        @functools.wraps(func)
        def wrapper(*args, **kwargs):
            self = args[0]
            if not (self._optimizer_step_pre_hooks or self._optimizer_step_post_hooks
                    or _global_optimizer_pre_hooks or _global_optimizer_post_hooks):
                return func(*args, **kwargs)
            for hook in [*_global_optimizer_pre_hooks.values(),
                         *self._optimizer_step_pre_hooks.values()]:
                result = hook(self, args, kwargs)
                if result is not None:
                    if not (isinstance(result, tuple) and len(result) == 2):
                        raise RuntimeError(
                            f"a step pre-hook of {type(self).__name__} must return None or "
                            f"(args, kwargs), got {result!r}")
                    args, kwargs = result
            out = func(*args, **kwargs)
            self._optimizer_step_code()
            for hook in [*self._optimizer_step_post_hooks.values(),
                         *_global_optimizer_post_hooks.values()]:
                hook(self, args, kwargs)
            return out

        return wrapper

    @staticmethod
    def _group_tensors_by_device_and_dtype(tensorlistlist, with_indices=False):
        """Splits parallel lists by the (device, dtype) of the entries of the first list."""
        groups = {}
        for i, first in enumerate(tensorlistlist[0]):
            key = (None, None) if first is None else (first.device, first.dtype)
            lists, where = groups.setdefault(key, ([[] for _ in tensorlistlist], []))
            for out, entries in zip(lists, tensorlistlist):
                if entries:
                    out.append(entries[i])
            where.append(i)
        return groups

    def _patch_step_function(self):
        self._zero_grad_profile_name = f"Optimizer.zero_grad#{self.__class__.__name__}.zero_grad"
        step = self.__class__.step
        if not getattr(step, "hooked", None):
            self.__class__.step = self.profile_hook_step(step)
            self.__class__.step.hooked = True

    def _add_hook(self, hooks, hook, prepend=False):
        handle = RemovableHandle(hooks)
        hooks[handle.id] = hook
        if prepend:
            hooks.move_to_end(handle.id, last=False)
        return handle

    def register_step_pre_hook(self, hook):
        """Calls `hook(optimizer, args, kwargs)` before `step`; it may return new (args, kwargs)."""
        return self._add_hook(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook):
        """Calls `hook(optimizer, args, kwargs)` after `step`."""
        return self._add_hook(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook, prepend=False):
        """Calls `hook(optimizer)` before `state_dict`."""
        return self._add_hook(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook, prepend=False):
        """Calls `hook(optimizer, state_dict)` on the result; it may return another one."""
        return self._add_hook(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook, prepend=False):
        """Calls `hook(optimizer, state_dict)` before loading; it may return another dict."""
        return self._add_hook(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook, prepend=False):
        """Calls `hook(optimizer)` after loading."""
        return self._add_hook(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    def state_dict(self):
        """{"state": by parameter number, "param_groups": options and parameter numbers}.

        The tensors are those of the optimizer, not copies.
        """
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        number = {}
        groups = []
        for group in self.param_groups:
            for p in group["params"]:
                number.setdefault(id(p), len(number))
            packed = {k: v for k, v in group.items() if k != "params"}
            packed["params"] = [number[id(p)] for p in group["params"]]
            groups.append(packed)
        state = {number[id(k)] if isinstance(k, torch.Tensor) else k: v
                 for k, v in self.state.items()}
        result = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            changed = hook(self, result)
            if changed is not None:
                result = changed
        return result

    @staticmethod
    def _process_value_according_to_param_policy(param, value, param_id, param_groups, key=None):
        """A loaded state tensor in the dtype and on the device that the parameter asks for."""
        fused = capturable = False
        for group in param_groups:
            if param_id in group["params"]:
                fused = group.get("fused", False)
                capturable = group.get("capturable", False)
                break
        if key == "step":
            # The count is exact in float32 and stays there, whatever the dtype of the parameter.
            if capturable or fused:
                return value.to(dtype=torch.float32, device=param.device)
            return value
        if param.is_floating_point():
            return value.to(dtype=param.dtype, device=param.device)
        return value.to(device=param.device)

    def load_state_dict(self, state_dict):
        """Takes over what `state_dict()` of an optimizer with groups of the same sizes gave.

        Raises ValueError when the number of groups or of their parameters differs.
        """
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            changed = hook(self, state_dict)
            if changed is not None:
                state_dict = changed
        groups = self.param_groups
        saved = deepcopy(state_dict["param_groups"])
        if len(groups) != len(saved):
            raise ValueError(
                f"the loaded state has {len(saved)} parameter groups, the optimizer {len(groups)}")
        for i, (group, old) in enumerate(zip(groups, saved)):
            if len(group["params"]) != len(old["params"]):
                raise ValueError(
                    f"group {i} of the loaded state has {len(old['params'])} parameters, the "
                    f"optimizer's {len(group['params'])}")
        by_number = {number: p for group, old in zip(groups, saved)
                     for number, p in zip(old["params"], group["params"])}

        def moved(param, value, number, key=None):
            if isinstance(value, torch.Tensor):
                return Optimizer._process_value_according_to_param_policy(
                    param, value, number, state_dict["param_groups"], key)
            if isinstance(value, dict):
                return {k: moved(param, v, number, k) for k, v in value.items()}
            if isinstance(value, (list, tuple)):
                return type(value)(moved(param, v, number) for v in value)
            return value

        state = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in by_number:
                param = by_number[key]
                state[param] = moved(param, value, key)
            else:
                state[key] = value
        for group, old in zip(groups, saved):
            old["params"] = group["params"]
            if "param_names" in group and "param_names" not in old:
                old["param_names"] = group["param_names"]
        self.__setstate__({"state": state, "param_groups": saved})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    def zero_grad(self, set_to_none=True):
        """Drops the gradients, or with `set_to_none=False` fills them with zeros."""
        for group in self.param_groups:
            if set_to_none:
                _drop_grads(group["params"])
                continue
            for p in group["params"]:
                grad = p.grad
                if grad is None:
                    continue
                if grad.grad_fn is not None:
                    grad.detach_()
                else:
                    grad.requires_grad_(False)
                grad.zero_()

    def step(self, closure=None):
        """Updates the parameters; `closure` evaluates the model again and returns the loss."""
        raise NotImplementedError(f"{type(self).__name__}.step")

    def add_param_group(self, param_group):
        """Adds a dict with key "params" (a tensor or a sequence) and options of that group."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, got {type(param_group).__name__}")
        params = param_group["params"]
        if isinstance(params, torch.Tensor):
            param_group["params"] = [params]
        elif isinstance(params, set):
            raise TypeError("params is a set, whose order changes between runs; pass a list")
        else:
            param_group["params"] = list(params)
        tensors, names = [], []
        for p in param_group["params"]:
            if isinstance(p, tuple):
                names.append(p[0])
                p = p[1]
            tensors.append(p)
        param_group["params"] = tensors
        if names:
            if len(names) != len(tensors):
                raise ValueError(
                    f"{len(names)} of {len(tensors)} parameters have names: give all one, or none")
            param_group["param_names"] = names
        for i, p in enumerate(tensors):
            if not isinstance(p, torch.Tensor):
                raise TypeError(f"params[{i}] must be a tensor, got {type(p).__name__}")
            if not self.defaults.get("differentiable", None) and not (p.is_leaf or p.retains_grad):
                raise ValueError(
                    f"params[{i}] of shape {tuple(p.shape)} is not a leaf: it is computed from "
                    "other tensors, optimize those")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"the parameter group must give a value for {name}")
            param_group.setdefault(name, default)
        if len({id(p) for p in tensors}) != len(tensors):
            warnings.warn("a parameter occurs twice in one parameter group; this will become an "
                          "error", stacklevel=3)
        if self.param_groups and ("param_names" in param_group) != (
                "param_names" in self.param_groups[0]):
            raise ValueError("all parameter groups must have names, or none")
        held = {id(p) for group in self.param_groups for p in group["params"]}
        if not held.isdisjoint(id(p) for p in tensors):
            raise ValueError("a parameter occurs in more than one parameter group")
        self.param_groups.append(param_group)
