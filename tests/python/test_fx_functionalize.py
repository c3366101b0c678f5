"""Graphs without writes: torch.func.functionalize and the pass behind it."""
import pytest
import torch
from torch._functorch.functionalization import functional_form, functionalize_graph, written_arguments
from torch.func import functionalize
from torch.fx.experimental.proxy_tensor import make_fx

aten = torch.ops.aten


def views(a):
    b = a.view(-1)
    b.add_(1)
    a[0].mul_(2)
    c = a.t()
    c.fill_(3)
    a[1, 2:] = 7
    return a, b


def parts(a):
    b = torch.zeros(3, 4)
    b.add_(a)
    b[:, 1:3].copy_(a[:, :2])
    b.diagonal().mul_(2)
    b[1] = 5
    torch.add(a, 1, out=b)
    b.split(2, 1)[0].zero_()
    b.unbind(0)[2].sub_(1)
    b.unsqueeze(0).squeeze().transpose(0, 1).relu_()
    return b.expand(2, 3, 4).sum(), b


def chains(a):
    b = a.clone()
    c = b.permute(1, 0)[1:, ::2]
    c[0].add_(10)
    d = c.unsqueeze(-1).squeeze(-1)
    d.mul_(3)
    b.clamp_(0, 5)
    return b, c, d.sum()


def geometry(a):
    b = a.clone()
    c = b.t_()
    c.unsqueeze_(0)
    c.add_(1)
    return b, c


def strided(a):
    b = a.clone()
    torch.as_strided(b, (2, 2), (4, 1), 1).mul_(3)
    b.as_strided((3,), (5,)).zero_()
    return b


def indices(a):
    c = torch.ones(4)
    c.index_put_((torch.tensor([0]),), torch.full((1,), 2.0))
    c.masked_fill_(c > 1.5, 9.0)
    c.index_add_(0, torch.tensor([1]), torch.ones(1))
    c.scatter_(0, torch.tensor([2]), 4.0)
    a[a > 0] = 0
    return c, a


def types(a):
    i = torch.zeros(3, 4, dtype=torch.int64)
    i.add_(2)
    h = a.to(torch.float16)
    h.add_(a)
    h.copy_(a[0])
    return i, h


FUNCTIONS = [views, parts, chains, geometry, strided, indices, types]


def targets(gm):
    return [n.target for n in gm.graph.nodes if n.op == "call_function" and isinstance(n.target, torch._ops.OpOverload)]


@pytest.mark.parametrize("remove", ["mutations", "mutations_and_views"])
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_same_values_without_writes(f, remove):
    torch.manual_seed(1)
    x = torch.randn(3, 4)
    kept, plain, traced = x.clone(), x.clone(), x.clone()
    expected = f(plain)
    got = functionalize(f, remove=remove)(kept)
    flat = lambda r: r if isinstance(r, (tuple, list)) else (r,)  # noqa: E731
    for a, b in zip(flat(expected), flat(got)):
        assert torch.equal(a, b)
    assert torch.equal(kept, plain)
    gm = make_fx(functionalize(f, remove=remove))(traced)
    writes = [n for n in gm.graph.nodes if n.op == "call_function" and isinstance(n.target, torch._ops.OpOverload)
              and written_arguments(n.target)]
    assert all(n.target is aten.copy_.default and n.args[0].op == "placeholder" for n in writes)
    if remove == "mutations_and_views":
        names = {t._overloadpacket.__name__ for t in targets(gm)}
        assert not names & {"view", "select", "slice", "t", "transpose", "permute", "split", "diagonal", "expand", "unbind"}
    other = torch.randn(3, 4)
    again = other.clone()
    for a, b in zip(flat(f(other)), flat(gm(again))):
        assert torch.equal(a, b)
    assert torch.equal(again, other)


def test_text():
    def f(a):
        a.add_(1)
        a[0].mul_(2)
        return a
    gm = make_fx(functionalize(f))(torch.ones(3, 4))
    assert gm.code.strip().split("\n")[1:] == [
        "    add = torch.ops.aten.add.Tensor(a_1, 1)",
        "    select = torch.ops.aten.select.int(add, 0, 0)",
        "    mul = torch.ops.aten.mul.Tensor(select, 2);  select = None",
        "    select_scatter = torch.ops.aten.select_scatter.default(add, mul, 0, 0);  add = mul = None",
        "    copy_ = torch.ops.aten.copy_.default(a_1, select_scatter);  a_1 = copy_ = None",
        "    return select_scatter"]


def test_random_fills():
    def f(a):
        b = torch.empty(100)
        b[10:].uniform_(2, 3)
        b[:10].normal_()
        return b + a
    gm = make_fx(functionalize(f))(torch.zeros(100))
    torch.manual_seed(5)
    got = gm(torch.zeros(100))
    torch.manual_seed(5)
    expected = f(torch.zeros(100))
    assert torch.equal(got, expected)


def test_constants_are_not_written():
    def f(a):
        t = torch.tensor([1.0, 2.0])
        t.add_(1)
        return a + t
    x = torch.ones(2)
    gm = make_fx(functionalize(f))(x)
    assert gm(x).tolist() == gm(x).tolist() == [3.0, 4.0]


def test_batch_normalisation_in_training():
    bn = torch.nn.BatchNorm1d(4)
    other = torch.nn.BatchNorm1d(4)

    def f(x, mean, var):
        return torch.nn.functional.batch_norm(x, mean, var, bn.weight, bn.bias, True, 0.1)
    x = torch.randn(5, 4)
    gm = functionalize_graph(make_fx(f)(x, torch.zeros(4), torch.ones(4)))
    mean, var = torch.zeros(4), torch.ones(4)
    assert torch.equal(gm(x, mean, var), other(x))
    assert torch.equal(mean, other.running_mean) and torch.equal(var, other.running_var)


def test_backward_through_writes():
    def f(a):
        b = a * 2
        b[0].mul_(3)
        return torch.autograd.grad(b.sum(), a)[0]
    x = torch.randn(3, 4, requires_grad=True)
    assert torch.equal(functionalize(f)(x), f(x))


def test_functional_forms():
    assert functional_form(aten.add_.Tensor) is aten.add.Tensor and functional_form(aten.add.out) is aten.add.Tensor
    assert functional_form(aten.mul_.Tensor) is aten.mul.Tensor and functional_form(aten.relu_.default) is aten.relu.default
    assert written_arguments(aten.add_.Tensor) == ["self"] and written_arguments(aten.add.Tensor) == []
    with pytest.raises(RuntimeError):
        functionalize(lambda a: a, remove="views")


def test_what_has_no_functional_form():
    def grow(a):
        b = a.clone()
        b.resize_(100)
        return b
    with pytest.raises(NotImplementedError):
        functionalize(grow)(torch.ones(3))
    with pytest.raises(RuntimeError):
        functionalize(lambda a: a[:1].expand(3, 4).add_(1))(torch.ones(3, 4))


def test_overloads_of_writes_named_otherwise():
    x, y = torch.rand(3), torch.rand(3)
    for f in (lambda x, y: x.clone().pow_(y), lambda x, y: x.clone().pow_(2), lambda x, y: torch.pow(x, y, out=torch.empty(3)),
              lambda x, y: torch.ops.aten._index_put_impl_(x.clone(), [torch.tensor([1, 1])], y[:2], True)):
        assert torch.equal(torch.func.functionalize(f)(x, y), f(x, y))
