"""The other kinds of queries: of changes with the images before and after them (CDC), and read-optimized ones.

A *change capture* query gives, write by write in the order of completion, each key that the write changed, with the
value before and the value after. Nothing stores that whole: a reader reads the file groups that the commit names twice,
as they were right before the write completed and right after, and leaves out services, which change no row. It is
right where the values put together are what the table was. "Right before" has to be meant by completion times
(`QueryTypes.images`): of two writes of one bucket the one with the smaller requested time can complete last, and then
its requested time says nothing about what it changed.

A *read-optimized* query reads of each file group the newest base file alone. It is late, by as much as is not
compacted yet, and still exact: each file group is as it was right after the write that wrote its base file, or when the
service that wrote it was planned, and no row is of a write that had not completed then. File groups are late by
different amounts; it is no snapshot of the table.

Both are functions of the world, as a snapshot is, so the module has promises and no actions.
Source: the specification's query types, RFC-51, Java ``HoodieCDCExtractor``, ``BaseFileOnlyRelation``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from drawstring_model.core.config import Config, PlantedBug, SnapshotTime
from drawstring_model.core.module import Module, modules_of
from drawstring_model.core.promises import Check, Promise
from drawstring_model.core.reader import apply_changes, file_slices, pending_instants, removed_files
from drawstring_model.core.state import Commit, DataFile, Group, Key, Time, Value, World

Image = tuple[Key, Value | None, Value | None]
"""A key, its value before and its value after; None where it was not, or is no more."""


def captured(world: World, commit: Commit, config: Config) -> frozenset[Image]:
    """What a change capture query says of one write."""
    if not commit.changes and config.planted is not PlantedBug.CAPTURE_SERVICES:
        return frozenset()
    earlier = tuple(other for other in world.commits if _is_earlier(other, commit, config))
    groups = {file.group for file in commit.files}
    before = _values(_table_after(world, earlier, commit.completion, config), groups)
    if config.planted is PlantedBug.CAPTURE_WITHOUT_LOGS:
        before = _values(_newest_base_files(world, {other.requested for other in earlier}), groups)
    if not commit.changes:
        before = {}
    return _differences(before, _values(_table_after(world, (*earlier, commit), commit.completion, config), groups))


def _is_earlier(other: Commit, commit: Commit, config: Config) -> bool:
    """Whether a reader takes `other` for earlier than `commit`. Of services it is the completion that counts."""
    switches = next(module for module in config.modules if isinstance(module, QueryTypes))
    if switches.images is SnapshotTime.COMPLETION or not other.changes:
        return other.completion < commit.completion
    return other.requested < commit.requested


def _table_after(world: World, commits: tuple[Commit, ...], now: Time, config: Config) -> dict[Group, DataFile]:
    """The file slices of the table at the time `now`, where `commits` were all that had completed."""
    then = world._replace(commits=commits)
    begun = {time for time in pending_instants(then, config) if time < now}
    return file_slices(then, begun | {commit.requested for commit in commits}, config)


def _values(slices: Mapping[Group, DataFile], groups: Iterable[Group]) -> dict[Key, Value | None]:
    return {key: value for group in sorted(groups) if group in slices for key, value in slices[group].rows}


def _differences(before: Mapping[Key, Value | None], after: Mapping[Key, Value | None]) -> frozenset[Image]:
    """The keys whose values differ, with both."""
    keys = {*before, *after}
    return frozenset((key, before.get(key), after.get(key)) for key in keys if before.get(key) != after.get(key))


def captured_changes(world: World, config: Config) -> str | None:
    """`Promise.CAPTURED_CHANGES`, for each write in the order of completion. Where files are cleaned it is refused."""
    cleaned = {group for group, _, _ in removed_files(world, config)}
    table: dict[Key, Value] = {}
    for commit in sorted(world.commits, key=lambda commit: commit.completion):
        before: dict[Key, Value | None] = dict(table)
        apply_changes(table, commit.changes)
        if cleaned & {file.group for file in commit.files}:
            continue
        said, true = captured(world, commit, config), _differences(before, dict(table))
        if said != true:
            return f"the changes of {commit.requested} read {_told(said)}, but it made {_told(true)}"
    return None


def read_optimized(world: World, config: Config) -> dict[Group, DataFile]:
    """What a read-optimized query of now reads: the newest base file of each file group that is not replaced."""
    completed = {commit.requested for commit in world.commits}
    hidden = {group for module in modules_of(config) for group in module.hidden(world, completed, config)}
    if config.planted is PlantedBug.READ_PENDING_BASE_FILES:
        completed |= {file.requested for file in world.files}
    return {group: file for group, file in _newest_base_files(world, completed).items() if group not in hidden}


def _newest_base_files(world: World, visible: set[Time]) -> dict[Group, DataFile]:
    # The files are sorted by group, requested time and token, so the last one of a group stands.
    return {file.group: file for file in world.files if file.requested in visible and not file.is_log}


def read_optimized_reads(world: World, config: Config) -> str | None:
    """`Promise.READ_OPTIMIZED`, for each file group."""
    by_completion = sorted(world.commits, key=lambda commit: commit.completion)
    for group, base in read_optimized(world, config).items():
        table: dict[Key, Value] = {}
        homes: dict[Key, Group] = {}
        own = next((commit for commit in by_completion if commit.requested == base.requested), None)
        # A service reads what was complete when it was planned; nothing comes between a write and what it builds on.
        now = own.completion if own and own.changes else base.requested
        for commit in by_completion:
            if commit is own or commit.completion < now:
                apply_changes(table, commit.changes)
                homes.update({key: file.group for file in commit.files for key, _ in file.rows})
        gave = {key: value for key, value in sorted(table.items()) if homes[key] == group}
        if dict(base.rows) != gave:
            return (
                f"a read-optimized query reads {dict(base.rows)} of file group {group}, "
                f"but there was {gave} in it at {now}"
            )
    return None


def _told(images: Iterable[Image]) -> str:
    """Images in words: ``{k1: 2 -> 3}``."""
    ordered = sorted(images, key=lambda image: (image[0], str(image[1:])))
    return "{" + ", ".join(f"k{key}: {before} -> {after}" for key, before, after in ordered) + "}"


@dataclass(frozen=True, slots=True)
class QueryTypes(Module):
    """Change capture and read-optimized queries; `images` is the time by which "right before a write" is meant."""

    name = "query_types"
    invariants: ClassVar[Mapping[Promise, Check]] = {
        Promise.CAPTURED_CHANGES: captured_changes,
        Promise.READ_OPTIMIZED: read_optimized_reads,
    }
    images: SnapshotTime = SnapshotTime.COMPLETION
