"""Functions of functions: derivatives, batches, and modules as functions of their parameters. All of them nest in any order."""
from torch._functorch.eager_transforms import (
    debug_unwrap, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp)
from torch._functorch.functional_call import functional_call, replace_all_batch_norm_modules_, stack_module_state
from torch._functorch.vmap import vmap

__all__ = ["grad", "grad_and_value", "vmap", "replace_all_batch_norm_modules_", "functionalize", "hessian", "jacfwd", "jacrev",
           "jvp", "linearize", "rearrange", "vjp", "functional_call", "stack_module_state", "debug_unwrap"]


def functionalize(func, *, remove="mutations"):
    """A function with the results of func and without its writes in place. Not there yet."""
    raise NotImplementedError("torch.func.functionalize is not there yet")


def rearrange(tensor, pattern, **axes_lengths):
    """Dimensions reordered, merged and split by a pattern of names. Not there yet."""
    raise NotImplementedError("torch.func.rearrange is not there yet")
