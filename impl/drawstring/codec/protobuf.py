"""The few lines of protocol buffers that HFiles and ORC files need: field numbers with varints or bytes."""

from __future__ import annotations

from collections.abc import Iterator

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_MAX_VARINT_BYTES = 10


def parse_message(raw: bytes, *, delimited: bool = False) -> Iterator[tuple[int, int | bytes]]:
    """Fields of a message.

    Args:
        raw: the message; with `delimited`, its length stands in front of it and more may follow.
        delimited: whether it is length-delimited.

    Yields:
        Field number and value; varints as unsigned numbers.

    Raises:
        ValueError: it is no message, or claims more bytes than there are.

    """
    position, end = 0, len(raw)
    if delimited:
        size, position = _varint(raw, 0)
        end = position + size
    if end > len(raw):
        raise ValueError("it claims more bytes than there are")
    while position < end:
        tag, position = _varint(raw, position)
        kind = tag & 7
        if kind == _VARINT:
            value, position = _varint(raw, position)
            yield tag >> 3, value
            continue
        if kind == _BYTES:
            size, position = _varint(raw, position)
        elif kind in (_FIXED32, _FIXED64):
            size = 4 if kind == _FIXED32 else 8
        else:
            raise ValueError(f"it has a field of kind {kind}")
        if position + size > end:
            raise ValueError("it claims more bytes than there are")
        yield tag >> 3, raw[position : position + size]
        position += size


def _varint(raw: bytes, position: int) -> tuple[int, int]:
    value = 0
    for shift in range(_MAX_VARINT_BYTES):
        if position >= len(raw):
            raise ValueError("it ends inside a number")
        byte = raw[position]
        position += 1
        value |= (byte & 0x7F) << (7 * shift)
        if byte < 0x80:
            return value, position
    raise ValueError("it has a number of more than 64 bits")
