"""Datasets: by index, as a stream, and made of others."""

import bisect
import itertools
import math
import warnings
from typing import Generic, TypeVar

import torch

__all__ = ["Dataset", "IterableDataset", "TensorDataset", "StackDataset", "ConcatDataset",
           "ChainDataset", "Subset", "random_split"]

_T = TypeVar("_T")
_T_co = TypeVar("_T_co", covariant=True)


class Dataset(Generic[_T_co]):
    """Samples by index: `__getitem__(index)`, and mostly `__len__`.

    A subclass may give `__getitems__(list of indices)`, which returns the samples of a batch.
    """

    def __getitem__(self, index):
        raise NotImplementedError(f"{type(self).__name__}.__getitem__")

    def __add__(self, other):
        return ConcatDataset([self, other])


class IterableDataset(Dataset[_T_co]):
    """Samples as a stream: `__iter__`. In a worker process `get_worker_info()` says which part."""

    def __iter__(self):
        raise NotImplementedError(f"{type(self).__name__}.__iter__")

    def __add__(self, other):
        return ChainDataset([self, other])


class TensorDataset(Dataset):
    """Sample i is a tuple of row i of each tensor; all have the same first size."""

    def __init__(self, *tensors):
        sizes = [t.size(0) for t in tensors]
        if len(set(sizes)) > 1:
            raise AssertionError(f"tensors must have the same first size, got {sizes}")
        self.tensors = tensors

    def __getitem__(self, index):
        return tuple(t[index] for t in self.tensors)

    def __len__(self):
        return self.tensors[0].size(0)


class StackDataset(Dataset):
    """Sample i is a tuple (or, of keyword arguments, a dict) of sample i of each dataset."""

    def __init__(self, *args, **kwargs):
        if args and kwargs:
            raise ValueError("give datasets by position or by keyword, not both")
        if not args and not kwargs:
            raise ValueError("give at least one dataset")
        self.datasets = kwargs or args
        sizes = [len(d) for d in (kwargs.values() if kwargs else args)]
        if len(set(sizes)) > 1:
            raise ValueError(f"datasets must have the same length, got {sizes}")
        self._length = sizes[0]

    def __getitem__(self, index):
        if isinstance(self.datasets, dict):
            return {k: d[index] for k, d in self.datasets.items()}
        return tuple(d[index] for d in self.datasets)

    @staticmethod
    def _column(dataset, indices):
        fetch = getattr(dataset, "__getitems__", None)
        if not callable(fetch):
            return [dataset[i] for i in indices]
        items = fetch(indices)
        if len(items) != len(indices):
            raise ValueError(f"__getitems__ of {type(dataset).__name__} gave {len(items)} samples "
                             f"for {len(indices)} indices")
        return items

    def __getitems__(self, indices):
        if isinstance(self.datasets, dict):
            columns = {k: self._column(d, indices) for k, d in self.datasets.items()}
            return [{k: c[i] for k, c in columns.items()} for i in range(len(indices))]
        return list(zip(*(self._column(d, indices) for d in self.datasets)))

    def __len__(self):
        return self._length


class ConcatDataset(Dataset[_T_co]):
    """The datasets one after the other."""

    @staticmethod
    def cumsum(sequence):
        return list(itertools.accumulate(len(d) for d in sequence))

    def __init__(self, datasets):
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets must not be empty")
        for i, d in enumerate(self.datasets):
            if isinstance(d, IterableDataset):
                raise AssertionError(f"datasets[{i}] is an IterableDataset, which has no indices: "
                                     "see ChainDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    def __len__(self):
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx):
        if idx < 0:
            if -idx > len(self):
                raise ValueError(f"index {idx} of a dataset of {len(self)} samples")
            idx += len(self)
        which = bisect.bisect_right(self.cumulative_sizes, idx)
        start = self.cumulative_sizes[which - 1] if which else 0
        return self.datasets[which][idx - start]

    @property
    def cummulative_sizes(self):
        warnings.warn("cummulative_sizes is now spelt cumulative_sizes", DeprecationWarning,
                      stacklevel=2)
        return self.cumulative_sizes


class ChainDataset(IterableDataset):
    """The streams one after the other."""

    def __init__(self, datasets):
        super().__init__()
        self.datasets = datasets

    def __iter__(self):
        for d in self.datasets:
            if not isinstance(d, IterableDataset):
                raise AssertionError(f"ChainDataset takes IterableDatasets, got {type(d).__name__}")
            yield from d

    def __len__(self):
        total = 0
        for d in self.datasets:
            if not isinstance(d, IterableDataset):
                raise AssertionError(f"ChainDataset takes IterableDatasets, got {type(d).__name__}")
            total += len(d)
        return total


class Subset(Dataset[_T_co]):
    """The samples of `dataset` at `indices`."""

    def __init__(self, dataset, indices):
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, idx):
        if isinstance(idx, list):
            return self.dataset[[self.indices[i] for i in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices):
        fetch = getattr(self.dataset, "__getitems__", None)
        mine = [self.indices[i] for i in indices]
        return fetch(mine) if callable(fetch) else [self.dataset[i] for i in mine]

    def __len__(self):
        return len(self.indices)


def random_split(dataset, lengths, generator=None):
    """Subsets of these lengths (or shares that sum to 1) of the shuffled dataset.

    What shares leave over goes to the first subsets, one each. Raises ValueError when the lengths
    do not sum to that of the dataset.
    """
    if generator is None:
        generator = torch.default_generator
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        shares, lengths = lengths, []
        for i, share in enumerate(shares):
            if share < 0 or share > 1:
                raise ValueError(f"lengths[{i}], a share, must be in [0, 1], got {share}")
            lengths.append(math.floor(len(dataset) * share))
        for i in range(len(dataset) - sum(lengths)):
            lengths[i % len(lengths)] += 1
        for i, length in enumerate(lengths):
            if length == 0:
                warnings.warn(f"subset {i} of the split is empty", stacklevel=2)
    if sum(lengths) != len(dataset):
        raise ValueError(f"lengths sum to {sum(lengths)}, the dataset has {len(dataset)} samples")
    order = torch.randperm(sum(lengths), generator=generator, device="cpu").tolist()
    return [Subset(dataset, order[end - length:end])
            for end, length in zip(itertools.accumulate(lengths), lengths)]
