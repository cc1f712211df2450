"""Rows on their way from this process to Spark: in pieces that Spark's conversion of Arrow can take apart."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import _check_arrow_table_timestamps_localize as taken_apart

from drawstring.spark.slice_tasks import in_fresh_pieces
from drawstring.spark.types import spark_schema

NOON = dt.datetime(2024, 1, 1, 12, tzinfo=dt.UTC)
INSTANT = pa.timestamp("us", "UTC")
NESTED = {
    "map": (pa.map_(pa.string(), INSTANT), [("a", NOON)]),
    "list": (pa.list_(INSTANT), [NOON, None]),
    "struct of a map": (pa.struct([("m", pa.map_(pa.string(), INSTANT))]), {"m": [("a", None)]}),
    "list of lists": (pa.list_(pa.list_(pa.int32())), [[1], None, []]),
}


def slice_of(name):
    kind, value = NESTED[name]
    return pa.table({"c": pa.array([value, None, value, None], kind)}).slice(1, 2)


@pytest.mark.parametrize("name", NESTED)
def test_a_slice_of_a_nested_column_with_nulls_is_taken_apart_and_put_together(name):
    rows = in_fresh_pieces(slice_of(name))
    assert taken_apart(rows, spark_schema(rows.schema), timezone="UTC").to_pylist() == slice_of(name).to_pylist()


@pytest.mark.parametrize("name", ["map", "list", "list of lists"])
def test_spark_still_cannot_take_a_single_slice_apart(name):
    rows = slice_of(name).combine_chunks()
    with pytest.raises(pa.ArrowNotImplementedError, match="slice not supported"):
        taken_apart(rows, spark_schema(rows.schema), timezone="UTC")


def test_pieces_become_one_whose_rows_are_in_order():
    one = pa.table({"n": [1, 2]})
    rows = in_fresh_pieces(pa.concat_tables([one, one.slice(2), one.slice(1)]))
    assert [chunk.to_pylist() for chunk in rows["n"].chunks] == [[1, 2, 2]]


def test_a_table_without_rows_keeps_its_columns():
    rows = in_fresh_pieces(pa.schema([("n", pa.int32())]).empty_table())
    assert (rows.schema, rows.num_rows) == (pa.schema([("n", pa.int32())]), 0)
