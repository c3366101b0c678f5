"""Gradients of operators that only choose: they require grad as PyTorch's do, and what comes back a second time is zeros."""
import pytest
import torch
import torch.nn.functional as F

nn = torch._C._nn
PLANE = torch.arange(48.0, dtype=torch.float64).reshape(1, 2, 4, 6).sin() * 3
CLASSES, TARGET = torch.log_softmax(PLANE.reshape(8, 6), 1), torch.tensor([0, 3, 1, 5, 2, 4, 0, 1])


def noise(*shape):
    return torch.rand(shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


CHOOSING = {
    "relu": (torch.relu, PLANE), "relu6": (F.relu6, PLANE), "hardtanh": (lambda x: F.hardtanh(x, -0.5, 2), PLANE),
    "leaky_relu": (lambda x: F.leaky_relu(x, 0.2), PLANE), "threshold": (lambda x: F.threshold(x, 0.5, 2), PLANE),
    "hardshrink": (F.hardshrink, PLANE), "softshrink": (F.softshrink, PLANE), "hardsigmoid": (F.hardsigmoid, PLANE),
    "rrelu": (lambda x: F.rrelu(x, training=False), PLANE), "prelu": (lambda x: F.prelu(x, torch.tensor([0.25], dtype=torch.float64)), PLANE),
    "max_pool1d": (lambda x: F.max_pool1d(x[0], 2), PLANE), "max_pool2d": (lambda x: F.max_pool2d(x, 2), PLANE),
    "max_pool3d": (lambda x: F.max_pool3d(x, (1, 2, 2)), PLANE), "avg_pool1d": (lambda x: F.avg_pool1d(x[0], 2), PLANE),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, 2), PLANE), "avg_pool3d": (lambda x: F.avg_pool3d(x, (1, 2, 2)), PLANE),
    "adaptive_avg_pool2d": (lambda x: F.adaptive_avg_pool2d(x, (2, 3)), PLANE), "adaptive_max_pool2d": (lambda x: F.adaptive_max_pool2d(x, (2, 3)), PLANE),
    "adaptive_avg_pool3d": (lambda x: F.adaptive_avg_pool3d(x, (1, 2, 3)), PLANE), "adaptive_max_pool3d": (lambda x: F.adaptive_max_pool3d(x, (1, 2, 3)), PLANE),
    "fractional_max_pool2d": (lambda x: nn.fractional_max_pool2d(x, [2, 2], [2, 3], noise(1, 2, 2))[0], PLANE),
    "fractional_max_pool3d": (lambda x: nn.fractional_max_pool3d(x, [1, 2, 2], [1, 2, 3], noise(1, 2, 3)[:, :1])[0], PLANE[None, :, :1]),
    "nll_loss": (lambda x: F.nll_loss(x, TARGET), CLASSES), "nll_loss of planes": (lambda x: F.nll_loss(x, torch.ones(1, 4, 6, dtype=torch.long)), PLANE),
    "reflection_pad1d": (lambda x: F.pad(x[0], (1, 2), "reflect"), PLANE), "reflection_pad2d": (lambda x: F.pad(x, (1, 2, 0, 1), "reflect"), PLANE),
    "replication_pad1d": (lambda x: F.pad(x[0], (1, 2), "replicate"), PLANE), "replication_pad2d": (lambda x: F.pad(x, (1, 2, 0, 1), "replicate"), PLANE),
    "replication_pad3d": (lambda x: F.pad(x[None], (1, 2, 0, 1, 1, 0), "replicate"), PLANE),
}


@pytest.mark.parametrize("name", CHOOSING)
def test_zeros_come_back(name):
    f, values = CHOOSING[name]
    x = values.clone().requires_grad_()
    plain, = torch.autograd.grad(f(x).sum(), x)
    g, = torch.autograd.grad(f(x).sum(), x, create_graph=True)
    assert g.requires_grad and not plain.requires_grad and torch.equal(g, plain)
    h, = torch.autograd.grad((g * g).sum(), x)
    assert torch.equal(h, torch.zeros_like(x))
    # and where the gradient that comes in wants one of its own, it has it
    w = torch.ones_like(f(x)).requires_grad_()
    g, = torch.autograd.grad(f(x), x, w, create_graph=True)
    h, = torch.autograd.grad((g * plain).sum(), w)
    one = torch.zeros_like(w).reshape(-1)
    one[0] = 1
    g0, = torch.autograd.grad(f(x), x, one.reshape(w.shape))
    torch.testing.assert_close(h.reshape(-1)[0], (g0 * plain).sum())


@pytest.mark.parametrize("name", ["relu", "leaky_relu", "hardtanh", "max_pool2d", "nll_loss"])
def test_a_third_time(name):
    f, values = CHOOSING[name]
    x = values.clone().requires_grad_()
    g, = torch.autograd.grad(f(x).sum(), x, create_graph=True)
    h, = torch.autograd.grad(g.sum(), x, create_graph=True)
    assert torch.equal(h, torch.zeros_like(x))


def test_penalty_on_the_gradient_of_a_network_of_straight_lines():
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
    x = torch.randn(5, 3, requires_grad=True)
    g, = torch.autograd.grad(net(x).sum(), x, create_graph=True)
    (g.norm(dim=1) - 1).square().sum().backward()
    assert all(p.grad is not None for p in (net[0].weight, net[2].weight)) and torch.equal(net[0].bias.grad, torch.zeros(4))
    assert torch.equal(x.grad, torch.zeros(5, 3))


@pytest.mark.parametrize("f", [lambda x: x.clamp(-1, 1), lambda x: x.clamp_min(0), lambda x: x.amax(), lambda x: x.max(0)[0], lambda x: torch.where(x > 0, x, 0 * x.detach()),
                               lambda x: x.sort()[0], lambda x: x.floor(), lambda x: x.sum()])
def test_what_is_cut_off_stays_so(f):
    x = PLANE[0, 0, 0].clone().requires_grad_()
    g, = torch.autograd.grad(f(x).sum(), x, create_graph=True)
    assert not g.requires_grad


@pytest.mark.parametrize("name", ["hardtanh", "leaky_relu", "hardshrink", "softshrink", "hardsigmoid", "threshold"])
def test_operators_of_backward(name):
    numbers = {"hardtanh": (-0.5, 2), "leaky_relu": (0.2, False), "hardshrink": (0.5,), "softshrink": (0.5,), "hardsigmoid": (), "threshold": (0.5,)}[name]
    f, values = CHOOSING[name]
    x = values.clone().requires_grad_()
    got = getattr(torch.ops.aten, name + "_backward")(torch.ones_like(values), values, *numbers)
    assert torch.equal(got, torch.autograd.grad(f(x).sum(), x)[0])


@pytest.mark.parametrize("p", [1.0, float("inf")])
def test_distances_of_straight_lines(p):
    a, b = PLANE[0, 0].clone().requires_grad_(), PLANE[0, 1].clone().requires_grad_()
    g, = torch.autograd.grad(torch.cdist(a, b, p).sum(), a, create_graph=True)
    assert all(torch.equal(h, torch.zeros_like(a)) for h in torch.autograd.grad(g.sum(), [a, b])) or p != 1.0


def test_hardtanh_stops_at_nan():
    x = torch.tensor([float("nan"), 0.5, 3.0], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.grad(F.hardtanh(x).sum(), x)[0].tolist() == [0, 1, 0]


@pytest.mark.parametrize("f", [torch.fmod, torch.remainder])
def test_remainders_by_zero(f):
    a, b = torch.tensor([1.0, -3.0], dtype=torch.float64, requires_grad=True), torch.zeros(2, dtype=torch.float64, requires_grad=True)
    ga, gb = torch.autograd.grad(f(a, b).sum(), [a, b], create_graph=True)
    assert ga.tolist() == [1, 1] and gb.tolist() == [-float("inf"), float("inf")] and not ga.requires_grad
    assert all(torch.equal(h, torch.zeros_like(a)) for h in torch.autograd.grad(gb.sum(), [a, b]))
    b = torch.full((2,), float("inf"), dtype=torch.float64, requires_grad=True)
    assert torch.autograd.grad(f(a, b).sum(), b)[0].tolist() == ([0, 0] if f is torch.fmod else [0, 1])
