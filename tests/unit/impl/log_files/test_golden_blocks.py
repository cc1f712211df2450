"""What Java's log blocks hold, byte by byte: headers, contents and positions, on every golden table."""

from __future__ import annotations

import base64
import io
import json
import struct

import fastavro
import pytest
from pyroaring import BitMap64

from drawstring.log_files.blocks import LogBlock, read_blocks
from drawstring.log_files.decode import DATA_BLOCKS, data_records
from drawstring_conformance.vectors import load_case
from drawstring_spec.log_format import BlockType, HeaderKey
from drawstring_spec.names import LogFileName
from drawstring_spec.payloads import SCHEMAS


@pytest.fixture(scope="session")
def golden_blocks(golden_log_files) -> list[tuple[str, LogBlock]]:
    return [(name, block) for name, raw in golden_log_files for block in read_blocks(memoryview(raw), path=name)]


def of_type(blocks, kind) -> list[tuple[str, LogBlock]]:
    found = [(name, block) for name, block in blocks if block.type is kind]
    assert found, kind
    return found


def file_name(path: str) -> LogFileName:
    return LogFileName.parse(path.rpartition("/")[2])


def counted(content: memoryview) -> list[bytes]:
    """Records of an Avro block: version 3, a count, then four bytes of length before each record."""
    version, count = struct.unpack_from(">ii", content)
    assert version == 3
    records, position = [], 8
    for _ in range(count):
        (length,) = struct.unpack_from(">i", content, position)
        records.append(bytes(content[position + 4 : position + 4 + length]))
        position += 4 + length
    assert position == len(content), "nothing is left, nothing is missing"
    return records


def deleted(content: memoryview) -> list[dict]:
    version, length = struct.unpack_from(">ii", content)
    assert (version, length) == (3, len(content) - 8)
    reader = fastavro.parse_schema(SCHEMAS["HoodieDeleteRecordList"])
    return fastavro.schemaless_reader(io.BytesIO(content[8:]), reader, None)["deleteRecordList"]


def test_a_block_bears_the_time_of_the_operation_that_its_files_name_bears(golden_blocks):
    for name, block in golden_blocks:
        if block.type is not BlockType.COMMAND:
            assert block.instant_time == file_name(name).requested_time, name


def test_header_keys_are_those_numbered_from_nought(golden_blocks):
    used = {key for _, block in golden_blocks for key in block.header}
    assert HeaderKey.INSTANT_TIME == 0
    assert HeaderKey.BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS in used
    assert used <= set(HeaderKey)


def test_the_schema_of_a_block_is_avro_json(golden_blocks):
    for _, block in golden_blocks:
        if block.type in (BlockType.AVRO_DATA, BlockType.PARQUET_DATA, BlockType.HFILE_DATA, BlockType.CDC):
            assert json.loads(block.header[HeaderKey.SCHEMA])["type"] == "record"


def test_java_writes_no_block_identifier(golden_blocks):
    assert not [name for name, block in golden_blocks if HeaderKey.BLOCK_IDENTIFIER in block.header]


def test_records_of_an_avro_block_have_lengths_of_four_bytes(golden_blocks):
    for _, block in of_type(golden_blocks, BlockType.AVRO_DATA):
        schema = fastavro.parse_schema(json.loads(block.header[HeaderKey.SCHEMA]))
        for record in counted(block.content):
            stream = io.BytesIO(record)
            fastavro.schemaless_reader(stream, schema, None)
            assert stream.tell() == len(record)


def test_a_delete_block_is_an_avro_list_behind_a_length_of_four_bytes(golden_blocks):
    entries = [entry for _, block in of_type(golden_blocks, BlockType.DELETE) for entry in deleted(block.content)]
    assert entries
    assert all(entry["recordKey"] is not None for entry in entries)


@pytest.mark.parametrize(
    ("table", "values"),
    [("mor_basic", {0}), ("bucket_index_simple_mor", {0}), ("mor_event_time_ordering", {0, 7, 2085})],
)
def test_the_delete_operation_writes_nought_and_a_marked_row_its_own_ordering_value(table, values):
    found = {
        entry["orderingVal"]["value"]
        for path, raw in load_case(table).read_files()
        if ".log." in path and not path.startswith(".hoodie/")
        for block in read_blocks(memoryview(raw), path=path)
        if block.type is BlockType.DELETE
        for entry in deleted(block.content)
    }
    assert found == values


def test_a_parquet_block_is_a_whole_parquet_file(golden_blocks):
    for _, block in of_type(golden_blocks, BlockType.PARQUET_DATA):
        assert bytes(block.content[:4]) == bytes(block.content[-4:]) == b"PAR1"


def test_an_hfile_block_is_a_whole_hfile(golden_blocks):
    for _, block in of_type(golden_blocks, BlockType.HFILE_DATA):
        assert bytes(block.content[-4:]) == b"\x03\x00\x00\x03"
        assert b'TRABLK"$' in bytes(block.content[-4096:])


def test_no_rollback_appended_a_command_block(golden_blocks):
    assert not [name for name, block in golden_blocks if block.type is BlockType.COMMAND]


def test_a_corrupt_block_is_never_written(golden_blocks):
    assert not [name for name, block in golden_blocks if block.type is BlockType.CORRUPT]


def test_positions_are_one_bitmap_with_a_position_for_each_record(golden_blocks):
    judged = 0
    for _, block in golden_blocks:
        if HeaderKey.RECORD_POSITIONS in block.header:
            judged += 1
            bitmap = BitMap64.deserialize(base64.b64decode(block.header[HeaderKey.RECORD_POSITIONS]))
            records = deleted(block.content) if block.type is BlockType.DELETE else data_records(block)
            assert len(bitmap) == len(records)
            assert HeaderKey.BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS in block.header
    assert judged > 50


@pytest.mark.parametrize("table", ["bucket_index_simple_mor", "index_record_mor", "mor_log_compaction"])
def test_some_writers_know_no_positions(table, golden_blocks):
    own = [
        block
        for path, raw in load_case(table).read_files()
        if ".log." in path and not path.startswith(".hoodie/")
        for block in read_blocks(memoryview(raw), path=path)
        if table != "mor_log_compaction" or HeaderKey.COMPACTED_BLOCK_TIMES in block.header
    ]
    assert own
    assert not [block for block in own if HeaderKey.RECORD_POSITIONS in block.header]


@pytest.mark.parametrize("first", [0, 1])
def test_columns_that_are_asked_for_are_those_that_all_columns_have(first, golden_blocks):
    kinds = {}
    for name, block in golden_blocks:
        # The metadata table's own records have unions, which no table's columns have.
        if block.type in DATA_BLOCKS and not name.startswith(".hoodie/"):
            kinds.setdefault((block.type, block.header[HeaderKey.SCHEMA]), block)
    assert {kind for kind, _ in kinds} == DATA_BLOCKS - {BlockType.HFILE_DATA}
    for block in kinds.values():
        everything = data_records(block)
        wanted = everything.column_names[first::2]
        assert data_records(block, {*wanted, "no such column"}).equals(everything.select(wanted))


def test_a_partial_block_has_only_the_columns_that_were_assigned(golden_blocks):
    partial = [block for _, block in golden_blocks if block.header.get(HeaderKey.IS_PARTIAL) == "true"]
    assert partial
    for block in partial:
        names = [field["name"] for field in json.loads(block.header[HeaderKey.SCHEMA])["fields"]]
        assert names[2] == "_hoodie_record_key"
        assert "id" not in names


def test_a_log_compaction_names_the_times_that_it_merged_newest_first(golden_blocks):
    merged = [
        (name, block.header[HeaderKey.COMPACTED_BLOCK_TIMES].split(","))
        for name, block in golden_blocks
        if HeaderKey.COMPACTED_BLOCK_TIMES in block.header
    ]
    assert merged
    for name, times in merged:
        assert times == sorted(times, reverse=True)
        assert max(times) < file_name(name).requested_time


def test_in_log_records_the_file_name_is_the_file_id(golden_blocks):
    judged = 0
    for name, block in of_type(golden_blocks, BlockType.AVRO_DATA):
        records = data_records(block)
        if "_hoodie_file_name" in records.column_names and ".hoodie/" not in name:
            found = set(records["_hoodie_file_name"].to_pylist()) - {None}
            judged += len(found)
            assert found <= {file_name(name).file_id}
    assert judged > 0


@pytest.mark.parametrize(
    ("table", "fields"),
    [
        ("cdc_op_key_only", ["op", "record_key"]),
        ("cdc_data_before", ["op", "record_key", "before"]),
        ("cdc_data_before_after", ["op", "ts_ms", "before", "after"]),
    ],
)
def test_the_fields_of_a_change_depend_on_the_logging_mode(table, fields):
    blocks = [
        block
        for path, raw in load_case(table).read_files()
        if path.endswith(".cdc")
        for block in read_blocks(memoryview(raw), path=path)
    ]
    assert {block.type for block in blocks} == {BlockType.CDC}
    for block in blocks:
        schema = json.loads(block.header[HeaderKey.SCHEMA])
        assert [field["name"] for field in schema["fields"]] == fields
        parsed = fastavro.parse_schema(schema)
        changes = [fastavro.schemaless_reader(io.BytesIO(raw), parsed, None) for raw in counted(block.content)]
        assert {change["op"] for change in changes} <= {"i", "u", "d"}
        keys = [change["record_key"] for change in changes if "record_key" in change]
        assert len(keys) == len(set(keys)), "one change of a key in a commit"
