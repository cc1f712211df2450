"""JSON that is no Avro schema is refused before a library sees it; so is one that grows without bound."""

from __future__ import annotations

import json

import pytest

from drawstring.data.schema import avro_to_arrow, parse_avro
from drawstring.errors import FormatError


def record(*fields: dict, **more: object) -> dict:
    return {"type": "record", "name": "r", "fields": list(fields), **more}


def field(kind: object, name: object = "a") -> dict:
    return {"name": name, "type": kind}


NO_SCHEMAS = {
    "a number as a type": record(field(1)),
    "no type": record({"name": "a"}),
    "an empty union": record(field([])),
    "a name with a NUL": record(field("int", "a\0b")),
    "half of a surrogate pair": record(field("int", "\ud800")),
    "a name that is a number": record(field("int", 5)),
    "two fields of one name": record(field("int"), field("long")),
    "a list of types for a logical type": record(field({"type": "int", "logicalType": ["date"]})),
    "an enum without symbols": record(field({"type": "enum", "name": "e"})),
    "an enum of numbers": record(field({"type": "enum", "name": "e", "symbols": [1]})),
    "an array without items": record(field({"type": "array"})),
    "an array of items without bytes": record(field({"type": "array", "items": record(name="i")})),
    "a fixed type without bytes": record(field({"type": "fixed", "name": "f", "size": 0})),
    "a field that is none": {"type": "record", "name": "r", "fields": [{"name": "a", "type": record(1)}]},
}  # fmt: skip


@pytest.mark.parametrize("schema", NO_SCHEMAS.values(), ids=NO_SCHEMAS.keys())
def test_what_is_no_schema_is_refused(schema):
    with pytest.raises(FormatError):
        parse_avro(json.dumps(schema))


def test_a_schema_that_doubles_with_each_reference_is_refused():
    kind: object = "int"
    for level in range(40):
        both = {"type": "record", "name": f"r{level}", "fields": [field(kind, "a"), field(f"r{level - 1}", "b")]}
        kind = both if level else record(field("int"), name="r0")
    with pytest.raises(FormatError, match="more than"):
        parse_avro(json.dumps(record(field(kind))))


def test_a_table_without_columns_has_a_schema():
    assert len(avro_to_arrow(parse_avro(json.dumps(record())))) == 0


@pytest.mark.parametrize("kind", ["null", {"type": "null"}, {"type": "array", "items": "null"}])
def test_values_that_take_no_bytes_are_refused(kind):
    with pytest.raises(FormatError, match="null"):
        parse_avro(json.dumps(record(field(kind))))


def test_a_schema_that_refers_to_itself_is_refused():
    with pytest.raises(FormatError, match="not defined before"):
        parse_avro(json.dumps(record(field(["null", "r"]))))
