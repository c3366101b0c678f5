"""GraphModules whose code may be made late; here all make it at once."""
import contextlib

from torch.fx.graph_module import GraphModule

_LazyGraphModule = GraphModule
_force_skip_lazy_graph_module_flag = False


@contextlib.contextmanager
def _force_skip_lazy_graph_module():
    """Changes nothing: code is made at once anyway."""
    yield


@contextlib.contextmanager
def _use_lazy_graph_module(should_use):
    """Changes nothing: code is made at once."""
    yield


def _get_graph_module_cls():
    return GraphModule


def _make_graph_module(*args, graph_module_cls=None, **kwargs):
    return (graph_module_cls or GraphModule)(*args, **kwargs)
