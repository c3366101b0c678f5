"""Random kernels: arithmetic, views, reductions, products, loops, branches, loads and stores that meet in memory, beside the same
statements on tensors."""
import importlib.util
import random

import pytest
import torch

SHAPES = [(16,), (8,), (8, 16), (16, 8), (16, 16), (8, 1), (1, 16), (4, 2, 8)]
BUFFER = 1024


class Writer:
    """Statements of a kernel, and what they do to `values` (tensors by name) and `memory` (buffers)."""

    def __init__(self, seed):
        self.r = random.Random(seed)
        g = torch.Generator().manual_seed(seed)
        self.memory = [torch.rand(BUFFER, generator=g) for _ in range(2)]
        self.start = [m.clone() for m in self.memory]
        self.lines, self.program, self.names = [], [], {}
        self.count = 0

    def fresh(self, shape):
        self.count += 1
        name = f"v{self.count}"
        self.names[name] = shape
        return name

    def pick(self, shape=None):
        fit = [n for n, s in self.names.items() if shape is None or s == shape]
        if not fit or self.r.random() < 0.1:
            return self.load(shape or self.r.choice(SHAPES))
        return self.r.choice(fit)

    def say(self, line, action, depth=1):
        self.lines.append("    " * (depth + self.depth - 1) + line)
        self.actions.append(action)

    depth = 1
    actions = None

    def offsets(self, shape, base, step):
        """As text, and as a tensor."""
        text, index, n = "", torch.zeros(shape, dtype=torch.int64), step
        for d in reversed(range(len(shape))):
            place = "".join("[" + ", ".join(":" if e == d else "None" for e in range(len(shape))) + "]") if len(shape) > 1 else ""
            text += f" + tl.arange(0, {shape[d]}){place} * {n}"
            index = index + torch.arange(shape[d]).reshape([-1 if e == d else 1 for e in range(len(shape))]) * n
            n *= shape[d]
        return f"{base}{text}", index + base

    def load(self, shape):
        b, step = self.r.randrange(2), self.r.choice([1, 1, 2])
        text, index = self.offsets(shape, self.r.randrange(64), step)
        name = self.fresh(shape)
        if self.r.random() < 0.4:
            limit = self.r.randrange(0, 300)
            self.say(f"{name} = tl.load(m{b} + ({text}), mask=({text}) < {limit}, other=0.25)",
                     lambda v: v.__setitem__(name, torch.where(index < limit, self.memory[b][index], torch.tensor(0.25))))
        else:
            self.say(f"{name} = tl.load(m{b} + ({text}))", lambda v: v.__setitem__(name, self.memory[b][index]))
        return name

    def store(self):
        x = self.pick()
        shape = self.names[x]
        b = self.r.randrange(2)
        text, index = self.offsets(shape, self.r.randrange(64), self.r.choice([1, 1, 3]))

        def act(v):
            self.memory[b][index.reshape(-1)] = v[x].reshape(-1)
        self.say(f"tl.store(m{b} + ({text}), {x})", act)

    def one(self):
        kind = self.r.randrange(13)
        if kind == 0:
            return self.load(self.r.choice(SHAPES))
        if kind == 1:
            return self.store()
        x = self.pick()
        s = self.names[x]
        if kind in (2, 3):
            y = self.pick(s)
            z = self.fresh(s)
            op = self.r.choice(["+", "-", "*"])
            f = {"+": torch.add, "-": torch.sub, "*": torch.mul}[op]
            self.say(f"{z} = ({x} {op} {y}) * 0.5", lambda v: v.__setitem__(z, f(v[x], v[y]) * 0.5))
        elif kind == 4:
            z = self.fresh(s)
            f = self.r.choice(["exp", "sigmoid", "sqrt"])
            self.say(f"{z} = tl.{f}(tl.abs({x}) * -1.0 + 1.0 - 1.0)" if f != "sqrt" else f"{z} = tl.sqrt(tl.abs({x}))",
                     lambda v: v.__setitem__(z, torch.sqrt(v[x].abs()) if f == "sqrt" else getattr(torch, f)(v[x].abs() * -1.0 + 1.0 - 1.0)))
        elif kind == 5:
            y, c = self.pick(s), self.pick(s)
            z = self.fresh(s)
            self.say(f"{z} = tl.where({c} > 0.4, {x}, {y})", lambda v: v.__setitem__(z, torch.where(v[c] > 0.4, v[x], v[y])))
        elif kind == 6 and len(s) > 1:
            d = self.r.randrange(len(s))
            z = self.fresh(s)
            f = self.r.choice(["sum", "max", "min"])
            self.say(f"{z} = ({x} - tl.{f}({x}, {d}, keep_dims=True) * 0.1) * 0.5",
                     lambda v: v.__setitem__(z, (v[x] - (v[x].sum(d, True) if f == "sum" else getattr(v[x], "a" + f)(d, True)) * 0.1) * 0.5))
        elif kind == 6:
            z = self.fresh(s)
            self.say(f"{z} = {x} - tl.sum({x}, 0) * 0.1", lambda v: v.__setitem__(z, v[x] - v[x].sum(0) * 0.1))
        elif kind == 7 and len(s) == 2:
            z = self.fresh(s[::-1])
            self.say(f"{z} = {x}.T", lambda v: v.__setitem__(z, v[x].t()))
        elif kind == 7:
            n = 1
            for k in s:
                n *= k
            z = self.fresh((n,))
            self.say(f"{z} = tl.flip(tl.ravel({x}))", lambda v: v.__setitem__(z, v[x].reshape(-1).flip(0)))
        elif kind == 8:
            fit = [t for t in SHAPES if self._numel(t) == self._numel(s)]
            if fit:
                t = self.r.choice(fit)
                z = self.fresh(t)
                self.say(f"{z} = tl.reshape({x}, {t})", lambda v: v.__setitem__(z, v[x].reshape(t)))
        elif kind == 9:
            y = self.pick((16,))
            x8 = self.pick((8,))
            z = self.fresh((8, 16))
            self.say(f"{z} = {x8}[:, None] * {y}[None, :]", lambda v: v.__setitem__(z, v[x8][:, None] * v[y][None, :]))
        elif kind == 10:
            a, b = self.pick((8, 16)), self.pick((16, 8))
            c = self.pick((8, 8)) if self.r.random() < 0.5 else None
            z = self.fresh((8, 8))
            self.say(f"{z} = tl.dot({a}, {b}, {c}) * 0.1", lambda v: v.__setitem__(z, (v[a] @ v[b] + (v[c] if c else 0)) * 0.1))
        elif kind == 11:
            z = self.fresh(s)
            d = self.r.randrange(len(s))
            back = self.r.random() < 0.5
            self.say(f"{z} = tl.cumsum({x}, {d}, reverse={back}) * 0.1",
                     lambda v: v.__setitem__(z, (v[x].flip(d).cumsum(d).flip(d) if back else v[x].cumsum(d)) * 0.1))
        elif kind == 12 and self.depth == 1:
            self.loop() if self.r.random() < 0.6 else self.branch()

    @staticmethod
    def _numel(s):
        n = 1
        for k in s:
            n *= k
        return n

    def body(self, update):
        """Statements of an inner block; update(names known before) writes the assignments to outer names."""
        before, outer = dict(self.names), self.actions
        self.actions, self.depth = [], 2
        for _ in range(self.r.randrange(4)):
            self.one()
        update(before)
        inner, self.actions, self.depth = self.actions, outer, 1
        self.names = before
        return inner

    def assign(self, before):
        for _ in range(self.r.randrange(1, 3)):
            if not before:
                return
            x = self.r.choice(list(before))
            y = self.pick(before[x])
            self.say(f"{x} = {x} * 0.5 + {y} * 0.25", lambda v, x=x, y=y: v.__setitem__(x, v[x] * 0.5 + v[y] * 0.25))

    def loop(self):
        if not self.names:
            return
        n = self.r.randrange(4)
        b = self.r.randrange(2)
        x = self.pick((16,))
        self.say(f"p = m{b} + tl.arange(0, 16)", lambda v: None)
        self.lines.append(f"    for i in range(n - {4 - n}):" if self.r.random() < 0.5 else f"    for i in range({n}):")

        def update(before):
            self.say(f"{x} = {x} * 0.5 + tl.load(p)", lambda v: v.__setitem__(x, v[x] * 0.5 + self.memory[b][torch.arange(16) + 24 * v["i"]]))
            self.assign(before)
            self.say("p += 24", lambda v: None)
        inner = self.body(update)

        def act(v):
            for i in range(n):
                v["i"] = i
                for a in inner:
                    a(v)
        self.actions.append(act)

    def branch(self):
        if not self.names:
            return
        k = self.r.randrange(3, 6)
        self.lines.append(f"    if n < {k}:")
        then = self.body(self.assign)
        self.lines.append("        pass")
        self.lines.append("    else:")
        other = self.body(self.assign)
        self.lines.append("        pass")

        def act(v):
            for a in then if 4 < k else other:
                a(v)
        self.actions.append(act)

    def write(self):
        self.actions = []
        for _ in range(3):
            self.load(self.r.choice(SHAPES))
        for _ in range(self.r.randrange(3, 16)):
            self.one()
        for _ in range(3):
            self.store()
        return "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef kernel(m0, m1, n):\n" + "\n".join(self.lines) + "\n"


@pytest.mark.parametrize("block", range(8))
def test_random_kernels(block, tmp_path):
    for seed in range(block * 25, block * 25 + 25):
        w = Writer(seed)
        source = w.write()
        path = tmp_path / f"kernel{seed}.py"
        path.write_text(source)
        spec = importlib.util.spec_from_file_location(f"random_kernel{seed}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        values = {}
        for action in w.actions:
            action(values)
        have = [m.clone() for m in w.start]
        module.kernel[(1,)](*have, 4)
        for h, m in zip(have, w.memory):
            torch.testing.assert_close(h, m, rtol=1e-4, atol=1e-4, msg=lambda t: f"seed {seed}\n{source}\n{t}")
