"""Stories of tables that merge by a payload class of Hudi's own, over log files."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import fastavro
import pyarrow as pa

from interop.random_choices import PAYLOADS
from interop.unseen_merging import PAYLOAD
from interop.unseen_merging import typed as types_of
from interop.unseen_recording import Recorder
from interop.unseen_story import BY_ID, MOR, ONE_BUCKET, SCHEMA, SIMPLE_INDEX, rows, story

STREAM: Final = pa.schema(
    [
        *SCHEMA,
        ("s", pa.string()),
        ("raw", pa.binary()),
        ("_change_operation_type", pa.string()),
        ("_event_lsn", pa.int64()),
        ("_event_seq", pa.string()),
        ("Op", pa.string()),
        ("_hoodie_is_deleted", pa.bool_()),
    ]
)
UNAVAILABLE: Final = "__debezium_unavailable_value"
CLASSES: Final = {
    "non_defaults": ("OverwriteNonDefaultsWithLatestAvroPayload", "ts"),
    "partial": ("PartialUpdateAvroPayload", "ts"),
    "dms": ("AWSDmsAvroPayload", "ts"),
    "mysql": ("debezium.MySqlDebeziumAvroPayload", "_event_seq"),
    "postgres": ("debezium.PostgresDebeziumAvroPayload", "_event_lsn"),
    "event": ("EventTimeAvroPayload", "ts"),
    "first": ("FirstValueAvroPayload", "ts"),
}


def _of(name: str) -> Mapping[str, str]:
    path, field = CLASSES[name]
    return {PAYLOAD: PAYLOADS + path, "hoodie.datasource.write.precombine.field": field}


def _row(key: int, ts: int | None, v: int | None, s: str | None = None, **more: Any) -> tuple[Any, ...]:
    operation, deleted = more.get("op", "u"), more.get("deleted", False)
    sequence = None if ts is None else f"{ts // 10:05}.{ts}"
    marks = (operation, ts, sequence, "D" if operation == "d" else "U", deleted)
    return (f"k{key:02}", "a", ts, v, s, more.get("raw"), *marks)


def _rows(*values: tuple[Any, ...]) -> pa.Table:
    return rows(*values, schema=STREAM)


def _base(*, marked: bool) -> pa.Table:
    """Rows of a base file as they are given, with a null for an ordering value and marks of deletes."""
    odd = [_row(12, None, 12, "s12")]
    if marked:
        odd += [_row(13, 10, 13, "s13", op="d"), _row(14, 10, 14, "s14", deleted=True)]
    return _rows(*(_row(i, 10, i, f"s{i}", raw=bytes([i])) for i in range(12)), *odd)


@story({**MOR, **ONE_BUCKET}, names={name: _of(name) for name in CLASSES})
def payload_rules(tell: Recorder) -> None:
    """Late records, ties, nulls, marks of deletes, over base files and log files, several of a key in one block."""
    dms = tell.options[PAYLOAD].endswith("AWSDmsAvroPayload")
    tell.write("bulk_insert", _base(marked=not dms))
    first = [
        *(_row(0, 20, 100), _row(1, 5, 101), _row(2, 10, None, "t"), _row(3, 20, 3, op="d")),
        *(_row(4, 5, 4, op="d"), _row(5, 20, 5, deleted=True), _row(6, 5, 6, deleted=True)),
        *(_row(7, 20, None, UNAVAILABLE, raw=UNAVAILABLE.encode()), _row(12, 1, 112), _row(20, 10, 20)),
    ]
    tell.write("upsert", _rows(*first, *([] if dms else [_row(13, 20, 113), _row(14, 20, 114)])))
    tell.write(
        "upsert",
        _rows(
            *(_row(0, 15, None, "late"), _row(1, 30, None), _row(2, 10, 202), _row(3, 25, 103)),
            *(_row(5, 15, 105, "late"), _row(6, 30, 106), _row(7, 30, 7, UNAVAILABLE)),
            *(_row(20, 10, None, "n20"), _row(21, 10, 21, op="d"), _row(22, 10, 22, UNAVAILABLE)),
        ),
    )
    several = [_row(0, 40, 400), _row(0, 35, None, "x"), _row(8, 20, 208), _row(8, 30, None, "y"), _row(8, 25, 9, "z")]
    more = [_row(22, 20, None, "n22"), _row(22, 15, 15, "late", raw=b"r"), _row(10, 20, 210, op="d"), _row(10, 30, 310)]
    tell.write("upsert", _rows(*several, *more), hoodie__combine__before__upsert="false")
    tell.write("delete", _rows(_row(9, 99, 0)))
    tell.service("compaction")
    tell.write(
        "upsert",
        _rows(_row(0, 50, None, None), _row(1, 1, 1, "late"), _row(5, 60, 5), _row(9, 70, 9), _row(22, 80, 2, op="d")),
    )
    tell.write("upsert", _rows(_row(0, 45, 45, "late"), _row(1, 31, None, UNAVAILABLE), _row(23, 1, 23)))


def _kinds(values: Mapping[str, tuple[pa.DataType, Any, Any, Any]]) -> dict[str, Mapping[str, str]]:
    return {f"{name}_{kind}": _of(name) for kind in values for name in ("partial", "event")}


_DAY: Final = dt.date(2024, 1, 1)
_TIME: Final = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
KINDS: Final = {
    "string": (pa.string(), "a", "b", "c"),
    "date": (pa.date32(), _DAY, _DAY + dt.timedelta(1), _DAY + dt.timedelta(2)),
    "decimal": (pa.decimal128(9, 2), Decimal("1.10"), Decimal("2.20"), Decimal("3.30")),
    "int": (pa.int32(), -1, 2, 3),
    "time": (pa.timestamp("us", tz="UTC"), _TIME, _TIME + dt.timedelta(1), _TIME + dt.timedelta(2)),
    "double": (pa.float64(), -0.0, 0.0, float("nan")),
}


@story({**MOR, **ONE_BUCKET}, names=_kinds(KINDS))
def payload_ordering(tell: Recorder) -> None:
    """Ordering values of other types: late ones, equal ones, none in a base file."""
    kind, low, middle, high = KINDS[tell.path.name.rpartition("_")[2]]
    schema = SCHEMA.set(2, pa.field("ts", kind)).append(pa.field("s", pa.string()))
    base = [(f"k{i}", "a", value, i, "base") for i, value in enumerate((low, middle, high, high, None))]
    tell.write("bulk_insert", rows(*base, schema=schema))
    tell.write("upsert", rows(*((f"k{i}", "a", middle, None, f"one{i}") for i in range(6)), schema=schema))
    tell.write("upsert", rows(*((f"k{i}", "a", low, 200 + i, None) for i in (0, 2, 5)), schema=schema))
    tell.write("upsert", rows(("k3", "a", high, 33, None), ("k4", "a", high, None, "three"), schema=schema))


@story({**MOR, **SIMPLE_INDEX}, names={name: _of(name) for name in ("partial", "postgres", "first")})
def payload_positions(tell: Recorder) -> None:
    """Records of log files that say where in the base file they belong."""
    tell.write("bulk_insert", _base(marked=False))
    tell.write("upsert", _rows(_row(0, 20, None, UNAVAILABLE), _row(1, 5, 101), _row(3, 20, 3, op="d")))
    tell.write("upsert", _rows(_row(0, 15, 15, "late"), _row(2, 10, None, "t"), _row(3, 30, 103)))
    tell.write("delete", _rows(_row(4, 99, 0)))


_MARKS: Final = {"hoodie.payload.delete.field": "Op", "hoodie.payload.delete.marker": "D"}


@story({**MOR, **ONE_BUCKET, **_MARKS}, names={name: _of(name) for name in ("first", "event", "partial")})
def payload_marks(tell: Recorder) -> None:
    """A column of the table's own says which records are deletes."""
    tell.write("bulk_insert", _base(marked=True))
    tell.write("upsert", _rows(_row(0, 20, 0, op="d"), _row(1, 5, 1, op="d"), _row(13, 20, 113), _row(14, 20, 114)))
    tell.write("upsert", _rows(_row(0, 15, 7), _row(2, 10, 8, op="d"), _row(1, 30, 101), _row(30, 1, 3, op="d")))
    tell.write("upsert", _rows(_row(0, 30, 8, "new"), _row(2, 20, None)))


@story(
    {**MOR, **ONE_BUCKET},
    names={
        "no_meta": {**_of("partial"), "hoodie.populate.meta.fields": "false"},
        "added": _of("partial"),
        "no_ordering": {PAYLOAD: _of("partial")[PAYLOAD], "hoodie.datasource.write.precombine.field": ""},
    },
)
def payload_tables(tell: Recorder) -> None:
    """Tables without meta fields or an ordering field, and one that gets a column more."""
    schema = SCHEMA.append(pa.field("s", pa.string()))
    tell.write("bulk_insert", rows(*((f"k{i}", "a", 10, i, f"s{i}") for i in range(6)), schema=schema))
    tell.write(
        "upsert", rows(("k0", "a", 20, None, "x"), ("k1", "a", 5, 101, None), ("k9", "a", 1, 9, None), schema=schema)
    )
    if "added" in tell.path.name:
        schema = schema.append(pa.field("more", pa.string()))
    extra = ("more",) if "added" in tell.path.name else ()
    tell.write("upsert", rows(("k0", "a", 15, 15, None, *extra), ("k9", "a", 3, None, "y", *extra), schema=schema))
    tell.write("upsert", rows(("k1", "a", 30, None, None, *extra), ("k2", "a", 1, 2, "z", *extra), schema=schema))


@story(
    {**MOR, **ONE_BUCKET, "hoodie.table.cdc.enabled": "true"},
    names={name: _of(name) for name in ("partial", "first", "postgres")},
    cdc=True,
)
def payload_changes(tell: Recorder) -> None:
    """Change data of tables that merge by payload classes."""
    tell.write("bulk_insert", _base(marked=False))
    tell.write("upsert", _rows(_row(0, 20, None, UNAVAILABLE), _row(1, 5, 101), _row(3, 20, 3, op="d"), _row(20, 1, 2)))
    tell.write("upsert", _rows(_row(0, 15, 15, "late"), _row(2, 10, None, "t"), _row(20, 3, None, "n")))
    tell.service("compaction")
    tell.write("upsert", _rows(_row(0, 30, None, "new"), _row(1, 5, None), _row(20, 2, 20)))


@story({**MOR, **ONE_BUCKET}, names={name: _of(name) for name in ("partial",)})
def payload_reinserted(tell: Recorder) -> None:
    """A key that a delete took away without an ordering value, written again in the same slice."""
    tell.write("bulk_insert", _base(marked=False))
    tell.write("delete", _rows(_row(0, 99, 0)))
    tell.write("upsert", _rows(_row(0, 20, 7), _row(1, 20, None)))


@story(
    {**MOR, **ONE_BUCKET},
    names={
        "partial": _of("partial"),
        "parquet": {**_of("partial"), "hoodie.logfile.data.block.format": "parquet"},
        "postgres": {PAYLOAD: PAYLOADS + CLASSES["postgres"][0]},
    },
)
def payload_types(tell: Recorder) -> None:
    """Every type in base and log files, nulls everywhere."""

    def typed(numbers: Iterable[int], ts: int) -> pa.Table:
        table = types_of(numbers, ts)
        return table.append_column("_event_lsn", table["ts"])

    tell.write("bulk_insert", typed(range(6), 10))
    tell.write("upsert", typed(range(2, 9), 20))
    tell.write("upsert", typed((3, 4, 7, 11), 15))
    tell.write("upsert", typed((0, 3), 30))


@story({**MOR, **ONE_BUCKET}, names={name: _of(name) for name in ("non_defaults", "partial")})
def payload_defaults(tell: Recorder) -> None:
    """The writer's schema has a default that is not null, and records have it."""
    tell.write("bulk_insert", rows(*((f"k{i}", "a", 10, i + 1) for i in range(4))))
    tell.write("upsert", rows(("k0", "a", 20, 0), ("k1", "a", 20, None), ("k9", "a", 20, 0)))
    tell.write("upsert", rows(("k0", "a", 5, 7), ("k2", "a", 30, 0)))
    for file in sorted((tell.path / ".hoodie" / "timeline").glob("*.deltacommit")):
        _with_default(file, "v", 0)


def _with_default(file: Path, name: str, value: int) -> None:
    """Write a default into the schema that a commit names; Hadoop's checksum beside the file goes."""
    with file.open("rb") as source:
        reader = fastavro.reader(source)
        kind, records = reader.writer_schema, list(reader)
    for record in records:
        schema = json.loads(record["extraMetadata"]["schema"])
        for field in schema["fields"]:
            if field["name"] == name:
                field["type"], field["default"] = sorted(field["type"], key=lambda member: member == "null"), value
        record["extraMetadata"]["schema"] = json.dumps(schema)
    with file.open("wb") as sink:
        fastavro.writer(sink, kind, records)
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)


@story({**MOR, **ONE_BUCKET, **BY_ID}, names={name: _of(name) for name in ("partial", "event")}, read_options=BY_ID)
def payload_renamed(tell: Recorder) -> None:
    """A column is renamed and one is added between records that meet."""
    schema = SCHEMA.append(pa.field("s", pa.string()))
    tell.write("bulk_insert", rows(*((f"k{i}", "a", 10, i, f"s{i}") for i in range(4)), schema=schema))
    tell.write("upsert", rows(("k0", "a", 20, None, "x"), ("k1", "a", 5, 101, None), schema=schema))
    tell.sql("alter table {table} rename column s to r", "alter table {table} add columns (t int)")
    schema = SCHEMA.append(pa.field("r", pa.string())).append(pa.field("t", pa.int32()))
    tell.write("upsert", rows(("k0", "a", 30, 300, None, 1), ("k1", "a", 1, None, "late", 2), schema=schema))
