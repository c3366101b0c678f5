"""Discrete Fourier transforms."""
from torch import _C

globals().update({k: v for k, v in vars(_C._fft).items() if not k.startswith("__")})
