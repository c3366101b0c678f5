"""torch.vmap: expected values are those of a loop over the batch."""
import warnings

import pytest
import torch
from torch import nn

vmap = torch.vmap


def loop(f, *args, in_dims=0, out_dim=0):
    dims = in_dims if isinstance(in_dims, tuple) else (in_dims,) * len(args)
    n = next(a.shape[d] for a, d in zip(args, dims) if d is not None)
    rows = [f(*(a if d is None else a.select(d, i) for a, d in zip(args, dims))) for i in range(n)]
    if isinstance(rows[0], (tuple, list)):
        return tuple(torch.stack(column, out_dim) for column in zip(*rows))
    return torch.stack(rows, out_dim)


def check(f, *args, in_dims=0, **kw):
    got = vmap(f, in_dims=in_dims, **kw)(*args)
    want = loop(f, *args, in_dims=in_dims)
    for g, w in zip(got, want) if isinstance(want, tuple) else [(got, want)]:
        assert g.shape == w.shape and g.dtype == w.dtype
        torch.testing.assert_close(g, w)


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


X = (4, 3, 5)


@pytest.mark.parametrize("f", [
    torch.sin, lambda a: a * 2 + 1, lambda a: a.sum(), lambda a: a.sum(0), lambda a: a.sum(-1, keepdim=True), lambda a: a.mean((0, 1)),
    lambda a: a.max(), lambda a: a.max(1), lambda a: a.argmax(), lambda a: a.argmax(0, keepdim=True), lambda a: a.prod(), lambda a: a.std(),
    lambda a: a.var(1), lambda a: a.norm(), lambda a: a.softmax(-1), lambda a: a.cumsum(0), lambda a: a.sort(1), lambda a: a.topk(2, 0),
    lambda a: a.logsumexp(0), lambda a: (a > 0).all(), lambda a: (a > 0).any(0), lambda a: a.median(), lambda a: a.median(0),
    lambda a: a.flip(0, 1), lambda a: a.roll(1, 0), lambda a: a.roll(2), lambda a: a.t(), lambda a: a.transpose(0, 1), lambda a: a.permute(1, 0),
    lambda a: a.reshape(-1), lambda a: a.clone(memory_format=torch.contiguous_format).view(-1), lambda a: a.t().reshape(5, 3), lambda a: a[1], lambda a: a[:, 1:4:2], lambda a: a[..., None], lambda a: a.diagonal(),
    lambda a: a.unfold(1, 2, 1), lambda a: a.expand(2, 3, 5), lambda a: a.unbind(0), lambda a: a.split(2, 1), lambda a: a.chunk(2),
    lambda a: a.squeeze(), lambda a: a.unsqueeze(0).squeeze(0), lambda a: a.as_strided((2, 2), (1, 5)), lambda a: torch.cat([a, a], 1),
    lambda a: torch.stack([a, a * 2], -1), lambda a: a.repeat(2, 1), lambda a: nn.functional.pad(a, (1, 2)), lambda a: a.tril(), lambda a: a.clone(),
    lambda a: a.to(torch.float64), lambda a: a.t().contiguous().view(-1), lambda a: torch.where(a > 0, a, 0.0), lambda a: a.clamp(-0.5, 0.5),
    lambda a: a.masked_fill(a > 0, 3.0), lambda a: a.index_select(1, torch.tensor([0, 2])), lambda a: a[torch.tensor([0, 2])],
    lambda a: a[:, torch.tensor([[0, 2], [1, 1]])], lambda a: a[torch.tensor([0, 2]), torch.tensor([1, 1])], lambda a: torch.zeros_like(a) + a,
    lambda a: a.new_zeros(2) + a.sum(), lambda a: a.new_ones(3, 5).mul_(a), lambda a: torch.zeros_like(a).copy_(a),
    lambda a: a.clone().add_(1), lambda a: a.clone().t_(), lambda a: a.gather(1, torch.tensor([[0, 1], [1, 2], [2, 0]])), lambda a: a @ a.t(),
    lambda a: torch.einsum("ij,kj->ik", a, a), lambda a: a.scatter(1, torch.tensor([[0, 1], [1, 2], [2, 0]]), 7.0), lambda a: a.diff(), lambda a: a.trace(),
    lambda a: torch.linalg.vector_norm(a, dim=1), lambda a: nn.functional.layer_norm(a, (5,)), lambda a: nn.functional.gelu(a), lambda a: a.cummax(1),
    lambda a: a.kthvalue(2, 1), lambda a: a.count_nonzero(), lambda a: a.aminmax(dim=0), lambda a: a.aminmax(), lambda a: a.square().sum().sqrt(),
])
def test_equals_a_loop(f):
    x = torch.randn(X)
    check(f, x)
    check(f, torch.randn(3, 5, 4), in_dims=-1)
    check(f, torch.randn(3, 4, 5), in_dims=1)


def test_two_arguments():
    x, y = torch.randn(4, 3), torch.randn(4, 3)
    check(torch.add, x, y)
    check(torch.mul, x, torch.randn(3, 4), in_dims=(0, 1))
    check(torch.mul, x, torch.randn(3), in_dims=(0, None))
    check(torch.mul, torch.randn(2, 3), y, in_dims=(None, 0))
    check(torch.mul, torch.randn(4), torch.randn(4, 3, 2))
    check(torch.dot, x, y)
    check(torch.outer, x, y)
    check(torch.where, x > 0, x, y)
    check(lambda a, b: torch.cat([a, b]), x, torch.randn(5), in_dims=(0, None))
    check(lambda a, b: torch.stack([b, a]), x, torch.randn(3), in_dims=(0, None))
    check(lambda a, b: a.clone().copy_(b), x, torch.randn(3), in_dims=(0, None))


@pytest.mark.parametrize("dims", [(0, 0), (0, None), (None, 0), (1, 0), (2, None)])
def test_products(dims):
    def batched(shape, d):
        return torch.randn(shape) if d is None else torch.randn(shape[:d] + (6,) + shape[d:])
    for f, a, b in ((torch.mm, (3, 4), (4, 5)), (torch.bmm, (2, 3, 4), (2, 4, 5)), (torch.mv, (3, 4), (4,)), (torch.matmul, (2, 3, 4), (4, 5)),
                    (lambda a, b: torch.addmm(torch.ones(5), a, b), (3, 4), (4, 5)), (lambda a, b: torch.addmm(a.sum(1, keepdim=True), a, b, beta=2, alpha=3), (3, 4), (4, 5)),
                    (lambda a, b: nn.functional.linear(a, b.t(), b[0]), (3, 4), (4, 5)), (lambda a, b: torch.baddbmm(torch.ones(3, 5), a, b), (2, 3, 4), (2, 4, 5)),
                    (lambda a, b: torch.addmv(b.sum(), a, b), (3, 4), (4,)), (lambda a, b: torch.addbmm(b.sum(), a, b), (2, 3, 4), (2, 4, 5))):
        da, db = dims
        if (da is not None and da > len(a)) or (db is not None and db > len(b)):
            continue
        check(f, batched(a, da), batched(b, db), in_dims=dims)


def test_promotion_is_that_of_one_example():
    x, y = torch.ones(4, 3), torch.ones(4, dtype=torch.float64)
    assert vmap(torch.add)(x, y).dtype == torch.float32
    assert vmap(torch.mul)(torch.ones(4, dtype=torch.int32), torch.ones(4, 2, dtype=torch.float16)).dtype == torch.float16
    assert vmap(lambda a: a * torch.tensor(2.0))(torch.ones(4, dtype=torch.float16)).dtype == torch.float32


def test_nesting():
    x, y = torch.randn(3), torch.randn(5)
    assert torch.equal(vmap(vmap(torch.mul, (None, 0)), (0, None))(x, y), torch.outer(x, y))
    a, b = torch.randn(2, 3, 4), torch.randn(2, 5, 4)
    got = vmap(vmap(vmap(torch.dot, (None, 0)), (0, None)))(a, b)
    torch.testing.assert_close(got, a @ b.transpose(1, 2))
    torch.testing.assert_close(vmap(vmap(lambda r: r.softmax(0)))(a), a.softmax(-1))


def test_structures_and_dims():
    x, y = torch.randn(4, 3), torch.randn(3, 4)
    got = vmap(lambda d, z: {"s": d["a"] + d["b"][0], "t": (z, d["a"])}, in_dims=({"a": 0, "b": [1]}, None))({"a": x, "b": [y]}, torch.ones(2))
    torch.testing.assert_close(got["s"], x + y.t())
    assert got["t"][0].shape == (4, 2)
    assert vmap(lambda a: (a, a), out_dims=(0, 1))(x)[1].shape == (3, 4)
    assert vmap(lambda a: a.unsqueeze(0), out_dims=-1)(x).shape == (1, 3, 4)
    assert vmap(lambda a: torch.ones(2), out_dims=1)(x).shape == (2, 4)
    shared = torch.ones(2)
    assert vmap(lambda a: shared, out_dims=None)(x) is shared
    assert torch.equal(vmap(lambda a, k: a * k, in_dims=(0, None))(x, 3), x * 3)
    assert torch.equal(vmap(lambda a, *, k: a * k)(x, k=2), x * 2)
    assert vmap(torch.sin)(torch.ones(0, 3)).shape == (0, 3)


def test_chunks():
    x = torch.randn(7, 3)
    assert torch.equal(vmap(torch.sin, chunk_size=3)(x), x.sin())
    got = vmap(lambda a, b: (a + b, a.sum()), in_dims=(0, None), out_dims=(1, 0), chunk_size=2)(x, torch.ones(3))
    assert torch.equal(got[0], (x + 1).t()) and torch.equal(got[1], vmap(torch.sum)(x))
    noise = vmap(lambda a: a * 0 + torch.rand(3), randomness="same", chunk_size=2)(x)
    assert (noise == noise[0]).all()


@pytest.mark.parametrize("call, error", [
    (lambda v, x: v(lambda: 1)(), ValueError), (lambda v, x: v(torch.sin, in_dims=(0, 0))(x), ValueError),
    (lambda v, x: v(torch.sin, in_dims="a")(x), ValueError), (lambda v, x: v(torch.sin, in_dims=None)(x), ValueError),
    (lambda v, x: v(lambda a, b: a)(x, 3), ValueError), (lambda v, x: v(torch.sin, in_dims=2)(x), ValueError),
    (lambda v, x: v(torch.sin, in_dims=[0])(x), ValueError), (lambda v, x: v(torch.add, in_dims=(0, 1))(x, x), ValueError),
    (lambda v, x: v(lambda a: 3)(x), ValueError), (lambda v, x: v(lambda a: None)(x), ValueError),
    (lambda v, x: v(lambda a: (a, a), out_dims=(0, 1, 2))(x), ValueError), (lambda v, x: v(torch.sin, out_dims=4)(x), IndexError),
    (lambda v, x: v(torch.sin, out_dims=None)(x), ValueError), (lambda v, x: v(torch.sin, out_dims="x")(x), ValueError),
    (lambda v, x: v(torch.sin, chunk_size=0)(x), ValueError), (lambda v, x: v(torch.sin, randomness="x")(x), RuntimeError),
    (lambda v, x: v(lambda a: a.sum().item())(x), RuntimeError), (lambda v, x: v(lambda a: a if a.sum() > 0 else -a)(x), RuntimeError),
    (lambda v, x: v(lambda a: int(a.sum()))(x), RuntimeError), (lambda v, x: v(lambda a: a.nonzero())(x), RuntimeError),
    (lambda v, x: v(lambda a: a.unique())(x), RuntimeError), (lambda v, x: v(lambda a: a[a > 0])(x), RuntimeError),
    (lambda v, x: v(lambda a: a.tolist())(x), RuntimeError), (lambda v, x: v(lambda a: a.numpy())(x), RuntimeError),
    (lambda v, x: v(lambda a: a.data_ptr())(x), RuntimeError), (lambda v, x: v(lambda a: a.untyped_storage())(x), NotImplementedError),
    (lambda v, x: v(lambda a: a.data)(x), RuntimeError), (lambda v, x: v(lambda a: torch.equal(a, a))(x), RuntimeError),
    (lambda v, x: v(lambda a: a.requires_grad_())(x), RuntimeError), (lambda v, x: v(lambda a: torch.zeros(3).add_(a))(x), RuntimeError),
    (lambda v, x: v(lambda a: torch.autograd.grad(a.sum(), a))(x), RuntimeError), (lambda v, x: v(lambda a: a.sum().backward())(x), RuntimeError),
    (lambda v, x: v(lambda a: a.t().reshape(-1).view(2, 2))(x), RuntimeError), (lambda v, x: v(lambda a: a[5])(x), IndexError),
    (lambda v, x: v(lambda a: a.view(7))(x), RuntimeError), (lambda v, x: v(lambda a: a.sum(3))(x), IndexError),
    (lambda v, x: v(lambda a: a @ torch.ones(7))(x), RuntimeError),
])
def test_errors(call, error):
    with pytest.raises(error):
        call(vmap, torch.arange(6.0).reshape(2, 3))
    assert torch._C._functorch.maybe_current_level() is None


def test_a_tensor_that_escapes():
    kept = []
    vmap(lambda a: kept.append(a) or a)(torch.ones(2, 3))
    with pytest.raises(RuntimeError):
        kept[0] + 1


def test_randomness():
    x = torch.zeros(4, 3)
    for draw in (lambda a: a + torch.rand(3), lambda a: torch.randn_like(a), lambda a: a.clone().normal_(), lambda a: torch.bernoulli(a + 0.5),
                 lambda a: nn.functional.dropout(a + 1), lambda a: torch.randint(9, (3,)) + a, lambda a: torch.randperm(3), lambda a: torch.multinomial(a + 1, 2)):
        with pytest.raises(RuntimeError):
            vmap(draw)(x)
        torch.manual_seed(3)
        assert (vmap(draw, randomness="different")(torch.zeros(40, 3)).float().std(0) > 0).all()
    for draw in (lambda a: a + torch.rand(3), lambda a: torch.randn_like(a), lambda a: a.clone().normal_(), lambda a: nn.functional.dropout(a + 1),
                 lambda a: torch.randperm(3), lambda a: torch.bernoulli(torch.full((3,), 0.5))):
        got = vmap(draw, randomness="same")(x)
        assert (got == got[0]).all()
    with pytest.raises(RuntimeError):
        vmap(lambda a: torch.bernoulli(a.sigmoid()), randomness="same")(x)
    with pytest.raises(RuntimeError):
        vmap(lambda a: torch.zeros(3).normal_(), randomness="different")(x)


def test_the_streams_are_those_of_one_larger_draw():
    torch.manual_seed(0)
    got = vmap(lambda a: a + torch.rand(3), randomness="different")(torch.zeros(2, 3))
    torch.manual_seed(0)
    assert torch.equal(got, torch.rand(2, 3))


def test_in_place_writes():
    x = torch.randn(4, 3)
    y = x.clone()
    vmap(lambda a: a.mul_(2))(y)
    assert torch.equal(y, x * 2)
    z = torch.zeros(3, 4)
    vmap(lambda a, b: a.copy_(b), in_dims=(1, 0))(z, x)
    assert torch.equal(z, x.t())

    def f(a):
        out = torch.zeros_like(a)
        out[1:] = a[:-1]
        out[0] = a.sum()
        return out
    check(f, x)
    counter = torch.zeros(2)
    vmap(lambda a: a + counter.add_(1).sum())(x)
    assert counter.tolist() == [1.0, 1.0]


def test_captured_tensors_get_gradients():
    w = torch.randn(3, requires_grad=True)
    x = torch.randn(4, 3)
    seen = []

    def f(a):
        b = a * w
        seen.append((b.requires_grad, b.grad_fn))
        return b.sum()
    vmap(f)(x).sum().backward()
    torch.testing.assert_close(w.grad, x.sum(0))
    assert seen == [(False, None)]
    y = torch.randn(4, 3, requires_grad=True)
    out = vmap(lambda a: a[0] * a[1:].sum() + a.view(3, 1).t().squeeze(0)[2])(y)
    out.sum().backward()
    want, = torch.autograd.grad(loop(lambda a: a[0] * a[1:].sum() + a[2], y).sum(), y)
    torch.testing.assert_close(y.grad, want)


def test_layers():
    check(lambda a: nn.functional.conv2d(a, torch.ones(2, 3, 3, 3), torch.ones(2)), torch.randn(4, 1, 3, 6, 6))
    conv = nn.functional.conv2d
    w, b = torch.randn(4, 2, 3, 3, 3), torch.randn(4, 2)
    check(conv, torch.randn(4, 2, 3, 6, 6), w, b)
    check(conv, torch.randn(2, 3, 6, 6), w, b, in_dims=(None, 0, 0))
    check(lambda a, k: conv(a, k, groups=3), torch.randn(4, 2, 6, 5, 5), torch.randn(4, 6, 2, 3, 3))
    check(lambda a, k: nn.functional.conv_transpose2d(a, k, stride=2), torch.randn(4, 2, 3, 5, 5), torch.randn(4, 3, 2, 3, 3))
    for pool in (lambda a: nn.functional.max_pool2d(a, 2), lambda a: nn.functional.avg_pool2d(a, 2), lambda a: nn.functional.adaptive_avg_pool2d(a, 3),
                 lambda a: nn.functional.interpolate(a, scale_factor=2.0, mode="bilinear"), lambda a: nn.functional.pad(a, (1, 1, 1, 1), mode="reflect"),
                 lambda a: nn.functional.group_norm(a, 2), lambda a: nn.functional.instance_norm(a), lambda a: nn.functional.unfold(a, 2),
                 lambda a: nn.functional.batch_norm(a, None, None, training=True), lambda a: nn.functional.pixel_shuffle(a, 2)):
        check(pool, torch.randn(3, 2, 4, 6, 6))
    check(lambda a, w, b: nn.functional.layer_norm(a, (5,), w, b), torch.randn(3, 2, 5), torch.randn(3, 5), torch.randn(3, 5))
    check(nn.functional.embedding, torch.randint(7, (4, 2)), torch.randn(7, 3), in_dims=(0, None))
    check(nn.functional.embedding, torch.randint(7, (4, 2)), torch.randn(4, 7, 3))
    target = torch.randint(5, (4, 2))
    for reduction in ("mean", "sum", "none"):
        check(lambda a, t: nn.functional.cross_entropy(a, t, reduction=reduction), torch.randn(4, 2, 5), target)
        check(lambda a, t: nn.functional.cross_entropy(a, t, weight=torch.arange(5.0) + 1, reduction=reduction), torch.randn(4, 5), target[:, 0])
        check(lambda a, t: nn.functional.mse_loss(a, t, reduction=reduction), torch.randn(4, 2, 5), torch.randn(4, 2, 5))
        check(lambda a, t: nn.functional.binary_cross_entropy(a, t, reduction=reduction), torch.rand(4, 2, 5), torch.rand(4, 2, 5))
    q = torch.randn(4, 2, 3, 5, 8)
    check(nn.functional.scaled_dot_product_attention, q, torch.randn_like(q), torch.randn_like(q))
    check(lambda a: nn.functional.scaled_dot_product_attention(a, a, a, is_causal=True), q)
    with pytest.raises(RuntimeError):
        vmap(nn.BatchNorm1d(3))(torch.randn(4, 2, 3))


def test_indexing_by_what_differs():
    x, i, j = torch.randn(4, 5, 6, 3), torch.randint(5, (4, 2)), torch.randint(6, (4, 2))
    check(lambda a, k: a[k], x, i)
    check(lambda a, k: a[:, k], x, j)
    check(lambda a, k: a[k], torch.randn(5, 6), i, in_dims=(None, 0))
    check(lambda a, k: a[:, k], torch.randn(5, 6), j, in_dims=(None, 0))
    check(lambda a, k, m: a[k, m], x, i, j)
    check(lambda a, k, m: a[k, :, m % 3], x, i, j)
    check(lambda a, k: a[k, :, 0], x, i)
    check(lambda a, k: a[:, :, torch.tensor([0, 2])][k], x, i)
    check(lambda a: a[torch.tensor([0, 1]), :, torch.tensor([0, 2])], x)
    check(lambda a, k: a.index_select(0, k), x, i)
    check(lambda a, k: a.index_select(1, k), torch.randn(5, 6), j, in_dims=(None, 0))
    check(lambda a, k: a.gather(1, k), torch.randn(4, 2, 6), torch.randint(6, (4, 2, 3)))
    check(lambda a, k: a.gather(1, k), torch.randn(2, 6), torch.randint(6, (4, 2, 3)), in_dims=(None, 0))
    check(lambda a, k, s: a.scatter_add(1, k, s), torch.randn(4, 2, 6), torch.randint(6, (4, 2, 3)), torch.randn(4, 2, 3))
    check(lambda a, k, s: a.index_put((k,), s), torch.randn(4, 5, 3), i, torch.randn(4, 3))
    check(lambda a, k, s: a.index_put((k,), s, accumulate=True), torch.randn(4, 5, 3), i, torch.randn(4, 2, 3))
    check(lambda a, s: a.index_add(0, torch.tensor([0, 1]), s), torch.randn(4, 5, 3), torch.randn(4, 2, 3))
    check(lambda a, m: torch.masked_fill(a, m, 2.0), torch.randn(4, 3), torch.rand(4, 3) > 0.5)
    check(lambda a, s: a.select_scatter(s, 0, 1), torch.randn(5, 3), torch.randn(4, 3), in_dims=(None, 0))

    def put(a, k, s):
        a = a.clone()
        a[:, k] = s
        return a
    check(put, torch.randn(4, 5, 6), j, torch.randn(4, 5, 2))


def test_what_has_no_rule_runs_in_a_loop_and_says_so_once():
    @torch.library.custom_op("fbtestonce::doubled", mutates_args=())
    def doubled(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    def count(a):
        return torch.histogramdd(a, [5], range=[0.0, 1.0]).hist
    x = torch.rand(4, 20, 1)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for _ in range(2):
            assert torch.equal(vmap(doubled)(x), x * 2)
            assert torch.equal(vmap(count)(x), torch.stack([count(a) for a in x]))
    assert len([w for w in seen if "fbtestonce::doubled" in str(w.message)]) == 1


def test_how_a_tensor_within_is_shown():
    seen = []
    vmap(lambda a: seen.append(repr(a)) or a)(torch.ones(2, 3))
    assert seen[0].startswith("BatchedTensor(lvl=1, bdim=0") and "tensor([[1., 1., 1.]" in seen[0]
    assert vmap(torch.sin).__name__ == "sin"


@pytest.mark.parametrize("f", [
    lambda x, i: x[i], lambda x, i: x[i, 1], lambda x, i: x[:, i], lambda x, i: x[..., i], lambda x, i: x[i, None], lambda x, i: x[i, i], lambda x, i: x[i - 3],
    lambda x, i: x[i, :, None][i], lambda x, i: x[torch.tensor([2, 0])][:, i], lambda x, i: x.clone().index_put((i,), torch.tensor(7.0)),
], ids=range(10))
def test_places_that_differ_between_examples(f):
    """A number that indexes is a tensor of numbers there, as in PyTorch."""
    x, i = torch.arange(27.0).view(3, 3, 3), torch.tensor([0, 2, 1])
    assert torch.equal(vmap(f)(x, i), torch.stack([f(x[k], int(i[k])) if "index_put" not in f.__code__.co_names else f(x[k], i[k]) for k in range(3)]))
    assert torch.equal(vmap(f, (None, 0))(x[0], i), torch.stack([f(x[0], i[k]) for k in range(3)]))
    got = vmap(torch.func.grad(lambda x, i: (f(x, i) ** 2).sum()))(x, i)
    assert torch.equal(got, torch.stack([torch.func.grad(lambda x, k=k: (f(x, i[k]) ** 2).sum())(x[k]) for k in range(3)]))


def test_writes_to_places_that_differ_between_examples():
    def put(y, i, v):
        y = y.clone()
        y[i] = v
        y[:, i] += 1
        return y
    x, i, v = torch.arange(27.0).view(3, 3, 3), torch.tensor([0, -1, 1]), torch.tensor([7.0, 8, 9])
    assert torch.equal(vmap(put)(x, i, v), torch.stack([put(x[k], i[k], v[k]) for k in range(3)]))
    with pytest.raises(RuntimeError, match="item"):
        vmap(lambda i: x[i:i + 1])(i)
    with pytest.raises(IndexError):
        vmap(lambda i: x[i])(torch.tensor([0, 3]))
