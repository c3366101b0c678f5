"""Compiled functions and modules: the entries of a function, and what happens where none fits."""
import contextlib
import functools
import threading
import types

import torch

from . import allowed, config, exc
from .backends.registry import lookup_backend
from .backends.training import wants_gradients
from .guards import EAGER, MISS, busy
from .interpret import KNOWN_PYTHON, Run
from .reach import Source
from .utils import counters

Module = torch.nn.Module
_lock = threading.RLock()
_all = None          # every Compiled that lives, a WeakSet
_following = threading.local()
_stance = ["default"]


def _log():
    import logging   # on first use: most programs need none
    return logging.getLogger("torch._dynamo")


def _registry():
    global _all
    if _all is None:
        import weakref
        _all = weakref.WeakSet()
    return _all


class Compiled:
    """One function: its entries, tried in the order of their last use."""

    def __init__(self, fn, backend, fullgraph=False, dynamic=None, options=None, limit=None, explain=None):
        self.fn, self.backend, self.fullgraph, self.dynamic, self.options = fn, backend, fullgraph, dynamic, options
        self.limit, self.explain = limit, explain
        self.reset()
        _registry().add(self)

    def reset(self):
        self.entries, self.noticed, self.raised = [], False, 0

    def __call__(self, *args, **kwargs):
        if _stance[0] == "force_eager":
            return self.fn(*args, **kwargs)
        entries = self.entries
        for i, entry in enumerate(entries):
            found = entry(args, kwargs)
            if found is not MISS:
                if i:
                    self.entries = [entry, *(e for e in entries if e is not entry)]
                return self.fn(*args, **kwargs) if found is EAGER else found
        return self.compile_and_run(args, kwargs)

    def notice(self, text):
        if not self.noticed:
            self.noticed = True
            _log().warning("torch.compile: %s runs as it is: %s", getattr(self.fn, "__qualname__", self.fn), text)

    def compile_and_run(self, args, kwargs):
        fn = self.fn
        if config.disable or _stance[0] == "force_eager" or getattr(_following, "on", False) or busy():
            return fn(*args, **kwargs)
        limit = self.limit or config.recompile_limit
        if self.raised >= limit:
            return fn(*args, **kwargs)
        if len(self.entries) >= limit:
            if self.fullgraph or config.fail_on_recompile_limit_hit:
                raise exc.FailOnRecompileLimitHit(f"{getattr(fn, '__qualname__', fn)} was compiled {limit} times, the limit")
            self.notice(f"it was compiled {limit} times, torch._dynamo.config.recompile_limit; each call was unlike those before")
            return fn(*args, **kwargs)
        if self.entries and _stance[0] == "eager_on_recompile":
            return fn(*args, **kwargs)
        if self.entries and (config.error_on_recompile or _stance[0] == "fail_on_recompile"):
            raise exc.RecompileError(f"{getattr(fn, '__qualname__', fn)} would be compiled again")
        with _lock:
            entry, error = self.follow(args, kwargs)
        if entry is None:   # the function raises, or what was followed did
            result = fn(*args, **kwargs)
            self.raised += 1
            self.notice(f"what was followed raised {type(error).__name__}: {error}")
            if self.fullgraph:
                raise exc.Unsupported(f"what was followed raised {type(error).__name__}: {error}") from error
            return result
        result = entry(args, kwargs)
        if result is MISS:
            self.notice("its guards do not hold for the call that made them: a value changed while it was followed, "
                        "or is not equal to itself")
            return fn(*args, **kwargs)
        self.entries = [entry, *self.entries]
        return fn(*args, **kwargs) if result is EAGER else result

    def follow(self, args, kwargs):
        """(entry, None), or (None, what the function raised)"""
        dynamic = self.dynamic is True or (self.dynamic is None and bool(self.entries) and config.automatic_dynamic_shapes)
        run = Run()
        guards, counter = run.guards, counters["frames"]
        counter["total"] += 1
        result = program = None
        grad, rng = torch.is_grad_enabled(), torch.get_rng_state()
        _following.on = True
        try:
            if not KNOWN_PYTHON:
                raise exc.Unsupported("byte code is followed on Python 3.11 only")
            function, first = _plain(self.fn)
            names = _argument_names(function, first)
            passed = [run.reach.outside(a, Source(f"a[{i}]", label=names[i] if i < len(names) else f"args_{i}"))
                      for i, a in enumerate(args)]
            named = {k: run.reach.outside(a, Source(f"k[{k!r}]", label=k)) for k, a in kwargs.items()}
            run.reach.outside(function, run.fixed(function))
            if first is not None:
                run.reach.outside(first, run.fixed(first))
                passed.insert(0, first)
            value = run.call(function, tuple(passed), named)
            if torch.is_grad_enabled() != grad:
                raise exc.Unsupported("it leaves grad mode other than it was")
            outputs, result = _rebuild(run, value)
            program = run.recorder.program(outputs) if run.recorder.calls else None
        except exc.Unsupported as e:
            if e.where is None:
                e.where = run.where
            program = result = None
            counters["graph_break"][e.reason] += 1
            if self.explain is not None:
                self.explain.append(e)
            if self.fullgraph:
                raise
            self.notice(str(e))
        except Exception as e:
            return None, e
        finally:
            _following.on = False
            torch._C._set_grad_enabled(grad)
            torch.set_rng_state(rng)
        inputs, called = [], _nothing
        if result is not None:
            counter["ok"] += 1
            if program is not None:
                inputs = [i.source.text for i in program.inputs]
                examples = [i.example for i in program.inputs]
                counters["stats"]["calls_captured"] += run.recorder.calls
                counters["stats"]["unique_graphs"] += 1
                if self.dynamic is not True and len(self.entries) < 4 and wants_gradients(examples):
                    guards.shapes_matter = True   # so that forward and backward can be one graph
                program.facts["static"] = guards.shapes_matter or not dynamic
                called = self.make(program, examples)
                for i in program.inputs:
                    i.example = None   # tensors of the call that was followed need not live on
        entry = guards.function(result, inputs, len(args), list(kwargs), called, dynamic)
        entry.program = program
        return entry, None

    def make(self, program, examples):
        backend = lookup_backend(self.backend)
        grad = torch.is_grad_enabled()
        state = torch.get_rng_state()
        try:
            gm = program if getattr(backend, "takes_programs", False) else program.graph_module()
            made = backend(gm, examples, **({"options": self.options} if self.options else {}))
        except exc.TorchDynamoException:
            raise
        except Exception as e:
            if not config.suppress_errors:
                raise exc.BackendCompilerFailed(self.backend, e) from e
            _log().warning("torch.compile: a back end failed, the graph runs as it is: %s", e)
            return program.forward
        finally:
            torch._C._set_grad_enabled(grad)
            torch.set_rng_state(state)
        if not callable(made):
            raise TypeError(f"back end {self.backend!r} gave a {type(made).__name__}, not a callable")
        return made


def _nothing():
    return ()


def _made(cls, attributes):
    made = object.__new__(cls)
    made.__dict__.update(attributes)
    return made


def _plain(fn):
    """(function of Python, its first argument or None)"""
    if isinstance(fn, types.MethodType):
        return fn.__func__, fn.__self__
    if isinstance(fn, Module):
        return fn, None
    return fn, None


def _argument_names(fn, first):
    fn = fn.forward if isinstance(fn, Module) else fn
    first = first if first is not None else getattr(fn, "__self__", None)
    code = getattr(fn, "__code__", None)
    return code.co_varnames[first is not None:code.co_argcount] if code is not None else ()


def _rebuild(run, value):
    """(tensors that the graph gives, expression over them, `o`, for what the function gives)"""
    outputs, index, seen, kept, g = [], {}, {}, [], run.guards

    def text(x):
        """An expression for x; what is met twice is one object by a name."""
        if type(x) in allowed.CONSTANT_TYPES or isinstance(x, torch.Tensor) or id(x) in run.reach.sources:
            return written(x)
        if id(x) in seen:
            if seen[id(x)] is None:
                raise exc.Unsupported("a container that holds itself is given back")
            return seen[id(x)]
        seen[id(x)] = None
        said = written(x)
        name = f"r{len(seen)}"
        kept.append(x)
        seen[id(x)] = name
        return f"({name} := {said})"

    def written(x):
        t = type(x)
        if isinstance(x, torch.Tensor):
            outside = run.recorder.outside.get(id(x))
            if outside is not None:
                var = g.tensors[outside[2].text][1]
                return var
            if id(x) not in run.recorder.values:
                raise exc.Unsupported("a tensor whose origin is not known is given back")
            if id(x) not in index:
                index[id(x)] = len(outputs)
                outputs.append(x)
            return f"o[{index[id(x)]}]"
        source = run.reach.sources.get(id(x))
        if source is not None:
            return source.text
        if t in allowed.CONSTANT_TYPES:
            return g.name(x)
        if t is tuple:
            return "(" + "".join(text(i) + ", " for i in x) + ")"
        if t is list:
            return "[" + ", ".join(map(text, x)) + "]"
        if t is dict:
            return "{" + ", ".join(f"{text(k)}: {text(v)}" for k, v in x.items()) + "}"
        if t is set and x:
            return "{" + ", ".join(map(text, x)) + "}"
        if t.__name__ == "OrderedDict":
            return f"{g.name(t)}([" + ", ".join(f"({text(k)}, {text(v)})" for k, v in x.items()) + "])"
        if isinstance(x, tuple) and hasattr(t, "_fields"):
            return f"{g.name(t)}(" + ", ".join(map(text, x)) + ")"
        if isinstance(x, tuple) and t.__module__ == "torch.return_types":
            return f"{g.name(t)}((" + "".join(text(i) + ", " for i in x) + "))"
        if id(x) in run.reach.made:
            g.names["made"] = _made
            return f"made({g.name(t, 'T')}, " + text(vars(x)) + ")"
        raise exc.Unsupported(f"a {t.__name__} is given back")

    return outputs, text(value)


class OptimizedModule(Module):
    """A module whose call is compiled. Attributes, parameters and the rest are those of the module within."""

    def __init__(self, mod, wrap):
        super().__init__()
        self._orig_mod = mod
        self.__dict__["_wrap"] = wrap
        self.__dict__["_compiled"] = wrap(mod)
        self.__dict__["training"] = mod.training

    def __call__(self, *args, **kwargs):
        mod, own = self._modules["_orig_mod"], self.__dict__
        if own["_forward_hooks"] or own["_forward_pre_hooks"] or own["_backward_hooks"] or own["_backward_pre_hooks"]:
            return super().__call__(*args, **kwargs)
        if mod._forward_hooks or mod._forward_pre_hooks or mod._backward_hooks or mod._backward_pre_hooks:
            return mod(*args, **kwargs)
        return self._compiled(*args, **kwargs)

    def forward(self, *args, **kwargs):
        return self._compiled(*args, **kwargs)

    def __getattr__(self, name):
        if name == "_orig_mod":
            return self._modules["_orig_mod"]
        return getattr(self._orig_mod, name)

    def __setattr__(self, name, value):
        if name == "_orig_mod":
            return super().__setattr__(name, value)
        if name in type(self).__dict__:
            return object.__setattr__(self, name, value)
        setattr(self._orig_mod, name, value)

    def __delattr__(self, name):
        delattr(self._orig_mod, name)

    @property
    def training(self):
        return self._orig_mod.training

    @training.setter
    def training(self, value):
        mod = self._modules.get("_orig_mod")
        if mod is not None:
            mod.training = value

    def __getstate__(self):
        state = dict(self.__dict__)
        state.pop("_compiled", None)
        state.pop("_compiled_call_impl", None)
        return state

    def __setstate__(self, state):
        self.__dict__.update(state)
        self.__dict__["_compiled"] = self._wrap(self._modules["_orig_mod"])

    def __dir__(self):
        return sorted({*super().__dir__(), *dir(self._orig_mod)})

    def __len__(self):
        return len(self._orig_mod)

    def __getitem__(self, key):
        return self._orig_mod[key]


class Wrap:
    """What torch.compile was told, applied to a function or module. Can be pickled where its back end can."""

    def __init__(self, **settings):
        self.settings = settings

    def __call__(self, fn):
        return Compiled(fn, **self.settings)


def compiled_callable(fn, **settings):
    """The compiled form of a function, method or module."""
    if isinstance(fn, OptimizedModule):
        fn = fn._orig_mod
    wrap = Wrap(**settings)
    if isinstance(fn, Module):
        return OptimizedModule(fn, wrap)
    if isinstance(fn, type):
        raise RuntimeError(f"torch.compile takes a function or a module, not the class {fn.__qualname__}")
    if not callable(fn):
        raise RuntimeError(f"torch.compile takes a function or a module, but got a {type(fn).__name__}")
    if not getattr(fn, "_torchdynamo_disable", False):
        original = getattr(fn, "_torchdynamo_orig_callable", fn)
        fn = types.MethodType(original, fn.__self__) if isinstance(fn, types.MethodType) and original is not fn else original
    compiled = wrap(fn)

    def call(*args, **kwargs):
        for entry in () if _stance[0] == "force_eager" else compiled.entries:   # the first is nearly always the one: here, for the sake of one frame
            found = entry(args, kwargs)
            if found is not MISS and found is not EAGER:
                return found
            break
        return compiled(*args, **kwargs)
    try:
        functools.update_wrapper(call, fn)
    except (AttributeError, TypeError):
        pass
    call._torchdynamo_orig_callable = fn
    call._compiled = compiled
    call.__wrapped__ = fn
    return call


@contextlib.contextmanager
def not_following():
    """Within it nothing is compiled on this thread."""
    before = getattr(_following, "on", False)
    _following.on = True
    try:
        yield
    finally:
        _following.on = before


def disable(fn=None, recursive=True, *, reason=None, wrapping=True):
    """disable(fn=None, recursive=True, *, reason=None): a function or module that is never compiled. Also a decorator.

    recursive=False leaves the functions that it calls compiled.
    """
    if fn is None:
        return lambda f: disable(f, recursive, reason=reason, wrapping=wrapping)
    if isinstance(fn, Module):
        if not recursive:
            return fn
        fn.__dict__["_compiled_call_impl"] = disable(fn._call_impl, reason=reason)
        fn.__dict__["_torchdynamo_disable"] = True
        return fn
    fn = getattr(fn, "_torchdynamo_orig_callable", fn)
    if not wrapping:
        fn._torchdynamo_disable = True
        return fn

    @functools.wraps(fn)
    def call(*args, **kwargs):
        if not recursive:
            return fn(*args, **kwargs)
        with not_following():
            return fn(*args, **kwargs)
    call._torchdynamo_disable, call._torchdynamo_orig_callable, call._torchdynamo_disable_msg = True, fn, reason
    return call


def reset():
    """Forgets every compiled graph and notice."""
    with _lock:
        for c in list(_registry()):
            c.reset()
