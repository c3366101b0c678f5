"""Distributions: densities by formula, shapes, gradients of samples, divergence, errors."""
import math

import pytest

pytest.importorskip("torch._C")
import torch  # noqa: E402
from torch import distributions as D  # noqa: E402

V = [0.3, 0.6, 0.9]


def v():
    return torch.tensor(V)


@pytest.mark.parametrize("make, x, want", [
    (lambda: D.Normal(1.0, 2.0), 2.0, -0.125 - math.log(2 * math.sqrt(2 * math.pi))),
    (lambda: D.Bernoulli(0.3), 1.0, math.log(0.3)),
    (lambda: D.Bernoulli(logits=torch.tensor(0.0)), 0.0, math.log(0.5)),
    (lambda: D.Uniform(1.0, 3.0), 2.0, -math.log(2)),
    (lambda: D.Exponential(2.0), 1.5, math.log(2) - 3),
    (lambda: D.Laplace(0.0, 2.0), 1.0, -math.log(4) - 0.5),
    (lambda: D.Cauchy(0.0, 1.0), 1.0, -math.log(2 * math.pi)),
    (lambda: D.Gamma(3.0, 2.0), 1.0, 3 * math.log(2) - 2 - math.log(2)),
    (lambda: D.Beta(2.0, 3.0), 0.5, math.log(12 * 0.5 * 0.25)),
    (lambda: D.Poisson(2.0), 3.0, 3 * math.log(2) - 2 - math.log(6)),
    (lambda: D.Geometric(0.25), 2.0, 2 * math.log(0.75) + math.log(0.25)),
    (lambda: D.LogNormal(0.0, 1.0), 1.0, -math.log(math.sqrt(2 * math.pi))),
    (lambda: D.HalfNormal(1.0), 1.0, math.log(2) - 0.5 - math.log(math.sqrt(2 * math.pi))),
    (lambda: D.Binomial(4, torch.tensor(0.5)), 2.0, math.log(6 / 16)),
    (lambda: D.StudentT(3.0), 0.0, math.lgamma(2) - math.lgamma(1.5) - 0.5 * math.log(3 * math.pi)),
    (lambda: D.Weibull(1.0, 2.0), 1.0, math.log(2) - 1),
    (lambda: D.Pareto(1.0, 2.0), 2.0, math.log(2) - 3 * math.log(2)),
    (lambda: D.Gumbel(0.0, 1.0), 0.0, -1.0)])
def test_density(make, x, want):
    got = make().log_prob(torch.tensor(x))
    assert got.item() == pytest.approx(want, abs=1e-5)


def test_density_of_vectors():
    c = D.Categorical(torch.tensor([1.0, 2.0, 1.0]))
    assert c.log_prob(torch.tensor([0, 1])).exp().tolist() == pytest.approx([0.25, 0.5])
    assert c.entropy().item() == pytest.approx(1.5 * math.log(2))
    d = D.Dirichlet(torch.tensor([1.0, 1.0, 1.0]))
    assert d.log_prob(torch.tensor([0.2, 0.3, 0.5])).item() == pytest.approx(math.log(2))
    n = D.Multinomial(3, torch.tensor([0.5, 0.5]))
    assert n.log_prob(torch.tensor([1.0, 2.0])).exp().item() == pytest.approx(3 / 8)


def test_density_of_normal_vectors():
    try:
        torch.linalg.cholesky(torch.eye(2))
    except NotImplementedError as e:
        pytest.skip(str(e))
    m = D.MultivariateNormal(torch.zeros(2), torch.tensor([[2.0, 0.0], [0.0, 0.5]]))
    assert m.log_prob(torch.tensor([1.0, 1.0])).item() == pytest.approx(
        -math.log(2 * math.pi) - 0.5 * (0.5 + 2))


def test_shapes():
    n = D.Normal(torch.zeros(2, 3), torch.ones(3))
    assert n.batch_shape == (2, 3) and n.event_shape == () and n.sample((4,)).shape == (4, 2, 3)
    i = D.Independent(n, 1)
    assert i.batch_shape == (2,) and i.event_shape == (3,)
    assert i.log_prob(torch.ones(2, 3)).shape == (2,)
    assert n.expand((5, 2, 3)).batch_shape == (5, 2, 3)
    assert repr(D.Normal(0.0, 1.0)) == "Normal(loc: 0.0, scale: 1.0)"
    assert repr(n) == "Normal(loc: torch.Size([2, 3]), scale: torch.Size([2, 3]))"


def test_gradients_of_samples():
    loc = torch.tensor(0.5, requires_grad=True)
    scale = torch.tensor(2.0, requires_grad=True)
    x = D.Normal(loc, scale).rsample((1000,))
    x.sum().backward()
    assert loc.grad.item() == 1000
    assert scale.grad.item() == pytest.approx(((x.detach() - 0.5) / 2).sum().item(), rel=1e-3)
    with torch.no_grad():
        assert not D.Normal(loc, scale).sample().requires_grad


def test_divergence():
    p, q = D.Normal(0.0, 1.0), D.Normal(1.0, 2.0)
    assert D.kl_divergence(p, q).item() == pytest.approx(math.log(2) + 2 / 8 - 0.5)
    p, q = D.Categorical(torch.tensor([0.5, 0.5])), D.Categorical(torch.tensor([0.25, 0.75]))
    assert D.kl_divergence(p, q).item() == pytest.approx(
        0.5 * math.log(2) + 0.5 * math.log(2 / 3), abs=1e-6)
    with pytest.raises(NotImplementedError, match="Normal from Bernoulli"):
        D.kl_divergence(D.Normal(0.0, 1.0), D.Bernoulli(0.5))


def test_transforms():
    x = torch.tensor([0.1, -0.4, 1.5])
    for t in (D.ExpTransform(), D.SigmoidTransform(), D.TanhTransform(),
              D.AffineTransform(1.0, -2.0), D.StickBreakingTransform(), D.SoftplusTransform(),
              D.ComposeTransform([D.ExpTransform(), D.AffineTransform(0.0, 3.0)])):
        y = t(x)
        assert torch.allclose(t.inv(y), x, atol=1e-4) and t.inv.inv is t
    x = torch.tensor(0.3, requires_grad=True)
    for t in (D.ExpTransform(), D.SigmoidTransform(), D.TanhTransform()):
        y = t(x)
        slope, = torch.autograd.grad(y, x)
        assert t.log_abs_det_jacobian(x, y).item() == pytest.approx(math.log(slope.item()),
                                                                   abs=1e-4)
    c = D.constraints.interval(1.0, 3.0)
    assert c.check(D.transform_to(c)(torch.tensor([-5.0, 0.0, 5.0]))).all()


def test_mixture():
    m = D.MixtureSameFamily(D.Categorical(torch.tensor([0.5, 0.5])),
                            D.Normal(torch.tensor([-1.0, 1.0]), torch.tensor([1.0, 1.0])))
    assert m.mean.item() == 0 and m.variance.item() == pytest.approx(2)
    assert m.sample((7,)).shape == (7,)


@pytest.mark.parametrize("make", [
    lambda: D.Normal(0.0, -1.0), lambda: D.Normal(torch.tensor(float("nan")), 1.0),
    lambda: D.Categorical(), lambda: D.Categorical(v(), v()), lambda: D.Bernoulli(2.0),
    lambda: D.Uniform(1.0, 0.0), lambda: D.Dirichlet(torch.tensor(1.0)),
    lambda: D.Normal("a", 1.0), lambda: D.Bernoulli(0.5).log_prob(torch.tensor(0.5)),
    lambda: D.Exponential(1.0).log_prob(torch.tensor(-1.0))])
def test_wrong_arguments(make):
    with pytest.raises(ValueError):
        make()


def test_constraints_take_their_bounds_by_name():
    c = torch.distributions.constraints
    for made, text in ((c.greater_than(lower_bound=1), "GreaterThan(lower_bound=1)"), (c.interval(lower_bound=0, upper_bound=2), "Interval(lower_bound=0, upper_bound=2)"),
                       (c.less_than(upper_bound=3), "LessThan(upper_bound=3)"), (c.half_open_interval(0, upper_bound=1), "HalfOpenInterval(lower_bound=0, upper_bound=1)"),
                       (c.integer_interval(0, 3), "IntegerInterval(lower_bound=0, upper_bound=3)"), (c.greater_than_eq(lower_bound=0), "GreaterThanEq(lower_bound=0)")):
        assert repr(made) == text
    assert c.interval(lower_bound=0, upper_bound=2).check(torch.tensor([-1.0, 0, 2, 3])).tolist() == [False, True, True, False]
