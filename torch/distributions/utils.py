"""Parameters: broadcast, as probabilities or as logits, computed when first asked for."""

import functools

import torch

__all__ = ["broadcast_all", "logits_to_probs", "clamp_probs", "probs_to_logits", "lazy_property",
           "tril_matrix_to_vec", "vec_to_tril_matrix", "euler_constant"]

euler_constant = 0.57721566490153286060


def _number(x):
    return isinstance(x, (int, float, complex))


def broadcast_all(*values):
    """The values (tensors or numbers) as tensors of one shape; numbers take the tensors' dtype."""
    if not all(isinstance(v, torch.Tensor) or _number(v) for v in values):
        raise ValueError("parameters must be tensors or numbers, got "
                         f"{[type(v).__name__ for v in values]}")
    if not all(isinstance(v, torch.Tensor) for v in values):
        options = {"dtype": torch.get_default_dtype()}
        for v in values:
            if isinstance(v, torch.Tensor):
                options = {"dtype": v.dtype, "device": v.device}
                break
        values = [v if isinstance(v, torch.Tensor) else torch.tensor(v, **options)
                  for v in values]
    return torch.broadcast_tensors(*values)


def _standard_normal(shape, dtype, device):
    return torch.normal(torch.zeros(shape, dtype=dtype, device=device),
                        torch.ones(shape, dtype=dtype, device=device))


def _sum_rightmost(value, dim):
    """The sum over the last `dim` dimensions."""
    return value if dim == 0 else value.reshape(value.shape[:-dim] + (-1,)).sum(-1)


def logits_to_probs(logits, is_binary=False):
    """Probabilities of log odds, or of unnormalised log probabilities along the last dimension."""
    return torch.sigmoid(logits) if is_binary else torch.nn.functional.softmax(logits, dim=-1)


def clamp_probs(probs):
    """Probabilities kept off 0 and 1 by the precision of the dtype."""
    eps = torch.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs, is_binary=False):
    """Log odds of probabilities, or their logarithms."""
    clamped = clamp_probs(probs)
    return torch.log(clamped) - torch.log1p(-clamped) if is_binary else torch.log(clamped)


class lazy_property:
    """An attribute that is computed when first read."""

    def __init__(self, wrapped):
        self.wrapped = wrapped
        functools.update_wrapper(self, wrapped)

    def __get__(self, instance, obj_type=None):
        if instance is None:
            return _lazy_property_and_property(self.wrapped)
        with torch.enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


class _lazy_property_and_property(lazy_property, property):
    """What a class shows of a lazy property, for documentation."""

    def __init__(self, wrapped):
        property.__init__(self, wrapped)


def tril_matrix_to_vec(mat, diag=0):
    """The elements on and below a diagonal of (..., n, n), row by row."""
    n = mat.shape[-1]
    if diag < -n or diag >= n:
        raise ValueError(f"diag must be in [{-n}, {n - 1}], got {diag}")
    rows = torch.arange(n, device=mat.device)
    mask = rows.unsqueeze(0) < rows.unsqueeze(1) + (diag + 1)
    return mat[..., mask]


def vec_to_tril_matrix(vec, diag=0):
    """The inverse of `tril_matrix_to_vec`, with zeros elsewhere."""
    n = (-(1 + 2 * diag) + ((1 + 2 * diag) ** 2 + 8 * vec.shape[-1]
                            + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    size = round(n)
    if round(n) - n > torch.finfo(vec.dtype).eps:
        raise ValueError(f"{vec.shape[-1]} elements do not fill a triangle")
    mat = torch.zeros(vec.shape[:-1] + (size, size), dtype=vec.dtype, device=vec.device)
    rows = torch.arange(size, device=vec.device)
    mat[..., rows.unsqueeze(0) < rows.unsqueeze(1) + (diag + 1)] = vec
    return mat
