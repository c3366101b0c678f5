"""ctc_loss against the sum over all paths."""

import itertools
import math

import pytest
import torch
import torch.nn.functional as F
from torch.autograd import gradcheck


def log_probs(steps, batch, classes, seed=0):
    x = torch.randn(steps, batch, classes, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return x.log_softmax(-1)


def by_paths(lp, target, blank=0):
    """-log of the probability of all paths (T, C) that say target."""
    total = 0.0
    for path in itertools.product(range(lp.size(1)), repeat=lp.size(0)):
        said = [c for c, _ in itertools.groupby(path) if c != blank]
        if said == list(target):
            total += math.exp(sum(lp[t, c].item() for t, c in enumerate(path)))
    return -math.log(total) if total else math.inf


@pytest.mark.parametrize("blank", [0, 2])
def test_against_all_paths(blank):
    lp = log_probs(5, 4, 3)
    a, b = [c for c in range(3) if c != blank]
    targets = [[a, a], [a, b, a], [], [b]]
    lengths = [5, 4, 3, 5]
    padded = torch.tensor([t + [a] * (3 - len(t)) for t in targets])
    sizes = [len(t) for t in targets]
    want = torch.tensor([by_paths(lp[:n, i], t, blank) for i, (t, n) in enumerate(zip(targets, lengths))], dtype=torch.float64)
    loss = F.ctc_loss(lp, padded, lengths, sizes, blank, reduction="none")
    torch.testing.assert_close(loss, want)
    joined = torch.tensor([c for t in targets for c in t])
    assert torch.equal(F.ctc_loss(lp, joined, lengths, sizes, blank, reduction="none"), loss)
    tensors = torch.tensor(lengths), torch.tensor(sizes)
    assert torch.equal(F.ctc_loss(lp, padded.int(), *tensors, blank, reduction="none"), loss)
    torch.testing.assert_close(F.ctc_loss(lp, padded, lengths, sizes, blank, reduction="sum"), want.sum())
    mean = (want / torch.tensor(sizes).clamp(min=1)).mean()
    torch.testing.assert_close(F.ctc_loss(lp, padded, lengths, sizes, blank), mean)
    torch.testing.assert_close(F.ctc_loss(lp[:, 1], padded[1], (4,), (3,), blank, reduction="none"), want[1])


def test_gradients():
    x = torch.randn(6, 3, 4, dtype=torch.float64, requires_grad=True)
    targets = torch.tensor([[1, 1, 2], [3, 2, 1], [2, 0, 0]])

    def loss(x):  # the derivative takes its argument for a result of log_softmax
        return F.ctc_loss(x.log_softmax(-1), targets, (6, 5, 4), (3, 2, 1), reduction="none")

    assert gradcheck(loss, x)
    lp = x.log_softmax(-1)
    y = F.ctc_loss(lp, targets, (6, 5, 4), (3, 2, 1), reduction="none")
    assert y.grad_fn.name() == "CtcLossBackward0"
    (g,) = torch.autograd.grad(y.sum(), lp)
    assert (g[5, 1] == 0).all() and (g[4:, 2] == 0).all()


def test_targets_that_do_not_fit():
    lp = log_probs(3, 2, 4).requires_grad_()
    targets = torch.tensor([[1, 1, 2], [1, 2, 3]])
    loss = F.ctc_loss(lp, targets, (3, 3), (3, 3), reduction="none")
    assert loss[0] == math.inf and loss[1].isfinite()
    loss = F.ctc_loss(lp, targets, (3, 3), (3, 3), reduction="none", zero_infinity=True)
    assert loss[0] == 0 and loss.grad_fn.name() == "WhereBackward0"
    (g,) = torch.autograd.grad(loss.sum(), lp)
    assert (g[:, 0] == 0).all() and (g[:, 1] != 0).any()
    loss = F.ctc_loss(lp, targets, (0, 0), (0, 1), reduction="none")
    assert loss.tolist() == [0.0, math.inf]


@pytest.mark.parametrize(
    "kw",
    [
        {"blank": 7},
        {"input_lengths": (6, 5)},
        {"input_lengths": (-1, 5)},
        {"input_lengths": (5,)},
        {"target_lengths": (4, 3)},
        {"target_lengths": (-1, 3)},
        {"targets": torch.tensor([[1, 2, 9], [1, 2, 3]])},
        {"targets": torch.tensor([1, 2, 3, 1, 2])},
        {"log_probs": log_probs(5, 2, 4)[None]},
        {"log_probs": log_probs(5, 2, 4).half()},
        {"log_probs": log_probs(5, 0, 4), "targets": torch.zeros(0, 3, dtype=torch.int64), "input_lengths": (), "target_lengths": ()},
        {"input_lengths": torch.tensor([5.0, 5.0]), "target_lengths": torch.tensor([3, 3])},
    ],
)
def test_errors(kw):
    args = {"log_probs": log_probs(5, 2, 4), "targets": torch.tensor([[1, 2, 3], [1, 2, 3]]), "input_lengths": (5, 5), "target_lengths": (3, 3)}
    with pytest.raises(RuntimeError):
        F.ctc_loss(**{**args, **kw})
