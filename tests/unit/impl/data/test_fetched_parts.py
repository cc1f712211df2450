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


class Short(AtOnce):
    """A file that ends before the bytes that are asked for."""

    def read(self, path, start=0, length=None):
        return super().read(path, start, length)[:-1]


@pytest.mark.parametrize("storage", [OneByOne(CONTENT[:150]), AtOnce(CONTENT[:150]), Short()])
def test_a_part_that_is_fetched_short_is_told_and_not_kept(storage):
    parts = parts_of(storage)
    with pytest.raises(CorruptFileError, match="ends before byte 200"):
        parts.fetch(np.array([(100, 200)]))
    assert parts.num_bytes == 0
    with pytest.raises(ValueError, match="were not fetched"):
        parts.part(100, 200)


def test_what_lies_between_two_parts_is_not_taken_for_fetched():
    storage = AtOnce()
    parts = parts_of(storage)
    parts.fetch(np.array([(0, 100), (200, 300)]))
    parts.fetch(np.array([(90, 210)]))
    assert bytes(parts.part(90, 210)) == CONTENT[90:210]


def _believing(self, places):
    """What comes is kept as what was asked for, however short it is."""
    for start, end in places.tolist():
        self._starts.append(start)
        self._parts.append(self._storage.read(self._path, start, end - start))


def _with_all_between(ranges, _gap):
    return np.array([(ranges[:, 0].min(), ranges[:, 1].max())])


def _covering_all_between(self, places):
    fetch(self, places)
    self._covered = _with_all_between(self._covered, 0)


fetch = FetchedParts.fetch
PLANTED = {
    "a part that comes short is believed": (
        _believing,
        lambda: test_a_part_that_is_fetched_short_is_told_and_not_kept(Short()),
    ),
    "what lies between parts counts as fetched": (
        _covering_all_between,
        test_what_lies_between_two_parts_is_not_taken_for_fetched,
    ),
    "nothing counts as fetched": (
        lambda self, places: (fetch(self, places), setattr(self, "_covered", self._covered[:0])),
        test_what_is_there_is_not_fetched_again,
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_each_planted_bug_is_noticed(name, monkeypatch):
    bug, notices = PLANTED[name]
    monkeypatch.setattr(FetchedParts, "fetch", bug)
    with pytest.raises((AssertionError, ValueError, pytest.fail.Exception)):
        notices()
