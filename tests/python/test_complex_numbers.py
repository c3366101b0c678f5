"""Complex numbers: the same bits for any layout, complex32, which is kept and converted but not computed in, and operands that are lazily conjugated or negated."""
import cmath

import pytest
import torch

NUMBERS = [1 + 2j, 3.5 - 1j, complex(0.1, -65504)]
HALVES = [complex(torch.tensor(x.real).half().item(), torch.tensor(x.imag).half().item()) for x in NUMBERS]


def test_complex32_holds_pairs_of_float16():
    t = torch.tensor(NUMBERS, dtype=torch.complex32)
    assert t.tolist() == HALVES
    assert t[1].item() == HALVES[1] and complex(t[1]) == HALVES[1]
    assert torch.view_as_real(t).dtype == torch.float16
    assert torch.view_as_real(t).tolist() == [[x.real, x.imag] for x in HALVES]
    assert t.conj().tolist() == [x.conjugate() for x in HALVES]
    assert repr(t[:2]) == "tensor([1.0000+2.j, 3.5000-1.j], dtype=torch.complex32)"


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_complex32_from_and_to_wider_types(dtype):
    t = torch.tensor(NUMBERS, dtype=dtype)
    assert t.to(torch.complex32).tolist() == HALVES
    assert t.conj().to(torch.complex32).tolist() == [x.conjugate() for x in HALVES]
    assert t.to(torch.complex32).to(dtype).tolist() == HALVES
    assert t.to(torch.complex32).conj().to(dtype).tolist() == [x.conjugate() for x in HALVES]
    into = torch.zeros(2, 3, dtype=torch.complex32)
    into.t().copy_(t[:, None])
    assert into.tolist() == [HALVES, HALVES]


def test_complex32_from_and_to_real_types():
    real = torch.tensor([1.5, -2.0])
    assert real.to(torch.complex32).tolist() == [1.5 + 0j, -2 + 0j]
    assert torch.tensor([2, 0]).to(torch.complex32).to(torch.bool).tolist() == [True, False]
    assert torch.tensor([1 + 2j, -3j], dtype=torch.complex32).real.tolist() == [1.0, 0.0]


def test_complex32_is_filled():
    assert torch.full((2,), 1 - 2j, dtype=torch.complex32).tolist() == [1 - 2j, 1 - 2j]
    assert torch.ones(2, dtype=torch.complex32).tolist() == [1 + 0j, 1 + 0j]
    t = torch.zeros(2, dtype=torch.complex32).conj()
    t.fill_(1 + 2j)
    assert t.tolist() == [1 + 2j, 1 + 2j]
    t[0] = 5j
    assert t.tolist() == [5j, 1 + 2j]


def functions():
    return [("exp", cmath.exp), ("sqrt", cmath.sqrt), ("sigmoid", lambda z: 1 / (1 + cmath.exp(-z))), ("neg", lambda z: -z),
            ("square", lambda z: z * z)]


@pytest.mark.parametrize("name, f", functions())
@pytest.mark.parametrize("lazy_out", [False, True])
def test_operands_are_conjugated_whatever_out_is(name, f, lazy_out):
    a = torch.tensor([-1 + 2.5j, 1 + 1j], dtype=torch.complex128)
    out = torch.zeros(2, dtype=torch.complex128)
    if lazy_out:
        out = out.conj()
    r = getattr(torch, name)(a.conj(), out=out)
    assert r is out and out.is_conj() == lazy_out
    want = torch.tensor([f(z.conjugate()) for z in a.tolist()], dtype=torch.complex128)
    assert torch.allclose(out, want, rtol=1e-14, atol=0)


@pytest.mark.parametrize("lazy_out", [False, True])
def test_operands_are_negated_whatever_out_is(lazy_out):
    z = torch.tensor([1 + 1j, -2 - 3j], dtype=torch.complex128)
    x = z.conj().imag
    assert x.is_neg() and x.tolist() == [-1.0, 3.0]
    out = torch.zeros(2, dtype=torch.complex128).conj().imag if lazy_out else torch.zeros(2, dtype=torch.float64)
    assert torch.add(x, x, out=out).tolist() == [-2.0, 6.0]
    assert torch.where(x > 0, x, 5 * x, out=out).tolist() == [-5.0, 3.0]
    assert torch.mul(x, 2, out=out).tolist() == [-2.0, 6.0]


def bits(t):
    return torch.view_as_real(t.resolve_conj()).contiguous()


def layouts(t):
    yield t
    yield t.t().contiguous().t()
    yield torch.stack([t, t], -1)[..., 1]


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_products_and_quotients_have_the_same_bits_for_any_layout(dtype):
    torch.manual_seed(5)
    a, b = torch.randn(7, 17, dtype=dtype), torch.randn(7, 17, dtype=dtype)
    product, quotient = bits(a * b), bits(a / b)
    assert torch.equal(product, bits(b * a))
    for x in layouts(a):
        for y in layouts(b):
            assert torch.equal(bits(x * y), product)
            assert torch.equal(bits(x / y), quotient)
            assert torch.equal(bits(torch.addcmul(x, x, y, value=0.3)), bits(torch.addcmul(a, a, b, value=0.3)))


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
@pytest.mark.parametrize("shape, dim", [((100, 81), 1), ((8, 3), 0), ((3, 2, 40, 5), 2)])
def test_a_product_over_a_dimension_has_the_same_bits_for_any_strides(dtype, shape, dim):
    torch.manual_seed(6)
    x = torch.randn(shape, dtype=dtype)
    whole = bits(x.prod(dim))
    order = list(range(x.dim()))[::-1]
    assert torch.equal(bits(x.permute(order).contiguous().permute(order).prod(dim)), whole)
    assert torch.equal(bits(torch.stack([x, x], -1)[..., 0].prod(dim)), whole)


def test_each_part_of_a_product_is_rounded_after_every_step():
    torch.manual_seed(7)
    a, b = torch.randn(33, dtype=torch.complex128), torch.randn(33, dtype=torch.complex128)
    want = [complex(x.real * y.real - x.imag * y.imag, x.real * y.imag + x.imag * y.real) for x, y in zip(a.tolist(), b.tolist())]
    assert (a * b).tolist() == want
