"""Products of matrices and vectors."""

import numpy as np
import torch

from sweep.cases import call, calls
from sweep.record import T, bad, op

NUMBERS = "fci"
wrong = [bad(RuntimeError, T(2, 3), T(4, 2), says=["[2, 3]", "[4, 2]"])]
op(
    "mm",
    calls(
        call(T(2, 3), T(3, 4)),
        call(T(2, 0), T(0, 3)),
        call(T(0, 2), T(2, 3)),
        call(T(70, 300), T(300, 90)).but(big=True),
        errors=wrong + [bad(RuntimeError, T(2), T(2, 3), says=["[2]"])],
    ),
    np.matmul,
    types=NUMBERS,
    tol=4,
)
op(
    "bmm",
    calls(
        call(T(2, 2, 3), T(2, 3, 2)),
        call(T(0, 2, 3), T(0, 3, 2)),
        call(T(4, 40, 100), T(4, 100, 50)).but(big=True),
        errors=[bad(RuntimeError, T(2, 2, 3), T(3, 3, 2), says=["[2, 2, 3]", "[3, 3, 2]"])],
    ),
    np.matmul,
    types=NUMBERS,
    tol=4,
)
op(
    "mv",
    calls(
        call(T(2, 3), T(3)),
        call(T(2, 0), T(0)),
        call(T(200, 500), T(500)).but(big=True),
        errors=[bad(RuntimeError, T(2, 3), T(2), says=["[2, 3]", "2"])],
    ),
    np.matmul,
    types=NUMBERS,
    tol=4,
)
op(
    "dot",
    calls(call(T(3), T(3)), call(T(0), T(0)), errors=[bad(RuntimeError, T(3), T(2), says=["3", "2"])]),
    lambda x, y: np.dot(x, y),
    types=NUMBERS,
    tol=4,
)
op(
    "vdot",
    calls(call(T(3), T(3)), errors=[bad(RuntimeError, T(3), T(2), says=["3", "2"])]),
    lambda x, y: np.vdot(x, y),
    types=NUMBERS,
    tol=4,
)
shapes = [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 2)), ((2, 1, 2, 3), (4, 3, 2)), ((2, 2, 3), (3,))]
product = calls(*[call(T(*a), T(*b)) for a, b in shapes], errors=wrong + [bad(RuntimeError, T(), T(2), says="[]")])
op("matmul", product, np.matmul, types=NUMBERS, tol=4)
op("__matmul__", product, np.matmul, types=NUMBERS, tol=4)
op(
    "inner",
    calls(
        call(T(2, 3), T(4, 3)),
        call(T(3), T(3)),
        call(T(), T(2)),
        errors=[bad(RuntimeError, T(2, 3), T(2, 4), says=["[2, 3]", "[2, 4]"])],
    ),
    np.inner,
    types=NUMBERS,
    tol=4,
)
op("outer", calls(call(T(2), T(3)), errors=[bad(RuntimeError, T(2, 2), T(2), says="2")]), np.outer, types="fcib")
op("kron", calls(call(T(2, 2), T(1, 3)), call(T(2), T(3)), call(T(2, 2), T(2))), np.kron, types="fcib")
op(
    "linear",
    calls(
        call(T(2, 3), T(4, 3), T(4)),
        call(T(2, 3), T(4, 3)),
        call(T(3), T(4, 3), T(4)),
        call(T(2, 2, 3), T(4, 3)),
        errors=[bad(RuntimeError, T(2, 3), T(4, 2), says=["[2, 3]"])],
    ),
    lambda x, w, b=0: x @ w.T + b,
    types="fc",
    open="i",
    tol=4,
)
op(
    "bilinear",
    calls(call(T(2, 3), T(2, 4), T(5, 3, 4), T(5)), call(T(2, 3), T(2, 4), T(5, 3, 4))),
    lambda x, y, w, b=0: np.einsum("ni,oij,nj->no", x, w, y) + b,
    types="fc",
    open="i",
    tol=4,
)


def plus(f):
    return lambda c, *ab, beta=1, alpha=1: beta * c + alpha * f(*ab)


def with_scales(*specs):
    return [call(*specs), call(*specs, beta=2, alpha=3), call(*specs, beta=0, alpha=1)]


op(
    "addmm",
    with_scales(T(2, 4), T(2, 3), T(3, 4)) + [call(T(4), T(2, 3), T(3, 4)), call(T(2, 4), T(2, 0), T(0, 4))],
    plus(np.matmul),
    types=NUMBERS,
    tol=4,
    errors=[bad(RuntimeError, T(2, 4), T(2, 3), T(4, 4), says=["[2, 3]", "[4, 4]"])],
)
op(
    "addmv",
    with_scales(T(2), T(2, 3), T(3)),
    plus(np.matmul),
    types=NUMBERS,
    tol=4,
    errors=[bad(RuntimeError, T(2), T(2, 3), T(2), says=["[2, 3]", "2"])],
)
op("addr", with_scales(T(2, 3), T(2), T(3)), plus(np.outer), types=NUMBERS, open="b", tol=4)
op("baddbmm", with_scales(T(2, 2, 4), T(2, 2, 3), T(2, 3, 4)), plus(np.matmul), types=NUMBERS, tol=4)
op(
    "addbmm",
    with_scales(T(2, 4), T(2, 2, 3), T(2, 3, 4)),
    plus(lambda a, b: np.matmul(a, b).sum(0)),
    types=NUMBERS,
    tol=4,
)
op(
    "linalg_matrix_power",
    calls(
        call(T(3, 3), 0).but(grad=False),
        *[call(T(3, 3), n) for n in (1, 2, 3, 5)],
        call(T(2, 2, 2), 2),
        errors=[bad(RuntimeError, T(2, 3), 2, says=["[2, 3]"])],
    ),
    np.linalg.matrix_power,
    types="fc",
    open="ib",
    tol=20,
)
op(
    "linalg_multi_dot",
    calls(call([T(2, 3), T(3, 4), T(4, 2)]), call([T(3), T(3, 4), T(4)]), call([T(2, 3), T(3, 2)])),
    np.linalg.multi_dot,
    types=NUMBERS,
    tol=20,
)
op(
    "einsum",
    calls(
        call("ij,jk->ik", [T(2, 3), T(3, 2)]),
        call("ii->i", [T(3, 3)]),
        call("bij,bjk", [T(2, 2, 3), T(2, 3, 2)]),
        call("i,j->ij", [T(2), T(3)]),
        errors=[bad(RuntimeError, "ij,jk->ik", [T(2, 3), T(4, 2)], says=["4", "3"])],
    ),
    lambda eq, xs: np.einsum(eq, *xs),
    types=NUMBERS,
    open="b",
    tol=4,
)
op(
    "tensordot",
    calls(
        call(T(2, 3, 4), T(3, 4, 2), [1, 2], [0, 1]),
        call(T(2, 3), T(3, 2), [1], [0]),
        errors=[bad(RuntimeError, T(2, 3), T(4, 2), [1], [0], says=["3", "4"])],
    ),
    lambda x, y, a, b: np.tensordot(x, y, (a, b)),
    types=NUMBERS,
    tol=4,
)
