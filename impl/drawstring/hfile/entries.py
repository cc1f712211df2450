"""The entries of a data block as columns: where each one stands, and keys and values as Arrow arrays.

Source: Java ``HFileDataBlock``. Entries are a chain: where one begins is known only once the one before it is read. But
the keys that Hudi writes all end in the same ten bytes, by which entries are found all at once; only where that does
not add up are they walked through one by one. All else is arithmetic on columns.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numpy.lib.stride_tricks import sliding_window_view

from drawstring_spec.hfile_format import KEY_OVERHEAD_BYTES

Positions = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

_SIZES_BYTES: Final = 8
_ROW_SIZE_BYTES: Final = 2
_VERSION_BYTES: Final = 1
_MIN_ENTRY_BYTES: Final = _SIZES_BYTES + KEY_OVERHEAD_BYTES + _VERSION_BYTES
_TWO_INTS: Final = struct.Struct(">ii")
_KEY_END: Final = b"\x00\x7f\xff\xff\xff\xff\xff\xff\xff\x04"
"""Behind the row in each key that Hudi writes: an empty family, the greatest time, the type of a put."""
_MAX_ROW_BYTES: Final = 1024
"""Of a key that is looked for from its end; longer ones are found by splitting the block."""
_MAX_ROW_SIZES: Final = 200
"""Different sizes of rows in one block up to which trying all of them beats walking from entry to entry."""


@dataclass(frozen=True)
class DataBlock:
    """A data block, parsed.

    Attributes:
        content: its bytes.
        row_starts, row_ends: where each row key stands in `content`.
        value_starts, value_ends: where each value stands.

    """

    content: bytes
    row_starts: Positions
    row_ends: Positions
    value_starts: Positions
    value_ends: Positions

    def __len__(self) -> int:
        return len(self.row_starts)

    @property
    def num_bytes(self) -> int:
        """Memory that the block takes while it is kept."""
        return len(self.content) + 4 * self.row_starts.nbytes

    def key(self, index: int) -> bytes:
        """Row key of the entry at `index`."""
        return self.content[self.row_starts[index] : self.row_ends[index]]

    def value(self, index: int) -> bytes:
        """Value of the entry at `index`."""
        return self.content[self.value_starts[index] : self.value_ends[index]]

    @cached_property
    def key_array(self) -> pa.Array:
        """Row keys in their order, as ``large_binary``."""
        return gather(self.content, self.row_starts, self.row_ends)

    @property
    def keys(self) -> list[bytes]:
        """Row keys in their order."""
        keys: list[bytes] = self.key_array.to_pylist()
        return keys

    def take(self, rows: Positions | slice) -> tuple[pa.Array, pa.Array]:
        """Keys and values of some entries, as ``large_binary``."""
        keys = gather(self.content, self.row_starts[rows], self.row_ends[rows])
        return keys, gather(self.content, self.value_starts[rows], self.value_ends[rows])

    def lower_bound(self, key: bytes) -> int:
        """Index of the first entry whose key is not less than `key`."""
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            if self.key(middle) < key:
                low = middle + 1
            else:
                high = middle
        return low


def parse_data_block(content: bytes, fail: Callable[[str], Exception]) -> DataBlock:
    """Split a data block into its entries.

    Args:
        content: the uncompressed block, all of it entries.
        fail: makes the error to raise; it gets what is wrong.

    Returns:
        The block; no position in it lies outside of `content`.

    """
    starts = _entry_starts(content, fail)
    raw = np.frombuffer(content, np.uint8)
    key_sizes, value_sizes = _ints(raw, starts), _ints(raw, starts + 4)
    row_starts = starts + _SIZES_BYTES + _ROW_SIZE_BYTES
    row_ends = row_starts + _row_sizes(raw, starts)
    value_starts = starts + _SIZES_BYTES + key_sizes
    value_ends = value_starts + value_sizes
    if bool((row_ends > value_starts).any()):
        first = int(starts[int(np.argmax(row_ends > value_starts))])
        raise fail(f"its entry at byte {first} claims more bytes than there are")
    if bool(raw[value_ends].any()):
        first = int(starts[int(np.argmax(raw[value_ends] != 0))])
        raise fail(f"its entry at byte {first} has a version of its own")
    return DataBlock(content, row_starts, row_ends, value_starts, value_ends)


def find_in_block(content: bytes, keys: Sequence[bytes]) -> list[tuple[bytes, bytes]] | None:
    """Find a few entries of a data block without splitting all of it: by the bytes that their keys are written with.

    Args:
        content: the uncompressed block, all of it entries.
        keys: row keys.

    Returns:
        Those of the keys that the block has, and their values; None where only splitting the block can tell: it does
        not begin with a key as Hudi writes them, or what looks like the key stands in more than one place.

    """
    if not begins_entry(content, 0):
        return None
    found = []
    for key in keys:
        needle = len(key).to_bytes(_ROW_SIZE_BYTES, "big") + key + _KEY_END
        at = content.find(needle)
        if at < 0:
            continue
        if content.find(needle, at + 1) >= 0 or at < _SIZES_BYTES:
            return None
        key_size, value_size = _TWO_INTS.unpack_from(content, at - _SIZES_BYTES)
        start = at + len(needle)
        end = start + value_size
        fits = key_size == len(needle) and 0 <= value_size < len(content) - start and content[end] == 0
        # An entry inside of a value has no entry behind it.
        if not fits or not begins_entry(content, end + _VERSION_BYTES):
            return None
        found.append((key, content[start:end]))
    return found


def begins_entry(content: bytes, at: int) -> bool:
    """Whether an entry with a key of Hudi's stands there, or nothing does."""
    if at == len(content):
        return True
    if at > len(content) - _MIN_ENTRY_BYTES:
        return False
    end = at + _SIZES_BYTES + _TWO_INTS.unpack_from(content, at)[0]
    return end > at + _SIZES_BYTES and content[end - len(_KEY_END) : end] == _KEY_END


def are_whole_entries(content: bytes) -> bool:
    """Whether bytes are entries with keys of Hudi's, one behind the other, and nothing else; False if in doubt."""
    return _starts_by_pattern(np.frombuffer(content, np.uint8)) is not None


def last_entry(content: bytes) -> tuple[int, bytes] | None:
    """Return where the last entry begins whose key is whole, and its row key; None where no key of Hudi's is seen."""
    end = content.rfind(_KEY_END)
    longest = min(end - _SIZES_BYTES - _ROW_SIZE_BYTES, _MAX_ROW_BYTES)
    # Most rows are as long as the first one.
    first = int.from_bytes(content[_SIZES_BYTES : _SIZES_BYTES + _ROW_SIZE_BYTES], "big")
    for size in itertools.chain((first,) if first <= longest else (), range(longest + 1)):
        start = end - size - _ROW_SIZE_BYTES - _SIZES_BYTES
        key_start = start + _SIZES_BYTES
        if int.from_bytes(content[key_start : key_start + _ROW_SIZE_BYTES], "big") != size:
            continue
        key_size, value_size = _TWO_INTS.unpack_from(content, start)
        if key_size == size + KEY_OVERHEAD_BYTES and value_size >= 0:
            return start, content[key_start + _ROW_SIZE_BYTES : end]
    return None


def _entry_starts(content: bytes, fail: Callable[[str], Exception]) -> Positions:
    starts = _starts_by_pattern(np.frombuffer(content, np.uint8))
    return _starts_by_walking(content, fail) if starts is None else starts


def _starts_by_pattern(raw: Bytes) -> Positions | None:
    """Where entries begin, from where their keys end; None where that does not add up.

    Each key ends in the same ten bytes. From there back to its beginning it is as far as its row is long: the first
    entry tells a length, which is tried on all; the first one that is left tells the next length. The answer counts
    only if each entry begins where the one before it ends: then it is what walking would have found.
    """
    row_ends = _pattern_positions(raw)
    starts = np.full(len(row_ends), -1, np.int64)
    start, first = 0, 0
    for _ in range(_MAX_ROW_SIZES):
        if first >= len(row_ends) or start > len(raw) - _MIN_ENTRY_BYTES:
            return None
        width = int(row_ends[first]) - start - _SIZES_BYTES - _ROW_SIZE_BYTES
        if width < 0:
            return None  # these ten bytes stand in a value as well
        left = np.flatnonzero(starts < 0)
        at = row_ends[left] - width - _SIZES_BYTES - _ROW_SIZE_BYTES
        left, at = left[at >= 0], at[at >= 0]
        # A key before the row states the row's size as well: where a value's size happens to look like a key's, the
        # row itself would have to begin with the number of its own bytes.
        fits = (_ints(raw, at) == width + KEY_OVERHEAD_BYTES) & (_row_sizes(raw, at) == width)
        starts[left[fits]] = at[fits]
        missing = np.flatnonzero(starts < 0)
        if len(missing) == 0:
            return starts if _is_chain(raw, starts, row_ends) else None
        if missing[0] == 0:
            return None
        first = int(missing[0])
        start = int(row_ends[first - 1]) + len(_KEY_END) + int(_ints(raw, starts[[first - 1]] + 4)[0]) + _VERSION_BYTES
    return None


def _pattern_positions(raw: Bytes) -> Positions:
    """Where the bytes stand that each key ends in."""
    count = max(len(raw) - len(_KEY_END) + 1, 0)
    # The second byte is the rarest one: texts have none of it. Each further comparison is of fewer places.
    found = np.flatnonzero(raw[1 : count + 1] == _KEY_END[1]).astype(np.int64)
    for offset in (0, *range(len(_KEY_END) - 1, 1, -1)):
        found = found[raw[found + offset] == _KEY_END[offset]]
    return found


def _is_chain(raw: Bytes, starts: Positions, row_ends: Positions) -> bool:
    if int(starts.max()) > len(raw) - _MIN_ENTRY_BYTES:
        return False
    sizes = _ints(raw, starts + 4)
    ends = row_ends + len(_KEY_END) + sizes + _VERSION_BYTES
    return bool(starts[0] == 0 and ends[-1] == len(raw) and int(sizes.min()) >= 0 and (starts[1:] == ends[:-1]).all())


def _row_sizes(raw: Bytes, starts: Positions) -> Positions:
    """Size that each entry states for its row; ten bytes stand behind each start."""
    return raw[starts + _SIZES_BYTES].astype(np.int64) << 8 | raw[starts + _SIZES_BYTES + 1]


def _ints(raw: Bytes, positions: Positions) -> Positions:
    """Big-endian numbers of four bytes; each position has four bytes behind it."""
    pieces = np.ascontiguousarray(raw[positions[:, None] + np.arange(4)])
    return pieces.view(">i4").ravel().astype(np.int64)


def _starts_by_walking(content: bytes, fail: Callable[[str], Exception]) -> Positions:
    size, position = len(content), 0
    last = size - _MIN_ENTRY_BYTES
    starts: list[int] = []
    append, read_sizes = starts.append, _TWO_INTS.unpack_from
    while position <= last:
        key_size, value_size = read_sizes(content, position)
        end = position + key_size + value_size + _SIZES_BYTES + _VERSION_BYTES
        if key_size < KEY_OVERHEAD_BYTES or value_size < 0 or end > size:
            break
        append(position)
        position = end
    if position != size:
        raise fail(f"its entry at byte {position} claims more bytes than there are, or is cut off")
    return np.array(starts, np.int64)


def gather(content: bytes | memoryview | Bytes, starts: Positions, ends: Positions) -> pa.Array:
    """Copy pieces of bytes into a ``large_binary`` array.

    Args:
        content: what the pieces are pieces of; each lies inside of it.
        starts: of the pieces.
        ends: of the pieces, none before its start.

    """
    lengths = ends - starts
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    raw = np.frombuffer(content, np.uint8)
    if len(lengths) == 0:
        pieces = np.empty(0, np.uint8)
    elif int(lengths.min()) == int(lengths.max()):
        width = int(lengths[0])
        pieces = sliding_window_view(raw, width)[starts].ravel() if width else np.empty(0, np.uint8)
    else:
        index = np.repeat(starts - offsets[:-1], lengths)
        index += np.arange(len(index))
        pieces = raw[index]
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(pieces))]
    return pa.Array.from_buffers(pa.large_binary(), len(lengths), buffers)
