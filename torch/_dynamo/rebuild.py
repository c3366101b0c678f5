"""Values of a run, written as expressions over the call's arguments and over `o`, the outputs of the graph."""
import types

import torch

from . import allowed
from .exc import Unsupported
from .values import ITERATORS, NULL, Delayed, Exit, Lazy, Leave, TensorMethod

_FIXED = (type, types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, types.ModuleType)
# What they give up with __reduce__ makes them again; those of dicts would copy what is left, those of sets have no order.
_KEPT = frozenset(t for t in ITERATORS if t is not Delayed and "dict" not in t.__name__ and "set" not in t.__name__)


def made(cls, attributes):
    """An object of cls with these attributes."""
    obj = object.__new__(cls)
    obj.__dict__.update(attributes)
    return obj


def function(code, world, name, defaults, kwdefaults, closure):
    f = types.FunctionType(code, world, name, defaults, closure)
    f.__kwdefaults__ = kwdefaults
    return f


class Rebuild:
    """`text(x)` is an expression for x. What it needs of the graph is in `outputs`."""

    def __init__(self, run):
        self.run, self.guards, self.outputs = run, run.guards, []
        self._index, self._seen, self._kept = {}, {}, []

    def text(self, x):
        """An expression for x; what is met twice is one object by a name."""
        if type(x) is Lazy:
            return x.source.text
        if type(x) in allowed.CONSTANT_TYPES or isinstance(x, torch.Tensor) or id(x) in self.run.reach.sources or x is NULL:
            return self._written(x)
        if id(x) in self._seen:
            if self._seen[id(x)] is None:
                raise Unsupported("a container that holds itself is given back")
            return self._seen[id(x)]
        self._seen[id(x)] = None
        name = f"r{len(self._seen)}"
        said = self._written(x)
        self._kept.append(x)
        self._seen[id(x)] = name
        return f"({name} := {said})"

    def _tensor(self, x):
        outside = self.run.recorder.outside.get(id(x))
        if outside is not None:
            return self.guards.tensors[outside[2].text][1]
        if id(x) not in self.run.recorder.values:
            raise Unsupported("a tensor whose origin is not known is given back")
        if id(x) not in self._index:
            self._index[id(x)] = len(self.outputs)
            self.outputs.append(x)
        return f"o[{self._index[id(x)]}]"

    def _items(self, x):
        return "".join(self.text(i) + ", " for i in x)

    def _written(self, x):
        t, g = type(x), self.guards
        if isinstance(x, torch.Tensor):
            return self._tensor(x)
        source = self.run.reach.sources.get(id(x))
        if source is not None:
            return source.text
        if t in allowed.CONSTANT_TYPES or x is NULL:
            return g.name(x)
        if t is tuple:
            return f"({self._items(x)})"
        if t is list:
            return f"[{self._items(x)}]"
        if t is dict:
            return "{" + ", ".join(f"{self.text(k)}: {self.text(v)}" for k, v in x.items()) + "}"
        if t is set:
            return "{" + self._items(x) + "}" if x else f"{g.name(set)}()"
        if t.__name__ == "OrderedDict":
            return f"{g.name(t)}([" + ", ".join(f"({self.text(k)}, {self.text(v)})" for k, v in x.items()) + "])"
        if isinstance(x, tuple) and hasattr(t, "_fields"):
            return f"{g.name(t)}({self._items(x)})"
        if isinstance(x, tuple) and t.__module__ == "torch.return_types":
            return f"{g.name(t)}(({self._items(x)}))"
        if id(x) in self.run.reach.made:
            return f"{g.name(made)}({g.name(t, 'T')}, {self.text(vars(x))})"
        raise Unsupported(f"a {'generator expression, map or filter' if t is Delayed else t.__name__} is given back")


class RebuildState(Rebuild):
    """Of a frame that is left in the middle: also what cannot be given back, but lies in locals or on the stack."""

    def _written(self, x):
        t, g = type(x), self.guards
        if id(x) in self.run.reach.sources or isinstance(x, torch.Tensor):
            return super()._written(x)
        if t is Exit:
            return f"{g.name(Leave)}({x.context.before})"
        if t is TensorMethod:
            return f"{self.text(x.tensor)}.{x.name}"
        if t is types.CellType:
            try:
                return f"{g.name(t)}({self.text(x.cell_contents)})"
            except ValueError:   # nothing in it
                return f"{g.name(t)}()"
        if t is types.FunctionType and id(x) in self.run.functions:
            defaults, kwdefaults = self.text(x.__defaults__), self.text(x.__kwdefaults__)   # in the order in which they will run
            closure = f"({self._items(x.__closure__)})" if x.__closure__ else "None"
            return f"{g.name(function)}({g.name(x.__code__)}, {g.name(x.__globals__)}, {x.__name__!r}, {defaults}, {kwdefaults}, {closure})"
        if t is types.MethodType:
            return f"{g.name(t)}({self.text(x.__func__)}, {self.text(x.__self__)})"
        if t is types.BuiltinMethodType and type(x.__self__) in allowed.LOCAL_TYPES:
            return f"{self.text(x.__self__)}.{x.__name__}"
        if t is slice:
            return f"slice({self.text(x.start)}, {self.text(x.stop)}, {self.text(x.step)})"
        if t is Delayed:
            if x.begun:
                raise Unsupported("a generator expression, or a map or filter, of which some items were taken")
            return f"{self.text(x.make)}({self._items(x.given)})"
        if t in _KEPT:
            make, given, *state = x.__reduce__()
            said = f"{g.name(make)}({self._items(given)})"
            return said if not state or state[0] is None else f"{g.name(at_place)}({said}, {self.text(state[0])})"
        if id(x) in self.run.views:
            _, owner, name = self.run.views[id(x)]
            return f"{self.text(owner)}.{name}()"
        if id(x) in self.run.iterators:
            _, over = self.run.iterators[id(x)]
            return f"{g.name(advanced)}({self.text(over)}, {len(over) - len(x.__reduce__()[1][0])})"
        if isinstance(x, _FIXED):
            return g.name(x)
        return super()._written(x)


def advanced(over, count):
    """An iterator over a dict that gave so many items already."""
    iterator = iter(over)
    for _ in range(count):
        next(iterator)
    return iterator


def at_place(iterator, state):
    iterator.__setstate__(state)
    return iterator
