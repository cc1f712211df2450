"""Streams of changes, without Spark: the reader is asked as Spark asks it, so that each moment can be chosen.

`test_stream_queries` lets Spark itself ask.
"""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest

import drawstring as ds
import drawstring.read.incremental
import drawstring.spark.stream as stream_module
from drawstring.errors import InputError, OptionError, SchemaError, TimeTravelError
from drawstring.read.ranges import commits_requested_in
from drawstring.spark.source_options import ReadRequest
from drawstring.spark.source_reader import request_columns
from drawstring.spark.stream import ChangesStream
from drawstring.spark.types import spark_schema
from drawstring.timeline.timeline import Timeline
from drawstring_conformance.vectors import load_case
from drawstring_spec.instants import State
from drawstring_spec.steps import Step

SCHEMA = pa.schema([("id", pa.string()), ("part", pa.string()), ("v", pa.int64())])
OPTIMISTIC = {"hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL"}
FALLBACK = "hoodie.datasource.read.incr.fallback.fulltablescan.enable"
CDC = {"hoodie.datasource.query.type": "incremental", "hoodie.datasource.query.incremental.format": "cdc"}


def rows(*ids, part="p", v=0):
    return pa.table({"id": list(ids), "part": [part] * len(ids), "v": [v] * len(ids)}, schema=SCHEMA)


@pytest.fixture
def table(table_uri):
    return ds.Table.create(table_uri, SCHEMA, record_key="id", partition_by="part", options=OPTIMISTIC)


class Consumer:
    """What Spark does with a reader: offsets are written down, partitions are read by copies of it."""

    def __init__(self, uri, kind=ChangesStream, **options):
        request = ReadRequest.parse({"path": uri, **options})
        self.reader = kind(request, spark_schema(request_columns(request, request.open())))
        self.offset = self.reader.initialOffset()

    def batch(self, end=None):
        start, end = self.offset, end or self.reader.latestOffset(self.offset, None)
        copy = pickle.loads(pickle.dumps(self.reader))
        parts = [pickle.loads(pickle.dumps(part)) for part in self.reader.partitions(start, end)]
        self.offset = end
        return [row for part in parts for batch in copy.read(part) for row in batch.to_pylist()]

    def ids(self):
        return sorted(row["id"] for row in self.batch())


def write_while_another_is_under_way(table, slow, fast, between=lambda: None):
    """Write `slow`, and while it is inflight all of `fast`; then do `between`."""

    def on_event(event):
        if event.step is Step.START_INFLIGHT and not started:
            started.append(event)
            ds.Table.open(table.uri, options=OPTIMISTIC).upsert(fast)
            between()

    started: list = []
    ds.Table.open(table.uri, options=OPTIMISTIC, emit=on_event).upsert(slow)
    assert started


def test_each_commit_is_in_one_batch(table):
    table.upsert(rows("a", "b"))
    consumer = Consumer(table.uri)
    assert consumer.ids() == ["a", "b"]
    assert consumer.ids() == []
    table.upsert(rows("b", "c", v=1))
    assert consumer.ids() == ["b", "c"]
    assert consumer.ids() == []


def late_commit_is_seen(table, consumer):
    seen = []
    write_while_another_is_under_way(
        table, rows("slow", part="p"), rows("fast", part="q"), between=lambda: seen.append(consumer.ids())
    )
    first, second = table.timeline().completed_writes[-2:]
    assert (first.requested_time < second.requested_time) != (first.completion_time < second.completion_time)
    return [*seen, consumer.ids()]


def test_a_commit_that_was_requested_early_and_completed_late_is_in_a_later_batch(table):
    table.upsert(rows("first"))
    assert late_commit_is_seen(table, Consumer(table.uri)) == [["fast", "first"], ["slow"]]


class ByRequestedTime(ChangesStream):
    """The bug that completion times are there against."""

    @staticmethod
    def _position(instant):
        return instant.requested_time


def test_offsets_of_requested_times_would_miss_it(table, monkeypatch):
    monkeypatch.setattr(
        drawstring.read.incremental,
        "commits_completed_in",
        lambda context, start, end, bounds: commits_requested_in(context, start, end),
    )
    table.upsert(rows("first"))
    assert late_commit_is_seen(table, Consumer(table.uri, ByRequestedTime)) == [["fast", "first"], []]


def without_completion(timeline, requested_time):
    """What a listing shows that was begun before an instant completed, and ended after others had."""
    return Timeline(
        tuple(i for i in timeline.instants if i.requested_time != requested_time or i.state is not State.COMPLETED)
    )


def test_a_commit_that_a_listing_misses_is_not_missed_by_its_batch(table, monkeypatch):
    consumer = Consumer(table.uri)
    table.upsert(rows("a"))
    table.upsert(rows("b"))
    missed = table.timeline().completed_writes[0].requested_time
    listed = stream_module.load_timeline
    monkeypatch.setattr(stream_module, "load_timeline", lambda *args: without_completion(listed(*args), missed))
    end = consumer.reader.latestOffset(consumer.offset, None)
    monkeypatch.undo()
    assert sorted(row["id"] for row in consumer.batch(end)) == ["a", "b"]


def test_a_batch_that_is_planned_again_holds_the_same_commits(table):
    table.upsert(rows("a"))
    consumer = Consumer(table.uri)
    start, end = consumer.offset, consumer.reader.latestOffset(consumer.offset, None)
    assert [row["id"] for row in consumer.batch(end)] == ["a"]
    table.upsert(rows("b"))
    restarted = Consumer(table.uri)
    restarted.offset = start
    assert [row["id"] for row in restarted.batch(end)] == ["a"]
    assert restarted.ids() == ["b"]


def test_a_stream_begins_where_it_is_told(table):
    for name in ("a", "b", "c"):
        table.upsert(rows(name))
    times = [instant.completion_time for instant in table.timeline().completed_writes]
    streams = {start: Consumer(table.uri, **{KEY: start}) for start in ("earliest", "LATEST", times[1])}
    table.upsert(rows("d"))
    assert {start: stream.ids() for start, stream in streams.items()} == {
        "earliest": ["a", "b", "c", "d"],
        "LATEST": ["d"],
        times[1]: ["c", "d"],
    }


KEY = "HOODIE.datasource.streaming.STARTOFFSET"
"""Spark hands keys over in lower case, and users write them as they like."""


def test_what_completes_after_an_available_now_was_asked_for_is_left_to_the_next(table):
    table.upsert(rows("a"))
    consumer = Consumer(table.uri)
    consumer.reader.prepareForTriggerAvailableNow()
    table.upsert(rows("b"))
    assert consumer.ids() == ["a"]
    assert consumer.ids() == []
    restarted = Consumer(table.uri)
    restarted.offset = consumer.offset
    assert restarted.ids() == ["b"]


def test_a_stream_never_goes_back(table):
    table.upsert(rows("a"))
    consumer = Consumer(table.uri)
    consumer.offset = {"completion_time": "9" * 17}
    assert consumer.ids() == []
    assert consumer.offset == {"completion_time": "9" * 17}


def test_what_spark_4_1_asks_is_answered_too(table):
    table.upsert(rows("a"))
    reader = Consumer(table.uri).reader
    newest = table.timeline().completed_writes[-1].completion_time
    assert reader.latestOffset() == reader.reportLatestOffset() == {"completion_time": newest}


@pytest.mark.parametrize("offset", [{}, {"completion_time": 5}, {"completion_time": "x"}, {"commitTime": "2026"}])
def test_an_offset_of_another_source_is_refused(table, offset):
    table.upsert(rows("a"))
    reader = Consumer(table.uri).reader
    with pytest.raises(InputError, match="none of a stream of drawstring"):
        reader.latestOffset(offset, None)


def test_columns_that_changed_since_the_stream_started_are_refused(table):
    table.upsert(rows("a"))
    consumer = Consumer(table.uri)
    request = ReadRequest.parse({"path": table.uri})
    with pytest.raises(SchemaError, match="goes on from its checkpoint"):
        ChangesStream(request, consumer.reader._schema.add("new", "string"))


def test_a_filter_is_one_of_the_rows_of_each_batch(table):
    table.upsert(rows("a", "b"))
    consumer = Consumer(table.uri, **{"drawstring.read.filter": '[["id", "==", "b"]]'})
    assert consumer.ids() == ["b"]
    table.upsert(rows("b", "c", v=1))
    assert consumer.ids() == ["b"]


def test_a_table_that_gets_another_column_stops_the_stream_with_a_word(table, monkeypatch):
    table.upsert(rows("a"))
    consumer = Consumer(table.uri)
    columns = stream_module.request_columns
    more = pa.field("new", pa.string())
    monkeypatch.setattr(stream_module, "request_columns", lambda *args: columns(*args).append(more))
    with pytest.raises(SchemaError, match="start it again"):
        consumer.batch()


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"hoodie.datasource.read.begin.instanttime": "000", "hoodie.datasource.query.type": "incremental"}, "begin"),
        ({"hoodie.datasource.read.end.instanttime": "999", "hoodie.datasource.query.type": "incremental"}, "end"),
        ({"as.of.instant": "20260101"}, "as.of.instant"),
        ({"hoodie.datasource.query.type": "snapshot"}, "a stream reads changes"),
        ({"hoodie.datasource.query.type": "read_optimized"}, "a stream reads changes"),
    ],
    ids=str,
)
def test_options_that_are_none_of_streams_are_refused_by_name(table, options, named):
    with pytest.raises(OptionError, match=named):
        ReadRequest.parse({"path": table.uri, **options}).for_stream()


@pytest.fixture
def golden(tmp_path):
    return lambda name: ds.Table.open(str(load_case(name).extract(tmp_path / name)))


@pytest.mark.parametrize("name", ["cdc_insert_overwrite", "cdc_mor"])
def test_a_stream_of_every_single_change_goes_from_commit_to_commit(golden, name):
    table = golden(name)
    consumer = Consumer(table.uri, **CDC)
    ends = sorted(instant.completion_time for instant in table.timeline().completed_writes)
    seen = [row for end in ends for row in consumer.batch({"completion_time": end})]
    whole = table.changes("earliest", cdc=True, bounds="(]").to_pylist()
    assert len(seen) > len(ends)
    assert sorted(seen, key=repr) == sorted(whole, key=repr)


def test_a_batch_whose_commits_are_archived_is_what_the_newest_snapshot_has(golden):
    table = golden("archival_lsm")
    expected = table.changes("earliest", bounds="(]").to_pylist()
    seen = Consumer(table.uri).batch()
    assert sorted(map(repr, seen)) == sorted(map(repr, expected))


def test_a_batch_whose_commits_are_archived_is_refused_where_that_is_wanted(golden):
    consumer = Consumer(golden("archival_lsm").uri, **{FALLBACK: "false"})
    with pytest.raises(TimeTravelError, match="archived"):
        consumer.batch()
