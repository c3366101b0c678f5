"""Batch normalisation."""

from __future__ import annotations

import sys

import torch
from torch.nn import functional as F
from torch.nn import init
from torch.nn.modules.lazy import LazyModuleMixin
from torch.nn.modules.module import Module
from torch.nn.parameter import Parameter, UninitializedBuffer, UninitializedParameter

__all__ = [
    "BatchNorm1d",
    "LazyBatchNorm1d",
    "BatchNorm2d",
    "LazyBatchNorm2d",
    "BatchNorm3d",
    "LazyBatchNorm3d",
    "SyncBatchNorm",
]


class _NormBase(Module):
    """Parameters and running statistics of a normalisation of `num_features` channels."""

    _version = 2
    __constants__ = ["track_running_stats", "momentum", "eps", "num_features", "affine"]

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device=None,
        dtype=None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        if affine:
            self.weight = Parameter(torch.empty(num_features, device=device, dtype=dtype))
        else:
            self.register_parameter("weight", None)
        if affine and bias:
            self.bias = Parameter(torch.empty(num_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        if track_running_stats:
            self.register_buffer(
                "running_mean", torch.zeros(num_features, device=device, dtype=dtype)
            )
            self.register_buffer(
                "running_var", torch.ones(num_features, device=device, dtype=dtype)
            )
            self.register_buffer(
                "num_batches_tracked", torch.tensor(0, dtype=torch.long, device=device)
            )
        else:
            self.register_buffer("running_mean", None)
            self.register_buffer("running_var", None)
            self.register_buffer("num_batches_tracked", None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Sets the running mean to 0, the running variance to 1 and the count to 0."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Sets the weight to 1 and the bias to 0, and resets the running statistics."""
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def _check_input_dim(self, input):
        raise NotImplementedError

    def extra_repr(self):
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(
        self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ):
        version = local_metadata.get("version", None)
        key = prefix + "num_batches_tracked"
        # The count does not exist in states saved before version 2.
        if (version is None or version < 2) and self.track_running_stats and key not in state_dict:
            own = self.num_batches_tracked
            state_dict[key] = (
                own if own is not None and not own.is_meta else torch.tensor(0, dtype=torch.long)
            )
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


class _BatchNorm(_NormBase):
    def _factor(self):
        """The weight of this batch in the running statistics; counts the batch."""
        factor = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # the plain mean of all batches so far
                factor = 1.0 / float(self.num_batches_tracked)
        return factor

    def forward(self, input):
        self._check_input_dim(input)
        factor = self._factor()
        mean, var = self.running_mean, self.running_var
        use_batch = self.training or (mean is None and var is None)
        if self.training and not self.track_running_stats:
            mean = var = None
        return F.batch_norm(input, mean, var, self.weight, self.bias, use_batch, factor, self.eps)


class _LazyNormBase(LazyModuleMixin, _NormBase):
    weight: UninitializedParameter
    bias: UninitializedParameter

    def __init__(
        self,
        eps=1e-5,
        momentum=0.1,
        affine=True,
        track_running_stats=True,
        device=None,
        dtype=None,
        *,
        bias=True,
    ) -> None:
        # The base is made without features, parameters or statistics, at no cost.
        super().__init__(0, eps, momentum, False, False, device, dtype)
        self.affine = affine
        self.track_running_stats = track_running_stats
        if affine:
            self.weight = UninitializedParameter(device=device, dtype=dtype)
            if bias:
                self.bias = UninitializedParameter(device=device, dtype=dtype)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = torch.tensor(0, dtype=torch.long, device=device)

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input) -> None:
        if not self.has_uninitialized_params():
            return
        self.num_features = input.shape[1]
        for t in (self.weight, self.bias, self.running_mean, self.running_var):
            if t is not None:
                t.materialize((self.num_features,))
        self.reset_parameters()


class BatchNorm1d(_BatchNorm):
    """Normalises each channel over the batch and the sequence (Ioffe and Szegedy, 2015).

    Args:
        num_features (int): the number of channels C.
        eps (float): added to the variance.
        momentum (float or None): the weight of a batch in the running statistics; None means
            the plain mean of all batches.
        affine (bool): whether a learned weight and, unless ``bias=False``, bias follow.
        track_running_stats (bool): whether running statistics are kept, for evaluation.

    Shape: (N, C) or (N, C, L), kept. Raises ValueError for other numbers of dimensions.
    """

    def _check_input_dim(self, input):
        if input.dim() not in (2, 3):
            raise ValueError(
                f"{type(self).__name__} needs an input of 2 or 3 dimensions, but got "
                f"{input.dim()}: "
                f"{tuple(input.shape)}"
            )


class LazyBatchNorm1d(_LazyNormBase, _BatchNorm):
    """A `BatchNorm1d` whose `num_features` is taken from its first input."""

    cls_to_become = BatchNorm1d
    _check_input_dim = BatchNorm1d._check_input_dim


class BatchNorm2d(_BatchNorm):
    """Normalises each channel over the batch and the image; see `BatchNorm1d`.

    Shape: (N, C, H, W), kept.
    """

    def _check_input_dim(self, input):
        if input.dim() != 4:
            raise ValueError(
                f"{type(self).__name__} needs an input of 4 dimensions, but got {input.dim()}: "
                f"{tuple(input.shape)}"
            )


class LazyBatchNorm2d(_LazyNormBase, _BatchNorm):
    """A `BatchNorm2d` whose `num_features` is taken from its first input."""

    cls_to_become = BatchNorm2d
    _check_input_dim = BatchNorm2d._check_input_dim


class BatchNorm3d(_BatchNorm):
    """Normalises each channel over the batch and the volume; see `BatchNorm1d`.

    Shape: (N, C, D, H, W), kept.
    """

    def _check_input_dim(self, input):
        if input.dim() != 5:
            raise ValueError(
                f"{type(self).__name__} needs an input of 5 dimensions, but got {input.dim()}: "
                f"{tuple(input.shape)}"
            )


class LazyBatchNorm3d(_LazyNormBase, _BatchNorm):
    """A `BatchNorm3d` whose `num_features` is taken from its first input."""

    cls_to_become = BatchNorm3d
    _check_input_dim = BatchNorm3d._check_input_dim


class SyncBatchNorm(_BatchNorm):
    """Batch normalisation over the batches of all processes of a group.

    In a single process it is `BatchNorm1d` and the like; training with more than one process is
    not implemented and raises NotImplementedError.

    Shape: (N, C, ...) of at least 2 dimensions, kept.
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group=None,
        device=None,
        dtype=None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )
        self.process_group = process_group

    def _check_input_dim(self, input):
        if input.dim() < 2:
            raise ValueError(
                f"{type(self).__name__} needs an input of at least 2 dimensions, but got "
                f"{input.dim()}: "
                f"{tuple(input.shape)}"
            )

    def _check_non_zero_input_channels(self, input):
        if input.size(1) == 0:
            raise ValueError(
                f"{type(self).__name__} needs at least one channel, but got {tuple(input.shape)}"
            )

    def _processes(self):
        """How many processes share the statistics: one without an initialised process group."""
        distributed = sys.modules.get("torch.distributed")
        if (
            distributed is None
            or not distributed.is_available()
            or not distributed.is_initialized()
        ):
            return 1
        return distributed.get_world_size(self.process_group)

    def forward(self, input):
        self._check_input_dim(input)
        self._check_non_zero_input_channels(input)
        mean, var = self.running_mean, self.running_var
        use_batch = self.training or (mean is None and var is None)
        if use_batch and self.training and self._processes() > 1:
            raise NotImplementedError("SyncBatchNorm over several processes is not implemented")
        factor = self._factor()
        if self.training and not self.track_running_stats:
            mean = var = None
        return F.batch_norm(input, mean, var, self.weight, self.bias, use_batch, factor, self.eps)

    @classmethod
    def convert_sync_batchnorm(cls, module, process_group=None):
        """`module` with every batch normalisation in it replaced by a SyncBatchNorm that takes
        over its parameters and statistics."""
        output = module
        if isinstance(module, _BatchNorm):
            output = SyncBatchNorm(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
                bias=module.bias is not None,
            )
            if module.affine:
                with torch.no_grad():
                    output.weight = module.weight
                    output.bias = module.bias
            output.running_mean = module.running_mean
            output.running_var = module.running_var
            output.num_batches_tracked = module.num_batches_tracked
            output.training = module.training
        for name, child in module.named_children():
            output.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return output
