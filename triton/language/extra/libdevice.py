"""Functions by the names of CUDA's device library, from ops/math."""
from ..core import abs, builtin, ceil, cos, div_rn, erf, exp, exp2, floor, fma, lane, log, log2, rsqrt, sin, sqrt, umulhi
from ..semantic import call as _call, promoted as _promoted, to_tensor as _to_tensor
from .. import semantic as _S
from .. import types as _T


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
remainder = _two("remainder")
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
