"""Blocks of log files: those that Java wrote, and those that nobody should have."""

from __future__ import annotations

import contextlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawstring.errors import CorruptFileError
from drawstring.log_files.blocks import read_blocks
from drawstring_spec.log_format import MAGIC, BlockType, HeaderKey


def block(block_type=BlockType.AVRO_DATA, header=None, content=b"content", version=1) -> bytes:
    entries = header if header is not None else {HeaderKey.INSTANT_TIME: "20240101000000000"}
    body = struct.pack(">iii", version, block_type, len(entries))
    for key, value in entries.items():
        text = value.encode()
        body += struct.pack(">ii", key, len(text)) + text
    body += struct.pack(">q", len(content)) + content + struct.pack(">i", 0)
    return MAGIC + struct.pack(">q", len(body) + 8) + body + struct.pack(">q", len(body) + 8 + 6)


def blocks(raw: bytes):
    return list(read_blocks(memoryview(raw), path="f.log.1_0-0-0"))


def test_blocks_come_in_the_order_of_the_file():
    found = blocks(block(content=b"1") + block(BlockType.DELETE, content=b"22"))
    assert [(b.type, bytes(b.content)) for b in found] == [(BlockType.AVRO_DATA, b"1"), (BlockType.DELETE, b"22")]


def test_a_header_is_read_by_key():
    (found,) = blocks(block(header={HeaderKey.INSTANT_TIME: "1", HeaderKey.IS_PARTIAL: "true"}))
    assert (found.instant_time, found.header[HeaderKey.IS_PARTIAL]) == ("1", "true")


def test_an_empty_file_has_no_blocks():
    assert blocks(b"") == []


def test_a_block_that_was_cut_off_is_corrupt():
    raw = block() + block()[:-3]
    assert [b.type for b in blocks(raw)] == [BlockType.AVRO_DATA, BlockType.CORRUPT]


def test_reading_goes_on_behind_a_corrupt_block():
    raw = block() + block()[:-3] + block(content=b"last")
    found = blocks(raw)
    assert [b.type for b in found] == [BlockType.AVRO_DATA, BlockType.CORRUPT, BlockType.AVRO_DATA]
    assert bytes(found[-1].content) == b"last"


def test_blocks_cover_the_file_without_gaps():
    raw = block() + block()[:-3] + block()
    found = blocks(raw)
    assert [b.offset for b in found[1:]] + [len(raw)] == [b.offset + b.size for b in found]


def test_a_file_that_is_no_log_file_is_refused():
    with pytest.raises(CorruptFileError, match="byte 0"):
        blocks(b"PAR1 and more")


def test_a_length_that_the_file_does_not_have_makes_the_block_corrupt():
    raw = bytearray(block())
    raw[6:14] = struct.pack(">q", 2**62)
    assert [b.type for b in blocks(bytes(raw))] == [BlockType.CORRUPT]


def test_a_header_that_claims_too_much_is_refused():
    raw = bytearray(block())
    raw[22:26] = struct.pack(">i", 2**31 - 1)
    with pytest.raises(CorruptFileError, match="claims more"):
        blocks(bytes(raw))


def test_an_unknown_type_is_refused_by_number():
    with pytest.raises(CorruptFileError, match="type 99"):
        blocks(block(99))


def test_another_version_is_refused_by_number():
    with pytest.raises(CorruptFileError, match="version 2"):
        blocks(block(version=2))


@given(st.data())
def test_damaged_files_end_in_blocks_or_in_a_named_error(data):
    raw = bytearray(block() + block(BlockType.DELETE) + block(BlockType.COMMAND, content=b""))
    for _ in range(data.draw(st.integers(1, 4))):
        position = data.draw(st.integers(0, len(raw) - 1))
        raw[position] = data.draw(st.integers(0, 255))
    raw = raw[: data.draw(st.integers(0, len(raw)))]
    with contextlib.suppress(CorruptFileError):  # any other exception fails the test
        found = blocks(bytes(raw))
        assert sum(b.size for b in found) == len(raw)


def test_every_block_of_the_golden_tables_is_read(golden_log_files):
    read = 0
    for name, raw in golden_log_files:
        found = list(read_blocks(memoryview(raw), path=name))
        assert BlockType.CORRUPT not in {b.type for b in found}, name
        assert all(b.instant_time for b in found), name
        read += len(found)
    assert read > 1000
