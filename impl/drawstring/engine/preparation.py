"""What both kinds of writes know before they begin: the table's schema, and how its files are written."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pyarrow as pa

from drawstring.context import TableContext
from drawstring.data.base_files import BaseFileLayout
from drawstring.data.schema import canonical_avro, with_meta_fields
from drawstring.engine.file_tasks import WriteSettings
from drawstring.errors import ConflictError, UnsupportedTableError
from drawstring.read.schema import resolve_schema
from drawstring.table_config import TableConfig
from drawstring.timeline.load import load_timeline
from drawstring.timeline.timeline import Timeline
from drawstring_spec.merge_modes import MergeMode


@dataclass(frozen=True, slots=True)
class TableShape:
    """The table's schema as a write sees it.

    Attributes:
        columns: the table's own columns.
        schema_json: Avro JSON of them, for the commit.
        file_schema_json: the same with meta fields, for base files.
        last_write: requested time of the newest write that the schema was taken from; None if there was none.

    """

    columns: pa.Schema
    schema_json: str
    file_schema_json: str
    last_write: str | None

    def settings(self, context: TableContext, requested_time: str, *, use_threads: bool) -> WriteSettings:
        """Return what the file tasks of a write share."""
        return WriteSettings(
            requested_time=requested_time,
            schema=self.columns,
            avro_schema=self.file_schema_json,
            layout=BaseFileLayout.from_options(context.options),
            ordering_field=event_ordering(context.config),
            use_threads=use_threads,
        )


def table_shape(context: TableContext, timeline: Timeline | None = None) -> TableShape:
    """Find the schema that a write uses, which is the table's as it is.

    Raises:
        UnsupportedTableError: the table's columns have ids (schema on read), which a writer would have to keep.
        SchemaError: the table has no schema yet.

    """
    timeline = timeline or load_timeline(context.ports.storage, context.config)
    schema = resolve_schema(context, timeline)
    if schema.current is not None:
        raise UnsupportedTableError(
            f"The table {context.config.name!r} evolves its schema by column ids (schema on read).",
            way_out="Write it with Java Hudi; reading it works.",
        )
    avro = canonical_avro(schema.avro)
    last = timeline.last_write()
    return TableShape(
        columns=schema.columns,
        schema_json=json.dumps(avro, separators=(",", ":")),
        file_schema_json=json.dumps(with_meta_fields(avro), separators=(",", ":")),
        last_write=last.requested_time if last else None,
    )


def check_same_shape(context: TableContext, shape: TableShape, timeline: Timeline) -> None:
    """Refuse to go on where another writer changed the schema since the data was checked.

    Raises:
        ConflictError: it did.

    """
    last = timeline.last_write()
    if (last.requested_time if last else None) == shape.last_write:
        return
    if not table_shape(context, timeline).columns.equals(shape.columns):
        raise ConflictError(
            f"Another writer changed the columns of the table {context.config.name!r}.",
            way_out="Bring the data into the new columns and write again; nothing was written.",
        )


def event_ordering(config: TableConfig) -> str | None:
    """Return the field that orders rows by event time; None where the later write wins."""
    return config.ordering_field if config.merge_mode is MergeMode.EVENT_TIME_ORDERING else None
