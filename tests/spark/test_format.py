"""``format("drawstring")``: reads and writes with no call before, and with Hudi's own option keys."""

from __future__ import annotations

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


def test_a_read_has_the_columns_and_rows_of_the_embedded_reader(save, load, frame, table_uri):
    save(frame(FIRST), "bulk_insert")
    answer = load().toArrow()
    expected = ds.Table.open(table_uri).read()
    assert answer.schema == expected.schema
    assert answer.sort_by("id") == expected.sort_by("id")


def test_a_read_goes_back_in_time(save, load, frame, table_uri):
    save(frame([("a", "p", 1, 1.0)]), "bulk_insert")
    then = ds.Table.open(table_uri).timeline().completed_writes[0].requested_time
    save(frame([("a", "p", 2, 2.0)]), "upsert")
    assert rows_in(load(**{"as.of.instant": then})) == [("a", "p", 1, 1.0)]


def test_staged_rows_do_not_stay(save, frame, table_uri):
    save(frame(FIRST), "bulk_insert")
    assert open_storage(table_uri).list(".hoodie/.temp", recursive=True) == []


def test_an_unknown_option_is_refused_by_name_when_reading(save, load, frame):
    save(frame(FIRST), "bulk_insert")
    with pytest.raises(PySparkException, match=r"hoodie\.unheard\.of"):
        load(**{"hoodie.unheard.of": "1"}).collect()


def test_an_unknown_option_is_refused_by_name_when_writing(save, frame, table_uri):
    with pytest.raises(PySparkException, match=r"hoodie\.unheard\.of"):
        save(frame(FIRST), "bulk_insert", **{"hoodie.unheard.of": "1"})
    assert open_storage(table_uri).list("", recursive=True) == []


def test_overwriting_is_refused_by_name(save, frame, load):
    save(frame(FIRST), "bulk_insert")
    with pytest.raises(PySparkException, match="overwrite"):
        save(frame(FIRST[:1]), "bulk_insert", mode="overwrite")
    assert rows_in(load()) == FIRST


def test_a_write_that_is_too_large_for_one_process_is_refused_with_the_way_out(save, frame, load):
    save(frame(FIRST), "bulk_insert")
    with pytest.raises(PySparkException, match="SparkEngine"):
        save(frame([("d", "p", 1, 1.0)]), "upsert", **{"drawstring.spark.staged.max.bytes": "1"})
    assert rows_in(load()) == FIRST


def test_a_failing_frame_writes_nothing_and_leaves_nothing_staged(save, frame, load, table_uri):
    save(frame(FIRST), "bulk_insert")
    failing = frame(FIRST).selectExpr("id", "part", "cast(raise_error('no') as bigint) ts", "v")
    with pytest.raises(PySparkException):
        save(failing, "upsert")
    assert rows_in(load()) == FIRST
    assert open_storage(table_uri).list(".hoodie/.temp", recursive=True) == []


def test_a_key_that_the_table_holds_is_refused_by_an_insert(save, frame, load):
    save(frame(FIRST), "bulk_insert")
    with pytest.raises(PySparkException, match="'a' in 'p'"):
        save(frame([("a", "p", 9, 9.0)]), "insert")
    assert rows_in(load()) == FIRST


def test_a_schema_that_is_not_the_tables_is_refused(save, frame, spark, table_uri):
    save(frame(FIRST), "bulk_insert")
    with pytest.raises(PySparkException, match="schema"):
        spark.read.format("drawstring").schema("id int").load(table_uri).collect()
