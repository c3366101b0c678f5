"""The column of type promotion: operands of two types give what operands of their common type give."""

import torch

from sweep import registry
from sweep.columns import column, kind, packet, where
from sweep.compare import flat, same_bits
from sweep.tensors import Arguments

KINDS = "bifc"
SIZE = {
    torch.float16: 16,
    torch.bfloat16: 16,
    torch.float32: 32,
    torch.float64: 64,
    torch.complex64: 64,
    torch.complex128: 128,
    torch.uint8: 8,
    torch.int8: 8,
    torch.int16: 16,
    torch.int32: 32,
    torch.int64: 64,
}
PAIRS = [
    (torch.float32, torch.int64),
    (torch.int32, torch.float64),
    (torch.uint8, torch.int8),
    (torch.float16, torch.bfloat16),
    (torch.complex64, torch.float32),
    (torch.float64, torch.complex64),
    (torch.bool, torch.int32),
    (torch.int16, torch.int64),
    (torch.float16, torch.float32),
]
NUMBERS = [
    (torch.float32, torch.float64),
    (torch.float16, torch.int64),
    (torch.int32, torch.int64),
    (torch.int64, torch.float32),
]


def common(a, b):
    """The type that holds both, of operands with dimensions."""
    if a == b:
        return a
    if kind(a) != kind(b):
        low, high = sorted((a, b), key=lambda d: KINDS.index(kind(d)))
        return torch.complex128 if (low, high) == (torch.float64, torch.complex64) else high
    if {a, b} == {torch.float16, torch.bfloat16}:
        return torch.float32
    if torch.uint8 in (a, b):
        other = b if a == torch.uint8 else a
        return torch.int16 if other == torch.int8 else other
    return a if SIZE[a] >= SIZE[b] else b


def mixed(case, first, second):
    """(args, kwargs, those converted to `to`): the first tensor of one type, the others of another."""
    a, b = Arguments(case, first), Arguments(case, second)
    return lambda to: a.replaced(
        lambda i, t, s: (
            t
            if s.dtype is not None
            else (t if i == a.specs.index(swept(a)) else b.tensors[i]).to(
                to or (first if i == a.specs.index(swept(a)) else second)
            )
        )
    )


def swept(filled):
    return next(s for s in filled.specs if s.dtype is None)


@column
def promotion(record):
    if not record.mixed or registry.overloads(record.name)[0].kind != "pointwise":
        return
    run, known = packet(record), record.dtypes()
    for case in record.cases:
        specs = [s for s in case.specs() if s.dtype is None]
        if case.big or len(specs) < 2 or case.types is not None:
            continue
        shapes = [s.shape for s in specs]
        number = all(s == () for s in shapes[1:]) and shapes[0] != ()
        if not number and () in shapes:
            continue
        for first, second in NUMBERS if number else PAIRS:
            if first not in known or second not in known:
                continue
            to = common(first, second)
            if number:  # a 0-d operand counts only where its kind is a higher one
                to = first if KINDS.index(kind(second)) <= KINDS.index(kind(first)) else second
            call = mixed(case, first, second)
            (args, kwargs), (same_args, same_kwargs) = call(None), call(to)
            got, want = flat(run(*args, **kwargs)), flat(run(*same_args, **same_kwargs))
            assert same_bits(got, want), (
                where(record, case, first, second) + f"{got}; in {to}, which holds both, {want}"
            )
