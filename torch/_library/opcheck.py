"""`torch.library.opcheck`: whether an operator does what it says."""
import copy

import torch
from torch import _C
from torch.utils import _pytree as pytree


class OpCheckError(Exception):
    """An operator failed one of the tests of opcheck."""


def _copies(args):
    def one(x):
        if not isinstance(x, torch.Tensor):
            return copy.deepcopy(x)
        with torch.no_grad():
            return x.detach().clone(memory_format=torch.preserve_format).requires_grad_(x.requires_grad)
    return pytree.tree_map(one, args)


def _tensors(x):
    return [t for t in pytree.tree_leaves(x) if isinstance(t, torch.Tensor)]


def _by_name(op, args, kwargs):
    named = dict(zip((a.name for a in op._schema.arguments), args))
    named.update(kwargs)
    return named


def test_schema(op, args, kwargs, atol, rtol):
    args, kwargs = _copies((args, kwargs))
    named = _by_name(op, args, kwargs)
    before = {n: [t.detach().clone() for t in _tensors(v)] for n, v in named.items()}
    with torch.no_grad():
        result = op(*args, **kwargs)
    for a in op._schema.arguments:
        if a.is_write or a.name not in named:
            continue
        for old, new in zip(before[a.name], _tensors(named[a.name])):
            if not torch.equal(torch.nan_to_num(old), torch.nan_to_num(new)):
                raise RuntimeError(f"argument {a.name!r} of {op} was written, but the schema {op._schema} does not say so")
    for r, spec in zip(result if len(op._schema.returns) > 1 else [result], op._schema.returns):
        for t in _tensors(r):
            for a in op._schema.arguments:
                for x in _tensors(named.get(a.name)):
                    shared = _C._same_storage(t, x)
                    said = spec.alias_info is not None and a.alias_info is not None and spec.alias_info.before_set & a.alias_info.before_set
                    if shared and not said:
                        raise RuntimeError(f"a result of {op} shares memory with argument {a.name!r}, but the schema {op._schema} does not say so")


def test_autograd_registration(op, args, kwargs, atol, rtol):
    if not any(t.requires_grad for t in _tensors((args, kwargs))) or op._schema.is_mutable:
        return
    if not op.has_kernel_for_dispatch_key("Autograd") and not op.has_kernel_for_dispatch_key("CompositeImplicitAutograd"):
        args, kwargs = _copies((args, kwargs))
        result = op(*args, **kwargs)
        if any(t.requires_grad for t in _tensors(result)):
            raise OpCheckError(f"{op} has no kernel for Autograd: register its derivative with torch.library.register_autograd")


def _on_fakes(op, args, kwargs):
    """What the operator gives on fake copies, None where its sizes depend on elements."""
    from torch._subclasses.fake_tensor import DynamicOutputShapeException, FakeTensorMode
    mode = FakeTensorMode()
    fake = pytree.tree_map(lambda x: mode.from_tensor(x) if isinstance(x, torch.Tensor) else x, _copies((args, kwargs)))
    try:
        with mode:
            return [op(*fake[0], **fake[1])]
    except DynamicOutputShapeException:
        return None


def test_faketensor(op, args, kwargs, atol, rtol):
    from torch._subclasses.fake_tensor import MetadataMismatchError
    args, kwargs = _copies((args, kwargs))
    expected = _on_fakes(op, args, kwargs)
    if expected is None:
        return
    result = op(*args, **kwargs)
    real, said = _tensors(result), _tensors(expected[0])
    if len(real) != len(said):
        raise MetadataMismatchError(f"{op} gave {len(real)} tensors, its fake implementation {len(said)}")
    for i, (r, s) in enumerate(zip(real, said)):
        for what, a, b in (("shape", r.shape, s.shape), ("dtype", r.dtype, s.dtype), ("device", r.device, s.device),
                           ("strides", r.stride(), s.stride())):
            if a != b and not (what == "strides" and r.numel() == 0):
                raise MetadataMismatchError(f"result {i} of {op} has {what} {a}, its fake implementation says {b}")


def test_aot_dispatch_dynamic(op, args, kwargs, atol, rtol):
    """The operator runs on tensors without values; its derivative runs, below a mode as well as without, and gives the same."""
    _on_fakes(op, args, kwargs)
    if op._schema.is_mutable or not any(t.requires_grad for t in _tensors((args, kwargs))):
        return
    from torch.utils._python_dispatch import BaseTorchDispatchMode

    def gradients(mode):
        a, k = _copies((args, kwargs))
        leaves = [t for t in _tensors((a, k)) if t.requires_grad]
        with mode if mode is not None else torch.enable_grad():
            out = [t for t in _tensors(op(*a, **k)) if t.requires_grad]
            if not out:
                return []
            return torch.autograd.grad([t.sum() for t in out], leaves, allow_unused=True)

    for plain, below in zip(gradients(None), gradients(BaseTorchDispatchMode())):
        if (plain is None) != (below is None) or plain is not None and not torch.allclose(
                plain, below, rtol=1e-5 if rtol is None else rtol, atol=1e-8 if atol is None else atol, equal_nan=True):
            raise OpCheckError(f"the gradients of {op} differ below a dispatch mode: {plain} and {below}")


_TESTS = {f.__name__: f for f in (test_schema, test_autograd_registration, test_faketensor, test_aot_dispatch_dynamic)}
_TESTS["test_aot_dispatch_static"] = test_aot_dispatch_dynamic


def run(op, args, kwargs, names, raise_exception, atol, rtol):
    if isinstance(names, str):
        names = (names,)
    unknown = set(names) - set(_TESTS)
    if unknown:
        raise ValueError(f"opcheck: there are no tests {sorted(unknown)}; there are {sorted(_TESTS)}")
    results = {}
    for name in names:
        try:
            _TESTS[name](op, args, kwargs, atol, rtol)
            results[name] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise OpCheckError(f"opcheck of {op}: {name} failed: {error}") from error
            results[name] = error
    return results
