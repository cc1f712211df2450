"""Stories of bootstrap tables: made of plain Parquet files, whole or as skeleton files beside them."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Final

import pyarrow as pa

from interop.unseen_recording import Recorder
from interop.unseen_story import COW, MOR, SIMPLE_INDEX, story

_SCHEMA: Final = pa.schema([("id", pa.string()), ("ts", pa.int64()), ("v", pa.int32())])
_WIDE: Final = pa.schema(
    [
        *_SCHEMA,
        pa.field("amount", pa.decimal128(9, 2)),
        pa.field("day", pa.date32()),
        pa.field("at", pa.timestamp("us", "UTC")),
        pa.field("st", pa.struct([("a", pa.int32()), ("b", pa.string())])),
        pa.field("li", pa.list_(pa.int64())),
    ]
)
_SMALL: Final = {
    "hoodie.bootstrap.parallelism": "1",
    "hoodie.index.bloom.num_entries": "100",
    "hoodie.bloom.index.filter.type": "SIMPLE",
    "hoodie.parquet.small.file.limit": "0",
    "hoodie.metadata.index.column.stats.enable": "false",
    "hoodie.metadata.index.partition.stats.enable": "false",
    **SIMPLE_INDEX,
}
_HIVE: Final = {"hoodie.datasource.write.hive_style_partitioning": "true"}
_WHOLE: Final = {
    "hoodie.datasource.write.partitionpath.field": "",
    "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
}
_SKELETONS: Final = "MetadataOnlyBootstrapMode"
_COPIES: Final = "FullRecordBootstrapMode"
_ONLY_A: Final = {
    "hoodie__bootstrap__mode__selector__regex": "part=a.*",
    "hoodie__bootstrap__mode__selector__regex__mode": "METADATA_ONLY",
}


def _some(keys: range, ts: int, v: int, part: object = None, kind: pa.DataType | None = None) -> pa.Table:
    table = pa.table(
        {"id": [f"k{i:03}" for i in keys], "ts": [ts] * len(keys), "v": [v + i for i in keys]}, schema=_SCHEMA
    )
    if part is None:
        return table
    return table.append_column("part", pa.array([part] * len(keys), kind or pa.string()))


def _wide(keys: range, ts: int, v: int, part: str | None = None) -> pa.Table:
    start = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    rows = [
        {
            "id": f"k{i:03}",
            "ts": ts,
            "v": v + i,
            "amount": Decimal(v + i) / 4 if i % 3 else None,
            "day": start.date() + dt.timedelta(days=i),
            "at": start + dt.timedelta(hours=i, microseconds=v),
            "st": {"a": i, "b": f"s{v}"} if i % 4 else None,
            "li": list(range(i % 3)),
        }
        for i in keys
    ]
    table = pa.Table.from_pylist(rows, schema=_WIDE)
    return table if part is None else table.append_column("part", pa.array([part] * len(keys)))


@story({**_SMALL, **_HIVE}, names={"cow": COW, "mor": MOR})
def bootstrap_hive(tell: Recorder) -> None:
    """Skeleton files in folders of Hive's form, some rewritten or under log files, and a column that came later."""
    tell.bootstrap(
        {
            "part=a/one.parquet": _wide(range(4), 1, 100),
            "part=a/two.parquet": _wide(range(4, 6), 1, 100),
            "part=b c/one.parquet": _wide(range(6, 10), 1, 100),
        },
        _SKELETONS,
    )
    tell.write("upsert", _wide(range(1, 2), 2, 200, "a"))
    tell.write("upsert", _wide(range(20, 21), 2, 200, "a"))
    tell.write("delete", _wide(range(7, 8), 3, 0, "b c"))
    later = _wide(range(4, 5), 4, 300, "a")
    tell.write("upsert", later.append_column("extra", pa.array(["x"])))


@story({**_SMALL, **_HIVE, "hoodie.write.record.positions": "true"}, names={"cow": COW, "mor": MOR})
def bootstrap_mixed(tell: Recorder) -> None:
    """Skeleton files and whole ones in one table, log records with positions, and a compaction."""
    tell.bootstrap(
        {
            "part=a/one.parquet": _some(range(4), 1, 100),
            "part=a/two.parquet": _some(range(4, 6), 1, 100),
            "part=b/one.parquet": _some(range(6, 10), 1, 100),
        },
        "BootstrapRegexMode",
        **_ONLY_A,
    )
    tell.write("upsert", _some(range(1, 3), 2, 200, "a"))
    tell.write("delete", _some(range(4, 5), 3, 0, "a"))
    tell.write("upsert", _some(range(6, 8), 2, 200, "b"))
    if tell.options["hoodie.datasource.write.table.type"] == "MERGE_ON_READ":
        tell.service("compaction")
        tell.write("upsert", _some(range(0, 6, 3), 5, 300, "a"))


@story({**_SMALL, **_WHOLE}, names={"cow": COW, "mor": MOR})
def bootstrap_whole(tell: Recorder) -> None:
    """Skeleton files of a folder without partitions."""
    tell.bootstrap(
        {"one.parquet": _some(range(5), 1, 100), "two.parquet": _some(range(5, 9), 1, 100)}, "MetadataOnlyBootstrapMode"
    )
    tell.write("upsert", _some(range(3, 7), 2, 200))
    tell.write("upsert", _some(range(3, 4), 0, 300))


@story({**_SMALL, **_WHOLE}, names={"cow": COW, "mor": MOR})
def bootstrap_full(tell: Recorder) -> None:
    """Whole files of a folder without partitions."""
    tell.bootstrap(
        {"one.parquet": _some(range(5), 1, 100), "two.parquet": _some(range(5, 9), 1, 100)}, "FullRecordBootstrapMode"
    )
    tell.write("upsert", _some(range(3, 7), 2, 200))


@story({**_SMALL, **_HIVE, **COW})
def bootstrap_full_hive(tell: Recorder) -> None:
    """Whole files of folders of Hive's form."""
    tell.bootstrap(
        {"part=a/one.parquet": _some(range(5), 1, 100), "part=b/two.parquet": _some(range(5, 9), 1, 100)},
        "FullRecordBootstrapMode",
    )
    tell.write("upsert", _some(range(3, 4), 2, 200, "a"))


@story({**_SMALL, **_HIVE}, names={"cow": COW, "mor": MOR})
def bootstrap_numbers(tell: Recorder) -> None:
    """Partitions of numbers."""
    tell.bootstrap(
        {"part=1/one.parquet": _some(range(3), 1, 100), "part=02/two.parquet": _some(range(3, 6), 1, 100)},
        _SKELETONS,
    )
    tell.write("upsert", _some(range(1, 2), 2, 200, 1, pa.int32()))


@story({**_SMALL, **_HIVE}, names={"cow": COW, "mor": MOR})
def bootstrap_own_column(tell: Recorder) -> None:
    """The source files have the partition column themselves, and not always with the folder's value."""
    tell.bootstrap(
        {
            "part=a/one.parquet": _some(range(3), 1, 100, "a"),
            "part=b/two.parquet": _some(range(3, 6), 1, 100, "other"),
        },
        _SKELETONS,
    )
    tell.write("upsert", _some(range(1, 2), 2, 200, "a"))


@story({**_SMALL, **COW})
def bootstrap_bare_folders(tell: Recorder) -> None:
    """Folders without the column's name; the source files have the column."""
    tell.bootstrap(
        {"a/one.parquet": _some(range(3), 1, 100, "a"), "b/two.parquet": _some(range(3, 6), 1, 100, "b")},
        _SKELETONS,
    )
    tell.write("upsert", _some(range(1, 2), 2, 200, "a"))


@story({**_SMALL, **_HIVE, "hoodie.table.cdc.enabled": "true"}, names={"cow": COW, "mor": MOR}, cdc=True)
def bootstrap_changes(tell: Recorder) -> None:
    """Change data of rows that lie in source files."""
    tell.bootstrap({"part=a/one.parquet": _some(range(5), 1, 100)}, _SKELETONS)
    tell.write("upsert", _some(range(1, 3), 2, 200, "a"))
    tell.write("delete", _some(range(3, 4), 3, 0, "a"))


@story({**_SMALL, **_HIVE, "hoodie.metadata.enable": "true"}, names={"cow": COW, "mor": MOR})
def bootstrap_statistics(tell: Recorder) -> None:
    """Statistics of columns and partitions, made when skeleton files were there, which have no such columns."""
    files = {"part=a/one.parquet": _some(range(4), 1, 100), "part=a/two.parquet": _some(range(4, 8), 1, 900)}
    tell.bootstrap(files, _SKELETONS)
    indexed = {
        "hoodie__metadata__index__column__stats__enable": "true",
        "hoodie__metadata__index__partition__stats__enable": "true",
    }
    tell.write("upsert", _some(range(1, 2), 2, 200, "a"), **indexed)
    tell.ask_filtered("v = 100", [["v", "=", 100]])
    tell.ask_filtered("v > 900", [["v", ">", 900]])
    tell.ask_filtered("v is null", [["v", "is_null", None]])
    tell.ask_filtered("_hoodie_record_key = 'k005'", [["_hoodie_record_key", "=", "k005"]])


@story({**_SMALL, **_HIVE}, names={"cow": COW, "mor": MOR})
def bootstrap_odd_files(tell: Recorder) -> None:
    """A source file that lacks columns, and a folder whose name is unescaped for the table."""
    files = {
        "part=a/one.parquet": _wide(range(4), 1, 100),
        "part=a/two.parquet": _wide(range(4, 6), 1, 100).drop_columns(["st", "day"]),
        "part=b%20c/one.parquet": _wide(range(6, 10), 1, 100),
    }
    translator = "org.apache.hudi.client.bootstrap.translator.DecodedBootstrapPartitionPathTranslator"
    tell.bootstrap(files, _SKELETONS, hoodie__bootstrap__partitionpath__translator__class=translator)
    tell.write("upsert", _wide(range(1, 2), 2, 200, "a"))


@story({**_SMALL, **_WHOLE, **COW, "hoodie.clean.automatic": "true", "hoodie.clean.commits.retained": "1"})
def bootstrap_cleaned(tell: Recorder) -> None:
    """Skeleton files that are cleaned away, and a clustering of those that are left."""
    tell.bootstrap({"one.parquet": _some(range(5), 1, 100), "two.parquet": _some(range(5, 9), 1, 100)}, _SKELETONS)
    for n in range(4):
        tell.write("upsert", _some(range(n, n + 1), 2 + n, 200), hoodie__clean__automatic="true")
    tell.service("clustering")
    tell.write("upsert", _some(range(6, 7), 9, 300))
