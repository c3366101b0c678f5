"""torch.vmap of families with rules of their own: expected values are those of a loop over the batch."""
import pytest
import torch
import torch.nn.functional as F

vmap = torch.vmap


def loop(f, *batches):
    """f of every example, one after the other."""
    results = [f(*[b[i] for b in batches]) for i in range(len(batches[0]))]
    if isinstance(results[0], tuple):
        return tuple(torch.stack(r) for r in zip(*results))
    return torch.stack(results)


ROWS = torch.tensor([[1, 0, 3], [2, 2, 0]])
TABLE, TABLES = torch.arange(8.).view(4, 2), torch.arange(16.).view(2, 4, 2).sin()
STARTS = torch.tensor([[0, 1], [0, 2]])
SAMPLES = torch.tensor([[0.5, 1.0, 2.0], [1.0, -1.0, 3.0]])
POINTS = torch.rand(2, 4, 3, generator=torch.Generator().manual_seed(1))
WHOLE_BATCHES = {
    "index_add": (lambda i, s: torch.ones(4, 2).index_add(0, i, s, alpha=2), ROWS, torch.rand(2, 3, 2)),
    "index_add along 1": (lambda x, i: x.index_add(1, i, torch.ones(3, 3)), torch.rand(2, 3, 4), ROWS),
    "index_copy": (lambda x, i: x.index_copy(-1, i.int(), torch.zeros(5, 3)), torch.rand(2, 5, 4), torch.tensor([[1, 0, 3], [2, 1, 0]])),
    "index_fill": (lambda i: torch.zeros(3, 4).index_fill(1, i - 4, 2.5), ROWS),
    "index_fill by a tensor": (lambda i, v: torch.zeros(4).index_fill(0, i, v), ROWS, torch.tensor([1.5, 2.5])),
    "index_fill by one tensor": (lambda i: torch.zeros(4).index_fill(0, i, torch.tensor(2.5)), ROWS),
    "bags": (lambda i: F.embedding_bag(i, TABLE, torch.tensor([0, 2])), ROWS),
    "bags of other starts": (lambda i, o: F.embedding_bag(i, TABLE, o, mode="max"), ROWS, STARTS),
    "bags of other tables": (lambda i, t: F.embedding_bag(i, t, torch.tensor([0, 2]), padding_idx=2), ROWS, TABLES),
    "greatest of other tables": (lambda i, t, o: F.embedding_bag(i, t, o, mode="max", padding_idx=0), ROWS, TABLES, STARTS),
    "weighted bags": (lambda i, t, w: F.embedding_bag(i, t, torch.tensor([0, 2]), mode="sum", per_sample_weights=w), ROWS, TABLES, SAMPLES),
    "bags with an end": (lambda i: F.embedding_bag(i, TABLE, torch.tensor([0, 2, 3]), mode="sum", include_last_offset=True), ROWS),
    "bags whole": (lambda i, t: torch.embedding_bag(t.double(), i, torch.tensor([0, 1]), mode=2), ROWS, TABLES),
    "cdist": (lambda a: torch.cdist(a, POINTS[0], 3.0), POINTS),
    "cdist batches": (lambda a, b: torch.cdist(a, b.expand(3, 4, 3)), POINTS, POINTS.flip(0)),
    "pdist": (lambda a: F.pdist(a, 1.0), POINTS),
    "histc": (lambda a: torch.histc(a, 5, 0.1, 0.9), torch.rand(3, 20)),
    "histc of its own range": (lambda a: torch.histc(a, 5), torch.rand(3, 4, 5, dtype=torch.float64)),
    "histogram": (lambda a: tuple(torch.histogram(a, 4, range=(0.2, 0.8))), torch.rand(3, 20)),
    "histogram of its own range": (lambda a, w: tuple(torch.histogram(a, 4, weight=w)), torch.rand(3, 20), torch.rand(3, 20)),
    "bincount": (lambda i: torch.bincount(i, minlength=5), ROWS),
    "weighted bincount": (lambda i, w: torch.bincount(i, w, 4), ROWS, SAMPLES),
    "histogram by edges": (lambda a, e: tuple(torch.histogram(a, e, density=True)), torch.rand(3, 20), torch.rand(3, 5).sort(1)[0]),
}


@pytest.mark.filterwarnings("error:vmap")
@pytest.mark.parametrize("name", WHOLE_BATCHES)
def test_a_whole_batch_at_once(name):
    f, *batches = WHOLE_BATCHES[name]
    torch.testing.assert_close(vmap(f)(*batches), loop(f, *batches))


@pytest.mark.filterwarnings("error:vmap")
@pytest.mark.parametrize("f, arguments", [
    (lambda a, b: torch.cdist(a, b).sin().sum(), (POINTS, POINTS.flip(0))),
    (lambda a: F.pdist(a, 3.0).sin().sum(), (POINTS,)),
    (lambda t, i: F.embedding_bag(i, t, torch.tensor([0, 2]), mode="mean").sin().sum(), (TABLES, ROWS)),
    (lambda t, i: F.embedding_bag(i, t, torch.tensor([0, 2]), mode="max", padding_idx=2).sin().sum(), (TABLES, ROWS)),
    (lambda w, t, i: F.embedding_bag(i, t, torch.tensor([0, 2]), mode="sum", per_sample_weights=w).sin().sum(), (SAMPLES, TABLES, ROWS)),
], ids=["cdist", "pdist", "mean of bags", "greatest of bags", "weights of samples"])
def test_gradients_of_a_whole_batch_at_once(f, arguments):
    torch.testing.assert_close(vmap(torch.func.grad(f))(*arguments), loop(torch.func.grad(f), *arguments))


@pytest.mark.parametrize("f", [
    lambda i: torch.zeros(3).index_add(0, i, torch.ones(3)), lambda i: torch.zeros(3).index_copy(0, i, torch.ones(3)),
    lambda i: torch.zeros(3).index_fill(0, i, 1.0), lambda i: torch.zeros(4).index_add(0, i, torch.ones(2)),
])
def test_an_index_too_large_is_refused(f):
    with pytest.raises((IndexError, RuntimeError)):
        vmap(f)(ROWS)


def test_counts_of_several_lengths_are_refused():
    with pytest.raises(RuntimeError):
        vmap(torch.bincount)(torch.tensor([[0, 1], [5, 1]]))


def losses():
    y = torch.tensor([0.3, 0.5, 0.2], dtype=torch.float64)
    w = torch.tensor([1.5, 0.5, 2.0], dtype=torch.float64)
    sides = torch.tensor([1.0, -1.0, 1.0], dtype=torch.float64)
    return {
        "mse": lambda z: F.mse_loss(z, y), "mse_none": lambda z: F.mse_loss(z, y, reduction="none").sum(),
        "huber": lambda z: F.huber_loss(z, y, delta=0.1), "smooth_l1": lambda z: F.smooth_l1_loss(z, y, beta=0.1),
        "bce": lambda z: F.binary_cross_entropy(z, y), "bce_weighted": lambda z: F.binary_cross_entropy(z, y, w),
        "bce_logits": lambda z: F.binary_cross_entropy_with_logits(z, y),
        "bce_logits_weighted": lambda z: F.binary_cross_entropy_with_logits(z, y, w, pos_weight=w.flip(0)),
        "soft_margin": lambda z: F.soft_margin_loss(z, sides), "target": lambda z: F.mse_loss(y, z),
        "bce_target": lambda z: F.binary_cross_entropy(y, z), "roll": lambda z: (z.roll(1) * y).square().sum(),
    }


@pytest.mark.parametrize("name", losses())
def test_what_lies_under_vmap_is_differentiated(name):
    """First and second derivatives through a mapped call, against the same calls one by one."""
    f = losses()[name]
    x = torch.tensor([0.35, 0.15, 0.25], dtype=torch.float64)
    scales = torch.tensor([1.0, 1.5], dtype=torch.float64)

    def mapped(z):
        return torch.vmap(lambda s: f(z * s))(scales)

    def single(z):
        return torch.stack([f(z * s) for s in scales])

    from torch.func import grad, hessian, jacfwd, jacrev, jvp
    close = {"rtol": 1e-9, "atol": 1e-12}
    want = grad(lambda z: single(z).sum())(x)
    torch.testing.assert_close(grad(lambda z: mapped(z).sum())(x), want, **close)
    leaf = x.clone().requires_grad_()
    mapped(leaf).sum().backward()
    torch.testing.assert_close(leaf.grad, want, **close)
    torch.testing.assert_close(jvp(mapped, (x,), (x,))[1], jvp(single, (x,), (x,))[1], **close)
    leaf = x.clone().requires_grad_()
    (first,) = torch.autograd.grad(f(leaf), leaf, create_graph=True)
    second = torch.stack([torch.autograd.grad(g, leaf, retain_graph=True)[0] if g.requires_grad else torch.zeros_like(x) for g in first])
    torch.testing.assert_close(hessian(f)(x), second, **close)
    torch.testing.assert_close(jacrev(jacrev(f))(x), second, **close)
    torch.testing.assert_close(jacfwd(jacfwd(f))(x), second, **close)
    with torch.no_grad():
        torch.testing.assert_close(mapped(leaf), single(leaf), **close)


@pytest.mark.parametrize("f", [
    lambda x, v: x.scatter(0, torch.tensor([0, 2]), v), lambda x, v: x.scatter_add(0, torch.tensor([1, 1]), v),
    lambda x, v: x.scatter_reduce(0, torch.tensor([1, 3]), v, "sum"), lambda x, v: torch.index_put(x, (torch.tensor([3, 0]),), v),
    lambda x, v: x.index_add(0, torch.tensor([1, 1]), v), lambda x, v: x.index_copy(0, torch.tensor([1, 2]), v),
    lambda x, v: x.index_fill(0, torch.tensor([1, 2]), v.sum()), lambda x, v: x.masked_fill(torch.tensor([True, False, True, False]), v.sum()),
    lambda x, v: x.masked_scatter(torch.tensor([True, False, True, False]), v), lambda x, v: torch.put(x, torch.tensor([0, 2]), v),
    lambda x, v: x.select_scatter(v.sum(), 0, 1), lambda x, v: x.slice_scatter(v, 0, 1, 3),
    lambda x, v: x.view(2, 2).diagonal_scatter(v), lambda x, v: x.as_strided_scatter(v, (2,), (2,)),
    lambda x, v: torch.addr(x.view(2, 2), v, v)])
def test_writes_to_a_copy_of_what_all_examples_share(f):
    """The first argument has no batch and is differentiated: the copy that is written gets one all the same."""
    x, v = torch.tensor([1., 2, 3, 4], requires_grad=True), torch.arange(6.).reshape(3, 2).requires_grad_()
    weights = torch.arange(1., 13).reshape(3, 4)

    def loss(batch):
        return (batch.reshape(3, 4) * weights).sum()

    want = torch.stack([f(x, each) for each in v])
    got = torch.vmap(f, (None, 0))(x, v)
    assert torch.equal(got, want)
    for a, b in zip(torch.autograd.grad(loss(got), (x, v)), torch.autograd.grad(loss(want), (x, v))):
        assert torch.allclose(a, b)
