"""Tensors without elements: shapes, strides, types, devices, views and histories are those a real run would give.

`FakeTensorMode().from_tensor(t)` makes one of a real tensor; within `with FakeTensorMode():` every factory makes one,
for any device, there or not. Operators on them run their shape rules alone. What depends on elements raises:
DataDependentOutputException for a number, DynamicOutputShapeException for a shape.
"""
import contextlib
import operator
import weakref

import torch
from torch import _C
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

__all__ = ["FakeTensor", "FakeTensorMode", "FakeTensorConverter", "DataDependentOutputException",
           "DynamicOutputShapeException", "UnsupportedFakeTensorException", "UnsupportedOperatorException",
           "FakeTensorDeviceMismatchError", "is_fake", "unset_fake_temporarily", "maybe_get_fake_mode"]

aten = torch.ops.aten


class UnsupportedFakeTensorException(RuntimeError):
    """A tensor that has no fake counterpart."""


class _OfOperator(RuntimeError):
    def __init__(self, func):
        super().__init__(str(func))
        self.func = func


class DataDependentOutputException(_OfOperator):
    """A number was asked for that depends on the elements of a fake tensor."""


class DynamicOutputShapeException(_OfOperator):
    """The shape of a result depends on the elements of a fake tensor."""


class UnsupportedOperatorException(_OfOperator):
    """An operator without a shape rule."""


class MetadataMismatchError(RuntimeError):
    """A fake implementation says something else of a result than what the operator gives."""


class FakeTensorDeviceMismatchError(RuntimeError):
    """Arguments on different devices."""


def _normal_device(device):
    """With the index that a device without one stands for."""
    device = torch.device(device)
    if device.type in ("cuda", "xpu", "hpu", "mps") and device.index is None:
        return torch.device(device.type, 0)
    return device


class FakeTensor(torch.Tensor):
    """A tensor without elements.

    Args:
        fake_mode (FakeTensorMode): the mode it belongs to.
        elem (Tensor): its shape, on the meta device.
        device: where it claims to be.
        constant (Tensor): its elements, where they are known (a tensor made of Python's data and not written since).
    """

    _mode_key = _C._TorchDispatchModeKey.FAKE
    _sym = None  # (sizes, strides, offset) as expressions, where they hold symbols (torch/_subclasses/symbolic.py)
    _first = None  # the same as they were made of a real tensor, whatever guards have said of the symbols since

    def __new__(cls, fake_mode, elem, device, constant=None):
        if elem.device.type != "meta":
            raise AssertionError(f"FakeTensor: elem must be on the meta device, it is on {elem.device}")
        self = _C._wrap_over(cls, elem, _normal_device(device))
        self.fake_mode, self.constant = fake_mode, None
        if constant is not None:
            fake_mode._know(self, constant)
        if elem.requires_grad:
            self.requires_grad_(True)
        return self

    def __init__(self, *args, **kwargs):
        pass

    @staticmethod
    def from_tensor(t, fake_mode):
        return fake_mode.from_tensor(t)

    @property
    def fake_device(self):
        return self.device

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        mode = None
        for x in pytree.arg_tree_leaves(*args, **(kwargs or {})):
            if isinstance(x, FakeTensor):
                if mode is not None and x.fake_mode is not mode:
                    raise AssertionError(f"{func}: fake tensors of two modes were mixed, {mode} and {x.fake_mode}")
                mode = x.fake_mode
        if any(not issubclass(t, FakeTensor) and t is not torch.Tensor for t in types):
            return NotImplemented
        with mode:
            return func(*args, **(kwargs or {}))

    __torch_function__ = _C._disabled_torch_function_impl

    # ---- sizes, which may be symbolic ----
    def _shown(self, expressions):
        from torch._subclasses.symbolic import shown
        return [shown(self.fake_mode.shape_env, e) for e in expressions]

    def _take_codes(self):
        from torch._subclasses.symbolic import take_codes
        take_codes(self)

    @property
    def shape(self):
        return self.size()

    def size(self, dim=None):
        g = self._sym
        if g is None:
            return super().size(dim)
        sizes = torch.Size(self._shown(g[0]))
        return sizes if dim is None else sizes[dim]

    def stride(self, dim=None):
        g = self._sym
        if g is None:
            return super().stride(dim)
        strides = tuple(self._shown(g[1]))
        return strides if dim is None else strides[dim]

    def storage_offset(self):
        g = self._sym
        return super().storage_offset() if g is None else self._shown(g[2:])[0]

    def numel(self):
        g = self._sym
        if g is None:
            return super().numel()
        n = 1
        for s in self.size():
            n = n * s
        return n

    nelement = numel

    @property
    def nbytes(self):
        return self.numel() * self.element_size()

    def __len__(self):
        return int(self.shape[0]) if self.dim() else super().__len__()

    def __iter__(self):
        return super().__iter__() if self._sym is None else iter(self.unbind(0))

    # A number of a tensor may be a symbol without example, of which nothing is known.
    def __bool__(self):
        return bool(self.item())

    def __index__(self):
        return operator.index(self.item())

    def __int__(self):
        return int(self.item())

    def __float__(self):
        return float(self.item())

    def tolist(self):
        if self.dim() == 0:
            return self.item()
        return [x.tolist() for x in self.unbind(0)]

    def __deepcopy__(self, memo):
        if id(self) in memo:
            return memo[id(self)]
        with torch.no_grad():
            result = self.detach().clone(memory_format=torch.preserve_format)
        result.requires_grad_(self.requires_grad and self.is_leaf)
        if getattr(self, "_is_param", False):
            result._is_param = True
        memo[id(self)] = result
        return result

    def __repr__(self, *, tensor_contents=None):
        text = "FakeTensor(..., "
        if self.device.type != "cpu":
            text += f"device='{self.device}', "
        text += f"size={_shape_text(self)}"
        if self.dtype not in (torch.get_default_dtype(), torch.complex64, torch.bool) or (
                self.dtype is torch.complex64 and torch.get_default_dtype() is not torch.float32):
            text += f", dtype={self.dtype}"
        elif self.dtype is torch.bool:
            text += ", dtype=torch.bool"
        if self.grad_fn is not None:
            text += f", grad_fn=<{self.grad_fn.name()}>"
        elif self.requires_grad:
            text += ", requires_grad=True"
        text += ")"
        return f"Parameter({text})" if getattr(self, "_is_param", False) else text

    __str__ = __repr__


def _shape_text(t):
    return "(" + ", ".join(str(s) for s in t.shape) + ("," if t.dim() == 1 else "") + ")"


def _dropping(table, key, users):
    """A callback of weak references: the entry (users, ...) of `table` goes with the last of its users."""
    def drop(_):
        if not any(u() is not None for u in users) and table.get(key, (None,))[0] is users:
            del table[key]
    return drop


class FakeTensorConverter:
    """Fake counterparts of real tensors: the same for the same tensor, and over one storage for views of one.

    Real tensors are not kept alive. Counterparts share a storage as long as one of the tensors that were seen on the real
    one lives, or its base.
    """

    def __init__(self):
        self._tensors, self._storages, self._count = {}, {}, 0

    def _storage_for(self, t):
        storage = t.untyped_storage()
        key = storage._cdata
        users, meta = self._storages.get(key, ([], None))
        # An address is its storage's own while one of its tensors lives.
        users[:] = [u for u in users if u() is not None and u().untyped_storage()._cdata == key]
        if not users:
            meta = torch.empty(storage.nbytes(), dtype=torch.uint8, device="meta")
            self._storages[key] = (users, meta)
        for x in (t, t._base):
            if x is not None and not any(u() is x for u in users):
                users.append(weakref.ref(x, _dropping(self._storages, key, users)))
        return meta.untyped_storage()

    def from_real_tensor(self, mode, t, symbolic=False, source=None, context=None):
        known = self._tensors.get(id(t))
        if known is not None and known[0]() is t:
            return known[1]
        if t.layout is not torch.strided:
            raise UnsupportedFakeTensorException(f"tensors of layout {t.layout} have no fake counterpart")
        with torch.utils._python_dispatch._disable_current_modes(), torch.enable_grad():
            if t._is_view() and t._base is not None and t.requires_grad and not t.is_leaf:
                base = self.from_real_tensor(mode, t._base)
                fake = base.as_strided(t.size(), t.stride(), t.storage_offset())
            else:
                fake = None
                if symbolic:
                    from torch._subclasses.symbolic import from_real
                    self._count += source is None
                    fake = from_real(mode, t, source if source is not None else f"_tensor{self._count}", context)
                with torch.no_grad():
                    if fake is None:
                        if _C._functorch.is_functorch_wrapped_tensor(t):   # what one example sees has no memory of its own
                            meta = torch.empty_strided(t.size(), t.stride(), dtype=t.dtype, device="meta")
                        else:
                            meta = torch.empty(0, dtype=t.dtype, device="meta")
                            meta.set_(self._storage_for(t), t.storage_offset(), t.size(), t.stride())
                        meta = torch._conj(meta) if t.is_conj() else meta
                        meta = torch._neg_view(meta) if t.is_neg() else meta
                        fake = FakeTensor(mode, meta, t.device)
                if t.requires_grad:
                    fake.requires_grad_(True)
                    if not t.is_leaf:
                        fake = fake.clone()
            if t.is_leaf and t.grad is not None:
                fake.grad = self.from_real_tensor(mode, t.grad, symbolic, f"{source or f'_tensor{self._count}'}.grad", context)
        if isinstance(t, torch.nn.Parameter):
            fake._is_param = True
        key, tensors = id(t), self._tensors
        tensors[key] = (weakref.ref(t, lambda _: tensors.pop(key, None)), fake)
        return fake


def _without_shape_rule(func, error):
    """What to raise where a shape rule asked for an operator without one; its error names that operator."""
    import re
    found = re.match(r"operator (\w+)(?:\.(\w+))? has no kernel for device meta", str(error))
    if found is None:
        return error
    inner = getattr(getattr(aten, found[1]), found[2] or "default")
    if torch.Tag.data_dependent_output in inner.tags:
        return DataDependentOutputException(inner)
    if torch.Tag.dynamic_output_shape in inner.tags:
        return DynamicOutputShapeException(inner)
    return UnsupportedOperatorException(inner)


def _asks_for_number(error):
    """Whether an operator failed because it asks for an element."""
    return str(error).startswith("item: a meta tensor")


# The argument that names the device of a result.
_DEVICE = "device"


class FakeTensorMode(TorchDispatchMode):
    """Within it, and on its tensors, operators run their shape rules alone.

    Args:
        allow_fallback_kernels (bool): where an operator has a kernel but no shape rule, the kernel is run on zeros and on
            1, 2, 3 ... to see the shape; DynamicOutputShapeException where these differ, or where this is False.
        allow_non_fake_inputs (bool): real tensors among the arguments become fake; AssertionError otherwise.
        shape_env (torch.fx.experimental.symbolic_shapes.ShapeEnv): `from_tensor` gives symbols for sizes, and operators expressions.
        static_shapes (bool): sizes are numbers, also with a shape_env.
    """

    _mode_key = _C._TorchDispatchModeKey.FAKE

    def __init__(self, *, allow_fallback_kernels=True, allow_non_fake_inputs=False, shape_env=None, static_shapes=None, export=False):
        super().__init__()
        self.allow_fallback_kernels, self.allow_non_fake_inputs = allow_fallback_kernels, allow_non_fake_inputs
        self.shape_env, self.export = shape_env, export
        self.static_shapes = shape_env is None if static_shapes is None else static_shapes
        self.fake_tensor_converter = FakeTensorConverter()
        self._entered = []
        self._known = {}  # storage -> ([weak references to the tensors on it whose elements are known],)

    def __enter__(self):
        active = _C._get_dispatch_mode(self._mode_key)
        if active is self:
            self._entered.append((False, None))
            return self
        if active is not None:
            _C._pop_torch_dispatch_stack(self._mode_key)
        _C._push_on_torch_dispatch_stack(self)
        self._entered.append((True, active))
        return self

    def __exit__(self, *exc):
        pushed, before = self._entered.pop()
        if pushed:
            _C._pop_torch_dispatch_stack(self._mode_key)
            if before is not None:
                _C._push_on_torch_dispatch_stack(before)

    def from_tensor(self, tensor, *, static_shapes=None, source=None, symbolic_context=None, trace=True):
        """The fake counterpart of a real tensor: same shape, strides, type, device and place in autograd's graph.

        The same object for the same tensor; a fake tensor is its own. With a ShapeEnv, sizes are symbols, named after `source`
        and as `symbolic_context` says.
        """
        if isinstance(tensor, FakeTensor):
            if tensor.fake_mode is not self:
                raise AssertionError("from_tensor: the fake tensor belongs to another mode")
            return tensor
        static = self.static_shapes if static_shapes is None else static_shapes
        if static and symbolic_context is not None and static_shapes:
            raise AssertionError("from_tensor: static_shapes=True and a symbolic_context were given")
        symbolic = self.shape_env is not None and not static
        return self.fake_tensor_converter.from_real_tensor(self, tensor, symbolic, source, symbolic_context)

    def _know(self, fake, elements):
        """From now on the elements of `fake` are known; until something unknown is written to its storage, through any tensor."""
        fake.constant = elements
        key = fake.untyped_storage()._cdata
        users = self._known.setdefault(key, ([],))[0]
        users[:] = [u for u in users if u() is not None]
        users.append(weakref.ref(fake, _dropping(self._known, key, users)))

    def _forget(self, fake):
        """Something unknown is written to `fake`: what was known of its storage is no more."""
        for known in self._known.pop(fake.untyped_storage()._cdata, ([],))[0]:
            if known() is not None:
                known().constant = None

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return self.dispatch(func, types, args, kwargs or {})

    def dispatch(self, func, types, args=(), kwargs=None):
        leaves, spec = pytree.tree_flatten((args, kwargs))
        if func is aten.lift_fresh.default or func is aten.lift.default:
            return self._lifted(args[0])
        if func is aten._local_scalar_dense.default or func is aten.item.default:
            known = getattr(args[0], "constant", None)
            if known is not None:
                with torch.utils._python_dispatch._disable_current_modes():
                    return known.item()
            env = self.shape_env
            if env is not None and env.allow_scalar_outputs:
                from torch._subclasses import symbolic
                if symbolic.may_give_number(args[0]):
                    return symbolic.item(self, args[0])
            raise DataDependentOutputException(func)
        leaves = [self._checked(x, func, args, kwargs) for x in leaves]
        fakes = [x for x in leaves if isinstance(x, FakeTensor)]
        args, kwargs = pytree.tree_unflatten(leaves, spec)
        written = [x for _, x in self._written(func, args, kwargs)]
        from torch.library import fake_impl_of
        rule = fake_impl_of(func)
        if rule is not None:
            from torch._library import fake_impl
            for x in written:
                self._forget(x)
            with self, fake_impl.running(func, self.shape_env):
                return rule(*args, **kwargs)
        from torch._subclasses.shape_rules import BY_ELEMENTS
        if func in BY_ELEMENTS:
            with self:
                result = BY_ELEMENTS[func](*args, **kwargs)
            if result is not NotImplemented:
                for x in written:
                    self._forget(x)
                return result
        if torch.Tag.data_dependent_output in func.tags:
            raise DataDependentOutputException(func)
        if self.shape_env is not None:
            from torch._subclasses import symbolic
            if self.shape_env.allow_dynamic_output_shape_ops and func in symbolic.UNKNOWN_SIZES:
                with self:
                    return symbolic.UNKNOWN_SIZES[func](self, *args, **kwargs)
        if torch.Tag.dynamic_output_shape in func.tags:
            raise DynamicOutputShapeException(func)
        device = self._device(func, fakes, kwargs)
        if self.shape_env is not None and any(symbolic.is_symbolic(x) for x in leaves):
            try:
                return symbolic.dispatch(self, func, leaves, spec, device)
            except RuntimeError as error:
                if _asks_for_number(error):
                    raise DataDependentOutputException(func) from None
                raise
        if func._shape_by_kernel:
            return self._by_trial(func, leaves, spec, device)
        metas = {}

        def meta(x):
            if isinstance(x, FakeTensor):
                found = metas.get(id(x))
                if found is None:
                    found = metas[id(x)] = (_C._meta_alias(x), x)
                return found[0]
            if isinstance(x, torch.device):
                return torch.device("meta")
            return x

        run_args, run_kwargs = pytree.tree_unflatten([meta(x) for x in leaves], spec)
        if not fakes and _DEVICE not in run_kwargs and any(a.name == _DEVICE for a in func._schema.arguments):
            run_kwargs[_DEVICE] = torch.device("meta")
        try:
            result = func(*run_args, **run_kwargs)
        except NotImplementedError as error:
            # A kernel that only writes to its arguments changes no shape.
            if func._schema.is_mutable and all(r.alias_info is not None and r.alias_info.is_write for r in func._schema.returns):
                for x in written:
                    self._forget(x)
                return written[0] if len(func._schema.returns) == 1 else tuple(written) if func._schema.returns else None
            raise _without_shape_rule(func, error) from None
        except RuntimeError as error:
            if _asks_for_number(error):
                raise DataDependentOutputException(func) from None
            raise
        return_to = {id(m): x for m, x in metas.values()}
        # Known elements stay known where all that goes into a write is.
        if written and all(x.constant is not None for x in fakes):
            with torch.utils._python_dispatch._disable_current_modes(), torch.no_grad():
                known = [x.constant if isinstance(x, FakeTensor) else x for x in leaves]
                run_args, run_kwargs = pytree.tree_unflatten(known, spec)
                func(*run_args, **run_kwargs)
        else:
            for x in written:
                self._forget(x)
        for x in written:
            storage = x.untyped_storage()._cdata
            _C._set_geometry(x, metas[id(x)][0], True)
            if x.constant is not None and x.untyped_storage()._cdata != storage:  # set_
                self._know(x, x.constant)

        def fake(r):
            if not isinstance(r, torch.Tensor):
                return r
            known = return_to.get(id(r))
            if known is None and r.device.type != "meta":
                return self._lifted(r)  # of numbers alone
            return known if known is not None else FakeTensor(self, r, device)

        out = pytree.tree_map(fake, result)
        if len(fakes) == 1 and fakes[0].constant is not None and func.is_view:  # so are the elements of its views
            with torch.utils._python_dispatch._disable_current_modes():
                elements = func(*[fakes[0].constant if x is fakes[0] else x for x in args], **kwargs)
            for view, known in zip(pytree.tree_leaves(out), pytree.tree_leaves(elements)):
                if view.constant is None:
                    self._know(view, known)
        return out

    def _by_trial(self, func, leaves, spec, device):
        """An operator whose kernel makes its results: it runs on elements of two kinds. Shapes that differ depend on elements."""
        if not self.allow_fallback_kernels:
            raise DynamicOutputShapeException(func)

        def real(x, rising):
            if isinstance(x, torch.device):
                return torch.device("cpu")
            if not isinstance(x, FakeTensor):
                return x
            n = 1 + sum((size - 1) * stride for size, stride in zip(x.size(), x.stride())) if x.numel() else 0
            return (torch.arange(1, n + 1, device="cpu").to(x.dtype) if rising else torch.zeros(n, dtype=x.dtype, device="cpu")).as_strided(x.size(), x.stride())

        trials = []
        with torch.utils._python_dispatch._disable_current_modes(), torch.no_grad():
            for rising in (False, True):
                args, kwargs = pytree.tree_unflatten([real(x, rising) for x in leaves], spec)
                try:
                    trials.append(func(*args, **kwargs))
                except Exception:
                    raise DynamicOutputShapeException(func) from None
        shapes = [[(t.shape, t.stride(), t.dtype) for t in pytree.tree_leaves(r) if isinstance(t, torch.Tensor)] for r in trials]
        if shapes[0] != shapes[1]:
            raise DynamicOutputShapeException(func)
        return pytree.tree_map(lambda t: FakeTensor(self, torch.empty_strided(t.size(), t.stride(), dtype=t.dtype, device="meta"), device)
                               if isinstance(t, torch.Tensor) else t, trials[0])

    @staticmethod
    def _written(func, args, kwargs):
        for i, a in enumerate(func._schema.arguments):
            if not a.is_write:
                continue
            value = args[i] if i < len(args) else kwargs.get(a.name)
            for x in value if isinstance(value, (list, tuple)) else (value,):
                if isinstance(x, FakeTensor):
                    yield a, x

    def _lifted(self, t):
        if isinstance(t, FakeTensor):
            return t
        fake = FakeTensor(self, torch.empty_strided(t.size(), t.stride(), dtype=t.dtype, device="meta"), t.device)
        if t.numel() == 1:
            self._know(fake, t)
        return fake

    def _checked(self, x, func, args, kwargs):
        if not isinstance(x, torch.Tensor):
            return x
        if isinstance(x, FakeTensor):
            if x.fake_mode is not self:
                raise AssertionError(f"{func}: fake tensors of two modes were mixed, {self} and {x.fake_mode}")
            return x
        if self.allow_non_fake_inputs or _C._is_wrapped_number(x):
            return self.from_tensor(x, static_shapes=True) if not _C._is_wrapped_number(x) else self._lifted(x)
        raise AssertionError(f"{func} was given a real tensor of shape {tuple(x.shape)} among fake ones: convert it with FakeTensorMode.from_tensor "
                             "first, or make the mode with allow_non_fake_inputs=True")

    @staticmethod
    def _device(func, fakes, kwargs):
        """Where the result is: as asked for, else where the arguments are; numbers in tensors go anywhere."""
        asked = kwargs.get(_DEVICE)
        if asked is not None:
            return _normal_device(asked)
        where, is_number = None, False
        for x in fakes:
            number = x.dim() == 0 and x.device.type == "cpu"
            if where is None or (is_number and not number):
                where, is_number = x.device, number
            elif x.device != where and not number:
                if func in (aten.copy_.default, aten.copy.default):
                    continue
                raise FakeTensorDeviceMismatchError(f"{func} was given tensors on different devices, {where} and {x.device}")
        return where if where is not None else torch.device("cpu")


@contextlib.contextmanager
def unset_fake_temporarily():
    """Within it no FakeTensorMode is active; gives the one that was."""
    with torch.utils._python_dispatch._disable_infra_mode(_C._TorchDispatchModeKey.FAKE) as mode:
        yield mode


def is_fake(x):
    """Whether a fake tensor, or a wrapper around one."""
    from torch.utils._python_dispatch import is_traceable_wrapper_subclass
    if isinstance(x, FakeTensor):
        return True
    if is_traceable_wrapper_subclass(x):
        inner = [is_fake(getattr(x, n)) for n in x.__tensor_flatten__()[0]]
        if any(inner) and not all(inner):
            raise AssertionError(f"{type(x).__name__} wraps fake and real tensors")
        return bool(inner) and all(inner)
    return False


def maybe_get_fake_mode(x):
    """The mode of a fake tensor, None for anything else."""
    from torch.utils._python_dispatch import is_traceable_wrapper_subclass
    if isinstance(x, FakeTensor):
        return x.fake_mode
    if is_traceable_wrapper_subclass(x):
        modes = [maybe_get_fake_mode(getattr(x, n)) for n in x.__tensor_flatten__()[0]]
        return modes[0] if modes else None
    return None
