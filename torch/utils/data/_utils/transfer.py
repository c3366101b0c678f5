"""Objects through a pipe: what is pickled first, then the bytes of tensors as they lie.

A message is a head (lengths), a pickle, and the contents of its storages and numpy buffers, which
the reader receives in the memory where they stay.
"""

import io
import os
import pickle
import struct

import torch
from torch.storage import TypedStorage, UntypedStorage, _bytes_of

_HEAD = struct.Struct("<QI")


class EndOfStream(EOFError):
    """The other side closed the pipe, within or between messages."""


class _Pickler(pickle.Pickler):
    def __init__(self, file, contents):
        self.contents = contents  # memoryviews in the order of their numbers
        self.known = {}
        super().__init__(file, protocol=5, buffer_callback=self._buffer)

    def _buffer(self, buffer):
        try:
            view = buffer.raw()
        except BufferError:
            return True  # not contiguous: goes into the pickle
        self.contents.append(view)
        return False

    def persistent_id(self, obj):
        if not isinstance(obj, (TypedStorage, UntypedStorage)):
            return None
        untyped = getattr(obj, "_untyped_storage", obj)
        if untyped.device.type != "cpu":
            raise TypeError(f"a worker process returned a tensor on {untyped.device}: move it to "
                            "the device in the main process")
        number = self.known.get(untyped._cdata)
        if number is None:
            number = self.known[untyped._cdata] = len(self.contents)
            self.contents.append(_Storage(untyped))
        return (number, obj.dtype if isinstance(obj, TypedStorage) else None)

    def reducer_override(self, obj):
        if not isinstance(obj, torch.Tensor) or obj.layout != torch.strided \
                or obj.device.type != "cpu":
            return NotImplemented
        if obj.requires_grad and not obj.is_leaf:
            raise RuntimeError("a worker process returned a tensor that is part of a graph: "
                               "detach it, or build the graph in the main process")
        if type(obj) is torch.Tensor and obj.untyped_storage().nbytes() > 2 * obj.nbytes:
            # A small view of a large storage: send what it shows.
            copy = obj.detach().clone()
            copy.requires_grad_(obj.requires_grad)
            return copy.__reduce_ex__(5)
        return NotImplemented


class _Storage:
    """A storage in the list of contents: kept alive until it is sent."""

    def __init__(self, untyped):
        self.untyped = untyped
        self.view = _bytes_of(untyped)


class _Unpickler(pickle.Unpickler):
    def __init__(self, file, storages, buffers):
        self.storages = storages
        super().__init__(file, buffers=buffers)

    def persistent_load(self, saved):
        number, dtype = saved
        storage = self.storages[number]
        if dtype is None:
            return storage
        return TypedStorage(wrap_storage=storage, dtype=dtype, _internal=True)


def pack(obj):
    """The parts of a message: bytes-like objects to be written one after the other."""
    buffer, contents = io.BytesIO(), []
    _Pickler(buffer, contents).dump(obj)
    body = buffer.getbuffer()
    kinds = bytearray()
    sizes = []
    parts = []
    for content in contents:
        is_storage = isinstance(content, _Storage)
        view = content.view if is_storage else content
        kinds.append(1 if is_storage else 0)
        sizes.append(view.nbytes)
        parts.append(content)
    head = _HEAD.pack(len(body), len(sizes)) + bytes(kinds) + struct.pack(f"<{len(sizes)}Q", *sizes)
    return [head, body, *parts]


def write(fd, parts):
    """Writes a packed message to the file descriptor."""
    for part in parts:
        view = part.view if isinstance(part, _Storage) else memoryview(part)
        view = view.cast("B") if view.nbytes else view
        at = 0
        while at < view.nbytes:
            at += os.write(fd, view[at:at + (1 << 30)])


def _fill(fd, view):
    at, size = 0, view.nbytes
    while at < size:
        got = os.readv(fd, [view[at:at + (1 << 30)]])
        if got == 0:
            raise EndOfStream
        at += got


def read(fd):
    """The next object from the file descriptor. Raises EndOfStream when the writer is gone."""
    head = bytearray(_HEAD.size)
    _fill(fd, memoryview(head))
    body_size, count = _HEAD.unpack(head)
    more = bytearray(count * 9)
    _fill(fd, memoryview(more))
    kinds, sizes = more[:count], struct.unpack(f"<{count}Q", more[count:])
    body = bytearray(body_size)
    _fill(fd, memoryview(body))
    storages, buffers = {}, []
    for number, (kind, size) in enumerate(zip(kinds, sizes)):
        if kind:
            storage = storages[number] = UntypedStorage(size)
            if size:
                _fill(fd, _bytes_of(storage))
        else:
            buffer = bytearray(size)
            if size:
                _fill(fd, memoryview(buffer))
            buffers.append(buffer)
    return _Unpickler(io.BytesIO(body), storages, buffers).load()
