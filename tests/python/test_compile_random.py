"""Random functions, compiled in parts or whole: results, output, state of what they touch, and errors are those of the
function as it is. FB_FUZZ_FUNCTIONS says how many of them (12 for each back end); FB_FUZZ_FIRST is the first seed."""
import contextlib
import io
import os
import random

import pytest
import torch

HEAD = """
import torch
seen = []
class Thing:
    def __init__(self): self.n, self.t = 0, None
    def method(self, q):
        if q.sum() > 3: return q * 2
        return q + self.n
thing = Thing()
def sub(q, i):
    r = q * 2
    if i % 2: print('sub')
    return r - i
class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w, self.calls = torch.nn.Parameter(torch.full((3,), 0.5)), 0
    def forward(self, q):
        h = q * self.w
        self.calls += 1
        if self.calls % 3 == 0: print('layer', self.calls)
        return h.detach()
def call(f, q): return f(q) + f(q + 1)
layer = Layer()
"""


class Writer:
    """Writes f(x, y, k): statements over the names that there are at their place."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines, self.count = ["def f(x, y, k=2):"], 0
        self.names = {"tensor": ["x", "y"], "int": ["k"], "list": [], "function": []}
        for _ in range(3):
            self.block(1)
        self.line(1, "return [{}], [{}], [{}]".format(*(", ".join(self.names[kind]) for kind in ("tensor", "int", "list"))))

    def line(self, depth, text):
        self.lines.append("    " * depth + text)

    def any(self, kind):
        return self.random.choice(self.names[kind])

    def new(self, kind):
        self.count += 1
        return f"{kind[0]}{self.count}"

    def assign(self, depth, kind, text):
        name = self.new(kind)
        self.line(depth, f"{name} = {text}")
        self.names[kind].append(name)

    def tensor(self):
        a, b, i = self.any("tensor"), self.any("tensor"), self.any("int")
        forms = [f"{a} + {b}", f"{a} * {i}", f"({a} - {b}).sin()", f"torch.tanh({a}) + {i}", f"{a}.clone()", f"torch.relu({a}) * 0.5",
                 f"{a}.view(-1)[:2].sum() + {b}", f"torch.where({a} > 0, {a}, {b})", f"{a} * {b}.shape[0]", f"torch.ones(3) * {a}",
                 f"{a}.detach() + {b}", f"sum([{a}, {b}])", f"(lambda q: q * {a})({b})", f"thing.method({a})", f"sub({a}, {i})", f"layer({a})"]
        if self.names["function"]:
            forms += [f"{self.any('function')}({a})", f"call({self.any('function')}, {a})"] * 2
        return self.random.choice(forms)

    @contextlib.contextmanager
    def inner(self, depth, head):
        """A block behind `head`: what it names is not there afterwards."""
        before = {kind: list(names) for kind, names in self.names.items()}
        self.line(depth, head)
        yield
        self.names = before

    def block(self, depth):
        for _ in range(self.random.randint(1, 4)):
            self.statement(depth)

    def statement(self, depth):
        r = self.random
        simple = ["tensor"] * 5 + ["print", "print item", "list", "append", "in place", "item", "def", "attribute", "seen", "pair", "dict",
                                   "again", "set item", "comprehension", "view", "counter"]
        kind = r.choice(simple + (["if", "if number", "for", "for items", "while", "mode", "try"] * 2 if depth < 3 else []) +
                        (["return"] if depth > 1 else []))
        t = self.any("tensor")
        if kind == "tensor":
            self.assign(depth, "tensor", self.tensor())
        elif kind == "again":
            self.line(depth, r.choice([f"{t} = {self.tensor()}", f"{self.any('int')} += 1"]))
        elif kind == "print":
            self.line(depth, f"print('p', {self.any('int')})")
        elif kind == "print item":
            self.line(depth, f"print(round({t}.sum().item(), 3))")
        elif kind == "list":
            self.assign(depth, "list", f"[{t}, {self.any('tensor')}]")
        elif kind == "append" and self.names["list"]:
            self.line(depth, f"{self.any('list')}.append({self.tensor()})")
        elif kind == "comprehension" and self.names["list"]:
            self.assign(depth, "list", f"[e * {self.any('int')} + {t} for e in {self.any('list')}[:3]]")
        elif kind == "in place":
            self.line(depth, f"{t}.add_({r.randint(1, 3)})")
        elif kind == "set item":
            self.line(depth, f"{t}.view(-1)[0] = {r.randint(0, 3)}")
        elif kind == "view":
            self.assign(depth, "tensor", f"{t}.view(-1)")
        elif kind == "item":
            self.assign(depth, "int", f"int({t}.sum().item()) % 3")
        elif kind == "attribute":
            self.line(depth, r.choice(["thing.n += 1", f"thing.t = {t}"]))
        elif kind == "seen":
            self.line(depth, f"seen.append(round({t}.sum().item(), 3))")
        elif kind == "pair":
            a, b = self.new("tensor"), self.new("tensor")
            self.line(depth, f"{a}, {b} = {t}, {self.tensor()}")
            self.names["tensor"] += [a, b]
        elif kind == "dict":
            self.assign(depth, "tensor", f"{{'a': {t}, 'b': {self.tensor()}}}[{r.choice('ab')!r}]")
        elif kind == "def":
            f, i = self.new("function"), self.any("int")
            self.line(depth, f"def {f}(q):")
            if r.random() < 0.3:
                self.line(depth + 1, "print('in')")
            self.line(depth + 1, f"return q * {i} + {t}")
            self.names["function"].append(f)
        elif kind == "counter" and depth == 1:
            f, i = self.new("function"), self.new("int")
            for n, text in ((0, f"{i} = 1"), (0, f"def {f}(q):"), (1, f"nonlocal {i}"), (1, f"{i} += 1"), (1, f"return q * {i}")):
                self.line(depth + n, text)
            self.names["function"].append(f)
            self.names["int"].append(i)
        elif kind in ("if", "if number"):
            with self.inner(depth, f"if {t}.sum() > {r.randint(-2, 3)}:" if kind == "if" else f"if {self.any('int')} % 2:"):
                self.block(depth + 1)
            if r.random() < 0.5:
                with self.inner(depth, "else:"):
                    self.block(depth + 1)
        elif kind in ("for", "for items"):
            i, item = self.new("int"), self.new("tensor")
            items = f"{self.any('list')}[:3]" if self.names["list"] and r.random() < 0.5 else f"[{t}, {t} + 1]"
            with self.inner(depth, f"for {i} in range({r.randint(1, 3)}):" if kind == "for" else f"for {i}, {item} in enumerate({items}):"):
                self.names["int"].append(i)
                self.names["tensor"] += [item] * (kind == "for items")
                self.block(depth + 1)
                if r.random() < 0.3:
                    self.line(depth + 1, r.choice([f"if {self.any('tensor')}.sum() > 4: break", f"if {i} == 1: continue"]))
                    self.line(depth + 1, "print('round')")
            if r.random() < 0.2:
                self.line(depth, "else: print('through')")
        elif kind == "while":
            i = self.new("count")
            self.line(depth, f"{i} = 0")
            with self.inner(depth, f"while {i} < 2 and {t}.sum() < 50:"):
                self.line(depth + 1, f"{i} += 1")
                self.block(depth + 1)
        elif kind == "mode":
            with self.inner(depth, f"with torch.{r.choice(['no_grad', 'enable_grad'])}():"):
                self.block(depth + 1)
            self.line(depth, "print(torch.is_grad_enabled())")
        elif kind == "try":
            with self.inner(depth, "try:"):
                self.block(depth + 1)
                self.line(depth + 1, f"if {t}.sum() > 1: raise KeyError('e')")
            with self.inner(depth, "except KeyError as e:"):
                self.line(depth + 1, "print('caught', e)")
                self.block(depth + 1)
            if r.random() < 0.3:
                self.line(depth, "finally: print('finally')")
        elif kind == "return" and r.random() < 0.5:
            self.line(depth, f"return {t}, {self.any('int')}")
        else:
            self.line(depth, "pass")


def plain(x, known):
    """x as text and numbers, with the same number for what is the same object."""
    if isinstance(x, torch.Tensor):
        return ("tensor", known.setdefault(id(x), len(known)), tuple(x.shape), x.requires_grad, [round(v, 4) for v in x.detach().reshape(-1).tolist()])
    if isinstance(x, (list, tuple)):
        return [type(x).__name__, known.setdefault(id(x), len(known)) if isinstance(x, list) else None, *(plain(i, known) for i in x)]
    return type(x).__name__, repr(x)


def play(code, backend):
    world = {"__name__": "random_functions"}
    exec(compile(HEAD + code, "<random function>", "exec"), world)
    f, told = world["f"], []
    if backend:
        f = torch.compile(f, backend=backend)
    for seed, grad, leaf in ((0, False, True), (1, True, True), (2, False, True), (3, True, False), (0, False, True)):
        torch.manual_seed(seed)
        x, y = (torch.randn(3) * 2).requires_grad_(grad), torch.randn(3)
        x = x if leaf else x * 1
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            try:
                result = plain((f(x, y, k=seed % 3 + 1), x, y), {})
            except Exception as e:   # of the function: in place on a leaf, another shape
                result = type(e).__name__
        told.append((result, printed.getvalue(), list(world["seen"]), world["thing"].n, world["layer"].calls, torch.is_grad_enabled()))
        torch.set_grad_enabled(True)
    return told


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_random_functions(backend):
    first = int(os.environ.get("FB_FUZZ_FIRST", 0))
    for seed in range(first, first + int(os.environ.get("FB_FUZZ_FUNCTIONS", 12))):
        code = "\n".join(Writer(seed).lines)
        torch._dynamo.reset()
        wanted, found = play(code, None), play(code, backend)
        assert wanted == found, f"seed {seed}:\n{code}"
