from __future__ import annotations

import datetime as dt
import io
from dataclasses import dataclass
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawstring.data.record_keys import record_keys
from drawstring.errors import RecordKeyError, UnsupportedTableError
from drawstring_spec.key_generators import KeyGenerator
from unit.impl.data.golden_base_files import base_files


@dataclass(frozen=True)
class Config:
    record_key_fields: tuple[str, ...]
    key_generator: KeyGenerator = KeyGenerator.COMPLEX


TEXTS = st.one_of(st.none(), st.text(max_size=4))


def key_of(row: dict[str, object]) -> str:
    """One row's key, spelt out as Java's ``KeyGenUtils`` does."""
    shown = {None: "__null__", "": "__empty__"}
    return ",".join(f"{name}:{shown.get(value, value)}" for name, value in row.items())


@given(st.lists(st.tuples(TEXTS, TEXTS, st.integers(-5, 5)), max_size=20))
def test_a_key_of_several_fields_is_what_one_row_at_a_time_gives(rows):
    table = pa.table(
        {
            "a": pa.array([r[0] for r in rows], pa.string()),
            "b": pa.array([r[1] for r in rows], pa.string()),
            "n": pa.array([r[2] for r in rows], pa.int32()),
        }
    )
    assert record_keys(table, Config(("a", "b", "n"))).to_pylist() == [key_of(row) for row in table.to_pylist()]


@pytest.mark.parametrize("generator", [KeyGenerator.SIMPLE, KeyGenerator.COMPLEX, KeyGenerator.NON_PARTITION_AVRO])
def test_a_key_of_one_field_is_its_plain_value(generator):
    keys = record_keys(pa.table({"a": ["x:1,y", "b"]}), Config(("a",), generator))
    assert keys.to_pylist() == ["x:1,y", "b"]


@pytest.mark.parametrize(
    ("values", "kind", "texts"),
    [
        ([True, False], pa.bool_(), ["true", "false"]),
        ([-7, 2**31 - 1], pa.int32(), ["-7", "2147483647"]),
        ([dt.date(1, 1, 1), dt.date(2024, 2, 29)], pa.date32(), ["0001-01-01", "2024-02-29"]),
        ([1_700_000_000_123_456], pa.timestamp("us", "UTC"), ["1700000000123456"]),
        ([1_700_000_000_123], pa.timestamp("ms"), ["1700000000123"]),
        ([Decimal("1.50"), Decimal("-0.05")], pa.decimal128(5, 2), ["1.50", "-0.05"]),
        ([Decimal("0.0000001"), Decimal(0)], pa.decimal128(20, 7), ["1E-7", "0E-7"]),
    ],
)
def test_values_are_written_as_java_writes_them(values, kind, texts):
    assert record_keys(pa.table({"a": pa.array(values, kind)}), Config(("a",))).to_pylist() == texts


def test_a_dictionary_column_makes_the_same_keys():
    plain = pa.array(["x", "y", "x"])
    assert record_keys(pa.table({"a": plain.dictionary_encode()}), Config(("a",))).equals(plain)


def test_a_dotted_field_leads_into_a_struct():
    table = pa.table({"s": [{"id": 1}, {"id": 2}]})
    assert record_keys(table, Config(("s.id",))).to_pylist() == ["1", "2"]


@pytest.mark.parametrize("missing", [None, ""])
def test_missing_keys_are_refused_with_their_number_and_the_first_row(missing):
    with pytest.raises(RecordKeyError, match=r"2 rows.*first is row 1"):
        record_keys(pa.table({"a": pa.array(["x", missing, missing])}), Config(("a",)))


def test_a_key_all_of_whose_fields_are_missing_is_refused():
    table = pa.table({"a": pa.array(["x", None, ""]), "b": pa.array([None, None, None], pa.string())})
    with pytest.raises(RecordKeyError, match=r"2 rows.*first is row 1"):
        record_keys(table, Config(("a", "b")))


@pytest.mark.parametrize("values", [[1.5], [b"x"], [[1]], [{"x": 1}]])
def test_values_that_have_no_agreed_text_are_refused(values):
    with pytest.raises(RecordKeyError, match="'a'"):
        record_keys(pa.table({"a": values}), Config(("a",)))


def test_a_date_that_java_writes_with_more_than_four_digits_is_refused():
    with pytest.raises(RecordKeyError, match="years"):
        record_keys(pa.table({"a": pa.array([4_000_000], pa.date32())}), Config(("a",)))


@pytest.mark.parametrize("generator", [KeyGenerator.TIMESTAMP, KeyGenerator.CUSTOM, KeyGenerator.GLOBAL_DELETE])
def test_a_key_generator_that_is_not_supported_is_refused_by_name(generator):
    with pytest.raises(UnsupportedTableError, match=generator.value):
        record_keys(pa.table({"a": ["x"]}), Config(("a",), generator))


@pytest.mark.parametrize("fields", [("b",), ("a.b",), ("s.b",)])
def test_a_field_that_is_not_there_is_refused(fields):
    with pytest.raises(RecordKeyError):
        record_keys(pa.table({"a": ["x"], "s": [{"c": 1}]}), Config(fields))


@pytest.mark.parametrize(
    ("case", "fields"),
    [
        ("keygen_complex", ("id", "k2")),
        ("keygen_key_special_chars", ("id", "cat")),
        ("cow_event_time_ordering", ("id",)),
    ],
)
def test_keys_of_java_files_are_made_again(case, fields):
    for path, content in base_files(case):
        table = pq.read_table(io.BytesIO(content))
        assert record_keys(table, Config(fields)).equals(table["_hoodie_record_key"].combine_chunks()), path
