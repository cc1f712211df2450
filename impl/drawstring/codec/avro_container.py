"""Avro object containers with one record, as the timeline's files are.

Whose duty: the timeline's writer encodes plans and commit metadata here, its readers decode them. The container is
written as Java Hudi writes it: no compression, ``avro.schema`` as its only metadata entry (fastavro adds a codec
entry, so the frame is written here and fastavro writes the record). What is read is untrusted: a broken or hostile
file ends in `CorruptFileError`, and no length in it is believed before the bytes are there.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

import fastavro

from drawstring.codec.avro_shape import check_avro
from drawstring.errors import CorruptFileError
from drawstring_spec.payloads import SCHEMAS

MAGIC = b"Obj\x01"
SYNC_BYTES = 16
_LONG = fastavro.parse_schema("long")


def encode(schema_name: str, record: dict[str, Any], *, sync_marker: bytes) -> bytes:
    """Container with one record.

    Args:
        schema_name: a key of `drawstring_spec.payloads.SCHEMAS`, such as ``"HoodieCommitMetadata"``.
        record: the record; absent fields take the schema's defaults.
        sync_marker: 16 bytes, fresh for each file.

    Returns:
        The file's bytes.

    """
    schema = SCHEMAS[schema_name]
    body = io.BytesIO()
    fastavro.schemaless_writer(body, fastavro.parse_schema(dict(schema)), record)
    out = io.BytesIO()
    out.write(MAGIC)
    _write_long(out, 1)
    _write_bytes(out, b"avro.schema")
    _write_bytes(out, json.dumps(schema, separators=(",", ":")).encode())
    _write_long(out, 0)
    out.write(sync_marker)
    _write_long(out, 1)
    _write_bytes(out, body.getvalue())
    out.write(sync_marker)
    return out.getvalue()


def decode(content: bytes | memoryview, *, path: str) -> dict[str, Any]:
    """Return the one record of a container.

    Args:
        content: the file's bytes.
        path: named in errors.

    Returns:
        The record as Python values.

    Raises:
        CorruptFileError: the bytes are no container with exactly one record of a record schema.

    """
    try:
        reader = fastavro.reader(io.BytesIO(content))
        if reader.codec != "null":
            raise CorruptFileError(
                f"{path} is compressed with {reader.codec!r}; timeline files are not compressed",
                rule="TL-030",
            )
        check_avro(reader.writer_schema)
        records = [record for _, record in zip(range(2), reader, strict=False)]
    except CorruptFileError:
        raise
    except Exception as error:
        raise CorruptFileError(
            f"{path} is not a readable Avro container: {error}",
            rule="TL-030",
            way_out="The file is truncated or damaged; restore it from a copy, or roll its instant back.",
        ) from error
    if len(records) != 1 or not isinstance(records[0], dict):
        raise CorruptFileError(f"{path} holds {len(records)} records where one is expected", rule="TL-030")
    return records[0]


def decode_bare(schema: Mapping[str, Any], content: bytes | memoryview, *, path: str) -> dict[str, Any]:
    """Return a record that stands without a container, as values of an HFile do.

    Args:
        schema: that the record was written with; its shape has been checked (`check_avro`).
        content: the record's bytes, all of them.
        path: named in errors.

    Raises:
        CorruptFileError: the bytes are no such record.

    """
    stream = io.BytesIO(content)
    try:
        record = fastavro.schemaless_reader(stream, fastavro.parse_schema(dict(schema)), None)
    except Exception as error:
        raise CorruptFileError(f"{path} holds a record that does not fit its schema: {error}", rule="LF-027") from error
    if stream.tell() != len(content) or not isinstance(record, dict):
        raise CorruptFileError(f"{path} holds a record that does not end where it should", rule="LF-027")
    return record


def decode_many(contents: Sequence[bytes], *, path: str) -> list[dict[str, Any]]:
    """Return the one record of each container; arguments and errors as `decode`.

    Where many have one schema it is read once: it is most of what such a container holds.
    """
    found: list[dict[str, Any]] = []
    header, schema = b"", None
    for content in contents:
        behind = header and content.startswith(header)
        record = _record_behind(header, schema, content, path=path) if behind else None
        if record is None:
            record = decode(content, path=path)
            header, schema = _header(content)
        found.append(record)
    return found


def _header(content: bytes) -> tuple[bytes, Any]:
    """Return what stands before the sync marker of a container that can be read, and its schema."""
    stream = io.BytesIO(content)
    schema = fastavro.parse_schema(fastavro.reader(stream).writer_schema)
    return content[: stream.tell() - SYNC_BYTES], schema


def _record_behind(header: bytes, schema: Any, content: bytes, *, path: str) -> dict[str, Any] | None:
    """Return the one record of a container that begins so; None where it is not as such a container has to be."""
    start = len(header) + SYNC_BYTES
    stream = io.BytesIO(content)
    stream.seek(start)
    try:
        count, size = (fastavro.schemaless_reader(stream, _LONG) for _ in range(2))
        body = stream.tell()
        record = fastavro.schemaless_reader(stream, schema)
    except Exception:
        decode(content, path=path)  # says what is damaged
        raise
    end = stream.tell()
    whole = count == 1 and end - body == size and content[end:] == content[len(header) : start]
    return record if whole and isinstance(record, dict) else None


def _write_long(out: io.BytesIO, value: int) -> None:
    zigzag = (value << 1) ^ (value >> 63)
    while zigzag & ~0x7F:
        out.write(bytes(((zigzag & 0x7F) | 0x80,)))
        zigzag >>= 7
    out.write(bytes((zigzag,)))


def _write_bytes(out: io.BytesIO, value: bytes) -> None:
    _write_long(out, len(value))
    out.write(value)
