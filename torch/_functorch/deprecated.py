"""The names of functorch that torch.func took over; each says so when it is called."""
import functools
import warnings

from torch._functorch import eager_transforms, make_functional as _modules, vmap as _vmap

__all__ = ["vmap", "grad", "grad_and_value", "jvp", "vjp", "jacrev", "jacfwd", "hessian", "functionalize", "make_functional",
           "make_functional_with_buffers", "combine_state_for_ensemble"]


def _moved(function, to):
    @functools.wraps(function)
    def called(*args, **kwargs):
        warnings.warn(f"functorch.{function.__name__} is deprecated; use {to}", FutureWarning, stacklevel=2)
        return function(*args, **kwargs)
    called.__module__ = __name__
    return called


def functionalize(func, *, remove="mutations"):
    """torch.func.functionalize"""
    import torch.func
    return torch.func.functionalize(func, remove=remove)


vmap = _moved(_vmap.vmap, "torch.vmap")
grad, grad_and_value, jvp, vjp, jacrev, jacfwd, hessian = (
    _moved(getattr(eager_transforms, n), f"torch.func.{n}") for n in ("grad", "grad_and_value", "jvp", "vjp", "jacrev", "jacfwd", "hessian"))
make_functional = _moved(_modules.make_functional, "torch.func.functional_call")
make_functional_with_buffers = _moved(_modules.make_functional_with_buffers, "torch.func.functional_call")
combine_state_for_ensemble = _moved(_modules.combine_state_for_ensemble, "torch.func.stack_module_state")
