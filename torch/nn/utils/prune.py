"""Pruning: keeping chosen elements of a parameter at zero by a mask."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable

import torch

__all__ = [
    "BasePruningMethod",
    "PruningContainer",
    "Identity",
    "RandomUnstructured",
    "L1Unstructured",
    "RandomStructured",
    "LnStructured",
    "CustomFromMask",
    "identity",
    "random_unstructured",
    "l1_unstructured",
    "random_structured",
    "ln_structured",
    "global_unstructured",
    "custom_from_mask",
    "remove",
    "is_pruned",
]


class BasePruningMethod(ABC):
    """A hook before forward that multiplies a parameter by a mask of its shape.

    A subclass defines `compute_mask` and `PRUNING_TYPE`: ``unstructured`` (single elements),
    ``structured`` (slices along a dimension) or ``global``.
    """

    _tensor_name: str

    def __call__(self, module, inputs) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t, default_mask):
        """The mask for `t`, within `default_mask`, the mask of earlier prunings."""

    def apply_mask(self, module):
        """The pruned parameter: the original times the mask."""
        if self._tensor_name is None:
            raise AssertionError(f"{type(self).__name__} has not been applied to a parameter yet")
        mask = getattr(module, self._tensor_name + "_mask")
        orig = getattr(module, self._tensor_name + "_orig")
        return mask.to(dtype=orig.dtype) * orig

    @classmethod
    def apply(cls, module, name, *args, importance_scores=None, **kwargs):
        """Prunes the parameter `name` of `module` by this method, on top of earlier prunings."""
        old = [
            (k, hook)
            for k, hook in module._forward_pre_hooks.items()
            if isinstance(hook, BasePruningMethod) and hook._tensor_name == name
        ]
        if len(old) > 1:
            raise AssertionError(
                f"the parameter {name!r} has {len(old)} pruning hooks, but at most one can be"
            )
        method = cls(*args, **kwargs)
        method._tensor_name = name
        if old:
            # From the second pruning on the hook is a container of all of them.
            k, hook = old[0]
            container = hook if isinstance(hook, PruningContainer) else PruningContainer(hook)
            del module._forward_pre_hooks[k]
            container.add_pruning_method(method)
            method = container
        orig = getattr(module, name)
        if importance_scores is None:
            importance_scores = orig
        elif importance_scores.shape != orig.shape:
            raise AssertionError(
                f"importance_scores must have the parameter's shape {tuple(orig.shape)}, but have "
                f"{tuple(importance_scores.shape)}"
            )
        if not old:
            module.register_parameter(name + "_orig", orig)
            del module._parameters[name]
            default_mask = torch.ones_like(orig)
        else:
            default_mask = (
                getattr(module, name + "_mask")
                .detach()
                .clone(memory_format=torch.contiguous_format)
            )
        try:
            mask = method.compute_mask(importance_scores, default_mask=default_mask)
            module.register_buffer(name + "_mask", mask)
            setattr(module, name, method.apply_mask(module))
            module.register_forward_pre_hook(method)
        except Exception:
            if not old:
                module.register_parameter(name, getattr(module, name + "_orig"))
                del module._parameters[name + "_orig"]
            raise
        return method

    def prune(self, t, default_mask=None, importance_scores=None):
        """`t` pruned by this method, without a module."""
        if importance_scores is None:
            importance_scores = t
        elif importance_scores.shape != t.shape:
            raise AssertionError(
                f"importance_scores must have the tensor's shape {tuple(t.shape)}, but have "
                f"{tuple(importance_scores.shape)}"
            )
        if default_mask is None:
            default_mask = torch.ones_like(t)
        return t * self.compute_mask(importance_scores, default_mask=default_mask)

    def remove(self, module) -> None:
        """Makes the pruned values permanent and drops mask and original."""
        if self._tensor_name is None:
            raise AssertionError(f"{type(self).__name__} has not been applied to a parameter yet")
        weight = self.apply_mask(module)
        if hasattr(module, self._tensor_name):
            delattr(module, self._tensor_name)
        orig = module._parameters[self._tensor_name + "_orig"]
        orig.data = weight.data
        del module._parameters[self._tensor_name + "_orig"]
        del module._buffers[self._tensor_name + "_mask"]
        setattr(module, self._tensor_name, orig)


class PruningContainer(BasePruningMethod):
    """Several prunings of one parameter, one after the other."""

    def __init__(self, *args) -> None:
        self._pruning_methods = ()
        if len(args) == 1 and not isinstance(args[0], Iterable):
            self._tensor_name = args[0]._tensor_name
            self.add_pruning_method(args[0])
        elif len(args) == 0 or args[0] is None:
            self._tensor_name = None
        else:
            for method in args[0] if len(args) == 1 else args:
                self._tensor_name = method._tensor_name
                self.add_pruning_method(method)

    def add_pruning_method(self, method) -> None:
        """Adds a pruning of the same parameter; TypeError for anything else."""
        if not isinstance(method, BasePruningMethod) and method is not None:
            raise TypeError(f"{type(method)} is no BasePruningMethod")
        if method is not None and self._tensor_name != method._tensor_name:
            raise ValueError(
                f"this container prunes {self._tensor_name!r}, but the method prunes "
                f"{method._tensor_name!r}"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self):
        return iter(self._pruning_methods)

    def __getitem__(self, idx):
        return self._pruning_methods[idx]

    def compute_mask(self, t, default_mask):
        """The mask of the last method, computed on what the earlier ones left."""
        method = self._pruning_methods[-1]
        mask = default_mask.to(dtype=t.dtype)
        if method.PRUNING_TYPE == "unstructured":
            where = mask == 1
        elif method.PRUNING_TYPE == "structured":
            if not hasattr(method, "dim"):
                raise AttributeError("a structured pruning method needs an attribute dim")
            dim = method.dim if method.dim >= 0 else method.dim + t.dim()
            # Slices that are all pruned count no more.
            keep = mask.sum(dim=[d for d in range(t.dim()) if d != dim]) != 0
            where = [slice(None)] * t.dim()
            where[dim] = keep
            where = tuple(where)
        elif method.PRUNING_TYPE == "global":
            where = (slice(None),) * t.dim()
        else:
            raise ValueError(
                f"PRUNING_TYPE must be 'unstructured', 'structured' or 'global', but is "
                f"{method.PRUNING_TYPE!r}"
            )
        partial = method.compute_mask(t[where], default_mask=mask[where])
        new_mask = mask.clone()
        new_mask[where] = partial.to(dtype=new_mask.dtype)
        return new_mask


def _validate_pruning_amount_init(amount) -> None:
    """TypeError for no number, ValueError for a share outside [0, 1] or a negative count."""
    if isinstance(amount, bool) or not isinstance(amount, (int, float)):
        raise TypeError(f"amount must be an int (a count) or a float (a share), but got {amount!r}")
    if amount < 0 or (isinstance(amount, float) and amount > 1.0):
        raise ValueError(f"amount must be a share between 0 and 1 or a count, but got {amount}")


def _validate_pruning_amount(amount, tensor_size) -> None:
    if isinstance(amount, int) and amount > tensor_size:
        raise ValueError(
            f"amount must be at most the {tensor_size} elements there are, but got {amount}"
        )


def _validate_structured_pruning(t) -> None:
    if t.dim() <= 1:
        raise ValueError(
            "structured pruning needs a tensor of at least 2 dimensions, but got "
            f"{tuple(t.shape)}: use "
            "an unstructured method"
        )


def _compute_nparams_toprune(amount, tensor_size):
    return amount if isinstance(amount, int) else round(amount * tensor_size)


def _validate_pruning_dim(t, dim) -> None:
    if dim >= t.dim() or dim < -t.dim():
        raise IndexError(f"dim must be between {-t.dim()} and {t.dim() - 1}, but got {dim}")


def _compute_norm(t, n, dim):
    """The n-norm of each slice along `dim`: (t.size(dim))."""
    dims = [d for d in range(t.dim()) if d != dim % t.dim()]
    return torch.norm(t, p=n, dim=dims)


class Identity(BasePruningMethod):
    """Prunes nothing, but sets mask and original up."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t, default_mask):
        return default_mask

    @classmethod
    def apply(cls, module, name):
        return super().apply(module, name)


class RandomUnstructured(BasePruningMethod):
    """Prunes `amount` elements (a count or a share) at random."""

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def compute_mask(self, t, default_mask):
        n = _compute_nparams_toprune(self.amount, t.nelement())
        _validate_pruning_amount(n, t.nelement())
        mask = default_mask.clone(memory_format=torch.contiguous_format)
        if n != 0:
            topk = torch.topk(torch.rand_like(t).view(-1), k=n)
            mask.view(-1)[topk.indices] = 0
        return mask

    @classmethod
    def apply(cls, module, name, amount):
        return super().apply(module, name, amount=amount)


class L1Unstructured(BasePruningMethod):
    """Prunes the `amount` elements (a count or a share) of smallest magnitude."""

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def compute_mask(self, t, default_mask):
        n = _compute_nparams_toprune(self.amount, t.nelement())
        _validate_pruning_amount(n, t.nelement())
        mask = default_mask.clone(memory_format=torch.contiguous_format)
        if n != 0:
            topk = torch.topk(torch.abs(t).view(-1), k=n, largest=False)
            mask.view(-1)[topk.indices] = 0
        return mask

    @classmethod
    def apply(cls, module, name, amount, importance_scores=None):
        return super().apply(module, name, amount=amount, importance_scores=importance_scores)


def _slices_mask(t, keep, dim):
    """1 in the slices `keep` (indices or a boolean vector) along `dim`, 0 elsewhere."""
    mask = torch.zeros_like(t)
    where = [slice(None)] * t.dim()
    where[dim] = keep
    mask[tuple(where)] = 1
    return mask


class RandomStructured(BasePruningMethod):
    """Prunes `amount` slices (a count or a share) along `dim` at random."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount, dim=-1) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount
        self.dim = dim

    def compute_mask(self, t, default_mask):
        _validate_structured_pruning(t)
        _validate_pruning_dim(t, self.dim)
        size = t.shape[self.dim]
        n = _compute_nparams_toprune(self.amount, size)
        _validate_pruning_amount(n, size)
        prob = torch.rand(size)
        if n == 0:
            return default_mask
        threshold = torch.kthvalue(prob, k=n).values
        mask = _slices_mask(t, (prob > threshold).to(t.device), self.dim)
        return mask * default_mask.to(dtype=mask.dtype)

    @classmethod
    def apply(cls, module, name, amount, dim=-1):
        return super().apply(module, name, amount=amount, dim=dim)


class LnStructured(BasePruningMethod):
    """Prunes the `amount` slices (a count or a share) along `dim` of smallest n-norm."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount, n, dim=-1) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount
        self.n = n
        self.dim = dim

    def compute_mask(self, t, default_mask):
        _validate_structured_pruning(t)
        _validate_pruning_dim(t, self.dim)
        size = t.shape[self.dim]
        n = _compute_nparams_toprune(self.amount, size)
        _validate_pruning_amount(n, size)
        if n == 0:
            return default_mask
        topk = torch.topk(_compute_norm(t, self.n, self.dim), k=size - n, largest=True)
        mask = _slices_mask(t, topk.indices, self.dim)
        return mask * default_mask.to(dtype=mask.dtype)

    @classmethod
    def apply(cls, module, name, amount, n, dim, importance_scores=None):
        return super().apply(
            module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores
        )


class CustomFromMask(BasePruningMethod):
    """Prunes by a given mask."""

    PRUNING_TYPE = "global"

    def __init__(self, mask) -> None:
        self.mask = mask

    def compute_mask(self, t, default_mask):
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"the mask must have shape {tuple(default_mask.shape)}, but has "
                f"{tuple(self.mask.shape)}"
            )
        return default_mask * self.mask.to(dtype=default_mask.dtype)

    @classmethod
    def apply(cls, module, name, mask):
        return super().apply(module, name, mask=mask)


def identity(module, name):
    """Sets mask and original up without pruning; returns `module`, as all functions here."""
    Identity.apply(module, name)
    return module


def random_unstructured(module, name, amount):
    """Prunes `amount` elements (a count or a share) at random."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module, name, amount, importance_scores=None):
    """Prunes the `amount` elements of smallest magnitude, or of smallest score."""
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module, name, amount, dim):
    """Prunes `amount` slices along `dim` at random."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module, name, amount, n, dim, importance_scores=None):
    """Prunes the `amount` slices along `dim` of smallest `n`-norm."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def global_unstructured(parameters, pruning_method, importance_scores=None, **kwargs) -> None:
    """Prunes several parameters as if they were one tensor.

    Args:
        parameters (iterable of (Module, str)): the parameters.
        pruning_method (type): an unstructured method, made with `kwargs`.
        importance_scores (dict, optional): scores by (module, name) in place of the values.
    """
    if not isinstance(parameters, Iterable):
        raise TypeError(
            f"parameters must be an iterable of (module, name), but got {type(parameters).__name__}"
        )
    parameters = list(parameters)
    scores = importance_scores if importance_scores is not None else {}
    if not isinstance(scores, dict):
        raise TypeError(f"importance_scores must be a dict, but got {type(scores).__name__}")
    relevant = [scores.get((m, n), getattr(m, n)) for m, n in parameters]
    flat = torch.nn.utils.parameters_to_vector([t.reshape(-1) for t in relevant])
    masks = torch.nn.utils.parameters_to_vector(
        [getattr(m, n + "_mask", torch.ones_like(getattr(m, n))).reshape(-1) for m, n in parameters]
    )
    container = PruningContainer()
    container._tensor_name = "temp"
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    container.add_pruning_method(method)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            f"global pruning needs an unstructured method, but {pruning_method} is "
            f"{method.PRUNING_TYPE}"
        )
    final_mask = container.compute_mask(flat, masks)
    at = 0
    for module, name in parameters:
        param = getattr(module, name)
        n = param.numel()
        custom_from_mask(module, name, mask=final_mask[at : at + n].view_as(param))
        at += n


def custom_from_mask(module, name, mask):
    """Prunes by a given mask of the parameter's shape."""
    CustomFromMask.apply(module, name, mask)
    return module


def remove(module, name):
    """Makes the pruning of `name` permanent; ValueError where it is not pruned."""
    for k, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            hook.remove(module)
            del module._forward_pre_hooks[k]
            return module
    raise ValueError(f"the parameter {name!r} of {module} is not pruned")


def is_pruned(module) -> bool:
    """Whether any parameter of `module` or of those below it is pruned."""
    return any(
        isinstance(hook, BasePruningMethod)
        for m in module.modules()
        for hook in m._forward_pre_hooks.values()
    )
