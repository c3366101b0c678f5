"""Follows a function's byte code on the values of one call.

What is proven on the way: the function reads from outside only what is guarded, stores nothing outside its locals, calls
only operators of torch (nodes of the graph), pure builtins, and Python code that is followed the same way, and never lets
Python see the data of a tensor. On anything else it raises Unsupported, naming the line, and nothing has happened.

Known are the instructions of CPython 3.11; on other versions nothing is followed.
"""
import collections
import dis
import enum
import functools
import operator
import sys
import types

import torch

from . import allowed
from .exc import Unsupported
from .reach import Module, Reach, TensorMethod, is_torchs
from .record import Recorder

KNOWN_PYTHON = sys.version_info[:2] == (3, 11)
_NULL = object()
_ITERATORS = frozenset(type(iter(x)) for x in ((), [], {}, {}.values(), {}.items(), set(), range(0), "", b"")) | {
    zip, enumerate, reversed, map, filter, type(reversed([])), type(reversed({})), type(reversed({}.values())),
    type(reversed({}.items())), type(iter(collections.OrderedDict())), type(iter(collections.OrderedDict().values())),
    type(iter(collections.OrderedDict().items())), type(iter(range(1 << 70)))}
_VIEWS = (type({}.keys()), type({}.values()), type({}.items()), type(collections.OrderedDict().keys()),
          type(collections.OrderedDict().values()), type(collections.OrderedDict().items()))
_BINARY = {0: "add", 1: "and_", 2: "floordiv", 3: "lshift", 4: "matmul", 5: "mul", 6: "mod", 7: "or_", 8: "pow", 9: "rshift",
           10: "sub", 11: "truediv", 12: "xor"}
_COMPARE = {"<": operator.lt, "<=": operator.le, "==": operator.eq, "!=": operator.ne, ">": operator.gt, ">=": operator.ge}


class GradMode:
    """with torch.no_grad(), torch.enable_grad() and torch.set_grad_enabled(b)."""
    __slots__ = ("on", "before")

    def __init__(self, on):
        self.on, self.before = on, None


class _Exit:
    __slots__ = ("context",)

    def __init__(self, context):
        self.context = context


def contains_tensor(x):
    if isinstance(x, torch.Tensor):
        return True
    t = type(x)
    if t in (list, tuple, set, frozenset) or isinstance(x, tuple):
        return any(map(contains_tensor, x))
    if isinstance(x, dict):
        return any(map(contains_tensor, x.values()))
    if t is slice:
        return contains_tensor((x.start, x.stop, x.step))
    return False


def is_plain(x):
    """Whether x, and all in it, are constants or classes: to compare it or to write it calls no code of a user."""
    t = type(x)
    if t in allowed.CONSTANT_TYPES or t is type or isinstance(x, (types.FunctionType, TensorMethod)):
        return True
    if t in (list, tuple, set, frozenset) or t in _VIEWS:
        return all(map(is_plain, x))
    if t in (dict, collections.OrderedDict):
        return all(is_plain(k) and is_plain(v) for k, v in x.items())
    if t is slice:
        return is_plain((x.start, x.stop, x.step))
    return isinstance(x, (enum.Enum, type)) and all(type(c).__module__ in ("builtins", "enum") and "__eq__" not in vars(c)
                                                    for c in (t, *t.__mro__[:-1]) if c.__module__ not in ("enum", "builtins"))


class Run:
    """One call, followed. `reach` holds its guards, `recorder` its graph."""

    def __init__(self):
        self.recorder = Recorder()
        self.reach = Reach(self.recorder)
        self.reach.run = self
        self.guards = self.reach.guards
        self.where = None
        self.depth = 0
        self.local_cells = set()
        self.steps = 0

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
        self.depth += 1
        before = self.where
        try:
            return Frame(self, fn, self.bind(fn, args, kwargs)).run()
        finally:
            self.depth -= 1
            if sys.exc_info()[0] is None:
                self.where = before

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
            special = _SPECIAL.get(f)
            name = allowed.operator_name(f)
        except TypeError:
            special = name = None
        if special is not None:
            return special(self, *args, **kwargs)
        if name is not None:
            return self._operator(f, name, args, kwargs)
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
            if getattr(f, "_dynamo_allowed_in_graph", False):
                return self.recorder.call(f, f.__name__, args, kwargs)
            return self.inline(f, args, kwargs)
        if isinstance(f, Module):
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
            return f(*self.recorder.real(tuple(args)), **self.recorder.real(kwargs))
        if not contains_tensor((args, kwargs)) and name not in allowed._FACTORIES:
            raise Unsupported(f"torch's {name} without a tensor among its arguments")
        if any(isinstance(x, torch.Generator) for x in (*args, *kwargs.values())):
            raise Unsupported("a torch.Generator")
        if kwargs.get("requires_grad"):
            raise Unsupported("a tensor that requires grad made within the function")
        return self._counted(self.recorder.call(f, name, args, kwargs))

    def _counted(self, result):
        if type(result) in (tuple, list):   # how many tensors there are hangs on sizes (split, unbind)
            self.guards.shapes_matter = True
        return result

    def _tensor_method(self, f, args, kwargs):
        x, name = f.tensor, f.name
        if name in allowed.TENSOR_FACTS or name in allowed.TENSOR_SHAPE_FACTS:
            return getattr(self.recorder.real(x), name)(*args, **kwargs)
        if any(isinstance(v, torch.Generator) for v in (*args, *kwargs.values())):
            raise Unsupported("a torch.Generator")
        return self._counted(self.recorder.call(name, name, (x, *args), kwargs, method=True))

    def _module(self, m, args, kwargs):
        from torch.nn.modules import module as home
        t = type(m)
        if not self.reach.is_outside(m):
            raise Unsupported(f"a {t.__name__} that the function made")
        if isinstance(m, _optimized_module()):
            return self.call(self.reach.attribute(m, "_orig_mod"), args, kwargs)
        if vars(m).get("_torchdynamo_disable"):
            raise Unsupported(f"a {t.__name__} marked by torch.compiler.disable")
        if t.__call__ is not Module.__call__:
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
            args = tuple(list(a) if type(a) in _ITERATORS else a for a in args)
            if not is_plain((args, kwargs)):
                raise Unsupported(f"{t.__name__}.{name} of what are no constants")
            return self._pure(f, args, kwargs)
        if isinstance(owner, type):
            if owner in (dict,) and name == "fromkeys":
                return f(*args)
            raise Unsupported(f"{owner.__name__}.{name}")
        if isinstance(owner, tuple) or t in allowed.LOCAL_TYPES or t in _VIEWS:
            if name in ("index", "count", "remove", "sort", "__contains__") and not is_plain((owner, args)):
                raise Unsupported(f"{t.__name__}.{name} with what are no constants")
            if name in allowed.READING or isinstance(owner, tuple):
                return f(*args, **kwargs)
            if name in allowed.WRITING and not self.reach.is_outside(owner):
                return f(*args, **kwargs)
            raise Unsupported(f"{t.__name__}.{name} of a {'container from outside' if self.reach.is_outside(owner) else t.__name__}")
        raise Unsupported(f"{t.__name__}.{name}")

    def _pure(self, f, args, kwargs):
        for x in (*args, *kwargs.values()):
            t = type(x)
            if t not in allowed.CONSTANT_TYPES and t not in allowed.LOCAL_TYPES and t not in _ITERATORS and t not in _VIEWS \
                    and not isinstance(x, (tuple, torch.Tensor)):
                raise Unsupported(f"{_named(f)} of a {t.__name__}")
            if t in _ITERATORS and self.reach.is_outside(x):
                raise Unsupported("an iterator from outside")
        return f(*args, **kwargs)

    def _make(self, cls, args, kwargs):
        if issubclass(cls, tuple) and hasattr(cls, "_fields") and cls.__new__.__qualname__ != "tuple.__new__" \
                and getattr(cls.__new__, "__module__", "").startswith("namedtuple_") and cls.__init__ is object.__init__:
            return cls(*args, **kwargs)
        if cls is collections.OrderedDict:
            return cls(*args, **kwargs)
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
                    if isinstance(a, type) or isinstance(a, (Module, enum.Enum)) and f in (operator.eq, operator.ne):
                        continue
                    if type(a) not in allowed.CONSTANT_TYPES and type(a) not in allowed.LOCAL_TYPES:
                        raise Unsupported(f"{f.__name__} of a {type(a).__name__}")
            if f in _COMPARE.values() and contains_tensor(args):
                raise Unsupported("containers of tensors are compared")
            if (f in _COMPARE.values() or f is operator.mod or f is operator.contains) and not is_plain(args):
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
            return self.length(x) != 0
        return True

    def length(self, x):
        if isinstance(x, torch.Tensor):
            self.guards.shapes_matter = True
            return len(self.recorder.real(x))
        t = type(x)
        if t in allowed.CONSTANT_TYPES or t in allowed.LOCAL_TYPES or t in _VIEWS or isinstance(x, tuple):
            return len(x)
        return self.call(self.reach.attribute(x, "__len__"), (), {})

    def iterate(self, x):
        if isinstance(x, torch.Tensor):
            self.guards.shapes_matter = True
            return iter(self.recorder.call(torch.unbind, "unbind", (x,), {}))
        t = type(x)
        if t in _ITERATORS:
            if self.reach.is_outside(x):
                raise Unsupported("an iterator from outside")
            return x
        if t in allowed.CONSTANT_TYPES or t in allowed.LOCAL_TYPES or t in _VIEWS or isinstance(x, tuple):
            return iter(x)
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


def _named(f):
    return f"{getattr(f, '__module__', None) or ''}.{getattr(f, '__qualname__', None) or repr(f)[:80]}".lstrip(".")


def _optimized_module():
    from .eval_frame import OptimizedModule
    return OptimizedModule


_GRAD_MODES = {c: c.__init__ for c in (torch.no_grad, torch.enable_grad, torch.set_grad_enabled) if isinstance(c, type)}


# ---- builtins that are more than a call --------------------------------------------------------

def _isinstance(run, x, kinds):
    for k in kinds if isinstance(kinds, tuple) else (kinds,):
        if isinstance(k, type) and type(k) is not type and "__instancecheck__" in vars(type(k)) and not is_torchs(k) and type(k).__module__ != "abc":
            raise Unsupported(f"isinstance of {k.__name__}, whose class decides")
    return isinstance(x, kinds)


def _getattr(run, x, name, *default):
    try:
        return run.reach.attribute(x, name)
    except AttributeError:
        if default:
            return default[0]
        raise


def _hasattr(run, x, name):
    if isinstance(x, torch.Tensor):
        if name not in dir(torch.Tensor):
            raise Unsupported(f"hasattr of a tensor and {name!r}")
        return True
    try:
        run.reach.attribute(x, name)
        return True
    except AttributeError:
        return False


def _container(kind):
    def make(run, *args):
        return kind(run.iterate(args[0])) if args else kind()
    return make


def _set(run, *args):
    items = list(run.iterate(args[0])) if args else []
    if contains_tensor(items):
        raise Unsupported("a set of tensors")
    return set(items)


def _zip(run, *args, **kwargs):
    return zip(*(run.iterate(a) for a in args), **kwargs)


def _enumerate(run, x, start=0):
    return enumerate(run.iterate(x), start)


def _reversed(run, x):
    return iter(list(run.iterate(x))[::-1])


def _map(run, f, *args):
    return iter([run.call(f, xs, {}) for xs in zip(*(run.iterate(a) for a in args))])


def _filter(run, f, x):
    return iter([i for i in run.iterate(x) if run.truth(i if f is None else run.call(f, (i,), {}))])


def _sum(run, x, start=0):
    for i in run.iterate(x):
        start = run.apply(operator.add, start, i)
    return start


def _any(run, x):
    return any(run.truth(i) for i in run.iterate(x))


def _all(run, x):
    return all(run.truth(i) for i in run.iterate(x))


def _of_constants(f):
    def call(run, *args, **kwargs):
        if contains_tensor((args, kwargs)) or any(callable(v) for v in kwargs.values()):
            raise Unsupported(f"{f.__name__} of tensors or with a function gives Python their data")
        args = [list(a) if type(a) in _ITERATORS or type(a) in _VIEWS else a for a in args]
        if contains_tensor(args):
            raise Unsupported(f"{f.__name__} of tensors gives Python their data")
        if not is_plain((args, kwargs)) and f not in (dict, frozenset, slice):
            raise Unsupported(f"{f.__name__} of what are no constants")
        return run._pure(f, args, kwargs)
    return call


def _abs(run, x):
    return run.apply(operator.abs, x)


def _pow(run, x, y, *mod):
    return pow(x, y, *mod) if mod else run.apply(operator.pow, x, y)


def _round(run, x, *digits):
    if isinstance(x, torch.Tensor):
        return run.recorder.call(torch.round, "round", (x,), {"decimals": digits[0]} if digits else {})
    return run._pure(round, (x, *digits), {})


def _next(run, x, *default):
    if type(x) not in _ITERATORS or run.reach.is_outside(x):
        raise Unsupported(f"next of a {type(x).__name__}")
    return next(x, *default)


def _type(run, x, *more):
    if more:
        raise Unsupported("a class is made")
    return type(x)


def _constant(value):
    return lambda run, *args, **kwargs: value


def _query(f):
    return lambda run: f()


def _cast(run, kind, x):
    return x


_SPECIAL = {
    isinstance: _isinstance, getattr: _getattr, hasattr: _hasattr, len: Run.length, list: _container(list), tuple: _container(tuple),
    set: _set, zip: _zip, enumerate: _enumerate, reversed: _reversed, map: _map, filter: _filter, sum: _sum, any: _any, all: _all,
    iter: Run.iterate, next: _next, type: _type, callable: lambda run, x: callable(x), abs: _abs, pow: _pow, round: _round,
    torch.is_grad_enabled: _query(torch.is_grad_enabled), torch.get_default_dtype: _query(torch.get_default_dtype),
    torch.is_tensor: lambda run, x: isinstance(x, torch.Tensor), __import__("typing").cast: _cast,
    **{f: _of_constants(f) for f in (int, float, bool, str, complex, max, min, sorted, divmod, range, frozenset, dict, bytes, chr, ord,
                                     slice)},
}


def _dict(run, *args, **kwargs):
    if args and not isinstance(args[0], dict):
        args = ([tuple(run.iterate(p)) for p in run.iterate(args[0])],)
    return dict(*args, **kwargs)


_SPECIAL[dict] = _dict
for _f in (torch.overrides.has_torch_function, torch.overrides.has_torch_function_unary, torch.overrides.has_torch_function_variadic):
    _SPECIAL[_f] = _constant(False)   # tensors are plain here, and no mode is active
_SPECIAL[slice] = lambda run, *args: slice(*args)
_SPECIAL[bool] = lambda run, x=False: run.truth(x)


class Frame:
    """The byte code of one function, run on values."""

    def __init__(self, run, fn, bound):
        self.r, self.fn, self.code = run, fn, fn.__code__
        self.locals, self.stack, self.names = bound, [], None
        self.cells = {}
        self.yielded = []
        self.instructions = _instructions(self.code)
        self.jumped = None

    def run(self):
        r, code, at, line = self.r, self.code, 0, self.code.co_firstlineno
        instructions, index = self.instructions
        while True:
            i = instructions[at]
            if i.starts_line is not None:
                line = i.starts_line
            r.where = (code.co_filename, line, code.co_name)
            r.steps += 1
            if r.steps > 400000:
                raise Unsupported("the function is too long to follow")
            op = i.opname
            if op == "RETURN_VALUE":
                value = self.stack.pop()
                return iter(self.yielded) if code.co_flags & 0x20 else value
            handler = getattr(self, op, None)
            if handler is None:
                raise Unsupported(f"the instruction {op}")
            self.jumped = None
            handler(i)
            at = at + 1 if self.jumped is None else index[self.jumped]

    # Each method is an instruction of the same name.
    def RESUME(self, i):
        pass

    NOP = PRECALL = CACHE = EXTENDED_ARG = COPY_FREE_VARS = RESUME

    def RETURN_GENERATOR(self, i):
        self.stack.append(None)   # a generator expression gives all its items at once

    def YIELD_VALUE(self, i):
        self.yielded.append(self.stack[-1])

    def MAKE_CELL(self, i):
        cell = types.CellType(self.locals[i.argval]) if i.argval in self.locals else types.CellType()
        self.cells[i.argval] = cell
        self.r.local_cells.add(id(cell))
        self.r.reach.keep.append(cell)

    def PUSH_NULL(self, i):
        self.stack.append(_NULL)

    def POP_TOP(self, i):
        self.stack.pop()

    def COPY(self, i):
        self.stack.append(self.stack[-i.arg])

    def SWAP(self, i):
        s = self.stack
        s[-1], s[-i.arg] = s[-i.arg], s[-1]

    def LOAD_CONST(self, i):
        self.stack.append(i.argval)

    def LOAD_FAST(self, i):
        if i.argval not in self.locals:
            raise UnboundLocalError(f"local variable {i.argval!r} has no value")
        self.stack.append(self.locals[i.argval])

    def STORE_FAST(self, i):
        self.locals[i.argval] = self.stack.pop()

    def DELETE_FAST(self, i):
        del self.locals[i.argval]

    def LOAD_GLOBAL(self, i):
        if i.arg & 1:
            self.stack.append(_NULL)
        self.stack.append(self.r.reach.global_name(self.fn.__globals__, i.argval))

    def _cell(self, name):
        if name in self.cells:
            return self.cells[name]
        return self.fn.__closure__[self.code.co_freevars.index(name)]

    def LOAD_CLOSURE(self, i):
        self.stack.append(self._cell(i.argval))

    def LOAD_DEREF(self, i):
        cell = self._cell(i.argval)
        self.stack.append(cell.cell_contents if id(cell) in self.r.local_cells else self.r.reach.cell(cell, i.argval))

    def STORE_DEREF(self, i):
        cell = self._cell(i.argval)
        if id(cell) not in self.r.local_cells:
            raise Unsupported(f"a store to {i.argval}, a variable of an enclosing function")
        cell.cell_contents = self.stack.pop()

    def LOAD_ATTR(self, i):
        self.stack.append(self.r.reach.attribute(self.stack.pop(), i.argval))

    def LOAD_METHOD(self, i):
        x = self.stack.pop()
        self.stack += (_NULL, self.r.reach.attribute(x, i.argval))

    def KW_NAMES(self, i):
        self.names = self.code.co_consts[i.arg]

    def CALL(self, i):
        s, n = self.stack, i.arg
        args = s[len(s) - n:]
        del s[len(s) - n:]
        top, below = s.pop(), s.pop()
        if below is not _NULL:
            below, top, args = _NULL, below, [top, *args]
        kwargs = {}
        if self.names:
            k = len(self.names)
            kwargs, args = dict(zip(self.names, args[len(args) - k:])), args[:len(args) - k]
            self.names = None
        s.append(self._call(top, args, kwargs))

    def _call(self, f, args, kwargs):
        if f is super and not args:
            cell = self._cell("__class__")
            first = self.code.co_varnames[0]
            me = self.locals[first] if first not in self.cells else self.cells[first].cell_contents
            return super(cell.cell_contents, me)
        if type(f) is _Exit:
            self.r.recorder.grad_mode(f.context.before)
            f.context.before = None
            return None
        return self.r.call(f, tuple(args), kwargs)

    def CALL_FUNCTION_EX(self, i):
        kwargs = self.stack.pop() if i.arg & 1 else {}
        args = self.stack.pop()
        f = self.stack.pop()
        if self.stack and self.stack[-1] is _NULL:
            self.stack.pop()
        self.stack.append(self._call(f, tuple(self.r.iterate(args)), dict(kwargs)))

    def BINARY_OP(self, i):
        b, a = self.stack.pop(), self.stack.pop()
        name = _BINARY[i.arg % 13]
        if i.arg >= 13:
            name = "i" + name.rstrip("_")
            if self.r.reach.is_outside(a):
                raise Unsupported("a container from outside is changed in place")
        self.stack.append(self.r.apply(getattr(operator, name), a, b))

    def _unary(name):
        def handler(self, i):
            self.stack.append(self.r.apply(getattr(operator, name), self.stack.pop()))
        return handler

    UNARY_NEGATIVE, UNARY_POSITIVE, UNARY_INVERT = _unary("neg"), _unary("pos"), _unary("invert")

    def UNARY_NOT(self, i):
        self.stack.append(not self.r.truth(self.stack.pop()))

    def COMPARE_OP(self, i):
        b, a = self.stack.pop(), self.stack.pop()
        self.stack.append(self.r.apply(_COMPARE[i.argval], a, b))

    def IS_OP(self, i):
        b, a = self.stack.pop(), self.stack.pop()
        self.stack.append(self.r.identical(a, b) != bool(i.arg))

    def CONTAINS_OP(self, i):
        where, x = self.stack.pop(), self.stack.pop()
        if isinstance(x, torch.Tensor) or isinstance(where, torch.Tensor) or (
                type(where) in (list, tuple) and contains_tensor(where)):
            raise Unsupported("a search among tensors gives Python their data")
        t = type(where)
        if t in allowed.CONSTANT_TYPES or t in allowed.LOCAL_TYPES or t in _VIEWS or isinstance(where, tuple):
            if not is_plain(x) or not is_plain(tuple(where) if isinstance(where, dict) else where):
                raise Unsupported("a search among what are no constants")
            found = x in where
        else:
            found = self.r.truth(self.r.call(self.r.reach.attribute(where, "__contains__"), (x,), {}))
        self.stack.append(found != bool(i.arg))

    def BINARY_SUBSCR(self, i):
        key, x = self.stack.pop(), self.stack.pop()
        self.stack.append(self.r.item(x, key))

    def STORE_SUBSCR(self, i):
        key, x, value = self.stack.pop(), self.stack.pop(), self.stack.pop()
        if isinstance(x, torch.Tensor):
            if allowed._reads_index(key) and not isinstance(value, (int, float, bool)) and not (
                    isinstance(value, torch.Tensor) and value.ndim == 0):
                raise Unsupported("an assignment by a mask")
            self.r.recorder.call(operator.setitem, "setitem", (x, key, value), {})
        elif type(x) in (list, dict, collections.OrderedDict) and not self.r.reach.is_outside(x):
            x[key] = value
        else:
            raise Unsupported(f"a store into a {type(x).__name__} from outside")

    def DELETE_SUBSCR(self, i):
        key, x = self.stack.pop(), self.stack.pop()
        if type(x) not in (list, dict, collections.OrderedDict) or self.r.reach.is_outside(x):
            raise Unsupported(f"an item of a {type(x).__name__} from outside is deleted")
        del x[key]

    def STORE_GLOBAL(self, i):
        raise Unsupported(f"a store to the global {i.argval}")

    def DELETE_GLOBAL(self, i):
        raise Unsupported(f"the global {i.argval} is deleted")

    def STORE_ATTR(self, i):
        x, value = self.stack.pop(), self.stack.pop()
        if id(x) in self.r.reach.made:
            if any(hasattr(type(vars(base).get(i.argval)), "__set__") for base in type(x).__mro__):
                raise Unsupported(f"{i.argval} is a descriptor")
            vars(x)[i.argval] = value
            return
        if isinstance(x, Module) and isinstance(value, torch.Tensor) and type(x).__setattr__ is Module.__setattr__ \
                and value is self.r.reach.attribute(x, i.argval):
            return   # self.buffer += ...: what is stored is there already
        raise Unsupported(f"a store to the attribute {i.argval}")

    def DELETE_ATTR(self, i):
        raise Unsupported(f"the attribute {i.argval} is deleted")

    def RAISE_VARARGS(self, i):
        raise Unsupported("an exception is raised")

    def _items(self, n):
        if n == 0:
            return []
        items = self.stack[-n:]
        del self.stack[-n:]
        return items

    def BUILD_TUPLE(self, i):
        self.stack.append(tuple(self._items(i.arg)))

    def BUILD_LIST(self, i):
        self.stack.append(self._items(i.arg))

    def BUILD_SET(self, i):
        items = self._items(i.arg)
        if contains_tensor(items):
            raise Unsupported("a set of tensors")
        self.stack.append(set(items))

    def BUILD_MAP(self, i):
        items = self._items(2 * i.arg)
        self.stack.append(dict(zip(items[::2], items[1::2])))

    def BUILD_CONST_KEY_MAP(self, i):
        keys = self.stack.pop()
        self.stack.append(dict(zip(keys, self._items(i.arg))))

    def BUILD_SLICE(self, i):
        self.stack.append(slice(*self._items(i.arg)))

    def BUILD_STRING(self, i):
        self.stack.append("".join(self._items(i.arg)))

    def FORMAT_VALUE(self, i):
        spec = self.stack.pop() if i.arg & 4 else ""
        value = self.stack.pop()
        if type(value) not in allowed.CONSTANT_TYPES:
            raise Unsupported(f"the text of a {type(value).__name__}")
        convert = (lambda x: x, str, repr, ascii)[i.arg & 3]
        self.stack.append(format(convert(value), spec))

    def LIST_EXTEND(self, i):
        items = self.stack.pop()
        self.stack[-i.arg].extend(self.r.iterate(items))

    def LIST_APPEND(self, i):
        self.stack[-i.arg - 1].append(self.stack[-1])
        self.stack.pop()

    def SET_ADD(self, i):
        x = self.stack.pop()
        if contains_tensor(x):
            raise Unsupported("a set of tensors")
        self.stack[-i.arg].add(x)

    def SET_UPDATE(self, i):
        items = list(self.r.iterate(self.stack.pop()))
        if contains_tensor(items):
            raise Unsupported("a set of tensors")
        self.stack[-i.arg].update(items)

    def MAP_ADD(self, i):
        value, key = self.stack.pop(), self.stack.pop()
        self.stack[-i.arg][key] = value

    def DICT_UPDATE(self, i):
        more = self.stack.pop()
        if not isinstance(more, dict):
            raise Unsupported(f"** of a {type(more).__name__}")
        self.stack[-i.arg].update(more)

    def DICT_MERGE(self, i):
        more = self.stack.pop()
        if not isinstance(more, dict):
            raise Unsupported(f"** of a {type(more).__name__}")
        into = self.stack[-i.arg]
        for k in more:
            if k in into:
                raise TypeError(f"several values for keyword argument {k!r}")
        into.update(more)

    def LIST_TO_TUPLE(self, i):
        self.stack.append(tuple(self.stack.pop()))

    def UNPACK_SEQUENCE(self, i):
        items = list(self.r.iterate(self.stack.pop()))
        if len(items) != i.arg:
            raise ValueError(f"{i.arg} values wanted, {len(items)} found")
        self.stack += reversed(items)

    def UNPACK_EX(self, i):
        items = list(self.r.iterate(self.stack.pop()))
        before, after = i.arg & 0xFF, i.arg >> 8
        if len(items) < before + after:
            raise ValueError(f"at least {before + after} values wanted, {len(items)} found")
        end = len(items) - after
        self.stack += reversed([*items[:before], items[before:end], *items[end:]])

    def GET_ITER(self, i):
        self.stack.append(self.r.iterate(self.stack.pop()))

    def FOR_ITER(self, i):
        try:
            value = next(self.stack[-1])
        except StopIteration:
            self.stack.pop()
            self.jumped = i.argval
        else:
            self.stack.append(value)

    def JUMP_FORWARD(self, i):
        self.jumped = i.argval

    JUMP_BACKWARD = JUMP_BACKWARD_NO_INTERRUPT = JUMP_FORWARD

    def _branch(self, i, take):
        if take:
            self.jumped = i.argval

    def POP_JUMP_FORWARD_IF_TRUE(self, i):
        self._branch(i, self.r.truth(self.stack.pop()))

    def POP_JUMP_FORWARD_IF_FALSE(self, i):
        self._branch(i, not self.r.truth(self.stack.pop()))

    def POP_JUMP_FORWARD_IF_NONE(self, i):
        self._branch(i, self.stack.pop() is None)

    def POP_JUMP_FORWARD_IF_NOT_NONE(self, i):
        self._branch(i, self.stack.pop() is not None)

    POP_JUMP_BACKWARD_IF_TRUE, POP_JUMP_BACKWARD_IF_FALSE = POP_JUMP_FORWARD_IF_TRUE, POP_JUMP_FORWARD_IF_FALSE
    POP_JUMP_BACKWARD_IF_NONE, POP_JUMP_BACKWARD_IF_NOT_NONE = POP_JUMP_FORWARD_IF_NONE, POP_JUMP_FORWARD_IF_NOT_NONE

    def JUMP_IF_TRUE_OR_POP(self, i):
        if self.r.truth(self.stack[-1]):
            self.jumped = i.argval
        else:
            self.stack.pop()

    def JUMP_IF_FALSE_OR_POP(self, i):
        if not self.r.truth(self.stack[-1]):
            self.jumped = i.argval
        else:
            self.stack.pop()

    def MAKE_FUNCTION(self, i):
        code = self.stack.pop()
        closure = self.stack.pop() if i.arg & 8 else None
        if i.arg & 4:
            self.stack.pop()   # annotations
        kwdefaults = self.stack.pop() if i.arg & 2 else None
        defaults = self.stack.pop() if i.arg & 1 else None
        fn = types.FunctionType(code, self.fn.__globals__, code.co_name, defaults, closure)
        fn.__kwdefaults__ = kwdefaults
        self.r.reach.keep.append(fn)
        self.stack.append(fn)

    def BEFORE_WITH(self, i):
        context = self.stack.pop()
        if type(context) is not GradMode:
            raise Unsupported(f"a with block of a {type(context).__name__}")
        if context.before is None:
            context.before = torch.is_grad_enabled()
            self.r.recorder.grad_mode(context.on)
        self.stack += (_Exit(context), context)

    def IMPORT_NAME(self, i):
        names, level = self.stack.pop(), self.stack.pop()
        full = i.argval
        if level or full not in sys.modules or full.split(".")[0] not in ("torch", "math", "operator", "typing"):
            raise Unsupported(f"an import of {full}")
        self.stack.append(sys.modules[full if names else full.split(".")[0]])

    def IMPORT_FROM(self, i):
        self.stack.append(self.r.reach.attribute(self.stack[-1], i.argval))


_known_code = {}


def _instructions(code):
    found = _known_code.get(code)
    if found is None:
        listed = list(dis.get_instructions(code))
        found = _known_code[code] = (listed, {i.offset: n for n, i in enumerate(listed)})
    return found


def add_queries(is_compiling, graph_break):
    """Makes functions known that say where they run."""
    def broken(run, msg=""):
        raise Unsupported("torch._dynamo.graph_break" + (f": {msg}" if msg else ""))
    _SPECIAL[is_compiling] = _constant(True)
    _SPECIAL[graph_break] = broken
