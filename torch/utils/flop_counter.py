"""Floating point operations of products and convolutions, counted by shapes: `FlopCounterMode`.

A multiplication and its addition count as two. What is not in `flop_registry` counts nothing: the one kernel of attention on the
CPU does not in PyTorch either; custom_mapping gives it a formula.
"""
import functools
import math

import torch
from torch.utils import _pytree
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.module_tracker import ModuleTracker

__all__ = ["FlopCounterMode", "register_flop_formula"]

aten = torch.ops.aten
flop_registry = {}   # OpOverloadPacket -> formula


def _by_shapes(formula):
    """The formula that takes arguments and result, of one that takes their shapes."""
    def shapes(x):
        return _pytree.tree_map(lambda t: t.shape if isinstance(t, torch.Tensor) else t, x)

    @functools.wraps(formula)
    def count(*args, out_val=None, **kwargs):
        return formula(*shapes(args), out_shape=shapes(out_val), **shapes(kwargs))
    return count


def register_flop_formula(targets, get_raw=False):
    """Decorates `formula(*args, out_shape=None, **kwargs) -> int` for operators (`torch.ops.aten.mm`): tensors come as their shapes.
    With get_raw, `formula(*args, out_val=None, **kwargs)` gets the tensors."""
    def register(formula):
        wrapped = formula if get_raw else _by_shapes(formula)
        for target in targets if isinstance(targets, (list, tuple)) else [targets]:
            if not isinstance(target, torch._ops.OpOverloadPacket):
                raise ValueError(f"register_flop_formula: {target!r} of type {type(target).__name__} is no operator such as torch.ops.aten.mm")
            if target in flop_registry:
                raise RuntimeError(f"register_flop_formula: {target} has a formula already")
            flop_registry[target] = wrapped
        return formula
    return register


def _same(what, a, b):
    if a != b:
        raise ValueError(f"flops of {what}: {tuple(a)} and {tuple(b)} do not fit")


@register_flop_formula(aten.mm)
def mm_flop(a_shape, b_shape, *args, out_shape=None, **kwargs):
    """(m, k), (k, n): 2 m n k."""
    (m, k), (l, n) = a_shape, b_shape
    _same("mm", (k,), (l,))
    return 2 * m * n * k


@register_flop_formula(aten.addmm)
def addmm_flop(self_shape, a_shape, b_shape, out_shape=None, **kwargs):
    return mm_flop(a_shape, b_shape)


@register_flop_formula(aten.bmm)
def bmm_flop(a_shape, b_shape, out_shape=None, **kwargs):
    """(b, m, k), (b, k, n): 2 b m n k."""
    (b, m, k), (c, l, n) = a_shape, b_shape
    _same("bmm", (b, k), (c, l))
    return 2 * b * m * n * k


@register_flop_formula(aten.baddbmm)
def baddbmm_flop(self_shape, a_shape, b_shape, out_shape=None, **kwargs):
    return bmm_flop(a_shape, b_shape)


def conv_flop_count(x_shape, w_shape, out_shape, transposed=False):
    """x (batch, channels, ...), w (channels, channels of a group, ...): every place of the result, of the input where transposed,
    meets every weight."""
    places = math.prod((x_shape if transposed else out_shape)[2:])
    return 2 * x_shape[0] * places * math.prod(w_shape)


@register_flop_formula(aten.convolution)
def conv_flop(x_shape, w_shape, bias, stride, padding, dilation, transposed, *args, out_shape=None, **kwargs):
    return conv_flop_count(x_shape, w_shape, out_shape, transposed)


@register_flop_formula(aten.convolution_backward)
def conv_backward_flop(grad_out_shape, x_shape, w_shape, bias, stride, padding, dilation, transposed, output_padding, groups, output_mask,
                       out_shape=None):
    """As often as forward for the input's gradient, and for the weight's."""
    return (bool(output_mask[0]) + bool(output_mask[1])) * conv_flop_count(x_shape, w_shape, grad_out_shape, transposed)


class _Counting(TorchDispatchMode):
    def __init__(self, counter):
        super().__init__()
        self._counter = counter

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        packet = func._overloadpacket
        formula = self._counter.flop_registry.get(packet)
        if formula is None:
            with self:
                out = func.decompose(*args, **kwargs)
            return func(*args, **kwargs) if out is NotImplemented else out
        out = func(*args, **kwargs)
        self._counter._count(packet, formula(*args, **kwargs, out_val=out))
        return out


class FlopCounterMode:
    """Counts within a with block of it, and prints a table when it ends if `display`.

    mods: not needed. depth: of the modules in the table. custom_mapping: {torch.ops.aten.x: formula}, as register_flop_formula
    takes them (raw where the formula has a true attribute `_get_raw`).
    """

    def __init__(self, mods=None, depth=2, display=True, custom_mapping=None):
        self.depth, self.display = depth, display
        self.flop_registry = {**flop_registry, **{op: f if getattr(f, "_get_raw", False) else _by_shapes(f) for op, f in (custom_mapping or {}).items()}}
        self.flop_counts, self.mod_tracker, self._mode = {}, ModuleTracker(), None

    def __enter__(self):
        self.flop_counts = {}
        self.mod_tracker.__enter__()
        self._mode = _Counting(self)
        self._mode.__enter__()
        return self

    def __exit__(self, *exc):
        self._mode.__exit__(*exc)
        self._mode = None
        self.mod_tracker.__exit__(*exc)
        if self.display:
            print(self.get_table())

    def _count(self, packet, flops):
        for name in self.mod_tracker.parents:
            counts = self.flop_counts.setdefault(name, {})
            counts[packet] = counts.get(packet, 0) + flops

    def get_total_flops(self):
        """All that was counted."""
        return sum(self.flop_counts.get("Global", {}).values())

    def get_flop_counts(self):
        """{name of a module, and "Global": {operator: flops}}."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth=None):
        """Lines of modules down to this depth, and of their operators: name, flops, share of all."""
        depth = self.depth if depth is None else depth
        total = self.get_total_flops()
        power = min((len(str(total)) - 1) // 3, 4)

        def flops(n):
            return str(n) if power == 0 else f"{n / 1000 ** power:.3f}" + " KMBT"[power]

        def share(n):
            return f"{100 * n / total:.2f}%" if total else "0%"

        def of(name):
            counts = self.flop_counts[name]
            n = sum(counts.values())
            return [(name, flops(n), share(n)), *((f"- {op}", flops(c), share(c)) for op, c in counts.items())]
        shown = [n for n in sorted(self.flop_counts) if n != "Global" and n.count(".") < depth]
        rows = [row for n in shown for row in of(n)]
        if "Global" in self.flop_counts and not any(sum(self.flop_counts[n].values()) >= total for n in shown):
            rows = of("Global") + rows
        rows = rows or [("Global", "0", "0%")]
        head = ("Module", "FLOP", "% Total")
        wide = [max(len(r[i]) for r in (head, *rows)) for i in range(3)]
        # Right columns keep two places before what stands in them.
        wide[1:] = [max(w, len(h) + 2) for w, h in zip(wide[1:], head[1:], strict=True)]

        def line(row):
            return f"{row[0]:<{wide[0]}}  {row[1]:>{wide[1]}}  {row[2]:>{wide[2]}}"
        return "\n".join([line(head), "  ".join("-" * w for w in wide), *map(line, rows)])
