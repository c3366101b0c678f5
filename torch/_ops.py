"""torch.ops: operators by namespace, packet and overload, e.g. torch.ops.aten.add.Tensor."""
import types

from torch import _C, _absent


class OpOverload:
    """One overload of an operator; calling it runs it."""

    def __init__(self, packet, overload, call):
        self._overloadpacket, self._overloadname, self._call = packet, overload, call
        self._name = f"{packet._qualified}.{overload}" if overload != "default" else packet._qualified
        self.__name__ = f"{packet.__name__}.{overload}"
        self.__qualname__ = self._name

    @property
    def overloadpacket(self):
        return self._overloadpacket

    @property
    def namespace(self):
        return self._overloadpacket._namespace

    @property
    def _schema(self):
        return Schema(_C._op_schema(self._overloadpacket.__name__, self._overloadname))

    def name(self):
        return self._name

    def __call__(self, /, *args, **kwargs):
        return self._call(*args, **kwargs)

    def __repr__(self):
        return f"<OpOverload(op='{self._overloadpacket._namespace}.{self._overloadpacket.__name__}', overload='{self._overloadname}')>"

    def __str__(self):
        return f"{self._overloadpacket._namespace}.{self._overloadpacket.__name__}.{self._overloadname}"

    def __hash__(self):
        return hash((self._overloadpacket._qualified, self._overloadname))


class Schema:
    """The text of a schema; str() gives it."""

    def __init__(self, text):
        self._text = text
        self.name = text[:text.index("(")].split(".")[0]
        self.overload_name = text[:text.index("(")].partition(".")[2]

    def __str__(self):
        return self._text
    __repr__ = __str__

    def __eq__(self, other):
        return str(self) == str(other)

    def __hash__(self):
        return hash(self._text)


class OpOverloadPacket:
    """All overloads of an operator; calling it runs the first that fits."""

    def __init__(self, namespace, name, overloads):
        self._namespace, self.__name__, self._overloads = namespace, name, overloads
        self._qualified = self._qualified_op_name = f"{namespace}::{name}"
        self._call = _C._op(name, None)
        self.__qualname__ = name

    def __getattr__(self, overload):
        if overload.startswith("__") or overload not in self._overloads:
            raise AttributeError(f"operator {self._qualified} has no overload {overload!r}; it has {self._overloads}")
        value = OpOverload(self, overload, _C._op(self.__name__, overload))
        setattr(self, overload, value)
        return value

    def overloads(self):
        return list(self._overloads)

    def __call__(self, /, *args, **kwargs):
        return self._call(*args, **kwargs)

    def __repr__(self):
        return f"<OpOverloadPacket(op='{self._namespace}.{self.__name__}')>"

    def __str__(self):
        return f"{self._namespace}.{self.__name__}"


class _OpNamespace(types.ModuleType):
    """The operators of one namespace."""

    def __init__(self, name):
        super().__init__("torch.ops." + name)
        self.name = name

    def __getattr__(self, op):
        if op.startswith("__") and op.endswith("__") and op in ("__file__", "__path__", "__origin__", "__self__", "__wrapped__"):
            raise AttributeError(op)
        overloads = _C._op_overloads(op) if self.name == "aten" else None
        if overloads is None:
            if self.name == "aten" and op in _absent.names("torch"):
                raise _absent.NotThereYet(f"operator aten::{op} is not there yet")
            raise AttributeError(f"there is no operator {self.name}::{op}")
        value = OpOverloadPacket(self.name, op, overloads)
        setattr(self, op, value)
        return value

    def __dir__(self):
        return _C._op_names() if self.name == "aten" else []


class _Ops(types.ModuleType):
    """torch.ops."""

    def __init__(self):
        super().__init__("torch.ops")
        self.loaded_libraries = set()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        value = _OpNamespace(name)
        setattr(self, name, value)
        return value

    def load_library(self, path):
        raise NotImplementedError("torch.ops.load_library is not there yet")


ops = _Ops()
