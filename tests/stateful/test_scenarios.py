"""What Hudi's users have suffered from, as far as copy-on-write writers reach: each a named, directed history.

The numbers are those of the collection that the model's tests name too.
"""

from __future__ import annotations

import pytest

from drawstring.errors import (
    AlreadyExistsError,
    ConflictError,
    HeartbeatExpiredError,
    KeyConflictError,
    LostLockError,
    WriterFencedError,
)
from drawstring_sim.client import EXPIRED_MS
from drawstring_sim.clocks import ClockSettings
from drawstring_sim.faults import Fault, FaultWhere
from drawstring_sim.operations import Kind
from drawstring_sim.stage import Stage
from drawstring_sim.tasks import TaskMode, TaskTroubles

A, B, C = ("d1", "a"), ("d1", "b"), ("d2", "c")
DATA_FILE = "put_if_absent(d1/"
COMPLETION = "put_if_absent(*.commit)"


@pytest.fixture
def stage():
    """A table with one row, and nobody at work."""
    made = Stage()
    assert made.do(made.writer("first"), Kind.BULK_INSERT, {A: 1}).succeeded
    yield made
    made.close()


def test_s01_two_upserts_of_one_new_key_do_not_both_commit(stage):
    one, two = stage.writer("one"), stage.writer("two")
    slow = stage.begin(one, Kind.UPSERT, {C: 10}, hold_at="put_if_absent(d2/")
    assert stage.do(two, Kind.UPSERT, {C: 20}).succeeded
    loser = stage.release(slow)
    assert isinstance(loser.error, KeyConflictError)
    assert stage.content() == {A: 1, C: 20}
    stage.judge()


def test_two_updates_of_one_file_group_do_not_both_commit(stage):
    one, two = stage.writer("one"), stage.writer("two")
    slow = stage.begin(one, Kind.UPSERT, {A: 10}, hold_at=DATA_FILE)
    assert stage.do(two, Kind.UPSERT, {A: 20}).succeeded
    assert isinstance(stage.release(slow).error, ConflictError)
    assert stage.content() == {A: 20}
    stage.judge()


def test_two_updates_of_different_partitions_both_commit(stage):
    one, two = stage.writer("one"), stage.writer("two")
    slow = stage.begin(one, Kind.UPSERT, {A: 10}, hold_at=DATA_FILE)
    assert stage.do(two, Kind.UPSERT, {C: 20}).succeeded
    assert stage.release(slow).succeeded
    assert stage.content() == {A: 10, C: 20}
    stage.judge()


def test_a_writer_does_not_build_on_a_commit_that_was_requested_later(stage):
    one, two = stage.writer("one"), stage.writer("two")
    early = stage.begin(one, Kind.UPSERT, {A: 10}, hold_at="delete(.hoodie/lock)")
    stage.hold_further(early, hold_at="list(.hoodie/timeline)")
    assert stage.do(two, Kind.DELETE, {A: 0}).succeeded
    assert isinstance(stage.release(early).error, ConflictError)
    assert stage.content() == {}
    stage.judge()


def test_a_key_deleted_by_a_later_request_is_not_inserted_a_second_time_into_the_past(stage):
    one, two = stage.writer("one"), stage.writer("two")
    early = stage.begin(one, Kind.UPSERT, {A: 10, C: 11}, hold_at="delete(.hoodie/lock)")
    stage.hold_further(early, hold_at="list(.hoodie/timeline)")
    assert stage.do(two, Kind.DELETE, {A: 0}).succeeded
    assert not stage.release(early).succeeded
    stage.judge()


@pytest.mark.parametrize("skews_ms", [(0, 0), (3_600_000, 0), (0, -3_600_000)])
def test_s13_colliding_and_diverging_clocks_give_no_instant_twice(stage, skews_ms):
    writers = [
        stage.writer(f"w{n}", clock=ClockSettings(skew_ms=skew_ms, granularity_ms=1_000, monotonic_start_ms=n))
        for n, skew_ms in enumerate(skews_ms)
    ]
    for value in range(3):
        for number, writer in enumerate(writers):
            assert stage.do(writer, Kind.UPSERT, {A: 100 * number + value}).succeeded
    assert len(stage.raw().completed_commits) == 7
    assert stage.content() == {A: 102}
    stage.judge()


def test_s13_a_request_whose_answer_was_lost_is_recognised_and_not_repeated_under_another_time(stage):
    stage.faults(FaultWhere(lambda call: call.writes and ".commit.requested" in call.target, Fault.ANSWER_LOST))
    assert stage.do(stage.writer("one"), Kind.UPSERT, {A: 2}).succeeded
    assert len(stage.raw().completed_commits) == 2
    stage.judge()


def test_s14_a_clock_that_jumped_into_the_future_and_back_keeps_the_order_of_commits(stage):
    clock = ClockSettings(monotonic_start_ms=5)
    writer = stage.writer("jumpy", clock=clock)
    clock.jump(10 * 365 * 86_400_000)
    assert stage.do(writer, Kind.UPSERT, {A: 2}).succeeded
    clock.jump(-10 * 365 * 86_400_000)
    assert stage.do(writer, Kind.UPSERT, {A: 3}).succeeded
    assert stage.do(stage.writer("sane"), Kind.UPSERT, {A: 4}).succeeded
    assert stage.content() == {A: 4}
    assert min(stage.raw().completed_commits).startswith("2025")
    assert max(stage.raw().completed_commits).startswith("2034")
    stage.judge()


def test_s15_a_requested_file_cannot_appear_after_that_of_a_later_time(stage):
    one, two = stage.writer("one"), stage.writer("two")
    late = stage.begin(one, Kind.UPSERT, {A: 10}, hold_at=".commit.requested")
    stage.wait(EXPIRED_MS)
    assert stage.do(two, Kind.UPSERT, {A: 20}).succeeded
    assert not stage.release(late).succeeded
    assert stage.content() == {A: 20}
    stage.judge()


def test_s20_a_heartbeat_that_stalls_for_less_than_is_tolerated_costs_nothing(stage):
    one, two = stage.writer("one"), stage.writer("two")
    slow = stage.begin(one, Kind.UPSERT, {A: 10}, hold_at=DATA_FILE)
    stage.wait(3_000)
    assert stage.do(two, Kind.UPSERT, {C: 20}).succeeded
    assert stage.release(slow).succeeded
    stage.judge()


def test_s20_a_writer_whose_heartbeat_stalled_for_too_long_gives_up_and_says_so(stage):
    one = stage.writer("one")
    slow = stage.begin(one, Kind.UPSERT, {A: 10}, hold_at=DATA_FILE)
    stage.wait(EXPIRED_MS)
    assert isinstance(stage.release(slow).error, HeartbeatExpiredError)
    assert stage.content() == {A: 1}
    stage.judge()


def test_s20_a_hung_heartbeat_thread_is_noticed_before_completion(stage):
    one = stage.writer("one")
    stage.stall(one, "heartbeat", 60_000)
    slow = stage.begin(one, Kind.UPSERT, {A: 10}, hold_at=DATA_FILE)
    stage.wait(6_000)
    assert isinstance(stage.release(slow).error, HeartbeatExpiredError)
    assert stage.content() == {A: 1}
    stage.judge()


def test_s21_a_live_writer_is_not_rolled_back_by_a_judge_who_was_held_up(stage):
    one, two = stage.writer("one"), stage.writer("two")
    live = stage.begin(one, Kind.UPSERT, {A: 10}, hold_at=DATA_FILE)
    judge = stage.begin(two, Kind.UPSERT, {C: 20}, hold_at="head(.hoodie/.heartbeat/")
    stage.hold_further(live, hold_at="put_if_absent(.hoodie/lock)")
    stage.schedule.release("one")
    stage.wait(2_000)
    stage.release(judge)
    assert live.attempt.succeeded
    assert stage.content() == {A: 10, C: 20}
    stage.judge()


def test_s21_a_write_that_completes_between_listing_and_verdict_is_not_rolled_back(stage):
    one, two = stage.writer("one"), stage.writer("two")
    live = stage.begin(one, Kind.UPSERT, {A: 10}, hold_at=COMPLETION)
    judge = stage.begin(two, Kind.UPSERT, {C: 20}, hold_at="head(.hoodie/.heartbeat/")
    assert stage.release(live).succeeded
    assert stage.release(judge).succeeded
    assert stage.content() == {A: 10, C: 20}
    assert not any(i.action == "rollback" for i in stage.raw().instants)
    stage.judge()


def test_a_writer_that_was_rolled_back_while_it_slept_cannot_complete_and_leaves_nothing(stage):
    one, two = stage.writer("one"), stage.writer("two")
    asleep = stage.begin(one, Kind.UPSERT, {A: 10}, hold_at=DATA_FILE)
    stage.wait(EXPIRED_MS)
    assert stage.do(two, Kind.UPSERT, {C: 20}).succeeded
    loser = stage.release(asleep)
    assert isinstance(loser.error, HeartbeatExpiredError | WriterFencedError)
    assert stage.content() == {A: 1, C: 20}
    assert {f.requested_time for f in stage.raw().data_files} == set(stage.raw().completed_commits)
    stage.judge()


def test_a_holder_that_slept_past_its_lease_cannot_complete(stage):
    one, two = stage.writer("one"), stage.writer("two")
    asleep = stage.begin(one, Kind.UPSERT, {A: 10}, hold_at=COMPLETION)
    stage.wait(EXPIRED_MS)
    assert stage.do(two, Kind.UPSERT, {A: 20}).succeeded
    assert isinstance(stage.release(asleep).error, LostLockError)
    assert stage.content() == {A: 20}
    stage.judge()


def test_a_holder_that_slept_past_its_lease_does_not_release_anothers_lock(stage):
    one, two = stage.writer("one"), stage.writer("two")
    asleep = stage.begin(one, Kind.UPSERT, {A: 10}, hold_at="delete(.hoodie/lock)")
    stage.wait(EXPIRED_MS)
    holder = stage.begin(two, Kind.UPSERT, {C: 20}, hold_at=COMPLETION)
    stage.release(asleep)
    assert stage.raw().locked
    assert stage.release(holder).succeeded
    stage.judge()


def test_a_dead_holders_lock_expires_and_the_next_writer_gets_it(stage):
    one, two = stage.writer("one"), stage.writer("two")
    stage.faults(FaultWhere(lambda call: call.writes and call.target.endswith(".commit"), Fault.CRASH_BEFORE))
    assert stage.do(one, Kind.UPSERT, {A: 10}).error is None
    assert stage.raw().locked
    assert stage.do(two, Kind.UPSERT, {A: 20}).succeeded
    assert stage.content() == {A: 20}
    stage.judge()


@pytest.mark.parametrize("mode", list(TaskMode))
def test_s22_a_zombie_task_that_writes_after_the_commit_changes_no_answer(stage, mode):
    troubles = TaskTroubles(mode=mode, zombies=frozenset({0, 1}), zombie_delay_ms=5_000)
    one = stage.writer("one", troubles=troubles)
    assert stage.do(one, Kind.UPSERT, {A: 10, C: 11}).succeeded
    before = stage.content()
    stage.wait(20_000)
    assert stage.content() == before == {A: 10, C: 11}
    assert all(zombie.ended for zombie in one.writer.tasks.zombies)
    stage.judge(by_model=False)
    assert stage.do(stage.writer("next"), Kind.UPSERT, {A: 12}).succeeded
    assert stage.content() == {A: 12, C: 11}


def test_s22_a_task_that_ran_twice_leaves_one_file_per_group(stage):
    troubles = TaskTroubles(max_attempts=2, lost_answers=frozenset({0, 1}))
    one = stage.writer("one", troubles=troubles)
    assert stage.do(one, Kind.UPSERT, {A: 10, C: 11}).succeeded
    files = stage.raw().data_files
    assert len({(f.file_id, f.requested_time) for f in files}) == len(files)
    stage.judge(by_model=False)


@pytest.mark.parametrize("fault", [Fault.SENT_TWICE, Fault.ANSWER_LOST])
@pytest.mark.parametrize("path", [".hoodie/lock", ".inflight", ".commit", ".parquet", ".hoodie/.heartbeat/"])
def test_s39_a_put_that_meets_its_own_success_is_not_taken_for_anothers(stage, fault, path):
    plan = FaultWhere(
        lambda call: call.writes and call.method != "delete" and path in call.target and "requested" not in call.target,
        fault,
    )
    stage.faults(plan)
    started_ms = stage.world.kernel.now_ms
    attempt = stage.do(stage.writer("one"), Kind.UPSERT, {A: 10})
    assert plan.struck is not None
    if path == ".hoodie/.heartbeat/" and fault is Fault.ANSWER_LOST:
        assert not attempt.succeeded
    else:
        assert attempt.succeeded
        assert stage.world.kernel.now_ms - started_ms < 1_000
        assert stage.content() == {A: 10}
    stage.judge()


def test_s39_a_request_that_was_sent_twice_could_be_anybodys_and_is_given_up(stage):
    stage.faults(FaultWhere(lambda call: call.writes and ".commit.requested" in call.target, Fault.SENT_TWICE))
    assert isinstance(stage.do(stage.writer("one"), Kind.UPSERT, {A: 10}).error, AlreadyExistsError)
    stage.wait()
    assert stage.do(stage.writer("two"), Kind.UPSERT, {A: 20}).succeeded
    assert stage.raw().pending == ()
    stage.judge()
