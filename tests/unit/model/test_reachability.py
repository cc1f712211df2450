"""No promise is kept for want of danger: the situation that it is about is reached."""

from __future__ import annotations

from dataclasses import replace

import pytest

from drawstring_model.config import (
    CLEANED,
    CLUSTERED,
    COPY_ON_WRITE,
    MERGE_ON_READ,
    RESTORED,
    Bounds,
    ClockKind,
    Config,
    delete,
    upsert,
)
from drawstring_model.explorer import explore
from drawstring_model.invariants import Promise
from drawstring_model.modules.archival import Archival
from drawstring_model.modules.indexing import Indexing
from drawstring_model.modules.log_compaction import LogCompaction
from drawstring_model.modules.log_files import LogFiles
from drawstring_model.modules.lost_answers import LostAnswers
from drawstring_model.modules.metadata_table import MetadataTable
from drawstring_model.modules.non_blocking import NonBlocking
from drawstring_model.modules.query_types import QueryTypes
from drawstring_model.modules.retries import Retries
from drawstring_model.modules.savepoints import SavepointModule
from drawstring_model.reachability import WITNESSES

CONFLICTING = Bounds(workload=(upsert(1), upsert(1)), heartbeat_expiries=0, lock_expiries=0)
APPENDED = Bounds(workload=(upsert(1), upsert(1), delete(1)), groups=1, faults=0, heartbeat_expiries=0, lock_expiries=0)
DISJOINT = Bounds(workload=(upsert(1), upsert(2)), faults=0)

BOUNDS = {
    Promise.CONSISTENT_READ: Config(bounds=Bounds(workload=(upsert(1), upsert(1), upsert(2)), faults=0)),
    Promise.NO_LOST_UPDATE: Config(bounds=CONFLICTING),
    Promise.NO_DUPLICATE_KEYS: Config(bounds=CONFLICTING),
    # Only clocks that repeat themselves give two operations one time.
    Promise.NO_UNDONE_WRITE: Config(clock=ClockKind.NON_MONOTONIC, bounds=DISJOINT),
    Promise.LIVE_WRITER_KEPT: Config(bounds=CONFLICTING),
    Promise.LEGAL_TRANSITIONS: Config(bounds=CONFLICTING),
    Promise.LATEST_SNAPSHOT: Config(modules=MERGE_ON_READ, bounds=APPENDED),
    Promise.NO_RESURRECTED_DELETE: Config(modules=MERGE_ON_READ, bounds=APPENDED),
    Promise.PLANNED_FILES_STAY: Config(modules=MERGE_ON_READ, bounds=replace(APPENDED, faults=1, faults_until=3)),
    Promise.QUERIES_KEEP_FILES: Config(modules=CLEANED, bounds=replace(APPENDED, workload=(upsert(1),) * 3)),
    Promise.SAVEPOINTS_STAY: Config(
        modules=(*CLEANED, SavepointModule()),
        bounds=replace(APPENDED, writers=1, workload=(upsert(1),) * 4),
    ),
    Promise.RESTORES_ARE_EXACT: Config(modules=RESTORED, bounds=replace(APPENDED, workload=(upsert(1),) * 3)),
    Promise.INCREMENTAL_READS: Config(
        modules=(*MERGE_ON_READ, NonBlocking()), bounds=replace(CONFLICTING, groups=1, faults=0)
    ),
    Promise.MERGED_LOGS_UNNEEDED: Config(modules=(*COPY_ON_WRITE, LogFiles(), LogCompaction()), bounds=APPENDED),
    Promise.INDEX_AGREES: Config(modules=(*COPY_ON_WRITE, Indexing()), bounds=DISJOINT),
    Promise.METADATA_AGREES: Config(modules=(*COPY_ON_WRITE, MetadataTable()), bounds=CONFLICTING),
    Promise.APPLIED_ONCE: Config(modules=(*COPY_ON_WRITE, Retries()), bounds=replace(CONFLICTING, groups=1, faults=0)),
    Promise.TRUE_OUTCOMES: Config(
        modules=(*COPY_ON_WRITE, LostAnswers()), bounds=replace(CONFLICTING, groups=1, faults=0)
    ),
    Promise.CLUSTERING_KEEPS_ROWS: Config(modules=CLUSTERED, bounds=replace(CONFLICTING, groups=1, faults=0)),
    Promise.CAPTURED_CHANGES: Config(
        modules=(*MERGE_ON_READ, NonBlocking(), QueryTypes()), bounds=replace(CONFLICTING, groups=1, faults=0)
    ),
    Promise.READ_OPTIMIZED: Config(modules=(*MERGE_ON_READ, QueryTypes()), bounds=APPENDED),
    Promise.HISTORY_IS_WHOLE: Config(
        modules=(*COPY_ON_WRITE, Archival()), bounds=replace(APPENDED, workload=(upsert(1),) * 3)
    ),
    Promise.TIME_TRAVEL_STABILITY: Config(bounds=DISJOINT),
}


@pytest.mark.parametrize("promise", WITNESSES, ids=lambda promise: promise.value)
def test_the_danger_that_the_promise_is_about_is_reached(promise):
    exploration = explore(BOUNDS[promise], witnesses={promise.value: WITNESSES[promise]}, max_states=60_000)

    assert exploration.witnesses[promise.value] > 0


def test_every_promise_has_a_twin():
    assert set(WITNESSES) == set(BOUNDS) == set(Promise)
