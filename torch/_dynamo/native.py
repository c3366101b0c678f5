"""Single instructions as Python runs them, on a list that is the stack: those that are not followed, between two graphs.

Each step takes the site (splitting.py), the values of its slots and the stack. It gives 1 where the instruction jumps.
"""
import operator
import sys
import types

from .resume import lines_table
from .unseen import unseen
from .values import BINARY, COMPARE, NULL


def _pop(stack, n):
    items = stack[len(stack) - n:]
    del stack[len(stack) - n:]
    return items


def _call(site, slots, stack):
    args = _pop(stack, site.arg)
    f, below = stack.pop(), stack.pop()
    if below is not NULL:
        f, args = below, [f, *args]
    kwargs = {}
    if site.keywords:
        k = len(args) - len(site.keywords)
        kwargs, args = dict(zip(site.keywords, args[k:])), args[:k]
    stack.append(site.call(f, args, kwargs))


def _call_function_ex(site, slots, stack):
    kwargs = stack.pop() if site.arg & 1 else {}
    args, f = stack.pop(), stack.pop()
    if stack and stack[-1] is NULL:
        stack.pop()
    stack.append(site.call(f, args, kwargs))


def _plainly(f, count, name=False):
    """f of so many values from the stack, and of the instruction's name."""
    def step(site, slots, stack):
        args = _pop(stack, count)
        stack.append(site.shown(f, [*args, site.argval] if name else args, {}))
    return step


def _load_method(site, slots, stack):
    stack[-1:] = NULL, site.shown(getattr, [stack[-1], site.argval], {})


def _load_fast(site, slots, stack):
    stack.append(slots[site.names.index(site.argval)])


def _find_global(world, name):
    if name in world:
        return world[name]
    import builtins
    more = world.get("__builtins__", builtins)
    more = more if isinstance(more, dict) else vars(more)
    if name not in more:
        raise NameError(f"name {name!r} is not defined")
    return more[name]


def _load_global(site, slots, stack):
    if site.arg & 1:
        stack.append(NULL)
    stack.append(site.shown(_find_global, [site.fn.__globals__, site.argval], {}))


def _cell(site, slots):
    if site.argval in site.names:
        return slots[site.names.index(site.argval)]
    return site.fn.__closure__[site.fn.__code__.co_freevars.index(site.argval)]


def _load_deref(site, slots, stack):
    stack.append(_cell(site, slots).cell_contents)


def _store_deref(site, slots, stack):
    _cell(site, slots).cell_contents = stack.pop()


def _store_global(site, slots, stack):
    site.fn.__globals__[site.argval] = stack.pop()


def _store_attr(site, slots, stack):
    value, x = _pop(stack, 2)
    site.shown(setattr, [x, site.argval, value], {})


def _store_subscr(site, slots, stack):
    value, x, key = _pop(stack, 3)
    site.shown(operator.setitem, [x, key, value], {})


def _delete_subscr(site, slots, stack):
    site.shown(operator.delitem, _pop(stack, 2), {})


def _binary_op(site, slots, stack):
    name = BINARY[site.arg % 13]
    f = getattr(operator, "i" + name.rstrip("_") if site.arg >= 13 else name)
    stack.append(site.shown(f, _pop(stack, 2), {}))


def _compare_op(site, slots, stack):
    stack.append(site.shown(COMPARE[site.argval], _pop(stack, 2), {}))


def _contains_op(site, slots, stack):
    x, where = _pop(stack, 2)
    stack.append(site.shown(operator.contains, [where, x], {}) != bool(site.arg))


def _is_op(site, slots, stack):
    a, b = _pop(stack, 2)
    stack.append((a is b) != bool(site.arg))


def _format_value(site, slots, stack):
    spec = stack.pop() if site.arg & 4 else ""
    convert = (None, str, repr, ascii)[site.arg & 3]
    value = stack.pop()
    stack.append(site.shown(format, [convert(value) if convert else value, spec], {}))


def _unpack_sequence(site, slots, stack):
    names = ", ".join(f"x{k}" for k in range(site.arg)) or "[]"
    world = {}
    exec(f"def unpack(x):\n  {names}{',' if site.arg == 1 else ''} = x\n  return [{'' if site.arg == 0 else names}]", world)
    stack += reversed(site.shown(world["unpack"], [stack.pop()], {}))


def _for_iter(site, slots, stack):
    value = site.shown(next, [stack[-1], NULL], {})
    if value is NULL:
        stack.pop()
        return 1
    stack.append(value)
    return 0


def _jump(when):
    def step(site, slots, stack):
        return int(site.shown(bool, [stack.pop()], {}) is when)
    return step


def _jump_or_pop(when):
    def step(site, slots, stack):
        if site.shown(bool, [stack[-1]], {}) is when:
            return 1
        stack.pop()
        return 0
    return step


def _into(f):
    """What is on top of the stack goes into the container that lies further down."""
    def step(site, slots, stack):
        items = stack.pop()
        site.shown(f, [stack[-site.arg], items], {})
    return step


def _map_add(site, slots, stack):
    key, value = _pop(stack, 2)
    site.shown(operator.setitem, [stack[-site.arg], key, value], {})


def _import_name(site, slots, stack):
    level, names = _pop(stack, 2)
    world = site.fn.__globals__
    stack.append(site.shown(_find_global(world, "__import__"), [site.argval, world, None, names, level], {}))


def _import_from(site, slots, stack):
    module, name = stack[-1], site.argval
    try:
        value = getattr(module, name)
    except AttributeError:
        value = sys.modules.get(f"{getattr(module, '__name__', '')}.{name}")
        if value is None:
            raise ImportError(f"cannot import name {name!r} from {getattr(module, '__name__', '?')!r}") from None
    stack.append(value)


STEPS = {
    "CALL": _call, "CALL_FUNCTION_EX": _call_function_ex, "LOAD_ATTR": _plainly(getattr, 1, name=True), "LOAD_METHOD": _load_method,
    "LOAD_FAST": _load_fast, "LOAD_GLOBAL": _load_global, "LOAD_DEREF": _load_deref, "STORE_DEREF": _store_deref, "STORE_GLOBAL": _store_global,
    "STORE_ATTR": _store_attr, "STORE_SUBSCR": _store_subscr, "DELETE_SUBSCR": _delete_subscr, "BINARY_OP": _binary_op,
    "BINARY_SUBSCR": _plainly(operator.getitem, 2), "COMPARE_OP": _compare_op, "CONTAINS_OP": _contains_op, "IS_OP": _is_op,
    "UNARY_NEGATIVE": _plainly(operator.neg, 1), "UNARY_POSITIVE": _plainly(operator.pos, 1), "UNARY_INVERT": _plainly(operator.invert, 1),
    "UNARY_NOT": _plainly(operator.not_, 1), "FORMAT_VALUE": _format_value, "UNPACK_SEQUENCE": _unpack_sequence,
    "GET_ITER": _plainly(iter, 1), "FOR_ITER": _for_iter, "LIST_EXTEND": _into(list.extend), "SET_UPDATE": _into(set.update),
    "DICT_UPDATE": _into(dict.update), "LIST_APPEND": _into(list.append), "SET_ADD": _into(set.add), "MAP_ADD": _map_add,
    "POP_JUMP_FORWARD_IF_TRUE": _jump(True), "POP_JUMP_BACKWARD_IF_TRUE": _jump(True), "POP_JUMP_FORWARD_IF_FALSE": _jump(False),
    "POP_JUMP_BACKWARD_IF_FALSE": _jump(False), "JUMP_IF_TRUE_OR_POP": _jump_or_pop(True), "JUMP_IF_FALSE_OR_POP": _jump_or_pop(False),
    "IMPORT_NAME": _import_name, "IMPORT_FROM": _import_from,
}
for _step in STEPS.values():
    unseen(_step)


def caller(code, line, world):
    """f(*args, **kwargs), which tracebacks and warnings see at this line of this code."""
    made = (lambda f, args, kwargs: f(*args, **kwargs)).__code__
    made = made.replace(co_filename=code.co_filename, co_firstlineno=line, co_name=code.co_name, co_qualname=code.co_qualname,
                        co_linetable=lines_table(len(made.co_code) // 2, 13, b"\0"))
    return types.FunctionType(made, world, code.co_name)
