"""Checkpointing: the gradients of plain backward, what is kept, and what happens twice."""
import pytest

pytest.importorskip("torch._C")
import torch  # noqa: E402
from torch.utils.checkpoint import CheckpointError, checkpoint, checkpoint_sequential  # noqa: E402


def body(x, w):
    return (torch.sin(x @ w) * x).exp().sum()


def tensors():
    torch.manual_seed(0)
    return (torch.randn(3, 3, requires_grad=True), torch.randn(3, 3, requires_grad=True))


@pytest.mark.parametrize("reentrant", [False, True])
def test_gradients_are_those_without(reentrant):
    x, w = tensors()
    body(x, w).backward()
    want = x.grad.tolist(), w.grad.tolist()
    x, w = tensors()
    runs = []

    def counted(x, w):
        runs.append(torch.is_grad_enabled())
        return body(x, w)

    loss = checkpoint(counted, x, w, use_reentrant=reentrant)
    loss.backward()
    assert (x.grad.tolist(), w.grad.tolist()) == want
    assert runs == [not reentrant, True]


@pytest.mark.parametrize("reentrant", [False, True])
def test_random_numbers_are_drawn_again(reentrant):
    x = torch.ones(1000, requires_grad=True)
    seen = []

    def f(x):
        y = torch.nn.functional.dropout(x, 0.5)
        seen.append(y.detach().clone())
        return y * y

    checkpoint(f, x, use_reentrant=reentrant).sum().backward()
    after = torch.rand(1)
    assert torch.equal(seen[0], seen[1])
    assert not torch.equal(torch.rand(1), after)
    assert checkpoint(f, x, use_reentrant=reentrant, preserve_rng_state=False) is not None


def test_without_reentry():
    x, w = tensors()
    want = torch.autograd.grad(body(x, w), [x, w])
    got = torch.autograd.grad(checkpoint(body, x, w, use_reentrant=False), [x, w])
    assert [g.tolist() for g in got] == [g.tolist() for g in want]
    # twice through the same graph, keywords, no input with a gradient
    loss = checkpoint(lambda x, k: (x * x * k).sum(), x, k=w, use_reentrant=False)
    first = torch.autograd.grad(loss, [x, w], retain_graph=True)
    second = torch.autograd.grad(loss, [x, w])
    assert [g.tolist() for g in first] == [g.tolist() for g in second]
    inner = checkpoint(lambda y: checkpoint(lambda z: (z * w).sin(), y, use_reentrant=False) * y,
                       torch.ones(3, 3), use_reentrant=False)
    inner.sum().backward()
    assert torch.allclose(w.grad, torch.cos(w.detach()))


def test_the_two_runs_must_agree():
    x = torch.ones(2, requires_grad=True)
    count = [0]

    def other_shape(x):
        count[0] += 1
        return (x * torch.ones(2 if count[0] == 1 else 1)).sum()

    with pytest.raises(CheckpointError, match="other tensors"):
        checkpoint(other_shape, x, use_reentrant=False).backward()
    count[0] = 0

    def fewer(x):
        count[0] += 1
        return ((x * x).exp() if count[0] == 1 else x * 2).sum()

    with pytest.raises(CheckpointError):
        checkpoint(fewer, x, use_reentrant=False).backward()


def test_sequence_and_arguments():
    layers = torch.nn.Sequential(*[torch.nn.Linear(3, 3) for _ in range(4)])
    x = torch.ones(2, 3)
    out = checkpoint_sequential(layers, 2, x, use_reentrant=False)
    assert torch.equal(out, layers(x))
    with pytest.raises(ValueError, match="keywords"):
        checkpoint(lambda x, k: x, torch.ones(1, requires_grad=True), use_reentrant=True, k=1)
    with pytest.warns(UserWarning, match="use_reentrant"):
        checkpoint(lambda x: x * 2, torch.ones(1, requires_grad=True))
