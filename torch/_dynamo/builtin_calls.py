"""Builtins and queries of torch that are more than a call: what they do on the values of a run.

SPECIAL has them by function; each takes the run and the call's arguments.
"""
import operator

import torch

from .exc import Unsupported
from .reach import is_torchs
from .values import ITERATORS, VIEWS, Delayed, contains_tensor, is_plain


def _isinstance(run, x, kinds):
    for k in kinds if isinstance(kinds, tuple) else (kinds,):
        if isinstance(k, type) and type(k) is not type and "__instancecheck__" in vars(type(k)) and not is_torchs(k) and type(k).__module__ != "abc":
            raise Unsupported(f"isinstance of {k.__name__}, whose class decides")
    answer = isinstance(x, kinds)
    run.reach.answered(x, lambda text: f"isinstance({text}, {run.guards.name(kinds)}) is {answer}")
    return answer


def _getattr(run, x, name, *default):
    try:
        return run.reach.attribute(x, name)
    except AttributeError:
        if default:
            return default[0]
        raise


def _hasattr(run, x, name):
    if isinstance(x, torch.Tensor):
        if name not in dir(torch.Tensor):
            raise Unsupported(f"hasattr of a tensor and {name!r}")
        return True
    try:
        run.reach.attribute(x, name)
        return True
    except AttributeError:
        return False


def _container(kind):
    def make(run, *args):
        return kind(run.iterate(args[0])) if args else kind()
    return make


def _set(run, *args):
    items = list(run.iterate(args[0])) if args else []
    if contains_tensor(items):
        raise Unsupported("a set of tensors")
    return set(items)


def _zip(run, *args, **kwargs):
    return zip(*(run.iterate(a) for a in args), **kwargs)


def _enumerate(run, x, start=0):
    return enumerate(run.iterate(x), start)


def _reversed(run, x):
    return iter(list(run.iterate(x))[::-1])


def _map(run, f, *args):
    over = [run.iterate(a) for a in args]
    return Delayed((run.call(f, xs, {}) for xs in zip(*over)), map, (f, *over))


def _filter(run, f, x):
    over = run.iterate(x)
    return Delayed((i for i in over if run.truth(i if f is None else run.call(f, (i,), {}))), filter, (f, over))


def _sum(run, x, start=0):
    for i in run.iterate(x):
        start = run.apply(operator.add, start, i)
    return start


def _any(run, x):
    return any(run.truth(i) for i in run.iterate(x))


def _all(run, x):
    return all(run.truth(i) for i in run.iterate(x))


def _of_constants(f):
    def call(run, *args, **kwargs):
        if contains_tensor((args, kwargs)) or any(callable(v) for v in kwargs.values()):
            raise Unsupported(f"{f.__name__} of tensors or with a function gives Python their data")
        args = [list(run.iterate(a)) if type(a) in ITERATORS or type(a) in VIEWS else a for a in args]
        if contains_tensor(args):
            raise Unsupported(f"{f.__name__} of tensors gives Python their data")
        if not is_plain((args, kwargs)) and f not in (dict, frozenset, slice):
            raise Unsupported(f"{f.__name__} of what are no constants")
        return run._pure(f, args, kwargs)
    return call


def _abs(run, x):
    return run.apply(operator.abs, x)


def _pow(run, x, y, *mod):
    return pow(x, y, *mod) if mod else run.apply(operator.pow, x, y)


def _round(run, x, *digits):
    if isinstance(x, torch.Tensor):
        return run.recorder.call(torch.round, "round", (x,), {"decimals": digits[0]} if digits else {})
    return run._pure(round, (x, *digits), {})


def _next(run, x, *default):
    if type(x) not in ITERATORS or run.reach.is_outside(x):
        raise Unsupported(f"next of a {type(x).__name__}")
    return next(x, *default)


def _type(run, x, *more):
    if more:
        raise Unsupported("a class is made")
    run.reach.answered(x, lambda text: f"type({text}) is {run.guards.name(type(x), 'T')}")
    return type(x)


def _callable(run, x):
    answer = callable(x)
    run.reach.answered(x, lambda text: f"callable({text}) is {answer}")
    return answer


def constant(value):
    return lambda run, *args, **kwargs: value


def _query(f):
    return lambda run: f()


SPECIAL = {
    isinstance: _isinstance, getattr: _getattr, hasattr: _hasattr, len: lambda run, x: run.length(x), list: _container(list), tuple: _container(tuple),
    set: _set, zip: _zip, enumerate: _enumerate, reversed: _reversed, map: _map, filter: _filter, sum: _sum, any: _any, all: _all,
    iter: lambda run, x: run.iterate(x), next: _next, type: _type, callable: _callable, abs: _abs, pow: _pow, round: _round,
    torch.is_grad_enabled: _query(torch.is_grad_enabled), torch.get_default_dtype: _query(torch.get_default_dtype),
    torch.is_tensor: lambda run, x: isinstance(x, torch.Tensor),
    **{f: _of_constants(f) for f in (int, float, bool, str, complex, max, min, sorted, divmod, range, frozenset, dict, bytes, chr, ord,
                                     slice)},
}


def _dict(run, *args, **kwargs):
    if args and not isinstance(args[0], dict):
        args = ([tuple(run.iterate(p)) for p in run.iterate(args[0])],)
    return dict(*args, **kwargs)


SPECIAL[dict] = _dict
for _f in (torch.overrides.has_torch_function, torch.overrides.has_torch_function_unary, torch.overrides.has_torch_function_variadic):
    SPECIAL[_f] = constant(False)   # tensors are plain here, and no mode is active
SPECIAL[slice] = lambda run, *args: slice(*args)
SPECIAL[bool] = lambda run, x=False: run.truth(x)
