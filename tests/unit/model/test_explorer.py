"""The explorer counts what a plain search counts, and its counterexamples are real and shortest."""

from __future__ import annotations

from dataclasses import replace

import pytest

from drawstring_model.config import Bounds, ClockKind, ConcurrencyControl, Config, upsert
from drawstring_model.core.protocol import apply, enabled
from drawstring_model.core.state import initial_state
from drawstring_model.explorer import Knowledge, explore
from drawstring_model.invariants import INVARIANTS, Promise
from drawstring_model.narrate import narrate, told_history

SMALL = Bounds(workload=(upsert(1), upsert(1)), groups=2, crashes=1, heartbeat_expiries=0, lock_expiries=0)


def plain_search(config):
    """Levels of states by apply and enabled alone, and the first level with a broken promise."""
    level, seen, broken, depth = {initial_state(config.bounds.writers)}, set(), {}, 0
    while level:
        seen |= level
        for promise, check in INVARIANTS.items():
            if promise not in broken and any(check(state.world, config) for state in level):
                broken[promise] = depth
        level = {apply(state, move, config) for state in level for move in enabled(state, config)} - seen
        depth += 1
    return len(seen), broken


@pytest.mark.parametrize("concurrency", ConcurrencyControl)
def test_a_plain_search_finds_the_same_states_and_the_same_shortest_lengths(concurrency):
    config = Config(concurrency=concurrency, key_check=False, bounds=replace(SMALL, faults=0))

    exploration = explore(config)

    lengths = {promise: len(example.moves) for promise, example in exploration.counterexamples.items()}
    lengths.pop(Promise.TIME_TRAVEL_STABILITY, None)
    assert (exploration.states, lengths) == plain_search(config)


def test_a_counterexample_replays_to_a_state_that_breaks_its_promise():
    config = Config(concurrency=ConcurrencyControl.NONE, bounds=SMALL)
    example = explore(config).counterexamples[Promise.NO_LOST_UPDATE]

    state = initial_state(config.bounds.writers)
    for move in example.moves:
        assert INVARIANTS[Promise.NO_LOST_UPDATE](state.world, config) is None
        state = apply(state, move, config)

    assert INVARIANTS[Promise.NO_LOST_UPDATE](state.world, config) == example.finding


def test_a_counterexample_is_told_step_by_step_and_ends_in_the_contradiction():
    config = Config(concurrency=ConcurrencyControl.NONE, bounds=SMALL)
    example = explore(config).counterexamples[Promise.NO_LOST_UPDATE]

    sentences = narrate(example, config)

    assert len(sentences) == len(example.moves) + 1
    assert sentences[:-1] == told_history(example.moves, config)
    assert sentences[-1].startswith("Promised: each version of a file group builds on the version right before it; how")
    assert sentences[-1].endswith("a contradiction.")


def test_an_exploration_that_reached_its_limit_says_that_it_is_not_exhausted():
    assert not explore(Config(bounds=SMALL), max_states=100).exhausted


def test_a_switch_that_was_never_asked_decides_nothing():
    asked: set[str] = set()
    config = Config(bounds=SMALL, asked=asked)

    states = explore(config).states

    assert asked == set()
    assert states == explore(replace(config, asked=None, put_if_absent=False, salt=False)).states


def test_every_writer_comes_to_rest():
    """Where nothing more is enabled, every writer is idle and nothing pending is left to its fate."""
    config = Config(bounds=SMALL)
    level, seen = {initial_state(2)}, set()
    resting = set()
    while level:
        seen |= level
        successors = {state: [apply(state, move, config) for move in enabled(state, config)] for state in level}
        resting |= {state for state, following in successors.items() if not following}
        level = {state for following in successors.values() for state in following} - seen

    assert resting
    for state in resting:
        pending = set(state.world.requested) - {commit.requested for commit in state.world.commits}
        assert not pending
        assert state.world.lock < 0
        assert all(writer.phase == 0 for writer in state.writers)


def found(exploration):
    lengths = {promise: len(example.moves) for promise, example in exploration.counterexamples.items()}
    return exploration.states, exploration.transitions, exploration.depth, lengths


def test_what_one_exploration_worked_out_changes_nothing_in_the_next():
    bounds = Bounds(workload=(upsert(1), upsert(2)), groups=1, faults_until=1, lock_expiries=0, heartbeat_expiries=0)
    first = Config(clock=ClockKind.NON_MONOTONIC, bounds=bounds)
    family = [replace(first, put_if_absent=absent, salt=salt) for absent in (True, False) for salt in (True, False)]
    knowledge = Knowledge(first)

    together = [found(explore(config, knowledge=knowledge)) for config in family]

    assert together == [found(explore(config)) for config in family]
    assert len({str(each) for each in together}) == 3


def test_knowledge_of_another_protocol_is_refused():
    with pytest.raises(ValueError, match="differ in more"):
        explore(Config(bounds=SMALL, key_check=False), knowledge=Knowledge(Config(bounds=SMALL)))
