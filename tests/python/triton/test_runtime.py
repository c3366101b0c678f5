"""Launches, caching, autotuning, errors, messages and the interpreter."""
import os
import re
import subprocess
import sys
import threading
import time

import pytest
import torch
import triton
import triton.language as tl
from triton.compiler.errors import CompilationError, CompileTimeAssertionFailure, UnsupportedLanguageConstruct

FACTOR = tl.constexpr(3)
NUMBER = 4


@triton.jit
def scale_kernel(x, out, n, factor, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * factor, mask=i < n)


def test_arguments_by_value():
    x = torch.arange(10, dtype=torch.float32)
    for factor in (1, 2, 2.5, True, 1 << 40):
        out = torch.zeros_like(x)
        scale_kernel[(1,)](x, out, 10, factor, BLOCK=16)
        assert torch.equal(out, x * float(factor))
    with pytest.raises(TypeError, match="argument factor of|kernel argument factor"):
        scale_kernel[(1,)](x, x, 10, "two", BLOCK=16)
    with pytest.raises(TypeError, match="missing a required argument: 'factor'"):
        scale_kernel[(1,)](x, x, 10, BLOCK=16)
    with pytest.raises(TypeError, match="BLOCKS"):
        scale_kernel[(1,)](x, x, 10, 2, BLOCK=16, BLOCKS=16)
    with pytest.raises(ValueError, match="meta"):
        scale_kernel[(1,)](x.to("meta"), x, 10, 2, BLOCK=16)
    with pytest.raises(RuntimeError, match=r"scale_kernel\[grid\]"):
        scale_kernel(x, x, 10, 2, 16)
    with pytest.raises(RuntimeError, match="outside @triton.jit"):
        tl.arange(0, 4)


def test_grids():
    x = torch.ones(64)
    for grid in [(4,), (2, 1, 1), [4], 4, lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),)]:
        out = torch.zeros(64)
        scale_kernel[grid](x, out, 64, 2.0, BLOCK=16)
        assert out.sum() == (64 if grid == (2, 1, 1) else 128)
    scale_kernel[(0,)](x, out, 64, 5.0, BLOCK=16)
    assert out.max() == 2
    for bad in [(), (1, 1, 1, 1), (-1,)]:
        with pytest.raises(ValueError, match="grid"):
            scale_kernel[bad](x, out, 64, 2.0, BLOCK=16)


@triton.jit
def grid_kernel(out):
    at = tl.program_id(0) + tl.num_programs(0) * (tl.program_id(1) + tl.num_programs(1) * tl.program_id(2))
    tl.store(out + at, tl.program_id(0) + 100 * tl.program_id(1) + 10000 * tl.program_id(2))


def test_program_ids():
    out = torch.zeros(3, 4, 5, dtype=torch.int32)
    grid_kernel[(5, 4, 3)](out)
    i, j, k = torch.meshgrid(torch.arange(3), torch.arange(4), torch.arange(5), indexing="ij")
    assert torch.equal(out, (k + 100 * j + 10000 * i).int())


def test_one_kernel_for_each_kind_of_arguments():
    @triton.jit
    def kernel(x, n, y, BLOCK: tl.constexpr):
        tl.store(x + tl.arange(0, BLOCK), n)

    x = torch.zeros(16)
    a = kernel[(1,)](x, 5, None, BLOCK=16)
    assert kernel[(1,)](x, 77, None, BLOCK=16) is a
    assert kernel[(1,)](x, 1, None, BLOCK=16) is not a and x[0] == 1
    assert kernel[(1,)](x, 5, None, BLOCK=8) is not a
    assert kernel[(1,)](x.double(), 5, None, BLOCK=16) is not a
    assert kernel[(1,)](x, 5, x, BLOCK=16) is not a
    warm = kernel.warmup(x, 5, None, BLOCK=16, grid=(1,))
    assert warm is a and warm.n_regs > 0 and warm.metadata.shared >= 0 and "store" in warm.asm["ttir"]
    x.zero_()
    warm[(1,)](x, 9, None)
    assert x[3] == 9
    kernel.warmup(torch.float32, 5, None, BLOCK=32, grid=(1,))


def test_a_cached_launch_is_cheap():
    x = torch.zeros(8)
    launch = scale_kernel[(1,)]
    launch(x, x, 8, 2.0, BLOCK=8)
    best = float("inf")
    for _ in range(20):
        start = time.perf_counter()
        for _ in range(100):
            launch(x, x, 8, 2.0, BLOCK=8)
        best = min(best, (time.perf_counter() - start) / 100)
    assert best < 10e-6


@triton.jit
def bad_types(x):
    a = tl.load(x + tl.arange(0, 8))
    b = a & 3
    tl.store(x, b)


@triton.jit
def bad_shapes(x):
    a = tl.arange(0, 8)
    b = tl.arange(0, 16)
    tl.store(x + a, a + b)


@triton.jit
def bad_mask(x):
    i = tl.arange(0, 8)
    v = tl.load(x + i, mask=i)
    tl.store(x + i, v)


@triton.jit
def bad_range(x):
    tl.store(x + tl.arange(0, 12), 1)


@triton.jit
def bad_carry(x, n):
    total = 0
    for i in range(n):
        total = total + 0.5
    tl.store(x, total)


@triton.jit
def bad_branch(x, n):
    if n > 3:
        v = 1
    else:
        v = 2.5
    tl.store(x, v)


@triton.jit
def bad_global(x):
    tl.store(x, NUMBER)


@triton.jit
def bad_name(x):
    tl.store(x, nowhere)  # noqa: F821


@triton.jit
def bad_inner(x):
    return bad_types(x)


@triton.jit
def bad_arguments(x):
    tl.store(x)


@triton.jit
def bad_pointer(x):
    tl.load(tl.arange(0, 4))


@triton.jit
def bad_store(x):
    tl.store(x, tl.arange(0, 4))


@triton.jit
def bad_gather(x):
    i = tl.arange(0, 4)
    tl.store(x + i, tl.gather(i[:, None] + i[None, :], i, 0))


@triton.jit
def bad_assertion(x, N: tl.constexpr):
    tl.static_assert(N == 2, "N must be two")


@triton.jit
def bad_return(x, n):
    for i in range(n):
        if i == 3:
            return i


@pytest.mark.parametrize("kernel, line, column, words", [
    (bad_types, 2, 8, "integers.*fp32"), (bad_shapes, 3, 20, r"\[8\].*\[16\]|8 and 16"), (bad_mask, 2, 8, "int1.*int32"),
    (bad_range, 1, 17, "power of two"), (bad_carry, 2, 4, "total.*int32.*fp32"), (bad_branch, 1, 4, "v has type int32.*fp32"),
    (bad_global, 1, 16, "NUMBER.*constexpr"), (bad_name, 1, 16, "nowhere"), (bad_arguments, 1, 4, "value"), (bad_pointer, 1, 4, "pointer.*int32"),
    (bad_store, 1, 4, r"\[4\], int32.*pointer<fp32>"), (bad_gather, 2, 20, r"\[4\].*\[4, 4\]")])
def test_errors_name_the_place_and_the_types(kernel, line, column, words):
    with pytest.raises(CompilationError) as e:
        kernel.warmup(torch.zeros(16), **({"n": 5} if "n" in kernel.arg_names else {}), grid=(1,))
    text = str(e.value)
    first = kernel.fn.__code__.co_firstlineno + 1
    place = re.search(r"at (.*?):(\d+):(\d+), in (\w+)", text)
    assert place and os.path.samefile(place[1], __file__) and int(place[2]) == first + line and int(place[3]) == column and place[4] == kernel.__name__
    assert re.search(words, text, re.S), text


def test_errors_in_called_functions():
    with pytest.raises(CompilationError, match=r"(?s)in bad_types.*called from .*in bad_inner"):
        bad_inner.warmup(torch.zeros(16), grid=(1,))
    with pytest.raises(CompileTimeAssertionFailure, match="N must be two"):
        bad_assertion.warmup(torch.zeros(1), N=3, grid=(1,))
    with pytest.raises(UnsupportedLanguageConstruct, match="return"):
        bad_return.warmup(torch.zeros(1), 5, grid=(1,))


@triton.jit
def global_kernel(x):
    tl.store(x, FACTOR)


def test_constexpr_globals():
    x = torch.zeros(1)
    global_kernel[(1,)](x)
    assert x.item() == 3


def test_a_constant_that_changes_is_told(monkeypatch):
    """Its old value is part of the code."""
    number = tl.constexpr(3)

    @triton.jit
    def local_kernel(x):
        tl.store(x, number)
    x = torch.zeros(1)
    for kernel in (local_kernel, global_kernel):
        kernel[(1,)](x)
        kernel[(1,)](x)
        assert x.item() == 3
    monkeypatch.setitem(globals(), "FACTOR", tl.constexpr(3))   # an equal one
    global_kernel[(1,)](x)
    number = tl.constexpr(4)
    monkeypatch.setitem(globals(), "FACTOR", tl.constexpr(3.0))
    for kernel in (local_kernel, global_kernel):
        for launch in (lambda: kernel[(1,)](x), lambda: kernel.warmup(x, grid=(1,)), lambda: kernel.run(x, grid=(1,))):
            with pytest.raises(RuntimeError, match="was compiled with .* = 3"):
                launch()
    local_kernel.device_caches_clear()
    local_kernel[(1,)](x)
    assert x.item() == 4


def test_autotune_and_heuristics():
    calls = []

    @triton.autotune(configs=[triton.Config({"BLOCK": b}, num_warps=w) for b, w in ((16, 1), (64, 2), (256, 4))], key=["n"],
                     reset_to_zero=["count"], pre_hook=lambda args, reset_only=False: calls.append(reset_only))
    @triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
    @triton.jit
    def kernel(x, count, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        if EVEN:
            v = tl.load(x + i)
        else:
            v = tl.load(x + i, mask=i < n, other=0)
        tl.atomic_add(count, tl.sum(v, 0))

    for n in (512, 500):
        x, count = torch.ones(n, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
        kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, count, n)
        assert count.item() == n and kernel.best_config.kwargs["BLOCK"] in (16, 64, 256)
    assert len(kernel.cache) == 2 and calls
    before = len(calls)
    kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, count, n)
    assert count.item() == 1000 and len(calls) == before
    with pytest.raises(ValueError, match="BLOCK"):
        kernel[(1,)](x, count, 7, BLOCK=16)


@triton.jit
def saying_kernel(x, n):
    tl.device_print("value: ", tl.load(x + tl.arange(0, 2)))
    tl.device_assert(tl.load(x) < n, "x is too great")


def test_messages(capfd):
    x = torch.tensor([3., 4.])
    saying_kernel[(2,)](x, 1)
    out = capfd.readouterr().out
    assert "pid (0, 0, 0) idx (0) value: 3.0" in out and "pid (1, 0, 0) idx (1) value: 4.0" in out

    checked = triton.jit(debug=True)(saying_kernel.fn)
    checked[(1,)](x, 5)
    with pytest.raises(RuntimeError, match=r"x is too great \(.*test_runtime.py:\d+\).*pid \(0, 0, 0\)"):
        checked[(1,)](x, 2)


@triton.jit(debug=True)
def first_kernel(x, n):
    i = tl.program_id(0)
    tl.device_assert(tl.load(x + i) < n, "first requirement")


@triton.jit(debug=True)
def second_kernel(x, n):
    i = tl.program_id(0)
    tl.device_assert(tl.load(x + i) > n, "second requirement")


def test_launches_at_the_same_time_tell_their_own_failures():
    x = torch.arange(60000.)
    wrong = []

    def launches(kernel, n, want):
        for _ in range(20):
            try:
                kernel[(60000,)](x, n)
                wrong.append("nothing failed")
            except RuntimeError as e:   # of the first program in the grid's order, however programs are shared among threads
                if want not in str(e):
                    wrong.append(str(e))

    threads = [threading.Thread(target=launches, args=a) for a in
               ((first_kernel, 59000, "first requirement"), (second_kernel, 17, "second requirement")) * 2]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []
    with pytest.raises(RuntimeError, match=r"first requirement .*pid \(59000, 0, 0\)"):
        first_kernel[(60000,)](x, 59000)
    with pytest.raises(RuntimeError, match=r"second requirement .*pid \(0, 0, 0\)"):
        second_kernel[(60000,)](x, 17)


def test_device_facts():
    active = triton.runtime.driver.active
    assert active.get_active_torch_device() == torch.device("cpu")
    target = active.get_current_target()
    assert target.backend == "cpu" and target.warp_size == 1
    p = active.utils.get_device_properties(active.get_current_device())
    assert p["multiprocessor_count"] == torch.get_num_threads() and p["max_shared_mem"] >= 1 << 16 and p["max_num_regs"] >= 256
    assert triton.cdiv(7, 2) == 4 and triton.next_power_of_2(17) == 32 and triton.next_power_of_2(1) == 1


def test_do_bench():
    ms = triton.testing.do_bench(lambda: time.sleep(0.002), warmup=2, rep=20)
    assert 1.9 < ms < 50
    low, mid, high = triton.testing.do_bench(lambda: time.sleep(0.001), warmup=2, rep=20, quantiles=[0.2, 0.5, 0.8])
    assert low <= mid <= high
    seen = []

    @triton.testing.perf_report(triton.testing.Benchmark(x_names=["n"], x_vals=[1, 2], line_arg="who", line_vals=["a", "b"], line_names=["A", "B"],
                                                         plot_name="", args={"k": 5}))
    def bench(n, who, k):
        seen.append((n, who, k))
        return float(n)

    bench.run(print_data=True)
    assert seen == [(1, "a", 5), (1, "b", 5), (2, "a", 5), (2, "b", 5)]


def test_results_do_not_depend_on_threads():
    x = torch.randn(100_000)
    outs = []
    before = torch.get_num_threads()
    for threads in (1, 2, 4):
        torch.set_num_threads(threads)
        out = torch.empty_like(x)
        scale_kernel[(triton.cdiv(100_000, 128),)](x, out, 100_000, 1.7, BLOCK=128)
        outs.append(out)
    torch.set_num_threads(before)
    assert torch.equal(outs[0], outs[1]) and torch.equal(outs[0], outs[2])


def test_interpreted_kernels_give_the_bits_of_machine_code():
    """The tests of the language again, on the tile interpreter."""
    here = os.path.dirname(__file__)
    chosen = ["test_language.py::test_unary_gives_eager_bits", "test_language.py::test_shapes", "test_language.py::test_control_flow",
              "test_language.py::test_tiles_through_loops_and_branches", "test_language.py::test_combining_functions", "test_language.py::test_histogram",
              "test_language.py::test_loads_come_before_later_stores", "test_language.py::test_descriptors", "test_language.py::test_casts"]
    r = subprocess.run([sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *(os.path.join(here, c) for c in chosen)],
                       env={**os.environ, "TRITON_INTERPRET": "1"}, capture_output=True, text=True, cwd=os.path.join(here, "..", "..", ".."))
    assert r.returncode == 0, r.stdout[-2000:]


def test_a_compiled_kernel_takes_what_it_was_compiled_for():
    x, out = torch.ones(16), torch.zeros(16)
    warm = scale_kernel.warmup(x, out, 16, 2.0, BLOCK=16, grid=(1,))
    warm[(1,)](x, out, 16, 3.0, 16)
    assert out.tolist() == [3.0] * 16
    with pytest.raises(TypeError, match="float64"):
        warm[(1,)](x.double(), out, 16, 3.0, 16)
    with pytest.raises(TypeError, match="compiled for other types"):
        warm[(1,)](x, out, 1, 3.0, 16)   # 1 is compiled in where it is given


@triton.jit
def doubling_kernel(x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)


def test_hooks_before_a_launch():
    seen, x = [], torch.ones(8)
    first = doubling_kernel[(1,)](x, 5, BLOCK=8)
    doubling_kernel.add_pre_run_hook(lambda *args, **kwargs: seen.append((len(args), kwargs)))
    second = doubling_kernel[(1,)](x, 5, BLOCK=8)
    assert doubling_kernel[(1,)](x, 5, BLOCK=8) is second   # compiled once more at most, not at each launch
    assert seen == [(2, {"BLOCK": 8})] * 2 and x.tolist() == [8] * 5 + [1] * 3
    doubling_kernel.pre_run_hooks.clear()
    third = doubling_kernel[(1,)](x, 5, BLOCK=8)
    assert doubling_kernel[(1,)](x, 5, BLOCK=8) is third and first is not None and len(seen) == 2


def test_a_kernel_compiled_for_small_tensors_takes_large_ones():
    kernel = doubling_kernel.warmup(torch.float32, 5, BLOCK=8, grid=(1,))
    x = torch.ones(5 << 20)
    kernel[(1,)](x, 5, 8)
    doubling_kernel[(1,)](x, 5, BLOCK=8)
    assert x[:8].tolist() == [4] * 5 + [1] * 3
