"""Kernels as libraries write them, against eager."""
import pytest
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def rms_norm_kernel(X, W, Y, stride, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    X += row * stride
    Y += row * stride
    total = 0.0
    for off in range(0, N, BLOCK):
        cols = off + tl.arange(0, BLOCK)
        x = tl.load(X + cols, mask=cols < N, other=0.0).to(tl.float32)
        total += tl.sum(x * x)
    rstd = 1.0 / tl.sqrt(total / N + eps)
    for off in range(0, N, BLOCK):
        cols = off + tl.arange(0, BLOCK)
        mask = cols < N
        w = tl.load(W + cols, mask=mask).to(tl.float32)
        x = tl.load(X + cols, mask=mask, other=0.0, eviction_policy="evict_first").to(tl.float32)
        tl.store(Y + cols, (x * rstd * w).to(Y.dtype.element_ty), mask=mask)


def test_rms_norm():
    x, w = torch.randn(5, 300).half(), torch.randn(300).half()
    y = torch.empty_like(x)
    rms_norm_kernel[(5,)](x, w, y, x.stride(0), 300, 1e-6, BLOCK=128, num_warps=4)
    f = x.float()
    want = f * torch.rsqrt((f * f).mean(-1, keepdim=True) + 1e-6) * w.float()
    torch.testing.assert_close(y, want.half(), rtol=2e-3, atol=2e-3)


@triton.jit
def rotary_kernel(Q, COS, SIN, H: tl.constexpr, D: tl.constexpr):
    place, head = tl.program_id(0), tl.program_id(1)
    half: tl.constexpr = D // 2
    i = tl.arange(0, half)
    base = Q + (place * H + head) * D
    c, s = tl.load(COS + place * half + i), tl.load(SIN + place * half + i)
    a, b = tl.load(base + i), tl.load(base + half + i)
    tl.store(base + i, a * c - b * s)
    tl.store(base + half + i, b * c + a * s)


def test_rotary_embedding_in_place():
    S, H, D = 7, 3, 16
    q, angle = torch.randn(S, H, D), torch.randn(S, D // 2)
    c, s = angle.cos()[:, None], angle.sin()[:, None]
    a, b = q[..., :D // 2], q[..., D // 2:]
    want = torch.cat([a * c - b * s, b * c + a * s], -1)
    rotary_kernel[(S, H)](q, angle.cos(), angle.sin(), H=H, D=D)
    assert torch.equal(q, want)


@triton.jit
def cross_entropy_kernel(logits, labels, loss, stride, N, ignored, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    y = tl.load(labels + row)
    if y == ignored:
        tl.store(loss + row, 0.0)
        return
    x_ptr = logits + row * stride
    m = float("-inf")
    d = 0.0
    for i in range(0, N, BLOCK):
        offs = i + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offs, mask=offs < N, other=float("-inf")).cast(tl.float32)
        new = tl.maximum(m, tl.max(x))
        d = d * tl.exp(m - new) + tl.sum(tl.exp(x - new))
        m = new
    tl.store(loss + row, m + tl.log(d) - tl.load(x_ptr + y).to(tl.float32))


def test_cross_entropy():
    x, y = torch.randn(9, 1000) * 3, torch.randint(0, 1000, (9,))
    y[3] = -100
    loss = torch.empty(9)
    cross_entropy_kernel[(9,)](x, y, loss, x.stride(0), 1000, -100, BLOCK=256)
    torch.testing.assert_close(loss, torch.nn.functional.cross_entropy(x, y, reduction="none"), rtol=1e-5, atol=1e-5)


@triton.jit
def swiglu_kernel(a, b, c, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(a + offs, mask=mask, other=0).to(tl.float32)
    y = tl.load(b + offs, mask=mask, other=0)
    tl.store(c + offs, (x * tl.sigmoid(x)).cast(y.dtype) * y, mask=mask)


def test_swiglu():
    a, b = torch.randn(1000).bfloat16(), torch.randn(1000).bfloat16()
    c = torch.empty_like(a)
    swiglu_kernel[lambda META: (triton.cdiv(1000, META["BLOCK"]),)](a, b, c, 1000, BLOCK=triton.next_power_of_2(300))
    x = a.float()
    assert torch.equal(c, (x * torch.sigmoid(x)).bfloat16() * b)


@triton.jit
def gelu_tanh(x):
    k: tl.constexpr = 0.7978845608028654
    return 0.5 * x * (1 + libdevice.tanh(k * (x + 0.044715 * x * x * x)))


@triton.jit
def apply_kernel(x_ptr, y_ptr, n, F: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offs, F(tl.load(x_ptr + offs, mask=offs < n)), mask=offs < n)


def test_functions_as_constants():
    x = torch.randn(100)
    y = torch.empty_like(x)
    apply_kernel[(1,)](x, y, 100, F=gelu_tanh, BLOCK=128)
    torch.testing.assert_close(y, torch.nn.functional.gelu(x, approximate="tanh"), rtol=1e-5, atol=1e-6)


@triton.jit
def embedding_kernel(ids, W, out, D, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    row = tl.load(W + tl.load(ids + i) * D + cols, mask=cols < D)
    tl.store(out + i * D + cols, row, mask=cols < D)


def test_embedding():
    W, ids = torch.randn(50, 20), torch.randint(0, 50, (13,))
    out = torch.empty(13, 20)
    embedding_kernel[(13,)](ids, W, out, 20, BLOCK=32)
    assert torch.equal(out, W[ids])


@triton.jit
def adam_kernel(p, g, m, v, lr, b1, b2, eps, n, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = o < n
    G, M, V, P = (tl.load(g + o, mask=mask), tl.load(m + o, mask=mask), tl.load(v + o, mask=mask), tl.load(p + o, mask=mask))
    M = b1 * M + (1 - b1) * G
    V = b2 * V + (1 - b2) * G * G
    tl.store(m + o, M, mask=mask)
    tl.store(v + o, V, mask=mask)
    tl.store(p + o, P - lr * M / (tl.sqrt(V) + eps), mask=mask)


def test_adam():
    p, g, m, v = (torch.rand(500) for _ in range(4))
    want_m, want_v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    want = p - 1e-3 * want_m / (want_v.sqrt() + 1e-8)
    adam_kernel[(4,)](p, g, m, v, 1e-3, 0.9, 0.999, 1e-8, 500, BLOCK=128)
    torch.testing.assert_close(m, want_m)
    torch.testing.assert_close(v, want_v, rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(p, want, rtol=1e-4, atol=1e-6)


@triton.jit
def persistent_matmul_kernel(a, b, c, M, N, K, NUM: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows, cols, steps = tl.cdiv(M, BM), tl.cdiv(N, BN), tl.cdiv(K, BK)
    for tile in tl.range(tl.program_id(0), rows * cols, NUM, flatten=True):
        pm, pn = tile // cols, tile % cols
        om, on = pm * BM + tl.arange(0, BM), pn * BN + tl.arange(0, BN)
        om, on = tl.where(om < M, om, 0), tl.where(on < N, on, 0)
        om = tl.max_contiguous(tl.multiple_of(om, BM), BM)
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(steps):
            ok = k * BK + tl.arange(0, BK)
            x = tl.load(a + om[:, None] * K + ok[None, :], mask=ok[None, :] < K, other=0.0)
            y = tl.load(b + ok[:, None] * N + on[None, :], mask=ok[:, None] < K, other=0.0)
            acc += tl.dot(x, y, input_precision="ieee")
        om, on = pm * BM + tl.arange(0, BM), pn * BN + tl.arange(0, BN)
        tl.store(c + N * om[:, None] + on[None, :], acc, mask=(om[:, None] < M) & (on[None, :] < N))


def test_persistent_matmul():
    a, b = torch.randn(70, 50), torch.randn(50, 90)
    c = torch.empty(70, 90)
    persistent_matmul_kernel[(3,)](a, b, c, 70, 90, 50, NUM=3, BM=32, BN=32, BK=16)
    torch.testing.assert_close(c, a @ b, rtol=1e-4, atol=1e-4)


@triton.jit
def batched_dot_kernel(a, b, c, B: tl.constexpr, N: tl.constexpr):
    i, j, k = tl.arange(0, B)[:, None, None], tl.arange(0, N)[None, :, None], tl.arange(0, N)[None, None, :]
    at = i * N * N + j * N + k
    tl.store(c + at, tl.dot(tl.load(a + at), tl.load(b + at)))


def test_batched_dot():
    a, b = torch.randn(4, 16, 16), torch.randn(4, 16, 16)
    c = torch.empty(4, 16, 16)
    batched_dot_kernel[(1,)](a, b, c, B=4, N=16)
    torch.testing.assert_close(c, a @ b, rtol=1e-5, atol=1e-5)


@triton.jit
def grouped_sum_kernel(pointers, sizes, out, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    p = tl.load(pointers + pid).to(tl.pointer_type(tl.float32))
    o = tl.arange(0, BLOCK)
    tl.store(out + pid, tl.sum(tl.load(p + o, mask=o < tl.load(sizes + pid), other=0.0)))


def test_addresses_from_memory():
    xs = [torch.randn(k) for k in (3, 17, 64)]
    pointers, sizes = torch.tensor([x.data_ptr() for x in xs]), torch.tensor([3, 17, 64], dtype=torch.int32)
    out = torch.empty(3)
    grouped_sum_kernel[(3,)](pointers, sizes, out, BLOCK=64)
    assert torch.equal(out, torch.stack([x.sum() for x in xs]))


@triton.jit
def linear_step(a1, b1, a2, b2):
    return a1 * a2, a2 * b1 + b2


@triton.jit
def linear_scan_kernel(A, B, H, T: tl.constexpr, D: tl.constexpr):
    o = tl.arange(0, T)[:, None] * D + tl.arange(0, D)[None, :]
    _, h = tl.associative_scan((tl.load(A + o), tl.load(B + o)), 0, linear_step)
    tl.store(H + o, h)


def test_linear_recurrence():
    a, b, h = torch.rand(32, 8), torch.randn(32, 8), torch.empty(32, 8)
    linear_scan_kernel[(1,)](a, b, h, T=32, D=8)
    state, want = torch.zeros(8), []
    for i in range(32):
        state = a[i] * state + b[i]
        want.append(state)
    torch.testing.assert_close(h, torch.stack(want), rtol=1e-5, atol=1e-5)


@triton.jit
def column_maximum_kernel(x, out, M, N, sm, sn, BM: tl.constexpr, BN: tl.constexpr):
    rm, rn = tl.arange(0, BM), tl.arange(0, BN)
    acc = tl.zeros([BM], tl.float32) - float("inf")
    for n in range(0, N, BN):
        mask = (rm[:, None] < M) & (n + rn[None, :] < N)
        v = tl.load(x + rm[:, None] * sm + (n + rn[None, :]) * sn, mask, -float("inf"))
        acc = tl.maximum(acc, tl.max(v, axis=1))
    tl.store(out + rm, acc, mask=rm < M)


def test_strided_reduction():
    x = torch.randn(100, 30).t()
    out = torch.empty(30)
    column_maximum_kernel[(1,)](x, out, 30, 100, x.stride(0), x.stride(1), BM=32, BN=16)
    assert torch.equal(out, x.max(1).values)


@triton.jit
def mixture_kernel(x, out, n, FLAG: tl.constexpr, OTHER):
    if OTHER is not None:
        v = tl.load(OTHER)
    else:
        v = tl.load(x)
    if FLAG and n > 2:
        v += 1
    if not (n < 5 or v > 100):
        v += 10
    i: tl.constexpr = 3
    w = tl.load(x + i) if n > 3 else v
    t = tl.full([], 2.0, tl.float32)
    parts = [1, 2, 3]
    for q in tl.static_range(len(parts)):
        v += parts[q]
    while n > 100:
        n -= 1
    v = tl.where(tl.arange(0, 1) == 0, v, 0)
    tl.store(out + tl.arange(0, 1), v + w + t)


def test_what_is_known_and_what_is_not():
    x, out = torch.arange(4.), torch.empty(1)
    mixture_kernel[(1,)](x, out, 7, FLAG=True, OTHER=None)
    assert out.item() == (0 + 1 + 10 + 6) + 3 + 2
    mixture_kernel[(1,)](x, out, 2, True, x[2:])
    assert out.item() == (2 + 6) + 2 + 2


def test_constants_of_an_outer_function():
    C = tl.constexpr(5)

    @triton.jit
    def kernel(x):
        tl.store(x, C + tl.num_programs(0))

    x = torch.zeros(1)
    kernel[(2,)](x)
    assert x.item() == 7


@triton.jit
def topk_kernel(x, out, N: tl.constexpr, K: tl.constexpr):
    tl.store(out + tl.arange(0, K), tl.topk(tl.load(x + tl.arange(0, N)), K))


@pytest.mark.parametrize("n, k", [(8, 8), (64, 4), (1024, 16)])
def test_topk(n, k):
    x = torch.randn(n)
    out = torch.empty(k)
    topk_kernel[(1,)](x, out, N=n, K=k)
    assert torch.equal(out, x.topk(k).values)


@triton.jit
def described(p, shape, strides, block_shape):
    if isinstance(p, tl.tensor_descriptor):
        return p
    else:
        return tl.make_tensor_descriptor(p, shape, strides, block_shape)


@triton.jit
def attention_part(acc, l, m, q, keys, values, row, dtype: tl.constexpr, start, scale, BM: tl.constexpr, BN: tl.constexpr,
                   STAGE: tl.constexpr, offs_m: tl.constexpr, offs_n: tl.constexpr, N: tl.constexpr):
    if STAGE == 1:
        low, high = 0, start * BM
    elif STAGE == 2:
        low, high = start * BM, (start + 1) * BM
        low = tl.multiple_of(low, BM)
    else:
        low, high = 0, N
    at = row + low
    for n in tl.range(low, high, BN, warp_specialize=False):
        n = tl.multiple_of(n, BN)
        qk = tl.dot(q, keys.load([at, 0]).T)
        if STAGE == 2:
            qk = qk * scale + tl.where(offs_m[:, None] >= (n + offs_n[None, :]), 0, -1.0e6)
            m_new = tl.maximum(m, tl.max(qk, 1))
            qk -= m_new[:, None]
        else:
            m_new = tl.maximum(m, tl.max(qk, 1) * scale)
            qk = qk * scale - m_new[:, None]
        p = tl.math.exp2(qk)
        alpha = tl.math.exp2(m - m_new)
        total = tl.sum(p, 1)
        acc = acc * alpha[:, None]
        acc = tl.dot(p.to(dtype), values.load([at, 0]), acc)
        l = l * alpha + total
        m = m_new
        at += BN
    return acc, l, m


@triton.jit
def staged_attention_kernel(scale, M, H, Q, K, V, Out, N, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, STAGE: tl.constexpr):
    dtype = tl.float32
    tl.static_assert(BN <= D)
    start, head = tl.program_id(0), tl.program_id(1)
    rows = H * N
    q_desc = described(Q, shape=[rows, D], strides=[D, 1], block_shape=[BM, D])
    k_desc = described(K, shape=[rows, D], strides=[D, 1], block_shape=[BN, D])
    v_desc = described(V, shape=[rows, D], strides=[D, 1], block_shape=[BN, D])
    o_desc = described(Out, shape=[rows, D], strides=[D, 1], block_shape=[BM, D])
    row = head * N
    offs_m, offs_n = start * BM + tl.arange(0, BM), tl.arange(0, BN)
    m = tl.zeros([BM], dtype=tl.float32) - float("inf")
    l = tl.zeros([BM], dtype=tl.float32) + 1.0
    acc = tl.zeros([BM, D], dtype=tl.float32)
    factor = scale
    factor *= 1.44269504
    q = q_desc.load([row + start * BM, 0])
    if STAGE & 1:
        acc, l, m = attention_part(acc, l, m, q, k_desc, v_desc, row, dtype, start, factor, BM, BN, 4 - STAGE, offs_m, offs_n, N)
    if STAGE & 2:
        acc, l, m = attention_part(acc, l, m, q, k_desc, v_desc, row, dtype, start, factor, BM, BN, 2, offs_m, offs_n, N)
    tl.store(M + row + offs_m, m + tl.math.log2(l))
    o_desc.store([row + start * BM, 0], acc / l[:, None])


@pytest.mark.parametrize("causal", [False, True])
def test_attention_in_stages(causal):
    H, N, D = 3, 128, 32
    q, k, v = (torch.randn(1, H, N, D) for _ in range(3))
    out, m = torch.empty_like(q), torch.empty(H, N)
    staged_attention_kernel[(N // 32, H)](D ** -0.5, m, H, q, k, v, out, N, D=D, BM=32, BN=16, STAGE=3 if causal else 1)
    want = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
    torch.testing.assert_close(out, want, rtol=1e-4, atol=1e-4)


@triton.jit
def magnitude(x):
    a = tl.sum(x, 0)
    if a > 0:
        return a, 1.0
    else:
        return -a, 2.0


@triton.jit
def returns_kernel(x, out, *, scale: tl.constexpr = 2):
    a, b = magnitude(tl.load(x + tl.arange(0, 8)))
    tl.store(out, a * scale)
    tl.store(out + 1, b)


def test_two_returns_and_keyword_only_parameters():
    x, out = torch.arange(8.), torch.empty(2)
    returns_kernel[(1,)](x, out)
    assert out.tolist() == [56, 1]
    returns_kernel[(1,)](-x, out, scale=3)
    assert out.tolist() == [84, 2]


@triton.jit
def nested_loops_kernel(out, n, m):
    acc = tl.zeros([4], tl.int32)
    s = 0
    for i in range(n):
        t = 0
        for j in range(i, m):
            t += i * j
            if j > 2:
                acc += t
        s += t
    tl.store(out + tl.arange(0, 4), acc + s)


def test_nested_loops():
    out = torch.zeros(4, dtype=torch.int32)
    nested_loops_kernel[(1,)](out, 3, 6)
    acc = s = 0
    for i in range(3):
        t = 0
        for j in range(i, 6):
            t += i * j
            if j > 2:
                acc += t
        s += t
    assert out.tolist() == [acc + s] * 4


@triton.jit
def split_k_kernel(a, b, c, K, BK: tl.constexpr, S: tl.constexpr):
    i = tl.arange(0, 16)
    acc = tl.zeros((16, 16), tl.float32)
    for k in range(tl.program_id(0) * BK, K, BK * S):
        kk = k + tl.arange(0, BK)
        acc = tl.dot(tl.load(a + i[:, None] * K + kk[None, :]), tl.load(b + kk[:, None] * 16 + i[None, :]), acc)
    tl.atomic_add(c + i[:, None] * 16 + i[None, :], acc)


def test_products_summed_by_atomics():
    a, b, c = torch.randn(16, 128), torch.randn(128, 16), torch.zeros(16, 16)
    split_k_kernel[(4,)](a, b, c, 128, BK=16, S=4)
    torch.testing.assert_close(c, a @ b, rtol=1e-4, atol=1e-4)


@triton.jit
def silu_kernel(X, Y, N, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + i, mask=i < N)
    tl.store(Y + i, x / (1 + tl.exp(-x)), mask=i < N)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_results_larger_than_the_caches(dtype):
    n = (17 << 20) // dtype.itemsize + 5
    for first in (0, 1, 8):   # results on the borders of registers and between them
        for block in (64, 1024):
            x, y = torch.randn(n, dtype=dtype), torch.full((n + 9,), 7, dtype=dtype)
            silu_kernel[(triton.cdiv(n - 3, block),)](x, y[first:], n - 3, BLOCK=block)
            assert torch.equal(y[first:first + n - 3], x[:n - 3] / (1 + (-x[:n - 3]).exp()))
            assert (y[:first] == 7).all() and (y[first + n - 3:] == 7).all()
            silu_kernel[(triton.cdiv(n - 3, block),)](x, x, n - 3, BLOCK=block)
            assert torch.equal(x[:n - 3], y[first:first + n - 3])
