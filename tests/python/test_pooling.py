"""Pooling: values against loops over windows, places, formats, gradients of both orders, and errors."""

import itertools
import math

import pytest
import torch
import torch.nn.functional as F
from torch.autograd import gradcheck, gradgradcheck


def windows(size, kernel, stride, padding, dilation=1, ceil_mode=False):
    """For each window of one axis: its positions within the input, and how many count with padding."""
    reach = dilation * (kernel - 1) + 1
    span = (size + 2 * padding - reach) / stride
    count = (math.ceil(span) if ceil_mode else math.floor(span)) + 1
    if ceil_mode and (count - 1) * stride >= size + padding:
        count -= 1
    result = []
    for o in range(count):
        start = o * stride - padding
        inside = [start + dilation * k for k in range(kernel) if 0 <= start + dilation * k < size]
        result.append((inside, min(start + reach, size + padding) - start))
    return result


def adaptive_windows(size, out):
    result = []
    for o in range(out):
        inside = list(range(o * size // out, -(-(o + 1) * size // out)))
        result.append((inside, len(inside)))
    return result


def pool(x, axes, reduce):
    """reduce(elements, positions, full count) over every plane of x."""
    nd = len(axes)
    lead, spatial = x.shape[: x.dim() - nd], x.shape[x.dim() - nd :]
    planes = x.reshape(-1, *spatial)
    rows = []
    for plane in planes:
        for boxes in itertools.product(*axes):
            places = list(itertools.product(*[inside for inside, _ in boxes]))
            full = math.prod(n for _, n in boxes)
            flat = [sum(p * math.prod(spatial[i + 1 :]) for i, p in enumerate(place)) for place in places]
            rows.append(reduce([plane[place].item() for place in places], flat, full))
    shape = (*lead, *[len(a) for a in axes])
    return [
        torch.tensor(column, dtype=torch.float64 if isinstance(column[0], float) else torch.int64).reshape(shape)
        for column in zip(*rows)
    ]


def largest(elements, flat, full):
    i = max(range(len(elements)), key=lambda k: (elements[k], -k))
    return elements[i], flat[i]


SHAPES = {1: (2, 3, 11), 2: (2, 3, 7, 9), 3: (2, 2, 5, 6, 7)}
FORMATS = {2: torch.channels_last, 3: torch.channels_last_3d}
MAX = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
AVG = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}
ADAPTIVE_AVG = {1: F.adaptive_avg_pool1d, 2: F.adaptive_avg_pool2d, 3: F.adaptive_avg_pool3d}
ADAPTIVE_MAX = {1: F.adaptive_max_pool1d, 2: F.adaptive_max_pool2d, 3: F.adaptive_max_pool3d}


@pytest.mark.parametrize("nd", [1, 2, 3])
@pytest.mark.parametrize(
    "kernel,stride,padding,dilation,ceil_mode",
    [(2, None, 0, 1, False), (3, 2, 1, 1, False), (3, 2, 1, 1, True), (2, 1, 1, 2, False), (2, 3, 1, 1, True)],
)
def test_max_pool(nd, kernel, stride, padding, dilation, ceil_mode):
    torch.manual_seed(nd)
    x = torch.randn(SHAPES[nd])
    axes = [windows(n, kernel, stride or kernel, padding, dilation, ceil_mode) for n in x.shape[2:]]
    want, where = pool(x, axes, largest)
    inputs = [x, x.transpose(0, 1).contiguous().transpose(0, 1)]
    if nd > 1:
        inputs.append(x.contiguous(memory_format=FORMATS[nd]))
    for v in inputs:
        y, i = MAX[nd](v, kernel, stride, padding, dilation, ceil_mode, return_indices=True)
        assert torch.equal(y.double(), want) and torch.equal(i, where)
        if nd > 1:
            assert y.is_contiguous(memory_format=FORMATS[nd]) == v.is_contiguous(memory_format=FORMATS[nd])
    y, i = MAX[nd](x[0], kernel, stride, padding, dilation, ceil_mode, return_indices=True)
    assert torch.equal(y.double(), want[0]) and torch.equal(i, where[0])


@pytest.mark.parametrize("nd", [1, 2, 3])
@pytest.mark.parametrize(
    "kernel,stride,padding,ceil_mode,include,divisor",
    [(2, None, 0, False, True, None), (3, 2, 1, True, True, None), (3, 2, 1, True, False, None), (3, 2, 1, False, True, 5)],
)
def test_avg_pool(nd, kernel, stride, padding, ceil_mode, include, divisor):
    if nd == 1 and divisor:
        pytest.skip("avg_pool1d takes no divisor")
    torch.manual_seed(nd)
    x = torch.randn(SHAPES[nd], dtype=torch.float64)
    axes = [windows(n, kernel, stride or kernel, padding, 1, ceil_mode) for n in x.shape[2:]]

    def mean(elements, flat, full):
        return (math.fsum(elements) / (divisor or (full if include else len(elements))),)

    (want,) = pool(x, axes, mean)
    extra = () if nd == 1 else (divisor,)
    stride = stride or []
    y = AVG[nd](x, kernel, stride, padding, ceil_mode, include, *extra)
    torch.testing.assert_close(y, want)
    if nd > 1:
        v = x.contiguous(memory_format=FORMATS[nd])
        assert torch.equal(AVG[nd](v, kernel, stride, padding, ceil_mode, include, *extra), y)


@pytest.mark.parametrize("nd,size", [(1, 4), (2, (3, 5)), (2, (1, 1)), (2, (9, 2)), (3, (2, 3, 4)), (3, (1, 1, 1))])
def test_adaptive(nd, size):
    torch.manual_seed(nd)
    x = torch.randn(SHAPES[nd], dtype=torch.float64)
    sizes = (size,) if isinstance(size, int) else size
    axes = [adaptive_windows(n, o) for n, o in zip(x.shape[2:], sizes)]
    (mean,) = pool(x, axes, lambda e, f, n: (math.fsum(e) / n,))
    want, where = pool(x, axes, largest)
    torch.testing.assert_close(ADAPTIVE_AVG[nd](x, size), mean)
    y, i = ADAPTIVE_MAX[nd](x, size, return_indices=True)
    assert torch.equal(y, want) and torch.equal(i, where)


def test_to_size_one_keeps_the_format():
    y = F.adaptive_avg_pool2d(torch.randn(2, 3, 4, 5).contiguous(memory_format=torch.channels_last), 1)
    assert y.stride() == (3, 1, 3, 3)


def test_nan_and_infinity():
    x = torch.full((1, 1, 4, 4), -math.inf)
    y, i = F.max_pool2d(x, 2, return_indices=True)
    assert (y == -math.inf).all() and i.flatten().tolist() == [0, 2, 8, 10]
    x = torch.zeros(1, 1, 2, 4)
    x[0, 0, 0, 1] = x[0, 0, 1, 0] = math.nan
    for v in (x, x.expand(1, 2, 2, 4).contiguous(memory_format=torch.channels_last)):
        y, i = F.max_pool2d(v, 2, return_indices=True)
        assert y[0, 0].isnan().tolist() == [[True, False]] and i[0, 0].tolist() == [[4, 2]]


def test_integers():
    x = torch.arange(16, dtype=torch.int64).reshape(1, 1, 4, 4)
    assert F.max_pool2d(x, 2).flatten().tolist() == [5, 7, 13, 15]
    assert F.avg_pool2d(x, 2).flatten().tolist() == [2, 4, 10, 12]
    for call in (lambda: F.adaptive_avg_pool2d(x, 2), lambda: F.avg_pool2d(x.int(), 2), lambda: F.max_pool1d(x[0], 2)):
        with pytest.raises(NotImplementedError):
            call()


def test_fractional_places():
    # From the definition: with u = 0.3 over 9 and u = 0.7 over 13, 4 and 6 windows of 2 and 3 elements.
    def starts(u, size, count, kernel):
        a = (size - kernel) / (count - 1)
        return [int((i + u) * a) - int(u * a) for i in range(count - 1)] + [size - kernel]

    x = torch.zeros(1, 1, 9, 13)  # all equal: the first of each window is found
    samples = torch.tensor([[[0.7, 0.3]]])  # width, then height
    y, i = F.fractional_max_pool2d(x, (2, 3), (4, 6), return_indices=True, _random_samples=samples)
    want = [h * 13 + w for h in starts(0.3, 9, 4, 2) for w in starts(0.7, 13, 6, 3)]
    assert i.flatten().tolist() == want and y.shape == (1, 1, 4, 6)
    x = torch.zeros(1, 9, 11, 13)
    samples = torch.tensor([[[0.4, 0.9, 0.15]]])  # depth, height, width
    _, i = F.fractional_max_pool3d(x, 2, (5, 4, 6), return_indices=True, _random_samples=samples)
    want = [
        (d * 11 + h) * 13 + w
        for d in starts(0.4, 9, 5, 2)
        for h in starts(0.9, 11, 4, 2)
        for w in starts(0.15, 13, 6, 2)
    ]
    assert i.flatten().tolist() == want


def test_fractional_samples_come_from_the_generator():
    x = torch.randn(2, 3, 9, 8)
    torch.manual_seed(3)
    y = F.fractional_max_pool2d(x, 2, output_ratio=0.5)
    torch.manual_seed(3)
    samples = torch.rand(2, 3, 2)
    assert torch.equal(y, F.fractional_max_pool2d(x, 2, (4, 4), _random_samples=samples))


@pytest.mark.parametrize("nd", [1, 2, 3])
def test_unpool_inverts(nd):
    unpool = {1: F.max_unpool1d, 2: F.max_unpool2d, 3: F.max_unpool3d}[nd]
    x = torch.rand((2, 3) + (6,) * nd) + 1
    y, i = MAX[nd](x, 2, return_indices=True)
    back = unpool(y, i, 2)
    assert back.shape == x.shape and torch.equal(torch.where(back != 0, x, 0.0), back)
    assert torch.equal(MAX[nd](back, 2), y) and int((back != 0).sum()) == y.numel()
    bigger = unpool(y, i, 2, output_size=[7] * nd)
    assert bigger.shape[2:] == (7,) * nd and torch.equal(bigger.flatten(2)[..., : i.max() + 1], back.flatten(2)[..., : i.max() + 1])


def test_unpool_last_of_one_place_stays():
    x = torch.arange(4.0).reshape(1, 2, 2)
    y = F.max_unpool2d(x, torch.tensor([[[0, 0], [3, 3]]]), 1, 1)
    assert y.tolist() == [[[1.0, 0.0], [0.0, 3.0]]]


@pytest.mark.parametrize(
    "f,shape",
    [
        (lambda x: F.max_pool1d(x, 3, 2, 1), (2, 2, 7)),
        (lambda x: F.max_pool2d(x, 3, 2, 1), (2, 2, 5, 4)),
        (lambda x: F.max_pool3d(x, 2, 1), (1, 2, 3, 4, 3)),
        (lambda x: F.avg_pool1d(x, 3, 2, 1), (2, 2, 7)),
        (lambda x: F.avg_pool2d(x, 3, 2, 1, True, False), (2, 2, 5, 4)),
        (lambda x: F.avg_pool3d(x, 2, 1, 1, divisor_override=3), (1, 2, 3, 4, 3)),
        (lambda x: F.adaptive_avg_pool2d(x, (2, 3)), (2, 2, 5, 4)),
        (lambda x: F.adaptive_avg_pool3d(x, 2), (1, 2, 3, 4, 3)),
        (lambda x: F.adaptive_max_pool1d(x, 3), (2, 2, 7)),
        (lambda x: F.adaptive_max_pool2d(x, (2, 3)), (2, 2, 5, 4)),
        (lambda x: F.adaptive_max_pool3d(x, 2), (1, 2, 3, 4, 3)),
        (lambda x: F.lp_pool2d(x.exp(), 3, 2), (1, 2, 4, 4)),
        (lambda x: F.fractional_max_pool2d(x, 2, 3, _random_samples=torch.full((1, 2, 2), 0.4).double()), (1, 2, 6, 5)),
        (lambda x: F.fractional_max_pool3d(x, 2, 2, _random_samples=torch.full((1, 2, 3), 0.4).double()), (1, 2, 4, 4, 4)),
        (lambda x: F.max_unpool2d(x, torch.arange(8).reshape(1, 2, 2, 2), 2), (1, 2, 2, 2)),
    ],
)
def test_gradients(f, shape):
    torch.manual_seed(0)
    x = torch.randn(shape, dtype=torch.float64, requires_grad=True)
    assert gradcheck(f, (x,)) and gradgradcheck(f, (x,))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_types_sum_in_float(dtype):
    x = (torch.arange(64.0).reshape(1, 4, 4, 4) / 7).to(dtype)
    for v in (x, x.contiguous(memory_format=torch.channels_last)):
        assert torch.equal(F.avg_pool2d(v, 2), F.avg_pool2d(x.float(), 2).to(dtype))
        assert torch.equal(F.max_pool2d(v, 2), F.max_pool2d(x.float(), 2).to(dtype))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: F.max_pool2d(x, 0),
        lambda x: F.max_pool2d(x, 2, 0),
        lambda x: F.max_pool2d(x, 2, padding=2),
        lambda x: F.max_pool2d(x, 2, padding=-1),
        lambda x: F.max_pool2d(x, 2, dilation=0),
        lambda x: F.max_pool2d(x, 20),
        lambda x: F.max_pool2d(x, (2, 2, 2)),
        lambda x: F.max_pool2d(x[0, 0], 2),
        lambda x: F.max_pool2d(x[:, :0], 2),
        lambda x: F.max_pool2d(x[:, :, :0], 2),
        lambda x: F.avg_pool2d(x, 2, divisor_override=0),
        lambda x: F.adaptive_avg_pool2d(x, (-1, 2)),
        lambda x: F.adaptive_max_pool2d(x, (-1, 2)),
        lambda x: torch._C._nn.fractional_max_pool2d(x, 2, (8, 4), torch.rand(2, 3, 2)),
        lambda x: torch._C._nn.fractional_max_pool2d(x, 2, (4, 4), torch.rand(2, 3, 2).double()),
        lambda x: torch._C._nn.fractional_max_pool2d(x, 2, (4, 4), torch.rand(1, 3, 2)),
        lambda x: torch._C._nn.max_unpool2d(x, torch.full(x.shape, 81), (9, 9)),
        lambda x: torch._C._nn.max_unpool2d(x, torch.full(x.shape, -1), (9, 9)),
        lambda x: torch._C._nn.max_unpool2d(x, torch.zeros(x.shape, dtype=torch.int32), (9, 9)),
        lambda x: torch._C._nn.max_unpool2d(x, torch.zeros(2, 3, 4, 4, dtype=torch.int64), (9, 9)),
    ],
)
def test_errors(call):
    with pytest.raises(RuntimeError):
        call(torch.randn(2, 3, 8, 7))


def test_empty_batch_and_meta():
    assert F.max_pool2d(torch.empty(0, 3, 8, 8), 2).shape == (0, 3, 4, 4)
    assert F.adaptive_avg_pool2d(torch.empty(0, 3, 8, 8), 3).shape == (0, 3, 3, 3)
    y, i = F.max_pool2d(torch.empty(2, 3, 8, 8, device="meta"), 2, return_indices=True)
    assert y.is_meta and i.dtype == torch.int64 and y.shape == (2, 3, 4, 4)


@pytest.mark.parametrize("name,rest", [("max_pool3d_with_indices", ([2] * 3, [], [0] * 3, [1] * 3, False)), ("fractional_max_pool2d", ([2] * 2, [3] * 2)), ("adaptive_max_pool2d", ())])
def test_gradients_that_do_not_go_with_the_input_are_refused(name, rest):
    nd = int(name.split("pool")[1][0])
    back = getattr(torch.ops.aten, name + "_backward")
    x, g, i = torch.randn(1, 2, *[4] * nd), torch.randn(1, 2, *[2] * nd), torch.zeros(1, 2, *[2] * nd, dtype=torch.int64)
    assert back(g, x, *rest, i).shape == x.shape
    for a, b, c in ((g, torch.zeros(()), i), (torch.zeros(0), x, i), (g[:, :1], x, i[:, :1]), (g, x, i.int()), (g, x, i + 1000), (g, torch.zeros(1, 2, *[0] * nd), i)):
        with pytest.raises(RuntimeError):
            back(a, b, *rest, c)


def test_sizes_of_results_are_said_one_by_one():
    x, cube = torch.rand(1, 2, 6, 6), torch.rand(1, 2, 6, 6, 6)
    for f in (lambda: F.adaptive_avg_pool2d(x, [5]), lambda: F.adaptive_avg_pool2d(x, [1]), lambda: F.adaptive_max_pool2d(x, (5,)), lambda: F.adaptive_avg_pool3d(cube, [5]),
              lambda: F.adaptive_max_pool3d(cube, [5]), lambda: F.adaptive_avg_pool2d(x, [1, 2, 3]), lambda: torch._C._nn.fractional_max_pool2d(x, [2], [3, 3], torch.rand(1, 2, 2)),
              lambda: torch._C._nn.fractional_max_pool2d(x, [2, 2], [3], torch.rand(1, 2, 2))):
        with pytest.raises(RuntimeError, match="must be [23] ints"):
            f()
    assert F.adaptive_avg_pool2d(x, 5).shape == (1, 2, 5, 5) and F.adaptive_max_pool3d(cube, 4).shape == (1, 2, 4, 4, 4)
    assert F.max_pool2d(x, [3]).shape == (1, 2, 2, 2) and F.avg_pool2d(x, [3]).shape == (1, 2, 2, 2)  # windows are not
