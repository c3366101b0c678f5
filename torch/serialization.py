"""torch.save and torch.load."""

import contextlib
import copyreg
import hashlib
import io
import os
import pickle
import struct
import sys
import threading
import warnings
from enum import Enum

import torch
from torch import _weights_only_unpickler
from torch._zip_archive import ZipReader, ZipWriter
from torch.storage import (_STORAGE_DTYPES, TypedStorage, UntypedStorage, _bytes_of)

__all__ = ["save", "load", "register_package", "location_tag", "default_restore_location",
           "add_safe_globals", "clear_safe_globals", "get_safe_globals", "safe_globals",
           "get_unsafe_globals_in_checkpoint", "skip_data", "LoadEndianness",
           "get_default_load_endianness", "set_default_load_endianness", "get_crc32_options",
           "set_crc32_options", "get_default_mmap_options", "set_default_mmap_options",
           "SourceChangeWarning", "MAP_LOCATION"]

DEFAULT_PROTOCOL = 2
MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001
STORAGE_KEY_SEPARATOR = ","
MAP_LOCATION = "str | torch.device | dict[str, str] | Callable | None"
MAP_SHARED, MAP_PRIVATE = 1, 2
_ALIGNMENT = 64


class SourceChangeWarning(Warning):
    """Warned of once when the source of a saved module had changed."""


class LoadEndianness(Enum):
    NATIVE = 1
    LITTLE = 2
    BIG = 3


class _Settings(threading.local):
    def __init__(self):
        self.endianness = None
        self.checksums = True
        self.mmap_flags = MAP_PRIVATE
        self.skip_data = False
        self.map_location = None


_settings = _Settings()


def get_default_load_endianness():
    """The byte order taken for files that do not say theirs; None for that of the machine."""
    return _settings.endianness


def set_default_load_endianness(endianness):
    if not isinstance(endianness, LoadEndianness) and endianness is not None:
        raise TypeError(f"endianness must be a LoadEndianness or None, got {endianness!r}")
    _settings.endianness = endianness


def get_crc32_options():
    """Whether `save` writes a checksum for each record."""
    return _settings.checksums


def set_crc32_options(compute_crc32):
    _settings.checksums = compute_crc32


def get_default_mmap_options():
    """How `load` with mmap=True maps the file: MAP_PRIVATE or MAP_SHARED."""
    return _settings.mmap_flags


class set_default_mmap_options:
    """Sets the flags, at once and for the length of a with block."""

    def __init__(self, flags):
        import mmap
        if flags not in (mmap.MAP_PRIVATE, mmap.MAP_SHARED):
            raise ValueError(f"flags must be mmap.MAP_PRIVATE or mmap.MAP_SHARED, got {flags}")
        self.before = _settings.mmap_flags
        _settings.mmap_flags = flags

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        _settings.mmap_flags = self.before


class skip_data:
    """Within it `save` leaves room for the numbers of tensors but does not write them."""

    def __init__(self, materialize_fake_tensors=False):
        self.materialize_fake_tensors = materialize_fake_tensors

    def __enter__(self):
        self.before = _settings.skip_data
        _settings.skip_data = True
        return self

    def __exit__(self, *exc):
        _settings.skip_data = self.before


def add_safe_globals(safe_globals):
    """Lets weights_only=True build these types and call these functions.

    An entry is the object, or (object, the dotted name in the file).
    """
    _weights_only_unpickler._add_safe_globals(safe_globals)


def get_safe_globals():
    """What was added, and the exceptions of Python."""
    return _weights_only_unpickler._get_safe_globals() \
        + _weights_only_unpickler._builtin_exceptions()


def clear_safe_globals():
    """Takes back everything that was added."""
    _weights_only_unpickler._clear_safe_globals()


class safe_globals(_weights_only_unpickler._safe_globals):
    """`add_safe_globals` for the length of a with block."""


def get_unsafe_globals_in_checkpoint(f):
    """The dotted names in a file that weights_only=True would refuse."""
    with _opened(f, "rb") as file:
        if not _is_zipfile(file):
            raise ValueError("only files of the zip format are looked through")
        data = _reader(file, f).read("data.pkl")
    return _weights_only_unpickler.unsafe_globals_in_pkl(io.BytesIO(data))


def _get_layout(name):
    """The layout of its text, "torch.strided" and so on."""
    for attribute in ("strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr",
                      "sparse_bsc", "_mkldnn", "jagged"):
        layout = getattr(torch, attribute, None)
        if layout is not None and str(layout) == name:
            return layout
    raise ValueError(f"{name!r} is not a layout")


copyreg.pickle(torch.layout, lambda layout: (_get_layout, (str(layout),)))


# Devices: (priority, tag of a storage or None, restore of a storage by its tag or None).
_package_registry = []


def register_package(priority, tagger, deserializer):
    """Adds a device: `tagger(storage)` and `deserializer(storage, tag)` give None for others."""
    _package_registry.append((priority, tagger, deserializer))
    _package_registry.sort(key=lambda entry: entry[0])


def _cpu_tag(storage):
    return "cpu" if storage.device.type == "cpu" else None


def _cpu_deserialize(storage, location):
    return storage if location == "cpu" else None


def _meta_tag(storage):
    return "meta" if storage.device.type == "meta" else None


def _meta_deserialize(storage, location):
    return UntypedStorage(storage.nbytes(), device="meta") if location == "meta" else None


def _cuda_tag(storage):
    return f"cuda:{storage.device.index or 0}" if storage.device.type == "cuda" else None


def _cuda_deserialize(storage, location):
    if not (location == "cuda" or location.startswith("cuda:")):
        return None
    if not torch.cuda.is_available():
        raise RuntimeError(f"the file has a tensor on {location}, and there is no CUDA device: "
                           "load with map_location='cpu'")
    index = int(location[5:]) if ":" in location else torch.cuda.current_device()
    if index >= torch.cuda.device_count():
        raise RuntimeError(f"the file has a tensor on {location}, and there are "
                           f"{torch.cuda.device_count()} CUDA devices: load with map_location")
    flat = torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)
    return flat.to(f"cuda:{index}").untyped_storage()


register_package(10, _cpu_tag, _cpu_deserialize)
register_package(20, _cuda_tag, _cuda_deserialize)
register_package(22, _meta_tag, _meta_deserialize)


def location_tag(storage):
    """The name of the device of a storage, as files hold it: "cpu", "cuda:0", "meta"."""
    for _, tagger, _ in _package_registry:
        location = tagger(storage)
        if location:
            return location
    raise RuntimeError(f"no name is known for the device of {torch.typename(storage)}")


def default_restore_location(storage, location):
    """The storage on the device of that name. Raises RuntimeError for an unknown one."""
    for _, _, restore in _package_registry:
        result = restore(storage, location)
        if result is not None:
            return result
    raise RuntimeError(f"a storage on the unknown device {location!r} cannot be restored; "
                       "map_location can name another")


def normalize_storage_type(storage_type):
    return getattr(torch, storage_type.__name__)


def storage_to_tensor_type(storage):
    kind = type(storage)
    module = torch if kind.__module__ == "torch" else sys.modules[kind.__module__]
    return getattr(module, kind.__name__.replace("Storage", "Tensor"))


def _get_restore_location(map_location):
    if map_location is None:
        return default_restore_location
    if isinstance(map_location, dict):
        def restore(storage, location):
            return default_restore_location(storage, map_location.get(location, location))
    elif isinstance(map_location, (str, bytes)):
        def restore(storage, location):
            return default_restore_location(storage, map_location)
    elif isinstance(map_location, torch.device):
        def restore(storage, location):
            return default_restore_location(storage, str(map_location))
    else:
        def restore(storage, location):
            result = map_location(storage, location)
            return default_restore_location(storage, location) if result is None else result
    return restore


def _is_path(f):
    return isinstance(f, (str, os.PathLike))


@contextlib.contextmanager
def _opened(f, mode):
    if _is_path(f):
        with open(f, mode) as file:
            yield file
    else:
        yield f


@contextlib.contextmanager
def _replacing(path):
    """A file that takes the place of `path` when the block ends well, so that a failed save
    leaves the old file as it was. Pipes and devices are written directly."""
    path = os.path.realpath(os.fspath(path))
    folder = os.path.dirname(path)
    if folder and not os.path.isdir(folder):
        raise RuntimeError(f"the folder {folder} of the file to save does not exist")
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, "wb") as file:
            yield file
        return
    temporary = f"{path}.{os.getpid()}.{threading.get_ident()}.part"
    try:
        with open(temporary, "wb") as file:
            yield file
        with contextlib.suppress(OSError):
            os.chmod(temporary, os.stat(path).st_mode & 0o7777)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def save(obj, f, pickle_module=pickle, pickle_protocol=DEFAULT_PROTOCOL,
         _use_new_zipfile_serialization=True, _disable_byteorder_record=False):
    """Writes an object to `f`, a path or a file opened for writing.

    The object is pickled; storages of tensors become records of their own, each once. A path is
    replaced only when everything is written. Raises AttributeError for an `f` without `write`.
    """
    if not _is_path(f) and not hasattr(f, "write"):
        raise AttributeError(f"f must be a path or have a method write, got {type(f).__name__}")
    with _replacing(f) if _is_path(f) else contextlib.nullcontext(f) as file:
        if not _use_new_zipfile_serialization:
            _legacy_save(obj, file, pickle_module, pickle_protocol)
            return
        name = "archive"
        if _is_path(f):
            stem = os.path.splitext(os.path.basename(os.fspath(f)))[0]
            if isinstance(stem, str) and stem and stem.isascii():
                name = stem
        writer = ZipWriter(file, name, _ALIGNMENT, _settings.checksums)
        _save(obj, writer, pickle_module, pickle_protocol, _disable_byteorder_record)
        if hasattr(file, "flush"):
            file.flush()


class _StorageTable:
    """Gives each storage a key and checks that it is seen with one dtype only."""

    def __init__(self, key_of):
        self.key_of = key_of
        self.keys, self.storages, self.dtypes = {}, {}, {}

    def entry(self, obj):
        """(class of the saved name, key, location, number of elements, storage) or None."""
        if isinstance(obj, TypedStorage):
            storage, dtype = obj._untyped_storage, obj.dtype
            kind = getattr(torch, obj.pickle_storage_type())
            count = obj.size()
        elif isinstance(obj, UntypedStorage):
            storage, dtype = obj, torch.uint8
            kind, count = UntypedStorage, obj.nbytes()
        else:
            return None
        if storage.device.type != "meta":
            where = storage.data_ptr()
            if where:
                if self.dtypes.setdefault(where, dtype) != dtype:
                    raise RuntimeError("two tensors or storages on the same memory have the "
                                       f"dtypes {self.dtypes[where]} and {dtype}: save one as a "
                                       "clone")
        identity = storage._cdata
        key = self.keys.get(identity)
        if key is None:
            key = self.keys[identity] = self.key_of(len(self.keys), identity)
            # Kept, so that no other storage gets the identity while the file is written.
            self.storages[key] = storage
        return kind, key, location_tag(storage), count, storage


def _on_cpu(storage):
    if storage.device.type == "cpu":
        return storage
    return torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage).cpu() \
        .untyped_storage()


def _save(obj, writer, pickle_module, pickle_protocol, _disable_byteorder_record=False):
    table = _StorageTable(lambda number, identity: str(number))

    class Pickler(pickle_module.Pickler):
        def persistent_id(self, obj):
            found = table.entry(obj)
            return None if found is None else ("storage", *found[:4])

    buffer = io.BytesIO()
    pickler = Pickler(buffer, protocol=pickle_protocol)
    pickler.dump(obj)
    writer.write_record("data.pkl", buffer.getbuffer())
    writer.write_record(".format_version", b"1")
    writer.write_record(".storage_alignment", str(_ALIGNMENT).encode())
    if not _disable_byteorder_record:
        writer.write_record("byteorder", sys.byteorder.encode())
    for key, storage in table.storages.items():
        data = _bytes_of(_on_cpu(storage)) if storage.device.type != "meta" else b""
        writer.write_record(f"data/{key}", bytes(len(data)) if _settings.skip_data else data)
    writer.write_record("version", b"3\n")
    names = hashlib.blake2b(repr([e[0] for e in writer.entries]).encode(), digest_size=8)
    sums = hashlib.blake2b(repr([e[1:3] for e in writer.entries]).encode(), digest_size=8)
    digits = "".join(f"{int.from_bytes(h.digest(), 'little'):020d}" for h in (names, sums))
    writer.write_record(".data/serialization_id", digits.encode())
    writer.close()


def _legacy_save(obj, f, pickle_module, pickle_protocol):
    """The older form: pickles one after the other, then the bytes of the storages."""
    table = _StorageTable(lambda number, identity: str(identity))

    class Pickler(pickle_module.Pickler):
        def persistent_id(self, obj):
            found = table.entry(obj)
            # The last entry once told of a view into a larger storage.
            return None if found is None else ("storage", *found[:4], None)

    for head in (MAGIC_NUMBER, PROTOCOL_VERSION, {
            "protocol_version": PROTOCOL_VERSION, "little_endian": sys.byteorder == "little",
            "type_sizes": {"short": 2, "int": 4, "long": 4}}):
        pickle_module.dump(head, f, protocol=pickle_protocol)
    Pickler(f, protocol=pickle_protocol).dump(obj)
    keys = sorted(table.storages)
    pickle_module.dump(keys, f, protocol=pickle_protocol)
    if hasattr(f, "flush"):
        f.flush()
    for key in keys:
        storage = table.storages[key]
        dtype = table.dtypes.get(storage.data_ptr(), torch.uint8) \
            if storage.device.type != "meta" else torch.uint8
        f.write(struct.pack("<q", storage.nbytes() // dtype.itemsize))
        f.write(_bytes_of(_on_cpu(storage)))


def _is_zipfile(f):
    """Whether the file, at its present position, starts like a zip archive."""
    at = f.tell()
    head = f.read(4)
    f.seek(at)
    return head == b"PK\x03\x04"


def _reader(file, f):
    """A reader of the archive that starts at the file's position."""
    label = os.fspath(f) if _is_path(f) else "the file"
    if file.tell() != 0:
        return ZipReader(io.BytesIO(file.read()), label)
    return ZipReader(file, label)


def load(f, map_location=None, pickle_module=None, *, weights_only=None, mmap=None,
         **pickle_load_args):
    """Reads what `save` wrote to `f`, a path or a file with read, readline, seek and tell.

    `map_location`: None for the devices saved, a device, a dict of their names, or a function
    (storage, name) -> storage or None. `weights_only` (default True without a `pickle_module`)
    builds tensors, containers and what `add_safe_globals` allowed, and raises
    pickle.UnpicklingError for anything else; False runs whatever the file says. `mmap` maps the
    file instead of reading it. Raises RuntimeError, naming the record, for a damaged archive.
    """
    if weights_only is None:
        forced = os.environ.get("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "0").lower()
        weights_only = pickle_module is None and forced not in ("1", "y", "yes", "true")
    if os.environ.get("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "0").lower() in ("1", "y", "yes", "true"):
        weights_only = True
    if weights_only:
        if pickle_module is not None:
            raise RuntimeError("weights_only=True reads with its own unpickler: give no "
                               "pickle_module")
    elif pickle_module is None:
        pickle_module = pickle
    if mmap is None:
        mmap = False
    _check_readable(f)
    if "encoding" not in pickle_load_args:
        pickle_load_args["encoding"] = "utf-8"
    with _opened(f, "rb") as file:
        if _is_zipfile(file):
            reader = _reader(file, f)
            if "constants.pkl" in reader:
                if weights_only:
                    raise RuntimeError("the file is a TorchScript archive, which weights_only="
                                       "True does not read: use torch.jit.load")
                warnings.warn("the file is a TorchScript archive: torch.jit.load reads it",
                              UserWarning, stacklevel=2)
                file.seek(0)
                return torch.jit.load(file, map_location=map_location)
            mapped = None
            if mmap:
                if not _is_path(f):
                    raise ValueError("mmap=True needs a path, got an open file")
                mapped = _Mapped(f)
            return _load(reader, map_location, pickle_module, weights_only, mapped,
                         pickle_load_args)
        if mmap:
            raise RuntimeError("mmap=True reads files of the zip format only")
        return _legacy_load(file, map_location, pickle_module, weights_only=weights_only,
                            **pickle_load_args)


def _check_readable(f):
    if _is_path(f):
        return
    for name in ("read", "readline", "seek", "tell"):
        if not hasattr(f, name):
            raise AttributeError(f"f must be a path or a file that can seek; {type(f).__name__} "
                                 f"has no method {name}. Read it into an io.BytesIO first")
    try:
        f.seek(f.tell())
    except (io.UnsupportedOperation, AttributeError, OSError) as error:
        raise type(error)(f"{error}: read the file into an io.BytesIO first") from None


class _Mapped:
    """A file in memory; parts of it become storages that keep it."""

    def __init__(self, path):
        import mmap
        shared = _settings.mmap_flags == mmap.MAP_SHARED
        with open(path, "rb+" if shared else "rb") as file:
            self.memory = mmap.mmap(
                file.fileno(), 0, access=mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY)

    def storage(self, offset, size):
        if size == 0:
            return UntypedStorage(0)
        if offset + size > len(self.memory):
            raise RuntimeError(f"the file ends before byte {offset + size} of a record")
        return torch.frombuffer(self.memory, dtype=torch.uint8, count=size,
                                offset=offset).untyped_storage()


def _unpickle(source, pickle_module, weights_only, persistent_load, pickle_load_args):
    if weights_only:
        unpickler = _weights_only_unpickler.Unpickler(source, **pickle_load_args)
        unpickler.persistent_load = persistent_load
        try:
            return unpickler.load()
        except pickle.UnpicklingError as error:
            raise pickle.UnpicklingError(f"loading with weights_only=True failed: {error}") \
                from None

    class Unpickler(pickle_module.Unpickler):
        def find_class(self, module, name):
            if module == "torch.tensor":
                module = "torch._tensor"
            elif module == "torch.cuda" and name in _STORAGE_DTYPES:
                module = "torch"
            return super().find_class(module, name)

    unpickler = Unpickler(source, **pickle_load_args)
    unpickler.persistent_load = persistent_load
    return unpickler.load()


def _text(value):
    return value.decode("ascii") if isinstance(value, bytes) else value


def _typed(storage, kind):
    if kind is UntypedStorage:
        return TypedStorage(wrap_storage=storage, dtype=torch.uint8, _internal=True)
    return TypedStorage(wrap_storage=storage, dtype=kind.dtype, _internal=True)


def _check_kind(kind):
    if kind is UntypedStorage or getattr(kind, "__name__", None) in _STORAGE_DTYPES:
        return
    raise pickle.UnpicklingError(f"the file names {kind!r} as the class of a storage")


def _load(reader, map_location, pickle_module, weights_only, mapped, pickle_load_args):
    restore = _get_restore_location(map_location)
    to_meta = map_location is not None and str(map_location) == "meta"
    swapped = None
    if "byteorder" in reader:
        order = reader.read("byteorder").decode("ascii", "replace")
        if order not in ("little", "big"):
            raise ValueError(f"the file says its byte order is {order!r}")
        swapped = order != sys.byteorder
    else:
        default = _settings.endianness
        swapped = default is not None and default is not LoadEndianness.NATIVE and (
            default is LoadEndianness.BIG) != (sys.byteorder == "big")
    loaded = {}

    def persistent_load(saved):
        if not (isinstance(saved, tuple) and len(saved) == 5 and _text(saved[0]) == "storage"):
            raise pickle.UnpicklingError("the file refers to something that is no storage: "
                                         f"{str(saved)[:60]}")
        kind, key, location, count = saved[1], _text(saved[2]), _text(saved[3]), saved[4]
        _check_kind(kind)
        if key in loaded:
            return _typed(loaded[key], kind)
        dtype = torch.uint8 if kind is UntypedStorage else kind.dtype
        if not isinstance(count, int) or count < 0:
            raise pickle.UnpicklingError(f"the storage {key} has {count!r} elements")
        size = count * dtype.itemsize
        name = f"data/{key}"
        if to_meta or location == "meta":
            storage = UntypedStorage(size, device="meta")
        elif mapped is not None:
            if reader.size(name) != size:
                raise RuntimeError(f"the record {name} has {reader.size(name)} bytes, expected "
                                   f"{size}")
            storage = mapped.storage(reader.offset(name), size)
        else:
            held = reader.size(name)
            if held != size:
                raise RuntimeError(f"{reader.label} is damaged: the record {name} has {held} "
                                   f"bytes, expected {size}")
            storage = UntypedStorage(size)
            reader.read_into(name, _bytes_of(storage))
            if swapped:
                storage.byteswap(dtype)
        storage = restore(storage, location)
        storage = getattr(storage, "_untyped_storage", storage)
        loaded[key] = storage
        return _typed(storage, kind)

    source = io.BytesIO(reader.read("data.pkl"))
    _settings.map_location = map_location
    try:
        return _unpickle(source, pickle_module, weights_only, persistent_load, pickle_load_args)
    finally:
        _settings.map_location = None


def _legacy_load(f, map_location, pickle_module, *, weights_only=False, **pickle_load_args):
    restore = _get_restore_location(map_location)
    loaded, dtypes = {}, {}

    def left():
        at = f.tell()
        f.seek(0, 2)
        end = f.tell()
        f.seek(at)
        return end - at

    def persistent_load(saved):
        if not isinstance(saved, tuple) or not saved:
            raise pickle.UnpicklingError(f"the file refers to {str(saved)[:60]}")
        what = _text(saved[0])
        if what == "module":
            # The class, with its source at the time.
            return saved[1]
        if what != "storage" or len(saved) != 6:
            raise pickle.UnpicklingError(f"the file refers to a {what!r}")
        kind, key, location, count, view = saved[1:]
        _check_kind(kind)
        key, location = _text(key), _text(location)
        dtype = torch.uint8 if kind is UntypedStorage else kind.dtype
        if key not in loaded:
            if not isinstance(count, int) or count < 0:
                raise pickle.UnpicklingError(f"the storage {key} has {count!r} elements")
            if count * dtype.itemsize > left():
                raise RuntimeError(f"the file ends before the {count} elements of the storage "
                                   f"{key}")
            storage = UntypedStorage(count * dtype.itemsize)
            loaded[key] = [storage, location, None]
            dtypes[key] = dtype
            # The bytes come later in the file; the device of a plain one can be known now.
            if map_location is None and location == "cpu":
                loaded[key][2] = storage
            else:
                loaded[key][2] = restore(storage, location)
                loaded[key][2] = getattr(loaded[key][2], "_untyped_storage", loaded[key][2])
        storage = loaded[key][2]
        if view is not None:
            _, offset, view_size = view
            flat = torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)
            part = flat[offset * dtype.itemsize:(offset + view_size) * dtype.itemsize]
            storage = part.clone().untyped_storage()
        if kind is UntypedStorage:
            return storage
        return _typed(storage, kind)

    def next_object(persistent=None):
        return _unpickle(f, pickle_module, weights_only, persistent or _no_storage,
                         dict(pickle_load_args))

    magic = next_object()
    if magic != MAGIC_NUMBER:
        raise RuntimeError("the file is neither a zip archive nor of the older form: its first "
                           f"number is {str(magic)[:40]}")
    version = next_object()
    if version != PROTOCOL_VERSION:
        raise RuntimeError(f"the file has the version {version}, expected {PROTOCOL_VERSION}")
    info = next_object()
    result = next_object(persistent_load)
    for key in next_object():
        key = _text(key)
        if key not in loaded:
            raise RuntimeError(f"the file holds a storage {key} that nothing refers to")
        storage, _, restored = loaded[key]
        head = f.read(8)
        if len(head) != 8:
            raise RuntimeError(f"the file ends before the storage {key}")
        count = struct.unpack("<q", head)[0]
        if count * dtypes[key].itemsize != storage.nbytes():
            raise RuntimeError(f"the storage {key} has {count} elements, expected "
                               f"{storage.nbytes() // dtypes[key].itemsize}")
        data = _bytes_of(storage)
        part = f.read(storage.nbytes())
        if len(part) != storage.nbytes():
            raise RuntimeError(f"the file ends within the storage {key}: {len(part)} of "
                               f"{storage.nbytes()} bytes")
        data[:] = part
        if isinstance(info, dict) and info.get("little_endian", True) != (
                sys.byteorder == "little"):
            storage.byteswap(dtypes[key])
        if restored is not storage and restored.device.type != "meta":
            restored.copy_(storage)
    return result


def _no_storage(saved):
    raise pickle.UnpicklingError("the head of the file refers to a storage")
