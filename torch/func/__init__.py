"""Functions of functions: derivatives as transforms."""
import torch
from torch import _C
from torch.autograd import forward_ad
from torch.utils._pytree import tree_flatten, tree_unflatten

__all__ = ["jvp", "jacfwd", "functional_call"]


def _nested(func, primals, tangents):
    """The product by reverse mode twice, for a call within another jvp: levels of forward mode do not nest."""
    with torch.enable_grad():
        inputs = [x.view_as(x) for x in primals]
        for x in inputs:
            x.requires_grad_()
        outputs = func(inputs)
        used = [o for o in outputs if o.requires_grad]
        left = [torch.zeros_like(o, requires_grad=True) for o in used]
        products = torch.autograd.grad(used, inputs, left, create_graph=True, allow_unused=True) if used else ()
        pairs = [(p, t) for p, t in zip(products, tangents) if p is not None and p.requires_grad]
        moved = torch.autograd.grad([p for p, _ in pairs], left, [t for _, t in pairs], create_graph=True,
                                    allow_unused=True) if pairs else [None] * len(left)
    moved = iter(moved)
    return outputs, [next(moved) if o.requires_grad else None for o in outputs]


def _forward(func, primals, tangents):
    with forward_ad.dual_level():
        outputs = func([forward_ad.make_dual(x, t) for x, t in zip(primals, tangents)])
        pairs = [forward_ad.unpack_dual(o) for o in outputs]
    return [p for p, _ in pairs], [t for _, t in pairs]


def jvp(func, primals, tangents, *, strict=False, has_aux=False):
    """(func(*primals), the product of its Jacobian at primals with tangents), in forward mode.

    `primals` is a tuple of tensors, or of dicts and lists of them, `tangents` has the same structure and shapes; results
    have the structure that func returns. Calls nest: an inner one is done by reverse mode twice. `has_aux`: func returns
    (output, aux), and so (output, product, aux) is given. `strict`: an output that does not depend on primals raises.
    Raises RuntimeError where structures or shapes differ, or something is no tensor.
    """
    if not isinstance(primals, tuple):
        raise RuntimeError(f"jvp: primals must be a tuple of what func takes, not {type(primals).__name__}")
    flat, spec = tree_flatten(primals)
    moved, moved_spec = tree_flatten(tangents)
    if spec != moved_spec:
        raise RuntimeError(f"jvp: primals and tangents differ in structure: {spec} and {moved_spec}")
    if not flat:
        raise RuntimeError("jvp: primals hold no tensor")
    for x, t in zip(flat, moved):
        for v, name in ((x, "primals"), (t, "tangents")):
            if not isinstance(v, torch.Tensor):
                raise RuntimeError(f"jvp: {name} must hold tensors only, not {type(v).__name__}")
        if x.shape != t.shape:
            raise RuntimeError(f"jvp: a tangent has shape {tuple(t.shape)}, its primal {tuple(x.shape)}")
        if not (x.is_floating_point() or x.is_complex()):
            raise ValueError(f"jvp: a primal is {x.dtype}; only floating and complex types have tangents")
    kept = {}

    def run(inputs):
        result = func(*tree_unflatten(list(inputs), spec))
        if has_aux:
            if not (isinstance(result, tuple) and len(result) == 2):
                raise RuntimeError("jvp: with has_aux=True func must return (output, aux)")
            result, kept["aux"] = result
        outputs, kept["spec"] = tree_flatten(result)
        for o in outputs:
            if not isinstance(o, torch.Tensor):
                raise RuntimeError(f"jvp: func must return tensors only, not {type(o).__name__}")
        return outputs

    outputs, products = (_nested if _C._is_dual_level_open() else _forward)(run, flat, moved)
    if strict and any(t is None for t in products):
        raise RuntimeError("jvp: an output does not depend on primals, which strict=True does not allow")
    products = [torch.zeros_like(o) if t is None else t for o, t in zip(outputs, products)]
    result = tree_unflatten(list(outputs), kept["spec"]), tree_unflatten(products, kept["spec"])
    return (*result, kept["aux"]) if has_aux else result


def jacfwd(func, argnums=0, has_aux=False, *, chunk_size=None, randomness="error"):
    """A function that gives the Jacobian of func by its argument `argnums` (an int, or a tuple of ints), a column for each
    element: of shape (*output.shape, *input.shape). Calls nest."""
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)

    def jacobian(*args):
        columns = []
        output = aux = spec = None
        for n in numbers:
            x = args[n]
            mine = []
            for flat in range(x.numel()):
                tangent = torch.zeros(x.numel(), dtype=x.dtype, device=x.device)
                tangent[flat] = 1

                def of(y, n=n):
                    given = list(args)
                    given[n] = y
                    return func(*given)
                output, product, *more = jvp(of, (x,), (tangent.view(x.shape),), has_aux=has_aux)
                aux = more
                leaves, spec = tree_flatten(product)
                mine.append(leaves)
            columns.append(mine)
        if spec is None:
            raise RuntimeError("jacfwd: the arguments have no element")
        outputs = tree_flatten(output)[0]
        rows = []
        for k, o in enumerate(outputs):
            row = tuple(torch.stack([c[k] for c in mine], -1).reshape(o.shape + args[n].shape) if mine
                        else o.new_zeros(o.shape + args[n].shape) for mine, n in zip(columns, numbers))
            rows.append(row[0] if isinstance(argnums, int) else row)
        result = tree_unflatten(rows, spec)
        return (result, *aux) if has_aux else result
    return jacobian


def functional_call(module, parameter_and_buffer_dicts, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """module(*args, **kwargs) with parameters and buffers taken from a dict of names, or from several of them."""
    from torch.nn.utils.stateless import functional_call as call
    given = parameter_and_buffer_dicts
    if not isinstance(given, dict):
        given = {k: v for d in given for k, v in d.items()}
    return call(module, given, args, kwargs, tie_weights=tie_weights, strict=strict)


_NOT_YET = frozenset("grad grad_and_value vmap vjp jacrev hessian linearize functionalize stack_module_state "
                     "replace_all_batch_norm_modules_ rearrange debug_unwrap".split())


def __getattr__(name):
    if name in _NOT_YET:
        def missing(*args, **kwargs):
            raise NotImplementedError(f"torch.func.{name} is not there yet")
        missing.__name__ = name
        return missing
    raise AttributeError(f"module 'torch.func' has no attribute {name!r}")
