"""Graphs as drawings, by the package pydot."""

__all__ = ["FxGraphDrawer"]


class FxGraphDrawer:
    """A drawing of a GraphModule: `get_dot_graph()` gives a pydot.Dot. Needs the package pydot.

    Nodes show kind, name, target and, unless `skip_node_names_in_args`, their arguments. `ignore_getattr` and
    `ignore_parameters_and_buffers` leave attributes out.
    """

    def __init__(self, graph_module, name, ignore_getattr=False, ignore_parameters_and_buffers=False,
                 skip_node_names_in_args=True, parse_stack_trace=False, dot_graph_shape=None, normalize_args=False):
        try:
            import pydot
        except ImportError:
            raise RuntimeError("FxGraphDrawer needs the package pydot: `pip install pydot`") from None
        self._name, self._graph_module = name, graph_module
        self._shape = dot_graph_shape or "record"
        self._dot = self._draw(pydot, graph_module, name, ignore_getattr, ignore_parameters_and_buffers,
                               skip_node_names_in_args, parse_stack_trace)

    def get_dot_graph(self, submod_name=None):
        """The pydot.Dot of the module."""
        if submod_name is not None:
            raise NotImplementedError("FxGraphDrawer.get_dot_graph(submod_name): draw the submodule itself")
        return self._dot

    get_main_dot_graph = get_dot_graph

    def _draw(self, pydot, gm, name, ignore_getattr, ignore_parameters_and_buffers, skip_names, parse_stack_trace):
        dot = pydot.Dot(name, rankdir="TB")
        left = set()
        for node in gm.graph.nodes:
            if ignore_getattr and node.op == "get_attr" or (ignore_parameters_and_buffers and node.op == "get_attr"):
                left.add(node)
                continue
            lines = [f"name=%{node.name}", f"op_code={node.op}", f"target={node._pretty_print_target(node.target)}"]
            if not skip_names:
                lines.append(f"args={node.args}")
            if parse_stack_trace and node.stack_trace:
                lines.append(node.stack_trace.split("\n")[-1].strip())
            label = "{" + "|".join(x.replace("{", r"\{").replace("}", r"\}").replace("<", r"\<").replace(">", r"\>")
                                   for x in lines) + "}"
            dot.add_node(pydot.Node(node.name, label=f'"{label}"', shape=self._shape, style='"filled,rounded"'))
        for node in gm.graph.nodes:
            for user in node.users:
                if node not in left and user not in left:
                    dot.add_edge(pydot.Edge(node.name, user.name))
        return dot
