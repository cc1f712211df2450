"""One block of an HFile, from its bytes on storage to what it holds.

Source: Java ``HFileBlock``, ``HFileDataBlock``, ``HFileRootIndexBlock``, ``HFileLeafIndexBlock``. The bytes are
untrusted: no length is believed beyond the bytes that are there, and nothing is decompressed beyond the size that the
block states and `MAX_BLOCK_BYTES` allows. Checksums are compared, which Hudi's own reader leaves out. Unlike that
reader, which passes over entries at the end of large blocks, a block is read to its uncompressed end.
"""

from __future__ import annotations

import itertools
import struct
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import google_crc32c
import pyarrow as pa

from drawstring.codec.gzip_bytes import GZIP_ERROR, inflater
from drawstring.errors import CorruptFileError, UnsupportedTableError
from drawstring_spec.hfile_format import BLOCK_HEADER_BYTES, ChecksumType, Codec

MAX_BLOCK_BYTES: Final = 512 * 1024 * 1024
"""Larger blocks are refused: Hudi's have a megabyte, or what a single entry takes."""

_HEADER = struct.Struct(">8siiqbii")
_INDEX_ENTRY = struct.Struct(">qi")
_INT = struct.Struct(">i")
_CHECKSUMS: Final[Mapping[int, Callable[[bytes], int]]] = {
    ChecksumType.CRC32: zlib.crc32,
    ChecksumType.CRC32C: google_crc32c.value,
}
_ARROW_CODECS: Final = {Codec.SNAPPY: "snappy", Codec.LZ4: "lz4_raw", Codec.ZSTD: "zstd", Codec.BZIP2: "bz2"}


@dataclass(frozen=True, slots=True)
class BlockHeader:
    """Sizes of a block, in bytes.

    Attributes:
        magic: says what the block holds.
        stored_size: of the block on storage, header and checksums included.
        uncompressed_size: of what it holds.
        data_end: where, in the block on storage, its data end and its checksums begin.
        checksum_type: what the checksums are.

    """

    magic: bytes
    stored_size: int
    uncompressed_size: int
    data_end: int
    checksum_type: int


def parse_header(raw: memoryview, *, path: str, offset: int) -> BlockHeader:
    """Return the header of the block that `raw` begins with."""
    if len(raw) < BLOCK_HEADER_BYTES:
        raise corrupt(path, offset, "it is shorter than a block's header")
    magic, on_disk, uncompressed, _, checksum_type, _, with_header = _HEADER.unpack_from(raw)
    header = BlockHeader(magic, BLOCK_HEADER_BYTES + on_disk, uncompressed, with_header, checksum_type)
    if not 0 <= on_disk <= MAX_BLOCK_BYTES or not 0 <= uncompressed <= MAX_BLOCK_BYTES:
        raise corrupt(path, offset, f"it states {on_disk} bytes on storage and {uncompressed} uncompressed")
    if not BLOCK_HEADER_BYTES <= header.data_end <= header.stored_size:
        raise corrupt(path, offset, f"its data end at byte {header.data_end} of {header.stored_size}")
    return header


class BlockContent:
    """What a block holds, decompressed as far as it is asked for. Its checksums are compared at once.

    Args:
        raw: begins with the block and holds all of it.
        codec: of the file.
        expected_magic: what stands there, according to who points to it.
        path: for messages.
        offset: of the block in its file.

    Raises:
        CorruptFileError: the block is another one, is not whole, or has other bytes than its checksums say.
        UnsupportedTableError: the codec is one that drawstring has no library for.

    """

    def __init__(self, raw: memoryview, codec: Codec, expected_magic: bytes, *, path: str, offset: int) -> None:
        header = parse_header(raw, path=path, offset=offset)
        self._path, self._offset = path, offset
        if header.magic != expected_magic:
            raise self._corrupt(f"it begins with {header.magic!r} instead of {expected_magic!r}")
        if header.stored_size > len(raw):
            raise self._corrupt(f"it states {header.stored_size} bytes where {len(raw)} are")
        _check_checksums(raw, header, path, offset)
        self.size = header.uncompressed_size
        """Bytes of all of it, as the block states."""
        self.is_read = False
        """Whether there is no more."""
        self._num_read = 0
        self._codec = codec
        # Where there are no checksums, those of gzip tell damage, and only at its end.
        self._in_steps = codec is Codec.GZ and header.checksum_type != ChecksumType.NONE
        self._stored: memoryview | bytes = raw[BLOCK_HEADER_BYTES : header.data_end]
        self._inflater = inflater() if codec is Codec.GZ else None

    @property
    def num_stored_bytes(self) -> int:
        """Bytes that are not decompressed yet, as they are stored."""
        return len(self._stored)

    def more(self, at_most: int) -> bytes:
        """Return the bytes behind those that were returned before; none at the end.

        Args:
            at_most: bytes that are wanted, at least 1. Where a block cannot be decompressed in steps, all are returned.

        Raises:
            CorruptFileError: the block does not decompress to its stated size.

        """
        if self.is_read:
            return b""
        content = self._decompress(at_most if self._in_steps else self.size)
        self._num_read += len(content)
        if self.is_read and self._num_read != self.size:
            raise self._corrupt(f"it decompresses to {self._num_read} bytes instead of {self.size}")
        return content

    def _decompress(self, at_most: int) -> bytes:
        try:
            if self._inflater is not None:
                return self._inflate(self._inflater, at_most)
            self.is_read = True
            if self._codec is Codec.NONE:
                return bytes(self._stored)
            if self._codec in _ARROW_CODECS:
                codec = pa.Codec(_ARROW_CODECS[self._codec])
                return bytes(codec.decompress(self._stored, decompressed_size=self.size))
        except (GZIP_ERROR, OSError, pa.ArrowException) as error:
            raise self._corrupt(f"it does not decompress: {error}") from error
        raise UnsupportedTableError(
            f"The file {self._path} is compressed with {self._codec.name}, which drawstring cannot read.",
            rule="HF-003",
            way_out="Rewrite the metadata table with the codec GZ, Hudi's default.",
        )

    def _inflate(self, inflater: Any, at_most: int) -> bytes:
        # One byte more than there can be: the stream's end is seen together with its last byte.
        left = self.size - self._num_read + 1
        content: bytes = inflater.decompress(self._stored, min(at_most, left))
        self._stored = inflater.unconsumed_tail
        self.is_read = inflater.eof
        if not self.is_read and (len(content) == left or not content):
            raise self._corrupt("its gzip stream goes on beyond its stated size or ends early")
        return content

    def _corrupt(self, what: str) -> CorruptFileError:
        return corrupt(self._path, self._offset, what)


def unpack(raw: memoryview, codec: Codec, expected_magic: bytes, *, path: str, offset: int) -> bytes:
    """Return all that a block holds. Arguments and errors as `BlockContent` and its `more`."""
    content = BlockContent(raw, codec, expected_magic, path=path, offset=offset)
    return content.more(content.size + 1)


def _check_checksums(raw: memoryview, header: BlockHeader, path: str, offset: int) -> None:
    """Compare the checksums of a block: each is of so many bytes, the header among them, and stands behind the data."""
    if header.checksum_type == ChecksumType.NONE:
        return
    if header.checksum_type not in _CHECKSUMS:
        raise corrupt(path, offset, f"it has checksums of the type {header.checksum_type}, which no HFile has")
    (per_checksum,) = _INT.unpack_from(raw, 25)
    if per_checksum <= 0:
        raise corrupt(path, offset, f"it has a checksum every {per_checksum} bytes")
    checksum = _CHECKSUMS[header.checksum_type]
    position = header.data_end
    for start in range(0, header.data_end, per_checksum):
        if position + _INT.size > header.stored_size:
            raise corrupt(path, offset, "it has too few checksums")
        piece = bytes(raw[start : min(start + per_checksum, header.data_end)])
        if checksum(piece) != int.from_bytes(raw[position : position + _INT.size], "big"):
            raise corrupt(path, offset, f"the checksum of its bytes from {start} on is wrong")
        position += _INT.size


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """Where a block stands: first key (a row key, or a meta block's name), offset and stored size in bytes."""

    key: bytes
    offset: int
    size: int


def parse_root_index(content: bytes, count: int, *, path: str, offset: int, plain_keys: bool) -> list[IndexEntry]:
    """Entries of a root index; `plain_keys` for the meta index, whose keys are names."""
    entries = []
    position = 0
    if not 0 <= count <= len(content) // _INDEX_ENTRY.size:
        raise corrupt(path, offset, f"its index claims {count} entries")
    for _ in range(count):
        if position + _INDEX_ENTRY.size >= len(content):
            raise corrupt(path, offset, "its index is cut off")
        block_offset, block_size = _INDEX_ENTRY.unpack_from(content, position)
        key_size, position = _hadoop_vint(content, position + _INDEX_ENTRY.size, path, offset)
        if not 0 <= key_size <= len(content) - position:
            raise corrupt(path, offset, f"its index has a key of {key_size} bytes")
        key = content[position : position + key_size]
        entries.append(IndexEntry(key if plain_keys else row_of(key, path, offset), block_offset, block_size))
        position += key_size
    return entries


def parse_leaf_index(content: bytes, *, path: str, offset: int) -> list[IndexEntry]:
    """Entries of a leaf or intermediate index."""
    if len(content) < _INT.size:
        raise corrupt(path, offset, "its index is cut off")
    (count,) = _INT.unpack_from(content)
    base = _INT.size * (count + 2)
    if not 0 <= count <= len(content) // _INDEX_ENTRY.size or base > len(content):
        raise corrupt(path, offset, f"its index claims {count} entries")
    starts = struct.unpack_from(f">{count + 1}i", content, _INT.size)
    entries = []
    for start, end in itertools.pairwise(starts):
        if not 0 <= start <= end - _INDEX_ENTRY.size or base + end > len(content):
            raise corrupt(path, offset, "its index points outside of itself")
        block_offset, block_size = _INDEX_ENTRY.unpack_from(content, base + start)
        key = content[base + start + _INDEX_ENTRY.size : base + end]
        entries.append(IndexEntry(row_of(key, path, offset), block_offset, block_size))
    return entries


def row_of(key: bytes, path: str, offset: int) -> bytes:
    """Return the row key inside a full key."""
    size = int.from_bytes(key[:2], "big")
    if len(key) < size + 2:
        raise corrupt(path, offset, "it has a key that is cut off")
    return key[2 : 2 + size]


def _hadoop_vint(content: bytes, position: int, path: str, offset: int) -> tuple[int, int]:
    """Variable-length integer of Hadoop, and the position behind it; only lengths, which are not negative."""
    first = content[position] - 256 if content[position] > 127 else content[position]
    if first >= -112:
        return first, position + 1
    size = -112 - first
    end = position + 1 + size
    if size > 4 or end > len(content):
        raise corrupt(path, offset, "its index has a key length that cannot be")
    return int.from_bytes(content[position + 1 : end], "big"), end


def corrupt(path: str, offset: int, what: str) -> CorruptFileError:
    """Error about the block at `offset` of `path`; `what` completes "The block cannot be read: ..."."""
    return CorruptFileError(
        f"The block at byte {offset} of {path} cannot be read: {what}.",
        rule="HF-001",
        way_out="The file is damaged. It belongs to the metadata table, which can be built again: read with "
        "hoodie.metadata.enable=false meanwhile.",
    )
