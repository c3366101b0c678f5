"""Process-wide settings: default device and type, determinism, precision; and small questions about objects."""
import torch
from torch import _C

_device_stack = []
_deterministic = [False, False]
_matmul_precision = ["highest"]
_warn_always = [False]


def set_default_device(device):
    """The device on which factory functions allocate; None for the CPU."""
    _C._set_default_device(device)


def get_default_device():
    """get_default_device() -> torch.device"""
    return _C._get_default_device()


def enter_device(device, _=None):
    """`with device:` makes it the default within."""
    _device_stack.append(_C._get_default_device())
    _C._set_default_device(device)
    return device


def exit_device(device, exc=None):
    _C._set_default_device(_device_stack.pop())


def set_default_tensor_type(t):
    """Deprecated: set_default_dtype with a tensor type's name."""
    from torch._legacy_types import dtype_of
    _C.set_default_dtype(dtype_of(t))


def is_tensor(obj):
    """is_tensor(obj) -> bool"""
    return isinstance(obj, torch.Tensor)


def is_storage(obj):
    """is_storage(obj) -> bool"""
    from torch.storage import TypedStorage
    return isinstance(obj, (_C.StorageBase, TypedStorage))


def typename(obj):
    """The full name of an object's type; of a tensor, e.g. 'torch.FloatTensor'."""
    if isinstance(obj, torch.Tensor):
        return obj.type()
    t = obj if isinstance(obj, type) else type(obj)
    module = getattr(t, "__module__", "") or ""
    return t.__qualname__ if module in ("", "builtins", "__builtin__") else f"{module}.{t.__qualname__}"


def use_deterministic_algorithms(mode, *, warn_only=False):
    """Every operator here gives the same bits for any thread count, so this only records the wish."""
    _deterministic[:] = [bool(mode), bool(warn_only)]


def are_deterministic_algorithms_enabled():
    return _deterministic[0]


def is_deterministic_algorithms_warn_only_enabled():
    return _deterministic[1]


def set_deterministic_debug_mode(debug_mode):
    """0 or "default", 1 or "warn", 2 or "error"."""
    level = {"default": 0, "warn": 1, "error": 2}.get(debug_mode, debug_mode)
    if level not in (0, 1, 2):
        raise RuntimeError(f"debug_mode must be 0, 1, 2, 'default', 'warn' or 'error', got {debug_mode!r}")
    use_deterministic_algorithms(level > 0, warn_only=level == 1)


def get_deterministic_debug_mode():
    return 0 if not _deterministic[0] else 1 if _deterministic[1] else 2


def set_float32_matmul_precision(precision):
    """"highest", "high" or "medium"; products on the CPU are always in full float32."""
    if precision not in ("highest", "high", "medium"):
        raise RuntimeError(f"precision must be 'highest', 'high' or 'medium', got {precision!r}")
    _matmul_precision[0] = precision


def get_float32_matmul_precision():
    return _matmul_precision[0]


def set_flush_denormal(mode):
    """Denormal numbers are kept: returns False, as on machines without the switch."""
    return False


def set_warn_always(b):
    _warn_always[0] = bool(b)


def is_warn_always_enabled():
    return _warn_always[0]
