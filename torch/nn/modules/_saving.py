"""How a `Module` saves and loads its state: the methods `state_dict`, `load_state_dict` and
those below them, in the order in which they call each other."""

from __future__ import annotations

import itertools
import warnings
from collections import OrderedDict, namedtuple

import torch
from torch import Tensor
from torch.nn.parameter import Parameter, is_lazy

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """What `load_state_dict` returns: the keys that were not found and those without a place."""

    __slots__ = ()

    def __repr__(self):
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


def get_extra_state(self):
    """Anything picklable to be saved in `state_dict` besides tensors; define it together
    with `set_extra_state`."""
    raise RuntimeError("get_extra_state() was called, but this module does not define it")


def set_extra_state(self, state) -> None:
    """Takes what `get_extra_state` returned when the state was saved."""
    raise RuntimeError(
        "set_extra_state() was called, but this module does not define it: it is needed "
        "where get_extra_state is defined"
    )


def _save_to_state_dict(self, destination, prefix, keep_vars):
    for name, param in self._parameters.items():
        if param is not None:
            destination[prefix + name] = param if keep_vars else param.detach()
    for name, buf in self._buffers.items():
        if buf is not None and name not in self._non_persistent_buffers_set:
            destination[prefix + name] = buf if keep_vars else buf.detach()
    if type(self).get_extra_state is not get_extra_state:
        destination[prefix + _EXTRA_STATE_KEY_SUFFIX] = self.get_extra_state()


def state_dict(self, *args, destination=None, prefix: str = "", keep_vars: bool = False):
    """An ordered dict of all parameters and persistent buffers by dotted name.

    Args:
        destination (dict, optional): filled and returned instead of a new one.
        prefix (str): put before every name.
        keep_vars (bool): whether the tensors stay connected to autograd.
    """
    if args:
        warnings.warn(
            "positional arguments of state_dict are deprecated: pass them by keyword",
            FutureWarning,
            stacklevel=2,
        )
        if destination is None:
            destination = args[0]
        if len(args) > 1 and prefix == "":
            prefix = args[1]
        if len(args) > 2 and keep_vars is False:
            keep_vars = args[2]
    if destination is None:
        destination = OrderedDict()
        destination._metadata = OrderedDict()
    local_metadata = {"version": self._version}
    if hasattr(destination, "_metadata"):
        destination._metadata[prefix[:-1]] = local_metadata
    for hook in self._state_dict_pre_hooks.values():
        hook(self, prefix, keep_vars)
    self._save_to_state_dict(destination, prefix, keep_vars)
    for name, module in self._modules.items():
        if module is not None:
            module.state_dict(
                destination=destination, prefix=prefix + name + ".", keep_vars=keep_vars
            )
    for hook in self._state_dict_hooks.values():
        result = hook(self, destination, prefix, local_metadata)
        if getattr(hook, "_from_public_api", False):
            if result is not None:
                raise RuntimeError(
                    "a state_dict post-hook must change the dict in place and return None"
                )
        elif result is not None:
            destination = result
    return destination


def _load_from_state_dict(
    self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
):
    """Takes this module's own values (not those of modules below it) from `state_dict`."""
    for hook in self._load_state_dict_pre_hooks.values():
        hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
    saved = {k: v for k, v in self._buffers.items() if k not in self._non_persistent_buffers_set}
    local_state = {
        k: v for k, v in itertools.chain(self._parameters.items(), saved.items()) if v is not None
    }
    assign = local_metadata.get("assign_to_params_buffers", False)
    for name, param in local_state.items():
        key = prefix + name
        if key in state_dict:
            self._load_one(name, key, param, state_dict[key], assign, error_msgs)
        elif strict:
            missing_keys.append(key)

    extra_key = prefix + _EXTRA_STATE_KEY_SUFFIX
    if type(self).set_extra_state is not set_extra_state:
        if extra_key in state_dict:
            self.set_extra_state(state_dict[extra_key])
        elif strict:
            missing_keys.append(extra_key)
    elif strict and extra_key in state_dict:
        unexpected_keys.append(extra_key)

    if strict:
        for key in state_dict:
            if key.startswith(prefix) and key != extra_key:
                head, *rest = key[len(prefix) :].split(".", 1)
                if head not in (self._modules if rest else local_state):
                    unexpected_keys.append(key)


def _load_one(self, name, key, param, value, assign, error_msgs):
    if not isinstance(value, Tensor):
        error_msgs.append(
            f"the value for {key!r} must be a torch.Tensor, but it is {type(value).__name__}"
        )
        return
    lazy = is_lazy(param)
    # A scalar used to be saved with one dimension.
    if not lazy and param.dim() == 0 and value.dim() == 1:
        value = value[0]
    if not lazy and value.shape != param.shape:
        error_msgs.append(
            f"size mismatch for {key}: the state dict has shape {value.shape}, the model has "
            f"{param.shape}."
        )
        return
    if param.is_meta and not value.is_meta and not assign:
        warnings.warn(
            f"loading {key} into a meta parameter has no effect: pass assign=True to take the "
            "saved tensor itself, or move the model with to_empty first",
            stacklevel=2,
        )
    try:
        with torch.no_grad():
            if assign:
                if isinstance(param, Parameter):
                    if not isinstance(value, Parameter):
                        value = Parameter(value, requires_grad=param.requires_grad)
                    else:
                        value.requires_grad_(param.requires_grad)
                setattr(self, name, value)
            else:
                param.copy_(value)
    except Exception as e:  # collected, to report all at once
        error_msgs.append(
            f"{key}: shape {tuple(value.shape)} of the state dict could not be copied into "
            f"{'an uninitialized parameter' if lazy else f'shape {tuple(param.shape)}'}: {e}"
        )


def load_state_dict(self, state_dict, strict: bool = True, assign: bool = False):
    """Copies the values of `state_dict` into this module and those below it.

    Args:
        state_dict (dict): tensors by dotted name.
        strict (bool): whether missing and unexpected keys are an error.
        assign (bool): whether the given tensors themselves become the parameters and
            buffers (keeping their dtype and device), instead of being copied.

    Returns:
        a named tuple (missing_keys, unexpected_keys).

    Raises RuntimeError listing every problem: keys when strict, shapes always.
    """
    if not hasattr(state_dict, "keys") or not hasattr(state_dict, "__getitem__"):
        raise TypeError(f"state_dict must be a mapping, but got {type(state_dict).__name__}")
    missing_keys, unexpected_keys, error_msgs = [], [], []
    metadata = getattr(state_dict, "_metadata", None)
    state_dict = OrderedDict(state_dict)
    if metadata is not None:
        state_dict._metadata = metadata

    def load(module, local_state_dict, prefix=""):
        local_metadata = {} if metadata is None else metadata.get(prefix[:-1], {})
        if assign:
            local_metadata["assign_to_params_buffers"] = assign
        module._load_from_state_dict(
            local_state_dict,
            prefix,
            local_metadata,
            True,
            missing_keys,
            unexpected_keys,
            error_msgs,
        )
        for name, child in module._modules.items():
            if child is not None:
                child_prefix = prefix + name + "."
                load(
                    child,
                    {k: v for k, v in local_state_dict.items() if k.startswith(child_prefix)},
                    child_prefix,
                )
        keys = _IncompatibleKeys(missing_keys, unexpected_keys)
        for hook in module._load_state_dict_post_hooks.values():
            if hook(module, keys) is not None:
                raise RuntimeError(
                    "a load_state_dict post-hook must change the keys in place and return None"
                )

    load(self, state_dict)
    if strict:
        if unexpected_keys:
            error_msgs.insert(
                0,
                "Unexpected key(s) in state_dict: "
                + ", ".join(f'"{k}"' for k in unexpected_keys)
                + ". ",
            )
        if missing_keys:
            error_msgs.insert(
                0,
                "Missing key(s) in state_dict: " + ", ".join(f'"{k}"' for k in missing_keys) + ". ",
            )
    if error_msgs:
        raise RuntimeError(
            f"Error(s) in loading state_dict for {type(self).__name__}:\n\t"
            + "\n\t".join(error_msgs)
        )
    return _IncompatibleKeys(missing_keys, unexpected_keys)
