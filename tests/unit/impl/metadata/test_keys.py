"""Keys of the metadata table, against values that Java made."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawstring.metadata import keys
from unit.impl.metadata.made import java_hash


@pytest.mark.parametrize(
    ("text", "expected"), [("", 0), ("hello", 99162322), ("polygenelubricants", -(2**31)), ("\U0001f600", 1772899)]
)
def test_hashes_are_javas(text, expected):
    assert keys.java_hashes(pa.array([text])).tolist() == [expected]


@given(st.lists(st.text(max_size=8), min_size=1), st.integers(1, 12))
def test_every_key_is_in_the_group_that_its_hash_names(texts, groups):
    found = keys.file_group_indexes(pa.array(texts, pa.string()), groups)
    assert found.tolist() == [java_hash(text) % groups for text in texts]


def test_hashed_names_are_those_of_a_table_that_java_wrote():
    assert keys.hashed_name("part") + keys.hashed_name("a") == "+WGrmgkN3io=BFHqp2KLzrM="
    name = "2cd56649-f0d5-4369-a29b-026f205eb13f-0_0-6571-8943_20261121034015847.parquet"
    assert keys.hashed_file(name) == "jsbEEsrpsWfTfCcXaSsMyQ=="


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", 0xEF46DB3751D8E999),
        (b"a", 0xD24EC4F1A98C6E5B),
        (b"abc", 0x44BC2CF5AD770999),
        (b"xxhash", 0x32DD38952C4BC720),
        (b"Nobody inspects the spammish repetition", 0xFBCEA83C8A378BF1),
    ],
)
def test_xxh64_is_its_authors(content, expected):
    assert keys.xxh64(content, 0) == expected


@given(st.text(), st.text())
def test_secondary_keys_are_taken_apart_as_they_were_put_together(value, key):
    whole = keys.secondary_prefix(value) + keys.secondary_prefix(key)[:-1]
    values, record_keys = keys.split_secondary_keys(pa.chunked_array([[whole]]))
    assert (values[0].as_py(), record_keys[0].as_py()) == (value, key)
