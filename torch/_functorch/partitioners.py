"""Splitting a joint graph into forward and backward: what the forward keeps for the backward.

A joint graph takes primals and tangents and gives the results and the gradients, in one list.
"""
import operator

import torch
from torch._functorch.min_cut import INFINITE, MinCut
from torch._functorch.view_rules import is_view
from torch._ops import OpOverload
from torch.fx.graph import Graph
from torch.fx.graph_module import GraphModule
from torch.fx.node import Node

__all__ = ["default_partition", "min_cut_rematerialization_partition", "draw_graph", "is_recomputable", "cut_size"]

aten = torch.ops.aten

# Too dear to compute twice.
_HEAVY = frozenset((
    "mm", "bmm", "addmm", "addbmm", "baddbmm", "addmv", "mv", "dot", "vdot", "convolution", "convolution_backward", "linear",
    "_scaled_dot_product_flash_attention_for_cpu", "_scaled_dot_product_attention_math", "scaled_dot_product_attention", "native_batch_norm", "_cdist_forward",
    "_pdist_forward", "sort", "topk", "max_pool2d_with_indices", "max_pool3d_with_indices", "mkldnn_rnn_layer", "cumsum", "cumprod",
    "logcumsumexp", "cummax", "cummin", "grid_sampler_2d", "grid_sampler_3d", "_embedding_bag"))


def _name(node):
    target = node.target
    return target._overloadpacket.__name__ if isinstance(target, OpOverload) else None


def is_recomputable(node):
    """Whether the backward may compute the node's value again: it is cheap, draws no random numbers and writes nothing."""
    if node.op != "call_function":
        return False
    if node.target is operator.getitem:
        return is_recomputable(node.args[0]) if isinstance(node.args[0], Node) else False
    if not isinstance(node.target, OpOverload):
        return not node.is_impure()
    return not node.is_impure() and _name(node) not in _HEAVY


def _size_of(val):
    """Bytes of a value."""
    if isinstance(val, torch.Tensor):
        return val.numel() * val.element_size()
    if isinstance(val, (list, tuple)):
        return sum(_size_of(v) for v in val)
    return 0


def _is_tensor(node):
    return isinstance(node.meta.get("val"), torch.Tensor)


def _is_primal(node):
    return node.op == "placeholder" and not _is_tangent(node)


def _is_tangent(node):
    return node.op == "placeholder" and "tangents" in str(node.target)


def _extract_graph_with_inputs_outputs(joint_graph, inputs, outputs, outputs_descs=None, subgraph=None, ignore_must_be_in_fw_bw=False):
    """The graph that computes `outputs` from `inputs`, all nodes of `joint_graph`."""
    graph, env = Graph(), {}
    for node in inputs:
        new = graph.placeholder(node.name)
        new.meta = node.meta
        env[node] = new
    wanted, stack = set(), [o for o in outputs if isinstance(o, Node)]
    while stack:
        node = stack.pop()
        if node in env or node in wanted:
            continue
        wanted.add(node)
        stack.extend(node.all_input_nodes)
    for node in joint_graph.nodes:
        if node in wanted:
            if node.op == "placeholder":
                raise AssertionError(f"the part of the graph needs the input {node}, which is not among its inputs "
                                     f"{list(inputs)}")
            env[node] = graph.node_copy(node, env.__getitem__)
    graph.output(tuple(env[o] if isinstance(o, Node) else o for o in outputs))
    graph.lint()
    return graph


def _extract_fwd_bwd_outputs(joint_module, *, num_fwd_outputs):
    """(results, gradients) of a joint graph."""
    outputs = joint_module.graph.output_node().args[0]
    outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
    return outputs[:num_fwd_outputs], outputs[num_fwd_outputs:]


def _split_at(joint_module, saved, num_fwd_outputs):
    """(forward, backward) modules with `saved` between them."""
    fwd_outputs, bwd_outputs = _extract_fwd_bwd_outputs(joint_module, num_fwd_outputs=num_fwd_outputs)
    primals = [n for n in joint_module.graph.nodes if _is_primal(n)]
    tangents = [n for n in joint_module.graph.nodes if _is_tangent(n)]
    # What the backward does not use, after all, is not kept.
    backward = _extract_graph_with_inputs_outputs(joint_module.graph, [*saved, *tangents], bwd_outputs)
    used = {n.name for n in backward.nodes if n.op == "placeholder" and n.users}
    saved = [n for n in saved if n.name in used]
    backward = _extract_graph_with_inputs_outputs(joint_module.graph, [*saved, *tangents], bwd_outputs)
    forward = _extract_graph_with_inputs_outputs(joint_module.graph, primals, [*fwd_outputs, *saved])
    return GraphModule(joint_module, forward), GraphModule(joint_module, backward)


def _forward_nodes(joint_module, num_fwd_outputs):
    """The nodes that the results need."""
    fwd_outputs, _ = _extract_fwd_bwd_outputs(joint_module, num_fwd_outputs=num_fwd_outputs)
    found, stack = set(), [o for o in fwd_outputs if isinstance(o, Node)]
    while stack:
        node = stack.pop()
        if node not in found:
            found.add(node)
            stack.extend(node.all_input_nodes)
    return found


def _tangent_closure(joint_module):
    """The nodes that depend on tangents."""
    found = set()
    for node in joint_module.graph.nodes:
        if _is_tangent(node) or any(i in found for i in node.all_input_nodes):
            if node.op != "output":
                found.add(node)
    return found


def default_partition(joint_module, _joint_inputs, *, num_fwd_outputs, static_lifetime_input_indices=None,
                      static_lifetime_input_nodes=None):
    """(forward, backward): the forward keeps each of its values that the backward uses; nothing is computed twice.

    Args:
        joint_module (GraphModule): takes primals and tangents, gives results and gradients in one list.
        num_fwd_outputs (int): how many of these are results.
    """
    forward = _forward_nodes(joint_module, num_fwd_outputs) | {n for n in joint_module.graph.nodes if _is_primal(n)}
    saved = []
    for node in joint_module.graph.nodes:
        if node not in forward or node.op == "get_attr":
            continue
        users = [u for u in node.users if u not in forward and u.op != "output"]
        if not users:
            continue
        if _is_tensor(node) or "val" not in node.meta or not isinstance(node.meta["val"], (list, tuple)):
            saved.append(node)
        else:
            # Of several results, those that are used.
            saved += [u for u in node.users if u.target is operator.getitem]
    gradients = _extract_fwd_bwd_outputs(joint_module, num_fwd_outputs=num_fwd_outputs)[1]
    saved += [g for g in gradients if isinstance(g, Node) and g in forward and g not in saved]
    return _split_at(joint_module, list(dict.fromkeys(saved)), num_fwd_outputs)


def min_cut_rematerialization_partition(joint_module, _joint_inputs, compiler="inductor", *, num_fwd_outputs,
                                        static_lifetime_input_indices=None):
    """(forward, backward): the forward keeps the fewest bytes from which the backward can cheaply compute what it needs.

    Inputs are there anyway, so keeping them is nearly free; products, convolutions, random numbers and the like are not
    computed twice. The choice is a minimum cut of the graph between the inputs and what the backward uses, with the bytes
    of each value as its capacity.
    """
    graph = joint_module.graph
    backward = _tangent_closure(joint_module)
    forward = _forward_nodes(joint_module, num_fwd_outputs)
    gradients = [g for g in _extract_fwd_bwd_outputs(joint_module, num_fwd_outputs=num_fwd_outputs)[1] if isinstance(g, Node)]
    net = MinCut()
    source, sink = net.node(), net.node()
    places = {}
    for node in graph.nodes:
        if node.op == "output" or node in backward:
            continue
        places[node] = (net.node(), net.node())
    for node, (inside, outside) in places.items():
        # What the results do not need is computed in the backward alone, once, and not kept.
        own = node in forward or _is_primal(node) or node.op == "get_attr" or (
            node.target is operator.getitem and node.args[0] in forward)
        net.edge(inside, outside, _capacity(node) if own else INFINITE)
        if _is_primal(node) or (own and node.op != "get_attr" and not is_recomputable(node)):
            net.edge(source, inside)
        for user in node.users:
            if user in places:
                net.edge(outside, places[user][0])
            elif user in backward:
                net.edge(outside, sink)
    for g in gradients:
        if g in places:
            net.edge(places[g][1], sink)
    # Of equal cuts the latest: less is computed again.
    _, reached = net.solve(source, sink, late=True)
    cut = [n for n, (inside, outside) in places.items() if inside in reached and outside not in reached and n.op != "get_attr"]
    return _split_at(joint_module, cut, num_fwd_outputs)


def _capacity(node):
    val = node.meta.get("val")
    if node.op == "get_attr":
        return 0
    if isinstance(val, (list, tuple)):
        # Lists are not kept: their items are.
        return INFINITE
    if not isinstance(val, torch.Tensor):
        return 1
    size = _size_of(val)
    if _is_primal(node):
        # Alive anyway.
        return 1 + size // 1000
    if isinstance(node.target, OpOverload) and is_view(node.target):
        # The same memory as what it looks at, which is the better choice where both are equal.
        return 2 + size
    return 1 + size


def cut_size(fwd_module, num_fwd_outputs):
    """How many bytes a forward module keeps for its backward."""
    outputs = fwd_module.graph.output_node().args[0]
    return sum(_size_of(o.meta.get("val")) for o in outputs[num_fwd_outputs:] if isinstance(o, Node) and o.op != "placeholder")


def draw_graph(traced, fname, figname="fx_graph", clear_meta=True, prog=None, parse_stack_trace=False, dot_graph_shape=None):
    """Writes a drawing of a graph; needs the package pydot."""
    from torch.fx.passes.graph_drawer import FxGraphDrawer
    dot = FxGraphDrawer(traced, figname, parse_stack_trace=parse_stack_trace, dot_graph_shape=dot_graph_shape).get_dot_graph()
    dot.write(fname, format=fname.rpartition(".")[2] or "svg", prog=prog)
