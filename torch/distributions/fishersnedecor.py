"""The F distribution of Fisher and Snedecor."""

import torch
from torch.distributions import constraints
from torch.distributions.distribution import Distribution, _batch
from torch.distributions.gamma import Gamma
from torch.distributions.utils import broadcast_all

__all__ = ["FisherSnedecor"]


class FisherSnedecor(Distribution):
    """(c1 / df1) / (c2 / df2) of chi-squared variables with `df1` and `df2` degrees."""

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True
    _parameters = ("df1", "df2")

    def __init__(self, df1, df2, validate_args=None):
        self.df1, self.df2 = broadcast_all(df1, df2)
        self._gamma1 = Gamma(self.df1 * 0.5, self.df1)
        self._gamma2 = Gamma(self.df2 * 0.5, self.df2)
        super().__init__(_batch(self.df1, df1, df2), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._expand_parameters(FisherSnedecor, batch_shape, _instance)
        new._gamma1 = self._gamma1.expand(batch_shape)
        new._gamma2 = self._gamma2.expand(batch_shape)
        return new

    @property
    def mean(self):
        df2 = self.df2.clone(memory_format=torch.contiguous_format)
        df2[df2 <= 2] = float("nan")
        return df2 / (df2 - 2)

    @property
    def mode(self):
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        mode[self.df1 <= 2] = float("nan")
        return mode

    @property
    def variance(self):
        df2 = self.df2.clone(memory_format=torch.contiguous_format)
        df2[df2 <= 4] = float("nan")
        return 2 * df2.pow(2) * (self.df1 + df2 - 2) / (
            self.df1 * (df2 - 2).pow(2) * (df2 - 4))

    def rsample(self, sample_shape=torch.Size()):
        shape = self._extended_shape(sample_shape)
        x1 = self._gamma1.rsample(sample_shape).view(shape)
        x2 = self._gamma2.rsample(sample_shape).view(shape)
        x2.clamp_(min=torch.finfo(x2.dtype).tiny)
        y = x1 / x2
        y.clamp_(min=torch.finfo(x2.dtype).tiny)
        return y

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        c1, c2 = self.df1 * 0.5, self.df2 * 0.5
        t1 = (c1 + c2).lgamma() - c1.lgamma() - c2.lgamma()
        ratio = self.df1 / self.df2
        return t1 + c1 * ratio.log() + (c1 - 1) * torch.log(value) \
            - (c1 + c2) * torch.log1p(ratio * value)
