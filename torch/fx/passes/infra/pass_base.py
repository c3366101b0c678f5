"""A pass over a graph as an object."""
import abc
from typing import NamedTuple

import torch

__all__ = ["PassResult", "PassBase"]


class PassResult(NamedTuple):
    """What a pass gives: the module, and whether it was changed."""

    graph_module: torch.nn.Module
    modified: bool


class PassBase(abc.ABC):
    """A pass: `call` does it, `requires` and `ensures` check the module before and after."""

    def __call__(self, graph_module):
        """Runs the checks and the pass; gives a PassResult."""
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    @abc.abstractmethod
    def call(self, graph_module):
        """Does the pass; a PassResult."""

    def requires(self, graph_module):  # noqa: B027
        """Raises where the module is not what the pass needs."""

    def ensures(self, graph_module):  # noqa: B027
        """Raises where the module is not what the pass promises."""
