"""Optimistic concurrency control: what completed since a writer's snapshot and stands in its way.

Source: Java ``SimpleConcurrentFileWritesConflictResolutionStrategy`` and ``ConflictDetectionUtils``; the set of
concurrent operations here is exact (completed now and not in the snapshot), and new keys are compared too, which Java
leaves out and so stores two inserts of one key twice (requirements CC-010 to CC-014, CC-018).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from drawstring.context import TableContext
from drawstring.errors import ConflictError, CorruptFileError, KeyConflictError, WriterFencedError
from drawstring.files import BaseFile, FileGroupId
from drawstring.protocol.commit_metadata import groups_of, stats_of
from drawstring.protocol.rollback import rollback_in_hand
from drawstring.timeline.archived import archived_completion_times
from drawstring.timeline.load import read_payload
from drawstring.timeline.timeline import Timeline
from drawstring.write_stats import WriteBody, WriteStat
from drawstring_spec.instants import Action, Instant, State
from drawstring_spec.names import parse_data_file_name

TRY_AGAIN = "Nothing of this operation is visible; read the table again and repeat it."
SHOWN = 5


def check_not_fenced(context: TableContext, now: Timeline, instant: Instant) -> None:
    """Raise `WriterFencedError` unless the writer's own instant is still inflight and nobody is rolling it back.

    A rollback that was begun and interrupted counts: it may have deleted files already.
    """
    mine = now.find(instant.requested_time, instant.action)
    if (
        mine is None
        or mine.state is not State.INFLIGHT
        or rollback_in_hand(context, now, instant.requested_time) is not None
    ):
        raise WriterFencedError(
            f"The instant {instant.requested_time} is no longer inflight: another writer rolled it back.",
            rule="CC-031",
            way_out=TRY_AGAIN,
        )


def concurrent_writes(snapshot: Timeline, now: Timeline, requested_time: str) -> tuple[Instant, ...]:
    """Writes that this one has to be compared with.

    Those that are completed now and were not when the writer took its snapshot; and those in the snapshot that were
    requested later than this write, since a reader, who goes by requested time, would prefer their files to ours.
    """
    seen = {(i.requested_time, i.action) for i in snapshot.completed_writes if i.requested_time < requested_time}
    return tuple(i for i in now.completed_writes if (i.requested_time, i.action) not in seen)


def check_conflicts(
    context: TableContext,
    instant: Instant,
    *,
    snapshot: Timeline,
    now: Timeline,
    body: WriteBody,
    stats: Sequence[WriteStat],
) -> None:
    """Pass, or raise what stands in the way.

    Args:
        context: of the table.
        instant: the writer's own.
        snapshot: the writer's.
        now: loaded under the table lock.
        body: asked for key conflicts, where the option is on.
        stats: what the writer wrote.

    Raises:
        ConflictError: a file group was written or replaced, or is being clustered, by somebody else; a clean took
            away what the writer's snapshot reads; or a concurrent write is in the archive already.
        KeyConflictError: a key that this writer inserted was inserted by somebody else too.

    """
    mine = {s.group for s in stats}
    replaced = {s.group for s in stats if s.prev_base_file is not None}
    candidates: list[BaseFile] = []
    written: set[FileGroupId] = set()
    _refuse_restore(snapshot, now)
    _refuse_archived(context, snapshot, now)
    for other in concurrent_writes(snapshot, now, instant.requested_time):
        record = read_payload(context.ports.storage, context.config, other) or {}
        _refuse_overlap(mine & groups_of(record), other)
        written |= groups_of(record)
        candidates += _files_with_inserts(record, other, {s.group.partition_path for s in stats})
    for service in now.pending(Action.CLUSTERING):
        _refuse_overlap(replaced & _clustered_groups(context, service), service)
    inserted = any(s.num_inserts for s in stats)
    if inserted:
        _refuse_cleaned_snapshot(context, now, instant, written)
    if candidates and inserted and context.options["drawstring.write.key.conflict.check"]:
        keys = body.find_key_conflicts(candidates)
        if keys:
            raise KeyConflictError(
                f"Keys that this operation inserts were inserted by another one meanwhile: {', '.join(keys[:SHOWN])}.",
                rule="CC-012",
                way_out=TRY_AGAIN,
            )


def _refuse_restore(snapshot: Timeline, now: Timeline) -> None:
    """A restore takes files away that this write may have merged with."""
    before = {i.requested_time for i in snapshot.completed(Action.RESTORE)}
    for restore in now.pending(Action.RESTORE) + now.completed(Action.RESTORE):
        if restore.requested_time not in before:
            raise ConflictError(
                f"The restore {restore.requested_time} took the table back while this operation was at work.",
                rule="CC-013",
                way_out=TRY_AGAIN,
            )


def _refuse_archived(context: TableContext, snapshot: Timeline, now: Timeline) -> None:
    """A write that was pending in the snapshot may have completed and left the timeline again, for the archive.

    It was requested before this one, or an archiver would have left it where it is: no pending write is passed.
    """
    known = {i.requested_time for i in now.instants}
    gone = [i.requested_time for i in snapshot.pending_writes if i.requested_time not in known]
    for archived in sorted(archived_completion_times(context.ports.storage, context.config, gone)):
        raise ConflictError(
            f"The write {archived} completed and was archived while this operation was at work, so that the two can "
            "no longer be compared.",
            rule="CC-014",
            way_out=TRY_AGAIN,
        )


def _refuse_cleaned_snapshot(context: TableContext, now: Timeline, instant: Instant, written: set[FileGroupId]) -> None:
    """Stop a writer whose snapshot a clean emptied, so that it took keys that the table holds for new ones.

    A clean takes the version that the snapshot reads only where a write outside of the snapshot left a later one,
    and only if it was planned after this write was requested. The plan counts, whether it ran or not.
    """
    for clean in now.pending(Action.CLEAN) + now.completed(Action.CLEAN):
        if not written or clean.requested_time < instant.requested_time:
            continue
        taken = written & _cleaned_groups(context, clean)
        if taken:
            shown = ", ".join(f"{g.partition_path or '.'}/{g.file_id}" for g in sorted(taken)[:SHOWN])
            raise ConflictError(
                f"The clean {clean.requested_time} takes files that this operation's snapshot may have read, of "
                f"{len(taken)} file group(s) that others wrote meanwhile: {shown}.",
                rule="CC-018",
                way_out=TRY_AGAIN,
            )


def _cleaned_groups(context: TableContext, clean: Instant) -> frozenset[FileGroupId]:
    """File groups of which a clean's plan deletes a file."""
    requested = Instant(clean.requested_time, clean.action, State.REQUESTED)
    plan = read_payload(context.ports.storage, context.config, requested) or {}
    return frozenset(
        FileGroupId(partition, parse_data_file_name(str(info["filePath"]).rsplit("/", 1)[-1]).file_id)
        for partition, infos in (plan.get("filePathsToBeDeletedPerPartition") or {}).items()
        for info in infos
    )


def _refuse_overlap(groups: Iterable[FileGroupId], instant: Instant) -> None:
    shared = sorted(groups)
    if shared:
        shown = ", ".join(f"{g.partition_path or '.'}/{g.file_id}" for g in shared[:SHOWN])
        verb = "is rewriting" if instant.state is not State.COMPLETED else "completed and wrote"
        raise ConflictError(
            f"The {instant.action.value} {instant.requested_time} {verb} {len(shared)} file group(s) that this "
            f"operation writes too: {shown}.",
            rule="CC-010",
            way_out=TRY_AGAIN,
        )


def _files_with_inserts(record: dict[str, object], instant: Instant, partitions: set[str]) -> list[BaseFile]:
    """Base files of a concurrent commit that may hold new keys, in the writer's partitions."""
    files = []
    for partition, stat in stats_of(record):
        path = stat.get("path")
        if partition not in partitions or not stat.get("numInserts") or not path:
            continue
        if not str(path).startswith(f"{partition}/" if partition else ""):
            raise CorruptFileError(f"The write stat of {path!r} stands under partition {partition!r}.", rule="WR-030")
        group = FileGroupId(partition, stat["fileId"])
        files.append(BaseFile(str(path), group, instant.requested_time, int(stat.get("fileSizeInBytes") or 0)))
    return files


def _clustered_groups(context: TableContext, instant: Instant) -> frozenset[FileGroupId]:
    """File groups that a pending clustering rewrites."""
    requested = Instant(instant.requested_time, instant.action, State.REQUESTED)
    plan = (read_payload(context.ports.storage, context.config, requested) or {}).get("clusteringPlan") or {}
    return frozenset(
        FileGroupId(piece.get("partitionPath") or "", piece["fileId"])
        for group in plan.get("inputGroups") or ()
        for piece in group.get("slices") or ()
    )
