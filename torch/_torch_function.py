"""__torch_function__: who is asked when an argument of an operator is no plain tensor, and the modes above all."""
import functools
import threading
import types

from torch import _C


class _OfThread(threading.local):
    """A list of each thread's own."""

    def __init__(self):
        self.items = []

    def __len__(self):
        return len(self.items)

    def __iter__(self):
        return iter(self.items)

    def __getitem__(self, i):
        return self.items[i]

    def __delitem__(self, i):
        del self.items[i]

    def append(self, x):
        self.items.append(x)

    def pop(self):
        return self.items.pop()

    def clear(self):
        self.items.clear()

    def extend(self, more):
        self.items.extend(more)


_modes = _OfThread()  # TorchFunctionModes, the innermost last


def _overloaded(args, kwargs, with_plain=False):
    """Arguments whose type overrides dispatch, subclasses before their bases, one of each type.

    with_plain: plain tensors too. Nothing where subclasses are treated as plain.
    """
    if not _C._is_torch_function_enabled():
        return []
    found = []

    def see(o):
        t = type(o)
        f = getattr(t, "__torch_function__", None)
        plain = t in _plain_types()
        if any(type(x) is t for x in found) or (not with_plain if plain else f is None or f is _C._disabled_torch_function_impl):
            return
        for i, x in enumerate(found):
            if issubclass(t, type(x)):
                found.insert(i, o)
                return
        found.append(o)
    for a in (*args, *kwargs.values()):
        see(a)
        if type(a) in (tuple, list):
            for x in a:
                see(x)
    return found


def _plain_types():
    import torch
    return (torch.Tensor, torch.nn.Parameter)


def _public(func):
    """An entry of torch.ops as the object that users have of it."""
    import torch
    namespace, _, name = func.__name__.rpartition("::")
    name, _, overload = name.partition(".")
    packet = getattr(getattr(torch.ops, namespace or "aten"), name)
    return getattr(packet, overload) if overload else packet


# Functions of Python and accessors of attributes name plain tensors among the types, as PyTorch's do; operators do not.
_WITH_PLAIN = (types.FunctionType, types.MethodWrapperType)


def dispatch(func, args, kwargs):
    """Calls the innermost active mode, else the arguments' __torch_function__ in order."""
    if getattr(func, "__module__", None) == "torch.ops.aten":
        func = _public(func)
    return call_in_turn(func, _overloaded(args, kwargs, isinstance(func, _WITH_PLAIN)), args, kwargs)


def ask_modes(func, args, kwargs):
    """Calls the innermost active mode; there is one. Arguments are not asked."""
    return call_in_turn(func, [], args, kwargs)


def call_in_turn(func, overloaded, args, kwargs):
    """The innermost active mode with itself off, then the arguments `overloaded`, each once, until one gives a result.

    Raises TypeError where all give NotImplemented: outer modes are called by inner ones alone.
    """
    kinds = tuple(type(x) for x in overloaded)
    mode = None
    if _modes:
        mode = _modes.pop()
        _C._set_function_modes(len(_modes))
        try:
            result = mode.__torch_function__(func, kinds, args, kwargs)
        finally:
            _modes.append(mode)
            _C._set_function_modes(len(_modes))
        if result is not NotImplemented:
            return result
    asked = [t for t in kinds if t not in _plain_types()]
    if mode is None and not asked:
        # Tensors in name only: the function itself, as for plain ones.
        with DisableTorchFunctionSubclass():
            return func(*args, **kwargs)
    for t in asked:
        result = t.__torch_function__(func, kinds, args, kwargs)
        if result is not NotImplemented:
            return result
    askers = ([f"the mode {mode}"] if mode is not None else []) + [f"the class {t.__module__}.{t.__qualname__}" for t in asked]
    raise TypeError(f"{_name_of(func)}: __torch_function__ gave NotImplemented for {' and for '.join(askers)}")


def overridable(function):
    """Lets classes and modes take over a function of torch that is written in Python."""
    def call(*args, **kwargs):
        if _C._has_torch_function_each(*args, *kwargs.values()):
            return call_in_turn(call, _overloaded(args, kwargs), args, kwargs)
        return function(*args, **kwargs)
    return functools.update_wrapper(call, function)


def _name_of(func):
    from torch.overrides import resolve_name
    return resolve_name(func) or getattr(func, "__name__", repr(func))


class DisableTorchFunctionSubclass:
    """Within it, subclasses of Tensor are treated as plain tensors."""

    def __enter__(self):
        _C._disable_torch_function(True)

    def __exit__(self, *exc):
        _C._disable_torch_function(False)


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """Within it, neither subclasses nor modes are asked."""

    def __enter__(self):
        super().__enter__()
        self._saved = list(_modes)
        _modes.clear()
        _C._set_function_modes(0)

    def __exit__(self, *exc):
        _modes.extend(self._saved)
        _C._set_function_modes(len(_modes))
        super().__exit__(*exc)


def push_mode(mode):
    _modes.append(mode)
    _C._set_function_modes(len(_modes))


def pop_mode():
    mode = _modes.pop()
    _C._set_function_modes(len(_modes))
    return mode


def disabled_torch_function_impl(func, types, args=(), kwargs=None):
    """For classes that are tensors in name only: func runs as if they were plain, and results stay plain."""
    with DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


_C.DisableTorchFunctionSubclass = DisableTorchFunctionSubclass
_C.DisableTorchFunction = DisableTorchFunction
_C._disabled_torch_function_impl = disabled_torch_function_impl
_C._set_disabled_torch_function(disabled_torch_function_impl)
