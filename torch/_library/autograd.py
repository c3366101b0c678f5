"""Derivatives of operators of libraries: a node for each call, whose backward is the user's."""
import torch
from torch import _C


def _flatten(args):
    """([leaves], how to put them back): tensors within lists are leaves of their own."""
    leaves, shape = [], []
    for a in args:
        if isinstance(a, (list, tuple)) and a and all(isinstance(x, torch.Tensor) or x is None for x in a):
            shape.append((type(a), len(a)))
            leaves.extend(a)
        else:
            shape.append(None)
            leaves.append(a)
    return leaves, shape


def _unflatten(leaves, shape):
    out, at = [], 0
    for s in shape:
        if s is None:
            out.append(leaves[at])
            at += 1
        else:
            kind, n = s
            items = leaves[at:at + n]
            out.append(list(items) if kind is list else tuple(items))
            at += n
    return out


def _with_defaults(op, args, kwargs):
    """(positional, keyword-only) values of a call, in the order of the schema, defaults filled in."""
    args, kwargs = list(args), dict(kwargs)
    positional, keywords = [], {}
    for i, a in enumerate(op._schema.arguments):
        if a.kwarg_only:
            keywords[a.name] = kwargs.get(a.name, a.default_value)
        else:
            positional.append(args[i] if i < len(args) else kwargs.get(a.name, a.default_value))
    return positional, keywords


class _Below:
    """Within it calls run below autograd."""

    def __enter__(self):
        self._before = _C._set_below_autograd(True)

    def __exit__(self, *exc):
        _C._set_below_autograd(self._before)


def make_autograd_kernel(op, info):
    """The kernel that records calls of `op`.

    Args:
        op (OpOverload): the operator.
        info: has `backward(ctx, *grads)` and `setup_context(ctx, inputs, output)`, either may be None.
    """
    name = f"GeneratedBackwardFor_{op._namespace}_{op._opname}_{op._overloadname}"

    returns = op._schema.returns
    one_list = len(returns) == 1 and str(returns[0].type).startswith("List")

    def forward(shape, positional_count, keywords, *leaves):
        with _Below():
            result = op(*_unflatten(leaves, shape), **keywords)
        return tuple(result) if isinstance(result, list) else result

    def setup_context(ctx, inputs, output):
        shape, _, keywords, *leaves = inputs
        ctx._inputs = shape
        if info.setup_context is not None:
            kw = {"keyword_only_inputs": keywords} if keywords else {}
            info.setup_context(ctx=ctx, inputs=tuple(_unflatten(leaves, shape)), output=list(output) if one_list else output, **kw)

    def vmap(info, in_dims, shape, positional_count, keywords, *leaves):
        # At a level of vmap the operator itself is called, which has a rule or is a loop.
        from torch._functorch.vmap import restore_vmap
        return restore_vmap(lambda *leaves: op(*_unflatten(leaves, shape), **keywords), tuple(in_dims[3:]), *info)(*leaves)

    def backward(ctx, *grads):
        if info.backward is None:
            raise RuntimeError(f"{op} has no formula for its derivative: torch.library.register_autograd gives it one")
        shape = ctx._inputs
        needs = ctx.needs_input_grad
        # The three leading arguments are this module's own.
        grads = (list(grads),) if one_list else grads
        view = _UsersContext(ctx, tuple(_unflatten(needs[3:], shape)))
        result = info.backward(view, *grads)
        result = list(result) if isinstance(result, tuple) else [result]
        if len(result) != len(shape):
            raise RuntimeError(f"the backward registered for {op} gave {len(result)} gradients; it must give {len(shape)}, one for each input "
                               "(None for those without one)")
        flat = []
        for g, s in zip(result, shape):
            if s is None:
                flat.append(g)
            elif g is None:
                flat.extend([None] * s[1])
            else:
                if not isinstance(g, (list, tuple)) or len(g) != s[1]:
                    raise RuntimeError(f"the backward registered for {op} must give a list of {s[1]} gradients for an input that is a list")
                flat.extend(g)
        return (None, None, None, *flat)

    node = type(name, (torch.autograd.Function,), {"forward": staticmethod(forward), "setup_context": staticmethod(setup_context),
                                                   "backward": staticmethod(backward), "vmap": staticmethod(vmap)})

    def kernel(*args, **kwargs):
        positional, keywords = _with_defaults(op, args, kwargs)
        leaves, shape = _flatten(positional)
        if torch.is_grad_enabled() and any(isinstance(x, torch.Tensor) and x.requires_grad for x in leaves):
            result = node.apply(shape, len(positional), keywords, *leaves)
            returns = op._schema.returns
            if len(returns) == 1 and str(returns[0].type).startswith("List") and isinstance(result, tuple):
                result = list(result)
            return result
        with _Below():
            return op(*args, **kwargs)

    return kernel


class _UsersContext:
    """ctx as the user's backward sees it: gradients are wanted of the operator's inputs, lists as lists."""

    def __init__(self, ctx, needs):
        object.__setattr__(self, "_ctx", ctx)
        object.__setattr__(self, "needs_input_grad", needs)

    def __getattr__(self, name):
        return getattr(object.__getattribute__(self, "_ctx"), name)

    def __setattr__(self, name, value):
        setattr(self._ctx, name, value)
