"""Symbolic sizes: symbols for the sizes of tensors, what decisions about them rested on, and questions about them.

A `ShapeEnv` holds symbols with the values they have in an example. Arithmetic on `torch.SymInt` makes expressions; a
comparison that ranges of the symbols do not decide goes by the example and leaves a guard. A program traced so holds for all
sizes that satisfy the guards. Symbols without an example (`u0`: results of `.item()`, sizes of `nonzero`) raise
GuardOnDataDependentSymNode where a decision would need their value; `torch._check` says what is known of them.
"""
import collections
import dataclasses
import enum
import math
import weakref

import torch
from torch.fx.experimental import _expressions as ex
from torch.fx.experimental._expressions import Symbol, negated, number, relation
from torch.fx.experimental._size_codes import Codes
from torch.fx.experimental._size_questions import *  # noqa: F403
from torch.fx.experimental._size_questions import (  # noqa: F401
    GuardOnDataDependentSymNode, PendingUnbackedSymbolNotFound, source_text)
from torch.fx.experimental.sym_node import SymNode, wrap_node

_QUESTIONS = __import__("torch.fx.experimental._size_questions", fromlist=["__all__"]).__all__
__all__ = ["ShapeEnv", "ShapeEnvSettings", "ShapeGuard", "DimDynamic", "SymbolicContext", "StatelessSymbolicContext", "StatefulSymbolicContext",
           "SymIntSymbolicContext", "TrackedFake",
           "Constraint", "StrictMinMaxConstraint", "RelaxedUnspecConstraint", "EqualityConstraint", "ConstraintViolationError",
           "ValueRanges", "RuntimeAssert", *_QUESTIONS]

int_oo = math.inf


class ConstraintViolationError(RuntimeError):
    """A size that was said to be dynamic is not."""


class DimDynamic(enum.Enum):
    """What becomes of a size: a symbol of its own, one shared by equal sizes, the number, a symbol without example, or
    (for strides) what follows from the sizes."""

    DYNAMIC = 0
    DUCK = 1
    STATIC = 2
    UNBACKED = 3
    INFER_STRIDE = 4


@dataclasses.dataclass(frozen=True)
class ValueRanges:
    """The numbers from `lower` to `upper`."""

    lower: object
    upper: object

    def __contains__(self, x):
        return self.lower <= x <= self.upper

    def __iter__(self):
        return iter((self.lower, self.upper))

    def __getitem__(self, i):
        return (self.lower, self.upper)[i]

    def __str__(self):
        def end(x):
            return "int_oo" if x == int_oo else "-int_oo" if x == -int_oo else str(x)
        return f"VR[{end(self.lower)}, {end(self.upper)}]"
    __repr__ = __str__

    def is_singleton(self):
        return self.lower == self.upper


@dataclasses.dataclass(frozen=True)
class Constraint:
    """What a user says of a size; `warn_only` where breaking it is no error."""

    warn_only: bool = False


@dataclasses.dataclass(frozen=True)
class StrictMinMaxConstraint(Constraint):
    """The size takes every value of a range."""

    vr: ValueRanges = ValueRanges(2, int_oo)

    def render(self, source):
        return f"{self.vr.lower} <= {source_text(source)} <= {self.vr.upper}"


@dataclasses.dataclass(frozen=True)
class RelaxedUnspecConstraint(Constraint):
    """The size is no constant."""

    def render(self, source):
        return f"RelaxedUnspecConstraint({source_text(source)})"


@dataclasses.dataclass(frozen=True)
class EqualityConstraint(Constraint):
    """Sizes that are always equal, as pairs of sources."""

    source_pairs: object = ()


class SymbolicContext:
    """What becomes of the sizes of a tensor."""


@dataclasses.dataclass(frozen=True)
class StatelessSymbolicContext(SymbolicContext):
    """For each size and stride what becomes of it, and what the user says of it."""

    dynamic_sizes: list
    dynamic_strides: list = None
    constraint_sizes: list = None
    constraint_strides: list = None
    view_base_context: object = None
    specialize_on: object = None

    def __post_init__(self):
        n = len(self.dynamic_sizes)
        for name, default in (("dynamic_strides", DimDynamic.INFER_STRIDE), ("constraint_sizes", None), ("constraint_strides", None)):
            if getattr(self, name) is None:
                object.__setattr__(self, name, [default] * n)


@dataclasses.dataclass(frozen=True)
class StatefulSymbolicContext(StatelessSymbolicContext):
    """A context that keeps the symbols of a tensor, so that another trace of it has the same."""

    tensor_source: object = None
    shape_env_to_source_to_symbol_cache: dict = None

    def __post_init__(self):
        super().__post_init__()
        if self.tensor_source is None:
            raise AssertionError("StatefulSymbolicContext: tensor_source is None; it names the tensor")
        if self.shape_env_to_source_to_symbol_cache is None:
            object.__setattr__(self, "shape_env_to_source_to_symbol_cache", {})


@dataclasses.dataclass(frozen=True)
class SymIntSymbolicContext(SymbolicContext):
    """What the user says of an int."""

    constraint: object


@dataclasses.dataclass(frozen=True)
class TrackedFake:
    """A fake tensor or symbolic number with its source and context."""

    fake: object
    source: object
    symbolic_context: object


@dataclasses.dataclass(frozen=True)
class ShapeEnvSettings:
    """How symbols are made; see ShapeEnv."""

    allow_scalar_outputs: bool
    allow_dynamic_output_shape_ops: bool
    assume_static_by_default: bool
    specialize_zero_one: bool
    duck_shape: bool


class ShapeGuard:
    """A condition that a decision rested on, and where in the user's program."""

    __slots__ = ("expr", "stack", "size_oblivious")

    def __init__(self, expr, stack, size_oblivious=False):
        self.expr, self.stack, self.size_oblivious = expr, stack, size_oblivious

    def __repr__(self):
        return f"ShapeGuard(expr={self.expr})"


@dataclasses.dataclass(frozen=True)
class RuntimeAssert:
    """A condition that is checked when the program runs."""

    expr: object
    msg: str
    stack: str


def _user_line():
    """file:line of the innermost frame outside torch."""
    import os
    import sys
    own = os.path.dirname(torch.__file__)
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(own):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else "<unknown>"


class ShapeEnv:
    """Symbols, their values in the example, and guards.

    Args:
        allow_scalar_outputs (bool): `.item()` of a tensor without elements gives a new symbol without example.
        allow_dynamic_output_shape_ops (bool): so do sizes that depend on elements (nonzero).
        assume_static_by_default (bool): sizes are numbers unless a context says otherwise.
        specialize_zero_one (bool): sizes of 0 and 1 are numbers, and symbols at least 2.
        duck_shape (bool): sizes that are equal in the example share a symbol.
    """

    def __init__(self, *, allow_scalar_outputs=True, allow_dynamic_output_shape_ops=True, assume_static_by_default=False,
                 specialize_zero_one=True, duck_shape=True, should_record_events=None, tracked_fakes=None, prefer_deferred_runtime_asserts_over_guards=False,
                 trace_asserts=False, co_fields=None, _translation_validation=None):
        self.settings = ShapeEnvSettings(allow_scalar_outputs, allow_dynamic_output_shape_ops, assume_static_by_default, specialize_zero_one,
                                         bool(duck_shape) if duck_shape is not None else True)
        self.guards, self.deferred_runtime_asserts = [], collections.defaultdict(list)
        self.var_to_val, self.var_to_range, self.replacements = {}, {}, {}
        self.source_to_var, self.var_to_sources = {}, {}
        self.val_to_var = {0: number(0), 1: number(1)} if specialize_zero_one else {}
        self.unbacked_symbols, self.size_like, self.pending_fresh_unbacked_symbols = set(), set(), []
        self.tracked_fakes, self.frozen, self.runtime_asserts_frozen = tracked_fakes, False, False
        self._known, self._version, self._quiet = {}, 0, 0
        self._divisible = []  # (a, b): b divides a
        self._counters = {"s": 0, "u": 0, "zuf": 0}
        self._fakes = {}  # id of a tensor with symbols: a weak reference
        self._codes = Codes(self)
        self._running_again = set()  # calls that are run once more, see _subclasses/symbolic.py

    backed_var_to_val = property(lambda self: self.var_to_val)
    allow_scalar_outputs = property(lambda self: self.settings.allow_scalar_outputs)
    allow_dynamic_output_shape_ops = property(lambda self: self.settings.allow_dynamic_output_shape_ops)
    assume_static_by_default = property(lambda self: self.settings.assume_static_by_default)
    specialize_zero_one = property(lambda self: self.settings.specialize_zero_one)
    duck_shape = property(lambda self: self.settings.duck_shape)

    # ---- symbols ----
    def _fresh(self, start, kind="int"):
        name = f"{start}{self._counters[start]}"
        self._counters[start] += 1
        return Symbol(name, kind)

    def create_symbol(self, val, source, dynamic_dim=DimDynamic.DUCK, constraint_dim=None, positive=True, do_not_specialize_zero_one=False,
                      symbolic_context=None):
        """The symbol, or number, of a size that is `val` in the example and is called `source`."""
        name = source_text(source)
        if dynamic_dim in (DimDynamic.STATIC, DimDynamic.INFER_STRIDE):
            return number(int(val))
        cache = getattr(symbolic_context, "shape_env_to_source_to_symbol_cache", None)
        if cache is not None and name in cache.setdefault(id(self), {}):
            return cache[id(self)][name]
        if dynamic_dim is DimDynamic.UNBACKED:
            out = self._unbacked("int", size=bool(positive))
            self.source_to_var[name] = out
        else:
            zero_one = self.specialize_zero_one and not do_not_specialize_zero_one
            if zero_one and val in (0, 1):
                return number(int(val))
            duck = self.duck_shape and dynamic_dim is DimDynamic.DUCK
            out = self.val_to_var.get(val) if duck else None
            if out is None or (positive and self.var_to_range[out].lower < 0):
                out = self._fresh("s")
                self.var_to_val[out] = int(val)
                low = (2 if zero_one else 0) if positive else -int_oo
                self.var_to_range[out] = ValueRanges(low, int_oo)
                self._codes.add_symbol(out, int(val))
                if duck or val not in self.val_to_var:
                    self.val_to_var.setdefault(val, out)
            self.source_to_var.setdefault(name, out)
        self.var_to_sources.setdefault(out, []).append(source)
        if isinstance(constraint_dim, StrictMinMaxConstraint):
            self._narrow(out, max(self.var_to_range[out].lower, constraint_dim.vr.lower), min(self.var_to_range[out].upper, constraint_dim.vr.upper))
        if cache is not None:
            cache[id(self)][name] = out
        return out

    def create_unspecified_symbol(self, val, source, dynamic_dim=DimDynamic.DUCK, constraint_dim=None, symbolic_context=None):
        """The symbol of an int that is no size."""
        return self.create_symbol(val, source, dynamic_dim, constraint_dim, positive=None, do_not_specialize_zero_one=True,
                                  symbolic_context=symbolic_context)

    def create_symintnode(self, sym, *, hint=None, source=None):
        """The SymInt of an expression; an int where it is a number."""
        if isinstance(sym, int):
            return sym
        return wrap_node(SymNode(sym, self, int, hint))

    create_symfloatnode = staticmethod(lambda *a, **k: _no_floats())

    def create_symboolnode(self, sym):
        """The SymBool of a condition."""
        return wrap_node(SymNode(sym, self, bool))

    def create_unspecified_symint_and_symbol(self, value, source, dynamic_dim):
        return self.create_symintnode(self.create_unspecified_symbol(value, source, dynamic_dim), hint=value, source=source)

    def _unbacked(self, kind, size=False):
        out = self._fresh("zuf" if kind == "float" else "u", kind)
        self.unbacked_symbols.add(out)
        self.pending_fresh_unbacked_symbols.append(out)
        self.var_to_range[out] = ValueRanges(0 if size else -int_oo, int_oo)
        if size:
            self.size_like.add(out)
        self._codes.add_symbol(out, None)
        return out

    def create_unbacked_symint(self, source=None):
        """A SymInt without example."""
        return wrap_node(SymNode(self._unbacked("int"), self, int))

    def create_unbacked_symfloat(self):
        """A SymFloat without example."""
        return wrap_node(SymNode(self._unbacked("float"), self, float))

    def create_unbacked_symbool(self):
        """A SymBool without example."""
        s = self._unbacked("int")
        self.var_to_range[s] = ValueRanges(0, 1)
        return wrap_node(SymNode(relation("Eq", s, 1), self, bool))

    def is_unbacked_symint(self, symbol):
        return symbol in self.unbacked_symbols

    def create_symbolic_sizes_strides_storage_offset(self, ex, source, *, symbolic_context=None):
        """(sizes, strides, storage offset) of a tensor as SymInts; sizes that are numbers stay numbers."""
        sizes, strides, offset = self._geometry_of(ex, source, symbolic_context)
        node = self.create_symintnode
        return tuple(map(node, sizes)), tuple(map(node, strides)), node(offset)

    def _geometry_of(self, t, source, context=None):
        n = t.dim()
        if context is None:
            kind = DimDynamic.STATIC if self.assume_static_by_default else DimDynamic.DUCK
            context = StatelessSymbolicContext([kind] * n)
        if len(context.dynamic_sizes) != n:
            raise AssertionError(f"the symbolic context speaks of {len(context.dynamic_sizes)} sizes, the tensor of shape {tuple(t.shape)} has {n}")
        name = source_text(source)
        sizes = [self.create_symbol(int(s), f"{name}.size()[{i}]", context.dynamic_sizes[i], context.constraint_sizes[i], symbolic_context=context)
                 for i, s in enumerate(t.size())]
        strides = self._strides_of(t, sizes, name, context)
        offset = t.storage_offset()
        if offset and any(not s.is_number for s in sizes):
            offset = self.create_symbol(offset, f"{name}.storage_offset()", DimDynamic.DYNAMIC if not self.duck_shape else DimDynamic.DUCK)
        return sizes, strides, number(offset)

    def _strides_of(self, t, sizes, name, context):
        """0, 1, or what follows from the sizes within; a symbol where nothing follows."""
        values, strides = list(zip(t.size(), t.stride())), [None] * t.dim()
        for i in sorted(range(t.dim()), key=lambda i: (values[i][1], -i)):
            val = values[i][1]
            kind = context.dynamic_strides[i]
            if kind is DimDynamic.DYNAMIC:
                strides[i] = self.create_symbol(val, f"{name}.stride()[{i}]", DimDynamic.DYNAMIC)
                continue
            if val in (0, 1) or all(s.is_number for s in sizes):
                strides[i] = number(val)
                continue
            inner = [j for j in range(t.dim()) if strides[j] is not None and values[j][0] * values[j][1] == val]
            if inner:
                j = max(inner, key=lambda j: (values[j][1], -j))
                strides[i] = ex.mul(strides[j], sizes[j])
            else:
                strides[i] = self.create_symbol(val, f"{name}.stride()[{i}]", DimDynamic.DUCK, positive=True)
        return strides

    # ---- what is known ----
    def replace(self, expr):
        """The expression, with what guards have said of its symbols."""
        if not self.replacements or not isinstance(expr, ex.Expr):
            return expr
        while any(s in self.replacements for s in expr.free_symbols):
            expr = expr.xreplace(self.replacements)
        return expr

    def simplify(self, expr, size_oblivious=False):
        """The expression, with what guards have said of its symbols and of what divides what."""
        e = ex.without_positive_factors(self.replace(number(expr)), self.var_to_range)
        if self._divisible:
            e = ex.without_positive_factors(ex.with_divisions(e, self._divisible), self.var_to_range)
        return e

    def _hint_of(self, expr):
        expr = self.replace(number(expr))
        if any(s not in self.var_to_val for s in expr.free_symbols):
            return None
        return expr.evaluate(self.var_to_val)

    def guarding_hint_or_throw(self, expr):
        """The value in the example; GuardOnDataDependentSymNode where there is none."""
        return self.size_hint(expr)

    def has_guarding_hint(self, expr):
        return self._hint_of(expr) is not None

    def constrain_symbol_range(self, s, compiler_min, compiler_max):
        """The symbol lies between two numbers from now on."""
        r = self.var_to_range[s]
        self._narrow(s, max(compiler_min, r.lower), min(compiler_max, r.upper))

    def size_hint(self, expr, *, allow_none=False, fallback=None):
        """The value of an expression in the example."""
        hint = self._hint_of(expr)
        if hint is not None or allow_none:
            return hint
        if fallback is not None:
            return fallback
        raise GuardOnDataDependentSymNode(expr, f"the value of {expr} is asked for, and there is no example of {_names(self._without_hint(expr))}")

    def has_hint(self, expr):
        return self._hint_of(expr) is not None

    def bound_sympy(self, expr, size_oblivious=False):
        """The ValueRanges of an expression."""
        return ValueRanges(*ex.interval(self.replace(number(expr)), self.var_to_range))

    def _without_hint(self, expr):
        return sorted((s for s in number(expr).free_symbols if s not in self.var_to_val), key=str)

    def _known_truth(self, e, ranges=None):
        """True or False where ranges and what was found before decide a condition, else None; no guard is left."""
        e = self.simplify(e)
        known = ex.decided(e, self.var_to_range if ranges is None else ranges)
        return self._known.get(e) if known is None else known

    def _guard_or(self, e, default):
        e = self.replace(number(e))
        known = self._known_truth(e)
        if known is not None:
            return known
        hint = self._hint_of(e)
        return default if hint is None else self.evaluate_expr(e, hint)

    def evaluate_expr(self, orig_expr, hint=None, fx_node=None, size_oblivious=False, fallback_value=None, *, forcing_spec=False):
        """The truth of a condition, or the value of an expression, in the example; what it rested on becomes a guard."""
        e = self.replace(number(orig_expr))
        if e.kind != "bool":
            return e.value if e.is_number else self._specialized(SymNode(e, self, {"int": int, "float": float}[e.kind]))
        known = self._known_truth(e)
        if known is not None:
            return known
        if self.size_like:
            # Sizes without example are taken for larger than 1 where a decision asks for it.
            ranges = {**self.var_to_range, **{s: ValueRanges(max(2, self.var_to_range[s].lower), self.var_to_range[s].upper) for s in self.size_like}}
            known = self._known_truth(e, ranges)
            if known is not None and (size_oblivious or e.free_symbols <= self.size_like and e.function in ("Eq", "Ne")):
                return known
        hint = self._hint_of(e)
        if hint is None:
            if fallback_value is not None:
                return fallback_value
            raise GuardOnDataDependentSymNode(
                e, f"whether {e} holds is asked for, and there is no example of {_names(self._without_hint(e))}. torch._check({e}) says that it "
                f"does; torch.fx.experimental.symbolic_shapes.guard_or_false asks without an error. At {_user_line()}")
        self._learn(e if hint else negated(e))
        return bool(hint)

    def _learn(self, e, guard=True):
        """A condition that holds from now on."""
        e = self.simplify(e)
        if e.is_number or self._known_truth(e) is True:
            return
        if guard and not self._quiet:
            if self.frozen:
                import warnings
                warnings.warn(f"a guard was made after the ShapeEnv was frozen: {e}")
            self.guards.append(ShapeGuard(e, _user_line()))
        if getattr(e, "function", None) == "And":
            for a in e.args:
                self._learn(a, guard=False)
        self._known[e], self._known[negated(e)] = True, False
        if not e.is_symbol and e.function in ("Lt", "Gt"):
            other = relation({"Lt": "Le", "Gt": "Ge"}[e.function], *e.args)
            for k, v in ((other, True), (relation("Eq", *e.args), False), (relation("Ne", *e.args), True)):
                self._known.setdefault(k, v)
        if getattr(e, "function", None) == "Eq" and e.args[1] == 0 and getattr(e.args[0], "function", None) == "Mod":
            self._divisible.append(e.args[0].args)
        self._refine(e)
        solution = ex.solved(e)
        if solution is not None:
            s, value = solution
            if value.is_symbol and s in self.var_to_range and value in self.var_to_range:   # one symbol for two: both ranges hold
                r, q = self.var_to_range[s], self.var_to_range[value]
                self.var_to_range[value] = ValueRanges(max(r.lower, q.lower), min(r.upper, q.upper))
            self.replacements[s] = value
            self._version += 1
            self._known = {self.replace(k): v for k, v in self._known.items()}
            self._codes.rewrite()

    def _refine(self, e):
        """Narrows the range of a symbol that a condition compares with a number."""
        if e.is_symbol or e.function not in ("Eq", "Ne", "Lt", "Le", "Gt", "Ge") or e.args[0].kind != "int" or not e.args[1].is_number:
            return
        d = ex.terms_of(e.args[0])
        rest = [(m, c) for m, c in d.items() if m]
        if len(rest) != 1 or len(rest[0][0]) != 1 or rest[0][0][0][1] != 1 or not rest[0][0][0][0].is_symbol:
            return
        s, c, k = rest[0][0][0][0], rest[0][1], e.args[1].value - d.get((), 0)
        r, f = self.var_to_range[s], e.function
        if c < 0:
            f = {"Lt": "Gt", "Le": "Ge", "Gt": "Lt", "Ge": "Le"}.get(f, f)
            c, k = -c, -k
        low, high = r.lower, r.upper
        if f == "Lt":
            high = min(high, -(-k // c) - 1)
        elif f == "Le":
            high = min(high, k // c)
        elif f == "Gt":
            low = max(low, k // c + 1)
        elif f == "Ge":
            low = max(low, -(-k // c))
        elif f == "Ne" and c == 1:
            low, high = low + (k == low), high - (k == high)
        self._narrow(s, low, high)

    def _narrow(self, s, low, high):
        if low > high:
            raise ConstraintViolationError(f"{s} would have to be at least {low} and at most {high}")
        self.var_to_range[s] = ValueRanges(low, high)
        if low == high and s not in self.replacements and s in self.var_to_val and low == self.var_to_val[s]:
            self._learn(relation("Eq", s, low), guard=False)

    def values_that_became_numbers(self):
        """The values in the example of the symbols that guards made numbers."""
        return {v for s, v in self.var_to_val.items() if self.replace(s).is_number}

    def fix_values(self, values):
        """Symbols of these values in the example become numbers, with guards."""
        for s, v in list(self.var_to_val.items()):
            if v in values:
                self._learn(relation("Eq", s, v))

    def _specialized(self, node):
        """The value of an expression in the example, with a guard that it stays."""
        e = node.expr
        hint = self._hint_of(e)
        if hint is None:
            raise GuardOnDataDependentSymNode(
                e, f"the value of {e} is asked for, and there is no example of {_names(self._without_hint(e))}. At {_user_line()}")
        self._learn(relation("Eq", e, hint))
        return hint

    def defer_runtime_assert(self, orig_expr, msg, fx_node=None):
        """A condition on symbols without example: it holds from now on, and is checked when the program runs."""
        e = self.replace(number(orig_expr))
        known = self._known_truth(e)
        if known is not None:
            if not known:
                raise RuntimeError(f"{e} cannot hold: {msg}")
            return True
        if not self._without_hint(e):
            return self.evaluate_expr(e)
        key = max((s for s in e.free_symbols if s in self.unbacked_symbols), key=ex._order)
        self.deferred_runtime_asserts[key].append(RuntimeAssert(e, msg, _user_line()))
        self._learn(e, guard=False)
        return True

    # ---- codes: how sizes go through C++ ----
    def _keep(self, t):
        """A tensor whose sizes hold symbols takes other codes when these change."""
        key = id(t)
        self._fakes[key] = weakref.ref(t, lambda _: self._fakes.pop(key, None))

    def _code_of(self, node):
        return self._codes.of_argument(node.expr)

    # ---- guards as a whole ----
    def freeze(self):
        """Guards made from now on warn."""
        self.frozen = True

    def freeze_runtime_asserts(self):
        self.runtime_asserts_frozen = True

    def suppress_guards(self):
        """A context within which decisions leave no guards."""
        return _Quiet(self)

    ignore_fresh_unbacked_symbols = suppress_guards

    def get_nontrivial_guards(self):
        """The conditions of the guards that still say something."""
        return [e for e in (self.replace(g.expr) for g in self.guards) if not e.is_number]

    def format_guards(self, verbose=False):
        """The guards, a line for each."""
        return "\n".join(f" - {g.expr}{' (at ' + g.stack + ')' if verbose else ''}" for g in self.guards)

    def _bound_values(self, placeholders, args):
        """({symbol: its value}, [(expression, value)]) where tensors with symbolic sizes stand for real arguments."""
        from torch._subclasses.symbolic import first_geometry
        values, found = {}, []

        def bind(e, value):
            e = number(e)
            found.append((e, value))
            if e.is_symbol:
                values.setdefault(e, value)
            elif isinstance(e, ex._Sum) and len(e.terms) == 1:
                (m, c), = e.terms.items()
                if len(m) == 1 and m[0][1] == 1 and m[0][0].is_symbol and value % c == 0:
                    values.setdefault(m[0][0], value // c)
        for p, a in zip(placeholders, args):
            if isinstance(p, torch.Tensor):
                sizes, strides, offset = first_geometry(p)
                for e, v in (*zip(sizes, a.size()), *zip(strides, a.stride()), (offset, a.storage_offset())):
                    bind(e, v)
            elif isinstance(p, torch.SymInt):
                bind(p.node._first, a)
        return values, found

    def _admits(self, values):
        """Whether values of symbols satisfy all that was found of these."""
        for s, v in values.items():
            if s in self.replacements:
                want = self.replace(s)
                if all(q in values for q in want.free_symbols) and want.evaluate(values) != v:
                    return False
            if v not in self.var_to_range.get(s, ValueRanges(-int_oo, int_oo)):
                return False
        return all(g.expr.evaluate(values) for g in self.guards if all(s in values for s in g.expr.free_symbols))

    def bind_symbols(self, placeholders, args):
        """{symbol: its value} where tensors with symbolic sizes stand for real arguments."""
        return self._bound_values(placeholders, args)[0]

    def evaluate_guards_for_args(self, placeholders, args, *, ignore_static=True):
        """Whether the guards hold for these arguments, and the sizes that were numbers from the start, unless ignore_static."""
        values, found = self._bound_values(placeholders, args)
        return self._admits(values) and all(e.evaluate(values) == v for e, v in found
                                           if (e.free_symbols or not ignore_static) and all(s in values for s in e.free_symbols))

    def produce_guards_expression(self, placeholders, *, guards=None, ignore_static=True):
        """The guards as the text of a Python expression of symbols' values; None where there are none."""
        parts = [f"({_python(g.expr if isinstance(g, ShapeGuard) else g)})" for g in (self.guards if guards is None else guards)]
        return " and ".join(parts) or None

    def evaluate_guards_expression(self, code, args):
        """Whether a text of produce_guards_expression holds; `args` are the values of s0, s1 ... in this order."""
        names = {str(s): v for s, v in zip(sorted(self.var_to_val, key=ex._order), args)}
        return eval(code, {"__builtins__": {}, **ex.FUNCTIONS}, names)

    def __repr__(self):
        return f"<ShapeEnv with {len(self.var_to_val)} symbols and {len(self.guards)} guards>"


def _python(e):
    """A condition as Python writes it."""
    if isinstance(e, ex._Call):
        signs = {"Eq": "==", "Ne": "!=", **ex._COMPARED, "FloorDiv": "//", "Mod": "%", "And": "and", "Or": "or"}
        if e.function in signs:
            return f"({_python(e.args[0])} {signs[e.function]} {_python(e.args[1])})"
        if e.function == "Not":
            return f"(not {_python(e.args[0])})"
        return f"{e.function}({', '.join(map(_python, e.args))})"
    if isinstance(e, ex._Sum):
        return " + ".join("*".join([str(c), *(f"{_python(a)}**{p}" for a, p in m)]) for m, c in e.terms.items())
    return str(e)


class _Quiet:
    def __init__(self, env):
        self.env = env

    def __enter__(self):
        self.env._quiet += 1

    def __exit__(self, *exc):
        self.env._quiet -= 1


def _names(symbols):
    return ", ".join(map(str, symbols))


def _no_floats():
    raise NotImplementedError("ShapeEnv.create_symfloatnode: floats of the example are numbers; only create_unbacked_symfloat makes a symbol")


