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
from typing import Final

import google_crc32c
import pyarrow as pa

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


def unpack(raw: memoryview, codec: Codec, expected_magic: bytes, *, path: str, offset: int) -> bytes:
    """Return what a block holds.

    Args:
        raw: begins with the block and holds all of it.
        codec: of the file.
        expected_magic: what stands there, according to who points to it.
        path: for messages.
        offset: of the block in its file.

    Raises:
        CorruptFileError: the block is another one, is not whole, has other bytes than its checksums say, or does not
            decompress to its stated size.
        UnsupportedTableError: the codec is one that drawstring has no library for.

    """
    header = parse_header(raw, path=path, offset=offset)
    if header.magic != expected_magic:
        raise corrupt(path, offset, f"it begins with {header.magic!r} instead of {expected_magic!r}")
    if header.stored_size > len(raw):
        raise corrupt(path, offset, f"it states {header.stored_size} bytes where {len(raw)} are")
    _check_checksums(raw, header, path, offset)
    content = _decompress(raw[BLOCK_HEADER_BYTES : header.data_end], codec, header.uncompressed_size, path, offset)
    if len(content) != header.uncompressed_size:
        raise corrupt(path, offset, f"it decompresses to {len(content)} bytes instead of {header.uncompressed_size}")
    return content


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


def _decompress(stored: memoryview, codec: Codec, size: int, path: str, offset: int) -> bytes:
    if codec is Codec.NONE:
        return bytes(stored)
    try:
        if codec is Codec.GZ:
            decompressor = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
            content = decompressor.decompress(stored, size + 1)
            if not decompressor.eof:
                raise corrupt(path, offset, "its gzip stream goes on beyond its stated size or ends early")
            return content
        if codec in _ARROW_CODECS:
            return bytes(pa.Codec(_ARROW_CODECS[codec]).decompress(stored, decompressed_size=size))
    except (zlib.error, OSError, pa.ArrowException) as error:
        raise corrupt(path, offset, f"it does not decompress: {error}") from error
    raise UnsupportedTableError(
        f"The file {path} is compressed with {codec.name}, which drawstring cannot read.",
        rule="HF-003",
        way_out="Rewrite the metadata table with the codec GZ, Hudi's default.",
    )


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
