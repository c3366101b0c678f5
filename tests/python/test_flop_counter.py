"""Flops by module, and which modules run. Expected numbers and tables are PyTorch's, for the same programs."""
import pytest
import torch
import torch.nn as nn
from torch.utils.flop_counter import FlopCounterMode, register_flop_formula
from torch.utils.module_tracker import ModuleTracker


def counts(counter):
    return {name: {str(op): n for op, n in found.items()} for name, found in counter.get_flop_counts().items()}


def test_by_module(capsys):
    net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 16, 10))
    with FlopCounterMode() as f:
        net(torch.randn(2, 3, 4, 4)).sum().backward()
    assert f.get_total_flops() == 43008
    whole = {"aten.convolution": 13824, "aten.addmm": 5120, "aten.mm": 10240, "aten.convolution_backward": 13824}
    assert counts(f) == {"Global": whole, "Sequential": whole, "Sequential.0": {"aten.convolution": 13824, "aten.convolution_backward": 13824},
                         "Sequential.3": {"aten.addmm": 5120, "aten.mm": 10240}}
    assert capsys.readouterr().out == """\
Module                          FLOP    % Total
---------------------------  -------  ---------
Sequential                   43.008K    100.00%
- aten.convolution           13.824K     32.14%
- aten.addmm                  5.120K     11.90%
- aten.mm                    10.240K     23.81%
- aten.convolution_backward  13.824K     32.14%
Sequential.0                 27.648K     64.29%
- aten.convolution           13.824K     32.14%
- aten.convolution_backward  13.824K     32.14%
Sequential.3                 15.360K     35.71%
- aten.addmm                  5.120K     11.90%
- aten.mm                    10.240K     23.81%
"""


def test_depth_and_shared_modules():
    with FlopCounterMode(display=False, depth=3) as f:
        nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)(torch.randn(2, 3, 8)).sum().backward()
    assert f.get_table(1) == """\
Module                      FLOP    % Total
-----------------------  -------  ---------
TransformerEncoderLayer  17.856K    100.00%
- aten.mm                12.288K     68.82%
- aten.bmm                1.728K      9.68%
- aten.addmm              3.840K     21.51%"""
    assert [line.split()[0] for line in f.get_table().splitlines() if "Transformer" in line] == [
        "TransformerEncoderLayer" + below for below in ("", ".linear1", ".linear2", ".self_attn")]

    class Shared(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(3, 3)
            self.b = nn.ModuleList([nn.Linear(3, 3), self.a])

        def forward(self, x):
            return self.b[1](self.b[0](self.a(x)))
    with FlopCounterMode(display=False) as f:
        Shared()(torch.ones(2, 3)).sum().backward()
    found = counts(f)
    assert found["Shared"] == {"aten.addmm": 108, "aten.mm": 180}
    assert found["Shared.b.0"] == {"aten.addmm": 36, "aten.mm": 72} and found["Shared.b.1"] == {"aten.addmm": 72, "aten.mm": 108}


def test_without_modules():
    with FlopCounterMode(display=False) as f:
        torch.einsum("bij,bjk->bik", torch.ones(2, 3, 4), torch.ones(2, 4, 5))
        torch.nn.functional.conv_transpose2d(torch.ones(1, 2, 4, 4), torch.ones(2, 3, 3, 3), stride=2)
        torch.ones(3) + 1
    assert counts(f) == {"Global": {"aten.bmm": 240, "aten.convolution": 1728}}
    assert f.get_table().splitlines()[2].split() == ["Global", "1.968K", "100.00%"]
    with FlopCounterMode(display=False) as f:
        torch.baddbmm(torch.ones(1), torch.ones(2, 3, 4), torch.ones(2, 4, 5))
    assert f.get_total_flops() == 240
    with FlopCounterMode(display=False) as f:
        pass
    assert f.get_total_flops() == 0 and f.get_table().splitlines()[2].split() == ["Global", "0", "0%"]


def test_formulas_of_ones_own():
    seen = []

    def formula(a, b, out_shape=None):
        seen.append((a, b, out_shape))
        return 7
    with FlopCounterMode(display=False, custom_mapping={torch.ops.aten.add: formula}) as f:
        torch.ones(2, 1) + torch.ones(3)
    assert counts(f) == {"Global": {"aten.add": 7}} and seen == [((2, 1), (3,), (2, 3))]
    with pytest.raises(RuntimeError, match="aten.mm"):
        register_flop_formula(torch.ops.aten.mm)(formula)
    with pytest.raises(ValueError, match="str"):
        register_flop_formula("aten::add")(formula)


def test_modules_that_run():
    seen = []

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            seen.append((sorted(tracker.parents), tracker.is_bw))
            return g

    class Node(nn.Module):
        def forward(self, x):
            seen.append((sorted(tracker.parents), tracker.is_bw))
            return Twice.apply(x)
    with ModuleTracker() as tracker:
        nn.Sequential(Node(), Node())(torch.ones(2, requires_grad=True)).sum().backward()
    at = [["Global", "Sequential", "Sequential.0"], ["Global", "Sequential", "Sequential.1"]]
    assert seen == [(at[0], False), (at[1], False), (at[1], True), (at[0], True)]
    assert tracker.parents == {"Global"}
    seen.clear()
    nn.Sequential(Node())(torch.ones(2))   # hooks are gone
    assert seen[0][0] == ["Global"]
