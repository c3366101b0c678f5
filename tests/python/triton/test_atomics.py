"""Atomic changes of memory: every lane, once, in order where the type is a float."""
import numpy as np
import pytest
import torch
import triton
import triton.language as tl


@triton.jit
def atomic_kernel(p, old, F: tl.constexpr):
    i = tl.program_id(0) * 64 + tl.arange(0, 64)
    at = p + i % 8
    if F == "add":
        tl.atomic_add(at, i, mask=i % 3 != 0)
    elif F == "max":
        tl.atomic_max(at, i)
    elif F == "min":
        tl.atomic_min(at, -i)
    elif F == "or":
        tl.atomic_or(at, 1 << (i % 30))
    elif F == "and":
        tl.atomic_and(at, i)
    elif F == "xor":
        tl.atomic_xor(at, i)
    else:
        tl.store(old + i, tl.atomic_xchg(p + i, i))


@pytest.mark.parametrize("f", ["add", "max", "min", "or", "and", "xor", "xchg"])
def test_integer_atomics(f):
    n = 64 * 300
    p = torch.full((n,), 12345, dtype=torch.int32)
    old = torch.empty(n, dtype=torch.int32)
    kernel = atomic_kernel[(300,)](p, old, F=f)
    i = np.arange(n)
    want = np.full(n, 12345, dtype=np.int32)
    if f == "xchg":
        assert kernel.serial and (old == 12345).all() and np.array_equal(p.numpy(), i)
        return
    assert not kernel.serial
    values = {"add": np.where(i % 3 != 0, i, 0), "max": i, "min": -i, "or": 1 << (i % 30), "and": i, "xor": i}[f].astype(np.int32)
    {"add": np.add, "max": np.maximum, "min": np.minimum, "or": np.bitwise_or, "and": np.bitwise_and, "xor": np.bitwise_xor}[f].at(want, i % 8, values)
    assert np.array_equal(p.numpy(), want)


@triton.jit
def one_place_kernel(p, old, F: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    at = p + tl.zeros((B,), tl.int32)
    three = tl.full((B,), 3, tl.int32).to(p.dtype.element_ty)
    if F == 0:
        tl.store(old + i, tl.atomic_add(at, three))
    elif F == 1:
        tl.store(old + i, tl.atomic_add(at, i.to(p.dtype.element_ty)))
    elif F == 2:
        tl.store(old + i, tl.atomic_add(at, three, mask=tl.full((B,), 1, tl.int1)))
    elif F == 3:
        tl.store(old + i, tl.atomic_xchg(at, i.to(p.dtype.element_ty)))


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.float32, torch.float64, torch.float16])
@pytest.mark.parametrize("b", [1, 2, 8, 64])
@pytest.mark.parametrize("f", range(4))
def test_every_lane_changes_one_place(f, b, dtype):
    """Lanes of one address take their turns, also where they have one value and one mask."""
    p, old = torch.zeros(1, dtype=dtype), torch.empty(b, dtype=dtype)
    one_place_kernel[(1,)](p, old, F=f, B=b)
    steps = list(range(b)) if f in (1, 3) else [3] * b
    before = [sum(steps[:i]) for i in range(b + 1)] if f != 3 else [0, *steps]
    assert p.item() == before[-1]
    assert sorted(old.tolist()) == sorted(before[:-1])


@triton.jit
def float_atomic_kernel(p, x):
    tl.atomic_add(p, tl.sum(tl.load(x + tl.program_id(0) * 64 + tl.arange(0, 64)), 0))


def test_float_atomics_run_in_order():
    x = torch.randn(64 * 500)
    results = set()
    for threads in (1, 2, 3):
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        p = torch.zeros(1)
        assert float_atomic_kernel[(500,)](p, x).serial
        torch.set_num_threads(before)
        results.add(p.item())
    assert len(results) == 1 and abs(results.pop() - x.double().sum().item()) < 1e-2
