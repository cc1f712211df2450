"""The end of an ORC file: where its stripes lie, how many rows they have, and what its writer noted.

Source: "ORC Specification v1", file tail, stripe footer, compression. Whose duty: what Arrow's reader keeps to itself.
With the stripes' places only the bytes of one are fetched at a time; with the writer's time zone a wall-clock time is
turned into the instant that it was. Bytes are untrusted: a length counts only as far as there are bytes.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from drawstring.codec.protobuf import parse_message

MAGIC: Final = b"ORC"

_MAX_POSTSCRIPT: Final = 255  # its length is the file's last byte
_CHUNK_HEADER: Final = 3
_MAX_BLOCK_BYTES: Final = 1 << 23  # what three bytes can say
_MAX_FOOTER_BYTES: Final = 256 * 1024 * 1024

# Field numbers of the messages PostScript, Footer, StripeInformation, StripeFooter and UserMetadataItem.
_PS_FOOTER, _PS_COMPRESSION, _PS_BLOCK, _PS_METADATA, _PS_MAGIC = 1, 2, 3, 5, 8000
_FOOTER_STRIPES, _FOOTER_METADATA, _FOOTER_ROWS = 3, 5, 6
_STRIPE_OFFSET, _STRIPE_INDEX, _STRIPE_DATA, _STRIPE_FOOTER, _STRIPE_ROWS = 1, 2, 3, 4, 5
_STRIPE_TIME_ZONE: Final = 3
_ITEM_NAME, _ITEM_VALUE = 1, 2
_NONE, _ZLIB = 0, 1
_SNAPPY, _ZSTD = "snappy", "zstd"
_CODECS: Final = {2: _SNAPPY, 4: "lz4_raw", 5: _ZSTD}
_MAX_SNAPPY_SIZE_BYTES: Final = 5


@dataclass(frozen=True, slots=True)
class Tail:
    """The postscript.

    Attributes:
        compression: of footers and streams, as the format numbers it.
        block_bytes: a chunk has at most so many, uncompressed.
        footer_bytes: length of the footer, compressed.
        behind_bytes: length of the postscript and the byte behind it.
        metadata_bytes: length of the statistics in front of the footer.

    """

    compression: int
    block_bytes: int
    footer_bytes: int
    behind_bytes: int
    metadata_bytes: int

    @property
    def size(self) -> int:
        """Bytes at the file's end that hold statistics, footer and postscript."""
        return self.metadata_bytes + self.footer_bytes + self.behind_bytes


@dataclass(frozen=True, slots=True)
class Stripe:
    """One stripe: where it begins, how long it is with its footer, in bytes; and its rows."""

    offset: int
    size: int
    footer_bytes: int
    rows: int


@dataclass(frozen=True, slots=True)
class Footer:
    """What the footer says.

    Attributes:
        stripes: in their order.
        rows: of the file.
        metadata: what the writer noted, by name.

    """

    stripes: tuple[Stripe, ...]
    rows: int
    metadata: Mapping[str, bytes]


def parse_tail(end: bytes, size: int) -> Tail:
    """Read the postscript.

    Args:
        end: the last bytes of the file, 256 of them if it has as many.
        size: of the file.

    Raises:
        ValueError: there is none, or it claims what cannot be.

    """
    if not end or end[-1] + 1 > len(end):
        raise ValueError(f"its {size} bytes do not end as an ORC file does")
    fields = _numbers(end[-1 - end[-1] : -1])
    if fields.get(_PS_MAGIC) != MAGIC:
        raise ValueError(f"its {size} bytes do not end as an ORC file does")
    tail = Tail(
        _number(fields, _PS_COMPRESSION),
        min(_number(fields, _PS_BLOCK), _MAX_BLOCK_BYTES),
        _number(fields, _PS_FOOTER),
        end[-1] + 1,
        _number(fields, _PS_METADATA),
    )
    if tail.size > size:
        raise ValueError(f"its footer claims {tail.size} of its {size} bytes")
    return tail


def parse_footer(content: bytes, tail: Tail, size: int) -> Footer:
    """Read the footer.

    Args:
        content: its bytes, as they stand.
        tail: the postscript.
        size: of the file.

    Raises:
        ValueError: it cannot be read, or stripes lie where none can.

    """
    stripes: list[Stripe] = []
    metadata: dict[str, bytes] = {}
    rows = 0
    for number, value in _fields(decompress(content, tail)):
        if number == _FOOTER_STRIPES and isinstance(value, bytes):
            stripes.append(_stripe(value, size - tail.size))
        elif number == _FOOTER_METADATA and isinstance(value, bytes):
            item = _numbers(value)
            name, noted = item.get(_ITEM_NAME), item.get(_ITEM_VALUE)
            if isinstance(name, bytes) and isinstance(noted, bytes):
                metadata[name.decode("utf-8", errors="replace")] = noted
        elif number == _FOOTER_ROWS and isinstance(value, int):
            rows = value
    if rows != sum(stripe.rows for stripe in stripes):
        raise ValueError(f"it claims {rows} rows, and its stripes have {sum(stripe.rows for stripe in stripes)}")
    return Footer(tuple(stripes), rows, metadata)


def parse_time_zone(content: bytes, tail: Tail) -> str | None:
    """Return the time zone of the writer from the footer of a stripe; None where it has none."""
    value = _numbers(decompress(content, tail)).get(_STRIPE_TIME_ZONE)
    return value.decode("utf-8") if isinstance(value, bytes) else None


def decompress(content: bytes, tail: Tail) -> bytes:
    """Return what was compressed chunk by chunk. Raises `ValueError`."""
    if tail.compression == _NONE:
        return content
    parts: list[bytes] = []
    at = total = 0
    while at < len(content):
        head = int.from_bytes(content[at : at + _CHUNK_HEADER], "little")
        at += _CHUNK_HEADER
        length = head >> 1
        if at + length > len(content):
            raise ValueError(f"a chunk claims {length} of {len(content) - at} bytes")
        chunk = content[at : at + length]
        parts.append(chunk if head & 1 else _decompressed(chunk, tail))
        at += length
        total += len(parts[-1])
        if total > _MAX_FOOTER_BYTES:
            raise ValueError(f"a footer has more than {_MAX_FOOTER_BYTES} bytes")
    return b"".join(parts)


def _decompressed(chunk: bytes, tail: Tail) -> bytes:
    if tail.compression == _ZLIB:
        inflater = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            plain = inflater.decompress(chunk, max(tail.block_bytes, 1))
        except zlib.error as error:
            raise ValueError(f"a chunk cannot be decompressed ({error})") from error
        if not inflater.eof:
            raise ValueError(f"a chunk has more than {tail.block_bytes} bytes")
        return plain
    name = _CODECS.get(tail.compression)
    if name is None:
        raise ValueError(f"it is compressed by a codec of number {tail.compression}, which nobody here knows")
    try:
        if name == _ZSTD:
            return bytes(pa.CompressedInputStream(pa.BufferReader(chunk), name).read(tail.block_bytes))
        room = min(_snappy_size(chunk), tail.block_bytes) if name == _SNAPPY else tail.block_bytes
        # The size of what comes out of LZ4 is not written down: behind it there are zeros, up to a whole block.
        return bytes(pa.Codec(name).decompress(chunk, decompressed_size=room))
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"a chunk cannot be decompressed ({error})") from error


def _snappy_size(chunk: bytes) -> int:
    """Size of what comes out, which Snappy puts in front."""
    size = 0
    for index, byte in enumerate(chunk[:_MAX_SNAPPY_SIZE_BYTES]):
        size |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            break
    return size


def _stripe(message: bytes, limit: int) -> Stripe:
    fields = _numbers(message)
    parts = [_number(fields, part) for part in (_STRIPE_INDEX, _STRIPE_DATA, _STRIPE_FOOTER)]
    stripe = Stripe(_number(fields, _STRIPE_OFFSET), sum(parts), parts[-1], _number(fields, _STRIPE_ROWS))
    if stripe.offset + stripe.size > limit:
        raise ValueError(f"a stripe claims the bytes {stripe.offset} to {stripe.offset + stripe.size}")
    return stripe


def _numbers(message: bytes) -> dict[int, int | bytes]:
    """Fields of a message, of repeated ones the last."""
    return dict(_fields(message))


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Fields of a message, up to the zeros behind it: no field has the number 0."""
    return itertools.takewhile(lambda field: field[0] != 0, parse_message(message))


def _number(fields: Mapping[int, int | bytes], field: int) -> int:
    value = fields.get(field, 0)
    if type(value) is not int:
        raise ValueError(f"field {field} is no number")
    return value
