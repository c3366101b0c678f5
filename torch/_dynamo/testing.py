"""Back ends that count what they are given."""
from .backends.registry import lookup_backend

__all__ = ["CompileCounter", "CompileCounterWithBackend"]


def _calls(gm):
    return sum(node.op in ("call_function", "call_method", "call_module") for node in gm.graph.nodes)


class CompileCounter:
    """A back end that runs graphs as they are: `frame_count` graphs with `op_count` calls so far. clear() starts again."""

    def __init__(self):
        self.clear()

    def __call__(self, gm, example_inputs):
        self.frame_count += 1
        self.op_count += _calls(gm)
        return gm.forward

    def clear(self):
        self.frame_count = self.op_count = 0


class CompileCounterWithBackend(CompileCounter):
    """The same before another back end, given by name; `graphs` are those that came."""

    def __init__(self, backend):
        self.backend = backend
        super().__init__()

    def __call__(self, gm, example_inputs):
        super().__call__(gm, example_inputs)
        self.graphs.append(gm)
        return lookup_backend(self.backend)(gm, example_inputs)

    def clear(self):
        super().clear()
        self.graphs = []
