"""Stories of keys that a file has twice, of columns that files have no more, and of writers that died."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa

from interop.unseen_recording import Recorder
from interop.unseen_story import COW, MOR, ONE_BUCKET, SIMPLE_INDEX, rows, story

# An ordering field of integers: after a delete Java cannot merge a record whose one is a long.
SCHEMA: Final = pa.schema([("id", pa.string()), ("part", pa.string()), ("ts", pa.int32()), ("v", pa.int32())])
METADATA: Final = {"hoodie.metadata.enable": "true"}


def some(keys: range, ts: int, v: int, part: str = "a") -> pa.Table:
    """Rows of some numbered keys."""
    return rows(*((f"k{i:03}", part, ts, v + i) for i in keys), schema=SCHEMA)


@story(
    {},
    names={
        "bucket": {**MOR, **ONE_BUCKET},
        "positions": {**MOR, **SIMPLE_INDEX},
        "commit": {**MOR, "hoodie.write.record.merge.mode": "COMMIT_TIME_ORDERING"},
    },
)
def doubled_keys(tell: Recorder) -> None:
    """Keys that are twice in a base file, and in two partitions: updates, deletes, compaction, and ranges of it."""
    tell.write(
        "bulk_insert", pa.concat_tables([some(range(5), 1, 0), some(range(3), 2, 50), some(range(4), 1, 0, "b")])
    )
    tell.write("upsert", some(range(1, 3), 3, 100))
    tell.write("delete", some(range(1), 9, 0))
    tell.write("upsert", some(range(2), 1, 200))
    tell.service("compaction")
    tell.write("upsert", some(range(4), 7, 300))
    tell.write("delete", some(range(2, 3), 9, 0))


@story(
    {
        **COW,
        "hoodie.datasource.write.drop.partition.columns": "true",
        "hoodie.datasource.write.hive_style_partitioning": "true",
    }
)
def dropped_partition_column(tell: Recorder) -> None:
    """The partition column is in no file, and in no schema."""
    tell.write("bulk_insert", pa.concat_tables([some(range(4), 1, 0, "b"), some(range(4), 1, 10)]))
    tell.write("upsert", some(range(2), 3, 500))
    tell.write("insert", some(range(6, 8), 0, 700, "b"))


_KINDS: Final = (pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.string())


def _value(kind: int, number: int) -> Any:
    if number % 5 == 4:
        return None
    return (number, 2**40 + number, number / 4, number / 3 * 1e-5, f"t{number}")[kind]


def _in_types(stage: int, keys: range, ts: int) -> pa.Table:
    kinds = [max(start, stage) for start in range(4)]
    schema = pa.schema([*SCHEMA, *((name, _KINDS[kind]) for name, kind in zip("abcd", kinds, strict=True))])
    return rows(*((f"k{n}", "a", ts, n, *(_value(kind, n) for kind in kinds)) for n in keys), schema=schema)


@story({}, names={"cow": {**COW, **SIMPLE_INDEX}, "mor": {**MOR, **ONE_BUCKET}})
def becomes_text(tell: Recorder) -> None:
    """Columns of numbers become those of wider ones, and of texts at last."""
    tell.write("upsert", _in_types(0, range(8), 1))
    for stage in range(5):
        tell.write("upsert", _in_types(stage, range(stage, stage + 2), 2 + stage))


@story(
    {},
    names={
        "cow": {**COW, **METADATA},
        "mor": {**MOR, **SIMPLE_INDEX, **METADATA},
        "overwrite": {**MOR, **ONE_BUCKET, **METADATA},
        "compaction": {**MOR, **SIMPLE_INDEX},
        "clustering": COW,
    },
)
def left_crashed(tell: Recorder) -> None:
    """A writer or a service died before it completed its instant, and nobody has rolled it back."""
    tell.write("upsert", pa.concat_tables([some(range(6), 1, 0), some(range(6, 9), 1, 0, "b")]))
    tell.write("upsert", some(range(2), 2, 100))
    what = tell.path.name.rpartition("_")[2]
    if what in ("compaction", "clustering"):
        tell.service(what)
    else:
        operation = "insert_overwrite" if what == "overwrite" else "upsert"
        tell.write(operation, pa.concat_tables([some(range(1, 4), 5, 666), some(range(20, 23), 5, 666, "dead")]))
    completed = max((tell.path / ".hoodie" / "timeline").glob("*_*commit"))
    completed.unlink()
    completed.with_name(f".{completed.name}.crc").unlink(missing_ok=True)
    if what in ("compaction", "clustering"):
        tell.write("upsert", some(range(50, 52), 7, 800, "c"))
    tell.ask_filtered("v >= 100", [["v", ">=", 100]])
