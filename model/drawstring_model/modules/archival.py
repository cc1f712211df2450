"""Archival: completed instants leave the active timeline for its archive, beside readers and writers.

A run of the archiver has three parts. It writes an archived file that holds the instants with their completion times;
it publishes a manifest that names the file, and until then nobody reads it; and it drops the instants' files from the
active timeline, one by one: all pending-state files first, then the completed ones in ascending order. All that a
crash leaves is an instant on both timelines, which is one instant. Nothing is ever in neither.

What is older than the first write of the active timeline counts as completed (`drawstring_model.modules.archived`). So
an archival ends before the first pending write, and what failed is removed before. Rollbacks stay on the active
timeline here, and archived files are not merged into others.
Source: Java ``TimelineArchiverV2``, ``LSMTimelineWriter``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from drawstring_model.core.config import Config, PlantedBug
from drawstring_model.core.module import Guard, Module, Rule, given, part, with_item, with_part, without_item
from drawstring_model.core.promises import Check, Promise
from drawstring_model.core.state import FileName, Move, Phase, Time, World, Writer
from drawstring_model.modules.archived import (
    Archive,
    ArchivedFile,
    Name,
    archived_changes,
    completed_writes,
    found_by_readers,
    history_is_whole,
    pending_writes,
    replacements,
)
from drawstring_model.modules.cleaning import Cleans
from drawstring_model.modules.rollback import failed_writes
from drawstring_model.modules.savepoints import Savepoints
from drawstring_model.storage_view import StorageView
from drawstring_spec.instants import State as InstantState
from drawstring_spec.steps import Step

ARCHIVER = "archiver"
SECOND_ARCHIVER = "second archiver"
_ARCHIVERS = frozenset({ARCHIVER, SECOND_ARCHIVER})


class Run(NamedTuple):
    """What an archiver remembers: its instants, the manifest that it read, and whether its own is there."""

    times: tuple[Time, ...] = ()
    manifest: int = 0
    listed: tuple[Name, ...] = ()
    published: bool = False


def archival_of(config: Config) -> Archival:
    """The module's switches."""
    return next(module for module in config.modules if isinstance(module, Archival))


def first_to_keep(world: World, config: Config) -> Time | None:
    """The write at which archival has to stop, and which it does not archive; None for no such.

    It is the last completed write before the first pending one, or that one itself; the first that a savepoint names;
    or the first clustering, or delete of the partition, whose replaced files are still there: without it readers would
    see them again.
    """
    kept = [savepoint.requested for savepoint in part(world, Savepoints).all]
    pending = pending_writes(world)
    if config.planted is PlantedBug.ARCHIVE_FAILED_WRITES:
        pending = [time for time in pending if time not in failed_writes(world, config)]
    if pending and config.planted not in (PlantedBug.ARCHIVE_PENDING, PlantedBug.ARCHIVE_PAST_PENDING):
        kept.append(max((time for time in completed_writes(world) if time < pending[0]), default=pending[0]))
    if config.planted is not PlantedBug.ARCHIVE_UNCLEANED:
        kept += [time for time, groups in replacements(world) if groups & {file.group for file in world.files}]
    return min(kept, default=None)


def instants_to_archive(world: World, config: Config) -> tuple[Time, ...]:
    """What a run that begins now archives: the oldest writes but for those kept, and the cleans before the last."""
    completed, stop = completed_writes(world), first_to_keep(world, config)
    writes = [time for time in completed if stop is None or time < stop]
    writes = writes[: max(len(completed) - archival_of(config).retained, 0)]
    if not writes:
        return ()
    cleans = [c.requested for c in part(world, Cleans).all if c.state is InstantState.COMPLETED]
    times = {*writes, *(time for time in cleans if time < writes[-1])}
    if config.planted in (PlantedBug.ARCHIVE_PENDING, PlantedBug.ARCHIVE_FAILED_WRITES):
        times |= {time for time in pending_writes(world) if time < writes[-1]}
    return tuple(sorted(times))


def archived_file(world: World, times: tuple[Time, ...], config: Config) -> ArchivedFile:
    """The file that a run writes of `times`."""
    completions = {commit.requested: commit.completion for commit in world.commits}
    completions |= {clean.requested: clean.completion or 0 for clean in part(world, Cleans).all}
    if config.planted is PlantedBug.LOSE_COMPLETION_TIMES:
        return ArchivedFile(tuple((time, 0) for time in times))
    if config.planted is PlantedBug.ARCHIVE_FAILED_WRITES:
        times = tuple(time for time in times if time in completions)
    return ArchivedFile(tuple((time, completions.get(time, 0)) for time in times))


class ArchiverRule(Rule):
    """What the steps of archivers have in common: who takes them, and that the table lock is believed to be held."""

    phases = frozenset({Phase.START})
    roles = _ARCHIVERS

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused without the lock, where archivers lock, and out of turn."""
        if archival_of(config).locks and config.locking and not writer.has_lock:
            return "the archiver does not hold the table lock"
        return self.objection(world, part(writer, Run), move, config)

    def objection(self, world: World, run: Run, move: Move, config: Config) -> str | None:
        """What else stands against the step."""
        raise TypeError(f"{type(self).__name__} does not say when {move} is enabled of {run} in {world} by {config}")


class WriteArchivedFile(ArchiverRule):
    """An archived file that no manifest names yet appears.

    Enabled: the archiver is idle and, where archivers lock, holds the lock; there are instants to archive.
    Effect: the file is there, in place of one of that name which a crash left; the archiver knows its instants, and
    the manifest of now. Where that names such a file already, the run goes on as if it had published it.
    Unchanged: the active timeline, the manifest, the lock.
    """

    step = Step.WRITE_ARCHIVED_FILE

    def objection(self, world: World, run: Run, move: Move, config: Config) -> str | None:
        """Refused in a run, once the lease ran out, and with nothing to archive."""
        if run.times:
            return "the archiver has not finished what it archives"
        if archival_of(config).locks and world.lock != move.writer and config.locking:
            return "the lease of the table lock ran out"
        return None if instants_to_archive(world, config) else "there is nothing that may be archived"

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """The run begins."""
        del move
        archive, times = part(world, Archive), instants_to_archive(world, config)
        file = archived_file(world, times, config)
        run = Run(times, archive.manifest, archive.listed, published=file.name in archive.listed)
        if not run.published:
            others = tuple(other for other in archive.files if other.name != file.name)
            world = with_part(world, archive._replace(files=with_item(others, file)))
        return world, with_part(writer, run)


class PublishManifest(ArchiverRule):
    """A manifest with the next number names the archived file, too.

    Enabled: the archiver has written its file.
    Effect: the manifest that the archiver read, and its file, are the newest manifest. Where another archiver has
    made one of that number, a storage with put-if-absent refuses this one, and the run is over; another replaces it.
    Unchanged: the active timeline, the archived files, the lock.
    """

    step = Step.PUBLISH_MANIFEST

    def objection(self, world: World, run: Run, move: Move, config: Config) -> str | None:
        """Refused without a file of the run's, and twice."""
        del world, move, config
        return "there is no file to be named" if not run.times or run.published else None

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """The manifest is there."""
        del move
        archive, run = part(world, Archive), part(writer, Run)
        if archive.manifest > run.manifest and not config.replaces_files():
            return world, with_part(writer, Run())
        name = archived_file(world, run.times, config).name
        archive = archive._replace(manifest=run.manifest + 1, listed=with_item(run.listed, name))
        return with_part(world, archive), with_part(writer, run._replace(published=True))


class DropPendingFiles(ArchiverRule):
    """The requested and the inflight file of an archived instant leave the active timeline.

    Enabled: the archiver's manifest is there; the instant is the first of the run that still has such files.
    Effect: they are gone.
    Unchanged: the completed file, the archive, the data files, the lock.
    """

    step = Step.DROP_PENDING_FILES

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """The first instant: in which order the pending-state files go matters to nobody."""
        del config
        for time in _with_pending_files(world, part(writer, Run))[:1]:
            yield Move(self.step, number, target=time)

    def objection(self, world: World, run: Run, move: Move, config: Config) -> str | None:
        """Refused before the manifest, and out of turn."""
        if not run.published and config.planted is not PlantedBug.DROP_BEFORE_MANIFEST:
            return "no manifest of the archiver's names what it archived"
        return None if move.target in _with_pending_files(world, run) else "the instant has no such files"

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """They are gone."""
        del config
        archive = part(world, Archive)
        world = with_part(world, archive._replace(no_pending=with_item(archive.no_pending, given(move.target))))
        return world, _finished(world, writer)


class DropCompletedFile(ArchiverRule):
    """The completed file of an archived instant leaves the active timeline.

    Enabled: the archiver's manifest is there; no instant of the run has pending-state files any more; the instant is
    the oldest that is left of the run, unless files are dropped in any order.
    Effect: nothing of the instant is on the active timeline. With the last one the run is over.
    Unchanged: the archive, the data files, the lock.
    """

    step = Step.DROP_COMPLETED_FILE

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """Each instant that may be next."""
        left = _with_completed_file(world, part(writer, Run))
        for time in left[:1] if archival_of(config).in_order else left:
            yield Move(self.step, number, target=time)

    def objection(self, world: World, run: Run, move: Move, config: Config) -> str | None:
        """Refused before the manifest, before the pending-state files are gone, and out of turn."""
        if not run.published and config.planted is not PlantedBug.DROP_BEFORE_MANIFEST:
            return "no manifest of the archiver's names what it archived"
        if _with_pending_files(world, run) and config.planted is not PlantedBug.DROP_COMPLETED_FIRST:
            return "pending-state files are left, which would look like those of pending instants"
        left = _with_completed_file(world, run)
        if archival_of(config).in_order:
            left = left[:1]
        return None if move.target in left else "the instant is not the next one"

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """It is gone."""
        del config
        time, archive, cleans = given(move.target), part(world, Archive), part(world, Cleans).all
        for clean in cleans:
            if clean.requested == time:
                world = with_part(world, Cleans(without_item(cleans, clean)))
                archive = archive._replace(cleans=with_item(archive.cleans, clean))
        world = with_part(world, archive._replace(dropped=with_item(archive.dropped, time)))
        return world, _finished(world, writer)


def _with_pending_files(world: World, run: Run) -> list[Time]:
    return [time for time in run.times if time not in part(world, Archive).no_pending]


def _with_completed_file(world: World, run: Run) -> list[Time]:
    completed = {commit.requested for commit in world.commits} | {c.requested for c in part(world, Cleans).all}
    return [time for time in run.times if time in completed and time not in part(world, Archive).dropped]


def _finished(world: World, writer: Writer) -> Writer:
    """The archiver, idle again once nothing is left to drop."""
    run = part(writer, Run)
    return writer if _with_pending_files(world, run) or _with_completed_file(world, run) else with_part(writer, Run())


def lock_is_kept(world: World, writer: Writer, move: Move, config: Config) -> str | None:
    """Guard: an archiver gives the lock back between its runs only."""
    del world, move, config
    return "the archiver has not finished what it archives" if part(writer, Run).times else None


def saves_what_is_active(world: World, writer: Writer, move: Move, config: Config) -> str | None:
    """Guard: there is no savepoint of a write that left the active timeline; no restore could go back to it."""
    del writer, config
    return f"{move.target} is archived" if move.target in part(world, Archive).dropped else None


@dataclass(frozen=True, slots=True)
class Archival(Module):
    """Archival by one archiver.

    Attributes:
        retained: how many completed writes stay on the active timeline.
        locks: whether archivers take the table lock.
        in_order: whether completed files are dropped one by one in ascending order, or in any.
        asks_archive: whether readers ask the archive about files that are older than the active timeline, where Java
            Hudi takes all of them for completed.
        asks_for_cleans: whether readers ask the archive what cleans have kept.

    """

    name = "archival"
    requires = frozenset({"rollback"})
    roles = (ARCHIVER,)
    rules = (WriteArchivedFile(), PublishManifest(), DropPendingFiles(), DropCompletedFile())
    guards: ClassVar[Mapping[Step, Guard]] = {
        Step.RELEASE_LOCK: lock_is_kept,
        Step.CREATE_SAVEPOINT: saves_what_is_active,
    }
    invariants: ClassVar[Mapping[Promise, Check]] = {
        Promise.HISTORY_IS_WHOLE: history_is_whole,
        Promise.INCREMENTAL_READS: archived_changes,
    }
    retained: int = 1
    locks: bool = True
    in_order: bool = True
    asks_archive: bool = False
    asks_for_cleans: bool = True

    def has_work(self, world: World, writer: Writer, config: Config) -> bool:
        """Something to archive."""
        return self.locks and writer.role in _ARCHIVERS and bool(instants_to_archive(world, config))

    def as_read(self, world: World, visible: Collection[Time], config: Config) -> tuple[World, Collection[Time]]:
        """What is found on the two timelines."""
        return found_by_readers(world, visible, config, asks_archive=self.asks_archive)

    def unseen(self, world: World, config: Config) -> Collection[Time]:
        """None, if writers ask the archive, too."""
        return part(world, Archive).dropped if config.planted is PlantedBug.COMPARE_ACTIVE_ONLY else ()

    def refuses(self, world: World, as_of: Time) -> bool:
        """What the newest archived clean did not keep."""
        cleans = part(world, Archive).cleans if self.asks_for_cleans else ()
        return bool(cleans) and as_of < cleans[-1].earliest

    def removed(self, world: World) -> frozenset[FileName]:
        """What archived cleans may have deleted."""
        return frozenset(name for clean in part(world, Archive).cleans for name in clean.plan)

    def show(self, world: World, view: StorageView) -> StorageView:
        """The active timeline without what was dropped."""
        archive = part(world, Archive)

        def is_gone(time: Time, state: InstantState) -> bool:
            return time in (archive.dropped if state is InstantState.COMPLETED else archive.no_pending)

        kept = frozenset(file for file in view.timeline if not is_gone(file.requested_time, file.state))
        return view._replace(timeline=kept)


class SecondArchiver(Module):
    """Another archiver beside the first."""

    name = "second_archiver"
    requires = frozenset({"archival"})
    roles = (SECOND_ARCHIVER,)
