"""Grouping the nodes that a back end takes into as few calls as dependencies allow."""
import operator

from torch.fx.passes.utils.fuser_utils import fuse_by_partitions

__all__ = ["Partition", "CapabilityBasedPartitioner"]


class Partition:
    """A set of nodes that become one call."""

    def __init__(self, id=None, nodes=None):
        self.id = id
        self.nodes = dict.fromkeys(nodes or ())

    def __repr__(self):
        return str(self.nodes)

    def add_node(self, node):
        """Adds a node."""
        self.nodes[node] = None

    def remove_node(self, node):
        """Removes a node."""
        del self.nodes[node]

    def size(self):
        """How many nodes there are."""
        return len(self.nodes)


class CapabilityBasedPartitioner:
    """Groups the supported nodes of a module; `partition_and_fuse` makes a submodule of each group."""

    def __init__(self, graph_module, operator_support, allows_single_node_partition=False, non_compute_ops=None,
                 allowed_single_node_partition_ops=None, skip_horizontal_fusion=False):
        self.graph_module, self.operator_support = graph_module, operator_support
        self.allows_single_node_partition = allows_single_node_partition
        self.non_compute_ops = non_compute_ops or []
        self.allowed_single_node_partition_ops = allowed_single_node_partition_ops or []
        self.dependency_viewer = None

    def propose_partitions(self):
        """The groups: no path leads out of one and into it again."""
        gm = self.graph_module
        submodules = dict(gm.named_modules())
        nodes = [n for n in gm.graph.nodes]
        supported = {n for n in nodes if n.op not in ("placeholder", "output", "get_attr")
                     and self.operator_support.is_node_supported(submodules, n)}
        # Reachability as bit sets: bit i says that node i is behind.
        index = {n: i for i, n in enumerate(nodes)}
        reach = {}
        for n in reversed(nodes):
            bits = 1 << index[n]
            for u in n.users:
                bits |= reach[u]
            reach[n] = bits
        groups, of = [], {}
        for n in nodes:
            if n not in supported:
                continue
            best = None
            for g in groups:
                # Joining is unsound where a node outside lies on a path from the group to this node.
                members = g["bits"]
                between = [m for m in nodes[g["first"]:index[n]] if not members >> index[m] & 1
                           and reach[m] >> index[n] & 1 and g["reach"] >> index[m] & 1]
                if not between:
                    best = g
                    break
            if best is None:
                best = {"nodes": [], "bits": 0, "reach": 0, "first": index[n]}
                groups.append(best)
            best["nodes"].append(n)
            best["bits"] |= 1 << index[n]
            best["reach"] |= reach[n]
            of[n] = best
        parts = [Partition(i, g["nodes"]) for i, g in enumerate(groups)]
        if not self.allows_single_node_partition:
            parts = [p for p in parts if len([n for n in p.nodes if n.target not in (operator.getitem,)
                                              and n.target not in self.non_compute_ops]) > 1
                     or any(n.target in self.allowed_single_node_partition_ops for n in p.nodes)]
        return parts

    def fuse_partitions(self, partitions, prefix="fused_"):
        """Makes a submodule of each group."""
        return fuse_by_partitions(self.graph_module, [dict.fromkeys(sorted(p.nodes)) for p in partitions], prefix)

    def remove_bookend_non_compute_ops(self, partitions):
        """Drops nodes that compute nothing from the ends of the groups."""
        for p in partitions:
            changed = True
            while changed:
                changed = False
                for n in list(p.nodes):
                    if n.target in self.non_compute_ops and (
                            not any(i in p.nodes for i in n.all_input_nodes) or not any(u in p.nodes for u in n.users)):
                        p.remove_node(n)
                        changed = True

    def partition_and_fuse(self, prefix="fused_"):
        """The module with each group as a submodule."""
        return self.fuse_partitions(self.propose_partitions(), prefix)
