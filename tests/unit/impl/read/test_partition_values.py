"""Partition columns take their values from the path, as Spark takes them."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawstring.errors import CorruptFileError
from drawstring.read.partition_values import fields_as_text, fields_from_file, partition_values
from drawstring_spec.key_generators import KeyGenerator
from drawstring_spec.partition_paths import escape
from unit.impl.read.tables import HandMadeTable

CONFIG = HandMadeTable().context().config


def values(path, *, fields=("p",), kind=None, **changes):
    schema = pa.schema([(field, kind or pa.string()) for field in fields])
    found = partition_values(replace(CONFIG, partition_fields=fields, **changes), schema, path)
    return {name: scalar.as_py() for name, scalar in found.items()}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("x", "x"),
        ("p=x", "x"),
        ("c=d", "d"),
        ("a%2Fb", "a/b"),
        ("50%", "50%"),
        ("e f", "e f"),
        ("日本", "日本"),
        ("p=__HIVE_DEFAULT_PARTITION__", None),
        ("__HIVE_DEFAULT_PARTITION__", None),
        ("p=a=b", "a=b"),
        ("2024/01/02", "2024/01/02"),
        ("p=2024/01/02", "2024/01/02"),
    ],
)
def test_a_folder_gives_the_value_that_java_returned(path, value):
    assert values(path) == {"p": value}


def test_several_columns_take_the_folders_in_their_order():
    assert values("b/c1", fields=("x", "y")) == {"x": "b", "y": "c1"}
    assert values("x=b/y=c1", fields=("x", "y")) == {"x": "b", "y": "c1"}


def test_folders_that_do_not_match_several_columns_decide_nothing():
    assert values("a/b/c", fields=("x", "y")) == {}


def test_the_base_folder_decides_nothing():
    assert values("") == {}


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (pa.int32(), "-7", -7),
        (pa.int64(), "1700000000000", 1700000000000),
        (pa.bool_(), "true", True),
        (pa.float64(), "1.5", 1.5),
        (pa.date32(), "2024-02-29", date(2024, 2, 29)),
        (pa.decimal128(10, 2), "1.25", Decimal("1.25")),
    ],
)
def test_a_value_has_its_columns_type(kind, text, value):
    assert values(text, kind=kind) == {"p": value}


@pytest.mark.parametrize("kind", [pa.int32(), pa.bool_(), pa.date32()])
def test_a_folder_that_is_no_value_of_its_column_is_named(kind):
    with pytest.raises(CorruptFileError, match=r"'p=abc'.*'p'"):
        values("p=abc", kind=kind)


@pytest.mark.parametrize("kind", [pa.timestamp("us", "UTC"), pa.binary()])
def test_a_column_without_a_text_form_is_read_from_the_file(kind):
    assert values("x", kind=kind) == {}


def test_a_formatted_timestamp_is_read_from_the_file():
    assert values("2023/11/14", key_generator=KeyGenerator.TIMESTAMP) == {}
    assert fields_from_file(replace(CONFIG, key_generator=KeyGenerator.TIMESTAMP)) == ("day",)


def test_of_a_custom_key_generator_only_the_formatted_timestamps_are_read_from_the_file():
    changes = {"key_generator": KeyGenerator.CUSTOM, "partition_types": ("SIMPLE", "TIMESTAMP")}
    assert values("a/2023", fields=("x", "y"), **changes) == {"x": "a"}


def test_of_a_custom_key_generator_without_types_all_columns_are_read_from_the_file():
    assert values("a/2023", fields=("x", "y"), key_generator=KeyGenerator.CUSTOM) == {}


def test_the_ordering_field_is_read_from_the_file_though_it_is_a_partition_column():
    assert values("a/b", fields=("x", "y"), ordering_field="y") == {"x": "a"}


@pytest.mark.parametrize("properties", [{}, {"hoodie.keygen.timebased.timestamp.type": "DATE_STRING"}])
def test_columns_that_writers_left_out_of_the_files_have_the_folders_names(properties):
    left_out = {"drop_partition_columns": True, "properties": properties}
    assert values("a/b", fields=("x", "y"), ordering_field="y", **left_out) == {"x": "a", "y": "b"}
    timed = {"key_generator": KeyGenerator.TIMESTAMP, "kind": pa.int64(), **left_out}
    assert values("d=20231114", fields=("d",), **timed) == {"d": "20231114"}


def test_a_column_of_formatted_numbers_that_was_left_out_has_the_whole_path():
    properties = {"hoodie.keygen.timebased.timestamp.type": "EPOCHMILLISECONDS"}
    timed = {"key_generator": KeyGenerator.TIMESTAMP, "drop_partition_columns": True, "properties": properties}
    assert values("d=20231114", fields=("d",), **timed) == {"d": "d=20231114"}


def test_only_a_timestamp_key_generators_columns_come_back_as_text():
    custom = replace(CONFIG, key_generator=KeyGenerator.CUSTOM, partition_fields=("x",), partition_types=("TIMESTAMP",))
    assert fields_as_text(custom) == ()
    assert fields_as_text(replace(CONFIG, key_generator=KeyGenerator.TIMESTAMP)) == ("day",)


@given(st.text(min_size=1).filter(lambda text: text not in {".", ".."} and not text.isspace()))
def test_an_escaped_value_comes_back(text):
    assert values("p=" + escape(text)) == {"p": text}
