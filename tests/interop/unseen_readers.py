"""Stories of what Java's reader does by rules of its own: partition columns from files, deletes that do not compare."""

from __future__ import annotations

import datetime as dt
from typing import Final

import pyarrow as pa

from interop.random_choices import GENERATORS
from interop.unseen_recording import Recorder
from interop.unseen_story import COW, MOR, ONE_BUCKET, SCHEMA, SIMPLE_INDEX, rows, story

PARTITION: Final = "hoodie.datasource.write.partitionpath.field"
GENERATOR: Final = "hoodie.datasource.write.keygenerator.class"
TIMED: Final = pa.schema(
    [
        *SCHEMA,
        ("at", pa.int64()),
        ("text", pa.string()),
        ("when", pa.timestamp("us", "UTC")),
        ("st", pa.struct([("a", pa.int32()), ("b", pa.string())])),
    ]
)
TEXTS: Final = pa.schema(
    [*list(SCHEMA)[:2], ("ts", pa.string()), ("v", pa.int32()), ("_hoodie_is_deleted", pa.bool_())]
)


@story(
    {**MOR, "hoodie.write.record.merge.mode": "EVENT_TIME_ORDERING"},
    names={"bucket": ONE_BUCKET, "positions": SIMPLE_INDEX},
)
def ordered_text(tell: Recorder) -> None:
    """Records and deletes by the order of texts, which Java does not compare where both lie in log files."""

    def some(*entries: tuple[str, str, int, bool]) -> pa.Table:
        return rows(*((key, "a", ts, v, gone) for key, ts, v, gone in entries), schema=TEXTS)

    keys = [f"k{i}" for i in range(8)]
    tell.write("insert", some(*((key, "12", 0, False) for key in keys)))
    tell.write("upsert", some(*((key, "15", 1, False) for key in [*keys[:6], "n0", "n1"])))
    late, equal, newer = ("k0", "14", 2, True), ("k1", "15", 2, True), ("k2", "16", 2, True)
    in_base = ("k6", "11", 2, True), ("k7", "13", 2, True)
    tell.write("upsert", some(late, equal, newer, *in_base, ("n0", "14", 2, True), ("n1", "16", 2, True)))
    again = ("k2", "15", 3, False), ("k1", "16", 3, False), ("k7", "12", 3, False), ("n1", "15", 3, False)
    tell.write("upsert", some(*again))
    tell.write("upsert", some(("k2", "13", 4, True), ("k1", "15", 4, True), ("k3", "14", 4, True)))


@story(
    {
        "hoodie.datasource.write.precombine.field": "part",
        "hoodie.datasource.write.hive_style_partitioning": "false",
        GENERATOR: GENERATORS + "SimpleKeyGenerator",
    },
    names={"cow": COW, "mor": {**MOR, **SIMPLE_INDEX}},
)
def precombine_partition(tell: Recorder) -> None:
    """The partition column is the ordering field, and has values that folders' names cannot tell apart."""
    for v in (1, 2):
        tell.write(
            "insert" if v == 1 else "upsert",
            rows(*((f"k{i}", p, 1, v) for i, p in enumerate(("", "c=d", "%41", "p"), 1))),
        )


@story(
    {
        **COW,
        **SIMPLE_INDEX,
        PARTITION: "text",
        GENERATOR: GENERATORS + "TimestampBasedKeyGenerator",
        "hoodie.datasource.write.drop.partition.columns": "true",
        "hoodie.keygen.timebased.timestamp.type": "DATE_STRING",
        "hoodie.keygen.timebased.input.dateformat": "yyyy-MM-dd",
        "hoodie.keygen.timebased.output.dateformat": "yyyyMMdd",
        "hoodie.keygen.timebased.timezone": "UTC",
    },
    names={"text_dropped": {}},
)
def timed_partitions(tell: Recorder) -> None:
    """A partition column that a key generator formats is left out of the files."""

    def some(keys: range, ts: int) -> pa.Table:
        day = dt.datetime(2023, 11, 14, 1, 2, 3, tzinfo=dt.UTC)
        days = [day + dt.timedelta(days=i) for i in keys]
        return rows(
            *(
                (f"k{i}", "ab"[i % 2], ts, i, 0, f"{when:%Y-%m-%d}", when, {"a": i, "b": "xy"[i % 2]})
                for i, when in zip(keys, days, strict=True)
            ),
            schema=TIMED,
        )

    tell.write("insert", some(range(4), 1))
    tell.write("upsert", some(range(1, 3), 2))
