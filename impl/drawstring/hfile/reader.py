"""Reads an HFile: look-ups of keys, prefixes, and everything in order.

Source: Java ``HFileReaderImpl``. Whose duty: fetches no more of the file than a question needs (trailer and indexes
once, then data blocks), keeps a bounded number of blocks, and never trusts what the bytes claim.
"""

from __future__ import annotations

import bisect
import itertools
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from threading import Lock
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from drawstring.codec.protobuf import parse_message
from drawstring.errors import CorruptFileError, UnsupportedTableError
from drawstring.hfile.blocks import (
    BlockContent,
    IndexEntry,
    corrupt,
    parse_leaf_index,
    parse_root_index,
    unpack,
)
from drawstring.hfile.entries import DataBlock, parse_data_block
from drawstring.hfile.gradual import find_gradually
from drawstring_spec.hfile_format import (
    FILE_INFO_PREFIX,
    MAGIC_DATA,
    MAGIC_FILE_INFO,
    MAGIC_INTERMEDIATE_INDEX,
    MAGIC_LEAF_INDEX,
    MAGIC_META,
    MAGIC_ROOT_INDEX,
    MAGIC_TRAILER,
    MAX_MVCC_KEY,
    TRAILER_BYTES,
    TRAILER_VERSION,
    Codec,
    TrailerField,
)

Fetch = Callable[[int, int], memoryview]
"""Bytes of the file: offset, length."""

CACHE_BYTES: Final = 32 * 1024 * 1024
MAX_INDEX_LEVELS: Final = 8
MOST_BYTES: Final = 1024 * 1024 * 1024
"""So much of a file is read at once, uncompressed, however small the file is."""

MOST_BYTES_PER_BYTE: Final = 64
"""Beyond `MOST_BYTES`, so many times the file's size: gzip makes a thousand of nothing but zeros."""

_FEW_KEYS: Final = 16
"""Up to so many keys of one block are searched for in its bytes: splitting it costs as much as some ten searches."""
_BISECTION_FACTOR: Final = 64
"""Comparisons that one key's bisection is worth, against hashing all keys of its block."""


class HFileReader:
    """One HFile.

    Args:
        fetch: reads a part of the file.
        size: of the file, in bytes.
        path: for messages.
        cache_bytes: how many bytes of uncompressed data blocks are kept.

    Raises:
        CorruptFileError: it is no HFile of version 3, or a damaged one.
        UnsupportedTableError: it is compressed in a way that drawstring cannot read.

    """

    def __init__(self, fetch: Fetch, size: int, *, path: str, cache_bytes: int = CACHE_BYTES) -> None:
        self._fetch = fetch
        self._size = size
        self._path = path
        self._cache_bytes = cache_bytes
        self._cached = 0
        self._lock = Lock()
        self._cache: OrderedDict[int, DataBlock | memoryview] = OrderedDict()
        self._trailer = self._read_trailer()
        self._codec = self._read_codec()
        self.num_entries = self._trailer.get(TrailerField.ENTRY_COUNT, 0)
        self._meta: dict[str, IndexEntry] = {}
        self._blocks: list[IndexEntry] = []
        self.file_info: Mapping[bytes, bytes] = {}
        self._load_on_open()
        self._first_keys = [entry.key for entry in self._blocks]

    @classmethod
    def from_bytes(cls, content: memoryview, *, path: str, cache_bytes: int = CACHE_BYTES) -> HFileReader:
        """Read a whole HFile that is in memory, such as the content of a log block."""

        def fetch(offset: int, length: int) -> memoryview:
            return content[offset : offset + length]

        return cls(fetch, len(content), path=path, cache_bytes=cache_bytes)

    def _read_trailer(self) -> dict[int, int]:
        if self._size < TRAILER_BYTES:
            raise corrupt(self._path, 0, f"the file has {self._size} bytes, fewer than an HFile's trailer")
        offset = self._size - TRAILER_BYTES
        raw = bytes(self._fetch(offset, TRAILER_BYTES))
        if len(raw) != TRAILER_BYTES or not raw.startswith(MAGIC_TRAILER):
            raise corrupt(self._path, offset, "no trailer stands at the file's end")
        if raw[-4:] != TRAILER_VERSION:
            raise corrupt(self._path, offset, f"its version is {raw[-4:]!r}, and drawstring reads version 3.3")
        try:
            fields = list(parse_message(raw[len(MAGIC_TRAILER) : -4], delimited=True))
        except ValueError as error:
            raise corrupt(self._path, offset, f"its trailer is no message: {error}") from error
        return {field: value for field, value in fields if isinstance(value, int)}

    def _read_codec(self) -> Codec:
        number = self._trailer.get(TrailerField.CODEC, Codec.NONE)
        try:
            return Codec(number)
        except ValueError as error:
            raise UnsupportedTableError(
                f"The file {self._path} names the codec {number}, which no HFile has.", rule="HF-003"
            ) from error

    def _load_on_open(self) -> None:
        """Read the indexes and the file info, which stand together at the end."""
        start = self._trailer.get(TrailerField.LOAD_ON_OPEN_OFFSET, -1)
        info_offset = self._trailer.get(TrailerField.FILE_INFO_OFFSET, -1)
        end = self._size - TRAILER_BYTES
        if not 0 <= start <= info_offset < end:
            raise corrupt(self._path, end, f"its trailer points to bytes {start} and {info_offset} of {end}")
        section = self._fetch(start, end - start)
        root = unpack(section, self._codec, MAGIC_ROOT_INDEX, path=self._path, offset=start)
        meta_offset = start + _stored_size(section)
        meta = unpack(
            section[meta_offset - start :], self._codec, MAGIC_ROOT_INDEX, path=self._path, offset=meta_offset
        )
        info = unpack(section[info_offset - start :], self._codec, MAGIC_FILE_INFO, path=self._path, offset=info_offset)
        self.file_info = self._parse_file_info(info, info_offset)
        if int.from_bytes(self.file_info.get(MAX_MVCC_KEY, b""), "big"):
            raise corrupt(self._path, info_offset, "its entries have versions of their own, which Hudi never writes")
        count = self._trailer.get(TrailerField.META_INDEX_COUNT, 0)
        named = parse_root_index(meta, count, path=self._path, offset=meta_offset, plain_keys=True)
        self._meta = {entry.key.decode("utf-8", "replace"): entry for entry in named}
        self._blocks = self._data_blocks(root, start)

    def _parse_file_info(self, info: bytes, offset: int) -> dict[bytes, bytes]:
        entries: dict[bytes, bytes] = {}
        try:
            if not info.startswith(FILE_INFO_PREFIX):
                raise ValueError("it does not begin with PBUF")
            for _, pair in parse_message(info[len(FILE_INFO_PREFIX) :], delimited=True):
                if isinstance(pair, bytes):
                    fields = dict(parse_message(pair))
                    key, value = fields.get(1, b""), fields.get(2, b"")
                    if isinstance(key, bytes) and isinstance(value, bytes):
                        entries[key] = value
        except ValueError as error:
            raise corrupt(self._path, offset, f"its file info is no message: {error}") from error
        return entries

    def _data_blocks(self, root: bytes, offset: int) -> list[IndexEntry]:
        """All data blocks in order, through as many index levels as there are."""
        count = self._trailer.get(TrailerField.DATA_INDEX_COUNT, 0)
        levels = self._trailer.get(TrailerField.DATA_INDEX_LEVELS, 1)
        if not 1 <= levels <= MAX_INDEX_LEVELS:
            raise corrupt(self._path, offset, f"its index claims {levels} levels")
        entries = parse_root_index(root, count, path=self._path, offset=offset, plain_keys=False)
        for level in range(levels - 1, 0, -1):
            magic = MAGIC_LEAF_INDEX if level == 1 else MAGIC_INTERMEDIATE_INDEX
            entries = [
                below
                for entry in entries
                for below in parse_leaf_index(self._unpack(entry, magic), path=self._path, offset=entry.offset)
            ]
            if len(entries) * 33 > self._size:
                raise corrupt(self._path, offset, "its index names more blocks than the file can hold")
        if any(left.offset + left.size > right.offset for left, right in itertools.pairwise(entries)):
            raise corrupt(self._path, offset, "its index names blocks that overlap, or do not ascend")
        return entries

    def _stored(self, entry: IndexEntry) -> memoryview:
        """Bytes of a block as they are stored."""
        if not 0 <= entry.offset < self._size - TRAILER_BYTES or not 0 < entry.size <= self._size - entry.offset:
            raise corrupt(self._path, entry.offset, f"the index points outside of the file ({entry.size} bytes)")
        return self._fetch(entry.offset, entry.size)

    def _unpack(self, entry: IndexEntry, magic: bytes) -> bytes:
        return unpack(self._stored(entry), self._codec, magic, path=self._path, offset=entry.offset)

    def _block(self, index: int) -> DataBlock:
        """A data block, split into its entries."""
        offset = self._blocks[index].offset
        cached = self._cache.get(offset)
        if not isinstance(cached, DataBlock):
            content = self._content(index)
            cached = parse_data_block(content.more(content.size + 1), lambda what: corrupt(self._path, offset, what))
        self._keep(offset, cached)
        return cached

    def _content(self, index: int) -> BlockContent:
        """What a data block holds. Its stored bytes are kept: they are few, and quickly decompressed."""
        entry = self._blocks[index]
        cached = self._cache.get(entry.offset)
        raw = cached if isinstance(cached, memoryview) else self._stored(entry)
        self._keep(entry.offset, raw)
        return BlockContent(raw, self._codec, MAGIC_DATA, path=self._path, offset=entry.offset)

    def _keep(self, offset: int, block: DataBlock | memoryview) -> None:
        with self._lock:  # Look-ups of several threads may share a reader.
            old = self._cache.pop(offset, None)
            self._cached += _size_of(block) - (0 if old is None else _size_of(old))
            self._cache[offset] = block
            while self._cached > self._cache_bytes and len(self._cache) > 1:
                self._cached -= _size_of(self._cache.popitem(last=False)[1])

    @property
    def num_kept_bytes(self) -> int:
        """Memory that blocks take which are kept."""
        return self._cached

    def meta_block(self, name: str) -> bytes | None:
        """Content of a named meta block, such as the bloom filter's text; None where there is none."""
        entry = self._meta.get(name)
        return None if entry is None else self._unpack(entry, MAGIC_META)

    def get_many(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Values of those of `keys` that the file has.

        Args:
            keys: row keys in any order.

        Returns:
            Value by key.

        """
        found_keys, found_values = self.lookup(keys)
        return dict(zip(found_keys.to_pylist(), found_values.to_pylist(), strict=True))

    def lookup(self, keys: Sequence[bytes]) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
        """Entries of those of `keys` that the file has: keys, ascending, and values, both ``large_binary``."""
        wanted = sorted(set(keys))
        found: list[tuple[pa.Array, pa.Array]] = []
        position = 0
        while position < len(wanted):
            index = bisect.bisect_right(self._first_keys, wanted[position]) - 1
            if index < 0:
                position += 1
                continue
            behind = len(wanted)
            if index + 1 < len(self._first_keys):
                behind = bisect.bisect_left(wanted, self._first_keys[index + 1], position)
            found.append(self._found_in(index, wanted[position:behind]))
            position = behind
        return _chunked(found)

    def _found_in(self, index: int, wanted: list[bytes]) -> tuple[pa.Array, pa.Array]:
        """Those of some sorted keys that a block has. For a few of them it is not worth while to split the block."""
        if len(wanted) <= _FEW_KEYS and not isinstance(self._cache.get(self._blocks[index].offset), DataBlock):
            pairs = find_gradually(self._content(index), wanted)
            if pairs is not None:
                keys, values = ([pair[i] for pair in pairs] for i in (0, 1))
                return pa.array(keys, pa.large_binary()), pa.array(values, pa.large_binary())
        block = self._block(index)
        return block.take(_find(block, wanted))

    def blocks(self) -> Iterator[DataBlock]:
        """All data blocks in the order of their keys.

        Raises:
            CorruptFileError: there are more or fewer entries than the trailer says, or more bytes than belong into a
                file of its size.

        """
        seen, num_bytes = 0, 0
        for index in range(len(self._blocks)):
            block = self._block(index)
            seen += len(block)
            num_bytes += block.num_bytes
            if num_bytes > max(MOST_BYTES, MOST_BYTES_PER_BYTE * self._size):
                raise corrupt(self._path, self._blocks[index].offset, f"its file of {self._size} bytes has {num_bytes}")
            yield block
        if seen != self.num_entries:
            raise CorruptFileError(
                f"{self._path} has {seen} entries where its trailer says {self.num_entries}.", rule="HF-002"
            )

    def entries(self) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
        """All entries: keys, ascending, and values, both ``large_binary``. Raises as `blocks`."""
        return _chunked([block.take(slice(None)) for block in self.blocks()])

    def prefixed(self, prefix: bytes) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
        """Entries whose key begins with `prefix`: keys, ascending, and values, both ``large_binary``."""
        found: list[tuple[pa.Array, pa.Array]] = []
        behind = _next_prefix(prefix)
        for index in range(max(bisect.bisect_left(self._first_keys, prefix) - 1, 0), len(self._blocks)):
            if behind is not None and self._first_keys[index] >= behind:
                break
            block = self._block(index)
            end = len(block) if behind is None else block.lower_bound(behind)
            found.append(block.take(slice(block.lower_bound(prefix), end)))
        return _chunked(found)

    def prefix(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Entries whose key begins with `prefix`, in order."""
        keys, values = self.prefixed(prefix)
        return zip(keys.to_pylist(), values.to_pylist(), strict=True)


def _size_of(block: DataBlock | memoryview) -> int:
    return block.num_bytes if isinstance(block, DataBlock) else len(block)


def _chunked(parts: list[tuple[pa.Array, pa.Array]]) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    keys = pa.chunked_array([keys for keys, _ in parts], pa.large_binary())
    return keys, pa.chunked_array([values for _, values in parts], pa.large_binary())


def _next_prefix(prefix: bytes) -> bytes | None:
    """The least key that is greater than all that begin with `prefix`; None where there is none."""
    stem = prefix.rstrip(b"\xff")
    return stem[:-1] + bytes([stem[-1] + 1]) if stem else None


def _find(block: DataBlock, wanted: list[bytes]) -> npt.NDArray[np.int64]:
    """Rows of a block that hold sorted keys: by bisection where they are few, by hashing where they are many."""
    if len(wanted) * _BISECTION_FACTOR < len(block):
        rows = [(block.lower_bound(key), key) for key in wanted]
        return np.array([row for row, key in rows if row < len(block) and block.key(row) == key], np.int64)
    hits = pc.is_in(block.key_array, value_set=pa.array(wanted, pa.large_binary()))
    return np.flatnonzero(hits.to_numpy(zero_copy_only=False)).astype(np.int64)


def _stored_size(section: memoryview) -> int:
    """Bytes that the first block of a section takes on storage (its size was checked when it was unpacked)."""
    return 33 + int.from_bytes(section[8:12], "big")
