"""Times of instants: in the table's zone, and later than everything on the timeline."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawstring.protocol.instant_times import next_time
from drawstring.timeline.timeline import Timeline
from drawstring_spec.instants import Action, Instant, State
from drawstring_spec.times import format_instant_time
from unit.impl.protocol.world import START_MS, ManualClock, World

HOUR_MS = 3_600_000
EMPTY = Timeline(())


class ClockOfBerlin(ManualClock):
    def local_offset_ms(self, wall_ms: int) -> int:
        return HOUR_MS


def context_in(zone: str):
    context = World().context()
    return replace(
        context,
        ports=replace(context.ports, clock=ClockOfBerlin()),
        config=replace(context.config, timeline_zone=zone),
    )


def timeline_of(*times: str) -> Timeline:
    return Timeline(tuple(Instant(time, Action.CLEAN, State.REQUESTED) for time in times))


def test_a_table_in_utc_has_times_in_utc_wherever_its_writer_is():
    assert next_time(context_in("UTC"), EMPTY) == format_instant_time(START_MS)


def test_a_table_in_local_time_has_the_times_of_its_writers_zone():
    assert next_time(context_in("LOCAL"), EMPTY) == format_instant_time(START_MS + HOUR_MS)


@given(st.lists(st.integers(min_value=0, max_value=2 * START_MS), max_size=4), st.booleans())
def test_a_time_is_greater_than_each_that_is_there(moments_ms, short):
    times = [format_instant_time(moment)[: 14 if short else 17] for moment in moments_ms]
    found = next_time(context_in("UTC"), timeline_of(*times))
    assert len(found) == 17
    assert all(found > time for time in times)


@pytest.mark.parametrize("ahead_ms", [1, HOUR_MS])
def test_a_completion_time_counts_too(ahead_ms):
    completion_time = format_instant_time(START_MS + ahead_ms)
    commit = Instant(format_instant_time(START_MS - 1), Action.COMMIT, State.COMPLETED, completion_time)
    assert next_time(context_in("UTC"), Timeline((commit,))) > completion_time
