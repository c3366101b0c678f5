"""The instructions of CPython 3.11, on the values of a run."""
import collections
import contextlib
import operator
import sys
import types

import torch

from . import allowed
from .exc import Unsupported
from .resume import HELD, listed
from .values import BINARY, COMPARE, NULL, VIEWS, Exit, GradMode, Lazy, Stopped, contains_tensor, is_plain


# Instructions that do not look at what they move.
_MOVES = frozenset(("LOAD_FAST", "STORE_FAST", "DELETE_FAST", "POP_TOP", "PUSH_NULL", "JUMP_FORWARD", "JUMP_BACKWARD", "EXTENDED_ARG", "NOP"))


class Frame:
    """The byte code of one function, run on values. The outermost of a run says where it is, and can be told to stop there."""

    def __init__(self, run, fn, bound):
        self.r, self.fn, self.code = run, fn, fn.__code__
        self.locals, self.stack, self.names = bound, [], None
        self.cells = {}
        self.resume, self.ended = 0, False   # of a generator expression: where it goes on, whether there is nothing more
        self.listed = listed(self.code)
        self.jumped = None
        self.at = self.executed = 0
        self.lazy = False   # whether there is a Lazy on the stack
        if run.top is None:
            run.top = self

    def run(self):
        r, code, at, line = self.r, self.code, self.resume, self.code.co_firstlineno
        instructions, index, protected = self.listed.instructions, self.listed.index, self.listed.protected
        top, within = r.top is self, r.protected
        while True:
            i = instructions[at]
            if i.starts_line is not None:
                line = i.starts_line
            r.where = (code.co_filename, line, code.co_name)
            r.steps += 1
            if r.steps > 400000:
                raise Unsupported("the function is too long to follow")
            if protected is not None:
                r.protected = within or protected[at]
            if top:
                self.at = at
                if self.executed == r.stop:
                    raise Stopped
                self.executed += 1
            op = i.opname
            if self.lazy and op not in _MOVES:
                self._read_stack()
            if op == "RETURN_VALUE":
                r.protected, self.ended = within, True
                return self.stack.pop()
            if op == "YIELD_VALUE":
                r.protected, self.resume = within, at + 1
                value, self.stack[-1] = self.stack[-1], None
                return value
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
        self.stack.append(None)   # its first item is wanted already

    def MAKE_CELL(self, i):
        cell = types.CellType(self.locals[i.argval]) if i.argval in self.locals else types.CellType()
        self.cells[i.argval] = cell
        self.r.local_cells.add(id(cell))
        self.r.reach.keep.append(cell)

    def PUSH_NULL(self, i):
        self.stack.append(NULL)

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
        value = self.locals[i.argval]
        if type(value) is Lazy:
            if i.argval.startswith(HELD):
                self.lazy = True
            else:
                value = self.locals[i.argval] = self.r.reach.outside(value.value, value.source)
        self.stack.append(value)

    def _read_stack(self):
        self.lazy = False
        self.stack[:] = [self.r.reach.outside(x.value, x.source) if type(x) is Lazy else x for x in self.stack]

    def STORE_FAST(self, i):
        self.locals[i.argval] = self.stack.pop()

    def DELETE_FAST(self, i):
        del self.locals[i.argval]

    def LOAD_GLOBAL(self, i):
        if i.arg & 1:
            self.stack.append(NULL)
        self.stack.append(self.r.reach.global_name(self.fn.__globals__, i.argval))

    def _cell(self, name):
        if name in self.cells:
            return self.cells[name]
        if name in self.locals:   # the cell itself, in a function that goes on in the middle of another
            value = self.locals[name]
            if type(value) is Lazy:
                value = self.locals[name] = self.r.reach.outside(value.value, value.source)
            return value
        return self.fn.__closure__[self.code.co_freevars.index(name)]

    def LOAD_CLOSURE(self, i):
        cell = self._cell(i.argval)
        if id(cell) not in self.r.local_cells:   # of an enclosing function: whoever gets it shares it
            self.r.reach.shared_cell(cell)
        self.stack.append(cell)

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
        self.stack += (NULL, self.r.reach.attribute(x, i.argval))

    def KW_NAMES(self, i):
        self.names = self.code.co_consts[i.arg]

    def CALL(self, i):
        s, n = self.stack, i.arg
        args = s[len(s) - n:]
        del s[len(s) - n:]
        top, below = s.pop(), s.pop()
        if below is not NULL:
            below, top, args = NULL, below, [top, *args]
        kwargs = {}
        if self.names:
            k = len(self.names)
            kwargs, args = dict(zip(self.names, args[len(args) - k:])), args[:len(args) - k]
            self.names = None
        s.append(self._call(top, args, kwargs))

    def _call(self, f, args, kwargs):
        if f is super and not args:
            first = self.code.co_varnames[0]
            me = self.cells[first] if first in self.cells else self.locals[first]
            if type(me) is Lazy:
                me = self.locals[first] = self.r.reach.outside(me.value, me.source)
            if isinstance(me, types.CellType):
                me = me.cell_contents if id(me) in self.r.local_cells else self.r.reach.cell(me, first)
            return super(self._cell("__class__").cell_contents, me)
        if type(f) is Exit:
            if f.context.before is not None:
                self.r.recorder.grad_mode(f.context.before)
                f.context.before = None
            return None
        return self.r.call(f, tuple(args), kwargs)

    def CALL_FUNCTION_EX(self, i):
        kwargs = self.stack.pop() if i.arg & 1 else {}
        args = self.stack.pop()
        f = self.stack.pop()
        if self.stack and self.stack[-1] is NULL:
            self.stack.pop()
        self.stack.append(self._call(f, tuple(self.r.iterate(args)), dict(kwargs)))

    def BINARY_OP(self, i):
        b, a = self.stack.pop(), self.stack.pop()
        name = BINARY[i.arg % 13]
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
        self.stack.append(self.r.apply(COMPARE[i.argval], a, b))

    def IS_OP(self, i):
        b, a = self.stack.pop(), self.stack.pop()
        self.stack.append(self.r.identical(a, b) != bool(i.arg))

    def CONTAINS_OP(self, i):
        where, x = self.stack.pop(), self.stack.pop()
        if isinstance(x, torch.Tensor) or isinstance(where, torch.Tensor) or (
                type(where) in (list, tuple) and contains_tensor(where)):
            raise Unsupported("a search among tensors gives Python their data")
        self.r.known_view(where)
        t = type(where)
        if t in allowed.CONSTANT_TYPES or t in allowed.LOCAL_TYPES or t in VIEWS or isinstance(where, tuple):
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
        if allowed.is_module(x) and isinstance(value, torch.Tensor) and type(x).__setattr__ is torch.nn.Module.__setattr__ \
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

    def _own(self, i):
        """The container further down the stack that an instruction adds to."""
        into = self.stack[-i.arg]
        if self.r.reach.is_outside(into):
            raise Unsupported(f"a {type(into).__name__} from outside is added to")
        return into

    def LIST_EXTEND(self, i):
        items = self.stack.pop()
        self._own(i).extend(self.r.iterate(items))

    def LIST_APPEND(self, i):
        x = self.stack.pop()
        self._own(i).append(x)

    def SET_ADD(self, i):
        x = self.stack.pop()
        if contains_tensor(x):
            raise Unsupported("a set of tensors")
        self._own(i).add(x)

    def SET_UPDATE(self, i):
        items = list(self.r.iterate(self.stack.pop()))
        if contains_tensor(items):
            raise Unsupported("a set of tensors")
        self._own(i).update(items)

    def MAP_ADD(self, i):
        value, key = self.stack.pop(), self.stack.pop()
        self._own(i)[key] = value

    def DICT_UPDATE(self, i):
        more = self.stack.pop()
        if not isinstance(more, dict):
            raise Unsupported(f"** of a {type(more).__name__}")
        self._own(i).update(more)

    def DICT_MERGE(self, i):
        more = self.stack.pop()
        if not isinstance(more, dict):
            raise Unsupported(f"** of a {type(more).__name__}")
        into = self._own(i)
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
        if self.r.reach.is_outside(self.stack[-1]):
            raise Unsupported("an iterator from outside")
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
        self.r.functions[id(fn)] = fn
        self.stack.append(fn)

    def BEFORE_WITH(self, i):
        context = self.stack.pop()
        if type(context) is contextlib.nullcontext:
            self.stack += (Exit(GradMode(None)), self.r.reach.attribute(context, "enter_result"))
            return
        if type(context) is not GradMode:
            raise Unsupported(f"a with block of a {type(context).__name__}")
        if context.before is None:
            context.before = torch.is_grad_enabled()
            self.r.recorder.grad_mode(context.on)
        self.stack += (Exit(context), context)

    def IMPORT_NAME(self, i):
        names, level = self.stack.pop(), self.stack.pop()
        full = i.argval
        if level or full not in sys.modules or full.split(".")[0] not in ("torch", "math", "operator", "typing"):
            raise Unsupported(f"an import of {full}")
        self.stack.append(sys.modules[full if names else full.split(".")[0]])

    def IMPORT_FROM(self, i):
        self.stack.append(self.r.reach.attribute(self.stack[-1], i.argval))
