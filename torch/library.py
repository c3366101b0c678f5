"""Operators and kernels from outside: `custom_op` for whole operators in Python, `Library` for single registrations.

An operator has a schema ("ns::name(Tensor x, int n=2) -> Tensor") and kernels by key: "CPU", "CUDA", "Meta"
(shapes only), "Autograd", "CompositeExplicitAutograd" (any device), "CompositeImplicitAutograd" (defined by other
operators, which autograd and modes see instead). It is called as `torch.ops.ns.name(...)`.
"""
import contextlib
import weakref

import torch
from torch import _C
from torch._library import fake_impl
from torch._library.autograd import make_autograd_kernel
from torch._library.custom_ops import CustomOpDef, _Autograd, custom_op, device_key, find_def
from torch._library.infer_schema import infer_schema
from torch._library.triton import triton_op, wrap_triton
from torch._library.vmap import make_vmap_kernel

__all__ = ["Library", "CustomOpDef", "define", "impl", "custom_op", "triton_op", "wrap_triton", "register_fake",
           "impl_abstract", "register_autograd", "register_kernel", "register_vmap", "register_torch_dispatch",
           "register_autocast", "infer_schema", "opcheck", "get_ctx", "get_kernel", "fallthrough_kernel"]

_reserved_namespaces = ["prim"]
_defined_namespaces = set()
_keep_alive = []          # registrations that nobody holds
_fake_impls = {}          # qualified name -> function
_autograd_infos = {}      # qualified name -> what make_autograd_kernel reads


def fallthrough_kernel():
    """Marks a key without a kernel of its own; it is never called."""
    raise NotImplementedError("fallthrough_kernel() stands for no kernel and cannot be called")


def _registry_name(namespace, name):
    return name if namespace == "aten" else f"{namespace}::{name}"


def _lookup(op, what):
    """The OpOverload that a name, an OpOverload or a CustomOpDef means; RuntimeError where there is none."""
    if isinstance(op, CustomOpDef):
        return op._opoverload
    if isinstance(op, torch._ops.OpOverload):
        return op
    if isinstance(op, torch._ops.OpOverloadPacket):
        return op.default
    if not isinstance(op, str):
        raise ValueError(f"{what}: the operator must be a name, an OpOverload or a CustomOpDef, not {type(op).__name__}")
    namespace, sep, rest = op.partition("::")
    if not sep:
        raise ValueError(f"{what}: an operator's name has the form 'namespace::name', got {op!r}")
    name, _, overload = rest.partition(".")
    try:
        return getattr(getattr(getattr(torch.ops, namespace), name), overload or "default")
    except AttributeError:
        raise RuntimeError(f"operator {op} does not exist") from None


class Library:
    """Registrations for one namespace. They end with `_destroy()`, or when the object dies.

    Args:
        ns (str): the namespace.
        kind (str): "DEF" defines a namespace (once), "FRAGMENT" adds operators to one, "IMPL" only kernels.
        dispatch_key (str): the key of kernels that are registered without one.

    Raises ValueError for another kind or a reserved namespace.
    """

    def __init__(self, ns, kind, dispatch_key=""):
        if kind not in ("DEF", "FRAGMENT", "IMPL"):
            raise ValueError(f"Library: kind must be 'DEF', 'FRAGMENT' or 'IMPL', got {kind!r}")
        if ns in _reserved_namespaces and kind in ("DEF", "FRAGMENT"):
            raise ValueError(f"Library: namespace {ns!r} is reserved")
        if kind == "DEF":
            if ns in _defined_namespaces or ns == "aten":
                raise RuntimeError(f"Library: namespace {ns!r} is defined already; a 'FRAGMENT' adds to it, 'IMPL' registers kernels")
            _defined_namespaces.add(ns)
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._state = {"names": [], "kernels": [], "ns": ns, "defines": kind == "DEF", "fakes": []}
        self._op_impls, self._op_defs = set(), set()
        self._finalizer = weakref.finalize(self, _end_library, self._state)

    def __repr__(self):
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})"

    def define(self, schema, alias_analysis="", *, tags=()):
        """Defines an operator: "name(Tensor x, int n=2) -> Tensor"; "name.overload(...)" for an overload.

        Returns: the operator's name, without an overload. Raises RuntimeError where the text is no schema, or the overload is there already.
        """
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise RuntimeError(f"Library.define: there is no alias_analysis {alias_analysis!r}")
        if self.kind == "IMPL":
            raise RuntimeError(f"Library.define: a library of kind 'IMPL' defines no operators ({schema})")
        if "::" in schema.split("(")[0]:
            namespace, _, schema = schema.partition("::")
            if namespace.strip() != self.ns:
                raise RuntimeError(f"Library.define: {namespace}::{schema} is not in namespace {self.ns}")
        name = _C._library_define(f"{self.ns}::{schema.strip()}")
        self._state["names"].append(name)
        self._op_defs.add(name)
        if tags:
            torch._ops._library_tags[name] = list(tags) if isinstance(tags, (list, tuple)) else [tags]
        _refresh_packet(self.ns, name)
        return name.rpartition("::")[2].partition(".")[0]

    def impl(self, op_name, fn, dispatch_key="", *, with_keyset=False, allow_override=True):
        """Registers a kernel of an operator for a key; for one of aten it takes the place of ours.

        Args:
            op_name: a name (with ".overload" where it has one) or an OpOverload.
            fn: takes the operator's arguments without those at their defaults.
            dispatch_key (str): the library's own by default, then "CompositeImplicitAutograd".
        """
        if with_keyset:
            raise NotImplementedError("Library.impl: with_keyset=True is not there; there are no sets of dispatch keys")
        if isinstance(op_name, torch._ops.OpOverload):
            name = op_name._full.rpartition("::")[2]
            if op_name._namespace != self.ns:
                raise RuntimeError(f"Library.impl: {op_name} is not in namespace {self.ns}")
        elif isinstance(op_name, str):
            name = op_name
            if "::" in name:
                namespace, _, name = name.partition("::")
                if namespace != self.ns:
                    raise RuntimeError(f"Library.impl: {op_name} is not in namespace {self.ns}")
        else:
            raise ValueError(f"Library.impl: op_name must be a name or an OpOverload, not {type(op_name).__name__}")
        if fn is fallthrough_kernel:
            return
        if not callable(fn):
            raise TypeError(f"Library.impl: a kernel must be callable, got {type(fn).__name__}")
        key = (getattr(dispatch_key, "name", dispatch_key) or self.dispatch_key or "CompositeImplicitAutograd")
        full = _registry_name(self.ns, name[:-len(".default")] if name.endswith(".default") else name)
        if key.startswith("Autocast"):   # autocast is not there, so that no call comes to such a kernel
            self._op_impls.add(f"{full}/{key}")
            return
        if not allow_override and _C._library_has(full, key):
            raise RuntimeError(f"Library.impl: {full} has a kernel for {key} already, and allow_override is False")
        if not _exists(full):
            # As with operators in C++, kernels may come before the operator.
            _wanting.setdefault(full, []).append((self._state, key, fn))
            return
        self._state["kernels"].append(_C._library_impl(full, key, fn))
        self._op_impls.add(f"{full}/{key}")

    def fallback(self, fn, dispatch_key="", *, with_keyset=False):
        raise NotImplementedError("Library.fallback: kernels for all operators of a key are not there; a TorchDispatchMode sees every operator")

    def _register_fake(self, op_name, fn, _stacklevel=1, *, allow_override=True):
        register_fake(f"{self.ns}::{op_name}", fn, lib=self, allow_override=allow_override)

    def _register_torch_dispatch_rule(self, op_name, torch_dispatch_class, fn):
        register_torch_dispatch(f"{self.ns}::{op_name}", torch_dispatch_class, fn)

    def _destroy(self):
        """Ends the registrations of this library."""
        self._finalizer()


_wanting = {}  # registry name -> kernels that came before their operator


def _exists(full):
    return _C._op_info(full) is not None


def _refresh_packet(namespace, registry_name):
    """After an overload came: who holds the packet sees it, and kernels that waited for it are registered."""
    name = registry_name.rpartition("::")[2].partition(".")[0]
    packet = vars(getattr(torch.ops, namespace)).get(name)
    if packet is not None:
        packet._call = packet._op = _C._op(packet._registry_name, None)
    for state, key, fn in _wanting.pop(registry_name, ()):
        state["kernels"].append(_C._library_impl(registry_name, key, fn))


def _end_library(state):
    for number in reversed(state["kernels"]):
        _C._library_remove(number)
    for name in state["names"]:
        try:
            _C._library_undefine(name)
        except RuntimeError:
            continue
        space, _, rest = name.rpartition("::")
        op, _, overload = rest.partition(".")
        found = vars(getattr(torch.ops, space or "aten"))
        packet = found.get(op)
        if packet is not None:
            vars(packet).pop(overload or "default", None)
            if not _C._op_overloads(packet._registry_name):
                del found[op]
                found["_dir"].remove(op)
        _autograd_infos.pop(name, None)
    for name in state["fakes"]:
        _fake_impls.pop(name, None)
    if state["defines"]:
        _defined_namespaces.discard(state["ns"])
    state["kernels"], state["names"], state["fakes"], state["defines"] = [], [], [], False


@contextlib.contextmanager
def _scoped_library(*args, **kwargs):
    """A Library whose registrations end with the block."""
    lib = Library(*args, **kwargs)
    try:
        yield lib
    finally:
        lib._destroy()


def _library_of(namespace, lib):
    if lib is not None:
        return lib
    lib = Library(namespace, "FRAGMENT")
    _keep_alive.append(lib)
    return lib


def define(qualname, schema=None, *, lib=None, tags=()):
    """define("ns::name", "(Tensor x) -> Tensor"): defines an operator.

    Args:
        lib (Library): whose end ends the definition; without it, it lasts for good.

    Raises ValueError where the name is no "ns::name", RuntimeError where the schema cannot be read.
    """
    if isinstance(qualname, Library):  # the older form: a decorator on the first kernel
        def old(fn):
            name = qualname.define(schema)
            qualname.impl(name, fn)
            return fn
        return old
    if not isinstance(qualname, str):
        raise ValueError(f"define: qualname must be a str, not {type(qualname).__name__}")
    namespace, sep, name = qualname.partition("::")
    if not sep or not namespace or not name:
        raise ValueError(f"define: an operator's name has the form 'namespace::name', got {qualname!r}")
    if not schema.lstrip().startswith("("):
        raise ValueError(f"define: a schema has the form '(Tensor x) -> Tensor', got {schema!r}")
    _library_of(namespace, lib).define(name + schema, alias_analysis="", tags=tags)


def impl(qualname, types, func=None, *, lib=None):
    """impl("ns::name", "cpu", func): registers the kernel of an operator for a device, or several, or "default" for all.

    Without func it is a decorator. `impl(lib, name, dispatch_key)` is the older form, a decorator too.
    """
    if isinstance(qualname, Library):
        def old(fn):
            qualname.impl(types, fn, func or "")
            return fn
        return old
    if isinstance(types, str):
        types = (types,)
    keys = []
    for t in types:
        if t == "default":
            keys.append("CompositeExplicitAutograd")
        else:   # a device, or a key itself
            keys.append(t if t and t[0].isupper() else device_key(t))

    def register(func):
        op = _lookup(qualname, "impl")
        for key in keys:
            _library_of(op._namespace, lib).impl(op, func, key)
        return func
    if func is None:
        return register
    register(func)
    return None


def register_kernel(op, device_types, func=None, /, *, lib=None):
    """register_kernel(op, "cpu", func): the implementation of an operator for a device or several (None: all). May decorate."""
    custom = find_def(op) if isinstance(op, (CustomOpDef, str, torch._ops.OpOverload)) else None
    if custom is not None:
        return custom.register_kernel(device_types, func) if func is not None else custom.register_kernel(device_types)
    return impl(op._name if isinstance(op, torch._ops.OpOverload) else op, "default" if device_types is None else device_types, func, lib=lib)


def register_fake(op, func=None, /, *, lib=None, _stacklevel=1, allow_override=True):
    """register_fake("ns::name", func): how the results of an operator look, computed without elements. May decorate.

    func takes the operator's arguments, on the meta device or fake, and gives tensors of the right shapes, strides,
    types and devices. Raises RuntimeError where the operator does not exist.
    """
    def register(func):
        custom = find_def(op) if isinstance(op, (CustomOpDef, str, torch._ops.OpOverload)) else None
        if custom is not None:
            custom.register_fake(func)
            return func
        overload = _lookup(op, "register_fake")
        name = overload._full
        if name in _fake_impls and not allow_override:
            raise RuntimeError(f"register_fake: {overload} has a fake implementation already, and allow_override is False")

        def kernel(*args, **kwargs):
            with fake_impl.running(overload):
                return func(*args, **kwargs)
        library = _library_of(overload._namespace, lib)
        library.impl(overload, kernel, "Meta")
        _fake_impls[name] = func
        library._state["fakes"].append(name)
        return func
    return register if func is None else register(func)


def impl_abstract(qualname, func=None, *, lib=None, _stacklevel=1):
    """The older name of register_fake."""
    return register_fake(qualname, func, lib=lib)


def fake_impl_of(op):
    """The fake implementation of an OpOverload, or None."""
    custom = find_def(op)
    if custom is not None:
        return custom._fake
    return _fake_impls.get(op._full)


def register_autograd(op, backward, /, *, setup_context=None, lib=None):
    """Registers the derivative of an operator that returns new tensors only.

    Args:
        op: a name, an OpOverload or a CustomOpDef.
        backward: `backward(ctx, *grads)` gives a gradient or None for each input.
        setup_context: `setup_context(ctx, inputs, output)` keeps what backward needs.

    Raises RuntimeError where the operator writes its arguments.
    """
    custom = find_def(op) if isinstance(op, (CustomOpDef, str, torch._ops.OpOverload)) else None
    if custom is not None:
        custom.register_autograd(backward, setup_context=setup_context)
        return
    overload = _lookup(op, "register_autograd")
    if overload._schema.is_mutable:
        raise RuntimeError(f"register_autograd: {overload._schema} writes its arguments; a derivative can be registered for operators that return "
                           "new tensors only")
    info = _autograd_infos.get(overload._full)
    if info is None:
        info = _autograd_infos[overload._full] = _Autograd()
        _library_of(overload._namespace, lib).impl(overload, make_autograd_kernel(overload, info), "Autograd")
    info.backward, info.setup_context = backward, setup_context


def register_vmap(op, func=None, /, *, lib=None):
    """register_vmap(op, func): the rule for torch.vmap, `func(info, in_dims, *args) -> (result, out_dims)`. May decorate.

    Without a rule an operator runs once for each example. Raises NotImplementedError for operators of aten, which have their
    own.
    """
    def register(func):
        custom = find_def(op) if isinstance(op, (CustomOpDef, str, torch._ops.OpOverload)) else None
        if custom is not None:
            custom.register_vmap(func)
        else:
            overload = _lookup(op, "register_vmap")
            _library_of(overload._namespace, lib).impl(overload, make_vmap_kernel(overload, lambda: func), "FuncTorchBatched")
        return func
    return register if func is None else register(func)


def _dispatch_rule(overload, torch_dispatch_class, func):
    _C._set_dispatch_rule(overload._full, torch_dispatch_class, func)


def register_torch_dispatch(op, torch_dispatch_class, func=None, /, *, lib=None):
    """Registers what a TorchDispatchMode, or a class with `__torch_dispatch__`, does on this operator. May decorate.

    `func(mode, func, types, args, kwargs)` for a mode, `func(func, types, args, kwargs)` for a class of tensors; it is
    called instead of `__torch_dispatch__`.
    """
    def register(func):
        _dispatch_rule(_lookup(op, "register_torch_dispatch"), torch_dispatch_class, func)
        return func
    return register if func is None else register(func)


def register_autocast(op, device_type, cast_inputs, /, *, lib=None):
    """Not there: raises NotImplementedError."""
    raise NotImplementedError("torch.library.register_autocast is not there")


def get_ctx():
    """The context of the fake implementation that runs, None outside of one."""
    return fake_impl.get_ctx()


def get_kernel(op, dispatch_key):
    """Not there: raises NotImplementedError."""
    raise NotImplementedError("torch.library.get_kernel is not there; the operator itself can be called")


def opcheck(op, args, kwargs=None, *, test_utils=("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic"),
            raise_exception=True, atol=None, rtol=None):
    """Tests an operator on these arguments: that it does what its schema says, that its derivative is registered where
    it should be, and that its fake implementation tells the truth.

    Returns: {test: "SUCCESS" or the failure}. With raise_exception a failure raises OpCheckError.
    """
    from torch._library.opcheck import run
    if isinstance(op, torch._ops.OpOverloadPacket) and len(op.overloads()) != 1:
        raise RuntimeError(f"opcheck tests one overload, and {op} has {len(op.overloads())}: {op.overloads()}")
    return run(_lookup(op, "opcheck"), args, kwargs or {}, test_utils, raise_exception, atol, rtol)
