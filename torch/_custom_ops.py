"""The older names of torch.library: custom_op, impl, impl_abstract, impl_save_for_backward and impl_backward."""
import collections
import inspect

import torch
from torch import library

__all__ = ["custom_op", "impl", "impl_abstract", "get_ctx", "impl_save_for_backward", "impl_backward"]

get_ctx = library.get_ctx
_made = {}      # qualified name -> Library that defines it
_halves = {}    # qualified name -> {"save": f, "backward": f}


def _register(function, func):
    """`function(func)`, or a decorator that does so."""
    def take(func):
        function(func)
        return func
    return take if func is None else take(func)


def custom_op(qualname, func_or_schema=None):
    """custom_op("namespace::name", "(Tensor x, float a) -> Tensor"), or as a decorator of a function whose annotations say so.

    The function's body is never run. RuntimeError where the operator exists.
    """
    def define(what):
        schema = library.infer_schema(what, mutates_args=()) if inspect.isfunction(what) else what
        space, _, name = qualname.partition("::")
        if not name:
            raise ValueError(f"custom_op: {qualname!r} names no namespace before '::'")
        made = library.Library(space, "FRAGMENT")
        made.define(name + schema)
        _made[qualname] = made
        return what
    return define if func_or_schema is None else define(func_or_schema)


def impl(qualname, *, device_types=("cpu", "cuda"), func=None):
    """impl("namespace::name", device_types=("cpu", "cuda")): the kernel for these devices. May decorate."""
    return _register(lambda f: library.impl(qualname, device_types, f), func)


def impl_abstract(qualname, *, func=None):
    """impl_abstract("namespace::name"): the shape rule, see torch.library.register_fake. May decorate."""
    return _register(lambda f: library.register_fake(qualname, f), func)


def impl_save_for_backward(qualname, *, func=None):
    """What backward needs: `func(inputs, output)`, `inputs` by the arguments' names, gives it. May decorate."""
    return _register(lambda f: _half(qualname, "save", f), func)


def impl_backward(qualname, output_differentiability=None, *, func=None):
    """The derivative: `func(ctx, saved, *grads)` gives {argument: its gradient}; None, a missing name: there is none.

    Becomes so once impl_save_for_backward was said, too. NotImplementedError for output_differentiability.
    """
    if output_differentiability is not None:
        raise NotImplementedError("impl_backward: output_differentiability is not there")
    return _register(lambda f: _half(qualname, "backward", f), func)


def _half(qualname, which, f):
    halves = _halves.setdefault(qualname, {})
    halves[which] = f
    if len(halves) < 2:
        return
    space, _, name = qualname.partition("::")
    names = [a.name for a in getattr(getattr(torch.ops, space), name).default._schema.arguments]
    inputs_of = collections.namedtuple("inputs", names)
    save, backward = halves["save"], halves["backward"]

    def setup(ctx, inputs, output):
        ctx._saved = save(inputs_of(*inputs), output)

    def derive(ctx, *grads):
        found = backward(ctx, ctx._saved, *grads)
        if not isinstance(found, dict):
            raise RuntimeError(f"impl_backward: the backward of {qualname} must give a dict of gradients by argument, it gave a {type(found).__name__}")
        unknown = [n for n in found if n not in names]
        if unknown:
            raise RuntimeError(f"impl_backward: the backward of {qualname} gave a gradient of {unknown[0]!r}; its arguments are {', '.join(names)}")
        return tuple(found.get(n) for n in names)

    library.register_autograd(qualname, derive, setup_context=setup)


def _destroy(qualname):
    """Ends an operator that custom_op defined."""
    _halves.pop(qualname, None)
    _made.pop(qualname)._destroy()
