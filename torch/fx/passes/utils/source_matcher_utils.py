"""Finding the nodes that came from one module or function of the traced program."""
from torch.fx.node import Node

__all__ = ["get_source_partitions", "check_subgraphs_connected", "SourcePartition"]


class SourcePartition:
    """The nodes that came from one place, their inputs, results and parameters."""

    def __init__(self, nodes, source, input_nodes=(), output_nodes=(), params=()):
        self.nodes, self.source = nodes, source
        self.input_nodes, self.output_nodes, self.params = list(input_nodes), list(output_nodes), list(params)

    def __repr__(self):
        return (f"SourcePartition(nodes={self.nodes!r}, source={self.source!r}, input_nodes={self.input_nodes!r}, "
                f"output_nodes={self.output_nodes!r}, params={self.params!r})")


def get_source_partitions(graph, wanted_sources, filter_fn=None):
    """{source: [SourcePartition]} of the nodes whose meta ('source_fn_stack' or 'torch_fn') names one of the sources."""
    modules = {}
    for node in graph.nodes:
        source = node.meta.get("source_fn_stack")
        if source:
            name, fn = source[-1]
        elif "torch_fn" in node.meta:
            name, fn = node.meta["torch_fn"]
        else:
            continue
        if fn not in wanted_sources:
            continue
        modules.setdefault(fn, {}).setdefault(name, []).append(node)

    def make(nodes, source):
        inside = set(nodes)
        inputs, outputs, params = {}, [], {}
        for node in nodes:
            for used in node.all_input_nodes:
                if used not in inside:
                    (params if used.op == "get_attr" else inputs)[used] = None
        for node in nodes:
            if any(u not in inside for u in node.users):
                outputs.append(node)
        return SourcePartition(nodes, source, inputs, outputs, params)
    found = {}
    for fn, groups in modules.items():
        found[fn] = [make(nodes, fn) for nodes in groups.values()]
    if filter_fn:
        found = {fn: [p for p in parts if all(filter_fn(n) for n in p.nodes)] for fn, parts in found.items()}
    return found


def check_subgraphs_connected(subgraph1, subgraph2):
    """Whether the second takes a result of the first."""
    return any(isinstance(n, Node) and n in subgraph1.output_nodes for node in subgraph2.nodes for n in node.all_input_nodes)
