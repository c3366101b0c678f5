"""Taking over operators below autograd: `TorchDispatchMode`, and what classes with `__torch_dispatch__` need.

A call goes to the innermost active mode, then to the classes of its arguments, subclasses first. Both see
primitives only: what is defined by other operators has been expanded above, and autograd has recorded the call.
"""
import contextlib
import warnings

import torch
from torch import _C
from torch._C import (_get_dispatch_stack_at, _len_torch_dispatch_stack, _pop_torch_dispatch_stack,
                      _push_on_torch_dispatch_stack)

__all__ = ["TorchDispatchMode", "BaseTorchDispatchMode", "is_traceable_wrapper_subclass",
           "is_traceable_wrapper_subclass_type", "return_and_correct_aliasing", "transform_subclass",
           "is_in_torch_dispatch_mode", "any_torch_dispatch_mode_on_stack"]


class TorchDispatchMode:
    """Within a with block of it, every primitive goes to its `__torch_dispatch__`.

    A subclass defines `__torch_dispatch__(self, func, types, args=(), kwargs=None)`: `func` is an OpOverload
    (`torch.ops.aten.add.Tensor`), `types` the classes among the arguments that take calls themselves, `args` and
    `kwargs` the arguments without those at their defaults. While it runs, the mode itself is off and nothing is
    recorded by autograd, which has seen the call already. Returns what the operator returns; NotImplemented
    leaves the call to the arguments' classes.
    """

    supports_higher_order_operators = False
    _mode_key = None

    def __init__(self, _dispatch_key=None):
        if _dispatch_key is not None:
            raise NotImplementedError("TorchDispatchMode: modes above autograd (_dispatch_key) are not there")

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError(f"{type(self).__name__}.__torch_dispatch__")

    def __enter__(self):
        _push_mode(self)
        return self

    def __exit__(self, exc_type, exc_val, exc_tb):
        _pop_mode(self._mode_key)

    @classmethod
    def push(cls, *args, **kwargs):
        """The older way to make a mode."""
        warnings.warn(f"{cls.__name__}.push() is {cls.__name__}()", stacklevel=2)
        return cls(*args, **kwargs)

    @classmethod
    def is_infra_mode(cls):
        return cls._mode_key is not None

    @classmethod
    def ignore_compile_internals(cls):
        return False


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that changes nothing."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def _push_mode(mode):
    _push_on_torch_dispatch_stack(mode)


def _pop_mode(k=None):
    return _pop_torch_dispatch_stack(k)


@contextlib.contextmanager
def _pop_mode_temporarily(k=None):
    """Within it the innermost mode is off; gives that mode."""
    mode = _pop_mode(k)
    try:
        yield mode
    finally:
        _push_mode(mode)


@contextlib.contextmanager
def _disable_current_modes():
    """Within it no dispatch mode is active; gives those that were, outermost first."""
    modes = _get_current_dispatch_mode_stack()
    for _ in modes:
        _pop_mode()
    try:
        yield modes
    finally:
        for mode in modes:
            _push_mode(mode)


def _get_current_dispatch_mode():
    """The innermost active mode, or None."""
    n = _len_torch_dispatch_stack()
    return _get_dispatch_stack_at(n - 1) if n else None


def _get_current_dispatch_mode_stack():
    """Active modes, outermost first."""
    return [_get_dispatch_stack_at(i) for i in range(_len_torch_dispatch_stack())]


def _detect_infra_mode(key):
    """The active mode with this key, or None."""
    return _C._get_dispatch_mode(key)


def _unset_infra_mode(key):
    """Takes the mode with this key off the stack and gives it; None where there is none."""
    return _pop_torch_dispatch_stack(key) if _C._get_dispatch_mode(key) is not None else None


@contextlib.contextmanager
def _disable_infra_mode(key):
    """Within it the mode with this key is off; gives that mode."""
    mode = _unset_infra_mode(key)
    try:
        yield mode
    finally:
        if mode is not None:
            _push_mode(mode)


def is_in_torch_dispatch_mode(include_infra_modes=True):
    """Whether a mode is active; with False, whether one without a key is."""
    return any(include_infra_modes or m._mode_key is None for m in _get_current_dispatch_mode_stack())


def any_torch_dispatch_mode_on_stack(*, include_infra_modes=True, respect_ignore_compile_internals=False):
    """is_in_torch_dispatch_mode, without the modes that ask not to be counted where that is respected."""
    return any((include_infra_modes or m._mode_key is None)
               and not (respect_ignore_compile_internals and m.ignore_compile_internals())
               for m in _get_current_dispatch_mode_stack())


def is_in_any_mode_without_ignore_compile_internals():
    return any_torch_dispatch_mode_on_stack(respect_ignore_compile_internals=True)


def is_traceable_wrapper_subclass_type(t):
    """Whether a class of tensors says what it wraps: `__tensor_flatten__` and `__tensor_unflatten__`."""
    return issubclass(t, torch.Tensor) and t is not torch.Tensor and hasattr(t, "__tensor_flatten__") \
        and hasattr(t, "__tensor_unflatten__")


def is_traceable_wrapper_subclass(t):
    """Whether `t` is a tensor whose class says what it wraps: `__tensor_flatten__(self) -> (attributes, context)`
    and the static `__tensor_unflatten__(inner, context, outer_size, outer_stride)`."""
    return isinstance(t, torch.Tensor) and type(t) is not torch.Tensor and is_traceable_wrapper_subclass_type(type(t))


def transform_subclass(t, callback, outer_size=None, outer_stride=None):
    """A tensor of t's class over callback(name, inner) for each tensor that `t` wraps.

    Args:
        t (Tensor): a traceable wrapper.
        callback: takes the attribute's name and the inner tensor, gives the new inner tensor.
        outer_size, outer_stride: of the result; those of `t` by default.
    """
    names, context = t.__tensor_flatten__()
    inner = {n: callback(n, getattr(t, n)) for n in names}
    result = type(t).__tensor_unflatten__(inner, context, t.size() if outer_size is None else outer_size,
                                          t.stride() if outer_stride is None else outer_stride)
    if not is_traceable_wrapper_subclass(result):
        raise RuntimeError(f"{type(t).__name__}.__tensor_unflatten__ gave a {type(result).__name__}")
    return result


def _aliases(schema):
    """(names of the arguments each result may share memory with, whether it is an argument that was written)."""
    return [(r.alias_info.before_set, r.alias_info.is_write) if r.alias_info else (set(), False) for r in schema.returns]


def return_and_correct_aliasing(func, args, kwargs, out):
    """`out` as a wrapper's `__torch_dispatch__` should return it, given that `out` was made by wrapping anew.

    An operator that writes an argument returns that very argument; a view shares the storage of the wrapper it was
    taken from, so that autograd sees that one is part of the other.

    Args:
        func (OpOverload): what was called.
        args, kwargs: what it was called with, wrappers included.
        out: the result; tensors, or a list of them.
    """
    schema = func._schema
    named = dict(zip((a.name for a in schema.arguments), args))
    named.update(kwargs or {})

    def written(names):
        for a in schema.arguments:
            if a.alias_info is not None and a.alias_info.is_write and a.alias_info.before_set & names:
                return named.get(a.name)
        return None

    def share(result, names):
        for a in schema.arguments:
            base = named.get(a.name)
            if a.alias_info is None or not a.alias_info.before_set & names or not isinstance(base, torch.Tensor):
                continue
            for r in result if isinstance(result, (list, tuple)) else [result]:
                if isinstance(r, torch.Tensor) and _C._takes_dispatch(r) and _C._takes_dispatch(base):
                    _C._alias_storage(r, base)
            return

    infos = _aliases(schema)
    results = list(out) if len(infos) > 1 else [out]
    changed = False
    for i, (names, is_write) in enumerate(infos):
        if not names:
            continue
        if is_write:
            results[i], changed = written(names), True
        else:
            share(results[i], names)
    # A view in place changes what the argument looks like; its wrapper has to follow.
    if torch.Tag.inplace_view in func.tags:
        for a in schema.arguments:
            if a.is_write and isinstance(named.get(a.name), torch.Tensor) and isinstance(out, torch.Tensor):
                _C._set_geometry(named[a.name], out)
    if not changed:
        return out
    return results[0] if len(infos) == 1 else type(out)(results)
