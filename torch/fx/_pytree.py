"""How generated code takes its arguments apart: by a spec made when the function was traced."""
from collections import OrderedDict, namedtuple

from torch.utils import _pytree

__all__ = ["register_pytree_flatten_spec", "tree_flatten_spec"]

SUPPORTED_NODES = {}
SUPPORTED_NODES_EXACT_MATCH = {}


def register_pytree_flatten_spec(cls, flatten_fn_spec, flatten_fn_exact_match_spec=None):
    """`flatten_fn_spec(value, spec)` gives the children of a value of a registered container."""
    SUPPORTED_NODES[cls] = flatten_fn_spec
    SUPPORTED_NODES_EXACT_MATCH[cls] = flatten_fn_exact_match_spec


def _children(spec):
    children = getattr(spec, "children_specs", None)
    return spec.children() if children is None else children


def tree_flatten_spec(pytree, spec):
    """The leaves of `pytree`, which must nest as `spec` says."""
    leaves = []

    def walk(tree, spec):
        if spec.is_leaf():
            leaves.append(tree)
            return
        flatten = SUPPORTED_NODES.get(spec.type)
        if flatten is not None:
            parts = flatten(tree, spec)
        elif spec.type in _pytree.SUPPORTED_NODES:
            parts = _pytree.SUPPORTED_NODES[spec.type].flatten_fn(tree)[0]
        else:
            raise RuntimeError(f"{type(tree)} is not registered as a container; see register_pytree_flatten_spec")
        for part, child in zip(parts, _children(spec)):
            walk(part, child)
    walk(pytree, spec)
    return leaves


def _dict_flatten_spec(d, spec):
    return [d[k] for k in spec.context]


def _sequence_flatten_spec(d, spec):
    return [d[i] for i in range(len(_children(spec)))]


register_pytree_flatten_spec(dict, _dict_flatten_spec)
register_pytree_flatten_spec(OrderedDict, _dict_flatten_spec)
for _kind in (list, tuple, namedtuple):
    register_pytree_flatten_spec(_kind, _sequence_flatten_spec)
