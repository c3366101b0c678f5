"""Expressions over symbols: what symbolic sizes are, as values.

An integer expression is a polynomial with integer coefficients over *atoms*: symbols, and calls such as `FloorDiv(a, b)`
or `Max(a, b)` that no polynomial is. Like terms are collected, so that equal polynomials are equal objects. Conditions are
calls as well: `Eq(a, b)`, `Lt(a, b)`, `And(...)`; so are real numbers: `ToFloat(a)`, `FloatTrueDiv(a, b)`. Expressions are
made by the functions of this module and never change.
"""
import functools
import math

__all__ = ["Expr", "Symbol", "Integer", "free_symbols_of", "call", "relation", "negated", "interval", "polynomial"]


class Expr:
    """An expression; `str()` writes it, `free_symbols` are its symbols, `xreplace({symbol: expression})` puts others in."""

    __slots__ = ("key", "free_symbols", "_text", "_hash")
    is_number = is_symbol = False

    def __init__(self, key, free):
        self.key, self.free_symbols, self._text, self._hash = key, free, None, hash(key)

    def __hash__(self):
        return self._hash

    def __eq__(self, other):
        if self is other:
            return True
        if isinstance(other, Expr):
            return self._hash == other._hash and self.key == other.key
        if isinstance(other, (int, float)):
            return self.is_number and self.value == other
        return NotImplemented

    def __str__(self):
        if self._text is None:
            self._text = self._write()
        return self._text

    def __repr__(self):
        return str(self)

    def __reduce__(self):
        return _restored, (self.key,)

    # Arithmetic of integers, so that a text of C++ can be evaluated.
    def __add__(self, other):
        return add(self, other)

    def __radd__(self, other):
        return add(other, self)

    def __sub__(self, other):
        return add(self, mul(-1, other))

    def __rsub__(self, other):
        return add(other, mul(-1, self))

    def __mul__(self, other):
        return mul(self, other)

    def __rmul__(self, other):
        return mul(other, self)

    def __neg__(self):
        return mul(-1, self)

    def __floordiv__(self, other):
        return call("FloorDiv", self, other)

    def __rfloordiv__(self, other):
        return call("FloorDiv", other, self)

    def __mod__(self, other):
        return call("Mod", self, other)

    def __rmod__(self, other):
        return call("Mod", other, self)

    @property
    def args(self):
        return ()

    def xreplace(self, rule):
        """The expression with other expressions in place of symbols."""
        if not any(s in rule for s in self.free_symbols):
            return self
        return self._rebuilt(lambda e: e.xreplace(rule))

    subs = xreplace

    @property
    def is_integer(self):
        return self.kind == "int"


class Integer(Expr):
    """A number: an int, a float or a bool."""

    __slots__ = ("value",)
    is_number = True

    def __init__(self, value):
        super().__init__(("number", type(value).__name__, repr(value) if isinstance(value, float) else value), frozenset())   # 0.0 is not -0.0
        self.value = value

    @property
    def kind(self):
        return type(self.value).__name__

    def _write(self):
        return str(self.value)

    def evaluate(self, values):
        return self.value

    def __int__(self):
        return int(self.value)

    def __float__(self):
        return float(self.value)

    def __bool__(self):
        return bool(self.value)


class Symbol(Expr):
    """A name for a number that is not known. Two symbols of one name are equal."""

    __slots__ = ("name", "kind")
    is_symbol = True

    def __init__(self, name, kind="int"):
        super().__init__(("symbol", name, kind), None)
        self.name, self.kind, self.free_symbols = name, kind, frozenset((self,))

    def _write(self):
        return self.name

    def xreplace(self, rule):
        return rule.get(self, self)

    def evaluate(self, values):
        return values[self]


class _Sum(Expr):
    """A polynomial that is more than one atom: {((atom, power), ...): coefficient}."""

    __slots__ = ("terms",)
    kind = "int"

    def __init__(self, terms):
        free = frozenset().union(*(a.free_symbols for m in terms for a, _ in m))
        super().__init__(("sum", tuple(sorted(((tuple((str(a), a.key, p) for a, p in m), c) for m, c in terms.items()), key=repr))), free)
        self.terms = terms

    def _rebuilt(self, f):
        out = number(0)
        for m, c in self.terms.items():
            term = number(c)
            for a, p in m:
                term = mul(term, power(f(a), p))
            out = add(out, term)
        return out

    def evaluate(self, values):
        total = 0
        for m, c in self.terms.items():
            for a, p in m:
                c = c * a.evaluate(values) ** p
            total = total + c
        return total

    def _write(self):
        names = sorted({str(a) for m in self.terms for a, _ in m})

        def rank(item):
            powers = {str(a): p for a, p in item[0]}
            return tuple(-powers.get(n, 0) for n in names)
        ordered = sorted(self.terms.items(), key=rank)
        if len(ordered) == 2 and not ordered[1][0] and ordered[1][1] > 0 and ordered[0][1] < 0:
            ordered.reverse()  # 1 - s0
        out = ""
        for m, c in ordered:
            factors = [str(a) if p == 1 else f"{a}**{p}" for a, p in sorted(m, key=lambda x: str(x[0]))]
            if not factors or abs(c) != 1:
                factors.insert(0, str(abs(c)))
            sign = ("-" if c < 0 else "") if not out else (" - " if c < 0 else " + ")
            out += sign + "*".join(factors)
        return out


_COMPARED = {"Lt": "<", "Le": "<=", "Gt": ">", "Ge": ">="}
_BOOLEAN = ("Eq", "Ne", "Lt", "Le", "Gt", "Ge", "And", "Or", "Not")
_REAL = ("ToFloat", "FloatTrueDiv", "IntTrueDiv", "FloatPow", "FloatAdd", "FloatMul", "FloatNeg", "FloatMod", "FloatFloorDiv")


class _Call(Expr):
    """A function of expressions."""

    __slots__ = ("function", "_args", "kind")

    def __init__(self, function, args):
        super().__init__((function, *(a.key for a in args)), frozenset().union(*(a.free_symbols for a in args)))
        self.function, self._args = function, args
        if function in _BOOLEAN:
            self.kind = "bool"
        elif function in _REAL or function.startswith("OpaqueUnaryFn_") or (
                function in ("Max", "Min", "Where", "Abs") and any(a.kind == "float" for a in args)):
            self.kind = "float"
        else:
            self.kind = "int"

    @property
    def args(self):
        return self._args

    func = property(lambda self: self.function)

    @property
    def lhs(self):
        return self._args[0]

    @property
    def rhs(self):
        return self._args[1]

    def _rebuilt(self, f):
        return call(self.function, *map(f, self._args))

    def evaluate(self, values):
        return FUNCTIONS[self.function](*(a.evaluate(values) for a in self._args))

    def _write(self):
        f, a = self.function, self._args
        if f in _COMPARED:
            return f"{a[0]} {_COMPARED[f]} {a[1]}"
        if f == "FloorDiv":
            return f"({_part(a[0])}//{_part(a[1])})"
        if f == "And" or f == "Or":
            return (" & " if f == "And" else " | ").join(f"({x})" for x in a)
        if f == "Not":
            return f"~({a[0]})"
        if f == "FloatMul":
            return f"{_part(a[0])}*{_part(a[1])}"
        if f == "FloatAdd":
            return f"{a[0]} - {-a[1].value}" if a[1].is_number and a[1].value < 0 else f"{a[0]} + {a[1]}"
        if f == "FloatNeg":
            return f"-{_part(a[0])}"
        return f"{f}({', '.join(map(str, a))})"


def _part(e):
    return f"({e})" if isinstance(e, _Sum) or (isinstance(e, _Call) and e.function == "FloatAdd") else str(e)


def _floor_div(a, b):
    return a // b


FUNCTIONS = {
    "FloorDiv": _floor_div, "Mod": lambda a, b: a % b, "PythonMod": lambda a, b: a % b,
    "Max": lambda a, b: a if a >= b else b, "Min": lambda a, b: a if a <= b else b, "Abs": abs,
    "PowByNatural": lambda a, b: a ** b, "LShift": lambda a, b: a << b, "RShift": lambda a, b: a >> b,
    "BitwiseFn_bitwise_and": lambda a, b: a & b, "BitwiseFn_bitwise_or": lambda a, b: a | b, "BitwiseFn_bitwise_xor": lambda a, b: a ^ b,
    "ToFloat": float, "IntTrueDiv": lambda a, b: a / b, "FloatTrueDiv": lambda a, b: a / b, "FloatPow": lambda a, b: float(a) ** b,
    "FloatAdd": lambda a, b: a + b, "FloatMul": lambda a, b: a * b, "FloatNeg": lambda a: -a, "FloatMod": lambda a, b: a % b,
    "FloatFloorDiv": lambda a, b: a // b,
    "CeilToInt": math.ceil, "FloorToInt": math.floor, "TruncToInt": math.trunc, "RoundToInt": round,
    "Eq": lambda a, b: a == b, "Ne": lambda a, b: a != b, "Lt": lambda a, b: a < b, "Le": lambda a, b: a <= b,
    "Gt": lambda a, b: a > b, "Ge": lambda a, b: a >= b, "And": lambda a, b: a and b, "Or": lambda a, b: a or b, "Not": lambda a: not a,
    "Where": lambda c, a, b: a if c else b,
}
for _name in ("sqrt", "cos", "cosh", "sin", "sinh", "tan", "tanh", "asin", "acos", "atan", "exp", "log", "log2"):
    FUNCTIONS["OpaqueUnaryFn_" + _name] = getattr(math, _name)


@functools.lru_cache(maxsize=4096)
def _number(kind, value):
    return Integer(float(value) if kind is float else value)


def number(value):
    """The expression of a number; expressions are given back."""
    return value if isinstance(value, Expr) else _number(type(value), repr(value) if type(value) is float else value)


def terms_of(e):
    """{((atom, power), ...): coefficient} of an integer expression."""
    if isinstance(e, _Sum):
        return e.terms
    if e.is_number:
        return {(): int(e.value)} if e.value else {}
    return {((e, 1),): 1}


def polynomial(terms):
    """The expression with these terms, as `terms_of` gives them."""
    terms = {m: c for m, c in terms.items() if c}
    if not terms:
        return number(0)
    if len(terms) == 1:
        (m, c), = terms.items()
        if not m:
            return number(c)
        if c == 1 and len(m) == 1 and m[0][1] == 1:
            return m[0][0]
    return _Sum(terms)


def _times(m, n):
    powers = dict(m)
    for a, p in n:
        powers[a] = powers.get(a, 0) + p
    return tuple(sorted(powers.items(), key=lambda x: (str(x[0]), repr(x[0].key))))


def add(a, b):
    """a + b of integers or real numbers."""
    a, b = number(a), number(b)
    if "float" in (a.kind, b.kind):
        return call("FloatAdd", a, b)
    terms = dict(terms_of(a))
    for m, c in terms_of(b).items():
        terms[m] = terms.get(m, 0) + c
    return polynomial(terms)


def mul(a, b):
    """a * b of integers or real numbers."""
    a, b = number(a), number(b)
    if "float" in (a.kind, b.kind):
        return call("FloatMul", *((b, a) if b.is_number else (a, b)))
    terms = {}
    for m, c in terms_of(a).items():
        for n, d in terms_of(b).items():
            k = _times(m, n)
            terms[k] = terms.get(k, 0) + c * d
    return polynomial(terms)


def power(a, n):
    """a ** n of integers, n a number that is not negative."""
    out = number(1)
    for _ in range(n):
        out = mul(out, a)
    return out


def _exact_quotient(a, b):
    """a / b where every term of a holds the one term of b; None where not so."""
    if a == b:
        return number(1)
    b = terms_of(b)
    if len(b) != 1:
        return None
    (bm, bc), = b.items()
    out = {}
    for m, c in terms_of(a).items():
        powers = dict(m)
        for x, p in bm:
            if powers.get(x, 0) < p:
                return None
            powers[x] -= p
        if c % bc:
            return None
        out[tuple((x, powers[x]) for x, _ in m if powers[x])] = c // bc
    return polynomial(out)


def _without_common_factor(a, b):
    """(a, b, f) with f a factor that all terms of both share, taken away; symbols are taken for positive."""
    ta, tb = terms_of(a), terms_of(b)
    every = [dict(m) for m in (*ta, *tb)]
    shared = tuple((x, min(d.get(x, 0) for d in every)) for x in every[0] if all(x in d for d in every) and x.is_symbol)
    coefficient = math.gcd(*ta.values(), *tb.values())
    if (not shared and coefficient == 1) or not ta or not tb:
        return a, b, number(1)
    factor = polynomial({tuple(sorted(shared, key=lambda x: (str(x[0]), repr(x[0].key)))): coefficient})
    return _exact_quotient(a, factor), _exact_quotient(b, factor), factor


def call(function, *args):
    """A function of expressions, in normal form: numbers are computed, exact quotients are polynomials."""
    args = tuple(map(number, args))
    if all(a.is_number for a in args):
        return number(FUNCTIONS[function](*(a.value for a in args)))
    if function in ("FloorDiv", "Mod", "PythonMod"):
        a, b = args
        if b == 1:
            return a if function == "FloorDiv" else number(0)
        exact = _exact_quotient(a, b) if not b == 0 else None
        if exact is not None:
            return exact if function == "FloorDiv" else number(0)
        if not b == 0 and a.kind == b.kind == "int" and not a == 0:
            a, b, factor = _without_common_factor(a, b)
            args = a, b
            if not factor == 1:
                rest = call(function, a, b)
                return rest if function == "FloorDiv" else mul(factor, rest)
        if b.is_number and function == "FloorDiv":  # (4*a + b + 2)//2 is 2*a + b//2 + 1
            whole = {m: c for m, c in terms_of(a).items() if c % b.value == 0}
            if whole and len(whole) < len(terms_of(a)):
                rest = {m: c for m, c in terms_of(a).items() if m not in whole}
                return add(polynomial({m: c // b.value for m, c in whole.items()}), call("FloorDiv", polynomial(rest), b))
        if isinstance(a, _Call) and a.function == "FloorDiv" and function == "FloorDiv" and b.is_number and b.value > 0 and a.args[1].is_number:
            return call("FloorDiv", a.args[0], mul(a.args[1], b))
    elif function in ("Max", "Min"):
        a, b = args
        if a == b:
            return a
        if b.is_number or (not a.is_number and str(b) < str(a)):
            args = (b, a)
    elif function in ("Eq", "Ne", "Lt", "Le", "Gt", "Ge"):
        return relation(function, *args)
    elif function == "Not":
        return negated(args[0])
    elif function in ("And", "Or"):
        known = [a for a in args if a.is_number]
        if known:
            other = next((a for a in args if not a.is_number), None)
            decides = function == "Or"
            return known[0] if bool(known[0]) is decides else other
        if args[0] == args[1]:
            return args[0]
    elif function == "PowByNatural" and args[1].is_number:
        return power(args[0], args[1].value)
    elif function == "LShift" and args[1].is_number and args[1].value >= 0:
        return mul(args[0], 1 << args[1].value)
    elif (function == "FloatMul" and args[1].is_number and not args[0].is_number) or (function == "FloatAdd" and args[0].is_number):
        args = (args[1], args[0])
    elif function in ("CeilToInt", "FloorToInt", "TruncToInt", "RoundToInt"):
        if args[0].kind == "int":
            return args[0]
        inner = args[0]
        if isinstance(inner, _Call) and inner.function == "ToFloat":
            return inner.args[0]
        if isinstance(inner, _Call) and inner.function == "IntTrueDiv":
            a, b = inner.args
            exact = _exact_quotient(a, b)
            if exact is not None:
                return exact
    elif function == "Where" and args[0].is_number:
        return args[1] if args[0].value else args[2]
    return _Call(function, args)


def relation(function, a, b):
    """A comparison, with what both sides share taken away."""
    a, b = number(a), number(b)
    if a.kind == "int" and b.kind == "int":
        d = terms_of(add(a, mul(-1, b)))
        constant = d.get((), 0)
        if not any(d):
            return number(FUNCTIONS[function](constant, 0))
        shared = math.gcd(*d.values()) if constant else math.gcd(*(c for m, c in d.items() if m))
        a, b = _sides({m: c // shared for m, c in d.items()})
        if function in ("Eq", "Ne") and a.is_number:
            a, b = b, a
        if a.is_number and not b.is_number:
            function, a, b = {"Lt": "Gt", "Le": "Ge", "Gt": "Lt", "Ge": "Le"}.get(function, function), b, a
        if function in ("Eq", "Ne") and not b.is_number and str(b) < str(a):
            a, b = b, a
    elif a.is_number and b.is_number:
        return number(FUNCTIONS[function](a.value, b.value))
    return _Call(function, (a, b))


def _sides(d):
    """Terms of a difference as two sides without negative factors, the constant to the right."""
    left = {m: c for m, c in d.items() if m and c > 0}
    right = {m: -c for m, c in d.items() if m and c < 0}
    constant = d.get((), 0)
    if constant:
        if left and not (right and constant > 0):
            right[()] = -constant
        else:
            left[()] = constant
    return polynomial(left), polynomial(right)


_OPPOSITE = {"Eq": "Ne", "Ne": "Eq", "Lt": "Ge", "Ge": "Lt", "Gt": "Le", "Le": "Gt"}


def negated(e):
    """Not e."""
    e = number(e)
    if e.is_number:
        return number(not e.value)
    if isinstance(e, _Call) and e.function in _OPPOSITE:
        return _Call(_OPPOSITE[e.function], e.args)
    if isinstance(e, _Call) and e.function == "Not":
        return e.args[0]
    return _Call("Not", (e,))


def interval(e, ranges):
    """(least, greatest) that an integer or real expression can be, where symbols lie in `ranges`; infinite where unknown."""
    inf = math.inf
    e = number(e)
    if e.is_number:
        return e.value, e.value
    if e.is_symbol:
        return ranges.get(e, (-inf, inf))
    if isinstance(e, _Sum):
        low = high = 0
        for m, c in e.terms.items():
            a, b = c, c
            for x, p in m:
                r = interval(x, ranges)
                powers = [v ** p for v in r]
                r = min(powers) if p % 2 or not r[0] < 0 < r[1] else 0, max(powers)
                ends = [_product(u, v) for u in (a, b) for v in r]
                a, b = min(ends), max(ends)
            low, high = low + a, high + b
        return low, high
    f = e.function
    if f == "FloorDiv":
        (a, b), (c, d) = interval(e.args[0], ranges), interval(e.args[1], ranges)
        if a >= 0 and c > 0:
            return (0 if d == inf else a // d), (inf if b == inf else b // c)
    elif f in ("Mod", "PythonMod"):
        c, d = interval(e.args[1], ranges)
        if c > 0:
            return 0, d - 1
    elif f in ("Max", "Min"):
        (a, b), (c, d) = interval(e.args[0], ranges), interval(e.args[1], ranges)
        return (max(a, c), max(b, d)) if f == "Max" else (min(a, c), min(b, d))
    elif f == "Abs":
        return 0, inf
    elif f == "ToFloat":
        return interval(e.args[0], ranges)
    elif f in ("CeilToInt", "FloorToInt", "TruncToInt", "IntTrueDiv", "FloatTrueDiv", "PowByNatural", "FloatPow", "OpaqueUnaryFn_sqrt"):
        if all(interval(a, ranges)[0] >= 0 for a in e.args):
            return 0, inf
    return -inf, inf


def _product(a, b):
    return 0 if a == 0 or b == 0 else a * b


def decided(e, ranges):
    """True or False where the ranges of the symbols decide a condition, else None."""
    e = number(e)
    if e.is_number:
        return bool(e.value)
    if not isinstance(e, _Call):
        return None
    f = e.function
    if f == "Not":
        inner = decided(e.args[0], ranges)
        return None if inner is None else not inner
    if f in ("And", "Or"):
        parts = [decided(a, ranges) for a in e.args]
        short = f == "Or"
        if short in parts:
            return short
        return None if None in parts else not short
    if f not in _OPPOSITE:
        return None
    a, b = e.args
    if a.kind == "int" and b.kind == "int":
        low, high = interval(add(a, mul(-1, b)), ranges)
    else:
        (al, ah), (bl, bh) = interval(a, ranges), interval(b, ranges)
        low, high = al - bh if bh != math.inf else -math.inf, ah - bl if bl != -math.inf else math.inf
    if low != low or high != high:
        return None
    if f in ("Eq", "Ne"):
        if low > 0 or high < 0:
            return f == "Ne"
        return (f == "Eq") if low == high == 0 else None
    if f == "Lt":
        return True if high < 0 else False if low >= 0 else None
    if f == "Le":
        return True if high <= 0 else False if low > 0 else None
    if f == "Gt":
        return True if low > 0 else False if high <= 0 else None
    return True if low >= 0 else False if high < 0 else None


def with_divisions(e, divisible):
    """The expression where b * (a//b) is a, for the pairs (a, b) of which b is known to divide a, and b is one positive term."""
    e = number(e)
    if isinstance(e, _Sum):
        total = number(0)
        for m, c in e.terms.items():
            term = number(c)
            for x, p in m:
                term = mul(term, power(with_divisions(x, divisible), p))
            total = add(total, term)
        return _reduced(total, divisible)
    if not isinstance(e, _Call):
        return e
    args = [with_divisions(x, divisible) for x in e.args]
    if e.function in ("FloorDiv", "Mod"):
        for a, b in divisible:
            q = _Call("FloorDiv", (a, b))
            times = _exact_quotient(args[0], a) if args[1] == b and args[0] != a else None
            if times is not None:
                return number(0) if e.function == "Mod" else mul(q, times)
            if any(q == x for m in terms_of(args[1]) for x, _ in m):
                whole = [_reduced(mul(x, b), divisible) for x in args]
                out = call(e.function, *whole)
                if e.function == "FloorDiv":
                    return with_divisions(out, divisible) if str(out) != str(e) else out
                return out if out == 0 else call(e.function, *args)
    return call(e.function, *args)


def _reduced(e, divisible):
    for a, b in divisible:
        q, tb = _Call("FloorDiv", (a, b)), terms_of(b)
        if len(tb) != 1 or not any(q == x for m in terms_of(e) for x, _ in m):
            continue
        (bm, bc), = tb.items()
        out = number(0)
        for m, c in terms_of(e).items():
            powers = dict(m)
            if powers.get(q) == 1 and c % bc == 0 and all(powers.get(x, 0) >= p for x, p in bm):
                del powers[q]
                for x, p in bm:
                    powers[x] -= p
                out = add(out, mul(polynomial({tuple((x, p) for x, p in powers.items() if p): c // bc}), a))
            else:
                out = add(out, polynomial({m: c}))
        e = out
    return e


def without_positive_factors(e, ranges):
    """A comparison whose sides lost the symbols that all terms share, where these are positive."""
    if not (isinstance(e, _Call) and e.function in _OPPOSITE and e.args[0].kind == e.args[1].kind == "int"):
        return e
    terms = terms_of(add(e.args[0], mul(-1, e.args[1])))
    every = [dict(m) for m in terms]
    shared = [x for x in every[0] if x.is_symbol and all(x in d for d in every) and ranges.get(x, (-1,))[0] > 0] if every else []
    if not shared:
        return e
    factor = number(1)
    for x in shared:
        factor = mul(factor, power(x, min(d[x] for d in every)))
    return relation(e.function, _exact_quotient(polynomial(terms), factor), 0)


def free_symbols_of(e):
    """The symbols of an expression or number."""
    return e.free_symbols if isinstance(e, Expr) else frozenset()


def solved(e):
    """(symbol, expression) where an equation gives one symbol by the others, else None. The last symbol is the one solved for."""
    if not (isinstance(e, _Call) and e.function == "Eq" and e.args[0].kind == e.args[1].kind == "int"):
        return None
    d = terms_of(add(e.args[0], mul(-1, e.args[1])))
    candidates = []
    for m, c in d.items():
        if len(m) == 1 and m[0][1] == 1 and m[0][0].is_symbol and abs(c) == 1:
            s = m[0][0]
            if all(s not in a.free_symbols for n in d if n != m for a, _ in n):
                candidates.append((s, m, c))
    if not candidates:
        return None
    s, m, c = max(candidates, key=lambda x: _order(x[0]))
    rest = polynomial({n: -k * c for n, k in d.items() if n != m})
    return s, rest


def _order(symbol):
    digits = "".join(ch for ch in symbol.name if ch.isdigit())
    return symbol.name[0] == "u", int(digits or 0), symbol.name


def _restored(key):
    kind = key[0]
    if kind == "number":
        return number(float(key[2]) if key[1] == "float" else key[2])
    if kind == "symbol":
        return Symbol(key[1], key[2])
    if kind == "sum":
        return polynomial({tuple((_restored(k), p) for _, k, p in m): c for m, c in key[1]})
    return _Call(kind, tuple(map(_restored, key[1:])))
