"""Training in several processes, which is not there yet: is_available() says so to programs that ask."""


def is_available():
    """is_available() -> bool: whether this build has process groups."""
    return False


def is_initialized():
    """is_initialized() -> bool: whether there is a default process group."""
    return False


def __getattr__(name):
    from torch import _absent
    raise _absent.error(__name__, name)
