"""What completed is found whole while it is archived: by readers, by readers of changes, and by writers.

The lengths of shortest histories are facts of the model, which change only with its rules. Results that are worth
knowing of Java Hudi stand at the end; `docs/explanation/retention.md` tells them.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from drawstring_model.config import (
    CLUSTERED,
    COPY_ON_WRITE,
    MERGE_ON_READ,
    Bounds,
    Config,
    PlantedBug,
    upsert,
)
from drawstring_model.core.invariants import consistent_read
from drawstring_model.core.module import part, with_part
from drawstring_model.core.protocol import Protocol, apply, enabled, refusal, start
from drawstring_model.core.reader import read_snapshot
from drawstring_model.core.state import FREE, Commit, DataFile, Move, State, World, WrittenFile
from drawstring_model.explorer import explore
from drawstring_model.invariants import Promise
from drawstring_model.modules.archival import Archival, SecondArchiver, instants_to_archive
from drawstring_model.modules.archived import (
    Archive,
    ArchivedFile,
    archived_entries,
    changes_since,
    counts_as_completed,
    history_is_whole,
    timeline_start,
)
from drawstring_model.modules.cleaning import Clean, Cleans
from drawstring_model.modules.partition_deletes import PartitionDelete, PartitionDeleteModule, PartitionDeletes
from drawstring_model.modules.savepoints import Savepoint, Savepoints
from drawstring_model.modules.two_timelines import Look, TwoTimelines
from drawstring_model.narrate import narrate
from drawstring_model.storage_view import storage_view
from drawstring_spec.instants import State as InstantState
from drawstring_spec.steps import Step

CALM = Bounds(workload=(upsert(1),) * 2, groups=1, faults=0)
THREE = replace(CALM, workload=(upsert(1),) * 3)
ONE_CRASH = replace(CALM, faults=1, crashes=1, heartbeat_expiries=0, lock_expiries=0)
ARCHIVER = 2
"""Number of the archiver beside two writers."""


def archived(bounds=CALM, *, modules=COPY_ON_WRITE, beside=(), planted=None, **switches):
    return Config(modules=(*modules, Archival(**switches), *beside), bounds=bounds, planted=planted)


def written(*times, pending=()):
    """A table on which each of `times` wrote key 1, right after one another, and nothing is archived."""
    return World(
        requested=tuple(sorted((*times, *pending))),
        inflight=tuple(sorted((*times, *pending))),
        commits=tuple(Commit(t, t + 1, (WrittenFile(1, 0, None, ((1, t),)),), ((1, t),), ()) for t in times),
        files=tuple(DataFile(1, time, 0, ((1, time),)) for time in times),
        metadata=times,
        lock=FREE,
        clock=90,
    )


def dropped(world, *times, entries=None):
    """`world` with `times` archived, and nothing left of them on the active timeline."""
    file = ArchivedFile(entries or tuple((time, time + 1) for time in times))
    return with_part(world, Archive((file,), 1, (file.name,), times, times))


def in_the_lock(world, config):
    return apply(State(world, start(config).writers), Move(Step.ACQUIRE_LOCK, ARCHIVER), config)


def run_of(config, state, times):
    """Every move of a run that archives `times`."""
    moves = [Move(Step.WRITE_ARCHIVED_FILE, ARCHIVER), Move(Step.PUBLISH_MANIFEST, ARCHIVER)]
    moves += [Move(Step.DROP_PENDING_FILES, ARCHIVER, target=time) for time in times]
    moves += [Move(Step.DROP_COMPLETED_FILE, ARCHIVER, target=time) for time in times]
    for move in moves:
        state = apply(state, move, config)
    return state


def played(config, state, writer, *steps):
    """`state` after `steps` of one process, each taken as the explorer first proposes it."""
    for step in steps:
        move = next(move for move in enabled(state, config) if move.step is step and move.writer == writer)
        state = apply(state, move, config)
    return state


def story(config, promise):
    example = explore(config, until=promise).counterexamples[promise]
    return len(example.moves), narrate(example, config)


@pytest.mark.parametrize("locks", [True, False])
def test_every_promise_holds_beside_an_archiver_with_or_without_the_lock(locks):
    exploration = explore(archived(THREE, locks=locks), witnesses={"two": lambda w: len(part(w, Archive).dropped) > 1})

    assert exploration.exhausted
    assert not exploration.counterexamples
    assert exploration.witnesses["two"] > 0


def test_a_run_that_crashed_anywhere_is_done_again_to_the_end():
    exploration = explore(
        archived(ONE_CRASH), witnesses={"again": lambda w: bool(w.crashes) and bool(part(w, Archive).dropped)}
    )

    assert exploration.exhausted
    assert not exploration.counterexamples
    assert exploration.witnesses["again"] > 0


def test_a_reader_of_both_timelines_finds_every_write_that_was_complete_when_it_began():
    exploration = explore(
        archived(beside=(TwoTimelines(),)),
        witnesses={"both": lambda w: bool({*(part(w, Look).active or ())} & {*(part(w, Look).archived or ())})},
    )

    assert exploration.exhausted
    assert not exploration.counterexamples
    assert exploration.witnesses["both"] > 0


def test_log_files_keep_their_slices_when_their_writes_are_archived():
    exploration = explore(archived(modules=MERGE_ON_READ))

    assert exploration.exhausted
    assert not exploration.counterexamples


def test_a_clustering_stays_while_what_it_replaced_is_there():
    exploration = explore(archived(modules=CLUSTERED))

    assert exploration.exhausted
    assert not exploration.counterexamples


class TestWhatIsArchived:
    """Completed writes from the oldest on, and cleans before the last of them."""

    def test_the_newest_writes_stay(self):
        assert instants_to_archive(written(1, 3, 5), archived(retained=2)) == (1,)

    def test_nothing_is_archived_of_few_writes(self):
        assert instants_to_archive(written(1, 3), archived(retained=2)) == ()

    def test_the_last_write_before_the_first_pending_one_stays(self):
        assert instants_to_archive(written(1, 3, 7, 9, pending=(5,)), archived()) == (1,)

    def test_nothing_is_archived_behind_a_pending_write(self):
        assert instants_to_archive(written(3, 5, 7, pending=(1,)), archived()) == ()

    def test_nothing_is_archived_from_the_first_savepoint_on(self):
        world = with_part(written(1, 3, 5, 7), Savepoints((Savepoint(3, 90, ()),)))

        assert instants_to_archive(world, archived()) == (1,)

    def test_a_delete_of_the_partition_stays_while_what_it_replaced_is_there(self):
        delete = Commit(5, 6, (), ((1, None),), ())
        world = with_part(written(1, 3), PartitionDeletes((PartitionDelete(5, (1,)),)))
        world = world._replace(commits=(*world.commits, delete, Commit(7, 8, (), (), ())))

        assert instants_to_archive(world, archived()) == (1, 3)
        assert instants_to_archive(world._replace(files=()), archived()) == (1, 3, 5)

    def test_who_reads_after_a_delete_of_the_partition_was_archived_sees_what_is_there_again(self):
        config = archived(modules=CLUSTERED, beside=(PartitionDeleteModule(),))
        world = with_part(written(1), PartitionDeletes((PartitionDelete(3, (1,)),)))
        world = world._replace(commits=(*world.commits, Commit(3, 4, (), ((1, None),), ()), Commit(5, 6, (), (), ())))

        assert read_snapshot(world, 5, config) == ()
        assert read_snapshot(dropped(world, 1, 3), 5, config) == ((1, 1),)

    def test_there_is_no_savepoint_of_what_is_archived(self):
        guard = Archival.guards[Step.CREATE_SAVEPOINT]
        world, config = dropped(written(1, 3), 1), archived()
        idle = start(config).writers[0]

        refused = [guard(world, idle, Move(Step.CREATE_SAVEPOINT, ARCHIVER, target=time), config) for time in (1, 3)]

        assert refused == ["1 is archived", None]

    def test_completed_cleans_go_with_the_writes_that_follow_them(self):
        cleans = tuple(Clean(time, InstantState.COMPLETED, time + 1, 0, ()) for time in (2, 6))
        world = with_part(written(1, 3, 5), Cleans((*cleans, Clean(4, InstantState.INFLIGHT, None, 0, ()))))

        assert instants_to_archive(world, archived()) == (1, 2, 3)

    def test_what_left_the_active_timeline_is_not_archived_again(self):
        assert instants_to_archive(dropped(written(1, 3, 5), 1), archived()) == (3,)


class TestARun:
    """File, manifest, pending-state files, completed files: in this order."""

    def test_a_run_takes_both_kinds_of_files_from_the_active_timeline(self):
        config = archived()

        state = run_of(config, in_the_lock(written(1, 3, 5), config), (1, 3))

        assert {file.requested_time for file in storage_view(state, config).timeline} == {5}
        assert archived_entries(state.world) == {1: 2, 3: 4}

    def test_the_lock_is_kept_during_a_run_and_given_back_after_it(self):
        config, give_back = archived(), Move(Step.RELEASE_LOCK, ARCHIVER)
        state = in_the_lock(written(1, 3, 5), config)

        begun = apply(state, Move(Step.WRITE_ARCHIVED_FILE, ARCHIVER), config)

        assert refusal(begun, give_back, config) == "the archiver has not finished what it archives"
        assert refusal(run_of(config, state, (1, 3)), give_back, config) is None

    @pytest.mark.parametrize(
        ("move", "why"),
        [
            (Move(Step.DROP_PENDING_FILES, ARCHIVER, target=1), "no manifest of the archiver's names what it archived"),
            (
                Move(Step.DROP_COMPLETED_FILE, ARCHIVER, target=1),
                "no manifest of the archiver's names what it archived",
            ),
            (Move(Step.WRITE_ARCHIVED_FILE, ARCHIVER), "the archiver has not finished what it archives"),
        ],
    )
    def test_nothing_is_dropped_before_the_manifest(self, move, why):
        config = archived()
        begun = apply(in_the_lock(written(1, 3), config), Move(Step.WRITE_ARCHIVED_FILE, ARCHIVER), config)

        assert refusal(begun, move, config) == why

    def test_completed_files_are_dropped_last_and_in_ascending_order(self):
        config = archived()
        state = in_the_lock(written(1, 3, 5), config)
        for step in (Step.WRITE_ARCHIVED_FILE, Step.PUBLISH_MANIFEST):
            state = apply(state, Move(step, ARCHIVER), config)

        early = refusal(state, Move(Step.DROP_COMPLETED_FILE, ARCHIVER, target=1), config)
        for time in (1, 3):
            state = apply(state, Move(Step.DROP_PENDING_FILES, ARCHIVER, target=time), config)
        younger = refusal(state, Move(Step.DROP_COMPLETED_FILE, ARCHIVER, target=3), config)

        assert early == "pending-state files are left, which would look like those of pending instants"
        assert younger == "the instant is not the next one"

    def test_what_a_manifest_names_already_is_not_written_again(self):
        config, world = archived(), written(1, 3)
        file = ArchivedFile(((1, 2),))
        state = in_the_lock(with_part(world, Archive((file,), 1, (file.name,))), config)

        again = apply(state, Move(Step.WRITE_ARCHIVED_FILE, ARCHIVER), config)

        assert part(again.world, Archive) == part(state.world, Archive)
        assert refusal(again, Move(Step.DROP_PENDING_FILES, ARCHIVER, target=1), config) is None

    def test_without_the_lock_nothing_is_archived_where_archivers_lock(self):
        config = archived()
        state = State(written(1, 3), start(config).writers)

        assert refusal(state, Move(Step.WRITE_ARCHIVED_FILE, ARCHIVER), config) == (
            "the archiver does not hold the table lock"
        )


class TestWhatIsFound:
    """On the active timeline, before its start, and in the archive."""

    def test_what_is_older_than_the_timeline_counts_as_completed_once_there_is_an_archive(self):
        config, world = archived(), written(3, 5)
        found = [counts_as_completed(each, 1, config, asks_archive=False) for each in (world, dropped(world, 3))]

        assert timeline_start(dropped(world, 3)) == 5
        assert found == [False, True]

    def test_who_asks_the_archive_is_told_which_of_them_completed(self):
        world = dropped(written(3, 5), 3)

        found = [counts_as_completed(world, time, archived(), asks_archive=True) for time in (1, 3)]

        assert found == [False, True]

    def test_changes_are_those_of_both_timelines_each_once(self):
        world = dropped(written(1, 3, 5), 1, 3)

        assert [changes_since(world, checkpoint, archived()) for checkpoint in (0, 2, 4, 6)] == [
            (1, 3, 5),
            (3, 5),
            (5,),
            (),
        ]

    def test_a_completion_time_that_was_changed_is_noticed(self):
        world = dropped(written(1, 3), 1, entries=((1, 9),))

        assert history_is_whole(world, archived()) == "the instant 1 completed at 2, but at 9 by the archive"

    def test_archival_without_rollbacks_is_refused(self):
        with pytest.raises(ValueError, match="archival has to come after rollback"):
            Protocol((Archival(),))


class TestTwoArchivers:
    """The table lock keeps archivers apart; without it the number of the manifest does."""

    BOTH = archived(beside=(SecondArchiver(),), locks=False)

    def test_where_the_storage_refuses_the_second_manifest_nothing_is_lost(self):
        exploration = explore(self.BOTH)

        assert exploration.exhausted
        assert not exploration.counterexamples

    def test_where_it_replaces_the_first_one_instants_are_on_neither_timeline(self):
        config = replace(self.BOTH, bounds=THREE, put_if_absent=False)

        length, sentences = story(config, Promise.HISTORY_IS_WHOLE)

        assert length == 47
        assert "the completed instant 3 is on neither timeline" in sentences[-1]


def in_two_files(world):
    """An instant of the archive is in two files of one manifest."""
    archive = part(world, Archive)
    listed = [file for file in archive.files if file.name in archive.listed]
    return len(archived_entries(world)) < sum(len(file.entries) for file in listed)


class TestAnInstantInTwoFiles:
    """A run that is done again with more instants than before writes those of the first run once more."""

    CRASH = archived(replace(THREE, writers=1, faults=1, heartbeat_expiries=0, lock_expiries=0))

    def test_after_a_crash_an_instant_is_in_two_files_and_is_one_instant(self):
        exploration = explore(self.CRASH, witnesses={"two": in_two_files})

        assert exploration.witnesses["two"] == 49
        assert not exploration.counterexamples

    def test_without_a_crash_each_is_in_one(self):
        config = replace(self.CRASH, bounds=replace(self.CRASH.bounds, faults=0))

        exploration = explore(config, witnesses={"two": in_two_files})

        assert exploration.exhausted
        assert not exploration.witnesses


class TestTheWriterThatDidNotKnow:
    """A writer that hung writes a file after its write was rolled back; the timeline's start passes its time."""

    HANGS = archived(
        Bounds(
            workload=(upsert(2), upsert(1), upsert(1)),
            faults_until=1,
            crashes=0,
            lock_expiries=0,
        )
    )

    @pytest.mark.slow
    def test_its_rows_come_to_life_with_the_archive(self):
        length, sentences = story(self.HANGS, Promise.CONSISTENT_READ)

        assert length == 41
        assert "WriteArchivedFile" in sentences[-2]
        assert "a snapshot at 2 reads {k1: 2, k2: 1}, but its commits give {k1: 2} one by one" in sentences[-1]

    def test_a_reader_that_asks_the_archive_does_not_see_them(self):
        world = dropped(written(3, 5), 3)
        world = world._replace(files=(*world.files, DataFile(2, 1, 0, ((2, 1),))))

        rows = [read_snapshot(world, 5, archived(asks_archive=asks)) for asks in (False, True)]

        assert rows == [((1, 5), (2, 1)), ((1, 5),)]


class TestTheInflightFileThatComesLate:
    """A writer that hung puts its inflight file after its rollback, and after the archival of what followed."""

    HANGS = archived(replace(THREE, faults=1, crashes=0, lock_expiries=0, faults_until=1))
    REQUEST = (Step.ACQUIRE_LOCK, Step.GENERATE_REQUESTED_TIME, Step.START_HEARTBEAT, Step.REQUEST_INSTANT)
    WRITE = (*REQUEST, Step.RELEASE_LOCK, Step.LOOKUP_KEYS, Step.START_INFLIGHT, Step.WRITE_FILE)
    COMPLETE = (Step.ACQUIRE_LOCK, Step.CHECK_CONFLICTS, Step.UPDATE_METADATA, Step.COMPLETE_INSTANT, Step.RELEASE_LOCK)
    ROLL_BACK = (Step.REQUEST_ROLLBACK, Step.START_ROLLBACK, Step.REMOVE_INSTANT, Step.COMPLETE_ROLLBACK)
    ARCHIVE = (Step.WRITE_ARCHIVED_FILE, Step.PUBLISH_MANIFEST, Step.DROP_PENDING_FILES, Step.DROP_COMPLETED_FILE)

    @pytest.mark.parametrize("asks_archive", [False, True])
    def test_what_lies_between_it_and_the_rest_is_lost_to_readers(self, asks_archive):
        config = replace(self.HANGS, modules=(*COPY_ON_WRITE, Archival(asks_archive=asks_archive)))
        state = played(config, start(config), 0, *self.REQUEST, Step.RELEASE_LOCK, Step.LOOKUP_KEYS)
        state = played(config, state, None, Step.EXPIRE_HEARTBEAT)
        state = played(config, state, 1, Step.ACQUIRE_LOCK, *self.ROLL_BACK, Step.RELEASE_LOCK)
        for _ in range(2):
            state = played(config, state, 1, *self.WRITE, *self.COMPLETE, Step.STOP_HEARTBEAT)
        state = played(config, state, ARCHIVER, Step.ACQUIRE_LOCK, *self.ARCHIVE)
        whole = consistent_read(state.world, config)

        late = played(config, state, 0, Step.START_INFLIGHT)

        assert whole is None
        assert "reads {}, but its commits give {k1: 2} one by one" in (consistent_read(late.world, config) or "")


class TestTheRequestThatComesLate:
    """A requested file that its writer puts after its lease ran out begins the timeline before what is archived."""

    LATE = archived(replace(THREE, faults=1, crashes=0, heartbeat_expiries=0, faults_until=1))

    def test_what_lies_between_it_and_the_rest_is_lost_to_readers(self):
        length, sentences = story(self.LATE, Promise.CONSISTENT_READ)

        assert length == 37
        assert any("w1 puts 1.commit.requested" in sentence for sentence in sentences[32:])


class TestTheConflictThatWasArchived:
    """A write that completes late is archived before another one, which did not see it, compares its work."""

    CONFIG = archived(
        replace(CALM, workload=(upsert(1), upsert(2), upsert(1)), groups=2), planted=PlantedBug.COMPARE_ACTIVE_ONLY
    )

    def test_who_compares_with_the_active_timeline_only_stores_a_key_twice(self):
        length, sentences = story(self.CONFIG, Promise.NO_DUPLICATE_KEYS)

        assert length == 45
        assert any("finds nothing against 4" in sentence for sentence in sentences)
