"""sort, argsort, msort, topk."""
import math

import pytest
import torch


def test_sort_is_stable_and_nan_is_greatest():
    values, indices = torch.tensor([2.0, math.nan, 1.0, 2.0]).sort()
    assert indices.tolist() == [2, 0, 3, 1]
    assert values[:3].tolist() == [1.0, 2.0, 2.0] and math.isnan(values[3].item())
    assert torch.tensor([2, 1, 2]).argsort(descending=True).tolist() == [0, 2, 1]


def test_topk_and_its_gradient():
    x = torch.tensor([[1.0, 5.0, 3.0], [4.0, 0.0, 2.0]], requires_grad=True)
    values, indices = x.topk(2, 1)
    assert values.tolist() == [[5.0, 3.0], [4.0, 2.0]] and indices.tolist() == [[1, 2], [0, 2]]
    values.sum().backward()
    assert x.grad.tolist() == [[0.0, 1.0, 1.0], [1.0, 0.0, 1.0]]
    assert x.topk(1, 0, largest=False)[0].tolist() == [[1.0, 0.0, 2.0]]
    with pytest.raises(RuntimeError):
        x.topk(4, 1)


def test_msort():
    assert torch.msort(torch.tensor([[3, 1], [2, 5]])).tolist() == [[2, 1], [3, 5]]


def test_topk_of_equal_elements_takes_distinct_places():
    x = torch.tensor([2, 1, 2, 2, 0, 1] * 50)
    for k in (1, 4, 150, 299, 300):
        for largest in (True, False):
            values, places = x.topk(k, largest=largest)
            assert torch.equal(x[places], values) and len(set(places.tolist())) == k
            assert values.tolist() == sorted(x.tolist(), reverse=largest)[:k]
    values, places = torch.tensor([float("nan"), 1.0, float("nan"), 3.0]).topk(3)
    assert values.isnan().tolist() == [True, True, False] and values[2] == 3.0
    values = torch.arange(100).topk(10, sorted=False)[0]
    assert sorted(values.tolist()) == list(range(90, 100))
