"""__torch_function__: who is asked when an argument of an operator is no plain tensor, and the modes above all."""
import threading

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


def _overloaded(args, kwargs):
    """Arguments whose type overrides dispatch, subclasses before their bases, one of each type."""
    found = []

    def see(o):
        t = type(o)
        f = getattr(t, "__torch_function__", None)
        if f is None or f is _C._disabled_torch_function_impl or any(type(x) is t for x in found):
            return
        if t in _plain_types():
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


def answer(func, args, kwargs):
    """What the innermost active mode gives, else the arguments' __torch_function__ in order; NotImplemented where all decline."""
    if getattr(func, "__module__", None) == "torch.ops.aten":
        func = _public(func)
    if _modes:
        mode = _modes.pop()
        _C._set_function_modes(len(_modes))
        try:
            types = tuple(type(x) for x in _overloaded(args, kwargs))
            result = mode.__torch_function__(func, types, args, kwargs)
        finally:
            _modes.append(mode)
            _C._set_function_modes(len(_modes))
        if result is not NotImplemented:
            return result
    overloaded = _overloaded(args, kwargs)
    if not overloaded:
        if _modes:
            return NotImplemented
        with DisableTorchFunctionSubclass():
            return func(*args, **kwargs)
    types = tuple(type(x) for x in overloaded)
    for x in overloaded:
        result = type(x).__torch_function__(func, types, args, kwargs)
        if result is not NotImplemented:
            return result
    return NotImplemented


def dispatch(func, args, kwargs):
    """As `answer`; raises TypeError where all decline."""
    result = answer(func, args, kwargs)
    if result is NotImplemented:
        asked = [f"the mode {_modes[-1]!r}"] if _modes else []
        asked += [f"the class {type(x).__module__}.{type(x).__qualname__}" for x in _overloaded(args, kwargs)]
        raise TypeError(f"no implementation of {_name_of(func)} was found: every __torch_function__ that was asked gave "
                        f"NotImplemented, {' and '.join(asked)}")
    return result


def _name_of(func):
    import torch
    return torch.overrides.resolve_name(func) or getattr(func, "__name__", repr(func))


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
