"""The Kullback-Leibler divergence of two distributions."""

import math

import torch
from torch.distributions.bernoulli import Bernoulli
from torch.distributions.beta import Beta
from torch.distributions.binomial import Binomial
from torch.distributions.categorical import Categorical
from torch.distributions.dirichlet import Dirichlet
from torch.distributions.distribution import Distribution
from torch.distributions.exponential import Exponential
from torch.distributions.gamma import Gamma
from torch.distributions.geometric import Geometric
from torch.distributions.half_normal import HalfNormal
from torch.distributions.independent import Independent
from torch.distributions.laplace import Laplace
from torch.distributions.multivariate_normal import MultivariateNormal, _batch_mahalanobis
from torch.distributions.normal import Normal
from torch.distributions.one_hot_categorical import OneHotCategorical
from torch.distributions.poisson import Poisson
from torch.distributions.transformed_distribution import TransformedDistribution
from torch.distributions.uniform import Uniform
from torch.distributions.utils import _sum_rightmost

__all__ = ["register_kl", "kl_divergence"]

_registry = {}


def register_kl(type_p, type_q):
    """A decorator: the function gives the divergence of `type_p` from `type_q`."""
    for t in (type_p, type_q):
        if not isinstance(t, type) or not issubclass(t, Distribution):
            raise TypeError(f"expected classes of distributions, got {t!r}")

    def decorate(fun):
        _registry[type_p, type_q] = fun
        return fun
    return decorate


def _dispatch(type_p, type_q):
    """The function of the nearest classes, those of p first."""
    found = [(type_p.__mro__.index(p), type_q.__mro__.index(q), fun)
             for (p, q), fun in _registry.items()
             if issubclass(type_p, p) and issubclass(type_q, q)]
    return min(found, key=lambda f: f[:2])[2] if found else None


def kl_divergence(p, q):
    """E_p[log p(x) - log q(x)], of the batch's shape. Raises NotImplementedError for a pair of
    classes without a formula."""
    fun = _dispatch(type(p), type(q))
    if fun is None:
        raise NotImplementedError(f"the divergence of {type(p).__name__} from "
                                  f"{type(q).__name__}")
    return fun(p, q)


def _infinite_like(t):
    return torch.full_like(t, math.inf)


@register_kl(Bernoulli, Bernoulli)
def _kl_bernoulli(p, q):
    t1 = p.probs * (torch.nn.functional.softplus(-q.logits)
                    - torch.nn.functional.softplus(-p.logits))
    t1 = torch.where(q.probs == 0, math.inf, t1)
    t1 = torch.where(p.probs == 0, 0.0, t1)
    t2 = (1 - p.probs) * (torch.nn.functional.softplus(q.logits)
                          - torch.nn.functional.softplus(p.logits))
    t2 = torch.where(q.probs == 1, math.inf, t2)
    return t1 + torch.where(p.probs == 1, 0.0, t2)


@register_kl(Beta, Beta)
def _kl_beta(p, q):
    total_p = p.concentration1 + p.concentration0
    total_q = q.concentration1 + q.concentration0
    t1 = q.concentration1.lgamma() + q.concentration0.lgamma() + total_p.lgamma()
    t2 = p.concentration1.lgamma() + p.concentration0.lgamma() + total_q.lgamma()
    return t1 - t2 + (p.concentration1 - q.concentration1) * torch.digamma(p.concentration1) \
        + (p.concentration0 - q.concentration0) * torch.digamma(p.concentration0) \
        + (total_q - total_p) * torch.digamma(total_p)


@register_kl(Binomial, Binomial)
def _kl_binomial(p, q):
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("the divergence of binomials where q has the larger total_count")
    kl = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p()
                          - (-q.probs).log1p())
    return torch.where(p.total_count > q.total_count, _infinite_like(kl), kl)


@register_kl(Categorical, Categorical)
def _kl_categorical(p, q):
    t = p.probs * (p.logits - q.logits)
    t = torch.where(q.probs == 0, math.inf, t)
    return torch.where(p.probs == 0, 0.0, t).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _kl_one_hot(p, q):
    return _kl_categorical(p._categorical, q._categorical)


@register_kl(Dirichlet, Dirichlet)
def _kl_dirichlet(p, q):
    total = p.concentration.sum(-1)
    t1 = total.lgamma() - q.concentration.sum(-1).lgamma()
    t2 = (p.concentration.lgamma() - q.concentration.lgamma()).sum(-1)
    t3 = p.concentration.digamma() - total.digamma().unsqueeze(-1)
    return t1 - t2 + ((p.concentration - q.concentration) * t3).sum(-1)


@register_kl(Exponential, Exponential)
def _kl_exponential(p, q):
    ratio = q.rate / p.rate
    return ratio - ratio.log() - 1


@register_kl(Gamma, Gamma)
def _kl_gamma(p, q):
    return q.concentration * (p.rate / q.rate).log() + q.concentration.lgamma() \
        - p.concentration.lgamma() \
        + (p.concentration - q.concentration) * torch.digamma(p.concentration) \
        + (q.rate - p.rate) * (p.concentration / p.rate)


@register_kl(Geometric, Geometric)
def _kl_geometric(p, q):
    return -p.entropy() - torch.log1p(-q.probs) / p.probs - q.logits


@register_kl(HalfNormal, HalfNormal)
def _kl_half_normal(p, q):
    return _kl_normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _kl_laplace(p, q):
    ratio = p.scale / q.scale
    apart = (p.loc - q.loc).abs()
    return -ratio.log() + apart / q.scale + ratio * torch.exp(-apart / p.scale) - 1


@register_kl(Normal, Normal)
def _kl_normal(p, q):
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(MultivariateNormal, MultivariateNormal)
def _kl_multivariate_normal(p, q):
    if p.event_shape != q.event_shape:
        raise ValueError(f"the events have the shapes {tuple(p.event_shape)} and "
                         f"{tuple(q.event_shape)}")
    a, b = p._unbroadcasted_scale_tril, q._unbroadcasted_scale_tril
    shape = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    n = p.event_shape[0]
    ratio = torch.linalg.solve_triangular(b.expand(shape + (n, n)), a.expand(shape + (n, n)),
                                          upper=False)
    trace = ratio.pow(2).sum((-2, -1))
    return q._half_log_det() - p._half_log_det() \
        + 0.5 * (trace + _batch_mahalanobis(b, q.loc - p.loc) - n)


@register_kl(Poisson, Poisson)
def _kl_poisson(p, q):
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Uniform, Uniform)
def _kl_uniform(p, q):
    result = ((q.high - q.low) / (p.high - p.low)).log()
    return torch.where((q.low > p.low) | (q.high < p.high), math.inf, result)


@register_kl(Uniform, Normal)
def _kl_uniform_normal(p, q):
    width = p.high - p.low
    t1 = (math.sqrt(math.pi * 2) * q.scale / width).log()
    t2 = width.pow(2) / 12
    t3 = ((p.high + p.low - 2 * q.loc) / 2).pow(2)
    return t1 + 0.5 * (t2 + t3) / q.scale.pow(2)


@register_kl(Normal, Uniform)
@register_kl(Normal, Exponential)
@register_kl(Normal, Gamma)
@register_kl(Normal, Beta)
@register_kl(Laplace, Uniform)
@register_kl(Laplace, Exponential)
def _kl_outside(p, q):
    """p has mass where q has none."""
    return _infinite_like(p.loc)


@register_kl(TransformedDistribution, TransformedDistribution)
def _kl_transformed(p, q):
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError("the divergence of differently transformed distributions")
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Independent, Independent)
def _kl_independent(p, q):
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError("the divergence of Independents with different "
                                  "reinterpreted_batch_ndims")
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)
