"""Operators written by others: tables {overload: function} for tracing and for back ends that lack them.

`get_decompositions([op, ...])` is a table of some, `core_aten_decompositions()` of all that are not in the core set;
`make_fx(..., decomposition_table=table)` follows one.
"""
import torch
from torch import _C
from torch._ops import OpOverload, OpOverloadPacket

__all__ = ["decomposition_table", "pre_autograd_decomposition_table", "meta_table", "register_decomposition",
           "get_decompositions", "core_aten_decompositions", "remove_decompositions"]

_tables = {"post_autograd": {}, "pre_autograd": {}, "meta": {}}
decomposition_table = _tables["post_autograd"]
pre_autograd_decomposition_table = _tables["pre_autograd"]
meta_table = _tables["meta"]
_loaded = False


def _overloads(op):
    if isinstance(op, OpOverload):
        return [op]
    if isinstance(op, OpOverloadPacket):
        return [getattr(op, name) for name in op.overloads()]
    raise TypeError(f"a decomposition is of an operator of torch.ops, not of a {type(op).__name__}")


def register_decomposition(aten_op, registry=None, *, type="post_autograd", unsafe=False):
    """A decorator: the function is the decomposition of an operator (all its overloads), or of each of a list.

    `registry` is another table to put it into; `type` chooses among the known ones. RuntimeError where the table has the
    overload already.
    """
    if type not in _tables:
        raise AssertionError(f"register_decomposition: type is {type!r}; it is one of {list(_tables)}")

    def register(fn):
        table = _tables[type] if registry is None else registry
        for op in aten_op if isinstance(aten_op, (list, tuple)) else [aten_op]:
            for overload in _overloads(op):
                if overload in table:
                    raise RuntimeError(f"{overload} has a decomposition in this table already")
                table[overload] = fn
        return fn
    return register


def _load():
    global _loaded
    if not _loaded:
        _loaded = True
        from torch._decomp import decompositions  # noqa: F401
        _add_lowerings()


def _add_lowerings():
    """Cards that are computed by a program over other cards are decomposed by that program."""
    for name in (n for n in _C._op_names() if not n.endswith("_")):
        packet = None
        for overload in _C._op_overloads(name) if "::" not in name else ():
            if _C._op_info(name if overload == "default" else f"{name}.{overload}")["kind"] != "lowered":
                continue
            packet = packet or getattr(torch.ops.aten, name)
            op = getattr(packet, overload)
            program = _C._op(name, overload, True)
            if program is not None and op not in decomposition_table:
                decomposition_table[op] = program


def get_decompositions(aten_ops, type="post_autograd"):
    """{overload: function} of the given operators and overloads that have a decomposition."""
    if type not in _tables:
        raise AssertionError(f"get_decompositions: type is {type!r}; it is one of {list(_tables)}")
    _load()
    table = _tables[type]
    return {o: table[o] for op in aten_ops for o in _overloads(op) if o in table}


def remove_decompositions(decompositions, aten_ops):
    """Takes operators out of a table."""
    for op in aten_ops:
        for overload in _overloads(op):
            decompositions.pop(overload, None)


# Operators with a decomposition that are left as they are where only core operators are wanted.
_CORE = ("_softmax", "_log_softmax", "gelu", "native_layer_norm", "native_group_norm", "leaky_relu", "elu", "hardtanh",
         "silu_", "index_put", "scatter", "scatter_add", "scatter_reduce", "index_add", "repeat", "embedding", "var", "expand", "squeeze", "unsqueeze", "fill")


def core_aten_decompositions():
    """{overload: function} of every decomposition of an operator outside the core set."""
    _load()
    return {o: f for o, f in decomposition_table.items() if o._overloadpacket.__name__ not in _CORE}


def __getattr__(name):
    if name == "decompositions":
        from importlib import import_module
        return import_module("torch._decomp.decompositions")
    raise AttributeError(f"module 'torch._decomp' has no attribute {name!r}")
