"""What the tests of torch.compile share."""
import pytest
import torch

from torch._dynamo.utils import counters


@pytest.fixture(autouse=True)
def fresh():
    """No graph, notice or count of another test."""
    torch._dynamo.reset()
    counters.clear()
    yield
    torch._dynamo.reset()


class Counting:
    """A back end that keeps the graphs it is given."""

    def __init__(self):
        self.graphs, self.inputs = [], []

    def __call__(self, gm, example_inputs):
        self.graphs.append(self.kept(gm))
        self.inputs.append(example_inputs)
        return gm.forward

    def kept(self, gm):
        return gm


class Listing(Counting):
    """The same, of each graph the names of what it calls."""

    def kept(self, gm):
        return [getattr(n.target, "__name__", n.target) for n in gm.graph.nodes if n.op.startswith("call")]
