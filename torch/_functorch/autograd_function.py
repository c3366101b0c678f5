"""torch.autograd.Function within transforms: at every level it is a Function again, with the derivative the user wrote."""
from typing import NamedTuple

import torch
from torch._C import _functorch as _levels
from torch._functorch.vmap import restore_vmap, vmap_increment_nesting
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

__all__ = ["VmapInfo", "custom_function_call"]


class VmapInfo(NamedTuple):
    """What the vmap staticmethod of a Function is told: how many examples there are, and vmap's randomness."""
    batch_size: int
    randomness: str


def _is_tensor(x):
    return isinstance(x, torch.Tensor)


def _at(x, level):
    return _is_tensor(x) and _levels.maybe_get_level(x) == level


def custom_function_call(cls, args):
    """cls.apply(*args) at the innermost level. RuntimeError where cls has no setup_context, or no rule for vmap."""
    if not cls._has_setup_context:
        raise RuntimeError(f"{cls.__name__} must define the staticmethod setup_context (and forward without ctx) to be used within "
                           "torch.vmap or a transform of torch.func")
    kind, level, batch_size, randomness = _levels._level_info()
    leaves = tree_flatten(args)[0]
    if not any(_at(x, level) for x in leaves):
        return _levels._outside(lambda: cls.apply(*args), level)
    if kind == "vmap":
        return _batched(cls, args, level, VmapInfo(batch_size, randomness))
    return _differentiated(cls, args, level)


def _differentiated(cls, args, level):
    """A level of derivatives: forward is the Function of the level outside."""
    recorded = torch.is_grad_enabled()

    def forward(*operands):
        inner = tree_map(lambda x: _levels._unwrap_for_grad(x, level) if _is_tensor(x) else x, operands)
        with torch.set_grad_enabled(recorded):
            outputs = _levels._outside(lambda: cls.apply(*inner), level)
        known = {id(x): given for x, given in zip(tree_flatten(inner)[0], tree_flatten(operands)[0]) if _is_tensor(x)}
        return tree_map(lambda x: known.get(id(x)) if id(x) in known else _levels._wrap_for_grad(x, level) if _is_tensor(x) else x, outputs)

    function = _function(cls, forward, cls.setup_context, cls.backward, cls.jvp)
    lifted = tree_map(lambda x: _levels._wrap_for_grad(x, level) if _is_tensor(x) and not _at(x, level) else x, args)
    return super(torch.autograd.Function, function).apply(*lifted)


def _function(cls, forward, setup_context, backward, jvp):
    return type(cls.__name__, (torch.autograd.Function,), {
        "forward": staticmethod(forward), "setup_context": staticmethod(setup_context), "backward": staticmethod(backward), "jvp": staticmethod(jvp),
        "generate_vmap_rule": cls.generate_vmap_rule})


def _batched(cls, args, level, info):
    own_rule = cls.vmap is not torch.autograd.Function.vmap
    if cls.generate_vmap_rule and own_rule:
        raise RuntimeError(f"{cls.__name__} says generate_vmap_rule=True and defines vmap; only one of them can be the rule")
    if not (cls.generate_vmap_rule or own_rule):
        raise RuntimeError(f"{cls.__name__} must define the staticmethod vmap, or say generate_vmap_rule=True, to be used within torch.vmap")
    if own_rule:
        return batched_by_rule(cls.__name__, cls.vmap, args, {}, level, info)
    in_dims, inner = _taken_apart(args, level)
    function, kept = _vmapped(cls, in_dims, info)
    outputs = _levels._outside(lambda: function.apply(*inner), level)
    return _with_dims(cls.__name__, outputs, kept["out_dims"], level)


def _taken_apart(args, level):
    """(which dimension is the batch of each tensor, None for what has none; the arguments as they are outside of the level)"""
    return (tree_map(lambda x: _levels.maybe_get_bdim(x) if _at(x, level) else None, args),
            tree_map(lambda x: _levels.get_unwrapped(x) if _at(x, level) else x, args))


def _with_dims(name, outputs, out_dims, level):
    flat, spec = tree_flatten(outputs)
    dims = torch._functorch.vmap._broadcast_to_and_flatten(out_dims, spec)
    if dims is None:
        raise RuntimeError(f"the vmap of {name} returned out_dims {out_dims}, which do not fit its outputs")
    return tree_unflatten([_levels._add_batch_dim(x, d, level) if d is not None and _is_tensor(x) else x for x, d in zip(flat, dims)], spec)


def batched_by_rule(name, rule, args, kwargs, level, info):
    """What `rule(info, in_dims, *args, **kwargs) -> (outputs, out_dims)` makes of a call at a level of vmap."""
    in_dims, inner = _taken_apart(args, level)
    keywords = _taken_apart(kwargs, level)[1]
    result = _levels._outside(lambda: rule(info, in_dims, *inner, **keywords), level)
    if not (isinstance(result, tuple) and len(result) == 2):
        raise RuntimeError(f"the vmap of {name} must return a tuple (outputs, out_dims)")
    return _with_dims(name, *result, level)


class _Context:
    """A ctx whose saved tensors are those of one example; everything else is the true ctx's."""

    def __init__(self, ctx, saved=None):
        object.__setattr__(self, "_ctx", ctx)
        object.__setattr__(self, "_saved", saved)

    def __getattr__(self, name):
        return getattr(self._ctx, name)

    def __setattr__(self, name, value):
        setattr(self._ctx, name, value)

    @property
    def saved_tensors(self):
        return self._ctx.saved_tensors if self._saved is None else self._saved

    def save_for_backward(self, *tensors):
        self._ctx._example_saved = tensors

    def save_for_forward(self, *tensors):
        self._ctx._example_forward = tensors


def _taken_out(tensors, level):
    values = tuple(_levels.get_unwrapped(x) if _at(x, level) else x for x in tensors)
    return values, tuple(_levels.maybe_get_bdim(x) if _at(x, level) else None for x in tensors)


def _vmapped(cls, in_dims, info):
    """A Function of the whole batch, whose forward, backward and jvp are vmap of those of cls."""
    kept = {}

    def forward(*operands):
        outputs, kept["out_dims"] = restore_vmap(cls.forward, in_dims, *info)(*operands)
        return outputs

    def setup_context(ctx, inputs, outputs):
        with vmap_increment_nesting(*info) as level:
            def examples(tree, dims):
                flat, spec = tree_flatten(tree)
                flat_dims = torch._functorch.vmap._broadcast_to_and_flatten(dims, spec)
                return tree_unflatten([x if d is None else _levels._add_batch_dim(x, d, level) for x, d in zip(flat, flat_dims)], spec)
            ctx._example_saved = ctx._example_forward = ()
            cls.setup_context(_Context(ctx), examples(inputs, in_dims), examples(outputs, kept["out_dims"]))
            saved, ctx._saved_dims = _taken_out(ctx._example_saved, level)
            forward_saved, ctx._forward_dims = _taken_out(ctx._example_forward, level)
            del ctx._example_saved, ctx._example_forward
        ctx.save_for_backward(*saved)
        if forward_saved:
            ctx.save_for_forward(*forward_saved)
        ctx._in_shapes = tuple(x.shape if _is_tensor(x) else None for x in inputs)
        ctx._out_dims = kept["out_dims"]

    def dims_of(values, dims):
        flat_dims = dims if isinstance(dims, (tuple, list)) else (dims,) * len(values)
        return tuple(d if _is_tensor(x) else None for x, d in zip(values, flat_dims))

    def backward(ctx, *grads):
        def example(saved, gs):
            return cls.backward(_Context(ctx, saved), *gs)
        saved = ctx.saved_tensors
        results, dims = restore_vmap(example, (ctx._saved_dims, dims_of(grads, ctx._out_dims)), *info)(saved, grads)
        results, dims = (results, dims) if isinstance(results, tuple) else ((results,), (dims,))
        fitted = []
        for g, d, wanted, shape in zip(results, dims, in_dims, ctx._in_shapes):
            if g is None or shape is None:
                fitted.append(None)
            elif wanted is None:
                fitted.append(g if d is None else g.sum(d))
            else:
                g = g.unsqueeze(0).expand(info.batch_size, *g.shape) if d is None else g
                fitted.append(g.movedim(0 if d is None else d, wanted))
        return tuple(fitted)

    def jvp(ctx, *tangents):
        def example(saved, ts):
            return cls.jvp(_Context(ctx, saved), *ts)
        saved = ctx.saved_tensors
        results, dims = restore_vmap(example, (ctx._forward_dims, dims_of(tangents, in_dims)), *info)(saved, tangents)
        single = not isinstance(results, tuple)
        if single:
            results, dims = (results,), (dims,)
        out_dims = ctx._out_dims if isinstance(ctx._out_dims, (tuple, list)) else (ctx._out_dims,) * len(results)
        fitted = []
        for t, d, wanted in zip(results, dims, out_dims):
            if t is not None and d is None and wanted is not None:
                t = t.unsqueeze(0).expand(info.batch_size, *t.shape)
            fitted.append(t)
        return fitted[0] if single else tuple(fitted)

    return _function(cls, forward, setup_context, backward, jvp), kept
