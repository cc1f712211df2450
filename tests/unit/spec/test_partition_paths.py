from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawstring_spec.partition_paths import (
    DEFAULT_PARTITION,
    ESCAPED_CHARACTERS,
    escape,
    partition_segment,
    unescape,
)


@given(st.text())
def test_unescaping_gives_back_what_was_escaped(text):
    assert unescape(escape(text)) == text


@given(st.text())
def test_an_escaped_value_is_one_folder(text):
    escaped = escape(text)
    assert not ESCAPED_CHARACTERS - {"%"} & set(escaped)


@pytest.mark.parametrize(
    ("value", "folder"),
    [
        ("a/b", "a%2Fb"),
        ("c=d", "c%3Dd"),
        ("50%", "50%25"),
        ("e f", "e f"),
        ("x,y", "x,y"),
        ("2024-01-01 10:00", "2024-01-01 10%3A00"),
        ("Zürich", "Zürich"),
        ("{[^]}", "%7B%5B%5E%5D}"),
        ("\x00\x1f\x7f", "%00%1F%7F"),
        ("\"#'*?\\", "%22%23%27%2A%3F%5C"),
    ],
)
def test_values_are_escaped_as_hive_escapes_them(value, folder):
    assert escape(value) == folder


@pytest.mark.parametrize(("folder", "value"), [("50%", "50%"), ("%zz", "%zz"), ("%2f", "/"), ("%4", "%4")])
def test_a_percent_sign_without_two_digits_stands_for_itself(folder, value):
    assert unescape(folder) == value


@pytest.mark.parametrize(
    ("value", "hive_style", "url_encode", "folder"),
    [
        ("a/b", False, False, "a/b"),
        ("a/b", False, True, "a%2Fb"),
        ("a/b", True, True, "day=a%2Fb"),
        ("a", True, False, "day=a"),
        ("", False, True, DEFAULT_PARTITION),
        (None, True, True, f"day={DEFAULT_PARTITION}"),
    ],
)
def test_a_partition_segment_is_the_value_under_the_tables_rules(value, hive_style, url_encode, folder):
    assert partition_segment("day", value, hive_style=hive_style, url_encode=url_encode) == folder
