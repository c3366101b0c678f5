"""The language, operator by operator, against torch or numpy."""
import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

FLOATS = [torch.float32, torch.float64]


def run(kernel, *args, grid=(1,), **kw):
    return kernel[grid](*args, **kw)


@triton.jit
def unary_kernel(x, out, N: tl.constexpr, F: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    if F == "neg":
        r = -v
    elif F == "abs":
        r = tl.abs(v)
    elif F == "tanh":
        r = libdevice.tanh(v)
    elif F == "log1p":
        r = libdevice.log1p(v)
    elif F == "expm1":
        r = libdevice.expm1(v)
    elif F == "exp":
        r = tl.exp(v)
    elif F == "exp2":
        r = tl.exp2(v)
    elif F == "log":
        r = tl.log(v)
    elif F == "log2":
        r = tl.log2(v)
    elif F == "sqrt":
        r = tl.sqrt(v)
    elif F == "rsqrt":
        r = tl.rsqrt(v)
    elif F == "sin":
        r = v.sin()
    elif F == "cos":
        r = tl.math.cos(v)
    elif F == "erf":
        r = tl.erf(v)
    elif F == "sigmoid":
        r = tl.sigmoid(v)
    elif F == "floor":
        r = tl.floor(v)
    else:
        r = tl.ceil(v)
    tl.store(out + i, r)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("f", "neg abs tanh log1p expm1 exp exp2 log log2 sqrt rsqrt sin cos erf sigmoid floor ceil".split())
def test_unary_gives_eager_bits(f, dtype):
    x = torch.randn(256, dtype=dtype) * 4
    if f in ("log", "log2", "sqrt", "rsqrt", "log1p"):
        x = x.abs() + 0.01
    out = torch.empty_like(x)
    run(unary_kernel, x, out, N=256, F=f)
    assert torch.equal(out, getattr(torch, f)(x))


@triton.jit
def binary_kernel(x, y, out, N: tl.constexpr, F: tl.constexpr):
    i = tl.arange(0, N)
    a, b = tl.load(x + i), tl.load(y + i)
    if F == "+":
        r = a + b
    elif F == "-":
        r = a - b
    elif F == "*":
        r = a * b
    elif F == "/":
        r = a / b
    elif F == "//":
        r = a // b
    elif F == "%":
        r = a % b
    elif F == "&":
        r = a & b
    elif F == "|":
        r = a | b
    elif F == "^":
        r = a ^ b
    elif F == "<<":
        r = a << b
    elif F == ">>":
        r = a >> b
    elif F == "max":
        r = tl.maximum(a, b)
    elif F == "min":
        r = tl.minimum(a, b)
    elif F == "<":
        r = a < b
    elif F == "==":
        r = a == b
    else:
        r = tl.where(a != b, a, b)
    tl.static_assert(F != "nothing")
    tl.store(out + i, r)


@pytest.mark.parametrize("a, b, result", [
    ("int8", "int8", "int8"), ("int8", "int32", "int32"), ("int32", "int64", "int64"), ("int32", "float16", "float16"), ("float16", "float32", "float32"),
    ("float16", "bfloat16", "float16"), ("int64", "bfloat16", "bfloat16"), ("float32", "float64", "float64"), ("uint8", "int8", "uint8"),
    ("uint8", "int32", "int32"), ("bool", "int32", "int32"), ("bfloat16", "bfloat16", "bfloat16")])
def test_promotion(a, b, result):
    types = []

    @triton.jit
    def kernel(x, y, out):
        r = tl.load(x) + tl.load(y)
        tl.static_assert(r.dtype == out.dtype.element_ty, f"{r.dtype}")
        tl.store(out, r)

    x, y = torch.ones(1, dtype=getattr(torch, a)), torch.ones(1, dtype=getattr(torch, b))
    out = torch.zeros(1, dtype=getattr(torch, result))
    kernel[(1,)](x, y, out)
    assert out.item() == 2
    assert not types


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64, np.uint8])
@pytest.mark.parametrize("f", ["+", "-", "*", "//", "%", "&", "|", "^", "<<", ">>", "max", "min", "<", "==", "where"])
def test_integers(f, dtype):
    rng = np.random.default_rng(0)
    info = np.iinfo(dtype)
    x, y = (rng.integers(info.min, info.max, 128, dtype=dtype, endpoint=True) for _ in range(2))
    if f in ("//", "%"):
        y[y == 0] = 3
        if info.min < 0:
            y[y == dtype(-1)] = 3
    if f in ("<<", ">>"):
        y = y % dtype(8)
        y[y < 0] += dtype(8)
    out = torch.zeros(128, dtype=torch.bool if f in ("<", "==") else torch.from_numpy(x).dtype)
    run(binary_kernel, torch.from_numpy(x), torch.from_numpy(y), out, N=128, F=f)
    a, b = x.astype(object), y.astype(object)
    quotient = [int(abs(p) // abs(q)) * (1 if (p < 0) == (q < 0) else -1) for p, q in zip(a, b)] if f in ("//", "%") else None
    want = {"+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b, "//": lambda: np.array(quotient, dtype=object),
            "%": lambda: a - b * np.array(quotient, dtype=object), "&": lambda: x & y, "|": lambda: x | y, "^": lambda: x ^ y, "<<": lambda: x << y,
            ">>": lambda: x >> y, "max": lambda: np.maximum(x, y), "min": lambda: np.minimum(x, y), "<": lambda: x < y, "==": lambda: x == y,
            "where": lambda: np.where(x != y, x, y)}[f]()
    if want.dtype == object:
        bits = info.bits
        want = np.array([(int(v) & (2 ** bits - 1)) - (2 ** bits if info.min < 0 and int(v) >> (bits - 1) & 1 else 0) for v in want]).astype(dtype)
    assert np.array_equal(out.numpy(), want)


@pytest.mark.parametrize("f", ["+", "-", "*", "/", "%", "max", "min", "<", "=="])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_floats(f, dtype):
    x, y = torch.randn(128).to(dtype), torch.randn(128).to(dtype)
    y[::7] = x[::7]
    half = dtype in (torch.float16, torch.bfloat16)
    want = {"+": torch.add, "-": torch.sub, "*": torch.mul, "/": lambda p, q: p.float() / q.float() if half else p / q,
            "%": lambda p, q: torch.fmod(p.float(), q.float()) if half else torch.fmod(p, q), "max": torch.maximum, "min": torch.minimum,
            "<": torch.lt, "==": torch.eq}[f](x, y)
    out = torch.zeros(128, dtype=want.dtype)
    run(binary_kernel, x, y, out, N=128, F=f)
    assert torch.equal(out, want)


@triton.jit
def maximum_kernel(x, y, a, b, KEEP: tl.constexpr):
    i = tl.arange(0, 4)
    p, q = tl.load(x + i), tl.load(y + i)
    if KEEP:
        tl.store(a + i, tl.maximum(p, q, propagate_nan=tl.PropagateNan.ALL))
        tl.store(b + i, tl.clamp(p, -1.0, 1.0, propagate_nan=tl.PropagateNan.ALL))
    else:
        tl.store(a + i, tl.maximum(p, q))
        tl.store(b + i, tl.clamp(p, -1.0, 1.0))


def test_nan():
    nan = float("nan")
    x, y = torch.tensor([1., nan, 3., nan]), torch.tensor([2., 2., nan, nan])
    a, b = torch.empty(4), torch.empty(4)
    run(maximum_kernel, x, y, a, b, KEEP=False)
    assert a[:3].tolist() == [2, 2, 3] and a[3].isnan() and b[[0, 2]].tolist() == [1, 1] and not b.isnan().any()
    run(maximum_kernel, x, y, a, b, KEEP=True)
    assert a[0] == 2 and a[1:].isnan().all() and b.isnan().tolist() == [False, True, False, True]


@triton.jit
def cast_kernel(x, out, N: tl.constexpr, BITS: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i).to(out.dtype.element_ty, bitcast=BITS))


ALL = [torch.bool, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.float16, torch.bfloat16, torch.float32, torch.float64]


@pytest.mark.parametrize("to", ALL)
@pytest.mark.parametrize("dtype", ALL)
def test_casts(dtype, to):
    x = torch.arange(0, 64).sub(0 if dtype in (torch.bool, torch.uint8) or to is torch.uint8 else 32).to(dtype)
    out = torch.empty(64, dtype=to)
    run(cast_kernel, x, out, N=64, BITS=False)
    assert torch.equal(out, x.to(to))


def test_bitcast():
    x = torch.randn(64)
    out = torch.empty(64, dtype=torch.int32)
    run(cast_kernel, x, out, N=64, BITS=True)
    assert torch.equal(out, x.view(torch.int32))


@triton.jit
def reduce_kernel(x, out, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr, F: tl.constexpr):
    v = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    if F == "sum":
        r = tl.sum(v, AXIS)
    elif F == "max":
        r = tl.max(v, axis=AXIS)
    elif F == "min":
        r = tl.min(v, axis=AXIS)
    elif F == "argmax":
        r = tl.argmax(v, AXIS)
    elif F == "argmin":
        r = tl.argmin(v, AXIS)
    else:
        r = tl.xor_sum(v, AXIS)
    if AXIS is None:
        tl.store(out, r)
    else:
        tl.store(out + tl.arange(0, M if AXIS == 1 else N), r)


@pytest.mark.parametrize("M, N", [(1, 1), (4, 8), (64, 32), (128, 2), (2, 8192), (8192, 2), (16, 256)])
@pytest.mark.parametrize("axis", [0, 1, None])
def test_sum_is_the_tree_of_eager(M, N, axis):
    x = torch.randn(M, N)
    want = x.sum() if axis is None else x.sum(axis)
    out = torch.empty(want.shape)
    run(reduce_kernel, x, out, M=M, N=N, AXIS=axis, F="sum")
    assert torch.equal(out, want)


@pytest.mark.parametrize("f", ["max", "min", "argmax", "argmin", "xor"])
@pytest.mark.parametrize("axis", [0, 1, None])
def test_reductions(f, axis):
    x = torch.randint(-50, 50, (64, 16), dtype=torch.int32)
    if f == "xor":
        flat = x.numpy()
        want = torch.tensor(np.bitwise_xor.reduce(flat, axis=axis if axis is not None else (0, 1)))
    else:
        want = getattr(np, f)(x.numpy(), axis=axis)   # the first of equals, as the language
        want = torch.tensor(want)
    out = torch.empty(want.shape, dtype=torch.int32)
    run(reduce_kernel, x, out, M=64, N=16, AXIS=axis, F=f)
    assert torch.equal(out, want.to(torch.int32))


@triton.jit
def product(a, b):
    return a * b


@triton.jit
def welford(m1, s1, n1, m2, s2, n2):
    d = m2 - m1
    n = n1 + n2
    w = tl.where(n == 0, 0.0, n2 / n)
    return m1 + d * w, s1 + s2 + d * d * n1 * w, n


@triton.jit
def custom_kernel(x, prod, mean, var, scan, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(prod, tl.reduce(v, 0, product))
    m, s, n = tl.reduce((v, tl.zeros_like(v), tl.full((N,), 1.0, tl.float32)), 0, welford)
    tl.store(mean, m)
    tl.store(var, s / n)
    tl.store(scan + i, tl.associative_scan(v, 0, product, reverse=True))


def test_combining_functions():
    x = torch.rand(64) + 0.5
    prod, mean, var, scan = torch.empty(1), torch.empty(1), torch.empty(1), torch.empty(64)
    run(custom_kernel, x, prod, mean, var, scan, N=64)
    torch.testing.assert_close(prod[0], x.prod())
    torch.testing.assert_close(mean[0], x.mean())
    torch.testing.assert_close(var[0], x.var(correction=0))
    torch.testing.assert_close(scan, x.flip(0).cumprod(0).flip(0))


@triton.jit
def scan_kernel(x, out, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr, REVERSE: tl.constexpr):
    offs = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + offs, tl.cumsum(tl.load(x + offs), AXIS, reverse=REVERSE))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("axis", [0, 1])
def test_cumsum(axis, reverse):
    x = torch.randn(16, 64)
    out = torch.empty_like(x)
    run(scan_kernel, x, out, M=16, N=64, AXIS=axis, REVERSE=reverse)
    want = x.flip(axis).cumsum(axis).flip(axis) if reverse else x.cumsum(axis)
    assert torch.equal(out, want)


@triton.jit
def shapes_kernel(x, out, F: tl.constexpr):
    i = tl.arange(0, 32)
    v = tl.load(x + i)
    if F == "reshape":
        r = tl.reshape(v, (4, 8)).trans().reshape(32)
    elif F == "permute":
        r = tl.ravel(tl.permute(v.reshape((2, 4, 4)), (2, 0, 1)))
    elif F == "flip":
        r = tl.flip(v)
    elif F == "flip2":
        r = tl.flip(v.reshape(8, 4), 0).reshape(32)
    elif F == "join":
        r = tl.join(tl.load(x + tl.arange(0, 16)), tl.load(x + 16 + tl.arange(0, 16))).reshape(32)
    elif F == "interleave":
        r = tl.interleave(tl.load(x + tl.arange(0, 16)), tl.load(x + 16 + tl.arange(0, 16)))
    elif F == "split":
        a, b = tl.split(v.reshape(16, 2))
        r = tl.cat(a, b)
    elif F == "broadcast":
        r = tl.broadcast_to(tl.load(x + tl.arange(0, 8))[None, :], (4, 8)).reshape(32)
    elif F == "gather":
        r = tl.gather(v, (i * 7) % 32, 0)
    elif F == "sort":
        r = tl.sort(v)
    elif F == "falling":
        r = tl.sort(v.reshape(4, 8), descending=True).reshape(32)
    else:
        r = tl.ravel(v.reshape(4, 8).T)
    tl.store(out + i, r)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.float16])
@pytest.mark.parametrize("f, want", [
    ("reshape", lambda x: x.reshape(4, 8).t().reshape(32)), ("permute", lambda x: x.reshape(2, 4, 4).permute(2, 0, 1).reshape(32)),
    ("flip", lambda x: x.flip(0)), ("flip2", lambda x: x.reshape(8, 4).flip(0).reshape(32)), ("join", lambda x: x.reshape(2, 16).t().reshape(32)),
    ("interleave", lambda x: x.reshape(2, 16).t().reshape(32)), ("split", lambda x: x.reshape(16, 2).t().reshape(32)),
    ("broadcast", lambda x: x[:8].expand(4, 8).reshape(32)), ("gather", lambda x: x[(torch.arange(32) * 7) % 32]), ("sort", lambda x: x.sort().values),
    ("falling", lambda x: x.reshape(4, 8).sort(descending=True).values.reshape(32)), ("T", lambda x: x.reshape(4, 8).t().reshape(32))])
def test_shapes(f, want, dtype):
    x = torch.randperm(32).to(dtype)
    out = torch.empty_like(x)
    run(shapes_kernel, x, out, F=f)
    assert torch.equal(out, want(x))


@triton.jit
def dot_kernel(x, y, z, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, OUT: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a = tl.load(x + m[:, None] * K + k[None, :])
    b = tl.load(y + k[:, None] * N + n[None, :])
    acc = tl.full((M, N), 1, OUT)
    acc += tl.dot(a, b, out_dtype=OUT)
    tl.store(z + m[:, None] * N + n[None, :], acc)


@pytest.mark.parametrize("M, N, K", [(16, 16, 16), (1, 64, 32), (64, 1, 8), (2, 2, 2), (128, 32, 64)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.int8])
def test_dot(dtype, M, N, K):
    if dtype is torch.int8:
        x, y, out = torch.randint(-9, 9, (M, K), dtype=dtype), torch.randint(-9, 9, (K, N), dtype=dtype), tl.int32
    else:
        x, y, out = torch.randn(M, K).to(dtype), torch.randn(K, N).to(dtype), tl.float64 if dtype is torch.float64 else tl.float32
    z = torch.empty(M, N, dtype={tl.int32: torch.int32, tl.float32: torch.float32, tl.float64: torch.float64}[out])
    run(dot_kernel, x, y, z, M=M, N=N, K=K, OUT=out)
    want = 1 + x.double() @ y.double()
    torch.testing.assert_close(z.double(), want, rtol=1e-5, atol=1e-4)


@triton.jit
def histogram_kernel(x, out, N: tl.constexpr, BINS: tl.constexpr):
    tl.store(out + tl.arange(0, BINS), tl.histogram(tl.load(x + tl.arange(0, N)), BINS))


def test_histogram():
    x = torch.randint(0, 16, (256,), dtype=torch.int32)
    out = torch.empty(16, dtype=torch.int32)
    run(histogram_kernel, x, out, N=256, BINS=16)
    assert torch.equal(out, torch.bincount(x, minlength=16).int())


@triton.jit
def flow_kernel(out, n, flag):
    total = 0
    for i in range(n):
        if i % 2 == 0:
            total += i
        elif i % 3 == 0:
            total += 100
    tl.store(out, total)
    k, steps = n, 0
    while k > 1:
        k = k // 2 if k % 2 == 0 else 3 * k + 1
        steps += 1
    tl.store(out + 1, steps)
    down = 0
    for i in range(n, 0, -2):
        down = down * 10 + i
    tl.store(out + 2, down)
    unrolled = 0
    for i in tl.static_range(4):
        unrolled += i * n
    tl.store(out + 3, unrolled)
    if flag:
        tl.store(out + 4, 1)
        return
    tl.store(out + 4, 2)


@pytest.mark.parametrize("flag", [True, False])
@pytest.mark.parametrize("n", [1, 2, 7, 9])
def test_control_flow(n, flag):
    out = torch.zeros(5, dtype=torch.int32)
    run(flow_kernel, out, n, flag)
    total = sum(i if i % 2 == 0 else 100 if i % 3 == 0 else 0 for i in range(n))
    k, steps, down = n, 0, 0
    while k > 1:
        k, steps = (k // 2 if k % 2 == 0 else 3 * k + 1), steps + 1
    for i in range(n, 0, -2):
        down = down * 10 + i
    assert out.tolist() == [total, steps, down, 6 * n, 1 if flag else 2]


@triton.jit
def clipped(x, low, high):
    if x < low:
        return low
    if x > high:
        return high
    return x


@triton.jit
def pair(x, y=3):
    return x + y, x * y


@triton.jit
def calls_kernel(out, a, b=5, C: tl.constexpr = 7):
    tl.store(out, clipped(a, 0, b))
    s, p = pair(a)
    tl.store(out + 1, s)
    tl.store(out + 2, p + C)
    t = (a, (b, C))
    tl.store(out + 3, t[1][0] + t[1][1])


def test_functions_defaults_and_tuples():
    for a in (-4, 2, 9):
        out = torch.zeros(4, dtype=torch.int32)
        run(calls_kernel, out, a)
        assert out.tolist() == [min(max(a, 0), 5), a + 3, a * 3 + 7, 12]
        run(calls_kernel, out, a, C=1, b=8)
        assert out.tolist() == [min(max(a, 0), 8), a + 3, a * 3 + 1, 9]


@triton.jit
def carried_tiles_kernel(x, out, N: tl.constexpr, ROUNDS):
    i = tl.arange(0, N)
    a, b = tl.load(x + i), tl.load(x + N + i)
    for _ in range(ROUNDS):
        a, b = b, a + b
    if ROUNDS > 3:
        a = a * 2
        c = tl.flip(b)
    else:
        c = b
    tl.store(out + i, a)
    tl.store(out + N + i, c)


@pytest.mark.parametrize("rounds", [0, 1, 5])
@pytest.mark.parametrize("n", [8, 64])
def test_tiles_through_loops_and_branches(n, rounds):
    x = torch.randint(0, 9, (2 * n,), dtype=torch.int64)
    out = torch.empty_like(x)
    run(carried_tiles_kernel, x, out, N=n, ROUNDS=rounds)
    a, b = x[:n], x[n:]
    for _ in range(rounds):
        a, b = b, a + b
    if rounds > 3:
        a, b = a * 2, b.flip(0)
    assert torch.equal(out, torch.cat([a, b]))


@triton.jit
def in_place_kernel(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    w = tl.load(y + i)
    tl.store(x + (N - 1 - i), v)
    tl.store(y + i, v + w + tl.load(x + i))


def test_loads_come_before_later_stores():
    x = torch.randn(256)
    y = torch.randn(256)
    a, b = x.clone(), y.clone()
    run(in_place_kernel, a, b, N=256)
    assert torch.equal(a, x.flip(0)) and torch.equal(b, x + y + x.flip(0))
    both = x.clone()   # the same memory twice
    run(in_place_kernel, both, both, N=256)
    assert torch.equal(both, x + x + x.flip(0))
    shifted = torch.cat([x, torch.zeros(1)])
    want = shifted.clone()

    @triton.jit
    def shift_kernel(a, b, N: tl.constexpr):
        i = tl.arange(0, N)
        tl.store(b + i, tl.load(a + i))

    shift_kernel[(1,)](shifted, shifted[1:], N=256)
    assert torch.equal(shifted[1:], want[:256])


def test_lanes_that_are_off_touch_no_memory():
    import ctypes
    import mmap
    page = mmap.PAGESIZE
    room = mmap.mmap(-1, 2 * page)
    address = ctypes.addressof(ctypes.c_char.from_buffer(room))
    ctypes.CDLL(None).mprotect(ctypes.c_void_p(address + page), page, 0)
    whole = torch.frombuffer(room, dtype=torch.float32, count=page // 4)

    @triton.jit
    def kernel(p, out, n, N: tl.constexpr, STEP: tl.constexpr):
        i = tl.arange(0, N)
        v = tl.load(p + i * STEP, mask=i < n, other=7.0)
        tl.store(out + i, v)
        tl.store(p + i * STEP, v + 1, mask=i < n)

    for dtype in (torch.float32, torch.int64, torch.float16, torch.int8):
        for step in (1, 3):
            for n in (1, 5, 13):
                for size in (16, 64):
                    tail = whole.view(dtype)[-(step * (n - 1) + 1):]
                    tail.fill_(2)
                    out = torch.zeros(size, dtype=dtype)
                    kernel[(1,)](tail, out, n, N=size, STEP=step)
                    assert out.tolist() == [2] * n + [7] * (size - n)
                    assert tail[::step].tolist() == [3] * n
    ctypes.CDLL(None).mprotect(ctypes.c_void_p(address + page), page, 3)


@triton.jit
def descriptor_kernel(x, out, M, N, BM: tl.constexpr, BN: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [M, N], [N, 1], [BM, BN])
    to = tl.make_tensor_descriptor(out, [M, N], [N, 1], [BM, BN])
    i, j = tl.program_id(0) * BM, tl.program_id(1) * BN
    to.store([i, j], source.load([i, j]) * 2)


def test_descriptors():
    x = torch.randn(37, 21)
    out = torch.zeros_like(x)
    descriptor_kernel[(3, 2)](x, out, 37, 21, BM=16, BN=16)
    assert torch.equal(out, 2 * x)


def philox(seed, offset):
    """Philox 4x32 with ten rounds, from the paper, in integers."""
    m = 0xffffffff
    c, k = [offset & m, offset >> 32 & m, 0, 0], [seed & m, seed >> 32 & m]
    for _ in range(10):
        p, q = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(q >> 32) ^ c[1] ^ k[0], q & m, (p >> 32) ^ c[3] ^ k[1], p & m]
        k = [(k[0] + 0x9E3779B9) & m, (k[1] + 0xBB67AE85) & m]
    return c


@triton.jit
def random_kernel(ints, floats, normals, seed, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b, c, d = tl.randint4x(seed, i)
    tl.store(ints + i, a)
    tl.store(ints + N + i, b)
    tl.store(ints + 2 * N + i, c)
    tl.store(ints + 3 * N + i, d)
    tl.store(floats + i, tl.rand(seed, i))
    tl.store(normals + i, tl.randn(seed, i))


@pytest.mark.parametrize("seed", [0, 1, 123456789012345, -5])
def test_random_numbers(seed):
    n = 4096
    ints, floats, normals = torch.empty(4 * n, dtype=torch.int64), torch.empty(n), torch.empty(n)
    run(random_kernel, ints, floats, normals, seed, N=n)
    want = [philox(seed, i) for i in range(64)]
    have = ints.reshape(4, n)[:, :64].t().tolist()
    assert [[v & 0xffffffff for v in row] for row in have] == want
    signed = [w[0] - (w[0] >> 31 << 32) for w in want]
    uniform = torch.tensor([-v - 1 if v < 0 else v for v in signed], dtype=torch.int32).float() * 4.6566127342e-10
    assert torch.equal(floats[:64], uniform)
    assert floats.min() >= 0 and floats.max() < 1 and abs(floats.mean() - 0.5) < 0.02
    assert abs(normals.mean()) < 0.06 and abs(normals.std() - 1) < 0.05


def test_first_words_of_philox_are_those_of_the_paper():
    # Random123's known answer for a counter and key of zeros.
    assert philox(0, 0) == [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]


# ---- jumps within loops ----
def for_jumps(x, y, n, STEP):
    """Python's own meaning, on lists, of the kernels below."""
    out, total = list(y), 0
    for i in range(n):
        if x[i] < 0:
            continue
        if x[i] > 90:
            out[i] = -2
            break
        for j in range(0, n, STEP):
            if j > i:
                break
            if j == 3:
                continue
            total += x[j]
        out[i] = total
    return out, total


@triton.jit
def for_jumps_kernel(x, y, z, n, STEP: tl.constexpr):
    total = 0
    for i in range(n):
        v = tl.load(x + i)
        if v < 0:
            continue
        if v > 90:
            tl.store(y + i, -2)
            break
        for j in range(0, n, STEP):
            if j > i:
                break
            if j == 3:
                continue
            total += tl.load(x + j)
        tl.store(y + i, total)
    tl.store(z, total)


@pytest.mark.parametrize("step", [1, 2])
def test_break_and_continue_in_for_loops(step):
    for seed in range(20):
        g = torch.Generator().manual_seed(seed)
        x = torch.randint(-20, 95, (12,), generator=g, dtype=torch.int32)
        for n in (0, 1, 12):
            y, z = torch.full((12,), 7, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
            for_jumps_kernel[(1,)](x, y, z, n, STEP=step)
            want, total = for_jumps(x.tolist(), [7] * 12, n, step)
            assert y.tolist() == want and z.item() == total


@triton.jit
def rounds_kernel(out, low, high, step):
    rounds = 0
    for i in range(low, high, step):
        rounds += 1
    tl.store(out, rounds)
    rounds = 0
    for i in range(low, high, step):
        if rounds == 5:
            break
        rounds += 1
    tl.store(out + 1, rounds)


@pytest.mark.parametrize("step", [3, 1, 0, -1])
def test_loops_end_whatever_their_step(step):
    for low, high in ((0, 17), (5, 6), (4, 4), (9, 2)):
        out = torch.zeros(2, dtype=torch.int32)
        rounds_kernel[(1,)](out, low, high, step)
        want = len(range(low, high, step)) if step > 0 else 0
        assert out.tolist() == [want, min(want, 5)]


@triton.jit
def while_jumps_kernel(x, y, n):
    i = 0
    while tl.load(x + i) != 0:   # is not looked at once the loop was left
        i += 1
        if i % 3 == 0:
            continue
        if i == n:
            break
        tl.store(y + i, i)
    tl.store(y, i)


def test_break_and_continue_in_while_loops():
    for n in (2, 5, 100):
        x, y = torch.tensor([1] * 9 + [0], dtype=torch.int32), torch.zeros(10, dtype=torch.int32)
        while_jumps_kernel[(1,)](x, y, n)
        last = n if n < 9 else 9
        assert y[0].item() == last and y[1:].tolist() == [i if i % 3 and i < (n if n < 9 else 10) else 0 for i in range(1, 10)]


@triton.jit
def return_kernel(x, y, n, MOST: tl.constexpr):
    for i in tl.static_range(MOST):
        if i == 6:
            continue
        for j in range(n):
            if tl.load(x + i) == j:
                tl.store(y, i * 100 + j)
                return
    tl.store(y, -1)


@triton.jit
def unrolled_kernel(x, y, MOST: tl.constexpr):
    acc = tl.zeros((4,), tl.float32)
    for i in tl.static_range(MOST):
        v = tl.load(x + i * 4 + tl.arange(0, 4))
        if tl.sum(v) > 3:
            break
        acc += v
        if i == 5:
            break
    tl.store(y + tl.arange(0, 4), acc)


@triton.jit
def backwards_kernel(x, y):
    for i in range(7, -1, -1):
        if tl.load(x + i) > 0:
            break
        tl.store(y + i, 1)


def test_return_in_loops_and_jumps_in_unrolled_ones():
    for place, value, want in ((2, 3, 203), (6, 1, -1), (7, 0, 700), (0, 9, -1)):
        x, y = torch.full((8,), 50, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
        x[place] = value
        return_kernel[(1,)](x, y, 5, MOST=8)
        assert y.item() == want
    for stop in (0, 3, 5, 7):
        x, y = torch.rand(8, 4) * 0.5, torch.zeros(4)
        x[stop] = 2
        unrolled_kernel[(1,)](x, y, MOST=8)
        want = torch.zeros(4)
        for row in x[:min(stop, 6)]:
            want += row
        assert torch.equal(y, want)
    x, y = torch.tensor([0, 0, 4, 0, 0, 0, 0, 0], dtype=torch.int32), torch.zeros(8, dtype=torch.int32)
    backwards_kernel[(1,)](x, y)
    assert y.tolist() == [0, 0, 0, 1, 1, 1, 1, 1]


# ---- a loop's variable after the loop ----
def left_behind(low, high, step, stop):
    i = 77
    for i in range(low, high, step):
        pass
    out = [i]
    for i in range(low, high, step):
        if i >= stop:
            break
    out.append(i)
    for i in range(low, high, step):
        if i % 2 == 0:
            i = i * 100
    out.append(i)
    for i in range(high, low, -3):
        pass
    out.append(i)
    for j in range(3, 9, 4):
        pass
    out.append(j)
    for j in range(9, 3, -5):
        if j == stop:
            break
    out.append(j)
    return out


@triton.jit
def left_behind_kernel(out, low, high, step, stop):
    i = 77
    for i in range(low, high, step):
        pass
    tl.store(out, i)
    for i in range(low, high, step):
        if i >= stop:
            break
    tl.store(out + 1, i)
    for i in tl.range(low, high, step):
        if i % 2 == 0:
            i = i * 100
    tl.store(out + 2, i)
    for i in range(high, low, -3):
        pass
    tl.store(out + 3, i)
    for j in range(3, 9, 4):
        pass
    tl.store(out + 4, j)
    for j in range(9, 3, -5):
        if j == stop:
            break
    tl.store(out + 5, j)


@pytest.fixture(params=["compiled", "interpreted"])
def as_made(request, monkeypatch):
    """A kernel as machine code, and on the interpreter."""
    monkeypatch.setenv("TRITON_INTERPRET", "1" if request.param == "interpreted" else "0")
    return lambda kernel: triton.jit(kernel.fn)     # one of its own: a kernel keeps what was made of it


def test_loop_variables_keep_their_last_value(as_made):
    kernel = as_made(left_behind_kernel)
    for low, high, step, stop in ((0, 10, 3, 4), (0, 10, 3, 50), (-7, 8, 2, -7), (5, 5, 1, 0), (6, 2, 1, 9), (0, 1, 1, 0), (2**33, 2**33 + 9, 4, 2**33 + 3)):
        out = torch.zeros(6, dtype=torch.int64)
        kernel[(1,)](out, low, high, step, stop)
        assert out.tolist() == left_behind(low, high, step, stop), (low, high, step, stop)


def rounds_left(n, stop, most):
    out, last, i = [], -1, -5
    for turn in range(most):
        i = turn
        if i == stop:
            break
    out.append(i)
    for k in range(most):
        for i in range(k, n):
            if i == stop:
                break
        last = last * 10 + i
        for i in range(k + n, k, -2):
            last += i
        last = last * 10 + i
    return out + [last, i]


@triton.jit
def rounds_left_kernel(out, n, stop, MOST: tl.constexpr):
    last = -1
    i = -5
    for i in tl.static_range(MOST):
        if i == stop:
            break
    tl.store(out, i)
    for k in range(MOST):
        for i in range(k, n):
            if i == stop:
                break
        last = last * 10 + i
        for i in range(k + n, k, -2):
            last += i
        last = last * 10 + i
    tl.store(out + 1, last)
    tl.store(out + 2, i)


def test_loop_variables_of_unrolled_and_nested_loops(as_made):
    kernel = as_made(rounds_left_kernel)
    for n, stop, most in ((4, 1, 3), (4, 9, 3), (0, 0, 2), (2, 2, 4), (3, 0, 1)):
        out = torch.zeros(3, dtype=torch.int32)
        kernel[(1,)](out, n, stop, MOST=most)
        assert out.tolist() == rounds_left(n, stop, most), (n, stop, most)


@triton.jit
def unbound_kernel(out, n, m):
    for i in range(n):
        tl.store(out, 1)
    if m > 0:
        tl.store(out + 1, i)
    for k in range(n):
        pass
    for k in range(m):
        pass
    tl.store(out + 2, k)


def test_a_loop_without_turns_binds_nothing(as_made):
    kernel = as_made(unbound_kernel)
    out = torch.full((3,), -1, dtype=torch.int32)
    kernel[(1,)](out, 4, 2)
    assert out.tolist() == [1, 3, 1]
    kernel[(1,)](out, 3, 0)                 # the one is not read, the other is bound by the first loop
    assert out.tolist() == [1, 3, 2]
    with pytest.raises(RuntimeError, match=r"name 'i' is read where the loop that binds it had no turn \(.*test_language.py:\d+\)"):
        kernel[(1,)](out, 0, 2)
    with pytest.raises(RuntimeError, match="name 'k' is read"):
        kernel[(1,)](out, 0, 0)


@triton.jit
def never_bound_kernel(out):
    for i in range(3, 3):
        pass
    tl.store(out, i)


@triton.jit
def tile_or_number_kernel(out, n):
    i = tl.arange(0, 4)
    tl.store(out + i, i)
    for i in range(n):
        tl.store(out, i)
    tl.store(out + 1, i)


def test_loop_variables_without_a_type():
    out = torch.zeros(4, dtype=torch.int32)
    with pytest.raises(triton.compiler.CompilationError, match="'i' is not defined"):
        never_bound_kernel[(1,)](out)
    with pytest.raises(triton.compiler.CompilationError, match="'i' is not defined"):
        tile_or_number_kernel[(1,)](out, 3)
