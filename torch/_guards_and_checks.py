"""Checks that stay in traced programs, and the number functions that also take symbolic numbers."""
import builtins
import math


def _message(message):
    return str(message() if callable(message) else message)


def _check(cond, message=None):
    """RuntimeError unless cond."""
    if not cond:
        raise RuntimeError("expected condition to hold" if message is None else _message(message))


def _check_is_size(i, message=None, *, max=None):
    _check(i >= 0 and (max is None or i <= max), message)


def _check_index(cond, message=None):
    if not cond:
        raise IndexError("expected condition to hold" if message is None else _message(message))


def _check_value(cond, message=None):
    if not cond:
        raise ValueError("expected condition to hold" if message is None else _message(message))


def _check_type(cond, message=None):
    if not cond:
        raise TypeError("expected condition to hold" if message is None else _message(message))


def _check_not_implemented(cond, message=None):
    if not cond:
        raise NotImplementedError("expected condition to hold" if message is None else _message(message))


def _assert(condition, message):
    """assert as a function, which a trace records."""
    if type(condition) is not builtins.bool and hasattr(type(condition), "__torch_function__"):
        from torch.overrides import handle_torch_function, has_torch_function_unary
        if has_torch_function_unary(condition):
            return handle_torch_function(_assert, (condition,), condition, message)
    assert condition, message


def sym_int(a):
    """int(a), towards zero."""
    return math.floor(a) if a >= 0 else math.ceil(a)


def sym_float(a):
    """float(a)."""
    return a.__float__() if hasattr(a, "__float__") else builtins.float(a)


def sym_max(a, b):
    return builtins.max(a, b) if not isinstance(a, builtins.float) and not isinstance(b, builtins.float) else builtins.float(builtins.max(a, b))


def sym_min(a, b):
    return builtins.min(a, b) if not isinstance(a, builtins.float) and not isinstance(b, builtins.float) else builtins.float(builtins.min(a, b))


def sym_not(a):
    return not a


def sym_ite(b, t, f):
    return t if b else f


def sym_sum(args):
    return builtins.sum(args)


def sym_sqrt(a):
    return math.sqrt(a)
