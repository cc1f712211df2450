"""Which file slices a snapshot has."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawstring.errors import NotFoundError, UnsupportedTableError
from drawstring.read.listing import list_partitions
from drawstring.read.view import load_snapshot
from drawstring.timeline.load import load_timeline
from unit.impl.read.tables import HandMadeTable, at


@pytest.fixture
def table():
    return HandMadeTable()


def slices(table, **query):
    found = load_snapshot(table.context(), **query).slices
    return {(s.group.partition_path, s.group.file_id): s.base_instant_time for s in found}


def test_a_table_without_a_completed_write_has_no_slices(table):
    table.base_file("a", "f-0", 1)
    table.commit(1)
    snapshot = load_snapshot(table.context())
    assert snapshot.slices == ()
    assert snapshot.as_of is None


def test_the_snapshot_time_is_the_greatest_requested_time_of_a_completed_write(table):
    table.commit(1, 9)
    table.commit(2, 3)
    table.commit(4)
    assert load_snapshot(table.context()).as_of == at(2)


def test_the_newest_completed_base_file_of_each_file_group_counts(table):
    for moment in (1, 2, 3):
        table.base_file("a", "f-0", moment)
    table.base_file("b", "g-0", 1)
    table.commit(1, 10)
    table.commit(2, 11)
    table.commit(3)
    assert slices(table) == {("a", "f-0"): at(2), ("b", "g-0"): at(1)}


def test_a_file_of_an_operation_that_is_not_on_the_timeline_is_left_out(table):
    table.base_file("a", "f-0", 1)
    table.base_file("a", "f-0", 3)
    table.base_file("a", "g-0", 3)
    table.commit(1, 2)
    table.commit(4, 5)
    assert slices(table) == {("a", "f-0"): at(1)}


def test_a_file_that_is_older_than_the_timeline_counts_as_completed_where_there_is_an_archive(table):
    table.base_file("a", "f-0", 1)
    table.commit(2, 3)
    table.storage.put(".hoodie/timeline/history/manifest_1", b"{}")
    assert slices(table) == {("a", "f-0"): at(1)}


def test_a_file_that_is_older_than_the_timeline_is_left_out_where_nothing_was_archived(table):
    table.base_file("a", "f-0", 1)
    table.commit(2, 3)
    assert slices(table) == {}


def test_one_file_id_in_two_partitions_is_two_file_groups(table):
    table.base_file("a", "f-0", 1)
    table.base_file("b", "f-0", 2)
    table.commit(1, 3)
    table.commit(2, 4)
    assert slices(table) == {("a", "f-0"): at(1), ("b", "f-0"): at(2)}


def test_two_files_of_one_attempted_task_are_one_slice(table):
    table.base_file("a", "f-0", 1, token="0-0-0")
    second = table.base_file("a", "f-0", 1, token="0-0-1")
    table.commit(1, 2)
    (only,) = load_snapshot(table.context()).slices
    assert only.base_file.name == second


def test_a_replaced_file_group_is_left_out(table):
    table.base_file("a", "f-0", 1)
    table.base_file("a", "g-0", 2)
    table.commit(1, 3)
    table.commit(2, 4, replaces={"a": ["f-0"]})
    assert slices(table) == {("a", "g-0"): at(2)}


def test_a_file_group_replaced_later_than_the_snapshot_time_is_there(table):
    table.base_file("a", "f-0", 1)
    table.commit(1, 3)
    table.commit(2, 4, replaces={"a": ["f-0"]})
    assert slices(table, as_of=at(1)) == {("a", "f-0"): at(1)}


def test_a_pending_replacement_hides_nothing(table):
    table.base_file("a", "f-0", 1)
    table.commit(1, 3)
    table.commit(2, replaces={"a": ["f-0"]})
    assert slices(table) == {("a", "f-0"): at(1)}


def test_a_replaced_file_id_of_another_partition_stays(table):
    table.base_file("a", "f-0", 1)
    table.base_file("b", "f-0", 1)
    table.commit(1, 3)
    table.commit(2, 4, replaces={"b": ["f-0"]})
    assert slices(table) == {("a", "f-0"): at(1)}


def test_time_travel_goes_by_requested_time_even_if_completion_was_later(table):
    table.base_file("a", "f-0", 1)
    table.base_file("a", "g-0", 2)
    table.base_file("a", "h-0", 3)
    table.commit(1, 9)
    table.commit(2, 4)
    table.commit(3, 5)
    assert slices(table, as_of=at(2)) == {("a", "f-0"): at(1), ("a", "g-0"): at(2)}


def test_a_snapshot_before_the_first_write_is_empty(table):
    table.base_file("a", "f-0", 5)
    table.commit(5, 6)
    assert slices(table, as_of=at(1)) == {}


def test_only_folders_with_a_partition_metafile_are_partitions(table):
    table.base_file("a", "f-0", 1)
    table.base_file("x/y", "g-0", 1)
    table.storage.put("stray/f-1_0-0-0_20240101000000001.parquet", b"")
    table.storage.put(".hoodie/metadata/files/.hoodie_partition_metadata", b"")
    assert list_partitions(table.storage) == ["a", "x/y"]


def test_a_partition_inside_a_partition_is_none(table):
    table.base_file("a", "f-0", 1)
    table.base_file("a/b", "g-0", 1)
    assert list_partitions(table.storage) == ["a"]


def test_an_unpartitioned_table_is_its_base_folder(table):
    table.base_file("", "f-0", 1)
    table.base_file("a", "g-0", 1)
    assert list_partitions(table.storage) == [""]


def test_an_unpartitioned_table_is_its_base_folder_though_the_metafile_got_lost():
    table = HandMadeTable(partition_by=())
    table.base_file("", "f-0", 1)
    table.commit(1, 2)
    table.storage.delete(".hoodie_partition_metadata")
    assert slices(table) == {("", "f-0"): at(1)}


@pytest.mark.parametrize("name", ["notes.txt", "part-0.snappy.parquet", "f-1_0-0-0_20240101000000001.orc", "_SUCCESS"])
def test_a_file_that_is_no_base_file_is_passed_over(table, name):
    table.base_file("a", "f-0", 1)
    table.storage.put(f"a/{name}", b"anything")
    table.commit(1, 2)
    assert slices(table) == {("a", "f-0"): at(1)}


def test_a_log_file_of_a_completed_write_belongs_to_its_slice(table):
    table.base_file("a", "f-0", 1)
    table.storage.put(f"a/.f-0_{at(3)}.log.1_0-0-0", b"")
    table.commit(1, 2)
    table.commit(3, 4)
    (found,) = load_snapshot(table.context()).slices
    assert [log.path for log in found.log_files] == [f"a/.f-0_{at(3)}.log.1_0-0-0"]


def test_a_log_file_of_a_pending_write_is_not_seen(table):
    table.base_file("a", "f-0", 1)
    table.storage.put(f"a/.f-0_{at(3)}.log.1_0-0-0", b"")
    table.commit(1, 2)
    (found,) = load_snapshot(table.context()).slices
    assert found.log_files == ()


def late_write(table):
    """A write that was requested before a compaction (5) and completed after it, as what it wrote says."""
    table.base_file("a", "f-0", 1)
    table.base_file("a", "f-0", 5)
    table.storage.put(f"a/.f-0_{at(3)}.log.1_0-0-0", b"")
    for requested, completed in ((1, 2), (3, 7), (5, 6), (8, 9)):
        table.commit(requested, completed)


def logs_seen(table):
    (found,) = load_snapshot(table.context()).slices
    return [log.path for log in found.log_files]


def test_the_log_file_of_a_late_write_stays_on_top_when_the_write_is_archived(table):
    late_write(table)
    before = logs_seen(table)
    table.archive(1, [(1, 2, "commit"), (3, 7, "deltacommit"), (5, 6, "commit")])
    assert logs_seen(table) == before == [f"a/.f-0_{at(3)}.log.1_0-0-0"]


def test_what_a_compaction_holds_is_not_read_again_when_it_is_archived(table):
    late_write(table)
    # The archive has the last word on when the write completed: here, before the compaction was requested.
    table.archive(1, [(1, 2, "commit"), (3, 4, "deltacommit"), (5, 6, "commit")])
    assert logs_seen(table) == []


def test_the_archive_is_read_only_where_it_decides(table, monkeypatch):
    late_write(table)
    table.archive(1, [(1, 2, "commit")])
    table.archive(2, [(3, 7, "deltacommit")])
    table.archive(3, [(5, 6, "commit")])
    read, paths = table.storage.read, []
    monkeypatch.setattr(table.storage, "read", lambda path, *a: (paths.append(path), read(path, *a))[1])
    assert len(logs_seen(table)) == 1
    assert [p.rpartition("/")[2] for p in paths if p.endswith(".parquet")] == [f"{at(3)}_{at(3)}_0.parquet"]


def test_the_archive_is_not_read_for_a_table_without_late_writes(table, monkeypatch):
    table.base_file("a", "f-0", 1)
    table.storage.put(f"a/.f-0_{at(3)}.log.1_0-0-0", b"")
    for requested, completed in ((1, 2), (3, 4), (8, 9)):
        table.commit(requested, completed)
    table.archive(1, [(1, 2, "commit"), (3, 4, "deltacommit")])
    read, paths = table.storage.read, []
    monkeypatch.setattr(table.storage, "read", lambda path, *a: (paths.append(path), read(path, *a))[1])
    assert len(logs_seen(table)) == 1
    assert not [p for p in paths if "/history/" in p]


def test_a_read_optimized_query_leaves_log_files_out(table):
    table.base_file("a", "f-0", 1)
    table.storage.put(f"a/.f-0_{at(1)}.log.1_0-0-0", b"")
    table.commit(1, 2)
    assert slices(table, read_optimized=True) == {("a", "f-0"): at(1)}


def test_a_file_of_change_data_is_no_log_file_of_the_slice(table):
    table.base_file("a", "f-0", 1)
    table.storage.put(f"a/.f-0_{at(1)}.log.1_0-0-0.cdc", b"")
    table.commit(1, 2)
    assert slices(table) == {("a", "f-0"): at(1)}


def test_base_files_of_another_format_are_refused():
    table = HandMadeTable(properties={"hoodie.table.base.file.format": "HFILE"})
    with pytest.raises(UnsupportedTableError, match="HFILE"):
        load_snapshot(table.context(), read_optimized=True)


class VanishingInstant:
    """A storage from which one replace commit vanishes (is archived) right after the timeline was listed."""

    def __init__(self, table):
        self.table = table
        self.reads = 0

    def __call__(self, path, *args, **kwargs):
        if path.endswith(".replacecommit"):
            self.reads += 1
            self.table.storage.delete([path])
            raise NotFoundError(path)
        return type(self.table.storage).read(self.table.storage, path, *args, **kwargs)


def test_an_instant_that_is_archived_meanwhile_makes_the_timeline_be_loaded_again(table):
    table.base_file("a", "f-0", 3)
    table.commit(1, 2, replaces={"a": ["gone-0"]})
    table.commit(3, 4)
    vanishing = VanishingInstant(table)
    table.storage.read = vanishing
    assert slices(table) == {("a", "f-0"): at(3)}
    assert vanishing.reads == 1


def test_a_timeline_that_is_given_is_not_loaded_again(table):
    table.base_file("a", "f-0", 1)
    table.commit(1, 2)
    timeline = load_timeline(table.storage, table.context().config)
    table.base_file("a", "f-0", 3)
    table.commit(3, 4)
    assert slices(table, timeline=timeline) == {("a", "f-0"): at(1)}


@given(
    writes=st.lists(
        st.tuples(st.sampled_from(["f-0", "g-0", "h-0"]), st.booleans()), min_size=1, max_size=8, unique_by=None
    ),
    asked=st.integers(0, 8),
)
def test_each_file_group_has_its_greatest_completed_time_up_to_the_snapshot_time(writes, asked):
    table = HandMadeTable()
    expected = {}
    failed = [moment for moment, (_, completes) in enumerate(writes, start=1) if not completes]
    for moment, (file_id, completes) in enumerate(writes, start=1):
        table.storage.put("a/.hoodie_partition_metadata", b"")
        table.storage.put(f"a/{file_id}_0-0-0_{at(moment)}.parquet", b"")
        if completes:
            table.commit(moment, 100 - moment)
            if moment <= asked and not any(f <= asked for f in failed):
                expected["a", file_id] = at(moment)
    if any(f <= asked for f in failed):
        return
    assert slices(table, as_of=at(asked)) == expected
