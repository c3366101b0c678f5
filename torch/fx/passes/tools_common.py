"""What passes share: the order of nodes."""
import collections

import torch
from torch.fx.graph import Graph
from torch.fx.node import _get_qualified_name

__all__ = ["get_acc_ops_name", "get_node_target", "is_node_output_tensor", "legalize_graph", "stable_topological_sort"]

CALLABLE_NODE_OPS = {"call_module", "call_function", "call_method"}


def get_acc_ops_name(k):
    """The name of a function, without what its module adds."""
    if isinstance(k, str):
        return k
    module = k.__module__
    return f"{'' if module is None else module.replace('torch._ops', 'torch.ops')}.{k.__name__}".lstrip(".")


def get_node_target(submodules, node):
    """The type of the module, name of the function or of the method that a node calls."""
    if node.op not in CALLABLE_NODE_OPS:
        raise AssertionError(f"the node {node} is no call but a {node.op}")
    if node.op == "call_module":
        return torch.typename(submodules[node.target])
    if node.op == "call_function":
        return _get_qualified_name(node.target)
    return node.target


def is_node_output_tensor(node):
    """Whether the value is a tensor, by the meta 'type' that ShapeProp writes."""
    kind = node.meta.get("type")
    return kind is not None and issubclass(kind, torch.Tensor)


def legalize_graph(gm):
    """Puts the nodes into an order in which each comes after what it uses; RuntimeError where there is none."""
    waiting = {n: len(n.all_input_nodes) for n in gm.graph.nodes}
    queue = collections.deque(n for n, count in waiting.items() if not count and n.op == "placeholder")
    queue.extend(n for n, count in waiting.items() if not count and n.op == "get_attr")
    queue.extend(n for n, count in waiting.items() if not count and n.op not in ("placeholder", "get_attr"))
    graph, env, done = Graph(tracer_cls=gm.graph._tracer_cls), {}, 0
    outputs = []
    while queue:
        node = queue.popleft()
        done += 1
        if node.op == "output":
            outputs.append(node)
            continue
        env[node] = graph.node_copy(node, env.__getitem__)
        for user in node.users:
            waiting[user] -= 1
            if not waiting[user]:
                queue.append(user)
    if done < len(gm.graph.nodes):
        raise RuntimeError(f"nodes depend on each other in a circle: {[n for n, c in waiting.items() if c > 0]}")
    for node in outputs:
        graph.node_copy(node, env.__getitem__)
    graph._codegen = gm.graph._codegen
    gm.graph = graph
    return gm


def stable_topological_sort(gm):
    """As `legalize_graph`, in the old order as far as that is one; the nodes themselves are moved."""
    graph = gm.graph
    done, pending, waiting = set(), list(reversed(list(graph.nodes))), collections.defaultdict(list)
    last = None
    while pending:
        node = pending.pop()
        missing = [n for n in node.all_input_nodes if n not in done]
        if missing:
            waiting[missing[-1]].append(node)
            continue
        done.add(node)
        if last is None:
            first = next(iter(graph.nodes))
            if first is not node:
                first.prepend(node)
        elif last.next is not node:
            last.append(node)
        last = node
        pending.extend(reversed(waiting.pop(node, ())))
    if waiting:
        raise RuntimeError(f"nodes depend on each other in a circle: {[n for w in waiting.values() for n in w]}")
    return gm
