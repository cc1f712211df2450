"""Queries for changes: ranges, checkpoints, projections, and what can no longer be told."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawstring.errors import InputError, NotFoundError, SchemaError, TimeTravelError, UnsupportedTableError
from drawstring.read.changes import changes, checkpoint
from drawstring.read.incremental import FALLBACK, plan_changes
from drawstring.read.ranges import Bounds, commits_completed_in, commits_requested_in, parse_bounds, parse_range
from unit.impl.read.golden_memory import GoldenTable
from unit.impl.read.tables import HandMadeTable, a_row, at
from unit.impl.timeline.test_archived import archive

NO_FALLBACK = {FALLBACK: "false"}


@pytest.fixture
def table():
    return HandMadeTable()


def completed(table, start, end=None, bounds=Bounds.CLOSED):
    found = commits_completed_in(table.context(), start, end, bounds)
    return [int(time[-3:]) for time in found.commit_times]


@pytest.fixture
def out_of_order(table):
    """Commits 1, 2, 3 and 5: 2 completed last but one, 5 is pending."""
    table.commit(1, 4)
    table.commit(2, 9)
    table.commit(3, 6)
    table.commit(5)
    table.commit(8, 12)
    return table


@pytest.mark.parametrize(
    ("start", "end", "bounds", "expected"),
    [
        ("000", None, "[]", [1, 2, 3, 8]),
        (at(4), at(6), "[]", [1, 3]),
        (at(4), at(6), "(]", [3]),
        (at(5), at(9), "[]", [2, 3]),
        (at(9), None, "(]", [8]),
        (at(12), None, "(]", []),
        (at(7), at(8), "[]", []),
        (None, at(11), "[]", [2]),
        (None, at(3), "[]", []),
        (None, None, "[]", [8]),
    ],
)
def test_commits_belong_to_a_range_by_the_time_they_completed(out_of_order, start, end, bounds, expected):
    assert completed(out_of_order, start, end, Bounds(bounds)) == expected


def test_java_compares_the_range_of_change_data_with_requested_times(out_of_order):
    found = commits_requested_in(out_of_order.context(), at(1), at(3))
    assert found.commit_times == (at(2), at(3))


def test_a_checkpoint_is_the_greatest_completion_time_of_the_range(out_of_order):
    context = out_of_order.context()
    assert commits_completed_in(context, "000", at(10), Bounds.CLOSED).checkpoint == at(9)
    assert commits_completed_in(context, at(12), None, Bounds.OPEN_CLOSED).checkpoint == at(12)
    assert commits_completed_in(context, None, at(3), Bounds.CLOSED).checkpoint is None


@given(
    order=st.permutations(range(10, 18)),
    stops=st.lists(st.integers(8, 19), max_size=4).map(sorted),
)
def test_a_consumer_sees_each_commit_once_in_whichever_order_they_complete(order, stops):
    table = HandMadeTable()
    for requested, done in enumerate(order):
        table.commit(requested, done)
    seen, start = [], "000"
    for stop in [*stops, 99]:
        found = commits_completed_in(table.context(), start, max(at(stop), start), Bounds.OPEN_CLOSED)
        seen += found.commit_times
        start = found.checkpoint
    assert sorted(seen) == [at(requested) for requested in range(len(order))]


def test_archived_commits_belong_to_a_range(table):
    archive(table.storage, 1, [(1, 2, "commit"), (3, 4, "clean"), (5, 6, "commit")])
    table.commit(7, 8)
    found = commits_completed_in(table.context(), at(2), None, Bounds.OPEN_CLOSED)
    assert [i.requested_time for i in found.archived] == [at(5)]
    assert [i.requested_time for i in found.active] == [at(7)]


def test_the_last_commit_up_to_an_end_may_be_archived(table):
    archive(table.storage, 1, [(1, 2, "commit"), (3, 4, "commit"), (5, 6, "commit")])
    table.commit(7, 8)
    assert completed(table, None, at(5)) == [3]


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        ("earliest", None, ("000", None)),
        ("EARLIEST", "20240101", ("000", "20240101")),
        ("000", "20240101000000", ("000", "20240101000000")),
        ("2024-01-02", "2024-01-02 03:04:05", ("20240102000000000", "20240102030405999")),
        (None, None, (None, None)),
    ],
)
def test_the_ends_of_a_range_have_the_forms_of_times(start, end, expected):
    assert parse_range(start, end) == expected


@pytest.mark.parametrize(
    ("start", "end"),
    [("now", None), ("", None), (None, "earliest"), ("2024-13-01", None), ("-1", None)],
)
def test_a_range_that_is_none_is_refused(start, end):
    with pytest.raises(InputError) as caught:
        parse_range(start, end)
    assert caught.value.way_out


def test_a_range_that_ends_before_it_begins_has_no_commits():
    """Java answers it with no rows."""
    table = HandMadeTable()
    table.commit(1, 2)
    table.commit(3, 4)
    assert parse_range(at(4), at(2)) == (at(4), at(2))
    assert completed(table, at(4), at(2)) == []


@pytest.mark.parametrize("bounds", ["", "[)", "()", "[", "closed"])
def test_bounds_that_nobody_knows_are_refused(bounds):
    with pytest.raises(InputError) as caught:
        parse_bounds(bounds)
    assert caught.value.way_out


def test_a_table_without_a_commit_has_no_changes(table):
    rows = changes(table.context(), "earliest")
    assert rows.num_rows == 0
    assert rows.column_names[-3:] == ["id", "n", "day"]
    assert checkpoint(rows) == "000"


def test_a_table_without_columns_is_refused():
    table = HandMadeTable(properties={"hoodie.table.create.schema": None})
    with pytest.raises(SchemaError):
        changes(table.context(), "earliest")


def test_a_table_whose_rows_do_not_say_who_wrote_them_is_refused():
    table = HandMadeTable(properties={"hoodie.populate.meta.fields": "false"})
    with pytest.raises(UnsupportedTableError, match="meta fields"):
        changes(table.context(), "earliest")


@pytest.fixture(scope="module")
def clustered():
    return GoldenTable("cow_clustering")


def test_columns_and_filters_choose_of_the_same_rows(clustered):
    context = clustered.context()
    start = clustered.writes()[2].completion_time
    whole = changes(context, start)
    condition = pc.field("v") > 300
    part = changes(context, start, columns=["v", "id"], filter=condition)
    assert part.sort_by("id") == whole.filter(condition).select(["v", "id"]).sort_by("id")
    assert 0 < part.num_rows < whole.num_rows
    without_meta = changes(context, start, meta_columns=False)
    assert without_meta.column_names == [n for n in whole.column_names if not n.startswith("_hoodie_")]


def test_a_filter_on_the_partition_leaves_files_unread(clustered):
    context = clustered.context()
    whole = changes(context, "earliest")
    reads = []
    read = clustered.storage.read
    clustered.storage.read = lambda path, *range_: (reads.append(path), read(path, *range_))[1]
    try:
        part = changes(context, "earliest", filter=[("part", "=", "p0")])
    finally:
        clustered.storage.read = read
    assert part.num_rows == whole.filter(pc.field("part") == "p0").num_rows > 0
    assert {path.split("/")[0] for path in reads if path.endswith(".parquet")} == {"p0"}


def test_no_column_at_all_still_counts_rows(clustered):
    assert (
        changes(clustered.context(), "earliest", columns=[]).num_rows
        == changes(clustered.context(), "earliest").num_rows
    )


def test_the_checkpoint_travels_with_the_rows(clustered):
    rows = changes(clustered.context(), "earliest", columns=["id"])
    last = max(i.completion_time for i in clustered.writes())
    assert checkpoint(rows) == checkpoint(rows.schema) == checkpoint(rows.slice(3)) == last
    assert checkpoint(pa.table({"id": ["no changes"]})) is None


def cleaned_range():
    """A golden table and a range of it whose files were cleaned."""
    table = GoldenTable("clean_commits")
    first = table.writes()[0]
    return table, first


def test_a_range_whose_files_are_cleaned_is_answered_from_the_newest_snapshot():
    table, first = cleaned_range()
    plan = plan_changes(table.context(), "000", first.completion_time)
    assert plan.full_scan
    newest = changes(table.context(), "earliest")
    expected = newest.filter(pc.field("_hoodie_commit_time") == first.requested_time)
    assert changes(table.context(), "000", first.completion_time).num_rows == expected.num_rows


def test_without_the_fallback_a_range_whose_files_are_cleaned_is_refused():
    table, first = cleaned_range()
    with pytest.raises(TimeTravelError, match="cleaned") as caught:
        changes(table.context(NO_FALLBACK), "000", first.completion_time)
    assert FALLBACK in str(caught.value)


def test_without_the_fallback_only_files_that_are_needed_have_to_be_there():
    table, _ = cleaned_range()
    answer = changes(table.context(NO_FALLBACK), "000")
    assert answer.num_rows == changes(table.context(), "000").num_rows


def test_without_the_fallback_a_range_with_archived_commits_is_refused():
    table = GoldenTable("archival_lsm")
    with pytest.raises(TimeTravelError, match="archived"):
        changes(table.context(NO_FALLBACK), "000")
    recent = table.writes()[-1].completion_time
    assert changes(table.context(NO_FALLBACK), recent).num_rows == changes(table.context(), recent).num_rows


def test_a_query_that_loses_a_file_to_the_cleaner_plans_again(monkeypatch):
    table = GoldenTable("cow_clustering")
    expected = changes(table.context(), "earliest").num_rows
    read, lost = table.storage.read, []

    def lose_once(path, *range_):
        if path.endswith(".parquet") and not lost:
            lost.append(path)
            raise NotFoundError(path)
        return read(path, *range_)

    monkeypatch.setattr(table.storage, "read", lose_once)
    assert changes(table.context(), "earliest").num_rows == expected
    assert lost


def test_a_file_that_stays_away_is_named(monkeypatch):
    table = GoldenTable("cow_clustering")
    read = table.storage.read

    def lose(path, *range_):
        if path.endswith(".parquet"):
            raise NotFoundError(path)
        return read(path, *range_)

    monkeypatch.setattr(table.storage, "read", lose)
    with pytest.raises(NotFoundError):
        changes(table.context(), "earliest")


def test_rows_of_hand_made_commits_are_told_by_the_commits_that_name_them(table):
    """A file that lies there and that no commit of the range names is not looked at."""
    table.base_file("a", "f-0", 1, a_row("old", 1, "a"))
    table.base_file("a", "g-0", 2, a_row("unnamed", 2, "a"))
    table.commit(1, 3)
    table.commit(2, 4)
    assert changes(table.context(), "earliest").num_rows == 0


def test_a_commit_that_is_in_both_timelines_is_an_active_one(table):
    archive(table.storage, 1, [(1, 2, "commit"), (3, 4, "commit")])
    table.commit(3, 4)
    found = commits_completed_in(table.context(), "000", None, Bounds.CLOSED)
    assert [i.requested_time for i in found.archived] == [at(1)]
    assert [i.requested_time for i in found.active] == [at(3)]


def test_rows_of_replaced_file_groups_are_not_returned():
    table = GoldenTable("cdc_insert_overwrite")
    replaced = next(i for i in table.writes() if i.action.value == "replacecommit")
    keys = changes(table.context(), "earliest", replaced.completion_time, columns=["_hoodie_record_key"])
    assert keys.num_rows == len(set(keys["_hoodie_record_key"].to_pylist()))


def test_partition_values_are_the_names_of_folders_as_they_stand():
    table = GoldenTable("keygen_urlencode")
    rows = changes(table.context(), "earliest", columns=["_hoodie_partition_path", "part"])
    assert rows["part"].to_pylist() == rows["_hoodie_partition_path"].to_pylist()
    assert any("%" in value for value in rows["part"].to_pylist())
