"""The accelerator of this machine, whichever it is. This build has none: questions are answered, work is refused."""
import collections

__all__ = ["current_accelerator", "current_device_idx", "current_device_index", "current_stream", "device_count", "empty_cache", "is_available",
           "max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved", "memory_stats",
           "reset_accumulated_memory_stats", "reset_peak_memory_stats", "set_device_idx", "set_device_index", "set_stream", "synchronize"]


def is_available():
    """is_available() -> bool: whether there is an accelerator that can be used."""
    return False


def device_count():
    """device_count() -> int"""
    return 0


def current_accelerator(check_available=False):
    """current_accelerator(check_available=False) -> torch.device of the accelerator's kind, or None: there is none."""
    return None


def _refused(name):
    def f(*args, **kwargs):
        raise RuntimeError(f"torch.accelerator.{name} needs an accelerator, and this build of torch has no back end for one")
    f.__name__ = f.__qualname__ = name
    f.__doc__ = "RuntimeError: there is no accelerator."
    return f


for _n in ("current_device_index", "current_device_idx", "set_device_index", "set_device_idx", "current_stream", "set_stream", "synchronize"):
    globals()[_n] = _refused(_n)


def empty_cache():
    """Nothing to empty."""


def memory_stats(device_index=None):
    """Figures of the accelerator's allocator, by name: none."""
    return collections.OrderedDict()


def memory_allocated(device_index=None):
    """memory_allocated(device_index=None) -> int, in bytes"""
    return 0


max_memory_allocated = memory_reserved = max_memory_reserved = memory_allocated


def reset_peak_memory_stats(device_index=None):
    """Nothing to reset."""


reset_accumulated_memory_stats = reset_peak_memory_stats


def __getattr__(name):
    from torch import _absent
    raise _absent.error(__name__, name)
