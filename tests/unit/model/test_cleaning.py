"""Cleaning takes nothing from a query within retention, from a writer or from a pending compaction (S02, S10, S30).

The shortest histories that break a promise have their lengths beside them; they are facts of the model, which change
only with its rules.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from drawstring_model.config import CLUSTERED, COPY_ON_WRITE, MERGE_ON_READ, Bounds, Config, PlantedBug, upsert
from drawstring_model.core.module import with_part
from drawstring_model.core.protocol import Protocol, apply, refusal, start
from drawstring_model.core.state import FREE, Commit, DataFile, Move, State, World, WrittenFile
from drawstring_model.explorer import explore
from drawstring_model.invariants import Promise
from drawstring_model.modules.cleaning import Cleaning, CleaningPolicy, Cleans, earliest_kept, files_to_clean
from drawstring_model.modules.clustering import ClusteringPlan, Clusterings
from drawstring_model.modules.queries import QueryModule, running_query
from drawstring_model.narrate import narrate
from drawstring_model.storage_view import storage_view
from drawstring_spec.instants import Action
from drawstring_spec.instants import State as InstantState
from drawstring_spec.steps import Step

CALM = Bounds(workload=(upsert(1),) * 3, groups=1, faults=0)
TWO = replace(CALM, workload=(upsert(1),) * 2)
BY_VERSIONS = CleaningPolicy.KEEP_LATEST_FILE_VERSIONS
READER, CLEANER = 2, 3
"""Numbers of the processes beside two writers."""


def cleaned(bounds=CALM, *, queries=1, modules=COPY_ON_WRITE, **switches):
    return Config(modules=(*modules, QueryModule(queries=queries), Cleaning(**switches)), bounds=bounds)


def story(config, promise):
    example = explore(config, until=promise).counterexamples[promise]
    return len(example.moves), narrate(example, config)


def completed(world):
    return any(
        clean.state is InstantState.COMPLETED
        for _, part in world.parts
        if isinstance(part, Cleans)
        for clean in part.all
    )


def versions(*times, pending=(), groups=(1,)):
    """A table on which each of `times` wrote key 1 to each of `groups`, right after one another."""
    files = tuple(DataFile(group, time, 0, ((1, time),)) for group in groups for time in times)
    commits = tuple(
        Commit(time, time + 1, tuple(WrittenFile(g, 0, None, ((1, time),)) for g in groups), ((1, time),), ())
        for time in times
    )
    requested = tuple(sorted((*times, *pending)))
    return World(
        requested=requested, inflight=requested, commits=commits, files=files, metadata=times, lock=FREE, clock=90
    )


def in_the_lock(world, config):
    """`world` with all processes of `config` idle, but for the cleaner, which holds the lock."""
    state = State(world, start(config).writers)
    return apply(state, Move(Step.ACQUIRE_LOCK, CLEANER), config)


@pytest.mark.parametrize("locks", [True, False])
def test_every_promise_holds_beside_a_clean_with_or_without_the_lock(locks):
    exploration = explore(cleaned(locks=locks), witnesses={"end": completed})

    assert exploration.exhausted
    assert not exploration.counterexamples
    assert exploration.witnesses["end"] > 0


def test_a_clean_whose_cleaner_crashed_is_continued_to_the_end():
    bounds = replace(TWO, faults=1, crashes=1, heartbeat_expiries=0, lock_expiries=0)

    exploration = explore(
        cleaned(bounds, queries=0, policy=BY_VERSIONS),
        witnesses={"end": lambda world: bool(world.crashes) and completed(world)},
    )

    assert exploration.exhausted
    assert exploration.witnesses["end"] > 0
    assert set(exploration.counterexamples) <= {Promise.CONSISTENT_READ, Promise.TIME_TRAVEL_STABILITY}


def test_a_second_clean_is_not_planned_before_the_first_is_run():
    config = cleaned()
    state = in_the_lock(versions(1, 3, 5), config)

    planned = apply(state, Move(Step.SCHEDULE_CLEAN, CLEANER, time=100), config)

    assert refusal(planned, Move(Step.SCHEDULE_CLEAN, CLEANER, time=101), config) == (
        "another clean is pending, which is run first"
    )


def test_a_clean_keeps_the_last_commits_and_the_slice_right_before_them():
    config = cleaned(retained=2)

    assert earliest_kept(versions(1, 3, 5, 7), config) == 5
    assert files_to_clean(versions(1, 3, 5, 7), config) == ((1, 1, 0),)


def test_a_clean_keeps_what_a_pending_write_builds_on():
    config = cleaned(retained=1)

    assert earliest_kept(versions(1, 3, 7, pending=(4,)), config) == 3
    assert files_to_clean(versions(1, 3, 7, pending=(4,)), config) == ()


def test_a_clean_keeps_versions_of_each_file_group():
    config = cleaned(retained=2, policy=BY_VERSIONS)

    assert files_to_clean(versions(1, 3, 5, groups=(1, 2)), config) == ((1, 1, 0), (2, 1, 0))


def replaced(world, time):
    """`world` with the slice of group 1 that is the latest replaced by a clustering of `time` into group 2."""
    latest = max(file.requested for file in world.files)
    commit = Commit(time, time + 1, (WrittenFile(2, 0, None, ((1, latest),)),), (), ())
    world = world._replace(
        requested=(*world.requested, time),
        inflight=(*world.inflight, time),
        commits=(*world.commits, commit),
        files=(*world.files, DataFile(2, time, 0, ((1, latest),))),
    )
    return with_part(world, Clusterings((ClusteringPlan(time, ((1, latest),), 2),)))


def test_a_replaced_file_group_goes_once_its_replacement_is_older_than_every_commit_that_is_kept():
    config = cleaned(modules=CLUSTERED)
    kept, over = replaced(versions(1, 3), 5), replaced(versions(1, 3), 5)
    write = Commit(7, 8, (WrittenFile(2, 0, 5, ((1, 7),)),), ((1, 7),), ())
    over = over._replace(commits=(*over.commits, write), files=(*over.files, DataFile(2, 7, 0, ((1, 7),))))

    assert files_to_clean(kept, config) == ((1, 1, 0),)
    assert files_to_clean(over, config) == ((1, 1, 0), (1, 3, 0))


def test_where_versions_are_counted_a_replaced_file_group_goes_at_once():
    config = cleaned(modules=CLUSTERED, policy=BY_VERSIONS)

    assert files_to_clean(replaced(versions(1), 3), config) == ((1, 1, 0),)


def test_every_promise_holds_where_a_replaced_file_group_is_cleaned_beside_a_query():
    config = replace(cleaned(modules=CLUSTERED), bounds=replace(CALM, writers=1, workload=(upsert(1),) * 2))

    def gone(world):
        return completed(world) and not any(file.group == 1 for file in world.files)

    exploration = explore(config, witnesses={"gone": gone})

    assert exploration.exhausted
    assert not exploration.counterexamples
    assert exploration.witnesses["gone"] > 0


def test_a_clean_is_on_the_timeline_in_each_of_its_states():
    config = cleaned()
    state = in_the_lock(versions(1, 3, 5), config)

    for move in (
        Move(Step.SCHEDULE_CLEAN, CLEANER, time=100),
        Move(Step.RELEASE_LOCK, CLEANER),
        Move(Step.RUN_CLEAN, CLEANER),
        Move(Step.CLEAN_FILE, CLEANER, group=1, target=1, token=0),
        Move(Step.ACQUIRE_LOCK, CLEANER),
        Move(Step.COMPLETE_CLEAN, CLEANER, time=101),
    ):
        state = apply(state, move, config)

    cleans = [file for file in storage_view(state, config).timeline if file.action is Action.CLEAN]
    assert {(file.state, file.completion_time) for file in cleans} == {
        (InstantState.REQUESTED, None),
        (InstantState.INFLIGHT, None),
        (InstantState.COMPLETED, 101),
    }
    assert {name[:2] for name in storage_view(state, config).data_files} == {(1, 3), (1, 5)}


def test_a_query_as_of_a_time_that_is_not_kept_is_refused():
    config = cleaned()
    state = apply(in_the_lock(versions(1, 3, 5), config), Move(Step.SCHEDULE_CLEAN, CLEANER, time=100), config)

    assert refusal(state, Move(Step.PLAN_QUERY, READER, time=3), config) == "the table has no answer as of 3 any more"
    assert refusal(state, Move(Step.PLAN_QUERY, READER, time=5), config) is None


def test_a_query_whose_file_is_gone_fails_and_does_not_read_fewer_rows():
    config = cleaned()
    state = State(versions(1, 3, 5), start(config).writers)
    state = apply(state, Move(Step.PLAN_QUERY, READER, time=1), config)
    state = state._replace(world=state.world._replace(files=state.world.files[1:]))

    state = apply(state, Move(Step.OPEN_FILE, READER), config)

    assert running_query(state.world) is None


def test_cleaning_without_queries_beside_it_is_refused():
    with pytest.raises(ValueError, match="cleaning has to come after queries"):
        Protocol((Cleaning(),))


class TestS02CleanOfALiveSlice:
    """9674, 6022: the cleaner deletes what readers need, because it takes a pending write's file for a version."""

    def test_a_clean_that_counts_pending_files_takes_rows_from_readers_of_now(self):
        config = replace(cleaned(TWO, policy=BY_VERSIONS), planted=PlantedBug.CLEAN_COUNTS_PENDING)

        length, sentences = story(config, Promise.QUERIES_KEEP_FILES)

        assert length == 26
        assert "after 0 later writes" in sentences[-1]

    def test_a_clean_that_counts_completed_versions_takes_none(self):
        assert explore(cleaned(TWO, policy=BY_VERSIONS)).holds(Promise.QUERIES_KEEP_FILES)


class TestS10CleanOfPlannedFiles:
    """19290: the cleaner deletes what a pending compaction is going to merge."""

    def test_a_clean_that_ignores_plans_takes_the_compaction_its_files(self):
        config = cleaned(TWO, queries=0, modules=MERGE_ON_READ, policy=BY_VERSIONS)

        _, sentences = story(replace(config, planted=PlantedBug.CLEAN_PLANNED_SLICES), Promise.PLANNED_FILES_STAY)

        assert "is going to read is gone" in sentences[-1]
        assert any("CleanFile" in sentence for sentence in sentences)

    def test_a_clean_that_heeds_plans_takes_none(self):
        config = cleaned(TWO, queries=0, modules=MERGE_ON_READ, policy=BY_VERSIONS)

        exploration = explore(config)

        assert exploration.exhausted
        assert exploration.holds(Promise.PLANNED_FILES_STAY)
        assert exploration.holds(Promise.LATEST_SNAPSHOT)


class TestS30CleanOfWhatAQueryReads:
    """5020, 8584, 2098: the cleaner removes files that a long-running query planned."""

    def test_a_clean_of_one_slice_too_many_takes_a_query_its_files_within_retention(self):
        config = replace(cleaned(TWO), planted=PlantedBug.CLEAN_ONE_TOO_MANY)

        length, sentences = story(config, Promise.QUERIES_KEEP_FILES)

        assert length == 32
        assert "after 1 later writes, of which 1 are tolerated" in sentences[-1]

    def test_beyond_retention_a_query_loses_its_files(self):
        def lost(world):
            query = running_query(world)
            return query is not None and any(name not in {file[:3] for file in world.files} for name in query.left)

        exploration = explore(cleaned(), witnesses={"lost": lost})

        assert exploration.witnesses["lost"] == 46
        assert exploration.holds(Promise.QUERIES_KEEP_FILES)


class TestReadersLearnTooLateWhatIsKept:
    """A running clean has deleted files, and no completed clean says so yet."""

    def test_a_time_whose_files_a_running_clean_deletes_is_read_without_its_rows(self):
        length, sentences = story(cleaned(heeds_plans=False), Promise.CONSISTENT_READ)

        assert length == 45
        assert sentences[-1].endswith(
            "a snapshot at 1 reads {}, but its commits give {k1: 1} one by one: a contradiction."
        )

    def test_where_versions_are_counted_no_time_is_refused_and_the_past_is_read_without_its_rows(self):
        length, _ = story(cleaned(TWO, policy=BY_VERSIONS), Promise.CONSISTENT_READ)

        assert length == 31


class TestWriterWhoseSnapshotWasCleaned:
    """A slow writer looks keys up after the versions that it builds on were cleaned, and takes known keys for new."""

    BOUNDS = replace(CALM, groups=2)

    def test_without_a_look_at_cleans_a_key_is_inserted_twice(self):
        config = cleaned(self.BOUNDS, queries=0, policy=BY_VERSIONS)

        length, sentences = story(
            replace(config, planted=PlantedBug.IGNORE_CLEANED_SNAPSHOT), Promise.NO_DUPLICATE_KEYS
        )

        assert length == 44
        assert any("new key k1 goes to fg2" in sentence for sentence in sentences)

    def test_where_commits_are_counted_the_clean_waits_for_the_writer(self):
        config = replace(cleaned(self.BOUNDS, queries=0), planted=PlantedBug.IGNORE_CLEANED_SNAPSHOT)

        assert explore(config).holds(Promise.NO_DUPLICATE_KEYS)
