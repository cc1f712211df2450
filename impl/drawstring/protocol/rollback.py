"""Rolls failed writes back: their files go, their instants leave the timeline, and the rollback is recorded.

Source: Java ``BaseRollbackActionExecutor``, ``MarkerBasedRollbackStrategy``, ``BaseHoodieTableServiceClient
.rollbackFailedWrites``. Stricter than Java in one thing: planning and execution both stay under the table lock, so
that no completion can slip between the check that a writer is dead and the deletion of its files (RB-003).
"""

from __future__ import annotations

import urllib.parse
from collections.abc import Sequence

from drawstring.codec import avro_container
from drawstring.context import TableContext
from drawstring.errors import FormatError
from drawstring.events import Event
from drawstring.locks.storage_clock import StorageClock
from drawstring.protocol.critical_section import CriticalSection, critical_section
from drawstring.protocol.data_files import data_file_time, marked_files, remove_markers
from drawstring.protocol.heartbeat import heartbeat_path, is_expired
from drawstring.protocol.instant_times import next_time
from drawstring.timeline import transitions
from drawstring.timeline.load import load_timeline, read_payload
from drawstring.timeline.timeline import WRITE_ACTIONS, Timeline
from drawstring_spec.instants import Action, Instant, State
from drawstring_spec.layout import HOODIE_FOLDER
from drawstring_spec.steps import Step


def rollback_failed_writes(context: TableContext) -> tuple[str, ...]:
    """Roll back what earlier writers left pending, as the policy allows.

    EAGER (one writer): every pending write. LAZY (several writers): those whose heartbeat expired, judged again under
    the lock after the timeline was reloaded. Services (compaction, clustering) stay pending: they are repeated.

    Args:
        context: of the table.

    Returns:
        Requested times of the instants that were rolled back.

    Raises:
        LockTimeoutError: the lock was not to be had.

    """
    storage_clock = StorageClock(context.ports.storage, clock=context.ports.clock, entropy=context.ports.entropy)
    timeline = load_timeline(context.ports.storage, context.config)
    if not _failed_writes(context, timeline, storage_clock) and not timeline.pending(Action.ROLLBACK):
        return ()
    with critical_section(context, purpose="rollback", requested_time=None) as section:
        timeline = load_timeline(context.ports.storage, context.config)
        done = _finish_pending_rollbacks(context, section, timeline)
        for target in _failed_writes(context, timeline, storage_clock):
            if target.requested_time not in done:
                rollback(context, section, target)
                done.append(target.requested_time)
    return tuple(done)


def _failed_writes(context: TableContext, timeline: Timeline, storage_clock: StorageClock) -> tuple[Instant, ...]:
    pending = tuple(i for i in timeline.pending_writes if i.action in WRITE_ACTIONS)
    if context.options["hoodie.clean.failed.writes.policy"] == "EAGER":
        return pending
    return tuple(i for i in pending if is_expired(context, i.requested_time, storage_clock))


def _finish_pending_rollbacks(context: TableContext, section: CriticalSection, timeline: Timeline) -> list[str]:
    """Repeat rollbacks whose writer died: under the lock nobody else can be at work on them."""
    done = []
    for pending in timeline.pending(Action.ROLLBACK):
        target = _target_of(context, pending)
        if any(i.requested_time == target.requested_time for i in timeline.completed_writes):
            # Its target completed after all, or Java rolls a completed write back: not ours to repeat.
            continue
        _execute(context, section, target, _files_of(context, target), pending)
        done.append(target.requested_time)
    return done


def _target_of(context: TableContext, pending: Instant) -> Instant:
    """Return the instant that a pending rollback rolls back, as its plan says."""
    requested = Instant(pending.requested_time, Action.ROLLBACK, State.REQUESTED)
    plan = read_payload(context.ports.storage, context.config, requested) or {}
    info = plan.get("instantToRollback") or {}
    try:
        return Instant(str(info["commitTime"]), Action(info["action"]), State.INFLIGHT)
    except (KeyError, ValueError) as error:
        raise FormatError(
            f"The plan of the pending rollback {pending.requested_time} names no instant to roll back.",
            rule="RB-002",
            way_out="Remove the pending rollback's files from the timeline by hand.",
        ) from error


def rollback_in_hand(context: TableContext, timeline: Timeline, requested_time: str) -> Instant | None:
    """Return the pending rollback of a write, if there is one: files of the write may be gone already."""
    for pending in timeline.pending(Action.ROLLBACK):
        if _target_of(context, pending).requested_time == requested_time:
            return pending
    return None


def rollback(context: TableContext, section: CriticalSection, target: Instant) -> None:
    """Roll one pending write back; the table lock is held, and the caller has made sure that its writer is dead.

    Args:
        context: of the table.
        section: the held lock; every decisive call carries its deadline.
        target: a pending commit, delta commit or replace commit.

    Raises:
        DeadlineExceededError: the lock was lost on the way; the next writer repeats the rollback.

    """
    timeline = load_timeline(context.ports.storage, context.config)
    files = _files_of(context, target)
    pending = rollback_in_hand(context, timeline, target.requested_time)
    if pending is not None:
        # An earlier try was interrupted (a lock that was lost, say): a second plan would leave the first pending.
        _execute(context, section, target, files, pending)
        return
    requested_time = next_time(context, timeline)
    plan = avro_container.encode(
        "HoodieRollbackPlan",
        {
            "instantToRollback": _info(target),
            "RollbackRequests": [_request(context, target, path) for path in files],
            "version": 1,
        },
        sync_marker=context.ports.entropy.uuid().bytes,
    )
    planned = transitions.request(context, requested_time, Action.ROLLBACK, plan, not_after_ms=section.deadline_ms())
    _emit(context, Step.REQUEST_ROLLBACK, requested_time, target)
    _execute(context, section, target, files, planned)


def _execute(
    context: TableContext, section: CriticalSection, target: Instant, files: Sequence[str], planned: Instant
) -> None:
    storage = context.ports.storage
    requested_time = planned.requested_time
    started_at_ms = context.ports.clock.monotonic_ms()
    inflight = planned
    if planned.state is State.REQUESTED:
        inflight = transitions.start(context, planned, not_after_ms=section.deadline_ms())
        _emit(context, Step.START_ROLLBACK, requested_time, target)
    for path in files:
        storage.delete([path], not_after_ms=section.deadline_ms())
        _emit(context, Step.DELETE_FILE, requested_time, target, path=path)
    transitions.remove_pending(context, target, not_after_ms=section.deadline_ms())
    _emit(context, Step.REMOVE_INSTANT, requested_time, target)
    timeline = load_timeline(storage, context.config)
    completion_time = next_time(context, timeline)
    payload = avro_container.encode(
        "HoodieRollbackMetadata",
        _metadata(context, target, files, requested_time, context.ports.clock.monotonic_ms() - started_at_ms),
        sync_marker=context.ports.entropy.uuid().bytes,
    )
    transitions.complete(context, inflight, completion_time, payload, not_after_ms=section.deadline_ms())
    _emit(context, Step.COMPLETE_ROLLBACK, requested_time, target, completion_time=completion_time)
    remove_markers(storage, target.requested_time)
    storage.delete([heartbeat_path(target.requested_time)])


def _files_of(context: TableContext, target: Instant) -> tuple[str, ...]:
    """Data files of a failed write: those that its markers name, or without markers those that carry its time."""
    marked = marked_files(context.ports.storage, target.requested_time)
    if target.state is State.REQUESTED:
        # Nothing is written before the inflight file stands; markers may say otherwise, and then they are right.
        return marked or ()
    return marked if marked is not None else files_of_time(context, target.requested_time)


def files_of_time(context: TableContext, requested_time: str) -> tuple[str, ...]:
    """Data files that carry a requested time in their names, found by listing the whole table."""
    found = []
    for status in context.ports.storage.list("", recursive=True):
        if status.path.startswith(f"{HOODIE_FOLDER}/"):
            continue
        try:
            if data_file_time(status.path.rpartition("/")[2]) == requested_time:
                found.append(status.path)
        except FormatError:
            continue
    return tuple(found)


def absolute_path(context: TableContext, path: str) -> str:
    """Full path of a table's file as Java writes it in plans: without a scheme on a local file system."""
    uri = context.ports.storage.uri
    base = urllib.parse.unquote(urllib.parse.urlsplit(uri).path) if uri.startswith("file:") else uri
    return f"{base.rstrip('/')}/{path}"


def _info(target: Instant) -> dict[str, str]:
    return {"commitTime": target.requested_time, "action": target.action.value}


def _request(context: TableContext, target: Instant, path: str) -> dict[str, object]:
    folder, _, name = path.rpartition("/")
    return {
        "partitionPath": folder,
        "fileId": name.lstrip(".").partition("_")[0],
        "latestBaseInstant": target.requested_time,
        "filesToBeDeleted": [absolute_path(context, path)],
        "logBlocksToBeDeleted": {},
    }


def _metadata(
    context: TableContext, target: Instant, files: Sequence[str], requested_time: str, duration_ms: int
) -> dict[str, object]:
    partitions: dict[str, list[str]] = {}
    for path in files:
        partitions.setdefault(path.rpartition("/")[0], []).append(absolute_path(context, path))
    return {
        "startRollbackTime": requested_time,
        "timeTakenInMillis": duration_ms,
        "totalFilesDeleted": len(files),
        "commitsRollback": [target.requested_time],
        "partitionMetadata": {
            partition: {
                "partitionPath": partition,
                "successDeleteFiles": paths,
                "failedDeleteFiles": [],
                "rollbackLogFiles": {},
                "logFilesFromFailedCommit": {},
            }
            for partition, paths in partitions.items()
        },
        "version": 1,
        "instantsRollback": [_info(target)],
    }


def _emit(context: TableContext, step: Step, requested_time: str, target: Instant, **detail: str) -> None:
    context.emit(Event(step, requested_time, {"target": target.requested_time, **detail}))
