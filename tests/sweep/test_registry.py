"""Every operator has a record; what is still without one, and what is excepted, is counted."""

import pathlib

import pytest

from sweep import abuse, batch, columns, compiled, errors, fake, forms, forward, gradients, promotion, records, registry  # noqa: F401
from sweep.not_followed import NOT_FOLLOWED
from sweep.record import RECORDS

records.load()
MISSING = pathlib.Path(__file__).with_name("missing.txt")
EXCEPTED = 0.03


def missing():
    return MISSING.read_text().split() if MISSING.exists() else []


def test_every_operator_has_a_record():
    without = set(registry.owners()) - set(RECORDS)
    new = sorted(without - set(missing()))
    assert not new, f"operators without a record in tests/sweep/records/: {new}"


def test_missing_names_operators_without_a_record():
    stale = [n for n in missing() if n in RECORDS or n not in registry.owners()]
    assert not stale, f"take these out of missing.txt: {stale}"


def test_records_name_operators():
    assert not set(RECORDS) - set(registry.owners()), "records of what is no operator, or only another's form or name"


def test_exceptions_are_few_and_have_reasons():
    excepted = {n: r.skip for n, r in RECORDS.items() if r.skip}
    for name, skip in excepted.items():
        for check, reason in skip.items():
            assert check in columns.COLUMNS and len(reason) > 10, f"{name}: {check}: {reason!r}"
    assert len(excepted) <= EXCEPTED * len(registry.owners()), sorted(excepted)


def test_what_is_not_followed_is_named_with_a_reason():
    """Each entry is an operator with a record, or a form of one; the column itself fails where an entry is followed."""
    for name, reason in NOT_FOLLOWED.items():
        owner = name.removesuffix(" backward").removesuffix(".out")
        assert owner in RECORDS, f"{name}: no operator with a record"
        assert len(reason) > 10, name
    assert len([n for n in NOT_FOLLOWED if n in RECORDS]) <= 0.09 * len(RECORDS)


def test_the_column_of_the_compiler_can_fail(monkeypatch):
    monkeypatch.setitem(NOT_FOLLOWED, "sin", "because of a test")
    with pytest.raises(AssertionError, match="because of a test"):
        compiled.compiled(RECORDS["sin"])
    for name in ("nonzero", "masked_scatter backward", "histc.out"):
        monkeypatch.delitem(NOT_FOLLOWED, name)
        with pytest.raises(AssertionError, match="gives no reason"):
            compiled.compiled(RECORDS[name.removesuffix(" backward").removesuffix(".out")])
