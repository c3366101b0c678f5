"""Scans, norms and their gradients as machine code, with eager's bits; what is no kernel is a call within the graph."""
import copy
import math

import pytest
import torch
import torch.nn.functional as F
from python.test_compiled import FLOATS, INTEGERS, check, layouts, same

F = torch.nn.functional
aten = torch.ops.aten
SCANS = (torch.cumsum, torch.cumprod, torch.cummax, torch.cummin, torch.logcumsumexp)


@pytest.mark.parametrize("f", SCANS, ids=lambda f: f.__name__)
def test_scans(f):
    for dtype in FLOATS + (INTEGERS if f is not torch.logcumsumexp else ()):
        for x in layouts((37, 130), dtype, 6):
            for dim in range(x.ndim):
                c = check(lambda x: f(x, dim), x)
                assert "call" not in c.steps(x)
    x = torch.randn(5, 70, 6, 40)
    for dim in range(4):
        check(lambda x: f(x, dim), x)
    check(lambda x: f(x.relu(), 1) if f is not torch.cummax else f(x.relu(), 1)[0] * 2, x)
    special = torch.tensor([[1.0, float("nan"), 2.0, 1.0], [float("-inf"), float("-inf"), float("inf"), 1.0], [-0.0, 0.0, -0.0, 0.0]])
    check(lambda x: f(x, 0), special.repeat(1, 9))
    check(lambda x: f(x, 1), special.repeat(9, 1))


def test_scans_convert_as_eager_does():
    x = torch.randint(0, 99, (40, 17))
    check(lambda x: (x.cumsum(0, dtype=torch.float32), x.cumsum(1, dtype=torch.int8), x.cumprod(0, dtype=torch.float64)), x)
    check(lambda x: (x.cumsum(0, dtype=torch.bfloat16), x.cumsum(0, dtype=torch.float64)), torch.randn(40, 17))
    check(lambda x: x.cumsum(0, dtype=torch.int64), torch.randn(40, 17) * 9)


def test_neighbours_share_the_lines():
    x, w = torch.randn(64, 300), torch.randn(300)
    c = check(lambda x, w: (x.exp().cumsum(0) * w, x.cumsum(0).cumsum(0).sin()), x, w)
    assert c.steps(x, w).count("\n") == 1
    c = check(lambda x, w: (x * w).cumsum(1) - x, x, w)
    assert c.steps(x, w).count("\n") == 1
    check(lambda x, w: (x * w).cumsum(1).softmax(1), x, w)
    i = torch.randint(0, 64, (20, 9))
    check(lambda x, i: F.embedding(i, x).cumsum(0) + 1, x, i)


def test_threads_do_not_show_in_scans():
    x = torch.randn(2000, 500)
    before = torch.get_num_threads()
    try:
        for n in (1, 2):
            torch.set_num_threads(n)
            check(lambda x: (x.cumsum(0), x.cumsum(1), x.t().cumsum(0)), x)
    finally:
        torch.set_num_threads(before)


def channels(shape, dtype, seed=0):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(shape, generator=g).to(dtype)
    yield x
    if len(shape) == 4:
        yield x.contiguous(memory_format=torch.channels_last)
    if len(shape) > 2:
        yield x.transpose(0, 2).contiguous().transpose(0, 2)


@pytest.mark.parametrize("shape,dtype", [((6, 17, 9, 11), d) for d in FLOATS] + [
    (s, d) for s in ((50, 33), (3, 40, 70), (2, 1, 5000), (5, 2, 1)) for d in (torch.float32, torch.bfloat16)])
def test_batch_norm(shape, dtype):
    n = shape[1]
    stats = torch.float32 if dtype is torch.float16 else dtype
    w, b, m, v = torch.randn(n).to(stats), torch.randn(n).to(stats), torch.randn(n).to(stats), torch.rand(n).to(stats)
    for i, x in enumerate(channels(shape, dtype)):
        for weight, bias in ((w, b), (w, None), (None, None))[:1 if i else 3]:
            c = check(lambda x, m, v: F.batch_norm(x, m, v, weight, bias).relu(), x, m, v)
            assert "call" not in c.steps(x, m, v)
            c = check(lambda x: aten.native_batch_norm(x, weight, bias, None, None, True, 0.1, 1e-5), x)
            assert "call" not in c.steps(x)
        g = torch.randn(shape).to(dtype)
        for weight, train, mask in ((w, True, 7), (w, False, 7), (None, True, 1), (None, False, 1), (w, True, 6))[:2 if i else 5]:
            def back(g, x, m, v):
                r = aten.native_batch_norm_backward(g, x, weight, m, v, m, v, train, 1e-5, [bool(mask >> k & 1) for k in range(3)])
                return tuple(t for t in r if t is not None)
            c = check(back, g, x, m, v)
            assert "call" not in c.steps(g, x, m, v)


def test_running_statistics_are_written_by_the_operator():
    def f(x, m, v):
        return F.batch_norm(x, m, v, training=True) * 2
    x, m, v = torch.randn(20, 5), torch.zeros(5), torch.ones(5)
    one, two = (m.clone(), v.clone()), (m.clone(), v.clone())
    c = torch._inductor.compile(f, (x, *one))
    assert same(c(x, *one), f(x, *two)) and same(one[0], two[0]) and same(one[1], two[1])
    assert not same(one[0], m)


# Groups of several channels, of one, and all; rows shorter than a tile, as long, longer, and longer than a block of the tree; few
# groups and many elements, whose blocks threads share.
GROUPS = [((50, 33), 3), ((50, 33), 1), ((9, 6), 6), ((4, 6, 5), 2), ((3, 8, 1), 4), ((2, 8, 32, 3), 4), ((2, 6, 7, 7), 3), ((2, 64, 8, 8), 8),
          ((2, 6, 3, 4, 5), 2), ((2, 6, 3, 4, 5), 6), ((2, 4, 5000), 1), ((1, 32, 67, 65), 2), ((2, 12, 2, 1), 3), ((1, 3, 400, 99), 1)]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape,groups", GROUPS)
def test_group_norm(shape, groups, dtype):
    n, c = shape[:2]
    plane = math.prod(shape[2:])
    w, b = torch.randn(c).to(dtype), torch.randn(c).to(dtype)
    for i, x in enumerate(channels(shape, dtype)):
        for weight, bias in ((w, b), (w, None), (None, b), (None, None), (w.float(), b.float()), (w.repeat_interleave(2)[::2], b[:1].expand(c)))[:2 if i else 6]:
            if weight is not None and weight.dtype != dtype and dtype is torch.float64:
                continue
            one = check(lambda x: aten.native_group_norm(x, weight, bias, n, c, plane, groups, 1e-5), x)
            y = check(lambda x: F.silu(F.group_norm(x * 0.5 + 1, groups, weight, bias)) - x, x)
            both = check(lambda x: [t * 2 for t in aten.native_group_norm(x.relu(), weight, bias, n, c, plane, groups, 1e-5)], x)
            if x.is_contiguous() or groups == c:   # others are copied by the operator itself
                assert "call" not in one.steps(x) and "call" not in both.steps(x)
                # One nest, also where threads share its blocks in several launches.
                assert all("mul add native_group_norm silu sub" in line for line in y.steps(x).splitlines())


def test_group_norms_and_other_reductions_share_a_nest_where_they_can():
    x, w = torch.randn(3, 8, 6, 7), torch.randn(8)
    c = check(lambda x, w: F.group_norm(F.group_norm(x, 2, w), 2, None, w) * 2, x, w)
    assert c.steps(x, w).count("\n") == 1
    c = check(lambda x, w: F.group_norm(F.group_norm(x, 2, w), 4, w), x, w)   # other groups
    assert c.steps(x, w).count("\n") == 2
    c = check(lambda x, w: F.group_norm(x, 8, w).mean((2, 3)), x, w)
    assert c.steps(x, w).count("\n") == 1
    check(lambda x, w: (F.group_norm(x, 2, w).mean((2, 3, 1)), F.group_norm(x, 2, w).softmax(1), x.sum(0)), x, w)
    i = torch.randint(0, 7, (3, 8, 6, 7))
    check(lambda x, w, i: F.group_norm(x.gather(3, i), 4, w) * w.view(8, 1, 1), x, w, i)
    check(lambda x: (x - aten.native_group_norm(x, None, None, 6, 6, 1, 6, 1e-5)[1]).sum(0), torch.randn(6, 6))
    # Other shapes than (N, C, ...) are the operator's own.
    check(lambda x: aten.native_group_norm(x, None, None, 3, 8, 42, 4, 1e-5), x.flatten())


@pytest.mark.parametrize("width", [7, 8, 32, 33])
def test_reductions_of_several_dimensions_of_what_an_index_chose(width):
    """The index is one along a row of what is reduced, and another for the next row."""
    x, i, j = torch.randn(2, 4, 5, width), torch.tensor([3, 1, 0, 2]), torch.tensor([4, 0, 0, 2])
    for dim, index in ((1, i), (2, j)):
        check(lambda x, index, d=dim: (lambda y: y - y.mean((1, 2, 3), keepdim=True))(x.index_select(d, index)), x, index)
        check(lambda x, index, d=dim: (lambda y: y / y.abs().sum((1, 2, 3), keepdim=True))(x.index_select(d, index)), x, index)
        check(lambda x, index, d=dim: (lambda y: y - y.amax((1, 2, 3), keepdim=True))(x.index_select(d, index)), x, index)
        check(lambda x, index, d=dim: F.group_norm(x.index_select(d, index), 2).relu(), x, index)
    table, words = torch.randn(10, width), torch.randint(10, (3, 5))
    check(lambda t, w: (lambda y: y - y.mean((1, 2), keepdim=True))(F.embedding(w, t)), table, words)
    check(lambda t, w: F.layer_norm(F.embedding(w, t), (5, width)), table, words)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape,groups", GROUPS + [((300, 40, 3), 1), ((4500, 2, 3), 1), ((2, 5000, 2), 1)])
def test_group_norm_backward(shape, groups, dtype):
    n, c = shape[:2]
    plane = math.prod(shape[2:])
    w = torch.randn(c).to(dtype)
    for i, (x, g) in enumerate(zip(channels(shape, dtype), channels(shape, dtype, 1))):
        for weight, mask in ((w, 7), (None, 7), (w.double() if dtype is torch.float64 else w.float(), 7), (w, 1), (w, 6), (None, 4))[:2 if i else 6]:
            _, mean, rstd = aten.native_group_norm(x, weight, None, n, c, plane, groups, 1e-5)

            def back(g, x, mean, rstd):
                r = aten.native_group_norm_backward(g.sigmoid() * g, x, mean, rstd, weight, n, c, plane, groups, [bool(mask >> k & 1) for k in range(3)])
                return tuple(t * 2 for t in r if t is not None)
            steps = check(back, g, x, mean, rstd).steps(g, x, mean, rstd)
            assert "native_group_norm_backward" not in steps and "call sum" not in steps and "call mul" not in steps
            if i == 0:   # a gradient of another layout or type than the input
                check(back, g.float(), x, mean, rstd)
                check(back, g.transpose(0, 1).contiguous().transpose(0, 1), x, mean, rstd)


def test_the_gradient_of_group_norm_keeps_nothing_of_the_inputs_shape():
    x, g, w = torch.randn(8, 6, 10, 12), torch.randn(8, 6, 10, 12), torch.randn(6)
    _, mean, rstd = aten.native_group_norm(x, w, None, 8, 6, 120, 2, 1e-5)
    c = check(lambda g, x, w: aten.native_group_norm_backward(g, x, mean, rstd, w, 8, 6, 120, 2, [True] * 3), g, x, w)
    lines = c.steps(g, x, w).splitlines()
    # The sums, from g and x and the means; the gradient, from g and x and what stands for each channel.
    assert sum(line.startswith("whole sub mul sum sum: f32d f32s f32d f32s f32s,") for line in lines) == 1
    assert sum(line.startswith("points sub mul mul sub sub:") for line in lines) == 1
    # Other shapes than (N, C, ...), and none of its elements, are the operator's own.
    flat = check(lambda g, x: aten.native_group_norm_backward(g, x, mean, rstd, w, 8, 6, 120, 2, [True] * 3), g.flatten(), x.flatten())
    assert "call native_group_norm_backward" in flat.steps(g.flatten(), x.flatten())
    none = torch.zeros(0, 6, 10, 12)
    check(lambda g, x: aten.native_group_norm_backward(g, x, mean[:0], rstd[:0], w, 0, 6, 120, 2, [True] * 3), none, none)
    wrong = torch._inductor.compile(lambda g, x: aten.native_group_norm_backward(g, x, mean, rstd, w, 8, 6, 120, 2, [True] * 3), (g[:1], x))
    with pytest.raises(RuntimeError, match="grad_out has shape"):
        wrong(g[:1], x)


def test_threads_do_not_show_in_group_norms():
    x, w = torch.randn(1, 6, 300, 131), torch.randn(6)
    before = torch.get_num_threads()
    try:
        for n in (1, 2, 3):
            torch.set_num_threads(n)
            check(lambda x, w: F.group_norm(x, 1, w, w).relu(), x, w)
            check(lambda x, w: F.group_norm(x, 3, w, w).relu(), x, w)
            _, mean, rstd = aten.native_group_norm(x, w, w, 1, 6, 39300, 2, 1e-5)
            check(lambda x, w: aten.native_group_norm_backward(x.sin(), x, mean, rstd, w, 1, 6, 39300, 2, [True] * 3), x, w)
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape,inner", [((37, 64), 1), ((4, 30, 7, 20), 2), ((9000, 33), 1), ((1, 5000), 1)])
def test_layer_norm_backward(shape, inner, dtype):
    sizes = shape[-inner:]
    x, g = torch.randn(shape).to(dtype), torch.randn(shape).to(dtype)
    for w in (torch.randn(sizes).to(dtype), None):
        _, mean, rstd = aten.native_layer_norm(x, sizes, w, None, 1e-5)
        for mask in ([True, True, True], [True, False, False], [False, False, True])[:None if dtype is torch.float32 else 1]:
            def back(g, x, mean, rstd):
                r = aten.native_layer_norm_backward(g, x, sizes, mean, rstd, w, None, mask)
                return tuple(t for t in r if t is not None)
            c = check(back, g, x, mean, rstd)
            assert "call" not in c.steps(g, x, mean, rstd)
            check(back, g.transpose(0, 1).contiguous().transpose(0, 1), x, mean, rstd)


def test_traces():
    for dtype in FLOATS + (torch.int64, torch.int32):
        for x in layouts((37, 50), dtype):
            if x.ndim == 2:
                assert "call" not in check(lambda x: x.trace() * 2, x).steps(x)


MODULES = {
    "batch": lambda: torch.nn.BatchNorm2d(6), "layer": lambda: torch.nn.LayerNorm([9, 8]), "rms": lambda: torch.nn.RMSNorm([9, 8]),
    "group": lambda: torch.nn.GroupNorm(3, 6), "instance": lambda: torch.nn.InstanceNorm2d(6, affine=True),
    "conv": lambda: torch.nn.Sequential(torch.nn.Conv2d(6, 6, 3), torch.nn.BatchNorm2d(6), torch.nn.ReLU())}


@pytest.mark.parametrize("dtype", (torch.float32, torch.bfloat16))
@pytest.mark.parametrize("name", MODULES)
def test_training_has_the_eager_bits(name, dtype):
    torch.manual_seed(0)
    plain = MODULES[name]().to(dtype)
    for p in plain.parameters():
        torch.nn.init.normal_(p)
    compiled = copy.deepcopy(plain)
    run = torch.compile(compiled, fullgraph=True)
    for step in range(2):
        x = torch.randn(5, 6, 9, 8).to(dtype)
        a, b = x.clone().requires_grad_(), x.clone().requires_grad_()
        want, got = plain(a), run(b)
        assert same(got, want)
        g = torch.randn(want.shape).to(dtype)
        want.backward(g)
        got.backward(g)
        assert same(b.grad, a.grad)
        for (n, p), q in zip(plain.named_parameters(), compiled.parameters()):
            assert same(q.grad, p.grad), n
        for (n, p), q in zip(plain.named_buffers(), compiled.buffers()):
            assert same(q, p), n
    plain.eval(), compiled.eval()
    with torch.no_grad():
        assert same(run(x), plain(x))


def test_values_of_tensors_are_read_when_called():
    x, m, i = torch.randn(4, 3), torch.rand(4, 3) > 0.5, torch.tensor([1])
    for f in (lambda x, m, i, v: x.masked_fill(m, v) + 1, lambda x, m, i, v: x.index_fill(1, i, v) * 2,
              lambda x, m, i, v: x.double().type_as(v) + 1, lambda x, m, i, v: torch.full_like(x, 2.0) + v):
        c = torch._inductor.compile(f, (x, m, i, torch.tensor(5.0)))
        for v in (5.0, -1.5):
            assert same(c(x, m, i, torch.tensor(v)), f(x, m, i, torch.tensor(v)))


ATTENTIONS = {
    "plain": (lambda q, k, v: F.scaled_dot_product_attention(q, k, v) * 2, None),
    "causal": (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True).relu(), None),
    "bool mask": (lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m) + 1, torch.bool),
    "float mask": (lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m) + 1, torch.float32),
    "strided": (lambda q, k, v: F.scaled_dot_product_attention(q.transpose(-1, -2), k.transpose(-1, -2), v.transpose(-1, -2)).exp(), None),
    "shared heads": (lambda q, k, v: F.scaled_dot_product_attention(q, k[:, :1], v[:, :1], enable_gqa=True), None),
    "from outside": (lambda q, k, v, key=torch.linspace(-1, 1, 2 * 4 * 17 * 8).view(2, 4, 17, 8): F.scaled_dot_product_attention(q, key.to(q.dtype), v), None),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("name", ATTENTIONS)
def test_attention_keeps_its_kernel(name, dtype):
    f, mask = ATTENTIONS[name]
    torch.manual_seed(3)
    inputs = [torch.randn(2, 4, 17, 8, dtype=dtype) for _ in range(3)]
    if mask is not None:
        inputs.append(torch.rand(17, 17) > 0.3 if mask is torch.bool else torch.randn(17, 17, dtype=dtype))
    for compiled in (torch._inductor.compile(f, inputs), torch.compile(f)):
        assert torch.equal(compiled(*inputs), f(*inputs))
        mine, plain = ([x.clone().requires_grad_(x.is_floating_point()) for x in inputs] for _ in range(2))
        compiled(*mine).float().sum().backward()
        f(*plain).float().sum().backward()
        for a, b in zip(mine, plain, strict=True):
            assert a.grad is None if b.grad is None else torch.equal(a.grad, b.grad)


@pytest.mark.parametrize("classes", [-1, 5])
def test_one_hot_runs_as_it_is_without_a_word(classes, caplog):
    """How large its elements are decides whether it raises, and its shape."""
    def f(i):
        return F.one_hot(i, classes) * 2
    i = torch.tensor([[1, 2], [0, 4]])
    with caplog.at_level("WARNING"):
        assert torch.equal(torch._inductor.compile(f, [i])(i), f(i))
        with pytest.raises(RuntimeError):
            torch._inductor.compile(lambda i: F.one_hot(i, 3) * 2, [i])(i)
    assert not caplog.records
