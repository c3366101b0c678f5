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
