"""Trees of containers: flatten to a list of leaves and a spec, map, unflatten.

Nodes are the containers registered in `SUPPORTED_NODES` (by exact type); everything else is a
leaf, None too.
"""

import dataclasses
import functools
import json
import types
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

import torch

__all__ = [
    "PyTree", "Context", "FlattenFunc", "UnflattenFunc", "DumpableContext", "ToDumpableContextFn",
    "FromDumpableContextFn", "PyTreeSpec", "TreeSpec", "LeafSpec", "keystr", "key_get",
    "register_pytree_node", "tree_is_leaf", "tree_flatten", "tree_flatten_with_path",
    "tree_unflatten", "tree_iter", "tree_leaves", "tree_leaves_with_path", "tree_structure",
    "tree_map", "tree_map_with_path", "tree_map_", "tree_map_only", "tree_map_only_", "tree_all",
    "tree_any", "tree_all_only", "tree_any_only", "treespec_dumps", "treespec_loads",
    "treespec_pprint", "treespec_leaf", "treespec_tuple", "treespec_dict", "is_namedtuple",
    "is_namedtuple_class", "is_namedtuple_instance", "is_structseq", "is_structseq_class",
    "is_structseq_instance", "register_constant", "register_dataclass"]

T = TypeVar("T")
Context = Any
PyTree = Any
FlattenFunc = Callable[[PyTree], tuple[list[Any], Context]]
UnflattenFunc = Callable[[Iterable[Any], Context], PyTree]
DumpableContext = Any
ToDumpableContextFn = Callable[[Context], DumpableContext]
FromDumpableContextFn = Callable[[DumpableContext], Context]
ToStrFunc = Callable[["TreeSpec", list[str]], str]
MaybeFromStrFunc = Callable[[str], Any]


@dataclasses.dataclass(frozen=True)
class MappingKey:
    """A step of a path: the entry of a mapping."""

    key: Any

    def __str__(self):
        return f"[{self.key!r}]"

    def get(self, mapping):
        return mapping[self.key]


@dataclasses.dataclass(frozen=True)
class SequenceKey:
    """A step of a path: the item of a sequence."""

    idx: int

    def __str__(self):
        return f"[{self.idx!r}]"

    def get(self, sequence):
        return sequence[self.idx]


@dataclasses.dataclass(frozen=True)
class GetAttrKey:
    """A step of a path: an attribute."""

    name: str

    def __str__(self):
        return f".{self.name}"

    def get(self, obj):
        return getattr(obj, self.name)


class NodeDef(NamedTuple):
    """How a type of container is taken apart and put together."""

    type: type
    flatten_fn: Callable
    unflatten_fn: Callable
    flatten_with_keys_fn: Callable | None


class _SerializeNodeDef(NamedTuple):
    typ: type
    serialized_type_name: str
    to_dumpable_context: Callable | None
    from_dumpable_context: Callable | None


@dataclasses.dataclass(frozen=True)
class ConstantNode:
    """The context of a node that has no leaves and is itself the value."""

    value: Any


SUPPORTED_NODES: dict[Any, NodeDef] = {}
SUPPORTED_SERIALIZED_TYPES: dict[Any, _SerializeNodeDef] = {}
SERIALIZED_TYPE_TO_PYTHON_TYPE: dict[str, Any] = {}
CONSTANT_NODES: set[type] = set()
NO_SERIALIZED_TYPE_NAME_FOUND = "NO_SERIALIZED_TYPE_NAME_FOUND"


def register_pytree_node(cls, flatten_fn, unflatten_fn, *, serialized_type_name=None,
                         to_dumpable_context=None, from_dumpable_context=None,
                         flatten_with_keys_fn=None):
    """Makes `cls` a container.

    `flatten_fn(obj)` gives (children, context), `unflatten_fn(children, context)` the object;
    `flatten_with_keys_fn(obj)` gives ([(key, child)], context). The rest is for `treespec_dumps`.
    Raises ValueError for a type that is one already.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls!r} is a pytree node already")
    _private_register_pytree_node(
        cls, flatten_fn, unflatten_fn, serialized_type_name=serialized_type_name,
        to_dumpable_context=to_dumpable_context, from_dumpable_context=from_dumpable_context,
        flatten_with_keys_fn=flatten_with_keys_fn)


def _register_pytree_node(cls, flatten_fn, unflatten_fn, to_str_fn=None, maybe_from_str_fn=None, *,
                          serialized_type_name=None, to_dumpable_context=None,
                          from_dumpable_context=None, flatten_with_keys_fn=None):
    """The older form of `register_pytree_node`."""
    _private_register_pytree_node(
        cls, flatten_fn, unflatten_fn, serialized_type_name=serialized_type_name,
        to_dumpable_context=to_dumpable_context, from_dumpable_context=from_dumpable_context,
        flatten_with_keys_fn=flatten_with_keys_fn)


def _private_register_pytree_node(cls, flatten_fn, unflatten_fn, *, serialized_type_name=None,
                                  to_dumpable_context=None, from_dumpable_context=None,
                                  flatten_with_keys_fn=None):
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise ValueError(f"give both to_dumpable_context and from_dumpable_context for {cls!r}, "
                         "or none")
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)
    name = serialized_type_name or NO_SERIALIZED_TYPE_NAME_FOUND
    SUPPORTED_SERIALIZED_TYPES[cls] = _SerializeNodeDef(
        cls, name, to_dumpable_context, from_dumpable_context)
    if serialized_type_name is not None:
        SERIALIZED_TYPE_TO_PYTHON_TYPE[serialized_type_name] = cls


def _deregister_pytree_node(cls):
    del SUPPORTED_NODES[cls]
    node = SUPPORTED_SERIALIZED_TYPES.pop(cls)
    SERIALIZED_TYPE_TO_PYTHON_TYPE.pop(node.serialized_type_name, None)
    CONSTANT_NODES.discard(cls)


def register_dataclass(cls, *, field_names=None, drop_field_names=None, serialized_type_name=None):
    """Makes a dataclass a container of its fields; `drop_field_names` are left out."""
    dropped = set(drop_field_names or ())
    if field_names is None:
        if not dataclasses.is_dataclass(cls):
            raise ValueError(f"field_names must be given for {cls!r}, which is no dataclass")
        names = [f.name for f in dataclasses.fields(cls) if f.init and f.name not in dropped]
    else:
        names = [n for n in field_names if n not in dropped]
    if dataclasses.is_dataclass(cls):
        known = {f.name for f in dataclasses.fields(cls) if f.init}
        unknown = (set(names) | dropped) - known
        missing = known - set(names) - dropped
        if unknown or missing:
            raise ValueError(f"the fields of {cls!r} are {sorted(known)}: unknown {sorted(unknown)}"
                             f", not named {sorted(missing)}")

    def flatten(obj):
        present, values, absent = [], [], []
        for name in names:
            value = getattr(obj, name)
            if value is None:
                absent.append(name)
            else:
                present.append(name)
                values.append(value)
        return values, [present, absent]

    def unflatten(values, context):
        present, absent = context
        return cls(**dict(zip(present, values)), **dict.fromkeys(absent))

    def flatten_with_keys(obj):
        values, context = flatten(obj)
        return [(GetAttrKey(n), v) for n, v in zip(context[0], values)], context

    _private_register_pytree_node(cls, flatten, unflatten,
                                  serialized_type_name=serialized_type_name,
                                  flatten_with_keys_fn=flatten_with_keys)


def register_constant(cls):
    """Makes values of the type part of the structure: nodes without leaves.

    They are compared and hashed, so the type must define `__eq__` and `__hash__`.
    """
    if cls.__eq__ is object.__eq__:
        raise TypeError(f"{cls.__name__} must define __eq__ to be a constant")
    if cls.__hash__ is None:
        raise TypeError(f"{cls.__name__} must define __hash__ to be a constant")

    def flatten(obj):
        return [], ConstantNode(obj)

    _private_register_pytree_node(cls, flatten, lambda _, context: context.value,
                                  flatten_with_keys_fn=flatten)
    CONSTANT_NODES.add(cls)


def is_constant_class(cls):
    return isinstance(cls, type) and cls in CONSTANT_NODES


def _is_constant_holder(spec):
    return isinstance(spec._context, ConstantNode)


def _retrieve_constant(spec):
    if not _is_constant_holder(spec):
        raise AssertionError("the spec holds no constant")
    return tree_unflatten([], spec)


def is_namedtuple(obj):
    """Whether a named tuple or its class."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_namedtuple_class(cls):
    fields = getattr(cls, "_fields", None)
    return isinstance(cls, type) and issubclass(cls, tuple) and isinstance(fields, tuple) \
        and all(type(f) is str for f in fields) and callable(getattr(cls, "_make", None))


def is_namedtuple_instance(obj):
    return is_namedtuple_class(type(obj))


_is_namedtuple_instance = is_namedtuple_instance


def is_structseq(obj):
    """Whether a result type such as torch.return_types.max, or a value of it."""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


def is_structseq_class(cls):
    return isinstance(cls, type) and issubclass(cls, tuple) and cls is not tuple \
        and isinstance(getattr(cls, "n_fields", None), int) \
        and isinstance(getattr(cls, "n_sequence_fields", None), int)


def is_structseq_instance(obj):
    return is_structseq_class(type(obj))


def _tuple_flatten(d):
    return list(d), None


def _tuple_flatten_with_keys(d):
    return [(SequenceKey(i), v) for i, v in enumerate(d)], None


def _tuple_unflatten(values, context):
    return tuple(values)


def _list_flatten(d):
    return d, None


_list_flatten_with_keys = _tuple_flatten_with_keys


def _list_unflatten(values, context):
    return list(values)


def _dict_flatten(d):
    return list(d.values()), list(d.keys())


def _dict_flatten_with_keys(d):
    return [(MappingKey(k), v) for k, v in d.items()], list(d.keys())


def _dict_unflatten(values, context):
    return dict(zip(context, values))


def _namedtuple_flatten(d):
    return list(d), type(d)


def _namedtuple_flatten_with_keys(d):
    return [(GetAttrKey(f), v) for f, v in zip(d._fields, d)], type(d)


def _namedtuple_unflatten(values, context):
    return context(*values)


def _namedtuple_serialize(context):
    node = SUPPORTED_SERIALIZED_TYPES.get(context)
    if node is None or node.serialized_type_name == NO_SERIALIZED_TYPE_NAME_FOUND:
        raise NotImplementedError(f"{context!r} has no serialized_type_name: register it by "
                                  "_register_namedtuple")
    return node.serialized_type_name


def _namedtuple_deserialize(dumpable_context):
    return SERIALIZED_TYPE_TO_PYTHON_TYPE[dumpable_context]


def _register_namedtuple(cls, *, serialized_type_name):
    """Names a namedtuple class in dumped specs."""
    SUPPORTED_SERIALIZED_TYPES[cls] = _SerializeNodeDef(cls, serialized_type_name, None, None)
    SERIALIZED_TYPE_TO_PYTHON_TYPE[serialized_type_name] = cls


def _ordereddict_unflatten(values, context):
    return OrderedDict(zip(context, values))


_ordereddict_flatten = _dict_flatten
_ordereddict_flatten_with_keys = _dict_flatten_with_keys
_odict_flatten = _ordereddict_flatten
_odict_unflatten = _ordereddict_unflatten


def _defaultdict_flatten(d):
    values, keys = _dict_flatten(d)
    return values, [d.default_factory, keys]


def _defaultdict_flatten_with_keys(d):
    values, keys = _dict_flatten_with_keys(d)
    return values, [d.default_factory, keys]


def _defaultdict_unflatten(values, context):
    return defaultdict(context[0], _dict_unflatten(values, context[1]))


def _defaultdict_serialize(context):
    factory, keys = context
    return {"default_factory_module": getattr(factory, "__module__", None),
            "default_factory_name": getattr(factory, "__qualname__", None), "dict_context": keys}


def _defaultdict_deserialize(dumpable_context):
    import importlib
    module, name = (dumpable_context["default_factory_module"],
                    dumpable_context["default_factory_name"])
    factory = None if name is None else getattr(importlib.import_module(module), name)
    return [factory, dumpable_context["dict_context"]]


def _deque_flatten(d):
    return list(d), d.maxlen


def _deque_flatten_with_keys(d):
    return [(SequenceKey(i), v) for i, v in enumerate(d)], d.maxlen


def _deque_unflatten(values, context):
    return deque(values, maxlen=context)


for _cls, _flat, _unflat, _keys, _name, _to, _from in (
        (tuple, _tuple_flatten, _tuple_unflatten, _tuple_flatten_with_keys, "builtins.tuple", None,
         None),
        (list, _list_flatten, _list_unflatten, _list_flatten_with_keys, "builtins.list", None,
         None),
        (dict, _dict_flatten, _dict_unflatten, _dict_flatten_with_keys, "builtins.dict", None,
         None),
        (namedtuple, _namedtuple_flatten, _namedtuple_unflatten, _namedtuple_flatten_with_keys,
         "collections.namedtuple", _namedtuple_serialize, _namedtuple_deserialize),
        (OrderedDict, _ordereddict_flatten, _ordereddict_unflatten,
         _ordereddict_flatten_with_keys, "collections.OrderedDict", None, None),
        (defaultdict, _defaultdict_flatten, _defaultdict_unflatten,
         _defaultdict_flatten_with_keys, "collections.defaultdict", _defaultdict_serialize,
         _defaultdict_deserialize),
        (deque, _deque_flatten, _deque_unflatten, _deque_flatten_with_keys, "collections.deque",
         None, None),
        (torch.Size, _tuple_flatten, _tuple_unflatten, _tuple_flatten_with_keys, "torch.Size",
         None, None)):
    _private_register_pytree_node(_cls, _flat, _unflat, serialized_type_name=_name,
                                  to_dumpable_context=_to, from_dumpable_context=_from,
                                  flatten_with_keys_fn=_keys)

BUILTIN_TYPES = frozenset({tuple, list, dict, namedtuple, OrderedDict, defaultdict, deque})
STANDARD_DICT_TYPES = frozenset({dict, OrderedDict, defaultdict})


def _register_structseq(cls):
    """A result type of torch is a node of its own."""
    _private_register_pytree_node(
        cls, _tuple_flatten, lambda values, context: cls(tuple(values)),
        serialized_type_name=f"{cls.__module__}.{cls.__name__}",
        flatten_with_keys_fn=_tuple_flatten_with_keys)


def _get_node_type(tree):
    kind = type(tree)
    if kind in SUPPORTED_NODES:
        return kind
    if isinstance(tree, tuple):
        if is_namedtuple_class(kind):
            return namedtuple
        if kind.__module__ == "torch.return_types" and is_structseq_class(kind):
            _register_structseq(kind)
    return kind


def tree_is_leaf(tree, is_leaf=None):
    """Whether the tree is a leaf: no registered container, or one that `is_leaf` says is."""
    if is_leaf is not None and is_leaf(tree):
        return True
    return _get_node_type(tree) not in SUPPORTED_NODES


_is_leaf = tree_is_leaf


class TreeSpec:
    """The structure of a tree: `type` of the root, its `context`, and the specs of its children."""

    __slots__ = ("type", "_context", "_children", "num_nodes", "num_leaves", "num_children")

    def __init__(self, type, context, children_specs):
        self.type = type
        self._context = context
        self._children = list(children_specs)
        self.num_nodes = 1 + sum(c.num_nodes for c in self._children)
        self.num_leaves = 1 if type is None else sum(c.num_leaves for c in self._children)
        self.num_children = len(self._children)

    @property
    def context(self):
        return self._context

    @property
    def children_specs(self):
        return self._children

    def children(self):
        return list(self._children)

    def child(self, index):
        return self._children[index]

    def is_leaf(self):
        return self.type is None

    def __eq__(self, other):
        if self is other:
            return True
        if not isinstance(other, TreeSpec):
            return NotImplemented
        return self.type == other.type and self._context == other._context \
            and self._children == other._children

    def __hash__(self):
        context = self._context
        if self.type in (dict, OrderedDict):
            context = tuple(context)
        elif self.type is defaultdict:
            context = (context[0], tuple(context[1]))
        try:
            return hash((self.type, context, tuple(self._children)))
        except TypeError:
            return hash((self.type, repr(context), tuple(self._children)))

    def __getstate__(self):
        return (self.type, self._context, self._children)

    def __setstate__(self, state):
        if isinstance(state, tuple) and len(state) == 2:
            state = state[1]["type"], state[1]["_context"], state[1]["_children"]
        TreeSpec.__init__(self, *state)

    def __repr__(self, indent=0):
        if self.type is None:
            return "*"
        head = f"TreeSpec({self.type.__name__}, {self._context}, ["
        children = ""
        if self._children:
            children = self._children[0].__repr__(indent + 2)
            for c in self._children[1:]:
                children += ",\n" + " " * (indent + 2) + c.__repr__(indent + 2)
        return head + children + "])"

    __str__ = __repr__

    def unflatten(self, leaves):
        """The tree with these leaves. Raises ValueError for another number of them."""
        if not isinstance(leaves, (list, tuple)):
            leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(f"got {len(leaves)} leaves for a spec with {self.num_leaves}: {self}")
        return self._build(leaves, 0)[0]

    def _build(self, leaves, at):
        if self.type is None:
            return leaves[at], at + 1
        values = []
        for c in self._children:
            if c.type is None:
                values.append(leaves[at])
                at += 1
            else:
                value, at = c._build(leaves, at)
                values.append(value)
        return SUPPORTED_NODES[self.type].unflatten_fn(values, self._context), at

    def flatten_up_to(self, tree):
        """The subtrees of `tree` at the leaves of this spec.

        Raises ValueError where the tree has another container than the spec.
        """
        out = []
        self._flatten_up_to(tree, out)
        return out

    def _flatten_up_to(self, tree, out):
        if self.type is None:
            out.append(tree)
            return
        kind = _get_node_type(tree)
        if self.type not in BUILTIN_TYPES:
            if kind != self.type:
                raise ValueError(f"the spec has a {self.type!r} where the tree has a {kind!r}")
            children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
            self._check_arity(len(children))
            if context != self._context:
                raise ValueError(f"the spec has the context {self._context!r} where the tree has "
                                 f"{context!r}, in a {kind!r}")
        else:
            both_dicts = self.type in STANDARD_DICT_TYPES and kind in STANDARD_DICT_TYPES
            if kind != self.type and not both_dicts:
                raise ValueError(f"the spec has a {self.type!r} where the tree has a {kind!r}")
            self._check_arity(len(tree))
            if both_dicts:
                keys = self._context[1] if self.type is defaultdict else self._context
                if set(keys) != set(tree):
                    raise ValueError(f"the spec has the keys {list(keys)} where the tree has "
                                     f"{list(tree)}")
                children = [tree[k] for k in keys]
            else:
                children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
                if kind is not deque and context != self._context:
                    raise ValueError(f"the spec has the context {self._context!r} where the tree "
                                     f"has {context!r}, in a {kind!r}")
        for child, spec in zip(children, self._children):
            spec._flatten_up_to(child, out)

    def _check_arity(self, n):
        if n != self.num_children:
            raise ValueError(f"the spec has {self.num_children} children where the tree has {n}, "
                             f"in a {self.type!r}")


PyTreeSpec = TreeSpec


class _LeafMaker(type):
    """LeafSpec() gives the one spec of a leaf, and isinstance knows it."""

    def __instancecheck__(cls, instance):
        return isinstance(instance, TreeSpec) and instance.type is None


class LeafSpec(TreeSpec, metaclass=_LeafMaker):
    """The spec of a leaf."""

    __slots__ = ()

    def __init__(self):
        super().__init__(None, None, [])

    def __reduce__(self):
        return (LeafSpec, ())

    __hash__ = TreeSpec.__hash__


_LEAF_SPEC = LeafSpec()


def treespec_leaf():
    """The spec of a leaf."""
    return _LEAF_SPEC


def treespec_tuple(iterable=(), /):
    """The spec of a tuple of these specs."""
    return TreeSpec(tuple, None, list(iterable))


def treespec_dict(mapping=(), /, **kwargs):
    """The spec of a dict of these specs."""
    specs = dict(mapping, **kwargs)
    return TreeSpec(dict, list(specs), list(specs.values()))


def _flatten_into(tree, leaves, is_leaf):
    if tree_is_leaf(tree, is_leaf):
        leaves.append(tree)
        return _LEAF_SPEC
    kind = _get_node_type(tree)
    children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    return TreeSpec(kind, context, [_flatten_into(c, leaves, is_leaf) for c in children])


def tree_flatten(tree, is_leaf=None):
    """(list of the leaves, TreeSpec). `is_leaf(subtree)` may stop at containers."""
    leaves = []
    spec = _flatten_into(tree, leaves, is_leaf)
    return leaves, spec


def tree_unflatten(leaves, treespec):
    """The tree of the spec with these leaves."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"treespec must be a TreeSpec, got {type(treespec).__name__}: the leaves "
                        "come first")
    return treespec.unflatten(leaves)


def tree_iter(tree, is_leaf=None):
    """Goes through the leaves."""
    if tree_is_leaf(tree, is_leaf):
        yield tree
        return
    children, _ = SUPPORTED_NODES[_get_node_type(tree)].flatten_fn(tree)
    for child in children:
        yield from tree_iter(child, is_leaf)


def tree_leaves(tree, is_leaf=None):
    """The list of the leaves."""
    return list(tree_iter(tree, is_leaf))


def tree_structure(tree, is_leaf=None):
    """The TreeSpec."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func, tree, *rests, is_leaf=None):
    """The tree of func(leaf, and what the other trees have in its place)."""
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [spec.flatten_up_to(r) for r in rests]
    return spec.unflatten([func(*values) for values in zip(leaves, *others)])


def tree_map_(func, tree, *rests, is_leaf=None):
    """Calls func on all leaves as `tree_map` and gives the tree itself."""
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [spec.flatten_up_to(r) for r in rests]
    for values in zip(leaves, *others):
        func(*values)
    return tree


def map_only(type_or_types_or_pred, /):
    """A decorator: the function on values of the types (or that satisfy the predicate) alone."""
    wanted = type_or_types_or_pred
    if isinstance(wanted, (type, tuple, types.UnionType)):
        def pred(x):
            return isinstance(x, wanted)
    elif callable(wanted):
        pred = wanted
    else:
        raise TypeError(f"expected a type, types or a predicate, got {wanted!r}")

    def wrapper(func):
        @functools.wraps(func)
        def wrapped(x):
            return func(x) if pred(x) else x
        return wrapped

    return wrapper


def tree_map_only(type_or_types_or_pred, /, func, tree, is_leaf=None):
    """`tree_map` on leaves of the types alone; others stay."""
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types_or_pred, /, func, tree, is_leaf=None):
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred, tree, is_leaf=None):
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred, tree, is_leaf=None):
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(type_or_types, /, pred, tree, is_leaf=None):
    return all(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def tree_any_only(type_or_types, /, pred, tree, is_leaf=None):
    return any(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def arg_tree_leaves(*args, **kwargs):
    """The leaves of all arguments."""
    leaves = []
    for a in (*args, *kwargs.values()):
        leaves.extend(tree_iter(a))
    return leaves


def _broadcast_to_and_flatten(tree, treespec, is_leaf=None):
    """One leaf for each of the spec's, a leaf of `tree` standing for a whole subtree; None if the
    structures do not fit."""
    if tree_is_leaf(tree, is_leaf):
        return [tree] * treespec.num_leaves
    if treespec.is_leaf():
        return None
    kind = _get_node_type(tree)
    if kind != treespec.type:
        return None
    children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    if len(children) != treespec.num_children or context != treespec._context:
        return None
    out = []
    for child, spec in zip(children, treespec._children):
        flat = _broadcast_to_and_flatten(child, spec, is_leaf)
        if flat is None:
            return None
        out.extend(flat)
    return out


def _generate_key_paths(key_path, tree, is_leaf=None):
    if tree_is_leaf(tree, is_leaf):
        yield key_path, tree
        return
    kind = _get_node_type(tree)
    flatten = SUPPORTED_NODES[kind].flatten_with_keys_fn
    if flatten is None:
        raise ValueError(f"{kind!r} was registered without a flatten_with_keys_fn, which paths "
                         "need")
    for key, child in flatten(tree)[0]:
        yield from _generate_key_paths((*key_path, key), child, is_leaf)


def tree_flatten_with_path(tree, is_leaf=None):
    """([(path, leaf)], TreeSpec); a path is a tuple of keys."""
    spec = tree_structure(tree, is_leaf)
    return list(_generate_key_paths((), tree, is_leaf)), spec


def tree_leaves_with_path(tree, is_leaf=None):
    return list(_generate_key_paths((), tree, is_leaf))


def tree_map_with_path(func, tree, *rests, is_leaf=None):
    """`tree_map` with the path as first argument."""
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    others = [spec.flatten_up_to(r) for r in rests]
    return spec.unflatten([func(*pair, *more) for pair, *more in zip(pairs, *others)])


def keystr(kp):
    """A path as text: ['a'][0].name."""
    return "".join(map(str, kp))


def key_get(obj, kp):
    """What a path leads to."""
    for key in kp:
        obj = key.get(obj)
    return obj


def treespec_pprint(treespec):
    """The spec as a tree with * for leaves."""
    class Star:
        def __repr__(self):
            return "*"
    return repr(tree_unflatten([Star() for _ in range(treespec.num_leaves)], treespec))


def _to_json(spec):
    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    node = SUPPORTED_SERIALIZED_TYPES.get(spec.type)
    if node is None or node.serialized_type_name == NO_SERIALIZED_TYPE_NAME_FOUND:
        raise NotImplementedError(f"dumping a spec with {spec.type!r}, which was registered "
                                  "without a serialized_type_name")
    if node.to_dumpable_context is not None:
        context = json.dumps(node.to_dumpable_context(spec._context))
    else:
        try:
            context = json.dumps(spec._context)
        except TypeError as error:
            raise TypeError(f"the context of {spec.type!r} cannot be dumped ({error}): register "
                            "it with to_dumpable_context") from error
    return {"type": node.serialized_type_name, "context": context,
            "children_spec": [_to_json(c) for c in spec._children]}


def _from_json(data):
    if data["type"] is None:
        return _LEAF_SPEC
    cls = SERIALIZED_TYPE_TO_PYTHON_TYPE.get(data["type"])
    if cls is None:
        raise NotImplementedError(f"a spec with the type {data['type']!r}, which is not registered")
    node = SUPPORTED_SERIALIZED_TYPES[cls]
    context = json.loads(data["context"])
    if node.from_dumpable_context is not None:
        context = node.from_dumpable_context(context)
    return TreeSpec(cls, context, [_from_json(c) for c in data["children_spec"]])


_PROTOCOL = 1


def treespec_dumps(treespec, protocol=None):
    """The spec as JSON text."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"treespec must be a TreeSpec, got {type(treespec).__name__}")
    if protocol not in (None, _PROTOCOL):
        raise ValueError(f"protocol must be {_PROTOCOL}, got {protocol}")
    return json.dumps((_PROTOCOL, _to_json(treespec)))


def treespec_loads(serialized):
    """The spec of a text of `treespec_dumps`."""
    protocol, data = json.loads(serialized)
    if protocol != _PROTOCOL:
        raise ValueError(f"protocol must be {_PROTOCOL}, got {protocol}")
    return _from_json(data)


pytree_to_str = treespec_dumps
str_to_pytree = treespec_loads
