"""Look-ups through one handle, one after the other: what an earlier one fetched need not be fetched again.

Whose duty: nothing of what is kept outlives the snapshot that it was fetched for. Each look-up lists the timeline, and
only while it and the table's properties are as they were, file slices, the metadata table and open base files are
those of the look-up before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa

from drawstring.context import TableContext
from drawstring.data.kept_files import KeptFiles
from drawstring.errors import NotFoundError
from drawstring.files import Snapshot
from drawstring.metadata import MetadataTable
from drawstring.read.lookup import lookup_rows, lookup_schema
from drawstring.read.schema import TableSchema
from drawstring.read.view import load_snapshot
from drawstring.table_config import TableConfig
from drawstring.timeline.load import load_timeline

MOST_METADATA_BYTES: Final = 256 * 1024 * 1024
"""Of the metadata table; where a look-up needed more, nothing is kept."""


@dataclass(frozen=True, slots=True)
class _Held:
    """What look-ups in one snapshot share; `schemas` by whether meta columns are asked for, of all columns."""

    config: TableConfig
    snapshot: Snapshot
    files: KeptFiles = field(default_factory=KeptFiles)
    schemas: dict[bool, TableSchema] = field(default_factory=dict)


class RepeatedLookup:
    """What a table's handle keeps for its look-ups. Several threads may share it."""

    def __init__(self) -> None:
        self._held: _Held | None = None

    def rows(self, context: TableContext, keys: Any, *, columns: Sequence[str] | None, meta_columns: bool) -> pa.Table:
        """Read the rows that have some record keys; arguments and errors as `drawstring.read.lookup.lookup_rows`."""
        before, held = self._held, self._current(context)
        asked: dict[str, Any] = {"columns": columns, "meta_columns": meta_columns}
        try:
            rows = _rows(context, held, keys, asked)
        except NotFoundError:
            self._held = None
            if held is not before:
                raise
            # The metadata table's own services leave no trace on the timeline: its files may be others by now.
            held = self._current(context)
            rows = _rows(context, held, keys, asked)
        metadata = held.snapshot.metadata
        if isinstance(metadata, MetadataTable) and metadata.num_kept_bytes > MOST_METADATA_BYTES:
            self._held = None
        return rows

    def _current(self, context: TableContext) -> _Held:
        held = self._held
        timeline = load_timeline(context.ports.storage, context.config)
        if held is None or held.snapshot.timeline != timeline or held.config != context.config:
            try:
                snapshot = load_snapshot(context, timeline=timeline)
            except NotFoundError:  # An instant was archived or rolled back meanwhile.
                snapshot = load_snapshot(context)
            self._held = held = _Held(context.config, snapshot)
        return held


def _rows(context: TableContext, held: _Held, keys: Any, asked: dict[str, Any]) -> pa.Table:
    schema = None
    if asked["columns"] is None:
        meta_columns = bool(asked["meta_columns"])
        schema = held.schemas.get(meta_columns)
        if schema is None:
            schema = held.schemas[meta_columns] = lookup_schema(context, held.snapshot, None, meta_columns=meta_columns)
    return lookup_rows(context, held.snapshot, keys, schema=schema, kept=held.files, **asked)
