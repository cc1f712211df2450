"""Parts of a file: whatever is fetched in whatever order, bytes are those of the file, and none is fetched twice."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawstring.data import fetched_parts
from drawstring.data.fetched_parts import FetchedParts
from drawstring.errors import CorruptFileError

CONTENT = bytes(i % 251 for i in range(1000))


class OneByOne:
    def __init__(self, content: bytes = CONTENT) -> None:
        self.content, self.asked = memoryview(content), []

    def read(self, path, start=0, length=None):
        self.asked.append((start, start + length))
        return self.content[start : start + length]


class AtOnce(OneByOne):
    part_gap_bytes = 10

    def read_parts(self, path, ranges):
        return [self.read(path, start, end - start) for start, end in ranges]


def parts_of(storage) -> FetchedParts:
    return FetchedParts(storage, "f", CorruptFileError)


places = st.tuples(st.integers(0, 1000), st.integers(0, 1000)).map(sorted).map(tuple)


@pytest.mark.parametrize("gap", [0, 50])
@pytest.mark.parametrize("kind", [OneByOne, AtOnce])
@given(st.lists(st.lists(places, min_size=1, max_size=6), min_size=1, max_size=6))
def test_what_was_fetched_is_what_the_file_has(kind, gap, calls):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fetched_parts, "MAX_GAP_BYTES", gap)
        parts = parts_of(kind())
        for wanted in calls:
            parts.fetch(np.array(wanted, np.int64))
            for start, end in wanted:
                assert bytes(parts.part(start, end)) == CONTENT[start:end]
        for start, end in calls[0]:
            assert bytes(parts.part(start, end)) == CONTENT[start:end]


def test_what_is_there_is_not_fetched_again():
    storage = AtOnce()
    parts = parts_of(storage)
    parts.fetch(np.array([(10, 20), (20, 30), (100, 200)]))
    parts.fetch(np.array([(10, 30), (15, 25), (150, 200), (40, 40)]))
    assert (storage.asked, parts.num_bytes) == ([(10, 30), (100, 200)], 120)


@pytest.mark.parametrize(("kind", "asked"), [(OneByOne, [(0, 300)]), (AtOnce, [(0, 100), (200, 300)])])
def test_parts_are_joined_as_far_as_the_storage_finds_it_worth_while(kind, asked):
    storage = kind()
    parts_of(storage).fetch(np.array([(200, 300), (0, 100)]))
    assert storage.asked == asked


@pytest.mark.parametrize("kind", [OneByOne, AtOnce])
def test_a_file_that_ends_before_is_refused(kind):
    with pytest.raises(CorruptFileError, match="ends before byte 1001"):
        parts_of(kind()).fetch(np.array([(0, 10), (990, 1001)]))
