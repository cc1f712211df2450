"""A consumer of changes misses no commit that one listing of the timeline misses."""

from __future__ import annotations

import pyarrow as pa
import pytest

import drawstring as ds
from drawstring.read import ranges
from drawstring.timeline.timeline import Timeline
from drawstring_spec.instants import State

SCHEMA = pa.schema([("id", pa.string()), ("v", pa.int64())])


@pytest.fixture
def table(table_uri):
    made = ds.Table.create(table_uri, SCHEMA, record_key="id")
    for name in ("a", "b"):
        made.upsert(pa.table({"id": [name], "v": [0]}, schema=SCHEMA))
    return made


def test_a_commit_that_the_first_listing_misses_is_among_the_changes(table, monkeypatch):
    first, last = table.timeline().completed_writes
    listed = []

    def load_timeline(storage, config):
        timeline = loaded(storage, config)
        listed.append(timeline)
        if len(listed) > 1:
            return timeline
        return Timeline(tuple(i for i in timeline.instants if i != first or i.state is not State.COMPLETED))

    loaded = ranges.load_timeline
    monkeypatch.setattr(ranges, "load_timeline", load_timeline)
    changes = table.changes("earliest", bounds="(]")
    assert sorted(changes["id"].to_pylist()) == ["a", "b"]
    assert ds.checkpoint(changes) == last.completion_time


def test_a_commit_that_only_the_second_listing_shows_is_left_to_the_next_query(table, monkeypatch):
    early, last = table.timeline().completed_writes
    listed = []

    def load_timeline(storage, config):
        timeline = loaded(storage, config)
        listed.append(timeline)
        return timeline if len(listed) > 1 else Timeline(tuple(i for i in timeline.instants if i != last))

    loaded = ranges.load_timeline
    monkeypatch.setattr(ranges, "load_timeline", load_timeline)
    changes = table.changes("earliest", bounds="(]")
    checkpoint = ds.checkpoint(changes)
    assert changes["id"].to_pylist() == ["a"]
    assert checkpoint == early.completion_time
    assert table.changes(checkpoint, bounds="(]")["id"].to_pylist() == ["b"]
