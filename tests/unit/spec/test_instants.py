from __future__ import annotations

import itertools

import pytest

from drawstring_spec.errors import FormatError, IllegalTransitionError
from drawstring_spec.instants import (
    FORWARD_TRANSITIONS,
    PENDING_ONLY_ACTIONS,
    REVERT_TRANSITIONS,
    Action,
    Instant,
    State,
    check_revert,
    check_transition,
    completed_action,
    initial_state,
)

TIME = "20261121033115937"
COMPLETION = "20261121033118309"


def instant_in(state: State, action: Action = Action.COMMIT) -> Instant:
    completion_time = COMPLETION if state is State.COMPLETED else None
    return Instant(TIME, action, state, completion_time)


def test_states_are_ordered_from_requested_to_completed():
    assert State.REQUESTED < State.INFLIGHT < State.COMPLETED


def test_the_label_of_a_state_is_its_word_in_file_names():
    assert [state.label for state in State] == ["requested", "inflight", "completed"]


@pytest.mark.parametrize(
    ("pending", "completed"),
    [
        (Action.COMPACTION, Action.COMMIT),
        (Action.LOG_COMPACTION, Action.DELTA_COMMIT),
        (Action.CLUSTERING, Action.REPLACE_COMMIT),
    ],
)
def test_a_rewriting_service_completes_under_the_action_of_a_write(pending, completed):
    assert completed_action(pending) is completed
    assert pending.comparable is completed


@pytest.mark.parametrize("action", sorted(set(Action) - PENDING_ONLY_ACTIONS))
def test_every_other_action_completes_under_its_own_name(action):
    assert completed_action(action) is action
    assert action.comparable is action


@pytest.mark.parametrize("action", sorted(PENDING_ONLY_ACTIONS))
def test_no_completed_instant_has_an_action_of_pending_ones_only(action):
    with pytest.raises(FormatError, match="is named"):
        Instant(TIME, action, State.COMPLETED, COMPLETION)


@pytest.mark.parametrize("state", [State.REQUESTED, State.INFLIGHT])
def test_a_pending_instant_has_no_completion_time(state):
    with pytest.raises(FormatError, match="has a completion time"):
        Instant(TIME, Action.COMMIT, state, COMPLETION)


def test_a_completed_instant_of_an_old_table_has_no_completion_time():
    assert Instant(TIME, Action.COMMIT, State.COMPLETED).completion_time is None


def test_there_is_no_requested_savepoint():
    with pytest.raises(FormatError, match="no requested savepoint"):
        Instant(TIME, Action.SAVEPOINT, State.REQUESTED)


@pytest.mark.parametrize("action", list(Action))
def test_every_action_but_a_savepoint_begins_as_requested(action):
    expected = State.INFLIGHT if action is Action.SAVEPOINT else State.REQUESTED
    assert initial_state(action) is expected


@pytest.mark.parametrize(("before", "after"), list(itertools.product(State, State)))
def test_an_instant_moves_forward_by_exactly_one_state(before, after):
    instant = instant_in(before)
    if after - before == 1:
        check_transition(instant, after)
    else:
        with pytest.raises(IllegalTransitionError) as refused:
            check_transition(instant, after)
        assert refused.value.rule == "TL-010"
        assert TIME in str(refused.value)


@pytest.mark.parametrize("action", sorted(PENDING_ONLY_ACTIONS | {Action.INDEXING}))
def test_a_service_may_be_taken_back_to_its_plan(action):
    check_revert(instant_in(State.INFLIGHT, action), State.REQUESTED)


def test_an_inflight_write_is_not_taken_back_to_requested():
    with pytest.raises(IllegalTransitionError, match="cannot be taken back to requested"):
        check_revert(instant_in(State.INFLIGHT), State.REQUESTED)


@pytest.mark.parametrize("action", [Action.COMMIT, Action.DELTA_COMMIT, Action.REPLACE_COMMIT])
def test_a_completed_write_may_be_un_completed(action):
    check_revert(instant_in(State.COMPLETED, action), State.INFLIGHT)


def test_a_completed_clean_stays_completed():
    with pytest.raises(IllegalTransitionError):
        check_revert(instant_in(State.COMPLETED, Action.CLEAN), State.INFLIGHT)


def test_no_move_is_both_forward_and_back():
    assert not FORWARD_TRANSITIONS & set(REVERT_TRANSITIONS)


def test_an_instant_in_its_next_state_keeps_its_time_and_changes_its_action_when_it_completes():
    inflight = Instant(TIME, Action.CLUSTERING, State.INFLIGHT)
    assert inflight.with_state(State.COMPLETED, COMPLETION) == Instant(
        TIME, Action.REPLACE_COMMIT, State.COMPLETED, COMPLETION
    )
    assert inflight.with_state(State.REQUESTED).action is Action.CLUSTERING


def test_the_timeline_is_ordered_by_time_then_comparable_action_then_state():
    earlier = Instant("20261121033115936", Action.ROLLBACK, State.COMPLETED, COMPLETION)
    clean = Instant(TIME, Action.CLEAN, State.INFLIGHT)
    compaction = Instant(TIME, Action.COMPACTION, State.INFLIGHT)
    commit = Instant(TIME, Action.COMMIT, State.COMPLETED, COMPLETION)
    shuffled = [commit, clean, earlier, compaction]
    assert sorted(shuffled, key=lambda instant: instant.sort_key) == [earlier, clean, compaction, commit]


def test_an_instant_tells_its_state_and_both_times_in_words():
    assert str(instant_in(State.COMPLETED)) == f"{TIME} commit (completed at {COMPLETION})"
    assert str(instant_in(State.REQUESTED)) == f"{TIME} commit (requested)"
