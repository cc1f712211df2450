"""One base file's part of a query. Source: Java ``HoodieFileGroupReader`` for slices without log files.

Whose duty: read a base file under the table's schema, whatever schema it was written with. Bytes are fetched through
the storage port first; Arrow decodes buffers, and never calls a port.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa

from drawstring.context import TableContext
from drawstring.data.conform import widen
from drawstring.data.kept_files import KeptFiles
from drawstring.data.stitched_file import open_rows, take_rows
from drawstring.errors import NotFoundError
from drawstring.files import BaseFile
from drawstring.ports import Storage, TaskContext
from drawstring.read.partition_values import partition_values
from drawstring.read.schema import TableSchema
from drawstring.read.schema_history import InternalField, by_current_names, file_names, file_version
from drawstring_spec.meta_fields import RECORD_KEY

_PARQUET: Final = ".parquet"
_REPEATING: Final = ("_hoodie_commit_time", "_hoodie_partition_path", "_hoodie_file_name")
"""Columns of few values: decoded as dictionaries, which is cheaper, and turned into text at the end."""


@dataclass(frozen=True, slots=True)
class FileQuery:
    """What is wanted of one base file.

    Attributes:
        file: the base file.
        columns: names and types that are wanted, in order.
        constants: values of columns that are the same for all rows and not read from the file.
        current: the table's columns by id, where its schema evolves by ids.
        written: the same for the schema of the file; None if it is read by name.
        record_keys: rows that have none of these keys (``string``) may be left out; None for all rows.
        keys_are_there: whether an index says that the file slice holds each of these keys; it decides only speed.
        kept: files that earlier look-ups opened; likewise.

    """

    file: BaseFile
    columns: pa.Schema
    constants: dict[str, pa.Scalar]
    current: InternalField | None = None
    written: InternalField | None = None
    record_keys: pa.Array | None = None
    keys_are_there: bool = False
    kept: KeptFiles | None = field(default=None, compare=False, repr=False)


def file_query(context: TableContext, schema: TableSchema, needed: pa.Schema, file: BaseFile) -> FileQuery:
    """Return what `read_base_file` needs to read one file's part of a query. Raises `CorruptFileError`."""
    values = partition_values(context.config, schema.columns, file.group.partition_path)
    constants = {name: value for name, value in values.items() if name in needed.names}
    written = file_version(schema.history, file.requested_time) if schema.current else None
    return FileQuery(file, needed, constants, schema.current if written else None, written)


def read_base_file(task: TaskContext, query: FileQuery) -> pa.Table:
    """Read what is wanted of one base file; a task of `drawstring.ports.Tasks`.

    Raises:
        CorruptFileError: the file is not of its format, or does not fit the table's schema.
        NotFoundError: there is no such file.

    """
    with _still_there(query):
        table, num_rows = _rows(task.storage, query)
    if num_rows == 0 and query.record_keys is not None:
        return query.columns.empty_table()
    return _as_wanted(query, table, num_rows)


def base_file_parts(task: TaskContext, query: FileQuery, batch_rows: int) -> Iterator[pa.Table]:
    """Read the same rows part by part, in the order of the file.

    Args:
        task: whose storage is used.
        query: what is wanted, of all rows: its `record_keys` are None.
        batch_rows: rows of a part, at most.

    Raises as `read_base_file`.

    """
    names = _names(query)
    with _still_there(query):
        file = open_rows(task.storage, query.file)
        batches = file.batches(names, batch_rows, dictionary_columns=_REPEATING)
    while True:
        with _still_there(query):
            batch = next(batches, None)
        if batch is None:
            return
        yield _as_wanted(query, pa.Table.from_batches([batch]), batch.num_rows)


@contextmanager
def _still_there(query: FileQuery) -> Iterator[None]:
    try:
        yield
    except NotFoundError as error:
        raise NotFoundError(
            f"The base file {query.file.path!r} is gone since the snapshot was taken.",
            way_out="Read again; where it was as of a time, ask for a later one: the cleaner keeps a limited history.",
        ) from error


def _from_file(query: FileQuery) -> list[pa.Field]:
    return [field for field in query.columns if field.name not in query.constants]


def _names(query: FileQuery) -> list[str]:
    """Names that the wanted columns have in the file."""
    names = [field.name for field in _from_file(query)]
    if query.current is not None and query.written is not None:
        return list(file_names(query.current, query.written, names).values())
    return names


def _as_wanted(query: FileQuery, table: pa.Table, num_rows: int) -> pa.Table:
    """Give rows of the file the names and types that are wanted, and the values that are not read from it."""
    if query.current is not None and query.written is not None:
        table = by_current_names(table, query.current, query.written)
    # A table without columns forgets how many rows it has: those that were read are counted, not the table's.
    rows = _widen(table, _from_file(query), num_rows, query.file.path)
    arrays = [
        pa.repeat(query.constants[field.name], num_rows) if field.name in query.constants else rows.column(field.name)
        for field in query.columns
    ]
    return pa.table(arrays, schema=query.columns)


def _rows(storage: Storage, query: FileQuery) -> tuple[pa.Table, int]:
    """Columns of a file, and how many rows they have. With keys, only pages are read that hold one."""
    path, size, names, keys = query.file.path, query.file.size, _names(query), query.record_keys
    if keys is not None and path.endswith(_PARQUET):
        kept = query.kept or KeptFiles()
        paged = kept.take(storage, path, size)
        if RECORD_KEY in paged.column_names:
            rows = paged.rows_of_keys(RECORD_KEY, keys, all_there=query.keys_are_there)
            if query.file.source is not None and len(rows):
                found = take_rows(storage, query.file, paged, rows, names)
            else:
                found = paged.read(rows, names, dictionary_columns=_REPEATING) if len(rows) else pa.table({})
            kept.keep(paged)
            return found, len(rows)
    file = open_rows(storage, query.file)
    return file.read(names, dictionary_columns=_REPEATING), file.num_rows


def _widen(table: pa.Table, fields: Sequence[pa.Field], num_rows: int, path: str) -> pa.Table:
    if table.num_columns == 0:
        return pa.table([pa.nulls(num_rows, f.type) for f in fields], schema=pa.schema(fields))
    return widen(table, pa.schema(fields), path=path)
