"""Where the pages of a Parquet file stand: row groups, column chunks, and the page index.

Source: the Parquet format, ``parquet.thrift``: ``FileMetaData``, ``OffsetIndex``, ``ColumnIndex``. Whose duty: Arrow
reads whole column chunks; a look-up needs to know pages. What the index claims is untrusted: pages lie one behind the
other inside of their chunk, and rows count up, or the file is refused. What cannot be read is a `ValueError` or an
`IndexError`: `drawstring.data.paged_file` names the file.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from drawstring.codec.thrift import (
    BINARY,
    I32,
    I64,
    LIST,
    STRUCT,
    Struct,
    parse_struct,
    varint,
    write_binary,
    write_list,
    write_number,
    write_struct,
)

Numbers = npt.NDArray[np.int64]

_TOKENS: Final = 7
"""Of a page's location in an offset index: three fields, a type before each, and the end of the structure."""
_BYTE_ARRAY: Final = 6
_UTF_8: Final = 0
_DICTIONARY: Final = (2, 8)
_DATA_PAGES: Final = (0, 3)
"""A physical type, a logical one, encodings and kinds of pages, by their numbers in the format."""
_TYPES: Final = ((0, 0x16), (2, 0x15), (4, 0x16), (6, 0x00))


@dataclass(frozen=True)
class Pages:
    """The data pages of a column chunk, one behind the other.

    Attributes:
        places: of each in the file, in bytes: where it begins, and behind it (``(pages, 2)``).
        first_rows: of each, within the row group.
        num_rows: of the row group.

    """

    places: Numbers
    first_rows: Numbers
    num_rows: int

    def of_rows(self, rows: Numbers) -> Numbers:
        """Which pages hold some rows, ascending."""
        return np.unique(np.searchsorted(self.first_rows, rows, side="right") - 1)

    def row_counts(self) -> Numbers:
        """Rows of each page."""
        return self._row_counts

    @cached_property
    def _row_counts(self) -> Numbers:
        return np.diff(np.append(self.first_rows, self.num_rows))


@dataclass(frozen=True, slots=True)
class Chunk:
    """A column chunk.

    Attributes:
        column: its column at the top level.
        head: the fields of its metadata that hold wherever its pages stand: type, encodings, path, codec.
        codec: of its pages, by its number in the format.
        num_values: in all its pages, nulls included.
        uncompressed_size: of all its pages.
        start: of its first page, which may be that of its dictionary.
        data_start: of its first data page.
        end: behind its last page.
        offset_index: where its pages' locations stand, start and end; None where it has none.
        column_index: where its pages' bounds stand, likewise.
        by_dictionary: whether the footer says that all its values stand in its dictionary.

    """

    column: str
    head: tuple[tuple[int, int, bytes], ...]
    codec: int
    num_values: int
    uncompressed_size: int
    start: int
    data_start: int
    end: int
    offset_index: tuple[int, int] | None
    column_index: tuple[int, int] | None
    by_dictionary: bool


@dataclass(frozen=True, slots=True)
class RowGroup:
    """A row group.

    Attributes:
        num_rows: in it.
        chunks: one for each leaf column.
        by_column: the first chunk of each column at the top level.

    """

    num_rows: int
    chunks: tuple[Chunk, ...]
    by_column: dict[str, Chunk]


@dataclass(frozen=True, slots=True)
class Layout:
    """What a file's footer says of where things are.

    Attributes:
        version: of the format.
        created_by: what wrote the file; None where it does not say.
        root: name of the schema.
        columns: raw elements of the schema by top-level column, in their order.
        flat: columns that have one leaf and no nesting: the leaf's physical type, and whether it may be null.
        texts: those of them that are UTF-8 texts.
        row_groups: in their order.
        entries: key/value entries.

    """

    version: int
    created_by: bytes | None
    root: bytes
    columns: dict[str, list[bytes]]
    flat: dict[str, tuple[int, bool]]
    texts: frozenset[str]
    row_groups: tuple[RowGroup, ...]
    entries: dict[str, bytes]


def parse_layout(footer: bytes, file_size: int) -> Layout:
    """Return what a footer says.

    Args:
        footer: of the file, without its length.
        file_size: in bytes; nothing may stand beyond it.

    """
    parts = parse_struct(footer)
    root, columns, flat, texts = _schema(footer, parts.items_of(2, Struct))
    return Layout(
        version=parts.number(1) or 1,
        created_by=parts.binary(6) if 6 in parts else None,
        root=root,
        columns=columns,
        flat=flat,
        texts=texts,
        row_groups=tuple(_row_group(group, file_size) for group in parts.items_of(4, Struct)),
        entries={
            pair.binary(1).decode("utf-8", "replace"): pair.binary(2) for pair in parts.items_of(5, Struct) if 2 in pair
        },
    )


def _schema(
    footer: bytes, elements: Sequence[Struct]
) -> tuple[bytes, dict[str, list[bytes]], dict[str, tuple[int, bool]], frozenset[str]]:
    columns: dict[str, list[bytes]] = {}
    flat: dict[str, tuple[int, bool]] = {}
    texts = set()
    at = 1
    while at < len(elements):
        first, left = at, 1
        while left > 0:
            left += (elements[at].number(5) or 0) - 1
            at += 1
        name = elements[first].binary(4).decode("utf-8")
        if at == first + 1 and elements[first].number(3) in (0, 1):
            physical = elements[first].number(1)
            flat[name] = -1 if physical is None else physical, elements[first].number(3) == 1
            if physical == _BYTE_ARRAY and elements[first].number(6) == _UTF_8:
                texts.add(name)
        columns[name] = [footer[element.start : element.end] for element in elements[first:at]]
    return elements[0].binary(4), columns, flat, frozenset(texts)


def _row_group(group: Struct, file_size: int) -> RowGroup:
    num_rows = group.number(3)
    if num_rows is None or num_rows < 0:
        raise ValueError(f"a row group has {num_rows} rows")
    chunks = tuple(_chunk(chunk, file_size) for chunk in group.items_of(1, Struct))
    return RowGroup(num_rows, chunks, {chunk.column: chunk for chunk in reversed(chunks)})


def _chunk(chunk: Struct, file_size: int) -> Chunk:
    meta = chunk.struct(3)
    size, data_start, dictionary = meta.number(7), meta.number(9), meta.number(11)
    kind, codec, path = meta.number(1), meta.number(4), meta.items_of(3, bytes)
    if size is None or data_start is None or kind is None or codec is None or not path:
        raise ValueError("a column chunk does not say where it stands, or what it is")
    start = dictionary if dictionary is not None and 0 < dictionary < data_start else data_start
    if not 0 <= start <= data_start <= start + size <= file_size:
        raise ValueError(f"a column chunk claims the bytes {start} to {start + size} of {file_size}")
    encodings = [write_number(code) for code in meta.items_of(2, int)]
    return Chunk(
        column=path[0].decode("utf-8"),
        head=(
            (1, I32, write_number(kind)),
            (2, LIST, write_list(I32, encodings)),
            (3, LIST, write_list(BINARY, [write_binary(part) for part in path])),
            (4, I32, write_number(codec)),
        ),
        codec=codec,
        num_values=meta.number(5) or 0,
        uncompressed_size=meta.number(6) or 0,
        start=start,
        data_start=data_start,
        end=start + size,
        offset_index=_place(chunk.number(4), chunk.number(5), file_size),
        column_index=_place(chunk.number(6), chunk.number(7), file_size),
        by_dictionary=start < data_start and _by_dictionary(meta.items_of(13, Struct)),
    )


def _by_dictionary(counts: Sequence[Struct]) -> bool:
    """Whether all data pages refer to the dictionary, as the counts of pages by their encodings say."""
    return bool(counts) and all(
        one.number(2) in _DICTIONARY for one in counts if one.number(1) in _DATA_PAGES and one.number(3)
    )


def _place(start: int | None, size: int | None, file_size: int) -> tuple[int, int] | None:
    if start is None or size is None:
        return None
    if not (start > 0 and 0 < size <= file_size - start):
        raise ValueError(f"a page index claims {size} bytes at {start} of {file_size}")
    return start, start + size


def one_page(chunk: Chunk, num_rows: int) -> Pages:
    """A chunk as one page: as it is taken where it has no index, or is nested."""
    return Pages(np.array([(chunk.data_start, chunk.end)], np.int64), np.zeros(1, np.int64), num_rows)


def parse_offset_indexes(raws: Sequence[bytes], chunks: Sequence[Chunk], num_rows: int) -> list[Pages]:
    """Return where the pages of some chunks of a row group stand.

    All locations are the same seven numbers of variable length, so those of all chunks are taken apart all at once.

    Args:
        raws: offset index of each chunk.
        chunks: whose they are.
        num_rows: of the row group.

    """
    counts, heads = zip(*(_num_locations(raw) for raw in raws), strict=True)
    content = np.frombuffer(b"".join(raws), np.uint8)
    behind = np.cumsum([len(raw) for raw in raws])
    bodies = np.append(0, behind[:-1]) + np.array(heads)
    ends = np.flatnonzero(content < 0x80)
    first_tokens, last_tokens = np.searchsorted(ends, bodies), np.searchsorted(ends, behind)
    num_tokens = _TOKENS * np.array(counts, np.int64)
    if (num_tokens == 0).any() or (first_tokens + num_tokens > last_tokens).any():
        raise ValueError("an offset index is cut off")
    firsts = np.cumsum(num_tokens) - num_tokens
    tokens = np.arange(int(num_tokens.sum())) + np.repeat(first_tokens - firsts, num_tokens)
    starts = np.append(0, ends[:-1] + 1)[tokens]
    starts[firsts] = bodies
    ends = ends[tokens]
    for token, expected in _TYPES:
        if (content[starts[token::_TOKENS]] != expected).any():
            raise ValueError("an offset index has other fields than a page's location")
    values = [np.stack([edges[i::_TOKENS] for i in (1, 3, 5)]).ravel() for edges in (starts, ends)]
    places, sizes, first_rows = _longs(content, *values).reshape(3, -1)
    cuts = np.cumsum(counts)[:-1]
    parts = zip(np.split(places, cuts), np.split(sizes, cuts), np.split(first_rows, cuts), chunks, strict=True)
    return [_pages(place, size, first, chunk, num_rows) for place, size, first, chunk in parts]


def _num_locations(raw: bytes) -> tuple[int, int]:
    """How many locations an offset index has, and where in it they begin."""
    if raw[0] != 0x19:
        raise ValueError("an offset index does not begin with a list")
    count, at = (raw[1] >> 4, 2) if raw[1] >> 4 < 15 else varint(raw, 2)
    if raw[1] & 0x0F != STRUCT or count > len(raw):
        raise ValueError("an offset index is cut off")
    return count, at


def _pages(places: Numbers, sizes: Numbers, first_rows: Numbers, chunk: Chunk, num_rows: int) -> Pages:
    behind = places + sizes
    ordered = (sizes > 0).all() and (places[1:] >= behind[:-1]).all() and (first_rows[1:] > first_rows[:-1]).all()
    inside = places[0] >= chunk.start and behind[-1] <= chunk.end and first_rows[0] == 0 and first_rows[-1] < num_rows
    if not (ordered and inside):
        raise ValueError("an offset index has pages where none can be")
    return Pages(np.stack([places, behind], axis=1), first_rows, num_rows)


def _longs(content: npt.NDArray[np.uint8], starts: Numbers, ends: Numbers) -> Numbers:
    """Numbers of variable length; where one has more than nine bytes it is no place in a file."""
    widths = ends - starts + 1
    if int(widths.max()) > 9:
        raise ValueError("an offset index has a number of too many bytes")
    values = np.zeros(len(starts), np.int64)
    for position in range(int(widths.max())):
        longer = np.flatnonzero(widths > position)
        values[longer] |= (content[starts[longer] + position].astype(np.int64) & 0x7F) << (7 * position)
    return values >> 1 ^ -(values & 1)


def pages_with(raw: bytes, num_pages: int, keys: Sequence[bytes]) -> Numbers:
    """Which pages of a text column may hold some of some keys, as its column index says.

    Args:
        raw: the column index.
        num_pages: of the chunk.
        keys: sorted.

    Returns:
        Page by page: its number, the number of the first key that it may hold, and that of the first behind these.

    """
    index = parse_struct(raw, last_field=3)
    empty, least, greatest = index.items_of(1, bool), index.items_of(2, bytes), index.items_of(3, bytes)
    if not len(empty) == len(least) == len(greatest) == num_pages:
        raise ValueError("a column index has other pages than the offset index")
    found = []
    for page in range(num_pages):
        if empty[page]:
            continue  # nulls only
        first = bisect.bisect_left(keys, least[page])
        if first < len(keys) and keys[first] <= greatest[page]:
            found.append((page, first, bisect.bisect_right(keys, greatest[page], first)))
    return np.array(found, np.int64).reshape(-1, 3)


@dataclass(frozen=True, slots=True)
class Piece:
    """Pages of one chunk that are wanted.

    Attributes:
        chunk: theirs.
        dictionary: bytes of the dictionary's page; empty without one.
        data: bytes of the data pages, one behind the other.
        num_values: in them.

    """

    chunk: Chunk
    dictionary: bytes
    data: bytes
    num_values: int


def small_file(layout: Layout, columns: Sequence[str], pieces: Sequence[Piece], num_rows: int) -> bytes:
    """Return a Parquet file of one row group, or of none, with some pages of some columns.

    Args:
        layout: of the file that they are of.
        columns: at the top level, in the file's order.
        pieces: of all their leaves, in the file's order; none for a file without rows.
        num_rows: in the pieces.

    """
    body = [b"PAR1"]
    at = 4
    chunks: list[bytes] = []
    total = 0
    for piece in pieces:
        size = len(piece.dictionary) + len(piece.data)
        meta = [
            *piece.chunk.head,
            (5, I64, write_number(piece.num_values)),
            (6, I64, write_number(piece.chunk.uncompressed_size)),
            (7, I64, write_number(size)),
            (9, I64, write_number(at + len(piece.dictionary))),
        ]
        if piece.dictionary:
            meta.append((11, I64, write_number(at)))
        chunks.append(write_struct([(2, I64, write_number(at)), (3, STRUCT, write_struct(meta))]))
        body += [piece.dictionary, piece.data]
        at += size
        total += size
    group = [(1, LIST, write_list(STRUCT, chunks)), (2, I64, write_number(total)), (3, I64, write_number(num_rows))]
    groups = [write_struct(group)] if pieces else []
    root = write_struct([(4, BINARY, write_binary(layout.root)), (5, I32, write_number(len(columns)))])
    schema = [root, *(element for name in columns for element in layout.columns[name])]
    footer = [
        (1, I32, write_number(layout.version)),
        (2, LIST, write_list(STRUCT, schema)),
        (3, I64, write_number(num_rows)),
        (4, LIST, write_list(STRUCT, groups)),
    ]
    if layout.created_by is not None:
        footer.append((6, BINARY, write_binary(layout.created_by)))
    raw = write_struct(footer)
    return b"".join([*body, raw, len(raw).to_bytes(4, "little"), b"PAR1"])
