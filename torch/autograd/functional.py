"""Jacobians, Hessians and their products with vectors."""

import torch

__all__ = ["vjp", "jvp", "jacobian", "hessian", "hvp", "vhp"]


def _as_tuple(value, name, func):
    """(was a tuple, the tensors)"""
    is_tuple = isinstance(value, (tuple, list))
    values = tuple(value) if is_tuple else (value,)
    for i, v in enumerate(values):
        if not isinstance(v, torch.Tensor):
            where = f"{name}[{i}]" if is_tuple else name
            raise TypeError(f"{where} of {func} must be a tensor, got {type(v).__name__}")
    return is_tuple, values


def _prepare(inputs, create_graph, need_graph):
    """Inputs that the function's graph starts at; with create_graph it stays tied to theirs."""
    out = []
    for x in inputs:
        if create_graph and x.requires_grad:
            out.append(x.view_as(x))
        else:
            out.append(x.detach().requires_grad_(need_graph))
    return tuple(out)


def _finish(values, create_graph):
    return tuple(v if create_graph else v.detach() for v in values)


def _unwrap(values, is_tuple):
    return values if is_tuple else values[0]


def _check_graph(outputs, strict, what):
    if strict:
        for i, o in enumerate(outputs):
            if not o.requires_grad:
                raise RuntimeError(f"{what} {i} does not depend on the inputs, which strict=True "
                                   "does not allow")


def _check_v(v, others, is_tuple, name):
    if len(v) != len(others):
        raise RuntimeError(f"v has {len(v)} tensors, the {name} {len(others)}")
    for i, (a, b) in enumerate(zip(v, others)):
        if a.shape != b.shape:
            where = f"v[{i}]" if is_tuple else "v"
            raise RuntimeError(f"{where} has the shape {tuple(a.shape)}, its {name} "
                               f"{tuple(b.shape)}")


def _default_v(outputs, name):
    if len(outputs) != 1 or outputs[0].nelement() != 1:
        raise RuntimeError(f"v may be left out for one {name} of one element only")
    return (torch.ones_like(outputs[0]),)


def _grad(outputs, inputs, cotangents=None, create_graph=False, retain_graph=None):
    """As autograd.grad, with None for everything that does not depend on an input."""
    if cotangents is None:
        cotangents = (None,) * len(outputs)
    used = [(o, c) for o, c in zip(outputs, cotangents) if o is not None and o.requires_grad]
    if not used:
        return (None,) * len(inputs)
    return torch.autograd.grad([o for o, _ in used], inputs, [c for _, c in used],
                               allow_unused=True, create_graph=create_graph,
                               retain_graph=retain_graph)


def _fill(grads, like, strict, what):
    out = []
    for i, (g, x) in enumerate(zip(grads, like)):
        if g is None:
            if strict:
                raise RuntimeError(f"{what} {i} does not depend on its input, which strict=True "
                                   "does not allow")
            g = torch.zeros_like(x)
        out.append(g)
    return tuple(out)


def vjp(func, inputs, v=None, create_graph=False, strict=False):
    """(func(*inputs), the product of v with the Jacobian: a tensor for each input).

    `v`: of the outputs' shapes; may be left out for one output of one element.
    """
    with torch.enable_grad():
        in_tuple, inputs = _as_tuple(inputs, "inputs", "vjp")
        inputs = _prepare(inputs, create_graph, True)
        out_tuple, outputs = _as_tuple(func(*inputs), "the result of func", "vjp")
        _check_graph(outputs, strict, "output")
        if v is None:
            v = _default_v(outputs, "output")
        else:
            _, v = _as_tuple(v, "v", "vjp")
            v = _prepare(v, create_graph, False)
            _check_v(v, outputs, out_tuple, "output")
    with torch.set_grad_enabled(create_graph or torch.is_grad_enabled()):
        grads = _fill(_grad(outputs, inputs, v, create_graph), inputs, strict, "the gradient")
    return (_unwrap(_finish(outputs, create_graph), out_tuple),
            _unwrap(_finish(grads, create_graph), in_tuple))


def jvp(func, inputs, v=None, create_graph=False, strict=False):
    """(func(*inputs), the product of the Jacobian with v: a tensor for each output).

    `v`: of the inputs' shapes; may be left out for one input of one element. The product is the
    derivative of the product from the left by the vector on the left, which it is linear in.
    """
    with torch.enable_grad():
        in_tuple, inputs = _as_tuple(inputs, "inputs", "jvp")
        inputs = _prepare(inputs, create_graph, True)
        if v is None:
            v = _default_v(inputs, "input")
        else:
            _, v = _as_tuple(v, "v", "jvp")
            v = _prepare(v, create_graph, False)
            _check_v(v, inputs, in_tuple, "input")
        out_tuple, outputs = _as_tuple(func(*inputs), "the result of func", "jvp")
        _check_graph(outputs, strict, "output")
        left = tuple(torch.zeros_like(o, requires_grad=True) for o in outputs)
        products = _fill(_grad(outputs, inputs, left, True), inputs, strict, "the gradient")
    with torch.set_grad_enabled(create_graph or torch.is_grad_enabled()):
        result = _fill(_grad(products, left, v, create_graph), outputs, strict, "the product")
    return (_unwrap(_finish(outputs, create_graph), out_tuple),
            _unwrap(_finish(result, create_graph), out_tuple))


def _forward_jacobian(func, inputs):
    from torch.autograd import forward_ad
    in_tuple, inputs = _as_tuple(inputs, "inputs", "jacobian")
    inputs = tuple(x.detach() if not torch.is_grad_enabled() or not x.requires_grad else x for x in inputs)
    columns, outputs, out_tuple = [], None, False
    for i, x in enumerate(inputs):
        mine = []
        for flat in range(x.numel()):
            tangent = x.new_zeros(x.numel())
            tangent[flat] = 1
            with forward_ad.dual_level():
                duals = [forward_ad.make_dual(y, tangent.view(x.shape)) if k == i else y
                         for k, y in enumerate(inputs)]
                out_tuple, outputs = _as_tuple(func(*duals), "the result of func", "jacobian")
                pairs = [forward_ad.unpack_dual(o) for o in outputs]
            mine.append([t if t is not None else torch.zeros_like(p) for p, t in pairs])
        columns.append(mine)
    if outputs is None:  # no input has an element
        out_tuple, outputs = _as_tuple(func(*inputs), "the result of func", "jacobian")
    result = tuple(
        _unwrap(tuple(torch.stack([c[k] for c in mine], -1).reshape(o.shape + x.shape) if mine
                      else o.new_zeros(o.shape + x.shape)
                      for mine, x in zip(columns, inputs)), in_tuple)
        for k, o in enumerate(outputs))
    return _unwrap(result, out_tuple)


def _all_rows(output, inputs, create_graph):
    """The Jacobians of one output, by one batched backward pass."""
    if not output.requires_grad:
        return tuple(output.new_zeros(output.shape + x.shape) for x in inputs)
    basis = torch.eye(output.numel(), dtype=output.dtype, device=output.device).view(-1, *output.shape)
    grads = torch.autograd.grad(output, inputs, basis, retain_graph=True, create_graph=create_graph, allow_unused=True, is_grads_batched=True)
    return tuple(output.new_zeros(output.shape + x.shape) if g is None else g.reshape(output.shape + x.shape) for g, x in zip(grads, inputs))


def _all_columns(func, inputs):
    """The whole Jacobian in forward mode, by one call of func within vmap."""
    from torch.func import jacfwd
    in_tuple, inputs = _as_tuple(inputs, "inputs", "jacobian")
    kept = {}

    def tupled(*args):
        kept["tuple"], outputs = _as_tuple(func(*args), "the result of func", "jacobian")
        return outputs
    result = jacfwd(tupled, argnums=tuple(range(len(inputs))))(*inputs)
    return _unwrap(tuple(_unwrap(tuple(row), in_tuple) for row in result), kept["tuple"])


def jacobian(func, inputs, create_graph=False, strict=False, vectorize=False,
             strategy="reverse-mode"):
    """The Jacobian: for an output and an input of shapes S and T a tensor of shape S + T.

    Tuples of outputs or inputs give tuples (outputs first). Forward mode makes a column for each element of
    the inputs in turn, reverse mode a row for each of the outputs; `vectorize` makes all at once through vmap.
    Raises AssertionError for another strategy.
    """
    if strategy not in ("reverse-mode", "forward-mode"):
        raise AssertionError("strategy must be 'reverse-mode' or 'forward-mode', got "
                             f"{strategy!r}")
    if vectorize and strict:
        raise RuntimeError("strict=True and vectorize=True exclude each other")
    if strategy == "forward-mode":
        if create_graph:
            raise NotImplementedError("strategy='forward-mode' with create_graph=True")
        if strict:
            raise RuntimeError("strict=True needs strategy='reverse-mode'")
        return _all_columns(func, inputs) if vectorize else _forward_jacobian(func, inputs)
    with torch.enable_grad():
        in_tuple, inputs = _as_tuple(inputs, "inputs", "jacobian")
        inputs = _prepare(inputs, create_graph, True)
        out_tuple, outputs = _as_tuple(func(*inputs), "the result of func", "jacobian")
        _check_graph(outputs, strict, "output")
        rows_of = []
        for k, output in enumerate(outputs):
            if vectorize and output.numel():
                rows_of.append(_all_rows(output, inputs, create_graph))
                continue
            rows = [[] for _ in inputs]
            for element in output.reshape(-1).unbind(0) if output.numel() else ():
                grads = _grad((element,), inputs, None, create_graph, retain_graph=True)
                for i, (row, g, x) in enumerate(zip(rows, grads, inputs)):
                    if g is None:
                        if strict:
                            raise RuntimeError(f"output {k} does not depend on input {i}, which "
                                               "strict=True does not allow")
                        g = torch.zeros_like(x)
                    elif strict and create_graph and not g.requires_grad:
                        raise RuntimeError(f"the Jacobian of output {k} does not depend on input "
                                           f"{i}, which strict=True does not allow")
                    row.append(g)
            rows_of.append(tuple(
                torch.stack(row).reshape(output.shape + x.shape) if row
                else output.new_zeros(output.shape + x.shape)
                for row, x in zip(rows, inputs)))
    result = tuple(_unwrap(_finish(rows, create_graph), in_tuple) for rows in rows_of)
    return _unwrap(result, out_tuple)


def _scalar(func, name, strict=False):
    def checked(*inputs):
        out_tuple, outputs = _as_tuple(func(*inputs), "the result of func", name)
        if len(outputs) != 1 or out_tuple or outputs[0].nelement() != 1:
            raise RuntimeError(f"the function given to {name} must return one tensor of one "
                               "element")
        return outputs[0].reshape(())
    return checked


def hessian(func, inputs, create_graph=False, strict=False, vectorize=False,
            outer_jacobian_strategy="reverse-mode"):
    """The second derivatives of a function with one number as result: for inputs of shapes S and T
    a tensor of shape S + T; a tuple of tuples for a tuple of inputs."""
    if outer_jacobian_strategy not in ("reverse-mode", "forward-mode"):
        raise AssertionError("outer_jacobian_strategy must be 'reverse-mode' or 'forward-mode', got "
                         f"{outer_jacobian_strategy!r}")
    in_tuple, inputs = _as_tuple(inputs, "inputs", "hessian")
    scalar = _scalar(func, "hessian")

    def gradient(*args):
        result = jacobian(scalar, args, create_graph=True, strict=strict, vectorize=False)
        for i, g in enumerate(result):
            if strict and not g.requires_grad:
                raise RuntimeError(f"the gradient of input {i} does not depend on the inputs, "
                                   "which strict=True does not allow")
        return tuple(result)

    forward = outer_jacobian_strategy == "forward-mode"
    if forward and not create_graph:
        inputs = tuple(x.detach().requires_grad_() for x in inputs)
    if forward and vectorize:
        from torch.func import jacrev
        numbers = tuple(range(len(inputs)))
        given = jacrev(scalar, argnums=numbers)
        result = jacobian(lambda *args: tuple(given(*args)), inputs, strict=strict, vectorize=True, strategy=outer_jacobian_strategy)
    else:
        result = jacobian(gradient, inputs, create_graph=create_graph, strict=strict, vectorize=vectorize,
                          strategy=outer_jacobian_strategy)
    if forward:
        result = tuple(tuple(x.detach() for x in row) for row in result)
    return result if in_tuple else result[0][0]


def _gradient_of(func, inputs, v, create_graph, strict, name):
    """What both Hessian products start from: checked inputs and v, the scalar output, its gradient."""
    in_tuple, inputs = _as_tuple(inputs, "inputs", name)
    inputs = _prepare(inputs, create_graph, True)
    if v is None:
        v = _default_v(inputs, "input")
    else:
        _, v = _as_tuple(v, "v", name)
        v = _prepare(v, create_graph, False)
        _check_v(v, inputs, in_tuple, "input")
    output = _scalar(func, name)(*inputs)
    _check_graph((output,), strict, "output")
    grads = _fill(_grad((output,), inputs, None, True), inputs, strict, "the gradient")
    return in_tuple, inputs, v, output, grads


def vhp(func, inputs, v=None, create_graph=False, strict=False):
    """(func(*inputs), the product of v with the Hessian: a tensor for each input)"""
    with torch.enable_grad():
        in_tuple, inputs, v, output, grads = _gradient_of(func, inputs, v, create_graph, strict, "vhp")
    with torch.set_grad_enabled(create_graph or torch.is_grad_enabled()):
        result = _fill(_grad(grads, inputs, v, create_graph), inputs, strict, "the product")
    return (_finish((output,), create_graph)[0], _unwrap(_finish(result, create_graph), in_tuple))


def hvp(func, inputs, v=None, create_graph=False, strict=False):
    """(func(*inputs), the product of the Hessian with v: a tensor for each input)

    `vhp` gives the same for real functions and is cheaper.
    """
    with torch.enable_grad():
        in_tuple, inputs, v, output, grads = _gradient_of(func, inputs, v, create_graph, strict, "hvp")
        left = tuple(torch.zeros_like(g, requires_grad=True) for g in grads)
        products = _fill(_grad(grads, inputs, left, True), inputs, strict, "the product")
    with torch.set_grad_enabled(create_graph or torch.is_grad_enabled()):
        result = _fill(_grad(products, left, v, create_graph), inputs, strict, "the product")
    return (_finish((output,), create_graph)[0], _unwrap(_finish(result, create_graph), in_tuple))
