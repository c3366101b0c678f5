"""Operators of Triton kernels: torch.library.triton_op, and wrap_triton where modes and graphs see a launch."""
import functools

import pytest
import torch
import triton
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.library import opcheck, triton_op, wrap_triton
from torch.utils._python_dispatch import TorchDispatchMode
from triton import language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def add_kernel(a, b, out, n, BLOCK: tl.constexpr = 16):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    tl.store(out + i, tl.load(a + i, mask=inside) + tl.load(b + i, mask=inside), mask=inside)


@triton.autotune([triton.Config({"BLOCK": 16}), triton.Config({"BLOCK": 32})], key=["n"])
@triton.jit
def twice_kernel(a, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    tl.store(out + i, tl.load(a + i, mask=inside) * 2, mask=inside)


@triton.jit
def scale_kernel(a, by, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(a + i, tl.load(a + i, mask=i < n) * by, mask=i < n)


def add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    n = out.numel()
    wrap_triton(add_kernel)[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, out, n)
    return out


def twice(x):
    out = torch.empty_like(x)
    n = x.numel()
    wrap_triton(twice_kernel)[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, out, n)
    return out


def scale(x: torch.Tensor, by: float) -> None:
    wrap_triton(scale_kernel)[(triton.cdiv(x.numel(), 16),)](x, by, n=x.numel(), BLOCK=16)


add_op = triton_op("triton_op_tests::add", add, mutates_args=())
scale_op = triton_op("triton_op_tests::scale", mutates_args={"x"})(scale)
add_op.register_autograd(lambda ctx, g: (g, g * 3))


def test_an_operator_of_kernels_runs_and_says_how_its_result_looks():
    x, y = torch.randn(50), torch.randn(50)
    assert torch.equal(add_op(x, y), x + y) and torch.equal(torch.ops.triton_op_tests.add(x, y), x + y)
    assert str(add_op._opoverload._schema) == "triton_op_tests::add(Tensor x, Tensor y) -> Tensor"
    assert add_op(x.to("meta"), y.to("meta")).shape == (50,)
    with FakeTensorMode():
        fake = add_op(torch.empty(5), torch.empty(5))
    assert fake.shape == (5,) and type(fake).__name__ == "FakeTensor"
    z = x.clone()
    scale_op(z, 3.0)
    assert torch.equal(z, x * 3)
    assert torch.equal(torch.vmap(add_op)(torch.ones(2, 3), torch.full((2, 3), 2.0)), torch.full((2, 3), 3.0))


def test_derivatives_and_opcheck():
    x, y = torch.randn(7, requires_grad=True), torch.randn(7, requires_grad=True)
    add_op(x, y).sum().backward()
    assert x.grad.tolist() == [1] * 7 and y.grad.tolist() == [3] * 7
    assert set(opcheck(add_op, (torch.randn(5, requires_grad=True), torch.randn(5))).values()) == {"SUCCESS"}
    assert set(opcheck(scale_op, (torch.randn(5), 2.0)).values()) == {"SUCCESS"}


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
def test_a_launch_is_a_node_of_a_graph(mode):
    x, y = torch.randn(50), torch.randn(50)
    graph = make_fx(add, tracing_mode=mode)(x, y)
    assert [n.target for n in graph.graph.nodes].count(torch.ops.triton.launch.default) == 1
    graph.graph.eliminate_dead_code()
    graph.recompile()
    for n in (50, 77) if mode == "symbolic" else (50,):
        a, b = torch.randn(n), torch.randn(n)
        assert torch.equal(graph(a, b), a + b)
    graph = make_fx(scale, tracing_mode=mode)(x, 2.0)
    a = torch.randn(50)
    b = a.clone()
    graph(a, 2.0)
    assert torch.equal(a, b * 2)


def test_a_kernel_that_chooses_its_constants():
    a = torch.randn(9)
    assert torch.equal(twice(a), a * 2)
    assert torch.equal(make_fx(twice)(torch.randn(9))(a), a * 2)


def test_an_operator_is_one_node_and_one_call_of_a_mode():
    x, y = torch.randn(20), torch.randn(20)
    graph = make_fx(add_op)(x, y)
    assert [n.target for n in graph.graph.nodes if n.op == "call_function"] == [add_op._opoverload]
    seen = []

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))
    with Mode():
        assert torch.equal(add_op(x, y), x + y)
        r = add(x, y)
    assert seen[0] is add_op._opoverload and torch.ops.triton.launch.default in seen and torch.equal(r, x + y)


def test_compiled_code_runs_it():
    x, y = torch.randn(50), torch.randn(50)
    assert torch.equal(torch.compile(lambda a, b: add_op(a * 2, b) * 2)(x, y), (x * 2 + y) * 2)
    assert torch.equal(torch.compile(lambda a, b: add(a * 2, b) * 2)(x, y), (x * 2 + y) * 2)


def test_launches_that_are_equal_but_of_other_types_are_kept_apart():
    graphs = [make_fx(functools.partial(scale, by=by))(torch.ones(3)) for by in (2, 2.0, True)]
    numbers = [n.args[1] for g in graphs for n in g.graph.nodes if n.target is torch.ops.triton.launch.default]
    assert len(set(numbers)) == 3
    again = make_fx(lambda x: scale(x, 2.0))(torch.ones(3))
    assert [n.args[1] for n in again.graph.nodes if n.target is torch.ops.triton.launch.default] == [numbers[1]]


def test_what_is_no_kernel():
    for what in (3, len, add):
        with pytest.raises(RuntimeError, match="triton.jit"):
            wrap_triton(what)
    with pytest.raises(RuntimeError, match="grid"):
        wrap_triton(add_kernel)(torch.ones(1))
    assert repr(wrap_triton(wrap_triton(add_kernel))) == repr(wrap_triton(add_kernel))


@triton.jit
def pair_kernel(pair, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(pair[1] + i, tl.load(pair[0] + i) + 1)


@triton.jit
def descriptor_kernel(source, target):
    target.store([0], source.load([0]) + 1)


def by_pair(x):
    y = torch.empty_like(x)
    wrap_triton(pair_kernel)[(1,)]((x, y), N=2)
    return y


def by_descriptor(x):
    y = torch.empty_like(x)
    wrap_triton(descriptor_kernel)[(1,)](TensorDescriptor.from_tensor(x, [2]), TensorDescriptor.from_tensor(y, [2]))
    return y


@pytest.mark.parametrize("f", [by_pair, by_descriptor])
@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
def test_tensors_within_arguments_are_those_of_the_graph(f, mode):
    graph = make_fx(f, tracing_mode=mode)(torch.tensor([7.0, 8.0]))
    assert graph(torch.tensor([1.0, 2.0])).tolist() == f(torch.tensor([1.0, 2.0])).tolist() == [2.0, 3.0]
    assert torch.compile(f)(torch.tensor([1.0, 2.0])).tolist() == [2.0, 3.0]


def test_launches_that_nobody_records_are_not_kept():
    from torch._library import triton as launches
    with FakeTensorMode():
        x = torch.empty(2)
        before = len(launches._launches)
        for _ in range(20):
            by_pair(x)
        assert len(launches._launches) == before


@pytest.mark.parametrize("within", [
    lambda f: torch.vmap(f)(torch.ones(2, 2)), lambda f: torch.func.grad(lambda x: f(x).sum())(torch.ones(2)),
    lambda f: torch.func.jvp(f, (torch.ones(2),), (torch.ones(2),)), lambda f: f(FakeTensorMode().from_tensor(torch.ones(2)))])
def test_a_plain_launch_refuses_what_has_no_memory(within):
    def f(x):
        pair_kernel[(1,)]((torch.ones(2), x), N=2)
        return x * 1
    with pytest.raises(ValueError, match=r"pair\[[01]\].*shape \[2\].*no memory of its own"):
        within(f)


def test_tuples_too_deep_and_texts_too_long_are_told():
    deep = ()
    for _ in range(5000):
        deep = (deep,)
    for _ in range(3):
        with pytest.raises(RecursionError):
            pair_kernel[(1,)](deep, N=2)
    with pytest.raises(TypeError, match="grid is .'ééé"):
        pair_kernel[("é" * 150 + "x",)]((torch.ones(2), torch.ones(2)), N=2)


def test_names_that_are_not_there_can_be_asked_for():
    assert not hasattr(tl, "tensor_descriptor_type") and not hasattr(triton, "aggregate")
    assert getattr(triton.knobs.runtime, "override_arch", None) is None
    with pytest.raises(NotImplementedError, match="override_arch"):
        triton.knobs.runtime.override_arch
