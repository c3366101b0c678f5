"""Shape rules on symbolic sizes: results as expressions, checked against the concrete rule for other values of the symbols."""
import random
import re

import pytest
import torch
from torch import _C

META = torch.device("meta")


class Case:
    """A call with symbols for sizes: `shapes` names them ("a", "b", or numbers), `args(tensors)` gives the arguments."""

    def __init__(self, op, shapes, args=lambda *t: t, dtypes=None, layouts=None):
        self.op, self.shapes, self.args = op, shapes, args
        self.dtypes = dtypes or [torch.float32] * len(shapes)
        self.layouts = layouts or [None] * len(shapes)

    def names(self):
        return sorted({s for shape in self.shapes for s in shape if isinstance(s, str)})


def order(shape, layout):
    """Strides of a dense tensor whose dimensions, outermost first, are `layout`."""
    strides, step = [None] * len(shape), 1
    for d in reversed(layout):
        strides[d] = step
        step = step * shape[d]
    return strides


def symbolic(case, values):
    env = _C.ShapeEnv()
    symbols = {n: env.symbol(n, values[n]) for n in case.names()}
    made = []
    for shape, dtype, layout in zip(case.shapes, case.dtypes, case.layouts):
        sizes = [symbols.get(s, s) for s in shape]
        made.append(_C._symbolic_tensor(env, sizes, order(sizes, layout) if layout else None, dtype))
    result = _C._symbolic_meta(case.op, *case.args(*made, **symbols) if takes_symbols(case) else case.args(*made))
    return env, result if isinstance(result, tuple) else (result,)


def takes_symbols(case):
    return case.args.__code__.co_flags & 0x08 or case.args.__code__.co_kwonlyargcount


def concrete(case, values):
    made = []
    for shape, dtype, layout in zip(case.shapes, case.dtypes, case.layouts):
        sizes = [values.get(s, s) for s in shape]
        made.append(torch.empty_strided(sizes, order(sizes, layout), dtype=dtype, device=META) if layout else torch.empty(sizes, dtype=dtype, device=META))
    name, _, overload = case.op.partition(".")
    args = case.args(*made, **{n: values[n] for n in case.names()}) if takes_symbols(case) else case.args(*made)
    op = getattr(getattr(torch.ops.aten, name), overload or "default")
    result = op(*args)
    return result if isinstance(result, (tuple, list)) else (result,)


def value(expression, values):
    return expression if isinstance(expression, int) else eval(repr(expression), {"__builtins__": {}}, dict(values))


def holds(guards, values):
    return all(eval(g, {"__builtins__": {}}, dict(values)) for g in guards)


F, L, B = torch.float32, torch.int64, torch.bool
CASES = [
    # the eight that the rule was built for
    Case("sigmoid", [("a", "b")]),
    Case("div.Tensor", [("a", "b", "c"), ("b", 1)]),
    Case("var.correction", [("a", "b", "c")], lambda x: (x, [1])),
    Case("select.int", [("a", "b", "c")], lambda x: (x, 1, -2)),
    Case("mm", [("a", "b"), ("b", "c")]),
    Case("conv2d", [("n", 4, "h", "w"), (6, 2, 3, 2), (6,)], lambda x, w, b: (x, w, b, [2, 1], [1, 0], [1, 2], 2)),
    Case("dropout", [("a", "b")], lambda x: (x, 0.3, True)),
    Case("index_put_", [("a", "b", "c"), ("k",), ("k", "c")], lambda x, i, v: (x, [i, i], v), [F, L, F]),
    # pointwise
    Case("add.Tensor", [("a", 1, "c"), ("b", "c")]),
    Case("where.self", [("a", "b"), ("a", 1), ("b",)], dtypes=[B, F, torch.float64]),
    Case("exp", [("a", "b", "c")], layouts=[(2, 0, 1)]),
    Case("mul.Tensor", [("a", "b", "c", "d"), ("a", "b", "c", "d")], layouts=[(0, 2, 3, 1), (0, 2, 3, 1)]),
    Case("gt.Tensor", [("a", "b")], lambda x: (x, 1.5)),
    # products and convolutions
    Case("bmm", [("a", "b", "c"), ("a", "c", "d")]),
    Case("addmm", [("d",), ("a", "b"), ("b", "d")]),
    Case("baddbmm", [("a", "b", "d"), ("a", "b", "c"), ("a", "c", "d")]),
    Case("mv", [("a", "b"), ("b",)]),
    Case("dot", [("a",), ("a",)]),
    Case("convolution", [("n", "c", "h"), ("d", "c", 3)], lambda x, w: (x, w, None, [1], [1], [1], False, [0], 1)),
    Case("conv_transpose2d.input", [("n", 4, "h", "w"), (4, "d", 3, 3)], lambda x, w: (x, w, None, [2, 2], [1, 1])),
    # views
    Case("permute", [("a", "b", "c")], lambda x: (x, [2, 0, 1])),
    Case("transpose.int", [("a", "b", "c")], lambda x: (x, 0, 2)),
    Case("t", [("a", "b")]),
    Case("squeeze", [("a", 1, "b", 1)]),
    Case("squeeze.dim", [("a", "b")], lambda x: (x, 1)),
    Case("unsqueeze", [("a", "b")], lambda x: (x, 1)),
    Case("slice.Tensor", [("a", "b")], lambda x: (x, 1, 1, -1, 2)),
    Case("diagonal", [("a", "a", "b")], lambda x: (x, 0, 0, 1)),
    Case("unfold", [("a", "b")], lambda x: (x, 1, 2, 2)),
    Case("expand", [("a", 1)], lambda x, *, a, b=None, **_: (x, [a, 7])),
    Case("view", [("a", "b", "c")], lambda x, *, a, b, c: (x, [a * b, c])),
    Case("view", [("a", "b", 4)], lambda x: (x, [-1, 2])),
    Case("split_with_sizes", [("a", 9)], lambda x: (x, [2, 3, 4], 1)),
    Case("view_as_real", [("a", "b")], dtypes=[torch.complex64]),
    Case("alias", [("a", "b")], layouts=[(1, 0)]),
    # reductions, scans, norms
    Case("sum", [("a", "b")], lambda x: (x,)),
    Case("sum.dim_IntList", [("a", "b", "c")], lambda x: (x, [0, 2], True)),
    Case("mean.dim", [("a", "b", "c")], lambda x: (x, [-1])),
    Case("amax", [("a", "b")], lambda x: (x, [1])),
    Case("max.dim", [("a", "b")], lambda x: (x, 1)),
    Case("argmax", [("a", "b")], lambda x: (x, 0)),
    Case("any.dim", [("a", "b")], lambda x: (x, 0)),
    Case("median.dim", [("a", "b")], lambda x: (x, 1)),
    Case("cumsum", [("a", "b")], lambda x: (x, 1)),
    Case("cummax", [("a", "b")], lambda x: (x, 1)),
    Case("_softmax", [("a", "b")], lambda x: (x, 1, False)),
    # indices, joins, order
    Case("index_select", [("a", "b"), ("k",)], lambda x, i: (x, 1, i), [F, L]),
    Case("gather", [("a", "b"), ("a", 2)], lambda x, i: (x, 1, i), [F, L]),
    Case("index.Tensor", [("a", "b", "c"), ("k",), ("m", 1)], lambda x, i, j: (x, [i, None, j]), [F, L, L]),
    Case("embedding", [("a", "b"), ("k", "m")], dtypes=[F, L]),
    Case("cat", [("a", "b"), ("c", "b")], lambda x, y: ([x, y], 0)),
    Case("stack", [("a", "b"), ("a", "b")], lambda x, y: ([x, y], 1)),
    Case("clone", [("a", "b", "c")], lambda x: (x,), layouts=[(1, 0, 2)]),
    Case("flip", [("a", "b")], lambda x: (x, [0])),
    Case("tril", [("a", "b")], lambda x: (x, 1)),
    Case("topk", [("a", "b")], lambda x: (x, 2, 1)),
    Case("nll_loss_forward", [("a", "c"), ("a",)], lambda x, t: (x, t, None, 0, -100), [F, L]),
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.op)
def test_expressions_hold_for_other_sizes(case):
    rng = random.Random(5)
    hints = {n: 11 + 3 * i for i, n in enumerate(case.names())}
    env, results = symbolic(case, hints)
    expressions = [e for r in results if r is not None for e in (*r.shape, *r.strides)]
    assert not case.names() or case.op in ("dot", "sum", "mean") or any(isinstance(e, _C.SymInt) for e in expressions), "no size is symbolic"
    # None of the symbols was replaced by its value.
    assert not any(re.fullmatch(r"\w+ == \d+", g) for g in env.guards), env.guards
    agreed = 0
    for _ in range(60):
        values = {n: rng.randint(2, 23) for n in case.names()}
        if not holds(env.guards, values):
            continue
        agreed += 1
        want = concrete(case, values)
        assert len(want) == len(results)
        for r, w in zip(results, want):
            assert [value(s, values) for s in r.shape] == list(w.shape), f"{r} at {values}"
            assert [value(s, values) for s in r.strides] == list(w.stride()), f"{r} at {values}"
            assert r.dtype == w.dtype
    assert agreed >= 10, f"the guards {env.guards} hold for {agreed} of 60 choices"


def test_expressions():
    env = _C.ShapeEnv()
    a, b = env.symbol("a", 5), env.symbol("b", 7)
    assert isinstance(a, _C.SymInt) and a.hint == 5
    assert repr(a * b + 2 * a - a) == repr(a + b * a) and repr((a + 1) * (a - 1)) == "a*a - 1"
    assert repr(a * b // b) == "a" and repr((a + 3) // 2) == "((a + 3)//2)" and repr((2 * a) % 2) == "0"
    assert isinstance(a - a, int) and a + b == b + a and a != a + 1 and a + 1 > a and a * b >= 4 and a > 1
    assert env.guards == []
    assert a < b and not b == a + 3
    assert env.guards == ["a < b", "a + 3 != b"]
    assert int(a) == 5 and env.guards[-1] == "a == 5"
    assert env.symbol("one", 1) == 1 and isinstance(env.symbol("one", 1), int)
    with pytest.raises(RuntimeError, match="environments"):
        a + _C.ShapeEnv().symbol("a", 5)


def test_guards_of_a_broadcast_and_of_a_product():
    env = _C.ShapeEnv()
    a, b = env.symbol("a", 5), env.symbol("b", 5)
    x, y = (_C._symbolic_tensor(env, [s, 3]) for s in (a, b))
    r = _C._symbolic_meta("add.Tensor", x, y)
    assert env.guards == ["a == b"] and repr(r.shape) == "(a, 3)"
    env = _C.ShapeEnv()
    c, d = env.symbol("c", 4), env.symbol("d", 4)
    r = _C._symbolic_meta("mm", _C._symbolic_tensor(env, [2, c]), _C._symbolic_tensor(env, [d, 9]))
    assert r.shape == (2, 9) and env.guards == ["c == d"]


def test_errors_are_those_of_the_call():
    env = _C.ShapeEnv()
    a, b = env.symbol("a", 5), env.symbol("b", 6)
    with pytest.raises(RuntimeError, match="mm"):
        _C._symbolic_meta("mm", _C._symbolic_tensor(env, [2, a]), _C._symbolic_tensor(env, [b, 9]))
    with pytest.raises(IndexError):
        _C._symbolic_meta("select.int", _C._symbolic_tensor(env, [a, 3]), 0, 5)
    with pytest.raises(NotImplementedError, match="nonzero"):
        _C._symbolic_meta("nonzero", _C._symbolic_tensor(env, [a, b]))
    mask = _C._symbolic_tensor(env, [a], None, torch.bool)
    with pytest.raises(NotImplementedError, match="nonzero"):
        _C._symbolic_meta("index.Tensor", _C._symbolic_tensor(env, [a, b]), [mask])


def test_how_many_operators_have_a_symbolic_rule():
    count = {}
    for name in _C._op_names():
        for overload in _C._op_overloads(name) or ():
            full = name if overload == "default" else f"{name}.{overload}"
            info = _C._op_info(full)
            if info and info["form"] == "functional":
                has, all_ = count.get(info["kind"], (0, 0))
                count[info["kind"]] = (has + _C._has_symbolic_rule(full), all_ + 1)
    print(count)
    assert count["pointwise"][0] == count["pointwise"][1]
    assert count["view"][0] >= 20 and count["structured"][0] >= 60
