"""Symbolic sizes in Python: ShapeEnv, SymInt, fake tensors with symbols, and traces. Expected values are PyTorch 2.14's, symbols
by other names: s0, s1, ... in the order in which they are made."""
import math
import operator
import pickle
import random

import pytest
import torch
import torch.nn.functional as F
from torch._subclasses import DataDependentOutputException, FakeTensor, FakeTensorMode
from torch.fx.experimental import _expressions as expressions
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import (
    DimDynamic, GuardOnDataDependentSymNode, ShapeEnv, StatelessSymbolicContext, eval_guards, free_symbols, free_unbacked_symbols, guard_int,
    guard_or_false, guard_or_true, guard_size_oblivious, is_concrete_int, statically_known_true, sym_and, sym_eq)


@pytest.fixture
def env():
    return ShapeEnv()


@pytest.fixture
def mode(env):
    return FakeTensorMode(shape_env=env)


def guards(env):
    return [str(g.expr) for g in env.guards]


# ---- numbers ----
def test_arithmetic(mode, env):
    a, b = mode.from_tensor(torch.empty(10, 20)).shape
    assert type(a) is torch.SymInt and not isinstance(a, int)
    for value, text in [
            (a * 2, "2*s0"), (a + b, "s0 + s1"), ((a + 3) // 2, "((s0 + 3)//2)"), (a % 4, "Mod(s0, 4)"), (a * b // b, "s0"), (a * a + 1, "s0**2 + 1"),
            (1 - a, "1 - s0"), (-a, "-s0"), (a > 5, "s0 > 5"), (a == 10, "Eq(s0, 10)"), (a != 3, "Ne(s0, 3)"), (a / 2, "IntTrueDiv(s0, 2)"),
            (a ** 0.5, "FloatPow(ToFloat(s0), 0.5)"), (a ** 2, "s0**2"), (2 ** a, "PowByNatural(2, s0)"), (torch.sym_max(a, 3), "Max(3, s0)"),
            (torch.sym_min(a, b), "Min(s0, s1)"), (math.ceil(a / 3), "CeilToInt(IntTrueDiv(s0, 3))"), (math.floor(a / 2), "FloorToInt(IntTrueDiv(s0, 2))"),
            (torch.sym_float(a), "ToFloat(s0)"), (torch.sym_int(a / 2), "TruncToInt(IntTrueDiv(s0, 2))"), (a // 2 // 3, "(s0//6)"),
            ((a > 5) & (b < 3), "(s0 > 5) & (s1 < 3)"), (torch.sym_not(a > 5), "s0 <= 5"), (round(a / 3), "RoundToInt(IntTrueDiv(s0, 3))"),
            (abs(-a), "s0"), (a & 3, "BitwiseFn_bitwise_and(s0, 3)"), (a << 1, "2*s0"), (a | 1, "BitwiseFn_bitwise_or(s0, 1)"),
            (a + 1.5, "ToFloat(s0) + 1.5"), (1.5 * a, "1.5*ToFloat(s0)"), (a < 5.5, "ToFloat(s0) < 5.5"), (2 * b * b, "2*s1**2"),
            (torch.sym_sqrt(b), "OpaqueUnaryFn_sqrt(ToFloat(s1))"), (torch.sym_sum([a, b, b]), "s0 + 2*s1")]:
        assert str(value) == text
    assert guards(env) == [] and a - a == 0 and (a + 3) - a == 3 and statically_known_true(a >= 2) and not statically_known_true(a > 5)
    assert type(a / 2) is torch.SymFloat and type(a > 5) is torch.SymBool and isinstance(a >= 2, bool)
    with pytest.raises(TypeError):
        hash(a)
    with pytest.raises(TypeError):
        a + "x"
    with pytest.raises(ZeroDivisionError):
        a // 0
    with pytest.raises(RuntimeError, match="environments"):
        a + FakeTensorMode(shape_env=ShapeEnv()).from_tensor(torch.empty(7)).shape[0]


def _random_value(g, depth, leaves):
    """(an expression, the function of {symbol: value} that it is)"""
    if not depth:
        leaf = g.choice([*leaves, g.randint(-4, 4)])
        return leaf, (lambda v: v[leaf]) if leaf in leaves else lambda v: leaf
    name = g.choice(["add", "mul", "power", "FloorDiv", "Mod", "Max", "Min"])
    a, of_a = _random_value(g, depth - 1, leaves)
    if name == "power":
        n = g.randint(0, 4)
        return expressions.power(a, n), lambda v: of_a(v) ** n
    b, of_b = _random_value(g, depth - 1, leaves)
    make = getattr(expressions, name, None) or (lambda a, b: expressions.call(name, a, b))
    plain = {"add": lambda a, b: a + b, "mul": lambda a, b: a * b, "FloorDiv": lambda a, b: a // b, "Mod": lambda a, b: a % b, "Max": max, "Min": min}[name]
    return make(a, b), lambda v: plain(of_a(v), of_b(v))


def test_normal_forms_and_intervals():
    """An expression has the value of what it was made of, which lies in its interval, for symbols of any sign."""
    g, leaves, seen = random.Random(0), [expressions.Symbol(n) for n in ("s0", "s1", "u0")], 0
    while seen < 8000:
        ranges = {s: (low, low + g.randint(0, 5)) for s, low in zip(leaves, (g.randint(-3, 3) for _ in leaves))}
        try:
            e, plain = _random_value(g, g.randint(1, 3), leaves)
        except ZeroDivisionError:
            continue
        low, high = expressions.interval(e, ranges)
        for _ in range(4):
            values = {s: g.randint(*r) for s, r in ranges.items()}
            try:
                want = plain(values)
            except ZeroDivisionError:
                continue
            seen += 1
            assert expressions.number(e).evaluate(values) == want and low <= want <= high, (str(e), values, ranges)
    s = leaves[0]
    assert expressions.call("FloorDiv", expressions.call("FloorDiv", s, 2), -3).evaluate({s: 7}) == 7 // 2 // -3
    assert expressions.interval(expressions.mul(s, expressions.power(leaves[2], 2)), {leaves[2]: (0, math.inf)}) == (-math.inf, math.inf)


def test_zeros_keep_their_signs():
    for zero in (0.0, -0.0):
        e = expressions.call("FloatMul", expressions.call("ToFloat", expressions.Symbol("s0")), zero)
        for again in (e, pickle.loads(pickle.dumps(e))):
            assert math.copysign(1, again.evaluate({expressions.Symbol("s0"): 3})) == math.copysign(1, zero)


def test_guards(mode, env):
    x = mode.from_tensor(torch.empty(10, 20))
    a, b = x.shape
    assert max(a, b) is b and guards(env) == ["s1 > s0"]
    assert a > 5 and guards(env) == ["s1 > s0", "s0 > 5"] and statically_known_true(a > 5) and statically_known_true(a > 4)
    assert b == 20 and str(b) == "20" and x.shape == (a, 20) and str(x.shape) == "torch.Size([s0, 20])" and is_concrete_int(b)
    assert not is_concrete_int(a) and guard_int(a) == 10 and str(a) == "10" and guards(env)[2:] == ["Eq(s1, 20)", "Eq(s0, 10)"]
    assert env.format_guards() == " - s1 > s0\n - s0 > 5\n - Eq(s1, 20)\n - Eq(s0, 10)" and x.shape == (10, 20) and free_symbols(x) == set()
    y = mode.from_tensor(torch.empty(6, 8))
    assert list(range(y.shape[0])) == [0, 1, 2, 3, 4, 5] and operator.index(y.shape[1]) == 8 and float(y.shape[1]) == 8.0
    assert env.evaluate_guards_for_args([x], [torch.empty(10, 20)]) and not env.evaluate_guards_for_args([x], [torch.empty(10, 21)])


def test_an_equation_gives_a_symbol_by_the_others(env):
    def number(n):
        return env.create_symintnode(env.create_symbol(n, source=f"x{n}"), hint=n)
    p, q, one = number(5), number(4), number(1)
    assert (str(p), str(q), one) == ("s0", "s1", 1)
    assert str(p + q == 9) == "Eq(s0 + s1, 9)" and bool(p + q == 9) and guards(env) == ["Eq(s0 + s1, 9)"]
    assert {str(p), str(q)} == {"s0", "9 - s0"} and p + q == 9
    assert sym_eq((p, 3), (p, 3)) is True and sym_eq((p,), (p, 3)) is False and str(sym_and(True, p > 2)) == "s0 > 2"


def test_kinds_of_sizes(mode):
    assert str(mode.from_tensor(torch.empty(0, 3)).shape) == "torch.Size([0, s0])"
    assert mode.from_tensor(torch.ones(3), static_shapes=True).shape == (3,)
    assert str(mode.from_tensor(torch.empty(3, 7)).t().shape) == "torch.Size([s1, s0])"       # equal sizes share a symbol
    x = mode.from_tensor(torch.empty(6, 8)[1:3])
    assert isinstance(x.storage_offset(), torch.SymInt) and x.storage_offset().node.hint == 8
    stride = mode.from_tensor(torch.empty(5, 1, 7)[::2]).stride()
    assert isinstance(stride[0], torch.SymInt) and str(stride[1]) == "s1" and stride[2] == 1
    apart = FakeTensorMode(shape_env=ShapeEnv(duck_shape=False))
    z, w = apart.from_tensor(torch.empty(4, 4)), apart.from_tensor(torch.empty(4, 4))
    assert str(z.shape) == "torch.Size([s0, s1])" and str(w.shape) == "torch.Size([s2, s3])" and str(z.stride()) == "(s1, 1)"
    assert str((z + w).shape) == "torch.Size([s0, s1])" and str(w.shape) == "torch.Size([s0, s1])"
    assert sorted(guards(apart.shape_env)) == ["Eq(s0, s2)", "Eq(s1, s3)"]
    said = StatelessSymbolicContext(dynamic_sizes=[DimDynamic.DYNAMIC, DimDynamic.STATIC])
    v = FakeTensorMode(shape_env=ShapeEnv()).from_tensor(torch.empty(4, 4), symbolic_context=said)
    assert str(v.shape) == "torch.Size([s0, 4])" and v.stride() == (4, 1)


# ---- tensors ----
def test_operators(mode, env):
    x, y = mode.from_tensor(torch.empty(10, 20)), mode.from_tensor(torch.empty(20, 6))
    assert repr(x) == "FakeTensor(..., size=(s0, s1))" and str(x.stride()) == "(s1, 1)" and str(x.numel()) == "s0*s1"
    a, b = x.shape
    with mode:
        for t, shape, stride in [
                (x + x, "s0, s1", "(s1, 1)"), (x @ y, "s0, s2", "(s2, 1)"), (x.t(), "s1, s0", "(1, s1)"), (torch.cat([x, x]), "2*s0, s1", "(s1, 1)"),
                (x.sum(0), "s1", "(1,)"), (x[1:], "s0 - 1, s1", "(s1, 1)"), (x[:, 0], "s0", "(s1,)"), (x.flatten(), "s0*s1", "(1,)"),
                (x[a - 1], "s1", "(1,)"), (torch.zeros(a, b), "s0, s1", "(s1, 1)"), (torch.arange(b), "s1", "(1,)"), (x.view(a * b, 1), "s0*s1, 1", "(1, 1)"),
                (x.new_empty(a * 2), "2*s0", "(1,)"), (x.expand(3, a, b), "3, s0, s1", "(0, s1, 1)"), (x.repeat(2, b), "2*s0, s1**2", "(s1**2, 1)"),
                (F.linear(x, y.t()), "s0, s2", "(s2, 1)"), (F.pad(x, [1, a]), "s0, s0 + s1 + 1", "(s0 + s1 + 1, 1)"), (x.unsqueeze(1), "s0, 1, s1", "(s1, s1, 1)"),
                (torch.full((b,), 2.), "s1", "(1,)"), (x.unfold(1, 2, 2), "s0, (s1//2), 2", "(s1, 2, 1)"), (x.softmax(-1), "s0, s1", "(s1, 1)"),
                (torch.empty_strided((a, b), (1, a)), "s0, s1", "(1, s0)")]:
            assert type(t) is FakeTensor and str(t.shape) == f"torch.Size([{shape}])" and str(t.stride()) == stride
        assert len(y.unbind(1)) == 6 and guards(env)[-1] == "Eq(s2, 6)" and str(y.shape) == "torch.Size([s1, 6])"
        with pytest.raises(RuntimeError):
            x @ x
        with pytest.raises(RuntimeError):
            x.view(a, 3)
        with pytest.raises(IndexError):
            x[a]
        for f in (lambda: F.one_hot(x.sum(1).long(), -1), lambda: x[0][x.sum().long()] if x.sum() > 0 else x):  # decided by elements in C++ and Python
            with pytest.raises((DataDependentOutputException, GuardOnDataDependentSymNode)):
                f()


def test_a_symbol_that_becomes_a_number_does_so_everywhere(mode):
    x = mode.from_tensor(torch.empty(4, 6))
    y = torch.cat([x, x]).t()
    assert str(y.shape) == "torch.Size([s1, 2*s0])"
    assert guard_int(x.shape[0]) == 4
    assert str(y.shape) == "torch.Size([s1, 8])" and str((y + 1).shape) == "torch.Size([s1, 8])" and str(y.reshape(-1).shape) == "torch.Size([8*s1])"


def test_plain_numbers_are_no_symbols(mode, env):
    x = mode.from_tensor(torch.empty(10, 20))
    with mode:
        for n in (300, 512, 640, 768, 1000, 1024, 1536, 2048, 2400, 3072, 4096, 50257, *env._codes.of_symbol.values()):
            assert torch.empty(n, 2).shape == (n, 2) and x.new_zeros(n).shape == (n,) and (x[:, :1].expand(-1, n)).shape[1] == n
    assert guards(env) == []


def test_a_real_tensor_takes_the_value(mode):
    a, b = mode.from_tensor(torch.empty(10, 20)).shape
    assert torch.zeros(a, 2).shape == (10, 2) and torch.ones(200).view(b, -1).shape == (20, 10) and torch.arange(30)[a] == 10
    assert str(a) == "10" and str(b) == "20"


def test_symbols_without_example(mode, env):
    u = env.create_unbacked_symint()
    assert str(u + 1) == "u0 + 1" and u.node.hint is None and free_unbacked_symbols(u + 2) == free_symbols(u)
    for f in (lambda: bool(u == 1), lambda: int(u), lambda: bool(u > 3)):
        with pytest.raises(GuardOnDataDependentSymNode):
            f()
    torch._check(u > 3)
    assert u > 3 and u >= 2 and not u == 0 and [str(a.expr) for l in env.deferred_runtime_asserts.values() for a in l] == ["u0 > 3"]
    assert guard_or_false(u == 7) is False and guard_or_true(u == 7) is True and guard_size_oblivious(u == 1) is False
    assert env.var_to_range[u.node.expr].lower == 4
    with pytest.raises(RuntimeError):
        torch._check(u < 2, lambda: "too many")
    x = mode.from_tensor(torch.empty(20, 6))
    with mode:
        assert str(x.nonzero().shape) == "torch.Size([u1, 2])" and str(torch.masked_select(x, x > 0).shape) == "torch.Size([u2])"
        assert type(x.sum().item()) is torch.SymFloat and type(x.sum().int().item()) is torch.SymInt
        n = x.sum().int().item()
        torch._check(n >= 0)
        assert torch.zeros(n, 2).shape[0] == n


# ---- traces ----
def trace(f, *args):
    gm = make_fx(f, tracing_mode="symbolic")(*args)
    return gm, "\n".join(line.strip() for line in gm.code.strip().splitlines()[1:]), guards(gm.shape_env)


X, Y, W = torch.randn(4, 6), torch.randn(3), torch.randn(5, 6)


@pytest.mark.parametrize("f,args,code,found", [
    (lambda x: x.view(x.shape[0] * 2, -1), (X,), """\
sym_size_int = torch.ops.aten.sym_size.int(x_1, 0)
mul = sym_size_int * 2;  sym_size_int = None
view = torch.ops.aten.view.default(x_1, [mul, -1]);  x_1 = mul = None
return view""", ["Eq(Mod(s1, 2), 0)"]),
    (lambda x: torch.cat([x, x]).view(-1), (X,), """\
cat = torch.ops.aten.cat.default([x_1, x_1]);  x_1 = None
view = torch.ops.aten.view.default(cat, [-1]);  cat = None
return view""", []),
    (lambda x: x.flatten(), (X,), """\
sym_size_int = torch.ops.aten.sym_size.int(x_1, 0)
sym_size_int_1 = torch.ops.aten.sym_size.int(x_1, 1)
mul = sym_size_int * sym_size_int_1;  sym_size_int = sym_size_int_1 = None
view = torch.ops.aten.view.default(x_1, [mul]);  x_1 = mul = None
return view""", []),
    (lambda x, w, b: F.linear(x, w, b), (X, W, torch.randn(5)), """\
t = torch.ops.aten.t.default(w_1);  w_1 = None
addmm = torch.ops.aten.addmm.default(b_1, x_1, t);  b_1 = x_1 = t = None
return addmm""", []),
    (lambda x, y: x.expand(y.shape[0], -1), (X[:1], Y), """\
sym_size_int = torch.ops.aten.sym_size.int(y_1, 0);  y_1 = None
expand = torch.ops.aten.expand.default(x_1, [sym_size_int, -1]);  x_1 = sym_size_int = None
return expand""", []),
    (lambda x: torch.arange(x.size(0)) + 1, (X,), """\
sym_size_int = torch.ops.aten.sym_size.int(x_1, 0);  x_1 = None
arange = torch.ops.aten.arange.default(sym_size_int, device = device(type='cpu'), pin_memory = False);  sym_size_int = None
add = torch.ops.aten.add.Tensor(arange, 1);  arange = None
return add""", []),
    (lambda x: x / x.size(0) + (2 - x) + (x == 1) + (x > 0.5), (X,), """\
sym_size_int = torch.ops.aten.sym_size.int(x_1, 0)
div = torch.ops.aten.div.Tensor(x_1, sym_size_int);  sym_size_int = None
rsub = torch.ops.aten.rsub.Scalar(x_1, 2)
add = torch.ops.aten.add.Tensor(div, rsub);  div = rsub = None
eq = torch.ops.aten.eq.Scalar(x_1, 1)
add_1 = torch.ops.aten.add.Tensor(add, eq);  add = eq = None
gt = torch.ops.aten.gt.Scalar(x_1, 0.5);  x_1 = None
add_2 = torch.ops.aten.add.Tensor(add_1, gt);  add_1 = gt = None
return add_2""", []),
    (lambda x: x + 1 if x.size(0) > 3 else x - 1, (X,), """\
add = torch.ops.aten.add.Tensor(x_1, 1);  x_1 = None
return add""", ["s0 > 3"]),
    (lambda x, y: torch.cat([x, x]) + y, (torch.randn(4), torch.randn(8)), """\
cat = torch.ops.aten.cat.default([x_1, x_1]);  x_1 = None
add = torch.ops.aten.add.Tensor(cat, y_1);  cat = y_1 = None
return add""", ["Eq(2*s0, s1)"]),
    (lambda q, k: (q @ k.t()) * q.size(-1) ** -0.5, (X, W), """\
t = torch.ops.aten.t.default(k_1);  k_1 = None
mm = torch.ops.aten.mm.default(q_1, t);  t = None
sym_size_int = torch.ops.aten.sym_size.int(q_1, 1);  q_1 = None
pow_1 = sym_size_int ** -0.5;  sym_size_int = None
mul = torch.ops.aten.mul.Tensor(mm, pow_1);  mm = pow_1 = None
return mul""", []),
    (lambda x: torch.zeros(x.sum().int().item()), (torch.ones(4),), """\
sum_1 = torch.ops.aten.sum.default(x_1);  x_1 = None
_to_copy = torch.ops.aten._to_copy.default(sum_1, dtype = torch.int32);  sum_1 = None
_local_scalar_dense = torch.ops.aten._local_scalar_dense.default(_to_copy);  _to_copy = None
zeros = torch.ops.aten.zeros.default([_local_scalar_dense], device = device(type='cpu'), pin_memory = False);  _local_scalar_dense = None
return zeros""", []),
    (lambda x: (x.size(0), x.size(0) * 2, x), (X,), """\
sym_size_int = torch.ops.aten.sym_size.int(x_1, 0)
mul = sym_size_int * 2
return (sym_size_int, mul, x_1)""", []),
    (lambda x: torch.stack(x.unbind(0)), (X[:2],), """\
unbind = torch.ops.aten.unbind.int(x_1);  x_1 = None
getitem = unbind[0]
getitem_1 = unbind[1];  unbind = None
stack = torch.ops.aten.stack.default([getitem, getitem_1]);  getitem = getitem_1 = None
return stack""", ["Eq(s0, 2)"]),
    (lambda x, n: x.view(n, -1), (X, 8), """\
view = torch.ops.aten.view.default(x_1, [n_1, -1]);  x_1 = n_1 = None
return view""", None),
    (lambda x: x.clone().add_(x.size(0)).t_(), (X,), """\
clone = torch.ops.aten.clone.default(x_1)
sym_size_int = torch.ops.aten.sym_size.int(x_1, 0);  x_1 = None
add_ = torch.ops.aten.add_.Tensor(clone, sym_size_int);  clone = sym_size_int = None
t_ = torch.ops.aten.t_.default(add_);  add_ = None
return t_""", []),
])
def test_graphs(f, args, code, found):
    gm, got, conditions = trace(f, *args)
    assert got == code
    if found is not None:
        assert conditions == found


def backward(x, w):
    return torch.autograd.grad((x @ w).relu().mean(), [x, w])


def gradient_of(f):
    return lambda x: torch.autograd.grad(f(x).pow(2).sum(), x)


@pytest.mark.parametrize("f,made,others", [
    (lambda x: x.view(x.shape[0] * 2, -1), [(4, 6)], [[(3, 8)], [(7, 2)]]),
    (lambda x: x.reshape(x.size(0), -1, 2).sum(1), [(4, 6)], [[(2, 4)], [(9, 10)]]),
    (lambda x, w: F.linear(x, w), [(2, 4, 6), (5, 6)], [[(3, 7, 9), (2, 9)]]),
    (lambda x, w: F.conv2d(x, w, padding=1, stride=2), [(2, 3, 8, 8), (4, 3, 3, 3)], [[(5, 3, 9, 9), (6, 3, 3, 3)], [(3, 3, 6, 6), (2, 3, 3, 3)]]),
    (backward, [(4, 6), (6, 5)], [[(7, 2), (2, 3)], [(3, 3), (3, 3)]]),
    (lambda x, y: torch.autograd.grad((torch.cat([x, y, x]) ** 2).sum(), [x, y]), [(4, 6), (3, 6)], [[(5, 2), (7, 2)]]),
    (lambda x: F.interpolate(x, scale_factor=2), [(2, 3, 4, 5)], [[(1 + 1, 5, 7, 3)]]),
    (lambda x: F.max_pool2d(x, 2), [(2, 3, 4, 6)], [[(3, 2, 9, 5)]]),
    (lambda x: F.pad(x, [1, x.size(0)]), [(4, 3)], [[(5, 7)]]),
    (lambda x: torch.einsum("bij,bkj->bik", x, x + 1), [(2, 3, 4)], [[(5, 6, 7)]]),
    (lambda q: F.scaled_dot_product_attention(q, q, q), [(2, 3, 4, 6)], [[(3, 2, 5, 8)]]),
    (lambda x: x.chunk(2)[1] + x.split(2)[1], [(4, 3)], [[(4, 5)]]),
    (lambda x, w: torch.autograd.grad(F.layer_norm(x, [x.size(-1)], w).pow(2).sum(), [x, w]), [(4, 3), (3,)], [[(2, 7), (7,)]]),
    (lambda x: x[1:, :-1] + x[0, 0], [(4, 6)], [[(3, 9)]]),
    (lambda x: F.avg_pool2d(x, 3, stride=2, padding=1).softmax(1), [(2, 3, 8, 9)], [[(2, 4, 5, 6)]]),
    (gradient_of(lambda x: F.pad(x, [1, x.size(0)])), [(4, 6)], [[(5, 3)]]),
    (gradient_of(lambda x: F.pad(x, [-1, -(x.size(1) // 3)])), [(4, 6)], [[(5, 12)]]),
    (gradient_of(lambda x: x[1:, :x.size(1) // 2] * x.size(0)), [(4, 6)], [[(5, 8)]]),
    (gradient_of(lambda x: x.unsqueeze(1).expand(-1, 3, -1).repeat(2, 1, x.size(0))), [(4, 6)], [[(5, 8)]]),
    (gradient_of(lambda x: F.max_pool2d(x, 2)), [(2, 3, 8, 6)], [[(3, 2, 9, 5)]]),
    (gradient_of(lambda x: F.interpolate(F.adaptive_avg_pool2d(x, 2), scale_factor=2, mode="bilinear")), [(2, 3, 8, 6)], [[(3, 2, 9, 5)]]),
    (gradient_of(lambda x: F.embedding(torch.tensor([1, 0, 1]), x)), [(4, 6)], [[(5, 3)]]),
    (gradient_of(lambda x: x.sort(1)[0].cumsum(1).var(1)), [(4, 6)], [[(5, 3)]]),
    (gradient_of(lambda q: F.scaled_dot_product_attention(q, q, q)), [(2, 3, 4, 6)], [[(3, 2, 5, 8)]]),
])
def test_a_trace_holds_for_other_sizes(f, made, others):
    def tensors(shapes):
        return [torch.randn(s).requires_grad_(True) for s in shapes]
    gm = make_fx(f, tracing_mode="symbolic")(*tensors(made))
    for shapes in (made, *others):
        args = tensors(shapes)
        assert eval_guards(gm, *args), (shapes, guards(gm.shape_env))
        want, got = f(*args), gm(*args)
        for a, b in zip(got if isinstance(got, (tuple, list)) else [got], want if isinstance(want, (tuple, list)) else [want]):
            assert a.shape == b.shape and torch.equal(a, b)


def test_a_size_that_becomes_a_number_within_a_trace_does_so_from_its_start():
    def f(x):
        y = F.pad(x, [1, x.size(0)])
        return torch.autograd.grad((y * int(x.size(0))).unfold(0, 2, 1).pow(2).sum(), x)
    gm = make_fx(f, tracing_mode="symbolic")(torch.randn(4, 6, requires_grad=True))
    x, z = torch.randn(4, 3, requires_grad=True), torch.randn(5, 3, requires_grad=True)
    assert eval_guards(gm, x) and torch.equal(gm(x)[0], f(x)[0]) and not eval_guards(gm, z)
    refusing = make_fx(lambda x: x.view(x.size(0), 7), tracing_mode="symbolic")
    with pytest.raises(RuntimeError):
        refusing(X)


def test_a_number_made_of_a_size_in_a_derivative_is_no_constant(monkeypatch):
    f, x = gradient_of(lambda x: x.var(1)), X.clone().requires_grad_()
    gm, other = make_fx(f, tracing_mode="symbolic")(x), torch.randn(5, 9, requires_grad=True)
    assert "0.0" not in gm.code and eval_guards(gm, other) and torch.equal(gm(other)[0], f(other)[0])
    from torch.fx.experimental._size_codes import Codes
    monkeypatch.setattr(Codes, "_real", lambda self, v: None)  # where it cannot be told what it was made of, sizes become numbers
    gm = make_fx(f, tracing_mode="symbolic")(x)
    assert torch.equal(gm(x)[0], f(x)[0]) and not eval_guards(gm, other)


def test_guards_refuse_other_sizes():
    gm = make_fx(lambda x: x.view(-1, 2) if x.size(0) > 3 else x, tracing_mode="symbolic")(X)
    assert eval_guards(gm, X) and eval_guards(gm, torch.randn(5, 6)) and not eval_guards(gm, torch.randn(3, 6)) and not eval_guards(gm, torch.randn(5, 7))


def test_symbols_of_a_trace_stand_in_its_meta():
    gm = make_fx(lambda x: x.view(x.shape[0] * 2, -1), tracing_mode="symbolic")(X)
    x, size, mul, view, _ = gm.graph.nodes
    assert str(x.meta["val"].shape) == "torch.Size([s0, s1])" and str(mul.meta["val"]) == "2*s0" and str(view.meta["val"].shape) == "torch.Size([2*s0, (s1//2)])"
    assert 'x_1: "f32[s0, s1]"' in gm.print_readable(print_output=False) and size.target is torch.ops.aten.sym_size.int


def test_operators_that_read_sizes():
    aten = torch.ops.aten
    assert aten.sym_size.int(X, 1) == 6 and aten.sym_stride.int(X, 0) == 6 and aten.sym_numel.default(X) == 24 and aten.sym_storage_offset.default(X[1:]) == 6
    assert str(aten.sym_size.int) == "aten.sym_size.int" and str(aten.sym_size.int._schema) == "aten::sym_size.int(Tensor self, int dim) -> SymInt"
    assert aten.sym_size.int is aten.sym_size.int and aten.sym_size(X, 0) == 4 and not aten.sym_size.int._schema.is_mutable


@pytest.mark.parametrize("f", [lambda x: x * 2, lambda x: x.clamp(-1, 1), lambda x: x.masked_fill(x > 0, 1), lambda x: x.sin() / 3])
@pytest.mark.parametrize("x", [torch.rand(1, 5).t(), torch.rand(5, 2)[:, :1], torch.rand(17, 4).t()[:1], torch.rand(1, 5, 1).permute(2, 1, 0)],
                         ids=lambda x: f"{tuple(x.shape)}{x.stride()}")
def test_strides_of_dimensions_of_size_one_are_followed(f, x):
    from torch.fx.experimental.proxy_tensor import make_fx
    traced = make_fx(f, tracing_mode="symbolic")(x)
    got, expected = traced(x), f(x)
    assert torch.equal(got, expected) and got.stride() == expected.stride()


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64])
def test_a_number_beside_a_tensor_leaves_the_order_of_its_dimensions(dtype):
    x = torch.ones(1, 5, dtype=dtype).t()
    assert (x * 2).stride() == (x / 2).stride() == (1, 5)


def test_sizes_of_others_are_no_symbols():
    """A symbolic graph that lives on does not turn numbers of other traces into its symbols."""
    from torch._functorch.aot_autograd import aot_function
    alive = make_fx(lambda x, y: (x.reshape(-1), y * 2), tracing_mode="symbolic")(torch.ones(7, 5), torch.ones(6))
    codes = alive.shape_env._codes
    for n in [v for v in codes.of_symbol.values()] + [2 * v for v in codes.of_symbol.values()]:
        def f(x):
            return x.reshape(-1).sin() + x.flatten().cumsum(0)
        x = torch.ones(n, 1)
        for mode in ("real", "fake"):
            traced = make_fx(f, tracing_mode=mode)(x)
            assert not any("sym" in str(node.target) for node in traced.graph.nodes) and torch.equal(traced(x), f(x))
        x.requires_grad_()
        aot_function(f, lambda gm, examples: gm)(x).sum().backward()
        expected, = torch.autograd.grad(f(x).sum(), x)
        assert torch.equal(x.grad, expected)
