"""Transforms within transforms and within traces: every way to the same derivative gives the same numbers."""
import itertools

import numpy as np
import pytest
import torch
from python.nested_functions import in_place, product, written_rows
from torch.func import functionalize, grad, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap
from torch.fx.experimental.proxy_tensor import make_fx

close = torch.testing.assert_close
X = torch.tensor([0.7, 1.3, 0.9, 2.1], dtype=torch.float64)


def scattered(v):
    return torch.select_scatter(v * v, v[1] * v[0], 0, 0).mul(v).sum()


def clamped(v):
    a = v * 1
    a[1:3] = a[1:3].clone() * v[0]
    a.clamp_(min=0.3)
    return a.sum().sqrt()


def entropy(v):
    return torch.nn.functional.cross_entropy(v.view(1, 4), torch.tensor([2]))


def exponents(v):
    return torch.where(v > v.mean(), v * v, v.exp()).sum()


FUNCTIONS = [product, in_place, written_rows, scattered, clamped, entropy, exponents]


def numeric_gradient(f, x, step=1e-5):
    """Central differences of f, a tensor of any shape, along each element of x: shape (*f, *x)."""
    columns = [(f(x + e) - f(x - e)) / (2 * step) for e in step * torch.eye(x.numel(), dtype=x.dtype)]
    return torch.stack(columns, -1)


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_first_and_second_derivatives(f):
    first, second = numeric_gradient(f, X), numeric_gradient(lambda v: grad(f)(v), X)
    for g in (grad(f), jacfwd(f), jacrev(f), lambda v: vjp(f, v)[1](torch.ones((), dtype=v.dtype))[0]):
        close(g(X), first, rtol=1e-6, atol=1e-7)
    direction = X.sin()
    close(jvp(f, (X,), (direction,))[1], first @ direction, rtol=1e-6, atol=1e-7)
    close(linearize(f, X)[1](direction), first @ direction, rtol=1e-6, atol=1e-7)
    for a, b in itertools.product((jacfwd, jacrev), repeat=2):
        close(a(b(f))(X), second, rtol=1e-6, atol=1e-7)


WITHIN = {"functionalize": functionalize, "make_fx": lambda f: lambda *args: make_fx(f)(*args)(*args),
          "fake": lambda f: lambda *args: make_fx(f, tracing_mode="fake")(*args)(*args)}
DERIVATIVES = {"grad": grad, "jacfwd": jacfwd, "jacrev": jacrev, "hessian": hessian,
               "jvp": lambda f: lambda v: jvp(f, (v,), (v.sin(),))[1],
               "jacfwd(grad)": lambda f: jacfwd(grad(f)), "grad(jvp)": lambda f: grad(lambda v: jvp(f, (v,), (v.sin(),))[1])}


@pytest.mark.parametrize("d", DERIVATIVES)
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_traces_around_and_within_derivatives(f, d):
    derivative = DERIVATIVES[d]
    expected = derivative(f)(X)
    for name, trace in WITHIN.items():
        close(trace(derivative(f))(X), expected, msg=lambda m, name=name: f"{name} around: {m}")
    close(derivative(functionalize(f))(X), expected)
    close(functionalize(derivative(functionalize(f)))(X), expected)


@pytest.mark.parametrize("d", DERIVATIVES)
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_a_batch_of_derivatives(f, d):
    derivative, rows = DERIVATIVES[d], torch.stack([X, X * 1.1 + 0.01])
    expected = torch.stack([derivative(f)(x) for x in rows])
    close(vmap(derivative(f))(rows), expected)
    close(vmap(functionalize(derivative(f)))(rows), expected)
    close(functionalize(vmap(derivative(f)))(rows), expected)
    close(make_fx(vmap(derivative(f)))(rows)(rows), expected)


def test_functionalize_reads_tensors_of_the_transforms_around_it():
    def f(x, q):
        b = q.clone()
        b[0].mul_(x.sum())
        b.add_(x)
        return b * x
    y = torch.arange(6.0).view(3, 2) + 1
    close(grad(lambda x: functionalize(lambda q: f(x, q))(y).sum())(y), grad(lambda x: f(x, y).sum())(y))
    close(jvp(lambda x: functionalize(lambda q: f(x, q))(y), (y,), (y,)), jvp(lambda x: f(x, y), (y,), (y,)))
    close(vmap(lambda x: functionalize(lambda q: q * x + x)(y[0]))(y), y[0] * y + y)
    close(grad(lambda x: functionalize(lambda q: x)(y).sum())(y), torch.ones_like(y))


def test_functionalize_writes_its_argument_under_vmap():
    y = torch.arange(6.0).view(3, 2)
    z = y.clone()
    vmap(functionalize(lambda q: q.mul_(2)))(z)
    close(z, y * 2)


@pytest.mark.parametrize("write", [
    lambda v: torch.empty(4, dtype=v.dtype).copy_(v), lambda v: v.clone(), lambda v: v + 1, lambda v: v.new_zeros(4).add_(v),
    lambda v: vmap(lambda c: torch.select_scatter(v, c * 1, 0, 0))(v[:1])[0], lambda v: torch.zeros(2, 4, dtype=v.dtype)[0].copy_(v)])
def test_a_write_to_a_result_leaves_the_tangent_of_its_argument(write):
    tangent = torch.arange(4.0, dtype=X.dtype)
    before = tangent.clone()

    def f(v):
        y = write(v)
        y[0] = v[1] * v[2]
        return y.sum() + v.sum()
    got = jvp(f, (X,), (tangent,))[1]
    assert torch.equal(tangent, before)
    close(got, numeric_gradient(f, X) @ tangent, rtol=1e-6, atol=1e-7)


def test_derivatives_of_tangents_that_were_written_since():
    close(grad(lambda v: jvp(in_place, (v,), (torch.ones_like(v),))[1])(X),
          numeric_gradient(lambda v: jvp(in_place, (v,), (torch.ones_like(v),))[1], X), rtol=1e-6, atol=1e-7)


def test_a_tensor_of_an_open_level_that_was_left_is_refused():
    """Not read, since it has no memory there."""
    levels = torch._C._functorch
    with pytest.raises(RuntimeError, match="belongs to a call"):
        grad(lambda x: levels._outside(lambda: x * 2, 1))(X[0])
    with pytest.raises(RuntimeError, match="belongs to a call"):
        grad(lambda x: levels._outside(lambda: vmap(lambda a: a * x)(X), 1).sum())(X[0])


MADE = {
    "empty": lambda: torch.empty(2).zero_().add_(3), "zeros": lambda: torch.zeros(2).add_(3), "full": lambda: torch.full((2,), 1.5).mul_(2),
    "arange": lambda: torch.arange(2.0).mul_(0).add_(3), "tensor": lambda: torch.tensor([1.0, 1.0]).mul_(3),
    "as_tensor": lambda: torch.as_tensor([1.0, 1.0]).mul_(3), "from_numpy": lambda: torch.from_numpy(np.ones(2, "float32")).mul_(3),
    "frombuffer": lambda: torch.frombuffer(bytearray(8), dtype=torch.float32).fill_(3), "like": lambda: torch.zeros_like(torch.ones(2)).add_(3)}


@pytest.mark.parametrize("make", MADE)
def test_what_a_function_makes_it_may_write(make):
    """A tensor made within a mapped function within a derivative is of that function, not of the world outside."""
    x = torch.arange(6.0).view(3, 2)

    def f(v):
        return (v * MADE[make]()).sum()
    close(grad(f)(x[0]), torch.full((2,), 3.0))
    close(grad(lambda a: vmap(f)(a).sum())(x), torch.full((3, 2), 3.0))
    close(vmap(grad(f))(x), torch.full((3, 2), 3.0))
    close(grad(lambda a: vmap(lambda v: jvp(f, (v,), (v,))[1])(a).sum())(x), torch.full((3, 2), 3.0))
    close(jvp(lambda a: vmap(f)(a).sum(), (x,), (x,))[1], 3 * x.sum())
    if make != "from_numpy":   # memory of an array is a constant of the graph, which each run multiplies
        close(make_fx(grad(lambda a: vmap(f)(a).sum()))(x)(x), torch.full((3, 2), 3.0))


def test_copies_that_lowerings_write_have_the_batches_of_all_levels():
    def f(v):
        return torch.zeros(4, dtype=v.dtype).scatter_add(0, torch.tensor([0, 0, 2, 3]), v * v)
    scales = torch.arange(3.0, dtype=X.dtype) + 1

    def nested(v):
        return vmap(lambda s: vmap(f)(torch.stack([v * s, v + s])))(scales)
    expected = torch.stack([torch.stack([f(X * s), f(X + s)]) for s in scales])
    close(nested(X), expected)
    close(make_fx(nested)(X)(X), expected)
    close(functionalize(nested)(X), expected)


def view_then_write(v):
    b = v * v
    w = b.view(2, 2)
    w[0].mul_(v[1])
    u = b[1:3]
    b.add_(v)
    w.t().mul_(v[3])
    return (u * u).sum() + b.prod()


def test_views_made_before_a_write_see_its_tangent():
    def along(v):
        return jvp(view_then_write, (v,), (v.cos(),))[1]
    close(along(X), numeric_gradient(view_then_write, X) @ X.cos(), rtol=1e-6, atol=1e-6)
    for d in (grad, jacfwd, jacrev):
        close(d(along)(X), numeric_gradient(along, X), rtol=1e-6, atol=1e-6)


class Boxed(torch.Tensor):
    """A tensor around another one, as libraries make them."""

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        def open_(x):
            return x.inner if isinstance(x, Boxed) else x
        result = func(*torch.utils._pytree.tree_map(open_, args), **torch.utils._pytree.tree_map(open_, kwargs or {}))
        return torch.utils._pytree.tree_map(lambda x: Boxed(x) if isinstance(x, torch.Tensor) else x, result)


def test_derivatives_of_boxed_tensors_are_boxed():
    x = torch.arange(3.0)
    for f in (lambda v: (v * 2).sum(), lambda v: v.sum(), lambda v: (v * v).sum()):
        got = grad(f)(Boxed(x))
        assert type(got) is Boxed
        close(got.inner, grad(f)(x))
    got = vmap(grad(lambda v: (v * 2).sum()))(Boxed(x.expand(2, 3)))
    assert type(got) is Boxed
    close(got.inner, torch.full((2, 3), 2.0))
