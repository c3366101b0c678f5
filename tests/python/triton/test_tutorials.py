"""The kernels that everyone learns first, against eager."""
import pytest
import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(axis=0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int32, torch.int64])
@pytest.mark.parametrize("n", [1, 7, 1000, 98432])
def test_vector_add(dtype, n):
    g = torch.Generator().manual_seed(n)
    x = torch.randn(n, generator=g).mul(100).to(dtype)
    y = torch.randn(n, generator=g).mul(100).to(dtype)
    out = torch.empty_like(x)
    add_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, out, n, BLOCK=1024)
    assert torch.equal(out, x + y)


@triton.jit
def silu_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    tl.store(out_ptr + offs, x * tl.sigmoid(x), mask=mask)


def test_silu():
    x = torch.randn(100_001) * 8
    out = torch.empty_like(x)
    silu_kernel[(triton.cdiv(x.numel(), 4096),)](x, out, x.numel(), BLOCK=4096)
    assert torch.equal(out, x * torch.sigmoid(x))


@triton.jit
def softmax_kernel(out_ptr, in_ptr, in_stride, out_stride, rows, cols, BLOCK: tl.constexpr, num_stages: tl.constexpr):
    start, step = tl.program_id(0), tl.num_programs(0)
    for row in tl.range(start, rows, step, num_stages=num_stages):
        col = tl.arange(0, BLOCK)
        mask = col < cols
        x = tl.load(in_ptr + row * in_stride + col, mask=mask, other=-float("inf"))
        e = tl.exp(x - tl.max(x, axis=0))
        tl.store(out_ptr + row * out_stride + col, e / tl.sum(e, axis=0), mask=mask)


@pytest.mark.parametrize("rows, cols", [(1, 1), (5, 33), (1823, 781), (64, 1024)])
def test_softmax(rows, cols):
    x = torch.randn(rows, cols) * 3
    y = torch.empty_like(x)
    block = triton.next_power_of_2(cols)
    kernel = softmax_kernel.warmup(y, x, x.stride(0), y.stride(0), rows, cols, BLOCK=block, num_stages=2, num_warps=8, grid=(1,))
    kernel._init_handles()
    properties = triton.runtime.driver.active.utils.get_device_properties(0)
    per = properties["max_num_regs"] // (kernel.n_regs * properties["warpSize"] * 8)
    programs = min(properties["multiprocessor_count"] * per, rows)
    assert programs > 0
    kernel[(programs, 1, 1)](y, x, x.stride(0), y.stride(0), rows, cols, block, 2)
    assert torch.equal(y, torch.softmax(x, dim=1))


@triton.jit
def dropout_kernel(x_ptr, keep_ptr, out_ptr, n, p, BLOCK: tl.constexpr):
    offs = tl.program_id(axis=0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    keep = tl.load(keep_ptr + offs, mask=mask)
    tl.store(out_ptr + offs, tl.where(keep, x / (1 - p), 0.0), mask=mask)


@triton.jit
def seeded_dropout_kernel(x_ptr, out_ptr, n, p, seed, BLOCK: tl.constexpr):
    offs = tl.program_id(axis=0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    keep = tl.rand(seed, offs) > p
    tl.store(out_ptr + offs, tl.where(keep, x / (1 - p), 0.0), mask=mask)


def test_dropout():
    x = torch.randn(10_000)
    keep = (torch.rand(10_000) > 0.5).to(torch.int32)
    out = torch.empty_like(x)
    dropout_kernel[(triton.cdiv(10_000, 1024),)](x, keep, out, 10_000, 0.5, BLOCK=1024)
    assert torch.equal(out, torch.where(keep.bool(), x / 0.5, torch.zeros(())))
    masks = []
    for seed in (123, 123, 512):
        seeded_dropout_kernel[(triton.cdiv(10_000, 1024),)](x, out, 10_000, 0.3, seed, BLOCK=1024)
        masks.append(out != 0)
        assert torch.equal(out[masks[-1]], (x / (1 - torch.tensor(0.3)))[masks[-1]])
        assert abs(masks[-1].float().mean().item() - 0.7) < 0.02
    assert torch.equal(masks[0], masks[1]) and not torch.equal(masks[0], masks[2])


@triton.jit
def leaky_relu(x):
    return tl.where(x >= 0, x, 0.01 * x)


@triton.autotune(configs=[triton.Config({"BM": 32, "BN": 64, "BK": 32, "GROUP": 8}, num_stages=3, num_warps=8),
                          triton.Config({"BM": 64, "BN": 32, "BK": 16, "GROUP": 4}, num_stages=4, num_warps=4)], key=["M", "N", "K"])
@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
                  BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr, ACTIVATION: tl.constexpr):
    pid = tl.program_id(axis=0)
    rows, cols = tl.cdiv(M, BM), tl.cdiv(N, BN)
    in_group = GROUP * cols
    group = pid // in_group
    first = group * GROUP
    size = min(rows - first, GROUP)
    pid_m = first + ((pid % in_group) % size)
    pid_n = (pid % in_group) // size
    offs_m = (pid_m * BM + tl.arange(0, BM)) % M
    offs_n = (pid_n * BN + tl.arange(0, BN)) % N
    offs_k = tl.arange(0, BK)
    a_ptrs = a_ptr + (offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak)
    b_ptrs = b_ptr + (offs_k[:, None] * stride_bk + offs_n[None, :] * stride_bn)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BK, other=0.0)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BK, other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += BK * stride_ak
        b_ptrs += BK * stride_bk
    if ACTIVATION == "leaky_relu":
        acc = leaky_relu(acc)
    c = acc.to(c_ptr.dtype.element_ty)
    offs_cm = pid_m * BM + tl.arange(0, BM)
    offs_cn = pid_n * BN + tl.arange(0, BN)
    c_ptrs = c_ptr + stride_cm * offs_cm[:, None] + stride_cn * offs_cn[None, :]
    tl.store(c_ptrs, c, mask=(offs_cm[:, None] < M) & (offs_cn[None, :] < N))


def matmul(a, b, activation=""):
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype)
    grid = lambda meta: (triton.cdiv(M, meta["BM"]) * triton.cdiv(N, meta["BN"]),)   # noqa: E731
    matmul_kernel[grid](a, b, c, M, N, K, a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0), c.stride(1), ACTIVATION=activation)
    return c


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("M, N, K", [(128, 128, 64), (100, 70, 53), (1, 33, 17)])
def test_matmul(dtype, M, N, K):
    a, b = torch.randn(M, K).to(dtype), torch.randn(K, N).to(dtype)
    want = a.double() @ b.double()
    tolerance = 1e-5 if dtype is torch.float32 else 2e-2
    torch.testing.assert_close(matmul(a, b).double(), want, rtol=tolerance, atol=tolerance * K ** 0.5)
    torch.testing.assert_close(matmul(a, b.t().contiguous().t(), "leaky_relu").double(), torch.nn.functional.leaky_relu(want), rtol=tolerance, atol=tolerance * K ** 0.5)


@triton.jit
def layer_norm_forward(X, Y, W, B, Mean, Rstd, stride, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    Y += row * stride
    X += row * stride
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for off in range(0, N, BLOCK):
        cols = off + tl.arange(0, BLOCK)
        total += tl.load(X + cols, mask=cols < N, other=0.).to(tl.float32)
    mean = tl.sum(total, axis=0) / N
    square = tl.zeros([BLOCK], dtype=tl.float32)
    for off in range(0, N, BLOCK):
        cols = off + tl.arange(0, BLOCK)
        x = tl.load(X + cols, mask=cols < N, other=0.).to(tl.float32)
        x = tl.where(cols < N, x - mean, 0.)
        square += x * x
    rstd = 1 / tl.sqrt(tl.sum(square, axis=0) / N + eps)
    tl.store(Mean + row, mean)
    tl.store(Rstd + row, rstd)
    for off in range(0, N, BLOCK):
        cols = off + tl.arange(0, BLOCK)
        mask = cols < N
        w, b = tl.load(W + cols, mask=mask), tl.load(B + cols, mask=mask)
        x = tl.load(X + cols, mask=mask, other=0.).to(tl.float32)
        tl.store(Y + cols, (x - mean) * rstd * w + b, mask=mask)


@triton.jit
def layer_norm_backward_x(DX, DY, DW, DB, X, W, Mean, Rstd, Lock, stride, N, GROUP: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < N
    X += row * stride
    DY += row * stride
    DX += row * stride
    lock_id = row % GROUP
    Lock += lock_id
    Count = Lock + GROUP
    DW = DW + lock_id * N + cols
    DB = DB + lock_id * N + cols
    x = tl.load(X + cols, mask=mask, other=0).to(tl.float32)
    dy = tl.load(DY + cols, mask=mask, other=0).to(tl.float32)
    w = tl.load(W + cols, mask=mask).to(tl.float32)
    mean, rstd = tl.load(Mean + row), tl.load(Rstd + row)
    xhat = (x - mean) * rstd
    wdy = w * dy
    xhat = tl.where(mask, xhat, 0.)
    wdy = tl.where(mask, wdy, 0.)
    c1 = tl.sum(xhat * wdy, axis=0) / N
    c2 = tl.sum(wdy, axis=0) / N
    tl.store(DX + cols, (wdy - (xhat * c1 + c2)) * rstd, mask=mask)
    partial_dw = (dy * xhat).to(w.dtype)
    partial_db = dy.to(w.dtype)
    while tl.atomic_cas(Lock, 0, 1) == 1:
        pass
    count = tl.load(Count)
    if count == 0:
        tl.atomic_xchg(Count, 1)
    else:
        partial_dw += tl.load(DW, mask=mask)
        partial_db += tl.load(DB, mask=mask)
    tl.store(DW, partial_dw, mask=mask)
    tl.store(DB, partial_db, mask=mask)
    tl.debug_barrier()
    tl.atomic_xchg(Lock, 0)


@triton.jit
def layer_norm_backward_weights(DW, DB, FINAL_DW, FINAL_DB, M, N, BM: tl.constexpr, BN: tl.constexpr):
    cols = tl.program_id(0) * BN + tl.arange(0, BN)
    dw = tl.zeros((BM, BN), dtype=tl.float32)
    db = tl.zeros((BM, BN), dtype=tl.float32)
    for i in range(0, M, BM):
        rows = i + tl.arange(0, BM)
        mask = (rows[:, None] < M) & (cols[None, :] < N)
        offs = rows[:, None] * N + cols[None, :]
        dw += tl.load(DW + offs, mask=mask, other=0.)
        db += tl.load(DB + offs, mask=mask, other=0.)
    tl.store(FINAL_DW + cols, tl.sum(dw, axis=0), mask=cols < N)
    tl.store(FINAL_DB + cols, tl.sum(db, axis=0), mask=cols < N)


@pytest.mark.parametrize("M, N", [(31, 100), (64, 512), (7, 1)])
def test_layer_norm(M, N):
    x = (torch.randn(M, N) * 2 + 0.5).requires_grad_()
    w, b = torch.rand(N, requires_grad=True), torch.rand(N, requires_grad=True)
    dy = torch.randn(M, N)
    y, mean, rstd = torch.empty(M, N), torch.empty(M), torch.empty(M)
    block = min(64, triton.next_power_of_2(N))
    layer_norm_forward[(M,)](x, y, w, b, mean, rstd, x.stride(0), N, 1e-5, BLOCK=block)
    want = torch.nn.functional.layer_norm(x, (N,), w, b, 1e-5)
    torch.testing.assert_close(y, want.detach(), rtol=1e-5, atol=1e-5)
    group = 8
    lock = torch.zeros(2 * group, dtype=torch.int32)
    dw, db, dx = torch.zeros(group, N), torch.zeros(group, N), torch.empty(M, N)
    final = torch.empty(N), torch.empty(N)
    kernel = layer_norm_backward_x[(M,)](dx, dy, dw, db, x, w, mean, rstd, lock, x.stride(0), N, GROUP=group, BLOCK=triton.next_power_of_2(N))
    assert kernel.serial
    layer_norm_backward_weights[(triton.cdiv(N, 128),)](dw, db, *final, min(group, M), N, BM=32, BN=128)
    want.backward(dy)
    for have, grad in ((dx, x.grad), (final[0], w.grad), (final[1], b.grad)):
        torch.testing.assert_close(have, grad, rtol=1e-4, atol=1e-4)


@triton.jit
def attention_kernel(Q, K, V, Out, scale, stride_h, stride_m, H, N, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr):
    start, head = tl.program_id(0), tl.program_id(1)
    base = head.to(tl.int64) * stride_h
    q_block = tl.make_block_ptr(Q + base, (N, D), (stride_m, 1), (start * BM, 0), (BM, D), (1, 0))
    k_block = tl.make_block_ptr(K + base, (D, N), (1, stride_m), (0, 0), (D, BN), (0, 1))
    v_block = tl.make_block_ptr(V + base, (N, D), (stride_m, 1), (0, 0), (BN, D), (1, 0))
    o_block = tl.make_block_ptr(Out + base, (N, D), (stride_m, 1), (start * BM, 0), (BM, D), (1, 0))
    offs_m = start * BM + tl.arange(0, BM)
    offs_n = tl.arange(0, BN)
    m = tl.zeros([BM], dtype=tl.float32) - float("inf")
    l = tl.zeros([BM], dtype=tl.float32) + 1.0
    acc = tl.zeros([BM, D], dtype=tl.float32)
    q = tl.load(q_block, boundary_check=(0,), padding_option="zero")
    high = (start + 1) * BM if CAUSAL else N
    for n in range(0, high, BN):
        n = tl.multiple_of(n, BN)
        k = tl.load(k_block, boundary_check=(1,), padding_option="zero")
        qk = tl.dot(q, k) * (scale * 1.44269504)
        inside = offs_n[None, :] + n < N
        if CAUSAL:
            inside = inside & (offs_m[:, None] >= (n + offs_n[None, :]))
        qk = tl.where(inside, qk, -1.0e6)
        m_new = tl.maximum(m, tl.max(qk, 1))
        p = tl.math.exp2(qk - m_new[:, None])
        alpha = tl.math.exp2(m - m_new)
        l = l * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]
        v = tl.load(v_block, boundary_check=(0,), padding_option="zero")
        acc = tl.dot(p.to(v.dtype), v, acc)
        m = m_new
        k_block = tl.advance(k_block, (0, BN))
        v_block = tl.advance(v_block, (BN, 0))
    acc = acc / l[:, None]
    tl.store(o_block, acc.to(Out.dtype.element_ty), boundary_check=(0,))


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype, N", [(torch.float32, 128), (torch.float32, 100), (torch.float16, 128)])
def test_attention(dtype, N, causal):
    H, D = 3, 32
    q, k, v = (torch.randn(1, H, N, D).to(dtype) for _ in range(3))
    out = torch.empty_like(q)
    attention_kernel[(triton.cdiv(N, 64), H)](q, k, v, out, D ** -0.5, q.stride(1), q.stride(2), H, N, D=D, BM=64, BN=32, CAUSAL=causal)
    want = torch.nn.functional.scaled_dot_product_attention(q.double(), k.double(), v.double(), is_causal=causal)
    tolerance = 2e-5 if dtype is torch.float32 else 5e-3
    torch.testing.assert_close(out.double(), want, rtol=tolerance, atol=tolerance)
