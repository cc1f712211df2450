"""The file-system view: which file slices a snapshot has.

Source: Java ``AbstractTableFileSystemView``, ``BaseHoodieTableFileIndex``, ``HoodieFileGroup``.

Whose duty: from the timeline and a listing of the partitions, and from nothing else, choose at most one
slice per file group. What is visible goes by requested time: a commit that was requested before the snapshot
time is seen at it even if it completed later. Only copy-on-write slices are built; a table that needs log
files is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from drawstring.context import TableContext
from drawstring.errors import CorruptFileError, FormatError, NotFoundError, UnsupportedTableError
from drawstring.files import BaseFile, FileGroupId, FileSlice, Snapshot
from drawstring.ports import FileStatus, Storage
from drawstring.protocol.commit_metadata import stats_of
from drawstring.read.time_travel import check_as_of, parse_as_of
from drawstring.table_config import TableType
from drawstring.timeline.load import load_timeline, read_payload, timeline_folder
from drawstring.timeline.timeline import Timeline
from drawstring_spec.instants import Action
from drawstring_spec.layout import HOODIE_FOLDER, PARTITION_METADATA_NAMES
from drawstring_spec.names import LogFileName, parse_data_file_name

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
        UnsupportedTableError: the table has log files and the query is not read-optimized, or base files
            that are not Parquet.

    """
    check_readable(context, read_optimized=read_optimized)
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


def check_readable(context: TableContext, *, read_optimized: bool) -> None:
    """Refuse a table whose rows cannot be read rightly. Raises `UnsupportedTableError`."""
    config = context.config
    if config.base_file_format != "PARQUET":
        raise UnsupportedTableError(
            f"The table {config.name!r} has base files of format {config.base_file_format}, not PARQUET.",
            rule="PR-014",
            way_out="Read it with Java Hudi.",
        )
    if config.table_type is TableType.MERGE_ON_READ and not read_optimized:
        raise UnsupportedTableError(
            f"The table {config.name!r} is MERGE_ON_READ: drawstring does not merge log files yet.",
            rule="LF-007",
            way_out="Pass read_optimized=True to read its base files only, which may lag behind.",
        )


def _snapshot(context: TableContext, timeline: Timeline, as_of: str | None, *, read_optimized: bool) -> Snapshot:
    if as_of is not None:
        check_as_of(context, timeline, as_of)
    last = timeline.last_write()
    query_time = as_of if as_of is not None else (last.requested_time if last else None)
    if query_time is None:
        return Snapshot(timeline, None, ())
    replaced = replaced_file_groups(context, timeline, query_time)
    committed = _Committed(context, timeline)
    chosen: dict[FileGroupId, BaseFile] = {}
    for base_file in _base_files(context.ports.storage, refuse_logs=not read_optimized):
        if base_file.requested_time > query_time or not committed.holds(base_file.requested_time):
            continue
        best = chosen.get(base_file.group)
        if best is not None and best.requested_time == base_file.requested_time:
            chosen[base_file.group] = committed.choose(best, base_file)
        elif best is None or best.requested_time < base_file.requested_time:
            chosen[base_file.group] = base_file
    slices = tuple(
        FileSlice(group, chosen[group].requested_time, chosen[group])
        for group in sorted(chosen)
        if group not in replaced
    )
    return Snapshot(timeline, query_time, slices)


class _Committed:
    """Knows which requested times are those of completed writes.

    What is older than the active timeline counts as archived, and only what was complete is archived. But a table
    that has archived nothing has no such times: there, a file from before the first instant is what a writer wrote
    after it had been rolled back, not knowing it.
    """

    def __init__(self, context: TableContext, timeline: Timeline) -> None:
        self._context = context
        self._timeline = timeline
        self._has_history: bool | None = None

    def holds(self, requested_time: str) -> bool:
        """Whether a write of that time is complete."""
        if not self._timeline.is_completed(requested_time):
            return False
        if self._timeline.completion_time(requested_time) is not None:
            return True
        if self._has_history is None:
            config = self._context.config
            folder = f"{timeline_folder(config)}/{config.history_path}"
            self._has_history = bool(self._context.ports.storage.list(folder))
        return self._has_history

    def choose(self, one: BaseFile, other: BaseFile) -> BaseFile:
        """Of two files of one slice, the one that its commit names: the other is of a task that ran twice.

        Where the commit is archived, or names neither or both, the choice is arbitrary, but always the same.
        """
        later, earlier = (one, other) if one.path > other.path else (other, one)
        paths: set[str] = set()
        for instant in self._timeline.completed_writes:
            if instant.requested_time == one.requested_time:
                record = read_payload(self._context.ports.storage, self._context.config, instant) or {}
                paths |= {str(stat.get("path")) for _, stat in stats_of(record)}
        return earlier if earlier.path in paths and later.path not in paths else later


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
        if instant.requested_time > as_of:
            continue
        metadata = read_payload(context.ports.storage, context.config, instant) or {}
        by_partition = metadata.get("partitionToReplaceFileIds") or {}
        if not isinstance(by_partition, dict):
            raise CorruptFileError(f"The replace commit {instant.requested_time} does not say what it replaced.")
        replaced |= {
            FileGroupId(partition_path, file_id)
            for partition_path, file_ids in by_partition.items()
            for file_id in file_ids or ()
        }
    return frozenset(replaced)


def list_partitions(storage: Storage) -> list[str]:
    """Return the partition paths: folders with a partition metafile, sorted; ``""`` is an unpartitioned table's."""
    return sorted(_partitions(storage))


def _base_files(storage: Storage, *, refuse_logs: bool) -> Iterator[BaseFile]:
    partitions = _partitions(storage)
    for partition_path in sorted(partitions):
        for status in partitions[partition_path]:
            base_file = _base_file(partition_path, status, refuse_logs=refuse_logs)
            if base_file is not None:
                yield base_file


def _base_file(partition_path: str, status: FileStatus, *, refuse_logs: bool) -> BaseFile | None:
    try:
        name = parse_data_file_name(status.path.rpartition("/")[2])
    except FormatError:
        return None  # Not a data file, and nobody takes it for one.
    if isinstance(name, LogFileName):
        # A file of change data lies beside the slice; it has none of its rows.
        if refuse_logs and not name.cdc:
            raise UnsupportedTableError(
                f"The table has the log file {status.path!r}: drawstring does not merge log files yet.",
                rule="LF-007",
                way_out="Pass read_optimized=True to read its base files only, which may lag behind.",
            )
        return None
    if name.extension != "parquet":
        return None
    return BaseFile(status.path, FileGroupId(partition_path, name.file_id), name.requested_time, status.size)


def _partitions(storage: Storage) -> dict[str, list[FileStatus]]:
    """Return the files of each partition: one listing for the base folder and one per folder in it."""
    files = _by_folder(storage.list(""))
    if _is_partition(files.get("", ())):
        return {"": files[""]}
    for folder in storage.list_folders(""):
        if folder != HOODIE_FOLDER:
            files.update(_by_folder(storage.list(folder, recursive=True)))
    found = {folder: members for folder, members in files.items() if _is_partition(members)}
    # A partition holds data, not partitions: one inside another is none.
    return {folder: members for folder, members in found.items() if not _has_ancestor(folder, found)}


def _by_folder(statuses: Iterable[FileStatus]) -> dict[str, list[FileStatus]]:
    folders: dict[str, list[FileStatus]] = {}
    for status in statuses:
        folders.setdefault(status.path.rpartition("/")[0], []).append(status)
    return folders


def _is_partition(members: Iterable[FileStatus]) -> bool:
    return any(status.path.rpartition("/")[2] in PARTITION_METADATA_NAMES for status in members)


def _has_ancestor(folder: str, partitions: dict[str, list[FileStatus]]) -> bool:
    parent = folder.rpartition("/")[0]
    while parent:
        if parent in partitions:
            return True
        parent = parent.rpartition("/")[0]
    return False
