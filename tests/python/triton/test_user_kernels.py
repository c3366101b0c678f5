"""Kernels as people write them, against eager operators: attention, norms, scans, quantised numbers, stencils, searches."""
import torch
import triton
import triton.language as tl


@triton.jit
def softmax_step(qk, m_i, l_i):
    m_new = tl.maximum(m_i, tl.max(qk, 1))
    p = tl.exp(qk - m_new[:, None])
    alpha = tl.exp(m_i - m_new)
    return (p, alpha, m_new, l_i * alpha + tl.sum(p, 1))


@triton.jit
def flash(Q, K, V, O, sq, sk, sv, so, N, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr):
    start = tl.program_id(0)
    h = tl.program_id(1)
    rm = start * BM + tl.arange(0, BM)
    rd = tl.arange(0, D)
    rn = tl.arange(0, BN)
    q = tl.load(Q + h * sq[0] + rm[:, None] * sq[1] + rd[None, :] * sq[2], mask=rm[:, None] < N, other=0.0)
    acc = tl.zeros((BM, D), tl.float32)
    m_i = tl.full((BM,), float('-inf'), tl.float32)
    l_i = tl.zeros((BM,), tl.float32)
    hi = tl.minimum((start + 1) * BM, N) if CAUSAL else N
    for n0 in tl.range(0, hi, BN):
        cols = n0 + rn
        k = tl.load(K + h * sk[0] + cols[None, :] * sk[1] + rd[:, None] * sk[2], mask=cols[None, :] < N, other=0.0)
        v = tl.load(V + h * sv[0] + cols[:, None] * sv[1] + rd[None, :] * sv[2], mask=cols[:, None] < N, other=0.0)
        qk = tl.dot(q, k) * scale
        qk = tl.where(cols[None, :] < N, qk, float('-inf'))
        if CAUSAL:
            qk = tl.where(rm[:, None] >= cols[None, :], qk, float('-inf'))
        p, alpha, m_i, l_i = softmax_step(qk, m_i, l_i)
        acc = acc * alpha[:, None]
        acc = tl.dot(p.to(v.dtype), v, acc)
    tl.store(O + h * so[0] + rm[:, None] * so[1] + rd[None, :] * so[2], acc / l_i[:, None], mask=rm[:, None] < N)


def test_flash():
    for causal in (False, True):
        H, N, D = (3, 100, 32)
        q, k, v = (torch.randn(H, N, D) for _ in range(3))
        o = torch.empty_like(q)
        flash[triton.cdiv(N, 32), H](q, k, v, o, q.stride(), k.stride(), v.stride(), o.stride(), N, D ** (-0.5), D=D, BM=32, BN=16, CAUSAL=causal)
        r = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
        torch.testing.assert_close(o, r, atol=1e-05, rtol=1e-05)


@triton.jit
def groupnorm(X, Y, W, B, C, HW, G, eps, BC: tl.constexpr, BHW: tl.constexpr):
    n = tl.program_id(0)
    g = tl.program_id(1)
    per = C // G
    c = tl.arange(0, BC)
    s = tl.arange(0, BHW)
    cm = c < per
    base = X + (n * C + g * per) * HW
    total = tl.zeros((BC, BHW), tl.float32)
    i = 0
    while i < HW:
        m = cm[:, None] & ((i + s)[None, :] < HW)
        total += tl.load(base + c[:, None] * HW + (i + s)[None, :], mask=m, other=0.0)
        i += BHW
    mean = tl.sum(total) / (per * HW)
    var = 0.0
    for i in range(0, HW, BHW):
        m = cm[:, None] & ((i + s)[None, :] < HW)
        x = tl.load(base + c[:, None] * HW + (i + s)[None, :], mask=m, other=0.0)
        d = tl.where(m, x - mean, 0.0)
        var += tl.sum(d * d)
    rstd = tl.rsqrt(var / (per * HW) + eps)
    w = tl.load(W + g * per + c, mask=cm, other=0.0)
    b = tl.load(B + g * per + c, mask=cm, other=0.0)
    for i in range(0, HW, BHW):
        m = cm[:, None] & ((i + s)[None, :] < HW)
        p = c[:, None] * HW + (i + s)[None, :]
        x = tl.load(base + p, mask=m, other=0.0)
        tl.store(Y + (n * C + g * per) * HW + p, (x - mean) * rstd * w[:, None] + b[:, None], mask=m)


def test_groupnorm():
    x = torch.randn(2, 12, 7, 9)
    w, b = (torch.randn(12), torch.randn(12))
    y = torch.empty_like(x)
    groupnorm[2, 4](x, y, w, b, 12, 63, 4, 1e-05, BC=4, BHW=16)
    torch.testing.assert_close(y, torch.nn.functional.group_norm(x, 4, w, b), atol=1e-05, rtol=1e-05)


@triton.jit
def embed(ids, table, out, n, D, BLOCK: tl.constexpr, BD: tl.constexpr):
    r = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    idx = tl.load(ids + r, mask=r < n, other=-1)
    ok = (r < n) & (idx >= 0)
    for d0 in tl.static_range(0, 2):
        d = d0 * BD + tl.arange(0, BD)
        v = tl.load(table + idx[:, None] * D + d[None, :], mask=ok[:, None] & (d < D)[None, :], other=0.0)
        tl.store(out + r[:, None] * D + d[None, :], v, mask=(r < n)[:, None] & (d < D)[None, :])


def test_embedding():
    ids = torch.randint(0, 50, (37,))
    t = torch.randn(50, 20)
    o = torch.empty(37, 20)
    embed[triton.cdiv(37, 16),](ids, t, o, 37, 20, BLOCK=16, BD=16)
    assert torch.equal(o, t[ids])
    ids = ids.to(torch.int32)
    ids[3] = -1
    embed[3,](ids, t, o, 37, 20, BLOCK=16, BD=16)
    assert torch.equal(o[3], torch.zeros(20))


@triton.jit
def segsum(x, seg, out, cnt, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    s = tl.load(seg + i, mask=m, other=0)
    tl.atomic_add(out + s, tl.load(x + i, mask=m), mask=m)
    tl.atomic_add(cnt + s, 1, mask=m)


def test_segmented_sums():
    x = torch.randn(1000)
    s = torch.randint(0, 7, (1000,))
    o = torch.zeros(7)
    c = torch.zeros(7, dtype=torch.int32)
    segsum[triton.cdiv(1000, 128),](x, s, o, c, 1000, BLOCK=128)
    torch.testing.assert_close(o, torch.zeros(7).index_add(0, s, x), atol=0.0001, rtol=0.0001)
    assert torch.equal(c.long(), torch.bincount(s, minlength=7))


@triton.jit
def op_lin(a1, b1, a2, b2):
    return (a1 * a2, b1 * a2 + b2)


@triton.jit
def linscan(a, b, o, T, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    carry = tl.zeros((1,), tl.float32)
    for t in range(0, T, BLOCK):
        i = t + tl.arange(0, BLOCK)
        av = tl.load(a + row * T + i, mask=i < T, other=1.0)
        bv = tl.load(b + row * T + i, mask=i < T, other=0.0)
        A, B = tl.associative_scan((av, bv), 0, op_lin)
        h = A * carry + B
        tl.store(o + row * T + i, h, mask=i < T)
        carry = tl.sum(tl.where(tl.arange(0, BLOCK) == BLOCK - 1, h, 0.0), 0, keep_dims=True)


def test_linear_recurrence():
    a, b = (torch.rand(4, 50), torch.randn(4, 50))
    o = torch.empty(4, 50)
    linscan[4,](a, b, o, 50, BLOCK=16)
    h = torch.zeros(4)
    r = []
    for t in range(50):
        h = a[:, t] * h + b[:, t]
        r.append(h)
    torch.testing.assert_close(o, torch.stack(r, 1), atol=1e-05, rtol=1e-05)


@triton.jit
def topk(x, vals, idx, n, K: tl.constexpr, B: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, B)
    v = tl.load(x + row * n + i, mask=i < n, other=-float('inf'))
    for k in tl.static_range(K):
        m, j = tl.max(v, 0, return_indices=True)
        tl.store(vals + row * K + k, m)
        tl.store(idx + row * K + k, j)
        v = tl.where(i == j, float('-inf'), v)


def test_topk_by_reductions():
    x = torch.randn(5, 60)
    v = torch.empty(5, 4)
    j = torch.empty(5, 4, dtype=torch.int64)
    topk[5,](x, v, j, 60, K=4, B=64)
    r = x.topk(4)
    assert torch.equal(v, r.values) and torch.equal(j, r.indices)


@triton.jit
def quant(x, q, s, n, B: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, B)
    v = tl.load(x + row * n + i, mask=i < n, other=0.0)
    sc = tl.max(tl.abs(v)) / 127.0
    sc = tl.where(sc == 0, 1.0, sc)
    from_ = tl.extra.libdevice.rint(v / sc)
    tl.store(q + row * n + i, tl.clamp(from_, -128.0, 127.0).to(tl.int8), mask=i < n)
    tl.store(s + row, sc)


@triton.jit
def dequant4(p, s, z, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    b = tl.load(p + i, mask=i < n, other=0)
    lo = (b & 15).to(tl.int32) - z
    hi = (b >> 4).to(tl.int32) - z
    v = tl.interleave(lo, hi).to(tl.float32) * tl.load(s)
    j = tl.arange(0, 2 * B)
    tl.store(o + j, v, mask=j < 2 * n)


def test_quantised_numbers():
    x = torch.randn(3, 40)
    q = torch.empty(3, 40, dtype=torch.int8)
    s = torch.empty(3)
    quant[3,](x, q, s, 40, B=64)
    sc = x.abs().amax(1) / 127
    assert torch.equal(q, torch.round(x / sc[:, None]).clamp(-128, 127).to(torch.int8))
    assert torch.equal(s, sc)
    p = torch.randint(0, 256, (20,), dtype=torch.uint8)
    o = torch.empty(40)
    s = torch.tensor([0.5])
    dequant4[1,](p, s, 8, o, 20, B=32)
    r = torch.stack([(p & 15).int() - 8, (p >> 4).int() - 8], 1).flatten().float() * 0.5
    assert torch.equal(o, r)


@triton.jit
def bmm(A, B, C, shape, sa, sb, sc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, ACT: tl.constexpr=None):
    M, N, K = shape
    b = tl.program_id(2)
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    pa = A + b * sa[0] + rm[:, None] * sa[1] + rk[None, :] * sa[2]
    pb = B + b * sb[0] + rk[:, None] * sb[1] + rn[None, :] * sb[2]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        a = tl.load(pa, mask=(rm[:, None] < M) & (rk[None, :] < K - k * BK), other=0.0)
        w = tl.load(pb, mask=(rk[:, None] < K - k * BK) & (rn[None, :] < N), other=0.0)
        acc += tl.dot(a, w)
        pa += BK * sa[2]
        pb += BK * sb[1]
    if ACT is not None:
        acc = ACT(acc)
    tl.store(C + b * sc[0] + rm[:, None] * sc[1] + rn[None, :] * sc[2], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


@triton.jit
def relu(x):
    return tl.maximum(x, 0)


def test_batched_product_with_masks():
    a, b = (torch.randn(3, 33, 20), torch.randn(3, 17, 20).transpose(1, 2))
    c = torch.empty(3, 33, 17)
    for act in (None, relu):
        bmm[3, 2, 3](a, b, c, (33, 17, 20), a.stride(), b.stride(), c.stride(), BM=16, BN=16, BK=16, ACT=act)
        r = a @ b
        torch.testing.assert_close(c, r if act is None else r.relu(), atol=1e-05, rtol=1e-05)


@triton.jit
def stencil(x, y, H, W, w, BH: tl.constexpr, BW: tl.constexpr):
    r = tl.program_id(0) * BH + tl.arange(0, BH)[:, None]
    c = tl.program_id(1) * BW + tl.arange(0, BW)[None, :]
    acc = tl.zeros((BH, BW), tl.float32)
    for dy in tl.static_range(-1, 2):
        for dx in tl.static_range(-1, 2):
            rr = r + dy
            cc = c + dx
            m = (rr >= 0) & (rr < H) & (cc >= 0) & (cc < W)
            acc += tl.load(x + rr * W + cc, mask=m, other=0.0) * tl.load(w + (dy + 1) * 3 + dx + 1)
    tl.store(y + r * W + c, acc, mask=(r < H) & (c < W))


def test_stencil():
    x = torch.randn(19, 23)
    w = torch.randn(3, 3)
    y = torch.empty_like(x)
    stencil[3, 3](x, y, 19, 23, w, BH=8, BW=8)
    torch.testing.assert_close(y, torch.nn.functional.conv2d(x[None, None], w[None, None], padding=1)[0, 0], atol=1e-05, rtol=1e-05)


@triton.jit
def collatz(x, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=1)
    steps = tl.zeros_like(v)
    while tl.max(v) > 1:
        go = v > 1
        v = tl.where(go, tl.where(v % 2 == 0, v // 2, 3 * v + 1), v)
        steps += go.to(steps.dtype)
    tl.store(o + i, steps, mask=i < n)


def test_collatz():
    x = torch.arange(1, 41)
    o = torch.empty_like(x)
    collatz[2,](x, o, 40, B=32)

    def f(n):
        k = 0
        while n > 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            k += 1
        return k
    assert o.tolist() == [f(n) for n in range(1, 41)]


@triton.jit
def welford(m1, s1, n1, m2, s2, n2):
    n = n1 + n2
    d = m2 - m1
    w = tl.where(n == 0, 0.0, n2 / n)
    return (m1 + d * w, s1 + s2 + d * d * n1 * w, n)


@triton.jit
def varkernel(x, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    m = i < n
    v = tl.load(x + i, mask=m, other=0.0)
    mean, s, c = tl.reduce((v, tl.zeros_like(v), m.to(tl.float32)), 0, welford)
    tl.store(o, mean)
    tl.store(o + 1, s / (c - 1))


def test_welford():
    x = torch.randn(100)
    o = torch.empty(2)
    varkernel[1,](x, o, 100, B=128)
    torch.testing.assert_close(o, torch.stack([x.mean(), x.var()]))


@triton.jit
def adam(ptrs, lr, b1, b2, eps, step, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    k = i < n
    p, g, m, v = ptrs
    gv = tl.load(g + i, mask=k)
    mv = b1 * tl.load(m + i, mask=k) + (1 - b1) * gv
    vv = b2 * tl.load(v + i, mask=k) + (1 - b2) * gv * gv
    tl.store(m + i, mv, mask=k)
    tl.store(v + i, vv, mask=k)
    c1 = 1 - tl.extra.libdevice.pow(b1, step.to(tl.float32))
    c2 = 1 - tl.extra.libdevice.pow(b2, step.to(tl.float32))
    tl.store(p + i, tl.load(p + i, mask=k) - lr * (mv / c1) / (tl.sqrt(vv / c2) + eps), mask=k)


def test_adam():
    p = torch.randn(50, requires_grad=True)
    q = p.detach().clone()
    m, v = (torch.zeros(50), torch.zeros(50))
    opt = torch.optim.Adam([p], lr=0.01)
    for s in range(1, 4):
        g = torch.randn(50)
        p.grad = g
        opt.step()
        adam[2,]((q, g, m, v), 0.01, 0.9, 0.999, 1e-08, s, 50, B=32)
    torch.testing.assert_close(q, p.detach(), atol=1e-05, rtol=1e-05)


@triton.jit
def lock_sum(x, out, lock, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    s = tl.sum(tl.load(x + i, mask=i < n, other=0.0))
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(out, tl.load(out) + s)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


def test_spin_lock():
    x = torch.randn(200)
    o = torch.zeros(1)
    l = torch.zeros(1, dtype=torch.int32)
    lock_sum[4,](x, o, l, 200, B=64)
    torch.testing.assert_close(o[0], x.sum(), atol=0.0001, rtol=0.0001)


@triton.jit
def ce(logits, target, loss, V, ignore, B: tl.constexpr):
    r = tl.program_id(0)
    t = tl.load(target + r)
    if t == ignore:
        tl.store(loss + r, 0.0)
        return
    m = float('-inf')
    d = 0.0
    for v0 in range(0, V, B):
        i = v0 + tl.arange(0, B)
        x = tl.load(logits + r * V + i, mask=i < V, other=float('-inf'))
        mx = tl.max(x)
        mn = tl.maximum(m, mx)
        d = d * tl.exp(m - mn) + tl.sum(tl.exp(x - mn))
        m = mn
    tl.store(loss + r, m + tl.log(d) - tl.load(logits + r * V + t))


def test_cross_entropy_with_an_early_return():
    x = torch.randn(6, 50)
    t = torch.tensor([1, 2, -100, 49, 0, 7])
    l = torch.empty(6)
    ce[6,](x, t, l, 50, -100, B=16)
    torch.testing.assert_close(l, torch.nn.functional.cross_entropy(x, t, reduction='none', ignore_index=-100), atol=1e-05, rtol=1e-05)


@triton.jit
def k_persist(x, o, n, B: tl.constexpr):
    pid = tl.program_id(0)
    np_ = tl.num_programs(0)
    for t in tl.range(pid, tl.cdiv(n, B), np_, num_stages=2):
        i = t * B + tl.arange(0, B)
        tl.store(o + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)


def test_persistent_programs():
    x = torch.randn(1001)
    o = torch.zeros(1001)
    k_persist[3,](x, o, 1001, B=64)
    assert torch.equal(o, 2 * x)


@triton.jit
def k_block(a, o, M, N, BM: tl.constexpr, BN: tl.constexpr):
    p = tl.make_block_ptr(a, (M, N), (N, 1), (0, 0), (BM, BN), (1, 0))
    acc = tl.zeros((BM,), tl.float32)
    for _ in range(0, N, BN):
        acc += tl.sum(tl.load(p, boundary_check=(0, 1), padding_option='zero'), 1)
        p = tl.advance(p, (0, BN))
    i = tl.arange(0, BM)
    tl.store(o + i, acc, mask=i < M)


def test_block_pointers():
    a = torch.randn(7, 37)
    o = torch.zeros(7)
    k_block[1,](a, o, 7, 37, BM=8, BN=16)
    torch.testing.assert_close(o, a.sum(1))


@triton.jit
def k_break(x, o, n):
    s = 0.0
    for i in range(n):
        v = tl.load(x + i)
        if v < 0:
            break
        if v > 10:
            continue
        s += v
    tl.store(o, s)


def test_break_and_continue():
    o = torch.zeros(1)
    k_break[1,](torch.tensor([1.0, 2.0, 11.0, 3.0, -1.0, 5.0]), o, 6)
    assert o.item() == 6


@triton.jit
def k_gelu(x):
    return 0.5 * x * (1 + tl.erf(x * 0.7071067811865476))


@triton.jit
def k_apply(x, o, n, F: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n).to(tl.float32)
    tl.store(o + i, F(v).to(o.dtype.element_ty), mask=i < n)


def test_a_function_as_a_constant():
    for dt in (torch.float16, torch.bfloat16, torch.float32):
        x = torch.randn(100).to(dt)
        o = torch.zeros_like(x)
        k_apply[2,](x, o, 100, k_gelu, B=64)
        torch.testing.assert_close(o, torch.nn.functional.gelu(x.float()).to(dt))


@triton.jit
def k_maxpool(x, o, H, W, OH, OW, K: tl.constexpr, S: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < OH * OW
    oh = i // OW
    ow = i % OW
    best = tl.full((B,), float('-inf'), tl.float32)
    for a in tl.static_range(K):
        for b in tl.static_range(K):
            h = oh * S + a
            w = ow * S + b
            best = tl.maximum(best, tl.load(x + h * W + w, mask=m & (h < H) & (w < W), other=float('-inf')))
    tl.store(o + i, best, mask=m)


def test_maxpool():
    x = torch.randn(1, 1, 13, 11)
    r = torch.nn.functional.max_pool2d(x, 3, 2)
    o = torch.empty_like(r)
    k_maxpool[2,](x, o, 13, 11, r.shape[2], r.shape[3], K=3, S=2, B=32)
    assert torch.equal(o, r)


@triton.jit
def k_bwd(dy, x, w, rstd, dx, dw, N: tl.constexpr, ROWS: tl.constexpr):
    c = tl.arange(0, N)
    acc = tl.zeros((N,), tl.float32)
    for r in range(ROWS):
        row = tl.program_id(0) * ROWS + r
        g = tl.load(dy + row * N + c)
        v = tl.load(x + row * N + c)
        s = tl.load(rstd + row)
        h = v * s
        gw = g * tl.load(w + c)
        tl.store(dx + row * N + c, s * (gw - h * (tl.sum(gw * h) / N)))
        acc += g * h
    tl.atomic_add(dw + c, acc)


def test_rms_norm_backward():
    x = torch.randn(8, 16, requires_grad=True)
    w = torch.randn(16, requires_grad=True)
    rs = torch.rsqrt(x.pow(2).mean(1) + 0)
    y = x * rs[:, None] * w
    dy = torch.randn(8, 16)
    y.backward(dy)
    dx = torch.empty(8, 16)
    dw = torch.zeros(16)
    k_bwd[2,](dy, x.detach(), w.detach(), rs.detach(), dx, dw, N=16, ROWS=4)
    torch.testing.assert_close(dx, x.grad, atol=1e-05, rtol=0.0001)
    torch.testing.assert_close(dw, w.grad, atol=1e-05, rtol=0.0001)


@triton.jit
def k_bs(x, q, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(q + i)
    lo = tl.zeros((B,), tl.int32)
    hi = tl.full((B,), n, tl.int32)
    while tl.max((lo < hi).to(tl.int32)) == 1:
        mid = (lo + hi) // 2
        go = lo < hi
        less = tl.load(x + mid, mask=go, other=0.0) < v
        lo = tl.where(go & less, mid + 1, lo)
        hi = tl.where(go & ~less, mid, hi)
    tl.store(o + i, lo)


def test_binary_search():
    x = torch.randn(37).sort().values
    q = torch.randn(16)
    o = torch.zeros(16, dtype=torch.int32)
    k_bs[1,](x, q, o, 37, B=16)
    assert torch.equal(o.long(), torch.searchsorted(x, q))


@triton.autotune(configs=[triton.Config({'B': 16}), triton.Config({'B': 64}, num_warps=2)], key=['n'])
@triton.jit
def k_auto(pair, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(pair[1] + i, tl.load(pair[0] + i, mask=i < n) + 1, mask=i < n)


def test_autotuned_with_a_tuple():
    x, o = (torch.randn(100), torch.zeros(100))
    k_auto[lambda m: (triton.cdiv(m['n'], m['B']),)]((x, o), 100)
    assert torch.equal(o, x + 1)
