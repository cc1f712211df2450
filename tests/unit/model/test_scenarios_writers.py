"""What clocks, heartbeats, tasks and storage did to writers: found with the faulty rule, out of reach as we do it.

As in `test_scenarios`, the numbers are those of issues and pull requests of apache/hudi. `docs/reference/scenarios.md`
lists all scenarios, and where else each is tried.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import pytest

from drawstring_model.config import (
    CLUSTERED,
    COPY_ON_WRITE,
    MERGE_ON_READ,
    Bounds,
    ClockKind,
    ConcurrencyControl,
    Config,
    PlantedBug,
    upsert,
)
from drawstring_model.core.module import Module, Rule, part, with_part
from drawstring_model.core.protocol import NotEnabledError, apply, enabled, start
from drawstring_model.core.reader import read_snapshot
from drawstring_model.core.state import DataFile, Move, Phase, World, Writer
from drawstring_model.explorer import explore
from drawstring_model.invariants import INVARIANTS, Promise
from drawstring_model.modules.clustering import completed_clusterings
from drawstring_model.modules.lost_answers import LostAnswers
from drawstring_model.modules.rollback import rollbacks_of
from drawstring_model.modules.storage import next_token
from drawstring_model.narrate import narrate
from drawstring_spec.instants import State as InstantState
from drawstring_spec.steps import Step

TWO_UPSERTS = Bounds(workload=(upsert(1), upsert(1)), groups=1, faults=0)
TWO_KEYS = replace(TWO_UPSERTS, workload=(upsert(1), upsert(2)))


def shortest(config, promise):
    """The shortest history that breaks `promise`."""
    return explore(config, until=promise).counterexamples[promise]


def broken_invariants(config, **arguments):
    exploration = explore(config, **arguments)
    assert exploration.exhausted
    return exploration.counterexamples.keys() - {Promise.TIME_TRAVEL_STABILITY}


def taken(state, config, number, *steps):
    """`state` after process `number` took `steps`, each as the explorer would first propose it."""
    for step in steps:
        move = next(move for move in enabled(state, config) if (move.step, move.writer) == (step, number))
        state = apply(state, move, config)
    return state


REQUEST = (Step.GENERATE_REQUESTED_TIME, Step.START_HEARTBEAT, Step.REQUEST_INSTANT, Step.RELEASE_LOCK)
WRITE = (Step.LOOKUP_KEYS, Step.START_INFLIGHT, Step.WRITE_FILE, Step.ACQUIRE_LOCK)
FINISH = (
    Step.CHECK_CONFLICTS,
    Step.UPDATE_METADATA,
    Step.COMPLETE_INSTANT,
    Step.RELEASE_LOCK,
    Step.STOP_HEARTBEAT,
)


class TestS14AClockJumpsIntoTheFutureAndBack:
    """5843: one commit is stamped far in the future, and those after it by a clock that shows the present."""

    AHEAD = 1_000_000
    BEHIND = Config(clock=ClockKind.NON_MONOTONIC, bounds=replace(TWO_UPSERTS, workload=(upsert(1),) * 3, clock_skew=3))

    def after_the_jump(self, config):
        """One commit is requested at `AHEAD` and completed; the first writer has the lock again."""
        state = taken(start(config), config, 0, Step.ACQUIRE_LOCK)
        state = apply(state, Move(Step.GENERATE_REQUESTED_TIME, 0, time=self.AHEAD), config)
        state = taken(state, config, 0, *REQUEST[1:], *WRITE, *FINISH)
        return taken(state, config, 0, Step.ACQUIRE_LOCK)

    def begun_in_the_present(self, config):
        """An update of the same key, requested at 3 by the clock of the present, has written its file."""
        state = apply(self.after_the_jump(config), Move(Step.GENERATE_REQUESTED_TIME, 0, time=3), config)
        return taken(state, config, 0, *REQUEST[1:], *WRITE)

    def test_with_a_snapshot_of_all_that_is_completed_the_update_of_the_present_is_never_seen(self):
        config = replace(self.BEHIND, planted=PlantedBug.SNAPSHOT_AHEAD_OF_TIME)

        world = taken(self.begun_in_the_present(config), config, 0, *FINISH).world

        assert INVARIANTS[Promise.NO_LOST_UPDATE](world, config) == (
            "version 3 of file group 1 follows on nothing, but was merged from version 1000000"
        )
        assert read_snapshot(world, 10 * self.AHEAD, config) == ((1, 1),)

    def test_the_update_of_the_present_gives_way_to_the_future(self):
        state = self.begun_in_the_present(self.BEHIND)

        with pytest.raises(NotEnabledError, match="conflict"):
            apply(state, Move(Step.CHECK_CONFLICTS, 0), self.BEHIND)

    def test_a_clock_that_is_behind_costs_no_row_but_gives_a_rolled_back_time_to_a_live_writer(self):
        assert broken_invariants(self.BEHIND) == {Promise.LIVE_WRITER_KEPT}

    def test_a_clock_read_in_the_lock_never_goes_back(self):
        config = Config(bounds=TWO_UPSERTS)
        state = self.after_the_jump(config)

        with pytest.raises(NotEnabledError, match="has already given out 1000001"):
            apply(state, Move(Step.GENERATE_REQUESTED_TIME, 0, time=3), config)

    def test_after_the_jump_the_table_goes_on_from_the_future(self):
        config = Config(bounds=TWO_UPSERTS)
        state = taken(self.after_the_jump(config), config, 0, *REQUEST, *WRITE, *FINISH)

        assert [commit.requested for commit in state.world.commits] == [self.AHEAD, self.AHEAD + 2]


class TestS15ARequestedFileAppearsLate:
    """11580, 11344, 13269: between taking a time and the requested file somebody with a later time is faster."""

    @staticmethod
    def late(world):
        """The second operation is on the timeline, the first is not, and nobody rolled it back."""
        return 2 in world.requested and 1 not in world.requested and not rollbacks_of(world)

    def test_where_nobody_locks_the_later_time_is_on_the_timeline_first(self):
        config = Config(concurrency=ConcurrencyControl.NONE, bounds=TWO_UPSERTS)

        exploration = explore(config, witnesses={"late": self.late})

        assert exploration.witnesses["late"] == 4

    def test_where_time_and_request_share_a_lock_it_never_is(self):
        exploration = explore(Config(bounds=TWO_UPSERTS), witnesses={"late": self.late})

        assert exploration.exhausted
        assert not exploration.witnesses

    def test_a_lease_that_runs_out_in_between_lets_it_happen_and_a_snapshot_of_everything_loses_an_update(self):
        bounds = replace(TWO_UPSERTS, faults=1, crashes=0, heartbeat_expiries=0)
        config = Config(bounds=bounds, planted=PlantedBug.SNAPSHOT_AHEAD_OF_TIME)

        exploration = explore(config, witnesses={"late": self.late})

        assert exploration.witnesses["late"] > 0
        assert not exploration.holds(Promise.NO_LOST_UPDATE)

    def test_with_a_snapshot_before_its_own_time_the_late_one_gives_way(self):
        bounds = replace(TWO_UPSERTS, faults=1, crashes=0, heartbeat_expiries=0)

        exploration = explore(Config(bounds=bounds), witnesses={"late": self.late})

        assert exploration.exhausted
        assert exploration.witnesses["late"] > 0
        assert not exploration.counterexamples.keys() & INVARIANTS.keys()


class TestS20TheHeartbeatOfALiveWriterExpires:
    """18903, 12522: storage stalls for longer than is tolerated, while the writer is about to complete."""

    STALLED = Config(
        bounds=Bounds(workload=(upsert(1),), groups=1, faults=2, crashes=0, heartbeat_expiries=1, renewals=1)
    )

    def test_a_writer_that_does_not_look_completes_what_was_rolled_back(self):
        config = replace(self.STALLED, planted=PlantedBug.IGNORE_ROLLBACK)

        sentences = narrate(shortest(config, Promise.NO_UNDONE_WRITE), config)

        assert any("ExpireHeartbeat: the heartbeat of 1 is too old by now" in sentence for sentence in sentences)
        assert any("RenewHeartbeat" in sentence for sentence in sentences)
        assert sentences[-1].endswith("is gone: a contradiction.")

    def test_a_writer_that_looks_in_the_lock_never_does(self):
        exploration = explore(
            self.STALLED,
            witnesses={"rolled back": lambda w: any(r.state is InstantState.COMPLETED for r in rollbacks_of(w))},
        )

        assert exploration.exhausted
        assert exploration.witnesses["rolled back"] > 0
        assert not exploration.counterexamples.keys() & INVARIANTS.keys()

    def test_a_writer_whose_heartbeat_expired_gives_up_by_itself(self):
        config = Config(bounds=TWO_UPSERTS)
        state = taken(start(config), config, 0, Step.ACQUIRE_LOCK, *REQUEST, *WRITE)
        state = apply(state, Move(Step.EXPIRE_HEARTBEAT, time=1), config)

        with pytest.raises(NotEnabledError, match="the heartbeat expired"):
            apply(state, Move(Step.CHECK_CONFLICTS, 0), config)
        assert taken(state, config, 0, Step.ABORT_WRITE).writers[0].phase is Phase.ABORTED


class Zombies(NamedTuple):
    """How many tasks went on after their write was complete."""

    count: int = 0


class LateTask(Rule):
    """A task that counted as failed puts its file after the write is complete, whole or torn.

    Enabled: a write is complete; the storage has no file of that name, or replaces it.
    Effect: the file is there, with the rows that the task wrote.
    Unchanged: the timeline.
    """

    step = Step.RETRY_TASK
    phases = frozenset(Phase)
    is_of_the_world = True

    def __init__(self, *, torn: bool) -> None:
        self._torn = torn

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """One, in the first write's first file group."""
        for commit in world.commits[:1]:
            if not part(world, Zombies).count:
                group = commit.files[0].group
                token = next_token(world, group, commit.requested, config)
                yield Move(self.step, time=commit.requested, group=group, token=token)

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused where the file exists."""
        there = any(file[:3] == (move.group, move.time, move.token) for file in world.files)
        return "the file exists" if there and not config.replaces_files() else None

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """The file is put."""
        commit = next(commit for commit in world.commits if commit.requested == move.time)
        rows = () if self._torn else next(file.rows for file in commit.files if file.group == move.group)
        file = DataFile(move.group, move.time, move.token, rows)
        others = (other for other in world.files if other[:3] != file[:3])
        world = world._replace(files=tuple(sorted((*others, file))))
        return with_part(world, Zombies(1)), writer


@dataclass(frozen=True)
class LateTasks(Module):
    """One zombie; what it writes is `torn` where the storage shows files before they are whole."""

    torn: bool = False

    name = "late_tasks"

    @property
    def rules(self):
        return (LateTask(torn=self.torn),)


class TestS22AZombieTaskWritesAfterTheCommit:
    """18395, 18049, 18044, 9615, 697: a task counts as failed, runs again, and its first attempt ends too late."""

    BOUNDS = replace(TWO_UPSERTS, workload=(upsert(1), upsert(2)))

    def config(self, *, torn, **switches):
        return Config(modules=(*COPY_ON_WRITE, LateTasks(torn=torn)), bounds=self.BOUNDS, **switches)

    def test_where_storage_shows_half_a_file_readers_take_it(self):
        example = shortest(self.config(torn=True), Promise.CONSISTENT_READ)

        assert example.finding == "a snapshot at 1 reads {}, but its commits give {k1: 1} one by one"
        assert example.moves[-1].step is Step.RETRY_TASK

    def test_where_storage_replaces_files_and_tokens_repeat_it_takes_the_place_of_the_committed_one(self):
        example = shortest(self.config(torn=True, salt=False, put_if_absent=False), Promise.NO_UNDONE_WRITE)

        assert example.finding.endswith("wrote as {k1: 1} reads {}")

    def test_where_files_appear_whole_and_under_tokens_of_their_own_it_changes_no_answer(self):
        exploration = explore(
            self.config(torn=False), witnesses={"zombie": lambda world: part(world, Zombies).count > 0}
        )

        assert exploration.exhausted
        assert exploration.witnesses["zombie"] > 0
        assert not exploration.counterexamples.keys() & INVARIANTS.keys()


class TestS38AWriteOlderThanATableServiceIsRolledBack:
    """17932, 8025: a write fails, a compaction or a clustering passes it by, and then it is rolled back."""

    ONE_CRASH = Bounds(writers=1, groups=1, faults=1, crashes=1, lock_expiries=0, heartbeat_expiries=0)
    COMPACTED = Config(modules=MERGE_ON_READ, bounds=replace(ONE_CRASH, workload=(upsert(1),) * 3))
    REPLACED = Config(modules=CLUSTERED, bounds=replace(ONE_CRASH, workload=(upsert(1),) * 2))

    @staticmethod
    def rolled_back_before(world, times):
        finished = [each for each in rollbacks_of(world) if each.state is InstantState.COMPLETED]
        return any(each.target < time < each.requested for each in finished for time in times)

    def test_a_compaction_that_planned_the_failed_files_loses_them_to_the_rollback(self):
        config = replace(self.COMPACTED, planted=PlantedBug.PLAN_PENDING_LOGS)

        example = shortest(config, Promise.PLANNED_FILES_STAY)

        assert example.moves[-1].step is Step.DELETE_FILE
        assert example.finding.startswith("a file of group 1 that compaction")

    def test_a_compaction_of_completed_files_only_does_not_notice_it(self):
        def passed_by(world):
            return self.rolled_back_before(world, [c.requested for c in world.commits if not c.changes])

        exploration = explore(self.COMPACTED, witnesses={"passed by": passed_by})

        assert exploration.exhausted
        assert exploration.witnesses["passed by"] > 0
        assert exploration.holds(Promise.PLANNED_FILES_STAY)
        assert exploration.holds(Promise.LATEST_SNAPSHOT)

    def test_a_write_older_than_a_clustering_is_rolled_back_and_no_row_is_lost(self):
        def passed_by(world):
            return self.rolled_back_before(world, [plan.requested for plan in completed_clusterings(world)])

        exploration = explore(self.REPLACED, witnesses={"passed by": passed_by})

        assert exploration.exhausted
        assert exploration.witnesses["passed by"] > 0
        assert not exploration.counterexamples.keys() - {Promise.TIME_TRAVEL_STABILITY}


class TestS39APutIsRefusedBecauseOfItsOwnSuccess:
    """14375, 14373, 12927: after a lost answer a put is repeated, and refused; was the first one ours?"""

    COLLIDING = Config(clock=ClockKind.NON_MONOTONIC, bounds=replace(TWO_KEYS, groups=2))
    UNHEARD = Config(modules=(*COPY_ON_WRITE, LostAnswers()), bounds=replace(TWO_UPSERTS, faults=1, crashes=0))

    def test_to_take_every_refusal_for_ones_own_success_takes_anothers_instant(self):
        config = replace(self.COLLIDING, planted=PlantedBug.ADOPT_COLLIDING_TIME)

        sentences = narrate(shortest(config, Promise.NO_UNDONE_WRITE), config)

        assert sum("puts 1.commit.requested" in sentence for sentence in sentences) == 2

    def test_to_give_up_where_it_could_be_anothers_is_safe(self):
        assert not broken_invariants(self.COLLIDING)

    def test_to_take_every_refusal_for_anothers_gives_up_a_complete_write(self):
        config = replace(self.UNHEARD, planted=PlantedBug.REFUSED_BY_ITSELF)

        example = shortest(config, Promise.TRUE_OUTCOMES)

        assert example.finding == "the write 1 is complete, and its writer has given it up"

    def test_to_look_what_the_file_says_is_right_for_the_timeline_and_for_the_lock(self):
        assert not broken_invariants(self.UNHEARD)
