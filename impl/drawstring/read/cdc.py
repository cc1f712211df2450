"""Change data capture: what each commit of a range did to each row, planned as one split per written file.

Source: Java ``HoodieCDCExtractor``, ``HoodieCDCInferenceCase``; format chapter "Incremental and CDC". Whose duty: from
what commits say about the files that they wrote, say for each file how its changes are found. Where a file of change
data was written they lie in it; elsewhere they follow from the files before and after. `drawstring.read.cdc_reader`
reads the splits. What cannot be told any more, since files are cleaned or commits archived, is an error.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, Final

import pyarrow as pa

from drawstring.context import TableContext
from drawstring.errors import CorruptFileError, FormatError, NotFoundError, TimeTravelError, UnsupportedTableError
from drawstring.files import BaseFile, FileGroupId, FileSlice, LogFile, Snapshot
from drawstring.ports import FileStatus
from drawstring.protocol.commit_metadata import stats_of
from drawstring.read.arrow_reader import merge_rules, slice_query
from drawstring.read.bootstrap import with_source, with_sources
from drawstring.read.cdc_reader import (
    DELETE,
    INSERT,
    ChangeSplit,
    LogFileSplit,
    LoggedSplit,
    LoggingMode,
    RowsSplit,
    read_split,
)
from drawstring.read.file_groups import Facts, choose_slices, log_order
from drawstring.read.merge_reader import SliceQuery
from drawstring.read.ranges import (
    BEGINNING,
    Bounds,
    CommitRange,
    commits_completed_in,
    commits_requested_in,
    parse_range,
)
from drawstring.read.schema import TableSchema, meta_schema, resolve_schema
from drawstring.read.view import check_readable
from drawstring.timeline.archived import has_archive
from drawstring.timeline.load import read_payload
from drawstring_spec.instants import Instant
from drawstring_spec.names import LogFileName, parse_data_file_name

CDC_SCHEMA: Final = pa.schema([(name, pa.string()) for name in ("op", "ts_ms", "before", "after")])
"""What a query for change data returns: ``i``, ``u`` or ``d``; the commit's requested time; images as JSON."""

_CHANGING: Final = frozenset(
    {
        "BOOTSTRAP",
        "BULK_INSERT",
        "BULK_INSERT_PREPPED",
        "DELETE",
        "DELETE_PARTITION",
        "DELETE_PREPPED",
        "INSERT",
        "INSERT_OVERWRITE",
        "INSERT_OVERWRITE_TABLE",
        "INSERT_PREPPED",
        "UPSERT",
        "UPSERT_PREPPED",
    }
)
"""Operations that change rows; the others, such as compaction, only move them."""

_MODE_PROPERTY: Final = "hoodie.table.cdc.supplemental.logging.mode"
_ANY_TIME: Final = "9" * 17
_RETRIES: Final = 3


@dataclasses.dataclass(frozen=True, slots=True)
class CdcPlan:
    """What a query for change data reads.

    Attributes:
        commits: of the range.
        splits: one per written or replaced file, by commit, then file group; each can be read by itself.

    """

    commits: CommitRange
    splits: tuple[ChangeSplit, ...]


def plan_cdc(context: TableContext, start: str | None, end: str | None, *, bounds: Bounds = Bounds.CLOSED) -> CdcPlan:
    """Choose what a query for change data reads.

    Args:
        context: of the table.
        start: changes of later commits are wanted; None or ``"earliest"`` for all.
        end: up to which; None for no end.
        bounds: ``"[]"`` is the range of Java's queries: commits *requested* after `start` and up to `end`. ``"(]"``
            takes those that *completed* after `start` and up to `end`: no commit is missed or seen twice by a consumer
            that goes on from checkpoint to checkpoint, in whichever order commits complete.

    Raises:
        InputError: `start` or `end` has no form that is known.
        UnsupportedTableError: the table does not log changes, or a commit of the range has log files that are merged
            by a payload class.
        TimeTravelError: commits of the range are archived, or files that tell their changes are cleaned.
        CorruptFileError: a commit cannot be read.

    """
    check_readable(context)
    mode = _logging_mode(context)
    first, last = parse_range(start or BEGINNING, end)
    first = first or BEGINNING
    for attempt in range(_RETRIES):
        if bounds is Bounds.CLOSED:
            commits = commits_requested_in(context, first, last)
        else:
            commits = commits_completed_in(context, first, last, bounds)
        if commits.archived:
            raise _gone(f"The commit {commits.archived[0].requested_time} of the range is archived")
        try:
            return _plan(context, commits, mode)
        except NotFoundError:
            if attempt + 1 == _RETRIES:
                raise
    raise AssertionError("the last attempt returns or raises")


def _plan(context: TableContext, commits: CommitRange, mode: LoggingMode) -> CdcPlan:
    if not commits.active:
        return CdcPlan(commits, ())
    schema = resolve_schema(context, commits.timeline)
    has_history = has_archive(context.ports.storage, context.config)
    archived_before = commits.timeline.start if has_history else None
    return CdcPlan(commits, tuple(_Planner(context, commits, mode, schema, archived_before).splits()))


def read_cdc(context: TableContext, plan: CdcPlan) -> pa.Table:
    """Read what a plan says: a table of `CDC_SCHEMA`, commits in the order of their requested times.

    Raises:
        TimeTravelError: a file that tells changes is cleaned.
        CorruptFileError: a file cannot be read.

    """
    try:
        tables = context.ports.tasks.run(read_split, plan.splits, label="read changes")
    except NotFoundError as error:
        raise _gone(error.message.rstrip(".")) from error
    return pa.concat_tables(tables) if tables else CDC_SCHEMA.empty_table()


def _logging_mode(context: TableContext) -> LoggingMode:
    if not context.config.cdc_enabled:
        raise UnsupportedTableError(
            f"The table {context.config.name!r} does not log changes.",
            rule="CH-011",
            way_out="Ask for changes without cdc=True, or set hoodie.table.cdc.enabled before its next writes.",
        )
    text = context.config.properties.get(_MODE_PROPERTY, LoggingMode.DATA_BEFORE_AFTER.value).strip().upper()
    try:
        return LoggingMode(text)
    except ValueError:
        raise FormatError(
            f"The table's property {_MODE_PROPERTY!r} has the value {text!r}, which no mode of Hudi has.",
            way_out=f"Correct it in hoodie.properties; the modes are: {', '.join(LoggingMode)}.",
        ) from None


def _gone(what: str) -> TimeTravelError:
    return TimeTravelError(
        f"{what}: what it changed can no longer be told.", rule="CH-011", way_out="Ask for a later start."
    )


class _Planner:
    """Plans the splits of one range; lists each partition once."""

    def __init__(
        self,
        context: TableContext,
        commits: CommitRange,
        mode: LoggingMode,
        schema: TableSchema,
        archived_before: str | None,
    ) -> None:
        self._context = context
        self._commits = commits
        self._mode = mode
        self._listed: dict[str, dict[str, FileStatus]] = {}
        self._schema = schema
        self._archived_before = archived_before

    def splits(self) -> Iterator[ChangeSplit]:
        """Yield the splits of all commits."""
        for instant in self._commits.active:
            record = read_payload(self._context.ports.storage, self._context.config, instant) or {}
            if record.get("operationType") not in _CHANGING:
                continue
            for partition, stat in sorted(
                stats_of(record), key=lambda p: (p[0], p[1]["fileId"], str(p[1].get("path")))
            ):
                if stat.get("path"):
                    yield self._written(instant, partition, stat, str(record["operationType"]))
            replaced = record.get("partitionToReplaceFileIds") or {}
            for partition in sorted(replaced):
                for file_id in sorted(replaced[partition] or ()):
                    yield self._replaced(instant, FileGroupId(partition, file_id))

    def _written(self, instant: Instant, partition: str, stat: Mapping[str, Any], operation: str) -> ChangeSplit:
        group = FileGroupId(partition, str(stat["fileId"]))
        path = str(stat["path"])
        if stat.get("cdcStats"):
            return self._as_is(instant, group, stat)
        if _is_log(path):
            return self._log_file(instant, group, stat)
        deletes, writes = int(stat.get("numDeletes") or 0), int(stat.get("numWrites") or 0)
        if operation.startswith("DELETE") and writes == 0 and deletes:
            before = self._image(self._slice(group, self._previous_base_file(group, stat)))
            return RowsSplit(instant.requested_time, DELETE, before)
        # Deletes that were not logged found no row: Java's writer logs those that did.
        if not stat.get("numUpdateWrites") and writes == int(stat.get("numInserts") or 0):
            after = self._image(self._slice(group, self._base_file(group, path)))
            return RowsSplit(instant.requested_time, INSERT, after)
        raise TimeTravelError(
            f"The commit {instant.requested_time} changed rows of {path!r} and did not log the changes.",
            rule="CH-011",
            way_out="Ask for a start after it: changes are logged since CDC was enabled.",
        )

    def _as_is(self, instant: Instant, group: FileGroupId, stat: Mapping[str, Any]) -> ChangeSplit:
        before = after = None
        if self._mode is LoggingMode.OP_KEY_ONLY:
            before = self._image(self._slice(group, self._previous_base_file(group, stat)))
        if self._mode is not LoggingMode.DATA_BEFORE_AFTER:
            after = self._image(self._slice(group, self._base_file(group, str(stat["path"]))))
        files = tuple(sorted(str(path) for path in stat["cdcStats"]))
        columns = pa.schema([field.with_nullable(True) for field in self._schema.columns])
        ids, history = self._schema.current, self._schema.history
        return LoggedSplit(instant.requested_time, self._mode, files, columns, ids, history, before, after)

    def _log_file(self, instant: Instant, group: FileGroupId, stat: Mapping[str, Any]) -> ChangeSplit:
        if merge_rules(self._context.config).payload is not None:
            # Java applies records one by one to the row of before, and so tells rows that its snapshots do not have.
            raise UnsupportedTableError(
                f"The table merges its rows by the payload class {self._context.config.payload_class}, and the commit "
                f"{instant.requested_time} has log files: what they changed cannot be told as Java tells it.",
                rule="MG-008",
                way_out="Ask for the rows of the range (cdc=False), or compare two snapshots: read(as_of=...).",
            )
        own = self._log(group, str(stat["path"]).rpartition("/")[2])
        names = {str(name) for name in stat.get("logFiles") or ()} - {own.path.rpartition("/")[2]}
        earlier = [self._log(group, name) for name in names if not name.endswith(".cdc")]
        base_name = str(stat.get("baseFile") or "")
        base = self._base_file(group, _joined(group.partition_path, base_name)) if base_name else None
        before = FileSlice(group, instant.requested_time, base, tuple(sorted(earlier, key=log_order)))
        after = dataclasses.replace(before, log_files=tuple(sorted([*earlier, own], key=log_order)))
        return LogFileSplit(instant.requested_time, own, self._image(before), self._image(after))

    def _replaced(self, instant: Instant, group: FileGroupId) -> ChangeSplit:
        """Plan the deletion of all rows of a file group's last slice."""
        writes = self._commits.timeline.completed_writes
        facts = Facts(
            completed=frozenset(i.requested_time for i in writes),
            archived_before=self._archived_before,
            completion_times={i.requested_time: i.completion_time or "" for i in writes},
            pending_compactions={},
            query_time=_ANY_TIME,
        )
        base_files: list[BaseFile] = []
        log_files: list[LogFile] = []
        for status in self._partition(group.partition_path).values():
            try:
                name = parse_data_file_name(status.path.rpartition("/")[2])
            except FormatError:
                continue
            if name.file_id != group.file_id:
                continue
            if isinstance(name, LogFileName):
                if not name.cdc:
                    log_files.append(LogFile(status.path, group, name.requested_time, status.size))
            else:
                base_files.append(BaseFile(status.path, group, name.requested_time, status.size))
        chosen = choose_slices(base_files, log_files, facts).get(group)
        if chosen is None:
            raise _gone(f"The file group {group.file_id}, which {instant.requested_time} replaced, has been cleaned")
        return RowsSplit(instant.requested_time, DELETE, self._image(*with_sources(self._context, [chosen])))

    def _image(self, file_slice: FileSlice) -> SliceQuery:
        """Return the query for whole rows of a slice, as they stand in its files."""
        columns = pa.schema([*meta_schema(), *(f.with_nullable(True) for f in self._schema.columns)])
        if not self._context.config.populate_meta_fields:
            columns = pa.schema(list(columns)[len(meta_schema()) :])
        snapshot = Snapshot(self._commits.timeline, _ANY_TIME, (), self._archived_before)
        query = slice_query(self._context, self._schema, snapshot, columns, file_slice)
        base = query.base
        if base is not None and base.file.source is None:  # A source file may lack what its folder says.
            base = dataclasses.replace(base, constants={})
        return dataclasses.replace(query, base=base, constants={})

    @staticmethod
    def _slice(group: FileGroupId, base_file: BaseFile) -> FileSlice:
        return FileSlice(group, base_file.requested_time, base_file)

    def _previous_base_file(self, group: FileGroupId, stat: Mapping[str, Any]) -> BaseFile:
        named = _joined(group.partition_path, str(stat.get("prevBaseFile") or ""))
        if named in self._partition(group.partition_path):
            return self._base_file(group, named)
        previous = str(stat.get("prevCommit") or "")
        for path in self._partition(group.partition_path):
            try:
                name = parse_data_file_name(path.rpartition("/")[2])
            except FormatError:
                continue
            if not isinstance(name, LogFileName) and (name.file_id, name.requested_time) == (group.file_id, previous):
                return self._base_file(group, path)
        raise _gone(f"The base file of {group.file_id} before {str(stat['path'])!r} has been cleaned")

    def _base_file(self, group: FileGroupId, path: str) -> BaseFile:
        status = self._status(group, path)
        return with_source(self._context, BaseFile(path, group, _parsed(path).requested_time, status.size))

    def _log(self, group: FileGroupId, name: str) -> LogFile:
        path = _joined(group.partition_path, name)
        return LogFile(path, group, _parsed(path).requested_time, self._status(group, path).size)

    def _status(self, group: FileGroupId, path: str) -> FileStatus:
        status = self._partition(group.partition_path).get(path)
        if status is None:
            raise _gone(f"The file {path!r}, which changes follow from, has been cleaned")
        return status

    def _partition(self, partition_path: str) -> dict[str, FileStatus]:
        if partition_path not in self._listed:
            self._listed[partition_path] = {s.path: s for s in self._context.ports.storage.list(partition_path)}
        return self._listed[partition_path]


def _joined(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def _is_log(path: str) -> bool:
    return isinstance(_parsed(path), LogFileName)


def _parsed(path: str) -> Any:
    try:
        return parse_data_file_name(path.rpartition("/")[2])
    except FormatError as error:
        raise CorruptFileError(f"A commit names {path!r} as a data file. {error.message}") from error
