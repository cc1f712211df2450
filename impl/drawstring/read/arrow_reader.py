"""The rows of a snapshot as Arrow columns.

Whose duty: plan what is read of each file slice, run it as tasks, project and filter. What a task does is
`drawstring.read.merge_reader`'s.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from drawstring.context import TableContext
from drawstring.errors import InputError
from drawstring.files import FileSlice, Snapshot
from drawstring.log_files.scan import Visible
from drawstring.read.base_query import file_query
from drawstring.read.data_skipping import slices_with_rows
from drawstring.read.merge_reader import SliceQuery, read_slice
from drawstring.read.merge_rules import MergeRules, RecordKeys, needed_for_merging
from drawstring.read.operation_field import with_operation_field
from drawstring.read.partition_values import fields_as_text, partition_values
from drawstring.read.pruning import may_hold_rows, partition_condition, possible, promise_of_values, uses_column
from drawstring.read.schema import TableSchema, meta_schema, resolve_schema
from drawstring.table_config import TableConfig
from drawstring_spec.meta_fields import META_FIELDS, OPERATION

_QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
"""A text in an expression, as Arrow prints it."""
_BY_POSITION: Final = re.compile(r"\bFieldPath\(")


@dataclass(frozen=True, slots=True)
class Plan:
    """What is read of a snapshot.

    Attributes:
        wanted: columns of the answer, in order.
        needed: columns that are read: those, and behind them what only the filter needs.
        queries: what is read of each file slice, in the order of the slices.
        condition: which rows are wanted; None for all.

    """

    wanted: pa.Schema
    needed: pa.Schema
    queries: tuple[SliceQuery, ...]
    condition: pc.Expression | None

    def answer(self, rows: pa.Table) -> pa.Table:
        """Return what is wanted of some rows that were read."""
        rows = keep_rows(rows, self.condition)
        return rows if self.needed.names == self.wanted.names else rows.select(self.wanted.names)


def read_snapshot(
    context: TableContext,
    snapshot: Snapshot,
    *,
    columns: Sequence[str] | None = None,
    filter: Any = None,  # noqa: A002 -- the public face's name for it
    meta_columns: bool = True,
) -> pa.Table:
    """Read the rows of a snapshot.

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
        CorruptFileError: a file cannot be read, or does not fit the table's schema.
        NotFoundError: a file is gone; the snapshot is older than what the cleaner keeps.

    """
    plan = plan_snapshot(context, snapshot, columns=columns, filter=filter, meta_columns=meta_columns)
    tables = context.ports.tasks.run(read_slice, plan.queries, label="read file slices")
    return plan.answer(pa.concat_tables(tables) if tables else plan.needed.empty_table())


def plan_snapshot(
    context: TableContext,
    snapshot: Snapshot,
    *,
    columns: Sequence[str] | None = None,
    filter: Any = None,  # noqa: A002 -- the public face's name for it
    meta_columns: bool = True,
) -> Plan:
    """Plan what is read of a snapshot; arguments as `read_snapshot`, and its errors but for those of data files."""
    asked: dict[str, Any] = {"columns": columns, "filter": filter, "meta_columns": meta_columns}
    schema = resolve_schema(context, snapshot.timeline, snapshot.as_of)
    schema = with_operation_field(context, snapshot.timeline, schema, as_of=snapshot.as_of, **asked)
    available = query_schema(context, schema)
    wanted = wanted_columns(available, columns, meta_columns=meta_columns)
    expression = filter_expression(filter, available)
    # Where nothing is wanted, rows still count: some column carries their number.
    needed = with_filter_columns(wanted, available, expression) or pa.schema([available.field(0)])
    queries = _pruned(
        [
            slice_query(context, schema, snapshot, needed, file_slice)
            for file_slice in slices_with_rows(context, snapshot, schema, available, expression, filter)
        ],
        partition_condition(filter, expression, context.config.partition_fields, available),
        expression,
        needed,
    )
    return Plan(wanted, needed, tuple(queries), expression)


def query_schema(context: TableContext, schema: TableSchema) -> pa.Schema:
    """Return all columns that a query of the table can ask for: the meta columns, then the table's own.

    Columns that a timestamp key generator formatted into the path come back as text, as in Java.
    """
    as_text = fields_as_text(context.config)
    own = [pa.field(f.name, pa.string()) if f.name in as_text else f.with_nullable(True) for f in schema.columns]
    meta = list(meta_schema(schema)) if context.config.populate_meta_fields else []
    return pa.schema([*meta, *own])


def wanted_columns(available: pa.Schema, columns: Sequence[str] | None, *, meta_columns: bool) -> pa.Schema:
    """Return the columns that a query asks for, in its order. Raises `InputError` for one that is not there."""
    if columns is None:
        return pa.schema([f for f in available if meta_columns or f.name not in (*META_FIELDS, OPERATION)])
    if isinstance(columns, str):
        raise InputError(f"columns is the text {columns!r}, not a list of names.", way_out=f"Pass [{columns!r}].")
    if not isinstance(columns, Iterable):
        raise InputError(f"columns is {columns!r}, not a list of names.", way_out="Pass a list; None is for all.")
    columns = list(columns)
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
    if _BY_POSITION.search(_QUOTED.sub("", str(expression))):
        raise InputError(
            f"The filter {condition!r} names a column by its position, which depends on what else is read.",
            way_out="Name it: pyarrow.compute.field('name').",
        )
    return expression


def keep_rows(rows: pa.Table, condition: Any) -> pa.Table:
    """Return the rows that a condition of `filter_expression` is true for; all where it is None.

    Raises:
        InputError: it cannot be told of a value, such as a text that is to be cast and is no number, or of a time with
            a zone beside one without: Arrow sees that only when there are values.

    """
    if condition is None:
        return rows
    try:
        return rows.filter(condition)
    except pa.ArrowException as error:
        raise InputError(
            f"The filter {condition} cannot be told of the rows: {error}.",
            way_out="Give it values of the column's own type, or leave out before what it cannot be told of.",
        ) from error


def with_filter_columns(wanted: pa.Schema, available: pa.Schema, expression: Any) -> pa.Schema:
    """Return the wanted columns and, behind them, those that only the filter needs."""
    if expression is None:
        return wanted
    extra = [f for f in available if f.name not in wanted.names and uses_column(expression, f.name, available)]
    return pa.schema([*wanted, *extra])


def _pruned(queries: Sequence[SliceQuery], condition: Any, expression: Any, needed: pa.Schema) -> Sequence[SliceQuery]:
    """Leave out slices of which their partition's values say that the filter keeps no row of them."""
    if condition is not None:
        return [query for query in queries if may_hold_rows(condition, query.constants)]
    if expression is None or not any(query.constants for query in queries):
        return queries
    promises = [promise_of_values(query.constants) for query in queries]
    return [queries[index] for index in possible(promises, needed, expression)]


def slice_query(
    context: TableContext, schema: TableSchema, snapshot: Snapshot, columns: pa.Schema, file_slice: FileSlice
) -> SliceQuery:
    """Return what `read_slice` needs to read one slice's part of a query.

    Args:
        context: of the table.
        schema: of the table at the snapshot's time.
        snapshot: that the slice is of.
        columns: that are wanted, in order.
        file_slice: the slice.

    Raises:
        CorruptFileError: the slice's path says nothing that its partition columns can have.
        UnsupportedTableError: the slice has log files, and the table no column of its ordering field's name.

    """
    rules = merge_rules(context.config)
    merged = columns
    if file_slice.log_files:
        merged = needed_for_merging(query_schema(context, schema), columns, rules)
    values = partition_values(context.config, schema.columns, file_slice.group.partition_path)
    base = None
    if file_slice.base_file is not None:
        base = file_query(context, schema, merged, file_slice.base_file)
    return SliceQuery(
        columns=columns,
        base=base,
        logs=file_slice.log_files,
        merged_columns=merged,
        visible=visible_at(snapshot),
        rules=rules,
        constants={name: value for name, value in values.items() if name in merged.names},
        current=schema.current,
        history=schema.history,
        positions=context.options["hoodie.merge.use.record.positions"],
    )


def visible_at(snapshot: Snapshot) -> Visible:
    """Return which blocks of log files a snapshot sees."""
    completed = frozenset(i.requested_time for i in snapshot.timeline.completed_writes)
    return Visible(completed, snapshot.archived_before, snapshot.as_of or "")


def merge_rules(config: TableConfig) -> MergeRules:
    """Return how rows of one key are merged, as the table's properties say."""
    return MergeRules(
        mode=config.merge_mode,
        strategy_id=config.properties.get("hoodie.record.merge.strategy.id", ""),
        ordering_field=config.ordering_field,
        keys=RecordKeys(config.record_key_fields, config.key_generator),
        has_record_key=config.populate_meta_fields,
        delete_field=config.properties.get("hoodie.payload.delete.field"),
        delete_marker=config.properties.get("hoodie.payload.delete.marker"),
        payload_class=config.payload_class,
    )
