"""Moving nodes of a graph into a submodule."""
from torch.fx.graph import Graph
from torch.fx.graph_module import GraphModule
from torch.fx.passes.tools_common import legalize_graph

__all__ = ["topo_sort", "validate_partition", "fuse_as_graphmodule", "insert_subgm", "erase_nodes", "fuse_by_partitions"]


def topo_sort(nodes):
    """The nodes in the order of their graph, which is one that dependencies allow."""
    return sorted(nodes)


def validate_partition(partition):
    """Whether no path leads out of the nodes and into them again."""
    inside = set(partition)
    queue = [u for n in inside for u in n.users if u not in inside]
    seen = set(queue)
    while queue:
        node = queue.pop()
        if node in inside:
            return False
        for user in node.users:
            if user in inside:
                return False
            if user not in seen:
                seen.add(user)
                queue.append(user)
    return True


def fuse_as_graphmodule(gm, nodes, module_name, partition_lookup_table=None, *, always_return_tuple=False):
    """(a GraphModule of the nodes, its inputs among the graph's nodes, its results among them)"""
    for node in nodes:
        if node.graph is not gm.graph or node._erased:
            raise AssertionError(f"the node {node} is not in the graph of the module")
    if not validate_partition(nodes):
        raise AssertionError("a path leads out of the nodes and into them again: they cannot be one call")
    graph, mapped, placeholders = Graph(), {}, {}

    def take(x):
        if x.op == "get_attr":
            return graph.node_copy(x, lambda n: n)
        if x in mapped:
            return mapped[x]
        if x not in placeholders:
            new = graph.placeholder(x.name, type_expr=x.type)
            new.meta = x.meta.copy()
            placeholders[x] = new
        return placeholders[x]
    ordered = topo_sort(nodes)
    for node in ordered:
        mapped[node] = graph.node_copy(node, take)
    inside = set(nodes)
    results = {n: mapped[n] for n in ordered if any(u not in inside for u in n.users)}
    outs = tuple(results.values())
    graph.output(outs[0] if len(outs) == 1 and not always_return_tuple else outs)
    graph = _inputs_first(graph)
    graph.lint()
    fused = GraphModule(gm, graph, class_name=module_name)
    return fused, tuple(placeholders), tuple(results)


def _inputs_first(graph):
    last = None
    for node in list(graph.nodes):
        if node.op == "placeholder":
            if last is None:
                first = next(iter(graph.nodes))
                if first is not node:
                    first.prepend(node)
            else:
                last.append(node)
            last = node
    return graph


def insert_subgm(gm, sub_gm, orig_inputs, orig_outputs):
    """Calls `sub_gm` in the graph in place of the results `orig_outputs`."""
    name = type(sub_gm).__name__
    gm.add_submodule(name, sub_gm)
    last = max(orig_inputs) if orig_inputs else None
    at = min(u for o in orig_outputs for u in o.users) if any(o.users for o in orig_outputs) else orig_outputs[-1].next
    place = gm.graph.inserting_before(at) if last is None or last < at else gm.graph.inserting_after(last)
    with place:
        call = gm.graph.call_module(name, args=orig_inputs)
        if len(orig_outputs) == 1 and not isinstance(sub_gm.graph.output_node().args[0], tuple):
            orig_outputs[0].replace_all_uses_with(call, delete_user_cb=lambda u: u is not call)
        else:
            import operator
            with gm.graph.inserting_after(call):
                gets = [gm.graph.call_function(operator.getitem, (call, i)) for i in range(len(orig_outputs))]
            for old, new in zip(orig_outputs, gets):
                old.replace_all_uses_with(new)
    return gm


def erase_nodes(gm, nodes):
    """Removes nodes, the last first."""
    for node in sorted(nodes, reverse=True):
        gm.graph.erase_node(node)


def fuse_by_partitions(gm, partitions, prefix="fused_", always_return_tuple=False):
    """Makes each set of nodes a submodule, named by its number."""
    for i, partition in enumerate(partitions):
        nodes = list(partition)
        sub, inputs, outputs = fuse_as_graphmodule(gm, nodes, prefix + str(i), always_return_tuple=always_return_tuple)
        insert_subgm(gm, sub, inputs, outputs)
        erase_nodes(gm, nodes)
    legalize_graph(gm)
    gm.graph.lint()
    return gm
