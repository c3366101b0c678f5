"""Instance normalisation."""

from __future__ import annotations

import warnings

from torch.nn import functional as F
from torch.nn.modules.batchnorm import _LazyNormBase, _NormBase

__all__ = [
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "LazyInstanceNorm1d",
    "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
]


class _InstanceNorm(_NormBase):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device=None,
        dtype=None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )

    def _get_no_batch_dim(self):
        raise NotImplementedError

    def _apply_instance_norm(self, input):
        return F.instance_norm(
            input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            self.momentum if self.momentum is not None else 0.0,
            self.eps,
        )

    def _load_from_state_dict(
        self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ):
        # States saved before version 1 have running statistics even where they are not tracked.
        if local_metadata.get("version", None) is None and not self.track_running_stats:
            stale = [
                prefix + n for n in ("running_mean", "running_var") if prefix + n in state_dict
            ]
            if stale:
                error_msgs.append(
                    f"{type(self).__name__} does not track running statistics, but the state dict "
                    "has "
                    f"{' and '.join(stale)}: remove them, or make the module with "
                    "track_running_stats=True"
                )
                for key in stale:
                    state_dict.pop(key)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )

    def forward(self, input):
        self._check_input_dim(input)
        feature_dim = input.dim() - self._get_no_batch_dim()
        if input.size(feature_dim) != self.num_features:
            if self.affine:
                raise ValueError(
                    f"the input's dimension {feature_dim} must be num_features "
                    f"{self.num_features}, but is "
                    f"{input.size(feature_dim)}"
                )
            warnings.warn(
                f"the input's dimension {feature_dim} is {input.size(feature_dim)} and not "
                "num_features "
                f"{self.num_features}, which has no effect as affine is False",
                stacklevel=2,
            )
        if input.dim() == self._get_no_batch_dim():
            return self._apply_instance_norm(input.unsqueeze(0)).squeeze(0)
        return self._apply_instance_norm(input)

    def _check_input_dim(self, input):
        n = self._get_no_batch_dim()
        if input.dim() not in (n, n + 1):
            raise ValueError(
                f"{type(self).__name__} needs an input of {n} or {n + 1} dimensions, but got "
                f"{input.dim()}: {tuple(input.shape)}"
            )


class InstanceNorm1d(_InstanceNorm):
    """Normalises each channel of each sequence by itself (Ulyanov et al., 2016).

    Args as in `BatchNorm1d`, but without affine map and running statistics by default.

    Shape: (N, C, L) or (C, L), kept.
    """

    def _get_no_batch_dim(self):
        return 2


class LazyInstanceNorm1d(_LazyNormBase, _InstanceNorm):
    """An `InstanceNorm1d` whose `num_features` is taken from its first input."""

    cls_to_become = InstanceNorm1d

    def _get_no_batch_dim(self):
        return 2


class InstanceNorm2d(_InstanceNorm):
    """Normalises each channel of each image by itself; see `InstanceNorm1d`.

    Shape: (N, C, H, W) or (C, H, W), kept.
    """

    def _get_no_batch_dim(self):
        return 3


class LazyInstanceNorm2d(_LazyNormBase, _InstanceNorm):
    """An `InstanceNorm2d` whose `num_features` is taken from its first input."""

    cls_to_become = InstanceNorm2d

    def _get_no_batch_dim(self):
        return 3


class InstanceNorm3d(_InstanceNorm):
    """Normalises each channel of each volume by itself; see `InstanceNorm1d`.

    Shape: (N, C, D, H, W) or (C, D, H, W), kept.
    """

    def _get_no_batch_dim(self):
        return 4


class LazyInstanceNorm3d(_LazyNormBase, _InstanceNorm):
    """An `InstanceNorm3d` whose `num_features` is taken from its first input."""

    cls_to_become = InstanceNorm3d

    def _get_no_batch_dim(self):
        return 4
