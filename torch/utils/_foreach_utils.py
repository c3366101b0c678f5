"""Lists of tensors by device and dtype."""

import torch
from torch.optim.optimizer import (Optimizer, _get_foreach_kernels_supported_devices,
                                   _get_fused_kernels_supported_devices)

__all__ = ["_get_foreach_kernels_supported_devices", "_get_fused_kernels_supported_devices",
           "_group_tensors_by_device_and_dtype", "_device_has_foreach_support",
           "_has_foreach_support"]

_foreach_supported_types = [torch.Tensor]


@torch.no_grad()
def _group_tensors_by_device_and_dtype(tensorlistlist, with_indices=False):
    """{(device, dtype): (lists, indices)} of parallel lists, by the entries of the first."""
    return Optimizer._group_tensors_by_device_and_dtype(tensorlistlist, with_indices)


def _device_has_foreach_support(device):
    """Whether functions on lists pay on the device."""
    return device.type in (_get_foreach_kernels_supported_devices() + ["cpu"])


def _has_foreach_support(tensors, device):
    return _device_has_foreach_support(device) and all(
        t is None or type(t) in _foreach_supported_types for t in tensors)
