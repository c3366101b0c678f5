"""Decompositions give the results of the operators that they stand for."""
import types

import pytest
import torch
from torch._decomp import core_aten_decompositions, decomposition_table, get_decompositions, register_decomposition

aten = torch.ops.aten
torch.manual_seed(3)
X, Y, Z = torch.randn(4, 6), torch.randn(4, 6), torch.rand(4, 6)
HALF = torch.randn(4, 6).to(torch.bfloat16)
LINE = torch.linspace(-30, 30, 41)
V, W = torch.randn(6), torch.randn(4)
B1, B2 = torch.randn(2, 3, 4), torch.randn(2, 4, 5)
IMAGE = torch.randn(2, 4, 3, 3)
ODD = torch.tensor([0.0, -0.0, 1.5, -2.5, float("inf"), -float("inf"), float("nan")])

CASES = [
    ("silu.default", (X,)), ("silu.default", (HALF,)), ("gelu.default", (X,)), ("gelu.default", (X,), {"approximate": "tanh"}),
    ("hardtanh.default", (LINE,)), ("relu6.default", (LINE,)), ("hardsigmoid.default", (LINE,)), ("hardswish.default", (LINE,)),
    ("leaky_relu.default", (LINE, 0.1)), ("elu.default", (LINE, 1.5, 1, 1)), ("celu.default", (LINE, 2.0)), ("selu.default", (LINE,)),
    ("softplus.default", (LINE, 2, 10)), ("softshrink.default", (X, 0.4)), ("hardshrink.default", (X, 0.4)),
    ("mish.default", (LINE,)), ("log_sigmoid.default", (LINE,)), ("threshold.default", (X, 0.1, 7.0)), ("glu.default", (X, 1)),
    ("_softmax.default", (X, 1, False)), ("_softmax.default", (HALF, 0, False)), ("_log_softmax.default", (X, -1, False)),
    ("_softmax_backward_data.default", (X, torch.softmax(Y, 1), 1, torch.float32)),
    ("_log_softmax_backward_data.default", (X, torch.log_softmax(Y, 1), 1, torch.float32)),
    ("native_layer_norm.default", (X, [6], V, V, 1e-5)), ("native_layer_norm.default", (HALF, [6], None, None, 1e-5)),
    ("native_group_norm.default", (IMAGE, W, W, 2, 4, 9, 2, 1e-5)),
    ("mse_loss.default", (X, Y, 1)), ("l1_loss.default", (X, Y, 2)), ("smooth_l1_loss.default", (X, Y, 0, 0.5)),
    ("huber_loss.default", (X, Y, 1, 0.5)), ("soft_margin_loss.default", (X, torch.sign(Y), 1)),
    ("binary_cross_entropy.default", (Z, torch.rand(4, 6), None, 1)),
    ("binary_cross_entropy_with_logits.default", (LINE, torch.rand(41), None, torch.rand(41), 1)),
    ("binary_cross_entropy_with_logits.default", (LINE, torch.rand(41), torch.rand(41), None, 2)),
    ("addcmul.default", (X, Y, Z), {"value": 2}), ("addcdiv.default", (X, Y, Z + 1), {"value": 3}), ("rsub.Tensor", (X, Y), {"alpha": 2}),
    ("lerp.Scalar", (X, Y, 0.7)), ("lerp.Tensor", (X, Y, Z)), ("sinc.default", (ODD[:4],)), ("logit.default", (Z, 0.1)),
    ("xlogy.Tensor", (torch.tensor([0.0, 0.0, 2.0, 1.0]), torch.tensor([0.0, float("nan"), 3.0, -1.0]))),
    ("logaddexp.default", (ODD, torch.flip(ODD, [0]))), ("frac.default", (LINE,)), ("deg2rad.default", (X,)), ("rad2deg.default", (X,)),
    ("heaviside.default", (ODD, torch.full((7,), 0.5))), ("nan_to_num.default", (ODD,)), ("nan_to_num.default", (ODD, 1.0, 2.0, 3.0)),
    ("clamp_min.default", (X, 0.1)), ("clamp_max.default", (X, 0.1)), ("square.default", (X,)), ("masked_fill.Scalar", (X, Y > 0, 3.0)),
    ("masked_fill.Tensor", (X, Y > 0, torch.tensor(3.0))), ("std.correction", (X, [1]), {"correction": 0, "keepdim": True}),
    ("std.correction", (X,)), ("std_mean.correction", (X, [0])), ("dot.default", (V, V + 1)), ("mv.default", (X, V)),
    ("addmv.default", (W, X, V), {"beta": 2, "alpha": 3}), ("addr.default", (X, W, V), {"beta": 2, "alpha": 3}),
    ("baddbmm.default", (torch.randn(2, 3, 5), B1, B2), {"beta": 0.5, "alpha": 2}), ("trace.default", (torch.randn(3, 3),)),
    ("aminmax.default", (X,), {"dim": 1, "keepdim": True}), ("aminmax.default", (X,)), ("count_nonzero.dim_IntList", (torch.tensor([[0, 1], [2, 3]]), [0])),
    ("t.default", (X,)), ("transpose.int", (B1, -1, 0)), ("unbind.int", (X, 1)), ("stack.default", ([X, Y], -1)),
    ("split.Tensor", (X, 4, 1)), ("split_with_sizes.default", (X, [1, 3], 0)), ("embedding.default", (X, torch.tensor([[0, 3], [1, 1]]))),
    ("tril.default", (X, 1)), ("triu.default", (B1, -1)), ("zeros_like.default", (X,)), ("ones_like.default", (X,), {"dtype": torch.int64}),
    ("new_zeros.default", (X, [2, 3])), ("new_ones.default", (X, [2]), {"dtype": torch.float64})]


@pytest.mark.parametrize("name, args, kwargs", [(*c, {})[:3] for c in CASES], ids=[f"{c[0]}-{i}" for i, c in enumerate(CASES)])
def test_results(name, args, kwargs):
    packet, overload = name.split(".")
    op = getattr(getattr(aten, packet), overload)
    expected, got = op(*args, **kwargs), get_decompositions([op])[op](*args, **kwargs)
    expected, got = [list(r) if isinstance(r, (list, tuple)) else [r] for r in (expected, got)]
    assert len(expected) == len(got)
    for a, b in zip(expected, got):
        assert a.shape == b.shape and a.dtype == b.dtype
        torch.testing.assert_close(b, a, rtol=2e-2 if a.dtype == torch.bfloat16 else 2e-6, atol=1e-2 if a.dtype == torch.bfloat16 else 3e-6,
                                   equal_nan=True)


def test_every_decomposition_has_a_case():
    get_decompositions([])
    have = {c[0].split(".")[0] for c in CASES}
    alike = {"mse_loss_backward", "_unsafe_view", "unsafe_split", "log_sigmoid_forward", "silu_backward", "sigmoid_backward",
             "tanh_backward", "threshold_backward"}
    written = {o._overloadpacket.__name__ for o, f in decomposition_table.items() if isinstance(f, types.FunctionType)}
    assert written - alike <= have


def test_tables():
    table = get_decompositions([aten.silu, aten.addcmul.default, aten.mm])
    assert list(table) == [aten.silu.default, aten.addcmul.default]
    core = core_aten_decompositions()
    assert aten.silu.default in core and aten.gelu.default not in core and aten.mm.default not in core
    mine = {}

    @register_decomposition([aten.sin.default, aten.cos], registry=mine)
    def f(x):
        return x
    assert mine[aten.sin.default] is f and aten.cos.default in mine and aten.sin.default not in decomposition_table
    with pytest.raises(RuntimeError):
        register_decomposition(aten.sin.default, registry=mine)(f)
    with pytest.raises(TypeError):
        register_decomposition(torch.sin)(f)
