"""Savepoints keep their files, and a restore brings back exactly what its savepoint has; where not, and in whose hands.

The shortest histories that break a promise have their lengths beside them; they are facts of the model, which change
only with its rules. `TestS32RestoreBesideWriters` is what users have suffered from.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from drawstring_model.config import COPY_ON_WRITE, RESTORED, Bounds, Config, PlantedBug, SnapshotTime, upsert
from drawstring_model.core.module import part, with_part
from drawstring_model.core.protocol import Protocol, apply, refusal, start
from drawstring_model.core.state import Commit, DataFile, Move, State, World, WrittenFile
from drawstring_model.explorer import explore
from drawstring_model.invariants import Promise
from drawstring_model.modules.cleaning import Cleaning, CleaningPolicy, files_to_clean
from drawstring_model.modules.clustering import Clustering, ClusteringPlan, Clusterings
from drawstring_model.modules.log_files import Input, Plan, Plans, pending_plans
from drawstring_model.modules.queries import QueryModule
from drawstring_model.modules.restores import RestoreModule, Restores, to_take_back
from drawstring_model.modules.savepoints import Savepoint, SavepointModule, Savepoints
from drawstring_model.narrate import narrate
from drawstring_model.storage_view import storage_view
from drawstring_spec.instants import Action
from drawstring_spec.instants import State as InstantState
from drawstring_spec.steps import Step

CALM = Bounds(workload=(upsert(1), upsert(1)), groups=1, faults=0)
APART = replace(CALM, workload=(upsert(1), upsert(2)), groups=2)
BY_NATURE = {Promise.TIME_TRAVEL_STABILITY}
"""What a restore breaks, and is meant to: what was read at a time that is taken back is not read again."""
WRITER, CLEANER, OPERATOR = 0, 3, 4
"""Numbers of processes, beside two writers and a reader."""


def restored(bounds=CALM, *, waits=True, queries=0, cleaning=None, **switches):
    cleaning = cleaning or Cleaning(cleans=0)
    modules = (*COPY_ON_WRITE, QueryModule(queries=queries), cleaning, SavepointModule(waits=waits))
    return Config(modules=(*modules, RestoreModule(**switches)), bounds=bounds)


def story(config, promise):
    example = explore(config, until=promise).counterexamples[promise]
    return len(example.moves), narrate(example, config)


def completed(world):
    return [restore for restore in part(world, Restores).all if restore.state is InstantState.COMPLETED]


def table(*times, pending=(), saved=()):
    """A table on which each of `times` wrote key 1 to group 1, right after one another; savepoints of `saved`."""
    files = tuple(DataFile(1, time, 0, ((1, time),)) for time in times)
    commits = tuple(Commit(t, t + 1, (WrittenFile(1, 0, None, ((1, t),)),), ((1, t),), ()) for t in times)
    requested = tuple(sorted((*times, *pending)))
    world = World(requested=requested, inflight=requested, commits=commits, files=files, metadata=times, clock=90)
    return with_part(world, Savepoints(tuple(Savepoint(time, 80, ((1, time, 0),)) for time in saved)))


def begun(world, config, *moves):
    """`world` after the operator took the lock, and `moves`."""
    state = apply(State(world, start(config).writers), Move(Step.ACQUIRE_LOCK, OPERATOR), config)
    for move in moves:
        state = apply(state, move, config)
    return state


PLAN_RESTORE = Move(Step.SCHEDULE_RESTORE, OPERATOR, time=100, target=1)


class TestWithinTheBounds:
    """Two writers, one savepoint, one restore; the writers begin before, between and after."""

    def test_after_a_restore_the_table_is_as_its_savepoint_has_it(self):
        exploration = explore(
            Config(modules=RESTORED, bounds=CALM),
            witnesses={"taken back": lambda world: any(restore.plan for restore in completed(world))},
        )

        assert exploration.exhausted
        assert exploration.counterexamples.keys() == BY_NATURE
        assert exploration.witnesses["taken back"] > 0

    def test_a_restore_whose_operator_crashed_is_continued_to_the_end(self):
        bounds = replace(CALM, writers=1, faults=1, crashes=1, heartbeat_expiries=0, lock_expiries=0)

        exploration = explore(
            restored(bounds),
            witnesses={
                "crashed": lambda world: (
                    bool(world.crashes) and world.started == 2 and any(restore.plan for restore in completed(world))
                )
            },
        )

        assert exploration.exhausted
        assert exploration.counterexamples.keys() == BY_NATURE
        assert exploration.witnesses["crashed"] > 0

    def test_a_lease_that_runs_out_lets_a_requested_file_be_put_after_the_plan_and_its_writer_gives_up(self):
        bounds = replace(CALM, writers=1, faults=1, crashes=0, heartbeat_expiries=0, lock_expiries=1)

        exploration = explore(restored(bounds))

        assert exploration.exhausted
        assert exploration.counterexamples.keys() == BY_NATURE | {Promise.RESTORES_ARE_EXACT}
        example = exploration.counterexamples[Promise.RESTORES_ARE_EXACT]
        assert len(example.moves) == 26
        assert example.finding == "restore 5 to 1 is complete, and 3 is on the timeline"

    def test_a_query_that_runs_while_its_write_is_taken_back_loses_its_file(self):
        bounds = replace(CALM, writers=1)

        length, sentences = story(restored(bounds, queries=1), Promise.QUERIES_KEEP_FILES)

        assert "has lost the file of group 1 that 3 wrote, after 0 later writes" in sentences[-1]
        assert any("UndoWrite" in sentence for sentence in sentences)
        assert length == 35


class TestAfterCompletionOutOfOrder:
    """What is exact, where the order of completions is not that of the requests."""

    def test_what_was_pending_before_the_savepoints_write_is_there_after_the_restore_unless_the_savepoint_waits(self):
        length, sentences = story(restored(APART, waits=False), Promise.RESTORES_ARE_EXACT)

        assert length == 35
        assert "other files are read: that of group 1 by 1, that of group 2 by 2" in sentences[-1]

    def test_what_was_requested_later_and_completed_before_the_savepoint_was_made_is_taken_back(self):
        def later_write_was_complete(world):
            points = {savepoint.requested: savepoint.completion for savepoint in part(world, Savepoints).all}
            return any(commit.completion < points.get(1, 0) for commit in world.commits if commit.requested > 1)

        def taken_back(world):
            return any(restore.savepoint == 1 and restore.plan == (2,) for restore in completed(world))

        exploration = explore(
            restored(APART), witnesses={"complete": later_write_was_complete, "taken back": taken_back}
        )

        assert exploration.exhausted
        assert exploration.counterexamples.keys() == BY_NATURE
        assert exploration.witnesses["complete"] > 0
        assert exploration.witnesses["taken back"] > 0

    def test_by_completion_times_a_restore_deletes_files_of_its_own_savepoint(self):
        length, sentences = story(restored(APART, by=SnapshotTime.COMPLETION), Promise.SAVEPOINTS_STAY)

        assert length == 33
        assert "the savepoint of 2 has lost the file of group 1 that 1 wrote" in sentences[-1]

    def test_by_completion_times_all_that_is_pending_is_taken_back(self):
        config = restored(by=SnapshotTime.COMPLETION)

        assert to_take_back(table(3, 5, pending=(2,), saved=(3,)), 3, config) == (2, 5)


class TestSavepoint:
    """What a savepoint names, and when it is not made."""

    def test_a_savepoint_names_the_files_of_the_snapshot_as_of_its_write(self):
        config = restored()

        state = begun(table(1, 3), config, Move(Step.CREATE_SAVEPOINT, OPERATOR, time=100, target=1))

        assert part(state.world, Savepoints).all == (Savepoint(1, 100, ((1, 1, 0),)),)

    @pytest.mark.parametrize(
        ("world", "target", "reason"),
        [
            (table(1, 3, pending=(2,)), 3, "a write that was requested before 3 is pending"),
            (table(1, 3), 2, "2 is no completed write without a savepoint"),
            (table(1, 3, saved=(1,)), 1, "1 is no completed write without a savepoint"),
        ],
    )
    def test_a_savepoint_is_refused(self, world, target, reason):
        config = restored(waits=True)
        state = State(world._replace(lock=OPERATOR), start(config).writers)
        state = state._replace(writers=(*state.writers[:OPERATOR], state.writers[OPERATOR]._replace(has_lock=True)))

        assert refusal(state, Move(Step.CREATE_SAVEPOINT, OPERATOR, time=100, target=target), config) == reason

    def test_a_savepoint_of_what_a_clean_is_going_to_delete_is_refused(self):
        config = restored(cleaning=Cleaning(policy=CleaningPolicy.KEEP_LATEST_FILE_VERSIONS))
        state = apply(State(table(1, 3), start(config).writers), Move(Step.ACQUIRE_LOCK, CLEANER), config)
        state = apply(state, Move(Step.SCHEDULE_CLEAN, CLEANER, time=100), config)
        state = apply(state, Move(Step.RELEASE_LOCK, CLEANER), config)
        state = apply(state, Move(Step.ACQUIRE_LOCK, OPERATOR), config)

        assert refusal(state, Move(Step.CREATE_SAVEPOINT, OPERATOR, time=101, target=1), config) == (
            "a clean takes files of a snapshot as of 1"
        )
        assert refusal(state, Move(Step.CREATE_SAVEPOINT, OPERATOR, time=101, target=3), config) is None

    def test_a_clean_keeps_the_slice_that_a_savepoint_names(self):
        config = restored(cleaning=Cleaning())

        assert files_to_clean(table(1, 3, 5), config) == ((1, 1, 0),)
        assert files_to_clean(table(1, 3, 5, 7, saved=(1,)), config) == ((1, 3, 0),)

    def test_a_savepoint_has_no_requested_file(self):
        view = storage_view(State(table(1, saved=(1,)), start(restored()).writers), restored())

        files = [file for file in view.timeline if file.action is Action.SAVEPOINT]
        assert {(file.requested_time, file.state, file.completion_time) for file in files} == {
            (1, InstantState.INFLIGHT, None),
            (1, InstantState.COMPLETED, 80),
        }


class TestRestore:
    """Its plan, and what it keeps others from."""

    def test_a_plan_has_completed_and_pending_writes_the_newest_first(self):
        assert to_take_back(table(1, 3, 7, pending=(5,), saved=(1,)), 1, restored()) == (7, 5, 3)

    def test_the_steps_of_each_write_have_their_order(self):
        config = restored()
        state = begun(table(1, 3, saved=(1,)), config, PLAN_RESTORE, Move(Step.RELEASE_LOCK, OPERATOR))
        state = apply(state, Move(Step.RUN_RESTORE, OPERATOR), config)

        for move in (
            Move(Step.UNDO_COMPLETION, OPERATOR, target=3),
            Move(Step.UNDO_WRITE, OPERATOR, target=3, group=1, token=0),
            Move(Step.UNDO_REQUEST, OPERATOR, target=3),
        ):
            others = {Step.UNDO_COMPLETION, Step.UNDO_WRITE, Step.UNDO_REQUEST} - {move.step}
            assert all(refusal(state, move._replace(step=other), config) for other in others)
            state = apply(state, move, config)

        assert state.world.requested == state.world.inflight == (1,)
        assert [file[:2] for file in state.world.files] == [(1, 1)]

    def test_a_restore_past_a_later_savepoint_is_refused(self):
        config = restored()

        state = begun(table(1, 3, saved=(1, 3)), config)

        assert refusal(state, PLAN_RESTORE, config) == "a write that would be taken back has a savepoint of its own"

    def test_while_a_restore_is_pending_nobody_begins_to_write_or_makes_a_savepoint(self):
        config = restored()
        state = begun(table(1, 3, saved=(1,)), config, PLAN_RESTORE)

        save = Move(Step.CREATE_SAVEPOINT, OPERATOR, time=101, target=3)
        assert refusal(state, save, config) == "a restore is pending"
        state = apply(state, Move(Step.RELEASE_LOCK, OPERATOR), config)
        state = apply(state, Move(Step.ACQUIRE_LOCK, WRITER), config)
        write = Move(Step.GENERATE_REQUESTED_TIME, WRITER, time=101)
        assert refusal(state, write, config) == "a restore is pending"

    def test_a_restore_is_on_the_timeline_in_each_of_its_states(self):
        config = restored()
        state = begun(table(1, saved=(1,)), config, PLAN_RESTORE, Move(Step.RELEASE_LOCK, OPERATOR))
        for move in (
            Move(Step.RUN_RESTORE, OPERATOR),
            Move(Step.ACQUIRE_LOCK, OPERATOR),
            Move(Step.COMPLETE_RESTORE, OPERATOR, time=101),
        ):
            state = apply(state, move, config)

        files = [file for file in storage_view(state, config).timeline if file.action is Action.RESTORE]
        assert {(file.state, file.completion_time) for file in files} == {
            (InstantState.REQUESTED, None),
            (InstantState.INFLIGHT, None),
            (InstantState.COMPLETED, 101),
        }

    def test_a_restore_without_savepoints_beside_it_is_refused(self):
        with pytest.raises(ValueError, match="restores has to come after"):
            Protocol((RestoreModule(),))


class TestRestoreBesideServices:
    """Plans of services are writes that a restore takes back, and none is made before it is complete."""

    ONE = replace(CALM, writers=1)
    CLUSTERED = replace(restored(ONE), modules=(*restored().modules, Clustering()))

    def test_the_table_is_as_its_savepoint_has_it_though_it_was_clustered_meanwhile(self):
        config = replace(self.CLUSTERED, bounds=replace(self.ONE, workload=(upsert(1),)))

        def taken_back(world):
            plans = {plan.requested for plan in part(world, Clusterings).all}
            return any(plans.intersection(restore.plan) for restore in completed(world))

        exploration = explore(config, witnesses={"taken back": taken_back})

        assert exploration.exhausted
        assert not exploration.counterexamples
        assert exploration.witnesses["taken back"] > 0

    @pytest.mark.slow
    def test_where_services_do_not_wait_a_clustering_carries_on_what_is_taken_back(self):
        modules = (*restored(services_wait=False).modules, Clustering())

        length, sentences = story(replace(self.CLUSTERED, modules=modules), Promise.CONSISTENT_READ)

        assert length == 42
        assert [sentence[5:].split(":")[0] for sentence in sentences if "Schedule" in sentence] == [
            "ScheduleRestore",
            "ScheduleClustering",
        ]

    def test_while_a_restore_is_pending_no_clustering_is_planned(self):
        config = restored()
        state = begun(table(1, 3, saved=(1,)), config, PLAN_RESTORE)
        guard = RestoreModule.guards[Step.SCHEDULE_CLUSTERING]

        assert guard(state.world, state.writers[0], PLAN_RESTORE, config) == "a restore is pending"
        assert guard(state.world, state.writers[0], PLAN_RESTORE, restored(services_wait=False)) is None

    def test_a_plan_has_pending_clusterings_first(self):
        plans = Clusterings((ClusteringPlan(5, ((1, 3),), 2),))
        world = with_part(table(1, 3, 7, pending=(5,), saved=(1,)), plans)

        assert to_take_back(world, 1, restored()) == (5, 7, 3)

    def test_a_compaction_that_was_taken_off_the_timeline_is_no_plan_any_more(self):
        plan = Plan(5, (Input(1, 1, ((3, 0),)),))

        on_timeline = with_part(table(1, 3, pending=(5,)), Plans((plan,)))
        taken_back = with_part(table(1, 3), Plans((plan,)))

        assert pending_plans(on_timeline) == (plan,)
        assert pending_plans(taken_back) == ()


class TestS32RestoreBesideWriters:
    """13691, 7605, 4849, 13664: a restore leaves the table inconsistent. The metadata table's half is another case."""

    def test_where_writers_do_not_look_at_restores_one_completes_without_its_files(self):
        length, sentences = story(restored(heeded=False), Promise.NO_UNDONE_WRITE)

        assert length == 31
        assert "w2 completes 3 at 6" in sentences[-2]
        assert "that the completed write 3 wrote as {k1: 2} is gone" in sentences[-1]

    def test_where_a_restore_is_planned_without_the_lock_looking_does_not_help(self):
        length, sentences = story(restored(locks=False), Promise.NO_UNDONE_WRITE)

        assert length == 31
        assert [sentence[5:20] for sentence in sentences if "Check" in sentence or "Schedule" in sentence][-2:] == [
            "CheckConflicts:",
            "ScheduleRestore",
        ]

    def test_without_the_lock_a_write_whose_time_was_taken_before_is_not_in_the_plan(self):
        length, sentences = story(restored(locks=False), Promise.RESTORES_ARE_EXACT)

        assert length == 23
        assert "is on the timeline" in sentences[-1]

    def test_a_restore_that_takes_the_oldest_back_first_leaves_versions_that_build_on_what_is_gone(self):
        config = restored(replace(CALM, writers=1, workload=(upsert(1),) * 3))

        length, sentences = story(replace(config, planted=PlantedBug.RESTORE_OLDEST_FIRST), Promise.NO_LOST_UPDATE)

        assert length == 47
        assert "version 5 of file group 1 follows on version 1, but was merged from version 3" in sentences[-1]

    def test_as_we_do_it_none_of_this_is_reached(self):
        exploration = explore(restored())

        assert exploration.exhausted
        assert exploration.counterexamples.keys() == BY_NATURE
