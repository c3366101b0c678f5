"""One module in several processes."""

from __future__ import annotations

from torch.nn.modules.module import Module

__all__ = ["DistributedDataParallel"]


class DistributedDataParallel(Module):
    """Averages gradients over the processes of a group: not implemented; making one raises
    NotImplementedError."""

    def __init__(self, module, *args, **kwargs) -> None:
        raise NotImplementedError("DistributedDataParallel is not implemented")
