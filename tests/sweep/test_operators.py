"""Every operator in every column. `pytest tests/sweep -k reduce` takes a family, `-k "sum and gradients"` one check."""

import pytest

from sweep import abuse, batch, columns, compiled, errors, fake, forms, forward, gradients, promotion, records  # noqa: F401
from sweep.record import RECORDS

records.load()
ROWS = [
    (RECORDS[name], check)
    for name in sorted(RECORDS, key=lambda n: (RECORDS[n].family, n))
    for check in columns.COLUMNS
    if check not in RECORDS[name].skip
]


@pytest.mark.filterwarnings("ignore")  # of numpy, at special values
@pytest.mark.parametrize("record,check", ROWS, ids=[f"{r.family}-{r.name}-{c}" for r, c in ROWS])
def test_operator(record, check):
    columns.COLUMNS[check](record)
