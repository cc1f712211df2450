"""The tasks that write base files: a new file, a file with changes merged in, a file without some rows.

Whose duty: each task reads at most one base file and writes exactly one, through the protocol's
`publish_data_file`, and says truthfully what it wrote. Tasks may run again: the name carries the attempt.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from drawstring.data.base_file_reader import BaseFileReader, open_base_file
from drawstring.data.base_files import BaseFileLayout, FileStamp, encode_base_file, stamp_rows
from drawstring.data.bloom import BloomFilter, BloomParameters
from drawstring.data.conform import widen
from drawstring.data.merge import KEPT_META_FIELDS, Merged, Rows, merge_rows, remove_rows
from drawstring.errors import CorruptFileError
from drawstring.files import BaseFile, FileGroupId
from drawstring.ports import TaskContext
from drawstring.protocol.data_files import publish_data_file
from drawstring.write_stats import FilePlan, WriteStat
from drawstring_spec.meta_fields import COMMIT_TIME
from drawstring_spec.names import BaseFileName, WriteToken

_STALE_SHARE = 4
"""A filter of the old file is kept while it has at most a quarter more keys than the new file has rows."""


@dataclass(frozen=True, slots=True)
class WriteSettings:
    """What all files of one write share; picklable.

    Attributes:
        requested_time: of the operation.
        schema: the table's own columns.
        avro_schema: Avro JSON of the rows, meta fields included.
        layout: of base files.
        ordering_field: decides between two rows of one key; None for the later one.
        use_threads: whether Arrow may decode in parallel.

    """

    requested_time: str
    schema: pa.Schema
    avro_schema: str
    layout: BaseFileLayout
    ordering_field: str | None
    use_threads: bool


@dataclass(frozen=True, slots=True)
class CreateFile:
    """Rows that become the first file of a new file group: `rows` of `data`, with their `keys`."""

    settings: WriteSettings
    group: FileGroupId
    data: pa.Table
    rows: Rows
    keys: pa.Array


@dataclass(frozen=True, slots=True)
class MergeFile:
    """Changes to a file group: `rows` of `data` are updates of it, and inserts that were packed into it."""

    settings: WriteSettings
    file: BaseFile
    data: pa.Table
    rows: Rows
    keys: pa.Array


@dataclass(frozen=True, slots=True)
class DeleteFromFile:
    """Keys whose rows leave a file group."""

    settings: WriteSettings
    file: BaseFile
    keys: pa.Array


def write_file(context: TaskContext, item: CreateFile | MergeFile | DeleteFromFile) -> WriteStat:
    """Write the file of one item; a task of `drawstring.ports.Tasks`.

    Raises:
        CorruptFileError: the file that is to be replaced cannot be read.
        StorageError: the storage failed.

    """
    if isinstance(item, CreateFile):
        return _create(context, item)
    settings = item.settings
    reader = open_base_file(context.storage, item.file.path, item.file.size)
    base = _read_base(reader, settings)
    stamp = _stamp(context, settings, item.file.group)
    if isinstance(item, MergeFile):
        changes = item.data.take(pa.array(item.rows))
        merged = merge_rows(base, changes, item.keys, stamp, ordering_field=settings.ordering_field)
    else:
        merged = remove_rows(base, item.keys, stamp)
    bloom = _grown_filter(reader, merged, settings.layout.bloom)
    content = encode_base_file(merged.rows, settings.avro_schema, settings.layout, bloom=bloom)
    status = publish_data_file(context, settings.requested_time, _plan(stamp, replaces=True), memoryview(content))
    return WriteStat(
        group=item.file.group,
        path=status.path,
        prev_commit=item.file.requested_time,
        prev_base_file=item.file.name,
        num_writes=merged.rows.num_rows,
        num_inserts=len(merged.inserted_keys),
        num_update_writes=merged.num_updates,
        num_deletes=merged.num_deletes,
        file_size_bytes=content.size,
    )


def _create(context: TaskContext, item: CreateFile) -> WriteStat:
    settings = item.settings
    stamp = _stamp(context, settings, item.group)
    whole = len(item.rows) == item.data.num_rows
    rows = item.data if whole else item.data.take(pa.array(item.rows))
    content = encode_base_file(stamp_rows(rows, item.keys, stamp), settings.avro_schema, settings.layout)
    status = publish_data_file(context, settings.requested_time, _plan(stamp, replaces=False), memoryview(content))
    return WriteStat(
        group=item.group,
        path=status.path,
        prev_commit="null",
        prev_base_file=None,
        num_writes=rows.num_rows,
        num_inserts=rows.num_rows,
        num_update_writes=0,
        num_deletes=0,
        file_size_bytes=content.size,
    )


def _stamp(context: TaskContext, settings: WriteSettings, group: FileGroupId) -> FileStamp:
    token = WriteToken(context.task_index, 0, context.attempt).format()
    name = BaseFileName(group.file_id, token, settings.requested_time, "parquet").format()
    return FileStamp(settings.requested_time, context.task_index, group.partition_path, name)


def _plan(stamp: FileStamp, *, replaces: bool) -> FilePlan:
    folder = f"{stamp.partition_path}/" if stamp.partition_path else ""
    return FilePlan(folder + stamp.file_name, replaces)


def _read_base(reader: BaseFileReader, settings: WriteSettings) -> pa.Table:
    """Return a file's rows in the table's columns, with the meta columns that a merge keeps."""
    table = reader.read(
        [*KEPT_META_FIELDS, *settings.schema.names],
        dictionary_columns=[COMMIT_TIME],
        use_threads=settings.use_threads,
    )
    meta = [name for name in KEPT_META_FIELDS if name in table.column_names]
    if len(meta) != len(KEPT_META_FIELDS):
        raise CorruptFileError(
            f"The base file {reader.path} lacks meta columns.",
            way_out="Its rows cannot be found by key; write the table with Java Hudi.",
        )
    times = table.schema.field(COMMIT_TIME)
    kept = [times if name == COMMIT_TIME else pa.field(name, pa.string()) for name in KEPT_META_FIELDS]
    return widen(table, pa.schema([*kept, *settings.schema]), path=reader.path)


def _grown_filter(reader: BaseFileReader, merged: Merged, wanted: BloomParameters | None) -> BloomFilter | None:
    """Return the old file's filter with the new keys, where that is as good as a new filter; None where not.

    Keys that were deleted stay in it, which only makes it answer "maybe" for them; too many of them, or another
    layout than is wanted, and the filter is made anew.
    """
    if wanted is None:
        return None
    bloom = reader.bloom_filter()
    if bloom is None or (bloom.num_bits, bloom.dynamic) != (wanted.num_bits(), wanted.dynamic):
        return None
    if not bloom.dynamic and merged.num_deletes:
        return None  # It does not count its keys, so nobody would know how many of them are stale.
    rows = merged.rows.num_rows
    if bloom.num_keys(at_least=reader.num_rows) + len(merged.inserted_keys) > rows + rows // _STALE_SHARE:
        return None
    bloom.max_rows = max(bloom.max_rows, wanted.max_rows())
    bloom.add(merged.inserted_keys)
    return bloom
