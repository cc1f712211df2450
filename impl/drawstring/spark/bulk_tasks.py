"""The executor tasks of a bulk insert: new files as the rows come, files written anew without some of their rows.

Whose duty: a task keeps the rows of each partition until they make a file of the target size, or until memory is
short; no row is moved between tasks. Within one file each key is there once; among files the driver sees to it
(`drawstring.spark.uniqueness`).
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from drawstring.data.base_file_reader import open_base_file
from drawstring.data.base_files import (
    BaseFileLayout,
    FileStamp,
    constant_column,
    encode_base_file,
    stamp_rows,
    with_meta_columns,
)
from drawstring.data.merge import latest_rows, ordering_values
from drawstring.data.partition_paths import partition_paths
from drawstring.data.record_keys import record_keys
from drawstring.engine.file_tasks import WriteSettings
from drawstring.engine.lookup import read_keys
from drawstring.files import BaseFile, FileGroupId
from drawstring.ports import Storage, TaskContext
from drawstring.protocol.data_files import publish_data_file
from drawstring.spark.jobs import Batches
from drawstring.spark.tasks import GROUP, KEY, KeyJob, checked_rows, result_batch, spark_attempt
from drawstring.write_stats import FilePlan, WriteStat
from drawstring_spec.meta_fields import FILE_NAME, META_FIELDS, PARTITION_PATH
from drawstring_spec.names import BaseFileName, WriteToken

_SAMPLE_ROWS: Final = 5_000
_WORTH_A_SAMPLE_BYTES: Final = 16 * 1024 * 1024
"""How many rows make a file is found out once a partition has this much; less never fills a file of a usual size."""


@dataclass(frozen=True, slots=True)
class BulkJob:
    """What the tasks of one bulk insert share; picklable.

    Attributes:
        storage: of the table.
        settings: of all files.
        key_job: how rows become the table's.
        seed: file ids are made of it, so that all attempts of a task write the same file groups.
        max_file_bytes: at which the next file of a partition is begun.
        record_bytes: what a row takes in a file, if the caller said so; None to find out.
        memory_bytes: rows that a task keeps at most, as Arrow has them; the largest partition is written then.

    """

    storage: Storage
    settings: WriteSettings
    key_job: KeyJob
    seed: uuid.UUID
    max_file_bytes: int
    record_bytes: int | None
    memory_bytes: int


def write_new_files(job: BulkJob, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Write the rows of one task into new file groups. Raises as `drawstring.spark.tasks.add_keys`."""
    writer = _PartitionedWriter(job, *spark_attempt())
    for batch in batches:
        yield from writer.add(pa.Table.from_batches([batch]))
    yield from writer.finish()


@dataclass(slots=True)
class _Buffer:
    """Rows of one partition that are not written yet, with their keys in the column `KEY`."""

    pieces: list[pa.Table] = field(default_factory=list)
    num_rows: int = 0
    num_bytes: int = 0
    max_rows: int | None = None

    def add(self, rows: pa.Table) -> None:
        self.pieces.append(rows)
        self.num_rows += rows.num_rows
        self.num_bytes += rows.nbytes

    def take(self, count: int) -> pa.Table:
        """Return the first rows; the others stay."""
        rows = pa.concat_tables(self.pieces)
        self.pieces, self.num_rows, self.num_bytes = [], 0, 0
        if count < rows.num_rows:
            self.add(rows.slice(count))
        return rows.slice(0, count)


class _PartitionedWriter:
    """Writes the files of one attempt of a task."""

    def __init__(self, job: BulkJob, task: int, attempt: int) -> None:
        self._job = job
        self._task = task
        self._context = TaskContext(job.storage, task, attempt)
        self._file_id = uuid.uuid5(job.seed, str(task))
        self._files = 0
        self._rows = 0
        self._buffers: dict[str, _Buffer] = {}

    def add(self, given: pa.Table) -> Iterator[pa.RecordBatch]:
        """Take rows, and write what is full."""
        rows = checked_rows(given, self._job.key_job)
        keys = record_keys(rows, self._job.key_job.rules)
        paths = partition_paths(rows, self._job.key_job.rules)
        keyed = rows.append_column(KEY, keys)
        for path, part in _by_path(keyed, paths):
            buffer = self._buffers.setdefault(path, _Buffer())
            buffer.add(part)
            while (limit := self._limit(buffer)) is not None and buffer.num_rows >= limit:
                yield self._write(path, buffer.take(limit))
        while sum(buffer.num_bytes for buffer in self._buffers.values()) > self._job.memory_bytes:
            largest = max(self._buffers, key=lambda path: self._buffers[path].num_bytes)
            buffer = self._buffers.pop(largest)
            yield self._write(largest, buffer.take(buffer.num_rows))

    def finish(self) -> Iterator[pa.RecordBatch]:
        """Write what is left."""
        for path in sorted(self._buffers):
            buffer = self._buffers.pop(path)
            if buffer.num_rows:
                yield self._write(path, buffer.take(buffer.num_rows))

    def _limit(self, buffer: _Buffer) -> int | None:
        """Return how many rows make a file; None while nobody needs to know."""
        if buffer.max_rows is None:
            size = self._job.record_bytes
            if size is None and buffer.num_bytes < min(_WORTH_A_SAMPLE_BYTES, self._job.max_file_bytes):
                return None
            buffer.max_rows = max(1, self._job.max_file_bytes // (size or self._sampled_bytes(buffer)))
        return buffer.max_rows

    def _sampled_bytes(self, buffer: _Buffer) -> int:
        rows = pa.concat_tables(buffer.pieces).slice(0, _SAMPLE_ROWS)
        layout = self._job.settings.layout
        plain = BaseFileLayout(layout.codec, layout.row_group_bytes, bloom=None)
        stamped = stamp_rows(rows.drop_columns([KEY]), _whole(rows.column(KEY)), self._stamp(""))
        num_bytes: int = encode_base_file(stamped, "", plain).size // rows.num_rows
        return max(1, num_bytes)

    def _stamp(self, path: str) -> FileStamp:
        token = WriteToken(self._task, 0, self._context.attempt).format()
        time = self._job.settings.requested_time
        name = BaseFileName(f"{self._file_id}-{self._files}", token, time, "parquet").format()
        return FileStamp(time, self._task, path, name)

    def _write(self, path: str, keyed: pa.Table) -> pa.RecordBatch:
        settings = self._job.settings
        keys = _whole(keyed.column(KEY))
        rows = keyed.drop_columns([KEY])
        stays = latest_rows(keys, ordering_values(rows, settings.ordering_field))
        if stays is not None:
            rows, keys = rows.take(pa.array(stays)), pc.take(keys, pa.array(stays))
        stamp = self._stamp(path)
        stamped = stamp_rows(rows, keys, stamp, first_row=self._rows)
        content = encode_base_file(stamped, settings.avro_schema, settings.layout)
        status = publish_data_file(
            self._context, settings.requested_time, _plan(path, stamp.file_name), memoryview(content)
        )
        stat = _created(FileGroupId(path, f"{self._file_id}-{self._files}"), status.path, rows.num_rows, content.size)
        limits = pc.min_max(keys).as_py()
        result = result_batch(stat, {"keys": [limits["min"], limits["max"]], "order": [self._task, self._files]})
        self._files += 1
        self._rows += rows.num_rows
        return result


def _by_path(rows: pa.Table, paths: pa.DictionaryArray) -> Iterator[tuple[str, pa.Table]]:
    names = paths.dictionary.to_pylist()
    if len(names) == 1:
        yield names[0], rows
        return
    codes = np.asarray(paths.indices)
    counts = np.bincount(codes, minlength=len(names))
    by_path = rows.take(pa.array(np.argsort(codes, kind="stable")))
    ends = np.cumsum(counts)
    for code, name in enumerate(names):
        if counts[code]:
            yield name, by_path.slice(ends[code] - counts[code], counts[code])


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _plan(path: str, name: str) -> FilePlan:
    return FilePlan(f"{path}/{name}" if path else name, replaces=False)


def _created(group: FileGroupId, path: str, num_rows: int, size: int) -> WriteStat:
    return WriteStat(
        group=group,
        path=path,
        prev_commit="null",
        prev_base_file=None,
        num_writes=num_rows,
        num_inserts=num_rows,
        num_update_writes=0,
        num_deletes=0,
        file_size_bytes=size,
    )


@dataclass(frozen=True, slots=True)
class CountJob:
    """Files of partitions whose keys are counted; `files` by number of the partition."""

    storage: Storage
    files: tuple[tuple[BaseFile, ...], ...]


def find_repeated(job: CountJob, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Yield the numbers of the partitions that hold a key twice."""
    for batch in batches:
        for number in batch.column(0).to_pylist():
            keys = pa.chunked_array(
                [
                    read_keys(open_base_file(job.storage, file.path, file.size), use_threads=False)
                    for file in job.files[number]
                ]
            )
            if pc.count_distinct(keys).as_py() < len(keys):
                yield pa.RecordBatch.from_pydict({"number": pa.array([number], pa.int64())})


@dataclass(frozen=True, slots=True)
class RewriteJob:
    """New files that lose some rows; `files` by number, rows say theirs in the column `GROUP`."""

    storage: Storage
    settings: WriteSettings
    files: tuple[BaseFile, ...]
    row_column: str


def rewrite_without(job: RewriteJob, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Write each file anew, under a name of its own, without the rows whose positions came in."""
    _, attempt = spark_attempt()
    positions = [batch.select([GROUP, job.row_column]) for batch in batches]
    if not positions:
        return
    table = pa.Table.from_batches(positions)
    numbers = table.column(GROUP).to_numpy()
    for number in sorted({int(value) for value in np.unique(numbers)}):
        dropped = table.filter(pa.array(numbers == number)).column(job.row_column).to_numpy()
        yield from _rewrite(job, number, attempt, dropped)


def _rewrite(
    job: RewriteJob, number: int, attempt: int, dropped: np.ndarray[Any, np.dtype[np.int64]]
) -> Iterator[pa.RecordBatch]:
    file = job.files[number]
    rows = open_base_file(job.storage, file.path, file.size).read(dictionary_columns=list(META_FIELDS[:1]))
    stays = np.ones(rows.num_rows, np.bool_)
    stays[dropped] = False
    kept = rows.filter(pa.array(stays))
    if kept.num_rows == 0:
        return
    old = BaseFileName.parse(file.name)
    token = WriteToken(number, 1, attempt).format()
    name = BaseFileName(old.file_id, token, old.requested_time, old.extension).format()
    constants = {PARTITION_PATH: file.group.partition_path, FILE_NAME: name}
    meta = {
        column: constant_column(constants[column], kept.num_rows) if column in constants else kept.column(column)
        for column in META_FIELDS
    }
    content = encode_base_file(with_meta_columns(meta, kept), job.settings.avro_schema, job.settings.layout)
    context = TaskContext(job.storage, number, attempt)
    path = file.group.partition_path
    status = publish_data_file(context, job.settings.requested_time, _plan(path, name), memoryview(content))
    yield result_batch(_created(file.group, status.path, kept.num_rows, content.size), {"replaces": file.path})
