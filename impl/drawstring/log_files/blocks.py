"""Splits a log file into its blocks.

Source: Java ``HoodieLogFileReader``, ``HoodieLogBlock``. Whose duty: turns the bytes of one log file into blocks, and
what is no block into a block of type CORRUPT, as Java does. The bytes are untrusted: a length is believed only if the
file is that long, and a block whose two lengths disagree is corrupt. What the content means is for others to say.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from drawstring.errors import CorruptFileError
from drawstring_spec.log_format import (
    BLOCK_LENGTH_BYTES,
    LOG_FORMAT_VERSION,
    MAGIC,
    TRAILER_BYTES,
    BlockType,
    HeaderKey,
)

_LENGTH = struct.Struct(">q")
_VERSION_AND_TYPE = struct.Struct(">ii")
_INT = struct.Struct(">i")
_ENTRY = struct.Struct(">ii")
_MIN_BLOCK_LENGTH = 4 + 4 + 4 + 8 + 4 + TRAILER_BYTES
"""Version, type, empty header, content length, empty footer, trailer."""


@dataclass(frozen=True, slots=True)
class LogBlock:
    """One block of a log file.

    Attributes:
        path: the file.
        offset: of the block's magic, in bytes.
        size: of the whole block, in bytes.
        type: what it holds.
        header: entries by key.
        content: the bytes; empty in commands and corrupt blocks.

    """

    path: str
    offset: int
    size: int
    type: BlockType
    header: Mapping[HeaderKey, str]
    content: memoryview

    @property
    def instant_time(self) -> str | None:
        """Requested time of the action that wrote the block; None in a corrupt block."""
        return self.header.get(HeaderKey.INSTANT_TIME)


def read_blocks(content: memoryview, *, path: str) -> Iterator[LogBlock]:
    """Blocks of a log file, in the order of the file.

    Args:
        content: the whole file.
        path: stands in blocks and errors.

    Yields:
        Every block; a stretch that is no block is one block of type CORRUPT.

    Raises:
        CorruptFileError: the file does not begin a block where one must begin, or a block of consistent length has a
            header, a type or a version that cannot be.

    """
    raw = bytes(content)
    offset = 0
    while offset < len(raw):
        if not raw.startswith(MAGIC, offset):
            if offset + len(MAGIC) > len(raw):
                # Fewer bytes than a magic has: what a crash left at the end.
                yield _corrupt(path, offset, len(raw))
                return
            raise CorruptFileError(
                f"The log file {path} has no block at byte {offset}, where one must begin.",
                rule="LF-001",
                way_out="The file is damaged; restore it from a copy, or restore the table to a savepoint.",
            )
        end = _end_of_block(raw, offset)
        if end is None:
            end = _next_magic(raw, offset)
            yield _corrupt(path, offset, end)
        else:
            yield _parse(content, offset, end, path)
        offset = end


def _end_of_block(raw: bytes, offset: int) -> int | None:
    """Where the block at `offset` ends; None where its lengths do not agree, or nothing that may follow does."""
    start = offset + len(MAGIC)
    if start + BLOCK_LENGTH_BYTES > len(raw):
        return None
    (length,) = _LENGTH.unpack_from(raw, start)
    end = start + BLOCK_LENGTH_BYTES + length
    if length < _MIN_BLOCK_LENGTH or end > len(raw):
        return None
    (total,) = _LENGTH.unpack_from(raw, end - TRAILER_BYTES)
    if total != length + len(MAGIC):
        return None
    return end if end == len(raw) or raw.startswith(MAGIC, end) else None


def _next_magic(raw: bytes, offset: int) -> int:
    found = raw.find(MAGIC, offset + len(MAGIC))
    return len(raw) if found < 0 else found


def _corrupt(path: str, offset: int, end: int) -> LogBlock:
    return LogBlock(path, offset, end - offset, BlockType.CORRUPT, {}, memoryview(b""))


def _parse(content: memoryview, offset: int, end: int, path: str) -> LogBlock:
    limit = end - TRAILER_BYTES
    position = offset + len(MAGIC) + BLOCK_LENGTH_BYTES
    version, type_number = _VERSION_AND_TYPE.unpack_from(content, position)
    if version != LOG_FORMAT_VERSION:
        raise CorruptFileError(
            f"The block at byte {offset} of {path} has log format version {version}.",
            rule="LF-002",
            way_out=f"drawstring reads version {LOG_FORMAT_VERSION}, which tables of version 8 have.",
        )
    if type_number not in BlockType._value2member_map_ or type_number == BlockType.CORRUPT:
        raise CorruptFileError(f"The block at byte {offset} of {path} has type {type_number}.", rule="LF-003")
    header, position = _parse_map(content, position + _VERSION_AND_TYPE.size, limit, path, offset)
    if position + _LENGTH.size > limit:
        raise _too_long(path, offset)
    (content_length,) = _LENGTH.unpack_from(content, position)
    position += _LENGTH.size
    if not 0 <= content_length <= limit - position:
        raise _too_long(path, offset)
    body = content[position : position + content_length]
    _parse_map(content, position + content_length, limit, path, offset)
    return LogBlock(path, offset, end - offset, BlockType(type_number), header, body)


def _parse_map(
    content: memoryview, position: int, limit: int, path: str, offset: int
) -> tuple[dict[HeaderKey, str], int]:
    """Header or footer; returns it with the position behind it. Unknown keys are of later versions and passed over."""
    if position + _INT.size > limit:
        raise _too_long(path, offset)
    (count,) = _INT.unpack_from(content, position)
    position += _INT.size
    if not 0 <= count <= (limit - position) // _ENTRY.size:
        raise _too_long(path, offset)
    entries: dict[HeaderKey, str] = {}
    for _ in range(count):
        if position + _ENTRY.size > limit:
            raise _too_long(path, offset)
        key, length = _ENTRY.unpack_from(content, position)
        position += _ENTRY.size
        if not 0 <= length <= limit - position:
            raise _too_long(path, offset)
        try:
            value = str(content[position : position + length], "utf-8")
        except UnicodeDecodeError as error:
            raise CorruptFileError(
                f"A header of the block at byte {offset} of {path} is no text.", rule="LF-004"
            ) from error
        position += length
        if key in HeaderKey._value2member_map_:
            entries[HeaderKey(key)] = value
    return entries, position


def _too_long(path: str, offset: int) -> CorruptFileError:
    return CorruptFileError(
        f"The block at byte {offset} of {path} claims more bytes than it has.",
        rule="LF-004",
        way_out="The file is damaged; restore it from a copy, or restore the table to a savepoint.",
    )
