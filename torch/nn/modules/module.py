"""`Module`, the base of every layer: registration, moving, saving, calling with hooks."""

from __future__ import annotations

import functools
import warnings
import weakref
from collections import OrderedDict

import torch
from torch import Tensor
from torch.nn.modules import _moving, _saving
from torch.nn.modules._saving import _EXTRA_STATE_KEY_SUFFIX, _IncompatibleKeys  # noqa: F401
from torch.nn.parameter import Buffer, Parameter
from torch.utils.hooks import BackwardHook, RemovableHandle

__all__ = [
    "register_module_forward_pre_hook",
    "register_module_forward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_backward_hook",
    "register_module_full_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
    "Module",
]


def _addindent(s_, numSpaces):
    """`s_` with every line but the first indented."""
    return s_.replace("\n", "\n" + numSpaces * " ")


# Hooks that run for every module.
_global_buffer_registration_hooks = OrderedDict()
_global_module_registration_hooks = OrderedDict()
_global_parameter_registration_hooks = OrderedDict()
_global_backward_pre_hooks = OrderedDict()
_global_backward_hooks = OrderedDict()
_global_is_full_backward_hook = None
_global_forward_pre_hooks = OrderedDict()
_global_forward_hooks = OrderedDict()
_global_forward_hooks_always_called = OrderedDict()
_global_forward_hooks_with_kwargs = OrderedDict()


def _has_any_global_hook():
    return (
        _global_backward_pre_hooks
        or _global_backward_hooks
        or _global_forward_pre_hooks
        or _global_forward_hooks
        or _global_forward_hooks_always_called
        or _global_forward_hooks_with_kwargs
    )


class _WrappedHook:
    """A hook bound to its module by a weak reference; a state dict hook's calling form."""

    def __init__(self, hook, module=None):
        self.hook = hook
        functools.update_wrapper(self, hook)
        self.with_module = module is not None
        if self.with_module:
            self.module = weakref.ref(module)

    def __call__(self, *args, **kwargs):
        if not self.with_module:
            return self.hook(*args, **kwargs)
        module = self.module()
        if module is None:
            raise RuntimeError("the module of this hook no longer exists")
        return self.hook(module, *args, **kwargs)

    def __getstate__(self):
        state = {"hook": self.hook, "with_module": self.with_module}
        if self.with_module:
            state["module"] = self.module()
        return state

    def __setstate__(self, state):
        self.hook = state["hook"]
        self.with_module = state["with_module"]
        if self.with_module:
            if state["module"] is None:
                raise RuntimeError("the module of a saved hook no longer exists")
            self.module = weakref.ref(state["module"])


def _register(hooks, hook, extra_dict=None):
    handle = RemovableHandle(hooks, extra_dict=extra_dict)
    hooks[handle.id] = hook
    return handle


def register_module_buffer_registration_hook(hook):
    """Registers ``hook(module, name, buffer) -> None or new buffer``, run by `register_buffer`."""
    return _register(_global_buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook):
    """Registers ``hook(module, name, submodule) -> None or new submodule``, run when a
    submodule is added to any module."""
    return _register(_global_module_registration_hooks, hook)


def register_module_parameter_registration_hook(hook):
    """Registers ``hook(module, name, param) -> None or new parameter``, run by
    `register_parameter`."""
    return _register(_global_parameter_registration_hooks, hook)


def register_module_forward_pre_hook(hook):
    """Registers ``hook(module, args) -> None or new args`` before every module's forward."""
    return _register(_global_forward_pre_hooks, hook)


def register_module_forward_hook(hook, *, with_kwargs=False, always_call=False):
    """Registers ``hook(module, args, output) -> None or new output`` after every module's
    forward; with `with_kwargs` the hook is called as ``hook(module, args, kwargs, output)``."""
    handle = _register(
        _global_forward_hooks,
        hook,
        [_global_forward_hooks_with_kwargs, _global_forward_hooks_always_called],
    )
    if with_kwargs:
        _global_forward_hooks_with_kwargs[handle.id] = True
    if always_call:
        _global_forward_hooks_always_called[handle.id] = True
    return handle


def _set_global_backward_kind(full):
    global _global_is_full_backward_hook
    if _global_is_full_backward_hook is (not full):
        raise RuntimeError(
            "global full backward hooks and the old global backward hooks exclude each "
            "other: use only one kind"
        )
    _global_is_full_backward_hook = full


def register_module_backward_hook(hook):
    """Registers ``hook(module, grad_input, grad_output)`` for every module, seeing only the
    last node of its forward. Prefer `register_module_full_backward_hook`."""
    _set_global_backward_kind(False)
    return _register(_global_backward_hooks, hook)


def register_module_full_backward_pre_hook(hook):
    """Registers ``hook(module, grad_output) -> None or new grad_output`` for every module."""
    return _register(_global_backward_pre_hooks, hook)


def register_module_full_backward_hook(hook):
    """Registers ``hook(module, grad_input, grad_output) -> None or new grad_input`` for every
    module, run when the gradients with respect to its inputs are known."""
    _set_global_backward_kind(True)
    return _register(_global_backward_hooks, hook)


def _forward_unimplemented(self, *input):
    """Computes the module's result; every subclass defines it."""
    raise NotImplementedError(f"{type(self).__name__} does not define `forward`")


def _check_name(self, kind, name, own):
    if not isinstance(name, str):
        raise TypeError(f"the name of a {kind} must be a string, but got {torch.typename(name)}")
    if "." in name:
        raise KeyError(f"the name of a {kind} must not contain a dot, but got {name!r}")
    if name == "":
        raise KeyError(f"the name of a {kind} must not be empty")
    if name not in own and hasattr(self, name):
        raise KeyError(
            f"{type(self).__name__} already has an attribute {name!r}: it cannot be registered as "
            "a "
            f"{kind}"
        )


class Module:
    """The base class of layers and models.

    A subclass calls ``super().__init__()`` first, then assigns parameters, buffers and other
    modules as attributes, and defines `forward`. Modules form a tree: `parameters`,
    `state_dict`, `to`, `train` and the like act on the whole of it.

    Attributes:
        training (bool): whether the module is in training mode.
    """

    dump_patches: bool = False
    _version: int = 1
    training: bool
    call_super_init: bool = False
    _compiled_call_impl = None

    def __init__(self, *args, **kwargs) -> None:
        if not self.call_super_init and (args or kwargs):
            what = (
                f"keyword argument {next(iter(kwargs))!r}"
                if kwargs
                else f"{len(args)} positional arguments"
            )
            raise TypeError(f"{type(self).__name__}.__init__() got an unexpected {what}")
        # Written into __dict__ directly, since __setattr__ looks for these very dictionaries.
        d = self.__dict__
        d["training"] = True
        d["_parameters"] = {}
        d["_buffers"] = {}
        d["_non_persistent_buffers_set"] = set()
        d["_backward_pre_hooks"] = OrderedDict()
        d["_backward_hooks"] = OrderedDict()
        d["_is_full_backward_hook"] = None
        d["_forward_hooks"] = OrderedDict()
        d["_forward_hooks_with_kwargs"] = OrderedDict()
        d["_forward_hooks_always_called"] = OrderedDict()
        d["_forward_pre_hooks"] = OrderedDict()
        d["_forward_pre_hooks_with_kwargs"] = OrderedDict()
        d["_state_dict_hooks"] = OrderedDict()
        d["_state_dict_pre_hooks"] = OrderedDict()
        d["_load_state_dict_pre_hooks"] = OrderedDict()
        d["_load_state_dict_post_hooks"] = OrderedDict()
        d["_modules"] = {}
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    forward = _forward_unimplemented

    # ---- registration -------------------------------------------------------------------

    def register_buffer(self, name: str, tensor, persistent: bool = True) -> None:
        """Adds a tensor that belongs to the module's state but is not trained.

        Args:
            name (str): the attribute under which it is found.
            tensor (Tensor or None): the buffer; None is kept as a place and not saved.
            persistent (bool): whether `state_dict` holds it.
        """
        if "_buffers" not in self.__dict__:
            raise AttributeError("a buffer was assigned before Module.__init__() was called")
        _check_name(self, "buffer", name, self._buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"buffer {name!r} must be a torch.Tensor or None, but got {torch.typename(tensor)}"
            )
        for hook in _global_buffer_registration_hooks.values():
            output = hook(self, name, tensor)
            if output is not None:
                tensor = output
        self._buffers[name] = tensor
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name: str, param) -> None:
        """Adds a parameter under the attribute `name`; None is kept as a place.

        Raises TypeError if `param` is not a `Parameter`, ValueError if it has a grad_fn.
        """
        if "_parameters" not in self.__dict__:
            raise AttributeError("a parameter was assigned before Module.__init__() was called")
        _check_name(self, "parameter", name, self._parameters)
        if param is None:
            self._parameters[name] = None
            return
        if not isinstance(param, Parameter):
            raise TypeError(
                f"parameter {name!r} must be a torch.nn.Parameter or None, but got "
                f"{torch.typename(param)}"
            )
        if param.grad_fn:
            raise ValueError(
                f"parameter {name!r} was computed from other tensors: parameters must be leaves; "
                "to express it by another tensor, compute it in forward()"
            )
        for hook in _global_parameter_registration_hooks.values():
            output = hook(self, name, param)
            if output is not None:
                param = output
        self._parameters[name] = param

    def add_module(self, name: str, module) -> None:
        """Adds a submodule under the attribute `name`; None is kept as a place."""
        if not isinstance(module, Module) and module is not None:
            raise TypeError(
                f"submodule {name!r} must be a Module or None, but got {torch.typename(module)}"
            )
        _check_name(self, "submodule", name, self._modules)
        for hook in _global_module_registration_hooks.values():
            output = hook(self, name, module)
            if output is not None:
                module = output
        self._modules[name] = module

    def register_module(self, name: str, module) -> None:
        """The same as `add_module`."""
        self.add_module(name, module)

    def __setattr__(self, name, value) -> None:
        d = self.__dict__
        params = d.get("_parameters")
        if isinstance(value, Tensor):
            if isinstance(value, Parameter):
                if params is None:
                    raise AttributeError(
                        "a parameter was assigned before Module.__init__() was called"
                    )
                self._forget(name, d, d["_buffers"], d["_modules"])
                self.register_parameter(name, value)
                return
        elif isinstance(value, Module):
            modules = d.get("_modules")
            if modules is None:
                raise AttributeError("a submodule was assigned before Module.__init__() was called")
            self._forget(name, d, d["_parameters"], d["_buffers"])
            for hook in _global_module_registration_hooks.values():
                output = hook(self, name, value)
                if output is not None:
                    value = output
            modules[name] = value
            return
        if params is None:
            object.__setattr__(self, name, value)
            return
        if name in params:
            if value is not None:
                raise TypeError(
                    f"cannot assign {torch.typename(value)} as parameter {name!r}: it must be a "
                    "torch.nn.Parameter or None"
                )
            self.register_parameter(name, None)
            return
        modules = d["_modules"]
        if name in modules:
            if value is not None:
                raise TypeError(
                    f"cannot assign {torch.typename(value)} as submodule {name!r}: it must be a "
                    "torch.nn.Module or None"
                )
            for hook in _global_module_registration_hooks.values():
                output = hook(self, name, value)
                if output is not None:
                    value = output
            modules[name] = value
            return
        buffers = d["_buffers"]
        known = name in buffers
        if known or isinstance(value, Tensor):
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(
                    f"cannot assign {torch.typename(value)} as buffer {name!r}: it must be a "
                    "torch.Tensor, torch.nn.Buffer or None"
                )
            if isinstance(value, Buffer):
                persistent = getattr(value, "persistent", True)
                self._forget(name, d, d["_parameters"], modules)
                buffers.pop(name, None)
                self.register_buffer(name, value, persistent)
                return
            if known:
                for hook in _global_buffer_registration_hooks.values():
                    output = hook(self, name, value)
                    if output is not None:
                        value = output
                buffers[name] = value
                return
        object.__setattr__(self, name, value)

    def _forget(self, name, *places):
        for place in places:
            if name in place:
                del place[name]
        self._non_persistent_buffers_set.discard(name)

    def __getattr__(self, name: str):
        d = self.__dict__
        if "_parameters" in d:
            found = d["_parameters"]
            if name in found:
                return found[name]
        if "_buffers" in d:
            found = d["_buffers"]
            if name in found:
                return found[name]
        if "_modules" in d:
            found = d["_modules"]
            if name in found:
                return found[name]
        raise AttributeError(
            f"'{type(self).__name__}' object has no attribute '{name}'", name=name, obj=self
        )

    def __delattr__(self, name):
        for place in (self._parameters, self._buffers, self._modules):
            if name in place:
                del place[name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self):
        keys = [*dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers]
        return sorted(k for k in keys if not k[0].isdigit())

    # ---- finding things in the tree -----------------------------------------------------

    def get_submodule(self, target: str) -> Module:
        """The submodule with the dotted path `target`; AttributeError where there is none."""
        if target == "":
            return self
        mod = self
        for atom in target.split("."):
            if not hasattr(mod, atom):
                raise AttributeError(
                    f"{mod._get_name()} has no attribute `{atom}` (looking for submodule "
                    f"`{target}`)"
                )
            mod = getattr(mod, atom)
            if not isinstance(mod, Module):
                raise AttributeError(f"`{atom}` of `{target}` is not a Module")
        return mod

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Puts `module` at the dotted path `target`; with `strict` the place must exist."""
        if target == "":
            raise ValueError("set_submodule needs the path of a submodule, but got an empty string")
        if not isinstance(module, Module):
            raise ValueError(f"set_submodule needs a Module, but got {type(module).__name__}")
        prefix, _, name = target.rpartition(".")
        parent = self.get_submodule(prefix)
        if strict and not hasattr(parent, name):
            raise AttributeError(
                f"{parent._get_name()} has no attribute `{name}` (looking for submodule `{target}`)"
            )
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError(f"`{name}` of `{target}` is not a Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter with the dotted path `target`; AttributeError where there is none."""
        prefix, _, name = target.rpartition(".")
        mod = self.get_submodule(prefix)
        if not hasattr(mod, name):
            raise AttributeError(f"{mod._get_name()} has no attribute `{name}`")
        param = getattr(mod, name)
        if not isinstance(param, Parameter):
            raise AttributeError(f"`{name}` of {mod._get_name()} is not an nn.Parameter")
        return param

    def get_buffer(self, target: str) -> Tensor:
        """The buffer with the dotted path `target`; AttributeError where there is none."""
        prefix, _, name = target.rpartition(".")
        mod = self.get_submodule(prefix)
        if not hasattr(mod, name):
            raise AttributeError(f"{mod._get_name()} has no attribute `{name}`")
        if name not in mod._buffers:
            raise AttributeError(f"`{name}` of {mod._get_name()} is not a buffer")
        return getattr(mod, name)

    def _named_members(self, get_members_fn, prefix="", recurse=True, remove_duplicate=True):
        seen = set()
        modules = (
            self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
            if recurse
            else [(prefix, self)]
        )
        for module_prefix, module in modules:
            for k, v in get_members_fn(module):
                if v is None or v in seen:
                    continue
                if remove_duplicate:
                    seen.add(v)
                yield module_prefix + ("." if module_prefix else "") + k, v

    def parameters(self, recurse: bool = True):
        """Iterates over the parameters, each once."""
        for _, param in self.named_parameters(recurse=recurse):
            yield param

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ):
        """Iterates over (dotted name, parameter)."""
        yield from self._named_members(
            lambda m: m._parameters.items(),
            prefix=prefix,
            recurse=recurse,
            remove_duplicate=remove_duplicate,
        )

    def buffers(self, recurse: bool = True):
        """Iterates over the buffers, each once."""
        for _, buf in self.named_buffers(recurse=recurse):
            yield buf

    def named_buffers(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True):
        """Iterates over (dotted name, buffer)."""
        yield from self._named_members(
            lambda m: m._buffers.items(),
            prefix=prefix,
            recurse=recurse,
            remove_duplicate=remove_duplicate,
        )

    def children(self):
        """Iterates over the direct submodules, each once."""
        for _, module in self.named_children():
            yield module

    def named_children(self):
        """Iterates over (name, direct submodule), each submodule once."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def modules(self, remove_duplicate: bool = True):
        """Iterates over this module and all below it, each once by default."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_modules(self, memo=None, prefix: str = "", remove_duplicate: bool = True):
        """Iterates over (dotted name, module), this module first under the name `prefix`."""
        if memo is None:
            memo = set()
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                below = prefix + ("." if prefix else "") + name
                yield from module.named_modules(memo, below, remove_duplicate)

    # ---- changing the whole tree --------------------------------------------------------

    def apply(self, fn):
        """Calls ``fn(module)`` for every module of the tree, children first; returns self."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    # Defined in _moving.py.
    _apply = _moving._apply
    cuda = _moving.cuda
    ipu = _moving.ipu
    xpu = _moving.xpu
    mtia = _moving.mtia
    cpu = _moving.cpu
    type = _moving.type
    float = _moving.float
    double = _moving.double
    half = _moving.half
    bfloat16 = _moving.bfloat16
    to_empty = _moving.to_empty
    to = _moving.to

    def train(self, mode: bool = True):
        """Sets training mode (or evaluation mode) in the whole tree; returns self."""
        if not isinstance(mode, bool):
            raise ValueError(f"training mode must be a bool, but got {mode!r}")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self):
        """Sets evaluation mode in the whole tree; returns self."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True):
        """Sets whether autograd records the parameters, in place; returns self."""
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clears the parameters' gradients: to None, or else to zeros."""
        if getattr(self, "_is_replica", False):
            warnings.warn(
                "zero_grad() on a replica made by DataParallel has no effect: its "
                "parameters are copies whose gradients go to the original module",
                stacklevel=2,
            )
        for p in self.parameters():
            if p.grad is None:
                continue
            if set_to_none:
                p.grad = None
                continue
            if p.grad.grad_fn is not None:
                p.grad.detach_()
            else:
                p.grad.requires_grad_(False)
            p.grad.zero_()

    def share_memory(self):
        """Moves parameters and buffers to shared memory; returns self."""
        return self._apply(lambda t: t.share_memory_())

    def _replicate_for_data_parallel(self):
        replica = self.__new__(type(self))
        replica.__dict__ = self.__dict__.copy()
        # The copies of parameters that a replica gets have a history, so they are no Parameters.
        replica._parameters = {}
        replica._buffers = replica._buffers.copy()
        replica._modules = replica._modules.copy()
        replica._is_replica = True
        return replica

    def compile(self, *args, **kwargs) -> None:
        """Compiles `__call__` of this module with `torch.compile`, in place."""
        compiler = getattr(torch, "compile", None)
        if compiler is None:
            raise NotImplementedError(
                "Module.compile needs torch.compile, which this build does not have"
            )
        self._compiled_call_impl = compiler(self._call_impl, *args, **kwargs)

    # ---- hooks --------------------------------------------------------------------------

    def register_full_backward_pre_hook(self, hook, prepend: bool = False):
        """Registers ``hook(module, grad_output) -> None or new grad_output``, run in the
        backward pass before the module's gradients are computed."""
        handle = _register(self._backward_pre_hooks, hook)
        if prepend:
            self._backward_pre_hooks.move_to_end(handle.id, last=False)
        return handle

    def register_backward_hook(self, hook):
        """Registers ``hook(module, grad_input, grad_output)`` on the last node of the forward
        only. Prefer `register_full_backward_hook`."""
        if self._is_full_backward_hook is True:
            raise RuntimeError(
                "register_backward_hook and register_full_backward_hook exclude each other on "
                "one module: use only one kind"
            )
        self._is_full_backward_hook = False
        return _register(self._backward_hooks, hook)

    def register_full_backward_hook(self, hook, prepend: bool = False):
        """Registers ``hook(module, grad_input, grad_output) -> None or new grad_input``, run
        when the gradients with respect to the module's inputs are known."""
        if self._is_full_backward_hook is False:
            raise RuntimeError(
                "register_backward_hook and register_full_backward_hook exclude each other on "
                "one module: use only one kind"
            )
        self._is_full_backward_hook = True
        handle = _register(self._backward_hooks, hook)
        if prepend:
            self._backward_hooks.move_to_end(handle.id, last=False)
        return handle

    def register_forward_pre_hook(self, hook, *, prepend: bool = False, with_kwargs: bool = False):
        """Registers ``hook(module, args) -> None or new args``, run before forward; with
        `with_kwargs`, ``hook(module, args, kwargs) -> None or (new args, new kwargs)``."""
        handle = _register(self._forward_pre_hooks, hook, self._forward_pre_hooks_with_kwargs)
        if with_kwargs:
            self._forward_pre_hooks_with_kwargs[handle.id] = True
        if prepend:
            self._forward_pre_hooks.move_to_end(handle.id, last=False)
        return handle

    def register_forward_hook(
        self, hook, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ):
        """Registers ``hook(module, args, output) -> None or new output``, run after forward;
        with `with_kwargs`, ``hook(module, args, kwargs, output)``; with `always_call`, also
        when forward raises."""
        handle = _register(
            self._forward_hooks,
            hook,
            [self._forward_hooks_with_kwargs, self._forward_hooks_always_called],
        )
        if with_kwargs:
            self._forward_hooks_with_kwargs[handle.id] = True
        if always_call:
            self._forward_hooks_always_called[handle.id] = True
        if prepend:
            self._forward_hooks.move_to_end(handle.id, last=False)
        return handle

    def register_state_dict_pre_hook(self, hook):
        """Registers ``hook(module, prefix, keep_vars)``, run before `state_dict` collects."""
        return _register(self._state_dict_pre_hooks, hook)

    def _register_state_dict_hook(self, hook):
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "a hook registered by register_state_dict_post_hook cannot be registered by "
                "_register_state_dict_hook too: wrap it in another function"
            )
        return _register(self._state_dict_hooks, hook)

    def register_state_dict_post_hook(self, hook):
        """Registers ``hook(module, state_dict, prefix, local_metadata)``, run after
        `state_dict` collected; the hook changes the dict in place and returns None."""
        # The mark tells these apart from hooks whose return value replaces the dict.
        hook._from_public_api = True
        return _register(self._state_dict_hooks, hook)

    def _register_load_state_dict_pre_hook(self, hook, with_module=False):
        return _register(
            self._load_state_dict_pre_hooks, _WrappedHook(hook, self if with_module else None)
        )

    def register_load_state_dict_pre_hook(self, hook):
        """Registers ``hook(module, state_dict, prefix, local_metadata, strict, missing_keys,
        unexpected_keys, error_msgs)``, run before this module takes its values."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def register_load_state_dict_post_hook(self, hook):
        """Registers ``hook(module, incompatible_keys)``, run after this module and those
        below it took their values; it may change the lists of keys in place."""
        return _register(self._load_state_dict_post_hooks, hook)

    # ---- calling ------------------------------------------------------------------------

    def __call__(self, *args, **kwargs):
        # A module without hooks costs this one frame.
        if self._compiled_call_impl is not None:
            return self._compiled_call_impl(*args, **kwargs)
        if not (
            self._forward_hooks
            or self._forward_pre_hooks
            or self._backward_hooks
            or self._backward_pre_hooks
            or _global_forward_hooks
            or _global_forward_pre_hooks
            or _global_backward_hooks
            or _global_backward_pre_hooks
        ):
            return self.forward(*args, **kwargs)
        return self._call_impl(*args, **kwargs)

    def _wrapped_call_impl(self, *args, **kwargs):
        if self._compiled_call_impl is not None:
            return self._compiled_call_impl(*args, **kwargs)
        return self._call_impl(*args, **kwargs)

    def _slow_forward(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def _get_backward_hooks(self):
        """The hooks to run: (full, not full)."""
        full, non_full = [], []
        if _global_is_full_backward_hook is True:
            full += _global_backward_hooks.values()
        if self._is_full_backward_hook is True:
            full += self._backward_hooks.values()
        if _global_is_full_backward_hook is False:
            non_full += _global_backward_hooks.values()
        if self._is_full_backward_hook is False:
            non_full += self._backward_hooks.values()
        return full, non_full

    def _get_backward_pre_hooks(self):
        return [*_global_backward_pre_hooks.values(), *self._backward_pre_hooks.values()]

    def _maybe_warn_non_full_backward_hook(self, inputs, result, grad_fn):
        ins = inputs if isinstance(inputs, tuple) else (inputs,)
        outs = result if isinstance(result, tuple) else (result,)
        if not all(isinstance(t, Tensor) for t in (*ins, *outs)):
            reason = "inputs and outputs are not all tensors"
        elif len(outs) > 1:
            reason = "there are several outputs"
        elif {t.grad_fn for t in ins if t.grad_fn is not None} != {
            n for n, _ in grad_fn.next_functions
        }:
            reason = "forward has several nodes, and the hook sees only some inputs' gradients"
        else:
            return
        warnings.warn(
            f"register_backward_hook reports other gradients than expected here ({reason}): use "
            "register_full_backward_hook",
            FutureWarning,
            stacklevel=2,
        )

    def _run_forward_hook(self, hook_id, hook, with_kwargs, args, kwargs, result):
        if hook_id in with_kwargs:
            return hook(self, args, kwargs, result)
        return hook(self, args, result)

    def _call_impl(self, *args, **kwargs):
        result, called = None, set()
        try:
            full_hooks, non_full_hooks = self._get_backward_hooks()
            pre_hooks = self._get_backward_pre_hooks()
            for hook_id, hook in [
                *_global_forward_pre_hooks.items(),
                *self._forward_pre_hooks.items(),
            ]:
                if hook_id in self._forward_pre_hooks_with_kwargs:
                    changed = hook(self, args, kwargs)
                    if changed is not None:
                        if not isinstance(changed, tuple) or len(changed) != 2:
                            raise RuntimeError(
                                "a forward pre-hook with kwargs must return None or a tuple "
                                f"(args, kwargs), but got {changed!r}"
                            )
                        args, kwargs = changed
                else:
                    changed = hook(self, args)
                    if changed is not None:
                        args = changed if isinstance(changed, tuple) else (changed,)

            bw_hook = None
            if full_hooks or pre_hooks:
                bw_hook = BackwardHook(self, full_hooks, pre_hooks)
                args = bw_hook.setup_input_hook(args)

            result = self._slow_forward(*args, **kwargs)

            for hook_id, hook in [*_global_forward_hooks.items(), *self._forward_hooks.items()]:
                always = (
                    hook_id in self._forward_hooks_always_called
                    or hook_id in _global_forward_hooks_always_called
                )
                if always:
                    called.add(hook_id)
                own = hook_id in self._forward_hooks
                changed = self._run_forward_hook(
                    hook_id,
                    hook,
                    self._forward_hooks_with_kwargs if own else _global_forward_hooks_with_kwargs,
                    args,
                    kwargs,
                    result,
                )
                if changed is not None:
                    result = changed

            if bw_hook is not None:
                if not isinstance(result, (Tensor, tuple)):
                    warnings.warn(
                        "full backward hooks see only modules whose result is a tensor or a tuple "
                        f"of tensors, but {type(self).__name__} returned {type(result).__name__}",
                        stacklevel=2,
                    )
                result = bw_hook.setup_output_hook(result)

            if non_full_hooks:
                var = result
                while not isinstance(var, Tensor):
                    if isinstance(var, dict):
                        var = next(v for v in var.values() if isinstance(v, Tensor))
                    else:
                        var = var[0]
                grad_fn = var.grad_fn
                if grad_fn is not None:
                    for hook in non_full_hooks:
                        grad_fn.register_hook(_WrappedHook(hook, self))
                    self._maybe_warn_non_full_backward_hook(args, result, grad_fn)
            return result
        except Exception:
            self._run_always_called(called, args, kwargs, result)
            raise

    def _run_always_called(self, called, args, kwargs, result):
        """After an exception: the hooks of `always_call` that have not run yet."""
        for hooks, always, with_kwargs in (
            (
                _global_forward_hooks,
                _global_forward_hooks_always_called,
                _global_forward_hooks_with_kwargs,
            ),
            (
                self._forward_hooks,
                self._forward_hooks_always_called,
                self._forward_hooks_with_kwargs,
            ),
        ):
            for hook_id, hook in list(hooks.items()):
                if hook_id not in always or hook_id in called:
                    continue
                try:
                    changed = self._run_forward_hook(
                        hook_id, hook, with_kwargs, args, kwargs, result
                    )
                    if changed is not None:
                        result = changed
                except Exception as e:  # the first exception is the one to report
                    warnings.warn(f"a forward hook with always_call failed: {e}", stacklevel=2)

    # ---- saving and loading -------------------------------------------------------------

    def __getstate__(self):
        state = self.__dict__.copy()
        state.pop("_compiled_call_impl", None)
        return state

    def __setstate__(self, state) -> None:
        self.__dict__.update(state)
        d = self.__dict__
        # Modules saved before these existed lack them.
        for name in (
            "_forward_pre_hooks",
            "_forward_pre_hooks_with_kwargs",
            "_forward_hooks_with_kwargs",
            "_forward_hooks_always_called",
            "_state_dict_hooks",
            "_state_dict_pre_hooks",
            "_load_state_dict_pre_hooks",
            "_load_state_dict_post_hooks",
            "_backward_pre_hooks",
        ):
            if name not in d:
                d[name] = OrderedDict()
        d.setdefault("_non_persistent_buffers_set", set())
        d.setdefault("_is_full_backward_hook", None)

    # Defined in _saving.py.
    get_extra_state = _saving.get_extra_state
    set_extra_state = _saving.set_extra_state
    _save_to_state_dict = _saving._save_to_state_dict
    state_dict = _saving.state_dict
    _load_from_state_dict = _saving._load_from_state_dict
    _load_one = _saving._load_one
    load_state_dict = _saving.load_state_dict

    # ---- printing -----------------------------------------------------------------------

    def _get_name(self):
        return type(self).__name__

    def extra_repr(self) -> str:
        """What stands between the parentheses when the module is printed."""
        return ""

    def __repr__(self):
        extra = self.extra_repr()
        extra_lines = extra.split("\n") if extra else []
        child_lines = [
            f"({key}): " + _addindent(repr(module), 2) for key, module in self._modules.items()
        ]
        lines = extra_lines + child_lines
        if not lines:
            return self._get_name() + "()"
        if len(extra_lines) == 1 and not child_lines:
            return f"{self._get_name()}({extra_lines[0]})"
        return self._get_name() + "(\n  " + "\n  ".join(lines) + "\n)"


for _method in [*vars(_moving).values(), *vars(_saving).values()]:
    if getattr(Module, getattr(_method, "__name__", ""), None) is _method:
        _method.__qualname__ = f"Module.{_method.__name__}"
        _method.__module__ = __name__
del _method
