from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawstring_spec.errors import FormatError
from drawstring_spec.properties import (
    TABLE_PROPERTIES,
    PropertyKind,
    format_properties,
    parse_properties,
    table_checksum,
)

# Java strings without lone surrogates and without NUL, the two things a properties file of ours never holds.
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
texts_with_syntax = st.text(st.sampled_from("ab =:#!\\\t\n\r\f\u00e9\u20ac\U0001f600"), max_size=12)


@given(st.dictionaries(texts | texts_with_syntax, texts | texts_with_syntax, max_size=5))
def test_parsing_gives_back_the_values_that_were_formatted(values):
    assert parse_properties(format_properties(values)) == values


@given(st.dictionaries(texts_with_syntax, texts_with_syntax, max_size=3), st.lists(texts | texts_with_syntax))
def test_comments_never_become_values(values, comments):
    assert parse_properties(format_properties(values, comments)) == values


@given(st.binary(max_size=200) | texts_with_syntax.map(lambda text: text.encode("utf-8")))
def test_what_is_read_from_any_bytes_at_all_can_be_written_and_read_again(content):
    with suppress(FormatError):
        values = parse_properties(content)
        assert parse_properties(format_properties(values)) == values


@pytest.mark.parametrize(
    ("content", "values"),
    [
        (b"", {}),
        (b"a=b", {"a": "b"}),
        (b"a:b", {"a": "b"}),
        (b"a b", {"a": "b"}),
        (b"a = b", {"a": "b"}),
        (b"a  \t b", {"a": "b"}),
        (b"a==b", {"a": "=b"}),
        (b"a : = b", {"a": "= b"}),
        (b"a", {"a": ""}),
        (b"a=", {"a": ""}),
        (b"=b", {"": "b"}),
        (b"  a=b  ", {"a": "b  "}),
        (b"a=b\nc=d", {"a": "b", "c": "d"}),
        (b"a=b\r\nc=d\re=f", {"a": "b", "c": "d", "e": "f"}),
        (b"\n\n \t\na=b", {"a": "b"}),
        (b"#a=b\n!c=d\n  # e=f", {}),
        (b"a=b\\\n   c", {"a": "bc"}),
        (b"a=b\\\r\n   c", {"a": "bc"}),
        (b"a=b\\\n#c", {"a": "b#c"}),
        (b"a=b\\\\\nc=d", {"a": "b\\", "c": "d"}),
        (b"a=b\\", {"a": "b"}),
        (b"a\\=b=c", {"a=b": "c"}),
        (b"a\\ b=c", {"a b": "c"}),
        (b"a=\\ b", {"a": " b"}),
        (b"a=\\t\\n\\r\\f\\z", {"a": "\t\n\r\fz"}),
        (b"a=caf\xe9", {"a": "caf\u00e9"}),
        (b"a=caf\\u00e9", {"a": "caf\u00e9"}),
        (b"a=\\uD83D\\uDE00", {"a": "\U0001f600"}),
        (b"a=1\na=2", {"a": "2"}),
        (
            b"hoodie.table.partition.fields=cat\\:SIMPLE,evt\\:TIMESTAMP",
            {"hoodie.table.partition.fields": "cat:SIMPLE,evt:TIMESTAMP"},
        ),
    ],
)
def test_text_is_read_as_java_reads_it(content, values):
    assert parse_properties(content) == values


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"a=\\u12", "escape"),
        (b"a=\\uXYZW", "escape"),
        (b"a=\\u", "escape"),
        (b"a=\\uD83D", "surrogate"),
        (b"a=\\uDE00\\uD83D", "surrogate"),
        (b"hoodie.table.name=t\n\0\0\0\0", "NUL"),
    ],
)
def test_text_that_was_cut_or_garbled_is_refused(content, says):
    with pytest.raises(FormatError, match=says) as refused:
        parse_properties(content)
    assert refused.value.rule == "PR-001"


@pytest.mark.parametrize(
    ("values", "content"),
    [
        ({"a": "b"}, b"a=b\n"),
        ({"a b": " c d"}, b"a\\ b=\\ c d\n"),
        ({"a": "x:y=z#!\\"}, b"a=x\\:y\\=z\\#\\!\\\\\n"),
        ({"a": "\t\n\r\f"}, b"a=\\t\\n\\r\\f\n"),
        ({"a": "\u00e9\U0001f600\x01"}, b"a=\\u00E9\\uD83D\\uDE00\\u0001\n"),
        ({"b": "1", "a": "2"}, b"b=1\na=2\n"),
    ],
)
def test_text_is_written_as_java_writes_it(values, content):
    assert format_properties(values) == content


def test_comments_come_first_each_behind_a_number_sign():
    assert format_properties({"a": "b"}, ["one", "two\nthree"]) == b"#one\n#two\n#three\na=b\n"


@pytest.mark.parametrize(
    ("database", "table", "checksum"),
    [
        ("default", "v8_trips_8i3u1d", 1197752875),
        ("", "v8_trips_8i3u1d_metadata", 380169000),
        ("", "t_mor_basic", 4171374519),
    ],
)
def test_the_checksum_is_the_crc_32_of_database_dot_table(database, table, checksum):
    assert table_checksum(database, table) == checksum


def test_every_property_stands_under_its_own_key():
    assert all(key == entry.key for key, entry in TABLE_PROPERTIES.items())


@pytest.mark.parametrize("entry", TABLE_PROPERTIES.values(), ids=lambda entry: entry.key)
def test_a_property_is_documented_and_its_default_is_of_its_kind(entry):
    assert entry.doc.endswith(".")
    assert bool(entry.choices) == (entry.kind is PropertyKind.CHOICE)
    if entry.default is not None:
        fits = {
            PropertyKind.BOOLEAN: entry.default in {"true", "false"},
            PropertyKind.INTEGER: entry.default.isdigit(),
            PropertyKind.CHOICE: entry.default in entry.choices,
        }
        assert fits.get(entry.kind, True)
