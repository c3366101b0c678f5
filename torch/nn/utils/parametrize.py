"""Parameters computed from other parameters by modules."""

from __future__ import annotations

import copyreg
from collections.abc import Sequence
from contextlib import contextmanager
from copy import deepcopy

import torch
from torch import Tensor
from torch.nn.modules.container import ModuleDict, ModuleList
from torch.nn.parameter import Parameter

__all__ = [
    "cached",
    "ParametrizationList",
    "register_parametrization",
    "is_parametrized",
    "remove_parametrizations",
    "type_before_parametrizations",
    "transfer_parametrizations_and_params",
]

_cache_enabled = 0
_cache = {}


@contextmanager
def cached():
    """Within this context each parametrized tensor is computed once, however often it is used."""
    global _cache, _cache_enabled
    _cache_enabled += 1
    try:
        yield
    finally:
        _cache_enabled -= 1
        if not _cache_enabled:
            _cache = {}


def _register_parameter_or_buffer(module, name, X):
    if isinstance(X, Parameter):
        module.register_parameter(name, X)
    else:
        module.register_buffer(name, X)


def _put(dest, src):
    """Gives the tensor object `dest` the values of `src`, of whatever shape."""
    with torch.no_grad():
        dest.data = src.detach()


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, applied in order to the original.

    Attributes:
        original, or original0, original1, ...: the parameters (or buffers) computed from: what
            the `right_inverse` of the parametrizations made of the tensor.
    """

    unsafe: bool

    def __init__(self, modules, original, unsafe: bool = False) -> None:
        if not modules:
            raise ValueError("a ParametrizationList needs at least one parametrization")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        with torch.no_grad():
            new = original
            for module in reversed(self):
                if hasattr(module, "right_inverse"):
                    try:
                        new = module.right_inverse(new)
                    except NotImplementedError:
                        pass  # this one takes the value as it is
        if not isinstance(new, Tensor) and not isinstance(new, Sequence):
            raise ValueError(
                "right_inverse must return a tensor or a sequence of tensors, but returned "
                f"{type(new).__name__}"
            )
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if self.is_tensor else len(new)
        if self.is_tensor:
            if original.dtype != new.dtype:
                raise ValueError(
                    f"right_inverse must keep the dtype {original.dtype}, but returned {new.dtype}"
                )
            _put(original, new)  # the parameter object stays, as optimizers may know it
            _register_parameter_or_buffer(self, "original", original)
        else:
            for i, originali in enumerate(new):
                if not isinstance(originali, Tensor):
                    raise ValueError(
                        f"right_inverse must return tensors, but entry {i} is "
                        f"{type(originali).__name__}"
                    )
                if isinstance(original, Parameter):
                    originali = Parameter(originali, original.requires_grad)
                originali.requires_grad_(original.requires_grad)
                _register_parameter_or_buffer(self, f"original{i}", originali)
        if not self.unsafe:
            Z = self()
            if not isinstance(Z, Tensor):
                raise ValueError(
                    f"a parametrization must return a tensor, but returned {type(Z).__name__}"
                )
            if Z.dtype != dtype:
                raise ValueError(
                    f"a parametrization must keep the dtype {dtype}, but returned {Z.dtype}; "
                    "unsafe=True allows it"
                )
            if Z.shape != shape:
                raise ValueError(
                    f"a parametrization must keep the shape {tuple(shape)}, but returned "
                    f"{tuple(Z.shape)}; unsafe=True allows it"
                )

    def right_inverse(self, value) -> None:
        """Sets the original tensors so that the parametrized one becomes `value`; RuntimeError
        where a parametrization has no right_inverse."""
        with torch.no_grad():
            for module in reversed(self):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(
                        f"{type(module).__name__} has no right_inverse, so the parametrized "
                        "tensor cannot "
                        "be assigned"
                    )
                value = module.right_inverse(value)
            if self.is_tensor:
                if not isinstance(value, Tensor):
                    raise ValueError(
                        f"right_inverse must return a tensor, but returned {type(value).__name__}"
                    )
                if value.dtype != self.original.dtype:
                    raise ValueError(
                        f"right_inverse must keep the dtype {self.original.dtype}, but returned "
                        f"{value.dtype}"
                    )
                _put(self.original, value)
                return
            if not isinstance(value, Sequence):
                raise ValueError(
                    f"right_inverse must return a sequence of tensors, but returned "
                    f"{type(value).__name__}"
                )
            if len(value) != self.ntensors:
                raise ValueError(
                    f"right_inverse must return {self.ntensors} tensors, but returned {len(value)}"
                )
            for i, tensor in enumerate(value):
                original_i = getattr(self, f"original{i}")
                if not isinstance(tensor, Tensor):
                    raise ValueError(
                        f"right_inverse must return tensors, but entry {i} is "
                        f"{type(tensor).__name__}"
                    )
                if original_i.dtype != tensor.dtype:
                    raise ValueError(
                        f"entry {i} of right_inverse must keep the dtype {original_i.dtype}, but "
                        "is "
                        f"{tensor.dtype}"
                    )
                _put(original_i, tensor)

    def forward(self):
        if self.is_tensor:
            x = self[0](self.original)
        else:
            x = self[0](*(getattr(self, f"original{i}") for i in range(self.ntensors)))
        for i in range(1, len(self)):
            x = self[i](x)
        return x


def _inject_new_class(module):
    """Gives the module a class of its own, to hang properties on."""
    cls = type(module)

    def default_deepcopy(self, memo):
        obj = memo.get(id(self), None)
        if obj is not None:
            return obj
        replica = self.__new__(type(self))
        memo[id(self)] = replica
        replica.__dict__ = deepcopy(self.__dict__, memo)
        for slot in copyreg._slotnames(type(self)):
            if hasattr(self, slot):
                setattr(replica, slot, deepcopy(getattr(self, slot), memo))
        return replica

    def getstate(self):
        raise RuntimeError(
            "a parametrized module cannot be pickled, since its class is made at run time: save "
            "its "
            "state_dict"
        )

    dct = {"__getstate__": getstate}
    if not hasattr(cls, "__deepcopy__"):
        dct["__deepcopy__"] = default_deepcopy
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), dct)


def _inject_property(module, tensor_name):
    """Makes `tensor_name` a property of the module's own class that computes the tensor."""
    if hasattr(module, tensor_name):
        raise AssertionError(f"the module still has an attribute {tensor_name!r}")

    def get_parametrized(self):
        if not _cache_enabled:
            return self.parametrizations[tensor_name]()
        key = (id(self), tensor_name)
        tensor = _cache.get(key)
        if tensor is None:
            tensor = _cache[key] = self.parametrizations[tensor_name]()
        return tensor

    def set_original(self, value):
        self.parametrizations[tensor_name].right_inverse(value)

    setattr(type(module), tensor_name, property(get_parametrized, set_original))


def _check_next(Y, parametrization):
    """That a further parametrization keeps dtype and shape, and so its right_inverse."""
    X = parametrization(Y)
    if not isinstance(X, Tensor):
        raise ValueError(f"a parametrization must return a tensor, but returned {type(X).__name__}")
    if X.dtype != Y.dtype:
        raise ValueError(
            f"a parametrization must keep the dtype {Y.dtype}, but returned {X.dtype}; unsafe=True "
            "allows it"
        )
    if X.shape != Y.shape:
        raise ValueError(
            f"a parametrization must keep the shape {tuple(Y.shape)}, but returned "
            f"{tuple(X.shape)}; "
            "unsafe=True allows it"
        )
    if hasattr(parametrization, "right_inverse"):
        try:
            Z = parametrization.right_inverse(X)
        except NotImplementedError:
            return
        if not isinstance(Z, Tensor):
            raise ValueError(f"right_inverse must return a tensor, but returned {type(Z).__name__}")
        if Z.dtype != Y.dtype or Z.shape != Y.shape:
            raise ValueError(
                f"right_inverse must return dtype {Y.dtype} and shape {tuple(Y.shape)}, but "
                "returned "
                f"{Z.dtype} and {tuple(Z.shape)}"
            )


def register_parametrization(module, tensor_name: str, parametrization, *, unsafe: bool = False):
    """Computes the parameter or buffer `tensor_name` of `module` by `parametrization` from now on.

    ``module.parametrizations.<tensor_name>`` holds the original and all parametrizations;
    ``module.<tensor_name>`` computes. Assigning to it sets the original by `right_inverse`,
    where the parametrizations define it.

    Args:
        parametrization (Module): maps the original, or what the parametrization before made.
        unsafe (bool): whether dtype and shape may change, unchecked.

    Returns `module`. Raises ValueError for an unknown name or a change of dtype or shape.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_next(getattr(module, tensor_name), parametrization)
        module.parametrizations[tensor_name].append(parametrization)
        module.parametrizations[tensor_name].unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        original = getattr(module, tensor_name)
        # Made first: where it raises, the module is as it was.
        parametrizations = ParametrizationList([parametrization], original, unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _inject_new_class(module)
            module.parametrizations = ModuleDict()
        _inject_property(module, tensor_name)
        module.parametrizations[tensor_name] = parametrizations
    else:
        raise ValueError(
            f"{module} has no parameter, buffer or parametrized tensor named {tensor_name!r}"
        )
    return module


def is_parametrized(module, tensor_name: str | None = None) -> bool:
    """Whether `module` has parametrizations, or one of `tensor_name`."""
    parametrizations = getattr(module, "parametrizations", None)
    if parametrizations is None or not isinstance(parametrizations, ModuleDict):
        return False
    if tensor_name is None:
        return len(parametrizations) > 0
    return tensor_name in parametrizations


def remove_parametrizations(module, tensor_name: str, leave_parametrized: bool = True):
    """Makes `tensor_name` a usual parameter or buffer again; returns `module`.

    Args:
        leave_parametrized (bool): whether it keeps the computed value, rather than the
            original's; needed where there are several originals.

    Raises ValueError where it is not parametrized.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"{module} has no parametrization of {tensor_name!r}")
    parametrizations = module.parametrizations[tensor_name]
    if parametrizations.is_tensor:
        original = parametrizations.original
        if leave_parametrized:
            with torch.no_grad():
                t = getattr(module, tensor_name)
            _put(original, t)
    else:
        if not leave_parametrized:
            raise ValueError(
                "leave_parametrized=False needs a single original tensor, but there are "
                f"{parametrizations.ntensors}"
            )
        t = getattr(module, tensor_name)
        original = Parameter(t) if t.requires_grad else t
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register_parameter_or_buffer(module, tensor_name, original)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module) -> type:
    """The class that `module` had before it was parametrized."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(from_module, to_module, tensor_name: str | None = None):
    """Gives `to_module` the parametrizations of `from_module` and their originals, of all tensors
    or of `tensor_name`; returns `to_module`. AssertionError where there are none."""
    if not is_parametrized(from_module):
        raise AssertionError("from_module is not parametrized")
    names = from_module.parametrizations if tensor_name is None else [tensor_name]
    if not is_parametrized(from_module, tensor_name):
        raise AssertionError(f"from_module has no parametrization of {tensor_name!r}")
    for name in names:
        source = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        for parametrization in source:
            register_parametrization(to_module, name, parametrization)
        target = to_module.parametrizations[name]
        if hasattr(source, "original"):
            target.original = source.original
        for i in range(source.ntensors if not source.is_tensor else 0):
            setattr(target, f"original{i}", getattr(source, f"original{i}"))
    return to_module
