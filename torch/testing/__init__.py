"""Comparing and making tensors in tests."""

from torch.testing._comparison import assert_allclose, assert_close
from torch.testing._creation import make_tensor
from torch.testing._file_check import FileCheck

__all__ = ["FileCheck", "assert_allclose", "assert_close", "make_tensor"]
