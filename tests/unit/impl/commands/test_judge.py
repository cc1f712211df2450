"""The judge knows an upsert, a delete and a wrong answer when it sees one."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("pandas", reason="the demo's extra is not installed")

from drawstring.commands.judge import Expected

_SCHEMA = pa.schema(
    [
        ("year", pa.int64()),
        ("month", pa.int64()),
        ("day", pa.int64()),
        ("carrier", pa.string()),
        ("flight", pa.int64()),
        ("origin", pa.string()),
        ("arr_delay", pa.int64()),
        ("revision", pa.int32()),
    ]
)


def _rows(*rows: dict[str, Any]) -> pa.Table:
    whole = [{"year": 2013, "month": 1, "day": 1, "carrier": "UA", "origin": "EWR", "revision": 0, **r} for r in rows]
    return pa.Table.from_pylist(whole, schema=_SCHEMA)


def test_an_answer_that_is_right_has_no_difference() -> None:
    rows = _rows({"flight": 1, "arr_delay": 10}, {"flight": 2, "arr_delay": None})

    assert Expected.of(rows).difference(rows.take([1, 0])) is None


@pytest.mark.parametrize(
    "wrong",
    [
        _rows({"flight": 1, "arr_delay": 10}),
        _rows({"flight": 1, "arr_delay": 10}, {"flight": 2, "arr_delay": 21}),
        _rows({"flight": 1, "arr_delay": 10}, {"flight": 2, "arr_delay": None}),
        _rows({"flight": 1, "arr_delay": 10}, {"flight": 2, "arr_delay": 20}, {"flight": 2, "arr_delay": 20}),
        _rows({"flight": 1, "arr_delay": 10}, {"flight": 2, "arr_delay": 20}).drop_columns(["arr_delay"]),
        _rows({"flight": 1, "arr_delay": 10}, {"flight": 2, "arr_delay": 20}).drop_columns(["flight"]),
    ],
    ids=[
        "a row missing",
        "a value changed",
        "a value unknown",
        "a row twice",
        "a column missing",
        "a key column missing",
    ],
)
def test_an_answer_that_is_wrong_has_a_difference(wrong: pa.Table) -> None:
    expected = Expected.of(_rows({"flight": 1, "arr_delay": 10}, {"flight": 2, "arr_delay": 20}))

    assert expected.difference(wrong) is not None


def test_an_upsert_replaces_by_key_and_adds_the_rest() -> None:
    expected = Expected.of(_rows({"flight": 1, "arr_delay": 10}))

    after = expected.after_upsert(_rows({"flight": 1, "arr_delay": 11, "revision": 1}, {"flight": 2, "arr_delay": 20}))

    wanted = _rows({"flight": 1, "arr_delay": 11, "revision": 1}, {"flight": 2, "arr_delay": 20})
    assert after.difference(wanted) is None


def test_an_upsert_with_an_older_revision_changes_nothing() -> None:
    first = _rows({"flight": 1, "arr_delay": 10, "revision": 3})

    after = Expected.of(first).after_upsert(_rows({"flight": 1, "arr_delay": 99, "revision": 2}))

    assert after.difference(first) is None


def test_a_delete_takes_its_keys_away_and_no_others() -> None:
    expected = Expected.of(_rows({"flight": 1, "arr_delay": 10}, {"flight": 2, "arr_delay": 20}))

    after = expected.after_delete(_rows({"flight": 2}, {"flight": 7}))

    assert after.difference(_rows({"flight": 1, "arr_delay": 10})) is None


def test_unknown_delays_do_not_count_in_the_mean() -> None:
    expected = Expected.of(_rows({"flight": 1, "arr_delay": 10}, {"flight": 2, "arr_delay": None}))

    assert expected.mean_delay_by_carrier() == {"UA": 10.0}
