"""Steps over lists of parameters against the formulas of the papers, in plain tensor operations."""

import pytest
import torch

SHAPES = [(), (1,), (7,), (3, 5), (40, 1000), (0, 4)]
BETA1, BETA2, EPS, LR = 0.9, 0.99, 1e-8, 0.05


def draw(dtype, positive=False):
    g = torch.Generator().manual_seed(7 + positive)
    made = [torch.randn(s, dtype=torch.float64, generator=g) for s in SHAPES]
    return [(t.abs() if positive else t).to(dtype) for t in made]


def close(got, expected, dtype):
    limit = 1e-6 if dtype == torch.float32 else 1e-13
    for a, e in zip(got, expected):
        assert a.shape == e.shape and a.dtype == dtype
        assert torch.allclose(a.double(), e, rtol=limit, atol=limit)


def adam_by_formula(p, g, m, v, top, t, decay, decoupled, maximize):
    if maximize:
        g = -g
    if decoupled:
        p = p - LR * decay * p
    else:
        g = g + decay * p
    m = BETA1 * m + (1 - BETA1) * g
    v = BETA2 * v + (1 - BETA2) * g * g
    if top is not None:
        top = torch.maximum(top, v)
    mean = m / (1 - BETA1 ** t)
    second = (v if top is None else top) / (1 - BETA2 ** t)
    return p - LR * mean / (second.sqrt() + EPS), m, v, top


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("decoupled", [False, True])
@pytest.mark.parametrize("amsgrad", [False, True])
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("decay", [0.0, 0.1])
@pytest.mark.parametrize("tensor_lr", [False, True])
def test_adam(dtype, decoupled, amsgrad, maximize, decay, tensor_lr):
    p, g, m = draw(dtype), draw(dtype), draw(dtype)
    g = [x * 0.5 + 0.1 for x in g]
    v, top = draw(dtype, True), [x * 0.9 for x in draw(dtype, True)] if amsgrad else []
    counts = [torch.tensor(3.0) for _ in p]
    expected = [adam_by_formula(*(x.double() for x in (p[i], g[i], m[i], v[i])),
                                top[i].double() if amsgrad else None, 3, decay, decoupled, maximize)
                for i in range(len(p))]
    kept = [x.clone() for x in g]
    f = torch._fused_adamw_ if decoupled else torch._fused_adam_
    lr = torch.tensor(LR, dtype=torch.float64) if tensor_lr else LR
    assert f(p, g, m, v, top, counts, lr=lr, beta1=BETA1, beta2=BETA2, weight_decay=decay, eps=EPS,
             amsgrad=amsgrad, maximize=maximize) is None
    for k, got in enumerate((p, m, v, top)):
        close(got, [e[k] for e in expected], dtype)
    assert all(torch.equal(a, b) for a, b in zip(g, kept))
    assert all(c.item() == 3 for c in counts)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("momentum, dampening, nesterov, first", [
    (0, 0, False, False), (0.9, 0.2, False, False), (0.9, 0, True, False), (0.9, 0.2, False, True)])
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_sgd(dtype, momentum, dampening, nesterov, first, maximize, decay):
    p, g = draw(dtype), [x * 0.5 + 0.1 for x in draw(dtype)]
    bufs = draw(dtype, True) if momentum else []
    expected, new_bufs = [], []
    for i in range(len(p)):
        d = (-g[i].double() if maximize else g[i].double()) + decay * p[i].double()
        if momentum:
            b = d if first else momentum * bufs[i].double() + (1 - dampening) * d
            new_bufs.append(b)
            d = d + momentum * b if nesterov else b
        expected.append(p[i].double() - LR * d)
    assert torch._fused_sgd_(p, g, bufs, weight_decay=decay, momentum=momentum, lr=LR,
                             dampening=dampening, nesterov=nesterov, maximize=maximize,
                             is_first_step=first) is None
    close(p, expected, dtype)
    close(bufs, new_bufs, dtype)


def adam_call(p, g, m, v, **more):
    torch._fused_adam_(p, g, m, v, [], [torch.tensor(2.0) for _ in p], lr=LR, beta1=BETA1,
                       beta2=BETA2, weight_decay=0.0, eps=EPS, amsgrad=False, maximize=False, **more)


def test_scale_divides_the_gradients_and_found_inf_skips():
    p, g = [torch.ones(9)], [torch.full((9,), 3.0)]
    torch._fused_sgd_(p, g, [], weight_decay=0.0, momentum=0.0, lr=1.0, dampening=0.0,
                      nesterov=False, maximize=False, is_first_step=False,
                      grad_scale=torch.tensor(4.0), found_inf=torch.tensor(0.0))
    assert torch.equal(g[0], torch.full((9,), 0.75)) and torch.equal(p[0], torch.full((9,), 0.25))
    m, v = [torch.zeros(9)], [torch.zeros(9)]
    adam_call(p, g, m, v, grad_scale=torch.tensor(4.0), found_inf=torch.tensor(1.0))
    assert torch.equal(g[0], torch.full((9,), 0.75)) and torch.equal(p[0], torch.full((9,), 0.25))
    assert m[0].abs().sum() == 0


def test_strided_and_transposed_tensors_give_the_same_bits():
    x = [torch.randn(6, 10, generator=torch.Generator().manual_seed(i)) for i in range(3)]
    plain = [t.clone() for t in (x[0], x[1], x[2], x[2] ** 2)]
    wide = torch.zeros(6, 20)
    strided = [x[0].t().contiguous().t(), wide[:, ::2], x[2].clone(), (x[2] ** 2).t().contiguous().t()]
    strided[1].copy_(x[1])
    adam_call(*([t] for t in plain))
    adam_call(*([t] for t in strided))
    for a, b in zip(plain, strided):
        assert torch.equal(a, b)


def test_versions_count_what_is_written():
    p, g, m, v = ([torch.ones(3)] for _ in range(4))
    before = [t[0]._version for t in (p, g, m, v)]
    adam_call(p, g, m, v)
    after = [t[0]._version for t in (p, g, m, v)]
    assert [b - a for a, b in zip(before, after)] == [1, 0, 1, 1]


def test_lists_that_do_not_fit_are_refused():
    one = [torch.ones(2)]
    with pytest.raises(RuntimeError, match="grads"):
        adam_call(one, [], one, one)
    with pytest.raises(RuntimeError, match="exp_avgs"):
        adam_call(one, one, [torch.ones(3)], one)
    with pytest.raises(RuntimeError, match="grads"):
        adam_call(one, [torch.ones(2, dtype=torch.float64)], one, one)
    with pytest.raises(NotImplementedError):
        adam_call([], [], [], [])
    whole = [torch.ones(2, dtype=torch.int64)]
    with pytest.raises(NotImplementedError):
        adam_call(whole, whole, whole, whole)


@pytest.mark.parametrize("make", [
    lambda p: torch.optim.Adam(p, lr=0.01, weight_decay=0.1, amsgrad=True),
    lambda p: torch.optim.AdamW(p, lr=0.01),
    lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9, nesterov=True)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_optimizers_follow_the_step_one_by_one(make, dtype):
    def run(one_by_one):
        params = [torch.nn.Parameter(t.clone()) for t in draw(dtype)]
        optimizer = make(params)
        for step in range(4):
            for p in params:
                p.grad = (p.detach() * 0.3 + 0.01 * step).clone()
            if one_by_one:
                with torch.no_grad():
                    optimizer._step_one_by_one(optimizer.param_groups[0])
            else:
                optimizer.step()
        return params

    limit = {torch.float32: 1e-6, torch.float64: 1e-13, torch.bfloat16: 0.05}[dtype]
    for a, b in zip(run(True), run(False)):
        assert torch.allclose(a.detach().double(), b.detach().double(), rtol=limit, atol=limit)


def test_foreach_add():
    x = [torch.zeros(2), torch.ones(3)]
    assert torch._foreach_add_(x, 1) is None
    assert [t.tolist() for t in x] == [[1, 1], [2, 2, 2]]
    torch._foreach_add_(x, [0.5, 2.0])
    assert [t.tolist() for t in x] == [[1.5, 1.5], [4, 4, 4]]
    torch._foreach_add_(x, [torch.ones(2), torch.ones(3)], alpha=2)
    assert [t.tolist() for t in x] == [[3.5, 3.5], [6, 6, 6]]
    torch._foreach_add_(x, torch.tensor(1.0))
    assert [t.tolist() for t in x] == [[4.5, 4.5], [7, 7, 7]]
    with pytest.raises(RuntimeError, match="empty"):
        torch._foreach_add_([], 1)
    with pytest.raises(RuntimeError, match="as long"):
        torch._foreach_add_(x, [1.0])
