"""Schedules against their closed forms."""
import math

import pytest

pytest.importorskip("torch._C")
import torch  # noqa: E402
from torch.optim import SGD, Adam, lr_scheduler as lrs, swa_utils  # noqa: E402


def rates(make, steps=12, lr=0.1, **opt):
    o = SGD([torch.zeros(1, requires_grad=True)], lr=lr, momentum=0.9, **opt)
    s = make(o)
    out = [o.param_groups[0]["lr"]]
    for _ in range(steps):
        o.step()
        s.step()
        out.append(o.param_groups[0]["lr"])
        assert s.get_last_lr() == [out[-1]]
    return out


@pytest.mark.parametrize("make, form", [
    (lambda o: lrs.LambdaLR(o, lambda e: 1 / (1 + e)), lambda t: 0.1 / (1 + t)),
    (lambda o: lrs.StepLR(o, 3, 0.5), lambda t: 0.1 * 0.5 ** (t // 3)),
    (lambda o: lrs.MultiStepLR(o, [2, 5, 5], 0.5),
     lambda t: 0.1 * 0.5 ** ((t >= 2) + 2 * (t >= 5))),
    (lambda o: lrs.ExponentialLR(o, 0.9), lambda t: 0.1 * 0.9 ** t),
    (lambda o: lrs.MultiplicativeLR(o, lambda e: 0.8), lambda t: 0.1 * 0.8 ** t),
    (lambda o: lrs.ConstantLR(o, 0.25, 4), lambda t: 0.025 if t < 4 else 0.1),
    (lambda o: lrs.LinearLR(o, 0.5, 1.0, 4), lambda t: 0.1 * (0.5 + 0.5 * min(t, 4) / 4)),
    (lambda o: lrs.PolynomialLR(o, 6, 2.0), lambda t: 0.1 * (1 - min(t, 6) / 6) ** 2),
    (lambda o: lrs.CosineAnnealingLR(o, 5, 0.01),
     lambda t: 0.01 + 0.09 * (1 + math.cos(math.pi * t / 5)) / 2),
    (lambda o: lrs.CosineAnnealingWarmRestarts(o, 4),
     lambda t: 0.05 * (1 + math.cos(math.pi * (t % 4) / 4))),
    (lambda o: lrs.CyclicLR(o, 0.01, 0.11, 2), lambda t: 0.01 + 0.1 * (1 - abs(t % 4 - 2) / 2)),
    (lambda o: lrs.SequentialLR(o, [lrs.ConstantLR(o, 0.1, 99), lrs.ExponentialLR(o, 0.5)], [3]),
     lambda t: 0.01 if t < 3 else 0.1 * 0.5 ** (t - 3)),
    (lambda o: lrs.ChainedScheduler([lrs.ExponentialLR(o, 0.9), lrs.StepLR(o, 2, 0.1)]),
     lambda t: 0.1 * 0.9 ** t * 0.1 ** (t // 2)),
    (lambda o: swa_utils.SWALR(o, 0.02, 4, "linear"), lambda t: 0.1 - 0.08 * min(t, 4) / 4),
])
def test_closed_form(make, form):
    got = rates(make)
    assert got == pytest.approx([form(t) for t in range(13)], rel=1e-9, abs=1e-15)


def test_one_cycle():
    o = Adam([torch.zeros(1, requires_grad=True)])
    s = lrs.OneCycleLR(o, 1.0, total_steps=11, pct_start=0.5, anneal_strategy="linear")
    got, beta = [o.param_groups[0]["lr"]], [o.param_groups[0]["betas"][0]]
    for _ in range(10):
        o.step()
        s.step()
        got.append(o.param_groups[0]["lr"])
        beta.append(o.param_groups[0]["betas"][0])
    assert got[0] == pytest.approx(1 / 25) and max(got) <= 1.0
    assert got[-1] == pytest.approx(1 / 25 / 1e4)
    assert beta[0] == pytest.approx(0.95) and min(beta) >= 0.85 and beta[-1] == pytest.approx(0.95)
    s.step()
    with pytest.raises(ValueError, match="total_steps=11"):
        s.step()


def test_plateau_reduces_after_patience_and_cools_down():
    o = SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    s = lrs.ReduceLROnPlateau(o, factor=0.5, patience=1, cooldown=2, min_lr=0.2)
    got = []
    for metric in [5, 5, 5, 5, 5, 5, 5, 1, 1, 1, 1]:
        s.step(metric)
        got.append(o.param_groups[0]["lr"])
    assert got == [1, 1, .5, .5, .5, .5, .25, .25, .25, .25, .2]


def test_state_goes_round_and_order_is_watched():
    o = SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
    s = lrs.StepLR(o, 2)
    with pytest.warns(UserWarning, match="before optimizer.step"):
        s.step()
    state = s.state_dict()
    assert "optimizer" not in state and state["last_epoch"] == 1
    t = lrs.StepLR(SGD([torch.zeros(1, requires_grad=True)], lr=0.1), 99)
    t.load_state_dict(state)
    assert (t.step_size, t.last_epoch) == (2, 1)
    with pytest.raises(KeyError):
        lrs.StepLR(SGD([torch.zeros(1)], lr=0.1), 2, last_epoch=3)
    with pytest.raises(TypeError):
        lrs.StepLR(3, 2)


def test_tensor_rate_keeps_its_identity():
    lr = torch.tensor(0.5)
    o = SGD([torch.zeros(1, requires_grad=True)], lr=lr)
    s = lrs.ExponentialLR(o, 0.5)
    o.step()
    s.step()
    assert o.param_groups[0]["lr"] is lr and lr.item() == 0.25


def test_averaged_model():
    torch.manual_seed(0)
    model = torch.nn.Linear(2, 1)
    mean, ema = swa_utils.AveragedModel(model), swa_utils.AveragedModel(
        model, multi_avg_fn=swa_utils.get_ema_multi_avg_fn(0.5))
    weights = []
    for i in range(3):
        with torch.no_grad():
            model.weight.fill_(float(i + 1))
        mean.update_parameters(model)
        ema.update_parameters(model)
        weights.append(i + 1.0)
    assert mean.module.weight.flatten().tolist() == pytest.approx([sum(weights) / 3] * 2)
    assert ema.module.weight.flatten().tolist() == pytest.approx([(0.5 + 1) * 0.5 + 1.5] * 2)
    assert mean.n_averaged.item() == 3
