"""The tables that the interoperability tests write, and what they must hold.

`Story` writes a table step by step and keeps beside it, in plain dictionaries, the rows that any reader has to
return after each step. Ordering values grow with each step, but for one late row that has to lose.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

import drawstring as ds

Row = dict[str, Any]

SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("region", pa.string()),
        ("day", pa.string()),
        ("ts", pa.int64()),
        ("name", pa.string()),
        ("price", pa.float64()),
        ("quantity", pa.int32()),
    ]
)


@dataclass(frozen=True)
class Layout:
    """How a table is keyed and partitioned."""

    name: str
    record_key: tuple[str, ...] = ("id",)
    partition_by: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)


HIVE = {"hoodie.datasource.write.hive_style_partitioning": "true"}
PLAIN = {"hoodie.datasource.write.hive_style_partitioning": "false"}
ENCODED = {**PLAIN, "hoodie.datasource.write.partitionpath.urlencode": "true"}
LAYOUTS = (
    Layout("unpartitioned"),
    Layout("one_field_hive", partition_by=("region",), options=HIVE),
    Layout("one_field_plain", partition_by=("region",), options=PLAIN),
    Layout("two_fields_hive", ("id", "day"), ("region", "day"), HIVE),
    Layout("two_fields_plain", ("id", "day"), ("region", "day"), PLAIN),
    Layout("one_field_encoded", partition_by=("region",), options=ENCODED),
)
PLAIN_REGIONS = ("north", "south", "west")
ENCODED_REGIONS = ("north/east", "a=b", "50%:x")


def row(layout: Layout, number: int, *, ts: int, name: str) -> Row:
    """One row; its partition follows from its number, so a key never changes partition."""
    regions = ENCODED_REGIONS if layout.options == ENCODED else PLAIN_REGIONS
    return {
        "id": f"key-{number:03}",
        "region": regions[number % len(regions)],
        "day": f"2024-01-0{1 + number % 2}",
        "ts": ts,
        "name": name,
        "price": number * 1.5 if number % 7 else None,
        "quantity": number,
    }


def to_table(rows: Iterable[Row], schema: pa.Schema = SCHEMA) -> pa.Table:
    """Rows as columns."""
    return pa.Table.from_pylist(list(rows), schema=schema)


@dataclass
class Story:
    """A table under way.

    Attributes:
        table: ours, open.
        path: its base path.
        layout: how it is keyed.
        rows: what a snapshot must return now, by key.
        versions: what time travel to each requested time must return.
        to_data: brings columns into what the engine under test takes.

    """

    table: ds.Table
    path: Path
    layout: Layout
    rows: dict[str, Row] = field(default_factory=dict)
    versions: dict[str, list[Row]] = field(default_factory=dict)
    to_data: Callable[[pa.Table], Any] = lambda table: table

    def write(self, operation: str, rows: Iterable[Row]) -> None:
        """Write rows by one of our operations."""
        rows = list(rows)
        self.remember(getattr(self.table, operation)(self.to_data(to_table(rows))).requested_time, rows)

    def delete(self, numbers: Iterable[int]) -> None:
        """Delete keys by our operation."""
        keys = [self.rows[f"key-{number:03}"] for number in numbers]
        fields = (*self.layout.record_key, *self.layout.partition_by)
        schema = pa.schema([SCHEMA.field(name) for name in dict.fromkeys(fields)])
        result = self.table.delete(self.to_data(to_table([{n: k[n] for n in schema.names} for k in keys], schema)))
        self.forget(result.requested_time, keys)

    def remember(self, requested_time: str, rows: Iterable[Row]) -> None:
        """Note that `rows` were upserted, by whomever: the higher ordering value stays, the later one on a tie."""
        for new in rows:
            old = self.rows.get(new["id"])
            if old is None or new["ts"] >= old["ts"]:
                self.rows[new["id"]] = new
        self.versions[requested_time] = list(self.rows.values())

    def forget(self, requested_time: str, rows: Iterable[Row]) -> None:
        """Note that `rows` were deleted, by whomever."""
        for old in rows:
            del self.rows[old["id"]]
        self.versions[requested_time] = list(self.rows.values())

    def expected(self) -> pa.Table:
        """The rows that a snapshot must return."""
        return to_table(self.rows.values())


def create(path: Path, layout: Layout, *, engine: Any = None, options: Mapping[str, str] | None = None) -> Story:
    """Make an empty table of the layout."""
    table = ds.Table.create(
        str(path),
        SCHEMA,
        record_key=list(layout.record_key),
        partition_by=list(layout.partition_by),
        ordering="ts",
        engine=engine,
        options={**layout.options, **(options or {})},
    )
    return Story(table, path, layout)


def write_history(path: Path, layout: Layout) -> Story:
    """A table with a bulk insert, an upsert with a late row, an insert and a delete."""
    story = create(path, layout)
    continue_history(story)
    return story


def continue_history(story: Story) -> None:
    """The writes of `write_history` on an empty table."""
    layout = story.layout
    story.write("bulk_insert", [row(layout, n, ts=100, name="first") for n in range(30)])
    upserts = [row(layout, n, ts=200, name="second") for n in range(20, 40)]
    story.write("upsert", [*upserts, row(layout, 3, ts=50, name="too late")])
    story.write("insert", [row(layout, n, ts=300, name="third") for n in range(40, 50)])
    story.delete([1, 25, 41])


ALL_TYPES = pa.schema(
    [
        ("id", pa.string()),
        ("part", pa.string()),
        ("ts", pa.int64()),
        ("a_bool", pa.bool_()),
        ("an_int", pa.int32()),
        ("a_long", pa.int64()),
        ("a_float", pa.float32()),
        ("a_double", pa.float64()),
        ("a_decimal", pa.decimal128(10, 2)),
        ("a_wide_decimal", pa.decimal128(38, 18)),
        ("a_string", pa.string()),
        ("a_binary", pa.binary()),
        ("a_date", pa.date32()),
        ("a_timestamp", pa.timestamp("us", tz="UTC")),
        ("a_struct", pa.struct([("x", pa.int32()), ("inner", pa.struct([("y", pa.string())]))])),
        ("a_list", pa.list_(pa.int32())),
        ("a_map", pa.map_(pa.string(), pa.int64())),
        ("a_list_of_structs", pa.list_(pa.struct([("x", pa.int32()), ("y", pa.string())]))),
        ("a_map_of_structs", pa.map_(pa.string(), pa.struct([("z", pa.float64())]))),
        ("a_list_of_lists", pa.list_(pa.list_(pa.string()))),
    ]
)


def all_types_row(number: int, *, ts: int) -> Row:
    """A row with a value in each column, or with nulls in all but the first three (each fifth row)."""
    known: Row = {"id": f"key-{number:03}", "part": f"p{number % 2}", "ts": ts}
    if number % 5 == 4:
        return known
    return known | {
        "a_bool": number % 2 == 0,
        "an_int": -number,
        "a_long": 2**40 + number,
        "a_float": number / 4,
        "a_double": -number / 3,
        "a_decimal": Decimal(number) / 100,
        "a_wide_decimal": Decimal(f"-{number}.000000000000000001"),
        "a_string": f"zażółć {number} \U0001f600",
        "a_binary": bytes([0, number, 255]),
        "a_date": dt.date(1969, 12, 30) + dt.timedelta(days=number),
        "a_timestamp": dt.datetime(1969, 12, 31, 23, 59, 59, 123456 + number, tzinfo=dt.UTC),
        "a_struct": {"x": number, "inner": {"y": f"in {number}"}},
        "a_list": list(range(number % 3)),
        "a_map": [(f"k{i}", i) for i in range(number % 3)],
        "a_list_of_structs": [{"x": i, "y": None} for i in range(number % 3)],
        "a_map_of_structs": [("only", {"z": 0.5})],
        "a_list_of_lists": [["a", "b"], []],
    }
