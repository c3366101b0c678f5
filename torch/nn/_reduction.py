"""The numbers by which the loss operators know a reduction."""

from __future__ import annotations

import warnings

__all__ = ["get_enum", "legacy_get_string", "legacy_get_enum"]

_NUMBER = {"none": 0, "mean": 1, "sum": 2}


def get_enum(reduction: str) -> int:
    """The operators' number of ``"none"`` (0), ``"mean"`` (1) or ``"sum"`` (2)."""
    number = _NUMBER.get(reduction)
    if number is not None:
        return number
    if reduction == "elementwise_mean":
        warnings.warn("the reduction 'elementwise_mean' is called 'mean' now", stacklevel=2)
        return 1
    raise ValueError(f"reduction must be 'none', 'mean' or 'sum', but got {reduction!r}")


def legacy_get_string(size_average, reduce, emit_warning: bool = True) -> str:
    """The reduction that the two old flags stand for; None counts as True."""
    average = True if size_average is None else size_average
    combine = True if reduce is None else reduce
    name = ("mean" if average else "sum") if combine else "none"
    if emit_warning:
        warnings.warn(
            f"size_average and reduce are deprecated: use reduction={name!r} instead", stacklevel=3
        )
    return name


def legacy_get_enum(size_average, reduce, emit_warning: bool = True) -> int:
    """`legacy_get_string` as the operators' number."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))
