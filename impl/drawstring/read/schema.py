"""The schema that a table has at a snapshot time. Source: Java ``TableSchemaResolver``.

Whose duty: find the schema in the newest commit that may have changed it, by requested time; what a file of an
older schema becomes under it is `drawstring.data.conform`'s and, where columns have ids,
`drawstring.read.schema_history`'s.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import pyarrow as pa

from drawstring.context import TableContext
from drawstring.data.schema import arrow_to_avro, avro_to_arrow, parse_avro, record_name, without_meta_fields
from drawstring.data.stitched_file import open_rows
from drawstring.errors import CorruptFileError, SchemaError
from drawstring.read.schema_history import InternalField, load_history, parse_internal_schema
from drawstring.read.view import load_snapshot
from drawstring.table_config import TableConfig
from drawstring.timeline.load import load_timeline, read_payload
from drawstring.timeline.timeline import Timeline
from drawstring_spec.footers import AVRO_SCHEMA, ORC_AVRO_SCHEMA
from drawstring_spec.meta_fields import META_FIELDS, OPERATION

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
        keeps_operation: a query has the sixth meta column (`drawstring.read.operation_field`).

    """

    avro: Mapping[str, Any]
    columns: pa.Schema
    current: InternalField | None = None
    history: tuple[tuple[int, InternalField], ...] = ()
    keeps_operation: bool = False


def table_schema(context: TableContext, timeline: Timeline | None = None) -> pa.Schema:
    """Return the table's columns as of now, without meta columns. Raises as `resolve_schema`."""
    return resolve_schema(context, timeline or load_timeline(context.ports.storage, context.config)).columns


def resolve_schema(context: TableContext, timeline: Timeline, as_of: str | None = None) -> TableSchema:
    """Find the table's schema.

    Args:
        context: of the table.
        timeline: of the table.
        as_of: requested time; later commits are left aside, unless there is no earlier one. None for the newest.

    Raises:
        SchemaError: no completed write, property or data file of the table says what its columns are, or a part of its
            partition columns.
        FormatError: what stands there is no schema.
        NotFoundError: an instant has left the active timeline since it was loaded.

    """
    found = _resolve(context, timeline, as_of)
    return _with_dropped(found, context.config) if context.config.drop_partition_columns else found


def _resolve(context: TableContext, timeline: Timeline, as_of: str | None) -> TableSchema:
    commit = schema_commit(context, timeline, as_of)
    if commit is None and as_of is not None:
        commit = schema_commit(context, timeline, None)
    if commit is not None:
        return _of_commit(context, timeline, commit["extraMetadata"])
    if context.config.create_schema:
        return _plain(parse_avro(context.config.create_schema))
    in_file = _in_data_file(context, timeline)
    if in_file is not None:
        return in_file
    raise SchemaError(
        f"The table {context.config.name!r} has no columns: no write has completed, and it was created without a "
        "schema.",
        rule="RD-009",
        way_out="Write to it first; a failed write is rolled back by the next one.",
    )


def _with_dropped(schema: TableSchema, config: TableConfig) -> TableSchema:
    """Add partition columns that writers left out of the data files, and so out of the schema: as texts, at the end.

    Source: Java ``TableSchemaResolver.appendPartitionColumns``. Some writers leave them out, some do not.
    """
    missing = [field for field in config.partition_fields if field not in schema.columns.names]
    if not missing:
        return schema
    if len(missing) < len(config.partition_fields):
        raise SchemaError(
            f"The schema of the table {config.name!r} has some of its partition columns, and lacks {missing}.",
            way_out="Write to it again by the writer that made it, so that a commit has a schema with all of them.",
        )
    texts = [{"name": name, "type": ["null", "string"], "default": None} for name in missing]
    columns = pa.schema([*schema.columns, *(pa.field(name, pa.string()) for name in missing)])
    return replace(schema, avro={**schema.avro, "fields": [*schema.avro["fields"], *texts]}, columns=columns)


def schema_commit(context: TableContext, timeline: Timeline, as_of: str | None) -> Mapping[str, Any] | None:
    """Return the payload of the newest commit that has a schema, until a requested time; None where there is none."""
    for instant in reversed(timeline.completed_writes):
        if as_of is not None and instant.requested_time > as_of:
            continue
        payload = read_payload(context.ports.storage, context.config, instant) or {}
        extra: Mapping[str, str] = payload.get("extraMetadata") or {}
        if payload.get("operationType") not in _KEEP_THE_SCHEMA and extra.get("schema"):
            return payload
    return None


def _of_commit(context: TableContext, timeline: Timeline, metadata: Mapping[str, str]) -> TableSchema:
    own = without_meta_fields(parse_avro(metadata["schema"]))
    latest = metadata.get("latest_schema")
    if not latest:
        return _plain(own)
    history = load_history(context, timeline)
    return TableSchema(own, avro_to_arrow(own), current=parse_internal_schema(_json(latest)), history=history)


def _in_data_file(context: TableContext, timeline: Timeline) -> TableSchema | None:
    """Return the schema of a base file, as its footer's Avro schema or its own columns give it."""
    files = load_snapshot(context, timeline=timeline, read_optimized=True).base_files()
    if not files:
        return None
    file = open_rows(context.ports.storage, files[-1])
    avro = file.footer.get(AVRO_SCHEMA, file.footer.get(ORC_AVRO_SCHEMA))
    if avro is not None and files[-1].source is None:
        return _plain(parse_avro(avro.decode("utf-8", errors="replace")))
    name, namespace = record_name(context.config.name)
    return _plain(arrow_to_avro(file.schema(), name=name, namespace=namespace))


def _plain(schema: Mapping[str, Any]) -> TableSchema:
    own = without_meta_fields(schema)
    return TableSchema(own, avro_to_arrow(own))


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CorruptFileError(f"A commit's latest_schema is no JSON: {text[:80]!r}.") from error


def meta_schema(schema: TableSchema | None = None) -> pa.Schema:
    """Return the five meta columns, in their order, and the sixth where a query of the schema has it."""
    names = (*META_FIELDS, OPERATION) if schema is not None and schema.keeps_operation else META_FIELDS
    return pa.schema([pa.field(name, pa.string()) for name in names])
