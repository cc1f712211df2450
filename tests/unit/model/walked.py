"""The combinations of modules that are walked through, and what is known to break in them, each with its reason.

Every exemption names the worlds that it is about, so that the promise is looked at in all others; and a small protocol
in which the explorer finds such a world with the promise broken, so that none outlives its reason.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from drawstring_model.catalogue import assembled
from drawstring_model.config import COPY_ON_WRITE, MERGE_ON_READ, RESTORED, Bounds, Config, delete, upsert
from drawstring_model.core.config import Config as AnyConfig
from drawstring_model.core.module import part
from drawstring_model.core.promises import Promise
from drawstring_model.core.protocol import apply, enabled, start
from drawstring_model.core.state import World
from drawstring_model.explorer import explore
from drawstring_model.modules.archival import Archival
from drawstring_model.modules.archived import Archive, pending_writes, timeline_start
from drawstring_model.modules.cleaning import Cleaning
from drawstring_model.modules.log_files import Plans
from drawstring_model.modules.queries import QueryModule, running_query
from drawstring_model.modules.restores import RestoreModule, Restores
from drawstring_model.modules.savepoints import SavepointModule
from drawstring_spec.steps import Step
from unit.model.walks import Combination, Exemption

CALM = Bounds(workload=(upsert(1), upsert(1)), groups=1, faults=0)
ALONE = replace(CALM, writers=1)
REQUEST = (
    Step.ACQUIRE_LOCK,
    Step.GENERATE_REQUESTED_TIME,
    Step.START_HEARTBEAT,
    Step.REQUEST_INSTANT,
    Step.RELEASE_LOCK,
)
WRITE = (Step.LOOKUP_KEYS, Step.START_INFLIGHT, Step.WRITE_FILE)
COMPLETE = (
    Step.ACQUIRE_LOCK,
    Step.CHECK_CONFLICTS,
    Step.UPDATE_METADATA,
    Step.COMPLETE_INSTANT,
    Step.RELEASE_LOCK,
    Step.STOP_HEARTBEAT,
)
CHANGE = (*REQUEST, *WRITE, *COMPLETE)
IN_VAIN = (*REQUEST, *WRITE[:-1], *COMPLETE)
"""A delete of a key that is not there writes no file."""
ROLL_BACK = (
    Step.ACQUIRE_LOCK,
    Step.REQUEST_ROLLBACK,
    Step.START_ROLLBACK,
    Step.REMOVE_INSTANT,
    Step.COMPLETE_ROLLBACK,
    Step.RELEASE_LOCK,
)
EXPIRE = (None, (Step.EXPIRE_HEARTBEAT,))
READS = frozenset({Promise.CONSISTENT_READ, Promise.NO_DUPLICATE_KEYS})
NOW = frozenset({Promise.LATEST_SNAPSHOT, Promise.NO_RESURRECTED_DELETE, Promise.MERGED_LOGS_UNNEEDED})


def found(promise: Promise, config: AnyConfig) -> Callable[[], tuple[World, AnyConfig]]:
    """The end of the shortest history that breaks `promise`."""

    def shown() -> tuple[World, AnyConfig]:
        state = start(config)
        for move in explore(config, until=promise).counterexamples[promise].moves:
            state = apply(state, move, config)
        return state.world, config

    return shown


def played(config: AnyConfig, *parts: tuple[int | None, tuple[Step, ...]]) -> Callable[[], tuple[World, AnyConfig]]:
    """The end of a history of steps of one process after another, or of the world, each as it is first proposed."""

    def shown() -> tuple[World, AnyConfig]:
        state = start(config)
        for process, steps in parts:
            for step in steps:
                proposed = (move for move in enabled(state, config) if move.writer == process and move.step is step)
                state = apply(state, next(proposed), config)
        return state.world, config

    return shown


def loses_what_is_taken_back(world: World, config: AnyConfig) -> bool:
    """A query has still to open a file of a write that a restore takes back."""
    del config
    query = running_query(world)
    taken_back = {time for restore in part(world, Restores).all for time in restore.plan}
    return query is not None and any(time in taken_back for _, time, _ in query.left)


def is_in_no_plan(world: World, config: AnyConfig) -> bool:
    """An instant that was requested before a restore is on the timeline, and in no plan: its file came late."""
    del config
    return any(
        restore.savepoint < time < restore.requested and time not in restore.plan
        for restore in part(world, Restores).all
        for time in world.requested
    )


def is_older_than_the_timeline(world: World, config: AnyConfig) -> bool:
    """There is a data file of a write that never completed, and the start of the active timeline passed its time."""
    del config
    begin, completed = timeline_start(world), {commit.requested for commit in world.commits}
    old = [file for file in world.files if begin is not None and file.requested < begin]
    return any(file.requested not in completed for file in old)


def is_pending_before_the_archived(world: World, config: AnyConfig) -> bool:
    """An instant is pending that is older than an archived one: its file came late, and begins the timeline."""
    del config
    return min(pending_writes(world), default=world.clock) < max(part(world, Archive).dropped, default=0)


def completed_behind_a_plan(world: World, config: AnyConfig) -> bool:
    """A write was requested before a compaction was planned, and completed after it."""
    del config
    plans = part(world, Plans).all
    return any(c.requested < plan.requested < c.completion for plan in plans for c in world.commits)


def completed_out_of_order(world: World, config: AnyConfig) -> bool:
    """Of two writes the one that was requested first completed last."""
    del config
    writes = [commit.completion for commit in world.commits]
    return writes != sorted(writes)


def compacted_without_a_plan(world: World, config: AnyConfig) -> bool:
    """A compaction left a base file after its plan was taken off the timeline."""
    del config
    plans = {plan.requested for plan in part(world, Plans).all} - {*world.requested}
    return any(file.requested in plans for file in world.files)


def always(world: World, config: AnyConfig) -> bool:
    """In every world."""
    del world, config
    return True


RESTORE_TAKES_FROM_QUERIES = Exemption(
    frozenset({Promise.QUERIES_KEEP_FILES}),
    "A restore takes files from running queries: retention is no protection, since no later write is complete.",
    loses_what_is_taken_back,
    found(
        Promise.QUERIES_KEEP_FILES,
        Config(
            modules=(*COPY_ON_WRITE, QueryModule(), Cleaning(cleans=0), SavepointModule(), RestoreModule()),
            bounds=ALONE,
        ),
    ),
)
REQUEST_AFTER_THE_PLAN = Exemption(
    frozenset({Promise.RESTORES_ARE_EXACT}),
    "A lease runs out between a write's time and its requested file, which is put after the restore was planned.",
    is_in_no_plan,
    found(
        Promise.RESTORES_ARE_EXACT,
        Config(modules=RESTORED, bounds=replace(ALONE, faults=1, crashes=0, heartbeat_expiries=0)),
    ),
)
ARCHIVED = Config(modules=(*COPY_ON_WRITE, Archival()), bounds=replace(CALM, faults=1, crashes=0, lock_expiries=0))
HUNG_WRITER_IN_THE_PAST = Exemption(
    READS | NOW | {Promise.RESTORES_ARE_EXACT},
    "A writer that hung writes a file after its rollback, and what is older than the timeline counts as completed.",
    is_older_than_the_timeline,
    played(
        replace(ARCHIVED, bounds=replace(ARCHIVED.bounds, workload=(upsert(1), delete(2), delete(2)))),
        (0, (*REQUEST, *WRITE[:-1])),
        EXPIRE,
        (1, (*ROLL_BACK, *IN_VAIN, *IN_VAIN)),
        (0, WRITE[-1:]),
        (2, (Step.ACQUIRE_LOCK, Step.WRITE_ARCHIVED_FILE)),
    ),
)
LATE_FILE_OF_THE_TIMELINE = Exemption(
    READS,
    "A file of a pending instant comes late and begins the timeline: what was archived behind it is not found.",
    is_pending_before_the_archived,
    played(
        replace(ARCHIVED, bounds=replace(ARCHIVED.bounds, workload=(upsert(1),) * 3)),
        (0, (*REQUEST, Step.LOOKUP_KEYS)),
        EXPIRE,
        (1, (*ROLL_BACK, *CHANGE, *CHANGE)),
        (2, (Step.ACQUIRE_LOCK, Step.WRITE_ARCHIVED_FILE, Step.PUBLISH_MANIFEST)),
        (2, (Step.DROP_PENDING_FILES, Step.DROP_COMPLETED_FILE)),
        (0, (Step.START_INFLIGHT,)),
    ),
)
PAST_OF_LOGS = Exemption(
    frozenset({Promise.CONSISTENT_READ}),
    "A write that completes after a later compaction was planned is in that one's slice: the past is read without it.",
    completed_behind_a_plan,
    played(
        Config(modules=MERGE_ON_READ, bounds=replace(CALM, workload=(upsert(1),) * 3)),
        (0, (*CHANGE, *CHANGE, *REQUEST, *WRITE)),
        (2, (Step.ACQUIRE_LOCK, Step.SCHEDULE_COMPACTION, Step.RELEASE_LOCK)),
        (0, COMPLETE),
    ),
)
HUNG_COMPACTOR = Exemption(
    READS | NOW | {Promise.RESTORES_ARE_EXACT, Promise.CAPTURED_CHANGES, Promise.READ_OPTIMIZED},
    "A compactor that hung writes its base file after a restore took its plan back: log files that completed later "
    "than the plan was made belong to the slice that the file begins, which nobody reads.",
    compacted_without_a_plan,
    played(
        Config(
            modules=assembled(["compaction", "restores"], settings={"savepoints": {"savepoints": 1}}),
            bounds=replace(ALONE, workload=(upsert(1),) * 3),
        ),
        (0, (*CHANGE, *CHANGE, *REQUEST, *WRITE)),
        (1, (Step.ACQUIRE_LOCK, Step.SCHEDULE_COMPACTION, Step.RELEASE_LOCK, Step.RUN_COMPACTION)),
        (0, COMPLETE),
        (4, (Step.ACQUIRE_LOCK, Step.CREATE_SAVEPOINT, Step.SCHEDULE_RESTORE, Step.RELEASE_LOCK)),
        (4, (Step.RUN_RESTORE, Step.UNDO_REQUEST)),
        (1, (Step.WRITE_FILE,)),
    ),
)
BUCKETS = {"log_files": {"order": "COMPLETION", "begun_by_pending": False}}
OF_BUCKETS = Config(
    modules=assembled(["non_blocking"], settings=BUCKETS), bounds=replace(CALM, workload=(upsert(1), delete(1)))
)
NOBODY_GIVES_WAY = Exemption(
    frozenset({Promise.CONSISTENT_READ, Promise.NO_RESURRECTED_DELETE}),
    "Writers of one bucket all complete, in any order, and the order of completion is what counts.",
    completed_out_of_order,
    found(Promise.CONSISTENT_READ, OF_BUCKETS),
)
NOTHING_IS_MERGED = Exemption(
    frozenset({Promise.NO_LOST_UPDATE}),
    "Log files of buckets build on no version: there is none to be lost.",
    always,
    found(Promise.NO_LOST_UPDATE, OF_BUCKETS),
)

OF_RESTORES = (RESTORE_TAKES_FROM_QUERIES, REQUEST_AFTER_THE_PLAN)
OF_RESTORED_LOGS = (*OF_RESTORES, HUNG_COMPACTOR, PAST_OF_LOGS)
OF_ARCHIVAL = (HUNG_WRITER_IN_THE_PAST, LATE_FILE_OF_THE_TIMELINE)
TWICE = {"clustering": {"schedules": 2}, "cleaning": {"cleans": 2}}

COMBINATIONS = (
    Combination(("clustering", "cleaning", "restores"), TWICE, OF_RESTORES),
    Combination(("clustering", "cleaning", "archival", "two_timelines"), TWICE, OF_ARCHIVAL),
    Combination(
        ("compaction", "log_compaction", "cleaning", "query_types"), {"cleaning": {"cleans": 2}}, (PAST_OF_LOGS,)
    ),
    Combination(("restored_metadata", "archival", "compaction"), {}, (*OF_RESTORED_LOGS, *OF_ARCHIVAL)),
    Combination(
        ("non_blocking", "task_retries", "compaction", "query_types"),
        BUCKETS,
        (NOBODY_GIVES_WAY, NOTHING_IS_MERGED, PAST_OF_LOGS),
    ),
    Combination(("retries", "early_detection", "partition_deletes"), {"clustering": {"schedules": 2}}),
    Combination(("lost_answers", "retries", "cleaning", "incremental"), {"lost_answers": {"losses": 3}}),
    Combination(("incremental", "archival", "second_archiver", "cleaning"), {}, OF_ARCHIVAL),
    Combination(("indexing", "clustering", "restored_metadata"), {}, OF_RESTORES),
    Combination(("restores", "partition_deletes", "retries"), {}, OF_RESTORES),
    Combination(("archival", "partition_deletes", "cleaning"), {"cleaning": {"cleans": 2}}, OF_ARCHIVAL),
    Combination(("restores", "compaction", "log_compaction", "query_types"), {}, OF_RESTORED_LOGS),
)
