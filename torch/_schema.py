"""Schemas of operators as objects: `torch.ops.aten.add.Tensor._schema` and its arguments, returns and types."""
import enum

from torch import _C

__all__ = ["Argument", "FunctionSchema", "Tag"]


class Tag(enum.Enum):
    """What may be known of an operator without running it."""

    core = 0
    cudagraph_unsafe = 1
    data_dependent_output = 2
    dynamic_output_shape = 3
    flexible_layout = 4
    generated = 5
    inplace = 6
    inplace_view = 7
    maybe_aliasing_or_mutating = 8
    needs_contiguous_strides = 9
    needs_exact_strides = 10
    needs_fixed_stride_order = 11
    nondeterministic_bitwise = 12
    nondeterministic_seeded = 13
    out = 14
    out_variant = 15
    pointwise = 16
    pt2_compliant_tag = 17
    reduction = 18
    view_copy = 19


class JitType:
    """The type of an argument. `kind()` names it, str() prints it as a schema of a script would."""

    _cache = {}

    def __new__(cls, text):
        """One object for each text, so that types compare by identity as well."""
        found = cls._cache.get(text)
        if found is None:
            found = object.__new__(_kind_of(text))
            found._text = text
            cls._cache[text] = found
        return found

    def __str__(self):
        return self._text
    __repr__ = __str__

    @property
    def annotation_str(self):
        return self._text

    def kind(self):
        return type(self).__name__

    def getElementType(self):
        if "[" not in self._text:
            raise RuntimeError(f"{self._text} has no element type")
        return JitType(self._text[self._text.index("[") + 1:-1])

    def isSubtypeOf(self, other):
        return self is other or (isinstance(other, OptionalType) and other.getElementType() is self)

    def __reduce__(self):
        return JitType, (self._text,)


class TensorType(JitType):
    pass


class NumberType(JitType):
    pass


class IntType(JitType):
    pass


class FloatType(JitType):
    pass


class BoolType(JitType):
    pass


class StringType(JitType):
    pass


class DeviceObjType(JitType):
    pass


class GeneratorType(JitType):
    pass


class ListType(JitType):
    pass


class OptionalType(JitType):
    pass


def _kind_of(text):
    for start, kind in (("Optional[", OptionalType), ("List[", ListType)):
        if text.startswith(start):
            return kind
    return {"Tensor": TensorType, "number": NumberType, "int": IntType, "float": FloatType, "bool": BoolType,
            "str": StringType, "Device": DeviceObjType, "Generator": GeneratorType}[text]


# As the schema language writes a type -> as a script does. Types, layouts and formats are ints there.
_SCRIPT = {"Scalar": "number", "ScalarType": "int", "Layout": "int", "MemoryFormat": "int"}


def _script_type(base, optional_elements, is_list, optional):
    text = _SCRIPT.get(base, base)
    if is_list:
        text = f"List[Optional[{text}]]" if optional_elements else f"List[{text}]"
    return JitType(f"Optional[{text}]" if optional else text)


class AliasInfo:
    """Which arguments and results may share memory: those with a name in common; `is_write` where it is written."""

    def __init__(self, names, is_write):
        self.is_write, self.before_set, self.after_set = is_write, set(names), set(names)

    def __repr__(self):
        return f"AliasInfo({sorted(self.before_set)}, is_write={self.is_write})"


class Argument:
    """One argument or result of a schema."""

    def __init__(self, name, type, default, has_default, kwarg_only, alias_info, N):
        self.name, self.type, self.kwarg_only, self.alias_info, self.N = name, type, kwarg_only, alias_info, N
        self.default_value, self._has_default = default, has_default

    @property
    def real_type(self):
        return self.type

    @property
    def is_write(self):
        return self.alias_info is not None and self.alias_info.is_write

    @property
    def is_out(self):
        return self.is_write and self.kwarg_only

    def has_default_value(self):
        return self._has_default

    def __repr__(self):
        return f"Argument({self.name}: {self.type})"


class FunctionSchema:
    """A parsed schema; str() gives its text, qualified by the namespace."""

    def __init__(self, full_name):
        text, name, overload, arguments, returns = _C._op_schema_parts(full_name)
        self._text, self.name, self.overload_name = text, name, overload
        letters = iter("abcdefghijklmnopqrstuvwxyz")
        written = [next(letters) if a[6] else None for a in arguments]
        shared = next((w for w in written if w), "a")
        queue = [w for w in written if w]
        self.arguments, self.returns = [], []
        for a, letter in zip(arguments, written):
            name, base, optional_elements, is_list, optional, kwarg_only, writes, aliased, size, has_default, default = a
            alias = AliasInfo([letter], True) if writes else AliasInfo(["a"], False) if aliased else None
            self.arguments.append(Argument(name, _script_type(base, optional_elements, is_list, optional), default, has_default,
                                           kwarg_only, alias, size if size > 0 else None))
        for name, base, is_list, writes, aliased in returns:
            letter = queue.pop(0) if writes and queue else shared
            alias = AliasInfo([letter], True) if writes else AliasInfo(["a"], False) if aliased else None
            self.returns.append(Argument(name, _script_type(base, False, is_list, False), None, False, False, alias, None))

    @property
    def is_mutable(self):
        return any(a.is_write for a in self.arguments)

    def _is_view_op(self):
        return not self.is_mutable and any(a.alias_info for a in self.arguments)

    def __str__(self):
        return self._text
    __repr__ = __str__

    def __eq__(self, other):
        return str(self) == str(other)

    def __hash__(self):
        return hash(self._text)
