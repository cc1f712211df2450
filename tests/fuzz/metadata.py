"""HFiles, and the values of the metadata table in them."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Sequence
from functools import cache
from random import Random

import pyarrow as pa

from drawstring.data.schema import parse_avro
from drawstring.hfile.reader import HFileReader
from drawstring.metadata.avro_columns import decode_records
from drawstring.metadata.records import decode_files

from . import golden
from .mutators import damage, damage_json
from .target import Answer, Target, all_is_told, described

_SCHEMA_KEY = b"schema"
_BLOCK = struct.Struct(">8siiqbii")
_MAGICS = (b"DATABLK*", b"IDXROOT2", b"METABLKc", b"FILEINF2")


@cache
def _hfiles() -> tuple[bytes, ...]:
    return tuple(golden.matching(r"\.hfile$", per_case=9))[::3]


def _read_hfile(content: bytes) -> Answer:
    reader = HFileReader.from_bytes(memoryview(content), path="f.hfile")
    keys, values = reader.entries()
    answer = [str(reader.num_entries), described(keys), described(values), str(sorted(reader.file_info.items()))]
    some = [key for key in keys.to_pylist()[:5] if key is not None]
    found_keys, found_values = reader.lookup([*some, b"", b"no such key"])
    prefixed, _ = reader.prefixed(some[0][:2] if some else b"")
    return (*answer, described(found_keys), described(found_values), described(prefixed))


def _with_damaged_block(content: bytes, chance: Random, others: Sequence[bytes]) -> bytes:
    """Damage what a compressed block holds; sizes and checksums are right again, and the index finds it."""
    starts = [at for magic in _MAGICS for at in _all(content, magic)]
    start = chance.choice(starts)
    magic, stored, _, previous, _, per_checksum, with_header = _BLOCK.unpack_from(content, start)
    body = content[start + 33 : start + with_header]
    changed = damage(gzip.decompress(body), chance, others)
    packed = gzip.compress(changed, 9, mtime=0)
    room = 33 + stored - with_header + len(body)
    if len(packed) > len(body):
        return content[:start] + damage(body, chance, others)[: len(body)] + content[start + len(body) :]
    packed += bytes(len(body) - len(packed))  # members behind the stream's end are not looked at
    header = _BLOCK.pack(magic, stored, len(changed), previous, 0, per_checksum, with_header)
    end = start + 33 + len(body)
    return content[:start] + header + packed + content[end : end + room - len(body)] + content[end + room - len(body) :]


def _all(content: bytes, piece: bytes) -> list[int]:
    found, at = [], content.find(piece)
    while at >= 0:
        found.append(at)
        at = content.find(piece, at + 1)
    return found


def _with_damaged_trailer(content: bytes, chance: Random, others: Sequence[bytes]) -> bytes:
    start = content.rindex(b'TRABLK"$')
    return (
        content[: start + 8]
        + damage(content[start + 8 : start + 80], chance, others).ljust(72, b"\0")[:72]
        + (content[start + 80 :])
    )


@cache
def _payloads() -> tuple[bytes, ...]:
    return _values_of("column_stats", "record_index", "bloom_filters", "secondary_index", "partition_stats")


def _values_of(*partitions: str) -> tuple[bytes, ...]:
    """Schema, a line end, and values with their lengths, of the smallest files of golden metadata partitions."""
    found = []
    for partition in partitions:
        for content in list(golden.matching(rf"metadata/{partition}[^/]*/[^/]+\.hfile$"))[:2]:
            reader = HFileReader.from_bytes(memoryview(content), path="f.hfile")
            schema = reader.file_info.get(_SCHEMA_KEY)
            values = reader.entries()[1].to_pylist()[:20]
            if schema and values:
                found.append(schema + b"\n" + b"".join(struct.pack(">i", len(v)) + v for v in values))
    return tuple(dict.fromkeys(found))


def _split(content: bytes) -> tuple[str, pa.Array]:
    text, _, body = content.partition(b"\n")
    values, at = [], 0
    while at + 4 <= len(body):
        size = int.from_bytes(body[at : at + 4], "big")
        values.append(body[at + 4 : at + 4 + size])
        at += 4 + size
    return text.decode("latin-1"), pa.array(values, pa.large_binary())


def _read_payloads(content: bytes) -> Answer:
    schema, values = _split(content)
    return (described(decode_records(parse_avro(schema), values, path="f.hfile")),)


def _with_damaged_schema(content: bytes, chance: Random, _: Sequence[bytes]) -> bytes:
    text, _, body = content.partition(b"\n")
    return damage_json(text, chance) + b"\n" + body


@cache
def _files_payloads() -> tuple[bytes, ...]:
    return _values_of("files")


def _read_files_payloads(content: bytes) -> Answer:
    schema, values = _split(content)
    return (described(decode_files(schema, pa.chunked_array([values]), path="f.hfile")),)


TARGETS = (
    Target("hfile", _hfiles, _read_hfile, (_with_damaged_block, _with_damaged_trailer), all_is_told),
    Target("metadata_values", _payloads, _read_payloads, (_with_damaged_schema,)),
    Target("metadata_files", _files_payloads, _read_files_payloads, (_with_damaged_schema,)),
)
