"""Java Hudi builds the same record keys and partition paths from values as we do, whatever their type.

Where the texts differed, an upsert by the other side would not find the row, and the table would hold it twice.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

import drawstring as ds
from interop.rows import data_columns, difference

pytestmark = pytest.mark.interop

UTC = dt.UTC
KEYS = {
    "string": (pa.string(), ["a", "ż:ó,ł", "with space", "x/y", "%41", "__null__"]),
    "int": (pa.int32(), [-1, 0, 2147483647]),
    "long": (pa.int64(), [-1, 0, 9223372036854775807]),
    "bool": (pa.bool_(), [True, False]),
    "date": (pa.date32(), [dt.date(1969, 12, 31), dt.date(2024, 2, 29)]),
    "timestamp": (
        pa.timestamp("us", tz="UTC"),
        [dt.datetime(1969, 12, 31, 23, 59, 59, 999999, UTC), dt.datetime(2024, 2, 29, 12, 0, 0, 1, UTC)],
    ),
    "decimal": (pa.decimal128(10, 2), [Decimal("0.00"), Decimal("-1.50"), Decimal("12345678.90")]),
}
PARTITIONS = {name: KEYS[name] for name in ("string", "int", "long", "bool", "date", "timestamp", "decimal")} | {
    "string": (pa.string(), ["a", "ż", "with space", "a=b", "%41", None, ""])
}


def schema_of(kind: pa.DataType) -> pa.Schema:
    return pa.schema([("key", kind), ("part", kind), ("other", pa.string()), ("ts", pa.int64()), ("name", pa.string())])


def rows_of(kind: pa.DataType, values: list[object], *, ts: int, name: str) -> pa.Table:
    rows = [{"key": v, "part": v, "other": f"row {i}", "ts": ts, "name": name} for i, v in enumerate(values)]
    return pa.Table.from_pylist(rows, schema=schema_of(kind))


def assert_java_replaces_our_rows(java, path, table, before: pa.Table, after: pa.Table) -> None:
    table.insert(before)
    keys = table.read(columns=["_hoodie_record_key", "_hoodie_partition_path"])
    java.write(path, "upsert", after)
    assert not difference(java.read(path).select(keys.column_names), keys)
    assert not difference(data_columns(ds.Table.open(str(path)).read()), after)


@pytest.mark.parametrize("name", KEYS)
def test_java_finds_our_rows_by_a_key_of_each_type(java, tmp_path, name):
    kind, values = KEYS[name]
    table = ds.Table.create(str(tmp_path / "t"), schema_of(kind), record_key="key", ordering="ts")
    old, new = (rows_of(kind, values, ts=ts, name=text) for ts, text in ((1, "ours"), (2, "by Java")))
    assert_java_replaces_our_rows(java, tmp_path / "t", table, old, new)


@pytest.mark.parametrize("name", KEYS)
def test_java_finds_our_rows_by_a_compound_key_with_each_type(java, tmp_path, name):
    kind, values = KEYS[name]
    values = [*values, None]
    table = ds.Table.create(str(tmp_path / "t"), schema_of(kind), record_key=["key", "other"], ordering="ts")
    old, new = (rows_of(kind, values, ts=ts, name=text) for ts, text in ((1, "ours"), (2, "by Java")))
    assert_java_replaces_our_rows(java, tmp_path / "t", table, old, new)


@pytest.mark.parametrize("hive", ["true", "false"])
@pytest.mark.parametrize("name", PARTITIONS)
def test_java_finds_our_rows_in_a_partition_by_each_type(java, tmp_path, name, hive):
    kind, values = PARTITIONS[name]
    table = ds.Table.create(
        str(tmp_path / "t"),
        schema_of(kind),
        record_key="other",
        partition_by="part",
        ordering="ts",
        options={"hoodie.datasource.write.hive_style_partitioning": hive},
    )
    old, new = (rows_of(kind, values, ts=ts, name=text) for ts, text in ((1, "ours"), (2, "by Java")))
    table.insert(old)
    keys = table.read(columns=["_hoodie_record_key", "_hoodie_partition_path"])
    java.write(tmp_path / "t", "upsert", new)
    columns = ["_hoodie_record_key", "_hoodie_partition_path", "name"]
    after = ds.Table.open(str(tmp_path / "t")).read(columns=columns)
    assert not difference(after, keys.append_column("name", pa.array(["by Java"] * len(values))))


@pytest.mark.parametrize("layout", [("key",), ("key", "other")], ids=["simple", "compound"])
def test_java_merges_by_commit_time_where_there_is_no_ordering_field(java, tmp_path, layout):
    table = ds.Table.create(str(tmp_path / "t"), schema_of(pa.string()), record_key=list(layout))
    old, new = (rows_of(pa.string(), ["a", "b"], ts=ts, name=text) for ts, text in ((2, "ours"), (1, "by Java")))
    assert_java_replaces_our_rows(java, tmp_path / "t", table, old, new)
