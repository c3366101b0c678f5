"""Forward and backward ahead of time: aot_function, aot_module and what partitioners keep."""
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch._functorch.aot_autograd import aot_export_joint_simple, aot_function, aot_module, aot_module_simplified
from torch._functorch.compile_utils import fx_graph_cse, strip_overloads
from torch._functorch.compilers import boxed_nop, make_boxed_func, nop
from torch._functorch.partitioners import default_partition, min_cut_rematerialization_partition
from torch.fx.experimental.proxy_tensor import make_fx

PARTITIONS = [default_partition, min_cut_rematerialization_partition]


class Kept:
    """A compiler that remembers graphs."""

    def __init__(self):
        self.graphs = []

    def __call__(self, gm, inputs):
        assert [tuple(i.shape) for i in inputs if isinstance(i, torch.Tensor)]
        self.graphs.append(gm)
        return make_boxed_func(gm.forward)


def leaves(*shapes):
    return [torch.randn(s, requires_grad=True) for s in shapes]


def same(f, args, **options):
    """Values and gradients of the compiled function are those of the function."""
    copies = [a.detach().clone().requires_grad_(a.requires_grad) for a in args]
    expected = f(*copies)
    flat = expected if isinstance(expected, (tuple, list)) else [expected]
    sum(((i + 1) * o).sum() for i, o in enumerate(flat) if o.requires_grad).backward()
    fw, bw = Kept(), Kept()
    compiled = aot_function(f, fw, bw, **options)
    got = compiled(*args)
    flat_got = got if isinstance(got, (tuple, list)) else [got]
    sum(((i + 1) * o).sum() for i, o in enumerate(flat_got) if o.requires_grad).backward()
    for a, b in zip(flat, flat_got):
        torch.testing.assert_close(b.detach(), a.detach())
        assert a.requires_grad == b.requires_grad
    for a, b in zip(copies, args):
        assert (a.grad is None) == (b.grad is None)
        if a.grad is not None:
            torch.testing.assert_close(b.grad, a.grad)
        torch.testing.assert_close(b.detach(), a.detach())
    return fw.graphs, bw.graphs


@pytest.mark.parametrize("partition", PARTITIONS)
@pytest.mark.parametrize("f, shapes", [
    (lambda x, w: (torch.tanh(x @ w).sin() * 2).relu(), [(3, 4), (4, 5)]),
    (lambda x, w, b: F.gelu(F.linear(x, w, b)), [(3, 4), (5, 4), (5,)]),
    (lambda x, w: (F.softmax(x @ w, -1), x * 2), [(3, 4), (4, 5)]),
    (lambda x, w, b: F.layer_norm(x, (4,), w, b).sum(0), [(3, 4), (4,), (4,)]),
    (lambda x, w: F.max_pool2d(F.conv2d(x, w, padding=1).relu(), 2), [(2, 3, 8, 8), (4, 3, 3, 3)]),
    (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), [(1, 2, 4, 8)] * 3),
    (lambda x: x.sin().cos().exp().sum(), [(4, 4)]),
    (lambda x, y: torch.cat([x, y]).view(2, -1).t(), [(4,), (4,)])])
def test_values_and_gradients(partition, f, shapes):
    same(f, leaves(*shapes), partition_fn=partition)


def test_names_and_order():
    fw, bw = same(lambda x, w: x @ w, leaves((3, 4), (4, 5)))
    assert fw[0].code == ("\n\n\ndef forward(self, primals_1, primals_2):\n"
                          "    mm = torch.ops.aten.mm.default(primals_1, primals_2)\n"
                          "    return (mm, primals_1, primals_2)\n    ")
    assert [n.name for n in bw[0].graph.nodes if n.op == "placeholder"] == ["primals_1", "primals_2", "tangents_1"]


def test_inputs_that_are_written():
    def f(x, b):
        b.add_(1)
        return x * b
    x, b = torch.randn(3, 4, requires_grad=True), torch.zeros(4)
    fw, bw = same(f, [x, b])
    assert fw[0].code.strip().split("\n")[1:] == [
        "    add = torch.ops.aten.add.Tensor(primals_2, 1);  primals_2 = None",
        "    mul = torch.ops.aten.mul.Tensor(primals_1, add);  primals_1 = None", "    return (add, mul, add)"]
    assert bw[0].code.strip().split("\n")[-1] == "    return (mul_1, None)" and torch.equal(b, torch.ones(4))


@pytest.mark.parametrize("grad", [False, True])
def test_written_inputs_that_share_memory(grad):
    def f(a, b):
        a.add_(1)
        return a * b

    def apart(t):
        return t[:3], t[4:7]

    def one(t):
        return t[:3], t[:3]

    def overlapping(t):
        return t[:3], t[2:5]
    for ways in ((apart, one, overlapping, apart), (one, apart), (overlapping, apart, one)):
        compiled = aot_function(f, nop)
        for way in ways:
            memory, other = torch.arange(7.), torch.arange(7.)
            (a, b), (c, d) = way(memory), way(other)
            assert torch.equal(compiled(a, b), f(c, d)) and torch.equal(memory, other)
    compiled = aot_function(lambda a, b, w: (f(a, b) * w).sum(), nop)
    for way in (apart, one, overlapping):
        grads = []
        for g in (compiled, lambda a, b, w: (f(a, b) * w).sum()):
            w = torch.ones(3, requires_grad=grad)
            total = g(*way(torch.arange(7.)), w)
            grads.append((total.detach(), torch.autograd.grad(total, w)[0] if grad else total))
        assert all(torch.equal(p, q) for p, q in zip(*grads))


def test_a_buffer_that_is_an_input_too():
    class Counts(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(2))

        def forward(self, x):
            self.count.add_(1)
            return (x + self.count,)
    m, plain = Counts(), Counts()
    compiled = aot_module_simplified(m, [torch.zeros(2)], nop)
    for x, y in ((torch.ones(2), torch.ones(2)), (m.count, plain.count)):
        assert torch.equal(compiled(x)[0], plain(y)[0]) and torch.equal(m.count, plain.count)


def test_writes_within():
    def f(x, w):
        x = x * 2
        x.add_(1)
        x[0].mul_(3)
        return F.softmax(x @ w, -1), x
    for partition in PARTITIONS:
        fw, _ = same(f, leaves((3, 4), (4, 5)), partition_fn=partition)
        assert not any(str(n.target).split(".")[1].endswith("_") for n in fw[0].graph.nodes if n.op == "call_function" and "aten" in str(n.target))


def test_without_gradients():
    kept = Kept()
    f = aot_function(lambda x, w: (x @ w).relu(), kept)
    x, w = torch.randn(3, 4), torch.randn(4, 5)
    assert torch.equal(f(x, w), (x @ w).relu()) and not f(x, w).requires_grad
    assert kept.graphs[0].code == (
        "\n\n\ndef forward(self, arg0_1, arg1_1):\n    mm = torch.ops.aten.mm.default(arg0_1, arg1_1);  arg0_1 = arg1_1 = None\n"
        "    relu = torch.ops.aten.relu.default(mm);  mm = None\n    return (relu,)\n    ")
    with torch.no_grad():
        assert not f(x.requires_grad_(), w).requires_grad
    assert len(kept.graphs) == 2
    f(torch.randn(2, 4), w)
    assert len(kept.graphs) == 3


def test_the_cut_keeps_less():
    def f(x, w):
        return (x @ w).sin().cos().exp().tanh().sigmoid()
    sizes = []
    for partition in PARTITIONS:
        fw, bw = same(f, leaves((16, 16), (16, 16)), partition_fn=partition)
        sizes.append(len(fw[0].graph.output_node().args[0]))
        assert not any(n.target is torch.ops.aten.mm.default and n.args[0].name == "primals_1" for n in bw[0].graph.nodes
                       if n.op == "call_function")
    assert sizes[1] < sizes[0]


def test_modules():
    m = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.ReLU())
    other = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.ReLU())
    other.load_state_dict(m.state_dict())
    compiled = aot_module(m, fw_compiler=boxed_nop, partition_fn=min_cut_rematerialization_partition)
    for _ in range(3):
        x = torch.randn(6, 4)
        a, b = compiled(x), other(x)
        torch.testing.assert_close(a, b)
        a.square().sum().backward()
        b.square().sum().backward()
    for (k, p), q in zip(m.named_parameters(), other.parameters()):
        torch.testing.assert_close(p.grad, q.grad, msg=k)
    for (k, p), q in zip(m.named_buffers(), other.buffers()):
        torch.testing.assert_close(p, q, msg=k)


def test_simplified_modules():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.l = nn.Linear(4, 2)

        def forward(self, x):
            return (self.l(x).relu(),)
    m, x = M(), torch.randn(3, 4)
    kept = Kept()
    f = aot_module_simplified(m, [x], kept)
    torch.testing.assert_close(f(x)[0], m(x)[0])
    f(x)[0].sum().backward()
    assert m.l.weight.grad is not None and len(kept.graphs) == 2
    with pytest.raises(RuntimeError):
        aot_module_simplified(nn.Linear(4, 2), [x], kept)


def test_dropout_is_drawn_once():
    def f(x):
        return F.dropout(x, 0.5, True)
    x = torch.ones(1000, requires_grad=True)
    for partition in PARTITIONS:
        y = aot_function(f, nop, partition_fn=partition)(x)
        x.grad = None
        y.sum().backward()
        assert torch.equal(x.grad, y.detach()) and 300 < int((y == 0).sum()) < 700


def test_containers_and_numbers():
    f = aot_function(lambda d, k=2: {"r": d["a"] * k, "n": (d["b"].sin(), 3)}, nop)
    a, b = leaves((3,), (2,))
    out = f({"a": a, "b": b}, k=3)
    assert torch.equal(out["r"], a * 3) and out["n"][1] == 3
    (out["r"].sum() + out["n"][0].sum()).backward()
    assert torch.equal(a.grad, torch.full((3,), 3.0)) and torch.allclose(b.grad, b.cos())


def test_joint_graphs():
    gm = aot_export_joint_simple(lambda x: [x.sin()], [torch.randn(3, requires_grad=True)], trace_joint=True)
    assert [n.name for n in gm.graph.nodes if n.op == "placeholder"] == ["primals_1", "tangents_1"]
    x, t = torch.randn(3), torch.randn(3)
    y, g = gm(x, t)
    torch.testing.assert_close(g, t * x.cos())


def test_equal_nodes_become_one():
    def f(x):
        return x.sin() + x.sin() * torch.rand(3) + torch.rand(3)
    gm = make_fx(f)(torch.randn(3))
    graph = fx_graph_cse(gm.graph)
    names = [str(n.target) for n in graph.nodes if n.op == "call_function"]
    assert names.count("aten.sin.default") == 1 and names.count("aten.rand.default") == 2
    strip_overloads(gm)
    assert torch.ops.aten.sin in [n.target for n in gm.graph.nodes]


def test_inputs_given_back_are_the_inputs():
    def f(x, y):
        x.add_(1)
        return x, y, x * y, y.t()
    x, y = torch.zeros(2, 3).t(), torch.ones(3, 2)
    g = aot_function(f, nop)
    a, b, c, d = g(x, y)
    assert a is x and b is y and x.stride() == (1, 3) and torch.equal(c, torch.ones(3, 2))
    assert d.data_ptr() == y.data_ptr()
    a.add_(5)
    assert torch.equal(x, torch.full((3, 2), 6.0))
    e = aot_function(lambda x: x.detach(), nop)(x)
    assert e is not x and e.data_ptr() == x.data_ptr()
