"""The schema that a table has at a snapshot time. Source: Java ``TableSchemaResolver``.

Whose duty: find the schema in the newest commit that may have changed it, by requested time; what a file of an
older schema becomes under it is `drawstring.data.conform`'s and, where columns have ids,
`drawstring.read.schema_history`'s.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from drawstring.context import TableContext
from drawstring.data.schema import avro_to_arrow, parse_avro, without_meta_fields
from drawstring.errors import CorruptFileError, SchemaError
from drawstring.read.schema_history import InternalField, load_history, parse_internal_schema
from drawstring.timeline.load import load_timeline, read_payload
from drawstring.timeline.timeline import Timeline
from drawstring_spec.meta_fields import META_FIELDS

_KEEP_THE_SCHEMA: Final = frozenset({"CLUSTER", "COMPACT", "INDEX", "LOG_COMPACT"})
"""Operations that rewrite rows as they are; their commits say nothing about the table's schema."""


@dataclass(frozen=True, slots=True)
class TableSchema:
    """A table's schema at some time.

    Attributes:
        avro: record of the table's own columns, without meta fields.
        columns: the same in Arrow types, in the table's order; what a query returns besides the meta columns.
        current: the columns with their ids, where the table's schema evolves by ids (schema on read); else None.
        history: earlier versions of `current`, by the requested time of the operation that made them, ascending.

    """

    avro: Mapping[str, Any]
    columns: pa.Schema
    current: InternalField | None = None
    history: tuple[tuple[int, InternalField], ...] = ()


def table_schema(context: TableContext, timeline: Timeline | None = None) -> pa.Schema:
    """Return the table's columns as of now, without meta columns. Raises as `resolve_schema`."""
    return resolve_schema(context, timeline or load_timeline(context.ports.storage, context.config)).columns


def resolve_schema(context: TableContext, timeline: Timeline, as_of: str | None = None) -> TableSchema:
    """Find the table's schema.

    Args:
        context: of the table.
        timeline: of the table.
        as_of: requested time; later commits are left aside. None for the newest.

    Raises:
        SchemaError: no completed write and no property of the table says what its columns are.
        FormatError: what stands there is no schema.
        NotFoundError: an instant has left the active timeline since it was loaded.

    """
    for metadata in _schema_commits(context, timeline, as_of):
        schema = parse_avro(metadata["schema"])
        latest = metadata.get("latest_schema")
        if not latest:
            return _plain(schema)
        return TableSchema(
            without_meta_fields(schema),
            avro_to_arrow(without_meta_fields(schema)),
            current=parse_internal_schema(_json(latest)),
            history=load_history(context, timeline),
        )
    if context.config.create_schema:
        return _plain(parse_avro(context.config.create_schema))
    raise SchemaError(
        f"The table {context.config.name!r} has no columns: no write has completed"
        f"{' at or before ' + as_of if as_of else ''}, and it was created without a schema.",
        way_out="Write to it first; a failed write is rolled back by the next one.",
    )


def _schema_commits(context: TableContext, timeline: Timeline, as_of: str | None) -> Iterator[dict[str, str]]:
    """Yield the extra metadata of commits that have a schema, newest first."""
    for instant in reversed(timeline.completed_writes):
        if as_of is not None and instant.requested_time > as_of:
            continue
        payload = read_payload(context.ports.storage, context.config, instant) or {}
        extra = payload.get("extraMetadata") or {}
        if payload.get("operationType") not in _KEEP_THE_SCHEMA and extra.get("schema"):
            yield extra


def _plain(schema: Mapping[str, Any]) -> TableSchema:
    own = without_meta_fields(schema)
    return TableSchema(own, avro_to_arrow(own))


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CorruptFileError(f"A commit's latest_schema is no JSON: {text[:80]!r}.") from error


def meta_schema() -> pa.Schema:
    """Return the five meta columns, in their order."""
    return pa.schema([pa.field(name, pa.string()) for name in META_FIELDS])
