"""Forks while another thread imports: submodules are loaded on first use, which may be in any thread.

In a child the locks of modules that another thread was loading would be held for ever. So a fork waits until no thread loads a
module of these packages, for some time; and in the child, modules that were not whole are forgotten, to be loaded anew.
"""
import _frozen_importlib as _importlib
import os
import sys
import time
from _thread import get_ident

PATIENCE = 2   # seconds
_PACKAGES = frozenset(("torch", "triton", "functorch"))


def _held_by_others():
    """Names of modules that other threads are loading."""
    me = get_ident()
    for name, reference in list(getattr(_importlib, "_module_locks", {}).items()):
        owner = getattr(reference(), "owner", None)
        if owner is not None and owner != me:
            yield name


def _before():
    end = time.monotonic() + PATIENCE
    while any(name.partition(".")[0] in _PACKAGES for name in _held_by_others()) and time.monotonic() < end:
        time.sleep(0.001)


def _in_child():
    for name in list(_held_by_others()):
        _importlib._module_locks.pop(name, None)
        sys.modules.pop(name, None)


os.register_at_fork(before=_before, after_in_child=_in_child)
