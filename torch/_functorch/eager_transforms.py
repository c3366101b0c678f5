"""Derivatives as functions of functions. Each runs at a level of its own, so that they nest in any order."""
import contextlib
import functools

import torch
from torch._C import _functorch as _levels
from torch._functorch.vmap import _check_randomness_arg, get_chunk_sizes, vmap
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

__all__ = ["grad", "grad_and_value", "vjp", "jvp", "jacrev", "jacfwd", "hessian", "linearize", "debug_unwrap"]


def _no_inference():
    return torch.inference_mode(False) if torch.is_inference_mode_enabled() else contextlib.nullcontext()


@contextlib.contextmanager
def grad_increment_nesting():
    """A level where a graph is recorded, in inference mode too; gives its number."""
    with _no_inference():
        level = _levels._grad_increment_nesting()
        try:
            yield level
        finally:
            _levels._grad_decrement_nesting()


@contextlib.contextmanager
def jvp_increment_nesting():
    """A level of tangents; gives its number."""
    with _no_inference():
        level = _levels._jvp_increment_nesting()
        try:
            yield level
        finally:
            _levels._jvp_decrement_nesting()


def _wrap_all_tensors(tree, level):
    return tree_map(lambda x: _levels._wrap_for_grad(x, level) if isinstance(x, torch.Tensor) else x, tree)


def _undo_create_differentiable(tree, level):
    def unwrap(x):
        if isinstance(x, torch.Tensor):
            return _levels._unwrap_for_grad(x, level)
        raise RuntimeError(f"a transform of torch.func expected tensors, got {type(x)}")
    return tree_map(unwrap, tree)


def _unwrap_outputs(tree, level):
    return tree_map(lambda x: _levels._unwrap_for_grad(x, level) if isinstance(x, torch.Tensor) else x, tree)


def _create_differentiable(tree, level):
    def differentiable(x):
        if not isinstance(x, torch.Tensor):
            raise ValueError(f"a transform of torch.func differentiates by tensors, not by {type(x)}")
        return _levels._create_differentiable(x)
    return tree_map(differentiable, tree)


def _check_argnums(argnums, count):
    """argnums made non-negative; RuntimeError where one names no argument, or one is named twice."""
    if not isinstance(argnums, (int, tuple)):
        raise RuntimeError(f"argnums must be an int or a tuple of ints, got {type(argnums)}")
    single = isinstance(argnums, int)
    numbers = []
    for n in (argnums,) if single else argnums:
        if not isinstance(n, int):
            raise RuntimeError(f"argnums must be an int or a tuple of ints, got {n!r} in it")
        if not -count <= n < count:
            raise RuntimeError(f"argnums names argument {n}, but there are only {count} positional arguments")
        numbers.append(n % count)
    if not numbers:
        raise RuntimeError("argnums must name at least one argument")
    if len(set(numbers)) != len(numbers):
        raise RuntimeError(f"argnums names an argument twice: {tuple(numbers)}")
    return numbers[0] if single else tuple(numbers)


def _slice_argnums(args, argnums, as_tuple=True):
    if isinstance(argnums, int):
        return (args[argnums],) if as_tuple else args[argnums]
    return tuple(args[n] for n in argnums)


def _replace_args(args, given, argnums):
    args = list(args)
    for n, x in zip((argnums,) if isinstance(argnums, int) else argnums, given):
        args[n] = x
    return tuple(args)


def _autograd_grad(outputs, inputs, grad_outputs=None, retain_graph=False, create_graph=True):
    """torch.autograd.grad, with zeros for inputs that the outputs do not depend on."""
    if grad_outputs is None:
        pairs = [(o, None) for o in outputs if o.requires_grad]
    else:
        pairs = [(o, g) for o, g in zip(outputs, grad_outputs) if o.requires_grad]
    if not pairs:
        return tuple(torch.zeros_like(x) for x in inputs)
    grads = torch._C._run_backward([o for o, _ in pairs], [g for _, g in pairs], retain_graph, create_graph, inputs, True, False)
    return tuple(torch.zeros_like(x) if g is None else g for g, x in zip(grads, inputs))


def _split_aux(result, name):
    if not (isinstance(result, tuple) and len(result) == 2):
        raise RuntimeError(f"{name}: with has_aux=True the function must return a tuple (output, aux)")
    return result


def grad_and_value_impl(func, argnums, has_aux, args, kwargs):
    argnums = _check_argnums(argnums, len(args))
    with grad_increment_nesting() as level, torch.enable_grad():
        inner = _wrap_all_tensors(args, level)
        kwargs = _wrap_all_tensors(kwargs, level)
        by = _create_differentiable(_slice_argnums(inner, argnums, as_tuple=False), level)
        output = func(*inner, **kwargs)
        if has_aux:
            output, aux = _split_aux(output, "grad")
        if not isinstance(output, torch.Tensor):
            raise RuntimeError(f"grad: the function must return a tensor, it returned {type(output)}")
        if output.dim() != 0:
            raise RuntimeError(f"grad: the function must return a tensor without dimensions, it returned one of shape "
                               f"{tuple(output.shape)}; vjp and jacrev take any shape")
        flat, spec = tree_flatten(by)
        gradient = tree_unflatten(_unwrap_outputs(list(_autograd_grad((output,), flat)), level), spec)
        output = _undo_create_differentiable(output, level)
        if has_aux:
            aux = _undo_create_differentiable(aux, level)
    return (gradient, (output, aux)) if has_aux else (gradient, output)


def grad_and_value(func, argnums=0, has_aux=False):
    """A function that gives (gradient, value) of func, which returns a tensor without dimensions.

    argnums: the argument to differentiate by, or a tuple of them (then the gradient is a tuple); arguments are tensors
    or nested dicts, lists and tuples of them, and so are the gradients. has_aux: func returns (output, aux), and the
    result is (gradient, (output, aux)). Raises RuntimeError for outputs of another shape, ValueError where an argument
    is no tensor.
    """
    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        return grad_and_value_impl(func, argnums, has_aux, args, kwargs)
    return wrapper


def grad(func, argnums=0, has_aux=False):
    """A function that gives the gradient of func, which returns a tensor without dimensions.

    argnums: the argument to differentiate by, or a tuple of them (then a tuple of gradients is given); arguments are
    tensors or nested dicts, lists and tuples of them. has_aux: func returns (output, aux), and the result is (gradient,
    aux). Transforms nest: grad(grad(f)) is the second derivative, vmap(grad(f)) the gradient of every example. Raises
    RuntimeError for outputs of another shape or type, ValueError where an argument is no tensor.

    >>> torch.func.grad(torch.sin)(torch.tensor(0.))
    tensor(1.)
    """
    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        gradient, value = grad_and_value_impl(func, argnums, has_aux, args, kwargs)
        return (gradient, value[1]) if has_aux else gradient
    return wrapper


def _tensors_only(tree, name):
    flat, spec = tree_flatten(tree)
    for x in flat:
        if not isinstance(x, torch.Tensor):
            raise RuntimeError(f"{name}: the function must return tensors only, it returned {type(x)}")
    if not flat:
        raise RuntimeError(f"{name}: the function returned no tensor")
    return flat, spec


def _vjp_with_argnums(func, *primals, argnums=None, has_aux=False):
    with grad_increment_nesting() as level, torch.enable_grad():
        inner = _wrap_all_tensors(primals, level)
        by = inner if argnums is None else _slice_argnums(inner, argnums, as_tuple=False)
        by = _create_differentiable(by, level)
        flat_by, by_spec = tree_flatten(by)
        output = func(*inner)
        if has_aux:
            output, aux = _split_aux(output, "vjp")
            aux = _undo_create_differentiable(aux, level)
        flat, spec = _tensors_only(output, "vjp")
        for o in flat:
            if not (o.is_floating_point() or o.is_complex()):
                raise RuntimeError(f"vjp: the function must return floating or complex tensors, it returned one of {o.dtype}")
        results = _undo_create_differentiable(output, level)

    def pullback(cotangents, retain_graph=True, create_graph=None):
        given, given_spec = tree_flatten(cotangents)
        if given_spec != spec:
            raise RuntimeError(f"the cotangents must have the structure of the output, {spec}, theirs is {given_spec}")
        for g, o in zip(given, flat):
            if isinstance(g, torch.Tensor) and g.shape != o.shape:
                raise RuntimeError(f"a cotangent has shape {tuple(g.shape)}, its output {tuple(o.shape)}")
        if create_graph is None:
            create_graph = torch.is_grad_enabled()
        grads = _autograd_grad(flat, flat_by, given, retain_graph=retain_graph, create_graph=create_graph)
        return tree_unflatten([torch._C._functorch.get_unwrapped(g) if _levels.is_dead_tensor_wrapper(g) else g for g in grads], by_spec)
    return (results, pullback, aux) if has_aux else (results, pullback)


def vjp(func, *primals, has_aux=False):
    """(func(*primals), a function of cotangents): the product of cotangents, which have the structure and shapes of the
    output, with the Jacobian at primals, as a tuple of one for each primal.

    has_aux: func returns (output, aux), and the result is (output, vjp function, aux). Raises RuntimeError where func
    returns something else than floating or complex tensors, or the structure or shapes of cotangents differ.
    """
    return _vjp_with_argnums(func, *primals, has_aux=has_aux)


def _dual_results(output, level, name, has_aux, strict):
    """(primal results, tangents, aux...) of what func returned at the level of tangents."""
    aux = ()
    if has_aux:
        output, aux = _split_aux(output, name)
        aux = (_undo_create_differentiable(aux, level),)
    flat, spec = _tensors_only(output, name)
    primals, tangents = [], []
    for o in flat:
        t = _levels._get_tangent(o, level)
        if t is None:
            if strict:
                raise RuntimeError(f"{name}: an output does not depend on primals, which strict=True does not allow")
            t = torch.zeros_like(_levels._unwrap_for_grad(o, level))
        primals.append(_levels._unwrap_for_grad(o, level))
        tangents.append(_levels._unwrap_for_grad(t, level))
    return (tree_unflatten(primals, spec), tree_unflatten(tangents, spec), *aux)


def _jvp_with_argnums(func, primals, tangents, argnums, *, strict=False, has_aux=False):
    if not isinstance(primals, tuple):
        raise RuntimeError(f"jvp: primals must be a tuple of what func takes, not {type(primals).__name__}")
    by = primals if argnums is None else _slice_argnums(primals, argnums)
    flat, spec = tree_flatten(by)
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
        if not (t.is_floating_point() or t.is_complex()):
            raise ValueError(f"jvp: a tangent is {t.dtype}, its primal {x.dtype}; a tangent must be floating or complex")
    with jvp_increment_nesting() as level:
        duals = [_levels._set_tangent(_levels._wrap_for_grad(x, level), _levels._wrap_for_grad(t, level)) for x, t in zip(flat, moved)]
        args = tree_unflatten(duals, spec)
        if argnums is not None:
            args = _replace_args(_wrap_all_tensors(primals, level), args, argnums)
        return _dual_results(func(*args), level, "jvp", has_aux, strict)


def jvp(func, primals, tangents, *, strict=False, has_aux=False):
    """(func(*primals), the product of its Jacobian at primals with tangents), in forward mode.

    `primals` is a tuple of tensors, or of dicts and lists of them, `tangents` has the same structure and shapes; results
    have the structure that func returns. `has_aux`: func returns (output, aux), and so (output, product, aux) is given.
    `strict`: an output that does not depend on primals raises. Raises RuntimeError where structures or shapes differ,
    or something is no tensor, ValueError for primals or tangents of integers. A tangent is converted to its primal's type.
    """
    return _jvp_with_argnums(func, primals, tangents, None, strict=strict, has_aux=has_aux)


def _check_real(tensors, name, what):
    for i, t in enumerate(tensors):
        if isinstance(t, torch.Tensor) and t.is_complex():
            raise RuntimeError(f"{name}: takes real {what} only; number {i} is {t.dtype}")


def _basis(tensors, numels):
    """For each tensor, one-hot rows over all elements of all tensors: (total, *shape)."""
    total = sum(numels)
    rows, start = [], 0
    for t, n in zip(tensors, numels):
        row = t.new_zeros((total, n))
        if n:
            row.diagonal(-start).fill_(1)
        rows.append(row.view(total, *t.shape))
        start += n
    return rows


def _split_first(t, numels):
    return t.split(list(numels), dim=0)


def jacrev(func, argnums=0, *, has_aux=False, chunk_size=None, _preallocate_and_copy=False):
    """A function that gives the Jacobian of func by reverse mode, a row for each element of the output, all rows at once
    through vmap (at most chunk_size of them at a time).

    For an output of shape S and an argument of shape T it has shape S + T. argnums: the argument, or a tuple of them
    (then a tuple of Jacobians is given). Outputs and arguments may be nested dicts, lists and tuples: the structure of
    the output stands outside. has_aux: func returns (output, aux), and the result is (Jacobian, aux).
    """
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"jacrev: chunk_size must be None or greater than 0, it is {chunk_size}")

    @functools.wraps(func)
    def jacobian(*args):
        numbers = _check_argnums(argnums, len(args))
        output, pullback, *aux = _vjp_with_argnums(func, *args, argnums=numbers, has_aux=has_aux)
        flat, spec = tree_flatten(output)
        numels = [o.numel() for o in flat]
        by = _slice_argnums(args, numbers, as_tuple=False)
        flat_by, by_spec = tree_flatten(by)
        _check_real(flat_by, "jacrev", "inputs")
        _check_real(flat, "jacrev", "outputs")

        def rows(*cotangents):
            return tuple(tree_flatten(pullback(tree_unflatten(list(cotangents), spec)))[0])

        total = sum(numels)
        if total == 0:
            columns = [x.new_zeros((0, *x.shape)) for x in flat_by]
        else:
            basis = _basis(flat, numels)
            if chunk_size is None or chunk_size >= total:
                columns = vmap(rows)(*basis)
            elif chunk_size == 1:
                made = [rows(*(b[i] for b in basis)) for i in range(total)]
                columns = [torch.stack(c) for c in zip(*made)]
            else:
                at, made = 0, []
                for n in get_chunk_sizes(total, chunk_size):
                    made.append(vmap(rows)(*(b[at:at + n] for b in basis)))
                    at += n
                columns = [torch.cat(c) for c in zip(*made)]
        parts = [[p.reshape(o.shape + x.shape) for p, o in zip(_split_first(c, numels), flat)] for c, x in zip(columns, flat_by)]
        result = tree_unflatten([tree_unflatten([part[k] for part in parts], by_spec) for k in range(len(flat))], spec)
        return (result, *aux) if has_aux else result
    return jacobian


def jacfwd(func, argnums=0, has_aux=False, *, randomness="error"):
    """A function that gives the Jacobian of func by forward mode, a column for each element of the argument, all columns
    at once through vmap. Arguments and results are those of jacrev; randomness is vmap's."""
    @functools.wraps(func)
    def jacobian(*args):
        _check_randomness_arg(randomness)
        numbers = _check_argnums(argnums, len(args))
        by = args if numbers is None else _slice_argnums(args, numbers)
        flat_by, by_spec = tree_flatten(by)
        for x in flat_by:
            if not isinstance(x, torch.Tensor):
                raise RuntimeError(f"jacfwd: differentiates by tensors only, not by {type(x)}")
            if not (x.is_floating_point() or x.is_complex()):
                raise ValueError(f"jacfwd: an argument is {x.dtype}; only floating and complex types have tangents")
        _check_real(flat_by, "jacfwd", "inputs")
        numels = [x.numel() for x in flat_by]
        kept = {}

        def columns(*tangents):
            moved = tree_unflatten(list(tangents), by_spec)
            output, product, *aux = _jvp_with_argnums(func, args, moved, numbers, has_aux=has_aux)
            kept["spec"] = tree_flatten(output)[1]
            _check_real(tree_flatten(output)[0], "jacfwd", "outputs")
            kept["aux_spec"] = tree_flatten(aux)[1]
            return tree_flatten(product)[0], tree_flatten(output)[0], tree_flatten(aux)[0]

        if sum(numels) == 0:  # an example of no use tells the output's shapes
            outputs, _, *aux = _jvp_with_argnums(func, args, tree_map(torch.zeros_like, by), numbers, has_aux=has_aux)
            flat, spec = tree_flatten(outputs)
            products = [o.new_zeros((*o.shape, 0)) for o in flat]
        else:
            products, outputs, aux = vmap(columns, out_dims=(-1, 0, 0), randomness=randomness)(*_basis(flat_by, numels))
            flat, spec = [o[0] for o in outputs], kept["spec"]
            aux = tree_unflatten([a[0] for a in aux], kept["aux_spec"])
        parts = [[c.reshape(o.shape + x.shape) for c, x in zip(p.split(numels, dim=-1), flat_by)] for p, o in zip(products, flat)]
        rows = [tree_unflatten(part, by_spec) for part in parts]
        result = tree_unflatten([row[0] if isinstance(argnums, int) else row for row in rows], spec)
        return (result, *aux) if has_aux else result
    return jacobian


def hessian(func, argnums=0):
    """A function that gives the second derivatives of func: jacfwd(jacrev(func)). For an output of shape S and an argument
    of shape T it has shape S + T + T; with a tuple of argnums, a tuple of tuples."""
    return jacfwd(jacrev(func, argnums), argnums)


def linearize(func, *primals):
    """(func(*primals), the function of tangents that func is near primals: the product of its Jacobian with them).

    Tangents have the structure and shapes of primals; RuntimeError where they do not.
    """
    output = func(*primals)
    flat, spec = tree_flatten(primals)

    def product(*tangents):
        moved, moved_spec = tree_flatten(tangents)
        if moved_spec != spec:
            raise RuntimeError(f"the tangents must have the structure of the primals, {spec}, theirs is {moved_spec}")
        for i, (t, x) in enumerate(zip(moved, flat)):
            if t.shape != x.shape:
                raise RuntimeError(f"tangent {i} has shape {tuple(t.shape)}, its primal {tuple(x.shape)}")
            if t.dtype != x.dtype or t.device != x.device:
                raise RuntimeError(f"tangent {i} is {t.dtype} on {t.device}, its primal {x.dtype} on {x.device}")
        return jvp(func, primals, tangents)[1]
    return output, product


def debug_unwrap(tensor, *, recurse=True):
    """What a tensor within a transform stands for; with recurse=False, one level further out only. For printing."""
    while _levels.is_functorch_wrapped_tensor(tensor):
        tensor = _levels.get_unwrapped(tensor)
        if not recurse:
            break
    return tensor


for _f in (grad, grad_and_value, vjp, jvp, jacrev, jacfwd, hessian, linearize, debug_unwrap):
    _f.__module__ = "torch.func"
