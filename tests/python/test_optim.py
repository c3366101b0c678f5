"""Optimizers against their formulas in plain Python floats, and the form of their state."""
import copy
import math
import pickle

import pytest

pytest.importorskip("torch._C")
import torch  # noqa: E402
from torch import optim  # noqa: E402

START = [0.5, -1.25, 2.0]


def quadratic_grad(x):
    return [2 * v + 0.3 for v in x]


def run(make, steps=5, dtype=torch.float64):
    p = torch.tensor(START, dtype=dtype, requires_grad=True)
    opt = make([p])
    for _ in range(steps):
        p.grad = torch.tensor(quadratic_grad(p.tolist()), dtype=dtype)
        opt.step()
    return p.tolist(), opt


def test_sgd_follows_its_formula():
    x, v = list(START), None
    for _ in range(5):
        g = [a + 0.1 * b for a, b in zip(quadratic_grad(x), x)]
        v = g if v is None else [0.9 * a + b for a, b in zip(v, g)]
        x = [a - 0.05 * (c + 0.9 * b) for a, b, c in zip(x, v, g)]
    got, _ = run(lambda p: optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.1))
    assert got == pytest.approx(x, rel=1e-12)


@pytest.mark.parametrize("decoupled", [False, True])
@pytest.mark.parametrize("amsgrad", [False, True])
def test_adam_follows_its_formula(decoupled, amsgrad):
    x, m, v, top = list(START), [0.0] * 3, [0.0] * 3, [0.0] * 3
    for t in range(1, 6):
        g = quadratic_grad(x)
        if decoupled:
            x = [a * (1 - 0.01 * 0.1) for a in x]
        else:
            g = [a + 0.1 * b for a, b in zip(g, x)]
        m = [0.9 * a + 0.1 * b for a, b in zip(m, g)]
        v = [0.99 * a + 0.01 * b * b for a, b in zip(v, g)]
        top = [max(a, b) for a, b in zip(top, v)]
        size = 0.01 / (1 - 0.9 ** t)
        x = [a - size * b / (math.sqrt(c) / math.sqrt(1 - 0.99 ** t) + 1e-8)
             for a, b, c in zip(x, m, top if amsgrad else v)]
    kind = optim.AdamW if decoupled else optim.Adam
    got, opt = run(lambda p: kind(p, lr=0.01, betas=(0.9, 0.99), weight_decay=0.1,
                                  amsgrad=amsgrad))
    assert got == pytest.approx(x, rel=1e-10)
    state = next(iter(opt.state.values()))
    assert list(state) == ["step", "exp_avg", "exp_avg_sq"] + ["max_exp_avg_sq"] * amsgrad
    assert state["step"].dtype == torch.float32 and state["step"].item() == 5


def test_adagrad_and_rmsprop_follow_their_formulas():
    x, s = list(START), [0.0] * 3
    for t in range(5):
        g = quadratic_grad(x)
        s = [a + b * b for a, b in zip(s, g)]
        x = [a - 0.1 / (1 + t * 0.2) * b / (math.sqrt(c) + 1e-10) for a, b, c in zip(x, g, s)]
    got, _ = run(lambda p: optim.Adagrad(p, lr=0.1, lr_decay=0.2))
    assert got == pytest.approx(x, rel=1e-10)
    x, s, mean = list(START), [0.0] * 3, [0.0] * 3
    for _ in range(5):
        g = quadratic_grad(x)
        s = [0.9 * a + 0.1 * b * b for a, b in zip(s, g)]
        mean = [0.9 * a + 0.1 * b for a, b in zip(mean, g)]
        x = [a - 0.01 * b / (math.sqrt(c - d * d) + 1e-8) for a, b, c, d in zip(x, g, s, mean)]
    got, _ = run(lambda p: optim.RMSprop(p, lr=0.01, alpha=0.9, centered=True))
    assert got == pytest.approx(x, rel=1e-10)


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "Adagrad", "Adadelta", "Adamax", "NAdam",
                                  "RAdam", "RMSprop", "Rprop", "ASGD", "Adafactor"])
def test_maximize_mirrors_and_complex_is_two_reals(name):
    kind = getattr(optim, name)
    p = torch.tensor(START, dtype=torch.float64, requires_grad=True)
    q = p.detach().clone().requires_grad_()
    down, up = kind([p], lr=0.1), kind([q], lr=0.1, maximize=True)
    for _ in range(4):
        p.grad = torch.tensor(quadratic_grad(p.tolist()), dtype=torch.float64)
        q.grad = -p.grad
        down.step()
        up.step()
    assert p.tolist() == q.tolist()
    if name == "Adafactor":
        return
    z = torch.tensor([1 + 2j, -0.5 + 0.25j], dtype=torch.complex128, requires_grad=True)
    r = torch.view_as_real(z.detach()).clone().requires_grad_()
    a, b = kind([z], lr=0.1), kind([r], lr=0.1)
    for _ in range(3):
        r.grad = r.detach() * 2
        z.grad = torch.view_as_complex(r.grad)
        a.step()
        b.step()
    assert torch.allclose(torch.view_as_real(z.detach()), r.detach(), rtol=1e-12)


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_lbfgs_solves_a_least_squares_problem(search):
    a = torch.tensor([[3.0, 1.0], [1.0, 2.0], [0.5, -1.0]], dtype=torch.float64)
    b = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
    x = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    opt = optim.LBFGS([x], lr=0.1 if search is None else 1, max_iter=100, line_search_fn=search)

    def closure():
        opt.zero_grad()
        loss = ((a @ x - b) ** 2).sum()
        loss.backward()
        return loss

    for _ in range(20):
        opt.step(closure)
    # Normal equations: [[10.25, 4.5], [4.5, 6]] x = [1.25, -3.5].
    det = 10.25 * 6 - 4.5 ** 2
    want = [(1.25 * 6 + 3.5 * 4.5) / det, (10.25 * -3.5 - 4.5 * 1.25) / det]
    assert x.tolist() == pytest.approx(want, abs=1e-6 if search else 1e-4)


def test_muon_step_has_singular_values_near_one():
    p = torch.zeros(4, 3, requires_grad=True)
    torch.manual_seed(0)
    p.grad = torch.randn(4, 3)
    optim.Muon([p], lr=1.0, weight_decay=0.0).step()
    scale = math.sqrt(4 / 3)
    gram = (p.detach().T @ p.detach()) / scale ** 2
    assert all(0.3 < gram[i, i].item() < 1.7 for i in range(3))
    assert all(abs(gram[i, j].item()) < 0.4 for i in range(3) for j in range(3) if i != j)


def test_state_dict_goes_round():
    p = torch.ones(3, requires_grad=True)
    opt = optim.Adam([p], lr=0.1)
    for _ in range(3):
        p.grad = torch.full((3,), 0.5)
        opt.step()
    saved = copy.deepcopy(opt.state_dict())
    assert list(saved) == ["state", "param_groups"] and saved["param_groups"][0]["params"] == [0]
    q = p.detach().double().requires_grad_()
    other = optim.Adam([q], lr=5.0)
    other.load_state_dict(saved)
    assert other.param_groups[0]["lr"] == 0.1
    assert other.state[q]["exp_avg"].dtype == torch.float64
    assert other.state[q]["step"].dtype == torch.float32
    again = pickle.loads(pickle.dumps(opt))
    assert again.state_dict()["state"][0]["step"].item() == 3
    with pytest.raises(ValueError, match="2 parameter groups"):
        optim.Adam([p]).load_state_dict(dict(saved, param_groups=saved["param_groups"] * 2))


@pytest.mark.parametrize("make, kind", [
    (lambda p: optim.SGD(p), TypeError), (lambda p: optim.SGD([]), ValueError),
    (lambda p: optim.SGD([p * 2]), ValueError), (lambda p: optim.SGD([3]), TypeError),
    (lambda p: optim.SGD([{"params": {p}}]), TypeError),
    (lambda p: optim.SGD([p], lr=-1), ValueError),
    (lambda p: optim.SGD([{"params": [p]}, {"params": [p]}]), ValueError),
    (lambda p: optim.SGD([("a", p), torch.ones(1)]), ValueError),
    (lambda p: optim.Adam([p], betas=(1.0, 0.9)), ValueError),
    (lambda p: optim.Adam([p], foreach=True, fused=True), RuntimeError),
    (lambda p: optim.SGD([p], nesterov=True), ValueError),
    (lambda p: optim.Muon([p]), ValueError),
    (lambda p: optim.Optimizer([p], {}).step(), NotImplementedError),
    (lambda p: optim.LBFGS([{"params": [p]}, {"params": [torch.ones(1)]}]), ValueError)])
def test_wrong_arguments(make, kind):
    with pytest.raises(kind):
        make(torch.ones(2, requires_grad=True))


def test_hooks_and_repr():
    p = torch.ones(1, requires_grad=True)
    opt = optim.SGD([("w", p)], lr=0.5)
    seen = []
    handle = opt.register_step_pre_hook(lambda o, a, k: seen.append("before"))
    opt.register_step_post_hook(lambda o, a, k: seen.append("after"))
    assert opt.step(lambda: 7) == 7
    handle.remove()
    opt.step()
    assert seen == ["before", "after", "after"]
    assert repr(opt) == """SGD (
Parameter Group 0
    dampening: 0
    differentiable: False
    foreach: None
    fused: None
    lr: 0.5
    maximize: False
    momentum: 0
    nesterov: False
    param_names: ['w']
    weight_decay: 0
)"""


def test_zero_grad():
    p = torch.ones(2, requires_grad=True)
    opt = optim.SGD([p])
    (p * 3).sum().backward()
    opt.zero_grad(set_to_none=False)
    assert p.grad.tolist() == [0.0, 0.0]
    opt.zero_grad()
    assert p.grad is None
