"""multiprocessing whose queues, pipes and arguments carry tensors in shared memory."""

import multiprocessing
from multiprocessing import *  # noqa: F403

from torch.multiprocessing import _shared_memory
from torch.multiprocessing.spawn import (ProcessContext, ProcessException, ProcessExitedException,
                                         ProcessRaisedException, SpawnContext, spawn,
                                         start_processes)

_shared_memory.register()

__all__ = [*multiprocessing.__all__, "set_sharing_strategy", "get_sharing_strategy",
           "get_all_sharing_strategies", "ProcessContext", "ProcessException",
           "ProcessExitedException", "ProcessRaisedException", "SpawnContext", "spawn",
           "start_processes"]


def get_sharing_strategy():
    """How memory is shared: by file descriptors."""
    return "file_descriptor"


def get_all_sharing_strategies():
    return {"file_descriptor"}


def set_sharing_strategy(new_strategy):
    """Raises NotImplementedError for any other strategy than file descriptors."""
    if new_strategy != "file_descriptor":
        raise NotImplementedError(f"the sharing strategy {new_strategy!r}")
