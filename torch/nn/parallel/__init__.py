"""`torch.nn.parallel`: one module on several devices or in several processes."""

from __future__ import annotations

from importlib import import_module

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
        module = import_module(f"{__name__}.{file}")
        # A file named as one of its functions is bound here by its import: the function wins.
        for n in _CONTENTS[file].split():
            globals()[n] = getattr(module, n)
        return globals()[name]
    if name in _CONTENTS:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *_FILE_OF, *_CONTENTS})
