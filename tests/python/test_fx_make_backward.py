"""make_fx through backward passes, constants and decompositions that are programs of cards."""
import torch
import torch.nn.functional as F
from torch import nn
from torch._decomp import core_aten_decompositions, decomposition_table, get_decompositions
from torch.fx.experimental.proxy_tensor import make_fx

aten = torch.ops.aten
torch.manual_seed(0)
X, Y = torch.randn(3, 4), torch.randn(4, 5)


def body(f, *args, **options):
    return make_fx(f, **options)(*args).code.strip().split("\n")[1:]


def lines(text):
    return ["    " + line.strip() for line in text.strip().split("\n")]


def test_constants():
    kept = torch.ones(4)
    assert body(lambda a: a + kept + kept, X) == lines("""
        _tensor_constant0 = self._tensor_constant0
        add = torch.ops.aten.add.Tensor(a_1, _tensor_constant0);  a_1 = _tensor_constant0 = None
        _tensor_constant0_1 = self._tensor_constant0
        add_1 = torch.ops.aten.add.Tensor(add, _tensor_constant0_1);  add = _tensor_constant0_1 = None
        return add_1""")
    assert body(lambda a: a + torch.tensor([1.0, 2, 3, 4]), X) == lines("""
        _tensor_constant0 = self._tensor_constant0
        lift_fresh_copy = torch.ops.aten.lift_fresh_copy.default(_tensor_constant0);  _tensor_constant0 = None
        add = torch.ops.aten.add.Tensor(a_1, lift_fresh_copy);  a_1 = lift_fresh_copy = None
        return add""")

    def twice(a):
        t = torch.tensor([1.0])
        t.add_(1)
        return a + t
    gm = make_fx(twice)(X)
    assert torch.equal(gm(X), X + 2) and torch.equal(gm(X), X + 2)


def test_backward():
    def f(a):
        a = a.detach().requires_grad_()
        return torch.autograd.grad((a * a).sin().sum(), a)
    gm = make_fx(f)(X)
    torch.testing.assert_close(gm(X)[0], 2 * X * torch.cos(X * X))
    targets = [str(n.target) for n in gm.graph.nodes if n.op == "call_function"]
    assert targets.count("aten.cos.default") == 1 and targets.count("aten.sin.default") == 1
    assert not any(n.op == "get_attr" for n in gm.graph.nodes)


def test_backward_through_saved_results():
    def f(a, w):
        return torch.autograd.grad(F.mse_loss(torch.tanh(a @ w), torch.zeros(3, 5)), [a, w])
    a, w = X.clone().requires_grad_(), Y.clone().requires_grad_()
    gm = make_fx(f)(a, w)
    assert not any(n.op == "get_attr" for n in gm.graph.nodes)
    with torch.no_grad():
        got = gm(a * 2, w)
    expected = torch.autograd.grad(F.mse_loss(torch.tanh((a * 2) @ w), torch.zeros(3, 5)), [a, w])
    torch.testing.assert_close(got[0] * 2, expected[0])
    torch.testing.assert_close(got[1], expected[1])


def test_a_training_step():
    model = nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 5))
    params = dict(model.named_parameters())

    def step(params, x, target):
        loss = F.cross_entropy(torch.func.functional_call(model, params, (x,)), target)
        grads = torch.autograd.grad(loss, list(params.values()))
        return loss, [p - 0.1 * g for p, g in zip(params.values(), grads)]
    target = torch.tensor([0, 1, 2])
    gm = make_fx(step)(params, X, target)
    other = {k: torch.randn_like(v).requires_grad_() for k, v in params.items()}
    loss, new = step(other, X + 1, target)
    with torch.no_grad():
        got_loss, got = gm(other, X + 1, target)
    torch.testing.assert_close(got_loss, loss.detach())
    for a, b in zip(got, new):
        torch.testing.assert_close(a, b.detach())


def core_of(f, *args):
    table = core_aten_decompositions()
    gm = make_fx(f, decomposition_table=table)(*args)
    assert not any(n.target in table for n in gm.graph.nodes if n.op == "call_function")
    return gm


def test_core_graphs_of_modules():
    encoder = nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True, activation="gelu")
    x = torch.randn(2, 5, 8)
    torch.testing.assert_close(core_of(encoder, x)(x * 2), encoder(x * 2), rtol=1e-5, atol=1e-5)
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.GroupNorm(2, 4), nn.SiLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(16, 4), nn.Softplus())
    x = torch.randn(2, 3, 8, 8)
    torch.testing.assert_close(core_of(net, x)(x * 2), net(x * 2), rtol=1e-5, atol=1e-5)


def test_core_graphs_of_backwards():
    def f(x, w):
        y = F.silu(F.layer_norm(x @ w, (6,)))
        return torch.autograd.grad(F.cross_entropy(y, torch.tensor([0, 1, 2, 3])), [x, w])
    x, w = torch.randn(4, 3, requires_grad=True), torch.randn(3, 6, requires_grad=True)
    gm = core_of(f, x, w)
    with torch.no_grad():
        got = gm(x, w)
    for a, b in zip(got, f(x, w)):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)


def test_backward_on_fake_tensors():
    def f(a):
        y = F.dropout((a * 2 / 3).pow(3), 0.5, True)
        return torch.autograd.grad(y.sum(), a)
    x = X.clone().requires_grad_()
    gm = make_fx(f, tracing_mode="fake")(x)
    torch.manual_seed(4)
    expected = f(x)[0]
    torch.manual_seed(4)
    with torch.no_grad():
        torch.testing.assert_close(gm(x)[0], expected)


def test_transforms_are_traced():
    assert body(torch.func.vmap(lambda a: a.sin().sum()), X) == lines("""
        sin = torch.ops.aten.sin.default(a_1);  a_1 = None
        sum_1 = torch.ops.aten.sum.dim_IntList(sin, [1]);  sin = None
        return sum_1""")
    for mode in ("real", "fake"):
        gm = make_fx(torch.func.vmap(torch.func.grad(lambda a: a.sin().sum())), tracing_mode=mode)(X)
        torch.testing.assert_close(gm(X + 1), torch.cos(X + 1))


def test_lowerings_stand_in_where_nothing_is_written_here():
    get_decompositions([])
    programs = [o for o, f in decomposition_table.items() if not isinstance(f, type(lambda: 0))]
    assert len(programs) > 20 and all(torch._C._op_info(o._full)["kind"] == "lowered" for o in programs)
    x, p = torch.randn(3, 4), torch.full((3, 4), 0.5)
    torch.manual_seed(1)
    expected = aten.bernoulli.default(p)
    torch.manual_seed(1)
    assert torch.equal(decomposition_table[aten.bernoulli.default](p), expected) and x.shape == (3, 4)
