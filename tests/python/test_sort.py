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


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8,
                                   torch.uint8, torch.bool])
@pytest.mark.parametrize("n", [5, 1023, 1024, 4097])
def test_long_rows_keep_the_order_of_equal_elements(dtype, n):
    torch.manual_seed(n)
    x = torch.randint(0, 2, (2, n)).bool() if dtype == torch.bool else (torch.randn(2, n) * 30).to(dtype)
    for descending in (False, True):
        values, places = x.sort(dim=1, descending=descending, stable=True)
        rows = x.tolist()
        for row, p in zip(rows, places.tolist()):
            assert p == sorted(range(n), key=lambda i: -row[i] if descending else row[i])
        assert torch.equal(x.gather(1, places), values)


def test_long_rows_with_nan_infinities_and_zeros():
    x = torch.zeros(1500)
    x[3], x[5], x[7], x[11], x[13], x[17] = math.nan, -math.inf, math.inf, -math.nan, -1e-45, 1e-45
    x[1000:] = -0.0
    values, places = x.sort(stable=True)
    assert places[:2].tolist() == [5, 13] and places[-4:].tolist() == [17, 7, 3, 11]
    assert places[2:-4].tolist() == [i for i in range(1500) if i not in (3, 5, 7, 11, 13, 17)]
    values, places = x.sort(descending=True, stable=True)
    assert places[:4].tolist() == [3, 11, 7, 17] and places[-2:].tolist() == [13, 5]
    assert x[places].view(torch.int32).tolist() == values.view(torch.int32).tolist()


def test_few_of_many():
    torch.manual_seed(0)
    x = torch.randn(3, 6401)
    x[1, 77] = math.nan
    for k in (1, 2, 99, 100):
        for largest in (True, False):
            values, places = x.topk(k, largest=largest)
            ordered = x.sort(dim=1, descending=largest)[0][:, :k]
            assert torch.equal(values.nan_to_num(9.0), ordered.nan_to_num(9.0)) and torch.equal(x.gather(1, places).nan_to_num(9.0), values.nan_to_num(9.0))
