"""Presence and absence of public names: ours against the recorded table of the reference."""

import importlib.util
import pathlib
import warnings

import torch

from sweep import records
from sweep.record import RECORDS

HERE = pathlib.Path(__file__).parent
SPEC = importlib.util.spec_from_file_location("record_names", HERE.parents[1] / "tools" / "record_names.py")
record_names = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(record_names)
TABLE = dict(line.split() for line in (HERE / "names.txt").read_text().splitlines())
# Operators of ours whose names differ, and why.
OUT = "its out= form, there in torch.ops.aten alone, is public here"
DIFFERENT = {
    name: OUT
    for name in (
        "as_strided_scatter celu clone constant_pad_nd count_nonzero diag_embed diagonal_scatter flip prod relu roll rot90 rsub "
        "select_scatter sum trace"
    ).split()
} | {
    "_adaptive_avg_pool2d": "without a name in torch, as the one-dimensional one there",
    "_adaptive_avg_pool3d": "without a name in torch, as the one-dimensional one there",
    "_conj_physical": "another name of conj_physical, with all its forms",
    "index": "indexing is what the method is for",
    "_foreach_copy": "the functional form of _foreach_copy_ is in torch like the others",
    "_foreach_zero": "the functional form of _foreach_zero_ is in torch like the others",
}

records.load()


def ours():
    """Operators that the reference has as well; in-place names have rows of their own."""
    return [n for n in torch._C._op_names() if n in TABLE]


def differs(name):
    """None, or our flags and the reference's. Whether out= is taken counts where both have tried it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        have, want = set(record_names.flags(torch, name, RECORDS.get(name))) - {"-"}, set(TABLE[name]) - {"-"}
    if not (have & set("ox") and want & set("ox")):
        have, want = have - set("ox"), want - set("ox")
    return None if have == want else f"{''.join(sorted(have))!r}, the reference has {''.join(sorted(want))!r}"


def test_names_are_those_of_the_reference():
    wrong = [f"{name}: {said}" for name in ours() if name not in DIFFERENT and (said := differs(name))]
    assert not wrong, "\n".join(wrong)


def test_differences_are_real_and_have_reasons():
    for name, reason in DIFFERENT.items():
        assert len(reason) > 10 and differs(name), name
    assert len(DIFFERENT) <= 0.03 * len(ours())
