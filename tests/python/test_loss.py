"""Losses: values against their formulas, gradients of first and second order, the names of their nodes, types and errors."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch.autograd import gradcheck, gradgradcheck

nn = torch._C._nn


def draw(*shape, seed=0, dtype=torch.float64):
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


X, T = draw(3, 4) * 0.9 + 0.05, draw(3, 4, seed=1) * 0.9 + 0.05
SIGNS = torch.tensor([[1.0, -1, 1, -1], [-1, -1, 1, 1], [1, 1, 1, -1]], dtype=torch.float64)


def clamp(x, least):
    return x if x > least else least


# name: (operator of (input, target, reduction), second operand, formula of one element)
ELEMENTWISE = {
    "l1": (nn.l1_loss, T, lambda x, t: abs(x - t)),
    "mse": (nn.mse_loss, T, lambda x, t: (x - t) ** 2),
    "smooth_l1": (
        lambda x, t, r: nn.smooth_l1_loss(x, t, r, 0.3),
        T,
        lambda x, t: (x - t) ** 2 / 0.6 if abs(x - t) < 0.3 else abs(x - t) - 0.15,
    ),
    "huber": (
        lambda x, t, r: nn.huber_loss(x, t, r, 0.3),
        T,
        lambda x, t: (x - t) ** 2 / 2 if abs(x - t) <= 0.3 else 0.3 * (abs(x - t) - 0.15),
    ),
    "bce": (
        lambda x, t, r: nn.binary_cross_entropy(x, t, None, r),
        T,
        lambda x, t: -t * math.log(x) - (1 - t) * math.log(1 - x),
    ),
    "bce_logits": (
        lambda x, t, r: torch.binary_cross_entropy_with_logits(x, t, None, None, r),
        T,
        lambda x, t: math.log(1 + math.exp(x)) - t * x,
    ),
    "bce_logits_pos": (
        lambda x, t, r: torch.binary_cross_entropy_with_logits(x, t, None, x.new_full((4,), 2.5), r),
        T,
        lambda x, t: 2.5 * t * math.log(1 + math.exp(-x)) + (1 - t) * math.log(1 + math.exp(x)),
    ),
    "kl_div": (torch.kl_div, T, lambda x, t: t * (math.log(t) - x)),
    "kl_div_log": (
        lambda x, t, r: torch.kl_div(x, t, r, log_target=True),
        T,
        lambda x, t: math.exp(t) * (t - x),
    ),
    "poisson": (
        lambda x, t, r: torch.poisson_nll_loss(x, t, True, True, 1e-8, r),
        T * 4,
        lambda x, t: math.exp(x) - t * x + (t * math.log(t) - t + 0.5 * math.log(2 * math.pi * t) if t > 1 else 0),
    ),
    "soft_margin": (nn.soft_margin_loss, SIGNS, lambda x, t: math.log(1 + math.exp(-t * x))),
    "hinge": (
        lambda x, t, r: torch.hinge_embedding_loss(x, t, 0.5, r),
        SIGNS,
        lambda x, t: x if t == 1 else clamp(0.5 - x, 0),
    ),
}


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_values_and_reductions(name):
    f, t, formula = ELEMENTWISE[name]
    want = torch.tensor([[formula(x, y) for x, y in zip(a, b)] for a, b in zip(X.tolist(), t.tolist())], dtype=torch.float64)
    torch.testing.assert_close(f(X, t, 0), want)
    torch.testing.assert_close(f(X, t, 1), want.sum() / 12)
    torch.testing.assert_close(f(X, t, 2), want.sum())
    torch.testing.assert_close(f(X.float(), t.float(), 0), want.float())
    assert f(X.bfloat16(), t.bfloat16(), 1).dtype == torch.bfloat16
    assert f(X[:0], t[:0], 1).isnan() and f(X[:0], t[:0], 2) == 0
    assert f(X.to("meta"), t.to("meta"), 1).shape == ()


@pytest.mark.parametrize("name", ELEMENTWISE)
@pytest.mark.parametrize("reduction", [0, 1, 2])
def test_gradients(name, reduction):
    f, t, _ = ELEMENTWISE[name]
    both = t is not SIGNS
    args = (X.clone().requires_grad_(), t.clone().requires_grad_(both))
    assert gradcheck(lambda a, b: f(a, b, reduction), args)
    assert gradgradcheck(lambda a, b: f(a, b, reduction), args)


def test_weights():
    w, pos = draw(4, seed=2), draw(4, seed=3)
    x, t = X.clone().requires_grad_(), T.clone().requires_grad_()
    plain = nn.binary_cross_entropy(X, T, None, 0)
    torch.testing.assert_close(nn.binary_cross_entropy(X, T, w, 1), (plain * w).mean())
    assert gradcheck(lambda a, b: nn.binary_cross_entropy(a, b, w, 1), (x, t))
    assert gradgradcheck(lambda a, b: nn.binary_cross_entropy(a, b, w, 1), (x, t))
    assert gradcheck(lambda a, b: torch.binary_cross_entropy_with_logits(a, b, w, pos, 1), (x, t))
    assert gradgradcheck(lambda a, b: torch.binary_cross_entropy_with_logits(a, b, w, pos, 1), (x, t))
    assert nn.binary_cross_entropy(X.float(), T.float(), w, 0).dtype == torch.float32
    with pytest.raises(RuntimeError):
        nn.binary_cross_entropy(X, T, w.requires_grad_(), 1).backward()


def test_node_names():
    x, t = X.clone().requires_grad_(), T
    names = {
        "MseLossBackward0": nn.mse_loss(x, t, 1),
        "SmoothL1LossBackward0": nn.smooth_l1_loss(x, t, 1),
        "HuberLossBackward0": nn.huber_loss(x, t, 1),
        "BinaryCrossEntropyBackward0": nn.binary_cross_entropy(x, t),
        "BinaryCrossEntropyWithLogitsBackward0": torch.binary_cross_entropy_with_logits(x, t),
        "SoftMarginLossBackward0": nn.soft_margin_loss(x, t, 0),
        "MultiMarginLossBackward0": nn.multi_margin_loss(x, torch.tensor([0, 1, 2])),
        "MultilabelMarginLossBackward0": nn.multilabel_margin_loss(x, torch.zeros(3, 4, dtype=torch.int64)),
        "NormBackward1": F.pairwise_distance(x, t),
    }
    assert {y.grad_fn.name(): None for y in names.values()}.keys() == names.keys()
    (g,) = torch.autograd.grad(names["MseLossBackward0"], x, create_graph=True)
    assert g.grad_fn.name() == "MseLossBackwardBackward0"


def test_certain_and_wrong_is_finite():
    x, t = torch.tensor([0.0, 1.0, 0.0]), torch.tensor([1.0, 0.0, 0.0])
    assert nn.binary_cross_entropy(x, t, None, 0).tolist() == [100.0, 100.0, 0.0]
    logits = torch.tensor([1000.0, -1000.0])
    assert torch.binary_cross_entropy_with_logits(logits, torch.tensor([0.0, 1.0]), None, None, 0).tolist() == [1000.0, 1000.0]


@pytest.mark.parametrize(
    "call",
    [
        lambda: nn.binary_cross_entropy(X * 3, T),
        lambda: nn.binary_cross_entropy(X, T * 3),
        lambda: nn.binary_cross_entropy(X, T.float()),
        lambda: nn.binary_cross_entropy(X, T[:2]),
        lambda: nn.mse_loss(X, T[:2]),
        lambda: nn.mse_loss(X, T, 5),
        lambda: nn.smooth_l1_loss(X, T, 1, -1.0),
        lambda: nn.huber_loss(X, T, 1, 0.0),
        lambda: torch.kl_div(X, torch.ones(3, 4, dtype=torch.int64)),
        lambda: torch.margin_ranking_loss(X, T, T[0]),
        lambda: torch.cosine_embedding_loss(X, T, T),
        lambda: torch.triplet_margin_loss(X, T, T[0]),
        lambda: nn.multi_margin_loss(X, torch.tensor([0, 1, 4])),
        lambda: nn.multi_margin_loss(X, torch.tensor([0, 1])),
        lambda: nn.multi_margin_loss(X, torch.tensor([0, 1, 2]), 3),
        lambda: nn.multilabel_margin_loss(X, torch.full((3, 4), 4)),
        lambda: F.cosine_similarity(torch.ones(3, dtype=torch.int64), torch.ones(3, dtype=torch.int64), 0),
    ],
)
def test_errors(call):
    with pytest.raises(RuntimeError):
        call()


def test_unsupported_types():
    ints = torch.ones(3, 4, dtype=torch.int64)
    for f in (nn.mse_loss, nn.smooth_l1_loss, nn.huber_loss, nn.binary_cross_entropy):
        with pytest.raises(NotImplementedError):
            f(ints, ints)
    with pytest.raises(NotImplementedError):
        nn.multi_margin_loss(X.half(), torch.tensor([0, 1, 2]))


def test_multi_margin():
    t, w = torch.tensor([1, 0, 3]), draw(4, seed=4)
    for p in (1, 2):
        want = torch.stack(
            [
                sum(w[t[i]] * (0.7 - X[i, t[i]] + X[i, j]).clamp(min=0) ** p for j in range(4) if j != t[i]) / 4
                for i in range(3)
            ]
        )
        torch.testing.assert_close(nn.multi_margin_loss(X, t, p, 0.7, w, 0), want)
        torch.testing.assert_close(nn.multi_margin_loss(X, t, p, 0.7, w, 1), want.mean())
        assert gradcheck(lambda x: nn.multi_margin_loss(x, t, p, 0.7, w, 1), X.clone().requires_grad_())
    assert nn.multi_margin_loss(X[0], torch.tensor(2), reduction=0).shape == ()
    assert nn.multi_margin_loss(X[0], torch.tensor([2]), reduction=0).shape == (1,)
    x = X.clone().requires_grad_()
    (g,) = torch.autograd.grad(nn.multi_margin_loss(x, t, reduction=1), x, create_graph=True)
    with pytest.raises(RuntimeError):
        g.sum().backward()


def test_multilabel_margin():
    # targets of a row end at -1; what follows counts for nothing
    t = torch.tensor([[3, 0, -1, 1], [-1, 0, 1, 2], [0, 1, 2, 3]])
    own = [[3, 0], [], [0, 1, 2, 3]]
    want = torch.stack(
        [
            sum(
                ((1 - X[i, j] + X[i, d]).clamp(min=0) for j in own[i] for d in range(4) if d not in own[i]),
                start=torch.tensor(0.0, dtype=torch.float64),
            )
            / 4
            for i in range(3)
        ]
    )
    torch.testing.assert_close(nn.multilabel_margin_loss(X, t, 0), want)
    torch.testing.assert_close(nn.multilabel_margin_loss(X, t, 1), want.mean())
    assert gradcheck(lambda x: nn.multilabel_margin_loss(x, t, 2), X.clone().requires_grad_())
    marks = torch.ops.aten.multilabel_margin_loss_forward(X, t, 0)[1]
    assert marks.tolist() == [[1, 0, 0, 1], [0, 0, 0, 0], [1, 1, 1, 1]]


def test_distances():
    a, b = X.clone().requires_grad_(), T.clone().requires_grad_()
    for p in (1.0, 1.5, 2.0, 3.0, math.inf):
        want = torch.linalg.vector_norm(X - T + 1e-6, p, -1)
        torch.testing.assert_close(F.pairwise_distance(X, T, p), want)
        assert gradcheck(lambda x, y: F.pairwise_distance(x, y, p), (a, b))
    assert F.pairwise_distance(X, T, keepdim=True).shape == (3, 1)
    want = (X * T).sum(-1) / (X.norm(dim=-1) * T.norm(dim=-1))
    torch.testing.assert_close(F.cosine_similarity(X, T, -1), want)
    torch.testing.assert_close(F.cosine_similarity(X, T[0], -1)[0], want[0])
    assert F.cosine_similarity(X * 0, T).tolist() == [0.0] * 3
    assert gradcheck(F.cosine_similarity, (a, b)) and gradgradcheck(F.cosine_similarity, (a, b))


def test_composites():
    a, b, c = X.clone().requires_grad_(), T.clone().requires_grad_(), draw(3, 4, seed=5).requires_grad_()
    y = torch.tensor([1.0, -1.0, 1.0], dtype=torch.float64)
    cos = F.cosine_similarity(X, T, -1)
    want = torch.where(y == 1, 1 - cos, (cos - 0.2).clamp(min=0))
    torch.testing.assert_close(torch.cosine_embedding_loss(X, T, y, 0.2, 0), want)
    want = (F.pairwise_distance(X, T) - F.pairwise_distance(X, c.detach()) + 1).clamp(min=0)
    torch.testing.assert_close(torch.triplet_margin_loss(X, T, c.detach(), reduction=0), want)
    want = (-SIGNS * (X - T) + 0.1).clamp(min=0).mean()
    torch.testing.assert_close(torch.margin_ranking_loss(X, T, SIGNS, 0.1, 1), want)
    assert gradcheck(lambda i, j: torch.cosine_embedding_loss(i, j, y, 0.2, 1), (a, b))
    assert gradcheck(lambda i, j, k: torch.triplet_margin_loss(i, j, k, swap=True), (a, b, c))


def test_bits_of_threads_and_strides():
    x, t = draw(300, 1000, dtype=torch.float32), draw(300, 1000, seed=1, dtype=torch.float32)
    before = torch.get_num_threads()
    try:
        for f in (nn.mse_loss, nn.huber_loss, nn.binary_cross_entropy, torch.binary_cross_entropy_with_logits):
            torch.set_num_threads(1)
            one = f(x, t, reduction=1)
            torch.set_num_threads(2)
            assert torch.equal(one, f(x, t, reduction=1))
            assert torch.equal(one, f(x.t().contiguous().t(), t, reduction=1))
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("f, name", [(nn.smooth_l1_loss, "beta"), (nn.huber_loss, "delta")])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_nan_has_a_gradient_of_nan(f, name, dtype):
    for count in (1, 19):
        for at in (0, 1):
            pair = [torch.zeros(count, dtype=dtype).requires_grad_() for _ in range(2)]
            pair[at].data.fill_(math.nan)
            g = torch.autograd.grad(f(*pair, 2, 0.5), pair, create_graph=True)
            assert all(t.isnan().all() for t in g)
            assert all(torch.equal(h, torch.zeros_like(h)) for h in torch.autograd.grad(g[0].sum(), pair))


def test_the_edges_of_distances():
    def gradients(f, x, number):
        x, t = torch.tensor([x], requires_grad=True), torch.zeros(1, requires_grad=True)
        g = torch.autograd.grad(f(x, t, 0, number), [x, t], torch.ones(1), create_graph=True)
        return [v.item() for v in (*g, *torch.autograd.grad(g[0], [x, t]))]

    assert gradients(nn.smooth_l1_loss, 0.5, 0.5) == [1, -1, 0, 0] and gradients(nn.smooth_l1_loss, -0.5, 0.5) == [-1, 1, 0, 0]
    assert gradients(nn.smooth_l1_loss, 0.25, 0.5) == [0.5, -0.5, 2, -2] and gradients(nn.smooth_l1_loss, 2.0, 0.0) == [1, -1, 0, 0]
    assert gradients(nn.smooth_l1_loss, 0.0, 0.0) == [-1, -1, 0, 0] and F.smooth_l1_loss(torch.zeros(1), torch.zeros(1), beta=0.0) == 0
    assert gradients(nn.huber_loss, 0.5, 0.5) == [0.5, -0.5, 0, 0] and gradients(nn.huber_loss, 0.25, 0.5) == [0.25, -0.25, 1, -1]


def test_counts_of_integers_leave_the_type():
    x, counts = torch.ones(2, dtype=torch.float16), torch.tensor([3, 1])
    assert F.poisson_nll_loss(x, counts, full=True).dtype == torch.float16
    want = F.poisson_nll_loss(x.float(), counts, full=True, reduction="none")
    torch.testing.assert_close(F.poisson_nll_loss(x, counts, full=True, reduction="none"), want.half(), rtol=2e-3, atol=0)
