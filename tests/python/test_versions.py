"""Fresh tensors were never written, however they were made. The counts are PyTorch's."""
import pytest

pytest.importorskip("torch._C")
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402

X = torch.linspace(-1, 1, 16).view(4, 4)
IMAGE = torch.linspace(-1, 1, 72).view(1, 2, 6, 6)
I = torch.tensor([0, 1])
ONE = torch.zeros(1, 4, dtype=torch.long)
FRESH = {
    "tensor": lambda x: torch.tensor([1.0, 2.0]), "zeros": lambda x: torch.zeros(3), "full": lambda x: torch.full((3,), 2.0), "rand": lambda x: torch.rand(3),
    "randint": lambda x: torch.randint(0, 5, (3,)), "randperm": lambda x: torch.randperm(5), "arange": lambda x: torch.arange(5), "eye": lambda x: torch.eye(3),
    "zeros_like": torch.zeros_like, "rand_like": torch.rand_like, "new_full": lambda x: x.new_full((3,), 1.0), "pad": lambda x: F.pad(x, (1, 1)),
    "pad reflect": lambda x: F.pad(IMAGE, (1, 1, 1, 1), mode="reflect"), "dropout": lambda x: F.dropout(x, 0.5), "bernoulli": lambda x: torch.bernoulli(x.sigmoid()),
    "multinomial": lambda x: torch.multinomial(x.abs(), 2), "normal": lambda x: torch.normal(x, 1.0), "poisson": lambda x: torch.poisson(x.abs()),
    "scatter": lambda x: x.scatter(0, ONE, 1.0), "index_add": lambda x: x.index_add(0, I, x[:2]), "index_copy": lambda x: x.index_copy(0, I, x[:2]),
    "index_fill": lambda x: x.index_fill(0, I, 1.0), "index_put": lambda x: x.index_put((I,), x[:2]), "masked_fill": lambda x: x.masked_fill(x > 0, 0.0),
    "masked_scatter": lambda x: x.masked_scatter(x > 0, x), "put": lambda x: x.put(I, x[0, :2]), "diag": lambda x: torch.diag(x[0]), "diagflat": lambda x: torch.diagflat(x[0]),
    "diag_embed": torch.diag_embed, "block_diag": lambda x: torch.block_diag(x, x), "repeat": lambda x: x.repeat(2, 2), "roll": lambda x: x.roll(1),
    "slice_scatter": lambda x: x.slice_scatter(x[:2], 0, 0, 2), "select_scatter": lambda x: x.select_scatter(x[0], 0, 0),
    "diagonal_scatter": lambda x: x.diagonal_scatter(x[0]), "as_strided_scatter": lambda x: x.as_strided_scatter(x[0], (4,), (1,)), "cumprod": lambda x: x.cumprod(0),
    "conv": lambda x: F.conv2d(IMAGE, IMAGE[:, :, :3, :3]), "batch_norm": lambda x: F.batch_norm(IMAGE, None, None, training=True), "embedding": lambda x: F.embedding(I, x),
    "embedding_bag": lambda x: F.embedding_bag(I, x, torch.tensor([0])), "histc": torch.histc, "meshgrid": lambda x: torch.meshgrid(I, I, indexing="ij")[0], "renorm": lambda x: x.renorm(2, 0, 1.0),
    "gumbel_softmax": lambda x: F.gumbel_softmax(x, hard=True), "to": lambda x: x.double(), "clone": torch.clone, "sort": lambda x: x.sort()[0],
}


@pytest.mark.parametrize("name", FRESH)
@pytest.mark.parametrize("recorded", [False, True])
def test_a_fresh_tensor_has_no_writes(name, recorded):
    x = X.clone().requires_grad_() if recorded and name not in ("index_copy", "poisson", "histc", "bernoulli") else X.clone()
    assert FRESH[name](x)._version == 0 and x._version == 0


def test_writes_count():
    x = torch.zeros(3)
    x.add_(1)
    y = x.contiguous()  # the same tensor
    assert y._version == x._version == 1 and x.view(3)._version == 1 and x.reshape(3)._version == 1
    a = torch.ones(3, requires_grad=True)
    b = a * 1
    b.mul_(2)
    c = b * b
    assert b._version == 1 and c._version == 0
    b.mul_(2)
    with pytest.raises(RuntimeError):
        c.sum().backward()
    assert torch.nn.Linear(2, 2).weight._version == 1 and torch.nn.BatchNorm1d(3).running_mean._version == 1
    w = torch.ones(3, 3, requires_grad=True)
    w[0].sum().backward()
    assert w.grad._version == 0


def test_writes_that_torch_does_not_see_are_counted_by_hand():
    x = torch.ones(2, requires_grad=True)
    y = x.exp()
    before = y._version
    torch.autograd.graph.increment_version(y)
    torch.autograd.graph.increment_version([y.detach(), torch.ones(1)])   # one memory, one version
    assert y._version == before + 2
    with pytest.raises(RuntimeError, match="written in place"):
        y.sum().backward()
    with torch.inference_mode():
        torch.autograd.graph.increment_version(torch.ones(1))
