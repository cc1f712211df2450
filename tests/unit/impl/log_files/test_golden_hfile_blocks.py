"""HFile blocks of Java's metadata tables, and footers of blocks, which Java leaves empty."""

from __future__ import annotations

import io
import json
import struct

import fastavro

from drawstring.hfile.reader import HFileReader
from drawstring.log_files.blocks import LogBlock, read_blocks
from drawstring.log_files.decode import data_records
from drawstring_spec.log_format import MAGIC, BlockType, HeaderKey
from unit.impl.hfile.writer import HFileWriter


def hfile_blocks(golden_log_files):
    found = [(n, b) for n, raw in golden_log_files for b in read_blocks(memoryview(raw), path=n)]
    found = [(name, block) for name, block in found if block.type is BlockType.HFILE_DATA]
    assert found
    return found


def test_keys_of_an_hfile_block_are_sorted_and_there_once(golden_log_files):
    for name, block in hfile_blocks(golden_log_files):
        keys = HFileReader.from_bytes(block.content, path=name).entries()[0].to_pylist()
        assert keys
        assert keys == sorted(set(keys))


def test_values_of_an_hfile_block_are_avro_records_whose_key_is_empty(golden_log_files):
    for name, block in hfile_blocks(golden_log_files):
        schema = fastavro.parse_schema(json.loads(block.header[HeaderKey.SCHEMA]))
        keys, values = HFileReader.from_bytes(block.content, path=name).entries()
        for key, value in zip(keys.to_pylist(), values.to_pylist(), strict=True):
            record = fastavro.schemaless_reader(io.BytesIO(value), schema, None)
            assert key
            assert record["key"] == ""
            assert record["_hoodie_record_key"] is None


def test_the_key_of_an_entry_fills_the_field_where_it_is_asked_for():
    fields = [{"name": "n", "type": "long"}, {"name": "key", "type": "string"}]
    schema = {"type": "record", "name": "r", "fields": fields}
    values = {}
    for n, key in enumerate(["a", "b"]):
        body = io.BytesIO()
        fastavro.schemaless_writer(body, fastavro.parse_schema(schema), {"n": n, "key": ""})
        values[key.encode()] = body.getvalue()
    header = {HeaderKey.SCHEMA: json.dumps(schema)}
    content = memoryview(HFileWriter().write(values, info={}))
    block = LogBlock("f", 0, len(content), BlockType.HFILE_DATA, header, content)
    assert data_records(block).to_pydict() == {"n": [0, 1], "key": ["a", "b"]}
    assert data_records(block, {"key"}).to_pydict() == {"key": ["a", "b"]}
    assert data_records(block, {"n"}).to_pydict() == {"n": [0, 1]}


def entries(pairs: dict[int, bytes]) -> bytes:
    return struct.pack(">i", len(pairs)) + b"".join(struct.pack(">ii", k, len(v)) + v for k, v in pairs.items())


def test_a_footer_is_a_map_like_the_header_and_does_not_disturb():
    body = struct.pack(">ii", 1, BlockType.AVRO_DATA) + entries({HeaderKey.INSTANT_TIME: b"1"})
    body += struct.pack(">q", 3) + b"abc" + entries({HeaderKey.SCHEMA: b"unused"})
    raw = MAGIC + struct.pack(">q", len(body) + 8) + body + struct.pack(">q", len(body) + 14)
    first, second = read_blocks(memoryview(raw + raw), path="f")
    assert (first.instant_time, bytes(first.content)) == (second.instant_time, bytes(second.content)) == ("1", b"abc")


def test_java_leaves_footers_empty(golden_log_files):
    for name, raw in golden_log_files:
        for block in read_blocks(memoryview(raw), path=name):
            assert raw[block.offset + block.size - 12 : block.offset + block.size - 8] == bytes(4)
