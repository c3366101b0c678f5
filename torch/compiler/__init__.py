"""torch.compiler: what users of torch.compile call."""
import torch
from torch import _dynamo
from torch._dynamo import eval_frame as _eval_frame

__all__ = ["compile", "assume_constant_result", "reset", "allow_in_graph", "substitute_in_graph", "list_backends", "disable", "set_stance",
           "cudagraph_mark_step_begin", "wrap_numpy", "is_compiling", "is_dynamo_compiling", "is_exporting", "get_default_backend",
           "set_default_backend"]

_default_backend = ["inductor"]


def compile(*args, **kwargs):
    """See torch.compile."""
    return torch.compile(*args, **kwargs)


def reset():
    """Forgets all compiled graphs."""
    _dynamo.reset()


def allow_in_graph(fn):
    """See torch._dynamo.allow_in_graph."""
    return _dynamo.allow_in_graph(fn)


def assume_constant_result(fn):
    """See torch._dynamo.assume_constant_result."""
    return _dynamo.assume_constant_result(fn)


def list_backends(exclude_tags=("debug", "experimental")):
    """Names of back ends without the tags."""
    return _dynamo.list_backends(exclude_tags)


def disable(fn=None, recursive=True, *, reason=None):
    """A function that is never compiled; also a decorator."""
    return _dynamo.disable(fn, recursive, reason=reason)


def is_compiling():
    """Whether the code becomes a graph of torch.compile. A graph takes the branch of True."""
    return False


def is_dynamo_compiling():
    """As is_compiling."""
    return False


def is_exporting():
    """Whether the code is being exported."""
    return False


def get_default_backend():
    """The back end that torch.compile uses when it is told none."""
    return _default_backend[0]


def set_default_backend(backend):
    """Sets the back end that torch.compile uses when it is told none; None for inductor."""
    if backend is not None and not callable(backend):
        _dynamo.lookup_backend(backend)
    _default_backend[0] = "inductor" if backend is None else backend


_STANCES = ("default", "force_eager", "eager_on_recompile", "fail_on_recompile", "eager_then_compile")


class set_stance:
    """set_stance(stance="default"): how compiled functions behave from now on, or within a with block or a decorated function.

    "force_eager" runs them as they are; "eager_on_recompile" and "fail_on_recompile" say what happens where no graph fits;
    with "eager_then_compile" the first call runs as it is.
    """

    def __init__(self, stance="default", *, skip_guard_eval_unsafe=False, force_backend=None):
        if stance not in _STANCES:
            raise RuntimeError(f"stance {stance!r} is none of {', '.join(_STANCES)}")
        if skip_guard_eval_unsafe or force_backend is not None:
            raise NotImplementedError("set_stance: skip_guard_eval_unsafe and force_backend are not there yet")
        self.stance, self.before = stance, _eval_frame._stance[0]
        _eval_frame._stance[0] = stance

    def __enter__(self):
        _eval_frame._stance[0] = self.stance

    def __exit__(self, *exc):
        _eval_frame._stance[0] = self.before

    def __call__(self, fn):
        import functools
        _eval_frame._stance[0] = self.before

        @functools.wraps(fn)
        def call(*args, **kwargs):
            with set_stance(self.stance):
                return fn(*args, **kwargs)
        return call


def cudagraph_mark_step_begin():
    """Accepted; there are no CUDA graphs here."""


def wrap_numpy(fn):
    """fn, a function of numpy arrays, as one of tensors."""
    import functools

    import numpy
    from torch.utils import _pytree

    @functools.wraps(fn)
    def call(*args, **kwargs):
        args, kwargs = _pytree.tree_map(lambda x: x.detach().numpy() if isinstance(x, torch.Tensor) else x, (args, kwargs))
        return _pytree.tree_map(lambda x: torch.as_tensor(x) if isinstance(x, numpy.ndarray) else x, fn(*args, **kwargs))
    return call


def substitute_in_graph(original_fn, *, can_constant_fold_through=False, skip_signature_check=False):
    """A decorator: where original_fn is called in what is compiled, the decorated function is followed instead."""
    def register(fn):
        _SPECIAL[original_fn] = lambda run, *args, **kwargs: run.inline(fn, args, kwargs)
        return fn
    return register


from torch._dynamo.builtin_calls import SPECIAL as _SPECIAL, constant as _constant  # noqa: E402

_SPECIAL[is_compiling] = _SPECIAL[is_dynamo_compiling] = _constant(True)
_SPECIAL[is_exporting] = _constant(False)
