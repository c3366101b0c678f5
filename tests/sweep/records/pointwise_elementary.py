"""Powers, exponentials, logarithms, trigonometry."""

import numpy as np
import torch

from sweep.cases import binary, unary
from sweep.record import T, call, inf, nan, op


def real(f):
    """f over floating numbers: numpy computes functions of bool in half precision."""

    def g(*args, **kwargs):
        return f(*[a.astype(float) if getattr(a, "dtype", np.dtype(float)).kind in "bi" else a for a in args], **kwargs)

    return g


ELEMENTARY = dict(
    sqrt=(0.1, 4, np.sqrt),
    rsqrt=(0.1, 4, lambda x: 1 / np.sqrt(x)),
    exp=(-3, 3, np.exp),
    expm1=(-3, 3, np.expm1),
    log=(0.1, 5, np.log),
    log2=(0.1, 5, np.log2),
    log10=(0.1, 5, np.log10),
    log1p=(-0.9, 5, np.log1p),
    sin=(-3, 3, np.sin),
    cos=(-3, 3, np.cos),
    tan=(-1.4, 1.4, np.tan),
    sinh=(-3, 3, np.sinh),
    cosh=(-3, 3, np.cosh),
    tanh=(-3, 3, np.tanh),
    asin=(-0.9, 0.9, np.arcsin),
    acos=(-0.9, 0.9, np.arccos),
    atan=(-3, 3, np.arctan),
    asinh=(-3, 3, np.arcsinh),
    acosh=(1.1, 5, np.arccosh),
    atanh=(-0.9, 0.9, np.arctanh),
    exp2=(-3, 3, np.exp2),
    sigmoid=(-3, 3, lambda x: 1 / (1 + np.exp(-x))),
    sinc=(-3, 3, np.sinc),
)
for name, (lo, hi, f) in ELEMENTARY.items():
    op(
        name,
        unary(lo, hi, special=name != "sinc", ints=(0, 0) if name == "sinc" else (max(0, round(lo)), round(hi))),
        real(f),
        types="fci" if name == "sinc" else "fcib",
        open="b",
        tol=2,
    )
op("deg2rad", unary(-180, 180), real(np.deg2rad))
op("rad2deg", unary(), real(np.rad2deg))
op(
    "logit",
    unary(0.1, 0.9, ints=(0, 1)) + [call(T(5, lo=-0.5, hi=1.5), 0.1).but(types="f")],
    real(lambda x, eps=None: (lambda p: np.log(p / (1 - p)))(x if eps is None else np.clip(x, eps, 1 - eps))),
    tol=4,
)
op("atan2", binary(number=False), real(np.arctan2))


def logaddexp(x, y):
    if x.dtype.kind == "f":
        return np.logaddexp(x, y)
    large = np.where(x.real >= y.real, x, y)
    return large + np.log(1 + np.exp(x + y - 2 * large))


op("logaddexp", binary(number=False), logaddexp, types="fc", tol=2)
op("logaddexp2", binary(number=False), np.logaddexp2, types="f", tol=2)


op(
    "pow",
    binary(0.3, 3, -2, 2, ints=(-3, 3), ints2=(0, 4), number=2, special=False)
    + [call(T(2, 3, lo=0.1), e).but(types="fc") for e in (0.5, 3, -1)]
    + [
        call(2, T(2, 3, ints=(0, 4))).but(types="fci"),
        call(T(values=[0.0, -1.0, inf, nan, 2.0]), 2).but(types="f", grad=False),
    ],
    np.power,
    types="fci",
    tol=4,
    edges=[((0, 2), (0, 0)), ((2, 1), (1, 2 * np.log(2)))],
)
op(
    "float_power",
    binary(0.3, 3, -2, 2, ints=(1, 3), special=False, number=2) + [call(2, T(2, 3, ints=(0, 4)))],
    lambda x, y: np.float_power(x, y),
    types="fcib",
    tol=4,
    exact=True,
    result=lambda x, y: (
        next(t for t in (x, y) if hasattr(t, "dtype")).dtype.is_complex and torch.complex128 or torch.float64
    ),
)
