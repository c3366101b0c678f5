"""The checks of values, types, layouts, threads, the meta device and the schema; each is a column of the sweep.

A column is a function of a record; it raises AssertionError saying what does not hold. `FULL` widens layouts to
every type and gradients to the slow check.
"""

import itertools

import numpy as np
import torch

from sweep import registry
from sweep.compare import differs, flat, same_bits
from sweep.record import GROUPS
from sweep.tensors import LAYOUTS, Arguments, is_tensor_case

FULL = False
COLUMNS = {}
ERRORS = (RuntimeError, NotImplementedError, TypeError, ValueError, IndexError)


def column(f):
    COLUMNS[f.__name__] = f
    return f


def packet(record):
    return getattr(torch.ops.aten, record.name)


def cases_of(record, dtype, big=False):
    return [c for c in record.cases if c.takes(dtype) and (big or not c.big)]


def rows(record, big=False):
    """(case, type) for each case, in the type that checks run in which are not about types."""
    for case in record.cases:
        if case.big == big and any(case.takes(d) for d in record.dtypes() or [None]):
            yield case, next((d for d in record.dtypes() if case.takes(d)), None)


def where(record, case, dtype, *more):
    return (
        f"{record.name}{case!r}"
        + "".join(f" {str(m).removeprefix('torch.')}" for m in (dtype, *more) if m is not None)
        + ": "
    )


def kind(dtype):
    if dtype == torch.bool:
        return "b"
    return "c" if dtype.is_complex else "f" if dtype.is_floating_point else "i"


def expected_type(record, case, filled, i, want):
    """The type of result i: said by the record, else that of the inputs, of the kind that the exact value has."""
    said = record.result[i] if isinstance(record.result, (list, tuple)) else record.result
    if said is not None and said != "same":
        return said(*filled.args, **filled.kwargs) if callable(said) and not isinstance(said, torch.dtype) else said
    if isinstance(filled.kwargs.get("dtype"), torch.dtype):
        return filled.kwargs["dtype"]
    have = filled.dtype
    k = want.dtype.kind.replace("u", "i")
    if have is None or kind(have) == k or said == "same":
        return have
    if k == "f":
        return {torch.complex64: torch.float32, torch.complex128: torch.float64}.get(have, torch.get_default_dtype())
    if k == "c":
        return torch.complex128 if have == torch.float64 else torch.complex64
    return torch.bool if k == "b" else torch.int64


@column
def value(record):
    """Elements, shapes and types of results, for every type that the record claims; every other type raises."""
    run = packet(record)
    for dtype in record.dtypes() or [None]:
        for case in cases_of(record, dtype):
            if not case.values:
                continue
            filled = Arguments(case, dtype)
            at = where(record, case, dtype)
            with np.errstate(all="ignore"):
                args, kwargs = filled.arrays()
                original = filled.fresh()
                got = flat(run(*filled.args, **filled.kwargs))
                if record.holds is not None:
                    said = record.holds(got, *original[0], **original[1])
                    assert said is None or said is True, at + f"{said}"
                    continue
                want = record.value(*args, **kwargs)
            want = list(want) if isinstance(want, (list, tuple)) else [want]
            assert len(got) == len(want), at + f"{len(got)} results, expected {len(want)}"
            for i, (g, w) in enumerate(zip(got, want)):
                if not isinstance(g, torch.Tensor):
                    w = w.item() if isinstance(w, (np.ndarray, np.generic)) else w
                    assert g == w or abs(g - w) <= 1e-6 * abs(w), at + f"{g}, expected {w}"
                    continue
                w = np.asarray(w)
                types = expected_type(record, case, filled, i, w)
                assert g.dtype == types, at + f"result {i} has the type {g.dtype}, expected {types}"
                said = differs(g, w, record.ulp, record.tol)
                assert said is None, at + f"result {i}: {said}"
    if not any(is_tensor_case(c) for c in record.cases):
        return
    claimed = set(record.dtypes())
    case = record.cases[0]
    for dtype in itertools.chain(*(GROUPS[g] for g in "fcib")):  # the wide unsigned types are claimed or left open
        if not claimed or dtype in claimed or case.types is not None or any(dtype in GROUPS[g] for g in record.open):
            continue
        filled = Arguments(case, dtype)
        try:
            if any(
                isinstance(r, torch.Tensor) and r.dtype == torch.complex32
                for r in flat(run(*filled.args, **filled.kwargs))
            ):
                continue
        except ERRORS:
            continue
        raise AssertionError(where(record, case, dtype) + "works, but the record does not claim this type")


@column
def layouts(record):
    """The same bits whatever the strides."""
    run = packet(record)
    writes = any(o.writes for o in registry.overloads(record.name) if o.form == "functional")
    for case, _ in rows(record):
        if not case.layouts:
            continue
        types = [d for d in record.dtypes() if case.takes(d)] or [None]
        for dtype in types if FULL else types[:1]:
            for layout in LAYOUTS[1:]:
                if layout == "expanded" and writes:
                    continue
                plain = Arguments(case, dtype, layout)
                if not plain.changed:
                    continue
                args, kwargs = plain.replaced(lambda i, t, s: t.clone(memory_format=torch.contiguous_format))
                want = run(*args, **kwargs)
                got = run(*plain.args, **plain.kwargs)
                if record.holds is None:
                    assert same_bits(flat(got), flat(want)), (
                        where(record, case, dtype, layout) + f"{got} for contiguous memory {want}"
                    )


@column
def threads(record):
    """The same bits for one and two threads."""
    run = packet(record)
    before = torch.get_num_threads()
    for case, dtype in rows(record, big=True):
        results = []
        try:
            for n in (1, 2):
                torch.set_num_threads(n)
                filled = Arguments(case, dtype)
                args, kwargs = filled.arrays()
                results.append(flat(run(*filled.args, **filled.kwargs)))
        finally:
            torch.set_num_threads(before)
        at = where(record, case, dtype)
        assert same_bits(*results), at + "one thread and two give other bits"
        if record.value is not None and case.values:
            with np.errstate(all="ignore"):
                want = record.value(*args, **kwargs)
            want = list(want) if isinstance(want, (list, tuple)) else [want]
            for g, w in zip(results[0], want):
                said = differs(g, w, record.ulp, record.tol)
                assert said is None, at + said


@column
def meta(record):
    """The meta device gives the shapes, strides, types and aliasing of the real one."""
    run = packet(record)
    for case, dtype in rows(record):
        if not case.meta or not is_tensor_case(case):
            continue
        for layout in LAYOUTS[:3]:
            filled = Arguments(case, dtype, layout)
            if layout != "contiguous" and (not filled.changed or not case.layouts):
                continue
            args, kwargs = filled.replaced(
                lambda i, t, s: (
                    t
                    if s.dtype is not None and record.meta == "indices on the host"
                    else torch.empty_strided(t.shape, t.stride(), dtype=t.dtype, device="meta")
                )
            )
            at = where(record, case, dtype, layout)
            if not record.meta:
                try:
                    run(*args, **kwargs)
                except ERRORS:
                    continue
                raise AssertionError(at + "the meta device gives a result whose shape hangs on the data")
            want = flat(run(*filled.args, **filled.kwargs))
            got = flat(run(*args, **kwargs))
            assert len(got) == len(want), at + f"{len(got)} results on meta, {len(want)} on the CPU"
            for g, w in zip(got, want):
                if not isinstance(w, torch.Tensor) or any(w is t for t in filled.tensors):
                    continue
                assert g.is_meta, at + f"the result is on {g.device}"
                assert g.dtype == w.dtype, at + f"type {g.dtype} on meta, {w.dtype} on the CPU"
                assert g.shape == w.shape, at + f"shape {list(g.shape)} on meta, {list(w.shape)} on the CPU"
                assert g.stride() == w.stride(), at + f"strides {g.stride()} on meta, {w.stride()} on the CPU"
                assert g._is_view() == w._is_view(), (
                    at + f"a view on one device only: meta {g._is_view()}, CPU {w._is_view()}"
                )
                if w._is_view():
                    start = next(
                        (
                            t.storage_offset() * t.element_size()
                            for t in filled.tensors
                            if t.untyped_storage().data_ptr() == w.untyped_storage().data_ptr()
                        ),
                        0,
                    )
                    assert g.storage_offset() * g.element_size() == w.storage_offset() * w.element_size() - start, (
                        at + "other offsets"
                    )


@column
def schema(record):
    """What the schema says: which inputs are written, which results share their memory."""
    run = packet(record)
    by_name = {o.name: o for o in registry.overloads(record.name)}
    for case, dtype in rows(record):
        filled = Arguments(case, dtype)
        at = where(record, case, dtype)
        taken = by_name[registry.resolve(record.name, filled.args, filled.kwargs)]
        before = [(t._version, t.clone()) for t in filled.tensors]
        result = run(*filled.args, **filled.kwargs)
        written = filled.args[0] if taken.writes and filled.args else None
        further = [t for (kind, _), a in zip(taken.args, filled.args) if "!" in kind for t in flat(a) if t is not written]
        for t, (version, copy) in zip(filled.tensors, before):
            if t is written:
                assert t._version > version, at + "writes its first argument without a new version"
                assert flat(result)[0] is t, at + "the result is not the argument that is written"
                continue
            if any(t is w for w in further):
                assert t._version > version or same_bits(t, copy), at + "writes an argument without a new version"
                continue
            assert t._version == version, at + "an argument has a new version"
            assert same_bits(t, copy), at + "an argument was changed"
        shared = {t.untyped_storage().data_ptr() for t in filled.tensors if t.numel()}
        for r in flat(result):
            if not isinstance(r, torch.Tensor) or r is written or not r.numel():
                continue
            shares = r.untyped_storage().data_ptr() in shared
            if not taken.views and not taken.writes and not record.shares:
                assert not shares or taken.kind == "composite", (
                    at + "the result shares memory with an argument, unknown to the schema"
                )
            elif taken.kind == "view":
                assert shares and r._is_view(), at + "the result of a view is none"
