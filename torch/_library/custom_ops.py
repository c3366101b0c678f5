"""`torch.library.custom_op`: an operator whose kernels, shape rule and derivative are Python functions."""
import torch
from torch import _C
from torch._library import fake_impl
from torch._library.autograd import make_autograd_kernel
from torch._library.infer_schema import infer_schema
from torch._library.vmap import make_vmap_kernel

_DEVICE_KEYS = {"cpu": "CPU", "cuda": "CUDA", "meta": "Meta"}
_defs = {}


def device_key(device):
    """The dispatch key of a device's name; ValueError where there is none."""
    key = _DEVICE_KEYS.get(device)
    if key is None:
        if device in ("xpu", "mps", "hpu", "xla", "mtia", "ipu", "privateuseone"):
            raise NotImplementedError(f"kernels for device {device!r} cannot be registered: there is no such back end")
        raise ValueError(f"there is no device {device!r}; kernels can be registered for {sorted(_DEVICE_KEYS)}")
    return key


def parse_qualname(name):
    """("ns", "op") of "ns::op"; ValueError where it is none."""
    parts = name.split("::")
    if len(parts) != 2 or not all(parts):
        raise ValueError(f"an operator's name has the form 'namespace::name', got {name!r}")
    if "." in parts[1]:
        raise ValueError(f"the name of a custom operator has no overload, got {name!r}")
    return parts[0], parts[1]


def _tensors(values):
    for v in values:
        if isinstance(v, torch.Tensor):
            yield v
        elif isinstance(v, (list, tuple)):
            yield from _tensors(v)


class _Autograd:
    backward = setup_context = None


class CustomOpDef:
    """What `custom_op` gives: calling it calls the operator; its methods register more for it."""

    def __init__(self, namespace, name, schema, fn, tags=None):
        self._namespace, self._name, self._schema, self._init_fn = namespace, name, schema, fn
        self._qualname = f"{namespace}::{name}"
        self._tags = tags
        self._kernels = {}
        self._disabled = set()
        self._fake = self._vmap = None
        self._autograd = _Autograd()
        from torch.library import Library
        before = _defs.get(self._qualname)
        if before is not None:
            before._lib._destroy()
        self._lib = Library(namespace, "FRAGMENT")
        self._lib.define(name + schema, tags=tags if tags is not None else torch.Tag.pt2_compliant_tag)
        self._opoverload = getattr(getattr(torch.ops, namespace), name).default
        _defs[self._qualname] = self
        self.__name__ = name
        written = [i for i, a in enumerate(self._opoverload._schema.arguments) if a.is_write]
        if written:
            self._lib.impl(name, self._written_kernel, "Autograd")
        else:
            self._lib.impl(name, make_autograd_kernel(self._opoverload, self._autograd), "Autograd")
        self._lib.impl(name, self._fake_kernel, "Meta")

    @property
    def _backward_fn(self):
        return self._autograd.backward

    def _written_kernel(self, *args, **kwargs):
        from torch._library.autograd import _Below, _with_defaults
        positional, keywords = _with_defaults(self._opoverload, args, kwargs)
        arguments = self._opoverload._schema.arguments
        values = positional + [keywords[a.name] for a in arguments if a.kwarg_only]
        for a, v in zip(arguments, values):
            if a.is_write:
                for t in _tensors([v]):
                    _C._bump_version(t)
        with _Below():
            return self._opoverload(*args, **kwargs)

    def _fake_kernel(self, *args, **kwargs):
        if self._fake is None:
            if not self._opoverload._schema.returns and self._opoverload._schema.is_mutable:
                return None   # what it writes stays as it looks
            raise RuntimeError(f"{self._qualname} was called with tensors without values, but has no fake implementation; "
                               f"`{self._name}.register_fake` gives it one")
        with fake_impl.running(self._opoverload):
            return self._fake(*args, **kwargs)

    def register_kernel(self, device_types, fn=None, /):
        """Registers the implementation for a device or several ("cpu", ["cpu", "cuda"], None: all).

        May be used as a decorator. The function takes the operator's arguments; it must not return one of them.
        """
        def inner(fn):
            types = [device_types] if device_types is None or isinstance(device_types, str) else list(device_types)
            for d in types:
                key = "CompositeExplicitAutograd" if d is None else device_key(d)
                first = d not in self._kernels
                self._kernels[d] = fn
                if first:
                    self._lib.impl(self._name, self._kernel_of(d), key)
            return fn
        return inner if fn is None else inner(fn)

    def _kernel_of(self, device):
        def kernel(*args, **kwargs):
            fn = self._init_fn if device in self._disabled else self._kernels[device]
            result = fn(*args, **kwargs)
            results = list(_tensors([result]))
            inputs = list(_tensors([*args, *kwargs.values()]))
            for i, r in enumerate(results):
                if any(r is x or _C._same_storage(r, x) for x in inputs) or any(r is x or _C._same_storage(r, x) for x in results[:i]):
                    raise RuntimeError(f"{self._qualname}: result {i} shares memory with an input or another result; a custom operator must "
                                       "return new tensors (clone() it), and say in mutates_args what it writes")
            return result
        return kernel

    def register_fake(self, fn, /):
        """Registers how results look: their shapes, types and devices, computed without reading elements.

        Runs on tensors of the meta device and on fake tensors. May be used as a decorator.
        """
        self._fake = fn
        return fn

    def register_autograd(self, backward, /, *, setup_context=None):
        """Registers the derivative.

        Args:
            backward: `backward(ctx, *grads)` gives one gradient, or None, for each input; for an input that is a
                list of tensors a list of them. It must be made of operators.
            setup_context: `setup_context(ctx, inputs, output)` keeps what backward needs.
        """
        if self._opoverload._schema.is_mutable:
            raise RuntimeError(f"{self._qualname}{self._schema} writes its arguments; a derivative can be registered for operators that return "
                               "new tensors only")
        self._autograd.backward, self._autograd.setup_context = backward, setup_context

    def register_vmap(self, func=None):
        """Registers the rule for torch.vmap: `func(info, in_dims, *args) -> (result, out_dims)`. May be used as a decorator.

        `info` has batch_size and randomness; `in_dims` says for each argument which dimension is the batch, None where there
        is none, a list of these for a list of tensors; `args` are whole batches. `out_dims` says the same of the results.
        """
        def inner(func):
            if self._vmap is None:
                self._lib.impl(self._name, make_vmap_kernel(self._opoverload, lambda: self._vmap), "FuncTorchBatched")
            self._vmap = func
            return func
        return inner if func is None else inner(func)

    def register_torch_dispatch(self, torch_dispatch_class, fn=None, /):
        """Registers what a TorchDispatchMode or a class with `__torch_dispatch__` does on this operator.

        `fn(mode, func, types, args, kwargs)` for a mode, `fn(func, types, args, kwargs)` for a class of tensors.
        """
        def inner(fn):
            from torch.library import _dispatch_rule
            _dispatch_rule(self._opoverload, torch_dispatch_class, fn)
            return fn
        return inner if fn is None else inner(fn)

    def register_autocast(self, device_type, cast_inputs):
        raise NotImplementedError("CustomOpDef.register_autocast is not there")

    def set_kernel_enabled(self, device_type, enabled=True):
        """A context in which the kernel of a device stands aside for the function the operator was defined by."""
        import contextlib

        @contextlib.contextmanager
        def context():
            was_off = device_type in self._disabled
            (self._disabled.discard if enabled else self._disabled.add)(device_type)
            try:
                yield
            finally:
                (self._disabled.add if was_off else self._disabled.discard)(device_type)
        return context()

    def __call__(self, *args, **kwargs):
        return self._opoverload(*args, **kwargs)

    def __repr__(self):
        return f"<CustomOpDef({self._qualname})>"


def custom_op(name, fn=None, /, *, mutates_args, device_types=None, schema=None, tags=None):
    """Makes an operator of a Python function; other parts of the system see one opaque call.

    Args:
        name (str): "namespace::name".
        fn: the implementation. Its schema comes from its annotations, unless `schema` is given. Without it this
            is a decorator.
        mutates_args: names of the tensors that it writes; "unknown" for all.
        device_types: the devices it is for; None: all.
        schema (str): "(Tensor x, int n) -> Tensor".

    Returns: a CustomOpDef. Raises ValueError for a bad name or annotation.
    """
    def inner(fn):
        namespace, op = parse_qualname(name)
        if schema is None:
            text = infer_schema(fn, mutates_args=mutates_args)
        else:
            text = schema if schema.startswith("(") else schema[schema.index("("):]
            _check_mutates(text, mutates_args, name)
        result = CustomOpDef(namespace, op, text, fn, tags)
        result.register_kernel(device_types)(fn)
        return result
    return inner if fn is None else inner(fn)


def _check_mutates(text, mutates_args, name):
    import re
    written = {m.group(1) for m in re.finditer(r"Tensor\(\w*!\)[\[\]?]*\s+(\w+)", text.split("->")[0])}
    if mutates_args != "unknown" and written != set(mutates_args):
        raise ValueError(f"custom_op {name}: mutates_args is {sorted(mutates_args)}, but the schema {text!r} writes {sorted(written)}")


def find_def(op):
    """The CustomOpDef of a name, an OpOverload or a CustomOpDef; None where the operator was defined otherwise."""
    if isinstance(op, CustomOpDef):
        return op
    return _defs.get(op if isinstance(op, str) else op._name)
