"""Bags of rows of a table: embedding_bag in its modes, gradients, limits; embedding_renorm_."""
import pytest
import torch
import torch.nn.functional as F

INDICES = [1, 2, 4, 5, 1, 0]
OFFSETS = [0, 2, 2, 4]


def table(requires_grad=False, dtype=torch.float32):
    return torch.arange(12.0, dtype=dtype).reshape(6, 2).requires_grad_(requires_grad)


def bags(offsets=OFFSETS, n=len(INDICES)):
    return [INDICES[a:b] for a, b in zip(offsets, offsets[1:] + [n])]


def call(weight, mode, **kw):
    return F.embedding_bag(torch.tensor(INDICES), weight, torch.tensor(OFFSETS), mode=mode, **kw)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_sum_mean_and_max(dtype):
    w = table(dtype=dtype)
    rows = w.tolist()
    column = lambda bag, k: [rows[i][k] for i in bag]  # noqa: E731
    assert call(w, "sum").tolist() == [[sum(column(b, k)) for k in (0, 1)] for b in bags()]
    assert call(w, "mean").tolist() == [[sum(column(b, k)) / max(len(b), 1) for k in (0, 1)] for b in bags()]
    assert call(w, "max").tolist() == [[max(column(b, k), default=0) for k in (0, 1)] for b in bags()]
    assert call(w, "sum").dtype == dtype


def test_rows_of_a_matrix_are_bags():
    i = torch.tensor(INDICES).reshape(2, 3)
    assert F.embedding_bag(i, table(), mode="sum").tolist() == [[14.0, 17.0], [12.0, 15.0]]


def test_padding_takes_no_part():
    w = table(True)
    assert call(w, "mean", padding_idx=1).tolist() == [[4.0, 5.0], [0.0, 0.0], [9.0, 10.0], [0.0, 1.0]]
    assert call(w, "max", padding_idx=-5).tolist() == [[4.0, 5.0], [0.0, 0.0], [10.0, 11.0], [0.0, 1.0]]
    out = call(w, "sum", padding_idx=1)
    out.sum().backward()
    assert out[0].tolist() == [4.0, 5.0]
    assert w.grad[:, 0].tolist() == [1.0, 0.0, 1.0, 0.0, 1.0, 1.0]


def test_last_offset_may_be_the_end():
    out = F.embedding_bag(torch.tensor(INDICES), table(), torch.tensor([0, 2, 2, 4]), mode="sum", include_last_offset=True)
    assert out.tolist() == [[6.0, 8.0], [0.0, 0.0], [18.0, 20.0]]


def test_what_else_is_returned():
    w, i, o = table(), torch.tensor(INDICES), torch.tensor(OFFSETS)
    _, to_bag, sizes, places = torch.embedding_bag(w, i, o, False, 2)
    assert to_bag.tolist() == [0, 0, 2, 2, 3, 3] and sizes.tolist() == [2, 0, 2, 2]
    assert places.tolist() == [[2, 2], [0, 0], [5, 5], [1, 1]]
    _, to_bag, sizes, places = torch.embedding_bag(w, i.int(), o.int(), False, 1)
    assert to_bag.dtype == sizes.dtype == places.dtype == torch.int32 and sizes.tolist() == places.tolist() == [2, 0, 2, 2]
    assert torch.embedding_bag(w, i, o)[1].numel() == 0
    assert torch._embedding_bag(w, i, o, mode=1)[0].tolist() == torch._embedding_bag_forward_only(w, i, o, mode=1)[0].tolist()


def test_gradients_of_each_mode():
    for mode, expected in (("sum", [1.0, 2.0, 1.0, 0.0, 1.0, 1.0]), ("mean", [0.5, 1.0, 0.5, 0.0, 0.5, 0.5]),
                           ("max", [0.0, 1.0, 1.0, 0.0, 0.0, 1.0])):
        w = table(True)
        out = call(w, mode)
        assert out.grad_fn.name() == "EmbeddingBagBackward0"
        out.sum().backward()
        assert w.grad.tolist() == [[e, e] for e in expected]


def test_gradient_by_frequency():
    w = table(True)
    call(w, "sum", scale_grad_by_freq=True).sum().backward()
    assert w.grad[:, 0].tolist() == [1.0, 1.0, 1.0, 0.0, 1.0, 1.0]


def test_weights_of_samples():
    w = table(True, torch.float64)
    s = torch.tensor([0.5, 2.0, 1.0, 3.0, -1.0, 4.0], dtype=torch.float64, requires_grad=True)
    out = call(w, "sum", per_sample_weights=s)
    assert out[0].tolist() == [0.5 * 2 + 2 * 4, 0.5 * 3 + 2 * 5]
    out.sum().backward()
    assert s.grad.tolist() == [5.0, 9.0, 17.0, 21.0, 5.0, 1.0]
    assert w.grad[:, 1].tolist() == [4.0, -0.5, 2.0, 0.0, 1.0, 3.0]
    assert torch.autograd.gradcheck(lambda a, b: call(a, "sum", per_sample_weights=b), (w, s))


def test_module_learns_the_rows_it_is_given():
    torch.manual_seed(0)
    bag = torch.nn.EmbeddingBag(5, 3, mode="mean", padding_idx=0)
    optimizer = torch.optim.SGD(bag.parameters(), lr=0.5)
    target = torch.tensor([[1.0, 2.0, 3.0]])
    for _ in range(40):
        optimizer.zero_grad()
        loss = (bag(torch.tensor([[1, 2, 0]])) - target).square().sum()
        loss.backward()
        optimizer.step()
    assert loss.item() < 1e-6 and bag.weight[0].tolist() == [0.0, 0.0, 0.0]


def test_threads_change_no_bit():
    torch.manual_seed(1)
    w, i = torch.randn(300, 33), torch.randint(300, (5000,))
    o = torch.arange(0, 5000, 7)
    results = []
    before = torch.get_num_threads()
    for n in (1, 2):
        torch.set_num_threads(n)
        x = w.clone().requires_grad_()
        out = F.embedding_bag(i, x, o, mode="mean")
        out.square().sum().backward()
        results.append((out.detach(), x.grad))
    torch.set_num_threads(before)
    assert torch.equal(results[0][0], results[1][0]) and torch.equal(results[0][1], results[1][1])


@pytest.mark.parametrize("change", [
    {"offsets": [1, 2]}, {"offsets": [0, 7]}, {"offsets": [0, 4, 2]}, {"indices": [6]}, {"indices": [-1]}, {"mode": 3}, {"padding_idx": 6},
    {"padding_idx": -7}, {"indices": [0.5]},
])
def test_bad_input(change):
    indices, offsets = torch.tensor(change.get("indices", INDICES)), torch.tensor(change.get("offsets", [0]))
    with pytest.raises(RuntimeError):
        torch.embedding_bag(table(), indices, offsets, False, change.get("mode", 0), False, None, False, change.get("padding_idx"))


def test_sample_weights_belong_to_sums():
    i, o = torch.tensor(INDICES), torch.tensor(OFFSETS)
    for mode, weights in ((1, torch.ones(6)), (0, torch.ones(5)), (0, torch.ones(6, dtype=torch.float64))):
        with pytest.raises(RuntimeError):
            torch.embedding_bag(table(), i, o, False, mode, False, weights)
    with pytest.raises(RuntimeError):
        torch.embedding_bag(table().long(), i, o)


def test_renorm_of_named_rows():
    w = torch.tensor([[3.0, 4.0], [3.0, 4.0], [0.3, 0.4]])
    r = torch.embedding_renorm_(w, torch.tensor([[0, 2], [0, 2]]), 1.0, 2.0)
    assert r is w
    torch.testing.assert_close(w, torch.tensor([[0.6, 0.8], [3.0, 4.0], [0.3, 0.4]]))
    assert w[1].tolist() == [3.0, 4.0] and w[2].tolist() == torch.tensor([0.3, 0.4]).tolist()
    with pytest.raises(IndexError):
        torch.embedding_renorm_(w, torch.tensor([3]), 1.0, 2.0)
    out = F.embedding(torch.tensor([1]), w, max_norm=1.0)
    assert out.norm().item() == pytest.approx(1.0, abs=1e-6) and w[1].norm().item() == pytest.approx(1.0, abs=1e-6)
