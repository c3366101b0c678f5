"""From a graph of operators, or any code without data-dependent control flow, to fused machine code."""
from .. import _C
from .._tensor import Tensor


class _Restored:
    """A compiled graph whose code gave or took more than tensors: put back around it."""

    def __init__(self, graph, which, spec, leaves):
        self._graph, self._which, self._spec, self._leaves = graph, which, spec, leaves

    def steps(self, *inputs):
        return self._graph.steps(*(inputs[i] for i in self._which))

    def __call__(self, *inputs):
        found = iter(self._graph(*(inputs[i] for i in self._which)))
        from ..utils import _pytree
        return _pytree.tree_unflatten([next(found) if isinstance(x, Tensor) else x for x in self._leaves], self._spec)


def _key(x):
    """What an input that is no tensor is known by: 1, 1.0 and True, 0.0 and -0.0 are different, within tuples, too."""
    if isinstance(x, (tuple, frozenset)):
        return type(x), tuple(map(_key, x)) if isinstance(x, tuple) else frozenset(map(_key, x))
    return type(x), repr(x) if isinstance(x, (float, complex)) else x


class _ByNumbers:
    """One compiled graph for each set of the inputs that are no tensors: they are part of the graph."""

    def __init__(self, code):
        self._code, self._made = code, {}

    def __call__(self, *inputs):
        key = tuple(_key(x) for x in inputs if not isinstance(x, Tensor))
        try:
            hash(key)
        except TypeError:
            return self._code(*inputs)
        if key not in self._made:
            self._made[key] = _followed(self._code, inputs)
        return self._made[key](*inputs)


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

    The callable takes what gm takes and gives what gm gives, with the same bits but for attention, which it takes apart into
    products and a softmax where gm has one kernel (torch.compile leaves graphs of attention as they are). gm, a
    torch.fx.GraphModule or any callable, is followed once on tensors of the examples' shapes; other shapes are planned when they
    come, with the same kernels where only sizes differ. Where a gradient is wanted of an input, operators are called one by one.
    A gm that reads values or writes to its inputs is returned as it is. Inputs that are no tensors are part of the graph: there
    is one for each set of them.
    """
    if any(not isinstance(x, Tensor) for x in example_inputs_):
        return _ByNumbers(model_)
    return _followed(model_, example_inputs_)


def compile(gm, example_inputs, options=None):
    """compile(gm, example_inputs, options=None) -> callable

    See compile_fx. options: see torch._inductor.list_options; none changes a result.
    """
    if options:
        from . import check_options
        check_options(options)
    return compile_fx(gm, example_inputs)
