"""Log files: a merge-on-read table's writers append changes to file slices, and readers merge them.

A file group is a sequence of slices. A slice begins at the instant of a base file, or of a pending compaction, and
holds log files on top of it. Which slice a log file belongs to is decided by the *completion* time of its commit; which
log files are read, and in which order, by *requested* times. So Java Hudi reads (``AbstractTableFileSystemView``,
``HoodieFileGroup``); the specification's text has the order by completion time, which is the switch `LogFiles.order`.

New file groups begin with a base file; changes of a group that the writer's snapshot holds are appended.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from drawstring_model.core.config import Config, PlantedBug, SnapshotTime
from drawstring_model.core.module import Module, Snapshot, part
from drawstring_model.core.reader import apply_changes, keeps_rows
from drawstring_model.core.state import (
    Changes,
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
    """The plans whose compaction is not completed."""
    completed = {commit.requested for commit in world.commits}
    return tuple(plan for plan in part(world, Plans).all if plan.requested not in completed)


def read_slice(world: World, group: Group, visible: Collection[Time], config: Config) -> Slice | None:
    """The slice of `group` that is read where the instants `visible` are.

    Where it is the slice of a pending compaction, the slice before it is read too: nobody merged that yet.
    """
    files = [file for file in world.files if file.group == group]
    planned = {plan.requested for plan in pending_plans(world) for each in plan.inputs if each.group == group}
    bases = {file.requested: file for file in files if not file.is_log and file.requested not in planned}
    starts = sorted({*bases, *planned})
    readable = [start for start in starts if start in visible]
    if not readable:
        return None
    chosen = readable[-1:]
    if chosen[0] in planned:
        chosen = readable[-2:]
    completions = {commit.requested: commit.completion for commit in world.commits}
    logs = [
        file
        for file in files
        if file.is_log
        and file.requested in visible
        and file.requested in completions
        and _start_of(file, completions[file.requested], starts, config) in chosen
    ]
    by_completion = any(isinstance(each, LogFiles) and each.order is SnapshotTime.COMPLETION for each in config.modules)
    logs.sort(key=lambda file: (completions[file.requested] if by_completion else file.requested, file.token))
    return Slice(chosen[-1], bases.get(chosen[0]), tuple(logs))


def _start_of(log: DataFile, completion: Time, starts: list[Time], config: Config) -> Time:
    """Where the slice of a completed log file begins; one that is older than all slices is a slice of its own."""
    decisive = log.requested if config.planted is PlantedBug.SLICE_BY_REQUESTED_TIME else completion
    return max((start for start in starts if start <= decisive), default=log.requested)


def merged(base: DataFile | None, logs: tuple[DataFile, ...]) -> tuple[tuple[Key, Value], ...]:
    """The rows of a base file after its log files, applied in order."""
    table: dict[Key, Value] = {}
    for file in (*((base,) if base else ()), *logs):
        apply_changes(table, file.rows)
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
    """Log files in file slices; `order` is the time by which those of one slice are applied."""

    name = "log_files"
    rules = (LookupKeysInLogs(),)
    order: SnapshotTime = SnapshotTime.REQUESTED

    def slices(self, world: World, visible: Collection[Time], config: Config) -> dict[Group, DataFile] | None:
        """Each file group's slice, merged into one file."""
        slices = {}
        for group in sorted({file.group for file in world.files}):
            chosen = read_slice(world, group, visible, config)
            if chosen is not None:
                slices[group] = DataFile(group, chosen.start, 0, merged(chosen.base, chosen.logs))
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
