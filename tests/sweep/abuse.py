"""The column of abuse: arguments of other shapes, types, devices and sizes give a result or an exception, never a crash."""
import torch

from sweep.columns import ERRORS, column, packet, rows, where
from sweep.tensors import Arguments

HUGE = (2**62, -(2**62), -1, 0)


def strange(t):
    """Tensors that an operator may not expect in the place of t."""
    yield torch.zeros(0, dtype=t.dtype)
    yield torch.ones((), dtype=t.dtype)
    yield torch.ones((1, 2, 1, 2, 1, 2), dtype=t.dtype)
    yield torch.ones(t.shape, dtype=torch.complex128 if not t.is_complex() else torch.float32)
    yield torch.full(t.shape, 1, dtype=torch.int32)
    yield torch.empty(t.shape, dtype=t.dtype, device="meta")
    if t.dtype in (torch.int64, torch.float32):
        yield torch.full(t.shape, -(2**40), dtype=t.dtype)
        yield torch.full(t.shape, 2**40, dtype=t.dtype)


@column
def abuse(record):
    run = packet(record)
    case, dtype = next(rows(record))
    filled = Arguments(case, dtype)

    def attempt(args, kwargs):
        try:
            run(*args, **kwargs)
        except (*ERRORS, MemoryError, OverflowError):
            pass
        except BaseException as e:
            raise AssertionError(where(record, case, dtype) + f"{args} {kwargs}: {type(e).__name__}: {e}") from e

    for at, t in enumerate(filled.tensors):
        for other in strange(t):
            attempt(*filled.replaced(lambda i, u, s: other if i == at else u.clone()))
    args, kwargs = filled.fresh()
    for i, a in enumerate(args):
        if isinstance(a, bool) or not isinstance(a, (int, list)):
            continue
        if isinstance(a, list) and not all(type(x) is int for x in a):
            continue
        for n in HUGE:
            for new in [n] if isinstance(a, int) else [[n] * len(a), a + [n], []]:
                fresh, kw = filled.fresh()
                attempt((*fresh[:i], new, *fresh[i + 1 :]), kw)


