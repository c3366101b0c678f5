"""Parameter and Buffer, and their counterparts whose shape is not known yet."""

from __future__ import annotations

from collections import OrderedDict

import torch
from torch import Tensor

__all__ = [
    "Parameter",
    "UninitializedParameter",
    "is_lazy",
    "Buffer",
    "UninitializedBuffer",
    "UninitializedTensorMixin",
]

_no_torch_function = torch._C._disabled_torch_function_impl


class _ParameterMeta(type(Tensor)):
    # A tensor subclass marked by `_is_param` counts as a Parameter.
    def __instancecheck__(self, instance):
        if super().__instancecheck__(instance):
            return True
        return (
            self is Parameter
            and isinstance(instance, Tensor)
            and getattr(instance, "_is_param", False)
        )


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A tensor that a `Module` registers as trainable when it is assigned as an attribute.

    Args:
        data (Tensor): its values; memory is shared. Without it the parameter is empty.
        requires_grad (bool): whether gradients are recorded, even under ``no_grad``.
    """

    def __new__(cls, data=None, requires_grad=True):
        if data is None:
            data = torch.empty(0)
        if type(data) is Tensor or type(data) is Parameter:
            return Tensor._make_subclass(cls, data, requires_grad)
        # A user's tensor subclass keeps its own type and is only marked.
        t = data.detach().requires_grad_(requires_grad)
        if type(t) is not type(data):
            raise RuntimeError(
                f"{type(data).__name__}.detach() must return {type(data).__name__} to be "
                f"made a parameter, but it returned {type(t).__name__}"
            )
        t._is_param = True
        return t

    def __deepcopy__(self, memo):
        if id(self) in memo:
            return memo[id(self)]
        result = type(self)(
            self.data.clone(memory_format=torch.preserve_format), self.requires_grad
        )
        memo[id(self)] = result
        return result

    def __repr__(self, *, tensor_contents=None):
        return "Parameter containing:\n" + super().__repr__(tensor_contents=tensor_contents)

    def __reduce_ex__(self, proto):
        state = _own_attributes(self)
        hooks = OrderedDict()
        if not state:
            return torch._utils._rebuild_parameter, (self.data, self.requires_grad, hooks)
        return (
            torch._utils._rebuild_parameter_with_state,
            (self.data, self.requires_grad, hooks, state),
        )

    __torch_function__ = _no_torch_function


# The core takes tensors of this type as plain ones.
getattr(torch._C, "_set_tensor_types", lambda *types: None)(None, Parameter)


def _own_attributes(t):
    """The attributes a user put on a tensor, to be pickled with it."""
    return dict(getattr(t, "__dict__", {}))


class UninitializedTensorMixin:
    """Shared by tensors that get their shape from the first input a lazy module sees."""

    _allowed_methods = frozenset(
        [
            "is_floating_point",
            "is_complex",
            "half",
            "float",
            "double",
            "char",
            "short",
            "int",
            "long",
            "cuda",
            "cpu",
            "to",
            "get_device",
            "_has_compatible_shallow_copy_type",
            "copy_",
            "__hash__",
            "bfloat16",
            "type",
            "bool",
            "byte",
        ]
    )

    def materialize(self, shape, device=None, dtype=None):
        """Gives the tensor its shape, in place, with uninitialised values.

        Args:
            shape (sequence of int): the shape it takes.
            device, dtype: those it takes; by default those it was made with.
        """
        if device is None:
            device = self.data.device
        if dtype is None:
            dtype = self.data.dtype
        self.data = torch.empty(shape, device=device, dtype=dtype)
        self.__class__ = self.cls_to_become

    @property
    def shape(self):
        raise RuntimeError(
            "the shape of an uninitialized parameter or buffer is not known before it is "
            "materialized: call `materialize`, or run the lazy module once"
        )

    def share_memory_(self):
        raise RuntimeError(
            "an uninitialized parameter or buffer has no memory to share: call "
            "`materialize`, or run the lazy module once"
        )

    def __repr__(self):
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, proto):
        return type(self), (self.requires_grad,)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        name = getattr(func, "__name__", "")
        # Properties arrive as the slot's __get__ or __set__.
        if name in cls._allowed_methods or type(func).__name__ == "method-wrapper":
            with torch._C.DisableTorchFunctionSubclass():
                return func(*args, **(kwargs or {}))
        raise ValueError(
            f"{name or func} needs the values of an uninitialized parameter or buffer: call "
            "`materialize`, or run the lazy module once"
        )


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A Parameter whose shape is not known yet (see `torch.nn.modules.lazy`).

    Args:
        requires_grad (bool): whether gradients will be recorded.
        device, dtype: those the values will have.
    """

    cls_to_become = Parameter

    def __new__(cls, requires_grad=True, device=None, dtype=None):
        data = torch.empty(0, device=device, dtype=dtype)
        return Tensor._make_subclass(cls, data, requires_grad)

    def __deepcopy__(self, memo):
        if id(self) in memo:
            return memo[id(self)]
        result = type(self)(self.requires_grad, self.data.device, self.data.dtype)
        memo[id(self)] = result
        return result


def is_lazy(param) -> bool:
    """Whether `param` is an uninitialized parameter or buffer."""
    return isinstance(param, UninitializedTensorMixin)


class _BufferMeta(type(Tensor)):
    def __instancecheck__(self, instance):
        if super().__instancecheck__(instance):
            return True
        return (
            self is Buffer
            and isinstance(instance, Tensor)
            and getattr(instance, "_is_buffer", False)
        )


class Buffer(Tensor, metaclass=_BufferMeta):
    """A tensor that a `Module` registers as a buffer when it is assigned as an attribute.

    The object made is `data` itself (a plain tensor), marked as a buffer.

    Args:
        data (Tensor): its values; without it the buffer is empty.
        persistent (bool): whether it is part of the module's ``state_dict``.
    """

    def __new__(cls, data=None, *, persistent=True):
        if data is None:
            data = torch.empty(0)
        t = data.detach().requires_grad_(data.requires_grad)
        t.persistent = persistent
        t._is_buffer = True
        return t

    __torch_function__ = _no_torch_function


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer whose shape is not known yet (see `torch.nn.modules.lazy`)."""

    cls_to_become = Tensor

    def __new__(cls, requires_grad=False, device=None, dtype=None, persistent=True):
        data = torch.empty(0, device=device, dtype=dtype)
        t = Tensor._make_subclass(cls, data, requires_grad)
        t.persistent = persistent
        t._is_buffer = True
        return t
