"""torch.library: operators, kernels, shape rules and derivatives from outside. Expected values are PyTorch 2.14's."""
import ctypes
import gc
import threading
import time
from typing import List, Optional, Sequence, Tuple, Union

import pytest
import torch
from torch import Tensor
from torch.library import Library, custom_op, infer_schema, opcheck
from torch.utils._python_dispatch import TorchDispatchMode

_count = [0]


@pytest.fixture
def ns():
    """A namespace that no other test uses."""
    _count[0] += 1
    return f"fbtest{_count[0]}"


class Log(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


# ---- schemas from annotations ----

def _plain(x: Tensor, y: float, n: int = 2, b: bool = False, *, k: Optional[Tensor] = None, s: str = "a",
           d: Optional[torch.dtype] = None) -> Tensor: ...
def _lists(xs: Sequence[Tensor], y: Union[int, float, bool], o: Optional[int] = None) -> Tuple[Tensor, Tensor]: ...
def _nothing(x: Tensor) -> None: ...
def _many(x: Tensor) -> List[Tensor]: ...
def _text(x: Tensor, y: "int") -> "tuple[Tensor, int]": ...
def _modern(x: Tensor, y: list[Tensor], z: int | None = None, f: torch.device = torch.device("cpu")) -> int: ...
def _ints(x: Tensor, y: Optional[List[int]] = None) -> int: ...


@pytest.mark.parametrize("f, expected", [
    (_plain, '(Tensor x, float y, SymInt n=2, bool b=False, *, Tensor? k=None, str s="a", ScalarType? d=None) -> Tensor'),
    (_lists, "(Tensor[] xs, Scalar y, SymInt? o=None) -> (Tensor, Tensor)"),
    (_nothing, "(Tensor x) -> ()"),
    (_many, "(Tensor x) -> Tensor[]"),
    (_text, "(Tensor x, SymInt y) -> (Tensor, SymInt)"),
    (_modern, '(Tensor x, Tensor[] y, SymInt? z=None, Device f="cpu") -> SymInt'),
    (_ints, "(Tensor x, SymInt[]? y=None) -> SymInt"),
])
def test_infer_schema(f, expected):
    assert infer_schema(f, mutates_args=()) == expected


def test_infer_schema_of_what_writes():
    assert infer_schema(_nothing, op_name="a::b", mutates_args=("x",)) == "a::b(Tensor(a0!) x) -> ()"
    assert infer_schema(_lists, mutates_args="unknown").startswith("(Tensor(a0!)[] xs, Scalar y")
    for mutates in ({"y"}, {"q"}):
        with pytest.raises(ValueError):
            infer_schema(_plain, mutates_args=mutates)


def _no_annotation(x) -> Tensor: ...
def _no_result(x: Tensor): ...
def _odd_type(x: dict) -> Tensor: ...
def _star(x: Tensor, *a) -> Tensor: ...
def _odd_default(x: Tensor, y: List[int] = (1, 2)) -> Tensor: ...
def _odd_result(x: Tensor) -> dict: ...


@pytest.mark.parametrize("f", [_no_annotation, _no_result, _odd_type, _star, _odd_default, _odd_result])
def test_infer_schema_refuses(f):
    with pytest.raises(ValueError):
        infer_schema(f, mutates_args=())


# ---- custom_op ----

def test_custom_op(ns):
    looked = []

    @custom_op(f"{ns}::scale", mutates_args=())
    def scale(x: Tensor, a: float, n: int = 3) -> Tensor:
        looked.append((a, n, torch.is_grad_enabled(), x.requires_grad))
        return x * a

    assert repr(scale) == f"<CustomOpDef({ns}::scale)>"
    op = getattr(torch.ops, ns).scale
    assert str(op.default._schema) == f"{ns}::scale(Tensor x, float a, SymInt n=3) -> Tensor"
    assert op.default.name() == f"{ns}::scale" and op.default.namespace == ns and torch.Tag.pt2_compliant_tag in op.default.tags
    assert scale(torch.ones(2), 2.).tolist() == [2., 2.] and op(x=torch.ones(2), a=3).tolist() == [3., 3.]
    x = torch.ones(2, requires_grad=True)
    y = scale(x, 2.)
    assert looked[-1] == (2., 3, False, True)
    assert type(y.grad_fn).__name__ == f"GeneratedBackwardFor_{ns}_scale_defaultBackward"
    with pytest.raises(RuntimeError, match="register_autograd"):
        y.sum().backward()

    seen = []
    scale.register_autograd(lambda ctx, g: (g * ctx.a, None, None),
                            setup_context=lambda ctx, inputs, output: (seen.append((inputs[1:], output.tolist())), setattr(ctx, "a", inputs[1])))
    y = scale(x, 2.)
    y.sum().backward()
    assert x.grad.tolist() == [2., 2.] and seen == [((2., 3), [2., 2.])]
    # Double backward goes through the operators of the formula.
    g, = torch.autograd.grad(scale(x * x, 3.).sum(), x, create_graph=True)
    assert torch.autograd.grad(g.sum(), x)[0].tolist() == [6., 6.]
    with Log() as log:
        scale(x, 2.)
    assert log.names == [f"{ns}.scale.default"]
    with torch.no_grad():
        assert scale(x, 2.).grad_fn is None


def test_custom_op_wrong_arguments(ns):
    @custom_op(f"{ns}::scale", mutates_args=())
    def scale(x: Tensor, a: float) -> Tensor:
        return x * a

    for args, kwargs in [((torch.ones(1),), {}), ((torch.ones(1), "s"), {}), ((torch.ones(1), 1.), {"q": 3}), ((torch.ones(1), 1., 2.), {}), ((None, 1.), {})]:
        with pytest.raises(RuntimeError, match="scale"):
            scale(*args, **kwargs)
    for name in ("bad", "a::b::c", "::x", "a::", "a::b.c"):
        with pytest.raises(ValueError):
            custom_op(name, lambda x: x, mutates_args=(), schema="(Tensor x) -> Tensor")
    with pytest.raises(ValueError):
        custom_op(f"{ns}::other", lambda x: x, mutates_args=())


def test_custom_op_fake(ns):
    @custom_op(f"{ns}::pairs", mutates_args=())
    def pairs(x: Tensor) -> Tuple[Tensor, Tensor]:
        return x.sum(0), x.t().contiguous()

    with pytest.raises(RuntimeError, match="register_fake"):
        pairs(torch.ones(2, 3, device="meta"))

    @pairs.register_fake
    def _(x):
        return x.new_empty(x.size(1)), x.new_empty(x.size(1), x.size(0))

    a, b = pairs(torch.ones(2, 3, device="meta"))
    assert a.shape == (3,) and b.shape == (3, 2) and a.is_meta


def test_custom_op_that_writes(ns):
    @custom_op(f"{ns}::put", mutates_args={"x"})
    def put(x: Tensor, v: float) -> None:
        x.add_(v)

    z = torch.zeros(2)
    assert put(z, 1.) is None and z.tolist() == [1., 1.] and z._version > 0
    with pytest.raises(RuntimeError):
        put.register_autograd(lambda ctx: None)
    y = torch.ones(2, requires_grad=True).exp()
    put(y, 1.)
    with pytest.raises(RuntimeError):  # exp keeps its result for backward
        y.sum().backward()
    with pytest.raises(ValueError):
        custom_op(f"{ns}::q", lambda x: None, mutates_args=(), schema="(Tensor(a!) x) -> ()")


def test_custom_op_may_not_return_its_input(ns):
    @custom_op(f"{ns}::same", mutates_args=())
    def same(x: Tensor) -> Tensor:
        return x.view(-1)

    with pytest.raises(RuntimeError, match="memory"):
        same(torch.ones(2))


def test_custom_op_devices(ns):
    @custom_op(f"{ns}::dev", mutates_args=(), device_types="cuda")
    def dev(x: Tensor) -> Tensor:
        return x.clone()

    with pytest.raises(NotImplementedError, match="dev"):
        dev(torch.ones(2))

    @dev.register_kernel("cpu")
    def _(x):
        return x + 10

    assert dev(torch.ones(2)).tolist() == [11., 11.]
    with pytest.raises(ValueError):
        dev.register_kernel("toaster")(lambda x: x)


def test_custom_op_of_a_list(ns):
    @custom_op(f"{ns}::two", mutates_args=())
    def two(xs: Sequence[Tensor], k: int) -> Tuple[Tensor, Tensor]:
        return xs[0] * k, xs[1] * k

    wants = []

    def backward(ctx, a, b):
        wants.append(ctx.needs_input_grad)
        return [a * ctx.k, b * ctx.k], None

    two.register_autograd(backward, setup_context=lambda ctx, inputs, output: setattr(ctx, "k", inputs[1]))
    p, q = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    a, b = two([p, q], 3)
    (a + 2 * b).sum().backward()
    assert p.grad.tolist() == [3., 3.] and q.grad.tolist() == [6., 6.]
    assert wants == [([True, True], False)]

    two.register_autograd(lambda ctx, a, b: (a, None), setup_context=lambda ctx, inputs, output: None)
    with pytest.raises(RuntimeError, match="list"):
        sum(t.sum() for t in two([p, q], 3)).backward()


def test_custom_op_again_takes_the_place(ns):
    for k in (1, 2):
        @custom_op(f"{ns}::f", mutates_args=())
        def f(x: Tensor) -> Tensor:
            return x + k
        assert f(torch.zeros(1)).item() == k and getattr(torch.ops, ns).f(torch.zeros(1)).item() == k


def test_register_torch_dispatch(ns):
    @custom_op(f"{ns}::f", mutates_args=())
    def f(x: Tensor) -> Tensor:
        return x + 1

    calls = []

    @f.register_torch_dispatch(Log)
    def _(mode, func, types, args, kwargs):
        calls.append((type(mode), func))
        return func(*args, **kwargs) * 10

    x = torch.ones(1)
    with Log() as log:
        y = f(x)
    assert y.item() == 20 and calls == [(Log, getattr(torch.ops, ns).f.default)] and log.names == []


def test_opcheck(ns):
    @custom_op(f"{ns}::good", mutates_args=())
    def good(x: Tensor) -> Tensor:
        return x.sin()
    good.register_fake(torch.empty_like)
    good.register_autograd(lambda ctx, g: g * ctx.saved_tensors[0].cos(), setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))
    result = opcheck(good, (torch.randn(3, requires_grad=True),))
    assert set(result.values()) == {"SUCCESS"} and len(result) == 4

    @custom_op(f"{ns}::liar", mutates_args=())
    def liar(x: Tensor) -> Tensor:
        x.add_(1)
        return x.sin()
    liar.register_fake(lambda x: x.new_empty(7))
    result = opcheck(liar, (torch.randn(3),), raise_exception=False)
    assert "written" in str(result["test_schema"]) and "shape" in str(result["test_faketensor"])
    with pytest.raises(Exception, match="test_schema"):
        opcheck(liar, (torch.randn(3),))


# ---- Library ----

def test_library(ns):
    lib = Library(ns, "DEF")
    assert lib.define("foo(Tensor x, int n=2) -> Tensor") == "foo"
    op = getattr(torch.ops, ns).foo
    with pytest.raises(NotImplementedError, match="foo"):
        op(torch.ones(2))
    calls = []

    def kernel(*args, **kwargs):
        calls.append((args[1:], kwargs))
        return args[0] + 1

    lib.impl("foo", kernel, "CPU")
    assert op(torch.ones(2)).tolist() == [2., 2.] and op(torch.ones(2), 2).sum() == 4 and op(torch.ones(2), n=3).sum() == 4
    assert calls == [((), {}), ((), {}), ((3,), {})]
    # Without a kernel for Autograd, autograd follows what the kernel does.
    x = torch.ones(2, requires_grad=True)
    y = op(x)
    assert type(y.grad_fn).__name__ == "AddBackward0"
    y.sum().backward()
    assert x.grad.tolist() == [1., 1.]
    assert dir(getattr(torch.ops, ns)) == ["foo"]
    lib._destroy()
    with pytest.raises(AttributeError):
        getattr(torch.ops, ns).foo
    with pytest.raises(NotImplementedError):
        op(torch.ones(2))
    Library(ns, "DEF")


def test_library_refuses(ns):
    lib = Library(ns, "DEF")
    lib.define("foo(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError):
        lib.define("foo(Tensor x, int y) -> Tensor")
    with pytest.raises(RuntimeError):
        lib.define("foo2(Tensr x) -> Tensor")
    for text in ("foo3", "foo3(Tensor x", "foo3(Tensor x) ->", "(Tensor x) -> Tensor", "foo3(Tensor x='a) -> Tensor", ""):
        with pytest.raises(RuntimeError):
            lib.define(text)
    with pytest.raises(RuntimeError):
        lib.define("foo4(Tensor x) -> Tensor", "ZZ")
    with pytest.raises(RuntimeError, match="XYZ"):
        lib.impl("foo", lambda x: x, "XYZ")
    with pytest.raises(NotImplementedError, match="Functionalize"):
        lib.impl("foo", lambda x: x, "Functionalize")
    with pytest.raises(NotImplementedError):
        lib.fallback(lambda x: x)
    with pytest.raises(ValueError):
        Library(ns + "x", "WHAT")
    with pytest.raises(ValueError):
        Library("prim", "DEF")
    with pytest.raises(RuntimeError):
        Library(ns, "DEF")
    with pytest.raises(TypeError):
        lib.impl("foo", 3, "CPU")


def test_fragment_overloads_and_composites(ns):
    lib = Library(ns, "FRAGMENT")
    lib.define("bar(Tensor(a!) x) -> Tensor(a!)")
    lib.impl("bar", lambda x: x.add_(1), "CompositeExplicitAutograd")
    z = torch.zeros(1)
    assert getattr(torch.ops, ns).bar(z) is z and z._version == 1
    lib.define("ci(Tensor x) -> Tensor")
    lib.impl("ci", lambda x: x * 2 + 1, "CompositeImplicitAutograd")
    packet = getattr(torch.ops, ns).ci
    y = packet(torch.ones(1, requires_grad=True))
    assert type(y.grad_fn).__name__ == "AddBackward0"
    # An overload that comes later is found by who holds the packet.
    lib.define("ci.scaled(Tensor x, float by) -> Tensor")
    lib.impl("ci.scaled", lambda x, by: x * by, "CPU")
    assert packet(torch.ones(1), 3.).item() == 3 and packet.scaled(torch.ones(1), 4.).item() == 4
    assert set(packet.overloads()) == {"default", "scaled"} and packet(torch.ones(1)).item() == 3
    x = torch.ones(1)
    with Log() as log:
        packet(x)
        packet(x, 2.)
        getattr(torch.ops, ns).bar(z)
    assert log.names[:2] == ["aten.mul.Tensor", "aten.add.Tensor"] and log.names[2] == f"{ns}.ci.scaled" and log.names[-1] == f"{ns}.bar.default"


def test_kernels_of_all_kinds_of_values(ns):
    lib = Library(ns, "FRAGMENT")
    lib.define("all(Tensor[] xs, Tensor? t, int[] i, float[] f, bool[] b, str s, ScalarType d, Device v, Scalar c, MemoryFormat? m=None, "
               "int[2] p=1, Generator? g=None) -> (Tensor[], Tensor)")
    got = []

    def kernel(*args):
        got.extend(args)
        return args[0], args[0][0] * 2
    lib.impl("all", kernel, "CPU")
    lists, one = getattr(torch.ops, ns).all([torch.ones(1), torch.zeros(1)], None, [1, 2], [.5], [True, False], "text", torch.int8, "cpu", 2.5)
    assert got[1:] == [None, [1, 2], [.5], [True, False], "text", torch.int8, torch.device("cpu"), 2.5]
    assert len(lists) == 2 and one.item() == 2
    lib.define("num(Tensor x) -> (float, int, bool)")
    lib.define("opt(Tensor x) -> Tensor?")


def test_kernel_in_place_of_ours():
    lib = Library("aten", "IMPL")
    calls = []

    def mine(x):
        calls.append(x.requires_grad)
        return x * 0 - 5
    lib.impl("neg", mine, "CPU")
    assert torch.neg(torch.ones(2)).tolist() == [-5., -5.]
    x = torch.ones(2, requires_grad=True)
    y = x.neg()
    assert type(y.grad_fn).__name__ == "NegBackward0" and y.tolist() == [-5., -5.] and calls == [False, True]
    y.sum().backward()
    lib._destroy()
    assert torch.neg(torch.ones(2)).tolist() == [-1., -1.] and (-torch.ones(1)).item() == -1

    lib = Library("aten", "IMPL")
    lib.impl("neg", lambda x: x.new_empty(9), "Meta")
    assert torch.ones(2, device="meta").neg().shape == (9,) and torch.ones(2).neg().shape == (2,)
    lib._destroy()
    assert torch.ones(2, device="meta").neg().shape == (2,)

    lib = Library("aten", "IMPL", "Autograd")

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.detach().mul(-1)

        @staticmethod
        def backward(ctx, g):
            return g * 100
    lib.impl("neg", Twice.apply)
    x = torch.ones(2, requires_grad=True)
    x.neg().sum().backward()
    assert x.grad.tolist() == [100., 100.]
    lib._destroy()

    lib = Library("aten", "IMPL")
    with pytest.raises(NotImplementedError, match="neg"):
        lib.impl("neg", lambda x: x, "CompositeImplicitAutograd")
    lib.impl("matmul", lambda a, b: torch.mm(a, b) + 1, "CompositeImplicitAutograd")
    assert (torch.ones(2, 2) @ torch.ones(2, 2)).tolist() == [[3., 3.], [3., 3.]]
    lib._destroy()
    assert (torch.ones(2, 2) @ torch.ones(2, 2)).tolist() == [[2., 2.], [2., 2.]]


def test_define_and_impl(ns):
    torch.library.define(f"{ns}::f", "(Tensor x, Tensor? y=None) -> (Tensor, int)")

    @torch.library.impl(f"{ns}::f", "cpu")
    def _(x, y=None):
        return x.clone(), 3
    op = getattr(torch.ops, ns).f
    r = op(torch.ones(1))
    assert r[0].tolist() == [1.] and r[1] == 3

    @torch.library.register_fake(f"{ns}::f")
    def _(x, y=None):
        assert torch.library.get_ctx() is not None
        return torch.empty_like(x), 3
    assert op(torch.ones(1, device="meta"))[0].is_meta and torch.library.get_ctx() is None
    torch.library.register_autograd(f"{ns}::f", lambda ctx, g, _: (g * 7, None), setup_context=lambda ctx, inputs, output: None)
    x = torch.ones(1, requires_grad=True)
    r = op(x)
    assert r[0].grad_fn.name() == f"GeneratedBackwardFor_{ns}_f_defaultBackward" and r[1] == 3
    r[0].backward()
    assert x.grad.item() == 7
    for f in (lambda: torch.library.register_fake(f"{ns}::zzz", lambda x: x), lambda: torch.library.impl(f"{ns}::zzz", "cpu", lambda x: x)):
        with pytest.raises(RuntimeError):
            f()
    for f in (lambda: torch.library.define("f", "(Tensor x) -> Tensor"), lambda: torch.library.define(f"{ns}::g", "Tensor x")):
        with pytest.raises(ValueError):
            f()


# ---- how results and schemas look ----

def test_operators_give_lists_and_plain_tuples_and_functions_give_names():
    x, m = torch.arange(4.0), torch.ones(2, 2)
    aten = torch.ops.aten
    for r in (aten.split(x, 2), aten.unbind.int(x), aten._foreach_add.Scalar([x], 1.0)):
        assert type(r) is list
    out = torch.empty(0), torch.empty(0, dtype=torch.int64)
    for r in (aten.max.dim(m, 0), aten.sort(x), aten.frexp(x), aten.var_mean(x), aten.max.dim_max(m, 0, max=out[0], max_values=out[1])):
        assert type(r) is tuple
    assert type(torch.split(x, 2)) is tuple and type(x.unbind()) is tuple and type(torch.max(m, 0)) is torch.return_types.max
    seen = []

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            r = func(*args, **(kwargs or {}))
            seen.append(type(r))
            return r
    with Mode():
        assert type(torch.max(m, 0)) is torch.return_types.max and type(torch.split(x, 2)) is tuple and type(aten.max.dim(m, 0)) is tuple
    assert seen == [tuple, list, tuple]


def test_a_custom_operator_that_returns_a_list(ns):
    @custom_op(f"{ns}::two", mutates_args=())
    def two(x: Tensor) -> List[Tensor]:
        return [x.clone(), x + 1]
    two.register_fake(lambda x: [torch.empty_like(x), torch.empty_like(x)])
    two.register_autograd(lambda ctx, gs: gs[0] + 2 * gs[1])
    x = torch.ones(2, requires_grad=True)
    for r in (two(x), two(x.detach()), two(torch.ones(2, device="meta"))):
        assert type(r) is list and len(r) == 2
    r = two(x)
    (r[0].sum() + r[1].sum()).backward()
    assert x.grad.tolist() == [3, 3]


@pytest.mark.parametrize("written, printed", [
    ("(Tensor x, float a=2.0, str s='abc', int[2] k=[1,1], int n=3, SymInt m=2, ScalarType? d=None, bool b=True)->Tensor",
     "(Tensor x, float a=2., str s=\"abc\", int[2] k=1, int n=3, SymInt m=2, ScalarType? d=None, bool b=True) -> Tensor"),
    ("(Tensor x,float e=1e-5, Scalar c=2.5, Scalar d=3, float f=3)->(Tensor, Tensor)",
     "(Tensor x, float e=1.0000000000000001e-05, Scalar c=2.5, Scalar d=3, float f=3.) -> (Tensor, Tensor)"),
    ("(Tensor(a!) x, Tensor(b!)[] ys, *, str t=\"q, (r)\", float[] z=[1.0, 2.5], Device? dev=None, int[] w=[]) -> Tensor(a!)",
     "(Tensor(a!) x, Tensor(b!)[] ys, *, str t=\"q, (r)\", float[] z=[1., 2.5], Device? dev=None, int[] w=[]) -> Tensor(a!)"),
    ("(Tensor x, int[2] k=1, int[3] p=[0,0,0], float? z=None, float y=-1.5, int neg=-1, str? s=None) -> int",
     "(Tensor x, int[2] k=1, int[3] p=0, float? z=None, float y=-1.5, int neg=-1, str? s=None) -> int"),
    ("(Tensor(a -> *) x) -> Tensor(a)[]", "(Tensor(a -> *) x) -> Tensor(a)[]"),
    ("(Tensor x, float big=1e300) -> (Tensor)", "(Tensor x, float big=1.0000000000000001e+300) -> Tensor"),
    ("(Tensor x) -> ()", "(Tensor x) -> ()"), ("() -> (Tensor a, Tensor b)", "() -> (Tensor a, Tensor b)")])
def test_schemas_are_printed_in_one_form(ns, written, printed):
    lib = Library(ns, "DEF")
    lib.define("f" + written)
    assert str(getattr(torch.ops, ns).f.default._schema) == f"{ns}::f{printed}"
    lib._destroy()


@pytest.mark.parametrize("op, printed", [
    ("aminmax.out", "(Tensor self, *, int? dim=None, bool keepdim=False, Tensor(a!) min, Tensor(b!) max) -> (Tensor(a!) min, Tensor(b!) max)"),
    ("avg_pool2d.default", "(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool ceil_mode=False, bool count_include_pad=True, "
                           "int? divisor_override=None) -> Tensor"),
    ("avg_pool1d.default", "(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], bool ceil_mode=False, bool count_include_pad=True) -> Tensor"),
    ("chunk.default", "(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]"),
    ("contiguous.default", "(Tensor(a) self, *, MemoryFormat memory_format=0) -> Tensor(a)"),
    ("isclose.default", "(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, bool equal_nan=False) -> Tensor"),
    ("transpose.int", "(Tensor(a) self, int dim0, int dim1) -> Tensor(a)")])
def test_schemas_of_our_operators(op, printed):
    name, overload = op.split(".")
    full = f"aten::{name}" + ("" if overload == "default" else f".{overload}")
    assert str(getattr(getattr(torch.ops.aten, name), overload)._schema) == full + printed


def test_bools_and_integers_stand_for_each_other_in_a_call_of_one_overload(ns):
    m = torch.ones(2, 2)
    assert torch.ops.aten.cumsum.default(m, True).tolist() == [[1, 2], [1, 2]]
    assert torch.ops.aten.sum.dim_IntList(m, [True], 1).tolist() == [[2], [2]] and torch.ops.aten.sum.dim_IntList(m, [True], 0).tolist() == [2, 2]

    @custom_op(f"{ns}::times", mutates_args=())
    def times(x: Tensor, n: int, b: bool = False) -> Tensor:
        return x * n + b
    assert times(m, True, 1).tolist() == [[2, 2], [2, 2]]
    for f in (lambda: torch.cumsum(m, True), lambda: torch.sum(m, [1], 1)):
        with pytest.raises(TypeError):
            f()
    for f in (lambda: torch.ops.aten.cumsum.default(m, 1.0), lambda: times(m, 1.0)):
        with pytest.raises(RuntimeError):
            f()


def test_a_definition_gives_the_name_of_the_operator(ns):
    lib = Library(ns, "DEF")
    assert lib.define("f.one(Tensor x) -> Tensor") == "f" and lib.define("f(Tensor x, int n) -> Tensor") == "f"
    lib._destroy()


def test_hash_is_identity():
    t = torch.ones(2)
    assert hash(t) == id(t)


def test_an_operator_without_results_needs_a_fake_implementation_unless_it_writes(ns):
    @custom_op(f"{ns}::nothing", mutates_args=())
    def nothing(x: Tensor) -> None: ...

    @custom_op(f"{ns}::writes", mutates_args={"x"})
    def writes(x: Tensor) -> None:
        x.add_(1)
    t = torch.ones(1, device="meta")
    assert writes(t) is None
    with pytest.raises(RuntimeError, match="fake implementation"):
        nothing(t)


def test_what_opcheck_finds_has_the_type_of_its_kind(ns):
    from torch._subclasses.fake_tensor import MetadataMismatchError

    def results(op, *args):
        return {k: v if isinstance(v, str) else type(v) for k, v in opcheck(op, args, raise_exception=False).items()}
    fine = dict.fromkeys(("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic"), "SUCCESS")

    @custom_op(f"{ns}::double", mutates_args=())
    def double(x: Tensor) -> Tensor:
        return x.double()
    assert results(double, torch.ones(2)) == {**fine, "test_faketensor": RuntimeError, "test_aot_dispatch_dynamic": RuntimeError}
    double.register_fake(lambda x: torch.empty_like(x))
    assert results(double, torch.ones(2)) == {**fine, "test_faketensor": MetadataMismatchError}

    @custom_op(f"{ns}::hidden", mutates_args=())
    def hidden(x: Tensor) -> Tensor:
        x.add_(1)
        return x + 1
    hidden.register_fake(lambda x: torch.empty_like(x))
    assert results(hidden, torch.ones(2)) == {**fine, "test_schema": RuntimeError}
    with pytest.raises(torch._library.opcheck.OpCheckError):
        opcheck(hidden, (torch.ones(2),))
    with pytest.raises(RuntimeError, match="overload"):
        opcheck(torch.ops.aten.sin, (torch.ones(1),))


def test_names_of_aliases_are_places_of_parameters():
    def f(n: int, x: Tensor, y: Tensor, zs: Optional[Tensor] = None) -> None: ...
    assert infer_schema(f, mutates_args={"y", "zs"}) == "(SymInt n, Tensor x, Tensor(a2!) y, Tensor(a3!)? zs=None) -> ()"
    assert infer_schema(f, mutates_args="unknown") == "(SymInt n, Tensor(a1!) x, Tensor(a2!) y, Tensor(a3!)? zs=None) -> ()"


# ---- C++ ----

_SOURCE = """
#include <torch/library.h>
#include "dispatch/call.h"

static at::Tensor scale(const at::Tensor& x, double a, int64_t n) { return fb::op<"mul">(x, a * double(n)); }
static std::tuple<at::Tensor, int64_t> pair(const at::Tensor& x, std::optional<at::Tensor> y, std::vector<int64_t> n) {
  return {y ? *y : x, n.empty() ? 0 : n[0]};
}
static at::Tensor sum_all(std::vector<at::Tensor> xs, std::string how) {
  at::Tensor r = fb::op<"sum">(xs[0]);
  for (size_t i = 1; i < xs.size(); ++i) r = fb::op<"add">(r, fb::op<"sum">(xs[i]));
  return how == "neg" ? fb::op<"neg">(r) : r;
}
static void put(at::Tensor& x, bool one) { fb::op_list<"fill_">(x, one ? 1.0 : 2.0); }
static void boxed(const torch::OperatorHandle& op, const torch::Value* args, torch::Results& out) {
  out.push(fb::op<"add">(args[0].tensor(), double(op.schema.args.size())));
}
TORCH_LIBRARY_IMPL(fbcpp, CPU, m) { m.impl("scale", &scale); }
TORCH_LIBRARY(fbcpp, m) {
  m.def("scale(Tensor x, float a, int n=2) -> Tensor");
  m.def("pair(Tensor x, Tensor? y, int[] n) -> (Tensor, int)", &pair);
  m.def("sum_all", &sum_all);
  m.def("put(Tensor(a!) x, bool one) -> ()");
  m.def("boxed(Tensor x, int a, int b) -> Tensor", torch::CppFunction::makeFromBoxedFunction<&boxed>());
  m.def("plus(Tensor x) -> Tensor", [](const at::Tensor& x) { return fb::op<"add">(x, 1); });
}
TORCH_LIBRARY_IMPL(fbcpp, CPU, m) { m.impl("put", TORCH_FN(put)); }
TORCH_LIBRARY_FRAGMENT(fbcpp, m) { m.def("later(Tensor x) -> Tensor"); }
"""
_WRONG = """
#include <torch/library.h>
TORCH_LIBRARY_FRAGMENT(fbcppwrong, m) {
  m.def("f(Tensor x, int n) -> Tensor");
  m.def("g(Tensor x, int n) -> Tensor", [](const at::Tensor& x, double) { return x; });
}
"""


def _built(tmp_path, source, name):
    import pathlib
    import shutil
    import subprocess
    root = pathlib.Path(torch.__file__).resolve().parent.parent
    compiler = shutil.which("g++") or shutil.which("c++")
    if compiler is None or not (root / "include" / "torch" / "library.h").exists():
        pytest.skip("needs a C++ compiler and the headers")
    file = tmp_path / (name + ".cpp")
    file.write_text(source)
    out = tmp_path / (name + ".so")
    lib = root / "torch" / "lib"
    subprocess.run([compiler, "-std=c++20", "-O0", "-shared", "-fPIC", "-I", str(root), "-I", str(root / "include"), str(file), "-o", str(out),
                    "-L", str(lib), "-ltorch", f"-Wl,-rpath,{lib}"], check=True)
    return str(out)


def test_cpp_library(tmp_path):
    path = _built(tmp_path, _SOURCE, "ext")
    torch.ops.load_library(path)
    torch.ops.load_library(path)
    ops = torch.ops.fbcpp
    assert ops.scale(torch.ones(2), 3.).tolist() == [6., 6.] and ops.scale(torch.ones(2), 3., n=1).tolist() == [3., 3.]
    a, n = ops.pair(torch.ones(1), None, [7, 8])
    assert a.item() == 1 and n == 7 and ops.pair(torch.ones(1), torch.zeros(1), [])[0].item() == 0
    assert str(ops.sum_all.default._schema) == "fbcpp::sum_all(Tensor[] _0, str _1) -> Tensor"
    assert ops.sum_all([torch.ones(2), torch.ones(3)], "neg").item() == -5
    z = torch.zeros(2)
    assert ops.put(z, False) is None and z.tolist() == [2., 2.] and ops.boxed(torch.ones(1), 1, 2).item() == 4
    x = torch.ones(1, requires_grad=True)
    assert ops.plus(x).grad_fn.name() == "AddBackward0" and ops.scale(x, 2.).grad_fn.name() == "MulBackward0"
    with Log() as log:
        ops.plus(x), ops.scale(x, 1.)
    assert log.names == ["aten.add.Tensor", "fbcpp.scale.default"]
    with pytest.raises(NotImplementedError, match="later"):
        ops.later(x)
    with pytest.raises(RuntimeError):
        ops.scale(torch.ones(1), "text")


def test_cpp_library_that_is_wrong(tmp_path):
    path = _built(tmp_path, _WRONG, "wrong")
    with pytest.raises(RuntimeError, match="argument 1"):
        torch.ops.load_library(path)
    with pytest.raises(OSError):
        torch.ops.load_library(str(tmp_path / "absent.so"))

# ---- torch.vmap ----

@pytest.mark.filterwarnings("ignore:vmap")
def test_vmap_over_an_operator_is_a_loop():
    @torch.library.custom_op("fbtestvmap::double_sum", mutates_args=())
    def double_sum(x: torch.Tensor, dim: int) -> torch.Tensor:
        return (x * 2).sum(dim)
    x = torch.arange(60.).view(3, 4, 5)
    assert torch.equal(torch.vmap(lambda a: double_sum(a, 0))(x), (x * 2).sum(1))


@pytest.mark.filterwarnings("error")
def test_vmap_by_a_rule(ns):
    @custom_op(f"{ns}::scale", mutates_args=())
    def scale(x: Tensor, a: float, b: Tensor) -> Tensor:
        return x * a + b
    scale.register_autograd(lambda ctx, g: (g * ctx.a, None, g), setup_context=lambda ctx, inputs, output: setattr(ctx, "a", inputs[1]))
    seen = []

    @scale.register_vmap
    def rule(info, in_dims, x, a, b):
        seen.append((info.batch_size, info.randomness, in_dims, tuple(x.shape)))
        return scale(x.movedim(in_dims[0], 0), a, b.expand(info.batch_size, *b.shape[-1:])), 0

    x = torch.arange(6.).view(3, 2)
    b = torch.tensor([10., 20., 30.])
    assert torch.equal(torch.vmap(lambda v: scale(v, 2., b), in_dims=1)(x), (x.t() * 2 + b))
    assert seen == [(2, "error", (1, None, None), (3, 2))]
    # Two levels: the rule of the inner one calls the operator at the outer one, whose rule is asked again.
    seen.clear()
    y = torch.arange(12.).view(2, 2, 3)
    assert torch.equal(torch.vmap(torch.vmap(lambda v: scale(v, 2., b)))(y), y * 2 + b) and len(seen) == 2
    # The gradient of every example goes through the operator's own derivative.
    g = torch.vmap(torch.func.grad(lambda v: scale(v, 2., b).sum()))(y[0])
    assert torch.equal(g, torch.full((2, 3), 2.))
    # Another rule takes the place of the first.
    scale.register_vmap(lambda info, in_dims, x, a, b: (x * 0, in_dims[0]))
    assert torch.equal(torch.vmap(lambda v: scale(v, 2., b), in_dims=1)(x), torch.zeros(2, 3))


def test_vmap_rules_of_lists_and_of_single_registrations(ns):
    torch.library.define(f"{ns}::both", "(Tensor[] xs, *, int k=3) -> Tensor[]")
    torch.library.impl(f"{ns}::both", "cpu", lambda xs, k=3: [x * k for x in xs])
    told = []

    def rule(info, in_dims, xs, k=3):
        told.append((in_dims, k))
        return [x * k for x in xs], [0, None]
    torch.library.register_vmap(f"{ns}::both", rule)
    op = getattr(torch.ops, ns).both
    a, b = torch.vmap(lambda x: op([x, torch.ones(2)], k=4))(torch.ones(2, 3))
    assert told == [(([0, None],), 4)] and torch.equal(a, torch.full((2, 3), 4.)) and torch.equal(b, torch.full((2, 2), 4.))
    torch.library.register_vmap(f"{ns}::both", lambda info, in_dims, xs, k=3: [x for x in xs])
    with pytest.raises(RuntimeError):
        torch.vmap(lambda x: op([x]))(torch.ones(2, 3))
    with pytest.raises(NotImplementedError):
        torch.library.register_vmap("aten::sin", rule)


# ---- threads ----

def _race(call, change, seconds=1.5):
    """Three threads call while one registers; what a call raised, in any of them, is raised here."""
    stop, errors, calls = threading.Event(), [], [0]

    def run():
        try:
            while not stop.is_set():
                call()
                calls[0] += 1
        except Exception as error:
            errors.append(error)
            stop.set()
    threads = [threading.Thread(target=run) for _ in range(3)]
    for t in threads:
        t.start()
    end = time.monotonic() + seconds
    changes = 0
    while not stop.is_set() and time.monotonic() < end:
        change()
        changes += 1
    stop.set()
    for t in threads:
        t.join()
    if errors:
        raise errors[0]
    assert calls[0] > 10 and changes > 10


def test_kernels_change_while_others_run(ns):
    lib = Library(ns, "DEF")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x + 1, "CompositeExplicitAutograd")
    op = getattr(torch.ops, ns).f
    x = torch.zeros(40000)  # large enough for the interpreter's lock to be given back meanwhile

    def call():
        assert op(x)[0].item() in (1, 2)

    def change():
        more = Library(ns, "IMPL")
        more.impl("f", lambda x: x + 2, "CPU")
        more._destroy()
    _race(call, change)
    lib._destroy()


def test_overloads_join_and_leave_while_others_call(ns):
    lib = Library(ns, "DEF")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x + 1, "CPU")
    op = getattr(torch.ops, ns).f
    x = torch.zeros(3)

    class Index:  # asked for by the parser of arguments, which so gives other threads the interpreter
        def __index__(self):
            time.sleep(0)
            return 0

    def call():
        assert op(x)[0].item() == 1
        torch.sum(x, Index())

    def change():
        more = Library(ns, "FRAGMENT")
        more.define("f.other(Tensor x, int n) -> Tensor")
        more.impl("f.other", lambda x, n: x + n, "CPU")
        assert op(x, 5)[0].item() == 5
        more._destroy()
    _race(call, change)
    lib._destroy()


def test_results_of_several_kinds_in_threads(ns):
    @custom_op(f"{ns}::f", mutates_args=())
    def f(x: Tensor, n: int) -> Tuple[Tensor, int]:
        return x + n, n

    def call():
        for n in (3, 7):
            t, k = f(torch.zeros(2), n)
            assert k == n and t[0].item() == n
    _race(call, lambda: time.sleep(0.01))
    # At a level of vmap the tensor is the level's, the number stays.
    f.register_vmap(lambda info, in_dims, x, n: (f(x, n), (0, None)))
    ks = []
    out = torch.vmap(lambda v: (lambda r: (ks.append(r[1]), r[0])[1])(f(v, 5)))(torch.zeros(4, 2))
    assert ks == [5] and torch.equal(out, torch.full((4, 2), 5.))


def test_callables_of_operators_that_went_go_too():
    """Of an operator that was taken back its entry alone stays, which a call in C++ may hold; not what Python called it by."""
    class Heap(ctypes.Structure):
        _fields_ = [(n, ctypes.c_size_t) for n in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")]

    mallinfo2 = ctypes.CDLL(None).mallinfo2
    mallinfo2.restype = Heap

    def define_and_take_back(first, count, called):
        for i in range(first, first + count):
            lib = torch.library.Library("fbgone", "FRAGMENT")
            lib.define(f"op{i}(Tensor x, Tensor? other=None, int[] sizes=[], float scale=1.0) -> Tensor")
            lib.impl(f"op{i}", lambda x, *rest: x + 1, "CPU")
            if called:
                for _ in range(2):
                    getattr(torch.ops.fbgone, f"op{i}")(torch.ones(1))
                    getattr(torch.ops.fbgone, f"op{i}").default(torch.ones(1))
            lib._destroy()
        gc.collect()

    grown = {}
    for called in (False, True):
        define_and_take_back(0, 200, called)
        before = mallinfo2().uordblks
        define_and_take_back(200, 1000, called)
        grown[called] = (mallinfo2().uordblks - before) / 1000
    assert grown[True] < grown[False] + 200, grown
    assert not any(n.startswith("op") for n in torch.ops.fbgone)


def test_defaults_of_devices_and_lists_print_as_they_are_read():
    library = torch.library.Library("printed_defaults", "DEF")
    library.define('f(Tensor x, Device d="cpu", Scalar s=2.5, Scalar[] l=[1, 2.5], float[] m=[1, 2.5], int[2] k=1) -> Tensor')
    assert str(torch.ops.printed_defaults.f.default._schema) == (
        'printed_defaults::f(Tensor x, Device d="cpu", Scalar s=2.5, Scalar[] l=[1, 2.5], float[] m=[1., 2.5], int[2] k=1) -> Tensor')
