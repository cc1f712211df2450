"""Log files: a merge-on-read table's writers append changes to file slices, and readers merge them.

A file group is a sequence of slices. A slice begins at the instant of a base file, or of a pending compaction, and
holds log files on top of it. Which slice a log file belongs to is decided by the *completion* time of its commit; which
log files are read, and in which order, by *requested* times. So Java Hudi reads (``AbstractTableFileSystemView``,
``HoodieFileGroup``); the specification's text has the order by completion time. `LogFiles` has the switches.

New file groups begin with a base file; changes of a group that the writer's snapshot holds are appended.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from drawstring_model.core.config import Config, SnapshotTime
from drawstring_model.core.module import Module, Snapshot, part
from drawstring_model.core.reader import apply_changes, as_read, keeps_rows
from drawstring_model.core.state import (
    Changes,
    Commit,
    DataFile,
    Group,
    Key,
    Move,
    PlannedFile,
    Time,
    Token,
    Value,
    World,
    Writer,
)
from drawstring_model.core.writer import LookupKeys, snapshot_of


class MergeRule(StrEnum):
    """What becomes of an old and a new value of a key."""

    LAST = "LAST"
    """The new one stays: Hudi's merging by commit time."""
    GREATEST = "GREATEST"
    """The greater one stays: merging by event time, with the value for ordering value. A delete always deletes."""
    SUM = "SUM"
    """They are added: a merge that is not the same when it is done twice, such as a payload class may do."""


class Input(NamedTuple):
    """What a compaction merges of one file group: its base file's instant (None for none), and log files by name."""

    group: Group
    base: Time | None
    logs: tuple[tuple[Time, Token], ...]


class Plan(NamedTuple):
    """A compaction's plan. At its requested time a new slice begins in each of its file groups."""

    requested: Time
    inputs: tuple[Input, ...]


class Plans(NamedTuple):
    """The plans of all compactions, completed or not."""

    all: tuple[Plan, ...] = ()


class Slice(NamedTuple):
    """A file slice: where it begins, its base file (None while its compaction is pending), its log files in order."""

    start: Time
    base: DataFile | None
    logs: tuple[DataFile, ...]


def pending_plans(world: World) -> tuple[Plan, ...]:
    """The plans on the timeline whose compaction is not completed. What a restore takes back is no plan any more."""
    pending = {*world.requested} - {commit.requested for commit in world.commits}
    return tuple(plan for plan in part(world, Plans).all if plan.requested in pending)


def read_slice(world: World, group: Group, visible: Collection[Time], config: Config) -> Slice | None:
    """The slice of `group` that is read where the instants `visible` are.

    Where it is the slice of a pending compaction, the slice before it is read too: nobody merged that yet.
    """
    world, visible = as_read(world, visible, config)
    files = [file for file in world.files if file.group == group]
    planned = {plan.requested for plan in pending_plans(world) for each in plan.inputs if each.group == group}
    bases = {file.requested: file for file in files if not file.is_log and file.requested not in planned}
    homes, starts = _homes(world, files, {*bases, *planned}, config)
    readable = [start for start in sorted(starts) if start in visible]
    if not readable:
        return None
    chosen = readable[-2:] if readable[-1] in planned else readable[-1:]
    completed = {commit.requested for commit in world.commits}
    logs = (
        file
        for file in files
        if file.requested in visible and file.requested in completed and homes.get(file.requested) in chosen
    )
    return Slice(chosen[-1], bases.get(chosen[0]), in_order(world, logs, config))


def _homes(
    world: World, files: list[DataFile], starts: set[Time], config: Config
) -> tuple[dict[Time, Time], set[Time]]:
    """Where the slice of each log file begins, by requested time, and where all slices of the file group begin.

    The log files are taken one by one in the order of their requested times. Without a slice to belong to, a log file
    begins one. What is pending belongs to the latest slice.
    """
    switches = log_switches(config)
    completions = {commit.requested: commit.completion for commit in world.commits}
    homes: dict[Time, Time] = {}
    for log in sorted(file for file in files if file.is_log):
        decisive = completions.get(log.requested)
        if decisive is None:
            if starts or switches.begun_by_pending:
                homes[log.requested] = max(starts, default=log.requested)
        else:
            decisive = log.requested if switches.slice_by is SnapshotTime.REQUESTED else decisive
            homes[log.requested] = max((start for start in starts if start <= decisive), default=log.requested)
        starts = starts | {homes[log.requested]} if log.requested in homes else starts
    return homes, starts


def log_switches(config: Config) -> LogFiles:
    """The switches of the module in `config`."""
    return next(module for module in config.modules if isinstance(module, LogFiles))


def in_order(world: World, logs: Iterable[DataFile], config: Config) -> tuple[DataFile, ...]:
    """Log files of completed writes in the order in which they are merged."""
    if log_switches(config).order is SnapshotTime.REQUESTED:
        return tuple(sorted(logs, key=lambda file: (file.requested, file.token)))
    completions = {commit.requested: commit.completion for commit in world.commits}
    return tuple(sorted(logs, key=lambda file: (completions[file.requested], file.token)))


def merged(base: DataFile | None, logs: Iterable[DataFile], config: Config) -> tuple[tuple[Key, Value], ...]:
    """The rows of a base file after its log files, which come in the order in which they are merged."""
    return _applied((file.rows for file in (*((base,) if base else ()), *logs)), config)


def merged_commits(commits: Iterable[Commit], config: Config) -> tuple[tuple[Key, Value], ...]:
    """What all of `commits` give together, by the rule by which log files are merged."""
    by_completion = log_switches(config).order is SnapshotTime.COMPLETION
    ordered = sorted(commits, key=lambda commit: commit.completion if by_completion else commit.requested)
    return _applied((commit.changes for commit in ordered), config)


def _applied(all_changes: Iterable[Changes], config: Config) -> tuple[tuple[Key, Value], ...]:
    """Changes applied to nothing, one after the other."""
    rule = log_switches(config).merge
    table: dict[Key, Value] = {}
    for changes in all_changes:
        if rule is MergeRule.LAST:
            apply_changes(table, changes)
        elif rule is MergeRule.GREATEST:
            apply_changes(table, tuple(row for row in changes if row[1] is None or row[1] >= table.get(row[0], 0)))
        else:
            apply_changes(table, tuple((key, v if v is None else v + table.get(key, 0)) for key, v in changes))
    return tuple(sorted(table.items()))


class LookupKeysInLogs(LookupKeys):
    """`LookupKeys` where log files are read too.

    Enabled: as in the core. The explorer gives new keys to file groups that the snapshot holds, or to a new one,
    which has the number of the operation: a new file group's name is nobody else's.
    Effect: as in the core; the plan has a log file for each file group of the snapshot that is touched.
    Unchanged: the world.
    """

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """The operation of the workload, with every placement of the keys that are new."""
        snapshot = tuple((c.requested, c.completion) for c in world.commits if c.requested < writer.requested)
        homes = {*snapshot_of(world, snapshot, config), writer.number}
        for move in super().moves(world, writer, number, config):
            if all(group in homes for _, group in move.placement or ()):
                yield move


@dataclass(frozen=True, slots=True)
class LogFiles(Module):
    """Log files in file slices.

    Attributes:
        order: the time in whose order those of one slice are merged.
        slice_by: the time that decides which slice one belongs to.
        begun_by_pending: whether the log file of a pending write begins the first slice of a file group without base
            file, as in Java Hudi: until that write completes, nobody reads what others wrote to the file group.
        merge: what becomes of an old and a new value.

    """

    name = "log_files"
    rules = (LookupKeysInLogs(),)
    order: SnapshotTime = SnapshotTime.REQUESTED
    slice_by: SnapshotTime = SnapshotTime.COMPLETION
    begun_by_pending: bool = True
    merge: MergeRule = MergeRule.LAST

    def slices(self, world: World, visible: Collection[Time], config: Config) -> dict[Group, DataFile] | None:
        """Each file group's slice, merged into one file."""
        slices = {}
        for group in sorted({file.group for file in world.files}):
            chosen = read_slice(world, group, visible, config)
            if chosen is not None:
                slices[group] = DataFile(group, chosen.start, 0, merged(chosen.base, chosen.logs, config))
        return slices

    def planned(
        self, world: World, snapshot: Snapshot, changes: Changes, homes: Mapping[Key, Group], config: Config
    ) -> tuple[PlannedFile, ...] | None:
        """A log file for each file group of the snapshot that is touched, a base file for each new one."""
        known = snapshot_of(world, snapshot, config)
        versions: dict[Group, Time] = {}
        for commit in world.commits:
            if (commit.requested, commit.completion) in snapshot and not keeps_rows(world, commit, config):
                versions.update({file.group: commit.requested for file in commit.files})
        files = []
        for group in sorted({homes[key] for key, _ in changes}):
            mine = tuple(change for change in changes if homes[change[0]] == group)
            files.append(PlannedFile(group, versions.get(group), mine, is_log=group in known))
        return tuple(files)
