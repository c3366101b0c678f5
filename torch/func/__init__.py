"""Functions of functions: derivatives, batches, and modules as functions of their parameters. All of them nest in any order."""
from torch._functorch.eager_transforms import (
    debug_unwrap, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp)
from torch._functorch.functional_call import functional_call, replace_all_batch_norm_modules_, stack_module_state
from torch._functorch.rearrange import rearrange
from torch._functorch.vmap import vmap

__all__ = ["grad", "grad_and_value", "vmap", "replace_all_batch_norm_modules_", "functionalize", "hessian", "jacfwd", "jacrev",
           "jvp", "linearize", "rearrange", "vjp", "functional_call", "stack_module_state", "debug_unwrap"]


def functionalize(func, *, remove="mutations"):
    """`func` without in-place operators: each becomes one that gives a new value, writes to views included.

    Tensors among the arguments that `func` writes to are written once, at the end. `remove='mutations_and_views'`: views
    become copies, too. Together with `make_fx`, the graph has no in-place operators but these last writes. It nests with the
    other transforms. A function that asks for elements is called as it is, from its beginning. RuntimeError for another
    `remove`; NotImplementedError for an operator without a functional form.
    """
    from torch._functorch.functionalization import functionalize as make
    return make(func, remove=remove)
