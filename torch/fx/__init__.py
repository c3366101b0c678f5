"""Graphs of Python functions: traced by running on proxies, changed as lists of nodes, and made code again.

`symbolic_trace` gives a `GraphModule`: its `graph` is a list of `Node`s, its `code` is Python. `Interpreter` runs a graph
node by node, `Transformer` makes another of it, `replace_pattern` replaces subgraphs.
"""
from torch.fx import immutable_collections, traceback  # noqa: F401
from torch.fx._symbolic_trace import PH, ProxyableClassMeta, Tracer, symbolic_trace, wrap  # noqa: F401
from torch.fx.graph import CodeGen, Graph  # noqa: F401
from torch.fx.graph_module import GraphModule
from torch.fx.interpreter import Interpreter, Transformer
from torch.fx.node import Node, has_side_effect, map_arg
from torch.fx.proxy import Proxy
from torch.fx.subgraph_rewriter import replace_pattern

__all__ = ["symbolic_trace", "Tracer", "wrap", "Graph", "GraphModule", "Interpreter", "Transformer", "Node", "Proxy",
           "replace_pattern", "has_side_effect", "map_arg"]

_LAZY = frozenset(("operator_schemas", "tensor_type", "traceback", "experimental", "passes", "config",
                   "_lazy_graph_module"))


def __getattr__(name):
    if name in _LAZY:
        from importlib import import_module
        return import_module("torch.fx." + name)
    raise AttributeError(f"module 'torch.fx' has no attribute {name!r}")
