"""One write, from its requested time to its completion: the protocol's main line.

Source: the specification's *Writer expectations*, Java ``BaseHoodieWriteClient`` and ``BaseCommitActionExecutor``.
Whose duty: the order of the steps, which lock is held for which of them, and that a write either becomes visible
whole or not at all. Engines only fill in `drawstring.write_stats.WriteBody`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from drawstring.codec import avro_container
from drawstring.context import TableContext
from drawstring.errors import (
    ConcurrencyError,
    DeadlineExceededError,
    DrawstringError,
    LostLockError,
    StorageError,
)
from drawstring.events import Event
from drawstring.files import Snapshot
from drawstring.protocol.commit_metadata import commit_record, inflight_record
from drawstring.protocol.conflicts import check_conflicts, check_not_fenced
from drawstring.protocol.critical_section import CriticalSection, critical_section
from drawstring.protocol.data_files import remove_markers, remove_unclaimed
from drawstring.protocol.heartbeat import Heartbeat
from drawstring.protocol.instant_times import next_time
from drawstring.protocol.metadata_table import prepare_metadata_table, refuse_metadata_table
from drawstring.protocol.rollback import files_of_time, rollback, rollback_failed_writes
from drawstring.timeline import transitions
from drawstring.timeline.load import load_timeline
from drawstring.timeline.timeline import Timeline
from drawstring.write_stats import WriteBody, WriteStat
from drawstring_spec.instants import Action, Instant, State
from drawstring_spec.steps import Step

logger = logging.getLogger("drawstring")

LoadSnapshot = Callable[[TableContext, Timeline], Snapshot]


@dataclass(frozen=True, slots=True)
class WriteResult:
    """What a completed write did.

    Attributes:
        requested_time: identifies the write; time travel goes by it.
        completion_time: when it became visible; incremental ranges go by it.
        num_inserts: rows with a new key.
        num_updates: rows that replaced one of the same key.
        num_deletes: rows that were removed.
        num_files: base files written.
        conflict_check_ms: what the conflict checks took, under the table lock.
        stats: per file.

    """

    requested_time: str
    completion_time: str
    num_inserts: int
    num_updates: int
    num_deletes: int
    num_files: int
    conflict_check_ms: int
    stats: tuple[WriteStat, ...] = field(repr=False, default=())


@dataclass(slots=True)
class _Pending:
    """A write on its way."""

    context: TableContext
    body: WriteBody
    instant: Instant
    heartbeat: Heartbeat | None
    is_publishing: bool = False
    is_given_up: bool = False

    def emit(self, step: Step, **detail: str) -> None:
        self.context.emit(Event(step, self.instant.requested_time, detail))


def run_write(
    context: TableContext,
    body: WriteBody,
    *,
    load_snapshot: LoadSnapshot,
    extra_metadata: Mapping[str, str] | None = None,
) -> WriteResult:
    """Carry one write through.

    Args:
        context: of the table.
        body: the engine's part.
        load_snapshot: file slices that a timeline makes visible.
        extra_metadata: further entries of the commit's metadata (ingestion checkpoints and the like).

    Returns:
        What was written, and under which times.

    Raises:
        InputError: the data cannot be written; nothing was.
        ConcurrencyError: another writer stood in the way; nothing of this write is visible.
        UnsupportedTableError: the table has a metadata table.
        StorageError: the storage failed. If it failed at the very completion, the message says that the outcome is
            unknown; the timeline knows it.

    """
    try:
        context = prepare_metadata_table(context)
        rollback_failed_writes(context)
        pending = _begin(context, body)
        try:
            stats, snapshot = _write(pending, load_snapshot)
            result = _commit(pending, snapshot, stats, dict(extra_metadata or {}))
        except Exception as error:
            _abort(pending, error)
            raise
        except BaseException:
            # Interrupted (from the keyboard, say): there is no time to clean up, but nothing may keep the write alive.
            if pending.heartbeat is not None:
                pending.heartbeat.cease()
            raise
        _clean_up(pending)
        return result
    finally:
        body.discard()


def _begin(context: TableContext, body: WriteBody) -> _Pending:
    """Take a requested time and put the instant on the timeline, under the lock.

    The heartbeat starts first: an instant without one counts as dead.
    """
    lazy = context.options["hoodie.clean.failed.writes.policy"] == "LAZY"
    with critical_section(context, purpose="request", requested_time=None) as section:
        timeline = load_timeline(context.ports.storage, context.config)
        _refuse_pending_restore(timeline)
        requested_time = next_time(context, timeline)
        context.emit(Event(Step.GENERATE_REQUESTED_TIME, requested_time))
        heartbeat = Heartbeat(context, requested_time) if lazy else None
        try:
            if heartbeat is not None:
                heartbeat.start()
            instant = transitions.request(context, requested_time, Action.COMMIT, not_after_ms=section.deadline_ms())
        except Exception:
            # Whether the instant stands or not, without a heartbeat the next writer removes it.
            if heartbeat is not None:
                heartbeat.cease()
            raise
        context.emit(Event(Step.REQUEST_INSTANT, requested_time))
    return _Pending(context, body, instant, heartbeat)


def _refuse_pending_restore(timeline: Timeline) -> None:
    for restore in timeline.pending(Action.RESTORE):
        raise ConcurrencyError(
            f"The restore {restore.requested_time} is pending: files may vanish under a write.",
            rule="CC-013",
            way_out="Let the restore finish (Java Hudi runs it again), then write.",
        )


def _write(pending: _Pending, load_snapshot: LoadSnapshot) -> tuple[Sequence[WriteStat], Timeline]:
    """Fix the snapshot, look keys up in it, and write the data files."""
    context = pending.context
    # A write that was requested later and is complete already is none of the snapshot: a reader as of this write's
    # time does not see it either, so building on it would store its rows twice, or hide this write behind it.
    timeline = load_timeline(context.ports.storage, context.config).up_to(pending.instant.requested_time)
    workload = pending.body.lookup_keys(load_snapshot(context, timeline))
    pending.emit(Step.LOOKUP_KEYS)
    payload = avro_container.encode(
        "HoodieCommitMetadata",
        inflight_record(pending.body.operation, workload),
        sync_marker=context.ports.entropy.uuid().bytes,
    )
    pending.instant = transitions.start(context, pending.instant, payload)
    pending.emit(Step.START_INFLIGHT)
    return pending.body.write_files(pending.instant.requested_time), timeline


def _commit(
    pending: _Pending, snapshot: Timeline, stats: Sequence[WriteStat], extra_metadata: dict[str, str]
) -> WriteResult:
    """Under the lock: check, then publish."""
    context = pending.context
    with critical_section(context, purpose="commit", requested_time=pending.instant.requested_time) as section:
        try:
            started_at_ms = context.ports.clock.monotonic_ms()
            _check(pending, snapshot, stats)
            checked_in_ms = context.ports.clock.monotonic_ms() - started_at_ms
            done = _publish(pending, section, stats, extra_metadata)
        except Exception as error:
            # While the lock is held nobody else can touch the instant, so its own writer cleans up best.
            completed = _give_up(pending, section, error)
            if completed is None:
                raise
            done = completed  # The storage failed after it had done what was asked.
    return WriteResult(
        requested_time=done.requested_time,
        completion_time=done.completion_time or "",
        num_inserts=sum(s.num_inserts for s in stats),
        num_updates=sum(s.num_update_writes for s in stats),
        num_deletes=sum(s.num_deletes for s in stats),
        num_files=len(stats),
        conflict_check_ms=checked_in_ms,
        stats=tuple(stats),
    )


def _check(pending: _Pending, snapshot: Timeline, stats: Sequence[WriteStat]) -> None:
    context = pending.context
    if pending.heartbeat is not None:
        pending.heartbeat.check()
    now = load_timeline(context.ports.storage, context.config)
    check_not_fenced(context, now, pending.instant)
    check_conflicts(context, pending.instant, snapshot=snapshot, now=now, body=pending.body, stats=stats)
    pending.emit(Step.CHECK_CONFLICTS)


def _publish(
    pending: _Pending, section: CriticalSection, stats: Sequence[WriteStat], extra_metadata: dict[str, str]
) -> Instant:
    context = pending.context
    remove_unclaimed(context.ports.storage, pending.instant.requested_time, (s.path for s in stats))
    refuse_metadata_table(context)
    pending.emit(Step.UPDATE_METADATA)
    completion_time = next_time(context, load_timeline(context.ports.storage, context.config))
    payload = avro_container.encode(
        "HoodieCommitMetadata",
        commit_record(
            pending.body.operation, stats, schema_json=pending.body.schema_json, extra_metadata=extra_metadata
        ),
        sync_marker=context.ports.entropy.uuid().bytes,
    )
    deadlines = [section.deadline_ms(), pending.heartbeat.deadline_ms() if pending.heartbeat else None]
    not_after_ms = min((d for d in deadlines if d is not None), default=None)
    pending.is_publishing = True
    try:
        done = transitions.complete(context, pending.instant, completion_time, payload, not_after_ms=not_after_ms)
    except DeadlineExceededError as error:
        raise LostLockError(
            f"The write {pending.instant.requested_time} lost its lock or its heartbeat before it could complete.",
            rule="CC-022",
            way_out="Nothing of it is visible; try it again.",
        ) from error
    pending.emit(Step.COMPLETE_INSTANT, completion_time=completion_time)
    return done


def _give_up(pending: _Pending, section: CriticalSection, error: Exception) -> Instant | None:
    """Roll the writer's own instant back under the lock it holds; return it if it is completed after all."""
    context = pending.context
    try:
        mine = _own_instant(pending)
        if mine is not None and mine.state is State.COMPLETED:
            pending.emit(Step.COMPLETE_INSTANT, completion_time=mine.completion_time or "")
            return mine
        pending.is_given_up = True
        pending.emit(Step.ABORT_WRITE, reason=type(error).__name__)
        if mine is not None:
            rollback(context, section, mine)
        else:
            _remove_orphans(pending)
    except DrawstringError:
        # The lock or the storage is gone; the next writer rolls the instant back.
        logger.warning("The failed write %s is left for the next writer to roll back", pending.instant.requested_time)
    return None


def _remove_orphans(pending: _Pending) -> None:
    """Delete what this write wrote after others had rolled it back: nobody else knows of these files.

    They must not stay: once their time lies before the timeline's first instant, Java takes them for archived commits'.
    """
    if pending.is_publishing:
        return  # It may have been completed, and archived since; then the files are the table's.
    storage, requested_time = pending.context.ports.storage, pending.instant.requested_time
    # Not by markers: whoever rolled the write back removed those that were there.
    storage.delete(files_of_time(pending.context, requested_time))
    remove_markers(storage, requested_time)


def _own_instant(pending: _Pending) -> Instant | None:
    context = pending.context
    now = load_timeline(context.ports.storage, context.config)
    return now.find(pending.instant.requested_time, pending.instant.action)


def _abort(pending: _Pending, error: Exception) -> None:
    """End a write that failed: roll it back if that was not done under the lock, and stop its heartbeat."""
    context = pending.context
    try:
        mine = _own_instant(pending)
        if mine is not None and mine.state is not State.COMPLETED:
            with critical_section(
                context, purpose="rollback", requested_time=pending.instant.requested_time
            ) as section:
                _give_up(pending, section, error)
        elif mine is None and not pending.is_given_up:
            pending.emit(Step.ABORT_WRITE, reason=type(error).__name__)
            _remove_orphans(pending)
        if pending.heartbeat is not None:
            pending.heartbeat.stop()
    except DrawstringError:
        if pending.heartbeat is not None:
            pending.heartbeat.cease()
        logger.warning("The failed write %s is left for the next writer to roll back", pending.instant.requested_time)


def _clean_up(pending: _Pending) -> None:
    """After completion: markers and heartbeat go. A failure here changes nothing of what was written."""
    try:
        remove_markers(pending.context.ports.storage, pending.instant.requested_time)
        if pending.heartbeat is not None:
            pending.heartbeat.stop()
    except StorageError:
        if pending.heartbeat is not None:
            pending.heartbeat.cease()
        logger.warning("Markers or heartbeat of %s could not be removed", pending.instant.requested_time)
