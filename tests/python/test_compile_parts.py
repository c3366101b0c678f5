"""Functions that torch.compile cannot follow to the end: graphs before and behind what it cannot, with the results, the
output, the errors and the state of the function as it is."""
import contextlib
import gc
import logging
import traceback
import warnings
import weakref

import pytest
import torch
from torch import nn
import torch.nn.functional as F

from python.compiling import Listing, fresh  # noqa: F401
from torch._dynamo.utils import counters


def printed(x):
    y = x.sin()
    print("between", x.shape)
    return y.cos() + x


def branch(x):
    y = x * 2
    if y.sum() > 0:
        z = y + 1
    else:
        z = y - 1
    return z * 3


def item(x):
    s = x.sum().item()
    return x * s + len(str(s))


def loop(x):
    for i in range(4):
        x = x * 2
        print("round", i)
        x = x + i
    return x


def loop_over_pairs(x):
    parts, told = [x, x + 1, x * 2], []
    for n, (a, b) in enumerate(zip(parts, [1, 2, 3])):
        told.append(a * b)
        if a.sum() > 100:
            break
        print(n)
    else:
        print("through")
    return told, parts


def until(x):
    n = 0
    while x.abs().sum() > 1:
        x, n = x * 0.5, n + 1
    return x, n


def containers(x):
    d = {"a": x + 1, "b": [x, 2], "c": (x * 2, None)}
    e, s = d["b"], {1, 2}
    print(sorted(s))
    e.append(d["c"][0] + 1)
    d["z"] = e
    return d, e is d["b"], s


def views(x):
    y = x * 2
    v = y[0:1]
    print(end="")
    v.add_(10)
    w = y.view(-1)
    print(end="")
    w[1:].zero_()
    return y, v


def in_place(x):
    x.add_(1)
    print(x.tolist())
    x.mul_(2)
    return x


def closures(x):
    k, total = 2, x * 0

    def scaled(y):
        return y * k

    def count():
        nonlocal k
        k += 1
        return k
    z = scaled(x)
    print(k)
    count()
    more = [scaled(z) + k for _ in range(2)]
    print(count())
    return scaled(z), sum(more), total, k


def rebound(x, k):
    def f():
        return k
    y = x + k
    print(f())
    k = k + 1
    return y * k, f()


def keywords(x, *rest, scale=2, **more):
    y = x * scale
    print(rest, sorted(more))
    for r in rest:
        y = y + r
    return y * more.get("last", 1), rest, more


def deleted(x):
    y = x + 1
    print(end="")
    z = y * 2
    del y
    print(end="")
    try:
        return y
    except NameError:
        return z


def conditional(x):
    a = x.sum() > 0 or x.min() < -100
    b = not (x.max() > 5)
    return x + (1 if x.mean() > 0 else 2), a, b, (None or x.sum()) and x


def chained(x):
    return x * 2 if 0 < x.sum() < 10 else x * 3


def asserted(x):
    assert x.sum() > -1000, "too small"
    return x + 1


def text(x):
    y = x.sum() * 2
    return f"{y:.2f} and {y.shape}", y


def unpacked(x):
    a, b, c = x.tolist()
    return x * a + b - c


def imported(x):
    y = x + 1
    from collections import Counter
    c = Counter("abca")
    return y * c["a"]


def within_no_grad(x):
    with torch.no_grad():
        y = x * 2
        print(torch.is_grad_enabled())
        y = y + 1
    z = x * y
    print(torch.is_grad_enabled())
    return z, z.requires_grad, y.requires_grad


def nested_modes(x):
    with torch.no_grad():
        a = x * 2
        with torch.enable_grad():
            print(torch.is_grad_enabled())
            b = x * 3
            print(end="")
        print(torch.is_grad_enabled())
        c = x * 4
    return a.requires_grad, b.requires_grad, c.requires_grad, a, b, c


def slices(x):
    s = slice(0, 2)
    print(s)
    return x[s] * 2


def half_called(x):
    return torch.stack([x, (print("inner") or x) * 2, x + 1])


def method_kept(x):
    f, out = x.add, []
    put = out.append
    put(x * 2)
    print(end="")
    put(f(1))
    return out


def early(x):
    y = x + 1
    if y.sum() > 1000:
        return y
    print("late")
    return y * 2


def quiet(x):
    return x


def helper(x, k):
    y = x * k
    print("helper", k)
    return y + 1


def calls_helper(x):
    return helper(helper(x + 1, 2) * 2, k=3) - 1


def comprehensions(*xs):
    values = [x.item() for x in xs]
    table = {n: x.tolist() for n, x in enumerate(xs)}
    return values, table, {x.item() for x in xs}, sorted((x.item() for x in xs), reverse=True), [*values, *map(str, values)]


def null_contexts(x):
    with contextlib.nullcontext(), outside_context as k:
        y = x * k
        print(end="")
        y = y + 1
    return y


outside_context = contextlib.nullcontext(3)


def generator(x):
    yield x + 1
    print("more")
    yield x * 2


def calls_generator(x):
    y = x * 3
    return sum(generator(y)) + y


def looks_around(x):
    y = x + 1
    return sorted(locals()), y


def evaluates(x):
    y = x + 1
    return eval("y * 2")


CASES = [(printed, 2), (branch, 2), (item, 2), (loop, 2), (loop_over_pairs, 2), (until, 1), (containers, 2), (views, 3), (in_place, 2),
         (closures, 2), (lambda x: rebound(x, 2), 2), (lambda x: keywords(x, x, 3, scale=4, last=5, a=1), 2), (deleted, 2), (conditional, 3),
         (chained, 2), (asserted, 2), (text, 1), (unpacked, 1), (imported, 2), (within_no_grad, 2), (nested_modes, 2), (slices, 1),
         (half_called, 1), (method_kept, 2), (early, 2), (calls_helper, 4), (null_contexts, 2), (lambda x: comprehensions(*x), 0), (calls_generator, 1), (looks_around, 0), (evaluates, 0)]


def plain(x):
    if isinstance(x, torch.Tensor):
        return ("tensor", x.dtype, tuple(x.shape), x.requires_grad, x.tolist())
    if isinstance(x, dict):
        return {k: plain(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return type(x)(plain(v) for v in x)
    return x


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor", "counting"])
@pytest.mark.parametrize("f, least", CASES, ids=[f.__name__ for f, _ in CASES])
def test_as_it_is(f, least, backend, capfd):
    counting = Listing()
    compiled = torch.compile(f, backend=counting if backend == "counting" else backend)
    for values in ([1., 2., 3.], [-1., 2., -5.], [1., 2., 3.], [40., 50., 60.], [-1., 2., -5.]):
        for grad in (False, True):
            told = []
            for g in (f, compiled):
                x = torch.tensor(values)
                if grad and f is not in_place:
                    x.requires_grad_()
                told.append((plain(g(x)), plain(x), capfd.readouterr().out))
            assert told[0] == told[1]
    assert torch.is_grad_enabled()
    if backend == "counting":
        assert len(counting.graphs) >= least


def test_the_graphs_around_a_print():
    backend = Listing()
    f = torch.compile(printed, backend=backend)
    for _ in range(3):
        f(torch.ones(2))
    assert backend.graphs == [["sin"], ["cos", "add"]]
    assert sum(counters["graph_break"].values()) == 1 and counters["stats"]["unique_graphs"] == 2


def test_both_branches_are_compiled():
    backend = Listing()
    f = torch.compile(branch, backend=backend)
    for sign in (1, -1, 1, -1):
        x = torch.ones(2) * sign
        assert torch.equal(f(x), branch(x))
    assert backend.graphs == [["mul", "sum", "gt"], ["add", "mul"], ["sub", "mul"]]


def test_gradients_come_through_the_parts():
    def f(x, w):
        h = torch.tanh(x @ w)
        print(end="")
        if h.sum() > 0:
            h = h * 2
        return (h * h).sum()
    for backend in ("eager", "aot_eager", "inductor"):
        torch._dynamo.reset()
        told = []
        for g in (f, torch.compile(f, backend=backend)):
            torch.manual_seed(0)
            x, w = torch.randn(3, 4), torch.randn(4, 5, requires_grad=True)
            g(x, w).backward()
            told.append(w.grad)
        assert torch.equal(*told)


class Noisy(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.inner, self.calls = nn.Linear(d, d), 0

    def forward(self, x):
        y = self.inner(x).relu()
        self.calls += 1
        print("call", self.calls)
        return y * 2 + self.shift(x)

    def shift(self, x):
        return x + self.calls


class Louder(Noisy):
    def forward(self, x):
        print("louder")
        y = super().forward(x)
        print("loud")
        return super().shift(y) * 2


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_modules(backend, capfd):
    told = []
    for compiled in (False, True):
        torch.manual_seed(0)
        m = nn.Sequential(nn.Linear(4, 4), Noisy(4), Louder(4), nn.ReLU())
        f = torch.compile(m, backend=backend) if compiled else m
        out = []
        for _ in range(3):
            y = f(torch.ones(2, 4))
            y.sum().backward()
            out.append(plain(y))
        told.append((out, [plain(p.grad) for p in m.parameters()], m[1].calls, m[2].calls, capfd.readouterr().out))
    assert told[0] == told[1]


def test_modules_that_are_called_are_compiled_too():
    backend = Listing()
    m = nn.Sequential(nn.Linear(4, 4), Noisy(4), nn.ReLU())
    f = torch.compile(m, backend=backend)
    f(torch.ones(2, 4))
    assert [g for g in backend.graphs if "linear" in g] and sum("linear" in g for g in backend.graphs) == 2
    assert backend.graphs[-1][-1] == "relu"


def test_hooks_still_run():
    m = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2))
    seen = []
    m[1].register_forward_hook(lambda m, a, out: seen.append(1))
    f, x = torch.compile(m, backend="eager"), torch.ones(1, 2)
    assert torch.equal(f(x), m(x)) and torch.equal(f(x), m(x)) and len(seen) == 4


def test_errors_keep_their_place_and_handler():
    def fails(x):
        y = x + 1
        raises(y)
        return y

    def raises(y):
        raise KeyError("mine")

    f = torch.compile(fails, backend="eager")
    for _ in range(3):
        with pytest.raises(KeyError, match="mine") as e:
            f(torch.ones(2))
        lines = [(fr.name, fr.lineno) for fr in traceback.extract_tb(e.value.__traceback__) if fr.filename == __file__]
        assert ("fails", fails.__code__.co_firstlineno + 2) in lines and ("raises", raises.__code__.co_firstlineno + 1) in lines

    def handled(x, i):
        y = x + 1
        print(end="")
        try:
            z = F.embedding(i, y)
        except IndexError:
            z = y * 0
        finally:
            y = y + 1
        return z, y
    g, x = torch.compile(handled, backend="inductor"), torch.ones(3, 2)
    for i in (1, 7, 2, 9):
        i = torch.tensor([i])
        assert plain(g(x, i)) == plain(handled(x, i))

    def whole(x, i):
        try:
            return F.embedding(i, x)
        except IndexError:
            return x
    h = torch.compile(whole)
    for i in (1, 7, 2, 9):
        assert plain(h(x, torch.tensor([i]))) == plain(whole(x, torch.tensor([i])))


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_an_error_leaves_grad_mode_as_it_was(backend):
    def raises(x):
        raise KeyError("mine")

    def f(x, i):
        with torch.no_grad():
            y = x + 1
            print(end="")
            y = F.embedding(i, y)
            if i.sum() == 1:
                raises(y)
        return y

    def g(x, i):
        with torch.no_grad():
            return F.embedding(i, x)
    x = torch.ones(3, 2)
    for h in (torch.compile(f, backend=backend), torch.compile(g, backend=backend)):
        for i in (2, 1, 9, 0):
            try:
                h(x, torch.tensor([i]))
            except (KeyError, IndexError):
                pass
            assert torch.is_grad_enabled()


def test_warnings_name_the_line():
    def f(x):
        y = x + 1
        warnings.warn("here")
        return y * 2
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        torch.compile(f, backend="eager")(torch.ones(2))
    assert [(w.filename, w.lineno) for w in told if str(w.message) == "here"] == [(__file__, f.__code__.co_firstlineno + 2)]


def test_callers_are_the_programs_own(caplog):
    """Whatever the stacklevel: between graphs, in what is called there, and in a rest that runs as it is."""
    log = logging.getLogger("of the test")

    def inner(x):
        y = x + 1
        warnings.warn("here", stacklevel=2)
        log.warning("here", stacklevel=3)
        return y * 2

    def as_it_is(x):
        y = x + 1
        try:
            warnings.warn("here", stacklevel=2)
        finally:
            y = y + 1
        return y

    def outer(x):
        y = inner(x + 1)
        warnings.warn("here", stacklevel=2)
        log.warning("here", stacklevel=2)
        return as_it_is(y)

    def told(f):
        caplog.clear()
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            f(torch.ones(2))
        return ([(w.filename, w.lineno) for w in seen if str(w.message) == "here"],
                [(r.pathname, r.lineno, r.funcName) for r in caplog.records if r.name == "of the test"])
    wanted = told(outer)
    assert len(wanted[0]) == 3 and len(wanted[1]) == 2
    for f in (torch.compile(outer, backend="eager"), torch.compile(torch.compiler.disable(outer), backend="eager")):
        for _ in range(3):
            assert told(f) == wanted


def test_log_records_name_the_line(caplog):
    def f(x):
        y = x + 1
        logging.getLogger("of the test").warning("%s", tuple(x.shape))
        return y * 2
    g = torch.compile(f, backend="eager")
    for _ in range(2):
        g(torch.ones(2))
    told = [(r.pathname, r.lineno, r.funcName, r.getMessage()) for r in caplog.records if r.name == "of the test"]
    assert told == [(__file__, f.__code__.co_firstlineno + 2, "f", "(2,)")] * 2


def test_long_loops_do_not_nest():
    def f(x, n):
        for i in range(n):
            x = x + 1
            print(end="")
        return x
    assert torch.compile(f, backend="eager")(torch.zeros(1), 3000).item() == 3000


def test_values_live_no_longer():
    alive = []

    def look():
        gc.collect()
        alive.append(seen[-1]() is not None)

    def f(x):
        y = x * 2
        seen.append(weakref.ref(y))
        z = y + 1
        del y
        look()
        return z
    seen = []
    f(torch.ones(3))
    g = torch.compile(f, backend="eager")
    for _ in range(3):
        g(torch.ones(3))
    assert alive == [False] * 4


def test_long_functions():
    body = "\n".join(f"    x = x + {i}\n    a{i} = x * 2" for i in range(300))
    world = {}
    exec(f"def f(x):\n{body}\n    print(end='')\n    for k in range(2):\n        x = x + a0 + a299\n    if x.sum() > 0:\n        x = -x\n    return x", world)
    x = torch.ones(2)
    assert torch.equal(torch.compile(world["f"], backend="eager")(x), world["f"](x))


def test_graph_break_by_name():
    backend = Listing()

    def f(x):
        y = x + 1
        torch._dynamo.graph_break()
        return y * 2
    assert torch.compile(f, backend=backend)(torch.ones(1)) == 4 and backend.graphs == [["add"], ["mul"]]
    with pytest.raises(torch._dynamo.exc.Unsupported, match="graph_break"):
        torch.compile(f, fullgraph=True)(torch.ones(1))


def test_skipped_by_name():
    backend = Listing()

    def f(x):
        y = x + 1
        torch._dynamo.skip_frame("for a reason")
        return y * 2
    assert torch.compile(f, backend=backend)(torch.ones(1)) == 4 and backend.graphs == []


def test_one_notice(caplog):
    def f(x):
        print(end="")
        y = x + 1
        print(end="")
        return y
    g = torch.compile(f, backend="eager")
    with caplog.at_level(logging.WARNING, "torch._dynamo"):
        for n in (1, 2, 3):
            g(torch.ones(n))
    assert len(caplog.records) == 1 and "in parts" in caplog.records[0].getMessage() and 'print(end="")' in caplog.records[0].getMessage()


def test_explain_says_where_and_why():
    def f(x):
        y = x.sin()
        print(end="")
        if y.sum() > 0:
            y = helper(y, 2)
        return y.cos()
    said = torch._dynamo.explain(f)(torch.ones(2))
    assert said.graph_count == 5 and said.graph_break_count == 3
    lines = [(r.where[0], r.where[1]) for r in said.break_reasons]
    first = f.__code__.co_firstlineno
    assert lines == [(__file__, first + 2), (__file__, first + 3), (__file__, helper.__code__.co_firstlineno + 2)]
    assert [len(ops) for ops in said.ops_per_graph] == [0, 1, 1, 1, 0]
    assert [(s.filename, s.lineno, s.name) for r in said.break_reasons for s in r.user_stack] == [r.where for r in said.break_reasons]
    assert f"{__file__}" in str(said) and "data of a tensor" in str(said)


def test_sizes_may_vary_in_parts():
    backend = Listing()
    f = torch.compile(printed, backend=backend)
    for n in range(2, 9):
        x = torch.randn(n)
        assert torch.equal(f(x), printed(x))
    assert len(backend.graphs) == 9   # the sizes are read, and printed, before the place; behind it one graph serves all


def test_disabled_functions_run_between_graphs():
    backend = Listing()

    @torch.compiler.disable
    def apart(x):
        assert not torch.compiler.is_compiling()
        return x.tolist()[0]

    def f(x):
        y = x + 1
        k = apart(y)
        return y * k
    g = torch.compile(f, backend=backend)
    for v in (1., 2., 1.):
        assert torch.equal(g(torch.full((2,), v)), f(torch.full((2,), v)))
    assert backend.graphs[:2] == [["add"], ["mul"]]


def test_functions_made_anew_share_graphs():
    """A lambda is another object each time; its code and what its cells hold are what counts."""
    backend = Listing()

    @torch.compile(backend=backend)
    def apply(f, x):
        return f(x) + 1

    def call(k, x):
        return apply(lambda y: y * k, x)
    x = torch.ones(2)
    for k, graphs in ((2, 1), (2, 1), (3, 2), (2, 2), (torch.full((2,), 5.), 3), (torch.full((2,), 7.), 3)):
        assert torch.equal(call(k, x), x * k + 1) and len(backend.graphs) == graphs

    def told(y, k=3):
        return y * k
    assert apply(told, x).tolist() == [4, 4]
    told.__defaults__ = (4,)
    assert apply(told, x).tolist() == [5, 5]

    def outer(x):
        scale = 2

        def inner(y):
            return y * scale
        y = inner(x)
        print(end="")
        return inner(y)
    backend.graphs.clear()
    f = torch.compile(outer, backend=backend)
    for _ in range(4):
        assert torch.equal(f(x), outer(x))
    assert backend.graphs == [["mul"], ["mul"]]


def test_many_modules_in_a_loop():
    """Each is another constant to the rest of the function that calls it."""
    backend = Listing()
    m = nn.Sequential(*(Noisy(4) for _ in range(20)))
    f = torch.compile(m, backend=backend)
    x = torch.ones(2, 4)
    with torch.no_grad():
        f(x)
        assert sum("linear" in g for g in backend.graphs) == 20
        before = [n.calls for n in m]
        wanted = f(x)
        for n, k in zip(m, before):
            n.calls = k
        assert torch.equal(m(x), wanted)
