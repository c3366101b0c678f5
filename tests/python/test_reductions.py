"""Reductions, scans, softmax and normalisations: values by mathematics, bits by comparison with other layouts."""
import math

import pytest
import torch


def bits(t):
    return t.contiguous().numpy().tobytes()


@pytest.fixture
def x():
    torch.manual_seed(3)
    return torch.randn(6, 5, 7, 8)


def by_threads(f):
    before = torch.get_num_threads()
    try:
        results = []
        for n in (1, 2):
            torch.set_num_threads(n)
            results.append(bits(f()))
    finally:
        torch.set_num_threads(before)
    assert results[0] == results[1]
    return results[0]


@pytest.mark.parametrize("name", ["sum", "mean", "var", "amax", "logsumexp", "prod"])
@pytest.mark.parametrize("dim", [0, 1, 3])
def test_strides_and_threads_leave_the_bits(x, name, dim):
    f = getattr(torch, name)
    want = by_threads(lambda: f(x, dim))
    last = x.contiguous(memory_format=torch.channels_last)
    turned = x.permute(3, 2, 1, 0).contiguous().permute(3, 2, 1, 0)
    assert by_threads(lambda: f(last, dim)) == want
    assert by_threads(lambda: f(turned, dim)) == want


@pytest.mark.parametrize("f", [lambda t: torch.softmax(t, -1), lambda t: torch.log_softmax(t, -1),
                               lambda t: torch.layer_norm(t, (t.shape[-1],))])
def test_a_row_alone_has_the_bits_of_the_batch(f):
    torch.manual_seed(1)
    x = torch.randn(9, 1000)
    whole = f(x)
    for i in (0, 4, 8):
        assert bits(f(x[i:i + 1])) == bits(whole[i:i + 1])


def test_softmax_over_any_dimension_is_that_over_the_last(x):
    for dim in range(4):
        want = torch.softmax(x.movedim(dim, -1).contiguous(), -1).movedim(-1, dim)
        assert bits(torch.softmax(x, dim)) == bits(want)


def test_types_of_results():
    i = torch.arange(6, dtype=torch.int32).view(2, 3)
    assert i.sum().dtype is torch.int64 and i.sum().item() == 15
    assert i.prod(1).tolist() == [0, 60]
    assert i.amax(1).dtype is torch.int32
    assert i.sum(dtype=torch.float16).dtype is torch.float16
    assert i.bool().any().dtype is torch.bool and i.to(torch.uint8).all(1).dtype is torch.uint8
    for f in (i.mean, i.var, i.norm):
        with pytest.raises(RuntimeError):
            f()
    with pytest.raises(NotImplementedError):
        i.softmax(0)


def test_what_has_no_value_raises():
    e = torch.empty(0, 3)
    assert e.sum().item() == 0 and e.prod().item() == 1 and math.isnan(e.mean().item())
    with pytest.raises(RuntimeError):
        e.amax()
    with pytest.raises(IndexError):
        e.amax(0)
    with pytest.raises(IndexError):
        e.argmax()
    with pytest.raises(IndexError):
        torch.ones(2, 3).sum(5)
    with pytest.raises(RuntimeError):
        torch.ones(2, 3).sum((0, 0))
    with pytest.raises(RuntimeError):
        torch.kthvalue(torch.ones(3), 4)


def test_names_of_gradient_functions():
    x = torch.ones(2, 3, requires_grad=True)
    names = {"SumBackward0": x.sum(), "SumBackward1": x.sum(1), "MaxBackward0": x.max(1)[0], "MaxBackward1": x.max(), "VarBackward0": x.var(),
             "SoftmaxBackward0": x.softmax(1), "LogSoftmaxBackward0": x.log_softmax(1), "CumsumBackward0": x.cumsum(0),
             "NativeLayerNormBackward0": torch.layer_norm(x, (3,)), "LinalgVectorNormBackward0": torch.linalg.vector_norm(x)}
    for name, y in names.items():
        assert type(y.grad_fn).__name__ == name


def test_order_statistics():
    x = torch.tensor([[3.0, 1.0, 2.0, 1.0], [float("nan"), 5.0, 4.0, 4.0]])
    assert x[0].median().item() == 1 and math.isnan(x[1].median().item()) and x[1].nanmedian().item() == 4
    assert x.mode(1)[0][0].item() == 1 and x.mode(1)[1].tolist() == [3, 3]
    assert [t.item() for t in x[0].kthvalue(3)] == [2, 2]
    assert torch.quantile(torch.arange(5.0), 0.375).item() == 1.5


def test_scans():
    x = torch.tensor([1.0, 3.0, 2.0, 3.0])
    assert x.cumsum(0).tolist() == [1, 4, 6, 9] and x.cumprod(0).tolist() == [1, 3, 6, 18]
    assert x.cummax(0)[1].tolist() == [0, 1, 1, 3]
    assert torch.diff(x).tolist() == [2, -1, 1] and torch.trapezoid(x).item() == 7
    z = torch.tensor([2.0, 0.0, 3.0], requires_grad=True)
    z.cumprod(0).sum().backward()
    assert z.grad.tolist() == [1, 8, 0]


def test_histograms():
    x = torch.tensor([0.0, 1.0, 1.0, 2.0])
    assert torch.histc(x, 2).tolist() == [1, 3]
    assert torch.bincount(torch.tensor([1, 1, 3]), minlength=2).tolist() == [0, 2, 0, 1]


def test_batch_norm_moves_its_running_statistics():
    x = torch.tensor([[1.0], [3.0]])
    mean, var = torch.zeros(1), torch.ones(1)
    y = torch.batch_norm(x, None, None, mean, var, True, 0.5, 0.0, False)
    assert y.flatten().tolist() == [-1, 1] and mean.item() == 1 and var.item() == 1.5
    y = torch.batch_norm(x, None, None, mean, torch.ones(1), False, 0.5, 0.0, False)
    assert y.flatten().tolist() == [0, 2]


def test_kthvalue_and_mode_among_equal_elements():
    torch.manual_seed(0)
    for n in (1, 2, 3, 17, 300):
        x = torch.randint(0, 5, (n,))
        for k in (1, (n + 1) // 2, n):
            value, place = x.kthvalue(k)
            assert value.item() == sorted(x.tolist())[k - 1] and x[place] == value
        value, place = x.mode()
        assert value.item() == min(range(5), key=lambda v: (-x.tolist().count(v), v)) and x[place] == value
    # Selection by the median of three, with equal elements swapped, as PyTorch tells the place.
    assert torch.tensor([0, 3, 1, 0, 3]).kthvalue(1)[1].item() == 3
    assert torch.tensor([3, 3, 3, 1, 3, 1, 2, 0, 3, 2]).kthvalue(5)[1].item() == 9
    # A falling and rising line splits badly: still found.
    x = torch.cat([torch.arange(2000.0), torch.arange(2000.0, 0, -1)])
    assert x.kthvalue(3999)[0].item() == 1999.0 and x.kthvalue(4000)[0].item() == 2000.0


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.int32])
@pytest.mark.parametrize("shape,order", [((700, 611), (1, 0)), ((7, 130, 29, 23), (0, 3, 1, 2)), ((9, 40, 1501), (2, 0, 1)), ((3, 5, 70001), (1, 2, 0)),
                                         ((300, 4096), (1, 0)), ((4, 70, 64, 64), (0, 2, 3, 1)), ((3, 77, 8192), (0, 2, 1))])
def test_all_of_a_large_tensor_in_any_order_of_memory(shape, order, dtype):
    torch.manual_seed(5)
    plain = (torch.randn(shape) * 4).to(dtype)
    back = [order.index(d) for d in range(len(shape))]
    turned = plain.permute(order).contiguous().permute(back)
    assert turned.shape == plain.shape and not turned.is_contiguous()
    names = ["sum", "amax"] if dtype == torch.int32 else ["sum", "mean", "var", "amax"]
    for name in names:
        f = getattr(torch, name)
        assert by_threads(lambda: f(turned)) == by_threads(lambda: f(plain)), name
    if dtype == torch.float64:
        assert abs(turned.sum().item() - math.fsum(plain.flatten().tolist())) < 1e-7


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int32, torch.int64, torch.bool, torch.float16, torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("n", [5, 4096, 4097, 131072, 131073, 300001])
def test_first_extreme_of_a_long_row(dtype, n):
    x = torch.zeros(n, dtype=dtype)
    ordered = dtype != torch.bool
    assert not ordered or (x.argmax().item() == 0 and x.argmin().item() == 0)
    for place in {0, n // 2, n - 1}:
        y = x.clone()
        y[place:] = 1
        for z in (y, torch.stack([y, x], 1)[:, 0]):
            value, at = z.max(0)
            assert value.item() == 1 and at.item() == place
            assert not ordered or (z.argmax().item() == place and z.argmin().item() == 0)
            low, at = z.logical_not().to(dtype).min(0)
            assert low.item() == 0 and at.item() == place


@pytest.mark.parametrize("n", [7, 5000, 140000, 400000])
def test_first_nan_of_a_long_row(n):
    x = torch.arange(n, dtype=torch.float32)
    for places in ([n - 1], [n // 2, n - 1], [0, n // 3]):
        y = x.clone()
        y[places] = float("nan")
        for z in (y, y.bfloat16(), torch.stack([y, x], 1)[:, 0]):
            for extreme in (torch.max, torch.min):
                value, at = extreme(z, 0)
                assert value.isnan() and at.item() == places[0]
            assert z.argmax().item() == places[0] == z.argmin().item()


def test_results_that_no_gradient_needs_may_be_written():
    x = torch.tensor([0.1, 0.5, -0.3], dtype=torch.float64, requires_grad=True)
    v = x.var()
    v.add_(1)
    v.backward()
    torch.testing.assert_close(x.grad, (x - x.mean()).detach(), rtol=1e-14, atol=0)  # 2 / (n - 1) of it
    x.grad = None
    v, m = torch.var_mean(x)
    v.mul_(3)
    (v + m).backward()
    torch.testing.assert_close(x.grad, (3 * (x - x.mean()) + 1 / 3).detach(), rtol=1e-14, atol=0)
    x.grad = None
    y = x.erfinv()
    want = math.sqrt(math.pi) * y.detach().square().exp()
    y.mul_(2)
    y.sum().backward()
    torch.testing.assert_close(x.grad, want, rtol=1e-14, atol=0)
