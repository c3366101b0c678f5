"""Random numbers: types, shapes, ranges, and moments of many draws; that a seed repeats them. Streams are compared with
PyTorch's in the recorded cases."""
import math

import torch

from sweep.cases import call, calls
from sweep.record import T, bad, op


def draws(low=-math.inf, high=math.inf, mean=None, std=None, whole=False):
    """What holds of one tensor of draws: its range, and its mean within six standard errors where there are many."""
    def holds(results, *args, **kwargs):
        (y,) = results[:1]
        if y.numel() == 0:
            return None
        v = y.double()
        if not ((v >= low) & (v <= high)).all():
            return f"outside [{low}, {high}]"
        if whole and not (v == v.round()).all():
            return "not whole"
        if mean is not None and y.numel() > 1000:
            m = mean(*args, **kwargs) if callable(mean) else mean
            s = std(*args, **kwargs) if callable(std) else std
            if abs(v.mean().item() - m) > 6 * s / math.sqrt(y.numel()) + 2e-2 * abs(m):
                return f"mean {v.mean().item()}, expected {m}"
        return None
    return holds


G = torch.Generator()
sizes = [call([3], generator=G), call([3, 4]), call([0, 2]), call([]), call([2000])]
negative = [bad(RuntimeError, [-1, 2], says="-1")]
op("rand", calls(*sizes, call([3], dtype=torch.float64), errors=negative), holds=draws(0, 1, 0.5, 0.3), types="", grad=None)
op("randn", calls(*sizes, call([3], dtype=torch.float64), errors=negative), holds=draws(mean=0.0, std=1.0), types="", grad=None)
op("randint", calls(call(7, [2000]), call(-3, 4, [50]), call(5, [0]), call(5, [3], generator=G), call(-3, 4, [3], generator=G), errors=[bad(RuntimeError, 3, 3, [2], says="3")]), holds=draws(-3, 6, whole=True), types="", grad=None)
op("randperm", calls(call(50), call(9, generator=G), call(0), call(1), errors=[bad(RuntimeError, -1, says="-1")]), holds=lambda r, n, generator=None: None if sorted(r[0].tolist()) == list(range(n)) else "no permutation", types="", grad=None)
for name, (low, high) in {"rand_like": (0, 1), "randn_like": (-math.inf, math.inf)}.items():
    op(name, calls(call(T(2, 3)), call(T(2, 3), generator=G), call(T(0, 3)), call(T(3), dtype=torch.float64)), holds=draws(low, high), types="f", open="c", grad=None)
op("randint_like", calls(call(T(2, 3), 7), call(T(2, 3), -3, 4).but(types="f"), call(T(0, 3), 5), call(T(2), 5, generator=G), call(T(2), -3, 4, generator=G).but(types="f"), errors=[bad(RuntimeError, T(2), 3, 3, says="3")]), holds=draws(-3, 6, whole=True), types="fi", open="b", grad=None)

many = T(3000)
op("uniform_", calls(call(T(2, 3)), call(many, -2.0, 3.0), errors=[bad(RuntimeError, T(2), 3.0, 1.0, says=["3", "1"])]), holds=draws(-2, 3), types="f", open="c", grad=None)
op("cauchy_", calls(call(T(2, 3)), call(many, 1.0, 2.0), errors=[bad(RuntimeError, T(2), 0.0, -1.0, says="-1")]), holds=draws(), types="f", grad=None)
op("exponential_", calls(call(T(2, 3)), call(many, 2.0), errors=[bad(RuntimeError, T(2), -1.0, says="-1")]), holds=draws(0), types="f", grad=None)
op("geometric_", calls(call(many, 0.3), errors=[bad(RuntimeError, T(2), 1.5, says="1.5")]), holds=draws(1, mean=1 / 0.3, std=2.8, whole=True), types="fi", grad=None)
op("log_normal_", calls(call(T(2, 3)), call(many, 0.5, 0.25), errors=[bad(RuntimeError, T(2), 0.0, -1.0, says="-1")]), holds=draws(0), types="f", grad=None)

p = T(3000, lo=0.05, hi=0.95, ints=(0, 1), grad=False)
op("bernoulli", calls(call(p), call(T(2, 3), 0.25), errors=[bad(RuntimeError, T(2), 1.5, says="1.5")]), holds=draws(0, 1, whole=True), types="f", open="ib", grad=None)
op("poisson", calls(call(T(3000, lo=0.5, hi=20.0, grad=False))), holds=draws(0, whole=True), types="f", grad=None)
op("binomial", calls(call(T(3000, lo=1.0, hi=60.0, grad=False), T(3000, lo=0.05, hi=0.95, ints=(0, 1), grad=False)).but(values=False)), holds=draws(0, 60), types="f", grad=None)
op("multinomial", calls(call(T(3, 4, lo=0.1, hi=1.0, ints=(1, 3), grad=False), 2), call(T(4, lo=0.1, hi=1.0, ints=(1, 3), grad=False), 9, True), errors=[bad(RuntimeError, T(3, lo=0.1, hi=1.0), 4, says=["4", "3"]), bad(RuntimeError, T(3, lo=0.1, hi=1.0), 0, says="0")]),
   holds=draws(0, 3, whole=True), types="f", grad=None)
op("normal", calls(call(T(3000), 0.5), call(0.0, 1.0, [4]), call(1.0, T(3000, lo=0.1, hi=1.0, ints=(1, 3))), call(T(3000), T(3000, lo=0.1, hi=1.0, ints=(1, 3))), errors=[bad(RuntimeError, T(2), -1.0, says="-1")]), holds=draws(), types="f", open="c", grad=None)


def dropped(scaled):
    def holds(results, x, p, train):
        y = results[0]
        if not train or p == 0:
            return None if torch.equal(y, x) else "not the input"
        if scaled:
            kept = y != 0
            return None if torch.allclose(y[kept].double(), (x.double() / (1 - p))[kept], rtol=1e-2) else "elements that stay are not scaled"
        return None
    return holds


for name in ("dropout", "alpha_dropout", "feature_dropout", "feature_alpha_dropout"):
    op(name, calls(call(T(40, 50), 0.3, True), call(T(4, 5), 0.3, False), call(T(4, 5), 0.0, True), errors=[bad(RuntimeError, T(2, 2), 1.5, True, says="1.5")]),
       holds=dropped("alpha" not in name), types="f", open="cib", grad=None)
