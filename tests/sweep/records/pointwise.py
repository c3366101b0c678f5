"""Arithmetic, comparisons, bits, roundings, choices."""

import numpy as np
import torch

from sweep.cases import binary, calls, ternary, unary
from sweep.record import T, call, inf, nan, op

# ---- arithmetic ----
op("abs", unary(), np.abs, types="fci", edges=[((0,), (0,)), ((-inf,), (-1,))])
op("absolute", unary(big=False), np.abs, types="fci")
op("neg", unary(), np.negative, types="fci")
op("positive", unary(big=False), lambda x: x, types="fci")
op("reciprocal", unary(0.2, 4, ints=(1, 9)), lambda x: 1 / x.astype(np.result_type(x, float)), types="fcib")
op("square", unary(), lambda x: x.astype(int) * x if x.dtype == bool else x * x, types="fcib")
plus = binary() + [call(T(2, 3), T(2, 3), alpha=2)]
op("add", plus, lambda x, y, alpha=1: x | y if x.dtype == bool else x + alpha * y, types="fcib")
op("sub", plus, lambda x, y, alpha=1: x - alpha * y, types="fci")
op("rsub", plus, lambda x, y, alpha=1: y - alpha * x, types="fci")
op("mul", binary(), lambda x, y: x & y if x.dtype == bool else x * y, types="fcib")


def divided(x, y, rounding_mode=None):
    if rounding_mode is None:
        return np.true_divide(x, y)
    if rounding_mode == "floor":
        return np.floor_divide(x, y)
    return np.trunc(np.true_divide(x, y)).astype(np.result_type(x, y))


divisors = dict(lo=-3.0, hi=3.0, lo2=0.6, hi2=4.0, ints=(-9, 9), ints2=(1, 4))
modes = [
    c.but(types="fi")
    for m in ("floor", "trunc")
    for c in binary(**divisors, special=False, number=2, big=False, rounding_mode=m)
]
op("div", binary(**divisors) + modes, divided, types="fcib")
op("floor_divide", binary(**divisors, special=False), np.floor_divide, types="fi", grad=False)
moduli = binary(**divisors, special=False, number=2) + [call(T(2, 3), -2).but(types="f")]
op(
    "remainder",
    moduli + [call(2, T(3, lo=0.6, hi=4, ints=(1, 4))).but(types="fi", grad=False)],
    np.remainder,
    types="fi",
)
op("fmod", moduli, np.fmod, types="fi")
op(
    "addcmul",
    ternary((-3, 3), (-3, 3), (-3, 3)) + [call(T(3), T(3), T(3), value=2)],
    lambda x, a, b, value=1: x + value * a * b,
    types="fci",
    tol=2,
)
op(
    "addcdiv",
    ternary((-3, 3), (-3, 3), (0.5, 4)) + [call(T(3), T(3), T(3, lo=0.5), value=2)],
    lambda x, a, b, value=1: x + value * a / b,
    types="fc",
    tol=2,
)
op(
    "lerp",
    ternary((-3, 3), (-3, 3), (0, 1)) + [call(T(2, 3), T(2, 3), 0.25), call(T(3), T(3), 0.75)],
    lambda a, b, w: a + w * (b - a),
    types="fc",
    tol=2,
    mixed=False,
)
op("hypot", binary(number=False), np.hypot, types="f")
op("copysign", binary(number=-2), lambda x, y: np.copysign(np.float64(x), np.float64(y)), edges=[((0, 1), (0, 0))])
op("ldexp", binary(number=False, special=False), lambda x, y: x * np.power(2.0, y), types="fcib")
op(
    "nextafter",
    binary(special=False, number=False, big=False, leaf=(True, False)),
    lambda x, y: np.nextafter(x, y).astype(float) + 0 * y,
    types="f",
)
op(
    "heaviside",
    binary(number=False, special=False, ints=(-2, 2)),
    lambda x, y: np.heaviside(np.float64(x), np.float64(y)).astype(y.dtype),
    grad=False,
    mixed=False,
)

# ---- comparisons and logic ----
for name, f in dict(eq=np.equal, ne=np.not_equal).items():
    op(name, binary(ints=(-2, 2)), f, types="fcib", grad=False)
for name, f in dict(lt=np.less, le=np.less_equal, gt=np.greater, ge=np.greater_equal).items():
    op(name, binary(ints=(-2, 2)), f, grad=False)
for name, f in dict(logical_and=np.logical_and, logical_or=np.logical_or, logical_xor=np.logical_xor).items():
    op(name, binary(number=False, ints=(0, 1)), f, types="fcib", grad=False)
op("logical_not", unary(ints=(0, 1)), np.logical_not, types="fcib", grad=False)
op(
    "isclose",
    binary(number=False) + [call(T(values=[1.0, nan]), T(values=[1.1, nan]), rtol=0.2, equal_nan=True).but(types="f")],
    lambda x, y, rtol=1e-5, atol=1e-8, equal_nan=False: np.isclose(x * 1.0, y * 1.0, rtol, atol, equal_nan),
    types="fcib",
    grad=False,
    mixed=False,
)
for name, f in dict(isnan=np.isnan, isinf=np.isinf, isfinite=np.isfinite, isreal=np.isreal).items():
    op(name, unary(), f, types="fcib", grad=False)
op("isposinf", unary(), lambda x: x == inf, grad=False)
op("isneginf", unary(), lambda x: x == -inf, grad=False)
op("signbit", unary(), lambda x: np.signbit(np.float64(x)), grad=False)


def sign(x):
    if x.dtype == bool:
        return x
    size = np.abs(x)
    return np.where(size > 0, x / np.where(size > 0, size, 1), 0 * size).astype(x.dtype)


finite = [call(T(values=[0.0, -0.0, 2.0, -0.5])).but(types="f", grad=False)]
op("sign", unary(special=False) + finite, sign, edges=[((0,), (0,))])
op("sgn", unary(special=False) + finite, sign, types="fcib")

# ---- bits ----
for name, f in dict(bitwise_and=np.bitwise_and, bitwise_or=np.bitwise_or, bitwise_xor=np.bitwise_xor).items():
    op(name, binary(ints=(-9, 9), number=3, special=False), f, types="ib")
    symbol, some = (
        name.removeprefix("bitwise_"),
        calls(call(T(2, 3), T(2, 3)), call(T(2, 3), T(3)), call(T(2, 3), 3).but(types="i")),
    )
    op(f"__{symbol}__", some, f, types="ib")
    op(f"__i{symbol}__", some, f, types="ib")
op("bitwise_not", unary(ints=(-9, 9), special=False), np.invert, types="ib")
for name, f, symbol in [
    ("bitwise_left_shift", np.left_shift, "lshift"),
    ("bitwise_right_shift", np.right_shift, "rshift"),
]:
    op(name, binary(ints=(-9, 9), ints2=(0, 4), number=False, special=False), f, types="i")
    some = calls(call(T(2, 3), T(2, 3, ints=(0, 4))), call(T(2, 3), 3))
    op(f"__{symbol}__", some, f, types="i")
    op(f"__i{symbol}__", some, f, types="i")
op("gcd", binary(ints=(-9, 9), number=False, special=False), np.gcd, types="i")
op("lcm", binary(ints=(-9, 9), number=False, special=False), np.lcm, types="i")

# ---- roundings ----
for name, f in dict(ceil=np.ceil, floor=np.floor, trunc=np.trunc).items():
    op(name, unary(), f, types="fi", ulp=0)
for name in ("round", "special_round"):
    op(
        name,
        unary() + [call(T(2, 3), decimals=1).but(types="f")],
        lambda x, decimals=0: np.round(x, decimals),
        types="fi",
    )
op("frac", unary(special=False), lambda x: x - np.trunc(x), types="f", ulp=0)
op("frexp", unary(special=False) + finite, np.frexp, types="f", result=["same", torch.int32])


def nan_to_num(x, nan=None, posinf=None, neginf=None):
    return np.nan_to_num(x, nan=nan or 0.0, posinf=posinf, neginf=neginf)


op(
    "nan_to_num",
    unary(special=False) + [call(T(values=[nan, inf, -inf, 1.0]), 5.0, 6.0, -6.0).but(types="f", grad=False)],
    nan_to_num,
    types="fcib",
)

# ---- choices ----
for name, f in dict(maximum=np.maximum, minimum=np.minimum, fmax=np.fmax, fmin=np.fmin).items():
    op(name, binary(number=False), f)


def clamp(x, lo=None, hi=None):
    y = x if lo is None else np.maximum(x, lo)
    return y if hi is None else np.minimum(y, hi)


op(
    "clamp",
    unary(-3, 3, 1, 2)
    + [call(T(2, 3), min=1), call(T(2, 3), max=1), call(T(2, 3), T(3, hi=0), T(2, 1, lo=0)), call(T(2, 3), T(2, 3))],
    lambda x, *a, min=None, max=None: clamp(x, *a, **({} if a else dict(lo=min, hi=max))),
)
op("clamp_min", unary(-3, 3, 1) + [call(T(2, 3), T(3))], lambda x, min: np.maximum(x, min))
op("clamp_max", unary(-3, 3, 1) + [call(T(2, 3), T(3))], lambda x, max: np.minimum(x, max))


def mask(*shape):
    return T(*shape, dtype=torch.bool)


op(
    "where",
    calls(
        call(mask(2, 3), T(2, 3), T(2, 3)),
        call(mask(3, 1), T(2), T(3, 2)),
        call(mask(), T(3), T()),
        call(mask(2, 3), T(2, 3), 2).but(types="fci"),
        call(mask(2, 3), 1, T(2, 3)).but(types="fci"),
        call(mask(2), 1, 2).but(values=False),
        call(mask(2, 3)).but(grad=False, meta=False),
        call(mask(129, 513), T(129, 513), T(513)).but(grad=False, big=True),
    ),
    lambda c, *xy: np.where(c, *xy),
    types="fcib",
    result=lambda c, *xy: xy[0].dtype if xy and hasattr(xy[0], "dtype") else xy[1].dtype if xy else torch.int64,
)

# ---- complex ----
op(
    "angle",
    unary(special=False) + [call(T(values=[1.0, -1.0, nan, -inf])).but(types="f", grad=False)],
    lambda x: np.where(np.isnan(x), x, np.angle(x)) if x.dtype.kind == "f" else np.angle(x),
    types="fcib",
)
op("conj_physical", unary(), lambda x: x if x.dtype == bool else np.conj(x), types="fcib")
