"""Making a base file: meta columns, Parquet bytes, and the footer that Hudi's readers and writers look for.

Source: Java ``HoodieAvroParquetWriter``, ``HoodieBloomFilterWriteSupport`` (format chapters "Parquet", "Meta fields").
Deliberate differences from Java's bytes, which all readers take: zstd by default, three-level lists, and encodings
chosen per column (no dictionary where values hardly repeat, no compression where it hardly helps). Reading is
`drawstring.data.base_file_reader`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from inspect import signature
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import types as pat

from drawstring.data.bloom import BloomFilter, BloomParameters
from drawstring.data.key_order import key_range
from drawstring.data.key_texts import single_chunk
from drawstring.data.types import LIST_ELEMENT, relaxed
from drawstring_spec.footers import AVRO_SCHEMA, AVRO_WRITER_MODEL, MAX_RECORD_KEY, MIN_RECORD_KEY, WRITER_MODEL
from drawstring_spec.meta_fields import COMMIT_SEQNO, COMMIT_TIME, FILE_NAME, META_FIELDS, PARTITION_PATH, RECORD_KEY

GZIP_LEVEL: Final = 4
"""Arrow's own default is 9, several times as slow for a few percent of size."""

_SAMPLE_ROWS: Final = 2048
_PAGE_ROWS: Final = 2048
"""Rows of a page. A look-up decodes whole pages, so they are small; still smaller ones make scans slower."""
_PAGING: Final = (
    {"max_rows_per_page": _PAGE_ROWS} if "max_rows_per_page" in signature(pq.ParquetWriter).parameters else {}
)
"""Older releases of Arrow end pages by their bytes alone; a look-up decodes more of their files then."""
_MOSTLY_DISTINCT: Final = 0.8
"""Of a sample. Some 4,500 values that come equally often are as distinct as that, and worth a dictionary."""
_TRIAL_ROWS: Final = 4096
_WORTH_A_TRIAL: Final = 8 * _TRIAL_ROWS
"""Rows of a file from which on it is tried which of its columns compression makes smaller."""
_WORTH_COMPRESSING: Final = 0.9
"""Of their size without: what shrinks by less costs each reader more than it saves."""
_UNCOMPRESSED: Final = "none"
_UNIQUE_COLUMNS: Final = frozenset({COMMIT_SEQNO, RECORD_KEY})
_CONSTANT_COLUMNS: Final = frozenset({COMMIT_TIME, PARTITION_PATH, FILE_NAME})


@dataclass(frozen=True, slots=True)
class BaseFileLayout:
    """How base files are laid out; picklable.

    Attributes:
        codec: ``zstd``, ``gzip``, ``snappy`` or ``uncompressed``.
        row_group_bytes: size of a row group in memory, in bytes.
        bloom: of the record keys; None for files without a filter.

    """

    codec: str = "zstd"
    row_group_bytes: int = 120 * 1024 * 1024
    bloom: BloomParameters | None = field(default_factory=BloomParameters)

    @classmethod
    def from_options(cls, options: Mapping[str, object]) -> BaseFileLayout:
        """Read the layout from a write's options."""
        bloom = BloomParameters(
            num_entries=_int(options, "hoodie.index.bloom.num_entries"),
            false_positive_rate=float(str(options["hoodie.index.bloom.fpp"])),
            dynamic=options["hoodie.bloom.index.filter.type"] != "SIMPLE",
            max_entries=_int(options, "hoodie.bloom.index.filter.dynamic.max.entries"),
        )
        return cls(
            codec=str(options["hoodie.parquet.compression.codec"]),
            row_group_bytes=_int(options, "hoodie.parquet.block.size"),
            bloom=bloom if options["hoodie.parquet.bloom.filter.enabled"] else None,
        )


def _int(options: Mapping[str, object], key: str) -> int:
    return int(str(options[key]))


@dataclass(frozen=True, slots=True)
class FileStamp:
    """What the meta columns of rows written into one file say.

    Attributes:
        requested_time: of the operation.
        task_index: makes sequence numbers unique among the files of the operation.
        partition_path: of the file.
        file_name: of the file.

    """

    requested_time: str
    task_index: int
    partition_path: str
    file_name: str

    def sequence_numbers(self, start: int, count: int) -> pa.Array:
        """Return ``<requested_time>_<task>_<row>`` for `count` rows from `start` on."""
        rows = pc.cast(pa.array(np.arange(start, start + count, dtype=np.int64)), pa.string())
        return pc.binary_join_element_wise(pa.scalar(f"{self.requested_time}_{self.task_index}"), rows, "_")


def constant_column(value: str, count: int) -> pa.DictionaryArray:
    """Return a column of one text as a dictionary array: it costs four bytes a row here and none in the file."""
    return pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), count), pa.array([value], pa.string()))


def stamp_rows(rows: pa.Table, keys: pa.Array, stamp: FileStamp, *, first_row: int = 0) -> pa.Table:
    """Return new rows with their five meta columns in front.

    Args:
        rows: the table's own columns.
        keys: their record keys.
        stamp: of the file that they go to.
        first_row: sequence number of the first row.

    """
    count = rows.num_rows
    meta = {
        COMMIT_TIME: constant_column(stamp.requested_time, count),
        COMMIT_SEQNO: stamp.sequence_numbers(first_row, count),
        RECORD_KEY: keys,
        PARTITION_PATH: constant_column(stamp.partition_path, count),
        FILE_NAME: constant_column(stamp.file_name, count),
    }
    return with_meta_columns(meta, rows)


def with_meta_columns(meta: Mapping[str, pa.Array | pa.ChunkedArray], rows: pa.Table) -> pa.Table:
    """Return `meta` in front of the table's own columns; what else of meta columns `rows` has is left out."""
    own = [name for name in rows.column_names if name not in META_FIELDS]
    schema = pa.schema([pa.field(name, column.type) for name, column in meta.items()])
    schema = pa.schema([*schema, *(rows.schema.field(name) for name in own)])
    return pa.Table.from_arrays([*meta.values(), *(rows.column(name) for name in own)], schema=schema)


def encode_base_file(
    rows: pa.Table, avro_schema: str, layout: BaseFileLayout, *, bloom: BloomFilter | None = None
) -> pa.Buffer:
    """Return the bytes of a base file.

    Args:
        rows: with their meta columns in front; meta columns may be dictionary arrays.
        avro_schema: Avro JSON of the rows, meta fields included.
        layout: of the file.
        bloom: a filter that holds at least the rows' keys, where there is one already; made here otherwise.

    """
    keys = single_chunk(rows.column(RECORD_KEY))
    entries = _footer(keys, avro_schema, layout, bloom)
    schema = pa.schema([relaxed(field) for field in rows.schema])
    if not rows.schema.equals(schema):
        rows = rows.cast(schema)
    dictionary, encodings = _encodings(rows)
    write = partial(_write, dictionary=dictionary, encodings=encodings)
    codec = _UNCOMPRESSED if layout.codec == "uncompressed" else layout.codec
    codecs: str | dict[str, str] = codec
    if codec != _UNCOMPRESSED and rows.num_rows >= _WORTH_A_TRIAL:
        trial = rows.slice(rows.num_rows // 2, _TRIAL_ROWS)
        codecs = _worthwhile(write(trial, codec), codec)
    return write(rows, codecs, group_rows=_group_rows(rows, layout.row_group_bytes), entries=entries)


def _write(
    rows: pa.Table,
    codecs: str | dict[str, str],
    *,
    dictionary: Sequence[str],
    encodings: Mapping[str, str],
    group_rows: int | None = None,
    entries: Mapping[str, str] | None = None,
) -> pa.Buffer:
    """Return rows as Parquet; `codecs` is one for all leaf columns, or one for each."""
    zipped = GZIP_LEVEL if codecs == "gzip" else None
    levels = zipped if isinstance(codecs, str) else {leaf: GZIP_LEVEL for leaf, c in codecs.items() if c == "gzip"}
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(
        sink,
        rows.schema,
        compression=codecs,
        compression_level=levels or None,
        use_dictionary=dictionary or False,
        column_encoding=encodings or None,
        store_schema=False,  # Java's files have no Arrow schema, and dictionary columns are no one's business.
        data_page_version="1.0",
        write_batch_size=_PAGE_ROWS,
        write_page_index=True,
        write_page_checksum=True,  # as Java does: a reader tells a flipped bit
        **_PAGING,
    ) as writer:
        writer.write_table(rows, row_group_size=group_rows)
        writer.add_key_value_metadata(entries or {})
    return sink.getvalue()


def _worthwhile(trial: pa.Buffer, codec: str) -> dict[str, str]:
    """Return the codec of each leaf column: none where it hardly made the column of a trial smaller."""
    group = pq.read_metadata(pa.BufferReader(trial)).row_group(0)
    chunks = [group.column(index) for index in range(group.num_columns)]
    return {
        chunk.path_in_schema: codec
        if chunk.total_compressed_size <= _WORTH_COMPRESSING * chunk.total_uncompressed_size
        else _UNCOMPRESSED
        for chunk in chunks
    }


def _footer(keys: pa.Array, avro_schema: str, layout: BaseFileLayout, bloom: BloomFilter | None) -> dict[str, str]:
    entries = {AVRO_SCHEMA: avro_schema, WRITER_MODEL: AVRO_WRITER_MODEL}
    limits = key_range(keys)
    if limits is not None:
        entries[MIN_RECORD_KEY], entries[MAX_RECORD_KEY] = limits
    if layout.bloom is not None:
        if bloom is None:
            bloom = BloomFilter.empty(layout.bloom)
            bloom.add(keys)
        entries.update(bloom.to_footer())
    return entries


def _group_rows(rows: pa.Table, group_bytes: int) -> int:
    return max(1, int(group_bytes * max(rows.num_rows, 1) / max(rows.nbytes, 1)))


def _encodings(rows: pa.Table) -> tuple[list[str], dict[str, str]]:
    """Return the leaf columns that get a dictionary, and the encodings of the others that are not plain."""
    step = max(1, rows.num_rows // _SAMPLE_ROWS)
    sample = rows.take(pa.array(np.arange(0, rows.num_rows, step)))
    dictionary: list[str] = []
    encodings: dict[str, str] = {}
    for column in rows.schema:
        if pat.is_nested(column.type):
            dictionary.extend(_leaves(column.name, column.type))
        elif _repeats(column.name, sample):
            dictionary.append(column.name)
        elif pat.is_integer(column.type) or pat.is_temporal(column.type):
            encodings[column.name] = "DELTA_BINARY_PACKED"
    return dictionary, encodings


def _repeats(name: str, sample: pa.Table) -> bool:
    """Whether a column's values repeat enough to be worth a dictionary, judging by a sample of its rows."""
    if name in _UNIQUE_COLUMNS:
        return False
    column = sample.column(name)
    if name in _CONSTANT_COLUMNS or pat.is_dictionary(column.type):
        return True
    distinct = pc.count_distinct(column, mode="all").as_py()
    return bool(distinct <= max(1, len(column)) * _MOSTLY_DISTINCT)


def _leaves(path: str, kind: pa.DataType) -> list[str]:
    """Return the Parquet paths of a nested column's leaves."""
    if pat.is_struct(kind):
        members = [kind.field(i) for i in range(kind.num_fields)]
        return [leaf for member in members for leaf in _leaves(f"{path}.{member.name}", member.type)]
    if pat.is_map(kind):
        key, value = f"{path}.key_value.key", f"{path}.key_value.value"
        return [*_leaves(key, kind.key_type), *_leaves(value, kind.item_type)]
    if pat.is_list(kind):
        return _leaves(f"{path}.list.{LIST_ELEMENT}", kind.value_type)
    return [path]
