"""Samples to batches."""

import collections
import copy
import re
import sys

import torch

np_str_obj_array_pattern = re.compile(r"[SaUO]")


def _is_numpy(elem):
    return type(elem).__module__ == "numpy" and "numpy" in sys.modules


def default_convert(data):
    """Tensors for numpy arrays and scalars within containers; everything else as it is."""
    kind = type(data)
    if isinstance(data, torch.Tensor):
        return data
    if _is_numpy(data) and kind.__name__ not in ("str_", "bytes_", "string_"):
        if kind.__name__ == "ndarray" and np_str_obj_array_pattern.search(data.dtype.str):
            return data
        return torch.as_tensor(data)
    if isinstance(data, collections.abc.Mapping):
        return _mapping_like(data, {k: default_convert(v) for k, v in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return kind(*(default_convert(v) for v in data))
    if isinstance(data, tuple):
        return [default_convert(v) for v in data]
    if isinstance(data, collections.abc.Sequence) and not isinstance(data, (str, bytes)):
        return _sequence_like(data, [default_convert(v) for v in data])
    return data


def _mapping_like(example, values):
    """`values` in the type of the example where that can be made, else the dict."""
    try:
        if isinstance(example, collections.abc.MutableMapping):
            out = copy.copy(example)
            out.update(values)
            return out
        return type(example)(values)
    except TypeError:
        return values


def _sequence_like(example, values):
    try:
        if isinstance(example, collections.abc.MutableSequence):
            out = copy.copy(example)
            for i, value in enumerate(values):
                out[i] = value
            return out
        return type(example)(values)
    except TypeError:
        return values


def collate(batch, *, collate_fn_map=None):
    """A batch of samples of one type, by the function that `collate_fn_map` gives for it.

    Mappings, named tuples and sequences are batched entry by entry. Raises TypeError for samples
    of another type, RuntimeError for sequences of different lengths.
    """
    elem = batch[0]
    kind = type(elem)
    if collate_fn_map is not None:
        if kind in collate_fn_map:
            return collate_fn_map[kind](batch, collate_fn_map=collate_fn_map)
        for known, fn in collate_fn_map.items():
            if isinstance(elem, known):
                return fn(batch, collate_fn_map=collate_fn_map)
        if _is_numpy(elem):
            if kind.__name__ == "ndarray":
                return collate_numpy_array_fn(batch, collate_fn_map=collate_fn_map)
            if isinstance(elem, (sys.modules["numpy"].bool_, sys.modules["numpy"].number)):
                return collate_numpy_scalar_fn(batch, collate_fn_map=collate_fn_map)
    if isinstance(elem, collections.abc.Mapping):
        return _mapping_like(elem, {
            k: collate([d[k] for d in batch], collate_fn_map=collate_fn_map) for k in elem})
    if isinstance(elem, tuple) and hasattr(elem, "_fields"):
        return kind(*(collate(samples, collate_fn_map=collate_fn_map) for samples in zip(*batch)))
    if isinstance(elem, collections.abc.Sequence):
        sizes = {len(sample) for sample in batch}
        if len(sizes) > 1:
            raise RuntimeError("the samples of a batch are sequences of different lengths: "
                               f"{sorted(sizes)}")
        columns = [collate(samples, collate_fn_map=collate_fn_map) for samples in zip(*batch)]
        return columns if isinstance(elem, tuple) else _sequence_like(elem, columns)
    raise TypeError(f"a sample of type {kind.__module__}.{kind.__qualname__} cannot be made a "
                    "batch of; give tensors, numpy arrays, numbers, dicts or lists, or a "
                    "collate_fn")


def collate_tensor_fn(batch, *, collate_fn_map=None):
    elem = batch[0]
    if elem.layout != torch.strided and not elem.is_nested:
        raise RuntimeError(f"a batch of tensors of layout {elem.layout} needs a collate_fn")
    return torch.stack(batch, 0)


def collate_numpy_array_fn(batch, *, collate_fn_map=None):
    elem = batch[0]
    if np_str_obj_array_pattern.search(elem.dtype.str) is not None:
        raise TypeError(f"numpy arrays of dtype {elem.dtype} cannot be made a batch of")
    return collate([torch.as_tensor(b) for b in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch, *, collate_fn_map=None):
    return torch.as_tensor(batch)


def collate_float_fn(batch, *, collate_fn_map=None):
    return torch.tensor(batch, dtype=torch.float64)


def collate_int_fn(batch, *, collate_fn_map=None):
    return torch.tensor(batch)


def collate_str_fn(batch, *, collate_fn_map=None):
    return batch


default_collate_fn_map = {
    torch.Tensor: collate_tensor_fn, float: collate_float_fn, int: collate_int_fn,
    str: collate_str_fn, bytes: collate_str_fn}


def default_collate(batch):
    """Stacks tensors and numpy arrays along a new first dimension, numbers to a tensor; containers
    entry by entry; strings stay a list."""
    return collate(batch, collate_fn_map=default_collate_fn_map)
