"""Special functions: values of scipy, formulas in the tests' own words where scipy has none."""

import numpy as np
import scipy.special as sp

from sweep.cases import binary, calls, unary
from sweep.record import T, call, op
from sweep.records.pointwise_elementary import real

SPECIAL = dict(
    lgamma=(0.3, 6, sp.gammaln),
    digamma=(0.3, 6, sp.psi),
    erf=(-3, 3, sp.erf),
    erfc=(-3, 3, sp.erfc),
    erfinv=(-0.9, 0.9, sp.erfinv),
    i0=(-5, 5, sp.i0),
)
for name, (lo, hi, f) in SPECIAL.items():
    op(
        name,
        unary(lo, hi, special=name not in ("lgamma", "digamma", "i0"), ints=(1, 3) if hi > 1 else (0, 0)),
        real(f),
        tol=4,
    )
NAMED = dict(
    entr=(0.1, 3, sp.entr),
    erfcx=(-3, 3, sp.erfcx),
    i0e=(-5, 5, sp.i0e),
    i1=(-5, 5, sp.i1),
    i1e=(-5, 5, sp.i1e),
    log_ndtr=(-5, 3, sp.log_ndtr),
    ndtr=(-3, 3, sp.ndtr),
    ndtri=(0.05, 0.95, sp.ndtri),
)
for name, (lo, hi, f) in NAMED.items():
    op(
        "special_" + name,
        unary(lo, hi, special=False, ints=(0, 1)),
        real(f),
        types="wib" if name in ("erfcx", "log_ndtr", "ndtri") else "fib",
        tol=10,
    )
# Without a derivative, in the reference as here; float and double alone.
STEPS = "a polynomial of degree 2^40 takes as many steps, in the reference as well"
UNSMOOTH = dict(
    airy_ai=(-3, 3, lambda x: sp.airy(x)[0]),
    bessel_j0=(-5, 5, sp.j0),
    bessel_j1=(-5, 5, sp.j1),
    bessel_y0=(0.2, 5, sp.y0),
    bessel_y1=(0.2, 5, sp.y1),
    modified_bessel_i0=(-5, 5, sp.i0),
    modified_bessel_i1=(-5, 5, sp.i1),
    modified_bessel_k0=(0.2, 5, sp.k0),
    modified_bessel_k1=(0.2, 5, sp.k1),
    scaled_modified_bessel_k0=(0.2, 5, sp.k0e),
    scaled_modified_bessel_k1=(0.2, 5, sp.k1e),
    spherical_bessel_j0=(-5, 5, lambda x: sp.spherical_jn(0, np.abs(x))),
)
for name, (lo, hi, f) in UNSMOOTH.items():
    op("special_" + name, unary(lo, hi, special=False, ints=(1, 5)), real(f), types="wib", tol=10, grad=False)
for name, f in dict(
    chebyshev_polynomial_t=sp.eval_chebyt,
    chebyshev_polynomial_u=sp.eval_chebyu,
    hermite_polynomial_h=sp.eval_hermite,
    hermite_polynomial_he=sp.eval_hermitenorm,
    laguerre_polynomial_l=sp.eval_laguerre,
    legendre_polynomial_p=sp.eval_legendre,
    shifted_chebyshev_polynomial_t=sp.eval_sh_chebyt,
    shifted_chebyshev_polynomial_u=sp.eval_sh_chebyu,
    chebyshev_polynomial_v=lambda n, x: v_polynomial(n, x),
    chebyshev_polynomial_w=lambda n, x: w_polynomial(n, x),
    shifted_chebyshev_polynomial_v=lambda n, x: v_polynomial(n, 2 * x - 1),
    shifted_chebyshev_polynomial_w=lambda n, x: w_polynomial(n, 2 * x - 1),
).items():
    degrees = T(4, 1, values=[0.0, 1.0, 2.0, 5.0])
    op(
        "special_" + name,
        calls(
            call(T(3, lo=-0.9, hi=0.9, ints=(0, 1)), degrees),
            call(0.5, degrees),
            call(T(2, 3, lo=0.1, hi=0.9, ints=(0, 1)), 3),
        ),
        real(lambda x, n, f=f: f(np.asarray(n, int), np.float64(x))),
        types="wib",
        tol=20,
        grad=False,
        skip={"abuse": STEPS} if name[:3] in ("lag", "leg") else None,
    )


def v_polynomial(n, x):
    """cos((n + 1/2) t) / cos(t / 2) for x = cos t."""
    return sp.eval_chebyu(n, x) - np.where(n > 0, sp.eval_chebyu(np.maximum(n - 1, 0), x), 0)


def w_polynomial(n, x):
    """sin((n + 1/2) t) / sin(t / 2) for x = cos t."""
    return sp.eval_chebyu(n, x) + np.where(n > 0, sp.eval_chebyu(np.maximum(n - 1, 0), x), 0)


op(
    "polygamma",
    calls(
        *[call(n, T(2, 3, lo=0.5, hi=5, ints=(1, 5))) for n in (0, 1, 2, 3)],
        call(1, T(0, 3)),
        call(1, T(129, 513, lo=0.5, hi=5)).but(big=True),
    ),
    real(lambda n, x: sp.polygamma(n, x)),
    tol=10,
)
op(
    "mvlgamma",
    calls(call(T(2, 3, lo=2.1, hi=6, ints=(3, 6)), 3), call(T(lo=2.1, hi=6, ints=(3, 6)), 2)),
    real(lambda x, p: sp.multigammaln(x, p) if x.ndim == 0 else np.vectorize(lambda a: sp.multigammaln(a, p))(x)),
    types="fi",
    tol=10,
)
op("igamma", binary(0.3, 4, 0.2, 5, number=False, special=False, leaf=(False, True)), sp.gammainc, types="f", tol=10)
op("igammac", binary(0.3, 4, 0.2, 5, number=False, special=False, leaf=(False, True)), sp.gammaincc, types="f", tol=10)
op(
    "special_zeta",
    binary(1.5, 4, 0.5, 3, leaf=(False, True), number=False, special=False, ints=(2, 4), ints2=(1, 3), big=False)
    + [call(2.5, T(3, lo=0.5, hi=3, ints=(1, 3))), call(T(3, lo=1.5, hi=4, ints=(2, 4), grad=False), 2)],
    real(sp.zeta),
    types="wib",
    second=False,
    tol=10,
)
op(
    "xlogy",
    binary(-3, 3, 0.2, 4, ints=(0, 3), ints2=(1, 4), special=False, number=2) + [call(2, T(3, lo=0.2, ints=(1, 4)))],
    real(sp.xlogy),
    tol=2,
    edges=[((0, 0), (0, np.nan))],
)
op(
    "special_xlog1py",
    binary(-3, 3, -0.8, 4, ints=(0, 3), special=False, number=2) + [call(2, T(3, lo=-0.8, ints=(1, 4)))],
    real(sp.xlog1py),
    tol=2,
)
