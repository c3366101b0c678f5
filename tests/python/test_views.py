"""Views, copies, joins and padding: values from numpy or by hand, errors, gradients, writes through views."""
import itertools

import numpy as np
import pytest
import torch


def ramp(*shape, dtype=torch.float32):
    n = int(np.prod(shape))
    return torch.arange(n).to(dtype).reshape(shape)


def as_np(t):
    return np.array(t.detach().tolist())


def test_view_and_reshape_rules():
    x = ramp(4, 6)
    assert x.view(2, -1).shape == (2, 12)
    assert torch.empty(0, 3).view(-1, 3).shape == (0, 3)
    for bad in [(5, 5), (-1, -1), (-2, 12), (-1, 5)]:
        with pytest.raises(RuntimeError):
            x.view(*bad)
    with pytest.raises(RuntimeError, match="reshape"):
        x.t().view(24)
    assert as_np(x.t().reshape(24)).tolist() == as_np(x).T.reshape(-1).tolist()
    assert x.t().reshape(3, 2, 4).data_ptr() == x.data_ptr()  # strides allow it


@pytest.mark.parametrize("dtype", [torch.float32, torch.int16, torch.complex64, torch.bool, torch.float64, torch.bfloat16])
def test_every_layout_copies(dtype):
    base = ramp(3, 4, 5, 6).to(dtype)
    for dims in itertools.permutations(range(4)):
        p = base.permute(dims)
        c = p.contiguous()
        assert c.is_contiguous() and as_np(c).tolist() == np.transpose(as_np(base), dims).tolist()
        half = p[:, ::2, 1:]
        assert as_np(half.clone()).tolist() == np.transpose(as_np(base), dims)[:, ::2, 1:].tolist()


def test_overlapping_copy_reads_first():
    x = ramp(8)
    x[1:].copy_(x[:-1].clone())
    y = ramp(8)
    y[1:].copy_(y[:-1])
    assert x.tolist() == y.tolist()
    with pytest.raises(RuntimeError):
        torch.zeros(1).expand(3).copy_(torch.ones(3))


def test_index_errors_name_the_shape():
    x = ramp(4, 6)
    for f in (lambda: x.select(0, 4), lambda: x.squeeze(2), lambda: x.transpose(0, 2), lambda: x.narrow(0, 5, 1), lambda: x.unbind(2),
              lambda: torch.tensor(1.0).select(0, 0), lambda: x.flip(2), lambda: torch.cat([x, x], 2)):
        with pytest.raises(IndexError):
            f()
    for f in (lambda: x.narrow(0, 1, 4), lambda: x.permute(0, 0), lambda: x.split([1, 2]), lambda: x.chunk(0), lambda: x.expand(3, 6),
              lambda: x.unfold(0, 5, 1), lambda: x.as_strided((25,), (1,)), lambda: torch.cat([x, x.t()]), lambda: torch.stack([])):
        with pytest.raises(RuntimeError):
            f()
    with pytest.raises(ValueError):
        torch.cat([])


def test_splits():
    x = ramp(6, 5)
    assert [t.shape[0] for t in x.split(4)] == [4, 2]
    assert [t.shape[0] for t in x.chunk(4)] == [2, 2, 2]
    assert [t.shape[0] for t in x.tensor_split(4)] == [2, 2, 1, 1]
    assert [t.shape[1] for t in torch.hsplit(x, (1, 3))] == [1, 2, 2]
    assert [t.shape[0] for t in torch.vsplit(x, 3)] == [2, 2, 2]


@pytest.mark.parametrize("f", [
    lambda x: x.permute(2, 0, 1), lambda x: x.diagonal(1, 0, 2), lambda x: x.unfold(1, 2, 1), lambda x: x.expand(2, 3, 4, 5),
    lambda x: x.as_strided((2, 3), (7, 3), 4), lambda x: torch.cat([x, 2 * x], 1), lambda x: torch.stack(x.unbind(1), 2),
    lambda x: x.roll((1, 2), (0, 2)), lambda x: x.flip(0, 2), lambda x: torch.rot90(x, 3, (1, 2)), lambda x: x.repeat(2, 1, 3),
    lambda x: torch.tril(x, 1), lambda x: torch.diag_embed(x, 1), lambda x: torch.block_diag(x[0], x[1]),
    lambda x: torch._C._nn.pad(x, (2, 1, 1, 0), "reflect"), lambda x: torch._C._nn.pad(x, (2, 1, 1, 2), "replicate"),
    lambda x: torch._C._nn.pad(x, (2, 1), "circular"), lambda x: torch._C._nn.pad(x, (-1, 2, 1, 1)),
    lambda x: torch.slice_scatter(x, 3 * x[:, :2], 1, 1, 3), lambda x: torch.permute_copy(x, (1, 2, 0)), lambda x: x.movedim(0, 2),
])
def test_gradient_is_the_adjoint(f):
    """A linear map's backward is its adjoint: <f(x), c> == <x, backward(c)>."""
    x = (ramp(3, 4, 5, dtype=torch.float64) * 0.37).sub(3).requires_grad_()
    y = f(x)
    c = ramp(*y.shape, dtype=torch.float64).mul(0.11).sub(1)
    (g,) = torch.autograd.grad(y, x, c, create_graph=True)
    assert np.allclose((as_np(y) * as_np(c)).sum(), (as_np(x) * as_np(g)).sum())


def test_in_place_geometry_keeps_history():
    r = torch.ones(4, 2, requires_grad=True)
    z = r * 2
    z.t_()
    z.unsqueeze_(0)
    (z * torch.arange(8.0).view(1, 2, 4)).sum().backward()
    assert r.grad.tolist() == [[0, 8], [2, 10], [4, 12], [6, 14]]
    r.grad = None
    z = r * 2
    v = z[0]
    v.unsqueeze_(0)
    (v * 3).sum().backward()
    assert r.grad.tolist() == [[6, 6], [0, 0], [0, 0], [0, 0]]


def test_writes_through_views_of_another_type():
    x = torch.ones(3, dtype=torch.complex64, requires_grad=True)
    y = x * (2 + 1j)
    torch.view_as_real(y)[..., 1].zero_()
    y.real.sum().backward()
    assert x.grad.tolist() == [2 - 1j] * 3
    x.grad = None
    y = x * (1 + 1j)
    y.imag.mul_(3)
    y.conj().imag.mul_(2)
    assert y.tolist() == [1 + 6j] * 3
    torch.view_as_real(y).sum().backward()
    assert x.grad.tolist() == [7 + 5j] * 3
    r = torch.ones(4, 2, requires_grad=True)
    z = r * 2
    torch.view_as_complex(z).mul_(1 + 2j)
    z.sum().backward()
    assert r.grad.tolist() == [[6, -2]] * 4


def test_fill_and_overflow():
    with pytest.raises(RuntimeError, match="300"):
        torch.zeros(2, dtype=torch.uint8).fill_(300)
    with pytest.raises(RuntimeError):
        torch.full((2,), 1e40)
    with pytest.raises(RuntimeError):
        torch.empty(2**40, 2**40)
    assert torch.full((2,), True).dtype == torch.bool
    assert torch.zeros(3, 5).t().fill_(2).sum().item() == 30


def test_ranges():
    assert torch.arange(1, 2.5, 0.5).tolist() == [1.0, 1.5, 2.0]
    assert torch.arange(5, 1, -1).tolist() == [5, 4, 3, 2]
    assert torch.linspace(-5, 5, 8, dtype=torch.int8).tolist() == [-5, -3, -2, 0, 0, 2, 3, 5]
    assert torch.logspace(0, 2, 3).tolist() == [1, 10, 100]
    assert torch.arange(2**53, 2**53 + 3).tolist() == [2**53, 2**53 + 1, 2**53 + 2]
    for bad in [(1, 5, 0), (5, 1, 1), (0, float("inf")), (0, float("nan"))]:
        with pytest.raises(RuntimeError):
            torch.arange(*bad)
    assert torch.zeros(3, out=torch.ones(3, dtype=torch.int32)).dtype == torch.int32


def test_formats_of_results():
    z = torch.zeros(2, 3, 4, 5).to(memory_format=torch.channels_last)
    assert z.stride() == (60, 1, 15, 3)
    assert torch.cat([z, z]).stride() == (60, 1, 15, 3)
    assert torch.stack([z, z], 1).stride() == (120, 3, 1, 30, 6)
    assert torch.empty_like(z[:, :, ::2]).stride() == (30, 1, 15, 3)
    assert z.flip(0).stride() == (60, 1, 15, 3)
    assert torch._C._nn.pad(z, (1, 1, 1, 1), "reflect").stride() == (126, 1, 21, 3)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16, torch.float32, torch.float64, torch.complex128])
@pytest.mark.parametrize("shape", [(1, 1), (7, 65), (64, 64), (129, 200), (33, 1030), (1 << 11, 2112)])
def test_transposed_copies(dtype, shape):
    # Squares in registers, whole lines, what is left of both; the largest are stored past the cache.
    count = shape[0] * shape[1]
    wide = torch.arange(count) * 2654435761 % 251
    x = wide.to(dtype).reshape(shape)
    y = x.t().contiguous()
    want = x.numpy().T.copy()
    assert y.stride() == (shape[0], 1)
    assert (y.numpy() == want).all()
    into = torch.zeros(shape[1], shape[0] + 3, dtype=dtype)
    into[:, 2:-1].copy_(x.t())
    assert (into[:, 2:-1].numpy() == want).all() and not into[:, :2].any() and not into[:, -1].any()


def written(write):
    leaf = torch.zeros(4).view(2, 2).requires_grad_()
    write(leaf)
    return leaf


@pytest.mark.parametrize("write", [lambda t: t.__setitem__(0, 0.5), lambda t: t.select(0, 1).fill_(1), lambda t: t.fill_diagonal_(1),
                                   lambda t: t.view(-1).add_(1), lambda t: t.add_(1)], ids=["setitem", "select", "diagonal", "view", "itself"])
def test_a_leaf_that_is_a_view_is_not_written(write):
    with pytest.raises(RuntimeError, match="leaf that requires grad"):
        written(write)
    with torch.no_grad():
        leaf = written(write)
    assert leaf.is_leaf and leaf.requires_grad
    leaf.sum().backward()
    assert leaf.grad.tolist() == [[1, 1], [1, 1]]


def test_a_base_and_its_other_views_may_be_written():
    base = torch.zeros(4)
    leaf = base.view(2, 2).requires_grad_()
    base.add_(1)
    base[:2].mul_(3)
    assert leaf.tolist() == [[3, 3], [1, 1]] and leaf.is_leaf and not base.requires_grad


def test_results_are_no_views_of_what_they_were_made_from():
    theta = torch.tensor([[[1.0, 0.0, 0.5], [0.0, 1.0, 0.0]]], requires_grad=True)
    grid = torch.nn.functional.affine_grid(theta, (1, 1, 2, 2), align_corners=False)
    assert not grid._is_view()
    want = grid.detach().exp()
    grid.exp_()
    grid.sum().backward()
    assert torch.equal(grid.detach(), want)
    x = torch.tensor([-0.5, 0.5, -0.5, 0.5]).double()
    y = torch.tensor([-0.5, -0.5, 0.5, 0.5]).double()
    first, second = (x + 0.5).exp(), y.exp()
    want = torch.stack([torch.stack([(g * x).sum(), (g * y).sum(), g.sum()]) for g in (first, second)])
    torch.testing.assert_close(theta.grad[0].double(), want, rtol=1e-5, atol=1e-5)
