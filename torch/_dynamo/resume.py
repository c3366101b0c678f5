"""Functions that go on in the middle of another: the same byte code behind a prologue that puts back locals and stack.

All jumps of CPython 3.11 are distances, so the code itself stays as it is; its tables of exceptions and lines move along.
"""
import dis
import functools
import types

HELD = "stack of "   # names of locals that bring what lies on the stack
MOST_LISTED = 256    # code objects that are kept with what is known of them; of others it is found anew


class Listed:
    """What is known of a code object: its instructions, where each lies, what guards it, and which locals are read later."""

    def __init__(self, code):
        self.code = code
        self.instructions = list(dis.get_instructions(code))
        self.index = {i.offset: n for n, i in enumerate(self.instructions)}
        self.table = dis._parse_exception_table(code) if code.co_exceptiontable else []
        self.protected = self._protected() if self.table else None
        self._live = None

    def _entry(self, offset):
        return next((e for e in self.table if e.start <= offset < e.end), None)

    def _protected(self):
        """For each instruction, whether an exception in it meets a handler other than that of a with block."""
        def meets(offset, left=20):
            entry = self._entry(offset)
            if entry is None:
                return False
            at = self.index[entry.target]
            names = [i.opname for i in self.instructions[at:at + 3]]
            if left and (names[:2] == ["PUSH_EXC_INFO", "WITH_EXCEPT_START"] or names == ["COPY", "POP_EXCEPT", "RERAISE"]):
                return meets(entry.target, left - 1)   # they hand the exception on
            return True
        return [meets(i.offset) for i in self.instructions]

    def start(self, at):
        """The first of the instructions that belong to one: EXTENDED_ARG, and the names of a call."""
        listed = self.instructions
        if listed[at].opname == "CALL" and at and listed[at - 1].opname == "PRECALL":
            at -= 1
            if at and listed[at - 1].opname == "KW_NAMES":
                at -= 1
        while at and listed[at - 1].opname == "EXTENDED_ARG":
            at -= 1
        return at

    def live(self, at):
        """The names of locals whose values may be read from this instruction on. Cells are always."""
        if self._live is None:
            self._live = self._find_live()
        return self._live[at]

    def _find_live(self):
        listed, n = self.instructions, len(self.instructions)
        always = frozenset(self.code.co_varnames[:1] if "__class__" in self.code.co_freevars else ())   # super() looks at it
        after = []
        for at, i in enumerate(listed):
            to = [] if i.opname in ("RETURN_VALUE", "RAISE_VARARGS", "RERAISE", "JUMP_FORWARD", "JUMP_BACKWARD",
                                    "JUMP_BACKWARD_NO_INTERRUPT") or at + 1 == n else [at + 1]
            if i.opcode in dis.hasjrel:
                to.append(self.index[i.argval])
            entry = self._entry(i.offset)
            if entry is not None:
                to.append(self.index[entry.target])
            after.append(to)
        live = [always] * n
        changed = True
        while changed:
            changed = False
            for at in range(n - 1, -1, -1):
                i = listed[at]
                now = always.union(*(live[t] for t in after[at]))
                if i.opname == "STORE_FAST" and self._entry(i.offset) is None:
                    now = now - {i.argval} | always
                elif i.opname in ("LOAD_FAST", "DELETE_FAST"):
                    now |= {i.argval}
                if now != live[at]:
                    live[at], changed = now, True
        return live


listed = functools.lru_cache(MOST_LISTED)(Listed)


def slots(code):
    """The names of a code's locals and cells, in the order of its frame, without those of enclosing functions."""
    return code.co_varnames + tuple(c for c in code.co_cellvars if c not in code.co_varnames)


def _varint(value, first=0):
    groups = [value & 63]
    while value > 63:
        value >>= 6
        groups.append(value & 63)
    groups = [g | 64 for g in groups[:0:-1]] + [groups[0]]
    groups[0] |= first
    return bytes(groups)


def lines_table(units, kind, more=b""):
    """Places of so many units of code, all of one kind: 15 has no line, 13 a line without columns."""
    return b"".join(bytes((0x80 | kind << 3 | min(units - at, 8) - 1,)) + more for at in range(0, units, 8))


def can_rest(code):
    """Whether functions of this code can go on in the middle. super() without arguments would find a cell in place of self."""
    cell_for_self = "__class__" in code.co_freevars and code.co_varnames[:1] and code.co_varnames[0] in code.co_cellvars
    return not (code.co_flags & (0x20 | 0x80 | 0x100 | 0x200) or dis.hasjabs or len(code.co_code) > 100000 or cell_for_self)


def rest(fn, offset, bound, layout):
    """(function, count of the bytes before what was fn's first) that does what fn does from `offset` on; can_rest must hold.

    Its arguments are the values of slots(fn.__code__), cells as they are, and what lies on the stack; `bound` names the
    slots that have a value (any may be given for others), `layout` says of each place of the stack whether it is a NULL.
    """
    code = fn.__code__
    names, op = slots(code), dis.opmap
    held = [f"{HELD}{k}" for k, null in enumerate(layout) if not null]
    first = len(names)
    lines = [] if not code.co_freevars else [("COPY_FREE_VARS", len(code.co_freevars))]
    lines.append(("RESUME", 0))
    at = first
    for null in layout:
        lines.append(("PUSH_NULL", 0) if null else ("LOAD_FAST", at))
        at += not null
    lines += [("DELETE_FAST", n) for n in range(first, first + len(held))]
    lines += [("DELETE_FAST", n) for n, name in enumerate(names) if name not in bound]
    units = offset // 2
    lines += [("EXTENDED_ARG", units >> 8), ("JUMP_FORWARD", units & 255)]
    prologue = b"".join(bytes((op[name], arg)) for name, arg in lines)
    body = bytearray(code.co_code)
    if held and code.co_freevars:   # these lie behind what was added
        for i in listed(code).instructions:
            if i.opcode in dis.hasfree and i.arg >= first:
                body[i.offset + 1] = i.arg + len(held)   # below 256, see above
    table = b"".join(_varint((e.start + len(prologue)) // 2, 128) + _varint((e.end - e.start) // 2) +
                     _varint((e.target + len(prologue)) // 2) + _varint(e.depth << 1 | e.lasti) for e in listed(code).table)
    made = code.replace(
        co_code=prologue + bytes(body), co_varnames=names + tuple(held), co_nlocals=first + len(held), co_cellvars=(),
        co_argcount=first + len(held), co_posonlyargcount=0, co_kwonlyargcount=0, co_flags=code.co_flags & ~(4 | 8),
        co_stacksize=max(code.co_stacksize, len(layout)) + 1, co_exceptiontable=table, co_linetable=lines_table(len(prologue) // 2, 15) + code.co_linetable)
    f = types.FunctionType(made, fn.__globals__, fn.__name__, None, fn.__closure__)
    f.__qualname__ = fn.__qualname__
    return f, len(prologue)
