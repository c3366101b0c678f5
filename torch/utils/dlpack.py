"""Tensors from and for other libraries, without a copy."""

import enum

import torch
from torch import _C

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]


class DLDeviceType(enum.IntEnum):
    """The numbers of device types in DLPack."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17


def to_dlpack(tensor):
    """A capsule of the tensor's memory, which another library may take over once."""
    return _C._to_dlpack(tensor, False)


def from_dlpack(ext_tensor, *, device=None, copy=None):
    """A tensor over the memory of an object with `__dlpack__`, or of a capsule.

    `copy=True` copies; False raises ValueError where `device` would need one.
    """
    if not hasattr(ext_tensor, "__dlpack__"):
        if device is not None or copy is not None:
            raise RuntimeError("device and copy need an object with __dlpack__, got "
                               f"{type(ext_tensor).__name__}")
        return _C._from_dlpack(ext_tensor)
    kind, _ = ext_tensor.__dlpack_device__()
    kind = int(kind)
    if kind not in (DLDeviceType.kDLCPU, DLDeviceType.kDLCUDAHost):
        raise RuntimeError(f"an object on the device type {kind} cannot be read: only memory of "
                           "the cpu can")
    try:
        capsule = ext_tensor.__dlpack__(max_version=(1, 0))
    except TypeError:
        capsule = ext_tensor.__dlpack__()
    tensor = _C._from_dlpack(capsule)
    if device is not None and torch.device(device).type != "cpu":
        if copy is False:
            raise ValueError(f"copy=False, but device={device} needs a copy from the cpu")
        return tensor.to(device)
    return tensor.clone() if copy else tensor
