"""Many Avro records at once, decoded in native code into Arrow columns.

Whose duty: log blocks hold Avro records one after another; decoding them one by one would be the slowest part of a
read. Three observations make one call of polars enough for all of them. Avro's encoding of a map is that of an array
of key-value records. A number of bytes in front of each record is a fixed field more. Logical types are their physical
types, to be given a meaning afterwards. So each schema is rewritten into one that polars reads, and the columns that
come back are given the types that `drawstring.data.schema.avro_to_arrow` says. An enum is a number.
"""

from __future__ import annotations

import io
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as pat

from drawstring.data.schema import avro_to_arrow
from drawstring.data.types import MAX_DEPTH
from drawstring.errors import CorruptFileError, FormatError
from drawstring.hfile.entries import gather

LENGTH_BYTES: Final = 4
"""In front of each record of a log block."""

MOST_FIXED_BYTES: Final = 1024 * 1024 * 1024
"""What values of fixed types may take, however few bytes they come from: a null takes as much as a value."""

_FIXED_BYTES_PER_BYTE: Final = 64
_SYNC: Final = b"drawstring-sync-"
_LENGTH: Final = "length"
_LENGTH_FIELD: Final = {"name": _LENGTH, "type": {"type": "fixed", "name": "length_bytes", "size": LENGTH_BYTES}}
_PRIMITIVES: Final = frozenset({"boolean", "int", "long", "float", "double", "string", "bytes"})


def framed(values: pa.Array) -> memoryview:
    """Return values with the length of each in front of it, as `decode_prefixed_records` takes them.

    Args:
        values: ``large_binary`` without nulls, one record each.

    """
    _, offsets, content = values.buffers()
    if len(values) == 0 or content is None:
        return memoryview(bytes(LENGTH_BYTES * len(values)))
    bounds = np.frombuffer(offsets, np.int64)[values.offset : values.offset + len(values) + 1]
    lengths = np.diff(bounds)
    raw = np.concatenate([np.frombuffer(content, np.uint8), lengths.astype(">i4").view(np.uint8)])
    length_at = len(raw) - LENGTH_BYTES * len(values) + LENGTH_BYTES * np.arange(len(values))
    starts = np.stack([length_at, bounds[:-1]], axis=1).ravel()
    ends = np.stack([length_at + LENGTH_BYTES, bounds[1:]], axis=1).ravel()
    return memoryview(gather(raw, starts, ends).buffers()[2])


def decode_prefixed_records(
    schema: Mapping[str, Any], count: int, content: memoryview, *, path: str, columns: Collection[str] | None = None
) -> pa.Table:
    """Decode records that each have their length in front, as Avro blocks of log files have them.

    Args:
        schema: Avro schema of the records.
        count: how many there are.
        content: all of them.
        path: of the file, for messages.
        columns: names of the fields that are wanted; others are stepped over. None for all.

    Returns:
        One row per record, in the types of `avro_to_arrow` and the schema's order.

    Raises:
        CorruptFileError: the bytes are not that many records of that schema.
        FormatError: the schema is none of Hudi's.

    """
    if not 0 <= count <= len(content) // LENGTH_BYTES:
        raise _corrupt(path, f"it claims {count} records in {len(content)} bytes")
    target = avro_to_arrow(schema)
    wanted = [n for n, name in enumerate(target.names) if columns is None or name in columns]
    if count == 0:
        return target.empty_table().select(wanted)
    physical = _Physical()
    fields, symbols = physical.fields(schema)
    # Each value takes a byte at least, be it the branch of a union; those of a list are not counted beforehand.
    fixed_bytes = physical.fixed_bytes * count + physical.repeated_fixed_bytes * len(content)
    if fixed_bytes > MOST_FIXED_BYTES + _FIXED_BYTES_PER_BYTE * len(content):
        raise _corrupt(path, f"its values of fixed types would take {fixed_bytes} bytes")
    # The bytes of a record are those of its fields, so the length is one field more, and names do not matter.
    prefixed = [_LENGTH_FIELD, *({"name": f"field{n}", "type": kind} for n, kind in enumerate(fields))]
    names = [_LENGTH, *(f"field{n}" for n in wanted)]
    found = _decode({"type": "record", "name": "prefixed", "fields": prefixed}, count, content, path, names)
    lengths = _bytes_of(found[_LENGTH]).view(">i4").astype(np.int64)
    if len(lengths) != count or int(lengths.sum()) + LENGTH_BYTES * count != len(content):
        raise _corrupt(path, "its records do not have the lengths that stand in front of them")
    kinds = pa.schema([target.field(n) for n in wanted])
    arrays = [_meaning(found[f"field{n}"], target.field(n).type, iter(symbols[n]), path) for n in wanted]
    # A table without columns would forget how many records there are.
    return pa.Table.from_arrays(arrays, schema=kinds) if wanted else pa.table({_LENGTH: lengths}).select([])


def decode_record(schema: Mapping[str, Any], content: memoryview, *, path: str) -> pa.Table:
    """Decode one record without a frame, such as the list of a delete block, into a table of one row."""
    columns = _decode(_Physical().rewrite(schema), 1, content, path)
    return pa.table(list(columns.values()), names=list(columns))


def _decode(
    schema: Any, count: int, content: memoryview, path: str, columns: list[str] | None = None
) -> dict[str, pa.Array]:
    container = io.BytesIO()
    text = json.dumps(schema).encode()
    container.write(b"Obj\x01" + _long(1) + _long(11) + b"avro.schema" + _long(len(text)) + text + _long(0) + _SYNC)
    container.write(_long(count) + _long(len(content)))
    container.write(content)
    container.write(_SYNC)
    container.seek(0)
    try:
        return {column.name: column.to_arrow() for column in pl.read_avro(container, columns=columns)}
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # what Rust calls a panic is no Exception; nothing else comes from there
        raise _corrupt(path, f"its records do not fit their schema ({error})") from error


def _long(value: int) -> bytes:
    zigzag = value << 1
    out = bytearray()
    while zigzag & ~0x7F:
        out.append((zigzag & 0x7F) | 0x80)
        zigzag >>= 7
    out.append(zigzag)
    return bytes(out)


class _Physical:
    """Rewrites an Avro schema: physical types only, maps as arrays, each named type where it is used."""

    def __init__(self) -> None:
        self._named: dict[str, Mapping[str, Any]] = {}
        self._count = 0
        self._repeats = 0
        self.symbols: list[Sequence[str]] = []
        """Of each enum, in the order in which they stand in the rewritten schema."""

        self.fixed_bytes = 0
        """Of all fixed types that a record has once."""

        self.repeated_fixed_bytes = 0
        """Of those inside of lists and maps."""

    def fields(self, record: Mapping[str, Any]) -> tuple[list[Any], list[Sequence[Sequence[str]]]]:
        """Return the rewritten types of a record's fields, and the symbols of the enums in each.

        Raises as `rewrite`.
        """
        own = str(record.get("namespace") or "")
        kinds: list[Any] = []
        symbols: list[Sequence[Sequence[str]]] = []
        for field in record.get("fields") or ():
            first = len(self.symbols)
            kinds.append(self.rewrite(field.get("type"), own, 1))
            symbols.append(self.symbols[first:])
        return kinds, symbols

    def rewrite(self, avro: Any, namespace: str = "", depth: int = 0) -> Any:
        """Return the rewritten schema. Raises `FormatError` where it is none that Hudi writes."""
        if depth > MAX_DEPTH:
            raise FormatError(f"An Avro schema is nested more than {MAX_DEPTH} levels deep.")
        if isinstance(avro, list):
            return [b if b == "null" else self.rewrite(b, namespace, depth + 1) for b in avro]
        if isinstance(avro, str):
            if avro in _PRIMITIVES:
                return avro
            named = self._named.get(avro) or self._named.get(f"{namespace}.{avro}")
            if named is None:
                raise FormatError(f"The Avro schema refers to {avro!r}, which it does not define.")
            return self.rewrite(named, str(named.get("namespace") or namespace), depth + 1)
        if not isinstance(avro, Mapping):
            raise FormatError(f"An Avro schema holds {avro!r}, which is no type.")
        return self._complex(avro, namespace, depth)

    def _complex(self, avro: Mapping[str, Any], namespace: str, depth: int) -> Any:
        kind = avro.get("type")
        if kind == "array":
            return {"type": "array", "items": self._repeated(avro.get("items"), namespace, depth)}
        if kind == "map":
            pair = [
                {"name": "key", "type": "string"},
                {"name": "value", "type": self._repeated(avro.get("values"), namespace, depth)},
            ]
            return {"type": "array", "items": {"type": "record", "name": self._fresh_name(), "fields": pair}}
        if kind in ("record", "enum", "fixed"):
            return self._named_type(str(kind), avro, namespace, depth)
        return self.rewrite(kind, namespace, depth + 1)

    def _repeated(self, avro: Any, namespace: str, depth: int) -> Any:
        self._repeats += 1
        rewritten = self.rewrite(avro, namespace, depth + 1)
        self._repeats -= 1
        return rewritten

    def _named_type(self, kind: str, avro: Mapping[str, Any], namespace: str, depth: int) -> Any:
        own = str(avro.get("namespace") or namespace)
        name = str(avro.get("name", ""))
        self._named[name if "." in name else f"{own}.{name}"] = avro
        self._named[name] = avro
        if kind == "enum":  # which polars does not decode; its encoding is that of a number
            self.symbols.append(avro["symbols"])
            return "int"
        result: dict[str, Any] = {"type": kind, "name": self._fresh_name()}
        if kind == "record":
            result["fields"] = [
                {"name": f.get("name"), "type": self.rewrite(f.get("type"), own, depth + 1)}
                for f in avro.get("fields") or ()
            ]
        else:
            size = result["size"] = int(avro["size"])
            if self._repeats:
                self.repeated_fixed_bytes += size
            else:
                self.fixed_bytes += size
        return result

    def _fresh_name(self) -> str:
        self._count += 1
        return f"t{self._count}"


def _bytes_of(array: pa.Array) -> npt.NDArray[np.uint8]:
    """All bytes of a binary array, one value behind the other."""
    values = array.cast(pa.large_binary())
    _, offsets, content = values.buffers()
    if content is None:
        return np.empty(0, np.uint8)
    bounds = np.frombuffer(offsets, np.int64)[values.offset : values.offset + len(values) + 1]
    return np.frombuffer(content, np.uint8)[bounds[0] : bounds[-1]]


def _meaning(array: pa.Array, target: pa.DataType, symbols: Iterator[Sequence[str]], path: str) -> pa.Array:
    """Return physical values in the type that they stand for; `symbols` are those of the enums that follow."""
    if pat.is_struct(target):
        members = [_meaning(array.field(i), target.field(i).type, symbols, path) for i in range(target.num_fields)]
        mask = array.is_null() if array.null_count else None
        return pa.StructArray.from_arrays(members, fields=list(target), mask=mask)
    if pat.is_map(target) or pat.is_list(target):
        return _nested(array, target, symbols, path)
    if pat.is_decimal(target):
        return decimals(array, target)
    if pat.is_string(target) and pat.is_integer(array.type):
        return _named(array, next(symbols), path)
    return pc.cast(array, target)


def _named(array: pa.Array, symbols: Sequence[str], path: str) -> pa.Array:
    """Return the symbols of an enum whose numbers these are."""
    bounds = pc.min_max(array).as_py()
    if bounds["min"] is not None and not 0 <= bounds["min"] <= bounds["max"] < len(symbols):
        raise _corrupt(path, f"it has a value {bounds} of an enum with {len(symbols)} symbols")
    return pa.array(symbols, pa.string()).take(array)


def _nested(array: pa.Array, target: pa.DataType, symbols: Iterator[Sequence[str]], path: str) -> pa.Array:
    values = array.flatten()
    # Offsets that begin at zero, whatever the array is a slice of, with nulls where the lists are null.
    lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy()
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    valid = np.append(np.asarray(array.is_valid()), True)
    starts = pa.array(offsets, mask=~valid) if array.null_count else pa.array(offsets)
    if pat.is_map(target):
        keys = pc.cast(values.field("key"), target.key_type)
        return pa.MapArray.from_arrays(
            starts, keys, _meaning(values.field("value"), target.item_type, symbols, path)
        ).cast(target)
    return pa.ListArray.from_arrays(starts, _meaning(values, target.value_type, symbols, path), type=target)


def decimals(array: pa.Array, target: pa.Decimal128Type) -> pa.Array:
    """Return big-endian two's complement numbers as decimals: each is widened to the 16 bytes that Arrow stores.

    Raises `FormatError` where one has more digits than the type.
    """
    lengths = pc.fill_null(pc.binary_length(array), 0).to_numpy()
    if len(lengths) and int(lengths.max()) > 16:
        raise FormatError(f"A decimal of {int(lengths.max())} bytes does not fit {target}.")
    wide = np.zeros((len(array), 16), np.uint8)
    for length in np.unique(lengths[lengths > 0]):
        rows = np.flatnonzero(lengths == length)
        raw = _bytes_of(array.take(pa.array(rows))).reshape(-1, length)
        wide[rows, :length] = raw[:, ::-1]
        wide[rows, length:] = np.where(raw[:, :1] & 0x80, 0xFF, 0).astype(np.uint8)
    mask = np.asarray(array.is_null()) if array.null_count else None
    bitmap = None if mask is None else pa.array(~mask).buffers()[1]
    found = pa.Array.from_buffers(target, len(array), [bitmap, pa.py_buffer(wide.tobytes())], array.null_count)
    try:
        found.validate(full=True)
    except pa.ArrowInvalid as error:
        raise FormatError(f"A decimal does not fit {target}: {error}") from error
    return found


def _corrupt(path: str, what: str) -> CorruptFileError:
    return CorruptFileError(
        f"A block of {path} cannot be read: {what}.",
        rule="LF-005",
        way_out="The file is damaged; restore it from a copy, or restore the table to a savepoint.",
    )
