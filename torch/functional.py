"""Functions of torch whose Python signature is wider than one operator's."""
import collections
import math

import torch
from torch import _C

__all__ = ["atleast_1d", "atleast_2d", "atleast_3d", "align_tensors", "block_diag", "broadcast_shapes", "broadcast_tensors", "cartesian_prod",
           "cdist", "chain_matmul", "detach_", "einsum", "gradient", "histogramdd", "meshgrid", "nonzero", "norm", "split",
           "tensordot", "unique", "unique_consecutive",
           "unravel_index"]

_functions = _C._VariableFunctions


def detach_(input):
    """Cuts a tensor off its history, in place; returns it."""
    return input.detach_()


def _operator(name):
    f = getattr(_functions, name, None)
    if f is None:
        raise NotImplementedError(f"operator {name} is not there yet")
    return f


def _listed(tensors):
    """f(a, b) and f((a, b)) mean the same."""
    return tuple(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors


def _atleast(name):
    def f(*tensors):
        op = _operator(name)
        if len(tensors) == 1 and isinstance(tensors[0], torch.Tensor):
            return op(tensors[0])
        return tuple(op(t) for t in _listed(tensors))
    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"Views of the tensors with at least {name[8]} dimension(s); of one tensor, the view itself."
    return f


atleast_1d, atleast_2d, atleast_3d = (_atleast(f"atleast_{n}d") for n in (1, 2, 3))


def nonzero(input, *, out=None, as_tuple=False):
    """The indices of the elements that differ from zero: int64 of shape (n, input.ndim) in row-major order, or with
    as_tuple one vector for each dimension, fit for input[...]."""
    if as_tuple:
        if out is not None:
            raise TypeError("nonzero takes out= or as_tuple=True, not both")
        return tuple(torch.ops.aten.nonzero_numpy(input))
    return _operator("nonzero")(input) if out is None else _operator("nonzero")(input, out=out)


def align_tensors(*tensors):
    raise RuntimeError("align_tensors belongs to named tensors, which are not supported")


def block_diag(*tensors):
    """A matrix with the given matrices (or vectors, numbers) along its diagonal and zeros elsewhere."""
    return _operator("block_diag")(list(_listed(tensors)))


def broadcast_tensors(*tensors):
    """Views of the tensors in the shape they broadcast to; RuntimeError where they do not."""
    return _operator("broadcast_tensors")(list(_listed(tensors)))


def broadcast_shapes(*shapes):
    """The shape that shapes (ints count as 1-d) broadcast to; RuntimeError where they do not."""
    shapes = [(s,) if isinstance(s, int) else tuple(s) for s in shapes]
    n = max((len(s) for s in shapes), default=0)
    out = [1] * n
    for s in shapes:
        for i in range(-1, -1 - len(s), -1):
            if s[i] < 0:
                raise RuntimeError(f"size {s[i]} in shape {s} is negative")
            if s[i] != 1 and s[i] != out[i]:
                if out[i] != 1:
                    raise RuntimeError(f"shapes {', '.join(map(str, shapes))} do not broadcast: sizes {out[i]} and {s[i]} meet at "
                                       f"dimension {n + i}")
                out[i] = s[i]
    return torch.Size(out)


def cartesian_prod(*tensors):
    """All combinations of the elements of 1-d tensors, one a row."""
    return _operator("cartesian_prod")(list(_listed(tensors)))


def cdist(x1, x2, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary"):
    """p-norm distances between the rows of x1 (B x P x M) and x2 (B x R x M), B x P x R."""
    modes = {"use_mm_for_euclid_dist_if_necessary": None, "use_mm_for_euclid_dist": 1, "donot_use_mm_for_euclid_dist": 2}
    if compute_mode not in modes:
        raise ValueError(f"compute_mode must be one of {sorted(modes)}, got {compute_mode!r}")
    return _operator("cdist")(x1, x2, p, modes[compute_mode])


def chain_matmul(*matrices, out=None):
    """The product of matrices; torch.linalg.multi_dot under its old name."""
    return torch.linalg.multi_dot(list(_listed(matrices)))


def einsum(*args):
    """einsum("ij,jk->ik", a, b), or einsum(a, [0, 1], b, [1, 2], [0, 2]): sums of products over named dimensions."""
    if len(args) < 2:
        raise ValueError(f"einsum() takes an equation and at least one operand, got {len(args)} arguments")
    if isinstance(args[0], str):
        equation, operands = args[0], args[1:]
        if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
            operands = operands[0]
    else:
        def letters(subscripts):
            def one(s):
                if s is Ellipsis:
                    return "..."
                if not 0 <= s < 52:
                    raise ValueError(f"einsum() subscripts in list form are 0 to 51, got {s}")
                return chr(ord("A") + s) if s < 26 else chr(ord("a") + s - 26)
            return "".join(one(s) for s in subscripts)
        operands = args[:-1:2] if len(args) % 2 else args[::2]
        equation = ",".join(letters(s) for s in args[1::2])
        if len(args) % 2:
            equation += "->" + letters(args[-1])
    if _C._has_torch_function_each(*operands):
        from torch.overrides import handle_torch_function
        return handle_torch_function(einsum, operands, equation, *operands)
    return _operator("einsum")(equation, list(operands))


def gradient(input, *, spacing=1, dim=None, edge_order=1):
    """Derivatives of samples along each dimension of dim (all of them), by second-order differences.

    Args:
        input: (..., n, ...) with n > edge_order along each dimension.
        spacing: the distance of samples; a list gives one to each dimension, or its n coordinates as a tensor.
        dim: an int or a list of them.
        edge_order: 1 or 2, the order of the one-sided differences at both ends.

    Returns a tuple of tensors shaped as input. RuntimeError where lengths do not match.
    """
    if dim is None:
        dims = list(range(input.dim()))
    else:
        dims = [d + input.dim() if d < 0 else d for d in ([dim] if isinstance(dim, int) else dim)]
    for d in dims:
        if not 0 <= d < input.dim():
            raise IndexError(f"gradient: dimension {d} is not one of the {input.dim()} of shape {tuple(input.shape)}")
    if len(set(dims)) != len(dims):
        raise RuntimeError(f"gradient: a dimension appears twice in {dims}")
    if edge_order not in (1, 2):
        raise RuntimeError(f"gradient: edge_order is {edge_order}; it is 1 or 2")
    if spacing is None:
        spacing = 1
    if not isinstance(spacing, (list, tuple)):
        spacing = [spacing] * len(dims)
    if len(spacing) != len(dims):
        raise RuntimeError(f"gradient: {len(spacing)} spacings were given for {len(dims)} dimensions")
    return tuple(_derivative(input, d, h, edge_order) for d, h in zip(dims, spacing))


def _derivative(x, dim, h, edge_order):
    n = x.size(dim)
    if n < edge_order + 1:
        raise RuntimeError(f"gradient: dimension {dim} of shape {tuple(x.shape)} needs at least {edge_order + 1} samples")

    def at(i, count=1):
        return x.narrow(dim, i, count)

    if isinstance(h, torch.Tensor) and h.dim() == 1:
        if h.numel() != n:
            raise RuntimeError(f"gradient: {h.numel()} coordinates were given for the {n} samples along dimension {dim}")
        steps = torch.diff(h).view([-1 if d == dim else 1 for d in range(x.dim())])

        def step(i, count=1):
            return steps.narrow(dim, i, count)

        left, right = step(0, n - 2), step(1, n - 2)
        inner = (at(0, n - 2) * (-right / (left * (left + right))) + at(1, n - 2) * ((right - left) / (left * right))
                 + at(2, n - 2) * (left / (right * (left + right))))
        if edge_order == 1:
            first, last = (at(1) - at(0)) / step(0), (at(n - 1) - at(n - 2)) / step(n - 2)
        else:
            a, b = step(0), step(1)
            first = at(0) * (-(2 * a + b) / (a * (a + b))) + at(1) * ((a + b) / (a * b)) + at(2) * (-a / (b * (a + b)))
            a, b = step(n - 3), step(n - 2)
            last = at(n - 3) * (b / (a * (a + b))) + at(n - 2) * (-(a + b) / (a * b)) + at(n - 1) * ((a + 2 * b) / (b * (a + b)))
    else:
        inner = (at(2, n - 2) - at(0, n - 2)) / (2 * h)
        if edge_order == 1:
            first, last = (at(1) - at(0)) / h, (at(n - 1) - at(n - 2)) / h
        else:
            first = (4 * at(1) - 3 * at(0) - at(2)) / (2 * h)
            last = (3 * at(n - 1) - 4 * at(n - 2) + at(n - 3)) / (2 * h)
    return torch.cat([first, inner, last], dim)


_Histogram = collections.namedtuple("histogramdd", ("hist", "bin_edges"))


def histogramdd(input, bins, *, range=None, weight=None, density=False):
    """Histogram of points, the rows of input (..., D): (hist, edges) with a tuple of D rows of edges.

    Args:
        bins: D rows of edges, D numbers of equal intervals, or one number for all.
        range: 2 D numbers, the least and greatest value of each dimension; of the points where absent.
        weight: one number for each point, shape (...).
    """
    if isinstance(bins, int):
        bins = [bins] * input.size(-1)
    if isinstance(bins[0], torch.Tensor):
        return _Histogram(torch._histogramdd_from_bin_tensors(input, list(bins), weight=weight, density=density), tuple(bins))
    kw = {"range": range, "weight": weight, "density": density}
    edges = torch._histogramdd_bin_edges(input, list(bins), **kw)
    return _Histogram(torch._histogramdd_from_bin_cts(input, list(bins), **kw), tuple(edges))


def meshgrid(*tensors, indexing=None):
    """Coordinate tensors of a grid over 1-d tensors; indexing "ij" (default) or "xy"."""
    f = _operator("meshgrid")
    tensors = list(_listed(tensors))
    return f(tensors) if indexing is None else f(tensors, indexing=indexing)


def norm(input, p="fro", dim=None, keepdim=False, out=None, dtype=None):
    """Vector or matrix norm (deprecated: torch.linalg.vector_norm, matrix_norm). p: a number, "fro" or "nuc"."""
    if input.layout is not torch.strided:
        raise NotImplementedError("norm of a sparse tensor is not there yet")
    if isinstance(dim, int):
        dim = (dim,)
    kw = {} if out is None else {"out": out}
    if p == "fro" and (dim is None or len(dim) <= 2):
        return torch.linalg.vector_norm(input, 2, dim, keepdim, dtype=dtype, **kw)
    if p == "nuc":
        if dim is None or len(dim) != 2:
            if dim is not None:
                raise ValueError(f"the nuclear norm takes two dimensions, got {dim}")
            dim = (-2, -1)
        return torch.linalg.matrix_norm(input, "nuc", dim, keepdim, dtype=dtype, **kw)
    if isinstance(p, str):
        raise RuntimeError(f"norm() knows the names 'fro' and 'nuc', got {p!r}")
    return torch.linalg.vector_norm(input, 2 if p is None else p, dim, keepdim, dtype=dtype, **kw)


def split(tensor, split_size_or_sections, dim=0):
    """Views of `split_size` along dim (the last may be smaller), or of the sizes in a list."""
    if _C._has_torch_function_each(tensor):
        return torch._torch_function.dispatch(split, (tensor, split_size_or_sections), {"dim": dim})
    if isinstance(split_size_or_sections, torch.Tensor):
        split_size_or_sections = int(split_size_or_sections)
    if isinstance(split_size_or_sections, (list, tuple)):
        return _operator("split_with_sizes")(tensor, split_size_or_sections, dim)
    return _operator("split")(tensor, split_size_or_sections, dim)


def tensordot(a, b, dims=2, out=None):
    """Sums over `dims` trailing dimensions of a and leading ones of b, or over the pairs ([..], [..])."""
    if isinstance(dims, torch.Tensor):
        dims = dims.tolist() if dims.numel() > 1 else int(dims)
    if isinstance(dims, (list, tuple)):
        if len(dims) != 2:
            raise RuntimeError(f"tensordot() takes dims as an int or a pair of lists, got {dims}")
        da, db = ([d] if isinstance(d, int) else list(d) for d in dims)
    else:
        if dims < 0:
            raise RuntimeError(f"tensordot() takes dims >= 0, got {dims}")
        if dims > min(a.dim(), b.dim()):
            raise RuntimeError(f"tensordot() takes dims below the numbers of dimensions {a.dim()} and {b.dim()}, got {dims}")
        da, db = list(range(a.dim() - dims, a.dim())), list(range(dims))
    f = _operator("tensordot")
    return f(a, b, da, db) if out is None else f(a, b, da, db, out=out)


def _picked(output, inverse, counts, return_inverse, return_counts):
    picked = [output] + [inverse] * return_inverse + [counts] * return_counts
    return picked[0] if len(picked) == 1 else tuple(picked)


def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """Distinct elements (or slices along dim), and where asked the index of each input's and their counts."""
    if _C._has_torch_function_each(input):
        return torch._torch_function.dispatch(unique, (input,), {"sorted": sorted, "return_inverse": return_inverse,
                                                                 "return_counts": return_counts, "dim": dim})
    if dim is None:
        r = _operator("_unique2")(input, sorted, return_inverse, return_counts)
    else:
        r = torch.ops.aten.unique_dim(input, dim, sorted, return_inverse, return_counts)
    return _picked(*r, return_inverse, return_counts)


def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    """The first of each run of equal elements (or slices along dim)."""
    if _C._has_torch_function_each(input):
        return torch._torch_function.dispatch(unique_consecutive, (input,), {"return_inverse": return_inverse,
                                                                             "return_counts": return_counts, "dim": dim})
    return _picked(*torch.ops.aten.unique_consecutive(input, return_inverse, return_counts, dim), return_inverse, return_counts)


def unravel_index(indices, shape):
    """Flat indices of a tensor of this shape as a tuple of coordinate tensors, int64, one for each dimension.

    TypeError for indices that are not integers and for a shape that is not ints; ValueError for negative sizes, and for
    sizes of 0 where there are indices.
    """
    if not isinstance(indices, torch.Tensor):
        raise TypeError(f"unravel_index: indices must be a Tensor, but got {type(indices).__name__}")
    if indices.is_floating_point() or indices.is_complex() or indices.dtype is torch.bool:
        raise TypeError(f"unravel_index: indices must be integers, but they are {indices.dtype}")
    if not isinstance(shape, (int, tuple, list)):
        raise TypeError(f"unravel_index: shape must be an int or a sequence of ints, but got {type(shape).__name__}")
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    for s in shape:
        if not isinstance(s, int):
            raise TypeError(f"unravel_index: shape must be ints, but it holds {type(s).__name__}")
        if s < 0:
            raise ValueError(f"unravel_index: sizes must not be negative, but shape is {shape}")
    if 0 in shape and indices.numel():
        raise ValueError(f"unravel_index: {indices.numel()} indices cannot lie within shape {shape}, which has no elements")
    steps = [math.prod(shape[i + 1:]) for i in range(len(shape))]
    places = torch.div(indices.unsqueeze(-1), torch.tensor(steps, dtype=torch.int64, device=indices.device), rounding_mode="floor")
    return torch.remainder(places, torch.tensor(shape, dtype=torch.int64, device=indices.device)).unbind(-1)


def __getattr__(name):
    if name in ("istft", "lu", "stft"):
        from torch import _absent
        raise _absent.error("torch", name)
    raise AttributeError(f"module 'torch.functional' has no attribute {name!r}")
