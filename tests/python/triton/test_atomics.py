"""Atomics: one change of memory for each lane, whatever the lanes have in common; old values in the order of the lanes."""
import numpy as np
import pytest
import torch
import triton
import triton.language as tl

KINDS = ["add", "max", "min", "and", "or", "xor", "xchg", "cas"]
INTEGERS = [torch.int32, torch.int64, torch.uint32, torch.uint64]
FLOATS = [torch.float32, torch.float64]
HALVES = [torch.float16, torch.bfloat16]


@triton.jit
def change(p, v, c, m, KIND: tl.constexpr):
    if KIND == "add":
        r = tl.atomic_add(p, v, mask=m)
    elif KIND == "max":
        r = tl.atomic_max(p, v, mask=m)
    elif KIND == "min":
        r = tl.atomic_min(p, v, mask=m)
    elif KIND == "and":
        r = tl.atomic_and(p, v, mask=m)
    elif KIND == "or":
        r = tl.atomic_or(p, v, mask=m)
    elif KIND == "xor":
        r = tl.atomic_xor(p, v, mask=m)
    elif KIND == "xchg":
        r = tl.atomic_xchg(p, v, mask=m)
    else:
        r = tl.atomic_cas(p, c, v)
    return r


@triton.jit
def one_address_kernel(memory, values, expected, old, KIND: tl.constexpr, B: tl.constexpr, VALUES: tl.constexpr, MASK: tl.constexpr, KEEP: tl.constexpr):
    i = tl.arange(0, B)
    p = memory + tl.zeros((B,), tl.int32)
    if VALUES == "tile":
        v = tl.load(values + i)
        c = tl.load(expected + i)
    elif VALUES == "full":
        v = tl.full((B,), tl.load(values), memory.dtype.element_ty)
        c = tl.full((B,), tl.load(expected), memory.dtype.element_ty)
    else:
        v = tl.load(values)
        c = tl.load(expected)
    if MASK == "none":
        m = tl.full((B,), 1, tl.int1)
    elif MASK == "off":
        m = tl.full((B,), 0, tl.int1)
    else:
        m = i % 3 == 0
    r = change(p, v, c, m, KIND)
    if KEEP:
        tl.store(old + i, r, mask=m)


def by_lanes(kind, start, values, expected, mask):
    """What each lane in turn makes of one element, and what it found; numpy's arithmetic."""
    now, found = start, []
    with np.errstate(over="ignore"):
        for v, c, m in zip(values, expected, mask):
            found.append(now)
            if not m:
                continue
            now = {"add": lambda: now + v, "max": lambda: max(now, v), "min": lambda: min(now, v), "and": lambda: now & v, "or": lambda: now | v,
                   "xor": lambda: now ^ v, "xchg": lambda: v, "cas": lambda: v if now == c else now}[kind]()
    return now, found


@pytest.mark.parametrize("mask", ["none", "off", "thirds"])
@pytest.mark.parametrize("values", ["tile", "full", "scalar"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", INTEGERS + FLOATS)
def test_every_lane_changes_the_one_address(dtype, kind, values, mask):
    if kind in ("and", "or", "xor") and dtype in FLOATS:
        pytest.skip("operators of bits take integers")
    if kind == "cas" and mask != "none":
        pytest.skip("atomic_cas has no mask")
    B = 64
    numbers = (np.arange(B) * 37 % 11 + 1).astype(str(dtype).split(".")[1])
    expected = (np.arange(B) * 5 % 7 + 1).astype(numbers.dtype)
    if values != "tile":
        numbers[:], expected[:] = 3, 2
    on = {"none": np.ones(B, bool), "off": np.zeros(B, bool), "thirds": np.arange(B) % 3 == 0}[mask]
    now, found = by_lanes(kind, numbers.dtype.type(2), numbers, expected, on)
    for keep in (True, False):
        memory = torch.from_numpy(np.array([2, 77], numbers.dtype))
        old = torch.from_numpy(np.full(B, 99, numbers.dtype))
        one_address_kernel[(1,)](memory, torch.from_numpy(numbers), torch.from_numpy(expected), old, kind, B, values, mask, keep)
        assert memory.tolist() == [now, 77]
        assert old.tolist() == [f if m and keep else 99 for f, m in zip(found, on)]


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("kind", ["add", "max", "min", "xchg"])
def test_every_lane_of_half_types(dtype, kind):
    B = 32
    values = (torch.arange(B) * 7 % 5 + 1).to(dtype)
    now, found = by_lanes(kind, 2.0, values.tolist(), values.tolist(), [True] * B)
    memory, old = torch.tensor([2.0, 77.0], dtype=dtype), torch.zeros(B, dtype=dtype)
    one_address_kernel[(1,)](memory, values, values, old, kind, B, "tile", "none", True)
    assert memory.tolist() == [now, 77.0]   # whole numbers below 256: exact in both types
    assert old.tolist() == found


@triton.jit
def counted_kernel(memory, B: tl.constexpr):
    tl.atomic_add(memory + tl.zeros((B,), tl.int32), tl.full((B,), 3, tl.int32))


@pytest.mark.parametrize("block", [1, 2, 4, 8, 16, 64, 1024])
def test_number_of_changes(block):
    memory = torch.zeros(1, dtype=torch.int32)
    counted_kernel[(5,)](memory, block)
    assert memory.item() == 5 * 3 * block


@triton.jit
def rows_kernel(memory, M: tl.constexpr, N: tl.constexpr):
    row = tl.broadcast_to(memory + tl.arange(0, M)[:, None], (M, N))
    tl.atomic_add(row, 1)
    column = tl.broadcast_to(memory + M + tl.arange(0, N)[None, :], (M, N))
    tl.atomic_add(column, 1)


def test_addresses_alike_along_one_dimension():
    memory = torch.zeros(4 + 32, dtype=torch.int32)
    rows_kernel[(1,)](memory, 4, 32)
    assert memory.tolist() == [32] * 4 + [4] * 32


@triton.jit
def scalar_pointer_kernel(memory, old):
    r = tl.atomic_add(memory, 5)
    tl.store(old + tl.program_id(0), r)


def test_scalar_pointer_changes_once():
    memory, old = torch.zeros(1, dtype=torch.int32), torch.zeros(3, dtype=torch.int32)
    scalar_pointer_kernel[(3,)](memory, old)
    assert memory.item() == 15 and old.tolist() == [0, 5, 10]


@triton.jit
def compaction_kernel(x, kept, count, n, B: tl.constexpr, IN_LOOP: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0)
    keep = v > 0
    at = 0
    if IN_LOOP:
        for _ in range(1):
            at = tl.atomic_add(count, tl.sum(keep.to(tl.int32)))
    else:
        at = tl.atomic_add(count, tl.sum(keep.to(tl.int32)))
    tl.store(kept + at + tl.cumsum(keep.to(tl.int32)) - 1, v, mask=keep)


@pytest.mark.parametrize("in_loop", [False, True])
def test_places_given_out_by_an_atomic_are_in_the_order_of_the_programs(in_loop):
    x = torch.randint(-100, 100, (100000,), generator=torch.Generator().manual_seed(0))
    threads = torch.get_num_threads()
    try:
        for n in (1, 4):
            torch.set_num_threads(n)
            kept, count = torch.zeros_like(x), torch.zeros(1, dtype=torch.int32)
            kernel = compaction_kernel[(triton.cdiv(100000, 64),)](x, kept, count, 100000, 64, in_loop)
            assert kernel.serial
            assert torch.equal(kept[:count.item()], x[x > 0])
    finally:
        torch.set_num_threads(threads)
    assert not counted_kernel.warmup(torch.zeros(1, dtype=torch.int32), 8, grid=(1,)).serial   # nothing is found there


@triton.jit
def last_lane_kernel(memory, values, B: tl.constexpr, MASKED: tl.constexpr):
    i = tl.arange(0, B)
    p = memory + tl.zeros((B,), tl.int32)
    if MASKED:
        tl.store(p, tl.load(values + i), mask=i < B - 3)
    else:
        tl.store(p, tl.load(values + i))


@pytest.mark.parametrize("masked", [False, True])
def test_store_through_one_address_keeps_the_last_lane(masked):
    memory, values = torch.zeros(2), torch.arange(64.0)
    last_lane_kernel[(1,)](memory, values, 64, masked)
    assert memory.tolist() == [60.0 if masked else 63.0, 0.0]


@triton.jit
def plain_access_kernel(memory, out, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.atomic_store(memory + i, tl.load(out + i) * 2, mask=i < B - 1)
    tl.store(out + i, (memory + i).atomic_load(mask=i > 0, sem="relaxed"))


@pytest.mark.parametrize("dtype", [torch.int32, torch.float32, torch.float64])
def test_atomic_load_and_store(dtype):
    memory, out = torch.full((16,), 7, dtype=dtype), torch.arange(16).to(dtype)
    plain_access_kernel[(1,)](memory, out, 16)
    assert memory.tolist() == [2 * i for i in range(15)] + [7]
    assert out.tolist() == [0] + [2 * i for i in range(1, 15)] + [7]


def test_interpreted_is_the_same(monkeypatch):
    def bits():
        memory = torch.zeros(1, dtype=torch.float32)
        values = torch.linspace(-1, 1, 64)
        old = torch.zeros(64)
        one_address_kernel.device_caches_clear()
        one_address_kernel[(1,)](memory, values, values, old, "add", 64, "tile", "thirds", True)
        return memory.tolist() + old.tolist()
    compiled = bits()
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    assert bits() == compiled
    monkeypatch.delenv("TRITON_INTERPRET")
    one_address_kernel.device_caches_clear()


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
