"""Splitting a graph by a tag on its nodes."""
import torch
from torch.fx.passes.split_module import split_module

__all__ = ["getattr_recursive", "setattr_recursive", "move_non_tensor_nodes_on_boundary", "split_by_tags"]


def getattr_recursive(obj, name):
    """The attribute at a dotted path; None where a container on the way does not have it."""
    for atom in name.split("."):
        if isinstance(obj, torch.nn.ModuleList):
            obj = obj[int(atom)] if hasattr(obj, atom) else None
        else:
            obj = getattr(obj, atom, None)
        if obj is None:
            return None
    return obj


def setattr_recursive(obj, attr, value):
    """Sets the attribute at a dotted path."""
    *path, name = attr.split(".")
    for atom in path:
        obj = getattr(obj, atom)
    setattr(obj, name, value)


def move_non_tensor_nodes_on_boundary(subgraphs):
    """Parts may have values that are no tensors between them; there is nothing to move."""
    raise NotImplementedError("move_non_tensor_nodes_on_boundary")


def split_by_tags(gm, tags, return_fqn_mapping=False, return_tuple=False, GraphModuleCls=torch.fx.GraphModule):
    """A GraphModule with one submodule for each of `tags`, of the nodes whose attribute `tag` is it.

    Submodules are named by their tags. With `return_fqn_mapping` also {path in the result: path in `gm`}.
    """
    for node in gm.graph.nodes:
        if node.op not in ("placeholder", "get_attr", "output") and getattr(node, "tag", None) not in tags:
            raise AssertionError(f"the node {node} has no tag among {tags}")
    mapping = {}
    made = split_module(gm, gm, lambda n: n.tag, mapping, tuple_return=return_tuple)
    for tag in tags:
        old = f"submod_{tag}"
        if hasattr(made, old):
            made.add_module(tag, getattr(made, old))
            for node in made.graph.nodes:
                if node.op == "call_module" and node.target == old:
                    node.target = tag
            delattr(made, old)
    made.recompile()
    if return_fqn_mapping:
        return made, {k.removeprefix("submod_"): v for k, v in mapping.items()}
    return made
