"""Stories of the metadata table's indexes and of change data."""

from __future__ import annotations

import pyarrow as pa

from interop.unseen_histories import CONSISTENT
from interop.unseen_recording import Recorder
from interop.unseen_story import COW, MOR, ONE_BUCKET, SCHEMA, SIMPLE_INDEX, rows, some, story


@story(
    {"hoodie.metadata.enable": "true", "hoodie.metadata.index.column.stats.enable": "true"},
    names={
        "cow": {**COW, "hoodie.metadata.index.bloom.filter.enable": "true"},
        "mor": {**MOR, "hoodie.metadata.record.index.enable": "true", "hoodie.index.type": "RECORD_INDEX"},
        "buckets": {**MOR, **ONE_BUCKET, "hoodie.metadata.record.index.enable": "true"},
    },
)
def indexed(tell: Recorder) -> None:
    """Every index of the metadata table, made before and between writes."""
    schema = SCHEMA.append(pa.field("name", pa.string())).append(pa.field("at", pa.int64()))

    def several(keys: range, ts: int, v: int, part: str) -> pa.Table:
        return rows(
            *((f"k{i:03}", part, ts, v + i, f"name-{(v + i) % 9}", 1_700_000_000 + i * 86_400) for i in keys),
            schema=schema,
        )

    tell.write("bulk_insert", several(range(20), 10, 0, "a"))
    tell.write("insert", several(range(20, 40), 10, 1000, "b"), hoodie__parquet__small__file__limit="0")
    if "hoodie.metadata.record.index.enable" in tell.options:
        tell.sql("create index idx_name on {table} (name)")
    tell.sql("create index idx_at on {table} using column_stats(at) options(expr='from_unixtime', format='yyyy-MM-dd')")
    tell.write("upsert", several(range(5, 25, 3), 20, 5000, "a"))
    tell.write("upsert", several(range(30, 36), 20, -5000, "b"))
    tell.write("delete", several(range(1), 99, 0, "a"))
    tell.write("insert", several(range(40, 45), 10, 9000, "c"), hoodie__parquet__small__file__limit="0")


@story(
    {"hoodie.table.cdc.enabled": "true"},
    names={
        f"{kind}_{mode.lower()}": {**of_kind, "hoodie.table.cdc.supplemental.logging.mode": mode}
        for kind, of_kind in (
            ("cow", {**COW, **SIMPLE_INDEX}),
            ("mor", {**MOR, **SIMPLE_INDEX}),
            ("buckets", {**MOR, **ONE_BUCKET}),
        )
        for mode in ("OP_KEY_ONLY", "DATA_BEFORE", "DATA_BEFORE_AFTER")
    },
    cdc=True,
)
def changes_over_compaction(tell: Recorder) -> None:
    """Change data and rows of ranges around compactions, with late records and deletes."""
    tell.write("upsert", some(range(6), 10, 0))
    tell.write("upsert", some(range(2, 8), 20, 100))
    if tell.options["hoodie.datasource.write.table.type"] == "MERGE_ON_READ":
        tell.service("compaction")
    tell.write("upsert", some(range(1, 4), 5, 200))
    tell.write("delete", some(range(6, 7), 99, 0))
    tell.write("upsert", some(range(5, 10), 30, 300))


@story(
    {
        **MOR,
        "hoodie.metadata.enable": "true",
        "hoodie.metadata.record.index.enable": "true",
        "hoodie.metadata.index.column.stats.enable": "false",
        "hoodie.metadata.index.partition.stats.enable": "false",
    },
    names={"buckets": {**ONE_BUCKET, "hoodie.bucket.index.num.buckets": "2"}, "consistent": CONSISTENT},
)
def unindexed_keys(tell: Recorder) -> None:
    """Records are inserted into log files, and compacted: Java's record index has none of them."""
    tell.write("upsert", some(range(6), 10, 0))
    tell.write("upsert", some(range(4, 8), 20, 100))
    tell.service("compaction")
    tell.write("upsert", some(range(7, 9), 30, 200))


@story({**COW, "hoodie.metadata.enable": "true", "hoodie.metadata.index.column.stats.enable": "true"})
def not_a_number(tell: Recorder) -> None:
    """Statistics of floating-point columns with NaN: their bounds are zeros."""
    schema = SCHEMA.append(pa.field("f", pa.float32())).append(pa.field("x", pa.float64()))
    numbers = (float("nan"), 1.5, -2.5, None)
    tell.write("insert", rows(*((f"k{i}", "a", 10, i, n, n) for i, n in enumerate(numbers)), schema=schema))
    for column in ("f", "x"):
        tell.ask_filtered(f"{column} = 1.5", [[column, "=", 1.5]])
        tell.ask_filtered(f"{column} < 0", [[column, "<", 0.0]])
        tell.ask_filtered(f"{column} is null", [[column, "is_null", None]])
