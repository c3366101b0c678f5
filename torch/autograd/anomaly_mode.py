"""Anomaly mode: errors in backward name the forward line; NaN gradients are errors."""
import warnings

from torch import _C


class detect_anomaly:
    """Within it every node remembers the Python lines that made it, and NaN in a gradient raises RuntimeError."""

    def __init__(self, check_nan=True):
        self.prev = _C.is_anomaly_enabled(), _C.is_anomaly_check_nan_enabled()
        self.check_nan = check_nan
        warnings.warn("anomaly mode is on: it records a traceback for every operation and is slow; switch it off when "
                      "debugging is done", stacklevel=2)

    def __enter__(self):
        self.prev = _C.is_anomaly_enabled(), _C.is_anomaly_check_nan_enabled()
        _C._set_anomaly(True, self.check_nan)

    def __exit__(self, *exc):
        _C._set_anomaly(*self.prev)


class set_detect_anomaly:
    """Switches anomaly mode to `mode`, at once; as a context, until its end."""

    def __init__(self, mode, check_nan=True):
        self.prev = _C.is_anomaly_enabled(), _C.is_anomaly_check_nan_enabled()
        _C._set_anomaly(mode, check_nan)

    def __enter__(self):
        pass

    def __exit__(self, *exc):
        _C._set_anomaly(*self.prev)
