"""What switches calls to Python below autograd on and off: keys of modes, and the guard without them."""
from torch import _C


class _TorchDispatchModeKey:
    """The key of a mode that stands below all modes without one, whenever it was entered."""

    def __init__(self, name, value):
        self.name, self.value = name, value

    def __repr__(self):
        return f"<_TorchDispatchModeKey.{self.name}: {self.value}>"

    def __reduce__(self):
        return getattr, (_TorchDispatchModeKey, self.name)


for _value, _name in enumerate(("FAKE", "PROXY", "FUNCTIONAL")):
    setattr(_TorchDispatchModeKey, _name, _TorchDispatchModeKey(_name, _value))
_C._TorchDispatchModeKey = _TorchDispatchModeKey


class _DisableTorchDispatch:
    """While this lives, or in a with block of it, neither modes nor classes take calls."""

    def __init__(self):
        self._on = True
        _C._disable_torch_dispatch(True)

    def _end(self):
        if self._on:
            self._on = False
            _C._disable_torch_dispatch(False)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self._end()

    def __del__(self):
        self._end()


_C._DisableTorchDispatch = _DisableTorchDispatch
