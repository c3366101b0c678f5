"""make_fx: graphs of primitives. Texts are those of PyTorch 2.14.1 where the primitives are the same."""
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch._decomp import get_decompositions
from torch.fx.experimental.proxy_tensor import get_isolated_graphmodule, get_proxy_mode, make_fx

torch.manual_seed(0)
X, Y = torch.randn(3, 4), torch.randn(4, 5)


def body(f, *args, **options):
    return make_fx(f, **options)(*args).code.strip().split("\n")[1:]


def lines(text):
    return ["    " + line.strip() for line in text.strip().split("\n")]


def test_primitives():
    gm = make_fx(lambda a, b: (a @ b).relu().sum())(X, Y)
    assert gm.code == (
        "\n\n\ndef forward(self, a_1, b_1):\n    mm = torch.ops.aten.mm.default(a_1, b_1);  a_1 = b_1 = None\n"
        "    relu = torch.ops.aten.relu.default(mm);  mm = None\n    sum_1 = torch.ops.aten.sum.default(relu);  relu = None\n"
        "    return sum_1\n    ")
    assert torch.equal(gm(X, Y), (X @ Y).relu().sum()) and type(gm).__name__ == "<lambda>"
    mm = gm.graph.find_nodes(op="call_function", target=torch.ops.aten.mm.default)[0]
    assert mm.meta["val"].shape == (3, 5) and mm.meta["tensor_meta"].stride == (5, 1)
    assert repr(mm.meta["val"]) == "FakeTensor(..., size=(3, 5))"
    assert get_proxy_mode() is None


def test_composites_are_expanded():
    assert body(lambda a, w, b: F.linear(a, w, b), X, torch.randn(5, 4), torch.randn(5)) == lines("""
        t = torch.ops.aten.t.default(w_1);  w_1 = None
        addmm = torch.ops.aten.addmm.default(b_1, a_1, t);  b_1 = a_1 = t = None
        return addmm""")
    assert body(lambda a: F.softmax(a, -1) + F.gelu(a), X) == lines("""
        _softmax = torch.ops.aten._softmax.default(a_1, -1, False)
        gelu = torch.ops.aten.gelu.default(a_1);  a_1 = None
        add = torch.ops.aten.add.Tensor(_softmax, gelu);  _softmax = gelu = None
        return add""")


def test_several_results():
    assert body(lambda a, w, b: F.layer_norm(a, (4,), w, b), X, torch.ones(4), torch.ones(4)) == lines("""
        native_layer_norm = torch.ops.aten.native_layer_norm.default(a_1, [4], w_1, b_1, 1e-05);  a_1 = w_1 = b_1 = None
        getitem = native_layer_norm[0]
        getitem_1 = native_layer_norm[1];  getitem_1 = None
        getitem_2 = native_layer_norm[2];  native_layer_norm = getitem_2 = None
        return getitem""")
    assert body(lambda a: torch.split(a, 2, 1)[1], X) == lines("""
        split = torch.ops.aten.split.Tensor(a_1, 2, 1);  a_1 = None
        getitem = split[0];  getitem = None
        getitem_1 = split[1];  split = None
        return getitem_1""")


def test_writes():
    def f(a):
        b = a + 1
        b.add_(2)
        c = b.view(-1)
        c.mul_(3)
        return b, c.sum(), a.t()
    assert body(f, X) == lines("""
        add = torch.ops.aten.add.Tensor(a_1, 1)
        add_ = torch.ops.aten.add_.Tensor(add, 2);  add = None
        view = torch.ops.aten.view.default(add_, [-1])
        mul_ = torch.ops.aten.mul_.Tensor(view, 3);  view = None
        sum_1 = torch.ops.aten.sum.default(mul_);  mul_ = None
        t = torch.ops.aten.t.default(a_1);  a_1 = None
        return (add_, sum_1, t)""")
    gm = make_fx(f)(X)
    for a, b in zip(gm(X), f(X)):
        assert torch.equal(a, b)


def test_parameters_from_outside():
    layer = nn.Linear(4, 2)
    gm = make_fx(layer)(X)
    assert gm.code.strip().split("\n") == ["def forward(self, arg0_1):", *lines("""
        _param_constant0 = self._param_constant0
        t = torch.ops.aten.t.default(_param_constant0);  _param_constant0 = None
        _param_constant1 = self._param_constant1
        addmm = torch.ops.aten.addmm.default(_param_constant1, arg0_1, t);  _param_constant1 = arg0_1 = t = None
        return addmm""")]
    assert gm._param_constant0 is layer.weight and torch.equal(gm(X), layer(X))


def test_containers():
    gm = make_fx(lambda d, t: {"o": d["a"] + t[0], "n": None, "k": 3})({"a": X}, (X * 2, 2))
    assert gm.code.strip().split("\n") == [
        "def forward(self, d, t):", "    d_1, t_1, t_2, = fx_pytree.tree_flatten_spec([d, t], self._in_spec)",
        "    add = torch.ops.aten.add.Tensor(d_1, t_1);  d_1 = t_1 = None",
        "    return pytree.tree_unflatten([add, None, 3], self._out_spec)"]
    out = gm({"a": Y}, (Y, 2))
    assert torch.equal(out["o"], 2 * Y) and out["n"] is None and out["k"] == 3


def test_values_of_traced_tensors():
    assert body(lambda a: a + torch.tensor(2).item(), X)[-2:] == [
        "    add = torch.ops.aten.add.Tensor(a_1, 2);  a_1 = None", "    return add"]
    for f in (lambda a: a + a.sum().item(), lambda a: a if a.sum() > 0 else a + 1):
        with pytest.raises(RuntimeError):
            make_fx(f)(X)


def test_decompositions():
    table = get_decompositions([torch.ops.aten.silu, torch.ops.aten._softmax])
    assert body(lambda a: F.silu(a) + F.softmax(a, -1), X, decomposition_table=table) == lines("""
        sigmoid = torch.ops.aten.sigmoid.default(a_1)
        mul = torch.ops.aten.mul.Tensor(a_1, sigmoid);  sigmoid = None
        amax = torch.ops.aten.amax.default(a_1, [-1], True)
        sub = torch.ops.aten.sub.Tensor(a_1, amax);  a_1 = amax = None
        exp = torch.ops.aten.exp.default(sub);  sub = None
        sum_1 = torch.ops.aten.sum.dim_IntList(exp, [-1], True)
        div = torch.ops.aten.div.Tensor(exp, sum_1);  exp = sum_1 = None
        add = torch.ops.aten.add.Tensor(mul, div);  mul = div = None
        return add""")


def test_fake_tensors():
    ran = []

    def f(a, b):
        ran.append(type(a).__name__)
        return (a @ b).relu()
    assert body(f, X, Y, tracing_mode="fake") == lines("""
        mm = torch.ops.aten.mm.default(a_1, b_1);  a_1 = b_1 = None
        relu = torch.ops.aten.relu.default(mm);  mm = None
        return relu""")
    assert ran == ["FakeTensor"]
    with pytest.raises(AssertionError):
        make_fx(lambda a: a + Y.sum(), tracing_mode="fake")(X)


def test_traces_within_traces():
    def f(a):
        return make_fx(lambda b: b.cos())(a)(a)
    assert body(f, X) == lines("""
        cos = torch.ops.aten.cos.default(a_1);  a_1 = None
        return cos""")
    gm = get_isolated_graphmodule(lambda a, k: a * k, (X,), {"k": Y[:1, :4]})
    assert [n.op for n in gm.graph.nodes] == ["placeholder", "placeholder", "call_function", "output"]


def test_what_is_not_there():
    for options in ({"dynamic_shapes": {}}, {"pre_dispatch": True}):
        with pytest.raises(NotImplementedError):
            make_fx(lambda a: a + 1, **options)(X)
    with pytest.raises(AssertionError):
        make_fx(lambda a: a, tracing_mode="foo")


def test_convolutional_network():
    m = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, 10)).eval()
    x = torch.randn(2, 3, 8, 8)
    gm = make_fx(m)(x)
    assert torch.equal(gm(x * 2), m(x * 2))
    targets = [str(n.target) for n in gm.graph.nodes if n.op == "call_function"]
    assert "aten.convolution.default" in targets and "aten.addmm.default" in targets
