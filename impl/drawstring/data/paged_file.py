"""Reading a few rows of a base file: by its page index, only the pages that hold them.

Whose duty: find the rows of some record keys, and read rows by their positions, with no more bytes fetched and decoded
than the pages that hold them. Arrow reads no single pages: those that are wanted become a small Parquet file of their
own, in memory. Files are untrusted: what cannot be read is a `CorruptFileError` with the file's path.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from drawstring.codec.parquet_bytes import checked, open_parquet
from drawstring.data.bloom import BloomFilter
from drawstring.data.fetched_parts import FetchedParts, Ranges, one_range
from drawstring.data.inflated_pages import inflated
from drawstring.data.key_order import same_order
from drawstring.data.parquet_pages import (
    Chunk,
    Layout,
    Numbers,
    Pages,
    Piece,
    RowGroup,
    one_page,
    pages_with,
    parse_layout,
    parse_offset_indexes,
    small_file,
)
from drawstring.data.plain_pages import MANY_ROWS, MOST_TEXTS, Leaf, PlainPage, plain_pages, take_plain
from drawstring.errors import CorruptFileError, FormatError, UnsupportedTableError
from drawstring.ports import Storage
from drawstring_spec.footers import MAX_RECORD_KEY, MIN_RECORD_KEY

_TAIL_BYTES: Final = 512 * 1024
_FOOTER_END: Final = 8  # length of the footer, then the magic
_MAGIC: Final = b"PAR1"
_MAX_FOOTER_BYTES: Final = 16 * 1024 * 1024  # It is parsed value by value.
_SMALL_DICTIONARY_BYTES: Final = 64 * 1024  # All of it is read, for however few rows.
_WORTH_A_BLOOM_FILTER: Final = 4
"""Pages of keys from which on it is cheaper to ask the bloom filter first."""


class PagedFile:
    """An open base file whose rows can be read one by one.

    Args:
        storage: of the table.
        path: relative to the table's base path.
        size: of the file, in bytes, as the storage says.

    Raises:
        CorruptFileError: the file has no Parquet footer.
        UnsupportedTableError: its footer is too large for look-ups.
        NotFoundError: it is gone.

    """

    def __init__(self, storage: Storage, path: str, size: int) -> None:
        self._path, self._size = path, size
        self._fetched = FetchedParts(storage, path, self._corrupt)
        self._layout = self._read_layout()
        self._pages: dict[tuple[int, str], Pages] = {}
        self._found: tuple[str, Numbers, pa.ChunkedArray] | None = None
        self._types: dict[str, pa.DataType] = {}
        self._not_plain: set[tuple[int, str]] = set()

    @property
    def path(self) -> str:
        """Relative to the table's base path."""
        return self._path

    @property
    def size(self) -> int:
        """Of the file, in bytes."""
        return self._size

    @property
    def num_fetched_bytes(self) -> int:
        """How much of the file is in memory."""
        return self._fetched.num_bytes

    def _read_layout(self) -> Layout:
        self._fetched.fetch(one_range(max(0, self._size - _TAIL_BYTES), self._size))
        tail = self._bytes(max(0, self._size - _FOOTER_END), self._size)
        if self._size < _FOOTER_END or tail[-4:] != _MAGIC:
            raise self._corrupt(f"its {self._size} bytes do not end as a Parquet file does")
        length = int.from_bytes(tail[:4], "little") + _FOOTER_END
        if length > self._size:
            raise self._corrupt(f"its footer claims {length} of its {self._size} bytes")
        if length > _MAX_FOOTER_BYTES:
            raise UnsupportedTableError(
                f"The base file {self._path} has a footer of {length} bytes, which is too large for look-ups.",
                way_out="Read the rows with a filter on the column _hoodie_record_key.",
            )
        # What was fetched already is not fetched again: with a bloom filter in it, a footer is as large as some files.
        self._fetched.fetch(one_range(self._size - length, max(self._size - length, self._size - _TAIL_BYTES)))
        with self._parsing():
            return parse_layout(self._bytes(self._size - length, self._size - _FOOTER_END), self._size)

    @property
    def column_names(self) -> tuple[str, ...]:
        """Columns at the top level, in their order."""
        return tuple(self._layout.columns)

    def rows_of_keys(self, column: str, keys: pa.Array, *, all_there: bool = False) -> Numbers:
        """Positions of the rows that have one of some keys, ascending.

        Args:
            column: that holds the keys; a text column.
            keys: ``string``, without nulls.
            all_there: whether an index says that the file holds each of them, so that its bloom filter need not be
                asked. The answer does not depend on it.

        """
        keys = self._possible(keys)
        texts = _sorted_texts(keys)
        candidates = self._candidates(column, texts)
        if not all_there and sum(len(pages) for pages in candidates) > _WORTH_A_BLOOM_FILTER:
            fewer = self._by_bloom_filter(keys)
            if len(fewer) < len(keys):
                keys, texts = fewer, _sorted_texts(fewer)
                candidates = self._candidates(column, texts)
        found = [np.empty(0, np.int64)]
        chunks: list[pa.Array] = []
        first = 0
        for index, (pages, group) in enumerate(zip(candidates, self._layout.row_groups, strict=True)):
            if len(pages):
                self._fetched.fetch(self._places(index, {column: pages[:, 0]}))
                local, held = self._search(index, column, pages, keys, texts)
                found.append(first + local)
                chunks += held
            first += group.num_rows
        rows = np.concatenate(found)
        if chunks:
            self._found = column, rows, pa.chunked_array(chunks)
        return rows

    def _search(
        self, index: int, column: str, pages: Numbers, keys: pa.Array, texts: Sequence[bytes]
    ) -> tuple[Numbers, Sequence[pa.Array]]:
        """Rows of a row group that have one of some keys, and the keys that they have.

        Args:
            index: of the row group.
            column: of keys.
            pages: that may hold some of them, as of `_candidates`.
            keys: to look for.
            texts: the same, sorted.

        """
        wanted = pages[:, 0]
        kind = self._type_of(column)
        few = int((pages[:, 2] - pages[:, 1]).max()) <= MOST_TEXTS and pa.types.is_string(kind)
        plain = self._plain_pages(index, column, wanted) if few else None
        if plain is not None:
            hits = [page.find(texts[low:high]) for page, (_, low, high) in zip(plain, pages.tolist(), strict=True)]
            if None not in hits:
                firsts = self._pages_of(index, column).first_rows[wanted].tolist()
                pairs = sorted(
                    (first + row, text) for first, own in zip(firsts, hits, strict=True) for row, text in own or ()
                )
                held = pa.array([text for _, text in pairs], pa.binary()).cast(kind)
                return np.array([row for row, _ in pairs], np.int64), [held]
        with self._parsing():
            read = checked(self._read_pages(index, [column], {column: wanted}, ())).column(0)
        is_held = pc.is_in(read, value_set=keys.cast(read.type))
        local = np.flatnonzero(is_held.to_numpy(zero_copy_only=False))
        return _positions(self._pages_of(index, column), wanted)[local], read.take(pa.array(local)).chunks

    def _possible(self, keys: pa.Array) -> pa.Array:
        """Keys inside the range that the footer states."""
        limits = [self._layout.entries.get(name) for name in (MIN_RECORD_KEY, MAX_RECORD_KEY)]
        try:
            least, greatest = (None if limit is None else limit.decode("utf-8") for limit in limits)
        except UnicodeDecodeError as error:
            raise self._corrupt("the key range in its footer is no text") from error
        if least is None or greatest is None or not (same_order(least) and same_order(greatest)):
            return keys
        return keys.filter(pc.and_(pc.greater_equal(keys, least), pc.less_equal(keys, greatest)))

    def _by_bloom_filter(self, keys: pa.Array) -> pa.Array:
        try:
            bloom = BloomFilter.from_footer(self._layout.entries, path=self._path)
        except FormatError as error:
            raise CorruptFileError(error.message) from error
        return keys if bloom is None else keys.filter(pa.array(bloom.might_contain(keys)))

    def _candidates(self, column: str, texts: Sequence[bytes]) -> list[Numbers]:
        """Which pages of each row group may hold some of some keys, which are sorted, as `pages_with` tells it."""
        found = []
        for index, group in enumerate(self._layout.row_groups):
            pages, chunk = self._pages_of(index, column), self._chunk(group, column)
            num_pages = len(pages.places) if texts else 0
            picked = np.stack([np.arange(num_pages), np.zeros(num_pages, np.int64), np.full(num_pages, len(texts))], 1)
            if texts and chunk.column_index is not None and chunk.offset_index is not None:
                self._fetched.fetch(one_range(*chunk.column_index))
                with self._parsing():
                    picked = pages_with(self._bytes(*chunk.column_index), len(pages.places), texts)
            found.append(picked)
        return found

    def read(self, rows: Numbers, names: Sequence[str], *, dictionary_columns: Sequence[str] = ()) -> pa.Table:
        """Return some rows, in the file's own types.

        Args:
            rows: their positions in the file, ascending.
            names: columns at the top level, in the order that is wanted; those that the file lacks are left out.
            dictionary_columns: text columns that are to be read as dictionary arrays.

        """
        names = [name for name in names if name in self._layout.columns]
        known = None if self._found is None or self._found[1] is not rows else self._found[0]
        if self._found is not None and known in names and known not in dictionary_columns:
            # The keys of these rows are what they were found by.
            column, _, keys = self._found
            others = self.read(rows, [name for name in names if name != column], dictionary_columns=dictionary_columns)
            columns = dict(zip(others.column_names, others.columns, strict=True)) | {column: keys}
            return pa.table({name: columns[name] for name in names})
        parts: list[pa.Table] = []
        first = 0
        for index, group in enumerate(self._layout.row_groups):
            low, high = np.searchsorted(rows, (first, first + group.num_rows))
            if low < high:
                parts.append(self._read_rows(index, rows[low:high] - first, names, dictionary_columns))
            first += group.num_rows
        return pa.concat_tables(parts) if parts else self._no_rows(names, dictionary_columns)

    def _no_rows(self, names: Sequence[str], dictionary: Sequence[str]) -> pa.Table:
        chosen = set(names)
        ordered = [name for name in self._layout.columns if name in chosen]
        with self._parsing():
            file = open_parquet(
                pa.py_buffer(small_file(self._layout, ordered, [], 0)),
                dictionary_columns=[n for n in dictionary if n in chosen],
            )
            return file.schema_arrow.remove_metadata().empty_table().select(names)

    def _read_rows(self, index: int, rows: Numbers, names: Sequence[str], dictionary: Sequence[str]) -> pa.Table:
        """Rows of one row group: columns whose pages begin at the same rows are read together."""
        if not names:
            return pa.table({})
        self._load_indexes(index, names)
        together: dict[bytes, list[str]] = {}
        picked: dict[bytes, Numbers] = {}
        wanted: dict[str, Numbers] = {}
        for name in names:
            pages = self._pages_of(index, name)
            begins = pages.first_rows.tobytes()
            if begins not in picked:
                picked[begins] = pages.of_rows(rows)
            wanted[name] = picked[begins]
            together.setdefault(begins, []).append(name)
        self._fetched.fetch(self._places(index, wanted))
        coded = [name for name in names if self._is_coded_text(index, name) and name not in dictionary]
        columns = self._plain_rows(index, rows, wanted, {*dictionary, *coded})
        left = ([name for name in group if name not in columns] for group in together.values())
        for group in filter(None, left):
            table = self._read_pages(index, group, wanted, [*dictionary, *coded])
            held = _positions(self._pages_of(index, group[0]), wanted[group[0]])
            with self._parsing():
                table = checked(table.take(pa.array(np.searchsorted(held, rows))))
                columns.update(zip(table.column_names, table.columns, strict=True))
                columns.update({name: _plain(columns[name]) for name in coded if name in group})
        return pa.table({name: columns[name] for name in names})

    def _plain_rows(
        self, index: int, rows: Numbers, wanted: dict[str, Numbers], others: Container[str]
    ) -> dict[str, pa.ChunkedArray]:
        """Those of some columns whose values stand plainly in the pages that are wanted, at some rows."""
        found: dict[str, pa.ChunkedArray] = {}
        for name, picked in wanted.items():
            pages = None if name in others else self._plain_pages(index, name, picked)
            if pages is None:
                continue
            first_rows = self._pages_of(index, name).first_rows[picked]
            cuts = np.searchsorted(rows, first_rows)[1:]
            places = [local - first for local, first in zip(np.split(rows, cuts), first_rows.tolist(), strict=True)]
            column = take_plain(pages, places, self._type_of(name))
            if column is not None:
                with self._parsing():
                    column.validate(full=True)
                found[name] = pa.chunked_array([column])
        return found

    def _plain_pages(self, index: int, column: str, wanted: Numbers) -> list[PlainPage] | None:
        """Pages of a column, fetched already; None where Arrow has to read them."""
        if column not in self._layout.flat or (index, column) in self._not_plain:
            return None
        chunk = self._chunk(self._layout.row_groups[index], column)
        physical, is_optional = self._layout.flat[column]
        leaf = Leaf(physical, chunk.codec, is_optional)
        found = None
        pages = self._pages_of(index, column)
        worth_while = chunk.offset_index is not None and pages.num_rows >= MANY_ROWS * len(pages.places)
        if worth_while and leaf.fits(self._type_of(column)):
            parts = [self._fetched.part(start, end) for start, end in pages.places[wanted].tolist()]
            found = plain_pages(parts, pages.row_counts()[wanted].tolist(), leaf)
        if found is None:
            self._not_plain.add((index, column))
        return found

    def _type_of(self, column: str) -> pa.DataType:
        """Arrow's type of a column at the top level."""
        if not self._types:
            empty = self._no_rows(list(self._layout.columns), ())
            self._types = dict(zip(empty.column_names, empty.schema.types, strict=True))
        if column not in self._types:
            raise self._corrupt(f"its schema lacks the column {column!r} of its row groups")
        return self._types[column]

    def _read_pages(
        self, index: int, names: Sequence[str], wanted: dict[str, Numbers], dictionary: Sequence[str]
    ) -> pa.Table:
        """All rows of some fetched pages, which begin at the same rows in all columns; nothing is checked yet."""
        group = self._layout.row_groups[index]
        chosen = set(names)
        ordered = [name for name in self._layout.columns if name in chosen]
        if not ordered:
            raise self._corrupt(f"it has none of the columns {', '.join(sorted(chosen))}")
        pieces = [
            inflated(self._piece(chunk, self._pages_of(index, chunk.column), wanted[chunk.column]))
            for chunk in group.chunks
            if chunk.column in chosen
        ]
        num_rows = int(self._pages_of(index, ordered[0]).row_counts()[wanted[ordered[0]]].sum())
        with self._parsing():
            content = small_file(self._layout, ordered, pieces, num_rows)
            file = open_parquet(content, dictionary_columns=[n for n in dictionary if n in chosen])
            table = file.read(use_threads=False).replace_schema_metadata(None)
        if table.num_rows != num_rows:
            raise self._corrupt(f"{num_rows} rows by its page index are {table.num_rows}")
        return table

    def _piece(self, chunk: Chunk, pages: Pages, wanted: Numbers) -> Piece:
        if chunk.column not in self._layout.flat:
            dictionary, data = self._bytes(chunk.start, chunk.data_start), self._bytes(chunk.data_start, chunk.end)
            return Piece(chunk, dictionary, data, chunk.num_values)
        data = b"".join([self._fetched.part(start, end) for start, end in pages.places[wanted].tolist()])
        is_whole = len(wanted) == len(pages.places)
        num_values = chunk.num_values if is_whole else int(pages.row_counts()[wanted].sum())
        return Piece(chunk, self._bytes(chunk.start, int(pages.places[0, 0])), data, num_values)

    def _pages_of(self, index: int, column: str) -> Pages:
        """Pages of a column in a row group; one for all of it where it is nested, or has no index."""
        group = self._layout.row_groups[index]
        chunk = self._chunk(group, column)
        if chunk.offset_index is None or column not in self._layout.flat:
            return one_page(chunk, group.num_rows)
        if (index, column) not in self._pages:
            self._load_indexes(index, [column])
        return self._pages[index, column]

    def _places(self, index: int, wanted: Mapping[str, Numbers]) -> Ranges:
        """Bytes that some pages of some columns take, with the dictionaries before them."""
        group = self._layout.row_groups[index]
        others: list[tuple[int, int]] = []
        places: list[Ranges] = []
        for column, picked in wanted.items():
            if column in self._layout.flat:
                pages = self._pages_of(index, column)
                others.append((self._chunk(group, column).start, int(pages.places[0, 0])))
                places.append(pages.places[picked])
            else:
                others += [(chunk.start, chunk.end) for chunk in group.chunks if chunk.column == column]
        return np.concatenate([np.array(others, np.int64).reshape(-1, 2), *places])

    def _is_coded_text(self, index: int, column: str) -> bool:
        """Whether texts of a row group are cheaper to read as what stands in its dictionary: few are wanted of many."""
        if column not in self._layout.texts:
            return False
        chunk = self._chunk(self._layout.row_groups[index], column)
        return chunk.by_dictionary and chunk.data_start - chunk.start <= _SMALL_DICTIONARY_BYTES

    def _chunk(self, group: RowGroup, column: str) -> Chunk:
        """The chunk of a column; the first one, where it is nested."""
        if column not in group.by_column:
            raise self._corrupt(f"a row group lacks its column {column!r}")
        return group.by_column[column]

    def _load_indexes(self, index: int, names: Sequence[str]) -> None:
        """The offset indexes of several columns stand side by side: they are fetched and taken apart at once."""
        group, chosen = self._layout.row_groups[index], set(self._layout.flat).intersection(names)
        chunks = [
            chunk
            for chunk in group.chunks
            if chunk.column in chosen and chunk.offset_index is not None and (index, chunk.column) not in self._pages
        ]
        places = [chunk.offset_index for chunk in chunks if chunk.offset_index is not None]
        if not places:
            return
        self._fetched.fetch(np.array(places, np.int64))
        with self._parsing():
            found = parse_offset_indexes([self._bytes(*place) for place in places], chunks, group.num_rows)
        self._pages.update({(index, chunk.column): pages for chunk, pages in zip(chunks, found, strict=True)})

    def _bytes(self, start: int, end: int) -> bytes:
        return self._fetched.part(start, end).tobytes()

    @contextmanager
    def _parsing(self) -> Iterator[None]:
        """Turn what Arrow or Thrift raise about damaged bytes into a `CorruptFileError`. No storage call inside."""
        try:
            yield
        except (
            pa.ArrowException,
            OSError,
            ValueError,
            KeyError,
            IndexError,
            OverflowError,
            MemoryError,
        ) as error:
            raise self._corrupt(str(error)) from error

    def _corrupt(self, why: str) -> CorruptFileError:
        return CorruptFileError(
            f"The base file {self._path} cannot be read as Parquet: {why}.",
            way_out="Restore the file from a copy, or roll the table back to an instant before it; nothing was "
            "changed.",
        )


def _sorted_texts(keys: pa.Array) -> list[bytes]:
    return sorted(key.encode() for key in keys.to_pylist())


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A dictionary column's values, where they are not plain already."""
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _positions(pages: Pages, wanted: Numbers) -> Numbers:
    """Positions, in the row group, of the rows of some pages."""
    counts = pages.row_counts()[wanted]
    behind: npt.NDArray[np.int64] = np.cumsum(counts)
    return np.repeat(pages.first_rows[wanted] - behind + counts, counts) + np.arange(
        int(behind[-1]) if len(counts) else 0
    )
