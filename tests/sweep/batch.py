"""The column of vmap: a call on a batch gives what calls on each example give."""
import warnings

import torch

from sweep import registry
from sweep.columns import ERRORS, column, packet, rows, where
from sweep.compare import flat
from sweep.tensors import Arguments

EXAMPLES = 3


def varied(t, b):
    """Example b: the elements of t in another order, so that they stay where the operator is defined."""
    return t if b == 0 or t.dim() == 0 else t.roll(b, -1) if b == 1 else t.flip(-1)


def batches(filled):
    """(examples of every tensor, dimension of each in the batch) in several ways: all tensors; only those of the swept type,
    last dimension; only the first tensor."""
    swept = [t.dtype == filled.dtype or t.dtype.is_floating_point for t in filled.tensors]
    kept = [[t if not s else varied(t, b) for b in range(EXAMPLES)] for t, s in zip(filled.tensors, swept)]
    n = len(kept)
    yield kept, [0] * n
    if any(swept):
        yield kept, [-1 if s else None for s in swept]
    if n > 1:
        yield kept, [0] + [None] * (n - 1)
        yield kept, [None] * (n - 1) + [0]


def attempt(f):
    """(results, None) or (None, the error)."""
    try:
        return f(), None
    except ERRORS as e:
        return None, e


@column
def vmap(record):
    """Values, shapes and types are those of a loop; what a loop refuses is refused. Where shapes hang on values, or integers
    and masks are read by the operator, a batch may be refused."""
    run = packet(record)
    by_name = {o.name: o for o in registry.overloads(record.name)}
    for case, dtype in rows(record):
        filled = Arguments(case, dtype)
        if not filled.tensors or not case.batch:
            continue
        taken = by_name[registry.resolve(record.name, filled.args, filled.kwargs)]
        for examples, dims in batches(filled):
            at = where(record, case, dtype, dims)
            if taken.writes and dims[0] is None:
                continue  # writes to what is the same for all are refused
            if not case.layouts and -1 in dims:
                continue

            def call(*tensors, copied=taken.writes):
                args, kwargs = filled.replaced(lambda i, t, s: tensors[i].clone() if copied else tensors[i])
                result = run(*args, **kwargs)
                return tuple(r for r in flat(result) if r is not None)

            # The loop reads tensors laid out as the batch's examples are, unless the call looks at their storage.
            stacked = [x[0].clone() if d is None else torch.stack(x, d) for x, d in zip(examples, dims)]
            mapped = range(EXAMPLES) if any(d is not None for d in dims) else [0]
            taken_out = [
                [s if d is None else s.select(d, b) if case.layouts else s.select(d, b).clone() for s, d in zip(stacked, dims)]
                for b in mapped
            ]
            singles = [attempt(lambda tensors=tensors: call(*tensors)) for tensors in taken_out]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                got, error = attempt(lambda: torch.vmap(call, in_dims=tuple(dims), randomness="different")(*stacked))
            refused = next((e for _, e in singles if e is not None), None)
            if refused is not None:
                assert error is not None, at + f"a batch works, an example raises {refused}"
                continue
            shapes = {tuple(tuple(r.shape) if isinstance(r, torch.Tensor) else None for r in s) for s, _ in singles}
            if len(shapes) > 1 or not record.meta or any(not isinstance(r, torch.Tensor) for r in singles[0][0]):
                # Shapes that hang on the data, and plain values, cannot be batched.
                assert error is None or isinstance(error, (RuntimeError, ValueError)), at + f"raises {type(error).__name__}: {error}"
                if error is not None or len(shapes) > 1:
                    continue
            if isinstance(error, RuntimeError) and str(error).startswith("vmap:") and any(
                d is not None and not (t.is_floating_point() or t.is_complex()) for t, d in zip(stacked, dims)
            ):
                continue  # masks, places and counts that differ between examples
            assert error is None, at + f"raises {type(error).__name__}: {error}"
            assert len(got) == len(singles[0][0]), at + f"{len(got)} results, {len(singles[0][0])} for an example"
            for i, g in enumerate(got):
                want = torch.stack([s[i] for s, _ in singles])
                assert g.shape == want.shape, at + f"result {i} has shape {list(g.shape)}, a loop gives {list(want.shape)}"
                assert g.dtype == want.dtype, at + f"result {i} has type {g.dtype}, a loop gives {want.dtype}"
                if record.holds is not None or not case.values:
                    continue
                close = torch.allclose(g, want, rtol=RTOL.get(g.dtype, 0), atol=ATOL.get(g.dtype, 0), equal_nan=True)
                assert close, at + f"result {i}: {g} for a batch, {want} in a loop"


RTOL = {torch.float64: 1e-9, torch.float32: 1e-4, torch.complex64: 1e-4, torch.complex128: 1e-9, torch.float16: 1e-2, torch.bfloat16: 5e-2}
ATOL = {torch.float64: 1e-9, torch.float32: 1e-4, torch.complex64: 1e-4, torch.complex128: 1e-9, torch.float16: 1e-2, torch.bfloat16: 5e-2}
