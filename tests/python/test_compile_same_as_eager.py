"""Graphs whose compiled code once was not what eager gives, by kind."""
import threading

import pytest
import torch
import torch.nn.functional as F

from python.compiling import fresh  # noqa: F401

HALVES = [torch.float16, torch.bfloat16]


def _grad(f, x):
    x = x.clone().requires_grad_()
    f(x).sum().backward()
    return x.grad


@pytest.mark.parametrize("backend", ["inductor", "aot_eager"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("f", [lambda x: x.cumprod(0), lambda x: x.prod(0), lambda x: x.prod(), lambda x: x.masked_fill(x > 0, 1).cumprod(-1)])
def test_a_gradient_that_hangs_on_values_is_eagers(f, zeros, dtype, backend):
    torch.manual_seed(0)
    x = torch.randn(17, 3).to(dtype)
    if zeros:
        x[5] = 0
    assert torch.equal(_grad(torch.compile(f, backend=backend), x), _grad(f, x))


def test_guesses_are_allowed_again_behind_a_graph():
    torch.compile(lambda x: x.cumprod(0))(torch.ones(3, requires_grad=True))
    assert torch._C._may_guess(True) is True


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("f", [lambda x: F.celu(x) * 2, lambda x: F.celu(x.reciprocal()), lambda x: F.celu(torch.where(x > 0, x, 0)),
                               lambda x: torch.where(x < 0, x, 0) + 1, lambda x: torch.where(x > 0, x, 0) * 2, lambda x: x.clamp(max=0) - x,
                               lambda x: torch.minimum(x, -x) / x])
def test_comparisons_of_halves_are_made_of_no_library_calls(f, dtype):
    x = torch.tensor([-3.0, -1, -0.5, -0.0, 0.0, 0.5, 1, 30, float("inf"), float("-inf"), float("nan")] * 3, dtype=dtype)
    for n in (3, 33):
        got, expected = torch.compile(f, fullgraph=True)(x[-n:]), f(x[-n:])
        assert torch.equal(got.isnan(), expected.isnan())
        assert torch.equal(got.nan_to_num().view(torch.int16), expected.nan_to_num().view(torch.int16))


@pytest.mark.parametrize("f", [lambda x: x * 2, lambda x: x + torch.ones(x.shape[-1]), lambda x: torch.lt(x, x.sum(0, keepdim=True)),
                               lambda x: x.double(), lambda x: torch.where(x > 0, x, 0), lambda x: (x * 2).expand(2, *x.shape) * 2])
@pytest.mark.parametrize("x", [torch.rand(1, 17).t(), torch.rand(17, 4)[:, :1], torch.rand(17, 3).t()[:1], torch.rand(2, 5, 1).transpose(1, 2),
                               torch.rand(1, 5, 2).permute(2, 1, 0)], ids=lambda x: f"{tuple(x.shape)}{x.stride()}")
def test_strides_of_dimensions_of_size_one(f, x):
    got, expected = torch.compile(f)(x), f(x)
    assert got.stride() == expected.stride() and torch.equal(got, expected)


@pytest.mark.parametrize("backend", ["inductor", "aot_eager", "eager"])
def test_hooks_on_saved_tensors_are_of_a_call(backend):
    """They see what the call saves, once, and are no part of its graph."""
    packed = []

    def pack(t):
        packed.append(t)
        return t
    f = torch.compile(lambda x: (x * x).sum(), backend=backend)
    x, y, z = (torch.ones(2, requires_grad=True) for _ in range(3))
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t * 2):
        f(x).backward()
    assert torch.equal(x.grad, torch.full((2,), 4.0)) and 1 <= len(packed) <= 2
    f(y).backward()
    assert torch.equal(y.grad, torch.full((2,), 2.0)) and len(packed) <= 2
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t * 3):
        f(z).backward()
    assert torch.equal(z.grad, torch.full((2,), 6.0))


def test_hooks_on_saved_tensors_are_of_a_thread():
    meet, grads = threading.Barrier(2), {}

    def work(factor):
        x = torch.ones(3, requires_grad=True)
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t * factor):
            meet.wait(30)
            y = (x * x).sum()
            meet.wait(30)
        y.backward()
        grads[factor] = x.grad
    threads = [threading.Thread(target=work, args=(k,)) for k in (2, 5)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert torch.equal(grads[2], torch.full((3,), 4.0)) and torch.equal(grads[5], torch.full((3,), 10.0))


@pytest.mark.parametrize("narrow", [torch.bfloat16, torch.float16, torch.int32])
@pytest.mark.parametrize("f", [torch.atan2, torch.hypot, torch.mul, torch.div, torch.pow, torch.xlogy, torch.copysign, torch.fmod, torch.logaddexp,
                               torch.nn.functional.smooth_l1_loss, torch.nn.functional.huber_loss])
def test_gradients_of_operands_of_two_types(f, narrow):
    """In the type that both have in common, whether one loop computes them or a graph's operators."""
    torch.manual_seed(0)
    wide, other = torch.rand(4, 3) + 0.5, (torch.rand(3) * 4 + 1).to(narrow)

    def gradients(g):
        x, y = wide.clone().requires_grad_(), other.clone().requires_grad_(narrow.is_floating_point)
        g(x, y.expand(4, 3)).sum().backward()
        return [t.grad for t in (x, y) if t.requires_grad]
    try:
        expected = gradients(f)
    except RuntimeError:
        pytest.skip("eager does not take these types")
    for backend in ("inductor", "aot_eager"):
        torch._dynamo.reset()
        for a, b in zip(gradients(torch.compile(f, backend=backend)), expected):
            assert torch.equal(a, b)


@pytest.mark.parametrize("f", [lambda x, i: (x // i, x + 1)[1], lambda x, i: (torch.remainder(x, i) + 1, x + 1)[1], lambda x, i: (x % i, x + 1)[1],
                               lambda x, i: (x.gather(0, i + 7), x + 1)[1], lambda x, i: (x.index_select(0, i + 7) * 2, x + 1)[1],
                               lambda x, i: (F.embedding(i + 7, torch.ones(2, 2)), x + 1)[1], lambda x, i: (x[i + 7], x + 1)[1]])
def test_what_nothing_needs_raises_as_well(f):
    x, i = torch.tensor([1, 2]), torch.tensor([0, 1])
    with pytest.raises((RuntimeError, IndexError)) as expected:
        f(x, i)
    with pytest.raises(expected.type) as got:
        torch.compile(f, fullgraph=True)(x, i)
    assert str(got.value) == str(expected.value)


def test_what_nothing_needs_is_no_result():
    def f(x, i):
        x.gather(0, i)
        x // 2
        return x + 1, x[i] * 3
    x, i = torch.tensor([1, 2]), torch.tensor([0, 1])
    assert repr(torch.compile(f, fullgraph=True)(x, i)) == repr(f(x, i))
