"""torch.SymInt, SymFloat and SymBool: numbers that are expressions over symbols.

They come out of tensors with symbolic sizes (`torch.fx.experimental.symbolic_shapes`). Arithmetic makes expressions; whatever
needs the number itself (`int()`, `if`, `range`, a list index) takes the value of the example that is traced and leaves a
guard that says so. Each holds a `node` (torch.fx.experimental.sym_node.SymNode).
"""
from torch import _C

__all__ = ["SymInt", "SymFloat", "SymBool"]


def _apply(name, *operands):
    from torch.fx.experimental.sym_node import apply
    return apply(name, *operands)


def _binary(name, swapped=False):
    def method(self, other):
        if not isinstance(other, _OPERANDS):
            return NotImplemented
        return _apply(name, other, self) if swapped else _apply(name, self, other)
    return method


def _unary(name):
    def method(self):
        return _apply(name, self)
    return method


class _Number:
    """What the three kinds have in common."""

    __slots__ = ("node", "__weakref__")

    def __init__(self, node):
        self.node = node

    def _code(self):
        return self.node.shape_env._code_of(self.node)

    @property
    def hint(self):
        """The value in the example; None where there is none."""
        return self.node.hint

    @property
    def constant(self):
        return self.node.constant

    def has_hint(self):
        return self.node.has_hint()

    def __repr__(self):
        return str(self.node)

    def __deepcopy__(self, memo):
        return self

    def __copy__(self):
        return self

    def _sympy_(self):
        return self.node.expr

    __eq__ = _binary("eq")
    __ne__ = _binary("ne")


class _Arithmetic(_Number):
    __slots__ = ()
    __hash__ = None
    for _name in ("add", "sub", "mul", "floordiv", "truediv", "mod", "pow", "lshift", "rshift", "and", "or", "xor"):
        locals()[f"__{_name}__"], locals()[f"__r{_name}__"] = _binary(_name), _binary(_name, True)
    for _name in ("lt", "le", "gt", "ge"):
        locals()[f"__{_name}__"] = _binary(_name)
    for _name in ("neg", "pos", "abs", "floor", "ceil", "trunc"):
        locals()[f"__{_name}__"] = _unary(_name)
    del _name

    def __sym_max__(self, other):
        return _apply("sym_max", self, other)

    def __sym_min__(self, other):
        return _apply("sym_min", self, other)

    def __sym_float__(self):
        return _apply("sym_float", self)

    def __divmod__(self, other):
        return self // other, self % other

    def __round__(self, ndigits=None):
        return _apply("round", self) if ndigits is None else _apply("round_digits", self, ndigits)

    def __bool__(self):
        return bool(self != 0)


class SymInt(_Arithmetic):
    """An integer that is an expression over symbols."""

    __slots__ = ()

    def _value(self):
        return self.node.guard_int("", 0)

    def __index__(self):
        return self._value()

    def __int__(self):
        return self._value()

    def __float__(self):
        return float(self._value())

    def __hash__(self):
        known = self.node.maybe_as_int()
        if known is not None:
            return hash(known)
        raise TypeError("unhashable type: a SymInt, whose number is not known; use int() of it, or its node.expr")

    def __sym_int__(self):
        return self

    def bit_length(self):
        return self._value().bit_length()

    def is_integer(self):
        return True

    @property
    def numerator(self):
        return self

    @property
    def denominator(self):
        return 1

    def as_integer_ratio(self):
        return self, 1

    def conjugate(self):
        return self


class SymFloat(_Arithmetic):
    """A real number that is an expression over symbols."""

    __slots__ = ()

    def _value(self):
        return self.node.guard_float("", 0)

    def __float__(self):
        return self._value()

    def __int__(self):
        return int(self.__trunc__())

    def __hash__(self):
        raise TypeError("unhashable type: a SymFloat, whose number is not known")

    def __sym_int__(self):
        return _apply("trunc", self)

    def is_integer(self):
        return _apply("is_integer", self)

    def conjugate(self):
        return self


class SymBool(_Number):
    """A condition on symbols. `bool()` decides it by the example and leaves a guard."""

    __slots__ = ()
    __and__, __rand__ = _binary("and"), _binary("and", True)
    __or__, __ror__ = _binary("or"), _binary("or", True)

    def _value(self):
        return self.node.guard_bool("", 0)

    def _code(self):
        return self._value()

    def __bool__(self):
        return self._value()

    def __int__(self):
        return int(self._value())

    def __hash__(self):
        known = self.node.maybe_as_bool()
        if known is not None:
            return hash(known)
        raise TypeError("unhashable type: a SymBool that is not decided; use bool() of it")

    def __sym_not__(self):
        return _apply("sym_not", self)

    def __invert__(self):
        return _apply("sym_not", self)

    def __add__(self, other):
        return _apply("add", self, other)
    __radd__ = __add__

    def __mul__(self, other):
        return _apply("mul", self, other)
    __rmul__ = __mul__


_OPERANDS = (int, float, bool, _Number)
for _t in (SymInt, SymFloat, SymBool):
    _t.__module__ = "torch"
del _t
_C._set_symbolic_numbers(SymInt, SymFloat, SymBool)
