"""The column of forms: every name that a card claims gives the functional result."""

import warnings

import torch

from sweep import registry
from sweep.columns import ERRORS, column, packet, rows, where
from sweep.compare import flat, same_bits
from sweep.tensors import Arguments, is_tensor_case

# Operators that write to tensors whose elements share memory, as the reference does.
OVERLAP = ("fill_", "masked_fill_", "index_fill_", "index_put_")


def callables(name, forms):
    """(label, callable, is a method) for each name in a module or on Tensor that a packet claims."""
    for prefix, module in registry.PREFIXES.items():
        if name.startswith(prefix):
            short = name.removeprefix(prefix)
            yield f"torch._C._{module}.{short}", getattr(getattr(torch._C, "_" + module), short), False
            return
    if forms & registry.HIDDEN and not forms & (registry.FN | registry.METHOD | registry.NN):
        return
    if forms & registry.FN:
        yield f"torch._C._VariableFunctions.{name}", getattr(torch._C._VariableFunctions, name), False
    if forms & registry.METHOD:
        yield f"torch.Tensor.{name}", getattr(torch.Tensor, name), True
    if forms & registry.NN:
        yield f"torch._C._nn.{name}", getattr(torch._C._nn, name), False


def as_method(overload, args, kwargs):
    """The arguments with `self` first, as a method takes them; None where there is no tensor `self`."""
    names = [n for _, n in overload.args]
    if "self" in names and names.index("self") < len(args):
        i = names.index("self")
        if isinstance(args[i], torch.Tensor):
            return (args[i], *args[:i], *args[i + 1 :]), kwargs
    return None


@column
def forms(record):
    known, reached = set(torch._C._op_names()), set()
    for case, dtype in rows(record):
        filled = Arguments(case, dtype)
        taken = next(
            o
            for o in registry.overloads(record.name)
            if o.name == registry.resolve(record.name, filled.args, filled.kwargs)
        )
        if taken.form != "functional":
            continue
        want = None if record.holds is not None else flat(packet(record)(*filled.fresh()[0], **filled.fresh()[1]))
        at = where(record, case, dtype)
        reached.add(taken.name)
        reached |= other_overloads(record, taken, filled, want, at)
        for name in [record.name, *taken.aliases.split()]:
            functions(name, taken, filled, want, at)
            if record.holds is None and not taken.writes:
                if name + "_" in known and name[-1] != "_":
                    in_place(name + "_", taken, filled, want, at, record.exact)
                for overload in registry.overloads(name):
                    if overload.form == "out" and overload.functional == taken.name:
                        writes_out(overload, taken, filled, want, at)

    missing = {o.name for o in registry.overloads(record.name) if o.form == "functional"} - reached
    assert not missing, f"{record.name}: no case reaches {sorted(missing)}"


def other_overloads(record, taken, filled, want, at):
    """The names of further overloads that take these arguments; they give the same result."""
    found = set()
    for other in registry.overloads(record.name):
        if other.form != "functional" or other is taken:
            continue
        args, kwargs = filled.fresh()
        if any(kind.startswith("bool") != isinstance(a, bool) and isinstance(a, int) for (kind, _), a in zip(other.args, args)):
            continue  # a call by the name of an overload takes ints for bools, and means something else
        try:
            got = flat(getattr(packet(record), other.overload)(*args, **kwargs))
        except (TypeError, RuntimeError) as e:  # as the reference: an overload asked for by name refuses with RuntimeError
            assert isinstance(e, TypeError) or "the signature is" in str(e), at + f"{other.name}: {e}"
            continue
        assert want is None or same_bits(got, want), at + f"{other.name} gives {got}, {taken.name} {want}"
        found.add(other.name)
    return found


def overload_of(name, taken):
    """What the overload is called in the packet of this name, which may be another name of its operator."""
    mine = registry.overloads(name)
    if any(o.overload == taken.overload for o in mine):
        return taken.overload
    return next(o.overload for o in mine if o.form == "functional" and o.functional == taken.functional)


def functions(name, taken, filled, want, at):
    others = list(callables(name, registry.overloads(name)[0].packet_forms))
    overload = overload_of(name, taken)
    others.append((f"torch.ops.aten.{name}.{overload}", getattr(getattr(torch.ops.aten, name), overload), False))
    names = [n for _, n in taken.args]
    told = "reduction" not in names or len(filled.args) > names.index("reduction") or "reduction" in filled.kwargs
    for label, f, method in others:
        if not told and not label.startswith("torch.ops"):
            continue  # a loss that is not told to reduce does not; the operator does
        args, kwargs = filled.fresh()
        if method:
            moved = as_method(taken, args, kwargs)
            if moved is None:
                continue
            args, kwargs = moved
        got = flat(f(*args, **kwargs) if callable(f) else f.__get__(args[0]))
        if want is not None:
            assert same_bits(got, want), at + f"{label} gives {got}, the operator {want}"


def in_place(name, taken, filled, want, at, exact):
    if (
        not filled.args
        or not isinstance(filled.args[0], torch.Tensor)
        or len(want) != 1
        or not isinstance(want[0], torch.Tensor)
    ):
        return
    result = want[0]
    for label, f in [(f"torch.ops.aten.{name}", getattr(torch.ops.aten, name))] + [
        (label, f) for label, f, method in callables(name, registry.overloads(name)[0].packet_forms)
    ]:
        args, kwargs = filled.fresh()
        x, version = args[0], args[0]._version
        before = x.clone()
        if not taken.views and (
            result.shape != x.shape or not torch.can_cast(result.dtype, x.dtype) or (exact and result.dtype != x.dtype)
        ):
            try:
                f(*args, **kwargs)
            except ERRORS:
                assert same_bits(x, before), at + f"{label} raised, but had written"
                continue
            raise AssertionError(
                at + f"{label} takes a result of type {result.dtype} and shape {list(result.shape)} into "
                f"{x.dtype}, {list(x.shape)}"
            )
        got = f(*args, **kwargs)
        assert got is x, at + f"{label} does not give back its argument"
        assert x._version > version, at + f"{label} leaves the version"
        assert same_bits(x, result.to(x.dtype)), at + f"{label} gives {x}, the functional form {result}"
        shares = name.startswith(OVERLAP) or taken.forms & registry.REPEATED
        if not taken.views and not shares and x.numel() > 1 and x.dim() > 0 and x.shape[0] > 1:
            args, kwargs = filled.fresh()
            spread = args[0][:1].expand(args[0].shape)
            try:
                f(spread, *args[1:], **kwargs)
            except RuntimeError:
                continue
            raise AssertionError(at + f"{label} wrote a tensor whose elements share memory")


def writes_out(overload, taken, filled, want, at):
    if not all(isinstance(w, torch.Tensor) for w in want):
        return
    name = overload.name
    run = getattr(getattr(torch.ops.aten, overload.packet), overload.overload)
    listed = overload.args[-1][0].endswith("[]")
    names = [n for _, n in overload.args][-1 if listed else -len(want) :]

    def call(outs):
        args, kwargs = filled.fresh()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return flat(run(*args, **kwargs, **({names[0]: outs} if listed else dict(zip(names, outs)))))

    def refused(outs, what):
        try:
            call(outs)
        except ERRORS:
            return
        raise AssertionError(at + f"out= of {name} takes {what}")

    outs = [torch.empty(0, dtype=w.dtype) for w in want]
    got = call(outs)
    if listed:  # gives nothing back
        assert same_bits(outs, want), at + f"out= of {name} gives {outs}, the operator {want}"
        return
    assert all(g is o for g, o in zip(got, outs)), at + f"out= of {name} does not give back its argument"
    assert same_bits(got, want), at + f"out= of {name} gives {got}, the operator {want}"
    if all(w.dim() > 1 for w in want):
        outs = [torch.empty(w.shape[::-1], dtype=w.dtype).permute(*range(w.dim())[::-1]) for w in want]
        strides = [o.stride() for o in outs]
        got = call(outs)
        assert same_bits(got, want), at + f"out= of {name} with other strides gives {got}, the operator {want}"
        assert [g.stride() for g in got] == strides, (
            at + f"out= of {name} changes the strides of a tensor of the right shape"
        )
    if (
        is_tensor_case(filled.case)
        and "pin_memory" not in overload.schema
        and (want[0].dtype.is_floating_point or want[0].dtype.is_complex)
    ):
        refused([torch.empty(w.shape, dtype=torch.int64) for w in want], "an int64 tensor for a floating result")
        if all(w.dtype.is_floating_point or w.dtype.is_complex for w in want):
            refused(
                [torch.empty(w.shape, dtype=w.dtype, requires_grad=True) for w in want],
                "a tensor that requires a gradient",
            )
    if all(w.numel() > 1 for w in want):
        outs = [torch.empty(1, dtype=w.dtype).expand(w.shape) for w in want]
        if overload.forms & registry.REPEATED:
            call(outs)
        else:
            refused(outs, "a tensor whose elements share memory")
    if (
        taken.kind == "pointwise"
        and isinstance(filled.args[0], torch.Tensor)
        and filled.args[0].numel() > 1
        and filled.args[0].shape == want[0].shape
        and filled.args[0].dtype == want[0].dtype
    ):
        n = filled.args[0].numel()
        memory = torch.zeros(n + 1, dtype=want[0].dtype)
        x, o = memory[:n].view(want[0].shape), memory[1:].view(want[0].shape)
        x.copy_(filled.args[0])
        args, kwargs = filled.fresh()
        try:
            run(x, *args[1:], **kwargs, **{names[0]: o})
        except RuntimeError:
            return
        raise AssertionError(at + f"out= of {name} takes a tensor that partly shares memory with an argument")
