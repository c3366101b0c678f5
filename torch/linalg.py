"""Linear algebra. Factorisations come with LAPACK and are not there yet; products and norms are."""
from torch import _C

globals().update({k: v for k, v in vars(_C._linalg).items() if not k.startswith("__")})


class LinAlgError(RuntimeError):
    """A factorisation failed, e.g. of a singular matrix."""


def __getattr__(name):
    from torch import _absent
    raise _absent.error(__name__, name)
