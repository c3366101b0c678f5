"""CUDA devices. This build has no back end for them: questions are answered (there is none), work is refused."""
import contextlib

import torch

has_half = True
default_generators = ()


def is_available():
    """is_available() -> bool: whether a CUDA device can be used."""
    return False


def is_initialized():
    return False


def init():
    _refuse("torch.cuda.init")


def device_count():
    """device_count() -> int"""
    return 0


def _refuse(what):
    raise RuntimeError(f"{what} needs a CUDA device, and this build of torch has no CUDA back end")


def _refused(name):
    def f(*args, **kwargs):
        _refuse(f"torch.cuda.{name}")
    f.__name__ = f.__qualname__ = name
    f.__doc__ = "RuntimeError: there is no CUDA back end."
    return f


for _n in ("current_device", "set_device", "synchronize", "get_device_name", "get_device_capability", "get_device_properties", "current_stream",
           "default_stream", "mem_get_info", "current_blas_handle", "get_rng_state", "set_rng_state", "get_arch_list", "ipc_collect",
           "set_per_process_memory_fraction", "list_gpu_processes", "utilization", "temperature", "power_draw", "clock_rate"):
    globals()[_n] = _refused(_n)


def is_bf16_supported(including_emulation=True):
    return False


def is_current_stream_capturing():
    return False


def empty_cache():
    """Nothing to empty."""


def manual_seed(seed):
    """Does nothing without a device."""


manual_seed_all = manual_seed


def seed():
    """Does nothing without a device."""


seed_all = seed


def initial_seed():
    return 0


def _zero(*args, **kwargs):
    return 0


memory_allocated = max_memory_allocated = memory_reserved = max_memory_reserved = memory_cached = max_memory_cached = _zero


def reset_peak_memory_stats(device=None):
    """Does nothing without a device."""


reset_max_memory_allocated = reset_max_memory_cached = reset_accumulated_memory_stats = reset_peak_memory_stats


def memory_stats(device=None):
    return {}


def memory_summary(device=None, abbreviated=False):
    return ""


def set_sync_debug_mode(mode):
    """Does nothing without a device."""


class device:
    """`with torch.cuda.device(i)`: a device of None or below 0 is no device and is taken."""

    def __init__(self, device):
        self.idx = device

    def __enter__(self):
        if self.idx is not None and (not isinstance(self.idx, int) or self.idx >= 0):
            _refuse("torch.cuda.device")

    def __exit__(self, *exc):
        return False


class device_of(device):
    def __init__(self, obj):
        super().__init__(obj.get_device() if obj.is_cuda else None)


class Stream:
    def __init__(self, *args, **kwargs):
        _refuse("torch.cuda.Stream")


class Event:
    def __init__(self, *args, **kwargs):
        _refuse("torch.cuda.Event")


class CUDAGraph:
    def __init__(self, *args, **kwargs):
        _refuse("torch.cuda.CUDAGraph")


ExternalStream = Stream
OutOfMemoryError = torch.OutOfMemoryError


@contextlib.contextmanager
def stream(s):
    """`with torch.cuda.stream(None)` does nothing."""
    if s is not None:
        _refuse("torch.cuda.stream")
    yield


def __getattr__(name):
    from torch import _absent
    if name in ("amp", "nvtx", "random", "memory", "nccl", "comm", "graphs", "streams"):
        from importlib import import_module
        try:
            return import_module("torch.cuda." + name)
        except ModuleNotFoundError:
            raise _absent.NotThereYet(f"torch.cuda.{name} is not there yet") from None
    raise _absent.error(__name__, name)
