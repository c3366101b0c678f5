"""Discrete Fourier transforms; none is there yet."""
from torch import _C

globals().update({k: v for k, v in vars(_C._fft).items() if not k.startswith("__")})


def __getattr__(name):
    from torch import _absent
    raise _absent.error(__name__, name)
