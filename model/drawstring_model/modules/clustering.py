"""Clustering: file groups are replaced by one new file group that holds their rows, while writers go on.

A plan is made under the lock and names the versions that are going to be read. The clusterer, a process of its own,
writes the new file group and completes by the writers' steps, as a replacecommit: whoever reads as of its requested
time or later sees the new file group and nothing of the replaced ones. Whatever is written to a replaced file group
after its planned version would never be read again. So either side has to give way, which is the switch
`Clustering.update`; in the lock, where both complete, each sees what the other did.
Source: Java ``ClusteringPlanActionExecutor``, ``SparkRejectUpdateStrategy``, ``SparkAllowUpdateStrategy``,
``AbstractTableFileSystemView`` (the specification's text has replaced file groups hidden at all times:
`Clustering.hides_the_past`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, NamedTuple

from drawstring_model.core.config import Config, PlantedBug
from drawstring_model.core.lock import locked
from drawstring_model.core.module import (
    Consequence,
    Guard,
    Module,
    Rule,
    given,
    later,
    modules_of,
    part,
    ticked,
    with_item,
    with_part,
)
from drawstring_model.core.promises import Check, Promise
from drawstring_model.core.reader import file_slices, merged_rows, removed_files
from drawstring_model.core.state import Group, Move, Phase, PlannedFile, Time, World, Writer
from drawstring_model.core.writer import lookup_basis
from drawstring_spec.steps import Step

CLUSTERER = "clusterer"


class UpdateStrategy(StrEnum):
    """Who gives way where a writer and a clustering have one file group."""

    REJECT = "REJECT"
    """The writer, as soon as the clustering is planned."""
    ALLOW = "ALLOW"
    """Whoever completes later; a clustering whose input was updated is rolled back as a failed write."""


class ClusteringPlan(NamedTuple):
    """A clustering's plan: what it reads, by (file group, requested time of the version), and the new file group."""

    requested: Time
    inputs: tuple[tuple[Group, Time], ...]
    output: Group


class Clusterings(NamedTuple):
    """The plans of all clusterings, whatever became of them."""

    all: tuple[ClusteringPlan, ...] = ()


def completed_clusterings(world: World) -> tuple[ClusteringPlan, ...]:
    """The plans whose clustering is completed."""
    completed = {commit.requested for commit in world.commits}
    return tuple(plan for plan in part(world, Clusterings).all if plan.requested in completed)


def pending_clusterings(world: World) -> tuple[ClusteringPlan, ...]:
    """The plans on the timeline whose clustering is not completed."""
    completed = {commit.requested for commit in world.commits}
    plans = part(world, Clusterings).all
    return tuple(plan for plan in plans if plan.requested in world.requested and plan.requested not in completed)


def is_stale(world: World, plan: ClusteringPlan) -> bool:
    """Whether a file group of `plan` has a later version than the planned one: the plan would lose it."""
    planned = dict(plan.inputs)
    return any(
        file.group in planned and commit.requested > planned[file.group]
        for commit in world.commits
        for file in commit.files
    )


def clustering_candidates(world: World, config: Config) -> tuple[tuple[Group, Time], ...]:
    """What a plan made now would read: each latest slice, but for file groups of pending plans."""
    taken = {group for plan in pending_clusterings(world) for group, _ in plan.inputs}
    if config.planted is PlantedBug.CLUSTER_TAKEN_GROUPS:
        taken = set()
    slices = file_slices(world, {commit.requested for commit in world.commits}, config)
    return tuple((group, file.requested) for group, file in sorted(slices.items()) if group not in taken)


class ScheduleClustering(Rule):
    """A clustering is planned on the timeline.

    Enabled: the clusterer is idle and holds the lock; there is a file group that no pending plan has taken; the name
    of the new file group is nobody's; the clocks may give this time out.
    Effect: the clustering is requested.
    Unchanged: the data files, the lock, what readers read.
    """

    step = Step.SCHEDULE_CLUSTERING
    phases = frozenset({Phase.START})
    roles = frozenset({CLUSTERER})

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """At the next tick, within the module's bounds, into a file group beyond those of new keys."""
        if may_cluster(world, config) and locked(world, writer, number, config):
            output = config.bounds.groups + len(part(world, Clusterings).all) + 1
            yield Move(self.step, number, time=world.clock + 1, group=output)

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused without the lock, with nothing to read, for a name that is taken and a time that was given out."""
        if not locked(world, writer, given(move.writer), config):
            return "the clusterer does not hold the table lock"
        if not clustering_candidates(world, config):
            return "no file group is free to be clustered"
        outputs = {plan.output for plan in part(world, Clusterings).all}
        if move.group in outputs | {file.group for file in world.files}:
            return f"file group {move.group} is there already"
        return None if later(world, given(move.time), config) else f"the clock has already given out {world.clock}"

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """The plan is on the timeline."""
        time = given(move.time)
        plan = ClusteringPlan(time, clustering_candidates(world, config), given(move.group))
        plans = with_item(part(world, Clusterings).all, plan)
        world = world._replace(requested=with_item(world.requested, time), clock=ticked(world, time))
        return with_part(world, Clusterings(plans)), writer


class RunClustering(Rule):
    """The clusterer begins to write what a plan asks for, for the first time or again.

    Enabled: the clusterer is idle, without the lock; the plan is pending, and what it read is still the latest.
    Effect: the clustering is inflight; base files that an earlier run left are deleted; the clusterer knows what to
    write.
    Unchanged: everything else.
    """

    step = Step.RUN_CLUSTERING
    phases = frozenset({Phase.START})
    roles = frozenset({CLUSTERER})

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """Each pending plan."""
        del writer, config
        for plan in pending_clusterings(world):
            yield Move(self.step, number, target=plan.requested)

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused in the lock, without a plan, and for one that a writer was faster than."""
        if writer.has_lock:
            return "the clusterer still holds the table lock"
        plan = next((plan for plan in pending_clusterings(world) if plan.requested == move.target), None)
        if plan is None:
            return f"no clustering {move.target} is pending"
        careless = config.planted is PlantedBug.UPDATE_UNDER_CLUSTERING
        return "a file group of the plan was updated" if is_stale(world, plan) and not careless else None

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """The new file group is planned."""
        del config
        time = given(move.target)
        plan = next(plan for plan in pending_clusterings(world) if plan.requested == time)
        rows = merged_rows(file for file in world.files if file[:2] in plan.inputs)
        world = world._replace(
            inflight=with_item(world.inflight, time),
            files=tuple(file for file in world.files if file.requested != time),
        )
        files = (PlannedFile(plan.output, None, rows),)
        return world, writer._replace(phase=Phase.INFLIGHT, requested=time, plan=files)


def may_cluster(world: World, config: Config) -> bool:
    """Whether the explorer lets the clusterer plan once more: within the bounds, and where there is something to do."""
    bound = next(module.schedules for module in config.modules if isinstance(module, Clustering))
    return len(part(world, Clusterings).all) < bound and bool(clustering_candidates(world, config))


def replaced_stay_closed(world: World, writer: Writer, move: Move, config: Config) -> str | None:
    """Guard: no new key goes to a file group that was replaced in the writer's snapshot."""
    if config.planted is PlantedBug.INSERT_INTO_REPLACED:
        return None
    basis = {requested for requested, _ in lookup_basis(world, writer, config)}
    hidden = {group for module in modules_of(config) for group in module.hidden(world, basis, config)}
    closed = sorted({group for _, group in move.placement or ()} & hidden)
    return f"file group {closed[0]} was replaced" if closed else None


def clustering_keeps_rows(world: World, config: Config) -> str | None:
    """`Promise.CLUSTERING_KEEPS_ROWS`, as long as nothing of either side is cleaned."""
    cleaned = {group for group, _, _ in removed_files(world, config)}
    for plan in completed_clusterings(world):
        if cleaned & {plan.output, *(group for group, _ in plan.inputs)}:
            continue
        before = {commit.requested for commit in world.commits if commit.requested < plan.requested}
        was = merged_rows(file_slices(world, before, config).values())
        now = merged_rows(file_slices(world, {*before, plan.requested}, config).values())
        if was != now:
            return f"clustering {plan.requested} makes {now} of {was}"
    return None


@dataclass(frozen=True, slots=True)
class Clustering(Module):
    """Clustering by one clusterer, of base files; the explorer lets it make `schedules` plans.

    Attributes:
        update: who gives way where a writer and a clustering have one file group.
        hides_the_past: whether a completed clustering hides what it replaced from readers of every time.

    """

    name = "clustering"
    requires = frozenset({"rollback"})
    roles = (CLUSTERER,)
    rules = (ScheduleClustering(), RunClustering())
    guards: ClassVar[Mapping[Step, Guard]] = {Step.LOOKUP_KEYS: replaced_stay_closed}
    consequences: ClassVar[Mapping[Step, Consequence]] = {}
    invariants: ClassVar[Mapping[Promise, Check]] = {Promise.CLUSTERING_KEEPS_ROWS: clustering_keeps_rows}
    schedules: int = 1
    update: UpdateStrategy = UpdateStrategy.REJECT
    hides_the_past: bool = False

    def has_work(self, world: World, writer: Writer, config: Config) -> bool:
        """A plan to be made."""
        return writer.role == CLUSTERER and may_cluster(world, config)

    def spares(self, world: World, time: Time) -> bool:
        """A pending clustering waits to be run; one that a writer was faster than is a failed write."""
        rejects = self.update is UpdateStrategy.REJECT
        plans = part(world, Clusterings).all
        return any(plan.requested == time and (rejects or not is_stale(world, plan)) for plan in plans)

    def hidden(self, world: World, visible: Collection[Time], config: Config) -> Collection[Group]:
        """What the clusterings among `visible` replaced."""
        pending = config.planted is PlantedBug.REPLACE_BEFORE_COMPLETION
        plans = part(world, Clusterings).all if pending else completed_clusterings(world)
        return {
            group
            for plan in plans
            if self.hides_the_past or pending or plan.requested in visible
            for group, _ in plan.inputs
        }

    def conflicts(self, world: World, writer: Writer, config: Config) -> bool:
        """A writer gives way to what was replaced since its snapshot, and to pending plans or they to it."""
        if config.planted is PlantedBug.UPDATE_UNDER_CLUSTERING:
            return False
        if writer.role == CLUSTERER:
            return any(
                plan.requested == writer.requested and is_stale(world, plan) for plan in pending_clusterings(world)
            )
        seen = {requested for requested, _ in writer.snapshot}
        plans = [plan for plan in completed_clusterings(world) if plan.requested not in seen]
        if self.update is UpdateStrategy.REJECT:
            plans += pending_clusterings(world)
        groups = {file.group for file in writer.written}
        return any(group in groups for plan in plans for group, _ in plan.inputs)
