"""What a function reaches outside itself: each read is guarded, and remembered by the object that it gave."""
import collections
import enum
import functools
import types

import torch
from torch._ops import OpOverloadPacket

from . import allowed
from .exc import Unsupported
from .guards import Guards, Source, check_tensor_type
from .values import ITERATORS, VIEWS, Exit, GradMode, Leave, TensorMethod

_DICTS = (dict, collections.OrderedDict)
_MISSING = object()


def is_torchs(f):
    """Whether a function is of torch itself: such code does not change."""
    return (getattr(f, "__module__", None) or "").split(".")[0] == "torch"


class Reach:
    """Values from outside, in the run of one call."""

    def __init__(self, recorder):
        self.recorder = recorder
        self.guards = Guards()
        self.sources = {}     # id of an object from outside that is no constant: its source
        self.keep = []
        self.made = {}        # id of an object that the run made: the object
        self._seen = {}       # text of a source: the value

    def outside(self, value, source, depth=0):
        """Guards a value that was read from outside, and gives it."""
        if source.text in self._seen:
            return value
        self._seen[source.text] = value
        t, g = type(value), self.guards
        if isinstance(value, torch.Tensor):
            self._tensor(value, source)
        elif t in allowed.CONSTANT_TYPES:
            g.constant(source, value)
        elif isinstance(value, enum.Enum):
            g.same(source, value)
        elif t in (tuple, list) or isinstance(value, tuple) and (hasattr(t, "_fields") or t.__module__ == "torch.return_types"):
            self._size(len(value), source, depth)
            g.type(source, t)
            g.add(f"len({source.text}) == {len(value)}")
            self._remember(value, source)
            for i, x in enumerate(value):
                self.outside(x, source.item(i), depth + 1)
        elif isinstance(value, tuple):
            raise Unsupported(f"a {t.__name__}, a tuple whose class may read its items otherwise")
        elif t in _DICTS:
            self._size(len(value), source, depth)
            g.type(source, t)
            if not all(type(k) in (str, int, bool, type(None)) or isinstance(k, enum.Enum) for k in value):
                raise Unsupported("a dict whose keys are no constants")
            g.add(f"tuple({source.text}) == {g.name(tuple(value))}")
            self._remember(value, source)
            for k, x in value.items():
                self.outside(x, source.item(k, None if type(k) in (str, int) else g.name(k)), depth + 1)
        elif t in (set, frozenset):
            if not all(type(x) in (str, int, bool, type(None)) for x in value):
                raise Unsupported("a set of what are no constants")
            g.type(source, t)
            g.add(f"{source.text} == {g.name(t(value))}")
            self._remember(value, source)
        elif t is slice:
            g.type(source, t)
            for part in ("start", "stop", "step"):
                self.outside(getattr(value, part), source.attr(part), depth + 1)
        elif t is torch.Generator:
            raise Unsupported("a torch.Generator from outside")
        elif t is types.CellType or t in ITERATORS or t in VIEWS:   # what they hold is read when it is wanted, or not at all
            g.type(source, t)
            self._remember(value, source)
        elif t is Leave:
            g.type(source, t)
            g.add(f"{source.text}.before is {value.before}")
            value = GradMode(None)
            value.before = self._seen[source.text].before
            return Exit(value)
        elif t is types.MethodType and isinstance(value.__func__, types.FunctionType) and not source.fixed:
            g.type(source, t)
            g.same(source.attr("__func__"), value.__func__)
            self._remember(value.__func__, Source(g.name(value.__func__, "F"), fixed=True))
            self.outside(value.__self__, source.attr("__self__"), depth + 1)
            self._remember(value, source)
        elif t is types.FunctionType and source.text[0] in "ak" and self._made_anew(value):
            g.type(source, t)
            g.add(f"{source.text}.__code__ is {g.name(value.__code__)} and {source.text}.__globals__ is {g.name(value.__globals__, 'G')}")
            g.add(f"{source.text}.__defaults__ is None is {source.text}.__kwdefaults__ and not {source.text}.__dict__")
            self._remember(value, source)
            for i, cell in enumerate(value.__closure__ or ()):
                self._remember(cell, source.attr("__closure__").item(i))
        elif t is types.BuiltinMethodType and not source.fixed and (
                isinstance(value.__self__, torch.Tensor) or type(value.__self__) in allowed.LOCAL_TYPES):
            g.type(source, t)
            g.add(f"{source.text}.__name__ == {value.__name__!r}")
            owner = self.outside(value.__self__, source.attr("__self__"), depth + 1)
            if isinstance(owner, torch.Tensor):
                return TensorMethod(owner, value.__name__)
            self._remember(value, source)
        else:
            if not source.fixed:
                g.same(source, value)
            self._remember(value, Source(g.name(value), fixed=True, label=source.label))
        return value

    @staticmethod
    def _made_anew(f):
        """Whether f is one of the functions that a def or lambda makes each time it is met: to guard the very object is of no use."""
        return "<locals>" in f.__qualname__ and f.__defaults__ is None is f.__kwdefaults__ and not f.__dict__ \
            and f not in allowed.opaque and allowed.operator_name(f) is None

    def _size(self, n, source, depth):
        if n > 2000 or depth > 20:
            raise Unsupported(f"a container of {n} items, {depth} deep, is too large to guard")

    def _remember(self, value, source):
        self.keep.append(value)
        known = self.sources.setdefault(id(value), source)
        if known.text != source.text and not (known.fixed or source.fixed):
            self.guards.add(f"{source.text} is {known.text}")   # one container that is reached in two ways

    def _tensor(self, t, source):
        try:
            check_tensor_type(t)
        except Unsupported:
            self.guards.type(source, type(t))
            self.guards.same(source.attr("layout"), t.layout)
            raise
        known = self.recorder.outside.get(id(t))
        if known is not None:
            if known[2].text != source.text:
                self.guards.add(f"{source.text} is {known[2].text}")
            return
        self.guards.tensor(source, t)
        self.recorder.outside_tensor(t, source)

    def answered(self, obj, guard):
        """Guards what was asked of an object from outside: its class may change, or may be another one."""
        source = self.sources.get(id(obj))
        t = type(obj)
        if source is not None and t.__module__ != "builtins" and (not is_torchs(t) or allowed.is_module(obj)):
            self.guards.add(guard(source.text))

    def is_outside(self, obj):
        return id(obj) in self.sources

    # ---- names ---------------------------------------------------------------------------------

    def global_name(self, fn_globals, name):
        import builtins
        own = fn_globals.get("__name__", "").split(".")[0] == "torch"
        if name in fn_globals:
            value = fn_globals[name]
            if own and isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType)):
                self._remember(value, Source(self.guards.name(value), fixed=True))
                return value
            return self.outside(value, Source(f"{self.guards.name(fn_globals, 'G')}[{name!r}]", label=name))
        where = fn_globals.get("__builtins__", builtins)
        table = where if isinstance(where, dict) else vars(where)
        if name not in table:
            raise NameError(f"name {name!r} is not defined")
        value = table[name]
        if not own:
            self.guards.add(f"{name!r} not in {self.guards.name(fn_globals, 'G')}")
            self.outside(value, Source(f"{self.guards.name(table, 'B')}[{name!r}]"))
        return value

    def cell(self, cell, name):
        given = self.sources.get(id(cell))   # a local of the function, left in the middle
        text = self.guards.name(cell, "C") if given is None else given.text
        return self.outside(cell.cell_contents, Source(f"{text}.cell_contents", label=name))

    def shared_cell(self, cell):
        """Makes a cell from outside known, so that it is given on as the very cell."""
        if id(cell) not in self.sources:
            self._remember(cell, Source(self.guards.name(cell, "C"), fixed=True))

    # ---- attributes ----------------------------------------------------------------------------

    def attribute(self, obj, name):
        """obj.name, as Python finds it, or raises Unsupported."""
        if isinstance(obj, torch.Tensor):
            return self._tensor_attribute(obj, name)
        t = type(obj)
        if isinstance(obj, types.ModuleType):
            value = getattr(obj, name)
            source = self.sources.get(id(obj)) or Source(self.guards.name(obj), fixed=True)
            return self.outside(value, source.attr(name))
        if t is super:
            return self._super_attribute(obj, name)
        source = self.sources.get(id(obj))
        if isinstance(obj, type):
            if source is None:
                source = Source(self.guards.name(obj), fixed=True)
            value = getattr(obj, name)
            if isinstance(value, (types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType)):
                return value
            if isinstance(value, types.MethodType):
                self._bound(source, name, value)
                return value
            return self.outside(value, source.attr(name))
        if isinstance(obj, (types.FunctionType, functools.partial)):
            if source is None or name.startswith("__") and name not in ("__name__", "__qualname__", "__module__", "__doc__"):
                raise Unsupported(f"the attribute {name} of a function")
            return self.outside(getattr(obj, name), source.attr(name))
        if t in allowed.CONSTANT_TYPES or t in allowed.LOCAL_TYPES or t in (torch.finfo, torch.iinfo) or t.__module__ in ("torch.return_types", "torch._C") \
                or t.__module__ == "builtins" and not t.__flags__ & 512:   # a class of Python's can be there, too, where globals have no name
            return getattr(obj, name)
        if isinstance(obj, tuple) and hasattr(t, "_fields"):
            return getattr(obj, name)
        if isinstance(obj, enum.Enum) and name in ("name", "value"):
            return getattr(obj, name)
        if source is None:
            if id(obj) in self.made:
                return self._made_attribute(obj, t, name)
            raise Unsupported(f"the attribute {name} of a {t.__name__} that the function made")
        return self._object_attribute(obj, t, name, source)

    def _object_attribute(self, obj, t, name, source):
        if t.__getattribute__ is not object.__getattribute__:
            raise Unsupported(f"{t.__name__} has a __getattribute__ of its own")
        found = _MISSING
        for base in t.__mro__:
            if name in vars(base):
                found = vars(base)[name]
                break
        if isinstance(found, property):
            if found.fget is None or not isinstance(found.fget, types.FunctionType):
                raise Unsupported(f"the property {name} of {t.__name__}")
            if not is_torchs(t):
                self.guards.type(source, t)
                self.guards.same(Source(f"{self.guards.name(t, 'T')}.{name}"), found)
            return self.run.getter(found.fget, obj)
        if isinstance(found, types.MemberDescriptorType):
            return self.outside(getattr(obj, name), source.attr(name))
        own = getattr(obj, "__dict__", {})
        if hasattr(type(found), "__set__") and found is not _MISSING:
            raise Unsupported(f"{t.__name__}.{name} is a descriptor")
        if name in own:
            if name == "__dict__":
                raise Unsupported("__dict__")
            return self.outside(own[name], source.attr(name))
        if found is not _MISSING:
            if isinstance(found, types.FunctionType):
                value = types.MethodType(found, obj)
                if not is_torchs(found) or name == "forward":
                    self._bound(source, name, value)
                return value
            if isinstance(found, classmethod):
                value = getattr(obj, name)
                self._bound(source, name, value)
                return value
            if isinstance(found, staticmethod):
                return self.outside(getattr(obj, name), source.attr(name))
            if hasattr(type(found), "__get__"):
                raise Unsupported(f"{t.__name__}.{name} is a descriptor")
            if name.startswith("__") and name not in ("__class__", "__doc__", "__module__"):
                raise Unsupported(name)
            return self.outside(found, source.attr(name))
        if name == "__class__":
            self.guards.type(source, t)
            return t
        get = getattr(t, "__getattr__", None)
        a_module = allowed.is_module(obj)
        if a_module and name == "_orig_mod" and name in own["_modules"]:
            get = torch.nn.Module.__getattr__   # a compiled module: the one within
        if a_module and get is torch.nn.Module.__getattr__:
            for table in ("_parameters", "_buffers", "_modules"):
                if name in own[table]:
                    return self.outside(own[table][name], Source(f"{source.text}.{table}[{name!r}]", label=f"{source.label}.{name}"))
        elif isinstance(obj, OpOverloadPacket):   # its overloads are made when first asked for, and stay
            return self.outside(getattr(obj, name), source.attr(name))
        elif get is not None:
            raise Unsupported(f"{t.__name__} has a __getattr__ of its own")
        self.guards.add(f"not hasattr({source.text}, {name!r})")
        raise AttributeError(f"{t.__name__!r} object has no attribute {name!r}")

    def _super_attribute(self, obj, name):
        mro = obj.__self_class__.__mro__
        for base in mro[mro.index(obj.__thisclass__) + 1:]:
            if name in vars(base):
                found = vars(base)[name]
                if not isinstance(found, types.FunctionType):
                    if base is object and name == "__init__":
                        return getattr(obj, name)
                    raise Unsupported(f"super().{name} is a {type(found).__name__}")
                if not is_torchs(found):
                    self.guards.same(Source(f"{self.guards.name(base, 'T')}.__dict__").item(name), found)
                self._remember(found, Source(self.guards.name(found, "F"), fixed=True))
                return getattr(obj, name)
        raise AttributeError(f"'super' object has no attribute {name!r}")

    def _made_attribute(self, obj, t, name):
        """An attribute of an object that this run made."""
        if name in vars(obj):
            return vars(obj)[name]
        for base in t.__mro__:
            if name in vars(base):
                found, where = vars(base)[name], Source(f"{self.guards.name(base, 'T')}.__dict__").item(name)
                if isinstance(found, (types.FunctionType, property)):
                    self.guards.same(where, found)
                if isinstance(found, types.FunctionType):
                    self._remember(found, Source(self.guards.name(found, "F"), fixed=True))
                    return types.MethodType(found, obj)
                if isinstance(found, property) and isinstance(found.fget, types.FunctionType):
                    return self.run.getter(found.fget, obj)
                if hasattr(type(found), "__get__"):
                    raise Unsupported(f"{t.__name__}.{name} is a descriptor")
                return self.outside(found, where)
        if name == "__class__":
            return t
        raise AttributeError(f"{t.__name__!r} object has no attribute {name!r}")

    def _bound(self, source, name, method):
        f = method.__func__
        if not isinstance(f, types.FunctionType):
            raise Unsupported(f"the method {name} is a {type(f).__name__}")
        self.guards.add(f"{source.text}.{name}.__func__ is {self.guards.name(f, 'F')}")
        self._remember(f, Source(self.guards.name(f, "F"), fixed=True))

    def _tensor_attribute(self, x, name):
        real = self.recorder.real(x)
        if name in allowed.TENSOR_PARTS:
            return self.recorder.call(getattr, name, (x, name), {})
        if name in allowed.TENSOR_FACTS or name in allowed.TENSOR_SHAPE_FACTS:
            made = not any(copy is real for _, copy, _ in self.recorder.outside.values())
            if name in allowed.TENSOR_SHAPE_FACTS or (made and name in ("ndim", "dim", "ndimension")):   # squeeze() counts sizes
                self.guards.shapes_matter = True
            value = self.recorder.fact(x, name)
            return TensorMethod(x, name) if callable(value) else value
        if name == "__class__":
            return type(x)
        f = getattr(torch.Tensor, name, None)
        if allowed.is_unsafe(name):
            if isinstance(f, (types.FunctionType, types.MethodDescriptorType)):
                return TensorMethod(x, name)   # what matters is the call
            raise Unsupported(f"Tensor.{name} gives values of data, or changes what a tensor is")
        if f is None or not callable(f) or allowed.operator_name(f) is None:
            raise Unsupported(f"the attribute {name} of a tensor")
        return TensorMethod(x, name)
