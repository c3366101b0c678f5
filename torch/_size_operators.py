"""Operators that read sizes: torch.ops.aten.sym_size.int and its like, the nodes by which graphs hold symbolic sizes.

They ask the tensor, so that they give ints of real tensors and SymInts of tensors with symbolic sizes; no kernel runs.
"""
from torch._ops import OpOverload, OpOverloadPacket
from torch._schema import Argument, FunctionSchema, JitType, Tag

__all__ = ["packet", "NAMES"]

# name -> {overload: (schema, function)}
_ALL = {
    "sym_size": {"default": ("sym_size(Tensor self) -> SymInt[]", lambda self: list(self.size())),
                 "int": ("sym_size.int(Tensor self, int dim) -> SymInt", lambda self, dim: self.size(dim))},
    "sym_stride": {"default": ("sym_stride(Tensor self) -> SymInt[]", lambda self: list(self.stride())),
                   "int": ("sym_stride.int(Tensor self, int dim) -> SymInt", lambda self, dim: self.stride(dim))},
    "sym_numel": {"default": ("sym_numel(Tensor self) -> SymInt", lambda self: self.numel())},
    "sym_storage_offset": {"default": ("sym_storage_offset(Tensor self) -> SymInt", lambda self: self.storage_offset())},
}
NAMES = frozenset(_ALL)


class _Schema(FunctionSchema):
    def __init__(self, text):
        head, result = text.split(" -> ")
        name, arguments = head[:-1].split("(")
        self._text, (self.name, _, self.overload_name) = "aten::" + text, name.partition(".")
        self.name = "aten::" + self.name
        self.arguments = []
        for a in arguments.split(", "):
            kind, n = a.split(" ")
            self.arguments.append(Argument(n, JitType(kind), None, False, False, None, None))
        kind = JitType("List[int]" if result.endswith("[]") else "int")
        self.returns = [Argument("", kind, None, False, False, None, None)]


class _SizeOverload(OpOverload):
    """One of these operators."""

    def __init__(self, packet, overload):
        text, function = _ALL[packet.__name__][overload]
        super().__init__(packet, overload, function)
        self._cached_schema, self._cached_tags = _Schema(text), [Tag.core, Tag.pt2_compliant_tag]

    @property
    def _defined_in_python(self):
        return True

    def has_kernel_for_dispatch_key(self, key):
        return getattr(key, "name", key) == "CompositeImplicitAutograd"


class _SizePacket(OpOverloadPacket):
    """All overloads of one of these operators; calling it runs the one for the number of arguments."""

    def __init__(self, name):
        self._namespace, self.__name__, self.__qualname__, self._registry_name = "aten", name, name, name
        self._qualified = self._qualified_op_name = f"aten::{name}"
        self.__module__, self._dir = "torch._ops.aten", list(_ALL[name])
        for overload in _ALL[name]:
            setattr(self, overload, _SizeOverload(self, overload))
        self._call = self._op = self._run

    def _run(self, tensor, *dim):
        return (self.int if dim else self.default)(tensor, *dim)

    @property
    def _overload_names(self):
        return list(_ALL[self.__name__])


def packet(name):
    """The operators of this name."""
    return _SizePacket(name)
