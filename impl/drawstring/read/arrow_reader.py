"""The rows of a snapshot as Arrow columns. Source: Java ``HoodieFileGroupReader`` for slices without log files.

Whose duty: read each base file under the table's schema, whatever schema it was written with, project and filter.
Bytes are fetched through the storage port first; Arrow decodes buffers, and never calls a port.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from drawstring.context import TableContext
from drawstring.data.base_file_reader import open_base_file
from drawstring.data.conform import widen
from drawstring.errors import InputError, NotFoundError
from drawstring.files import BaseFile, Snapshot
from drawstring.ports import TaskContext
from drawstring.read.partition_values import fields_from_file, partition_values
from drawstring.read.pruning import may_hold_rows, partition_condition, uses_column
from drawstring.read.schema import TableSchema, meta_schema, resolve_schema
from drawstring.read.schema_history import InternalField, by_current_names, file_names, file_version
from drawstring_spec.meta_fields import META_FIELDS

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

    """

    file: BaseFile
    columns: pa.Schema
    constants: dict[str, pa.Scalar]
    current: InternalField | None = None
    written: InternalField | None = None


def read_snapshot(
    context: TableContext,
    snapshot: Snapshot,
    *,
    columns: Sequence[str] | None = None,
    filter: Any = None,  # noqa: A002 -- the public face's name for it
    meta_columns: bool = True,
) -> pa.Table:
    """Read the rows of a snapshot's base files.

    Args:
        context: of the table.
        snapshot: its slices.
        columns: names that are wanted, in the order wanted; None for all.
        filter: rows that are wanted: a `pyarrow.compute.Expression`, or a list of conditions as pyarrow's Parquet
            reader takes it, in which a list of lists is an "or" of "and"s. It may use columns that are not wanted.
        meta_columns: with the five ``_hoodie_`` columns in front, unless `columns` names what is wanted.

    Returns:
        One table; file groups in their order, rows in file order.

    Raises:
        InputError: a column or the filter does not fit the table.
        SchemaError: the table has no columns yet.
        CorruptFileError: a base file cannot be read, or does not fit the table's schema.
        NotFoundError: a base file is gone; the snapshot is older than what the cleaner keeps.

    """
    schema = resolve_schema(context, snapshot.timeline, snapshot.as_of)
    available = query_schema(context, schema)
    wanted = wanted_columns(available, columns, meta_columns=meta_columns)
    expression = filter_expression(filter, available)
    # Where nothing is wanted, rows still count: some column carries their number.
    needed = with_filter_columns(wanted, available, expression) or pa.schema([available.field(0)])
    queries = _pruned(
        [file_query(context, schema, needed, file) for file in snapshot.base_files()],
        partition_condition(filter, expression, context.config.partition_fields, available),
    )
    tables = context.ports.tasks.run(read_base_file, queries, label="read base files")
    table = pa.concat_tables(tables) if tables else needed.empty_table()
    if expression is not None:
        table = table.filter(expression)
    return table if needed.names == wanted.names else table.select(wanted.names)


def query_schema(context: TableContext, schema: TableSchema) -> pa.Schema:
    """Return all columns that a query of the table can ask for: the meta columns, then the table's own.

    Columns that a timestamp key generator formatted into the path come back as text, as in Java.
    """
    as_text = fields_from_file(context.config)
    own = [pa.field(f.name, pa.string()) if f.name in as_text else f.with_nullable(True) for f in schema.columns]
    meta = list(meta_schema()) if context.config.populate_meta_fields else []
    return pa.schema([*meta, *own])


def wanted_columns(available: pa.Schema, columns: Sequence[str] | None, *, meta_columns: bool) -> pa.Schema:
    """Return the columns that a query asks for, in its order. Raises `InputError` for one that is not there."""
    if columns is None:
        return pa.schema([f for f in available if meta_columns or f.name not in META_FIELDS])
    if isinstance(columns, str):
        raise InputError(f"columns is the text {columns!r}, not a list of names.", way_out=f"Pass [{columns!r}].")
    unknown = [name for name in columns if name not in available.names]
    if unknown:
        raise InputError(
            f"The table has no column {unknown[0]!r}.", way_out=f"Its columns are: {', '.join(available.names)}."
        )
    if len(set(columns)) != len(columns):
        raise InputError(f"columns names one twice: {', '.join(columns)}.", way_out="Name each column once.")
    return pa.schema([available.field(name) for name in columns])


def filter_expression(condition: Any, available: pa.Schema) -> Any:
    """Return the condition as an expression that fits the columns, or None. Raises `InputError` if it does not fit."""
    if condition is None:
        return None
    try:
        expression = condition if isinstance(condition, pc.Expression) else pq.filters_to_expression(condition)
        available.empty_table().filter(expression)
    except (pa.ArrowException, TypeError, ValueError, KeyError) as error:
        raise InputError(
            f"The filter {condition!r} does not fit the table: {error}.",
            way_out=f"Its columns are: {', '.join(available.names)}.",
        ) from error
    return expression


def with_filter_columns(wanted: pa.Schema, available: pa.Schema, expression: Any) -> pa.Schema:
    """Return the wanted columns and, behind them, those that only the filter needs."""
    if expression is None:
        return wanted
    extra = [f for f in available if f.name not in wanted.names and uses_column(expression, f.name, available)]
    return pa.schema([*wanted, *extra])


def _pruned(queries: Sequence[FileQuery], condition: Any) -> list[FileQuery]:
    return [query for query in queries if condition is None or may_hold_rows(condition, query.constants)]


def file_query(context: TableContext, schema: TableSchema, needed: pa.Schema, file: BaseFile) -> FileQuery:
    """Return what `read_base_file` needs to read one file's part of a query. Raises `CorruptFileError`."""
    values = partition_values(context.config, schema.columns, file.group.partition_path)
    constants = {name: value for name, value in values.items() if name in needed.names}
    written = file_version(schema.history, file.requested_time) if schema.current else None
    return FileQuery(file, needed, constants, schema.current if written else None, written)


def read_base_file(task: TaskContext, query: FileQuery) -> pa.Table:
    """Read what is wanted of one base file; a task of `drawstring.ports.Tasks`.

    Raises:
        CorruptFileError: the file is no Parquet file, or does not fit the table's schema.
        NotFoundError: there is no such file.

    """
    from_file = [field for field in query.columns if field.name not in query.constants]
    names = [field.name for field in from_file]
    if query.current is not None and query.written is not None:
        names = list(file_names(query.current, query.written, names).values())
    try:
        file = open_base_file(task.storage, query.file.path, query.file.size)
        table = file.read(names, dictionary_columns=_REPEATING)
    except NotFoundError as error:
        raise NotFoundError(
            f"The base file {query.file.path!r} is gone since the snapshot was taken.",
            way_out="Read again; where it was as of a time, ask for a later one: the cleaner keeps a limited history.",
        ) from error
    if query.current is not None and query.written is not None:
        table = by_current_names(table, query.current, query.written)
    # A table without columns forgets how many rows it has: those of the file are counted, not the table's.
    rows = _widen(table, from_file, file.num_rows, query.file.path)
    arrays = [
        pa.repeat(query.constants[field.name], file.num_rows)
        if field.name in query.constants
        else rows.column(field.name)
        for field in query.columns
    ]
    return pa.table(arrays, schema=query.columns)


def _widen(table: pa.Table, fields: Sequence[pa.Field], num_rows: int, path: str) -> pa.Table:
    if table.num_columns == 0:
        return pa.table([pa.nulls(num_rows, f.type) for f in fields], schema=pa.schema(fields))
    return widen(table, pa.schema(fields), path=path)
