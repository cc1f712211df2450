"""Reading a base file: the footer first, then only the bytes of the columns that are wanted.

Whose duty: bytes come from the storage port and only then does Arrow see them, as a buffer, so no port is called
from native code. Files are untrusted: what cannot be read as Parquet is a `CorruptFileError` with the file's path.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from drawstring.codec.parquet_bytes import checked, open_parquet, parsing
from drawstring.data.bloom import BloomFilter
from drawstring.errors import CorruptFileError, FormatError
from drawstring.ports import Storage
from drawstring_spec.footers import MAX_RECORD_KEY, MIN_RECORD_KEY

_TAIL_BYTES: Final = 512 * 1024  # A footer with the default bloom filter fits: one read opens most files.
_FOOTER_END: Final = 8  # length of the footer, then the magic
_MAGIC: Final = b"PAR1"
_MAX_GAP_BYTES: Final = 256 * 1024  # Ranges closer than this are fetched as one.

BATCH_BYTES: Final = 64 * 1024 * 1024
"""Encoded bytes of the rows of one batch, at most, unless a single row has more."""


@dataclass(frozen=True, slots=True)
class BaseFileReader:
    """An open base file: its footer is read, its columns are not.

    Attributes:
        path: relative to the table's base path.
        size: in bytes.
        metadata: the Parquet footer.
        storage: where it is.

    """

    path: str
    size: int
    metadata: pq.FileMetaData
    storage: Storage

    @property
    def num_rows(self) -> int:
        """Rows in the file, as its footer says."""
        return int(self.metadata.num_rows)

    @property
    def footer(self) -> Mapping[str, bytes]:
        """Key/value entries of the footer."""
        entries: dict[bytes, bytes] = self.metadata.metadata or {}
        return {key.decode("utf-8", errors="replace"): value for key, value in entries.items()}

    def schema(self) -> pa.Schema:
        """Return the file's own columns as Arrow types. Raises `CorruptFileError`."""
        with _parsing(self.path):
            return self.metadata.schema.to_arrow_schema().remove_metadata()

    def key_range(self) -> tuple[str, str] | None:
        """Return the least and the greatest record key; None where the footer does not say."""
        footer = self.footer
        least, greatest = footer.get(MIN_RECORD_KEY), footer.get(MAX_RECORD_KEY)
        if least is None or greatest is None:
            return None
        try:
            return least.decode("utf-8"), greatest.decode("utf-8")
        except UnicodeDecodeError as error:
            raise CorruptFileError(f"The key range in the footer of {self.path} is no text.") from error

    def bloom_filter(self) -> BloomFilter | None:
        """Return the filter of the record keys; None where there is none. Raises `CorruptFileError`."""
        try:
            return BloomFilter.from_footer(self.footer, path=self.path)
        except FormatError as error:
            raise CorruptFileError(error.message) from error

    def read(
        self,
        columns: Sequence[str] | None = None,
        *,
        row_groups: Sequence[int] | None = None,
        dictionary_columns: Sequence[str] = (),
        use_threads: bool = True,
    ) -> pa.Table:
        """Return rows, in the file's own types.

        Args:
            columns: names at the top level, in the order that is wanted; all where None. Names that the file
                does not have are left out.
            row_groups: positions of those to read; all where None.
            dictionary_columns: text columns that are to be read as dictionary arrays.
            use_threads: whether Arrow may decode columns in parallel.

        Raises:
            CorruptFileError: the file is no Parquet, or damaged.
            NotFoundError: it is gone.

        """
        groups = list(range(self.metadata.num_row_groups)) if row_groups is None else list(row_groups)
        with _parsing(self.path):
            names = self.metadata.schema.to_arrow_schema().names
        wanted = names if columns is None else [name for name in columns if name in set(names)]
        content = self._fetch(groups, set(wanted), everything=len(wanted) == len(names))
        with _parsing(self.path):
            texts = [name for name in dictionary_columns if name in set(wanted)]
            file = open_parquet(content, metadata=self.metadata, dictionary_columns=texts)
            table = file.read_row_groups(groups, columns=wanted, use_threads=use_threads)
            return checked(table.select(wanted).replace_schema_metadata(None))

    def batches(
        self, columns: Sequence[str], batch_rows: int, *, dictionary_columns: Sequence[str] = ()
    ) -> Iterator[pa.RecordBatch]:
        """Yield all rows, a batch at a time: what is fetched at once is the bytes of one row group.

        Args:
            columns: as in `read`.
            batch_rows: rows of a batch, at most; fewer where rows are so wide that a batch would be larger than
                `BATCH_BYTES`.
            dictionary_columns: as in `read`.

        Raises as `read`.

        """
        with _parsing(self.path):
            names = self.metadata.schema.to_arrow_schema().names
        wanted = [name for name in columns if name in set(names)]
        for group in range(self.metadata.num_row_groups):
            content = self._fetch([group], set(wanted), everything=False)
            with _parsing(self.path):
                rows = min(batch_rows, self._narrow_rows(group, set(wanted)))
                texts = [name for name in dictionary_columns if name in set(wanted)]
                file = open_parquet(content, metadata=self.metadata, dictionary_columns=texts)
                found = file.iter_batches(batch_size=rows, row_groups=[group], columns=wanted)
            while True:
                with _parsing(self.path):
                    batch = next(found, None)
                    if batch is None:
                        break
                    checked(batch)
                yield batch.select(wanted).replace_schema_metadata(None)

    def _narrow_rows(self, group: int, names: set[str]) -> int:
        """How many rows of a row group have `BATCH_BYTES` in the columns that are wanted, as the footer says."""
        row_group = self.metadata.row_group(group)
        chunks = (row_group.column(index) for index in range(row_group.num_columns))
        width = sum(int(c.total_uncompressed_size) for c in chunks if c.path_in_schema.partition(".")[0] in names)
        return max(1, BATCH_BYTES * int(row_group.num_rows) // max(width, 1))

    def _fetch(self, groups: Sequence[int], names: set[str], *, everything: bool) -> pa.Buffer:
        """Return a buffer as long as the file in which at least the wanted chunks are filled in."""
        if everything and len(groups) == self.metadata.num_row_groups:
            return pa.py_buffer(self.storage.read(self.path))
        with _parsing(self.path):
            ranges = self._ranges(groups, names)
        # Memory that is never touched is never taken from the system, so the gaps cost nothing.
        content = np.empty(self.size, np.uint8)
        for start, end in ranges:
            content[start:end] = np.frombuffer(self.storage.read(self.path, start, end - start), np.uint8)
        return pa.py_buffer(content)

    def _ranges(self, groups: Sequence[int], names: set[str]) -> list[tuple[int, int]]:
        ranges: list[tuple[int, int]] = []
        for group in groups:
            row_group = self.metadata.row_group(group)
            for index in range(row_group.num_columns):
                chunk = row_group.column(index)
                if chunk.path_in_schema.partition(".")[0] in names:
                    ranges.append(self._range(chunk))
        merged: list[tuple[int, int]] = []
        for start, end in sorted(ranges):
            if merged and start - merged[-1][1] <= _MAX_GAP_BYTES:
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            else:
                merged.append((start, end))
        return merged

    def _range(self, chunk: Any) -> tuple[int, int]:
        start = chunk.data_page_offset
        if chunk.has_dictionary_page and 0 < chunk.dictionary_page_offset < start:
            start = chunk.dictionary_page_offset
        end = start + chunk.total_compressed_size
        if not 0 <= start <= end <= self.size:
            raise ValueError(f"column {chunk.path_in_schema} claims the bytes {start} to {end}")
        return start, end


def open_base_file(storage: Storage, path: str, size: int) -> BaseFileReader:
    """Read a base file's footer.

    Args:
        storage: of the table.
        path: relative to the table's base path.
        size: of the file, in bytes, as the storage says.

    Raises:
        CorruptFileError: the file has no Parquet footer.
        NotFoundError: it is gone.

    """
    start = max(0, size - _TAIL_BYTES)
    tail = storage.read(path, start, size - start)
    if len(tail) < _FOOTER_END or bytes(tail[-4:]) != _MAGIC:
        raise _corrupt(path, f"its {size} bytes do not end as a Parquet file does")
    length = int.from_bytes(tail[-8:-4], "little") + _FOOTER_END
    if length > size:
        raise _corrupt(path, f"its footer claims {length} of its {size} bytes")
    if length > len(tail):
        tail = storage.read(path, size - length, length)
    with _parsing(path):
        metadata = pq.read_metadata(pa.BufferReader(pa.py_buffer(tail[-length:])))
    return BaseFileReader(path, size, metadata, storage)


def _parsing(path: str) -> AbstractContextManager[None]:
    return parsing(partial(_corrupt, path))


def _corrupt(path: str, why: str) -> CorruptFileError:
    return CorruptFileError(
        f"The base file {path} cannot be read as Parquet: {why}.",
        way_out="Restore the file from a copy, or roll the table back to an instant before it; nothing was changed.",
    )
