"""Where a value of a traced program came from: names for symbols of symbolic sizes, and for messages."""
import dataclasses
import enum

__all__ = ["Source", "ConstantSource", "LocalSource", "GlobalSource", "AttrSource", "TensorProperty", "TensorPropertySource"]


class Source:
    """`name` is a Python expression for the value."""


@dataclasses.dataclass(frozen=True)
class ConstantSource(Source):
    """A value that the trace itself made."""

    source_name: str

    @property
    def name(self):
        return self.source_name


@dataclasses.dataclass(frozen=True)
class LocalSource(Source):
    """A local variable or argument; L['x']."""

    local_name: str
    is_input: bool = False

    @property
    def name(self):
        return f"L[{self.local_name!r}]"


@dataclasses.dataclass(frozen=True)
class GlobalSource(Source):
    """A global variable; G['x']."""

    global_name: str

    @property
    def name(self):
        return f"G[{self.global_name!r}]"


@dataclasses.dataclass(frozen=True)
class AttrSource(Source):
    """An attribute of another value."""

    base: Source
    member: str

    @property
    def name(self):
        return f"{self.base.name}.{self.member}"


class TensorProperty(enum.Enum):
    """Which number of a tensor's geometry."""

    SIZE = 0
    STRIDE = 1
    STORAGE_OFFSET = 2


@dataclasses.dataclass(frozen=True)
class TensorPropertySource(Source):
    """A size, a stride or the offset of a tensor."""

    base: Source
    prop: TensorProperty
    idx: int = None

    @property
    def name(self):
        if self.prop is TensorProperty.STORAGE_OFFSET:
            return f"{self.base.name}.storage_offset()"
        return f"{self.base.name}.{self.prop.name.lower()}()[{self.idx}]"
