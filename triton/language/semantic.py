"""Values of kernels: tensors (scalars and tiles), their promotion and arithmetic, as nodes of the program being compiled."""
import numbers
import operator
import struct
import threading

from . import types as T
from .types import unwrap

_thread = threading.local()


def generator():
    """What compiles the kernel at hand."""
    g = getattr(_thread, "generator", None)
    if g is None:
        raise RuntimeError("functions of triton.language are for kernels; they cannot be called outside @triton.jit functions")
    return g


class compiling:
    """Makes a generator the one that functions of the language write to."""

    def __init__(self, g):
        self.g = g

    def __enter__(self):
        self.before = getattr(_thread, "generator", None)
        _thread.generator = self.g

    def __exit__(self, *_):
        _thread.generator = self.before


def is_number(x):
    """Whether x is a number of Python's."""
    return isinstance(x, (bool, int, float)) or (isinstance(x, numbers.Number) and not isinstance(x, complex))


class tensor:
    """A number or pointer of a kernel, or a tile of them: `dtype`, `shape`, `type`.

    `known` is the Python number where the program has it as a constant."""

    def __init__(self, handle, type, known=None):
        self.handle = handle
        self.type = type
        self.dtype = type.scalar
        self.shape = type.shape if type.is_block() else ()
        self.known = known

    @property
    def numel(self):
        n = 1
        for s in self.shape:
            n *= s
        return n

    def __repr__(self): return f"{self.dtype}[{', '.join(map(str, self.shape))}]"
    def __hash__(self): return id(self)
    def __bool__(self): raise TypeError("a value of a kernel is not known while it is compiled; `if` and `while` of the kernel can ask for it")
    def __iter__(self): raise TypeError("a kernel's tensor has no elements to iterate over")

    @property
    def T(self):
        from .core import trans
        return trans(self)

    def __getitem__(self, index):
        from .core import expand_dims
        if not isinstance(index, (tuple, list)):
            index = (index,)
        r, d = self, 0
        for i in index:
            i = unwrap(i)
            if i is None:
                r = expand_dims(r, d)
                d += 1
            elif isinstance(i, slice) and i.start is None and i.stop is None and i.step is None:
                d += 1
            elif i is Ellipsis:
                d = len(r.shape) - sum(1 for j in index[list(index).index(i) + 1:] if j is not None)
            else:
                raise ValueError(f"a tensor of a kernel is indexed by : and None only, not by {i!r}")
        return r

    def to(self, dtype, fp_downcast_rounding=None, bitcast=False):
        return cast(self, dtype, fp_downcast_rounding, bitcast)

    def item(self):
        if self.numel != 1:
            raise ValueError(f"item() takes a tensor of one element, not of shape {list(self.shape)}")
        from .core import reshape, reduce
        return self if not self.type.is_block() else reduce(reshape(self, [1]), 0, lambda a, b: a)


def make(op, dtype, shape, operands=(), imm=0, attrs=(), regions=(), name=""):
    """A node and the tensor it gives; shape (): a scalar."""
    shape = tuple(shape)
    handle = generator().program.append(op, dtype.elem, shape if shape else None, [o.handle for o in operands], imm, attrs, regions, name)
    return tensor(handle, T.block_type(dtype, shape) if shape else dtype)


def bits(value, dtype):
    """The word by which a program holds a constant of this type."""
    if dtype.is_floating():
        try:
            return struct.unpack("<q", struct.pack("<d", value))[0] if dtype.is_fp64() else struct.unpack("<i", struct.pack("<f", value))[0]
        except OverflowError:
            return bits(float("inf") if value > 0 else float("-inf"), dtype)
    return int(value)


def number(value, dtype):
    """A scalar constant."""
    if dtype.is_ptr():
        return cast(number(value, T.int64), dtype, bitcast=True)
    if dtype.is_fp16() or dtype.is_bf16():
        r = cast(number(float(value), T.float32), dtype)
        r.known = value
        return r
    if dtype.is_bool():
        value = bool(value)
    elif dtype.is_int():
        value = int(value) & ((1 << dtype.primitive_bitwidth) - 1)
        if dtype.is_int_signed() and value >> (dtype.primitive_bitwidth - 1):
            value -= 1 << dtype.primitive_bitwidth
    else:
        value = float(value)
    r = make("constant", dtype, (), imm=bits(value, dtype))
    r.known = value
    return r


def natural_type(x):
    """The type a Python number takes by itself."""
    if isinstance(x, bool):
        return T.int1
    if isinstance(x, numbers.Integral):
        for low, high, t in ((-(1 << 31), 1 << 31, T.int32), (0, 1 << 32, T.uint32), (-(1 << 63), 1 << 63, T.int64), (0, 1 << 64, T.uint64)):
            if low <= x < high:
                return t
        raise ValueError(f"the integer {x} does not fit 64 bits: from {-(1 << 63)} (int64) to {(1 << 64) - 1} (uint64)")
    x = abs(float(x))
    return T.float32 if x == 0 or x != x or x == float("inf") or 2.0 ** -126 <= x <= (2 - 2.0 ** -23) * 2.0 ** 127 else T.float64


def to_tensor(x):
    """A Python number as a scalar of the type it takes by itself; tensors as they are."""
    x = unwrap(x)
    if isinstance(x, tensor):
        return x
    if is_number(x):
        return number(x, natural_type(x))
    raise TypeError(f"a number or a tensor is needed here, not {x!r} of type {type(x).__name__}")


# ---- shapes ----
def splat(x, shape):
    """A scalar in every element of a tile."""
    shape = tuple(shape)
    if not shape or x.shape == shape:
        return x
    r = make("splat", x.dtype, shape, [x])
    r.known = x.known
    return r


def broadcast_shape(a, b):
    """The common shape of two; ValueError where there is none."""
    a, b = list(a), list(b)
    while len(a) < len(b): a.insert(0, 1)
    while len(b) < len(a): b.insert(0, 1)
    r = []
    for i, (x, y) in enumerate(zip(a, b)):
        if x != y and x != 1 and y != 1:
            raise ValueError(f"shapes {a} and {b} cannot be broadcast: dimension {i} has {x} and {y}")
        r.append(max(x, y))
    return tuple(r)


def broadcast_to(x, shape):
    """x with dimensions of size 1 grown, and new ones in front."""
    shape = tuple(int(unwrap(s)) for s in shape)
    if x.shape == shape:
        return x
    if not x.type.is_block():
        return splat(x, shape)
    if broadcast_shape(x.shape, shape) != shape:
        raise ValueError(f"a tensor of shape {list(x.shape)} cannot be broadcast to {list(shape)}")
    while len(x.shape) < len(shape):
        x = make("expand", x.dtype, (1,) + x.shape, [x], imm=0)
    return x if x.shape == shape else make("broadcast", x.dtype, shape, [x])


def broadcast_all(*xs):
    """All in their common shape."""
    shape = ()
    for x in xs:
        shape = broadcast_shape(shape, x.shape)
    return [broadcast_to(x, shape) for x in xs]


# ---- casts ----
def cast(x, to, fp_downcast_rounding=None, bitcast=False):
    """x converted to a type, to nearest; with bitcast its bits as they are."""
    to = unwrap(to)
    x = to_tensor(x)
    if isinstance(to, T.block_type):
        to = to.scalar
    if not isinstance(to, T.dtype):
        raise TypeError(f"a dtype is needed to convert to, not {to!r}")
    fp_downcast_rounding = unwrap(fp_downcast_rounding)
    if fp_downcast_rounding not in (None, "rtne"):
        raise NotImplementedError(f"rounding {fp_downcast_rounding!r} is not there; conversions round to nearest")
    src = x.dtype
    if src == to:
        return x
    if unwrap(bitcast) or src.is_ptr() or to.is_ptr():
        if src.is_ptr() and to.is_ptr():
            return tensor(x.handle, T.block_type(to, x.shape) if x.shape else to)
        if src.is_ptr() and not to.is_int() or to.is_ptr() and not src.is_int():
            raise TypeError(f"a value of type {src} cannot be converted to {to}")
        if src.is_ptr() and to.primitive_bitwidth != 64:
            return cast(make("bitcast", T.int64, x.shape, [x]), to)
        if to.is_ptr():
            x = cast(x, T.int64)
        elif src.primitive_bitwidth != to.primitive_bitwidth:
            raise ValueError(f"a bitcast keeps the width: {src} has {src.primitive_bitwidth} bits, {to} has {to.primitive_bitwidth}")
        return make("bitcast", to, x.shape, [x])
    if x.known is not None and not x.type.is_block() and not to.is_fp16() and not to.is_bf16() and not (to.is_int() and src.is_floating()):
        return number(x.known, to)
    if (src.is_fp16() or src.is_bf16()) and (to.is_fp16() or to.is_bf16()):
        x = cast(x, T.float32)
    return make("convert", to, x.shape, [x])


# ---- promotion ----
def common_type(a, b, division=False):
    """The type that two operands are computed in."""
    if a.kind() != b.kind():
        high = a if a.kind() > b.kind() else b
        return T.float32 if division and high.primitive_bitwidth <= 16 and high.is_floating() else high
    if a.is_floating():
        for t in (T.float64, T.float32):
            if a == t or b == t:
                return t
        if division:
            return T.float32
        return a if a == b else T.float16
    if a.primitive_bitwidth != b.primitive_bitwidth:
        return a if a.primitive_bitwidth > b.primitive_bitwidth else b
    return a if a.is_int_unsigned() else b


def promoted(a, b, division=False, pointers=False, what="this operator"):
    """Both as tensors of one shape and, unless one is a pointer, one type. A Python number yields to a tensor of its kind."""
    a, b = unwrap(a), unwrap(b)
    a_number, b_number = is_number(a), is_number(b)
    for x in (a, b):
        if not is_number(x) and not isinstance(x, tensor):
            raise TypeError(f"{what} takes tensors and numbers, not {x!r} of type {type(x).__name__}")

    def beside(n, x):
        kind = 0 if isinstance(n, bool) else 1 if isinstance(n, numbers.Integral) else 2
        if x.dtype.is_ptr() or kind > x.dtype.kind():
            return to_tensor(n)
        if x.dtype.is_int() and not x.dtype.is_bool() and not (x.dtype.get_int_min_value() <= n <= x.dtype.get_int_max_value()):
            raise ValueError(f"the number {n} is out of range for type {x.dtype}, from {x.dtype.get_int_min_value()} to {x.dtype.get_int_max_value()}")
        return number(n, x.dtype)

    if a_number and not b_number:
        a = beside(a, b)
    elif b_number and not a_number:
        b = beside(b, a)
    else:
        a, b = to_tensor(a), to_tensor(b)
    if a.dtype.is_ptr() or b.dtype.is_ptr():
        if not pointers:
            raise TypeError(f"{what} does not take operands of type {a.type} and {b.type}")
        if a.dtype.is_ptr() and b.dtype.is_floating() or b.dtype.is_ptr() and a.dtype.is_floating():
            raise TypeError(f"{what} does not take operands of type {a.type} and {b.type}")
    else:
        if division and a.dtype.is_int() and b.dtype.is_int() and not a.dtype.is_bool() and not b.dtype.is_bool() and a.dtype.is_int_signed() != b.dtype.is_int_signed():
            if not (a_number or b_number):
                raise TypeError(f"{what} does not take {a.dtype} and {b.dtype}: one is signed and the other is not; convert one of them")
        t = common_type(a.dtype, b.dtype, division)
        a, b = cast(a, t), cast(b, t)
    try:
        return broadcast_all(a, b)
    except ValueError as e:
        raise ValueError(f"{what} does not take operands of type {a.type} and {b.type}: {e}") from None


def promoted_operands(xs, count, what):
    """`count` operands as tensors of one shape and type. TypeError for another number of them."""
    if len(xs) != count:
        raise TypeError(f"{what} takes {count} operands, not {len(xs)}")
    xs = [to_tensor(x) for x in xs]
    for i in range(1, count):
        xs[0], xs[i] = promoted(xs[0], xs[i], what=what)
    return [promoted(x, xs[0], what=what)[0] for x in xs]


def lane(name, dtype, *xs):
    """An operator of lanes; half types are computed with in float32 and rounded after."""
    if name not in ("select",) and any(x.dtype.is_fp16() or x.dtype.is_bf16() for x in xs):
        r = lane(name, dtype if dtype.is_bool() else T.float32, *[cast(x, T.float32) for x in xs])
        return cast(r, dtype)
    return make("lanewise", dtype, xs[0].shape, xs, name=name)


def call(name, *xs):
    """A named function of ops/math, on lanes."""
    return make("call", xs[0].dtype, xs[0].shape, xs, name=name)


def _folded(a, b, r, symbol):
    a, b = unwrap(a), unwrap(b)
    x = a.known if isinstance(a, tensor) else a
    y = b.known if isinstance(b, tensor) else b
    if r.type.is_block() or not r.dtype.is_int() or x is None or y is None or isinstance(x, float) or isinstance(y, float):
        return r
    return number(symbol(int(x), int(y)), r.dtype)


def _offset(p, i):
    return make("offset", p.dtype, p.shape, [p, i], imm=max(p.dtype.element_ty.itemsize, 1))


def add(a, b):
    x, y = promoted(a, b, pointers=True, what="+")
    if y.dtype.is_ptr() and not x.dtype.is_ptr():
        x, y = y, x
    if x.dtype.is_ptr():
        if y.dtype.is_ptr():
            raise TypeError(f"+ does not take two pointers, {x.type} and {y.type}")
        return _offset(x, y)
    if x.dtype.is_bool():
        return lane("bit_xor", x.dtype, x, y)
    for p, q in ((x, y), (y, x)):   # acc += dot(a, b) is one product with acc as its first value
        if getattr(q, "factors", None) is not None:
            return make("dot", q.dtype, q.shape, [*q.factors, p])
    return _folded(a, b, lane("add", x.dtype, x, y), lambda p, q: p + q)


def sub(a, b):
    x, y = promoted(a, b, pointers=True, what="-")
    if x.dtype.is_ptr():
        if y.dtype.is_ptr():
            raise TypeError(f"- does not take two pointers, {x.type} and {y.type}")
        return _offset(x, neg(cast(y, T.int64)))
    if y.dtype.is_ptr():
        raise TypeError(f"- does not take {x.type} and {y.type}")
    if x.dtype.is_bool():
        return lane("bit_xor", x.dtype, x, y)
    return _folded(a, b, lane("sub", x.dtype, x, y), lambda p, q: p - q)


def mul(a, b):
    x, y = promoted(a, b, what="*")
    if x.dtype.is_bool():
        return lane("bit_and", x.dtype, x, y)
    return _folded(a, b, lane("mul", x.dtype, x, y), lambda p, q: p * q)


def truediv(a, b):
    x, y = promoted(a, b, division=True, what="/")
    if x.dtype.is_int():
        x, y = cast(x, T.float32), cast(y, T.float32)
    return lane("div", x.dtype, x, y)


def floordiv(a, b):
    x, y = integers(a, b, "//", division=True)
    return _folded(a, b, lane("div", x.dtype, x, y), lambda p, q: 0 if q == 0 else int(p / q) if abs(p) < 2 ** 50 else abs(p) // abs(q) * (1 if (p < 0) == (q < 0) else -1))


def mod(a, b):
    x, y = promoted(a, b, division=True, what="%")
    if x.dtype.is_floating():
        return call("fmod", x, y)
    return lane("rem", x.dtype, x, y)


def neg(a):
    a = to_tensor(a)
    if a.dtype.is_ptr() or a.dtype.is_bool():
        raise TypeError(f"- does not take {a.type}")
    if a.known is not None and not a.type.is_block() and a.dtype.is_int():
        return number(-a.known, a.dtype)
    return lane("neg", a.dtype, a)


def kinds_of(a, b):
    """Two operands as an error tells of them: a number with its value."""
    return " and ".join(str(x.type) if isinstance(x, tensor) else f"the number {x!r}" for x in map(unwrap, (a, b)))


def integers(a, b, symbol, division=False):
    """promoted, of integers."""
    x, y = promoted(a, b, division=division, what=symbol)
    if not x.dtype.is_int():
        raise TypeError(f"{symbol} takes integers, not operands of type {kinds_of(a, b)}")
    return x, y


def bitwise(name, symbol):
    def f(a, b):
        x, y = integers(a, b, symbol)
        return _folded(a, b, lane(name, x.dtype, x, y), _BITS[name]) if name in _BITS else lane(name, x.dtype, x, y)
    return f


_BITS = {"bit_and": operator.and_, "bit_or": operator.or_, "bit_xor": operator.xor}


bit_and, bit_or, bit_xor = bitwise("bit_and", "&"), bitwise("bit_or", "|"), bitwise("bit_xor", "^")
shl = bitwise("shl", "<<")


def shr(a, b):
    x, y = integers(a, b, ">>")
    return lane("sar" if x.dtype.is_int_signed() else "shr", x.dtype, x, y)


def invert(a):
    a = to_tensor(a)
    if not a.dtype.is_int():
        raise TypeError(f"~ takes integers, not {a.type}")
    return lane("bit_not", a.dtype, a)


def compare(name, symbol):
    def f(a, b):
        x, y = promoted(a, b, pointers=True, what=symbol)
        if x.dtype.is_ptr() or y.dtype.is_ptr():
            x, y = cast(x, T.int64), cast(y, T.int64)
        if x.dtype.is_bool():
            if name in ("eq", "ne"):
                r = lane("bit_xor", T.int1, x, y)
                return lane("bit_not", T.int1, r) if name == "eq" else r
            x, y = cast(x, T.int32), cast(y, T.int32)
        return lane(name, T.int1, x, y)
    return f


lt, le, gt, ge, eq, ne = (compare(n, s) for n, s in (("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">="), ("eq", "=="), ("ne", "!=")))


def truth(x):
    """x as truth values."""
    x = to_tensor(x)
    if x.dtype.is_bool():
        return x
    if x.dtype.is_ptr():
        x = cast(x, T.int64)
    return make("convert", T.int1, x.shape, [cast(x, T.float32) if x.dtype.is_fp16() or x.dtype.is_bf16() else x])


def logical_and(a, other):
    return bit_and(truth(a), truth(other))


def logical_or(a, other):
    return bit_or(truth(a), truth(other))


def logical_not(a):
    return lane("bit_not", T.int1, truth(a))


def where(condition, x, y):
    condition = truth(condition)
    x, y = unwrap(x), unwrap(y)
    if not (isinstance(x, tensor) and isinstance(y, tensor) and x.dtype == y.dtype):
        x, y = promoted(x, y, what="where", pointers=isinstance(x, tensor) and x.dtype.is_ptr())
    condition, x, y = broadcast_all(condition, x, y)
    return lane("select", x.dtype, condition, x, y)


def _install():
    def reverse(f):
        return lambda a, b: f(b, a)
    for name, f in (("add", add), ("sub", sub), ("mul", mul), ("truediv", truediv), ("floordiv", floordiv), ("mod", mod), ("and", bit_and),
                    ("or", bit_or), ("xor", bit_xor), ("lshift", shl), ("rshift", shr)):
        setattr(tensor, f"__{name}__", f)
        setattr(tensor, f"__r{name}__", reverse(f))
    for name, f in (("lt", lt), ("le", le), ("gt", gt), ("ge", ge), ("eq", eq), ("ne", ne)):
        setattr(tensor, f"__{name}__", f)
    tensor.__neg__ = neg
    tensor.__invert__ = invert
    tensor.logical_and, tensor.logical_or = logical_and, logical_or


_install()
