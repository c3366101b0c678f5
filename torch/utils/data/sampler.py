"""Samplers: in which order indices are drawn."""

import itertools
from typing import Generic, TypeVar

import torch

__all__ = ["BatchSampler", "RandomSampler", "Sampler", "SequentialSampler", "SubsetRandomSampler",
           "WeightedRandomSampler"]

_T_co = TypeVar("_T_co", covariant=True)


class Sampler(Generic[_T_co]):
    """Base class: `__iter__` gives indices (or lists of them); `__len__` is not required."""

    def __init__(self, data_source=None):
        pass

    def __iter__(self):
        raise NotImplementedError(f"{type(self).__name__}.__iter__")


def _check_count(name, value):
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise ValueError(f"{name} must be an integer above 0, got {value!r}")


class SequentialSampler(Sampler[int]):
    """0, 1, 2, ..."""

    def __init__(self, data_source):
        self.data_source = data_source

    def __iter__(self):
        return iter(range(len(self.data_source)))

    def __len__(self):
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """A new permutation at each pass, or `num_samples` draws with replacement.

    Without a `generator` each pass seeds one of its own by a number from the default generator.
    """

    def __init__(self, data_source, replacement=False, num_samples=None, generator=None):
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement must be a bool, got {replacement!r}")
        _check_count("num_samples", self.num_samples)

    @property
    def num_samples(self):
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self):
        n, wanted = len(self.data_source), self.num_samples
        generator = self.generator
        if generator is None:
            seed = int(torch.empty((), dtype=torch.int64, device="cpu").random_().item())
            generator = torch.Generator()
            generator.manual_seed(seed)
        if self.replacement:
            # Drawn 32 at a time: the stream depends on the size of the draws.
            for start in range(0, wanted, 32):
                yield from torch.randint(high=n, size=(min(32, wanted - start),),
                                         dtype=torch.int64, generator=generator, device="cpu").tolist()
            return
        for _ in range(wanted // n):
            yield from torch.randperm(n, generator=generator, device="cpu").tolist()
        # Drawn even when nothing of it is used, so that the stream goes on as expected.
        yield from torch.randperm(n, generator=generator, device="cpu").tolist()[:wanted % n]

    def __len__(self):
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """The given indices in a new random order at each pass."""

    def __init__(self, indices, generator=None):
        self.indices = indices
        self.generator = generator

    def __iter__(self):
        for i in torch.randperm(len(self.indices), generator=self.generator, device="cpu").tolist():
            yield self.indices[i]

    def __len__(self):
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """`num_samples` draws of indices 0 .. len(weights) - 1 with these (unnormalised) weights."""

    def __init__(self, weights, num_samples, replacement=True, generator=None):
        _check_count("num_samples", num_samples)
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement must be a bool, got {replacement!r}")
        weights = torch.as_tensor(weights, dtype=torch.double, device="cpu")
        if weights.dim() != 1:
            raise ValueError(f"weights must have 1 dimension, got shape {tuple(weights.shape)}")
        self.weights = weights
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self):
        drawn = torch.multinomial(self.weights, self.num_samples, self.replacement,
                                  generator=self.generator)
        return iter(drawn.tolist())

    def __len__(self):
        return self.num_samples


class BatchSampler(Sampler[list]):
    """Lists of `batch_size` indices of another sampler; the last may be shorter, or dropped."""

    def __init__(self, sampler, batch_size, drop_last):
        _check_count("batch_size", batch_size)
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last must be a bool, got {drop_last!r}")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self):
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if len(batch) < self.batch_size and self.drop_last:
                return
            yield batch

    def __len__(self):
        n = len(self.sampler)
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)
