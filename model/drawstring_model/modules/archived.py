"""The archive beside the active timeline: what is in it, and what readers and writers find of the two together.

`drawstring_model.modules.archival` moves instants from the one to the other. `World.commits` has every completed write
for ever, since the promises compare with them; `Archive` says what of them left the active timeline.

What is older than the first write of the active timeline counts as completed: nobody asks the archive about it. The
archive is asked for completion times (which decide about log files), for cleans and for ranges of changes.
Source: Java ``CompletionTimeQueryViewV2``, ``BaseHoodieTimeline``, ``IncrementalQueryAnalyzer``.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from drawstring_model.core.config import Config, PlantedBug
from drawstring_model.core.module import part, with_part
from drawstring_model.core.state import Group, Time, World
from drawstring_model.modules.cleaning import Clean, Cleans
from drawstring_model.modules.clustering import Clusterings, completed_clusterings
from drawstring_model.modules.log_files import Plans
from drawstring_model.modules.partition_deletes import PartitionDeletes, completed_deletes

Entry = tuple[Time, Time]
"""(requested, completion) of an archived instant; completion 0 where it is not known."""
Name = tuple[Time, Time]
"""Least and greatest requested time of an archived file: its name."""


class ArchivedFile(NamedTuple):
    """A file of the archive, by its entries in the order of their requested times."""

    entries: tuple[Entry, ...]

    @property
    def name(self) -> Name:
        """What it is called."""
        return self.entries[0][0], self.entries[-1][0]


class Archive(NamedTuple):
    """The archive, and what left the active timeline.

    Attributes:
        files: on storage, named by a manifest or not.
        manifest: number of the newest manifest.
        listed: the files that it names.
        no_pending: instants whose requested and inflight files were dropped.
        dropped: completed instants, whose completed file was dropped.
        cleans: those of them that are cleans.

    """

    files: tuple[ArchivedFile, ...] = ()
    manifest: int = 0
    listed: tuple[Name, ...] = ()
    no_pending: tuple[Time, ...] = ()
    dropped: tuple[Time, ...] = ()
    cleans: tuple[Clean, ...] = ()


def completed_writes(world: World) -> list[Time]:
    """Requested times of the completed writes on the active timeline, in order."""
    dropped = part(world, Archive).dropped
    return sorted(commit.requested for commit in world.commits if commit.requested not in dropped)


def pending_writes(world: World) -> list[Time]:
    """Requested times of the pending writes on the active timeline, in order."""
    completed = {commit.requested for commit in world.commits}
    return sorted({*world.requested, *world.inflight} - completed - {*part(world, Archive).no_pending})


def timeline_start(world: World) -> Time | None:
    """The requested time of the first write on the active timeline, completed or pending."""
    return min((*completed_writes(world)[:1], *pending_writes(world)[:1]), default=None)


def replacements(world: World) -> list[tuple[Time, set[Group]]]:
    """The completed clusterings and deletes of the partition on the active timeline, with what they replaced."""
    found = [(plan.requested, {group for group, _ in plan.inputs}) for plan in completed_clusterings(world)]
    found += [(each.requested, set(each.groups)) for each in completed_deletes(world)]
    return [each for each in found if each[0] not in part(world, Archive).dropped]


def archived_entries(world: World) -> dict[Time, Time]:
    """The completion time of each instant that the archive has; of one in two files once."""
    archive = part(world, Archive)
    return dict(entry for file in archive.files if file.name in archive.listed for entry in file.entries)


def counts_as_completed(world: World, time: Time, config: Config, *, asks_archive: bool) -> bool:
    """Whether a reader takes the write of `time` for completed: it is so on the active timeline, or older than that.

    Where nothing was archived, nothing is older. With `asks_archive` the archive has to know it, too.
    """
    if time in completed_writes(world):
        return True
    begin = timeline_start(world)
    if begin is None or time >= begin or not part(world, Archive).files:
        return False
    if asks_archive:
        return time in archived_entries(world)
    return config.planted is not PlantedBug.IGNORE_ARCHIVED


def found_by_readers(
    world: World, visible: Collection[Time], config: Config, *, asks_archive: bool
) -> tuple[World, Collection[Time]]:
    """`world` and the instants `visible`, as far as a reader finds them, and what it takes for visible by mistake.

    Plans of services that left the active timeline hide and begin nothing any more.
    """
    archive, begin = part(world, Archive), timeline_start(world)
    if not archive.files or begin is None:
        return world, visible
    writes = {commit.requested for commit in world.commits}
    latest = max(visible, default=0)
    older = {file.requested for file in world.files if file.requested <= latest} - writes
    found = {time for time in visible if time not in writes}
    found |= {
        time
        for time in {*visible} & writes | older
        if counts_as_completed(world, time, config, asks_archive=asks_archive)
    }
    entries, gone = archived_entries(world), archive.dropped
    commits = (c._replace(completion=entries.get(c.requested, 0)) if c.requested in gone else c for c in world.commits)
    world = world._replace(commits=tuple(commit for commit in commits if commit.completion))
    plans = tuple(plan for plan in part(world, Plans).all if plan.requested not in gone)
    clusterings = tuple(plan for plan in part(world, Clusterings).all if plan.requested not in gone)
    deletes = tuple(each for each in part(world, PartitionDeletes).all if each.requested not in gone)
    for kept in (Plans(plans), Clusterings(clusterings), PartitionDeletes(deletes)):
        world = with_part(world, kept)
    return world, found


def changes_since(world: World, checkpoint: Time, config: Config) -> tuple[Time, ...]:
    """Requested times of the completed writes that a reader of changes finds behind `checkpoint`, a completion time."""
    dropped = part(world, Archive).dropped
    found = {c.requested: c.completion for c in world.commits if c.requested not in dropped}
    if config.planted is not PlantedBug.CHANGES_OF_ACTIVE:
        found = archived_entries(world) | found
    writes = {commit.requested for commit in world.commits}
    return tuple(time for time in sorted(found) if found[time] > checkpoint and time in writes)


def history_is_whole(world: World, config: Config) -> str | None:
    """`Promise.HISTORY_IS_WHOLE`."""
    del config
    archive, entries = part(world, Archive), archived_entries(world)
    completions = {commit.requested: commit.completion for commit in world.commits}
    cleans = (*part(world, Cleans).all, *archive.cleans)
    completions |= {clean.requested: clean.completion for clean in cleans if clean.completion is not None}
    for time, completion in completions.items():
        if time in archive.dropped and time not in entries:
            return f"the completed instant {time} is on neither timeline"
        if time in archive.dropped and time not in archive.no_pending:
            return f"the completed instant {time} is archived, and looks like a pending one on the active timeline"
        if entries.get(time, completion) != completion:
            return f"the instant {time} completed at {completion}, but at {entries[time] or 'no time'} by the archive"
    never = sorted({*entries, *archive.no_pending} - {*completions})
    return f"the instant {never[0]} was archived, and never completed" if never else None


def archived_changes(world: World, config: Config) -> str | None:
    """`Promise.INCREMENTAL_READS`, behind each completed write and from the beginning, whatever is archived of it."""
    for checkpoint in (0, *sorted(commit.completion for commit in world.commits)):
        behind = tuple(sorted(commit.requested for commit in world.commits if commit.completion > checkpoint))
        found = changes_since(world, checkpoint, config)
        if found != behind:
            return f"a reader of changes behind {checkpoint} gets {_told(found)}, where {_told(behind)} completed"
    return None


def _told(times: tuple[Time, ...]) -> str:
    return ", ".join(str(time) for time in times) or "nothing"
