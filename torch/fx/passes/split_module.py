"""Splitting a module into submodules by a function of its nodes."""
import torch
from torch.fx.graph import Graph
from torch.fx.graph_module import GraphModule, _get_attr
from torch.fx.node import map_arg

__all__ = ["Partition", "split_module"]


class Partition:
    """The nodes of one part, what they take from outside and what others take from them."""

    def __init__(self, name):
        self.name, self.submod_name = name, f"submod_{name}"
        self.node_names = []
        self.inputs, self.outputs = {}, {}
        self.dependencies, self.dependents = {}, {}
        self.graph = Graph()
        self.environment = {}
        self.targets = {}

    def __repr__(self):
        return (f"name: {self.name},\n nodes: {self.node_names},\n inputs: {list(self.inputs)},\n outputs: "
                f"{list(self.outputs)},\n partitions depended on: {list(self.dependencies)},\n partition dependents: "
                f"{list(self.dependents)}")


def split_module(m, root_m, split_callback, qualname_map=None, keep_original_order=False, keep_original_node_name=False,
                 keep_original_input_name=True, *, partition_affix=None, tuple_return=False):
    """A GraphModule that calls one submodule for each value of `split_callback(node)`, with the nodes of that value.

    Inputs, attributes and results stay outside. `qualname_map` is filled with {path in the result: path in `m`}. Parts are
    called in an order that their dependencies allow; `keep_original_order`: in that of their first nodes, where that does.
    `partition_affix` is put into the names of the parts. RuntimeError where parts need each other in a circle.
    """
    partitions, of = {}, {}
    for node in m.graph.nodes:
        if node.op in ("placeholder", "get_attr", "output"):
            continue
        name = str(split_callback(node))
        part = partitions.get(name)
        if part is None:
            part = partitions[name] = Partition(name)
            if partition_affix is not None:
                part.submod_name = f"submod_{partition_affix}_{name}"
        part.node_names.append(node.name)
        of[node] = part
    by_name = {n.name: n for n in m.graph.nodes}
    for node in m.graph.nodes:
        user = of.get(node)
        if user is None and node.op != "output":
            continue
        for used in node.all_input_nodes:
            giver = of.get(used)
            if giver is user:
                continue
            if giver is not None:
                giver.outputs.setdefault(used.name)
                if user is not None:
                    giver.dependents.setdefault(user.name)
            if user is not None:
                user.inputs.setdefault(used.name)
                if giver is not None:
                    user.dependencies.setdefault(giver.name)
    order = _sorted(partitions, keep_original_order)

    # The nodes of each part, with inputs of its own.
    for part in partitions.values():
        for name in part.inputs:
            used = by_name[name]
            new = part.graph.placeholder(name if keep_original_input_name else f"arg_{len(part.environment)}",
                                         type_expr=used.type)
            new.meta = used.meta.copy()
            part.environment[used] = new
    for node in m.graph.nodes:
        part = of.get(node)
        if part is None:
            continue
        env = part.environment
        args, kwargs = map_arg(node.args, env.__getitem__), map_arg(node.kwargs, env.__getitem__)
        target = node.target
        if node.op == "call_module":
            value = _get_attr(m, target)
            target = "_".join(target.split(".")) if "." in target else target
            part.targets[target] = value
            if qualname_map is not None:
                qualname_map[f"{part.submod_name}.{target}"] = node.target
        new = part.graph.create_node(node.op, target, args, kwargs, type_expr=node.type,
                                     name=node.name if keep_original_node_name else None)
        new.meta = node.meta.copy()
        env[node] = new
    base, env, attributes = Graph(), {}, {}
    for node in m.graph.nodes:
        if node.op == "placeholder":
            default = node.args[0] if node.args else torch.fx.graph._MISSING
            env[node] = base.placeholder(node.target, type_expr=node.type, default_value=default)
            env[node].meta = node.meta.copy()
        elif node.op == "get_attr":
            env[node] = base.get_attr(node.target)
            env[node].meta = node.meta.copy()
            attributes[node.target] = _get_attr(m, node.target)
    for part in order:
        results = tuple(part.environment[by_name[n]] for n in part.outputs)
        part.graph.output(results[0] if len(results) == 1 and not tuple_return else results or None)
        attributes[part.submod_name] = GraphModule(part.targets, part.graph)
        call = base.call_module(part.submod_name, tuple(env[by_name[n]] for n in part.inputs))
        if len(results) == 1 and not tuple_return:
            env[by_name[next(iter(part.outputs))]] = call
        else:
            for i, name in enumerate(part.outputs):
                env[by_name[name]] = torch.fx.Proxy(call)[i].node
    output = next((n for n in m.graph.nodes if n.op == "output"), None)
    if output is not None:
        base.output(map_arg(output.args[0], env.__getitem__))
    return GraphModule(attributes, base)


def _sorted(partitions, keep_original_order):
    waiting = {name: set(p.dependencies) for name, p in partitions.items()}
    order = []
    ready = [name for name, deps in waiting.items() if not deps]
    while ready:
        name = min(ready, key=list(partitions).index) if keep_original_order else ready[0]
        ready.remove(name)
        order.append(partitions[name])
        for user in partitions[name].dependents:
            if name in waiting[user]:
                waiting[user].remove(name)
                if not waiting[user]:
                    ready.append(user)
    if len(order) != len(partitions):
        raise RuntimeError("the parts depend on each other in a circle: "
                           f"{[p.name for p in partitions.values() if p not in order]}")
    return order
