"""Log files and compaction: what holds of them, and what a reader of the past must not expect."""

from __future__ import annotations

from dataclasses import replace

import pytest

from drawstring_model.config import COPY_ON_WRITE, MERGE_ON_READ, Bounds, Config, delete, upsert
from drawstring_model.core.config import ConcurrencyControl
from drawstring_model.core.config import Config as CoreConfig
from drawstring_model.core.invariants import INVARIANTS
from drawstring_model.core.promises import Promise
from drawstring_model.core.protocol import Protocol, protocol_of
from drawstring_model.explorer import explore
from drawstring_model.modules.compaction import Compaction
from drawstring_model.modules.log_files import LogFiles
from drawstring_model.narrate import narrate

CALM = Bounds(workload=(upsert(1), upsert(1), delete(1)), groups=1, faults=0)
APPENDED = Config(modules=MERGE_ON_READ, bounds=CALM)


def test_every_promise_about_now_holds_beside_a_compaction():
    exploration = explore(APPENDED)

    assert exploration.exhausted
    assert set(exploration.counterexamples) == {Promise.CONSISTENT_READ, Promise.TIME_TRAVEL_STABILITY}


def test_a_snapshot_of_the_past_misses_a_write_that_completed_after_a_later_compaction_was_planned():
    example = explore(APPENDED, until=Promise.CONSISTENT_READ).counterexamples[Promise.CONSISTENT_READ]

    sentences = narrate(example, APPENDED)

    assert "a snapshot at 5 reads {k1: 2}, but its commits give {} one by one" in sentences[-1]
    assert any("ScheduleCompaction: the compactor plans compaction 6" in sentence for sentence in sentences)
    assert "w2 completes 5 at 7" in sentences[-2]


def test_without_compaction_log_files_keep_every_invariant():
    exploration = explore(replace(APPENDED, modules=(*COPY_ON_WRITE, LogFiles())))

    assert not exploration.counterexamples.keys() - {Promise.TIME_TRAVEL_STABILITY}


def test_a_compaction_that_crashed_is_run_again_to_the_end():
    bounds = replace(CALM, workload=(upsert(1), upsert(1)), faults=1, heartbeat_expiries=0, lock_expiries=0)

    exploration = explore(
        replace(APPENDED, bounds=bounds),
        witnesses={
            "again": lambda world: bool(world.crashes) and any(c.requested and not c.changes for c in world.commits)
        },
    )

    assert exploration.exhausted
    assert exploration.witnesses["again"] > 0
    assert not exploration.counterexamples.keys() - {Promise.CONSISTENT_READ, Promise.TIME_TRAVEL_STABILITY}


def test_the_core_runs_without_any_module():
    exploration = explore(CoreConfig(bounds=replace(CALM, groups=2)))

    assert exploration.exhausted
    assert not exploration.counterexamples.keys() & INVARIANTS.keys()
    assert set(protocol_of(exploration.config).invariants()) == set(INVARIANTS)


def test_the_core_without_control_loses_updates():
    exploration = explore(CoreConfig(concurrency=ConcurrencyControl.NONE, bounds=CALM), until=Promise.NO_LOST_UPDATE)

    assert not exploration.holds(Promise.NO_LOST_UPDATE)


def test_a_module_without_those_that_it_requires_is_refused():
    with pytest.raises(ValueError, match="compaction has to come after log_files"):
        Protocol((Compaction(), LogFiles()))
