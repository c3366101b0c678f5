"""The parts of the loader: making batches, fetching samples, worker processes."""

from torch.utils.data._utils import collate, fetch, pin_memory, worker

__all__ = ["collate", "fetch", "pin_memory", "worker"]
