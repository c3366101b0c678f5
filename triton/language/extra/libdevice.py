"""Functions by the names of CUDA's device library, from ops/math. See bits.py and directed.py for those on bits and those that round."""
import math

from ..core import abs, builtin, ceil, cos, div_rn, erf, exp, exp2, fdiv, floor, fma, lane, log, log2, maximum, minimum, rsqrt, sin, sqrt, umulhi
from ..semantic import call as _call, promoted as _promoted, to_tensor as _to_tensor
from .. import semantic as _S
from .. import types as _T
from .bits import (brev, byte_perm, clz, double2hiint, double2loint, double_as_longlong, ffs, float_as_int, float_as_uint, hadd, hiloint2double,
                   int_as_float, longlong_as_double, mul24, mulhi, popc, rhadd, sad, uint_as_float)
from .directed import FUNCTIONS, float_of


def _one(name, function=None):
    def f(x):
        x = _to_tensor(x)
        if not (x.dtype.is_fp32() or x.dtype.is_fp64()):
            raise ValueError(f"{name} takes fp32 or fp64, not {x.dtype}")
        return _call(function or name, x)
    f.__name__ = f.__qualname__ = name
    return builtin(f)


def _two(name, function=None):
    def f(x, y):
        x, y = _promoted(x, y, what=name)
        if not (x.dtype.is_fp32() or x.dtype.is_fp64()):
            raise ValueError(f"{name} takes fp32 or fp64, not {x.dtype}")
        return _call(function or name, x, y)
    f.__name__ = f.__qualname__ = name
    return builtin(f)


def _lane(name, node):
    def f(x):
        return node(_to_tensor(x))
    f.__name__ = f.__qualname__ = name
    return builtin(f)


tan, asin, acos, atan = _one("tan"), _one("asin"), _one("acos"), _one("atan")
sinh, cosh, tanh = _one("sinh"), _one("cosh"), _one("tanh")
asinh, acosh, atanh = _one("asinh"), _one("acosh"), _one("atanh")
expm1, log1p, log10 = _one("expm1"), _one("log1p"), _one("log10")
erfc, erfinv, lgamma = _one("erfc"), _one("erfinv"), _one("lgamma")
pow, atan2, hypot, fmod = _two("pow"), _two("atan2"), _two("hypot"), _two("fmod")
fast_expf, fast_logf, fast_sinf, fast_cosf, fast_tanhf = _one("fast_expf", "exp"), _one("fast_logf", "log"), _one("fast_sinf", "sin"), _one("fast_cosf", "cos"), _one("fast_tanhf", "tanh")
fast_powf = _two("fast_powf", "pow")
trunc = _lane("trunc", lambda x: lane("trunc", x.dtype, x))
rint = _lane("rint", lambda x: lane("rint", x.dtype, x))
nearbyint = rint
isnan = _lane("isnan", lambda x: _S.ne(x, x))
isinf = _lane("isinf", lambda x: _S.eq(abs(x), float("inf")))
signbit = _lane("signbit", lambda x: _S.lt(_S.cast(x, _T.int32 if x.dtype.primitive_bitwidth == 32 else _T.int64, bitcast=True), 0))


@builtin
def copysign(x, y):
    """The size of x with the sign of y."""
    x, y = _promoted(x, y, what="copysign")
    return lane("copysign", x.dtype, x, y)


@builtin
def round(x):
    """To the nearest integer, halves away from zero."""
    x = _to_tensor(x)
    t = lane("trunc", x.dtype, x)
    away = _S.ge(abs(_S.sub(x, t)), 0.5)
    return lane("copysign", x.dtype, _S.where(away, _S.add(abs(t), 1.0), abs(t)), x)


def _in_double(name, f, arity=1, text=""):
    """A function that fp32 is computed for in fp64."""
    def g(*args):
        xs = _S.promoted_operands(args, arity, what=name)
        to = float_of(xs[0], name).dtype
        return _S.cast(f(*[_S.cast(x, _T.float64) for x in xs]), to)
    g.__name__ = g.__qualname__ = name
    g.__doc__ = text
    return builtin(g)


def _power_of_two(n):
    """2 to the n, an int64 from -1022 to 1023, as fp64."""
    return _S.cast(_S.shl(_S.add(n, 1023), 52), _T.float64, bitcast=True)


def _cube_root(x):
    a = abs(x)
    small = _S.lt(a, 2.0 ** -1000)
    a = _S.where(small, _S.mul(a, 2.0 ** 192), a)
    y = _call("pow", a, _S.broadcast_to(_S.number(1 / 3, _T.float64), a.shape))
    y = _S.sub(y, div_rn(fma(_S.mul(y, y), y, _S.neg(a)), _S.mul(_S.mul(y, y), 3.0)))   # one step of Newton's
    y = _S.where(small, _S.mul(y, 2.0 ** -64), y)
    plain = _S.logical_and(_S.gt(a, 0.0), _S.lt(a, float("inf")))
    return _S.where(plain, lane("copysign", x.dtype, y, x), x)


def _of_half_turns(x, quarter):
    """sin(pi (x + quarter / 2)): what is left of x beside the nearest half is turned exactly."""
    n = lane("rint", x.dtype, _S.mul(x, 2.0))
    r = _S.mul(_S.sub(x, _S.mul(n, 0.5)), math.pi)
    q = _S.bit_and(_S.add(_S.cast(_S.sub(n, _S.mul(floor(_S.mul(n, 0.25)), 4.0)), _T.int32), quarter), 3)
    v = _S.where(_S.eq(_S.bit_and(q, 1), 0), sin(r), cos(r))
    v = _S.where(_S.ge(q, 2), _S.neg(v), v)
    return _S.where(_S.lt(abs(x), float("inf")), v, float("nan"))


def _sine_of_half_turns(x):
    v = _of_half_turns(x, 0)
    return _S.where(_S.eq(x, lane("trunc", x.dtype, x)), lane("copysign", x.dtype, _S.where(_S.lt(abs(x), float("inf")), 0.0, v), x), v)


def _cosine_of_half_turns(x):
    v = _of_half_turns(x, 1)
    return _S.where(_S.eq(v, 0.0), 0.0, v)


def _scaled_erfc(x):
    a = _S.mul(x, x)
    lost = fma(x, x, _S.neg(a))
    near = _S.mul(_S.mul(exp(_S.where(_S.lt(x, 25.0), a, 0.0)), _S.add(lost, 1.0)), erfc(x))
    near = _S.where(_S.lt(x, -27.0), float("inf"), near)
    u = div_rn(0.5, a)
    series = fma(u, fma(u, fma(u, fma(u, fma(u, -945.0, 105.0), -15.0), 3.0), -1.0), 1.0)
    far = div_rn(_S.mul(series, 1 / math.sqrt(math.pi)), x)
    return _S.where(_S.lt(x, 25.0), near, _S.where(_S.eq(x, x), far, x))


def _inverse_erfc(y):
    """By Halley's steps from where the leading term of erfc far out has this value; near 1 from erfinv."""
    low = _S.where(_S.gt(y, 1.0), _S.sub(2.0, y), y)
    inside = _S.logical_and(_S.gt(low, 0.0), _S.lt(low, 0.25))
    p = _S.where(inside, low, 0.25)
    t = _S.neg(log(_S.mul(p, math.sqrt(math.pi))))
    x = sqrt(_S.sub(t, _S.mul(log(maximum(t, 0.5)), 0.5)))
    x = maximum(x, 0.5)
    for _ in range(4):
        u = div_rn(_S.sub(erfc(x), p), _S.mul(exp(_S.neg(_S.mul(x, x))), -2 / math.sqrt(math.pi)))
        x = _S.sub(x, div_rn(u, fma(x, u, 1.0)))
    r = _S.where(inside, x, _call("erfinv", _S.sub(1.0, low)))
    r = _S.where(_S.eq(low, 0.0), float("inf"), r)
    r = _S.where(_S.lt(low, 0.0), float("nan"), r)
    return _S.where(_S.gt(y, 1.0), _S.neg(r), r)


def _gamma(x):
    g = exp(_call("lgamma", x))
    odd = _S.ne(_S.mod(floor(x), 2.0), 0.0)
    g = _S.where(_S.logical_and(_S.lt(x, 0.0), odd), _S.neg(g), g)
    pole = _S.logical_and(_S.lt(x, 0.0), _S.eq(x, floor(x)))
    # Factorials are whole numbers.
    whole = _S.logical_and(_S.logical_and(_S.eq(x, floor(x)), _S.gt(x, 0.0)), _S.lt(x, 19.0))
    g = _S.where(whole, lane("rint", g.dtype, g), g)
    return _S.where(pole, float("nan"), _S.where(_S.eq(x, 0.0), lane("copysign", x.dtype, _S.number(float("inf"), _T.float64) if not x.shape else _S.splat(_S.number(float("inf"), _T.float64), x.shape), x), g))


def _norm(*xs):
    most = abs(xs[0])
    for x in xs[1:]:
        most = maximum(most, abs(x))
    plain = _S.logical_and(_S.gt(most, 0.0), _S.lt(most, float("inf")))
    by = _S.where(plain, most, 1.0)
    total = None
    for x in xs:
        v = div_rn(x, by)
        total = _S.mul(v, v) if total is None else fma(v, v, total)
    return _S.where(_S.eq(most, float("inf")), most, _S.mul(sqrt(total), by))


cbrt = _in_double("cbrt", _cube_root, text="Cube root.")
rcbrt = _in_double("rcbrt", lambda x: div_rn(1.0, _cube_root(x)), text="1 / cbrt(x).")
exp10 = _in_double("exp10", lambda x: _call("pow", _S.splat(_S.number(10.0, _T.float64), x.shape), x), text="10 to the x.")
sinpi = _in_double("sinpi", _sine_of_half_turns, text="sin(pi x).")
cospi = _in_double("cospi", _cosine_of_half_turns, text="cos(pi x).")
erfcx = _in_double("erfcx", _scaled_erfc, text="exp(x * x) erfc(x).")
erfcinv = _in_double("erfcinv", _inverse_erfc, text="What erfc is y of.")
normcdf = _in_double("normcdf", lambda x: _S.mul(erfc(_S.mul(x, -math.sqrt(0.5))), 0.5), text="The normal distribution's share below x.")
normcdfinv = _in_double("normcdfinv", lambda p: _S.mul(_inverse_erfc(_S.mul(p, 2.0)), -math.sqrt(2.0)), text="What normcdf is p of.")


def _remainder(x, y):
    """x - y n for the whole number n next to x / y, the even one of two (IEEE 754): exact."""
    y = abs(y)
    r = _call("fmod", abs(x), y + y)
    over = _S.gt(r + r, y)
    r = _S.where(over, r - y, r)
    r = _S.where(_S.logical_and(over, _S.ge(r + r, y)), r - y, r)
    return _S.where(_S.eq(x, 0.0), r * x, _S.where(_S.lt(x, 0.0), _S.neg(r), r))


remainder = _in_double("remainder", _remainder, 2, "x - y n for the whole number n next to x / y, the even one of two.")
tgamma = _in_double("tgamma", _gamma, text="The gamma function, as exp(lgamma(x)): of fp64, within 700 units in the last place up to where it overflows.")
norm3d = _in_double("norm3d", _norm, 3, "sqrt(x x + y y + z z), without overflow on the way.")
norm4d = _in_double("norm4d", _norm, 4, "sqrt of the sum of four squares, without overflow on the way.")
rnorm3d = _in_double("rnorm3d", lambda *xs: div_rn(1.0, _norm(*xs)), 3, "1 / norm3d.")
rnorm4d = _in_double("rnorm4d", lambda *xs: div_rn(1.0, _norm(*xs)), 4, "1 / norm4d.")
rhypot = _in_double("rhypot", lambda x, y: div_rn(1.0, _call("hypot", x, y)), 2, "1 / hypot(x, y).")
fast_log2f, fast_log10f, fast_tanf = _one("fast_log2f", "log2"), _one("fast_log10f", "log10"), _one("fast_tanf", "tan")
fast_exp10f = exp10
fast_dividef = fdiv
rsqrt_rn = _in_double("rsqrt_rn", lambda x: div_rn(1.0, sqrt(x)), text="1 / sqrt(x).")
llround = _lane("llround", lambda x: _S.cast(round(x), _T.int64))
llrint = _lane("llrint", lambda x: _S.cast(lane("rint", x.dtype, x), _T.int64))
finitef = isfinited = _lane("isfinited", lambda x: _S.lt(abs(x), float("inf")))
saturatef = _lane("saturatef", lambda x: _S.where(_S.gt(x, 0.0), _S.where(_S.lt(x, 1.0), x, 1.0), 0.0))


@builtin
def fdim(x, y):
    """x - y where it is positive, else 0."""
    x, y = _promoted(x, y, what="fdim")
    return _S.where(_S.le(x, y), 0.0, _S.sub(x, y))


@builtin
def ldexp(x, n):
    """x times 2 to the n, rounded once."""
    x, n = float_of(x, "ldexp"), _to_tensor(n)
    if not n.dtype.is_int():
        raise ValueError(f"ldexp takes an integer as its second operand, not {n.dtype}")
    x, n = _S.broadcast_all(x, _S.cast(n, _T.int64))
    v, n = _S.cast(x, _T.float64), minimum(maximum(n, -2200), 3100)
    for _ in range(2):   # by steps that lose no bits
        under, over = _S.lt(n, -1022), _S.gt(n, 1023)
        v = _S.mul(v, _S.where(under, 2.0 ** -969, _S.where(over, 2.0 ** 1023, 1.0)))
        n = _S.add(n, _S.where(under, 969, _S.where(over, -1023, 0)))
    return _S.cast(_S.mul(v, _power_of_two(minimum(maximum(n, -1022), 1023))), x.dtype)


scalbn = ldexp


def _exponent(x, what):
    """The exponent of x, int64, where x is finite and not 0."""
    v = _S.cast(float_of(x, what), _T.float64)
    small = _S.lt(abs(v), 2.0 ** -1022)
    bits = _S.cast(_S.where(small, _S.mul(v, 2.0 ** 54), v), _T.int64, bitcast=True)
    return _S.sub(_S.bit_and(_S.shr(bits, 52), 2047), _S.where(small, 1077, 1023))


@builtin
def ilogb(x):
    """The exponent of x, int32; the least int32 for 0 and NaN, the greatest for infinity."""
    x = float_of(x, "ilogb")
    least = _S.logical_or(_S.eq(x, 0.0), _S.ne(x, x))
    e = _S.where(_S.eq(abs(x), float("inf")), 2 ** 31 - 1, _exponent(x, "ilogb"))
    return _S.cast(_S.where(least, -2 ** 31, e), _T.int32)


@builtin
def logb(x):
    """The exponent of x as a float; -inf for 0, inf for infinity."""
    x = float_of(x, "logb")
    e = _S.cast(_exponent(x, "logb"), x.dtype)
    r = _S.where(_S.eq(x, 0.0), float("-inf"), _S.where(_S.eq(abs(x), float("inf")), float("inf"), e))
    return _S.where(_S.ne(x, x), x, r)


def _absent(name):
    def f(*args):
        raise NotImplementedError(f"libdevice.{name} is not there: kernels on the CPU have no text of it")
    f.__name__ = f.__qualname__ = name
    f.__doc__ = "Not there: raises NotImplementedError."
    return builtin(f)


j0, j1, jn, y0, y1, yn = map(_absent, ("j0", "j1", "jn", "y0", "y1", "yn"))
cyl_bessel_i0, cyl_bessel_i1, rcp64h = map(_absent, ("cyl_bessel_i0", "cyl_bessel_i1", "rcp64h"))
globals().update(FUNCTIONS)
