"""More functions that depend on more than their arguments: classes that change, methods and kernels that are replaced, memory that
is shared, containers of every kind. Played as in test_compile_stale.py."""
import pytest

from python.compiling import fresh  # noqa: F401
from python.test_compile_stale import check_alike
import torch

CASES = {
    # what torch itself is made of
    "method of Tensor replaced": ("def f(x): return x.sin()", ["torch.Tensor.sin = lambda s: s + 1", "del torch.Tensor.sin"]),
    "operator of Tensor replaced": ("def f(x): return x + 1", ["torch.Tensor.__add__ = lambda s, o: s * 2", "del torch.Tensor.__add__"]),
    "property of Tensor replaced": ("def f(x): return x * x.ndim", ["torch.Tensor.ndim = property(lambda s: 7)", "del torch.Tensor.ndim"]),
    "function below a module replaced": ("m = nn.ReLU()\nold = F.relu\ndef f(x): return m(x - 1)", ["F.relu = lambda x, inplace=False: x * 7", "F.relu = old"]),
    "function of a module of torch": ("old = torch.special.expit\ndef f(x): return torch.special.expit(x)", ["torch.special.expit = torch.neg", "torch.special.expit = old"]),
    "kernel in the place of torch's": ("lib = torch.library.Library('aten', 'IMPL')\ndef f(x): return x.relu() + 1", ["lib.impl('relu', lambda x: x * 3, 'CPU')", "lib._destroy()"]),
    "kernel that comes before": ("lib = torch.library.Library('aten', 'IMPL')\nlib.impl('relu', lambda x: x * 3, 'CPU')\ndef f(x): return x.relu() + 1", ["", "lib._destroy()"]),
    "kernel of a reduction": ("lib = torch.library.Library('aten', 'IMPL')\ndef f(x): return x.amax(0) + 1", ["lib.impl('amax', lambda x, dim=(), keepdim=False: x.new_full((), 9.), 'CPU')", "lib._destroy()"]),
    "determinism asked for": ("def f(x): return x + torch.are_deterministic_algorithms_enabled()", ["torch.use_deterministic_algorithms(True)", "torch.use_deterministic_algorithms(False)"]),
    "fill of fresh memory": ("def f(x): return torch.empty(3).isnan() & (x == x)",
                             ["torch.use_deterministic_algorithms(True)", "torch.utils.deterministic.fill_uninitialized_memory = False; k = torch.zeros(3); del k", "torch.utils.deterministic.fill_uninitialized_memory = True; torch.use_deterministic_algorithms(False)"]),
    "threads asked for": ("def f(x): return x * torch.get_num_threads()", ["n = torch.get_num_threads(); torch.set_num_threads(n + 1)", "torch.set_num_threads(n)"]),
    "precision": ("def f(x): return x * (torch.get_float32_matmul_precision() == 'high')", ["torch.set_float32_matmul_precision('high')", "torch.set_float32_matmul_precision('highest')"]),
    # classes
    "callable object": ("class C:\n  k = 2\n  def __call__(self, x): return x * self.k\nc = C()\ndef f(x): return c(x)", ["c.k = 3", "C.__call__ = lambda self, x: x - 1", "c = torch.neg"]),
    "class that becomes false": ("class C: pass\nc = C()\ndef f(x): return x if c else -x", ["C.__bool__ = lambda s: False", "del C.__bool__", "C.__len__ = lambda s: 0"]),
    "truth of an object": ("class C:\n  n = 1\n  def __bool__(self): return self.n > 0\nc = C()\ndef f(x): return x if c else -x", ["c.n = 0", "C.__bool__ = lambda s: True"]),
    "not of an object": ("class C: pass\nc = C()\ndef f(x): return x * (not c) + (1 if not c else 2)", ["C.__bool__ = lambda s: False"]),
    "length of an object": ("class C:\n  n = 1\n  def __len__(self): return self.n\nc = C()\ndef f(x): return x * len(c)", ["c.n = 4", "C.__len__ = lambda s: 9"]),
    "items of an object": ("class C:\n  def __getitem__(self, i): return i + 1\nc = C()\ndef f(x): return x * c[2]", ["C.__getitem__ = lambda s, i: 9"]),
    "object looped": ("class C:\n  def __iter__(self): return iter([1, 2])\nc = C()\ndef f(x): return x * sum(k for k in c)", ["C.__iter__ = lambda s: iter([5])"]),
    "search in an object": ("class C:\n  def __contains__(self, i): return i == 1\nc = C()\ndef f(x): return x if 2 in c else -x", ["C.__contains__ = lambda s, i: True"]),
    "sum of objects": ("class C:\n  def __add__(self, o): return 2\nc = C()\ndef f(x): return x * (c + 1)", ["C.__add__ = lambda s, o: 9"]),
    "bases of a class": ("class A:\n  k = 1\nclass B:\n  k = 5\nclass C(A): pass\nc = C()\ndef f(x): return x * c.k", ["C.__bases__ = (B,)", "B.k = 6", "C.k = 9", "c.k = 2"]),
    "bases asked for": ("class A: pass\nclass B: pass\nclass C(A): pass\nc = C()\ndef f(x): return x + isinstance(c, B) + 2 * issubclass(C, B)", ["C.__bases__ = (B,)"]),
    "class of an object": ("class A: pass\nclass B: pass\nc = A()\ndef f(x): return x if isinstance(c, A) else -x", ["c.__class__ = B", "c = A()"]),
    "type of an object": ("class A: pass\nclass B: pass\nc = A()\ndef f(x): return x if type(c) is A else -x", ["c.__class__ = B"]),
    "abstract class": ("import abc\nclass A(abc.ABC): pass\nclass B: pass\nb = B()\ndef f(x): return x + 1 if isinstance(b, A) else x - 1", ["A.register(B)"]),
    "subclass hook": ("import abc\nk = False\nclass A(abc.ABC):\n  @classmethod\n  def __subclasshook__(cls, c): return k\nclass B: pass\nb = B()\ndef f(x): return x + 1 if isinstance(b, A) else x - 1", ["k = True; A._abc_caches_clear() if hasattr(A, '_abc_caches_clear') else None"]),
    "property put over an attribute": ("class C: pass\nc = C()\nc.k = 2\ndef f(x): return x * c.k", ["C.k = property(lambda s: 9)", "del C.k"]),
    "getattr added": ("class C: pass\nc = C()\ndef f(x): return x * getattr(c, 'k', 2)", ["C.__getattr__ = lambda s, n: 7", "del C.__getattr__"]),
    "getattribute added": ("class C: pass\nc = C()\nc.k = 2\ndef f(x): return x * c.k", ["C.__getattribute__ = lambda s, n: 7"]),
    "descriptor": ("class D:\n  k = 2\n  def __get__(self, o, t=None): return self.k\nclass C:\n  d = D()\nc = C()\ndef f(x): return x * c.d * C.d", ["D.k = 5", "D.__get__ = lambda s, o, t=None: 3"]),
    "metaclass": ("class M(type):\n  @property\n  def k(cls): return cls.n\nclass C(metaclass=M):\n  n = 2\ndef f(x): return x * C.k", ["C.n = 5"]),
    "setter": ("class C:\n  @property\n  def k(self): return self.v\n  @k.setter\n  def k(self, v): self.v = v + 1\nc = C()\nc.k = 1\ndef f(x):\n  c.k = c.k\n  return x * c.k", ["c.v = 0", ""]),
    "cached property": ("class C:\n  n = 2\n  @functools.cached_property\n  def k(self): return self.n\nc = C()\ndef f(x): return x * c.k", ["C.n = 5", "del c.k", "c.k = 7"]),
    "name of a class": ("class C: pass\nc = C()\ndef f(x): return x * len(type(c).__name__)", ["C.__name__ = 'Longer'"]),
    "name of a function": ("def g(x): return x\ndef f(x): return x * len(g.__name__)", ["g.__name__ = 'longer'"]),
    "class made anew": ("class C:\n  k = 2\ndef f(x): return x * C.k", ["class C:\n  k = 3"]),
    "dataclass replaced": ("@dataclasses.dataclass(frozen=True)\nclass D:\n  k: int = 2\nd = D()\ndef f(x): return x * d.k", ["d = dataclasses.replace(d, k=4)", "object.__setattr__(d, 'k', 6)"]),
    "init replaced": ("class P:\n  def __init__(self): self.k = 1\ndef f(x): return x * P().k", ["P.__init__ = lambda s: setattr(s, 'k', 5)", "P.__new__ = lambda c: types.SimpleNamespace(k=8)"]),
    # functions
    "defaults in a loop": ("fs = [lambda x, k=k: x * k for k in range(3)]\ndef f(x): return sum(g(x) for g in fs)", ["fs.pop()", "fs[0].__defaults__ = (7,)"]),
    "arguments unpacked": ("ks = (1, 2)\nkw = {}\ndef g(x, *a, **k): return x * sum(a) + len(k)\ndef f(x): return g(x, *ks, **kw)", ["ks = (1, 2, 3)", "kw['b'] = 1", "kw.clear()"]),
    "wrapped function": ("def deco(g):\n  @functools.wraps(g)\n  def w(x): return g(x) * w.k\n  w.k = 2\n  return w\n@deco\ndef g(x): return x + 1\ndef f(x): return g(x)", ["g.k = 3", "g.__wrapped__ = torch.neg", "g = deco(torch.neg)"]),
    "closure in a container": ("def make(k):\n  def g(x): return x * k\n  return g\nfs = [make(2)]\ndef f(x): return fs[0](x)", ["fs[0].__closure__[0].cell_contents = 5", "fs[0] = make(3)"]),
    "bound method kept": ("class C:\n  k = 2\n  def g(self, x): return x * self.k\nc = C()\ng = c.g\ndef f(x): return g(x)", ["c.k = 3", "C.g = torch.neg", "g = C().g"]),
    "partial of a method": ("class C:\n  k = 2\n  def g(self, a, x): return x * self.k + a\nc = C()\np = functools.partial(c.g, 1)\ndef f(x): return p(x)", ["c.k = 3", "p = functools.partial(c.g, 2)", "p.keywords['a'] = 1"]),
    "globals of another module": ("mod = types.ModuleType('mod')\nexec('k = 2\\ndef g(x): return x * k', mod.__dict__)\ndef f(x): return mod.g(x)", ["mod.k = 3", "mod.g = torch.neg", "del mod.g"]),
    "single dispatch": ("@functools.singledispatch\ndef g(k, x): return x\n@g.register\ndef _(k: int, x): return x * 2\nk = 1\ndef f(x): return g(k, x)", ["k = 's'", "g.register(str, lambda k, x: x * 5)"]),
    "reduce": ("ks = [1, 2]\ndef f(x): return functools.reduce(lambda a, b: a * b, ks, x)", ["ks.append(3)"]),
    "walrus and match": ("k = [1, 2]\ndef f(x):\n  match k:\n    case [a, b]: return x * (c := a + b) + c\n    case [a, *r]: return x * len(r)\n    case _: return x", ["k = [1, 2, 3]", "k = 's'", "k = [4, 5]"]),
    "while and else": ("n = 3\ndef f(x):\n  i = 0\n  while i < n:\n    i += 1\n    if i == 5: break\n    x = x * i\n  else: x = x + 1\n  return x", ["n = 7", "n = 0"]),
    # containers
    "view of a dict": ("d = {'a': 1}\nv = d.values()\ndef f(x): return x + sum(v)", ["d['b'] = 5", "v = {'a': 9}.values()"]),
    "mapping proxy": ("d = {'a': 1}\nv = types.MappingProxyType(d)\ndef f(x): return x + v['a']", ["d['a'] = 5"]),
    "default dict": ("d = collections.defaultdict(int)\ndef f(x): return x + d['a'] + len(d)", ["d['a'] = 5", "d.clear()"]),
    "deque": ("d = collections.deque([1, 2])\ndef f(x): return x + d[0] + len(d)", ["d.appendleft(5)", "d.rotate(1)"]),
    "chain map": ("a, b = {}, {'k': 2}\nd = collections.ChainMap(a, b)\ndef f(x): return x * d['k']", ["a['k'] = 5", "b['k'] = 7"]),
    "array": ("import array\na = array.array('i', [1, 2])\ndef f(x): return x + a[0]", ["a[0] = 5"]),
    "bytearray": ("a = bytearray(b'ab')\ndef f(x): return x + a[0]", ["a[0] = 5"]),
    "array of numpy": ("import numpy as np\na = np.array([1., 2.], dtype=np.float32)\ndef f(x): return x + float(a[0])", ["a[0] = 5", "a = a * 2"]),
    "memory of numpy": ("import numpy as np\na = np.ones(3, np.float32)\nw = torch.from_numpy(a)\ndef f(x): return x + w + torch.from_numpy(a)", ["a[0] = 5", "a = a * 2"]),
    "scalar of numpy": ("import numpy as np\nk = np.float32(2)\ndef f(x): return x * k", ["k = np.float32(3)", "k = np.float64(3)", "k = np.int64(2)"]),
    "slice": ("s = slice(0, 2)\ndef f(x): return x[s]", ["s = slice(1, 3)", "s = slice(None)", "s = slice(None, None, 2)"]),
    "size": ("s = torch.Size([2, 3])\ndef f(x): return x.expand(s)", ["s = torch.Size([1, 3])", "s = (4, 3)", "s = [5, 3]"]),
    "range": ("r = range(3)\ndef f(x): return x * sum(r)", ["r = range(5)", "r = [1]"]),
    "tuple of a class": ("class P(tuple): pass\np = P((1, 2))\ndef f(x): return x * p[1]", ["p = P((1, 5))", "P.__getitem__ = lambda s, i: 9"]),
    "dict of a class": ("class P(dict): pass\np = P(k=2)\ndef f(x): return x * p['k']", ["p['k'] = 5", "P.__getitem__ = lambda s, i: 9"]),
    "int of a class": ("class N(int):\n  def __mul__(self, o): return 7 * o\n  __rmul__ = __mul__\nk = N(2)\ndef f(x): return x + k * 3", ["N.__mul__ = lambda s, o: 1", "k = 2"]),
    "text of a class": ("class S(str): pass\nk = S('a')\ndef f(x): return x if k == 'a' else -x", ["S.__eq__ = lambda s, o: False", "k = 'a'"]),
    "complex": ("k = 1 + 2j\ndef f(x): return (x * k).abs()", ["k = 1 - 0j", "k = complex(1, float('nan'))", "k = 2"]),
    "large number": ("k = 1 << 62\ndef f(x): return (x.long() + k) // 3", ["k = -(1 << 62)", "k = 0"]),
    # tensors
    "view of a global written": ("w = torch.zeros(4)\nv = w[1:]\ndef f(x):\n  v.add_(x)\n  return w.sum() + x", ["w.zero_()", "w = torch.ones(4)", "v = w[1:]"]),
    "views of each other": ("w = torch.zeros(6)\na, b = w[:3], w[2:5]\ndef f(x):\n  a.add_(x)\n  b.mul_(2)\n  return a + b", ["w.fill_(1)", "b = w[3:]", "a = b"]),
    "argument beside its view": ("def g(a, b):\n  a.add_(1)\n  return b * 2\ndef f(x): return g(x, x[:2]), g(x, x)", ["", ""]),
    "storage swapped": ("w = torch.ones(3)\nv = w.view(3)\ndef f(x):\n  w.mul_(2)\n  return x + v", ["w.data = torch.full((3,), 9.)", "w.set_(torch.zeros(3))"]),
    "resized": ("w = torch.ones(3)\ndef f(x): return (x.sum() + w).sum()", ["w.resize_(5).fill_(1)", "w.resize_(1)"]),
    "transposed in place": ("w = torch.arange(9.).view(3, 3)\ndef f(x): return w @ x", ["w.t_()", "w.transpose_(0, 1)", "w.mul_(2)"]),
    "strides changed": ("w = torch.arange(6.).view(2, 3)\ndef f(x): return w.flatten()[:3] + x + w.is_contiguous()", ["w = w.t().contiguous().t()", "w = w.contiguous()"]),
    "conjugate": ("w = torch.tensor([1 + 2j] * 3)\ndef f(x): return torch.view_as_real(w * x).sum(1)", ["w = w.conj()", "w = w.resolve_conj()"]),
    "half of a module": ("m = nn.Linear(3, 3)\ndef f(x): return m(x.to(m.weight.dtype)).detach().float()", ["m.half()", "m.double()", "m.float()"]),
    "module frozen": ("m = nn.Linear(3, 3)\ndef f(x): return m(x).requires_grad", ["m.requires_grad_(False)", "m.requires_grad_(True)", "m.bias.requires_grad_(False)"]),
    "module of no elements": ("m = nn.Linear(3, 2)\ndef f(x): return m(x[:0].view(0, 3).expand(0, 3)).shape, x", ["m = nn.Linear(3, 0)", "m = nn.Linear(3, 1)"]),
    "state loaded": ("m = nn.Linear(3, 3)\ndef f(x): return m(x).detach()", ["m.load_state_dict({'weight': torch.ones(3, 3), 'bias': torch.zeros(3)})", "m.load_state_dict({'weight': torch.zeros(3, 3), 'bias': torch.ones(3)}, assign=True)"]),
    "parametrized": ("m = nn.Linear(3, 3)\nclass P(nn.Module):\n  k = 2\n  def forward(self, w): return w * self.k\np = P()\ndef f(x): return m(x).detach()",
                     ["torch.nn.utils.parametrize.register_parametrization(m, 'weight', p)", "p.k = 3", "torch.nn.utils.parametrize.remove_parametrizations(m, 'weight')"]),
    "buffer that appears": ("class M(nn.Module):\n  def forward(s, x): return x + getattr(s, 'b', 0)\nm = M()\ndef f(x): return m(x)", ["m.register_buffer('b', torch.ones(3))", "del m.b", "m.b = 5"]),
    "gradient taken within": ("w = torch.ones(3, requires_grad=True)\ndef f(x):\n  (x * w).sum().backward()\n  return w.grad.clone()", ["w.grad = None", ""]),
    "grad modes nested": ("w = torch.ones(3, requires_grad=True)\n@torch.no_grad()\ndef g(x):\n  y = x * w\n  with torch.enable_grad(): z = x * w\n  return y.requires_grad, z.requires_grad\ndef f(x): return g(x), (x * w).requires_grad",
                          ["torch.set_grad_enabled(False)", "torch.set_grad_enabled(True)"]),
    "grad mode left by an error": ("w = torch.ones(3, requires_grad=True)\nk = 1\ndef f(x):\n  with torch.no_grad():\n    if k: return x / (w * 0).long()[5]\n  return (x * w).requires_grad", ["k = 0", "k = 1", "k = 0"]),
    "inference mode within": ("def f(x):\n  with torch.inference_mode(): y = x * 2\n  return y.is_inference(), y + 0", [""]),
    # random numbers
    "seed within": ("def f(x):\n  torch.manual_seed(3)\n  return x + torch.rand(3)", ["", ""]),
    "stream of its own": ("g = torch.Generator().manual_seed(1)\ndef f(x): return x + torch.rand(3, generator=g)", ["", "g.manual_seed(1)"]),
    "draws that nobody takes": ("def f(x):\n  torch.rand(2)\n  return x + torch.randn_like(x)", ["", ""]),
    "draws of shapes that nobody takes": ("def f(x):\n  torch.rand_like(x)\n  F.dropout(x)\n  return x * torch.bernoulli(x.sigmoid())", ["", ""]),
    "draws in place": ("def f(x):\n  y = torch.empty_like(x).normal_()\n  z = torch.empty(3).uniform_()\n  return x + y + z + torch.zeros(3).bernoulli_(0.5)", ["", "torch.manual_seed(7)"]),
    "draws before an error": ("k = 1\ndef f(x):\n  y = x + torch.randn_like(x)\n  return y.view(4) if k else y", ["k = 0", "k = 1", "k = 0"]),
    "draws of permutations": ("def f(x): return x[torch.randperm(3)] + torch.multinomial(x.abs(), 2).sum()", ["", ""]),
    "random module": ("m = nn.Sequential(nn.Dropout(0.5), nn.RReLU(), nn.AlphaDropout(0.5))\ndef f(x): return m(x)", ["m.eval()", "m.train()", "m[0].p = 0.1"]),
    "python's random in a callee": ("def g(): return random.choice([1, 2, 3])\ndef f(x): return x * g() + torch.rand_like(x)", ["random.seed(5)", ""]),
    # what is seen outside
    "warning": ("import warnings\nwarnings.simplefilter('always')\nwarnings.showwarning = lambda m, *a, **k: seen.append(str(m))\ndef f(x):\n  warnings.warn('w')\n  return x + 1", ["", ""]),
    "log record": ("import logging\nclass H(logging.Handler):\n  def emit(self, r): seen.append(r.getMessage())\nl = logging.getLogger('world')\nl.addHandler(H())\ndef f(x):\n  l.warning('n %d', 3)\n  return x + 1", ["l.setLevel('ERROR')", "l.setLevel('DEBUG')"]),
    "object that dies": ("class C:\n  def __del__(self): seen.append('gone')\ndef f(x):\n  c = C()\n  y = x + 1\n  del c\n  return y", ["", ""]),
    "identity of the argument": ("def f(x): return x, x.contiguous() is x, x.view(3) is x, x.to(torch.float32) is x", [""]),
    "result that is an argument": ("def f(x):\n  y = x.contiguous()\n  y.add_(1)\n  return y", ["", ""]),
    "result that is a view": ("def f(x): return x[1:], x.view(3, 1)", [""]),
    "list given back twice": ("def f(x):\n  a = [x]\n  return a, a, (a,)", [""]),
    "list of the caller grows": ("c = []\ndef g(c, x):\n  c.append(x)\n  return x\ndef f(x): return g(c, x) + len(c)", ["c.clear()", ""]),
    "sorted by a key": ("ks = [3, 1, 2]\ndef f(x): return x * sorted(ks, key=lambda k: -k)[0]", ["ks.append(9)", "ks.sort()"]),
    "hash of a text": ("k = 'abc'\nd = {'abc': 2, 'x': 3}\ndef f(x): return x * d[k[:]]", ["k = 'x'", "d['x'] = 5"]),
}


@pytest.mark.parametrize("backend", ["eager", "inductor"])
@pytest.mark.parametrize("name", CASES)
def test_nothing_stale(name, backend, capfd):
    check_alike(*CASES[name], backend, capfd)


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_what_a_call_gave_is_the_callers(backend):
    """Tensors of constants are made anew in every call: who got one may write to it."""
    def f(x):
        a, b = torch.tensor([1.0, 2.0]), torch.zeros(2)
        return x + a, a, b, torch.ones_like(x), torch.full((2,), 3.0)[:1], torch.tensor([5.0]).view(1, 1)
    compiled = torch.compile(f, backend=backend)
    x = torch.ones(2)
    for _ in range(3):
        got = compiled(x)
        assert all(torch.equal(a, b) for a, b in zip(got, f(x)))
        for t in got:
            t.add_(7)


def test_memory_that_is_filled_within():
    """Of tensors that a graph makes and fills nothing is run twice, and a fill of one that is seen elsewhere is none."""
    from torch._inductor import compile as compile_graph
    x = torch.randn(3, 4)
    outside = torch.ones(4)

    def check(f, followed):
        graph = compile_graph(f, [x])
        assert (graph is not f) == followed
        for _ in range(2):
            torch.manual_seed(0)
            outside.fill_(1)
            wanted = [*f(x), torch.rand(2)], outside.clone()
            torch.manual_seed(0)
            outside.fill_(1)
            got = [*graph(x), torch.rand(2)], outside.clone()
            assert all(torch.equal(a, b) for a, b in zip(got[0], wanted[0])) and torch.equal(got[1], wanted[1])
    check(lambda x: (torch.zeros_like(x) + x, x.new_full((2,), 3.0).sum() * x), True)
    check(lambda x: (torch.rand_like(x) + x, torch.empty_like(x).normal_() * torch.randn_like(x)), True)
    check(lambda x: (x + torch.zeros(4) * torch.scalar_tensor(2.0), x.clamp(torch.zeros(4))), True)
    check(lambda x: (x.detach() + 1, x.detach().sum(0)), True)
    check(lambda x: (torch.zeros(3), x), False)                                  # what is given back is made anew
    check(lambda x: (x + torch.rand(4),), False)
    check(lambda x: (outside.detach().zero_() + x,), False)
    check(lambda x: (outside.zero_() + x,), False)

    def seen_twice(x):
        y = torch.empty_like(x)
        z = y[0]
        y.fill_(2)
        return y + z, z
    check(seen_twice, False)

    def read_before(x):
        y = torch.zeros(4)
        z = x + y
        y.fill_(5)
        return z, x + y
    check(read_before, False)
