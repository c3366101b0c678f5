"""Checks derivatives against differences.

All is done in real numbers: a complex tensor counts as its real and imaginary parts, both in the
numerical Jacobian and in the analytical one, whose rows are the gradients of these parts.
"""

import sys
import types
import warnings

import torch

__all__ = ["gradcheck", "gradgradcheck", "GradcheckError", "get_numerical_jacobian",
           "get_analytical_jacobian"]


class GradcheckError(RuntimeError):
    """A derivative is not what the differences say."""


def _as_tuple(x):
    if isinstance(x, tuple):
        return x
    return tuple(x) if isinstance(x, list) else (x,)


def _is_tensor(x):
    return isinstance(x, torch.Tensor)


def _differentiable(x):
    return _is_tensor(x) and (x.is_floating_point() or x.is_complex())


def _flat_real(t):
    """All real numbers of a tensor, as a new vector of float64."""
    if t.layout != torch.strided:
        t = t.to_dense()
    t = t.detach().resolve_conj().resolve_neg()
    if t.is_complex():
        t = torch.view_as_real(t)
    return t.reshape(-1).to(torch.float64, copy=True)


def _real_view(t):
    """The elements of a leaf as a real tensor on the same memory, whose changes do not count as
    writes: graphs made before stay valid when the values are back."""
    t = t.data
    return torch.view_as_real(t) if t.is_complex() else t


def _check_inputs(inputs):
    checked = []
    for i, x in enumerate(inputs):
        if not (_is_tensor(x) and x.requires_grad):
            continue
        checked.append(i)
        if x.dtype not in (torch.float64, torch.complex128):
            warnings.warn(f"input {i} has the dtype {x.dtype}: differences need float64 or "
                          "complex128 to be precise enough", stacklevel=4)
        if x.layout == torch.strided and any(
                s == 0 and n > 1 for s, n in zip(x.stride(), x.shape)):
            raise RuntimeError(f"input {i} has a stride of 0: elements that share memory cannot "
                               "be varied one by one; pass input.contiguous()")
        x.retain_grad()
    if not checked:
        raise ValueError("no input of gradcheck requires a gradient")
    return checked


def _outputs(func, inputs):
    out = func(*inputs)
    for k, o in enumerate(_as_tuple(out)):
        if not _is_tensor(o):
            raise AttributeError(f"gradcheck: output {k} is no tensor, it is {o!r}, and so has no requires_grad")
        if o.layout not in (torch.strided, torch.sparse_coo):
            raise ValueError(f"an output has the layout {o.layout}, which is not checked")
    return [o for o in _as_tuple(out) if _differentiable(o) and o.requires_grad], \
        [o for o in _as_tuple(out) if _differentiable(o) and not o.requires_grad]


def _numerical_column(func, inputs, view, index, eps):
    """The change of all outputs per change of one real number of an input: list of vectors."""
    before = view[index].item()
    results = []
    with torch.no_grad():
        for value in (before - eps, before + eps):
            view[index] = value
            out = [_flat_real(o) for o in _as_tuple(func(*inputs)) if _differentiable(o)]
            results.append(out)
        view[index] = before
    return [(high - low) / (2 * eps) for low, high in zip(*results)]


def _numerical(func, inputs, which, eps):
    """[output][input] -> (numbers of the output, numbers of the input)"""
    jacobians = []
    for i in which:
        view = _real_view(inputs[i])
        columns = []
        for flat in range(view.numel()):
            index, rest = [], flat
            for size in reversed(view.shape):
                index.insert(0, rest % size)
                rest //= size
            columns.append(_numerical_column(func, inputs, view, tuple(index), eps))
        jacobians.append(columns)
    if not any(jacobians):
        outputs = [_flat_real(o) for o in _as_tuple(func(*inputs)) if _differentiable(o)]
        return [[o.new_zeros(o.numel(), 0) for _ in which] for o in outputs]
    count = next(len(c[0]) for c in jacobians if c)
    return [[torch.stack([c[o] for c in columns], 1) if columns else torch.zeros(0, 0)
             for columns in jacobians] for o in range(count)]


def _unit_cotangents(output):
    """For each real number of the output the cotangent whose product with it is that number."""
    n = output.numel()
    parts = (1.0, 1j) if output.is_complex() else (1.0,)
    for k in range(n):
        for part in parts:
            g = torch.zeros(n, dtype=output.dtype, device=output.device)
            g[k] = part
            yield g.reshape(output.shape)


def _grads(output, tensors, cotangent, create_graph=False):
    return torch.autograd.grad(output, tensors, cotangent, retain_graph=True, allow_unused=True,
                               create_graph=create_graph)


def _analytical(output, tensors, check_grad_dtypes=False):
    """[input] -> (numbers of the output, numbers of the input)"""
    rows = [[] for _ in tensors]
    for cotangent in _unit_cotangents(output):
        for row, x, g in zip(rows, tensors, _grads(output, tensors, cotangent)):
            if g is None:
                row.append(torch.zeros(_flat_real(x).numel(), dtype=torch.float64))
                continue
            if g.shape != x.shape:
                raise GradcheckError(f"a gradient has the shape {tuple(g.shape)}, its input "
                                     f"{tuple(x.shape)}")
            if check_grad_dtypes and g.dtype != x.dtype:
                raise GradcheckError(f"a gradient has the dtype {g.dtype}, its input {x.dtype}")
            row.append(_flat_real(g))
    empty = [torch.zeros(0, _flat_real(x).numel(), dtype=torch.float64) for x in tensors]
    return [torch.stack(r) if r else e for r, e in zip(rows, empty)]


def get_numerical_jacobian(fn, inputs, target=None, eps=1e-3, grad_out=1.0):
    """Jacobians of the first output for the inputs that require a gradient, by differences:
    (numbers of the input, numbers of the output) each."""
    inputs = _as_tuple(inputs)
    which = [i for i, x in enumerate(inputs) if _is_tensor(x) and x.requires_grad]
    return [j.t() for j in _numerical(fn, inputs, which, eps)[0]]


def get_analytical_jacobian(inputs, output, nondet_tol=0.0, grad_out=1.0):
    """(Jacobians as of `get_numerical_jacobian`, whether two passes agreed, True, True)"""
    tensors = [x for x in _as_tuple(inputs) if _is_tensor(x) and x.requires_grad]
    first, second = _analytical(output, tensors), _analytical(output, tensors)
    same = all(_near(a, b, nondet_tol) for a, b in zip(first, second))
    return tuple(j.t() for j in first), same, True, True


def _near(a, b, tolerance):
    return a.numel() == 0 or bool(((a - b).abs() <= tolerance).all())


def _mismatch(o, i, numerical, analytical, how):
    return GradcheckError(f"the Jacobian of output {o} with respect to input {i} differs ({how}):\n"
                          f"numerical:\n{numerical}\nanalytical:\n{analytical}")


def _check_slow(func, inputs, which, outputs, eps, atol, rtol, nondet_tol, check_grad_dtypes):
    numerical = _numerical(func, inputs, which, eps)
    tensors = [inputs[i] for i in which]
    # Outputs that need no gradient stand between the others in the numerical list.
    number = [k for k, o in enumerate(
        o for o in _as_tuple(func(*inputs)) if _differentiable(o)) if o.requires_grad]
    for k, output in zip(number, outputs):
        analytical = _analytical(output, tensors, check_grad_dtypes)
        again = _analytical(output, tensors)
        for i, a, b, n in zip(which, analytical, again, numerical[k]):
            if not _near(a, b, nondet_tol):
                raise GradcheckError(f"two backward passes of output {k} for input {i} gave other "
                                     f"gradients, more than nondet_tol={nondet_tol} apart")
            if a.numel() and not torch.allclose(a, n, rtol=rtol, atol=atol):
                raise _mismatch(k, i, n, a, "real and imaginary parts in turn"
                                if output.is_complex() or inputs[i].is_complex() else "by element")


def _check_fast(func, inputs, which, outputs, eps, atol, rtol, nondet_tol, check_grad_dtypes):
    """One random direction of all numbers of the input, one random sum of those of the output."""
    generator = torch.Generator()
    generator.manual_seed(0)

    def unit(n):
        v = torch.rand(n, generator=generator, dtype=torch.float64)
        return v / v.norm() if n else v

    number = [k for k, o in enumerate(
        o for o in _as_tuple(func(*inputs)) if _differentiable(o)) if o.requires_grad]
    for i in which:
        view = _real_view(inputs[i])
        direction = unit(view.numel())
        step = direction.reshape(view.shape).to(view.dtype)
        with torch.no_grad():
            before = view.clone()
            found = []
            for sign in (-1, 1):
                view.copy_(before + sign * eps * step)
                found.append([_flat_real(o) for o in _as_tuple(func(*inputs))
                              if _differentiable(o)])
            view.copy_(before)
        for k, output in zip(number, outputs):
            weights = unit(found[0][k].numel())
            numerical = ((found[1][k] - found[0][k]) / (2 * eps)) @ weights
            shaped = weights.reshape((*output.shape, 2) if output.is_complex() else output.shape)
            cotangent = torch.view_as_complex(shaped.contiguous()) if output.is_complex() \
                else shaped
            cotangent = cotangent.to(output.dtype)
            grad = _grads(output, [inputs[i]], cotangent)[0]
            analytical = torch.zeros((), dtype=torch.float64) if grad is None \
                else _flat_real(grad) @ direction
            # The sum of many errors may be larger than one: allow for the whole Jacobian.
            scale = max(1.0, float(weights.abs().sum() * direction.abs().sum()))
            if not torch.allclose(analytical, numerical, rtol=rtol, atol=atol * scale):
                _check_slow(func, inputs, which, outputs, eps, atol, rtol, nondet_tol,
                            check_grad_dtypes)
                raise _mismatch(k, i, numerical, analytical,
                                "fast mode; the slow mode finds no difference")


def _check_forward(func, inputs, which, eps, atol, rtol):
    try:
        from torch.autograd import forward_ad
    except ImportError:
        raise NotImplementedError("check_forward_ad: there is no forward mode yet") from None
    numerical = _numerical(func, inputs, which, eps)
    for column, i in enumerate(which):
        view = _real_view(inputs[i])
        for flat in range(view.numel()):
            tangent = torch.zeros(view.numel(), dtype=view.dtype)
            tangent[flat] = 1
            tangent = tangent.reshape(view.shape)
            if inputs[i].is_complex():
                tangent = torch.view_as_complex(tangent)
            with forward_ad.dual_level():
                duals = [forward_ad.make_dual(x.detach(), tangent) if j == i else x
                         for j, x in enumerate(inputs)]
                outs = [forward_ad.unpack_dual(o) for o in _as_tuple(func(*duals))
                        if _differentiable(o)]
            for k, (value, t) in enumerate(outs):
                got = _flat_real(t) if t is not None else _flat_real(torch.zeros_like(value))
                want = numerical[k][column][:, flat]
                if not torch.allclose(got, want, rtol=rtol, atol=atol):
                    raise _mismatch(k, i, want, got, f"forward mode, column {flat}")


def _check_undefined(func, inputs, which):
    """A missing gradient of an output must count as zeros."""
    outputs, _ = _outputs(func, inputs)
    if len(outputs) < 2:
        return
    tensors = [inputs[i] for i in which]
    for left_out in range(len(outputs)):
        used = [o for k, o in enumerate(outputs) if k != left_out]
        without = torch.autograd.grad(used, tensors, [torch.ones_like(o) for o in used],
                                      retain_graph=True, allow_unused=True)
        zeros = torch.autograd.grad(
            outputs, tensors, [torch.zeros_like(o) if k == left_out else torch.ones_like(o)
                               for k, o in enumerate(outputs)],
            retain_graph=True, allow_unused=True)
        for i, a, b in zip(which, without, zeros):
            a = inputs[i].new_zeros(inputs[i].shape) if a is None else a
            b = inputs[i].new_zeros(inputs[i].shape) if b is None else b
            if not torch.allclose(_flat_real(a), _flat_real(b), equal_nan=True):
                raise GradcheckError(f"the gradient of input {i} differs when that of output "
                                     f"{left_out} is left out and when it is zero")


def _check_batched(func, inputs, which):
    """A backward pass of a batch of gradients gives what passes of each give."""
    outputs, _ = _outputs(func, inputs)
    tensors = [inputs[i] for i in which]
    for k, output in enumerate(outputs):
        g = torch.randn((3, *output.shape), dtype=output.dtype, device=output.device)
        try:
            batched = torch.autograd.grad(output, tensors, g, retain_graph=True, allow_unused=True, is_grads_batched=True)
        except RuntimeError as e:
            raise GradcheckError(f"the backward of output {k} cannot run on a batch of gradients (vmap): {e}") from e
        single = [torch.autograd.grad(output, tensors, row, retain_graph=True, allow_unused=True) for row in g]
        for i, got, *want in zip(which, batched, *single):
            if got is not None and not torch.allclose(got, torch.stack(want), equal_nan=True):
                raise GradcheckError(f"the gradient of input {i} from a batch of gradients of output {k} differs from those of each:\n{got}\n{torch.stack(want)}")


def _check_batched_forward(func, inputs, which):
    """Tangents of a batch give what those of each give."""
    def moved(*tangents):
        given = list(inputs)
        duals = tuple(inputs[i].detach() for i in which)

        def of(*xs):
            for i, x in zip(which, xs):
                given[i] = x
            return tuple(o for o in _as_tuple(func(*given)) if _differentiable(o))
        return torch.func.jvp(of, duals, tangents)[1]
    tangents = tuple(torch.randn((3, *inputs[i].shape), dtype=inputs[i].dtype) for i in which)
    try:
        batched = torch.vmap(moved)(*tangents)
    except RuntimeError as e:
        raise GradcheckError(f"forward mode cannot run on a batch of tangents (vmap): {e}") from e
    for k, (got, *want) in enumerate(zip(batched, *(moved(*row) for row in zip(*tangents)))):
        if not torch.allclose(got, torch.stack(want), equal_nan=True):
            raise GradcheckError(f"the tangent of output {k} from a batch of tangents differs from those of each:\n{got}\n{torch.stack(want)}")


def gradcheck(func, inputs, *, eps=1e-6, atol=1e-5, rtol=1e-3, raise_exception=True,
              nondet_tol=0.0, check_undefined_grad=True, check_grad_dtypes=False,
              check_batched_grad=False, check_batched_forward_grad=False, check_forward_ad=False,
              check_backward_ad=True, fast_mode=False, masked=None):
    """Compares the gradients of `func(*inputs)` with differences of step `eps`.

    Inputs that require a gradient should be float64 or complex128. `fast_mode` checks one random
    product of each Jacobian. `check_batched_grad` and `check_batched_forward_grad` compare a batch of gradients (of
    tangents), by vmap, with each for itself. Raises GradcheckError with both Jacobians where they differ (False
    without `raise_exception`), ValueError when no input requires a gradient, AssertionError where neither direction is
    to be checked or a check needs one that is not, AttributeError for an output that is no tensor.
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("gradcheck: check_forward_ad and check_backward_ad are both False, so that nothing would be checked")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("gradcheck: check_batched_grad=True needs check_backward_ad=True")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError("gradcheck: check_batched_forward_grad=True needs check_forward_ad=True")
    inputs = _as_tuple(inputs)
    which = _check_inputs(inputs)
    try:
        if check_backward_ad:
            outputs, constant = _outputs(func, inputs)
            if not outputs:
                for k, columns in enumerate(_numerical(func, inputs, which, eps)):
                    for i, n in zip(which, columns):
                        if n.numel() and float(n.abs().max()) > atol:
                            raise GradcheckError(
                                f"output {k} changes with input {i} and has no gradient:\n{n}")
            check = _check_fast if fast_mode else _check_slow
            if outputs:
                check(func, inputs, which, outputs, eps, atol, rtol, nondet_tol,
                      check_grad_dtypes)
            if check_undefined_grad:
                _check_undefined(func, inputs, which)
            if check_batched_grad and outputs:
                _check_batched(func, inputs, which)
        if check_forward_ad:
            _check_forward(func, inputs, which, eps, atol, rtol)
        if check_batched_forward_grad:
            _check_batched_forward(func, inputs, which)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(func, inputs, grad_outputs=None, *, eps=1e-6, atol=1e-5, rtol=1e-3,
                  gen_non_contig_grad_outputs=False, raise_exception=True, nondet_tol=0.0,
                  check_undefined_grad=True, check_grad_dtypes=False, check_batched_grad=False,
                  check_fwd_over_rev=False, check_rev_over_rev=True, fast_mode=False,
                  masked=False):
    """`gradcheck` of the gradients of `func`, as functions of its inputs and of the gradients of
    its outputs (random ones without `grad_outputs`). AssertionError where neither reverse nor forward mode over the
    gradients is to be checked, or a check needs reverse mode over them and `check_rev_over_rev` is False."""
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("gradgradcheck: check_fwd_over_rev and check_rev_over_rev are both False, so that nothing would be checked")
    for name, wanted in (("check_undefined_grad", check_undefined_grad), ("check_batched_grad", check_batched_grad)):
        if wanted and not check_rev_over_rev:
            raise AssertionError(f"gradgradcheck: {name}=True needs check_rev_over_rev=True")
    inputs = _as_tuple(inputs)
    if grad_outputs is None:
        grad_outputs = []
        for o in _as_tuple(func(*inputs)):
            if not (_differentiable(o) and o.requires_grad):
                continue
            wide = o.dtype if o.dtype in (torch.float64, torch.complex128) else (
                torch.complex128 if o.is_complex() else torch.float64)
            g = torch.randn(o.shape, dtype=wide, device=o.device)
            if gen_non_contig_grad_outputs and g.dim():
                g = torch.stack([g, g], -1).select(-1, 0)
            grad_outputs.append(g.requires_grad_())
    grad_outputs = _as_tuple(grad_outputs)
    count = len(grad_outputs)

    def gradients(*args):
        given, cotangents = args[:-count], args[-count:]
        given = tuple(x.requires_grad_() if _differentiable(x) and x.is_leaf and inputs[i]
                      .requires_grad else x for i, x in enumerate(given))
        outputs = [o for o in _as_tuple(func(*given)) if _differentiable(o) and o.requires_grad]
        wanted = [x for x, original in zip(given, inputs)
                  if _is_tensor(original) and original.requires_grad]
        with torch.enable_grad():
            return tuple(g for g in torch.autograd.grad(
                outputs, wanted, cotangents, create_graph=True, allow_unused=True)
                if g is not None)

    def first_gradients(*args):
        with torch.enable_grad():
            return gradients(*args)

    return gradcheck(first_gradients, (*inputs, *grad_outputs), eps=eps, atol=atol, rtol=rtol,
                     raise_exception=raise_exception, nondet_tol=nondet_tol,
                     check_undefined_grad=check_undefined_grad,
                     check_grad_dtypes=check_grad_dtypes, check_batched_grad=check_batched_grad,
                     fast_mode=fast_mode, check_forward_ad=check_fwd_over_rev,
                     check_backward_ad=check_rev_over_rev)


class _CallableModule(types.ModuleType):
    """torch.autograd.gradcheck is the function; importing this file first puts the module in its place."""

    def __call__(self, *args, **kwargs):
        return gradcheck(*args, **kwargs)


sys.modules[__name__].__class__ = _CallableModule
