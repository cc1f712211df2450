"""Which slice a log file belongs to, and which slice a query reads."""

from __future__ import annotations

from drawstring.files import BaseFile, FileGroupId, LogFile
from drawstring.read.file_groups import Facts, choose_slices, log_order
from drawstring_spec.names import LogFileName

GROUP = FileGroupId("p", "f-0")


def at(minute: int) -> str:
    return f"202401010000{minute:02d}000"


def base(minute: int) -> BaseFile:
    return BaseFile(f"p/f-0_0-0-0_{at(minute)}.parquet", GROUP, at(minute), 1)


def log(minute: int, *, version: int = 1, token: str = "0-0-0") -> LogFile:
    return LogFile(f"p/.f-0_{at(minute)}.log.{version}_{token}", GROUP, at(minute), 1)


def facts(completed: dict[int, int], *, as_of: int = 59, compaction: int | None = None, archived: int | None = None):
    times = {at(requested): at(done) for requested, done in completed.items()}
    pending = {} if compaction is None else {GROUP: at(compaction)}
    before = None if archived is None else at(archived)
    return Facts(frozenset(times), before, times, pending, at(as_of))


def chosen(bases, logs, known):
    """Minutes of the base file and of the log files of the slice that is read; None where there is none."""
    found = choose_slices(bases, logs, known).get(GROUP)
    if found is None:
        return None
    minute = None if found.base_file is None else int(found.base_file.requested_time[12:14])
    return minute, [int(f.requested_time[12:14]) for f in found.log_files]


def test_a_write_that_completes_after_a_compaction_was_requested_belongs_on_top_of_it():
    known = facts({1: 2, 3: 7, 5: 6})
    assert chosen([base(1), base(5)], [log(3)], known) == (5, [3])


def test_a_write_that_completes_before_the_compaction_is_part_of_what_it_rewrote():
    known = facts({1: 2, 3: 4, 5: 6})
    assert chosen([base(1), base(5)], [log(3)], known) == (5, [])


def test_slicing_by_requested_time_would_lose_the_late_write():
    # The planted reading: with the requested time in place of the completion time the log is not on top.
    wrong = Facts(frozenset({at(1), at(3), at(5)}), None, {at(3): at(3)}, {}, at(59))
    assert chosen([base(1), base(5)], [log(3)], wrong) == (5, [])


def test_while_a_compaction_is_pending_the_slice_before_it_goes_on():
    known = facts({1: 2, 3: 4, 6: 7}, compaction=5)
    assert chosen([base(1)], [log(3), log(6)], known) == (1, [3, 6])


def test_what_a_pending_compaction_has_written_is_not_read():
    known = facts({1: 2, 3: 4}, compaction=5)
    assert chosen([base(1), base(5)], [log(3)], known) == (1, [3])


def test_before_a_pending_compaction_the_slice_is_read_as_it_was():
    known = facts({1: 2, 3: 4, 6: 7}, compaction=5, as_of=4)
    assert chosen([base(1)], [log(3), log(6)], known) == (1, [3])


def test_the_log_files_of_pending_writes_are_not_read():
    assert chosen([base(1)], [log(3)], facts({1: 2})) == (1, [])


def test_a_group_of_log_files_only_is_named_by_the_first():
    assert chosen([], [log(3), log(5)], facts({3: 4, 5: 6})) == (None, [3, 5])


def test_a_group_whose_only_write_is_pending_is_not_there():
    assert chosen([], [log(3)], facts({})) is None


def test_a_snapshot_sees_what_was_requested_up_to_its_time_even_if_it_completed_later():
    known = facts({1: 2, 3: 9}, as_of=4)
    assert chosen([base(1)], [log(3)], known) == (1, [3])


def test_a_snapshot_before_the_first_file_sees_no_group():
    assert chosen([base(3)], [], facts({3: 4}, as_of=2)) is None


def test_archived_writes_count_as_completed():
    known = facts({5: 6}, archived=5)
    assert chosen([base(1)], [log(3), log(5)], known) == (1, [3, 5])


def test_log_files_are_merged_in_the_order_of_time_version_and_token():
    files = [log(5), log(3, version=10), log(3, version=9), log(3, version=9, token="0-0-1")]
    ordered = [LogFileName.parse(f.path.rpartition("/")[2]) for f in sorted(files, key=log_order)]
    assert [(n.requested_time, n.version, str(n.write_token)) for n in ordered] == [
        (at(3), 9, "0-0-0"),
        (at(3), 9, "0-0-1"),
        (at(3), 10, "0-0-0"),
        (at(5), 1, "0-0-0"),
    ]
