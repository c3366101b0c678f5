"""cumsum and cumprod: each line is a chain of float64 additions, rounded once per element, whatever the layout."""
import itertools
import operator

import pytest
import torch


def chain(row, f):
    return list(itertools.accumulate(row, f))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [(1, 9), (3, 5), (4, 4), (5, 1), (8, 7), (13, 18), (21, 259)])
@pytest.mark.parametrize("name,f", [("cumsum", operator.add), ("cumprod", operator.mul)])
def test_lines_are_chains_of_doubles(dtype, shape, name, f):
    torch.manual_seed(0)
    x = torch.randn(shape, dtype=dtype)
    expected = torch.tensor([chain(row, f) for row in x.double().tolist()], dtype=torch.float64).to(dtype)
    assert torch.equal(getattr(x, name)(1), expected)
    assert torch.equal(getattr(x.t().contiguous(), name)(0), expected.t())
    assert torch.equal(getattr(x.t(), name)(0), expected.t())
    middle = torch.stack([x.t(), x.t()]).contiguous()
    assert torch.equal(getattr(middle, name)(1), torch.stack([expected.t()] * 2))


def test_threads_change_no_bit():
    torch.manual_seed(0)
    x = torch.randn(67, 1203)
    before = torch.get_num_threads()
    got = []
    for n in (1, 2):
        torch.set_num_threads(n)
        got.append((x.cumsum(0), x.cumsum(1), x.cumprod(1)))
    torch.set_num_threads(before)
    assert all(torch.equal(a, b) for a, b in zip(*got))


def test_in_place_and_special_values():
    x = torch.tensor([[1.0, float("inf"), float("-inf"), 2.0]] * 9)
    y = x.clone().cumsum_(1)
    assert y[:, 1].isinf().all() and y[:, 2:].isnan().all() and y[8, 0] == 1.0
    assert torch.tensor([3.0e38, 3.0e38, -3.0e38]).cumsum(0).tolist()[2] == torch.tensor(3.0e38).item()


@pytest.mark.parametrize("place", [0.0, 500.0, -500.0])
def test_gradient_of_logcumsumexp_is_linear_where_it_is_zero(place):
    """What torch.autograd.functional differentiates twice has gradients of zeros; the definition gives the same."""
    x = torch.tensor([[0.35, -0.15, 0.25], [0.1, 0.6, -0.4]], dtype=torch.float64) + place
    v = torch.tensor([[1.0, -2.0, 0.5], [0.25, 1.0, 3.0]], dtype=torch.float64)

    def by_definition(z):
        return (z - place).exp().cumsum(1).log() + place

    for product in (torch.autograd.functional.jvp, torch.func.jvp):
        pair = ((x,), (v,)) if product is torch.func.jvp else (x, v)
        value, slope = product(lambda z: z.logcumsumexp(1), *pair)
        torch.testing.assert_close(slope, product(by_definition, *pair)[1], rtol=1e-10, atol=0)
    loss = [lambda z, f=f: ((f(z) - place) ** 2).sum() for f in (lambda z: z.logcumsumexp(1), by_definition)]
    got, want = (torch.autograd.functional.hvp(f, x, v)[1] for f in loss)
    torch.testing.assert_close(got, want, rtol=1e-10, atol=1e-12)


def test_gradient_of_complex_logcumsumexp_far_from_one():
    """Equal numbers: what comes to the i-th of n is the sum of 1 / j, i <= j <= n. exp(10000) is no number."""
    z = torch.full((5,), 1e4, dtype=torch.complex128, requires_grad=True)
    z.logcumsumexp(0).backward(torch.ones_like(z))
    torch.testing.assert_close(z.grad, torch.tensor([137 / 60, 77 / 60, 47 / 60, 9 / 20, 1 / 5], dtype=torch.complex128))
    z = torch.tensor([-1e4, 1e4], dtype=torch.complex128, requires_grad=True)
    z.logcumsumexp(0).backward(torch.tensor([1j, 2.0], dtype=torch.complex128))
    torch.testing.assert_close(z.grad, torch.tensor([1j, 2], dtype=torch.complex128))
    z = torch.tensor([0.3 + 1j, -0.5, 0.2 - 2j], dtype=torch.complex128, requires_grad=True)
    g = torch.tensor([1.0, 0, 2j], dtype=torch.complex128)   # linear where it is zero, too
    assert torch.autograd.gradcheck(lambda a: a.logcumsumexp(0), z)

    def slope(b):
        with torch.enable_grad():
            return torch.autograd.grad(z.logcumsumexp(0), z, b, create_graph=True)[0]

    assert torch.autograd.gradcheck(slope, g.requires_grad_())
