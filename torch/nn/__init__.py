"""`torch.nn`: layers, losses and what is needed to build models.

Layers are loaded when they are first asked for, so that importing this package costs little.
"""

from __future__ import annotations

from importlib import import_module

from torch.nn import modules as _modules

_PARAMETERS = ("Parameter", "UninitializedParameter", "Buffer", "UninitializedBuffer")
_SUBMODULES = frozenset(
    [
        "attention",
        "common_types",
        "functional",
        "grad",
        "init",
        "modules",
        "parallel",
        "parameter",
        "utils",
        "_reduction",
        "intrinsic",
        "qat",
        "quantizable",
        "quantized",
    ]
)

__all__ = [*_modules.__all__, *_PARAMETERS, "DataParallel", "factory_kwargs"]


def factory_kwargs(kwargs):
    """The keyword arguments of a factory function that are in `kwargs`, or in its entry
    ``factory_kwargs``; TypeError for an argument given in both or unknown."""
    if kwargs is None:
        return {}
    known = {"device", "dtype", "memory_format"}
    unknown = kwargs.keys() - known - {"factory_kwargs"}
    if unknown:
        raise TypeError(f"unexpected keyword arguments {sorted(unknown)}")
    result = dict(kwargs.get("factory_kwargs", {}))
    for k in known:
        if k in kwargs:
            if k in result:
                raise TypeError(f"{k} is given both itself and in factory_kwargs")
            result[k] = kwargs[k]
    return result


def __getattr__(name):
    from torch import _absent
    if name in _modules._FILE_OF:
        value = getattr(_modules, name)
    elif name in _PARAMETERS:
        value = getattr(import_module("torch.nn.parameter"), name)
    elif name == "DataParallel":
        value = import_module("torch.nn.parallel").DataParallel
    elif name in _SUBMODULES:
        try:
            return import_module(f"{__name__}.{name}")
        except ModuleNotFoundError as e:
            raise _absent.NotThereYet(f"{__name__}.{name} is not there yet") from e
    else:
        raise _absent.error(__name__, name)
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *__all__, *_SUBMODULES})
