"""The functions of the language: creation, shapes, memory, mathematics, reductions, scans, products, atomics."""
from builtins import bool as builtins_bool, range as range_   # the language has functions of such names

from . import semantic as S
from . import types as T
from .semantic import broadcast_all, broadcast_shape, call, cast as _cast, generator, is_number, lane, make, number, tensor, to_tensor, where as _where
from .types import block_type, constexpr, dtype, pointer_type, unwrap

TRITON_MAX_TENSOR_NUMEL = 1048576


def builtin(f):
    """Marks a function that kernels may call."""
    f.__triton_builtin__ = True
    return f


def member(f):
    """A function that is a method of tensors, too."""
    setattr(tensor, f.__name__, f)
    return builtin(f)


class PropagateNan:
    """What maximum and minimum make of NaN: NONE takes the other operand, ALL gives NaN."""
    NONE = "none"
    ALL = "all"


PROPAGATE_NAN = PropagateNan


def _known(x, what):
    """A number that must be known when compiling."""
    x = unwrap(x)
    if isinstance(x, tensor) and x.known is not None:
        x = x.known
    if not is_number(x):
        raise ValueError(f"{what} must be a tl.constexpr, not a value known only when the kernel runs ({x!r})")
    return x


def _shape(shape, what="shape"):
    shape = unwrap(shape)
    if not isinstance(shape, (tuple, list)):
        shape = (shape,)
    shape = tuple(int(_known(s, f"a dimension of {what}")) for s in shape)
    n = 1
    for s in shape:
        if s < 1 or s & (s - 1):
            raise ValueError(f"{what} {list(shape)} has dimension {s}; dimensions of tiles must be powers of two")
        n *= s
    if n > TRITON_MAX_TENSOR_NUMEL:
        raise ValueError(f"{what} {list(shape)} has {n} elements; a tile has at most {TRITON_MAX_TENSOR_NUMEL}")
    return shape


def _flat_dims(dims):
    return tuple(unwrap(dims[0])) if len(dims) == 1 and isinstance(unwrap(dims[0]), (tuple, list)) else dims


def _axis(axis, rank, what):
    axis = int(_known(axis, "an axis"))
    if not -rank <= axis < rank:
        raise ValueError(f"{what}: axis {axis} is not there in a tensor of {rank} dimensions")
    return axis % rank


# ---- programs ----
@builtin
def program_id(axis):
    """The number of this program along an axis of the grid, an int32."""
    axis = int(_known(axis, "an axis"))
    if axis not in (0, 1, 2):
        raise ValueError(f"program_id: axis is 0, 1 or 2, not {axis}")
    return make("program_id", T.int32, (), imm=axis)


@builtin
def num_programs(axis):
    """How many programs the grid has along an axis, an int32."""
    axis = int(_known(axis, "an axis"))
    if axis not in (0, 1, 2):
        raise ValueError(f"num_programs: axis is 0, 1 or 2, not {axis}")
    return make("num_programs", T.int32, (), imm=axis)


# ---- creation ----
@builtin
def arange(start, end):
    """The integers from start to end - 1, int32; their number is a power of two."""
    start, end = int(_known(start, "arange's start")), int(_known(end, "arange's end"))
    if end <= start:
        raise ValueError(f"arange: end {end} must be greater than start {start}")
    if (end - start) & (end - start - 1):
        raise ValueError(f"arange's range from {start} to {end} has {end - start} numbers; it must be a power of two")
    if not 0 <= start < 2 ** 31 or end > 2 ** 31:
        raise ValueError(f"arange from {start} to {end} does not fit int32")
    return make("arange", T.int32, _shape((end - start,)), imm=start)


@builtin
def full(shape, value, dtype):
    """A tile filled with one number."""
    shape, dtype = _shape(shape), unwrap(dtype)
    value = unwrap(value)
    if isinstance(value, tensor):
        if value.type.is_block() and value.numel != 1:
            raise ValueError(f"full takes one number, not a tile of shape {list(value.shape)}")
        return S.splat(_cast(value.item() if value.type.is_block() else value, dtype), shape)
    if dtype.is_int() and not dtype.is_bool():
        S.natural_type(value)   # what fits 64 bits wraps to the type
    return S.splat(number(value, dtype), shape)


@builtin
def zeros(shape, dtype):
    """A tile of zeros."""
    return full(shape, 0, dtype)


@builtin
def zeros_like(input):
    """Zeros of a tensor's shape and type."""
    return full(input.shape, 0, input.dtype) if input.shape else number(0, input.dtype)


@builtin
def full_like(input, value):
    """A tensor's shape and type, filled with one number."""
    return full(input.shape, value, input.dtype)


@member
def cast(input, dtype, fp_downcast_rounding=None, bitcast=False):
    """Converts to dtype; bitcast keeps the bits."""
    return _cast(input, dtype, fp_downcast_rounding, bitcast)


# ---- shapes ----
@builtin
def broadcast(input, other):
    """Both tiles in their common shape."""
    return tuple(broadcast_all(to_tensor(input), to_tensor(other)))


@member
def broadcast_to(input, *shape):
    """A tile with dimensions of size 1 grown."""
    return S.broadcast_to(to_tensor(input), _shape(_flat_dims(shape)))


@member
def expand_dims(input, axis):
    """A tile with new dimensions of size 1."""
    input = to_tensor(input)
    axes = unwrap(axis)
    axes = [int(_known(a, "an axis")) for a in (axes if isinstance(axes, (tuple, list)) else (axes,))]
    rank = len(input.shape) + len(axes)
    axes = sorted(_axis(a, rank, "expand_dims") for a in axes)
    if len(set(axes)) != len(axes):
        raise ValueError(f"expand_dims: axis {axes} names a dimension twice")
    for a in axes:
        if not input.shape:
            input = S.splat(input, (1,))
        else:
            input = make("expand", input.dtype, input.shape[:a] + (1,) + input.shape[a:], [input], imm=a)
    return input


@builtin
def unsqueeze(x, dim):
    """A tile with a new dimension of size 1 at dim."""
    return expand_dims(x, dim)


@builtin
def squeeze(x, dim):
    """A tile without dimension dim, which has size 1."""
    x = to_tensor(x)
    d = _axis(dim, len(x.shape), "squeeze")
    if x.shape[d] != 1:
        raise ValueError(f"squeeze: dimension {d} of a tensor of shape {list(x.shape)} has size {x.shape[d]}, not 1")
    return reshape(x, x.shape[:d] + x.shape[d + 1:]) if len(x.shape) > 1 else x.item()


@member
def reshape(input, *shape, can_reorder=False):
    """The elements in row-major order in another shape."""
    input, shape = to_tensor(input), _shape(_flat_dims(shape))
    n = 1
    for s in shape:
        n *= s
    if n != input.numel:
        raise ValueError(f"reshape: a tensor of shape {list(input.shape)} has {input.numel} elements, shape {list(shape)} has {n}")
    if not input.shape:
        return S.splat(input, shape)
    return input if input.shape == shape else make("reshape", input.dtype, shape, [input])


@member
def view(input, *shape):
    """reshape."""
    return reshape(input, *shape)


@member
def ravel(x, can_reorder=False):
    """All elements in one dimension."""
    return reshape(x, [x.numel])


@member
def permute(input, *dims):
    """The dimensions in another order."""
    dims = [int(_known(d, "a dimension")) for d in _flat_dims(dims)]
    if sorted(d % len(input.shape) if input.shape else d for d in dims) != list(range_(len(input.shape))):
        raise ValueError(f"permute: {dims} does not order the dimensions of a tensor of shape {list(input.shape)}")
    dims = [d % len(input.shape) for d in dims]
    return make("permute", input.dtype, [input.shape[d] for d in dims], [input], attrs=dims)


@member
def trans(input, *dims):
    """The last two dimensions exchanged, or all in the order of dims."""
    if dims:
        return permute(input, *dims)
    n = len(input.shape)
    if n < 2:
        raise ValueError(f"trans takes a tensor of two dimensions and more, not of shape {list(input.shape)}")
    return permute(input, *range_(n - 2), n - 1, n - 2)


@builtin
def cat(input, other, can_reorder=False, dim=0):
    """Two tiles one behind the other along dimension dim."""
    input, other = S.promoted(input, other, what="cat")
    dim = _axis(dim, len(input.shape), "cat")
    if dim:
        order = [dim] + [d for d in range_(len(input.shape)) if d != dim]
        r = cat(permute(input, *order), permute(other, *order))
        return permute(r, *[order.index(d) for d in range_(len(order))])
    return make("cat", input.dtype, (2 * input.shape[0],) + input.shape[1:], [input, other])


@builtin
def join(a, b):
    """Two tiles side by side, in a new last dimension."""
    a, b = S.promoted(a, b, what="join")
    if not a.shape:
        a, b = S.splat(a, (1,)), S.splat(b, (1,))
        return reshape(make("join", a.dtype, (1, 2), [a, b]), [2])
    return make("join", a.dtype, a.shape + (2,), [a, b])


@member
def split(a):
    """The two halves of the last dimension, which has size 2."""
    if not a.shape or a.shape[-1] != 2:
        raise ValueError(f"split takes a tensor whose last dimension is 2, not of shape {list(a.shape)}")
    if len(a.shape) == 1:
        a = reshape(a, [1, 2])
        return tuple(make("split", a.dtype, a.shape[:-1], [a], imm=i).item() for i in (0, 1))
    return tuple(make("split", a.dtype, a.shape[:-1], [a], imm=i) for i in (0, 1))


@builtin
def interleave(a, b):
    """The elements of two tiles in turns along the last dimension."""
    c = join(a, b)
    return c if len(c.shape) == 1 else reshape(c, c.shape[:-2] + (2 * c.shape[-2],))


@member
def flip(x, dim=None):
    """Dimension dim backwards; the last one by default."""
    dim = _axis(len(x.shape) - 1 if unwrap(dim) is None else dim, len(x.shape), "flip")
    return make("flip", x.dtype, x.shape, [x], imm=dim)


# ---- memory ----
def _mask(mask, shape):
    mask = to_tensor(mask)
    if not mask.dtype.is_bool():
        raise TypeError(f"a mask is of type int1, not {mask.type}")
    return mask


def _fits_pointer(x, pointer, what):
    """x in the pointer's shape; a tile beside a scalar pointer does not fit."""
    if not pointer.shape and x.shape:
        raise ValueError(f"{what} has type {x.type}, but the pointer is a scalar of type {pointer.type}")
    if pointer.shape and x.shape and broadcast_shape(x.shape, pointer.shape) != pointer.shape:
        raise ValueError(f"{what} of type {x.type} does not fit the pointer of type {pointer.type}")
    return S.broadcast_to(x, pointer.shape) if pointer.shape else x


@builtin
def load(pointer, mask=None, other=None, boundary_check=(), padding_option="", cache_modifier="", eviction_policy="", volatile=False):
    """What stands where the pointers lead. Where mask is false memory is not touched, and the result is `other`."""
    if isinstance(pointer, block_pointer):
        if unwrap(mask) is not None or unwrap(other) is not None:
            raise ValueError("load of a block pointer takes boundary_check and padding_option, not mask and other")
        p, m = pointer.reach(unwrap(boundary_check))
        fill = None if m is None else float("nan") if unwrap(padding_option) == "nan" else 0
        return load(p, m, fill)
    if isinstance(pointer, tensor_descriptor):
        raise TypeError("a tensor descriptor is loaded by its method load(offsets)")
    if not isinstance(pointer, tensor) or not pointer.dtype.is_ptr():
        raise ValueError(f"load takes a pointer, not {pointer.type if isinstance(pointer, tensor) else pointer!r}")
    mask, other = unwrap(mask), unwrap(other)
    if mask is None and other is not None:
        raise ValueError("load: `other` needs a mask")
    element = pointer.dtype.element_ty
    stored = T.int64 if element.is_ptr() else element
    operands = [pointer]
    if mask is not None:
        mask = _fits_pointer(_mask(mask, pointer.shape), pointer, "the mask")
        other = number(0, stored) if other is None else _cast(to_tensor(other), stored)
        operands += [mask, _fits_pointer(other, pointer, "`other`")]
    r = make("load", stored, pointer.shape, operands)
    return _cast(r, element, bitcast=True) if element.is_ptr() else r


def _changeable(pointer, what):
    if pointer.dtype.is_const():
        raise ValueError(f"{what} changes memory through a pointer of type {pointer.type}, whose argument is annotated tl.const")


@builtin
def store(pointer, value, mask=None, boundary_check=(), cache_modifier="", eviction_policy=""):
    """Writes value where the pointers lead and the mask is true."""
    if isinstance(pointer, block_pointer):
        if unwrap(mask) is not None:
            raise ValueError("store of a block pointer takes boundary_check, not a mask")
        p, m = pointer.reach(unwrap(boundary_check))
        value = to_tensor(value)
        if value.shape and broadcast_shape(value.shape, p.shape) != p.shape:
            raise ValueError(f"store: a value of type {value.type} does not fit a block of shape {list(p.shape)}")
        return store(p, value, m)
    if not isinstance(pointer, tensor) or not pointer.dtype.is_ptr():
        raise ValueError(f"store takes a pointer, not {pointer.type if isinstance(pointer, tensor) else pointer!r}")
    _changeable(pointer, "store")
    element = pointer.dtype.element_ty
    value = _fits_pointer(to_tensor(value), pointer, "the value")
    value = _cast(_cast(value, element), T.int64, bitcast=True) if element.is_ptr() else _cast(value, element)
    operands = [pointer, value]
    if unwrap(mask) is not None:
        operands.append(_fits_pointer(_mask(unwrap(mask), pointer.shape), pointer, "the mask"))
    generator().program.append("store", "none", None, [o.handle for o in operands])


class block_pointer:
    """A window of a matrix, or of a tensor of any rank, that can be moved; see make_block_ptr."""

    def __init__(self, base, shape, strides, offsets, block_shape):
        self.base, self.shape, self.strides, self.offsets, self.block_shape = base, shape, strides, offsets, block_shape
        self.dtype = pointer_type(block_type(base.dtype.element_ty, block_shape))
        self.type = self.dtype

    def reach(self, checked):
        """Pointers to the window's elements, and the mask of the dimensions that are checked, or None."""
        rank = len(self.block_shape)
        checked = [_axis(c, rank, "boundary_check") for c in (checked if isinstance(checked, (tuple, list)) else (checked,))] if checked not in (None, "") else []
        p, mask = self.base, None
        for d in range_(rank):
            i = S.add(_cast(arange(0, self.block_shape[d]), T.int64), _cast(self.offsets[d], T.int64))
            shaped = i
            for e in range_(rank):
                if e != d:
                    shaped = expand_dims(shaped, e)
            p = S.add(p, S.mul(shaped, self.strides[d]))
            if d in checked:
                inside = S.logical_and(S.ge(shaped, 0), S.lt(shaped, self.shape[d]))
                mask = inside if mask is None else S.logical_and(mask, inside)
        return S.broadcast_to(p, self.block_shape), mask

    def advance(self, offsets):
        return advance(self, offsets)

    def parts(self):
        return [self.base, *self.shape, *self.strides, *self.offsets]

    def rebuilt(self, parts):
        n = len(self.block_shape)
        return block_pointer(parts[0], parts[1:1 + n], parts[1 + n:1 + 2 * n], parts[1 + 2 * n:], self.block_shape)


def _wide(x):
    x = to_tensor(x)
    if not x.dtype.is_int():
        raise TypeError(f"shapes, strides and offsets are integers, not {x.type}")
    return _cast(x, T.int64)


@builtin
def make_block_ptr(base, shape, strides, offsets, block_shape, order=None):
    """A pointer to the window of block_shape at offsets of a tensor of this shape and these strides (in elements)."""
    block_shape = _shape(block_shape, "block_shape")
    if not isinstance(base, tensor) or not base.dtype.is_ptr() or base.shape:
        raise ValueError(f"make_block_ptr takes a scalar pointer, not {base!r}")
    shape, strides, offsets = ([_wide(x) for x in unwrap(v)] for v in (shape, strides, offsets))
    offsets = [_cast(x, T.int32) for x in offsets]
    if not len(shape) == len(strides) == len(offsets) == len(block_shape):
        raise ValueError(f"make_block_ptr: shape, strides, offsets and block_shape have {len(shape)}, {len(strides)}, {len(offsets)} and {len(block_shape)} dimensions")
    return block_pointer(base, shape, strides, offsets, block_shape)


@builtin
def advance(base, offsets):
    """A block pointer moved by offsets, in elements."""
    if not isinstance(base, block_pointer):
        raise TypeError(f"advance takes a block pointer, not {base!r}")
    offsets = unwrap(offsets)
    if len(offsets) != len(base.offsets):
        raise ValueError(f"advance: {len(offsets)} offsets for a block pointer of {len(base.offsets)} dimensions")
    return block_pointer(base.base, base.shape, base.strides, [_cast(S.add(a, b), T.int32) for a, b in zip(base.offsets, offsets)], base.block_shape)


class tensor_descriptor:
    """A tensor in memory that is read and written block by block; see make_tensor_descriptor."""

    def __init__(self, base, shape, strides, block_shape):
        self.base, self.shape, self.strides, self.block_shape = base, shape, strides, block_shape
        self.dtype = base.dtype.element_ty

    def _at(self, offsets):
        offsets = [_wide(o) for o in unwrap(offsets)]
        if len(offsets) != len(self.block_shape):
            raise ValueError(f"a descriptor of {len(self.block_shape)} dimensions takes as many offsets, not {len(offsets)}")
        return block_pointer(self.base, self.shape, self.strides, offsets, self.block_shape).reach(tuple(range_(len(self.block_shape))))

    def load(self, offsets):
        """The block at offsets; zeros outside."""
        p, mask = self._at(offsets)
        return load(p, mask, 0)

    def store(self, offsets, value):
        """Writes a block; what lies outside is left out."""
        p, mask = self._at(offsets)
        store(p, value, mask)

    def parts(self): return [self.base, *self.shape, *self.strides]

    def rebuilt(self, parts):
        n = len(self.block_shape)
        return tensor_descriptor(parts[0], parts[1:1 + n], parts[1 + n:], self.block_shape)


@builtin
def make_tensor_descriptor(base, shape, strides, block_shape, padding_option="zero"):
    """A descriptor of a tensor with blocks of block_shape."""
    shape, strides = ([_wide(x) for x in unwrap(v)] for v in (shape, strides))
    return tensor_descriptor(base, shape, strides, _shape(block_shape, "block_shape"))


@builtin
def load_tensor_descriptor(desc, offsets):
    """The block of a descriptor at offsets; zeros outside."""
    return desc.load(offsets)


@builtin
def store_tensor_descriptor(desc, offsets, value):
    """Writes a block of a descriptor; what lies outside is left out."""
    return desc.store(offsets, value)


# ---- atomics ----
def _atomic(kind, pointer, val, mask, expected=None):
    if not isinstance(pointer, tensor) or not pointer.dtype.is_ptr():
        raise ValueError(f"atomics take a pointer, not {pointer!r}")
    _changeable(pointer, "an atomic")
    element = pointer.dtype.element_ty
    val = _cast(_fits_pointer(to_tensor(val), pointer, "the value"), element)
    if element.is_bool():
        raise TypeError("atomics do not take int1")
    if kind in (3, 4, 5) and not element.is_int():
        raise TypeError(f"atomics of bits take integers, not {element}")
    mask = number(True, T.int1) if unwrap(mask) is None else _mask(unwrap(mask), pointer.shape)
    operands = [pointer, val, _fits_pointer(mask, pointer, "the mask")]
    as_bits = kind == 7 and element.primitive_bitwidth == 16
    if as_bits:
        raise NotImplementedError(f"atomic_cas of {element} is not there")
    if expected is not None:
        operands.append(_cast(_fits_pointer(to_tensor(expected), pointer, "the expected value"), element))
    return make("atomic", element, pointer.shape, operands, imm=kind)


def _atomic_function(name, kind, text):
    def f(pointer, val, mask=None, sem=None, scope=None):
        return _atomic(kind, pointer, val, mask)
    f.__name__ = f.__qualname__ = name
    f.__doc__ = text + " Returns what stood there before."
    return member(f)


atomic_add = _atomic_function("atomic_add", 0, "Adds val in memory.")
atomic_min = _atomic_function("atomic_min", 1, "Puts the smaller one of val and what is in memory.")
atomic_max = _atomic_function("atomic_max", 2, "Puts the greater one of val and what is in memory.")
atomic_and = _atomic_function("atomic_and", 3, "Ands val in memory.")
atomic_or = _atomic_function("atomic_or", 4, "Ors val in memory.")
atomic_xor = _atomic_function("atomic_xor", 5, "Xors val in memory.")
atomic_xchg = _atomic_function("atomic_xchg", 6, "Puts val in memory.")


@member
def atomic_cas(pointer, cmp, val, sem=None, scope=None):
    """Puts val where cmp stands. Returns what stood there before."""
    return _atomic(7, pointer, val, None, cmp)


def _order_of_memory(name, sem, scope, possible):
    for what, given, known in (("sem", unwrap(sem), possible), ("scope", unwrap(scope), ("gpu", "cta", "sys"))):
        if given is not None and given not in known:
            raise ValueError(f"{name}: {what} is {given!r}; {', '.join(map(repr, known))} are possible")


@member
def atomic_load(pointer, mask=None, sem=None, scope=None):
    """What stands in memory, read in one piece after what other programs wrote before; 0 where mask is false."""
    _order_of_memory("atomic_load", sem, scope, ("acquire", "relaxed"))
    if not isinstance(pointer, tensor) or not pointer.dtype.is_ptr():
        raise ValueError(f"atomic_load takes a pointer, not {pointer!r}")
    element = pointer.dtype.element_ty
    bits = {32: T.int32, 64: T.int64}.get(element.primitive_bitwidth)
    if bits is None:
        raise NotImplementedError(f"atomic_load of {element} is not there; types of 32 and 64 bits are")
    pointer = _cast(pointer, pointer_type(bits), bitcast=True)
    return _cast(_atomic(4, pointer, 0, mask), element, bitcast=True)   # or with no bits


@member
def atomic_store(pointer, val, mask=None, sem=None, scope=None):
    """Writes val in one piece where mask is true."""
    _order_of_memory("atomic_store", sem, scope, ("release", "relaxed"))
    _atomic(6, pointer, val, mask)


@member
def atomic_poll(pointer, expected_value, sem=None, scope=None, timeout_ns=None):
    """Not there: raises NotImplementedError."""
    raise NotImplementedError("atomic_poll is not there: programs on the CPU do not all run at once, so one that waits for another may wait forever")


# ---- mathematics ----
@builtin
def where(condition, x, y):
    """x where the condition holds, else y."""
    return _where(condition, x, y)


def _float_function(name, node, text, halves=False):
    def f(x):
        x = to_tensor(x)
        if not (x.dtype.is_fp32() or x.dtype.is_fp64()):
            if not (halves and x.dtype.is_floating()):
                raise ValueError(f"{name} takes fp32 or fp64, not {x.dtype}")
        return node(x)
    f.__name__ = f.__qualname__ = name
    f.__doc__ = text
    return member(f)


def _named(name, text, function=None):
    return _float_function(name, lambda x: call(function or name, x), text)


exp = _named("exp", "e to the x.")
exp2 = _named("exp2", "2 to the x.")
log = _named("log", "Natural logarithm.")
log2 = _named("log2", "Logarithm to the base 2.")
sin = _named("sin", "Sine.")
cos = _named("cos", "Cosine.")
erf = _named("erf", "Error function.")
rsqrt = _named("rsqrt", "1 / sqrt(x).")
sigmoid = _named("sigmoid", "1 / (1 + exp(-x)).")
sqrt = _float_function("sqrt", lambda x: lane("sqrt", x.dtype, x), "Square root.")
sqrt_rn = _float_function("sqrt_rn", lambda x: lane("sqrt", x.dtype, x), "Square root, rounded to nearest.")
floor = _float_function("floor", lambda x: lane("floor", x.dtype, x), "The greatest integer that is not greater.", halves=True)
ceil = _float_function("ceil", lambda x: lane("ceil", x.dtype, x), "The least integer that is not less.", halves=True)


@member
def abs(x):
    """Absolute value."""
    x = to_tensor(x)
    if x.dtype.is_int_unsigned():
        return x
    if x.dtype.is_ptr():
        raise TypeError(f"abs does not take {x.type}")
    return lane("abs", x.dtype, x)


@member
def fdiv(x, y, ieee_rounding=False, approx=False):
    """x / y of floats, rounded to nearest whatever the hints allow."""
    x, y = S.promoted(x, y, what="fdiv")
    if not x.dtype.is_floating():
        raise TypeError(f"fdiv takes floats, not {x.dtype}")
    return lane("div", x.dtype, x, y)


@builtin
def div_rn(x, y):
    """x / y of floats, rounded to nearest."""
    return fdiv(x, y)


@builtin
def fma(x, y, z):
    """x * y + z, rounded once."""
    x, y = S.promoted(x, y, what="fma")
    x, z = S.promoted(x, z, what="fma")
    x, y = S.promoted(x, y, what="fma")
    if not x.dtype.is_floating():
        raise TypeError(f"fma takes floats, not {x.dtype}")
    return lane("fma", x.dtype, x, y, z)


@builtin
def umulhi(x, y):
    """The upper half of the product of two integers."""
    x, y = S.promoted(x, y, what="umulhi")
    if not x.dtype.is_int() or x.dtype.primitive_bitwidth not in (32, 64):
        raise TypeError(f"umulhi takes integers of 32 or 64 bits, not {x.dtype}")
    if x.dtype.primitive_bitwidth == 32:
        wide = [_cast(_cast(v, T.uint32, bitcast=True) if v.dtype.is_int_signed() else v, T.uint64) for v in (x, y)]
        high = _cast(S.shr(S.mul(*wide), 32), T.uint32)
        return _cast(high, x.dtype, bitcast=True) if x.dtype.is_int_signed() else high
    a, b = ((_cast(v, T.uint64, bitcast=True) if v.dtype.is_int_signed() else v) for v in (x, y))
    low = 0xffffffff
    a0, a1, b0, b1 = S.bit_and(a, low), S.shr(a, 32), S.bit_and(b, low), S.shr(b, 32)
    middle = S.add(S.mul(a1, b0), S.shr(S.mul(a0, b0), 32))
    other = S.add(S.mul(a0, b1), S.bit_and(middle, low))
    high = S.add(S.mul(a1, b1), S.add(S.shr(middle, 32), S.shr(other, 32)))
    return _cast(high, x.dtype, bitcast=True) if x.dtype.is_int_signed() else high


def _pick(name, x, y, propagate_nan, what):
    x, y = S.promoted(x, y, what=what)
    if not x.dtype.is_floating():
        if x.dtype.is_bool():
            return lane("bit_and" if name == "min" else "bit_or", x.dtype, x, y)
        return lane(name, x.dtype, x, y)
    keep = unwrap(propagate_nan) == PropagateNan.ALL
    better = S.lt(x, y) if name == "min" else S.gt(x, y)
    nan = S.ne(x, x) if keep else S.ne(y, y)
    return _where(S.bit_or(better, nan), x, y)


@builtin
def maximum(x, y, propagate_nan=PropagateNan.NONE):
    """The greater one."""
    return _pick("max", x, y, propagate_nan, "maximum")


@builtin
def minimum(x, y, propagate_nan=PropagateNan.NONE):
    """The smaller one."""
    return _pick("min", x, y, propagate_nan, "minimum")


@builtin
def clamp(x, min, max, propagate_nan=PropagateNan.NONE):
    """x, but not below min nor above max."""
    x = to_tensor(x)
    if not x.dtype.is_floating():
        raise TypeError(f"clamp takes floats, not {x.dtype}")
    keep = unwrap(propagate_nan) == PropagateNan.ALL
    r = minimum(maximum(x, min), max)
    return _where(S.ne(x, x), x, r) if keep else r


@builtin
def add(x, y, sanitize_overflow=True):
    """x + y; integers wrap."""
    return S.add(x, y)


@builtin
def sub(x, y, sanitize_overflow=True):
    """x - y; integers wrap."""
    return S.sub(x, y)


@builtin
def mul(x, y, sanitize_overflow=True):
    """x * y; integers wrap."""
    return S.mul(x, y)


@member
def cdiv(x, div):
    """x / div rounded up, of integers."""
    x, div = unwrap(x), unwrap(div)
    if is_number(x) and is_number(div):
        return -(-x // div)
    return S.floordiv(S.add(x, S.sub(div, 1) if isinstance(div, tensor) else div - 1), div)


@builtin
def swizzle2d(i, j, size_i, size_j, size_g):
    """Indices of a row-major matrix as those of one whose groups of size_g rows are column-major."""
    ij = S.add(S.mul(i, size_j) if isinstance(i, tensor) else to_tensor(i) * size_j, j)
    size_gj = to_tensor(size_g) * size_j
    group = S.floordiv(ij, size_gj)
    first = S.mul(group, size_g)
    rows = minimum(S.sub(size_i, first), size_g)
    ij = S.mod(ij, size_gj)
    return S.add(first, S.mod(ij, rows)), S.floordiv(ij, rows)


# ---- reductions and scans ----
def _combination(fn, types):
    """fn traced on scalars of these types; the number of its region."""
    g = generator()
    region = g.program.enter()
    args = [tensor(g.program.argument(t.elem), t) for t in types + types]
    out = g.call(fn, args)
    out = list(out) if isinstance(out, (tuple, list)) else [out]
    if len(out) != len(types):
        raise ValueError(f"a combining function of {len(types)} values gave {len(out)}")
    out = [to_tensor(o) for o in out]
    for o, t in zip(out, types):
        if o.shape or o.dtype != t:
            raise TypeError(f"a combining function of {t} gave {o.type}")
    g.program.leave([o.handle for o in out])
    return region


def _several(input):
    return [to_tensor(x) for x in input] if isinstance(input, (tuple, list)) else [to_tensor(input)]


@member
def reduce(input, axis, combine_fn, keep_dims=False):
    """Combines all elements along an axis (all of them: axis None) by a function of two; tuples of tensors together."""
    xs = _several(input)
    xs = broadcast_all(*xs)
    rank = len(xs[0].shape)
    if rank == 0:
        raise ValueError("reduce takes tiles, not scalars")
    if unwrap(axis) is None:
        xs, a = [ravel(x) for x in xs], 0
    else:
        a = _axis(axis, rank, "reduce")
    shape = xs[0].shape
    region = _combination(unwrap(combine_fn), [x.dtype for x in xs])
    g = generator()
    node = g.program.append("reduce", "none", None, [x.handle for x in xs], a, regions=[region])
    left = shape[:a] + shape[a + 1:]
    out = []
    for k, x in enumerate(xs):
        handle = g.program.append("result", x.dtype.elem, left if left else None, [node], k)
        r = tensor(handle, block_type(x.dtype, left) if left else x.dtype)
        if unwrap(keep_dims):
            r = reshape(r, (1,) * rank) if unwrap(axis) is None else expand_dims(r, a)
        out.append(r)
    return tuple(out) if isinstance(input, (tuple, list)) else out[0]


@member
def associative_scan(input, axis, combine_fn, reverse=False):
    """All partial results of reduce along an axis."""
    xs = broadcast_all(*_several(input))
    a = _axis(axis, len(xs[0].shape), "associative_scan")
    region = _combination(unwrap(combine_fn), [x.dtype for x in xs])
    g = generator()
    node = g.program.append("scan", "none", None, [x.handle for x in xs], a, attrs=[int(builtins_bool(unwrap(reverse)))], regions=[region])
    out = [tensor(g.program.append("result", x.dtype.elem, x.shape, [node], k), x.type) for k, x in enumerate(xs)]
    return tuple(out) if isinstance(input, (tuple, list)) else out[0]


@member
def dot(input, other, acc=None, input_precision=None, allow_tf32=None, max_num_imprecise_acc=None, out_dtype=T.float32):
    """acc + input other, of tiles [m, k] and [k, n] (or with one batch dimension); float32 is multiplied in full."""
    a, b = to_tensor(input), to_tensor(other)
    if len(a.shape) != len(b.shape) or len(a.shape) not in (2, 3):
        raise ValueError(f"dot takes two matrices or two batches of matrices, not {a.type} and {b.type}")
    if a.dtype != b.dtype and not (a.dtype.is_fp8() and b.dtype.is_fp8()):
        raise TypeError(f"dot takes operands of one type, not {a.type} and {b.type}")
    if a.shape[-1] != b.shape[-2] or a.shape[:-2] != b.shape[:-2]:
        raise ValueError(f"dot: {a.type} and {b.type} do not fit: the first has {a.shape[-1]} columns, the second {b.shape[-2]} rows")
    out = unwrap(out_dtype)
    if a.dtype.is_int():
        out = T.int32
    elif a.dtype.is_fp64():
        out = T.float64
    shape = a.shape[:-1] + b.shape[-1:]
    if unwrap(acc) is None:
        c = S.splat(number(0, out), shape)
    else:
        c = to_tensor(acc)
        if c.shape != shape:
            raise ValueError(f"dot: acc has type {c.type}, the product has shape {list(shape)}")
        if c.dtype.is_floating() != out.is_floating():
            raise TypeError(f"dot: acc is of type {c.dtype}, the product of type {out}")
        out = c.dtype
    r = make("dot", out, shape, [a, b, c])
    if unwrap(acc) is None:
        r.factors = (a, b)
    return r


@builtin
def map_elementwise(scalar_fn, *args, pack=1):
    """scalar_fn of every element of tiles. One lane after another may branch in Triton; here scalar_fn is computed on whole tiles,
    so it is made of operators of elements, tl.where in place of `if`."""
    if int(_known(pack, "pack")) != 1:
        raise NotImplementedError(f"map_elementwise with pack={unwrap(pack)} is not there; pack=1 is")
    if not args:
        raise TypeError("map_elementwise takes a function and tensors")
    xs = broadcast_all(*map(to_tensor, args))
    out = generator().call(unwrap(scalar_fn), xs)
    for r in out if isinstance(out, tuple) else (out,):
        if isinstance(r, tensor) and r.shape not in ((), xs[0].shape):
            raise ValueError(f"map_elementwise: the function of one element gave {r.type} for tiles of shape {list(xs[0].shape)}")
    full_size = [S.broadcast_to(to_tensor(r), xs[0].shape) for r in (out if isinstance(out, tuple) else (out,))]
    return tuple(full_size) if isinstance(out, tuple) else full_size[0]


@builtin
def dot_scaled(*args, **kwargs):
    """Not there: raises NotImplementedError."""
    raise NotImplementedError("dot_scaled is not there: the CPU has no microscaled types")


@member
def histogram(input, num_bins, mask=None):
    """How often each of the numbers 0 .. num_bins - 1 is in input, int32."""
    operands = [to_tensor(input)]
    if not operands[0].dtype.is_int() or len(operands[0].shape) != 1:
        raise ValueError(f"histogram takes a tile of integers of one dimension, not {operands[0].type}")
    if unwrap(mask) is not None:
        operands.append(S.broadcast_to(_mask(unwrap(mask), None), operands[0].shape))
    return make("histogram", T.int32, _shape((num_bins,), "num_bins"), operands)


@member
def gather(src, index, axis):
    """Elements of src at index along an axis."""
    src, index = to_tensor(src), to_tensor(index)
    axis = _axis(axis, len(src.shape), "gather")
    if not index.dtype.is_int():
        raise TypeError(f"gather: the index is of integers, not {index.type}")
    if len(index.shape) != len(src.shape):
        raise ValueError(f"gather: index of shape {list(index.shape)} and src of shape {list(src.shape)} differ in their number of dimensions")
    for d, (s, i) in enumerate(zip(src.shape, index.shape)):
        if d != axis and s != i:
            raise ValueError(f"gather: index of shape {list(index.shape)} and src of shape {list(src.shape)} differ in dimension {d}")
    return make("gather", src.dtype, index.shape, [src, index], imm=axis)


# ---- hints and messages ----
@builtin
def multiple_of(input, values):
    """input; a hint that says nothing to a CPU."""
    return input


@builtin
def max_contiguous(input, values):
    """input; a hint that says nothing to a CPU."""
    return input


@builtin
def max_constancy(input, values):
    """input; a hint that says nothing to a CPU."""
    return input


@builtin
def assume(cond):
    """A hint that says nothing to a CPU; cond is not checked."""


@builtin
def debug_barrier():
    """Programs are single threads here: there is nothing to wait for."""


@builtin
def static_print(*values, sep=" ", end="\n", file=None, flush=False):
    """Prints while the kernel is compiled."""
    print(*[unwrap(v) for v in values], sep=sep, end=end, file=file, flush=flush)


@builtin
def static_assert(cond, msg=""):
    """Fails the compilation where the condition does not hold."""
    cond = unwrap(cond)
    if isinstance(cond, tensor):
        cond = _known(cond, "static_assert's condition")
    if not cond:
        raise StaticAssertion(unwrap(msg) or "static_assert does not hold")


class StaticAssertion(Exception):
    """What a static_assert that does not hold raises within the compiler."""


@builtin
def device_print(prefix, *args, hex=False):
    """Prints the values when the kernel runs, element by element."""
    prefix = unwrap(prefix)
    if not isinstance(prefix, str):
        raise TypeError(f"device_print's first argument is a string, not {prefix!r}")
    if not args:
        generator().program.append("tell", "none", name=prefix)
    for x in args:
        generator().program.append("tell", "none", operands=[to_tensor(x).handle], attrs=[int(builtins_bool(unwrap(hex)))], name=prefix)


@builtin
def device_assert(cond, msg="", mask=None):
    """In debug mode: the launch raises RuntimeError where an element of cond is false."""
    if not generator().debug:
        return
    cond = S.truth(cond)
    if unwrap(mask) is not None:
        cond = S.logical_or(cond, S.logical_not(unwrap(mask)))
    g = generator()
    g.program.append("require", "none", operands=[cond.handle], name="device_assert failed: " + str(unwrap(msg)) + g.where())


@builtin
def inline_asm_elementwise(*args, **kwargs):
    """Not there: raises NotImplementedError."""
    raise NotImplementedError("inline_asm_elementwise is not there: kernels are not made for a GPU's assembly")


@builtin
def expect_zero(x, mask):
    """x; in debug mode the launch raises RuntimeError where mask is true and x is not 0."""
    x = to_tensor(x)
    device_assert(S.logical_or(S.eq(x, 0), S.logical_not(mask)), "a value is not 0 where expect_zero says so")
    return x


# ---- iterators ----
class range:
    """for i in tl.range(...): a loop of the kernel; the hints say nothing to a CPU."""

    def __init__(self, arg1, arg2=None, step=None, num_stages=None, loop_unroll_factor=None, disallow_acc_multi_buffer=False, flatten=False,
                 warp_specialize=False, disable_licm=False):
        self.start, self.end = (0, arg1) if unwrap(arg2) is None else (arg1, arg2)
        self.step = 1 if unwrap(step) is None else step


class static_range:
    """for i in tl.static_range(...): the body once for each number, which is known when compiling."""

    def __init__(self, arg1, arg2=None, step=None):
        self.start, self.end = (0, arg1) if unwrap(arg2) is None else (arg1, arg2)
        self.step = 1 if unwrap(step) is None else step


class condition:
    """while tl.condition(x): the hints say nothing to a CPU."""

    def __init__(self, arg1, disable_licm=False):
        self.condition = arg1


for _f in (range, static_range, condition):
    _f.__triton_builtin__ = True
dtype.__triton_builtin__ = constexpr.__triton_builtin__ = True
pointer_type.__triton_builtin__ = True
tensor.advance, tensor.store = advance, store
to_tensor.__triton_builtin__ = True
