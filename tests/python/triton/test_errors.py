"""What errors of launches and kernels tell: the argument, types, the limit, the value and the place."""
import re

import pytest
import torch
import triton
import triton.language as tl


@triton.jit
def plain_kernel(out, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, n + i, mask=i < n)


def test_an_integer_of_more_than_64_bits():
    out = torch.zeros(8)
    for n in (2 ** 70, 2 ** 64, -2 ** 63 - 1):
        with pytest.raises(OverflowError, match=rf"argument n is the integer {n}; .*-9223372036854775808 \(int64\).* 18446744073709551615 \(uint64\)"):
            plain_kernel[(1,)](out, n, 8)
    plain_kernel[(1,)](out, 2 ** 64 - 1, 8)


@pytest.mark.parametrize("grid, error, text", [
    ((1.5,), TypeError, r"grid is \(1\.5,\): dimension 0 is 1\.5 of type float"),
    ((2, "x"), TypeError, r"dimension 1 is 'x' of type str"),
    (1.5, TypeError, r"not 1\.5 of type float"),
    ((), ValueError, r"one to three numbers, not 0: \(\)"),
    ((1, 2, 3, 4), ValueError, r"one to three numbers, not 4: \(1, 2, 3, 4\)"),
    ((1, -2), ValueError, r"has -2 programs in dimension 1; from 0 to 2147483647"),
    ((2 ** 31,), ValueError, r"has 2147483648 programs in dimension 0; from 0 to 2147483647"),
    ((2 ** 70,), ValueError, r"has 1180591620717411303424 programs in dimension 0; from 0 to 2147483647"),
])
def test_grids(grid, error, text):
    out = torch.zeros(8)
    plain_kernel[(1,)](out, 8, 8)
    for g in (grid, lambda meta: grid):
        if not isinstance(grid, tuple) and callable(g):
            continue
        with pytest.raises(error, match=text):
            plain_kernel[g](out, 8, 8)


def test_a_tensor_as_a_constexpr():
    with pytest.raises(TypeError, match=r"argument B is a tl\.constexpr.*a tensor of torch\.float32 and shape torch\.Size\(\[2, 3\]\)"):
        plain_kernel[(1,)](torch.zeros(8), 8, torch.zeros(2, 3))


def test_what_is_no_argument():
    with pytest.raises(TypeError, match=r"argument n is 'eight' of type str"):
        plain_kernel[(1,)](torch.zeros(8), "eight", 8)


@triton.jit
def operator_kernel(x, n, f, OP: tl.constexpr):
    i = tl.arange(0, 8)
    v = tl.load(x + i)
    if OP == "&":
        r = v & n
    elif OP == "|":
        r = n | v
    elif OP == "^":
        r = v ^ v
    elif OP == "<<":
        r = v << 2
    elif OP == ">>":
        r = f >> n
    elif OP == "//":
        r = v // 2
    elif OP == "& number":
        r = n & 1.5
    else:
        r = ~v
    tl.store(x + i, r)


@pytest.mark.parametrize("op, types", [("&", "<[8], fp32> and int32"), ("|", "int32 and <[8], fp32>"), ("^", "<[8], fp32> and <[8], fp32>"),
                                       ("<<", "<[8], fp32> and the number 2"), (">>", "fp32 and int32"), ("//", "<[8], fp32> and the number 2"),
                                       ("& number", "int32 and the number 1.5"), ("~", "<[8], fp32>")])
def test_operators_of_integers_name_both_types_and_the_place(op, types):
    with pytest.raises(triton.CompilationError) as e:
        operator_kernel[(1,)](torch.zeros(8), 5, 0.5, op)
    text = str(e.value)
    assert types in text and op.split()[0] in text
    lines = open(__file__).read().split("\n")
    line, column = map(int, re.search(r"test_errors\.py:(\d+):(\d+)", text).groups())
    assert lines[line - 1].strip() == {"~": "r = ~v", "& number": "r = n & 1.5", "&": "r = v & n", "|": "r = n | v", "^": "r = v ^ v", "<<": "r = v << 2",
                                       ">>": "r = f >> n", "//": "r = v // 2"}[op]
    assert lines[line - 1][column] == lines[line - 1].split("= ")[1][0]


@triton.jit
def const_kernel(x: tl.const, out, ATOMIC: tl.constexpr):
    i = tl.arange(0, 8)
    tl.store(out + i, tl.load(x + i))
    if ATOMIC == 1:
        tl.atomic_add(x + i, 1.0)
    elif ATOMIC == 2:
        tl.store(x + i, 1.0)


def test_pointers_to_constant_data():
    x, out = torch.randn(8), torch.zeros(8)
    const_kernel[(1,)](x, out, 0)
    assert torch.equal(x, out)
    for how in (1, 2):
        with pytest.raises(triton.CompilationError, match="const_pointer<fp32>"):
            const_kernel[(1,)](x, out, how)


@triton.jit
def number_kernel(x, HOW: tl.constexpr):
    i = tl.arange(0, 8)
    if HOW == 0:
        r = i.to(tl.int8) + 300
    elif HOW == 1:
        r = tl.full((8,), 2 ** 70, tl.int32)
    elif HOW == 2:
        r = i * 1.0 + 2 ** 70
    elif HOW == 3:
        r = i + tl.arange(0, 4)
    else:
        r = tl.full((8,), 2 ** 32 + 5, tl.int32)
    tl.store(x + i, r)


@pytest.mark.parametrize("how, text", [(0, "number 300 is out of range for type int8, from -128 to 127"),
                                       (1, "integer 1180591620717411303424 does not fit 64 bits: from -9223372036854775808 .* to 18446744073709551615"),
                                       (3, r"\+ does not take operands of type <\[8\], int32> and <\[4\], int32>: .*dimension 0 has 8 and 4")])
def test_numbers_and_shapes_name_their_limits(how, text):
    with pytest.raises(triton.CompilationError, match=text):
        number_kernel[(1,)](torch.zeros(8), how)


def test_numbers_that_a_type_takes():
    x = torch.zeros(8)
    number_kernel[(1,)](x, 2)
    assert x.tolist() == [2.0 ** 70] * 8
    number_kernel[(1,)](x, 4)
    assert x.tolist() == [5] * 8
