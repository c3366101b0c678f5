"""Which nodes a back end takes."""
import abc

from torch.fx.passes.tools_common import CALLABLE_NODE_OPS, get_node_target

__all__ = ["OperatorSupportBase", "OperatorSupport", "create_op_support", "chain", "OpSupports", "any_chain"]


class OperatorSupportBase(abc.ABC):
    """Says of a node whether a back end takes it."""

    @abc.abstractmethod
    def is_node_supported(self, submodules, node):
        """Whether the node is taken; `submodules` is {path: module}."""


class OperatorSupport(OperatorSupportBase):
    """Takes the targets in a table {target: None or [types of arguments]}."""

    def __init__(self, support_dict=None):
        self._support_dict = support_dict or {}

    def is_node_supported(self, submodules, node):
        """Whether the node's target is in the table."""
        if node.op not in CALLABLE_NODE_OPS:
            return True
        target = get_node_target(submodules, node)
        if target not in self._support_dict:
            return False
        dtypes = self._support_dict[target]
        if dtypes is None:
            return True
        args, kwargs = dtypes
        for i, allowed in enumerate(args):
            if len(node.args) > i and self._dtype(node.args[i]) not in allowed:
                return False
        return all(k not in node.kwargs or self._dtype(node.kwargs[k]) in allowed for k, allowed in kwargs.items())

    @staticmethod
    def _dtype(arg):
        meta = getattr(arg, "meta", {}).get("tensor_meta")
        return meta.dtype if meta is not None else None


class _FunctionSupport(OperatorSupportBase):
    def __init__(self, function):
        self.function = function

    def is_node_supported(self, submodules, node):
        """What the function says."""
        return self.function(submodules, node)


def create_op_support(is_node_supported):
    """A support whose answer is that of a function of (submodules, node)."""
    return _FunctionSupport(is_node_supported)


def chain(*op_support):
    """Takes what all of them take."""
    return create_op_support(lambda submods, node: all(x.is_node_supported(submods, node) for x in op_support))


def any_chain(*op_support):
    """Takes what one of them takes."""
    return create_op_support(lambda submods, node: any(x.is_node_supported(submods, node) for x in op_support))


class OpSupports:
    """Supports by what nodes hold."""

    @classmethod
    def decline_if_input_dtype(cls, dtype):
        """Declines nodes with an input of that type, by the meta that ShapeProp writes."""
        def supported(submodules, node):
            return not any(getattr(n.meta.get("tensor_meta"), "dtype", None) is dtype for n in node.all_input_nodes)
        return create_op_support(supported)

    @classmethod
    def decline_if_node_in_names(cls, disallow_set):
        """Declines nodes by name."""
        return create_op_support(lambda submodules, node: node.name not in disallow_set)
