"""Thrift's compact protocol, as far as Parquet's footers and page indexes need it.

Source: Apache Thrift, "Thrift Compact Protocol Encoding". Whose duty: from bytes to the fields of structures and
back. Bytes are untrusted: no length is believed beyond the
bytes that are there, and nesting is bounded. What cannot be is a `ValueError` or an `IndexError`; callers name the
file.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)

Raw = bytes | memoryview
"""Bytes that are looked at; texts in them become `bytes` of their own."""

MAX_DEPTH: Final = 16
_MAX_VARINT_BYTES: Final = 10
_LONG_LIST: Final = 15
_FIXED_BYTES: Final = {TRUE: 1, FALSE: 1, BYTE: 1, DOUBLE: 8}  # as elements of a list


class Struct(dict[int, Any]):
    """The fields of a structure by id: numbers, bytes, booleans, lists and structures; and where it stands.

    Attributes:
        start: of its bytes.
        end: behind them.

    """

    __slots__ = ("end", "start")

    start: int
    end: int

    def number(self, field: int) -> int | None:
        """A whole number; None where there is no such field."""
        value = self.get(field)
        if value is not None and type(value) is not int:
            raise ValueError(f"field {field} of the structure at byte {self.start} is no number")
        return value

    def binary(self, field: int) -> bytes:
        """Bytes, which have to be there."""
        value = self.get(field)
        if type(value) is not bytes:
            raise ValueError(f"field {field} of the structure at byte {self.start} is no text")
        return value

    def items_of(self, field: int, kind: type) -> list[Any]:
        """Elements of a list, all of one type; none where there is no such field."""
        value = self.get(field, [])
        if not isinstance(value, list) or not set(map(type, value)) <= {kind}:
            raise ValueError(f"field {field} of the structure at byte {self.start} is no list of its type")
        return value

    def struct(self, field: int) -> Struct:
        """A structure, which has to be there."""
        value = self.get(field)
        if type(value) is not Struct:
            raise ValueError(f"field {field} of the structure at byte {self.start} is no structure")
        return value


def varint(raw: Raw, at: int) -> tuple[int, int]:
    """Return an unsigned number and the position behind it."""
    value = shift = 0
    for position in range(at, at + _MAX_VARINT_BYTES):
        byte = raw[position]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position + 1
        shift += 7
    raise ValueError(f"the number at byte {at} has too many bytes")


def parse_struct(raw: Raw, at: int = 0, *, depth: int = 0, last_field: int | None = None) -> Struct:
    """Return the structure that stands at `at`.

    Args:
        raw: the bytes.
        at: where it begins.
        depth: of nesting.
        last_field: behind which fields are not wanted, and not looked at; `end` then lies before theirs.

    """
    found = Struct()
    found.start = at
    field = 0
    while True:
        head = raw[at]
        at += 1
        if head == 0:
            found.end = at
            return found
        kind = head & 0x0F
        if head >> 4:
            field += head >> 4
        else:
            code, at = varint(raw, at)
            field = code >> 1 ^ -(code & 1)
        if last_field is not None and field > last_field:
            found.end = at
            return found
        if kind in (TRUE, FALSE):
            found[field] = kind == TRUE
        elif I16 <= kind <= I64 and raw[at] < 0x80:  # most fields: not worth a call
            code = raw[at]
            at += 1
            found[field] = code >> 1 ^ -(code & 1)
        else:
            found[field], at = _value(raw, kind, at, depth)


def _value(raw: Raw, kind: int, at: int, depth: int) -> tuple[Any, int]:
    """A value, and the position behind it."""
    if kind in (I16, I32, I64):
        code = raw[at]
        at += 1
        if code >= 0x80:
            code, at = varint(raw, at - 1)
        return code >> 1 ^ -(code & 1), at
    if depth > MAX_DEPTH:
        raise ValueError(f"it is nested more than {MAX_DEPTH} levels deep")
    if kind == STRUCT:
        inner = parse_struct(raw, at, depth=depth + 1)
        return inner, inner.end
    if kind in (LIST, SET):
        return _list(raw, at, depth)
    if kind == MAP:
        return _map(raw, at, depth)
    size, at = varint(raw, at) if kind == BINARY else (_FIXED_BYTES.get(kind), at)
    if size is None:
        raise ValueError(f"there is a value of type {kind} at byte {at}")
    if at + size > len(raw):
        raise ValueError(f"the value at byte {at} claims more bytes than there are")
    content = bytes(raw[at : at + size])
    return content[0] == TRUE if kind in (TRUE, FALSE) else content, at + size


def _list(raw: Raw, at: int, depth: int) -> tuple[list[Any], int]:
    head = raw[at]
    count, at = (head >> 4, at + 1) if head >> 4 < _LONG_LIST else varint(raw, at + 1)
    kind = head & 0x0F
    if count > len(raw) - at:
        raise ValueError(f"the list at byte {at} claims more elements than there are bytes")
    if kind == BINARY:
        return _texts(raw, count, at)
    if kind in (TRUE, FALSE):
        return [byte == TRUE for byte in raw[at : at + count]], at + count
    values = []
    for _ in range(count):
        value, at = _value(raw, kind, at, depth + 1)
        values.append(value)
    return values, at


def _texts(raw: Raw, count: int, at: int) -> tuple[list[bytes], int]:
    """Texts of a list, such as the bounds of all pages of a column, and the position behind them."""
    step = raw[at] + 1
    content = bytes(raw[at : at + count * step])
    if step <= 0x80 and len(content) == count * step and content[::step] == bytes([step - 1]) * count:
        # All are equally long, as keys mostly are: it is known where each stands.
        return [content[head + 1 : head + step] for head in range(0, len(content), step)], at + len(content)
    values = []
    for _ in range(count):
        size = raw[at]
        at += 1
        if size >= 0x80:
            size, at = varint(raw, at - 1)
        values.append(bytes(raw[at : at + size]))
        at += size
        if at > len(raw):
            raise ValueError(f"a text that ends at byte {at} claims more bytes than there are")
    return values, at


def _map(raw: Raw, at: int, depth: int) -> tuple[list[tuple[Any, Any]], int]:
    count, at = varint(raw, at)
    pairs = []
    if count:
        kinds, at = raw[at], at + 1
        for _ in range(count):
            key, at = _value(raw, kinds >> 4, at, depth + 1)
            value, at = _value(raw, kinds & 0x0F, at, depth + 1)
            pairs.append((key, value))
    return pairs, at


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


def write_binary(value: bytes) -> bytes:
    """Bytes of a text, its length in front."""
    return write_varint(len(value)) + value


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
