"""Stories of ranges, services and time: what happens to a table, and in which order."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from interop.random_choices import GENERATORS
from interop.unseen_recording import Recorder
from interop.unseen_story import BY_ID, COW, MOR, ONE_BUCKET, SCHEMA, SIMPLE_INDEX, ST, rows, some, story


@story(
    {**MOR, "hoodie.parquet.small.file.limit": "0"},
    names={
        "positions": SIMPLE_INDEX,
        "keys": ONE_BUCKET,
        "commit_time": {"hoodie.write.record.merge.mode": "COMMIT_TIME_ORDERING"},
    },
)
def compacted_range(tell: Recorder) -> None:
    """Late records over compacted rows: ranges that begin at the compaction, and at the write after it."""
    tell.write("upsert", some(range(6), 10, 0))
    tell.write("upsert", some(range(4), 20, 100))
    tell.service("compaction")
    tell.write("upsert", rows(("k000", "a", 5, 900), ("k001", "a", 30, 901), ("k004", "a", 1, 904)))
    tell.write("delete", rows(("k005", "a", 99, 0)))
    tell.service("compaction")
    tell.write("upsert", rows(("k002", "a", 5, 902), ("k000", "a", 4, 990), ("k009", "a", 1, 909)))


@story(
    {**MOR, "hoodie.parquet.small.file.limit": "104857600", **SIMPLE_INDEX},
)
def rewritten_base_in_range(tell: Recorder) -> None:
    """New keys rewrite a small base file, whose old rows are not of the range; then late records come in logs."""
    tell.write("upsert", some(range(6), 10, 0))
    tell.write("upsert", some(range(6, 9), 10, 0))
    tell.write("upsert", rows(("k000", "a", 5, 900), ("k007", "a", 5, 907), ("k008", "a", 20, 908)))


@story(
    {
        **MOR,
        **SIMPLE_INDEX,
        "hoodie.clean.policy": "KEEP_LATEST_FILE_VERSIONS",
        "hoodie.clean.fileversions.retained": "1",
    },
)
def cleaned_range(tell: Recorder) -> None:
    """Rows of a range whose files are cleaned, and which a log file behind the range has anew."""
    tell.write("insert", some(range(6), 10, 0))
    tell.write("upsert", some(range(3), 20, 100))
    tell.service("compaction")
    tell.java.call(tell.path, "run_clean", "retain_commits => 1")
    tell.write("upsert", some(range(1, 5), 30, 200))
    tell.write("delete", some(range(5, 6), 99, 0))


CONSISTENT: Final = {
    "hoodie.index.type": "BUCKET",
    "hoodie.index.bucket.engine": "CONSISTENT_HASHING",
    "hoodie.bucket.index.num.buckets": "2",
    "hoodie.bucket.index.max.num.buckets": "8",
    "hoodie.bucket.index.min.num.buckets": "1",
    "hoodie.bucket.index.split.threshold": "0.00001",
    "hoodie.clustering.plan.strategy.class": (
        "org.apache.hudi.client.clustering.plan.strategy.SparkConsistentBucketClusteringPlanStrategy"
    ),
    "hoodie.clustering.updates.strategy": (
        "org.apache.hudi.client.clustering.update.strategy.SparkConsistentBucketDuplicateUpdateStrategy"
    ),
    "hoodie.clustering.execution.strategy.class": (
        "org.apache.hudi.client.clustering.run.strategy.SparkConsistentBucketClusteringExecutionStrategy"
    ),
}


@story({**MOR, **CONSISTENT, "hoodie.parquet.max.file.size": "60000"})
def consistent_resize(tell: Recorder) -> None:
    """Buckets of consistent hashing are split by clustering, between writes, and written while the split is planned."""
    own = {*CONSISTENT, "hoodie.parquet.max.file.size"}
    service = {name.replace(".", "__"): value for name, value in tell.options.items() if name in own}
    tell.write("bulk_insert", some(range(40), 10, 0))
    tell.write("upsert", some(range(10), 20, 100))
    tell.service("clustering", **service)
    tell.write("upsert", some(range(5, 15), 30, 200))
    tell.service("clustering", "schedule", **service)
    written_twice = tell.write("upsert", some(range(12, 18), 40, 300))
    tell.service("clustering", "execute", **service)
    tell.write("upsert", some(range(14, 16), 50, 400))
    ends = {i["requested_time"]: i["completion_time"] for i in tell.java.timeline(tell.path)}
    tell.ask(type="incremental_completion", start=ends[written_twice], end=ends[written_twice])


NESTED: Final = SCHEMA.append(pa.field("st", ST))


@story({**MOR, **ONE_BUCKET, **BY_ID, "hoodie.datasource.write.reconcile.schema": "true"}, read_options=BY_ID)
def nested_rename(tell: Recorder) -> None:
    """A field of a struct is renamed while records of its old name lie in log files."""
    old = [("k0", "a", 1, 0, {"a": 1, "b": "x"}), ("k1", "a", 1, 0, {"a": 2, "b": "y"})]
    tell.write("upsert", rows(*old, schema=NESTED))
    tell.write("upsert", rows(("k1", "a", 2, 0, {"a": 3, "b": "z"}), schema=NESTED))
    tell.sql("alter table {table} rename column st.b to c", hoodie__schema__on__read__enable="true")
    new = SCHEMA.append(pa.field("st", pa.struct([("a", pa.int32()), ("c", pa.string())])))
    tell.write("upsert", rows(("k2", "a", 3, 0, {"a": 4, "c": "w"}), schema=new))
    tell.service("compaction")
    tell.write("upsert", rows(("k0", "a", 4, 0, {"a": 5, "c": "q"}), schema=new))


TIGHT: Final = {
    "hoodie.clean.commits.retained": "3",
    "hoodie.keep.min.commits": "5",
    "hoodie.keep.max.commits": "7",
    "hoodie.commits.archival.batch": "3",
}


@story(
    {**TIGHT, **ONE_BUCKET},
    names={"cow": COW, "mor": {**MOR, "hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "4"}},
)
def long_history(tell: Recorder) -> None:
    """Many commits under tight bounds of cleaning and archival: times and ranges of all that ever was."""
    times = []
    for number in range(45):
        keys = range(number % 7, number % 7 + 5)
        times.append(tell.write("upsert", some(keys, number - 3 * (number % 4), 1000 * number)))
    for time in times[::6]:
        tell.ask(type="time_travel", as_of=time)
        tell.ask(type="incremental_completion", start=time, end=times[-1])
        tell.ask(type="incremental_completion", start=time, end=times[min(times.index(time) + 4, 44)])


@story({"hoodie.populate.meta.fields": "false"}, names={"cow": COW, "mor": MOR})
def without_meta_fields(tell: Recorder) -> None:
    """Rows carry no meta columns; keys are built again where log files are merged."""
    tell.write("bulk_insert", some(range(6), 10, 0))
    tell.write("upsert", rows(("k000", "a", 20, 900), ("k001", "a", 5, 901), ("k010", "b", 1, 910)))
    tell.write("delete", rows(("k003", "a", 99, 0)))
    if tell.options["hoodie.datasource.write.table.type"] == "MERGE_ON_READ":
        tell.service("compaction")
        tell.write("upsert", rows(("k003", "a", 1, 903), ("k000", "a", 3, 990)))


@story({**ONE_BUCKET, "hoodie.bucket.index.num.buckets": "3"}, names={"cow": COW, "mor": MOR})
def simple_buckets(tell: Recorder) -> None:
    """A bucket index of three buckets, in partitions that come and go."""
    tell.write("upsert", pa.concat_tables([some(range(6), 10, 0), some(range(6, 9), 10, 0, "b")]))
    tell.write("upsert", pa.concat_tables([some(range(3, 7), 20, 100), some(range(8, 12), 5, 100, "b")]))
    tell.write("delete_partition", some(range(1), 1, 0), hoodie__datasource__write__partitions__to__delete="b")
    tell.write("upsert", some(range(7, 9), 30, 200, "b"))


ODD: Final = ("", "a,b", "id:a", "50%", "ż\U0001f600", "é", "é", "x/y", " ", "__null__", "null", "a\tb", "'", '"')


@story({**MOR}, names={"simple": SIMPLE_INDEX, "buckets": ONE_BUCKET, "bloom": {"hoodie.index.type": "BLOOM"}})
def odd_keys(tell: Recorder) -> None:
    """Record keys with everything that separates, escapes or is hardly there."""
    tell.write("upsert", rows(*((key or "~", "a", 10, i) for i, key in enumerate(ODD))))
    tell.write("upsert", rows(*((key or "~", "a", 5 + 10 * (i % 2), 100 + i) for i, key in enumerate(ODD))))
    tell.write("delete", rows(*((key or "~", "a", 99, 0) for key in ODD[1::4])))


@story(
    {
        "hoodie.datasource.write.recordkey.field": "id,id2",
        "hoodie.datasource.write.keygenerator.class": GENERATORS + "ComplexKeyGenerator",
        **ONE_BUCKET,
    },
    names={"mor": MOR, "bare": {**MOR, "hoodie.populate.meta.fields": "false"}},
)
def odd_composite_keys(tell: Recorder) -> None:
    """Keys of two fields with empty and missing parts, commas and colons in them."""
    schema = pa.schema([("id", pa.string()), ("id2", pa.string()), *list(SCHEMA)[1:]])
    second = ("", None, "a,id2:b", ":", "x")
    tell.write("upsert", rows(*((f"k{i}", key, "a", 10, i) for i, key in enumerate(second)), schema=schema))
    tell.write("upsert", rows(*((f"k{i}", key, "a", 20, 10 + i) for i, key in enumerate(second)), schema=schema))
    tell.write("delete", rows(("k0", "", "a", 99, 0), ("k2", "a,id2:b", "a", 99, 0), schema=schema))


@story(
    {},
    names={
        "cow": {**COW, **SIMPLE_INDEX},
        "mor": {**MOR, **ONE_BUCKET},
        "metadata": {**MOR, "hoodie.metadata.enable": "true"},
    },
)
def overwrites(tell: Recorder) -> None:
    """Partitions, then the table, are overwritten and deleted."""
    tell.write("upsert", pa.concat_tables([some(range(4), 10, 0), some(range(4, 8), 10, 0, "b")]))
    tell.write("upsert", pa.concat_tables([some(range(2), 20, 50), some(range(4, 6), 20, 50, "b")]))
    tell.write("insert_overwrite", some(range(2, 5), 1, 100, "b"))
    tell.write("delete_partition", some(range(1), 1, 0), hoodie__datasource__write__partitions__to__delete="a")
    tell.write("upsert", some(range(3), 5, 200))
    tell.write("insert_overwrite_table", some(range(6, 9), 1, 300, "c"))
    tell.write("upsert", some(range(3), 1, 400))


@story({}, names={"cow": {**COW, **SIMPLE_INDEX}, "mor": {**MOR, **ONE_BUCKET}, "positions": {**MOR, **SIMPLE_INDEX}})
def restored(tell: Recorder) -> None:
    """A savepoint, more writes and a compaction, the restore, and writes after it."""
    times = [tell.write("upsert", some(range(6), 10, 0)), tell.write("upsert", some(range(3), 20, 100))]
    tell.java.call(tell.path, "create_savepoint", f"commit_time => '{times[-1]}'")
    tell.write("upsert", some(range(2, 8), 30, 200))
    if tell.options["hoodie.datasource.write.table.type"] == "MERGE_ON_READ":
        tell.service("compaction")
    tell.write("delete", some(range(1), 99, 0))
    gone = [i["completion_time"] for i in tell.java.timeline(tell.path) if i["completion_time"]]
    tell.java.call(tell.path, "rollback_to_savepoint", f"instant_time => '{times[-1]}'")
    tell.write("upsert", some(range(1, 4), 15, 300))
    for time in gone:
        tell.ask(type="time_travel", as_of=time)
        tell.ask(type="incremental_completion", start=time, end=None)


BY_TIME: Final = {
    "hoodie.keygen.timebased.timestamp.type": "EPOCHMILLISECONDS",
    "hoodie.keygen.timebased.output.dateformat": "yyyy/MM/dd",
    "hoodie.keygen.timebased.timezone": "UTC",
}


@story(
    {**ONE_BUCKET, **BY_TIME},
    names={
        "timestamp_mor": {
            **MOR,
            "hoodie.datasource.write.partitionpath.field": "at",
            "hoodie.datasource.write.keygenerator.class": GENERATORS + "TimestampBasedKeyGenerator",
        },
        "timestamp_cow": {
            **COW,
            "hoodie.datasource.write.partitionpath.field": "at",
            "hoodie.datasource.write.keygenerator.class": GENERATORS + "TimestampBasedKeyGenerator",
        },
        "custom_mor": {
            **MOR,
            "hoodie.datasource.write.partitionpath.field": "part:SIMPLE,at:TIMESTAMP",
            "hoodie.datasource.write.keygenerator.class": GENERATORS + "CustomKeyGenerator",
        },
        "custom_hive": {
            **MOR,
            "hoodie.datasource.write.partitionpath.field": "part:SIMPLE,at:TIMESTAMP",
            "hoodie.datasource.write.keygenerator.class": GENERATORS + "CustomKeyGenerator",
            "hoodie.datasource.write.hive_style_partitioning": "true",
            "hoodie.keygen.timebased.output.dateformat": "yyyy-MM-dd HH",
        },
    },
)
def partitions_of_time(tell: Recorder) -> None:
    """Partitions that a key generator makes of milliseconds since 1970."""
    schema = SCHEMA.append(pa.field("at", pa.int64()))
    day = 86_400_000

    def several(ts: int, v: int) -> pa.Table:
        return rows(
            *((f"k{i}", "ab"[i % 2], ts, v + i, 1_700_000_000_000 + day * (i // 2)) for i in range(6)), schema=schema
        )

    tell.write("upsert", several(10, 0))
    tell.write("upsert", several(20, 100).slice(0, 3))
    if tell.options["hoodie.datasource.write.table.type"] == "MERGE_ON_READ":
        tell.service("compaction")
    tell.write("upsert", several(15, 200).slice(2, 3))


@story(
    {**MOR, **ONE_BUCKET, "hoodie.log.compaction.enable": "true", "hoodie.log.compaction.blocks.threshold": "2"},
    names={"avro": {}, "commit_time": {"hoodie.write.record.merge.mode": "COMMIT_TIME_ORDERING"}},
)
def log_compactions(tell: Recorder) -> None:
    """Log compaction between writes and deletes, then a compaction of what it made."""
    inline = {"hoodie__log__compaction__inline": "true"}
    tell.write("upsert", some(range(6), 10, 0))
    tell.write("upsert", some(range(3), 20, 100))
    tell.write("upsert", some(range(1, 5), 5, 200), **inline)
    if "hoodie.write.record.merge.mode" in tell.options:  # Else Java cannot compact a delete before a later record.
        tell.write("delete", some(range(1), 99, 0))
    tell.write("upsert", some(range(0, 6, 2), 30, 300), **inline)
    tell.write("upsert", some(range(2), 1, 400))
    tell.service("compaction")
    tell.write("upsert", some(range(3), 40, 500))


@story(
    {},
    names={
        "simple_mor": {
            **MOR,
            "hoodie.index.type": "GLOBAL_SIMPLE",
            "hoodie.simple.index.update.partition.path": "true",
        },
        "simple_cow": {
            **COW,
            "hoodie.index.type": "GLOBAL_SIMPLE",
            "hoodie.simple.index.update.partition.path": "true",
        },
        "bloom": {**MOR, "hoodie.index.type": "GLOBAL_BLOOM", "hoodie.bloom.index.update.partition.path": "true"},
        "record": {
            **MOR,
            "hoodie.index.type": "RECORD_INDEX",
            "hoodie.metadata.enable": "true",
            "hoodie.metadata.record.index.enable": "true",
            "hoodie.record.index.update.partition.path": "true",
        },
        "stays": {**MOR, "hoodie.index.type": "GLOBAL_SIMPLE", "hoodie.simple.index.update.partition.path": "false"},
    },
)
def moved_records(tell: Recorder) -> None:
    """Records whose partition changes under a global index: late ones, moved back, deleted, compacted."""
    tell.write("upsert", some(range(6), 10, 0))
    tell.write("upsert", some(range(2), 20, 100, "b"))
    tell.write("upsert", some(range(2, 4), 5, 200, "b"))
    tell.write("upsert", some(range(1), 30, 300))
    if tell.options["hoodie.datasource.write.table.type"] == "MERGE_ON_READ":
        tell.service("compaction")
    tell.write("upsert", some(range(1), 40, 400, "c"))
    tell.write("delete", some(range(1, 2), 99, 0, "b"))
