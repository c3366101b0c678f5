"""A kernel's Python, walked as a syntax tree: what is known is computed, what is not becomes the kernel's program.

Values are Python's own (numbers, tuples, dtypes, functions) or tensors of triton.language. Loops and branches on tensors become
loops and branches of the program: names that a body assigns are what they carry."""
import ast
import builtins
import inspect
import operator
import types as pytypes

from .. import knobs
from ..language import core, semantic as S
from ..language import types as T
from ..language.core import block_pointer, tensor_descriptor
from ..language.semantic import is_number, tensor
from ..language.types import constexpr, dtype, tuple_of, unwrap
from .errors import CompilationError, CompileTimeAssertionFailure, UnsupportedLanguageConstruct
from .ir import Program


class _Return(Exception):
    """Ends the statements of a function; the value stands on the generator's frame."""


class Frame:
    """A function being walked."""

    def __init__(self, fn, scope):
        self.fn = fn
        self.scope = scope
        self.value = None
        self.loops = []    # statements around the one being walked
        self.unsure = {}   # a loop's variable that was not bound before: its value, whether there was a turn, regions that know


_BINARY = {ast.Add: (operator.add, S.add), ast.Sub: (operator.sub, S.sub), ast.Mult: (operator.mul, S.mul), ast.Div: (operator.truediv, S.truediv),
           ast.FloorDiv: (operator.floordiv, S.floordiv), ast.Mod: (operator.mod, S.mod), ast.Pow: (operator.pow, None),
           ast.LShift: (operator.lshift, S.shl), ast.RShift: (operator.rshift, S.shr), ast.BitAnd: (operator.and_, S.bit_and),
           ast.BitOr: (operator.or_, S.bit_or), ast.BitXor: (operator.xor, S.bit_xor)}
_COMPARE = {ast.Lt: (operator.lt, S.lt), ast.LtE: (operator.le, S.le), ast.Gt: (operator.gt, S.gt), ast.GtE: (operator.ge, S.ge),
            ast.Eq: (operator.eq, S.eq), ast.NotEq: (operator.ne, S.ne)}
_PYTHON_FUNCTIONS = {builtins.len, builtins.isinstance, builtins.getattr, builtins.hasattr, builtins.tuple, builtins.list, builtins.zip,
                     builtins.enumerate, builtins.reversed, builtins.repr, builtins.str, builtins.type, builtins.sum, builtins.all, builtins.any,
                     builtins.divmod, builtins.round, builtins.pow, builtins.dict, builtins.slice, builtins.issubclass, builtins.sorted, builtins.map}


def assigned_names(statements):
    """The names that statements assign, in order."""
    found = {}

    def target(t):
        if isinstance(t, ast.Name):
            found[t.id] = True
        elif isinstance(t, (ast.Tuple, ast.List)):
            for e in t.elts:
                target(e)
        elif isinstance(t, (ast.Starred, ast.Subscript)):
            target(t.value)

    for s in statements:
        for node in ast.walk(s):
            if isinstance(node, ast.Assign):
                for t in node.targets:
                    target(t)
            elif isinstance(node, (ast.AugAssign, ast.AnnAssign, ast.For, ast.NamedExpr)):
                target(node.target)
            elif isinstance(node, ast.With):
                for i in node.items:
                    if i.optional_vars is not None:
                        target(i.optional_vars)
    return list(found)


def returns(statements):
    """Whether these statements hold a `return`."""
    return any(isinstance(n, ast.Return) for s in statements for n in ast.walk(s) if not isinstance(s, ast.FunctionDef))


class Turn(ast.Assign):
    """What an unrolled loop's variable is in a turn: `turn`."""

    def __init__(self, at, turn):
        super().__init__([at.target], ast.copy_location(ast.Constant(None), at))
        ast.copy_location(self, at)
        self.turn = turn


def is_value(x):
    """Whether a loop can carry x."""
    if isinstance(x, (tensor, block_pointer, tensor_descriptor)) or is_number(x):
        return True
    return isinstance(x, tuple) and all(is_value(e) for e in x)


def tensors_of(x):
    """The tensors that a value consists of; numbers become tensors."""
    if isinstance(x, tensor):
        return [x]
    if isinstance(x, (block_pointer, tensor_descriptor)):
        return x.parts()
    if isinstance(x, tuple):
        return [t for e in x for t in tensors_of(e)]
    return [S.to_tensor(x)]


def is_integer(x):
    """Whether x is one integer."""
    return isinstance(x, int) and not isinstance(x, bool) or isinstance(x, tensor) and not x.type.is_block() and x.dtype.is_int() and not x.dtype.is_bool()


def alike(a, b):
    """Whether two values of a name can be told apart by a branch alone."""
    if not (is_value(a) and is_value(b)):
        return False
    if is_number(a) and isinstance(b, tensor) or is_number(b) and isinstance(a, tensor):
        return not (b if is_number(a) else a).type.is_block()
    return type(a) is type(b) and [t.type for t in tensors_of(a)] == [t.type for t in tensors_of(b)]


def rebuilt(x, tensors):
    """A value like x of these tensors."""
    tensors = iter(tensors)

    def build(x):
        if isinstance(x, (block_pointer, tensor_descriptor)):
            return x.rebuilt([next(tensors) for _ in x.parts()])
        if isinstance(x, tuple):
            return tuple_of(type(x), [build(e) for e in x])
        return next(tensors)
    return build(x)


class Generator:
    """Walks a kernel and the functions that it calls, and writes their program."""

    def __init__(self, name, debug=False):
        self.program = Program(name)
        self.debug = debug
        self.frames = []
        self.node = None
        self.read = {}   # (what a constant was read of, its name): its value; see JITFunction.read

    @property
    def scope(self):
        return self.frames[-1].scope

    def where(self):
        f = self.frames[-1].fn
        return f" ({f.filename}:{f.first_line + getattr(self.node, 'lineno', 1) - 1})"

    # ---- functions ----
    def call(self, fn, args, kwargs=None):
        """A call of a jit function, which is walked in place, or of a function of the language."""
        kwargs = kwargs or {}
        if getattr(fn, "__triton_jit__", False):
            return self.inline(fn, args, kwargs)
        if isinstance(fn, constexpr):
            return self.call(fn.value, args, kwargs)
        return fn(*args, **kwargs)

    def inline(self, fn, args, kwargs):
        if len(self.frames) > 200:
            raise RecursionError(f"function {fn.__name__} is called within itself too deeply")
        try:
            bound = fn.signature.bind(*args, **kwargs)
        except TypeError as e:
            raise TypeError(f"{fn.__name__}(): {e}") from None
        bound.apply_defaults()
        scope = {}
        for name, value in bound.arguments.items():
            value = unwrap(value)
            if name in fn.constexpr_names and isinstance(value, tensor) and value.known is not None and not value.type.is_block():
                value = value.known   # what is not known is passed as it is: functions are written in place
            scope[name] = value
        return self.run(fn, scope)

    def run(self, fn, scope):
        frame = Frame(fn, scope)
        self.frames.append(frame)
        node = self.node
        try:
            self.statements(fn.tree.body)
        except _Return:
            pass
        except CompilationError as e:
            if node is not None and len(self.frames) > 1:
                caller = self.frames[-2].fn
                e.called_from(caller.filename, caller.first_line + getattr(node, "lineno", 1) - 1, caller.__name__)
            raise
        finally:
            self.frames.pop()
            self.node = node
        return frame.value

    # ---- statements ----
    def statements(self, body):
        for i, s in enumerate(body):
            self.node = s
            if isinstance(s, ast.If) and returns([s]):
                self.guarded(self.branch_with_return, s, body[i + 1:])
                return
            self.guarded(self.statement, s)

    def guarded(self, f, node, *args):
        """f(node), with the place in the user's file on what goes wrong."""
        before, self.node = self.node, node
        try:
            return f(node, *args)
        except (CompilationError, _Return):
            raise
        except Exception as e:
            if knobs.compilation.front_end_debugging:
                raise
            fn = self.frames[-1].fn
            kind = CompileTimeAssertionFailure if isinstance(e, core.StaticAssertion) else UnsupportedLanguageConstruct if isinstance(e, _Unsupported) else CompilationError
            text = str(e) if isinstance(e, (core.StaticAssertion, _Unsupported)) else f"{type(e).__name__}: {e}" if not isinstance(e, (TypeError, ValueError, NameError)) else str(e)
            raise kind(fn.src, node, text, fn.filename, fn.first_line, fn.__name__) from e
        finally:
            self.node = before

    def statement(self, s):
        f = getattr(self, "do_" + type(s).__name__, None)
        if f is None:
            raise _Unsupported(f"kernels have no `{type(s).__name__}` statements")
        return f(s)

    def do_Expr(self, s):
        if not isinstance(s.value, ast.Constant):
            self.visit(s.value)

    def do_Pass(self, s):
        pass

    def do_Return(self, s):
        frame = self.frames[-1]
        frame.value = self.visit(s.value) if s.value is not None else None
        raise _Return

    def do_Assign(self, s):
        value = self.stored(self.visit(s.value), s.value)
        for t in s.targets:
            self.assign(t, value)

    @staticmethod
    def stored(value, node=None):
        """What a plain assignment keeps: numbers become tensors that are known."""
        value = unwrap(value)
        if is_number(value):
            return S.to_tensor(value)
        if isinstance(value, tuple):
            return tuple_of(type(value), [Generator.stored(v) for v in value])
        return value

    def assign(self, target, value):
        if isinstance(target, ast.Name):
            self.scope[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            if not isinstance(value, (tuple, list)):
                raise TypeError(f"{len(target.elts)} names are assigned one value, {value!r}")
            if any(isinstance(e, ast.Starred) for e in target.elts):
                raise _Unsupported("kernels have no starred assignments")
            if len(value) != len(target.elts):
                raise ValueError(f"{len(target.elts)} names are assigned {len(value)} values")
            for t, v in zip(target.elts, value):
                self.assign(t, v)
        elif isinstance(target, ast.Subscript):
            self.assign(target.value, self.with_element(unwrap(self.visit(target.value)), self.index(target.slice), value))
        else:
            raise _Unsupported("kernels assign to names and to elements of tuples only")

    def index(self, e):
        """What stands between the brackets after a tuple, which is known when compiling."""
        index = unwrap(self.visit(e))
        return core._known(index, "an index of a tuple") if isinstance(index, tensor) else index

    @staticmethod
    def with_element(whole, index, value):
        """A tuple with another element."""
        if not isinstance(whole, tuple):
            raise TypeError(f"elements of tuples can be assigned, not those of {whole.type if isinstance(whole, tensor) else repr(whole)}; tiles are written by tl.store")
        if not isinstance(index, int):
            raise TypeError(f"a tuple's element is assigned by an integer, not by {index!r} of type {type(index).__name__}")
        if not -len(whole) <= index < len(whole):
            raise IndexError(f"element {index} of a tuple of {len(whole)} elements is assigned")
        parts = list(whole)
        parts[index] = value
        return tuple_of(type(whole), parts)

    def do_Turn(self, s):
        self.assign(s.targets[0], s.turn)

    def do_AugAssign(self, s):
        if isinstance(s.target, ast.Subscript):
            whole, index = unwrap(self.visit(s.target.value)), self.index(s.target.slice)
            value = self.stored(self.binary(type(s.op), whole[index], self.visit(s.value)))
            self.assign(s.target.value, self.with_element(whole, index, value))
            return
        if not isinstance(s.target, ast.Name):
            raise _Unsupported("kernels assign to names and to elements of tuples only")
        left = self.name(s.target.id)
        self.scope[s.target.id] = self.stored(self.binary(type(s.op), left, self.visit(s.value)))

    def do_AnnAssign(self, s):
        if s.value is None:
            raise _Unsupported("an annotation without a value")
        value = self.visit(s.value)
        annotation = self.visit(s.annotation)
        if annotation is constexpr:
            value = unwrap(value)
            if isinstance(value, tensor):
                if value.known is None:
                    raise TypeError(f"a tl.constexpr is assigned {value.type}, which is known only when the kernel runs")
                value = value.known
            self.assign(s.target, value)
        else:
            self.assign(s.target, self.stored(value))

    def do_Assert(self, s):
        test = self.visit(s.test)
        message = self.visit(s.msg) if s.msg is not None else ""
        if isinstance(test, tensor):
            core.device_assert(test, message)
        elif not test:
            raise core.StaticAssertion(message or "an assertion does not hold")

    def do_With(self, s):
        raise _Unsupported("kernels have no `with` statements here")

    def do_FunctionDef(self, s):
        raise _Unsupported("kernels define no functions; define it outside, with @triton.jit")

    # ---- branches ----
    def truth(self, x, what):
        """True or False where it is known, else a scalar int1."""
        x = unwrap(x)
        if isinstance(x, tensor):
            if x.known is not None and not x.type.is_block():
                return bool(x.known)
            if x.type.is_block():
                if x.numel != 1:
                    raise ValueError(f"the condition of {what} is a tile of type {x.type}; it must be one value")
                x = x.item()
            return S.truth(x)
        return bool(x)

    def do_If(self, s):
        test = self.truth(self.visit(s.test), "if")
        if not isinstance(test, tensor):
            self.statements(s.body if test else s.orelse)
            return
        before = dict(self.scope)
        sides, regions = [], []
        for body in (s.body, s.orelse):
            self.frames[-1].scope = dict(before)
            regions.append(self.program.enter())
            self.statements(body)
            sides.append(self.frames[-1].scope)
            self.program.leave()
        self.frames[-1].scope = before
        names = [n for n in dict.fromkeys(assigned_names(s.body) + assigned_names(s.orelse))]
        turns = assigned_names([t for t in s.body if isinstance(t, Turn)])
        merged, values = [], []
        for n in names:
            then, other = sides[0].get(n, _missing), sides[1].get(n, _missing)
            if then is other:
                continue
            if then is _missing or other is _missing or n in turns and not alike(then, other):
                before.pop(n, None)
                continue
            merged.append(n)
            values.append((then, other))
        results = self.join(test, regions, values, merged)
        for n, r in zip(merged, results):
            before[n] = r

    def join(self, test, regions, values, names):
        """A branch node whose sides give these pairs of values."""
        outs = ([], [])
        for n, pair in zip(names, values):
            if not all(is_value(v) for v in pair):
                if pair[0] == pair[1]:
                    continue
                raise TypeError(f"{n} is {pair[0]!r} in one branch and {pair[1]!r} in the other")
        parts = []
        for n, (a, b) in zip(names, values):
            if not is_value(a):
                parts.append(None)
                continue
            each = []
            for side, v, other in ((0, a, b), (1, b, a)):
                self.program.open.append(regions[side])
                ts = tensors_of(v)
                if is_number(v) and isinstance(other, tensor):
                    ts = [S.number(v, other.dtype)]
                self.program.open.pop()
                each.append(ts)
            if [t.type for t in each[0]] != [t.type for t in each[1]]:
                raise TypeError(f"{n} has type {', '.join(str(t.type) for t in each[0])} in the `then` branch and "
                                f"{', '.join(str(t.type) for t in each[1])} in the `else` branch")
            parts.append(each)
            for side in (0, 1):
                outs[side].extend(each[side])
        for side in (0, 1):
            self.program.regions[regions[side]].yields = [t.handle for t in outs[side]]
        node = self.program.append("branch", "none", operands=[test.handle], regions=regions)
        results, k = [], 0
        for (a, b), each in zip(values, parts):
            if each is None:
                results.append(a)
                continue
            ts = []
            for t in each[0]:
                ts.append(self.result(node, k, t.type))
                k += 1
            results.append(rebuilt(a if not is_number(a) else ts[0], ts))
        return results

    def result(self, node, k, type):
        return tensor(self.program.append("result", type.scalar.elem, type.shape if type.is_block() else None, [node], k), type)

    def branch_with_return(self, s, rest):
        """An `if` one of whose sides returns: what follows it belongs to the sides that do not."""
        frame = self.frames[-1]
        test = self.truth(self.visit(s.test), "if")
        if not isinstance(test, tensor):
            self.statements((s.body if test else s.orelse) + rest)
            return
        before = dict(self.scope)
        regions, values = [], []
        for body in (s.body, s.orelse):
            frame.scope = dict(before)
            frame.value = None
            regions.append(self.program.enter())
            try:
                self.statements(body + rest)
            except _Return:
                pass
            values.append(self.stored(frame.value))
            self.program.leave()
        frame.scope = before
        if values[0] is None and values[1] is None:
            self.join(test, regions, [], [])
            frame.value = None
        else:
            if values[0] is None or values[1] is None:
                raise TypeError(f"{frame.fn.__name__} returns a value on one way and none on another")
            frame.value = self.join(test, regions, [tuple(values)], ["the returned value"])[0]
        raise _Return

    # ---- loops ----
    def carried(self, body, extra=()):
        """Names that a loop carries: assigned in its body and known before."""
        names = [n for n in assigned_names(body) if n in self.scope and n not in extra]
        for n in names:
            if not is_value(self.scope[n]) and self.scope[n] is not None:
                raise TypeError(f"{n} is {self.scope[n]!r} before the loop, which changes it; a loop carries numbers and tensors")
        return [n for n in names if self.scope[n] is not None]

    def no_return(self, s, what):
        if returns(s.body):
            raise _Unsupported(f"a `return` of a value within a `{what}` loop")

    def begin(self, names):
        """The first values of carried names, as tensors."""
        first = {n: self.scope[n] for n in names}
        parts = {n: tensors_of(first[n]) for n in names}
        return first, parts

    def arguments(self, names, first, parts):
        for n in names:
            ts = [tensor(self.program.argument(t.dtype.elem, t.shape if t.shape else None), t.type) for t in parts[n]]
            self.scope[n] = rebuilt(first[n] if not is_number(first[n]) else ts[0], ts)

    def ends(self, names, parts):
        """What the body made of carried names, of the types they had."""
        out = []
        for n in names:
            if n not in self.scope:
                raise TypeError(f"{n}, which the loop carries, has no known type after a round; give it its type before the loop")
            ts = tensors_of(self.scope[n])
            have, want = [t.type for t in ts], [t.type for t in parts[n]]
            if have != want:
                raise TypeError(f"{n}, which the loop carries, has type {', '.join(map(str, want))} before it and {', '.join(map(str, have))} after a round; "
                                f"give it its type before the loop")
            out.extend(t.handle for t in ts)
        return out

    def after(self, node, names, first, parts, k=0):
        """Names get what the loop left, from its result k on."""
        for n in names:
            ts = []
            for t in parts[n]:
                ts.append(self.result(node, k, t.type))
                k += 1
            self.scope[n] = rebuilt(first[n] if not is_number(first[n]) else ts[0], ts)

    def do_For(self, s):
        if s.orelse:
            raise _Unsupported("`else` of a loop")
        iterator = s.iter
        source = None
        if isinstance(iterator, ast.Call):
            source = unwrap(self.visit(iterator.func))
        if source is builtins.range or source is core.range or source is core.static_range:
            args, kwargs = self.call_arguments(iterator)
            over = (core.static_range if source is core.static_range else core.range)(*args, **kwargs)
            if source is core.static_range:
                self.unrolled(s, builtins.range(*(int(core._known(x, "static_range's bounds")) for x in (over.start, over.end, over.step))))
            else:
                self.loop(s, over)
            return
        values = unwrap(self.visit(iterator))
        if isinstance(values, (tuple, list, builtins.range, zip, enumerate, reversed)):
            self.unrolled(s, list(values))
            return
        raise _Unsupported("kernels loop over range, tl.range, tl.static_range and tuples")

    def unrolled(self, s, values):
        self.no_return(s, "for")
        self.frames[-1].loops.append(s)
        for v in values:
            if not hasattr(s, "breaks"):
                self.assign(s.target, v)
                self.statements(s.body)
                continue
            if self.truth(self.name(s.breaks), "for") is True:
                break
            flag = ast.copy_location(ast.UnaryOp(ast.Not(), ast.copy_location(ast.Name(s.breaks, ast.Load()), s)), s)
            self.statements([ast.copy_location(ast.If(flag, [Turn(s, v)] + s.body, []), s)])
        self.frames[-1].loops.pop()

    def read_after(self, s, name):
        """Whether a loop's variable is read behind the loop, or in the next turn of one around it."""
        def reads(tree):
            for n in ast.walk(tree):
                if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load):
                    yield n
                elif isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name) and n.target.id == name:
                    yield n
        frame = self.frames[-1]
        within = {id(n) for n in reads(s)}
        if any(id(n) not in within for around in frame.loops for n in reads(around)):
            return True
        end = (s.end_lineno, s.end_col_offset)
        return any((n.lineno, n.col_offset) >= end and id(n) not in within for n in reads(frame.fn.tree))

    def loop(self, s, over):
        self.no_return(s, "for")
        if not isinstance(s.target, ast.Name):
            raise _Unsupported("a range loop has one name")
        bounds = [unwrap(x) for x in (over.start, over.end, over.step)]
        step_known = bounds[2].known if isinstance(bounds[2], tensor) else bounds[2]
        bounds = [S.to_tensor(b) for b in bounds]
        for b in bounds:
            if not b.dtype.is_int() or b.type.is_block():
                raise TypeError(f"range takes integers, not {b.type}")
        if step_known == 0:
            raise ValueError("range's step is zero")
        kind = bounds[0].dtype
        for b in bounds[1:]:
            kind = S.common_type(kind, b.dtype)
        if kind.primitive_bitwidth < 32:
            kind = T.int32
        wide = [S.cast(b, T.int64) for b in bounds]
        falling = step_known is not None and step_known < 0
        if falling:   # counted from zero
            rounds = S.floordiv(S.add(S.sub(wide[0], wide[1]), -int(step_known) - 1), -int(step_known))
            low, high, step = S.number(0, T.int64), rounds, S.number(1, T.int64)
        else:
            low, high, step = wide
            if step_known is None:   # such a loop counts upward: it would never end by a step that does not
                high = S.where(S.gt(step, 0), high, low)
        target = s.target.id
        kept = self.scope.get(target, _missing)
        names = self.carried(s.body, (target,))
        read = self.read_after(s, target)
        carry = read and (hasattr(s, "breaks") or target in assigned_names(s.body))   # else the last turn is known by its number
        type = S.common_type(kind, S.to_tensor(kept).dtype) if is_integer(kept) else kind
        if carry:
            names.append(target)
            self.scope[target] = S.cast(kept, type) if is_integer(kept) else S.number(0, kind)
        first, parts = self.begin(names)
        inits = [t.handle for n in names for t in parts[n]]
        breaks = getattr(s, "breaks", None)   # such a loop tests, and counts for itself
        start = S.lt(low, high) if breaks else None
        outer = self.frames[-1].scope
        self.frames[-1].scope = dict(outer)
        region = self.program.enter()
        counter = T.int64 if falling or breaks else kind
        index = count = tensor(self.program.argument(counter.elem), counter)
        self.arguments(names, first, parts)
        if falling:
            index = S.add(wide[0], S.mul(index, int(step_known)))
        self.scope[target] = S.cast(index, kind)
        self.frames[-1].loops.append(s)
        self.statements(s.body)
        self.frames[-1].loops.pop()
        if carry and isinstance(self.scope.get(target), tensor) and self.scope[target].type == kind:
            self.scope[target] = S.cast(self.scope[target], type)
        yields = self.ends(names, parts)
        if breaks:
            following = S.add(count, step)
            again = S.logical_and(S.lt(following, high), S.logical_not(self.scope[breaks]))
            yields = [again.handle, following.handle] + yields
        self.program.leave(yields)
        self.frames[-1].scope = outer
        if breaks:
            node = self.program.append("loop_while", "none", operands=[start.handle, low.handle] + inits, regions=[region])
        else:
            node = self.program.append("loop", "none", operands=[low.handle, high.handle, step.handle] + inits, regions=[region])
        self.after(node, names, first, parts, 1 if breaks else 0)
        last = outer.pop(target, _missing)
        if kept is not _missing:
            outer[target] = kept
        if not read:
            return
        known = [x.known for x in bounds]
        turns = None if None in known else len(builtins.range(*map(int, known)))
        if turns == 0:
            return
        if not carry:
            at = S.mul(S.sub(high, 1), int(step_known)) if falling else S.mul(S.floordiv(S.sub(S.sub(high, low), 1), step), step)
            last = S.cast(S.add(wide[0], at), type)
        if turns:
            outer[target] = last
            return
        unsure = self.frames[-1].unsure
        some = S.lt(low, high)
        if is_integer(kept):
            outer[target] = last if carry else S.where(some, last, S.cast(kept, type))
            before = unsure.get(target)
            if before is not None and before[0] is kept:
                unsure[target] = (outer[target], S.logical_or(before[1], some), set())
        elif kept is _missing:
            outer[target] = last
            unsure[target] = (last, some, set())
        else:
            del outer[target]   # its type hangs on whether there is a turn

    def do_While(self, s):
        if s.orelse:
            raise _Unsupported("`else` of a loop")
        self.no_return(s, "while")
        names = self.carried(s.body)
        first, parts = self.begin(names)
        self.frames[-1].loops.append(s)
        for n in names:   # the condition must not be taken as known from the first values
            self.scope[n] = rebuilt(first[n] if not is_number(first[n]) else parts[n][0], [tensor(t.handle, t.type) for t in parts[n]])

        def go_on():
            test = self.visit(s.test)
            if isinstance(test, core.condition):
                test = test.condition
            test = self.truth(test, "while")
            return test if isinstance(test, tensor) else S.number(test, T.int1)

        start = go_on()
        outer = self.frames[-1].scope
        self.frames[-1].scope = dict(outer)
        region = self.program.enter()
        self.arguments(names, first, parts)
        self.statements(s.body)
        yields = self.ends(names, parts)
        if hasattr(s, "breaks"):   # the condition of a loop that was left is not looked at
            name = ast.copy_location(ast.Name(s.breaks, ast.Load()), s)
            again = self.visit(ast.copy_location(ast.IfExp(name, ast.copy_location(ast.Constant(False), s), s.test), s))
            again = self.truth(again, "while")
            again = again if isinstance(again, tensor) else S.number(again, T.int1)
        else:
            again = go_on()
        self.program.leave([again.handle] + yields)
        self.frames[-1].loops.pop()
        self.frames[-1].scope = outer
        node = self.program.append("loop_while", "none", operands=[start.handle] + [t.handle for n in names for t in parts[n]], regions=[region])
        self.after(node, names, first, parts)

    # ---- expressions ----
    def visit(self, e):
        return self.guarded(self.expression, e)

    def expression(self, e):
        f = getattr(self, "see_" + type(e).__name__, None)
        if f is None:
            raise _Unsupported(f"kernels have no `{type(e).__name__}` expressions")
        return f(e)

    def see_Constant(self, e):
        return e.value

    def name(self, name):
        if name in self.scope:
            value = self.scope[name]
            self.require_turn(name, value)
            return value
        fn = self.frames[-1].fn
        for place in (fn.nonlocals, fn.globals):
            if name in place:
                value = place[name]
                self.noted(fn, name, value)
                if isinstance(value, constexpr):
                    return value.value
                if self.allowed_global(value, name, fn) or knobs.compilation.allow_non_constexpr_globals:
                    return value
                raise NameError(f"global {name!r} is {value!r} of type {type(value).__name__}; a kernel reads globals that are tl.constexpr "
                                f"(`{name} = tl.constexpr(...)`), functions, modules and dtypes")
        if hasattr(builtins, name):
            return getattr(builtins, name)
        raise NameError(f"name {name!r} is not defined")

    def require_turn(self, name, value):
        """The launch fails where a loop's variable is read that no turn has bound."""
        loop, some, regions = self.frames[-1].unsure.get(name, (_missing, None, None))
        if value is loop and regions.isdisjoint(self.program.open):
            regions.add(self.program.open[-1])
            self.program.append("require", "none", operands=[some.handle],
                                name=f"name {name!r} is read where the loop that binds it had no turn{self.where()}")

    def noted(self, place, name, value):
        """Remembers a constant that becomes part of the code."""
        if isinstance(value, constexpr) or not isinstance(value, pytypes.ModuleType) and not callable(value):
            self.read[place, name] = value

    @staticmethod
    def allowed_global(value, name, fn):
        if value is None or isinstance(value, (pytypes.ModuleType, dtype, type)) or getattr(value, "__triton_jit__", False) or getattr(value, "__triton_builtin__", False):
            return True
        if fn.globals.get("__annotations__", {}).get(name) in (constexpr, "tl.constexpr", "constexpr"):
            return True
        if isinstance(value, tuple):
            return all(isinstance(v, constexpr) or Generator.allowed_global(v, name, fn) for v in value)
        return callable(value)

    def see_Name(self, e):
        return self.name(e.id)

    def see_Tuple(self, e):
        out = []
        for x in e.elts:
            if isinstance(x, ast.Starred):
                out.extend(self.visit(x.value))
            else:
                out.append(unwrap(self.visit(x)))
        return tuple(out)

    see_List = see_Tuple

    def binary(self, op, a, b):
        a, b = unwrap(a), unwrap(b)
        python, node = _BINARY[op] if op in _BINARY else (None, None)
        if python is None:
            raise _Unsupported(f"kernels have no operator {op.__name__}")
        if isinstance(a, tensor) or isinstance(b, tensor):
            if node is None:
                raise _Unsupported("kernels have no ** of tensors; see tl.extra.libdevice.pow")
            return node(a, b)
        return python(a, b)

    def see_BinOp(self, e):
        return self.binary(type(e.op), self.visit(e.left), self.visit(e.right))

    def see_UnaryOp(self, e):
        x = unwrap(self.visit(e.operand))
        if isinstance(e.op, ast.Not):
            t = self.truth(x, "not") if not (isinstance(x, tensor) and x.type.is_block()) else x
            return S.logical_not(t) if isinstance(t, tensor) else not t
        if isinstance(x, tensor):
            return {ast.USub: S.neg, ast.UAdd: lambda v: v, ast.Invert: S.invert}[type(e.op)](x)
        return {ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert}[type(e.op)](x)

    def see_Compare(self, e):
        if len(e.ops) > 1:
            raise _Unsupported("chained comparisons")
        a, b, op = unwrap(self.visit(e.left)), unwrap(self.visit(e.comparators[0])), type(e.ops[0])
        if op is ast.Is or op is ast.IsNot:
            return (a is b) == (op is ast.Is)
        if op is ast.In or op is ast.NotIn:
            found = self.any_equal(a, b) if isinstance(b, tuple) else a in b
            return found == (op is ast.In) if isinstance(found, bool) else found if op is ast.In else S.logical_not(found)
        if isinstance(a, tuple) and isinstance(b, tuple) and op in (ast.Eq, ast.NotEq):
            same = self.equal(a, b)
            return same == (op is ast.Eq) if isinstance(same, bool) else same if op is ast.Eq else S.logical_not(same)
        python, node = _COMPARE[op]
        if isinstance(a, tensor) or isinstance(b, tensor):
            if not all(isinstance(x, tensor) or is_number(x) for x in (a, b)) and op in (ast.Eq, ast.NotEq):
                return op is ast.NotEq
            return node(a, b)
        r = python(a, b)
        return unwrap(r)

    @classmethod
    def equal(cls, a, b):
        """a == b, element by element of tuples: True or False where it is known, else a truth value of the kernel."""
        if isinstance(a, tuple) and isinstance(b, tuple):
            result = len(a) == len(b)
            for x, y in zip(a, b) if result else ():
                same = cls.equal(x, y)
                result = same if result is True else result if same is True else False if same is False else S.logical_and(result, same)
                if result is False:
                    break
            return result
        a, b = (x.known if isinstance(x, tensor) and x.known is not None and not x.type.is_block() else x for x in map(unwrap, (a, b)))
        if not isinstance(a, tensor) and not isinstance(b, tensor):
            return bool(a == b)
        return S.eq(a, b) if all(isinstance(x, tensor) or is_number(x) for x in (a, b)) else False

    @classmethod
    def any_equal(cls, x, values):
        """x in values, likewise."""
        result = False
        for same in [cls.equal(x, v) for v in values]:
            result = same if result is False or same is True else result if same is False or result is True else S.logical_or(result, same)
        return result

    def see_BoolOp(self, e):
        both = isinstance(e.op, ast.And)
        r = None
        for i, x in enumerate(e.values):
            v = unwrap(self.visit(x))
            if isinstance(v, tensor) and v.known is not None and not v.type.is_block():
                v = bool(v.known)
            if not isinstance(v, tensor):
                if bool(v) != both:
                    return v if r is None or not isinstance(r, tensor) else (S.logical_and if both else S.logical_or)(r, bool(v))
                if r is None or not isinstance(r, tensor):
                    r = v
                continue
            r = v if r is None or not isinstance(r, tensor) else (S.logical_and if both else S.logical_or)(r, v)
            if i == 0 and len(e.values) > 1:
                r = S.truth(r)
        return r

    def see_IfExp(self, e):
        test = self.truth(self.visit(e.test), "a conditional expression")
        if not isinstance(test, tensor):
            return self.visit(e.body if test else e.orelse)
        regions, values = [], []
        for side in (e.body, e.orelse):
            regions.append(self.program.enter())
            values.append(self.visit(side))
            self.program.leave()
        a, b = values
        for side, (v, other) in enumerate(((a, b), (b, a))):
            if is_number(v) and isinstance(other, tensor):
                self.program.open.append(regions[side])
                values[side] = S.number(v, other.dtype)
                self.program.open.pop()
        return self.join(test, regions, [tuple(values)], ["the conditional expression"])[0]

    def see_Subscript(self, e):
        value = unwrap(self.visit(e.value))
        index = unwrap(self.visit(e.slice))
        if isinstance(index, tensor) and not isinstance(value, tensor):
            index = core._known(index, "an index")
        return value[index]

    def see_Slice(self, e):
        return slice(*(None if x is None else unwrap(self.visit(x)) for x in (e.lower, e.upper, e.step)))

    def see_Attribute(self, e):
        value = self.visit(e.value)
        if isinstance(value, tensor):
            if e.attr == "value" and value.known is not None:
                return value.known
            if not hasattr(value, e.attr):
                raise AttributeError(f"a tensor of a kernel has no attribute {e.attr!r}")
        elif is_number(value) and e.attr in ("value", "to", "dtype", "type"):
            return value if e.attr == "value" else getattr(S.to_tensor(value), e.attr)
        r = getattr(value, e.attr)
        if isinstance(r, constexpr):
            if isinstance(value, pytypes.ModuleType):
                self.noted(value, e.attr, r)
            return r.value
        if isinstance(value, pytypes.ModuleType) and is_number(r) and not value.__name__.startswith(("triton", "math")):
            raise NameError(f"{value.__name__}.{e.attr} is a global number; a kernel reads globals that are tl.constexpr")
        return r

    def see_NamedExpr(self, e):
        value = self.stored(self.visit(e.value))
        self.assign(e.target, value)
        return value

    def see_JoinedStr(self, e):
        out = ""
        for part in e.values:
            if isinstance(part, ast.Constant):
                out += part.value
            else:
                v = unwrap(self.visit(part.value))
                if isinstance(v, tensor) and v.known is not None:
                    v = v.known
                out += format(v, part.format_spec and self.see_JoinedStr(part.format_spec) or "") if not isinstance(v, tensor) else repr(v)
        return out

    def see_ListComp(self, e):
        if len(e.generators) != 1 or e.generators[0].ifs:
            raise _Unsupported("kernels have comprehensions over one tuple only")
        before = dict(self.scope)
        source = e.generators[0].iter
        values = unwrap(self.visit(source))
        out = []
        for v in values:
            self.assign(e.generators[0].target, v)
            out.append(self.visit(e.elt))
        self.frames[-1].scope = before
        return tuple(out)

    see_GeneratorExp = see_ListComp

    def call_arguments(self, e):
        args, kwargs = [], {}
        for a in e.args:
            if isinstance(a, ast.Starred):
                args.extend(unwrap(self.visit(a.value)))
            else:
                args.append(unwrap(self.visit(a)))
        for k in e.keywords:
            if k.arg is None:
                kwargs.update(unwrap(self.visit(k.value)))
            else:
                kwargs[k.arg] = unwrap(self.visit(k.value))
        return args, kwargs

    def see_Call(self, e):
        f = unwrap(self.visit(e.func))
        args, kwargs = self.call_arguments(e)
        if getattr(f, "__triton_jit__", False):
            return self.inline(f, args, kwargs)
        if f is constexpr:
            x = unwrap(args[0])
            if isinstance(x, tensor):
                return core._known(x, "the value of a tl.constexpr")
            return x
        if f is builtins.print:
            return core.device_print(args[0] if args and isinstance(args[0], str) else "", *[a for i, a in enumerate(args) if i or not isinstance(a, str)])
        some = any(isinstance(a, tensor) for a in args)
        if f in (builtins.max, builtins.min):
            if some:
                pick = core.maximum if f is builtins.max else core.minimum
                r = args[0]
                for x in args[1:]:
                    r = pick(r, x)
                return r
            return f(*args, **kwargs)
        if f is builtins.abs and some:
            return core.abs(*args)
        if f in (builtins.int, builtins.float, builtins.bool):
            x = args[0] if args else 0
            if isinstance(x, tensor):
                if x.known is not None:
                    return f(x.known)
                return S.cast(x, T.int32 if f is builtins.int else T.float32 if f is builtins.float else T.int1)
            return f(x)
        if f is builtins.range:
            return builtins.range(*(int(core._known(a, "range's bounds")) for a in args))
        if f is builtins.abs or f in _PYTHON_FUNCTIONS:
            return f(*args, **kwargs)
        own = getattr(f, "__self__", None)
        if getattr(f, "__triton_builtin__", False) or isinstance(own, (tensor, block_pointer, tensor_descriptor, dtype, str, tuple, dict)) or \
                getattr(f, "__module__", "") in ("math", "triton.language.semantic", "triton.language.core") or getattr(f, "__triton_constexpr_function__", False):
            return f(*args, **kwargs)
        if inspect.isclass(f) and issubclass(f, tuple):
            return f(*args, **kwargs)
        if not some and (inspect.isbuiltin(f) or getattr(f, "__module__", "").startswith("triton")):
            return f(*args, **kwargs)
        raise _Unsupported(f"{getattr(f, '__name__', f)!r} is no function that kernels can call; decorate it with @triton.jit")


class _Missing:
    def __repr__(self):
        return "<not assigned>"


_missing = _Missing()


class _Unsupported(Exception):
    pass
