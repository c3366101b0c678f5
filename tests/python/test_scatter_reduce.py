"""scatter_reduce and index_reduce against loops over the elements, and their gradients."""
import math

import pytest
import torch

KINDS = ["sum", "prod", "mean", "amax", "amin"]


def combined(kind, values):
    if kind == "sum":
        return sum(values)
    if kind == "prod":
        return math.prod(values)
    if kind == "mean":
        return sum(values) / len(values)
    return max(values) if kind == "amax" else min(values)


def by_hand(x, index, src, kind, include_self):
    """Along dimension 0 of matrices."""
    out = [list(row) for row in x]
    for c in range(len(x[0])):
        for j in range(len(x)):
            met = [src[i][c] for i in range(len(index)) if index[i][c] == j]
            if met:
                out[j][c] = combined(kind, ([x[j][c]] if include_self else []) + met)
    return out


def example(dtype=torch.float64):
    torch.manual_seed(0)
    x = torch.randint(1, 5, (4, 3)).to(dtype)
    src = torch.randint(1, 5, (6, 3)).to(dtype)
    return x, torch.randint(0, 4, (6, 3)), src


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_values(kind, include_self):
    x, index, src = example()
    expected = torch.tensor(by_hand(x.tolist(), index.tolist(), src.tolist(), kind, include_self), dtype=torch.float64)
    torch.testing.assert_close(x.scatter_reduce(0, index, src, kind, include_self=include_self), expected)
    turned = x.t().scatter_reduce(1, index.t(), src.t(), kind, include_self=include_self)
    torch.testing.assert_close(turned, expected.t())
    y = x.clone()
    assert y.scatter_reduce_(0, index, src, kind, include_self=include_self) is y
    torch.testing.assert_close(y, expected)


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("kind", KINDS[1:])
def test_index_reduce_is_one_index_for_all(kind, include_self):
    x, _, src = example()
    index = torch.tensor([3, 0, 0, 1, 3, 3])
    expected = by_hand(x.tolist(), [[i] * 3 for i in index.tolist()], src.tolist(), kind, include_self)
    got = x.index_reduce(0, index, src, kind, include_self=include_self)
    torch.testing.assert_close(got, torch.tensor(expected, dtype=torch.float64))
    torch.testing.assert_close(x.t().contiguous().index_reduce_(1, index.int(), src.t(), kind, include_self=include_self), got.t())


def test_integers_wrap_and_round_down():
    x = torch.tensor([100, -3], dtype=torch.int8)
    assert x.scatter_reduce(0, torch.tensor([0, 1]), torch.tensor([100, -4], dtype=torch.int8), "sum").tolist() == [-56, -7]
    y = torch.tensor([1, -4])
    assert y.scatter_reduce(0, torch.tensor([0, 1]), torch.tensor([2, -3]), "mean").tolist() == [1, -4]
    for kind, expected in (("amax", [2, -3]), ("amin", [2, -3])):
        assert y.scatter_reduce(0, torch.tensor([0, 1]), torch.tensor([2, -3]), kind, include_self=False).tolist() == expected


def test_nan_wins():
    x = torch.tensor([1.0, math.nan])
    for kind in ("amax", "amin"):
        assert x.scatter_reduce(0, torch.tensor([0, 1]), torch.tensor([math.nan, 1.0]), kind).isnan().all()


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_gradients(kind, include_self):
    _, index, _ = example()
    torch.manual_seed(1)
    x, src = torch.rand(4, 3, dtype=torch.float64) + 0.5, torch.rand(6, 3, dtype=torch.float64) + 0.5
    x.requires_grad_(), src.requires_grad_()
    assert torch.autograd.gradcheck(lambda a, b: a.scatter_reduce(0, index, b, kind, include_self=include_self), (x, src))
    assert torch.autograd.gradcheck(lambda a, b: (a * 1).scatter_reduce_(0, index[:5, :2], b, kind, include_self=include_self), (x, src))
    assert torch.autograd.gradgradcheck(lambda a, b: a.scatter_reduce(0, index[:5, :2], b, kind, include_self=include_self), (x, src))
    if kind != "sum":
        at = torch.tensor([3, 0, 0, 1, 3, 3])
        assert torch.autograd.gradcheck(lambda a, b: a.index_reduce(0, at, b, kind, include_self=include_self), (x, src))
    name = x.scatter_reduce(0, index, src, kind).grad_fn.name()
    assert name == "ScatterReduceBackward0"


def test_gradients_of_products_with_zeros():
    x = torch.tensor([2.0, 0.0, 3.0], dtype=torch.float64, requires_grad=True)
    src = torch.tensor([0.0, 5.0, 4.0, 0.0, 0.0], dtype=torch.float64, requires_grad=True)
    index = torch.tensor([0, 0, 1, 2, 2])
    assert torch.autograd.gradcheck(lambda a, b: a.scatter_reduce(0, index, b, "prod"), (x, src))
    x.scatter_reduce(0, index, src, "prod").sum().backward()
    assert x.grad.tolist() == [0.0, 4.0, 0.0] and src.grad.tolist() == [10.0, 0.0, 0.0, 0.0, 0.0]


def test_ties_share():
    x = torch.tensor([2.0, 1.0], requires_grad=True)
    src = torch.tensor([2.0, 2.0, 3.0], requires_grad=True)
    x.scatter_reduce(0, torch.tensor([0, 0, 1]), src, "amax").sum().backward()
    torch.testing.assert_close(x.grad, torch.tensor([1 / 3, 0.0]))
    torch.testing.assert_close(src.grad, torch.tensor([1 / 3, 1 / 3, 1.0]))


def test_bad_input():
    x, index, src = example()
    for args in ((0, index, src, "median"), (0, index, src.float(), "sum"), (0, index + 4, src, "sum"), (0, index - 4, src, "amax"),
                 (0, index, src[:2], "sum"), (0, index[0], src, "sum")):
        with pytest.raises(RuntimeError):
            x.scatter_reduce(*args)
    with pytest.raises(RuntimeError):
        x.index_reduce(0, torch.tensor([0]), src[:1], "sum")
    with pytest.raises(RuntimeError):
        x.expand(2, 4, 3).scatter_reduce_(0, index[None], src[None], "sum")
    with pytest.raises(IndexError):
        x.scatter_reduce(2, index, src, "sum")
