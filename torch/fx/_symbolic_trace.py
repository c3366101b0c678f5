"""Tracing: a module or function is run on proxies, and the nodes that they make are its graph."""
import builtins
import collections
import contextlib
import copy
import functools
import inspect
import math
import sys
import types

import torch
from torch.fx._compatibility import compatibility  # noqa: F401
from torch.fx.codegen import _PyTreeCodeGen, _PyTreeInfo
from torch.fx.graph import Graph
from torch.fx.graph_module import GraphModule
from torch.fx.node import Node, base_types  # noqa: F401
from torch.fx.proxy import ParameterProxy, Proxy, Scope, ScopeContextManager, TracerBase
from torch.utils import _pytree as pytree

HAS_VARSTUFF = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS

_orig_module_call = torch.nn.Module.__call__
_orig_module_getattr = torch.nn.Module.__getattr__
_proxyable_classes = {}
_is_fx_tracing_flag = False
# (globals of a module, name) of what `wrap` registered, in order; and methods as (class, name).
_wrapped_fns_to_patch = {}
_wrapped_methods_to_patch = []


def is_fx_tracing():
    """Whether a function runs on proxies now."""
    return _is_fx_tracing_flag


is_fx_symbolic_tracing = is_fx_tracing


class ProxyableClassMeta(type):
    """The metaclass of classes whose objects may be made of proxies: making one is a node of the graph."""

    def __init__(cls, name, bases, attrs):
        _proxyable_classes.setdefault(cls)
        super().__init__(name, bases, attrs)

    def __call__(cls, *args, **kwargs):
        instance = cls.__new__(cls)
        if not is_fx_tracing():
            cls.__init__(instance, *args, **kwargs)
            return instance
        found = _find_proxy(args, kwargs)
        if found is not None:
            # The object is made in the graph; here the proxies stand in for its parts.
            return found.tracer.create_proxy("call_function", cls, args, kwargs)
        cls.__init__(instance, *args, **kwargs)
        return instance


def _find_proxy(*objects):
    """A proxy somewhere in nested containers, or None."""
    for o in objects:
        if isinstance(o, Proxy):
            return o
        if isinstance(o, dict):
            found = _find_proxy(*o.values())
        elif isinstance(o, (tuple, list)):
            found = _find_proxy(*o)
        elif isinstance(o, slice):
            found = _find_proxy(o.start, o.stop, o.step)
        else:
            continue
        if found is not None:
            return found
    return None


class PHBase:
    """In concrete_args: a place whose value stays an input."""

    def __repr__(self):
        return "PH"


PH = PHBase()


class PHWithMeta(PHBase):
    """A place whose value stays an input, with a name of its own."""

    def __init__(self, ph_key=None):
        super().__init__()
        self.ph_key = ph_key

    def transfer_attrs(self, to):
        """Copies the attributes to `to`."""
        to.__dict__.update(self.__dict__)


def _patch_function(fn, nargs):
    """`fn` with its `nargs` parameters all positional: *args and **kwargs too are one parameter each."""
    co = fn.__code__
    code = co.replace(co_argcount=nargs, co_posonlyargcount=0, co_kwonlyargcount=0, co_flags=co.co_flags & ~HAS_VARSTUFF)
    return types.FunctionType(code, fn.__globals__, fn.__name__, None, fn.__closure__)


def _assert_is_none(value, msg):
    """AssertionError with `msg` unless `value` is None."""
    if value is not None:
        raise AssertionError(msg)


@contextlib.contextmanager
def _new_env_for_tracing():
    global _is_fx_tracing_flag
    old, _is_fx_tracing_flag = _is_fx_tracing_flag, True
    try:
        yield
    finally:
        _is_fx_tracing_flag = old


class Tracer(TracerBase):
    """Traces a module or function into a Graph.

    `autowrap_modules` and `autowrap_functions`: functions whose calls with proxies are recorded, wherever the traced code
    finds them among its globals. `param_shapes_constant`: shapes of parameters are read, not recorded. Subclasses say by
    `is_leaf_module` which modules stay calls.
    """

    def __init__(self, autowrap_modules=(math,), autowrap_functions=(), param_shapes_constant=False):
        super().__init__()
        self._autowrap_function_ids = {id(v) for m in autowrap_modules for n, v in m.__dict__.items()
                                       if not n.startswith("_") and callable(v)}
        self._autowrap_function_ids.update(id(f) for f in autowrap_functions)
        self._autowrap_search = list(autowrap_modules)
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths = None
        self.root_module_name = ""
        self.root = None
        self.scope = Scope("", None)
        self.module_stack = collections.OrderedDict()
        self.num_calls = {}
        self.node_name_to_scope = {}
        self._qualname_counter = collections.defaultdict(int)

    def __deepcopy__(self, memo):
        new = object.__new__(type(self))
        memo[id(self)] = new
        for k, v in self.__dict__.items():
            new.__dict__[k] = copy.copy(v) if k in ("_autowrap_search",) else copy.deepcopy(v, memo)
        return new

    def get_fresh_qualname(self, prefix):
        """prefix0, prefix1 ...: the first that the root has no attribute of."""
        while True:
            name = f"{prefix}{self._qualname_counter[prefix]}"
            self._qualname_counter[prefix] += 1
            if not hasattr(self.root, name):
                return name

    # ---- arguments --------------------------------------------------------------------------

    def create_arg(self, a):
        """`a` as an argument of a node: proxies become nodes; parameters, buffers and other tensors become attributes
        of the root."""
        if isinstance(a, torch.Tensor):
            return self._tensor_arg(a)
        if isinstance(a, torch.nn.Module):
            for name, module in self.root.named_modules():
                if module is a:
                    return self.create_node("get_attr", name, (), {})
        elif isinstance(a, tuple) and hasattr(a, "_fields"):
            return self.create_node("call_function", type(a), tuple([self.create_arg(x) for x in a]), {})
        elif type(a) in _proxyable_classes:
            name = self.get_fresh_qualname(f"_{type(a).__name__}_constant_")
            setattr(self.root, name, a)
            return self.create_node("get_attr", name, (), {})
        return super().create_arg(a)

    def _tensor_arg(self, a):
        if isinstance(a, torch.nn.Parameter):
            for name, p in self.root.named_parameters():
                if p is a:
                    return self.create_node("get_attr", name, (), {})
            raise NameError(f"the parameter of shape {tuple(a.shape)} is no parameter of the traced module "
                            f"{self.root_module_name}")
        for name, b in self.root.named_buffers():
            if b is a:
                return self.create_node("get_attr", name, (), {})
        name = self.tensor_attrs.get(a)
        if name is None:
            name = self.get_fresh_qualname("_tensor_constant")
            self.tensor_attrs[a] = name
            setattr(self.root, name, a)
        return self.create_node("get_attr", name, (), {})

    # ---- modules ----------------------------------------------------------------------------

    def is_leaf_module(self, m, module_qualified_name):
        """Whether a module's call stays one node: so it is for the modules of torch.nn but Sequential."""
        return (m.__module__.startswith(("torch.nn", "torch.ao.nn"))
                and not isinstance(m, torch.nn.Sequential))

    def path_of_module(self, mod):
        """The path of a module within the root; NameError where it is not there."""
        if self.submodule_paths:
            path = self.submodule_paths.get(mod)
            if path is None:
                raise NameError(f"the {type(mod).__name__} that is called is no submodule of the traced module "
                                f"{self.root_module_name}")
            return path
        for name, module in self.root.named_modules():
            if module is mod:
                return name
        raise NameError(f"the {type(mod).__name__} that is called is no submodule of what is traced")

    def call_module(self, m, forward, args, kwargs):
        """What a call of module `m` does while tracing: a node for a leaf, else its forward on the proxies."""
        path = self.path_of_module(m)
        with ScopeContextManager(self.scope, Scope(path, type(m))):
            calls = self.num_calls.get(path, 0)
            key = f"{path}@{calls}" if calls else path
            self.module_stack[key] = (path, type(m))
            self.num_calls[path] = calls + 1
            if self.is_leaf_module(m, path):
                result = self.create_proxy("call_module", path, args, kwargs)
            else:
                result = forward(*args, **kwargs)
            self.module_stack.popitem()
        return result

    def getattr(self, attr, attr_val, parameter_proxy_cache):
        """What reading an attribute of a module gives while tracing: a proxy for a parameter."""
        def proxied(value, named, cache):
            for name, p in named:
                if p is value:
                    if name not in cache:
                        options = {}
                        if self.param_shapes_constant and isinstance(value, torch.nn.Parameter):
                            options["proxy_factory_fn"] = lambda node: ParameterProxy(self, node, name, value)
                        cache[name] = self.create_proxy("get_attr", name, (), {}, **options)
                    return cache[name]
            return None
        if isinstance(attr_val, torch.nn.Parameter):
            found = proxied(attr_val, self.root.named_parameters(), parameter_proxy_cache)
            if found is not None:
                return found
        if self.proxy_buffer_attributes and isinstance(attr_val, torch.Tensor):
            found = proxied(attr_val, self.root.named_buffers(), parameter_proxy_cache)
            if found is not None:
                return found
        return attr_val

    # ---- the trace --------------------------------------------------------------------------

    def create_args_for_root(self, root_fn, is_module, concrete_args=None):
        """(function, arguments): placeholders for the parameters of the traced function, and the root module first."""
        analysed = inspect.unwrap(root_fn)
        co = analysed.__code__
        total = co.co_argcount + co.co_kwonlyargcount
        names_iter = iter(co.co_varnames)
        signature = inspect.signature(analysed)
        args, skip = [], 0
        if is_module:
            if total == 0:
                raise RuntimeError("the forward of a module must take `self`")
            skip = 1
            next(names_iter)
            args.append(self.root)
        names = [next(names_iter) for _ in range(skip, total)]
        if isinstance(concrete_args, tuple):
            if len(names) != len(concrete_args):
                raise RuntimeError(f"concrete_args has {len(concrete_args)} values for {len(names)} parameters: {names}")
            concrete_args = dict(zip(names, concrete_args))
        args += [self._proxy_placeholder(n, concrete_args, signature, analysed) for n in names]
        if co.co_kwonlyargcount > 0 or co.co_flags & HAS_VARSTUFF:
            if co.co_flags & inspect.CO_VARARGS:
                args.append(self._proxy_placeholder("*" + next(names_iter), None, signature, analysed))
            if co.co_flags & inspect.CO_VARKEYWORDS:
                args.append(self._proxy_placeholder("**" + next(names_iter), None, signature, analysed))
            root_fn = _patch_function(root_fn, len(args))
        flat, in_spec = pytree.tree_flatten(tuple(args))
        if len(flat) == len(args) and not any(isinstance(a, (tuple, list, dict)) for a in args):
            return root_fn, args
        self.graph._codegen = _PyTreeCodeGen(_PyTreeInfo(names, in_spec, None))

        def flatten_fn(*flat_args):
            out = root_fn(*pytree.tree_unflatten(list(flat_args), in_spec))
            leaves, out_spec = pytree.tree_flatten(out)
            codegen = self.graph._codegen
            codegen.pytree_info = codegen.pytree_info._replace(in_spec=_without_self(in_spec, is_module), out_spec=out_spec)
            return leaves
        return flatten_fn, flat

    def _proxy_placeholder(self, name, concrete_args, sig, fn_for_analysis):
        if concrete_args is not None and name in concrete_args:
            return self._concrete(name, concrete_args[name], sig)
        if name[0] == "*":
            default = ()
        else:
            value = sig.parameters[name].default
            default = () if value is inspect.Parameter.empty else (value,)
        return self.create_proxy("placeholder", name, default, {},
                                 type_expr=fn_for_analysis.__annotations__.get(name))

    def _concrete(self, name, given, sig):
        count = 0

        def place(x):
            nonlocal count
            count += 1
            value = sig.parameters[name].default
            default = () if value is inspect.Parameter.empty else (value,)
            if isinstance(x, PHBase):
                made = self.create_proxy("placeholder", f"{name}_{count}", default, {})
                if isinstance(x, PHWithMeta):
                    x.transfer_attrs(made.node)
                return made
            made = self.create_proxy("placeholder", f"{name}_{count}", default, {})
            if type(x) is bool or isinstance(x, base_types) and not isinstance(x, torch.Tensor):
                torch._assert(made == x, f"{name} has been specialized to have value {x} but got another value")
            elif x is None:
                self.create_proxy("call_function", _assert_is_none, (
                    made, f"{name} has been specialized to have value None but got another value"), {})
            else:
                import warnings
                warnings.warn(f"the argument {name} is specialized to a {type(x).__name__}, which no assertion in the graph "
                              "can compare: calls must pass the same value", stacklevel=5)
            return x
        return pytree.tree_map(place, given)

    def trace(self, root, concrete_args=None):
        """The graph of module or function `root`.

        `concrete_args`: {name of a parameter: value}; such a parameter has this value in the trace, and so does control
        flow that depends on it. Nested containers with PH in them are taken apart.
        """
        with _new_env_for_tracing():
            if isinstance(root, torch.nn.Module):
                fn = getattr(type(root), self.traced_func_name, None)
                if fn is None:
                    raise AssertionError(f"the module {type(root).__name__} has no {self.traced_func_name} to trace")
                self.root, self.root_module_name = root, root._get_name()
                self.submodule_paths = {mod: name for name, mod in root.named_modules()}
            else:
                self.root, fn = torch.nn.Module(), root
            cls = type(self)
            self.graph = Graph(tracer_cls=cls if "<locals>" not in cls.__qualname__ else None)
            if hasattr(fn, "__code__"):
                code = fn.__code__
                self.graph._co_fields = {"co_name": code.co_name, "co_filename": code.co_filename,
                                         "co_firstlineno": code.co_firstlineno}
            self.tensor_attrs = {}
            self._collect_tensors(self.root, [])
            if not isinstance(fn, types.FunctionType):
                raise AssertionError(f"a module or a Python function can be traced, not a {type(fn).__name__}: {fn!r}")
            fn_globals = fn.__globals__
            fn, args = self.create_args_for_root(fn, isinstance(root, torch.nn.Module), concrete_args)
            with self._patched(fn_globals):
                result = fn(*args)
                self.create_node("output", "output", (self.create_arg(result),), {},
                                 type_expr=fn.__annotations__.get("return"))
            self.submodule_paths = None
        return self.graph

    def _collect_tensors(self, module, prefix):
        for k, v in module.__dict__.items():
            if isinstance(v, torch.Tensor):
                self.tensor_attrs[v] = ".".join([*prefix, k])
        for k, v in module.named_children():
            self._collect_tensors(v, [*prefix, k])

    @contextlib.contextmanager
    def _patched(self, fn_globals):
        """Modules, wrapped functions and those found among globals are recorded within."""
        parameter_proxy_cache = {}
        orig_call, orig_getattr = torch.nn.Module.__call__, torch.nn.Module.__getattr__

        @functools.wraps(orig_getattr)
        def module_getattr(mod, attr):
            return self.getattr(attr, orig_getattr(mod, attr), parameter_proxy_cache)

        patcher = _Patcher()

        @functools.wraps(orig_call)
        def module_call(mod, *args, **kwargs):
            def forward(*args, **kwargs):
                return orig_call(mod, *args, **kwargs)
            _autowrap_check(patcher, getattr(getattr(mod, "forward", mod), "__globals__", {}), self._autowrap_function_ids)
            return self.call_module(mod, forward, args, kwargs)
        with patcher:
            patcher.patch_method(torch.nn.Module, "__getattr__", module_getattr)
            patcher.patch_method(torch.nn.Module, "__call__", module_call)
            _patch_wrapped_functions(patcher)
            _autowrap_check(patcher, fn_globals, self._autowrap_function_ids)
            for module in self._autowrap_search:
                _autowrap_check(patcher, module.__dict__, self._autowrap_function_ids)
            yield


def _without_self(spec, is_module):
    """The spec of the arguments without the traced module, which generated code has as self."""
    if not is_module:
        return spec
    children = spec.children() if getattr(spec, "children_specs", None) is None else spec.children_specs
    return pytree.treespec_tuple(children[1:])


class _Patcher:
    """Replaces attributes and globals; leaving the with block puts them back, the last one first."""

    def __init__(self):
        self.undo, self.seen = [], set()

    def patch(self, frame_dict, name, new):
        """frame_dict[name] is `new` until the end."""
        if name in frame_dict:
            old = frame_dict[name]
            self.undo.append(lambda: frame_dict.__setitem__(name, old))
        else:
            self.undo.append(lambda: frame_dict.pop(name, None))
        frame_dict[name] = new

    def patch_method(self, cls, name, new):
        """The attribute `name` of a class is `new` until the end."""
        had = name in cls.__dict__
        old = getattr(cls, name)
        self.undo.append((lambda: setattr(cls, name, old)) if had else (lambda: delattr(cls, name)))
        setattr(cls, name, new)

    def visit_once(self, thing):
        """Whether `thing` was not seen before."""
        key = id(thing)
        if key in self.seen:
            return False
        self.seen.add(key)
        return True

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        while self.undo:
            self.undo.pop()()
        self.seen.clear()


def _create_wrapped_func(orig_fn):
    """`orig_fn`, whose calls with a proxy among the arguments are recorded."""
    @functools.wraps(orig_fn)
    def wrapped(*args, **kwargs):
        proxy = _find_proxy(args, kwargs)
        if proxy is None:
            return orig_fn(*args, **kwargs)
        made = proxy.tracer.create_proxy("call_function", orig_fn, args, kwargs)
        made.node.meta["is_wrapped"] = True
        return made
    wrapped.__fx_wraps__ = orig_fn
    return wrapped


def _create_wrapped_method(cls, name):
    orig = getattr(cls, name)

    @functools.wraps(orig)
    def wrapped(*args, **kwargs):
        proxy = _find_proxy(args, kwargs)
        if proxy is None:
            return orig(*args, **kwargs)
        return proxy.tracer.create_proxy("call_method", name, args, kwargs)
    return wrapped


def _patch_wrapped_functions(patcher):
    for (_, name), frame_dict in list(_wrapped_fns_to_patch.items()):
        if name not in frame_dict and hasattr(builtins, name):
            orig = getattr(builtins, name)
        elif name in frame_dict:
            orig = frame_dict[name]
        else:
            raise NameError(f"torch.fx.wrap({name!r}): there is no such global, nor a built-in function")
        patcher.patch(frame_dict, name, _create_wrapped_func(orig))
    for cls, name in _wrapped_methods_to_patch:
        patcher.patch_method(cls, name, _create_wrapped_method(cls, name))


def _autowrap_check(patcher, frame_dict, function_ids):
    """Records the calls of functions with these ids that are found among some globals."""
    if patcher.visit_once(frame_dict):
        for name, value in list(frame_dict.items()):
            if id(value) in function_ids and not name.startswith("_") and callable(value):
                patcher.patch(frame_dict, name, _create_wrapped_func(value))


def wrap(fn_or_name):
    """Makes a function a leaf: tracing records its calls and does not go inside.

    Said at the top level of a module, of a function or of the name of a global or built-in function; it is a decorator
    too. RuntimeError for anything else, NotImplementedError elsewhere.
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError(f"torch.fx.wrap takes a function or the name of one, not a {type(fn_or_name).__name__}")
    if callable(fn_or_name):
        if isinstance(fn_or_name, str):
            raise AssertionError("torch.fx.wrap takes a function or its name")
        name = fn_or_name.__name__
    else:
        name = fn_or_name
    frame = sys._getframe(1)
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError(f"torch.fx.wrap({name!r}) must be said at the top level of a module")
    _wrapped_fns_to_patch[(id(frame.f_globals), name)] = frame.f_globals
    return fn_or_name


def symbolic_trace(root, concrete_args=None):
    """A GraphModule of module or function `root`, by running it on proxies.

    `concrete_args`: {name of a parameter: value} of parameters whose values the trace may depend on; see `Tracer.trace`.
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = root.__class__.__name__ if isinstance(root, torch.nn.Module) else root.__name__
    return GraphModule(tracer.root, graph, name)
