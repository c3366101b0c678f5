"""The operators that are functions of `torch.nn.functional` as they are."""

from __future__ import annotations

import torch


def builtin(name, home=torch):
    """The operator `name` of `home`, or of torch._C._nn for None. Where this build lacks it, its
    composition of others, or a function that raises NotImplementedError."""
    found = getattr(torch._C._nn if home is None else home, name, None)
    if found is not None:
        return found
    from torch.nn.functional import _composed

    found = getattr(_composed, name, None)
    if found is not None:
        return found

    def missing(*args, **kwargs):
        raise NotImplementedError(f"the operator {name} is not implemented")

    missing.__name__ = missing.__qualname__ = name
    return missing
