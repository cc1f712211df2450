"""Thrift's compact protocol, as far as Parquet's footers and page indexes need it.

Source: Apache Thrift, "Thrift Compact Protocol Encoding". Whose duty: say where the fields of a structure stand, so
that a few of them can be read and others be copied as they are. Bytes are untrusted: no length is believed beyond the
bytes that are there, and nesting is bounded. What cannot be is a `ValueError` or an `IndexError`; callers name the
file.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)

MAX_DEPTH: Final = 16
_MAX_VARINT_BYTES: Final = 10
_LONG_LIST: Final = 15
_FIXED_BYTES: Final = {TRUE: 1, FALSE: 1, BYTE: 1, DOUBLE: 8}  # as elements of a list
_VARINTS: Final = frozenset({I16, I32, I64})


@dataclass(frozen=True, slots=True)
class Span:
    """Where a value stands.

    Attributes:
        kind: its type's number.
        start: of its bytes.
        end: of its bytes.

    """

    kind: int
    start: int
    end: int


def varint(raw: bytes, at: int) -> tuple[int, int]:
    """Return an unsigned number and the position behind it."""
    value = shift = 0
    for position in range(at, at + _MAX_VARINT_BYTES):
        byte = raw[position]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position + 1
        shift += 7
    raise ValueError(f"the number at byte {at} has too many bytes")


def fields(raw: bytes, at: int = 0, *, depth: int = 0) -> tuple[dict[int, Span], int]:
    """Return where the fields of the structure at `at` stand, by id, and the position behind it."""
    found: dict[int, Span] = {}
    number = 0
    while True:
        head = raw[at]
        at += 1
        if head == 0:
            return found, at
        delta, kind = head >> 4, head & 0x0F
        if delta:
            number += delta
        else:
            code, at = varint(raw, at)
            number = code >> 1 ^ -(code & 1)
        end = at if kind in (TRUE, FALSE) else _behind(raw, kind, at, depth)
        found[number] = Span(kind, at, end)
        at = end


def _behind(raw: bytes, kind: int, at: int, depth: int) -> int:
    """Position behind a value."""
    if depth > MAX_DEPTH:
        raise ValueError(f"it is nested more than {MAX_DEPTH} levels deep")
    if kind in _VARINTS:
        return varint(raw, at)[1]
    if kind == STRUCT:
        return fields(raw, at, depth=depth + 1)[1]
    if kind in (LIST, SET):
        for end in _ends(raw, at, depth):
            at = end
        return at
    if kind == MAP:
        return _behind_map(raw, at, depth)
    size, at = varint(raw, at) if kind == BINARY else (_FIXED_BYTES.get(kind), at)
    if size is None:
        raise ValueError(f"there is a value of type {kind} at byte {at}")
    if at + size > len(raw):
        raise ValueError(f"the value at byte {at} claims more bytes than there are")
    return at + size


def _behind_map(raw: bytes, at: int, depth: int) -> int:
    count, at = varint(raw, at)
    if count:
        kinds, at = raw[at], at + 1
        for _ in range(count):
            at = _behind(raw, kinds & 0x0F, _behind(raw, kinds >> 4, at, depth + 1), depth + 1)
    return at


def _ends(raw: bytes, at: int, depth: int) -> Iterable[int]:
    """Position of a list's first element, then those behind each of its elements."""
    count, kind, at = _list_head(raw, at)
    yield at
    for _ in range(count):
        at = _behind(raw, kind, at, depth + 1)
        yield at


def _list_head(raw: bytes, at: int) -> tuple[int, int, int]:
    head = raw[at]
    count, at = (head >> 4, at + 1) if head >> 4 < _LONG_LIST else varint(raw, at + 1)
    return count, head & 0x0F, at


def elements(raw: bytes, span: Span) -> list[Span]:
    """Where the elements of a list stand."""
    if span.kind != LIST:
        raise ValueError(f"the value at byte {span.start} is no list")
    kind = _list_head(raw, span.start)[1]
    ends = list(_ends(raw, span.start, 0))
    return [Span(kind, start, end) for start, end in itertools.pairwise(ends)]


def number(raw: bytes, span: Span | None) -> int | None:
    """Value of a field of whole numbers; None where the structure has no such field."""
    if span is None:
        return None
    if span.kind not in _VARINTS:
        raise ValueError(f"the value at byte {span.start} is no number")
    code, _ = varint(raw, span.start)
    return code >> 1 ^ -(code & 1)


def binary(raw: bytes, span: Span) -> bytes:
    """Value of a field of bytes."""
    if span.kind != BINARY:
        raise ValueError(f"the value at byte {span.start} is no text")
    size, at = varint(raw, span.start)
    return raw[at : at + size]


def write_varint(value: int) -> bytes:
    """Bytes of an unsigned number."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def write_number(value: int) -> bytes:
    """Bytes of a whole number."""
    return write_varint(value << 1 ^ value >> 63)


def write_list(kind: int, items: list[bytes]) -> bytes:
    """Bytes of a list of values that are written already."""
    head = (
        bytes([len(items) << 4 | kind]) if len(items) < _LONG_LIST else bytes([0xF0 | kind]) + write_varint(len(items))
    )
    return head + b"".join(items)


def write_struct(values: Iterable[tuple[int, int, bytes]]) -> bytes:
    """Bytes of a structure of fields: id, ascending and each at most 15 more than the one before it, type, bytes."""
    out = bytearray()
    last = 0
    for field, kind, content in values:
        out.append(field - last << 4 | kind)
        out += content
        last = field
    out.append(0)
    return bytes(out)
