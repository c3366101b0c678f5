"""Numbers beside tensors: what a type cannot hold is refused, or becomes infinite, as in PyTorch; it never wraps in silence."""
import math

import pytest
import torch
import torch.nn.functional as F

i8 = torch.ones(2, 2, dtype=torch.int8)
half = torch.ones(2, 2, dtype=torch.half)
f32 = torch.ones(2, 2)
mask = torch.tensor([[True, False], [False, True]])


@pytest.mark.parametrize("call", [
    lambda: torch.where(mask, i8, 1000),
    lambda: torch.where(mask, 1000, i8),
    lambda: torch.where(mask, f32, 1e39),
    lambda: torch.addmm(i8, i8, i8, beta=1000),
    lambda: torch.addmm(i8, i8, i8, alpha=math.nan),
    lambda: torch.addmm(f32, f32, f32, beta=1j),
    lambda: torch.addmv(i8[0], i8, i8[0], alpha=1000),
    lambda: torch.baddbmm(i8[None], i8[None], i8[None], beta=1000),
    lambda: torch.addbmm(i8, i8[None], i8[None], alpha=1000),
    lambda: torch.addr(i8, i8[0], i8[0], beta=1000),
    lambda: torch.addr(i8, i8[0], i8[0], alpha=2.5),
    lambda: torch.addr(f32, f32[0], f32[0], alpha=True),
    lambda: torch.index_add(i8, 0, torch.tensor([0]), i8[:1], alpha=1000),
    lambda: torch.linspace(0, 1000, 5, dtype=torch.int8),
    lambda: torch.linspace(0, math.nan, 5, dtype=torch.int32),
    lambda: torch.linspace(0, 1e9, 5, dtype=torch.half),
    lambda: torch.logspace(0, 1000, 5, dtype=torch.int8),
    lambda: torch.tensor([math.nan], dtype=torch.int),
    lambda: torch.tensor([1e30], dtype=torch.long),
    lambda: torch.tensor([1000.5], dtype=torch.int8),
    lambda: torch.tensor([-0.5], dtype=torch.uint8),
    lambda: torch.tensor([2**64 - 1], dtype=torch.uint8),
    lambda: torch.full((2,), -1.0, dtype=torch.uint8),
    lambda: torch.histc(f32, 4, 0, 1e39),
    lambda: torch.add(f32, f32, alpha=1e39),
    lambda: torch.sub(half, half, alpha=1e9),
    lambda: torch.addcmul(f32, f32, f32, value=1e39),
    lambda: torch.addcdiv(f32, f32, f32, value=1j),
    lambda: torch.lerp(f32, f32, 1e39),
    lambda: torch.pow(half, 1e9),
    lambda: F.elu(f32, 1e39),
    lambda: F.leaky_relu(f32, 1j),
    lambda: F.threshold(half, 1e9, 0),
    lambda: F.hardtanh(half, -1, 1e9),
    lambda: F.softplus(f32, 1e39),
    lambda: F.pad(torch.ones(2, dtype=torch.uint8), (1, 0), value=-1.0),
])
def test_refused(call):
    with pytest.raises(RuntimeError):
        call()


def test_half_types_take_infinity():
    x = torch.ones(3, dtype=torch.half)
    x[0] = 1e9
    x[1:] = -(10**9)
    assert x.tolist() == [math.inf, -math.inf, -math.inf]
    y = torch.ones(3, dtype=torch.bfloat16)
    y[[0, 2]] = 1e39
    assert y.tolist() == [math.inf, 1, math.inf]
    assert torch.full((1,), 1e9, dtype=torch.half).item() == math.inf
    assert torch.scalar_tensor(1e9, dtype=torch.half).item() == math.inf
    assert torch.where(mask, half, 1e9)[0].tolist() == [1, math.inf]
    for wrong in (lambda: torch.ones(2)[0:1].__setitem__(0, 1e39), lambda: torch.full((2,), 1e9, dtype=torch.half), lambda: x.fill_(1e9)):
        with pytest.raises(RuntimeError):
            wrong()


def test_float8_without_infinity_takes_its_greatest():
    x = torch.tensor([1e9, 449, 480, -1e9, math.inf, -math.inf]).to(torch.float8_e4m3fn)
    assert x.float().tolist() == [448, 448, 448, -448, 448, -448]
    assert torch.tensor([math.nan]).to(torch.float8_e4m3fn).float().isnan().all()
    assert torch.tensor([1e9, 57344.0]).to(torch.float8_e5m2).float().tolist() == [math.inf, 57344]


def test_bool_takes_every_number():
    x = torch.zeros(2, dtype=torch.bool)
    x[0] = 1j
    assert x.tolist() == [True, False] and torch.tensor([1j], dtype=torch.bool).item() is True


def test_alpha_is_taken_as_self_holds_it():
    assert torch.index_add(i8[0], 0, torch.tensor([0]), i8[0, :1], alpha=2.5).tolist() == [3, 1]
    assert torch.index_add(half[0], 0, torch.tensor([0]), half[0, :1], alpha=2.5).tolist() == [3.5, 1]


def test_numbers_that_are_looked_for():
    assert not torch.isin(i8, 1000).any() and not torch.isin(1000, i8)
    assert torch.searchsorted(f32[0], 1e39).item() == 2 and torch.bucketize(1e9, half[0]).item() == 2


def test_unsigned_bounds_wrap_first():
    assert torch.linspace(-3, 100, 5, dtype=torch.uint8).tolist() == [253, 214, 176, 138, 100]


def test_bool_for_a_float():
    assert F.pad(f32[0], (1, 0), value=True).tolist() == [1, 1, 1]
    assert torch.nan_to_num(torch.tensor([math.nan]), True).item() == 1


def test_exceptions_of_indices():
    x, one = torch.zeros(3, 2), torch.ones(1, 2)
    for index in (3, -1):
        with pytest.raises(RuntimeError, match="index_add"):
            x.index_add(0, torch.tensor([index]), one)
        with pytest.raises(IndexError, match="index_add"):
            x[:, 0].index_add(0, torch.tensor([index]), one[:, 0])
        with pytest.raises(IndexError, match="index_reduce"):
            x.index_reduce(0, torch.tensor([index]), one, "amax")
    assert x.index_reduce(0, torch.tensor([2]), one, "amax")[2].tolist() == [1, 1]


def test_windows_wider_than_the_axis():
    x = torch.arange(16.0).reshape(1, 1, 4, 4)
    for name in ("_upsample_bicubic2d_aa", "_upsample_bilinear2d_aa"):
        for scale in (1e-7, 1e-10, 1e-300):
            assert getattr(torch.ops.aten, name)(x, [3, 3], False, scale, scale).shape == (1, 1, 3, 3)


def test_range_of_histc_beyond_the_type():
    big = torch.tensor([-2.9e38, 2.9e38])
    assert torch.histc(big, 4, -3e38, 3e38).sum() == 2
