"""Arithmetic and conversions of CUDA's device library that say which way they round: _rn to nearest, _rz to zero, _rd down, _ru up.

Operations on fp32 are done in fp64, where what they leave over is known: its sign tells whether the result moves by one step."""
from ..core import abs, builtin, fdiv, fma, lane
from ..semantic import promoted, to_tensor
from .. import semantic as S
from .. import types as T


def _bits(x):
    return S.cast(x, T.int32 if x.dtype.is_fp32() else T.int64, bitcast=True)


def float_of(x, what):
    x = to_tensor(x)
    if not (x.dtype.is_fp32() or x.dtype.is_fp64()):
        raise ValueError(f"{what} takes fp32 or fp64, not {x.dtype}")
    return x


def step(x, up):
    """The next number above x where `up` holds, else the one below."""
    bits = _bits(x)
    away = S.eq(S.gt(x, 0.0), up)
    moved = S.cast(S.add(bits, S.where(away, 1, -1)), x.dtype, bitcast=True)
    least = S.number(2.0 ** -149 if x.dtype.is_fp32() else 2.0 ** -1074, x.dtype)
    return S.where(S.eq(x, 0.0), S.where(up, least, S.neg(least)), moved)


@builtin
def nextafter(x, y):
    """The next number after x on the way to y."""
    x, y = promoted(x, y, what="nextafter")
    float_of(x, "nextafter")
    moved = step(x, S.gt(y, x))
    return S.where(S.logical_or(S.ne(x, x), S.ne(y, y)), S.add(x, y), S.where(S.eq(x, y), y, moved))


def _to_single(value, rest, way):
    """fp64 `value`, which is `rest` (whose sign counts) less than what is meant, as fp32."""
    near = S.cast(value, T.float32)
    if way == "rn":
        return near
    back = S.cast(near, T.float64)
    less = S.logical_or(S.lt(back, value), S.logical_and(S.eq(back, value), S.gt(rest, 0.0)))       # near lies below what is meant
    more = S.logical_or(S.gt(back, value), S.logical_and(S.eq(back, value), S.lt(rest, 0.0)))
    below, above = S.where(more, step(near, S.ne(near, near)), near), S.where(less, step(near, S.eq(near, near)), near)
    if way == "rd":
        return below
    if way == "ru":
        return above
    negative = S.logical_or(S.lt(value, 0.0), S.logical_and(S.eq(value, 0.0), S.lt(rest, 0.0)))
    return S.where(negative, above, below)


def _sum(x, y):
    """x + y, and what rounding left of it."""
    s = S.add(x, y)
    v = S.sub(s, x)
    rest = S.add(S.sub(x, S.sub(s, v)), S.sub(y, v))
    return s, S.where(S.eq(rest, rest), rest, 0.0)


def _total(x, y, way):
    value, rest = _sum(x, y)
    r = _to_single(value, rest, way)
    if way != "rd":
        return r
    apart = S.lt(S.bit_xor(_bits(x), _bits(y)), 0)   # downwards, x - x is -0
    return S.where(S.logical_and(S.eq(value, 0.0), apart), S.neg(S.number(0.0, T.float32)), r)


def _quotient(x, y, way):
    q = fdiv(x, y)
    left = fma(S.neg(q), y, x)
    rest = S.where(S.lt(y, 0.0), S.neg(left), left)
    return _to_single(q, S.where(S.eq(rest, rest), rest, 0.0), way)


def _root(x, way):
    q = lane("sqrt", x.dtype, x)
    rest = fma(S.neg(q), q, x)
    return _to_single(q, S.where(S.eq(rest, rest), rest, 0.0), way)


def _multiply_add(x, y, z, way):
    return _total(S.mul(x, y), z, way)


_SINGLE = {"add": _total, "sub": lambda x, y, way: _total(x, S.neg(y), way), "mul": lambda x, y, way: _to_single(S.mul(x, y), S.number(0.0, T.float64), way),
           "div": _quotient, "sqrt": _root, "rcp": lambda x, way: _quotient(S.number(1.0, T.float64), x, way), "fma": _multiply_add}
_NEAREST = {"add": S.add, "sub": S.sub, "mul": S.mul, "div": fdiv, "sqrt": lambda x: lane("sqrt", x.dtype, x), "rcp": lambda x: fdiv(1.0, x), "fma": fma}
_WAYS = {"rn": "to nearest", "rz": "to zero", "rd": "down", "ru": "up"}


def _arithmetic(kind, way):
    name = f"{kind}_{way}"

    def f(*args):
        count = {"sqrt": 1, "rcp": 1, "fma": 3}.get(kind, 2)
        xs = S.promoted_operands(args, count, what=name)
        for x in xs:
            float_of(x, name)
        if way == "rn":
            return _NEAREST[kind](*xs)
        if xs[0].dtype.is_fp64():
            raise NotImplementedError(f"{name} of fp64 is not there; of fp32 it is")
        return _SINGLE[kind](*[S.cast(x, T.float64) for x in xs], way)
    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"{kind} of floats, rounded {_WAYS[way]}."
    return builtin(f)


def _rounded(x, way):
    if way == "rn":
        return lane("rint", x.dtype, x)
    return lane({"rz": "trunc", "rd": "floor", "ru": "ceil"}[way], x.dtype, x)


def _to_integer(name, source, to, way):
    def f(x):
        x = float_of(x, name)
        if x.dtype != source:
            raise ValueError(f"{name} takes {source}, not {x.dtype}")
        x = S.cast(_rounded(x, way), T.float64)
        low, high = to.get_int_min_value(), to.get_int_max_value()
        over = S.ge(x, float(high) + (0.0 if float(high) > high else 1.0))   # not below the next number
        under = S.lt(x, float(low))
        fits = S.logical_not(S.logical_or(S.logical_or(over, under), S.ne(x, x)))
        inside = S.where(fits, x, 0.0)
        r = S.cast(inside, to)
        return S.where(over, S.number(high, to), S.where(under, S.number(low, to), r))
    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"{source} as {to}, rounded {_WAYS[way]}; what does not fit is the nearest one that does, NaN is 0."
    return builtin(f)


def _to_float(name, source, to, way):
    def f(x):
        x = to_tensor(x)
        if x.dtype.is_floating() != source.is_floating() or x.dtype.primitive_bitwidth != source.primitive_bitwidth:
            raise ValueError(f"{name} takes {source}, not {x.dtype}")
        x = x if x.dtype.is_floating() else S.cast(x, source, bitcast=True)
        if way == "rn":
            return S.cast(x, to)
        if source.primitive_bitwidth == 64 and not source.is_floating():
            raise NotImplementedError(f"{name} is not there; {name[:-2]}rn is")
        return _to_single(S.cast(x, T.float64), S.number(0.0, T.float64), way)
    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"{source} as {to}, rounded {_WAYS[way]}."
    return builtin(f)


def _all():
    found = {"nextafter": nextafter}
    for way in _WAYS:
        for kind in _SINGLE:
            found[f"{kind}_{way}"] = _arithmetic(kind, way)
        for word, source in (("float", T.float32), ("double", T.float64)):
            for to, kind in (("int", T.int32), ("uint", T.uint32), ("ll", T.int64), ("ull", T.uint64)):
                name = f"{word}2{to}_{way}"
                found[name] = _to_integer(name, source, kind, way)
        for word, source in (("int", T.int32), ("uint", T.uint32), ("ll", T.int64), ("ull", T.uint64), ("double", T.float64)):
            name = f"{word}2float_{way}"
            found[name] = _to_float(name, source, T.float32, way)
        for word, source in (("ll", T.int64), ("ull", T.uint64)):
            name = f"{word}2double_{way}"
            found[name] = _to_float(name, source, T.float64, way)
    for word, source in (("int", T.int32), ("uint", T.uint32)):
        name = f"{word}2double_rn"
        found[name] = _to_float(name, source, T.float64, "rn")
    return found


FUNCTIONS = _all()
