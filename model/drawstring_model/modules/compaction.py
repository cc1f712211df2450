"""Compaction: a plan on the timeline, then base files that hold what log files said, while writers go on.

A plan is made under the lock and names the files to be merged; from its requested time on each of its file groups has a
new slice, to which all log files belong that complete later, also those that were requested before. It is run by the
compactor, a process of its own, which writes and completes by the writers' steps, and has no heartbeat. A run that
failed is repeated from the plan. Source: Java ``ScheduleCompactionActionExecutor``, ``HoodieCompactor``,
``BaseHoodieTableServiceClient``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from drawstring_model.core.config import Config, PlantedBug
from drawstring_model.core.lock import locked
from drawstring_model.core.module import Consequence, Module, Rule, given, later, part, ticked, with_item, with_part
from drawstring_model.core.promises import Check, Promise
from drawstring_model.core.reader import latest_snapshot_time, read_snapshot
from drawstring_model.core.state import Commit, DataFile, Move, Phase, PlannedFile, Time, World, Writer
from drawstring_model.modules.log_files import (
    Input,
    Plan,
    Plans,
    in_order,
    merged,
    merged_commits,
    pending_plans,
    read_slice,
)
from drawstring_spec.steps import Step

COMPACTOR = "compactor"


def candidates(world: World, config: Config) -> tuple[Input, ...]:
    """What a plan made now would hold: each latest slice with log files, but for file groups of pending plans."""
    taken = {each.group for plan in pending_plans(world) for each in plan.inputs}
    completed = {commit.requested for commit in world.commits}
    inputs = []
    for group in sorted({file.group for file in world.files} - taken):
        latest = read_slice(world, group, completed, config)
        if latest is not None and latest.logs:
            names = tuple((log.requested, log.token) for log in latest.logs)
            if config.planted is PlantedBug.PLAN_PENDING_LOGS:
                names = tuple(file[1:3] for file in world.files if file.is_log and file.group == group)
            inputs.append(Input(group, latest.base.requested if latest.base else None, names))
    return tuple(inputs)


class ScheduleCompaction(Rule):
    """A compaction is planned on the timeline.

    Enabled: the compactor is idle and holds the lock; a file group that no pending plan has taken has log files; the
    clocks may give this time out.
    Effect: the compaction is requested; in each of its file groups a new slice begins.
    Unchanged: the data files, the lock.
    """

    step = Step.SCHEDULE_COMPACTION
    phases = frozenset({Phase.START})
    roles = frozenset({COMPACTOR})

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """At the next tick, within the module's bounds."""
        if may_schedule(world, config) and locked(world, writer, number, config):
            yield Move(self.step, number, time=world.clock + 1)

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused without the lock, with nothing to merge, and for a time that was given out."""
        if not locked(world, writer, given(move.writer), config):
            return "the compactor does not hold the table lock"
        if not candidates(world, config):
            return "no file group has log files to merge"
        return None if later(world, given(move.time), config) else f"the clock has already given out {world.clock}"

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """The plan is on the timeline."""
        time = given(move.time)
        plans = with_item(part(world, Plans).all, Plan(time, candidates(world, config)))
        world = world._replace(requested=with_item(world.requested, time), clock=ticked(world, time))
        return with_part(world, Plans(plans)), writer


class RunCompaction(Rule):
    """The compactor begins to merge what a plan names, for the first time or again.

    Enabled: the compactor is idle, without the lock, and the plan is pending.
    Effect: the compaction is inflight; base files that an earlier run left are deleted; the compactor knows what to
    write.
    Unchanged: everything else.
    """

    step = Step.RUN_COMPACTION
    phases = frozenset({Phase.START})
    roles = frozenset({COMPACTOR})

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """Each pending plan."""
        del writer, config
        for plan in pending_plans(world):
            yield Move(self.step, number, target=plan.requested)

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused in the lock, without a plan, and where a file of the plan is gone."""
        del config
        if writer.has_lock:
            return "the compactor still holds the table lock"
        plan = next((plan for plan in pending_plans(world) if plan.requested == move.target), None)
        if plan is None or move.target not in world.requested:
            return f"no compaction {move.target} is pending"
        return missing_inputs(world, plan)

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """The merge is planned."""
        time = given(move.target)
        plan = next(plan for plan in pending_plans(world) if plan.requested == time)
        files = tuple(_compacted(world, each, config) for each in plan.inputs)
        world = world._replace(
            inflight=with_item(world.inflight, time),
            files=tuple(file for file in world.files if file.requested != time),
        )
        return world, writer._replace(phase=Phase.INFLIGHT, requested=time, plan=files)


def may_schedule(world: World, config: Config) -> bool:
    """Whether the explorer lets the compactor plan once more: within the bounds, and where there is something to do."""
    bound = next(module.schedules for module in config.modules if isinstance(module, Compaction))
    return len(part(world, Plans).all) < bound and bool(candidates(world, config))


def missing_inputs(world: World, plan: Plan) -> str | None:
    """Which file of a plan is gone, in words; None where all are there."""
    there = {file[:3] for file in world.files}
    bases = {file[:2] for file in world.files if not file.is_log}
    for each in plan.inputs:
        gone = [log for log in each.logs if (each.group, *log) not in there]
        if gone or (each.base is not None and (each.group, each.base) not in bases):
            return f"a file of group {each.group} that compaction {plan.requested} is going to read is gone"
    return None


def _compacted(world: World, each: Input, config: Config) -> PlannedFile:
    """The base file that a compaction makes of one file group."""
    files = [file for file in world.files if file.group == each.group]
    base = next((file for file in files if not file.is_log and file.requested == each.base), None)
    logs = in_order(world, (file for file in files if file.is_log and file[1:3] in each.logs), config)
    if config.planted is PlantedBug.SKIP_DELETE_BLOCKS:
        logs = tuple(log._replace(rows=tuple(row for row in log.rows if row[1] is not None)) for log in logs)
    return PlannedFile(each.group, each.base, merged(base, logs, config))


def late_logs_go(world: World, writer: Writer, move: Move, config: Config) -> World:
    """Consequence of a planted bug: a completed compaction takes all earlier log files for merged."""
    del move
    if config.planted is not PlantedBug.DELETE_LATE_LOGS or writer.role != COMPACTOR:
        return world
    groups = {file.group for file in writer.written}

    def is_old(file: DataFile) -> bool:
        return file.is_log and file.group in groups and file.requested < writer.requested

    return world._replace(files=tuple(file for file in world.files if not is_old(file)))


def latest_snapshot(world: World, config: Config) -> str | None:
    """`Promise.LATEST_SNAPSHOT`."""
    rows = read_snapshot(world, latest_snapshot_time(world, config), config)
    serial = merged_commits(world.commits, config)
    return None if rows == serial else f"a snapshot of now reads {rows}, but all commits give {serial} one by one"


def no_resurrected_delete(world: World, config: Config) -> str | None:
    """`Promise.NO_RESURRECTED_DELETE`."""
    last = {key: value for commit in world.commits for key, value in commit.changes}
    for key, _ in read_snapshot(world, latest_snapshot_time(world, config), config):
        if last.get(key) is None:
            return f"a snapshot of now holds key {key}, which was deleted last"
    return None


def planned_files_stay(world: World, config: Config) -> str | None:
    """`Promise.PLANNED_FILES_STAY`."""
    del config
    return next((gone for plan in pending_plans(world) if (gone := missing_inputs(world, plan))), None)


@dataclass(frozen=True, slots=True)
class Compaction(Module):
    """Compaction by one compactor; the explorer lets it make `schedules` plans."""

    name = "compaction"
    requires = frozenset({"log_files"})
    roles = (COMPACTOR,)
    rules = (ScheduleCompaction(), RunCompaction())
    consequences: ClassVar[Mapping[Step, Consequence]] = {Step.COMPLETE_INSTANT: late_logs_go}
    invariants: ClassVar[Mapping[Promise, Check]] = {
        Promise.LATEST_SNAPSHOT: latest_snapshot,
        Promise.NO_RESURRECTED_DELETE: no_resurrected_delete,
        Promise.PLANNED_FILES_STAY: planned_files_stay,
    }
    schedules: int = 1

    def has_work(self, world: World, writer: Writer, config: Config) -> bool:
        """A plan to be made."""
        return writer.role == COMPACTOR and may_schedule(world, config)

    def pending_instants(self, world: World) -> tuple[Time, ...]:
        """A pending compaction is on the timeline of a query: its slice is read with the one before it."""
        return tuple(plan.requested for plan in pending_plans(world))

    def spares(self, world: World, time: Time) -> bool:
        """A pending compaction waits to be run; it is no failed write."""
        return any(plan.requested == time for plan in part(world, Plans).all)

    def keeps_rows(self, world: World, commit: Commit) -> bool:
        """A compaction changes no row."""
        return self.spares(world, commit.requested)
