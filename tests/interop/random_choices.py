"""What a random table is made of: its options, its columns, and rows of odd values. A source of randomness decides."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa

HIVE: Final = "hoodie.datasource.write.hive_style_partitioning"
GENERATORS: Final = "org.apache.hudi.keygen."
PAYLOADS: Final = "org.apache.hudi.common.model."
TEXTS: Final = ("", " ", "plain", "zażółć \U0001f600", "a,b:c=d/e%", "'quoted\"", "x" * 200, "\n\t", "null", None)
PLAIN_PARTITIONS: Final = ("a", "b c", "2024-01-01", "ż", "x,y", "50%", None)
ODD_PARTITIONS: Final = ("a/b", "c=d", "50%", "e f:g", "{x}", "ż#?", "", None, "plain")
EPOCH: Final = dt.datetime(2024, 2, 28, 23, 59, 59, 999_999, tzinfo=dt.UTC)

FEW_TASKS: Final = {
    "hoodie.simple.index.parallelism": "1",
    "hoodie.global.simple.index.parallelism": "1",
    "hoodie.bloom.index.parallelism": "1",
    "hoodie.metadata.record.index.min.filegroup.count": "1",
    "hoodie.metadata.record.index.max.filegroup.count": "1",
    "hoodie.insert.shuffle.parallelism": "1",
    "hoodie.upsert.shuffle.parallelism": "1",
    "hoodie.bulkinsert.shuffle.parallelism": "1",
    "hoodie.delete.shuffle.parallelism": "1",
}
"""Java starts a hundred tasks for a row otherwise; the tables are the same."""
STRUCT: Final = pa.struct(
    [("a", pa.int32()), ("b", pa.string()), ("inner", pa.struct([("c", pa.decimal128(7, 3)), ("e", pa.date32())]))]
)
OWN_COLUMNS: Final = (
    ("v", pa.int32()),
    ("s", pa.string()),
    ("f", pa.float32()),
    ("dec", pa.decimal128(20, 4)),
    ("b", pa.binary()),
    ("d", pa.date32()),
    ("t", pa.timestamp("us", tz="UTC")),
    ("st", STRUCT),
    ("structs", pa.list_(pa.struct([("x", pa.int64()), ("y", pa.string())]))),
    ("m", pa.map_(pa.string(), pa.struct([("z", pa.float64()), ("l", pa.list_(pa.int32()))]))),
    ("empty", pa.string()),
    ("flag", pa.bool_()),
)
ORDERINGS: Final[dict[str, pa.DataType]] = {
    "int": pa.int32(),
    "long": pa.int64(),
    "text": pa.string(),
    "decimal": pa.decimal128(10, 2),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "date": pa.date32(),
    "double": pa.float64(),
}


@dataclass
class Choices:
    """How a table is made.

    Attributes:
        options: write options.
        schema: columns of its rows; grows as the schema evolves.
        record_key: key columns; empty where Java makes keys.
        ordering: ordering column, or None.
        partitions: values of the first partition column.
        merge_on_read: whether it may have log files.
        logs_changes: whether change data can be asked for.
        weights: how often each operation is chosen, beside the others.
        num_keys: number of different keys.
        name: the choices in a line.

    """

    options: dict[str, str]
    schema: pa.Schema
    record_key: tuple[str, ...]
    ordering: str | None
    partitions: tuple[str | None, ...]
    merge_on_read: bool
    logs_changes: bool
    weights: dict[str, int]
    num_keys: int
    name: str

    def evolve(self) -> None:
        """Let the rows that follow have a column more, or a wider type."""
        if "v" in self.schema.names and self.schema.field("v").type == pa.int32() and len(self.schema) % 2:
            self.schema = self.schema.set(self.schema.get_field_index("v"), pa.field("v", pa.int64()))
            return
        new = pa.field(f"new_{len(self.schema)}", pa.struct([("p", pa.int32()), ("q", pa.string())]))
        self.schema = self.schema.append(new)


def choose(source: random.Random) -> Choices:
    """Decide how a table is made."""
    merge_on_read = source.random() < 0.65
    options = {
        "hoodie.table.name": "t",
        "hoodie.datasource.write.table.type": "MERGE_ON_READ" if merge_on_read else "COPY_ON_WRITE",
        "hoodie.compact.inline": "false",
        "hoodie.archive.async": "false",
        **FEW_TASKS,
    }
    said: list[str] = ["mor" if merge_on_read else "cow"]
    ordering = source.choice((*ORDERINGS, "long", None))
    columns = [("id", pa.string()), ("k2", pa.string()), ("part", pa.string()), ("num", pa.int32())]
    if ordering:
        columns.append(("ts", ORDERINGS[ordering]))
        options["hoodie.datasource.write.precombine.field"] = "ts"
    count = source.choice((2, 5, len(OWN_COLUMNS)))
    columns += [OWN_COLUMNS[0], OWN_COLUMNS[1], *source.sample(OWN_COLUMNS[2:], min(count, len(OWN_COLUMNS) - 2))]
    said.append(f"ordering {ordering}")
    record_key = _keys(source, options, said)
    partitions = _partitions(source, options, said, record_key)
    record_key = tuple(options["hoodie.datasource.write.recordkey.field"].split(","))
    _merging(source, options, said, ordering)
    _index(source, options, said, merge_on_read=merge_on_read)
    logs = _files(source, options, said, merge_on_read=merge_on_read)
    _services(source, options, said, merge_on_read=merge_on_read)
    if source.random() < 0.4:
        columns.append(("_hoodie_is_deleted", pa.bool_()))
    return Choices(
        options,
        pa.schema(columns),
        record_key,
        "ts" if ordering else None,
        partitions,
        merge_on_read,
        logs,
        _weights(source, merge_on_read=merge_on_read),
        source.choice((6, 12, 40)),
        ", ".join(said),
    )


def _keys(source: random.Random, options: dict[str, str], said: list[str]) -> tuple[str, ...]:
    record_key = source.choice((("id",), ("id",), ("id", "k2"), ("k2", "id")))
    options["hoodie.datasource.write.recordkey.field"] = ",".join(record_key)
    said.append(f"key {'+'.join(record_key)}")
    return record_key


def _partitions(
    source: random.Random, options: dict[str, str], said: list[str], record_key: tuple[str, ...]
) -> tuple[str | None, ...]:
    fields = source.choice(("", "part", "part", "part,num", "num", "num,part", "custom", "timestamp"))
    style = {
        HIVE: source.choice(("true", "false")),
        "hoodie.datasource.write.partitionpath.urlencode": source.choice(("true", "false")),
    }
    generator = "ComplexKeyGenerator"
    if not fields:
        generator = "NonpartitionedKeyGenerator"
    elif fields in ("custom", "timestamp"):
        generator = "CustomKeyGenerator" if fields == "custom" else "TimestampBasedKeyGenerator"
        options |= {
            "hoodie.keygen.timebased.timestamp.type": "DATE_STRING",
            "hoodie.keygen.timebased.input.dateformat": "yyyy-MM-dd",
            "hoodie.keygen.timebased.output.dateformat": source.choice(("yyyy/MM", "yyyyMMdd", "yyyy-MM")),
            "hoodie.keygen.timebased.timezone": "UTC",
        }
        if fields == "timestamp":
            options["hoodie.datasource.write.recordkey.field"] = record_key[0]
        said.append(fields)
        fields = "num:SIMPLE,part:TIMESTAMP" if fields == "custom" else "part"
    elif len(record_key) == 1 and "," not in fields:
        generator = "SimpleKeyGenerator"
    options |= style
    options["hoodie.datasource.write.keygenerator.class"] = GENERATORS + generator
    options["hoodie.datasource.write.partitionpath.field"] = fields
    said.append(f"by {fields} {'hive' if style[HIVE] == 'true' else 'plain'}"[:40])
    if generator in ("CustomKeyGenerator", "TimestampBasedKeyGenerator"):
        return ("2024-01-31", "2023-12-01", "1969-07-20")
    if style["hoodie.datasource.write.partitionpath.urlencode"] == "true":
        said.append("encoded")
        return tuple(source.sample(ODD_PARTITIONS, 4))
    return tuple(source.sample(PLAIN_PARTITIONS, 3))


def _merging(source: random.Random, options: dict[str, str], said: list[str], ordering: str | None) -> None:
    way = source.choice(("default", "default", "commit", "payload", "event"))
    if way == "commit" or (way == "event" and ordering):
        options["hoodie.write.record.merge.mode"] = "COMMIT_TIME_ORDERING" if way == "commit" else "EVENT_TIME_ORDERING"
    if way == "payload":
        way = source.choice(
            (
                "AWSDmsAvroPayload",
                "OverwriteNonDefaultsWithLatestAvroPayload",
                "PartialUpdateAvroPayload",
                "EventTimeAvroPayload",
                "FirstValueAvroPayload",
                "DefaultHoodieRecordPayload",
                "OverwriteWithLatestAvroPayload",
            )
        )
        options["hoodie.datasource.write.payload.class"] = PAYLOADS + way
    said.append(way)


def _index(source: random.Random, options: dict[str, str], said: list[str], *, merge_on_read: bool) -> None:
    index = source.choice(("SIMPLE", "BLOOM", "BUCKET", "CONSISTENT", "RECORD_INDEX", "GLOBAL_SIMPLE", "none", "none"))
    if index == "CONSISTENT" and not merge_on_read:
        index = "BUCKET"
    if index == "CONSISTENT":
        options |= {"hoodie.index.type": "BUCKET", "hoodie.index.bucket.engine": "CONSISTENT_HASHING"}
        options |= {"hoodie.bucket.index.num.buckets": "2", "hoodie.clustering.plan.strategy.class": CONSISTENT_PLAN}
    elif index == "BUCKET":
        options |= {"hoodie.index.type": index, "hoodie.bucket.index.num.buckets": source.choice(("1", "3"))}
    elif index != "none":
        options["hoodie.index.type"] = index
    if index == "RECORD_INDEX":
        options["hoodie.metadata.record.index.enable"] = "true"
    elif source.random() < 0.7:
        options["hoodie.metadata.enable"] = "false"
    said.append(f"index {index}, metadata {options.get('hoodie.metadata.enable', 'true')}")


CONSISTENT_PLAN: Final = "org.apache.hudi.client.clustering.plan.strategy.SparkConsistentBucketClusteringPlanStrategy"


def _files(source: random.Random, options: dict[str, str], said: list[str], *, merge_on_read: bool) -> bool:
    if merge_on_read and source.random() < 0.4:
        form = source.choice(("parquet", "parquet", "hfile"))
        options["hoodie.logfile.data.block.format"] = form
        said.append(f"{form} blocks")
    if source.random() < 0.5:
        options["hoodie.parquet.small.file.limit"] = "0"
    if source.random() < 0.15:
        options["hoodie.datasource.write.drop.partition.columns"] = "true"
        said.append("dropped partition columns")
    if not merge_on_read and source.random() < 0.1:
        options["hoodie.populate.meta.fields"] = "false"
        said.append("no meta fields")
    if source.random() < 0.15:
        options["hoodie.table.timeline.timezone"] = "LOCAL"
        said.append("local zone")
    if source.random() < 0.15:
        options["hoodie.write.record.merge.custom.implementation.classes"] = "org.apache.hudi.DefaultSparkRecordMerger"
        said.append("spark merger")
    if source.random() < 0.15:
        options["hoodie.parquet.outputtimestamptype"] = source.choice(("TIMESTAMP_MILLIS", "INT96"))
        said.append(options["hoodie.parquet.outputtimestamptype"])
    if source.random() < 0.35:
        options["hoodie.table.cdc.enabled"] = "true"
        mode = source.choice(("OP_KEY_ONLY", "DATA_BEFORE", "DATA_BEFORE_AFTER"))
        options["hoodie.table.cdc.supplemental.logging.mode"] = mode
        said.append(f"cdc {mode}")
        return True
    return False


def _services(source: random.Random, options: dict[str, str], said: list[str], *, merge_on_read: bool) -> None:
    if merge_on_read and source.random() < 0.4:
        options |= {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "3"}
        said.append("compacts")
    if merge_on_read and source.random() < 0.25:
        options |= {"hoodie.log.compaction.inline": "true", "hoodie.log.compaction.blocks.threshold": "2"}
        options["hoodie.log.compaction.enable"] = "true"
        said.append("log compaction")
    if source.random() < 0.2:
        options |= {"hoodie.clustering.inline": "true", "hoodie.clustering.inline.max.commits": "3"}
        said.append("clusters")
    if source.random() < 0.25:
        options |= {
            "hoodie.clean.commits.retained": "2",
            "hoodie.keep.min.commits": "3",
            "hoodie.keep.max.commits": "4",
        }
        said.append("archives")


def _weights(source: random.Random, *, merge_on_read: bool) -> dict[str, int]:
    """Weights, upsert first: the first operation of a table writes rows."""
    weights = {"upsert": 6, "insert": 2, "bulk_insert": 1, "delete": 2, "soft_delete": 2}
    extras = {
        "replace": {"insert_overwrite": 1, "insert_overwrite_table": 1, "delete_partition": 1},
        "cluster": {"schedule_clustering": 1, "clustering": 1, "run_clustering": 1},
        "fail": {"failed_write": 2, "rollback": 1, "savepoint_and_restore": 1},
        "sql": {"update": 1, "delete_where": 1, "merge_into": 3},
        "evolve": {"evolve": 2},
        "alter": {"alter": 2},
        "clean": {"clean": 1},
    }
    if merge_on_read:
        extras["compact"] = {"schedule_compaction": 1, "compaction": 2, "run_compaction": 1}
    for name in source.sample(sorted(extras), 3):
        weights |= extras[name]
    return weights


def random_keys(source: random.Random, choices: Choices) -> dict[str, str]:
    """One key: value by key column."""
    number = source.randrange(choices.num_keys)
    values = {"id": f"key-{number}", "k2": f"k:{number % 3}"}
    return {name: values[name] for name in choices.record_key}


def random_rows(source: random.Random, choices: Choices, *, unique: bool, soft_deletes: float) -> pa.Table:
    """Some rows; with `unique`, no key twice."""
    numbers = [source.randrange(choices.num_keys) for _ in range(source.randint(1, choices.num_keys))]
    if unique:
        numbers = sorted(set(numbers))
    rows = [_row(source, choices, number, soft_deletes) for number in numbers]
    return pa.Table.from_pylist(rows, schema=choices.schema)


def _row(source: random.Random, choices: Choices, number: int, soft_deletes: float) -> dict[str, Any]:
    known = {
        "id": f"key-{number}",
        "k2": (f"k:{number % 3}", "", None)[number % 3] if "k2" in choices.record_key else source.choice(TEXTS),
        # A key mostly stays in its partition; a global index moves it otherwise.
        "part": choices.partitions[number % len(choices.partitions)],
        "num": number % 2 + (source.random() < 0.05),
        "_hoodie_is_deleted": source.random() < soft_deletes,
        "ts": _ordering(source, choices),
    }
    return {f.name: known[f.name] if f.name in known else random_value(source, f.type) for f in choices.schema}


def _ordering(source: random.Random, choices: Choices) -> Any:
    if choices.ordering is None:
        return None
    kind, n = choices.schema.field("ts").type, source.randrange(-2, 8)
    if pa.types.is_decimal(kind):
        return Decimal(n) / 4
    if pa.types.is_timestamp(kind):
        return EPOCH + dt.timedelta(milliseconds=n)
    if pa.types.is_date(kind):
        return EPOCH.date() + dt.timedelta(days=n)
    if pa.types.is_string(kind):
        return f"{n:+}"
    return n / 2 if pa.types.is_floating(kind) else n


def random_value(source: random.Random, kind: pa.DataType) -> Any:
    """A value of a type, often null, seldom harmless."""
    if source.random() < 0.2:
        return None
    return next(make(source, kind) for belongs, make in _MAKERS if belongs(kind))


def _struct(source: random.Random, kind: pa.DataType) -> Any:
    return {kind.field(i).name: random_value(source, kind.field(i).type) for i in range(kind.num_fields)}


def _map(source: random.Random, kind: pa.DataType) -> Any:
    return [(f"k{i}", random_value(source, kind.item_type)) for i in range(source.randrange(3))]


def _list(source: random.Random, kind: pa.DataType) -> Any:
    # No null element: Java's two-level lists have no room for it.
    values = (random_value(source, kind.value_type) for _ in range(source.randrange(4)))
    return [value for value in values if value is not None]


_MAKERS: Final[tuple[tuple[Callable[[pa.DataType], bool], Callable[[random.Random, pa.DataType], Any]], ...]] = (
    (pa.types.is_struct, _struct),
    (pa.types.is_map, _map),
    (pa.types.is_list, _list),
    (pa.types.is_string, lambda source, _: source.choice(TEXTS)),
    (pa.types.is_binary, lambda source, _: source.choice((b"", b"\x00\xff", source.randbytes(5)))),
    (pa.types.is_boolean, lambda source, _: source.random() < 0.5),
    (pa.types.is_date, lambda source, _: dt.date(1900, 1, 1) + dt.timedelta(days=source.randrange(80_000))),
    (
        pa.types.is_timestamp,
        lambda source, _: (
            EPOCH + dt.timedelta(days=source.randrange(-40_000, 9000), microseconds=source.randrange(10**6))
        ),
    ),
    (pa.types.is_decimal, lambda source, kind: Decimal(source.randrange(-(10**6), 10**6)).scaleb(-kind.scale)),
    (pa.types.is_floating, lambda source, _: source.choice((0.0, -0.0, 1.5, -3e10, float("nan"), float("inf")))),
    (pa.types.is_integer, lambda source, _: source.choice((0, 1, -1, 2**31 - 1, -(2**31), 42, source.randrange(1000)))),
)
"""How a value of each kind of type is made."""
