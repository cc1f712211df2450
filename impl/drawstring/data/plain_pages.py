"""A few rows of a Parquet page, without decoding the others: values that stand in it plainly, all of one width.

Source: the Parquet format, "Data Pages", "Plain", "Run Length Encoding / Bit-Packing Hybrid", "Checksumming". Whose
duty: only speed. Where values have one width (numbers, or texts that happen to be equally long), where each stands is
arithmetic, once every length in the page was seen to be the same. What is anything else, or looks damaged, is None:
Arrow then reads the page, and says what is wrong with it. Bytes are untrusted: no length is believed beyond the bytes
that are there, and nothing is decompressed beyond `MAX_PAGE_BYTES` or the size that the page states.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from isal import isal_zlib
from pyarrow import types as pat

from drawstring.codec.gzip_bytes import GZIP_ERROR, inflater
from drawstring.codec.thrift import Struct, parse_struct, varint

Numbers = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]

MAX_PAGE_BYTES: Final = 64 * 1024 * 1024
"""Of an uncompressed page. Writers make a mebibyte, or what a single value takes."""

MANY_ROWS: Final = 4096
"""Pages of so many rows, on the average, are cheaper to read here. Arrow is done with smaller ones, such as those that
drawstring writes, before Python has read their headers: a look-up of 100 keys took 5 to 20 % longer with them."""

MAX_PAGE_ROWS: Final = 1024 * 1024
"""Of a page; Java's have 20,000 at most. A few bytes can claim any number of nulls."""

GZIP: Final = 2
_UNCOMPRESSED: Final = 0
_ARROW_CODECS: Final = {1: "snappy", 6: "zstd", 7: "lz4_raw"}
_DATA_PAGE: Final = 0
_PLAIN: Final = 0
_RLE: Final = 3
_LENGTH_BYTES: Final = 4
_BYTE_ARRAY: Final = 6
_TAIL_BYTES: Final = 8
_WIDTHS: Final = {1: 4, 2: 8, 4: 4, 5: 8}
"""Physical types, by their numbers in the format: INT32, INT64, FLOAT and DOUBLE."""
_MOST_WIDTHS: Final = 8
"""Of texts in a page, one behind the other, such as numbers that grow; each costs a step in Python."""
MOST_TEXTS: Final = 16
"""To be looked for in a page one by one; of more, a hash table is cheaper."""
_MOST_TEXT_BYTES: Final = 2**31 - 1
_MOST_RUNS: Final = 256
"""Of levels in one page; each costs a step in Python."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """What the pages of a column without nesting hold.

    Attributes:
        physical: type, by its number in the format.
        codec: of its pages, likewise.
        is_optional: whether there may be nulls.

    """

    physical: int
    codec: int
    is_optional: bool

    def fits(self, kind: pa.DataType) -> bool:
        """Whether Arrow's values of that type are the bytes that stand in plain pages."""
        if self.codec not in (_UNCOMPRESSED, GZIP, *_ARROW_CODECS):
            return False
        if self.physical == _BYTE_ARRAY:
            return bool(pat.is_string(kind) or pat.is_binary(kind))
        plain = pat.is_integer(kind) or pat.is_float32(kind) or pat.is_float64(kind)
        plain = plain or pat.is_date32(kind) or pat.is_time(kind) or pat.is_timestamp(kind)
        return bool(plain) and 8 * _WIDTHS.get(self.physical, 0) == kind.bit_width


@dataclass(frozen=True, slots=True)
class PlainPage:
    """A page of which it is known where each value stands.

    Attributes:
        content: the page, decompressed.
        runs: values of one width, one behind the other: the first of each run (the first value has the number 0), where
            it stands, how many bytes there are from one to the next, and how many a value has.
        num_values: that are not null.
        ranks: for each row of the page, how many values there are up to it and with it; None without nulls.

    """

    content: memoryview
    runs: Numbers
    num_values: int
    ranks: Numbers | None

    def pick(self, rows: Numbers) -> tuple[Numbers, Numbers, Mask | None]:
        """Where the values of some rows stand, and their widths; and which rows have one, where not all do."""
        if self.ranks is None:
            return (*self._places(rows), None)
        ranks = self.ranks[rows]
        valid = ranks > np.where(rows > 0, self.ranks[rows - 1], 0)
        return (*self._places(ranks[valid] - 1), valid)

    def _places(self, values: Numbers) -> tuple[Numbers, Numbers]:
        first, start, step, width = self.runs[np.searchsorted(self.runs[:, 0], values, side="right") - 1].T
        return start + (values - first) * step, width

    def find(self, texts: Sequence[bytes]) -> list[tuple[int, bytes]] | None:
        """Rows that have one of some texts, in no order; None where that is not worth while, or there are nulls."""
        if self.ranks is not None or len(texts) > MOST_TEXTS:
            return None
        found: list[tuple[int, bytes]] = []
        behind = [*self.runs[1:, 0].tolist(), self.num_values]
        for (first, start, step, width), end in zip(self.runs.tolist(), behind, strict=True):
            if width < _TAIL_BYTES:
                return None
            # Keys often begin alike: their last bytes tell them apart, and are compared as one number.
            tails = np.ndarray((end - first,), np.dtype("<u8"), self.content, start + width - _TAIL_BYTES, (step,))
            for text in texts:
                if len(text) == width:
                    for at in np.flatnonzero(
                        tails == np.uint64(int.from_bytes(text[-_TAIL_BYTES:], "little"))
                    ).tolist():
                        place = start + at * step
                        if self.content[place : place + width] == text:
                            found.append((first + at, text))
        return found


def plain_pages(parts: Sequence[memoryview], num_rows: Sequence[int], leaf: Leaf) -> list[PlainPage] | None:
    """Return the pages of a column; None where one of them has to be read in another way.

    Args:
        parts: bytes of each page, header included.
        num_rows: of each, as the page index says.
        leaf: what they hold.

    """
    try:
        heads: list[_Head] = []
        # Headers first: a page that is coded in another way is known before anything is decompressed.
        for part, count in zip(parts, num_rows, strict=True):
            head = _head(part, count)
            if head is None:
                return None
            heads.append(head)
        pages: list[PlainPage] = []
        for head in heads:
            page = _page(head, leaf)
            if page is None:
                return None
            pages.append(page)
    except (ValueError, IndexError, TypeError, OSError, pa.ArrowException, GZIP_ERROR):
        return None
    return pages or None


@dataclass(frozen=True, slots=True)
class _Head:
    stored: memoryview
    size: int
    num_rows: int


def _head(part: memoryview, num_rows: int) -> _Head | None:
    head = parse_struct(part)
    size, stored, crc, inner = head.number(2), head.number(3), head.number(4), head.get(5)
    if head.number(1) != _DATA_PAGE or not isinstance(inner, Struct) or size is None or stored is None:
        return None
    content = part[head.end :]
    if (inner.number(1), inner.number(2), inner.number(3)) != (num_rows, _PLAIN, _RLE):
        return None
    if stored != len(content) or not 0 < size <= MAX_PAGE_BYTES or num_rows > MAX_PAGE_ROWS:
        return None
    if crc is not None and isal_zlib.crc32(content) != crc & 0xFFFFFFFF:
        return None
    return _Head(content, size, num_rows)


def _page(head: _Head, leaf: Leaf) -> PlainPage | None:
    content = decompressed(head.stored, leaf.codec, head.size)
    if content is None:
        return None
    start, count = 0, head.num_rows
    ranks: Numbers | None = None
    if leaf.is_optional:
        start = _LENGTH_BYTES + int.from_bytes(content[:_LENGTH_BYTES], "little")
        if start > len(content):
            return None
        levels = content[_LENGTH_BYTES:start]
        if not _has_no_nulls(levels, count):
            valid = _levels(levels, count)
            if valid is None:
                return None
            ranks = np.cumsum(valid, dtype=np.int64)
            count = int(ranks[-1])
    runs = _runs(content, start, count, leaf)
    return None if runs is None else PlainPage(content, np.array(runs, np.int64).reshape(-1, 4), count, ranks)


def decompressed(stored: memoryview, codec: int, size: int) -> memoryview | None:
    """Return what a page holds; None where it does not have the size that is stated. Raises what the codec raises."""
    content: Any
    if codec == _UNCOMPRESSED:
        content = stored
    elif codec == GZIP:
        stream = inflater()
        content = stream.decompress(stored, size + 1)
        if not stream.eof or stream.unused_data:
            return None
    else:
        content = pa.Codec(_ARROW_CODECS[codec]).decompress(stored, decompressed_size=size)
    view = memoryview(content).cast("B")  # Arrow says that its bytes are signed
    return view if len(view) == size else None


def _has_no_nulls(raw: memoryview, count: int) -> bool:
    """Whether the levels are one run of ones, as most pages have them."""
    run, at = varint(raw, 0)
    return run == count << 1 and raw[at] == 1


def _levels(raw: memoryview, count: int) -> Mask | None:
    """Which rows have a value: runs of ones and zeros, and bits packed by eight."""
    parts: list[Mask] = []
    at = seen = 0
    while seen < count:
        if len(parts) == _MOST_RUNS:
            return None
        run, at = varint(raw, at)
        if run & 1:
            num_bytes = run >> 1
            if not 0 < num_bytes <= len(raw) - at:
                return None
            bits = np.unpackbits(np.frombuffer(raw[at : at + num_bytes], np.uint8), bitorder="little")
            parts.append(bits[: count - seen].astype(np.bool_))
            at += num_bytes
        else:
            length, value = run >> 1, raw[at]
            if not 0 < length <= count - seen or value > 1:
                return None
            parts.append(np.full(length, value == 1))
            at += 1
        seen += len(parts[-1])
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _runs(content: memoryview, start: int, count: int, leaf: Leaf) -> list[tuple[int, int, int, int]] | None:
    """Runs of values of one width, as `PlainPage` has them; None where they are texts of many lengths."""
    if leaf.physical != _BYTE_ARRAY:
        width = _WIDTHS[leaf.physical]
        return [(0, start, width, width)] if len(content) - start == count * width else None
    runs: list[tuple[int, int, int, int]] = []
    first, end = 0, len(content)
    while first < count:
        if len(runs) == _MOST_WIDTHS or end - start < _LENGTH_BYTES:
            return None
        width = int.from_bytes(content[start : start + _LENGTH_BYTES], "little")
        step = _LENGTH_BYTES + width
        fitting = min((end - start) // step, count - first)
        if fitting == 0:
            return None
        # A text says where the next one begins: as long as all say the same, that is where they stand.
        same = np.ndarray((fitting,), np.dtype("<u4"), content, start, (step,)) == width
        length = fitting if same.all() else int(np.argmin(same))
        runs.append((first, start + _LENGTH_BYTES, step, width))
        first, start = first + length, start + length * step
    return runs if start == end else None


def take_plain(pages: Sequence[PlainPage], rows: Sequence[Numbers], kind: pa.DataType) -> pa.Array | None:
    """Return some rows of pages; None where their texts are more than one array holds.

    Args:
        pages: one behind the other.
        rows: of each, counted from its first one.
        kind: Arrow's type, which `Leaf.fits`.

    """
    masks, widths, pieces = [], [], []
    for page, local in zip(pages, rows, strict=True):
        starts, sizes, valid = page.pick(local)
        masks.append(np.ones(len(local), np.bool_) if valid is None else valid)
        widths.append(sizes)
        pieces.append(_gathered(page.content, starts, sizes))
    has_value = np.concatenate(masks)
    nulls = None if has_value.all() else pa.py_buffer(np.packbits(has_value, bitorder="little"))
    data = b"".join(pieces)
    if pat.is_string(kind) or pat.is_binary(kind):
        if len(data) > _MOST_TEXT_BYTES:
            return None
        lengths = np.zeros(len(has_value), np.int64)
        lengths[has_value] = np.concatenate(widths)
        offsets = np.append(0, np.cumsum(lengths)).astype(np.int32)
        return pa.Array.from_buffers(kind, len(has_value), [nulls, pa.py_buffer(offsets), pa.py_buffer(data)])
    spread = np.zeros((len(has_value), kind.bit_width // 8), np.uint8)
    spread[has_value] = np.frombuffer(data, np.uint8).reshape(-1, spread.shape[1])
    return pa.Array.from_buffers(kind, len(has_value), [nulls, pa.py_buffer(spread)])


def _gathered(content: memoryview, starts: Numbers, sizes: Numbers) -> bytes:
    """Pieces of bytes, one behind the other."""
    if len(starts) == 1:
        return content[starts[0] : starts[0] + sizes[0]].tobytes()
    raw = np.frombuffer(content, np.uint8)
    before = np.cumsum(sizes) - sizes
    return raw[np.repeat(starts - before, sizes) + np.arange(int(sizes.sum()))].tobytes()
