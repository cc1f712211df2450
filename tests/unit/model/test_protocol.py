"""The rules one by one, driven from outside as beside an implementation."""

from __future__ import annotations

import pytest

from drawstring_model.catalogue import assembled, known_modules
from drawstring_model.config import ClockKind, ConcurrencyControl, Config
from drawstring_model.core.protocol import NotEnabledError, apply, enabled, protocol_of, refusal
from drawstring_model.core.reader import read_snapshot
from drawstring_model.core.state import FREE, AbortReason, Move, Phase, initial_state
from drawstring_model.storage_view import TimelineFile, storage_view
from drawstring_spec.instants import Action
from drawstring_spec.instants import State as InstantState
from drawstring_spec.steps import Step

SAFE = Config()


def begin(time, writer=0):
    return [
        Move(Step.ACQUIRE_LOCK, writer),
        Move(Step.GENERATE_REQUESTED_TIME, writer, time=time),
        Move(Step.START_HEARTBEAT, writer),
        Move(Step.REQUEST_INSTANT, writer),
        Move(Step.RELEASE_LOCK, writer),
    ]


def write(changes, placement, *files, writer=0):
    return [
        Move(Step.LOOKUP_KEYS, writer, changes=changes, placement=placement),
        Move(Step.START_INFLIGHT, writer),
        *(Move(Step.WRITE_FILE, writer, group=group, token=7) for group in files),
    ]


def complete(time, writer=0):
    return [
        Move(Step.ACQUIRE_LOCK, writer),
        Move(Step.CHECK_CONFLICTS, writer),
        Move(Step.UPDATE_METADATA, writer),
        Move(Step.COMPLETE_INSTANT, writer, time=time),
        Move(Step.RELEASE_LOCK, writer),
        Move(Step.STOP_HEARTBEAT, writer),
    ]


def whole(requested, completion, changes, placement, *files, writer=0):
    return begin(requested, writer) + write(changes, placement, *files, writer=writer) + complete(completion, writer)


def after(*moves, config=SAFE, writers=2):
    state = initial_state(writers)
    for move in moves:
        state = apply(state, move, config)
    return state


INSERT = whole(100, 105, ((1, 10), (2, 20)), ((1, 1), (2, 2)), 1, 2)


def test_times_tokens_and_file_groups_may_come_from_outside():
    state = after(*INSERT)

    assert read_snapshot(state.world, 100, SAFE) == ((1, 10), (2, 20))
    assert read_snapshot(state.world, 99, SAFE) == ()


def test_what_lies_on_storage_is_told_file_by_file():
    view = storage_view(after(*INSERT, *begin(110)), SAFE)

    assert view.timeline == {
        TimelineFile(100, Action.COMMIT, InstantState.REQUESTED, None),
        TimelineFile(100, Action.COMMIT, InstantState.INFLIGHT, None),
        TimelineFile(100, Action.COMMIT, InstantState.COMPLETED, 105),
        TimelineFile(110, Action.COMMIT, InstantState.REQUESTED, None),
    }
    assert view.data_files == {(1, 100, 7): {1: 10}, (2, 100, 7): {2: 20}}
    assert view.heartbeats == {110}
    assert not view.lock_held


def test_an_update_is_merged_with_the_rows_of_its_file_group():
    state = after(*INSERT, *whole(110, 115, ((1, 11), (3, 30)), ((3, 1),), 1))

    assert read_snapshot(state.world, 110, SAFE) == ((1, 11), (2, 20), (3, 30))


def test_a_delete_takes_its_key_out_of_the_next_version():
    state = after(*INSERT, *whole(110, 115, ((2, None),), (), 2))

    assert read_snapshot(state.world, 110, SAFE) == ((1, 10),)


def test_a_delete_of_a_key_that_is_not_there_writes_nothing():
    state = after(*INSERT, *whole(110, 115, ((9, None),), ()))

    assert state.world.commits[-1].files == ()


def test_a_snapshot_leaves_out_what_was_requested_later():
    later_commit = whole(110, 115, ((1, 11),), (), 1, writer=1)

    state = after(*INSERT, *begin(106), *later_commit, Move(Step.LOOKUP_KEYS, 0, changes=((1, 12),), placement=()))

    assert state.writers[0].snapshot == ((100, 105),)
    assert state.writers[0].plan[0].rows == ((1, 12),)


def test_a_file_group_that_another_commit_touched_is_a_conflict():
    mine = [*begin(110), *write(((1, 11),), (), 1)]
    theirs = whole(111, 115, ((1, 12),), (), 1, writer=1)

    state = after(*INSERT, *mine, *theirs, Move(Step.ACQUIRE_LOCK, 0))

    assert "CONFLICT" in refusal(state, Move(Step.CHECK_CONFLICTS, 0), SAFE)
    assert refusal(state, Move(Step.ABORT_WRITE, 0, reason=AbortReason.CONFLICT), SAFE) is None


def test_a_key_that_another_commit_inserted_is_a_conflict_in_any_file_group():
    mine = [*begin(110), *write(((3, 30),), ((3, 1),), 1)]
    theirs = whole(111, 115, ((3, 31),), ((3, 2),), 2, writer=1)

    state = after(*INSERT, *mine, *theirs, Move(Step.ACQUIRE_LOCK, 0))

    assert "KEY_CONFLICT" in refusal(state, Move(Step.CHECK_CONFLICTS, 0), SAFE)


def test_a_writer_that_gave_up_may_roll_its_own_write_back_in_its_lock():
    mine = [*begin(110), *write(((1, 11),), (), 1)]
    give_up = [
        Move(Step.ACQUIRE_LOCK, 0),
        Move(Step.ABORT_WRITE, 0, reason=AbortReason.FAILED),
        Move(Step.REQUEST_ROLLBACK, 0, time=112, target=110),
        Move(Step.START_ROLLBACK, 0, target=112),
        Move(Step.DELETE_FILE, 0, target=112, group=1, token=7),
        Move(Step.REMOVE_INSTANT, 0, target=112),
        Move(Step.COMPLETE_ROLLBACK, 0, target=112, time=113),
        Move(Step.RELEASE_LOCK, 0),
        Move(Step.STOP_HEARTBEAT, 0),
    ]

    before, state = after(*INSERT), after(*INSERT, *mine, *give_up)

    assert storage_view(state, SAFE).data_files == storage_view(before, SAFE).data_files
    assert state.writers[0].phase is Phase.START


def test_a_write_with_a_live_heartbeat_is_not_rolled_back_by_another():
    state = after(*begin(100), Move(Step.ACQUIRE_LOCK, 1))

    assert "alive" in refusal(state, Move(Step.REQUEST_ROLLBACK, 1, time=101, target=100), SAFE)


def test_a_crashed_holders_lock_is_free_once_its_lease_ran_out():
    state = after(Move(Step.ACQUIRE_LOCK, 0), Move(Step.CRASH, 0))
    assert "taken" in refusal(state, Move(Step.ACQUIRE_LOCK, 1), SAFE)

    state = apply(state, Move(Step.EXPIRE_LOCK), SAFE)

    assert refusal(state, Move(Step.ACQUIRE_LOCK, 1), SAFE) is None


def test_a_holder_whose_lease_ran_out_cannot_complete():
    mine = [*begin(100), *write(((1, 10),), ((1, 1),), 1), *complete(101)[:3]]

    state = after(*mine, Move(Step.EXPIRE_LOCK))

    assert "lease" in refusal(state, Move(Step.COMPLETE_INSTANT, 0, time=101), SAFE)


def test_a_writer_that_lost_its_lock_never_releases_another_holders():
    state = after(
        Move(Step.ACQUIRE_LOCK, 0), Move(Step.EXPIRE_LOCK), Move(Step.ACQUIRE_LOCK, 1), Move(Step.RELEASE_LOCK, 0)
    )

    assert state.world.lock == 1


@pytest.mark.parametrize("expiry", [Move(Step.EXPIRE_HEARTBEAT, time=100)], ids=["heartbeat"])
def test_a_writer_whose_heartbeat_expired_does_not_pass_the_check(expiry):
    state = after(*begin(100), *write(((1, 10),), ((1, 1),), 1), expiry, Move(Step.ACQUIRE_LOCK, 0))

    assert "heartbeat" in refusal(state, Move(Step.CHECK_CONFLICTS, 0), SAFE)


def test_a_colliding_request_is_refused_and_leaves_the_others_instant_alone():
    config = Config(clock=ClockKind.NON_MONOTONIC)
    state = after(*begin(100), *begin(100, writer=1)[:3], config=config)
    assert "exists" in refusal(state, Move(Step.REQUEST_INSTANT, 1), config)

    state = apply(state, Move(Step.ABORT_WRITE, 1, reason=AbortReason.COLLISION), config)
    state = apply(state, Move(Step.RELEASE_LOCK, 1), config)

    assert storage_view(state, SAFE).heartbeats == {100}
    assert state.writers[1].phase is Phase.START


def test_file_groups_are_locked_one_writer_at_a_time_under_pessimistic_control():
    config = Config(concurrency=ConcurrencyControl.PESSIMISTIC)
    lookup = Move(Step.LOOKUP_KEYS, 0, changes=((1, 10),), placement=((1, 1),))
    other = Move(Step.LOOKUP_KEYS, 1, changes=((2, 20),), placement=((2, 1),))

    state = after(*begin(100), *begin(101, writer=1), lookup, other, Move(Step.ACQUIRE_LOCK, 0, group=1), config=config)

    assert "locked" in refusal(state, Move(Step.ACQUIRE_LOCK, 1, group=1), config)
    assert "locks" in refusal(state, Move(Step.START_INFLIGHT, 1), config)


def test_reading_changes_nothing():
    state = after(*INSERT)

    assert apply(state, Move(Step.READ_SNAPSHOT, time=100), SAFE) == state


@pytest.mark.parametrize(
    "move",
    [
        Move(Step.GENERATE_REQUESTED_TIME, 0, time=1),
        Move(Step.COMPLETE_INSTANT, 0, time=1),
        Move(Step.RELEASE_LOCK, 0),
        Move(Step.CRASH, 0),
        Move(Step.EXPIRE_LOCK),
        Move(Step.EXPIRE_HEARTBEAT, time=1),
        Move(Step.START_ROLLBACK, 0, target=1),
        Move(Step.ACQUIRE_LOCK, 5),
    ],
    ids=lambda move: move.step.value,
)
def test_what_is_not_enabled_is_refused_by_name_and_changes_nothing(move):
    state = initial_state(2)

    with pytest.raises(NotEnabledError, match=move.step.value):
        apply(state, move, SAFE)

    assert state == initial_state(2)


CRASHED = [*begin(100), *write(((1, 10),), ((1, 1),), 1), Move(Step.CRASH, 0), Move(Step.EXPIRE_HEARTBEAT, time=100)]
PLANNED = [*CRASHED, Move(Step.ACQUIRE_LOCK, 1), Move(Step.REQUEST_ROLLBACK, 1, time=101, target=100)]
STARTED = [*PLANNED, Move(Step.START_ROLLBACK, 1, target=101)]


@pytest.mark.parametrize(
    ("history", "move", "objection"),
    [
        (CRASHED, Move(Step.REQUEST_ROLLBACK, 1, time=101, target=100), "does not hold the table lock"),
        (PLANNED[:-1], Move(Step.REQUEST_ROLLBACK, 1, time=99, target=100), "already given out 100"),
        (PLANNED, Move(Step.REQUEST_ROLLBACK, 1, time=102, target=100), "in hand"),
        (PLANNED, Move(Step.DELETE_FILE, 1, target=101, group=1, token=7), "no inflight rollback 101"),
        ([*PLANNED, Move(Step.EXPIRE_LOCK)], Move(Step.START_ROLLBACK, 1, target=101), "table lock"),
        (STARTED, Move(Step.DELETE_FILE, 1, target=101, group=2, token=7), "not one of the target's"),
        (STARTED, Move(Step.REMOVE_INSTANT, 1, target=101), "data files of the target are left"),
        (STARTED, Move(Step.COMPLETE_ROLLBACK, 1, time=102, target=101), "still on the timeline"),
        (begin(100)[:-1], Move(Step.LOOKUP_KEYS, 0, changes=(), placement=()), "still holds the table lock"),
        (begin(100), Move(Step.LOOKUP_KEYS, 0, changes=((1, 1),), placement=()), "keys to place are"),
        (begin(100)[:2], Move(Step.REQUEST_INSTANT, 0), "heartbeat does not beat"),
        ([Move(Step.ACQUIRE_LOCK, 0)], Move(Step.GENERATE_REQUESTED_TIME, 0, time=0), "already given out 0"),
        ([Move(Step.ACQUIRE_LOCK, 0)], Move(Step.ACQUIRE_LOCK, 0), "believes that it holds"),
        (begin(100), Move(Step.ACQUIRE_LOCK, 0, group=1), "pessimistic control only"),
        (CRASHED[:-2], Move(Step.CHECK_CONFLICTS, 0), "does not hold the table lock"),
        (CRASHED[:-3], Move(Step.CHECK_CONFLICTS, 0), "not all data files"),
        (CRASHED[:-3], Move(Step.WRITE_FILE, 0, group=2, token=7), "not one that is left"),
        (CRASHED[:-3], Move(Step.ABORT_WRITE, 0, reason=AbortReason.FENCED), "no reason to give up"),
        (begin(100)[:-1], Move(Step.RENEW_HEARTBEAT, 1), "in phase START"),
        ([*begin(100), *write((), ()), *complete(101)[:-1]], Move(Step.COMPLETE_INSTANT, 0, time=102), "phase"),
    ],
)
def test_a_step_that_is_not_enabled_says_what_is_in_its_way(history, move, objection):
    state = after(*history)

    assert objection in refusal(state, move, SAFE)


def test_a_completion_time_is_later_than_every_time_before_it():
    state = after(*begin(100), *write((), ()), *complete(101)[:3])

    assert "already given out 100" in refusal(state, Move(Step.COMPLETE_INSTANT, 0, time=100), SAFE)


def test_a_writer_that_gave_up_rolls_back_its_own_write_only():
    mine = [*begin(110, writer=1), Move(Step.ACQUIRE_LOCK, 1), Move(Step.ABORT_WRITE, 1, reason=AbortReason.FAILED)]
    state = after(*CRASHED, *PLANNED[len(CRASHED) :], Move(Step.RELEASE_LOCK, 1), *mine)

    assert "its own write only" in refusal(state, Move(Step.START_ROLLBACK, 1, target=101), SAFE)


def test_a_rollback_that_was_interrupted_is_continued_by_the_next_writer():
    by_another = [
        Move(Step.CRASH, 1),
        Move(Step.EXPIRE_LOCK),
        Move(Step.ACQUIRE_LOCK, 0),
        Move(Step.DELETE_FILE, 0, target=101, group=1, token=7),
        Move(Step.REMOVE_INSTANT, 0, target=101),
        Move(Step.COMPLETE_ROLLBACK, 0, target=101, time=103),
    ]

    view = storage_view(after(*STARTED, *by_another), SAFE)

    assert view.data_files == {}
    assert {file.action for file in view.timeline} == {Action.ROLLBACK}
    assert view.heartbeats == frozenset()


EVERY_MODULE = assembled(known_modules())


def test_every_step_of_the_protocol_has_one_rule():
    assert tuple(protocol_of(Config(modules=EVERY_MODULE)).rules) == tuple(Step)


def test_every_rule_says_when_it_is_enabled_what_it_does_and_what_it_leaves():
    for rule in protocol_of(Config(modules=EVERY_MODULE)).rules.values():
        text = type(rule).__doc__
        positions = [text.index(part) for part in ("Enabled:", "Effect:", "Unchanged:")]
        assert positions == sorted(positions)


def test_what_is_proposed_is_allowed():
    state = after(*INSERT, *begin(110))

    moves = enabled(state, SAFE)

    assert moves
    assert all(refusal(state, move, SAFE) is None for move in moves)
    assert state.world.lock == FREE
