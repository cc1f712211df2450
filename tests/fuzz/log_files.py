"""Log files with blocks of every type, the records in them, and record positions."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Sequence
from functools import cache
from random import Random

import numpy as np
from pyroaring import BitMap64

from drawstring.errors import DrawstringError
from drawstring.log_files.avro_records import decode_prefixed_records
from drawstring.log_files.blocks import LogBlock, read_blocks
from drawstring.log_files.decode import (
    DATA_BLOCKS,
    block_schema,
    data_records,
    delete_records,
    header_summary,
    is_default_ordering,
    record_positions,
)
from drawstring.log_files.scan import Visible, visible_blocks
from drawstring_spec.log_format import LOG_FORMAT_VERSION, MAGIC, BlockType, HeaderKey

from . import golden
from .mutators import avro_long, damage, damage_json
from .target import Answer, Target, cuts_are_told, described

PATH = "north/.f_1.log.1_0-1-1"
_POSITIONS_OF_BYTES = 100_000
_AVRO_BLOCKS = (BlockType.AVRO_DATA, BlockType.CDC)
_EVERYTHING = Visible(frozenset(), "9" * 17, "9" * 17)


@cache
def _log_files() -> tuple[bytes, ...]:
    """Golden log files, the smallest with each sequence of block types and of header keys."""
    found: dict[object, bytes] = {}
    for content in golden.matching(golden.LOG_FILE, per_case=40):
        blocks = list(read_blocks(memoryview(content), path=PATH))
        form = tuple((b.type, *sorted(b.header)) for b in blocks)
        if form not in found or len(content) < len(found[form]):
            found[form] = content
    return tuple(found.values())


def _read_log_file(content: bytes) -> Answer:
    blocks = list(read_blocks(memoryview(content), path=PATH))
    answer = [str(len(visible_blocks(blocks, _EVERYTHING)))]
    for block in blocks:
        try:
            answer += [block.type.name, *_read_block(block)]
        except DrawstringError as error:
            answer.append(f"error {type(error).__name__}")
    if blocks and all(text.startswith("error") for text in answer[1:]):
        raise DrawstringError("No block can be read.")
    return tuple(answer)


def _read_block(block: LogBlock) -> list[str]:
    answer: list[str] = []
    if block.type in DATA_BLOCKS:
        answer.append(described(data_records(block)))
    elif block.type is BlockType.DELETE:
        deletes = delete_records(block)
        answer += [described(deletes), str(is_default_ordering(deletes.column("ordering").combine_chunks()).sum())]
    positions = record_positions(block)
    answer += [str(positions), *header_summary(block)]
    return answer


def _with_damaged_block(content: bytes, chance: Random, others: Sequence[bytes]) -> bytes:
    """Damage the content, a header or the schema of one block, and make all lengths right again."""
    blocks = [b for b in read_blocks(memoryview(content), path=PATH) if b.type is not BlockType.CORRUPT]
    block = chance.choice(blocks)
    header, body = dict(block.header), bytes(block.content)
    part = chance.randrange(4)
    if part == 0 and HeaderKey.SCHEMA in header:
        header[HeaderKey.SCHEMA] = damage_json(header[HeaderKey.SCHEMA], chance).decode()
    elif part == 1:
        key = chance.choice(sorted(header))
        header[key] = damage(header[key].encode(), chance, ()).decode("latin-1")
    else:
        body = damage(body, chance, others)
    kind = chance.choice(list(BlockType)) if chance.random() < 0.1 else block.type
    return content[: block.offset] + framed(kind, header, body) + content[block.offset + block.size :]


def framed(kind: BlockType, header: dict[HeaderKey, str], body: bytes) -> bytes:
    """A log block of its parts."""
    entries = b""
    for key, value in header.items():
        text = value.encode("utf-8", "replace")
        entries += struct.pack(">ii", key, len(text)) + text
    inner = struct.pack(">iii", LOG_FORMAT_VERSION, kind, len(header)) + entries + struct.pack(">q", len(body)) + body
    inner += struct.pack(">i", 0)
    length = len(inner) + 8
    return MAGIC + struct.pack(">q", length) + inner + struct.pack(">q", length + len(MAGIC))


def _field(name: str, kind: object) -> dict[str, object]:
    return {"name": name, "type": kind}


_DECIMAL = {"type": "fixed", "name": "f", "size": 5, "logicalType": "decimal", "precision": 10, "scale": 2}
_RECORD = {
    "type": "record",
    "name": "r",
    "fields": [
        _field("text", ["null", "string"]),
        _field("number", "long"),
        _field("exact", _DECIMAL),
        _field("list", {"type": "array", "items": ["null", "int"]}),
        _field("map", {"type": "map", "values": {"type": "array", "items": "double"}}),
        _field("kind", {"type": "enum", "name": "e", "symbols": ["A", "B"]}),
        _field("inner", ["null", {"type": "record", "name": "i", "fields": [_field("flag", "boolean")]}]),
        _field("day", {"type": "int", "logicalType": "date"}),
        _field("at", {"type": "long", "logicalType": "timestamp-micros"}),
    ],
}


@cache
def _datums() -> tuple[bytes, ...]:
    """Schema, a line end, and records with their lengths: one file with everything, and those of golden log blocks."""
    record = (
        b"\x02" + avro_long(3) + b"abc" + avro_long(-77) + bytes([0, 0, 0, 1, 2]) + avro_long(2) + b"\x00\x02\x08\x00"
        + avro_long(1) + avro_long(1) + b"k" + avro_long(1) + bytes(8) + b"\x00\x00" + b"\x02" + b"\x02\x01"
        + avro_long(19000) + avro_long(1_700_000_000_000_000)
    )  # fmt: skip
    found = [json.dumps(_RECORD).encode() + b"\n" + (struct.pack(">i", len(record)) + record) * 5]
    for content in _log_files():
        blocks = [b for b in read_blocks(memoryview(content), path=PATH) if b.type in _AVRO_BLOCKS]
        found += [b.header[HeaderKey.SCHEMA].encode() + b"\n" + bytes(b.content[8:]) for b in blocks]
    return tuple(found)


def _read_datums(content: bytes) -> Answer:
    text, _, body = content.partition(b"\n")
    block = LogBlock(
        PATH, 0, len(content), BlockType.AVRO_DATA, {HeaderKey.SCHEMA: text.decode("latin-1")}, memoryview(b"")
    )
    return (described(decode_prefixed_records(block_schema(block), _count(body), memoryview(body), path=PATH)),)


def _count(body: bytes) -> int:
    position = count = 0
    while 0 <= position < len(body):
        position += 4 + int.from_bytes(body[position : position + 4], "big", signed=True)
        count += 1
        if count > len(body):
            break
    return count


def _with_damaged_schema(content: bytes, chance: Random, _: Sequence[bytes]) -> bytes:
    text, _, body = content.partition(b"\n")
    return damage_json(text, chance) + b"\n" + body


def _with_damaged_record(content: bytes, chance: Random, others: Sequence[bytes]) -> bytes:
    """Damage the bytes of one record, and let the length in front of it be right."""
    text, _, body = content.partition(b"\n")
    size = int.from_bytes(body[:4], "big")
    record = damage(body[4 : 4 + size], chance, others)
    return text + b"\n" + struct.pack(">i", len(record)) + record + body[4 + size :]


@cache
def _bitmaps() -> tuple[bytes, ...]:
    """Arrays, bitmaps and runs of positions, in one and in many containers; and the golden ones."""
    chance = np.random.default_rng(7)
    sets = [
        BitMap64([1, 5, 70_000]),
        BitMap64(range(10, 9_000)),
        BitMap64(chance.integers(0, 200_000, 9_000).tolist()),
        BitMap64([3, 2**33 + 1, 2**40]),
    ]
    runs = BitMap64(range(500_000))
    runs.run_optimize()
    found = [bitmap.serialize() for bitmap in (*sets, runs)]
    for content in _log_files():
        headers = [block.header for block in read_blocks(memoryview(content), path=PATH)]
        found += [base64.b64decode(h[HeaderKey.RECORD_POSITIONS]) for h in headers if HeaderKey.RECORD_POSITIONS in h]
    return tuple(dict.fromkeys(found))


def _read_bitmap(content: bytes) -> Answer:
    header = {HeaderKey.RECORD_POSITIONS: base64.b64encode(content).decode()}
    body = memoryview(bytes(_POSITIONS_OF_BYTES))
    found = record_positions(LogBlock(PATH, 0, len(content), BlockType.AVRO_DATA, header, body))
    if found is None:
        return ("none",)
    if len(found) > 1 and not bool((found[1:] > found[:-1]).all()):
        raise AssertionError("positions do not ascend")
    return (str(len(found)), str(hash(found.tobytes())))


TARGETS = (
    Target("log_file", _log_files, _read_log_file, (_with_damaged_block, _with_damaged_block)),
    Target("avro_datum", _datums, _read_datums, (_with_damaged_schema, _with_damaged_record)),
    Target("record_positions", _bitmaps, _read_bitmap, judge=cuts_are_told),
)
