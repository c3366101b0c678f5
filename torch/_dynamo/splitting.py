"""Functions in parts: what is not followed runs between graphs as Python runs it, and the rest is compiled as a function.

An entry whose function is left in the middle gives Paused: the place (Site), the values of the locals that are still wanted,
and the stack. A site runs its one instruction and goes on with the Segment behind it, a function made by resume.py, whose
locals and stack are its arguments. What has no such step (exceptions, with blocks of a user's) takes all of the rest along.
"""
import dis
import sys
import types

import torch

from . import native
from .allowed import is_module
from .resume import can_rest, listed, rest, slots
from .unseen import unseen
from .values import NULL, Exit, Leave

MOST_SEGMENTS = 128   # of one function
MOST_NESTED, MOST_PASSING = 256, 16   # functions that it calls and that are compiled by themselves, and such that may be made anew
# These look at the frame that calls them; the last ones do only without arguments.
_LOOK_AROUND = (eval, exec, breakpoint, sys._getframe), (locals, vars, dir, super)


class Paused:
    __slots__ = ("site", "slots", "stack")

    def __init__(self, site, slots, stack):
        self.site, self.slots, self.stack = site, slots, stack


@unseen
def finish(p):
    """What a function gives that was left as p says."""
    leaves = ()
    try:
        while type(p) is Paused:
            leaves = [x for x in p.stack if type(x) is Leave] if p.site.leaves else ()
            p = p.site.go_on(p)
        return p
    except BaseException:
        for leave in reversed(leaves):
            leave()
        raise


def compilable(f):
    """Whether f, which a function calls in the middle, may be compiled by itself."""
    if is_module(f):
        hooks = f._forward_hooks or f._forward_pre_hooks or f._backward_hooks or f._backward_pre_hooks
        return type(f).__call__ is torch.nn.Module.__call__ and f._compiled_call_impl is None and not hooks
    f = f.__func__ if isinstance(f, types.MethodType) else f
    home = getattr(f, "__module__", None) or ""
    if home.split(".")[0] in sys.stdlib_module_names or home.startswith("torch.") and not home.startswith("torch.nn."):
        return False   # no work on tensors; what looks at its callers, as logging does, is to find them
    return isinstance(f, types.FunctionType) and not hasattr(f, "_torchdynamo_orig_callable") and not f.__code__.co_flags & (
        0x20 | 0x80 | 0x100 | 0x200)


class Parts:
    """The sites and segments of one compiled function, and the functions that it calls at its sites, compiled by themselves."""

    def __init__(self, compiled):
        self.compiled = compiled
        self.sites, self.segments, self.called = {}, {}, {}

    def place(self, compiled, run, error):
        """How many instructions of its outermost frame a run may do that is to stop before `error`, or None."""
        top, segment = run.top, compiled.segment
        if error.depth is None or top is None or run.whole or not (
                isinstance(compiled.fn, (types.FunctionType, types.MethodType)) or is_module(compiled.fn)):
            return None
        at = top.listed.start(top.at)
        if not can_rest(top.code) or segment and top.listed.instructions[at].offset < segment.base:
            return None
        return top.executed - 1 - (top.at - at)

    def state(self, compiled, top):
        """{name: value} of what a frame that stopped may still read."""
        segment = compiled.segment
        code, live, found = (segment.origin if segment else top.fn).__code__, top.listed.live(top.at), {}
        for name in slots(code):
            if name in code.co_cellvars:
                if name in top.cells:
                    found[name] = top.cells[name]
                elif segment and name in top.locals:
                    found[name] = top.locals[name]
            elif name in live and name in top.locals:
                found[name] = top.locals[name]
        return found

    def site(self, compiled, top, names, error):
        """The Site where a run stopped, or None."""
        segment, known = compiled.segment, top.listed
        fn = segment.origin if segment else top.fn
        code = fn.__code__
        at, i = listed(code).index[known.instructions[top.at].offset - (segment.base if segment else 0)], known.instructions[top.at]
        if len(slots(code)) + len(top.stack) + len(code.co_freevars) > 200:
            return None
        while i.opname in ("EXTENDED_ARG", "KW_NAMES", "PRECALL"):
            i = known.instructions[known.index[i.offset] + 1]
        inner = False
        if i.opname == "CALL":
            f, below = top.stack[-1 - i.arg], top.stack[-2 - i.arg]
            f = f if below is NULL else below
            if any(f is g for g in _LOOK_AROUND[0]) or not i.arg and any(f is g for g in _LOOK_AROUND[1]):
                return None
            inner = error.depth > 1 and compilable(f)
        elif i.opname == "CALL_FUNCTION_EX":
            inner = error.depth > 1 and compilable(top.stack[-2 - (i.arg & 1)])
        as_is = known.protected is not None and known.protected[top.at] or len(self.segments) >= MOST_SEGMENTS
        key = fn, at, names, tuple(x is NULL for x in top.stack), inner, as_is
        if key not in self.sites:
            self.sites[key] = Site(self, fn, at, names, top.stack, inner, as_is)
        return self.sites[key]

    def segment(self, fn, offset, names, layout):
        key = offset, names, layout
        if key not in self.segments:
            self.segments.setdefault(key, Segment(self, fn, offset, names, layout))
        return self.segments[key]

    def compiled_call(self, f):
        """f, a function or module that a site calls, compiled by itself."""
        if not compilable(f):
            return f
        given = ()
        if isinstance(f, types.MethodType) and not is_module(f.__self__):
            f, given = f.__func__, (f.__self__,)   # an object may be made anew for each call, and is not to be kept
        key = (id(f.__func__), id(f.__self__)) if isinstance(f, types.MethodType) else id(f)
        found = self.called.get(key)
        if found is None:
            passing = "<locals>" in getattr(f, "__qualname__", "")
            if len(self.called) >= (MOST_PASSING if passing else MOST_NESTED):
                return types.MethodType(f, *given) if given else f
            found = self.called.setdefault(key, self.compiled.like(f))
        return types.MethodType(found, *given) if given else found


class Segment:
    """A function from one place on."""

    def __init__(self, parts, fn, offset, names, layout):
        self.names = names
        function, self.base = rest(fn, offset, names, layout)
        places = {name: k for k, name in enumerate(names)}
        self.picks = [places.get(name, -1) for name in slots(fn.__code__)]
        self.origin, self.function = fn, function
        self.compiled = parts.compiled.like(function, segment=self)

    def arguments(self, values, stack):
        return tuple([values[k] if k >= 0 else None for k in self.picks] + [x for x in stack if x is not NULL])


class Site:
    """One instruction at which a function is left. `names` are the slots whose values are kept, `layout` says where the stack
    has a NULL."""

    def __init__(self, parts, fn, at, names, stack, inner, as_is):
        known = listed(fn.__code__)
        code, first = fn.__code__, known.instructions[at]
        while known.instructions[at].opname in ("EXTENDED_ARG", "KW_NAMES", "PRECALL"):
            at += 1
        i = known.instructions[at]
        self.parts, self.fn, self.names, self.inner = parts, fn, names, inner
        self.layout = tuple(x is NULL for x in stack)
        self.leaves = any(type(x) is Exit for x in stack)
        self.arg, self.argval, self.opname = i.arg, i.argval, i.opname
        self.keywords = next((code.co_consts[k.arg] for k in known.instructions[known.index[first.offset]:at] if k.opname == "KW_NAMES"), ())
        self.step = None if as_is else native.STEPS.get(i.opname)
        if self.step is None:
            self.exits = [parts.segment(fn, first.offset, names, self.layout)]
            return
        line = next(k.starts_line for k in known.instructions[at::-1] if k.starts_line is not None)
        self.shown = native.caller(code, line, fn.__globals__)
        self.to = [known.instructions[at + 1].offset, i.argval if i.opcode in dis.hasjrel else None]
        self.returns = [t is not None and known.instructions[known.index[t]].opname == "RETURN_VALUE" for t in self.to]
        self.exits = [None, None]

    @unseen
    def call(self, f, args, kwargs):
        return self.shown(self.parts.compiled_call(f) if self.inner else f, args, kwargs)

    @unseen
    def go_on(self, paused):
        values, stack = paused.slots, paused.stack
        paused.slots = paused.stack = None   # values live as long as the function itself would keep them
        if self.step is None:
            return self.exits[0].function(*self.exits[0].arguments(values, stack))
        taken = self.step(self, values, stack) or 0
        if self.returns[taken]:
            return stack[-1]
        segment = self.exits[taken]
        if segment is None:
            live = listed(self.fn.__code__).live(listed(self.fn.__code__).index[self.to[taken]])
            cells = self.fn.__code__.co_cellvars
            wanted = tuple(n for n in self.names if n in live or n in cells)
            segment = self.parts.segment(self.fn, self.to[taken], wanted, tuple(x is NULL for x in stack))
            self.exits[taken] = segment
        if segment.names != self.names:
            places = {name: k for k, name in enumerate(self.names)}
            values = [values[places[n]] for n in segment.names]
        args = segment.arguments(values, stack)
        del values, stack
        return segment.compiled(*args)
