"""Making modules faster for inference by changing their graphs."""
import copy

from torch import fx, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval

__all__ = ["matches_module_pattern", "replace_node_module", "fuse", "remove_dropout", "extract_subgraph"]


def _parent_name(target):
    """(path of the parent, name) of a dotted path."""
    parent, _, name = target.rpartition(".")
    return parent, name


def matches_module_pattern(pattern, node, modules):
    """Whether `node` and the node of its first argument call modules of the two types in `pattern`."""
    if not node.args:
        return False
    for expected, current in zip(pattern, (node.args[0], node)):
        if not isinstance(current, fx.Node) or current.op != "call_module":
            return False
        if not isinstance(current.target, str) or type(modules.get(current.target)) is not expected:
            return False
    return True


def replace_node_module(node, modules, new_module):
    """Puts `new_module` where the module that `node` calls was."""
    parent, name = _parent_name(node.target)
    modules[node.target] = new_module
    setattr(modules[parent], name, new_module)


def fuse(model, inplace=False, no_trace=False):
    """`model` with convolutions (and linear layers) and the batch normalisations right after them made one.

    A copy, unless `inplace`. The model is in eval mode, and is traced unless `no_trace` (it is a GraphModule then).
    """
    patterns = [(nn.Conv1d, nn.BatchNorm1d, fuse_conv_bn_eval), (nn.Conv2d, nn.BatchNorm2d, fuse_conv_bn_eval),
                (nn.Conv3d, nn.BatchNorm3d, fuse_conv_bn_eval), (nn.Linear, nn.BatchNorm1d, fuse_linear_bn_eval)]
    if not inplace:
        model = copy.deepcopy(model)
    traced = model if no_trace and isinstance(model, fx.GraphModule) else fx.symbolic_trace(model)
    modules = dict(traced.named_modules())
    graph = copy.deepcopy(traced.graph)
    for first, second, fuse_pair in patterns:
        for node in graph.nodes:
            if not matches_module_pattern((first, second), node, modules):
                continue
            if len(node.args[0].users) > 1:
                # The result without normalisation is used, too.
                continue
            layer, bn = modules[node.args[0].target], modules[node.target]
            if not bn.track_running_stats:
                continue
            replace_node_module(node.args[0], modules, fuse_pair(layer, bn))
            node.replace_all_uses_with(node.args[0])
            graph.erase_node(node)
    return fx.GraphModule(traced, graph)


def remove_dropout(model):
    """`model` without its dropout modules."""
    traced = fx.symbolic_trace(model)

    class DropoutRemover(fx.Transformer):
        def call_module(self, target, args, kwargs):
            if isinstance(self.submodules[target], nn.Dropout):
                return args[0]
            return super().call_module(target, args, kwargs)
    return DropoutRemover(traced).transform()


def extract_subgraph(orig_module, nodes, inputs, outputs):
    """The GraphModule of some nodes, from `inputs` to `outputs`."""
    graph, env = fx.Graph(), {}
    for node in inputs:
        env[node] = graph.placeholder(node.name)
    for node in nodes:
        env[node] = graph.node_copy(node, env.__getitem__)
    graph.output([env[n] for n in outputs])
    graph.lint()
    return fx.GraphModule(orig_module, graph)
