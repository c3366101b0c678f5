"""Compiled functions and modules: the entries of a function, and what happens where none fits."""
import _thread
import contextlib
import functools
import os
import types

import torch

from . import allowed, config, exc
from .backends.registry import lookup_backend
from .backends.training import wants_gradients
from .frame import Frame
from .guards import EAGER, MISS, busy
from .interpret import KNOWN_PYTHON, Run
from .reach import Source
from .record import NeedsValues
from .rebuild import Rebuild, RebuildState
from .unseen import unseen
from .utils import counters
from .values import Lazy, Stopped

_lock = _thread.RLock()
_PATIENCE = 2        # seconds that a fork waits for a function that another thread follows, which may import modules
_all = None          # every Compiled that lives, a WeakSet
_following = _thread._local()
_stance = ["default"]
_accumulated = None  # code: how many graphs were made of it; weak, code that a program makes may die


def _before_fork():
    _following.held = _lock.acquire(timeout=_PATIENCE)


def _after_fork():
    held, _following.held = getattr(_following, "held", False), False
    if held:
        _lock.release()
    return held


def _after_fork_in_child():
    if not _after_fork():   # who holds it is not here
        _lock._at_fork_reinit()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child)


def _counts():
    global _accumulated
    if _accumulated is None:
        from weakref import WeakKeyDictionary
        _accumulated = WeakKeyDictionary()
    return _accumulated


def _log():
    import logging   # on first use: most programs need none
    return logging.getLogger("torch._dynamo")


def _registry():
    global _all
    if _all is None:
        from _weakrefset import WeakSet
        _all = WeakSet()
    return _all


class Compiled:
    """One function: its entries, tried in the order of their last use. Of a function that is left in the middle `parts` has the
    rest; a rest is a Compiled itself, whose `segment` says of what."""

    def __init__(self, fn, backend, fullgraph=False, dynamic=None, settings=None, limit=None, explain=None, segment=None, root=None):
        self.fn, self.backend, self.fullgraph, self.dynamic, self.settings = fn, backend, fullgraph, dynamic, settings or {}
        self.limit, self.explain, self.segment, self.root = limit, explain, segment, root or self
        self.reset()
        _registry().add(self)

    def like(self, fn, segment=None):
        """fn compiled as this one is."""
        return Compiled(fn, self.backend, False, self.dynamic, self.settings, self.limit, self.explain, segment,
                        self.root if segment else None)

    def reset(self):
        self.entries, self.noticed, self.raised, self.parts, self.seen = [], False, 0, None, False

    @unseen
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

    def notice(self, text, error=None):
        if not self.root.noticed:
            self.root.noticed = True
            _log().warning("torch.compile: %s %s", getattr(self.root.fn, "__qualname__", type(self.root.fn).__name__), text,
                           exc_info=error if config.verbose else None)

    @unseen
    def compile_and_run(self, args, kwargs):
        fn = self.fn
        if config.disable or _stance[0] == "force_eager" or getattr(_following, "on", False) or busy():
            return fn(*args, **kwargs)
        if _stance[0] == "eager_then_compile" and not self.seen:
            self.seen = True
            return fn(*args, **kwargs)
        limit = (self.limit or config.recompile_limit) * (4 if self.segment else 1)   # a rest serves all rounds of a loop
        if self.raised >= limit:
            return fn(*args, **kwargs)
        if len(self.entries) >= limit:
            if self.fullgraph or config.fail_on_recompile_limit_hit:
                raise exc.FailOnRecompileLimitHit(f"{getattr(fn, '__qualname__', fn)} was compiled {limit} times, the limit")
            self.notice(f"runs as it is: it was compiled {limit} times, torch._dynamo.config.recompile_limit; each call was unlike "
                        "those before")
            return fn(*args, **kwargs)
        code = getattr(getattr(fn, "forward", fn), "__code__", None)
        if code is not None and _counts().get(code, 0) >= config.accumulated_recompile_limit:
            self.notice(f"runs as it is: its code was compiled {config.accumulated_recompile_limit} times, "
                        "torch._dynamo.config.accumulated_recompile_limit")
            return fn(*args, **kwargs)
        if self.entries and _stance[0] == "eager_on_recompile":
            return fn(*args, **kwargs)
        if self.entries and (config.error_on_recompile or _stance[0] == "fail_on_recompile"):
            raise exc.RecompileError(f"{getattr(fn, '__qualname__', fn)} would be compiled again")
        hooks = torch._C._switch_saved_hooks(0)   # what is followed is not saved
        try:
            with _lock:
                entry, error = self.follow(args, kwargs)
        finally:
            torch._C._switch_saved_hooks(hooks)
        if entry is None:   # the function raises, or what was followed did
            result = fn(*args, **kwargs)
            self.raised += 1
            self.notice(f"runs as it is: what was followed raised {type(error).__name__}: {error}", error)
            if self.fullgraph:
                raise exc.Unsupported(f"what was followed raised {type(error).__name__}: {error}") from error
            return result
        if code is not None and not self.segment:
            counts = _counts()
            counts[code] = counts.get(code, 0) + 1
        self.entries = [entry, *self.entries]
        result = entry(args, kwargs)
        if result is MISS:
            self.entries = [e for e in self.entries if e is not entry]
            self.notice("runs as it is: its guards do not hold for the call that made them: a value changed while it was followed, "
                        "or is not equal to itself")
            return fn(*args, **kwargs)
        return fn(*args, **kwargs) if result is EAGER else result

    def follow(self, args, kwargs):
        """(entry, None), or (None, what the function raised)"""
        dynamic = config.dynamic_shapes and (self.dynamic is True or self.dynamic is None and (
            not config.assume_static_by_default or bool(self.entries) and config.automatic_dynamic_shapes))
        counter = counters["frames"]
        counter["total"] += 1
        run, error = self.without_values(args, kwargs)
        if run is None:
            run = Run()
            error = self.attempt(run, args, kwargs)
        if isinstance(error, exc.Unsupported):
            broken, run = run, None if self.fullgraph else self.stopped(run, error, args, kwargs)
            if run is None or not run.site.inner:   # a function that is compiled by itself says so itself
                counters["graph_break"][error.reason] += 1
                if self.explain is not None:
                    self.explain.append(error)
                if self.fullgraph:
                    raise error
                self.notice(f"{'runs as it is' if run is None else 'is compiled in parts'}: {error}", error)
            run = run or broken
            error.__traceback__ = error.__context__ = None   # its frames hold the call's tensors
        elif error is not None:
            return None, error
        guards, inputs, called, program = run.guards, [], _nothing, run.program
        if run.body is not None:
            counter["ok"] += 1
            if program is not None:
                inputs = [i.source.text for i in program.inputs]
                examples = [i.example for i in program.inputs]
                counters["stats"]["calls_captured"] += run.recorder.calls
                counters["stats"]["unique_graphs"] += 1
                marked = any(guards.free_sizes(x, False) for x in examples)
                if self.dynamic is not True and not marked and len(self.entries) < 4 and wants_gradients(program, examples):
                    guards.shapes_matter = True   # so that forward and backward can be one graph
                program.facts["static"] = guards.shapes_matter or not dynamic and not marked
                called = self.make(program, examples)
                for i in program.inputs:
                    i.example = None   # tensors of the call that was followed need not live on
        entry = guards.function(run.body, inputs, len(args), list(kwargs), called, dynamic)
        entry.program = program
        return entry, None

    def without_values(self, args, kwargs):
        """(a run that followed the call on tensors without values, None or the Unsupported that it met), or two None."""
        try:
            run = Run(bare=True)
        except NeedsValues:
            return None, None
        error = self.attempt(run, args, kwargs)
        # A function may be left anywhere; what is an error to be shown is one on values, too.
        return (run, error) if error is None or isinstance(error, exc.Unsupported) and not self.fullgraph else (None, None)

    def attempt(self, run, args, kwargs, error=None):
        """Follows the call. Sets run.program and run.body, what an entry does with the graph's outputs `o`, or gives the error
        that it met. `error` is what the run is to be stopped for."""
        grad, rng = torch.is_grad_enabled(), torch.get_rng_state()
        run.program = run.body = None
        _following.on = True
        try:
            if not KNOWN_PYTHON:
                raise exc.Unsupported("byte code is followed on Python 3.11 only")
            try:
                written = Rebuild(run)
                value = self.pass_arguments(run, args, kwargs)
                if torch.is_grad_enabled() != grad and not self.segment:
                    raise exc.Unsupported("it leaves grad mode other than it was")
                text = written.text(value)
            except Stopped:
                written = RebuildState(run)
                text = self.text_of_state(run.top, written, error)
            switch = [f"switch_grad({torch.is_grad_enabled()})"] if torch.is_grad_enabled() != grad else []
            run.guards.names["switch_grad"] = torch._C._set_grad_enabled
            if run.stop is None and not switch:
                body = [f"return {text}"]
            else:   # outputs live as long as the function itself would keep them
                leave = "finish(r)" if run.stop is not None and not self.segment else "r"
                body = [f"r = {text}", "del o", *switch, f"return {leave}"]
                from .splitting import finish
                run.guards.names["finish"] = finish
            run.program = run.recorder.program(written.outputs) if run.recorder.calls else None
            run.body = body
        except exc.Unsupported as e:
            if e.where is None:
                e.where = run.where
            return e
        except Exception as e:
            return e
        finally:
            _following.on = False
            torch._C._set_grad_enabled(grad)
            torch.set_rng_state(rng)

    def pass_arguments(self, run, args, kwargs):
        """What the function gives, followed on these arguments."""
        if self.segment:
            names = self.fn.__code__.co_varnames
            return run.run_frame(Frame(run, self.fn, {n: Lazy(a, Source(f"a[{i}]", label=n)) for i, (n, a) in enumerate(zip(names, args))}))
        function, first = _plain(self.fn)
        names = _argument_names(function, first)
        passed = [run.reach.outside(a, Source(f"a[{i}]", label=names[i] if i < len(names) else f"args_{i}"))
                  for i, a in enumerate(args)]
        named = {k: run.reach.outside(a, Source(f"k[{k!r}]", label=k)) for k, a in kwargs.items()}
        run.reach.outside(function, run.fixed(function))
        if first is not None:
            run.reach.outside(first, run.fixed(first))
            passed.insert(0, first)
        return run.call(function, tuple(passed), named)

    def stopped(self, run, error, args, kwargs):
        """A run up to the place where the function can be left for what cannot be followed, or None."""
        from .splitting import Parts   # on first use: most functions are followed to their end
        parts = self.root.parts = self.root.parts or Parts(self.root)
        stop = parts.place(self, run, error)
        if stop is None:
            return None
        again = Run(stop, run.recorder.bare)
        wrong = self.attempt(again, args, kwargs, error)
        if wrong is not None:
            _log().info("torch.compile: not in parts: %s", wrong)
        return again if wrong is None and again.site is not None else None

    def text_of_state(self, top, written, error):
        """The Paused of a frame that stopped, as an expression."""
        from .splitting import Paused
        values = self.root.parts.state(self, top)
        site = written.run.site = self.root.parts.site(self, top, tuple(values), error)
        if site is None or site.step is None and not written.run.recorder.calls:
            raise exc.Unsupported("there is nothing to be gained from parts")
        g = written.guards
        return (f"{g.name(Paused)}({g.name(site)}, [" + ", ".join(map(written.text, values.values())) + "], [" +
                ", ".join(map(written.text, top.stack)) + "])")

    def make(self, program, examples):
        backend = lookup_backend(self.backend)
        grad = torch.is_grad_enabled()
        state = torch.get_rng_state()
        try:
            gm = program if getattr(backend, "takes_programs", False) else program.graph_module()
            made = backend(gm, examples, **self.settings)
            if not callable(made):
                raise TypeError(f"it gave a {type(made).__name__}, not a callable")
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
        return made


def _nothing():
    return ()


def _plain(fn):
    """(function of Python, its first argument or None)"""
    if isinstance(fn, types.MethodType):
        return fn.__func__, fn.__self__
    return fn, None


def _argument_names(fn, first):
    fn = fn.forward if allowed.is_module(fn) else fn
    first = first if first is not None else getattr(fn, "__self__", None)
    code = getattr(fn, "__code__", None)
    return code.co_varnames[first is not None:code.co_argcount] if code is not None else ()


class Wrap:
    """What torch.compile was told, applied to a function or module. Can be pickled where its back end can."""

    def __init__(self, **settings):
        self.settings = settings

    def __call__(self, fn):
        return Compiled(fn, **self.settings)


def compiled_callable(fn, **settings):
    """The compiled form of a function, method or module."""
    wrap = Wrap(**settings)
    if allowed.is_module(fn):
        from .optimized_module import OptimizedModule
        return OptimizedModule(fn._orig_mod if isinstance(fn, OptimizedModule) else fn, wrap)
    if isinstance(fn, type):
        raise RuntimeError(f"torch.compile takes a function or a module, not the class {fn.__qualname__}")
    if not callable(fn):
        raise AssertionError(f"torch.compile takes a function or a module, but got a {type(fn).__name__}")
    if not getattr(fn, "_torchdynamo_disable", False):
        original = getattr(fn, "_torchdynamo_orig_callable", fn)
        fn = types.MethodType(original, fn.__self__) if isinstance(fn, types.MethodType) and original is not fn else original
    compiled = wrap(fn)

    @unseen
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
    if allowed.is_module(fn):
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
    @unseen
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
        _counts().clear()
        for c in list(_registry()):
            c.reset()


def __getattr__(name):
    if name == "OptimizedModule":   # with torch.nn's modules, which functions need not load
        from .optimized_module import OptimizedModule
        return OptimizedModule
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
