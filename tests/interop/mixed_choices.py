"""What a mixed table is made of: one value of each dimension, drawn by a seed, so that features meet.

A dimension is a tuple of features; a feature names itself and has write options, or none. Combinations that Java cannot
write or read at all are taken back here (`_settled`), each with its reason.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from interop.random_choices import FEW_TASKS, GENERATORS, HIVE, ORDERINGS, PAYLOADS

KEY: Final = "hoodie.datasource.write.recordkey.field"
PARTITION: Final = "hoodie.datasource.write.partitionpath.field"
GENERATOR: Final = "hoodie.datasource.write.keygenerator.class"
ENCODED: Final = "hoodie.datasource.write.partitionpath.urlencode"
MODE: Final = "hoodie.write.record.merge.mode"
TABLE_TYPE: Final = "hoodie.datasource.write.table.type"
PAYLOAD: Final = "hoodie.datasource.write.payload.class"
_META: Final = "hoodie.metadata."
_STRATEGY: Final = "org.apache.hudi.client.clustering."


def _timed(kind: str, output: str, **more: str) -> dict[str, str]:
    texts = {"timestamp.type": kind, "output.dateformat": output, "timezone": "UTC", **more}
    return {f"hoodie.keygen.timebased.{name.replace('_', '.')}": text for name, text in texts.items()}


def _by(fields: str, generator: str, **more: str) -> dict[str, str]:
    style = {HIVE: more.pop("hive", "false"), ENCODED: more.pop("encoded", "false")}
    return {PARTITION: fields, GENERATOR: f"{GENERATORS}{generator}KeyGenerator", **style, **more}


_NARROW: Final = {
    f"hoodie.{name}.parallelism": "2"
    for name in (
        "metadata.global.bloom.index",
        "metadata.index.column.stats",
        "metadata.index.bloom.filter",
        "metadata.index.partition.stats",
        "finalize.write",
        "markers.delete",
        "rollback",
        "clean",
        "file.listing",
        "archive.delete",
    )
}
"""Beside `FEW_TASKS`."""
Feature = tuple[str, Mapping[str, str]]

TYPES: Final[tuple[Feature, ...]] = (
    ("cow", {TABLE_TYPE: "COPY_ON_WRITE"}),
    ("mor", {TABLE_TYPE: "MERGE_ON_READ", "hoodie.compact.inline": "false"}),
    ("mor", {TABLE_TYPE: "MERGE_ON_READ", "hoodie.compact.inline": "false"}),
)
KEYS: Final[tuple[Feature, ...]] = (
    ("key id", {KEY: "id"}),
    ("key id", {KEY: "id"}),
    ("key num", {KEY: "num"}),
    ("key id+k2", {KEY: "id,k2"}),
)
PARTITIONS: Final[tuple[Feature, ...]] = (
    ("unpartitioned", _by("", "Nonpartitioned")),
    ("by part", _by("part", "Simple")),
    ("by part hive", _by("part", "Simple", hive="true")),
    ("by part encoded", _by("part", "Simple", encoded="true")),
    ("by part hive encoded", _by("part", "Simple", hive="true", encoded="true")),
    ("by part,sub", _by("part,sub", "Complex")),
    ("by sub,part,day hive encoded", _by("sub,part,day", "Complex", hive="true", encoded="true")),
    ("by day", _by("day", "Simple")),
    ("by sub hive", _by("sub", "Simple", hive="true")),
    ("by time text", _by("text", "TimestampBased", **_timed("DATE_STRING", "yyyy/MM", input_dateformat="yyyy-MM-dd"))),
    ("by time millis", _by("ms", "TimestampBased", hive="true", **_timed("EPOCHMILLISECONDS", "yyyy-MM-dd"))),
    ("by time seconds", _by("sec", "TimestampBased", **_timed("UNIX_TIMESTAMP", "yyyyMMddHH"))),
    (
        "by custom part,text",
        _by("part:SIMPLE,text:TIMESTAMP", "Custom", **_timed("DATE_STRING", "yyyyMM", input_dateformat="yyyy-MM-dd")),
    ),
    ("by custom part,sub hive", _by("part:SIMPLE,sub:SIMPLE", "Custom", hive="true")),
)
ORDERS: Final = ("int", "int", "int", "long", "long", "text", "timestamp", "date", "double", "")
MERGING: Final[tuple[Feature, ...]] = (
    ("default order", {}),
    ("event time", {MODE: "EVENT_TIME_ORDERING"}),
    ("commit time", {MODE: "COMMIT_TIME_ORDERING"}),
    ("commit time", {MODE: "COMMIT_TIME_ORDERING"}),
    ("payload latest", {PAYLOAD: PAYLOADS + "OverwriteWithLatestAvroPayload"}),
    ("payload event", {PAYLOAD: PAYLOADS + "EventTimeAvroPayload"}),
    ("payload partial", {PAYLOAD: PAYLOADS + "PartialUpdateAvroPayload"}),
    ("payload non-defaults", {PAYLOAD: PAYLOADS + "OverwriteNonDefaultsWithLatestAvroPayload"}),
)
INDEXES: Final[tuple[Feature, ...]] = (
    ("simple", {"hoodie.index.type": "SIMPLE"}),
    ("bloom", {"hoodie.index.type": "BLOOM", "hoodie.bloom.index.filter.type": "SIMPLE"}),
    (
        "global simple, moves",
        {"hoodie.index.type": "GLOBAL_SIMPLE", "hoodie.simple.index.update.partition.path": "true"},
    ),
    ("global bloom, stays", {"hoodie.index.type": "GLOBAL_BLOOM", "hoodie.bloom.index.update.partition.path": "false"}),
    ("2 buckets", {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2"}),
    ("1 bucket", {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "1"}),
    (
        "consistent buckets",
        {
            "hoodie.index.type": "BUCKET",
            "hoodie.index.bucket.engine": "CONSISTENT_HASHING",
            "hoodie.bucket.index.num.buckets": "2",
            "hoodie.bucket.index.max.num.buckets": "4",
            "hoodie.bucket.index.min.num.buckets": "1",
            "hoodie.clustering.plan.strategy.class": _STRATEGY
            + "plan.strategy.SparkConsistentBucketClusteringPlanStrategy",
            "hoodie.clustering.updates.strategy": _STRATEGY
            + "update.strategy.SparkConsistentBucketDuplicateUpdateStrategy",
            "hoodie.clustering.execution.strategy.class": _STRATEGY
            + "run.strategy.SparkConsistentBucketClusteringExecutionStrategy",
        },
    ),
    (
        "record index, moves",
        {"hoodie.index.type": "RECORD_INDEX", "hoodie.record.index.update.partition.path": "true"},
    ),
)
_OFF: Final = {_META + "index.column.stats.enable": "false", _META + "index.partition.stats.enable": "false"}
_STATS: Final = {_META + "enable": "true", _META + "index.column.stats.enable": "true"}
METADATA: Final[tuple[Feature, ...]] = (
    *(("no metadata", {_META + "enable": "false"}) for _ in range(8)),
    ("files", {_META + "enable": "true", **_OFF}),
    ("stats", _STATS),
    (
        "stats, blooms, compacted",
        {
            **_STATS,
            _META + "index.bloom.filter.enable": "true",
            _META + "compact.max.delta.commits": "3",
        },
    ),
    ("stats of two columns", {**_STATS, _META + "index.column.stats.column.list": "v,part"}),
    ("secondary", {**_STATS, _META + "record.index.enable": "true"}),
    ("expression", {**_STATS, _META + "index.expression.enable": "true"}),
)
BLOCKS: Final[tuple[Feature, ...]] = (
    ("", {}),
    ("", {}),
    ("parquet blocks", {"hoodie.logfile.data.block.format": "parquet"}),
    ("small blocks", {"hoodie.logfile.data.block.max.size": "300", "hoodie.logfile.max.size": "2000"}),
    ("positions off", {"hoodie.write.record.positions": "false"}),
    ("positions", {"hoodie.write.record.positions": "true"}),
)
_CLEANING: Final = {"hoodie.clean.automatic": "true"}
SERVICES: Final[tuple[Feature, ...]] = (
    ("", {}),
    ("", {}),
    ("compacts", {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "3"}),
    (
        "log compaction",
        {
            "hoodie.log.compaction.inline": "true",
            "hoodie.log.compaction.enable": "true",
            "hoodie.log.compaction.blocks.threshold": "2",
        },
    ),
    (
        "clusters",
        {
            "hoodie.clustering.inline": "true",
            "hoodie.clustering.inline.max.commits": "4",
            "hoodie.clustering.plan.strategy.sort.columns": "v,id",
        },
    ),
    (
        "archives",
        {
            **_CLEANING,
            "hoodie.clean.commits.retained": "2",
            "hoodie.keep.min.commits": "3",
            "hoodie.keep.max.commits": "4",
            "hoodie.commits.archival.batch": "1",
            "hoodie.timeline.compaction.batch.size": "2",
        },
    ),
    (
        "keeps versions",
        {**_CLEANING, "hoodie.clean.policy": "KEEP_LATEST_FILE_VERSIONS", "hoodie.clean.fileversions.retained": "1"},
    ),
)
FILES: Final[tuple[Feature, ...]] = (
    ("", {}),
    ("", {}),
    ("small files", {"hoodie.parquet.small.file.limit": "0"}),
    ("tiny files", {"hoodie.parquet.max.file.size": "6000", "hoodie.copyonwrite.insert.split.size": "5"}),
    ("zstd", {"hoodie.parquet.compression.codec": "zstd", "hoodie.parquet.dictionary.enabled": "false"}),
    (
        "int96, legacy",
        {"hoodie.parquet.outputtimestamptype": "INT96", "hoodie.parquet.writelegacyformat.enabled": "true"},
    ),
    ("millis", {"hoodie.parquet.outputtimestamptype": "TIMESTAMP_MILLIS"}),
    ("dropped partition columns", {"hoodie.datasource.write.drop.partition.columns": "true"}),
    ("no meta columns", {"hoodie.populate.meta.fields": "false"}),
    ("virtual rows", {"hoodie.datasource.write.row.writer.enable": "false"}),
)
CHANGES: Final[tuple[Feature, ...]] = (
    ("", {}),
    ("", {}),
    *(
        (
            f"cdc {mode.lower()}",
            {"hoodie.table.cdc.enabled": "true", "hoodie.table.cdc.supplemental.logging.mode": mode},
        )
        for mode in ("OP_KEY_ONLY", "DATA_BEFORE", "DATA_BEFORE_AFTER")
    ),
)
DIMENSIONS: Final = (TYPES, KEYS, PARTITIONS, MERGING, INDEXES, METADATA, BLOCKS, SERVICES, FILES, CHANGES)
BY_ID: Final = {"hoodie.schema.on.read.enable": "true"}

_NESTED: Final = pa.struct(
    [("a", pa.int32()), ("b", pa.string()), ("in", pa.struct([("c", pa.decimal128(7, 3)), ("e", pa.int64())]))]
)
COLUMNS: Final = (
    ("price", pa.decimal128(12, 2)),
    ("wide", pa.decimal128(38, 10)),
    ("small", pa.int16()),
    ("big", pa.int64()),
    ("f", pa.float32()),
    ("x", pa.float64()),
    ("flag", pa.bool_()),
    ("at", pa.timestamp("us", tz="UTC")),
    ("birth", pa.date32()),
    ("raw", pa.binary()),
    ("st", _NESTED),
    ("tags", pa.list_(pa.string())),
    ("structs", pa.list_(pa.struct([("p", pa.int64()), ("q", pa.string())]))),
    ("m", pa.map_(pa.string(), pa.int32())),
    ("deep", pa.map_(pa.string(), pa.struct([("z", pa.float64()), ("l", pa.list_(pa.int32()))]))),
)


@dataclass
class Mix:
    """One mixed table before anything is written.

    Attributes:
        options: of every write.
        schema: of its rows; grows as the schema evolves.
        names: of the features it has.
        read_options: of Java's queries.

    """

    options: dict[str, str]
    schema: pa.Schema
    names: tuple[str, ...]
    read_options: dict[str, str]

    @property
    def merge_on_read(self) -> bool:
        """Whether it has log files."""
        return self.options[TABLE_TYPE] == "MERGE_ON_READ"

    @property
    def has(self) -> str:
        """The features in a line."""
        return "; ".join(name for name in self.names if name)

    @property
    def fixed_buckets(self) -> bool:
        """Whether a record's bucket is decided by its key for ever, so that clustering cannot move it."""
        return self.options["hoodie.index.type"] == "BUCKET" and (
            self.options.get("hoodie.index.bucket.engine") != "CONSISTENT_HASHING"
        )

    @property
    def orders_events(self) -> bool:
        """Whether records are merged by their ordering field."""
        return "ts" in self.schema.names and self.options.get(MODE) != "COMMIT_TIME_ORDERING"


def mix(source: random.Random) -> Mix:
    """Draw one feature of each dimension."""
    chosen = [source.choice(dimension) for dimension in DIMENSIONS]
    order = source.choice(ORDERS)
    names = [name for name, _ in chosen]
    options: dict[str, str] = {"hoodie.table.name": "t", "hoodie.archive.async": "false", **FEW_TASKS, **_NARROW}
    for _, own in chosen:
        options |= own
    fields = [("id", pa.string()), ("k2", pa.string()), ("num", pa.int64()), ("part", pa.string()), ("sub", pa.int32())]
    fields += [("day", pa.date32()), ("text", pa.string()), ("ms", pa.int64()), ("sec", pa.int64())]
    used = {*options[KEY].split(","), *(field.partition(":")[0] for field in options[PARTITION].split(","))}
    fields = [field for field in fields if field[0] in used | {"id", "part"}]
    if order:
        options["hoodie.datasource.write.precombine.field"] = "ts"
        fields.append(("ts", ORDERINGS[order]))
    fields += [("v", pa.int32()), ("s", pa.string())]
    fields += source.sample(COLUMNS, source.choice((2, 5, len(COLUMNS))))
    if source.random() < 0.4:
        fields.append(("_hoodie_is_deleted", pa.bool_()))
    names.append(f"ordered by {order or 'nothing'}")
    drawn = Mix(options, pa.schema(fields), tuple(names), {})
    _settle(drawn)
    return drawn


def _settle(drawn: Mix) -> None:
    """Take back what Java cannot do together."""
    options, names = drawn.options, drawn.names
    _settle_keys(drawn)
    if "record index, moves" in names:
        options |= {_META + "enable": "true", _META + "record.index.enable": "true"}
    if not drawn.merge_on_read:
        _drop(options, "hoodie.compact.", "hoodie.log.compaction.", "hoodie.logfile.")
    elif options[_META + "enable"] == "true":
        # Java's statistics of log files fail at a date that is null.
        kept = [field for field in drawn.schema if field.name != "birth"]
        drawn.schema = pa.schema(kept)
    if drawn.merge_on_read:
        _drop(options, "hoodie.datasource.write.drop.")  # Java refuses the write after the first.
    if any(pa.types.is_list(field.type) for field in drawn.schema):
        # Rows that Spark wrote itself, Java cannot write again: their lists have another layout.
        options["hoodie.datasource.write.row.writer.enable"] = "false"
    if "no meta columns" in names and (drawn.merge_on_read or "hoodie.table.cdc.enabled" in options):
        _drop(options, "hoodie.populate.")  # Java's reader of log files, and of changes, needs them.
    elif "no meta columns" in names:
        options |= {"hoodie.index.type": "SIMPLE", _META + "enable": "false"}


def _settle_keys(drawn: Mix) -> None:
    options, names = drawn.options, drawn.names
    if "," in options[KEY] and "Simple" in options[GENERATOR]:
        options[GENERATOR] = GENERATORS + "ComplexKeyGenerator"
    if "," in options[KEY] and "TimestampBased" in options[GENERATOR]:
        options[KEY] = "id"  # That generator takes one key field.
    if "ts" not in drawn.schema.names and (options.get(MODE) == "EVENT_TIME_ORDERING" or PAYLOAD in options):
        _drop(options, MODE, PAYLOAD)
    if "consistent buckets" in names and not drawn.merge_on_read:
        options["hoodie.index.bucket.engine"] = "SIMPLE"
    if drawn.fixed_buckets:
        _drop(options, "hoodie.clustering.")


def _drop(options: dict[str, str], *prefixes: str) -> None:
    for name in [name for name in options if name.startswith(prefixes)]:
        del options[name]


def odd_parts(options: Mapping[str, Any]) -> tuple[str | None, ...]:
    """Values of the column ``part``, as odd as its folders can tell."""
    if options[ENCODED] == "true":
        return ("a/b", "c=d", "50% e:f", "ż#?", "plain")
    return ("a", "b c", "2024-01-01", "żx", "x,y")
