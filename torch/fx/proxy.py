"""Proxies: what stands for values while a function is traced; each operation on one makes a node."""
import copy
import dataclasses
import dis
import enum
import operator
import sys
import traceback as _python_traceback
import types
from collections import OrderedDict

import torch
from torch.fx import traceback as fx_traceback
from torch.fx.codegen import magic_methods, reflectable_magic_methods
from torch.fx.node import Node, base_types, map_aggregate

__all__ = ["TracerBase", "GraphAppendingTracer", "TraceError", "Proxy", "MetaProxy", "Attribute", "ParameterProxy", "Scope",
           "ScopeContextManager", "assert_fn"]

_HERE = __file__.rpartition("proxy.py")[0]


class Scope:
    """The module that is being traced: its path and type."""

    def __init__(self, module_path, module_type):
        self.module_path, self.module_type = module_path, module_type


class ScopeContextManager:
    """Puts `current_scope` into `scope` within a with block."""

    def __init__(self, scope, current_scope):
        self._previous = copy.copy(scope)
        scope.module_path, scope.module_type = current_scope.module_path, current_scope.module_type
        self._scope = scope

    def __enter__(self):
        return self._scope

    def __exit__(self, *args):
        self._scope.module_path, self._scope.module_type = self._previous.module_path, self._previous.module_type


class TraceError(ValueError):
    """What a function does to a proxy depends on a value that is not known while tracing."""


_PLAIN = frozenset((int, float, bool, str, complex, type(None), type(...), torch.dtype, torch.device, torch.layout,
                    torch.memory_format))


class TracerBase:
    """Makes nodes and proxies; `Tracer` decides what of a module is traced."""

    graph = None
    record_stack_traces = False
    _record_forward_stack_traces_only = False
    check_mutable_operations = False
    trace_asserts = False
    proxy_buffer_attributes = False
    traced_func_name = "forward"
    scope = None
    module_stack = None
    node_name_to_scope = None

    def create_node(self, kind, target, args, kwargs, name=None, type_expr=None):
        """A node of the graph, with what is known about where it comes from in its meta."""
        if kind == "call_function" and self.check_mutable_operations:
            _refuse_writes(target, args, kwargs)
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        if self.node_name_to_scope is not None:
            self.node_name_to_scope[node.name] = (self.scope.module_path, self.scope.module_type)
        meta = node.meta
        if fx_traceback._preserving():
            meta.update({k: copy.copy(v) for k, v in fx_traceback.current_meta.items()})
            meta.setdefault("seq_nr", -1)
        if self.module_stack:
            meta["nn_module_stack"] = self.module_stack.copy()
        if self.record_stack_traces and kind not in ("placeholder", "output") and "stack_trace" not in meta:
            trace = self._stack_text()
            if trace:
                meta["stack_trace"] = trace
        return node

    def _stack_text(self):
        frames = []
        frame = self._find_user_frame()
        while frame is not None:
            name = frame.f_code.co_filename
            if not name.startswith(_HERE) and not name.endswith(("torch/nn/modules/module.py", "torch/overrides.py",
                                                                 "torch/_torch_function.py")):
                frames.append((frame, frame.f_lineno))
            elif name.endswith("_symbolic_trace.py") and frame.f_code.co_name == "trace":
                break
            frame = frame.f_back
        summary = _python_traceback.StackSummary.extract(reversed(frames))
        summary = self._filter_traceback_frames(summary)
        return "".join(summary.format()).strip() if summary else ""

    def _find_user_frame(self):
        frame = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename.startswith(_HERE):
            frame = frame.f_back
        return frame

    def _filter_traceback_frames(self, user_stack_summary):
        return user_stack_summary

    def proxy(self, node):
        """The proxy of a node."""
        return Proxy(node, self)

    def create_proxy(self, kind, target, args, kwargs, name=None, type_expr=None, proxy_factory_fn=None):
        """A node whose arguments may hold proxies, and its proxy."""
        args_ = self.create_arg(args)
        kwargs_ = self.create_arg(kwargs) if kwargs else {}
        node = self.create_node(kind, target, args_, kwargs_, name, type_expr)
        return proxy_factory_fn(node) if proxy_factory_fn else self.proxy(node)

    def create_arg(self, a):
        """`a` as an argument of a node: proxies become nodes. NotImplementedError for what no argument can be."""
        kind = type(a)
        if kind in _PLAIN:
            return a
        if isinstance(a, Proxy):
            return a.node
        if isinstance(a, tuple):
            if hasattr(a, "_fields"):
                return kind(*[self.create_arg(x) for x in a])
            return tuple([self.create_arg(x) for x in a])
        if isinstance(a, list):
            return [self.create_arg(x) for x in a]
        if isinstance(a, dict):
            return self._create_dict(a)
        if kind is slice:
            return slice(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if kind is range:
            return range(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if isinstance(a, Node):
            return a
        if isinstance(a, (*base_types, enum.Enum)) or a is ... or a is None:
            return a
        if isinstance(a, (torch._ops.OpOverloadPacket,)):
            return a
        if dataclasses.is_dataclass(a) and not isinstance(a, type):
            fields = {f.name: self.create_arg(getattr(a, f.name)) for f in dataclasses.fields(a)}
            return self.create_node("call_function", kind, (), fields)
        raise NotImplementedError(f"a {kind.__module__}.{kind.__qualname__} cannot be an argument of a node "
                                  f"(argument of type: {kind})")

    def _create_dict(self, a):
        made = {}
        for k, v in a.items():
            key = k if type(k) is str else self.create_arg(k)

            def refuse(x):
                if isinstance(x, Node):
                    raise RuntimeError(f"the keys of a dictionary that is an argument cannot hold a node; got the key {k!r}")
            if type(key) is not str:
                map_aggregate(key, refuse)
            made[key] = self.create_arg(v)
        return made

    def to_bool(self, obj):
        """What `bool` of a proxy does: it cannot be known."""
        raise TraceError(f"the truth of {obj!r} is asked (if, while, and, or, not, in, assert), but symbolically traced "
                         "variables have no value: what follows from one cannot be traced")

    def iter(self, obj):
        """What iterating over a proxy does: its length cannot be known."""
        raise TraceError(f"{obj!r} is iterated over (in a loop, or as *args or **kwargs of a call), but symbolically "
                         "traced variables have no length; unpacking into a fixed number of names can be traced")

    def keys(self, obj):
        """What `.keys()` of a proxy does, for **kwargs too."""
        return Attribute(obj, "keys")()


class GraphAppendingTracer(TracerBase):
    """A tracer that appends to a graph that is there."""

    def __init__(self, graph):
        super().__init__()
        self.graph = graph
        self.scope = Scope("", None)
        self.module_stack = OrderedDict()
        self.node_name_to_scope = {}


def assert_fn(x):
    """Raises AssertionError unless `x`."""
    if not x:
        raise AssertionError


class Proxy:
    """Stands for a value while a function is traced.

    Operators, methods, attributes, indexing and functions of torch make nodes and give proxies again. Its truth, length
    and iteration raise, unless the tracer says otherwise.
    """

    def __init__(self, node, tracer=None):
        if tracer is None:
            tracer = GraphAppendingTracer(node.graph)
        self.tracer, self.node = tracer, node

    def __repr__(self):
        return f"Proxy({self.node.name})"

    def __getattr__(self, k):
        # The attribute's node is made when it is used as a value; a call of it is a method call.
        if k in ("tracer", "node"):
            raise AttributeError(k)
        return Attribute(self, k)

    def __getstate__(self):
        return self.__dict__

    def __setstate__(self, d):
        self.__dict__ = d

    def __deepcopy__(self, memo):
        d = {}
        for k, v in self.__dict__.items():
            try:
                d[k] = copy.deepcopy(v, memo)
            except Exception:
                d[k] = copy.copy(v)
        new = object.__new__(type(self))
        new.__dict__.update(d)
        return new

    def __call__(self, *args, **kwargs):
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self):
        frame = sys._getframe(1)
        code, at = frame.f_code.co_code, frame.f_lasti
        if code[at] == _UNPACK_SEQUENCE:
            count = code[at + 1]
            if at >= 2 and code[at - 2] == dis.EXTENDED_ARG:
                count |= code[at - 1] << 8
            return (self[i] for i in range(count))
        return self.tracer.iter(self)

    def __abs__(self):
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __bool__(self):
        return self.tracer.to_bool(self)

    def keys(self):
        return self.tracer.keys(self)

    def __len__(self):
        raise RuntimeError("the length of a proxy is not known while tracing; to record the call, say "
                           "torch.fx.wrap('len') at the top level of the module")

    @classmethod
    def __torch_function__(cls, orig_method, types, args=None, kwargs=None):
        args = args or ()
        kwargs = kwargs or {}
        tracer = _tracer_of(args, kwargs)
        if isinstance(orig_method, _METHOD_KINDS) or getattr(orig_method, "__objclass__", None) is not None:   # of torch.Tensor
            name = orig_method.__name__
            if name == "__get__":
                # A getter of a tensor's attribute.
                return tracer.create_proxy("call_function", getattr, (args[0], orig_method.__self__.__name__), {})
            return tracer.create_proxy("call_method", name, args, kwargs)
        if isinstance(orig_method, torch._ops.OpOverloadPacket | torch._ops.OpOverload):
            return tracer.create_proxy("call_function", orig_method, args, kwargs)
        return tracer.create_proxy("call_function", orig_method, args, kwargs,
                                   name=getattr(tracer.graph, "_target_to_str")(orig_method.__name__))


_UNPACK_SEQUENCE = dis.opmap["UNPACK_SEQUENCE"]
_METHOD_KINDS = (types.MethodDescriptorType, types.WrapperDescriptorType, types.MethodWrapperType, types.ClassMethodDescriptorType)


def _tracer_of(args, kwargs):
    """The tracer of the proxies in the arguments; RuntimeError where they have several."""
    found = []

    def see(x):
        if isinstance(x, Proxy) and not any(x.tracer is t for t in found):
            found.append(x.tracer)
        return x
    for a in (*args, *kwargs.values()):
        if isinstance(a, Proxy):
            if not found or found[0] is not a.tracer:
                see(a)
        elif isinstance(a, (tuple, list, dict, slice)):
            map_aggregate(a, see)
    if len(found) > 1:
        raise RuntimeError(f"the arguments of one call are proxies of {len(found)} tracers: {found}")
    return found[0]


class MetaProxy(Proxy):
    """A proxy that computes on a fake value meanwhile."""

    def __init__(self, node, tracer=None, fake_mode=None):
        super().__init__(node, tracer)
        self.fake_mode = fake_mode

    def __repr__(self):
        return f"MetaProxy({self.node.name})"


class Attribute(Proxy):
    """An attribute of a proxy; its node is made when it is used."""

    def __init__(self, root, attr):
        self.root, self.attr, self.tracer, self._node = root, attr, root.tracer, None

    @property
    def node(self):
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args, **kwargs):
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """The proxy of a parameter whose shape is a constant of the trace."""

    def __init__(self, tracer, node, name, param):
        super().__init__(node, tracer)
        self.param, self.name = param, name

    def __repr__(self):
        return f"ParameterProxy({self.name})"

    @property
    def shape(self):
        return self.param.shape

    def size(self):
        return self.param.size()

    def dim(self):
        return self.param.dim()

    @property
    def ndim(self):
        return self.param.ndim

    def numel(self):
        return self.param.numel()

    def nelement(self):
        return self.param.nelement()


def _refuse_writes(target, args, kwargs):
    """RuntimeError for a function that changes its argument."""
    name = getattr(target, "__name__", "")
    schema = getattr(target, "_schema", None)
    if schema is not None and "!" in str(schema) or (
            getattr(target, "__module__", None) in (None, "torch", "_operator") and name.endswith("_")
            and not name.endswith("__") and name[:-1] not in ("and", "or", "not", "is", "where")) or "out" in kwargs:
        raise RuntimeError(f"{name or target} writes to an argument, which this tracer does not record "
                           "(check_mutable_operations)")


def _add_operators():
    def reflected(name, function):
        def impl(self, rhs):
            return self.tracer.create_proxy("call_function", function, (rhs, self), {})
        impl.__name__ = impl.__qualname__ = name
        return impl

    def plain(name, function):
        def impl(*args, **kwargs):
            return args[0].tracer.create_proxy("call_function", function, args, kwargs)
        impl.__name__ = impl.__qualname__ = name
        return impl
    for method in magic_methods:
        if hasattr(operator, method):
            name = f"__{method.strip('_')}__"
            setattr(Proxy, name, plain(name, getattr(operator, method)))
    for method in reflectable_magic_methods:
        if hasattr(operator, method):
            name = f"__r{method.strip('_')}__"
            setattr(Proxy, name, reflected(name, getattr(operator, method)))
    Proxy.__div__ = Proxy.__truediv__
    Proxy.__rdiv__ = Proxy.__rtruediv__
    Proxy.__hash__ = object.__hash__


_add_operators()
