"""Calling a module with other parameters than its own."""

from __future__ import annotations

import warnings
from contextlib import contextmanager

from torch import Tensor

__all__ = ["functional_call"]

_missing = object()


def _untie_named_tensors_map(module, parameters_and_buffers):
    """The given tensors by every name of the module's tensors that are tied to a given one.

    Raises ValueError where two tied names are given different tensors.
    """
    names_of = {}
    for name, t in (
        *module.named_parameters(remove_duplicate=False),
        *module.named_buffers(remove_duplicate=False),
    ):
        names_of.setdefault(id(t), []).append(name)
    tied = {name: names for names in names_of.values() if len(names) > 1 for name in names}
    result = dict(parameters_and_buffers)
    for given, tensor in parameters_and_buffers.items():
        for name in tied.get(given, ()):
            if name in parameters_and_buffers and parameters_and_buffers[name] is not tensor:
                raise ValueError(
                    f"{given!r} and {name!r} are tied in the module, but are given different "
                    "tensors"
                )
            result[name] = tensor
    return result


def _owner(module, name, cache):
    """(the submodule that holds the tensor `name`, the tensor's own name there)."""
    prefix, _, atom = name.rpartition(".")
    owner = cache.get(prefix)
    if owner is None:
        owner = cache[prefix] = module.get_submodule(prefix)
    return owner, atom


@contextmanager
def _reparametrize_module(
    module, parameters_and_buffers, tie_weights=False, strict=False, stack_weights=False
):
    """Within this context the module's tensors are the given ones, by name."""
    given = parameters_and_buffers
    if tie_weights:
        given = _untie_named_tensors_map(module, given)
    if strict:
        own = {n for n, _ in module.named_parameters(remove_duplicate=False)}
        own |= {n for n, _ in module.named_buffers(remove_duplicate=False)}
        missing, unexpected = own - given.keys(), given.keys() - own
        if missing or unexpected:
            raise RuntimeError(
                f"missing names: {sorted(missing)}, unexpected names: {sorted(unexpected)}"
            )
    cache, saved = {}, []
    try:
        for name, tensor in given.items():
            owner, atom = _owner(module, name, cache)
            if atom in owner._parameters:
                place = owner._parameters
            elif atom in owner._buffers:
                place = owner._buffers
            else:
                # Plain attributes are exchanged too, and names that do not exist come and go.
                place = owner.__dict__
                current = getattr(owner, atom, tensor)
                if not isinstance(current, Tensor):
                    raise TypeError(
                        f"{name!r} of the module is no tensor, but {type(current).__name__}"
                    )
            if not isinstance(tensor, Tensor):
                raise TypeError(
                    f"{name!r} must be given as a tensor, but got {type(tensor).__name__}"
                )
            saved.append((name, place, atom, place.get(atom, _missing)))
            place[atom] = tensor
        yield
    finally:
        for name, place, atom, old in reversed(saved):
            # What forward did to a given buffer is the caller's to see.
            if (
                name in parameters_and_buffers
                and place.get(atom) is not parameters_and_buffers[name]
            ):
                parameters_and_buffers[name] = place.get(atom)
            if old is _missing:
                place.pop(atom, None)
            else:
                place[atom] = old


def _functional_call(
    module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False
):
    if kwargs is None:
        kwargs = {}
    if args is None:
        args = ()
    elif not isinstance(args, tuple):
        args = (args,)
    with _reparametrize_module(
        module, parameters_and_buffers, tie_weights=tie_weights, strict=strict
    ):
        return module(*args, **kwargs)


def functional_call(
    module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False
):
    """Deprecated, for `torch.func.functional_call`: the module's result with the given
    parameters and buffers, by dotted name, in place of its own."""
    warnings.warn(
        "torch.nn.utils.stateless.functional_call is deprecated: use torch.func.functional_call",
        FutureWarning,
        stacklevel=2,
    )
    return _functional_call(
        module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict
    )
