"""Avro object containers with one record, as the timeline's files are.

Whose duty: the timeline's writer encodes plans and commit metadata here, its readers decode them. The container is
written as Java Hudi writes it: no compression, ``avro.schema`` as its only metadata entry (fastavro adds a codec
entry, so the frame is written here and fastavro writes the record). What is read is untrusted: a broken or hostile
file ends in `CorruptFileError`, and no length in it is believed before the bytes are there.
"""

from __future__ import annotations

import io
import json
from typing import Any

import fastavro

from drawstring.codec.avro_shape import check_avro
from drawstring.errors import CorruptFileError
from drawstring_spec.payloads import SCHEMAS

MAGIC = b"Obj\x01"
SYNC_BYTES = 16


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


def _write_long(out: io.BytesIO, value: int) -> None:
    zigzag = (value << 1) ^ (value >> 63)
    while zigzag & ~0x7F:
        out.write(bytes(((zigzag & 0x7F) | 0x80,)))
        zigzag >>= 7
    out.write(bytes((zigzag,)))


def _write_bytes(out: io.BytesIO, value: bytes) -> None:
    _write_long(out, len(value))
    out.write(value)
