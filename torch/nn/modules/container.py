"""Modules and parameters held in sequences and mappings."""

from __future__ import annotations

import operator
import warnings
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from itertools import islice

import torch
from torch.nn.modules.module import Module, _addindent
from torch.nn.parameter import Parameter

__all__ = ["Container", "Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict"]


class Container(Module):
    """Deprecated: a module made of the keyword arguments' modules. Use `ModuleDict`."""

    def __init__(self, **kwargs) -> None:
        super().__init__()
        warnings.warn(
            "nn.Container is deprecated: all of its functionality is in nn.Module",
            DeprecationWarning,
            stacklevel=2,
        )
        for key, value in kwargs.items():
            self.add_module(key, value)


def _checked_index(idx, length):
    """`idx` as a non-negative position in a sequence of `length`; IndexError outside."""
    idx = operator.index(idx)
    if not -length <= idx < length:
        raise IndexError(f"index {idx} is out of range for {length} entries")
    return idx % length


class Sequential(Module):
    """Calls its modules one after the other, each with the result of the one before.

    Args:
        modules: any number of modules, or one OrderedDict of them, whose keys become names.
    """

    def __init__(self, *args):
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for key, module in args[0].items():
                self.add_module(key, module)
        else:
            for idx, module in enumerate(args):
                self.add_module(str(idx), module)

    def _get_item_by_idx(self, iterator, idx):
        return next(islice(iterator, _checked_index(idx, len(self)), None))

    def __getitem__(self, idx):
        if isinstance(idx, slice):
            return self.__class__(OrderedDict(list(self._modules.items())[idx]))
        return self._get_item_by_idx(self._modules.values(), idx)

    def __setitem__(self, idx, module) -> None:
        setattr(self, self._get_item_by_idx(self._modules.keys(), idx), module)

    def _renumber(self):
        self._modules = {str(i): m for i, m in enumerate(self._modules.values())}

    def __delitem__(self, idx) -> None:
        if isinstance(idx, slice):
            for key in list(self._modules.keys())[idx]:
                delattr(self, key)
        else:
            delattr(self, self._get_item_by_idx(self._modules.keys(), idx))
        self._renumber()

    def __len__(self) -> int:
        return len(self._modules)

    def __add__(self, other):
        if not isinstance(other, Sequential):
            raise ValueError(
                f"a Sequential can be added to a Sequential only, but got {type(other).__name__}"
            )
        return Sequential(*self, *other)

    def pop(self, key):
        """Removes the module at `key` and returns it."""
        v = self[key]
        del self[key]
        return v

    def __iadd__(self, other):
        if not isinstance(other, Sequential):
            raise ValueError(
                f"a Sequential can be added to a Sequential only, but got {type(other).__name__}"
            )
        return self.extend(list(other))

    def _check_times(self, other):
        if not isinstance(other, int):
            raise TypeError(
                f"a Sequential can be multiplied by an int only, but got {type(other).__name__}"
            )
        if other <= 0:
            raise ValueError(
                f"a Sequential can be multiplied by a positive int only, but got {other}"
            )

    def __mul__(self, other):
        self._check_times(other)
        return Sequential(*(m for _ in range(other) for m in self))

    def __rmul__(self, other):
        return self.__mul__(other)

    def __imul__(self, other):
        self._check_times(other)
        return self.extend(list(self) * (other - 1))

    def __dir__(self):
        return [key for key in super().__dir__() if not key.isdigit()]

    def __iter__(self):
        return iter(self._modules.values())

    def forward(self, input):
        for module in self._modules.values():
            input = module(input)
        return input

    def append(self, module):
        """Adds `module` at the end; returns self."""
        self.add_module(str(len(self)), module)
        return self

    def insert(self, index: int, module):
        """Adds `module` before position `index`; returns self."""
        if not isinstance(module, Module):
            raise AssertionError(f"module must be a Module, but got {type(module).__name__}")
        n = len(self._modules)
        if not -n <= index <= n:
            raise IndexError(f"index {index} is out of range for inserting into {n} entries")
        modules = list(self._modules.values())
        modules.insert(index + n if index < 0 else index, module)
        self._modules = {str(i): m for i, m in enumerate(modules)}
        return self

    def extend(self, sequential):
        """Adds each of the given modules at the end; returns self."""
        for layer in sequential:
            self.append(layer)
        return self


class ModuleList(Module):
    """A list of modules, registered under their positions. It has no forward.

    Args:
        modules (iterable, optional): the modules to hold.
    """

    def __init__(self, modules=None) -> None:
        super().__init__()
        if modules is not None:
            self += modules

    def _get_abs_string_index(self, idx):
        return str(_checked_index(idx, len(self)))

    def __getitem__(self, idx):
        if isinstance(idx, slice):
            return self.__class__(list(self._modules.values())[idx])
        return self._modules[self._get_abs_string_index(idx)]

    def __setitem__(self, idx, module) -> None:
        return setattr(self, self._get_abs_string_index(idx), module)

    def __delitem__(self, idx) -> None:
        if isinstance(idx, slice):
            for k in range(len(self._modules))[idx]:
                delattr(self, str(k))
        else:
            delattr(self, self._get_abs_string_index(idx))
        self._modules = {str(i): m for i, m in enumerate(self._modules.values())}

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def __iadd__(self, modules):
        return self.extend(modules)

    def __add__(self, other):
        combined = ModuleList()
        for i, module in enumerate([*self, *other]):
            combined.add_module(str(i), module)
        return combined

    def __repr__(self):
        """Equal neighbours are printed once, with the number of them."""
        reprs = [repr(item) for item in self]
        if not reprs:
            return self._get_name() + "()"
        runs = []  # [first, last, text]
        for i, r in enumerate(reprs):
            if runs and runs[-1][2] == r:
                runs[-1][1] = i
            else:
                runs.append([i, i, r])
        lines = []
        for first, last, r in runs:
            line = (
                f"({first}): {r}"
                if first == last
                else f"({first}-{last}): {last - first + 1} x {r}"
            )
            lines.append(_addindent(line, 2))
        return self._get_name() + "(\n  " + "\n  ".join(lines) + "\n)"

    def __dir__(self):
        return [key for key in super().__dir__() if not key.isdigit()]

    def insert(self, index: int, module) -> None:
        """Adds `module` before position `index`."""
        modules = list(self._modules.values())
        modules.insert(index, module)
        self._modules = {str(i): m for i, m in enumerate(modules)}

    def pop(self, key):
        """Removes the module at `key` and returns it."""
        v = self[key]
        del self[key]
        return v

    def append(self, module):
        """Adds `module` at the end; returns self."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules):
        """Adds each of the given modules at the end; returns self."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                f"ModuleList.extend needs an iterable, but got {type(modules).__name__}"
            )
        offset = len(self)
        for i, module in enumerate(modules):
            self.add_module(str(offset + i), module)
        return self


def _pairs(given, kind):
    """The (key, value) pairs of a mapping or of an iterable of pairs."""
    if not isinstance(given, Iterable):
        raise TypeError(
            f"{kind}.update needs a mapping or an iterable of pairs, but got {type(given).__name__}"
        )
    if hasattr(given, "items"):
        return given.items()
    pairs = []
    for j, m in enumerate(given):
        if not isinstance(m, Iterable):
            raise TypeError(
                f"entry {j} for {kind}.update must be a pair, but got {type(m).__name__}"
            )
        m = tuple(m)
        if len(m) != 2:
            raise ValueError(
                f"entry {j} for {kind}.update must be a pair, but has {len(m)} elements"
            )
        pairs.append(m)
    return pairs


class ModuleDict(Module):
    """A dict of modules, registered under their keys, in the order of insertion.

    Args:
        modules (mapping or iterable of pairs, optional): the modules to hold.
    """

    def __init__(self, modules=None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key):
        return self._modules[key]

    def __setitem__(self, key, module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules)

    def __contains__(self, key) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Removes all modules."""
        self._modules.clear()

    def pop(self, key):
        """Removes the module at `key` and returns it."""
        v = self[key]
        del self[key]
        return v

    def keys(self):
        """The keys."""
        return self._modules.keys()

    def items(self):
        """The (key, module) pairs."""
        return self._modules.items()

    def values(self):
        """The modules."""
        return self._modules.values()

    def update(self, modules) -> None:
        """Adds the modules of a mapping or of an iterable of pairs."""
        for key, module in _pairs(modules, "ModuleDict"):
            self[key] = module


def _describe(p, index_style):
    """How a ParameterList or ParameterDict prints one entry."""
    if not isinstance(p, torch.Tensor):
        return "Object of type: " + type(p).__name__
    size = "x".join(str(n) for n in p.size())
    device = "" if p.device.type == "cpu" else f" ({p.device})"
    kind = "Parameter" if isinstance(p, Parameter) else "Tensor"
    typename = torch.typename(p) if not isinstance(p, Parameter) else p.data.type()
    if index_style:
        typename = p.dtype
    return f"{kind} containing: [{typename} of size {size}{device}]"


class ParameterList(Module):
    """A list whose tensors are registered as parameters; other objects are kept as they are.

    Args:
        values (iterable, optional): the entries. Tensors that are no parameters are made so.
    """

    def __init__(self, values=None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self += values

    def _get_abs_string_index(self, idx):
        return str(_checked_index(idx, len(self)))

    def __getitem__(self, idx):
        if isinstance(idx, slice):
            out = self.__class__()
            for i in range(len(self))[idx]:
                out.append(self[i])
            return out
        return getattr(self, self._get_abs_string_index(idx))

    def __setitem__(self, idx, param) -> None:
        if isinstance(param, torch.Tensor) and not isinstance(param, Parameter):
            param = Parameter(param)
        return setattr(self, self._get_abs_string_index(idx), param)

    def __len__(self) -> int:
        return self._size

    def __iter__(self):
        return iter(self[i] for i in range(len(self)))

    def __iadd__(self, parameters):
        return self.extend(parameters)

    def __dir__(self):
        return [key for key in super().__dir__() if not key.isdigit()]

    def append(self, value):
        """Adds `value` at the end; returns self."""
        new_idx = len(self)
        self._size += 1
        self[new_idx] = value
        return self

    def extend(self, values):
        """Adds each of the given values at the end; returns self."""
        if not isinstance(values, Iterable) or isinstance(values, torch.Tensor):
            raise TypeError(
                f"ParameterList.extend needs an iterable, but got {type(values).__name__}"
            )
        for value in values:
            self.append(value)
        return self

    def extra_repr(self) -> str:
        return "\n".join(f"  ({k}): {_describe(p, True)}" for k, p in enumerate(self))

    def __call__(self, *args, **kwargs):
        raise RuntimeError("a ParameterList cannot be called")


class ParameterDict(Module):
    """A dict whose tensors are registered as parameters; other objects are kept as they are.

    Args:
        parameters (mapping or iterable of pairs, optional): the entries. Tensors that are no
            parameters are made so.
    """

    def __init__(self, parameters=None) -> None:
        super().__init__()
        self._keys = {}
        if parameters is not None:
            self.update(parameters)

    def _key_to_attr(self, key):
        if not isinstance(key, str):
            raise TypeError(
                f"the keys of a ParameterDict must be strings, but got {type(key).__name__}"
            )
        return key

    def __getitem__(self, key):
        return getattr(self, self._key_to_attr(key))

    def __setitem__(self, key, value) -> None:
        attr = self._key_to_attr(key)
        if isinstance(value, torch.Tensor) and not isinstance(value, Parameter):
            value = Parameter(value)
        setattr(self, attr, value)
        self._keys[key] = None

    def __delitem__(self, key) -> None:
        del self._keys[key]
        delattr(self, self._key_to_attr(key))

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self):
        return iter(self._keys)

    def __reversed__(self):
        return reversed(list(self._keys))

    def __contains__(self, key) -> bool:
        return key in self._keys

    def copy(self):
        """A new ParameterDict with the same entries."""
        return ParameterDict(OrderedDict((k, self[k]) for k in self._keys))

    def setdefault(self, key, default=None):
        """The entry at `key`, put there as `default` if there is none."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Removes all entries."""
        for k in list(self._keys):
            del self[k]

    def pop(self, key):
        """Removes the entry at `key` and returns it."""
        v = self[key]
        del self[key]
        return v

    def popitem(self):
        """Removes the last entry and returns it as (key, value)."""
        k, _ = self._keys.popitem()
        self._keys[k] = None
        val = self[k]
        del self[k]
        return k, val

    def get(self, key, default=None):
        """The entry at `key`, or `default` if there is none."""
        return self[key] if key in self else default

    def fromkeys(self, keys, default=None):
        """A new ParameterDict with `default` at each of the keys."""
        return ParameterDict((k, default) for k in keys)

    def keys(self):
        """The keys."""
        return self._keys.keys()

    def items(self):
        """The (key, value) pairs."""
        return ((k, self[k]) for k in self._keys)

    def values(self):
        """The values."""
        return (self[k] for k in self._keys)

    def update(self, parameters) -> None:
        """Adds the entries of a mapping or of an iterable of pairs."""
        pairs = _pairs(parameters, "ParameterDict")
        plain = isinstance(parameters, Mapping) and not isinstance(
            parameters, (OrderedDict, ParameterDict)
        )
        # An ordinary mapping is taken in the order of its keys.
        for key, value in sorted(pairs) if plain else pairs:
            self[key] = value

    def extra_repr(self) -> str:
        return "\n".join(f"  ({k}): {_describe(p, False)}" for k, p in self.items())

    def __call__(self, input):
        raise RuntimeError("a ParameterDict cannot be called")

    def __or__(self, other):
        result = self.copy()
        result.update(other)
        return result

    def __ror__(self, other):
        result = other.copy()
        result.update(self)
        return result

    def __ior__(self, other):
        self.update(other)
        return self
