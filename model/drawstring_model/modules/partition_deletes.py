"""Deleting a partition beside writers and clustering: its file groups are replaced by nothing.

The deleter lists the file groups that it is going to replace, and completes by the writers' steps, as a replacecommit
without files; whoever reads as of its requested time or later sees nothing of them. It is wrong beside anything that
carries the rows on: a write to one of the file groups, and a clustering, which has read them already and writes them to
a file group that the deleter does not know of. Two replacecommits of one file group must not both complete. So the
deleter refuses to begin beside a pending clustering of what it deletes, and where both began, the later one to complete
gives way; a clustering whose input was deleted is not run again.

The model has one partition, and no heartbeat of the deleter: a pending delete waits for its deleter, also if that is
dead. Source: Java ``SparkDeletePartitionCommitActionExecutor``, ``DeletePartitionUtils``,
``SimpleConcurrentFileWritesConflictResolutionStrategy``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from drawstring_model.core.config import Config, PlantedBug
from drawstring_model.core.conflict import touches
from drawstring_model.core.module import Guard, Module, Rule, given, later, part, ticked, with_item, with_part
from drawstring_model.core.reader import file_slices, merged_rows
from drawstring_model.core.state import Group, Move, Phase, Time, World, Writer
from drawstring_model.modules.clustering import CLUSTERER, completed_clusterings, pending_clusterings
from drawstring_spec.steps import Step

DELETER = "deleter"


class PartitionDelete(NamedTuple):
    """A delete of the partition: the file groups that it replaces."""

    requested: Time
    groups: tuple[Group, ...]


class PartitionDeletes(NamedTuple):
    """All of them, whatever became of them."""

    all: tuple[PartitionDelete, ...] = ()


def completed_deletes(world: World) -> tuple[PartitionDelete, ...]:
    """The deletes of the partition that are completed."""
    completed = {commit.requested for commit in world.commits}
    return tuple(each for each in part(world, PartitionDeletes).all if each.requested in completed)


def groups_to_delete(world: World, config: Config) -> tuple[Group, ...]:
    """The file groups of which something is read now."""
    return tuple(sorted(file_slices(world, {commit.requested for commit in world.commits}, config)))


def clustered(world: World, groups: Collection[Group]) -> bool:
    """Whether a pending clustering has one of `groups`."""
    return any(group in groups for plan in pending_clusterings(world) for group, _ in plan.inputs)


class DeletePartition(Rule):
    """A delete of the partition is requested and inflight.

    Enabled: the deleter is idle; there is something to delete, and no pending clustering has it; the clocks may give
    this time out.
    Effect: the deleter knows what completed before, which file groups it replaces, and the keys in them.
    Unchanged: the data files, the lock, what readers read.
    """

    step = Step.DELETE_PARTITION
    phases = frozenset({Phase.START})
    roles = frozenset({DELETER})

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """At the next tick, within the module's bounds."""
        del writer
        bound = next(module.deletes for module in config.modules if isinstance(module, PartitionDeleteModule))
        if len(part(world, PartitionDeletes).all) < bound:
            yield Move(self.step, number, time=world.clock + 1)

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused with nothing to delete, beside a clustering, and for a time that was given out."""
        groups = groups_to_delete(world, config)
        if writer.has_lock or not groups:
            return "there is nothing to delete"
        if clustered(world, groups) and config.planted is not PlantedBug.DELETE_UNDER_CLUSTERING:
            return "a pending clustering has a file group of the partition"
        return None if later(world, given(move.time), config) else f"the clock has already given out {world.clock}"

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """The delete is pending."""
        time, groups = given(move.time), groups_to_delete(world, config)
        rows = merged_rows(file_slices(world, {commit.requested for commit in world.commits}, config).values())
        snapshot = tuple((commit.requested, commit.completion) for commit in world.commits)
        deletes = with_item(part(world, PartitionDeletes).all, PartitionDelete(time, groups))
        world = world._replace(
            requested=with_item(world.requested, time),
            inflight=with_item(world.inflight, time),
            clock=ticked(world, time),
        )
        changes = tuple((key, None) for key, _ in rows)
        writer = writer._replace(phase=Phase.INFLIGHT, requested=time, snapshot=snapshot, changes=changes)
        return with_part(world, PartitionDeletes(deletes)), writer


def inputs_are_there(world: World, writer: Writer, move: Move, config: Config) -> str | None:
    """Guard: a clustering is not run whose input was deleted."""
    del writer
    gone = {group for each in completed_deletes(world) for group in each.groups}
    inputs = {group for plan in pending_clusterings(world) if plan.requested == move.target for group, _ in plan.inputs}
    careless = config.planted is PlantedBug.DELETE_UNDER_CLUSTERING
    return "a file group of the plan was deleted" if inputs & gone and not careless else None


@dataclass(frozen=True, slots=True)
class PartitionDeleteModule(Module):
    """Deletes of the one partition, beside clustering; the explorer lets `deletes` of them begin."""

    name = "partition_deletes"
    requires = frozenset({"clustering"})
    roles = (DELETER,)
    rules = (DeletePartition(),)
    guards: ClassVar[Mapping[Step, Guard]] = {Step.RUN_CLUSTERING: inputs_are_there}
    deletes: int = 1

    def spares(self, world: World, time: Time) -> bool:
        """A pending delete is its deleter's, and no failed write of others."""
        return any(each.requested == time for each in part(world, PartitionDeletes).all)

    def hidden(self, world: World, visible: Collection[Time], config: Config) -> Collection[Group]:
        """What the completed deletes among `visible` replaced."""
        del config
        return {group for each in completed_deletes(world) if each.requested in visible for group in each.groups}

    def conflicts(self, world: World, writer: Writer, config: Config) -> bool:
        """The later one to complete gives way: to writes and clusterings the deleter, to a delete all others."""
        seen = {requested for requested, _ in writer.snapshot}
        careless = config.planted is PlantedBug.DELETE_UNDER_CLUSTERING
        if writer.role == DELETER:
            own = next(each for each in part(world, PartitionDeletes).all if each.requested == writer.requested)
            since = tuple(commit for commit in world.commits if commit.requested not in seen)
            replaced = {group for plan in completed_clusterings(world) for group, _ in plan.inputs}
            return touches(since, set(own.groups)) or (bool(replaced & set(own.groups)) and not careless)
        if writer.role == CLUSTERER:
            plans = [plan for plan in pending_clusterings(world) if plan.requested == writer.requested]
            groups = set() if careless else {group for plan in plans for group, _ in plan.inputs}
            return any(group in groups for each in completed_deletes(world) for group in each.groups)
        deletes = [each for each in completed_deletes(world) if each.requested not in seen]
        return any(file.group in each.groups for each in deletes for file in writer.written)
