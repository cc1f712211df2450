"""Incremental queries: the latest state of the rows that commits of a range wrote.

Source: Java ``MergeOnReadIncrementalRelationV2``, which reads copy-on-write tables too. Whose duty: file slices are
built of nothing but the files that the commits of the range wrote, merged, and of the rows those stay whose
``_hoodie_commit_time`` is one of the range's. So a row that a later commit of the range replaced is seen once, in its
last state; a deleted row is not seen; and a log record of the range is not merged with what lies before the range, not
even where a compaction or a rewrite of the range has carried it into a base file.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from drawstring.context import TableContext
from drawstring.errors import CorruptFileError, FormatError, NotFoundError, TimeTravelError, UnsupportedTableError
from drawstring.files import BaseFile, FileGroupId, FileSlice, LogFile, Snapshot
from drawstring.ports import FileStatus
from drawstring.protocol.commit_metadata import stats_of
from drawstring.read.arrow_reader import (
    filter_expression,
    keep_rows,
    query_schema,
    slice_query,
    wanted_columns,
    with_filter_columns,
)
from drawstring.read.bootstrap import with_sources
from drawstring.read.data_skipping import slices_of_changes_with_rows
from drawstring.read.file_groups import Facts, choose_slices
from drawstring.read.merge_reader import SliceQuery, read_slice
from drawstring.read.operation_field import with_operation_field
from drawstring.read.partition_values import partition_values
from drawstring.read.pruning import may_hold_rows, partition_condition
from drawstring.read.ranges import Bounds, CommitRange, commits_completed_in, parse_range
from drawstring.read.schema import TableSchema, resolve_schema
from drawstring.read.view import check_readable, load_snapshot, pending_compactions, replaced_by
from drawstring.timeline.load import read_payload
from drawstring_spec.instants import Action
from drawstring_spec.meta_fields import COMMIT_TIME
from drawstring_spec.names import LogFileName, parse_data_file_name

FALLBACK: Final = "hoodie.datasource.read.incr.fallback.fulltablescan.enable"
_RETRIES: Final = 3
"""What the cleaner or the archival take away while a query is planned makes it be planned again."""


@dataclass(frozen=True, slots=True)
class IncrementalPlan:
    """What an incremental query reads; an engine may read it in its own way.

    Attributes:
        commits: of the range.
        snapshot: the slices to be read.
        schema: the table's newest schema, whatever the range.
        full_scan: whether the slices are those of the newest snapshot, since files of the range are gone; without the
            log files that other commits wrote.

    """

    commits: CommitRange
    snapshot: Snapshot
    schema: TableSchema
    full_scan: bool

    @property
    def condition(self) -> Any:
        """Expression that keeps the rows that the commits of the range wrote."""
        return pc.field(COMMIT_TIME).isin(pa.array(self.commits.commit_times, pa.string()))


@dataclass(frozen=True, slots=True)
class _Named:
    """A file that a commit of the range wrote, and whether it is still there."""

    file: BaseFile | LogFile
    exists: bool


def plan_changes(
    context: TableContext, start: str | None, end: str | None, *, bounds: Bounds = Bounds.CLOSED
) -> IncrementalPlan:
    """Choose what an incremental query reads.

    Args:
        context: of the table.
        start: completion time from which on; ``"earliest"``; None for the last commit only.
        end: completion time up to which; None for no end.
        bounds: whether a commit that completed at `start` belongs to the range.

    Raises:
        InputError: `start` or `end` has no form that is known.
        SchemaError: the table has no columns yet.
        TimeTravelError: commits of the range are archived or their files cleaned, and the option
            ``hoodie.datasource.read.incr.fallback.fulltablescan.enable`` is false.
        UnsupportedTableError: rows of the table do not say which commit wrote them.
        CorruptFileError: a commit cannot be read.

    """
    check_readable(context)
    if not context.config.populate_meta_fields:
        raise UnsupportedTableError(
            f"The table {context.config.name!r} has no meta fields: its rows do not say which commit wrote them.",
            rule="CH-005",
            way_out="Compare two snapshots of it instead: read(as_of=...).",
        )
    first, last = parse_range(start, end)
    for attempt in range(_RETRIES):
        try:
            return _plan(context, commits_completed_in(context, first, last, bounds))
        except NotFoundError:
            if attempt + 1 == _RETRIES:
                raise
    raise AssertionError("the last attempt returns or raises")


def read_changes(
    context: TableContext,
    plan: IncrementalPlan,
    *,
    columns: Sequence[str] | None = None,
    filter: Any = None,  # noqa: A002 -- the public face's name for it
    meta_columns: bool = True,
) -> pa.Table:
    """Read what a plan says; arguments and errors as `drawstring.read.arrow_reader.read_snapshot`."""
    available = query_schema(context, plan.schema)
    wanted = wanted_columns(available, columns, meta_columns=meta_columns)
    given = filter_expression(filter, available)
    expression = plan.condition if given is None else given & plan.condition
    needed = with_filter_columns(wanted, available, expression)
    condition = partition_condition(filter, given, context.config.partition_fields, available)
    slices = slices_of_changes_with_rows(context, plan.snapshot, plan.schema, available, given)
    queries = [incremental_query(context, plan, needed, s) for s in slices]
    queries = [q for q in queries if condition is None or may_hold_rows(condition, q.constants)]
    tables = context.ports.tasks.run(read_slice, queries, label="read changes")
    rows = pa.concat_tables(tables) if tables else needed.empty_table()
    return keep_rows(keep_rows(rows, plan.condition), given).select(wanted.names)


def incremental_query(
    context: TableContext, plan: IncrementalPlan, columns: pa.Schema, file_slice: FileSlice
) -> SliceQuery:
    """Return what `read_slice` needs to read one slice's part of an incremental query.

    Rows of a base file that commits beyond the range wrote are left out before log records are merged, not after: a
    late record of the range is seen even where a row that was there before wins over it. Partition columns are the
    folder's name as it stands: in Java, snapshot queries undo its escaping, and incremental ones do not.
    """
    query = slice_query(context, plan.schema, plan.snapshot, columns, file_slice)
    query = dataclasses.replace(query, only=plan.commits.commit_times)
    partition_path = file_slice.group.partition_path
    if "%" not in partition_path:
        return query
    raw = partition_values(context.config, plan.schema.columns, partition_path.replace("%", "%25"))
    base = query.base
    if base is not None:
        base = dataclasses.replace(base, constants={name: raw[name] for name in base.constants})
    return dataclasses.replace(query, base=base, constants={name: raw[name] for name in query.constants})


def _plan(context: TableContext, commits: CommitRange) -> IncrementalPlan:
    schema = with_operation_field(context, commits.timeline, resolve_schema(context, commits.timeline))
    if not commits.commit_times:
        return IncrementalPlan(commits, Snapshot(commits.timeline, None, ()), schema, full_scan=False)
    named = [] if commits.archived else _files_of(context, commits)
    if context.options[FALLBACK] and (commits.archived or not all(n.exists for n in named)):
        newest = load_snapshot(context, timeline=commits.timeline)
        return IncrementalPlan(commits, _without_other_logs(newest, commits), schema, full_scan=True)
    if commits.archived:
        raise _gone(f"The commit {commits.archived[0].requested_time} of the range is archived")
    slices = _slices(context, commits, [n.file for n in named])
    missing = {n.file.path for n in named if not n.exists}
    for file in (f for s in slices for f in (s.base_file, *s.log_files) if f is not None):
        if file.path in missing:
            raise _gone(f"The file {file.path!r}, which a commit of the range wrote, has been cleaned")
    return IncrementalPlan(
        commits, Snapshot(commits.timeline, commits.commit_times[-1], slices), schema, full_scan=False
    )


def _without_other_logs(newest: Snapshot, commits: CommitRange) -> Snapshot:
    """Leave out log files that no commit of the range wrote: a row of the range is not replaced by a later one."""
    times = frozenset(commits.commit_times)
    slices = (
        dataclasses.replace(one, log_files=tuple(log for log in one.log_files if log.requested_time in times))
        for one in newest.slices
    )
    return dataclasses.replace(newest, slices=tuple(one for one in slices if one.base_file or one.log_files))


def _gone(what: str) -> TimeTravelError:
    return TimeTravelError(
        f"{what}: what it changed can no longer be told.",
        rule="CH-004",
        way_out=f"Ask for a later start, or set the option {FALLBACK} to take what the newest snapshot still has.",
    )


def _slices(context: TableContext, commits: CommitRange, files: Sequence[BaseFile | LogFile]) -> tuple[FileSlice, ...]:
    writes = commits.timeline.completed_writes
    facts = Facts(
        # A log file that a write of the range made for a clustering under way (consistent hashing) is named by the
        # clustering: what it holds lies in the file group of before as well, unless the range has the clustering.
        completed=frozenset(commits.commit_times),
        archived_before=None,
        completion_times={i.requested_time: i.completion_time or "" for i in writes},
        pending_compactions=pending_compactions(context, commits.timeline),
        query_time=commits.commit_times[-1],
    )
    base_files = [f for f in files if isinstance(f, BaseFile)]
    chosen = choose_slices(base_files, [f for f in files if isinstance(f, LogFile)], facts)
    replaced = _replaced(context, commits)
    return with_sources(context, [chosen[group] for group in sorted(chosen) if group not in replaced])


def _replaced(context: TableContext, commits: CommitRange) -> frozenset[FileGroupId]:
    """Return the file groups that commits of the range have replaced.

    As in Java, only those: what a write put into a file group that was replaced before is what it wrote, though no
    snapshot shows it.
    """
    replaced: set[FileGroupId] = set()
    for instant in commits.active:
        if instant.action is Action.REPLACE_COMMIT:
            replaced |= replaced_by(instant, read_payload(context.ports.storage, context.config, instant) or {})
    return frozenset(replaced)


def _files_of(context: TableContext, commits: CommitRange) -> list[_Named]:
    """Return the base and log files that the commits of the range name, by one listing of each partition."""
    wanted: dict[str, tuple[str, Mapping[str, Any]]] = {}
    for instant in commits.active:
        record = read_payload(context.ports.storage, context.config, instant) or {}
        wanted.update({str(s["path"]): (partition, s) for partition, s in stats_of(record) if s.get("path")})
    partitions = sorted({partition for partition, _ in wanted.values()})
    listed = {s.path: s for partition in partitions for s in context.ports.storage.list(partition)}
    return [_named(path, partition, stat, listed.get(path)) for path, (partition, stat) in sorted(wanted.items())]


def _named(path: str, partition: str, stat: Mapping[str, Any], status: FileStatus | None) -> _Named:
    try:
        name = parse_data_file_name(path.rpartition("/")[2])
    except FormatError as error:
        raise CorruptFileError(f"A commit names {path!r} as a data file. {error.message}") from error
    group = FileGroupId(partition, str(stat["fileId"]))
    kind = LogFile if isinstance(name, LogFileName) else BaseFile
    size = status.size if status is not None else 0
    return _Named(kind(path, group, name.requested_time, size), status is not None)
