from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from drawstring.data.key_order import key_range, same_order

TEXT = st.text(st.sampled_from("aé\ud7ff\ue000\uffee\U00010000\U0001f600"), max_size=3)


def java_order(text: str) -> bytes:
    return text.encode("utf-16-be")


@given(st.lists(TEXT, min_size=1, max_size=8), st.integers(0, 7))
@example(["\U0001f600", "\ue000"], 0)
def test_the_range_is_the_one_that_java_finds(texts, start):
    start = min(start, len(texts) - 1)
    seen = texts[start:]
    assert key_range(pa.array(texts)[start:]) == (min(seen, key=java_order), max(seen, key=java_order))


@given(TEXT, TEXT)
def test_texts_that_compare_alike_everywhere_are_known(limit, other):
    if same_order(limit):
        assert (other < limit) == (java_order(other) < java_order(limit))


@pytest.mark.parametrize(("text", "same"), [("", True), ("a\ud7ff", True), ("a\ue000", False), ("\U00010000", False)])
def test_only_texts_below_the_surrogates_compare_alike_with_all(text, same):
    assert same_order(text) is same


def test_no_keys_have_no_range():
    assert key_range(pa.array([], pa.string())) is None
