"""Names of torch._C and torch._C._nn that are written in Python and rarely asked for: their modules load on first use."""
import importlib

from torch import _C

_HOME = {name: "torch._dispatch_keys" for name in (
    "DispatchKey", "DispatchKeySet", "_ExcludeDispatchKeyGuard", "_AutoDispatchBelowAutograd", "_dispatch_keys", "_dispatch_key_for_device",
    "_dispatch_key_parse", "_dispatch_key_name", "_dispatch_has_kernel_for_dispatch_key")}


def _load(name):
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'torch._C' has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    setattr(_C, name, value)
    return value


def _log_api_usage_once(event):
    """Programs name themselves here; nothing is kept or sent."""


def _get_tracing_state():
    """The state of torch.jit.trace: None, it is not there."""


def _load_nn(name):
    if name != "_parse_to":
        raise AttributeError(f"module 'torch._C._nn' has no attribute {name!r}")
    from torch.nn.modules._moving import _parse_to
    return _parse_to


_C.__getattr__, _C._nn.__getattr__ = _load, _load_nn
_C._log_api_usage_once = _log_api_usage_once
_C._get_tracing_state = _get_tracing_state
