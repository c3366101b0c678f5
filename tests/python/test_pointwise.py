"""Pointwise operators: values, derivatives at the edges, promotion, errors and names. What is expected comes from
PyTorch 2.14 or from mathematics."""
import math

import pytest
import torch

inf, nan = math.inf, math.nan
EDGES = [-inf, -1.0, -0.0, 0.0, 1.0, inf, nan]


def same(got, expected, tol=2e-4):
    assert len(got) == len(expected)
    for a, b in zip(got, expected):
        assert (a != a and b != b) or a == b or abs(a - b) <= tol * max(1.0, abs(b)), (got, expected)


def value_and_grad(f, *values):
    xs = [torch.tensor(v, requires_grad=True) for v in values]
    y = f(*xs)
    grads = torch.autograd.grad(y.sum(), xs)
    return y.tolist(), [g.tolist() for g in grads]


UNARY = [
    ("abs", [inf, 1, 0, 0, 1, inf, nan], [-1, -1, 0, 0, 1, 1, 0]),
    ("sign", [-1, -1, 0, 0, 1, 1, 0], [0] * 7),
    ("sgn", [-1, -1, 0, 0, 1, 1, 0], [0] * 7),
    ("relu", [0, 0, 0, 0, 1, inf, nan], [0, 0, 0, 0, 1, 1, 1]),
    ("sqrt", [nan, nan, -0.0, 0, 1, inf, nan], [nan, nan, -inf, inf, 0.5, 0, nan]),
    ("rsqrt", [nan, nan, -inf, inf, 1, 0, nan], [nan, nan, inf, -inf, -0.5, 0, nan]),
    ("log", [nan, nan, -inf, -inf, 0, inf, nan], [0, -1, -inf, inf, 1, 0, nan]),
    ("log1p", [nan, -inf, 0, 0, 0.6931472, inf, nan], [0, inf, 1, 1, 0.5, 0, nan]),
    ("reciprocal", [-0.0, -1, -inf, inf, 1, 0, nan], [0, -1, -inf, -inf, -1, 0, nan]),
    ("sinc", [nan, 0, 1, 1, 0, nan, nan], [nan, 1, 0, 0, -1, nan, nan]),
    ("exp", [0, 0.3678794, 1, 1, 2.7182818, inf, nan], [0, 0.3678794, 1, 1, 2.7182818, inf, nan]),
    ("exp2", [0, 0.5, 1, 1, 2, inf, nan], [0, 0.34657, 0.693147, 0.693147, 1.386294, inf, nan]),
    ("sigmoid", [0, 0.2689414, 0.5, 0.5, 0.7310586, 1, nan], [0, 0.1966119, 0.25, 0.25, 0.1966119, 0, nan]),
    ("tanh", [-1, -0.7615942, 0, 0, 0.7615942, 1, nan], [0, 0.4199743, 1, 1, 0.4199743, 0, nan]),
    ("nan_to_num", [-3.4028235e38, -1, 0, 0, 1, 3.4028235e38, 0], [0, 1, 1, 1, 1, 0, 0]),
    ("round", [-inf, -1, 0, 0, 1, inf, nan], [0] * 7),
    ("angle", [math.pi, math.pi, 0, 0, 0, 0, nan], [0] * 7),
    ("square", [inf, 1, 0, 0, 1, inf, nan], [-inf, -2, 0, 0, 2, inf, nan]),
    ("asin", [nan, -1.5707963, 0, 0, 1.5707963, nan, nan], [nan, inf, 1, 1, inf, nan, nan]),
    ("atanh", [nan, -inf, 0, 0, inf, nan, nan], [0, inf, 1, 1, inf, 0, nan]),
    ("hardshrink", [-inf, -1, 0, 0, 1, inf, nan], [1, 1, 0, 0, 1, 1, 1]),
    ("erfinv", [nan, -inf, 0, 0, inf, nan, nan], [nan, inf, 0.8862269, 0.8862269, inf, nan, nan]),
]


@pytest.mark.parametrize("name,value,grad", UNARY, ids=[u[0] for u in UNARY])
def test_values_and_derivatives_at_the_edges(name, value, grad):
    y, (g,) = value_and_grad(getattr(torch, name), EDGES)
    same(y, value)
    same(g, grad)


@pytest.mark.parametrize("exponent,grad", [
    (0, [0] * 7), (1, [1] * 7), (2, [-inf, -2, 0, 0, 2, inf, nan]), (3, [inf, 3, 0, 0, 3, inf, nan]),
    (-1, [0, -1, -inf, -inf, -1, 0, nan]), (-2, [0, 2, inf, -inf, -2, 0, nan]), (0.5, [nan, nan, -inf, inf, 0.5, 0, nan]),
])
def test_powers(exponent, grad):
    y, (g,) = value_and_grad(lambda x: x ** exponent, EDGES)
    if float(exponent).is_integer():
        same(y, [x ** exponent if x or exponent >= 0 else (inf if exponent % 2 == 0 else math.copysign(inf, x)) for x in EDGES])
    same(g, grad)


def test_exponent_without_dimensions_is_a_tensor():
    for base in (torch.tensor(6), torch.tensor([6]), torch.tensor([6], dtype=torch.uint8)):
        assert torch.pow(base, torch.tensor(-8)).sum() == 0
    assert torch.tensor([1, -1, 3]).pow_(torch.tensor(-3)).tolist() == [1, -1, 0]
    assert torch.tensor(-8).__rpow__(torch.tensor(6)) == 0
    with pytest.raises(RuntimeError, match="exponent"):
        torch.tensor([6]).pow_(-8)


def test_power_of_two_tensors_at_zero():
    _, (gx, ge) = value_and_grad(torch.pow, [0.0, 1.0, 0.0, -2.0], [0.0, 1.0, 2.0, 3.0])
    same(gx, [0, 1, 0, 12])
    same(ge, [0, 0, 0, nan])


def test_maximum_shares_ties_and_passes_nan():
    y, (a, b) = value_and_grad(torch.maximum, [0.0, 1.0, nan, 1.0], [0.0, 2.0, 1.0, nan])
    same(y, [0, 2, nan, nan])
    same(a, [0.5, 0, 1, 1])
    same(b, [0.5, 1, 1, 1])
    y, (a, b) = value_and_grad(torch.fmin, [0.0, 1.0, nan, 1.0], [0.0, 2.0, 1.0, nan])
    same(y, [0, 1, 1, 1])


def test_clamp():
    y, (g,) = value_and_grad(lambda x: torch.clamp(x, -1, 1), EDGES)
    same(y, [-1, -1, 0, 0, 1, 1, nan])
    same(g, [0, 0, 1, 1, 0, 0, 0])
    y, (x, lo, hi) = value_and_grad(torch.clamp, [0.0, 1.0, 2.0, nan, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, nan, 3.0], [2.0] * 6)
    same(y, [1, 1, 2, nan, nan, 2])
    same(x, [0, 0.5, 0.5, 1, 1, 0])
    same(lo, [1, 0.5, 0, 0, 0, 0])
    same(hi, [0, 0, 0.5, 0, 0, 1])
    assert torch.clamp(torch.tensor([1, 5]), 0.5, 2.5).tolist() == [1.0, 2.5]
    with pytest.raises(RuntimeError):
        torch.clamp(torch.tensor([1.0]))


def test_where_selects_gradients():
    x = torch.tensor([0.0, 4.0], requires_grad=True)
    torch.where(x > 0, x.sqrt(), x * 0).sum()
    y = torch.where(x > 1, x, 2.0)
    assert y.tolist() == [2.0, 4.0]
    assert torch.autograd.grad(y.sum(), x)[0].tolist() == [0.0, 1.0]
    with pytest.raises(RuntimeError):
        torch.where(torch.tensor([1.0]), 1.0, 2.0)


def test_integers():
    a = torch.tensor([7, -7, 7, -7])
    b = torch.tensor([2, 2, -2, -2])
    assert (a // b).tolist() == [3, -4, -4, 3]
    assert (a % b).tolist() == [1, 1, -1, -1]
    assert torch.fmod(a, b).tolist() == [1, -1, 1, -1]
    assert torch.div(a, b, rounding_mode="trunc").tolist() == [3, -3, -3, 3]
    assert (a / b).dtype == torch.float32
    for f in (lambda: a // 0, lambda: a % 0, lambda: torch.fmod(a, 0), lambda: a ** -1):
        with pytest.raises(RuntimeError):
            f()
    assert (torch.tensor([-128], dtype=torch.int8) // -1).tolist() == [-128]
    assert (torch.tensor([2, 1, -1]) ** torch.tensor([-1, -1, -3])).tolist() == [0, 1, -1]
    assert (torch.tensor([1, 1, 1]) << torch.tensor([-1, 64, 63])).tolist() == [0, 0, -2 ** 63]
    assert (torch.tensor([-5]) >> 70).tolist() == [-1]
    assert torch.gcd(torch.tensor([-4, 0]), torch.tensor([6, 0])).tolist() == [2, 0]
    assert torch.lcm(torch.tensor([-4, 0]), torch.tensor([6, 0])).tolist() == [12, 0]
    assert (torch.tensor([2 ** 62]) * 4).tolist() == [0]


def test_promotion():
    one = torch.ones(2)
    half = one.half()
    assert (half + torch.tensor(1.0, dtype=torch.float64)).dtype == torch.float16
    assert (half + one).dtype == torch.float32
    assert (torch.ones(2, dtype=torch.int32) + 1.5).dtype == torch.float32
    assert (torch.ones(2, dtype=torch.uint8) * torch.ones(2, dtype=torch.int8)).dtype == torch.int16
    assert (torch.ones(2, dtype=torch.bool) + 1).dtype == torch.int64
    assert torch.sqrt(torch.tensor([4])).dtype == torch.float32
    assert torch.float_power(half, 2).dtype == torch.float64
    assert (one == 1).dtype == torch.bool


def test_errors():
    yes = torch.tensor([True])
    for f in (lambda: yes - yes, lambda: -yes, lambda: torch.abs(yes), lambda: torch.sub(torch.tensor([1]), yes),
              lambda: torch.frac(torch.tensor([1])), lambda: torch.tensor([1j]) < 1):
        with pytest.raises(NotImplementedError):
            f()
    i = torch.tensor([1])
    for f in (lambda: torch.add(i, 1, alpha=0.5), lambda: torch.add(i, 1, alpha=True), lambda: i.add_(2.5),
              lambda: torch.div(i, 2, rounding_mode="up"), lambda: torch.addcdiv(i, i, i),
              lambda: torch.maximum(torch.tensor([1j]), torch.tensor([1j])),
              lambda: torch.isclose(torch.tensor([1.0]), i), lambda: torch.tensor([1j]).abs_(),
              lambda: torch.lerp(torch.tensor([1.0]), torch.tensor([1.0], dtype=torch.float64), 0.5)):
        with pytest.raises(RuntimeError):
            f()
    with pytest.raises(RuntimeError):
        torch.ones(2) + torch.ones(3)


def test_complex():
    z = torch.tensor([0j, 1 + 2j, -1 + 0j], requires_grad=True)
    y = z.abs()
    assert y.dtype == torch.float32
    same(y.tolist(), [0, 5 ** 0.5, 1])
    g = torch.autograd.grad(y.sum(), z)[0].tolist()
    assert abs(g[1] - (1 + 2j) / 5 ** 0.5) < 1e-6 and g[0] == 0 and g[2] == -1
    w = torch.autograd.grad(z.exp(), z, torch.ones(3, dtype=torch.complex64))[0].tolist()
    assert abs(w[1] - (complex(math.cos(2), -math.sin(2)) * math.e)) < 1e-5


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_nextafter_steps_in_the_stored_format(dtype):
    x = torch.tensor([1.0, 0.0], dtype=dtype)
    up = torch.nextafter(x, torch.tensor([2.0, 1.0], dtype=dtype))
    eps = {torch.float16: 2.0 ** -10, torch.bfloat16: 2.0 ** -7}[dtype]
    tiny = {torch.float16: 2.0 ** -24, torch.bfloat16: 2.0 ** -133}[dtype]
    assert up[0].item() == 1 + eps
    assert up[1].item() == tiny


def test_same_bits_for_any_layout():
    x = torch.arange(0, 1000, dtype=torch.float32) * 0.01 - 5
    for f in (torch.exp, torch.sin, torch.tanh, torch.erf):
        whole = f(x)
        parts = torch.cat([f(x[:7]), f(x[7:8]), f(x[8:])])
        strided = f(x.repeat(2, 1).t())[:, 0]
        assert torch.equal(whole, parts) and torch.equal(whole, strided)


def test_names():
    for name in "exp sin cos sqrt relu clamp round lcm gcd xlogy ldexp logit deg2rad".split():
        assert hasattr(torch, name + "_") and hasattr(torch.Tensor, name + "_"), name
    for name in "add mul erfinv lgamma sgn sign maximum logical_and atan2".split():
        assert not hasattr(torch, name + "_"), name
    for name in "maximum minimum fmax fmin signbit isnan logaddexp angle".split():
        assert not hasattr(torch.Tensor, name + "_"), name
    for name in "gelu_ silu_ hardtanh_ leaky_relu_ softplus log_sigmoid".split():
        assert hasattr(torch._C._nn, name), name
    assert not hasattr(torch, "gelu") and not hasattr(torch, "special_i0e")


def test_derivatives_of_derivatives():
    x = torch.tensor([0.3, -0.7, 1.5], dtype=torch.float64, requires_grad=True)
    for f in (torch.exp, torch.sin, torch.tanh, torch.sigmoid, torch.nn.functional.softplus, torch.nn.functional.gelu,
              torch.atan, torch.erf, lambda t: t ** 3, lambda t: t * t / (1 + t * t)):
        (g,) = torch.autograd.grad(f(x).sum(), x, create_graph=True)
        (gg,) = torch.autograd.grad(g.sum(), x)
        h = 1e-5
        lo, hi = x.detach() - h, x.detach() + h
        lo.requires_grad_(), hi.requires_grad_()
        slope = (torch.autograd.grad(f(hi).sum(), hi)[0] - torch.autograd.grad(f(lo).sum(), lo)[0]) / (2 * h)
        same(gg.tolist(), slope.tolist(), 1e-6)


def test_degrees_of_polynomials_are_cut_towards_zero():
    x = torch.tensor([0.3, 1.0, -1.0, 2.0])
    for name in ("chebyshev_polynomial_t", "chebyshev_polynomial_w", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p",
                 "shifted_chebyshev_polynomial_u"):
        f = getattr(torch.special, name)
        assert f(x, -0.9).tolist() == [1] * 4 and f(x, -1.0).tolist() == [0] * 4
        assert torch.equal(f(x, 2.9), f(x, 2.0))


F = torch.nn.functional


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("name, f, slope", [
    ("lerp", lambda x: torch.lerp(x * x, x, 0.3), lambda x: 1.4 * x + 0.3),
    ("elu", lambda x: F.elu(-x, 0.3), lambda x: -0.3 * math.exp(-x)),
    ("celu", lambda x: F.celu(-x, 0.3), lambda x: -math.exp(-x / 0.3)),
    ("softplus", lambda x: F.softplus(x, 0.3), lambda x: 1 / (1 + math.exp(-0.3 * x))),
    ("leaky_relu", lambda x: F.leaky_relu(-x, 0.3), lambda x: -0.3),
    ("mse_loss", lambda x: torch.vmap(lambda y: F.mse_loss(y, torch.zeros_like(y)))(x[None].expand(1, 3)), lambda x: 2 * x / 3),
])
def test_attributes_keep_their_precision_where_gradients_are_recorded(dtype, name, f, slope):
    x = torch.tensor([1.3, 0.7, 2.1], dtype=dtype, requires_grad=True)
    (plain,) = torch.autograd.grad(f(x).sum(), x)
    (recorded,) = torch.autograd.grad(f(x).sum(), x, create_graph=True)
    want = torch.tensor([slope(v) for v in x.tolist()], dtype=torch.float64)
    tight = 1e-14 if dtype == torch.float64 else 3e-7
    for g in (plain, recorded.detach()):
        assert g.dtype == dtype
        torch.testing.assert_close(g.double(), want, rtol=tight, atol=0)


@pytest.mark.parametrize("x, relative", [(1e-30, 2e-7), (0.5, 2e-7), (4.0, 2e-7), (-0.5, 3e-7), (-1.0, 1e-6), (-2.0, 2e-6), (-3.0, 1e-5), (-5.0, 1e-3), (-8.0, 3e-2)])
def test_gelu_keeps_digits_where_it_vanishes(x, relative):
    """x Phi(x) with Phi(x) = erfc(-x / sqrt 2) / 2: a small Phi is not what is left of 1 + erf."""
    exact = x * math.erfc(-x / math.sqrt(2)) / 2
    assert torch.nn.functional.gelu(torch.full((9,), x)).sub(exact).abs().max() <= relative * abs(exact)


def test_gelu_at_its_ends():
    got = torch.nn.functional.gelu(torch.tensor([-0.0, 0.0, -20.0, -3e38, 3e38, math.inf, -math.inf, math.nan]))
    assert got[:6].tolist() == [0, 0, 0, 0, torch.tensor(3e38).item(), math.inf] and got[:6].signbit().tolist() == [True, False, True, True, False, False]
    assert got[6:].isnan().all()
