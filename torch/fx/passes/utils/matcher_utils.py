"""Finding the places where a graph computes as a smaller one does."""
import torch
from torch.fx.graph import Graph
from torch.fx.node import Node

__all__ = ["SubgraphMatcher", "InternalMatch"]


class InternalMatch:
    """A place where a pattern was found.

    `anchors` are the last nodes of the pattern, `nodes_map` has {node of the pattern: node of the graph},
    `placeholder_nodes` what its inputs matched, `returning_nodes` what its results matched.
    """

    def __init__(self, anchors, nodes_map=None, placeholder_nodes=None, returning_nodes=None, name_node_map=None):
        self.anchors = anchors
        self.nodes_map = {} if nodes_map is None else nodes_map
        self.placeholder_nodes = [] if placeholder_nodes is None else placeholder_nodes
        self.returning_nodes = [] if returning_nodes is None else returning_nodes
        self.name_node_map = {} if name_node_map is None else name_node_map

    def __copy__(self):
        return InternalMatch(self.anchors, self.nodes_map.copy(), self.placeholder_nodes.copy(), self.returning_nodes.copy())

    def __repr__(self):
        return (f"InternalMatch(anchors={self.anchors!r}, nodes_map={self.nodes_map!r}, "
                f"placeholder_nodes={self.placeholder_nodes!r}, returning_nodes={self.returning_nodes!r}, "
                f"name_node_map={self.name_node_map!r})")


class SubgraphMatcher:
    """Finds a pattern graph in graphs.

    Inputs of the pattern match any node, unless `match_placeholder`. With `match_output` the results must be those of the
    graph. `remove_overlapping_matches`: a node is in one match at most. `ignore_literals`: values that are no nodes match
    any.
    """

    def __init__(self, pattern, match_output=False, match_placeholder=False, remove_overlapping_matches=True,
                 ignore_literals=False):
        self.pattern = pattern
        self.match_output, self.match_placeholder = match_output, match_placeholder
        self.remove_overlapping_matches, self.ignore_literals = remove_overlapping_matches, ignore_literals
        if len(pattern.nodes) == 0:
            raise ValueError("the pattern of a SubgraphMatcher has no nodes")
        for node in pattern.nodes:
            if node.op not in ("output", "placeholder") and not node.users:
                raise AssertionError(f"the node {node} of the pattern has no users: every node must lead to its results")
        self.pattern_placeholder_nodes = [n for n in pattern.nodes if n.op == "placeholder"]
        output = pattern.output_node()
        self.pattern_returning_nodes = output.all_input_nodes
        self.pattern_anchors = [output] if match_output else [
            n for n in self.pattern_returning_nodes if len(n.users) == 1]

    def _attributes_are_equal(self, pn, gn):
        def value(node):
            v = node.graph.owning_module
            for atom in node.target.split("."):
                v = getattr(v, atom)
            return v
        a, b = value(pn), value(gn)
        if type(a) is not type(b):
            return False
        if isinstance(a, torch.Tensor):
            return True if self.ignore_literals else a is b or (
                a.shape == b.shape and a.dtype == b.dtype and bool((a == b).all()))
        return isinstance(a, torch.nn.Module) or self.ignore_literals or a == b

    def _nodes_are_equal(self, pn, gn, node_name_match=""):
        if not self.match_placeholder and pn.op == "placeholder":
            return True
        if node_name_match and node_name_match in gn.name:
            return True
        if pn.op != gn.op:
            return False
        if pn.op in ("placeholder", "output"):
            return True
        if pn.op == "get_attr":
            return self._attributes_are_equal(pn, gn)
        return pn.target == gn.target

    def _is_contained(self, nodes_map):
        """Whether the nodes inside are used inside alone, those of the results apart."""
        lookup = {g: p for p, g in nodes_map.items() if p.op != "placeholder" and isinstance(g, Node)}
        for g, p in lookup.items():
            if p in self.pattern_returning_nodes:
                continue
            if any(u not in lookup for u in g.users):
                return False
        return True

    def _match_literals(self, pn, gn, match):
        if isinstance(pn, Node) and isinstance(gn, Node):
            raise AssertionError("literals are no nodes")
        if isinstance(pn, Node):
            # A value stands where the pattern takes an input.
            if pn.op == "placeholder":
                if pn in match.nodes_map:
                    return type(match.nodes_map[pn]) is type(gn) and match.nodes_map[pn] == gn
                match.nodes_map[pn] = gn
                return True
            return False
        if isinstance(gn, Node):
            return False
        return self.ignore_literals or (type(gn) is type(pn) and gn == pn)

    def _match_args(self, a, b, match, name):
        if isinstance(a, Node) and isinstance(b, Node):
            return self._match_nodes(a, b, match, name)
        if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
            return len(a) == len(b) and all(self._match_args(x, y, match, name) for x, y in zip(a, b))
        if isinstance(a, dict) and isinstance(b, dict):
            return a.keys() == b.keys() and all(self._match_args(a[k], b[k], match, name) for k in a)
        if isinstance(a, slice) and isinstance(b, slice):
            return all(self._match_args(getattr(a, k), getattr(b, k), match, name) for k in ("start", "stop", "step"))
        return self._match_literals(a, b, match)

    def _match_nodes(self, pn, gn, match, node_name_match=""):
        if isinstance(pn, Node) != isinstance(gn, Node):
            return self._match_literals(pn, gn, match)
        if pn in match.nodes_map:
            return match.nodes_map[pn] is gn
        if gn in match.nodes_map.values():
            # One node of the graph stands for one of the pattern; inputs may coincide.
            if pn.op != "placeholder" or self.match_placeholder:
                return False
        if not self._nodes_are_equal(pn, gn, node_name_match):
            return False
        match.nodes_map[pn] = gn
        if pn.op == "placeholder":
            return True
        before = dict(match.nodes_map)
        p_args, g_args = self._normalised(pn, gn)
        if self._match_args(p_args, g_args, match, node_name_match):
            return True
        match.nodes_map.clear()
        match.nodes_map.update(before)
        match.nodes_map.pop(pn, None)
        return False

    def _normalised(self, pn, gn):
        """The arguments of both; keyword and positional ones are made alike where they are written differently."""
        if len(pn.args) == len(gn.args) and pn.kwargs.keys() == gn.kwargs.keys():
            return [*pn.args, [pn.kwargs[k] for k in pn.kwargs]], [*gn.args, [gn.kwargs[k] for k in pn.kwargs]]
        if pn.op == "call_function":
            from torch.fx.operator_schemas import normalize_function
            try:
                p = normalize_function(pn.target, pn.args, pn.kwargs, normalize_to_only_use_kwargs=True)
                g = normalize_function(gn.target, gn.args, gn.kwargs, normalize_to_only_use_kwargs=True)
            except (TypeError, ValueError, RuntimeError):
                p = g = None
            if p is not None and g is not None and p.kwargs.keys() == g.kwargs.keys():
                return list(p.kwargs.values()), [g.kwargs[k] for k in p.kwargs]
        return [*pn.args, pn.kwargs], [*gn.args, gn.kwargs]

    def match(self, graph, node_name_match=""):
        """The matches in `graph`, in its order; a list of `InternalMatch`."""
        if not isinstance(graph, Graph):
            raise TypeError(f"SubgraphMatcher.match takes a Graph, not a {type(graph).__name__}")
        candidates = [[g for g in graph.nodes if self._nodes_are_equal(p, g, node_name_match)
                       and (p.op != "placeholder")] for p in self.pattern_anchors]
        found = []

        def search(i, match):
            if i == len(self.pattern_anchors):
                match.placeholder_nodes = [match.nodes_map.get(p) for p in self.pattern_placeholder_nodes]
                match.returning_nodes = [match.nodes_map[p] for p in self.pattern_returning_nodes]
                found.append(match)
                return
            anchor = self.pattern_anchors[i]
            if anchor in match.nodes_map:
                search(i + 1, match)
                return
            for g in candidates[i]:
                if g in match.nodes_map.values():
                    continue
                attempt = InternalMatch(match.anchors, dict(match.nodes_map))
                if self._match_nodes(anchor, g, attempt, node_name_match):
                    search(i + 1, attempt)
        search(0, InternalMatch(anchors=self.pattern_anchors))
        found = [m for m in found if self._is_contained(m.nodes_map)]
        if self.remove_overlapping_matches:
            kept, taken = [], set()
            for m in found:
                inside = [g for p, g in m.nodes_map.items() if p.op not in ("placeholder", "output")]
                if taken.isdisjoint(inside):
                    kept.append(m)
                    taken.update(inside)
            found = kept
        return found
