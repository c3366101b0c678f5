"""torch.ops: operators by namespace, packet and overload, e.g. torch.ops.aten.add.Tensor."""
import sys
import types

from torch import _C, _absent
from torch._schema import FunctionSchema, Tag

_C.Tag, _C.FunctionSchema = Tag, FunctionSchema


def _in_registry(namespace, name):
    """The registry knows aten's operators by their bare names, all others by qualified ones."""
    return name if namespace == "aten" else f"{namespace}::{name}"


class OpOverload:
    """One overload of an operator; calling it runs it. There is one object for each overload."""

    def __init__(self, packet, overload, call):
        self._overloadpacket, self._overloadname, self._op = packet, overload, call
        self._call = call
        self._namespace, self._opname = packet._namespace, packet.__name__
        self._full = packet._registry_name if overload == "default" else f"{packet._registry_name}.{overload}"
        self._name = f"{packet._qualified}.{overload}" if overload != "default" else packet._qualified
        self.__name__ = f"{packet.__name__}.{overload}"
        self.__qualname__ = self._name
        self.__module__ = packet.__module__
        self._cached_schema = self._cached_tags = self._cached_by_kernel = None

    @property
    def overloadpacket(self):
        return self._overloadpacket

    @property
    def namespace(self):
        return self._namespace

    @property
    def op(self):
        return self._op

    @property
    def _schema(self):
        if self._cached_schema is None:
            self._cached_schema = FunctionSchema(self._full)
        return self._cached_schema

    @property
    def tags(self):
        """What the card says of the operator. `core` is not known here."""
        if self._cached_tags is None:
            self._cached_tags = _tags_of(self)
        return self._cached_tags

    @property
    def _tags(self):
        return self.tags

    @property
    def _shape_by_kernel(self):
        """Whether the operator has no shape rule: its kernel makes the results."""
        if self._cached_by_kernel is None:
            self._cached_by_kernel = bool((_C._op_info(self._full) or {}).get("shape_by_kernel"))
        return self._cached_by_kernel

    @property
    def is_view(self):
        """Whether a result is a view of an argument."""
        return self._schema._is_view_op()

    @property
    def _nondeterministic_seeded(self):
        return Tag.nondeterministic_seeded in self.tags

    @property
    def _defined_in_python(self):
        return _C._op_info(self._full)["kind"] == "library"

    def name(self):
        return self._name

    def has_kernel_for_dispatch_key(self, key):
        """Whether a kernel of its own stands for this key ("CPU", "CompositeImplicitAutograd", ...)."""
        return _C._op_has_kernel(self._full, getattr(key, "name", key))

    def has_kernel_for_any_dispatch_key(self, keys):
        return any(self.has_kernel_for_dispatch_key(k) for k in keys)

    def _can_decompose(self):
        return self.has_kernel_for_dispatch_key("CompositeImplicitAutograd")

    def decompose(self, *args, **kwargs):
        """The operator's definition by others, run on these arguments; NotImplemented where it is a primitive."""
        if not self._can_decompose():
            return NotImplemented
        return self._call(*args, **kwargs)  # a composite is expanded wherever it is called

    def redispatch(self, keyset, *args, **kwargs):
        raise NotImplementedError(f"{self}.redispatch: there are no sets of dispatch keys; call the operator below its layers instead")

    def py_impl(self, key):
        raise NotImplementedError(f"{self}.py_impl is not there; use torch.library.impl")

    def __call__(self, /, *args, **kwargs):
        return self._call(*args, **kwargs)

    def __repr__(self):
        return f"<OpOverload(op='{self._namespace}.{self._opname}', overload='{self._overloadname}')>"

    def __str__(self):
        return f"{self._namespace}.{self._opname}.{self._overloadname}"

    def __hash__(self):
        return hash((self._name, self._overloadname))

    def __eq__(self, other):
        return self is other

    def __copy__(self):
        return self

    def __deepcopy__(self, memo=None):
        return self

    def __reduce__(self):
        return _find, (self._namespace, self._opname, self._overloadname)


_DROPOUTS = frozenset(f"{kind}dropout{tail}" for kind in ("", "native_", "alpha_", "feature_", "feature_alpha_") for tail in ("", "_"))


def _draws(packet):
    """Whether an overload takes a generator: the others then draw from the default one, and so do those that take none."""
    if packet._registry_name in _DROPOUTS:
        return True
    names = (packet._registry_name if n == "default" else f"{packet._registry_name}.{n}" for n in packet._overload_names)
    return any("Generator" in str(a.type) for full in names for a in FunctionSchema(full).arguments)


_library_tags = {}  # registry name -> what its definition said


def _tags_of(op):
    info = _C._op_info(op._full)
    if info is None:   # a library's operator that was taken back
        return list(_library_tags.get(op._full, ()))
    tags = []
    if info["data_dependent"]:
        tags.append(Tag.data_dependent_output)
    if info["dynamic_shape"]:
        tags.append(Tag.dynamic_output_shape)
    schema = op._schema
    if any(a.is_out for a in schema.arguments):
        tags.append(Tag.out)
    elif schema.is_mutable:
        tags.append(Tag.inplace)
        if info["kind"] == "view":
            tags.append(Tag.inplace_view)
    if _draws(op._overloadpacket):
        tags.append(Tag.nondeterministic_seeded)
    if info["kind"] == "pointwise":
        tags.append(Tag.pointwise)
    tags += _library_tags.get(op._full, ())
    if op._namespace == "aten":
        tags.append(Tag.pt2_compliant_tag)
    return sorted(set(tags), key=lambda t: t.value)


class OpOverloadPacket:
    """All overloads of an operator; calling it runs the first that fits."""

    def __init__(self, namespace, name, overloads):
        self._namespace, self.__name__ = namespace, name
        self._registry_name = _in_registry(namespace, name)
        self._qualified = self._qualified_op_name = f"{namespace}::{name}"
        self._call = self._op = _C._op(self._registry_name, None)
        self.__qualname__ = name
        self.__module__ = f"torch._ops.{namespace}"
        self._dir = []

    def __getattr__(self, overload):
        if overload.startswith("__") or (overload != "default" and overload not in self._overload_names):
            raise AttributeError(f"operator {self._qualified} has no overload {overload!r}; it has {self._overload_names}")
        call = _C._op(self._registry_name, overload)
        if call is None:
            raise AttributeError(f"operator {self._qualified} has no overload {overload!r}; it has {self._overload_names}")
        value = OpOverload(self, overload, call)
        self._dir.append(overload)
        setattr(self, overload, value)
        return value

    @property
    def _overload_names(self):
        return _C._op_overloads(self._registry_name) or []

    @property
    def op(self):
        return self._op

    @property
    def op_overloads(self):
        return [getattr(self, n) for n in self._overload_names]

    @property
    def _schemas(self):
        return {n if n != "default" else "": getattr(self, n)._schema for n in self._overload_names}

    def overloads(self):
        return list(self._overload_names)

    def __iter__(self):
        return iter(self._dir)

    def __call__(self, /, *args, **kwargs):
        return self._call(*args, **kwargs)

    def __repr__(self):
        return f"<OpOverloadPacket(op='{self._namespace}.{self.__name__}')>"

    def __str__(self):
        return f"{self._namespace}.{self.__name__}"

    def __hash__(self):
        return hash(self._qualified)

    def __eq__(self, other):
        return self is other

    def __copy__(self):
        return self

    def __deepcopy__(self, memo=None):
        return self

    def __reduce__(self):
        return _find, (self._namespace, self.__name__, None)


def _find(namespace, name, overload):
    packet = getattr(getattr(ops, namespace), name)
    return packet if overload is None else getattr(packet, overload)


def _overload(registry_name, overload):
    """The OpOverload of an entry of the registry; called by the core."""
    namespace, _, name = registry_name.rpartition("::")
    return _find(namespace or "aten", name, overload or "default")


class _OpNamespace(types.ModuleType):
    """The operators of one namespace."""

    def __init__(self, name):
        super().__init__("torch.ops." + name)
        self.name = name
        self._dir = []

    def __getattr__(self, op):
        if op.startswith("__") and op.endswith("__") and op in ("__file__", "__path__", "__origin__", "__self__", "__wrapped__"):
            raise AttributeError(op)
        if self.name == "aten" and op.startswith("sym_"):
            from torch import _size_operators
            if op in _size_operators.NAMES:
                value = _size_operators.packet(op)
                setattr(self, op, value)
                return value
        overloads = _C._op_overloads(_in_registry(self.name, op))
        if not overloads:
            if self.name == "aten" and op in _absent.names("torch"):
                raise _absent.NotThereYet(f"operator aten::{op} is not there yet")
            raise AttributeError(f"there is no operator {self.name}::{op}")
        value = OpOverloadPacket(self.name, op, overloads)
        self._dir.append(op)
        setattr(self, op, value)
        return value

    def __iter__(self):
        return iter(self._dir)

    def __dir__(self):
        if self.name == "aten":
            return [n for n in _C._op_names() if "::" not in n]
        start = self.name + "::"
        return [n[len(start):] for n in _C._op_names() if n.startswith(start)]


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
        """Loads a shared library, whose initialisers register operators.

        Args:
            path (str): what dlopen finds. OSError where it cannot be loaded.
        """
        import ctypes
        import os
        path = os.path.realpath(path) if os.path.exists(path) else path
        if path in self.loaded_libraries:
            return
        ctypes.CDLL(path)
        _C._library_loaded()
        for space in [v for v in vars(self).values() if isinstance(v, _OpNamespace)]:
            for packet in [v for v in vars(space).values() if isinstance(v, OpOverloadPacket)]:
                packet._call = packet._op = _C._op(packet._registry_name, None)
        self.loaded_libraries.add(path)


ops = _Ops()
sys.modules.setdefault("torch.ops", ops)
