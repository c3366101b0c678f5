"""Types and modes that take over operators: `__torch_function__`."""

import functools
import types
import warnings

import torch
from torch import _C, _torch_function

__all__ = ["get_ignored_functions", "get_overridable_functions", "get_testing_overrides",
           "handle_torch_function", "has_torch_function", "has_torch_function_unary",
           "has_torch_function_variadic", "resolve_name", "is_tensor_like",
           "is_tensor_method_or_property", "wrap_torch_function", "enable_reentrant_dispatch",
           "get_default_nowrap_functions", "redispatch_function", "TorchFunctionMode",
           "BaseTorchFunctionMode"]


def has_torch_function(relevant_args):
    """Whether one of the arguments (or a mode) takes over."""
    return _C._has_torch_function_each(*relevant_args)


# Asked in every function of torch.nn.functional: the core's own function, without a Python frame.
has_torch_function_unary = has_torch_function_variadic = _C._has_torch_function_each


def handle_torch_function(public_api, relevant_args, *args, **kwargs):
    """Calls the innermost mode, else `__torch_function__` of the relevant arguments in turn.

    Subclasses are asked before their bases. Raises TypeError when all give NotImplemented.
    """
    return _torch_function.call_in_turn(public_api, _torch_function._overloaded(tuple(relevant_args), {}, with_plain=True), args, kwargs)


def _get_overloaded_args(relevant_args, get_type_fn=None):
    """The arguments with a `__torch_function__`, one of each type, subclasses first."""
    return _torch_function._overloaded(tuple(relevant_args), {})


def wrap_torch_function(dispatcher):
    """A decorator that makes a function of Python overridable.

    `dispatcher` has the function's signature and gives the arguments that may take over.
    """
    def inner(func):
        @functools.wraps(func)
        def wrapped(*args, **kwargs):
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(tuple(relevant)):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return func(*args, **kwargs)
        return wrapped
    return inner


class TorchFunctionMode:
    """Within a with block of it, every overridable function goes to its `__torch_function__`.

    A subclass defines `__torch_function__(self, func, types, args=(), kwargs=None)`; while that
    runs, the mode itself is off.
    """

    inner: "TorchFunctionMode"

    def __init__(self):
        pass

    def __torch_function__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError(f"{type(self).__name__}.__torch_function__")

    def __enter__(self):
        _torch_function.push_mode(self)
        return self

    def __exit__(self, exc_type, exc_val, exc_tb):
        _torch_function.pop_mode()

    @classmethod
    def push(cls, *args, **kwargs):
        """The older way to make a mode."""
        warnings.warn(f"{cls.__name__}.push() is {cls.__name__}()", stacklevel=2)
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def _get_current_function_mode():
    return _torch_function._modes[-1] if _torch_function._modes else None


def _get_current_function_mode_stack():
    return list(_torch_function._modes)


def _push_mode(mode):
    _torch_function.push_mode(mode)


def _pop_mode():
    return _torch_function.pop_mode()


class _pop_mode_temporarily:
    def __enter__(self):
        self.mode = _torch_function.pop_mode()
        return self.mode

    def __exit__(self, *exc):
        _torch_function.push_mode(self.mode)


class enable_reentrant_dispatch:
    """Lets `__torch_dispatch__` run operators that go through it again."""

    def __enter__(self):
        raise NotImplementedError("enable_reentrant_dispatch: there is no __torch_dispatch__ yet")

    def __exit__(self, *exc):
        pass


def redispatch_function(func, types, args, kwargs):
    """Runs `func` as if nothing took over."""
    with _C.DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


def get_default_nowrap_functions():
    """Getters of attributes whose results do not take the type of a subclass."""
    return {getattr(torch.Tensor, name).__get__ for name in ("_base", "grad", "_grad")
            if hasattr(torch.Tensor, name)}


def is_tensor_like(inp):
    """Whether a Tensor, or something with a `__torch_function__`."""
    return type(inp) is torch.Tensor or hasattr(inp, "__torch_function__")


_IGNORED = {
    "load", "save", "set_default_device", "set_default_dtype", "set_default_tensor_type",
    "get_default_dtype", "get_default_device", "set_grad_enabled", "is_grad_enabled", "no_grad",
    "enable_grad", "inference_mode", "manual_seed", "seed", "initial_seed", "get_rng_state",
    "set_rng_state", "set_num_threads", "get_num_threads", "set_printoptions", "typename",
    "is_tensor", "is_storage", "compile", "set_warn_always", "is_warn_always_enabled",
    "tensor", "as_tensor", "arange", "empty", "ones", "zeros", "full", "rand", "randn", "randint",
    "randperm", "eye", "linspace", "logspace", "range", "from_numpy", "frombuffer", "from_file",
    "sparse_coo_tensor", "empty_strided", "scalar_tensor", "asarray", "tril_indices",
    "triu_indices", "hann_window", "hamming_window", "blackman_window", "bartlett_window",
    "kaiser_window", "vmap", "fork", "wait", "promote_types", "can_cast", "result_type",
    "use_deterministic_algorithms", "set_flush_denormal", "get_device_module", "from_dlpack"}

_tables = None


def _callables(space):
    if isinstance(space, types.ModuleType):
        # Not dir(): names that a module loads when they are first used are no operators.
        yield from ((n, v) for n, v in sorted(vars(space).items()) if not n.startswith("_"))
        return
    for name in dir(space):
        if not name.startswith("_") or name.startswith("__"):
            yield name, getattr(space, name, None)


def _get_overridable_functions():
    """({namespace: [functions]}, {function: its dotted name})"""
    global _tables
    if _tables is not None:
        return _tables
    found, names = {}, {}

    def add(space, func, name):
        try:
            if func in names:
                return
        except TypeError:
            return
        found.setdefault(space, []).append(func)
        names[func] = name

    function_kinds = (types.FunctionType, types.BuiltinFunctionType, types.MethodDescriptorType,
                      types.WrapperDescriptorType)
    spaces = [(torch, "torch"), (torch.functional, "torch.functional"),
              (torch.nn.functional, "torch.nn.functional")]
    for name in ("fft", "linalg", "special"):
        try:
            spaces.append((getattr(torch, name), f"torch.{name}"))
        except (AttributeError, ImportError):
            pass
    overridable = set(vars(_C._VariableFunctions))
    for space, path in spaces:
        for name, value in _callables(space):
            if name in _IGNORED or not callable(value) or isinstance(value, type):
                continue
            if space is torch and not (name in overridable or name in torch.functional.__all__):
                continue
            if isinstance(value, types.FunctionType) and not (
                    (value.__module__ or "").startswith(path)):
                continue
            add(space, value, f"{path}.{name}")
    for name, value in _callables(torch.Tensor):
        if name in ("__new__", "__init__", "__class__", "__dir__", "__getattribute__", "__dict__",
                    "__torch_function__", "__torch_dispatch__", "__init_subclass__",
                    "__subclasshook__", "__getattr__", "__setattr__", "__delattr__", "__reduce__",
                    "__sizeof__", "__getstate__", "__doc__", "__module__", "__weakref__"):
            continue
        if isinstance(value, (types.GetSetDescriptorType, property)):
            add(value, value.__get__, f"torch.Tensor.{name}.__get__")
        elif isinstance(value, function_kinds) or callable(value):
            add(torch.Tensor, value, f"torch.Tensor.{name}")
    _tables = found, names
    return _tables


def get_overridable_functions():
    """{namespace: [functions that types and modes can take over]}"""
    return _get_overridable_functions()[0]


def get_ignored_functions():
    """Functions of torch that cannot be taken over."""
    return {getattr(torch, name) for name in _IGNORED if hasattr(torch, name)}


def get_testing_overrides():
    """{function: a function of the same signature that gives -1}"""
    import inspect

    overrides = {}
    for func in _get_overridable_functions()[1]:
        try:
            signature = inspect.signature(func)
        except (TypeError, ValueError):
            signature = None

        def dummy(*args, **kwargs):
            return -1
        dummy.__signature__ = signature
        overrides[func] = dummy
    return overrides


def resolve_name(f):
    """The dotted name of an overridable function, None for another."""
    kind = type(f).__name__
    if kind in ("OpOverload", "OpOverloadPacket"):
        return str(f)
    try:
        name = _get_overridable_functions()[1].get(f)
    except TypeError:
        return None
    if name is None and f in get_ignored_functions():   # modes see those that make tensors
        return f"torch.{f.__name__}"
    return name


@functools.cache
def _get_tensor_methods():
    return set(get_overridable_functions().get(torch.Tensor, ()))


def is_tensor_method_or_property(func):
    """Whether a method of Tensor, or the getter of one of its attributes."""
    return func in _get_tensor_methods() or getattr(func, "__name__", None) == "__get__"
