"""What is kept for later has a bound, and what a program lets go is gone: entries are counted."""
import gc
import importlib.util
import linecache
import weakref

import pytest
import torch
import triton
import triton.language as tl
from torch._dynamo import eval_frame, resume


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def made_function(i):
    names = {"torch": torch}
    exec(f"def f{i}(x):\n  return torch.tanh(x) * {i} + 1", names)
    return names[f"f{i}"]


def pages_of_code():
    """Pages that are executable and come from no file; each piece of machine code has its own."""
    gc.collect()
    pages = 0
    with open("/proc/self/maps") as f:
        for line in f:
            where, *rest = line.split()
            if rest == ["r-xp", "00000000", "00:00", "0"]:
                lo, hi = (int(x, 16) for x in where.split("-"))
                pages += (hi - lo) // 4096
    return pages


def test_code_objects_that_were_listed():
    for i in range(resume.MOST_LISTED + 50):
        assert resume.listed(made_function(i).__code__).instructions
    assert resume.listed.cache_info().currsize <= resume.MOST_LISTED


def test_functions_that_are_dropped():
    x, alive = torch.ones(3), []
    for i in range(20):
        f = made_function(i)
        assert torch.compile(f, backend="eager")(x).tolist() == f(x).tolist()
        alive.append(weakref.ref(f))
        del f
    resume.listed.cache_clear()
    gc.collect()
    assert len(eval_frame._counts()) == 0 and len(eval_frame._registry()) == 0
    assert sum(r() is not None for r in alive) == 0


def test_a_code_object_is_counted_while_it_lives():
    make = lambda i: lambda x: x + i   # noqa: E731
    fs = [make(i) for i in range(5)]
    for i, f in enumerate(fs):
        torch.compile(f, backend="eager")(torch.ones(2))
        assert list(eval_frame._counts().values()) == [i + 1]


def test_sources_of_generated_modules():
    def count():
        gc.collect()
        return sum(k.startswith("<eval_with_key>") for k in linecache.cache)
    before = count()
    held = torch.fx.symbolic_trace(lambda x: x + 1)
    for i in range(20):
        torch.fx.symbolic_trace(lambda x: x * i)
    assert count() == before + 1
    assert any("add" in line for line in linecache.getlines(held.forward.__code__.co_filename))


def test_graphs_by_numbers(monkeypatch):
    x = torch.arange(4.0)
    g = torch._inductor.compile(lambda x, n: x * n + 1, [x, 2])
    monkeypatch.setattr(type(g), "most", 5)
    for n in [*range(20), *range(20)]:
        assert torch.equal(g(x, n), x * n + 1)
    assert len(g._made) == 5


def test_forms_of_a_function(monkeypatch):
    from torch._functorch import aot_autograd
    monkeypatch.setattr(aot_autograd, "MOST_FORMS", 4)
    traced = []

    def compiler(gm, examples):
        traced.append(tuple(examples[0].shape))
        return gm.forward
    run = aot_autograd.aot_function(lambda x: (x * 2).sum(), compiler)
    cache = dict(zip(run.__code__.co_freevars, run.__closure__))["cache"].cell_contents
    for n in range(1, 10):
        assert run(torch.ones(n)).item() == 2 * n
    assert len(cache) == 4
    for n in range(6, 10):
        run(torch.ones(n))
    assert len(traced) == 9   # the newest ones are known
    run(torch.ones(1))
    assert len(traced) == 10


def test_machine_code_of_triton_kernels(tmp_path):
    """A kernel's code goes with the kernel, and the tensors of the call that made it are not kept."""
    def load(i):
        path = tmp_path / f"k{i}.py"
        path.write_text("import triton\nimport triton.language as tl\n@triton.jit\ndef k(a, n, B: tl.constexpr):\n"
                        f"  i = tl.arange(0, B)\n  tl.device_assert(i >= 0)\n  tl.store(a + i, i * {i + 3}, mask=i < n)\n")
        spec = importlib.util.spec_from_file_location(f"k{i}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.k
    before = pages_of_code()
    kernels = [load(i) for i in range(8)]
    for i, k in enumerate(kernels):
        a = torch.empty(8)
        seen = weakref.ref(a)
        made = k[(1,)](a, 8, B=8)
        assert a.tolist() == [j * (i + 3) for j in range(8)]
        del a
        gc.collect()
        assert seen() is None
    assert pages_of_code() >= before + 8
    made[(1,)](torch.empty(8), 8)   # the last one by itself
    del kernels, k, made
    assert pages_of_code() == before


@triton.jit
def nothing(a, B: tl.constexpr):
    tl.store(a, B)


def test_kernels_of_one_function_have_a_bound():
    """TritonCache alone: entries with other constants each time."""
    class Kernel:
        pass
    cache = torch._C.TritonCache(("n",), (torch._C.TritonCache,), b"\x01", print)
    capsule = nothing[(1,)](torch.zeros(1), B=1).capsule
    alive = []
    for i in range(1100):
        k = Kernel()
        alive.append(weakref.ref(k))
        cache.add((i,), capsule, k)
        del k
    gc.collect()
    assert sum(r() is not None for r in alive) == 1024
    assert cache.find((1099,)) is alive[1099]()
