"""The columns can fail: records that say what is not so are refused."""

import numpy as np
import pytest
import torch

from sweep import abuse, batch, columns, compiled, errors, fake, forms, forward, gradients, promotion, records, registry  # noqa: F401
from sweep.cases import along, binary, call, calls, unary
from sweep.record import RECORDS, T, bad, op

records.load()


def record(name, *args, **said):
    kept = RECORDS.pop(name, None)
    op(name, *args, **said)
    made = RECORDS.pop(name)
    if kept is not None:
        RECORDS[name] = kept
    return made


WRONG = [
    ("value", lambda: record("neg", unary(), lambda x: x, types="fci")),
    ("value", lambda: record("neg", unary(), np.negative, types="fc")),
    ("value", lambda: record("neg", unary(), np.negative, types="fcib")),
    ("value", lambda: record("neg", unary(), lambda x: -x.astype(float), types="fi")),
    ("value", lambda: record("sin", unary(), lambda x: np.sin(x) * (1 + 1e-4), types="f")),
    ("value", lambda: record("empty", [call([2, 3])], holds=lambda got, *a: "no", types="f")),
    ("threads", lambda: record("sin", unary(), np.cos, types="f")),
    ("meta", lambda: record("sin", unary(), np.sin, types="f", meta=False)),
    ("schema", lambda: record("_unsafe_view", [call(T(2, 3), [6])], lambda x, s: x, types="f")),
    ("vmap", lambda: record("linspace", [call(T(), 5.0, 4)], np.linspace, types="f")),
    ("vmap", lambda: record("resize_", [call(T(2, 3), [3, 2])], np.resize, types="f")),
    ("forms", lambda: record("float_power", binary(0.3, 3), np.power, types="f")),
    ("forms", lambda: record("split", [call(T(4), 2)], lambda x, n: x, types="f")),
    ("gradients", lambda: record("sin", unary(), np.sin, types="f", grad=False)),
    ("gradients", lambda: record("sign", [call(T(values=[0.0]))], np.sign, types="f")),
    ("gradients", lambda: record("bitwise_not", [call(T(2))], np.invert, types="f")),
    ("edges", lambda: record("relu", unary(), np.abs, types="f", edges=[((0,), (1,))])),
    ("promotion", lambda: record("lerp", [call(T(2), T(2), T(2))], np.add, types="f")),
    ("errors", lambda: record("cumsum", calls(), np.cumsum, types="f", errors=[bad(ValueError, T(2, 3), 5)])),
    (
        "errors",
        lambda: record("cumsum", calls(), np.cumsum, types="f", errors=[bad(IndexError, T(2, 3), 5, says="seven")]),
    ),
    ("errors", lambda: record("cumsum", along(), np.cumsum, types="f", errors=[bad(IndexError, T(2, 3), 1)])),
]


@pytest.mark.parametrize("check,wrong", WRONG, ids=[f"{c}-{i}" for i, (c, _) in enumerate(WRONG)])
def test_a_wrong_record_fails(check, wrong):
    with pytest.raises(Exception):
        columns.COLUMNS[check](wrong())


def test_every_name_is_covered_by_one_record():
    owners = registry.packets()
    assert owners["add_"] == "add" and owners["subtract"] == "sub" and owners["subtract_"] == "sub"
    assert owners["square_"] == "square" and owners["zero_"] == "zero_"


def test_compiled_calls_are_told_from_others():
    x = torch.linspace(-3, 3, 100)
    zero, nan = torch.tensor(0.0), torch.tensor(float("nan"))
    assert compiled.unlike(zero, -zero) and compiled.unlike(x, x.double()) and compiled.unlike(x, x.flip(0))
    assert compiled.unlike(nan, -nan) is None and compiled.unlike(x, x.clone()) is None
    assert compiled.check("", torch.sin, torch.sin, [x]) == "kernel" and compiled.check("", torch.sort, torch.sort, [x]) == "call"
    with pytest.raises(AssertionError):
        compiled.check("", torch.cos, torch.sin, [x])
    assert not compiled.check("", lambda t: t * t.sum().item(), lambda t: t * t.sum().item(), [x])
