"""Intel's graphics devices. This build has no back end for them: questions are answered (there is none)."""


def is_available():
    """is_available() -> bool: whether such a device can be used."""
    return False


def device_count():
    """device_count() -> int"""
    return 0


def manual_seed(seed):
    """Does nothing without a device."""


manual_seed_all = manual_seed


def empty_cache():
    """Nothing to empty."""


def __getattr__(name):
    from torch import _absent
    raise _absent.error(__name__, name)
