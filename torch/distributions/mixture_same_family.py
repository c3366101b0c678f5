"""Mixtures of one distribution with several parameters."""

import torch
from torch.distributions import constraints
from torch.distributions.categorical import Categorical
from torch.distributions.constraints import MixtureSameFamilyConstraint
from torch.distributions.distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """One of the last batch dimension of `component_distribution`, chosen by a Categorical."""

    arg_constraints = {}
    has_rsample = False

    def __init__(self, mixture_distribution, component_distribution, validate_args=None):
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError("mixture_distribution must be a Categorical, got "
                             f"{type(mixture_distribution).__name__}")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("component_distribution must be a Distribution, got "
                             f"{type(component_distribution).__name__}")
        m_batch, c_batch = mixture_distribution.batch_shape, component_distribution.batch_shape
        for a, b in zip(reversed(m_batch), reversed(c_batch[:-1])):
            if a != 1 and b != 1 and a != b:
                raise ValueError(f"the batch shapes of the mixture, {tuple(m_batch)}, and of the "
                                 f"components, {tuple(c_batch[:-1])}, do not fit")
        km, kc = mixture_distribution.logits.shape[-1], c_batch[-1]
        if km != kc:
            raise ValueError(f"the mixture has {km} components, component_distribution {kc}")
        self._num_component = km
        self._event_ndims = len(component_distribution.event_shape)
        super().__init__(c_batch[:-1], component_distribution.event_shape,
                         validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        batch_shape = torch.Size(batch_shape)
        new = self._get_checked_instance(MixtureSameFamily, _instance)
        new._component_distribution = self._component_distribution.expand(
            batch_shape + (self._num_component,))
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        new._num_component = self._num_component
        new._event_ndims = self._event_ndims
        Distribution.__init__(new, batch_shape, self._component_distribution.event_shape,
                              validate_args=False)
        new._validate_args = self._validate_args
        return new

    @constraints.dependent_property
    def support(self):
        return MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self):
        return self._mixture_distribution

    @property
    def component_distribution(self):
        return self._component_distribution

    def _weights(self):
        probs = self.mixture_distribution.probs
        return probs.reshape(probs.shape + (1,) * self._event_ndims)

    @property
    def mean(self):
        return torch.sum(self._weights() * self.component_distribution.mean,
                         dim=-1 - self._event_ndims)

    @property
    def variance(self):
        at, weights = -1 - self._event_ndims, self._weights()
        within = torch.sum(weights * self.component_distribution.variance, dim=at)
        apart = self.component_distribution.mean - self.mean.unsqueeze(at)
        return within + torch.sum(weights * apart.pow(2.0), dim=at)

    def cdf(self, x):
        x = x.unsqueeze(-1 - self._event_ndims)
        return torch.sum(self.component_distribution.cdf(x) * self.mixture_distribution.probs,
                         dim=-1)

    def log_prob(self, x):
        if self._validate_args:
            self._validate_sample(x)
        x = x.unsqueeze(-1 - self._event_ndims)
        log_mix = torch.log_softmax(self.mixture_distribution.logits, dim=-1)
        return torch.logsumexp(self.component_distribution.log_prob(x) + log_mix, dim=-1)

    def sample(self, sample_shape=torch.Size()):
        with torch.no_grad():
            n, at = len(sample_shape), len(sample_shape) + len(self.batch_shape)
            chosen = self.mixture_distribution.sample(sample_shape)
            parts = self.component_distribution.sample(sample_shape)
            where = chosen.reshape(chosen.shape + (1,) * (self._event_ndims + 1))
            where = where.repeat((1,) * n + (1,) * len(chosen.shape[n:]) + (1,)
                                 + tuple(self.event_shape))
            return torch.gather(parts, at, where).squeeze(at)
