"""The columns of tensors without elements: their shapes, strides, types, devices and aliasing are those of real ones; with
symbolic sizes, at the example and at other sizes that satisfy the guards."""

import random
import zlib

import torch
from torch._subclasses import DataDependentOutputException, DynamicOutputShapeException, FakeTensor, FakeTensorMode
from torch._subclasses.symbolic import geometry
from torch.fx.experimental._expressions import number
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode, ShapeEnv

from sweep.columns import ERRORS, column, packet, rows, where
from sweep.compare import flat
from sweep.tensors import Arguments, is_tensor_case

UNKNOWN = (DataDependentOutputException, DynamicOutputShapeException, GuardOnDataDependentSymNode)


def attempt(f):
    """(results, None), or (None, the error)."""
    try:
        return flat(f()), None
    except ERRORS as error:
        return None, error


def comparable(record, case, at, got, error, real):
    """The results of the real call, checked to come as those without elements do; None where there is nothing to compare."""
    if isinstance(error, (*UNKNOWN, NotImplementedError)):
        assert not (record.meta and case.meta), at + f"{type(error).__name__} ({error}), though the meta device has a shape"
        return None
    want, real_error = attempt(real)
    if error is not None or real_error is not None:
        assert error is None or real_error is not None, at + f"raises {type(error).__name__} ({error}), the real call does not"
        return None
    assert len(got) == len(want), at + f"{len(got)} results, {len(want)} of the real call"
    return want


@column
def fake(record):
    """As the real call; what hangs on elements raises an exception that says so, and nothing else."""
    run = packet(record)
    for case, dtype in rows(record):
        filled = Arguments(case, dtype)
        if not is_tensor_case(case) or record.meta == "indices on the host":
            continue
        mode = FakeTensorMode()
        args, kwargs = filled.replaced(lambda i, t, s: mode.from_tensor(t))
        at = where(record, case, dtype, "fake")
        with mode:
            got, error = attempt(lambda: run(*args, **kwargs))
        want = comparable(record, case, at, got, error, lambda: run(*filled.args, **filled.kwargs))
        if want is None:
            continue
        for g, w in zip(got, want):
            if not isinstance(w, torch.Tensor) or any(w is t for t in filled.tensors):
                continue
            assert type(g) is FakeTensor, at + f"the result is a {type(g).__name__}"
            assert g.device == w.device and g.dtype == w.dtype, at + f"{g.dtype} on {g.device}, really {w.dtype} on {w.device}"
            assert g.shape == w.shape, at + f"shape {list(g.shape)}, really {list(w.shape)}"
            assert g.stride() == w.stride(), at + f"strides {g.stride()}, really {w.stride()}"
            assert g._is_view() == w._is_view(), at + f"a view only one time: fake {g._is_view()}, real {w._is_view()}"


def sizes_of(t, values):
    """(shape, strides) of a fake tensor, with numbers for the symbols."""
    shape, strides, _ = geometry(t)
    at = [tuple(number(e).evaluate(values) for e in part) for part in (shape, strides)]
    return at[0], at[1]


@column
def symbolic(record):
    """With symbols for sizes: the real shapes and strides at the example, those of a concrete call at other sizes."""
    run = packet(record)
    for case, dtype in rows(record):
        filled = Arguments(case, dtype)
        if not is_tensor_case(case) or record.meta == "indices on the host":
            continue
        env = ShapeEnv()
        mode = FakeTensorMode(shape_env=env)
        made = [mode.from_tensor(t) for t in filled.tensors]
        before = [geometry(t) for t in made]
        args, kwargs = filled.replaced(lambda i, t, s: made[i])
        at = where(record, case, dtype, "symbolic")
        with mode:
            got, error = attempt(lambda: run(*args, **kwargs))
        args, kwargs = filled.fresh()
        want = comparable(record, case, at, got, error, lambda: run(*args, **kwargs))
        if want is None:
            continue
        fakes = [(g, w) for g, w in zip(got, want) if isinstance(w, torch.Tensor)]
        if any(env._without_hint(e) for g, _ in fakes for e in (*geometry(g)[0], *geometry(g)[1])):
            continue
        for g, w in fakes:
            assert g.device == w.device and g.dtype == w.dtype, at + f"{g.dtype} on {g.device}, really {w.dtype} on {w.device}"
            shape, strides = sizes_of(g, env.var_to_val)
            assert shape == w.shape, at + f"shape {list(g.shape)}, that is {list(shape)}; really {list(w.shape)}"
            assert strides == w.stride(), at + f"strides {g.stride()}, that is {strides}; really {w.stride()}"
        draw = random.Random(zlib.crc32(at.encode()))
        for _ in range(6):
            values = {s: draw.choice([2, 3, v, v + 1, 2 * v]) if v > 1 else v for s, v in env.var_to_val.items()}
            if not env._admits(values):
                continue
            concrete = [
                torch.empty_strided(*[[number(e).evaluate(values) for e in part] for part in g[:2]], dtype=t.dtype, device="meta")
                for g, t in zip(before, filled.tensors)
            ]
            c_args, c_kwargs = filled.replaced(lambda i, t, s: concrete[i])
            other, _ = attempt(lambda: run(*c_args, **c_kwargs))
            if other is None:
                continue
            assert len(other) == len(got), at + f"{len(got)} results, {len(other)} at {values}"
            for g, w in zip(got, other):
                if isinstance(w, torch.Tensor) and w.is_meta:
                    assert sizes_of(g, values) == (tuple(w.shape), w.stride()), (
                        at + f"sizes {list(g.shape)} and strides {g.stride()}; at {values} really {list(w.shape)} and {w.stride()}"
                    )
