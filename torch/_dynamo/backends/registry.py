"""Back ends by name."""
from ..exc import InvalidBackend
from ..program import Program
from .training import joint, wants_gradients

_backends = {}  # name: (function(gm, example_inputs) -> callable, tags)


def register_backend(compiler_fn=None, name=None, tags=()):
    """register_backend(compiler_fn=None, name=None, tags=()): makes compiler_fn(gm, example_inputs) known by its name.

    Also a decorator. Back ends tagged "debug" or "experimental" are left out by list_backends.
    """
    if compiler_fn is None:
        return lambda f: register_backend(f, name=name, tags=tags)
    if not callable(compiler_fn):
        raise TypeError(f"a back end must be callable, but got {type(compiler_fn).__name__}")
    name = name or compiler_fn.__name__
    if name in _backends:
        raise AssertionError(f"a back end named {name!r} is registered already")
    _backends[name] = (compiler_fn, tuple(tags))
    return compiler_fn


def list_backends(exclude_tags=("debug", "experimental")):
    """The names of back ends without the tags, sorted."""
    return sorted(n for n, (_, tags) in _backends.items() if not set(tags) & set(exclude_tags or ()))


def lookup_backend(compiler_fn):
    """The function of a back end's name; a callable is one itself."""
    if not isinstance(compiler_fn, str):
        return compiler_fn
    if compiler_fn not in _backends:
        raise InvalidBackend(compiler_fn)
    return _backends[compiler_fn][0]


# The back ends of the house do without torch.fx: they take a Program, which has what they use of a GraphModule. A back end of a
# user's may hand them one, of which only the nodes are known.

class _OfGraph:
    """What the back ends use of a Program, of a torch.fx.GraphModule: no facts about sizes and aliases, so that its operators run
    one by one where gradients are wanted."""

    def __init__(self, gm):
        from ..record import set_grad_enabled
        calls = [n.target for n in gm.graph.nodes if n.op in ("call_function", "call_method")]
        self.forward, self.facts = gm.forward, {"grad_mode": set_grad_enabled in calls}

    def with_fixed_inputs(self):
        return self, []


def _known(gm):
    return gm if isinstance(gm, Program) else _OfGraph(gm)


@register_backend(tags=("debug",))
def eager(gm, example_inputs, **settings):
    """The graph's operators one by one."""
    return gm.forward


@register_backend(tags=("debug",))
def aot_eager(gm, example_inputs, **settings):
    """The operators of the forward and the backward graph one by one."""
    gm = _known(gm)
    made = joint(gm, example_inputs, lambda half, examples: half.forward) if wants_gradients(gm, example_inputs) else None
    return made or gm.forward


@register_backend
def inductor(gm, example_inputs):
    """Fused machine code of this process, where the compiler can make it."""
    from torch import _inductor
    gm, held = _known(gm).with_fixed_inputs()   # a trace of tensors does not see how they are made
    made = _compiled(_inductor, gm, [*example_inputs, *held])
    return (lambda *inputs: made(*inputs, *held)) if held else made


def _compiled(_inductor, gm, example_inputs):
    facts = gm.facts
    if wants_gradients(gm, example_inputs):
        made = None
        if not facts.get("draws"):
            made = joint(gm, example_inputs, lambda half, examples: _inductor.compile(half.forward, examples))
        return made or gm.forward
    # A draw that has no tensor among its inputs is not seen by a trace of tensors.
    # Of what users made an operator every call is to run, whatever Python it reads and whatever it does besides.
    return gm.forward if facts.get("draws") or facts.get("unknown") else _inductor.compile(gm.forward, example_inputs)


for _backend, _ in _backends.values():
    _backend.takes_programs = True
