"""Switches of deterministic runs."""

import sys
import types


class _Deterministic(types.ModuleType):
    """The module; `fill_uninitialized_memory` is checked when it is set."""

    _fill = True

    @property
    def fill_uninitialized_memory(self):
        """Whether deterministic mode fills the memory of `torch.empty` and its like."""
        return self._fill

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode):
        if not isinstance(mode, bool):
            raise RuntimeError(f"fill_uninitialized_memory must be a bool, got {mode!r}")
        self._fill = mode


sys.modules[__name__].__class__ = _Deterministic
