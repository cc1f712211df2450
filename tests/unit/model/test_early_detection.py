"""An early look for conflicts saves work, and changes nothing that is completed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from drawstring_model.config import COPY_ON_WRITE, Bounds, Config, PlantedBug, upsert
from drawstring_model.core.protocol import apply as taken
from drawstring_model.core.protocol import enabled, start
from drawstring_model.core.state import Phase
from drawstring_model.explorer import explore
from drawstring_model.invariants import Promise
from drawstring_model.modules.early_detection import EarlyDetection, foresees_conflict
from drawstring_spec.steps import Step

CALM = Bounds(workload=(upsert(1), upsert(2)), groups=1, faults=0)
DETECTED = (*COPY_ON_WRITE, EarlyDetection())

WORKLOADS = {
    "two keys of one file group": CALM,
    "one key": replace(CALM, workload=(upsert(1), upsert(1))),
    "two file groups": replace(CALM, workload=(upsert(1), upsert(1, 2)), groups=2),
    "a crash": replace(CALM, faults=1, heartbeat_expiries=0, lock_expiries=0),
}


def histories_of_commits(config):
    """Everything that can be complete, but for the time at which it was, and which promises are broken."""
    found = set()

    def collect(world):
        found.add(tuple(commit._replace(completion=0) for commit in world.commits))
        return False

    exploration = explore(config, witnesses={"collected": collect})
    assert exploration.exhausted
    return found, exploration


@pytest.mark.parametrize("bounds", WORKLOADS.values(), ids=WORKLOADS)
def test_the_early_look_changes_neither_a_history_of_commits_nor_a_verdict(bounds):
    without, calm = histories_of_commits(Config(bounds=bounds))
    beside, detected = histories_of_commits(Config(modules=DETECTED, bounds=bounds))

    assert beside == without
    assert detected.counterexamples.keys() == calm.counterexamples.keys()
    assert detected.states > calm.states


def test_in_place_of_the_check_before_completion_it_loses_an_update():
    config = Config(modules=DETECTED, bounds=CALM, planted=PlantedBug.DETECT_EARLY_ONLY)

    example = explore(config, until=Promise.NO_LOST_UPDATE).counterexamples[Promise.NO_LOST_UPDATE]

    assert len(example.moves) == 25


def both_inflight(config):
    """A state in which both writers are inflight, and the first has written its file."""
    state = start(config)
    before_files = (
        Step.ACQUIRE_LOCK,
        Step.GENERATE_REQUESTED_TIME,
        Step.START_HEARTBEAT,
        Step.REQUEST_INSTANT,
        Step.RELEASE_LOCK,
        Step.LOOKUP_KEYS,
        Step.START_INFLIGHT,
    )
    for number, step in [*((0, step) for step in before_files), *((1, step) for step in before_files)]:
        state = taken(state, _first(state, config, number, step), config)
    return taken(state, _first(state, config, 0, Step.WRITE_FILE), config)


def _first(state, config, number, step):
    return next(move for move in enabled(state, config) if (move.writer, move.step) == (number, step))


def test_a_living_writers_marker_is_a_reason_to_give_up_and_not_an_obligation():
    config = Config(modules=DETECTED, bounds=CALM)

    state = both_inflight(config)

    steps = {move.step for move in enabled(state, config) if move.writer == 1}
    assert steps == {Step.ABORT_WRITE, Step.WRITE_FILE}
    assert not {move.step for move in enabled(state, Config(bounds=CALM))} & {Step.ABORT_WRITE}


def test_a_dead_writers_marker_is_none():
    config = Config(modules=DETECTED, bounds=replace(CALM, faults=1))
    state = both_inflight(config)
    expiry = next(m for m in enabled(state, config) if m.step is Step.EXPIRE_HEARTBEAT and m.time == 1)

    after = taken(state, expiry, config)

    assert state.writers[1].phase is Phase.INFLIGHT
    assert foresees_conflict(state.world, state.writers[1], config)
    assert not foresees_conflict(after.world, after.writers[1], config)
