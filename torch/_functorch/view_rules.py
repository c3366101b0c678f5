"""Views and their inverse writes: what the base becomes when a part of it is replaced.

For each view operator `inverse(base, part, args, kwargs, index)` gives the base with `part` in its place; `base` and
`part` are tensors, `args` those of the view after the base, `index` which of several results the part was.
"""
import math

import torch

__all__ = ["INVERSES", "IN_PLACE_VIEWS", "is_view", "copy_form"]

aten = torch.ops.aten


def _geometry(base, part, args, kwargs, index):
    return part.reshape(base.shape)


def _same(base, part, args, kwargs, index):
    return part


def _t(base, part, args, kwargs, index):
    return aten.t.default(part)


def _transpose(base, part, args, kwargs, index):
    return aten.transpose.int(part, *args)


def _permute(base, part, args, kwargs, index):
    dims = [d % part.dim() for d in args[0]]
    return aten.permute.default(part, [dims.index(i) for i in range(len(dims))])


def _select(base, part, args, kwargs, index):
    return aten.select_scatter.default(base, part, *args)


def _slice(base, part, args, kwargs, index):
    return aten.slice_scatter.default(base, part, *args)


def _diagonal(base, part, args, kwargs, index):
    return aten.diagonal_scatter.default(base, part, *args, **kwargs)


def _as_strided(base, part, args, kwargs, index):
    return aten.as_strided_scatter.default(base, part, *args)   # for args of the base as it lies now


def _unfold(base, part, args, kwargs, index):
    dim, size, step = args
    if base.dim() == 0:
        return part.reshape([]) if size else base
    dim %= base.dim()
    count = part.shape[dim]
    if count == 0 or size == 0:
        return base
    if count > 1 and step < size:
        raise NotImplementedError(f"writes to a view by unfold whose windows of {size} lie {step} apart, and so share elements, have no functional form")
    order = list(range(base.dim()))
    windows = aten.permute.default(part, [*order[:dim + 1], base.dim(), *order[dim + 1:]])   # [.., count, size, ..]
    sizes, start = list(base.shape), step * (count - 1)
    if start:   # all but the last one: what lies between them stays
        gaps = aten.slice.Tensor(base, dim, 0, start, 1).reshape([*sizes[:dim], count - 1, step, *sizes[dim + 1:]])
        filled = aten.slice_scatter.default(gaps, aten.slice.Tensor(windows, dim, 0, count - 1, 1), dim + 1, 0, size, 1)
        base = aten.slice_scatter.default(base, filled.reshape([*sizes[:dim], start, *sizes[dim + 1:]]), dim, 0, start, 1)
    return aten.slice_scatter.default(base, aten.select.int(windows, dim, count - 1), dim, start, start + size, 1)


def _conj(base, part, args, kwargs, index):
    return aten.conj_physical.default(part)


def _neg_view(base, part, args, kwargs, index):
    return aten.neg.default(part)


def _unsqueeze(base, part, args, kwargs, index):
    return aten.squeeze.dim(part, args[0])


def _squeeze_dim(base, part, args, kwargs, index):
    if base.dim() == part.dim():
        return part
    return aten.unsqueeze.default(part, args[0] % base.dim() if base.dim() else 0)


def _expand(base, part, args, kwargs, index):
    if base.shape == part.shape:
        return part
    if math.prod(base.shape) != math.prod(part.shape):
        raise NotImplementedError(f"an expanded view of shape {tuple(part.shape)} was written to: its elements share the memory of "
                                  f"{tuple(base.shape)}")
    return part.reshape(base.shape)


def _split(base, part, args, kwargs, index):
    size, dim = args[0], args[1] if len(args) > 1 else kwargs.get("dim", 0)
    start = size * index if isinstance(size, int) else sum(size[:index])
    return aten.slice_scatter.default(base, part, dim, start, start + part.shape[dim], 1)


def _chunk(base, part, args, kwargs, index):
    chunks, dim = args[0], args[1] if len(args) > 1 else kwargs.get("dim", 0)
    size = -(-base.shape[dim] // chunks)
    return aten.slice_scatter.default(base, part, dim, size * index, size * index + part.shape[dim], 1)


def _unbind(base, part, args, kwargs, index):
    return aten.select_scatter.default(base, part, args[0] if args else kwargs.get("dim", 0), index)


def _view_dtype(base, part, args, kwargs, index):
    return part.view(base.dtype)


def _view_as_real(base, part, args, kwargs, index):
    return aten.view_as_complex.default(part.contiguous())


def _view_as_complex(base, part, args, kwargs, index):
    return aten.view_as_real.default(part)


def _component(which):
    def inverse(base, part, args, kwargs, index):
        if not base.dtype.is_complex:
            return part
        pairs = aten.view_as_real.default(base)
        return aten.view_as_complex.default(aten.select_scatter.default(pairs, part, base.dim(), which).contiguous())
    return inverse


def _narrow(base, part, args, kwargs, index):
    dim, start, length = args
    return aten.slice_scatter.default(base, part, dim, start, start + length, 1)


_NAMED = {
    "view.default": _geometry, "_unsafe_view.default": _geometry, "reshape.default": _geometry,
    "_reshape_alias.default": _geometry, "squeeze.default": _geometry, "squeeze.dims": _geometry, "squeeze.dim": _squeeze_dim,
    "unsqueeze.default": _unsqueeze, "alias.default": _same, "detach.default": _same, "t.default": _t,
    "numpy_T.default": _t, "transpose.int": _transpose, "permute.default": _permute, "select.int": _select,
    "slice.Tensor": _slice, "diagonal.default": _diagonal, "as_strided.default": _as_strided, "expand.default": _expand,
    "split.Tensor": _split, "split.sizes": _split, "split_with_sizes.default": _split, "unbind.int": _unbind,
    "chunk.default": _chunk, "unfold.default": _unfold, "view.dtype": _view_dtype, "view_as_real.default": _view_as_real,
    "view_as_complex.default": _view_as_complex, "narrow.default": _narrow, "_conj.default": _conj, "_neg_view.default": _neg_view,
    "flatten.using_ints": _geometry, "unflatten.int": _geometry, "real.default": _component(0), "imag.default": _component(1)}


def _resolve(table):
    found = {}
    for name, value in table.items():
        packet, overload = name.split(".")
        packet = getattr(aten, packet, None)
        if packet is not None and overload in packet.overloads():
            found[getattr(packet, overload)] = value
    return found


INVERSES = _resolve(_NAMED)

def _in_place_views():
    found = {}
    for view in INVERSES:
        changing = getattr(aten, view._overloadpacket.__name__ + "_", None)
        for overload in changing.overloads() if changing is not None else ():
            func = getattr(changing, overload)
            info = torch._C._op_info(func._full)
            if info["kind"] == "view" and info["functional"] == view._full:
                found[func] = view
    return found


# In-place operators that change what a tensor looks like, and the view that it becomes.
IN_PLACE_VIEWS = _in_place_views()


def is_view(func):
    """Whether an overload gives a view of its first argument."""
    return func in INVERSES


def copy_form(func):
    """The overload that gives what a view shows as a tensor of its own; None where there is none."""
    name = func._overloadpacket.__name__
    if name in ("alias", "detach"):
        return aten.clone.default
    packet = getattr(aten, name + "_copy", None)
    if packet is None:
        return None
    overload = func._overloadname
    return getattr(packet, overload) if overload in packet.overloads() else None
