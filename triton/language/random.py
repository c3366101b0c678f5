"""Random numbers from a seed and an offset: Philox 4x32 and 4x64 (Salmon and others, "Parallel random numbers: as easy as 1, 2, 3").

A number depends on (seed, offset) alone, so that a backward kernel can make a mask again instead of keeping it."""
import math as _math

from . import core
from . import semantic as S
from . import types as T
from .core import builtin, range_
from .semantic import cast, to_tensor, where

N_ROUNDS_DEFAULT = 10
# Multipliers of the two halves of the counter and increments of the key.
_CONSTANTS = {32: (0xD2511F53, 0xCD9E8D57, 0x9E3779B9, 0xBB67AE85),
              64: (0xD2E7470EE14C6C93, 0xCA5A826395121157, 0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)}


def _unsigned(x, width):
    x = to_tensor(x)
    if x.dtype.is_floating():
        raise TypeError(f"seeds and offsets are integers, not {x.dtype}")
    return cast(x, T.uint64 if width == 64 else T.uint32)


@builtin
def philox_impl(c0, c1, c2, c3, k0, k1, n_rounds=N_ROUNDS_DEFAULT):
    """n_rounds rounds on a counter of four words with a key of two."""
    c = [to_tensor(x) for x in (c0, c1, c2, c3)]
    width = 64 if c[0].dtype.primitive_bitwidth == 64 else 32
    c = [_unsigned(x, width) for x in c]
    k = [_unsigned(k0, width), _unsigned(k1, width)]
    a, b, da, db = (S.number(v, c[0].dtype) for v in _CONSTANTS[width])
    for _ in range_(int(core._known(n_rounds, "n_rounds"))):
        high_a, low_a = core.umulhi(c[0], a), S.mul(c[0], a)
        high_b, low_b = core.umulhi(c[2], b), S.mul(c[2], b)
        c = [S.bit_xor(S.bit_xor(high_b, c[1]), k[0]), low_b, S.bit_xor(S.bit_xor(high_a, c[3]), k[1]), low_a]
        k = [S.add(k[0], da), S.add(k[1], db)]
    return tuple(c)


@builtin
def philox(seed, c0, c1, c2, c3, n_rounds=N_ROUNDS_DEFAULT):
    """Four blocks of random integers for a seed of 64 bits and a counter of four words."""
    c = [to_tensor(x) for x in (c0, c1, c2, c3)]
    width = 64 if c[0].dtype.primitive_bitwidth == 64 else 32
    seed = cast(to_tensor(seed), T.uint64)
    if width == 64:
        return philox_impl(*c, seed, S.number(0, T.uint64), n_rounds)
    return philox_impl(*c, cast(S.bit_and(seed, 0xffffffff), T.uint32), cast(S.shr(seed, 32), T.uint32), n_rounds)


@builtin
def randint4x(seed, offset, n_rounds=N_ROUNDS_DEFAULT):
    """Four blocks of random uint32 (uint64 for offsets of 64 bits)."""
    offset = to_tensor(offset)
    if offset.dtype.primitive_bitwidth > 32:
        low, high = cast(S.bit_and(offset, 0xffffffff), T.uint32), cast(S.shr(cast(offset, T.uint64, bitcast=True), 32), T.uint32)
    else:
        low, high = cast(offset, T.uint32), S.number(0, T.uint32)
    zero = S.number(0, T.uint32)
    if offset.shape:
        zero = S.splat(zero, offset.shape)
        high = S.broadcast_to(high, offset.shape)
    return philox(seed, low, high, zero, zero, n_rounds)


@builtin
def randint(seed, offset, n_rounds=N_ROUNDS_DEFAULT):
    """A block of random uint32."""
    return randint4x(seed, offset, n_rounds)[0]


@builtin
def uint_to_uniform_float(x):
    """A random integer as a float32 in [0, 1): its distance from zero as a signed number, scaled below one."""
    x = to_tensor(x)
    wide = x.dtype.primitive_bitwidth == 64
    x = cast(x, T.int64 if wide else T.int32, bitcast=True) if not x.dtype.is_int_signed() else x
    x = where(S.lt(x, 0), S.sub(S.neg(x), 1), x)
    return S.mul(cast(x, T.float32), S.number(1.0842020432385337e-19 if wide else 4.6566127342e-10, T.float32))


@builtin
def rand(seed, offset, n_rounds=N_ROUNDS_DEFAULT):
    """A block of float32 uniform in [0, 1)."""
    return uint_to_uniform_float(randint(seed, offset, n_rounds))


@builtin
def rand4x(seed, offsets, n_rounds=N_ROUNDS_DEFAULT):
    """Four blocks of float32 uniform in [0, 1)."""
    return tuple(uint_to_uniform_float(i) for i in randint4x(seed, offsets, n_rounds))


@builtin
def pair_uniform_to_normal(u1, u2):
    """Two independent normal numbers from two uniform ones (Box and Muller)."""
    u1 = core.maximum(S.number(1.0e-7, T.float32), u1)
    angle = S.mul(u2, S.number(2 * _math.pi, T.float32))
    r = core.sqrt(S.mul(core.log(u1), -2.0))
    return S.mul(r, core.cos(angle)), S.mul(r, core.sin(angle))


@builtin
def randn(seed, offset, n_rounds=N_ROUNDS_DEFAULT):
    """A block of float32 of the standard normal distribution."""
    i1, i2, _, _ = randint4x(seed, offset, n_rounds)
    return pair_uniform_to_normal(uint_to_uniform_float(i1), uint_to_uniform_float(i2))[0]


@builtin
def randn4x(seed, offset, n_rounds=N_ROUNDS_DEFAULT):
    """Four blocks of float32 of the standard normal distribution."""
    u = [uint_to_uniform_float(i) for i in randint4x(seed, offset, n_rounds)]
    return pair_uniform_to_normal(u[0], u[1]) + pair_uniform_to_normal(u[2], u[3])
