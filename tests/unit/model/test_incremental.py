"""A consumer of changes: by which time it may read on, and what each costs (RFC-22's options).

The lengths of the shortest histories are facts of the model, which change only with its rules.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from drawstring_model.config import COPY_ON_WRITE, MERGE_ON_READ, Bounds, ConcurrencyControl, Config, PlantedBug, upsert
from drawstring_model.core.module import part
from drawstring_model.explorer import explore
from drawstring_model.invariants import Promise
from drawstring_model.modules.incremental import Consumed, Incremental, ReadOn, fence, new_commits
from drawstring_model.narrate import narrate

CALM = Bounds(workload=(upsert(1), upsert(2)), groups=2, faults=0)
LOST_LEASE = replace(CALM, faults=1, crashes=0, heartbeat_expiries=0)


def consumed(read_on, *, modules=COPY_ON_WRITE, bounds=CALM, pulls=1, **switches):
    return Config(modules=(*modules, Incremental(pulls, read_on)), bounds=bounds, **switches)


def shortest(config):
    return explore(config, until=Promise.INCREMENTAL_READS).counterexamples[Promise.INCREMENTAL_READS]


@pytest.mark.parametrize("read_on", [ReadOn.COMPLETION, ReadOn.FENCED])
def test_by_completion_times_or_up_to_the_fence_nothing_is_missed(read_on):
    exploration = explore(consumed(read_on, pulls=2))

    assert exploration.exhausted
    assert exploration.holds(Promise.INCREMENTAL_READS)


def test_by_requested_times_who_completes_late_is_missed():
    config = consumed(ReadOn.REQUESTED)

    example = shortest(config)

    assert len(example.moves) == 26
    assert "was never given 1, which completed at" in example.finding
    assert any("the consumer reads on from where it stopped" in sentence for sentence in narrate(example, config))


def test_the_fence_lets_an_instant_through_that_is_requested_and_not_inflight_if_it_overlooks_those():
    config = consumed(ReadOn.FENCED, planted=PlantedBug.FENCE_OF_INFLIGHT)

    assert len(shortest(config).moves) == 26


@pytest.mark.parametrize(("read_on", "is_safe"), [(ReadOn.FENCED, False), (ReadOn.COMPLETION, True)])
def test_the_fence_needs_time_and_request_under_one_lock_and_completion_times_do_not(read_on, is_safe):
    config = consumed(read_on, concurrency=ConcurrencyControl.NONE, key_check=False)

    assert explore(config).holds(Promise.INCREMENTAL_READS) is is_safe


@pytest.mark.parametrize(("read_on", "is_safe"), [(ReadOn.FENCED, False), (ReadOn.COMPLETION, True)])
def test_a_lease_that_runs_out_between_the_two_breaks_the_fence_and_not_completion_times(read_on, is_safe):
    exploration = explore(consumed(read_on, bounds=LOST_LEASE), until=Promise.INCREMENTAL_READS)

    assert exploration.holds(Promise.INCREMENTAL_READS) is is_safe


def test_a_slow_writer_holds_the_fenced_consumer_up_and_no_other():
    fenced, by_completion = consumed(ReadOn.FENCED), consumed(ReadOn.COMPLETION)

    def held_up(world):
        waits = bool(world.commits) and not new_commits(world, fenced) and fence(world, fenced) is not None
        return waits and not part(world, Consumed).pulls and bool(new_commits(world, by_completion))

    assert explore(fenced, witnesses={"held up": held_up}).witnesses["held up"] > 0


def test_a_pending_compaction_is_no_fence():
    config = consumed(ReadOn.FENCED, modules=MERGE_ON_READ, bounds=replace(CALM, workload=(upsert(1),) * 2, groups=1))

    def read_beside_a_plan(world):
        completed = {commit.requested for commit in world.commits}
        return (
            part(world, Consumed).pulls > 0
            and set(world.requested) - completed != set()
            and fence(world, config) is None
        )

    exploration = explore(config, witnesses={"beside": read_beside_a_plan})

    assert exploration.exhausted
    assert exploration.holds(Promise.INCREMENTAL_READS)
    assert exploration.witnesses["beside"] > 0
