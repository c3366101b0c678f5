"""How symbolic sizes go through C++: as numbers that stand for them.

Tensors, composites and derivatives in C++ compute with plain integers. A symbol therefore has a *code*, a number with the
remainders of its example (modulo 240, so that what divides it divides the code), apart from other codes and from numbers
that programs hold. An expression's code is its value at the codes. Tensors without elements have sizes of codes; where a number
comes back to Python (an argument of a primitive, a size), it is looked up among the codes of known expressions, and sums and
multiples of them. The shape rules of the cards themselves compute with expressions in C++ (core/symint.h); this module
converts between these and ours.
"""
import weakref

import torch
from torch import _C
from torch.fx.experimental import _expressions as ex
from torch.fx.experimental._expressions import call, number, relation
from torch.fx.experimental.sym_node import SymNode, wrap_node

LEAST = 300      # numbers below stand for themselves
_FIRST = 900     # the least code of a symbol
_STEP = 240
_environments = []  # weak references, the newest last


def decode(value, tensor=None):
    """The symbolic number whose code this is, else the number. `tensor` takes part in the call that has the number; False where
    only such do that have elements.
    """
    mode = getattr(tensor, "fake_mode", None) or _C._get_dispatch_mode(_C._TorchDispatchModeKey.FAKE)
    env = getattr(mode, "shape_env", None)
    # Who computes with sizes that are numbers may come upon the code of a symbol of somebody else.
    if env is None and (mode is not None or tensor is False or isinstance(value, float)):
        return value
    for env in (env,) if env is not None else (e for e in (r() for r in reversed(_environments)) if e is not None):
        e = env._codes.lookup(value)
        if e is not None:
            return wrap_node(SymNode(e, env, {"int": int, "float": float}[e.kind]))
    return value


def _gone(reference):
    _environments.remove(reference)
    if not _environments:
        _C._set_symbolic_decoder(None, None)


class Codes:
    """The codes of one environment."""

    def __init__(self, env):
        self._env = weakref.ref(env)
        self.of_symbol, self._known, self._symbols = {}, {}, []
        self._before = {}  # codes that expressions had before symbols of theirs became others: programs in C++ may hold them
        self.shift = 0  # other codes, by so many steps
        self.numbers = set()  # static sizes of its tensors: no codes
        self._cpp, self._cpp_symbols, self._cpp_names, self._cpp_guards, self._texts = None, {}, {}, 0, {}

    @property
    def env(self):
        return self._env()

    # ---- codes ----
    def add_symbol(self, symbol, hint):
        """Chooses a code: larger for larger examples where room is."""
        if not any(r() is self.env for r in _environments):
            if not _environments:
                from torch._subclasses.symbolic import check
                _C._set_symbolic_decoder(decode, check)
            _environments.append(weakref.ref(self.env, _gone))
        if symbol.kind == "float":
            self.of_symbol[symbol] = 1000.5 + len(self._symbols)
        else:
            self.of_symbol[symbol] = self._chosen(hint if hint is not None else 7 + len(self._symbols))
        self._symbols.append(symbol)
        self._register(symbol, self.of_symbol[symbol])

    def _chosen(self, hint):
        taken = self.of_symbol.values()
        below = [c for s, c in self.of_symbol.items() if self.env.var_to_val.get(s, hint) < hint]
        above = [c for s, c in self.of_symbol.items() if self.env.var_to_val.get(s, hint) > hint]
        low = max(below, default=4 * _STEP)
        high = min(above, default=16 * _STEP)

        def fits(code):
            return (all(abs(code - t) > 40 for t in taken) and all(abs(code - k * round(code / k)) > 3 for k in (64, 100))
                    and code not in self.numbers)
        base = hint % _STEP
        first = max(hint, _FIRST) // _STEP + 1 + self.shift
        around = sorted(range(first, first + 400), key=lambda m: (not low < base + m * _STEP < high, abs(base + m * _STEP - (low + high) / 2)))
        for m in around:
            if fits(base + m * _STEP):
                return base + m * _STEP
        return base + _STEP * next(m for m in range(first, 1 << 20) if base + m * _STEP not in taken)

    def value(self, e):
        """The value of an expression at the codes; it is known from now on."""
        e = self.env.replace(number(e))
        v = e.evaluate(self.of_symbol)
        if e.free_symbols:
            self._register(e, v)
        else:
            self.numbers.add(v)
        return v

    def _register(self, e, v):
        if (e.kind == "int" and v < LEAST) or v in (0, 1):
            return
        found = self._known.get(v)
        if found is None:
            self._known[v] = e
        elif found != e and len(str(e)) < len(str(found)):
            self._known[v] = e

    def of_argument(self, e):
        """The number by which an expression goes into a call."""
        e = self.env.replace(number(e))
        if e.is_number:
            return e.value
        v = self.value(e)
        if v < 0:
            return -self.of_argument(ex.mul(-1, e))
        if self._known.get(v) == e:
            return v
        code = self._chosen(len(self._known) + 11)
        while code in self._known:
            code += _STEP + 7
        self._known[code] = e
        return code

    def lookup(self, v):
        """The expression that a number stands for, or None."""
        if v < 0 and isinstance(v, int):
            e = self.lookup(-v)
            return None if e is None else ex.mul(-1, e)
        e = self._known.get(v)
        if e is None:
            e = self._before.get(v)
        if e is None and isinstance(v, float):
            e = self._real(v)
        elif e is None and v not in self.numbers and self._symbols:
            e = self._composed(v)
        return None if e is None else self.env.replace(e)

    def _real(self, v):
        for k in range(1, 5) if 1e-15 < abs(v) < 1 else ():  # k parts of a size, or of one less or more
            n = round(k / v)
            for d in (0, -1, 1) if abs(n) >= _FIRST and k / n == v else ():
                e = self._known.get(n - d)
                if e is not None:
                    return call("IntTrueDiv", k, ex.add(e, d))
            for c, e in list(self._known.items()) if abs(n) >= _FIRST ** 2 and k / n == v else ():  # or of two sizes' product
                if isinstance(c, int) and n % c == 0 and n // c in self._known:
                    return call("IntTrueDiv", k, ex.mul(e, self._known[n // c]))
        return None

    def _composed(self, v):
        """v as a multiple, a part or a sum of codes; expressions of fewest letters first. None where there is no such."""
        known = [(c, e) for c, e in self._known.items() if isinstance(c, int) and e.kind == "int"]
        for c, e in sorted(known, key=lambda x: -x[0]):
            if v % c == 0 and v // c <= 64:
                return self._found(ex.mul(v // c, e), v)
        for c, e in sorted(known, key=lambda x: x[0]):  # c // k where that leaves no rest
            if c % v == 0 and 1 < c // v <= 64 and (v >= _FIRST or e.is_symbol) and self.env._hint_of(call("Mod", e, c // v)) == 0:
                self.env._learn(relation("Eq", call("Mod", e, c // v), 0))
                return self._found(call("FloorDiv", e, c // v), v)
        for s in self._symbols:  # c / k, rounded up or down
            c = self.of_symbol[s]
            for k in (c // v, c // v + 1) if s.kind == "int" else ():
                if 1 < k <= 12 and c % k and v - c // k in (0, 1):
                    return self._found(call("FloorDiv", ex.add(s, (k - 1) * (v - c // k)), k), v)
        if v < _FIRST:
            return None
        for c, e in known:
            if 0 < abs(v - c) <= 2:
                return self._found(ex.add(e, v - c), v)
        if any(v % n == 0 for n in self.numbers if n > 15):
            return None
        of = dict(known)
        products = {ex.mul(e, of[v // c]) for c, e in known if v % c == 0 and v // c in of}
        sums = {ex.add(e, of[v - c]) for c, e in known if v - c in of} | {ex.add(e, ex.mul(-1, of[c - v])) for c, e in known if c - v in of}
        best = sorted(products or sums, key=lambda e: (len(str(e)), str(e)))
        return self._found(best[0], v) if best else None

    def _found(self, e, v):
        self._register(e, v)
        return e

    def rewrite(self):
        """After a symbol became an expression: tensors take the new codes."""
        self._before.update(self._known)
        self._known = {}
        for s in self._symbols:
            self.value(s)
        for t in [r() for r in list(self.env._fakes.values())]:
            if t is not None:
                t._take_codes()

    # ---- expressions of C++ ----
    def to_cpp(self, e):
        """The expression as the shape rules in C++ compute with it."""
        if self._cpp is None:
            self._cpp = _C.ShapeEnv()
        e = self.env.replace(number(e))
        if e.is_number:
            return int(e.value)
        if isinstance(e, ex._Sum):
            total = 0
            for m, c in e.terms.items():
                for a, p in m:
                    for _ in range(p):
                        c = c * self.to_cpp(a)
                total = total + c
            return total
        if not e.is_symbol and e.function == "FloorDiv":
            return self.to_cpp(e.args[0]) // self.to_cpp(e.args[1])
        if not e.is_symbol and e.function == "Mod":
            return self.to_cpp(e.args[0]) % self.to_cpp(e.args[1])
        found = self._cpp_symbols.get(e)
        if found is None:
            hint = self.env._hint_of(e)
            hint = int(e.evaluate(self.of_symbol) if hint is None else hint)
            low = ex.interval(e, self.env.var_to_range)[0]
            if e in self.env.size_like:
                low = max(low, 2)
            name = e.name if e.is_symbol else f"x{len(self._cpp_symbols)}"
            found = self._cpp_symbols[e] = self._cpp.symbol(name, hint, min(hint, int(low) if 0 <= low < float("inf") else -1))
            self._cpp_names[name] = e
        return found

    def from_cpp(self, c):
        """An expression that a shape rule computed."""
        return number(c) if isinstance(c, int) else self.env.simplify(self._parsed(repr(c)))

    def _parsed(self, text):
        e = self._texts.get(text)
        if e is None:
            e = self._texts[text] = number(eval(text, {"__builtins__": {}}, self._cpp_names))
        return e

    def take_guards(self):
        """What decisions of shape rules rested on becomes guards of the environment."""
        from torch.fx.experimental._size_questions import GuardOnDataDependentSymNode
        new = self._cpp.guards[self._cpp_guards:] if self._cpp is not None else ()
        self._cpp_guards += len(new)
        for g in new:
            for sign, function in ((" == ", "Eq"), (" != ", "Ne"), (" < ", "Lt"), (" >= ", "Ge")):
                if sign in g:
                    a, b = g.split(sign)
                    break
            e = self.env.simplify(relation(function, self._parsed(a), self._parsed(b)))
            if e.is_number or self.env._known_truth(e) is True:
                continue
            unknown = self.env._without_hint(e)
            if unknown:
                if self.env.evaluate_expr(e, size_oblivious=True, fallback_value="unknown") is True:
                    continue
                raise GuardOnDataDependentSymNode(e, f"a shape rule asks whether {e} holds, and there is no example of {', '.join(map(str, unknown))}; "
                                                     f"torch._check({e}) says that it does")
            self.env._learn(e)


def fake_like(sizes, strides, offset, dtype):
    """A tensor on the meta device of this geometry."""
    with torch.utils._python_dispatch._disable_current_modes(), torch.no_grad():
        if not offset:
            return torch.empty_strided(sizes, strides, dtype=dtype, device="meta")
        reach = 1 + offset + sum((n - 1) * s for n, s in zip(sizes, strides)) if all(sizes) else offset
        return torch.empty(reach, dtype=dtype, device="meta").as_strided(sizes, strides, offset)
