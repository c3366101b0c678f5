"""Products of matrices and vectors."""
import functools

import numpy as np

from sweep.cases import call, calls
from sweep.record import T, bad, op

ALL = dict(types="fci", tol=8)


def meet(*shapes):
    return [bad(RuntimeError, *[T(*s) for s in shapes], says=[str(list(s)) for s in shapes])]


def three(x, a, b, beta=1, alpha=1, f=np.matmul):
    return beta * x + alpha * f(a, b)


op("mm", calls(call(T(2, 3), T(3, 4)), call(T(1, 5), T(5, 1)), call(T(0, 3), T(3, 2)), call(T(2, 0), T(0, 3)).but(grad=False), call(T(67, 129, lo=-1, hi=1, ints=(-3, 3)), T(129, 65, lo=-1, hi=1, ints=(-3, 3))).but(big=True, types="fi"),
               errors=meet((2, 3), (4, 5)) + meet((3,), (3, 2))), np.matmul, **ALL)
op("bmm", calls(call(T(2, 2, 3), T(2, 3, 4)), call(T(0, 2, 3), T(0, 3, 2)), call(T(2, 2, 0), T(2, 0, 3)).but(grad=False), errors=meet((2, 2, 3), (2, 4, 5)) + meet((2, 2, 3), (3, 3, 5))), np.matmul, **ALL)
op("mv", calls(call(T(2, 3), T(3)), call(T(2, 0), T(0)).but(grad=False), errors=[bad(RuntimeError, T(2, 3), T(4), says=["[2, 3]", "4"])]), np.matmul, **ALL)
op("dot", calls(call(T(5), T(5)), call(T(0), T(0)).but(grad=False), call(T(5001, lo=-1, hi=1, ints=(-3, 3)), T(5001, lo=-1, hi=1, ints=(-3, 3))).but(big=True, types="fi"), errors=[bad(RuntimeError, T(2), T(3), says=["2", "3"])]), np.dot, **ALL)
op("vdot", calls(call(T(5), T(5)), call(T(0), T(0)).but(grad=False), errors=[bad(RuntimeError, T(2), T(3), says=["2", "3"])]), np.vdot, **ALL)
PRODUCTS = [call(T(3), T(3)), call(T(2, 3), T(3)), call(T(3), T(3, 2)), call(T(2, 3), T(3, 4)), call(T(2, 2, 3), T(3, 4)), call(T(2, 1, 2, 3), T(3, 3, 2)), call(T(2, 2, 3), T(3)), call(T(2, 0), T(0, 3)).but(grad=False)]
for name in ("matmul", "__matmul__"):
    op(name, calls(*PRODUCTS, errors=meet((2, 3), (4, 5)) + meet((2, 2, 3), (3, 3, 2)) + [bad(RuntimeError, T(), T(3), says="[]")]), np.matmul, **ALL)
op("spmm", calls(call(T(2, 3), T(3, 4)), errors=meet((2, 3), (4, 5))), np.matmul, **ALL)
op("addmm", calls(call(T(2, 4), T(2, 3), T(3, 4)), call(T(4), T(2, 3), T(3, 4), beta=2, alpha=3), call(T(), T(2, 0), T(0, 4)).but(grad=False), errors=[bad(RuntimeError, T(2, 4), T(2, 3), T(4, 4), says=["[2, 3]", "[4, 4]"])]), three, **ALL)
op("baddbmm", calls(call(T(2, 2, 4), T(2, 2, 3), T(2, 3, 4)), call(T(4), T(2, 2, 3), T(2, 3, 4), beta=2, alpha=3), errors=[bad(RuntimeError, T(2, 2, 4), T(2, 2, 3), T(2, 4, 4), says=["[2, 2, 3]", "[2, 4, 4]"])]), three, **ALL)
op("addbmm", calls(call(T(2, 4), T(3, 2, 3), T(3, 3, 4)), call(T(4), T(2, 2, 3), T(2, 3, 4), beta=2, alpha=3), errors=[bad(RuntimeError, T(2, 4), T(2, 2, 3), T(2, 4, 4), says=["[2, 2, 3]", "[2, 4, 4]"])]),
   functools.partial(three, f=lambda a, b: np.matmul(a, b).sum(0)), **ALL)
op("addmv", calls(call(T(2), T(2, 3), T(3)), call(T(), T(2, 3), T(3), beta=2, alpha=3), errors=[bad(RuntimeError, T(2), T(2, 3), T(4), says=["[2, 3]", "4"])]), three, **ALL)
op("outer", calls(call(T(2), T(3)), call(T(0), T(3)).but(grad=False), errors=[bad(RuntimeError, T(2, 2), T(3), says="2")]), np.multiply.outer, types="fcib")
op("addr", calls(call(T(2, 3), T(2), T(3)), call(T(3), T(2), T(3), beta=2, alpha=3)), functools.partial(three, f=np.multiply.outer), types="fci", open="b", tol=4)
op("linear", calls(call(T(2, 3), T(4, 3)), call(T(2, 2, 3), T(4, 3), T(4)), call(T(3), T(4, 3), T(4)), errors=[bad(RuntimeError, T(2, 3), T(4, 5), says=["[2, 3]", "[4, 5]"])]),
   lambda x, w, b=0: np.matmul(x, w.swapaxes(-1, -2)) + b, **ALL)
op("inner", calls(call(T(3), T(3)), call(T(2, 3), T(4, 3)), call(T(), T(2, 2)).but(types="fc"), call(T(2, 2, 3), T(3)), errors=[bad(RuntimeError, T(2, 3), T(4, 5), says=["3", "5"])]), np.inner, **ALL)
op("tensordot", calls(call(T(2, 3, 4), T(4, 3, 2), [2, 1], [0, 1]), call(T(2, 3), T(4, 2), [], []), errors=[bad(RuntimeError, T(2, 3), T(4, 5), [1], [0], says=["3", "4"])]),
   lambda a, b, i, j: np.tensordot(a, b, (i, j)), **ALL)
op("einsum", calls(call("ij,jk->ik", [T(2, 3), T(3, 4)]), call("ii->i", [T(3, 3)]), call("bij,bjk,k->bi", [T(2, 2, 3), T(2, 3, 2), T(2)]).but(types="fc"), call("...ij->...ji", [T(2, 3, 4)]),
                   errors=[bad(RuntimeError, "ij->ij,", [T(2, 3)], says=","), bad(RuntimeError, "ij,jk->ik", [T(2, 3), T(4, 2)], says=["3", "4"]), bad(RuntimeError, "ij->k", [T(2, 3)], says="k")]),
   lambda e, x: np.einsum(e, *x), **ALL)
op("kron", calls(call(T(2, 3), T(3, 2)), call(T(2), T(2, 3)), call(T(), T(2))), np.kron, types="fcib")
op("linalg_multi_dot", calls(call([T(2, 3), T(3, 4), T(4, 2)]), call([T(3), T(3, 2)]), errors=[bad(RuntimeError, [T(2, 3)], says="1"), bad(RuntimeError, [T(2, 3), T(4, 5)], says=["[2, 3]", "[4, 5]"])]),
   lambda x: functools.reduce(np.matmul, x), types="fc", open="i", tol=16)
op("linalg_matrix_power", calls(call(T(3, 3), 3), call(T(2, 3, 3), 2), call(T(3, 3), 0), call(T(2, 2), 1), errors=[bad(RuntimeError, T(2, 3), 2, says="[2, 3]")]), np.linalg.matrix_power, types="fc", open="i", tol=16)
op("bilinear", calls(call(T(2, 3), T(2, 4), T(5, 3, 4)), call(T(2, 3), T(2, 4), T(5, 3, 4), T(5)), errors=[bad(RuntimeError, T(2, 3), T(3, 4), T(5, 3, 4), says=["[2, 3]", "[3, 4]"])]),
   lambda x, y, w, b=0: np.einsum("ni,oij,nj->no", x, w, y) + b, types="fc", open="i", tol=8)
