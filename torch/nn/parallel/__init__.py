"""`torch.nn.parallel`: one module on several devices or in several processes."""

from __future__ import annotations

from importlib import import_module

# Functions named as their files: once bound, the import of a file no longer replaces them.
from torch.nn.parallel.data_parallel import DataParallel, data_parallel
from torch.nn.parallel.parallel_apply import parallel_apply
from torch.nn.parallel.replicate import replicate

_CONTENTS = {
    "data_parallel": "DataParallel data_parallel",
    "distributed": "DistributedDataParallel",
    "parallel_apply": "parallel_apply",
    "replicate": "replicate",
    "scatter_gather": "gather scatter scatter_kwargs",
}
_FILE_OF = {name: file for file, names in _CONTENTS.items() for name in names.split()}

__all__ = [
    "replicate",
    "scatter",
    "parallel_apply",
    "gather",
    "data_parallel",
    "DataParallel",
    "DistributedDataParallel",
]


def __getattr__(name):
    file = _FILE_OF.get(name)
    if file is not None:
        value = globals()[name] = getattr(import_module(f"{__name__}.{file}"), name)
        return value
    if name in _CONTENTS:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *_FILE_OF, *_CONTENTS})
