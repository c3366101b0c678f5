"""Dropout in place: the draws of the functional form, written into the argument, with its derivative."""

import pytest
import torch
import torch.nn.functional as F


@pytest.mark.parametrize("f", [F.dropout, F.alpha_dropout, F.feature_alpha_dropout, F.dropout2d, F.dropout3d])
@pytest.mark.parametrize("p", [0.0, 0.4, 1.0])
def test_in_place(f, p):
    x = torch.randn(4, 6, 3, 2, 2)[(slice(None),) * 3 + ((0,) if f is F.dropout2d else (slice(None),))]
    torch.manual_seed(1)
    want = f(x, p, True)
    y = x.clone()
    torch.manual_seed(1)
    got = f(y, p, True, inplace=True)
    assert got is y and torch.equal(y, want)
    leaf = x.clone().requires_grad_()
    torch.manual_seed(1)
    f(leaf.clone(), p, True, inplace=True).sum().backward()
    other = x.clone().requires_grad_()
    torch.manual_seed(1)
    f(other, p, True).sum().backward()
    assert torch.equal(leaf.grad, other.grad)
    z = x.clone()
    assert f(z, p, False, inplace=True) is z and torch.equal(z, x)


def test_einsum_of_small_integers_sums_in_int64():
    x = torch.arange(6, dtype=torch.int32).reshape(1, 2, 3)
    y = torch.arange(3, dtype=torch.int32)
    assert torch.einsum("iji->j", x[:, :, :1]).dtype == torch.int64
    z = torch.einsum("...ik,...j->ij", x, y)
    assert z.dtype == torch.int64 and z.tolist() == [[0, 3, 6], [0, 12, 24]]
    assert torch.einsum("ij,jk->ik", x[0], x[0].T).dtype == torch.int32


def test_draws_on_the_meta_device():
    x = torch.empty(2, 3, device="meta")
    for call in (
        lambda: x.uniform_(), lambda: x.normal_(), lambda: x.cauchy_(), lambda: x.exponential_(), lambda: x.geometric_(0.5), lambda: x.log_normal_(),
        lambda: x.bernoulli_(0.5), lambda: x.random_(5), lambda: torch.poisson(x), lambda: torch.rand_like(x), lambda: torch.randint_like(x, 5),
        lambda: F.dropout(x, 0.5, True), lambda: torch.bernoulli(x), lambda: torch.randn(2, 3, device="meta"),
    ):
        y = call()
        assert y.is_meta and y.shape == (2, 3)
    assert torch.multinomial(x, 2).shape == (2, 2)
    for call in (lambda: x.uniform_(2, 1), lambda: x.normal_(0, -1), lambda: x.random_(0), lambda: x.geometric_(1.5), lambda: torch.multinomial(x, 0)):
        with pytest.raises(RuntimeError):
            call()
