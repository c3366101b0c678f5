"""The column of errors: the type of the exception, and what its text must name."""

import torch

from sweep.columns import column, packet
from sweep.record import Case
from sweep.tensors import Arguments


@column
def errors(record):
    run = packet(record)
    for wrong in record.errors:
        dtype = wrong.dtype or record.main() or torch.float32
        filled = Arguments(Case(wrong.args, wrong.kwargs), dtype)
        at = f"{record.name}{wrong!r} {dtype}: "
        try:
            got = run(*filled.args, **filled.kwargs)
        except Exception as e:
            assert type(e) is wrong.error, at + f"{type(e).__name__}, expected {wrong.error.__name__}: {e}"
            for word in wrong.says:
                assert word in str(e), at + f"the text does not name {word!r}: {e}"
            continue
        raise AssertionError(at + f"gives {got}, expected {wrong.error.__name__}")
