"""Keys of kernels and sets of them, as torch._C has them: DispatchKey, DispatchKeySet, and guards that leave layers out.

A call finds its kernel by the flags of its arguments and by the layers that are on (docs/architecture.md), not by a set of
keys; the names are here for programs that register kernels by key, ask which keys a tensor has, or leave a layer out.
"""
import enum

from torch import _C

_BACKENDS = ("CPU", "CUDA", "HIP", "XLA", "MPS", "IPU", "XPU", "HPU", "VE", "Lazy", "MTIA", "MAIA", "PrivateUse1", "PrivateUse2",
             "PrivateUse3", "Meta")


def _names():
    """{name: number}: layers first, then the back ends of each kind."""
    found = {"Undefined": 0, "Dense": 1, "Quantized": 5, "Sparse": 8, "SparseCsr": 9, "NestedTensor": 10, "BackendSelect": 11, "Python": 13,
             "FuncTorchDynamicLayerBackMode": 14, "Functionalize": 15, "Conjugate": 16, "Negative": 17, "ZeroTensor": 18, "ADInplaceOrView": 19,
             "AutogradOther": 20, "AutogradFunctionality": 21, "AutogradNestedTensor": 22, "AutocastCPU": 24, "AutocastXPU": 27,
             "AutocastIPU": 28, "AutocastHPU": 29, "AutocastMPS": 31, "AutocastCUDA": 32, "AutocastPrivateUse1": 33, "FuncTorchBatched": 34,
             "FuncTorchVmapMode": 36, "FuncTorchGradWrapper": 39, "PythonTLSSnapshot": 41, "FuncTorchDynamicLayerFrontMode": 42,
             "PreDispatch": 45, "PythonDispatcher": 46}
    first = 49
    for kind in ("", "Quantized", "Sparse", "SparseCsr", "NestedTensor", "Autograd"):
        found.update((kind + b, first + i) for i, b in enumerate(_BACKENDS))
        first += len(_BACKENDS) + 1
    found.update(Autograd=150, CompositeImplicitAutograd=151, FuncTorchBatchedDecomposition=152, CompositeImplicitAutogradNestedTensor=153,
                 CompositeExplicitAutograd=154, CompositeExplicitAutogradNonFunctional=155)
    return found


class DispatchKey(enum.Enum):
    """What a kernel is for: a back end, or a layer that calls pass on their way to one. int(key) is its number."""
    _ignore_ = ["name", "number"]
    vars().update(_names())

    def __int__(self):
        return self.value

    __index__ = __int__

    def __hash__(self):
        return self.value


class DispatchKeySet:
    """DispatchKeySet(key): a set of keys. `|`, `&` and `-` of sets, has(key), add(key) and remove(key), which give a new set."""

    __slots__ = ("_keys",)

    def __init__(self, keys):
        if isinstance(keys, (DispatchKey, DispatchKeySet)):
            keys = (keys,) if isinstance(keys, DispatchKey) else keys._keys
        keys = frozenset(keys)
        for key in keys:
            if not isinstance(key, DispatchKey):
                raise TypeError(f"DispatchKeySet: keys are of type torch._C.DispatchKey, {key!r} is of type {type(key).__name__}")
        self._keys = keys - {DispatchKey.Undefined}

    def has(self, key):
        return key in self._keys

    def add(self, key):
        return self | DispatchKeySet(key)

    def remove(self, key):
        return DispatchKeySet(self._keys - {key})

    def highestPriorityTypeId(self):
        """The key whose kernel a call takes first: the layer that stands above the others."""
        return max(self._keys, key=_rank, default=DispatchKey.Undefined)

    def _with(self, other, combined):
        return DispatchKeySet(combined(self._keys, other._keys)) if isinstance(other, DispatchKeySet) else NotImplemented

    def __or__(self, other):
        return self._with(other, frozenset.union)

    def __and__(self, other):
        return self._with(other, frozenset.intersection)

    def __sub__(self, other):
        return self._with(other, frozenset.difference)

    def __eq__(self, other):
        return isinstance(other, DispatchKeySet) and self._keys == other._keys

    def __hash__(self):
        return hash(self._keys)

    def __repr__(self):
        return f"DispatchKeySet({', '.join(k.name for k in sorted(self._keys, key=_rank))})"


def _rank(key):
    """(the layer, the back end): layers of a kind that has back ends stand where the kind stands."""
    for kind, number in (("Autograd", 21), ("NestedTensor", 10), ("SparseCsr", 9), ("Sparse", 8), ("Quantized", 5), ("", 1)):
        if key.name.startswith(kind) and key.name[len(kind):] in _BACKENDS:
            return number, key.value
    return key.value, 0


class _ExcludeDispatchKeyGuard:
    """_ExcludeDispatchKeyGuard(keys): within a with block of it, and while it lives otherwise, calls leave these layers out.

    Autograd keys, ADInplaceOrView: nothing is recorded. Python keys: neither modes nor classes take calls. Autocast keys:
    nothing to leave out, autocast is not there. NotImplementedError names any other key.
    """

    def __init__(self, keys):
        names = {k.name for k in DispatchKeySet(keys)._keys}
        below = {n for n in names if n.startswith("Autograd") or n == "ADInplaceOrView"}
        python = names & {"Python", "PythonTLSSnapshot"}
        rest = {n for n in names - below - python if not n.startswith("Autocast")}
        if rest:
            raise NotImplementedError(f"torch._C._ExcludeDispatchKeyGuard: leaving out {', '.join(sorted(rest))} is not there")
        self._before = _C._set_below_autograd(True) if below else None
        self._python = _C._DisableTorchDispatch() if python else None

    def _end(self):
        if self._before is not None:
            _C._set_below_autograd(self._before)
            self._before = None
        if self._python is not None:
            self._python._end()
            self._python = None

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self._end()

    def __del__(self):
        if hasattr(self, "_python"):
            self._end()


def _AutoDispatchBelowAutograd():
    """The guard under which kernels of autograd call what they differentiate: nothing is recorded."""
    return _ExcludeDispatchKeyGuard(DispatchKeySet((DispatchKey.Autograd, DispatchKey.ADInplaceOrView)))


def _dispatch_key_for_device(device_type):
    """The name of the key of a device type: "CPU" for "cpu"."""
    names = {b.lower(): b for b in _BACKENDS}
    if device_type not in names:
        raise RuntimeError(f"there is no device type {device_type!r}; there are {', '.join(names)}")
    return names[device_type]


def _dispatch_keys(tensor):
    """The keys that a tensor brings to a call."""
    backend = _dispatch_key_for_device(tensor.device.type)
    keys = {DispatchKey[backend]}
    if not tensor.is_inference():
        keys |= {DispatchKey.ADInplaceOrView, DispatchKey["Autograd" + backend]}
    if "Autocast" + backend in DispatchKey.__members__:
        keys.add(DispatchKey["Autocast" + backend])
    if tensor.is_conj():
        keys.add(DispatchKey.Conjugate)
    if tensor.is_neg():
        keys.add(DispatchKey.Negative)
    if _C._takes_dispatch(tensor):
        keys |= {DispatchKey.Python, DispatchKey.PythonTLSSnapshot}
    return DispatchKeySet(keys)


def _dispatch_key_parse(name):
    """The key of this name."""
    try:
        return DispatchKey[name]
    except KeyError:
        raise RuntimeError(f"there is no dispatch key {name!r}") from None


def _dispatch_key_name(key):
    return key.name


def _dispatch_has_kernel_for_dispatch_key(name, key):
    """Whether the operator "namespace::name.overload" has a kernel of its own for a key; RuntimeError where there is no operator."""
    full = name[:-len(".default")] if name.endswith(".default") else name
    from torch.library import _registry_name
    full = _registry_name(*full.split("::", 1))
    if _C._op_info(full) is None:
        raise RuntimeError(f"there is no operator {name}")
    return _C._op_has_kernel(full, getattr(key, "name", key))
