"""A table whose file groups hold Parquet and ORC base files, one after the other and side by side, on Spark."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

import drawstring as ds
from drawstring.spark.reader import slice_ways
from drawstring.spark.ways import Way
from drawstring_conformance.compare import difference
from spark.conftest import SCHEMA
from spark.golden import in_types

SEVERAL = "hoodie.table.multiple.base.file.formats.enable"


def rows(*values):
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in values], schema=SCHEMA)


@pytest.fixture
def mixed(tmp_path) -> ds.Table:
    """One group of Parquet only, and one whose first slice is Parquet and whose second is ORC."""
    path = tmp_path / "t"
    table = ds.Table.create(str(path), SCHEMA, record_key="id", partition_by="part", ordering="ts")
    table.upsert(rows(("k0", "a", 1, 0.0), ("k1", "b", 1, 1.0)))
    table.upsert(rows(("k0", "a", 2, 10.0), ("k2", "a", 2, 2.0)))
    as_orc(newest(path / "a"))
    allow_several(path)
    return ds.Table.open(str(path))


def newest(folder: Path) -> Path:
    return max(folder.glob("*.parquet"), key=lambda file: file.name.rpartition("_")[2])


def as_orc(file: Path) -> None:
    orc.write_table(pq.read_table(file, partitioning=None), str(file.with_suffix(".orc")))
    file.unlink()
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)


def allow_several(path: Path) -> None:
    properties = path / ".hoodie" / "hoodie.properties"
    text = properties.read_text()
    assert f"{SEVERAL}=false" in text
    properties.write_text(text.replace(f"{SEVERAL}=false", f"{SEVERAL}=true"))


def same(answer, expected: pa.Table) -> bool:
    return not difference(in_types(answer.toArrow(), expected.schema), expected)


def test_the_newest_slice_of_each_group_is_read_whatever_its_format(spark, mixed):
    assert {one.way for one in slice_ways(mixed._refreshed(), spark)} == {Way.ARROW, Way.NATIVE}
    assert mixed.read(columns=["id", "v"]).sort_by("id").to_pylist() == [
        {"id": "k0", "v": 10.0},
        {"id": "k1", "v": 1.0},
        {"id": "k2", "v": 2.0},
    ]
    assert same(mixed.to_spark(spark), mixed.read())
    assert same(spark.read.format("drawstring").load(mixed.uri), mixed.read())


def test_an_earlier_slice_of_another_format_is_read_as_of_its_time(spark, mixed):
    first = mixed.timeline().completed_writes[0].requested_time
    assert {one.way for one in slice_ways(mixed._refreshed(), spark, as_of=first)} == {Way.NATIVE}
    assert same(mixed.to_spark(spark, as_of=first), mixed.read(as_of=first))


def test_a_range_over_both_formats_has_the_rows_of_both(spark, mixed):
    expected = mixed.changes("earliest")
    assert sorted(expected["id"].to_pylist()) == ["k0", "k1", "k2"]
    assert same(mixed.changes_to_spark(spark, "earliest").rows, expected)


def test_a_filter_is_applied_to_both_formats(spark, mixed):
    wanted = [("v", ">", 1.5)]
    assert same(mixed.to_spark(spark, filter=wanted), mixed.read(filter=wanted))
    assert mixed.read(filter=wanted).num_rows == 2
