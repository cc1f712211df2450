"""Puts whose answers are lost: what a writer sees when it puts its file again.

The lengths of the shortest histories are facts of the model, which change only with its rules.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from drawstring_model.config import COPY_ON_WRITE, Bounds, ClockKind, Config, PlantedBug, upsert
from drawstring_model.core.protocol import NotEnabledError, apply, enabled, start
from drawstring_model.core.state import AbortReason, Move
from drawstring_model.explorer import explore
from drawstring_model.invariants import Promise
from drawstring_model.modules.lost_answers import LostAnswers
from drawstring_model.narrate import narrate
from drawstring_spec.steps import Step

CALM = Bounds(workload=(upsert(1), upsert(1)), groups=1, faults=0)
UNHEARD = Config(modules=(*COPY_ON_WRITE, LostAnswers()), bounds=CALM)
REQUEST = (Step.ACQUIRE_LOCK, Step.GENERATE_REQUESTED_TIME, Step.START_HEARTBEAT)
TO_UPDATED = (
    *REQUEST,
    Step.REQUEST_INSTANT,
    Step.RELEASE_LOCK,
    Step.LOOKUP_KEYS,
    Step.START_INFLIGHT,
    Step.WRITE_FILE,
    Step.ACQUIRE_LOCK,
    Step.CHECK_CONFLICTS,
    Step.UPDATE_METADATA,
)


def taken(config, *steps, state=None):
    """The state after the first writer took `steps`, each as the explorer would first propose it."""
    state = state or start(config)
    for step in steps:
        move = next(move for move in enabled(state, config) if move.step is step and move.writer in {0, None})
        state = apply(state, move, config)
    return state


def steps_of(state, config, number=0):
    return {move.step for move in enabled(state, config) if move.writer == number}


@pytest.mark.parametrize("faults", [0, 1])
def test_a_writer_that_looks_what_the_file_says_is_never_wrong(faults):
    exploration = explore(replace(UNHEARD, bounds=replace(CALM, faults=faults)))

    assert exploration.exhausted
    assert not exploration.counterexamples


def test_a_writer_that_takes_its_own_file_for_anothers_gives_up_what_is_complete():
    config = replace(UNHEARD, planted=PlantedBug.REFUSED_BY_ITSELF)

    example = explore(config, until=Promise.TRUE_OUTCOMES).counterexamples[Promise.TRUE_OUTCOMES]

    assert len(example.moves) == 13
    assert "w1 puts the completed file of 1, at 2, and does not hear of it" in narrate(example, config)[-3]
    assert "w1 gives 1 up, because the file exists already" in narrate(example, config)[-2]


def test_a_completion_that_is_repeated_under_another_name_completes_twice():
    config = replace(UNHEARD, planted=PlantedBug.COMPLETE_AGAIN)

    example = explore(config, until=Promise.NO_UNDONE_WRITE).counterexamples[Promise.NO_UNDONE_WRITE]

    assert len(example.moves) == 13
    assert example.finding == "two completed writes share the requested time 1"


@pytest.mark.parametrize("before", [REQUEST, TO_UPDATED[:6], TO_UPDATED], ids=["requested", "inflight", "completed"])
def test_the_writer_does_not_give_up_before_it_has_looked(before):
    state = taken(UNHEARD, *before, Step.LOSE_ANSWER)

    for reason in set(AbortReason):
        with pytest.raises(NotEnabledError, match=r"the writer.s own file is there|there is no reason"):
            apply(state, Move(Step.ABORT_WRITE, 0, reason=reason), UNHEARD)
    assert Step.ABORT_WRITE not in steps_of(state, UNHEARD)


def test_the_completed_file_is_found_when_the_lease_has_run_out():
    config = replace(UNHEARD, bounds=replace(CALM, faults=1))
    state = taken(config, *TO_UPDATED, Step.LOSE_ANSWER, Step.EXPIRE_LOCK)

    after = taken(config, Step.COMPLETE_INSTANT, state=state)

    assert after.world.commits == state.world.commits
    assert steps_of(state, config) >= {Step.COMPLETE_INSTANT}


def test_the_completion_is_not_repeated_at_another_time():
    state = taken(UNHEARD, *TO_UPDATED, Step.LOSE_ANSWER)

    with pytest.raises(NotEnabledError, match="the completed file exists"):
        apply(state, Move(Step.COMPLETE_INSTANT, 0, time=9), UNHEARD)


def test_the_lock_whose_answer_was_lost_is_the_writers():
    state = taken(UNHEARD, Step.LOSE_ANSWER)

    assert state.world.lock == 0
    assert Step.ACQUIRE_LOCK in steps_of(state, UNHEARD)
    assert Step.ACQUIRE_LOCK not in steps_of(state, UNHEARD, 1)


def test_who_takes_its_own_lock_for_anothers_waits_for_its_own_lease_to_run_out():
    config = replace(UNHEARD, planted=PlantedBug.REFUSED_BY_ITSELF)

    state = taken(config, Step.LOSE_ANSWER)

    assert Step.ACQUIRE_LOCK not in steps_of(state, config)
    assert Step.ACQUIRE_LOCK in steps_of(taken(config, Step.EXPIRE_LOCK, state=state), config)


def test_what_a_file_says_tells_a_lost_answer_from_a_time_that_two_writers_share():
    bounds = replace(CALM, workload=(upsert(1), upsert(2)), groups=2)
    config = replace(UNHEARD, clock=ClockKind.NON_MONOTONIC, bounds=bounds)

    exploration = explore(config)

    assert exploration.exhausted
    assert not exploration.counterexamples.keys() - {Promise.TIME_TRAVEL_STABILITY, Promise.LIVE_WRITER_KEPT}


def test_a_hang_is_an_expiry_and_then_no_step_for_as_long_as_one_likes():
    """A process that hangs takes no step; the others need no step to see it, but the expiry of what it holds."""
    config = Config(bounds=replace(CALM, faults=1, renewals=1, crashes=0, lock_expiries=0))
    state = taken(config, *TO_UPDATED[:-3], Step.EXPIRE_HEARTBEAT)

    back = taken(config, Step.RENEW_HEARTBEAT, state=state)

    assert Step.REQUEST_ROLLBACK not in steps_of(state, config, 1)
    assert Step.ACQUIRE_LOCK in steps_of(state, config, 1)
    assert back.writers == state.writers
