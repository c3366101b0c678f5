"""The transforms under the names of the module that once held them."""
from torch._functorch.eager_transforms import grad, grad_and_value  # noqa: F401
from torch._functorch.vmap import vmap  # noqa: F401

__all__ = ["vmap", "grad", "grad_and_value"]
