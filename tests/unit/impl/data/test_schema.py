from __future__ import annotations

import io
import json

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given

from drawstring.data.schema import (
    arrow_to_avro,
    avro_to_arrow,
    canonical_avro,
    parse_avro,
    record_name,
    with_meta_fields,
    without_meta_fields,
)
from drawstring.data.types import MAX_DEPTH, hudi_schema
from drawstring.errors import FormatError, SchemaError
from unit.impl.data.golden_base_files import CASES, base_files
from unit.impl.data.strategies import SCHEMAS


def avro_of(*fields: pa.Field) -> list[dict]:
    return arrow_to_avro(pa.schema(fields), name="t_record", namespace="hoodie.t")["fields"]


@given(SCHEMAS)
def test_a_schema_survives_the_way_to_avro_and_back(schema):
    avro = arrow_to_avro(schema, name="t_record", namespace="hoodie.t")
    assert avro_to_arrow(avro).equals(schema)


@given(SCHEMAS)
def test_every_schema_is_one_that_an_avro_library_takes(schema):
    fastavro.parse_schema(arrow_to_avro(schema, name="t_record", namespace="hoodie.t"))


@pytest.mark.parametrize("case", CASES)
def test_schemas_of_java_files_come_out_as_java_wrote_them(case):
    name, namespace = record_name(f"t_{case}")
    seen = 0
    for path, content in base_files(case):
        text = pq.read_metadata(io.BytesIO(content)).metadata.get(b"parquet.avro.schema")
        if text is None:
            continue  # Written by Spark's row writer, which leaves no Avro schema.
        java = json.loads(text)
        own = without_meta_fields(java)
        assert with_meta_fields(arrow_to_avro(avro_to_arrow(own), name=name, namespace=namespace)) == java, path
        seen += 1
    assert seen


def test_a_nullable_field_is_a_union_with_null_first_and_null_as_its_default():
    assert avro_of(pa.field("a", pa.int64())) == [{"name": "a", "type": ["null", "long"], "default": None}]


def test_a_field_without_nulls_is_the_plain_type():
    assert avro_of(pa.field("a", pa.int64(), nullable=False)) == [{"name": "a", "type": "long"}]


@pytest.mark.parametrize(("precision", "size"), [(1, 1), (2, 1), (3, 2), (9, 4), (10, 5), (18, 8), (19, 9), (38, 16)])
def test_a_decimal_takes_the_fewest_bytes_that_hold_its_digits(precision, size):
    (field,) = avro_of(pa.field("a", pa.decimal128(precision, 1)))
    assert field["type"][1]["size"] == size


@pytest.mark.parametrize(
    ("given_type", "becomes"),
    [
        (pa.int8(), pa.int32()),
        (pa.uint16(), pa.int32()),
        (pa.uint32(), pa.int64()),
        (pa.large_string(), pa.string()),
        (pa.string_view(), pa.string()),
        (pa.dictionary(pa.int8(), pa.string()), pa.string()),
        (pa.large_binary(), pa.binary()),
        (pa.date64(), pa.date32()),
        (pa.timestamp("ns", "Europe/Berlin"), pa.timestamp("us", "UTC")),
        (pa.timestamp("s"), pa.timestamp("ms")),
        (pa.large_list(pa.int16()), pa.list_(pa.field("element", pa.int32()))),
        (pa.list_(pa.int64(), 3), pa.list_(pa.field("element", pa.int64()))),
    ],
)
def test_a_type_that_hudi_has_not_becomes_one_that_holds_its_values(given_type, becomes):
    assert hudi_schema(pa.schema([("a", given_type)])).field("a").type == becomes


@pytest.mark.parametrize(
    "kind",
    [
        pa.uint64(),
        pa.float16(),
        pa.duration("s"),
        pa.time64("ns"),
        pa.decimal256(40, 2),
        pa.null(),
        pa.month_day_nano_interval(),
        pa.dense_union([pa.field("x", pa.int32())]),
        pa.map_(pa.int32(), pa.string()),
        pa.struct([]),
    ],
)
def test_a_type_without_a_mapping_is_refused_with_the_columns_path_and_a_way_out(kind):
    nested = pa.struct([pa.field("inner", pa.list_(kind))])
    with pytest.raises(SchemaError, match=r"outer\.inner\.element") as caught:
        hudi_schema(pa.schema([("outer", nested)]))
    assert caught.value.way_out


@pytest.mark.parametrize("name", ["", "1a", "a b", "a.b", "ä", "a-b"])
def test_a_name_that_avro_does_not_allow_is_refused(name):
    with pytest.raises(SchemaError, match="name"):
        hudi_schema(pa.schema([(name, pa.int32())]))


def test_two_columns_of_one_name_are_refused():
    with pytest.raises(SchemaError, match="twice"):
        hudi_schema(pa.schema([("a", pa.int32()), ("a", pa.int64())]))


def test_table_names_are_masked_as_java_masks_them():
    assert record_name("my-table.v1") == ("my__table__v1_record", "hoodie.my__table__v1")
    assert record_name("1st") == ("__st_record", "hoodie.__st")


def test_enums_and_uuids_are_read_as_text():
    schema = {
        "type": "record",
        "name": "r",
        "fields": [
            {"name": "e", "type": {"type": "enum", "name": "colour", "symbols": ["RED"]}},
            {"name": "u", "type": ["null", {"type": "string", "logicalType": "uuid"}]},
        ],
    }
    assert avro_to_arrow(schema).types == [pa.string(), pa.string()]


def test_a_decimal_of_bytes_is_read_as_a_decimal():
    decimal = {"type": "bytes", "logicalType": "decimal", "precision": 7, "scale": 3}
    schema = {"type": "record", "name": "r", "fields": [{"name": "d", "type": decimal}]}
    assert avro_to_arrow(schema).field("d").type == pa.decimal128(7, 3)


def test_a_named_type_may_be_referred_to_after_its_definition():
    inner = {"type": "record", "name": "point", "namespace": "n", "fields": [{"name": "x", "type": "int"}]}
    schema = {
        "type": "record",
        "name": "r",
        "fields": [{"name": "a", "type": inner}, {"name": "b", "type": ["null", "n.point"]}],
    }
    arrow = avro_to_arrow(schema)
    assert arrow.field("a").type == arrow.field("b").type


def test_a_recursive_schema_is_refused():
    schema = {"type": "record", "name": "r", "fields": [{"name": "next", "type": ["null", "r"]}]}
    with pytest.raises(FormatError, match="not defined"):
        avro_to_arrow(schema)


def test_an_endless_nesting_is_refused():
    kind: object = "int"
    for _ in range(MAX_DEPTH + 1):
        kind = {"type": "array", "items": kind}
    with pytest.raises(FormatError, match="levels deep"):
        avro_to_arrow({"type": "record", "name": "r", "fields": [{"name": "a", "type": kind}]})


@pytest.mark.parametrize(
    "kind",
    [
        ["int", "string"],
        [],
        7,
        {"type": "fixed", "name": "f", "size": -1},
        {"type": "fixed", "name": "f", "size": "x"},
        {"type": "bytes", "logicalType": "decimal", "precision": 99},
        {"type": "bytes", "logicalType": "decimal", "precision": 3, "scale": 4},
        {"type": "record", "name": "x"},
        {"type": "record", "name": "x", "fields": [3]},
    ],
)
def test_a_damaged_schema_is_refused(kind):
    with pytest.raises(FormatError):
        avro_to_arrow({"type": "record", "name": "r", "fields": [{"name": "a", "type": kind}]})


@pytest.mark.parametrize("text", ["", "{", "[]", '"string"', '{"type": "enum"}'])
def test_text_that_is_no_record_is_refused(text):
    with pytest.raises(FormatError):
        parse_avro(text)


def test_canonical_form_puts_null_first_and_keeps_everything_else():
    kind = {"type": "array", "items": [{"type": "enum", "name": "e", "symbols": ["A"]}, "null"]}
    given_schema = {"type": "record", "name": "r", "fields": [{"name": "a", "type": [kind, "null"], "doc": "d"}]}
    assert canonical_avro(given_schema)["fields"] == [
        {
            "name": "a",
            "type": ["null", {"type": "array", "items": ["null", {"type": "enum", "name": "e", "symbols": ["A"]}]}],
            "doc": "d",
            "default": None,
        }
    ]
