"""Rows as JSON texts: what Python's own parser makes of them is the row."""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawstring.data.json_text import rows_as_json
from drawstring.errors import SchemaError

STRUCT = pa.struct([("x", pa.int32()), ('q"', pa.list_(pa.string()))])


def parsed(table: pa.Table) -> list[dict]:
    return [json.loads(text) for text in rows_as_json(table).to_pylist()]


def one(values, kind) -> list:
    return [row["c"] for row in parsed(pa.table({"c": pa.array(values, kind)}))]


@given(st.lists(st.none() | st.text(st.characters(codec="utf-8"), max_size=8), max_size=6))
def test_texts_come_back_as_they_were(values):
    assert one(values, pa.string()) == values


@given(st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), max_size=6))
def test_numbers_come_back_with_all_their_digits(values):
    assert one(values, pa.int64()) == values


@given(st.lists(st.none() | st.floats(allow_nan=False, allow_infinity=False), max_size=6))
def test_floats_come_back_exactly(values):
    assert one(values, pa.float64()) == values


@given(
    st.lists(
        st.none()
        | st.fixed_dictionaries(
            {
                "x": st.none() | st.integers(-5, 5),
                'q"': st.none() | st.lists(st.none() | st.text(st.sampled_from('a"\\\n\x00'), max_size=3), max_size=3),
            }
        ),
        max_size=5,
    ),
    st.integers(0, 2),
)
def test_nested_values_come_back_from_any_slice(values, start):
    array = pa.array(values, STRUCT).slice(start)
    assert parsed(pa.table({"c": array})) == [{"c": value} for value in values[start:]]


def test_each_type_has_its_form():
    table = pa.table(
        {
            "bool": [True, None],
            "bytes": [b"\x00\xff", None],
            "fixed": pa.array([b"ab", None], pa.binary(2)),
            "date": pa.array([dt.date(1969, 12, 31), None]),
            "micros": pa.array([1_500, None], pa.timestamp("us", "UTC")),
            "millis": pa.array([2, None], pa.timestamp("ms")),
            "time": pa.array([3, None], pa.time64("us")),
            "decimal": pa.array([decimal.Decimal("-1.50"), None], pa.decimal128(30, 2)),
            "map": pa.array([[("k", [1]), ('"', None)], None], pa.map_(pa.string(), pa.list_(pa.int8()))),
            "dictionary": pa.array(["d", None]).dictionary_encode(),
            "null": pa.nulls(2),
        }
    )
    full, empty = rows_as_json(table).to_pylist()
    assert json.loads(full, parse_float=decimal.Decimal) == {
        "bool": True,
        "bytes": base64.b64encode(b"\x00\xff").decode(),
        "fixed": base64.b64encode(b"ab").decode(),
        "date": -1,
        "micros": 1_500,
        "millis": 2,
        "time": 3,
        "decimal": decimal.Decimal("-1.50"),
        "map": {"k": [1], '"': None},
        "dictionary": "d",
        "null": None,
    }
    assert json.loads(empty) == dict.fromkeys(table.column_names)


def test_what_json_has_no_number_for_is_a_text():
    assert one([float("nan"), float("inf"), float("-inf"), 0.5], pa.float32()) == ["NaN", "Infinity", "-Infinity", 0.5]


def test_rows_without_columns_are_empty_objects():
    assert rows_as_json(pa.table({"c": [1, 2]}).select([])).to_pylist() == ["{}", "{}"]
    assert rows_as_json(pa.table({"c": pa.array([], pa.int8())})).to_pylist() == []


def test_a_type_without_a_form_is_refused():
    with pytest.raises(SchemaError, match="month_day_nano"):
        rows_as_json(pa.table({"c": pa.array([None], pa.month_day_nano_interval())}))


def test_whole_numbers_of_floating_columns_are_told_from_integers():
    texts = rows_as_json(pa.table({"c": [50.0, -0.0, 1e20, 0.5]})).to_pylist()
    assert [type(json.loads(text)["c"]) for text in texts] == [float] * 4
    assert texts[:2] == ['{"c":50.0}', '{"c":-0.0}']
