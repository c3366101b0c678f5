"""Checks that stay in traced programs, and the number functions that also take symbolic numbers."""
import builtins
import math

from torch._torch_function import overridable


def _message(message):
    return str(message() if callable(message) else message)


def _holds(cond, message):
    """Whether cond holds; of symbolic numbers without example it is said to, and checked when the program runs."""
    node = getattr(cond, "node", None)
    if node is None:
        return cond
    if node.has_hint():
        return node.guard_bool("", 0)
    return node.shape_env.defer_runtime_assert(node.expr, "" if message is None else _message(message))


def _check_with(error, cond, message):
    if not _holds(cond, message):
        raise error("expected condition to hold" if message is None else _message(message))


def _check(cond, message=None):
    """RuntimeError unless cond. What it says of symbolic numbers is known from then on."""
    _check_with(RuntimeError, cond, message)


def _check_is_size(i, message=None, *, max=None):
    """RuntimeError unless 0 <= i (<= max). A symbolic number without example counts as the size of a tensor from then on."""
    _check(i >= 0, message)
    if max is not None:
        _check(i <= max, message)
    node = getattr(i, "node", None)
    if node is not None and node.expr.is_symbol and not node.has_hint():
        node.shape_env.size_like.add(node.expr)


def _check_index(cond, message=None):
    _check_with(IndexError, cond, message)


def _check_value(cond, message=None):
    _check_with(ValueError, cond, message)


def _check_type(cond, message=None):
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond, message=None):
    _check_with(NotImplementedError, cond, message)


def _assert(condition, message):
    """assert as a function, which a trace records."""
    if type(condition) is not builtins.bool and hasattr(type(condition), "__torch_function__"):
        from torch.overrides import handle_torch_function, has_torch_function_unary
        if has_torch_function_unary(condition):
            return handle_torch_function(_assert, (condition,), condition, message)
    assert condition, message


def _apply(name, *operands):
    from torch.fx.experimental.sym_node import apply
    return apply(name, *operands)


def _symbolic(*operands):
    return any(hasattr(x, "node") and hasattr(x, "_code") for x in operands)


@overridable
def sym_int(a):
    """int(a), towards zero."""
    if _symbolic(a):
        return a.__sym_int__()
    return math.floor(a) if a >= 0 else math.ceil(a)


@overridable
def sym_float(a):
    """float(a)."""
    if _symbolic(a):
        return a.__sym_float__()
    return a.__float__() if hasattr(a, "__float__") else builtins.float(a)


@overridable
def sym_max(a, b):
    """max(a, b), a float where either is."""
    if _symbolic(a, b):
        return _apply("sym_max", a, b)
    return builtins.max(a, b) if not isinstance(a, builtins.float) and not isinstance(b, builtins.float) else builtins.float(builtins.max(a, b))


@overridable
def sym_min(a, b):
    """min(a, b), a float where either is."""
    if _symbolic(a, b):
        return _apply("sym_min", a, b)
    return builtins.min(a, b) if not isinstance(a, builtins.float) and not isinstance(b, builtins.float) else builtins.float(builtins.min(a, b))


@overridable
def sym_not(a):
    """not a."""
    return a.__sym_not__() if _symbolic(a) else not a


@overridable
def sym_ite(b, t, f):
    """t if b else f."""
    return _apply("sym_ite", b, t, f) if _symbolic(b) else t if b else f


@overridable
def sym_sum(args):
    """The sum of numbers."""
    return builtins.sum(args)


def sym_fresh_size(expr):
    raise NotImplementedError("sym_fresh_size: sizes that stand for another size's value are not there")


def _function(name):
    def f(a):
        return _apply(name, a) if _symbolic(a) else getattr(math, name)(a)
    f.__name__ = f.__qualname__ = "_sym_" + name
    return f


for _name in ("sqrt", "cos", "cosh", "sin", "sinh", "tan", "tanh", "asin", "acos", "atan", "exp", "log", "log2"):
    globals()["_sym_" + _name] = _function(_name)
sym_sqrt = globals()["_sym_sqrt"]
