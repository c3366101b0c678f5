"""Resizing, sampling, shuffles and patches: values by definition, formats, gradients of both orders, errors."""

import itertools
import math

import pytest
import torch
import torch.nn.functional as F
from torch.autograd import gradcheck, gradgradcheck

MODES = {1: ["linear"], 2: ["bilinear", "bicubic"], 3: ["trilinear"]}


def keys(x, a):
    x = abs(x)
    if x < 1:
        return (a + 2) * x**3 - (a + 3) * x**2 + 1
    return a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a if x < 2 else 0.0


def lanczos(x):
    return 0.0 if abs(x) >= 3 else 1.0 if x == 0 else 3 * math.sin(math.pi * x) * math.sin(math.pi * x / 3) / (math.pi * x) ** 2


def matrix(size, out, mode, corners=False, factor=None, antialias=False):
    """The (out, size) matrix that resizing along one axis multiplies by."""
    m = torch.zeros(out, size, dtype=torch.float64)
    scale = (size - 1) / (out - 1) if corners and out > 1 else 0.0 if corners else 1 / factor if factor else size / out
    for o in range(out):
        if mode == "nearest":
            m[o, min(int(o * scale), size - 1)] = 1
        elif mode == "nearest-exact":
            m[o, min(int((o + 0.5) * scale), size - 1)] = 1
        elif antialias:
            f = {"bilinear": (lambda x: max(0.0, 1 - abs(x)), 1), "bicubic": (lambda x: keys(x, -0.5), 2), "lanczos": (lanczos, 3)}[mode]
            wide = max(scale, 1.0)
            centre = scale * (o + 0.5)
            lo, hi = max(int(centre - f[1] * wide + 0.5), 0), min(int(centre + f[1] * wide + 0.5), size)
            w = [f[0]((k - centre + 0.5) / wide) for k in range(lo, hi)]
            for k in range(lo, hi):
                m[o, k] = w[k - lo] / sum(w)
        else:
            at = scale * o if corners else scale * (o + 0.5) - 0.5
            if mode == "bicubic":
                low = math.floor(at)
                for k in range(-1, 3):
                    m[o, min(max(low + k, 0), size - 1)] += keys(at - low - k, -0.75)
            else:
                at = max(at, 0.0)
                low = min(int(at), size - 1)
                m[o, low] += 1 - (at - low)
                m[o, min(low + 1, size - 1)] += at - low
    return m


def resized(x, matrices):
    for d, m in enumerate(matrices):
        x = torch.einsum("oi,i...->o...", m, x.movedim(d + 2, 0)).movedim(0, d + 2)
    return x


CASES = [
    (nd, mode, corners, antialias)
    for nd in (1, 2, 3)
    for mode in ["nearest", "nearest-exact", *MODES[nd]]
    for corners in ([None] if mode.startswith("nearest") else [False, True])
    for antialias in ([False, True] if mode in ("bilinear", "bicubic") else [False])
] + [(2, "lanczos", False, True)]


@pytest.mark.parametrize("nd,mode,corners,antialias", CASES)
def test_interpolate(nd, mode, corners, antialias):
    torch.manual_seed(0)
    x = torch.randn((2, 3, 5, 6, 7)[: nd + 2], dtype=torch.float64)
    for size in ((7, 3, 9)[:nd], (5, 6, 7)[:nd], (2, 11, 4)[:nd]):
        y = F.interpolate(x, size, mode=mode, align_corners=corners, antialias=antialias)
        want = resized(x, [matrix(a, b, mode, bool(corners), None, antialias) for a, b in zip(x.shape[2:], size)])
        torch.testing.assert_close(y, want)
        if nd > 1:
            f = torch.channels_last if nd == 2 else torch.channels_last_3d
            z = F.interpolate(x.contiguous(memory_format=f), size, mode=mode, align_corners=corners, antialias=antialias)
            assert torch.equal(z, y) and z.is_contiguous(memory_format=f)
        torch.testing.assert_close(
            F.interpolate(x.float(), size, mode=mode, align_corners=corners, antialias=antialias), want.float(), rtol=1e-5, atol=1e-5
        )
    if not corners:
        factor = 1.7
        sizes = [int(n * factor) for n in x.shape[2:]]
        y = F.interpolate(x, scale_factor=factor, mode=mode, align_corners=corners, antialias=antialias)
        torch.testing.assert_close(y, resized(x, [matrix(a, b, mode, False, factor, antialias) for a, b in zip(x.shape[2:], sizes)]))


@pytest.mark.parametrize("nd,mode,corners,antialias", CASES)
def test_interpolate_gradients(nd, mode, corners, antialias):
    x = torch.randn((1, 2, 3, 4, 2)[: nd + 2], dtype=torch.float64, requires_grad=True)
    f = lambda v: F.interpolate(v, (5, 3, 4)[:nd], mode=mode, align_corners=corners, antialias=antialias)
    assert gradcheck(f, (x,)) and gradgradcheck(f, (x,))


def test_threads_leave_the_bits():
    x = torch.randn(3, 20, 33, 41)
    before = torch.get_num_threads()
    try:
        results = []
        for n in (1, 2):
            torch.set_num_threads(n)
            v = x.clone().requires_grad_()
            y = F.interpolate(v, (70, 29), mode="bicubic")
            y.sum().backward()
            results.append((y.detach(), v.grad))
    finally:
        torch.set_num_threads(before)
    assert torch.equal(results[0][0], results[1][0]) and torch.equal(results[0][1], results[1][1])


def test_bytes_round_after_each_axis():
    x = (torch.arange(24).reshape(1, 1, 4, 6) * 10).to(torch.uint8)
    y = F.interpolate(x, scale_factor=1.5, mode="bilinear")
    assert y.dtype == torch.uint8 and y[0, 0, 0].tolist() == [0, 5, 12, 18, 25, 32, 38, 45, 50]
    y = F.interpolate(x, scale_factor=0.6, mode="bilinear", antialias=True)
    assert y.flatten().tolist() == [30, 46, 64, 124, 140, 158]
    assert F.interpolate(x, scale_factor=2).dtype == torch.uint8


@pytest.mark.parametrize(
    "call,error",
    [
        (lambda x: F.interpolate(x.long(), 4), NotImplementedError),
        (lambda x: F.interpolate(x.long(), 4, mode="bilinear"), NotImplementedError),
        (lambda x: F.interpolate(x, (0, 4)), RuntimeError),
        (lambda x: F.interpolate(x[:, :0], 4), RuntimeError),
        (lambda x: F.interpolate(x[:, :, :0], 4), RuntimeError),
        (lambda x: torch._C._nn.upsample_nearest2d(x, None, None), RuntimeError),
        (lambda x: torch._C._nn.upsample_nearest2d(x, (4,)), RuntimeError),
        (lambda x: torch._C._nn.upsample_nearest2d(x[0], (4, 4)), RuntimeError),
        (lambda x: F.grid_sample(x, torch.zeros(1, 2, 2, 2), align_corners=False), RuntimeError),
        (lambda x: F.grid_sample(x, torch.zeros(2, 2, 2, 3), align_corners=False), RuntimeError),
        (lambda x: F.grid_sample(x, torch.zeros(2, 2, 2, 2).double(), align_corners=False), RuntimeError),
        (lambda x: F.grid_sample(x.long(), torch.zeros(2, 2, 2, 2).long(), align_corners=False), NotImplementedError),
        (lambda x: torch.affine_grid_generator(torch.zeros(3, 2, 3), (2, 3, 4, 5), False), RuntimeError),
        (lambda x: F.pixel_shuffle(x, 2), RuntimeError),
        (lambda x: F.pixel_shuffle(x, 0), RuntimeError),
        (lambda x: F.pixel_unshuffle(x, 4), RuntimeError),
        (lambda x: F.channel_shuffle(x, 2), RuntimeError),
        (lambda x: F.unfold(x, 9), RuntimeError),
        (lambda x: F.unfold(x, 2, padding=-1), RuntimeError),
        (lambda x: F.unfold(x, 0), RuntimeError),
        (lambda x: F.unfold(x.long(), 2), NotImplementedError),
        (lambda x: F.fold(torch.zeros(1, 5, 4), (3, 3), 2), RuntimeError),
        (lambda x: F.fold(torch.zeros(1, 8, 5), (3, 3), 2), RuntimeError),
    ],
)
def test_errors(call, error):
    with pytest.raises(error):
        call(torch.randn(2, 3, 5, 6))


def sample_point(plane, x, y, mode, padding, corners):
    """One element by definition; plane (H, W)."""

    def place(v, n):
        return (v + 1) / 2 * (n - 1) if corners else ((v + 1) * n - 1) / 2

    def fold(v, n):
        if padding == "border":
            return min(max(v, 0), n - 1)
        if padding == "reflection":
            low, span = (0, n - 1) if corners else (-0.5, n)
            if span == 0:
                return 0.0
            v = abs(v - low)
            turns, rest = divmod(v, span)
            v = rest + low if turns % 2 == 0 else span - rest + low
            return min(max(v, 0), n - 1)
        return v

    h, w = plane.shape
    x, y = place(x, w), place(y, h)
    if mode != "bicubic":
        x, y = fold(x, w), fold(y, h)

    def read(i, j):
        if mode == "bicubic":
            i, j = int(fold(i, h)), int(fold(j, w))
        return plane[i, j].item() if 0 <= i < h and 0 <= j < w else 0.0

    if mode == "nearest":
        return read(round(y), round(x))
    i, j = math.floor(y), math.floor(x)
    if mode == "bilinear":
        return sum(read(i + a, j + b) * (1 - abs(y - i - a)) * (1 - abs(x - j - b)) for a in (0, 1) for b in (0, 1))
    return sum(read(i + a, j + b) * keys(y - i - a, -0.75) * keys(x - j - b, -0.75) for a in range(-1, 3) for b in range(-1, 3))


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("corners", [False, True])
def test_grid_sample(mode, padding, corners):
    torch.manual_seed(1)
    x = torch.randn(2, 3, 4, 5, dtype=torch.float64)
    grid = torch.rand(2, 3, 6, 2, dtype=torch.float64) * 4 - 2
    y = F.grid_sample(x, grid, mode, padding, corners)
    for n, c, i, j in itertools.product(range(2), range(3), range(3), range(6)):
        want = sample_point(x[n, c], grid[n, i, j, 0].item(), grid[n, i, j, 1].item(), mode, padding, corners)
        assert abs(y[n, c, i, j].item() - want) < 1e-10
    last = x.contiguous(memory_format=torch.channels_last)
    assert torch.equal(F.grid_sample(last, grid, mode, padding, corners), y)
    a, b = x.clone().requires_grad_(), grid.clone().requires_grad_()
    assert gradcheck(lambda a, b: F.grid_sample(a, b, mode, padding, corners), (a, b))


@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_second_derivatives_of_grid_sample(mode, padding, corners):
    torch.manual_seed(3)
    x = torch.randn(1, 2, 4, 3, dtype=torch.float64, requires_grad=True)
    grid = (torch.rand(1, 2, 3, 2, dtype=torch.float64) * 2.6 - 1.3).requires_grad_()

    def sample(a, b):
        return F.grid_sample(a, b, mode, padding, corners)
    assert gradgradcheck(sample, (x, grid), fast_mode=True)
    assert gradcheck(lambda b: sample(x.detach(), b), (grid,), fast_mode=True)  # of the grid alone


def test_second_derivatives_of_sampled_volumes():
    torch.manual_seed(3)
    x = torch.randn(1, 2, 3, 4, 3, dtype=torch.float64, requires_grad=True)
    grid = (torch.rand(1, 2, 3, 1, 3, dtype=torch.float64) * 2.6 - 1.3).requires_grad_()
    assert gradgradcheck(lambda a, b: F.grid_sample(a, b, "bilinear", "reflection", False), (x, grid), fast_mode=True)


@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_grid_sample_volumes(mode, padding):
    torch.manual_seed(2)
    x = torch.randn(1, 2, 3, 4, 5, dtype=torch.float64, requires_grad=True)
    grid = (torch.rand(1, 2, 2, 3, 3, dtype=torch.float64) * 3 - 1.5).requires_grad_()
    assert gradcheck(lambda a, b: F.grid_sample(a, b, mode, padding, False), (x, grid))
    # A grid in the middle plane of a volume that is constant along its depth samples that plane.
    plane = torch.randn(1, 2, 4, 5, dtype=torch.float64)
    at = torch.rand(1, 3, 3, 2, dtype=torch.float64) * 3 - 1.5
    volume = plane.unsqueeze(2).expand(1, 2, 3, 4, 5)
    at3 = torch.cat([at, torch.zeros(1, 3, 3, 1, dtype=torch.float64)], -1).unsqueeze(1)
    torch.testing.assert_close(F.grid_sample(volume, at3, mode, padding, False)[:, :, 0], F.grid_sample(plane, at, mode, padding, False))


def test_places_that_are_no_numbers():
    x = torch.arange(4.0).reshape(1, 1, 2, 2) + 1
    grid = torch.tensor([[[[math.nan, 0.0], [math.inf, 0.0], [1e30, 1e30], [0.0, math.nan]]]])
    y = F.grid_sample(x, grid, align_corners=False)
    assert y.isnan().flatten().tolist() == [True, True, False, True]
    assert F.grid_sample(x, grid, padding_mode="border", align_corners=False).flatten().tolist() == [2.0, 3.0, 4.0, 1.5]


def test_far_edge_of_volumes():
    """In a volume, padded by its border, a place that is no number is the far edge."""
    x = torch.arange(27.0).reshape(1, 1, 3, 3, 3)
    grid = torch.tensor([math.nan, -1.0, -1.0]).reshape(1, 1, 1, 1, 3)
    for mode in ("bilinear", "nearest"):
        assert F.grid_sample(x, grid, mode, "border", align_corners=True).item() == 2


@pytest.mark.parametrize("corners", [False, True])
def test_affine_grid(corners):
    theta = torch.eye(2, 3, dtype=torch.float64).expand(2, 2, 3).clone().requires_grad_()
    x = torch.randn(2, 3, 4, 5, dtype=torch.float64)
    grid = F.affine_grid(theta, x.shape, align_corners=corners)
    torch.testing.assert_close(F.grid_sample(x, grid, align_corners=corners), x)
    assert gradcheck(lambda t: F.affine_grid(t, (2, 1, 3, 4), align_corners=corners), (theta,))
    t3 = torch.randn(1, 3, 4, dtype=torch.float64, requires_grad=True)
    g = F.affine_grid(t3, (1, 1, 2, 3, 4), align_corners=corners)
    z, y, x = [[(2 * i + 1) / n - 1 if not corners else 2 * i / (n - 1) - 1 for i in range(n)] for n in (2, 3, 4)]
    want = t3 @ torch.tensor([x[3], y[1], z[0], 1.0], dtype=torch.float64)
    torch.testing.assert_close(g[0, 0, 1, 3], want[0])


def test_shuffles():
    x = torch.randn(2, 8, 3, 5, dtype=torch.float64, requires_grad=True)
    y = F.pixel_shuffle(x, 2)
    for c, h, w, i, j in itertools.product(range(2), range(3), range(5), range(2), range(2)):
        assert torch.equal(y[:, c, h * 2 + i, w * 2 + j], x[:, c * 4 + i * 2 + j, h, w])
    assert torch.equal(F.pixel_unshuffle(y, 2), x)
    z = F.channel_shuffle(x, 4)
    for g, i in itertools.product(range(4), range(2)):
        assert torch.equal(z[:, i * 4 + g], x[:, g * 2 + i])
    last = x.detach().contiguous(memory_format=torch.channels_last)
    for f in (lambda v: F.pixel_shuffle(v, 2), lambda v: F.channel_shuffle(v, 4)):
        assert torch.equal(f(last), f(x)) and f(last).is_contiguous(memory_format=torch.channels_last)
        assert gradcheck(f, (x,)) and gradgradcheck(f, (x,))
    assert gradcheck(lambda v: F.pixel_unshuffle(v, 2), (y.detach().requires_grad_(),))
    assert F.pixel_shuffle(torch.ones(4, 1, 1, dtype=torch.bool), 2).shape == (1, 2, 2)


@pytest.mark.parametrize("kernel,dilation,padding,stride", [((2, 3), 1, 0, 1), ((3, 2), (1, 2), (1, 0), (2, 1)), (2, 2, 2, 3)])
def test_patches(kernel, dilation, padding, stride):
    x = torch.randn(2, 3, 6, 7, dtype=torch.float64, requires_grad=True)
    pair = lambda v: (v, v) if isinstance(v, int) else v
    (kh, kw), (dh, dw), (ph, pw), (sh, sw) = map(pair, (kernel, dilation, padding, stride))
    oh, ow = (6 + 2 * ph - dh * (kh - 1) - 1) // sh + 1, (7 + 2 * pw - dw * (kw - 1) - 1) // sw + 1
    y = F.unfold(x, kernel, dilation, padding, stride)
    wide = F.pad(x, (pw, pw, ph, ph))
    rows = [
        wide[:, c, i * dh : i * dh + sh * (oh - 1) + 1 : sh, j * dw : j * dw + sw * (ow - 1) + 1 : sw].reshape(2, -1)
        for c in range(3)
        for i in range(kh)
        for j in range(kw)
    ]
    assert torch.equal(y, torch.stack(rows, 1))
    assert torch.equal(F.unfold(x[0], kernel, dilation, padding, stride), y[0])
    # fold is the transpose: <unfold(x), v> = <x, fold(v)>
    v = torch.randn_like(y)
    back = F.fold(v, (6, 7), kernel, dilation, padding, stride)
    torch.testing.assert_close((y * v).sum(), (x * back).sum())
    f = lambda t: F.unfold(t, kernel, dilation, padding, stride)
    g = lambda t: F.fold(t, (6, 7), kernel, dilation, padding, stride)
    assert gradcheck(f, (x,)) and gradgradcheck(f, (x,))
    assert gradcheck(g, (v[:, :, :].requires_grad_(),))
