"""Lists and dictionaries of a node's arguments: they cannot be changed in place, so that users stay known."""
from torch.utils import _pytree

__all__ = ["immutable_list", "immutable_dict"]


def _refuse(name):
    def refuse(self, *args, **kwargs):
        raise TypeError(f"{type(self).__name__} cannot be changed in place ({name}): arguments of a torch.fx.Node are "
                        "replaced as a whole, so make a changed copy and assign it to node.args or node.kwargs")
    refuse.__name__ = name
    return refuse


class immutable_list(list):
    """A list that refuses changes; hashable where its items are."""

    for _name in ("__delitem__", "__iadd__", "__imul__", "__setitem__", "append", "clear", "extend", "insert", "pop",
                  "remove", "reverse", "sort"):
        locals()[_name] = _refuse(_name)
    del _name

    def __hash__(self):
        return hash(tuple(self))

    def __reduce__(self):
        return type(self), (tuple(self),)


class immutable_dict(dict):
    """A dict that refuses changes; hashable where its values are."""

    for _name in ("__delitem__", "__ior__", "__setitem__", "clear", "pop", "popitem", "setdefault", "update"):
        locals()[_name] = _refuse(_name)
    del _name

    def __hash__(self):
        return hash(frozenset(self.items()))

    def __reduce__(self):
        return type(self), (dict(self),)


def _keyed(items):
    return [(_pytree.SequenceKey(i), x) for i, x in enumerate(items)]


_pytree.register_pytree_node(
    immutable_list, lambda x: (list(x), None), lambda items, _: immutable_list(items),
    serialized_type_name="torch.fx.immutable_collections.immutable_list",
    flatten_with_keys_fn=lambda x: (_keyed(x), None))
_pytree.register_pytree_node(
    immutable_dict, lambda x: (list(x.values()), list(x)), lambda values, keys: immutable_dict(zip(keys, values)),
    serialized_type_name="torch.fx.immutable_collections.immutable_dict",
    flatten_with_keys_fn=lambda x: ([(_pytree.MappingKey(k), v) for k, v in x.items()], list(x)))
