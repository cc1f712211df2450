"""Builds file groups from the names of files, and chooses the slice of each that a query reads.

Source: Java ``HoodieFileGroup``, ``AbstractTableFileSystemView``, ``BaseHoodieTableFileIndex``; requirement RD-006.
Whose duty: two times meet here, and nowhere else. Which slice a log file belongs to is decided by the *completion*
time of what wrote it, compared with the *requested* times that name slices: a write that was requested before a
compaction and completed after it belongs on top of it. What a query sees goes by requested time alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from drawstring.files import BaseFile, FileGroupId, FileSlice, LogFile
from drawstring_spec.names import LogFileName

CompletionTimes = Mapping[str, str]
"""Completion time by requested time, of completed writes on the active timeline and on the archived one."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What the timeline says, as far as slices are concerned.

    Attributes:
        completed: requested times of completed writes that are on the active timeline.
        archived_before: what was requested before it is archived, and so completed; None where nothing is.
        completion_times: of completed writes, where known.
        pending_compactions: file groups by requested time of the pending compaction that will rewrite them.
        query_time: requested time up to which the query sees.

    """

    completed: frozenset[str]
    archived_before: str | None
    completion_times: CompletionTimes
    pending_compactions: Mapping[FileGroupId, str]
    query_time: str

    def is_completed(self, requested_time: str) -> bool:
        """Whether a write is complete."""
        if requested_time in self.completed:
            return True
        return self.archived_before is not None and requested_time < self.archived_before


@dataclass(slots=True)
class _Slice:
    base_file: BaseFile | None = None
    log_files: list[LogFile] = field(default_factory=list)


def choose_slices(
    base_files: Iterable[BaseFile], log_files: Iterable[LogFile], facts: Facts
) -> dict[FileGroupId, FileSlice]:
    """Choose the slice that a query reads of each file group.

    Args:
        base_files: all that were listed, of completed writes and of others.
        log_files: all that were listed, without those of change data.
        facts: what the timeline says.

    Returns:
        One slice by group, for the groups that have one at the query's time.

    """
    groups: dict[FileGroupId, dict[str, _Slice]] = {}
    for base in base_files:
        slices = groups.setdefault(base.group, {})
        known = slices.setdefault(base.requested_time, _Slice())
        # Of two files of one operation (a task that ran twice) the choice is arbitrary, but always the same.
        if known.base_file is None or known.base_file.path < base.path:
            known.base_file = base
    for group, requested_time in facts.pending_compactions.items():
        if group in groups:
            groups[group].setdefault(requested_time, _Slice())
    for log in sorted(log_files, key=log_order):
        slices = groups.setdefault(log.group, {})
        slices.setdefault(_slice_of(log, slices, facts), _Slice()).log_files.append(log)
    chosen = {group: _choose(group, slices, facts) for group, slices in groups.items()}
    return {group: one for group, one in chosen.items() if one is not None}


def log_order(log: LogFile) -> tuple[str, int, str, bool]:
    """Order of log files inside a slice: requested time, version, token. Completion plays no part."""
    name = LogFileName.parse(log.path.rpartition("/")[2])
    return name.requested_time, name.version, str(name.write_token or ""), name.cdc


def _slice_of(log: LogFile, slices: Mapping[str, _Slice], facts: Facts) -> str:
    """Requested time that names the slice a log file belongs to."""
    if log.group in facts.pending_compactions and not slices:
        slices = {facts.pending_compactions[log.group]: _Slice()}
    if not slices:
        return log.requested_time
    completion_time = facts.completion_times.get(log.requested_time)
    if completion_time is None:
        # Still pending, and not seen by anybody; or archived so long ago that its own time tells enough.
        if not facts.is_completed(log.requested_time):
            return max(slices)
        completion_time = log.requested_time
    elif len(completion_time) != len(max(slices)):
        completion_time = log.requested_time
    return max((t for t in slices if t <= completion_time), default=log.requested_time)


def _choose(group: FileGroupId, slices: Mapping[str, _Slice], facts: Facts) -> FileSlice | None:
    pending = facts.pending_compactions.get(group)
    seen = [t for t in sorted(slices) if t <= facts.query_time and (t == pending or facts.is_completed(t))]
    if not seen:
        return None
    latest = seen[-1]
    base_file = slices[latest].base_file
    log_files = slices[latest].log_files
    if latest == pending:
        # What a compaction is still making is not there: the slice before it goes on.
        base_file = None
        if len(seen) > 1:
            base_file = slices[seen[-2]].base_file
            log_files = [*slices[seen[-2]].log_files, *log_files]
    visible = [f for f in log_files if facts.is_completed(f.requested_time) and f.requested_time <= facts.query_time]
    if base_file is None and not visible:
        return None
    name = (
        base_file.requested_time
        if base_file is not None
        else (seen[-2] if latest == pending and len(seen) > 1 else latest)
    )
    return FileSlice(group, name, base_file, tuple(visible))
