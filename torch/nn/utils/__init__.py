"""`torch.nn.utils`: what is done to modules and their parameters, loaded when asked for."""

from __future__ import annotations

from importlib import import_module

# Functions named as their files: once bound, the import of a file no longer replaces them.
from torch.nn.utils.spectral_norm import remove_spectral_norm, spectral_norm  # noqa: F401
from torch.nn.utils.weight_norm import remove_weight_norm, weight_norm  # noqa: F401

_CONTENTS = {
    "clip_grad": """
        clip_grad_norm clip_grad_norm_ clip_grad_value_ clip_grads_with_norm_ get_total_norm""",
    "convert_parameters": "parameters_to_vector vector_to_parameters",
    "fusion": """
        fuse_conv_bn_eval fuse_conv_bn_weights fuse_linear_bn_eval fuse_linear_bn_weights""",
    "init": "skip_init",
    "memory_format": """
        convert_conv2d_weight_memory_format convert_conv3d_weight_memory_format""",
    "spectral_norm": "spectral_norm remove_spectral_norm",
    "weight_norm": "weight_norm remove_weight_norm",
    "parametrizations": "",
    "parametrize": "",
    "prune": "",
    "rnn": "",
    "stateless": "",
}
_FILE_OF = {name: file for file, names in _CONTENTS.items() for name in names.split()}

__all__ = sorted(_FILE_OF)


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
