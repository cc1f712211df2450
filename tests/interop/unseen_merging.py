"""Stories of types and merging: what becomes of two records of one key."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa

from interop.random_choices import PAYLOADS
from interop.unseen_recording import Recorder
from interop.unseen_story import COW, MOR, ONE_BUCKET, SCHEMA, SIMPLE_INDEX, ST, rows, some, story

TYPES: Final = pa.schema(
    [
        *SCHEMA,
        ("dec", pa.decimal128(9, 2)),
        ("wide", pa.decimal128(30, 5)),
        ("micros", pa.timestamp("us", tz="UTC")),
        ("millis", pa.timestamp("ms", tz="UTC")),
        ("day", pa.date32()),
        ("small", pa.int16()),
        ("raw", pa.binary()),
        ("structs", pa.list_(pa.struct([("x", pa.int64()), ("ys", pa.list_(pa.string()))]))),
        ("lists", pa.map_(pa.string(), pa.list_(pa.int32()))),
        ("nested", pa.map_(pa.string(), pa.map_(pa.string(), pa.struct([("d", pa.decimal128(5, 1))])))),
    ]
)


def typed(numbers: Iterable[int], ts: int) -> pa.Table:
    """Rows of `TYPES`; every fourth is null but for what it has to have."""

    def row(n: int) -> tuple[Any, ...]:
        at = dt.datetime(1969, 12, 31, 23, 59, 59, 999_000, tzinfo=dt.UTC) + dt.timedelta(days=n * 3000)
        nulls = (f"k{n:03}", "a", ts, None, *[None] * 10)
        values = (
            f"k{n:03}",
            "a",
            ts,
            n,
            Decimal(n * 100 - 250) / 100,
            Decimal(-(10**20) * n) / 10**5,
            at,
            at,
            at.date(),
            n - 3,
            bytes([n, 0, 255]),
            [] if n % 3 == 1 else [{"x": n, "ys": ["p", "q"][: n % 3]}, {"x": None, "ys": None}],
            [("e", []), ("n", None), ("f", [n, n + 1])],
            [("o", [("i", {"d": Decimal(n) / 10})]), ("z", [])],
        )
        return nulls if n % 4 == 3 else values

    return rows(*(row(n) for n in numbers), schema=TYPES)


@story(
    {**MOR, **ONE_BUCKET},
    names={
        "avro": {},
        "parquet": {"hoodie.logfile.data.block.format": "parquet"},
        "hfile": {"hoodie.logfile.data.block.format": "hfile"},
        "spark": {
            "hoodie.logfile.data.block.format": "parquet",
            "hoodie.write.record.merge.custom.implementation.classes": "org.apache.hudi.DefaultSparkRecordMerger",
        },
    },
)
def types_in_logs(tell: Recorder) -> None:
    """Every type in base and log files, nulls everywhere."""
    tell.write("bulk_insert", typed(range(6), 10))
    tell.write("upsert", typed(range(3, 9), 20))
    tell.service("compaction")
    tell.write("upsert", typed((0, 7, 11), 30))


@story(MOR, names={"simple": SIMPLE_INDEX, "buckets": ONE_BUCKET, "cow": COW})
def partial_updates(tell: Recorder) -> None:
    """MERGE INTO of some columns, again and again, late ones too, then a compaction, and again."""
    schema = SCHEMA.append(pa.field("s", pa.string())).append(pa.field("st", ST))
    tell.write("upsert", rows(*((f"k{i}", "a", 10, i, f"s{i}", {"a": i, "b": "b"}) for i in range(6)), schema=schema))
    merge = "merge into {{table}} t using (select '{key}' as id, {ts} as ts, {value} as x) s on t.id = s.id "
    merge += "when matched then update set {field} = s.x, ts = s.ts"

    def update(key: str, ts: int, field: str, value: str) -> None:
        cast = {"ts": f"cast({ts} as bigint)"}
        tell.sql(merge.format(key=key, value=value, field=field, **cast), **PARTIAL)

    update("k0", 20, "v", "100")
    update("k0", 30, "s", "'new'")
    update("k1", 5, "v", "101")
    update("k0", 25, "v", "102")
    if tell.options["hoodie.datasource.write.table.type"] == "MERGE_ON_READ":
        update("k2", 20, "st", "named_struct('a', 7, 'b', cast(null as string))")
        tell.service("compaction")
    update("k0", 40, "v", "104")
    update("k2", 50, "s", "cast(null as string)")
    tell.write("delete", rows(("k1", "a", 99, 0, None, None), schema=schema))


MARK: Final = {"hoodie.payload.delete.field": "op", "hoodie.payload.delete.marker": "D"}
PARTIAL: Final = {"hoodie__spark__sql__merge__into__partial__updates": "true"}


@story(
    MOR,
    names={
        "event": {**ONE_BUCKET, "hoodie.write.record.merge.mode": "EVENT_TIME_ORDERING"},
        "commit": {**ONE_BUCKET, "hoodie.write.record.merge.mode": "COMMIT_TIME_ORDERING"},
        "event_positions": {**SIMPLE_INDEX, "hoodie.write.record.merge.mode": "EVENT_TIME_ORDERING"},
        "commit_positions": {**SIMPLE_INDEX, "hoodie.write.record.merge.mode": "COMMIT_TIME_ORDERING"},
    },
)
def equal_ordering(tell: Recorder) -> None:
    """Equal ordering values, in one write and over several, with deletes by a mark of the same value."""
    schema = SCHEMA.append(pa.field("_hoodie_is_deleted", pa.bool_()))

    def each(v: int, marked: int) -> pa.Table:
        return rows(*((f"k{i}", "a", 10 * (i % 3), v + i, i == marked) for i in range(6)), schema=schema)

    tell.write("upsert", each(0, -1))
    tell.write("upsert", pa.concat_tables([each(100, 1), each(200, 2)]))
    tell.write("upsert", each(300, 3))
    tell.write(
        "upsert", rows(("k3", "a", -1, 1, False), ("k1", "a", 10, 2, False), ("k4", "a", 9, 4, True), schema=schema)
    )
    tell.service("compaction")
    tell.write("upsert", each(500, 5).slice(3))


PAYLOAD: Final = "hoodie.datasource.write.payload.class"


@story(
    {
        **MOR,
        PAYLOAD: PAYLOADS + "DefaultHoodieRecordPayload",
        "hoodie.payload.delete.field": "op",
        "hoodie.payload.delete.marker": "D",
        "hoodie.payload.ordering.field": "ts",
        "hoodie.write.record.merge.mode": "EVENT_TIME_ORDERING",
    },
    names={"buckets": ONE_BUCKET, "positions": SIMPLE_INDEX, "cow": {**COW, **SIMPLE_INDEX}},
)
def marked_deletes(tell: Recorder) -> None:
    """A column of the table's own says which records are deletes."""
    schema = SCHEMA.append(pa.field("op", pa.string()))
    tell.write("upsert", rows(*((f"k{i}", "a", 10, i, "I") for i in range(6)), schema=schema))
    tell.write("upsert", rows(("k0", "a", 20, 0, "D"), ("k1", "a", 5, 1, "D"), ("k9", "a", 1, 9, "D"), schema=schema))
    tell.write("upsert", rows(("k0", "a", 15, 7, "U"), ("k2", "a", 10, 8, "D"), schema=schema))
    if tell.options["hoodie.datasource.write.table.type"] == "MERGE_ON_READ":
        tell.service("compaction")
    tell.write("upsert", rows(("k0", "a", 3, 9, "U"), ("k3", "a", 30, 3, "D"), ("k2", "a", 1, 2, None), schema=schema))


DEBEZIUM: Final = pa.schema(
    [
        *SCHEMA,
        ("_change_operation_type", pa.string()),
        ("_upstream_event_processed_ts_ms", pa.int64()),
        ("db_shard_source_partition", pa.string()),
        ("_event_seq", pa.string()),
        ("_event_bin_file", pa.string()),
        ("_event_pos", pa.int64()),
        ("_event_lsn", pa.int64()),
        ("_event_xmin", pa.int64()),
        ("_event_origin_ts_ms", pa.int64()),
        ("Op", pa.string()),
    ]
)


@story(
    MOR,
    names={
        f"{name}{kind}": {
            **({**COW, **SIMPLE_INDEX} if kind == "_cow" else {**MOR, **ONE_BUCKET}),
            PAYLOAD: PAYLOADS + path,
            **({"hoodie.datasource.write.precombine.field": field} if field else {}),
        }
        for name, path, field in (
            ("latest", "OverwriteWithLatestAvroPayload", ""),
            ("non_defaults", "OverwriteNonDefaultsWithLatestAvroPayload", ""),
            ("partial", "PartialUpdateAvroPayload", ""),
            ("dms", "AWSDmsAvroPayload", ""),
            ("mysql", "debezium.MySqlDebeziumAvroPayload", "_event_seq"),
            ("postgres", "debezium.PostgresDebeziumAvroPayload", "_event_lsn"),
            ("event", "EventTimeAvroPayload", ""),
            ("first", "FirstValueAvroPayload", ""),
            ("default", "DefaultHoodieRecordPayload", ""),
        )
        for kind in ("", "_cow")
    },
)
def payloads(tell: Recorder) -> None:
    """Payload classes of Java, with late records, nulls and deletes of their kind."""

    def one(key: str, ts: int, v: int | None, op: str = "u") -> tuple[Any, ...]:
        return (key, "a", ts, v, op, ts, None, f"{ts // 20}.{ts:03}", "bin", ts, ts, ts, ts, {"d": "D"}.get(op, "U"))

    tell.write("upsert", rows(*(one(f"k{i}", 10, i, "c") for i in range(6)), schema=DEBEZIUM))
    tell.write(
        "upsert",
        rows(one("k0", 20, 100), one("k1", 5, 101), one("k2", 20, None), one("k3", 20, 3, "d"), schema=DEBEZIUM),
    )
    tell.write(
        "upsert",
        rows(one("k0", 15, None), one("k2", 30, 102), one("k3", 25, 103), one("k4", 5, 4, "d"), schema=DEBEZIUM),
    )
    if tell.options["hoodie.datasource.write.table.type"] == "MERGE_ON_READ":
        tell.service("compaction")
    tell.write("upsert", rows(one("k0", 40, None), one("k5", 1, 105), one("k2", 50, 2, "d"), schema=DEBEZIUM))


@story(
    {
        **MOR,
        "hoodie.write.record.merge.mode": "CUSTOM",
        "hoodie.write.record.merge.strategy.id": "eeb8d96f-b1e4-49fd-bbf8-28ac514178e5",
        "hoodie.write.record.merge.custom.implementation.classes": "org.apache.hudi.DefaultSparkRecordMerger",
        **ONE_BUCKET,
    }
)
def custom_merging(tell: Recorder) -> None:
    """The merge mode CUSTOM with a merger of Java's own."""
    tell.write("upsert", some(range(6), 10, 0))
    tell.write("upsert", some(range(3), 20, 100))
    tell.write("upsert", some(range(1, 5), 5, 200))


@story({**MOR, **ONE_BUCKET, "hoodie.write.record.merge.mode": "EVENT_TIME_ORDERING", **MARK})
def late_after_delete_partial(tell: Recorder) -> None:
    """Deletes of log files and late records over them, in slices that have partial updates."""
    schema = SCHEMA.append(pa.field("op", pa.string()))

    def write(operation: str, *changes: tuple[str, int, int, str]) -> None:
        tell.write(operation, rows(*((key, "a", ts, v, op) for key, ts, v, op in changes), schema=schema))

    write("insert", *((f"k{n}", 10, 0, "I") for n in range(10)))
    merge = "merge into {{table}} t using (select '{key}' as id, 'a' as part, cast(20 as bigint) as ts, 20 as x) s "
    merge += "on t.id = s.id when matched then update set id = s.id, t.v = s.x, t.ts = s.ts"
    tell.sql(*(merge.format(key=key) for key in ("k0", "k2", "k8")), **PARTIAL)
    write("upsert", ("k0", 30, 2, "D"), ("k4", 30, 2, "D"), ("k5", 5, 2, "D"), ("k8", 15, 2, "D"))
    write("upsert", ("k0", 25, 3, "U"), ("k4", 25, 3, "U"), ("k4b", 1, 3, "U"), ("k5", 3, 3, "U"))
