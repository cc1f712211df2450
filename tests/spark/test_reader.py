"""Snapshots as Spark DataFrames: the same answers as the embedded reader's, scanned by Spark's own reader."""

from __future__ import annotations

import datetime as dt
import decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

import drawstring as ds
from bench.merge_on_read import append_delta_commit, make_merge_on_read
from drawstring.errors import InputError, SchemaError, TimeTravelError
from drawstring.spark.reader import slice_ways
from drawstring.spark.ways import Way
from drawstring_conformance.compare import difference
from spark.golden import in_types

TYPED = pa.schema(
    [
        ("id", pa.string()),
        ("day", pa.date32()),
        ("flag", pa.bool_()),
        ("small", pa.int32()),
        ("amount", pa.decimal128(12, 3)),
        ("ratio", pa.float64()),
        ("at", pa.timestamp("us", "UTC")),
        ("wall", pa.timestamp("us")),
        ("raw", pa.binary()),
        ("tags", pa.list_(pa.string())),
        ("counts", pa.map_(pa.string(), pa.int64())),
        ("inner", pa.struct([("a", pa.int64()), ("b", pa.list_(pa.struct([("c", pa.date32())])))])),
    ]
)


def typed_rows():
    rows = [
        {
            "id": f"k{n}",
            "day": dt.date(2024, 1, 1 + n % 2),
            "flag": n % 2 == 0,
            "small": n,
            "amount": decimal.Decimal(n) / 8,
            "ratio": [0.5, float("nan"), -0.0, None][n % 4],
            "at": dt.datetime(2024, 3, 10, 2, 30, n, 123456, tzinfo=dt.UTC),
            "wall": dt.datetime(1969, 12, 31, 23, 59, n, 5),  # noqa: DTZ001 -- a wall clock has no zone
            "raw": bytes([0, n, 255]),
            "tags": ["x", "y"][: n % 3],
            "counts": {"one": n, "none": None},
            "inner": {"a": n, "b": [{"c": dt.date(1900, 1, 1)}, {"c": None}]},
        }
        for n in range(6)
    ]
    rows.append({**dict.fromkeys(TYPED.names), "id": "nulls", "day": dt.date(2024, 1, 1)})
    return pa.Table.from_pylist(rows, schema=TYPED)


def typed_frame(spark, rows):
    """Make a DataFrame; without a schema Spark would take a wall clock for an instant in the session's zone."""
    from drawstring.spark.types import spark_schema

    return spark.createDataFrame(rows, spark_schema(TYPED))


@pytest.fixture(scope="module")
def typed_tables(spark, tmp_path_factory):
    """One dataset with every type, written by both engines."""
    folder = tmp_path_factory.mktemp("typed")
    tables = {}
    for name, engine in (("embedded", ds.EmbeddedEngine()), ("spark", ds.SparkEngine(spark))):
        table = ds.Table.create(
            str(folder / name),
            TYPED,
            record_key="id",
            partition_by="day",
            engine=engine,
            options={"drawstring.spark.embedded.max.rows": 0, "hoodie.table.name": "typed"},
        )
        rows = typed_rows()
        table.bulk_insert(typed_frame(spark, rows) if name == "spark" else rows)
        table.upsert(typed_frame(spark, rows.slice(0, 2)) if name == "spark" else rows.slice(0, 2))
        tables[name] = table
    return tables


@pytest.mark.parametrize("writer", ["embedded", "spark"])
@pytest.mark.parametrize("reader", ["embedded", "spark"])
def test_every_type_is_the_same_whichever_engine_writes_and_reads(typed_tables, spark, writer, reader):
    table = typed_tables[writer]
    if reader == "embedded":
        answer = table.read(meta_columns=False)
    else:
        answer = in_types(table.to_spark(spark, meta_columns=False).toArrow(), TYPED)
    assert difference(answer, typed_rows()) == ""


def test_both_engines_write_the_same_columns_into_their_files(typed_tables, tmp_path):
    schemas = []
    for table in typed_tables.values():
        file = table.file_slices()[0].base_file
        path = f"{table.uri.removeprefix('file://')}/{file.path}"
        schemas.append(pq.ParquetFile(path).schema)
    assert schemas[0] == schemas[1]


CONDITIONS = [
    [("small", ">", 3)],
    [("flag", "==", True)],
    [("day", "==", dt.date(2024, 1, 2))],
    [("at", ">=", dt.datetime(2024, 3, 10, 2, 30, 3, tzinfo=dt.UTC))],
    [("wall", "<", dt.datetime(1969, 12, 31, 23, 59, 3))],  # noqa: DTZ001 -- as above
    [("amount", "<=", decimal.Decimal("0.25"))],
    [("ratio", ">", 0.0)],
    [("ratio", "!=", 0.5)],
    [("id", "in", ["k1", "k2", None])],
    [("small", "not in", [1, 2])],
    [[("small", "==", 1)], [("small", "==", 2), ("id", "==", "k2")]],
    pc.field("small") + 1 > pc.scalar(3),
    (pc.field("at") > pa.scalar(dt.datetime(2024, 3, 10, 2, 30, 2, tzinfo=dt.UTC))) | pc.field("small").is_null(),
]


@pytest.mark.parametrize("condition", CONDITIONS, ids=str)
def test_a_condition_answers_as_pyarrows_does(typed_tables, spark, condition):
    table = typed_tables["spark"]
    expected = sorted(table.read(columns=["id"], filter=condition).column(0).to_pylist())
    answer = table.to_spark(spark, columns=["id"], filter=condition).toArrow()
    assert answer.column_names == ["id"]
    assert sorted(answer.column(0).to_pylist()) == expected


def test_a_condition_of_spark_is_taken_too(typed_tables, spark):
    from pyspark.sql.functions import col

    answer = typed_tables["spark"].to_spark(spark, columns=["id"], filter=col("small") == 4).collect()
    assert [row[0] for row in answer] == ["k4"]


def test_a_condition_that_does_not_fit_is_refused(typed_tables, spark):
    with pytest.raises(InputError, match="nowhere"):
        typed_tables["spark"].to_spark(spark, filter=[("nowhere", "==", 1)])


def test_no_columns_keep_the_number_of_rows(typed_tables, spark):
    assert typed_tables["spark"].to_spark(spark, columns=[]).count() == 7


def test_columns_come_in_the_order_that_was_asked_for(typed_tables, spark):
    assert typed_tables["spark"].to_spark(spark, columns=["small", "_hoodie_record_key", "day"]).columns == [
        "small",
        "_hoodie_record_key",
        "day",
    ]


def test_spark_prunes_partitions_and_columns_itself(typed_tables, spark):
    frame = typed_tables["spark"].to_spark(spark)
    chosen = frame.where("day = date'2024-01-02'").select("small")
    plan = chosen._jdf.queryExecution().executedPlan().toString()
    assert "ReadSchema: struct<small:int>" in plan
    assert "PartitionFilters: [isnotnull(day" in plan
    assert chosen.count() == 3


def test_time_travel_sees_the_table_as_it_was(make_table, frame, spark):
    table = make_table()
    first = table.bulk_insert(frame([("a", "p", 1, 1.0)]))
    table.upsert(frame([("a", "p", 2, 2.0)]))
    then = table.to_spark(spark, as_of=first.requested_time, columns=["v"]).collect()
    now = table.to_spark(spark, columns=["v"]).collect()
    assert ([row[0] for row in then], [row[0] for row in now]) == ([1.0], [2.0])
    with pytest.raises(TimeTravelError):
        table.to_spark(spark, as_of="yesterday")


def test_a_table_without_rows_has_its_columns(make_table, spark):
    frame = make_table().to_spark(spark, meta_columns=False)
    assert (frame.columns, frame.count()) == (["id", "part", "ts", "v"], 0)


def test_partition_paths_with_characters_that_spark_gives_a_meaning_to(make_table, frame, spark, rows_of):
    values = ["a b", "50%", "[x]", "{y}", "*", "ü", "c=d", "x?y"]
    table = make_table(**{"hoodie.datasource.write.partitionpath.urlencode": True})
    rows = sorted((f"k{n}", value, n, 0.0) for n, value in enumerate(values))
    table.bulk_insert(frame(rows))
    assert rows_of(table) == rows
    answer = table.to_spark(spark, meta_columns=False).toArrow().to_pylist()
    assert sorted(tuple(row.values()) for row in answer) == rows


def test_a_location_with_characters_that_uris_and_spark_give_a_meaning_to(spark, tmp_path):
    path = str(tmp_path / "a b" / "50%41 [x] {y} * ü #c=d?x+y, 'z'")
    schema = pa.schema([("id", pa.string()), ("part", pa.string()), ("ts", pa.int64())])
    table = ds.Table.create(path, schema, record_key="id", partition_by="part", ordering="ts")
    table.bulk_insert(pa.table([["a", "b", "c"], ["p q", "p q", "50%"], [1, 1, 1]], schema=schema))
    make_merge_on_read(path)
    later = pa.table([["a"], ["p q"], [2]], schema=schema)
    append_delta_commit(path, later, record_key="id", partition="part")
    table = ds.Table.open(path)
    assert {one.way for one in slice_ways(table._refreshed(), spark)} == {Way.NATIVE, Way.MERGED}
    assert difference(table.to_spark(spark).toArrow(), table.read()) == ""


def test_a_null_partition_value_reads_back_as_null(make_table, frame, spark):
    table = make_table(**{"hoodie.datasource.write.hive_style_partitioning": True})
    table.bulk_insert(frame([("a", None, 1, 1.0), ("b", "p", 1, 1.0)]))
    answer = table.to_spark(spark, columns=["id", "part"]).collect()
    assert sorted(map(tuple, answer)) == [("a", None), ("b", "p")]


def test_a_time_of_day_is_refused_by_name(spark, table_uri):
    schema = pa.schema([("id", pa.string()), ("at", pa.time64("us"))])
    table = ds.Table.create(table_uri, schema, record_key="id")
    with pytest.raises(SchemaError, match="'at'"):
        table.to_spark(spark)


def test_orc_files_are_read_beside_parquet_files_of_the_same_table(make_table, frame, spark, table_uri):
    make_table().bulk_insert(frame([("a", "p", 1, 1.0), ("b", "q", 1, 2.0)]))
    (parquet,) = (Path(table_uri) / "q").glob("*.parquet")
    orc.write_table(pq.read_table(parquet), parquet.with_suffix(".orc"))
    parquet.unlink()
    with (Path(table_uri) / ".hoodie" / "hoodie.properties").open("a") as properties:
        properties.write("hoodie.table.multiple.base.file.formats.enable=true\n")
    table = ds.Table.open(table_uri)
    reads = {one.file_slice.group.partition_path: one for one in slice_ways(table._refreshed(), spark)}
    assert (reads["p"].way, reads["q"].way) == (Way.NATIVE, Way.ARROW)
    assert reads["q"].reason == "its base file is no .parquet file"
    assert difference(table.to_spark(spark).toArrow(), table.read()) == ""
    chosen = table.to_spark(spark, columns=["id", "v"]).where("v > 1").collect()
    assert [tuple(row) for row in chosen] == [("b", 2.0)]
