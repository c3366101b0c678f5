"""Operators over lists: each is that of its elements."""
import numpy as np
import scipy.special as sp
import torch

from sweep.cases import call, calls
from sweep.record import T, bad, op


def lists(n, elements=(-3.0, 3.0)):
    """n lists of tensors of shapes (2, 3) and (4,)."""
    lo, hi = elements
    return [[T(2, 3, lo=lo, hi=hi), T(4, lo=lo, hi=hi)] for _ in range(n)]


def unequal(count, *more):
    """Lists of other lengths, and an empty one."""
    lists_ = [[T(2), T(3)]] + [[T(2)]] * (count - 1)
    errors = [bad(RuntimeError, *[[] for _ in range(count)], *more, says="empty")]
    if count > 1:
        errors.append(bad(RuntimeError, *lists_, *more, says=["2", "1"]))
    return errors


def each(f):
    """f for each element; what is no list is the same for all."""
    def g(*args, **kwargs):
        n = max(len(a) for a in args if isinstance(a, (list, tuple)))
        return tuple(f(*[a[i] if isinstance(a, (list, tuple)) or np.ndim(a) == 1 else a for a in args], **kwargs) for i in range(n))
    return g


UNARY = {
    "abs": np.abs, "acos": np.arccos, "asin": np.arcsin, "atan": np.arctan, "ceil": np.ceil, "cos": np.cos, "cosh": np.cosh, "erf": sp.erf,
    "erfc": sp.erfc, "exp": np.exp, "expm1": np.expm1, "floor": np.floor, "frac": lambda x: x - np.trunc(x), "lgamma": sp.gammaln,
    "log": np.log, "log10": np.log10, "log1p": np.log1p, "log2": np.log2, "neg": np.negative, "reciprocal": lambda x: 1 / x, "round": np.round,
    "rsqrt": lambda x: 1 / np.sqrt(x), "sigmoid": sp.expit, "sign": np.sign, "sin": np.sin, "sinh": np.sinh, "sqrt": np.sqrt, "tan": np.tan,
    "tanh": np.tanh, "trunc": np.trunc,
}
for name, f in UNARY.items():
    op("_foreach_" + name, calls(call(*lists(1, (0.1, 0.9))), errors=unequal(1)), each(f), types="f", open="cib", tol=2)

for name, f in {"add": np.add, "sub": np.subtract}.items():
    more = [call(*lists(2)), call(*lists(2), alpha=2), call(*lists(1), 1.5), call(*lists(1), [1.5, 2.0])]
    if name == "add":
        more.append(call(*lists(1), T(values=2.0, grad=False)))
    op("_foreach_" + name, calls(*more, errors=unequal(2)), each(lambda x, y, alpha=1, f=f: f(x, alpha * y)), types="f", open="cib", tol=2)
for name, f in {"mul": np.multiply, "div": np.divide}.items():
    op("_foreach_" + name, calls(call(*lists(2, (0.5, 2.0))), call(*lists(1), 1.5), call(*lists(1), [1.5, 2.0]), call(*lists(1), T(values=2.0, grad=False)), errors=unequal(2)),
       each(f), types="f", open="cib", tol=2)
for name, f in {"maximum": np.maximum, "minimum": np.minimum, "clamp_min": np.maximum, "clamp_max": np.minimum}.items():
    op("_foreach_" + name, calls(call(*lists(2)), call(*lists(1), 0.5), call(*lists(1), [0.5, -0.5]), errors=unequal(2)), each(f), types="f", open="cib")
op("_foreach_pow", calls(call(*lists(2, (0.5, 2.0))), call(*lists(1, (0.5, 2.0)), 1.5), call(*lists(1, (0.5, 2.0)), [1.5, 2.0]), call(2.0, *lists(1, (0.5, 2.0))),
                         errors=unequal(2)), each(np.power), types="f", open="cib", tol=2)
for name, f in {"addcmul": lambda x, a, b, value=1: x + value * a * b, "addcdiv": lambda x, a, b, value=1: x + value * a / b}.items():
    op("_foreach_" + name, calls(call(*lists(3, (0.5, 2.0))), call(*lists(3, (0.5, 2.0)), 0.5), call(*lists(3, (0.5, 2.0)), [0.5, 2.0]),
                                 call(*lists(3, (0.5, 2.0)), T(values=[0.5, 2.0], grad=False)).but(meta=False, batch=False), errors=unequal(3)), each(f), types="f", open="cib", tol=3)
op("_foreach_lerp", calls(call(*lists(3, (0.0, 1.0))), call(*lists(2), 0.25), call(*lists(2), [0.25, 0.75]), errors=unequal(3)),
   each(lambda x, y, w: x + w * (y - x)), types="f", open="cib", tol=3)

op("_foreach_max", calls(call(*lists(1)), errors=unequal(1) + [bad(RuntimeError, [T(0, 2)], says="[0, 2]")]), each(np.max), types="f", open="ib")
op("_foreach_norm", calls(call(*lists(1)), call(*lists(1), 1), call(*lists(1), 3), call(*lists(1), 2, torch.float64).but(grad=False), errors=unequal(1)),
   each(lambda x, ord=2, dtype=None: np.sum(np.abs(x) ** ord) ** (1 / ord)), types="w", open="fc", tol=2,
   result=lambda x, ord=2, dtype=None: dtype or x[0].dtype)
op("_foreach_powsum", calls(call(*lists(1)), call(*lists(1), 3), errors=unequal(1)), each(lambda x, ord=2: np.sum(np.abs(x) ** ord)), types="w", open="fcib", tol=2)
op("_foreach_mm", calls(call([T(2, 3), T(4, 2)], [T(3, 2), T(2, 5)]), errors=unequal(2)), each(np.matmul), types="w", open="fcib", tol=4)
op("_foreach_clone", calls(call(*lists(1)), errors=unequal(1)), each(lambda x: x), types="f", open="cib")
op("_foreach_copy", calls(call(*lists(2)), errors=unequal(2)), each(lambda x, src: np.broadcast_to(src, x.shape)), types="f", open="cib")
op("_foreach_zero", calls(call(*lists(1)), errors=unequal(1)), each(np.zeros_like), types="f", open="cib", grad=None)
