"""Log compaction changes no row, and its order among late writes and compactions is what endangers it.

The lengths of the shortest histories are facts of the model, which change only with its rules.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from drawstring_model.config import (
    COPY_ON_WRITE,
    MERGE_ON_READ,
    Bounds,
    Config,
    PlantedBug,
    SnapshotTime,
    delete,
    upsert,
)
from drawstring_model.explorer import explore
from drawstring_model.invariants import Promise
from drawstring_model.modules.log_compaction import LogCompaction, LogPlans, pending_log_plans
from drawstring_model.modules.log_files import LogFiles
from drawstring_model.narrate import narrate

CALM = Bounds(workload=(upsert(1), upsert(1), delete(1)), groups=1, faults=0)
COMPACTED = Config(modules=(*COPY_ON_WRITE, LogFiles(), LogCompaction()), bounds=CALM)


def merged(world):
    return any(key is LogPlans for key, _ in world.parts) and not pending_log_plans(world)


def shortest(config, promise):
    return explore(config, until=promise).counterexamples[promise]


def test_a_log_compaction_changes_no_row_and_its_inputs_are_needed_no_more():
    exploration = explore(COMPACTED, witnesses={"merged": merged})

    assert exploration.exhausted
    assert exploration.witnesses["merged"] > 0
    assert not exploration.counterexamples


def test_beside_an_earlier_write_that_is_pending_it_would_hide_that_write():
    config = replace(COMPACTED, planted=PlantedBug.LOG_COMPACT_BESIDE_PENDING)

    example = shortest(config, Promise.LATEST_SNAPSHOT)

    assert len(example.moves) == 49
    assert any("the log compactor plans log compaction" in sentence for sentence in narrate(example, config))


def test_a_merged_file_without_the_deletes_brings_rows_back_when_its_inputs_are_gone():
    config = replace(COMPACTED, planted=PlantedBug.LOG_COMPACT_WITHOUT_DELETES)

    example = shortest(config, Promise.MERGED_LOGS_UNNEEDED)

    assert len(example.moves) == 49


def test_in_the_order_of_completion_times_a_log_compaction_hides_what_completes_while_it_runs():
    modules = (*COPY_ON_WRITE, LogFiles(order=SnapshotTime.COMPLETION), LogCompaction())

    assert len(shortest(replace(COMPACTED, modules=modules), Promise.LATEST_SNAPSHOT).moves) == 49


@pytest.mark.slow
def test_a_compaction_of_a_file_group_whose_log_files_are_being_merged_is_overlaid_by_them():
    modules = (*MERGE_ON_READ, LogCompaction(holds_compactions_off=False))
    config = Config(modules=modules, bounds=replace(CALM, workload=(upsert(1),) * 3))

    example = shortest(config, Promise.LATEST_SNAPSHOT)

    assert len(example.moves) == 59
    assert {"ScheduleLogCompaction", "RunCompaction"} <= {move.step for move in example.moves}


@pytest.mark.large
def test_a_compaction_that_keeps_off_is_not():
    config = Config(modules=(*MERGE_ON_READ, LogCompaction()), bounds=replace(CALM, workload=(upsert(1),) * 3))

    exploration = explore(config)

    assert exploration.exhausted
    assert exploration.holds(Promise.LATEST_SNAPSHOT)
