"""Histories of the implementation are behaviours of ``tla/CopyOnWrite.tla``, too; and wrong ones are not."""

from __future__ import annotations

import dataclasses

import pytest

from drawstring_model.core.state import AbortReason, Move
from drawstring_sim.histories import CALM, ROUGH, run_history
from drawstring_sim.operations import Kind
from drawstring_sim.stage import Stage
from drawstring_sim.tla_trace import UntranslatableError, tla_trace
from drawstring_spec.steps import Step
from unit.model.tlc import TlcMissingError
from unit.sim.tlc_trace import judge_by_tlc, refinement_of

A, C = ("d1", "a"), ("d2", "c")


def _judged(folder, trace):
    try:
        return judge_by_tlc(folder, trace)
    except TlcMissingError as missing:
        pytest.skip(str(missing))


def _moves(recorder):
    refinement = refinement_of(recorder)
    refinement.check()
    return refinement.moves


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "weather"), [(1, CALM), (1, ROUGH)], ids=["calm", "rough"])
def test_a_seeded_history_is_a_behaviour_of_the_tla_module(seed, weather, tmp_path):
    history = run_history(seed, dataclasses.replace(weather, operations=3))
    trace = tla_trace(_moves(history.recorder))

    verdict = _judged(tmp_path, trace)

    assert verdict.is_behaviour, verdict.output[-3000:]
    assert verdict.taken == len(trace.events) > 80


@pytest.fixture(scope="module")
def moves():
    """Two writers, of whom the second updates what the first wrote; nothing goes wrong."""
    stage = Stage()
    assert stage.do(stage.writer("one"), Kind.UPSERT, {A: 1, C: 2}).succeeded
    assert stage.do(stage.writer("two"), Kind.UPSERT, {A: 3}).succeeded
    made = _moves(stage.recorder)
    stage.close()
    return made


def _at(trace, step, nth=0):
    return [at for at, event in enumerate(trace.events) if event["step"] == step.value][nth]


def _without(trace, step):
    at = _at(trace, step, -1)
    return at, (*trace.events[:at], *trace.events[at + 1 :])


def _swapped(trace, first, second):
    events = list(trace.events)
    one, two = _at(trace, first, -1), _at(trace, second, -1)
    events[one], events[two] = events[two], events[one]
    return one, tuple(events)


def _changed(trace, step, name, value):
    at = _at(trace, step, -1)
    return at, (*trace.events[:at], {**trace.events[at], name: value}, *trace.events[at + 1 :])


WRONG = {
    "the completion comes before the check": lambda t: _swapped(t, Step.CHECK_CONFLICTS, Step.COMPLETE_INSTANT),
    "the data file comes after the completion": lambda t: _swapped(t, Step.WRITE_FILE, Step.COMPLETE_INSTANT),
    "nobody takes the lock": lambda t: _without(t, Step.ACQUIRE_LOCK),
    "the metadata table is not told": lambda t: _without(t, Step.UPDATE_METADATA),
    "the file has other rows": lambda t: _changed(t, Step.WRITE_FILE, "rows", frozenset({(1, 1)})),
    "the completion has an earlier time": lambda t: _changed(t, Step.COMPLETE_INSTANT, "time", 1),
    "the file goes to another file group": lambda t: _changed(t, Step.WRITE_FILE, "group", 2),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_history_is_none_from_its_wrong_event_on(name, moves, tmp_path):
    trace = tla_trace(moves)
    at, events = WRONG[name](trace)

    verdict = _judged(tmp_path, dataclasses.replace(trace, events=events))

    assert not verdict.is_behaviour
    assert verdict.taken >= at
    # The lock is missed when the writer wants to go on.
    assert verdict.taken <= at + (2 if name == "nobody takes the lock" else 0)


def test_times_are_numbered_in_their_order_and_values_by_their_operation(moves):
    trace = tla_trace(moves)

    given = [event["time"] for event in trace.events if "time" in event]
    rows = [event["rows"] for event in trace.events if "rows" in event]

    assert given == list(range(1, len(given) + 1))
    assert sorted(map(sorted, rows)) == [[(1, 1)], [(1, 2)], [(2, 1)]]
    assert trace.workload == (((1, True), (2, True)), ((1, True),), ())
    assert trace.writers >= 2
    assert trace.groups == 2


def test_renewing_a_heartbeat_that_beats_is_no_event(moves):
    at = next(at for at, move in enumerate(moves) if move.step is Step.START_INFLIGHT)
    renewal = Move(Step.RENEW_HEARTBEAT, moves[at].writer)

    assert tla_trace([*moves[:at], renewal, *moves[at:]]) == tla_trace(moves)


def test_a_collision_of_times_is_refused_by_name(moves):
    at = next(at for at, move in enumerate(moves) if move.step is Step.REQUEST_INSTANT)
    collision = Move(Step.ABORT_WRITE, moves[at].writer, reason=AbortReason.COLLISION)

    with pytest.raises(UntranslatableError, match="collide"):
        tla_trace(moves[:at], refused=collision)


def test_one_value_of_two_operations_is_refused_by_name():
    stage = Stage()
    stage.do(stage.writer("one"), Kind.UPSERT, {A: 1})
    stage.do(stage.writer("two"), Kind.UPSERT, {A: 1})
    repeated = _moves(stage.recorder)
    stage.close()

    with pytest.raises(UntranslatableError, match="Two operations"):
        tla_trace(repeated)
