"""Names of nodes and globals: valid, unique Python identifiers."""
import builtins
import functools
import keyword
import re

_illegal_char_regex = re.compile("[^0-9a-zA-Z_]+")
_name_regex = re.compile(r"^([a-zA-Z_][0-9a-zA-Z_]*?)(?:_(\d+))?$")
_snake_boundary = re.compile(r"(?<=[a-z])([A-Z])")
# What generated code uses under its own name, beside the built-in functions.
_RESERVED = frozenset(("torch", "device", "inf", "nan", "NoneType", "fx_pytree", "pytree"))
_KNOWN = frozenset(keyword.kwlist) | frozenset(dir(builtins)) | _RESERVED
_KNOWN -= {"None"}


def _snake_case(s):
    """fooBar as foo_bar."""
    return _snake_boundary.sub(r"_\1", s).lower()


@functools.lru_cache(4096)
def _candidate(target):
    """The name proposed by a target's text."""
    name = target
    if name.startswith("__") and name.endswith("__") and len(name) > 4:
        name = name[2:-2]
    return _snake_case(_illegal_char_regex.sub("_", name))


class _Namespace:
    """The names given so far; each object keeps its own."""

    __slots__ = ("_obj_to_name", "_used_names", "_base_count")

    def __init__(self):
        self._obj_to_name = {}
        self._used_names = set()
        self._base_count = {}

    def create_name(self, candidate, obj):
        """A free name after `candidate`, remembered as that of `obj` unless that is None."""
        if obj is not None and obj in self._obj_to_name:
            return self._obj_to_name[obj]
        used = self._used_names
        if not candidate.isidentifier() or not candidate.isascii():
            candidate = _illegal_char_regex.sub("_", candidate) or "_unnamed"
            if candidate[0].isdigit():
                candidate = "_" + candidate
        known = candidate in _KNOWN
        if candidate in used or known:
            base, number = _split(candidate)
            count = max(self._base_count.get(base, 0), number)
            while True:
                count += 1
                candidate = f"{base}_{count}"
                if candidate not in used:
                    break
            self._base_count[base] = count
        else:
            base, number = _split(candidate)
            if number > self._base_count.get(base, 0):
                self._base_count[base] = number
        used.add(candidate)
        if obj is not None:
            self._obj_to_name[obj] = candidate
        return candidate

    def associate_name_with_obj(self, name, obj):
        """`obj` is known by `name` from now on."""
        self._obj_to_name.setdefault(obj, name)

    def _rename_object(self, obj, name):
        self._obj_to_name[obj] = name
        self._used_names.add(name)

    def _is_illegal_name(self, name, obj):
        return name in _KNOWN and getattr(builtins, name, None) is not obj


def _split(name):
    """(base, number) of base_number; the number is 0 where there is none."""
    base, sep, tail = name.rpartition("_")
    if sep and base and tail.isdecimal():
        return base, int(tail)
    return name, 0
