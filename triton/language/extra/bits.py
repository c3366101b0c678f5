"""Functions of CUDA's device library on integers and on the bits of numbers."""
from ..core import builtin, umulhi
from ..semantic import promoted, to_tensor
from .. import semantic as S
from .. import types as T


def _whole(x, what):
    x = to_tensor(x)
    if not x.dtype.is_int() or x.dtype.primitive_bitwidth not in (32, 64):
        raise ValueError(f"{what} takes integers of 32 or 64 bits, not {x.dtype}")
    return x


def _two_whole(x, y, what, widths=(32,)):
    x, y = promoted(x, y, what=what)
    if not x.dtype.is_int() or x.dtype.primitive_bitwidth not in widths:
        raise ValueError(f"{what} takes integers of {' or '.join(map(str, widths))} bits, not {x.dtype}")
    return x, y


def _unsigned(x):
    return S.cast(x, T.uint64 if x.dtype.primitive_bitwidth == 64 else T.uint32, bitcast=True)


def _bits_as(name, source, to):
    """The bits of a value as another type of its width."""
    def f(x):
        x = to_tensor(x)
        if x.dtype.primitive_bitwidth != source.primitive_bitwidth or x.dtype.is_floating() != source.is_floating():
            raise ValueError(f"{name} takes {source}, not {x.dtype}")
        return S.cast(x, to, bitcast=True)
    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"The bits of {source} as {to}."
    return builtin(f)


float_as_int, float_as_uint = _bits_as("float_as_int", T.float32, T.int32), _bits_as("float_as_uint", T.float32, T.uint32)
int_as_float, uint_as_float = _bits_as("int_as_float", T.int32, T.float32), _bits_as("uint_as_float", T.uint32, T.float32)
double_as_longlong, longlong_as_double = _bits_as("double_as_longlong", T.float64, T.int64), _bits_as("longlong_as_double", T.int64, T.float64)


@builtin
def double2hiint(x):
    """The upper 32 bits of fp64, as int32."""
    return S.cast(S.shr(double_as_longlong(x), 32), T.int32)


@builtin
def double2loint(x):
    """The lower 32 bits of fp64, as int32."""
    return S.cast(double_as_longlong(x), T.int32)


@builtin
def hiloint2double(hi, lo):
    """The fp64 of these upper and lower 32 bits."""
    hi, lo = _two_whole(hi, lo, "hiloint2double")
    low = S.cast(_unsigned(lo), T.int64)
    return longlong_as_double(S.bit_or(S.shl(S.cast(hi, T.int64), 32), low))


@builtin
def popc(x):
    """How many bits are set, int32."""
    x = _unsigned(_whole(x, "popc"))
    wide = x.dtype.primitive_bitwidth == 64
    pairs, quads, bytes_, ones = (v if wide else v & 0xffffffff for v in (0x5555555555555555, 0x3333333333333333, 0x0f0f0f0f0f0f0f0f, 0x0101010101010101))
    x = S.sub(x, S.bit_and(S.shr(x, 1), pairs))
    x = S.add(S.bit_and(x, quads), S.bit_and(S.shr(x, 2), quads))
    x = S.bit_and(S.add(x, S.shr(x, 4)), bytes_)
    return S.cast(S.shr(S.mul(x, ones), 56 if wide else 24), T.int32)


@builtin
def clz(x):
    """How many upper bits are not set, int32; all of them for 0."""
    x = _unsigned(_whole(x, "clz"))
    width = x.dtype.primitive_bitwidth
    shift = 1
    while shift < width:
        x = S.bit_or(x, S.shr(x, shift))
        shift *= 2
    return S.sub(width, popc(x))


@builtin
def ffs(x):
    """Which bit is the lowest one set, from 1 on, int32; 0 for 0."""
    x = _unsigned(_whole(x, "ffs"))
    return S.where(S.eq(x, 0), 0, popc(S.bit_xor(x, S.sub(x, 1))))


@builtin
def brev(x):
    """The bits in reverse."""
    x = _whole(x, "brev")
    v, width = _unsigned(x), x.dtype.primitive_bitwidth
    every, shift = (1 << width) - 1, width // 2
    while shift:
        low = every // ((1 << shift) + 1)   # runs of `shift` bits, every second one
        v = S.bit_or(S.bit_and(S.shr(v, shift), low), S.shl(S.bit_and(v, low), shift))
        shift //= 2
    return S.cast(v, x.dtype, bitcast=True)


@builtin
def byte_perm(x, y, s):
    """Four bytes out of the eight of x (0 to 3) and y (4 to 7): the lower three bits of each of s's four lower hexadecimal digits tell which."""
    x, y = _two_whole(x, y, "byte_perm")
    s = _unsigned(_whole(s, "byte_perm"))
    both = S.bit_or(S.cast(_unsigned(x), T.uint64), S.shl(S.cast(_unsigned(y), T.uint64), 32))
    r = None
    for i in range(4):
        which = S.cast(S.bit_and(S.shr(s, 4 * i), 7), T.uint64)
        byte = S.shl(S.cast(S.bit_and(S.shr(both, S.mul(which, 8)), 255), T.uint32), 8 * i)
        r = byte if r is None else S.bit_or(r, byte)
    return S.cast(r, x.dtype, bitcast=True)


@builtin
def mul24(x, y):
    """The lower 32 bits of the product of two numbers' lower 24 bits."""
    x, y = _two_whole(x, y, "mul24")
    return S.mul(*(S.shr(S.shl(v, 8), 8) for v in (x, y)))


@builtin
def mulhi(x, y):
    """The upper half of the product."""
    x, y = _two_whole(x, y, "mulhi", (32, 64))
    if x.dtype.is_int_unsigned():
        return umulhi(x, y)
    if x.dtype.primitive_bitwidth == 32:
        return S.cast(S.shr(S.mul(S.cast(x, T.int64), S.cast(y, T.int64)), 32), T.int32)
    high = S.cast(umulhi(_unsigned(x), _unsigned(y)), T.int64, bitcast=True)
    return S.sub(S.sub(high, S.where(S.lt(x, 0), y, 0)), S.where(S.lt(y, 0), x, 0))


@builtin
def sad(x, y, z):
    """|x - y| + z, uint32."""
    x, y = _two_whole(x, y, "sad")
    z = _unsigned(_whole(z, "sad"))
    return S.add(S.where(S.lt(x, y), S.sub(_unsigned(y), _unsigned(x)), S.sub(_unsigned(x), _unsigned(y))), z)


def _half_sum(name, one, text):
    def f(x, y):
        x, y = _two_whole(x, y, name)
        total = S.add(S.add(S.cast(x, T.int64), S.cast(y, T.int64)), one)
        return S.cast(S.shr(total, 1), x.dtype)
    f.__name__ = f.__qualname__ = name
    f.__doc__ = text
    return builtin(f)


hadd = _half_sum("hadd", 0, "(x + y) / 2 rounded down; the sum does not overflow.")
rhadd = _half_sum("rhadd", 1, "(x + y) / 2 rounded up; the sum does not overflow.")
