"""Transforms of torch.func within each other: expected values are those of calculus, of torch.autograd, or of the plain function."""
import itertools

import pytest
import torch
import torch.nn.functional as F
from python.nested_functions import in_place, product, written_rows
from torch.autograd import gradcheck, gradgradcheck
from torch.func import functionalize, grad, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap
from torch.fx.experimental.proxy_tensor import make_fx

close = torch.testing.assert_close


@pytest.fixture(autouse=True)
def levels_are_left():
    yield
    assert torch._C._functorch.maybe_current_level() is None


def x4():
    return torch.tensor([0.7, 1.3, 0.9, 2.1], dtype=torch.float64)


def sliced(v):
    return (v[1:3] * v[:2]).sum() * v.view(2, 2).diagonal().prod()


def picked(v):
    return v[torch.tensor([0, 0, 3])].prod() + v.index_select(0, torch.tensor([1, 2])).pow(3).sum() + v.gather(0, torch.tensor([2, 1])).prod()


def windows(v):
    return v.unfold(0, 3, 1).amax(1).sum() * v[::2].sum() + F.pad(v, (1, 2)).cumsum(0).mean() * v[1]


def mutated(v):
    a = torch.zeros_like(v).copy_(v)
    a[1:3] = a[1:3].clone() * v[0]
    a.t_().sqrt_()
    return a.sum().square()


def scattered(v):
    s = torch.select_scatter(v, v[0] * v[1], 0, 2).slice_scatter(v[:1] ** 2, 0, 1, 2)
    return (torch.diagonal_scatter(s.view(2, 2), v[2:] * v[0]) * v.view(2, 2)).sum()


FUNCTIONS = [product, sliced, picked, windows, written_rows, in_place, mutated, scattered]


def second(f, x):
    return torch.autograd.functional.hessian(f, x)


@pytest.mark.parametrize("f", FUNCTIONS)
@pytest.mark.parametrize("outer, inner", list(itertools.product([jacfwd, jacrev], [jacfwd, jacrev, grad])))
def test_hessians_of_batches(f, outer, inner):
    x = torch.stack([x4(), x4() * 1.1])
    close(vmap(outer(inner(f)))(x), torch.stack([second(f, a) for a in x]))
    close(vmap(vmap(outer(inner(f))))(x[None])[0], torch.stack([second(f, a) for a in x]))


@pytest.mark.parametrize("f", FUNCTIONS)
def test_a_hessian_of_batches_by_name(f):
    x = torch.stack([x4(), x4() * 1.1])
    close(vmap(hessian(f))(x), torch.stack([second(f, a) for a in x]))
    close(vmap(hessian(f), in_dims=1)(x.t().contiguous()), torch.stack([second(f, a) for a in x]))


# What each makes of f at x, by the graph alone.
def by_graph(kind, f):
    def first(v, cotangent=None):
        v = v.detach().requires_grad_() if not v.requires_grad else v
        y = f(v)
        return torch.autograd.grad(y, v, cotangent, create_graph=True, allow_unused=True)[0]
    return {"grad": first, "jvp": lambda v: (first(v) * v.sin()).sum(), "vjp": lambda v: first(v) * v.sum(), "jacrev": first, "jacfwd": first,
            "linearize": lambda v: (first(v) * v.cos().detach()).sum(), "vmap": lambda v: f(v) + f(v * 1.1), "functionalize": f}[kind]


def by_transform(kind, f):
    return {"grad": lambda v: grad(f)(v), "jvp": lambda v: jvp(f, (v,), (v.sin(),))[1], "vjp": lambda v: vjp(f, v)[1](v.sum())[0],
            "jacrev": lambda v: jacrev(f)(v), "jacfwd": lambda v: jacfwd(f)(v), "linearize": lambda v: linearize(f, v)[1](v.cos().detach()),
            "vmap": lambda v: vmap(f)(torch.stack([v, v * 1.1])).sum(0), "functionalize": lambda v: functionalize(f)(v)}[kind]


KINDS = ["grad", "jvp", "vjp", "jacrev", "jacfwd", "vmap", "functionalize"]


@pytest.mark.parametrize("f", [product, written_rows, in_place, scattered])
@pytest.mark.parametrize("kinds", [*itertools.product(KINDS, KINDS), *[(k, m, n) for k, m, n in itertools.product(
    ["grad", "jvp", "jacfwd", "vmap", "functionalize"], repeat=3)], ("linearize",), ("functionalize", "linearize"), ("vmap", "linearize")])
def test_nests(f, kinds):
    x = x4()

    def weigh(g):   # of a vector: a number, as the transforms within take
        return lambda v: (lambda y: y if y.dim() == 0 else (y * torch.linspace(-1, 2, 4, dtype=y.dtype)).sum())(g(v))
    got, want = f, f
    for kind in kinds:
        got, want = by_transform(kind, weigh(got)), by_graph(kind, weigh(want))
    close(got(x), want(x.clone().requires_grad_()).detach())


@pytest.mark.parametrize("g", [grad(grad(lambda v: v.exp().sum() if v.dim() else v.exp())), hessian(lambda v: v.exp()), jacfwd(grad(lambda v: v.tanh())),
                               lambda v: jvp(grad(lambda a: a.sigmoid()), (v,), (v,))[1], grad(lambda v: grad(lambda a: a.sqrt())(v) * v)])
def test_traces_of_nests_keep_history(g):
    x = torch.tensor(0.7, dtype=torch.float64)
    close(make_fx(g)(x)(x * 1.5), g(x * 1.5))
    close(functionalize(g)(x), g(x))


@pytest.mark.parametrize("f", FUNCTIONS)
def test_traces_of_hessians(f):
    close(make_fx(hessian(f))(x4())(x4() * 1.1), second(f, x4() * 1.1))


def test_factories_within_a_trace_are_of_no_batch():
    """A factory that a mode of Python's sees, called within vmap, once made a tensor of the batch without a batch dimension."""
    seen = []

    def f(v):
        for t in (torch.zeros(2), torch.scalar_tensor(1.0), torch.arange(2), torch.full((2,), 1.0)):
            seen.append(torch._C._functorch.is_batchedtensor(t))
        return v ** 1 + torch.ones(())
    x = torch.ones(3)
    close(make_fx(vmap(f))(x)(x * 2), x * 2 + 1)
    close(make_fx(vmap(lambda v: jvp(f, (v,), (v,))[1]))(x)(x * 2), x * 2)
    assert not any(seen)


def test_new_tensors_follow_levels_further_out():
    x = torch.arange(6.0).view(2, 3)

    def made(name, a):   # like a, of the outer batch, within an inner one
        return vmap(lambda b: getattr(a, name)(3).zero_()[0].copy_(a[0]) + b)(torch.zeros(4))
    for name in ("new_empty", "new_zeros", "new_ones"):
        close(vmap(lambda a: made(name, a))(x), x[:, :1].expand(2, 4))
    for like in (torch.zeros_like, torch.empty_like, torch.ones_like, lambda t: torch.full_like(t, 2.0), lambda t: t.new_full((3,), 1.0)):
        def f(a):
            def g(b):
                z = like(a)
                z[1:].copy_(a[:2])
                z[0] = 0
                return z * b
            return vmap(g)(torch.ones(2))
        close(vmap(f)(x), F.pad(x[:, :2], (1, 0))[:, None].expand(2, 2, 3))


def test_tangents_of_copies_are_their_own():
    x = torch.tensor([0.7, 1.3])

    def f(v):
        e = torch.empty_like(v).copy_(v)
        e.zero_()
        return v * 1 + e
    close(jvp(f, (x,), (x,))[1], x)
    close(jvp(vmap(lambda v: (torch.select_scatter(v, v.new_zeros(()), 0, 0), v.select(0, 0))), (x[None],), (torch.ones(1, 2),))[1][1], torch.ones(1))

    def g(v):
        b = v.clone()
        b.mul_(v).mul_(v)
        return b.sum()
    close(grad(lambda v: jvp(g, (v,), (v,))[1])(x), 9 * x ** 2)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, x)
        close(torch.autograd.forward_ad.unpack_dual(f(dual)).tangent, x)


def test_writes_to_parts_by_batches():
    x = torch.stack([x4().view(2, 2), x4().view(2, 2) * 2])

    def f(v):
        a = v.clone()
        a.t().mul_(v.t())
        return a.sum()
    close(vmap(grad(f))(x), 2 * x)
    close(vmap(hessian(f))(x).flatten(3).flatten(1, 2), 2 * torch.eye(4, dtype=x.dtype).expand(2, 4, 4))


@pytest.mark.parametrize("f", [lambda v: v.std(0), lambda v: torch.std_mean(v, 0)[0]])
def test_deviations_of_nothing_have_tangents(f):
    x = torch.tensor([[1.0, 2.0, 3.0], [1.0, 2.0, 4.0]])
    close(jacfwd(f)(x), jacrev(f)(x))


# ---- functionalize ------------------------------------------------------------------------------

def test_functionalize_makes_writes_possible_that_vmap_refuses():
    x = torch.tensor([1.0, 2.0, 3.0])

    def f(v):
        z = torch.zeros(3)
        z[0].copy_(v)
        return z
    with pytest.raises(RuntimeError, match="copy_"):
        vmap(f)(x)
    close(vmap(functionalize(f))(x), F.pad(x[:, None], (0, 2)))
    close(vmap(functionalize(f, remove="mutations_and_views"))(x), F.pad(x[:, None], (0, 2)))


def test_functionalize_with_captured_tensors_of_other_levels():
    x = torch.tensor([1.0, 2.0, 3.0])
    close(vmap(lambda v: functionalize(lambda q: q.clone().mul_(v))(v + 1))(x), (x + 1) * x)
    close(grad(lambda v: functionalize(lambda q: q.clone().mul_(v).sum())(v + 1))(x), 2 * x + 1)
    value, tangent = jvp(lambda v: functionalize(lambda q: q.clone().mul_(v).sum())(v + 1), (x,), (x,))
    close(value, torch.tensor(20.0)), close(tangent, torch.tensor(34.0))
    close(vmap(lambda v: grad(lambda w: functionalize(lambda q: q.clone().mul_(v * w))(w).sum())(v))(x), 2 * x * x)


def test_functionalize_writes_inputs():
    x = torch.tensor([1.0, 2.0, 3.0])
    y = x.clone()
    close(vmap(functionalize(lambda q: q.add_(1) * 2))(y), 2 * (x + 1)), close(y, x + 1)
    y = x.clone()
    value, tangent = jvp(functionalize(lambda q: q.mul_(2).sum()), (y,), (x + 1,))
    close(value, torch.tensor(12.0)), close(tangent, torch.tensor(18.0)), close(y, 2 * x)
    with pytest.raises(RuntimeError, match="leaf"):
        grad(functionalize(lambda q: q.mul_(2).sum()))(x.clone())


def test_functionalize_of_what_hangs_on_elements():
    x = torch.tensor([1.0, 2.0, 3.0])
    close(functionalize(lambda v: v * 2 if v.sum() > 0 else v)(x), 2 * x)
    close(functionalize(lambda v: v * v.sum().item())(x), 6 * x)
    close(functionalize(torch.nonzero)(x), torch.tensor([[0], [1], [2]]))
    close(grad(functionalize(lambda v: (v * 2).sum() if v.sum() > 0 else v.sum()))(x), torch.full((3,), 2.0))
    with pytest.raises(RuntimeError):
        vmap(functionalize(lambda v: v if v > 0 else -v))(x)


def test_functionalize_draws_as_vmap_says():
    x = torch.zeros(3)
    f = functionalize(lambda v: v + torch.rand(2))
    with pytest.raises(RuntimeError, match="randomness"):
        vmap(f)(x)
    same = vmap(f, randomness="same")(x)
    assert (same == same[0]).all()
    other = vmap(f, randomness="different")(x)
    assert not (other == other[0]).all()


def test_functionalize_on_batches_that_lie_otherwise():
    x = torch.arange(12.0).view(2, 2, 3)
    f = functionalize(lambda v: v.clone().reshape(3, 2).t().clone())
    close(vmap(f, in_dims=1)(x), torch.stack([x[:, i].reshape(3, 2).t() for i in range(2)]))


def test_functionalize_leaves_no_writes_in_traces_of_batches():
    x = torch.tensor([[1.0, 2.0, 3.0]])
    gm = make_fx(vmap(functionalize(lambda v: v.clone().mul_(v)[1:].add_(1))))(x)
    assert not [n for n in gm.graph.nodes if n.op == "call_function" and str(n.target).split(".")[1].endswith("_")]
    close(gm(x * 2), (4 * x * x + 1)[:, 1:])


# ---- what cannot be done ------------------------------------------------------------------------

@pytest.mark.parametrize("given", [dict(check_backward_ad=False), dict(check_backward_ad=False, check_undefined_grad=False), dict(check_backward_ad=False, raise_exception=False),
                                   dict(check_backward_ad=False, check_forward_ad=True, check_batched_grad=True), dict(check_batched_forward_grad=True)])
def test_gradcheck_that_would_check_nothing(given):
    with pytest.raises(AssertionError):
        gradcheck(torch.sin, (x4().requires_grad_(),), **given)


@pytest.mark.parametrize("given", [dict(check_rev_over_rev=False), dict(check_rev_over_rev=False, check_undefined_grad=False),
                                   dict(check_rev_over_rev=False, check_fwd_over_rev=True),
                                   dict(check_rev_over_rev=False, check_fwd_over_rev=True, check_undefined_grad=False, check_batched_grad=True)])
def test_gradgradcheck_that_would_check_nothing(given):
    with pytest.raises(AssertionError):
        gradgradcheck(torch.sin, (x4().requires_grad_(),), **given)


def test_gradcheck_by_forward_mode_alone():
    assert gradcheck(torch.sin, (x4().requires_grad_(),), check_backward_ad=False, check_forward_ad=True)
    assert gradgradcheck(torch.sin, (x4().requires_grad_(),), check_rev_over_rev=False, check_fwd_over_rev=True, check_undefined_grad=False)


@pytest.mark.parametrize("output", ["s", None, 1.0, (torch.ones(1), "s")])
def test_gradcheck_of_what_is_no_tensor(output):
    with pytest.raises(AttributeError):
        gradcheck(lambda a: output, (x4().requires_grad_(),))


def test_types_of_tangents():
    x = x4()
    close(jvp(torch.sin, (x,), (x.float(),))[1], (x.cos() * x.float()))
    close(jvp(torch.sin, (x.float(),), (x,))[1], (x.float().cos() * x.float()))
    for tangent in (x.long(), x > 1):
        with pytest.raises(ValueError, match="tangent"):
            jvp(torch.sin, (x,), (tangent,))


def test_dimensions_of_vmap():
    x = torch.ones(2, 3)
    for dims in (True, (True,), False):
        with pytest.raises(TypeError):
            vmap(torch.sin, in_dims=dims)(x)
    with pytest.raises(ValueError):
        vmap(torch.sin, out_dims=[0])(x)
    assert vmap(torch.sin, out_dims=True)(x).shape == (3, 2)
    assert vmap(lambda a: [a], out_dims=[1])(x)[0].shape == (3, 2)
