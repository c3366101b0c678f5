"""unique and kin, searchsorted, bucketize, isin, repeat_interleave."""
import bisect
import math

import pytest
import torch

TYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]


@pytest.mark.parametrize("dtype", TYPES)
def test_unique_inverse_and_counts(dtype):
    x = torch.tensor([[3, 1, 2], [1, 3, 3]], dtype=dtype)
    values, inverse, counts = torch.unique(x, return_inverse=True, return_counts=True)
    assert values.tolist() == [1, 2, 3] and values.dtype == dtype and counts.tolist() == [2, 1, 3]
    assert torch.equal(values[inverse], x)
    assert torch.unique(x).tolist() == x.unique(sorted=False).tolist() == [1, 2, 3]


def test_unique_of_many():
    torch.manual_seed(0)
    x = torch.randint(-40000, 40000, (200000,))
    values, inverse, counts = torch.unique(x, return_inverse=True, return_counts=True)
    assert values.tolist() == sorted(set(x.tolist())) and torch.equal(values[inverse], x)
    assert torch.equal(counts, torch.bincount(inverse))


def test_no_nan_equals_another():
    values, inverse, counts = torch.unique(torch.tensor([1.0, math.nan, 0.0, math.nan, -0.0]), return_inverse=True, return_counts=True)
    assert values[:2].tolist() == [0.0, 1.0] and values[2:].isnan().tolist() == [True, True]
    assert inverse.tolist() == [1, 2, 0, 3, 0] and counts.tolist() == [2, 1, 1, 1]


def test_unique_slices():
    x = torch.tensor([[1, 2], [0, 5], [1, 2], [0, 4]])
    values, inverse, counts = torch.unique(x, dim=0, return_inverse=True, return_counts=True)
    assert values.tolist() == [[0, 4], [0, 5], [1, 2]] and inverse.tolist() == [2, 1, 2, 0] and counts.tolist() == [1, 1, 2]
    y = (torch.arange(24.0).reshape(2, 3, 4) % 5)
    values, inverse = torch.unique(y, dim=1, return_inverse=True)
    assert values.stride() == (4, 8, 1) and inverse.tolist() == [0, 2, 1] and torch.equal(values[:, inverse], y)


def test_unique_runs():
    x = torch.tensor([1, 1, 2, 2, 1])
    values, inverse, counts = torch.unique_consecutive(x, return_inverse=True, return_counts=True)
    assert values.tolist() == [1, 2, 1] and inverse.tolist() == [0, 0, 1, 1, 2] and counts.tolist() == [2, 2, 1]
    rows = torch.tensor([[1, 2], [1, 2], [0, 0], [1, 2]])
    values, counts = rows.unique_consecutive(return_counts=True, dim=0)
    assert values.tolist() == [[1, 2], [0, 0], [1, 2]] and counts.tolist() == [2, 1, 1]


def test_unique_of_nothing():
    values, inverse, counts = torch.unique(torch.empty(0, 3), return_inverse=True, return_counts=True)
    assert values.shape == (0,) and inverse.shape == (0, 3) and counts.shape == (0,)
    assert torch.unique(torch.empty(0, 3), dim=0).shape == (0, 3)
    for shape, dim in (((0, 3), 1), ((0, 0), 1)):
        with pytest.raises(RuntimeError):
            torch.unique(torch.empty(shape), dim=dim)
    with pytest.raises(IndexError):
        torch.unique(torch.tensor(3), dim=0)
    with pytest.raises(NotImplementedError):
        torch.unique(torch.tensor([1j]))


def test_unique_has_no_gradient():
    with pytest.raises(NotImplementedError):
        torch.unique(torch.ones(2, requires_grad=True)).sum().backward()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("right", [False, True])
def test_searchsorted_against_bisect(dtype, right):
    row, values = [1, 3, 3, 7, 20], [0, 1, 2, 3, 7, 8, 20, 21]
    find = bisect.bisect_right if right else bisect.bisect_left
    got = torch.searchsorted(torch.tensor(row, dtype=dtype), torch.tensor(values, dtype=dtype), right=right)
    assert got.tolist() == [find(row, v) for v in values] and got.dtype == torch.int64
    assert torch.bucketize(torch.tensor(values, dtype=dtype), torch.tensor(row, dtype=dtype), right=right).tolist() == got.tolist()


def test_searchsorted_by_row_and_with_sorter():
    s, v = torch.tensor([[1.0, 3, 5], [2, 4, 6]]), torch.tensor([[3.0, 4], [3, math.nan]])
    assert torch.searchsorted(s, v).tolist() == [[1, 2], [1, 3]]
    assert torch.searchsorted(s, v, side="right").tolist() == [[2, 2], [1, 3]]
    order = torch.tensor([1, 2, 0])
    assert torch.searchsorted(torch.tensor([5.0, 1, 3]), torch.tensor([1.0, 3, 4]), sorter=order).tolist() == [0, 1, 2]
    assert torch.searchsorted(s[0], 3.5, out_int32=True).dtype == torch.int32
    assert torch.searchsorted(torch.tensor([1, 2, 5]), 2.5).item() == 2
    assert torch.bucketize(2, torch.tensor([1.0, 2, 5]), right=True).item() == 2
    assert torch.searchsorted(torch.empty(0), v).tolist() == [[0, 0], [0, 0]]


def test_searchsorted_refuses():
    s, v = torch.tensor([[1.0, 3, 5], [2, 4, 6]]), torch.ones(2, 2)
    bad = [dict(side="left", right=True), dict(side="x"), dict(sorter=torch.tensor([0, 1, 2])), dict(sorter=torch.tensor([[0, 1, 3]] * 2)),
           dict(sorter=torch.tensor([[0, 1, 2]] * 2, dtype=torch.int32))]
    for kw in bad:
        with pytest.raises(RuntimeError):
            torch.searchsorted(s, v, **kw)
    for a, b in ((s, v[:1]), (s, 3), (torch.tensor(1.0), v)):
        with pytest.raises(RuntimeError):
            torch.searchsorted(a, b)
    with pytest.raises(RuntimeError):
        torch.bucketize(v, s)
    with pytest.raises(NotImplementedError):
        torch.searchsorted(s[0] > 2, v > 2)


def test_isin():
    x = torch.tensor([[3, 1, 2], [1, 3, 3]])
    assert torch.isin(x, torch.tensor([1, 2])).tolist() == [[False, True, True], [True, False, False]]
    assert torch.isin(x, torch.tensor([1.0, 2.5]), invert=True).tolist() == [[True, False, True], [False, True, True]]
    assert torch.isin(x, 3).tolist() == (x == 3).tolist()
    assert torch.isin(3, x).item() is True and torch.isin(x, torch.tensor([])).any().item() is False
    assert torch.isin(torch.tensor([math.nan, 1.0]), torch.tensor([math.nan, 1.0])).tolist() == [False, True]
    assert torch.isin(torch.arange(1000), torch.arange(0, 1000, 3)).tolist() == [i % 3 == 0 for i in range(1000)]
    for bad in (x > 1, x + 1j):
        with pytest.raises(RuntimeError):
            torch.isin(bad, bad)


def test_repeat_interleave():
    x = torch.tensor([[3, 1, 2], [1, 3, 3]])
    assert torch.repeat_interleave(torch.tensor([2, 0, 3])).tolist() == [0, 0, 2, 2, 2]
    assert torch.repeat_interleave(torch.tensor([2, 1], dtype=torch.int32)).dtype == torch.int32
    assert x.repeat_interleave(2).tolist() == [v for row in x.tolist() for v in row for _ in (0, 1)]
    assert x.repeat_interleave(2, dim=1).tolist() == [[3, 3, 1, 1, 2, 2], [1, 1, 3, 3, 3, 3]]
    assert x.repeat_interleave(torch.tensor([2, 1]), dim=0).tolist() == [[3, 1, 2], [3, 1, 2], [1, 3, 3]]
    assert x.repeat_interleave(torch.tensor(2), 0, output_size=4).shape == (4, 3)
    assert x.repeat_interleave(0, 0).shape == (0, 3) and torch.tensor(3).repeat_interleave(2).tolist() == [3, 3]


def test_repeat_interleave_gradient_and_refusals():
    x = torch.ones(2, 3, requires_grad=True)
    (x.repeat_interleave(2, 1).sum() + x.repeat_interleave(torch.tensor([0, 3]), 0).sum()).backward()
    assert x.grad.tolist() == [[2.0] * 3, [5.0] * 3]
    for args, kw in (((x, -1), {}), ((x, torch.tensor([1, 2, 3]), 0), {}), ((x, torch.tensor([[1, 2]]), 0), {}), ((x, 2, 0), {"output_size": 5}),
                     ((torch.tensor([2, -1]),), {}), ((torch.tensor([2, 1]),), {"output_size": 4})):
        with pytest.raises(RuntimeError):
            torch.repeat_interleave(*args, **kw)
    with pytest.raises(IndexError):
        torch.repeat_interleave(x, 2, 5)
    with pytest.raises(NotImplementedError):
        torch.repeat_interleave(torch.tensor([1.5]))
