"""Stories of writers beside each other, of long histories, and of indexes that come later or not at all."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa

from interop.unseen_recording import Recorder
from interop.unseen_story import COW, MOR, ONE_BUCKET, SIMPLE_INDEX, rows, some, story

LOCKED: Final = {
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider",
    "hoodie.clean.failed.writes.policy": "LAZY",
    "hoodie.clean.automatic": "false",
}
NON_BLOCKING: Final = {
    **LOCKED,
    "hoodie.write.concurrency.mode": "NON_BLOCKING_CONCURRENCY_CONTROL",
    "hoodie.table.type": "MERGE_ON_READ",
}
TWO_BUCKETS: Final = {**ONE_BUCKET, "hoodie.bucket.index.num.buckets": "2"}
OPTIMISTIC: Final = {**LOCKED, "hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL"}
METADATA: Final = {"hoodie.metadata.enable": "true"}
STATS: Final = "hoodie.metadata.index.column.stats.enable"
RECORDS: Final = "hoodie.metadata.record.index.enable"


def write(operation: str, data: pa.Table, *, after_ms: int = 0, row_ms: int = 0) -> dict[str, Any]:
    """A write that runs beside others."""
    return {"verb": "write", "operation": operation, "rows": data, "after_ms": after_ms, "row_ms": row_ms}


def compaction(operation: str, after_ms: int) -> dict[str, Any]:
    """A compaction that runs beside writes."""
    options = "hoodie.compact.inline.max.delta.commits=1,hoodie.embed.timeline.server=false"
    options += "".join(f",{key}={value}" for key, value in {**NON_BLOCKING, **TWO_BUCKETS}.items())
    arguments = f"op => '{operation}', options => '{options}'"
    return {"verb": "call", "procedure": "run_compaction", "arguments": arguments, "after_ms": after_ms}


@story(
    {**MOR, **NON_BLOCKING, **TWO_BUCKETS},
    names={
        "event": {},
        "commit": {"hoodie.write.record.merge.mode": "COMMIT_TIME_ORDERING"},
        "metadata": METADATA,
        "parquet": {"hoodie.logfile.data.block.format": "parquet"},
    },
)
def non_blocking(tell: Recorder) -> None:
    """Two live writers of the same keys, one slow, a compaction planned and run meanwhile; twice."""
    tell.write("upsert", some(range(8), 10, 0))
    for turn in (1, 2):
        base = 1000 * turn
        told = tell.together(
            write("upsert", some(range(3), 20 * turn, base), row_ms=2500),
            write("upsert", some(range(1, 6), 25 * turn, base + 500), after_ms=1200),
            compaction("schedule", after_ms=4500),
        )
        tell.write("delete", some(range(7 - turn, 8 - turn), 99, 0))
        tell.facts.append([answer.get("error", "done") for answer in told])
        told = tell.together(
            write("upsert", some(range(4, 9), 22 * turn, base + 700), row_ms=1500),
            compaction("execute", after_ms=1500),
        )
        tell.facts.append([answer.get("error", "done") for answer in told])
    tell.write("upsert", some(range(2), 21, 9000))


@story({**OPTIMISTIC}, names={"cow": {**COW, **SIMPLE_INDEX}, "mor": {**MOR, **SIMPLE_INDEX}})
def optimistic(tell: Recorder) -> None:
    """Two live writers of one file group, of which Java may let one fail; two of two partitions; then one more."""
    tell.write("upsert", pa.concat_tables([some(range(4), 10, 0), some(range(4, 8), 10, 0, "b")]))
    told = tell.together(
        write("upsert", some(range(3), 20, 100), row_ms=4000),
        write("upsert", some(range(1, 4), 30, 200), row_ms=4000),
    )
    tell.facts.append([answer.get("root", "done") for answer in told])
    told = tell.together(
        write("upsert", some(range(3), 40, 300), row_ms=4000),
        write("upsert", some(range(4, 7), 40, 400, "b"), row_ms=4000),
    )
    tell.facts.append([answer.get("root", "done") for answer in told])
    tell.write("delete", some(range(1, 2), 99, 0))
    tell.write("upsert", some(range(2), 50, 500))


LEVELS: Final = {
    "hoodie.clean.commits.retained": "4",
    "hoodie.keep.min.commits": "6",
    "hoodie.keep.max.commits": "8",
    "hoodie.commits.archival.batch": "2",
    "hoodie.timeline.compaction.batch.size": "2",
}


@story(
    {**LEVELS, **SIMPLE_INDEX},
    names={
        "cow": {**COW, "hoodie.parquet.small.file.limit": "0"},
        "mor": {  # By commit time: else Java cannot compact a delete before a later record.
            **MOR,
            **METADATA,
            "hoodie.write.record.merge.mode": "COMMIT_TIME_ORDERING",
            "hoodie.compact.inline": "true",
            "hoodie.compact.inline.max.delta.commits": "5",
        },
    },
)
def many_levels(tell: Recorder) -> None:
    """Fifty commits: deletes, overwrites and late records, archived into several levels of the archive."""
    times = []
    for number in range(50):
        keys, part = range(number % 7, number % 7 + 4), "ab"[number % 3 == 1]
        ordering = number - 3 * (number % 4)
        if number % 11 == 9:
            times.append(tell.write("delete", some(keys, 0, 0, part)))
        elif number % 17 == 13:
            times.append(tell.write("insert_overwrite", some(keys, ordering, 1000 * number, "b")))
        else:
            times.append(tell.write("upsert", some(keys, ordering, 1000 * number, part)))
    for time in times[::7]:
        number = times.index(time)
        tell.ask(type="time_travel", as_of=time)
        tell.ask(type="incremental_completion", start=time, end=None)
        tell.ask(type="incremental_completion", start=time, end=times[min(number + 5, 49)])


@story(
    {**MOR, **SIMPLE_INDEX},
    names={
        "disabled": {},
        "files": {**METADATA, STATS: "false"},
        "stats": {**METADATA, STATS: "true"},
    },
)
def indexes_come_late(tell: Recorder) -> None:
    """A metadata table that is not there, has only files, or one index; another index is planned, and not built yet."""
    tell.write("upsert", pa.concat_tables([some(range(6), 10, 0), some(range(6, 12), 10, 0, "b")]))
    tell.write("upsert", some(range(3), 20, 100))
    stats = tell.options.get(STATS)
    if stats is not None:
        kind, enabled = ("RECORD_INDEX", RECORDS) if stats == "true" else ("COLUMN_STATS", STATS)
        options = {**tell.options, **OPTIMISTIC, "hoodie.metadata.index.async": "true", enabled: "true"}
        tell.facts.append(tell.java.schedule_index(tell.path, [kind], options))
    tell.write("upsert", some(range(4, 8), 30, 200))
    tell.write("delete", some(range(6, 8), 99, 0, "b"))
    tell.service("compaction")
    tell.write("upsert", some(range(8, 10), 30, 300, "b"))
    tell.ask_filtered("v >= 200", [["v", ">=", 200]])
    tell.ask_filtered("id = 'k008'", [["id", "=", "k008"]])
    tell.ask_filtered("part = 'b' and ts < 20", [["part", "=", "b"], ["ts", "<", 20]])


@story(
    {
        **MOR,
        **METADATA,
        "hoodie.index.type": "RECORD_INDEX",
        RECORDS: "true",
    },
    names={"moves": {"hoodie.record.index.update.partition.path": "true"}, "stays": {}},
)
def index_of_records(tell: Recorder) -> None:
    """Deleted records come back in another partition, and records move, under a global index of records."""
    tell.write("upsert", some(range(8), 10, 0))
    tell.write("delete", some(range(3), 99, 0))
    tell.write("upsert", some(range(2), 5, 100, "b"))
    tell.write("upsert", some(range(3, 5), 20, 200, "b"))
    tell.service("compaction")
    tell.write("delete", some(range(1), 99, 0, "b"))
    tell.write("upsert", some(range(3), 1, 300, "c"))
    tell.write("upsert", rows(("k005", "a", 20, 505), ("k005", "b", 30, 605), ("k006", "b", 5, 606)))
    for key in ("k000", "k003", "k005", "k006"):
        tell.ask_filtered(f"id = '{key}'", [["id", "=", key]])
        tell.ask_filtered(f"_hoodie_record_key = '{key}'", [["_hoodie_record_key", "=", key]])
