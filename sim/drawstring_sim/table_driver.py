"""Calls production code as a user would: `drawstring.Table` over simulated ports, with single-threaded Arrow."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from drawstring.engine.embedded import EmbeddedEngine
from drawstring.options import Options
from drawstring.table import Table
from drawstring_sim.judge import VerdictError
from drawstring_sim.operations import Content, Kind, Operation
from drawstring_sim.world import Writer

SCHEMA: Final = pa.schema([("id", pa.string()), ("day", pa.string()), ("value", pa.int64())])
"""The columns of every simulated table: record key, partition, and a value that tells writes apart."""


def create_table(writer: Writer, options: Options) -> Table:
    """Create the simulated table."""
    return Table.create(
        writer.ports.storage.uri,
        SCHEMA,
        record_key="id",
        partition_by="day",
        engine=_engine(),
        options=_given(options),
        ports=writer.ports,
        emit=writer.hear,
    )


def open_table(writer: Writer, options: Options) -> Table:
    """Open the simulated table."""
    return Table.open(
        writer.ports.storage.uri, engine=_engine(), options=_given(options), ports=writer.ports, emit=writer.hear
    )


def perform(writer: Writer, options: Options, operation: Operation) -> object:
    """Open the table and carry an operation out; raises what `Table` raises."""
    table = open_table(writer, options)
    rows = [{"id": key, "day": day, "value": value} for (day, key), value in operation.rows]
    data = pa.Table.from_pylist(rows, schema=SCHEMA)
    if operation.kind is Kind.DELETE:
        return table.delete(data.drop_columns(["value"]))
    if operation.kind is Kind.UPSERT:
        return table.upsert(data)
    if operation.kind is Kind.INSERT:
        return table.insert(data)
    return table.bulk_insert(data)


def read_content(writer: Writer, options: Options, as_of: str | None) -> Content:
    """What the table holds, as production code reads it; raises what `Table.read` raises."""
    answer = open_table(writer, options).read(as_of=as_of, meta_columns=False)
    content: dict[tuple[str, str], int] = {}
    for row in answer.to_pylist():
        key = (row["day"], row["id"])
        if key in content:
            raise VerdictError(f"The key {key} was read twice.")
        content[key] = row["value"]
    return content


def _engine() -> EmbeddedEngine:
    return EmbeddedEngine(use_threads=False)


def _given(options: Options) -> dict[str, object]:
    return {key: options[key] for key in sorted(options.given)}
