"""Initial values: exact random streams, and the distributions they are drawn from."""

import math

import pytest

pytest.importorskip("torch._C")
import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import init  # noqa: E402

if any(not hasattr(torch, n) for n in ("relu", "sub", "lt", "std", "allclose", "matmul")):
    pytest.skip("the operators of layers are needed", allow_module_level=True)


def filled(fill, *shape, seed=0):
    torch.manual_seed(seed)
    return fill(torch.empty(*shape))


def test_linear_from_a_seed_has_the_known_values():
    torch.manual_seed(0)
    m = nn.Linear(2, 2)
    # As PyTorch 2.14.1 draws them.
    expected = [[-0.0053, 0.3793], [-0.5820, -0.5204]]
    assert torch.allclose(m.weight, torch.tensor(expected), atol=1e-4)
    assert torch.allclose(m.bias, torch.tensor([-0.2723, 0.1896]), atol=1e-4)


def test_truncated_normal_draws_again():
    # The third number of this stream, -2.18, is out of bounds and replaced.
    t = filled(init.trunc_normal_, 4)
    assert torch.allclose(t, torch.tensor([1.5410, -0.2934, 0.4033, 0.5684]), atol=1e-4)
    # Narrow intervals take uniform proposals.
    t = filled(lambda t: init.trunc_normal_(t, a=-0.1, b=0.3), 4)
    assert torch.allclose(t, torch.tensor([0.0985, 0.2073, -0.0646, -0.0472]), atol=1e-4)


@pytest.mark.parametrize("a, b", [(-2.0, 2.0), (-0.5, 3.0), (1.0, 2.0), (3.0, 5.0)])
def test_truncated_normal_has_its_mean(a, b):
    t = filled(lambda t: init.trunc_normal_(t, a=a, b=b), 40000)
    assert t.min() >= a and t.max() <= b
    density = [math.exp(-x * x / 2) / math.sqrt(2 * math.pi) for x in (a, b)]
    mass = (math.erf(b / math.sqrt(2)) - math.erf(a / math.sqrt(2))) / 2
    assert abs(t.mean().item() - (density[0] - density[1]) / mass) < 0.02


def test_fans_and_gains():
    assert init._calculate_fan_in_and_fan_out(torch.empty(4, 3, 2, 5)) == (30, 40)
    assert init.calculate_gain("tanh") == 5 / 3 and init.calculate_gain("selu") == 0.75
    assert init.calculate_gain("relu") == math.sqrt(2)
    assert init.calculate_gain("leaky_relu", 0.2) == math.sqrt(2 / 1.04)
    with pytest.raises(ValueError):
        init.calculate_gain("nothing")
    with pytest.raises(ValueError):
        init.calculate_gain("leaky_relu", True)
    with pytest.raises(ValueError):
        init.xavier_uniform_(torch.empty(3))
    with pytest.raises(ValueError):
        init.kaiming_uniform_(torch.empty(3, 3), mode="nothing")


@pytest.mark.parametrize(
    "fill, std",
    [
        (init.xavier_uniform_, math.sqrt(2 / 500)),
        (init.xavier_normal_, math.sqrt(2 / 500)),
        (lambda t: init.kaiming_uniform_(t, nonlinearity="relu"), math.sqrt(2 / 200)),
        (
            lambda t: init.kaiming_normal_(t, mode="fan_out", nonlinearity="relu"),
            math.sqrt(2 / 300),
        ),
        (lambda t: init.normal_(t, 0, 3.0), 3.0),
        (init.uniform_, math.sqrt(1 / 12)),
    ],
)
def test_spread(fill, std):
    t = filled(fill, 300, 200)
    assert abs(t.std().item() / std - 1) < 0.02


def test_fixed_patterns():
    assert init.eye_(torch.empty(2, 3)).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert init.constant_(torch.empty(2), 2.5).tolist() == [2.5, 2.5]
    w = init.dirac_(torch.empty(4, 2, 3), groups=2)
    x = torch.arange(8.0).reshape(1, 4, 2)
    assert w.sum() == 4 and w[2, 0, 1] == 1 and w[1, 1, 1] == 1 and x.numel() == 8
    for fill, shape in (
        (init.eye_, (2,)),
        (init.dirac_, (2, 2)),
        (init.orthogonal_, (2,)),
        (lambda t: init.sparse_(t, 0.1), (2,)),
    ):
        with pytest.raises(ValueError):
            fill(torch.empty(*shape))
    p = nn.Parameter(torch.empty(2, 2))
    assert init.ones_(p) is p and p.requires_grad and p.is_leaf


def test_orthogonal_and_sparse():
    try:
        torch.linalg.qr(torch.eye(2))
    except NotImplementedError as e:
        pytest.skip(str(e))
    for shape in ((3, 5), (5, 3), (4, 2, 3)):
        q = filled(lambda t: init.orthogonal_(t, gain=2.0), *shape).reshape(shape[0], -1)
        gram = q @ q.T if shape[0] <= q.shape[1] else q.T @ q
        assert torch.allclose(gram, 4 * torch.eye(len(gram)), atol=1e-5)
    t = filled(lambda t: init.sparse_(t, 0.5), 10, 4)
    assert (t == 0).sum(0).tolist() == [5] * 4
