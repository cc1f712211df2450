"""Spark on an object store that it has no file system for: Arrow tasks read and write, as the embedded engine does."""

from __future__ import annotations

import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import drawstring as ds
from drawstring.errors import DuplicateKeyError
from drawstring.read.view import load_snapshot
from drawstring.runtime.object_storage import ObjectStorage
from drawstring.spark import key_scans
from drawstring.spark.key_scans import held_keys
from drawstring.spark.reader import slice_ways
from drawstring.spark.scan import FILE_ROW
from drawstring.spark.types import spark_schema
from drawstring.spark.ways import Way
from drawstring_conformance.compare import difference
from drawstring_conformance.vectors import QueryType, load_case
from pyspark_drawstring import DefaultSource
from spark.golden import in_types

SCHEMA = pa.schema([("id", pa.string()), ("part", pa.string()), ("ts", pa.int64()), ("v", pa.float64())])
OPTIONS = {"drawstring.spark.embedded.max.rows": 0}


@pytest.fixture(scope="module")
def access(spark, new_location):
    """Return a session whose Python processes, those of the data source too, reach the store; the shared one stays.

    The process of Java may have started before the store did, so it does not know of it.
    """
    session = spark.newSession()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in os.environ.items():
            if name.startswith("AWS_"):
                patch.setitem(spark.sparkContext.environment, name, value)
        session.dataSource.register(DefaultSource)
        yield session


def rows(first, last, v):
    numbers = range(first, last)
    values = [(f"k{n:02}", f"p{n % 2}", n, v) for n in numbers]
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, one, strict=True)) for one in values], SCHEMA)


def plain(table):
    return sorted(tuple(row.values()) for row in table.select(SCHEMA.names).to_pylist())


@pytest.fixture(scope="module")
def written(access, new_location):
    """Return where Spark wrote a table: keys 0 to 29, of which those from 20 are of an upsert."""
    table = ds.Table.create(
        new_location(),
        SCHEMA,
        record_key="id",
        partition_by="part",
        ordering="ts",
        engine=ds.SparkEngine(access),
        options=OPTIONS,
    )
    table.bulk_insert(access.createDataFrame(rows(0, 22, 1.0)))
    table.upsert(access.createDataFrame(rows(20, 30, 2.0)))
    return table.uri


def test_what_spark_writes_to_an_object_store_each_reader_reads(access, written):
    table = ds.Table.open(written)
    embedded = table.read()
    assert plain(embedded) == plain(pa.concat_tables([rows(0, 20, 1.0), rows(20, 30, 2.0)]))
    assert difference(table.to_spark(access).toArrow(), embedded) == ""
    assert difference(access.read.format("drawstring").load(written).toArrow(), embedded) == ""


def test_conditions_and_columns_are_the_embedded_reader_s(access, written):
    query = {"columns": ["id", "v"], "filter": [("v", "=", 2.0), ("part", "=", "p1")]}
    table = ds.Table.open(written)
    answer = table.to_spark(access, **query).toArrow()
    assert answer.num_rows == 5
    assert difference(answer, table.read(**query)) == ""


def test_keys_that_the_table_holds_are_found_there(access, written):
    table = ds.Table.open(written, engine=ds.SparkEngine(access), options=OPTIONS)
    with pytest.raises(DuplicateKeyError, match="'k29' in 'p1'"):
        table.bulk_insert(access.createDataFrame(rows(29, 31, 3.0)))


def test_a_merge_on_read_table_of_java_s_is_read_by_arrow_tasks(access, new_location, tmp_path):
    case, location = load_case("mor_event_time_ordering"), new_location()
    folder, storage = case.extract(tmp_path / case.name), ObjectStorage(location)
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        storage.put(path.relative_to(folder).as_posix(), path.read_bytes())
    table = ds.Table.open(location)
    last = [query for query in case.queries if query.type is QueryType.SNAPSHOT][-1]
    expected = pq.read_table(last.expected)
    assert {(one.way, one.reason) for one in slice_ways(table._refreshed(), access)} == {
        (Way.ARROW, f"Spark has no file system for {location}")
    }
    assert difference(in_types(table.to_spark(access, as_of=last.as_of).toArrow(), expected.schema), expected) == ""


def test_tasks_read_the_keys_that_spark_scans(spark, table_uri, monkeypatch):
    table = ds.Table.create(table_uri, SCHEMA, record_key="id", partition_by="part", ordering="ts")
    keys = [f"k{n}" for n in range(140_001)]  # of several batches each
    parts = [f"p{n % 2}" for n in range(len(keys))]
    table.bulk_insert(pa.table([keys, parts, range(len(keys)), [0.0] * len(keys)], schema=SCHEMA))
    context = table._refreshed()
    files = load_snapshot(context).base_files()
    later = pa.field("later", pa.timestamp("us", "UTC"))
    columns = spark_schema(pa.schema([pa.field("_hoodie_record_key", pa.string()), SCHEMA.field("ts"), later]))

    def held():
        return held_keys(spark, context.ports.storage, files, columns, rows=True)

    scanned = held()
    monkeypatch.setattr(key_scans, "opens", lambda *_: False)
    read = held()
    assert len(files) == 2
    assert "MapInArrow" in read._jdf.queryExecution().toString()
    assert read.schema.names == scanned.schema.names
    order = [("_hoodie_record_key", "ascending")]
    answers = [frame.toArrow().sort_by(order).combine_chunks() for frame in (read, scanned)]
    assert answers[0].column(FILE_ROW).to_pylist()[:1] == [0]
    assert answers[0].cast(answers[1].schema).equals(answers[1])
