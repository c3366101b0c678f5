"""Questions about symbolic numbers: which symbols they hold, whether a number is known, and what they are in the example."""
import torch
from torch.fx.experimental import _expressions as ex
from torch.fx.experimental._expressions import Expr, number
from torch.utils import _pytree as pytree

__all__ = ["GuardOnDataDependentSymNode", "PendingUnbackedSymbolNotFound", "guard_int", "guard_bool", "guard_float", "guard_scalar",
           "guard_size_oblivious", "guard_or_true", "guard_or_false", "guarding_hint_or_throw", "optimization_hint", "is_concrete_int",
           "is_concrete_float", "is_concrete_bool", "is_symbolic", "free_symbols", "free_unbacked_symbols", "has_free_symbols",
           "has_free_unbacked_symbols", "has_symbolic_sizes_strides", "has_static_value", "statically_known_true", "statically_known_false",
           "sym_eq", "sym_and", "sym_or", "constrain_range", "constrain_unify", "expect_true", "is_nested_int", "check_consistent",
           "create_contiguous", "is_accessor_node", "is_symbol_binding_fx_node", "find_symbol_binding_fx_nodes", "fx_placeholder_vals",
           "fx_placeholder_targets", "eval_guards", "bind_symbols", "compute_unbacked_bindings", "canonicalize_bool_expr", "SymTypes"]

SymTypes = (torch.SymInt, torch.SymFloat, torch.SymBool)


class GuardOnDataDependentSymNode(RuntimeError):
    """A decision needs the value of a symbol that has none in the example. `cond` is the expression."""

    def __init__(self, cond, *args):
        super().__init__(*args)
        self.cond = cond


class PendingUnbackedSymbolNotFound(RuntimeError):
    """A symbol without example was made for a result that does not hold it."""


def source_text(source):
    """The name of a source: a text, or an object with a `name`."""
    if source is None or isinstance(source, str):
        return source or "<unnamed>"
    name = source.name
    return name() if callable(name) else name


def guard_int(a):
    """The value of an int in the example, with a guard that it stays."""
    if isinstance(a, torch.SymInt):
        return a.node.guard_int("", 0)
    if type(a) is not int:
        raise AssertionError(f"guard_int takes an int or a SymInt, not {type(a).__name__}")
    return a


def guard_bool(a):
    """The truth of a condition in the example, with a guard that it stays."""
    if isinstance(a, torch.SymBool):
        return a.node.guard_bool("", 0)
    if type(a) is not bool:
        raise AssertionError(f"guard_bool takes a bool or a SymBool, not {type(a).__name__}")
    return a


def guard_float(a):
    """The value of a float in the example, with a guard that it stays."""
    if isinstance(a, torch.SymFloat):
        return a.node.guard_float("", 0)
    if not isinstance(a, float):
        raise AssertionError(f"guard_float takes a float or a SymFloat, not {type(a).__name__}")
    return a


def guard_scalar(a):
    """The value of a number in the example, with a guard that it stays."""
    for types, f in (((torch.SymBool, bool), guard_bool), ((torch.SymInt, int), guard_int), ((torch.SymFloat, float), guard_float)):
        if isinstance(a, types):
            return f(a)
    raise AssertionError(f"guard_scalar takes a number, not {type(a).__name__}")


def guard_size_oblivious(expr):
    """The truth of a condition, where sizes without example count as larger than 1."""
    return expr.node.guard_size_oblivious("", 0) if isinstance(expr, torch.SymBool) else expr


def guard_or_true(a):
    """The truth of a condition; True where it needs a value without example."""
    return a.node.guard_or_true("", 0) if isinstance(a, torch.SymBool) else bool(a)


def guard_or_false(a):
    """The truth of a condition; False where it needs a value without example."""
    return a.node.guard_or_false("", 0) if isinstance(a, torch.SymBool) else bool(a)


def _concrete(kind):
    def is_concrete(a):
        return isinstance(a, kind) if not hasattr(a, "node") else a.node.expr.is_number
    is_concrete.__name__ = is_concrete.__qualname__ = f"is_concrete_{kind.__name__}"
    is_concrete.__doc__ = f"Whether a {kind.__name__}, or a symbolic one whose value is known."
    return is_concrete


is_concrete_int, is_concrete_float, is_concrete_bool = map(_concrete, (int, float, bool))


def is_symbolic(val):
    """Whether a symbolic number that is no plain one."""
    return isinstance(val, SymTypes) and not val.node.expr.is_number


def optimization_hint(a, fallback=None):
    """The value of an int in the example, `fallback` or 8192 where there is none; no guard is left."""
    if not isinstance(a, torch.SymInt):
        return a
    hint = a.node.hint
    return hint if hint is not None else 8192 if fallback is None else fallback


def guarding_hint_or_throw(a):
    """The value of a number in the example; GuardOnDataDependentSymNode where there is none. No guard is left."""
    node = a if hasattr(a, "shape_env") else getattr(a, "node", None)
    return a if node is None else node.shape_env.size_hint(node.expr)


def has_symbolic_sizes_strides(elem):
    """Whether the geometry of a tensor holds symbols."""
    return has_free_symbols((*elem.size(), *elem.stride(), elem.storage_offset()))


def create_contiguous(shape):
    """Row-major strides of a shape."""
    strides = [1]
    for s in list(shape)[:0:-1]:
        strides.append(s * strides[-1])
    return strides[::-1]


def is_accessor_node(node):
    """Whether a node reads a size, a stride, an offset or an element as a number."""
    aten = torch.ops.aten
    return (node.op == "call_method" and node.target in ("size", "stride", "storage_offset", "item")) or (
        node.op == "call_function" and node.target in (aten.sym_size, aten.sym_size.default, aten.sym_size.int, aten.sym_stride, aten.sym_stride.default,
                                                       aten.sym_stride.int, aten.sym_storage_offset, aten.sym_storage_offset.default,
                                                       aten.sym_numel.default))


def _expressions(val):
    if val is None or isinstance(val, (int, float, bool, str)):
        return
    if isinstance(val, SymTypes):
        yield val.node.expr
    elif isinstance(val, Expr):
        yield val
    elif isinstance(val, torch.Tensor):
        yield from _expressions(val.size())
        yield from _expressions(val.stride())
        yield from _expressions(val.storage_offset())
    elif isinstance(val, (list, tuple)):
        for x in val:
            yield from _expressions(x)
    elif isinstance(val, dict):
        for x in val.values():
            yield from _expressions(x)
    else:
        raise AssertionError(f"free_symbols of a {type(val).__name__} are not known")


def free_symbols(val):
    """The symbols in a number, an expression, a tensor's geometry, or a nest of such."""
    return set().union(*(e.free_symbols for e in _expressions(val)))


def free_unbacked_symbols(x):
    """Those of its symbols that have no example."""
    return {s for s in free_symbols(x) if s.name.startswith(("u", "zuf"))}


def has_free_symbols(val):
    """Whether it holds symbols."""
    return any(not e.is_number for e in _expressions(val))


def has_free_unbacked_symbols(x):
    """Whether it holds symbols without example."""
    return bool(free_unbacked_symbols(x))


def has_static_value(a):
    """Whether the value of a number is known."""
    return not isinstance(a, SymTypes) or a.node.expr.is_number


def statically_known_true(x):
    """Whether a condition surely holds; no guard is left."""
    return x.node._known() is True or x.node.shape_env._known_truth(x.node.expr) is True if isinstance(x, torch.SymBool) else bool(x)


def statically_known_false(x):
    """Whether a condition surely does not hold; no guard is left."""
    return x.node.shape_env._known_truth(x.node.expr) is False if isinstance(x, torch.SymBool) else not x


def sym_eq(x, y):
    """x == y of numbers, or of tuples and lists of numbers element by element."""
    if isinstance(x, (tuple, list)) and isinstance(y, (tuple, list)):
        return len(x) == len(y) and sym_and(*(sym_eq(a, b) for a, b in zip(x, y)))
    if isinstance(x, (int, torch.SymInt)) and isinstance(y, (int, torch.SymInt)):
        return x == y
    raise AssertionError(f"sym_eq compares ints, or lists of them, not {type(x).__name__} and {type(y).__name__}")


def sym_and(x=True, *others):
    """All of the conditions, without a guard."""
    for y in others:
        if x is False or y is False:
            return False
        x = y if x is True else x if y is True else x & y
    return x


def sym_or(x=False, *others):
    """Any of the conditions, without a guard."""
    for y in others:
        if x is True or y is True:
            return True
        x = y if x is False else x if y is False else x | y
    return x


def constrain_range(a, *, min, max=None):
    """A number without example lies between min and max from now on; of others, a check."""
    upper = float("inf") if max is None else max
    low = -float("inf") if min is None else min
    if low > upper:
        raise ValueError(f"constrain_range: max is {max} and min {min}; max is not below min")
    if isinstance(a, int):
        if not low <= a <= upper:
            raise ValueError(f"constrain_range: {a} does not lie between {min} and {max}")
        return
    env, e = a.node.shape_env, a.node.expr
    if e.is_number:
        return constrain_range(e.value, min=min, max=max)
    if e.is_symbol:
        known = env.var_to_range[e]
        env._narrow(e, low if low > known.lower else known.lower, upper if upper < known.upper else known.upper)


def constrain_unify(a, b):
    """Two numbers are one from now on."""
    if not isinstance(a, torch.SymInt):
        a, b = b, a
    if not isinstance(a, torch.SymInt):
        if a != b:
            raise AssertionError(f"constrain_unify: {a} and {b} are not equal")
        return
    env = a.node.shape_env
    env._learn(ex.relation("Eq", a.node.expr, b.node.expr if isinstance(b, torch.SymInt) else number(b)), guard=False)


def expect_true(a, skip=0):
    """The condition holds: a guard where the example tells, else a check at run time."""
    return a.node.expect_true("", 0) if isinstance(a, torch.SymBool) else bool(a)


def is_nested_int(s):
    """Whether the size of a jagged dimension; there are none here."""
    return False


def check_consistent(new, old):
    """Two results of one trace agree: same kind, type and sizes. AssertionError where not."""
    if isinstance(new, torch.Tensor):
        if not isinstance(old, torch.Tensor) or new.dim() != old.dim() or new.dtype != old.dtype:
            raise AssertionError(f"a result was {old} and now is {new}")
        for i, j in zip(new.shape, old.shape):
            if not statically_known_true(i == j) and guard_or_true(i == j) is False:
                raise AssertionError(f"a result had shape {tuple(old.shape)} and now has {tuple(new.shape)}")
    elif isinstance(new, (int, torch.SymInt)) and not isinstance(new, bool):
        if not isinstance(old, (int, torch.SymInt)) or guard_or_true(new == old) is False:
            raise AssertionError(f"a result was {old} and now is {new}")


def is_symbol_binding_fx_node(node):
    """The symbol whose first value a placeholder gives, or None."""
    val = node.meta.get("val")
    if node.op == "placeholder" and isinstance(val, torch.SymInt) and val.node.expr.is_symbol:
        return val.node.expr
    return None


def find_symbol_binding_fx_nodes(graph):
    """{symbol: the placeholder that gives its value}."""
    found = {}
    for n in graph.nodes:
        s = is_symbol_binding_fx_node(n)
        if s is not None:
            found.setdefault(s, n)
    return found


def fx_placeholder_vals(gm):
    """meta['val'] of the placeholders of a graph."""
    return [n.meta["val"] for n in gm.graph.nodes if n.op == "placeholder"]


def fx_placeholder_targets(gm):
    """Names of the placeholders of a graph."""
    return [n.target for n in gm.graph.nodes if n.op == "placeholder"]


def _env_of(values):
    for x in pytree.tree_leaves(values):
        if isinstance(x, torch.SymInt):
            return x.node.shape_env
        if isinstance(x, torch.Tensor) and hasattr(x, "fake_mode"):
            return x.fake_mode.shape_env
    return None


def eval_guards(gm, *args, ignore_static=True):
    """Whether the guards of a symbolic trace hold for these arguments."""
    vals = fx_placeholder_vals(gm)
    env = getattr(gm, "shape_env", None) or _env_of(vals)
    return env is None or env.evaluate_guards_for_args(vals, args, ignore_static=ignore_static)


def bind_symbols(gm, *args):
    """{symbol: its value} that these arguments give to a symbolic trace."""
    vals = fx_placeholder_vals(gm)
    env = getattr(gm, "shape_env", None) or _env_of(vals)
    return env.bind_symbols(vals, args)


def compute_unbacked_bindings(shape_env, example_value, old_example_value=None, peek=False):
    """The new symbols without example that a result brings; {} where there are none."""
    if shape_env is None:
        return {}
    fresh = list(shape_env.pending_fresh_unbacked_symbols)
    if not peek:
        shape_env.pending_fresh_unbacked_symbols.clear()
    held = free_symbols(example_value)
    missing = [s for s in fresh if s not in held]
    if missing:
        raise PendingUnbackedSymbolNotFound(f"{missing} were made for a result that does not hold them: {example_value}")
    return {s: () for s in fresh}


def canonicalize_bool_expr(expr):
    """The condition in normal form."""
    return expr
