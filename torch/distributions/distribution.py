"""The base class of probability distributions."""

import torch
from torch.distributions import constraints
from torch.distributions.utils import lazy_property

__all__ = ["Distribution"]


class Distribution:
    """Random variables of shape `event_shape`, `batch_shape` many with parameters of their own.

    `log_prob(value)` has the shape batch_shape (before it the value's further dimensions);
    `sample(shape)` gives shape + batch_shape + event_shape. With `validate_args` (by default
    unless Python runs with -O) parameters and values are checked: ValueError.
    """

    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__

    @staticmethod
    def set_default_validate_args(value):
        """Whether distributions check their arguments by default."""
        if value not in (True, False):
            raise ValueError(f"value must be a bool, got {value!r}")
        Distribution._validate_args = value

    def __init__(self, batch_shape=torch.Size(), event_shape=torch.Size(), validate_args=None):
        self._batch_shape = batch_shape
        self._event_shape = event_shape
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            try:
                wanted = self.arg_constraints
            except NotImplementedError:
                wanted = {}
            for name, constraint in wanted.items():
                if constraints.is_dependent(constraint):
                    continue
                if name not in self.__dict__ and isinstance(getattr(type(self), name, None),
                                                            lazy_property):
                    continue  # a second form of a parameter that was given
                value = getattr(self, name)
                if not constraint.check(value).all():
                    raise ValueError(f"parameter {name} of shape {tuple(value.shape)} of "
                                     f"{type(self).__name__} must satisfy {constraint!r}, got:\n"
                                     f"{value}")
        super().__init__()

    def expand(self, batch_shape, _instance=None):
        """The distribution with parameters expanded to a larger batch."""
        raise NotImplementedError(f"{type(self).__name__}.expand")

    @property
    def batch_shape(self):
        return self._batch_shape

    @property
    def event_shape(self):
        return self._event_shape

    @property
    def arg_constraints(self):
        """{parameter: constraint}"""
        raise NotImplementedError(f"{type(self).__name__}.arg_constraints")

    @property
    def support(self):
        """The constraint of the samples."""
        raise NotImplementedError(f"{type(self).__name__}.support")

    @property
    def mean(self):
        raise NotImplementedError(f"{type(self).__name__}.mean")

    @property
    def mode(self):
        raise NotImplementedError(f"{type(self).__name__}.mode")

    @property
    def variance(self):
        raise NotImplementedError(f"{type(self).__name__}.variance")

    @property
    def stddev(self):
        return self.variance.sqrt()

    def sample(self, sample_shape=torch.Size()):
        """Samples without a gradient."""
        with torch.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape=torch.Size()):
        """Samples that are differentiable in the parameters."""
        raise NotImplementedError(f"{type(self).__name__}.rsample")

    def sample_n(self, n):
        return self.sample(torch.Size((n,)))

    def log_prob(self, value):
        """The logarithm of the density (or probability) at `value`."""
        raise NotImplementedError(f"{type(self).__name__}.log_prob")

    def cdf(self, value):
        raise NotImplementedError(f"{type(self).__name__}.cdf")

    def icdf(self, value):
        raise NotImplementedError(f"{type(self).__name__}.icdf")

    def enumerate_support(self, expand=True):
        """All values of a discrete variable along a new first dimension."""
        raise NotImplementedError(f"{type(self).__name__}.enumerate_support")

    def entropy(self):
        raise NotImplementedError(f"{type(self).__name__}.entropy")

    def perplexity(self):
        return torch.exp(self.entropy())

    def _extended_shape(self, sample_shape=torch.Size()):
        if not isinstance(sample_shape, torch.Size):
            sample_shape = torch.Size(sample_shape)
        return torch.Size(sample_shape + self._batch_shape + self._event_shape)

    def _validate_sample(self, value):
        if not isinstance(value, torch.Tensor):
            raise ValueError(f"value must be a tensor, got {type(value).__name__}")
        start = len(value.shape) - len(self._event_shape)
        if value.shape[start:] != self._event_shape:
            raise ValueError(f"the last dimensions of a value must be {tuple(self._event_shape)}, "
                             f"got shape {tuple(value.shape)}")
        for i, j in zip(reversed(value.shape), reversed(self._batch_shape + self._event_shape)):
            if i != 1 and j != 1 and i != j:
                raise ValueError(f"a value of shape {tuple(value.shape)} does not fit the shape "
                                 f"{tuple(self._batch_shape + self._event_shape)}")
        try:
            support = self.support
        except NotImplementedError:
            return
        if not support.check(value).all():
            raise ValueError(f"a value of shape {tuple(value.shape)} must lie in the support "
                             f"{support!r} of {type(self).__name__}, got:\n{value}")

    def _get_checked_instance(self, cls, _instance=None):
        if _instance is None and type(self).__init__ != cls.__init__:
            raise NotImplementedError(f"{type(self).__name__}.expand: a subclass with an __init__ "
                                      "of its own must define it")
        return self.__new__(type(self)) if _instance is None else _instance

    # What most distributions with a few parameters of the batch's shape share.
    _parameters = ()

    def _expand_parameters(self, cls, batch_shape, _instance):
        new = self._get_checked_instance(cls, _instance)
        batch_shape = torch.Size(batch_shape)
        for name in self._parameters:
            if name in self.__dict__:
                value = getattr(self, name)
                shape = batch_shape + self._event_shape if getattr(
                    self, "_parameters_have_event", False) else batch_shape
                setattr(new, name, value.expand(shape))
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def __repr__(self):
        try:
            names = [k for k in self.arg_constraints if k in self.__dict__]
        except NotImplementedError:
            names = []
        shown = ", ".join(
            f"{n}: {v if (v := self.__dict__[n]).numel() == 1 else v.size()}" for n in names)
        return f"{self.__class__.__name__}({shown})"


def _batch(parameter, *numbers):
    """The batch shape: none where all parameters were given as numbers."""
    return torch.Size() if all(isinstance(n, (int, float, complex)) for n in numbers) \
        else parameter.size()
