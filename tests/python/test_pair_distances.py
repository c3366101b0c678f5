"""cdist and pdist against norms of all differences."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch.autograd import gradcheck, gradgradcheck

P = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, math.inf]


def draw(*shape, seed=0):
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("p", P)
def test_values_and_gradients(p):
    a, b = draw(7, 5), draw(4, 5, seed=1)
    want = torch.linalg.vector_norm(a[:, None] - b, p, -1)
    torch.testing.assert_close(torch.cdist(a, b, p), want)
    torch.testing.assert_close(torch.cdist(a.float(), b.float(), p), want.float())
    own = torch.linalg.vector_norm(a[:, None] - a, p, -1)
    torch.testing.assert_close(F.pdist(a, p), own[tuple(torch.triu_indices(7, 7, 1))])
    a.requires_grad_(), b.requires_grad_()
    assert gradcheck(lambda x, y: torch.cdist(x, y, p), (a, b))
    assert gradcheck(lambda x: F.pdist(x, p), a)


def test_batches_broadcast():
    a, b = draw(2, 1, 3, 4).requires_grad_(), draw(3, 5, 4, seed=1).requires_grad_()
    y = torch.cdist(a, b, 1.0)
    assert y.shape == (2, 3, 3, 5)
    torch.testing.assert_close(y, torch.linalg.vector_norm(a[..., :, None, :] - b[..., None, :, :], 1, -1))
    assert gradcheck(lambda x, y: torch.cdist(x, y, 1.0), (a, b))


def test_one_product_for_many_rows():
    a, b = draw(30, 4).requires_grad_(), draw(6, 4, seed=1).requires_grad_()
    y = torch.cdist(a, b)
    assert y.grad_fn.name() == "ViewBackward0"
    assert y.grad_fn.next_functions[0][0].name() == "EuclideanDistBackward0"
    direct = torch.cdist(a, b, compute_mode="donot_use_mm_for_euclid_dist")
    assert direct.grad_fn.name() == "CdistBackward0"
    torch.testing.assert_close(y, direct)
    assert gradcheck(torch.cdist, (a, b))
    assert F.pdist(a).grad_fn.name() == "PdistBackward0"


def test_equal_rows_have_no_gradient():
    a = draw(3, 4).requires_grad_()
    for p in P:
        (g,) = torch.autograd.grad(torch.cdist(a, a.detach(), p).diagonal().sum(), a)
        assert (g == 0).all()


def test_empty():
    assert torch.cdist(draw(0, 4), draw(5, 4)).shape == (0, 5)
    assert (torch.cdist(draw(3, 0), draw(5, 0)) == 0).all()
    assert torch.cdist(draw(0, 3, 4), draw(0, 5, 4)).shape == (0, 3, 5)
    assert F.pdist(draw(1, 4)).shape == F.pdist(draw(0, 4)).shape == (0,)
    assert F.pdist(draw(3, 0)).tolist() == [0.0] * 3


def test_bits_of_threads():
    a, b = draw(300, 37).float(), draw(200, 37, seed=1).float()
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        one = torch.cdist(a, b, 3.0), F.pdist(a)
        torch.set_num_threads(2)
        assert torch.equal(one[0], torch.cdist(a, b, 3.0)) and torch.equal(one[1], F.pdist(a))
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize(
    "call",
    [
        lambda a, b: torch.cdist(a, b.float()),
        lambda a, b: torch.cdist(a, b, -1.0),
        lambda a, b: torch.cdist(a[0], b),
        lambda a, b: torch.cdist(a, b[:, :3]),
        lambda a, b: torch.cdist(a.long(), b.long()),
        lambda a, b: torch.cdist(a.half(), b.half()),
        lambda a, b: F.pdist(a[None]),
        lambda a, b: F.pdist(a, -1.0),
        lambda a, b: F.pdist(a.half()),
    ],
)
def test_errors(call):
    with pytest.raises(RuntimeError):
        call(draw(3, 4), draw(5, 4))


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 3.0])
def test_second_derivatives(p):
    a, b = draw(4, 3).requires_grad_(), draw(3, 3, seed=1).requires_grad_()
    assert gradgradcheck(lambda x, y: torch.cdist(x, y, p), (a, b))
    assert gradgradcheck(lambda x: F.pdist(x, p), a)
    # The composition from other operators has the same.
    loss = [f(a, b).sin().sum() for f in (lambda x, y: torch.cdist(x, y, p), lambda x, y: torch.linalg.vector_norm(x[:, None] - y, p, -1))]
    first = [torch.autograd.grad(x, (a, b), create_graph=True) for x in loss]
    second = [torch.autograd.grad((g[0] * g[0]).sum() + g[1].sin().sum(), (a, b)) for g in first]
    torch.testing.assert_close(second[0], second[1])
