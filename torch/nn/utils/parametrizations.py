"""Ready parametrizations: orthogonal matrices, weight and spectral normalisation."""

from __future__ import annotations

from enum import Enum, auto

import torch
from torch.nn import functional as F
from torch.nn.modules.module import Module
from torch.nn.utils import parametrize

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


def _is_orthogonal(Q, eps=None):
    n, k = Q.size(-2), Q.size(-1)
    identity = torch.eye(k, dtype=Q.dtype, device=Q.device)
    if eps is None:
        eps = 10.0 * n * torch.finfo(Q.dtype).eps
    return torch.allclose(Q.mH @ Q, identity, atol=eps)


def _make_orthogonal(A):
    """The orthogonal factor of A (n, k), n >= k, with the signs of A's QR decomposition."""
    X, tau = torch.geqrf(A)
    Q = torch.linalg.householder_product(X, tau)
    # Positive diagonal of R: Q is then unique, and A where A is orthogonal already.
    return Q * X.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


class _OrthMaps(Enum):
    matrix_exp = auto()
    cayley = auto()
    householder = auto()


class _Orthogonal(Module):
    """Maps any matrix (n, k) to one with orthonormal columns, or rows where n < k."""

    base: torch.Tensor

    def __init__(self, weight, orthogonal_map, *, use_trivialization=True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == _OrthMaps.householder:
            raise ValueError(
                "the householder map takes real matrices only, but the weight is complex"
            )
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X):
        n, k = X.size(-2), X.size(-1)
        transposed = n < k
        if transposed:
            X = X.mT
            n, k = k, n
        if self.orthogonal_map in (_OrthMaps.matrix_exp, _OrthMaps.cayley):
            # The lower triangle gives a skew matrix, whose exponential is orthogonal.
            X = X.tril()
            if n != k:
                X = torch.cat([X, X.new_zeros(n, n - k).expand(*X.shape[:-2], -1, -1)], dim=-1)
            A = X - X.mH
            if self.orthogonal_map == _OrthMaps.matrix_exp:
                Q = torch.matrix_exp(A)
            else:
                identity = torch.eye(n, dtype=A.dtype, device=A.device)
                Q = torch.linalg.solve(
                    torch.add(identity, A, alpha=-0.5), torch.add(identity, A, alpha=0.5)
                )
            if n != k:
                Q = Q[..., :k]
        else:
            # The lower triangle holds the vectors of the reflections, the diagonal signs.
            A = X.tril(diagonal=-1)
            tau = 2.0 / (1.0 + (A * A).sum(dim=-2))
            Q = torch.linalg.householder_product(A, tau)
            Q = Q * X.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)
        if hasattr(self, "base"):
            Q = self.base @ Q
        return Q.mT if transposed else Q

    @torch.autograd.no_grad()
    def right_inverse(self, Q):
        if Q.shape != self.shape:
            raise ValueError(
                f"the matrix must have shape {tuple(self.shape)}, but has {tuple(Q.shape)}"
            )
        Q_init = Q
        n, k = Q.size(-2), Q.size(-1)
        transposed = n < k
        if transposed:
            Q = Q.mT
            n, k = k, n
        if not hasattr(self, "base"):
            if self.orthogonal_map in (_OrthMaps.cayley, _OrthMaps.matrix_exp):
                raise NotImplementedError(
                    "without trivialization only the householder map can be assigned to"
                )
            A, tau = torch.geqrf(Q)
            diagonal = A.diagonal(dim1=-2, dim2=-1)
            diagonal.sign_()
            # Where the decomposition left a reflection out, forward still makes one.
            diagonal[tau == 0.0] *= -1
            return A.mT if transposed else A
        # The value goes into the base, and the original is what the map takes to the identity.
        if n == k:
            Q = Q.clone() if _is_orthogonal(Q) else _make_orthogonal(Q)
        else:
            N = torch.randn(*(Q.size()[:-2] + (n, n - k)), dtype=Q.dtype, device=Q.device)
            Q = _make_orthogonal(torch.cat([Q, N], dim=-1))
        self.base = Q
        neg_identity = torch.zeros_like(Q_init)
        neg_identity.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return neg_identity


def orthogonal(
    module,
    name: str = "weight",
    orthogonal_map: str | None = None,
    *,
    use_trivialization: bool = True,
):
    """Keeps the parameter `name` (..., n, k) orthogonal: ``Q^T Q = I``, or ``Q Q^T = I`` for n < k.

    Args:
        orthogonal_map (str, optional): ``matrix_exp``, ``cayley`` or ``householder``; by default
            the first for square and complex matrices, the last for others.
        use_trivialization (bool): whether the current value becomes the base that the map's
            result is multiplied with, so that it can be any orthogonal matrix.

    Returns `module`. Raises ValueError for fewer than 2 dimensions or an unknown map.
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, torch.Tensor):
        raise ValueError(f"{module} has no parameter or buffer named {name!r}")
    if weight.ndim < 2:
        raise ValueError(
            f"the tensor must have at least 2 dimensions, but has shape {tuple(weight.shape)}"
        )
    if orthogonal_map is None:
        square = weight.size(-2) == weight.size(-1)
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    kind = getattr(_OrthMaps, orthogonal_map, None)
    if kind is None:
        raise ValueError(
            "orthogonal_map must be 'matrix_exp', 'cayley' or 'householder', but got "
            f"{orthogonal_map!r}"
        )
    parametrize.register_parametrization(
        module, name, _Orthogonal(weight, kind, use_trivialization=use_trivialization), unsafe=True
    )
    return module


class _WeightNorm(Module):
    """``g * v / |v|`` (Salimans and Kingma, 2016)."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g, weight_v):
        return torch._weight_norm(weight_v, weight_g, self.dim)

    def right_inverse(self, weight):
        return torch.norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module, name: str = "weight", dim: int = 0):
    """Splits the parameter `name` into a magnitude (original0) and a direction (original1).

    The norm is over all dimensions but `dim`, or over all for None. Returns `module`.
    """
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def rename(
        state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ):
        # States saved with torch.nn.utils.weight_norm fit too.
        g_key, v_key = f"{prefix}{name}_g", f"{prefix}{name}_v"
        if g_key in state_dict and v_key in state_dict:
            state_dict[f"{prefix}parametrizations.{name}.original0"] = state_dict.pop(g_key)
            state_dict[f"{prefix}parametrizations.{name}.original1"] = state_dict.pop(v_key)

    module._register_load_state_dict_pre_hook(rename)
    return module


class _SpectralNorm(Module):
    """``weight / sigma(weight)``, sigma estimated by power iteration (Miyato et al., 2018)."""

    def __init__(
        self, weight, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        super().__init__()
        ndim = weight.ndim
        if dim >= ndim or dim < -ndim:
            raise IndexError(f"dim must be between {-ndim} and {ndim - 1}, but got {dim}")
        if n_power_iterations <= 0:
            raise ValueError(f"n_power_iterations must be positive, but got {n_power_iterations}")
        self.dim = dim if dim >= 0 else dim + ndim
        self.eps = eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            mat = self._reshape_weight_to_matrix(weight)
            h, w = mat.size()
            u = mat.new_empty(h).normal_(0, 1)
            v = mat.new_empty(w).normal_(0, 1)
            self.register_buffer("_u", F.normalize(u, dim=0, eps=eps))
            self.register_buffer("_v", F.normalize(v, dim=0, eps=eps))
            self._power_method(mat, 15)

    def _reshape_weight_to_matrix(self, weight):
        if self.dim != 0:
            weight = weight.permute(self.dim, *(d for d in range(weight.dim()) if d != self.dim))
        return weight.flatten(1)

    @torch.autograd.no_grad()
    def _power_method(self, weight_mat, n_power_iterations: int) -> None:
        for _ in range(n_power_iterations):
            # In place, so that replicas of the module share the estimate.
            self._u = F.normalize(torch.mv(weight_mat, self._v), dim=0, eps=self.eps, out=self._u)
            self._v = F.normalize(torch.mv(weight_mat.H, self._u), dim=0, eps=self.eps, out=self._v)

    def forward(self, weight):
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        mat = self._reshape_weight_to_matrix(weight)
        if self.training:
            self._power_method(mat, self.n_power_iterations)
        # Cloned, so that backward of an earlier forward still finds its vectors.
        u = self._u.clone(memory_format=torch.contiguous_format)
        v = self._v.clone(memory_format=torch.contiguous_format)
        return weight / torch.vdot(u, torch.mv(mat, v))

    def right_inverse(self, value):
        return value


def spectral_norm(
    module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
):
    """Divides the parameter `name` by its largest singular value, which a power iteration
    estimates: 15 steps at first, `n_power_iterations` at each use in training.

    `dim` is the outputs' dimension: by default 1 for transposed convolutions, else 0. Returns
    `module`. Raises ValueError where there is no such tensor.
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, torch.Tensor):
        raise ValueError(f"{module} has no parameter or buffer named {name!r}")
    if dim is None:
        nn = torch.nn
        dim = (
            1
            if isinstance(module, (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d))
            else 0
        )
    parametrize.register_parametrization(
        module, name, _SpectralNorm(weight, n_power_iterations, dim, eps)
    )
    return module
