from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawstring_spec.errors import FormatError
from drawstring_spec.times import (
    INIT_INSTANT_TIME,
    format_instant_time,
    is_instant_time,
    next_instant_time,
    parse_instant_time,
)

YEAR_1_MS = -62_135_596_800_000
YEAR_10000_MS = 253_402_300_800_000
MOMENTS_MS = st.integers(min_value=YEAR_1_MS, max_value=YEAR_10000_MS - 1)


def test_an_instant_time_is_17_digits_from_year_to_millisecond():
    epoch_ms = int(datetime(2026, 11, 21, 3, 31, 15, tzinfo=UTC).timestamp()) * 1000 + 937
    assert format_instant_time(epoch_ms) == "20261121033115937"


@given(MOMENTS_MS)
def test_parsing_gives_back_what_was_formatted(epoch_ms):
    assert parse_instant_time(format_instant_time(epoch_ms)) == epoch_ms


@given(MOMENTS_MS, MOMENTS_MS)
def test_instant_times_compare_as_strings_like_the_moments_they_name(one_ms, other_ms):
    assert (format_instant_time(one_ms) < format_instant_time(other_ms)) == (one_ms < other_ms)


@pytest.mark.parametrize("epoch_ms", [YEAR_1_MS - 1, YEAR_10000_MS, 10**30, -(10**30)])
def test_a_moment_outside_of_four_digit_years_is_refused(epoch_ms):
    with pytest.raises(FormatError, match="four-digit years"):
        format_instant_time(epoch_ms)


def test_fourteen_digits_are_read_as_the_last_millisecond_of_their_second():
    assert parse_instant_time("20261121033115") == parse_instant_time("20261121033115999")


def test_what_stands_behind_the_seventeenth_digit_is_cut_off():
    assert parse_instant_time("20261121033115937001") == parse_instant_time("20261121033115937")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0",
        "000",
        "2026112103311",
        "202611210331159",
        "2026112103311593",
        "20261321033115937",
        "20260230033115937",
        "20261121243115937",
        "00000000000000000",
        INIT_INSTANT_TIME,
        " 20261121033115937",
        "20261121033115937\n",
        "-0261121033115937",
        "٢٠٢٦١١٢١٠٣٣١١٥٩٣٧",
        "2026-11-21T03:31:15",
    ],
)
def test_what_is_no_date_of_17_digits_is_refused(text):
    assert not is_instant_time(text)
    with pytest.raises(FormatError) as refused:
        parse_instant_time(text)
    assert refused.value.rule == "TL-001"


def test_a_real_date_is_an_instant_time():
    assert is_instant_time("20240229235959999")


@pytest.mark.parametrize(
    ("text", "later"),
    [
        ("20261121033115937", "20261121033115938"),
        ("20251231235959999", "20260101000000000"),
        ("20240228235959999", "20240229000000000"),
        ("20261121033115", "20261121033116000"),
    ],
)
def test_the_next_instant_time_is_one_millisecond_later(text, later):
    assert next_instant_time(text) == later


@given(st.integers(min_value=YEAR_1_MS, max_value=YEAR_10000_MS - 2))
def test_the_next_instant_time_is_greater_as_a_string(epoch_ms):
    text = format_instant_time(epoch_ms)
    assert next_instant_time(text) > text
