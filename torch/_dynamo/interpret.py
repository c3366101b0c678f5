"""Follows a function's byte code on the values of one call.

What is proven on the way: the function reads from outside only what is guarded, stores nothing outside its locals, calls
only operators of torch (nodes of the graph), pure builtins, and Python code that is followed the same way, and never lets
Python see the data of a tensor. On anything else it raises Unsupported, naming the line, and nothing has happened.

Known are the instructions of CPython 3.11; on other versions nothing is followed.
"""
import collections
import contextlib
import enum
import functools
import operator
import sys
import types

import torch
from torch._ops import OpOverload, OpOverloadPacket

from . import allowed
from .builtin_calls import SPECIAL, constant
from .exc import Unsupported
from .frame import Frame
from .reach import Reach, is_torchs
from .record import Recorder
from .values import COMPARE, ITERATORS, VIEWS, Delayed, GradMode, TensorMethod, contains_tensor, is_plain

HANG_ON_ELEMENTS = (torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape)
KNOWN_PYTHON = sys.version_info[:2] == (3, 11)


class Run:
    """One call, followed. `reach` holds its guards, `recorder` its graph, `top` the outermost frame, which raises Stopped
    before its instruction number `stop`."""

    def __init__(self, stop=None, bare=False):
        self.recorder = Recorder(bare)
        self.reach = Reach(self.recorder)
        self.reach.run = self.recorder.run = self
        self.guards = self.reach.guards
        self.where = None
        self.depth = 0
        self.local_cells = set()
        self.functions = {}   # id of a function that the run made: the function
        self.steps = 0
        self.views = {}       # id of a view of a dict: (the view, the dict, the method's name)
        self.iterators = {}   # id of an iterator over a dict or a view of one: (the iterator, what it is over)
        self.stop, self.top, self.site = stop, None, None
        self.whole = False       # whether the function is not to be split
        self.protected = False   # whether an exception here meets a handler of the function

    # ---- functions -----------------------------------------------------------------------------

    def inline(self, fn, args, kwargs):
        """The result of fn(*args, **kwargs), followed."""
        code = fn.__code__
        if code.co_flags & (0x80 | 0x100 | 0x200):
            raise Unsupported(f"{fn.__name__} is a coroutine or an asynchronous generator")
        if code.co_flags & 0x20 and code.co_name != "<genexpr>":
            raise Unsupported(f"{fn.__name__} is a generator")
        if self.depth > 60:
            raise Unsupported("calls more than 60 deep")
        if not is_torchs(fn) and id(fn) in self.reach.sources:
            self.guards.add(f"{self.guards.name(fn, 'F')}.__code__ is {self.guards.name(code)}")
        bound = self.bind(fn, args, kwargs)
        if code.co_flags & 0x20:
            return Delayed(self.items(Frame(self, fn, bound)), fn, args)
        return self.run_frame(Frame(self, fn, bound))

    def items(self, frame):
        """What a generator expression gives, one after another."""
        while True:
            value = self.run_frame(frame)
            if frame.ended:
                return
            yield value

    def getter(self, fn, obj):
        if self.top is None:
            raise Unsupported(f"what is called is a property, {fn.__name__}")
        return self.inline(fn, (obj,), {})

    def run_frame(self, frame):
        before, protected = self.where, self.protected
        self.depth += 1
        try:
            result = frame.run()
            self.where = before
            return result
        except Unsupported as e:
            if e.depth is None:
                e.depth = self.depth
            raise
        finally:
            self.depth -= 1
            self.protected = protected

    def bind(self, fn, args, kwargs):
        """Locals of a call, as Python binds them."""
        code = fn.__code__
        n, m = code.co_argcount, code.co_kwonlyargcount
        names = code.co_varnames
        known = id(fn) in self.reach.sources
        bound, rest = dict(zip(names[:n], args)), dict(kwargs)
        if len(args) > n and not code.co_flags & 4:
            raise TypeError(f"{fn.__name__}() takes {n} positional arguments but {len(args)} were given")
        for i, name in enumerate(names[:n + m]):
            if name in rest and (i >= code.co_posonlyargcount):
                if name in bound:
                    raise TypeError(f"{fn.__name__}() got several values for argument {name!r}")
                bound[name] = rest.pop(name)
        defaults, kwdefaults = fn.__defaults__ or (), fn.__kwdefaults__ or {}
        if known and not is_torchs(fn):
            f = self.guards.name(fn, "F")
            self.guards.add(f"len({f}.__defaults__ or ()) == {len(defaults)}")
        for i, name in enumerate(names[:n]):
            if name not in bound:
                j = i - (n - len(defaults))
                if j < 0:
                    raise TypeError(f"{fn.__name__}() misses argument {name!r}")
                bound[name] = self._default(fn, known, f"__defaults__[{j}]", defaults[j])
        for name in names[n:n + m]:
            if name not in bound:
                if name not in kwdefaults:
                    raise TypeError(f"{fn.__name__}() misses keyword argument {name!r}")
                bound[name] = self._default(fn, known, f"__kwdefaults__[{name!r}]", kwdefaults[name])
        at = n + m
        if code.co_flags & 4:
            bound[names[at]] = tuple(args[n:])
            at += 1
        if code.co_flags & 8:
            bound[names[at]] = rest
        elif rest:
            raise TypeError(f"{fn.__name__}() got an unexpected keyword argument {next(iter(rest))!r}")
        return bound

    def _default(self, fn, known, text, value):
        if not known:
            return value    # of a function that this run made
        from .guards import Source
        return self.reach.outside(value, Source(f"{self.guards.name(fn, 'F')}.{text}"))

    # ---- calls ---------------------------------------------------------------------------------

    def call(self, f, args, kwargs):
        if type(f) is TensorMethod:
            return self._tensor_method(f, args, kwargs)
        try:
            special = SPECIAL.get(f)
            name = allowed.operator_name(f)
        except TypeError:
            special = name = None
        if special is not None:
            return special(self, *args, **kwargs)
        if name is not None and f in allowed.opaque:
            return self.recorder.call(f, name, args, kwargs)
        if name is not None:
            return self._operator(f, name, args, kwargs)
        if isinstance(f, (OpOverload, OpOverloadPacket)):
            return self._registered(f, args, kwargs)
        if isinstance(f, types.MethodType):
            if isinstance(f.__func__, types.FunctionType):
                return self.call(f.__func__, (f.__self__, *args), kwargs)
            raise Unsupported(f"a bound {type(f.__func__).__name__}")
        original = getattr(f, "_torchdynamo_orig_callable", None) if isinstance(f, types.FunctionType) else None
        if original is not None:
            if getattr(f, "_torchdynamo_disable", False):
                raise Unsupported(f"{getattr(f, '__name__', f)} is marked by torch.compiler.disable")
            return self.call(self.reach.outside(original, self.fixed(original)), args, kwargs)
        if isinstance(f, types.FunctionType):
            if f.__name__ == "cast" and f.__module__ == "typing":
                return args[1]
            if f.__name__ == "_call_impl" and args and allowed.is_module(args[0]) and f is torch.nn.Module._call_impl:
                return self._module(args[0], args[1:], kwargs)
            return self.inline(f, args, kwargs)
        if allowed.is_module(f):
            return self._module(f, args, kwargs)
        if isinstance(f, functools.partial):
            if not self.reach.is_outside(f):
                raise Unsupported("a functools.partial that the function made")
            base = self.fixed(f)
            return self.call(self.reach.outside(f.func, base.attr("func")),
                             (*self.reach.outside(f.args, base.attr("args")), *args),
                             {**self.reach.outside(f.keywords, base.attr("keywords")), **kwargs})
        if isinstance(f, types.BuiltinMethodType) and f.__self__ is not None and not isinstance(f.__self__, types.ModuleType):
            return self._builtin_method(f, args, kwargs)
        if isinstance(f, (types.MethodDescriptorType, types.WrapperDescriptorType)) and args and not kwargs:
            return self.call(self.reach.attribute(args[0], f.__name__), args[1:], {})
        if self._hashable(f) and f in allowed.OPERATOR_FUNCTIONS:
            if f in (operator.setitem, operator.delitem, operator.iadd, operator.call, operator.length_hint):
                raise Unsupported(f"operator.{f.__name__}")
            return self.apply(f, *args, **kwargs)
        if self._hashable(f) and f in allowed.PURE:
            return self._pure(f, args, kwargs)
        if isinstance(f, type):
            return self._make(f, args, kwargs)
        if callable(f) and isinstance(getattr(type(f), "__call__", None), types.FunctionType) and self.reach.is_outside(f):
            return self.call(self.reach.attribute(f, "__call__"), args, kwargs)
        raise Unsupported(f"a call of {_named(f)}, of which it is not known what it does")

    @staticmethod
    def _hashable(f):
        try:
            hash(f)
        except TypeError:
            return False
        return True

    def fixed(self, obj):
        from .guards import Source
        return Source(self.guards.name(obj), fixed=True)

    def _operator(self, f, name, args, kwargs):
        if name == "is_tensor":
            return isinstance(args[0], torch.Tensor)
        if name in allowed.TENSOR_SHAPE_FACTS or name in allowed.TENSOR_FACTS:
            if name in allowed.TENSOR_SHAPE_FACTS:
                self.guards.shapes_matter = True
            if len(args) == 1 and not kwargs and isinstance(args[0], torch.Tensor):
                return self.recorder.fact(args[0], name)() if callable(getattr(torch.Tensor, name, None)) else self.recorder.fact(args[0], name)
            return f(*self.recorder.real(tuple(args)), **self.recorder.real(kwargs))
        if not contains_tensor((args, kwargs)) and name not in allowed._FACTORIES:
            raise Unsupported(f"torch's {name} without a tensor among its arguments")
        if any(isinstance(x, torch.Generator) for x in (*args, *kwargs.values())):
            raise Unsupported("a torch.Generator")
        if kwargs.get("requires_grad"):
            raise Unsupported("a tensor that requires grad made within the function")
        return self._counted(self.recorder.call(f, name, args, kwargs))

    def _registered(self, f, args, kwargs):
        """A call of what torch.ops gives."""
        overloads = [f] if isinstance(f, OpOverload) else f.op_overloads
        ours = overloads[0].namespace == "aten"
        name = overloads[0]._opname if ours else str(f)
        if allowed.is_unsafe(name) or any(t in HANG_ON_ELEMENTS for o in overloads for t in o.tags):
            raise Unsupported(f"torch.ops.{f} gives values of data, or a shape that depends on them, or changes what a tensor is")
        return self._operator(f, name, args, kwargs)

    def _counted(self, result):
        if type(result) in (tuple, list):   # how many tensors there are hangs on sizes (split, unbind)
            self.guards.shapes_matter = True
        return result

    def _tensor_method(self, f, args, kwargs):
        x, name = f.tensor, f.name
        if allowed.is_unsafe(name):
            raise Unsupported(f"Tensor.{name} gives values of data, or changes what a tensor is")
        if name in allowed.TENSOR_FACTS or name in allowed.TENSOR_SHAPE_FACTS:
            return self.recorder.fact(x, name)(*self.recorder.real(tuple(args)), **kwargs)
        if any(isinstance(v, torch.Generator) for v in (*args, *kwargs.values())):
            raise Unsupported("a torch.Generator")
        return self._counted(self.recorder.call(name, name, (x, *args), kwargs, method=True))

    def _module(self, m, args, kwargs):
        from torch.nn.modules import module as home
        t = type(m)
        if not self.reach.is_outside(m):
            raise Unsupported(f"a {t.__name__} that the function made")
        if type(m).__name__ == "OptimizedModule" and isinstance(m, optimized_module()):
            return self.call(self.reach.attribute(m, "_orig_mod"), args, kwargs)
        if vars(m).get("_torchdynamo_disable"):
            raise Unsupported(f"a {t.__name__} marked by torch.compiler.disable")
        if t.__call__ is not home.Module.__call__:
            return self.call(self.reach.attribute(m, "__call__"), args, kwargs)
        n = self.guards.name(m)
        hooks = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
        everywhere = [getattr(home, "_global" + h) for h in hooks]
        if any(getattr(m, h) for h in hooks) or any(everywhere):
            raise Unsupported(f"a {t.__name__} with hooks")
        self.guards.add("not (" + " or ".join(f"{n}.{h}" for h in hooks) + ")")
        self.guards.add("not (" + " or ".join(self.guards.name(h) for h in everywhere) + ")")
        return self.call(self.reach.attribute(m, "forward"), args, kwargs)

    def _builtin_method(self, f, args, kwargs):
        owner, name = f.__self__, f.__name__
        t = type(owner)
        if t in allowed.CONSTANT_TYPES:
            if contains_tensor((args, kwargs)):
                raise Unsupported(f"{t.__name__}.{name} of a tensor")
            args = tuple(list(self.iterate(a)) if type(a) in ITERATORS else a for a in args)
            if not is_plain((args, kwargs)):
                raise Unsupported(f"{t.__name__}.{name} of what are no constants")
            return self._pure(f, args, kwargs)
        if isinstance(owner, type):
            if owner in (dict,) and name == "fromkeys":
                return f(*args)
            raise Unsupported(f"{owner.__name__}.{name}")
        if isinstance(owner, tuple) or t in allowed.LOCAL_TYPES or t in VIEWS:
            self.known_view(owner)
            if name in ("index", "count", "remove", "sort", "__contains__") and not is_plain((owner, args)):
                raise Unsupported(f"{t.__name__}.{name} with what are no constants")
            if name in allowed.READING or isinstance(owner, tuple):
                result = f(*args, **kwargs)
                if type(result) in VIEWS:
                    self.views[id(result)] = (result, owner, name)
                return result
            if name in allowed.WRITING and not self.reach.is_outside(owner):
                return f(*args, **kwargs)
            raise Unsupported(f"{t.__name__}.{name} of a {'container from outside' if self.reach.is_outside(owner) else t.__name__}")
        raise Unsupported(f"{t.__name__}.{name}")

    def _pure(self, f, args, kwargs):
        for x in (*args, *kwargs.values()):
            t = type(x)
            if t not in allowed.CONSTANT_TYPES and t not in allowed.LOCAL_TYPES and t not in ITERATORS and t not in VIEWS \
                    and not isinstance(x, (tuple, torch.Tensor)):
                raise Unsupported(f"{_named(f)} of a {t.__name__}")
            if t in ITERATORS and self.reach.is_outside(x):
                raise Unsupported("an iterator from outside")
            self.known_view(x)
        return f(*args, **kwargs)

    def _make(self, cls, args, kwargs):
        if issubclass(cls, tuple) and hasattr(cls, "_fields") and cls.__new__.__qualname__ != "tuple.__new__" \
                and getattr(cls.__new__, "__module__", "").startswith("namedtuple_") and cls.__init__ is object.__init__:
            return cls(*args, **kwargs)
        if cls is collections.OrderedDict:
            return cls(*args, **kwargs)
        if cls is contextlib.nullcontext:
            made = cls(*args, **kwargs)
            self.reach.made[id(made)] = made
            return made
        if cls in _GRAD_MODES and cls.__init__ is _GRAD_MODES[cls]:
            mode = GradMode(cls is torch.enable_grad if cls is not torch.set_grad_enabled else bool(*args, **kwargs))
            if cls is torch.set_grad_enabled:   # this one switches as it is made
                mode.before = torch.is_grad_enabled()
                self.recorder.grad_mode(mode.on)
            return mode
        if type(cls) is type and cls.__new__ is object.__new__ and isinstance(cls.__init__, types.FunctionType) and not is_torchs(cls) \
                and all(f not in vars(base) for base in cls.__mro__[:-1]
                        for f in ("__slots__", "__setattr__", "__getattr__", "__getattribute__", "__del__", "__set_name__", "__bool__",
                                  "__len__", "__iter__")):
            made = object.__new__(cls)
            self.reach.made[id(made)] = made
            self.call(self.reach.attribute(made, "__init__"), args, kwargs)
            return made
        raise Unsupported(f"an object of {cls.__module__}.{cls.__qualname__} is made")

    # ---- operators of Python -------------------------------------------------------------------

    def apply(self, f, *args, **kwargs):
        """f of module operator, on tensors a node."""
        if not any(isinstance(a, torch.Tensor) for a in args):
            if any(type(a) not in allowed.CONSTANT_TYPES and type(a) not in allowed.LOCAL_TYPES and not isinstance(a, tuple)
                   for a in args):
                for a in args:
                    if isinstance(a, type) or (isinstance(a, enum.Enum) or allowed.is_module(a)) and f in (operator.eq, operator.ne):
                        continue
                    if type(a) not in allowed.CONSTANT_TYPES and type(a) not in allowed.LOCAL_TYPES:
                        raise Unsupported(f"{f.__name__} of a {type(a).__name__}")
            if f in COMPARE.values() and contains_tensor(args):
                raise Unsupported("containers of tensors are compared")
            if (f in COMPARE.values() or f is operator.mod or f is operator.contains) and not is_plain(args):
                raise Unsupported(f"{f.__name__} of what are no constants")
            return f(*args, **kwargs)
        if f in (operator.index, operator.truth, operator.not_, operator.contains, operator.countOf, operator.indexOf,
                 operator.concat):
            raise Unsupported(f"{f.__name__} of a tensor gives Python its data")
        return self.recorder.call(f, f.__name__, args, kwargs)

    def truth(self, x):
        if isinstance(x, torch.Tensor):
            raise Unsupported("a branch depends on the data of a tensor")
        t = type(x)
        if t in allowed.CONSTANT_TYPES or t in allowed.LOCAL_TYPES or isinstance(x, (tuple, type, types.FunctionType)):
            return bool(x)
        if hasattr(t, "__bool__"):
            return self.call(self.reach.attribute(x, "__bool__"), (), {})
        if hasattr(t, "__len__"):
            self.reach.answered(x, lambda text: f"not hasattr(type({text}), '__bool__')")
            return self.length(x) != 0
        self.reach.answered(x, lambda text: f"not (hasattr(type({text}), '__bool__') or hasattr(type({text}), '__len__'))")
        return True

    def known_view(self, x):
        """Raises Unsupported for a view of a dict that is not guarded."""
        if type(x) in VIEWS and self.reach.is_outside(x):
            raise Unsupported("a view of a dict from outside")

    def length(self, x):
        if isinstance(x, torch.Tensor):
            self.guards.shapes_matter = True
            return len(self.recorder.real(x))
        self.known_view(x)
        t = type(x)
        if t in allowed.CONSTANT_TYPES or t in allowed.LOCAL_TYPES or t in VIEWS or isinstance(x, tuple):
            return len(x)
        return self.call(self.reach.attribute(x, "__len__"), (), {})

    def iterate(self, x):
        if isinstance(x, torch.Tensor):
            self.guards.shapes_matter = True
            return iter(self.recorder.call(torch.unbind, "unbind", (x,), {}))
        t = type(x)
        if t in ITERATORS:
            if self.reach.is_outside(x):
                raise Unsupported("an iterator from outside")
            return x
        self.known_view(x)
        if t in allowed.CONSTANT_TYPES or t in allowed.LOCAL_TYPES or t in VIEWS or isinstance(x, tuple):
            made = iter(x)
            if t in VIEWS or isinstance(x, dict):
                self.iterators[id(made)] = (made, x)
            return made
        return self.iterate(self.call(self.reach.attribute(x, "__iter__"), (), {}))

    def item(self, x, key):
        if isinstance(x, torch.Tensor) or isinstance(key, torch.Tensor):
            return self.apply(operator.getitem, x, key)
        t = type(x)
        if t in allowed.CONSTANT_TYPES or t in allowed.LOCAL_TYPES or isinstance(x, tuple):
            return x[key]
        if isinstance(x, type):
            raise Unsupported("a subscript of a class")
        return self.call(self.reach.attribute(x, "__getitem__"), (key,), {})

    def identical(self, a, b):
        tensors = isinstance(a, torch.Tensor) + isinstance(b, torch.Tensor)
        if tensors == 2:
            known = [self.recorder.outside.get(id(x)) for x in (a, b)]
            if all(known) and a is not b:
                self.guards.add(f"{known[0][2].text} is not {known[1][2].text}")
        elif type(a) in allowed.LOCAL_TYPES and type(b) in allowed.LOCAL_TYPES and a is not b and (
                self.reach.is_outside(a) or self.reach.is_outside(b)):
            raise Unsupported("whether two containers are the same object")
        return a is b


def optimized_module():
    from .optimized_module import OptimizedModule
    return OptimizedModule


def _named(f):
    return f"{getattr(f, '__module__', None) or ''}.{getattr(f, '__qualname__', None) or repr(f)[:80]}".lstrip(".")


_GRAD_MODES = {c: c.__init__ for c in (torch.no_grad, torch.enable_grad, torch.set_grad_enabled) if isinstance(c, type)}


def add_queries(is_compiling, graph_break, skip_frame):
    """Makes functions known that say where they run."""
    def broken(run, msg=""):
        raise Unsupported("torch._dynamo.graph_break" + (f": {msg}" if msg else ""))

    def skipped(run, msg=""):
        run.whole = True
        raise Unsupported("torch._dynamo.skip_frame" + (f": {msg}" if msg else ""))
    SPECIAL[is_compiling], SPECIAL[graph_break], SPECIAL[skip_frame] = constant(True), broken, skipped
