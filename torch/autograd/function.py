"""Functions whose derivative the user writes."""
import functools

import torch
from torch import _C
from torch._C._functorch import maybe_current_level


class FunctionCtx:
    """The methods of ctx that forward and backward use; those of the C++ context stand beside them."""

    def mark_shared_storage(self, *pairs):
        pass


class _HookMixin:
    pass


class BackwardCFunction(_C._FunctionBase, FunctionCtx, _HookMixin):
    """The type of ctx, and of grad_fn of a Function's results."""


class FunctionMeta(type):
    def __init__(cls, name, bases, attrs):
        cls._backward_cls = type(name + "Backward", (BackwardCFunction,), {"_forward_cls": cls})
        cls._has_setup_context = cls.setup_context is not _SETUP[0] if _SETUP else False
        cls._has_vjp = "vjp" in attrs or any(getattr(b, "_has_vjp", False) for b in bases)
        super().__init__(name, bases, attrs)


_SETUP = []


class _SingleLevelFunction(_C._FunctionBase, FunctionCtx, _HookMixin, metaclass=FunctionMeta):
    @staticmethod
    def forward(*args, **kwargs):
        """forward(ctx, *args), or forward(*args) beside setup_context(ctx, inputs, output)."""
        raise NotImplementedError("a subclass of torch.autograd.Function must define forward")

    @staticmethod
    def setup_context(ctx, inputs, output):
        """Saves what backward needs, where forward takes no ctx."""
        raise NotImplementedError("setup_context is not defined")

    @staticmethod
    def backward(ctx, *grad_outputs):
        """Takes a gradient for each output, gives one for each argument of forward (None for what has none)."""
        raise NotImplementedError("a subclass of torch.autograd.Function must define backward (or vjp) to be differentiated in reverse mode")

    vjp = backward

    @staticmethod
    def jvp(ctx, *grad_inputs):
        """Takes a tangent for each argument of forward (None for what has none), gives one for each result."""
        raise NotImplementedError("a subclass of torch.autograd.Function must define jvp to be differentiated in forward mode")


class Function(_SingleLevelFunction):
    """An operation with a derivative of its own: subclass it, define static forward and backward, call apply.

    Source: the extension mechanism of PyTorch's autograd.
    """
    generate_vmap_rule = False

    def __init__(self, *args, **kwargs):
        raise RuntimeError(f"{type(self)} must not be instantiated: its methods are static; call {type(self).__name__}.apply(...)")

    def __call__(self, *args, **kwargs):
        raise RuntimeError("a Function is run with apply, not by calling it")

    @staticmethod
    def vmap(info, in_dims, *args):
        """The rule for torch.vmap: info has batch_size and randomness, in_dims says for each argument which dimension is
        mapped (None: none); returns (outputs, out_dims)."""
        raise NotImplementedError("a subclass of torch.autograd.Function must define vmap, or set generate_vmap_rule = True")

    @classmethod
    def apply(cls, *args, **kwargs):
        """Runs forward on args and records it; returns what forward returned."""
        if kwargs:
            if cls._has_setup_context:
                import inspect
                bound = inspect.signature(cls.forward).bind(*args, **kwargs)
                bound.apply_defaults()
                args = bound.args
            else:
                raise TypeError(f"{cls.__name__}.apply() takes no keyword arguments, got {sorted(kwargs)}")
        if maybe_current_level() is not None:
            from torch._functorch.autograd_function import custom_function_call
            return custom_function_call(cls, args)
        return super().apply(*args)


_SETUP.append(_SingleLevelFunction.setup_context)
for _c in (_SingleLevelFunction, Function):
    _c._has_setup_context = False
    _c._has_vjp = False
InplaceFunction = NestedIOFunction = Function


def once_differentiable(fn):
    """Marks a backward that cannot be differentiated again: a second derivative raises RuntimeError."""
    @functools.wraps(fn)
    def wrapper(ctx, *args):
        with torch.no_grad():
            outputs = fn(ctx, *args)
        if not torch.is_grad_enabled() or not any(isinstance(a, torch.Tensor) and a.requires_grad for a in args):
            return outputs
        single = not isinstance(outputs, tuple)
        outs = (outputs,) if single else outputs

        class _Once(Function):
            @staticmethod
            def forward(inner, *xs):
                return tuple(x.detach() if isinstance(x, torch.Tensor) else x for x in xs[len(args):])

            @staticmethod
            def backward(inner, *gs):
                raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")
        result = _Once.apply(*args, *outs)
        return result[0] if single else result
    return wrapper


def traceable(fn_cls):
    """Kept for old programs; does nothing."""
    return fn_cls
