"""Many Avro records decoded at once, each field of all of them before the next, with NumPy.

Source: Apache Avro specification, "Binary Encoding". Whose duty: values of the metadata table have unions of a dozen
branches (the least value of a column is a record for its type), which no columnar decoder that we depend on reads. Here
each record has a cursor; reading a field moves all cursors on. Records are untrusted: no cursor leaves its record, and
each has to end where its record ends. Arrays and maps have no place in the records that come here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import types as pat

from drawstring.data.types import MAX_DEPTH
from drawstring.errors import CorruptFileError, FormatError
from drawstring.hfile.entries import gather
from drawstring.log_files.avro_records import decimals

Rows = npt.NDArray[np.int64]

_MAX_VARINT_SHIFT: Final = 63
_NUMBERS: Final = {"float": ("<f4", pa.float32()), "double": ("<f8", pa.float64())}
_INT_LIMIT: Final = 2**31


def decode_records(schema: Mapping[str, Any], values: pa.Array, *, path: str) -> pa.StructArray:
    """Decode records.

    Args:
        schema: Avro schema of a record.
        values: ``large_binary`` without nulls, one record each.
        path: of the file, for messages.

    Returns:
        One struct per record. A union of null and one type is that type; a union of more is a struct of the members
        ``member0``, ``member1``, ... of which one at most is not null, as Spark's reader of Avro has it. Where there
        are records, what none of them has may be of Arrow's type null.

    Raises:
        CorruptFileError: a value is no such record.
        FormatError: the schema is none, or has a type that does not occur in the metadata table.

    """
    _, offsets, content = values.buffers()
    bounds = np.frombuffer(offsets, np.int64)[values.offset : values.offset + len(values) + 1]
    raw = np.frombuffer(content, np.uint8) if content is not None else np.empty(0, np.uint8)
    decoder = _Decoder(raw, bounds[:-1].copy(), bounds[1:], path)
    decoder.learn_names(schema, "", 0)
    decoded = decoder.read(schema, np.arange(len(values)), "", 0)
    if (decoder.at != decoder.ends).any():
        raise decoder.corrupt(
            f"the record at {int(np.argmax(decoder.at != decoder.ends))} does not end where it should"
        )
    if not pat.is_struct(decoded.type):
        raise FormatError(f"The values of {path} are no records.")
    return decoded


class _Decoder:
    """Cursors of all records. Each method reads one value of the records `rows`, and moves their cursors on."""

    def __init__(self, raw: npt.NDArray[np.uint8], at: Rows, ends: Rows, path: str) -> None:
        self.raw, self.at, self.ends, self._path = raw, at, ends, path
        self._named: dict[str, Mapping[str, Any]] = {}
        self._lazy = len(at) > 0

    def corrupt(self, what: str) -> CorruptFileError:
        """Error about the file; `what` completes "... cannot be read: ..."."""
        return CorruptFileError(
            f"Values of {self._path} cannot be read: {what}.",
            rule="MT-001",
            way_out="The metadata table is damaged. Read with hoodie.metadata.enable=false until it is built again.",
        )

    def learn_names(self, avro: Any, namespace: str, depth: int) -> None:
        """Find the named types of a schema: one is defined where it is first used, which may be in a part not read."""
        if depth > MAX_DEPTH:
            raise FormatError(f"The schema of {self._path} is nested more than {MAX_DEPTH} levels deep.")
        if isinstance(avro, list):
            for branch in avro:
                self.learn_names(branch, namespace, depth + 1)
        elif isinstance(avro, Mapping):
            own = str(avro.get("namespace") or namespace)
            if avro.get("type") == "record":
                self._named[str(avro.get("name"))] = self._named[f"{own}.{avro.get('name')}"] = avro
                for field in _fields(avro, self._path):
                    self.learn_names(field.get("type"), own, depth + 1)
            elif not isinstance(avro.get("type"), str):
                self.learn_names(avro.get("type"), own, depth + 1)

    def read(self, avro: Any, rows: Rows, namespace: str, depth: int) -> pa.Array:
        """Read a value of any type."""
        if depth > MAX_DEPTH:
            raise FormatError(f"The schema of {self._path} is nested more than {MAX_DEPTH} levels deep.")
        if isinstance(avro, list):
            return self._union(avro, rows, namespace, depth)
        if isinstance(avro, str):
            named = self._named.get(avro) or self._named.get(f"{namespace}.{avro}")
            return self._primitive(avro, rows) if named is None else self.read(named, rows, namespace, depth + 1)
        if not isinstance(avro, Mapping):
            raise FormatError(f"The schema of {self._path} holds {avro!r}, which is no type.")
        kind = avro.get("type")
        if kind == "record":
            return self._record(avro, rows, namespace, depth)
        if kind == "bytes" and avro.get("logicalType") == "decimal":
            return self._decimal(avro, rows)
        if kind in ("array", "map"):
            if len(rows):
                raise self.corrupt(f"there is a value of type {kind} where none belongs")
            return pa.nulls(0)
        return self.read(kind, rows, namespace, depth + 1)

    def _record(self, avro: Mapping[str, Any], rows: Rows, namespace: str, depth: int) -> pa.Array:
        own = str(avro.get("namespace") or namespace)
        fields = _fields(avro, self._path)
        members = [self.read(field.get("type"), rows, own, depth + 1) for field in fields]
        names = [str(field["name"]) for field in fields]
        if not members:
            return pa.StructArray.from_arrays([pa.nulls(len(rows))], ["nothing"])
        return pa.StructArray.from_arrays(members, names)

    def _union(self, branches: list[Any], rows: Rows, namespace: str, depth: int) -> pa.Array:
        chosen = self._longs(rows)
        if ((chosen < 0) | (chosen >= len(branches))).any():
            raise self.corrupt(f"a union of {len(branches)} branches has a value of branch {int(chosen.max())}")
        members: list[pa.Array] = []
        for index, branch in enumerate(branches):
            if branch == "null":
                continue
            taken = chosen == index
            if self._lazy and not taken.any():
                members.append(pa.nulls(len(rows)))
                continue
            values = self.read(branch, rows[taken], namespace, depth + 1)
            if not taken.all():
                places = np.cumsum(taken) - 1
                values = values.take(pa.array(places, mask=~taken))
            members.append(values)
        if len(members) == 1:
            return members[0]
        absent = np.array([b == "null" for b in branches])[chosen] if len(rows) else np.empty(0, np.bool_)
        names = [f"member{index}" for index in range(len(members))]
        return pa.StructArray.from_arrays(members, names, mask=pa.array(absent))

    def _primitive(self, kind: str, rows: Rows) -> pa.Array:
        simple = {"null": self._nothing, "long": self._long, "boolean": self._flag, "string": self._text}
        if kind in simple:
            return simple[kind](rows)
        if kind == "int":
            numbers = self._longs(rows)
            if ((numbers < -_INT_LIMIT) | (numbers >= _INT_LIMIT)).any():
                raise self.corrupt("a number of type int does not fit 32 bits")
            return pa.array(numbers.astype(np.int32))
        if kind in _NUMBERS:
            order, arrow = _NUMBERS[kind]
            return pa.array(self._fixed(rows, int(order[-1])).view(order).ravel(), arrow)
        if kind == "bytes":
            return self._bytes(rows).cast(pa.binary())
        raise FormatError(f"The schema of {self._path} has the type {kind!r}, which the metadata table does not have.")

    def _nothing(self, rows: Rows) -> pa.Array:
        return pa.nulls(len(rows))

    def _long(self, rows: Rows) -> pa.Array:
        return pa.array(self._longs(rows))

    def _flag(self, rows: Rows) -> pa.Array:
        flags = self._fixed(rows, 1).ravel()
        if (flags > 1).any():
            raise self.corrupt("a boolean is neither true nor false")
        return pa.array(flags.astype(np.bool_))

    def _longs(self, rows: Rows) -> Rows:
        value = np.zeros(len(rows), np.uint64)
        left = np.arange(len(rows))
        for shift in range(0, _MAX_VARINT_SHIFT + 1, 7):
            cursors = self.at[rows[left]]
            if (cursors >= self.ends[rows[left]]).any():
                raise self.corrupt("a record ends inside of a number")
            byte = self.raw[cursors]
            value[left] |= (byte & 0x7F).astype(np.uint64) << np.uint64(shift)
            self.at[rows[left]] = cursors + 1
            left = left[byte >= 0x80]
            if len(left) == 0:
                return (value >> np.uint64(1)).astype(np.int64) ^ -(value & np.uint64(1)).astype(np.int64)
        raise self.corrupt("a number has more than 64 bits")

    def _fixed(self, rows: Rows, size: int) -> npt.NDArray[np.uint8]:
        starts = self.at[rows]
        if (starts + size > self.ends[rows]).any():
            raise self.corrupt("a record ends inside of a value")
        self.at[rows] = starts + size
        return np.ascontiguousarray(self.raw[starts[:, None] + np.arange(size)])

    def _bytes(self, rows: Rows) -> pa.Array:
        lengths = self._longs(rows)
        starts = self.at[rows]
        if (lengths < 0).any() or (lengths > self.ends[rows] - starts).any():
            raise self.corrupt("a text claims more bytes than its record has")
        self.at[rows] = starts + lengths
        return gather(self.raw, starts, starts + lengths)

    def _text(self, rows: Rows) -> pa.Array:
        try:
            return self._bytes(rows).cast(pa.large_string()).cast(pa.string())
        except pa.ArrowInvalid as error:
            raise self.corrupt(f"a text is no UTF-8 ({error})") from error

    def _decimal(self, avro: Mapping[str, Any], rows: Rows) -> pa.Array:
        precision, scale = avro.get("precision"), avro.get("scale", 0)
        try:
            return decimals(self._bytes(rows).cast(pa.binary()), pa.decimal128(precision, scale))
        except (TypeError, ValueError, FormatError) as error:
            raise self.corrupt(f"a decimal({precision}, {scale}) cannot be read ({error})") from error


def _fields(avro: Mapping[str, Any], path: str) -> list[Mapping[str, Any]]:
    fields = avro.get("fields")
    if not isinstance(fields, list) or not all(isinstance(f, Mapping) and f.get("name") for f in fields):
        raise FormatError(f"The schema of {path} has a record without fields.")
    return fields
