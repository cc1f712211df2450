"""Random walks through bounds that are too large to exhaust keep every promise of the default configuration.

Those of `test_stateful_modules` are walks through more modules.
"""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from drawstring_model.config import Config, SnapshotTime
from drawstring_model.core.protocol import apply, enabled, protocol_of
from drawstring_model.core.state import initial_state
from drawstring_model.invariants import STEP_PROPERTIES
from unit.model import walks

LARGE = replace(walks.LARGE, crashes=3, heartbeat_expiries=3, lock_expiries=3, faults=6, renewals=2)
WALK = st.lists(st.integers(min_value=0, max_value=2**16), min_size=40, max_size=160)


@given(choices=WALK)
@settings(max_examples=150)
def test_no_walk_breaks_a_promise_of_the_default_configuration(choices):
    config = Config(bounds=LARGE)
    promises = protocol_of(config).invariants()
    state = initial_state(LARGE.writers)

    for choice in choices:
        moves = enabled(state, config)
        if not moves:
            break
        state = apply(state, moves[choice % len(moves)], config)
        broken = {promise: finding for promise, check in promises.items() if (finding := check(state.world, config))}
        assert broken == {}


@given(choices=WALK)
@settings(max_examples=100)
def test_no_walk_changes_a_snapshot_by_completion_time(choices):
    config = Config(bounds=LARGE, snapshot_time=SnapshotTime.COMPLETION)
    state = initial_state(LARGE.writers)

    for choice in choices:
        moves = enabled(state, config)
        if not moves:
            break
        before, state = state, apply(state, moves[choice % len(moves)], config)
        for check in STEP_PROPERTIES.values():
            assert check(before.world, state.world, config) is None
