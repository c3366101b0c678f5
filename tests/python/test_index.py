"""Reading and writing by index tensors, masks, gather and scatter, embedding tables."""
import numpy as np
import pytest
import torch


def base():
    return torch.arange(60.0).reshape(3, 4, 5)


def test_vector_of_indices():
    x = base()
    i = torch.tensor([2, 0, -1])
    assert x[i].tolist() == [x.tolist()[k] for k in (2, 0, 2)]
    assert x[:, i].tolist() == [[row[k] for k in (2, 0, 3)] for row in x.tolist()]
    assert x[i, i].tolist() == [x.tolist()[2][2], x.tolist()[0][0], x.tolist()[2][3]]


def test_indices_apart_come_first():
    x = base()
    i = torch.tensor([1, 2])
    assert x[i, :, i].shape == (2, 4)
    assert x[i, :, i].tolist() == [[x.tolist()[k][r][k] for r in range(4)] for k in (1, 2)]
    assert x[i[:, None], :, i].shape == (2, 2, 4)
    assert x[:, i[:, None], i].shape == (3, 2, 2)


def test_strides_follow_the_source():
    x = base().reshape(5, 4, 3).permute(2, 1, 0)
    i = torch.tensor([0, 2])
    assert x[i].stride() == (20, 1, 4)
    assert x[:, i].stride() == (1, 3, 6)
    assert x[i, :, i].stride() == (4, 1)


def test_masks():
    x = base()
    assert x[x > 57].tolist() == [58.0, 59.0]
    m = torch.tensor([True, False, True])
    assert x[m].tolist() == [x.tolist()[0], x.tolist()[2]]
    y = x.clone()
    y[y < 30] = -1.0
    assert y.sum().item() == -30 + sum(range(30, 60))
    assert x.masked_select(x > 57).tolist() == [58.0, 59.0]


def test_out_of_bounds():
    x = base()
    for bad in (torch.tensor([3]), torch.tensor([-4])):
        with pytest.raises(IndexError):
            x[bad]
    with pytest.raises(IndexError):
        x[torch.tensor([0.5])]
    with pytest.raises(IndexError):
        x[torch.ones(3, 5, dtype=torch.bool)]
    with pytest.raises(IndexError):
        x[torch.tensor([0, 1]), torch.tensor([0, 1, 2])]
    with pytest.raises(RuntimeError):
        x.gather(0, torch.full((1, 1, 1), 3))
    with pytest.raises(IndexError):
        x.index_select(0, torch.tensor([-1]))
    with pytest.raises(IndexError):
        torch.embedding(x[0], torch.tensor([4]))


def test_put_accumulates():
    x = torch.zeros(4)
    i = torch.tensor([1, 1, 3])
    x.index_put_((i,), torch.tensor([1.0, 2.0, 4.0]), accumulate=True)
    assert x.tolist() == [0.0, 3.0, 0.0, 4.0]
    assert torch.index_put(x, (i,), torch.tensor(9.0)).tolist() == [0.0, 9.0, 0.0, 9.0]


def test_gradients():
    x = base().requires_grad_()
    (x[torch.tensor([0, 0, 2])] * 2).sum().backward()
    assert x.grad.sum((1, 2)).tolist() == [80.0, 0.0, 40.0]
    x.grad = None
    x[x > 57].sum().backward()
    assert x.grad.sum().item() == 2
    y = torch.ones(3, requires_grad=True)
    z = torch.zeros(3, 3).index_put((torch.tensor([0, 2]),), y)
    z.sum().backward()
    assert y.grad.tolist() == [2.0, 2.0, 2.0]


def test_gather_and_scatter():
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    i = torch.tensor([[0, 0], [1, 0]])
    g = x.gather(1, i)
    assert g.tolist() == [[1.0, 1.0], [4.0, 3.0]]
    g.sum().backward()
    assert x.grad.tolist() == [[2.0, 0.0], [1.0, 1.0]]
    z = torch.zeros(2, 2)
    assert z.scatter(0, i, torch.tensor([[5.0, 6.0], [7.0, 8.0]])).tolist() == [[5.0, 8.0], [7.0, 0.0]]
    assert z.scatter_add(0, i, torch.tensor([[5.0, 6.0], [7.0, 8.0]])).tolist() == [[5.0, 14.0], [7.0, 0.0]]
    assert z.scatter(1, i, 3.0).tolist() == [[3.0, 0.0], [3.0, 3.0]]
    assert (z + 2).scatter(1, i, 3.0, reduce="multiply").tolist() == [[18.0, 2.0], [6.0, 6.0]]


def test_along_a_dimension():
    x = torch.zeros(3, 2)
    i = torch.tensor([2, 0, 2])
    s = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    assert x.index_add(0, i, s, alpha=2).tolist() == [[6.0, 8.0], [0.0, 0.0], [12.0, 16.0]]
    assert x.index_copy(0, i[:2], s[:2]).tolist() == [[3.0, 4.0], [0.0, 0.0], [1.0, 2.0]]
    assert x.index_fill(0, i, 7).tolist() == [[7.0, 7.0], [0.0, 0.0], [7.0, 7.0]]
    assert s.index_select(1, torch.tensor([1])).tolist() == [[2.0], [4.0], [6.0]]
    assert s.take(torch.tensor([[0, -1]])).tolist() == [[1.0, 6.0]]
    assert s.put(torch.tensor([0, 0]), torch.tensor([1.0, 1.0]), accumulate=True)[0, 0].item() == 3.0


def test_nonzero():
    x = torch.tensor([[0, 3], [5, 0]])
    assert x.nonzero().tolist() == [[0, 1], [1, 0]]
    rows, columns = torch.nonzero(x, as_tuple=True)
    assert (rows.tolist(), columns.tolist()) == ([0, 1], [1, 0])
    assert [t.tolist() for t in torch.where(x > 0)] == [[0, 1], [1, 0]]
    assert torch.nonzero_static(x, size=3).tolist() == [[0, 1], [1, 0], [-1, -1]]


def test_embedding():
    w = torch.arange(6.0).reshape(3, 2).requires_grad_()
    i = torch.tensor([[0, 2], [2, 1]])
    y = torch.nn.functional.embedding(i, w, padding_idx=1)
    assert y.tolist() == [[[0.0, 1.0], [4.0, 5.0]], [[4.0, 5.0], [2.0, 3.0]]]
    y.sum().backward()
    assert w.grad.tolist() == [[1.0, 1.0], [0.0, 0.0], [2.0, 2.0]]


def test_one_hot_and_masks_in_place():
    assert torch.nn.functional.one_hot(torch.tensor([1, 0])).tolist() == [[0, 1], [1, 0]]
    x = torch.zeros(2, 2)
    m = torch.tensor([[True, False], [False, True]])
    assert x.masked_fill(m, 2.0).tolist() == [[2.0, 0.0], [0.0, 2.0]]
    assert x.masked_scatter(m, torch.tensor([4.0, 5.0])).tolist() == [[4.0, 0.0], [0.0, 5.0]]


def test_nonzero_method():
    assert [t.tolist() for t in torch.tensor([0, 2]).nonzero(as_tuple=True)] == [[1]]


def test_take_along_dim_counts_from_the_end():
    x = base()[0]
    assert torch.take_along_dim(x, torch.tensor([[-1, 0]]), 1).tolist() == [[row[-1], row[0]] for row in x.tolist()]
    assert torch.take_along_dim(x, torch.tensor([-20, -1])).tolist() == [0.0, 19.0]
    for bad in (-6, 5):
        with pytest.raises(RuntimeError):
            torch.take_along_dim(x, torch.tensor([[bad]]), 1)


def test_unravel_index():
    i = torch.tensor([[1, 2, 3], [4, 5, 11]])
    rows, columns = torch.unravel_index(i, (3, 4))
    assert rows.tolist() == [[0, 0, 0], [1, 1, 2]] and columns.tolist() == [[1, 2, 3], [0, 1, 3]]
    assert torch.unravel_index(torch.tensor([5]), 12)[0].tolist() == [5] and torch.unravel_index(torch.tensor([5]), ()) == ()
    for bad in (torch.tensor([1.5]), torch.tensor([True]), 3):
        with pytest.raises(TypeError):
            torch.unravel_index(bad, (3, 4))
    for bad in ((3.0, 4), "ab", torch.tensor([3, 4])):
        with pytest.raises(TypeError):
            torch.unravel_index(i, bad)
    for bad in ((-3, 4), (0, 4)):
        with pytest.raises(ValueError):
            torch.unravel_index(i, bad)


def test_values_of_another_type_are_not_converted():
    a, at = torch.zeros(2, 3), torch.tensor([0])
    for values in (torch.tensor([1, 2, 3]), torch.tensor(5), torch.tensor([1.0], dtype=torch.float64), torch.tensor(1.0, dtype=torch.float16)):
        for write in (lambda: a.__setitem__(at, values), lambda: a.__setitem__([0], values), lambda: a.index_put_((at,), values), lambda: a.index_put((at,), values)):
            with pytest.raises(RuntimeError, match="float32"):
                write()
    with pytest.raises(RuntimeError):
        a[a == 0] = torch.arange(6)
    assert torch.equal(a, torch.zeros(2, 3))
    a[at] = 5  # a number is
    a[1] = torch.tensor([1, 2, 3])  # and what is copied
    assert a.tolist() == [[5, 5, 5], [1, 2, 3]]
    a[True] = torch.tensor([4, 5, 6])
    assert a.tolist() == [[4, 5, 6]] * 2


def test_one_value_of_another_type_under_a_mask():
    for value in (torch.tensor(5), torch.tensor([5]), torch.tensor([[5]])):
        for index in (torch.ones(2, 3, dtype=torch.bool), torch.tensor([True, True]), (slice(None), torch.tensor([True, True, True])), (torch.ones(2, 3, dtype=torch.bool), None)):
            a = torch.zeros(2, 3)
            a[index] = value
            assert a.tolist() == [[5.0] * 3] * 2
    a, mask = torch.zeros(3, dtype=torch.long), torch.tensor([True, False, True])
    assert a.index_put((mask,), torch.tensor(5.5)).tolist() == [5, 0, 5]
    with pytest.raises(RuntimeError):
        a.index_put((mask,), torch.tensor(5.5), accumulate=True)
    with pytest.raises(RuntimeError, match="complex"):
        torch.zeros(3)[mask] = torch.tensor(1j)
    v = torch.tensor(5.0, dtype=torch.float64, requires_grad=True)
    torch.zeros(3).index_put((mask,), v).sum().backward()
    assert v.grad.item() == 2 and v.grad.dtype == torch.float64


@pytest.mark.parametrize("value", [[1.0, 2.0, 3.0], (1.0,), None, np.ones(3)])
def test_lists_are_no_values(value):
    a = torch.zeros(3)
    for index in (slice(None), torch.tensor([0, 1, 2]), a == 0):
        with pytest.raises(TypeError, match=type(value).__name__):
            a[index] = value
    a[0] = np.float64(2)
    a[torch.tensor([1])] = np.int64(3)
    assert a.tolist() == [2, 3, 0]


def test_put_apart_from_what_is_read():
    a = torch.arange(6.0)
    for write in (lambda: a.put_(torch.arange(6), a), lambda: a.put_(torch.tensor([0, 1, 2]), a[1:4]), lambda: a.put_(torch.tensor([0, 1, 2]), a[1:4], accumulate=True),
                  lambda: a[1:4].put_(torch.tensor([0, 1, 2]), a[:3])):
        with pytest.raises(RuntimeError, match="memory"):
            write()
    i = torch.tensor([0, 1, 2])
    with pytest.raises(RuntimeError, match="memory"):
        i.put_(i, torch.tensor([9, 8, 7]))
    assert torch.equal(a.put(torch.arange(6), a), a) and torch.zeros(0).put_(i[:0], torch.zeros(0)).shape == (0,)
