"""How saved tensors are built again, and errors that cross from one process to another."""

import traceback
from collections import OrderedDict, defaultdict

import torch


def _rebuild_tensor(storage, storage_offset, size, stride):
    """A tensor on the storage (typed); sizes and strides in elements."""
    return torch._C._tensor_over(storage._untyped_storage, storage.dtype, storage_offset, size,
                                 stride)


def get_tensor_metadata(tensor):
    """The bits of a tensor that its numbers do not hold: {"conj": True}, {"neg": True}."""
    metadata = {}
    if tensor.is_conj():
        metadata["conj"] = True
    if tensor.is_neg():
        metadata["neg"] = True
    return metadata


def set_tensor_metadata(tensor, metadata):
    """The tensor with the bits of `get_tensor_metadata`."""
    if not isinstance(metadata, dict):
        raise TypeError(f"metadata must be a dict, got {type(metadata).__name__}")
    if not metadata:
        return tensor
    unknown = set(metadata) - {"conj", "neg"}
    if unknown:
        raise RuntimeError(f"unknown metadata of a tensor: {sorted(unknown)}")
    with torch.no_grad():
        if metadata.get("conj"):
            tensor = tensor.conj()
        if metadata.get("neg"):
            tensor = torch._neg_view(tensor)
    return tensor


def _rebuild_tensor_v2(storage, storage_offset, size, stride, requires_grad, backward_hooks,
                       metadata=None):
    """A tensor as saved: on the typed storage, with its flag and hooks."""
    tensor = _rebuild_tensor(storage, storage_offset, size, stride)
    if metadata:
        tensor = set_tensor_metadata(tensor, metadata)
    tensor.requires_grad = requires_grad
    if backward_hooks:
        tensor._backward_hooks = backward_hooks
    return tensor


def _rebuild_tensor_v3(storage, storage_offset, size, stride, requires_grad, backward_hooks, dtype,
                       metadata=None):
    """As v2, on an untyped storage, for dtypes without a storage class."""
    untyped = getattr(storage, "_untyped_storage", storage)
    tensor = torch._C._tensor_over(untyped, dtype, storage_offset, size, stride)
    if metadata:
        tensor = set_tensor_metadata(tensor, metadata)
    tensor.requires_grad = requires_grad
    if backward_hooks:
        tensor._backward_hooks = backward_hooks
    return tensor


def _rebuild_parameter(data, requires_grad, backward_hooks):
    param = torch.nn.Parameter(data, requires_grad)
    if backward_hooks:
        param._backward_hooks = backward_hooks
    return param


def _rebuild_parameter_with_state(data, requires_grad, backward_hooks, state):
    return _set_obj_state(_rebuild_parameter(data, requires_grad, backward_hooks), state)


def _rebuild_sparse_tensor(layout, data):
    """A sparse tensor of its parts: (indices, values, size[, is_coalesced]), or the compressed
    form (compressed indices, plain indices, values, size)."""
    if layout == torch.sparse_coo:
        indices, values, size = data[:3]
        result = torch.sparse_coo_tensor(indices, values, size)
        if len(data) > 3 and data[3] is not None:
            result._coalesced_(data[3])
        return result
    if layout in (torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc):
        compressed, plain, values, size = data
        return torch.sparse_compressed_tensor(compressed, plain, values, size, layout=layout)
    raise NotImplementedError(f"rebuilding a tensor of layout {layout}")


def _rebuild_nested_tensor(buffer, sizes, strides, storage_offsets):
    return torch._nested_view_from_buffer(buffer, sizes, strides, storage_offsets)


def _rebuild_device_tensor_from_numpy(data, dtype, device, requires_grad):
    tensor = torch.from_numpy(data).to(dtype=dtype, device=device)
    tensor.requires_grad = requires_grad
    return tensor


_rebuild_xla_tensor = _rebuild_device_tensor_from_numpy


def _rebuild_device_tensor_from_cpu_tensor(data, dtype, device, requires_grad):
    tensor = data.to(dtype=dtype, device=device)
    tensor.requires_grad = requires_grad
    return tensor


def _rebuild_meta_tensor_no_storage(dtype, size, stride, requires_grad):
    return torch.empty_strided(size, stride, dtype=dtype, device="meta",
                               requires_grad=requires_grad)


def _rebuild_wrapper_subclass(cls, dtype, size, stride, storage_offset, layout, device,
                              requires_grad):
    return torch.Tensor._make_wrapper_subclass(
        cls, size, strides=stride, dtype=dtype, storage_offset=storage_offset, layout=layout,
        device=device, requires_grad=requires_grad)


def _rebuild_qtensor(storage, storage_offset, size, stride, quantizer_params, requires_grad,
                     backward_hooks):
    """A quantized tensor; `quantizer_params` start with the scheme."""
    scheme = quantizer_params[0]
    if scheme == torch.per_tensor_affine:
        _, scale, zero_point = quantizer_params
        tensor = torch._empty_affine_quantized(
            size, scale=scale, zero_point=zero_point, dtype=storage.dtype,
            device=storage._untyped_storage.device)
    elif scheme in (torch.per_channel_affine, torch.per_channel_affine_float_qparams):
        _, scales, zero_points, axis = quantizer_params
        if isinstance(scales, list):
            exact = torch.double if scheme == torch.per_channel_affine else torch.float
            scales = torch.tensor(scales, dtype=exact)
            zero_points = torch.tensor(
                zero_points, dtype=torch.long if scheme == torch.per_channel_affine else exact)
        tensor = torch._empty_per_channel_affine_quantized(
            size, scales=scales, zero_points=zero_points, axis=axis, dtype=storage.dtype,
            device=storage._untyped_storage.device)
    else:
        raise RuntimeError(f"a saved tensor of the unknown quantization scheme {scheme}")
    tensor.set_(storage._untyped_storage, storage_offset, size, stride)
    tensor.requires_grad = requires_grad
    if backward_hooks:
        tensor._backward_hooks = backward_hooks
    return tensor


def _get_obj_state(obj):
    """The attributes of an object as pickle takes them: a dict, or (dict, slots)."""
    getstate = getattr(type(obj), "__getstate__", None)
    if getstate is not None and getstate is not getattr(object, "__getstate__", None):
        return obj.__getstate__()
    slots = {name: getattr(obj, name)
             for cls in type(obj).__mro__ for name in _slot_names(cls) if hasattr(obj, name)}
    return (obj.__dict__, slots) if slots else obj.__dict__


def _slot_names(cls):
    names = cls.__dict__.get("__slots__", ())
    return [names] if isinstance(names, str) else \
        [n for n in names if n not in ("__dict__", "__weakref__")]


def _set_obj_state(obj, state):
    """Sets the attributes that `_get_obj_state` gave."""
    if isinstance(state, tuple):
        if len(state) != 2:
            raise RuntimeError(f"the state of an object must be (dict, slots), got {state!r}")
        attributes, slots = state
    else:
        attributes, slots = state, None
    for group in (attributes, slots):
        for name, value in (group or {}).items():
            setattr(obj, name, value)
    return obj


def _rebuild_with_type(func, new_type, args, state):
    """A tensor of a subclass, or one with attributes, from the plain tensor func(*args)."""
    result = func(*args)
    if type(result) is not new_type:
        result = result.as_subclass(new_type)
    setter = getattr(result.__class__, "__setstate__", None)
    if setter is not None and setter is not getattr(torch.Tensor, "__setstate__", None):
        result.__setstate__(state)
    else:
        _set_obj_state(result, state)
    return result


def is_bare_wrapper(tensor):
    """Whether a tensor has a shape but no memory: one of Tensor._make_wrapper_subclass."""
    return type(tensor) is not torch.Tensor and tensor.numel() > 0 and tensor.untyped_storage().nbytes() == 0


def _tensor_reduce_ex(self, proto):
    """`Tensor.__reduce_ex__`: which function of this file builds the tensor again."""
    state = _get_obj_state(self)
    if type(self) is torch.Tensor and not state:
        return _tensor_reduce_plain(self, proto)
    func, args = _tensor_reduce_plain(self, proto)
    # A function, not a method: files name it as part of torch._tensor.
    from torch import _tensor
    return (_tensor._rebuild_from_type_v2, (func, type(self), args, state))


def _tensor_reduce_plain(self, proto):
    from torch.utils.hooks import warn_if_has_hooks
    warn_if_has_hooks(self)
    hooks = OrderedDict()
    if self.layout != torch.strided:
        return (_rebuild_sparse_tensor, (self.layout, _sparse_parts(self)))
    if self.device.type == "meta":
        return (_rebuild_meta_tensor_no_storage,
                (self.dtype, tuple(self.size()), self.stride(), self.requires_grad))
    if is_bare_wrapper(self):   # what it stands for is among its attributes
        return (_rebuild_wrapper_subclass, (type(self), self.dtype, tuple(self.size()), self.stride(), self.storage_offset(), self.layout,
                                            self.device, self.requires_grad))
    where = (self.storage_offset(), tuple(self.size()), self.stride())
    if getattr(self, "is_quantized", False):
        storage = torch.storage.TypedStorage(wrap_storage=self.untyped_storage(), dtype=self.dtype)
        if self.qscheme() == torch.per_tensor_affine:
            params = (torch.per_tensor_affine, self.q_scale(), self.q_zero_point())
        else:
            params = (self.qscheme(), self.q_per_channel_scales(),
                      self.q_per_channel_zero_points(), self.q_per_channel_axis())
        return (_rebuild_qtensor, (storage, *where, params, self.requires_grad, hooks))
    metadata = get_tensor_metadata(self)
    tail = (metadata,) if metadata else ()
    if self.dtype in torch.storage._STORAGE_NAMES:
        storage = torch.storage.TypedStorage(wrap_storage=self.untyped_storage(), dtype=self.dtype,
                                             _internal=True)
        return (_rebuild_tensor_v2, (storage, *where, self.requires_grad, hooks, *tail))
    return (_rebuild_tensor_v3, (self.untyped_storage(), *where, self.requires_grad, hooks,
                                 self.dtype, *tail))


def _sparse_parts(t):
    if t.layout == torch.sparse_coo:
        return (t._indices(), t._values(), t.size(), t.is_coalesced())
    if t.layout in (torch.sparse_csr, torch.sparse_bsr):
        return (t.crow_indices(), t.col_indices(), t.values(), t.size())
    return (t.ccol_indices(), t.row_indices(), t.values(), t.size())


def _import_dotted_name(name):
    """The object of a dotted name, its first part a module."""
    first, *rest = name.split(".")
    obj = __import__(first)
    for part in rest:
        obj = getattr(obj, part)
    return obj


def _element_size(dtype):
    """Bytes of one element of the dtype."""
    if not isinstance(dtype, torch.dtype):
        raise RuntimeError(f"dtype must be a torch.dtype, got {type(dtype).__name__}")
    return dtype.itemsize


def _flatten_dense_tensors(tensors):
    """One 1-d tensor of all elements, tensor after tensor; their dtype must be the same."""
    return torch.cat([t.contiguous().view(-1) for t in tensors], 0)


def _unflatten_dense_tensors(flat, tensors):
    """Views of `flat` in the shapes of the tensors."""
    out, at = [], 0
    for t in tensors:
        out.append(flat.narrow(0, at, t.numel()).view_as(t))
        at += t.numel()
    return tuple(out)


def _take_tensors(tensors, size_limit):
    """Groups of tensors of one type with about `size_limit` bytes each."""
    open_groups = defaultdict(lambda: [[], 0])
    for t in tensors:
        group = open_groups[t.type()]
        size = t.numel() * t.element_size()
        if group[1] + size > size_limit and group[1] > 0:
            yield group[0]
            group = open_groups[t.type()] = [[], 0]
        group[0].append(t)
        group[1] += size
    for group, _ in open_groups.values():
        if group:
            yield group


def _reorder_tensors_as(tensors, ordered_tensors):
    """The tensors, grouped by type, in the order in which the types come in the second list."""
    by_type = defaultdict(list)
    for t in tensors:
        by_type[t.type()].append(t)
    queues = {kind: iter(group) for kind, group in by_type.items()}
    return tuple(next(queues[t.type()]) for t in ordered_tensors)


class KeyErrorMessage(str):
    """Text of a KeyError, which would print it quoted with \\n for line ends."""

    def __repr__(self):
        return self


class ExceptionWrapper:
    """An exception on its way to another process or thread: its type and its traceback as text."""

    def __init__(self, exc_info=None, where="in background"):
        if exc_info is None:
            import sys
            exc_info = sys.exc_info()
        self.exc_type = exc_info[0]
        self.exc_msg = "".join(traceback.format_exception(*exc_info))
        self.where = where

    def reraise(self):
        """Raises an exception of the same type that tells where and how it came about."""
        msg = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:
            msg = KeyErrorMessage(msg)
        elif getattr(self.exc_type, "message", None):
            raise self.exc_type(message=msg)
        try:
            exception = self.exc_type(msg)
        except Exception:
            # The type cannot be made of a text alone.
            raise RuntimeError(msg) from None
        raise exception


class classproperty:
    """A property of the class itself."""

    def __init__(self, func):
        self.func = func

    def __get__(self, instance, owner):
        return self.func(owner)


def is_compiling():
    return torch.compiler.is_compiling()


def _get_device_index(device, optional=False, allow_cpu=False):
    """The index of a device given as int, str or torch.device; -1 for an allowed cpu."""
    if isinstance(device, str):
        device = torch.device(device)
    if isinstance(device, torch.device):
        if device.type == "cpu":
            if allow_cpu:
                return -1
            raise ValueError(f"device must not be a cpu device, got {device}")
        index = device.index
    else:
        index = device
    if index is None:
        if optional:
            return 0
        raise ValueError(f"device must have an index, got {device!r}")
    return index
