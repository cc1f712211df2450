"""The sixth meta column, ``_hoodie_operation``: whether a query of a table has it.

Source: Java ``TableSchemaResolver.hasOperationField``; asked of Java 1.0.2 on tables that it wrote with
``hoodie.allow.operation.metadata.field``. No property of a table and no commit says that rows keep their kind of
change; files do. A query has the column, of all files, where those of the newest write have it: rows of files without
it have null, and what older files hold goes unseen where the newest write has left it out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from drawstring.context import TableContext
from drawstring.data.row_files import open_row_file
from drawstring.data.schema import parse_avro
from drawstring.errors import FormatError, NotFoundError
from drawstring.log_files.blocks import read_blocks
from drawstring.protocol.commit_metadata import stats_of
from drawstring.read.schema import TableSchema, schema_commit
from drawstring.timeline.load import read_payload
from drawstring.timeline.timeline import Timeline
from drawstring_spec.log_format import HeaderKey
from drawstring_spec.meta_fields import OPERATION


def with_operation_field(
    context: TableContext,
    timeline: Timeline,
    schema: TableSchema,
    *,
    as_of: str | None = None,
    columns: Sequence[str] | None = None,
    filter: Any = None,  # noqa: A002 -- the public face's name for it
    meta_columns: bool = True,
) -> TableSchema:
    """Return a table's schema, with the sixth meta column where its files have it and the query may ask for it.

    One file of the newest write is looked into, unless the query cannot ask for the column.

    Args:
        context: of the table.
        timeline: of the table.
        schema: of the table at the query's time.
        as_of: the query's time; None for now.
        columns: that the query asks for; None for all.
        filter: of the query.
        meta_columns: whether all columns are those with the meta columns.

    """
    # An iterator of names is not looked into: it can be read once.
    asked = meta_columns if columns is None else not isinstance(columns, Collection) or OPERATION in columns
    if not context.config.populate_meta_fields or not (asked or OPERATION in str(filter)):
        return schema
    if OPERATION in schema.columns.names or not _newest_files_have_it(context, timeline, as_of):
        return schema
    return replace(schema, keeps_operation=True)


def _newest_files_have_it(context: TableContext, timeline: Timeline, as_of: str | None) -> bool:
    files = next((files for payload in _payloads(context, timeline, as_of) if (files := _files(payload))), [])
    if not files:
        return False
    size, path = files[0]
    try:
        return _has_it(context, path, size)
    except (NotFoundError, FormatError):
        # It is cleaned, or damaged: Java goes on without the column, too. Who reads its rows is told.
        return False


def _payloads(context: TableContext, timeline: Timeline, as_of: str | None) -> Iterator[Mapping[str, Any]]:
    """Commits that may say which files are the newest; that one first which says what the table's columns are."""
    newest = None if as_of is not None else schema_commit(context, timeline, None)
    if newest is not None:
        yield newest
    for instant in reversed(timeline.completed_writes):
        yield read_payload(context.ports.storage, context.config, instant) or {}


def _files(payload: Mapping[str, Any]) -> list[tuple[int, str]]:
    """Files of a commit into which rows were inserted or updated, base files first, small ones first."""
    found = [
        (_is_log(stat["path"]), int(stat.get("fileSizeInBytes") or 0), str(stat["path"]))
        for _, stat in stats_of(payload)
        # What names no file of the table was never a base file of it; rows are found by listing.
        if stat.get("path")
        and ".." not in stat["path"].split("/")
        and ((stat.get("numInserts") or 0) > 0 or (stat.get("numUpdateWrites") or 0) > 0)
    ]
    return [(size, path) for _, size, path in sorted(found)]


def _is_log(path: str) -> bool:
    return path.rpartition("/")[2].startswith(".")


def _has_it(context: TableContext, path: str, size: int) -> bool:
    storage = context.ports.storage
    if not _is_log(path):
        return OPERATION in open_row_file(storage, path, size).schema().names
    texts = [
        block.header[HeaderKey.SCHEMA]
        for block in read_blocks(storage.read(path), path=path)
        if block.content and HeaderKey.SCHEMA in block.header
    ]
    return bool(texts) and any(field["name"] == OPERATION for field in parse_avro(texts[-1]).get("fields", ()))
