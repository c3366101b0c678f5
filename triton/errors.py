"""triton.errors: what all errors of this package are."""
from .compiler.errors import TritonError

__all__ = ["TritonError"]
