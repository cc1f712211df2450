"""Tables that were told to Java Hudi, feature by feature (`interop.unseen_story`), and every kind of query of them.

Those whose answers once differed from ours are kept in ``data_unseen`` with what Java answered; a few others are
written by Java each time. ``PYTHONPATH=tests python -m interop.unseen_tables`` tells all of them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import drawstring as ds
from drawstring.errors import TimeTravelError
from drawstring.read import incremental, index_lookup, merge_reader
from drawstring_conformance.compare import difference
from drawstring_conformance.vectors import QueryType, load_case, load_cases
from interop.unseen_recording import wrong_answers
from interop.unseen_stories import STORIES
from interop.unseen_tables import record

DATA = Path(__file__).with_name("data_unseen")
CASES = load_cases(DATA)
TOLD_EACH_TIME = ("compacted_range_keys",)


LOST_BY_JAVA = {
    "bootstrap_changes_mor": {"cdc_9", "cdc_11", "cdc_15", "cdc_19"},
    "cleaned_range": {f"incremental_completion_{n}" for n in (10, 12, 16)},
    "consistent_resize": {"incremental_completion_0"},
    "long_history_mor": {"incremental_completion_41"},
    "nested_rename": {"time_travel_4", "time_travel_5", *(f"incremental_completion_{n}" for n in (10, 12, 13))},
    "unindexed_keys_payload": {"incremental_completion_7"},
}
"""Answers in which Java has lost or doubled what it wrote, by case; each is shown by a test below."""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_answer_is_the_one_that_java_gave(case, tmp_path, record_property):
    record_property("queries", len(case.queries))
    assert set(wrong_answers(case, tmp_path)) == LOST_BY_JAVA.get(case.name, set())
    assert case.queries


def test_a_renamed_field_of_a_struct_keeps_its_value_in_log_records(tmp_path):
    """Java gives null for it, and its compaction writes the null; a value of a base file it keeps."""
    case = load_case("nested_rename", DATA)
    table = ds.Table.open(str(case.extract(tmp_path / case.name)))
    before, after = (query.as_of for query in case.queries if query.id in ("time_travel_3", "time_travel_4"))
    was, now = (
        {row["id"]: row["st"] for row in table.read(as_of=time, columns=["id", "st"]).to_pylist()}
        for time in (before, after)
    )
    assert was == {"k0": {"a": 1, "b": "x"}, "k1": {"a": 3, "b": "z"}}
    assert now == {"k0": {"a": 1, "c": "x"}, "k1": {"a": 3, "c": "z"}}
    by_java = pq.read_table(DATA / case.name / "expected" / "time_travel_4.parquet")
    assert {row["id"]: row["st"]["c"] for row in by_java.to_pylist()} == {"k0": "x", "k1": None}


def test_a_range_that_begins_in_the_archive_has_what_log_files_say(tmp_path):
    """Java scans the whole table then, without its log files: it lacks the newest write, which is in the range."""
    case = load_case("long_history_mor", DATA)
    table = ds.Table.open(str(case.extract(tmp_path / case.name)))
    newest = table.timeline().completed_writes[-1]
    by_java = pq.read_table(DATA / case.name / "expected" / "incremental_completion_41.parquet")
    assert newest.requested_time not in by_java["_hoodie_commit_time"].to_pylist()
    assert difference(by_java, table.read(read_optimized=True)) == ""
    assert table.changes(newest.completion_time).num_rows == 5
    assert difference(table.changes("000"), table.read()) == ""


def test_a_range_whose_files_are_cleaned_has_its_rows_though_they_were_written_again(tmp_path):
    """As in Java; and the rows of its log files, which Java leaves out."""
    case = load_case("cleaned_range", DATA)
    table = ds.Table.open(str(case.extract(tmp_path / case.name)))
    first, *_, last, _ = (i.completion_time for i in table.timeline().completed_writes)
    assert sorted(table.changes(first, first)["v"].to_pylist()) == [3, 4, 5]
    assert sorted(table.changes(first, last)["v"].to_pylist()) == [5, 100, 201, 202, 203, 204]
    by_java = pq.read_table(DATA / case.name / "expected" / "incremental_completion_16.parquet")
    assert sorted(by_java["v"].to_pylist()) == [3, 4, 5, 100, 101, 102]


def test_rows_that_a_write_behind_a_cleaned_range_takes_away_would_be_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr(incremental, "_without_other_logs", lambda newest, _: newest)
    assert set(wrong_answers(load_case("cleaned_range", DATA), tmp_path)) > LOST_BY_JAVA["cleaned_range"]


def test_keys_that_java_does_not_index_are_found(tmp_path, monkeypatch):
    """Writers with a bucket index insert records into log files, of which Java's record index knows nothing."""
    case = load_case("unindexed_keys_consistent", DATA)
    path = str(case.extract(tmp_path / case.name))
    rows = pq.read_table(next(query.expected for query in case.queries if query.type is QueryType.SNAPSHOT))
    assert difference(ds.Table.open(path).lookup(rows["_hoodie_record_key"]), rows) == ""
    assert ds.Table.open(path).lookup(["k008"])["v"].to_pylist() == [208]
    monkeypatch.setattr(index_lookup, "_has_every_key", lambda *_: True)
    assert ds.Table.open(path).lookup(["k008"]).num_rows == 0


def test_a_key_that_java_indexes_no_more_under_a_payload_class_is_found(tmp_path, monkeypatch):
    """It was deleted in a log file and written again; the snapshot has it (Java's own ends in a ClassCastException)."""
    key = "id:k008,k2:0:x"
    case = load_case("unindexed_keys_payload", DATA)
    path = str(case.extract(tmp_path / case.name))
    expected = ds.Table.open(path).read(filter=[("_hoodie_record_key", "=", key)])
    assert expected.num_rows == 1
    assert difference(ds.Table.open(path).lookup([key]), expected) == ""
    monkeypatch.setattr(index_lookup, "_has_every_key", lambda *_: True)
    assert ds.Table.open(path).lookup([key]).num_rows == 0


def test_a_record_written_while_buckets_are_resized_is_returned_once(tmp_path):
    """It lies in the old bucket and in the new one; Java returns both, though never in a snapshot."""
    case = load_case("consistent_resize", DATA)
    table = ds.Table.open(str(case.extract(tmp_path / case.name)))
    query = next(query for query in case.queries if query.id == "incremental_completion_0")
    by_java = pq.read_table(query.expected)["id"].to_pylist()
    ours = table.changes(query.start, query.end)["id"].to_pylist()
    assert sorted(by_java) == sorted([*ours, *ours])
    assert len(set(ours)) == len(ours) == 6


def test_times_that_java_refuses_since_they_are_cleaned_are_refused(tmp_path):
    case = load_case("long_history_mor", DATA)
    table = ds.Table.open(str(case.extract(tmp_path / case.name)))
    refused = [query["as_of"] for query in case.details["failed_queries"]]
    assert len(refused) == 3
    for time in refused:
        with pytest.raises(TimeTravelError, match="cleaner"):
            table.read(as_of=time)


def test_times_from_a_failed_write_on_are_refused_as_java_refuses_them(tmp_path):
    """One of two live writers failed and is not rolled back: it might still complete, as far as a reader knows."""
    case = load_case("non_blocking_commit", DATA)
    table = ds.Table.open(str(case.extract(tmp_path / case.name)))
    refused = [query["as_of"] for query in case.details["failed_queries"]]
    assert len(refused) == 11
    for time in refused:
        with pytest.raises(TimeTravelError, match="pending write"):
            table.read(as_of=time)


@pytest.mark.interop
@pytest.mark.parametrize("name", TOLD_EACH_TIME)
def test_a_story_told_now_is_read_as_java_reads_it(name, java, tmp_path):
    case = record(java, STORIES[name], tmp_path / "work", tmp_path / "cases")
    assert wrong_answers(case, tmp_path / "judged") == {}
    assert case.queries


@pytest.mark.parametrize("name", ["compacted_range_positions", "rewritten_base_in_range"])
def test_rows_from_before_a_range_that_took_part_in_its_merging_would_be_noticed(name, tmp_path, monkeypatch):
    monkeypatch.setattr(merge_reader, "_of_commits", lambda rows, _: pa.array(np.ones(rows.num_rows, np.bool_)))
    assert wrong_answers(load_case(name, DATA), tmp_path)


def test_images_that_were_logged_before_columns_changed_have_those_of_now(tmp_path):
    case = load_case("changes_widened_cow", DATA)
    table = ds.Table.open(str(case.extract(tmp_path / case.name)))
    changes = table.changes("000", cdc=True).to_pylist()
    logged = [change["after"] for change in changes if '"_hoodie' not in change["after"]]
    assert logged[0] == '{"id":"k000","part":"a","ts":2,"v":50.0,"w":null}'
    assert len(logged) == 3
