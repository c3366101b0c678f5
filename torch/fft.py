"""Discrete Fourier transforms."""
from torch import _C

globals().update({k: v for k, v in vars(_C._fft).items() if not k.startswith("__")})


_NOT_YET = frozenset("""fft fft2 fftfreq fftn fftshift hfft hfft2 hfftn ifft ifft2 ifftn ifftshift ihfft ihfft2 ihfftn irfft irfft2
                     irfftn rfft rfft2 rfftfreq rfftn""".split())


def __getattr__(name):
    if name in _NOT_YET:
        def missing(*args, **kwargs):
            raise NotImplementedError(f"torch.fft.{name} is not there yet")
        missing.__name__ = name
        return missing
    raise AttributeError(f"module 'torch.fft' has no attribute {name!r}")
