"""Columns that were given another type: what old values become, and what is refused."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

from drawstring.data.conform import conform, widen
from drawstring.errors import CorruptFileError, SchemaError

_TIMES = ["2024-02-28 23:59:59.12", "1969-12-31 23:59:59.999999", None]


def widened(values, source, target, **arguments):
    schema = pa.schema([pa.field("v", target)])
    table = pa.table({"v": pa.array(values, source)})
    return widen(table, schema, path="f.parquet", **arguments).column("v").to_pylist()


@pytest.mark.parametrize(
    ("values", "source", "target", "expected"),
    [
        ([5, -7, None], pa.int32(), pa.decimal128(12, 2), [Decimal("5.00"), Decimal("-7.00"), None]),
        ([5, -7, None], pa.int64(), pa.decimal128(20, 4), [Decimal("5.0000"), Decimal("-7.0000"), None]),
        (
            [1.005, -2.5, 1e-40],
            pa.float64(),
            pa.decimal128(20, 2),
            [Decimal("1.01"), Decimal("-2.50"), Decimal("0.00")],
        ),
        ([0.1], pa.float32(), pa.decimal128(20, 9), [Decimal("0.100000000")]),
        (["1.005", "-7", None], pa.string(), pa.decimal128(20, 2), [Decimal("1.01"), Decimal("-7.00"), None]),
        ([Decimal("12.3400")], pa.decimal128(10, 4), pa.string(), ["12.3400"]),
        ([dt.date(2020, 1, 2), None], pa.date32(), pa.string(), ["2020-01-02", None]),
        (["2020-01-02", None], pa.string(), pa.date32(), [dt.date(2020, 1, 2), None]),
        ([1709164799_120000, -1, None], pa.timestamp("us", "UTC"), pa.string(), _TIMES),
        ([1709164800_000], pa.timestamp("ms"), pa.string(), ["2024-02-29 00:00:00"]),
    ],
)
def test_old_values_are_read_in_the_type_that_their_column_was_given(values, source, target, expected):
    assert widened(values, source, target) == expected


@pytest.mark.parametrize(
    ("values", "source", "target"),
    [
        ([10**18], pa.int64(), pa.decimal128(20, 4)),
        (["one"], pa.string(), pa.decimal128(20, 4)),
        (["yesterday"], pa.string(), pa.date32()),
        ([float("nan")], pa.float64(), pa.decimal128(20, 4)),
        ([1e30], pa.float64(), pa.decimal128(20, 4)),
    ],
)
def test_a_value_that_does_not_fit_the_new_type_is_named(values, source, target):
    with pytest.raises(CorruptFileError, match="'v' has values of type"):
        widened(values, source, target)


def test_a_float_of_a_base_file_keeps_its_digits_where_it_became_a_double():
    assert widened([0.1, None], pa.float32(), pa.float64()) == [0.1, None]


def test_a_float_of_a_log_record_stays_the_same_number():
    assert widened([0.1], pa.float32(), pa.float64(), in_log=True) == [0.10000000149011612]


def test_a_float_inside_another_value_stays_the_same_number():
    lists = widened([[0.1]], pa.list_(pa.float32()), pa.list_(pa.float64()))
    structs = widened([{"x": 0.1}], pa.struct([("x", pa.float32())]), pa.struct([("x", pa.float64())]))
    assert (lists, structs) == ([[0.10000000149011612]], [{"x": 0.10000000149011612}])


def test_a_change_that_schema_evolution_does_not_allow_is_refused():
    with pytest.raises(CorruptFileError, match="does not hold it without loss"):
        widened([True], pa.bool_(), pa.string())


def test_what_a_caller_writes_is_not_promoted():
    with pytest.raises(SchemaError, match="does not hold it without loss"):
        conform(pa.table({"v": pa.array([1.5])}), pa.schema([pa.field("v", pa.decimal128(20, 4))]))
