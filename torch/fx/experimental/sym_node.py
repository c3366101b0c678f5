"""What stands behind a SymInt, SymFloat or SymBool: an expression, the environment of its symbols, and arithmetic on both."""
import operator

import torch
from torch.fx.experimental._expressions import call, decided, interval, mul, number

__all__ = ["SymNode", "apply", "wrap_node", "function_of"]


class SymNode:
    """An expression of one environment.

    Args:
        expr: a torch.fx.experimental._expressions.Expr.
        shape_env (ShapeEnv): whose symbols it holds.
        pytype: int, float or bool.
        hint: its value in the example; None where there is none (unbacked symbols).
    """

    __slots__ = ("_expr", "shape_env", "pytype", "_hint", "constant", "fx_node", "_version", "_first")

    def __init__(self, expr, shape_env, pytype, hint=None, constant=None, fx_node=None, optimized_summation=False):
        self._expr = self._first = number(expr)
        self.shape_env, self.pytype = shape_env, pytype
        self._hint, self.constant, self.fx_node, self._version = hint, constant, fx_node, -1

    @property
    def expr(self):
        """The expression, with what guards have said of its symbols."""
        if self._version != self.shape_env._version:
            self._expr, self._version = self.shape_env.replace(self._expr), self.shape_env._version
        return self._expr

    @property
    def hint(self):
        if self._hint is None:
            self._hint = self.shape_env._hint_of(self.expr)
        return self._hint

    def has_hint(self):
        return self.hint is not None

    def require_hint(self, fallback=None):
        return self.shape_env.size_hint(self.expr, fallback=fallback) if self.hint is None else self.hint

    def is_int(self):
        return self.pytype is int

    def is_float(self):
        return self.pytype is float

    def is_bool(self):
        return self.pytype is bool

    def is_symbolic(self):
        return True

    def is_constant(self):
        return False

    def is_nested_int(self):
        return False

    def nested_int(self):
        return None

    def _known(self):
        e = self.expr
        return e.value if e.is_number else None

    def maybe_as_int(self):
        """The number where the expression is one, else None."""
        return self._known()

    maybe_as_float = maybe_as_int

    def maybe_as_bool(self):
        return decided(self.expr, self.shape_env.var_to_range)

    def guard_int(self, file, line):
        """The value in the example, with a guard that it stays."""
        return int(self._guarded())

    def guard_float(self, file, line):
        return float(self._guarded())

    def _guarded(self):
        known = self._known()
        if known is None:
            known = self.shape_env._specialized(self)
        return known

    def guard_bool(self, file, line):
        """Whether the condition holds in the example, with a guard that it stays so."""
        return self.shape_env.evaluate_expr(self.expr, self.hint)

    def guard_size_oblivious(self, file, line):
        return self.shape_env.evaluate_expr(self.expr, self.hint, size_oblivious=True)

    def guard_or_false(self, file, line):
        return self.shape_env._guard_or(self.expr, False)

    def guard_or_true(self, file, line):
        return self.shape_env._guard_or(self.expr, True)

    def statically_known_true(self, file, line):
        return self.shape_env._known_truth(self.expr) is True

    def expect_true(self, file, line):
        """The condition holds from now on: a guard where the example tells, else a check at run time."""
        if self.has_hint():
            return self.guard_bool(file, line)
        return self.shape_env.defer_runtime_assert(self.expr, f"{file}:{line}")

    def expect_size(self, file, line):
        r = apply("ge", wrap_node(self), 0)
        return r if isinstance(r, bool) else r.node.expect_true(file, line)

    def str(self):
        return str(self.expr)

    def __str__(self):
        return str(self.expr)

    def __repr__(self):
        return f"SymNode({self._expr}, shape_env={self.shape_env!r}, pytype={self.pytype.__name__}, hint={self._hint})"

    def _graph_repr(self):
        return str(self.expr)

    def wrap_int(self, num):
        return SymNode(number(num), self.shape_env, int, num, constant=num)

    def wrap_float(self, num):
        return SymNode(number(num), self.shape_env, float, num, constant=num)

    def wrap_bool(self, num):
        return SymNode(number(num), self.shape_env, bool, num, constant=num)

    def clone(self):
        return self

    def _binary(self, name, other):
        return lifted(apply(name, wrap_node(self), wrap_node(other)), self)


def _node_method(name):
    return lambda self, other: self._binary(name, other)


for _name in ("add", "sub", "mul", "floordiv", "mod", "pow", "eq", "ne", "lt", "le", "gt", "ge", "sym_max", "sym_min"):
    setattr(SymNode, _name, _node_method(_name))
SymNode.and_, SymNode.or_, SymNode.truediv = _node_method("and"), _node_method("or"), _node_method("truediv")
for _name in ("neg", "abs", "floor", "ceil", "trunc", "round", "sym_float", "sym_not"):
    setattr(SymNode, _name, (lambda n: lambda self, *_: lifted(apply(n, wrap_node(self)), self))(_name))


def lifted(x, like):
    """The node of a number; a plain number becomes one of `like`'s environment."""
    return x.node if not isinstance(x, (int, float)) else SymNode(number(x), like.shape_env, type(x), x, constant=x)


def wrap_node(node):
    """The SymInt, SymFloat or SymBool of a node; a plain number where its expression is one."""
    known = node._known()
    if known is not None:
        return node.pytype(known)
    return {int: torch.SymInt, float: torch.SymFloat, bool: torch.SymBool}[node.pytype](node)


def _real(e):
    return e if e.kind == "float" else number(float(e.value)) if e.is_number else call("ToFloat", _integer(e))


def _integer(e):
    return call("Where", e, 1, 0) if e.kind == "bool" else e


def _arithmetic(of_ints, of_reals):
    def rule(a, b):
        if "float" in (a.kind, b.kind):
            return of_reals(_real(a), _real(b))
        return of_ints(_integer(a), _integer(b))
    return rule


def _pow(a, b):
    if a.kind == "int" and b.kind == "int" and (not b.is_number or b.value >= 0):
        return call("PowByNatural", a, b)
    return call("FloatPow", _real(a), _real(b))


def _compare(function):
    def rule(a, b):
        if "float" in (a.kind, b.kind):
            return call(function, _real(a), _real(b))
        return call(function, _integer(a), _integer(b))
    return rule


def _logic(function, of_ints):
    def rule(a, b):
        if a.kind == "bool" or b.kind == "bool":
            return call(function, a, b)
        return call(of_ints, a, b)
    return rule


def _add(a, b):
    return a + b


def _float_or_int(function):
    return _arithmetic(lambda a, b: call(function, a, b), lambda a, b: call(function, a, b))


# What each operation makes of expressions.
_RULES = {
    "add": _arithmetic(_add, _add), "sub": _arithmetic(lambda a, b: a - b, lambda a, b: call("FloatAdd", a, mul(number(-1.0), b))),
    "mul": _arithmetic(lambda a, b: a * b, lambda a, b: a * b),
    "floordiv": _arithmetic(lambda a, b: call("FloorDiv", a, b), lambda a, b: call("FloatFloorDiv", a, b)),
    "truediv": lambda a, b: call("IntTrueDiv", _integer(a), _integer(b)) if "float" not in (a.kind, b.kind) else (
        call("FloatTrueDiv", _real(a), _real(b))),
    "mod": _arithmetic(lambda a, b: call("Mod", a, b), lambda a, b: call("FloatMod", a, b)),
    "pow": _pow, "lshift": lambda a, b: call("LShift", a, b), "rshift": lambda a, b: call("RShift", a, b),
    "and": _logic("And", "BitwiseFn_bitwise_and"), "or": _logic("Or", "BitwiseFn_bitwise_or"),
    "xor": lambda a, b: call("BitwiseFn_bitwise_xor", a, b),
    "neg": lambda a: mul(-1, a) if a.kind == "int" else call("FloatNeg", a), "pos": lambda a: a, "abs": lambda a: call("Abs", a),
    "floor": lambda a: call("FloorToInt", a), "ceil": lambda a: call("CeilToInt", a), "trunc": lambda a: call("TruncToInt", a),
    "round": lambda a: call("RoundToInt", a), "sym_float": _real, "sym_int": lambda a: call("TruncToInt", a),
    "is_integer": lambda a: call("Eq", a, _real(call("TruncToInt", a))),
    "sym_max": _float_or_int("Max"), "sym_min": _float_or_int("Min"), "sym_not": lambda a: call("Not", a),
    "sym_ite": lambda c, a, b: call("Where", c, a, b),
    "eq": _compare("Eq"), "ne": _compare("Ne"), "lt": _compare("Lt"), "le": _compare("Le"), "gt": _compare("Gt"), "ge": _compare("Ge"),
}
for _name in ("sqrt", "cos", "cosh", "sin", "sinh", "tan", "tanh", "asin", "acos", "atan", "exp", "log", "log2"):
    _RULES[_name] = (lambda n: lambda a: call("OpaqueUnaryFn_" + n, _real(a)))(_name)


def _traced_by(name):
    import builtins
    import math
    own = {"and": operator.and_, "or": operator.or_, "floor": math.floor, "ceil": math.ceil, "trunc": math.trunc, "round": builtins.round,
           "sym_float": torch.sym_float, "sym_max": torch.sym_max, "sym_min": torch.sym_min, "sym_not": torch.sym_not,
           "sym_ite": torch.sym_ite, "sym_int": torch.sym_int, "sqrt": torch.sym_sqrt}
    return own.get(name) or getattr(operator, name, None) or getattr(torch, "_sym_" + name, None)


_functions = {}


def function_of(name):
    """The function that a graph calls for an operation."""
    if name not in _functions:
        _functions[name] = _traced_by(name)
    return _functions[name]


def apply(name, *operands):
    """The operation on numbers, at least one of them symbolic: a symbolic number, or a plain one where no symbol is left."""
    env, exprs = None, []
    for x in operands:
        node = getattr(x, "node", None)
        if node is None:
            exprs.append(number(x))
            continue
        if env is None:
            env = node.shape_env
        elif env is not node.shape_env:
            raise RuntimeError(f"symbolic numbers of two environments were combined: {name} of {', '.join(map(str, operands))}")
        exprs.append(node.expr)
    if name in ("floordiv", "truediv", "mod") and exprs[1].is_number and exprs[1].value == 0:
        raise ZeroDivisionError(f"division of the symbolic number {exprs[0]} by zero")
    if name in ("floordiv", "mod") and not exprs[1].is_number and env._hint_of(exprs[1]) == 0:
        raise ZeroDivisionError(f"division by the symbolic number {exprs[1]}, which is zero")
    e = _RULES[name](*exprs)
    if name == "abs":
        low, high = interval(exprs[0], env.var_to_range)
        e = exprs[0] if low >= 0 else mul(-1, exprs[0]) if high <= 0 else e
    if e.is_number:
        return e.value
    if e.kind == "bool":
        known = env._known_truth(e)
        if known is not None:
            return known
    out = wrap_node(SymNode(e, env, {"int": int, "float": float, "bool": bool}[e.kind]))
    from torch.fx.experimental.proxy_tensor import get_proxy_mode
    mode = get_proxy_mode()
    if mode is not None:
        mode.record_number(out, function_of(name), operands)
    return out
