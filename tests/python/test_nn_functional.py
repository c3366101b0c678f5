"""Functions of `nn.functional` against their formulas, and what they do with bad input."""

import math

import pytest

pytest.importorskip("torch._C")
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402

if any(
    not hasattr(torch, n)
    for n in ("relu", "sub", "lt", "std", "allclose", "matmul", "conv2d", "batch_norm")
):
    pytest.skip("the operators of layers are needed", allow_module_level=True)

X = torch.tensor([[-2.0, -0.5, 0.0, 0.5, 3.0]])


def needs(home, *names):
    """Skips a test of operators that the core does not have yet."""
    return pytest.mark.skipif(
        any(not hasattr(home, n) for n in names), reason=f"needs the operators {names}"
    )


def close(a, b, tol=1e-6):
    return torch.allclose(a, torch.as_tensor(b, dtype=a.dtype), atol=tol, rtol=1e-5)


@pytest.mark.parametrize(
    "f, g",
    [
        (F.relu, lambda x: max(x, 0)),
        (F.relu6, lambda x: min(max(x, 0), 6)),
        (F.elu, lambda x: x if x > 0 else math.exp(x) - 1),
        (F.celu, lambda x: max(0, x) + min(0, math.exp(x) - 1)),
        (F.leaky_relu, lambda x: x if x > 0 else 0.01 * x),
        (F.silu, lambda x: x / (1 + math.exp(-x))),
        (F.mish, lambda x: x * math.tanh(math.log1p(math.exp(x)))),
        (F.hardtanh, lambda x: min(max(x, -1), 1)),
        (F.hardsigmoid, lambda x: min(max(x + 3, 0), 6) / 6),
        (F.hardswish, lambda x: x * min(max(x + 3, 0), 6) / 6),
        (F.softsign, lambda x: x / (1 + abs(x))),
        (F.tanhshrink, lambda x: x - math.tanh(x)),
        (F.softplus, lambda x: math.log1p(math.exp(x))),
        (F.logsigmoid, lambda x: -math.log1p(math.exp(-x))),
        (F.gelu, lambda x: x * (1 + math.erf(x / math.sqrt(2))) / 2),
        (F.hardshrink, lambda x: x if abs(x) > 0.5 else 0),
        (F.softshrink, lambda x: math.copysign(max(abs(x) - 0.5, 0), x)),
    ],
)
def test_activation(f, g):
    assert close(f(X), [[g(v) for v in X[0].tolist()]])


@pytest.mark.parametrize(
    "f",
    [
        F.relu,
        F.elu,
        F.silu,
        F.mish,
        F.leaky_relu,
        F.hardtanh,
        F.relu6,
        F.hardswish,
        F.hardsigmoid,
        F.selu,
        F.celu,
    ],
)
def test_in_place_is_the_same(f):
    x = X.clone()
    y = f(x, inplace=True)
    assert y is x and close(x, f(X))


def test_softmaxes():
    e = [math.exp(v) for v in X[0].tolist()]
    assert close(F.softmax(X, 1), [[v / sum(e) for v in e]])
    assert close(F.log_softmax(X, 1), [[math.log(v / sum(e)) for v in e]])
    assert close(F.softmin(-X, 1), F.softmax(X, 1))
    assert F.softmax(X, 1, dtype=torch.float64).dtype == torch.float64
    with pytest.warns(UserWarning):
        assert close(F.softmax(X), F.softmax(X, 1))


@needs(torch.Tensor, "scatter_", "exponential_")
def test_gumbel_softmax():
    torch.manual_seed(0)
    hard = F.gumbel_softmax(X, hard=True)
    assert hard.sum() == 1 and set(hard[0].tolist()) <= {0.0, 1.0}


def test_dropout():
    x = torch.ones(1000)
    torch.manual_seed(0)
    y = F.dropout(x, 0.25)
    assert sorted(set(y.tolist())) == pytest.approx([0.0, 4 / 3])
    assert abs((y == 0).float().mean().item() - 0.25) < 0.05
    assert F.dropout(x, 0.5, training=False) is x or torch.equal(F.dropout(x, 0.5, False), x)
    for p in (-0.1, 1.1):
        with pytest.raises(ValueError):
            F.dropout(x, p)
    z = F.dropout2d(torch.ones(4, 8, 3, 3), 0.5).flatten(2)
    assert torch.equal(z.min(-1).values, z.max(-1).values)
    with pytest.raises(RuntimeError):
        F.dropout1d(torch.ones(2))


INPUT = torch.tensor([[1.0, 2.0, 0.5], [0.1, -1.0, 0.3]])
TARGET = torch.tensor([2, 0])


def test_cross_entropy_and_its_options():
    lp = F.log_softmax(INPUT, 1)
    each = [-lp[0, 2].item(), -lp[1, 0].item()]
    assert close(F.cross_entropy(INPUT, TARGET), sum(each) / 2)
    assert close(F.cross_entropy(INPUT, TARGET, reduction="none"), each)
    assert close(F.cross_entropy(INPUT, TARGET, reduction="sum"), sum(each))
    w = torch.tensor([3.0, 1.0, 0.5])
    expected = (0.5 * each[0] + 3 * each[1]) / 3.5
    assert close(F.cross_entropy(INPUT, TARGET, weight=w), expected)
    assert close(F.cross_entropy(INPUT, TARGET, ignore_index=2), each[1])
    smooth = [0.9 * e - 0.1 * lp[i].mean().item() for i, e in enumerate(each)]
    assert close(F.cross_entropy(INPUT, TARGET, label_smoothing=0.1), sum(smooth) / 2)
    p = torch.tensor([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    assert close(F.cross_entropy(INPUT, p), sum(each) / 2)
    with pytest.raises(ValueError):
        F.cross_entropy(INPUT, TARGET, reduction="nothing")


@pytest.mark.parametrize(
    "f, g",
    [
        (F.l1_loss, lambda a, b: abs(a - b)),
        (F.mse_loss, lambda a, b: (a - b) ** 2),
        (F.smooth_l1_loss, lambda a, b: (a - b) ** 2 / 2 if abs(a - b) < 1 else abs(a - b) - 0.5),
        (F.huber_loss, lambda a, b: (a - b) ** 2 / 2 if abs(a - b) < 1 else abs(a - b) - 0.5),
        (F.binary_cross_entropy_with_logits, lambda a, b: math.log1p(math.exp(a)) - a * b),
        (F.soft_margin_loss, lambda a, b: math.log1p(math.exp(-a * b))),
    ],
)
def test_elementwise_losses(f, g):
    a, b = [0.3, -1.5, 2.0], [1.0, 0.5, -0.2]
    each = [g(x, y) for x, y in zip(a, b)]
    ta, tb = torch.tensor(a), torch.tensor(b)
    assert close(f(ta, tb, reduction="none"), each)
    assert close(f(ta, tb), sum(each) / 3)
    assert close(f(ta, tb, reduction="sum"), sum(each))


def test_weighted_losses():
    a, b, w = torch.tensor([1.0, 2.0]), torch.tensor([0.0, 5.0]), torch.tensor([1.0, 3.0])
    assert close(F.mse_loss(a, b, weight=w), (1 + 27) / 4)
    assert close(F.l1_loss(a, b, weight=w, reduction="sum"), 10.0)
    assert close(F.huber_loss(a, b, weight=w), (0.5 + 7.5) / 2)
    with pytest.raises(ValueError):
        F.mse_loss(a, b, weight=w[:1])


def test_kl_gaussian_poisson_and_margin_losses():
    q = torch.tensor([[0.2, 0.8], [0.5, 0.5]])
    p = torch.tensor([[0.6, 0.4], [0.1, 0.9]])
    each = [
        [y * (math.log(y) - math.log(x)) for x, y in zip(a, b)]
        for a, b in zip(q.tolist(), p.tolist())
    ]
    assert close(F.kl_div(q.log(), p, reduction="batchmean"), sum(map(sum, each)) / 2)
    assert close(F.kl_div(q.log(), p.log(), reduction="none", log_target=True), each)
    x, t, v = torch.tensor([1.0]), torch.tensor([3.0]), torch.tensor([2.0])
    assert close(F.gaussian_nll_loss(x, t, v), 0.5 * (math.log(2) + 2))
    with pytest.raises(ValueError):
        F.gaussian_nll_loss(x, t, -v)
    assert close(F.poisson_nll_loss(x, t), math.e - 3)
    assert close(F.margin_ranking_loss(x, t, torch.tensor([1.0]), margin=0.5), 2.5)
    assert close(F.hinge_embedding_loss(t, torch.tensor([-1.0]), margin=5.0), 2.0)
    with pytest.raises(ValueError):
        F.triplet_margin_loss(q, p, q, margin=0)
    with pytest.raises(ValueError):
        F.binary_cross_entropy(q, p[:1])


def test_linear_cross_entropy_in_chunks_is_the_same():
    from torch.nn import LinearCrossEntropyOptions

    torch.manual_seed(0)
    x, t = torch.randn(7, 4), torch.tensor([0, 1, 2, 3, 4, 0, 1])
    grads = []
    for options in (None, LinearCrossEntropyOptions(batch_chunk_size=2)):
        a = x.clone().requires_grad_()
        w = torch.linspace(-1, 1, 20).reshape(5, 4).requires_grad_()
        loss = F.linear_cross_entropy(a, w, t, options=options, ignore_index=3)
        loss.backward()
        grads.append((loss.detach(), a.grad, w.grad))
    assert all(close(g, h) for g, h in zip(*grads))
    with pytest.raises(RuntimeError):
        loss.backward()


@needs(torch._C._nn, "max_unpool2d")
def test_pooling_and_back():
    x = torch.arange(16.0).reshape(1, 1, 4, 4)
    y, i = F.max_pool2d(x, 2, return_indices=True)
    assert y.flatten().tolist() == [5, 7, 13, 15] and i.flatten().tolist() == [5, 7, 13, 15]
    assert F.max_unpool2d(y, i, 2).sum() == 40
    assert F.avg_pool2d(x, 2).flatten().tolist() == [2.5, 4.5, 10.5, 12.5]
    assert F.adaptive_avg_pool2d(x, (1, None)).flatten().tolist() == [6, 7, 8, 9]
    assert F.lp_pool2d(x, 1, 2).flatten().tolist() == [10, 18, 42, 50]
    with pytest.raises(ValueError):
        F.max_unpool2d(y, i, 2, output_size=(9, 9))


def test_normalisations():
    x = torch.arange(24.0).reshape(2, 3, 4)
    y = F.layer_norm(x, (4,))
    assert close(y.mean(-1), torch.zeros(2, 3)) and close(
        y.var(-1, correction=0), torch.ones(2, 3), 1e-4
    )
    assert close(F.rms_norm(x[:1, :1], (4,), eps=0.0), x[:1, :1] / math.sqrt(14 / 4))
    mean, var = torch.zeros(3), torch.ones(3)
    F.batch_norm(x, mean, var, training=True, momentum=0.5)
    assert close(mean, x.mean((0, 2)) / 2)
    assert close(F.group_norm(x, 1), F.layer_norm(x, (3, 4)))
    assert close(F.instance_norm(x), F.layer_norm(x, (4,)))
    assert close(F.normalize(x, dim=-1).norm(dim=-1), torch.ones(2, 3))
    for f in (
        lambda: F.batch_norm(x[:1, :, :1], mean, var, training=True),
        lambda: F.instance_norm(x[:, :, :1]),
        lambda: F.local_response_norm(x[0], 3),
    ):
        with pytest.raises(ValueError):
            f()


@needs(torch, "embedding_bag")
def test_embedding():
    w = torch.arange(8.0).reshape(4, 2)
    assert F.embedding(torch.tensor([[3, 0]]), w).tolist() == [[[6, 7], [0, 1]]]
    assert F.embedding_bag(torch.tensor([[0, 1], [2, 3]]), w, mode="sum").tolist() == [
        [2, 4],
        [10, 12],
    ]
    assert F.embedding_bag(
        torch.tensor([0, 1, 3]), w, torch.tensor([0, 2]), mode="max"
    ).tolist() == [[2, 3], [6, 7]]
    with pytest.raises(AssertionError):
        F.embedding(torch.tensor([0]), w, padding_idx=4)
    for f in (
        lambda: F.embedding_bag(torch.tensor([0]), w),
        lambda: F.embedding_bag(torch.tensor([[0]]), w, mode="x"),
    ):
        with pytest.raises(ValueError):
            f()


@needs(torch._C._nn, "upsample_nearest1d", "upsample_linear1d")
def test_interpolate():
    x = torch.tensor([[[0.0, 2.0]]])
    assert F.interpolate(x, 4).tolist() == [[[0, 0, 2, 2]]]
    assert F.interpolate(x, 3, mode="linear", align_corners=True).tolist() == [[[0, 1, 2]]]
    assert F.interpolate(x, scale_factor=2, mode="linear").tolist() == [[[0, 0.5, 1.5, 2]]]
    for kw, error in (
        (dict(), ValueError),
        (dict(size=2, scale_factor=2), ValueError),
        (dict(size=(2, 2)), ValueError),
        (dict(size=2, align_corners=True), ValueError),
        (dict(size=2, mode="bilinear"), NotImplementedError),
        (dict(size=2, mode="nothing"), NotImplementedError),
        (dict(size=2, antialias=True), ValueError),
    ):
        with pytest.raises(error):
            F.interpolate(x, **kw)


def test_public_names_are_pickled_by_the_public_module():
    import pickle

    assert F.relu.__module__ == "torch.nn.functional"
    assert pickle.loads(pickle.dumps(F.cross_entropy)) is F.cross_entropy


def test_subclasses_and_modes_see_the_functions():
    from torch.overrides import TorchFunctionMode

    seen = []

    class Log(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    with Log():
        F.relu(X)
        F.cross_entropy(INPUT, TARGET)
    assert seen[0] is F.relu and F.cross_entropy in seen


@pytest.mark.parametrize("mean, var", [(torch.zeros(4), None), (None, torch.ones(4))])
def test_one_running_statistic_alone(mean, var):
    x = torch.arange(12.0).reshape(3, 4)
    for f in (lambda: torch.batch_norm(x, None, None, mean, var, True, 0.1, 1e-5, False), lambda: torch.native_batch_norm(x, None, None, mean, var, True, 0.1, 1e-5),
              lambda: torch.native_batch_norm(x, None, None, mean, var, False, 0.1, 1e-5)):
        with pytest.raises(ValueError, match="running_var is None" if var is None else "running_mean is None"):
            f()
    with pytest.raises(RuntimeError, match="evaluation"):
        torch.batch_norm(x, None, None, mean, var, False, 0.1, 1e-5, False)
    assert torch.batch_norm(x, None, None, None, None, True, 0.1, 1e-5, False).shape == (3, 4)
