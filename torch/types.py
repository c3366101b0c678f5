"""Names for annotations."""
import builtins
import os
from collections.abc import Sequence
from typing import Any, Union

import torch

_TensorOrTensors = Union[torch.Tensor, Sequence[torch.Tensor]]
_TensorOrTensorsOrGradEdge = Any
_int, _float, _bool, _complex = builtins.int, builtins.float, builtins.bool, builtins.complex
_dtype, _device, _layout, _size = torch.dtype, torch.device, torch.layout, Union[torch.Size, list[int], tuple[int, ...]]
_qscheme = Any
_symint = Union[int, torch.SymInt]
Number = Union[int, float, bool]
Device = Union[torch.device, str, int, None]
DeviceLikeType = Union[str, torch.device, int]
FileLike = Union[str, os.PathLike, Any]
Storage = Any
IntLikeType = Union[int, torch.SymInt]
FloatLikeType = Union[float, torch.SymFloat]
BoolLikeType = Union[bool, torch.SymBool]
