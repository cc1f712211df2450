"""The file-system view: which file slices a snapshot has.

Source: Java ``AbstractTableFileSystemView``, ``BaseHoodieTableFileIndex``.

Whose duty: gather what the timeline and a listing of the files say, and nothing else; which slice of a file
group that makes is `drawstring.read.file_groups`'. What is visible goes by requested time: a commit that was
requested before the snapshot time is seen at it even if it completed later.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from drawstring.context import TableContext
from drawstring.errors import CorruptFileError, NotFoundError, UnsupportedTableError
from drawstring.files import BaseFile, FileGroupId, LogFile, Snapshot
from drawstring.metadata import MetadataTable
from drawstring.protocol.commit_metadata import stats_of
from drawstring.read.bootstrap import with_sources
from drawstring.read.file_groups import Facts, choose_slices
from drawstring.read.listing import data_files
from drawstring.read.time_travel import check_as_of, parse_as_of
from drawstring.table_config import READABLE_FORMATS
from drawstring.timeline.archived import archived_completion_times, history_folder
from drawstring.timeline.load import load_timeline, read_payload
from drawstring.timeline.timeline import Timeline
from drawstring_spec.instants import Action, Instant, State

_RETRIES = 2
"""An instant that is archived or rolled back while a snapshot is taken makes the timeline be loaded again."""


def load_snapshot(
    context: TableContext,
    *,
    as_of: str | None = None,
    timeline: Timeline | None = None,
    read_optimized: bool = False,
) -> Snapshot:
    """Choose the file slices of a snapshot.

    Args:
        context: of the table.
        as_of: snapshot time in one of the forms of `drawstring.read.time_travel.parse_as_of`; None for the
            newest.
        timeline: loaded before; None to load it now.
        read_optimized: leave log files out, and so rows that only they hold.

    Returns:
        The snapshot, its slices sorted by file group.

    Raises:
        TimeTravelError: `as_of` is malformed, or the table has no stable answer at it.
        UnsupportedTableError: the table has base files that are neither Parquet nor ORC.

    """
    check_readable(context)
    requested = None if as_of is None else parse_as_of(as_of)
    if timeline is not None:
        return _snapshot(context, timeline, requested, read_optimized=read_optimized)
    for _ in range(_RETRIES):
        current = load_timeline(context.ports.storage, context.config)
        try:
            return _snapshot(context, current, requested, read_optimized=read_optimized)
        except NotFoundError:
            continue
    return _snapshot(
        context,
        load_timeline(context.ports.storage, context.config),
        requested,
        read_optimized=read_optimized,
    )


def check_readable(context: TableContext) -> None:
    """Refuse a table whose rows cannot be read rightly. Raises `UnsupportedTableError`."""
    config = context.config
    if not config.base_file_extensions <= READABLE_FORMATS:
        raise UnsupportedTableError(
            f"The table {config.name!r} has base files of format {config.base_file_format}, not PARQUET or ORC.",
            rule="PR-014",
            way_out="Read it with Java Hudi.",
        )


def _snapshot(context: TableContext, timeline: Timeline, as_of: str | None, *, read_optimized: bool) -> Snapshot:
    if as_of is not None:
        check_as_of(context, timeline, as_of)
    query_time = as_of if as_of is not None else _latest(timeline)
    if query_time is None:
        return Snapshot(timeline, None, ())
    metadata = MetadataTable.open(context, timeline)
    base_files, log_files = data_files(context, metadata)
    without_logs = read_optimized and bool(log_files)
    if read_optimized:
        log_files = []
    archived_before = _archived_before(context, timeline, [*base_files, *log_files])
    facts = Facts(
        completed=frozenset(i.requested_time for i in timeline.completed_writes),
        archived_before=archived_before,
        completion_times={i.requested_time: i.completion_time or "" for i in timeline.completed_writes},
        pending_compactions={} if read_optimized else pending_compactions(context, timeline),
        query_time=query_time,
    )
    facts = _with_archived_times(context, facts, base_files, log_files)
    base_files = _of_commits(context, timeline, base_files)
    chosen = choose_slices(base_files, log_files, facts)
    replaced = replaced_file_groups(context, timeline, query_time)
    slices = tuple(chosen[group] for group in sorted(chosen) if group not in replaced)
    slices = with_sources(context, slices)
    return Snapshot(timeline, query_time, slices, archived_before, metadata, without_logs)


def _latest(timeline: Timeline) -> str | None:
    """The greatest requested time of a completed write, or of a compaction that is still to be made (errata R1)."""
    compactions = (*timeline.pending(Action.COMPACTION), *timeline.pending(Action.LOG_COMPACTION))
    times = [i.requested_time for i in (*timeline.completed_writes, *compactions)]
    return max(times) if timeline.completed_writes else None


def pending_compactions(context: TableContext, timeline: Timeline) -> dict[FileGroupId, str]:
    """Return the file groups that pending compactions are going to rewrite, with the compaction's requested time.

    Raises:
        NotFoundError: a compaction was completed since the timeline was loaded.
        CorruptFileError: a plan cannot be read.

    """
    planned: dict[FileGroupId, str] = {}
    for instant in timeline.pending(Action.COMPACTION):
        requested = Instant(instant.requested_time, instant.action, State.REQUESTED)
        plan = read_payload(context.ports.storage, context.config, requested) or {}
        for operation in plan.get("operations") or ():
            group = FileGroupId(operation.get("partitionPath") or "", operation["fileId"])
            planned[group] = instant.requested_time
    return planned


def _archived_before(context: TableContext, timeline: Timeline, files: Sequence[BaseFile | LogFile]) -> str | None:
    """The time before which everything is archived, if a file is that old; None where nothing is archived.

    What is older than the active timeline counts as archived, and only what was complete is archived. But a table
    that has archived nothing has no such times: there, a file from before the first instant is what a writer wrote
    after it had been rolled back, not knowing it.
    """
    start = timeline.start
    if start is None or all(f.requested_time >= start for f in files):
        return None
    return start if context.ports.storage.list(history_folder(context.config)) else None


def _with_archived_times(
    context: TableContext, facts: Facts, base_files: Sequence[BaseFile], log_files: Sequence[LogFile]
) -> Facts:
    """Add the completion times of archived writes, where they decide which slice a log file belongs to (RD-006).

    They do where the log file's group has a slice that was requested after the write: it may lie below that slice or,
    if it completed later, on top of it. The archive is not read for anything else.
    """
    if facts.archived_before is None:
        return facts
    newest = dict(facts.pending_compactions)
    for base in base_files:
        newest[base.group] = max(base.requested_time, newest.get(base.group, ""))
    undecided = {
        log.requested_time
        for log in log_files
        if log.requested_time not in facts.completion_times
        and log.requested_time < min(facts.archived_before, newest.get(log.group, ""))
    }
    found = archived_completion_times(context.ports.storage, context.config, undecided)
    return dataclasses.replace(facts, completion_times={**facts.completion_times, **found})


def _of_commits(context: TableContext, timeline: Timeline, files: Sequence[BaseFile]) -> list[BaseFile]:
    """Of several files of one group and time keep the one that the commit names: others are of a task that ran twice.

    Where the commit is archived, or names none or more of them, the choice is arbitrary, but always the same.
    """
    by_slice: dict[tuple[FileGroupId, str], list[BaseFile]] = {}
    for file in files:
        by_slice.setdefault((file.group, file.requested_time), []).append(file)
    kept = []
    for (_, requested_time), versions in by_slice.items():
        named: set[str] = set()
        if len(versions) > 1:
            named = _committed_paths(context, timeline, requested_time)
        kept.append(max(versions, key=lambda file: (file.path in named, file.path)))
    return kept


def _committed_paths(context: TableContext, timeline: Timeline, requested_time: str) -> set[str]:
    paths: set[str] = set()
    for instant in timeline.completed_writes:
        if instant.requested_time == requested_time:
            record = read_payload(context.ports.storage, context.config, instant) or {}
            paths |= {str(stat.get("path")) for _, stat in stats_of(record)}
    return paths


def replaced_file_groups(context: TableContext, timeline: Timeline, as_of: str) -> frozenset[FileGroupId]:
    """Return the file groups that completed replace commits hide at `as_of`.

    Only commits that were requested at or before `as_of` count; what archived ones replaced is cleaned
    already.

    Raises:
        NotFoundError: an instant has left the active timeline since it was loaded.
        CorruptFileError: a replace commit cannot be read.

    """
    replaced: set[FileGroupId] = set()
    for instant in timeline.completed(Action.REPLACE_COMMIT):
        if instant.requested_time <= as_of:
            replaced |= replaced_by(instant, read_payload(context.ports.storage, context.config, instant) or {})
    return frozenset(replaced)


def replaced_by(instant: Instant, record: Mapping[str, Any]) -> frozenset[FileGroupId]:
    """Return the file groups that one replace commit hides, as its record says. Raises `CorruptFileError`."""
    by_partition = record.get("partitionToReplaceFileIds") or {}
    if not isinstance(by_partition, dict):
        raise CorruptFileError(f"The replace commit {instant.requested_time} does not say what it replaced.")
    return frozenset(
        FileGroupId(partition_path, file_id)
        for partition_path, file_ids in by_partition.items()
        for file_id in file_ids or ()
    )
