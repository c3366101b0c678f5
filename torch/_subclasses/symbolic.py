"""Fake tensors with symbolic sizes: their geometry, and what operators make of it.

A symbolic size stands in the tensor as its code (torch.fx.experimental._size_codes), so that everything in C++ goes its
usual way. Results of an operator get their expressions from the shape rule of its card where that is a template on the
integer; from the arguments, for operators that take a size; else the rule for plain numbers is run at the codes and at the
example, and a size that is an expression of the first and agrees with the second is that expression. Where this fails,
the symbols of the arguments become numbers, with guards.
"""
import math

import torch
from torch import _C
from torch.fx.experimental import _expressions as ex
from torch.fx.experimental._expressions import number
from torch.fx.experimental._size_codes import LEAST, fake_like
from torch.fx.experimental.sym_node import SymNode, wrap_node
from torch.utils import _pytree as pytree

__all__ = ["geometry_of", "read_codes", "is_symbolic", "dispatch", "check", "from_real", "snapshot"]

aten = torch.ops.aten
_SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)
_ERRORS = (RuntimeError, IndexError, ValueError, TypeError)  # what calls with other sizes may raise
_raw_size, _raw_stride, _raw_offset = torch.Tensor.size, torch.Tensor.stride, torch.Tensor.storage_offset


def geometry_of(t):
    """(sizes, strides, offset) of a fake tensor as expressions; None where all are numbers."""
    return t._sym


def read_codes(t):
    """The geometry of a fake tensor that C++ laid out, whose plain sizes may be codes."""
    env = t.fake_mode.shape_env
    raw = (*_raw_size(t), *_raw_stride(t), _raw_offset(t))
    if env is None or not env._codes.of_symbol or max(raw) < LEAST:
        return
    found = [number(env._codes._known.get(v, v)) for v in raw]
    if not all(e.is_number for e in found):
        t._sym = tuple(found[:t.dim()]), tuple(found[t.dim():-1]), found[-1]
        env._keep(t)


def geometry(t):
    """(sizes, strides, offset) of a fake tensor as expressions."""
    return geometry_of(t) or (tuple(map(number, _raw_size(t))), tuple(map(number, _raw_stride(t))), number(_raw_offset(t)))


def first_geometry(t):
    """The geometry with the symbols that the counterpart of a real tensor was given, those among them that became numbers, too."""
    return getattr(t, "_first", None) or (geometry(t) if hasattr(t, "fake_mode") else (t.size(), t.stride(), t.storage_offset()))


def shown(env, e):
    """An int or SymInt."""
    e = env.replace(e)
    return e.value if e.is_number else wrap_node(SymNode(e, env, int))


def is_symbolic(x):
    """Whether a symbolic number, or a fake tensor whose geometry holds symbols."""
    return isinstance(x, _SYMBOLIC) or (isinstance(x, torch.Tensor) and hasattr(x, "_sym") and geometry_of(x) is not None)


def take_codes(t):
    """The tensor's plain sizes after the codes of its symbols changed."""
    env = t.fake_mode.shape_env
    sizes, strides, offset = (tuple(map(env.replace, t._sym[0])), tuple(map(env.replace, t._sym[1])), env.replace(t._sym[2]))
    t._sym = sizes, strides, offset
    value = env._codes.value
    negative = {s for e in sizes if value(e) < 0 for s in e.free_symbols if s in env.var_to_val}
    if negative:  # the codes do not have the order that numbers have: the next symbol becomes one, and this is done again
        s = max(negative, key=ex._order)
        return env._learn(ex.relation("Eq", s, env.var_to_val[s]))
    plain = fake_like([value(s) for s in sizes], [value(s) for s in strides], value(offset), t.dtype)
    with torch.utils._python_dispatch._disable_current_modes():
        if t.is_conj() or t.is_neg():
            return
        _C._set_geometry(t, plain)


def _made(mode, elem, device, g):
    """A fake tensor of this geometry over `elem`."""
    from torch._subclasses.fake_tensor import FakeTensor
    out = FakeTensor(mode, elem, device)
    if any(not e.is_number for e in (*g[0], *g[1], g[2])):
        out._sym = tuple(g[0]), tuple(g[1]), g[2]
        mode.shape_env._keep(out)
    return out


def snapshot(t):
    """A fake tensor that looks as `t` does now, over memory of its own."""
    g = geometry_of(t)
    if g is None:
        return None
    value = t.fake_mode.shape_env._codes.value
    out = _made(t.fake_mode, fake_like([value(s) for s in g[0]], [value(s) for s in g[1]], value(g[2]), t.dtype), t.device, g)
    out._first = t._first
    return out


def from_real(mode, t, source, context):
    """The fake counterpart of a real tensor, with symbols for its sizes; None where all of them are numbers."""
    env = mode.shape_env
    sizes, strides, offset = env._geometry_of(t, source, context)
    if all(e.is_number for e in (*sizes, *strides, offset)):
        return None
    value = env._codes.value
    out = _made(mode, fake_like([value(s) for s in sizes], [value(s) for s in strides], value(offset), t.dtype), t.device, (sizes, strides, offset))
    out._first = tuple(sizes), tuple(strides), offset
    return out


# ---- operators ----------------------------------------------------------------------------------------

class _Call:
    """A call on fake tensors and symbolic numbers."""

    def __init__(self, mode, func, leaves, spec, device):
        self.mode, self.func, self.leaves, self.spec, self.device = mode, func, leaves, spec, device
        self.env, self.codes = mode.shape_env, mode.shape_env._codes
        self.args, self.kwargs = pytree.tree_unflatten(leaves, spec)

    def run(self, plain):
        """The operator on plain values: `plain(x)` of each argument."""
        args, kwargs = pytree.tree_unflatten([torch.device("meta") if isinstance(x, torch.device) else plain(x) for x in self.leaves], self.spec)
        if "device" not in kwargs and not any(isinstance(x, torch.Tensor) for x in self.leaves) and any(
                a.name == "device" for a in self.func._schema.arguments):
            kwargs["device"] = torch.device("meta")
        return self.func(*args, **kwargs)

    def argument(self, name, default=None):
        for i, a in enumerate(self.func._schema.arguments):
            if a.name == name:
                return self.args[i] if i < len(self.args) else self.kwargs.get(name, default)
        return default

    # ---- three ways to the geometry of results; each gives [(sizes, strides, offset, dtype)], None for an absent result
    def by_size(self, at_codes):
        """Operators that make a tensor of a size they are given."""
        size = self.argument("size")
        name = self.func._overloadpacket.__name__
        if size is None or not isinstance(at_codes, torch.Tensor) or not (
                name.startswith("new_") or not any(isinstance(x, torch.Tensor) for x in self.leaves)):
            return None
        sizes = [_expression(s) for s in (size if isinstance(size, (list, tuple)) else [size])]
        strides = self.argument("stride")
        if strides is None and not at_codes.is_contiguous():
            return None
        strides = contiguous_strides(sizes) if strides is None else [_expression(s) for s in strides]
        return [(sizes, strides, number(0), at_codes.dtype)]

    def by_rule(self):
        """The shape rule of the card, computed with expressions."""
        full = self.func._full
        if torch.Tag.inplace_view in self.func.tags:  # t_ changes its own sizes as t makes a view
            full = _C._op_info(full)["functional"] or full
        if not _C._has_symbolic_rule(full):
            return None
        self.codes.to_cpp(number(0))
        values = []
        for i, a in enumerate(self.func._schema.arguments):
            v = self.args[i] if i < len(self.args) else self.kwargs.get(a.name, a.default_value if a.has_default_value() else None)
            number_place = isinstance(v, torch.SymInt) and "int" not in str(a.type)  # its size is 1 whatever its value
            values.append((v.node.hint or 1) if number_place else self._cpp(v))
        try:
            results = _C._symbolic_meta(full, *values)
        except (NotImplementedError, TypeError):
            return None
        self.codes.take_guards()
        shift = number(0)
        if self.func.is_view and isinstance(self.args[0], torch.Tensor) and self.argument("storage_offset") is None:
            shift = geometry(self.args[0])[2]
        cpp = self.codes.from_cpp
        return [None if r is None else ([cpp(s) for s in r.shape], [cpp(s) for s in r.strides], cpp(r.storage_offset) + shift, r.dtype)
                for r in (results if isinstance(results, tuple) else (results,))]

    def _cpp(self, v):
        if isinstance(v, torch.Tensor):
            sizes, strides, _ = geometry(v)
            return _C._symbolic_tensor(self.codes._cpp, [self.codes.to_cpp(s) for s in sizes], [self.codes.to_cpp(s) for s in strides], v.dtype)
        if isinstance(v, torch.SymInt):
            return self.codes.to_cpp(v.node.expr)
        if isinstance(v, torch.SymFloat):
            return 1.0 if v.node.hint is None else float(v.node.hint)
        if isinstance(v, torch.SymBool):
            return bool(v)
        if isinstance(v, (list, tuple)):
            return [self._cpp(x) for x in v]
        return torch.device("meta") if isinstance(v, torch.device) else v

    def by_values(self, at_codes, error):
        """The rule for plain numbers, at the codes and at the example. Symbols become numbers where the two do not agree."""
        symbols = {s for x in self.leaves for e in self._expressions(x) for s in self.env.replace(e).free_symbols}
        if any(s not in self.env.var_to_val for s in symbols):
            if error is not None:
                raise error
            return [None if r is None else ([self._found(v) for v in r.size()], [self._found(v) for v in r.stride()],
                                            self._found(r.storage_offset()), r.dtype) for r in _listed(at_codes)]
        at_example = _listed(self._at(self.env.var_to_val))
        results = self._agreeing(_listed(at_codes) if error is None else [], at_example)
        if results is not None and self._holds_elsewhere(results, symbols):
            return results
        for fixed in sorted(symbols, key=ex._order):  # the size that decides how many results there are, if it is one
            try:
                at_some = _listed(self._at({**self.codes.of_symbol, fixed: self.env.var_to_val[fixed]}))
            except _ERRORS:
                continue
            results = self._agreeing(at_some, at_example)
            if results is not None and self._holds_elsewhere(results, symbols - {fixed}):
                self.env._learn(ex.relation("Eq", fixed, self.env.var_to_val[fixed]))
                return results
        for s in symbols:
            self.env._learn(ex.relation("Eq", s, self.env.var_to_val[s]))
        return [None if y is None else (list(map(number, y.size())), list(map(number, y.stride())), number(y.storage_offset()), y.dtype)
                for y in at_example]

    def _holds_elsewhere(self, results, symbols):
        """Whether the geometries are right at other sizes that the guards admit, as far as the operator takes these."""
        env, codes, example = self.env, self.codes.of_symbol, self.env.var_to_val
        rank = sorted(symbols, key=lambda s: (example[s], str(s)))
        mirrored = dict(zip(rank, (2 * example[s] + 1 for s in reversed(rank))))  # small ones are large
        for other in (lambda s: codes[s] + 1, lambda s: 2, lambda s: 3, lambda s: example[s] + 1, lambda s: 2 * example[s] + 1, mirrored.get):
            values = {**example, **{s: other(s) for s in symbols}}
            if not env._admits(values):
                continue
            try:
                found = _listed(self._at(values))
            except _ERRORS:
                continue
            for g, r in zip(results, found):
                if g is not None and [env.replace(e).evaluate(values) for e in (*g[0], *g[1])] != [*r.size(), *r.stride()]:
                    return False
            if len(found) != len(results):
                return False
        return True

    @staticmethod
    def _expressions(x):
        if isinstance(x, _SYMBOLIC):
            return (x.node.expr,)
        return (*geometry(x)[0], *geometry(x)[1], geometry(x)[2]) if isinstance(x, torch.Tensor) else ()

    def _at(self, values):
        """The operator on tensors of the sizes that these values of the symbols make."""
        made = {}

        def plain(x):
            if isinstance(x, torch.Tensor):
                if id(x) not in made:
                    sizes, strides, offset = geometry(x)
                    made[id(x)] = fake_like(*([self.env.replace(e).evaluate(values) for e in part] for part in (sizes, strides)),
                                            self.env.replace(offset).evaluate(values), x.dtype)
                return made[id(x)]
            return x.node.expr.evaluate(values) if isinstance(x, _SYMBOLIC) else x
        with torch.no_grad():
            return self.run(plain)

    def _agreeing(self, some, example):
        """Geometries that are the one at the codes and the other at the example; None where there are none."""
        if len(some) != len(example):
            return None
        out = []
        for x, y in zip(some, example):
            if x is None or y is None or not isinstance(x, torch.Tensor) or x.dim() != y.dim():
                if x is not y:
                    return None
                out.append(None)
                continue
            sizes = [self._agreed(c, h) for c, h in zip(x.size(), y.size())]
            strides = [self._agreed(c, h) for c, h in zip(x.stride(), y.stride())]
            if None not in sizes and None in strides and y.is_contiguous() and x.is_contiguous():
                strides = contiguous_strides(sizes)
            offset = self._agreed(x.storage_offset(), y.storage_offset())
            if None in sizes or None in strides or offset is None:
                return None
            out.append((sizes, strides, offset, x.dtype))
        return out

    def _found(self, v):
        e = self.codes.lookup(v) if v >= LEAST else None
        return number(v) if e is None else e

    def _agreed(self, at_code, at_example):
        """The expression that is the one at the codes and the other at the example, or None."""
        if at_code == at_example:
            return number(at_code)
        e = self.codes.lookup(at_code) if at_code >= LEAST else None
        return e if e is not None and self.env._hint_of(e) == at_example else None


def _expression(x):
    return x.node.expr if isinstance(x, _SYMBOLIC) else number(int(x))


def _listed(r):
    return list(r) if isinstance(r, (list, tuple)) else [r]


def contiguous_strides(sizes):
    """Row-major strides of sizes that are expressions."""
    strides, step = [], number(1)
    for s in reversed(sizes):
        strides.append(step)
        step = ex.mul(step, ex.call("Max", 1, s) if s.is_number else s)
    return strides[::-1]


def dispatch(mode, func, leaves, spec, device):
    """The operator on fake tensors and numbers, some of them symbolic."""
    call = _Call(mode, func, leaves, spec, device)
    env, codes = call.env, call.codes
    metas = {}

    def coded(x):
        if isinstance(x, torch.Tensor):
            if id(x) not in metas:
                metas[id(x)] = _C._meta_alias(x), x
            return metas[id(x)][0]
        if isinstance(x, torch.SymBool):
            return bool(x)
        return codes.value(x.node.expr) if isinstance(x, _SYMBOLIC) else x

    error = at_codes = None
    try:
        at_codes = call.run(coded)
    except _ERRORS as e:
        error = e.with_traceback(None)
    written = [x for _, x in mode._written(func, call.args, call.kwargs)]
    results = None if error is not None else call.by_size(at_codes)
    if results is None:
        results = call.by_rule()
    if results is None:
        results = call.by_values(at_codes, error)
    for x in written:
        mode._forget(x)
        plain = metas[id(x)][0]
        if error is None and (plain.size(), plain.stride(), plain.storage_offset()) != (_raw_size(x), _raw_stride(x), _raw_offset(x)):
            _C._set_geometry(x, plain, True)  # resize_, set_
            x._sym = None
            read_codes(x)
    if torch.Tag.inplace_view in func.tags:
        x, g = call.args[0], results[0]
        plain = metas[id(x)][0]
        _C._set_geometry(x, plain, True)
        x._sym = tuple(g[0]), tuple(g[1]), g[2]
        env._keep(x)
        return x
    if not func._schema.returns:
        return None
    originals = {id(m): x for m, x in metas.values()}
    plain = _listed(at_codes) if error is None else []
    if len(plain) != len(results):
        plain = [None] * len(results)
    if written and len(written) == len(results):
        out = written
    else:
        out = [None if g is None else _result(call, g, p, originals, metas) for g, p in zip(results, plain)]
    if error is None and isinstance(at_codes, torch.Tensor):
        return out[0]
    if error is None and len(_listed(at_codes)) == len(out) and not isinstance(at_codes, list):
        return type(at_codes)(out)
    if error is not None and len(func._schema.returns) == 1 and not str(func._schema.returns[0].type).startswith("List"):
        return out[0]
    return out


def _within_reach(call, g):
    """Sizes, strides and offset at the codes. Where a size is negative there, or their product beyond 2^63 - 1, symbols of it
    become numbers until it is not."""
    env, value = call.env, call.codes.value
    while True:
        sizes, strides, offset = tuple(map(value, g[0])), tuple(map(value, g[1])), value(g[2])
        negative = [e for e, v in zip(g[0], sizes) if v < 0]
        if not negative and max((math.prod(max(n, 1) for n in sizes), *strides)) * 16 < 1 << 63:
            return sizes, strides, offset
        doubtful = {s for e in negative or (*g[0], *g[1]) for s in env.replace(e).free_symbols if s in env.var_to_val}
        if not doubtful:
            raise RuntimeError(f"the sizes {list(map(str, g[0]))} cannot be followed as symbols: they are too large, or too many")
        s = max(doubtful, key=lambda s: (sum(e.evaluate({**call.codes.of_symbol, s: env.var_to_val[s]}) for e in negative), *ex._order(s)))
        env._learn(ex.relation("Eq", s, env.var_to_val[s]))


def _result(call, g, plain, originals, metas):
    """One result: over what the run at the codes gave where that has the right sizes."""
    if plain is not None and id(plain) in originals:
        return originals[id(plain)]
    sizes, strides, offset = _within_reach(call, g)
    if plain is None or (tuple(plain.shape), plain.stride(), plain.storage_offset()) != (sizes, strides, offset):
        base = next(iter(metas.values()))[0] if call.func.is_view and metas else None
        if base is not None and base.dtype == g[3]:
            with torch.utils._python_dispatch._disable_current_modes(), torch.no_grad():
                try:
                    plain = base.as_strided(sizes, strides, offset)
                except _ERRORS:
                    plain = fake_like(sizes, strides, offset, g[3])
        else:
            plain = fake_like(sizes, strides, offset, g[3])
    return _made(call.mode, plain, call.device, g)


def _shapes(results, values):
    """[(sizes, strides) or None] of results, with numbers for symbols."""
    out = []
    for r in _listed(results):
        if not isinstance(r, torch.Tensor):
            out.append(None)
        elif hasattr(r, "_sym"):
            out.append(tuple(tuple(r.fake_mode.shape_env.replace(e).evaluate(values) for e in part) for part in geometry(r)[:2]))
        else:
            out.append((tuple(r.size()), tuple(r.stride())))
    return out


def check(func, args, kwargs, result, error):
    """What C++ makes of codes, compared with the example; see check_at_example in python/symbolic.h.

    A composite decides by plain sizes. Where it fails at the codes, or its results are not those of the example, symbols of the
    arguments become numbers and it is run again. What fails at the example as well raises that error.
    """
    from torch._subclasses.fake_tensor import FakeTensor
    leaves, spec = pytree.tree_flatten((args, kwargs))
    fakes = [x for x in leaves if isinstance(x, FakeTensor)]
    if not fakes or (error is not None and type(error) not in _ERRORS) or not any(map(is_symbolic, leaves)):
        return NotImplemented
    call = _Call(fakes[0].fake_mode, func, leaves, spec, None)
    env = call.env
    symbols = {s for x in leaves for e in call._expressions(x) for s in env.replace(e).free_symbols}
    if any(s not in env.var_to_val for s in symbols) or any(isinstance(x, torch.Tensor) and not isinstance(x, FakeTensor) for x in leaves):
        return NotImplemented
    with torch.utils._python_dispatch._disable_current_modes():
        try:
            at_example = call._at(env.var_to_val)
        except NotImplementedError:
            if error is None:
                return NotImplemented
            from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
            raise GuardOnDataDependentSymNode(None, f"{func} reads elements that are not there, and decides by them: {error}") from None
        except _ERRORS as e:
            if error is None or type(e) is type(error):
                raise e from None
            return NotImplemented
        if error is None:
            made = [geometry(r) if isinstance(r, FakeTensor) else None for r in _listed(result)]
            if any(env._without_hint(e) for g in made if g is not None for e in (*g[0], *g[1])):
                return result
            if _shapes(result, env.var_to_val) == _shapes(at_example, None) and call._holds_elsewhere(made, symbols):
                return result
        for s in sorted(symbols, key=ex._order):
            try:
                at_some = call._at({**call.codes.of_symbol, s: env.var_to_val[s]})
            except _ERRORS:
                continue
            found = call._agreeing(_listed(at_some), _listed(at_example))
            if found is not None and call._holds_elsewhere(found, symbols - {s}):
                symbols = {s}
                break
    if not symbols:   # this run decided them all, perhaps halfway; another one starts with them, a third would give the same
        this = (func, *map(id, fakes))
        if this in env._running_again:
            return NotImplemented
        env._running_again.add(this)
        try:
            return func(*args, **kwargs)
        finally:
            env._running_again.discard(this)
    for s in symbols:
        env._learn(ex.relation("Eq", s, env.var_to_val[s]))
    return func(*args, **kwargs)


# ---- what depends on elements ------------------------------------------------------------------------

def may_give_number(t):
    """Whether a symbol may stand for the element of `t`: Python asks for it, not a composite in C++ that decides by it."""
    return _C._called_from_python() in ("item", "_local_scalar_dense") and t.dtype is not torch.bool and not t.is_complex()


def item(mode, t):
    """`.item()` of a fake tensor: a symbol without example, the same each time for the same tensor."""
    found = t.__dict__.get("_item")
    if found is None or found[0] != t._version:
        env = mode.shape_env
        found = t._item = t._version, env.create_unbacked_symfloat() if t.is_floating_point() else env.create_unbacked_symint()
    return found[1]


def fresh_size(env, least=0, most=None):
    """A size without example, between `least` and `most`."""
    e = env._unbacked("int", size=True)
    env._narrow(e, max(least, 0), float("inf") if most is None else most)
    return wrap_node(SymNode(e, env, int))


def _nonzero(mode, self):
    count = fresh_size(mode.shape_env)
    return torch.empty_strided((count, self.dim()), (1, count), dtype=torch.int64, device=self.device)


def _masked_select(mode, self, mask):
    return torch.empty((fresh_size(mode.shape_env),), dtype=self.dtype, device=self.device)


# Operators whose shape depends on elements in one size, which is a symbol without example.
UNKNOWN_SIZES = {aten.nonzero.default: _nonzero, aten.masked_select.default: _masked_select}
