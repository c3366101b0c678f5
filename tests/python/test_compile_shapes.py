"""One function, many shapes: what operators are made of hangs on sizes and strides, and is made anew for others."""
import gc
import weakref

import pytest
import torch
import torch.nn.functional as F
from torch._inductor import compile as compile_graph

from python.compiling import fresh  # noqa: F401

FUNCTIONS = {
    "flatten": lambda x: x.flatten() + 1,
    "normalize": lambda x: F.normalize(x, dim=-1) + 1,
    "reshape": lambda x: x.reshape(-1, 1) * 2,
    "tile": lambda x: x.tile(2) + 1,
    "repeat": lambda x: x.repeat_interleave(2, -1) + 1,
    "mean": lambda x: x.mean() + x.std(),
    "loss": lambda x: F.mse_loss(x, x * 2) + F.smooth_l1_loss(x, x * 3),
    "ravel of a transpose": lambda x: x.transpose(0, -1).ravel() + 1,
    "contiguous of a transpose": lambda x: x.transpose(0, -1).contiguous().view(-1) + 1,
    "roll": lambda x: x.roll(1, 0) + x.flip(0),
    "einsum": lambda x: torch.einsum("i...,j...->ij", x, x) + 1,
    "tensordot": lambda x: torch.tensordot(x, x.transpose(0, -1), 1) if x.ndim == 2 else x + 1,
    "meshgrid": lambda x: torch.meshgrid(x.flatten(), x.flatten(), indexing="ij")[0] * 2,
    "halves": lambda x: sum(t.sum() for t in x.chunk(2)) + x,
    "cumulative": lambda x: x.flatten().cumsum(0).unflatten(0, (1, -1)) + 1,
    "one like": lambda x: torch.ones_like(x) + x.new_zeros(x.shape),
    "softmax": lambda x: (x.log_softmax(-1) * x).sum(-1) + 1,
    "groups": lambda x: F.group_norm(x.reshape(1, -1, 1), 1) + 1,
    "cdist": lambda x: torch.cdist(x.reshape(-1, 1), x.reshape(-1, 1)) + 1,
    "outer": lambda x: torch.outer(x.flatten(), x.flatten()) + torch.kron(x.flatten(), x.flatten()).view(x.numel(), -1),
    "bilinear": lambda x: F.interpolate(x.reshape(1, 1, -1), scale_factor=2, mode="linear") + 1,
    "pad": lambda x: F.pad(x, (1, 2), mode="constant") * 2,
    "unfold": lambda x: x.flatten().unfold(0, 1, 1) + 1,
    "size read": lambda x: x.sum() / x.shape[0] + x.numel(),
}
SHAPES = [(2, 3), (4, 5), (3, 1), (1, 3), (0, 3), (2, 3), (6,), (2, 2, 2)]


@pytest.mark.parametrize("dynamic", [None, True, False])
@pytest.mark.parametrize("wants", [False, True])
@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_shape_has_its_own(name, backend, wants, dynamic):
    f = FUNCTIONS[name]
    compiled = torch.compile(f, backend=backend, dynamic=dynamic)
    for turned in (False, True):
        for shape in SHAPES:
            a = torch.randn(shape[::-1]).permute(*range(len(shape))[::-1]) if turned else torch.randn(shape)
            a, b = (a.clone().requires_grad_(wants) for _ in range(2))
            try:
                wanted = f(b)
            except (RuntimeError, IndexError, ValueError) as e:
                with pytest.raises(type(e)):
                    compiled(a)
                continue
            got = compiled(a)
            assert got.shape == wanted.shape and got.stride() == wanted.stride()
            assert torch.equal(got.nan_to_num(7), wanted.nan_to_num(7))
            if wants and wanted.requires_grad:
                weights = torch.randn(wanted.shape)
                (got * weights).sum().backward(), (wanted * weights).sum().backward()
                assert torch.equal(a.grad.nan_to_num(7), b.grad.nan_to_num(7))


def test_a_graph_of_the_inductor_itself():
    f = FUNCTIONS["flatten"]
    graph = compile_graph(f, [torch.randn(2, 3)])
    for shape in SHAPES:
        for dtype in (torch.float32, torch.float64, torch.int64):
            x = torch.randn(shape).to(dtype)
            assert torch.equal(graph(x), f(x)) and "operator by operator" not in graph.steps(x)
            assert torch.equal(graph(x.t() if x.ndim == 2 else x), f(x.t() if x.ndim == 2 else x))


def test_numbers_beside_tensors():
    graph = compile_graph(lambda x, n: (x.flatten() * n, n, x.shape[0]), [torch.ones(2, 3), 2])
    for x, n in ((torch.ones(2, 3), 2), (torch.ones(4, 5), 2), (torch.ones(4, 5), 3.5), (torch.ones(2, 3), True)):
        got = graph(x, n)
        assert torch.equal(got[0], x.flatten() * n) and got[1:] == (n, x.shape[0])


class Holder:
    pass


def test_a_graph_in_a_cycle_is_collected():
    def made():
        holder = Holder()
        holder.graph = compile_graph(lambda x: (x + 1, holder)[0], [torch.ones(2)])
        return weakref.ref(holder)
    gone = made()
    gc.collect()
    assert gone() is None
