"""``format("drawstring")``: reads and writes with no call before, and with Hudi's own option keys."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException

import drawstring as ds
from drawstring.runtime import open_storage

HUDI = {
    "hoodie.table.name": "trips",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "part",
    "hoodie.datasource.write.precombine.field": "ts",
}


@pytest.fixture
def save(table_uri):
    def write(frame, operation, mode="append", **options):
        writer = frame.write.format("drawstring").options(**HUDI, **options)
        writer.option("hoodie.datasource.write.operation", operation).mode(mode).save(table_uri)

    return write


@pytest.fixture
def load(spark, table_uri):
    def read(**options):
        return spark.read.format("drawstring").options(**options).load(table_uri)

    return read


def rows_in(frame):
    return sorted(map(tuple, frame.select("id", "part", "ts", "v").collect()))


FIRST = [("a", "p", 1, 1.0), ("b", "q", 1, 1.0), ("c", "q", 1, 1.0)]


def test_every_operation_of_hudi_works_through_the_format(save, load, frame, table_uri):
    save(frame(FIRST, partitions=2), "bulk_insert")
    save(frame([("a", "p", 2, 2.0), ("d", "p", 1, 1.0)]), "upsert")
    save(frame([("e", "p", 1, 1.0)]), "insert")
    save(frame([("b", "q", 0, 0.0)]), "delete")
    expected = [("a", "p", 2, 2.0), ("c", "q", 1, 1.0), ("d", "p", 1, 1.0), ("e", "p", 1, 1.0)]
    assert rows_in(load()) == expected
    table = ds.Table.open(table_uri)
    assert len(table.timeline().completed_writes) == 4
    assert table.config.name == "trips"
    assert open_storage(table_uri).list(".hoodie/.temp", recursive=True) == []


def test_a_read_has_the_columns_and_rows_of_the_embedded_reader(embedded_table, load):
    answer = load().toArrow()
    expected = embedded_table.read()
    assert answer.schema == expected.schema
    assert answer.sort_by("id") == expected.sort_by("id")


def test_a_read_goes_back_in_time(embedded_table, load):
    then = embedded_table.timeline().completed_writes[0].requested_time
    embedded_table.delete(["a", "b", "c"])
    assert rows_in(load(**{"as.of.instant": then})) == FIRST


def test_an_unknown_option_is_refused_by_name_when_writing(save, frame, table_uri):
    with pytest.raises(PySparkException, match=r"hoodie\.unheard\.of"):
        save(frame(FIRST), "bulk_insert", **{"hoodie.unheard.of": "1"})
    assert open_storage(table_uri).list("", recursive=True) == []


def test_overwriting_is_refused_by_name(embedded_table, frame, rows_of, table_uri):
    with pytest.raises(PySparkException, match="overwrite"):
        frame(FIRST[:1]).write.format("drawstring").mode("overwrite").save(table_uri)
    assert rows_of(embedded_table) == FIRST


def test_a_write_that_is_too_large_for_one_process_is_refused_with_the_way_out(embedded_table, frame, rows_of, save):
    with pytest.raises(PySparkException, match="SparkEngine"):
        save(frame([("d", "p", 1, 1.0)]), "upsert", **{"drawstring.spark.staged.max.bytes": "1"})
    assert rows_of(embedded_table) == FIRST


def test_a_failing_frame_writes_nothing_and_leaves_nothing_staged(embedded_table, save, frame, rows_of, table_uri):
    failing = frame(FIRST).selectExpr("id", "part", "cast(raise_error('made to fail') as bigint) ts", "v")
    with pytest.raises(PySparkException, match="made to fail"):
        save(failing, "upsert")
    assert rows_of(embedded_table) == FIRST
    assert open_storage(table_uri).list(".hoodie/.temp", recursive=True) == []


@pytest.fixture
def embedded_table(table_uri):
    """A table that the format finds there, made without it."""
    schema = pa.schema([("id", pa.string()), ("part", pa.string()), ("ts", pa.int64()), ("v", pa.float64())])
    name = {"hoodie.table.name": HUDI["hoodie.table.name"]}
    table = ds.Table.create(table_uri, schema, record_key="id", partition_by="part", ordering="ts", options=name)
    table.bulk_insert(pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in FIRST], schema=schema))
    return table


def test_an_unknown_option_is_refused_by_name_when_reading(embedded_table, load):
    with pytest.raises(PySparkException, match=r"hoodie\.unheard\.of"):
        load(**{"hoodie.unheard.of": "1"})


def test_a_key_that_the_table_holds_is_refused_by_an_insert(embedded_table, frame, rows_of, table_uri):
    insert = frame([("a", "p", 9, 9.0)]).write.format("drawstring").mode("append")
    with pytest.raises(PySparkException, match="'a' in 'p'"):
        insert.option("hoodie.datasource.write.operation", "insert").save(table_uri)
    assert rows_of(embedded_table) == FIRST


def test_a_schema_that_is_not_the_tables_is_refused(embedded_table, spark, table_uri):
    with pytest.raises(PySparkException, match="schema"):
        spark.read.format("drawstring").schema("id int").load(table_uri).collect()
