"""Log compaction: several log files of a slice become one of the same file group; the merged ones stay.

The new log file has the changes of those that it merged, deletes among them, and names their times
(COMPACTED_BLOCK_TIMES). A reader may read all in their order, or leave the merged ones out, once it saw the new one:
the rows must be the same, so that a clean may delete them later. The new file's requested time is its place in the
order: a write that was requested *before* the log compaction and completes after it would be hidden by its older
values. So a plan waits until no write is pending (`PlantedBug.LOG_COMPACT_BESIDE_PENDING` does not); for the same
reason a compaction keeps off file groups of a pending log compaction (`LogCompaction.holds_compactions_off`; Java
Hudi 1.0.2 does not, since only its metadata table, which one writer writes, is log-compacted by default). Where the
order is that of completion times (`LogFiles.order`), no such rule helps.
Source: Java ``HoodieLogCompactionPlanGenerator``, ``LogCompactionExecutionHelper``, ``BaseHoodieLogRecordReader``.
Changes are merged by `MergeRule.LAST` here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from drawstring_model.core.config import Config, PlantedBug
from drawstring_model.core.lock import locked
from drawstring_model.core.module import (
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
from drawstring_model.core.reader import latest_snapshot_time, read_snapshot
from drawstring_model.core.state import Commit, Group, Key, Move, Phase, PlannedFile, Time, Token, Value, World, Writer
from drawstring_model.modules.compaction import candidates, latest_snapshot
from drawstring_model.modules.log_files import in_order, pending_plans, read_slice
from drawstring_spec.steps import Step

LOG_COMPACTOR = "log compactor"


class LogPlan(NamedTuple):
    """A log compaction's plan: the log files of each file group, by name."""

    requested: Time
    inputs: tuple[tuple[Group, tuple[tuple[Time, Token], ...]], ...]


class LogPlans(NamedTuple):
    """The plans of all log compactions, completed or not."""

    all: tuple[LogPlan, ...] = ()


def pending_log_plans(world: World) -> tuple[LogPlan, ...]:
    """The plans on the timeline whose log compaction is not completed."""
    pending = {*world.requested} - {commit.requested for commit in world.commits}
    return tuple(plan for plan in part(world, LogPlans).all if plan.requested in pending)


def log_candidates(world: World, config: Config) -> tuple[tuple[Group, tuple[tuple[Time, Token], ...]], ...]:
    """What a plan made now would hold: the log files of each latest slice that no pending plan has taken."""
    completed = {commit.requested for commit in world.commits}
    waiting = [time for time in world.requested if time not in completed and not _is_planned(world, time, config)]
    if waiting and config.planted is not PlantedBug.LOG_COMPACT_BESIDE_PENDING:
        return ()
    taken = {each.group for plan in pending_plans(world) for each in plan.inputs}
    taken |= {group for plan in pending_log_plans(world) for group, _ in plan.inputs}
    inputs = []
    for group in sorted({file.group for file in world.files} - taken):
        latest = read_slice(world, group, completed, config)
        if latest is not None and latest.logs:
            inputs.append((group, tuple((log.requested, log.token) for log in latest.logs)))
    return tuple(inputs)


def _is_planned(world: World, time: Time, config: Config) -> bool:
    return any(module.spares(world, time) for module in modules_of(config))


class ScheduleLogCompaction(Rule):
    """A log compaction is planned on the timeline.

    Enabled: the log compactor is idle and holds the lock; no write is pending; a file group that no pending plan has
    taken has log files; the clocks may give this time out.
    Effect: the log compaction is requested.
    Unchanged: the data files, the lock, which slices there are.
    """

    step = Step.SCHEDULE_LOG_COMPACTION
    phases = frozenset({Phase.START})
    roles = frozenset({LOG_COMPACTOR})

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """At the next tick, within the module's bounds."""
        if may_log_compact(world, config) and locked(world, writer, number, config):
            yield Move(self.step, number, time=world.clock + 1)

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused without the lock, with nothing to merge or a pending write, and for a time that was given out."""
        if not locked(world, writer, given(move.writer), config):
            return "the log compactor does not hold the table lock"
        if not log_candidates(world, config):
            return "there are no log files to merge, or a write is pending"
        return None if later(world, given(move.time), config) else f"the clock has already given out {world.clock}"

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """The plan is on the timeline."""
        time = given(move.time)
        plans = with_item(part(world, LogPlans).all, LogPlan(time, log_candidates(world, config)))
        world = world._replace(requested=with_item(world.requested, time), clock=ticked(world, time))
        return with_part(world, LogPlans(plans)), writer


class RunLogCompaction(Rule):
    """The log compactor begins to merge what a plan names, for the first time or again.

    Enabled: the log compactor is idle, without the lock, and the plan is pending.
    Effect: the log compaction is inflight; log files that an earlier run left are deleted; the log compactor knows
    what to write.
    Unchanged: everything else.
    """

    step = Step.RUN_LOG_COMPACTION
    phases = frozenset({Phase.START})
    roles = frozenset({LOG_COMPACTOR})

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """Each pending plan."""
        del writer, config
        for plan in pending_log_plans(world):
            yield Move(self.step, number, target=plan.requested)

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused in the lock, and without a plan."""
        del config
        if writer.has_lock:
            return "the log compactor still holds the table lock"
        pending = {plan.requested for plan in pending_log_plans(world)}
        return None if move.target in pending else f"no log compaction {move.target} is pending"

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """The merge is planned."""
        time = given(move.target)
        plan = next(plan for plan in pending_log_plans(world) if plan.requested == time)
        files = []
        for group, names in plan.inputs:
            logs = in_order(world, (file for file in world.files if file.group == group and file[1:3] in names), config)
            last: dict[Key, Value | None] = {key: value for log in logs for key, value in log.rows}
            if config.planted is PlantedBug.LOG_COMPACT_WITHOUT_DELETES:
                last = {key: value for key, value in last.items() if value is not None}
            files.append(PlannedFile(group, None, tuple(sorted(last.items())), is_log=True))
        world = world._replace(
            inflight=with_item(world.inflight, time),
            files=tuple(file for file in world.files if file.requested != time),
        )
        return world, writer._replace(phase=Phase.INFLIGHT, requested=time, plan=tuple(files))


def may_log_compact(world: World, config: Config) -> bool:
    """Whether the explorer lets the log compactor plan: within the bounds, and where there is something to do."""
    bound = next(module.schedules for module in config.modules if isinstance(module, LogCompaction))
    return len(part(world, LogPlans).all) < bound and bool(log_candidates(world, config))


def compactions_keep_off(world: World, writer: Writer, move: Move, config: Config) -> str | None:
    """Guard: no compaction is planned of a file group whose log files are being merged."""
    del writer, move
    module = next(module for module in config.modules if isinstance(module, LogCompaction))
    taken = {group for plan in pending_log_plans(world) for group, _ in plan.inputs}
    both = taken & {each.group for each in candidates(world, config)} if module.holds_compactions_off else set()
    return f"file group {min(both)} is being log-compacted" if both else None


def merged_logs_unneeded(world: World, config: Config) -> str | None:
    """`Promise.MERGED_LOGS_UNNEEDED`."""
    completed = {commit.requested for commit in world.commits}
    plans = [plan for plan in part(world, LogPlans).all if plan.requested in completed]
    merged = {(group, *name) for plan in plans for group, names in plan.inputs for name in names}
    if not merged:
        return None
    without = world._replace(files=tuple(file for file in world.files if file[:3] not in merged))
    as_of = latest_snapshot_time(world, config)
    rows, fewer = read_snapshot(world, as_of, config), read_snapshot(without, as_of, config)
    return None if rows == fewer else f"a snapshot of now reads {rows}, and {fewer} without the merged log files"


@dataclass(frozen=True, slots=True)
class LogCompaction(Module):
    """Log compaction by one process; the explorer lets it make `schedules` plans, of one log file already.

    Attributes:
        holds_compactions_off: whether no compaction is planned of a file group of a pending log compaction.

    """

    name = "log_compaction"
    requires = frozenset({"log_files"})
    roles = (LOG_COMPACTOR,)
    rules = (ScheduleLogCompaction(), RunLogCompaction())
    guards: ClassVar[Mapping[Step, Guard]] = {Step.SCHEDULE_COMPACTION: compactions_keep_off}
    invariants: ClassVar[Mapping[Promise, Check]] = {
        Promise.LATEST_SNAPSHOT: latest_snapshot,
        Promise.MERGED_LOGS_UNNEEDED: merged_logs_unneeded,
    }
    schedules: int = 1
    holds_compactions_off: bool = True

    def has_work(self, world: World, writer: Writer, config: Config) -> bool:
        """A plan to be made."""
        return writer.role == LOG_COMPACTOR and may_log_compact(world, config)

    def spares(self, world: World, time: Time) -> bool:
        """A pending log compaction waits to be run; it is no failed write."""
        return any(plan.requested == time for plan in part(world, LogPlans).all)

    def keeps_rows(self, world: World, commit: Commit) -> bool:
        """A log compaction changes no row."""
        return self.spares(world, commit.requested)
