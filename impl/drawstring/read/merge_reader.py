"""The rows of one file slice: its base file with its log files merged in.

Source: Java ``HoodieFileGroupReader``. Whose duty: a task that runs wherever files are read (a thread, an executor):
from a picklable question to Arrow columns. Bytes are fetched through the storage port first, then decoded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from drawstring.data.conform import widen
from drawstring.data.key_texts import single_chunk
from drawstring.data.log_merge import LogBatch, Mask, Rows, WholeRecords, comparable
from drawstring.data.partial_merge import FieldByField
from drawstring.data.payloads.choice import as_mask, has_marker, marked
from drawstring.data.record_keys import record_keys
from drawstring.errors import CorruptFileError, NotFoundError
from drawstring.files import LogFile
from drawstring.log_files.blocks import LogBlock, read_blocks
from drawstring.log_files.decode import data_records, delete_records, is_default_ordering, is_partial
from drawstring.log_files.scan import Visible, visible_blocks
from drawstring.ports import Storage, TaskContext
from drawstring.read.base_query import FileQuery, base_file_parts, read_base_file
from drawstring.read.merge_rules import MergeRules, deciding_columns, merger_of
from drawstring.read.positions import by_position, check_all_seen, have_positions
from drawstring.read.schema_history import InternalField, by_current_names, file_version
from drawstring_spec.log_format import BlockType
from drawstring_spec.meta_fields import COMMIT_TIME, OPERATION, RECORD_KEY

_MANY_COMMITS = 10
"""Default of ``spark.sql.parquet.pushdown.inFilterThreshold``."""
_DELETE_OPERATIONS = pa.array(["D", "-U"])


@dataclass(frozen=True, slots=True)
class SliceQuery:
    """What is wanted of one file slice.

    Attributes:
        columns: names and types that are wanted, in order.
        base: the base file's part, with all columns of `merged_columns`; None for a slice of log files only.
        logs: log files, in their order.
        merged_columns: `columns`, and behind them what merging needs.
        visible: which blocks of the log files the query sees.
        rules: how rows of one key are merged.
        constants: values of columns that are the same for all rows.
        current: the table's columns by id, where its schema evolves by ids.
        history: schemas by id, by requested time.
        positions: whether rows may be merged by their positions, where log files have them.
        only: commits whose rows of the base file are merged with the log files; those of others are left out before.
            None for all.

    """

    columns: pa.Schema
    base: FileQuery | None
    logs: tuple[LogFile, ...]
    merged_columns: pa.Schema
    visible: Visible
    rules: MergeRules
    constants: dict[str, pa.Scalar]
    current: InternalField | None = None
    history: tuple[tuple[int, InternalField], ...] = ()
    positions: bool = True
    only: tuple[str, ...] | None = None


def read_slice(task: TaskContext, query: SliceQuery) -> pa.Table:
    """Read what is wanted of one file slice; a task of `drawstring.ports.Tasks`.

    Raises:
        CorruptFileError: a file cannot be read, or does not fit the table's schema.
        NotFoundError: a file is gone since the snapshot was taken.
        UnsupportedTableError: rows are merged by a class that drawstring does not know, or that cannot merge them.

    """
    return pa.concat_tables([query.columns.empty_table(), *slice_parts(task, query)])


def slice_parts(task: TaskContext, query: SliceQuery, batch_rows: int | None = None) -> Iterator[pa.Table]:
    """Read the same rows part by part, in the same order.

    What is in memory at once is one part, and what the slice's log files say. The base rows that are merged at once
    are as many as the log files have entries, if that is more than a part: the look-up of keys then costs no more than
    if it were done once.

    Args:
        task: whose storage is used.
        query: what is wanted.
        batch_rows: rows of a part, at most, but for the last ones, which only the log files have; None for the whole
            base file at once.

    Raises as `read_slice`.

    """
    blocks = visible_blocks(_blocks(task.storage, query.logs), query.visible)
    positional = _merges_by_position(blocks, query)
    if positional:
        query = _without_keys(query)
    batches = _batches(blocks, query, positional=positional)
    if not batches:
        for part in _base_parts(task, query, batch_rows):
            yield part.select(query.columns.names)
        return
    log = _log_of(batches, query)
    num_entries, first_row = sum(len(batch.keys) for batch in batches), 0
    del blocks, batches
    for part in _base_parts(task, query, None if batch_rows is None else max(batch_rows, num_entries)):
        rows = np.arange(first_row, first_row + part.num_rows)
        first_row += part.num_rows
        taken, rows = _taking_part(part, rows, query.only)
        keys = pa.array(rows) if positional else row_keys(taken, query.rules)
        yield log.merge(taken, keys, base_ordering(taken, query)).select(query.columns.names)
    if positional and query.base is not None:
        check_all_seen(log.unseen.filter(pc.greater_equal(log.unseen, first_row)), query.base.file)
    yield log.rest().select(query.columns.names)


def _taking_part(part: pa.Table, rows: Rows, only: tuple[str, ...] | None) -> tuple[pa.Table, Rows]:
    """Return the base rows that are merged with the log files, and their positions in the file."""
    if only is None:
        return part, rows
    kept = _of_commits(part, only)
    return part.filter(kept), rows[np.asarray(kept)]


def _of_commits(rows: pa.Table, commit_times: tuple[str, ...]) -> pa.Array:
    """Which rows some commits wrote; where they are many, which were written between the first and the last of them.

    That is how Spark pushes such a condition into its Parquet scan, which Java's readers have it do row by row.
    """
    times = single_chunk(rows.column(COMMIT_TIME)).cast(pa.string())
    if len(commit_times) <= _MANY_COMMITS:
        return pc.is_in(times, value_set=pa.array(commit_times, pa.string()))
    inside = pc.and_(pc.greater_equal(times, min(commit_times)), pc.less_equal(times, max(commit_times)))
    return pc.fill_null(inside, fill_value=False)


def log_batches(task: TaskContext, query: SliceQuery) -> list[LogBatch]:
    """Return what the log files of a slice say, oldest first; no batch is empty. Raises as `read_slice`."""
    return _batches(visible_blocks(_blocks(task.storage, query.logs), query.visible), query, positional=False)


def log_entries(task: TaskContext, query: SliceQuery) -> tuple[list[LogBatch], bool]:
    """Return the same, and whether their keys are positions in the base file; if so, without columns of keys alone."""
    blocks = visible_blocks(_blocks(task.storage, query.logs), query.visible)
    positional = _merges_by_position(blocks, query) and not any(is_partial(block) for block in blocks)
    return _batches(blocks, _without_keys(query) if positional else query, positional=positional), positional


def _batches(blocks: Sequence[LogBlock], query: SliceQuery, *, positional: bool) -> list[LogBatch]:
    batches = [_batch(block, query, positional=positional) for block in blocks]
    return [batch for batch in batches if len(batch.keys)]


def _merges_by_position(blocks: Sequence[LogBlock], query: SliceQuery) -> bool:
    """Whether rows are merged by where they are: all blocks say so, and all rows of the base file are read."""
    base = query.base
    return query.positions and base is not None and base.record_keys is None and have_positions(blocks, base.file)


def _without_keys(query: SliceQuery) -> SliceQuery:
    """Leave columns out that are read for their keys alone."""
    rules = query.rules
    keys = {RECORD_KEY, *(name.partition(".")[0] for name in rules.keys.record_key_fields)}
    keys -= {*query.columns.names, *deciding_columns(rules)}
    columns = pa.schema([field for field in query.merged_columns if field.name not in keys])
    base = query.base if query.base is None else replace(query.base, columns=columns)
    return replace(query, merged_columns=columns, base=base)


def _base_parts(task: TaskContext, query: SliceQuery, batch_rows: int | None) -> Iterator[pa.Table]:
    if query.base is None:
        return
    if batch_rows is None or query.base.record_keys is not None:
        yield read_base_file(task, query.base)
    else:
        yield from base_file_parts(task, query.base, batch_rows)


def _log_of(batches: Sequence[LogBatch], query: SliceQuery) -> WholeRecords | FieldByField:
    partial = any(batch.present is not None for batch in batches)
    merger = merger_of(query.rules, partial=partial, by_ids=query.current is not None)
    if merger is None and not partial:
        return WholeRecords(batches, query.merged_columns)
    return FieldByField(batches, query.merged_columns, merger=merger)


def _blocks(storage: Storage, logs: Sequence[LogFile]) -> list[LogBlock]:
    found: list[LogBlock] = []
    for log in logs:
        try:
            content = storage.read(log.path)
        except NotFoundError as error:
            raise NotFoundError(
                f"The log file {log.path!r} is gone since the snapshot was taken.",
                way_out="Read again; where it was as of a time, ask for a later one: the cleaner keeps a limited "
                "history.",
            ) from error
        found += read_blocks(content, path=log.path)
        if len(content) < log.size:
            # Cut off, it would end in no whole block, which is passed over where nothing tells how long it was.
            raise CorruptFileError(
                f"The log file {log.path!r} has {len(content)} bytes, and had {log.size} when it was written.",
                way_out="Restore the file from a copy; nothing was changed.",
            )
    return found


def _batch(block: LogBlock, query: SliceQuery, *, positional: bool) -> LogBatch:
    if block.type is BlockType.DELETE:
        batch = _deletes(block, query)
        return by_position(block, batch) if positional else batch
    rows, present, retracted = _rows_of(block, query)
    if positional:
        return by_position(block, _as_batch(rows, pa.nulls(rows.num_rows), present, retracted, query))
    keys = row_keys(rows, query.rules)
    if keys.null_count:
        raise CorruptFileError(
            f"The log file {block.path} has {keys.null_count} records without a record key.",
            way_out="Restore the file from a copy; nothing was changed.",
        )
    return _as_batch(rows, keys, present, retracted, query)


def _deletes(block: LogBlock, query: SliceQuery) -> LogBatch:
    deletes = delete_records(block)
    everything = np.ones(deletes.num_rows, np.bool_)
    ordering, absolute, overrules = None, everything, False
    if query.rules.by_event_time:
        kind = _ordering_type(query)
        values = _of_own_class(single_chunk(deletes.column("ordering")), kind)
        absolute = is_default_ordering(single_chunk(deletes.column("ordering")))
        if not pa.types.is_null(values.type) and values.type != kind:
            # Java compares only values of one class; a delete of another class wins.
            absolute = everything
            values = pa.nulls(len(values), kind)
        ordering = comparable(pc.if_else(pa.array(absolute), pa.scalar(None, values.type), values), kind)
        # Spark has texts and decimals in classes of its own, those of delete blocks are Java's: they do not compare.
        overrules = pa.types.is_string(kind) or pa.types.is_decimal(kind)
    keys = single_chunk(deletes.column("record_key"))
    return LogBatch(keys, None, ordering, everything, absolute, overrules=overrules)


def _of_own_class(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return the ordering values of deletes in the column's type, where Java has values of one class for both.

    Spark's rows have a timestamp as a long and a date as an integer, and so do the deletes that Java makes of them.
    Decimals are of one type in all delete blocks. Other values are returned as they are.
    """
    is_number = (pa.types.is_timestamp(kind) and pa.types.is_int64(values.type)) or (
        pa.types.is_date32(kind) and pa.types.is_int32(values.type)
    )
    if is_number:
        return values.cast(kind)
    if pa.types.is_decimal(kind) and pa.types.is_decimal(values.type):
        return values.cast(kind, safe=False)
    return values


def _rows_of(block: LogBlock, query: SliceQuery) -> tuple[pa.Table, frozenset[str] | None, Mask]:
    """Records of a data block in the query's columns, the columns that they carry (None for all), which are deletes.

    Those are deletes whose kind of change says so; the column is the block's, and need not be the table's.
    """
    # Columns that have ids may have other names in the block.
    names = None if query.current is not None else {*query.merged_columns.names, OPERATION}
    table = data_records(block, names)
    retracted: Mask = np.zeros(table.num_rows, np.bool_)
    if OPERATION in table.column_names:
        retracted |= as_mask(pc.is_in(table.column(OPERATION).cast(pa.string()), value_set=_DELETE_OPERATIONS))
    written = file_version(query.history, str(block.instant_time)) if query.current is not None else None
    if query.current is not None and written is not None:
        table = by_current_names(table, query.current, written)
    present = frozenset(table.column_names) if is_partial(block) else None
    # Java reads the Parquet of a log file as that of a base file, unless columns have ids.
    in_log = query.current is not None or block.type is not BlockType.PARQUET_DATA
    rows = _constant(widen(table, _all_nullable(query.merged_columns), path=block.path, in_log=in_log), query)
    return rows, present, retracted


def _as_batch(
    rows: pa.Table, keys: pa.Array, present: frozenset[str] | None, retracted: Mask, query: SliceQuery
) -> LogBatch:
    rules = query.rules
    deleted = marked(rows) | has_marker(rows, rules.delete_field, rules.delete_marker) | retracted
    ordering = base_ordering(rows, query)
    absolute = deleted.copy()
    if ordering is not None and deleted.any():
        own = single_chunk(rows.column(str(rules.ordering_field)))
        absolute &= is_default_ordering(own)
    if deleted.any():
        rows = rows.filter(pa.array(~deleted))
    return LogBatch(keys, rows, ordering, deleted, absolute, present)


def _all_nullable(schema: pa.Schema) -> pa.Schema:
    return pa.schema([f.with_nullable(True) for f in schema])


def _constant(rows: pa.Table, query: SliceQuery) -> pa.Table:
    arrays = [
        pa.repeat(query.constants[name], rows.num_rows) if name in query.constants else rows.column(name)
        for name in query.merged_columns.names
    ]
    return pa.table(arrays, schema=query.merged_columns)


def row_keys(rows: pa.Table, rules: MergeRules) -> pa.Array:
    """Return the record keys of some rows that have the columns which merging needs."""
    if rules.has_record_key:
        return single_chunk(rows.column(RECORD_KEY)).cast(pa.string())
    return record_keys(rows, rules.keys)


def _ordering_type(query: SliceQuery) -> pa.DataType:
    return query.merged_columns.field(str(query.rules.ordering_field)).type


def base_ordering(rows: pa.Table, query: SliceQuery) -> pa.Array | None:
    """Return the comparable ordering values of some rows that have these columns; None by commit time."""
    if not query.rules.by_event_time:
        return None
    return comparable(single_chunk(rows.column(str(query.rules.ordering_field))), _ordering_type(query))
