"""torch.Tensor: the C++ tensor with the methods that are Python's to give."""
import torch._dispatch_state  # noqa: F401 - installs _DisableTorchDispatch in _C
import torch._torch_function  # noqa: F401 - installs DisableTorchFunctionSubclass in _C
from torch import _C, _absent
from torch._torch_function import DisableTorchFunctionSubclass

_getters = None


def _default_torch_function(cls, func, types, args, kwargs):
    """Runs func with dispatch off; plain tensors among the results become instances of cls."""
    if not all(issubclass(cls, t) for t in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        result = func(*args, **(kwargs or {}))
        if cls is Tensor or func in _keeps_plain():
            return result
        return _convert(result, cls)


def _keeps_plain():
    global _getters
    if _getters is None:
        from torch.overrides import get_default_nowrap_functions
        _getters = get_default_nowrap_functions()
    return _getters


def _convert(result, cls):
    if isinstance(result, Tensor) and not isinstance(result, cls):
        return result.as_subclass(cls)
    if isinstance(result, (tuple, list)) and not isinstance(result, torch.Size):
        items = (_convert(r, cls) for r in result)
        if type(result) in (tuple, list):
            return type(result)(items)
        return type(result)(list(items)) if hasattr(result, "n_fields") else type(result)(*items)
    return result


def _legacy_new(cls, *args, device=None, dtype=None):
    """torch.Tensor(2, 3), Tensor([1, 2]), Tensor(other): a tensor of the default floating type."""
    if torch._torch_function._modes:   # which see no part of it
        with _C.DisableTorchFunction():
            return _legacy_new(cls, *args, device=device, dtype=dtype)
    if not args:
        t = torch.empty(0, device=device or "cpu")  # the default device is not asked
    elif len(args) == 1 and isinstance(args[0], Tensor):
        t = args[0].detach()
    elif len(args) == 1 and not isinstance(args[0], (int, torch.Size)) or isinstance(args[0], bool):
        if isinstance(args[0], (str, bytes, dict, float)) or args[0] is None:
            raise TypeError(f"new(): data must be a sequence (got {type(args[0]).__name__})")
        t = torch.tensor(args[0], dtype=torch.get_default_dtype(), device=device or "cpu")
    else:
        size = args[0] if isinstance(args[0], torch.Size) else args
        t = torch.empty(tuple(size), device=device or "cpu")
    return t if cls is Tensor else t.as_subclass(cls)


def _handled(method):
    """Lets subclasses and modes see a method written in Python."""
    def call(self, *args, **kwargs):
        if _C._has_torch_function_each(self, *args):
            return torch._torch_function.dispatch(call, (self, *args), kwargs)
        return method(self, *args, **kwargs)
    call.__name__, call.__qualname__, call.__doc__ = method.__name__, method.__qualname__, method.__doc__
    return call


class Tensor(_C.TensorBase):
    __module__ = "torch"

    def __repr__(self, *, tensor_contents=None):
        if _C._has_torch_function_each(self):
            return torch._torch_function.dispatch(Tensor.__repr__, (self,), {"tensor_contents": tensor_contents})
        from torch._tensor_str import _str
        return _str(self, tensor_contents=tensor_contents)

    @_handled
    def __format__(self, spec):
        if self.dim() == 0 and not self.is_meta and type(self) is Tensor:
            return self.item().__format__(spec)
        return object.__format__(self, spec)

    @_handled
    def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
        """Computes the gradients of the leaves (or of `inputs`) and adds them to their .grad.

        `gradient`: of this tensor's shape; may be left out for one element. RuntimeError where nothing requires grad.
        """
        torch.autograd.backward(self, gradient, retain_graph, create_graph, inputs=inputs)

    @_handled
    def register_hook(self, hook):
        """hook(grad) is called when the gradient of this tensor is known; a returned tensor replaces it."""
        return self._register_hook(hook)

    @_handled
    def register_post_accumulate_grad_hook(self, hook):
        """hook(tensor) is called after .grad of this leaf was added to."""
        return self._register_post_accumulate_grad_hook(hook)

    def __reduce_ex__(self, protocol):
        from torch._utils import _tensor_reduce_ex
        return _tensor_reduce_ex(self, protocol)

    def __deepcopy__(self, memo):
        if _C._has_torch_function_each(self):
            return torch._torch_function.dispatch(Tensor.__deepcopy__, (self, memo), {})
        if id(self) in memo:
            return memo[id(self)]
        if not self.is_leaf:
            raise RuntimeError("only tensors created by the user (graph leaves) support deepcopy; this one was made by "
                               f"{self.grad_fn.name()}. Use detach().clone()")
        import copy
        from torch._utils import is_bare_wrapper
        if is_bare_wrapper(self):
            with torch.no_grad():
                new = self.clone()
            if type(new) is not type(self):
                raise RuntimeError(f"deepcopy of a {type(self).__name__}, which has no memory of its own: clone() of it gives a {type(new).__name__}; it must "
                                   f"give a {type(self).__name__}, or the class needs a __deepcopy__")
            if self.requires_grad:
                new.requires_grad_()
            if self.grad is not None:
                new.grad = copy.deepcopy(self.grad, memo)
            memo[id(self)] = new
            new.__dict__.update(copy.deepcopy(self.__dict__, memo))
            return new
        with torch.no_grad():
            storage_memo = memo.setdefault("torch_storages", {})
            storage = self.untyped_storage()
            key = storage.data_ptr() or storage._cdata
            copied = storage_memo.get(key)
            if copied is None:
                copied = storage_memo[key] = storage.clone()
            new = _C._tensor_over(copied, self.dtype, self.storage_offset(), self.size(), self.stride())
            if self.is_conj():
                new = new.conj()
            if self.is_neg():
                new = torch._neg_view(new)
            if type(self) is not Tensor:
                new = new.as_subclass(type(self))
            if self.requires_grad:
                new.requires_grad_()
            if self.grad is not None:
                new.grad = copy.deepcopy(self.grad, memo)
        memo[id(self)] = new
        if self.__dict__:
            new.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return new

    def __iter__(self):
        if self.dim() == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    @_handled
    def __reversed__(self):
        """The tensor with its first dimension turned round; itself where it has none."""
        return self.flip(0) if self.dim() else self

    @_handled
    def __contains__(self, element):
        if isinstance(element, (Tensor, int, float, complex, bool)):
            return bool((self == element).any().item())
        raise RuntimeError(f"a tensor can contain numbers and tensors, not {type(element).__name__}")

    def __dir__(self):
        return sorted(set(object.__dir__(self)))

    @_handled
    def __array__(self, dtype=None, copy=None):
        a = self.numpy()
        return a if dtype is None else a.astype(dtype, copy=False)

    @_handled
    def __array_wrap__(self, array, context=None, return_scalar=False):
        if array.dtype == bool:
            array = array.astype("uint8")
        return torch.from_numpy(array)
    __array_priority__ = 1000

    @property
    def __cuda_array_interface__(self):
        raise AttributeError(f"only tensors on a GPU have __cuda_array_interface__; this one is on {self.device}")

    @_handled
    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if dl_device is not None and tuple(dl_device) != (1, 0):
            raise BufferError(f"a tensor on the cpu cannot be exported to the device {dl_device}")
        if self.requires_grad:
            raise BufferError("a tensor that requires grad cannot be exported; use detach()")
        if self.is_conj():
            raise BufferError("a lazily conjugated tensor cannot be exported; use resolve_conj()")
        return _C._to_dlpack(self.clone() if copy else self, max_version is not None and max_version[0] >= 1)

    @_handled
    def __dlpack_device__(self):
        return (1, 0)

    @_handled
    def __setstate__(self, state):
        if len(state) == 4:
            self.set_(*state)
        elif len(state) == 5:
            self.data = state[0]
            self.requires_grad = state[3]

    # ---- conversions ----
    @_handled
    def to(self, *args, **kwargs):
        """to(dtype | device | other, non_blocking=False, copy=False, memory_format=None) -> Tensor.

        self where nothing changes and copy is False, else a converted copy; gradients flow through it.
        """
        dtype = kwargs.pop("dtype", None)
        device = kwargs.pop("device", None)
        other = kwargs.pop("other", None)
        rest = list(args)
        if rest:
            first = rest.pop(0)
            if isinstance(first, Tensor):
                other = first
            elif isinstance(first, torch.dtype) or first in (float, int, bool, complex):
                dtype = first
            elif first is None or isinstance(first, (str, torch.device, int)):
                device = first
                if rest and (isinstance(rest[0], torch.dtype) or rest[0] is None):
                    dtype = rest.pop(0) or dtype
            else:
                raise TypeError(f"to(): the first argument must be a dtype, a device or a Tensor, not {type(first).__name__}")
        names = ("non_blocking", "copy")
        for name, value in zip(names, rest):
            kwargs[name] = value
        if other is not None:
            dtype, device = other.dtype, other.device
        copy = kwargs.pop("copy", False)
        non_blocking = kwargs.pop("non_blocking", False)
        fmt = kwargs.pop("memory_format", None)
        kwargs.pop("pin_memory", None)
        kwargs.pop("layout", None)
        if kwargs:
            raise TypeError(f"to() got an unexpected keyword argument {next(iter(kwargs))!r}")
        if isinstance(dtype, type):
            dtype = {float: torch.float64, int: torch.int64, bool: torch.bool, complex: torch.complex128}[dtype]
        if device is not None:
            device = torch.device(device)
            if device.type == "cpu":
                device = torch.device("cpu")
        if fmt is not None and fmt is not torch.preserve_format:
            return _to_format(self, dtype=dtype, device=device, non_blocking=non_blocking, copy=copy, memory_format=fmt)
        if (dtype is None or dtype is self.dtype) and (device is None or device == self.device) and not copy:
            return self
        return _to_copy(self, dtype=dtype, device=device, non_blocking=non_blocking, memory_format=fmt)

    @_handled
    def type(self, dtype=None, non_blocking=False, **kwargs):
        """The type's name, e.g. 'torch.FloatTensor'; or self converted to dtype."""
        from torch._legacy_types import name_of, dtype_of
        if dtype is None:
            return name_of(self)
        return self.to(dtype_of(dtype))

    @_handled
    def type_as(self, other):
        """self in the type of other."""
        return self.to(other.dtype)

    @_handled
    def cpu(self, memory_format=None):
        """self on the CPU."""
        return self.to("cpu") if memory_format is None else self.to("cpu", memory_format=memory_format)

    @_handled
    def cuda(self, device=None, non_blocking=False, memory_format=None):
        """self on a GPU; RuntimeError where there is none."""
        return self.to("cuda" if device is None else device)

    # ---- names and shapes ----
    @property
    def names(self):
        return (None,) * self.dim()

    def __len__(self):
        if _C._has_torch_function_each(self):
            return torch._torch_function.dispatch(Tensor.__len__, (self,), {})
        if self.dim() == 0:
            raise TypeError("len() of a 0-d tensor")
        return self.shape[0]

    @_handled
    def dim_order(self, *, ambiguity_check=False):
        """Dimensions from the slowest to the fastest in memory; those that take no memory (stride 0) keep their place.

        ambiguity_check: True raises RuntimeError where sizes of 1 or equal strides leave several orders; a list of memory formats
        does so unless the tensor is laid out in exactly one format, and that is in the list. TypeError for anything else.
        """
        formats = {torch.contiguous_format: range(self.dim()), torch.channels_last: (0, 2, 3, 1), torch.channels_last_3d: (0, 2, 3, 4, 1),
                   torch.preserve_format: None}  # as contiguous_format
        if not isinstance(ambiguity_check, bool) and not (isinstance(ambiguity_check, list) and all(
                isinstance(f, torch.memory_format) and f in formats for f in ambiguity_check)):
            raise TypeError(f"dim_order: ambiguity_check is a bool or a list of memory formats, got {ambiguity_check!r}")
        strides = self.stride()
        moved = [d for d in range(self.dim()) if strides[d]]
        ordered = iter(sorted(moved, key=lambda d: (-strides[d], self.shape[d] == 1)))
        order = tuple(next(ordered) if s else d for d, s in enumerate(strides))
        if ambiguity_check is False or (1 not in self.shape and 0 not in strides and len(set(strides)) == len(strides)):
            return order
        laid = [f for f, n in ((torch.contiguous_format, self.dim()), (torch.channels_last, 4), (torch.channels_last_3d, 5))
                if self.dim() == n and self.is_contiguous(memory_format=f)]
        asked = set(ambiguity_check or ()) if ambiguity_check is not True else set()
        if torch.preserve_format in asked:
            asked.add(torch.contiguous_format)
        if len(laid) == 1 and laid[0] in asked:
            return tuple(formats[laid[0]])
        raise RuntimeError(f"dim_order: a tensor of shape {tuple(self.shape)} and strides {strides} has several orders of dimensions, with "
                           f"ambiguity_check={ambiguity_check!r}")

    @_handled
    def new(self, *args, **kwargs):
        """An uninitialised tensor, or one of given data, in this one's type."""
        return _legacy_new(Tensor, *args, device=self.device).to(self.dtype) if args else torch.empty(0, dtype=self.dtype, device=self.device)

    @_handled
    def new_tensor(self, data, *, dtype=None, device=None, requires_grad=False, **kwargs):
        """A new tensor that holds a copy of data, by default in this one's type and on its device."""
        if isinstance(data, Tensor):
            return data.detach().clone().to(dtype or self.dtype).requires_grad_(requires_grad)
        return torch.tensor(data, dtype=dtype or self.dtype, device=device or self.device, requires_grad=requires_grad)

    @_handled
    def storage(self):
        """The typed storage (deprecated in favour of untyped_storage())."""
        from torch.storage import TypedStorage
        return TypedStorage(wrap_storage=self.untyped_storage(), dtype=self.dtype, _internal=True)

    def _typed_storage(self):
        return self.storage()

    @_handled
    def storage_type(self):
        return type(self.storage())

    @_handled
    def is_shared(self):
        """Whether other processes can see the bytes."""
        return self.untyped_storage().is_shared()

    @_handled
    def share_memory_(self):
        """Moves the bytes to memory that other processes can see; self stays the same object."""
        from torch.multiprocessing._shared_memory import share_tensor
        return share_tensor(self)

    @_handled
    def pin_memory(self, device=None):
        """Page-locked memory for a GPU; without one RuntimeError."""
        raise RuntimeError("pin_memory() needs a GPU, and none is there")

    def reinforce(self, reward):
        raise RuntimeError("reinforce() was removed; use torch.distributions")

    def eig(self, *args, **kwargs):
        raise RuntimeError("eig() was removed; use torch.linalg.eig")

    # ---- methods over torch.functional ----
    @_handled
    def split(self, split_size, dim=0):
        """Views of split_size (an int, or a list of sizes) along dim."""
        return torch.functional.split(self, split_size, dim)

    @_handled
    def nonzero(self, *, as_tuple=False):
        """See torch.nonzero."""
        return torch.functional.nonzero(self, as_tuple=as_tuple)

    @_handled
    def norm(self, p="fro", dim=None, keepdim=False, dtype=None):
        """See torch.norm."""
        return torch.functional.norm(self, p, dim, keepdim, dtype=dtype)

    def unique(self, sorted=True, return_inverse=False, return_counts=False, dim=None):
        """See torch.unique."""
        return torch.functional.unique(self, sorted, return_inverse, return_counts, dim)

    def unique_consecutive(self, return_inverse=False, return_counts=False, dim=None):
        """See torch.unique_consecutive."""
        return torch.functional.unique_consecutive(self, return_inverse, return_counts, dim)

    def unflatten(self, dim, sizes):
        """Splits dimension dim into the given sizes, one of which may be -1."""
        return _unflatten(self, dim, tuple(sizes) if isinstance(sizes, (list, tuple)) else (sizes,))

    def tensor_split(self, indices_or_sections, dim=0):
        """See torch.tensor_split."""
        return torch.tensor_split(self, indices_or_sections, dim)

    def __rsub__(self, other):
        return torch.rsub(self, other)

    def __rdiv__(self, other):
        return self.reciprocal() * other
    __rtruediv__ = __rdiv__

    def __rpow__(self, other):
        return torch.pow(other, self)

    def __rfloordiv__(self, other):
        return torch.floor_divide(other, self)

    def __rmod__(self, other):
        return torch.remainder(other, self)

    def __rmatmul__(self, other):
        return torch.matmul(other, self)

    def __rlshift__(self, other):
        return torch.bitwise_left_shift(other, self)

    def __rrshift__(self, other):
        return torch.bitwise_right_shift(other, self)


import torch  # noqa: E402

_to_copy, _to_format = _C._op("_to_copy", None), _C._op("to", "dtype_layout")
_unflatten = _C._op("unflatten", None)


def _conversion(name, dtype):
    def convert(self, memory_format=None):
        return self.to(dtype) if memory_format is None else self.to(dtype, memory_format=memory_format)
    convert.__name__ = name
    convert.__qualname__ = f"Tensor.{name}"
    convert.__doc__ = f"self as {dtype}."
    return convert


for _name, _dtype in (("float", _C.float32), ("double", _C.float64), ("half", _C.float16), ("bfloat16", _C.bfloat16), ("long", _C.int64),
                      ("int", _C.int32), ("short", _C.int16), ("char", _C.int8), ("byte", _C.uint8), ("bool", _C.bool),
                      ("cfloat", _C.complex64), ("cdouble", _C.complex128), ("chalf", _C.complex32)):
    setattr(Tensor, _name, _conversion(_name, _dtype))
_set_source = getattr(_C.TensorBase, "set_", None)


def _set_(self, source=None, storage_offset=0, size=None, stride=None):
    """set_(source=None, storage_offset=0, size=None, stride=None) -> self, over another's bytes.

    `source`: a tensor, or a storage with an offset, size and strides (contiguous by default) in elements of self's type.
    """
    if source is None or isinstance(source, Tensor) and size is None:
        return _set_source(self, torch.empty(0, dtype=self.dtype, device=self.device) if source is None else source)
    untyped = source.untyped_storage() if isinstance(source, Tensor) else getattr(source, "_untyped_storage", source)
    if size is None:
        size = ((untyped.nbytes() // self.element_size()) - storage_offset,)
    if isinstance(size, int):
        size = (size,)
    if not stride:
        stride, step = [], 1
        for n in reversed(size):
            stride.insert(0, step)
            step *= max(n, 1)
    return _set_source(self, _C._tensor_over(untyped, self.dtype, storage_offset, tuple(size), tuple(stride)))


_set_.__name__, _set_.__qualname__ = "set_", "Tensor.set_"
Tensor.set_ = _handled(_set_)


def _rebuild_from_type_v2(func, new_type, args, state):
    """A tensor of a subclass, or one with attributes: files name it as part of this module."""
    from torch._utils import _rebuild_with_type
    return _rebuild_with_type(func, new_type, args, state)


# A subclass that defines no hash of its own keeps identity, although == compares elements.
Tensor.__hash__ = _C.TensorBase.__hash__
_absent.mark_methods(Tensor)
