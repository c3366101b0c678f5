"""Replacing parts of a graph by others."""
import copy
from typing import Any, NamedTuple

import torch
from torch.fx.graph import Graph
from torch.fx.graph_module import GraphModule
from torch.fx.node import Node

__all__ = ["Match", "replace_pattern", "replace_pattern_with_filters", "ReplacedPatterns"]


class Match(NamedTuple):
    """Where a pattern was found: the node of its result, and {node of the pattern: node of the graph}."""

    anchor: Node
    nodes_map: dict


class ReplacedPatterns:
    """Where a pattern was found, and the nodes that came in its place."""

    def __init__(self, anchor, nodes_map, replacements):
        self.anchor, self.nodes_map, self.replacements = anchor, nodes_map, replacements

    def __repr__(self):
        return f"ReplacedPatterns(anchor={self.anchor!r}, nodes_map={self.nodes_map!r}, replacements={self.replacements!r})"


def _replace_attributes(gm, replacement):
    """Takes over the modules and attributes that `replacement` refers to."""
    gm.delete_all_unused_submodules()
    graph = getattr(replacement, "graph", None)
    if isinstance(replacement, GraphModule):
        replacement.graph.lint()

    def attribute(module, target):
        *path, name = target.split(".")
        for atom in path:
            module = getattr(module, atom, None)
            if module is None:
                return None
        return getattr(module, name, None)
    for node in gm.graph.nodes:
        if node.op in ("call_module", "get_attr") and isinstance(graph, Graph | None):
            there = attribute(gm, node.target)
            if there is not None:
                continue
            given = attribute(replacement, node.target)
            if given is None:
                raise RuntimeError(f"the replacement refers to {node.target!r}, which neither it nor the module has")
            from torch.fx.graph_module import _assign_attr
            _assign_attr(copy.deepcopy(given) if isinstance(given, torch.nn.Module) else given, gm, node.target)
    gm.graph.lint()


def replace_pattern(gm, pattern, replacement):
    """Replaces every part of `gm` that computes as `pattern` does; gives a list of `Match`.

    Both are functions (or GraphModules) with the same parameters. Inputs of the pattern match any node; nodes inside must
    have the same target and arguments, and no users outside the match but by the results. Matches that overlap an earlier
    one are left.
    """
    found = _replace_pattern(gm, pattern, replacement)
    return [Match(anchor=m.anchor, nodes_map=m.nodes_map) for m in found]


def replace_pattern_with_filters(gm, pattern, replacement=None, match_filters=None, ignore_literals=False,
                                 replacement_callback=None, node_name_match=""):
    """As `replace_pattern`, where every one of `match_filters(match, graph, pattern graph)` agrees.

    `ignore_literals`: numbers and the like in arguments match any. `replacement_callback(match, graph, pattern graph)`
    gives a replacement for each match. Gives a list of `ReplacedPatterns`.
    """
    return _replace_pattern(gm, pattern, replacement, match_filters, ignore_literals, replacement_callback, node_name_match)


def _graph_of(x):
    if isinstance(x, GraphModule):
        return x.graph
    if isinstance(x, Graph):
        return x
    from torch.fx._symbolic_trace import symbolic_trace
    return symbolic_trace(x).graph


def _replace_pattern(gm, pattern, replacement=None, match_filters=None, ignore_literals=False, replacement_callback=None,
                     node_name_match=""):
    from torch.fx.passes.utils.matcher_utils import SubgraphMatcher
    graph = gm.graph
    pattern_graph = _graph_of(pattern)
    matcher = SubgraphMatcher(pattern_graph, match_output=False, match_placeholder=False, remove_overlapping_matches=True,
                              ignore_literals=ignore_literals)
    matches = matcher.match(graph, node_name_match=node_name_match)
    matches = [m for m in matches if all(f(m, graph, pattern_graph) for f in match_filters or ())]
    if replacement is None and replacement_callback is None:
        raise AssertionError("replace_pattern: give a replacement or a replacement_callback")
    common = _graph_of(replacement) if replacement is not None else None
    done: list[Any] = []
    # Nodes that an earlier replacement took away, and what came in their place.
    changed = {}
    for match in matches:
        new_graph = common if common is not None else replacement_callback(match, graph, pattern_graph)
        places = [n for n in new_graph.nodes if n.op == "placeholder"]
        if len(match.placeholder_nodes) != len(places):
            raise AssertionError(f"the pattern takes {len(match.placeholder_nodes)} values, its replacement {len(places)}")
        val_map = {}
        for new, old in zip(places, match.placeholder_nodes):
            if isinstance(old, Node):
                val_map[new] = old = changed.get(old, old)
                # In the map that is told, too.
                for k, v in match.nodes_map.items():
                    if v in changed and k.op == "placeholder":
                        match.nodes_map[k] = changed[v]
            else:
                val_map[new] = old
        inside = {n for k, n in match.nodes_map.items() if k.op != "placeholder" and isinstance(n, Node)}
        first = _first_user(match, inside, graph)
        with graph.inserting_before(first):
            copied = graph.graph_copy(new_graph, val_map)
        if isinstance(copied, Node):
            copied = (copied,)
        made = [v for k, v in val_map.items() if k.op != "placeholder"]
        if len(match.returning_nodes) != len(copied):
            raise AssertionError(f"the pattern gives {len(match.returning_nodes)} values, its replacement {len(copied)}")
        for old, new in zip(match.returning_nodes, copied):
            old.replace_all_uses_with(new)
            changed[old] = new
        for node in reversed(pattern_graph.nodes):
            if node.op not in ("placeholder", "output"):
                old = match.nodes_map[node]
                if not old._erased:
                    graph.erase_node(old)
        done.append(ReplacedPatterns(anchor=match.anchors[0], nodes_map=match.nodes_map, replacements=made))
    gm.recompile()
    if isinstance(replacement, torch.nn.Module):
        _replace_attributes(gm, replacement)
    return done


def _first_user(match, inside, graph):
    """Where a replacement goes: before the first user of the results, which all inputs of the match come before."""
    inputs = [n for n in match.placeholder_nodes if isinstance(n, Node) and not n._erased]
    users = [u for n in match.returning_nodes for u in n.users if u not in inside]
    first = min(users) if users else match.returning_nodes[0]
    if inputs and not max(inputs) < first:
        first = max(inputs).next
    return first
