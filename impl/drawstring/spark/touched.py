"""Which rows of a base file its log files replace or delete, found out before Spark scans the file.

Whose duty: the positions of those rows, and what an Arrow task has to know to give the rows that take their place. Of
a base file only the columns that decide are read: record keys and ordering values. Rows of which the log files say
nothing, and rows that win over what the log files say, are not touched, so Spark's own scan gives them.

It is read while the query is planned. A little is read in this process, which then has the rows that take the place of
touched ones as well; more in one Spark job, of which one bit per row of the base files comes back. Where the log files
say where in the base file their entries belong, and this process reads them, no key is read.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import uuid4

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from drawstring.context import TableContext
from drawstring.data.base_file_reader import open_base_file
from drawstring.data.log_merge import LogBatch, Mask, Rows, Winners, matches, take_rows, winners
from drawstring.ports import Storage, TaskContext
from drawstring.read.base_query import FileQuery, read_base_file
from drawstring.read.merge_reader import (
    SliceQuery,
    base_ordering,
    log_batches,
    log_entries,
    read_slice,
    row_keys,
)
from drawstring.read.merge_rules import needed_for_merging
from drawstring.read.positions import check_all_seen
from drawstring.spark.jobs import Batches, arrow_task, running
from drawstring_spec.merge_modes import MergeMode

logger = logging.getLogger("drawstring")

_HERE_LOG_BYTES: Final = 64 * 1024 * 1024
_HERE_BASE_BYTES: Final = 1024 * 1024 * 1024
"""Up to so much, all together, is read in this process: a job would take longer to start."""

HERE_ROWS_BYTES: Final = 128 * 1024 * 1024
"""Rows that take the place of others are handed to Spark by this process up to so many bytes of Arrow, all together."""

MAX_ROWS: Final = 1 << 28
"""Base files of at most so many rows, all together, are scanned natively beside their log files: 32 MiB of bits, which
every task of the scan gets."""

_MAX_LOST_BYTES: Final = 1024 * 1024
"""Keys of log entries of one slice that lose to its base file are listed up to so many bytes."""

_RESULT: Final = "number long, bits binary, num_rows long, whole boolean, keys array<string>, reason string"


@dataclass(frozen=True, slots=True)
class Touched:
    """What log files touch of one base file.

    Attributes:
        bits: a bit per row of the base file, 64 to a little-endian number, least significant first; 1 where the
            row is replaced or deleted.
        num_rows: of the base file.
        whole: rows are made of the base file's and the log files' together: base rows of `keys` are read as well.
        keys: where `whole`, keys of touched base rows; else keys whose log entries lose to the base file.
        reason: why the slice cannot be read this way after all; empty where it can.
        rows: what has become of those rows, and the log files' rows of other keys; None where a task reads them.

    """

    bits: bytes
    num_rows: int
    whole: bool
    keys: pa.Array
    reason: str = ""
    rows: pa.Table | None = None


def find_touched(
    context: TableContext, spark: SparkSession, queries: Sequence[SliceQuery], *, here: bool
) -> list[Touched]:
    """Find out what the log files of some slices touch.

    Args:
        context: of the table.
        spark: the session.
        queries: of slices with base file and log files.
        here: whether this process reads what is needed, and keeps the rows (`is_little`); else a Spark job does.

    Raises:
        CorruptFileError: a file cannot be read.
        NotFoundError: a file is gone since the snapshot was taken.

    """
    if here:
        found = context.ports.tasks.run(read_replaced, queries, label="read log files")
        if sum(one.rows.nbytes for one in found if one.rows is not None) <= HERE_ROWS_BYTES:
            return found
        return context.ports.tasks.run(read_touched, queries, label="read log files")
    return _in_job(spark, context.ports.storage, queries)


def is_little(queries: Sequence[SliceQuery]) -> bool:
    """Whether what has to be read of some slices is so little that this process reads it sooner than a job would."""
    log_bytes = sum(log.size for query in queries for log in query.logs)
    base_bytes = sum(query.base.file.size for query in queries if query.base is not None)
    return log_bytes <= _HERE_LOG_BYTES and base_bytes <= _HERE_BASE_BYTES


def read_replaced(task: TaskContext, query: SliceQuery) -> Touched:
    """Find out what the log files of one slice touch, and what takes its place; a task of `drawstring.ports.Tasks`."""
    if query.base is None:
        return _not_this_way("it has log files only")
    batches, positional = log_entries(task, query)
    if positional and query.rules.mode is not MergeMode.CUSTOM:
        return _with_rows(query, batches, _by_positions(task, query, query.base, batches))
    if positional:
        batches = log_batches(task, query)
    touched, found = _by_keys(task, query, query.base, batches)
    if touched.reason:
        return touched
    if touched.whole:
        only = replace(query.base, record_keys=touched.keys)
        return replace(touched, rows=read_slice(task, replace(query, base=only)))
    return _with_rows(query, batches, (touched, found))


def read_touched(task: TaskContext, query: SliceQuery) -> Touched:
    """Find out what the log files of one slice touch; a task of `drawstring.ports.Tasks`."""
    if query.base is None:
        return _not_this_way("it has log files only")
    schema = _deciding_columns(query)
    narrow = replace(query, columns=schema, merged_columns=schema)
    return _by_keys(task, narrow, query.base, log_batches(task, narrow))[0]


@dataclass(frozen=True, slots=True)
class _Log:
    """What log files say of each key, and which of it loses to the base file."""

    won: Winners
    stays: Mask

    @property
    def rows(self) -> Rows:
        """Positions of the records that the table now has, in all records one behind the other."""
        positions: Rows = self.won.rows[~self.won.deleted & ~self.stays]
        return positions


def _deciding_columns(query: SliceQuery) -> pa.Schema:
    nothing = query.columns.empty_table().select([]).schema
    return needed_for_merging(query.merged_columns, nothing, query.rules)


def _by_keys(
    task: TaskContext, query: SliceQuery, base_query: FileQuery, batches: Sequence[LogBatch]
) -> tuple[Touched, _Log | None]:
    """Compare the keys of log entries with those of the base file."""
    schema = _deciding_columns(query)
    base = read_base_file(task, replace(base_query, columns=schema))
    keys = row_keys(base, query.rules)
    if not batches:
        return Touched(_bits(np.empty(0, np.int64), len(keys)), len(keys), whole=False, keys=_texts([])), None
    if query.rules.mode is MergeMode.CUSTOM or any(batch.present is not None for batch in batches):
        return _all_of_keys(query, keys, pa.chunked_array([batch.keys.cast(pa.string()) for batch in batches])), None
    won = winners(batches)
    in_base, in_won = matches(keys, won.keys)
    if len(np.unique(in_won)) != len(in_won):
        return _not_this_way("its base file has a key twice"), None
    stays = _stays(won, base_ordering(base, query), in_base, in_won)
    lost = won.keys.filter(pa.array(stays))
    if lost.nbytes > _MAX_LOST_BYTES:
        return _not_this_way("most of what its log files say is older than its base file"), None
    touched = in_base[~stays[in_won]]
    return Touched(_bits(touched, len(keys)), len(keys), whole=False, keys=lost), _Log(won, stays)


def _by_positions(
    task: TaskContext, query: SliceQuery, base: FileQuery, batches: Sequence[LogBatch]
) -> tuple[Touched, _Log | None]:
    """Take the log files' word for where in the base file their entries belong: no key is read."""
    if batches and query.rules.by_event_time:
        schema = pa.schema([query.merged_columns.field(str(query.rules.ordering_field))])
        rows = read_base_file(task, replace(base, columns=schema))
        num_rows, ordering = rows.num_rows, base_ordering(rows, query)
    else:
        num_rows, ordering = open_base_file(task.storage, base.file.path, base.file.size).num_rows, None
    if not batches:
        return Touched(_bits(np.empty(0, np.int64), num_rows), num_rows, whole=False, keys=_texts([])), None
    won = winners(batches)
    positions: Rows = np.asarray(won.keys).astype(np.int64)
    check_all_seen(won.keys.filter(pa.array((positions < 0) | (positions >= num_rows))), base.file)
    stays = _stays(won, ordering, positions, np.arange(len(positions)))
    return Touched(_bits(positions[~stays], num_rows), num_rows, whole=False, keys=_texts([])), _Log(won, stays)


def _stays(won: Winners, ordering: pa.Array | None, in_base: Rows, in_won: Rows) -> Mask:
    """Which keys' base rows win over what the log files say.

    Args:
        won: what they say.
        ordering: of the base file's rows; None by commit time.
        in_base: base rows of which the log files say something.
        in_won: where among `won` they do.

    """
    stays: Mask = np.zeros(len(won.keys), np.bool_)
    if ordering is not None and won.ordering is not None:
        greater = pc.greater(ordering.take(pa.array(in_base)), won.ordering.take(pa.array(in_won)))
        stays[in_won] = np.asarray(pc.fill_null(greater, False)).astype(np.bool_)
        stays &= ~(won.deleted & won.absolute)
    return stays


def _with_rows(query: SliceQuery, batches: Sequence[LogBatch], found: tuple[Touched, _Log | None]) -> Touched:
    touched, log = found
    tables = [batch.rows.select(query.columns.names) for batch in batches if batch.rows is not None]
    if log is None or not tables:
        return replace(touched, rows=query.columns.empty_table())
    return replace(touched, rows=take_rows(pa.concat_tables(tables), log.rows))


def _all_of_keys(query: SliceQuery, keys: pa.Array, of_log: pa.Array | pa.ChunkedArray) -> Touched:
    """Touch every base row that the log files have a key of: rows of both are merged by an Arrow task."""
    if not query.rules.has_record_key:
        return _not_this_way("rows are merged field by field, and do not carry their keys")
    in_base = np.flatnonzero(np.asarray(pc.is_in(keys, value_set=pc.unique(of_log)))).astype(np.int64)
    touched = pc.unique(keys.take(pa.array(in_base)))
    if touched.nbytes > _MAX_LOST_BYTES:
        return _not_this_way("too many of its rows are merged field by field")
    return Touched(_bits(in_base, len(keys)), len(keys), whole=True, keys=touched)


def _not_this_way(reason: str) -> Touched:
    return Touched(b"", 0, whole=False, keys=_texts([]), reason=reason)


def _texts(values: Sequence[str]) -> pa.Array:
    return pa.array(values, pa.string())


def _bits(positions: npt.NDArray[np.int64], num_rows: int) -> bytes:
    marks = np.zeros(-(-num_rows // 64) * 64, np.bool_)
    marks[positions] = True
    return np.packbits(marks, bitorder="little").tobytes()


@dataclass(frozen=True, slots=True)
class _Job:
    """Slices of which tasks find out what is touched."""

    storage: Storage
    queries: tuple[SliceQuery, ...]


def _in_job(spark: SparkSession, storage: Storage, queries: Sequence[SliceQuery]) -> list[Touched]:
    numbers = spark.range(0, len(queries), 1, len(queries))
    name = uuid4()
    with running(spark, name, "read log files"):
        task = arrow_task(_read_touched, _Job(storage, tuple(queries)))
        rows = numbers.mapInArrow(task, _RESULT).toArrow()
    found: Mapping[int, Touched] = {row["number"]: _of_row(row) for row in rows.to_pylist()}
    return [found[number] for number in range(len(queries))]


def _of_row(row: Mapping[str, Any]) -> Touched:
    return Touched(row["bits"], row["num_rows"], row["whole"], _texts(row["keys"]), row["reason"])


def _read_touched(job: _Job, batches: Batches) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for number in batch.column(0).to_pylist():
            one = read_touched(TaskContext(job.storage, number, 0), job.queries[number])
            keys = pa.ListArray.from_arrays(pa.array([0, len(one.keys)], pa.int32()), one.keys)
            yield pa.record_batch(
                [
                    pa.array([number], pa.int64()),
                    pa.array([one.bits], pa.binary()),
                    pa.array([one.num_rows], pa.int64()),
                    pa.array([one.whole]),
                    keys,
                    pa.array([one.reason]),
                ],
                names=["number", "bits", "num_rows", "whole", "keys", "reason"],
            )
