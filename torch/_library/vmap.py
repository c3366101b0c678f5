"""Rules for torch.vmap of operators of libraries."""
from torch._C import _functorch as _levels


def make_vmap_kernel(op, find_rule):
    """The kernel that runs a call of `op` at a level of vmap.

    Args:
        op (OpOverload): the operator.
        find_rule: gives `rule(info, in_dims, *args, **kwargs) -> (outputs, out_dims)`, as it is registered now.
    """
    def kernel(*args, **kwargs):
        from torch._functorch.autograd_function import VmapInfo, batched_by_rule
        _, level, batch_size, randomness = _levels._level_info()
        return batched_by_rule(op._name, find_rule(), args, kwargs, level, VmapInfo(batch_size, randomness))
    return kernel
