"""Tuples as arguments of kernels and within them."""
from typing import NamedTuple

import pytest
import torch
import triton
import triton.language as tl


class Matrix(NamedTuple):
    memory: object
    strides: tuple
    scale: float


@triton.jit
def sum_kernel(sources, out, n, B: tl.constexpr):
    i = tl.arange(0, B)
    total = tl.zeros((B,), tl.float32)
    for j in tl.static_range(len(sources)):
        total += tl.load(sources[j] + i, mask=i < n, other=0.0)
    tl.store(out + i, total, mask=i < n)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_tuple_of_tensors(count):
    xs = tuple(torch.randn(20) for _ in range(count))
    out = torch.empty(20)
    sum_kernel[(1,)](xs, out, 20, 32)
    expected = torch.zeros(20)
    for x in xs:
        expected = expected + x
    assert torch.equal(out, expected)
    sum_kernel[(1,)](xs, out=out, n=20, B=32)   # the cached launch
    assert torch.equal(out, expected)


@triton.jit
def numbers_kernel(t, out):
    a, b, (c, d), e = t
    tl.store(out, a)
    tl.store(out + 1, b)
    tl.store(out + 2, c)
    tl.store(out + 3, d)
    if e is None:
        tl.store(out + 4, -1.0)
    else:
        tl.store(out + 4, tl.load(e))
    for k in t[2]:
        tl.store(out + 5, tl.load(out + 5) + k)


def test_numbers_nested_tuples_and_none():
    out = torch.zeros(6, dtype=torch.float64)
    numbers_kernel[(1,)]((1, 2 ** 40, (2.5, True), None), out)
    assert out.tolist() == [1, 2.0 ** 40, 2.5, 1, -1, 3.5]
    out.zero_()
    numbers_kernel[(1,)]((7, 3, (-1, 4), torch.tensor([9.0])), out)
    assert out.tolist() == [7, 3, -1, 4, 9, 3]


def test_kernels_are_told_apart_by_what_tuples_hold():
    out = torch.zeros(6, dtype=torch.float64)
    numbers_kernel.device_caches_clear()
    kernels = [numbers_kernel[(1,)](t, out) for t in ((1, 5, (2, 3), None), (9, 5, (2, 3), None), (9, 8, (2, 3), None), (9, 8, (2.0, 3), None), (9.0, 8, (2, 3), None))]
    assert len({id(k) for k in kernels}) == 4   # a 1 is compiled in; other integers of one width share a kernel
    assert kernels[1] is kernels[2]


@triton.jit
def named_kernel(m, out, n, B: tl.constexpr):
    i = tl.arange(0, B)
    x = tl.load(m.memory + i * m.strides[0] + m.strides[-1], mask=i < n, other=0.0)
    tl.store(out + i, x * m.scale, mask=i < n)


def test_named_tuple():
    x, out = torch.randn(6, 8), torch.empty(6)
    named_kernel[(1,)](Matrix(x, x.stride(), 3.0), out, 6, 8)
    assert torch.equal(out, x[:, 1] * 3.0)


@triton.jit
def double(x):
    return x * 2


@triton.jit
def negated(x):
    return -x


@triton.jit
def functions_kernel(x, fs, out, width, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i)
    for f in tl.static_range(len(fs)):
        v = fs[f](v)
    tl.store(out + i, v.to(width[0]))
    tl.static_assert(width[1] == 4)


def test_functions_dtypes_and_constants_in_tuples():
    x, out = torch.randn(16), torch.empty(16)
    functions_kernel[(1,)](x, (double, negated), out, (tl.float32, tl.constexpr(4)), 16)
    assert torch.equal(out, -2 * x)
    functions_kernel[(1,)](x, (double, double), out, (tl.float16, tl.constexpr(4)), 16)
    assert torch.equal(out, (4 * x).half().float())
    with pytest.raises(triton.CompilationError):
        functions_kernel[(1,)](x, (double, double), out, (tl.float16, tl.constexpr(5)), 16)


@triton.jit
def shared_memory_kernel(pair, n, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(pair[0] + i, mask=i < n)
    tl.store(pair[1] + i, 1.0, mask=i < n)
    tl.store(pair[1] + i, tl.load(pair[1] + i, mask=i < n) + v, mask=i < n)


def test_tensors_of_a_tuple_may_share_memory():
    x = torch.randn(9)
    y = x.clone()
    shared_memory_kernel[(1,)]((x[:8], x[1:]), 8, 8)
    assert torch.equal(x[1:], 1.0 + y[:8])


@triton.jit
def extremes(x, y):
    return tl.minimum(x, y), tl.maximum(x, y)


@triton.jit
def carried_kernel(x, out, n, B: tl.constexpr):
    i = tl.arange(0, B)
    first = tl.load(x + i)
    pair = (first, first)
    count = (0, 0.0)
    for r in range(1, n):
        v = tl.load(x + r * B + i)
        low, high = extremes(pair[0], v)[0], extremes(pair[1], v)[1]
        pair = (low, high)
        count = (count[0] + 1, count[1] + 0.5)
    if n > 100:
        pair = (pair[1], pair[0])
    tl.store(out + i, pair[0])
    tl.store(out + B + i, pair[1])
    tl.store(out + 2 * B, count[0])
    tl.store(out + 2 * B + 1, count[1])


def test_tuples_that_loops_and_branches_carry():
    x, out = torch.randn(7, 16), torch.zeros(34)
    carried_kernel[(1,)](x, out, 7, 16)
    assert torch.equal(out[:16], x.amin(0)) and torch.equal(out[16:32], x.amax(0)) and out[32:].tolist() == [6, 3]


@triton.jit
def element_kernel(out, n):
    t = (1.0, 2.0, (3.0, 4.0))
    t[0] = 5.0
    t[-1][1] += 10.0
    for r in range(n):
        t[1] = t[1] * 2.0
    both = t[:2] + (7.0,)
    for k in tl.static_range(3):
        tl.store(out + k, both[k])
    tl.store(out + 3, t[2][0])
    tl.store(out + 4, t[2][1])
    tl.store(out + 5, len(both))


def test_elements_of_tuples_are_assigned():
    out = torch.zeros(6)
    element_kernel[(1,)](out, 3)
    assert out.tolist() == [5, 16, 7, 3, 14, 3]


@triton.jit
def wrong_element_kernel(out, HOW: tl.constexpr):
    t = (1.0, 2.0)
    i = tl.program_id(0)
    if HOW == 0:
        t[2] = 1.0
    elif HOW == 1:
        tl.store(out, t[i])
    elif HOW == 2:
        i[0] = 1


@pytest.mark.parametrize("how, text", [(0, "element 2 of a tuple of 2"), (1, "an index"), (2, "int32")])
def test_wrong_elements(how, text):
    with pytest.raises(triton.CompilationError, match=text) as e:
        wrong_element_kernel[(1,)](torch.zeros(1), how)
    assert "test_tuples.py" in str(e.value)


def test_what_tuples_do_not_hold():
    out = torch.zeros(20)
    with pytest.raises(TypeError, match=r"argument t\[2\]\[1\] is 'no' of type str"):
        numbers_kernel[(1,)]((1, 2, (3, "no"), None), out)
    with pytest.raises(OverflowError, match=r"argument t\[0\] is the integer 1180591620717411303424; .*-9223372036854775808.*18446744073709551615"):
        numbers_kernel[(1,)]((2 ** 70, 2, (3, 3), None), out)


@triton.jit
def compared_kernel(out, t, n):
    i = 0
    for v in (2 in (1, 2), 3 in (1, 2), 3 not in (1, 2), n in t, n not in t, t == (4, 5), t != (4, 5), t == (4,), (1, (2, n)) == (1, (2, 7)), (None, n) == (None, n)):
        tl.store(out + i, v)
        i += 1


def test_tuples_are_compared_and_looked_through():
    out = torch.zeros(10, dtype=torch.bool)
    for t, n in (((4, 5), 5), ((4, 6), 7), ((8, 5), 4)):
        compared_kernel[(1,)](out, t, n)
        assert out.tolist() == [True, False, True, n in t, n not in t, t == (4, 5), t != (4, 5), False, n == 7, True]


@triton.jit
def swapped(m):
    return Matrix(m.memory + 1, (m.strides[1], m.strides[0]), m.scale * 2)


@triton.jit
def ways_kernel(out, t, optional, n):
    total = 0.0
    for i, p in enumerate(t):
        total += tl.load(p) * (i + 1)
    if optional[1] is not None:
        total += tl.load(optional[1])
    m = Matrix(1.0, (n, n + 1), 0.5)
    for _ in range(3):
        m = swapped(m)
    a, b = 1, 1
    while a < n:
        a, b = b, a + b
    c = (a, (b, 1.5)) if n > 5 else (b, (a, 2.5))
    all_of_them = (total, m.memory, *m.strides, m.scale) + c[:1] + c[1]
    for k in tl.static_range(len(all_of_them)):
        tl.store(out + k, all_of_them[k])


def test_named_tuples_in_loops_enumerate_and_choices():
    out = torch.zeros(8)
    t = (torch.tensor([2.0]), torch.tensor([3.0]))
    ways_kernel[(1,)](out, t, (None, None), 100)
    assert out.tolist() == [8, 4, 101, 100, 4, 144, 233, 1.5]
    ways_kernel[(1,)](out, t, (None, torch.tensor([10.0])), 3)
    assert out.tolist() == [18, 4, 4, 3, 4, 5, 3, 2.5]


def test_constants_in_a_constexpr_tuple_are_told_apart():
    out = torch.zeros(2)

    @triton.jit
    def kernel(out, T: tl.constexpr):
        if isinstance(T[0], float):
            tl.store(out, 1.0)
        else:
            tl.store(out, 2.0)
    kernel[(1,)](out, (1,))
    assert out[0] == 2
    kernel[(1,)](out, (1.0,))
    assert out[0] == 1


def test_grid_function_and_compiled_kernel_see_tuples():
    x, out = (torch.randn(20), torch.randn(20)), torch.empty(20)
    seen = []
    kernel = sum_kernel[lambda meta: seen.append(len(meta["sources"])) or (1,)](x, out, 20, B=32)
    assert seen == [2] and torch.equal(out, x[0] + x[1])
    out.zero_()
    kernel[(1,)](x, out, 20)
    assert torch.equal(out, x[0] + x[1])
    with pytest.raises(TypeError, match="other types"):
        kernel[(1,)](x + x, out, 20)
