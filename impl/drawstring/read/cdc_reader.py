"""Reads one split of a query for change data.

Source: Java ``CDCFileGroupIterator``. Whose duty: a task that runs wherever files are read: from a picklable split to
the columns ``op``, ``ts_ms``, ``before`` and ``after``. Where an image is not logged it is looked up by record key in
the file before or after the commit. Java's iterator loses rows when it is asked twice whether there are more
(errata R7); here every change that is logged is returned.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import pyarrow as pa
import pyarrow.compute as pc

from drawstring.data.conform import widen
from drawstring.data.json_text import rows_as_json
from drawstring.data.key_texts import single_chunk
from drawstring.data.record_keys import record_keys
from drawstring.errors import CorruptFileError
from drawstring.files import LogFile
from drawstring.log_files.blocks import LogBlock, read_blocks
from drawstring.log_files.decode import data_records, delete_records
from drawstring.log_files.scan import visible_blocks
from drawstring.ports import TaskContext
from drawstring.read.merge_reader import SliceQuery, read_slice
from drawstring.read.schema_history import InternalField, by_current_names, file_version
from drawstring_spec.log_format import BlockType
from drawstring_spec.meta_fields import RECORD_KEY

INSERT, UPDATE, DELETE = "i", "u", "d"
_OPERATIONS = pa.array([INSERT, UPDATE, DELETE])
_COLUMNS = ("op", "ts_ms", "before", "after")


class LoggingMode(StrEnum):
    """What files of change data hold (``hoodie.table.cdc.supplemental.logging.mode``)."""

    OP_KEY_ONLY = "OP_KEY_ONLY"
    DATA_BEFORE = "DATA_BEFORE"
    DATA_BEFORE_AFTER = "DATA_BEFORE_AFTER"


@dataclass(frozen=True, slots=True)
class RowsSplit:
    """A commit that wrote a file of new rows only, or removed a file with all its rows.

    Attributes:
        requested_time: of the commit.
        operation: what happened to every row, `INSERT` or `DELETE`.
        rows: the rows.

    """

    requested_time: str
    operation: str
    rows: SliceQuery


@dataclass(frozen=True, slots=True)
class LoggedSplit:
    """A commit that rewrote a base file, and logged what changed.

    Attributes:
        requested_time: of the commit.
        mode: what the files of change data hold.
        cdc_files: their paths.
        columns: of images, those that the table has now.
        current: the same with their ids; None where columns have none.
        history: schemas of earlier times, as `SliceQuery` has them.
        before: the base file before the commit, where images are not logged; else None.
        after: the base file after it, likewise.

    """

    requested_time: str
    mode: LoggingMode
    cdc_files: tuple[str, ...]
    columns: pa.Schema
    current: InternalField | None = None
    history: tuple[tuple[int, InternalField], ...] = ()
    before: SliceQuery | None = None
    after: SliceQuery | None = None


@dataclass(frozen=True, slots=True)
class LogFileSplit:
    """A commit that appended a log file: what changed is the difference that the file makes.

    Attributes:
        requested_time: of the commit.
        own: the log file.
        before: the slice without it.
        after: the slice with it.

    """

    requested_time: str
    own: LogFile
    before: SliceQuery
    after: SliceQuery


ChangeSplit = RowsSplit | LoggedSplit | LogFileSplit
"""The changes that one commit made to one file group, or where they are found; picklable."""


@dataclass(frozen=True, slots=True)
class _Images:
    """Rows of a slice and their keys."""

    keys: pa.Array
    rows: pa.Table

    def only(self, keys: pa.Array) -> _Images:
        """Keep the rows of some keys."""
        mask = pc.is_in(self.keys, value_set=keys)
        return _Images(self.keys.filter(mask), self.rows.filter(mask))

    def of(self, keys: pa.Array, *, path: str) -> pa.Array:
        """Return the images of keys, all of which have to be there, as JSON."""
        positions = pc.index_in(keys, value_set=self.keys)
        if positions.null_count:
            missing = keys.filter(pc.is_null(positions))[0].as_py()
            raise CorruptFileError(
                f"The change of the key {missing!r} that {path} logs is not in the base file beside it.",
                way_out="A file of the commit is damaged or replaced; ask for a later start.",
            )
        return rows_as_json(self.rows.take(positions))


def read_split(task: TaskContext, split: ChangeSplit) -> pa.Table:
    """Read the changes of one split; a task of `drawstring.ports.Tasks`.

    Returns:
        The columns of `drawstring.read.cdc.CDC_SCHEMA`.

    Raises:
        CorruptFileError: a file cannot be read, or files of one commit contradict each other.
        NotFoundError: a file is gone.

    """
    if isinstance(split, LogFileSplit):
        return _log_file(task, split)
    if isinstance(split, LoggedSplit):
        return pa.concat_tables([_empty(split), *(_logged(task, split, path) for path in split.cdc_files)])
    images = rows_as_json(read_slice(task, split.rows))
    before, after = (None, images) if split.operation == INSERT else (images, None)
    return _changes(split, pa.repeat(split.operation, len(images)), before, after)


def _empty(split: ChangeSplit) -> pa.Table:
    return _changes(split, pa.array([], pa.string()), None, None)


def _changes(split: ChangeSplit, operations: pa.Array, before: pa.Array | None, after: pa.Array | None) -> pa.Table:
    count = len(operations)
    images = [pa.nulls(count, pa.string()) if image is None else image.cast(pa.string()) for image in (before, after)]
    times = pa.repeat(split.requested_time, count)
    return pa.table([operations.cast(pa.string()), times, *images], names=_COLUMNS)


def _images(task: TaskContext, query: SliceQuery) -> _Images:
    rows = read_slice(task, query)
    return _Images(_keys(rows, query), rows)


def _keys(rows: pa.Table, query: SliceQuery) -> pa.Array:
    if query.rules.has_record_key:
        return single_chunk(rows.column(RECORD_KEY)).cast(pa.string())
    return record_keys(rows, query.rules.keys)


def _logged(task: TaskContext, split: LoggedSplit, path: str) -> pa.Table:
    tables = [_cdc_records(block, split) for block in read_blocks(task.storage.read(path), path=path)]
    if not tables:
        return _empty(split)
    records = pa.concat_tables(tables).combine_chunks()
    operations = single_chunk(records.column("op"))
    if not pc.all(pc.is_in(operations, value_set=_OPERATIONS), min_count=0).as_py():
        raise CorruptFileError(f"The file of change data {path} has an operation that is none of i, u and d.")
    if split.mode is LoggingMode.DATA_BEFORE_AFTER:
        before, after = (_logged_images(records.column(name), split, path) for name in ("before", "after"))
        return _changes(split, operations, before, after)
    keys = single_chunk(records.column("record_key")).cast(pa.string())
    if split.mode is LoggingMode.DATA_BEFORE:
        before = _logged_images(records.column("before"), split, path)
    else:
        before = _looked_up(task, split.before, keys, pc.not_equal(operations, INSERT), path)
    after = _looked_up(task, split.after, keys, pc.not_equal(operations, DELETE), path)
    return _changes(split, operations, before, after)


def _logged_images(logged: pa.ChunkedArray, split: LoggedSplit, path: str) -> pa.Array:
    """Return logged images as JSON, in the columns that the table has now, as Java reads them."""
    images = single_chunk(logged)
    if not pa.types.is_struct(images.type):
        raise CorruptFileError(f"The file of change data {path} has images of type {images.type}.")
    names = [images.type.field(i).name for i in range(images.type.num_fields)]
    rows = pa.Table.from_arrays(images.flatten(), names=names)
    written = file_version(split.history, split.requested_time)
    if split.current is not None and written is not None:
        rows = by_current_names(rows, split.current, written)
    texts = rows_as_json(widen(rows, split.columns, path=path, in_log=True))
    return pc.if_else(images.is_valid(), texts, pa.scalar(None, texts.type))


def _cdc_records(block: LogBlock, split: LoggedSplit) -> pa.Table:
    if block.type is not BlockType.CDC:
        # A commit that completed has written its files of change data whole: what is no block is damage.
        raise CorruptFileError(
            f"The file of change data {block.path} has a {block.type.name} block at byte {block.offset}.",
            rule="LF-005",
            way_out="The file is damaged; restore it from a copy, or ask for changes after its commit.",
        )
    table = data_records(block)
    wanted = {
        LoggingMode.OP_KEY_ONLY: ("op", "record_key"),
        LoggingMode.DATA_BEFORE: ("op", "record_key", "before"),
        LoggingMode.DATA_BEFORE_AFTER: ("op", "before", "after"),
    }[split.mode]
    missing = [name for name in wanted if name not in table.column_names]
    if missing:
        raise CorruptFileError(
            f"The file of change data {block.path} has no field {missing[0]!r}, as the mode {split.mode} calls for.",
            way_out="The table's logging mode was changed; ask for changes after that.",
        )
    return table.select(wanted)


def _looked_up(task: TaskContext, query: SliceQuery | None, keys: pa.Array, wanted: pa.Array, path: str) -> pa.Array:
    """Return the images of those keys that are wanted; null for the others."""
    chosen = keys.filter(wanted)
    if query is None or not len(chosen):
        return pa.nulls(len(keys), pa.large_string())
    images = _images(task, query).only(chosen).of(chosen, path=path)
    empty = pa.nulls(len(keys), images.type)
    return pc.replace_with_mask(empty, wanted, images)


def _log_file(task: TaskContext, split: LogFileSplit) -> pa.Table:
    touched = _touched_keys(task, split)
    before = _images(task, split.before).only(touched)
    after = _images(task, split.after).only(touched)
    old = pc.index_in(after.keys, value_set=before.keys)
    new_json, old_json = rows_as_json(after.rows), rows_as_json(before.rows)
    is_new = pc.is_null(old)
    was = old_json.take(old)
    changed = pc.fill_null(pc.not_equal(was, new_json), False)
    gone = pc.invert(pc.is_in(before.keys, value_set=after.keys))
    inserted = new_json.filter(is_new)
    updated = new_json.filter(changed)
    deleted = old_json.filter(gone)
    return pa.concat_tables(
        [
            _changes(split, pa.repeat(INSERT, len(inserted)), None, inserted),
            _changes(split, pa.repeat(UPDATE, len(updated)), was.filter(changed), updated),
            _changes(split, pa.repeat(DELETE, len(deleted)), deleted, None),
        ]
    )


def _touched_keys(task: TaskContext, split: LogFileSplit) -> pa.Array:
    """Return the keys that a log file says something about, each once."""
    path = split.own.path
    chunks = [pa.array([], pa.string())]
    for block in visible_blocks(read_blocks(task.storage.read(path), path=path), split.after.visible):
        if block.type is BlockType.DELETE:
            chunks.append(single_chunk(delete_records(block).column("record_key")).cast(pa.string()))
        else:
            chunks.append(_keys(data_records(block), split.after))
    return pc.unique(pa.concat_arrays(chunks))
