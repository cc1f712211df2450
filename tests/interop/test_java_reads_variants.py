"""Java Hudi reads and continues our tables whatever we were told about files, codecs and names."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

import drawstring as ds
from interop import tables
from interop.java.client import JavaHudiError
from interop.rows import data_columns, difference

pytestmark = pytest.mark.interop
LAYOUT = tables.LAYOUTS[1]


def java_replaces_some(java, story):
    rows = [tables.row(LAYOUT, n, ts=800, name="by Java") for n in range(10, 55)]
    story.remember(java.write(story.path, "upsert", tables.to_table(rows)), rows)


@pytest.mark.parametrize(
    "options",
    [
        {"hoodie.parquet.compression.codec": "gzip"},
        {"hoodie.parquet.compression.codec": "snappy"},
        {"hoodie.parquet.compression.codec": "uncompressed"},
        {"hoodie.parquet.bloom.filter.enabled": "false"},
        {"hoodie.bloom.index.filter.type": "SIMPLE"},
        {"hoodie.parquet.max.file.size": "2000", "hoodie.parquet.small.file.limit": "0"},
        {"hoodie.database.name": "sales"},
        {"hoodie.table.name": "my-table.1"},
        {"hoodie.write.record.merge.mode": "COMMIT_TIME_ORDERING"},
    ],
    ids=lambda options: ",".join(options.values()),
)
def test_java_reads_and_continues_a_table_of_ours_with(java, tmp_path, options):
    story = tables.create(tmp_path / "t", LAYOUT, options=options)
    story.write("insert", [tables.row(LAYOUT, n, ts=100, name="first") for n in range(40)])
    story.write("upsert", [tables.row(LAYOUT, n, ts=200, name="second") for n in range(30, 50)])
    assert not difference(data_columns(java.read(story.path)), story.expected())
    java_replaces_some(java, story)
    assert not difference(data_columns(ds.Table.open(str(story.path)).read()), story.expected())


def test_java_finds_our_keys_by_our_bloom_filters(java, tmp_path):
    story = tables.write_history(tmp_path / "t", LAYOUT)
    rows = [tables.row(LAYOUT, n, ts=800, name="by Java") for n in range(10, 55)]
    options = {"hoodie.index.type": "BLOOM", "hoodie.bloom.index.use.metadata": "false"}
    story.remember(java.write(story.path, "upsert", tables.to_table(rows), options=options), rows)
    assert not difference(data_columns(ds.Table.open(str(story.path)).read()), story.expected())


def test_java_reads_a_table_of_ours_whose_rows_are_all_deleted(java, tmp_path):
    story = tables.create(tmp_path / "t", LAYOUT)
    story.write("insert", [tables.row(LAYOUT, n, ts=100, name="first") for n in range(6)])
    story.delete(range(6))
    assert java.read(story.path).num_rows == 0


def test_java_writes_into_a_table_of_ours_that_is_still_empty(java, tmp_path):
    story = tables.create(tmp_path / "t", LAYOUT)
    java_replaces_some(java, story)
    assert not difference(data_columns(story.table.read()), story.expected())


def test_java_drops_the_rows_that_we_marked_as_deleted(java, tmp_path):
    schema = tables.SCHEMA.append(pa.field("_hoodie_is_deleted", pa.bool_()))
    table = ds.Table.create(str(tmp_path / "t"), schema, record_key="id", partition_by="region", ordering="ts")
    rows = tables.to_table([tables.row(LAYOUT, n, ts=1, name="first") for n in range(6)])
    table.insert(rows.append_column("_hoodie_is_deleted", pa.array([False] * 6)))
    newer = tables.to_table([tables.row(LAYOUT, n, ts=2, name="second") for n in range(6)])
    table.upsert(newer.append_column("_hoodie_is_deleted", pa.array([True, False] * 3)))
    assert sorted(java.read(tmp_path / "t")["id"].to_pylist()) == ["key-001", "key-003", "key-005"]


def test_java_reads_columns_that_we_made_not_nullable(java, tmp_path):
    schema = pa.schema([pa.field(f.name, f.type, nullable=f.name not in {"id", "ts"}) for f in tables.SCHEMA])
    table = ds.Table.create(str(tmp_path / "t"), schema, record_key="id", partition_by="region", ordering="ts")
    rows = tables.to_table([tables.row(LAYOUT, n, ts=1, name="first") for n in range(6)])
    table.insert(rows.cast(schema))
    assert not difference(data_columns(java.read(tmp_path / "t")), rows)
    newer = tables.to_table([tables.row(LAYOUT, n, ts=2, name="by Java") for n in range(6)])
    java.write(tmp_path / "t", "upsert", newer)
    assert not difference(data_columns(ds.Table.open(str(tmp_path / "t")).read()), newer)


def one_column(tmp_path, kind: pa.DataType, value: object) -> tuple[ds.Table, pa.Table]:
    """A table of ours with one column of a type, and its two rows: the value and null."""
    schema = pa.schema([("id", pa.string()), ("ts", pa.int64()), ("value", kind)])
    table = ds.Table.create(str(tmp_path / "t"), schema, record_key="id", ordering="ts")
    rows = pa.Table.from_pylist([{"id": "a", "ts": 1, "value": value}, {"id": "b", "ts": 1}], schema=schema)
    table.insert(rows)
    return table, rows


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint16(), pa.date64(), pa.timestamp("s", "UTC"), pa.large_string()])
def test_java_reads_and_rewrites_types_that_we_bring_into_hudis(java, tmp_path, kind):
    values = {pa.date64(): 86_400_000, pa.large_string(): "x"}
    table, _ = one_column(tmp_path, kind, pa.scalar(values.get(kind, 7), kind).as_py())
    ours = data_columns(table.read())
    assert not difference(data_columns(java.read(tmp_path / "t")), ours)
    newer = ours.set_column(1, "ts", pa.array([2, 2]))
    java.write(tmp_path / "t", "upsert", newer)
    assert not difference(data_columns(table.read()), newer)


def test_java_reads_a_timestamp_without_a_zone_as_its_number(java, tmp_path):
    """Its Spark reader knows no such type: the value is right, the type is not (docs/compatibility.md)."""
    _, rows = one_column(tmp_path, pa.timestamp("us"), dt.datetime.fromisoformat("2024-01-01T01:01:01.123456"))
    numbers = rows.set_column(2, "value", rows["value"].cast(pa.int64()))
    assert not difference(data_columns(java.read(tmp_path / "t")), numbers)


def test_java_reads_a_list_with_a_null_element_but_cannot_rewrite_its_file(java, tmp_path):
    """Its writer makes lists of two levels, which have no place for the null (docs/compatibility.md)."""
    _, rows = one_column(tmp_path, pa.list_(pa.int32()), [1, None, 2])
    assert not difference(data_columns(java.read(tmp_path / "t")), rows)
    with pytest.raises(JavaHudiError, match="ArrayIndexOutOfBoundsException"):
        java.write(tmp_path / "t", "upsert", rows.slice(0, 1))


def test_java_reads_bytes_of_a_fixed_length_but_refuses_to_write_beside_them(java, tmp_path):
    _, rows = one_column(tmp_path, pa.binary(4), b"abcd")
    assert not difference(data_columns(java.read(tmp_path / "t")), rows)
    with pytest.raises(JavaHudiError, match="FIXED for field"):
        java.write(tmp_path / "t", "upsert", rows.set_column(2, "value", rows["value"].cast(pa.binary())))


def test_java_on_spark_cannot_read_a_time_of_day(java, tmp_path):
    """Spark has no such type (docs/compatibility.md)."""
    one_column(tmp_path, pa.time64("us"), dt.time(1, 2, 3, 4))
    with pytest.raises(JavaHudiError, match="TIME"):
        java.read(tmp_path / "t")
