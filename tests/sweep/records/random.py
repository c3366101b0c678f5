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


def below(results, x, *limits, generator=None):
    low, high = limits if len(limits) == 2 else (0, *limits) if limits else (0, None)
    y = results[0].double()
    high = float("inf") if high is None else high
    return None if ((y >= low) & (y < high) & (y == y.round())).all() else f"not whole, or outside [{low}, {high})"


op("random_", calls(call(T(500), 5), call(T(500), -3, 4).but(types="f"), call(T(500)), call(T(3), 2, None), call(T(0), 5), errors=[bad(RuntimeError, T(2), 3, 3, says="3"), bad(RuntimeError, T(2), 0, says="0")]),
   holds=below, types="fi", open="b", grad=None)
op("_randperm_", calls(*[c.but(meta=False) for c in (call(T(50)), call(T(9), generator=G), call(T(0)))]), holds=lambda r, x, generator=None: None if sorted(r[0].tolist()) == list(range(len(x))) else "no permutation", types="fi", grad=None)


def near(mean, std):
    """Many draws, one for each parameter: the mean of (draw - its mean) / its deviation within six standard errors."""
    def holds(results, x, generator=None):
        x, y = x.double(), results[0].double()
        if not (y >= 0).all():
            return "negative"
        z = ((y - mean(x)) / std(x)).flatten()
        return None if z.numel() < 1000 or abs(z.mean().item()) < 6 / math.sqrt(z.numel()) + 1e-2 else f"the mean is off by {z.mean().item()} deviations"
    return holds


def total(x):
    return x.sum(-1, keepdim=True)


op("_standard_gamma", calls(call(T(4000, lo=0.3, hi=9.0, grad=False)), call(T(2, 3, lo=0.3, hi=9.0, grad=False), G)), holds=near(lambda a: a, lambda a: a.sqrt()), types="w", grad=None)
op("_sample_dirichlet", calls(call(T(1000, 4, lo=0.5, hi=4.0, grad=False)), call(T(2, 3, lo=0.5, hi=4.0, grad=False), G)),
   holds=lambda r, x, generator=None: near(lambda a: a / total(a), lambda a: (a / total(a) * (1 - a / total(a)) / (total(a) + 1)).sqrt())(r, x) or (None if ((total(r[0].double()) - 1).abs() < 2e-2).all() else "rows do not add up to 1"),
   types="w", grad=None)


def leaky(results, x, *more):
    """Negative elements by a factor of the noise, between the bounds; the middle of the bounds where not training."""
    noise = more[0] if more and isinstance(more[0], torch.Tensor) else None
    lower, upper, training = (more[1:] if noise is not None else more)[:3] if len(more) > 1 else (0.125, 1 / 3, False)
    y, v = results[0].double(), x.double()
    if not (y == v)[v > 0].all():
        return "positive elements change"
    factor = (y / v)[v < 0]
    slack = 2e-2 if x.dtype.itemsize == 2 else 1e-6
    if training and not ((factor >= lower - slack) & (factor <= upper + slack)).all() or not training and not ((factor - (lower + upper) / 2).abs() < slack).all():
        return f"factors {factor}"
    return None


op("rrelu", calls(call(T(40, 50), 0.2, 0.4, True).but(meta=False, types="w"), call(T(40, 50), 0.2, 0.4, False).but(meta=False), call(T(40, 50)).but(meta=False), errors=[bad(RuntimeError, T(40, 50), 0.5, 0.2, True, says=["0.5", "0.2"])]),
   holds=leaky, types="f", open="i", grad=None)
op("rrelu_with_noise_functional", calls(*[call(T(40, 50), T(40, 50, grad=False), 0.2, 0.4, training).but(meta=False) for training in (True, False)]), holds=leaky, types="w", open="f", grad=None, shares=True)
op("rrelu_with_noise", calls(*[call(T(40, 50), T(40, 50, grad=False), 0.2, 0.4, training).but(meta=False, layouts=False, batch=False) for training in (True, False)]), holds=leaky, types="w", open="f", grad=None,
   skip={"schema": "writes the noise, which its schema does not say"})


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


def masked(results, x, p, train):
    y, mask = results[0].double(), results[1]
    if mask.dtype != torch.bool or mask.shape != x.shape:
        return f"a mask of {mask.dtype}, {mask.shape}"
    scale = 1 / (1 - p) if train is not False and p < 1 else 1
    if not torch.allclose(y, torch.where(mask, x.double() * scale, 0.0), rtol=1e-2):
        return "not the elements of the mask, scaled"
    share = mask.double().mean().item()
    return None if x.numel() < 1000 or abs(share - (1 - p if train is not False else 1)) < 0.1 else f"{share} of the elements stay"


op("native_dropout", calls(call(T(40, 50), 0.3, True), call(T(40, 50), 0.3, None), call(T(4, 5), 0.3, False), call(T(4, 5), 1.0, True), errors=[bad(RuntimeError, T(2, 2), 1.5, True, says="1.5")]),
   holds=masked, types="f", open="cib", grad=None)
