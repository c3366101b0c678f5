"""One module on several GPUs of one process."""

from __future__ import annotations

import torch
from torch.nn.modules.module import Module

__all__ = ["DataParallel", "data_parallel"]


def _devices(device_ids):
    """The devices to use: none without CUDA."""
    cuda = getattr(torch, "cuda", None)
    if cuda is None or not cuda.is_available():
        return []
    ids = range(cuda.device_count()) if device_ids is None else device_ids
    return [d.index if isinstance(d, torch.device) else d for d in ids]


class DataParallel(Module):
    """Splits each batch over several GPUs, runs copies of `module` there and joins the results.

    Without CUDA, or with one device, the module is called as it is; several devices are not
    implemented and raise NotImplementedError.

    Args:
        module (Module): called with what this module is called with.
        device_ids (list, optional): the devices; all by default.
        output_device (optional): where results are joined; the first by default.
        dim (int): the dimension of the batch.
    """

    def __init__(self, module, device_ids=None, output_device=None, dim: int = 0) -> None:
        super().__init__()
        self.module = module
        self.device_ids = _devices(device_ids)
        if not self.device_ids:
            return
        if len(self.device_ids) > 1:
            raise NotImplementedError(
                f"DataParallel over several devices {self.device_ids} is not implemented: pass one "
                "device, or run one process for each"
            )
        self.dim = dim
        self.output_device = self.device_ids[0] if output_device is None else output_device
        self.src_device_obj = torch.device("cuda", self.device_ids[0])
        self.module.to(self.src_device_obj)

    def forward(self, *inputs, **kwargs):
        return self.module(*inputs, **kwargs)


def data_parallel(
    module, inputs, device_ids=None, output_device=None, dim: int = 0, module_kwargs=None
):
    """`DataParallel` as a function: the result of ``module(*inputs, **module_kwargs)``."""
    if not isinstance(inputs, tuple):
        inputs = (inputs,) if inputs is not None else ()
    devices = _devices(device_ids)
    if len(devices) > 1:
        raise NotImplementedError(
            f"data_parallel over several devices {devices} is not implemented: pass one device"
        )
    return module(*inputs, **(module_kwargs or {}))
