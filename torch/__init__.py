"""Flambeau under PyTorch's name: tensors, automatic differentiation and a training toolkit.

`import torch` loads the C++ core and the Tensor class; submodules load when they are first used.
"""
import builtins as _builtins
import math as _math

try:
    import torch._C as _C
except ModuleNotFoundError as _error:
    if _error.name != "torch._C":
        raise
    raise ImportError(f"{__path__[0].rpartition('/')[0]} is not built for this Python: run `make build` there and use .venv/bin/python, "
                      "or work in another folder to import the torch that is installed") from None
from torch._C import *  # noqa: F403 - dtypes, Size, device, Generator, tensor() and the like
from torch._C import _VariableFunctions  # noqa: F401
from torch import _forks  # noqa: F401 - before other threads can load submodules
from torch import _lazy_core  # noqa: F401
from torch.version import __version__  # noqa: F401
from torch._tensor import Tensor  # noqa: F401
from torch._torch_function import overridable as _overridable

_C._set_tensor_types(Tensor)
_globals = globals()
for _name, _value in vars(_VariableFunctions).items():
    if not _name.startswith("__"):
        _globals[_name] = _value
del _name, _value

inf, nan, e, pi = _math.inf, _math.nan, _math.e, _math.pi
newaxis = None

from torch._symbolic_numbers import SymBool, SymFloat, SymInt  # noqa: E402, F401


class OutOfMemoryError(RuntimeError):
    """Raised when a device has no memory left for a request."""


class AcceleratorError(RuntimeError):
    """Raised when an accelerator reports an error."""


from torch.autograd.grad_mode import (  # noqa: E402, F401
    enable_grad, inference_mode, no_grad, set_grad_enabled)
from torch.functional import *  # noqa: E402, F403
from torch._defaults import (  # noqa: E402, F401
    are_deterministic_algorithms_enabled, get_default_device, get_deterministic_debug_mode, get_float32_matmul_precision,
    is_deterministic_algorithms_warn_only_enabled, is_storage, is_tensor, is_warn_always_enabled, set_default_device, set_default_tensor_type,
    set_deterministic_debug_mode, set_float32_matmul_precision, set_flush_denormal, set_warn_always, typename, use_deterministic_algorithms)

_SUBMODULES = frozenset((
    "amp", "ao", "autograd", "backends", "compiler", "cpu", "cuda", "distributed", "distributions", "export", "fft", "func", "functional",
    "futures", "fx", "hub", "jit", "library", "linalg", "masked", "mps", "multiprocessing", "nested", "nn", "onnx", "optim", "overrides",
    "package", "profiler", "quantization", "quasirandom", "random", "return_types", "serialization", "signal", "sparse", "special", "storage",
    "testing", "torch_version", "types", "utils", "version", "xpu", "mtia", "accelerator", "_tensor", "_tensor_str", "_utils", "_dynamo", "_inductor",
    "_ops", "_schema", "_subclasses", "_library", "_jit_internal", "_prims_common", "_lowrank"))
# Names that live in a submodule and are reached from torch itself.
_FROM = {
    "_type_info": ("finfo", "iinfo"),
    "random": ("manual_seed", "seed", "initial_seed", "get_rng_state", "set_rng_state"),
    "serialization": ("save", "load"),
    "_tensor_str": ("set_printoptions",),
    "_lowrank": ("pca_lowrank", "svd_lowrank"),
    "storage": ("UntypedStorage", "TypedStorage", "FloatStorage", "DoubleStorage", "HalfStorage", "BFloat16Storage", "LongStorage", "IntStorage",
                "ShortStorage", "CharStorage", "ByteStorage", "BoolStorage", "ComplexFloatStorage", "ComplexDoubleStorage"),
    "_compile": ("compile",),
    "_ops": ("ops",),
    "_schema": ("Tag",),
    "_legacy_types": ("FloatTensor", "DoubleTensor", "HalfTensor", "BFloat16Tensor", "LongTensor", "IntTensor", "ShortTensor", "CharTensor",
                      "ByteTensor", "BoolTensor"),
    "_guards_and_checks": ("_assert", "_check", "_check_is_size", "_check_index", "_check_value", "_check_type", "_check_not_implemented",
                           "sym_int", "sym_float", "sym_max", "sym_min", "sym_not", "sym_ite", "sym_sum", "sym_sqrt", "sym_fresh_size",
                           "_sym_sqrt", "_sym_cos", "_sym_cosh", "_sym_sin", "_sym_sinh", "_sym_tan", "_sym_tanh", "_sym_asin", "_sym_acos",
                           "_sym_atan", "_sym_exp", "_sym_log", "_sym_log2"),
    "amp": ("autocast", "is_autocast_enabled", "get_autocast_dtype", "is_autocast_cpu_enabled", "is_autocast_cache_enabled", "set_autocast_enabled",
            "set_autocast_dtype", "get_autocast_gpu_dtype", "get_autocast_cpu_dtype", "clear_autocast_cache", "is_autocast_available",
            "set_autocast_cache_enabled", "autocast_increment_nesting", "autocast_decrement_nesting", "GradScaler"),
    "func": ("vmap",),
    "utils.dlpack": ("from_dlpack", "to_dlpack"),
}
_HOME = {name: module for module, names in _FROM.items() for name in names}


def __getattr__(name):
    from importlib import import_module
    if name in _SUBMODULES:
        try:
            return import_module("torch." + name)
        except ModuleNotFoundError as e:
            if e.name != "torch." + name:
                raise
            from torch import _absent
            raise _absent.NotThereYet(f"torch.{name} is not there yet") from None
    home = _HOME.get(name)
    if home is not None:
        try:
            value = getattr(import_module("torch." + home), name)
        except ModuleNotFoundError as e:
            if not (e.name or "").startswith("torch."):
                raise
            from torch import _absent
            raise _absent.NotThereYet(f"torch.{name} is not there yet") from None
        _globals[name] = value
        return value
    if name.startswith("__"):
        raise AttributeError(f"module 'torch' has no attribute {name!r}")
    from torch import _absent
    raise _absent.error("torch", name)


def __dir__():
    return sorted(set(_globals) | _SUBMODULES | set(_HOME))


@_overridable
def numel(input):
    """numel(input) -> int: the number of elements."""
    return input.numel()


@_overridable
def is_floating_point(input):
    """is_floating_point(input) -> bool: whether the element type is a floating one."""
    return input.is_floating_point()


@_overridable
def is_complex(input):
    """is_complex(input) -> bool: whether the element type is complex."""
    return input.is_complex()


@_overridable
def is_signed(input):
    """is_signed(input) -> bool: whether the element type has a sign."""
    return input.is_signed()


@_overridable
def is_conj(input):
    """is_conj(input) -> bool: whether the values are lazily conjugated."""
    return input.is_conj()


@_overridable
def is_neg(input):
    """is_neg(input) -> bool: whether the values are lazily negated."""
    return input.is_neg()


@_overridable
def is_inference(input):
    """is_inference(input) -> bool: whether the tensor was made in inference mode."""
    return input.is_inference()


@_overridable
def is_nonzero(input):
    """is_nonzero(input) -> bool: the truth value of a tensor of one element; RuntimeError otherwise."""
    return _builtins.bool(input)


@_overridable
def get_device(input):
    """get_device(input) -> int: the device index, -1 on the CPU."""
    return input.get_device()


def get_device_module(device=None):
    """The module of an accelerator, e.g. torch.cuda."""
    import torch
    name = torch.device(device).type if device is not None else "cpu"
    return getattr(torch, name)


@_overridable
def can_cast(from_, to):
    """can_cast(from_, to) -> bool: whether a result of type from_ may be written to a tensor of type to."""
    if from_.is_complex and not to.is_complex:
        return False
    if from_.is_floating_point and not (to.is_floating_point or to.is_complex):
        return False
    return not (from_ is not bool and not from_.is_floating_point and not from_.is_complex and to is bool)


@_overridable
def promote_types(type1, type2):
    """promote_types(type1, type2) -> dtype: the type that holds both."""
    return result_type(empty(1, dtype=type1), empty(1, dtype=type2))  # noqa: F405


@_overridable
def result_type(tensor1, tensor2):
    """result_type(tensor1, tensor2) -> dtype of an arithmetic operation on these tensors or numbers."""
    return _C._result_type(tensor1, tensor2)
