"""Constants handed to the Java process as bytes: it reads from them what was put in."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame

from drawstring.spark import unsafe_rows
from drawstring.spark.types import spark_schema

COLUMNS = {
    "text": (pa.string(), ["plain", "", "eight888", "späße 🎉 / =%", None]),
    "flag": (pa.bool_(), [True, False, None]),
    "tiny": (pa.int8(), [-128, 127, None]),
    "short": (pa.int16(), [-32768, 32767, None]),
    "number": (pa.int32(), [-(2**31), 2**31 - 1, 0, None]),
    "long": (pa.int64(), [-(2**63), 2**63 - 1, None]),
    "single": (pa.float32(), [1.5, float("-inf"), None]),
    "double": (pa.float64(), [-0.25, 5e-324, None]),
    "day": (pa.date32(), [dt.date(1, 1, 1), dt.date(1969, 12, 31), dt.date(9999, 12, 31), None]),
    "cents": (pa.decimal128(18, 2), [Decimal("-9999999999999999.99"), Decimal("0.01"), None]),
    "wide": (pa.decimal128(38, 5), [Decimal(f"{'9' * 33}.99999"), Decimal("-1.28000"), Decimal("0.00127"), None]),
}
"""Values of each type that a folder's name may stand for."""


def read_by_java(spark, rows, structure):
    """Rows of Spark's own binary form, as Spark itself converts them."""
    session = spark._jsparkSession
    jvm = spark.sparkContext._jvm
    java_schema = jvm.org.apache.spark.sql.types.DataType.fromJson(structure.json())
    local = jvm.org.apache.spark.sql.catalyst.plans.logical.LocalRelation(
        jvm.org.apache.spark.sql.catalyst.types.DataTypeUtils.toAttributes(java_schema),
        jvm.org.apache.spark.api.python.PythonUtils.toSeq(list(rows)),
        False,
        jvm.scala.Option.empty(),
    )
    frame = jvm.org.apache.spark.sql.classic.Dataset.ofRows(session, local)
    return [tuple(row) for row in DataFrame(frame, spark).collect()]


@pytest.mark.parametrize("name", COLUMNS)
def test_java_reads_the_values_that_were_given(spark, name):
    kind, values = COLUMNS[name]
    structure = spark_schema(pa.schema([(name, kind)]))

    found = read_by_java(spark, unsafe_rows.rows(spark, structure, [[pa.scalar(v, kind)] for v in values]), structure)

    assert found == [(value,) for value in values]


def test_rows_of_many_columns_have_each_value_in_its_place(spark):
    schema = pa.schema([(f"{name}{n}", kind) for n in range(7) for name, (kind, _) in COLUMNS.items()])
    assert len(schema) > 64, "so that the bits of nulls take more than a word"
    given = [[values[row % len(values)] for _ in range(7) for _, values in COLUMNS.values()] for row in range(70)]
    scalars = [[pa.scalar(v, field.type) for v, field in zip(row, schema, strict=True)] for row in given]

    found = read_by_java(spark, unsafe_rows.rows(spark, spark_schema(schema), scalars), spark_schema(schema))

    assert found == [tuple(row) for row in given]


def test_a_value_that_no_folder_can_name_is_refused(spark):
    structure = spark_schema(pa.schema([("raw", pa.binary())]))
    with pytest.raises(TypeError, match="binary"):
        unsafe_rows.rows(spark, structure, [[pa.scalar(b"x")]])
