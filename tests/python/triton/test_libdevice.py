"""libdevice: special functions against scipy and long doubles, bits and directed rounding against Python's integers and fractions."""
import math
from fractions import Fraction

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from scipy import special
from triton.language.extra import libdevice

N = 512
SINGLE = np.float32
MOST = float(np.finfo(SINGLE).max)


@triton.jit
def one_kernel(x, out, F: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, F(tl.load(x + i)))


@triton.jit
def two_kernel(x, y, out, F: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, F(tl.load(x + i), tl.load(y + i)))


@triton.jit
def three_kernel(x, y, z, out, F: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, F(tl.load(x + i), tl.load(y + i), tl.load(z + i)))


@triton.jit
def four_kernel(x, y, z, w, out, F: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, F(tl.load(x + i), tl.load(y + i), tl.load(z + i), tl.load(w + i)))


def call(name, *xs, to=None):
    xs = [torch.from_numpy(np.ascontiguousarray(x)) for x in xs]
    out = torch.zeros(xs[0].shape, dtype=to or xs[0].dtype)
    kernel = (one_kernel, two_kernel, three_kernel, four_kernel)[len(xs) - 1]
    kernel[(1,)](*xs, out, getattr(libdevice, name), xs[0].numel())
    return out.numpy()


def numbers(dtype, seed=0):
    """Signed numbers of every size, with the special ones."""
    rng = np.random.default_rng(seed)
    low, high = (-1074, 1023) if dtype == np.float64 else (-149, 127)
    x = np.exp2(rng.uniform(low, high, N)) * rng.choice([-1, 1], N)
    x[:8] = [0, -0.0, np.inf, -np.inf, np.nan, 1, -8, 27]
    return rng.permutation(x).astype(dtype)


def small(dtype, reach=30):
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.uniform(-reach, reach, N // 2), rng.uniform(-1, 1, N // 2)])
    x[:8] = [0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 2]
    return x.astype(dtype)


def shares(dtype, top):
    rng = np.random.default_rng(2)
    p = rng.uniform(0, top, N)
    p[:N // 4] = np.exp2(rng.uniform(-120, 0, N // 4)) * top
    p[-5:] = [0, top / 2, top, -1, 1.5 * top]
    return p.astype(dtype)


def half_turns(f):
    def g(x):
        x = np.longdouble(x)
        r = x - 2 * np.rint(x / 2)
        n = np.rint(2 * r)
        t = (r - n / 2) * np.longdouble("3.14159265358979323846264338327950288")
        q = np.where(np.isfinite(n), n, 0).astype(int) + (f == "cos")
        v = np.where(q % 2 == 0, np.sin(t), np.cos(t))
        return np.where(np.isfinite(x), np.where(q % 4 >= 2, -v, v), np.nan)
    return g


def norm(*xs):
    return np.sqrt(sum(np.longdouble(x) ** 2 for x in xs))


# name: what it is in long double or double, arguments, tolerance of fp64 (as a multiple of what it is).
FLOATS = {
    "cbrt": (np.cbrt, lambda d: [numbers(d)], 4e-16), "rcbrt": (lambda x: 1 / np.cbrt(x), lambda d: [numbers(d)], 4e-16),
    "exp10": (special.exp10, lambda d: [small(d, 300)], 1e-15), "sinpi": (half_turns("sin"), lambda d: [small(d)], 4e-16),
    "cospi": (half_turns("cos"), lambda d: [small(d)], 4e-16), "erfcx": (special.erfcx, lambda d: [small(d, 26)], 1e-13),
    "erfcinv": (special.erfcinv, lambda d: [shares(d, 2)], 2e-15), "normcdf": (special.ndtr, lambda d: [small(d)], 1e-13),
    "normcdfinv": (special.ndtri, lambda d: [shares(d, 1)], 2e-15), "tgamma": (special.gamma, lambda d: [small(d)], 1e-13),
    "norm3d": (norm, lambda d: [numbers(d, s) for s in range(3)], 5e-16), "norm4d": (norm, lambda d: [numbers(d, s) for s in range(4)], 5e-16),
    "rnorm3d": (lambda *x: 1 / norm(*x), lambda d: [small(d), small(d)[::-1], small(d)], 1e-15),
    "rnorm4d": (lambda *x: 1 / norm(*x), lambda d: [small(d), small(d)[::-1], small(d), small(d)], 1e-15),
    "rhypot": (lambda *x: 1 / norm(*x), lambda d: [small(d), small(d)[::-1]], 1e-15),
    "rsqrt_rn": (lambda x: 1 / np.sqrt(x), lambda d: [np.abs(small(d))], 3e-16),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", FLOATS)
def test_functions_of_floats(name, dtype):
    f, arguments, tolerance = FLOATS[name]
    xs = arguments(dtype)
    with np.errstate(all="ignore"):
        exact = f(*[x.astype(np.float64) for x in xs])
        if name.startswith(("norm", "rnorm", "rhypot")) and name[-1] in "dt":   # an infinite edge makes the whole one so
            exact = np.where(np.isnan(exact) & np.any(np.isinf(xs), axis=0), 0 if name[0] == "r" else np.inf, exact)
        expected = exact.astype(dtype)
    rtol = tolerance if dtype == np.float64 else 1.3e-7   # in fp64, so that a float is right to a unit in the last place
    defined = ~np.any(np.isnan(xs), axis=0)
    np.testing.assert_allclose(call(name, *xs)[defined], expected[defined], rtol=rtol, atol=0)


def test_signs_of_zeros_and_infinities():
    zeros = np.array([0.0, -0.0, 1, -1, 2, -2, 0.5, -0.5])
    assert np.signbit(call("cbrt", zeros)).tolist() == np.signbit(zeros).tolist()
    assert call("sinpi", zeros).tolist() == [0, 0, 0, 0, 0, 0, 1, -1]
    assert np.signbit(call("sinpi", zeros)).tolist() == np.signbit(zeros).tolist()
    gamma = call("tgamma", np.array([0.0, -0.0, -1, -2, 5, 10, 0.5, 171]))
    assert gamma[:2].tolist() == [np.inf, -np.inf] and np.isnan(gamma[2:4]).all() and gamma[4:6].tolist() == [24, 362880]
    np.testing.assert_allclose(gamma[6:], [math.sqrt(math.pi), math.gamma(171)], rtol=3e-13)
    assert call("tgamma", np.array([1.0, 2, 3, 4, 5, 6, 7, 8])).tolist() == [math.factorial(k) for k in range(8)]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_exponents_and_neighbours(dtype):
    x, y = numbers(dtype), numbers(dtype, 1)
    rng = np.random.default_rng(3)
    with np.errstate(all="ignore"):
        for reach in (2300, 300):
            n = rng.integers(-reach, reach, N).astype(np.int32)
            np.testing.assert_array_equal(call("ldexp", x, n), np.ldexp(x, n))
            np.testing.assert_array_equal(call("scalbn", x, n), np.ldexp(x, n))
        np.testing.assert_array_equal(call("nextafter", x, y), np.nextafter(x, y))
        np.testing.assert_array_equal(call("nextafter", x, x), x)
        plain = np.isfinite(x) & (x != 0)
        exponent = np.frexp(x)[1] - 1
        np.testing.assert_array_equal(call("logb", x), np.where(plain, exponent, np.where(x == 0, -np.inf, np.abs(x))).astype(dtype))
        np.testing.assert_array_equal(call("ilogb", x, to=torch.int32),
                                      np.where(plain, exponent, np.where(np.isinf(x), 2 ** 31 - 1, -2 ** 31)))
        np.testing.assert_array_equal(call("saturatef", x), np.where(np.isnan(x), 0, np.clip(x, 0, 1)))
        np.testing.assert_array_equal(call("fdim", x, y), np.where(x <= y, 0, x - y).astype(dtype))
        np.testing.assert_array_equal(call("isfinited", x, to=torch.bool), np.isfinite(x))


# ---- which way it is rounded ----
def rounded(exact, way):
    """A fraction as a float; no rounding of numpy's or Python's is taken for granted."""
    if abs(exact) > Fraction(MOST):
        up = {"ru": exact > 0, "rd": exact < 0, "rz": False}[way]
        return math.copysign(math.inf if up else MOST, exact)
    low = SINGLE(max(min(float(exact), MOST), -MOST))
    while Fraction(float(low)) > exact:
        low = np.nextafter(low, SINGLE(-MOST))
    if Fraction(float(low)) == exact:
        return low
    high = np.nextafter(low, SINGLE(MOST)) if low < MOST else low
    return {"rd": low, "ru": high, "rz": low if exact > 0 else high}[way]


def operands():
    rng = np.random.default_rng(4)
    x = np.concatenate([np.exp2(rng.uniform(-120, 60, N // 2)), rng.uniform(-4, 4, N // 2)]) * rng.choice([-1, 1], N)
    y = rng.permutation(x)
    y[:100] = -x[:100] * 1.0000001
    z = rng.permutation(x)
    z[:50] = -x[:50] * y[:50]
    x[-1], y[-1], x[-2], y[-2] = 1, 3, 1e30, 1e30
    return [v.astype(SINGLE) for v in (x, y, z)]


EXACT = {"add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "div": lambda x, y: x / y, "fma": lambda x, y, z: x * y + z,
         "rcp": lambda x: 1 / x}


@pytest.mark.parametrize("way", ["rd", "ru", "rz"])
@pytest.mark.parametrize("kind", EXACT)
def test_directed_arithmetic(kind, way):
    xs = operands()[:{"rcp": 1, "fma": 3}.get(kind, 2)]
    expected = [rounded(EXACT[kind](*[Fraction(float(v)) for v in row]), way) for row in zip(*xs)]
    np.testing.assert_array_equal(call(f"{kind}_{way}", *xs), np.array(expected, SINGLE))


@pytest.mark.parametrize("way", ["rd", "ru", "rz"])
def test_directed_square_root(way):
    x = np.abs(operands()[0])
    for root, of in zip(call(f"sqrt_{way}", x), x):
        below, above = (root, np.nextafter(root, SINGLE(np.inf))) if way != "ru" else (np.nextafter(root, SINGLE(-np.inf)), root)
        exact = Fraction(float(of))
        assert Fraction(float(below)) ** 2 <= exact <= Fraction(float(above)) ** 2
        assert Fraction(float(root)) ** 2 == exact or Fraction(float(below)) ** 2 != exact != Fraction(float(above)) ** 2


def test_an_exact_difference_of_zero_takes_the_sign_of_the_way():
    x = np.ones(8, SINGLE)
    assert np.signbit(call("sub_rd", x, x)).all() and not np.signbit(call("sub_ru", x, x)).any() and not np.signbit(call("sub_rz", x, x)).any()


LIMITS = {"int": (-2 ** 31, 2 ** 31 - 1, torch.int32), "uint": (0, 2 ** 32 - 1, torch.uint32), "ll": (-2 ** 63, 2 ** 63 - 1, torch.int64),
          "ull": (0, 2 ** 64 - 1, torch.uint64)}
WHOLE = {"rn": round, "rz": math.trunc, "rd": math.floor, "ru": math.ceil}


@pytest.mark.parametrize("way", WHOLE)
@pytest.mark.parametrize("to", LIMITS)
@pytest.mark.parametrize("word, dtype", [("double", np.float64), ("float", np.float32)])
def test_floats_to_integers(word, dtype, to, way):
    rng = np.random.default_rng(5)
    x = np.concatenate([rng.uniform(-3e9, 3e9, 128), rng.uniform(-2e19, 2e19, 128), rng.uniform(-10, 10, N - 256)])
    x[-24:] = [0.5, 1.5, 2.5, -0.5, -1.5, np.nan, np.inf, -np.inf, 2.0 ** 31, -2.0 ** 31, 2.0 ** 63, -2.0 ** 63, 2.0 ** 64, 2.0 ** 32, 2.0 ** 32 - 1,
               2.0 ** 31 - 1, 2.0 ** 31 - 0.5, -2.0 ** 31 - 0.5, -1, 2.0 ** 32 - 0.5, 0, 1, 2, 3]
    x = x.astype(dtype)
    low, high, integer = LIMITS[to]
    expected = [0 if math.isnan(v) else high if v == math.inf else low if v == -math.inf else min(max(WHOLE[way](float(v)), low), high) for v in x]
    assert call(f"{word}2{to}_{way}", x, to=integer).tolist() == expected


@pytest.mark.parametrize("way", ["rd", "ru", "rz"])
def test_to_float(way):
    rng = np.random.default_rng(6)
    x = rng.uniform(-1, 1, N) * np.exp2(rng.uniform(-160, 140, N))
    x[:4] = [1e300, -1e300, 1e-300, -1e-300]
    np.testing.assert_array_equal(call(f"double2float_{way}", x, to=torch.float32), np.array([rounded(Fraction(v), way) for v in x], SINGLE))
    n = rng.integers(-2 ** 31, 2 ** 31, N).astype(np.int32)
    for name, v in (("int", n), ("uint", n.view(np.uint32))):
        np.testing.assert_array_equal(call(f"{name}2float_{way}", v, to=torch.float32), np.array([rounded(Fraction(int(k)), way) for k in v], SINGLE))


# ---- bits ----
def whole_numbers(dtype):
    rng = np.random.default_rng(7)
    x = rng.integers(-2 ** 63, 2 ** 63, N).view(np.uint64) >> rng.integers(0, 64, N).astype(np.uint64)
    x[:3] = [0, 1, 2 ** 64 - 1]
    return x.astype(dtype)


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64, np.uint64])
def test_bits(dtype):
    x = whole_numbers(dtype)
    width = x.itemsize * 8
    digits = [format(int(v) % 2 ** width, f"0{width}b") for v in x]
    assert call("popc", x, to=torch.int32).tolist() == [s.count("1") for s in digits]
    assert call("clz", x, to=torch.int32).tolist() == [len(s) - len(s.lstrip("0")) for s in digits]
    assert call("ffs", x, to=torch.int32).tolist() == [s[::-1].find("1") + 1 for s in digits]
    assert [int(v) % 2 ** width for v in call("brev", x)] == [int(s[::-1], 2) for s in digits]
    y = x[::-1].copy()
    assert call("mulhi", x, y).tolist() == [int(a) * int(b) >> width for a, b in zip(x, y)]


@pytest.mark.parametrize("dtype", [np.int32, np.uint32])
def test_numbers_of_32_bits(dtype):
    x = whole_numbers(dtype)
    y = np.random.default_rng(8).permutation(x)
    pairs = [(int(a), int(b)) for a, b in zip(x, y)]

    def low24(a):
        return (a % 2 ** 24 ^ 2 ** 23) - 2 ** 23 if dtype == np.int32 else a % 2 ** 24
    assert [int(v) % 2 ** 32 for v in call("mul24", x, y)] == [low24(a) * low24(b) % 2 ** 32 for a, b in pairs]
    assert call("hadd", x, y).tolist() == [a + b >> 1 for a, b in pairs]
    assert call("rhadd", x, y).tolist() == [a + b + 1 >> 1 for a, b in pairs]
    z = np.arange(N, dtype=np.uint32)
    assert call("sad", x, y, z, to=torch.uint32).tolist() == [(abs(a - b) + k) % 2 ** 32 for k, (a, b) in enumerate(pairs)]
    s = np.random.default_rng(9).integers(0, 2 ** 15, N).astype(dtype)

    def picked(a, b, e):
        both = (a % 2 ** 32).to_bytes(4, "little") + (b % 2 ** 32).to_bytes(4, "little")
        return int.from_bytes(bytes(both[e >> 4 * i & 7] for i in range(4)), "little")
    assert [int(v) % 2 ** 32 for v in call("byte_perm", x, y, s)] == [picked(a, b, int(e)) for (a, b), e in zip(pairs, s)]


def test_bits_of_floats():
    x = numbers(np.float64)
    high, low = call("double2hiint", x, to=torch.int32), call("double2loint", x, to=torch.int32)
    assert ((high.astype(np.int64) << 32 | low.view(np.uint32)).view(np.uint64) == x.view(np.uint64)).all()
    assert (call("hiloint2double", high, low, to=torch.float64).view(np.int64) == x.view(np.int64)).all()
    assert (call("double_as_longlong", x, to=torch.int64) == x.view(np.int64)).all()
    f = numbers(np.float32)
    assert (call("float_as_uint", f, to=torch.uint32) == f.view(np.uint32)).all()
    assert (call("uint_as_float", f.view(np.uint32), to=torch.float32).view(np.uint32) == f.view(np.uint32)).all()


@pytest.mark.parametrize("name, arguments", [("j0", 1), ("jn", 2), ("cyl_bessel_i1", 1), ("rcp64h", 1), ("add_rd", 2), ("sqrt_ru", 1), ("ll2float_rd", 1)])
def test_what_is_not_there_says_so(name, arguments):
    x = whole_numbers(np.int64) if name.startswith("ll") else numbers(np.float64)
    with pytest.raises(triton.CompilationError, match=f"NotImplementedError: .*{name}"):
        call(name, *[x] * arguments, to=torch.float64)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_remainder_is_that_of_ieee_754(dtype):
    rng = np.random.default_rng(0)
    x = np.concatenate([[5.0, 2.5, 1, 1, -7, 3, -3, 0.0, -0.0, 9, 1e30, 1e-30, 3], rng.normal(size=51) * 10]).astype(dtype)
    y = np.concatenate([[3.0, 3, -3, -np.inf, 2, 2, 2, 5, 5, 6, 7, 3e-31, np.inf], rng.normal(size=51)]).astype(dtype)
    got = call("remainder", x, y)
    expected = np.array([math.remainder(float(a), float(b)) for a, b in zip(x, y)]).astype(dtype)
    np.testing.assert_array_equal(got, expected)
    assert np.signbit(got[8]) and not np.signbit(got[7])
    assert np.isnan(call("remainder", np.array([1, np.inf], dtype), np.array([0, 1], dtype))).all()
