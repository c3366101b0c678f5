"""What of Python's values the follower of byte code must tell apart."""
import collections
import enum
import operator
import types

import torch

from . import allowed

NULL = object()


class Delayed:
    """An iterator whose items are made when they are wanted, as Python makes them: a generator expression, map() or filter().
    make(*given), which runs user code, is the same iterator as long as nothing was taken of it."""
    __slots__ = ("_items", "make", "given", "begun")

    def __init__(self, items, make, given):
        self._items, self.make, self.given, self.begun = items, make, given, False

    def __iter__(self):
        return self

    def __next__(self):
        self.begun = True
        return next(self._items)


ITERATORS = frozenset(type(iter(x)) for x in ((), [], {}, {}.values(), {}.items(), set(), range(0), "", b"")) | {
    zip, enumerate, reversed, map, filter, Delayed, type(reversed([])), type(reversed({})), type(reversed({}.values())),
    type(reversed({}.items())), type(iter(collections.OrderedDict())), type(iter(collections.OrderedDict().values())),
    type(iter(collections.OrderedDict().items())), type(iter(range(1 << 70)))}
VIEWS = (type({}.keys()), type({}.values()), type({}.items()), type(collections.OrderedDict().keys()),
          type(collections.OrderedDict().values()), type(collections.OrderedDict().items()))
BINARY = {0: "add", 1: "and_", 2: "floordiv", 3: "lshift", 4: "matmul", 5: "mul", 6: "mod", 7: "or_", 8: "pow", 9: "rshift",
           10: "sub", 11: "truediv", 12: "xor"}
COMPARE = {"<": operator.lt, "<=": operator.le, "==": operator.eq, "!=": operator.ne, ">": operator.gt, ">=": operator.ge}


class TensorMethod:
    """x.name, to be called."""
    __slots__ = ("tensor", "name")

    def __init__(self, tensor, name):
        self.tensor, self.name = tensor, name


class GradMode:
    """with torch.no_grad(), torch.enable_grad() and torch.set_grad_enabled(b). `before` is None outside of the block; for a
    contextlib.nullcontext, which switches nothing, it stays so."""
    __slots__ = ("on", "before")

    def __init__(self, on):
        self.on, self.before = on, None


class Exit:
    """The end of a with block, on the stack of a frame that is followed."""
    __slots__ = ("context",)

    def __init__(self, context):
        self.context = context


class Leave:
    """The same on the stack of a frame that runs."""
    __slots__ = ("before",)

    def __init__(self, before):
        self.before = before

    def __call__(self, *error):
        if self.before is not None:
            torch._C._set_grad_enabled(self.before)


class Lazy:
    """The value of a local that was not read yet, so that nothing of it is guarded yet."""
    __slots__ = ("value", "source")

    def __init__(self, value, source):
        self.value, self.source = value, source


class Stopped(Exception):
    """The outermost frame came to the place where it was told to stop."""


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
    if t in (list, tuple, set, frozenset) or t in VIEWS:
        return all(map(is_plain, x))
    if t in (dict, collections.OrderedDict):
        return all(is_plain(k) and is_plain(v) for k, v in x.items())
    if t is slice:
        return is_plain((x.start, x.stop, x.step))
    return isinstance(x, (enum.Enum, type)) and all(type(c).__module__ in ("builtins", "enum") and "__eq__" not in vars(c)
                                                    for c in (t, *t.__mro__[:-1]) if c.__module__ not in ("enum", "builtins"))

