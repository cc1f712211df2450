"""Timeline containers: what is written is read, as Java frames it; what is broken is refused."""

from __future__ import annotations

import contextlib
import io

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawstring.codec import avro_container
from drawstring.errors import CorruptFileError

SYNC = bytes(range(16))
RECORD = {
    "startRollbackTime": "20240101000000000",
    "timeTakenInMillis": 7,
    "totalFilesDeleted": 0,
    "commitsRollback": ["20240101000000000"],
    "partitionMetadata": {},
    "version": 1,
    "instantsRollback": [],
}
CONTENT = avro_container.encode("HoodieRollbackMetadata", RECORD, sync_marker=SYNC)


def test_a_record_comes_back_as_it_was_written():
    assert avro_container.decode(CONTENT, path="p") == RECORD


def test_the_container_has_the_schema_as_its_only_entry_as_java_writes_it():
    reader = fastavro.reader(io.BytesIO(CONTENT))
    assert list(reader.metadata) == ["avro.schema"]


@given(st.integers(min_value=0, max_value=len(CONTENT) - 1))
def test_a_truncated_file_is_refused_by_name(length):
    with pytest.raises(CorruptFileError, match="some/path"):
        avro_container.decode(CONTENT[:length], path="some/path")


@given(st.integers(min_value=0, max_value=len(CONTENT) * 8 - 1))
def test_a_flipped_bit_ends_in_a_record_or_in_a_named_error(bit):
    damaged = bytearray(CONTENT)
    damaged[bit // 8] ^= 1 << (bit % 8)
    with contextlib.suppress(CorruptFileError):  # any other exception fails the test
        assert isinstance(avro_container.decode(bytes(damaged), path="p"), dict)


def container(schema, record) -> bytes:
    out = io.BytesIO()
    fastavro.writer(out, schema, [record], codec="null")
    return out.getvalue()


def test_an_array_that_claims_any_length_without_a_byte_is_refused():
    schema = {"type": "record", "name": "r", "fields": [{"name": "a", "type": {"type": "array", "items": "null"}}]}
    with pytest.raises(CorruptFileError, match="null"):
        avro_container.decode(container(schema, {"a": [None] * 9}), path="p")


def test_a_compressed_container_is_refused():
    out = io.BytesIO()
    schema = {"type": "record", "name": "r", "fields": [{"name": "a", "type": "int"}]}
    fastavro.writer(out, schema, [{"a": 1}], codec="deflate")
    with pytest.raises(CorruptFileError, match="deflate"):
        avro_container.decode(out.getvalue(), path="p")


@pytest.mark.parametrize("count", [0, 2])
def test_a_container_with_another_number_of_records_is_refused(count):
    out = io.BytesIO()
    schema = {"type": "record", "name": "r", "fields": [{"name": "a", "type": "int"}]}
    fastavro.writer(out, schema, [{"a": 1}] * count, codec="null")
    with pytest.raises(CorruptFileError, match=str(count)):
        avro_container.decode(out.getvalue(), path="p")


def test_a_schema_whose_record_contains_itself_does_not_end_the_process():
    schema = {
        "type": "record",
        "name": "r",
        "fields": [{"name": "next", "type": ["null", "r"]}],
    }
    shallow = container(schema, {"next": None})
    # One byte a level: what follows the schema is a chain that overflows the stack of a decoder in native code.
    deep = shallow.replace(b"\x02\x02\x00", b"\x02" + zigzag(100_001) + b"\x02" * 100_000 + b"\x00")
    assert len(deep) > 100_000
    for content in (shallow, deep):
        with pytest.raises(CorruptFileError, match="not defined before"):
            avro_container.decode(content, path="p")


def zigzag(number: int) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, "long", number)
    return out.getvalue()


def test_many_containers_have_the_records_that_each_has():
    other = {**RECORD, "startRollbackTime": "20250101000000000", "totalFilesDeleted": 300}
    contents = [
        CONTENT,
        avro_container.encode("HoodieRollbackMetadata", other, sync_marker=SYNC[::-1]),
        avro_container.encode("HoodieSavepointMetadata", SAVEPOINT, sync_marker=SYNC),
        CONTENT,
    ]
    found = avro_container.decode_many(contents, path="p")
    assert found == [avro_container.decode(content, path="p") for content in contents]
    assert [record.get("totalFilesDeleted") for record in found] == [0, 300, None, 0]


SAVEPOINT = {"savepointedBy": "x", "savepointedAt": 1, "comments": "", "partitionMetadata": {}, "version": 1}


def outcome(read):
    try:
        return read()
    except CorruptFileError as error:
        return str(error)


@pytest.mark.parametrize("position", range(len(CONTENT) - 120, len(CONTENT)))
def test_a_damaged_container_behind_another_is_read_as_it_is_alone(position):
    damaged = CONTENT[:position] + bytes([CONTENT[position] ^ 0x5A]) + CONTENT[position + 1 :]
    together = outcome(lambda: avro_container.decode_many([CONTENT, damaged], path="p")[1])
    assert together == outcome(lambda: avro_container.decode(damaged, path="p"))
