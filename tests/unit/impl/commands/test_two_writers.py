"""Two writers that take the same snapshot: one completes, the other is told why it did not."""

from __future__ import annotations

import pyarrow as pa
import pytest

import drawstring as ds
from drawstring.commands.two_writers import CONCURRENT, WriterStory, race
from drawstring.errors import ConflictError, InputError
from drawstring_spec.steps import Step

_SCHEMA = pa.schema([("id", pa.string()), ("n", pa.int64())])


@pytest.fixture
def uri(table_uri: str) -> str:
    ds.Table.create(table_uri, _SCHEMA, record_key="id").insert(pa.table({"id": ["a"], "n": [0]}, schema=_SCHEMA))
    return table_uri


def _race(uri: str) -> list[WriterStory]:
    batches = {name: pa.table({"id": ["a"], "n": [n]}, schema=_SCHEMA) for name, n in (("one", 1), ("two", 2))}
    return race(lambda listener: ds.Table.open(uri, options=CONCURRENT, emit=listener), batches)


def test_one_of_two_writers_wins_and_the_other_is_told(uri: str) -> None:
    stories = _race(uri)

    assert sorted(story.result is None for story in stories) == [False, True]
    assert [type(story.error) for story in stories if story.result is None] == [ConflictError]


def test_the_winners_rows_are_what_the_table_holds(uri: str) -> None:
    winner = next(story for story in _race(uri) if story.result is not None)

    assert ds.Table.open(uri).read(columns=["n"])["n"].to_pylist() == [{"one": 1, "two": 2}[winner.name]]


def test_neither_writer_goes_on_before_both_have_their_snapshot(uri: str) -> None:
    stories = _race(uri)

    looked = [next(s.elapsed_ms for s in story.steps if s.step is Step.LOOKUP_KEYS) for story in stories]
    started = [next(s.elapsed_ms for s in story.steps if s.step is Step.START_INFLIGHT) for story in stories]
    assert max(looked) <= min(started)


def test_a_writer_that_fails_for_another_reason_is_not_taken_for_a_loser(uri: str) -> None:
    good = pa.table({"id": ["a"], "n": [1]}, schema=_SCHEMA)
    bad = pa.table({"id": pa.array([None], pa.string()), "n": [1]}, schema=_SCHEMA)

    with pytest.raises(InputError):
        race(lambda listener: ds.Table.open(uri, options=CONCURRENT, emit=listener), {"good": good, "bad": bad})
