"""Linear algebra. Factorisations come with LAPACK and are not there yet; products and norms are."""
from torch import _C

globals().update({k: v for k, v in vars(_C._linalg).items() if not k.startswith("__")})


class LinAlgError(RuntimeError):
    """A factorisation failed, e.g. of a singular matrix."""


_NOT_YET = frozenset("""cholesky cholesky_ex cond cross det eig eigh eigvals eigvalsh householder_product inv inv_ex ldl_factor
                     ldl_factor_ex ldl_solve lstsq lu lu_factor lu_factor_ex lu_solve matrix_exp matrix_norm matrix_rank norm pinv
                     polar qr slogdet solve solve_ex solve_triangular svd svdvals tensorinv tensorsolve vander""".split())


def __getattr__(name):
    if name in _NOT_YET:
        def missing(*args, **kwargs):
            raise NotImplementedError(f"torch.linalg.{name} is not there yet")
        missing.__name__ = name
        return missing
    raise AttributeError(f"module 'torch.linalg' has no attribute {name!r}")
