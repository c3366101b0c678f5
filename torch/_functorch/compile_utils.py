"""Small passes over graphs of operators."""
import operator

from torch._ops import OpOverload
from torch.fx.graph import Graph
from torch.fx.node import Node, map_aggregate

__all__ = ["fx_graph_cse", "raise_getitems", "strip_overloads", "get_placeholders", "get_outputs"]


def _key(x):
    if isinstance(x, (list, tuple)):
        return (type(x).__name__, *[_key(i) for i in x])
    if isinstance(x, dict):
        return ("dict", *[(k, _key(v)) for k, v in x.items()])
    if isinstance(x, slice):
        return ("slice", _key(x.start), _key(x.stop), _key(x.step))
    return (type(x).__name__, repr(x)) if isinstance(x, float) else (type(x).__name__, x)


def fx_graph_cse(fx_g):
    """A graph in which equal calls of pure functions with equal arguments are one; views and random numbers stay."""
    new, env, known = Graph(), {}, {}
    for node in fx_g.nodes:
        if node.op != "call_function" or node.is_impure() or (
                isinstance(node.target, OpOverload) and node.target._overloadpacket.__name__.startswith("empty")):
            env[node] = new.node_copy(node, env.__getitem__)
            continue

        def take(x):
            return env[x] if isinstance(x, Node) else x
        args, kwargs = map_aggregate(node.args, take), map_aggregate(node.kwargs, take)
        try:
            key = (node.target, _key(args), _key(kwargs))
            found = known.get(key)
        except TypeError:
            key = found = None
        if found is not None:
            env[node] = found
            continue
        env[node] = made = new.node_copy(node, env.__getitem__)
        if key is not None:
            known[key] = made
    return new


def raise_getitems(gm):
    """Puts the nodes that take items right after what they take them from."""
    for node in list(gm.graph.nodes):
        if node.op == "call_function" and node.target is operator.getitem and isinstance(node.args[0], Node):
            after = node.args[0]
            while after.next.op == "call_function" and after.next.target is operator.getitem and (
                    after.next.args[0] is node.args[0]) and after.next is not node:
                after = after.next
            if after.next is not node:
                after.append(node)
    gm.recompile()
    return gm


def strip_overloads(gm):
    """Replaces overloads by their packets, in place."""
    for node in gm.graph.nodes:
        if isinstance(node.target, OpOverload):
            node.target = node.target.overloadpacket
    gm.recompile()


def get_placeholders(graph):
    """The inputs of a graph."""
    return graph.find_nodes(op="placeholder")


def get_outputs(graph):
    """The nodes of a graph's results, in order."""
    return [a for a in graph.output_node().args[0] if isinstance(a, Node)]
