"""Functions of the language that are made of others."""
from . import core
from . import semantic as S
from . import types as T
from .core import builtin, member
from .semantic import cast, make, where
from .types import unwrap


def _dim(dim, x, what):
    return core._axis(len(x.shape) - 1 if unwrap(dim) is None else dim, len(x.shape), what)


@member
def softmax(x, dim=None, keep_dims=False, ieee_rounding=False):
    """exp(x) / sum(exp(x)) along dim (the first by default)."""
    d = 0 if unwrap(dim) is None else unwrap(dim)
    e = core.exp(S.sub(x, max(x, d, keep_dims=True)))
    return core.fdiv(e, sum(e, d, keep_dims=True))


def _half(t):
    return t.is_fp16() or t.is_bf16()


@member
def sum(input, axis=None, keep_dims=False, dtype=None):
    """The sum along an axis, or of all elements, added up as the reductions of tensors are. Small integers become int32."""
    to = unwrap(dtype)
    if to is None and input.dtype.is_int() and input.dtype.primitive_bitwidth < 32:
        to = T.int32 if input.dtype.is_int_signed() else T.uint32
        if input.dtype.is_bool():
            to = T.int32
    if to is not None:
        input = cast(input, to)
    wide = cast(input, T.float32) if _half(input.dtype) else input
    return cast(core.reduce(wide, axis, S.add, keep_dims), input.dtype)


@member
def xor_sum(input, axis=None, keep_dims=False):
    """The exclusive or of integers along an axis."""
    if not input.dtype.is_int():
        raise ValueError(f"xor_sum takes integers, not {input.dtype}")
    return core.reduce(input, axis, S.bit_xor, keep_dims)


@member
def reduce_or(input, axis, keep_dims=False):
    """The or of integers along an axis."""
    if not input.dtype.is_int():
        raise ValueError(f"reduce_or takes integers, not {input.dtype}")
    return core.reduce(input, axis, S.bit_or, keep_dims)


def _widened(x):
    if x.dtype.primitive_bitwidth < 32 and not x.dtype.is_bool():
        return cast(x, T.float32 if x.dtype.is_floating() else T.int32 if x.dtype.is_int_signed() else T.uint32)
    return cast(x, T.int32) if x.dtype.is_bool() else x


def _with_index(input, axis, left, keep_dims, better):
    input = _widened(input)
    if unwrap(axis) is None:
        rank, input, a = len(input.shape), core.ravel(input), 0
    else:
        rank, a = None, core._axis(axis, len(input.shape), "argmax or argmin")
    index = core.arange(0, input.shape[a])
    for d in core.range_(len(input.shape)):
        if d != a:
            index = core.expand_dims(index, d)
    index = S.broadcast_to(index, input.shape)

    def combine(x, i, y, j):
        first = better(x, y)
        if unwrap(left):
            first = S.bit_or(first, S.bit_and(S.eq(x, y), S.lt(i, j)))
        if x.dtype.is_floating():   # a number comes before NaN
            first = S.bit_or(first, S.bit_and(S.ne(y, y), S.eq(x, x)))
        return where(first, x, y), where(first, i, j)

    v, i = core.reduce((input, index), a, combine)
    if unwrap(keep_dims):
        v, i = (core.reshape(t, (1,) * rank) if rank else core.expand_dims(t, a) for t in (v, i))
    return v, i


@member
def max(input, axis=None, return_indices=False, return_indices_tie_break_left=True, keep_dims=False, propagate_nan=core.PropagateNan.NONE):
    """The greatest element along an axis, or of all; with return_indices also where it is."""
    if unwrap(return_indices):
        return _with_index(input, axis, return_indices_tie_break_left, keep_dims, S.gt)
    return core.reduce(_widened(input), axis, lambda a, b: core.maximum(a, b, propagate_nan), keep_dims)


@member
def min(input, axis=None, return_indices=False, return_indices_tie_break_left=True, keep_dims=False, propagate_nan=core.PropagateNan.NONE):
    """The least element along an axis, or of all; with return_indices also where it is."""
    if unwrap(return_indices):
        return _with_index(input, axis, return_indices_tie_break_left, keep_dims, S.lt)
    return core.reduce(_widened(input), axis, lambda a, b: core.minimum(a, b, propagate_nan), keep_dims)


@member
def argmax(input, axis, tie_break_left=True, keep_dims=False):
    """Where the greatest element along an axis is; the first of several."""
    return _with_index(input, axis, tie_break_left, keep_dims, S.gt)[1]


@member
def argmin(input, axis, tie_break_left=True, keep_dims=False):
    """Where the least element along an axis is; the first of several."""
    return _with_index(input, axis, tie_break_left, keep_dims, S.lt)[1]


def _running(input, axis, reverse, dtype, f):
    to = unwrap(dtype) or input.dtype
    if unwrap(dtype) is None and input.dtype.is_int() and input.dtype.primitive_bitwidth < 32:
        to = T.int32 if input.dtype.is_int_signed() or input.dtype.is_bool() else T.uint32
    wide = cast(input, T.float64 if to.is_floating() else to)   # as torch.cumsum, in double
    return cast(core.associative_scan(wide, axis, f, reverse), to)


@member
def cumsum(input, axis=0, reverse=False, dtype=None):
    """Sums up to and with each element along an axis, added up in double."""
    return _running(input, axis, reverse, dtype, S.add)


@member
def cumprod(input, axis=0, reverse=False):
    """Products up to and with each element along an axis."""
    return _running(input, axis, reverse, None, S.mul)


@member
def sort(x, dim=None, descending=False):
    """The elements in order along the last dimension."""
    d = _dim(dim, x, "sort")
    if d != len(x.shape) - 1:
        raise ValueError("sort works along the last dimension only")
    return make("sort", x.dtype, x.shape, [x], imm=int(bool(unwrap(descending))))


@builtin
def bitonic_merge(x, dim=None, descending=False):
    """A bitonic sequence (rising, then falling, or turned round) along the last dimension in order."""
    return sort(x, dim, descending)


@member
def topk(x, k, dim=None):
    """The k greatest elements along the last dimension, in falling order."""
    k = int(core._known(k, "k"))
    core._shape((k,), "k")
    s = sort(x, dim, True)
    n = s.shape[-1]
    if k > n:
        raise ValueError(f"topk: {k} of {n} elements")
    i = S.broadcast_to(core.arange(0, k), s.shape[:-1] + (k,))
    return core.gather(s, i, len(s.shape) - 1)


@builtin
def cdiv(x, div):
    """x / div rounded up, of integers."""
    return core.cdiv(x, div)


def next_power_of_2(n):
    """The least power of two that is not less than n."""
    n = unwrap(n)
    return 1 << (n - 1).bit_length() if n > 1 else 1


next_power_of_2.__triton_builtin__ = True
