"""What completed writes of the metadata table say that they wrote is there, or the partition is refused."""

from __future__ import annotations

import pytest

from drawstring.errors import CorruptFileError
from drawstring.log_files.blocks import LogBlock
from drawstring.metadata.lost_writes import check_all_there, check_any_there, written_groups
from drawstring.metadata.slices import INITIAL_PREFIX, Instants, MetadataSlice
from drawstring.ports import FileStatus
from drawstring.timeline.timeline import Timeline
from drawstring_spec.instants import Action, Instant, State
from drawstring_spec.log_format import BlockType, HeaderKey
from unit.impl.read.tables import at

INITIAL = INITIAL_PREFIX + "000"
GROUP = "files-0000-0"


def write(requested_time: str, completion_time: str, state: State = State.COMPLETED) -> Instant:
    return Instant(requested_time, Action.DELTA_COMMIT, state, completion_time if state is State.COMPLETED else None)


class Told:
    """Says of each write what it wrote, and remembers of which it was asked."""

    def __init__(self, *groups: str) -> None:
        self.groups, self.asked = groups, list[str]()

    def __call__(self, instant: Instant, _: str) -> tuple[str, ...]:
        self.asked.append(instant.requested_time)
        return self.groups


def check(
    writes: list[Instant], blocks: list[LogBlock], told: Told, *, base_time: str = INITIAL, partition: str = "files"
) -> None:
    base = FileStatus("files/base.hfile", 1, 0, "") if base_time else None
    own = Instants(Timeline(tuple(writes)), frozenset(), lambda: False, lambda _: {}, told)
    check_all_there(partition, MetadataSlice(GROUP, base, (), base_time), blocks, own)


def block(time: str | None, kind: BlockType = BlockType.HFILE_DATA) -> LogBlock:
    header = {} if time is None else {HeaderKey.INSTANT_TIME: time}
    return LogBlock("log", 0, 1, kind, header, memoryview(b""))


def test_nothing_is_asked_of_writes_that_are_all_there():
    told = Told(GROUP)
    check([write(INITIAL, at(0)), write(at(1), at(2)), write(at(3), at(4))], [block(at(1)), block(at(3))], told)
    assert told.asked == []


def test_a_write_that_is_missing_and_wrote_there_is_an_error():
    with pytest.raises(CorruptFileError, match=rf"{at(3)}.*'files-0000-0' of 'files' is gone"):
        check([write(at(1), at(2)), write(at(3), at(4))], [block(at(1))], Told(GROUP))


def test_a_write_that_wrote_elsewhere_is_not_missed():
    told = Told("files-0001-0")
    check([write(at(1), at(2))], [], told)
    assert told.asked == [at(1)]


def test_a_write_that_was_never_completed_is_not_missed():
    check([write(at(1), "", State.INFLIGHT)], [], Told(GROUP))


def test_what_a_compaction_merged_is_not_missed():
    check([write(at(1), at(2)), write(at(5), at(6))], [], Told(GROUP), base_time=at(5))


def test_a_write_that_completed_after_the_compaction_was_requested_is_missed():
    with pytest.raises(CorruptFileError, match=at(3)):
        check([write(at(3), at(6)), write(at(5), at(5))], [], Told(GROUP), base_time=at(5))


def test_the_first_write_is_missed_where_its_base_file_is_gone():
    with pytest.raises(CorruptFileError, match=INITIAL):
        check([write(INITIAL, at(0))], [], Told(GROUP), base_time="")


def test_other_partitions_are_looked_into_where_a_block_is_damaged():
    told = Told(GROUP)
    check([write(at(1), at(2))], [], told, partition="record_index")
    assert told.asked == []
    with pytest.raises(CorruptFileError, match="record_index"):
        check([write(at(1), at(2))], [block(None, BlockType.CORRUPT)], told, partition="record_index")


def test_listings_without_any_file_are_an_error_once_something_was_written():
    def own(*writes: Instant) -> Instants:
        return Instants(Timeline(writes), frozenset(), lambda: False, lambda _: {}, Told())

    check_any_there("files", [], own())
    check_any_there("record_index", [], own(write(INITIAL, at(0))))
    with pytest.raises(CorruptFileError, match="no file in its partition 'files'"):
        check_any_there("files", [], own(write(INITIAL, at(0))))


@pytest.mark.parametrize("stats", ["x", {"files": "x"}, {"files": ["x"]}, {"files": [{"fileId": 3}]}, [1]])
def test_a_record_whose_statistics_are_none_is_an_error(stats):
    with pytest.raises(CorruptFileError):
        written_groups({"partitionToWriteStats": stats}, "files")
