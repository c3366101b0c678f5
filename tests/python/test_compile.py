"""torch.compile: the bits of eager code, what a graph is given, guards, limits, modules and settings."""
import copy
import io
import logging
import pickle
import threading

import pytest
import torch
from torch import nn
import torch.nn.functional as F

from python.compiling import Counting, fresh  # noqa: F401
from torch._dynamo.utils import counters


# ---- bits --------------------------------------------------------------------------------------

def attention(q, k, v, causal=False):
    s = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5
    if causal:
        s = s.masked_fill(torch.ones(s.shape[-2:], dtype=torch.bool).triu(1), float("-inf"))
    return F.softmax(s, -1) @ v


def with_lists(x, y):
    parts = [f(x) for f in (torch.sin, torch.cos)]
    parts += [y] * 2
    total = sum(p * i for i, p in enumerate(parts))
    a, *rest = x.chunk(2, -1)
    return {"total": total, "parts": parts, "rest": (a, rest, None, 3)}


def with_no_grad(x):
    with torch.no_grad():
        scale = x.abs().amax(-1, keepdim=True)
    return x / (scale + 1)


def in_place_on_locals(x):
    y = x * 2
    y += 1
    y[..., 0] = 5
    y.clamp_(-2, 2)
    return y, y.view(-1)


def early_return(x, k=None, *rest, flag=True, **more):
    if k is None:
        return x.exp()
    for r in rest:
        x = x + r
    while k > 0:
        x, k = x * 0.5, k - 1
    return x if flag else -x + more.get("bias", 0)


def unpacking(x):
    (a, b), c = (x.sin(), x.cos()), x.shape
    values, indices = x.sort(-1)
    top = x.topk(2)
    return a + b * c[0], indices, top.values, values.dtype, top


def strings(x):
    names = {f"{k}_{v:.1f}": x * v for k, v in dict(a=0.5, b=2.0).items()}
    return names if "a_0.5" in names and not isinstance(x, list) else None


def iterates(x):
    return [row * i for i, row in enumerate(x)], len(x), x.dim()


PURE = {
    "gelu chain": (lambda x, y: F.gelu(x * y + 1.0).sigmoid() * torch.tanh(y), 2),
    "norm chain": (lambda x, w: torch.softmax(x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * w, -1), 2),
    "attention": (attention, 3),
    "causal attention": (lambda q, k, v: attention(q, k, v, causal=True), 3),
    "lists": (with_lists, 2),
    "no_grad": (with_no_grad, 1),
    "in place on locals": (in_place_on_locals, 1),
    "early return": (early_return, 1),
    "rest": (lambda x, y: early_return(x, 2, y, y, flag=False, bias=1), 2),
    "unpacking": (unpacking, 1),
    "strings": (strings, 1),
    "iterates": (iterates, 1),
    "views": (lambda x: (x.t(), x[1:], x.T.reshape(-1), x[None, :, ::2]), 1),
    "the same twice": (lambda x: (x, x + 1, x), 1),
    "argument given back": (lambda x: x, 1),
    "operators": (lambda x, y: (-x, abs(y), x.detach() // (y.detach().abs() + 1), x % 3, x ** 2, x > y, ~(x > y), x @ y.T, 2 - x, 1 / (x * x + 1)), 2),
    "dropout": (lambda x: F.dropout(x, 0.5) + torch.rand(x.shape) + torch.randn_like(x), 1),
    "half": (lambda x: (x.half() * 3 + 1).sum(-1), 1),
    "nested functions": (lambda x: (lambda f, y: f(f(y)))(lambda z: z * x, x), 1),
    "cumulative": (lambda x: x.cumsum(-1) / torch.arange(1, x.shape[-1] + 1), 1),
    "fused attention": (lambda x, y: F.scaled_dot_product_attention(x[None], y[None], y[None]), 2),
    "einsum": (lambda x, y: torch.einsum("ij,kj->ik", x, y), 2),
    "where": (lambda x, y: torch.where(x > 0, x, y * 0.1), 2),
    "comparison of sizes": (lambda x: x.sum(0) if x.shape[0] > x.size(1) else x.sum(1), 1),
    "mapping": (lambda x: tuple(map(torch.relu, [x, -x])) + tuple(zip([x], (x + 1,))), 1),
    "any and all": (lambda x: x * 2 if all(s > 0 for s in x.shape) and any(s == 8 for s in x.shape) else x, 1),
}


def leaves(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for v in value.values():
            yield from leaves(v)
    elif isinstance(value, (list, tuple)):
        for v in value:
            yield from leaves(v)


def same(a, b):
    if isinstance(a, torch.Tensor):
        return (torch.equal(a, b) or bool(((a == b) | ((a != a) & (b != b))).all())) and a.dtype == b.dtype and \
            a.stride() == b.stride() and a.requires_grad == b.requires_grad
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return a == b and type(a) is type(b)


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("name", PURE)
def test_bits_of_eager(name, grad, backend):
    f, n = PURE[name]
    compiled = torch.compile(f, backend=backend, fullgraph=True)
    for trial in range(3):
        torch.manual_seed(trial)
        inputs = [torch.randn(6, 8, requires_grad=grad) for _ in range(n)]
        again = [x.detach().clone().requires_grad_(grad) for x in inputs]
        torch.manual_seed(3)
        wanted = f(*inputs)
        after = torch.rand(1)
        torch.manual_seed(3)
        found = compiled(*again)
        assert same(wanted, found)
        assert torch.equal(after, torch.rand(1))   # the generator stands where it stood
        if grad:
            for out in (wanted, found):
                floats = [t for t in leaves(out) if t.requires_grad]
                sum(t.float().square().sum() for t in floats).backward()
            for x, y in zip(inputs, again):
                assert torch.equal(x.grad, y.grad)
    assert counters["frames"]["ok"] == 1


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_backward_in_parts(backend):
    """Unused results, gradients of some inputs, inputs that are no leaves, backward twice."""
    f = torch.compile(lambda x, y: (x.sqrt() * y, x * 2), backend=backend)
    x, y = torch.zeros(3, requires_grad=True), torch.ones(3, requires_grad=True)
    f(x, y)[1].sum().backward()
    assert x.grad.tolist() == [2, 2, 2] and y.grad is None
    g = torch.compile(lambda x, y: torch.tanh(x @ y).exp(), backend=backend)
    for ask_x, ask_y in ((True, True), (True, False), (False, True)):
        a = torch.randn(4, 4).requires_grad_(ask_x)
        b = torch.randn(4, 4).requires_grad_(ask_y)
        told = []
        for h in (lambda x, y: torch.tanh(x @ y).exp(), g):
            out = h(a * 2, b)
            out.sum().backward(retain_graph=True)
            (out * 3).sum().backward()
            told.append([None if t.grad is None else t.grad.clone() for t in (a, b)])
            a.grad = b.grad = None
        assert all(u is v is None or torch.equal(u, v) for u, v in zip(*told))


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d), nn.Dropout(0.1))
        self.heads = 2

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (p.view(b, t, self.heads, d // self.heads).transpose(1, 2) for p in self.qkv(self.norm1(x)).split(d, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, d))
        return x + self.mlp(self.norm2(x))


class Model(nn.Module):
    def __init__(self, d=8):
        super().__init__()
        self.token, self.place = nn.Embedding(11, d), nn.Embedding(16, d)
        self.blocks = nn.ModuleList(Block(d) for _ in range(2))
        self.norm, self.head = nn.LayerNorm(d), nn.Linear(d, 11, bias=False)
        self.head.weight = self.token.weight

    def forward(self, ids):
        x = self.token(ids) + self.place(torch.arange(ids.shape[1], device=ids.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class First(nn.Module):
    def forward(self, x):
        return x[0]


MODULES = {
    "mlp": (lambda: nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(inplace=True), nn.Dropout(0.3), nn.Linear(16, 4)),
            lambda: torch.randn(5, 8)),
    "convolutions": (lambda: nn.Sequential(nn.Conv2d(3, 6, 3, padding=1), nn.BatchNorm2d(6), nn.SiLU(), nn.MaxPool2d(2), nn.Flatten(),
                                           nn.Linear(6 * 16, 5)), lambda: torch.randn(2, 3, 8, 8)),
    "transformer": (Model, lambda: torch.randint(11, (2, 7))),
    "lstm": (lambda: nn.Sequential(nn.LSTM(4, 5, batch_first=True), First()), lambda: torch.randn(2, 3, 4)),
    "encoder layer": (lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), lambda: torch.randn(2, 3, 8)),
    "transposed convolution": (lambda: nn.Sequential(nn.ConvTranspose2d(3, 4, 3, stride=2), nn.InstanceNorm2d(4, affine=True),
                                                     nn.PReLU(), nn.Upsample(scale_factor=2)), lambda: torch.randn(2, 3, 4, 4)),
    "norms": (lambda: nn.Sequential(nn.GroupNorm(2, 8), nn.RMSNorm(8), nn.Softplus(), nn.Softmax(-1)), lambda: torch.randn(3, 8)),
}


@pytest.mark.parametrize("backend", ["eager", "inductor"])
@pytest.mark.parametrize("name", MODULES)
def test_training_of_modules(name, backend):
    make, data = MODULES[name]
    torch.manual_seed(0)
    plain = make()
    module = copy.deepcopy(plain)
    compiled = torch.compile(module, backend=backend, fullgraph=True)
    told = []
    for m in (plain, compiled):
        torch.manual_seed(1)
        optimizer, losses = torch.optim.SGD(m.parameters(), 0.1, momentum=0.9), []
        for step in range(6):
            m.train(step != 4)
            optimizer.zero_grad()
            loss = m(data()).square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        told.append((losses, [p.detach().clone() for p in m.parameters()], [b.clone() for b in m.buffers()]))
    assert same(*told)
    assert counters["frames"]["ok"] <= 2   # once for each training flag


# ---- graphs ------------------------------------------------------------------------------------

def test_graph_and_examples():
    backend, w = Counting(), torch.randn(3)

    @torch.compile(backend=backend)
    def f(x, scale=2):
        return torch.relu(x * scale) + w
    x = torch.randn(3)
    assert torch.equal(f(x), torch.relu(x * 2) + w)
    gm, = backend.graphs
    assert isinstance(gm, torch.fx.GraphModule)
    assert [n.op for n in gm.graph.nodes] == ["placeholder", "call_function", "call_function", "placeholder", "call_function", "output"] or \
        [n.op for n in gm.graph.nodes] == ["placeholder", "placeholder", "call_function", "call_function", "call_function", "output"]
    assert backend.inputs[0][0] is x and backend.inputs[0][1] is w
    assert torch.equal(gm(x, w)[0], f(x))
    f(x)
    assert len(backend.graphs) == 1


def test_unused_inputs_are_dropped():
    backend = Counting()
    f = torch.compile(lambda x, y: x + 1, backend=backend)
    f(torch.ones(2), torch.ones(3))
    assert len(backend.inputs[0]) == 1


def test_no_operators_no_graph():
    backend = Counting()
    f = torch.compile(lambda x, k: (x.shape, k + 1), backend=backend)
    assert f(torch.ones(2), 3) == (torch.Size([2]), 4) and not backend.graphs


def test_backends_by_name():
    assert "inductor" in torch._dynamo.list_backends() and "eager" not in torch._dynamo.list_backends()
    assert {"eager", "aot_eager"} <= set(torch._dynamo.list_backends(exclude_tags=()))
    assert set(torch.compiler.list_backends()) == set(torch._dynamo.list_backends())
    calls = []

    @torch._dynamo.register_backend(name="mine_of_the_test")
    def mine(gm, inputs):
        calls.append(len(inputs))
        return gm.forward
    assert torch._dynamo.lookup_backend("mine_of_the_test") is mine
    torch.compile(lambda x: x + 1, backend="mine_of_the_test")(torch.ones(1))
    assert calls == [1]
    with pytest.raises(torch._dynamo.exc.InvalidBackend, match="no_such"):
        torch.compile(lambda x: x + 1, backend="no_such")(torch.ones(1))


@pytest.mark.parametrize("name", ["eager", "aot_eager", "inductor"])
@pytest.mark.parametrize("grad", [False, True])
def test_backend_that_hands_its_graph_on(name, grad):
    """A back end of a user's changes the graph and leaves the rest to one of ours."""
    def changed(gm, inputs):
        for n in gm.graph.nodes:
            if n.target is torch.sin:
                n.target = torch.cos
        gm.recompile()
        return torch._dynamo.lookup_backend(name)(gm, inputs)

    def f(x, y, op=torch.sin):
        a = op(x) * y
        return F.scaled_dot_product_attention(a, a, a) + torch.rand(5) * 0, a.relu()
    x, y = torch.randn(2, 1, 4, 5, requires_grad=grad), torch.randn(5)
    got, want = torch.compile(f, backend=changed)(x, y), f(x, y, torch.cos)
    assert all(torch.equal(a, b) for a, b in zip(got, want))
    if grad:
        assert torch.equal(*(torch.autograd.grad(sum(r.sum() for r in rs), x)[0] for rs in (got, want)))


def test_backends_on_graphs_from_elsewhere():
    gm = torch.fx.symbolic_trace(nn.Sequential(nn.Linear(3, 4), nn.Tanh()))
    x = torch.randn(2, 3)
    for name in ("eager", "aot_eager", "inductor"):
        for leaf in (x, x.clone().requires_grad_()):
            assert torch.equal(torch._dynamo.lookup_backend(name)(gm, [leaf])(leaf), gm(leaf))
        with torch.no_grad():
            assert torch.equal(torch._dynamo.lookup_backend(name)(gm, [x])(x), gm(x))


@pytest.mark.parametrize("f, expected", [(lambda x: x * x.sum().item(), [3.0, 3.0, 3.0]), (lambda x: x * x.tolist()[0], [1.0, 1.0, 1.0]),
                                         (lambda x: x + float(x[0]), [2.0, 2.0, 2.0])], ids=["item", "tolist", "float"])
def test_code_that_asks_for_values_runs_as_it_is_without_a_warning(f, expected, caplog):
    with caplog.at_level("WARNING", logger="torch._inductor"):
        assert torch._inductor.compile(f, [torch.ones(3)])(torch.ones(3)).tolist() == expected
    assert not caplog.records


def test_numbers_within_tuples_are_part_of_a_graph():
    compiled = torch._inductor.compile(lambda x, p: x * p[0], [torch.tensor([1, 2]), (2,)])
    for p in ((2,), (2.0,), (True,), (2,), (2j,)):
        got, want = compiled(torch.tensor([1, 2]), p), torch.tensor([1, 2]) * p[0]
        assert got.dtype is want.dtype and torch.equal(got, want)
    compiled = torch._inductor.compile(lambda x, p: x / p[0][0], [torch.ones(2), ((0.0,),)])
    assert [compiled(torch.ones(2), ((z,),))[0].item() for z in (0.0, -0.0)] == [float("inf"), float("-inf")]


def test_backend_that_fails():
    def bad(gm, inputs):
        raise ValueError("no")
    f = torch.compile(lambda x: x + 1, backend=bad)
    with pytest.raises(torch._dynamo.exc.BackendCompilerFailed, match="ValueError: no"):
        f(torch.ones(1))
    with torch._dynamo.config.patch(suppress_errors=True):
        assert torch.equal(f(torch.ones(1)), torch.full((1,), 2.))


def test_backend_whose_result_differs_is_what_runs():
    f = torch.compile(lambda x: x + 1, backend=lambda gm, inputs: lambda x: (x + 100,))
    assert torch.equal(f(torch.zeros(2)), torch.full((2,), 100.))


# ---- guards ------------------------------------------------------------------------------------

@pytest.mark.parametrize("change", [
    lambda: torch.ones(4), lambda: torch.ones(2, 3), lambda: torch.ones(3, dtype=torch.float64), lambda: torch.ones(6)[::2],
    lambda: torch.ones(3, requires_grad=True), lambda: torch.ones(3, device="meta"), lambda: nn.Parameter(torch.ones(3)), lambda: 2, lambda: 2.0,
    lambda: True])
def test_arguments_are_guarded(change):
    backend = Counting()
    f = torch.compile(lambda x: x * 2, backend=backend, dynamic=False)
    first = torch.ones(3)
    f(first)
    f(torch.zeros(3))
    assert len(backend.graphs) == 1
    other = change()
    wanted, found = other * 2, f(other)
    assert type(wanted) is type(found)
    if isinstance(other, torch.Tensor):
        assert (found.dtype, found.shape, found.device, found.requires_grad) == (wanted.dtype, wanted.shape, wanted.device, wanted.requires_grad)
        assert len(backend.graphs) == 2
    else:
        assert found == wanted
    f(first)
    assert len(backend.graphs) == 1 + isinstance(other, torch.Tensor)


def test_identity_of_arguments():
    def f(x, y):
        return x + (10 if x is y else 0)
    g = torch.compile(f, backend="eager", fullgraph=True)
    a, b = torch.ones(2), torch.ones(2)
    for args in [(a, b), (a, a), (b, a), (b, b)]:
        assert torch.equal(f(*args), g(*args))


def test_what_is_given_back_is_the_object_itself():
    first, second = torch.ones(2), [torch.ones(2)]
    f = torch.compile(lambda x, c, d: (x.add_(1), x, c, d, c[0]), backend="eager", fullgraph=True)
    for c, d in ((second, second), (second, [second[0]]), ([second[0]], second)):
        a, b, e, g, h = f(first, c, d)
        assert a is first and b is first and e is c and g is d and h is c[0]


def test_overlapping_arguments():
    def f(x, y):
        x.add_(1)
        y.mul_(2)
        return x + y
    g = torch.compile(f)
    for cut in (lambda b: (b[:3], b[3:]), lambda b: (b[:3], b[1:4]), lambda b: (b[:3], b[:3]), lambda b: (b[1:4], b[:3])):
        a, b = torch.arange(6.), torch.arange(6.)
        assert torch.equal(f(*cut(a)), g(*cut(b))) and torch.equal(a, b)


def test_containers_are_guarded_by_content():
    backend = Counting()
    f = torch.compile(lambda c: c["x"] * c["k"][0], backend=backend)
    x = torch.ones(2)
    for k, graphs in ((2, 1), (2, 1), (3, 2), (2, 2)):
        assert torch.equal(f({"x": x, "k": [k]}), x * k) and len(backend.graphs) == graphs


def test_most_recent_first_and_limit(caplog):
    backend = Counting()
    f = torch.compile(lambda x, k: x * k, backend=backend)
    x = torch.ones(2)
    with caplog.at_level(logging.WARNING, "torch._dynamo"):
        for k in range(20):
            assert torch.equal(f(x, k), x * k)
    assert len(backend.graphs) == torch._dynamo.config.recompile_limit == 8
    assert sum("recompile_limit" in r.getMessage() for r in caplog.records) == 1
    f(x, 3)
    assert f._compiled.entries[0]((x, 3), {}).tolist() == [3, 3]
    torch._dynamo.reset()
    f(x, 15)
    assert len(backend.graphs) == 9
    with torch._dynamo.config.patch(error_on_recompile=True), pytest.raises(torch._dynamo.exc.RecompileError):
        f(x, 16)
    g = torch.compile(lambda x, k: x * k, backend="eager", fullgraph=True, recompile_limit=2)
    with pytest.raises(torch._dynamo.exc.FailOnRecompileLimitHit):
        for k in range(5):
            g(x, k)


def test_sizes_that_vary_share_a_graph():
    backend = Counting()
    f = torch.compile(lambda x: F.softmax(x * 2, -1), backend=backend)
    for n in range(2, 12):
        x = torch.randn(n, n + 1)
        assert torch.equal(f(x), F.softmax(x * 2, -1))
    assert len(backend.graphs) == 2
    backend.graphs.clear()
    g = torch.compile(lambda x: x * 2, backend=backend, dynamic=True)
    for n in range(2, 12):
        g(torch.randn(n))
    assert len(backend.graphs) == 1
    h = torch.compile(lambda x: x * x.shape[0], backend=backend, dynamic=True)   # a size is read: one graph for each
    for n in range(2, 5):
        assert torch.equal(h(torch.ones(n)), torch.full((n,), float(n)))
    torch._dynamo.mark_dynamic(torch.ones(3), 0)
    with pytest.raises(IndexError, match="dimension 4"):
        torch._dynamo.mark_dynamic(torch.ones(3), 4)


def test_inference_mode_and_no_grad():
    w = torch.ones(3, requires_grad=True)
    f = torch.compile(lambda x: x * w)
    for context in (torch.no_grad, torch.enable_grad, torch.inference_mode, torch.no_grad):
        with context():
            found, wanted = f(torch.ones(3)), torch.ones(3) * w
            assert found.requires_grad == wanted.requires_grad and found.is_inference() == wanted.is_inference()


# ---- what is not compiled -----------------------------------------------------------------------

def test_notice_once(caplog):
    def f(x):
        print(end="")
        return x + 1
    g = torch.compile(f, backend="eager")
    with caplog.at_level(logging.WARNING, "torch._dynamo"):
        for n in (1, 2, 3, 1):
            g(torch.ones(n))
    found = [r.getMessage() for r in caplog.records]
    assert len(found) == 1 and "print" in found[0] and "test_compile.py" in found[0] and 'print(end="")' in found[0]


def branch(x):
    if x.sum() > 0:
        return x
    return -x


def test_fullgraph_names_the_line():
    g = torch.compile(branch, fullgraph=True)
    with pytest.raises(torch._dynamo.exc.Unsupported, match="data of a tensor") as e:
        g(torch.ones(2))
    assert "if x.sum() > 0" in str(e.value) and __file__ in str(e.value)
    assert e.value.where[1] == branch.__code__.co_firstlineno + 1
    assert torch.equal(torch.compile(branch)(-torch.ones(2)), torch.ones(2))


def test_errors_are_those_of_eager():
    f = torch.compile(lambda x, y: x @ y, fullgraph=True)
    with pytest.raises(RuntimeError):
        f(torch.ones(2, 3), torch.ones(2, 3))
    f(torch.ones(2, 3), torch.ones(3, 2))
    e = torch.compile(lambda i, w: F.embedding(i, w))
    w = torch.randn(4, 2)
    e(torch.tensor([1]), w)
    with pytest.raises(IndexError):
        e(torch.tensor([7]), w)
    with pytest.raises(TypeError):
        f(torch.ones(2))

    def g(x):
        raise KeyError("mine")
    with pytest.raises(KeyError, match="mine"):
        torch.compile(g)(torch.ones(1))


def test_explain():
    def f(x):
        y = x.sin()
        print(end="")
        return y
    said = torch._dynamo.explain(f)(torch.ones(2))
    assert said.graph_count == 1 and said.graph_break_count == 1
    assert "print" in said.break_reasons[0].reason and "print" in str(said) and said.break_reasons[0].where[0] == __file__
    said = torch._dynamo.explain(lambda x: x.sin() + 1)(torch.ones(2))
    assert (said.graph_count, said.op_count, said.graph_break_count) == (1, 1, 0)   # methods are not counted, as in PyTorch
    assert said.out_guards and "Graph Count: 1" in str(said)


def test_counters():
    torch.compile(lambda x: x.sin() + 1, backend="eager")(torch.ones(2))
    assert counters["stats"] == {"calls_captured": 2, "unique_graphs": 1} and counters["frames"]["ok"] == 1
    torch.compile(branch)(torch.ones(2))
    assert sum(counters["graph_break"].values()) == 1


def test_disable():
    backend = Counting()

    @torch.compiler.disable
    def inner(x):
        return torch.compiler.is_compiling()

    def f(x):
        return x + inner(x)
    g = torch.compile(f, backend=backend)
    assert torch.equal(g(torch.ones(2)), torch.ones(2)) and len(backend.graphs) == 1
    backend.graphs.clear()
    with pytest.raises(torch._dynamo.exc.Unsupported, match="disable"):
        torch.compile(f, backend=backend, fullgraph=True)(torch.ones(2))
    assert torch.compile(f, disable=True) is f
    assert torch.compile(disable=True)(f) is f
    m = torch.compiler.disable(nn.Linear(2, 2))
    torch.compile(m, backend=backend)(torch.ones(2))
    with torch._dynamo.config.patch(disable=True):
        torch.compile(lambda x: x + 1, backend=backend)(torch.ones(2))
    with torch.compiler.set_stance("force_eager"):
        torch.compile(lambda x: x + 1, backend=backend)(torch.ones(2))
    assert not backend.graphs


def test_is_compiling():
    def f(x):
        return x + 1 if torch.compiler.is_compiling() else x
    assert torch.equal(torch.compile(f, backend="eager")(torch.zeros(2)), torch.ones(2))
    assert torch.equal(f(torch.zeros(2)), torch.zeros(2)) and not torch.compiler.is_compiling()


def test_allow_in_graph():
    backend = Counting()

    def opaque(x):
        total = 0
        for v in x.tolist():
            total += v
        return x * total
    torch._dynamo.allow_in_graph(opaque)
    g = torch.compile(lambda x: opaque(x) + 1, backend=backend, fullgraph=True)
    for x in (torch.ones(3), torch.arange(3.)):
        assert torch.equal(g(x), opaque(x) + 1)
    assert [n.target for n in backend.graphs[0].graph.nodes if n.op == "call_function"][0] is opaque


@pytest.mark.parametrize("grad", [False, True])
def test_attention_within_what_users_made_operators(grad):
    @torch._dynamo.allow_in_graph
    def opaque(q):
        return F.scaled_dot_product_attention(q, q, q)
    x = torch.randn(2, 4, 16, 8)
    results = []
    for f in (lambda q: opaque(q) + 1, torch.compile(lambda q: opaque(q) + 1)):
        q = x.clone().requires_grad_(grad)
        y = f(q)
        if grad:
            y.square().sum().backward()
        results.append([y.detach(), q.grad])
    (a, g), (b, h) = results
    assert torch.equal(a, b) and (not grad or torch.equal(g, h))


# ---- forms -------------------------------------------------------------------------------------

def test_decorators_and_names():
    @torch.compile
    def f(x):
        "Says."
        return x + 1

    @torch.compile(backend="eager", mode="reduce-overhead")
    def g(x):
        return f(x) * 2

    class C:
        k = 3

        @torch.compile(fullgraph=True)
        def method(self, x):
            return x * self.k
    assert f.__name__ == "f" and f.__doc__ == "Says." and f.__wrapped__(torch.ones(1)) == 2
    assert g(torch.ones(1)) == 4 and C().method(torch.ones(1)) == 3
    c = C()
    bound = torch.compile(c.method)
    c.k = 5
    assert bound(torch.ones(1)) == 5
    assert torch.compile(torch.sin)(torch.zeros(1)) == 0
    with pytest.raises(RuntimeError, match="mode"):
        torch.compile(lambda x: x, mode="fastest")
    with pytest.raises(RuntimeError, match="not both"):
        torch.compile(lambda x: x, mode="default", options={})
    with pytest.raises(AssertionError, match="got a int"):
        torch.compile(3)


def test_optimized_module():
    m = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    o = torch.compile(m, backend="eager")
    assert isinstance(o, torch._dynamo.OptimizedModule) and isinstance(o, nn.Module)
    assert list(o.state_dict()) == ["_orig_mod.0.weight", "_orig_mod.0.bias"] and o._orig_mod is m
    assert o[0] is m[0] and len(o) == 2 and "OptimizedModule" in repr(o)
    assert [n for n, _ in o.named_parameters()] == ["_orig_mod.0.weight", "_orig_mod.0.bias"]
    x = torch.randn(3, 2)
    assert torch.equal(o(x), m(x))
    o.extra = 5
    assert m.extra == 5 and o.extra == 5
    o.eval()
    assert not m.training and not o.training and not m[1].training
    o.train()
    assert m.training
    o.load_state_dict(o.state_dict())
    with pytest.raises(AttributeError):
        o.nothing
    again = pickle.loads(pickle.dumps(o))
    assert torch.equal(again(x), o(x)) and isinstance(again, torch._dynamo.OptimizedModule)
    buffer = io.BytesIO()
    torch.save(o.state_dict(), buffer)
    assert torch.equal(copy.deepcopy(o)(x), o(x))
    h = m.register_forward_hook(lambda m, a, r: r + 1)
    assert torch.equal(o(x), m(x))
    h.remove()
    assert torch.equal(o(x), m(x))
    assert torch.compile(o)._orig_mod is m


def test_module_compile_in_place():
    m = nn.Linear(2, 2)
    want = m(torch.ones(2))
    backend = Counting()
    m.compile(backend=backend)
    assert torch.equal(m(torch.ones(2)), want) and torch.equal(m(torch.ones(2)), want)
    assert len(backend.graphs) == 1 and list(m.state_dict()) == ["weight", "bias"]
    assert torch.equal(pickle.loads(pickle.dumps(m))(torch.ones(2)), want)


def test_compiled_within_compiled():
    backend = Counting()
    inner = torch.compile(lambda x: x * 2)
    block = torch.compile(nn.Linear(3, 3))

    @torch.compile(backend=backend, fullgraph=True)
    def f(x):
        return block(inner(x)) + 1
    x = torch.randn(2, 3)
    assert torch.equal(f(x), block._orig_mod(x * 2) + 1) and len(backend.graphs) == 1


def test_threads():
    f = torch.compile(lambda x, k: x * k + 1)
    wrong = []

    def work(k):
        for _ in range(50):
            if not torch.equal(f(torch.ones(4), k), torch.ones(4) * k + 1):
                wrong.append(k)
    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_config():
    config = torch._dynamo.config
    assert config.cache_size_limit == config.recompile_limit == 8
    config.cache_size_limit = 4
    assert config.recompile_limit == 4
    config.recompile_limit = 8
    with pytest.raises(AttributeError, match="nonsense"):
        config.nonsense = 1
    with config.patch("recompile_limit", 3):
        assert config.recompile_limit == 3
    assert config.recompile_limit == 8


def test_nothing_happens_while_a_function_is_followed():
    """Following runs operators on copies: arguments, buffers and the generator are touched once."""
    m = nn.BatchNorm1d(3)
    other = copy.deepcopy(m)
    x = torch.randn(4, 3)
    torch.compile(m)(x)
    other(x)
    assert torch.equal(m.running_mean, other.running_mean) and int(m.num_batches_tracked) == 1

    def f(x):
        x.add_(1)
        return x.tolist()   # given up after the write was followed
    a = torch.zeros(2)
    assert torch.compile(f)(a) == [1, 1] and a.tolist() == [1, 1]


def test_the_number_of_pieces_hangs_on_sizes():
    f = torch.compile(lambda x: torch.stack([piece.sum() for piece in x.split(2)]))
    for n in (4, 6, 8, 4):
        assert f(torch.ones(n)).tolist() == [2.0] * (n // 2)


def test_dimensions_of_a_result_hang_on_sizes():
    f = torch.compile(lambda x: x.sum() if x.squeeze().ndim == 1 else x.sum() * 2)
    assert [f(torch.ones(1, n)).item() for n in (3, 4, 1, 5)] == [3.0, 4.0, 2.0, 5.0]


def test_a_derivative_to_be_differentiated_again_is_refused():
    w = torch.randn(3, requires_grad=True)
    f = torch.compile(lambda a: (a.sin() * a).sum())
    with pytest.raises(RuntimeError, match="second derivative"):
        torch.autograd.grad(f(w), w, create_graph=True)


def test_stances_hold_where_a_graph_is_there():
    seen = []
    f = torch.compile(lambda x: x + 1, backend=lambda gm, inputs: lambda *a: seen.append(1) or gm(*a))
    f(torch.ones(2))
    before = len(seen)
    with torch.compiler.set_stance("force_eager"):
        assert f(torch.ones(2)).tolist() == [2.0, 2.0]
    with torch.compiler.set_stance("eager_on_recompile"):
        assert f(torch.ones(2, dtype=torch.float64)).tolist() == [2.0, 2.0]
    assert len(seen) == before


def test_range_errors_stay():
    f = torch.compile(lambda x, t: torch.nn.functional.binary_cross_entropy(x, t))
    f(torch.tensor([0.5]), torch.tensor([1.0]))
    with pytest.raises(RuntimeError, match="between 0 and 1"):
        f(torch.tensor([1.5]), torch.tensor([1.0]))


def test_modes_and_options():
    told = []

    def backend(gm, inputs, **settings):
        told.append(settings)
        return gm.forward
    for given in ({}, {"mode": "default"}, {"mode": "max-autotune"}, {"options": {"a": 1}}, {"mode": "mine"}):
        torch.compile(lambda x: x + 1, backend=backend, **given)(torch.ones(1))
    assert told == [{}, {}, {"mode": "max-autotune"}, {"options": {"a": 1}}, {"mode": "mine"}]
    assert torch.compile(lambda x: x + 1, options={"epilogue_fusion": True, "max_autotune": False})(torch.ones(1)) == 2
    for options, said in (({"nothing": 1}, "nothing"), ({"max_autotune": 3}, "bool")):
        with pytest.raises(RuntimeError, match=said):
            torch.compile(lambda x: x, options=options)
    assert "max_autotune" in torch._inductor.list_options()
    with pytest.raises(torch._dynamo.exc.InvalidBackend, match="nowhere"):
        torch.compile(lambda x: x, backend="nowhere")
    with pytest.raises(torch._dynamo.exc.BackendCompilerFailed, match="int"):
        torch.compile(lambda x: x + 1, backend=lambda gm, inputs: 3)(torch.ones(1))


def test_marked_sizes():
    backend = Counting()
    f = torch.compile(lambda x, w: x @ w, backend=backend)
    x, w = torch.ones(4, 3), torch.ones(3, 2)
    torch._dynamo.mark_dynamic(x, 0)
    f(x, w)
    for n in (5, 1, 4):
        assert f(torch.ones(n, 3), w).shape == (n, 2)
    assert len(backend.graphs) == 1
    with pytest.raises(RuntimeError):
        f(torch.ones(4, 5), w)
    torch._dynamo.reset()
    backend.graphs.clear()
    y = torch.ones(4)
    torch._dynamo.mark_static(y)
    g = torch.compile(lambda x: x * 2, backend=backend, dynamic=True)
    g(y)
    g(torch.ones(5))
    assert len(backend.graphs) == 2


def test_settings_have_their_effect(caplog):
    config = torch._dynamo.config
    for settings, graphs in (({}, 2), ({"dynamic_shapes": False}, 4), ({"automatic_dynamic_shapes": False}, 4), ({"assume_static_by_default": False}, 1)):
        torch._dynamo.reset()
        backend = Counting()
        with config.patch(**settings):
            f = torch.compile(lambda x: x * 2, backend=backend)
            for n in range(2, 6):
                f(torch.ones(n))
        assert len(backend.graphs) == graphs
    torch._dynamo.reset()
    backend = Counting()

    def make(k):
        return torch.compile(lambda x: x * k, backend=backend)
    with config.patch(accumulated_recompile_limit=3), caplog.at_level(logging.WARNING, "torch._dynamo"):
        for k in range(6):
            assert make(k)(torch.ones(1)) == k
    assert len(backend.graphs) == 3 and any("accumulated_recompile_limit" in r.getMessage() for r in caplog.records)
    for name in ("nonsense", "_nonsense"):
        with pytest.raises(AttributeError, match=name):
            getattr(config, name)
        with pytest.raises(AttributeError, match=name):
            setattr(config, name, True)


def test_eager_then_compile():
    backend = Counting()
    f = torch.compile(lambda x: x + 1, backend=backend)
    with torch.compiler.set_stance("eager_then_compile"):
        told = [len(backend.graphs) for _ in range(3) if f(torch.ones(2)).sum() == 4]
    assert told == [0, 1, 1]


def test_values_are_not_computed_to_follow():
    """Shapes and types are all that Python sees, so a call is computed once. What asks for more is followed on copies."""
    w = torch.ones(4, 4)

    def f(x):
        h = x.to(x.device) @ w
        mask = torch.ones(h.shape, device=h.device, dtype=h.dtype).tril()
        return h * mask + torch.zeros(4), h.is_cpu, h.device, h.get_device(), h.is_meta, torch.tensor([1, 2]) * 2
    g = torch.compile(f, backend="eager", fullgraph=True)
    assert str(g(w)) == str(f(w)) and g._compiled.entries[0].program is not None
    h = torch.compile(lambda x: torch.nn.functional.embedding(x, w), fullgraph=True)
    with pytest.raises(IndexError):
        h(torch.tensor([9]))
    assert torch.equal(h(torch.tensor([3])), w[3:])
    meta = torch.compile(lambda x: (x * 2).device, backend="eager", fullgraph=True)
    assert meta(torch.ones(2, device="meta")).type == "meta" and meta(torch.ones(2)).type == "cpu"
    there = torch.compile(lambda x: torch.ones(2, device="meta").device, backend="eager", fullgraph=True)
    assert there(w).type == "meta"


def test_containers_within_containers_given_back():
    def f(x):
        inner = [x + 1]
        return [[inner], inner, {"a": inner}]
    a, b, c = torch.compile(f, backend="eager", fullgraph=True)(torch.ones(1))
    assert a[0] is b and c["a"] is b and a is not b


def test_constants_are_no_hindrance(caplog):
    """What is made of constants alone is made once, unless it is written or given back."""
    def masked(x):
        mask = torch.ones(4, 4, dtype=torch.bool).triu(1)
        return (x.masked_fill(mask, -1.) + torch.arange(4) + torch.zeros(4)).sin()

    def written(x):
        m = torch.ones(4, 4)
        m[0] = 5
        m.mul_(2)
        return (x * m).sin()

    def given(x):
        a, b = torch.ones(4), torch.zeros(4, 4)
        return x + a, a, b[1], b.t()
    with caplog.at_level(logging.INFO, "torch._inductor"):
        f = torch.compile(masked, fullgraph=True)
        for _ in range(3):
            x = torch.randn(4, 4)
            assert same(f(x), masked(x))
            y = x.clone().requires_grad_()
            z = x.clone().requires_grad_()
            f(y).sum().backward()
            masked(z).sum().backward()
            assert torch.equal(y.grad, z.grad)
    assert not [r for r in caplog.records if "as it is" in r.getMessage() or "no joint" in r.getMessage()]
    for g in (written, given):
        f = torch.compile(g, fullgraph=True)
        for _ in range(3):
            found = f(x)
            assert same(found, g(x))
            for t in leaves(found):
                t.add_(7)
