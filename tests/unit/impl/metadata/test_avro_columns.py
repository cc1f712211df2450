"""Records decoded all at once: what one by one gives, and named errors for what is none."""

from __future__ import annotations

import decimal
import io

import fastavro
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawstring.errors import CorruptFileError, FormatError
from drawstring.metadata.avro_columns import decode_records
from drawstring_spec.payloads import SCHEMAS
from unit.impl.metadata.made import encode, stats

SCHEMA = SCHEMAS["HoodieMetadataRecord"]
RECORDS = [
    stats("f1", "n", 1, 2**40),
    stats("f2", "s", "a", "zé", kind="StringWrapper", nulls=3),
    stats("f3", "n", None, None, count=0),
    stats("f4", "x", -1.5, 0.0, kind="DoubleWrapper"),
    {
        "recordIndexMetadata": {
            "partitionName": "p",
            "fileIdHighBits": -(2**63),
            "fileIdLowBits": 2**63 - 1,
            "fileIndex": 0,
            "fileId": "",
            "instantTime": 1,
            "fileIdEncoding": 0,
        }
    },
    {"SecondaryIndexMetadata": {"isDeleted": False}},
]
VALUES = [encode(record) for record in RECORDS]


def decode(values: list[bytes], schema=SCHEMA) -> pa.StructArray:
    return decode_records(schema, pa.array(values, pa.large_binary()), path="f")


def plain(row):
    """A decoded record in the shape that the row-wise decoder gives: the member of a union alone."""
    if isinstance(row, dict) and set(row) and all(name.startswith("member") for name in row):
        chosen = [value for value in row.values() if value is not None]
        return plain(chosen[0]) if chosen else None
    return {key: plain(value) for key, value in row.items()} if isinstance(row, dict) else row


def test_records_are_what_decoding_one_by_one_gives():
    parsed = fastavro.parse_schema(dict(SCHEMA))
    expected = [fastavro.schemaless_reader(io.BytesIO(value), parsed, None) for value in VALUES]
    assert [plain(row) for row in decode(VALUES).to_pylist()] == expected


@given(st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_numbers_of_any_size_are_read(numbers):
    schema = {"type": "record", "name": "r", "fields": [{"name": "n", "type": "long"}]}
    values = []
    for number in numbers:
        body = io.BytesIO()
        fastavro.schemaless_writer(body, fastavro.parse_schema(dict(schema)), {"n": number})
        values.append(body.getvalue())
    assert decode(values, schema).field("n").to_pylist() == numbers


def test_a_decimal_keeps_its_digits():
    body = io.BytesIO()
    fields = [{"name": "d", "type": {"type": "bytes", "logicalType": "decimal", "precision": 30, "scale": 15}}]
    schema = {"type": "record", "name": "r", "fields": fields}
    fastavro.schemaless_writer(body, fastavro.parse_schema(dict(schema)), {"d": decimal.Decimal("-12.5")})
    assert decode([body.getvalue()], schema).field("d").to_pylist() == [decimal.Decimal("-12.5")]


@given(st.data())
def test_damage_ends_in_a_named_error_or_in_records(data):
    values = [bytearray(value) for value in VALUES]
    victim = values[data.draw(st.integers(0, len(values) - 1))]
    for _ in range(data.draw(st.integers(1, 3))):
        victim[data.draw(st.integers(0, len(victim) - 1))] = data.draw(st.integers(0, 255))
    del victim[data.draw(st.integers(1, len(victim))) :]
    try:
        decoded = decode([bytes(value) for value in values])
    except CorruptFileError:
        return
    assert len(decoded) == len(values)


@pytest.mark.parametrize("extra", [b"\x00", b"\xff"])
def test_bytes_behind_a_record_are_refused(extra):
    with pytest.raises(CorruptFileError, match="does not end"):
        decode([VALUES[0] + extra])


@pytest.mark.parametrize("kind", ["nonsense", {"type": "enum", "name": "e", "symbols": []}, 7])
def test_a_type_that_does_not_occur_is_refused(kind):
    with pytest.raises(FormatError):
        decode([], {"type": "record", "name": "r", "fields": [{"name": "n", "type": kind}]})


def test_a_schema_without_an_end_is_refused():
    fields = [{"name": "again", "type": ["null", "r"]}]
    with pytest.raises(FormatError, match="nested"):
        decode([], {"type": "record", "name": "r", "fields": fields})


def test_a_map_where_none_belongs_is_refused():
    listing = {"filesystemMetadata": {"a": {"size": 1, "isDeleted": False}}}
    with pytest.raises(CorruptFileError, match="none belongs"):
        decode([encode(listing)])


def test_a_wrapper_of_each_type_becomes_a_member_of_its_own():
    least = decode([encode(stats("f", "c", 5, 6, kind=k)) for k in ("IntWrapper", "LongWrapper", "DateWrapper")])
    rows = least.field("ColumnStatsMetadata").field("minValue").to_pylist()
    assert [[name for name, value in row.items() if value] for row in rows] == [["member1"], ["member2"], ["member7"]]
