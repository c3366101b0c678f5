"""dtype, pointer_type and block_type, and constexpr."""
import enum


class dtype:
    """A type of numbers; `fp32`, `int64` and so on."""

    __triton_constant__ = True   # part of the code where a launch is given one

    SINT_TYPES = ["int8", "int16", "int32", "int64"]
    UINT_TYPES = ["int1", "uint8", "uint16", "uint32", "uint64"]
    FP_TYPES = ["fp8e4b15", "fp8e4nv", "fp8e4b8", "fp8e5", "fp8e5b16", "fp16", "bf16", "fp32", "fp64"]
    STANDARD_FP_TYPES = ["fp16", "bf16", "fp32", "fp64"]
    OTHER_TYPES = ["void"]
    _elems = {"int1": "b1", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16",
              "uint32": "u32", "uint64": "u64", "fp16": "f16", "bf16": "bf16", "fp32": "f32", "fp64": "f64", "void": "none"}

    def __init__(self, name):
        name = getattr(name, "value", name)
        if name not in self.SINT_TYPES + self.UINT_TYPES + self.FP_TYPES + ["void"]:
            raise ValueError(f"there is no dtype {name!r}")
        self.name = name
        digits = "".join(c for c in name.split("e")[0] if c.isdigit())
        self.primitive_bitwidth = int(digits) if digits else 0
        if name == "bf16":
            self.primitive_bitwidth = 16
        self.int_bitwidth = self.primitive_bitwidth
        self.itemsize = max(self.primitive_bitwidth // 8, 1) if digits else 0

    @property
    def elem(self):
        if self.name not in self._elems:
            raise NotImplementedError(f"values of type {self.name} are not there on the CPU")
        return self._elems[self.name]

    def is_fp8(self): return self.name.startswith("fp8")
    def is_fp16(self): return self.name == "fp16"
    def is_bf16(self): return self.name == "bf16"
    def is_fp32(self): return self.name == "fp32"
    def is_fp64(self): return self.name == "fp64"
    def is_int1(self): return self.name == "int1"
    def is_int8(self): return self.name == "int8"
    def is_int16(self): return self.name == "int16"
    def is_int32(self): return self.name == "int32"
    def is_int64(self): return self.name == "int64"
    def is_uint8(self): return self.name == "uint8"
    def is_uint16(self): return self.name == "uint16"
    def is_uint32(self): return self.name == "uint32"
    def is_uint64(self): return self.name == "uint64"
    def is_floating(self): return self.name in self.FP_TYPES
    def is_standard_floating(self): return self.name in self.STANDARD_FP_TYPES
    def is_int_signed(self): return self.name in self.SINT_TYPES
    def is_int_unsigned(self): return self.name in self.UINT_TYPES
    def is_int(self): return self.name in self.SINT_TYPES + self.UINT_TYPES
    def is_bool(self): return self.is_int1()
    def is_void(self): return self.name == "void"
    def is_block(self): return False
    def is_ptr(self): return False
    def is_const(self): return False

    def kind(self):
        """0 truth values, 1 integers, 2 floats."""
        return 0 if self.is_bool() else 1 if self.is_int() else 2

    class SIGNEDNESS(enum.Enum):
        SIGNED = 0
        UNSIGNED = 1

    class KIND(enum.Enum):
        BOOLEAN = 0
        INTEGRAL = 1
        FLOATING = 2

    def is_fp8e4nv(self): return self.name == "fp8e4nv"
    def is_fp8e4b8(self): return self.name == "fp8e4b8"
    def is_fp8e4b15(self): return self.name == "fp8e4b15"
    def is_fp8e5(self): return self.name == "fp8e5"
    def is_fp8e5b16(self): return self.name == "fp8e5b16"

    @staticmethod
    def is_dtype(name):
        """Whether there is a dtype of that name."""
        return name in dtype.SINT_TYPES + dtype.UINT_TYPES + dtype.FP_TYPES + ["void"]

    def with_element_ty(self, element_ty):
        """The same kind of type of other elements: of a number, that one."""
        return element_ty

    def mangle(self):
        """The type as a part of a name: i32, u8, fp32, Pfp16, i32S4_2S."""
        return f"{'i' if self.is_int_signed() else 'u'}{self.primitive_bitwidth}" if self.is_int() else "V" if self.is_void() else self.name

    def codegen_name(self):
        """The type as source text of the language has it: float32, bfloat16, int32."""
        return f"float{self.name[2:]}" if self.name.startswith("fp") else "bfloat16" if self.is_bf16() else self.name

    def get_int_max_value(self):
        return (1 << (self.primitive_bitwidth - self.is_int_signed())) - 1

    def get_int_min_value(self):
        return -(1 << (self.primitive_bitwidth - 1)) if self.is_int_signed() else 0

    @property
    def scalar(self): return self

    def __eq__(self, other):
        other = getattr(other, "value", other) if isinstance(other, constexpr) else other
        return type(other) is dtype and self.name == other.name

    def __ne__(self, other): return not self == other
    def __hash__(self): return hash(self.name)
    def __str__(self): return self.name
    def __repr__(self): return f"triton.language.{'float' + self.name[2:] if self.name in ('fp16', 'fp32', 'fp64') else {'bf16': 'bfloat16'}.get(self.name, self.name)}"

    @property
    def cache_key_part(self): return self.name


class pointer_type(dtype):
    """The address of an element_ty."""

    def __init__(self, element_ty, address_space=1, const=False):
        self.element_ty = getattr(element_ty, "value", element_ty)
        self.address_space = address_space
        self.const = const
        self.name = f"{'const_' if const else ''}pointer<{self.element_ty}>"
        self.primitive_bitwidth = self.int_bitwidth = 64
        self.itemsize = 8

    elem = "address"

    def is_ptr(self): return True
    def is_const(self): return self.const
    def kind(self): return 3
    def mangle(self): return "P" + self.element_ty.mangle()
    def with_element_ty(self, element_ty): return pointer_type(element_ty, self.address_space, self.const)
    def __eq__(self, other): return isinstance(other, pointer_type) and self.element_ty == other.element_ty
    def __hash__(self): return hash(self.name)
    def __repr__(self): return self.name


class block_type(dtype):
    """Tiles of element_ty of one shape."""

    def __init__(self, element_ty, shape):
        self.element_ty = element_ty
        self.shape = tuple(int(getattr(s, "value", s)) for s in shape)
        self.name = f"<{list(self.shape)}, {element_ty}>"
        self.numel = 1
        for s in self.shape:
            self.numel *= s
        self.primitive_bitwidth = self.element_ty.primitive_bitwidth

    @property
    def scalar(self): return self.element_ty

    @property
    def elem(self): return self.element_ty.elem

    def is_block(self): return True
    def mangle(self): return f"{self.element_ty.mangle()}S{'_'.join(map(str, self.shape))}S"
    def with_element_ty(self, element_ty): return block_type(element_ty, self.shape)
    def get_block_shapes(self): return self.shape
    def kind(self): return self.element_ty.kind()
    def __eq__(self, other): return isinstance(other, block_type) and self.element_ty == other.element_ty and self.shape == other.shape
    def __hash__(self): return hash(self.name)
    def __repr__(self): return self.name


class constexpr:
    """A value known when a kernel is compiled. As an annotation it says that of an argument."""

    __triton_constant__ = "value"   # what a launch compiles in

    def __init__(self, value):
        while isinstance(value, constexpr):
            value = value.value
        self.value = value

    def __repr__(self): return f"constexpr[{self.value}]"
    def __hash__(self): return hash(self.value)
    def __bool__(self): return bool(self.value)
    def __index__(self): return self.value.__index__()
    def __int__(self): return int(self.value)
    def __float__(self): return float(self.value)
    def __call__(self, *args, **kwargs): return self.value(*args, **kwargs)
    def __getitem__(self, i): return constexpr(self.value[unwrap(i)])
    def __neg__(self): return constexpr(-self.value)
    def __pos__(self): return constexpr(+self.value)
    def __invert__(self): return constexpr(~self.value)


class const:
    """As an annotation it says that an argument is a pointer that the kernel only reads from: a store through it is refused."""


class tuple_type:
    """The types of a tuple's elements, with their names where it has named ones."""

    def __init__(self, types, fields=None):
        self.types, self.fields = list(types), list(fields) if fields is not None else None
        names = [str(t) for t in self.types] if fields is None else [f"{f}:{t}" for f, t in zip(fields, self.types)]
        self.name = f"[{','.join(names)}]"

    def __str__(self): return self.name
    __repr__ = __str__
    def __iter__(self): return iter(self.types)
    def __getitem__(self, i): return self.types[i]
    def __eq__(self, other): return type(other) is tuple_type and self.types == other.types and self.fields == other.fields
    def __hash__(self): return hash(self.name)
    def mangle(self): return "T" + "_".join(t.mangle() for t in self.types) + "T"


class constexpr_type:
    """The type of what a tl.constexpr holds: the value itself."""

    def __init__(self, value):
        self.value = value

    def __repr__(self): return f"constexpr_type[{self.value}]"
    def __eq__(self, other): return type(other) is constexpr_type and self.value == other.value
    def __hash__(self): return hash(self.value)
    def mangle(self): return repr(self)


_SHORT_NAMES = {"i1": "int1", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "u1": "int1", "u8": "uint8", "u16": "uint16", "u32": "uint32",
                "u64": "uint64", "f16": "fp16", "f32": "fp32", "f64": "fp64", "B": "int1"}


def str_to_ty(name, c):
    """The type that a signature says: "i32", "fp32", "*fp16", "*ku8" (of constant data), "constexpr" (c is its value), tuples of these."""
    if isinstance(name, tuple):
        return tuple_type([str_to_ty(n, c[i] if isinstance(c, (tuple, list)) and i < len(c) else None) for i, n in enumerate(name)], getattr(name, "_fields", None))
    if name.startswith("*"):
        of = name[1:]
        const_data = of.startswith("k")
        return pointer_type(str_to_ty(of[const_data:], c), const=const_data)
    if name == "constexpr":
        return constexpr_type(c)
    return dtype(_SHORT_NAMES.get(name, name))


def unwrap(x):
    """A constexpr's value; other things as they are."""
    return x.value if isinstance(x, constexpr) else x


def _binary(name, symbol):
    def forward(self, other): return constexpr(symbol(self.value, unwrap(other)))
    def backward(self, other): return constexpr(symbol(unwrap(other), self.value))
    setattr(constexpr, f"__{name}__", forward)
    setattr(constexpr, f"__r{name}__", backward)


def _install():
    import operator
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift"):
        _binary(name, getattr(operator, name))
    _binary("and", operator.and_)
    _binary("or", operator.or_)
    _binary("xor", operator.xor)
    for name in ("lt", "le", "gt", "ge", "eq", "ne"):
        compare = getattr(operator, name)
        setattr(constexpr, f"__{name}__", lambda self, other, compare=compare: constexpr(compare(self.value, unwrap(other))))


_install()
void = dtype("void")
int1, int8, int16, int32, int64 = (dtype(n) for n in ("int1", "int8", "int16", "int32", "int64"))
uint8, uint16, uint32, uint64 = (dtype(n) for n in ("uint8", "uint16", "uint32", "uint64"))
float8e5, float8e5b16, float8e4nv, float8e4b8, float8e4b15 = (dtype(n) for n in ("fp8e5", "fp8e5b16", "fp8e4nv", "fp8e4b8", "fp8e4b15"))
float16, bfloat16, float32, float64 = (dtype(n) for n in ("fp16", "bf16", "fp32", "fp64"))
pi32_t = pointer_type(int32)


def tuple_of(kind, parts):
    """A tuple of these parts of the type `kind`, whose fields may have names."""
    return kind(*parts) if hasattr(kind, "_fields") else kind(parts)
