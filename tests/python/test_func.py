"""torch.func: expected values are those of calculus, of torch.autograd, or of a loop."""
import pytest
import torch
from torch import nn
from torch.func import (
    functional_call, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, replace_all_batch_norm_modules_, stack_module_state, vjp, vmap)

close = torch.testing.assert_close


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)
    yield
    assert torch._C._functorch.maybe_current_level() is None


def x3():
    return torch.arange(3.0) + 1


def test_grad():
    x = x3()
    close(grad(torch.sin)(x[0]), x[0].cos())
    close(grad(grad(torch.sin))(x[0]), -x[0].sin())
    close(grad(grad(grad(torch.sin)))(x[0]), -x[0].cos())
    close(grad(lambda a, b: (a * b).sum(), argnums=1)(x, x + 1), x)
    a, b = grad(lambda a, b: (a * b).sum(), argnums=(0, -1))(x, x + 1)
    close(a, x + 1), close(b, x)
    g = grad(lambda d: (d["a"] * d["b"][0]).sum())({"a": x, "b": [x * 2]})
    close(g["a"], x * 2), close(g["b"][0], x)
    g, aux = grad(lambda a: (a.sum(), a * 2), has_aux=True)(x)
    close(g, torch.ones(3)), close(aux, x * 2)
    g, v = grad_and_value(lambda a: (a * a).sum())(x)
    close(g, 2 * x), close(v, torch.tensor(14.0))
    g, (v, aux) = grad_and_value(lambda a: (a.sum(), a), has_aux=True)(x)
    close(v, torch.tensor(6.0)), close(aux, x)
    close(grad(lambda a, b: b.sum())(x, x), torch.zeros(3))
    close(grad(lambda a, *, k: (a * k).sum())(x, k=2.0), torch.full((3,), 2.0))
    assert not grad(lambda a: (a * a).sum())(x).requires_grad


@pytest.mark.parametrize("call, error", [
    (lambda x: grad(lambda a: a)(x), RuntimeError), (lambda x: grad(lambda a: 1.0)(x), RuntimeError), (lambda x: grad(lambda a: a.sum())(x.long()), RuntimeError),
    (lambda x: grad(lambda a: a.sum())(x * 1j), RuntimeError), (lambda x: grad(lambda a, b: (a * b).sum(), argnums=5)(x, x), RuntimeError),
    (lambda x: grad(lambda a, b: (a * b).sum(), argnums="a")(x, x), RuntimeError), (lambda x: grad(lambda a, b: (a * b).sum(), argnums=(1, -1))(x, x), RuntimeError),
    (lambda x: grad(lambda a: a.sum(), argnums=())(x), RuntimeError), (lambda x: grad(lambda: 1)(), RuntimeError), (lambda x: grad(lambda d: d * 1.0)(3), ValueError),
    (lambda x: grad(lambda a: a.sum(), has_aux=True)(x), RuntimeError), (lambda x: grad(lambda a: (a.sum(), "s"), has_aux=True)(x), RuntimeError),
    (lambda x: grad(lambda a: a.sum().reshape(1))(x), RuntimeError), (lambda x: vjp(lambda a: 1, x), RuntimeError), (lambda x: vjp(lambda a: (), x), RuntimeError),
    (lambda x: vjp(lambda a: a > 0, x), RuntimeError), (lambda x: vjp(lambda a: (a, a), x)[1]((x,)), RuntimeError), (lambda x: vjp(lambda a: a, x)[1](x[:1]), RuntimeError),
    (lambda x: jvp(torch.sin, x, x), RuntimeError), (lambda x: jvp(torch.sin, (x,), (x[:1],)), RuntimeError), (lambda x: jvp(torch.sin, (x,), (x, x)), RuntimeError),
    (lambda x: jvp(torch.sin, (x.long(),), (x.long(),)), ValueError), (lambda x: jvp(lambda a: torch.ones(3), (x,), (x,), strict=True), RuntimeError),
    (lambda x: jacrev(torch.sin, chunk_size=0)(x), ValueError), (lambda x: jacfwd(torch.sin)(x * 1j), RuntimeError), (lambda x: jacrev(lambda a: a * 1j)(x), RuntimeError), (lambda x: jacrev(lambda a: 1)(x), RuntimeError), (lambda x: jacfwd(lambda a: a * torch.rand(3))(x), RuntimeError),
    (lambda x: linearize(torch.mul, x, x)[1](x), RuntimeError), (lambda x: linearize(torch.mul, x, x)[1](x[:1], x), RuntimeError),
    (lambda x: grad(lambda a: a.sum().backward())(x), RuntimeError), (lambda x: grad(lambda a: a.requires_grad_().sum())(x), RuntimeError),
    (lambda x: stack_module_state([]), RuntimeError), (lambda x: stack_module_state([nn.Linear(1, 1), nn.ReLU()]), RuntimeError),
    (lambda x: stack_module_state([nn.Linear(1, 1), nn.Linear(1, 1).eval()]), RuntimeError),
])
def test_errors(call, error):
    with pytest.raises(error):
        call(x3())


def test_writes_to_captured_tensors_are_refused():
    x, z = x3(), torch.zeros(3)
    with pytest.raises(RuntimeError):
        grad(lambda a: a.sum() + z.add_(1).sum())(x)
    with pytest.raises(RuntimeError):
        grad(lambda a: z.copy_(a).sum())(x)
    close(grad(lambda a: torch.zeros(3).add_(a * a).sum())(x), 2 * x)
    close(grad(lambda a: torch.tensor([1.0, 2.0, 3.0]).mul_(a).sum())(x), x)

    def f(a):
        out = torch.zeros_like(a)
        out[0] = a[1] * a[2]
        out[1:] += a[:2] ** 2
        return (out * a).sum()
    y = x.clone().requires_grad_()
    want, = torch.autograd.grad(f(y), y)
    close(grad(f)(x), want)
    close(jacfwd(f)(x), want)
    close(hessian(f)(x), torch.autograd.functional.hessian(f, x))
    close(jacfwd(jacfwd(f))(x), torch.autograd.functional.hessian(f, x))
    close(jacrev(jacrev(f))(x), torch.autograd.functional.hessian(f, x))


def test_modes_and_levels():
    x = x3().requires_grad_()
    with torch.no_grad():
        g = grad(lambda a: (a * a).sum())(x)
    close(g, (2 * x).detach())
    assert not g.requires_grad
    g = grad(lambda a: (a ** 3).sum())(x)
    close(torch.autograd.grad(g.sum(), x)[0], (6 * x).detach())

    def inner(a):
        with torch.no_grad():
            c = a ** 2
        return (a - c).sum()
    close(grad(inner)(x3()), torch.ones(3))
    close(grad(lambda a: grad(inner)(a).sum())(x3()), torch.zeros(3))
    close(grad(lambda a: (a.detach() * a).sum())(x3()), x3())
    close(grad(lambda a: grad(lambda b: (b.detach() * b * b).sum())(a).sum())(x3()), torch.tensor([2.0, 4.0, 6.0]))
    # The tangent is recorded where the value is, and only there.
    close(grad(lambda a: jvp(lambda b: b.softmax(0)[1], (a,), (torch.ones(3) * a,))[1])(x3()),
          torch.autograd.grad((lambda a: ((a.softmax(0) * a)[1] - a.softmax(0)[1] * (a.softmax(0) * a).sum()))(x), x)[0])

    def halted(a):
        with torch.no_grad():
            return jvp(lambda b: b.softmax(0)[1], (a,), (a,))[1]
    close(grad(lambda a: halted(a) * a[0])(x3()), torch.tensor([float(halted(x3())), 0, 0]))
    # A tensor of the outer level is a constant of the inner one.
    close(grad(lambda a: (a * grad(lambda b: (b * a).sum())(a)).sum())(x3()), 2 * x3())
    close(jvp(lambda a: a * jvp(lambda b: a + b, (torch.ones(3),), (torch.ones(3),))[1], (x3(),), (torch.ones(3),))[1], torch.ones(3))
    close(jvp(lambda a: a * jvp(lambda b: a * b, (torch.ones(3),), (torch.ones(3),))[1], (x3(),), (torch.ones(3),))[1], 2 * x3())


def test_vjp_and_jvp():
    x = x3()
    out, pull = vjp(lambda a: (a * 2, a.sum()), x)
    close(out[1], torch.tensor(6.0))
    close(pull((x, torch.tensor(1.0)))[0], 2 * x + 1)
    close(pull((x, torch.tensor(0.0)))[0], 2 * x)
    a, b = vjp(torch.mul, x, x + 1)[1](x)
    close(a, x * (x + 1)), close(b, x * x)
    out, pull, aux = vjp(lambda a: (a * 2, a), x, has_aux=True)
    close(aux, x)
    y = x.clone().requires_grad_()
    assert vjp(lambda a: a * a, y)[1](x)[0].requires_grad
    assert not vjp(lambda a: a * a, x)[1](x)[0].requires_grad
    close(vmap(vjp(torch.sin, x)[1])(torch.eye(3))[0], torch.diag(x.cos()))
    out, d = jvp(torch.sin, (x,), (x,))
    close(out, x.sin()), close(d, x * x.cos())
    out, d = jvp(lambda a: jvp(torch.sin, (a,), (a * a,))[1], (x,), (x,))
    close(d, (2 * x * x.cos() - x * x * x.sin()) * x)
    close(jvp(lambda a: torch.ones(3), (x,), (x,))[1], torch.zeros(3))
    out, lin = linearize(torch.mul, x, x + 1)
    close(out, x * (x + 1)), close(lin(x, x), x * (x + 1) + x * x)
    close(vmap(lambda t: lin(t, t)[0])(torch.eye(3)), torch.tensor([3.0, 0, 0]))


def test_jacobians():
    x = x3()
    for jac in (jacrev, jacfwd):
        close(jac(torch.sin)(x), torch.diag(x.cos()))
        a, b = jac(lambda a, b: (a * b, a.sum()), argnums=(0, 1))(x, x)
        close(a[0], torch.diag(x)), close(a[1], torch.diag(x)), close(b[0], torch.ones(3)), close(b[1], torch.zeros(3))
        close(jac(lambda a: {"s": a * a})(x)["s"], torch.diag(2 * x))
        d = jac(lambda d: d["a"] * d["b"])({"a": x, "b": x})
        close(d["a"], torch.diag(x)), close(d["b"], torch.diag(x))
        j, aux = jac(lambda a: (a * a, a), has_aux=True)(x)
        close(j, torch.diag(2 * x)), close(aux, x)
        y = torch.randn(2, 3)
        close(jac(lambda a: a @ a.t())(y), torch.autograd.functional.jacobian(lambda a: a @ a.t(), y))
        close(jac(lambda a: a.softmax(-1).cumsum(0))(y), torch.autograd.functional.jacobian(lambda a: a.softmax(-1).cumsum(0), y))
        close(vmap(jac(torch.sin))(y), torch.diag_embed(y.cos()))
    close(jacrev(torch.sin, chunk_size=1)(x), torch.diag(x.cos()))
    close(jacrev(torch.sin, chunk_size=2)(x), torch.diag(x.cos()))


@pytest.mark.parametrize("outer", [jacrev, jacfwd])
@pytest.mark.parametrize("inner", [jacrev, jacfwd])
def test_hessians(outer, inner):
    x = torch.randn(4)
    w = torch.randn(3, 4)
    for f in (lambda a: (a ** 3).sum(), lambda a: (w @ a).tanh().sum(), lambda a: nn.functional.layer_norm(a, (4,)).pow(3).sum(),
              lambda a: a.softmax(0)[1] * a.prod(), lambda a: (a.outer(a) @ a).logsumexp(0), lambda a: a[1:].mul(a[:-1]).cumsum(0).exp().sum(),
              lambda a: nn.functional.gelu(a).norm(), lambda a: torch.stack([a, a * a]).flip(0)[0].dot(a), lambda a: a.index_select(0, torch.tensor([0, 0, 2])).pow(3).sum(),
              lambda a: a.sort()[0].mul(torch.arange(4.0)).square().sum(), lambda a: torch.where(a > 0, a ** 3, a ** 2).sum()):
        close(outer(inner(f))(x), torch.autograd.functional.hessian(f, x), rtol=1e-4, atol=1e-5)
    close(vmap(outer(inner(lambda a: (a ** 3).sum())))(torch.randn(2, 4)).shape, (2, 4, 4))


def test_hessian_of_several_arguments():
    x = x3()
    (aa, ab), (ba, bb) = hessian(lambda a, b: (a * a * b).sum(), argnums=(0, 1))(x, x)
    close(aa, torch.diag(2 * x)), close(ab, torch.diag(2 * x)), close(ba, torch.diag(2 * x)), close(bb, torch.zeros(3, 3))


def model():
    return nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.GroupNorm(2, 4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(4 * 9, 5))


def test_per_sample_gradients():
    net = model()
    params = {k: v.detach() for k, v in net.named_parameters()}
    x, target = torch.randn(6, 1, 6, 6), torch.randint(5, (6,))

    def loss(p, a, t):
        return nn.functional.cross_entropy(functional_call(net, p, (a.unsqueeze(0),)), t.unsqueeze(0))
    got = vmap(grad(loss), in_dims=(None, 0, 0))(params, x, target)
    for i in range(6):
        net.zero_grad()
        nn.functional.cross_entropy(net(x[i:i + 1]), target[i:i + 1]).backward()
        for name, p in net.named_parameters():
            close(got[name][i], p.grad, rtol=1e-4, atol=1e-5)
    attended = vmap(grad(lambda q: nn.functional.scaled_dot_product_attention(q, q, q).pow(2).sum()))(torch.randn(3, 2, 2, 4, 8))
    assert attended.shape == (3, 2, 2, 4, 8)


def test_ensembles():
    nets = [nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2), nn.BatchNorm1d(2)).eval() for _ in range(5)]
    params, buffers = stack_module_state(nets)
    assert params["0.weight"].shape == (5, 4, 3) and params["0.weight"].requires_grad and params["0.weight"].is_leaf
    assert type(params["0.weight"]) is torch.Tensor
    x = torch.randn(7, 3)
    base = nets[0]
    got = vmap(lambda p, b, a: functional_call(base, (p, b), (a,)), in_dims=(0, 0, None))(params, buffers, x)
    close(got, torch.stack([net(x) for net in nets]))
    got.sum().backward()
    sum(net(x).sum() for net in nets).backward()
    close(params["0.weight"].grad, torch.stack([net[0].weight.grad for net in nets]))
    net = replace_all_batch_norm_modules_(nn.Sequential(nn.BatchNorm1d(3)))
    assert net[0].running_mean is None and not net[0].track_running_stats
    y = torch.randn(4, 5, 3)
    close(vmap(net)(y), torch.stack([net(a) for a in y]))


def test_grad_of_vmap_and_vmap_of_grad():
    x = torch.randn(4, 3)
    close(grad(lambda a: vmap(torch.sin)(a).sum())(x), x.cos())
    close(vmap(grad(lambda a: a.sin().sum()))(x), x.cos())
    close(vmap(grad(grad(lambda a: a.sin())))(x[0]), -x[0].sin())
    close(grad(lambda a: vmap(grad(lambda b: (b ** 3).sum()))(a).sum())(x), 6 * x)
    close(vmap(lambda a: jvp(torch.sin, (a,), (torch.ones(3),))[1])(x), x.cos())
    close(jvp(vmap(torch.sin), (x,), (torch.ones_like(x),))[1], x.cos())
    close(vmap(vmap(grad(torch.sin)))(x), x.cos())
    w = torch.randn(3, requires_grad=True)
    got, = torch.autograd.grad(vmap(grad(lambda a: (a * a * w).sum()))(x).sum(), w)
    close(got, 2 * x.sum(0))


def test_batched_backward():
    x = torch.randn(3, requires_grad=True)
    y = x.sin() * x[0]
    v = torch.eye(3)
    got, = torch.autograd.grad(y, x, v, is_grads_batched=True, retain_graph=True)
    close(got, torch.stack([torch.autograd.grad(y, x, g, retain_graph=True)[0] for g in v]))
    with pytest.raises(RuntimeError):
        torch.autograd.grad(y, x, torch.eye(4), is_grads_batched=True)

    def f(a, b):
        return a.exp().sum(1) * b[0], b * a.sum()
    a, b = torch.randn(2, 3), torch.randn(2)
    for strategy in ("reverse-mode", "forward-mode"):
        fast = torch.autograd.functional.jacobian(f, (a, b), vectorize=True, strategy=strategy)
        slow = torch.autograd.functional.jacobian(f, (a, b))
        for r, s in zip(fast, slow):
            for p, q in zip(r, s):
                close(p, q)
    g = lambda a: (a ** 3).sum()  # noqa: E731
    for strategy in ("reverse-mode", "forward-mode"):
        close(torch.autograd.functional.hessian(g, a, vectorize=True, outer_jacobian_strategy=strategy), torch.autograd.functional.hessian(g, a))
    z = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda t: t.tanh().cumsum(0), z, check_batched_grad=True)
    assert torch.autograd.gradcheck(lambda t: t.tanh().cumsum(0), z, check_forward_ad=True, check_batched_forward_grad=True)
    assert torch.autograd.gradgradcheck(lambda t: t.tanh() @ t.t(), z, check_batched_grad=True)


class Cube(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(a, k):
        return a ** 3 * k

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])
        ctx.save_for_forward(inputs[0])
        ctx.k = inputs[1]

    @staticmethod
    def backward(ctx, g):
        a, = ctx.saved_tensors
        return g * 3 * a ** 2 * ctx.k, None

    @staticmethod
    def jvp(ctx, t, _):
        a, = ctx.saved_tensors
        return t * 3 * a ** 2 * ctx.k


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(a):
        return a * 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, g):
        return g * 5  # told apart from the derivative of forward

    @staticmethod
    def vmap(info, in_dims, a):
        assert info.randomness == "error" and in_dims == (0,)
        return a * 2 + info.batch_size, 0


class Old(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        return a

    @staticmethod
    def backward(ctx, g):
        return g


def test_custom_functions():
    x = x3()

    def cube(a):
        return Cube.apply(a, 2.0)
    close(grad(lambda a: cube(a).sum())(x), 6 * x ** 2)
    close(grad(lambda a: grad(lambda b: cube(b).sum())(a).sum())(x), 12 * x)
    close(vmap(cube)(x), 2 * x ** 3)
    close(vmap(grad(cube))(x), 6 * x ** 2)
    close(vmap(grad(grad(cube)))(x), 12 * x)
    close(grad(lambda a: vmap(cube)(a).sum())(x), 6 * x ** 2)
    close(jvp(cube, (x,), (x,))[1], 6 * x ** 3)
    close(jacfwd(cube)(x), torch.diag(6 * x ** 2))
    close(jacrev(cube)(x), torch.diag(6 * x ** 2))
    close(grad(lambda a: Doubled.apply(a).sum())(x), torch.full((3,), 5.0))
    close(vmap(Doubled.apply)(x), x * 2 + 3)
    for transform in (vmap(Old.apply), grad(lambda a: Old.apply(a).sum())):
        with pytest.raises(RuntimeError):
            transform(x)


def test_what_is_shown():
    seen = []
    vmap(lambda q: grad(lambda a: (seen.append(repr(a)), a.sum())[1])(q))(torch.ones(2, 3))
    assert seen[0].startswith("GradTrackingTensor(lvl=2") and "BatchedTensor(lvl=1, bdim=0" in seen[0]
    grad(lambda a: (seen.append(torch.func.debug_unwrap(a)), a.sum())[1])(x3())
    assert torch.equal(seen[1], x3())
    assert grad(torch.sin).__name__ == "sin"


def test_values_are_known_where_derivatives_are_taken():
    x = x3()
    close(grad(lambda a: (a * 2).sum() if a.sum() > 0 else a.sum())(x), torch.full((3,), 2.0))
    close(grad(lambda a: a.sum() * a[0].item())(x), torch.ones(3))


def test_rearrange():
    from torch.func import rearrange
    x = torch.arange(2 * 16 * 4 * 3).reshape(2, 16, 4, 3)
    assert torch.equal(rearrange(x, "b h w c -> b c h w"), x.permute(0, 3, 1, 2))
    assert torch.equal(rearrange(x, "b h w c -> (b h) w c"), x.reshape(32, 4, 3))
    want = x.reshape(2, 4, 4, 4, 3).permute(0, 1, 3, 4, 2).reshape(2, 4, 4, 12)
    assert torch.equal(rearrange(x, "b (h1 h2) w c -> b h1 w (c h2)", h1=4), want)
    assert torch.equal(rearrange(x, "... c -> c ..."), x.movedim(-1, 0))
    assert rearrange(x, "b ... -> (b ...)").shape == (384,)
    assert rearrange([x, x], "l b h w c -> b l h w c").shape == (2, 2, 16, 4, 3)
    assert rearrange(x, "b h w c -> b h w () c 1").shape == (2, 16, 4, 1, 3, 1)
    assert rearrange(x[..., :1], "b h w 1 -> b h w").shape == (2, 16, 4)
    assert rearrange(x, "b h w (c 1) -> b h w c").shape == x.shape
    for pattern in ("b h w -> b h w", "b h w c -> b h w", "b h b c -> b h c", "b (h1 h2) w c -> b h1 h2 w c", "b h w c", "b (h (w q)) c -> b h w c",
                    "b h w 3 -> b h w 3", "b h w c -> b h w c ...", "b (... w) c -> b w c", "b h w 2c -> b h w 2c", "b h w _c -> b h w _c", "b h w c -> b -> c"):
        with pytest.raises(ValueError):
            rearrange(x, pattern)
    with pytest.raises(ValueError):
        rearrange(x, "b (h1 h2) w c -> b h1 h2 w c", h1=5)
    with pytest.raises(ValueError):
        rearrange(x, "b h w c -> b h w c", z=3)
    with pytest.raises(TypeError):
        rearrange(x, "b (h1 h2) w c -> b h1 h2 w c", h1=4.0)
    close(vmap(lambda a: rearrange(a.float(), "h w c -> (w c) h"))(x), x.float().reshape(2, 16, 12).transpose(1, 2))


@pytest.mark.filterwarnings("ignore:functorch")
def test_functorch():
    import functorch
    net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)).eval()
    x = torch.randn(4, 2)
    f, params, buffers = functorch.make_functional_with_buffers(net)
    close(f(params, buffers, x), net(x))
    assert type(params[0]) is nn.Parameter and params[0].requires_grad and params[0] is not net[0].weight
    f, params = functorch.make_functional(net[0])
    close(f(params, x), net[0](x))
    f, params, buffers = functorch.combine_state_for_ensemble([net, net])
    close(functorch.vmap(f, (0, 0, None))(params, buffers, x)[1], net(x))
    close(functorch.grad(torch.sin)(x[0, 0]), x[0, 0].cos())
    with pytest.raises(RuntimeError):
        functorch.make_functional(net)
    with pytest.warns(FutureWarning):
        functorch.vmap(torch.sin)


@pytest.mark.parametrize("f, shapes", [
    (lambda x, w, b: nn.functional.group_norm(x, 2, w, b), ((2, 4, 3), (4,), (4,))),
    (lambda x, w, b: nn.functional.batch_norm(x, None, None, w, b, training=True), ((5, 4, 3), (4,), (4,))),
    (lambda x, w, b: nn.functional.layer_norm(x, (4,), w, b), ((5, 4), (4,), (4,))),
    (lambda x, w, b: nn.functional.conv2d(x, w, b, groups=2), ((2, 4, 5, 5), (6, 2, 3, 3), (6,))),
    (lambda x, w, b: nn.functional.conv_transpose2d(x, w, b, stride=2), ((2, 4, 5, 5), (4, 6, 3, 3), (6,))),
    (lambda q, k, v: nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True), ((2, 2, 5, 8),) * 3),
    (lambda x, w, b: nn.functional.max_pool2d(x, 2), ((2, 4, 6, 6), (1,), (1,))),
    (lambda x, w, b: nn.functional.cross_entropy(x, torch.tensor([1, 0, 2])), ((3, 4), (1,), (1,))),
    (lambda x, w, b: nn.functional.embedding(torch.tensor([1, 0, 1]), x, padding_idx=0), ((3, 4), (1,), (1,))),
    (lambda x, w, b: x[:, torch.tensor([0, 0, 2])] * w, ((3, 4), (1,), (1,))),
    (lambda x, w, b: nn.functional.interpolate(x, scale_factor=2, mode="bilinear"), ((1, 2, 3, 3), (1,), (1,))),
])
def test_batches_of_gradients_through_layers(f, shapes):
    inputs = [torch.randn(s, dtype=torch.float64, requires_grad=True) for s in shapes]
    out = f(*inputs)
    g = torch.randn((4, *out.shape), dtype=torch.float64)
    got = torch.autograd.grad(out, inputs, g, retain_graph=True, allow_unused=True, is_grads_batched=True)
    want = [torch.autograd.grad(out, inputs, row, retain_graph=True, allow_unused=True) for row in g]
    for k, t in enumerate(got):
        assert (t is None) == (want[0][k] is None)
        if t is not None:
            close(t, torch.stack([row[k] for row in want]))
    rows = jacrev(lambda *a: f(*a).sum(), argnums=(0, 1, 2))(*(x.detach() for x in inputs))
    for t, x in zip(rows, torch.autograd.grad(out.sum(), inputs, allow_unused=True)):
        close(t, torch.zeros_like(t) if x is None else x)


def test_inference_mode():
    with torch.inference_mode():
        x = x3()
        close(grad(lambda a: (a * a).sum())(x), 2 * x)
        close(jvp(torch.sin, (x,), (x,))[1], x * x.cos())
        close(hessian(lambda a: (a ** 3).sum())(x), torch.diag(6 * x))
        close(vmap(torch.sin)(x), x.sin())
