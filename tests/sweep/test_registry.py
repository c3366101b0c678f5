"""Every operator has a record; what is still without one, and what is excepted, is counted."""

import pathlib

from sweep import abuse, batch, columns, compiled, errors, fake, forms, forward, gradients, promotion, records, registry  # noqa: F401
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
