"""torch.compile's front: functions become graphs where that is proven safe, and run as they are elsewhere.

`interpret.py` follows a call (`frame.py` its instructions, `builtin_calls.py` builtins), `reach.py` what it reads from
outside, `record.py` makes the graph, `guards.py` says for which calls the graph stands, `eval_frame.py` keeps the graphs of a
function. `splitting.py` runs what is not followed between graphs (`native.py`) and goes on behind it (`resume.py`).
"""
import torch

from . import config, eval_frame, exc, utils
from .backends.registry import list_backends, lookup_backend, register_backend
from .eval_frame import disable, reset

__all__ = ["allow_in_graph", "assume_constant_result", "config", "disable", "disallow_in_graph", "explain", "graph_break", "is_compiling", "is_dynamo_supported",
           "list_backends", "lookup_backend", "mark_dynamic", "mark_static", "mark_static_address", "maybe_mark_dynamic", "optimize",
           "optimize_assert", "register_backend", "reset", "reset_code_caches", "skip_frame", "step_unsupported", "OptimizedModule"]


def explain(f, *extra_args, **extra_kwargs):
    """explain(f)(*args, **kwargs) -> ExplainOutput: follows the call, and says what became graphs and what did not."""
    from .explaining import explain_call   # on first use: it takes dataclasses along
    if isinstance(getattr(f, "_orig_mod", None), torch.nn.Module):
        f = f._orig_mod
    f = getattr(f, "_torchdynamo_orig_callable", f)

    def inner(*args, **kwargs):
        return explain_call(f, args, kwargs)
    return inner(*extra_args, **extra_kwargs) if extra_args or extra_kwargs else inner


def reset_code_caches():
    """The graphs of all functions are forgotten: reset."""
    reset()


def optimize(backend="inductor", *, nopython=False, dynamic=None, disable=False, **unused):
    """optimize(backend="inductor", *, nopython=False, dynamic=None): the older form of torch.compile, a decorator."""
    return lambda fn: torch.compile(fn, backend=backend, fullgraph=nopython, dynamic=dynamic, disable=disable)


def optimize_assert(backend, **settings):
    """optimize with nopython=True."""
    return optimize(backend, nopython=True, **settings)


def allow_in_graph(fn):
    """Makes calls of fn nodes of the graph, which are not looked into. Its result must depend on its arguments alone."""
    if isinstance(fn, (list, tuple)):
        return [allow_in_graph(f) for f in fn]
    if not callable(fn):
        raise TypeError(f"allow_in_graph takes a function, but got {type(fn).__name__}")
    from .allowed import allow
    allow(fn)
    return fn


def disallow_in_graph(fn):
    """Calls of fn are no part of graphs: it runs between them."""
    for f in fn if isinstance(fn, (list, tuple)) else (fn,):
        from .allowed import refuse
        refuse(f)
    return fn


def assume_constant_result(fn):
    """Accepted; the function is followed like any other, and what it reads is guarded."""
    return fn


def graph_break(msg=""):
    """Where a function calls this, one graph ends and another begins."""


def skip_frame(msg=""):
    """A function that calls this runs as it is."""


step_unsupported = skip_frame


def is_dynamo_supported():
    """Whether byte code of this Python is followed. Elsewhere functions run as they are."""
    from .interpret import KNOWN_PYTHON
    return KNOWN_PYTHON


def is_compiling():
    """Whether the code runs to be compiled: False wherever it is seen by Python, True within graphs."""
    return False


def mark_dynamic(t, index, *, hint_override=None, min=None, max=None, specialize_on=None):
    """Says that size t.shape[index] varies. Graphs that do not read sizes serve all sizes from the second on in any case."""
    _mark("_dynamo_dynamic_indices", t, index)


def maybe_mark_dynamic(t, index):
    """As mark_dynamic, without an error where it cannot be."""
    _mark("_dynamo_weak_dynamic_indices", t, index)


def mark_static(t, index=None):
    """Says that sizes of t do not vary."""
    _mark("_dynamo_static_indices", t, index if index is not None else list(range(t.ndim)))


def mark_static_address(t, guard=True):
    """Says that t stays where it is in memory."""


def _mark(name, t, index):
    for i in index if isinstance(index, (list, tuple)) else (index,):
        if not -t.ndim <= i < t.ndim:
            raise IndexError(f"dimension {i} of a tensor of shape {tuple(t.shape)}: it has dimensions {-t.ndim} to {t.ndim - 1}")
        if not hasattr(t, name):
            setattr(t, name, set())
        getattr(t, name).add(i)


def __getattr__(name):
    return getattr(eval_frame, name) if name == "OptimizedModule" else _no_attribute(name)


def _no_attribute(name):
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


from .interpret import add_queries as _add_queries  # noqa: E402

_add_queries(is_compiling, graph_break, skip_frame)
