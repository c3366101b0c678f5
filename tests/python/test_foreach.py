"""Operators over lists are the operators of their elements: values, derivatives, types, errors, in place."""

import pytest
import torch


@pytest.fixture
def lists():
    torch.manual_seed(0)
    shapes = [(2, 3), (4,), (), (2, 0, 3)]
    return [[torch.rand(s, dtype=torch.float64) + 0.5 for s in shapes] for _ in range(3)]


def same(got, want):
    assert len(got) == len(want)
    for g, w in zip(got, want):
        assert g.dtype == w.dtype and g.shape == w.shape and torch.equal(g, w)


UNARY = (
    "abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round rsqrt "
    "sigmoid sign sin sinh sqrt tan tanh trunc"
).split()


@pytest.mark.parametrize("name", UNARY)
def test_unary(lists, name):
    a = [t / 2 for t in lists[0]]
    want = [getattr(torch, name)(t) for t in a]
    same(getattr(torch, "_foreach_" + name)(a), want)
    versions = [t._version for t in a]
    getattr(torch, f"_foreach_{name}_")(a)
    same(a, want)
    assert all(t._version > v for t, v in zip(a, versions))


BINARY = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "div": torch.div,
    "pow": torch.pow,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "clamp_min": torch.maximum,
    "clamp_max": torch.minimum,
}


@pytest.mark.parametrize("name", BINARY)
def test_binary(lists, name):
    a, b, _ = lists
    f, numbers = BINARY[name], [0.75, 2, 1.25, 3.0]
    # Powers to a number are products where it is small and whole; those to a tensor are not.
    number = (lambda v: v) if name == "pow" else lambda v: torch.tensor(v, dtype=torch.float64)
    for other, want in (
        (b, [f(x, y) for x, y in zip(a, b)]),
        (0.75, [f(x, number(0.75)) for x in a]),
        (numbers, [f(x, number(v)) for x, v in zip(a, numbers)]),
    ):
        same(getattr(torch, "_foreach_" + name)(a, other), want)
        c = [t.clone() for t in a]
        getattr(torch, f"_foreach_{name}_")(c, other)
        same(c, want)


def test_a_tensor_as_number_and_alpha(lists):
    a, b, _ = lists
    two = torch.tensor(2.0, dtype=torch.float64)
    for name in ("add", "mul", "div"):
        same(getattr(torch, "_foreach_" + name)(a, two), [getattr(torch, name)(t, two) for t in a])
    same(torch._foreach_add(a, b, alpha=3), [x + 3 * y for x, y in zip(a, b)])
    same(torch._foreach_sub(a, b, alpha=2), [x - 2 * y for x, y in zip(a, b)])
    same(torch._foreach_pow(2.0, a), [torch.pow(2.0, t) for t in a])
    with pytest.raises(RuntimeError):
        torch._foreach_add(a, torch.ones(1))


@pytest.mark.parametrize("name", ["addcmul", "addcdiv"])
def test_product_sums(lists, name):
    a, b, c = lists
    f, numbers = getattr(torch, name), [0.5, 2.0, -1.0, 3.0]
    for value, each in ((0.5, [0.5] * 4), (numbers, numbers), (torch.tensor(numbers, dtype=torch.float64), numbers)):
        want = [f(x, y, z, value=v) for x, y, z, v in zip(a, b, c, each)]
        same(getattr(torch, "_foreach_" + name)(a, b, c, value), want)
        d = [t.clone() for t in a]
        getattr(torch, f"_foreach_{name}_")(d, b, c, value)
        same(d, want)
    for bad in (torch.tensor(1.0), torch.ones(3)):
        with pytest.raises(RuntimeError):
            getattr(torch, "_foreach_" + name)(a, b, c, bad)


def test_lerp(lists):
    a, b, w = lists
    numbers = [0.1, 0.2, 0.3, 0.4]
    for weight, want in (
        (w, [torch.lerp(x, y, z) for x, y, z in zip(a, b, w)]),
        (0.3, [torch.lerp(x, y, 0.3) for x, y in zip(a, b)]),
        (numbers, [torch.lerp(x, y, v) for x, y, v in zip(a, b, numbers)]),
    ):
        same(torch._foreach_lerp(a, b, weight), want)
        c = [t.clone() for t in a]
        torch._foreach_lerp_(c, b, weight)
        same(c, want)


def test_norms_and_largest(lists):
    a = lists[0]
    for order in (0, 1, 2, 3.5):
        same(torch._foreach_norm(a, order), [torch.linalg.vector_norm(t, order) for t in a])
    same(torch._foreach_norm(a[:2], float("inf")), [t.abs().max() for t in a[:2]])
    assert torch._foreach_norm([t.float() for t in a], 2, torch.float64)[0].dtype == torch.float64
    same(torch._foreach_max(a[:3]), [t.max() for t in a[:3]])
    for got, t in zip(torch._foreach_powsum(a, 3), a):
        torch.testing.assert_close(got, (t.abs() ** 3).sum())
    for call in (lambda: torch._foreach_max(a), lambda: torch._foreach_norm(a, float("inf"))):
        with pytest.raises(RuntimeError):
            call()


def test_copies_and_products(lists):
    a, b, _ = lists
    same(torch._foreach_clone(a), a)
    c = [torch.empty_like(t, dtype=torch.float32) for t in a]
    torch._foreach_copy_(c, b)
    same(c, [t.float() for t in b])
    torch._foreach_zero_(c)
    same(c, [torch.zeros_like(t) for t in c])
    same(torch._foreach_mm([a[0]], [b[0].t()]), [a[0] @ b[0].t()])


def test_derivatives_are_those_of_the_elements():
    a = [torch.rand(3, dtype=torch.float64, requires_grad=True), torch.rand(2, 2, dtype=torch.float64, requires_grad=True)]

    def f(*x):
        y = torch._foreach_addcdiv(torch._foreach_mul(torch._foreach_exp(x), 2), x, torch._foreach_add(x, 1.5), [0.5, 2.0])
        return (*y, *torch._foreach_norm(y))

    assert torch.autograd.gradcheck(f, a)
    b = [t.clone() for t in a]
    torch._foreach_mul_(b, 3)
    sum(t.sum() for t in b).backward()
    assert all((t.grad == 3).all() for t in a)


def test_types_and_errors():
    i = [torch.ones(2, dtype=torch.int64)]
    assert torch._foreach_add(i, 1.5)[0].dtype == torch.float32
    assert torch._foreach_sqrt(i)[0].dtype == torch.float32
    a = [torch.ones(2), torch.ones(3)]
    for call in (
        lambda: torch._foreach_add_(i, 1.5),
        lambda: torch._foreach_sqrt_(i),
        lambda: torch._foreach_norm(i),
        lambda: torch._foreach_add([], 1),
        lambda: torch._foreach_abs([]),
        lambda: torch._foreach_zero_([]),
        lambda: torch._foreach_add(a, a[:1]),
        lambda: torch._foreach_add(a, [1.0]),
        lambda: torch._foreach_addcmul(a, a, a[:1]),
        lambda: torch._foreach_add_([torch.ones(3)], [torch.ones(2, 3)]),
    ):
        with pytest.raises(RuntimeError):
            call()


def test_unscale():
    g, found = [torch.tensor([2.0, 4.0]), torch.tensor([[6.0]])], torch.zeros(1)
    torch._amp_foreach_non_finite_check_and_unscale_(g, found, torch.tensor(0.5))
    assert [t.flatten().tolist() for t in g] == [[1.0, 2.0], [3.0]] and found.item() == 0
    g[0][1] = float("nan")
    torch._amp_foreach_non_finite_check_and_unscale_(g, found, torch.tensor(0.5))
    assert found.item() == 1 and g[1].item() == 1.5
