"""Modules with forward and backward compiled ahead of time train as they do without."""
import copy

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch._decomp import core_aten_decompositions
from torch._functorch.aot_autograd import aot_module
from torch._functorch.compilers import nop
from torch._functorch.partitioners import default_partition, min_cut_rematerialization_partition
from torch.utils._pytree import tree_leaves


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.c, self.l = nn.Conv2d(8, 8, 3, padding=1, groups=2), nn.Linear(8, 4)

    def forward(self, x):
        y = F.relu(self.b(self.a(x)), inplace=True)
        y = F.max_pool2d(y + self.c(y), 2)
        return self.l(F.adaptive_avg_pool2d(y, 1).flatten(1))


class Writes(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(4, 4)

    def forward(self, x):
        y = self.l(x)
        z = torch.zeros_like(y)
        z[:, 1:3] = y[:, :2] * 2
        z[z < 0] = 0
        w = torch.where(y > 0, y, -y)
        return z + w.cumsum(1) + torch.cat([y[:, :2], w[:, 2:]], 1)


def cases():
    def r(*shape):
        return torch.randn(*shape)
    yield Residual(), (r(2, 3, 8, 8),)
    yield Writes(), (r(3, 4),)
    yield nn.GRU(4, 5, batch_first=True), (r(2, 3, 4),)
    yield nn.LSTM(4, 5, 2), (r(3, 2, 4),)
    yield nn.Sequential(nn.Embedding(10, 4), nn.Linear(4, 2)), (torch.randint(0, 10, (3, 5)),)
    yield nn.MultiheadAttention(8, 2, batch_first=True), (r(2, 4, 8),) * 3
    yield nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True), (r(2, 4, 8),)
    yield nn.Sequential(nn.Conv2d(3, 4, 3), nn.GroupNorm(2, 4), nn.SiLU(), nn.InstanceNorm2d(4), nn.ConvTranspose2d(4, 2, 3)), (r(2, 3, 6, 6),)
    yield nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Hardswish(), nn.LeakyReLU(), nn.ELU(), nn.SELU(), nn.Softplus(), nn.Mish(),
                        nn.PReLU(), nn.LogSoftmax(-1), nn.GLU(), nn.LayerNorm(4), nn.Tanhshrink()), (r(3, 4),)
    yield nn.Sequential(nn.AvgPool2d(2), nn.Upsample(scale_factor=2), nn.Conv2d(1, 1, 1), nn.ReflectionPad2d(1), nn.Unfold(2)), (r(1, 1, 4, 4),)
    yield nn.Bilinear(3, 4, 2), (r(2, 3), r(2, 4))


CASES = list(cases())


def tensors(out):
    return [t for t in tree_leaves(out) if isinstance(t, torch.Tensor)]


@pytest.mark.parametrize("partition, core", [(default_partition, False), (min_cut_rematerialization_partition, False),
                                             (min_cut_rematerialization_partition, True)], ids=["default", "cut", "core"])
@pytest.mark.parametrize("module, args", CASES, ids=[type(m).__name__ + str(i) for i, (m, _) in enumerate(CASES)])
def test_two_steps(module, args, partition, core):
    plain, own = copy.deepcopy(module), copy.deepcopy(module)
    compiled = aot_module(own, fw_compiler=nop, partition_fn=partition, decompositions=core_aten_decompositions() if core else None)
    for _ in range(2):
        expected, got = tensors(plain(*args)), tensors(compiled(*args))
        torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-5)
        for results in (expected, got):
            sum(t.square().sum() for t in results if t.requires_grad).backward()
    for (name, p), q in zip(plain.named_parameters(), own.parameters()):
        assert (p.grad is None) == (q.grad is None), name
        if p.grad is not None:
            torch.testing.assert_close(q.grad, p.grad, rtol=1e-3, atol=1e-4)
    for p, q in zip(plain.buffers(), own.buffers()):
        torch.testing.assert_close(q, p)


def test_values_that_decide_are_refused():
    from torch._subclasses.fake_tensor import DataDependentOutputException
    with pytest.raises(DataDependentOutputException):
        aot_module(nn.BatchNorm1d(4, momentum=None), fw_compiler=nop)(torch.randn(5, 4))
