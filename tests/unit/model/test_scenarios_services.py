"""Table services beside others: a clean that deletes a partition (S03), changes over a pending compaction (S06).

What the protocol lacks for them is in modules of these tests alone: folders of partitions, which a cleaner may delete
(drawstring deletes none), and readers of changes that read whole file slices.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, NamedTuple

from drawstring_model.config import COPY_ON_WRITE, MERGE_ON_READ, Bounds, Config, upsert
from drawstring_model.core.module import Module, given, part, with_part
from drawstring_model.core.promises import Check
from drawstring_model.core.state import Group, Move, World, Writer
from drawstring_model.explorer import explore
from drawstring_model.invariants import INVARIANTS, Promise
from drawstring_model.modules.cleaning import CLEANER, Cleaning, Cleans, RunClean, ScheduleClean, may_change_timeline
from drawstring_model.modules.log_files import merged, merged_commits, pending_plans, read_slice
from drawstring_model.modules.queries import QueryModule
from drawstring_model.narrate import narrate


class Folders(NamedTuple):
    """The folders that the clean deletes: a partition has one file group here, and its folder is always there."""

    planned: tuple[Group, ...] = ()


class EmptyFolder(StrEnum):
    """What a folder is that a clean deletes."""

    WITHOUT_COMPLETED_FILES = "WITHOUT_COMPLETED_FILES"
    """It has no file of a completed write when the clean is planned; it is deleted with all that is in it."""
    WITHOUT_FILES_WHEN_PLANNED = "WITHOUT_FILES_WHEN_PLANNED"
    """It has no file at all when the clean is planned, and is deleted with all that is in it: Java 1.0.2's reading."""
    WITHOUT_FILES_WHEN_DELETED = "WITHOUT_FILES_WHEN_DELETED"
    """It has no file when it is deleted."""


class PlanFolders(ScheduleClean):
    """A clean is planned that deletes the folders of empty partitions.

    Enabled: as for every clean, but that there need not be a file to delete.
    Effect: the clean is requested, and the folders that are empty now are in its plan.
    Unchanged: the data files, the lock.
    """

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused without the lock, and beside another clean."""
        if part(world, Cleans).all:
            return "there was a clean"
        return None if may_change_timeline(world, writer, given(move.writer), config) else "there is no lock"

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """The plan is on the timeline."""
        counted = {commit.requested for commit in world.commits}
        if rule_of(config) is not EmptyFolder.WITHOUT_COMPLETED_FILES:
            counted |= set(world.requested)
        taken = {file.group for file in world.files if file.requested in counted}
        groups = tuple(group for group in range(1, config.bounds.groups + 1) if group not in taken)
        world, writer = super().effect(world, writer, move, config)
        return with_part(world, Folders(groups)), writer


class DeleteFolders(RunClean):
    """The cleaner begins to run, and deletes the folders of the plan.

    Enabled: as for every clean.
    Effect: the folders are gone, with the files in them; by the last of the rules only those without files.
    Unchanged: the timeline but for the clean.
    """

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """What is in the folders is gone."""
        world, writer = super().effect(world, writer, move, config)
        if rule_of(config) is EmptyFolder.WITHOUT_FILES_WHEN_DELETED:
            return world, writer
        gone = part(world, Folders).planned
        return world._replace(files=tuple(file for file in world.files if file.group not in gone)), writer


@dataclass(frozen=True)
class Partitions(Module):
    """Partitions whose folders a clean may delete."""

    empty: EmptyFolder = EmptyFolder.WITHOUT_FILES_WHEN_DELETED

    name = "partitions"
    requires = frozenset({"cleaning"})
    rules = (PlanFolders(), DeleteFolders())

    def has_work(self, world: World, writer: Writer, config: Config) -> bool:
        """A clean to be planned."""
        return writer.role == CLEANER and not part(world, Cleans).all


def rule_of(config):
    return next(module.empty for module in config.modules if isinstance(module, Partitions))


def with_folders(empty):
    bounds = Bounds(writers=1, workload=(upsert(1),), groups=1, faults=0)
    return Config(modules=(*COPY_ON_WRITE, QueryModule(queries=0), Cleaning(), Partitions(empty)), bounds=bounds)


def story(config, promise):
    return narrate(explore(config, until=promise).counterexamples[promise], config)


class TestS03CleanOfAnEmptyPartition:
    """11600: a writer creates the first files of a partition while a clean deletes it for being empty."""

    def test_a_folder_of_pending_files_only_is_deleted_with_the_files_of_a_write_that_completes(self):
        config = with_folders(EmptyFolder.WITHOUT_COMPLETED_FILES)

        sentences = story(config, Promise.NO_UNDONE_WRITE)

        assert sentences[-1].endswith(
            "the file of group 1 that the completed write 1 wrote as {k1: 1} is gone: a contradiction."
        )

    def test_a_look_at_pending_files_when_the_clean_is_planned_does_not_help_the_writer_that_paused_before_its_first(
        self,
    ):
        sentences = story(with_folders(EmptyFolder.WITHOUT_FILES_WHEN_PLANNED), Promise.NO_UNDONE_WRITE)

        steps = [sentence.split(". ", 1)[1].split(":")[0] for sentence in sentences[:-1]]
        assert steps.index("ScheduleClean") < steps.index("WriteFile") < steps.index("RunClean")
        assert "is gone" in sentences[-1]

    def test_a_clean_that_deletes_a_folder_only_while_it_is_empty_takes_nothing(self):
        exploration = explore(
            with_folders(EmptyFolder.WITHOUT_FILES_WHEN_DELETED),
            witnesses={
                "planned before, run after the first file": lambda world: (
                    part(world, Folders).planned == (1,) and bool(world.files) and bool(world.commits)
                )
            },
        )

        assert exploration.exhausted
        assert exploration.witnesses["planned before, run after the first file"] > 0
        assert not exploration.counterexamples.keys() & INVARIANTS.keys()


def changes_read(world: World, begin: int, config: Config, *, with_slice_before: bool) -> tuple[tuple[int, int], ...]:
    """The rows of all file slices of now that were written by commits which completed after `begin`."""
    plans = {plan.requested: plan for plan in pending_plans(world)}
    visible = {*(commit.requested for commit in world.commits), *plans}
    rows: list[tuple[int, int]] = []
    for group in sorted({file.group for file in world.files}):
        chosen = read_slice(world, group, visible, config)
        if chosen is None:
            continue
        base, logs = chosen.base, chosen.logs
        if chosen.start in plans and not with_slice_before:
            merged_later = {(each.group, *name) for each in plans[chosen.start].inputs for name in each.logs}
            base, logs = None, tuple(log for log in logs if log[:3] not in merged_later)
        rows += merged(base, logs, config)
    return tuple(sorted(row for row in rows if row in changed_since(world, begin)))


def changed_since(world: World, begin: int) -> set[tuple[int, int | None]]:
    """What commits that completed after `begin` wrote; each operation has a value of its own."""
    return {change for commit in world.commits if commit.completion > begin for change in commit.changes}


def no_change_is_dropped(world: World, config: Config) -> str | None:
    """From each completion time on, a reader of changes gets what is left of all writes since."""
    reader = next(module for module in config.modules if isinstance(module, ChangesReader))
    for begin in (0, *(commit.completion for commit in world.commits)):
        got = changes_read(world, begin, config, with_slice_before=reader.with_slice_before)
        wanted = tuple(row for row in merged_commits(world.commits, config) if row in changed_since(world, begin))
        if got != wanted:
            return f"the changes after {begin} are {wanted}, and a reader gets {got}"
    return None


@dataclass(frozen=True)
class ChangesReader(Module):
    """A reader of changes that reads file slices, with or without the one before that of a pending compaction."""

    with_slice_before: bool = True

    name = "changes_reader"
    requires = frozenset({"compaction"})
    invariants: ClassVar[Mapping[Promise, Check]] = {Promise.INCREMENTAL_READS: no_change_is_dropped}


def with_changes(writes, **switches):
    bounds = Bounds(workload=(upsert(1),) * writes, groups=1, faults=0)
    return Config(modules=(*MERGE_ON_READ, ChangesReader(**switches)), bounds=bounds)


class TestS06ChangesOverAPendingCompaction:
    """8299: a compaction is planned inside the range, and what was written before it drops out of the changes."""

    def test_where_the_slice_of_the_plan_is_read_alone_earlier_changes_are_dropped(self):
        sentences = story(with_changes(2, with_slice_before=False), Promise.INCREMENTAL_READS)

        assert "ScheduleCompaction" in sentences[-2]
        assert sentences[-1].endswith("the changes after 0 are ((1, 2),), and a reader gets (): a contradiction.")

    def test_with_the_slice_before_it_no_change_is_dropped(self):
        def written_over_a_plan(world):
            return any(commit.completion > plan.requested for plan in pending_plans(world) for commit in world.commits)

        exploration = explore(with_changes(3), witnesses={"over a plan": written_over_a_plan})

        assert exploration.exhausted
        assert exploration.witnesses["over a plan"] > 0
        assert exploration.holds(Promise.INCREMENTAL_READS)
