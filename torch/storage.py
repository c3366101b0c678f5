"""Storages: bytes (`UntypedStorage`), and the older view of them as elements of one dtype."""

import collections
import io

import torch
from torch import _C

__all__ = ["TypedStorage", "UntypedStorage"]


class UntypedStorage(_C.StorageBase):
    """The bytes under tensors: UntypedStorage(n, device="cpu"), or of a sequence of bytes.

    On the CPU it has the buffer protocol, writable.
    """

    is_sparse = False
    is_sparse_csr = False
    is_hpu = False
    _fake_device = None
    _file = None

    def element_size(self):
        return 1

    def untyped(self):
        return self

    def get_device(self):
        return -1 if self.device.index is None else self.device.index

    def clone(self):
        """A copy."""
        copied = UntypedStorage(self.nbytes(), device=self.device)
        copied.copy_(self)
        return copied

    def _bytes(self):
        return torch.empty(0, dtype=torch.uint8, device=self.device).set_(self)

    def cpu(self):
        """The storage itself on the CPU, else a copy there."""
        return self if self.device.type == "cpu" else self._bytes().cpu().untyped_storage()

    def to(self, *, device, non_blocking=False):
        if torch.device(device) == self.device:
            return self
        return self._bytes().to(device, non_blocking=non_blocking).untyped_storage()

    def new(self):
        return UntypedStorage(0, device=self.device)

    def type(self, dtype=None, non_blocking=False):
        if dtype is None:
            return "torch.storage.UntypedStorage"
        return self._typed(torch.uint8).type(dtype, non_blocking)

    def _typed(self, dtype):
        return TypedStorage(wrap_storage=self, dtype=dtype, _internal=True)

    @classmethod
    def from_file(cls, filename, shared=False, nbytes=0):
        """The first `nbytes` bytes of a file; with `shared` changes go to it, and it is made or
        lengthened as needed."""
        import mmap
        import os
        if nbytes == 0:
            return cls(0)
        if shared:
            fd = os.open(filename, os.O_RDWR | os.O_CREAT, 0o666)
        else:
            fd = os.open(filename, os.O_RDONLY)
        try:
            held = os.fstat(fd).st_size
            if held < nbytes:
                if not shared:
                    raise RuntimeError(f"{os.fspath(filename)} has {held} bytes, {nbytes} were "
                                       "asked for")
                os.ftruncate(fd, nbytes)
            memory = mmap.mmap(fd, nbytes,
                               access=mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY)
        finally:
            os.close(fd)
        storage = torch.frombuffer(memory, dtype=torch.uint8).untyped_storage()
        storage._file = os.fspath(filename)
        return storage

    @classmethod
    def from_buffer(cls, buffer, byte_order=None, count=-1, offset=0, *, dtype=None):
        """A copy of the bytes of a buffer, read as elements of `dtype` in the byte order given."""
        view = memoryview(buffer).cast("B")[offset:]
        size = 1 if dtype is None else dtype.itemsize
        if count >= 0:
            if count * size > len(view):
                raise ValueError(f"the buffer has {len(view)} bytes from offset {offset} on, "
                                 f"{count * size} were asked for")
            view = view[:count * size]
        elif len(view) % size:
            raise ValueError(f"the buffer's {len(view)} bytes are no multiple of {size}")
        storage = cls(len(view))
        if len(view):
            _bytes_of(storage)[:] = view
        import sys
        if byte_order not in (None, "native", sys.byteorder) and dtype is not None:
            storage.byteswap(dtype)
        return storage

    @property
    def filename(self):
        return self._file

    def byteswap(self, dtype):
        """Turns the byte order of the elements of that dtype, in place."""
        size = dtype.itemsize // (2 if dtype.is_complex else 1)
        if size == 1:
            return
        import array
        data = _bytes_of(self)
        words = array.array({2: "H", 4: "I", 8: "Q"}[size], data.tobytes())
        words.byteswap()
        data[:] = words.tobytes()

    def is_shared(self):
        """Whether the bytes lie in memory that other processes can see."""
        from torch.multiprocessing import _shared_memory
        return _shared_memory.is_shared(self)

    def share_memory_(self):
        raise NotImplementedError("share_memory_ of a storage: call it on the tensor")

    def is_pinned(self, device="cuda"):
        return False

    def pin_memory(self, device="cuda"):
        raise RuntimeError("pinned memory needs a CUDA device, and there is none")

    def __eq__(self, other):
        return isinstance(other, UntypedStorage) and self._cdata == other._cdata

    def __hash__(self):
        return hash(self._cdata)

    def __iter__(self):
        return iter(self.tolist())

    def __copy__(self):
        return self.clone()

    def __deepcopy__(self, memo):
        known = memo.setdefault("torch", {})
        if self._cdata not in known:
            known[self._cdata] = self.clone()
        return known[self._cdata]

    def __reduce__(self):
        from torch import serialization
        buffer = io.BytesIO()
        serialization._legacy_save(self, buffer, serialization.pickle, 2)
        return (_load_from_bytes, (buffer.getvalue(),))

    def __sizeof__(self):
        return object.__sizeof__(self) + self.nbytes()

    def __repr__(self):
        what = f"[torch.storage.UntypedStorage(device={self.device}) of size {self.nbytes()}]"
        if self.device.type == "meta":
            return "...\n" + what
        return "\n".join(f" {v}" for v in self.tolist()) + "\n" + what

    __str__ = __repr__


def _dtype_to_name():
    """dtype -> name of its storage class; dtypes younger than these classes have none."""
    names = {
        torch.float64: "DoubleStorage", torch.float32: "FloatStorage",
        torch.float16: "HalfStorage", torch.bfloat16: "BFloat16Storage",
        torch.int64: "LongStorage", torch.int32: "IntStorage", torch.int16: "ShortStorage",
        torch.int8: "CharStorage", torch.uint8: "ByteStorage", torch.bool: "BoolStorage",
        torch.complex128: "ComplexDoubleStorage", torch.complex64: "ComplexFloatStorage"}
    for dtype, name in (("quint8", "QUInt8Storage"), ("qint32", "QInt32Storage"),
                        ("qint8", "QInt8Storage"), ("quint4x2", "QUInt4x2Storage"),
                        ("quint2x4", "QUInt2x4Storage")):
        if hasattr(torch, dtype):
            names[getattr(torch, dtype)] = name
    return names


_STORAGE_NAMES = _dtype_to_name()
_STORAGE_DTYPES = {name: dtype for dtype, name in _STORAGE_NAMES.items()}


def _dtype_to_storage_type_map():
    return dict(_STORAGE_NAMES)


def _storage_type_to_dtype_map():
    return dict(_STORAGE_DTYPES)


def _bytes_of(storage):
    """A writable memoryview of the bytes of an untyped storage on the CPU."""
    return memoryview(storage).cast("B") if storage.nbytes() else memoryview(bytearray())


class TypedStorage:
    """`wrap_storage`, an UntypedStorage, seen as elements of `dtype`.

    Also made from a number of elements or a sequence of them.
    """

    is_sparse = False

    def __init__(self, *args, wrap_storage=None, dtype=None, device=None, _internal=False):
        if dtype is None:
            dtype = getattr(type(self), "_class_dtype", None) or torch.get_default_dtype()
        self.dtype = dtype
        if wrap_storage is not None:
            if args:
                raise RuntimeError("wrap_storage cannot be given together with other values")
            if not isinstance(wrap_storage, UntypedStorage):
                raise TypeError("wrap_storage must be an UntypedStorage, got "
                                f"{type(wrap_storage).__name__}")
            self._untyped_storage = wrap_storage
            return
        if len(args) > 1:
            raise TypeError(f"a storage takes one size or sequence, got {len(args)} arguments")
        device = torch.device("cpu" if device is None else device)
        if not args:
            self._untyped_storage = UntypedStorage(0, device=device)
        elif isinstance(args[0], (UntypedStorage, TypedStorage)):
            other = args[0]
            self._untyped_storage = other if isinstance(other, UntypedStorage) \
                else other._untyped_storage
        elif isinstance(args[0], collections.abc.Sequence):
            values = torch.tensor(args[0], dtype=dtype, device=device)
            self._untyped_storage = values.untyped_storage()
        else:
            self._untyped_storage = UntypedStorage(int(args[0]) * self._element_size(),
                                                   device=device)

    @property
    def _dtype(self):
        return self.dtype

    @property
    def device(self):
        return self._untyped_storage.device

    @property
    def is_cuda(self):
        return self.device.type == "cuda"

    @property
    def _cdata(self):
        return self._untyped_storage._cdata

    def untyped(self):
        """The bytes."""
        return self._untyped_storage

    def element_size(self):
        return self.dtype.itemsize

    _element_size = element_size

    def nbytes(self):
        return self._untyped_storage.nbytes()

    def size(self):
        """The number of elements."""
        return self.nbytes() // self.dtype.itemsize

    __len__ = size
    _size = size
    _nbytes = nbytes

    def data_ptr(self):
        return self._untyped_storage.data_ptr()

    def get_device(self):
        return self._untyped_storage.get_device()

    def _tensor(self):
        return torch.empty(0, dtype=self.dtype, device=self.device).set_(self)

    def __getitem__(self, index):
        values = self._tensor()[index]
        return values.item() if values.dim() == 0 else values.clone().storage()

    def __setitem__(self, index, value):
        self._tensor()[index] = value

    def __iter__(self):
        return iter(self.tolist())

    def tolist(self):
        return self._tensor().tolist()

    def fill_(self, value):
        self._tensor().fill_(value)
        return self

    def copy_(self, source, non_blocking=False):
        """Converts the elements of another storage into this one."""
        if isinstance(source, TypedStorage):
            self._tensor().copy_(source._tensor(), non_blocking)
        else:
            self._untyped_storage.copy_(source, non_blocking)
        return self

    def resize_(self, size):
        self._untyped_storage.resize_(size * self.dtype.itemsize)
        return self

    def clone(self):
        return self._wrap(self._untyped_storage.clone(), self.dtype)

    def _wrap(self, storage, dtype):
        return TypedStorage(wrap_storage=storage, dtype=dtype, _internal=True)

    def cpu(self):
        return self if self.device.type == "cpu" else self._wrap(
            self._tensor().cpu().untyped_storage(), self.dtype)

    def to(self, *, device, non_blocking=False):
        moved = self._tensor().to(device, non_blocking=non_blocking)
        return self._wrap(moved.untyped_storage(), self.dtype)

    def is_shared(self):
        return self._untyped_storage.is_shared()

    def share_memory_(self):
        self._untyped_storage.share_memory_()
        return self

    def is_pinned(self, device="cuda"):
        return self._untyped_storage.is_pinned(device)

    def pin_memory(self, device="cuda"):
        return self._wrap(self._untyped_storage.pin_memory(device), self.dtype)

    @property
    def filename(self):
        return self._untyped_storage.filename

    @classmethod
    def from_file(cls, filename, shared=False, size=0):
        """Elements of a file; with `shared` changes go to the file."""
        dtype = getattr(cls, "_class_dtype", None) or torch.get_default_dtype()
        untyped = UntypedStorage.from_file(filename, shared, size * dtype.itemsize)
        return cls(wrap_storage=untyped) if cls is not TypedStorage else cls(
            wrap_storage=untyped, dtype=dtype)

    @classmethod
    def from_buffer(cls, *args, dtype=None, device=None, **kwargs):
        dtype = dtype or getattr(cls, "_class_dtype", None) or torch.get_default_dtype()
        untyped = UntypedStorage.from_buffer(*args, dtype=dtype, **kwargs)
        return TypedStorage(wrap_storage=untyped, dtype=dtype)

    def type(self, dtype=None, non_blocking=False):
        """The name of the storage class, or the storage converted to another."""
        if dtype is None:
            name = _STORAGE_NAMES.get(self.dtype)
            if name is None:
                return "torch.storage.TypedStorage"
            return f"torch.{name}" if self.device.type == "cpu" else \
                f"torch.{self.device.type}.{name}"
        if isinstance(dtype, str):
            dtype = _STORAGE_DTYPES[dtype.rsplit(".", 1)[-1]]
        return self._convert(getattr(dtype, "_class_dtype", dtype))

    def _convert(self, dtype):
        return self._wrap(self._tensor().to(dtype).untyped_storage(), dtype)

    def pickle_storage_type(self):
        """The name of the class in torch that stands for the dtype in saved files."""
        try:
            return _STORAGE_NAMES[self.dtype]
        except KeyError:
            raise KeyError(f"no storage class stands for {self.dtype}") from None

    _pickle_storage_type = pickle_storage_type

    def _get_legacy_storage_class(self):
        name = _STORAGE_NAMES.get(self.dtype)
        return None if name is None else getattr(torch, name, None)

    def __eq__(self, other):
        return isinstance(other, TypedStorage) and self.dtype == other.dtype \
            and self._cdata == other._cdata

    __hash__ = object.__hash__

    def __repr__(self):
        what = f"[torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size " \
            f"{len(self)}]"
        if self.device.type == "meta":
            return "...\n" + what
        return "\n".join(f" {v}" for v in self.tolist()) + "\n" + what

    __str__ = __repr__

    def __copy__(self):
        return self.clone()

    def __deepcopy__(self, memo):
        known = memo.setdefault("torch", {})
        if self._cdata not in known:
            known[self._cdata] = self.clone()
        return known[self._cdata]

    _deepcopy = __deepcopy__

    def __reduce__(self):
        from torch import serialization
        buffer = io.BytesIO()
        serialization._legacy_save(self, buffer, serialization.pickle, 2)
        return (_load_from_bytes, (buffer.getvalue(),))

    def __sizeof__(self):
        return object.__sizeof__(self) + self.nbytes()


def _add_conversions():
    for name, dtype in (("double", torch.float64), ("float", torch.float32),
                        ("half", torch.float16), ("bfloat16", torch.bfloat16),
                        ("long", torch.int64), ("int", torch.int32), ("short", torch.int16),
                        ("char", torch.int8), ("byte", torch.uint8), ("bool", torch.bool),
                        ("complex_double", torch.complex128),
                        ("complex_float", torch.complex64)):
        def convert(self, dtype=dtype):
            return self._convert(dtype)
        convert.__name__ = name
        setattr(TypedStorage, name, convert)
        setattr(UntypedStorage, name, lambda self, dtype=dtype: self._typed(torch.uint8)._convert(
            dtype))


_add_conversions()


class _Kind(type):
    """A class such as FloatStorage: any TypedStorage of its dtype is an instance."""

    def __instancecheck__(cls, instance):
        if type.__instancecheck__(cls, instance):
            return True
        return type(instance) is TypedStorage and instance.dtype == cls._class_dtype


class _LegacyStorage(TypedStorage, metaclass=_Kind):
    """Base of FloatStorage and its like, which make a TypedStorage of their dtype."""

    _class_dtype = None

    def __new__(cls, *args, wrap_storage=None, dtype=None, device=None, _internal=False):
        return TypedStorage(*args, wrap_storage=wrap_storage, dtype=cls._class_dtype,
                            device=device, _internal=True)

    dtype = None


def _legacy_classes():
    """{"FloatStorage": class, ...} for `torch`; each has the dtype as attribute `dtype`."""
    classes = {}
    for name, dtype in _STORAGE_DTYPES.items():
        classes[name] = _Kind(name, (_LegacyStorage,), {
            "__module__": "torch", "_class_dtype": dtype, "dtype": dtype,
            "__doc__": f"A storage of {dtype}."})
    return classes


def _load_from_bytes(b):
    """A storage from the bytes that pickling it gave."""
    return torch.load(io.BytesIO(b), weights_only=False)


# torch.FloatStorage and its like are these.
globals().update(_legacy_classes())
