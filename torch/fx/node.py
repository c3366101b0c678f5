"""Nodes of a graph: one call, input, attribute or result each."""
import builtins
import operator
import types
from typing import Any, Callable, Union

import torch
from torch._ops import OpOverload, OpOverloadPacket
from torch.fx.immutable_collections import immutable_dict, immutable_list

__all__ = ["Node", "map_arg", "map_aggregate", "has_side_effect"]

BaseArgumentTypes = Union[str, int, float, bool, complex, torch.dtype, torch.Tensor, torch.device, torch.memory_format,
                          torch.layout, OpOverload, torch.SymInt, torch.SymBool, torch.SymFloat]
base_types = BaseArgumentTypes.__args__
Target = Union[Callable[..., Any], str]
Argument = Any

_legal_ops = {"placeholder": None, "call_method": None, "call_module": None, "call_function": None, "get_attr": None,
              "output": None, "root": None}
_SPECIAL = {"placeholder", "output"}

# Functions whose call matters even where nobody uses its result.
_side_effectful_functions = {torch._assert, operator.setitem}
_side_effectful_need_to_be_preserved_pre_dispatch = []
# Functions of torch that draw random numbers; operators say so themselves.
_RANDOM = frozenset(("rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like", "normal",
                     "poisson", "bernoulli", "multinomial"))


def has_side_effect(fn):
    """Registers `fn` as a function that dead code elimination keeps; gives it back, so it is a decorator too."""
    _side_effectful_functions.add(fn)
    return fn


def _find_module_of_method(orig_method):
    """The module that has the method under its own name: where operators written in C live."""
    name = orig_method.__name__
    for guess in (torch, torch.nn.functional, torch._C._nn):
        if getattr(guess, name, None) is orig_method:
            return guess.__name__
    for space in ("_linalg", "_fft", "_special"):
        if getattr(getattr(torch._C, space, None), name, None) is orig_method:
            return f"torch._C.{space}"
    raise RuntimeError(f"no module is known to hold the function {name!r} ({orig_method!r})")


def _type_repr(obj):
    """A type as the listing of a graph names it."""
    if isinstance(obj, type) and not isinstance(obj, types.GenericAlias):
        return obj.__qualname__ if obj.__module__ == "builtins" else f"{obj.__module__}.{obj.__qualname__}"
    if obj is ...:
        return "..."
    if isinstance(obj, types.FunctionType):
        return obj.__name__
    return repr(obj)


def _get_qualified_name(func):
    """The dotted name under which generated code reaches `func`."""
    name = getattr(func, "__name__", None)
    if isinstance(func, (OpOverload, OpOverloadPacket)):
        return f"torch.ops.{func}"
    if name is not None:
        if getattr(builtins, name, None) is func:
            return name
        if getattr(func, "__module__", None) == "_operator":
            return f"_operator.{name}"
        if name == "<lambda>":
            import inspect
            try:
                name = inspect.getsource(func).split("=")[0].strip()
            except OSError as error:
                raise RuntimeError("a lambda as the target of a node has no name that code could call") from error
    elif not isinstance(func, type):
        raise AttributeError(f"{type(func).__name__!r} object has no attribute '__name__'")
    if isinstance(func, types.MethodDescriptorType | types.WrapperDescriptorType):
        owner = func.__objclass__
        if issubclass(torch.Tensor, owner):
            return f"torch.Tensor.{name}"
        return f"{owner.__module__}.{owner.__qualname__}.{name}"
    module = _module_name(func)
    if module.startswith("torch._") and getattr(torch, name, None) is func:
        module = "torch"
    if isinstance(func, types.MethodType) and isinstance(func.__self__, type):
        name = f"{func.__self__.__qualname__}.{name}"
    module = module.replace("torch._ops", "torch.ops")
    if module == "torch" and name == "segment_reduce":
        name = "_" + name
    return f"{module}.{name}"


def _module_name(func):
    module = getattr(func, "__module__", None)
    found = _homes.get(func) if isinstance(func, types.BuiltinFunctionType) else None
    if found is not None:
        return found
    if module is None or module in ("torch._C", "_C") or (
            isinstance(func, types.BuiltinFunctionType) and module.startswith("torch")):
        module = _find_module_of_method(func)
        if isinstance(func, types.BuiltinFunctionType):
            _homes[func] = module
    return module


_homes = {}


def _format_arg(arg, max_list_len=float("inf")):
    """An argument as the listing of a graph shows it: nodes as %name, strings bare."""
    if hasattr(arg, "_custom_fx_repr_fn"):
        return arg._custom_fx_repr_fn()
    if isinstance(arg, (list, tuple)) and not (isinstance(arg, tuple) and hasattr(arg, "_fields")):
        shown = [_format_arg(a) for i, a in enumerate(arg) if i < max_list_len]
        text = ", ".join(shown)
        if len(arg) > len(shown):
            text += f", ...[total_len={len(arg)}]"
        if isinstance(arg, list):
            return f"[{text}]"
        return f"({text},)" if len(arg) == 1 else f"({text})"
    if isinstance(arg, dict):
        return "{" + ", ".join(f"{k}: {_format_arg(v)}" for k, v in arg.items()) + "}"
    return "%" + arg.name if isinstance(arg, Node) else str(arg)


def map_aggregate(a, fn):
    """`fn` of every leaf of nested tuples, lists, dicts and slices; lists and dicts come back immutable."""
    kind = type(a)
    if kind is tuple:
        return tuple([map_aggregate(x, fn) for x in a])
    if kind is immutable_list or kind is list:
        return immutable_list([map_aggregate(x, fn) for x in a])
    if kind is immutable_dict or kind is dict:
        return immutable_dict({k: map_aggregate(v, fn) for k, v in a.items()})
    if kind is slice:
        return slice(map_aggregate(a.start, fn), map_aggregate(a.stop, fn), map_aggregate(a.step, fn))
    if isinstance(a, tuple):
        mapped = [map_aggregate(x, fn) for x in a]
        return kind(*mapped) if hasattr(a, "_fields") else tuple(mapped)
    if isinstance(a, list):
        return immutable_list([map_aggregate(x, fn) for x in a])
    if isinstance(a, dict):
        return immutable_dict({k: map_aggregate(v, fn) for k, v in a.items()})
    return fn(a)


def map_arg(a, fn):
    """`fn` of every Node in nested arguments; everything else stays."""
    if not callable(fn):
        raise AssertionError(f"torch.fx.map_arg(a, fn): fn must be callable, got {fn!r}")
    return map_aggregate(a, lambda x: fn(x) if isinstance(x, Node) else x)


def _settle(a, seen):
    """`a` with immutable containers; the nodes in it are added to `seen`."""
    kind = type(a)
    if kind is Node:
        seen[a] = None
        return a
    if kind is int or kind is str or a is None or kind is float or kind is bool:
        return a
    if kind is tuple:
        return tuple([_settle(x, seen) for x in a])
    if kind is list or kind is immutable_list:
        return immutable_list([_settle(x, seen) for x in a])

    def leaf(x):
        if isinstance(x, Node):
            seen[x] = None
        return x
    return map_aggregate(a, leaf)


_GAP = 1 << 16


class Node:
    """One operation of a `Graph`.

    `op` is 'placeholder', 'get_attr', 'call_function', 'call_module', 'call_method' or 'output'; `target` says of what:
    the function, the dotted path of a module or attribute, the name of a method or of an input. `args` and `kwargs` hold
    nodes in place of values. `users` are the nodes that take this one. `meta` belongs to passes, and is copied along.
    """

    __slots__ = ("graph", "name", "op", "target", "type", "_args", "_kwargs", "_input_nodes", "users", "meta", "_prev",
                 "_next", "_erased", "_repr_fn", "_sort_key", "__weakref__", "__dict__")

    def __init__(self, graph, name, op, target, args, kwargs, return_type=None):
        if op not in _legal_ops:
            raise AssertionError(f"{op!r} is no kind of node: {', '.join(_legal_ops)} are")
        if op == "call_function":
            if not callable(target):
                raise ValueError(f"the node {name!r} of {graph!r} calls a function, so its target must be callable, but "
                                 f"{target!r} is a {_type_repr(type(target))}")
        elif not isinstance(target, str):
            raise ValueError(f"the node {name!r} of {graph!r} is a {op}, so its target must be a str, but {target!r} is a "
                             f"{_type_repr(type(target))}")
        self.graph, self.name, self.op, self.target, self.type = graph, name, op, target, return_type
        self.users, self.meta = {}, {}
        self._prev = self._next = self
        self._erased, self._repr_fn, self._sort_key = False, None, 0
        self._input_nodes = seen = {}
        self._args = _settle(args, seen)
        self._kwargs = _settle(kwargs, seen)
        for n in seen:
            n.users[self] = None

    # ---- place in the list ------------------------------------------------------------------

    @property
    def next(self):
        """The node after this one (the list's root at its end)."""
        return self._next

    @property
    def prev(self):
        """The node before this one (the list's root at its start)."""
        return self._prev

    def prepend(self, x):
        """Moves (or puts) node `x` right before this one."""
        self._prepend(x)

    def append(self, x):
        """Moves (or puts) node `x` right after this one."""
        self._next._prepend(x)

    def _prepend(self, x):
        if self.graph is not x.graph:
            raise AssertionError("a node cannot be moved to a place in another graph")
        if self is x:
            return
        x._remove_from_list()
        p = self._prev
        p._next, x._prev = x, p
        x._next, self._prev = self, x
        # Keys ascend along the list, so that `<` needs no walk; they are spaced, and spaced anew when a gap is used up.
        low = p._sort_key
        if self.op == "root":
            x._sort_key = low + _GAP
        else:
            x._sort_key = key = (low + self._sort_key) // 2 if p.op != "root" else self._sort_key - _GAP
            if p.op != "root" and key == low:
                self.graph._number_nodes()

    def _remove_from_list(self):
        p, n = self._prev, self._next
        p._next, n._prev = n, p

    def __lt__(self, other):
        return self._sort_key < other._sort_key

    def __gt__(self, other):
        return self._sort_key > other._sort_key

    def __le__(self, other):
        return self is other or self._sort_key < other._sort_key

    def __ge__(self, other):
        return self is other or self._sort_key > other._sort_key

    # ---- arguments --------------------------------------------------------------------------

    @property
    def args(self):
        """The positional arguments: a tuple with nodes in place of values."""
        return self._args

    @args.setter
    def args(self, a):
        self._update_args_kwargs(a, self._kwargs)

    @property
    def kwargs(self):
        """The keyword arguments: a dict with nodes in place of values."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, k):
        self._update_args_kwargs(self._args, k)

    def _update_args_kwargs(self, args, kwargs):
        for n in self._input_nodes:
            n.users.pop(self, None)
        self._input_nodes = seen = {}
        self._args = _settle(args, seen)
        self._kwargs = _settle(kwargs, seen)
        for n in seen:
            n.users[self] = None

    @property
    def all_input_nodes(self):
        """The nodes among the arguments, each once, in order."""
        return list(self._input_nodes)

    def update_arg(self, idx, arg):
        """Replaces positional argument `idx`."""
        args = list(self._args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx, arg):
        """Puts `arg` before positional argument `idx`."""
        if not 0 <= idx <= len(self._args):
            raise AssertionError(f"insert_arg: the index must be within 0 and {len(self._args)}, got {idx}")
        self.args = self._args[:idx] + (arg,) + self._args[idx:]

    def update_kwarg(self, key, arg):
        """Replaces keyword argument `key`."""
        self.kwargs = {**self._kwargs, key: arg}

    def replace_all_uses_with(self, replace_with, delete_user_cb=None, *, propagate_meta=False):
        """Every user takes `replace_with` instead of this node; gives the users changed.

        `delete_user_cb(user)` may refuse a user by False. `propagate_meta`: meta goes along, where the other has none.
        """
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError("replace_all_uses_with(propagate_meta=True): the replacement has meta of its own: "
                                     f"{list(replace_with.meta)}")
            replace_with.meta.update(self.meta)
        hooks = getattr(self.graph.owning_module, "_replace_hooks", None)
        changed = []
        for user in [*self.users]:
            if delete_user_cb is not None and not delete_user_cb(user):
                continue
            changed.append(user)
            if hooks:
                for hook in hooks:
                    hook(old=self, new=replace_with.name, user=user)
            user._replace_input_with(self, replace_with)
        return changed

    def replace_input_with(self, old_input, new_input):
        """This node takes `new_input` where it took `old_input`."""
        hooks = getattr(self.graph.owning_module, "_replace_hooks", None)
        if hooks:
            for hook in hooks:
                hook(old=old_input, new=new_input.name, user=self)
        self._replace_input_with(old_input, new_input)

    def _replace_input_with(self, old, new):
        def swap(n):
            return new if n is old else n
        self._update_args_kwargs(map_aggregate(self._args, swap), map_aggregate(self._kwargs, swap))

    # ---- what it is -------------------------------------------------------------------------

    @property
    def stack_trace(self):
        """The text of the Python stack that made the node, where a tracer recorded it; else None."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace):
        self.meta["stack_trace"] = trace

    def is_impure(self, impure_random=True):
        """Whether the node must stay though nobody uses it: inputs, results, writes, assertions, random numbers."""
        op, target = self.op, self.target
        if op in _SPECIAL:
            return True
        if op == "call_function":
            if isinstance(target, OpOverload):
                schema = target._schema
                if getattr(schema, "is_mutable", False) or _writes(str(schema)):
                    return True
                name = target._overloadpacket.__name__
                if name.startswith("_assert") or name in ("sym_constrain_range", "sym_constrain_range_for_size"):
                    return True
                if impure_random and torch.Tag.nondeterministic_seeded in target.tags:
                    return True
            elif impure_random and getattr(target, "__name__", None) in _RANDOM and (
                    getattr(torch, target.__name__, None) is target):
                return True
            return target in _side_effectful_functions
        if op == "call_module":
            owner = self.graph.owning_module
            if owner is None:
                raise AssertionError("whether a module's call is pure is asked of a graph without an owning module")
            try:
                module = owner.get_submodule(target)
            except AttributeError:
                raise AssertionError(f"the module {target!r} is not found in the owning module") from None
            return getattr(module, "_is_impure", False)
        return False

    def normalized_arguments(self, root, arg_types=None, kwarg_types=None, normalize_to_only_use_kwargs=False):
        """The arguments as (args, kwargs) by the target's signature, defaults filled in; None where it has none."""
        from torch.fx.operator_schemas import normalize_function, normalize_module
        if self.op == "call_function":
            return normalize_function(self.target, self.args, self.kwargs, arg_types, kwarg_types,
                                      normalize_to_only_use_kwargs)
        if self.op == "call_module":
            return normalize_module(root, self.target, self.args, self.kwargs, normalize_to_only_use_kwargs)
        return None

    def _pretty_print_target(self, target):
        if isinstance(target, str):
            return target
        module = getattr(target, "__module__", None)
        name = getattr(target, "__name__", None)
        if module == "builtins" or getattr(builtins, name or "", None) is target:
            return f"builtins.{name}"
        if module == "_operator":
            return f"operator.{name}"
        return _get_qualified_name(target)

    def format_node(self, placeholder_names=None, maybe_return_typename=None, *, include_tensor_metadata=False):
        """The node as a line of the graph's listing.

        For the graph's own use: with `placeholder_names`, an input is added there and not shown (None); with
        `maybe_return_typename` the type of the result is put into its first item.
        """
        typename = f"{_type_repr(self.type)} " if self.type else ""
        if self.op == "placeholder":
            arg = self.target + (f": {_type_repr(self.type)}" if self.type else "")
            if placeholder_names is not None:
                placeholder_names.append(arg)
                return None
            default = f"(default={self._args[0]})" if self._args else ""
            head = f"{typename}[num_users={len(self.users)}] = {self.op}"
            return f"%{self.name} : {head}[target={self.target}]{default}"
        if self.op == "output":
            if self.type and maybe_return_typename:
                maybe_return_typename[0] = f" -> {_type_repr(self.type)}"
            return f"return {self._args[0]}"
        if include_tensor_metadata:
            from torch.fx.codegen import _tensor_annotation
            val = self.meta.get("val")
            if isinstance(val, torch.Tensor):
                typename = f'Tensor "{_tensor_annotation(val, True, True)}"'
        head = f"%{self.name} : {typename}[num_users={len(self.users)}] = {self.op}"
        head += f"[target={self._pretty_print_target(self.target)}]"
        if self.op == "get_attr":
            return head
        return f"{head}(args = {_format_arg(self._args)}, kwargs = {_format_arg(self._kwargs)})"

    def _rename(self, candidate):
        if candidate != self.name:
            self.name = self.graph._graph_namespace.create_name(candidate, None)
            self.graph._graph_namespace._rename_object(self, self.name)

    def __repr__(self):
        return self._repr_fn(self) if self._repr_fn else self.name

    def __reduce__(self):
        return _node_of, (self.graph, self.graph._position(self))


def _node_of(graph, position):
    """The node at a place of a graph, its root before the first: what a pickled node is."""
    if position < 0:
        return graph._root
    for i, node in enumerate(graph.nodes):
        if i == position:
            return node
    raise IndexError(f"the graph has no node {position}")


def _writes(schema):
    """Whether a schema's arguments are written to."""
    return "!" in schema[:schema.rindex("->")] if "->" in schema else False
