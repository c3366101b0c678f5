"""From a graph of operators, or any code without data-dependent control flow, to fused machine code."""
from .. import _C
from .._tensor import Tensor


def _steps(made, inputs):
    """The steps of what a graph became: machine code has them, code that runs as it is has none."""
    return made.steps(*inputs) if hasattr(made, "steps") else f"as it is: {getattr(made, '__qualname__', type(made).__qualname__)}\n"


class _Restored:
    """A compiled graph whose code gave or took more than tensors: put back around it."""

    def __init__(self, graph, which, spec, leaves):
        self._graph, self._which, self._spec, self._leaves = graph, which, spec, leaves

    def steps(self, *inputs):
        return _steps(self._graph, [inputs[i] for i in self._which])

    def __call__(self, *inputs):
        found = iter(self._graph(*(inputs[i] for i in self._which)))
        from ..utils import _pytree
        return _pytree.tree_unflatten([next(found) if isinstance(x, Tensor) else x for x in self._leaves], self._spec)


def _known_by(x):
    """What of an input a graph hangs on: a tensor's geometry, a number itself. 1, 1.0 and True, 0.0 and -0.0 are different,
    within tuples, too."""
    if isinstance(x, Tensor):
        return x.dtype, x.device, x.shape, x.stride(), x.is_conj(), x.is_neg()
    if isinstance(x, (tuple, frozenset)):
        return type(x), tuple(map(_known_by, x)) if isinstance(x, tuple) else frozenset(map(_known_by, x))
    return type(x), repr(x) if isinstance(x, (float, complex)) else x


class _ByInputs:
    """One compiled graph for each geometry of the inputs, and for each set of those that are no tensors: the code may decide by
    all of that, as composite operators decide by sizes, and what it decided is part of the graph. Where inputs differ ever
    more, what comes after `most` of them runs as it is."""

    most = 256

    def __init__(self, code):
        self._code, self._made = code, {}

    def _graph(self, inputs):
        key = (*map(_known_by, inputs), _C.get_default_dtype(), _C._library_replacements())
        try:
            made = self._made.get(key)
        except TypeError:   # an input that cannot be hashed
            return self._code
        if made is None:
            if len(self._made) >= self.most:
                return self._code
            made = self._made[key] = _followed(self._code, inputs)
        return made

    def steps(self, *inputs):
        return _steps(self._graph(inputs), inputs)

    def __call__(self, *inputs):
        return self._graph(inputs)(*inputs)


def _followed(code, inputs):
    tracer = _C._GraphTracer()
    stand_ins = [tracer.input(x) if isinstance(x, Tensor) else x for x in inputs]
    try:
        with tracer:
            out = code(*stand_ins)
        which = [i for i, x in enumerate(inputs) if isinstance(x, Tensor)]
        plain = isinstance(out, Tensor) or (type(out) in (tuple, list) and all(isinstance(x, Tensor) for x in out) and out)
        if plain and len(which) == len(inputs):
            return tracer.finish(out)
        from ..utils import _pytree   # on first use: it takes dataclasses along
        leaves, spec = _pytree.tree_flatten(out)
        graph = tracer.finish(tuple(x for x in leaves if isinstance(x, Tensor)))
        return _Restored(graph, which, spec, [x if not isinstance(x, Tensor) else Tensor() for x in leaves])
    except NotImplementedError as e:   # it reads values, or writes to what others see
        import logging
        logging.getLogger("torch._inductor").info("a graph runs as it is: %s", e)
        return code
    except Exception as e:   # of the code itself, which says it again when it runs, or a fault of the compiler
        import logging
        logging.getLogger("torch._inductor").warning("a graph runs as it is, following it raised %s: %s", type(e).__name__, e)
        return code


def compile_fx(model_, example_inputs_, **unused):
    """compile_fx(gm, example_inputs) -> callable

    The callable takes what gm takes and gives what gm gives, with the same bits. gm, a torch.fx.GraphModule or any callable, is
    followed on tensors of the examples' types, sizes and strides, and again for each other set of them that comes: what
    composite operators do hangs on sizes. Kernels serve all sizes. Where a gradient is wanted of an input, operators are called
    one by one. A gm that reads values, writes to its inputs or gives attention a mask of floats (whether a gradient is wanted of
    it decides which kernel attention has) is returned as it is.
    Inputs that are no tensors are part of the graph: there is one for each set of them.
    """
    if any(not isinstance(x, Tensor) for x in example_inputs_):
        return _ByInputs(model_)
    made = _followed(model_, example_inputs_)
    if isinstance(made, _C._CompiledGraph):
        made.otherwise(_ByInputs(model_))
    elif isinstance(made, _Restored):   # what it puts back is of this geometry
        return _ByInputs(model_)
    return made


def compile(gm, example_inputs, options=None):
    """compile(gm, example_inputs, options=None) -> callable

    See compile_fx. options: see torch._inductor.list_options; none changes a result.
    """
    if options:
        from . import check_options
        check_options(options)
    return compile_fx(gm, example_inputs)
