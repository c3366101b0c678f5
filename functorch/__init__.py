"""The old home of torch.func: the same functions, deprecated."""
from torch._functorch.deprecated import (  # noqa: F401
    combine_state_for_ensemble, functionalize, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, make_functional,
    make_functional_with_buffers, vjp, vmap)
from torch._functorch.make_functional import FunctionalModule, FunctionalModuleWithBuffers  # noqa: F401
