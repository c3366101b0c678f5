"""Handles of registered hooks, and the hooks around the backward pass of a module."""

import warnings
import weakref
from collections import OrderedDict

import torch

__all__ = ["RemovableHandle", "unserializable_hook", "warn_if_has_hooks", "BackwardHook"]


class RemovableHandle:
    """Removes a hook from the dict that it was registered in, and from `extra_dict`s.

    The dicts are held weakly: a handle does not keep a module or a tensor alive.
    """

    next_id = 0

    def __init__(self, hooks_dict, *, extra_dict=None):
        self.hooks_dict_ref = weakref.ref(hooks_dict)
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        if extra_dict is None:
            extra_dict = ()
        elif not isinstance(extra_dict, list):
            extra_dict = [extra_dict]
        self.extra_dict_ref = tuple(weakref.ref(d) for d in extra_dict)

    def remove(self):
        for ref in (self.hooks_dict_ref, *self.extra_dict_ref):
            hooks = ref()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __getstate__(self):
        if not self.extra_dict_ref:
            return (self.hooks_dict_ref(), self.id)
        return (self.hooks_dict_ref(), self.id, tuple(ref() for ref in self.extra_dict_ref))

    def __setstate__(self, state):
        # A dict that is gone becomes an empty one: the restored handle then removes nothing.
        gone = OrderedDict()
        self.hooks_dict_ref = weakref.ref(gone if state[0] is None else state[0])
        self.id = state[1]
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)
        extra = state[2] if len(state) > 2 else ()
        self.extra_dict_ref = tuple(weakref.ref(gone if d is None else d) for d in extra)

    def __enter__(self):
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        self.remove()


def unserializable_hook(f):
    """Marks a hook of a tensor as one that saving the tensor drops without a warning."""
    f.__torch_unserializable__ = True
    return f


def warn_if_has_hooks(tensor):
    """Warns for each hook of the tensor that will not be in the saved file."""
    for hook in (getattr(tensor, "_backward_hooks", None) or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warnings.warn(f"the hook {hook!r} of a tensor is not saved; mark it with "
                          "torch.utils.hooks.unserializable_hook to silence this", stacklevel=2)


def _boundary():
    """An identity whose backward runs once all gradients of its tensors are there."""

    class BackwardHookFunction(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *args):
            ctx.mark_non_differentiable(*[a for a in args if not a.requires_grad])
            return args

        @staticmethod
        def backward(ctx, *grads):
            return grads

    return BackwardHookFunction


_function = None


class BackwardHook:
    """Runs module hooks with the gradients of all inputs and outputs of one forward call.

    `setup_input_hook` wraps the tensors going in, `setup_output_hook` those coming out; the user
    hooks run when both gradients are known, or with the output's alone if no input needs one.
    """

    def __init__(self, module, user_hooks, user_pre_hooks):
        self.user_hooks = user_hooks
        self.user_pre_hooks = user_pre_hooks
        self.module = module
        self.grad_outputs = None
        self.n_outputs = -1
        self.output_tensors_index = None
        self.n_inputs = -1
        self.input_tensors_index = None

    @staticmethod
    def _spread(indices, values, size):
        spread = [None] * size
        for i, v in zip(indices, values):
            spread[i] = v
        return tuple(spread)

    def _set_user_hook(self, grad_fn):
        def hook(grad_input, _):
            if self.grad_outputs is None:
                # A double backward reaches the boundary again; the gradient it brings is not
                # the module's.
                return None
            res = self._spread(self.input_tensors_index, grad_input, self.n_inputs)
            for user_hook in self.user_hooks:
                out = user_hook(self.module, res, self.grad_outputs)
                if out is None:
                    continue
                out = out if isinstance(out, tuple) else (out,)
                if len(out) != len(res):
                    raise RuntimeError(f"a backward hook returned {len(out)} gradients for "
                                       f"{len(res)} inputs")
                res = out
            self.grad_outputs = None
            return tuple(res[i] for i in self.input_tensors_index)

        grad_fn.register_hook(hook)

    def _wrap(self, fn, args):
        global _function
        where = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        if not (torch.is_grad_enabled() and any(args[i].requires_grad for i in where)):
            return args, None
        if _function is None:
            _function = _boundary()
        wrapped = _function.apply(*[args[i] for i in where])
        grad_fns = [t.grad_fn for t in wrapped if t.grad_fn is not None]
        if not grad_fns:
            raise RuntimeError("a module with backward hooks got inputs without a gradient")
        fn(grad_fns[0])
        out = list(args)
        for i, t in zip(where, wrapped):
            out[i] = t
        if type(args) is tuple:
            out = tuple(out)
        else:
            out = type(args)(*out) if hasattr(args, "_fields") else type(args)(out)
        return out, where

    def setup_input_hook(self, args):
        res, where = self._wrap(self._set_user_hook, args)
        self.n_inputs = len(args)
        self.input_tensors_index = where
        return res

    def setup_output_hook(self, args):
        def fn(grad_fn):
            def hook(_, grad_output):
                self.grad_outputs = self._spread(
                    self.output_tensors_index, grad_output, self.n_outputs)
                if self.user_pre_hooks:
                    expected = len(self.grad_outputs)
                    for user_pre_hook in self.user_pre_hooks:
                        out = user_pre_hook(self.module, self.grad_outputs)
                        if out is None:
                            continue
                        out = out if isinstance(out, tuple) else (out,)
                        if len(out) != expected:
                            raise RuntimeError(f"a backward pre-hook returned {len(out)} gradients "
                                               f"for {expected} outputs")
                        self.grad_outputs = out
                changed = tuple(self.grad_outputs[i] for i in self.output_tensors_index)
                if self.input_tensors_index is None:
                    # No input needs a gradient, so nothing else would run the hooks.
                    grad_inputs = (None,) * self.n_inputs
                    for user_hook in self.user_hooks:
                        res = user_hook(self.module, grad_inputs, self.grad_outputs)
                        if res is not None and not (
                                isinstance(res, tuple) and all(g is None for g in res)):
                            raise RuntimeError("a backward hook must return None where no input "
                                               "needs a gradient")
                    self.grad_outputs = None
                return changed if self.user_pre_hooks else None

            # The hook sees the gradients of all outputs at once, before the boundary passes them.
            grad_fn.register_prehook(lambda grads: hook(None, grads))

        wrapped_one = not isinstance(args, (tuple, list))
        if wrapped_one:
            args = (args,)
        res, where = self._wrap(fn, args)
        self.n_outputs = len(args)
        self.output_tensors_index = where
        return res[0] if wrapped_one else res
