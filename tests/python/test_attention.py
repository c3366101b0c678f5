"""scaled_dot_product_attention: the fused operator and the composition against each other and the formula."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch.autograd import gradcheck, gradgradcheck

sdpa = F.scaled_dot_product_attention
fused = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
INF = float("inf")


def draw(*shape, dtype=torch.float32, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def by_hand(q, k, v, mask=None, causal=False, scale=None):
    scores = q @ k.transpose(-2, -1) * (1 / math.sqrt(q.size(-1)) if scale is None else scale)
    if causal:
        mask = torch.ones(q.size(-2), k.size(-2), dtype=torch.bool).tril()
    if mask is not None and mask.dtype == torch.bool:
        mask = torch.zeros(mask.shape, dtype=q.dtype).masked_fill(~mask, -INF)
    if mask is not None:
        scores = scores + mask
    nothing = (scores == -INF).all(-1, keepdim=True)
    return scores.masked_fill(nothing, 0.0).softmax(-1).masked_fill(nothing, 0.0) @ v


SIZES = [(2, 3, 4, 5, 8), (1, 1, 1, 1, 1), (2, 2, 50, 130, 16), (1, 2, 97, 33, 20), (1, 1, 500, 600, 64)]


@pytest.mark.parametrize("b, h, n, s, e", SIZES)
@pytest.mark.parametrize("variant", ["plain", "causal", "bool", "float", "mask4", "scale"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_against_the_formula(b, h, n, s, e, variant, dtype):
    args = [draw(b, h, n, e, seed=1), draw(b, h, s, e, seed=2), draw(b, h, s, e, seed=3)]
    ours = [a.to(dtype).requires_grad_() for a in args]
    exact = [a.double().requires_grad_() for a in args]
    mask = None
    if variant == "bool":
        mask = draw(n, s, seed=4) > -0.5
        mask[0] = False  # a query that may look at nothing
    elif variant in ("float", "mask4"):
        mask = draw(n, s, seed=4) if variant == "float" else draw(b, 1, n, s, seed=4)
    kw = {"is_causal": variant == "causal", "scale": 0.3 if variant == "scale" else None}
    typed = mask if mask is None or mask.dtype == torch.bool else mask.to(dtype)
    y = sdpa(*ours, typed, **kw)
    assert y.grad_fn.name() == "ScaledDotProductFlashAttentionForCpuBackward0"
    want = by_hand(*exact, mask if mask is None or mask.dtype == torch.bool else mask.double(), kw["is_causal"], kw["scale"])
    tolerance = {"rtol": 1e-4, "atol": 1e-5} if dtype == torch.float32 else {"rtol": 1e-9, "atol": 1e-11}
    torch.testing.assert_close(y, want.to(dtype), **tolerance)
    if variant == "bool":
        assert (y[:, :, 0] == 0).all()
    g = draw(*y.shape, seed=5)
    got = torch.autograd.grad(y, ours, g.to(dtype))
    expected = torch.autograd.grad(want, exact, g.double())
    for a, c in zip(got, expected):
        torch.testing.assert_close(a, c.to(dtype), **tolerance)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_types(dtype):
    q, k, v = (draw(2, 3, 20, 16, seed=i).to(dtype) for i in range(3))
    y = sdpa(q, k, v, is_causal=True)
    assert y.dtype == dtype
    want = by_hand(q.float(), k.float(), v.float(), causal=True).to(dtype)
    torch.testing.assert_close(y, want, rtol=2e-2, atol=1e-2)
    assert fused(q, k, v)[1].dtype == torch.float32


def test_logsumexp_and_layouts():
    q, k, v = draw(2, 5, 3, 8).transpose(1, 2), draw(2, 6, 3, 8, seed=1).transpose(1, 2), draw(2, 6, 3, 8, seed=2).transpose(1, 2)
    y, lse = fused(q, k, v)
    assert y.stride() == q.stride() and lse.shape == (2, 3, 5) and lse.stride() == (15, 1, 3)
    torch.testing.assert_close(lse, (q @ k.transpose(-2, -1) / math.sqrt(8)).logsumexp(-1))
    assert torch.equal(y, fused(q.contiguous(), k.contiguous(), v.contiguous())[0])
    back = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward
    grads = back(torch.ones_like(y), q, k, v, y, lse, 0.0, False)
    assert [g.stride() for g in grads] == [(120, 8, 24, 1), (144, 8, 24, 1), (144, 8, 24, 1)]


def test_shared_heads():
    q, k, v = (draw(2, n, 10, 8, dtype=torch.float64, seed=n).requires_grad_() for n in (6, 3, 3))
    y = sdpa(q, k, v, enable_gqa=True)
    assert y.grad_fn.name() == "ScaledDotProductFlashAttentionForCpuBackward0"
    torch.testing.assert_close(y, by_hand(q, k.repeat_interleave(2, 1), v.repeat_interleave(2, 1)))
    assert gradcheck(lambda q, k, v: sdpa(q, k, v, enable_gqa=True), (q, k, v))
    one = draw(2, 1, 10, 8, dtype=torch.float64)
    torch.testing.assert_close(sdpa(q, one, one), by_hand(q, one, one))


def names(y):
    out, todo = [], [y.grad_fn]
    while todo:
        node = todo.pop()
        if node is not None:
            out.append(node.name())
            todo += [n for n, _ in node.next_functions]
    return out


def test_routes():
    q = draw(2, 3, 4, 8).requires_grad_()
    k, v = draw(2, 3, 5, 8, seed=1), draw(2, 3, 5, 8, seed=2)
    assert sdpa(q[0], k[0], v[0]).grad_fn.name() == "SqueezeBackward1"
    assert "ScaledDotProductFlashAttentionForCpuBackward0" in names(sdpa(q[0], k[0], v[0]))
    composed = {
        "mask with gradient": sdpa(q, k, v, draw(4, 5).requires_grad_()),
        "mask of 3": sdpa(q, k, v, draw(3, 4, 5)),
        "dropout": sdpa(q, k, v, None, 0.5),
        "two": sdpa(q[0, 0], k[0, 0], v[0, 0]),
        "five": sdpa(q[None], k[None], v[None]),
        "value": sdpa(q, k, v[..., :7]),
        "batch": sdpa(q, k[:1], v[:1]),
    }
    for y in composed.values():
        assert "SafeSoftmaxBackward0" in names(y)
    turned, k4 = q.transpose(2, 3), draw(2, 3, 5, 4)
    assert torch._fused_sdp_choice(turned, k4, k4) == 0
    assert torch.equal(sdpa(turned, k4, k4), sdpa(turned.contiguous(), k4, k4)) and sdpa(turned, k4, k4).is_contiguous()
    assert torch._fused_sdp_choice(q, k, v) == 1 and torch._fused_sdp_choice(q, k, v, None, 0.5) == 0


def test_composition():
    q, k, v = (draw(2, 4, n, dtype=torch.float64, seed=n).requires_grad_() for n in (8, 8, 7))
    mask = draw(4, 4, dtype=torch.float64).requires_grad_()
    torch.testing.assert_close(sdpa(q, k, v, mask), by_hand(q, k, v, mask))
    torch.testing.assert_close(sdpa(q, k, v, is_causal=True), by_hand(q, k, v, causal=True))
    torch.testing.assert_close(sdpa(q, k, v, scale=-0.7), by_hand(q, k, v, scale=-0.7))
    assert gradcheck(sdpa, (q, k, v, mask)) and gradgradcheck(sdpa, (q, k, v, mask))
    assert (sdpa(q, k, v, torch.zeros(4, 4, dtype=torch.bool)) == 0).all()
    y, weights = torch._scaled_dot_product_attention_math(q, k, v)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 4, dtype=torch.float64))
    torch.manual_seed(0)
    dropped = torch._scaled_dot_product_attention_math(q, k, v, None, 0.5)[1]
    assert ((dropped == 0) | torch.isclose(dropped, 2 * weights)).all() and (dropped == 0).any()


def test_composition_of_half_types_computes_in_float():
    q, k, v = (draw(4, n, 8, seed=n).bfloat16() for n in (3, 6, 6))
    y, weights = torch._scaled_dot_product_attention_math(q, k, v)
    exact, exact_weights = torch._scaled_dot_product_attention_math(q.float(), k.float(), v.float())
    assert torch.equal(y, exact.bfloat16()) and torch.equal(weights, exact_weights.bfloat16())


@pytest.mark.parametrize("how", [{}, {"is_causal": True, "scale": 0.3}, {"attn_mask": torch.tensor([[True, False, True, True, False]] * 4)}, {"enable_gqa": True}],
                         ids=["plain", "causal", "masked", "shared heads"])
def test_second_derivatives_are_those_of_the_composition(how):
    shared = 1 if "enable_gqa" in how else 2

    def second(attention):
        q, k, v = (draw(2, h, n, 6, seed=i).double().requires_grad_() for i, (h, n) in enumerate(((2, 4), (shared, 5), (shared, 5))))
        weights = draw(2, 2, 4, 6, seed=7).double()
        first = torch.autograd.grad((attention(q, k, v, **how) * weights).sin().sum(), (q, k, v), create_graph=True)
        return torch.autograd.grad(sum((g * g).sum() for g in first), (q, k, v))
    fused = second(sdpa)
    composed = second(lambda *a, **k: torch._scaled_dot_product_attention_math(*a, **k)[0])
    for f, c in zip(fused, composed):
        assert torch.allclose(f, c, rtol=1e-9, atol=1e-12)


def test_empty():
    q, k = draw(2, 3, 4, 8).requires_grad_(), draw(2, 3, 0, 8)
    y = sdpa(q, k, k)
    assert y.shape == (2, 3, 4, 8) and (y == 0).all()
    y.sum().backward()
    assert (q.grad == 0).all()
    assert sdpa(q[:, :, :0], draw(2, 3, 5, 8), draw(2, 3, 5, 8)).shape == (2, 3, 0, 8)


def test_rows_of_no_elements():
    """Without features all scores are 0, and every query gets the mean of the values that it may look at."""
    q, k = torch.zeros(1, 1, 2, 0, requires_grad=True), torch.zeros(1, 1, 3, 0)
    v = torch.arange(6.0).reshape(1, 1, 3, 2).requires_grad_()
    assert sdpa(q, k, v)[0, 0].tolist() == [[2, 3], [2, 3]]
    assert sdpa(q[0], k[0], v[0])[0].tolist() == [[2, 3], [2, 3]]
    assert sdpa(q, k, v, is_causal=True)[0, 0].tolist() == [[0, 1], [1, 2]]
    mask = torch.tensor([[True, False, True], [False, False, False]])
    assert sdpa(q, k, v, attn_mask=mask)[0, 0].tolist() == [[2, 3], [0, 0]]
    sdpa(q, k, v).sum().backward()
    assert torch.allclose(v.grad, torch.full((1, 1, 3, 2), 2 / 3)) and q.grad.shape == q.shape
    out, lse = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(q, k, k)
    assert out.shape == (1, 1, 2, 0) and (lse == 0).all()


def test_logsumexp_has_no_gradient():
    q = draw(1, 2, 4, 8).requires_grad_()
    out, lse = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(q, q, q)
    assert out.requires_grad and not lse.requires_grad


def test_bits_of_threads_and_batch():
    q, k, v = (draw(2, 3, 700, 40, seed=i).requires_grad_() for i in range(3))
    before = torch.get_num_threads()
    try:
        runs = []
        for threads in (1, 2):
            torch.set_num_threads(threads)
            y = sdpa(q, k, v, is_causal=True)
            runs.append((y, *torch.autograd.grad(y.sum(), (q, k, v))))
        assert all(torch.equal(a, b) for a, b in zip(*runs))
    finally:
        torch.set_num_threads(before)
    y = sdpa(q[1:], k[1:], v[1:], is_causal=True)
    assert torch.equal(y, runs[0][0][1:])
    assert torch.equal(torch.autograd.grad(y.sum(), k)[0][1], runs[0][2][1])
    one = sdpa(q[:, :, 650:651], k, v)
    assert torch.equal(one, sdpa(q, k, v)[:, :, 650:651])


@pytest.mark.parametrize(
    "call",
    [
        lambda q, k: sdpa(q, k, k, torch.zeros(4, 5), 0.0, True),
        lambda q, k: sdpa(q, k.double(), k.double()),
        lambda q, k: sdpa(q, k, k, torch.zeros(4, 5, dtype=torch.int64)),
        lambda q, k: sdpa(q, k, k, torch.zeros(4, 5, dtype=torch.float64)),
        lambda q, k: sdpa(q, k[..., :7], k),
        lambda q, k: sdpa(q, k, k[:, :, :4]),
        lambda q, k: sdpa(q[0, 0, 0], k[0, 0, 0], k[0, 0, 0]),
        lambda q, k: sdpa(q, k, k, None, 1.5),
        lambda q, k: sdpa(q, k[:, :2], k[:, :2], enable_gqa=True),
        lambda q, k: sdpa(q, k[:, :2], k[:, :2]),
    ],
)
def test_errors(call):
    with pytest.raises(RuntimeError):
        call(draw(2, 3, 4, 8), draw(2, 3, 5, 8))
