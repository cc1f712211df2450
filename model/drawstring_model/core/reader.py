"""The reader: which data files a snapshot time makes visible, and the rows in them.

Source: the specification's "Reader expectations" and Java's ``AbstractTableFileSystemView``. A file is visible when
its commit is; of each file group the visible file with the greatest requested time is read. What a snapshot time is
compared with is the switch `drawstring_model.core.config.SnapshotTime`. Readers take no lock and change nothing, so a
reader is a function here, and has no step.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from drawstring_model.core.config import Config, PlantedBug, SnapshotTime
from drawstring_model.core.module import modules_of
from drawstring_model.core.state import Changes, Commit, DataFile, FileName, Group, Key, Rows, Time, Value, World


def snapshot_time(commit: Commit, config: Config) -> Time:
    """The first snapshot time at which `commit` is visible."""
    return commit.requested if config.snapshot_time is SnapshotTime.REQUESTED else commit.completion


def visible_commits(world: World, as_of: Time, config: Config) -> tuple[Commit, ...]:
    """The commits visible as of `as_of`, in the order in which their work applies."""
    visible = (commit for commit in world.commits if snapshot_time(commit, config) <= as_of)
    return tuple(sorted(visible, key=lambda commit: (snapshot_time(commit, config), commit.completion)))


def latest_snapshot_time(world: World, config: Config) -> Time:
    """The snapshot time of a query that names none: 0 where nothing is completed."""
    times = [snapshot_time(commit, config) for commit in world.commits]
    return max((*times, *pending_instants(world, config)), default=0)


def pending_instants(world: World, config: Config) -> tuple[Time, ...]:
    """Requested times of pending instants that are on the timeline of a query, as those of compactions are."""
    return tuple(time for module in modules_of(config) for time in module.pending_instants(world))


def keeps_rows(world: World, commit: Commit, config: Config) -> bool:
    """Whether `commit` only lays rows out anew (a compaction, say)."""
    return any(module.keeps_rows(world, commit) for module in modules_of(config))


def as_read(world: World, visible: Collection[Time], config: Config) -> tuple[World, Collection[Time]]:
    """`world` and the instants `visible` as the timeline and a listing of the files show them now."""
    for module in modules_of(config):
        world, visible = module.as_read(world, visible, config)
    return world, visible


def removed_files(world: World, config: Config) -> frozenset[FileName]:
    """The data files of completed writes that are gone, or are going to be, by plan."""
    return frozenset(name for module in modules_of(config) for name in module.removed(world))


def file_slices(world: World, visible: Collection[Time], config: Config) -> dict[Group, DataFile]:
    """What is read of each file group where the instants `visible` are.

    A module that knows of more than whole files may answer in its way. Without one it is the file with the greatest
    requested time in `visible` (then the greatest token). Of file groups that a module hides nothing is read.
    """
    world, visible = as_read(world, visible, config)
    slices = _slices(world, visible, config)
    hidden = {group for module in modules_of(config) for group in module.hidden(world, visible, config)}
    return {group: file for group, file in slices.items() if group not in hidden} if hidden else slices


def _slices(world: World, visible: Collection[Time], config: Config) -> dict[Group, DataFile]:
    """What is read of each file group, hidden or not."""
    for module in modules_of(config):
        slices = module.slices(world, visible, config)
        if slices is not None:
            return slices
    # The files are sorted by group, requested time and token, so the last one of a group stands.
    return {file.group: file for file in world.files if file.requested in visible}


def snapshot_slices(world: World, as_of: Time, config: Config) -> dict[Group, DataFile]:
    """The file slices of a snapshot as of `as_of`."""
    visible = {commit.requested for commit in visible_commits(world, as_of, config)}
    visible |= {time for time in pending_instants(world, config) if time <= as_of}
    if config.planted is PlantedBug.READ_UNCOMMITTED:
        visible |= {file.requested for file in world.files if file.requested <= as_of}
    return file_slices(world, visible, config)


def read_snapshot(world: World, as_of: Time, config: Config) -> Rows:
    """All rows of a snapshot as of `as_of`, sorted by key; a key in two file groups gives two rows."""
    return merged_rows(snapshot_slices(world, as_of, config).values())


def merged_rows(files: Iterable[DataFile]) -> Rows:
    """The rows of `files`, sorted by key and value."""
    return tuple(sorted((key, value) for file in files for key, value in file.rows if value is not None))


def serial_result(commits: Iterable[Commit]) -> Rows:
    """What `commits` give when they are applied one after the other to an empty table."""
    table: dict[Key, Value] = {}
    for commit in commits:
        apply_changes(table, commit.changes)
    return tuple(sorted(table.items()))


def apply_changes(table: dict[Key, Value], changes: Changes) -> None:
    """Write and delete keys of `table` in place."""
    for key, value in changes:
        if value is None:
            table.pop(key, None)
        else:
            table[key] = value
