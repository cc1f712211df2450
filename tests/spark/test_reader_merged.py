"""Merge-on-read snapshots on Spark: base files are scanned natively, and only the rows that log files touch merged."""

from __future__ import annotations

import dataclasses
import datetime as dt
import functools
import logging
from decimal import Decimal
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import drawstring as ds
from bench.merge_on_read import append_delta_commit, make_merge_on_read
from drawstring.errors import CorruptFileError, EngineError, UnsupportedTableError
from drawstring.files import BaseFile, FileGroupId
from drawstring.ports import TaskContext
from drawstring.read.arrow_reader import query_schema, slice_query
from drawstring.read.merge_reader import read_slice, row_keys
from drawstring.read.schema import resolve_schema
from drawstring.read.view import load_snapshot
from drawstring.spark import reader, row_bits, touched
from drawstring.spark.driver_rows import rows_frame
from drawstring.spark.reader import slice_ways
from drawstring.spark.row_bits import MAX_FILES, MarkedFile
from drawstring.spark.slice_tasks import touched_rows
from drawstring.spark.types import spark_schema
from drawstring.spark.ways import Way
from drawstring_conformance.compare import difference
from spark.golden import in_types
from unit.impl.read.golden_memory import GoldenTable

SCHEMA = pa.schema([("id", pa.string()), ("part", pa.string()), ("ts", pa.int64()), ("v", pa.float64())])


def rows(*values):
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in values], schema=SCHEMA)


BASE = [(f"k{n:02}", "p" if n % 3 else "q", 10, float(n)) for n in range(40)]


@pytest.fixture
def make_merged(tmp_path):
    """Make a merge-on-read table of `BASE`, two file groups in two partitions."""

    def make(name="table", base=BASE, **options):
        path = str(tmp_path / name)
        table = ds.Table.create(
            path, SCHEMA, record_key="id", partition_by="part", ordering="ts", options=options or None
        )
        table.bulk_insert(rows(*base))
        make_merge_on_read(path)
        return path

    return make


def append(path, *values, **kinds):
    append_delta_commit(path, rows(*values), record_key="id", partition="part", **kinds)


def ways(path, spark):
    return [(one.way, one.reason) for one in slice_ways(ds.Table.open(path)._refreshed(), spark)]


def compared(path, spark, **query):
    """Say how Spark's rows differ from the embedded reader's."""
    table = ds.Table.open(path)
    return difference(table.to_spark(spark, **query).toArrow(), table.read(**query))


def test_updates_inserts_and_deletes_give_the_rows_that_the_embedded_reader_gives(make_merged, spark):
    path = make_merged()
    append(path, ("k01", "p", 11, -1.0), ("new", "q", 1, -2.0), deletes=["k02", "k03"])
    append(path, ("k04", "p", 12, -3.0), ("k01", "p", 12, -4.0))
    assert ways(path, spark) == [(Way.MERGED, "")] * 2
    assert compared(path, spark) == ""
    assert ds.Table.open(path).to_spark(spark).count() == len(BASE) + 1 - 2


def test_a_base_row_with_a_greater_ordering_value_stays(make_merged, spark):
    path = make_merged()
    append(path, ("k01", "p", 9, -1.0), ("k02", "p", 10, -2.0))
    table = ds.Table.open(path)
    found = {row["id"]: row["v"] for row in table.to_spark(spark, columns=["id", "v"]).collect()}
    assert (found["k01"], found["k02"]) == (1.0, -2.0)
    assert compared(path, spark) == ""


def test_a_partial_update_takes_the_other_columns_from_the_base_file(make_merged, spark):
    path = make_merged()
    append(path, ("k01", "p", 11, -1.0), partial=["part", "ts", "v"])
    append(path, ("k02", "p", 12, -1.0), partial=["v", "ts"])
    assert ways(path, spark)[0] == (Way.MERGED, "")
    assert compared(path, spark) == ""


@pytest.mark.parametrize(
    "query", [{"columns": ["v"]}, {"filter": [("v", "<", 5.0)]}, {"read_optimized": True}], ids=str
)
def test_columns_and_conditions_are_the_same_as_the_embedded_readers(make_merged, spark, query):
    path = make_merged()
    append(path, ("k01", "p", 11, 100.0), ("k30", "q", 11, 0.5), deletes=["k02"])
    assert compared(path, spark, **query) == ""


def test_time_travel_sees_the_log_files_of_its_time(make_merged, spark):
    path = make_merged()
    append(path, ("k01", "p", 11, -1.0))
    first = ds.Table.open(path).timeline().completed_writes[-1].requested_time
    append(path, ("k01", "p", 12, -2.0))
    assert compared(path, spark, as_of=first) == ""


def test_log_files_that_are_read_in_tasks_touch_the_same_rows(make_merged, spark, monkeypatch):
    path = make_merged()
    append(path, ("k01", "p", 11, -1.0), ("k04", "p", 9, -1.0), deletes=["k02", "k03"])
    monkeypatch.setattr(touched, "_HERE_LOG_BYTES", -1)
    assert ways(path, spark) == [(Way.MERGED, "")] * 2
    assert compared(path, spark) == ""


def plan_of(path, spark):
    return ds.Table.open(path).to_spark(spark)._jdf.queryExecution().executedPlan().toString()


def test_no_python_task_reads_what_the_driver_has_read(make_merged, spark, monkeypatch):
    path = make_merged()
    append(path, ("k01", "p", 11, -1.0), ("k04", "p", 9, -1.0), ("new", "q", 1, -2.0), deletes=["k02"])
    assert "MapInArrow" not in plan_of(path, spark)
    monkeypatch.setattr(touched, "_HERE_LOG_BYTES", -1)
    assert "MapInArrow" in plan_of(path, spark)


def test_more_rows_than_the_driver_hands_over_are_read_by_tasks(make_merged, spark, monkeypatch):
    path = make_merged()
    append(path, ("k01", "p", 11, -1.0), ("k04", "p", 9, -1.0), ("new", "q", 1, -2.0), deletes=["k02"])
    monkeypatch.setattr(touched, "HERE_ROWS_BYTES", 0)
    assert "MapInArrow" in plan_of(path, spark)
    assert compared(path, spark) == ""


def test_rows_of_every_type_that_the_driver_hands_over_are_the_same(spark):
    utc = dt.datetime(1969, 12, 31, 23, 59, 59, 999_000, dt.UTC)
    local = dt.datetime(2024, 3, 10, 2, 30, tzinfo=dt.UTC).replace(tzinfo=None)  # no such time in the session's zone
    fields = {
        "instant_ms": (pa.timestamp("ms", "UTC"), utc),
        "instant": (pa.timestamp("us", "UTC"), utc),
        "local_ms": (pa.timestamp("ms"), local),
        "local": (pa.timestamp("us"), local),
        "day": (pa.date32(), dt.date(1, 1, 1)),
        "decimal": (pa.decimal128(38, 18), Decimal("-12345678901234567890.123456789012345678")),
        "bytes": (pa.binary(), b"\0\xff"),
        "texts": (pa.list_(pa.string()), ["a", None, ""]),
        "counts": (pa.map_(pa.string(), pa.timestamp("us", "UTC")), [("a", utc), ("b", None)]),
        "nested": (pa.struct([("at", pa.list_(pa.timestamp("us"))), ("n", pa.int32())]), {"at": [local], "n": -1}),
    }
    columns = [pa.array([value, None, value], kind) for kind, value in fields.values()]
    table = pa.table(columns, names=list(fields))
    frame = rows_frame(spark, table.slice(1), spark_schema(table.schema))
    assert frame.schema == spark_schema(table.schema)
    assert difference(in_types(frame.toArrow(), table.schema), table.slice(1)) == ""


def test_rows_behind_an_empty_piece_are_handed_over_too(spark):
    one = pa.table({"n": [1]})
    pieces = pa.concat_tables([one, one.slice(1), one])
    assert [len(chunk) for chunk in pieces["n"].chunks] == [1, 0, 1]
    assert rows_frame(spark, pieces, spark_schema(one.schema)).count() == len(pieces)


def of_golden(name):
    """What the driver finds out of each slice that has log files beside its base file, and the question it is asked."""
    table = GoldenTable(name)
    context = table.context()
    snapshot = load_snapshot(context)
    schema = resolve_schema(context, snapshot.timeline, snapshot.as_of)
    query = functools.partial(slice_query, context, schema, snapshot, query_schema(context, schema))
    task = TaskContext(table.storage, 0, 0)
    queries = [query(one) for one in snapshot.slices if one.log_files and one.base_file is not None]
    return [(task, one, touched.read_replaced(task, one)) for one in queries]


WITH_POSITIONS = ["mor_event_time_ordering", "mor_basic", "cdc_mor_compaction", "no_meta_fields_mor"]


@pytest.mark.parametrize("name", WITH_POSITIONS)
def test_positions_touch_the_rows_that_keys_touch_and_no_key_is_read(name, monkeypatch):
    by_positions = of_golden(name)
    for task, query, found in by_positions:
        by_keys = touched.read_replaced(task, dataclasses.replace(query, positions=False))
        assert (found.bits, found.num_rows) == (by_keys.bits, by_keys.num_rows)
        assert difference(found.rows, by_keys.rows) == ""
    monkeypatch.setattr(touched, "row_keys", None)
    assert [found.bits for _, _, found in of_golden(name)] == [found.bits for _, _, found in by_positions]


@pytest.mark.parametrize("name", ["mor_event_time_ordering", "mor_commit_time_ordering"])
def test_a_position_behind_the_base_file_is_refused(name, monkeypatch):
    read = touched.read_base_file
    monkeypatch.setattr(touched, "open_base_file", lambda *_: SimpleNamespace(num_rows=0))
    monkeypatch.setattr(touched, "read_base_file", lambda *question: read(*question).slice(0, 0))
    with pytest.raises(CorruptFileError, match="does not have"):
        of_golden(name)


@pytest.mark.parametrize("name", [*WITH_POSITIONS, "index_record_mor", "mor_partial_update"])
def test_what_the_driver_reads_is_what_tasks_would(name):
    for task, query, found in of_golden(name):
        read = touched_rows(query, touched.read_touched(task, query), None)
        rows = read_slice(task, read.query)
        if read.without is not None:
            rows = rows.filter(pc.invert(pc.is_in(row_keys(rows, query.rules), value_set=read.without)))
        assert difference(found.rows, rows.select(query.columns.names)) == ""


def test_a_broken_log_file_is_named_when_tasks_read_it(make_merged, spark, monkeypatch, tmp_path):
    path = make_merged()
    append(path, ("k01", "p", 11, -1.0))
    log = next((tmp_path / "table" / "p").glob(".*.log.*"))
    log.write_bytes(b"no block" + log.read_bytes())
    monkeypatch.setattr(touched, "_HERE_LOG_BYTES", -1)
    with pytest.raises(CorruptFileError, match=r"\.log\."):
        ds.Table.open(path).to_spark(spark)


def test_spark_reads_only_the_columns_and_rows_that_are_asked_for(make_merged, spark):
    path = make_merged()
    append(path, ("k01", "p", 11, -1.0))
    frame = ds.Table.open(path).to_spark(spark, columns=["v", "part"]).where("v > 5 and part = 'p'").select("v")
    plan = frame._jdf.queryExecution().executedPlan().toString()
    assert "ReadSchema: struct<v:double,_tmp_metadata_row_index:bigint>" in plan
    assert "PushedFilters: [IsNotNull(v), GreaterThan(v,5.0)]" in plan
    assert "PartitionFilters: [isnotnull(part" in plan


def test_rows_that_log_files_touch_are_left_out_of_the_native_scan(make_merged, spark, monkeypatch):
    path = make_merged()
    append(path, ("k01", "p", 11, -1.0))
    monkeypatch.setattr(row_bits, "without_marked_rows", lambda spark, frame, files: frame)
    assert "k01" in compared(path, spark)  # with the bug planted, the old row is there as well


def test_a_key_that_the_base_file_has_twice_leaves_its_slice_to_arrow(make_merged, spark, tmp_path):
    path = make_merged()
    (file,) = (tmp_path / "table" / "p").glob("*.parquet")
    held = pq.read_table(file)
    pq.write_table(pa.concat_tables([held, held.slice(0, 1)]), file)
    assert held["id"][0].as_py() == "k01"
    append(path, ("k01", "p", 11, -1.0))
    assert (Way.ARROW, "its base file has a key twice") in ways(path, spark)
    assert compared(path, spark) == ""


def test_more_rows_than_the_bits_are_for_are_left_to_arrow(make_merged, spark, monkeypatch, caplog):
    path = make_merged()
    append(path, ("k01", "p", 11, -1.0), ("k00", "q", 11, -1.0))
    monkeypatch.setattr(reader, "MAX_ROWS", 30)
    with caplog.at_level(logging.DEBUG, logger="drawstring"):
        assert {way for way, _ in ways(path, spark)} == {Way.MERGED, Way.ARROW}
    assert "read arrow, since too many rows have log files beside them" in caplog.text
    assert compared(path, spark) == ""


def test_a_merger_of_the_callers_own_merges_in_tasks(make_merged, spark, tmp_path):
    path = make_merged()
    strategy = "11111111-2222-3333-4444-555555555555"
    properties = tmp_path / "table" / ".hoodie" / "hoodie.properties"
    kept = [line for line in properties.read_text().splitlines() if ".record.merge." not in line]
    own = [f"hoodie.record.merge.strategy.id={strategy}", "hoodie.record.merge.mode=CUSTOM"]
    properties.write_text("\n".join([*kept, *own]) + "\n")
    append(path, ("k01", "p", 11, 100.0), ("k00", "q", 11, 100.0))
    with pytest.raises(UnsupportedTableError, match=strategy):
        ds.Table.open(path).to_spark(spark)

    def add(older, newer):
        import pyarrow.compute as pc

        return newer.set_column(newer.schema.get_field_index("v"), "v", pc.add(older["v"], newer["v"]))

    ds.register_merger(strategy, add)
    assert ways(path, spark) == [(Way.MERGED, "")] * 2
    assert compared(path, spark) == ""
    found = ds.Table.open(path).to_spark(spark, columns=["v"], filter=[("id", "==", "k01")]).collect()
    assert [row[0] for row in found] == [101.0]


def marked(name, partition="p"):
    return MarkedFile(BaseFile(f"{partition}/{name}", FileGroupId(partition, name), "1", 1), b"")


def test_files_of_one_name_and_too_many_files_are_told_apart_by_several_conditions():
    many = [marked(f"f{n}") for n in range(MAX_FILES + 1)]
    groups = list(row_bits.groups([*many, marked("f0", "q")]))
    assert [len(group) for group in groups] == [MAX_FILES, 1, 1]
    assert all(len({one.file.name for one in group}) == len(group) for group in groups)


def test_no_two_files_share_an_entry_of_the_table_of_hashes():
    hashes = np.random.default_rng(1).integers(-(2**63), 2**63 - 1, MAX_FILES)
    size = row_bits._table_size(hashes)
    assert len(set((hashes % size).tolist())) == MAX_FILES


def test_hashes_of_file_names_are_those_that_the_scan_compares(spark):
    names = ["f", "0b2c-0_0-1-2_20240101000000000.parquet", "ä" * 40]
    frame = spark.createDataFrame([(name,) for name in names], "name string")
    in_query = [row[0] for row in frame.selectExpr("xxhash64(name)").collect()]
    assert row_bits._hashes(names).tolist() == in_query


def test_rows_that_the_driver_hands_over_say_how_many_bytes_they_are(spark):
    rows = pa.table({"n": pa.array(range(1000), pa.int64())})
    plan = rows_frame(spark, rows, spark_schema(rows.schema))._jdf.queryExecution().optimizedPlan()
    assert int(str(plan.stats().sizeInBytes())) == rows.nbytes


def test_handing_rows_over_leaves_the_callers_session_as_it_was(spark):
    before = dict(spark.conf.getAll)
    rows = pa.table({"n": [1]})
    frame = rows_frame(spark, rows, spark_schema(rows.schema))
    assert dict(spark.conf.getAll) == before
    assert frame._jdf.sparkSession().equals(spark._jsparkSession)


def test_a_row_of_a_file_without_bits_stops_the_query(make_merged, spark, monkeypatch):
    path = make_merged()
    append(path, ("k01", "p", 11, -1.0))
    hashes = row_bits._hashes
    monkeypatch.setattr(row_bits, "_hashes", lambda names: hashes([f"not {name}" for name in names]))
    monkeypatch.setattr(row_bits, "_table_size", lambda hashes: 1_000_003)
    from pyspark.errors import PySparkException

    with pytest.raises((PySparkException, EngineError), match="the file has changed since it was listed"):
        ds.Table.open(path).to_spark(spark).collect()
