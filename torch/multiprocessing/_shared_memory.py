"""Memory that several processes see, and tensors on it sent from one to another."""

import mmap
import os
import weakref
from multiprocessing import reduction
from multiprocessing.reduction import ForkingPickler

import torch

# Address of the first byte -> file descriptor of the memory, while a tensor of this process uses it.
_descriptors = {}


def _storage_on(fd, nbytes):
    """A storage of the memory behind a descriptor, which it closes when it goes."""
    if nbytes == 0:
        os.close(fd)
        return torch.UntypedStorage(0)
    memory = mmap.mmap(fd, nbytes)
    storage = torch.frombuffer(memory, dtype=torch.uint8).untyped_storage()
    address = storage.data_ptr()
    _descriptors[address] = fd

    def gone():
        _descriptors.pop(address, None)
        os.close(fd)
    weakref.finalize(memory, gone)
    return storage


def is_shared(storage):
    """Whether other processes can see the bytes of the storage."""
    return storage.nbytes() == 0 or storage.data_ptr() in _descriptors


def shared_copy(storage):
    """A storage with the same bytes in memory that can be shared."""
    nbytes = storage.nbytes()
    fd = os.memfd_create("torch")
    os.ftruncate(fd, nbytes)
    copied = _storage_on(fd, nbytes)
    if nbytes:
        copied.copy_(storage)
    return copied


def share_tensor(tensor):
    """Moves a tensor's bytes to memory that can be shared; the tensor stays the same object."""
    storage = tensor.untyped_storage()
    if not is_shared(storage):
        with torch.no_grad():
            tensor.data = torch._C._tensor_over(
                shared_copy(storage), tensor.dtype, tensor.storage_offset(), tuple(tensor.size()),
                tensor.stride())
    return tensor


def _rebuild(kind, handle, nbytes, dtype, offset, size, stride, requires_grad):
    storage = torch.UntypedStorage(0) if handle is None else _storage_on(handle.detach(), nbytes)
    tensor = torch._C._tensor_over(storage, dtype, offset, size, stride)
    if issubclass(kind, torch.nn.Parameter):
        return kind(tensor, requires_grad=requires_grad)
    tensor.requires_grad = requires_grad
    return tensor if kind is torch.Tensor else tensor.as_subclass(kind)


def _reduce(tensor):
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError("a tensor that is part of a graph cannot be sent to another process: "
                           "detach it")
    if tensor.device.type != "cpu" or tensor.layout != torch.strided:
        return tensor.__reduce_ex__(reduction.pickle.HIGHEST_PROTOCOL)
    share_tensor(tensor)
    storage = tensor.untyped_storage()
    nbytes = storage.nbytes()
    handle = reduction.DupFd(_descriptors[storage.data_ptr()]) if nbytes else None
    return (_rebuild, (type(tensor), handle, nbytes, tensor.dtype, tensor.storage_offset(),
                       tuple(tensor.size()), tensor.stride(), tensor.requires_grad))


def register():
    """Makes the pickler of multiprocessing send tensors as shared memory."""
    ForkingPickler.register(torch.Tensor, _reduce)
    ForkingPickler.register(torch.nn.Parameter, _reduce)
