"""Each promise notices the bug that breaks it, and holds within the same bounds without the bug."""

from __future__ import annotations

from collections import defaultdict
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
    PlantedBug,
    SnapshotTime,
    delete,
    upsert,
)
from drawstring_model.explorer import explore
from drawstring_model.invariants import Promise
from drawstring_model.modules.archival import Archival
from drawstring_model.modules.cleaning import Cleaning, CleaningPolicy
from drawstring_model.modules.clustering import Clustering
from drawstring_model.modules.early_detection import EarlyDetection
from drawstring_model.modules.incremental import Incremental, ReadOn
from drawstring_model.modules.indexing import Indexing
from drawstring_model.modules.log_compaction import LogCompaction
from drawstring_model.modules.log_files import LogFiles, MergeRule
from drawstring_model.modules.lost_answers import LostAnswers
from drawstring_model.modules.metadata_table import MetadataTable
from drawstring_model.modules.non_blocking import NonBlocking, TaskRetries
from drawstring_model.modules.partition_deletes import PartitionDeleteModule
from drawstring_model.modules.queries import QueryModule
from drawstring_model.modules.query_types import QueryTypes
from drawstring_model.modules.retries import Retries
from drawstring_model.modules.savepoints import SavepointModule
from drawstring_model.modules.two_timelines import TwoTimelines

TWO_UPSERTS = (upsert(1), upsert(1))
CALM = Bounds(workload=TWO_UPSERTS, faults=0)
# Where the file group is given, only one is needed; two would only double the states.
ONE_GROUP = replace(CALM, groups=1)
# Two keys in one file group: only the comparison of file groups stands between the writers.
TWO_KEYS = replace(ONE_GROUP, workload=(upsert(1), upsert(2)))

# An insert and then log files, beside one compaction.
APPENDED = Config(modules=MERGE_ON_READ, bounds=replace(ONE_GROUP, workload=(upsert(1), upsert(1), delete(1))))
APPENDED_WITH_A_CRASH = replace(
    APPENDED,
    bounds=replace(APPENDED.bounds, workload=(upsert(1),) * 3, faults=1, lock_expiries=0, heartbeat_expiries=0),
)

# Updates beside one clean: of slices that a query reads, of versions, of slices that a compaction reads.
CLEANED_ONCE = Config(modules=CLEANED, bounds=replace(ONE_GROUP, workload=(upsert(1), upsert(1))))
VERSIONS = (*COPY_ON_WRITE, QueryModule(queries=0), Cleaning(policy=CleaningPolicy.KEEP_LATEST_FILE_VERSIONS))
CLEANED_BY_VERSIONS = Config(modules=VERSIONS, bounds=replace(CALM, workload=(upsert(1),) * 3))
CLEANED_AND_COMPACTED = Config(
    modules=(*MERGE_ON_READ, *VERSIONS[-2:]), bounds=replace(ONE_GROUP, workload=(upsert(1), upsert(1)))
)

# An insert and then log files, beside one log compaction.
LOG_COMPACTED = replace(APPENDED, modules=(*COPY_ON_WRITE, LogFiles(), LogCompaction()))

# The same beside a compaction, asked for changes and for what is read-optimized.
ASKED = replace(APPENDED, modules=(*MERGE_ON_READ, QueryTypes()))

# Two inserts, beside an index that is built.
INDEXED = Config(modules=(*COPY_ON_WRITE, Indexing()), bounds=TWO_KEYS)

# Two writes, the first of which may fail after it told the metadata table.
TOLD = Config(
    modules=(*COPY_ON_WRITE, MetadataTable()),
    bounds=replace(TWO_KEYS, groups=2, faults=1, heartbeat_expiries=0, lock_expiries=0),
)
# One writer that sleeps in the lock, and another that has nothing to do but roll it back.
TOLD_ASLEEP = replace(TOLD, bounds=replace(ONE_GROUP, workload=(upsert(1),), faults=2, crashes=0))

# Buckets whose values are added up, and a task that is run twice.
RETRIED = Config(
    modules=(*COPY_ON_WRITE, LogFiles(merge=MergeRule.SUM, begun_by_pending=False), NonBlocking(), TaskRetries()),
    bounds=ONE_GROUP,
)

# Two writers of one key, of whom one does not hear of one of its puts.
UNHEARD = Config(modules=(*COPY_ON_WRITE, LostAnswers()), bounds=ONE_GROUP)

# Two writers of one key, of whom one gives way, and its operation is tried again.
RETRIED_OPERATION = Config(modules=(*COPY_ON_WRITE, Retries()), bounds=ONE_GROUP)

# A consumer of the changes of two writers that do not conflict.
CONSUMED = Config(modules=(*COPY_ON_WRITE, Incremental(read_on=ReadOn.FENCED)), bounds=replace(TWO_KEYS, groups=2))

# An insert and an update, beside one clustering.
BESIDE_CLUSTERING = Config(modules=CLUSTERED, bounds=ONE_GROUP)
CLUSTERED_TWICE = Config(
    modules=(*COPY_ON_WRITE, Clustering(schedules=2)), bounds=replace(ONE_GROUP, workload=(upsert(1),))
)

# Three versions, of which a savepoint names one and a clean keeps two.
SAVED = Config(
    modules=(*COPY_ON_WRITE, QueryModule(queries=0), Cleaning(), SavepointModule()),
    bounds=replace(ONE_GROUP, writers=1, workload=(upsert(1),) * 3),
)
# Updates, beside an archiver that keeps one on the active timeline.
ARCHIVED = Config(modules=(*COPY_ON_WRITE, Archival()), bounds=ONE_GROUP)
ARCHIVED_OF_THREE = replace(ARCHIVED, bounds=replace(ONE_GROUP, workload=(upsert(1),) * 3))
# A writer that is long at work completes after another one looked its keys up.
ARCHIVED_MEANWHILE = replace(ARCHIVED, bounds=replace(CALM, workload=(upsert(1), upsert(2), upsert(1))))
# The first write may crash; it has a file group of its own.
ARCHIVED_AFTER_A_CRASH = replace(
    ARCHIVED,
    bounds=Bounds(
        writers=1, workload=(upsert(2), upsert(1), upsert(1)), heartbeat_expiries=0, lock_expiries=0, faults_until=1
    ),
)

# Updates, and a restore to the first or the second.
RESTORED_ONCE = Config(modules=RESTORED, bounds=ONE_GROUP)

CASES = [
    pytest.param(bug, promise, config, id=bug.value)
    for bug, promise, config in [
        (PlantedBug.SKIP_CONFLICT_CHECK, Promise.NO_LOST_UPDATE, Config(bounds=TWO_KEYS)),
        (PlantedBug.SKIP_KEY_CHECK, Promise.NO_DUPLICATE_KEYS, Config(bounds=CALM)),
        (PlantedBug.SNAPSHOT_AHEAD_OF_TIME, Promise.NO_LOST_UPDATE, Config(bounds=ONE_GROUP)),
        (
            PlantedBug.LOOKUP_AHEAD_OF_TIME,
            Promise.CONSISTENT_READ,
            Config(bounds=replace(CALM, workload=(upsert(1), upsert(1), delete(1)))),
        ),
        (
            PlantedBug.NO_FENCING,
            Promise.NO_LOST_UPDATE,
            Config(bounds=replace(ONE_GROUP, faults=1, crashes=0, heartbeat_expiries=0)),
        ),
        (PlantedBug.IGNORE_HEARTBEAT, Promise.LIVE_WRITER_KEPT, Config(bounds=ONE_GROUP)),
        (PlantedBug.STALE_ROLLBACK_LIST, Promise.LEGAL_TRANSITIONS, Config(bounds=ONE_GROUP)),
        (
            PlantedBug.IGNORE_ROLLBACK,
            Promise.NO_UNDONE_WRITE,
            Config(
                # One writer's operation, and another writer that has nothing to do but roll it back.
                bounds=replace(ONE_GROUP, workload=(upsert(1),), faults=2, crashes=0, renewals=1),
            ),
        ),
        (
            PlantedBug.ADOPT_COLLIDING_TIME,
            Promise.NO_UNDONE_WRITE,
            Config(clock=ClockKind.NON_MONOTONIC, bounds=replace(TWO_KEYS, groups=2)),
        ),
        (PlantedBug.READ_UNCOMMITTED, Promise.CONSISTENT_READ, Config(bounds=CALM)),
        (PlantedBug.SKIP_UPDATE_METADATA, Promise.LEGAL_TRANSITIONS, Config(bounds=CALM)),
        (
            PlantedBug.EARLY_COMPLETION_TIME,
            Promise.TIME_TRAVEL_STABILITY,
            Config(snapshot_time=SnapshotTime.COMPLETION, bounds=replace(CALM, workload=(upsert(1), upsert(2)))),
        ),
        (PlantedBug.SKIP_CATCH_UP, Promise.INDEX_AGREES, INDEXED),
        (PlantedBug.INDEX_WITHOUT_WAITING, Promise.INDEX_AGREES, INDEXED),
        (PlantedBug.WRITERS_IGNORE_INDEX, Promise.INDEX_AGREES, INDEXED),
        (PlantedBug.COMPLETE_BEFORE_METADATA, Promise.METADATA_AGREES, TOLD),
        (PlantedBug.COMPACT_PENDING_METADATA, Promise.METADATA_AGREES, TOLD),
        (PlantedBug.SKIP_METADATA_ROLLBACK, Promise.METADATA_AGREES, TOLD),
        (PlantedBug.ROLL_BACK_LAST_METADATA, Promise.METADATA_AGREES, TOLD),
        (PlantedBug.IGNORE_BURIED_METADATA, Promise.METADATA_AGREES, TOLD),
        (PlantedBug.UNFENCED_METADATA, Promise.METADATA_AGREES, TOLD_ASLEEP),
        (PlantedBug.LOG_COMPACT_BESIDE_PENDING, Promise.LATEST_SNAPSHOT, LOG_COMPACTED),
        (PlantedBug.LOG_COMPACT_WITHOUT_DELETES, Promise.MERGED_LOGS_UNNEEDED, LOG_COMPACTED),
        (PlantedBug.KEEP_RETRIED_FILES, Promise.LATEST_SNAPSHOT, RETRIED),
        (PlantedBug.RETRY_WHILE_ALIVE, Promise.APPLIED_ONCE, RETRIED_OPERATION),
        (
            PlantedBug.DETECT_EARLY_ONLY,
            Promise.NO_LOST_UPDATE,
            Config(modules=(*COPY_ON_WRITE, EarlyDetection()), bounds=TWO_KEYS),
        ),
        (PlantedBug.FENCE_OF_INFLIGHT, Promise.INCREMENTAL_READS, CONSUMED),
        (PlantedBug.REFUSED_BY_ITSELF, Promise.TRUE_OUTCOMES, UNHEARD),
        (PlantedBug.COMPLETE_AGAIN, Promise.NO_UNDONE_WRITE, UNHEARD),
        (PlantedBug.DELETE_LATE_LOGS, Promise.NO_UNDONE_WRITE, APPENDED),
        (PlantedBug.SKIP_DELETE_BLOCKS, Promise.NO_RESURRECTED_DELETE, APPENDED),
        (PlantedBug.PLAN_PENDING_LOGS, Promise.PLANNED_FILES_STAY, APPENDED_WITH_A_CRASH),
        (PlantedBug.CAPTURE_SERVICES, Promise.CAPTURED_CHANGES, ASKED),
        (PlantedBug.CAPTURE_WITHOUT_LOGS, Promise.CAPTURED_CHANGES, ASKED),
        (PlantedBug.READ_PENDING_BASE_FILES, Promise.READ_OPTIMIZED, ASKED),
        (
            PlantedBug.CLEAN_COUNTS_PENDING,
            Promise.QUERIES_KEEP_FILES,
            replace(CLEANED_ONCE, modules=(*VERSIONS[:-2], QueryModule(), VERSIONS[-1])),
        ),
        (PlantedBug.CLEAN_ONE_TOO_MANY, Promise.QUERIES_KEEP_FILES, CLEANED_ONCE),
        (PlantedBug.CLEAN_PLANNED_SLICES, Promise.PLANNED_FILES_STAY, CLEANED_AND_COMPACTED),
        (
            PlantedBug.CLEAN_REPLACED_EARLY,
            Promise.QUERIES_KEEP_FILES,
            Config(modules=(*CLEANED, Clustering()), bounds=replace(ONE_GROUP, workload=(upsert(1),))),
        ),
        (PlantedBug.IGNORE_CLEANED_SNAPSHOT, Promise.NO_DUPLICATE_KEYS, CLEANED_BY_VERSIONS),
        (PlantedBug.CLEAN_SAVEPOINTED_SLICES, Promise.SAVEPOINTS_STAY, SAVED),
        (PlantedBug.SAVEPOINT_OF_CLEANED, Promise.SAVEPOINTS_STAY, SAVED),
        (PlantedBug.RESTORE_LEAVES_PENDING, Promise.RESTORES_ARE_EXACT, RESTORED_ONCE),
        (
            PlantedBug.RESTORE_OLDEST_FIRST,
            Promise.NO_LOST_UPDATE,
            replace(RESTORED_ONCE, bounds=replace(ONE_GROUP, writers=1, workload=(upsert(1),) * 3)),
        ),
        (PlantedBug.ARCHIVE_PENDING, Promise.HISTORY_IS_WHOLE, ARCHIVED_OF_THREE),
        (PlantedBug.ARCHIVE_PAST_PENDING, Promise.CONSISTENT_READ, ARCHIVED_OF_THREE),
        (PlantedBug.ARCHIVE_FAILED_WRITES, Promise.CONSISTENT_READ, ARCHIVED_AFTER_A_CRASH),
        (
            PlantedBug.ARCHIVE_UNCLEANED,
            Promise.NO_DUPLICATE_KEYS,
            replace(ARCHIVED, modules=(*CLUSTERED, Archival())),
        ),
        (PlantedBug.DROP_BEFORE_MANIFEST, Promise.HISTORY_IS_WHOLE, ARCHIVED),
        (PlantedBug.DROP_COMPLETED_FIRST, Promise.HISTORY_IS_WHOLE, ARCHIVED),
        (PlantedBug.LOSE_COMPLETION_TIMES, Promise.HISTORY_IS_WHOLE, ARCHIVED),
        (PlantedBug.IGNORE_ARCHIVED, Promise.CONSISTENT_READ, ARCHIVED),
        (PlantedBug.CHANGES_OF_ACTIVE, Promise.INCREMENTAL_READS, ARCHIVED),
        (PlantedBug.COMPARE_ACTIVE_ONLY, Promise.NO_DUPLICATE_KEYS, ARCHIVED_MEANWHILE),
        (
            PlantedBug.READ_ARCHIVE_FIRST,
            Promise.HISTORY_IS_WHOLE,
            replace(ARCHIVED, modules=(*ARCHIVED.modules, TwoTimelines())),
        ),
        (PlantedBug.UPDATE_UNDER_CLUSTERING, Promise.CONSISTENT_READ, BESIDE_CLUSTERING),
        (
            PlantedBug.DELETE_UNDER_CLUSTERING,
            Promise.CONSISTENT_READ,
            Config(modules=(*CLUSTERED, PartitionDeleteModule()), bounds=replace(ONE_GROUP, workload=(upsert(1),))),
        ),
        (PlantedBug.CLUSTER_TAKEN_GROUPS, Promise.NO_DUPLICATE_KEYS, CLUSTERED_TWICE),
        (PlantedBug.REPLACE_BEFORE_COMPLETION, Promise.CLUSTERING_KEEPS_ROWS, BESIDE_CLUSTERING),
        (
            PlantedBug.INSERT_INTO_REPLACED,
            Promise.CONSISTENT_READ,
            replace(BESIDE_CLUSTERING, bounds=replace(TWO_KEYS, groups=2)),
        ),
    ]
]


@pytest.mark.parametrize(("bug", "promise", "config"), CASES)
def test_the_promise_notices_the_bug(bug, promise, config):
    exploration = explore(replace(config, planted=bug), until=promise)

    assert not exploration.holds(promise)


def without_the_bugs():
    """Yield each configuration once, with all promises that a bug in it breaks."""
    promises, bugs = defaultdict(set), defaultdict(list)
    for bug, promise, config in (case.values for case in CASES):
        promises[config].add(promise)
        bugs[config].append(bug.value)
    for config, names in bugs.items():
        # As large as the largest of `make tla`'s other explorations; the test with the bug stays.
        marks = pytest.mark.large if config == APPENDED_WITH_A_CRASH else ()
        yield pytest.param(config, promises[config], id="-".join(names), marks=marks)


@pytest.mark.parametrize(("config", "promises"), list(without_the_bugs()))
def test_the_promises_hold_without_the_bugs(config, promises):
    exploration = explore(config)

    assert exploration.exhausted
    assert all(exploration.holds(promise) for promise in promises)


def test_every_bug_is_planted_somewhere():
    assert {case.values[0] for case in CASES} == set(PlantedBug)


def test_every_promise_has_a_bug_that_it_notices():
    assert {case.values[1] for case in CASES} == set(Promise)
