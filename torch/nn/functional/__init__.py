"""`torch.nn.functional`: the layers as functions.

Each file of this folder holds one subject; this one gathers them under the public name.
"""

from __future__ import annotations

import torch  # noqa: F401
from torch.nn import _reduction as _Reduction  # noqa: F401
from torch.nn.functional._activation import *  # noqa: F403
from torch.nn.functional._activation import _get_softmax_dim, _threshold  # noqa: F401
from torch.nn.functional._attention import (  # noqa: F401
    _canonical_mask,
    _check_key_padding_mask,
    _in_projection,
    _in_projection_packed,
    _mha_shape_check,
    _none_or_dtype,
    multi_head_attention_forward,
    scaled_dot_product_attention,
)
from torch.nn.functional._dropout import *  # noqa: F403
from torch.nn.functional._loss import *  # noqa: F403
from torch.nn.functional._normalization import *  # noqa: F403
from torch.nn.functional._normalization import (  # noqa: F401
    _verify_batch_size,
    _verify_spatial_size,
)
from torch.nn.functional._pooling import *  # noqa: F403
from torch.nn.functional._pooling import _unpool_output_size  # noqa: F401
from torch.nn.functional._resampling import *  # noqa: F403
from torch.nn.functional._sparse import *  # noqa: F403
from torch.nn.functional._sparse import _no_grad_embedding_renorm_  # noqa: F401
from torch.nn.modules.utils import _list_with_default, _pair, _single, _triple  # noqa: F401

from torch.overrides import has_torch_function  # noqa: F401, E402

linear = torch._C._nn.linear
bilinear = torch.bilinear
conv1d = torch.conv1d
conv2d = torch.conv2d
conv3d = torch.conv3d
conv_tbc = torch.conv_tbc
conv_transpose1d = torch.conv_transpose1d
conv_transpose2d = torch.conv_transpose2d
conv_transpose3d = torch.conv_transpose3d
cosine_similarity = torch.cosine_similarity
pairwise_distance = torch.pairwise_distance
pdist = torch.pdist

_SCALED = ("ScalingType", "SwizzleType", "grouped_mm", "scaled_mm", "scaled_grouped_mm")


def __getattr__(name):
    # Rarely used, and their enumerations cost time to import.
    if name in _SCALED:
        from torch.nn.functional import _scaled_products

        for n in _SCALED:
            value = getattr(_scaled_products, n)
            value.__module__ = __name__
            globals()[n] = value
        return globals()[name]
    if name == "grad":
        import importlib

        return importlib.import_module("torch.nn.grad")
    from torch import _absent

    raise _absent.error(__name__, name)


def _adopt():
    # Functions are pickled by module and name, and the public name is this package's.
    for value in list(globals().values()):
        module = getattr(value, "__module__", None)
        if (
            isinstance(module, str)
            and module.startswith(__name__ + "._")
            and not isinstance(value, dict)
        ):
            value.__module__ = __name__


_adopt()
