"""vmap: a function of one example becomes one of a batch."""
import contextlib
import functools
import itertools

import torch
from torch import Tensor
from torch._C._functorch import (
    _add_batch_dim, _remove_batch_dim, _vmap_decrement_nesting, _vmap_increment_nesting, is_batchedtensor)
from torch.utils._pytree import TreeSpec, _broadcast_to_and_flatten, tree_flatten, tree_unflatten  # noqa: F401

__all__ = ["vmap_impl", "get_chunk_sizes", "restore_vmap"]


def _get_name(func):
    return getattr(func, "__name__", None) or repr(func)


def _as_tuple(value, num_elements, error_message_lambda):
    if not isinstance(value, tuple):
        return (value,)
    if len(value) != num_elements:
        raise ValueError(error_message_lambda())
    return value


def _check_randomness_arg(randomness):
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"randomness must be 'error', 'different' or 'same', got {randomness}")


def _validate_and_get_batch_size(flat_in_dims, flat_args):
    sizes = {arg.size(dim) for dim, arg in zip(flat_in_dims, flat_args) if dim is not None}
    if not sizes:
        raise ValueError("vmap: in_dims names no dimension of any input; at least one input must be mapped over")
    if len(sizes) > 1:
        raise ValueError(f"vmap: the mapped dimensions of the inputs have different sizes: {sorted(sizes)}")
    return next(iter(sizes))


def _process_batched_inputs(in_dims, args, func):
    """(batch size, dimensions of the leaves, leaves, their structure); ValueError where they do not fit."""
    name = _get_name(func)
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(f"vmap({name}, in_dims={in_dims}): in_dims must be an int or a (nested) tuple of the structure of the "
                         f"inputs, not {type(in_dims)}")
    if not args:
        raise ValueError(f"vmap({name}): it was called without inputs; a function that takes none cannot be mapped")
    flat_args, args_spec = tree_flatten(args)
    flat_in_dims = _broadcast_to_and_flatten(in_dims, args_spec)
    if flat_in_dims is None:
        raise ValueError(f"vmap({name}, in_dims={in_dims}): in_dims has the structure {tree_flatten(in_dims)[1]}, which does not "
                         f"fit that of the inputs, {args_spec}")
    for i, (arg, dim) in enumerate(zip(flat_args, flat_in_dims)):
        if dim is None:
            continue
        if isinstance(dim, bool):
            raise TypeError(f"vmap({name}, in_dims={in_dims}): a dimension must be an int or None, not the bool {dim}")
        if not isinstance(dim, int):
            raise ValueError(f"vmap({name}, in_dims={in_dims}): a dimension must be an int or None, got {dim!r}")
        if not isinstance(arg, Tensor):
            raise ValueError(f"vmap({name}, in_dims={in_dims}): in_dim is {dim} for an input of type {type(arg)}; only tensors can "
                             "be mapped over, use None for anything else")
        if not -arg.dim() <= dim < arg.dim():
            raise ValueError(f"vmap({name}, in_dims={in_dims}): in_dim is {dim} for a tensor of {arg.dim()} dimensions, it must be "
                             f"at least {-arg.dim()} and less than {arg.dim()}")
        if dim < 0:
            flat_in_dims[i] = dim + arg.dim()
    return _validate_and_get_batch_size(flat_in_dims, flat_args), flat_in_dims, flat_args, args_spec


def _create_batched_inputs(flat_in_dims, flat_args, vmap_level, args_spec):
    wrapped = [arg if dim is None else _add_batch_dim(arg, dim, vmap_level) for dim, arg in zip(flat_in_dims, flat_args)]
    return tree_unflatten(wrapped, args_spec)


def _maybe_remove_batch_dim(name, batched_output, vmap_level, batch_size, out_dim):
    if out_dim is None:
        if isinstance(batched_output, Tensor) and is_batchedtensor(batched_output):
            raise ValueError(f"vmap({name}): out_dim is None for a result that differs between examples")
        return batched_output
    if not isinstance(batched_output, Tensor):
        raise ValueError(f"vmap({name}): the function must return tensors only, got {type(batched_output)}; out_dims=None says that "
                         "a result is given on as it is")
    return _remove_batch_dim(batched_output, vmap_level, batch_size, out_dim)


def _unwrap_batched(batched_outputs, out_dims, vmap_level, batch_size, func):
    flat, spec = tree_flatten(batched_outputs)
    name = _get_name(func)

    def refuse():
        raise ValueError(f"vmap({name}, out_dims={out_dims}): out_dims has the structure {tree_flatten(out_dims)[1]}, which does "
                         f"not fit that of the outputs, {spec}")
    if isinstance(batched_outputs, Tensor):
        # One tensor: an int, or a tuple of one
        if isinstance(out_dims, int) or out_dims is None:
            flat_out_dims = [out_dims]
        elif isinstance(out_dims, tuple) and len(out_dims) == 1:
            flat_out_dims = list(out_dims)
        else:
            refuse()
    else:
        flat_out_dims = _broadcast_to_and_flatten(out_dims, spec)
        if flat_out_dims is None:
            refuse()
    return tree_unflatten([_maybe_remove_batch_dim(name, o, vmap_level, batch_size, d) for o, d in zip(flat, flat_out_dims)], spec)


def _check_int_or_none(x, func, out_dims):
    if x is not None and not isinstance(x, int):
        raise ValueError(f"vmap({_get_name(func)}, out_dims={out_dims}): out_dims must be an int, None, or a collection of these")


def _check_out_dims_is_int_or_int_pytree(out_dims, func):
    for x in tree_flatten(out_dims)[0]:
        _check_int_or_none(x, func, out_dims)


@contextlib.contextmanager
def vmap_increment_nesting(batch_size, randomness):
    """A level of vmap; gives its number."""
    level = _vmap_increment_nesting(batch_size, randomness)
    try:
        yield level
    finally:
        _vmap_decrement_nesting()


def _flat_vmap(func, batch_size, flat_in_dims, flat_args, args_spec, out_dims, randomness, **kwargs):
    with vmap_increment_nesting(batch_size, randomness) as level:
        inputs = _create_batched_inputs(flat_in_dims, flat_args, level, args_spec)
        outputs = func(*inputs, **kwargs)
        return _unwrap_batched(outputs, out_dims, level, batch_size, func)


def get_chunk_sizes(total, chunk_size):
    """chunk_size as often as it goes into total, then what is left."""
    sizes = [chunk_size] * (total // chunk_size)
    if total % chunk_size:
        sizes.append(total % chunk_size)
    return sizes


def _get_chunked_inputs(flat_args, flat_in_dims, batch_size, chunk_size):
    sizes = (batch_size,) if chunk_size is None else get_chunk_sizes(batch_size, chunk_size)
    split = tuple(itertools.accumulate(sizes))[:-1]
    pieces = [arg.tensor_split(split, dim=dim) if dim is not None else [arg] * len(sizes) for arg, dim in zip(flat_args, flat_in_dims)]
    return zip(*pieces)


def _flatten_chunks_output(chunks_output):
    flat, spec = [], None
    for output in chunks_output:
        leaves, spec_of = tree_flatten(output)
        spec = spec or spec_of
        flat.append(leaves)
    return list(zip(*flat)), spec


def _concat_chunked_outputs(out_dims, spec, flat_output_chunks):
    dims = _broadcast_to_and_flatten(out_dims, spec)
    if dims is None:
        dims = tree_flatten(out_dims)[0]
    return [chunks[0] if dim is None else torch.cat(chunks, dim=dim) for dim, chunks in zip(dims, flat_output_chunks)]


def _chunked_vmap(func, flat_in_dims, chunks_flat_args, args_spec, out_dims, randomness, **kwargs):
    outputs = []
    state = torch.get_rng_state() if randomness == "same" else None
    for flat_args in chunks_flat_args:
        if state is not None:
            torch.set_rng_state(state)
        size = _validate_and_get_batch_size(flat_in_dims, flat_args)
        outputs.append(_flat_vmap(func, size, flat_in_dims, flat_args, args_spec, out_dims, randomness, **kwargs))
    flat, spec = _flatten_chunks_output(outputs)
    return tree_unflatten(_concat_chunked_outputs(out_dims, spec, flat), spec)


def vmap_impl(func, in_dims, out_dims, randomness, chunk_size, *args, **kwargs):
    _check_out_dims_is_int_or_int_pytree(out_dims, func)
    _check_randomness_arg(randomness)
    batch_size, flat_in_dims, flat_args, args_spec = _process_batched_inputs(in_dims, args, func)
    if chunk_size is not None:
        chunks = _get_chunked_inputs(flat_args, flat_in_dims, batch_size, chunk_size)
        return _chunked_vmap(func, flat_in_dims, chunks, args_spec, out_dims, randomness, **kwargs)
    return _flat_vmap(func, batch_size, flat_in_dims, flat_args, args_spec, out_dims, randomness, **kwargs)


def restore_vmap(func, in_dims, batch_size, randomness):
    """func over a batch of this size, even where no input has it; returns (outputs, their dimensions: 0 or None)."""
    def inner(*args, **kwargs):
        with vmap_increment_nesting(batch_size, randomness) as level:
            flat, spec = tree_flatten(args)
            dims = _broadcast_to_and_flatten(in_dims, spec)
            outputs = func(*_create_batched_inputs(dims, flat, level, spec), **kwargs)
            leaves, out_spec = tree_flatten(outputs)
            values, out_dims = [], []
            for o in leaves:
                mine = isinstance(o, Tensor) and is_batchedtensor(o) and torch._C._functorch.maybe_get_level(o) == level
                values.append(_remove_batch_dim(o, level, batch_size, 0) if mine else o)
                out_dims.append(0 if mine else None)
            return tree_unflatten(values, out_spec), tree_unflatten(out_dims, out_spec)
    return inner


def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    """A function that runs func on every example of a batch at once: vmap(func)(x)[i] is func(x[i]).

    func sees tensors without the mapped dimension; operators on them run on the whole batch. Calls nest, and mix with
    the transforms of torch.func.

    in_dims: the dimension of each input that is mapped over (None: the input is the same for all examples), as an int
    for all or a tuple of the inputs' structure. out_dims: where the batch stands in each result; None for a result that
    is the same for all, which has none. randomness: what random operators do, 'error' (the default) to raise,
    'different' to draw for each example, 'same' to draw once. chunk_size: at most so many examples at a time, to save
    memory.

    Raises ValueError for inputs and dimensions that do not fit, or results that are no tensors, and RuntimeError where
    func asks for the value of a tensor (item(), a condition), for shapes that depend on values, or for writes of
    differing values to a tensor that is not mapped. Source: the function vmap of JAX and PyTorch.

    >>> torch.vmap(torch.dot)(x, y)     # (n, k), (n, k) -> (n,)
    """
    _check_randomness_arg(randomness)
    if chunk_size is not None and not chunk_size > 0:
        raise ValueError(f"vmap: chunk_size must be None or greater than 0, it is {chunk_size}")

    @functools.wraps(func)
    def wrapped(*args, **kwargs):
        return vmap_impl(func, in_dims, out_dims, randomness, chunk_size, *args, **kwargs)
    return wrapped


vmap.__module__ = "torch.func"
