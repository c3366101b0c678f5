"""Operators of torch.ops and of torch.library within torch.compile: nodes of the graph, as long as no shape hangs on elements."""
import pytest
import torch
from torch import Tensor
from torch.library import custom_op

BACKENDS = ["eager", "aot_eager", "inductor"]


@custom_op("fbcompiled::scale", mutates_args=())
def scale(x: Tensor, a: float) -> Tensor:
    return x * a


@scale.register_fake
def _(x, a):
    return torch.empty_like(x)


scale.register_autograd(lambda ctx, g: (g * ctx.a, None), setup_context=lambda ctx, inputs, output: setattr(ctx, "a", inputs[1]))


@custom_op("fbcompiled::two", mutates_args=())
def two(x: Tensor) -> tuple[Tensor, Tensor]:
    return x.sin(), x.cos().sum(0)


@two.register_fake
def _(x):
    return torch.empty_like(x), x.new_empty(x.shape[1:])


@custom_op("fbcompiled::put", mutates_args={"x"})
def put(x: Tensor, v: float) -> None:
    x.fill_(v)


@custom_op("fbcompiled::positive", mutates_args=())
def positive(x: Tensor) -> Tensor:
    return x[x > 0].clone()


seen = []
factor = 2.0


@custom_op("fbcompiled::counted", mutates_args=())
def counted(x: Tensor) -> Tensor:
    seen.append("forward")
    return x * factor


@counted.register_fake
def _(x):
    return torch.empty_like(x)


def _counted_backward(ctx, g):
    seen.append("backward")
    return g * factor


counted.register_autograd(_counted_backward)


@custom_op("fbcompiled::noise", mutates_args=())
def noise(x: Tensor) -> Tensor:
    return x + torch.randn(x.shape) + torch.rand_like(x)


@noise.register_fake
def _(x):
    return torch.empty_like(x)


@custom_op("fbcompiled::add_into", mutates_args={"x"})
def add_into(x: Tensor, v: Tensor) -> None:
    x.add_(v)


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def put_within(x):
    y = x * 2
    put(y, 3.0)
    return y + x


def put_into_argument(x):
    put(x, 3.0)
    return x * 2


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("f", [
    lambda x: scale(x.sin(), 2.0) + 1,
    lambda x: torch.ops.fbcompiled.scale(x, 2.0) * 2,
    lambda x: torch.ops.fbcompiled.scale.default(x, 2.0) * 2,
    lambda x: two(x * 2),
    put_within, put_into_argument,
    lambda x: torch.ops.aten.mul.Tensor(torch.ops.aten.add(x, 1), 2),
    lambda x: torch.ops.aten.max.dim(x, 1)[0],
    lambda x: torch.ops.aten.add_.Tensor(x, 1) * 2,
    lambda x: torch.ops.aten.ones.default([5]) + x,
])
def test_whole(f, backend):
    a = torch.randn(4, 5)
    b = a.clone()
    compiled = torch.compile(f, fullgraph=True, backend=backend)
    for _ in range(2):
        got, wanted = compiled(a), f(b)
        for p, q in zip(got, wanted) if isinstance(got, tuple) else [(got, wanted)]:
            assert torch.equal(p, q)
        assert torch.equal(a, b)


@pytest.mark.parametrize("backend", BACKENDS)
def test_gradient(backend):
    def f(x):
        return scale(x.sin(), 2.0).exp()
    a = torch.randn(4, 5, requires_grad=True)
    b = a.detach().clone().requires_grad_()
    torch.compile(f, fullgraph=True, backend=backend)(a).sum().backward()
    f(b).sum().backward()
    assert torch.equal(a.grad, b.grad)


def test_the_node():
    seen = []

    def backend(graph, inputs):
        seen.extend(n.target for n in graph.graph.nodes if n.op == "call_function")
        return graph
    torch.compile(lambda x: scale(x, 2.0), fullgraph=True, backend=backend)(torch.ones(3))
    assert seen == [torch.ops.fbcompiled.scale.default]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_shape_that_hangs_on_elements_is_no_part_of_a_graph(backend):
    def f(x):
        return positive(x * 2) + 1
    with pytest.raises(torch._dynamo.exc.Unsupported, match="register_fake"):
        torch.compile(f, fullgraph=True, backend=backend)(torch.ones(3))
    torch._dynamo.reset()
    compiled = torch.compile(f, backend=backend)
    for x in (torch.ones(3), torch.tensor([1.0, -1, 2]), -torch.ones(3)):
        assert torch.equal(compiled(x), f(x))


@pytest.mark.parametrize("f", [
    lambda x: torch.ops.aten.nonzero(x), lambda x: torch.ops.aten.item(x.sum()), lambda x: torch.ops.aten._local_scalar_dense(x.sum()) + x,
])
def test_values_of_data(f):
    with pytest.raises(torch._dynamo.exc.Unsupported, match="data"):
        torch.compile(f, fullgraph=True)(torch.ones(3))
    torch.compile(f)(torch.ones(3))


# ---- what an operator does besides its result ----

SHAPES = {
    "plain": lambda: torch.ones(3, 4),
    "repeated": lambda: torch.ones(3, 1).expand(3, 4),      # elements that share memory are followed on copies
    "wants a gradient": lambda: torch.ones(3, 4, requires_grad=True),
    "repeated, wants a gradient": lambda: torch.ones(3, 1, requires_grad=True).expand(3, 4),
}


def told(f, make, calls=3):
    """What calls of f give and do, and what the random numbers are afterwards."""
    torch.manual_seed(0)
    seen.clear()
    results = []
    for _ in range(calls):
        x = make()
        leaf = x if x.is_leaf else None
        y = f(x)
        results.append((y.detach().clone(), list(seen)))
        if y.requires_grad:
            y.sum().backward()
            results.append((None if leaf is None else leaf.grad.clone(), list(seen)))
    return results, torch.rand(3)


def alike(a, b):
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(alike, a, b))
    return torch.equal(a, b) if isinstance(a, Tensor) else a == b


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fullgraph", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("f", [
    lambda x: counted(x) + 1,
    lambda x: (counted(x), x * 2)[1],                       # a result that nobody takes
    lambda x: torch.ops.fbcompiled.counted(counted(x * 2)),
    lambda x: noise(x.detach()) * torch.rand_like(x),
    lambda x: (noise(x.detach()), torch.randn_like(x) + x)[1],
], ids=range(5))
def test_kernels_run_once_for_each_call(f, shape, fullgraph, backend):
    wanted = told(f, SHAPES[shape])
    assert alike(told(torch.compile(f, backend=backend, fullgraph=fullgraph), SHAPES[shape]), wanted)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("wants", [False, True])
def test_what_the_kernel_reads_is_read_in_every_call(wants, backend, monkeypatch):
    compiled = torch.compile(lambda x: counted(x).sin(), backend=backend)
    for value in (2.0, 3.0, -1.0):
        monkeypatch.setitem(globals(), "factor", value)
        a = torch.linspace(0, 1, 5).requires_grad_(wants)
        b = a.detach().clone().requires_grad_(wants)
        y, z = compiled(a), counted(b).sin()
        assert torch.equal(y, z)
        if wants:
            y.sum().backward(), z.sum().backward()
            assert torch.equal(a.grad, b.grad)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_constant_that_is_written(shape, backend):
    def f(x):
        z = torch.zeros(3, 4)
        add_into(z, x.detach())
        w = z * 2
        add_into(z, w)
        return z + x
    assert alike(told(torch.compile(f, backend=backend), SHAPES[shape]), told(f, SHAPES[shape]))


@pytest.mark.parametrize("backend", BACKENDS)
def test_library_of_kernels(backend):
    """Operators without marks of what they write on the meta device, composites, and views."""
    lib = torch.library.Library("fbcompiled_lib", "FRAGMENT")
    try:
        lib.define("bump_(Tensor(a!) x, Tensor v) -> ()")
        lib.impl("bump_", lambda x, v: (x.add_(v), None)[1], "CPU")
        torch.library.register_fake("fbcompiled_lib::bump_", lambda x, v: None, lib=lib)
        lib.define("scaled(Tensor x) -> Tensor")
        k = [2.0]
        lib.impl("scaled", lambda x: x * k[0] + x.flatten()[0], "CompositeImplicitAutograd")
        lib.define("head(Tensor(a) x) -> Tensor(a)")
        lib.impl("head", lambda x: x[:1], "CompositeExplicitAutograd")
        ops = torch.ops.fbcompiled_lib

        def bumped(x):
            z = torch.zeros(3, 4)
            ops.bump_(z, x.detach())
            return z + x

        def headed(x):
            y = x * 2
            ops.head(y.detach()).mul_(3)
            return y + 1

        def argument(x):
            y = x.detach()
            ops.bump_(y, y)
            return y + 1
        for shape in SHAPES.values():
            for f in (bumped, headed, lambda x: ops.scaled(x) + 1, lambda x: ops.scaled.default(x) * ops.head(x)):
                torch._dynamo.reset()
                compiled = torch.compile(f, backend=backend)
                for value in (2.0, 5.0):
                    k[0] = value
                    assert alike(told(compiled, shape), told(f, shape)), f
        a, b = torch.ones(3), torch.ones(3)
        compiled = torch.compile(argument, backend=backend)
        for _ in range(3):
            assert torch.equal(compiled(a), argument(b)) and torch.equal(a, b)
    finally:
        lib._destroy()


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_error_of_the_kernel_is_the_callers(backend):
    class Mine(Exception):
        pass

    @custom_op("fbcompiled::fails", mutates_args=())
    def fails(x: Tensor) -> Tensor:
        seen.append(1)
        if len(seen) == 2:
            raise Mine("kernel")
        return x.clone()

    fails.register_fake(torch.empty_like)
    seen.clear()
    f = torch.compile(lambda x: fails(x) + 1, backend=backend)
    assert torch.equal(f(torch.ones(2)), torch.full((2,), 2.0))
    with pytest.raises(Mine, match="kernel"):
        f(torch.ones(2))
    assert torch.equal(f(torch.ones(2)), torch.full((2,), 2.0)) and len(seen) == 3


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_operator_defined_anew(backend):
    def define(k):
        @custom_op("fbcompiled::anew", mutates_args=())
        def anew(x: Tensor) -> Tensor:
            return x * k
        anew.register_fake(torch.empty_like)
    define(2)
    f = torch.compile(lambda x: torch.ops.fbcompiled.anew(x) + 1, backend=backend)
    x = torch.ones(3)
    assert f(x)[0] == 3
    define(5)
    assert torch.ops.fbcompiled.anew(x)[0] == 5 and f(x)[0] == 6


@pytest.mark.parametrize("backend", BACKENDS)
def test_functions_that_users_allow(backend):
    """Nothing is known of them: they run in every call."""
    k = [2.0]

    def allowed(x):
        seen.append("allowed")
        return x * k[0]
    torch._dynamo.allow_in_graph(allowed)
    f = torch.compile(lambda x: allowed(x).sin(), backend=backend)
    x = torch.ones(3)
    f(x)
    for value in (2.0, 3.0):
        k[0] = value
        seen.clear()
        assert torch.equal(f(x), (x * value).sin()) and seen == ["allowed"]
